"""Outcomes in any order -> in the order of an MDP, equal ones merged, impossible ones left out.

The order is by pair, successor, reward, ending and ⊥; outcomes that agree in all five are one, with
the sum of their probabilities, added in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray, IntArray, as_array, checked, first_true

LARGEST_KEY = 2**62
"""above it, a pair and a successor do not fit into one number"""


def merged_blocks(
    blocks: Iterable[tuple[ArrayLike, ...]], n_states: int, n_actions: int
) -> tuple[Columns, int]:
    """Return all outcomes merged, in arrays that nobody else holds, and how many there were.

    A block is merged when it comes, so that only what is left of it stays in memory.
    """
    n = 0
    parts: list[Columns] = []
    for block in blocks:
        columns = _checked_columns(block, n_states, n_actions, n)
        n += len(columns.pair)
        parts.append(columns.merged(n_states))
    parts = parts or [_checked_columns(((),) * 7, n_states, n_actions, n)]
    return _joined(parts, n_states), n


class Columns(NamedTuple):
    """Outcomes in columns [outcome]; those that differ in nothing but probability are merged."""

    pair: IntArray
    successor: IntArray
    reward: FloatArray
    terminates: BoolArray
    hidden: BoolArray
    probability: FloatArray

    def at(self, where: IntArray | BoolArray) -> Columns:
        """Return some of the outcomes, or all in another order."""
        columns: Any = (column[where] for column in self)
        return Columns(*columns)

    def merged(self, n_states: int) -> Columns:
        """Return the possible outcomes in order, equal ones as one, in arrays of their own."""
        possible = self.probability > 0
        some = self if possible.all() else self.at(possible)
        order = some.order(n_states)
        ordered = some if order is None else some.at(order)
        begin = ordered.runs()
        if len(begin) < len(ordered.pair):
            chance = np.add.reduceat(ordered.probability, begin)
            return ordered.at(begin)._replace(probability=chance)
        if ordered is not self:
            return ordered
        copies: Any = (column.copy() for column in self)  # these may be the caller's
        return Columns(*copies)

    def order(self, n_states: int) -> IntArray | None:
        """Return the stable order by all columns but the last; None if they have it.

        Sorting by one number is several times as fast as sorting by five, and almost free where
        most are in order. Only outcomes with the same pair and successor need more than that.
        """
        if not len(self.pair):
            return None
        low, high = int(self.successor.min()), int(self.successor.max())
        if low < 0 or high >= n_states or (int(self.pair.max()) + 1) * n_states > LARGEST_KEY:
            # No such state, which is refused later, or no such number.
            return np.lexsort(self[-2::-1])
        number = self.pair * n_states + self.successor
        order = None
        if (number[1:] < number[:-1]).any():
            order = np.argsort(number, kind="stable")
            number = number[order]
        alike = number[1:] == number[:-1]
        if not alike.any():
            return order
        # [tied outcome] places in the order so far; those with the same number are neighbours
        place = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
        tied = place if order is None else order[place]
        finer = np.lexsort(
            (self.hidden[tied], self.terminates[tied], self.reward[tied], number[place])
        )
        if (finer[1:] < finer[:-1]).any():
            order = np.arange(len(number)) if order is None else order
            order[place] = tied[finer]
        return order

    def runs(self) -> IntArray:
        """Return where each run of equal outcomes begins, in sorted columns."""
        new = np.ones(len(self.pair), dtype=bool)
        new[1:] = self.pair[1:] != self.pair[:-1]
        for column in self[1:-1]:
            new[1:] |= column[1:] != column[:-1]
        return np.flatnonzero(new)


def _checked_columns(block: tuple[ArrayLike, ...], S: int, A: int, before: int) -> Columns:
    """The columns of a block after `before` outcomes, or what is wrong with them."""
    if len(block) != 7:
        raise MonMDPError(
            "a block is seven columns: state, action, successor, probability, reward, terminates, "
            f"hidden; got {len(block)}"
        )
    state, action, successor, probability, reward, terminates, hidden = block
    n = as_array(state, "states of the outcomes").size
    s = checked(state, np.int64, (n,), "states of the outcomes")
    a = checked(action, np.int64, (n,), "actions of the outcomes")
    for index, size, kind in ((s, S, "state"), (a, A, "action")):
        if (o := first_true((index < 0) | (index >= size))) is not None:
            raise MonMDPError(
                f"outcome {before + o}: {kind} {index[o]} does not exist; there are {size}"
            )
    p = checked(probability, np.float64, (n,), "probability")
    r = checked(reward, np.float64, (n,), "reward")
    if (o := first_true(p < 0)) is not None:
        raise MonMDPError(f"probability {p[o]} of state {s[o]}, action {a[o]} is negative")
    return Columns(
        s * A + a,
        checked(successor, np.int64, (n,), "successor"),
        r,
        checked(terminates, np.bool_, (n,), "terminates"),
        checked(hidden, np.bool_, (n,), "hidden"),
        p,
    )


def _joined(parts: list[Columns], n_states: int) -> Columns:
    """All blocks as one, in order. The parts are used up: memory holds each column once."""
    if len(parts) == 1:
        return parts.pop()
    ends = [(part.pair[0], part.pair[-1]) for part in parts if len(part.pair)]
    in_order = all(last < first for (_, last), (first, _) in pairwise(ends))
    columns = [list(of) for of in zip(*parts, strict=True)]
    parts.clear()
    whole = []
    while columns:
        whole.append(np.concatenate(columns.pop(0)))
    joined = Columns(*whole)
    return joined if in_order else joined.merged(n_states)
