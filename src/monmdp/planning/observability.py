"""What can ever be seen: reachability, never-observable pairs, solvability, ρ(M), M↓, bias.

A pair (sᵉ, aᵉ) is *never observable* if no reachable joint pair (sᵉ, sᵐ, aᵉ, aᵐ) shows its reward
with positive probability. M is *solvable* iff every reachable pair is observable. ρ(M) is the
smallest non-zero probability of a reward being shown, over the reachable joint pairs. M↓ is M with
rᵉ = r_min on the never-observable pairs; its optimal policy is the minimax-optimal one of M.

Only reachable joint pairs count for ρ, and where nothing is ever shown there is no ρ.

Reachable means: from the start distribution, by some actions, in any number of steps. Where an
episode ends nothing more is reached; time limits truncate, and are not part of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.monmdp import MonMDP
from monmdp.planning import kernels
from monmdp.planning.factors import checked_problem, factors, moves

_CHUNK = 20_000
"""environment states handled at a time, to bound memory"""


@dataclass(frozen=True, eq=False)
class Observability:
    """What can ever be seen in a Mon-MDP."""

    reachable: BoolArray = field(repr=False)
    """[sᵉ, sᵐ] whether the joint state can be reached"""
    never_observable: BoolArray = field(repr=False)
    """[sᵉ, aᵉ] reachable pairs whose reward can never be seen"""
    rho: float | None
    """smallest non-zero probability of seeing a reward; None when nothing is ever shown"""

    @property
    def solvable(self) -> bool:
        """Whether every reachable pair's reward can be seen."""
        return not self.never_observable.any()

    @property
    def never_observable_pairs(self) -> IntArray:
        """[k, 2] the pairs (sᵉ, aᵉ) whose reward can never be seen."""
        return np.argwhere(self.never_observable)


def observability(monmdp: MonMDP) -> Observability:
    """Find out what can ever be seen.

    >>> from monmdp import make, planning
    >>> seen = planning.observability(make("bottleneck", "button", rho=0.05))
    >>> seen.solvable, seen.rho, len(seen.never_observable_pairs)
    (False, 0.05, 25)
    """
    mdp, monitor = checked_problem(monmdp).mdp, monmdp.monitor
    reachable = _reachable(monmdp)
    never = np.zeros((mdp.n_states, mdp.n_actions), dtype=np.bool_)
    rho = np.inf
    weight = _by_state(monmdp, monmdp.class_weights())
    for begin in range(0, mdp.n_states, _CHUNK):
        here = slice(begin, min(begin + _CHUNK, mdp.n_states))
        # [sᵉ, aᵉ, sᵐ, aᵐ] chance to see the reward, where it can be reached
        chance = np.einsum("eal,lsm->easm", weight[here], monitor.show)
        chance *= reachable[here, None, :, None]
        possible = chance > 0
        never[here] = ~possible.any(axis=(2, 3)) & np.any(reachable[here], axis=1, keepdims=True)
        rho = min(rho, float(chance.min(initial=np.inf, where=possible)))
    return Observability(reachable, never, None if np.isinf(rho) else min(rho, 1.0))


def _reachable(monmdp: MonMDP) -> BoolArray:
    """[sᵉ, sᵐ] whether the joint state can be reached."""
    m = factors(monmdp)
    reached = np.outer(monmdp.mdp.start > 0, monmdp.monitor.start > 0)
    stack = np.empty(reached.size, dtype=np.int64)
    begin = np.flatnonzero(reached)
    stack[: len(begin)] = begin
    kernels._reach(moves(m), m.pair_class, m.row, m.row_of, reached, stack, len(begin))
    return reached


def _by_state(monmdp: MonMDP, by_pair: FloatArray) -> FloatArray:
    return by_pair.reshape(monmdp.mdp.n_states, monmdp.mdp.n_actions, -1)


def worst_case(monmdp: MonMDP, seen: Observability | None = None) -> MonMDP:
    """Return M↓: the same Mon-MDP with r_min on every never-observable pair.

    >>> from monmdp import make, planning
    >>> problem = make("treasure-hunter", "ask")
    >>> worst = planning.worst_case(problem)
    >>> float(problem.mdp.mean_reward.max()), float(worst.mdp.mean_reward.max())
    (1.0, 0.1)
    """
    seen = observability(monmdp) if seen is None else seen
    if seen.solvable:
        return monmdp
    return monmdp.with_mdp(monmdp.mdp.with_rewards(seen.never_observable, monmdp.mdp.r_min))


@dataclass(frozen=True)
class Bias:
    """A pair whose shown rewards are a biased sample of its rewards."""

    state: int
    action: int
    shown_mean: float
    """mean of the rewards that are shown"""
    mean: float
    """mean of all rewards"""


def biased_pairs(monmdp: MonMDP) -> list[Bias]:
    """Find the pairs of which a monitor shows a biased sample.

    This happens where the outcomes of one pair pay differently and are shown with different
    chances: a pair that lands on a ⊥ cell only sometimes, or a random reward under Semi-Random.

    >>> from monmdp import make, planning
    >>> (bias,) = planning.biased_pairs(make("river-swim", "semi-random"))
    >>> bias.state, bias.action, round(bias.shown_mean, 4), round(bias.mean, 4)
    (5, 1, 0.4286, 0.6)
    """
    monitor = checked_problem(monmdp).monitor
    weight = _by_state(monmdp, monmdp.class_weights())
    paid = _by_state(monmdp, monmdp.class_weights(monmdp.mdp.reward))
    mean = monmdp.mdp.mean_reward
    found = mean.copy()  # [sᵉ, aᵉ] the first mean of shown rewards that is another one
    for show in np.unique(monitor.show.reshape(len(monitor.show), -1).T, axis=0):
        chance = weight @ show
        shown_mean = np.divide(paid @ show, chance, out=mean.copy(), where=chance > 0)
        differs = np.abs(shown_mean - mean) > 1e-9 * np.maximum(1, np.abs(mean))
        found = np.where((found == mean) & differs, shown_mean, found)
    where = np.argwhere(found != mean)
    return [Bias(int(s), int(a), float(found[s, a]), float(mean[s, a])) for s, a in where]


EXAMPLES = 3
"""biased pairs that are named; the others are counted"""


def remarks(monmdp: MonMDP, biased: list[Bias] | None = None) -> list[str]:
    """Return what is allowed, and yet seldom meant: one line each.

    >>> from monmdp import make, planning
    >>> planning.remarks(make("river-swim", "semi-random"))  # doctest: +NORMALIZE_WHITESPACE
    ["biased observation of 1 of 12 pairs: state '5', action 'RIGHT' pays 0.6 on average, the
     rewards shown average 0.4286"]
    """
    mdp, monitor = monmdp.mdp, monmdp.monitor
    biased = biased_pairs(monmdp) if biased is None else biased
    said = []
    if biased:
        # the furthest off come first
        worst = sorted(biased, key=lambda of: -abs(of.shown_mean - of.mean))[:EXAMPLES]
        examples = "; ".join(
            f"{mdp.pair_name(of.state * mdp.n_actions + of.action)} pays {of.mean:.4g} on average, "
            f"the rewards shown average {of.shown_mean:.4g}"
            for of in worst
        )
        such = ", for example" if len(biased) > EXAMPLES else ""
        said.append(
            f"biased observation of {len(biased):,} of {mdp.n_pairs:,} pairs{such}: {examples}"
        )
    paid = np.where(monitor.show.max(axis=0) > 0, monitor.reward, -np.inf)
    if paid.max() > 0:
        sm, am = np.unravel_index(int(paid.argmax()), paid.shape)
        said.append(
            f"the monitor pays up to {paid.max():g} a step for showing rewards (monitor state "
            f"{monitor.states[sm]!r}, action {monitor.actions[am]!r}); a cost is a negative number"
        )
    return said
