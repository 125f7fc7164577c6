"""How far counts can be trusted: intervals that hold whenever one looks at the log.

All bounds come from one principle. If X₁, X₂, … are drawn and a process K₀ = 1, K₁, … of bets
against a hypothesis is a non-negative martingale under it, then K ever reaches 1/δ with chance at
most δ (Ville). The values that are never so beaten are a confidence interval for every n at once,
so it does not matter that the number of rows of a pair is itself a matter of chance.

* `chance_bounds`: a chance p of which k of n rows came true. The bet is the mixture of all
  alternatives with Jeffreys' prior: K(p) = B(k + ½, n − k + ½) / B(½, ½) / (pᵏ (1 − p)ⁿ⁻ᵏ).
* `mean_lower_bounds`: a mean μ of numbers in [0, 1], by bets on it being higher: K(m) is the mean
  over θ of Π (1 + θ (xᵢ/m − 1)) (Waudby-Smith and Ramdas, 2024). If all n numbers are c, the bound
  is c·(δ/J)^(1/n), J the number of bets: it is not forgotten that rewards are often not random.
"""

from __future__ import annotations

import numpy as np

from monmdp.model.arrays import FloatArray, IntArray
from monmdp.planning.kernels import Kernel

HALVINGS = 60
"""of an interval, when a bound is searched for"""
BETS = 2.0 ** -np.linspace(0, 10, 21)
"""θ: shares of what may be staked at most"""


def chance_bounds(k: IntArray, n: IntArray, delta: float) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of chances, each pair of them wrong with chance δ at most.

    >>> import numpy as np
    >>> from monmdp.planning.confidence import chance_bounds
    >>> low, high = chance_bounds(np.array([0, 50, 100]), np.array([100, 100, 100]), 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.338, 0.943], [0.057, 0.662, 1.0])
    """
    from scipy import special

    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    share = np.divide(k, n, out=np.full(k.shape, 0.5), where=n > 0)
    of_mixture = special.betaln(k + 0.5, n - k + 0.5) - special.betaln(0.5, 0.5)
    limit = -np.log(delta)

    def holds(p: FloatArray) -> np.ndarray:
        evidence = of_mixture - special.xlogy(k, p) - special.xlog1py(n - k, -p)
        return np.asarray(evidence < limit)

    bounds = []
    for end in (np.zeros(k.shape), np.ones(k.shape)):
        outside, inside = end.copy(), share.copy()
        for _ in range(HALVINGS):
            middle = 0.5 * (outside + inside)
            at = holds(middle)
            inside, outside = np.where(at, middle, inside), np.where(at, outside, middle)
        bounds.append(np.where(holds(end), end, outside))
    return bounds[0], bounds[1]


def mean_lower_bounds(
    first: IntArray, value: FloatArray, count: IntArray, delta: float
) -> FloatArray:
    """Return [i] lower bounds of means, each wrong with chance δ at most.

    Args:
        first: [i + 1] where the numbers of each begin.
        value: the numbers, in [0, 1].
        count: how often each was drawn.
        delta: the chance.

    >>> import numpy as np
    >>> from monmdp.planning.confidence import mean_lower_bounds
    >>> first, value = np.array([0, 1, 3, 3]), np.array([0.9, 0.0, 1.0])
    >>> mean_lower_bounds(first, value, np.array([1000, 500, 500]), 0.05).round(3).tolist()
    [0.895, 0.45, 0.0]
    """
    low = np.zeros(len(first) - 1)
    limit = np.log(len(BETS) / delta)
    _mean_lower(first, value, count.astype(np.float64), BETS, limit, low)
    return low


def _mean_lower_of(
    first: IntArray,
    value: FloatArray,
    count: FloatArray,
    bet: FloatArray,
    limit: float,
    low: FloatArray,
) -> None:
    """Halve intervals until the bets against a higher mean are just worth what they must be."""
    for i in range(len(low)):
        begin, end = first[i], first[i + 1]
        below, above = 0.0, 1.0
        if begin == end:
            continue
        for _ in range(40):
            m = 0.5 * (below + above)
            # log Σ_θ Π (1 + θ (x/m − 1)), the largest term taken out
            largest, total = -np.inf, 0.0
            for j in range(len(bet)):
                won = 0.0
                for k in range(begin, end):
                    factor = 1 + bet[j] * (value[k] / m - 1)
                    if factor <= 0:
                        won = -np.inf
                        break
                    won += count[k] * np.log(factor)
                if won > largest:
                    total = total * np.exp(largest - won) + 1.0
                    largest = won
                elif won > -np.inf:
                    total += np.exp(won - largest)
            if largest > -np.inf and largest + np.log(total) >= limit:
                below = m
            else:
                above = m
        low[i] = below


_mean_lower = Kernel(_mean_lower_of)
