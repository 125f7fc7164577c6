"""Solving y = b + W y, W sparse with row sums at most γ: the values of a fixed policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.model.arrays import FloatArray, IntArray
from monmdp.planning import kernels

SLOW_SWEEPS = 40
"""with more sweeps than this to go, another method is tried"""
LARGEST_FACTORISATION = 2e9
"""operations; beyond, an LU factorisation may take too long and too much memory"""
KRYLOV_STEPS = 100
LARGE = 200_000
"""unknowns; a policy of this many states is better improved again than evaluated to the end"""
MOST_SWEEPS_IF_LARGE = 15
SLOW_SWEEPS_IF_LARGE = 100


class LinearSystem(NamedTuple):
    """y[order] = constant + W y with W in compressed rows, stored in the order of the sweeps."""

    order: IntArray
    """[row] the unknown that the row determines"""
    first: NDArray[np.int32]
    """[row + 1]"""
    column: NDArray[np.int32]
    """[entry]"""
    weight: FloatArray
    """[entry]"""
    constant: FloatArray
    """[row]"""

    @classmethod
    def written_by(cls, kernel: Callable[..., int], order: IntArray) -> LinearSystem:
        """Let `kernel(fill, first, column, weight, constant)` count the entries, then fill them."""
        n = len(order)
        first, empty = np.empty(n + 1, dtype=np.int32), np.empty(0)
        entries = kernel(False, first, empty.astype(np.int32), empty, empty)
        column, weight = np.empty(entries, dtype=np.int32), np.empty(entries)
        system = cls(order, first, column, weight, np.empty(n))
        kernel(True, *system[1:])
        return system

    def solve(
        self, y: FloatArray, accuracy: float, most_sweeps: int | None = None
    ) -> tuple[float, int]:
        """Improve `y` in place; return the last sweep's change and the number of sweeps.

        Gauss-Seidel sweeps until one changes nothing by more than `accuracy` (or than rounding
        does), or until there were `most_sweeps`. Where they converge slowly they get help once:
        from a sparse LU factorisation if the system is narrow enough, else from a Krylov method.
        After a sweep with largest change δ the residual is at most γδ and the error at most
        γδ / (1 - γ).
        """
        if most_sweeps is None:
            most_sweeps = MOST_SWEEPS_IF_LARGE if len(y) > LARGE else np.iinfo(np.int64).max
        slow = SLOW_SWEEPS if len(y) <= LARGE else SLOW_SWEEPS_IF_LARGE
        changes: list[float] = []
        helped = False
        while not changes or changes[-1] > accuracy:
            changes.append(float(kernels._linear_sweep(*self, y)))
            if len(changes) >= most_sweeps:
                break
            if len(changes) % 5:
                continue
            # Now and then: is rounding all that is left, or is it slow?
            accuracy = max(accuracy, 4 * np.finfo(float).eps * float(np.abs(y).max()))
            if not helped and _sweeps_to_go(changes, accuracy) > slow:
                y[:] = self._solve_at_once(y, accuracy)
                helped = True
        return changes[-1], len(changes)

    def _solve_at_once(self, y: FloatArray, accuracy: float) -> FloatArray:
        from scipy.sparse import csr_array, eye_array
        from scipy.sparse.linalg import bicgstab, splu

        n = len(self.constant)
        entries: Any = (self.weight, self.column, self.first)
        row_of = np.argsort(self.order)
        W = csr_array(entries, shape=(n, n))[row_of]
        constant = self.constant[row_of]
        system = eye_array(n, format="csr") - W
        if _factorisation_cost(W) <= LARGEST_FACTORISATION:
            exact: FloatArray = splu(system.tocsc()).solve(constant)
            return exact
        close, _ = bicgstab(system, constant, x0=y, rtol=0.0, atol=accuracy, maxiter=KRYLOV_STEPS)
        return close if np.isfinite(close).all() else y


def _factorisation_cost(W: Any) -> float:
    """Bound on the operations of an LU factorisation: Σ bandwidth², rows well ordered.

    Mazes and chains are narrow; a graph whose states lead anywhere fills in completely.
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(W, symmetric_mode=False)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    row = np.repeat(rank, np.diff(W.indptr))
    column = rank[W.indices]
    reach = np.zeros(len(order), dtype=np.int64)
    np.maximum.at(reach, np.maximum(row, column), np.abs(row - column))
    return float((reach.astype(np.float64) ** 2).sum())


def _sweeps_to_go(changes: list[float], accuracy: float) -> float:
    """How many more sweeps will it take at the present rate?"""
    if changes[-1] <= accuracy:
        return 0.0
    rate = (changes[-1] / changes[-4]) ** (1 / 3)
    return float(np.log(accuracy / changes[-1]) / np.log(rate)) if rate < 1 else np.inf
