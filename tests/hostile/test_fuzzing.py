"""Ten thousand files with something wrong: no traceback, no hang, nothing written elsewhere.

Real files of every kind that the commands read are changed at random, and read by the command that
a user would type. What was sealed is sealed again, so that the content is reached.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import shutil
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import monmdp
from monmdp import MonMDPError, Policy, cli
from monmdp.results import evidence, sealed
from monmdp.results.store import inside_path, read_footer, run_files

pytestmark = pytest.mark.slow

SECONDS = 20
"""longer than any of these commands takes, on a busy machine as well"""
MAP = """
name: mine
time_limit: 50
slip: 0.1
tile X: reward -10, ends
@..g
.#X.
^..<
"""
TOML = """
name = "mine"
seeds = 2
steps = 300
every = 100
reference = "r-max"
[[experiment]]
title = "one"
worlds = ["loop", { name = "empty", slip = 0.1, label = "slippery" }]
monitors = ["ask", { name = "button", cost = -0.1 }]
rho = [0.5, 1.0]
agents = ["r-max", { name = "mbie-eb", beta = 0.1, not_with = ["button"] }]
overrides = [{}, { gamma = 0.9 }]
y_range = [-1.0, 1.0]
[[experiment.quick]]
[[claim]]
name = "C"
text = "it is better"
"""
WORDS = [
    "", "0", "-1", "1e309", "nan", "-inf", "1e-320", "99999999999999999999", "1e12", "²", "true",
    "null", "[]", "{}", '""', "'", '"', "[[", "]]", "..", "../../outside", "/etc/passwd",
    "os:system", "$x$", "\x1b[31m", "\x00", "\u2028", "=1+1", "<b>", "|", "\n", "\t", "#", "=",
    "a" * 5000,
]  # fmt: skip


def changed_text(text, rng):
    """A text with one to three things wrong in it."""
    for _ in range(rng.randint(1, 3)):
        tokens = [m.span() for m in re.finditer(r"[\w.+-]+|[^\w\s]", text)] or [(0, 0)]
        begin, end = rng.choice(tokens)
        other = text[slice(*rng.choice(tokens))]
        text = text[:begin] + rng.choice([*WORDS, other, text[begin:end] * 2]) + text[end:]
    return text


def changed_bytes(content, rng):
    """A file with one to three things wrong in it."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        if not content:
            break
        at = rng.randrange(len(content))
        kind = rng.randrange(5)
        if kind == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del content[at : at + rng.randrange(1, 200)]
        elif kind == 2:
            content[at:at] = rng.randbytes(rng.randrange(1, 50))
        elif kind == 3:
            content[at : at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, rng.randbytes(8)])
        else:
            del content[at:]
    return bytes(content)


ODD = [None, True, -1, 0, 10**18, 10**400, 1e300, float("nan"), float("-inf"), "", "../x",
       "os:system", [], {}, [[]], {"a": 1}, "a" * 5000, "\x1b[2J"]  # fmt: skip


def changed_data(data, rng):
    """Data, as JSON holds them, with one to three things wrong in them."""
    data = json.loads(json.dumps(data))
    for _ in range(rng.randint(1, 3)):
        here = data
        while True:
            if not isinstance(here, dict | list) or not here:
                break
            key = rng.choice(list(here) if isinstance(here, dict) else range(len(here)))
            inner = here[key]
            if isinstance(inner, dict | list) and inner and rng.random() < 0.85:
                here = inner
                continue
            if rng.random() < 0.2:
                del here[key]
            else:
                here[key] = json.loads(json.dumps(rng.choice(ODD)))
            break
    return data


def changed_seal(path, rng):
    """A sealed file with something wrong in its footer, its bytes or its columns; sealed again."""
    content = path.read_bytes()
    with pq.ParquetFile(path) as file:
        footer, table = json.loads(file.schema_arrow.metadata[sealed.KEY]), file.read()
    kind = rng.random()
    if kind < 0.7:
        footer.pop("seal")
        footer = changed_data(footer, rng)
        footer = footer if isinstance(footer, dict) else {"format": footer}
        sealed.write_sealed(path, table.replace_schema_metadata(None), footer)
        return
    if kind < 0.8 and table.num_columns > 1:
        footer.pop("seal")
        table = table.drop_columns([rng.choice(table.column_names)])
        sealed.write_sealed(path, table.replace_schema_metadata(None), footer)
        return
    if kind < 0.9:
        footer.pop("seal")
        numbers = [name for name in table.column_names if table[name].type == pa.float64()]
        if numbers:
            at = table.column_names.index(rng.choice(numbers))
            values = table[at].to_numpy().copy()
            values[rng.randrange(len(values))] = rng.choice(
                [math.nan, math.inf, -1e308, 1e308, 1e-320]
            )
            table = table.set_column(at, table.column_names[at], pa.array(values))
        sealed.write_sealed(path, table.replace_schema_metadata(None), footer)
        return
    at = content.rfind(sealed.SEAL)
    body = changed_bytes(content[:at], rng) + content[at:]
    blank = sealed._with_seal(body, sealed.BLANK)
    path.write_bytes(sealed._with_seal(body, hashlib.sha256(blank).hexdigest().encode()))


@contextmanager
def in_time(what):
    def over(*_):
        raise TimeoutError(f"it hangs: {what}")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def quiet(monkeypatch, capsys):
    """Run a command; any exception but an exit is a traceback for the user."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["monmdp", *map(str, words)])
        with in_time(words), suppress(SystemExit):
            cli.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "\x1b[" not in out + err

    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    suite = {
        "name": "small", "seeds": 1, "steps": 300, "every": 100, "policies": True,
        "snapshots": 1,
        "experiment": [{"worlds": ["loop"], "monitors": ["ask"], "agents": ["r-max"]}],
    }  # fmt: skip
    monmdp.run_suite(suite, out=folder / "results")
    problem = monmdp.make("loop", "ask", rho=0.5)
    problem.save(folder / "problem.npz")
    Policy(problem.shape, monmdp.solve(problem).minimax.policy).save(folder / "policy.npz")
    return folder


def outside(tmp_path):
    """All that is beside the folder in which files are read."""
    return sorted(path for path in tmp_path.iterdir())


LOOKED_AT = 40
"""of so many mutants one is made a page and pictures of: that takes longer"""
ROUNDS = 10
"""each kind of file is done in so many tests, which may run side by side"""
ROUND = pytest.mark.parametrize("round_", range(ROUNDS))


def mutants(count, name, round_):
    """Sources of randomness for the mutants of one round."""
    return [random.Random(f"{name} {round_} {i}") for i in range(count // ROUNDS)]


@ROUND
def test_maps(quiet, round_, tmp_path):
    Path("inner").mkdir()
    before = outside(tmp_path)
    for rng in mutants(1200, "map", round_):
        text = changed_text(MAP, rng)
        Path("inner/my.txt").write_text(text, encoding="utf-8", errors="surrogatepass")
        quiet("solve", "inner/my.txt", "ask")
    assert outside(tmp_path) == before


@ROUND
def test_suites(quiet, round_, tmp_path):
    Path("inner").mkdir()
    before = outside(tmp_path)
    for rng in mutants(1300, "toml", round_):
        Path("inner/my.toml").write_text(changed_text(TOML, rng), encoding="utf-8")
        quiet("run", "inner/my.toml", "--dry-run", "--out", "inner/results")
    assert outside(tmp_path) == before


@ROUND
def test_requests(quiet, round_, made, tmp_path):
    folder = Path(shutil.copytree(made / "results", "results"))
    path = folder / "reports" / "small" / "request.json"
    text = path.read_text()
    before = outside(tmp_path)
    for i, rng in enumerate(mutants(1900, "request", round_)):
        data = (
            changed_text(text, rng)
            if i % 3 == 0
            else json.dumps(changed_data(json.loads(text), rng))
        )
        path.write_text(data, encoding="utf-8", errors="surrogatepass")
        quiet("status", folder)
        if i % LOOKED_AT == 0:
            quiet("report", folder)
            quiet("redraw", folder)
    assert outside(tmp_path) == before


@ROUND
@pytest.mark.parametrize("name", ["sessions", "references"])
def test_small_files_beside_a_report(quiet, round_, made, name, tmp_path):
    folder = Path(shutil.copytree(made / "results", "results"))
    path = folder / "reports" / "small" / f"{name}.json"
    settings = read_footer(run_files(folder)[0])["settings"]
    content = {
        "sessions": [{"ended": "now", "runs": 1, "wall_seconds": 1.0, "jobs": 2, "commit": "a"}],
        "references": {
            "problem": settings["problem"],
            "gamma": settings["gamma"],
            "references": [{"name": "x", "env_return": 1.0, "monitor_return": -1.0}],
        },
    }[name]
    before = outside(tmp_path)
    for rng in mutants(100, name, round_):
        path.write_text(json.dumps(changed_data(content, rng)))
        quiet("report", folder)
    assert outside(tmp_path) == before


@ROUND
@pytest.mark.parametrize("kind", ["problem", "policy"])
def test_archives(quiet, round_, made, kind, tmp_path):
    content = (made / f"{kind}.npz").read_bytes()
    before = outside(tmp_path)
    path = Path("inner/changed.npz")
    path.parent.mkdir()
    words = ("solve", path) if kind == "problem" else ("evaluate", path, "loop", "ask")
    for rng in mutants(1000, kind, round_):
        path.write_bytes(changed_bytes(content, rng))
        quiet(*words)
    path.unlink()
    path.parent.rmdir()
    assert outside(tmp_path) == before


@ROUND
def test_runs_and_their_insides(quiet, round_, made, tmp_path):
    good = made / "results"
    folder = Path(shutil.copytree(good, "results"))
    before = outside(tmp_path)
    (run,) = run_files(folder)
    (kept,) = run_files(good)
    for i, rng in enumerate(mutants(1300, "run", round_)):
        shutil.copyfile(kept, run)
        shutil.copyfile(inside_path(kept), inside_path(run))
        changed_seal(rng.choice([run, inside_path(run)]), rng)
        with in_time("load_run"), suppress(MonMDPError):
            monmdp.load_run(run)
        quiet("status", folder)
        if i % LOOKED_AT == 0:
            quiet("report", folder)
            quiet("redraw", folder)
    assert outside(tmp_path) == before


@ROUND
def test_summaries(quiet, round_, made, tmp_path):
    folder = Path(shutil.copytree(made / "results", "results"))
    summary = folder / "reports" / "small" / "summary.parquet"
    content = summary.read_bytes()
    before = outside(tmp_path)
    for i, rng in enumerate(mutants(2300, "summary", round_)):
        summary.write_bytes(content)
        changed_seal(summary, rng)
        with in_time("load"), suppress(MonMDPError):
            evidence.load(summary)
        if i % LOOKED_AT == 0:
            quiet("report", folder)
            quiet("redraw", summary)
    assert outside(tmp_path) == before
