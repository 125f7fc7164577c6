"""Sizes are checked before anything is made of them: one line with the number, at once."""

import hashlib
import io
import json
import os
import resource
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile

import gymnasium
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import monmdp
from monmdp import MonMDPError, experiment, memory, monitors, suites, theory, worlds
from monmdp.drawing import save_film
from monmdp.experiment import training
from monmdp.results import sealed

HUGE = 10**12
BLOCK = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"]}


@pytest.fixture(autouse=True)
def at_once():
    """Everything here takes little memory and little time."""
    begin, before = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.thread_time() - begin < 3.0  # the first import of SciPy included
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


@pytest.fixture
def traced():
    """Count the bytes that reading a small file takes."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def refused(what, *words):
    """Whatever is called is refused in one line that has the words in it."""
    with pytest.raises(MonMDPError) as error:
        what()
    said = str(error.value)
    for word in words:
        assert word in said, said
    return said


@pytest.fixture(scope="module")
def problem():
    return monmdp.make("loop", "ask")


# ---- numbers that people write ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (lambda: worlds.make("river-swim", length=HUGE), "1,000,000,000,000"),
        (lambda: worlds.make("river-swim", time_limit=1e12), "1,000,000,000,000"),
        (lambda: worlds.make("loop", time_limit=HUGE), "1,000,000,000,000"),
        (lambda: monitors.make("n-experts", n=10**6), "1,000,000"),
        (lambda: monitors.make("n-supporters", n=10**6), "1,000,000"),
        (lambda: monitors.make("level-up", n=10**6), "1,000,000"),
        (lambda: monitors.make("battery", n=10**7), "10,000,000"),
        (lambda: monitors.make("cameras", n=10**7), "10,000,000"),
        (lambda: gymnasium.make_vec("monmdp/Loop-v0", num_envs=HUGE), "1,000,000,000,000"),
        (lambda: theory.bandit_law(runs=10**9), "1,000,000,000"),
        (lambda: theory.bandit_law(k=10**12), "1,000,000,000,000"),
    ],
)
def test_worlds_monitors_copies_and_bandits(make, number):
    said = refused(make, number, "would take about", "there is room for")
    assert "\n" not in said


def test_a_time_limit_in_a_map_and_a_map_of_many_cells(monkeypatch):
    refused(lambda: worlds.grid_world("time_limit: 1e12\n---\n@.$"), "1,000,000,000,000 steps")
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**6)
    refused(lambda: worlds.grid_world("@" + 1000 * "."), "a map of 1,001 cells", "801 kB")


def test_states_without_outcomes_are_not_made():
    outcomes = [(0, 0, 0, 1.0, 0.0, True, False)]
    for states in (2, 10**12, 2**62):
        refused(
            lambda n=states: monmdp.MDP.from_outcomes(
                outcomes, name="x", n_states=n, n_actions=1, start=[1.0]
            ),
            "no outcome is given for state 1, action 0",
        )
    far = [*outcomes, (10**12 - 1, 0, 0, 1.0, 0.0, True, False)]
    refused(
        lambda: monmdp.MDP.from_outcomes(far, name="x", n_states=10**12, n_actions=1, start=[1.0]),
        "no outcome is given for state 1, action 0",
    )
    refused(
        lambda: monmdp.MDP(
            "x", 10**12, 1, [0, 1], [0], [1.0], [0.0], [True], [False], [1.0], 0.0, 0.0
        ),
        "1000000000001",
    )


def test_joint_pairs_that_do_not_fit(monkeypatch, problem):
    monkeypatch.setattr(memory, "machine_memory", lambda: 800)
    refused(lambda: monmdp.join(problem.mdp, problem.monitor), "90 joint pairs", "720 bytes")


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({"steps": HUGE, "every": 1}, "1,000,000,000,000 tests"),
        ({"steps": HUGE, "every": 10**9, "snapshots": 10**11}, "100,000,000,000 snapshots"),
        ({"steps": 10**5, "every": 10**4, "snapshots": 500}, "500 snapshots of 90 joint pairs"),
    ],
)
def test_training(problem, monkeypatch, options, number):
    if options.get("snapshots") == 500:  # few enough to be listed, too many to be kept
        monkeypatch.setattr(memory, "machine_memory", lambda: 10**6)
    refused(lambda: training.prepare(problem, "monitored-mbie-eb", **options), number)


def test_seeds_in_python(problem):
    agents = ["monitored-mbie-eb"]
    refused(lambda: monmdp.compare(problem, agents, 200, seeds=10**9), "1,000,000,000 seeds")
    suite = suites.parse({"name": "x", "experiment": [BLOCK]}, "x")
    refused(lambda: monmdp.run_suite(suite, seeds=10**9), "1,000,000,000 runs")


def test_seeds_and_tests_together(problem):
    agents = ["monitored-mbie-eb"]
    refused(
        lambda: monmdp.compare(problem, agents, 10**7, every=1, seeds=10**4),
        "10,000 seeds with 10,000,000 tests each",
    )


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"seeds": 10**9}, "1,000,000,000 seeds"),
        ({"experiment": [{**BLOCK, "seeds": 10**9}]}, "1,000,000,000 seeds"),
        ({"seeds": 10**5, "experiment": [BLOCK | {"rho": [i / 999 for i in range(1000)]}]},
         "100,000,000 runs of suite 'x'"),
        ({"experiment": [BLOCK | {"overrides": [{"rho": i / 9999} for i in range(10000)],
                                  "rho": [i / 9999 for i in range(10000)]}]},
         "100,000,000 settings"),
    ],
    ids=["seeds", "seeds of a block", "product with seeds", "product"],
)  # fmt: skip
def test_suites(change, number):
    content = {"name": "x", "experiment": [BLOCK]} | change
    refused(lambda: suites.parse(content, "x"), number)


def test_a_grid_of_hyper_parameters():
    axes = ("beta", "beta_obs", "beta_kl", "q_opt_init", "q_obs_init")
    grid = {axis: [i / 100 for i in range(100)] for axis in axes}
    agents = [{"name": "monitored-mbie-eb", "grid": grid}]
    content = {"name": "x", "experiment": [BLOCK | {"agents": agents}]}
    refused(lambda: suites.parse(content, "x"), "10,000,000,000 combinations of a grid")


def test_a_film_of_many_pictures(problem, monkeypatch, tmp_path):
    policy = monmdp.Policy(problem.shape, np.full((9, 10), 0.1))
    episode = experiment.rollout(problem, policy, np.random.default_rng(0))
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**6)
    refused(lambda: save_film(problem, episode, tmp_path / "x.gif"), "a film of")
    assert not list(tmp_path.iterdir())


COMMANDS = [
    ("train", "loop", "ask", "--seeds", "1000000000"),
    ("compare", "loop", "ask", "--seeds", "1000000000"),
    ("run", "suite.toml", "--seeds", "1000000000"),
    ("reproduce", "figure-4", "--seeds", "1000000000"),
    ("train", "loop", "ask", "--snapshots", "100000000000", "--steps", "1000000000000",
     "--every", "1000000000"),
    ("train", "loop", "ask", "--steps", "1000000000000", "--every", "1"),
    ("solve", "loop", "ask", "time_limit=1e12"),
    ("bandit", "--runs", "1000000000"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands(words, tmp_path):
    suite = """name = "x"
    [[experiment]]
    worlds = ["loop"]
    monitors = ["ask"]
    agents = ["monitored-mbie-eb"]"""
    (tmp_path / "suite.toml").write_text(suite)

    def little():
        resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))

    done = subprocess.run(
        [sys.executable, "-m", "monmdp", *words], cwd=tmp_path, capture_output=True, text=True,
        timeout=100, preexec_fn=little, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "000,000,000" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["suite.toml"]


# ---- files ------------------------------------------------------------------------------------


def rewritten(path, change):
    """Write an archive again, its members changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header(shape, descr="<f8"):
    """The first bytes of an array that says it is so large."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def with_meta(members, **changes):
    meta = json.loads(str(np.load(io.BytesIO(members["meta.npy"]))))
    members["meta.npy"] = npy(np.array(json.dumps(meta | changes)))


@pytest.fixture
def saved(tmp_path, problem):
    path = tmp_path / "problem.npz"
    problem.save(path)
    return path


def test_a_problem_whose_meta_claims_many_states(saved):
    rewritten(saved, lambda members: with_meta(members, n_states=10**9))
    assert saved.stat().st_size < 10_000
    refused(lambda: monmdp.MonMDP.load(saved), str(saved), "'mdp_first'", "(5,000,000,001)")


def test_a_problem_whose_header_claims_many_states(saved):
    def change(members):
        with_meta(members, n_states=10**9)
        members["mdp_first.npy"] = header((5 * 10**9 + 1,), "<i8")

    rewritten(saved, change)
    refused(lambda: monmdp.MonMDP.load(saved), "damaged", "5000000001", "in its header only")


def say_size(path, name, size):
    """Write another size into an archive's directory."""
    content = bytearray(path.read_bytes())
    at = content.rfind(f"{name}.npy".encode()) - 46
    assert content[at : at + 4] == b"PK\x01\x02"
    content[at + 24 : at + 28] = struct.pack("<I", size)
    path.write_bytes(content)


def test_an_archive_that_says_it_unpacks_to_more_than_there_is(saved, monkeypatch):
    """The size in its directory and the one in the header agree, and are too large."""
    n = 5 * 10**8
    rewritten(saved, lambda members: members.update({"mdp_successor.npy": header((n,), "<i8")}))
    say_size(saved, "mdp_successor", 128 + 8 * n)
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**9)
    refused(lambda: monmdp.MonMDP.load(saved), "arrays of 4,000,00", "16 GB", "room for 800 MB")
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**12)  # nor is it believed
    refused(lambda: monmdp.MonMDP.load(saved), "damaged")


def test_an_archive_of_zeros(saved, monkeypatch, traced):
    """A real bomb, though a small one, on a machine that is small, too."""
    name = "mdp_probability.npy"
    rewritten(saved, lambda members: members.update({name: npy(np.zeros(5_000_000))}))
    assert saved.stat().st_size < 100_000
    tracemalloc.reset_peak()
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**8)
    refused(lambda: monmdp.MonMDP.load(saved), "arrays of 40,00", "room for 80 MB")


def test_members_that_are_not_expected_are_not_unpacked(saved, problem, traced):
    rewritten(saved, lambda members: members.update({"more.npy": npy(np.zeros(5_000_000))}))
    tracemalloc.reset_peak()
    assert monmdp.MonMDP.load(saved).shape == problem.shape


def test_a_member_that_holds_more_than_it_says(saved, traced):
    """Its size in the directory is right for its header; the packed bytes go on."""
    rewritten(saved, lambda members: members.update({"mdp_start.npy": bytes(50_000_000)}))
    say_size(saved, "mdp_start", 128 + 9 * 8)
    tracemalloc.reset_peak()
    refused(lambda: monmdp.MonMDP.load(saved), "damaged")


@pytest.mark.parametrize(
    "array",
    [np.array([{}], dtype=object), np.zeros(9, dtype="V8"), np.zeros(9, dtype="f8,f8")],
    ids=["objects", "void", "records"],
)
def test_only_plain_numbers_are_unpacked(saved, array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    rewritten(saved, lambda members: members.update({"mdp_start.npy": file.getvalue()}))
    refused(lambda: monmdp.MonMDP.load(saved), "damaged")


@pytest.mark.parametrize("shape", [[10**9, 1, 5, 1], [10**18] * 4, [9, 1, 5], "x", [9, 1, 5, "2"]])
def test_a_policy_that_claims_another_shape(tmp_path, problem, shape):
    path = tmp_path / "policy.npz"
    monmdp.Policy(problem.shape, np.full((9, 10), 0.1)).save(path)
    rewritten(path, lambda members: with_meta(members, shape=shape))
    refused(lambda: monmdp.Policy.load(path), str(path))


def test_a_meta_that_is_nested_too_deeply(saved):
    deep = np.array("[" * 100_000 + "]" * 100_000)
    rewritten(saved, lambda members: members.update({"meta.npy": npy(deep)}))
    refused(lambda: monmdp.MonMDP.load(saved), "damaged")


def test_pipes_and_files_larger_than_memory_are_not_read(tmp_path):
    sparse = tmp_path / "x.npz"
    with open(sparse, "wb") as file:
        file.truncate(10 * memory.room())
    for read in (monmdp.MonMDP.load, monmdp.Policy.load):
        refused(lambda read=read: read(sparse), f"{10 * memory.room():,} bytes", "room for")
    os.mkfifo(tmp_path / "pipe.npz")
    refused(lambda: monmdp.MonMDP.load(tmp_path / "pipe.npz"), "not a plain file")
    refused(lambda: suites.load(sparse), "room for")
    sparse.rename(tmp_path / "map.txt")
    refused(lambda: worlds.make(tmp_path / "map.txt"), "room for")


def sealed_file(path, columns):
    sealed.write_sealed(path, pa.table(columns), {"format": "test"})
    return path


def test_a_table_of_one_long_text_over_and_over(tmp_path, monkeypatch):
    """Packed, its dictionary has the text once."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(500, np.int32)), ["x" * 20_000])
    path = sealed_file(tmp_path / "x.parquet", {"text": text.cast(pa.string())})
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**7)
    refused(lambda: sealed.read_sealed(path, "test"), "room for 8 MB")


def test_a_table_of_many_numbers(tmp_path, monkeypatch):
    path = sealed_file(tmp_path / "x.parquet", {"n": np.zeros(10**6), "m": np.zeros(10**6)})
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(memory, "machine_memory", lambda: 5 * 10**7)
    refused(lambda: sealed.read_sealed(path, "test"), "2,000,000 values", "64 MB")
    assert len(sealed.read_sealed(path, "test", ["n"])[1]) == 10**6  # one of them fits
    assert sealed.read_sealed(path, "test", ())[1] is None


def test_tables_of_texts_are_read_as_they_were_written(tmp_path):
    columns = {"text": ["a", "b"] * 500, "many": [[1, 2], []] * 500}
    path = sealed_file(tmp_path / "x.parquet", columns)
    assert sealed.read_sealed(path, "test")[1].to_pydict() == columns
    only = sealed.read_sealed(path, "test", ["many"])[1]
    assert only.to_pydict() == {"many": columns["many"]}
    empty = sealed_file(tmp_path / "y.parquet", {"text": pa.array([], pa.string())})
    assert sealed.read_sealed(empty, "test")[1].to_pydict() == {"text": []}


def test_a_footer_that_is_nested_too_deeply(tmp_path):
    table, path = pa.table({"n": [1]}), tmp_path / "x.parquet"
    text = json.dumps({"seal": "0" * 64, "format": "test"})[:-1] + ', "deep": '
    text += "[" * 100_000 + "]" * 100_000 + "}"
    content = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({sealed.KEY: text.encode()}), content)
    seal = hashlib.sha256(content.getvalue()).hexdigest().encode()
    path.write_bytes(sealed._with_seal(content.getvalue(), seal))
    with pytest.raises(sealed.DamagedError, match="damaged"):
        sealed.read_sealed(path, "test")


# ---- the one rule -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (999_700, "1 MB"), (8 * 10**9, "8 GB"),
     (10**30, "1e+30 bytes"), (10**5000, "1e+300 bytes")],
    ids=range(7),
)  # fmt: skip
def test_bytes_in_words(n, said):
    assert memory.in_bytes(n) == said


def test_a_machine_that_does_not_tell_its_memory(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: None)
    assert memory.room() == int(memory.SHARE * memory.UNKNOWN)
