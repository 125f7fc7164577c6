"""Statistics of runs: pure functions on arrays. Seeds are the replicates, never episodes.

Curves. A run's *area* is the mean of its raw checkpoints, its *end* the mean of the last ten.
Figures smooth each seed by an exponential moving average, then show mean ± 1.96 sd/√n over seeds.

Differences. A contrast Σ wᵢ μᵢ of independent groups has the estimate Σ wᵢ x̄ᵢ, the squared error
e² = Σ eᵢ², eᵢ² = wᵢ² sᵢ²/nᵢ, and e⁴ / Σ eᵢ⁴/(nᵢ-1) degrees of freedom (Welch, Satterthwaite).

Many tasks, after Agarwal et al. (2021): interquartile mean, probability of improvement and
performance profile, with percentile intervals from a bootstrap that resamples runs within every
task and keeps the tasks fixed. Ratios of means are averaged over tasks by their logarithms, and
seeds that two agents share are resampled for both together.

Times. A run that does not reach its goal within its budget is censored, not late. Kaplan and Meier:
S(t) = Π over times u ≤ t of (1 - reached at u / still under way at u).

All intervals are 95 % intervals; all randomness comes from the generator that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray, IntArray

END = 10
"""checkpoints over which the end return is averaged"""
RESAMPLES = 2000
"""bootstrap resamples behind an interval"""
ENTRIES = 1_000_000
"""numbers that the bootstrap holds at a time"""
BOUNDS = (0.025, 0.975)
"""quantiles between which an interval lies"""


class Interval(NamedTuple):
    """An estimate and its 95 % interval; the bounds are NaN if there is only a single value.

    >>> from monmdp.stats import Interval
    >>> interval = Interval(2.0, 1.5, 2.5)
    >>> interval.contains(1.5), interval.in_words()
    (True, '2 [1.5, 2.5]')
    """

    estimate: float
    low: float
    high: float

    def contains(self, value: float) -> bool:
        """Return whether the value lies between the bounds or on one; False if they are NaN."""
        return self.low <= value <= self.high

    def in_words(self, form: str = ".4g") -> str:
        """Write it as ``estimate [low, high]``, without the bounds if they are NaN."""
        if np.isnan(self.low):
            return f"{self.estimate:{form}}"
        return f"{self.estimate:{form}} [{self.low:{form}}, {self.high:{form}}]"


# Curves


def smooth(raw: ArrayLike, old: float = 0.9) -> FloatArray:
    """Exponential moving average along the last axis, starting at the first raw value.

    >>> from monmdp import stats
    >>> stats.smooth([0.0, 1.0, 1.0]).round(2).tolist()
    [0.0, 0.1, 0.19]
    """
    values = np.array(raw, dtype=np.float64)
    for i in range(1, values.shape[-1]):
        values[..., i] = old * values[..., i - 1] + (1 - old) * values[..., i]
    return values


def area(curves: ArrayLike) -> FloatArray:
    """Mean of all checkpoints of curves[..., checkpoint]: how high a learning curve lies.

    >>> from monmdp import stats
    >>> float(stats.area([0.0, 1.0, 1.0, 1.0]))
    0.75
    """
    return np.asarray(np.mean(np.asarray(curves, dtype=np.float64), axis=-1))


def end(curves: ArrayLike, last: int = END) -> FloatArray:
    """Mean of the last checkpoints of curves[..., checkpoint], or of all if there are fewer.

    >>> from monmdp import stats
    >>> float(stats.end([0.0, 1.0, 2.0], last=2))
    1.5
    """
    return area(np.asarray(curves, dtype=np.float64)[..., -last:])


def stays_from(good: ArrayLike) -> IntArray:
    """First index of good[..., checkpoint] where it and all later ones are good.

    That is the number of checkpoints, one more than the last index, if the last one is not good.

    >>> from monmdp import stats
    >>> int(stats.stays_from([True, False, True, True]))
    2
    """
    flags = np.asarray(good, dtype=np.bool_)
    good_to_the_end = np.logical_and.accumulate(flags[..., ::-1], axis=-1)
    return np.asarray(flags.shape[-1] - good_to_the_end.sum(axis=-1), dtype=np.int64)


def steps_to(step: ArrayLike, values: ArrayLike, threshold: float) -> tuple[IntArray, BoolArray]:
    """Steps [...] after which values[..., checkpoint] stay ≥ threshold, and whether they ever do.

    If they do not, the steps are the budget: the last of step[checkpoint] plus one spacing.

    >>> from monmdp import stats
    >>> steps, reached = stats.steps_to([0, 100, 200], [[0, 1, 1], [1, 1, 0]], 0.9)
    >>> steps.tolist(), reached.tolist()
    ([100, 300], [True, False])
    """
    at, curves = np.asarray(step, dtype=np.int64), np.asarray(values, dtype=np.float64)
    if at.ndim != 1 or len(at) < 2 or curves.shape[-1:] != at.shape:
        raise MonMDPError(
            "steps must be as many as the values along their last axis, and at least two; "
            f"got shape {at.shape} for values of shape {curves.shape}"
        )
    times = np.append(at, 2 * at[-1] - at[-2])
    first = stays_from(curves >= threshold)
    return times[first], np.asarray(first < len(at))


def steps_to_v_bootstrap(
    step: ArrayLike,
    curves: ArrayLike,
    threshold: float,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> IntArray:
    """`steps_to` [resample] of the mean over seeds resampled from curves[seed, checkpoint].

    Generators with the same seed draw the same seeds whatever the curves, so the steps of two
    configurations are paired and may be divided resample by resample.

    >>> import numpy as np
    >>> from monmdp import stats
    >>> step, curves = [0, 100, 200], [[0, 1, 1], [0, 0, 1], [0, 0, 1]]
    >>> rng = np.random.default_rng(0)
    >>> found = stats.steps_to_v_bootstrap(step, curves, 0.9, rng)
    >>> len(found), sorted(set(found.tolist()))
    (1000, [100, 200])
    """
    of_seeds = np.asarray(curves, dtype=np.float64)
    n = len(of_seeds)
    return steps_to(step, _counts(n, rng, resamples) @ of_seeds / n, threshold)[0]


# Means and their differences


def half_width(values: ArrayLike, axis: int = 0) -> FloatArray:
    """Half the 95 % interval of the mean along an axis, 1.96 sd/√n; NaN for a single value.

    >>> from monmdp import stats
    >>> round(float(stats.half_width([1.0, 2.0, 3.0])), 3)
    1.132
    """
    array = np.asarray(values, dtype=np.float64)
    n = array.shape[axis]
    if n < 2:
        return np.full(np.delete(array.shape, axis), np.nan)
    width: FloatArray = 1.96 * array.std(axis=axis, ddof=1) / np.sqrt(n)
    return width


def mean_interval(values: ArrayLike) -> Interval:
    """Mean of values[run] ± 1.96 sd/√n, the paper's interval.

    >>> from monmdp import stats
    >>> stats.mean_interval([1.0, 2.0, 3.0]).in_words(".3f")
    '2.000 [0.868, 3.132]'
    """
    array = _checked(values, 1)
    mean, half = float(array.mean()), float(half_width(array))
    return Interval(mean, mean - half, mean + half)


def contrast(terms: Sequence[tuple[float, ArrayLike]]) -> Interval:
    """Σ weight · mean of independent groups (weight, values[run]), with its Welch interval.

    If no group varies, the interval is the estimate; with a group of one value it is unknown.

    >>> from monmdp import stats
    >>> stats.contrast([(1.0, [3.0, 4.0, 5.0]), (-0.5, [2.0, 4.0])]).in_words(".2f")
    '2.50 [0.01, 4.99]'
    """
    from scipy.special import stdtrit

    estimate, squares, freedom = 0.0, [], []
    for weight, values in terms:
        group = _checked(values, 1)
        # Relative to the first value, equal values have exactly their mean and no variance.
        apart = group - group[0]
        estimate += weight * float(group[0] + apart.mean())
        freedom.append(len(group) - 1)
        squares.append(weight**2 * apart.var(ddof=1) / len(group) if freedom[-1] else np.nan)
    total = float(np.sum(squares))
    if total == 0:
        return Interval(estimate, estimate, estimate)
    if np.isnan(total):
        return Interval(estimate, np.nan, np.nan)
    degrees = 1 / np.sum((np.array(squares) / total) ** 2 / np.array(freedom))
    half = float(stdtrit(degrees, BOUNDS[1])) * np.sqrt(total)
    return Interval(estimate, float(estimate - half), float(estimate + half))


def welch(ours: ArrayLike, theirs: ArrayLike) -> Interval:
    """Mean of ours[run] minus mean of theirs[run], independent runs, with its Welch interval.

    >>> from monmdp import stats
    >>> stats.welch([3.0, 4.0, 5.0], [1.0, 2.0, 3.0]).in_words(".2f")
    '2.00 [-0.27, 4.27]'
    """
    return contrast([(1.0, ours), (-1.0, theirs)])


# Many tasks


def iqm_curve(curves: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Interquartile mean over the seeds of curves[seed, checkpoint], and half its interval.

    The interval is Yuen's for a trimmed mean: h of n values are kept, s_w is the standard deviation
    after the others are moved to the nearest kept one (winsorised), and half the width is
    t · s_w √((n-1) / (h(h-1))) with h - 1 degrees of freedom. NaN if fewer than two are kept.

    >>> from monmdp import stats
    >>> mean, half = stats.iqm_curve([[0.0], [1.0], [2.0], [100.0]])
    >>> mean.tolist(), half.round(2).tolist()
    ([1.5], [8.98])
    """
    from scipy.stats import t

    values = np.sort(np.asarray(curves, dtype=np.float64), axis=0)
    n = len(values)
    cut = n // 4
    kept = values[cut : n - cut]
    h, mean = len(kept), kept.mean(axis=0)
    if h < 2:
        return mean, np.full(mean.shape, np.nan)
    deviation = np.clip(values, kept[0], kept[-1]).std(axis=0, ddof=1)
    half: FloatArray = t.ppf(BOUNDS[1], h - 1) * deviation * np.sqrt((n - 1) / (h * (h - 1)))
    return mean, half


def iqm(scores: ArrayLike, axis: tuple[int, ...] | None = None) -> Any:
    """Interquartile mean of scores[...] over some axes: without the lowest and highest quarter.

    >>> from monmdp import stats
    >>> float(stats.iqm([0.0, 1.0, 2.0, 100.0]))
    1.5
    """
    array = np.asarray(scores, dtype=np.float64)
    over = tuple(range(array.ndim)) if axis is None else axis
    last = np.moveaxis(array, over, range(-len(over), 0))
    ordered = np.sort(last.reshape(*last.shape[: last.ndim - len(over)], -1), axis=-1)
    cut = ordered.shape[-1] // 4
    return ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)


def bootstrap(
    scores: ArrayLike,
    statistic: Callable[..., Any],
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Interval:
    """Statistic of scores[run, task] or scores[run], with runs resampled within every task.

    The statistic is called with an array and the axes of runs and tasks, as np.mean is.

    >>> import numpy as np
    >>> from monmdp import stats
    >>> interval = stats.bootstrap([1.0, 2.0, 3.0], np.mean, np.random.default_rng(0))
    >>> interval.estimate, interval.low < 2 < interval.high
    (2.0, True)
    """
    array = _by_task(scores)
    estimate = float(statistic(array, axis=(0, 1)))
    n, tasks = array.shape
    if n < 2:
        return Interval(estimate, np.nan, np.nan)
    found: list[FloatArray] = []
    at_a_time = max(1, ENTRIES // array.size)
    for first in range(0, resamples, at_a_time):
        count = min(at_a_time, resamples - first)
        drawn = rng.integers(n, size=(count, n, tasks))
        found.append(statistic(array[drawn, np.arange(tasks)], axis=(1, 2)))
    return _percentiles(estimate, np.concatenate(found))


def probability_of_improvement(
    ours: ArrayLike, theirs: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Interval:
    """P(X > Y) + P(X = Y)/2 for runs X of ours[run, task], Y of theirs[run, task]: mean over tasks.

    Arrays [run] hold one task. All pairs of runs of a task count. Seeds are paired: within a
    task the bootstrap draws the same seeds on both sides.

    >>> import numpy as np
    >>> from monmdp import stats
    >>> ours, theirs = [3.0, 4.0, 5.0], [1.0, 2.0, 4.5]
    >>> chance = stats.probability_of_improvement(ours, theirs, np.random.default_rng(0))
    >>> round(chance.estimate, 3)
    0.778
    """
    mine, others = _by_task(ours), _by_task(theirs)
    if mine.shape != others.shape:
        raise MonMDPError(
            f"seeds are paired: scores must have one shape, got {mine.shape} and {others.shape}"
        )
    n, tasks = mine.shape
    ahead = (mine[:, None] > others) + 0.5 * (mine[:, None] == others)
    estimate = float(ahead.mean(axis=(0, 1)).mean())
    if n < 2:
        return Interval(estimate, np.nan, np.nan)
    found = np.zeros(resamples)
    for task in range(tasks):
        counts = _counts(n, rng, resamples)
        found += np.sum(counts @ ahead[..., task] * counts, axis=1) / n**2
    return _percentiles(estimate, found / tasks)


def performance_profile(
    scores: ArrayLike, thresholds: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fraction [threshold] of scores[run, task] above each threshold, and its band: low, high.

    The band is a 95 % interval at each threshold separately.

    >>> import numpy as np
    >>> from monmdp import stats
    >>> scores, levels = [[0.2, 0.9], [0.6, 1.0]], [0.0, 0.5, 0.95]
    >>> share, low, high = stats.performance_profile(scores, levels, np.random.default_rng(0))
    >>> share.tolist()
    [1.0, 0.75, 0.25]
    """
    array, levels = _by_task(scores), np.asarray(thresholds, dtype=np.float64)
    n, tasks = array.shape
    above = (array[..., None] > levels).astype(np.float64)
    profile: FloatArray = above.mean(axis=(0, 1))
    if n < 2:
        return profile, np.full_like(profile, np.nan), np.full_like(profile, np.nan)
    found = np.zeros((resamples, len(levels)))
    for task in range(tasks):
        found += _counts(n, rng, resamples) @ above[:, task]
    low, high = np.quantile(found / (n * tasks), BOUNDS, axis=0)
    return profile, low, high


def geometric_mean(values: ArrayLike) -> float:
    """Exp of the mean logarithm of values[...], all above 0.

    >>> from monmdp import stats
    >>> round(stats.geometric_mean([1.0, 100.0]), 6)
    10.0
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0 or not (np.isfinite(array) & (array > 0)).all():
        raise MonMDPError("a geometric mean needs finite numbers above 0, at least one of them")
    return float(np.exp(np.log(array).mean()))


def ratio_of_means(
    theirs: Sequence[ArrayLike],
    ours: Sequence[ArrayLike],
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Interval:
    """Mean of theirs[task][run] over mean of ours[task][run]: geometric mean over the tasks.

    All values must be above 0; tasks may have different numbers of runs. Seeds are paired: within
    a task the bootstrap draws the same seeds on both sides. The interval is a percentile interval.

    >>> import numpy as np
    >>> from monmdp import stats
    >>> theirs, ours = [[20.0, 40.0], [9.0, 9.0]], [[10.0, 20.0], [1.0, 1.0]]
    >>> round(stats.ratio_of_means(theirs, ours, np.random.default_rng(0)).estimate, 3)
    4.243
    """
    if len(theirs) != len(ours):
        raise MonMDPError(f"both sides need the same tasks, got {len(theirs)} and {len(ours)}")
    estimates, found, few = [], np.zeros(resamples), False
    for task, (above, below) in enumerate(zip(theirs, ours, strict=True)):
        top, bottom = _checked(above, 1), _checked(below, 1)
        if top.shape != bottom.shape:
            raise MonMDPError(
                f"seeds are paired: task {task} has {len(top)} runs on one side and {len(bottom)} "
                "on the other"
            )
        estimates.append(geometric_mean(top.mean()) / geometric_mean(bottom.mean()))
        counts = _counts(len(top), rng, resamples)
        found += np.log(counts @ top) - np.log(counts @ bottom)
        few |= len(top) < 2
    estimate = geometric_mean(estimates)
    if few:
        return Interval(estimate, np.nan, np.nan)
    low, high = np.exp(np.quantile(found / len(estimates), BOUNDS))
    return Interval(estimate, float(low), float(high))


# Censored times


def survival(times: ArrayLike, reached: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Kaplan-Meier curve of times[run]: the distinct times t[i] of runs that arrived, and S(t[i]).

    S is 1 before the first of them, and S(t[i]) holds from t[i] until the next. A censored run
    counts as still under way at its time, even if others arrive at that time.

    >>> from monmdp import stats
    >>> t, S = stats.survival([100, 200, 300, 300], [True, True, True, False])
    >>> t.tolist(), S.round(3).tolist()
    ([100.0, 200.0, 300.0], [0.75, 0.5, 0.25])
    """
    ends, there = _checked(times, 1), np.asarray(reached, dtype=np.bool_)
    if ends.shape != there.shape:
        raise MonMDPError(f"each time needs a flag, got {ends.shape} times and {there.shape} flags")
    t = np.unique(ends[there])
    got_there = np.sum((ends == t[:, None]) & there, axis=1)
    under_way = np.sum(ends >= t[:, None], axis=1)
    return t, np.cumprod(1 - got_there / under_way)


def median_time(times: ArrayLike, reached: ArrayLike) -> float | None:
    """First of times[run] by which half have arrived, S(t) ≤ 1/2; None if S stays above.

    >>> from monmdp import stats
    >>> stats.median_time([100, 200, 300, 300], [True, True, True, False])
    200.0
    >>> print(stats.median_time([100, 300, 300], [True, False, False]))
    None
    """
    t, S = survival(times, reached)
    # S is a product of rounded fractions: (1 - 1/4)(1 - 1/3) need not be 1/2 to the last bit.
    half = np.flatnonzero(S <= 0.5 + 1e-9)
    return float(t[half[0]]) if len(half) else None


def restricted_mean(times: ArrayLike, reached: ArrayLike, limit: float) -> float:
    """Mean of min(times[run], limit), allowing for censoring: the area under S up to the limit.

    >>> from monmdp import stats
    >>> stats.restricted_mean([100, 200, 300, 300], [True, True, True, False], limit=300)
    225.0
    """
    t, S = survival(times, reached)
    longest = float(np.max(np.asarray(times)))
    if limit > longest and (len(S) == 0 or S[-1] > 0):
        raise MonMDPError(f"limit {limit:g}: runs were followed only up to {longest:g}")
    inside = t < limit
    edges = np.concatenate([[0.0], t[inside], [limit]])
    return float(np.concatenate([[1.0], S[inside]]) @ np.diff(edges))


def _percentiles(estimate: float, found: Sequence[float] | FloatArray) -> Interval:
    """Return the interval that holds 95 % of what was found."""
    low, high = np.quantile(found, BOUNDS)
    return Interval(estimate, float(low), float(high))


def _counts(n: int, rng: np.random.Generator, resamples: int) -> FloatArray:
    """How often each of n runs is drawn, counts[resample, run], n draws with replacement each."""
    chosen = rng.integers(n, size=(resamples, n)) + n * np.arange(resamples)[:, None]
    counts = np.bincount(chosen.ravel(), minlength=resamples * n)
    return counts.reshape(resamples, n).astype(np.float64)


def _by_task(scores: ArrayLike) -> FloatArray:
    """Scores as [run, task]; [run] is one task."""
    array = np.asarray(scores, dtype=np.float64)
    return _checked(array[:, None] if array.ndim == 1 else array, 2)


def _checked(values: ArrayLike, axes: int) -> FloatArray:
    """Refuse values without statistics; NaN would silently lose every comparison."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != axes or array.size == 0:
        raise MonMDPError(f"values must have {axes} axes and not be empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise MonMDPError("values must be finite numbers")
    return array
