"""Two runners of one folder are kept apart, on every platform and in a stranger's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from monmdp import MonMDPError
from monmdp.results import locks
from monmdp.results.locks import locked

HOLD = """
import sys, time
from pathlib import Path
from monmdp.results.locks import locked
shard = tuple(map(int, sys.argv[1:])) or None
with locked(Path("here"), shard):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.1)


def other_process(*shard):
    """Another process that holds the folder, or a shard of it."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, *map(str, shard)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.slow
@pytest.mark.parametrize("theirs", [(), (1, 3)])
def test_another_process_is_named_and_its_death_lets_go(theirs):
    process = other_process(*theirs)
    try:
        named = f"process {process.pid} on "
        with pytest.raises(MonMDPError, match=named), locked(Path("here")):
            pass
        with pytest.raises(MonMDPError, match=named), locked(Path("here"), (1, 2)):
            pass
        if theirs:
            with locked(Path("here"), (2, 3)) as alone:
                assert not alone
            with pytest.raises(MonMDPError, match="shard 1/3"), locked(Path("here"), (1, 3)):
                pass
    finally:
        process.kill()
        process.communicate()
    with locked(Path("here")) as alone:
        assert alone


def test_a_whole_run_and_shards_exclude_each_other_in_one_process():
    with locked(Path("here")):
        for shard in (None, (1, 2)):
            with pytest.raises(MonMDPError, match="another run is at work in here"):
                locked(Path("here"), shard).__enter__()
    with locked(Path("here"), (1, 2)), locked(Path("here"), (2, 2)):
        for shard in (None, (1, 2), (1, 3)):
            with pytest.raises(MonMDPError, match="another run is at work in here"):
                locked(Path("here"), shard).__enter__()
    with locked(Path("here")) as alone:
        assert alone


@pytest.mark.parametrize("shard", [None, (1, 2)])
@pytest.mark.parametrize("name", ["lock", "lock-1-of-2", "lock-7-of-9"])
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nowhere"])
def test_a_lock_that_is_a_link_is_refused_and_not_followed(name, shard, there):
    target = Path("precious")
    if there:
        target.write_text("precious")
    Path("here").mkdir()
    (Path("here") / name).symlink_to(target.resolve())
    with pytest.raises(MonMDPError, match=f"here/{name} is a link"):
        locked(Path("here"), shard).__enter__()
    assert target.exists() == there
    if there:
        assert target.read_text() == "precious"
    assert (Path("here") / name).is_symlink()


def test_the_note_of_the_holder_is_not_followed_nor_believed():
    precious = Path("precious")
    precious.write_text("precious")
    Path("here").mkdir()
    note = Path("here/lock.by")
    note.symlink_to(precious.resolve())
    with locked(Path("here")):  # it replaces the link
        assert not note.is_symlink()
        note.unlink()
        note.write_bytes(b"\x1b[31mred\x07\xff\n" + b"x" * 10_000_000)
        with pytest.raises(MonMDPError) as error:
            locked(Path("here")).__enter__()
        assert str(error.value).isascii()
        assert str(error.value).isprintable()
        assert len(str(error.value)) < 500
        note.unlink()
        os.mkfifo(note)  # reading it would wait for ever
        with pytest.raises(MonMDPError, match="an unknown process"):
            locked(Path("here")).__enter__()
    assert precious.read_text() == "precious"


def test_a_hard_link_is_neither_emptied_nor_removed():
    precious = Path("precious")
    precious.write_text("precious")
    Path("here").mkdir()
    os.link(precious, "here/lock")
    with locked(Path("here")):
        pass
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_a_lock_that_is_no_file_is_one_error(kind):
    Path("here").mkdir()
    Path("here/lock").mkdir() if kind == "folder" else os.mkfifo("here/lock")
    with pytest.raises(MonMDPError, match="here/lock is no plain file"):
        locked(Path("here")).__enter__()


def test_a_file_system_without_locks_is_used_without_cleaning_up(monkeypatch):
    def refuse(*_, **__):
        raise OSError(locks._NO_LOCKS[0], "No locks available")

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    with locked(Path("here")) as alone:
        assert not alone


WITHOUT_UNIX = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
# Other packages look at the platform, which stays what it is.
import gymnasium, jinja2, joblib, matplotlib.pyplot, numba, pandas, pyarrow.parquet, pydantic
import PIL.Image, scipy.sparse.linalg, typer
from joblib.externals import loky
for name in ("fcntl", "pwd", "grp", "termios", "resource"):
    sys.modules[name] = None
for module, names in (
    (os, ("uname", "fork", "getppid", "killpg", "getuid", "sysconf", "mkfifo", "O_NOFOLLOW")),
    (signal, ("SIGHUP", "SIGALRM", "SIGQUIT", "SIGKILL", "SIGUSR1", "setitimer")),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""

A_SMALL_SUITE = """
import sys
from monmdp.results import locks
locks.PATIENCE = 0.1
from monmdp import cli
from monmdp.errors import MonMDPError
from pathlib import Path
import monmdp.api, monmdp.report, monmdp.theory, monmdp.testing
with locks.locked(Path("here")) as alone:
    assert alone
    try:
        locks.locked(Path("here")).__enter__()
    except MonMDPError as error:
        print(error)
sys.argv = ["monmdp", "train", "loop", "ask", "--agent", "mbie-eb", "--seeds", "2",
            "--steps", "200", "--jobs", "1", "--out", "here"]
cli.main()
"""


@pytest.mark.slow
def test_a_small_suite_runs_where_nothing_of_unix_is_there():
    """What Windows lacks is not asked for when modules are imported, nor by a run."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX + A_SMALL_SUITE],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "another run is at work in here" in done.stdout
    assert "2 seeds" in done.stdout


# ---- workers --------------------------------------------------------------------------------

SLEEPY = """
import sys, time
from multiprocessing import Pipe
from joblib.externals.loky import ProcessPoolExecutor
from monmdp.results.runner import _die_with_parent

if __name__ == "__main__":
    theirs, ours = Pipe(duplex=False)
    pool = ProcessPoolExecutor(2, initializer=_die_with_parent, initargs=(theirs,))
    futures = [pool.submit(time.sleep, 600) for _ in range(4)]
    while sum(future.running() for future in futures) < 2:
        time.sleep(0.05)
    print("asleep", flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_worker_processes_end_with_a_killed_parent():
    Path("sleepy.py").write_text(SLEEPY)
    process = subprocess.Popen([sys.executable, "sleepy.py"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "asleep\n"
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.kill()
    process.communicate(timeout=60)
    _, alive = psutil.wait_procs(workers, timeout=5)
    for worker in alive:
        worker.kill()
    assert not alive
