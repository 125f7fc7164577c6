"""Solving y = b + W y, W sparse with row sums at most γ: the values of a fixed policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.model.arrays import FloatArray, IntArray
from monmdp.planning import kernels
from monmdp.planning.elimination import Elimination, solution
from monmdp.planning.progress import SILENT, Progress

SLOW_SWEEPS = 40
"""with more sweeps than this to go, another method is tried"""
MOST_SWEEPS_WORTH = 1000
"""an elimination that is more work than so many sweeps is never tried"""
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
        self,
        y: FloatArray,
        accuracy: float,
        elimination: Elimination,
        most_sweeps: int | None = None,
        progress: Progress = SILENT,
    ) -> tuple[float, int]:
        """Improve `y` in place; return the last sweep's change and the number of sweeps.

        Gauss-Seidel sweeps until one changes nothing by more than `accuracy` (or than rounding
        does), or until there were `most_sweeps`. Where they converge slowly they get help once:
        from elimination if that is less work than the sweeps to go, else from a Krylov method.
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
            progress(f"evaluating a policy: {len(changes)} sweeps, change {changes[-1]:.1e}")
            if len(changes) >= most_sweeps:
                break
            if len(changes) % 5:
                continue
            # Now and then: is rounding all that is left, or is it slow?
            accuracy = max(accuracy, 4 * np.finfo(float).eps * float(np.abs(y).max()))
            to_go = _sweeps_to_go(changes, accuracy)
            if not helped and to_go > slow:
                structure = elimination.within(min(to_go, MOST_SWEEPS_WORTH))
                if structure is not None:
                    y[:] = solution(structure, self, elimination.n_u)
                else:
                    y[:] = self._krylov(y, accuracy, progress)
                helped = True
        return changes[-1], len(changes)

    def _krylov(self, y: FloatArray, accuracy: float, progress: Progress) -> FloatArray:
        from scipy.sparse import csr_array, eye_array
        from scipy.sparse.linalg import bicgstab

        n = len(self.constant)
        entries: Any = (self.weight, self.column, self.first)
        row_of = np.argsort(self.order)
        system = eye_array(n, format="csr") - csr_array(entries, shape=(n, n))[row_of]
        close, _ = bicgstab(
            system, self.constant[row_of], x0=y, rtol=0.0, atol=accuracy, maxiter=KRYLOV_STEPS,
            callback=lambda _: progress("evaluating a policy with a Krylov method"),
        )  # fmt: skip
        return close if np.isfinite(close).all() else y


def _sweeps_to_go(changes: list[float], accuracy: float) -> float:
    """How many more sweeps will it take at the present rate?"""
    if changes[-1] <= accuracy:
        return 0.0
    rate = (changes[-1] / changes[-4]) ** (1 / 3)
    return float(np.log(accuracy / changes[-1]) / np.log(rate)) if rate < 1 else np.inf
