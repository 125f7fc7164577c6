"""Solving y = b + W y, W sparse with row sums at most γ: the values of a fixed policy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.model.arrays import FloatArray, IntArray
from monmdp.planning import kernels

SLOW_SWEEPS = 40
"""so many sweeps to go: a direct solve is cheaper"""
LARGEST_DIRECT_SOLVE = 200_000
"""unknowns; beyond, the fill-in of the factorisation may not fit into memory"""
MOST_SLOW_SWEEPS = 200
"""where a direct solve is out of the question, stop a slow iteration here"""


class LinearSystem(NamedTuple):
    """y = constant + W y with W in compressed rows."""

    first: NDArray[np.int32]
    """[row + 1]"""
    column: NDArray[np.int32]
    """[entry]"""
    weight: FloatArray
    """[entry]"""
    constant: FloatArray
    """[row]"""

    def solve(
        self,
        y: FloatArray,
        accuracy: float,
        order: IntArray,
        most_slow_sweeps: int = MOST_SLOW_SWEEPS,
    ) -> tuple[float, int]:
        """Improve `y` in place; return the last sweep's change and the number of sweeps.

        Gauss-Seidel sweeps in the given order until one changes nothing by more than `accuracy`;
        where they converge slowly, one sparse LU solve. After a sweep with largest change δ the
        residual is at most γδ and the error at most γδ / (1 - γ).
        """
        changes: list[float] = []
        while not changes or changes[-1] > accuracy:
            changes.append(float(kernels._linear_sweep(order, *self, y)))
            if len(changes) % 5 == 0 and _is_slow(changes, accuracy):
                if len(y) <= LARGEST_DIRECT_SOLVE:
                    y[:] = self._solve_directly()
                    return 0.0, len(changes)
                if len(changes) >= most_slow_sweeps:
                    break
        return changes[-1], len(changes)

    def _solve_directly(self) -> FloatArray:
        from scipy.sparse import csr_array, eye_array
        from scipy.sparse.linalg import splu

        n = len(self.constant)
        entries: Any = (self.weight, self.column, self.first)
        system = eye_array(n, format="csr") - csr_array(entries, shape=(n, n))
        solution: FloatArray = splu(system.tocsc()).solve(self.constant)
        return solution


def _is_slow(changes: list[float], accuracy: float) -> bool:
    """Will it take more than `SLOW_SWEEPS` further sweeps at the present rate?"""
    if changes[-1] <= accuracy:
        return False
    rate = (changes[-1] / changes[-4]) ** (1 / 3)
    return rate >= 1 or bool(np.log(accuracy / changes[-1]) / np.log(rate) > SLOW_SWEEPS)
