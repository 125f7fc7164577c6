"""The 1/ρ law on bandits: the cost of finding a good arm when rewards are rarely shown.

The lower bound says: an (ε, δ)-correct policy on k Bernoulli arms, each reward shown with chance ρ,
needs E[T - 1] ≥ c₁ k/(ρ ε²) ln(c₂/δ) pulls on some bandit, because E[shown pulls] = ρ E[T - 1].
Here a policy that is (ε, δ)-correct, successive elimination, plays on a hard bandit (one arm better
than all others by ε), and the exponent b of E[T - 1] ∝ ρ^-b is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.compiling import compiled
from monmdp.errors import MonMDPError
from monmdp.memory import demand_room
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import number, whole_number
from monmdp.stats import half_width
from monmdp.theory.constants import BANDIT_EPSILON

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RHOS = (1.0, 0.5, 0.2, 0.1, 0.05)
MOST_PULLS = 1e12
"""a run of so many pulls takes hours"""
RESAMPLES = 2000
"""bootstrap resamples behind the interval of the exponent"""


def eliminate(
    mean: FloatArray, rho: float, epsilon: float, delta: float, rng: np.random.Generator
) -> tuple[int, int, int]:
    """Find an ε-best arm by successive elimination; return it, the pulls, and those shown.

    Every arm still in play is pulled in turn. After n shown rewards the mean of an arm is known to
    √(ln(4kn²/δ)/(2n)), for all arms and n at once with chance 1 - δ. Arms that are certainly worse
    than another leave; the end is when one is left, or all in play are known to ε/2.

    >>> import numpy as np
    >>> from monmdp import theory
    >>> mean, rng = np.array([0.2, 0.8]), np.random.default_rng(0)
    >>> arm, pulls, shown = theory.eliminate(mean, rho=0.5, epsilon=0.2, delta=0.01, rng=rng)
    >>> arm, shown < pulls
    (1, True)
    """
    k = len(mean)
    shown, total, guess = np.zeros(k), np.zeros(k), np.zeros(k)
    radius, playing = np.full(k, np.inf), np.ones(k, dtype=np.bool_)
    pulls = 0
    while True:
        for arm in range(k):
            if playing[arm]:
                pulls += 1
                reward = 1.0 if rng.random() < mean[arm] else 0.0
                if rng.random() < rho:
                    shown[arm] += 1.0
                    total[arm] += reward
                    n = shown[arm]
                    guess[arm] = total[arm] / n
                    log = math.log(4.0 * k * n * n) - math.log(delta)
                    radius[arm] = math.sqrt(log / (2.0 * n))
        floor = -np.inf
        for arm in range(k):
            if playing[arm]:
                floor = max(floor, guess[arm] - radius[arm])
        best, left, widest = -1, 0, 0.0
        for arm in range(k):
            playing[arm] = playing[arm] and guess[arm] + radius[arm] >= floor
            if playing[arm]:
                left += 1
                widest = max(widest, radius[arm])
                if best < 0 or guess[arm] > guess[best]:
                    best = arm
        if left == 1 or widest <= epsilon / 2.0:
            return best, pulls, int(shown.sum())


@dataclass(frozen=True, eq=False)
class BanditLaw:
    """How the number of pulls grows as rewards are shown more rarely."""

    k: int
    epsilon: float
    delta: float
    rho: FloatArray
    """[i] the chances to see a reward"""
    pulls: IntArray = field(repr=False)
    """[i, run] T - 1, pulls until the policy was certain"""
    shown: IntArray = field(repr=False)
    """[i, run] those whose reward was shown"""
    correct: FloatArray
    """[i] share of runs that ended with an arm less than ε below the best; at least 1 - δ"""
    exponent: float
    """b in E[T - 1] ∝ ρ^-b, by least squares on logarithms"""
    interval: tuple[float, float]
    """its 95 % interval, from resampling the runs"""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain Python objects, for JSON."""
        return {
            "k": self.k,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "runs": self.pulls.shape[1],
            "rho": self.rho.tolist(),
            "mean_pulls": self.pulls.mean(axis=1).tolist(),
            "mean_shown": self.shown.mean(axis=1).tolist(),
            "correct": self.correct.tolist(),
            "exponent": self.exponent,
            "interval": list(self.interval),
        }

    def draw(self) -> Figure:
        """Draw the mean number of pulls against ρ, with the fitted law."""
        from monmdp.drawing import power_law

        low, high = self.interval
        return power_law(
            self.rho,
            self.pulls.mean(axis=1),
            half_width(self.pulls, axis=1),
            exponent=-self.exponent,
            label=f"fit: T ∝ ρ^-{self.exponent:.3f}  (95 %: {low:.3f} to {high:.3f})",
            x_label="ρ, chance that a reward is shown",
            y_label="pulls until an ε-best arm is found",
            title=f"{self.k} arms, ε = {self.epsilon:g}, δ = {self.delta:g}",
            note=f"mean over n = {self.pulls.shape[1]} runs; bars: 95 % interval, ±1.96 sd/√n; "
            "exponent by least squares on logarithms of means, interval by bootstrap over runs",
        )


def bandit_law(
    rhos: Sequence[float] = RHOS,
    *,
    k: int = 4,
    epsilon: float = 0.1,
    delta: float = 0.004,
    runs: int = 100,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> BanditLaw:
    """Play bandits for several ρ and fit how the number of pulls grows.

    Args:
        rhos: the chances to see a reward, at least two.
        k: how many arms; the first has mean ½ + ε, all others ½.
        epsilon: ε, how far below the best an arm may be; in (0, 1/8).
        delta: δ, the chance to be wrong.
        runs: how many runs for each ρ.
        seed: the random seed.
        progress: called with the number of runs done, and of all.

    >>> from monmdp import theory
    >>> law = theory.bandit_law([1.0, 0.5, 0.2], runs=5)
    >>> law.rho.tolist(), 0.9 < law.exponent < 1.1
    ([1.0, 0.5, 0.2], True)
    """
    chances = np.array([number(r, "rho", "(0, 1]") for r in rhos])
    if len(np.unique(chances)) < 2:
        raise MonMDPError(f"rhos: two or more different values in (0, 1] expected, got {rhos!r}")
    k, runs = whole_number(k, "k", at_least=2), whole_number(runs, "runs", at_least=2)
    demand_room(
        16 * RESAMPLES * len(chances) * runs + 50 * k,
        f"{runs:,} runs of {k:,} arms, resampled {RESAMPLES:,} times,",
    )
    seed = whole_number(seed, "seed", at_least=0, at_most=None)
    delta, epsilon = number(delta, "delta", "(0, 1)"), number(epsilon, "epsilon", BANDIT_EPSILON)
    pulls_at_least = k / (float(chances.min()) * epsilon**2) if epsilon > 1e-100 else math.inf
    if pulls_at_least > MOST_PULLS:
        raise MonMDPError(
            f"with rho = {chances.min()} and epsilon = {epsilon:g} a run takes at least "
            f"k/(ρε²) = {pulls_at_least:.2g} pulls; the limit is {MOST_PULLS:g}"
        )
    mean = np.full(k, 0.5)
    mean[0] += epsilon
    play = compiled(eliminate)
    results = np.empty((len(chances), runs, 3), dtype=np.int64)
    for number_of_run in range(len(chances) * runs):  # a product would list all runs first
        i, run = divmod(number_of_run, runs)
        rng = np.random.default_rng([seed, i, run])
        results[i, run] = play(mean, float(chances[i]), epsilon, delta, rng)
        if progress is not None:
            progress(number_of_run + 1, len(chances) * runs)
    arm, pulls, shown = (results[:, :, column] for column in range(3))
    rng = np.random.default_rng([seed, len(chances)])
    chosen = rng.integers(runs, size=(RESAMPLES, len(chances), runs))
    resampled = np.take_along_axis(pulls[None], chosen, axis=2).mean(axis=2)
    low, high = np.quantile(_exponent(chances, resampled), [0.025, 0.975])
    correct, exponent = (arm == 0).mean(axis=1), float(_exponent(chances, pulls.mean(axis=1)))
    interval = float(low), float(high)
    return BanditLaw(k, epsilon, delta, chances, pulls, shown, correct, exponent, interval)


def _exponent(rho: FloatArray, pulls: FloatArray) -> FloatArray:
    """Return b of pulls[…, i] ∝ rho[i]^-b: the slope of ln pulls on -ln ρ."""
    x = -np.log(rho)
    x = x - x.mean()
    slope: FloatArray = np.log(pulls) @ x / (x @ x)
    return slope
