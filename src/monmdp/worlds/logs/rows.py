"""From the columns of a log to `Counted`: every row read, named, checked and counted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.worlds.logs.coding import DATE, Coder
from monmdp.worlds.logs.counting import Counts, Rows, Tally
from monmdp.worlds.logs.reading import NO_NUMBER, Log

TRUE, FALSE = ("true", "1", "yes", "1.0"), ("false", "0", "no", "0.0")
MONITOR = ("monitor_state", "monitor_action", "monitor_reward")


@dataclass(frozen=True, eq=False)
class Counted:
    """A log in counts; states and actions are numbered in the order of their names."""

    name: str
    """of the log"""
    columns: frozenset[str]
    """what it has columns for"""
    states: tuple[str, ...]
    actions: tuple[str, ...]
    monitor_states: tuple[str, ...]
    monitor_actions: tuple[str, ...]
    outcomes: tuple[IntArray, IntArray, IntArray, BoolArray, FloatArray, FloatArray]
    """sᵉ, aᵉ, s′ᵉ, whether the episode ended, rows, rows that show the reward"""
    rewards: tuple[IntArray, IntArray, FloatArray, FloatArray]
    """sᵉ, aᵉ, reward, rows"""
    taken: tuple[
        IntArray, IntArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray, FloatArray
    ]
    """sᵉ, sᵐ, aᵉ, aᵐ, rows, rows that show the reward, sums of the monitor's rewards and of their
    squares"""
    moves: tuple[IntArray, IntArray, IntArray, IntArray, IntArray, FloatArray]
    """sᵉ, aᵉ, sᵐ, aᵐ, s′ᵐ, rows"""
    starts: tuple[IntArray, IntArray, FloatArray]
    """sᵉ, sᵐ, episodes"""
    rows: int
    episodes: int
    longest: int
    """rows of the longest episode"""
    first_state: int | None
    """that was named as the start of every episode"""
    remarks: tuple[str, ...]


def counted(
    log: Log, columns: dict[str, str], low: float | None, high: float | None, start: Any
) -> Counted:
    """Read a log; `columns` says which column has which role."""
    reader = _Reader(log, columns, low, high)
    reader.read()
    return reader.result(start)


class _Reader:
    """A log on its way from columns to counts."""

    def __init__(
        self, log: Log, columns: dict[str, str], low: float | None, high: float | None
    ) -> None:
        self.log, self.column, self.low, self.high = log, columns, low, high
        for role, name in columns.items():
            log.demand(name, role)
        self.coder = {
            of: Coder(log, of.replace("_", " "))
            for of in ("state", "action", "monitor_state", "monitor_action", "episode")
        }
        told = {"successors": "next_state", "endings": "done", "episodes": "episode"}
        self.tally = Tally(log, **{what: role in columns for what, role in told.items()})

    def read(self) -> None:
        """Count all rows."""
        used = list(dict.fromkeys(self.column.values()))
        row = 0
        for batch in self.log.batches(used):
            if len(batch):
                self.tally.add(self._coded(batch, row), last=False)
            row += len(batch)
        if not row:
            raise MonMDPError(f"{self.log.name}: the log has no rows")
        self.tally.finish()

    def _coded(self, batch: Any, first_row: int) -> Rows:
        """A batch in numbers."""
        # where the successor is that of the next row, a row without an action closes an episode
        closing = "next_state" not in self.column

        def coded(role: str, coder: str, *, may_lack: bool = False) -> IntArray:
            if role not in self.column:
                return np.zeros(len(batch), dtype=np.int64)
            codes = self.coder[coder](batch[self.column[role]], first_row)
            if not may_lack:
                self._refuse(codes < 0, first_row, f"no {role} ({self.column[role]!r} is empty)")
            return codes

        rows: Rows = {
            "row": np.arange(first_row, first_row + len(batch)),
            "episode": coded("episode", "episode"),
            "s": coded("state", "state"),
            "a": coded("action", "action", may_lack=closing),
            "m": coded("monitor_state", "monitor_state"),
            "b": np.maximum(coded("monitor_action", "monitor_action", may_lack=closing), 0),
            "next_s": coded("next_state", "state", may_lack=True),
            "reward": self._numbers(batch, "reward", first_row),
            "cost": self._numbers(batch, "monitor_reward", first_row),
            "done": self._truths(batch, first_row),
        }
        self._check_bounds(rows["reward"], first_row)
        if "monitor_reward" in self.column:
            self._refuse(np.isnan(rows["cost"]), first_row, "no monitor_reward")
        return rows

    def _refuse(self, bad: BoolArray, first_row: int, what: str) -> None:
        """Refuse a log for some of its rows."""
        if bad.any():
            rows = (first_row + np.flatnonzero(bad)).tolist()
            count = f"{len(rows):,} rows have" if len(rows) > 1 else "a row has"
            raise MonMDPError(f"{self.log.name}: {count} {what}: {self.log.rows(rows)}")

    def _numbers(self, batch: Any, role: str, first_row: int) -> FloatArray:
        """[row] a column of numbers; NaN where one is missing."""
        import pandas as pd

        if role not in self.column:
            return np.zeros(len(batch))
        column = batch[self.column[role]]
        if column.dtype.kind in "Mmc":
            what = "complex numbers" if column.dtype.kind == "c" else "dates"
            place = f"{self.column[role]!r} for {role}"
            raise MonMDPError(f"{self.log.name}: {place} holds {what}, where numbers belong")
        if column.dtype.kind not in "biuf":
            column = column.mask(column.astype(object).isin(("", *NO_NUMBER)))
        numbers = pd.to_numeric(column, errors="coerce")
        bad = (numbers.isna() & ~column.isna()).to_numpy(dtype=bool)
        if bad.any():
            example = column.iloc[int(np.argmax(bad))]
            self._refuse(bad, first_row, f"no number as {role}, such as {example!r}")
        values: FloatArray = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        self._refuse(np.isinf(values), first_row, f"an infinite {role}")
        return values

    def _truths(self, batch: Any, first_row: int) -> BoolArray:
        """[row] whether the episode ended."""
        if "done" not in self.column:
            return np.zeros(len(batch), dtype=bool)
        column = batch[self.column["done"]]
        if column.dtype == np.bool_:
            truths: BoolArray = column.to_numpy()
            return truths
        words = column.astype(str).str.strip().str.lower()
        yes: BoolArray = words.isin(TRUE).to_numpy()
        bad = ~(yes | words.isin(FALSE).to_numpy()) | column.isna().to_numpy()
        if bad.any():
            example = column.iloc[int(np.argmax(bad))]
            self._refuse(bad, first_row, f"neither true nor false as done, such as {example!r}")
        return yes

    def _check_bounds(self, reward: FloatArray, first_row: int) -> None:
        """Refuse rewards outside the bounds that were given."""
        for bound, sign, words in ((self.low, 1, "below r_min"), (self.high, -1, "above r_max")):
            if bound is None:
                continue
            bad = sign * (reward - bound) < -1e-12 * max(1.0, abs(bound))
            if bad.any():
                worst = float(reward[bad].min() if sign > 0 else reward[bad].max())
                self._refuse(bad, first_row, f"a reward {words} = {bound:g}, such as {worst:g}")

    def result(self, start: Any) -> Counted:
        """Number everything in the order of its name."""
        tally = self.tally
        place, names = {}, {}
        for of, coder in self.coder.items():
            place[of], names[of] = coder.in_order()
        if "monitor_state" not in self.column:
            place["monitor_state"], names["monitor_state"] = np.zeros(1, dtype=np.int64), ("ON",)
        if "monitor_action" not in self.column:
            place["monitor_action"] = np.zeros(1, dtype=np.int64)
            names["monitor_action"] = ("NO-OP",)

        def table(counts: Counts, *roles: str) -> Any:
            """The columns of some counts, names in order."""
            columns: list[Any] = [
                of if role == "" else place[role][of]
                for role, of in zip(roles, counts.keys, strict=True)
            ]
            return (*columns, *counts.sums)

        s, a, to, ended, rows, shown = table(tally.outcomes, "state", "action", "state", "")
        first = None if start is None else int(place["state"][self.coder["state"].find(start)])
        return Counted(
            name=self.log.source.stem if isinstance(self.log.source, Path) else "log",
            columns=frozenset(self.column),
            states=names["state"],
            actions=names["action"],
            monitor_states=names["monitor_state"],
            monitor_actions=names["monitor_action"],
            outcomes=(s, a, to, ended.astype(np.bool_), rows, shown),
            rewards=table(tally.rewards, "state", "action", ""),
            taken=table(tally.taken, "state", "monitor_state", "action", "monitor_action"),
            moves=table(
                tally.moves, "state", "action", "monitor_state", "monitor_action", "monitor_state"
            ),
            starts=table(tally.starts, "state", "monitor_state"),
            rows=tally.rows,
            episodes=tally.n_episodes,
            longest=tally.longest,
            first_state=first,
            remarks=(*tally.odd.lines(), *self._remarks_on_names()),
        )

    def _remarks_on_names(self) -> list[str]:
        said = []
        used = self.column.values()
        spare = [of for of in MONITOR if of in self.log.columns and of not in used]
        if spare:
            said.append(
                f"columns that are not used: {', '.join(spare)}; do they tell of a monitor?"
            )
        for role in ("state", "action"):
            coder = self.coder[role]
            if coder.rewritten is not None:
                short = coder.rewritten.partition(".")[0]
                said.append(f"{role}s such as {coder.rewritten!r} are read as {short!r}")
            if (odd := coder.looks_missing()) is not None:
                said.append(
                    f"a {role} is called {odd!r}; if that means a missing one, leave it empty"
                )
            if DATE in coder.kinds or coder.looks_like_dates():
                said.append(f"the {role}s are dates; is {self.column[role]!r} a column of times?")
        return said
