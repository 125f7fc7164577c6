"""Turning what people pass in into frozen arrays of one dtype, with errors that name the place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monmdp.errors import MonMDPError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Table = NDArray[np.void]
"""an array of records: table["name"] is an array, of one field"""

ROW_SUM_TOLERANCE = 1e-9

Place = Callable[[tuple[int, ...]], str]
"""Names an entry of an array in the user's words, given its index."""


class FrozenArrays:
    """Mixin for frozen dataclasses of arrays: a pickled copy is validated and frozen too.

    Pickle alone would hand back writable arrays.
    """

    def _set(self, **values: Any) -> None:
        """Fill fields from the constructor, the only place that may."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return _rebuild, (type(self), values)


def _rebuild(kind: Callable[..., Any], values: dict[str, Any]) -> Any:
    return kind(**values)


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Return `values` as an array, or say that they are not one (ragged lists)."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        raise MonMDPError(f"{what}: not an array; are all rows equally long?") from None


def frozen(
    values: ArrayLike | None, dtype: type[np.generic], shape: tuple[int, ...], what: str
) -> NDArray[Any]:
    """Return a read-only C-contiguous copy of `values`, or say what is wrong with it."""
    given = as_array(values, what)
    array = checked(given, dtype, shape, what)
    if np.may_share_memory(array, given) and not isinstance(values, Fresh):
        array = array.copy()
    array.setflags(write=False)
    return array


class Fresh:
    """An array that nobody else holds: it is frozen as it is, not copied."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Let NumPy see the array."""
        return self.array


def checked(
    values: ArrayLike | None, dtype: type[np.generic], shape: tuple[int, ...], what: str
) -> NDArray[Any]:
    """Return `values` as a C-contiguous array, their own if it fits, or say what is wrong."""
    given = as_array(values, what)
    try:
        if given.dtype.kind in "USO":
            raise ValueError("text or objects")
        if dtype is not np.float64 and given.dtype.kind == "f" and not np.all(given == given // 1):
            raise MonMDPError(f"{what}: whole numbers expected, got {given.dtype}")
        array = np.asarray(given, dtype=dtype, order="C")
    except MonMDPError:
        raise
    except (TypeError, ValueError) as error:
        raise MonMDPError(f"{what}: not an array of {np.dtype(dtype)} ({error})") from None
    if array.shape != shape:
        raise MonMDPError(f"{what}: shape {shape} expected, got {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        index = first_index(~np.isfinite(array))
        raise MonMDPError(f"{what}: {array[index]} at index {list(index)}; finite numbers expected")
    return array


def columns_of(rows: Iterable[tuple[ArrayLike, ...]]) -> tuple[NDArray[Any], ...]:
    """Return the columns of a table whose rows hold numbers, or arrays for several rows at once."""
    wide = (np.broadcast_arrays(*map(np.atleast_1d, row)) for row in rows)
    return tuple(map(np.concatenate, zip(*wide, strict=True)))


def first_true(mask: NDArray[np.bool_]) -> int | None:
    """Return where a flat mask is true first; None if it is nowhere."""
    return int(np.argmax(mask)) if mask.any() else None


def first_index(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first true entry."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def check_distribution(rows: FloatArray, what: str, place: Place) -> None:
    """Demand that the last axis of `rows` holds probability distributions."""
    outside = (rows < 0) | (rows > 1 + ROW_SUM_TOLERANCE)
    if outside.any():
        index = first_index(outside)
        raise MonMDPError(
            f"{what}: probability {rows[index]} {place(index[:-1])}; must lie in [0, 1]"
        )
    sums = np.atleast_1d(rows.sum(axis=-1))
    wrong = np.abs(sums - 1) > ROW_SUM_TOLERANCE
    if wrong.any():
        index = first_index(wrong)
        raise MonMDPError(
            f"{what}: probabilities sum to {sums[index]:.12g} {place(index)}; they must sum to 1"
        )


def no_distribution(rows: FloatArray) -> int | None:
    """Return the first row that is not a probability distribution; None if all are."""
    sums_to_one = np.abs(rows.sum(axis=1) - 1) <= ROW_SUM_TOLERANCE
    return first_true(~sums_to_one | (rows < 0).any(axis=1))


def frozen_policy(values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return a policy [s, a] as a frozen array, or say what is wrong with it."""
    policy = frozen(values, np.float64, shape, "policy [s, a]")
    s = no_distribution(policy)
    if s is not None:
        raise MonMDPError(f"policy: no distribution in joint state {s}: {policy[s].tolist()}")
    return policy


def cumulative(rows: FloatArray) -> FloatArray:
    """Return cumulative sums along the last axis, exactly 1 from the last possible outcome on.

    A draw u in [0, 1) can then never select an outcome of probability zero at the end.
    """
    sums = np.cumsum(rows, axis=-1)
    n = rows.shape[-1]
    last_support = n - 1 - np.argmax(np.flip(rows > 0, axis=-1), axis=-1)
    sums[np.arange(n) >= last_support[..., None]] = 1.0
    return sums
