"""State: the tables in which the agent keeps what it knows, and its clock."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from monmdp.compiling import compilable
from monmdp.model.arrays import FloatArray, IntArray

LIKELY, NEARER, POSSIBLE, OPTIMIZE = 1, 2, 3, 4
"""phases: what is looked for, and when looking is over"""
(
    K, T, FIRST, NET, PHASE, DUE, SINCE, QUIET, IDLE, LOOKED, DONE, OBSERVED, CERTIFIED,
    WHOLE, WHOLE_AT, WHOLE_COST, AIMED_AT, AIM_COST, STALE, SORTED_AT, TURN, USED, NET_AT,
) = range(23)  # fmt: skip
"""entries of `clock`: episodes and steps; whether no action was taken yet in this episode, and
whether it is a net episode; the phase; whether a plan is due at the first action of an episode;
steps since the last plan and since the last news; episodes since then that brought nothing, and
whether this one looked at something; D; episodes that observed; the step at which the policy was
certified; whether a plan from scratch is wanted, the step of the last one and what it took; the
step at which aims were last looked for, and what that took; whether the plan to
observe was left alone; the step at which all pairs were last sorted; how often aims were looked
for; outcomes met; the step of the last plan of the net's from scratch"""
CLOCK = NET_AT + 1
FEAR, TEST, HOPE, SURE, SEE, CHECK = range(6)
"""plans, by what they are paid for: the worst there can be, to learn and to be tested; what is
hoped for, by the likely or the possible plan, whichever came last; what is seen; what was tried
seldom. The fourth hopes like the third and reckons with outcomes never met: certificates compare it
with the second"""
PLANS = CHECK + 1
BINS = 24
"""ω is learnt for pairs tried 1, 2-3, 4-7, … times before; the last bin has no end"""

PAIR = np.dtype(
    [
        ("n", np.int64),  # n(x), visits
        ("n_seen", np.int64),  # those whose reward was shown
        ("n_sorted", np.int64),  # visits when it was last sorted
        ("n_drawn", np.int64),  # visits when conclusions were last drawn
        ("reward", np.float64),  # R̄ᵉ(x); r_min if nothing was seen
        ("squares", np.float64),  # squared deviations of rewards from the mean of their outcome
        ("repeats", np.int64),  # sights of outcomes that had been seen before
        ("error", np.float64),  # √ln(k+2) standard errors of R̄ᵉ(x)
        ("omega", np.float64),  # ω(x)
        ("omega_fresh", np.float64),  # the same for outcomes never met, of the pair
        ("hope", np.float64),  # how likely what was not seen of it can be seen
        ("hoped", np.float64),  # its reward in the hopeful plan, without the monitor's part
        ("unresolved", np.bool_),  # whether it is not known well and not given up
        ("aim", np.bool_),  # whether it is aimed at
        ("waits", np.bool_),  # whether conclusions are to be drawn
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
        ("chance", np.float64),  # ρ̂(y), how likely it shows a reward
        ("weight", np.float64),  # -ln(1 - ρ̲(y)), how much a try in vain counts
        ("aim", np.bool_),  # whether it was never tried and is aimed at
    ],
    align=True,
)
OUTCOME = np.dtype(
    [
        ("sights", np.int64),  # how often its reward was shown
        ("total", np.float64),  # sum of the rewards shown
        ("own", np.float64),  # effective tries in vain of this outcome
        ("own_visits", np.int64),  # its visits when they were counted
        ("in_vain", np.float64),  # e, the same of all that leads there if nothing was seen there
        ("given_up", np.bool_),
        ("hoped", np.bool_),  # whether the hopeful plan hopes for all that follows
    ],
    align=True,
)
STATE = np.dtype(
    [
        ("starts", np.int64),  # episodes that began here
        ("reached", np.int64),  # when aims were last looked for here
    ]
)
PLACE = np.dtype(
    [
        ("met", np.bool_),  # whether the environment state was ever met
        ("ends", np.bool_),  # whether an episode has ended by an action taken there
        ("sights", np.int64),  # rewards that were shown on arrival, and their sum
        ("paid", np.float64),
        ("end_sights", np.int64),  # the same where the episode ended
        ("end_paid", np.float64),
        ("tries", np.float64),  # effective tries in vain of all outcomes that lead there
        ("visits", np.int64),  # and their visits
    ],
    align=True,
)
BIN = np.dtype(
    [
        ("tries", np.int64),  # of pairs tried so often before
        ("novel", np.int64),  # those among them that led to a place never met
        ("fresh", np.int64),  # and those that had an outcome never met
        ("omega", np.float64),  # how likely the first is for pairs tried that often
        ("omega_fresh", np.float64),  # and the second
    ]
)


class Lists(NamedTuple):
    """Things in the order in which they came up; `length` says how many there are of each."""

    length: IntArray
    """[5] in the order of the fields below"""
    met: IntArray
    """environment states that were met"""
    starts: IntArray
    """joint states in which episodes began"""
    waiting: IntArray
    """pairs of which conclusions are to be drawn"""
    aims: IntArray
    """pairs that are aimed at"""
    ends: IntArray
    """environment states in which episodes have ended"""


MET, STARTS, WAITING, AIMS, ENDS = range(5)


class Scratch(NamedTuple):
    """Room for what comes up on the way: the agent makes no arrays while it runs (`borrows`)."""

    ahead: FloatArray
    """[s′ᵐ]"""
    best: FloatArray
    """[sᵐ]"""
    of_mon: FloatArray
    """[sᵐ, aᵐ]"""
    worth: FloatArray
    """[sᵐ, aᵐ]"""
    waiting: IntArray
    """[s]"""


def no_scratch(n_se: int, n_sm: int, n_am: int) -> Scratch:
    """Return room for a problem of that size."""
    y = (n_sm, n_am)
    waiting = np.empty(n_se * n_sm, dtype=np.int64)
    return Scratch(np.empty(n_sm), np.empty(n_sm), np.empty(y), np.empty(y), waiting)


def no_lists(n_se: int, n_sm: int, n_x: int) -> Lists:
    """Return empty lists with all the room there may be need of."""
    return Lists(
        length=np.zeros(5, dtype=np.int64),
        met=np.zeros(n_se, dtype=np.int64),
        starts=np.zeros(n_se * n_sm, dtype=np.int64),
        waiting=np.zeros(n_x, dtype=np.int64),
        aims=np.zeros(n_x, dtype=np.int64),
        ends=np.zeros(n_se, dtype=np.int64),
    )


@compilable
def append(lists: Any, which: int, column: IntArray, item: int) -> None:
    """Put an item at the end of a list."""
    column[lists.length[which]] = item
    lists.length[which] += 1


@compilable
def is_observing(clock: IntArray, stop: bool) -> bool:
    """Return whether the agent looks for something now."""
    return clock[NET] > 0 or clock[PHASE] < OPTIMIZE or not stop
