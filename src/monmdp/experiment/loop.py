"""The training loop, the only one: environment, monitor and agent.

It runs compiled, whole runs in one call, for agents whose state is a named tuple, and as plain
Python for all others; the text is the same. What it has to remember is in `clock` and `seen`, so it
can stop at any step and go on later.

At every checkpoint it keeps the policy that would be tested; the tests themselves come later and
can make no difference to training. The environment's random stream is used in the same way by every
agent, two draws an episode and three a step; the agent has a stream of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monmdp.agents.verbs import act, begin_episode, reveal, test_policy, update
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.dynamics import Tables, reset, step

COUNTERS = ("episodes", "observe_episodes", "rewards_seen")
"""what is counted: episodes begun, those among them that observe, environment pairs whose reward
was shown at least once"""
CLOCK = 4 + len(COUNTERS)
"""entries of `clock`: step, step in the episode (-1 between episodes), sᵉ, sᵐ, and the counters"""


def run(
    tables: Tables,
    agent: Any,
    clock: IntArray,
    stop: int,
    limit: int,
    every: int,
    policies: FloatArray,
    counters: IntArray,
    seen: BoolArray,
    env_rng: np.random.Generator,
    agent_rng: np.random.Generator,
) -> None:
    """Train up to step `stop`.

    At the i-th checkpoint on the way write policies[i, s, a] and counters[i, :]; a checkpoint is at
    every step that `every` divides.
    """
    n_sm, n_am = tables.monitor_reward.shape
    n_ae = tables.n_env_actions
    t, h, se, sm = clock[0], clock[1], clock[2], clock[3]
    i = 0
    while t < stop:
        if h < 0:
            clock[4] += 1
            clock[5] += begin_episode(agent, agent_rng)
            se, sm = reset(tables, env_rng.random(), env_rng.random())
            h = 0
        if t % every == 0:
            test_policy(agent, policies[i])
            counters[i, 0], counters[i, 1], counters[i, 2] = clock[4], clock[5], clock[6]
            i += 1
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
        # A reward that was not shown does not reach the agent, unless it is an oracle.
        reveal(agent, re)
        update(agent, s, a, shown, re if shown else 0.0, rm, se * n_sm + sm, ended)
        t += 1
        h += 1
        if ended or h == limit:
            h = -1
    clock[0], clock[1], clock[2], clock[3] = t, h, se, sm
