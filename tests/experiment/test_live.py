"""Live curves for TensorBoard: what they hold, and that they change nothing."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import monmdp
from conftest import ROOT
from monmdp import MonMDPError
from monmdp.experiment import live
from monmdp.experiment.training import COLUMNS, carry_out, prepare


def records(content):
    """The data of the records in a file."""
    at = 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)  # then a checksum, the data, another one
        yield content[at + 12 : at + 12 + length]
        at += 16 + length
    assert at == len(content), "no record is cut off"


def message(data):
    """Fields of protocol buffers in their order: (number, value)."""
    found, at = [], 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            n, shift, at = n | (data[at] & 127) << shift, shift + 7, at + 1
            if data[at - 1] < 128:
                return n

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: lambda: 8, 2: varint, 5: lambda: 4}[key & 7]()
            value, at = data[at : at + size], at + size
            value = value if key & 7 == 2 else struct.unpack({8: "<d", 4: "<f"}[size], value)[0]
        found.append((key >> 3, value))
    return found


def events(folder):
    """Step -> tag -> value of the one file in a folder; no step is there twice."""
    (path,) = Path(folder).iterdir()
    (version, *tests), found, times = map(message, records(path.read_bytes())), {}, []
    assert dict(version)[3] == b"brain.Event:2"
    for event in map(dict, tests):
        assert event[2] not in found
        values = [dict(message(value)) for _, value in message(event[5])]
        found[event[2]] = {value[1].decode(): value[2] for value in values}
        times.append(event[1])
    assert times == sorted(times)
    return found


def test_an_implementation_of_others_reads_the_same():
    pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    writing = pytest.importorskip("tensorboardX.record_writer")
    with live.live_curves(Path()) as watch:
        watch(np.array([0, 100, 10**9]), {"a": np.array([1.5, -2.25, 1e30]), "ü": np.zeros(3)})
    (path,) = Path().glob("*tfevents*")
    content = path.read_bytes()
    found, at = [], 0
    for data in records(content):
        length = content[at : at + 8]
        sums = struct.pack("<I", writing.masked_crc32c(length)), writing.masked_crc32c(data)
        assert content[at + 8 : at + 12] == sums[0]
        at += 16 + len(data)
        assert content[at - 4 : at] == struct.pack("<I", sums[1])
        event = pb2.Event.FromString(data)
        found.append((event.step, {value.tag: value.simple_value for value in event.summary.value}))
    huge = float(np.float32(1e30))
    expected = [{"a": 1.5, "ü": 0.0}, {"a": -2.25, "ü": 0.0}, {"a": huge, "ü": 0.0}]
    assert found == [(0, {}), *zip([0, 100, 10**9], expected, strict=True)]


@pytest.mark.parametrize(
    ("data", "crc"),  # from RFC 3720, appendix B.4
    [(bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E)],
)
def test_the_checksum_is_crc_32c(data, crc):
    (masked,) = struct.unpack("<I", live._checksum(data))
    turned = (masked - 0xA282EAD8) % 2**32
    assert (turned >> 17 | turned << 15) % 2**32 == crc


def as_logged(run):
    """The same from a run's curve: single precision, without what is no number."""
    return {
        int(step): {
            name: float(np.float32(run.curve[name][i]))
            for name in COLUMNS
            if not np.isnan(run.curve[name][i])
        }
        for i, step in enumerate(run.step)
    }


class Plain:
    """An agent in plain Python that draws random numbers and learns nothing."""

    def __init__(self, shape, rng):
        self.shape, self.rng, self.updates = shape, rng, 0

    def begin_episode(self): ...

    def act(self, observation):
        n = self.shape.n_env_actions
        return {"env": int(self.rng.integers(n)), "mon": 0}

    def update(self, transition):
        self.updates += 1

    def test_policy(self):
        policy = np.zeros((9 * 1, 5 * 2))
        policy[:, self.updates % 10] = 1
        return policy


@pytest.mark.parametrize("evaluation", ["exact", "monte-carlo"])
@pytest.mark.parametrize("agent", ["monitored-mbie-eb", Plain])
def test_a_run_that_is_watched_is_the_same_to_the_bit(agent, evaluation):
    snapshots = 3 if isinstance(agent, str) else 0
    problem = monmdp.make("loop", "ask", rho=0.5)
    task = prepare(problem, agent, 950, evaluation=evaluation, episodes=5, snapshots=snapshots)
    seen = []
    plain = carry_out(task, 3)
    watched = carry_out(task, 3, watch=lambda *shown: seen.append(shown))
    assert watched.data() == plain.data()
    assert np.array_equal(watched.policy.probability, plain.policy.probability)
    for name, values in plain.snapshots.items():
        assert np.array_equal(watched.snapshots[name], values), name
    # It is shown every test once, in order, and no two at a time: as soon as it is done.
    assert max(len(steps) for steps, _ in seen) == 1
    assert np.array_equal(np.concatenate([steps for steps, _ in seen]), plain.step)
    for name in COLUMNS:
        shown = np.concatenate([columns[name] for _, columns in seen])
        assert np.array_equal(shown, plain.curve[name], equal_nan=True), name


@pytest.mark.parametrize("monitor", ["ask", "full"])
def test_the_log_of_a_run_has_all_its_tests(monitor):
    problem = monmdp.make("loop", monitor)
    run = monmdp.train(problem, "r-max", 500, seed=4, out="out", log="tensorboard")
    assert run.data() == monmdp.train(problem, "r-max", 500, seed=4).data()
    (folder,) = Path("out/tensorboard").glob("*/seed-0004")
    (stored,) = Path("out/runs").iterdir()
    assert folder.parent.name == stored.name
    assert events(folder) == as_logged(run)


def test_a_run_that_is_there_is_logged_once(monkeypatch):
    problem = monmdp.make("loop", "ask")
    run = monmdp.train(problem, "r-max", 500, out="out")
    assert not Path("out/tensorboard").exists()
    monmdp.train(problem, "r-max", 500, out="out", log="tensorboard")
    (folder,) = Path("out/tensorboard").glob("*/*")
    assert events(folder) == as_logged(run)
    (file,) = folder.iterdir()
    before = file.stat()
    monmdp.train(problem, "r-max", 500, out="out", log="tensorboard")
    assert [file] == list(folder.iterdir())
    assert file.stat().st_mtime_ns == before.st_mtime_ns


KILLED = """
import os
from pathlib import Path
import numpy as np
Path("log").mkdir()
from monmdp.experiment.live import live_curves
with live_curves(Path("log")) as watch:
    for step in range(3):
        watch(np.array([step]), {"episode_return": np.array([0.5 * step])})
    os.kill(os.getpid(), 9)
"""


def test_a_killed_run_leaves_a_file_that_can_be_read_and_the_next_one_begins_anew():
    path = os.pathsep.join([str(ROOT / "src"), *sys.path])
    done = subprocess.run([sys.executable, "-c", KILLED], env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == -9
    assert events("log") == {step: {"episode_return": 0.5 * step} for step in range(3)}
    with live.live_curves(Path("log")) as watch:
        watch(np.array([0, 7]), {"episode_return": np.array([2.0, np.nan])})
    assert events("log") == {0: {"episode_return": 2.0}, 7: {}}


def test_a_log_needs_a_known_kind_and_a_folder(command):
    problem = monmdp.make("loop", "ask")
    with pytest.raises(MonMDPError, match="unknown log 'tensorbord'; did you mean 'tensorboard'"):
        monmdp.train(problem, "r-max", 500, out="out", log="tensorbord")
    with pytest.raises(MonMDPError, match="a log needs a folder of results"):
        monmdp.train(problem, "r-max", 500, log="tensorboard")
    words = ("train", "loop", "ask", "--seeds", 1, "--log", "tensorflow")
    code, _, err = command(*words)
    assert code == 2
    assert "unknown log 'tensorflow'" in err
    assert not Path("results").exists(), "refused before anything is done"


@pytest.mark.slow
def test_processes_log_their_runs():
    problem = monmdp.make("loop", "ask")
    found = monmdp.compare(problem, [Plain], 300, seeds=3, jobs=2, out="out", log="tensorboard")
    for (name, seed), run in found.runs.items():
        assert events(live.log_path(Path("out"), name, seed)) == as_logged(run)


def test_a_log_does_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    problem = monmdp.make("loop", "ask")
    monmdp.train(problem, "r-max", 500, out="out")
    Path("out/tensorboard").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MonMDPError, match="leads out of"):
        monmdp.train(problem, "r-max", 500, seed=1, out="out", log="tensorboard")
