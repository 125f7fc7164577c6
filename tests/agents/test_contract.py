"""Subclasses of the agents: what they override runs, compiled, or is refused."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_monitored_mbie_eb import counts_of

import monmdp
from monmdp import agents, experiment, testing
from monmdp.agents import KINDS, UCB, AgentConfig, KnownMonitor, MonitoredMBIEEB, contract
from monmdp.compiling import compilable, compiled, implementation
from monmdp.errors import MonMDPError
from monmdp.experiment import loop
from monmdp.experiment.provenance import kernel_hash
from oracles.monitored_mbie_eb import MonitoredMBIEEBOracle

SLACK = 1.5


class First(MonitoredMBIEEB):
    """Takes the first action, learns nothing, never observes."""

    def begin_episode(agent, rng):
        agent.episodes[0] += 1
        return False

    def act(agent, s, rng):
        return 0

    def update(agent, step):
        agent.counts.n[step.s, step.a] += 1


class Bolder(MonitoredMBIEEB):
    """Another bonus, 1/n."""

    def bonus(agent, g, n):
        return 1.0 / n


class Boldest(Bolder):
    """And another growth, on top of it."""

    @staticmethod
    def confidence(agent, n):
        return SLACK * plain_confidence(agent, n)


plain_confidence = compilable(MonitoredMBIEEB.confidence)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scaled(MonitoredMBIEEB):
    """A variant with a hyper-parameter of its own."""

    scale: float = 2.0
    """of the bonus"""

    def bonus(agent, g, n):
        return agent.parameters.scale * (g / n) ** 0.5


# ---- what is overridden runs --------------------------------------------------------------------


def test_verbs_that_are_overridden_run():
    problem = monmdp.make("hazard", "ask")
    run = monmdp.train(problem, First, 200, snapshots=[200])
    n = run.snapshots["n"][0]
    assert n[:, 0].sum() == n.sum() == 200
    assert run.curve["observe_episodes"][-1] == 0
    assert testing.check_agent(First, problem) == []
    ours = monmdp.train(problem, MonitoredMBIEEB(), 200)
    assert ours.curve["observe_episodes"][-1] > 0


class BolderOracle(MonitoredMBIEEBOracle):
    def bonus(self, g, n):
        return 1 / n


@pytest.mark.parametrize(("world", "monitor"), [("loop", "ask"), ("hazard", "button")])
def test_a_variant_is_what_a_plain_oracle_with_that_bonus_is(world, monitor):
    problem = monmdp.make(world, monitor, time_limit=15)
    config = Bolder(beta=0.1, beta_e=0.2, beta_m=0.3, beta_obs=0.1, log_base=1.5)
    oracle = BolderOracle(problem.shape, problem.mdp.r_min, **config.hyper_parameters())
    streams = experiment.streams(problem, 0)
    agent = agents.make(config, problem, seed=streams.agent)
    env, over, steps = monmdp.envs.MonMDPEnv(problem), True, 300
    for t in range(steps):
        if over:
            assert agent.begin_episode() == oracle.begin_episode()
            np.testing.assert_allclose(agent.state.q_opt, oracle.q_opt, rtol=0, atol=1e-10)
            np.testing.assert_allclose(agent.state.q_obs, oracle.q_obs, rtol=0, atol=1e-10)
            here, _ = env.reset(seed=streams.environment) if t == 0 else env.reset()
        action = agent.act(here)
        there, _, terminated, truncated, info = env.step(action)
        moved = agents.Transition.from_step(here, action, there, terminated, info)
        agent.update(moved)
        oracle.update(
            here["env"], here["mon"], action["env"], action["mon"], moved.reward,
            moved.monitor_reward, there["env"], there["mon"], terminated,
        )  # fmt: skip
        here, over = there, terminated or truncated
    assert counts_of(agent.state)["n"] == dict(+oracle.n_joint)
    run = monmdp.train(problem, config, steps, snapshots=[steps])
    for name, values in config.snapshot(agent.state, problem.shape).items():
        np.testing.assert_array_equal(run.snapshots[name][0], values, err_msg=name)
    ours = monmdp.train(
        problem, MonitoredMBIEEB(**config.hyper_parameters()), steps, snapshots=[steps]
    )
    assert not np.array_equal(ours.snapshots["q_opt"], run.snapshots["q_opt"])


def test_a_variant_runs_compiled_as_a_kind_of_its_own():
    problem = monmdp.make("loop", "ask")
    monmdp.train(problem, Bolder, 10)
    assert Bolder.State is not MonitoredMBIEEB.State
    assert issubclass(Bolder.State, MonitoredMBIEEB.State)
    (signature,) = compiled(loop.run, Bolder.State).signatures
    assert signature[1].instance_class is Bolder.State
    assert implementation(MonitoredMBIEEB.parts[1], Bolder.State) is Bolder.bonus
    # what nothing was changed in shares the compiled code
    assert UCB.State is agents.QCount.State


def test_variants_of_variants_and_what_they_call():
    problem = monmdp.make("hazard", "ask")
    for kind in (Bolder, Boldest, Scaled):
        assert testing.check_agent(kind(), problem) == []
    q = {
        kind: monmdp.train(problem, kind(beta=0.1), 300, snapshots=[300]).snapshots["q_opt"]
        for kind in (MonitoredMBIEEB, Bolder, Boldest)
    }
    assert not np.array_equal(q[MonitoredMBIEEB], q[Bolder])
    # in Boldest the growth makes no difference to a bonus that does not look at it, but for KL-UCB
    assert Boldest.bonus is Bolder.bonus
    same = monmdp.train(problem, Scaled(scale=1.0), 300, seed=2)
    ours = monmdp.train(problem, MonitoredMBIEEB(), 300, seed=2)
    np.testing.assert_array_equal(same.policy.probability, ours.policy.probability)
    assert Scaled().hyper_parameters()["scale"] == 2.0
    assert "scale" in Scaled.State.Parameters._fields


def test_the_run_of_a_variant_says_whose_code_it_is():
    problem = monmdp.make("loop", "ask")
    run = monmdp.train(problem, Bolder, 100)
    assert run.settings["agent"] == "test_contract:Bolder"
    assert run.settings["code"] is not None
    assert len({kernel_hash(kind()) for kind in (MonitoredMBIEEB, Bolder, Boldest)}) == 3


VARIANT = """
from monmdp.agents import MonitoredMBIEEB

class Variant(MonitoredMBIEEB):
    def bonus(agent, g, n):
        return {bonus}
"""
USE = """
import monmdp
run = monmdp.train(monmdp.make("hazard", "ask"), "variant:Variant", 300, snapshots=1)
print(run.snapshots["q_opt"].sum())
"""


@pytest.mark.slow
def test_a_variant_is_cached_and_an_edited_one_is_compiled_anew(tmp_path):
    def python():
        env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        words = [sys.executable, "-c", USE]
        return subprocess.check_output(words, text=True, env=env, cwd=tmp_path).strip()

    def kept():
        return sorted(path.name for path in (tmp_path / "cache").rglob("loop.run*.nbc"))

    file = tmp_path / "variant.py"
    file.write_text(VARIANT.format(bonus="1.0 / n"))
    first, cached = python(), kept()
    assert len(cached) == 1
    assert python() == first
    assert kept() == cached
    file.write_text(VARIANT.format(bonus="100.0 / n"))
    assert python() != first
    assert len(kept()) == 2


# ---- what could never run is refused ------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"act": lambda self, observation: {}}, r"def act\(agent, s, rng\), got def act\(self"),
        ({"update": lambda self, transition: None}, r"def update\(agent, step\)"),
        ({"begin_episode": lambda self: False}, r"def begin_episode\(agent, rng\)"),
        ({"act": lambda agent, s: 0}, "plain Python is a class of its own"),
        ({"bonus": lambda agent, n: 1.0}, r"def bonus\(agent, g, n\), got def bonus\(agent, n\)"),
        ({"bonus": lambda agent, *counts: 1.0}, r"def bonus\(agent, g, n\)"),
        ({"bonus": 3.0}, "got a float"),
        ({"act": property(lambda self: 0)}, "got a property"),
        ({"bonnus": lambda agent, g, n: 1.0}, "Mine.bonnus is no .*did you mean 'bonus'"),
        ({"updates": lambda self, step: None}, "Mine.updates is no .*did you mean 'update'"),
        ({"_models": lambda agent: None}, "Mine._models is no verb or part"),
    ],
)
def test_overrides_that_would_never_run_are_refused(body, message):
    with pytest.raises(MonMDPError, match=message):
        type("Mine", (MonitoredMBIEEB,), body)


def test_overrides_that_come_by_another_way_are_refused(monkeypatch):
    class Mixin:
        def act(self, observation):
            return {"env": 0, "mon": 0}

    with pytest.raises(MonMDPError, match=r"def act\(agent, s, rng\)"):
        type("Mixed", (Mixin, MonitoredMBIEEB), {})

    problem = monmdp.make("loop", "ask")
    monkeypatch.setattr(MonitoredMBIEEB, "update", staticmethod(lambda agent, step: None))
    with pytest.raises(MonMDPError, match="was replaced after the class was made"):
        monmdp.train(problem, MonitoredMBIEEB(), 10)
    with pytest.raises(testing.CheckError, match="was replaced"):
        testing.check_agent(MonitoredMBIEEB(), problem)


def test_a_field_that_is_none_is_refused():
    class Undecorated(MonitoredMBIEEB):
        scale: float = 2.0

    with pytest.raises(MonMDPError, match=r"scale would be ignored; write @dataclass"):
        Undecorated()


@pytest.mark.slow
def test_what_does_not_compile_is_found_by_the_check():
    class Broken(MonitoredMBIEEB):
        def bonus(agent, g, n):
            return {"no": "number"}

    with pytest.raises(testing.CheckError, match="it does not compile"):
        testing.check_agent(Broken(), monmdp.make("loop", "ask"))


@pytest.mark.slow
def test_why_it_does_not_compile_is_said_in_a_line():
    class Misspelt(MonitoredMBIEEB):
        def bonus(agent, g, n):
            return g / n * agent.parameters.betta

    class Divides(MonitoredMBIEEB):
        def bonus(agent, g, n):
            return g / "n"

    class Makes(MonitoredMBIEEB):
        def bonus(agent, g, n):
            return np.array([g / n, 0.0]).max()

    here = r"\(File .*test_contract.py\", line \d+\)$"
    for agent, message in (
        (Misspelt(), f"Unknown attribute 'betta' of type Parameters {here}"),
        (Divides(), rf"found for signature: truediv\(float64, .*\) {here}"),
        (Makes(planner="incremental"), f"it makes an array, but .* {here}"),
    ):
        with pytest.raises(MonMDPError, match=message):
            monmdp.train(monmdp.make("loop", "ask"), agent, 10)


def test_methods_of_the_configuration_and_helpers_are_nobodys_business():
    class Fine(MonitoredMBIEEB):
        def check(self):
            super().check()

        def describe(self):
            return self._words()

        def _words(self):
            return "fine"

    assert Fine().describe() == "fine"
    assert Fine.State is MonitoredMBIEEB.State
    monmdp.train(monmdp.make("loop", "ask"), Fine(), 10)


def test_a_state_needs_all_verbs_and_an_oracle_reveal():
    with pytest.raises(MonMDPError, match="has a State, but no begin_episode and no act"):
        type("Half", (AgentConfig,), {"name": "half", "State": MonitoredMBIEEB.State})

    class Claims(MonitoredMBIEEB):
        @property
        def sees_hidden_rewards(self):
            return True

    with pytest.raises(MonMDPError, match="but has no reveal"):
        monmdp.train(monmdp.make("loop", "ask"), Claims(), 10)


# ---- parameters, bounds, facts ------------------------------------------------------------------


def test_parameters_are_derived_from_the_fields():
    problem = monmdp.make("loop", "ask")
    config = KnownMonitor(growth="none", schedule="released", sweeps=7)
    p = config.new_state(problem.shape, -1.0, 2.0, problem).parameters
    assert p._fields == (*config.hyper_parameters(), "r_min", "r_max")
    assert (p.growth, p.schedule, p.sweeps, p.r_min, p.r_max) == (2, 1, 7, -1.0, 2.0)
    assert np.isnan(p.kappa_star)
    p = UCB(epsilon=0.0).new_state(problem.shape).parameters
    assert p.anneal_steps == 0
    assert np.isnan(p.r_min)


def test_bounds_come_from_the_problem_or_are_stated():
    problem = monmdp.make("hazard", "ask")
    for name, kind in KINDS.items():
        agent = agents.make(agents.config(name).for_training(10), problem)
        assert agent.bounds == {"r_min": -10.0, "r_max": 1.0}
        missing = dict.fromkeys(("r_min", "r_max"), 0.0)
        config = kind().for_training(10)
        for bound in kind.needs:
            with pytest.raises(MonMDPError, match=f"agent '{name}' needs {bound}=…"):
                config.new_state(problem.shape, **missing | {bound: None}, model=problem)
    here = {"env": 0, "mon": 0}
    for reward, message in ((-11.0, "below r_min = -10"), (1.5, "above r_max = 1")):
        with pytest.raises(MonMDPError, match=message):
            agent.update(agents.Transition(here, here, reward, 0.0, here, False))


def test_every_agent_states_what_belongs_to_it():
    for name, kind in KINDS.items():
        assert kind.name == name
        assert agents.COLOURS[name] == (kind.colour, kind.line)
        assert len(kind.colour) == 7
        assert set(kind.needs) <= set(contract.BOUNDS)
        assert set(kind.figures) <= set(agents.FIGURES)
        assert all(cost >= 0 for cost in kind.microseconds)


# ---- finding an agent ---------------------------------------------------------------------------


class Plain:
    def __init__(self, shape, rng, size: float = 1.0):
        self.shape = shape
        self.size = size

    def begin_episode(self):
        pass

    def act(self, observation):
        return {"env": 0, "mon": 0}

    def update(self, transition):
        pass

    def test_policy(self):
        n_se, n_sm, n_ae, n_am = self.shape
        return np.full((n_se * n_sm, n_ae * n_am), 1 / (n_ae * n_am))


def test_all_ways_to_name_an_agent(tmp_path, monkeypatch):
    problem = monmdp.make("river-swim", "full")
    assert agents.find("monitored-mbie-eb").q_opt_init == 1.0
    assert agents.find("monitored-mbie-eb", problem).q_opt_init == 30.0
    assert agents.find("monitored-mbie-eb", problem, {"q_opt_init": "2"}).q_opt_init == 2.0
    assert agents.find(Bolder) == Bolder()
    assert agents.find(Bolder, params={"beta": 1.0}).beta == 1.0
    assert agents.find(Bolder(beta=1.0), params={"beta_e": 2.0}) == Bolder(beta=1.0, beta_e=2.0)
    assert agents.find(Plain) is Plain
    assert agents.find(Plain, params={"size": "3"}).keywords == {"size": 3.0}
    made = Plain(problem.shape, None)
    assert agents.find(made) is made
    Path("mine.py").write_text(VARIANT.format(bonus="1.0") + "timid = Variant(beta=1e-5)\n")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    assert agents.find("mine:Variant", problem).name == "monitored-mbie-eb"
    assert agents.find("mine:timid").beta == 1e-5
    assert monmdp.train(problem, "mine:timid", 50).settings["agent"] == "mine:Variant"
    assert list(agents.parameters_of(Plain).parameters) == ["size"]
    assert "beta" in agents.parameters_of("mine:timid").parameters


@pytest.mark.parametrize(
    ("agent", "params", "message"),
    [
        ("monitored-mbie", {}, "did you mean 'monitored-mbie-eb'"),
        ("monitored-mbie-eb", {"bta": 1}, "did you mean 'beta'"),
        (Bolder, {"bta": 1}, "did you mean 'beta'"),
        (Plain, {"sise": 1}, "did you mean 'size'"),
        (3, {}, "an agent is a name, module:object"),
        (lambda shape: None, {}, r"cannot be called with \(shape, rng\)"),
        ("test_contract:SLACK", {}, "an agent is a name"),
    ],
)
def test_what_is_no_agent_is_named(agent, params, message):
    with pytest.raises(MonMDPError, match=message):
        agents.find(agent, params=params)
