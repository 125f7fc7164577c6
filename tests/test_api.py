"""The public verbs: runs in memory and on disk, resuming, seeds and jobs, what runs come to."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import monmdp
from monmdp import MonMDPError, agents, experiment
from monmdp.experiment import Policy, Run, prepare
from monmdp.experiment.loop import LEDGER
from monmdp.model.monmdp import Shape
from monmdp.results import Evidence, execute, load_policy, runner
from monmdp.results.comparison import compare_agents
from monmdp.results.evidence import SCORES, aggregate
from monmdp.results.figures import draw
from monmdp.results.request import read_sessions
from monmdp.results.store import claim_folder, inside_path, read_run, run_path
from monmdp.schema import DamagedError
from monmdp.suites import Configuration, Curve, Figure, Grid, Panel, resolve
from monmdp.suites.configuration import id_of

PNG = b"\x89PNG"


class Wanderer:
    """A user's agent in plain Python: it wanders."""

    def __init__(self, shape, rng, luck=0.5):
        self.shape, self.rng, self.luck = shape, rng, luck

    def begin_episode(self):
        return False

    def act(self, observation):
        assert set(observation) == {"env", "mon"}
        n_ae, n_am = self.shape.n_env_actions, self.shape.n_monitor_actions
        return {"env": int(self.rng.integers(n_ae)), "mon": int(self.rng.integers(n_am))}

    def update(self, transition):
        pass

    def test_policy(self):
        n_se, n_sm, n_ae, n_am = self.shape
        return np.full((n_se * n_sm, n_ae * n_am), 1 / (n_ae * n_am))


@pytest.fixture(scope="module")
def problem():
    return monmdp.make("loop", "ask")


@pytest.fixture(scope="module")
def resolved(problem):
    return resolve(Configuration(problem, None, "monitored-mbie-eb", steps=300, keep_policy=True))


@pytest.fixture(scope="module")
def fresh(problem, resolved):
    """The runs of four seeds, done once and kept nowhere."""
    runs = execute(None, runs_of(resolved, range(4)), jobs=1).runs
    return {seed: runs[resolved.id, seed] for seed in range(4)}


def runs_of(resolved, seeds):
    return {(resolved.id, seed): resolved for seed in seeds}


def files(folder):
    """All files in a folder, without the locks."""
    found = (path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file())
    return sorted(str(path) for path in found if not path.name.startswith("lock"))


def same(a, b):
    """Whether two runs are the same in all that is learnt, to the bit."""
    assert a.seed == b.seed
    assert json.loads(json.dumps(a.settings)) == json.loads(json.dumps(b.settings))
    assert a.data() == b.data()
    np.testing.assert_array_equal(a.policy.probability, b.policy.probability)
    assert (a.policy.shape, dict(a.policy.origin)) == (b.policy.shape, dict(b.policy.origin))
    np.testing.assert_array_equal(a.snapshot_steps, b.snapshot_steps)
    assert set(a.snapshots) == set(b.snapshots)
    for name, values in a.snapshots.items():
        np.testing.assert_array_equal(b.snapshots[name], values)
        assert b.snapshots[name].dtype == values.dtype
    return True


@pytest.fixture
def counted(monkeypatch):
    """The seeds of all runs that are really done, in their order; warming up is none."""
    done, real = [], runner.carry_out

    def carry_out(task, seed, *words):
        if task.steps > 1:
            done.append(seed)
        return real(task, seed, *words)

    monkeypatch.setattr(runner, "carry_out", carry_out)
    return done


# ---- train ----------------------------------------------------------------------------------


def test_training_writes_nothing_unless_it_is_told_where(problem, tmp_path):
    run = monmdp.train(problem, "monitored-mbie-eb", 300)
    monmdp.compare(problem, ["monitored-mbie-eb"], 300, seeds=2)
    assert list(tmp_path.iterdir()) == []
    assert Path.cwd() == tmp_path
    assert run.policy is not None
    assert {"kernel", "versions", "commit", "machine", "cpu_seconds"} <= set(run.provenance)


def test_what_is_in_a_folder_is_not_done_again(problem, fresh, counted):
    first = monmdp.train(problem, "monitored-mbie-eb", 300, 2, out="results")
    again = monmdp.train(problem, "monitored-mbie-eb", 300, 2, out=Path("results"))
    assert counted == [2]
    assert same(first, again)
    assert same(first, fresh[2])
    assert again.provenance == first.provenance
    name = id_of(first.settings)
    assert files("results") == [
        "monmdp.json",
        f"problems/{first.settings['problem']}.npz",
        f"runs/{name}/seed-0002.inside.parquet",
        f"runs/{name}/seed-0002.parquet",
    ]
    monmdp.train(problem, "monitored-mbie-eb", 300, 3, out="results")
    monmdp.train(problem, "monitored-mbie-eb", 400, 2, out="results")
    assert counted == [2, 3, 2]
    # Runs of different kinds live side by side.
    assert len(files("results")) == 2 + 2 * 3


def test_snapshots_that_are_lacking_are_a_reason_to_do_a_run_again(problem, counted):
    bare = monmdp.train(problem, "ucb", 100, out="results")
    kept = monmdp.train(problem, "ucb", 100, out="results", snapshots=2)
    fewer = monmdp.train(problem, "ucb", 100, out="results", snapshots=[50])
    assert len(counted) == 2
    assert bare.data() == kept.data()
    assert same(kept, fewer), "they are there, and more"
    assert kept.snapshot_steps.tolist() == [50, 100]


def test_stale_runs_are_done_again_on_demand(problem, counted, monkeypatch):
    words = {"steps": 200, "out": "results"}
    monmdp.train(problem, "ucb", **words)
    monkeypatch.setattr("monmdp.suites.configuration.kernel_hash", lambda _: "another")
    monmdp.train(problem, "ucb", **words)
    monmdp.compare(problem, ["ucb"], seeds=1, **words)
    assert len(counted) == 1
    assert monmdp.train(problem, "ucb", stale=True, **words).provenance["kernel"] == "another"
    monkeypatch.setattr("monmdp.suites.configuration.kernel_hash", lambda _: "a third")
    monmdp.compare(problem, ["ucb"], seeds=1, stale=True, **words)
    assert len(counted) == 3


def test_agents_by_module_and_object(problem, tmp_path):
    (tmp_path / "brought_along.py").write_text(
        "import numpy as np\n"
        "from monmdp.agents import MonitoredMBIEEB\n"
        "from test_api import Wanderer\n"
        "from monmdp import make\n"
        "small = MonitoredMBIEEB(beta=0.25)\n"
        "finished = Wanderer(make('loop', 'ask').shape, np.random.default_rng(0))\n"
    )
    sys.modules.setdefault("test_api", sys.modules[__name__])
    configured = monmdp.train(problem, "brought_along:small", 200)
    same_by_hand = monmdp.train(problem, agents.MonitoredMBIEEB(beta=0.25), 200)
    assert configured.data() == same_by_hand.data()
    assert configured.settings["parameters"]["beta"] == 0.25
    plain = monmdp.train(problem, "brought_along:Wanderer", 200, 3)
    assert plain.data() == monmdp.train(problem, Wanderer, 200, 3).data()
    assert monmdp.train(problem, "brought_along:finished", 200, 3).curve["episodes"][-1] > 1
    both = monmdp.compare(problem, ["brought_along:small", "ucb"], 200, seeds=2)
    assert [row.agent for row in both.comparisons[0].rows] == ["brought_along:small", "ucb"]
    for name, message in (
        ("brought_along:smal", "did you mean 'small'"),
        ("brought_alonk:small", "brought_alonk"),
        ("monitored-mbie-bb", "did you mean 'monitored-mbie-eb'"),
    ):
        with pytest.raises(MonMDPError, match=message):
            monmdp.train(problem, name, 200)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"problem": "loop"}, "a MonMDP expected, got 'loop'"),
        ({"problem": "loop", "steps": None}, "a MonMDP expected, got 'loop'"),
        ({"steps": 0}, "steps must be"),
        ({"steps": "many"}, "steps must be"),
        ({"seed": -1}, "seed must be"),
        ({"agent": 3}, "an agent is a name"),
        ({"every": 0}, "every"),
        ({"snapshots": [301]}, "step 301 is after the last one, 300"),
        ({"evaluation": "exakt"}, "did you mean 'exact'"),
    ],
)
def test_what_cannot_be_trained_is_named(problem, given, message):
    words = {"problem": problem, "agent": "ucb", "steps": 300} | given
    with pytest.raises(MonMDPError, match=message):
        monmdp.train(**words, out="results")
    assert not Path("results").exists()


def test_an_agent_that_raises_is_named_and_its_own_error_stays_in_sight(problem):
    class Broken(Wanderer):
        def update(self, transition):
            raise KeyError(transition.reward)

    with pytest.raises(MonMDPError, match=r"Broken raised KeyError: None .*seed 7") as caught:
        monmdp.train(problem, Broken, 10, 7)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(MonMDPError, match="Broken raised KeyError"):
        monmdp.compare(problem, {"mine": Broken}, 300, seeds=2, jobs=1)


def test_an_object_is_trained_once_and_kept_nowhere(problem):
    agent = Wanderer(problem.shape, np.random.default_rng(0))
    assert monmdp.train(problem, agent, 200).settings["agent"].endswith(":Wanderer")
    with pytest.raises(MonMDPError, match="give what makes it, Wanderer itself"):
        monmdp.compare(problem, {"mine": agent}, 200, seeds=2)
    with pytest.raises(MonMDPError, match=r"told from others .* give what makes it, Wanderer"):
        monmdp.train(problem, agent, 200, out="results")


def test_the_paper_s_budget_is_the_default():
    for world, steps in (("loop", 20_000), ("bottleneck", 50_000)):
        problem = monmdp.make(world, "ask")
        run = monmdp.train(problem, "r-max", every=10_000)
        assert run.settings["steps"] == steps


# ---- files ----------------------------------------------------------------------------------


def test_a_run_survives_its_file(problem):
    run = monmdp.train(problem, "monitored-mbie-eb", 300, np.int64(5), snapshots=3, out="results")
    assert run.snapshot_steps.tolist() == [100, 200, 300]
    assert run.snapshots["n"].sum(axis=(1, 2)).tolist() == [100, 200, 300]
    fresh = monmdp.train(problem, "monitored-mbie-eb", 300, 5, snapshots=3)
    path = run_path(Path("results"), id_of(run.settings), 5)
    for file in (path, str(path), inside_path(path)):
        again = monmdp.load_run(file)
        assert same(again, fresh)
        assert again.provenance == run.provenance
    policy = load_policy(path)
    np.testing.assert_array_equal(policy.probability, fresh.policy.probability)
    fresh.policy.save("policy.npz")
    assert load_policy("policy.npz").origin == policy.origin
    stored = monmdp.MonMDP.load(f"results/problems/{run.settings['problem']}.npz")
    assert experiment.fingerprint(stored) == run.settings["problem"]
    assert len(monmdp.load_results("results")) == len(run.step)


def test_files_that_are_no_runs_are_named(problem):
    run = monmdp.train(problem, "ucb", 100, out="results")
    path = run_path(Path("results"), id_of(run.settings), 0)
    with pytest.raises(MonMDPError, match=r"seed-0001.parquet: no such file"):
        monmdp.load_run(path.with_name("seed-0001.parquet"))
    run.policy.save("policy.npz")
    for broken in (monmdp.load_run, load_policy):
        Path("wrong.parquet").write_bytes(Path("policy.npz").read_bytes())
        with pytest.raises(MonMDPError, match=r"wrong.parquet"):
            broken("wrong.parquet")
    inside_path(path).unlink()
    assert monmdp.load_run(path).policy is None
    with pytest.raises(MonMDPError, match="there is no policy of this run"):
        load_policy(path)


def test_a_damaged_run_is_done_again_and_set_aside(problem, counted):
    for part in (lambda path: path, inside_path):
        first = monmdp.train(problem, "ucb", 100, out="results")
        counted.clear()
        path = part(run_path(Path("results"), id_of(first.settings), 0))
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(DamagedError, match=path.name):
            monmdp.load_run(path)
        assert same(monmdp.train(problem, "ucb", 100, out="results"), first)
        assert counted == [0]
        assert list(Path("results/set-aside").rglob(path.name))


def test_a_run_from_elsewhere_is_not_taken_for_ours(problem, counted):
    one, two = (monmdp.train(problem, "ucb", 100, seed, out="results") for seed in (0, 1))
    folder = Path("results/runs") / id_of(one.settings)
    (folder / "seed-0000.parquet").replace(folder / "seed-0001.parquet")
    with pytest.raises(DamagedError, match="holds another run, of seed 0"):
        read_run(folder / "seed-0001.parquet")
    with pytest.raises(DamagedError, match=r"seed-0001.inside.parquet: of another run"):
        monmdp.load_run(folder / "seed-0001.parquet")
    assert same(monmdp.train(problem, "ucb", 100, 1, out="results"), two)
    assert counted == [0, 1, 1]


def test_what_a_killed_process_leaves_does_not_block_the_folder(problem, resolved, fresh):
    half = run_path(Path("results"), resolved.id, 0)
    claim_folder(Path("results"))
    half.parent.mkdir(parents=True)
    (half.parent / f".{half.name}.{'1' * 32}.part").write_text("half a run")
    assert same(monmdp.train(problem, "monitored-mbie-eb", 300, out="results"), fresh[0])
    assert not list(Path("results").rglob("*.part"))


def test_folders_that_cannot_be_used(problem, command):
    Path("file").write_text("")
    with pytest.raises(MonMDPError, match="cannot use file for results"):
        monmdp.train(problem, "ucb", 100, out="file")
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("…")
    monmdp.train(problem, "ucb", 100, out="mine")  # what is there besides is left alone
    assert Path("mine/thesis.tex").read_text() == "…"


def test_folders_of_an_earlier_version_are_refused_in_one_line(problem, command):
    old = Path("old")
    old.mkdir()
    (old / "settings.json").write_text("{}")
    (old / "seed-0000.npz").write_bytes(b"PK")
    before = files(old)
    for attempt in (
        lambda: monmdp.train(problem, "ucb", 100, out=old),
        lambda: monmdp.compare(problem, ["ucb"], 200, seeds=1, out=old),
        lambda: monmdp.load_run(old / "seed-0000.npz"),
        lambda: monmdp.load_results(old),
        lambda: monmdp.write_report(old),
    ):
        with pytest.raises(MonMDPError, match="holds runs of an earlier version") as caught:
            attempt()
        assert "\n" not in str(caught.value)
        assert "choose another folder" in str(caught.value)
    for words in (
        ("train", "loop", "ask", "--steps", 200, "--seeds", 1, "--out", old),
        ("report", old),
    ):
        code, _, err = command(*words)
        assert code != 0
        assert "holds runs of an earlier version" in err.splitlines()[0]
    assert files(old) == before


def test_an_edited_agent_does_not_get_its_old_runs(problem, monkeypatch):
    module = types.ModuleType("edited_agent")
    module.__file__ = "edited_agent.py"
    monkeypatch.setitem(sys.modules, "edited_agent", module)
    monkeypatch.setattr(Wanderer, "__module__", "edited_agent")
    names = []
    for text in ("one", "two", "two"):
        Path("edited_agent.py").write_text(text)
        names.append(resolve(Configuration(problem, None, Wanderer, steps=10)).id)
    assert names[0] != names[1] == names[2]


def test_every_kind_of_run_has_a_name_of_its_own(resolved):
    settings = resolved.settings
    assert resolved.id == id_of(settings)
    assert resolved.id.startswith("loop-ask-monitored-mbie-eb-")
    assert id_of({**settings, "steps": 7}) != resolved.id
    assert "/" not in id_of({**settings, "world": "a/b:c"})


# ---- seeds and jobs -------------------------------------------------------------------------


def test_the_number_of_jobs_makes_no_difference(problem, resolved, fresh, tmp_path):
    told = {1: [], 3: []}
    for jobs, said in told.items():
        execute(
            tmp_path / str(jobs), runs_of(resolved, range(4)), jobs=jobs,
            tell=lambda of, said=said: said.append((of.there + of.done, of.steps)),
        )  # fmt: skip
    assert all(of[0] == (0, 0) and of[-1] == (4, 1200) for of in told.values())
    assert all(of == sorted(of) for of in told.values())
    names = files(tmp_path / "1")
    assert names == files(tmp_path / "3")
    assert [Path(name).name for name in names[2:]] == [
        f"seed-000{seed}{kind}" for seed in range(4) for kind in (".inside.parquet", ".parquet")
    ]
    for seed in range(4):
        one, three = (
            read_run(run_path(tmp_path / str(jobs), resolved.id, seed), inside=True)
            for jobs in (1, 3)
        )
        assert same(one, three)
        assert same(one, fresh[seed])
        inside = (inside_path(run_path(tmp_path / f, resolved.id, seed)) for f in ("1", "3"))
        assert len({path.read_bytes() for path in inside}) == 1


SCRIPT = """
import os
import monmdp
from {module} import Wanderer as Theirs, same

class Wanderer(Theirs):
    pass

if __name__ == "__main__":
    problem = monmdp.make("loop", "ask")
    words = problem, {{"ours": Wanderer, "theirs": Theirs}}, 200
    one = monmdp.compare(*words, seeds=2, jobs=1)
    for _ in range(2):
        two = monmdp.compare(*words, seeds=2, jobs=2, out="results")
        print(two.outcome.progress.done, len(two.runs), len(two.comparisons[0].rows))
    print(all(same(run, two.runs[key]) for key, run in one.runs.items()))
    for found in (one, two):
        print(os.getpid() in {{run.provenance["process"] for run in found.runs.values()}})
    print(len(monmdp.load_results("results")))
"""


@pytest.mark.slow
def test_plain_python_agents_run_in_processes_and_are_found_again(tmp_path):
    """Whether they are in a module or in the script: that has another text in a worker."""
    (tmp_path / "script.py").write_text(SCRIPT.format(module=Path(__file__).stem))
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    out = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    expected = ["4 4 2", "0 4 2", "True", "True", "False", "8"]
    assert out.stdout.splitlines() == expected, out.stderr


def test_workers_that_find_another_agent_are_told(problem, monkeypatch, tmp_path):
    """An agent given by name is found anew by a worker, maybe in another version of its file."""
    (tmp_path / "named_agent.py").write_text("from test_api import Wanderer as Named\n")
    sys.modules.setdefault("test_api", sys.modules[__name__])
    of = resolve(Configuration(problem, None, "named_agent:Named", steps=200))
    real = runner.work

    def other(resolved, seed, *words):
        run = real(resolved, seed, *words)
        return replace(run, settings={**run.settings, "code": "another"})

    monkeypatch.setattr(runner, "work", other)
    outcome = execute("results", runs_of(of, [0]), jobs=1)
    assert list(outcome.failures) == [(of.id, 0)]
    assert "runs other code than this one" in outcome.failures[of.id, 0]
    assert not list(Path("results").rglob("*.parquet"))


def test_a_stopped_command_goes_on_where_it_stopped(resolved, fresh, counted):
    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute("results", runs_of(resolved, range(4)), jobs=1, tell=stop)
    done = sorted(int(p.stem[5:]) for p in Path("results").rglob("seed-????.parquet"))
    assert len(done) == 2
    counted.clear()
    outcome = execute("results", runs_of(resolved, range(4)), jobs=1)
    assert sorted(counted) == sorted(set(range(4)) - set(done))
    assert sorted(seed for _, seed in outcome.inventory.there) == done
    for seed in range(4):
        assert same(
            read_run(run_path(Path("results"), resolved.id, seed), inside=True), fresh[seed]
        )


def test_what_was_done_before_a_stop_is_on_record(command, monkeypatch):
    words = ("train", "loop", "ask", "--agent", "ucb", "--steps", 200, "--seeds", 3, "--jobs", 1)
    real = runner.carry_out

    def breaks(task, seed, *words):
        if seed == 1 and task.steps > 1:
            raise MemoryError
        return real(task, seed, *words)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "carry_out", breaks)
        _, _, err = command(*words)
    assert "seed 1: MemoryError" in err
    assert "1 run failed" in err
    (report,) = Path("results/reports").iterdir()
    assert [of["runs"] for of in read_sessions(report)] == [3]
    assert command(*words)[0] == 0
    first, second = read_sessions(report)
    assert second["runs"] == 1
    assert (first["jobs"], second["steps"]) == (1, 200)
    assert first["wall_seconds"] > 0
    assert first["ended"].endswith("Z")
    assert {"commit", "cpu_seconds_of_process"} <= set(first)
    assert command(*words)[0] == 0
    assert len(read_sessions(report)) == 2, "nothing was done"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": []}, "at least one seed"),
        ({"seeds": [-1]}, "seed must be"),
        ({"seeds": [3, 3]}, "a seed is there twice"),
        ({"seeds": 0}, "seeds must be"),
        ({"seeds": 2.5}, "seeds must be"),
        ({"jobs": 0}, "jobs must be"),
        ({"jobs": 1.5}, "jobs must be"),
        ({"agents": []}, "at least one agent"),
        ({"agents": ["ucb", "ucb"]}, "'ucb' is there twice"),
        ({"agents": [agents.UCB(), agents.UCB(alpha=0.5)]}, "'ucb' is there twice"),
        ({"problem": "loop"}, "a MonMDP expected"),
        ({"steps": 100}, "are one test; a learning curve has two or more"),
    ],
)
def test_what_cannot_be_compared_is_named(problem, given, message):
    words = {"problem": problem, "agents": ["ucb"], "steps": 300, "seeds": 2} | given
    with pytest.raises(MonMDPError, match=message):
        monmdp.compare(**words, out="results")
    assert not Path("results/runs").exists()
    assert runner.cores() >= 1


def test_seeds_are_a_number_or_a_list(problem):
    for seeds, expected in ((2, (0, 1)), (np.int64(2), (0, 1)), ([7, 3], (7, 3)), ({5}, (5,))):
        found = monmdp.compare(problem, ["ucb"], 200, seeds=seeds)
        assert sorted(found.comparisons[0].seeds) == sorted(expected)
        assert {seed for _, seed in found.runs} == set(expected)


# ---- what runs come to ----------------------------------------------------------------------


def fake_run(returns, true_returns=None, seed=0, agent="a"):
    """A run whose test policies got these returns in M↓, and others in M."""
    values = np.array(returns, dtype=float)
    true = values + 5 if true_returns is None else np.array(true_returns, dtype=float)
    nothing = {name: np.zeros(len(values)) for name in (*SCORES, *LEDGER)}
    return Run(
        settings={
            "world": "w", "monitor": "m", "agent": agent, "evaluation": "exact", "episodes": 0,
            "problem": "0", "steps": 100 * len(values), "every": 100,
        },
        seed=seed,
        step=np.arange(len(values)) * 100,
        curve={**nothing, "worst_case_return": values, "episode_return": true},
        policy=Policy(Shape(1, 1, 1, 1), [[1.0]]),
    )  # fmt: skip


def evidence_of(runs, minimax):
    """Evidence of label -> runs in one panel."""
    aggregates = {
        label: aggregate(label, of[0].settings, of, minimax) for label, of in runs.items()
    }
    seeds = tuple(range(len(next(iter(runs.values())))))
    curves = tuple(
        Curve(label, of[0].settings["agent"], label, seeds) for label, of in runs.items()
    )
    panel = Panel("w", "m", "w", "m", {}, "episode_return", None, None, curves)
    return Evidence((Figure("figure", "", "paper", (Grid(None, ((panel,),)),)),), aggregates, {})


def drawn(runs, minimax=1.0):
    evidence = evidence_of(runs, minimax)
    return draw(evidence.figures[0], evidence)


@pytest.mark.parametrize(
    ("returns", "value", "expected"),
    [
        ([0, 0.5, 1, 1, 1], 1.0, 200),
        ([1, 1, 1], 1.0, 0),
        ([0, 1, 0.5, 1, 0.99], 1.0, 300),
        ([0, 1, 0.5, 1, 0.98], 1.0, None),
        ([19.7, 19.81, 19.9], 20.0, 100),  # 1 % of a value above 1
        ([-0.05, 0.0, 0.0], 0.0, 100),
    ],
)
def test_steps_to_minimax_optimality(returns, value, expected):
    found = aggregate("", fake_run(returns).settings, [fake_run(returns)], value)
    budget = 100 * len(returns)
    assert found.optimal.tolist() == [expected is not None]
    assert found.steps_to_optimal.tolist() == [budget if expected is None else expected]
    evidence = evidence_of({"a": [fake_run(returns)]}, value)
    table = compare_agents(next(evidence.figures[0].panels()), evidence)
    assert table["a"].steps_to_1pct == (expected,)


def test_the_end_return_is_the_mean_of_the_last_ten_tests_in_m():
    true = [[100.0, *range(10)], [100.0, *range(2, 12)]]
    runs = [fake_run(np.zeros(11), t, seed) for seed, t in enumerate(true)]
    evidence = evidence_of({"a": runs}, 1.0)
    (row,) = compare_agents(next(evidence.figures[0].panels()), evidence).rows
    assert row.end.estimate == 5.5
    half = 1.96 * np.sqrt(2) / np.sqrt(2)
    np.testing.assert_allclose((row.end.low, row.end.high), (5.5 - half, 5.5 + half))
    assert not row.of.optimal.any()


def test_regret_is_what_finished_episodes_lost():
    run = fake_run([0.0, 0.0, 0.0])
    curve = {**run.curve, "finished_episodes": [0, 3, 7], "training_return": [0, -1.0, 2.5]}
    run = replace(run, curve={name: np.asarray(of, dtype=float) for name, of in curve.items()})
    assert aggregate("", run.settings, [run], 0.75).regret.tolist() == [7 * 0.75 - 2.5]


def test_the_picture_shows_returns_in_m_smoothed_as_in_the_paper():
    run = fake_run([0] * 100, [1.0] + [0.0] * 99)
    figure = drawn({"a": [replace(run, settings=run.settings | {"evaluation": "monte-carlo"})]})
    line = figure.axes[0].get_lines()[0]
    np.testing.assert_allclose(line.get_ydata(), 0.9 ** np.arange(100), rtol=1e-6)
    assert any("smoothed" in text.get_text() for text in figure.texts)


@pytest.mark.parametrize(("n", "evaluation"), [(3, "monte-carlo"), (3, "exact"), (100, "exact")])
def test_curves_that_are_short_or_exact_are_drawn_as_they_are(n, evaluation):
    returns = [1.0] + [0.0] * (n - 1)
    run = fake_run([0] * n, returns)
    figure = drawn({"a": [replace(run, settings=run.settings | {"evaluation": evaluation})]})
    np.testing.assert_array_equal(figure.axes[0].get_lines()[0].get_ydata(), returns)
    assert not any("smoothed" in text.get_text() for text in figure.texts)


def test_a_band_is_the_interval_of_the_mean():
    runs = [fake_run([0, 0], [r, 1.0], i) for i, r in enumerate((0.0, 1.0, 1.0, 1.0))]
    (band,) = drawn({"a": runs}).axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(0.75 - 1.96 * 0.5 / 2)


def test_the_axis_reaches_where_curves_end():
    """A curve that falls is shown to its end, however far below the others that is."""
    good, bad = [0.9] * 50, [0.0] * 49 + [-500.0]
    runs = {name: [fake_run([0] * 50, r)] for name, r in (("good", good), ("bad", bad))}
    assert drawn(runs).axes[0].get_ylim()[0] < -500
    many = drawn({str(i): [fake_run([0, 1])] for i in range(8)})
    assert len(many.axes[0].get_lines()) == 9
    assert len(many.legends[0].get_texts()) == 9


def test_a_comparison_sums_up_its_runs_and_draws_them(problem):
    solution = monmdp.solve(problem)
    found = monmdp.compare(problem, ["monitored-mbie-eb"], 2000, seeds=3)
    (table,) = found.comparisons
    (row,) = table.rows
    told = row.to_dict()
    assert (row.of.seeds, row.of.optimal.tolist()) == ((0, 1, 2), [True] * 3)
    assert told["episode_return_minimax"] == solution.episode_return
    assert row.end.estimate == pytest.approx(solution.episode_return)
    assert row.end.low <= row.end.estimate <= row.end.high
    by_hand = []
    for run in found.runs.values():
        at = solution.episode_return - 0.01 * max(1, abs(solution.episode_return))
        good = [value >= at for value in run.curve["worst_case_return"]]
        by_hand.append(next(int(run.step[i]) for i in range(len(good)) if all(good[i:])))
        lost = run.curve["finished_episodes"][-1] * solution.episode_return
        assert lost - run.curve["training_return"][-1] in told["regret"]
    assert told["steps_to_1pct"] == by_hand
    alone = monmdp.compare(problem, ["monitored-mbie-eb"], 2000, seeds=1)
    assert np.isnan(alone.comparisons[0].rows[0].end.low), "one seed has no interval"
    for n, results in ((3, found), (1, alone)):
        figure = results.figure()
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels == ["Monitored MBIE-EB", "minimax-optimal"]
        assert any(f"n = {n} seed" in text.get_text() for text in figure.texts)


def test_runs_and_results_show_themselves_in_a_notebook(problem):
    found = monmdp.compare(problem, ["ucb", "r-max"], 300, seeds=2, out="results")
    run = next(iter(found.runs.values()))
    for shown in (run, monmdp.train(problem, "ucb", 100)):
        assert shown._repr_png_().startswith(PNG)
    html = found._repr_html_()
    assert html.startswith('<img src="data:image/png;base64,')
    assert base64.b64decode(html.partition("base64,")[2].partition('"')[0]).startswith(PNG)
    assert all(text in html for text in ("<table", "r-max", "ucb", "reference"))
    assert repr(found) == "<Results: 4 of 4 runs, in results>"
    line = run.figure().axes[0].get_lines()[0]
    np.testing.assert_array_equal(line.get_ydata(), run.curve["episode_return"])
    frame = found.frame()
    assert sorted(set(frame["agent"])) == ["r-max", "ucb"]
    assert len(frame) == 4 * 3
    block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["ucb"]}
    suite = {"name": "small", "seeds": 1, "steps": 300, "experiment": [block]}
    done = monmdp.run_suite(suite, out="results")
    assert "<table" in done._repr_html_()
    assert done.report.pictures[0].read_bytes().startswith(PNG)


def test_a_report_in_python_is_one_file(problem):
    monmdp.compare(problem, ["ucb", "r-max"], 300, seeds=2, out="results")
    monmdp.write_report("results")
    assert "ucb" in Path("results/report.html").read_text()
    monmdp.write_report(["results"], "elsewhere.html")
    assert Path("elsewhere.html").exists()


def test_training_is_what_prepare_and_carry_out_do(problem):
    by_hand = experiment.carry_out(prepare(problem, "monitored-mbie-eb", 300), 2)
    assert by_hand.data() == monmdp.train(problem, "monitored-mbie-eb", 300, 2).data()
