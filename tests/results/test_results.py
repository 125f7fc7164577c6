"""Results: the store, the runner and the commands on them, whatever happens on the way."""

from __future__ import annotations

import errno
import inspect
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

from monmdp import MonMDPError, agents, files, run_suite
from monmdp.experiment import own_code, provenance, training
from monmdp.experiment.provenance import kernel_hash
from monmdp.experiment.streams import streams
from monmdp.results import (
    evidence,
    execute,
    gather,
    load_results,
    locks,
    publish,
    runner,
    sealed,
    store,
)
from monmdp.results.request import ask_paper, ask_suite, keep, understood
from monmdp.results.store import read_footer, read_run, write_run
from monmdp.schema import DamagedError
from monmdp.suites import load
from processes import started, stopped

SUITE = """
name = "small"
steps = 300
evaluation = "monte-carlo"
episodes = 5
seeds = 6

[[experiment]]
worlds = ["loop"]
monitors = ["ask"]
rho = [1.0, 0.5]
agents = ["monitored-mbie-eb", "mbie-eb"]
"""
EXACT = """
name = "exact"
steps = 300
seeds = 2

[[experiment]]
worlds = ["loop"]
monitors = ["ask"]
agents = ["monitored-mbie-eb"]
"""
MANY = """
name = "many"
steps = 400
every = 20
evaluation = "monte-carlo"
episodes = 100
seeds = 150

[[experiment]]
worlds = ["loop", "hazard"]
monitors = ["ask", "button"]
agents = ["monitored-mbie-eb"]
"""
OWN = """
name = "own"
steps = 40
every = 20
seeds = 4

[[experiment]]
worlds = ["loop"]
monitors = ["ask"]
agents = ["{module}:Walker"]
"""
WALKER = """
import time
from pathlib import Path

import numpy as np


class Walker:
    def __init__(self, shape, rng):
        self.shape, self.rng = shape, rng
        self.first = float(rng.random())
        {begin}

    def begin_episode(self):
        return False

    def act(self, observation):
        {act}
        return {{"env": int(self.rng.integers(4)), "mon": 0}}

    def update(self, transition):
        pass

    def test_policy(self):
        se, sm, ae, am = self.shape
        return np.full((se * sm, ae * am), 1 / (ae * am))
"""


def write(name, text):
    path = Path(name)
    path.write_text(text)
    return path


def own_agent(module, begin="pass", act="pass"):
    """An agent in plain Python beside its suite: such agents run in processes."""
    write(f"{module}.py", WALKER.format(begin=begin, act=act))
    return write(f"{module}.toml", OWN.format(module=module))


def files_of(folder):
    """The files of all runs, without those of their insides."""
    found = sorted((folder / "runs").rglob("*.parquet"))
    return [path for path in found if not path.name.endswith(".inside.parquet")]


def data_of(folder):
    """The bytes of all runs, each by its place."""
    return {str(p.relative_to(folder)): read_run(p).data() for p in files_of(folder)}


def stamps(folder):
    """What would change if a file were written again."""
    return {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in files_of(folder)}


def leftovers(folder):
    return [p for p in folder.rglob("*") if p.suffix == ".part"]


def wait_for(what, seconds=60.0):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A suite, done undisturbed with one job."""
    folder = tmp_path_factory.mktemp("small")
    suite = write(folder / "small.toml", SUITE)
    asked = ask_suite(load(suite))
    outcome = execute(folder, asked.runs(), jobs=1)
    assert not outcome.failures
    assert outcome.progress.done == len(asked.runs()) == 24
    return folder


@pytest.fixture
def copy(small):
    """A copy of it, with its request, to be spoilt."""
    shutil.copytree(small, "copy")
    folder = Path("copy")
    keep(ask_suite(load(folder / "small.toml")), folder)
    return folder


def runs_of(folder):
    return ask_suite(load(folder / "small.toml")).runs()


# ---- the same data, however the runs are done -----------------------------------------------


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize(
    "threads", [16, pytest.param(0, marks=pytest.mark.slow)], ids=["threads", "processes"]
)
def test_any_number_of_jobs_gives_the_same_data(small, command, monkeypatch, jobs, threads):
    monkeypatch.setattr(runner, "THREADS", threads)
    code, out, _ = command("run", small / "small.toml", "--jobs", jobs, "--out", "here")
    assert code == 0
    assert "24 runs" in out
    assert data_of(Path("here")) == data_of(small)


def test_exact_evaluation_gives_the_same_data_for_any_number_of_jobs(command):
    suite = write("exact.toml", EXACT)
    for jobs in (1, 2):
        assert command("run", suite, "--jobs", jobs, "--out", f"jobs-{jobs}")[0] == 0
    assert data_of(Path("jobs-1")) == data_of(Path("jobs-2"))
    assert len(files_of(Path("jobs-1"))) == 2


@pytest.mark.slow
def test_shards_run_apart_and_copied_together_are_the_whole(small, command):
    merged = Path("merged")
    sizes = []
    for i in (1, 2, 3):
        apart = Path(f"apart-{i}")
        words = ("run", small / "small.toml", "--out", apart, "--shard", f"{i}/3")
        code, out, _ = command(*words)
        assert code == 0
        assert f"shard {i}/3 is done; {24 - len(files_of(apart))} runs belong to other" in out
        assert not list(apart.rglob("*.png")), "a shard reports nothing"
        shutil.copytree(apart / "runs", merged / "runs", dirs_exist_ok=True)
        sizes.append(len(files_of(apart)))
    assert sum(sizes) == 24
    assert min(sizes) > 0
    before = stamps(merged)
    assert data_of(merged) == data_of(small)
    code, out, _ = command("run", small / "small.toml", "--out", merged)
    assert code == 0
    assert "all 24 runs are there" in out
    assert (merged / "reports/small/small.png").exists()
    assert stamps(merged) == before


@pytest.mark.parametrize("shard", [("--shard", "01/900"), ("--shard=1/900",)])
def test_however_a_shard_is_written_it_is_left_out_of_the_command_for_all(small, command, shard):
    code, out, _ = command("run", small / "small.toml", "--out", "here", *shard)
    assert code == 0
    assert f"if need be): monmdp run {small}/small.toml --out here\n" in out


@contextmanager
def two_workers():
    """A scheduler with two worker processes on loopback."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # theirs
def test_a_scheduler_with_two_workers_gives_the_same_data_and_may_lose_one(small, command):
    suite = load(small / "small.toml")
    longer = ask_suite(suite.model_copy(update={"steps": 150_000, "every": 10_000}), seeds=2)
    runs = longer.runs()
    execute(Path("undisturbed"), runs, jobs=2)
    with two_workers() as cluster:
        address = cluster.scheduler_address
        words = ("run", small / "small.toml", "--out", "cluster", "--scheduler", address)
        code, out, _ = command(*words)
        assert code == 0
        assert "24 runs" in out
        assert data_of(Path("cluster")) == data_of(small)
        hosts = {read_footer(p)["provenance"]["machine"]["host"] for p in files_of(Path("cluster"))}
        assert hosts == {os.uname().nodename}
        processes = {read_footer(p)["provenance"]["process"] for p in files_of(Path("cluster"))}
        assert os.getpid() not in processes
        assert len(processes) >= 2

        workers = [nanny.pid for nanny in cluster.workers.values()]
        assert len(set(workers)) == 2
        killed = []

        def kill_one(progress):
            if progress.done == 2 and not killed:
                os.kill(workers[0], signal.SIGKILL)
                killed.append(workers[0])

        outcome = execute(Path("bereft"), runs, scheduler=address, tell=kill_one)
        assert killed
        assert not outcome.failures
        assert outcome.progress.done == len(runs) == 8
        assert workers[0] not in [nanny.pid for nanny in cluster.workers.values()]
    assert data_of(Path("bereft")) == data_of(Path("undisturbed"))


# ---- killed, stopped, full, shut ------------------------------------------------------------


def _has_more(folder, n, process):
    return len(files_of(folder)) > n or process.poll() is not None


def killed_and_resumed(folder, suite, kills, seed):
    """Kill the runner again and again; return how many files each kill found."""
    rng = random.Random(seed)
    found = []
    for n in range(kills):
        before = stamps(folder)
        process = started("run", suite, "--out", folder, "--jobs", 1)
        if n:  # the first one is killed at any moment, while it starts perhaps
            wait_for(partial(_has_more, folder, len(before), process))
        time.sleep(rng.uniform(0.0, 0.3 if n else 3.0))
        assert process.poll() is None, "it was done before it could be killed"
        process.kill()
        process.communicate()
        after = stamps(folder)
        for path in after:
            read_run(path)  # whole, all of them
        assert {path: after[path] for path in before} == before, "done, and yet done again"
        found.append(len(after))
    return found


@pytest.mark.slow
def test_a_runner_killed_twenty_times_loses_nothing_and_does_nothing_twice(command):
    suite = write("many.toml", MANY).resolve()
    folders = [Path("one").resolve(), Path("two").resolve()]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda i: killed_and_resumed(folders[i], suite, 10, i), range(2)))
    runs = ask_suite(load(suite)).runs()
    for folder, counts in zip(folders, found, strict=True):
        assert counts == sorted(counts)
        assert 0 < counts[-1] < len(runs)
        code, out, _ = command("status", folder, "--json")
        assert code == 0
        report = json.loads(out)["reports"][0]
        assert (report["there"], report["damaged"]) == (counts[-1], [])
    undisturbed = Path("undisturbed")
    assert command("run", suite, "--out", undisturbed)[0] == 0
    for folder in folders:
        before = stamps(folder)
        code, out, _ = command("run", suite, "--out", folder)
        assert code == 0
        assert f"{len(before):,} were there already" in out
        assert data_of(folder) == data_of(undisturbed)
        assert {path: stamp for path, stamp in stamps(folder).items() if path in before} == before
        assert not leftovers(folder)


@pytest.mark.slow
def test_a_runner_killed_at_any_moment_loses_nothing_and_does_nothing_twice(small, command):
    """Thrice; many more times below."""
    folder, suite = Path("here").resolve(), write("many.toml", MANY).resolve()
    counts = killed_and_resumed(folder, suite, 3, seed=5)
    assert counts == sorted(counts)
    assert 0 < counts[-1] < 600
    before = stamps(folder)
    fewer = write("fewer.toml", MANY.replace("seeds = 150", f"seeds = {counts[-1] // 4 + 3}"))
    assert command("run", fewer, "--out", folder)[0] == 0
    assert {path: stamp for path, stamp in stamps(folder).items() if path in before} == before
    assert not leftovers(folder)
    assert command("run", fewer, "--out", "undisturbed")[0] == 0
    asked = data_of(Path("undisturbed"))
    assert data_of(folder).items() >= asked.items()
    assert len(asked) == 4 * (counts[-1] // 4 + 3)


KILLED_WRITING = """
import os, signal, sys
from monmdp import cli, files

class Half:
    def __init__(self, path, mode):
        self.file = open(path, mode)
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.file.close()
    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

def opened(path, mode):
    return Half(path, mode) if "seed-0003" in str(path) else open(path, mode)

files.open = opened
cli.main()
"""


@pytest.mark.slow
def test_a_runner_killed_in_the_middle_of_a_write_leaves_no_run(small, command):
    folder = Path("here")
    words = ["run", str(small / "small.toml"), "--out", str(folder), "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WRITING, *words], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    (part,) = leftovers(folder)
    assert part.stat().st_size > 1000
    before = stamps(folder)
    assert 0 < len(before) < 24
    assert data_of(folder).items() <= data_of(small).items()
    assert len(load_results(folder)) == 3 * len(before)
    _, out, _ = command("status", folder, "--json")
    assert json.loads(out)["half_written"] == [str(part)]
    assert part.exists()
    assert command(*words)[0] == 0
    assert not leftovers(folder)
    assert data_of(folder) == data_of(small)
    assert stamps(folder).items() >= before.items()


@pytest.mark.slow
def test_a_killed_runner_leaves_no_worker_and_no_lock():
    suite = own_agent("sleeping", act="time.sleep(0.5)")
    process = started("run", suite, "--out", "here", "--jobs", 2, "--unchecked")
    family = psutil.Process(process.pid)
    # Two workers, and a process that looks after what they share.
    wait_for(lambda: len(family.children(recursive=True)) >= 3)
    time.sleep(0.5)
    with pytest.raises(MonMDPError, match=f"process {process.pid} on "), locks.locked(Path("here")):
        pass
    workers = family.children(recursive=True)
    process.kill()
    process.wait()
    with locks.locked(Path("here")) as alone:
        assert alone
    _, alive = psutil.wait_procs(workers, timeout=10)
    for worker in alive:
        worker.kill()
    process.communicate()
    assert not alive
    assert not files_of(Path("here"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["compiled", "python"])
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=lambda stop: stop.name)
def test_a_runner_that_is_told_to_stop_does_so_at_once(stop, kind):
    """One run is long, others are short: when those are there, the long one is under way."""
    if kind == "compiled":
        long = "seeds = 1\nsteps = 2_000_000_000\nevery = 1_000_000\n"
        text = SUITE + EXACT.partition("\n\n")[2] + long
        suite = write("small.toml", text)
    else:
        begin = (
            "first = not Path('begun').exists(); Path('begun').touch(); "
            "time.sleep(1000 if first else 0)"
        )
        suite = own_agent("stopping", begin=begin)
    folder = Path("with space")
    process = started("run", suite, "--out", folder, "--jobs", 2, "--unchecked", "--shard", "1/1")
    try:
        wait_for(lambda: files_of(folder) or process.poll() is not None)
    except BaseException:
        process.kill()
        raise
    err, seconds = stopped(process, stop)
    assert seconds < 5
    assert process.returncode == 130
    last = err.strip().splitlines()[-1]
    assert last == (
        "interrupted; what is finished is kept. To go on: "
        f"monmdp run {suite} --out 'with space' --jobs 2 --unchecked --shard 1/1"
    )
    assert "Traceback" not in err
    assert not leftovers(folder)
    for path in files_of(folder):
        read_run(path)


class _FullDisk(io.RawIOBase):
    """Takes a few bytes and no more."""

    def __init__(self, file):
        self.file = file

    def write(self, content):
        self.file.write(content[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self):
        self.file.close()


def test_a_full_disk_is_one_error_and_leaves_no_part(small, command, monkeypatch):
    folder = Path("here")
    filled = []

    def opened(path, mode):
        file = open(path, mode)  # noqa: SIM115
        if len(files_of(folder)) >= 5:
            filled.append(path)
            return _FullDisk(file)
        return file

    with monkeypatch.context() as patched:
        patched.setattr(files, "open", opened, raising=False)
        code, _, err = command("run", small / "small.toml", "--out", folder, "--jobs", 2)
    assert filled
    assert code == 2
    assert "No space left on device" in err
    assert f"To go on: monmdp run {small}/small.toml --out here --jobs 2" in err
    assert len(files_of(folder)) == 5
    assert not leftovers(folder)
    assert command("run", small / "small.toml", "--out", folder)[0] == 0
    assert data_of(folder) == data_of(small)


def test_a_really_full_disk_where_one_may_be_mounted(small, command):
    folder = Path("disk")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if (
        shutil.which("mount") is None
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("nothing may be mounted here; the test above must do")
    try:
        code, _, err = command("run", small / "small.toml", "--out", folder)
        assert code == 2
        assert "No space left on device" in err
        there = files_of(folder)
        assert 0 < len(there) < 24
        for path in there:
            assert read_run(path).data() == data_of(small)[str(path.relative_to(folder))]
        assert not leftovers(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("place", ["file/below", "/proc/monmdp"])
def test_a_folder_that_cannot_be_written_to_is_one_error(small, command, place):
    write("file", "")
    code, _, err = command("run", small / "small.toml", "--out", place)
    assert code == 2
    assert err.startswith(f"error: cannot use {place} for results: ")
    with (
        pytest.raises(MonMDPError, match=r"cannot use .* for results"),
        locks.locked(Path(place)),
    ):
        pass


@pytest.mark.slow
def test_two_runners_do_not_share_a_folder(small, command, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    who = f"process {os.getpid()} on {os.uname().nodename}"
    folder = Path("here")
    with locks.locked(folder) as alone:
        assert alone
        for more in ((), ("--shard", "1/2")):
            code, _, err = command("run", small / "small.toml", "--out", folder, *more)
            assert code == 2
            assert f"another run is at work in here ({who})" in err
            assert err.count("\n") == 1
            assert not (folder / "reports").exists(), "who is refused has asked for nothing"
        code, _, err = command("train", "loop", "ask", "--steps", 300, "--out", folder)
        assert code == 2
        assert not (folder / "reports").exists()
    with locks.locked(folder, (1, 3)) as alone:
        assert not alone
        code, out, _ = command("run", small / "small.toml", "--out", folder, "--shard", "2/3")
        assert code == 0
        for more in ((), ("--shard", "1/2"), ("--shard", "1/3")):
            code, _, err = command("run", small / "small.toml", "--out", folder, *more)
            assert code == 2
            assert f"another run is at work in here ({who}" in err
    code, out, _ = command("run", small / "small.toml", "--out", folder)
    assert code == 0
    assert "were there already" in out


def test_shards_that_start_together_all_get_in():
    """Each holds the folder alone for a moment, to write down whose it is."""
    n = 8
    for _ in range(10):
        barrier, inside = threading.Barrier(n), threading.Barrier(n, timeout=20)

        def enter(i, barrier=barrier, inside=inside):
            barrier.wait()
            with locks.locked(Path("here"), (i + 1, n)):
                inside.wait()  # all are in at once
            return True

        with ThreadPoolExecutor(n) as pool:
            assert all(pool.map(enter, range(n)))


@pytest.mark.slow
def test_a_worker_that_dies_is_one_error():
    suite = own_agent("dying", begin="__import__('os')._exit(1)")
    process = started("run", suite, "--out", "here", "--jobs", 2, "--unchecked")
    _, err = process.communicate()
    assert process.returncode == 2
    assert "Traceback" not in err
    assert "a worker process ended before its run did" in err
    assert f"To go on: monmdp run {suite} --out here --jobs 2 --unchecked" in err


# ---- damaged, foreign and stale files -------------------------------------------------------


def test_no_flipped_bit_goes_unnoticed(small):
    content = files_of(small)[0].read_bytes()
    path = Path(files_of(small)[0].parent.name) / files_of(small)[0].name
    path.parent.mkdir()
    rng = np.random.default_rng(0)
    some = rng.permutation(len(content))[:1000]
    for byte in {*range(50), *map(int, some), *range(len(content) - 500, len(content))}:
        spoilt = bytearray(content)
        spoilt[byte] ^= 1 << int(rng.integers(8))
        path.write_bytes(spoilt)
        with pytest.raises(DamagedError):
            read_footer(path)
        if byte % 10 == 0:
            with pytest.raises(DamagedError):
                read_run(path)
    path.write_bytes(content)
    assert read_run(path).data() == read_run(files_of(small)[0]).data()


def spoil(folder):
    """Damage some runs, leave strange things about; return what status must name."""
    several = files_of(folder)
    content = several[0].read_bytes()
    damaged = several[:6]
    damaged[0].write_bytes(content[:-1])
    damaged[1].write_bytes(content[: len(content) // 2])
    damaged[2].write_bytes(b"")
    flipped = bytearray(damaged[3].read_bytes())
    flipped[200] ^= 4  # in the data: what its footer says is as it was
    damaged[3].write_bytes(flipped)
    shutil.copyfile(several[10], damaged[4])  # of another configuration
    assert several[0].parent == damaged[5].parent != several[10].parent
    damaged[5].write_bytes(content)  # of another seed
    import pyarrow as pa
    import pyarrow.parquet as pq

    foreign = [
        several[10].parent / "notes.txt",
        folder / "runs" / "stray.parquet",
        several[10].parent / "seed-0001 (copy).parquet",
        folder / "runs" / "README",
        several[10].parent / "mine.part",
    ]
    foreign[0].write_text("do not forget")
    pq.write_table(pa.table({"step": [1, 2]}), foreign[1])
    shutil.copyfile(several[10], foreign[2])
    foreign[3].write_bytes(b"\xff\xfe")
    foreign[4].write_text("")
    part = several[11].parent / f".{several[11].name}.{'0' * 32}.part"
    part.write_bytes(content[:100])
    return damaged, foreign, part


def everything(folder):
    return {
        p: (p.stat().st_ino, p.stat().st_mtime_ns, None if p.is_dir() else p.read_bytes())
        for p in folder.rglob("*")
    }


@pytest.mark.slow
def test_damaged_and_foreign_files_are_named_set_aside_and_done_again(small, copy, command):
    damaged, foreign, part = spoil(copy)
    before = everything(copy)
    code, out, _ = command("status", copy)
    assert code == 0
    for path in damaged:
        assert f"damaged: {path}: " in out
    for path in foreign:
        assert f"foreign: {path}\n" in out
    assert f"half-written, by a runner at work or one that was killed: {part}" in out
    assert "sets damaged files aside" in out
    code, out, _ = command("status", copy, "--json")
    found = json.loads(out)
    assert found["reports"][0]["there"] == 24 - len(damaged)
    assert found["reports"][0]["missing"] == 0
    assert len(found["reports"][0]["damaged"]) == len(damaged)
    assert sorted(found["foreign"]) == sorted(map(str, foreign))
    assert found["half_written"] == [str(part)]
    assert everything(copy) == before, "status changes nothing"

    code, out, err = command("run", copy / "small.toml", "--out", copy)
    assert code == 0
    assert f"{len(damaged)} runs in" in out
    for path in damaged:
        place = copy / "set-aside" / path.relative_to(copy / "runs")
        assert f"set aside: {place}" in err
        assert place.read_bytes() == before[path][2]
    assert not part.exists()
    assert all(path.exists() for path in foreign)
    for path in [path for path in foreign if path.suffix == ".parquet"]:
        path.unlink()  # all that remains of its kind is a run
        foreign.remove(path)
    assert data_of(copy) == data_of(small)
    untouched = [p for p in files_of(copy) if p not in damaged]
    assert all(everything(copy)[p] == before[p] for p in untouched)
    code, out, _ = command("status", copy, "--json")
    assert sorted(json.loads(out)["foreign"]) == sorted(map(str, foreign))
    # Once more: nothing that was set aside is overwritten.
    damaged[0].write_bytes(b"again")
    assert command("run", copy / "small.toml", "--out", copy)[0] == 0
    aside = copy / "set-aside" / damaged[0].relative_to(copy / "runs")
    assert aside.read_bytes() == before[damaged[0]][2]
    assert aside.with_name(f"{aside.name}.1").read_bytes() == b"again"


@pytest.mark.slow
def test_a_file_where_a_folder_belongs_is_named_and_left_alone(small, copy, command):
    place = files_of(copy)[0].parent
    shutil.rmtree(place)
    place.write_text("in the way")
    code, out, _ = command("status", copy)
    assert code == 0
    assert f"foreign: {place}" in out
    code, _, err = command("run", copy / "small.toml", "--out", copy, "--shard", "1/1")
    assert code == 2  # a shard is not alone: it does not know whose this is
    assert f"cannot use {place} for results: it is a file" in err


def test_load_results_warns_of_damaged_files_and_skips_them(copy):
    damaged, foreign, _ = spoil(copy)
    with pytest.warns(UserWarning, match="damaged|another run|cannot be read") as caught:
        frame = load_results(copy)
    assert frame.groupby(["configuration", "seed"], observed=True).ngroups == 24 - len(damaged)
    named = [str(w.message) for w in caught]
    expected = [*damaged, *(p for p in foreign if p.name.startswith("seed-"))]
    assert len(named) == len(expected)
    for path in expected:
        assert any(str(path) in line for line in named)


def test_redraw_and_report_do_without_v_where_its_problem_is_lost(copy, command):
    for path in (*copy.glob("problems/*"), *copy.glob("reports/*/summary.parquet")):
        path.unlink()
    for axes in ("stated", "full"):
        code, _, err = command("redraw", copy, "--axes", axes)
        assert code == 0, err
        assert "the minimax return of" in err
    code, _, err = command("report", copy)
    assert code == 0, err
    paths = re.findall(r' d="([^"]*)"', (copy / "report.html").read_text(encoding="utf-8"))
    assert paths
    assert not any("nan" in path for path in paths)


def test_redraw_leaves_a_damaged_run_out_and_verify_names_it(copy, command):
    path = files_of(copy)[0]
    path.write_bytes(path.read_bytes()[:-1])
    code, _, err = command("redraw", copy)
    assert code == 0
    assert f"left out: {path}: damaged" in err
    with pytest.warns(UserWarning, match="damaged"):
        found = gathered(copy)
    assert sum(len(of.seeds) for of in found.aggregates.values()) == 23
    code, out, _ = command("verify", copy, "--sample", 24)
    assert code == 1
    assert "23 of 24 runs are the same to the byte" in out


def age(path, kernel="0123456789abcdef"):
    run = read_run(path)
    write_run(path, replace(run, provenance=run.provenance | {"kernel": kernel}))


def test_stale_runs_are_named_used_and_done_again_only_on_demand(small, copy, command):
    aged = files_of(copy)[:2]
    for path in aged:
        age(path)
    before = stamps(copy)
    code, out, _ = command("status", copy, "--json")
    assert json.loads(out)["reports"][0]["stale"] == 2
    code, out, _ = command("run", copy / "small.toml", "--out", copy)
    assert code == 0
    assert "all 24 runs are there" in out
    assert "stale: 2 runs made by another version of the code" in out
    assert aged[0].parent.name in out
    assert f"To do them again: monmdp run {copy}/small.toml --out {copy} --stale" in out
    assert stamps(copy) == before
    about = next(row for row in gathered(copy).aggregates.values() if row.stale)
    assert "0123456789abcdef" in about.kernels

    code, out, _ = command("run", copy / "small.toml", "--out", copy, "--stale")
    assert code == 0
    assert "2 runs in" in out
    assert {p for p, stamp in stamps(copy).items() if stamp != before[p]} == set(aged)
    assert data_of(copy) == data_of(small)
    for path in files_of(copy):
        assert read_footer(path)["provenance"]["kernel"] != "0123456789abcdef"


def test_other_code_makes_all_runs_stale(copy, command, monkeypatch):
    monkeypatch.setattr("monmdp.experiment.provenance.kernel_hash", lambda _: "f" * 16)
    _, out, _ = command("status", copy, "--json")
    assert json.loads(out)["reports"][0]["stale"] == 24


def test_a_worker_with_other_code_writes_nothing(copy, monkeypatch):
    work = runner.work

    def elsewhere(*args):
        done = work(*args)
        return replace(done, provenance=done.provenance | {"kernel": "0" * 16})

    monkeypatch.setattr(runner, "work", elsewhere)
    outcome = execute(Path("here"), runs_of(copy), jobs=1)
    assert len(outcome.failures) == 24
    assert all("runs other code than this one" in why for why in outcome.failures.values())
    assert not files_of(Path("here"))


@pytest.mark.slow
def test_a_worker_that_lacks_something_fails_its_runs_only(small, monkeypatch):
    """A map file, say, that is not on its machine: there the configuration has not even an id."""
    write("yard.txt", "@.$\n")
    text = SUITE.replace('["loop"]', '["yard.txt", "loop"]').replace("rho = [1.0, 0.5]", "")
    runs = ask_suite(load(write("yards.toml", text))).runs()
    Path("yard.txt").rename("elsewhere.txt")
    monkeypatch.setattr(runner, "THREADS", 0)
    outcome = execute(Path("here"), runs, jobs=2)
    lacking = {key for key, of in runs.items() if of.settings["world"] == "yard"}
    assert set(outcome.failures) == lacking
    assert len(lacking) == 12
    assert all("no such map file" in why for why in outcome.failures.values())
    assert {(p.parent.name, p.stem) for p in files_of(Path("here"))} == {
        (name, f"seed-{seed:04d}") for name, seed in runs.keys() - lacking
    }


# ---- verify, load, summarise ----------------------------------------------------------------


def test_verify_does_runs_again_and_compares_bytes(copy, command):
    code, out, _ = command("verify", copy, "--sample", 3)
    assert code == 0
    assert out.count("same  ") == 3
    assert "3 of 3 runs are the same to the byte" in out
    path = files_of(copy)[4]
    run = read_run(path)
    curve = dict(run.curve)
    curve["episode_return"] = np.nextafter(curve["episode_return"], np.inf)
    write_run(path, replace(run, curve=curve))
    code, out, _ = command("verify", copy, "--sample", 24)
    assert code == 1
    assert f"DIFFERENT  {path}  made by the same code on the same machine" in out
    assert "23 of 24 runs are the same" in out
    age(path)
    _, out, _ = command("verify", copy, "--sample", 24)
    assert "then kernel 0123456789abcdef, now " in out


def test_verify_and_status_want_results(command):
    Path("file").touch()
    for folder, said in (
        (".", "there are no results here"),
        ("nowhere", "no such folder"),
        ("file", "is a file; give the folder"),
    ):
        for word in ("verify", "status"):
            code, _, err = command(word, folder)
            assert (code, err) == (2, f"error: {folder}: {said}\n")
    assert command("redraw", ".")[2] == "error: .: there are no results here\n"
    Path("runs").mkdir()
    code, _, err = command("verify", ".")
    assert (code, err) == (2, "error: .: there are no runs that a report here has asked for\n")
    code, _, err = command("redraw", ".")
    assert (code, err) == (2, "error: .: nothing to draw, no report here was asked for\n")


def test_load_results_gives_a_tidy_frame(small):
    frame = load_results(small)
    assert len(frame) == 24 * 3
    assert list(frame.columns[:3]) == ["world", "monitor", "agent"]
    told = {"monitor.rho", "configuration", "seed", "evaluation", "step", *store.COLUMNS}
    assert told <= set(frame.columns)
    assert "agent.gamma" not in frame.columns, "it is the same in all runs"
    for name in ("world", "monitor", "agent", "configuration"):
        assert frame[name].dtype == "category"
    assert frame["seed"].dtype == frame["step"].dtype == np.int64
    for name in store.COLUMNS:
        assert frame[name].dtype == np.float64
    assert list(frame["agent"].cat.categories) == ["mbie-eb", "monitored-mbie-eb"]
    assert list(frame["step"].unique()) == [0, 100, 200]
    assert not frame.duplicated(["configuration", "seed", "step"]).any()
    assert set(frame["monitor.rho"]) == {0.5, 1.0}, "what was not given is the monitor's own"
    assert not [name for name in frame if name.startswith("agent.")], "they tell no runs apart"
    one = read_run(files_of(small)[0])
    mine = frame[(frame["configuration"] == files_of(small)[0].parent.name) & (frame["seed"] == 0)]
    assert mine["episode_return"].to_numpy().tobytes() == one.curve["episode_return"].tobytes()


def test_load_results_wants_results(tmp_path):
    with pytest.raises(MonMDPError, match="there are no results here"):
        load_results(tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(MonMDPError, match="there are no results here"):
        load_results(tmp_path)


def gathered(folder):
    plans = ask_suite(load(folder / "small.toml")).plans
    return gather(plans, evidence.reader(folder), {"commit": "c"})


@pytest.mark.slow
def test_a_summary_gives_the_same_figures_claims_and_tables_as_the_runs(copy, command):
    first = publish(Path("first"), gathered(copy))
    evidence.save(gathered(copy), "summary.parquet")
    publish(Path("second"), evidence.load("summary.parquet"))
    names = sorted(p.name for p in Path("first").iterdir())
    assert names == sorted(p.name for p in Path("second").iterdir())
    assert {"small.png", "small.pdf", "statistics.md", "statistics.json"} <= set(names)
    assert first.pictures[0] == Path("first/small.png")
    for name in names:
        if not name.endswith(".pdf"):  # they carry the time
            assert Path("first", name).read_bytes() == Path("second", name).read_bytes(), name
    code, out, _ = command("redraw", copy, "--out", "third")
    assert code == 0
    assert "picture: third/small/small.png" in out
    assert Path("third/small/small.png").read_bytes() == Path("first/small.png").read_bytes()


@pytest.mark.slow
def test_claims_are_the_same_from_a_summary(command):
    """Claims speak of the paper's figures; here of figure 5, hardly trained."""
    asked = ask_paper(["figure-5"], seeds=2)
    short = replace(asked, suites=tuple(s.model_copy(update={"steps": 400}) for s in asked.suites))
    execute(Path("here"), short.runs(), jobs=1)
    publish(Path("first"), gather(short.plans, evidence.reader(Path("here")), {"commit": "c"}))
    assert command("redraw", "first/summary.parquet", "--out", "second")[0] == 0
    for name in ("claims.json", "claims.md", "figure-5.png", "summary.parquet"):
        assert Path("first", name).read_bytes() == Path("second", name).read_bytes(), name
    claims = json.loads(Path("first/claims.json").read_text())
    assert claims["about"]["runs"] == 4
    # Two seeds decide nothing.
    (claim,) = claims["claims"]
    assert (claim["claim"], claim["headline"]) == ("C5", "0 of 7 sentences hold, 7 open")
    checks = [check for sentence in claim["sentences"] for check in sentence["checks"]]
    assert len(checks) == 7
    assert None not in [check["estimate_low_high"] for check in checks]


def test_a_damaged_summary_is_one_error(small, command):
    evidence.save(gathered(small), "summary.parquet")
    content = Path("summary.parquet").read_bytes()
    for n in np.random.default_rng(1).integers(len(content) * 8, size=20):
        spoilt = bytearray(content)
        spoilt[n // 8] ^= 1 << (n % 8)
        Path("summary.parquet").write_bytes(spoilt)
        with pytest.raises(MonMDPError, match=r"summary\.parquet: damaged"):
            evidence.load("summary.parquet")
    for spoilt in (content[:-5], b"", b"what?"):
        Path("summary.parquet").write_bytes(spoilt)
        code, _, err = command("redraw", "summary.parquet")
        assert code == 2
        assert err.startswith("error: summary.parquet: damaged")
        assert err.count("\n") == 1
    code, _, err = command("redraw", files_of(small)[0])
    assert code == 2
    assert "its format is 'monmdp-run-5', not 'monmdp-summary-7'" in err
    code, _, err = command("redraw", "nowhere.parquet")
    assert (code, err) == (2, "error: nowhere.parquet: no such file\n")


# ---- where data come from -------------------------------------------------------------------


def test_each_run_says_where_it_comes_from(small):
    for path in files_of(small):
        run = read_run(path)
        made = run.provenance
        assert made["kernel"] == kernel_hash(agents.KINDS[run.settings["agent"]]())
        assert made["versions"].keys() == {
            "monmdp", "python", "numpy", "numba", "llvmlite", "scipy",
        }  # fmt: skip
        assert made["versions"]["numpy"] == np.__version__
        assert made["commit"] == provenance.provenance()["commit"]
        assert made["machine"]["host"] == os.uname().nodename
        assert made["machine"]["cores"] == os.cpu_count()
        assert 0 < made["cpu_seconds"] < 60
        assert 0 < made["wall_seconds"] < 60
        assert made["written"].startswith("20")
        assert path.parent.name.endswith(store.digest(run.settings))
        assert run.settings["steps"] == 300
    kernels = {read_footer(p)["provenance"]["kernel"] for p in files_of(small)}
    assert len(kernels) == 2, "one for each agent"


@pytest.mark.parametrize("step", [None, 0, 299, 300])
def test_a_run_keeps_when_its_agent_was_sure(copy, step):
    path = files_of(copy)[0]
    write_run(path, replace(read_run(path), certified=step))
    assert read_run(path).certified == read_footer(path)["certified"] == step


@pytest.mark.parametrize("step", [-1, 301, 1.0, "12", True])
def test_an_odd_certificate_is_damage(copy, step):
    path = files_of(copy)[0]
    write_run(path, replace(read_run(path), certified=step))
    with pytest.raises(DamagedError, match="certified"):
        read_run(path)


def test_a_run_without_a_word_on_certificates_is_still_read(copy):
    path = files_of(copy)[0]
    run, (footer, table) = read_run(path), sealed.read_sealed(path, store.FORMAT)
    del footer["seal"], footer["certified"]
    sealed.write_sealed(path, table.replace_schema_metadata(None), footer)
    again = read_run(path)
    assert again.certified is None
    assert again.data() == run.data()


@pytest.mark.parametrize("threads", [16, 0], ids=["threads", "processes"])
def test_certificates_come_back_from_workers(monkeypatch, threads):
    monkeypatch.setattr(runner, "THREADS", threads)
    suite = EXACT.replace("300", "1000").replace("monitored-mbie-eb", "factored-mbie-eb")
    runs = ask_suite(load(write("exact.toml", suite))).runs()
    assert execute("kept", runs, jobs=2).failures == {}
    found = [read_run(path).certified for path in files_of(Path("kept"))]
    returned = [run.certified for run in execute(None, runs, jobs=2).runs.values()]
    assert len(found) == 2
    assert None not in found
    assert sorted(returned) == sorted(found)


STREAMS = inspect.getsource(streams)


def edited(text, number):
    """The function `streams` with another text, as if its file had been edited."""
    path = write(f"edited_{number}.py", "from __future__ import annotations\n" + text)
    space = dict(streams.__globals__)
    exec(compile(path.read_text(), str(path.resolve()), "exec"), space)
    return space["streams"]


def hash_now():
    agent = agents.KINDS["monitored-mbie-eb"]()
    provenance._hash_of.cache_clear()
    try:
        return kernel_hash(agent)
    finally:
        provenance._hash_of.cache_clear()


def test_the_kernel_hash_changes_with_code_and_not_with_its_looks(monkeypatch):
    was = hash_now()
    lines = STREAMS.splitlines(keepends=True)
    body = next(i for i, line in enumerate(lines) if line.lstrip().startswith("return"))
    looks = [*lines[:body], "\n", "    # why\n", '    """Said again."""\n', *lines[body:]]
    work = [*lines[:body], "    seed += 1\n", *lines[body:]]
    for number, (text, same) in enumerate(
        [(STREAMS, True), ("".join(looks), True), ("".join(work), False)]
    ):
        monkeypatch.setattr(training, "streams", edited(text, number))
        assert (hash_now() == was) is same, text
    monkeypatch.undo()
    assert hash_now() == was


def test_the_kernel_hash_is_the_agents_own():
    hashes = {name: kernel_hash(kind()) for name, kind in agents.KINDS.items()}
    assert len({hashes["monitored-mbie-eb"], hashes["directed-e2"], hashes["ucb"]}) == 3
    assert all(len(value) == 16 for value in hashes.values())


def test_the_kernel_hash_of_an_agent_with_a_table_inside_is_that_tables_too(monkeypatch):
    tables = {
        "deep-discretised": "factored-mbie-eb",
        "deep-discretised-mbie-eb": "monitored-mbie-eb",
    }
    found = {name: kernel_hash(of) for name, of in agents.DEEP.items()}
    others = {value for name, value in found.items() if name not in tables}
    assert len(others) == 1
    assert len({*found.values()}) == 1 + len(tables)
    for name in tables:
        assert kernel_hash(agents.find(name)) == found[name]
        assert kernel_hash(agents.find(name, params={"gamma": 0.9})) == found[name]
    monkeypatch.setattr(provenance, "_hash_of", lambda kind, _: f"changed {kind}")
    assert all(kernel_hash(agents.DEEP[name]) != found[name] for name in tables)


LOOKS = '''
def f(x,
      y=( 1 )):
    """Docstring."""
    # a comment
    if x:
        """Another."""
        return f"{x} and {y!r}; {{}}"   # and another
    return "a string, not a docstring"

'''
ESSENCE = (
    'def f(x,y=(1)):;{if x:;{return f"{x} and {y!r}; {{}}";}return "a string, not a docstring";}'
)
OTHER_PYTHON = """
import inspect, io, json, sys, textwrap, tokenize
from collections.abc import Callable
from typing import Any
essence, texts = json.load(open(sys.argv[1]))
exec(essence)
inspect.getsource = lambda text: text
print(json.dumps([_essence(text) for text in texts]))
"""


def other_pythons():
    """Other Pythons that are here and do start: on the path, and where pyenv has them."""
    found = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    root = os.environ.get("PYENV_ROOT")
    if root is None and shutil.which("pyenv"):
        asked = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False)
        root = asked.stdout.strip()
    if root:
        found += sorted(map(str, Path(root).glob("versions/3.1[1-9]*/bin/python")))
    return [
        python
        for python in found
        if python is not None  # pyenv puts names on the path that are no Python just now
        and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    ]


@pytest.mark.slow
def test_what_is_hashed_is_alike_for_all_pythons(monkeypatch):
    seen = {}
    real = provenance._essence

    def recording(function):
        seen[inspect.getsource(function)] = real(function)
        return seen[inspect.getsource(function)]

    monkeypatch.setattr(provenance, "_essence", recording)
    provenance._hash_of.cache_clear()
    for kind in agents.KINDS.values():
        kernel_hash(kind())
    provenance._hash_of.cache_clear()
    assert len(seen) > 30
    texts = [inspect.getsource(of) for of in (own_code.essence, real)]
    write("input.json", json.dumps(["\n".join(texts), list(seen)]))
    write("other.py", OTHER_PYTHON)
    for python in (sys.executable, *other_pythons()):
        done = subprocess.run(
            [python, "other.py", "input.json"], capture_output=True, text=True, check=True
        )
        for text, mine, theirs in zip(seen, seen.values(), json.loads(done.stdout), strict=True):
            assert mine == theirs, f"{python}: {text}"


def test_the_essence_of_a_function_is_its_code():
    space = {}
    path = write("looks.py", LOOKS)
    exec(compile(path.read_text(), str(path.resolve()), "exec"), space)
    assert provenance._essence(space["f"]).replace(" ", "") == ESSENCE.replace(" ", "")


# ---- failures, plans, options ---------------------------------------------------------------


def test_one_failing_run_does_not_stop_the_others(command):
    begin = "if not Path('mended').exists() and Path(f'{self.first}').exists(): raise OSError('no')"
    suite = own_agent("failing", begin=begin)
    plan = ask_suite(load(suite))
    configuration = next(iter(plan.runs().values()))
    third = np.random.default_rng(streams(configuration.task.monmdp, 2)[1]).random()
    Path(f"{third}").touch()
    words = ("run", suite, "--out", "here", "--jobs", 1, "--unchecked")
    code, out, err = command(*words)
    assert code == 1
    assert f"failed: {configuration.id}, seed 2: " in err
    assert "OSError: no" in err
    assert "1 run failed" in err
    assert [p.stem for p in files_of(Path("here"))] == ["seed-0000", "seed-0001", "seed-0003"]
    assert "picture: here/reports/own/own.png" in out
    before = stamps(Path("here"))
    Path("mended").touch()
    code, out, _ = command(*words)
    assert code == 0
    assert "1 run in" in out
    assert "3 were there already" in out
    assert len(files_of(Path("here"))) == 4
    assert {p: s for p, s in stamps(Path("here")).items() if p in before} == before


def test_a_dry_run_prints_a_plan_and_writes_nothing(small, command):
    code, out, _ = command("run", small / "small.toml", "--out", "here", "--dry-run", "--jobs", 3)
    assert code == 0
    assert [line.split()[:5] for line in out.splitlines()[:2]] == [
        ["figure", "configurations", "runs", "there", "to"],
        ["small", "4", "24", "0", "24"],
    ]
    assert "24 to do, about" in out
    assert "with 3 jobs" in out
    assert not Path("here").exists()
    code, out, _ = command("run", small / "small.toml", "--out", small, "--dry-run")
    assert out.splitlines()[1].split()[:5] == ["small", "4", "24", "24", "0"]
    code, out, _ = command("reproduce", "figure-4", "figure-5", "--dry-run", "--shard", "1/2")
    counts = [int(line.split()[2]) for line in out.splitlines()[1:3]]
    assert 0 < counts[0] < 7 * 30
    assert 0 < counts[1] < 2 * 30
    assert not Path("results").exists()


@pytest.mark.slow
def test_axes_are_those_that_were_asked_for(small, command, monkeypatch):
    asked = []
    publishing = sys.modules["monmdp.results.publish"]  # the package has a function of this name
    drawn = publishing.draw

    def recorded(figure, evidence, axes):
        asked.append(axes)
        return drawn(figure, evidence, axes)

    monkeypatch.setattr(publishing, "draw", recorded)
    shutil.copytree(small, "here")
    for words in (["run", "here/small.toml", "--out", "here"], ["redraw", "here"]):
        for more, axes in (([], "stated"), (["--axes", "full"], "full")):
            assert command(*words, *more)[0] == 0
            assert asked.pop() == axes
    run_suite(load("here/small.toml"), out="here", axes="full")
    assert asked.pop() == "full"


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/", "/3", "a/b", "1/3/5", "-1/3", "1.0/3"])
def test_a_wrong_shard_is_one_error(small, command, text):
    code, _, err = command("run", small / "small.toml", f"--shard={text}", "--out", "here")
    assert (code, err) == (2, f"error: --shard {text!r}: write i/n with 1 ≤ i ≤ n, such as 1/4\n")
    assert not Path("here").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "figure-14"], "unknown figure 'figure-14'; did you mean 'figure-"),
        (["reproduce", "figure4"], "unknown figure 'figure4'; did you mean 'figure-4'?"),
        (["reproduce", "al"], "did you mean 'all'?"),
        (["reproduce", "figure-4", "--preset", "relesed"], "did you mean 'released'?"),
        (["reproduce", "figure-4", "--seeds", "0"], "--seeds"),
        (["reproduce", "figure-4", "--jobs", "0"], "--jobs"),
        (["reproduce", "figure-4", "--axes", "ful"], "axes must be stated or full, got 'ful'"),
        (["reproduce", "3", "--axes", "ful", "--dry-run"], "axes must be stated or full"),
        (["redraw", "nowhere", "--axes", "ful"], "axes must be stated or full"),
        (["run", "nowhere.toml"], "nowhere.toml: no such file"),
        (["run", "broken.toml"], "broken.toml: no valid TOML"),
    ],
)
def test_wrong_words_are_one_error_and_nothing_is_written(command, words, message):
    write("broken.toml", "name = ")
    code, _, err = command(*words, "--out", "here")
    assert code == 2
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert not Path("here").exists()


@pytest.mark.filterwarnings("default")  # theirs
def test_jobs_and_scheduler_exclude_each_other(small, command):
    words = ("run", small / "small.toml", "--out", "here", "--scheduler", "tcp://127.0.0.1:1")
    code, _, err = command(*words, "--jobs", 2)
    assert code == 2
    assert "either --jobs or --scheduler" in err
    assert not Path("here/runs").exists()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "what://ever", "no address"])
def test_no_scheduler_at_an_address_is_one_error(small, command, monkeypatch, address):
    monkeypatch.setattr(runner, "CONNECTING", 0.5)
    words = ("run", small / "small.toml", "--out", "here", "--scheduler", address)
    code, _, err = command(*words)
    assert code == 2
    assert f"error: no scheduler at {address}: " in err
    assert not files_of(Path("here"))
    assert not Path("here/reports").exists(), "who is refused has asked for nothing"


def test_progress_is_told_line_by_line_where_there_is_no_terminal(small, command, monkeypatch):
    clock = iter(np.arange(0.0, 1e6, 2.5))
    monkeypatch.setattr("monmdp.cli.running.time.monotonic", lambda: next(clock))
    code, _, err = command("run", small / "small.toml", "--out", "here", "--jobs", 1)
    assert code == 0
    first, *lines = err.splitlines()
    assert first.startswith("24 of 24 runs to do")
    assert len(lines) > 2
    for line in lines:
        assert "/24 runs  " in line
        assert " a second" in line
        assert "\r" not in line
    assert lines[-1].endswith("left")


def test_the_time_left_goes_by_the_pace_after_compiling(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("monmdp.results.runner.time.monotonic", lambda: clock[0])
    progress = runner.Progress(total=4, there=0, cost_left=40.0)

    def after(seconds, cost_running):
        clock[0], progress.cost_running = seconds, cost_running
        progress.look()
        return progress.seconds_left

    assert after(30.0, 0.0) is None, "nothing is trained yet"
    assert after(40.0, 1.0) is None, "compiled, and training has begun"
    assert after(42.0, 3.0) is None, "too early to tell"
    assert after(49.0, 10.0) == pytest.approx(30.0), "a unit of cost takes a second"
    progress.done, progress.cost, progress.cost_left = 1, 10.0, 30.0
    assert after(50.0, 1.0) == pytest.approx(29.0)


def test_requests_are_kept_and_unreadable_ones_are_named(copy, command):
    asked, unreadable = understood(copy)
    assert [one.name for one in asked] == ["small"]
    assert asked[0].runs().keys() == runs_of(copy).keys()
    assert not unreadable
    request = json.loads((copy / "reports/small/request.json").read_text())
    broken = {
        "a": "{",
        "b": "[]",
        "c": json.dumps(request | {"format": "of tomorrow"}),
        "d": json.dumps(request | {"preset": "no such"}),
        "e": json.dumps(request | {"suites": [{"name": "x"}]}),
        "f": json.dumps({"format": request["format"]}),
        "g": json.dumps(request | {"suites": 3}),
    }
    for name, text in broken.items():
        (copy / "reports" / name).mkdir()
        (copy / "reports" / name / "request.json").write_text(text)
    code, out, _ = command("status", copy)
    assert code == 0
    for name in broken:
        assert f"unreadable request: {copy}/reports/{name}/request.json: " in out
    assert "not asked for" not in out


def test_runs_that_no_report_asks_for_stay(copy, command):
    fewer = ("run", copy / "small.toml", "--out", copy, "--seeds", 1)
    shutil.rmtree(copy / "reports")
    before = stamps(copy)
    code, out, _ = command(*fewer)
    assert code == 0
    assert "all 4 runs are there" in out
    assert stamps(copy) == before
    code, out, _ = command("status", copy)
    assert "not asked for by any report here: 20 runs" in out


def test_names_of_reports_tell_what_was_asked():
    suite = load(write("exact.toml", EXACT))
    assert ask_suite(suite).name == "exact"
    assert ask_suite(suite, seeds=5, quick=True, preset="released").name == (
        "exact-quick-5-seeds-released"
    )
    assert ask_paper(["figure-4", "figure-5", "figure-4"]).name == "figure-4+figure-5"
    assert ask_paper(["figure-4", "all"], quick=True).name == "all-quick"
