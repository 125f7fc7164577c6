"""Agents that see observations, and deep agents by name."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import monmdp
from monmdp import MonMDPError, agents, experiment, memory, suites, testing, train
from monmdp.agents import DEEP, DeepAgent, View, observations_of, view_of
from monmdp.agents.stepwise import Seeing
from monmdp.experiment import own_code, prepare, provenance
from monmdp.model import MDP, MonMDP, join

WORLD, MONITOR = "loop", "ask"


class Learner:
    """Q-learning in plain Python on numbers of states."""

    def __init__(self, shape, rng, gamma: float = 0.9, epsilon: float = 0.3):
        n_se, n_sm, self.n_ae, self.n_am = shape
        self.rng, self.gamma, self.epsilon = rng, gamma, epsilon
        self.q = np.zeros((n_se, n_sm, self.n_ae * self.n_am))

    def begin_episode(self):
        return bool(self.rng.random() < 0.5)

    def act(self, observation):
        q = self.q[observation["env"], observation["mon"]]
        a = int(np.argmax(q))
        if self.rng.random() < self.epsilon:
            a = int(self.rng.integers(q.size))
        return {"env": a // self.n_am, "mon": a % self.n_am}

    def update(self, t):
        a = t.action["env"] * self.n_am + t.action["mon"]
        target = t.monitor_reward + (-1.0 if t.reward is None else t.reward)
        if not t.terminated:
            after = t.next_observation
            target += self.gamma * self.q[after["env"], after["mon"]].max()
        self.q[t.observation["env"], t.observation["mon"], a] = target

    def test_policy(self):
        return np.eye(self.q.shape[2])[self.q.argmax(axis=2).ravel()]


@dataclass(eq=False)
class Reader:
    """The same learner, which reads the numbers of states off what it sees."""

    sees = "observations"
    view: View
    rng: np.random.Generator
    gamma: float = 0.9
    epsilon: float = 0.3

    def __post_init__(self):
        (n,) = self.view.observation
        shape = n, self.view.n_monitor_states, *self.view[3:5]
        self.learner = Learner(shape, self.rng, self.gamma, self.epsilon)

    def read(self, seen):
        return {"env": int(np.argmax(seen["env"])), "mon": seen["mon"]}

    def begin_episode(self):
        return self.learner.begin_episode()

    def act(self, observation):
        return self.learner.act(self.read(observation))

    def update(self, t):
        there, then = self.read(t.observation), self.read(t.next_observation)
        self.learner.update(t._replace(observation=there, next_observation=then))

    def test_policy(self, observations):
        assert (observations.argmax(axis=1) == np.arange(len(observations))).all()
        return self.learner.test_policy()


def with_table(table, world=WORLD, monitor=MONITOR) -> MonMDP:
    """A problem whose world shows a table."""
    mdp = monmdp.worlds.make(world)
    given = {of.name: getattr(mdp, of.name) for of in fields(mdp)}
    return join(MDP(**given | {"observations": table}), monmdp.monitors.make(monitor))


# ---- in training ----------------------------------------------------------------------------


@given(
    st.sampled_from(["loop", "river-swim", "hazard"]),
    st.sampled_from(["ask", "button", "n-supporters"]),
    st.integers(0, 5),
)
@settings(max_examples=8, deadline=None)
def test_one_hot_vectors_say_what_numbers_say(world, monitor, seed):
    problem = monmdp.make(world, monitor)
    numbers = train(problem, Learner, 400, seed, every=50)
    seen = train(problem, Reader, 400, seed, every=50)
    assert seen.data() == numbers.data()
    assert np.array_equal(seen.policy.probability, numbers.policy.probability)
    assert seen.settings["parameters"] == {"gamma": 0.9, "epsilon": 0.3}
    assert seen.settings["gamma"] == 0.9


class Watcher:
    """Writes down all that it sees."""

    sees = "observations"

    def __init__(self, view, rng):
        self.view, self.rng = view, rng
        self.observed, self.steps, self.tables = [], [], []

    def begin_episode(self):
        pass

    def act(self, observation):
        self.observed.append(observation)
        sizes = self.view.n_env_actions, self.view.n_monitor_actions
        return {
            key: int(self.rng.integers(n)) for key, n in zip(("env", "mon"), sizes, strict=True)
        }

    def update(self, transition):
        self.steps.append(transition)

    def test_policy(self, observations):
        self.tables.append(observations)
        n_sm, n_ae, n_am = self.view[2:5]
        return np.full((len(observations) * n_sm, n_ae * n_am), 1 / (n_ae * n_am))


TABLES = {
    "vectors": np.arange(27, dtype=np.float32).reshape(9, 3),
    "pictures": np.arange(9 * 12, dtype=np.uint8).reshape(9, 2, 3, 2),
    "one number": np.arange(9, dtype=np.int16),
}


@pytest.mark.parametrize("kind", TABLES)
def test_rows_of_the_table_are_seen_without_a_copy(kind):
    problem = with_table(TABLES[kind])
    table = problem.mdp.observations
    view = view_of(problem)
    assert view == View(table.shape[1:], table.dtype, 1, 5, 2, problem.mdp.r_min, problem.mdp.r_max)
    watcher = Watcher(view, np.random.default_rng(0))
    run = train(problem, watcher, 200, 0, every=50)
    assert all(seen is table for seen in watcher.tables)
    assert len(watcher.tables) == 5  # four tests, and the last policy
    assert len(watcher.steps) == len(watcher.observed) == 200
    for seen in [*watcher.observed, *(of.next_observation for of in watcher.steps)]:
        assert seen["env"].shape == table.shape[1:]
        assert np.shares_memory(seen["env"], table)
        assert not seen["env"].flags.writeable
        assert type(seen["mon"]) is int
    assert any(of.reward is None for of in watcher.steps)
    # the same walk, by numbers
    states = [int(np.flatnonzero((table == of["env"]).reshape(9, -1).all(axis=1))[0]) for of in
              watcher.observed]  # fmt: skip
    assert len(set(states)) > 3
    assert (
        run.settings["problem"]
        != prepare(monmdp.make(WORLD, MONITOR), Learner, 10).settings["problem"]
    )


def test_one_hot_vectors_are_made_once_and_weighed_before(monkeypatch):
    problem = monmdp.make(WORLD, MONITOR)
    table = observations_of(problem)
    assert np.array_equal(table, np.eye(9))
    assert table.dtype == view_of(problem).dtype == np.uint8
    assert observations_of(problem) is table
    assert not table.flags.writeable
    with_its_own = with_table(np.zeros((9, 1000)))
    monkeypatch.setattr(memory, "room", lambda: 81 - 1)
    with pytest.raises(MonMDPError, match=r"'loop' has no table of observations; .* 9 states"):
        prepare(problem, Reader, 1)
    assert view_of(with_its_own).observation == (1000,)


def test_a_finished_agent_learns_in_one_run_and_no_more():
    problem = monmdp.make(WORLD, MONITOR)
    agent = Reader(view_of(problem), np.random.default_rng(0), epsilon=0.5)
    run = train(problem, agent, 300)
    assert agent.learner.q.any()
    assert run.settings["agent"].endswith(":Reader")
    with pytest.raises(MonMDPError, match=r"one object cannot learn for several seeds: .* Reader"):
        monmdp.compare(problem, {"mine": agent}, 300, seeds=2)


def test_what_is_wrong_with_an_agent_is_said():
    problem = monmdp.make(WORLD, MONITOR)

    class Misspelt(Reader):
        sees = "observation"

    class Lonely(Watcher):
        def __init__(self, view):
            super().__init__(view, None)

    class Writer(Watcher):
        def act(self, observation):
            observation["env"][0] = 7
            return super().act(observation)

    with pytest.raises(MonMDPError, match=r"Misspelt: sees = 'observation'.*observations"):
        prepare(problem, Misspelt, 10)
    with pytest.raises(MonMDPError, match=r"Lonely cannot be called with \(view, rng\).* a View"):
        prepare(problem, Lonely, 10)
    with pytest.raises(MonMDPError, match=r"Writer raised ValueError: .*read-only"):
        train(problem, Writer, 10)

    def blind(shape, rng):
        return Watcher(view_of(problem), rng)

    with pytest.raises(MonMDPError, match="Watcher sees observations, but what makes it does not"):
        train(problem, blind, 10)
    blind.sees = "observations"
    assert train(problem, blind, 10).settings["agent"].endswith(".blind")

    def unfinished(view, rng):
        return view

    unfinished.sees = "observations"
    with pytest.raises(MonMDPError, match=r"made View.* an agent has begin_episode, act, update"):
        train(problem, unfinished, 10)


def test_parameters_are_those_after_the_second():
    assert list(agents.parameters_of(Reader).parameters) == ["gamma", "epsilon"]
    chosen = agents.find(Reader, params={"epsilon": "0.25"})
    assert chosen.keywords == {"epsilon": 0.25}
    problem = monmdp.make(WORLD, MONITOR)
    task = prepare(problem, chosen, 10)
    assert task.settings["parameters"] == {"gamma": 0.9, "epsilon": 0.25}
    assert task.settings["code"] == prepare(problem, Reader, 10).settings["code"]
    with pytest.raises(MonMDPError, match=r"no parameter 'epsilom'.*epsilon"):
        agents.find(Reader, params={"epsilom": 1})


def test_check_agent():
    problem = monmdp.make(WORLD, MONITOR)
    assert testing.check_agent(Reader, problem) == []
    assert testing.check_agent(partial(Reader, epsilon=0.9), problem) == []
    assert testing.check_agent(Watcher, with_table(TABLES["pictures"])) == []

    class Unseeded(Reader):
        def __post_init__(self):
            self.rng = np.random.default_rng()
            super().__post_init__()

    with pytest.raises(testing.CheckError, match="the same seed gives another run"):
        testing.check_agent(Unseeded, problem)

    class Restless(Reader):
        def test_policy(self, observations):
            self.rng.random()
            return super().test_policy(observations)

    with pytest.raises(testing.CheckError, match="test_policy must change nothing"):
        testing.check_agent(Restless, problem)


# ---- by module and name ---------------------------------------------------------------------

AGENT = """
from dataclasses import dataclass

import numpy as np

from monmdp.agents import View


@dataclass(eq=False)
class Eyes:
    sees = "observations"
    view: View
    rng: np.random.Generator
    gamma: float = 0.99
    curiosity: float = 0.5

    def begin_episode(self):
        return self.rng.random() < self.curiosity

    def act(self, observation):
        assert observation["env"].shape == self.view.observation
        ae, am = (int(self.rng.integers(n)) for n in self.view[3:5])
        return {"env": ae, "mon": am}

    def update(self, transition):
        pass

    def test_policy(self, observations):
        n = self.view.n_env_actions * self.view.n_monitor_actions
        return np.full((len(observations) * self.view.n_monitor_states, n), 1 / n)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module of somebody's own in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("eyes.py").write_text(AGENT)
    yield "eyes"
    sys.modules.pop("eyes", None)


def test_the_command_line_takes_it_and_records_it(own, command):
    words = ("train", "loop", "ask", "curiosity=1", "--steps", "300", "--seeds", "2", "--jobs", "1")
    code, out, err = command(*words, "--agent", "eyes:Eyes", "--out", "runs")
    assert code == 0, err
    assert "eyes:Eyes curiosity=1" in out
    (run, _) = sorted(Path("runs/runs").glob("*/seed-*.parquet"))[:2]
    kept = monmdp.load_run(run)
    assert kept.settings["parameters"] == {"gamma": 0.99, "curiosity": 1.0}
    assert kept.curve["observe_episodes"][-1] == kept.curve["episodes"][-1] > 0
    assert command("verify", "runs", "--trust-modules", "eyes")[0] == 0
    Path("eyes.toml").write_text(
        'name = "eyes"\nseeds = 1\nsteps = 300\n[[experiment]]\nworlds = ["loop"]\n'
        'monitors = ["ask"]\nagents = ["ucb", {name = "eyes:Eyes", curiosity = 0}]\n'
    )
    code, out, err = command("run", "eyes.toml", "--out", "suite", "--jobs", "1")
    assert code == 0, err
    assert "Eyes curiosity=0" in Path("suite/reports/eyes/statistics.md").read_text("utf-8")


# ---- deep agents by name --------------------------------------------------------------------


@pytest.fixture
def fake(own, monkeypatch):
    """A deep agent without a network, by name."""
    of = DeepAgent("eyes:Eyes", "Fake", "It looks.", "#123456")
    monkeypatch.setitem(DEEP, "deep-fake", of)
    monkeypatch.setitem(agents.COLOURS, "deep-fake", (of.colour, of.line))
    monkeypatch.setitem(agents.LABELS, "deep-fake", of.label)
    return "deep-fake"


def test_a_deep_agent_goes_by_its_name(fake, command):
    problem = monmdp.make(WORLD, MONITOR)
    task = prepare(problem, fake, 10)
    assert task.settings["agent"] == fake
    assert task.settings["parameters"] == {"gamma": 0.99, "curiosity": 0.5}
    assert task.settings == prepare(problem, "eyes:Eyes", 10).settings
    assert task.settings["code"] == own_code.module_hash("eyes")
    assert testing.check_agent(fake, problem) == []
    assert list(agents.parameters_of(fake).parameters) == ["gamma", "curiosity"]
    words = ("compare", "loop", "ask", "--agents", f"{fake},curiosity=1,{fake},ucb")
    code, out, err = command(*words, "--steps", "300", "--seeds", "2", "--jobs", "1", "--out", "of")
    assert code == 0, err
    assert f"{fake} curiosity=1" in out
    # What is kept is known without trust: its code is that of this package.
    found = json.loads(command("status", "of", "--json")[1])["reports"][0]
    assert found["stale"] == 0
    assert command("verify", "of")[0] == 0
    code, out, err = command("report", "of", "-o", "page.html")
    assert code == 0, err
    page = Path("page.html").read_text("utf-8")
    assert "Fake (curiosity=1)" in page
    assert "#123456" in page
    assert "no agent of this package" not in page
    # An edit makes other runs, and the kept ones stale.
    Path("eyes.py").write_text(AGENT + "\nMORE = 1\n")
    found = json.loads(command("status", "of", "--json")[1])["reports"][0]
    assert found["stale"] == 4
    settings = monmdp.load_run(next(Path("of/runs").glob(f"*{fake}*/*.parquet"))).settings
    with pytest.raises(MonMDPError, match="its code is not that of the runs"):
        provenance.stored_agent(settings)


def test_a_deep_agents_runs_are_reckoned_to_take_long(fake):
    from monmdp.results.runner import estimate

    def cost(agent):
        return estimate(suites.resolve(suites.Configuration(WORLD, MONITOR, agent, steps=1000)))

    assert cost(fake) == pytest.approx(DEEP[fake].microseconds * 1000 * 1e-6)
    assert cost(fake) > 10 * cost("ucb")


def test_names_and_the_list(command):
    with pytest.raises(MonMDPError, match=r"unknown agent 'deep-dqm'.*deep-dqn"):
        agents.find("deep-dqm")
    with pytest.raises(MonMDPError, match=r"a configuration here, or the name of one of factored"):
        agents.make(Reader, monmdp.make(WORLD, MONITOR))
    assert not {*DEEP} & {*agents.registry}
    _, out, _ = command("list")
    section = out.partition("deep agents, which see observations:\n")[2]
    lines = section.partition("\n\n")[0].splitlines()
    named = [line for line in lines if not line.startswith(" " * 3)]  # below are parameters
    assert [line.split()[0] for line in named] == [*DEEP]
    data = json.loads(command("list", "--json")[1])
    assert data["deep agents"] == {
        name: {
            "about": of.about,
            "parameters": [str(p) for p in agents.parameters_of(name).parameters.values()],
        }
        for name, of in DEEP.items()
    }
    assert "torch" not in sys.modules


def test_every_deep_agent_is_described():
    for name, of in DEEP.items():
        module, _, kind = of.place.partition(":")
        assert name.startswith("deep-")
        assert module.startswith("monmdp.agents.deep")
        assert kind.isidentifier()
        assert of.about.endswith(".")
        assert agents.LABELS[name] == of.label
        assert agents.COLOURS[name] == (of.colour, of.line)


# ---- which code counts ----------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of this one's name, with two deep agents that share a module."""
    folder = tmp_path / "monmdp"
    (folder / "agents" / "deep_nets").mkdir(parents=True)
    texts = {
        "deep_one.py": "from monmdp.agents import contract\n"
                       "from monmdp.agents.deep_shared import f\nONE = 1\n",
        "deep_two.py": "import monmdp.agents.deep_nets\nTWO = 2\n",
        "deep_shared.py": "def f():\n    return 1\n",
        "deep_nets/__init__.py": "WIDTH = 64\n",
        "contract.py": "A = 1\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / "agents" / name).write_text(text)
    monkeypatch.setattr(own_code, "PACKAGE", folder)
    return folder / "agents"


def hashes(package):
    return tuple(
        own_code._hash_from(own_code.Source(f"monmdp.agents.{name}", package / f"{name}.py"))
        for name in ("deep_one", "deep_two")
    )


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("deep_one.py", "ONE = 1 # why\n", (True, False)),  # an import less
        ("deep_shared.py", 'def f():\n    """Says."""\n    return (1)\n', (True, False)),
        ("deep_shared.py", '# why\n\ndef f():\n    """Says."""\n\n    return 1\n', (False, False)),
        ("deep_shared.py", "def f():\n    return 2\n", (True, False)),
        ("deep_nets/__init__.py", "WIDTH = 32\n", (False, True)),
        ("contract.py", "A = 2\n", (False, False)),  # the loop's own hash covers it
    ],
)
def test_of_a_deep_agent_its_own_modules_count(package, file, text, changed):
    before = hashes(package)
    (package / file).write_text(text)
    now = hashes(package)
    assert tuple(a != b for a, b in zip(before, now, strict=True)) == changed


def test_the_real_package_counts_from_where_it_is():
    assert Path(monmdp.__file__).resolve().parent == own_code.PACKAGE
    assert own_code._is_deep(own_code.PACKAGE / "agents" / "deep_baselines.py")
    assert not own_code._is_deep(own_code.PACKAGE / "agents" / "named.py")
    assert not own_code._is_deep(own_code.PACKAGE / "envs" / "deep.py")
    assert own_code.module_hash("monmdp.agents.no_such_module") is None


def test_what_is_dressed_is_dressed_once():
    problem = monmdp.make(WORLD, MONITOR)
    task = prepare(problem, Reader, 10)
    made = task.agent(problem.shape, np.random.default_rng(0))
    assert isinstance(made, Seeing)
    assert testing.check_agent(task.agent, problem) == []  # as the command line does
    assert experiment.prepare(problem, Learner, 10).agent is Learner
