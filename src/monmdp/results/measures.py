"""How two agents compare, and where one ends: the measures by which claims are judged.

*Steps*: per seed, training steps until the test policy is within 1 % of v for good, by its exact
return in M↓; the budget if never. *Seen*: per seed, the curve as it is drawn, clipped to the axis
of its panel, averaged over the tests that the axis shows. *Area*: the mean of all tests, unclipped.
*End*: the mean of the last ten tests, by the exact returns of the tested policies.

Steps decide who is better, unless no seed of either agent converges; then *seen* does. An agent is
*better* or *worse* if the 95 % interval of the difference lies wholly on one side of 0. It is *on
par* if the interval lies within ±10 % of the rival's steps, or within ±2 % of the axis height for
*seen* and *end*: a wide interval is no proof of equality. Else the comparison is *open*.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from monmdp.model.arrays import FloatArray
from monmdp.results.evidence import Aggregate, Axis
from monmdp.stats import Interval, contrast

STEPS_MARGIN = 0.10
"""of the rival's steps"""
AXIS_MARGIN = 0.02
"""of the height of an axis"""
VISITS_MARGIN = 0.02
"""visits an episode"""
FEWEST = 5
"""intervals from fewer seeds are too narrow to decide anything"""


class Standing(Enum):
    """How one agent compares with another."""

    BETTER = "better"
    PAR = "on par"
    WORSE = "worse"
    OPEN = "open"


def standing(gain: Interval, margin: float) -> Standing:
    """Return what the interval of a gain says; better and worse come before on par."""
    if gain.low > 0:
        return Standing.BETTER
    if gain.high < 0:
        return Standing.WORSE
    return Standing.PAR if within(gain, margin) else Standing.OPEN


def within(difference: Interval, margin: float) -> bool:
    """Return whether a whole interval lies within ± a margin."""
    return bool(-margin <= difference.low and difference.high <= margin)


def shared_seeds(*runs: Aggregate) -> list[list[int]]:
    """Return where the seeds that all of them have stand in each of them."""
    shared = sorted(set.intersection(*({*of.seeds} for of in runs)))
    return [[of.seeds.index(seed) for seed in shared] for of in runs]


def paired_difference(
    one: Aggregate, other: Aggregate, ours: FloatArray, theirs: FloatArray
) -> Interval:
    """Return the mean difference of ours[seed] and theirs[seed], paired by seed."""
    mine, others = shared_seeds(one, other)
    if len(mine) < FEWEST:
        return Interval(float(ours.mean() - theirs.mean()), np.nan, np.nan)
    return contrast([(1.0, ours[mine] - theirs[others])])


@dataclass(frozen=True)
class HeadToHead:
    """One agent against a rival, by all measures."""

    standing: Standing
    by: str
    """the measure that decides: steps or seen"""
    gain: Interval
    """of that measure: steps saved, or return gained"""
    margin: float
    measured: str
    """in words: both means, the gain, its interval"""
    beside: str
    """what the other measures say"""


def compare(ours: Aggregate, theirs: Aggregate, axis: Axis) -> HeadToHead:
    """Compare two agents on one problem."""
    steps = [of.steps_to_optimal.astype(np.float64) for of in (ours, theirs)]
    seen = [of.seen[axis.key] for of in (ours, theirs)]
    saved = paired_difference(ours, theirs, -steps[0], -steps[1])
    gained = paired_difference(ours, theirs, *seen)
    area = paired_difference(ours, theirs, ours.area, theirs.area)
    height = axis.height or max(1.0, abs(ours.minimax))
    steps_margin, seen_margin = STEPS_MARGIN * float(steps[1].mean()), AXIS_MARGIN * height
    never = ["" if of.optimal.all() else "at least " for of in (ours, theirs)]
    in_steps = (
        f"{never[0]}{steps[0].mean():,.0f} against {never[1]}{steps[1].mean():,.0f} steps, "
        f"fewer by {saved.in_words('+,.0f')}"
    )
    in_seen = f"seen on {axis} {seen[0].mean():.4g} against {seen[1].mean():.4g}, more by "
    in_seen += gained.in_words("+.3g")
    in_area = f"area more by {area.in_words('+.3g')}"
    by_seen = standing(gained, seen_margin)
    if not (ours.optimal.any() or theirs.optimal.any()):
        beside = f"no seed of either converges; {in_area}"
        return HeadToHead(by_seen, "seen", gained, seen_margin, in_seen, beside)
    by_steps = standing(saved, steps_margin)
    beside = f"{in_seen} ({by_seen.value}); {in_area}"
    return HeadToHead(by_steps, "steps", saved, steps_margin, in_steps, beside)
