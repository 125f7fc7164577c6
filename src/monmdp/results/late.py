"""How good an agent is in the second half of its training: the measure of the benchmark deep-v1.

A deep agent may find a policy and lose it again, so when it first was good says little.
The *late tests* of a run are those in the second half of its steps. Of these it counts

* the share whose return in M↓ is within 2 % of the minimax-optimal policy's, v: at least
  v - 0.02 |v|. There v is the return of an episode from the start distribution, and exact, as the
  tests are;
* the share of test episodes that step on ⊥, at most: of every test the number of visits to ⊥ in an
  episode, which is exact, or 1 if it is more, and of these the mean.

A run *reaches* v if the first share is at least 80 %. A setting is *solved* by an agent if at least
8 of 10 seeds reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.experiment.training import Run
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.stats import Interval, bootstrap

WITHIN = 0.02
"""of |v|: how far a test may be below v"""
REACHES = 0.8
"""share of the late tests within `WITHIN` from which on a run reaches v"""
SOLVED = 0.8
"""share of the seeds that must reach v: 8 of 10"""


@dataclass(frozen=True)
class Late:
    """What is measured of one run."""

    seed: int
    within: float
    """share of the late tests within 2 % of v"""
    bottom: float
    """share of the episodes of late tests that step on ⊥, at most"""
    paid: float | None
    """share of all training steps on which the monitor cost something; None: not on record"""
    shown: float | None
    """share of all training steps whose reward was shown; None: not on record"""

    @property
    def reaches(self) -> bool:
        """Whether the run reaches v."""
        return self.within >= REACHES


def late_tests(step: IntArray, steps: int) -> BoolArray:
    """Return [test] whether a test is in the second half of so many training steps.

    >>> import numpy as np
    >>> from monmdp.results.late import late_tests
    >>> late_tests(np.arange(0, 40, 10), steps=40).tolist()
    [False, False, True, True]
    """
    return np.asarray(2 * step >= steps)


def share_within(returns: FloatArray, minimax: float, within: float = WITHIN) -> float:
    """Return the share of returns[test] that are at least v - within·|v|.

    >>> import numpy as np
    >>> from monmdp.results.late import share_within
    >>> share_within(np.array([0.5, 0.489, 0.491, 0.1]), minimax=0.5)
    0.5
    >>> share_within(np.array([-2.05, -2.03]), minimax=-2.0)
    0.5
    """
    if not np.isfinite(minimax):
        raise MonMDPError(f"minimax: a finite number expected, got {minimax!r}")
    return float(np.mean(returns >= minimax - within * abs(minimax)))


def late_of(run: Run, minimax: float) -> Late:
    """Return what is measured of a run; `minimax` is v.

    >>> import monmdp
    >>> from monmdp.results.late import late_of
    >>> problem = monmdp.make("loop", "ask")
    >>> run = monmdp.train(problem, "factored-mbie-eb", steps=2000)
    >>> late_of(run, monmdp.solve(problem).episode_return).within
    1.0
    """
    late = late_tests(run.step, run.settings["steps"])
    if not late.any():
        raise MonMDPError("no test is in the second half of training; test more often (every=…)")
    counts = (run.provenance.get(name) for name in ("paid_steps", "shown_steps"))
    paid, shown = (None if n is None else n / run.settings["steps"] for n in counts)
    return Late(
        run.seed,
        share_within(run.curve["worst_case_return"][late], minimax),
        float(np.mean(np.minimum(run.curve["bottom_visits"][late], 1.0))),
        paid,
        shown,
    )


def is_solved(runs: Sequence[Late]) -> bool:
    """Return whether enough of the seeds of a setting reach v.

    >>> from monmdp.results.late import Late, is_solved
    >>> runs = [Late(seed, 0.9 if seed < 8 else 0.0, 0.0, None, None) for seed in range(10)]
    >>> is_solved(runs), is_solved(runs[1:])
    (True, False)
    """
    return bool(runs) and sum(run.reaches for run in runs) >= SOLVED * len(runs)


def mean_difference(
    ours: Sequence[Sequence[Late]], theirs: Sequence[Sequence[Late]]
) -> Interval | None:
    """Return how much larger ours[setting][seed] are than theirs: the share within 2 %, on average.

    Every setting counts the same; the interval resamples seeds within settings. None if no seed is
    in all of them.
    """
    both = _of_same_seeds(ours, theirs, lambda run: run.within)
    if both is None:
        return None
    mine, other = both
    return bootstrap(mine - other, np.mean, np.random.default_rng(0))


def solved_difference(
    ours: Sequence[Sequence[Late]], theirs: Sequence[Sequence[Late]]
) -> Interval | None:
    """Return how many more settings ours[setting][seed] solve than theirs.

    The interval resamples seeds, the same on both sides, within settings. None as above.
    """
    both = _of_same_seeds(ours, theirs, lambda run: float(run.reaches))
    if both is None:
        return None
    mine, other = both

    def more(which: FloatArray, axis: tuple[int, int]) -> FloatArray:
        runs, settings = axis
        enough = SOLVED * which.shape[runs]
        solved = [part.sum(axis=runs) >= enough for part in (which % 2, which // 2)]
        result: FloatArray = np.subtract(*solved, dtype=np.float64).sum(axis=settings - 1)
        return result

    return bootstrap(mine + 2 * other, more, np.random.default_rng(0))


def _of_same_seeds(
    ours: Sequence[Sequence[Late]],
    theirs: Sequence[Sequence[Late]],
    measure: Callable[[Late], float],
) -> tuple[FloatArray, FloatArray] | None:
    """[seed, setting] what is measured on both sides, with the seeds that are in all of them."""
    found = [[{run.seed: measure(run) for run in runs} for runs in side] for side in (ours, theirs)]
    every = [set(of) for side in found for of in side]
    seeds = sorted(set.intersection(*every)) if every else []
    if not seeds:
        return None
    mine, other = (np.array([[of[seed] for of in side] for seed in seeds]) for side in found)
    return mine, other
