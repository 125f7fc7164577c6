"""What hidden rewards may pay, for those who must decide before they have seen them.

Nobody knows what a never-observable pair pays. There are three ways to value it (`ASSUMPTIONS`):

interval
    All that is known is that it pays between r_min and r_max. If all pay r_min nothing is gained by
    seeing them; if all pay r_max most is gained. The one scenario is the second, so every gain
    stands for an interval that begins at 0.
prior
    Somebody has an idea of what it pays. The scenarios are draws from it.
truth
    It is known to whoever made the problem. The one scenario is what the pairs truly pay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.model.arrays import BoolArray, FloatArray, as_array
from monmdp.model.evidence import FittedMonMDP
from monmdp.model.mdp import MDP, number, whole_number
from monmdp.model.monmdp import MonMDP
from monmdp.planning.candidates import OTHERS, pairs_of

INTERVAL, PRIOR, TRUTH = ASSUMPTIONS = ("interval", "prior", "truth")
DRAWS = 32
"""scenarios that are drawn from a prior"""


class Scenarios(NamedTuple):
    """What hidden pairs might pay."""

    assume: str
    """one of `ASSUMPTIONS`"""
    pay: FloatArray
    """[scenario, sᵉ, aᵉ] all scenarios are equally likely"""


def scenarios(
    monmdp: MonMDP,
    hidden: BoolArray,
    assume: str,
    prior: Any,
    named: Mapping[str, BoolArray],
    draws: int,
    seed: int,
) -> Scenarios:
    """Return the scenarios that an assumption stands for.

    Args:
        monmdp: the problem.
        hidden: [sᵉ, aᵉ] the pairs that can never be observed.
        assume: one of `ASSUMPTIONS`.
        prior: what the user gave, for "prior" alone; see `planning.instrument`.
        named: names that a prior may use, besides states and pairs: [sᵉ, aᵉ] each.
        draws: how many scenarios to draw from a prior of means and standard deviations.
        seed: of the draws.
    """
    mdp = monmdp.mdp
    if assume not in ASSUMPTIONS:
        raise MonMDPError(f"unknown assume {assume!r}{nearest(str(assume), ASSUMPTIONS)}")
    if (prior is not None) != (assume == PRIOR):
        given = "needs a prior" if prior is None else "takes no prior"
        raise MonMDPError(
            f'assume="{assume}" {given}; a prior is (mean, standard deviation), {{name: (mean, '
            'standard deviation)} or an array [draw, state, action], with assume="prior"'
        )
    if assume == INTERVAL:
        return Scenarios(assume, np.where(hidden, mdp.r_max, mdp.r_min)[None])
    if assume == TRUTH:
        if isinstance(monmdp, FittedMonMDP):
            raise MonMDPError(
                f'assume="truth": nobody knows what the hidden rewards of {mdp.name!r} are, it was '
                'fitted from data; take assume="interval", or assume="prior" with an idea of them'
            )
        return Scenarios(assume, np.array(mdp.mean_reward)[None])
    if isinstance(prior, Mapping):
        return Scenarios(
            assume, _drawn(mdp, hidden, *_by_name(mdp, hidden, prior, named), draws, seed)
        )
    if isinstance(prior, np.ndarray) and prior.ndim == 3:
        return Scenarios(assume, _given_draws(mdp, prior))
    mean, spread = _normal(prior, "prior")
    shape = hidden.shape
    whole = np.full(shape, mean), np.full(shape, spread)
    return Scenarios(assume, _drawn(mdp, hidden, *whole, draws, seed))


def _drawn(
    mdp: MDP, hidden: BoolArray, mean: FloatArray, spread: FloatArray, draws: int, seed: int
) -> FloatArray:
    """[draw, sᵉ, aᵉ] normal draws, clipped to what rewards may be; one where nothing varies."""
    rng = np.random.default_rng(whole_number(seed, "seed", at_least=0))
    n = whole_number(draws, "draws", at_least=1)
    if not spread[hidden].any():
        n = 1
    pay = np.full((n, *hidden.shape), mdp.r_min)
    pay[:, hidden] = rng.normal(mean[hidden], spread[hidden], (n, int(hidden.sum())))
    return np.clip(pay, mdp.r_min, mdp.r_max)


def _given_draws(mdp: MDP, prior: Any) -> FloatArray:
    """Somebody's own draws [draw, sᵉ, aᵉ], clipped."""
    pay = as_array(prior, "prior")
    shape = (mdp.n_states, mdp.n_actions)
    if pay.shape[1:] != shape or not len(pay) or pay.dtype.kind not in "fiu":
        raise MonMDPError(
            f"prior: numbers [draw, state, action] of shape (…, {shape[0]}, {shape[1]}) expected, "
            f"got {pay.dtype} of shape {pay.shape}"
        )
    if not np.isfinite(pay).all():
        raise MonMDPError("prior: all draws must be finite")
    return np.clip(pay.astype(np.float64), mdp.r_min, mdp.r_max)


def _by_name(
    mdp: MDP, hidden: BoolArray, prior: Mapping[Any, Any], named: Mapping[str, BoolArray]
) -> tuple[FloatArray, FloatArray]:
    """[sᵉ, aᵉ] means and standard deviations; a pair's own entry counts before its state's."""
    mean, spread = np.zeros(hidden.shape), np.zeros(hidden.shape)
    missing = hidden.copy()
    entries = []
    for key, given in prior.items():
        of = hidden if key == OTHERS else pairs_of(mdp, key, named, "prior")
        entries.append((key != OTHERS, -int(of.sum()), of, _normal(given, f"prior of {key!r}")))
    # What is said of few pairs is said last, and stays.
    for _, _, of, (m, sd) in sorted(entries, key=lambda entry: entry[:2]):
        mean[of], spread[of], missing[of] = m, sd, False
    if missing.any():
        pair = int(np.flatnonzero(missing)[0])
        raise MonMDPError(
            f"prior: nothing is said of {mdp.pair_name(pair)}, one of {missing.sum():,} such pairs;"
            f" {OTHERS!r} stands for all that have no entry of their own"
        )
    return mean, spread


def _normal(given: Any, what: str) -> tuple[float, float]:
    """Mean and standard deviation; a number alone is certain."""
    parts = (
        given
        if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
        else (given, 0)
    )
    if len(parts) != 2:
        raise MonMDPError(f"{what}: (mean, standard deviation) expected, got {given!r}")
    mean = number(parts[0], f"{what}: the mean")
    spread = number(parts[1], f"{what}: the standard deviation")
    if spread < 0:
        raise MonMDPError(f"{what}: a standard deviation is not negative, got {spread:g}")
    return mean, spread
