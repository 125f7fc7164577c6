"""Whatever becomes of numba's cache, commands go on and find the same."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from monmdp import caching, compiling


@compiling.compilable
def weigh(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * (i + 1)
    return total


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own, with one small function in it."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(caching, "_told", set())
    assert fresh() == EXPECTED
    return sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file())


EXPECTED = 14.0


def fresh():
    """What the function says in a process that has not compiled it, as far as the cache goes."""
    import numpy as np

    made = compiling._compiled.__wrapped__(weigh, None)
    result = made(np.array([1.0, 2.0, 3.0]))
    fresh.loaded = sum(made.stats.cache_hits.values())
    return result


def test_a_sound_cache_is_used_and_nothing_is_said(cache, capsys):
    assert [path.suffix for path in cache] == [".nbc", ".nbi"]
    assert fresh() == EXPECTED
    assert fresh.loaded == 1
    assert capsys.readouterr().err == ""


def spoil(path, content, rng):
    """Flip a bit of a file, cut it off, or both; return what was done."""
    spoilt = bytearray(content)
    kind = rng.choice(["flip", "flip", "flip", "cut", "empty", "both"])
    if kind in ("flip", "both"):
        spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
    if kind in ("cut", "both"):
        spoilt = spoilt[: rng.randrange(len(spoilt))]
    path.write_bytes(b"" if kind == "empty" else spoilt)


@pytest.mark.parametrize("times", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_no_flipped_bit_nor_truncation_ends_anything(cache, capsys, times):
    contents, rng = {path: path.read_bytes() for path in cache}, random.Random(times)
    for n in range(times):
        caching._told.clear()
        path = cache[n % len(cache)]
        spoil(path, contents[path], rng)
        assert fresh() == EXPECTED
        assert fresh.loaded == 0
        said = capsys.readouterr().err
        assert said.startswith(f"numba's cache in {path.parent} cannot be used (")
        assert said.endswith("; compiling anew\n")
        assert said.count("\n") == 1
        assert fresh() == EXPECTED  # it was written anew
        assert fresh.loaded == 1
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", [0, 1])
def test_a_folder_in_the_place_of_a_file_is_worked_around(cache, capsys, name):
    cache[name].unlink()
    cache[name].mkdir()
    assert fresh() == EXPECTED
    assert "cannot be used" in capsys.readouterr().err
    assert not list(cache[name].parent.glob("*.tmp.*"))


@pytest.mark.parametrize(
    "kind", [OSError(28, "No space left on device"), PermissionError(13, "no")]
)
def test_a_disk_that_cannot_be_written_to_is_worked_around(cache, capsys, monkeypatch, kind):
    def refuse(*_):
        raise kind

    for path in cache:
        path.unlink()
    monkeypatch.setattr(caching._SealedFiles, "_write", refuse)
    assert fresh() == EXPECTED
    assert capsys.readouterr().err.count("\n") == 1


def test_no_place_for_a_cache_is_worked_around(capsys, monkeypatch):
    from numba.core.caching import CacheImpl

    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    monkeypatch.setattr(caching, "_told", set())
    assert fresh() == EXPECTED
    said = capsys.readouterr().err
    assert "cannot be used" in said
    assert said.count("\n") == 1


def test_another_make_of_numba_keeps_its_own_cache(monkeypatch):
    def different(*_):
        raise AttributeError("_impl")

    monkeypatch.setattr(caching.SafeCache, "__init__", different)
    assert fresh() == EXPECTED


@pytest.mark.slow
def test_a_command_with_a_spoilt_cache_prints_the_same(tmp_path):
    """Every file of a real cache is spoilt, two commands in a row."""
    place = tmp_path / "cache"

    def bandit():
        return subprocess.run(
            [sys.executable, "-m", "monmdp", "bandit", "--runs", "5"], capture_output=True,
            text=True, timeout=120, check=False, env=os.environ | {"NUMBA_CACHE_DIR": str(place)},
        )  # fmt: skip

    first, rng = bandit(), random.Random(0)
    files = [path for path in place.rglob("*") if path.is_file()]
    assert files
    for path in files:
        spoil(path, path.read_bytes(), rng)
    again, mended = bandit(), bandit()
    assert (first.returncode, again.returncode, mended.returncode) == (0, 0, 0)
    assert first.stdout == again.stdout == mended.stdout
    assert again.stderr.count("numba's cache in ") == 1
    assert "numba's cache" not in first.stderr + mended.stderr


@pytest.mark.slow
def test_a_full_disk_is_worked_around(tmp_path):
    """A file system of 16 kB, where one may be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)],
        capture_output=True, check=False,
    )  # fmt: skip
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "monmdp", "bandit", "--runs", "5"], capture_output=True,
            text=True, timeout=120, check=False, env=os.environ | {"NUMBA_CACHE_DIR": str(place)},
        )  # fmt: skip
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("numba's cache in ") == 1
    assert not list(Path().rglob("*.tmp.*"))
