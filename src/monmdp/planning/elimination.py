"""Solving y = b + W y exactly, by eliminating one environment state after the other.

Eliminating a state writes its values into the equations of its neighbours, which makes them
neighbours of each other. Which states are neighbours the environment says, for every policy: so the
order is found once for each problem. States with the fewest neighbours come first. Dead ends and
corridors of a maze, and chains, then cost next to nothing, and what is left of a maze of half a
million cells is a graph of its crossings that can be eliminated, too. In an open plane, or where
states lead anywhere, the work grows faster than the number of states, and sweeps are better.

All values of an environment state, one for each monitor row u, are eliminated together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.planning import kernels
from monmdp.planning.kernels import (
    Blocks,
    ChosenActions,
    Factors,
    Index,
    Moves,
    News,
    Structure,
    few_rows,
)

if TYPE_CHECKING:
    from monmdp.planning.linear import LinearSystem

MOST_WORK = 1e8
"""of any elimination, in pairs of products of blocks; each takes some nanoseconds"""
AT_ONCE = 2e7
"""work of one call: compiled code cannot be interrupted"""


class Elimination:
    """The order in which a problem's environment states are eliminated, as far as it is known."""

    def __init__(self, m: Factors) -> None:
        """Nothing is done yet."""
        self.m = m
        self.n_u = len(m.row)
        self.entries = max(1.0, len(m.successor) / m.n_env_actions) * self.n_u
        """of a policy's linear system, or about so many"""
        self._ordering: _Ordering | None = None
        self._structure: Structure | None = None

    def within(self, sweeps: float) -> Structure | None:
        """Return the structure if eliminating is no more work than so many sweeps, else None."""
        block = (self.n_u**3 + 4) / 2  # entries that take as long as two products of blocks
        most = min(sweeps * self.entries / block, MOST_WORK)
        if self._ordering is None:
            self._ordering = _Ordering(self.m)
        self._ordering.go_on(most)
        if not self._ordering.finished or self._ordering.work > most:
            return None
        if self._structure is None:
            self._structure = self._ordering.structure()
        return self._structure


class _Ordering:
    """The search for the order: it can be stopped, and go on later."""

    def __init__(self, m: Factors) -> None:
        n = len(m.stay) // m.n_env_actions
        self.begin = np.empty(n, dtype=np.int64)
        self.count = np.empty(n, dtype=np.int64)
        self.neighbour = np.empty(2 * len(m.successor), dtype=np.int32)
        used = kernels._neighbours(
            m.first, m.successor, m.n_env_actions, self.begin, self.count, self.neighbour
        )
        self.room = np.diff(self.begin, append=used)
        self.lists = (np.full(n, -1), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64))
        kernels._file_by_degree(self.count, *self.lists)
        self.seen = np.zeros(n, dtype=np.int64)
        self.position = np.empty(n, dtype=np.int64)
        self.at = np.array([0, used, 0, 0, 0, 0, 0])

    @property
    def finished(self) -> bool:
        return bool(self.at[0] == len(self.begin))

    @property
    def work(self) -> int:
        return int(self.at[4])

    def go_on(self, most: float) -> None:
        """Eliminate until all is done, or the work will exceed `most`."""
        hope = True
        while hope and not self.finished and self.work <= most:
            before = self.at[0]
            self.at[5:] = int(min(most, self.work + AT_ONCE)) + 1, int(most)
            hope = kernels._eliminate_by_degree(
                self.begin, self.count, self.room, self.neighbour, *self.lists,
                self.seen, self.position, self.at,
            )  # fmt: skip
            if hope and self.at[0] == before:  # no room
                self.neighbour = np.concatenate([self.neighbour, np.empty_like(self.neighbour)])

    def structure(self) -> Structure:
        first, later = self._edges(self.position)
        better = np.empty_like(self.position)
        kernels._children_first(first, later, better)
        position = better[self.position]
        first, later = self._edges(position)
        state = np.empty(len(position), dtype=np.int32)
        state[position] = np.arange(len(position), dtype=np.int32)
        return Structure(position.astype(np.int32), state, first, later)

    def _edges(self, position: IntArray) -> tuple[Index, Index]:
        """Return the lists that are left, by position and sorted."""
        n = len(position)
        start = np.cumsum(self.count) - self.count
        listed = np.repeat(self.begin - start, self.count) + np.arange(self.count.sum())
        edges = np.repeat(position, self.count) * n + position[self.neighbour[listed]]
        edges.sort()
        first = np.searchsorted(edges, np.arange(n + 1) * n)
        return first.astype(np.int32), (edges % n).astype(np.int32)


class ExactValues:
    """Values of the chosen actions, found again and again as the choice changes."""

    def __init__(self, structure: Structure, moves: Moves, row: FloatArray, gamma: float) -> None:
        """Set memory aside."""
        n, n_edges, n_u = len(structure.state), len(structure.later), len(row)
        self.structure, self.moves, self.row, self.gamma = structure, moves, row, gamma
        self.parts, self.rows = _parts(structure, n_u), few_rows(n_u)
        self.affected = np.empty(n, dtype=np.bool_)
        edges = (n_edges, n_u, n_u)
        self.blocks = Blocks(
            np.empty((n, n_u)), np.empty((n, n_u, n_u)), np.empty(edges), np.empty(edges)
        )

    def find(self, choice: ChosenActions, news: News, Y: FloatArray) -> Iterator[float]:
        """Set Y; only what the changed choices affect is eliminated again.

        Yields the share that is done, for those who wait.
        """
        args = self.structure, self.affected, self.blocks
        kernels._mark_affected(self.moves, news.changed, self.structure, self.affected)
        for begin, end in self.parts:
            kernels._chosen_blocks(
                self.moves, self.row, self.gamma, choice, begin, end, *args, self.rows
            )
        news.changed[:] = False
        yield from _solve(self.parts, *args, Y, news.shift)


def solution(structure: Structure, system: LinearSystem, n_u: int) -> FloatArray:
    """Return the exact solution of a system whose unknowns are Y[sᵉ, u], flattened."""
    n, edges = len(structure.state), (len(structure.later), n_u, n_u)
    blocks = Blocks(np.zeros((n, n_u)), np.zeros((n, n_u, n_u)), np.zeros(edges), np.zeros(edges))
    kernels._system_blocks(tuple(system), structure, blocks)
    Y = np.zeros((n, n_u))
    parts = _parts(structure, n_u)
    for _ in _solve(parts, structure, np.ones(n, dtype=np.bool_), blocks, Y, np.empty(n)):
        pass
    return Y.reshape(-1)


def _solve(
    parts: list[tuple[int, int]], structure: Structure, affected: BoolArray, blocks: Blocks,
    Y: FloatArray, shift: FloatArray,
) -> Iterator[float]:  # fmt: skip
    rows = few_rows(Y.shape[1])
    for done, (begin, end) in enumerate(parts):
        yield done / len(parts)
        kernels._eliminate(begin, end, structure, affected, blocks, rows)
    for begin, end in reversed(parts):
        kernels._substitute(begin, end, structure, blocks, Y, shift)


def _parts(structure: Structure, n_u: int) -> list[tuple[int, int]]:
    """Positions from and to, in parts that take less than a second."""
    work = (np.diff(structure.first) + 1.0) ** 2 * ((n_u**3 + 4) / 10)
    if work.sum() <= AT_ONCE:
        return [(0, len(work))]
    work = np.cumsum(work)
    cuts = np.searchsorted(work, np.arange(AT_ONCE, work[-1], AT_ONCE))
    bounds = np.unique([0, *cuts.tolist(), len(work)]).tolist()
    return list(pairwise(bounds))
