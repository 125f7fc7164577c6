"""State: the tables in which the agent keeps what it knows, and its clock."""

from __future__ import annotations

import numpy as np

from monmdp.compiling import compilable
from monmdp.model.arrays import IntArray

LIKELY, POSSIBLE, OPTIMIZE = 1, 2, 3
"""phases: what is looked for, and when looking is over"""
K, T, FIRST, NET, PHASE, DUE, SINCE, QUIET, IDLE, LOOKED, DONE, OBSERVED, CERTIFIED = range(13)
"""entries of `clock`: episodes and steps; whether no action was taken yet in this episode, and
whether it is a net episode; the phase; whether a plan is due at the first action of an episode;
steps since the last plan and since the last news; episodes since then that brought nothing, and
whether this one looked at something; D; episodes that observed; the step at which the policy was
certified"""
CLOCK = CERTIFIED + 1
BINS = 24
"""ω is learnt for pairs tried 1, 2-3, 4-7, … times before; the last bin has no end"""

CELL = np.dtype(
    [
        ("n", np.int64),  # n(x,y), visits
        ("chance", np.float64),  # how likely a reward is shown: ρ̂(y), or what was given
        ("weight", np.float64),  # how much a try in vain counts: -ln(1 - ρ̲(y))
        ("untried", np.bool_),  # whether nothing is known of where it leads
        ("reward", np.float64),  # of the plan in progress
        ("q_low", np.float64),
        ("q_hope", np.float64),  # of the likely or the possible plan, whichever came last
        ("q_obs", np.float64),  # of the plan to observe, or of the net's
    ],
    align=True,
)
PAIR = np.dtype(
    [
        ("n", np.int64),  # n(x), visits
        ("n_seen", np.int64),  # those whose reward was shown
        ("n_sorted", np.int64),  # visits when it was last sorted
        ("reward", np.float64),  # R̄ᵉ(x); r_min if nothing was seen
        ("squares", np.float64),  # squared deviations of rewards from the mean of their outcome
        ("repeats", np.int64),  # sights of outcomes that had been seen before
        ("error", np.float64),  # √ln(k+2) standard errors of R̄ᵉ(x)
        ("omega", np.float64),  # ω(x)
        ("hope", np.float64),  # how likely what was not seen of it can be seen
        ("unresolved", np.bool_),  # whether it is not known well and not given up
        ("aim", np.bool_),  # whether it is aimed at
    ],
    align=True,
)
MONITOR_PAIR = np.dtype(
    [
        ("n", np.int64),  # n(y), visits
        ("total", np.float64),  # sum of the monitor's rewards
        ("shown", np.int64),  # visits that showed a reward
        ("tries", np.int64),  # visits of outcomes whose reward had been seen before
        ("hits", np.int64),  # those among them that showed it again
        ("aim", np.bool_),  # whether it was never tried and is aimed at
    ],
    align=True,
)
OUTCOME = np.dtype(
    [
        ("sights", np.int64),  # how often its reward was shown
        ("total", np.float64),  # sum of the rewards shown
        ("in_vain", np.float64),  # e, effective tries in vain
        ("given_up", np.bool_),
        ("hoped", np.bool_),  # whether the plan in progress hopes for all that follows
    ],
    align=True,
)
STATE = np.dtype(
    [
        ("starts", np.int64),  # episodes that began here
        ("v_low", np.float64),
        ("v", np.float64),  # of the other plans
    ]
)
BIN = np.dtype([("tries", np.int64), ("novel", np.int64)])
"""tries of pairs tried so often before, and those among them that had an outcome never met"""


@compilable
def is_observing(clock: IntArray, stop: bool) -> bool:
    """Return whether the agent looks for something now."""
    return clock[NET] > 0 or clock[PHASE] < OPTIMIZE or not stop
