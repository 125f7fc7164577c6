"""The training loop, the only one: environment, monitor, agent and evaluation.

It runs compiled, whole runs in one call, for agents whose state is a named tuple, and as plain
Python for all others; the text is the same. All of its own state is in `clock`, so it can be stopped
at any step and go on later.

Three random streams: the environment's is used in the same way by every agent, two draws an episode
and three a step; the agent has its own; and so has evaluation, whose kind and frequency therefore
never change training.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monmdp.agents.verbs import act, begin_episode, test_policy, update
from monmdp.experiment.evaluation import SCORES, Chances, evaluate
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.dynamics import Tables, reset, step

COLUMNS = (*SCORES, "episodes", "observe_episodes", "rewards_seen")
"""columns of a learning curve: what the test policy scores, episodes begun, those among them that
observe, environment pairs whose reward was shown at least once"""
CLOCK = 7
"""entries of `clock`: step, step in the episode (-1 between episodes), sᵉ, sᵐ, and the last three
columns of the curve"""


def run(
    tables: Tables,
    chances: Chances,
    agent: Any,
    clock: IntArray,
    stop: int,
    limit: int,
    every: int,
    gamma: float,
    eval_episodes: int,
    curve: FloatArray,
    seen: BoolArray,
    env_rng: np.random.Generator,
    agent_rng: np.random.Generator,
    eval_rng: np.random.Generator,
    stamp: Any,
) -> None:
    """Train up to step `stop`; every so many steps write a row of curve[checkpoint, column]."""
    n_sm, n_am = tables.monitor_reward.shape
    n_ae = tables.n_env_actions
    policy = np.empty((len(chances.start), n_ae * n_am))
    t, h, se, sm = clock[0], clock[1], clock[2], clock[3]
    while t < stop:
        if h < 0:
            clock[4] += 1
            clock[5] += begin_episode(agent, agent_rng)
            se, sm = reset(tables, env_rng.random(), env_rng.random())
            h = 0
        if t % every == 0:
            row = curve[t // every]
            test_policy(agent, policy)
            evaluate(tables, chances, policy, gamma, limit, eval_episodes, eval_rng, row)
            row[5], row[6], row[7] = clock[4], clock[5], clock[6]
        s = se * n_sm + sm
        a = act(agent, s, agent_rng)
        ae, am = a // n_am, a % n_am
        pair = se * n_ae + ae
        se, sm, re, rm, shown, ended = step(
            tables, se, sm, ae, am, env_rng.random(), env_rng.random(), env_rng.random()
        )
        if shown and not seen[pair]:
            seen[pair] = True
            clock[6] += 1
        # A reward that was not shown does not reach the agent.
        update(agent, s, a, shown, re if shown else 0.0, rm, se * n_sm + sm, ended)
        t += 1
        h += 1
        if ended or h == limit:
            h = -1
    clock[0], clock[1], clock[2], clock[3] = t, h, se, sm
