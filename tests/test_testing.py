"""The public conformance checks accept what is right and catch what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from conftest import MONITORS, READING, WORLDS, random_monmdp, seeds
from monmdp import MDP, Monitor, agents, envs, make, monitors, testing, worlds
from monmdp.testing import CheckError, check_agent, check_monitor, check_monmdp, check_world


@pytest.mark.slow
@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("world", WORLDS)
def test_the_registry_passes(world, monitor):
    assert check_world(worlds.make(world)) == []
    assert check_monitor(monitors.make(monitor)) == []
    check_monmdp(make(world, monitor, rho=0.5))


@given(seeds)
def test_random_models_pass(seed):
    check_monmdp(random_monmdp(seed), steps=60, seed=seed)


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_imports_pass(name):
    check_monmdp(make(f"gymnasium:{name}", "ask", rho=0.5))


def tampered(thing, **changes):
    """A copy whose validation has been gone around."""
    copy = object.__new__(type(thing))
    copy.__dict__.update(thing.__dict__)
    for name in ("pair_of_outcome", "mean_reward"):
        copy.__dict__.pop(name, None)
    copy.__dict__.update(changes)
    return copy


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("probability", 0.5, "do not sum to 1"), ("successor", 99, "no state"),
        ("reward", 1e6, "outside"), ("start", 0.7, "start distribution"),
    ],
)  # fmt: skip
def test_broken_worlds_are_caught(field, value, problem):
    mdp = worlds.make("loop")
    array = np.array(getattr(mdp, field))
    array[0] = value
    array.setflags(write=False)
    with pytest.raises(CheckError, match=problem):
        check_world(tampered(mdp, **{field: array}))


def test_writable_worlds_are_caught():
    mdp = worlds.make("loop")
    with pytest.raises(CheckError, match="reward can be written to"):
        check_world(tampered(mdp, reward=np.array(mdp.reward)))


def test_broken_monitors_are_caught():
    monitor = monitors.make("ask")
    with pytest.raises(CheckError, match="outside"):
        check_monitor(tampered(monitor, show=monitor.show * 3))
    with pytest.raises(CheckError, match="no distribution"):
        check_monitor(tampered(monitor, transition=monitor.transition * 2))
    with pytest.raises(CheckError, match="not finite"):
        check_monitor(tampered(monitor, reward=monitor.reward * np.nan))

    def clumsy(_):
        raise KeyError("oops")

    with pytest.raises(CheckError, match="raised KeyError"):
        check_monitor(
            Monitor(
                states=["a"], actions=["b"], start=[1.0], transition=[[[1.0]]], reward=[[0.0]],
                show=[[1.0]], pair_class=clumsy,
            )
        )  # fmt: skip
    with pytest.raises(CheckError, match="a Monitor expected"):
        check_monitor("ask")
    with pytest.raises(CheckError, match="an MDP expected"):
        check_world("loop")


def test_an_untruthful_simulator_is_caught(monkeypatch):
    honest = envs.MonMDPEnv.step

    def lying(self, action):
        observation, reward, terminated, truncated, info = honest(self, action)
        if info["reward_observed"]:
            info["proxy_reward"] += 1
        return observation, reward, terminated, truncated, info

    monkeypatch.setattr(envs.MonMDPEnv, "step", lying)
    with pytest.raises(CheckError, match="not the true one"):
        check_monmdp(make("loop", "full"))


def test_a_monitor_for_one_world_passes_with_a_note():
    notes = check_monitor(monitors.make("button", button="5,1:DOWN"))
    assert len(notes) == 1
    assert "does not fit every world" in notes[0]


def test_notes():
    walled = worlds.grid_world("start: 0,0\n---\n.#.\n.#.")
    assert "2 states can never be reached, for example '0,2'" in check_world(walled)[0]
    endless = MDP.from_outcomes(
        [(0, 0, 0, 1.0, 0.0, False, False)], name="e", n_states=1, n_actions=1, start=[1.0]
    )
    assert "episodes never end" in check_world(endless)[0]
    assert check_monmdp(make("bottleneck", "ask")) == [
        "not solvable: 25 pairs can never be observed"
    ]
    assert any("biased observation" in n for n in check_monmdp(make("river-swim", "semi-random")))
    assert "nothing is ever shown" in check_monmdp(make("loop", "ask", rho=0))
    assert testing.__all__


@pytest.mark.slow
@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("world", ["hazard", "river-swim", "treasure-hunter"])
@pytest.mark.parametrize("agent", list(agents.registry))
def test_the_agents_pass(agent, world, monitor):
    if agent == "known-monitor" and monitor in READING:
        with pytest.raises(CheckError, match="not offered"):
            check_agent(agent, make(world, monitor))
    else:
        observes = {"log_base": 2} if agent in ("monitored-mbie-eb", "known-monitor") else {}
        assert check_agent(agents.config(agent, **observes), make(world, monitor)) == []


@pytest.mark.parametrize("agent", ["directed-e2", "q-count"])
def test_oracles_pass(agent):
    assert check_agent(agents.config(agent, bottom="oracle"), make("hazard", "ask")) == []


class Coin:
    """An agent in plain Python that plays at random."""

    def __init__(self, shape, rng):
        self.shape, self.rng = shape, rng

    def begin_episode(self):
        pass

    def act(self, observation):
        del observation
        n_ae, n_am = self.shape[2:]
        return {"env": int(self.rng.integers(n_ae)), "mon": int(self.rng.integers(n_am))}

    def update(self, transition):
        pass

    def test_policy(self):
        n_se, n_sm, n_ae, n_am = self.shape
        return np.full((n_se * n_sm, n_ae * n_am), 1 / (n_ae * n_am))


def test_agents_in_plain_python_are_checked():
    problem = make("loop", "ask")
    assert check_agent(Coin, problem) == []

    class Rebinding(Coin):
        """Decides in every episode how it learns."""

        def update(self, transition):
            raise RuntimeError("before the first episode")

        def begin_episode(self):
            super().begin_episode()
            self.update = super().update

    assert check_agent(Rebinding, problem) == []

    class Unseeded(Coin):
        def __init__(self, shape, rng):
            del rng
            super().__init__(shape, np.random.default_rng())

    with pytest.raises(CheckError, match="use only the random stream it is given"):
        check_agent(Unseeded, problem)

    class Quiet(Unseeded):
        """Its policy and all that is counted are the same in every run; what it does is not."""

        def act(self, observation):
            return super().act(observation) | {"mon": 0}

        def test_policy(self):
            return np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)

    with pytest.raises(CheckError, match="use only the random stream it is given"):
        check_agent(Quiet, problem)

    class Global(Coin):
        def __init__(self, shape, rng):
            np.random.seed(0)  # noqa: NPY002
            super().__init__(shape, rng)

    with pytest.raises(CheckError, match=r"it uses random or np\.random"):
        check_agent(Global, problem)

    class Restless(Coin):
        def test_policy(self):
            self.rng.random()
            return super().test_policy()

    with pytest.raises(CheckError, match="how often it is tested changes the run"):
        check_agent(Restless, problem)

    class Short(Coin):
        def test_policy(self):
            return super().test_policy()[1:]

    with pytest.raises(CheckError, match="shape"):
        check_agent(Short, problem)


def test_an_agent_that_learns_otherwise_step_by_step_is_caught(monkeypatch):
    real = envs.MonMDPEnv.step

    def biased(self, action):
        return real(self, {"env": 0, "mon": 0} if action["env"] == 1 else action)

    monkeypatch.setattr(envs.MonMDPEnv, "step", biased)
    with pytest.raises(CheckError, match="q_opt differs between compiled and stepwise"):
        check_agent("monitored-mbie-eb", make("loop", "ask"))
