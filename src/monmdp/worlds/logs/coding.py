"""Numbers for whatever a log calls its states, actions and episodes.

A `Coder` numbers values in the order in which they come, batch by batch, and refuses a column that
holds several kinds of things: 1 and "1" might be meant to be one state, or two.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model.arrays import IntArray
from monmdp.worlds.logs.reading import NO_NUMBER, Log

if TYPE_CHECKING:
    import pandas as pd

_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
"""a whole number as programs write it that allow for missing ones"""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2,4}")
_DIGITS = re.compile("([0-9]{1,300})")
LONGEST = 1000
"""letters of a name"""
TEXT, WHOLE, NUMBER, DATE = "text", "whole numbers", "numbers", "dates"


class Coder:
    """Numbers the values of one or two columns."""

    def __init__(self, log: Log, what: str) -> None:
        """Begin with no values; `what` names them in messages."""
        self.log = log
        self.what = what
        self.code: dict[Hashable, int] = {}
        self.kinds: dict[str, int] = {}
        """the row in which each kind of value was met first"""
        self.rewritten: str | None = None
        """a text that was read as a whole number, if there is one"""

    def __len__(self) -> int:
        return len(self.code)

    def __call__(self, column: pd.Series[Any], first_row: int) -> IntArray:
        """Return [row] the number of each value; -1 where it is missing."""
        import pandas as pd

        if column.dtype == object:
            self._meet_types(column, first_row)
        try:
            local, distinct = pd.factorize(column, use_na_sentinel=True)
        except TypeError:
            bad = next(i for i, value in enumerate(column) if not isinstance(value, Hashable))
            kind = type(column.iloc[bad]).__name__
            raise MonMDPError(
                f"{self.log.name}: the {self.what} in {self.log.rows([first_row + bad])} is a "
                f"{kind}, which cannot be a name; a tuple or a text can"
            ) from None
        codes = np.empty(len(distinct) + 1, dtype=np.int64)
        codes[-1] = -1
        for i, value in enumerate(distinct.tolist()):
            kind, plain = self._plain(value)
            if kind not in self.kinds:
                self._meet(kind, first_row + int(np.argmax(local == i)))
            codes[i] = self.code.setdefault(plain, len(self.code))
        numbers: IntArray = codes[local]
        return numbers

    def _meet_types(self, column: pd.Series[Any], first_row: int) -> None:
        """Meet all kinds of objects in a column: True and 1 are equal, and would pass for one."""
        here = column[column.notna()]
        for kind in dict.fromkeys(map(type, here)):
            row = next(i for i, value in here.items() if type(value) is kind)
            name = self._plain(here[row])[0]
            if name not in self.kinds:
                self._meet(name, first_row + int(row))

    def _plain(self, value: Any) -> tuple[str, Hashable]:
        """The kind of a value, and the value itself; 2.0 is the whole number 2."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool):
            return "truth values", value
        if isinstance(value, int):
            return WHOLE, value
        if isinstance(value, float):
            return (WHOLE, int(value)) if value.is_integer() else (NUMBER, value)
        if isinstance(value, str):
            whole = _WHOLE.fullmatch(value) if self.log.text else None
            if whole is not None:
                self.rewritten = value
            if len(value) > LONGEST:
                raise MonMDPError(
                    f"{self.log.name}: a {self.what} has a name of {len(value):,} letters, "
                    f"{value[:20]!r}…; the limit is {LONGEST:,}"
                )
            return TEXT, value if whole is None else whole[1]
        if isinstance(value, datetime.date):
            return DATE, value
        return f"values of type {type(value).__name__}", value

    def _meet(self, kind: str, row: int) -> None:
        self.kinds[kind] = row
        if set(self.kinds) > {kind} and not set(self.kinds) <= {WHOLE, NUMBER}:
            found = " and ".join(f"{k} ({self.log.rows([r])})" for k, r in self.kinds.items())
            raise MonMDPError(
                f"{self.log.name}: the {self.what}s are of several kinds: {found}; make them one"
            )

    def looks_missing(self) -> str | None:
        """Return a name that may mean a missing value, if there is one."""
        return next((of for of in NO_NUMBER if of in self.code), None)

    def looks_like_dates(self) -> bool:
        """Return whether texts look like dates or times."""
        texts = [of for of in itertools.islice(self.code, 100) if isinstance(of, str)]
        return bool(texts) and all(_DAY.match(text) for text in texts)

    def find(self, value: Any) -> int:
        """Return the number of a value that somebody names."""
        _, plain = self._plain(value)
        if plain in self.code:
            return self.code[plain]
        labels = {str(of): number for of, number in self.code.items()}
        if str(value) in labels:
            return labels[str(value)]
        raise MonMDPError(f"{self.log.name}: no {self.what} {value!r} in it")

    def in_order(self) -> tuple[IntArray, tuple[str, ...]]:
        """Return [code] the place of each value in order, and their names in that order."""
        values = list(self.code)
        try:
            keys = [_natural(of) if isinstance(of, str) else of for of in values]
            order = sorted(range(len(values)), key=lambda i: keys[i])  # type: ignore[arg-type, return-value]
        except TypeError:  # values that have no order: by their names
            order = sorted(range(len(values)), key=lambda i: _natural(str(values[i])))
        place = np.empty(len(values), dtype=np.int64)
        place[order] = np.arange(len(values))
        return place, tuple(str(values[i]) for i in order)


def _natural(text: str) -> list[tuple[bool, int, str]]:
    """A key that puts bed 9 before bed 10."""
    parts = _DIGITS.split(text)
    return [(part.isdigit(), int(part) if i % 2 else 0, part) for i, part in enumerate(parts)]
