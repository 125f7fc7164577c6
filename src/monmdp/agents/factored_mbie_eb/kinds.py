"""Kinds: which environment pairs the monitor treats alike.

With x = (sᵉ,aᵉ) and y = (sᵐ,aᵐ), the monitor moves by pᵐ(s′ᵐ | y, x). Pairs x for which this is the
same distribution at every y are of one *kind*, and are learnt together: P̄ᵐ(s′ᵐ | y, kind) is the
relative frequency over all visits of the kind's members. In most monitors all pairs are of one
kind; the button is a kind of its own; zones have two.

Kinds are found by evidence. With counts m of the moves of x, and M of those of all *other* members
of a kind, both at y, the evidence for x being of that kind is the probability of m given M under a
Dirichlet prior whose weights β add up to α = β|Sᵐ| (the Dirichlet-multinomial distribution):

    L(x, kind) = Σ_y ln [ Γ(M+α) / Γ(M+m+α) · Π_{s′ᵐ} Γ(M_s′ + m_s′ + β) / Γ(M_s′ + β) ]

α is small for a monitor that is set in its ways, and large for one that moves at random: then a few
moves elsewhere say little of where it goes next. It is learnt from how often the monitor does in a
cell what it did there before, which happens with probability (1 + β)/(1 + α).

A kind of its own has M = 0. Of the kinds whose L is at most `evidence` below that, a pair takes the
one with the largest L + ln(other members): a pair is more likely of a kind that many are of, and
kinds that are the same grow together. If there is none, it opens one of its own. A pair tried for
the first time joins the kind with the most members. A kind is *plausible* for x if L + ln(members)
is at most `evidence` below the same of the kind it is in.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.learnt_model import LOW
from monmdp.compiling import compilable
from monmdp.model.arrays import BoolArray, FloatArray, IntArray


class Moves(NamedTuple):
    """Where the monitor went, pair by pair and kind by kind; y stands for sᵐ·|Aᵐ| + aᵐ."""

    made: IntArray
    """[x, y, s′ᵐ] moves of each environment pair"""
    pool: IntArray
    """[kind, y, s′ᵐ] moves of all members of a kind"""
    total: IntArray
    """[kind, y] their sum; 0: nothing is known of y there"""
    share: FloatArray
    """[kind, y, s′ᵐ] P̄ᵐ, or what was told; a monitor pair never tried is taken to stay"""
    kind: IntArray
    """[x] the kind that a pair is in"""
    members: IntArray
    """[kind] how many pairs are in it; 0: it is free"""
    score: FloatArray
    """[x, kind] L when the pair was last sorted"""
    plausible: BoolArray
    """[x, kind] whether the pair might as well be of this kind"""
    again: FloatArray
    """[2] at visits of cells visited before, the shares of earlier visits that made the same move,
    summed up; and how many such visits there were"""


def no_moves(n_x: int, n_sm: int, n_am: int, n_kinds: int) -> Moves:
    """Return counts of nothing, all pairs in the first kind."""
    n_y = n_sm * n_am
    y = np.arange(n_y)
    share = np.zeros((n_kinds, n_y, n_sm))
    share[:, y, y // n_am] = 1.0
    return Moves(
        made=np.zeros((n_x, n_y, n_sm), dtype=np.int64),
        pool=np.zeros((n_kinds, n_y, n_sm), dtype=np.int64),
        total=np.zeros((n_kinds, n_y), dtype=np.int64),
        share=share,
        kind=np.zeros(n_x, dtype=np.int64),
        members=np.zeros(n_kinds, dtype=np.int64),
        score=np.zeros((n_x, n_kinds)),
        plausible=np.zeros((n_x, n_kinds), dtype=np.bool_),
        again=np.array([(1 + 1 / n_sm) / 2, 1.0]),  # one visit, as if α were 1
    )


@compilable
def join(moves: Any, x: int) -> None:
    """Put a pair that is tried for the first time into the kind with the most members."""
    most = 0
    for k in range(1, len(moves.members)):
        if moves.members[k] > moves.members[most]:
            most = k
    moves.kind[x] = most
    moves.members[most] += 1


@compilable
def count_move(moves: Any, x: int, y: int, to: int, before: int) -> None:
    """Count a move of the monitor; `before` is the number of earlier visits of the cell."""
    kind = moves.kind[x]
    if before > 0:
        moves.again[0] += moves.made[x, y, to] / before
        moves.again[1] += 1.0
    moves.made[x, y, to] += 1
    moves.pool[kind, y, to] += 1
    moves.total[kind, y] += 1
    _renew(moves, kind, y)


@compilable
def concentration(moves: Any) -> float:
    """Return α, at least 1 and at most |Sᵐ|²."""
    by_chance = 1.0 / moves.pool.shape[2]
    same = moves.again[0] / moves.again[1]
    return max(1.0, (1.0 - same) / max(same - by_chance, by_chance * by_chance))


@compilable
def sort_pair(moves: Any, x: int, alpha: float, bar: float) -> bool:
    """Weigh all that a pair did against every kind as it is known now; return if it changed."""
    score, members, mine = moves.score, moves.members, moves.kind[x]
    n_kinds = len(members)
    alone = _evidence(moves, x, n_kinds, alpha)
    best, most, free = n_kinds, LOW, mine if members[mine] == 1 else -1
    for k in range(n_kinds):
        others = members[k] - (1 if k == mine else 0)
        if others > 0:
            score[x, k] = _evidence(moves, x, k, alpha)
            worth = score[x, k] + math.log(others)
            if score[x, k] > alone - bar and (worth > most or (worth == most and k == mine)):
                best, most = k, worth
        else:
            score[x, k] = LOW
            if members[k] == 0 and free < 0:
                free = k
    if best == n_kinds and free >= 0:
        best = free
        if best != mine:
            score[:, best] = LOW  # of a kind that is no more
        score[x, best] = alone
    if best in (n_kinds, mine):
        return False
    _change(moves, x, best)
    return True


@compilable
def _evidence(moves: Any, x: int, kind: int, alpha: float) -> float:
    """Return L(x, kind); the number of kinds stands for one of its own."""
    n_kinds, n_y, n_sm = moves.pool.shape
    beta, found = alpha / n_sm, 0.0
    for y in range(n_y):
        n = 0
        for to in range(n_sm):
            n += moves.made[x, y, to]
        if n == 0:
            continue
        others = 0
        if kind < n_kinds:
            others = moves.total[kind, y] - (n if kind == moves.kind[x] else 0)
        found += math.lgamma(others + alpha) - math.lgamma(others + n + alpha)
        for to in range(n_sm):
            own, of_others = moves.made[x, y, to], 0
            if own > 0:
                if kind < n_kinds:
                    of_others = moves.pool[kind, y, to] - (own if kind == moves.kind[x] else 0)
                found += math.lgamma(of_others + own + beta) - math.lgamma(of_others + beta)
    return found


@compilable
def _change(moves: Any, x: int, to_kind: int) -> None:
    """Move a pair, with all that it did, into another kind."""
    mine = moves.kind[x]
    moves.kind[x] = to_kind
    moves.members[mine] -= 1
    moves.members[to_kind] += 1
    for y in range(moves.pool.shape[1]):
        for to in range(moves.pool.shape[2]):
            own = moves.made[x, y, to]
            moves.pool[mine, y, to] -= own
            moves.total[mine, y] -= own
            moves.pool[to_kind, y, to] += own
            moves.total[to_kind, y] += own
        _renew(moves, mine, y)
        _renew(moves, to_kind, y)


@compilable
def _renew(moves: Any, kind: int, y: int) -> None:
    """Find P̄ᵐ(· | y, kind) anew."""
    n_y, n_sm = moves.pool.shape[1:]
    n, here = moves.total[kind, y], y // (n_y // n_sm)
    for to in range(n_sm):
        if n > 0:
            moves.share[kind, y, to] = moves.pool[kind, y, to] / n
        else:
            moves.share[kind, y, to] = 1.0 if to == here else 0.0


@compilable
def find_plausible(moves: Any, x: int, bar: float) -> None:
    """Find which kinds a pair might be of."""
    mine = moves.kind[x]
    least = moves.score[x, mine] + math.log(moves.members[mine]) - bar
    for k in range(len(moves.members)):
        moves.plausible[x, k] = k == mine
        if moves.members[k] > 0 and moves.score[x, k] + math.log(moves.members[k]) > least:
            moves.plausible[x, k] = True
