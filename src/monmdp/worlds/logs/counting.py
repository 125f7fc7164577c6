"""From the rows of a log to counts, batch by batch.

A row is counted when its follower is known, the next row of the same episode: that is where its
successor stands if the log has no column for it, and the next state of the monitor. So the last row
of every open episode is held back until another batch brings its follower, or the log ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.worlds.logs.reading import EXAMPLES, Log

UNKNOWN = -1
"""in place of a state that no row tells"""
AFTER_END = "follow the end of their own episode (counted as another one)"
Rows = dict[str, NDArray[Any]]
"""columns of equal length: row, episode, s, a, next_s, done, reward, m, b, cost (s, m: states of
environment and monitor; a, b: actions)"""


@dataclass
class Counts:
    """Rows grouped by keys: how many there are, and sums over them."""

    keys: list[NDArray[Any]] = field(default_factory=list)
    """[key][group] in order"""
    sums: list[FloatArray] = field(default_factory=list)
    """[sum][group], the first of them the number of rows"""
    _parts: list[tuple[list[NDArray[Any]], list[FloatArray]]] = field(default_factory=list)
    _waiting: int = 0

    def add(self, keys: Sequence[NDArray[Any]], *sums: NDArray[Any]) -> None:
        """Count rows; `sums` are added up besides."""
        ones = np.ones(len(keys[0]))
        part = _grouped(list(keys), [ones, *(of.astype(np.float64) for of in sums)])
        self._parts.append(part)
        self._waiting += len(part[0][0])
        if self._waiting > max(1 << 20, len(self.keys[0]) if self.keys else 0):
            self.merge()

    def merge(self) -> Counts:
        """Bring all that was added together."""
        parts = ([(self.keys, self.sums)] if self.keys else []) + self._parts
        if self._parts:
            keys = [np.concatenate(of) for of in zip(*(part[0] for part in parts), strict=True)]
            sums = [np.concatenate(of) for of in zip(*(part[1] for part in parts), strict=True)]
            self.keys, self.sums = _grouped(keys, sums)
            self._parts, self._waiting = [], 0
        return self


def _grouped(
    keys: list[NDArray[Any]], sums: list[FloatArray]
) -> tuple[list[NDArray[Any]], list[FloatArray]]:
    """Sort rows by their keys, and add up those that agree in all."""
    n = len(keys[0])
    if not n:
        return keys, sums
    order = np.lexsort(keys[::-1])
    keys = [key[order] for key in keys]
    begins = np.ones(n, dtype=bool)
    begins[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    first = np.flatnonzero(begins)
    return [key[first] for key in keys], [np.add.reduceat(of[order], first) for of in sums]


class Oddities:
    """Rows that are not as rows should be: how many of each kind, and the first of them."""

    def __init__(self, log: Log) -> None:
        """Begin with none."""
        self.log = log
        self.found: dict[str, tuple[int, list[int]]] = {}

    def note(self, what: str, rows: IntArray) -> None:
        """Remember rows."""
        if len(rows):
            count, first = self.found.get(what, (0, []))
            first = sorted([*first, *np.sort(rows)[: EXAMPLES + 1].tolist()])[: EXAMPLES + 1]
            self.found[what] = count + len(rows), first

    def lines(self) -> list[str]:
        """Return a line for each kind."""
        return [
            f"rows that {what}: {count:,} ({self.log.rows(first)})"
            for what, (count, first) in self.found.items()
        ]


class Tally:
    """All counts that a problem is made from."""

    def __init__(self, log: Log, *, successors: bool, endings: bool, episodes: bool) -> None:
        """Say which columns the log has: next states, done, episodes."""
        self.odd = Oddities(log)
        self.successors, self.endings, self.episodes = successors, endings, episodes
        self.outcomes = Counts()
        """(s, a, next_s, done) -> rows, rows that show the reward"""
        self.rewards = Counts()
        """(s, a, reward) -> rows"""
        self.taken = Counts()
        """(s, m, a, b) -> rows, rows that show the reward, sums of the monitor's rewards, and of
        their squares"""
        self.moves = Counts()
        """(s, a, m, b, next m) -> rows"""
        self.starts = Counts()
        """(s, m) -> episodes"""
        self.rows = 0
        self.longest = 0
        """rows of the longest episode"""
        self.n_episodes = 0
        self._held: Rows = {}
        self._known = np.zeros(0, dtype=bool)
        self._length = np.zeros(0, dtype=np.int64)
        self._current = 0
        """number of the last episode, where the log has no column for it"""

    def add(self, rows: Rows, *, last: bool) -> None:
        """Count a batch; with `last` also what was held back."""
        n_held = len(self._held["row"]) if self._held else 0
        if not self.episodes:
            rows["episode"] = self._numbered(rows)
        if n_held:
            rows = {name: np.concatenate([self._held[name], rows[name]]) for name in rows}
        order = np.argsort(rows["episode"], kind="stable")
        held = (np.arange(len(order)) < n_held)[order]
        rows = {name: column[order] for name, column in rows.items()}
        self._begin(rows, held)
        follows = np.zeros(len(order), dtype=bool)
        follows[:-1] = rows["episode"][1:] == rows["episode"][:-1]
        if self.endings:
            self.odd.note(AFTER_END, rows["row"][1:][(follows & rows["done"])[:-1]])
            follows &= ~rows["done"]
        after = {name: np.roll(rows[name], -1) for name in ("s", "a", "m", "row")}
        self.odd.note(
            "have no action, and their episode goes on (left out)",
            rows["row"][follows & (rows["a"] == UNKNOWN)],
        )
        self._find_jumps(rows, follows, after)
        if not self.successors:
            rows["next_s"] = np.where(follows, after["s"], UNKNOWN)
        rows["next_m"] = np.where(follows, after["m"], UNKNOWN)
        waits = ~follows & ~rows["done"] & (not last)
        if not self.episodes:
            waits[:-1] = False  # an episode that is left is over
        self._held = {name: of[waits] for name, of in rows.items() if name != "next_m"}
        self._count({name: column[~waits] for name, column in rows.items()})

    def _numbered(self, rows: Rows) -> IntArray:
        """[row] numbers of episodes: a new one begins after an end or, untold, where it jumps."""
        before = self._held or {name: column[:0] for name, column in rows.items()}
        ended, to = (np.concatenate([before[name], rows[name]]) for name in ("done", "next_s"))
        state = rows["s"]
        offset = len(to) - len(state)
        begins = np.zeros(len(state), dtype=bool)
        mine = slice(0, None) if offset else slice(1, None)
        previous = slice(max(offset - 1, 0), len(to) - 1)
        if self.endings:
            begins[mine] = ended[previous]
        elif self.successors:
            begins[mine] = to[previous] != state[mine]
        if not offset and self._known.size:
            begins[:1] = True  # the row before ended its episode, else it would wait
        number = self._current + np.cumsum(begins)
        self._current = int(number[-1]) if len(number) else self._current
        return number

    def _begin(self, rows: Rows, held: BoolArray) -> None:
        """Count the first rows of episodes."""
        episode = rows["episode"]
        if not len(episode):
            return
        size = int(episode.max()) + 1
        if size > len(self._known):
            more = max(size, 2 * len(self._known)) - len(self._known)
            self._known = np.append(self._known, np.zeros(more, dtype=bool))
            self._length = np.append(self._length, np.zeros(more, dtype=np.int64))
        first = np.ones(len(episode), dtype=bool)
        first[1:] = episode[1:] != episode[:-1]
        again = first & ~held & self._known[episode]
        self.odd.note(AFTER_END, rows["row"][again])
        if self.endings:
            after_end = np.zeros(len(episode), dtype=bool)
            after_end[1:] = ~first[1:] & rows["done"][:-1]
            first |= after_end
        begins = first & ~held
        self._known[episode] = True
        self._measure(episode, first, held, rows["a"] != UNKNOWN)
        self.n_episodes += int(begins.sum())
        self.starts.add([rows["s"][begins], rows["m"][begins]])

    def _measure(
        self, episode: IntArray, first: BoolArray, held: BoolArray, steps: BoolArray
    ) -> None:
        """Keep the length of every open episode, and the longest of all."""
        run = np.cumsum(first) - 1
        length = np.bincount(run, steps & ~held).astype(np.int64)
        begin = np.flatnonzero(first)
        length += np.where(held[begin], self._length[episode[begin]], 0)
        self.longest = max(self.longest, int(length.max()))
        self._length[episode[begin]] = length  # of several, the last stays

    def _find_jumps(self, rows: Rows, follows: BoolArray, after: Rows) -> None:
        """Rows that do not begin where the one before ended."""
        if not self.successors or not (self.episodes or self.endings):
            return
        jump = follows & (rows["next_s"] != UNKNOWN) & (rows["next_s"] != after["s"])
        twice = jump & (rows["s"] == after["s"]) & (rows["a"] == after["a"])
        for name in ("next_s", "reward", "done"):
            mine, other = rows[name], np.roll(rows[name], -1)
            same = mine == other
            if mine.dtype.kind == "f":
                same |= np.isnan(mine) & np.isnan(other)
            twice &= same
        self.odd.note("repeat the row before (kept; remove them if they are copies)",
                      after["row"][twice])  # fmt: skip
        self.odd.note("do not begin in the next state of the row before (kept)",
                      after["row"][jump & ~twice])  # fmt: skip

    def _count(self, rows: Rows) -> None:
        closing = rows["a"] == UNKNOWN  # tells where the row before led, and nothing else
        unknown = (rows["next_s"] == UNKNOWN) & ~rows["done"] & ~closing
        self.odd.note(
            "lead nowhere that is known and are left out (no next state, and not done)",
            rows["row"][unknown],
        )
        rows = {name: column[~unknown & ~closing] for name, column in rows.items()}
        s, a, m, b = (rows[name] for name in ("s", "a", "m", "b"))
        shown = ~np.isnan(rows["reward"])
        to = np.where(rows["next_s"] == UNKNOWN, s, rows["next_s"])
        self.rows += len(s)
        self.outcomes.add([s, a, to, rows["done"]], shown)
        self.rewards.add([s[shown], a[shown], rows["reward"][shown]])
        self.taken.add([s, m, a, b], shown, rows["cost"], rows["cost"] ** 2)
        moved = rows["next_m"] != UNKNOWN
        self.moves.add([of[moved] for of in (s, a, m, b, rows["next_m"])])

    def finish(self) -> None:
        """Count what was held back, and bring everything together."""
        if self._held and len(self._held["row"]):
            empty = {name: column[:0] for name, column in self._held.items()}
            self.add(empty, last=True)
        for counts in (self.outcomes, self.rewards, self.taken, self.moves, self.starts):
            counts.merge()
        if not self.rows:
            raise MonMDPError(f"{self.odd.log.name}: no row can be used" + "".join(
                f"; {line}" for line in self.odd.lines()
            ))  # fmt: skip
