"""Exact value of a given policy, discounted for ever or cut at a horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray, first_index
from monmdp.model.mdp import number, whole_number
from monmdp.model.monmdp import MonMDP
from monmdp.planning import kernels
from monmdp.planning.factors import factors
from monmdp.planning.linear import LinearSystem
from monmdp.planning.policy_iteration import TOLERANCE, checked_gamma


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values of a policy, and how good they are."""

    monmdp: MonMDP
    gamma: float
    values: FloatArray
    """[s] expected discounted return from every joint state"""
    horizon: int | None
    """steps after which the return is cut; None: never"""
    residual: float
    """largest |T_π V - V|; 0 for a finite horizon, which is exact"""
    converged: bool
    """whether the error bound residual / (1 - γ) is within the tolerance"""

    @property
    def value(self) -> float:
        """Value from the start distribution."""
        return float(self.monmdp.start @ self.values)


def evaluate(
    monmdp: MonMDP,
    policy: ArrayLike,
    gamma: float = 0.99,
    *,
    horizon: int | None = None,
    tol: float = TOLERANCE,
    start_from: FloatArray | None = None,
) -> Evaluation:
    """Evaluate a stationary policy exactly, with the true rewards of `monmdp`, hidden or not.

    Args:
        monmdp: the problem.
        policy: [s, a] probabilities of the joint actions.
        gamma: discount, in [0, 1).
        horizon: cut the return after so many steps (the world's time limit, say); None: never.
        tol: allowed error without a horizon, relative to the largest value (and to 1 below it).
        start_from: [s] values near the answer, to save time.
    """
    gamma = checked_gamma(gamma)
    pi = checked_policy(monmdp, policy)
    m = factors(monmdp)
    n_se, n_sm = monmdp.mdp.n_states, monmdp.monitor.n_states
    V, Y = np.zeros((n_se, n_sm)), np.zeros((n_se, len(m.row)))
    after = np.empty_like(V)
    if horizon is not None:
        for _ in range(whole_number(horizon, "horizon", at_least=0)):
            kernels._policy_step(m, gamma, pi, V, Y, after)
            V[:] = after
            kernels._project(m.row, V, Y)
        return Evaluation(monmdp, gamma, V.reshape(-1), horizon, 0.0, True)

    if start_from is not None:
        V[:] = np.asarray(start_from, dtype=np.float64).reshape(V.shape)
        kernels._project(m.row, V, Y)
    n = Y.size
    first = np.empty(n + 1, dtype=np.int32)
    nothing = np.empty(0, dtype=np.int32), np.empty(0), np.empty(0)
    entries = kernels._policy_system(m, gamma, pi, False, first, *nothing)
    system = LinearSystem(first, np.empty(entries, dtype=np.int32), np.empty(entries), np.empty(n))
    kernels._policy_system(m, gamma, pi, True, *system)
    scale = max(1.0, float(np.abs(system.constant).max()))
    tol = number(tol, "tol")
    y = Y.reshape(-1)
    change = 0.5 * tol * scale * (1 - gamma)
    system.solve(y, change, np.argsort(-system.constant), most_sweeps=1_000_000)
    kernels._policy_step(m, gamma, pi, V, Y, after)
    V[:] = after
    kernels._project(m.row, V, Y)
    residual = float(kernels._policy_step(m, gamma, pi, V, Y, after))
    scale = max(1.0, float(np.abs(V).max()))
    converged = residual <= tol * scale * (1 - gamma)
    return Evaluation(monmdp, gamma, V.reshape(-1), None, residual, converged)


def checked_policy(monmdp: MonMDP, policy: ArrayLike) -> FloatArray:
    """Return a policy [s, a] as [sᵉ, sᵐ, aᵉ, aᵐ], or name the first state it is wrong in."""
    shape = (monmdp.n_states, monmdp.n_actions)
    pi = np.asarray(policy, dtype=np.float64)
    if pi.shape != shape:
        raise MonMDPError(f"policy: shape [s, a] = {shape} expected, got {pi.shape}")
    wrong = ~(np.abs(pi.sum(axis=1) - 1) <= 1e-9) | (pi < 0).any(axis=1)
    if wrong.any():
        (s,) = first_index(wrong)
        se, sm = divmod(s, monmdp.monitor.n_states)
        raise MonMDPError(
            f"policy: the probabilities in joint state {s} (state "
            f"{monmdp.mdp.state_labels[se]!r}, monitor {monmdp.monitor.states[sm]!r}) are no "
            f"distribution: {pi[s].tolist()}"
        )
    mdp, monitor = monmdp.mdp, monmdp.monitor
    joint = (mdp.n_states, monitor.n_states, mdp.n_actions, monitor.n_actions)
    return np.ascontiguousarray(pi).reshape(joint)
