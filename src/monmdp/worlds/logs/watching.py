"""The monitor of a log.

Without columns for it, it has one state and one action, and shows the reward of a pair as often as
the log did. With columns for it, the chance to be shown and pᵐ(s′ᵐ | sᵐ, aᵐ) are shares over all
pairs of the environment; pairs that were never seen are ⊥. Where a pair's rows contradict the
others', as those of the button's do, it has a transition table of its own. What a monitor pays for
an action that the log never took in that state is taken to be the least that it pays anywhere.
"""

from __future__ import annotations

import numpy as np

from monmdp.memory import demand_room
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import MDP
from monmdp.model.monitor import Monitor
from monmdp.worlds.logs.rows import Counted

LEVEL = 1e-3
"""of all tests of one kind together: the chance to find a difference where there is none"""
BYTES = 200
"""that a joint pair takes"""


def fitted_monitor(log: Counted, mdp: MDP, shown: IntArray) -> tuple[Monitor, IntArray, IntArray]:
    """Return the monitor, the rows behind its transition chances, and [sᵉ, sᵐ, aᵉ, aᵐ] all rows."""
    S, A, Sm, Am = mdp.n_states, mdp.n_actions, len(log.monitor_states), len(log.monitor_actions)
    demand_room(BYTES * S * A * Sm * Am, f"{S:,} x {Sm:,} states, {A:,} x {Am:,} actions")
    s, m, a, b, rows, _, cost, _ = log.taken
    taken = np.zeros((S, Sm, A, Am), dtype=np.int64)
    np.add.at(taken, (s, m, a, b), rows.astype(np.int64))
    total, paid = np.zeros((Sm, Am)), np.zeros((Sm, Am))
    np.add.at(total, (m, b), rows)
    np.add.at(paid, (m, b), cost)
    least = float((paid[total > 0] / total[total > 0]).min())
    show, pair_shown = _show(log, taken, shown)
    moves, pair_class = _moves(log, mdp)
    moved = moves.sum(axis=3)
    stay = np.eye(Sm)[None, :, None, :]
    begin = np.zeros(Sm)
    np.add.at(begin, log.starts[1], log.starts[2])
    monitor = Monitor(
        states=log.monitor_states,
        actions=log.monitor_actions,
        start=begin / begin.sum(),
        transition=np.where(moved[..., None] > 0, moves / np.maximum(moved, 1)[..., None], stay),
        reward=np.divide(paid, total, out=np.full((Sm, Am), least), where=total > 0),
        show=show,
        pair_class=pair_class.reshape(S, A),
        outcome_class=pair_shown[mdp.pair_of_outcome],
        name="log",
    )
    return monitor, moved.astype(np.int64), taken


def _show(log: Counted, taken: IntArray, shown: IntArray) -> tuple[FloatArray, IntArray]:
    """[class, sᵐ, aᵐ] the chance to be shown, and the class of every pair."""
    if not log.columns & {"monitor_state", "monitor_action"}:
        tried = taken.sum(axis=(1, 3))
        rate = np.divide(shown, tried, out=np.zeros(shown.shape), where=tried > 0)
        rates, of_pair = np.unique(rate, return_inverse=True)
        return rates[:, None, None], of_pair.reshape(-1)
    # a pair that is never seen says nothing of how often others are shown
    s, m, a, b, rows, shown_rows, _, _ = log.taken
    seen = shown[s, a] > 0
    of_rows, of_shown = np.zeros((2, *taken.shape[1::2])), np.zeros((2, *taken.shape[1::2]))
    np.add.at(of_rows[1], (m[seen], b[seen]), rows[seen])
    np.add.at(of_shown[1], (m[seen], b[seen]), shown_rows[seen])
    show = np.divide(of_shown, of_rows, out=np.zeros_like(of_shown), where=of_rows > 0)
    return show, (shown > 0).astype(np.int64).reshape(-1)


def _moves(log: Counted, mdp: MDP) -> tuple[FloatArray, IntArray]:
    """[class, sᵐ, aᵐ, s′ᵐ] rows, and the class of every pair.

    Pairs are taken in the order of their rows, the most first; each joins the first class that its
    rows do not contradict, or begins another.
    """
    Sm, Am = len(log.monitor_states), len(log.monitor_actions)
    pair_class = np.zeros(mdp.n_pairs, dtype=np.int64)
    s, a, m, b, to, rows = log.moves
    if Sm == 1 or not len(rows):
        return np.full((1, Sm, Am, Sm), float(log.rows if Sm == 1 else 0)), pair_class
    order = np.lexsort((a, s))
    pair, cell, rows = (s * mdp.n_actions + a)[order], ((m * Am + b) * Sm + to)[order], rows[order]
    begins = np.flatnonzero(np.append(True, np.diff(pair) != 0))
    ends = np.append(begins[1:], len(pair))
    classes: list[FloatArray] = []
    for k in np.argsort(-np.add.reduceat(rows, begins), kind="stable"):
        mine: FloatArray = np.bincount(
            cell[begins[k] : ends[k]], rows[begins[k] : ends[k]], minlength=Sm * Am * Sm
        ).reshape(Sm * Am, Sm)  # type: ignore[assignment]
        level = LEVEL / len(begins)
        found = next((c for c, other in enumerate(classes) if _agree(mine, other, level)), None)
        if found is None:
            found = len(classes)
            classes.append(np.zeros((Sm * Am, Sm)))
        classes[found] = classes[found] + mine
        pair_class[pair[begins[k]]] = found
    return np.stack(classes).reshape(len(classes), Sm, Am, Sm), pair_class


def _agree(one: FloatArray, other: FloatArray, level: float) -> bool:
    """Whether two tables of rows [sᵐ·aᵐ, s′ᵐ] may come from the same chances: a G-test."""
    from scipy import special, stats

    both = one + other
    n_one, n_other = one.sum(axis=1, keepdims=True), other.sum(axis=1, keepdims=True)
    met = (n_one > 0) & (n_other > 0)
    share = both / np.maximum(n_one + n_other, 1)
    g = 0.0
    for table, n in ((one, n_one), (other, n_other)):
        ratio = table / np.maximum(n * share, 1e-300)
        g += float(np.where(met, special.xlogy(table, ratio), 0).sum())
    freedom = int((np.where(met, both > 0, False).sum(axis=1) - 1).clip(0).sum())
    return freedom == 0 or bool(stats.chi2.sf(2 * g, freedom) >= level)
