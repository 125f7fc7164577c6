"""Posterior sampling and R-max: against plain-Python oracles, and by conduct."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from test_monitored_mbie_eb import Foreign, Slippery, counts_of, walk

import monmdp
from conftest import MONITORS, WORLDS, one_in, random_monmdp, seeds
from monmdp import MonMDPError, agents, experiment
from monmdp.agents import PosteriorSampling, RMax, Transition
from monmdp.agents.greedy import TIE
from monmdp.agents.posterior_sampling import _draw
from monmdp.envs import MonMDPEnv
from monmdp.report.layers import layers as layers_of
from oracles.posterior_sampling_and_r_max import PosteriorSamplingOracle, RMaxOracle

ORACLES = {"posterior-sampling": PosteriorSamplingOracle, "r-max": RMaxOracle}


def follow(problem, config, steps, seed=0):
    """Run an agent step by step and feed its transitions to the oracle; compare all the way."""
    streams = experiment.streams(problem, seed)
    agent = agents.make(config, problem, seed=streams.agent)
    bounds = {"r_min": problem.mdp.r_min, "r_max": problem.mdp.r_max}
    oracle = ORACLES[config.name](problem.shape, **bounds, **config.hyper_parameters())
    env, over, pinned = MonMDPEnv(problem), True, 0
    close = {"rtol": 1e-12, "atol": 1e-10}
    for t in range(steps):
        if over:
            same_numbers = copy.deepcopy(agent.rng)
            assert agent.begin_episode() is oracle.begin_episode(same_numbers) is False
            assert agent.rng.bit_generator.state == same_numbers.bit_generator.state
            np.testing.assert_allclose(agent.state.q, oracle.q, **close)
            np.testing.assert_allclose(agent.state.q_opt, oracle.q_opt, **close)
            pinned += (oracle.q == oracle.optimum).sum()
            observation, _ = env.reset(seed=streams.environment) if t == 0 else env.reset()
        action = agent.act(observation)
        row = np.array(oracle.scores(problem.shape.joint_state(observation)))
        if (action["env"], action["mon"]) not in oracle.greedy_set(*observation.values()):
            # a tie that rounding decides
            slack = TIE + 2e-10 + 2e-12 * abs(row.max())
            assert row[problem.shape.joint_action(action)] >= row.max() - slack
        following, _, terminated, truncated, info = env.step(action)
        moved = Transition.from_step(observation, action, following, terminated, info)
        agent.update(moved)
        oracle.update(
            observation["env"], observation["mon"], action["env"], action["mon"],
            moved.reward, moved.monitor_reward, following["env"], following["mon"], terminated,
        )  # fmt: skip
        observation, over = following, terminated or truncated
    found = counts_of(agent.state)
    assert found["n"] == dict(+oracle.n_joint)
    assert found["n_env"] == dict(+oracle.n_env)
    assert found["n_mon"] == dict(+oracle.n_mon)
    assert found["n_successor"] == dict(oracle.n_successor)
    assert found["n_ended"] == dict(oracle.n_ended)
    compiled = monmdp.train(problem, config, steps, seed, snapshots=[steps], every=37)
    for field, values in config.snapshot(agent.state, problem.shape).items():
        np.testing.assert_array_equal(compiled.snapshots[field][0], values, err_msg=field)
    np.testing.assert_array_equal(compiled.policy.probability, agent.test_policy())
    return pinned


def stretched(problem, more):
    """The same problem, of which less is known: rewards could be larger by so much."""
    mdp = problem.mdp
    return problem.with_mdp(dataclasses.replace(mdp, r_max=mdp.r_max + more))


PROBLEMS = [(world, "ask") for world in WORLDS] + [("loop", monitor) for monitor in MONITORS]


@pytest.mark.parametrize(("world", "monitor"), one_in(4, PROBLEMS))
@pytest.mark.parametrize("name", ORACLES)
def test_oracle_stepwise_and_compiled_agree(name, world, monitor):
    limit = 2 if world == "treasure-hunter" else 15
    problem = monmdp.make(world, monitor, time_limit=limit, rho=0.7)
    config = agents.paper_config(name, world, monitor)
    if name == "r-max":
        config = agents.config(config, m=2)  # with the default nothing would become known so soon
    assert follow(problem, config, 80) > 0


@settings(max_examples=25)
@given(
    problem_seed=seeds,
    gamma=st.sampled_from([0.0, 0.5, 0.99]),
    sweeps=st.sampled_from([1, 2, 5, 50]),
    alpha=st.sampled_from([0.0, 0.01, 2.0]),
    sigma=st.sampled_from([0.0, 0.1, 20.0]),
    q_init=st.sampled_from([None, 3.0]),
    r_max=st.sampled_from([0.0, 9.0]),
)
def test_posterior_sampling_on_random_problems(
    problem_seed, gamma, sweeps, alpha, sigma, q_init, r_max
):
    config = PosteriorSampling(gamma=gamma, sweeps=sweeps, alpha=alpha, sigma=sigma, q_init=q_init)
    follow(stretched(random_monmdp(problem_seed), r_max), config, 120, problem_seed)


@settings(max_examples=25)
@given(
    problem_seed=seeds,
    gamma=st.sampled_from([0.0, 0.5, 0.99]),
    sweeps=st.sampled_from([1, 2, 5, 50]),
    m=st.sampled_from([1, 2, 7]),
    q_init=st.sampled_from([None, 3.0]),
    r_max=st.sampled_from([0.0, 9.0]),
)
def test_r_max_on_random_problems(problem_seed, gamma, sweeps, m, q_init, r_max):
    config = RMax(gamma=gamma, sweeps=sweeps, m=m, q_init=q_init)
    follow(stretched(random_monmdp(problem_seed), r_max), config, 120, problem_seed)


# ---- what is drawn ------------------------------------------------------------------------------


def draws(agent, n=4000):
    """Rewards [draw, s, a] and γ P [draw, slot] of many models drawn from one posterior."""
    state = agent.state
    rewards, weights = [], []
    for _ in range(n):
        reward, go_on = np.empty(state.q.shape), np.zeros(len(state.counts.successors.go_on))
        _draw(state, agent.rng, reward, go_on)
        rewards.append(reward)
        weights.append(go_on)
    return np.array(rewards), np.array(weights)


def told(agent, s, a, reward, next_s, times, ended=False):
    """Let an agent with a single monitor state and action have seen something some times."""
    where = {"env": s, "mon": 0}, {"env": a, "mon": 0}, {"env": next_s, "mon": 0}
    for _ in range(times):
        agent.update(Transition(where[0], where[1], reward, 0.0, where[2], ended))


def test_what_is_drawn_has_the_distribution_that_it_should():
    world = monmdp.worlds.from_tables(
        np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)), r_min=-2.0, time_limit=9
    )
    problem = monmdp.make(world, "full-random")
    config = PosteriorSampling(alpha=0.5, sigma=0.3, gamma=0.9, q_init=0.0)
    agent = agents.make(config, problem, seed=1, r_max=1.0)
    told(agent, 0, 0, None, 1, 3)
    told(agent, 0, 0, None, 2, 2)
    told(agent, 0, 0, None, 2, 1, ended=True)
    told(agent, 1, 0, 0.5, 1, 9)
    told(agent, 2, 1, 0.95, 0, 1)
    agent.state.counts.n_mon[:] = 10**18  # so that rᵐ is 0, nearly for certain
    rewards, weights = draws(agent)
    # never shown in six tries: r_min + θ (r_max - r_min), θ ~ Beta(1, 7)
    hope = (rewards[:, 0, 0] + 2.0) / 3.0
    assert stats.kstest(hope, stats.beta(1, 7).cdf).pvalue > 1e-3
    # seen nine times: N(0.5, 0.3²/9)
    assert stats.kstest(rewards[:, 1, 0], stats.norm(0.5, 0.1).cdf).pvalue > 1e-3
    # seen once, near r_max: clipped
    assert rewards[:, 2, 1].max() == pytest.approx(1.0, abs=1e-8)
    clipped = (np.abs(rewards[:, 2, 1] - 1.0) < 1e-8).mean()
    assert clipped == pytest.approx(stats.norm.sf(0.05 / 0.3), abs=0.04)
    # successors 1 (3 visits), 2 (2 and an ending), something new (0.5): the marginals are betas
    for slot, visits in ((0, 3), (1, 2)):
        share = weights[:, slot] / 0.9
        assert stats.kstest(share, stats.beta(visits, 6.5 - visits).cdf).pvalue > 1e-3
    rest = 1 - weights[:, :2].sum(axis=1) / 0.9
    assert stats.kstest(rest, stats.beta(1.5, 5).cdf).pvalue > 1e-3


def test_something_new_is_worth_an_untried_pair():
    world = monmdp.worlds.from_tables(
        np.ones((1, 1, 1)), np.zeros((1, 1)), layout="sas", time_limit=9
    )
    config = PosteriorSampling(alpha=1.0, sigma=0.0, gamma=0.5, q_init=7.0)
    agent = agents.make(config, monmdp.make(world, "full"), r_max=1.0)
    told(agent, 0, 0, 0.25, 0, 3)
    rewards, weights = draws(agent, 200)
    np.testing.assert_allclose(rewards[:, 0, 0], 0.25 + (0.5 - weights[:, 0]) * 7.0)


def test_planning_skips_nothing_where_something_new_is_likely():
    """Where all values fall, a pair that is likely to meet something new falls less than others."""
    world = monmdp.worlds.from_tables(np.full((2, 4, 2), 0.5), np.zeros((2, 4)), time_limit=9)
    problem = monmdp.make(world, "full")
    config = PosteriorSampling(alpha=3.0, sigma=0.5, q_init=10.0)
    for seed in range(20):
        agent = agents.make(config, problem, seed=seed, r_min=-5.0, r_max=5.0)
        oracle = PosteriorSamplingOracle(
            problem.shape, -5.0, r_max=5.0, **config.hyper_parameters()
        )
        rng = np.random.default_rng(seed)
        for pair in range(8):  # all pairs are tried: none is pinned
            s, a, reward = pair // 4, pair % 4, float(rng.normal())
            for _ in range(int(rng.integers(1, 40))):
                next_s = int(rng.integers(2))
                told(agent, s, a, reward, next_s, 1)
                oracle.update(s, 0, a, 0, reward, 0.0, next_s, 0, False)
        for _ in range(3):
            oracle.begin_episode(copy.deepcopy(agent.rng))
            agent.begin_episode()
            np.testing.assert_allclose(agent.state.q, oracle.q, rtol=0, atol=1e-10)


def test_without_noise_the_model_drawn_is_nearly_the_mean():
    problem = monmdp.make("empty", "full")
    config = PosteriorSampling(alpha=0.0, sigma=0.0)
    run = monmdp.train(problem, config, 3_000, snapshots=[3_000])
    q, q_opt, n = (run.snapshots[name][0] for name in ("q", "q_opt", "n"))
    # moves are deterministic, so a Dirichlet over one successor is certain
    assert (n[:-1] > 0).all()  # of all cells but the chest's, where some action ends the episode
    assert abs(q[0].max() - q_opt[0].max()) < 1e-2


# ---- conduct ------------------------------------------------------------------------------------


def final(agent, monitor, steps=10_000, **params):
    """Minimax return, and mean end return."""
    problem = monmdp.make("bottleneck", monitor, **params)
    (table,) = monmdp.compare(problem, [agent], steps, seeds=4, jobs=2).comparisons
    (row,) = table.rows
    return row.of.minimax, row.end.estimate


@pytest.mark.parametrize("monitor", ["ask", "button"])
@pytest.mark.parametrize("name", ORACLES)
def test_both_become_minimax_optimal_where_a_look_shows_the_reward(name, monitor):
    best, end = final(name, monitor)
    assert end == pytest.approx(best, abs=0.01)


def test_r_max_needs_patience_where_rewards_are_rarely_seen():
    best, end = final("r-max", "full-random", 30_000, rho=0.05)
    assert end == pytest.approx(best, abs=0.01)
    best, end = final(RMax(m=5), "full-random", 30_000, rho=0.05)
    assert end < best - 0.5


def test_posterior_sampling_gives_up_hope_where_rewards_are_rarely_seen():
    best, end = final("posterior-sampling", "full-random", 30_000, rho=0.05)
    assert end < best - 0.5


def test_r_max_comes_back_until_a_pair_is_known():
    problem = monmdp.make("treasure-hunter", "full")
    agent = agents.make("r-max", problem, m=3)
    walk(agent, MonMDPEnv(problem), 9, seed=0)
    start = int(problem.mdp.start.argmax())
    assert agent.state.counts.n[start].tolist() == [3, 3, 3]
    assert agent.state.counts.n.sum() == 9
    agent.begin_episode()
    assert agent.state.q[start].max() == pytest.approx(1.0)  # Full shows even what ⊥ hides
    assert agent.state.q.max() == pytest.approx(100)


def test_the_test_policy_hopes_for_nothing_that_was_not_seen():
    problem = monmdp.make("treasure-hunter", "ask")
    for name in ORACLES:
        agent = agents.make(name, problem, seed=0)
        agent.begin_episode()
        np.testing.assert_array_equal(agent.test_policy(), 1 / 6)
        # RIGHT was tried in vain, UP shown to be gold, LEFT never tried
        here = {"env": 0, "mon": 0}
        agent.update(Transition(here, {"env": 2, "mon": 0}, None, 0.0, here, True))
        agent.update(Transition(here, {"env": 1, "mon": 1}, 0.1, -0.2, here, True))
        agent.begin_episode()
        policy = agent.test_policy().reshape(problem.shape)
        assert policy[0, 0, 1, 1] == 1.0
        assert agent.state.q_opt[0].tolist() == pytest.approx(
            [-1000, -1000, -1000, -0.1, -10, -1000]
        )


# ---- configurations -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ORACLES)
def test_a_foreign_environment_gives_the_same_agent(name):
    problem = monmdp.make("hazard", "n-experts")
    streams = experiment.streams(problem, 3)
    env = Foreign(problem)
    agent = agents.make(name, env, seed=streams.agent, r_min=-10, r_max=1)
    walk(agent, env, 400, streams.environment)
    run = monmdp.train(problem, agents.config(name), 400, 3, snapshots=[400])
    for field, values in agent.config.snapshot(agent.state, problem.shape).items():
        np.testing.assert_array_equal(run.snapshots[field][0], values, err_msg=field)


@pytest.mark.parametrize("name", ORACLES)
def test_more_successors_than_the_model_has_find_room(name):
    env = Slippery(MonMDPEnv(monmdp.make("empty", "button")))
    agent = agents.make(name, env)
    walk(agent, env, 600, seed=0)
    slots = agent.state.counts.successors
    for pair in np.flatnonzero(slots.used):
        mine = slice(slots.first[pair], slots.first[pair] + slots.used[pair])
        assert slots.visits[mine].sum() == agent.state.counts.n.flat[pair]


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("r-max", {"m": 0}, "m must be"),
        ("r-max", {"m": 1.5}, "whole number"),
        ("r-max", {"sweeps": 0}, "sweeps"),
        ("posterior-sampling", {"alpha": -1}, "alpha must not be negative"),
        ("posterior-sampling", {"sigma": -1}, "sigma must not be negative"),
        ("posterior-sampling", {"q_init": float("nan")}, "finite"),
        ("posterior-sampling", {"alfa": 1}, "did you mean 'alpha'"),
    ],
)
def test_bad_hyper_parameters_are_named(name, params, message):
    with pytest.raises(MonMDPError, match=message):
        agents.config(name, **params)


@pytest.mark.parametrize("name", ORACLES)
def test_r_max_below_r_min_is_refused(name):
    with pytest.raises(MonMDPError, match="r_max = -20 is below r_min = -10"):
        agents.make(name, monmdp.make("hazard", "ask"), r_max=-20)


@pytest.mark.parametrize("name", ORACLES)
def test_their_settings_are_the_same_everywhere(name):
    for world in WORLDS:
        assert agents.paper_config(name, world, "ask") == agents.config(name)
    with pytest.raises(MonMDPError, match="is not in figure 9"):
        agents.paper_config(name, "bottleneck", "ask", 9)
    state = agents.config(name, gamma=0.9).new_state(monmdp.make("loop", "ask").shape, -1.0, 2.0)
    assert state.q.min() == state.q.max() == pytest.approx(20)
    assert state.q_opt.min() == state.q_opt.max() == pytest.approx(-10)
    state = agents.config(name, q_init=3.0).new_state(monmdp.make("loop", "ask").shape, -1.0, 2.0)
    assert state.q.min() == state.q.max() == 3.0


@pytest.mark.parametrize("name", ORACLES)
def test_layers(name):
    problem = monmdp.make("bottleneck", "ask", rho=0.5, time_limit=20)
    config = agents.config(name)
    run = monmdp.train(problem, config, 800, 1, snapshots=[800])
    snapshot = {field: values[0] for field, values in run.snapshots.items()}
    layers, shape = layers_of(config, snapshot, problem), problem.shape
    assert set(layers) == {
        "visits", "seen", "status", "q_opt", "q", "policy", "monitor_policy",
        *(("hope",) if name == "posterior-sampling" else ()),
    }  # fmt: skip
    n = snapshot["n"].reshape(shape)
    for se, sm, ae in np.ndindex(*shape[:3]):
        at, seen = (se, sm, ae), snapshot["n_env"][se, ae]
        assert layers["visits"][at] == n[at].sum()
        assert layers["seen"][at] == seen
        assert layers["status"][at] == (1 if seen else 2 if (n[at] > 0).all() else 0)
        for q in ("q", "q_opt"):
            assert layers[q][at] == snapshot[q].reshape(shape)[at].max()
        if "hope" in layers:
            # the mean of Beta(1, 1 + N), of the monitor action with which it is largest
            assert layers["hope"][at] == (0 if seen else 1 / (2 + n[at].min()))
    assert set(np.unique(layers["status"])) == {0, 1, 2}
