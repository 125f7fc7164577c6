"""Labels of states and actions: a tuple of strings, or made when they are asked for.

A map of a million cells has a million labels such as ``12,345``, of which hardly any is ever read.
`NumberLabels` keeps the numbers and writes a label when somebody looks at it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from monmdp.errors import MonMDPError
from monmdp.model.arrays import IntArray

_NUMBERS = re.compile("(0|[1-9][0-9]{0,17})(,(0|[1-9][0-9]{0,17}))*")


class NumberLabels(Sequence[str]):
    """The rows of an array [label, part] written as ``1,2``; behaves like a tuple of strings.

    No two rows may be equal, and no number negative.

    >>> from monmdp.model.labels import NumberLabels
    >>> labels = NumberLabels([[0, 0], [0, 2]])
    >>> labels, labels[1], labels.index("0,2"), "0,1" in labels
    (('0,0', '0,2'), '0,2', 1, False)
    """

    def __init__(self, numbers: Any) -> None:
        """`numbers` [label, part] are kept as they are, and made read-only."""
        self.numbers: IntArray = np.array(numbers, dtype=np.int64)
        self.numbers.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled copy is read-only, too."""
        return NumberLabels, (self.numbers,)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(_written(self.numbers[index]))
        return ",".join(map(str, self.numbers[index].tolist()))

    def __iter__(self) -> Iterator[str]:
        return iter(_written(self.numbers))

    def _find(self, label: object) -> int | None:
        if not isinstance(label, str) or not _NUMBERS.fullmatch(label):
            return None
        parts = [int(part) for part in label.split(",")]
        if len(parts) != self.numbers.shape[1]:
            return None
        match = np.flatnonzero((self.numbers == parts).all(axis=1))
        return int(match[0]) if len(match) else None

    def __contains__(self, label: object) -> bool:
        return self._find(label) is not None

    def index(self, label: object, start: int = 0, stop: int | None = None) -> int:
        """Return where a label stands; `ValueError` if it does not, or not within the bounds."""
        at = self._find(label)
        if at is None or at not in range(len(self))[start:stop]:
            raise ValueError(f"{label!r} is not a label")
        return at

    def count(self, label: object) -> int:
        """Return 1 for a label, 0 for anything else."""
        return int(label in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberLabels):
            return np.array_equal(self.numbers, other.numbers)
        return isinstance(other, tuple) and len(other) == len(self) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))  # as the tuple it equals

    def __repr__(self) -> str:
        return repr(tuple(self))


def _written(numbers: IntArray) -> Iterator[str]:
    columns = [map(str, column) for column in numbers.T.tolist()]
    return columns[0] if len(columns) == 1 else map(",".join, zip(*columns, strict=True))


def checked_labels(given: Any, n: int, what: str) -> tuple[str, ...] | NumberLabels:
    """Return `given` as `n` different strings; None gives their numbers."""
    if given is None:
        return NumberLabels(np.arange(n)[:, None])
    numbered = isinstance(given, NumberLabels)
    result = given if numbered else tuple(str(label) for label in given)
    if len(result) != n:
        raise MonMDPError(f"{what}: {n} labels expected, got {len(result)}")
    if not numbered and len(set(result)) != len(result):
        times = Counter(result)
        twice = next(label for label in result if times[label] > 1)
        raise MonMDPError(f"{what}: label {twice!r} is used twice")
    return result


def cells_of(picture: Sequence[str]) -> IntArray:
    """[cell, 2] row and column of every tile of a text map that is no wall, in reading order.

    >>> from monmdp.model.labels import cells_of
    >>> cells_of((".#", "..")).tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    lengths = np.array([len(row) for row in picture])
    row = np.repeat(np.arange(len(lengths)), lengths)
    column = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    is_cell = code_points("".join(picture)) != ord("#")
    return np.stack([row[is_cell], column[is_cell]], axis=1)


def code_points(text: str) -> NDArray[np.uint32]:
    """[character] the number of each in Unicode.

    >>> from monmdp.model.labels import code_points
    >>> code_points("#⊥").tolist()
    [35, 8869]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
