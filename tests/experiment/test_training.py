"""Training: one loop in two guises, evaluation, what is asked for, policies, compiling."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import monmdp
from conftest import WORLDS, dense_policy_values, random_monmdp, seeds, worst_by_hand
from monmdp import MonMDPError, agents, compiling, experiment, train
from monmdp.agents import contract
from monmdp.compiling import compiled
from monmdp.envs import MonMDPEnv
from monmdp.experiment import Policy, loop, training
from monmdp.experiment.evaluation import SCORES, chances, evaluate, writable_tables
from monmdp.experiment.policy import checked_evaluation
from monmdp.experiment.training import StoppedError, carry_out, prepare
from monmdp.model.arrays import FloatArray
from monmdp.model.monmdp import Shape
from monmdp.results import load_policy
from monmdp.results.evidence import aggregate

AGENTS = list(agents.registry)
A_TABLE, A_TUPLE = np.array([1.0, 2.0]), (1,)


class Wanderer:
    """A user's agent in plain Python: it wanders, and remembers what it was told."""

    def __init__(self, shape, rng):
        self.shape, self.rng = shape, rng
        self.seen = []
        self.begun = 0

    def begin_episode(self):
        self.begun += 1
        return self.begun % 2 == 1

    def act(self, observation):
        assert set(observation) == {"env", "mon"}
        n_ae, n_am = self.shape.n_env_actions, self.shape.n_monitor_actions
        return {"env": int(self.rng.integers(n_ae)), "mon": int(self.rng.integers(n_am))}

    def update(self, transition):
        self.seen.append(transition)

    def test_policy(self):
        n_se, n_sm, n_ae, n_am = self.shape
        return np.full((n_se * n_sm, n_ae * n_am), 1 / (n_ae * n_am))


# ---- one loop -----------------------------------------------------------------------------------


def busy(name, steps):
    """An agent that does all it can do within a few steps."""
    observes = {"log_base": 1.5} if name in ("monitored-mbie-eb", "known-monitor") else {}
    return agents.config(name, **observes).for_training(steps)


def arrays(state):
    """All arrays in a state."""
    for value in state:
        if isinstance(value, tuple):
            yield from arrays(value)
        elif isinstance(value, np.ndarray):
            yield value


@pytest.mark.parametrize("name", AGENTS)
def test_the_loop_does_the_same_compiled_and_as_plain_python(name):
    problem = monmdp.make("hazard", "button", rho=0.5)
    config, results = busy(name, 400), []

    def new_state():
        return config.new_state(problem.shape, problem.mdp.r_min, problem.mdp.r_max, problem)

    for go in (compiled(loop.run, type(new_state())), loop.run):
        state = new_state()
        clock = np.zeros(loop.CLOCK, dtype=np.int64)
        clock[1] = -1
        policies = np.zeros((8, problem.n_states, problem.n_actions))
        counters = np.zeros((8, len(loop.COUNTERS)), dtype=np.int64)
        seen = np.zeros(problem.mdp.n_pairs, dtype=bool)
        ledger = loop.open_ledger(0.99, problem.mdp.r_min, problem.mdp.r_max)
        entries = np.zeros((8, len(loop.LEDGER)))
        rngs = [np.random.default_rng(i) for i in range(2)]
        pulse = np.zeros(loop.PULSE, dtype=np.int64)
        for begin, stop in ((0, 123), (3, 400)):
            go(
                writable_tables(problem), state, clock, stop, 50, 50, policies[begin:],
                counters[begin:], ledger, entries[begin:], seen, *rngs, pulse,
            )  # fmt: skip
        drawn = [rng.bit_generator.state["state"]["state"] for rng in rngs]
        if hasattr(state, "moves"):  # Python's lgamma is not that of C, to the last bits
            state.moves.score[:] = np.maximum(state.moves.score, -1e9).round(6)
        if hasattr(state, "scratch"):  # what is left there means nothing
            state = state._replace(scratch=())
        learnt = [array for array in arrays(state) if array.dtype.kind in "fi"]
        kept = clock, policies, counters, *ledger, entries, seen, pulse
        results.append((*learnt, *kept, drawn))
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", AGENTS)
def test_evaluation_never_changes_training(name):
    problem, ends = monmdp.make("two-room-3x5", "ask"), []
    for options in (
        {},
        {"every": 7},
        {"evaluation": "monte-carlo"},
        {"evaluation": "monte-carlo", "episodes": 3, "every": 13},
        {"snapshots": [1, 500, 999, 1000]},
    ):
        snapshots = options.pop("snapshots", [1000])
        run = train(problem, name, 1000, 4, snapshots=snapshots, **options)
        ends.append({name: values[-1] for name, values in run.snapshots.items()})
    for end in ends[1:]:
        for field, values in end.items():
            np.testing.assert_array_equal(values, ends[0][field])


def test_same_seed_same_run_and_other_seeds_others():
    problem = monmdp.make("hazard", "ask")
    one, same, other = (train(problem, "monitored-mbie-eb", 500, s) for s in (1, 1, 2))
    for name in one.curve:
        np.testing.assert_array_equal(one.curve[name], same.curve[name])
    assert any((one.curve[name] != other.curve[name]).any() for name in one.curve)


def test_a_run_says_when_its_agent_was_sure_of_its_policy():
    problem = monmdp.make("loop", "ask")
    run = train(problem, "factored-mbie-eb", 1000, 0)
    assert run.certified is not None
    assert 0 < run.certified < 1000
    v = monmdp.solve(problem).episode_return
    after = run.curve["worst_case_return"][run.step >= run.certified]
    assert (after >= v - 0.01 * max(1, abs(v))).all()
    sooner = train(problem, agents.FactoredMBIEEB(epsilon=0.5), 1000, 0)
    assert sooner.certified < run.certified
    assert train(problem, "factored-mbie-eb", run.certified - 1, 0).certified is None
    assert train(problem, "monitored-mbie-eb", 1000, 0).certified is None
    assert train(problem, Wanderer, 100, 0).certified is None


@pytest.mark.parametrize("step", [-1, 101, 0.5, "soon"])
def test_a_certificate_is_a_step_of_the_run(step):
    class Hasty(agents.RMax):
        def certified(self, state):
            return step

    problem = monmdp.make("loop", "ask")
    with pytest.raises(MonMDPError, match="certified"):
        train(problem, Hasty(), 100)
    Hasty.certified = lambda self, state: np.int64(1)
    assert type(train(problem, Hasty(), 100).certified) is int


def test_streams_depend_on_seed_problem_and_role_and_not_on_names():
    a, b = monmdp.make("hazard", "ask"), monmdp.make("hazard", "ask", rho=0.5)
    all_seeds = [*experiment.streams(a, 0), *experiment.streams(a, 1), *experiment.streams(b, 0)]
    assert len(set(all_seeds)) == 9
    assert experiment.fingerprint(a) == experiment.fingerprint(monmdp.make("hazard", "ask"))
    named = monmdp.join(a.mdp, monmdp.monitors.make("ask"))
    assert experiment.streams(named, 0) == experiment.streams(a, 0)
    with pytest.raises(MonMDPError, match="seed"):
        experiment.streams(a, -1)


def test_agents_on_the_same_seed_meet_the_same_environment_stream():
    """Whatever the agent, the n-th draw of the environment is the same: here, the start states."""
    problem = monmdp.make("river-swim", "button", time_limit=3)
    starts = []
    for own_seed in (0, 1):
        agent = Wanderer(problem.shape, np.random.default_rng(own_seed))
        train(problem, agent, 60, 9)
        starts.append([agent.seen[t].observation for t in range(0, 60, 3)])
    assert starts[0] == starts[1]
    assert len({tuple(s.values()) for s in starts[0]}) > 1


def test_a_plain_python_agent_sees_only_what_is_shown():
    problem = monmdp.make("bottleneck", "ask", rho=0.5)
    agent = Wanderer(problem.shape, np.random.default_rng(0))
    run = train(problem, agent, 300, 0, every=100)
    assert len(agent.seen) == 300
    assert agent.begun >= run.curve["episodes"][-1]
    assert run.curve["observe_episodes"][-1] == -(-run.curve["episodes"][-1] // 2)
    for t in agent.seen:
        shown = t.reward is not None
        assert not (shown and t.action["mon"] == 0), "only asking shows"
        assert t.monitor_reward == (-0.2 if t.action["mon"] == 1 else 0.0)
    assert any(t.reward is not None for t in agent.seen)
    uniform = agent.test_policy()
    exact = Policy(problem.shape, uniform).evaluate(problem)
    assert run.curve["episode_return"][0] == pytest.approx(exact["episode_return"])
    assert run.settings["agent"].endswith(":Wanderer")


def test_wrong_python_agents_are_named():
    problem = monmdp.make("loop", "ask")

    class Far(Wanderer):
        def act(self, observation):
            return {"env": 9 + observation["mon"], "mon": 0}

    class Odd(Wanderer):
        def act(self, observation):
            return observation["env"]

    class Leaky(Wanderer):
        def test_policy(self):
            return super().test_policy() / 2

    with pytest.raises(MonMDPError, match="env 0 to 4"):
        train(problem, Far, 10)
    with pytest.raises(MonMDPError, match="an action is"):
        train(problem, Odd, 10)
    with pytest.raises(MonMDPError, match="no distribution in joint state 0"):
        train(problem, Leaky, 10)
    with pytest.raises(MonMDPError, match="begin_episode, act, update and test_policy"):
        train(problem, lambda shape, _: shape, 10)
    with pytest.raises(MonMDPError, match="begin_episode, act, update and test_policy"):
        train(problem, 3, 10)
    with pytest.raises(MonMDPError, match="snapshots"):
        train(problem, Wanderer, 10, snapshots=1)

    class Broken(Wanderer):
        def update(self, transition):
            raise KeyError(transition.reward)

    class Alone(Wanderer):
        def __init__(self, shape):
            super().__init__(shape, None)

    with pytest.raises(MonMDPError, match=r"Broken raised KeyError: None .*line \d+; seed 7"):
        train(problem, Broken, 10, 7)
    with pytest.raises(MonMDPError, match=r"Alone cannot be called with \(shape, rng\)"):
        prepare(problem, Alone, 10)


def test_the_discount_is_the_agents():
    problem = monmdp.make("loop", "ask")

    class Short(Wanderer):
        gamma = 0.5

    class Free(Wanderer):
        def __init__(self, shape, rng, gamma=0.9):
            super().__init__(shape, rng)
            self.gamma = gamma

    agent = Short(problem.shape, np.random.default_rng(0))
    assert prepare(problem, agents.MonitoredMBIEEB(gamma=0.7), 10).gamma == 0.7
    assert prepare(problem, agent, 10).gamma == 0.5
    assert prepare(problem, partial(Free, gamma=np.float32(0.25)), 10).gamma == 0.25
    assert prepare(problem, partial(Free, gamma=0.8), 10, gamma=0.3).gamma == 0.3
    assert prepare(problem, Free, 10).gamma == 0.9
    assert prepare(problem, partial(Free, gamma=np.float32(0.25)), 10).settings["parameters"] == {
        "gamma": 0.25
    }


def test_names_and_classes_stand_for_the_papers_settings():
    swim = monmdp.make("river-swim", "ask")
    assert prepare(swim, "monitored-mbie-eb", 10).agent.q_opt_init == 30
    assert prepare(swim, agents.MonitoredMBIEEB, 10).agent.q_opt_init == 1

    class Other(agents.MonitoredMBIEEB):
        pass

    ours, theirs = (prepare(swim, kind(), 10).settings for kind in (agents.MonitoredMBIEEB, Other))
    assert ours["agent"] == "monitored-mbie-eb"
    assert theirs["agent"].endswith("Other")
    assert (ours["code"], len(theirs["code"])) == (None, 16)


def test_checkpoints_and_columns():
    run = train(monmdp.make("bottleneck", "button"), "monitored-mbie-eb", 2050, 0)
    assert run.step.tolist() == list(range(0, 2050, 100))
    assert set(run.curve) == {*SCORES, *loop.COUNTERS, *loop.LEDGER}
    c = run.curve
    assert c["episodes"][0] == c["observe_episodes"][0] == 1
    assert (np.diff(c["episodes"]) >= 0).all()
    assert (c["observe_episodes"] <= c["episodes"]).all()
    assert c["rewards_seen"][0] == 0
    assert (np.diff(c["rewards_seen"]) >= 0).all()
    assert c["rewards_seen"].max() <= 1
    # at step 0 every action is tied: the test policy is uniform
    problem = monmdp.make("bottleneck", "button")
    uniform = np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)
    first = Policy(problem.shape, uniform).evaluate(problem)
    for name in SCORES:
        assert c[name][0] == pytest.approx(first[name])


def replayed_ledger(problem, who, steps, every, seed, gamma, worst):
    """What training costs, added up step by step in the Gymnasium environment."""
    roles = experiment.streams(problem, seed)
    if isinstance(who, str):
        config = agents.paper_config(who, problem.mdp.name, problem.monitor.name)
        agent = agents.make(config.for_training(steps), problem, seed=roles.agent)
    else:
        agent = who(problem.shape, np.random.default_rng(roles.agent))
    env = MonMDPEnv(problem, expose_env_reward=True)
    rows, returns, rewards, bad = [], [], [], 0
    observation, over = None, True
    for t in range(steps):
        if over:
            agent.begin_episode()
            observation, _ = env.reset(seed=roles.environment if t == 0 else None)
            rewards = []
        if t % every == 0:
            rows.append((sum(returns), len(returns), bad))
        action = agent.act(observation)
        following, _, terminated, truncated, info = env.step(action)
        transition = agents.Transition.from_step(observation, action, following, terminated, info)
        agent.update(transition)
        rewards.append(info["env_reward"] + info["monitor_reward"])
        bad += info["env_reward"] == worst
        observation, over = following, terminated or truncated
        if over:
            returns.append(sum(r * gamma**h for h, r in enumerate(rewards)))
    return np.array(rows, dtype=float).T


@pytest.mark.parametrize("who", ["monitored-mbie-eb", "directed-e2", "q-count", Wanderer])
@pytest.mark.parametrize(
    ("world", "monitor", "worst"), [("bottleneck", "button", -10.0), ("two-room-3x5", "ask", None)]
)
def test_the_ledger_is_what_a_replay_adds_up(world, monitor, worst, who, monkeypatch):
    """Whatever pauses there are: snapshots, a full buffer of policies."""
    problem = monmdp.make(world, monitor, rho=0.5)
    assert (problem.mdp.r_min < 0) is (worst is not None)
    expected = replayed_ledger(problem, who, 1500, 70, 5, 0.9, worst)
    for pausing in (False, True):
        if pausing:
            monkeypatch.setattr(training, "BUFFER", 3 * problem.n_states * problem.n_actions)
        keep = [1, 13, 777] if pausing and isinstance(who, str) else 0
        run = train(problem, who, 1500, 5, every=70, gamma=0.9, snapshots=keep)
        found = [run.curve[name] for name in loop.LEDGER]
        np.testing.assert_array_equal(found[1:], expected[1:])
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-12)
        v = 0.3
        lost = aggregate("", run.settings, [run], v).regret
        np.testing.assert_allclose(lost, v * expected[1, -1:] - expected[0, -1:], rtol=1e-9)
    assert expected[1, -1] > 5
    assert (expected[2, -1] > 0) == (worst is not None)


@pytest.mark.parametrize(
    ("r_min", "r_max", "counts"),
    [(-10, 1, True), (-1, 0, True), (0, 1, False), (2, 3, False), (-1, -1, False), (0, 0, False)],
)
def test_the_worst_reward_counts_where_it_is_a_loss(r_min, r_max, counts):
    ledger = loop.open_ledger(0.99, r_min, r_max)
    assert (ledger.worst == r_min) is counts


def test_nothing_observable_is_no_fraction():
    run = train(monmdp.make("treasure-hunter", "level-up"), "monitored-mbie-eb", 100, 0)
    assert np.isnan(run.curve["rewards_seen"]).all()


def test_the_test_policy_is_the_one_planned_before_the_running_episode():
    # River Swim never ends and is cut at 200 steps: plans are made at 0, 200, 400, …
    run = train(monmdp.make("river-swim", "full"), "monitored-mbie-eb", 2000, 0)
    returns = run.curve["episode_return"]
    np.testing.assert_array_equal(returns[0::2], returns[1::2])
    assert len(set(returns[0::2])) > 1


def test_a_run_is_stopped_through_its_pulse():
    """Compiled or plain; and it tells how far it is."""
    problem, pulse = monmdp.make("loop", "ask"), np.zeros(loop.PULSE, dtype=np.int64)
    for agent in ("monitored-mbie-eb", Wanderer):
        task = prepare(problem, agent, 300)
        pulse[:] = 0
        carry_out(task, 0, pulse)
        assert pulse.tolist() == [0, 300]
        pulse[:] = 1, 0
        with pytest.raises(StoppedError):
            carry_out(task, 0, pulse)
        assert pulse.tolist() == [1, 0], "nothing was done"

    class Stopping(Wanderer):
        def update(self, transition):
            super().update(transition)
            if len(self.seen) == 123:
                pulse[0] = 1

    pulse[:] = 0
    with pytest.raises(StoppedError):
        carry_out(prepare(problem, Stopping, 300), 0, pulse)
    assert pulse.tolist() == [1, 123]


def test_a_long_run_ends_soon_after_its_pulse():
    """One call of compiled code, with a single test before a thousand million steps."""
    task = prepare(monmdp.make("loop", "ask"), "monitored-mbie-eb", 10**9, every=10**9)
    carry_out(prepare(task.monmdp, task.agent, 100), 0)  # compiled
    pulse = np.zeros(loop.PULSE, dtype=np.int64)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(carry_out, task, 0, pulse)
        deadline = time.monotonic() + 60
        while not pulse[1] and time.monotonic() < deadline:
            time.sleep(0.01)
        pulse[0] = 1
        assert isinstance(future.exception(timeout=2), StoppedError)
    assert 0 < pulse[1] < 10**9


@pytest.mark.parametrize("episodes", [0, 20])
def test_tests_stop_through_the_pulse(episodes):
    problem, rng = monmdp.make("hazard", "button"), np.random.default_rng(0)
    policies = np.stack([random_policy(problem, rng) for _ in range(3)])
    scores, pulse = np.full((3, len(SCORES)), -1.0), np.array([1, 0])
    tables, limit = writable_tables(problem), problem.mdp.time_limit
    evaluate(tables, chances(problem), policies, 0.9, limit, episodes, rng, scores, pulse)
    assert (scores == -1).all()


# ---- evaluation ---------------------------------------------------------------------------------


def scores_of(problem, policy, gamma=0.9, episodes=0, seed=0):
    out, rng, limit = np.zeros((1, 5)), np.random.default_rng(seed), problem.mdp.time_limit
    tables = writable_tables(problem)
    pulse = np.zeros(loop.PULSE, dtype=np.int64)
    evaluate(tables, chances(problem), policy[None], gamma, limit, episodes, rng, out, pulse)
    return dict(zip(SCORES, out[0], strict=True))


def random_policy(problem, rng):
    policy = rng.dirichlet(np.full(problem.n_actions, 0.5), size=problem.n_states)
    policy[policy < 0.05] = 0
    return policy / policy.sum(axis=1, keepdims=True)


@settings(max_examples=30)
@given(seed=seeds)
def test_exact_evaluation_is_backward_induction(seed):
    problem, rng = random_monmdp(seed), np.random.default_rng(seed)
    policy = random_policy(problem, rng)
    found = scores_of(problem, policy)
    for name, p in (("episode_return", problem), ("worst_case_return", worst_by_hand(problem))):
        values = dense_policy_values(p, policy, 0.9, horizon=problem.mdp.time_limit)
        assert found[name] == pytest.approx(problem.start @ values, abs=1e-10)
    again = monmdp.evaluate(problem, policy, 0.9, horizon=problem.mdp.time_limit)
    assert found["episode_return"] == pytest.approx(again.value, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("monitor", ["button", "semi-random", "n-experts", "level-up"])
def test_monte_carlo_agrees_with_exact(world, monitor):
    problem = monmdp.make(world, monitor)
    policy = random_policy(problem, np.random.default_rng(1))
    exact = scores_of(problem, policy, 0.99)
    drawn = np.array([list(scores_of(problem, policy, 0.99, 40, s).values()) for s in range(50)])
    error = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    for i, name in enumerate(SCORES):
        assert abs(drawn[:, i].mean() - exact[name]) <= 5 * error[i] + 0.02, (
            name
        )  # rare: never drawn


def test_goal_and_bottom_visits_are_the_worlds():
    problem = monmdp.make("bottleneck", "full-random")
    best = monmdp.solve(problem)
    found = scores_of(problem, best.minimax.policy, 0.99)
    assert found["goal_visits"] == pytest.approx(1)
    assert found["bottom_visits"] == 0
    assert found["episode_return"] == pytest.approx(best.episode_return)
    always_right = np.zeros((36, 5))
    always_right[:, 2] = 1
    right = scores_of(problem, always_right, 0.99)
    # the agent enters the ⊥ cell on its second move and acts from it once
    assert right["bottom_visits"] == 1
    assert right["goal_visits"] == 0
    assert right["episode_length"] == 50


@pytest.mark.parametrize("episodes", [0, 20])
def test_policies_in_a_row_score_what_they_score_alone(episodes):
    problem, rng = monmdp.make("hazard", "button"), np.random.default_rng(0)
    one, two = random_policy(problem, rng), random_policy(problem, rng)
    row, limit = np.stack([one, one, two, one]), problem.mdp.time_limit
    scores, rng = np.zeros((4, len(SCORES))), np.random.default_rng(3)
    pulse = np.zeros(loop.PULSE, dtype=np.int64)
    evaluate(
        writable_tables(problem), chances(problem), row, 0.9, limit, episodes, rng, scores, pulse
    )
    alone = [list(scores_of(problem, policy).values()) for policy in row]
    if episodes == 0:
        np.testing.assert_array_equal(scores, alone)
    else:
        assert (scores[0, 0], scores[0, 4]) != (scores[1, 0], scores[1, 4])  # drawn anew
    np.testing.assert_array_equal(scores[:, 1], np.array(alone)[:, 1])


def test_the_buffer_of_policies_makes_no_difference(monkeypatch):
    problem, curves = monmdp.make("hazard", "ask"), []
    for buffer in (1, 700, 10**6):
        monkeypatch.setattr(training, "BUFFER", buffer)
        run = train(problem, "monitored-mbie-eb", 950, 1, evaluation="monte-carlo", episodes=3)
        curves.append(run.curve)
    for name in curves[0]:
        for other in curves[1:]:
            np.testing.assert_array_equal(curves[0][name], other[name])


def test_wrong_evaluations_are_named():
    with pytest.raises(MonMDPError, match="did you mean 'monte-carlo'"):
        checked_evaluation("montecarlo", 10)
    with pytest.raises(MonMDPError, match="episodes"):
        checked_evaluation("exact", 0)


# ---- requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        (("monitored-mbie-eb", 0), {}, "steps"),
        (("monitored-mbie-eb", -5), {}, "steps"),
        (("monitored-mbie-eb", 2.5), {}, "steps"),
        (("monitored-mbie-bb", 10), {}, "did you mean 'monitored-mbie-eb'"),
        (("monitored-mbie-eb", 10), {"every": 0}, "every"),
        (("monitored-mbie-eb", 10), {"gamma": 1}, r"\[0, 1\)"),
        (("monitored-mbie-eb", 10), {"snapshots": [11]}, "step 11 is after the last one"),
        (("monitored-mbie-eb", 10), {"evaluation": "guess"}, "unknown evaluation"),
        (("monitored-mbie-eb", 10), {"snapshots": 11}, "11 of 10 steps"),
        (("monitored-mbie-eb", 10), {"snapshots": 2.5}, "whole number"),
    ],
)
def test_bad_requests_fail_before_any_work(args, options, message):
    with pytest.raises(MonMDPError, match=message):
        prepare(monmdp.make("loop", "ask"), *args, **options)


def test_problems_that_an_agent_is_not_for_fail_before_any_work():
    with pytest.raises(MonMDPError, match="a MonMDP expected"):
        prepare("loop", "monitored-mbie-eb", 10)
    with pytest.raises(MonMDPError, match="not offered for monitor 'semi-random'"):
        prepare(monmdp.make("loop", "semi-random"), "known-monitor", 10)
    endless = monmdp.worlds.from_tables(np.ones((1, 2, 1)), np.zeros((1, 2)))
    with pytest.raises(MonMDPError, match="no time limit"):
        prepare(monmdp.join(endless, monmdp.monitors.make("ask")), "monitored-mbie-eb", 10)


def test_request_sorts_parameters_and_applies_presets():
    paper = agents.MonitoredMBIEEB.name
    asked = experiment.assemble("one-way", "level-up", paper, {"rho": "0.5", "beta": "0.1"})
    assert asked.agent == agents.MonitoredMBIEEB(beta=0.1)
    assert asked.given == {"monitor.rho": 0.5}
    assert asked.parameters["world.one_way"] == "push"
    released = experiment.assemble("one-way", "level-up", paper, preset="released")
    assert released.agent == agents.MonitoredMBIEEB(growth="log", schedule="released")
    assert released.given == {"world.one_way": "block", "monitor.start": "uniform"}
    np.testing.assert_allclose(released.monmdp.monitor.start, 1 / 3)
    mine = experiment.assemble(
        "one-way", "level-up", paper, {"one_way": "push", "growth": "none"}, preset="released"
    )
    assert mine.agent == agents.MonitoredMBIEEB(growth="none", schedule="released")
    assert mine.parameters["world.one_way"] == "push"
    assert experiment.assemble("river-swim", "full", paper).agent.q_opt_init == 30
    finished = monmdp.make("loop", "ask")
    assert experiment.assemble(finished, None, paper, {"agent.beta": "1"}).agent.beta == 1
    with pytest.raises(MonMDPError, match="did you mean 'beta_obs'"):
        experiment.assemble("loop", "ask", paper, {"beta_obz": 1})
    with pytest.raises(MonMDPError, match="which monitor"):
        experiment.assemble("loop", None)
    of_finished = experiment.assemble(finished, None, paper, preset="released")
    assert of_finished.agent == agents.MonitoredMBIEEB(growth="log", schedule="released")
    assert (of_finished.monmdp, of_finished.parameters) == (finished, {})
    assert experiment.assemble(monmdp.make("river-swim", "ask"), None, paper).agent.q_opt_init == 30
    assert experiment.assemble("loop", "ask").agent == agents.FactoredMBIEEB()
    ready = experiment.assemble("loop", "ask", agents.UCB(), {"rho": "0.5"})
    assert (ready.given, ready.agent) == ({"monitor.rho": 0.5}, agents.UCB())


def test_agents_of_ones_own_by_module_and_object(tmp_path):
    (tmp_path / "own_agents.py").write_text(
        "from monmdp.agents import MonitoredMBIEEB\n"
        "small = MonitoredMBIEEB(beta=0.25)\n"
        "nothing = 3\n"
        "class Eps:\n"
        "    def __init__(self, shape, rng, eps=0.1): self.eps = eps\n"
    )
    asked = experiment.assemble("loop", "ask", "own_agents:small", {"beta_e": "0.5"})
    assert asked.agent == agents.MonitoredMBIEEB(beta=0.25, beta_e=0.5)
    eps = experiment.assemble("loop", "ask", "own_agents:Eps", {"eps": "0.3"}).agent
    assert eps(None, None).eps == 0.3  # without an annotation: what it looks like
    with pytest.raises(MonMDPError, match=r"an agent is a name, module:object, .* got 3"):
        experiment.assemble("loop", "ask", "own_agents:nothing")


# ---- policies -----------------------------------------------------------------------------------


def test_a_learnt_policy_can_be_saved_loaded_and_used_elsewhere(tmp_path):
    problem = monmdp.make("bottleneck", "button")
    run = train(problem, "monitored-mbie-eb", 5000, 0, out=tmp_path)
    run.policy.save(tmp_path / "policy.npz")
    best = monmdp.solve(problem).episode_return
    for file in ("policy.npz", next(tmp_path.glob("runs/*/seed-0000.parquet"))):
        policy = load_policy(tmp_path / file)
        assert policy.origin["seed"] == 0
        assert policy.evaluate(problem)["worst_case_return"] == pytest.approx(best)
    rare = policy.evaluate(monmdp.make("bottleneck", "button", rho=0.05))
    assert rare["episode_return"] == pytest.approx(best)
    # Another world of this shape. Its button is elsewhere: when ON the policy looks for it in vain.
    elsewhere = policy.evaluate(monmdp.make("empty", "button"))
    assert elsewhere["goal_visits"] == 0.5
    drawn = policy.evaluate(problem, evaluation="monte-carlo", episodes=2000, seed=1)
    assert drawn["episode_return"] == pytest.approx(best, abs=0.1)
    assert drawn == policy.evaluate(problem, evaluation="monte-carlo", episodes=2000, seed=1)
    with pytest.raises(MonMDPError, match="36 x 2 states, 5 x 1 actions; bottleneck / ask has 36"):
        policy.evaluate(monmdp.make("bottleneck", "ask"))


def test_a_policy_acts():
    problem = monmdp.make("empty", "ask")
    plan = monmdp.solve(problem).minimax
    policy = Policy(problem.shape, plan.policy)
    env, rng = monmdp.envs.MonMDPEnv(problem), np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    total, discount, over = 0.0, 1.0, False
    while not over:
        observation, reward, over, truncated, _ = env.step(policy.act(observation, rng))
        total += discount * reward
        discount *= 0.99
        assert not truncated
    assert policy.act(observation, rng)["mon"] in (0, 1)
    for wrong in ({"env": -1, "mon": 0}, {"env": 0, "mon": 1}):
        with pytest.raises(MonMDPError, match="36 x 1 states"):
            policy.act(wrong, rng)


def test_what_is_no_policy_is_refused(tmp_path):
    with pytest.raises(MonMDPError, match="shape"):
        Policy(Shape(2, 1, 2, 1), np.ones((3, 2)))
    with pytest.raises(MonMDPError, match="no distribution in joint state 1"):
        Policy(Shape(2, 1, 2, 1), [[1, 0], [0.5, 0.6]])
    with pytest.raises(MonMDPError, match="no such file"):
        Policy.load(tmp_path / "none.npz")
    monmdp.make("loop", "ask").save(tmp_path / "problem.npz")
    with pytest.raises(MonMDPError, match="holds no policy"):
        Policy.load(tmp_path / "problem.npz")
    with pytest.raises(MonMDPError, match=r"must end in .npz"):
        Policy(Shape(1, 1, 1, 1), [[1.0]]).save(tmp_path / "policy.txt")


class Probe(NamedTuple):
    """A state that keeps what `update` was given."""

    told: list


def test_the_loop_hands_over_no_reward_that_was_not_shown():
    problem = monmdp.make("bottleneck", "full-random", rho=0.3)
    rng = np.random.default_rng(0)
    compiling.implement(
        Probe,
        {
            contract.begin_episode: lambda *_: False,
            contract.act: lambda *_: int(rng.integers(5)),
            contract.update: lambda agent, step: agent.told.append((step.shown, step.reward)),
            contract.test_policy: lambda *_: None,
        },
    )
    clock = np.zeros(loop.CLOCK, dtype=np.int64)
    clock[1] = -1
    probe = Probe([])
    loop.run(
        writable_tables(problem), probe, clock, 2000, 50, 10**6,
        np.zeros((1, problem.n_states, problem.n_actions)),
        np.zeros((1, len(loop.COUNTERS)), dtype=np.int64),
        loop.open_ledger(0.99, -10.0, 1.0), np.zeros((1, len(loop.LEDGER))),
        np.zeros(problem.mdp.n_pairs, dtype=bool), rng, rng, np.zeros(loop.PULSE, dtype=np.int64),
    )  # fmt: skip
    assert {reward for shown, reward in probe.told if not shown} == {0.0}
    assert {reward for shown, reward in probe.told if shown} > {0.0}


# ---- compiling ----------------------------------------------------------------------------------


def digest(kind=None, function=loop.run):
    return compiling._digest(function, kind)


def test_edited_code_has_another_name(monkeypatch):
    """numba keeps compiled code on disk by name: a stale version must never be found again."""
    kinds = [
        type(agents.config(name).for_training(1).new_state(_LOOP.shape, 0.0, 1.0, _LOOP))
        for name in AGENTS
    ]
    # the five baselines share their code
    assert len(set(kinds)) == 9
    names = {digest(kind) for kind in kinds} | {digest()}
    assert len(names) == 10
    ours = kinds[list(AGENTS).index("monitored-mbie-eb")]

    def edited(cum, low, high, u):
        return low if u < cum[low] else high

    for target, value in (
        ("monmdp.model.dynamics.draw.__code__", edited.__code__),
        ("monmdp.agents.greedy.TIE", 1e-9),
        ("monmdp.agents.learnt_model.count.__code__", edited.__code__),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, value)
            assert digest(ours) not in names
            names.add(digest(ours))
    assert digest(ours) in names


def test_fields_inside_and_inherited_fields_count():
    """Two arrays that change places have the same types: only the names tell them apart."""

    def kinds(first, second):
        inner = NamedTuple("Inner", [(first, FloatArray), (second, FloatArray)])
        outer = NamedTuple("Outer", [(name, inner) for name in ("one", "other")])
        return outer, type("Heir", (inner,), {})

    for one, other in zip(kinds("q", "r"), kinds("r", "q"), strict=True):
        assert digest(one, function=len_of) != digest(other, function=len_of)
        assert digest(one, function=len_of) == digest(one, function=len_of)


def test_named_tuples_that_are_arguments_count(monkeypatch):
    """numba fails on a cache that knows a class which is gone."""
    names = {digest(function=len_of)}
    for name, fields in (("Given", "ab"), ("Given", "ba"), ("Renamed", "ab")):
        given = NamedTuple(name, [(field, FloatArray) for field in fields])
        with monkeypatch.context() as patch:
            patch.setitem(globals(), name, given)
            names.add(digest(function=len_of))
    assert len(names) == 4


def len_of(agent):
    return len(agent)


def test_arrays_and_tuples_that_code_refers_to_count(monkeypatch):
    def looks_up(s):
        return A_TABLE[s] + A_TUPLE[0]

    names = {digest(function=looks_up)}
    for name, value in (("A_TABLE", np.array([1.0, 3.0])), ("A_TUPLE", (2,))):
        with monkeypatch.context() as patch:
            patch.setitem(globals(), name, value)
            names.add(digest(function=looks_up))
    assert len(names) == 3


def test_names_are_the_same_in_every_process_whatever_else_is_loaded():
    code = (
        "import monmdp; from monmdp import agents, compiling; {extra}"
        "s = agents.KnownMonitor(); p = monmdp.make('loop', 'full');"
        "print(compiling._digest(agents.stepwise._begin_episode, "
        "type(s.new_state(p.shape, 0.0, 1.0, p))))"
    )
    found = {
        subprocess.check_output(
            [sys.executable, "-c", code.format(extra=extra)], text=True, env=os.environ | seed
        )
        for extra, seed in (
            ("", {"PYTHONHASHSEED": "1"}),
            ("import monmdp.experiment;", {"PYTHONHASHSEED": "2"}),
        )
    }
    assert len(found) == 1


USERS_AGENT = """
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from helper import choice
from monmdp.agents import AgentConfig


class {state}(NamedTuple):
    parameters: Any
    n: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Mine(AgentConfig):
    name: ClassVar[str] = "mine"
    snapshot_fields: ClassVar[tuple[str, ...]] = ("n",)
    State = {state}

    def blank(self, shape, parameters, model):
        n_se, n_sm, n_ae, n_am = shape
        return {{"n": np.zeros((n_se * n_sm, n_ae * n_am))}}

    def begin_episode(agent, rng):
        return False

    def act(agent, s, rng):
        agent.n[s, choice(s)] += 1
        return choice(s)

    def update(agent, step):
        pass

    def test_policy(agent, policy):
        for s in range(len(policy)):
            for a in range(policy.shape[1]):
                policy[s, a] = 1.0 if a == 0 else 0.0
"""
HELPER = """
from monmdp.compiling import compilable


@compilable
def choice(s):
    return {action}
"""
USE = """
import monmdp
from monmdp.experiment import carry_out, prepare
from users import Mine
run = carry_out(prepare(monmdp.make("loop", "full"), Mine(), 40, snapshots=1), 0)
print(run.snapshots["n"][0].sum(axis=0).argmax())
"""
OURS = """
import monmdp
from monmdp.experiment import carry_out, prepare
carry_out(prepare(monmdp.make("loop", "full"), "ucb", 40), 0)
print("fine")
"""


@pytest.mark.slow
def test_a_users_compiled_agent_leaves_nothing_stale_behind(tmp_path):
    def python(code):
        env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": "."}
        return subprocess.check_output([sys.executable, "-c", code], text=True, env=env).strip()

    agent, helper = tmp_path / "users.py", tmp_path / "helper.py"
    agent.write_text(USERS_AGENT.format(state="State"))
    helper.write_text(HELPER.format(action=1))
    assert python(USE) == "1"
    assert python(USE) == "1"
    helper.write_text(HELPER.format(action=2))
    assert python(USE) == "2", "an edit in what the agent imports must count"
    agent.write_text(USERS_AGENT.format(state="Renamed"))
    assert python(USE) == "2"
    agent.unlink()
    assert python(OURS) == "fine", "a class that is gone must not matter to others"


@given(st.integers(1, 10**6))
def test_snapshots_are_spread_evenly_up_to_the_end(steps):
    problem = _LOOP
    n = min(5, steps)
    at = prepare(problem, "monitored-mbie-eb", steps, snapshots=n).snapshot_steps
    assert at[-1] == steps
    assert len(at) == n
    assert sorted(set(at)) == list(at)


_LOOP = monmdp.make("loop", "full")
