"""Deep agents learn where they should, and from what was shown alone: baselines, and all."""

from __future__ import annotations

import json
from dataclasses import fields

import gymnasium
import numpy as np
import pytest

import monmdp
from conftest import ROOT, benchmark
from monmdp import agents, testing, train
from monmdp.agents import Transition, View, observations_of, view_of
from monmdp.agents.contract import checked_reward
from monmdp.agents.deep_baselines import (
    DQN,
    RNDDQN,
    DiscretisedFactored,
    DiscretisedMonitored,
    PessimisticDQN,
    RewardModelDQN,
)
from monmdp.agents.deep_monitored import DeepMonitored
from monmdp.envs import AddMonitor, MonMDPEnv
from monmdp.errors import MonMDPError
from monmdp.experiment import Judge
from monmdp.model import MDP, join

NETWORKS = {
    "deep-dqn": DQN,
    "deep-reward-model": RewardModelDQN,
    "deep-pessimistic-ensemble": PessimisticDQN,
    "deep-rnd": RNDDQN,
}
TABLES = {"deep-discretised": DiscretisedFactored, "deep-discretised-mbie-eb": DiscretisedMonitored}
BASELINES = {**NETWORKS, **TABLES}
ALL = {**BASELINES, "deep-monitored": DeepMonitored}
SHORT = {"epsilon_steps": 1000, "hidden": 32, "every": 2}


def made(name, problem, **params):
    return agents.find(name, params=params)(view_of(problem), np.random.default_rng(0))


def walk(agent, problem, steps=200, seed=0):
    """Step an agent through dynamics made up; return what it did."""
    rng, table = np.random.default_rng(seed), observations_of(problem)
    _, n_sm, _, _ = problem.shape
    seen = {"env": table[0], "mon": 0}
    done = []
    agent.begin_episode()
    for _ in range(steps):
        action = dict(agent.act(seen))
        done.append((action["env"], action["mon"]))
        s = int(rng.integers(len(table)))
        after = {"env": table[s], "mon": int(rng.integers(n_sm))}
        paid = float(s == 3) if rng.random() < 0.5 else None
        ends = bool(rng.random() < 0.1)
        agent.update(Transition(seen, action, paid, 0.0, after, ends))
        seen = after
        if ends:
            agent.begin_episode()
    return done


# ---- they learn -----------------------------------------------------------------------------


def best(problem):
    return monmdp.solve(problem, gamma=0.95).episode_return


def test_dqn_learns_where_all_is_shown():
    problem = monmdp.make("loop", "full")
    run = train(problem, agents.find("deep-dqn", params=SHORT), 4000, every=1000)
    assert run.curve["episode_return"][-1] == pytest.approx(best(problem))


@pytest.mark.parametrize("name", ["deep-reward-model", "deep-pessimistic-ensemble", "deep-rnd"])
def test_with_a_model_half_of_the_rewards_are_enough(name):
    problem = monmdp.make("loop", "full-random", rho=0.5)
    run = train(problem, agents.find(name, params=SHORT | {"epsilon_steps": 3000}), 5000, every=500)
    assert max(run.curve["episode_return"][-4:]) == pytest.approx(best(problem))


def test_only_with_a_model_there_is_no_need_to_ask():
    """What is not shown is zero for DQN: it pays to see the reward of the goal each time."""
    problem = monmdp.make("loop", "ask")
    returns = {}
    for name in ("deep-dqn", "deep-reward-model"):
        agent = agents.find(name, params=SHORT | {"epsilon_steps": 4000})
        returns[name] = train(problem, agent, 5000, every=1000).curve["episode_return"][-1]
    assert returns["deep-reward-model"] == pytest.approx(best(problem))
    assert 0 < returns["deep-dqn"] < 0.9 * best(problem)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("monitor", ["ask", "button"])
def test_a_table_of_cells_is_as_good_as_one_of_states(name, monitor):
    problem = monmdp.make("loop", monitor)
    run = train(problem, name, 2000, every=500)
    assert run.curve["episode_return"][-1] == pytest.approx(best(problem))


# ---- what they are told ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_the_contract(name):
    problem = monmdp.make("loop", "ask")
    assert testing.check_agent(name, problem) == []


def paying(sign, shown):
    """A world that pays 1 or takes 1 at its goal, and shows rewards with this chance."""
    mdp = monmdp.worlds.make("loop")
    given = {of.name: getattr(mdp, of.name) for of in fields(mdp)}
    given |= {"reward": sign * mdp.reward, "r_min": -1.0, "r_max": 1.0}
    return join(MDP(**given), monmdp.monitors.make("full-random", rho=shown))


def live(agent, problem, steps):
    """Train an agent in an environment with a stream that does not depend on the problem."""
    env, table = MonMDPEnv(problem), observations_of(problem)

    def seen(observation):
        return {"env": table[observation["env"]], "mon": observation["mon"]}

    observation, _ = env.reset(seed=0)
    agent.begin_episode()
    for _ in range(steps):
        action = agent.act(seen(observation))
        following, _, ends, cut, info = env.step(action)
        agent.update(Transition.from_step(seen(observation), action, seen(following), ends, info))
        observation = following
        if ends or cut:
            observation, _ = env.reset()
            agent.begin_episode()
    return agent.test_policy(table)


@pytest.mark.parametrize("name", ALL)
def test_rewards_that_are_not_shown_change_nothing(name):
    params = SHORT if name in NETWORKS else {}

    def policies(shown):
        problems = [paying(sign, shown) for sign in (1, -1)]
        return [live(made(name, of, **params), of, 1500) for of in problems]

    assert np.array_equal(*policies(shown=0))
    assert not np.array_equal(*policies(shown=1))


@pytest.mark.parametrize("name", ALL)
def test_a_policy_to_test_changes_nothing(name):
    problem = monmdp.make("loop", "ask")
    table = observations_of(problem)
    plain, tested = (made(name, problem) for _ in range(2))
    for agent in (plain, tested):
        walk(agent, problem, steps=150)
    before = tested.rng.bit_generator.state
    first = tested.test_policy(table)
    assert np.array_equal(first, tested.test_policy(table))
    assert tested.rng.bit_generator.state == before
    assert np.allclose(first.sum(axis=1), 1)
    assert walk(plain, problem, seed=1) == walk(tested, problem, seed=1)


# ---- their parts ----------------------------------------------------------------------------

OTHER = {
    "gamma": 0.5, "epsilon": 0.5, "epsilon_steps": 400, "hidden": 16, "lr": 0.01, "eps": 0.01,
    "batch": 8, "every": 3, "refresh": 7, "n_step": 3, "warmup": 60, "reward_lr": 0.01,
    "model_every": 5, "members": 3, "kappa": 0.0, "prior": 0.0, "bonus": 3.0, "rnd_lr": 0.01,
}  # fmt: skip


def said(agent, problem):
    """All that an agent has learnt, in a list of numbers, and what it did."""
    done = walk(agent, problem, steps=400)
    inputs = agent.met.inputs[: len(agent.met)]
    drive = agent.drive(np.arange(2.0 * agent.streams).reshape(agent.streams, 2))
    return done, drive.tolist(), agent.say(agent.net, inputs).tolist()


@pytest.mark.parametrize("name", NETWORKS)
def test_each_option_does_something(name):
    problem = monmdp.make("loop", "ask")
    options = [of.name for of in fields(NETWORKS[name])][2:]
    assert set(options) <= set(OTHER)
    small = {"epsilon_steps": 200, "hidden": 8}
    plain = said(made(name, problem, **small), problem)
    assert plain == said(made(name, problem, **small), problem)
    for option in options:
        other = made(name, problem, **small | {option: OTHER[option]})
        assert said(other, problem) != plain, option


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"gamma": 1.0}, "gamma"),
        ({"warmup": 0}, "warmup must be a whole number of at least 1"),
        ({"hidden": 2.5}, "hidden must be a whole number"),
        ({"lr": 0}, r"lr must lie in \(0, inf\)"),
        ({"lr": "fast"}, "lr must be a number"),
        ({"epsilon": 1.5}, r"epsilon must lie in \[0, 1\]"),
        ({"members": 1}, "members must be a whole number of at least 2"),
        ({"bits": 0}, "bits must be a whole number of at least 1"),
        ({"average": 1.0}, r"average must lie in \[0, 1\)"),
        ({"counts": "coins"}, "counts='coins'.*coin-flips"),
    ],
)
def test_wrong_parameters_are_refused(name, wrong, told):
    if set(wrong) <= {of.name for of in fields(ALL[name])}:
        with pytest.raises(MonMDPError, match=told):
            made(name, monmdp.make("loop", "ask"), **wrong)


@pytest.mark.parametrize("name", ALL)
def test_what_is_seen_is_checked(name):
    problem = monmdp.make("loop", "ask")
    agent = made(name, problem)
    for wrong, told in (
        (np.zeros(8, dtype=np.uint8), r"arrays \(9,\) of uint8, got \(8,\) of uint8"),
        (np.zeros(9), r"got \(9,\) of float64"),
        (3, "got 3"),
    ):
        with pytest.raises(MonMDPError, match=told):
            agent.act({"env": wrong, "mon": 0})
    view = view_of(problem)
    real = ALL[name](view._replace(dtype=np.dtype(np.float64)), np.random.default_rng(0))
    with pytest.raises(MonMDPError, match="not finite"):
        real.act({"env": np.full(9, np.nan), "mon": 0})
    for wrong, told in ((np.zeros(9), "an observation is .* got"), (None, "got None")):
        with pytest.raises(MonMDPError, match=told):
            agent.act(wrong)
    for mon in (-1, 1, 0.5, None):
        with pytest.raises(MonMDPError, match="sᵐ"):
            agent.act({"env": np.zeros(9, dtype=np.uint8), "mon": mon})
    for wrong, told in (
        ({"dtype": "fast"}, "no arrays .* of 'fast'"),
        ({"observation": (-1,)}, "no arrays"),
        ({"dtype": np.dtype("U3")}, "must be numbers"),
        ({"n_monitor_states": 0}, "n_monitor_states must be"),
        ({"r_max": np.nan}, "r_max must be finite"),
    ):
        with pytest.raises(MonMDPError, match=told):
            ALL[name](view._replace(**wrong), np.random.default_rng(0))
    with pytest.raises(MonMDPError, match=r"r_min = 2.* is above r_max = 1"):
        ALL[name](view._replace(r_min=2.0, r_max=1.0), np.random.default_rng(0))
    with pytest.raises(MonMDPError, match="rng must be a NumPy generator, got 3"):
        ALL[name](view, 3)
    with pytest.raises(MonMDPError, match="is made from a View"):
        ALL[name](problem.shape, np.random.default_rng(0))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"reward": 1.5}, "reward 1.5 is above r_max = 1"),
        ({"reward": -3.0}, "reward -3 is below r_min"),
        ({"reward": np.nan}, "reward must be finite"),
        ({"monitor_reward": np.inf}, "monitor_reward must be finite"),
        ({"action": {"env": 5, "mon": 0}}, "is outside the spaces"),
        ({"action": 3}, "an action is"),
        ({"next_observation": {"env": np.zeros(9, dtype=np.uint8), "mon": 4}}, "sᵐ = 4"),
    ],
)
def test_what_is_learnt_from_is_checked(name, wrong, told):
    """One wrong number in a network would be in all that it says from then on."""
    problem = monmdp.make("loop", "ask")
    agent, seen = made(name, problem), {"env": np.zeros(9, dtype=np.uint8), "mon": 0}
    right = Transition(seen, {"env": 0, "mon": 0}, 0.5, 0.0, seen, False)
    with pytest.raises(MonMDPError, match=told):
        agent.update(right._replace(**wrong))
    assert agent.steps == 0
    agent.update(right)
    assert agent.steps == 1


def test_returns_of_several_steps():
    """Against sums by hand, with a target network that says 0."""
    problem = monmdp.make("loop", "ask")
    params = {"n_step": 3, "warmup": 10**9, "gamma": 0.5}
    view = view_of(problem)._replace(r_max=32.0)
    agent = DQN(view, np.random.default_rng(0), **params)
    table = observations_of(problem)
    rewards, ends, firsts = [1, 2, 4, 8, 16, 32], [2], [0, 3]
    for i, reward in enumerate(rewards):
        if i in firsts:
            agent.begin_episode()
        seen = {"env": table[i], "mon": 0}
        agent.update(Transition(seen, {"env": 0, "mon": 0}, reward, 0.0, seen, i in ends))
    expected = [1 + 1 + 1, 2 + 2, 4, 8 + 8 + 8, 16 + 16, 32]
    assert agent.returns(np.arange(6))[:, 0] * agent.unit == pytest.approx(expected)


def test_a_pessimist_fears_what_it_has_not_seen():
    problem = monmdp.make("hazard", "ask")
    agent = made("deep-pessimistic-ensemble", problem, kappa=2.0)
    table = observations_of(problem)
    known, action = {"env": table[0], "mon": 0}, {"env": 0, "mon": 0}
    for _ in range(1000):
        agent.update(Transition(known, action, 0.5, 0.0, known, False))
    steps = np.zeros(2, dtype=agent.memory.dtype)
    steps["node"] = agent.met.number(table[0]), agent.met.number(table[5])
    seen, unseen = agent.guess(steps)
    assert seen == pytest.approx(0.5, abs=0.2)
    assert unseen < seen - 0.2 * (agent.r_max - agent.r_min)
    assert unseen >= agent.r_min


def test_the_new_is_more_surprising():
    problem = monmdp.make("loop", "ask")
    agent = made("deep-rnd", problem, rnd_lr=1e-3)
    table = observations_of(problem)
    known = {"env": table[0], "mon": 0}
    for _ in range(600):
        agent.update(Transition(known, {"env": 0, "mon": 0}, None, 0.0, known, False))
    steps = np.zeros(2, dtype=agent.memory.dtype)
    steps["next_node"] = agent.met.number(table[0]), agent.met.number(table[5])
    old, new = agent.surprise(steps)
    assert new > 10 * old


def test_cells_are_shared_when_there_are_no_more():
    problem = monmdp.make("loop", "ask")
    few, many = made("deep-discretised", problem, cells=4), made("deep-discretised", problem)
    for agent in (few, many):
        walk(agent, problem, steps=400)
    assert len(few.cell_of_code) == 4
    assert set(few.cell_of) == set(range(4))
    assert len(set(many.cell_of)) == len(many.cell_of) == 9
    coarse = made("deep-discretised", problem, bits=1)
    walk(coarse, problem, steps=400)
    assert set(coarse.cell_of) <= {0, 1}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_begins_its_episodes_where_they_began(name, monkeypatch):
    """Where observations are real numbers, also those before it was known how large these are."""
    problem = monmdp.make("loop", "ask")
    view = view_of(problem)._replace(dtype=np.dtype(np.float64))
    agent = BASELINES[name](view, np.random.default_rng(0), warmup=10)
    begun, updates = [], []
    monkeypatch.setattr(agent.agent, "begin_episode", lambda: begun.append(len(updates)) or False)
    monkeypatch.setattr(agent.agent, "update", updates.append)
    table = observations_of(problem).astype(float)
    for step in range(20):
        if step % 4 == 0:
            agent.begin_episode()
        seen = {"env": table[step % 9], "mon": 0}
        agent.update(Transition(seen, {"env": 0, "mon": 0}, None, 0.0, seen, step % 4 == 3))
    assert len(updates) == 20
    assert begun == [0, 4, 8, 12, 16]


@pytest.mark.parametrize("name", TABLES)
def test_the_policy_of_a_table_is_made_once(name, monkeypatch):
    """Until more is learnt: a loop of one's own asks for one observation at a time."""
    problem, asked = monmdp.make("loop", "ask"), []
    agent, table = made(name, problem), observations_of(problem)
    walk(agent, problem, steps=50)
    policy_of_table = agent.agent.test_policy
    monkeypatch.setattr(
        agent.agent, "test_policy", lambda: asked.append(agent.steps) or policy_of_table()
    )
    for steps in (1, 1, 1):
        walk(agent, problem, steps)
        for _ in range(3):
            agent.test_policy(table)
    assert asked == [51, 52, 53]


def test_parameters_of_a_table_reach_it():
    problem = monmdp.make("loop", "ask")
    own = {"gamma": 0.9, "beta_obs": 0.1, "beta_kl": 0.3, "sweeps": 7, "log_base": 1.5}
    config = made("deep-discretised-mbie-eb", problem, **own, q_opt_init=20, beta=0.2).tabular()
    assert config.hyper_parameters().items() >= {
        **own, "q_opt_init": 20, "beta": 0.2, "beta_e": 0.2, "beta_m": 0.2,
    }.items()  # fmt: skip
    own = {"gamma": 0.9, "caution": 0.5, "give_up": 3.0, "net": 5.0, "effort": 77}
    config = made("deep-discretised", problem, **own).tabular()
    assert config.hyper_parameters().items() >= own.items()
    with pytest.raises(MonMDPError, match=r"log_base must lie in \(1, inf\)"):
        made("deep-discretised-mbie-eb", problem, log_base=1.0)


def test_cells_of_real_numbers_have_the_thresholds_that_were_asked_for():
    view = View((2,), np.dtype(np.float32), 1, 2, 2, 0.0, 1.0)
    for far in (0.0, 1.0):
        agent = BASELINES["deep-discretised"](view, np.random.default_rng(0), thresholds=far)
        assert agent.signs.thresholds.any() == bool(far)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_target_network_begins_like_the_other(name):
    agent = made(name, monmdp.make("loop", "ask"))
    np.testing.assert_allclose(agent.net.flat, agent.target.flat, atol=1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_judge_is_told_values_in_units_of_reward(name):
    problem = monmdp.make("minigrid-empty", "button")
    view = view_of(problem)._replace(r_min=-10.0)  # and so the unit is 10
    agent = BASELINES[name](view, np.random.default_rng(0), **SHORT)
    walk(agent, problem, steps=300)
    told = Judge(problem, 0.95)(agent, agent.values)
    inputs = agent.met.encode(observations_of(problem)[4])[None]
    of_net = 10 * agent.say(agent.target, inputs)[0, 0].max(axis=1)
    assert told.own_values.reshape(-1, 2)[4] == pytest.approx(of_net)
    assert np.ptp(of_net) > 0


@pytest.mark.parametrize("name", ALL)
def test_there_is_room_for_every_new_observation(name):
    """Also where an episode begins with it, when what was met fills the memory to the last row."""
    view = View((1,), np.dtype(np.int64), 1, 2, 2, 0.0, 1.0)
    greedy = {"epsilon": 0.0, "epsilon_steps": 1} if name in NETWORKS else {}
    agent = ALL[name](view, np.random.default_rng(0), warmup=1, **greedy)
    agent.begin_episode()
    for i in range(300):
        seen = {"env": np.array([i]), "mon": 0}
        action = agent.act(seen)
        if i == 0:
            agent.update(Transition(seen, dict(action), 0.5, 0.0, seen, False))
    assert len(agent.met) == 300


@pytest.mark.parametrize("name", ALL)
def test_an_environment_may_use_its_array_again(name):
    problem = monmdp.make("loop", "ask")
    view = view_of(problem)._replace(dtype=np.dtype(np.float64))
    agent, shared = ALL[name](view, np.random.default_rng(0), warmup=9), np.zeros((2, 9))
    for step, row in enumerate(observations_of(problem)):
        shared[:] = row, np.roll(row, 1)
        here, after = ({"env": of, "mon": 0} for of in shared)
        agent.update(Transition(here, {"env": 0, "mon": 0}, None, 0.0, after, step == 8))
    assert len(agent.met) == 9
    assert agent.met.encode.mean == pytest.approx(1 / 9)


def test_half_a_line_of_a_stopped_benchmark_is_taken_off(tmp_path):
    resuming, path = benchmark("resuming"), tmp_path / "new" / "runs.jsonl"
    assert resuming.kept(path) == []
    path.write_text('{"run": 1}\n{"run": 2}\n{"ru', encoding="utf-8")
    assert resuming.kept(path) == [{"run": 1}, {"run": 2}]
    assert path.read_text(encoding="utf-8") == '{"run": 1}\n{"run": 2}\n'
    list(resuming.done(path, lambda n: {"run": n}, [(3,)], jobs=1))
    assert resuming.kept(path)[-1] == {"run": 3}


def test_rewards_at_a_bound_may_be_rounded():
    for value, low, high in ((0.1, 0.0, 0.1), (-0.1, -0.1, 0.0), (100.1, 0.0, 100.1)):
        rounded = np.nextafter(np.float32(value), np.float32(np.sign(value) * np.inf))
        assert checked_reward(float(rounded), low, high) == pytest.approx(value)
        with pytest.raises(MonMDPError, match=r"is (above|below) r_m"):
            checked_reward(value * 1.0001, low, high)


@pytest.mark.parametrize(("file", "n"), [("deep_tuning", 12), ("control_tuning", 4)])
def test_the_settings_to_try_are_settings(file, n):
    tried = json.loads((ROOT / "benchmarks" / f"{file}.json").read_text("utf-8"))
    assert tried.keys() == {"deep-monitored", *BASELINES}
    for name, settings in tried.items():
        assert len(settings) == len({json.dumps(of, sort_keys=True) for of in settings}) == n
        for params in settings:
            agents.find(name, params=params)


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_checked_before_anything_is_trained(name):
    with pytest.raises(MonMDPError, match="warmup must be a whole number of at least 1, got 0"):
        agents.find(name, params={"warmup": 0})
    assert agents.find(name, params={"warmup": 7.0}).keywords == {"warmup": 7}


def test_the_view_of_an_environment():
    env = AddMonitor(gymnasium.make("CartPole-v1"), "n-experts", n=3)
    view = view_of(env, r_min=0, r_max=1)
    assert view == View((4,), np.dtype(np.float32), 3, 2, 4, 0.0, 1.0)
    agent = ALL["deep-monitored"](view, np.random.default_rng(0))
    observation, _ = env.reset(seed=0)
    assert set(agent.act(observation)) == {"env", "mon"}
    with pytest.raises(MonMDPError, match="give r_min=… and r_max=…, the least and the largest"):
        view_of(env)
    with pytest.raises(MonMDPError, match="AddMonitor adds one"):
        view_of(gymnasium.make("CartPole-v1"), 0, 1)
    with pytest.raises(MonMDPError, match="must be arrays"):
        view_of(MonMDPEnv(monmdp.make("loop", "ask")), 0, 1)
