"""Monitored MBIE-EB, with the monitor unknown and known, against a plain-Python oracle of the
paper's equations; and the public face of all agents."""

from __future__ import annotations

from collections import Counter

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import monmdp
from conftest import MONITORS, READING, WORLDS, random_monmdp, seeds
from monmdp import MonMDPError, agents, experiment
from monmdp.agents import KnownMonitor, MonitoredMBIEEB, Step, Transition, contract
from monmdp.agents.greedy import TIE, greedy_action, greedy_policy
from monmdp.agents.learnt_model import (
    count_successor,
    no_successors,
    value_iteration,
    with_room,
)
from monmdp.agents.monitored_mbie_eb import growth_of
from monmdp.envs import MonMDPEnv
from monmdp.model.dynamics import step
from oracles.monitored_mbie_eb import KnownMonitorOracle, MonitoredMBIEEBOracle

AGENTS = ["monitored-mbie-eb", "known-monitor"]


# ---- the oracle ---------------------------------------------------------------------------------


def oracle_of(config, problem):
    params = config.hyper_parameters()
    if isinstance(config, MonitoredMBIEEB):
        return MonitoredMBIEEBOracle(problem.shape, problem.mdp.r_min, **params)
    monitor, n_ae, n_am = problem.monitor, problem.mdp.n_actions, problem.monitor.n_actions
    shown = problem.observability()
    return KnownMonitorOracle(
        problem.shape,
        problem.mdp.r_min,
        lambda se, ae, sm, am: monitor.transition[problem.pair_class[se * n_ae + ae], sm, am],
        lambda sm, am: monitor.reward[sm, am],
        lambda se, sm, ae, am: shown[se * monitor.n_states + sm, ae * n_am + am],
        **params,
    )


def counts_of(state) -> dict:
    """Counts of a state in the oracle's form: only what is not zero."""
    knows_monitor, state = hasattr(state, "row"), state.counts
    found = {"n_env": {tuple(map(int, i)): state.n_env[tuple(i)] for i in np.argwhere(state.n_env)}}
    found["n"] = {tuple(map(int, i)): state.n[tuple(i)] for i in np.argwhere(state.n)}
    if not knows_monitor:
        found["n_mon"] = {
            tuple(map(int, i)): state.n_mon[tuple(i)] for i in np.argwhere(state.n_mon)
        }
    slots, n_actions = state.successors, state.n.shape[1]
    for name, column in (("n_successor", slots.visits), ("n_ended", slots.ended)):
        found[name] = {
            (pair // n_actions, pair % n_actions, int(slots.state[j])): column[j]
            for pair in range(len(slots.first))
            for j in range(slots.first[pair], slots.first[pair] + slots.used[pair])
            if column[j]
        }
    return found


def follow(problem, config, steps, seed=0):
    """Run an agent step by step and feed its transitions to the oracle; compare all the way."""
    streams = experiment.streams(problem, seed)
    agent = agents.make(config, problem, seed=streams.agent)
    env, oracle = MonMDPEnv(problem), oracle_of(config, problem)
    observation, over, kinds = None, True, Counter()
    for t in range(steps):
        if over:
            observed = agent.begin_episode()
            assert observed == oracle.begin_episode()
            kinds[observed] += 1
            np.testing.assert_allclose(agent.state.q_opt, oracle.q_opt, rtol=0, atol=1e-10)
            np.testing.assert_allclose(agent.state.q_obs, oracle.q_obs, rtol=0, atol=1e-10)
            observation, _ = env.reset(seed=streams.environment) if t == 0 else env.reset()
        action = agent.act(observation)
        q = oracle.q_obs if oracle.observing else oracle.q_opt
        row = q[observation["env"] * problem.monitor.n_states + observation["mon"]]
        chosen = row[action["env"] * problem.monitor.n_actions + action["mon"]]
        assert chosen >= row.max() - TIE - 2e-10
        following, _, terminated, truncated, info = env.step(action)
        moved = Transition.from_step(observation, action, following, terminated, info)
        agent.update(moved)
        oracle.update(
            observation["env"], observation["mon"], action["env"], action["mon"],
            moved.reward, moved.monitor_reward, following["env"], following["mon"], terminated,
        )  # fmt: skip
        observation, over = following, terminated or truncated
    found = counts_of(agent.state)
    assert found["n_env"] == dict(+oracle.n_env)
    assert found["n_successor"] == dict(oracle.n_successor)
    assert found["n_ended"] == dict(oracle.n_ended)
    if "n_mon" in found:
        assert found["n_mon"] == dict(+oracle.n_mon)
        assert found["n"] == dict(+oracle.n_joint)
    else:
        assert found["n"] == dict(+oracle.n_visits)
    return agent, kinds


def compiled_state(problem, config, steps, seed=0):
    """What the compiled training loop ends with."""
    run = monmdp.train(problem, config, steps, seed, snapshots=[steps], every=37)
    return {name: values[0] for name, values in run.snapshots.items()}, run


def make_small(world, monitor, **params):
    limit = {"time_limit": 15} if world not in ("treasure-hunter",) else {"time_limit": 2}
    return monmdp.make(world, monitor, **limit, **params)


OFFERED = [
    (name, world, monitor)
    for name in AGENTS
    for world in WORLDS
    for monitor in MONITORS
    if name != "known-monitor" or monitor not in READING
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "world", "monitor"), OFFERED)
def test_oracle_stepwise_and_compiled_agree_on_every_problem(name, world, monitor):
    problem = make_small(world, monitor, **({} if monitor == "full" else {"rho": 0.7}))
    params = agents.paper_config(name, world, monitor).hyper_parameters()
    config = agents.config(name, **params | {"log_base": 3.0})
    steps = 70
    agent, kinds = follow(problem, config, steps)
    assert set(kinds) == {True, False}, "both kinds of episodes must occur"
    compiled, run = compiled_state(problem, config, steps)
    for field, values in config.snapshot(agent.state, problem.shape).items():
        np.testing.assert_array_equal(compiled[field], values, err_msg=field)
    np.testing.assert_array_equal(run.policy.probability, agent.test_policy())


@pytest.mark.parametrize("name", AGENTS)
@settings(max_examples=25)
@given(
    problem_seed=seeds,
    seed=st.integers(0, 1000),
    log_base=st.sampled_from([1.005, 1.5, 3.0]),
    growth=st.sampled_from(["paper", "log", "none"]),
    schedule=st.sampled_from(["paper", "released", "constant"]),
    gamma=st.sampled_from([0.0, 0.5, 0.99]),
    scale=st.sampled_from([5e-4, 0.1, 2.0]),
    sweeps=st.sampled_from([1, 2, 5, 50]),
)
def test_oracle_on_random_problems_and_parameters(
    name, problem_seed, seed, log_base, growth, schedule, gamma, scale, sweeps
):
    problem = random_monmdp(problem_seed)
    config = agents.config(
        name, log_base=log_base, growth=growth, schedule=schedule, gamma=gamma, beta=scale,
        beta_e=2 * scale, sweeps=sweeps, q_opt_init=3.0,
        kappa_star=5.0 if schedule == "constant" else None,
    )  # fmt: skip
    agent, _ = follow(problem, config, 120, seed)
    compiled, _ = compiled_state(problem, config, 120, seed)
    for field, values in config.snapshot(agent.state, problem.shape).items():
        np.testing.assert_array_equal(compiled[field], values, err_msg=field)


@pytest.mark.slow
@pytest.mark.parametrize("log_base", [1.005, 1.5, 3.0])
@pytest.mark.parametrize("schedule", ["paper", "released"])
@pytest.mark.parametrize("name", AGENTS)
def test_oracle_meets_both_kinds_of_episodes_for_every_log_base(name, schedule, log_base):
    # With b = 1.005 the paper's schedule optimizes for the first time in episode 1463.
    problem = monmdp.make("loop", "button", time_limit=1)
    config = agents.config(name, log_base=log_base, schedule=schedule, sweeps=2)
    steps = 1500 if log_base == 1.005 else 200
    _, kinds = follow(problem, config, steps)
    assert kinds[True] > 0
    assert kinds[False] > 0


def test_the_first_optimize_episode_of_the_paper_is_the_1463rd():
    problem = monmdp.make("loop", "full", time_limit=1)
    agent = agents.make("monitored-mbie-eb", problem, sweeps=1)
    observed = [agent.begin_episode() for _ in range(1470)]
    assert observed.index(False) + 1 == 1463
    released = agents.make("monitored-mbie-eb", problem, sweeps=1, schedule="released")
    assert [released.begin_episode() for _ in range(3)] == [False, True, True]


# ---- pieces -------------------------------------------------------------------------------------


def test_growth():
    assert growth_of(1, 0) == 1.0
    assert growth_of(2, 0) == pytest.approx(1.093, abs=1e-3)
    assert growth_of(3, 0) == pytest.approx(1.010, abs=1e-3)
    assert growth_of(1, 1) == 0.0
    assert growth_of(10, 1) == pytest.approx(np.log(1 + 10 * np.log(10) ** 2))
    assert growth_of(17, 2) == 1.0


@given(
    values=st.lists(st.sampled_from([0.0, 1.0, 1.0 - 5e-11, 1.0 - 2e-10]), min_size=1, max_size=6),
    u=st.floats(0, 1, exclude_max=True),
)
def test_greedy_sets_are_those_within_the_tolerance(values, u):
    q = np.array([values])
    best = [a for a, x in enumerate(values) if x >= max(values) - TIE]
    assert greedy_action(q, 0, u) == best[int(u * len(best))]
    policy = np.zeros_like(q)
    greedy_policy(q, policy)
    expected = [1 / len(best) if a in best else 0 for a in range(len(values))]
    np.testing.assert_array_equal(policy[0], expected)


def test_ties_are_broken_uniformly():
    problem = monmdp.make("empty", "n-experts")
    agent = agents.make("monitored-mbie-eb", problem, seed=5)
    agent.begin_episode()
    counts = Counter(tuple(agent.act({"env": 0, "mon": 0}).values()) for _ in range(20_000))
    assert len(counts) == 25  # nothing was tried: all actions are tied
    assert chisquare(list(counts.values())).pvalue > 1e-4


def random_slots(rng, n_states, n_actions, gamma):
    """Learnt successors of some of the pairs, some of which may end the episode."""
    capacity = np.full(n_states * n_actions, n_states)
    slots = no_successors(capacity)
    for pair in range(len(capacity)):
        visits = int(rng.integers(0, 6)) if rng.random() < 0.8 else 0
        ends = rng.random() < 0.2
        for n in range(visits):
            ended = bool(ends and rng.random() < 0.5)
            count_successor(slots, pair, n + 1, int(rng.integers(n_states)), ended, gamma)
    return slots


@settings(max_examples=60)
@given(seed=seeds, sweeps=st.sampled_from([1, 2, 3, 10, 50]), endings=st.booleans())
def test_value_iteration_skips_only_what_makes_no_difference(seed, sweeps, endings):
    rng = np.random.default_rng(seed)
    n_states, n_actions, gamma = int(rng.integers(1, 8)), int(rng.integers(1, 6)), 0.9
    slots = random_slots(rng, n_states, n_actions, gamma)
    reward = rng.normal(size=(n_states, n_actions)) * rng.choice([1e-4, 1.0, 100.0])
    q = rng.normal(size=(n_states, n_actions)) * rng.choice([0.0, 1.0, 100.0])
    dense, weight = q.copy(), slots.go_on if endings else slots.land
    tried = (slots.used.reshape(q.shape) > 0) & (rng.random(q.shape) < 0.8)  # some stay pinned
    for _ in range(sweeps):
        v = dense.max(axis=1)
        for pair in range(n_states * n_actions):
            s, a = divmod(pair, n_actions)
            if tried[s, a]:
                x = reward[s, a]
                for j in range(slots.first[pair], slots.first[pair] + slots.used[pair]):
                    x += weight[j] * v[slots.state[j]]
                dense[s, a] = x
    value_iteration(slots, tried, endings, reward, gamma, sweeps, q)
    np.testing.assert_array_equal(q, dense)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=60))
def test_slots_grow_without_losing_anything_or_its_order(moves):
    small, large = no_successors(np.full(4, 1)), no_successors(np.full(4, 10))
    visits = Counter()
    for pair, state in moves:
        visits[pair] += 1
        small = with_room(small, pair, state)
        for slots in (small, large):
            count_successor(slots, pair, visits[pair], state, False, 0.9)
    for pair in range(4):
        for column in ("state", "visits", "ended", "go_on", "land"):
            of_pair = [
                getattr(slots, column)[slots.first[pair] : slots.first[pair] + slots.used[pair]]
                for slots in (small, large)
            ]
            np.testing.assert_array_equal(*of_pair)


# ---- stepwise on environments that are not ours -------------------------------------------------


def walk(agent, env, steps, seed):
    """Let an agent act and learn, as the README says."""
    over = True
    for t in range(steps):
        if over:
            agent.begin_episode()
            observation, _ = env.reset(seed=seed) if t == 0 else env.reset()
        action = agent.act(observation)
        following, _, terminated, truncated, info = env.step(action)
        agent.update(Transition.from_step(observation, action, following, terminated, info))
        observation, over = following, terminated or truncated


class Foreign(gymnasium.Env):
    """Somebody's environment: it speaks the contract and has no model to look into."""

    def __init__(self, problem):
        self.inner = MonMDPEnv(problem)
        self.observation_space = self.inner.observation_space
        self.action_space = self.inner.action_space

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed, options=options)

    def step(self, action):
        return self.inner.step(action)


@pytest.mark.parametrize("monitor", ["button", "n-experts"])
def test_a_foreign_environment_gives_the_same_agent(monitor):
    problem = monmdp.make("hazard", monitor)
    streams = experiment.streams(problem, 3)
    env = Foreign(problem)
    agent = agents.make("monitored-mbie-eb", env, seed=streams.agent, r_min=-10)
    walk(agent, env, 600, streams.environment)
    compiled, _ = compiled_state(problem, MonitoredMBIEEB(), 600, 3)
    for field, values in agent.config.snapshot(agent.state, problem.shape).items():
        np.testing.assert_array_equal(compiled[field], values, err_msg=field)


def test_an_environment_without_a_model_must_state_r_min_and_cannot_have_a_known_monitor():
    env = Foreign(monmdp.make("empty", "ask"))
    with pytest.raises(MonMDPError, match="r_min"):
        agents.make("monitored-mbie-eb", env)
    with pytest.raises(MonMDPError, match="without a model"):
        agents.make("known-monitor", env, r_min=0)
    with pytest.raises(MonMDPError, match="knows_monitor=true must be given"):
        agents.make("factored-mbie-eb", env, r_min=0, knows_monitor=True)


def test_spaces_of_another_kind_are_refused():
    env = monmdp.envs.JointDiscrete(MonMDPEnv(monmdp.make("empty", "ask")))
    with pytest.raises(MonMDPError, match="Dict\\(env=Discrete, mon=Discrete\\)"):
        agents.make("monitored-mbie-eb", env)
    odd = Foreign(monmdp.make("empty", "ask"))
    odd.observation_space = spaces.Dict(env=spaces.Box(0, 1), mon=spaces.Discrete(1))
    with pytest.raises(MonMDPError, match="Dict\\(env=Discrete, mon=Discrete\\)"):
        agents.make("monitored-mbie-eb", odd, r_min=0)
    odd.observation_space = spaces.Dict(env=spaces.Discrete(36, start=1), mon=spaces.Discrete(1))
    with pytest.raises(MonMDPError, match="start at 0"):
        agents.make("monitored-mbie-eb", odd, r_min=0)
    with pytest.raises(MonMDPError, match="Gymnasium environment"):
        agents.make("monitored-mbie-eb", "empty")


class Slippery(gymnasium.Wrapper):
    """Somebody's wrapper: now and then another action is taken, which no model knows of."""

    def step(self, action):
        self.turn = getattr(self, "turn", 0) + 1
        return self.env.step(action if self.turn % 3 else {"env": self.turn % 5, "mon": 0})


@pytest.mark.parametrize("name", [*AGENTS, "mbie-eb", "pessimistic-mbie-eb"])
def test_more_successors_than_the_model_has_find_room(name):
    env = Slippery(MonMDPEnv(monmdp.make("empty", "button")))
    agent = agents.make(name, env)
    walk(agent, env, 600, seed=0)
    slots = agent.state.counts.successors
    for pair in np.flatnonzero(slots.used):
        mine = slice(slots.first[pair], slots.first[pair] + slots.used[pair])
        assert slots.land[mine].sum() == pytest.approx(0.99)
        assert slots.visits[mine].sum() == agent.state.counts.n.flat[pair]


def test_what_an_agent_is_handed_has_no_place_for_a_hidden_reward():
    assert Transition._fields == (
        "observation", "action", "reward", "monitor_reward", "next_observation", "terminated",
    )  # fmt: skip
    env = MonMDPEnv(monmdp.make("bottleneck", "ask"), expose_env_reward=True)
    observation, _ = env.reset(seed=0)
    action = {"env": 2, "mon": 0}
    following, _, terminated, _, info = env.step(action)
    moved = Transition.from_step(observation, action, following, terminated, info)
    assert "env_reward" in info
    assert moved.reward is None
    # an autoreset step has an empty info: nothing was shown
    assert Transition.from_step(observation, action, following, False, {}).reward is None


def test_rewards_that_are_never_shown_make_no_difference():
    """The ⊥ cells may pay whatever they like: an agent cannot know."""
    problem = monmdp.make("bottleneck", "button")
    mdp = problem.mdp
    reward = np.where(mdp.hidden, 0.5, mdp.reward)
    other = problem.with_mdp(mdp.with_outcome_rewards(reward))
    states = []
    for p in (problem, other):
        agent = agents.make("monitored-mbie-eb", p, log_base=1.5, seed=1)
        walk(agent, MonMDPEnv(p), 400, seed=2)
        states.append(agent.state)
    bottom = np.repeat(problem.mdp.bottom, 2)
    assert states[0].counts.n[bottom].sum() > 0  # ⊥ was visited
    kept = [MonitoredMBIEEB().snapshot(state, problem.shape) for state in states]
    for field in ("n", "n_env", "q_opt", "q_obs"):
        np.testing.assert_array_equal(kept[0][field], kept[1][field])


def test_wrong_observations_actions_and_transitions_are_named():
    agent = agents.make("monitored-mbie-eb", monmdp.make("empty", "ask"))
    agent.begin_episode()
    with pytest.raises(MonMDPError, match="observation"):
        agent.act(3)
    with pytest.raises(MonMDPError, match="env 0 to 35"):
        agent.act({"env": 36, "mon": 0})
    with pytest.raises(MonMDPError, match="Transition"):
        agent.update((0, 1))
    here = {"env": 0, "mon": 0}
    for reward, message in ((float("nan"), "finite"), (-0.5, "below r_min")):
        with pytest.raises(MonMDPError, match=message):
            agent.update(Transition(here, here, reward, 0.0, here, False))
    with pytest.raises(MonMDPError, match="mon 0 to 1"):
        agent.update(Transition(here, {"env": 0, "mon": 2}, None, 0.0, here, False))


# ---- configurations -----------------------------------------------------------------------------


def test_the_papers_settings():
    for world in WORLDS:
        config = agents.paper_config("monitored-mbie-eb", world, "ask")
        assert config == MonitoredMBIEEB(q_opt_init=30.0 if world == "river-swim" else 1.0)
    assert MonitoredMBIEEB().hyper_parameters() == {
        "gamma": 0.99, "q_opt_init": 1.0, "q_obs_init": 100.0, "beta": 5e-4, "beta_m": 5e-4,
        "beta_e": 5e-4, "beta_obs": 5e-4, "beta_kl": 0.05, "log_base": 1.005, "growth": "paper",
        "schedule": "paper", "kappa_star": None, "sweeps": 50, "planner": "sweeps", "backups": 50,
    }  # fmt: skip
    assert agents.paper_config("known-monitor", "bottleneck", "button", figure=11) == KnownMonitor()


def test_wrong_settings_are_refused():
    with pytest.raises(MonMDPError, match="did you mean 'known-monitor'"):
        agents.paper_config("known-montor", "bottleneck", "ask")
    with pytest.raises(MonMDPError, match="figure 7 has no learning curves"):
        agents.paper_config("known-monitor", "bottleneck", "ask", figure=7)
    with pytest.raises(MonMDPError, match="agent 'known-monitor' is not in figure 6"):
        agents.paper_config("known-monitor", "bottleneck", "ask", figure=6)
    with pytest.raises(MonMDPError, match="world 'river-swim' is not in figure 11"):
        agents.paper_config("known-monitor", "river-swim", "ask", figure=11)
    with pytest.raises(MonMDPError, match="monitor 'button' is not in figure 4; there are full"):
        agents.paper_config("monitored-mbie-eb", "river-swim", "button", figure=4)
    with pytest.raises(MonMDPError, match="monitor 'semi-random' is not in figure 9"):
        agents.paper_config("monitored-mbie-eb", "bottleneck", "semi-random", figure=9)
    with pytest.raises(MonMDPError, match="did you mean 'released'"):
        agents.preset("relesed")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": 1.0}, r"\[0, 1\)"),
        ({"gamma": -0.1}, r"\[0, 1\)"),
        ({"beta": -1}, "beta must not be negative"),
        ({"log_base": 1}, "log_base must be above 1"),
        ({"schedule": "constant"}, "needs kappa_star"),
        ({"kappa_star": 3}, "goes with schedule=constant"),
        ({"sweeps": 0}, "sweeps"),
        ({"sweeps": 1.5}, "whole number"),
        ({"growth": "papr"}, "did you mean 'paper'"),
        ({"betta": 1}, "did you mean 'beta"),
        ({"q_opt_init": float("nan")}, "finite"),
    ],
)
@pytest.mark.parametrize("name", AGENTS)
def test_bad_hyper_parameters_are_named(name, params, message):
    with pytest.raises(MonMDPError, match=message):
        agents.config(name, **params)


def test_configurations_are_frozen_and_changed_by_copy():
    config = MonitoredMBIEEB()
    with pytest.raises(AttributeError):
        config.beta = 1.0
    assert agents.config(config, beta=1).beta == 1.0
    assert config.beta == 5e-4


def test_the_known_monitor_is_refused_where_it_would_know_the_reward(tmp_path):
    for name, hides in (
        ("semi-random", True), ("full-random", False), ("button", False),
        ("shy", True), ("patchy", False), ("cameras", False),
    ):  # fmt: skip
        problem = monmdp.make("empty", name)
        assert problem.monitor.reads_reward == hides
        problem.save(tmp_path / "p.npz")
        for p in (problem, monmdp.MonMDP.load(tmp_path / "p.npz")):
            if hides:
                with pytest.raises(MonMDPError, match=name):
                    agents.make("known-monitor", p)
                with pytest.raises(MonMDPError, match=f"'factored-mbie-eb' with .* {name!r}"):
                    agents.make("factored-mbie-eb", p, knows_monitor=True)
            else:
                agents.make("known-monitor", p)


def test_names_stand_for_the_papers_settings_step_by_step_too():
    swim = monmdp.make("river-swim", "full")
    agent = agents.make("monitored-mbie-eb", swim, beta=0.1)
    assert (agent.config.q_opt_init, agent.config.beta) == (30, 0.1)
    assert agents.make(MonitoredMBIEEB(), swim).config.q_opt_init == 1
    foreign = agents.make("monitored-mbie-eb", Foreign(swim), r_min=0)
    assert foreign.config == MonitoredMBIEEB()


# ---- memory, verbs ------------------------------------------------------------------------------


def nbytes(state) -> int:
    return sum(
        nbytes(value) if isinstance(value, tuple) else getattr(value, "nbytes", 8)
        for value in state
    )


@pytest.mark.parametrize("name", [name for name in agents.registry if name != "directed-e2"])
def test_memory_grows_with_the_pairs_not_with_their_square(name, tmp_path):
    sizes = []
    for columns in (40, 80, 160):
        grid = tmp_path / "map.txt"
        grid.write_text("@" + "." * (columns - 2) + "$\n")
        problem = monmdp.make(str(grid), "n-experts")
        config = agents.config(name).for_training(1)
        sizes.append(nbytes(config.new_state(problem.shape, 0.0, 1.0, problem)))
    assert sizes[1] < 2.1 * sizes[0]
    assert sizes[2] < 2.1 * sizes[1]


def test_room_is_set_aside_for_exactly_the_successors_there_are():
    problem = monmdp.make("river-swim", "level-up")
    state = MonitoredMBIEEB().new_state(problem.shape, 0.0, 1.0, problem)
    per_pair = np.diff(problem.transition_matrix().indptr)
    np.testing.assert_array_equal(state.counts.successors.capacity, per_pair)


def test_a_kind_without_implementation_says_so():
    for verb, args in (
        (contract.begin_episode, (None,)),
        (contract.act, (0, None)),
        (contract.update, (Step(0, 0, True, 0.0, 0.0, 0, False),)),
        (contract.test_policy, (None,)),
    ):
        with pytest.raises(TypeError, match="object has no implementation"):
            verb(object(), *args)


def test_dynamics_are_shared_with_the_environment():
    # the compiled loop and the environment read the same functions, not copies
    from monmdp.experiment import loop

    assert loop.step is step
