"""Greedy sets: acting, test policies and exact evaluation all break ties alike."""

from __future__ import annotations

from typing import Any

from monmdp.compiling import compilable
from monmdp.model.arrays import FloatArray

TIE = 1e-10
"""actions within this distance of the best are tied"""


@compilable
def least_greedy(q: FloatArray, s: int) -> Any:
    """Return the least value with which an action of q[s, ·] counts as best."""
    best = q[s, 0]
    for a in range(1, q.shape[1]):
        best = max(best, q[s, a])
    return best - TIE


@compilable
def greedy_action(q: FloatArray, s: int, u: float) -> int:
    """Return the one of the tied best actions of q[s, ·] that the uniform draw u selects."""
    least, n = least_greedy(q, s), 0
    for a in range(q.shape[1]):
        n += q[s, a] >= least
    skip, chosen = int(u * n), -1
    while skip >= 0:
        chosen += 1
        skip -= q[s, chosen] >= least
    return chosen


@compilable
def greedy_policy(q: FloatArray, policy: FloatArray) -> None:
    """Write the uniform policy over the tied best actions into policy[s, a]."""
    for s in range(q.shape[0]):
        least, n = least_greedy(q, s), 0
        for a in range(q.shape[1]):
            n += q[s, a] >= least
        for a in range(q.shape[1]):
            policy[s, a] = 1.0 / n if q[s, a] >= least else 0.0
