"""Commands that are told to stop, or that nobody listens to any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from conftest import ROOT, one_in
from monmdp.results.store import read_run
from processes import started, stopped

AT_WORK = 4.0
"""CPU seconds after which a command has started, and is where it stays for long"""
SOON = 2.0 + 6.0
"""seconds in which a command must end; it takes two, and more on a machine that others use"""

LONG_TESTS = """
name = "long-tests"
steps = 200
seeds = 2
evaluation = "monte-carlo"
episodes = 100_000_000

[[experiment]]
worlds = ["river-swim"]
monitors = ["ask"]
agents = ["mbie-eb"]
"""


def wait_until(process, what, seconds=120.0):
    end = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


@pytest.mark.parametrize(
    "how", one_in(2, [signal.SIGINT, signal.SIGTERM]), ids=lambda how: how.name
)
@pytest.mark.parametrize(
    "words",
    one_in(
        6,
        [
            # Between two tests lie hours.
            ["train", "loop", "ask", "--agent", "mbie-eb", "--jobs", "1", "--seeds", "3",
             "--every", "100_000_000", "--steps", "1_000_000_000"],
            ["compare", "loop", "ask", "--agents", "mbie-eb,r-max", "--jobs", "2", "--seeds", "3",
             "--every", "100_000_000", "--steps", "1_000_000_000"],
            ["train", "loop", "ask", "--agent", "wanderer:Wanderer", "--jobs", "1", "--unchecked",
             "--every", "100_000_000", "--steps", "1_000_000_000"],
            # A test takes hours.
            ["run", "long-tests.toml"],
            ["evaluate", "policy.npz", "river-swim", "ask", "--evaluation", "monte-carlo",
             "--episodes", "1_000_000_000"],
            ["bandit", "--runs", "20_000"],
        ],
    ),
    ids=lambda words: " ".join(words[:1] + words[3:5] if words[0] == "train" else words[:1]),
)  # fmt: skip
def test_any_command_ends_soon_whatever_it_is_doing(command, words, how):
    words = [word.replace("_000", "000") for word in words]
    if words[0] == "evaluate":
        train = ("train", "river-swim", "ask", "--agent", "mbie-eb", "--steps", 200, "--seeds", 1)
        assert command(*train, "--out", "trained")[0] == 0
        (run,) = Path("trained/runs").rglob("seed-0000.parquet")
        words[1] = str(run)
    if words[0] in ("evaluate", "bandit"):  # compile what is to be interrupted
        assert command(*words[:-1], 10)[0] == 0
    Path("long-tests.toml").write_text(LONG_TESTS)
    Path("wanderer.py").write_text((ROOT / "examples" / "wanderer.py").read_text())
    process = started(*words)
    watched = psutil.Process(process.pid)
    wait_until(process, lambda: watched.cpu_times().user > AT_WORK)
    err, seconds = stopped(process, how)
    assert seconds < SOON
    # Python ends itself by SIGINT if that came while it read a piece of code; a shell says 130.
    assert process.returncode in (130, -signal.SIGINT), err
    assert "Traceback" not in err
    assert "interrupted" in err
    assert not list(Path().rglob("*.part"))
    for path in Path("results").rglob("seed-*.parquet"):
        read_run(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "jobs", "agent"),
    one_in(
        3,
        [
            (signal.SIGINT, "2", "wanderer:Wanderer"),
            (signal.SIGINT, "1", "monitored-mbie-eb"),
            (signal.SIGTERM, "2", "monitored-mbie-eb"),
        ],
    ),
)
def test_a_stopped_training_keeps_what_is_done(tmp_path, how, jobs, agent):
    """Interrupted from outside, the same command finishes only what is missing."""
    (tmp_path / "wanderer.py").write_text((ROOT / "examples" / "wanderer.py").read_text())
    words = ["train", "empty", "n-experts", "--seeds", "400", "--jobs", jobs, "--agent", agent]
    words += ["--steps", "2000", "--every", "500", "--out", "here"]
    process = started(*words)

    def files():
        found = sorted(Path("here").rglob("seed-*.parquet"))
        return [path for path in found if ".inside" not in path.name]

    wait_until(process, lambda: len(files()) > 2)
    err, seconds = stopped(process, how)
    assert seconds < SOON
    assert process.returncode == 130, err
    again = f"monmdp {' '.join(words)}"
    assert err.splitlines()[-1] == f"interrupted; what is finished is kept. To go on: {again}"
    assert "Traceback" not in err
    done = {path: path.stat().st_mtime_ns for path in files()}
    assert 2 <= len(done) < 400
    assert not list(Path().rglob("*.part"))
    for path in done:
        assert read_run(path, inside=True).policy is not None
    # A little more, by the same runs of fewer seeds.
    words[words.index("400")] = str(len(done) + 2)
    out, err = started(*words).communicate(timeout=120)
    assert f"{len(done)} already there" in out
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert len(files()) >= len(done) + 2


@pytest.mark.slow
def test_a_command_that_ignores_interrupts_is_let_do_so():
    """Started with nohup, or in the background by a shell: an ignored signal stays ignored."""
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); " \
           "sys.argv = ['monmdp', *sys.argv[1:]]; from monmdp import cli; cli.main()"  # fmt: skip
    words = ["train", "loop", "ask", "--agent", "mbie-eb", "--seeds", "2", "--steps", "30000"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    wait_until(process, lambda: Path("results/reports").exists())
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "seeds converged" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "taken"), [(["-m", "other"], False), (["-m", "monmdp"], True), (["-mmonmdp"], True)]
)
def test_signals_are_taken_from_the_command_alone(words, taken):
    """A module of somebody else's that imports this package keeps its signals."""
    Path("other.py").write_text("import monmdp\n")
    at_the_end = (
        "import atexit, signal\n"
        "atexit.register(lambda: print(signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL))\n"
    )
    Path("sitecustomize.py").write_text(at_the_end)
    run = subprocess.run(
        [sys.executable, *words, "--help"], env=os.environ | {"PYTHONPATH": "."}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.stdout.splitlines()[-1] == str(taken)


# ---- pipes ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize("words", [("list",), ("solve", "bottleneck", "button", "--json")])
def test_a_closed_pipe_ends_a_command_quietly(words, lines, unbuffered):
    process = started(*words, env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
    for _ in range(lines):
        assert process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert err == ""
    assert process.returncode in (0, 128 + signal.SIGPIPE, -signal.SIGPIPE)
