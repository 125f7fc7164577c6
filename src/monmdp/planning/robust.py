"""The worst that counts allow: robust values over rectangular confidence sets.

For every pair that was tried, each chance p(s′ | sᵉ, aᵉ) lies in an interval, also those of states
that it never led to; the end of an episode counts as one more s′. The mean reward is at least its
lower bound, r_min if it was never shown. Of all models that fit, nature chooses the worst one for
every pair and every monitor state by itself:

    V(s) = max_a  r_low(sᵉ, aᵉ) + rᵐ(sᵐ, aᵐ) + γ min_p Σ_s′ p(s′) min_pᵐ Σ_s′ᵐ pᵐ(s′ᵐ) V(s′, s′ᵐ).

The inner minimum gives every successor its lower bound, and what is left to the worst ones, up to
their upper bounds. Sweeps begin below everything that is possible and rise, so values are lower
bounds whenever one stops.

A pair that was never tried pays r_min and may lead anywhere, so no other is worth less. Nature is
bound to the states of the log in which something was done or which were reached without an end: it
cannot lead to a state that no row mentions, or in which every episode ended. What the monitor pays
is taken for known. All intervals hold together with chance 1 − δ: half of δ is for chances, half
for rewards, each in equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.evidence import FittedMonMDP
from monmdp.planning import backup
from monmdp.planning.confidence import chance_bounds, mean_lower_bounds
from monmdp.planning.factors import factors
from monmdp.planning.kernels import Kernel
from monmdp.planning.progress import SILENT, Progress

TOLERANCE = 1e-6
"""of values, as a share of the largest reward: what sweeps may leave unclaimed"""
MOST_SWEEPS = 100_000


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Intervals for everything that a log leaves open."""

    problem: FittedMonMDP
    delta: float
    """the chance that one of them is wrong, at most"""
    first: IntArray = field(repr=False)
    """[pair + 1] where the successors of a pair begin"""
    symbol: IntArray = field(repr=False)
    """[k] a successor that the pair led to; |Sᵉ| is the end"""
    low: FloatArray = field(repr=False)
    """[k] of its chance"""
    high: FloatArray = field(repr=False)
    """[k]"""
    other_high: FloatArray = field(repr=False)
    """[pair] of the chance of any one successor that it never led to"""
    reward: FloatArray = field(repr=False)
    """[pair] lower bound of the mean reward"""
    live: BoolArray = field(repr=False)
    """[symbol] where nature may lead"""
    row_low: FloatArray = field(repr=False)
    """[u, s′ᵐ] of the distinct rows of the monitor's chances"""
    row_high: FloatArray = field(repr=False)
    """[u, s′ᵐ]"""
    row_of: IntArray = field(repr=False)
    """[class, sᵐ, aᵐ] u"""
    start_low: FloatArray = field(repr=False)
    """[sᵉ] of the start distribution; its end is not among them"""
    start_high: FloatArray = field(repr=False)
    """[sᵉ]"""
    monitor_start_low: FloatArray = field(repr=False)
    """[sᵐ]"""
    monitor_start_high: FloatArray = field(repr=False)
    """[sᵐ]"""


def uncertainty(problem: FittedMonMDP, delta: float) -> Uncertainty:
    """Return the confidence sets that hold together with chance 1 − δ."""
    mdp, monitor, evidence = problem.mdp, problem.monitor, problem.evidence
    S, A, n_pairs = mdp.n_states, mdp.n_actions, mdp.n_pairs
    tried = evidence.tried.reshape(-1)
    rows = problem.outcome_rows
    counted = rows > 0
    pair, to = mdp.pair_of_outcome[counted], mdp.successor[counted]
    symbol = np.where(mdp.terminates[counted], S, to)
    key, where = np.unique(pair * (S + 1) + symbol, return_inverse=True)
    k = np.bincount(where.reshape(-1), rows[counted], minlength=len(key)).astype(np.int64)
    pair, symbol = np.divmod(key, S + 1)
    live = np.append(problem.live, True)
    chances = int(live.sum()) * A * int(live.sum()) + S
    chances += evidence.moved.size * monitor.n_states + monitor.n_states
    each = 0.5 * delta / chances
    low, high = chance_bounds(k, tried[pair], each)
    _, other_high = chance_bounds(np.zeros(n_pairs, dtype=np.int64), tried, each)
    row_low, row_high, row_of = _monitor_rows(problem, each)
    starts = _start_bounds(mdp.start, 0 if evidence.start_given else evidence.episodes, each)
    starts[1][~live[:S]] = 0.0
    monitor_starts = _start_bounds(monitor.start, evidence.episodes, each)
    return Uncertainty(
        problem=problem,
        delta=delta,
        first=np.searchsorted(pair, np.arange(n_pairs + 1)).astype(np.int64),
        symbol=symbol,
        low=low,
        high=high,
        other_high=other_high,
        reward=_reward_bounds(problem, 0.5 * delta / (int(live.sum()) * A)),
        live=live,
        row_low=row_low,
        row_high=row_high,
        row_of=row_of,
        start_low=starts[0],
        start_high=starts[1],
        monitor_start_low=monitor_starts[0],
        monitor_start_high=monitor_starts[1],
    )


def _reward_bounds(problem: FittedMonMDP, delta: float) -> FloatArray:
    """[pair] lower bounds of the mean rewards; rewards that are not shown as the log assumes."""
    mdp, evidence = problem.mdp, problem.evidence
    span = mdp.r_max - mdp.r_min
    if span == 0:
        return np.full(mdp.n_pairs, mdp.r_min)
    pair, count = evidence.value_pair, evidence.value_count
    share = np.clip((evidence.value - mdp.r_min) / span, 0.0, 1.0)
    if evidence.missing == "worst":
        hidden = (evidence.tried - evidence.shown).reshape(-1)
        of = np.flatnonzero(hidden)
        pair = np.append(pair, of)
        count, share = np.append(count, hidden[of]), np.append(share, np.zeros(len(of)))
        order = np.argsort(pair, kind="stable")
        pair, count, share = pair[order], count[order], share[order]
    first = np.searchsorted(pair, np.arange(mdp.n_pairs + 1)).astype(np.int64)
    bounds: FloatArray = mdp.r_min + span * mean_lower_bounds(first, share, count, delta)
    return bounds


def _monitor_rows(problem: FittedMonMDP, delta: float) -> tuple[FloatArray, FloatArray, IntArray]:
    """Bounds of the monitor's distinct rows [u, s′ᵐ], and [class, sᵐ, aᵐ] u."""
    transition, moved = problem.monitor.transition, problem.evidence.moved
    Sm = problem.monitor.n_states
    if Sm == 1:
        return np.ones((1, 1)), np.ones((1, 1)), np.zeros(moved.shape, dtype=np.int64)
    n = np.broadcast_to(moved[..., None], transition.shape)
    low, high = chance_bounds(np.rint(transition * n).astype(np.int64), n, delta)
    both = np.concatenate([low.reshape(-1, Sm), high.reshape(-1, Sm)], axis=1)
    rows, row_of = np.unique(both, axis=0, return_inverse=True)
    return rows[:, :Sm].copy(), rows[:, Sm:].copy(), row_of.reshape(moved.shape)


def _start_bounds(start: FloatArray, episodes: int, delta: float) -> tuple[FloatArray, FloatArray]:
    """Bounds of a start distribution; itself if it is known."""
    if episodes == 0 or len(start) == 1:
        return start, start.copy()
    n = np.full(len(start), episodes)
    return chance_bounds(np.rint(start * episodes).astype(np.int64), n, delta)


@dataclass(frozen=True, eq=False)
class RobustValue:
    """What a policy is worth at least, and what it could be worth if nothing were uncertain."""

    policy: FloatArray = field(repr=False)
    """[s, a]"""
    lower_bound: float
    """value from the start, with chance 1 − δ no less than this"""
    values: FloatArray = field(repr=False)
    """[sᵉ, sᵐ] lower bounds"""
    width: FloatArray = field(repr=False)
    """[s, a] how much less than estimated a step there may be worth"""
    converged: bool
    """whether more sweeps would raise the bound by no more than the tolerance"""


def lowest_possible(problem: FittedMonMDP, gamma: float) -> float:
    """Return what every policy is worth at least, whatever the log says: an episode may end."""
    least = float(problem.mdp.r_min + problem.monitor.reward.min())
    if gamma < 1:
        return min(least, 0.0) / (1 - gamma)
    raise MonMDPError("a guarantee needs a discount below 1: what may go on for ever has no worst")


def robust_value(
    sets: Uncertainty,
    gamma: float,
    policy: FloatArray | None = None,
    progress: Progress = SILENT,
) -> RobustValue:
    """Return a lower bound of a policy's value; None: of the policy for which it is highest.

    Args:
        sets: what is uncertain.
        gamma: discount, below 1.
        policy: [s, a] chances of the joint actions.
        progress: is told how far it is.
    """
    problem = sets.problem
    n_se, n_sm, n_ae, n_am = problem.shape
    V = np.full((n_se, n_sm), lowest_possible(problem, gamma))
    largest = max(abs(problem.mdp.r_min), abs(problem.mdp.r_max), 1e-300)
    given = None if policy is None else policy.reshape(n_se, n_sm, n_ae, n_am)
    converged = False
    for sweep in range(MOST_SWEEPS):
        progress(f"sweep {sweep:,} of lower bounds")
        Q = _backup(sets, gamma, V)
        after = Q.max(axis=(2, 3)) if given is None else (Q * given).sum(axis=(2, 3))
        rise = float((after - V).max())
        V = np.maximum(V, after)  # which it is, but for rounding
        if rise * gamma <= TOLERANCE * largest * (1 - gamma):
            converged = True
            break
    if given is None:
        given = _choice(Q, problem.evidence.taken)
    starting = _nature(sets.monitor_start_low, sets.monitor_start_high, V)
    at_start = _nature(sets.start_low, sets.start_high, starting[None])
    width = backup.all_action_values(factors(problem), gamma, V) - Q
    flat = (n_se * n_sm, n_ae * n_am)
    return RobustValue(given.reshape(flat), float(at_start[0]), V, width.reshape(flat), converged)


def _choice(Q: FloatArray, taken: IntArray) -> FloatArray:
    """[sᵉ, sᵐ, aᵉ, aᵐ] the best action; of equal ones that which the log took most often."""
    tied = Q.max(axis=(2, 3), keepdims=True) == Q
    rank = np.where(tied, taken, -1).reshape(*Q.shape[:2], -1)
    policy = np.zeros(rank.shape)
    np.put_along_axis(policy, rank.argmax(axis=2)[..., None], 1.0, axis=2)
    return policy.reshape(Q.shape)


def _nature(low: FloatArray, high: FloatArray, V: FloatArray) -> FloatArray:
    """[i] the least mean of V[i, :] over all distributions between these bounds."""
    order = np.argsort(V, axis=1, kind="stable")
    sorted_V = np.take_along_axis(V, order, axis=1)
    given = low[order]
    left = 1 - low.sum()
    spare = (high - low)[order]
    before = np.cumsum(spare, axis=1) - spare
    more = np.clip(left - before, 0.0, spare)
    result: FloatArray = ((given + more) * sorted_V).sum(axis=1)
    return result


def _backup(sets: Uncertainty, gamma: float, V: FloatArray) -> FloatArray:
    """[sᵉ, sᵐ, aᵉ, aᵐ] robust action values."""
    problem = sets.problem
    n_se, n_sm, n_ae, n_am = problem.shape
    n_pairs = n_se * n_ae
    after = np.empty((n_pairs, len(sets.row_low)))
    may_lead = np.flatnonzero(sets.live)
    for u in range(len(sets.row_low)):
        W = np.append(_nature(sets.row_low[u], sets.row_high[u], V), 0.0)
        order = may_lead[np.argsort(W[may_lead], kind="stable")]
        mark = np.full(n_se + 1, -1, dtype=np.int64)
        _worst(sets.first, sets.symbol, sets.low, sets.high, sets.other_high, W, order, mark,
               after[:, u])  # fmt: skip
    row = sets.row_of[problem.pair_class]  # [pair, sᵐ, aᵐ]
    worst = after[np.arange(n_pairs)[:, None, None], row]
    Q = sets.reward[:, None, None] + problem.monitor.reward[None] + gamma * worst
    return np.ascontiguousarray(Q.reshape(n_se, n_ae, n_sm, n_am).transpose(0, 2, 1, 3))


def _worst_of(
    first: IntArray,
    symbol: IntArray,
    low: FloatArray,
    high: FloatArray,
    other_high: FloatArray,
    W: FloatArray,
    order: IntArray,
    mark: IntArray,
    out: FloatArray,
) -> None:
    """Write into out[pair] the least mean of W; `order` has the symbols by rising W."""
    for pair in range(len(out)):
        begin, end = first[pair], first[pair + 1]
        total, left = 0.0, 1.0
        for k in range(begin, end):
            total += low[k] * W[symbol[k]]
            left -= low[k]
            mark[symbol[k]] = k
        for i in range(len(order)):
            if left <= 0:
                break
            k = mark[order[i]]
            # marks of earlier pairs stay; they lie before this pair's
            room = high[k] - low[k] if k >= begin else other_high[pair]
            part = min(room, left)
            total += part * W[order[i]]
            left -= part
        out[pair] = total


_worst = Kernel(_worst_of)
