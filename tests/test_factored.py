"""Factored MBIE-EB against a plain-Python oracle of its page, and by conduct."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from monmdp import agents, experiment
from monmdp.agents import Transition, verbs
from monmdp.agents import factored_mbie_eb as code
from monmdp.compiling import compiled
from monmdp.envs import MonMDPEnv
from oracle_factored import FactoredOracle

NAME = "factored-mbie-eb"


def oracle_of(config, problem):
    params = config.hyper_parameters()
    given = None
    if params.pop("knows_monitor"):
        monitor, n_ae, n_am = problem.monitor, problem.mdp.n_actions, problem.monitor.n_actions
        chance = problem.observability()
        given = (
            lambda x, y: monitor.transition[problem.pair_class[x[0] * n_ae + x[1]], y[0], y[1]],
            lambda y: monitor.reward[y],
            lambda c: chance[c[0][0] * monitor.n_states + c[1][0], c[0][1] * n_am + c[1][1]],
        )
    return FactoredOracle(problem.shape, problem.mdp.r_min, given=given, **params)


def tested(agent):
    """The test policy, compiled: in plain Python it takes long."""
    policy = np.zeros(agent.state.n.shape)
    compiled(_test, code.State)(agent.state, policy)
    return policy


def _test(agent, policy):
    verbs.test_policy(agent, policy)


def same(state, oracle):
    """Compare all that the agent and the oracle know and want."""
    clock, (n_sm, n_am) = state.clock, state.n_mon.shape
    assert clock[code.K] == oracle.k
    assert clock[code.PHASE] == oracle.phase
    assert clock[code.DONE] == oracle.done
    assert clock[code.NET] == oracle.of_net
    assert clock[code.SINCE] == oracle.since
    assert clock[code.NEWS] == oracle.news
    assert clock[code.IDLE] == oracle.idle
    for c in oracle.cells:
        at = s, a = oracle.index(c)
        assert state.n[at] == oracle.n_c(c)
        assert state.own[at] == oracle.own(c)
        assert state.evidence[at] == pytest.approx(oracle.evidence_c[c], abs=1e-9)
    for x in oracle.xs:
        assert state.n_env[x] == oracle.n_x(x)
        assert state.alone[x] == oracle.alone(x)
        assert state.evidence_env[x] == pytest.approx(oracle.evidence_x[x], abs=1e-9)
        assert state.unresolved[x] == oracle.unresolved[x]
        assert state.aim_env[x] == (x in oracle.aim_x)
        assert state.seen_reward[x] == pytest.approx(oracle.mean_of_seen(x), abs=1e-9)
    for y in oracle.ys:
        assert state.aim_mon[y] == (y in oracle.aim_y)
        if not oracle.given:
            assert state.n_mon[y] == oracle.n_y(y)
            assert state.n_pool[0][y] == sum(oracle.pool(y).values())
    for s in oracle.states:
        assert state.n_start[s[0] * n_sm + s[1]] == oracle.starts[s]
    for name in ("q_hope", "q_obs", "q_net"):
        close(getattr(state, name), getattr(oracle, name), name)


def close(actual, desired, name=""):
    np.testing.assert_allclose(actual, desired, rtol=1e-9, atol=1e-9, err_msg=name)


def follow(problem, config, steps, seed=0, test_every=40):
    """Run an agent step by step and feed its transitions to the oracle; compare all the way."""
    streams = experiment.streams(problem, seed)
    agent = agents.make(config, problem, seed=streams.agent)
    env, oracle = MonMDPEnv(problem), oracle_of(config, problem)
    over, kinds = True, Counter()
    for t in range(steps):
        if over:
            observed = agent.begin_episode()
            assert observed == oracle.begin_episode()
            kinds["net" if oracle.of_net else "observe" if observed else "optimize"] += 1
            observation, _ = env.reset(seed=streams.environment) if t == 0 else env.reset()
        same(agent.state, oracle)
        if t % test_every == 0:
            policy, best = tested(agent), oracle.test_policy()
            if config.pessimistic_test:
                close(agent.state.q_low, oracle.q_low)
            for i, s in enumerate(oracle.states):
                chosen = {divmod(int(a), oracle.n_am) for a in np.flatnonzero(policy[i])}
                assert chosen == best[s]
        action = agent.act(observation)
        assert (action["env"], action["mon"]) in oracle.act(observation["env"], observation["mon"])
        following, _, terminated, truncated, info = env.step(action)
        moved = Transition.from_step(observation, action, following, terminated, info)
        agent.update(moved)
        oracle.update(
            observation["env"], observation["mon"], action["env"], action["mon"],
            moved.reward, moved.monitor_reward, following["env"], following["mon"], terminated,
        )  # fmt: skip
        observation, over = following, terminated or truncated
    same(agent.state, oracle)
    return agent, kinds
