"""The training loop, the only one: environment, monitor and agent.

It runs compiled, whole runs in one call, for agents whose state is a named tuple, and as plain
Python for all others; the text is the same. What it has to remember is in `clock`, `seen` and the
ledger, so it can stop at any step and go on later.

At every checkpoint it keeps the policy that would be tested; the tests themselves come later and
can make no difference to training. The environment's random stream is used in the same way by every
agent, two draws an episode and three a step; the agent has a stream of its own.

The ledger adds up what training itself costs, with the true rewards rᵉ + rᵐ, shown or not: the
discounted returns of all training episodes that are over, and the steps with the worst reward. It
only looks on: it draws nothing, and no agent reads it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.contract import Step, act, begin_episode, reveal, test_policy, update
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.dynamics import Tables, reset, step

COUNTERS = ("episodes", "observe_episodes", "rewards_seen")
"""what is counted: episodes begun, those among them that observe, environment pairs whose reward
was shown at least once"""
CLOCK = 4 + len(COUNTERS)
"""entries of `clock`: step, step in the episode (-1 between episodes), sᵉ, sᵐ, and the counters"""
LEDGER = ("training_return", "finished_episodes", "worst_steps")
"""what the ledger adds up: discounted returns of the training episodes that are over, how many
these are, and training steps whose true rᵉ is the least there is, where that is a loss"""


PULSE = 2
"""entries of `pulse`: not 0 if the loop is to stop, which others write; the steps done, which
others read"""


class Ledger(NamedTuple):
    """What training itself has cost so far."""

    gamma: float
    """discount of the returns"""
    worst: float
    """the reward whose steps are counted; NaN: none"""
    running: FloatArray
    """[2] of the episode under way: its return so far, and γ to the power of its steps"""
    total: FloatArray
    """[3] in the order of LEDGER"""


def open_ledger(gamma: float, r_min: float, r_max: float) -> Ledger:
    """Return an empty ledger.

    The worst reward counts where it is a loss, r_min < 0, and something else can happen,
    r_min < r_max; in a world whose least reward is 0 every step would count that gains nothing.
    """
    worst = r_min if r_min < min(0.0, r_max) else np.nan
    return Ledger(gamma, worst, np.array([0.0, 1.0]), np.zeros(len(LEDGER)))


def run(
    tables: Tables,
    agent: Any,
    clock: IntArray,
    stop: int,
    limit: int,
    every: int,
    policies: FloatArray,
    counters: IntArray,
    ledger: Ledger,
    entries: FloatArray,
    seen: BoolArray,
    env_rng: np.random.Generator,
    agent_rng: np.random.Generator,
    pulse: IntArray,
) -> None:
    """Train up to step `stop`, or until somebody writes into `pulse`.

    At the i-th checkpoint on the way write policies[i, s, a], counters[i, :] and entries[i, :], the
    ledger's totals; a checkpoint is at every step that `every` divides.
    """
    n_sm, n_am = tables.monitor_reward.shape
    n_ae = tables.n_env_actions
    t, h, se, sm = clock[0], clock[1], clock[2], clock[3]
    gain, discount = ledger.running[0], ledger.running[1]
    i = 0
    while t < stop and pulse[0] == 0:
        if h < 0:
            clock[4] += 1
            clock[5] += begin_episode(agent, agent_rng)
            se, sm = reset(tables, env_rng.random(), env_rng.random())
            h = 0
        if t % every == 0:
            test_policy(agent, policies[i])
            counters[i, 0], counters[i, 1], counters[i, 2] = clock[4], clock[5], clock[6]
            for k in range(len(ledger.total)):
                entries[i, k] = ledger.total[k]
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
        update(agent, Step(s, a, shown, re if shown else 0.0, rm, se * n_sm + sm, ended))
        gain += discount * (re + rm)
        discount *= ledger.gamma
        if re == ledger.worst:
            ledger.total[2] += 1.0
        t += 1
        pulse[1] = t
        h += 1
        if ended or h == limit:
            h = -1
            ledger.total[0] += gain
            ledger.total[1] += 1.0
            gain, discount = 0.0, 1.0
    clock[0], clock[1], clock[2], clock[3] = t, h, se, sm
    ledger.running[0], ledger.running[1] = gain, discount
