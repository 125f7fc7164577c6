"""Commands that are told to stop at any moment of their lives, from the first import to the end."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import ROOT
from monmdp import cli
from monmdp.results.store import read_run
from processes import started, stopped

pytestmark = pytest.mark.slow

MOMENTS = 30
"""of each command, one in each part of its life"""
AT_ONCE = 2
"""commands at a time"""
LIMIT = 2.0
"""seconds in which a command must end"""
ALLOWANCE = 6.0
"""seconds more on a machine that others use"""
GO_ON = 15
"""every so many moments the command is started again, and must come to its end"""

SUITE = """
name = "short"
steps = 20_000
seeds = 4

[[experiment]]
worlds = ["loop"]
monitors = ["ask"]
agents = ["mbie-eb"]
"""

TRAIN = ("train", "loop", "ask", "--agent", "mbie-eb", "--seeds", "4", "--steps", "20000")
COMMANDS = {
    "train": (*TRAIN, "--jobs", "1", "--out", "here"),
    "train in processes": (
        "train", "loop", "ask", "--agent", "wanderer:Wanderer", "--unchecked", "--seeds", "4",
        "--steps", "3000", "--every", "1000", "--jobs", "2", "--out", "here",
    ),
    "run": ("run", "short.toml", "--jobs", "2", "--out", "here"),
    "evaluate": (
        "evaluate", "run.parquet", "loop", "ask", "--evaluation", "monte-carlo",
        "--episodes", "300000",
    ),
    "bandit": ("bandit", "--runs", "60", "--png", "law.png"),
    "solve": ("solve", "rooms-20x20", "n-experts"),
    "report": ("report", "trained"),
}  # fmt: skip


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """What the commands read: a suite, an agent, results."""
    place = tmp_path_factory.mktemp("stock")
    (place / "short.toml").write_text(SUITE)
    shutil.copy(ROOT / "examples" / "wanderer.py", place)
    finished(place, *TRAIN, "--snapshots", "20", "--out", "trained")
    (run,) = (place / "trained" / "runs").rglob("seed-0000.parquet")
    # A policy is found beside its run, and by the name of its folder.
    return place, run.relative_to(place)


def begin(place, *words, cache=None):
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    return started(*words, cwd=place, env=environment)


def finished(place, *words, cache=None):
    """Let a command come to its end; return how many seconds it took."""
    start = time.monotonic()
    process = begin(place, *words, cache=cache)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return time.monotonic() - start


def stopped_after(seconds, place, words, how, cache):
    """Stop a command after some seconds; return exit code, errors, and how long it took to end."""
    process = begin(place, *words, cache=cache)
    time.sleep(seconds)
    err, took = stopped(process, how)
    return process.returncode, err, took


def check(place, code, err, seconds):
    """Whether a command that was stopped has ended as it should."""
    if "interrupted" not in err and code != 0:
        # It had not begun: Python was still starting, which answers as it does.
        assert code in (-signal.SIGINT, -signal.SIGTERM) or "monmdp" not in err, err
        assert "numpy" not in err, err
    else:
        assert code in (0, 130), err
        assert "Traceback" not in err, err
        assert "Exception ignored" not in err, err
        assert err.count("interrupted") == (code == 130), err
        if code == 130:
            assert err.splitlines()[-1].startswith("interrupted"), err
    assert seconds < LIMIT + ALLOWANCE
    for path in place.rglob("*.parquet"):
        if path.name.startswith("seed-") and ".inside" not in path.name:
            read_run(path, inside=True)
    assert not list(place.rglob("*.part"))


@pytest.mark.parametrize(
    ("name", "moments"), [(name, 10 if "processes" in name else MOMENTS) for name in COMMANDS]
)
def test_a_command_stops_soon_at_any_moment(tmp_path, stock, name, moments):
    files, run = stock
    words = [str(run) if word == "run.parquet" else word for word in COMMANDS[name]]

    def folder(label):
        shutil.copytree(files, tmp_path / label)
        return tmp_path / label, (tmp_path / label / "cache" if name == "bandit" else None)

    place, cache = folder("whole")  # bandit compiles anew each time
    life = finished(place, *words, cache=cache)
    rng = random.Random(name)

    def attempt(n):
        place, cache = folder(f"moment-{n}")
        moment = life * (n + rng.random()) / moments
        how = (signal.SIGINT, signal.SIGTERM)[n % 2]
        told = f"{name} after {moment:.2f} of {life:.2f} s, {how.name}"
        code, err, seconds = stopped_after(moment, place, words, how, cache)
        try:
            check(place, code, err, seconds)
            if n % GO_ON == 0:
                finished(place, *words, cache=cache)
        except AssertionError as error:
            return f"{told}: {error}"
        shutil.rmtree(place)
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [told for told in pool.map(attempt, range(moments)) if told]
    assert not wrong, "\n\n".join(wrong)


# ---- signs of life --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["evaluate", "bandit", "solve", "report"])
def test_a_long_command_shows_that_it_is_at_work_where_there_is_no_terminal(
    stock, name, monkeypatch, capsys
):
    monkeypatch.setattr(sys.modules["monmdp.cli.app"], "INTERVAL", 0.001)
    files, run = stock
    monkeypatch.chdir(files)
    words = [str(run) if word == "run.parquet" else word for word in COMMANDS[name]]
    monkeypatch.setattr(sys, "argv", ["monmdp", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code
    lines = capsys.readouterr().err.splitlines()
    ours = [line for line in lines if line.startswith(f"{name}: at work for ") or " runs" in line]
    assert ours
    assert not any("\r" in line for line in lines)
