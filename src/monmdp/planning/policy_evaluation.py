"""Exact value of a given policy, discounted for ever or cut at a horizon."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray, as_array, no_distribution
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import MonMDP
from monmdp.planning import backup, kernels
from monmdp.planning.elimination import Elimination
from monmdp.planning.ending import for_ever
from monmdp.planning.factors import checked_problem, factors
from monmdp.planning.gpu.devices import CPU, usable
from monmdp.planning.kernels import Factors
from monmdp.planning.linear import LinearSystem
from monmdp.planning.policy_iteration import (
    AT_ONCE,
    TOLERANCE,
    allowed_residual,
    check_magnitude,
    checked_gamma,
    checked_tolerance,
    checked_values,
    decay,
)
from monmdp.planning.progress import Progress, Tell

STEPS_AT_ONCE = 16
"""steps of one call at most: compiled code cannot be interrupted, and many states may be reached"""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values of a policy, and how good they are."""

    monmdp: MonMDP
    gamma: float
    values: FloatArray = field(repr=False)
    """[s] expected discounted return from every joint state"""
    horizon: int | None
    """steps after which the return is cut; None: never"""
    residual: float
    """largest |T_π V - V|; 0 for a finite horizon, which is exact"""
    converged: bool
    """whether the error bound residual / (1 - γ) is within the tolerance; without a discount the
    most steps that an episode can last on average take the place of 1 / (1 - γ)"""

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
    start_from: ArrayLike | None = None,
    device: str = CPU,
    tell: Tell | None = None,
) -> Evaluation:
    """Evaluate a stationary policy exactly, with the true rewards of `monmdp`, hidden or not.

    Args:
        monmdp: the problem.
        policy: [s, a] probabilities of the joint actions.
        gamma: discount, in [0, 1]. With γ = 1 every policy must end the episode, or there must be
            a horizon.
        horizon: cut the return after this many steps (for instance the time limit); None: never.
        tol: allowed error without a horizon, or what floating point can resolve if that is more.
        start_from: [s] values near the answer, to save time.
        device: "cpu" or "gpu"; without a GPU, or without JAX, it is the CPU, with a warning.
        tell: called a few times a second with a line that says how far it is.

    >>> import numpy as np
    >>> from monmdp import evaluate, make
    >>> problem = make("river-swim", "full")
    >>> right = np.zeros((problem.n_states, problem.n_actions))
    >>> right[:, problem.mdp.find_action("RIGHT")] = 1
    >>> round(evaluate(problem, right).value, 3)
    23.456
    >>> round(evaluate(problem, right, horizon=problem.mdp.time_limit).value, 3)
    20.01
    """
    gamma, tol = checked_gamma(gamma), checked_tolerance(tol)
    progress = Progress(tell)
    pi = checked_policy(checked_problem(monmdp), policy)
    device = usable(device)
    if horizon is not None:
        steps = whole_number(horizon, "horizon", at_least=0)
        check_magnitude(monmdp, max(1 - gamma, 1 / max(steps, 1)))
        if device == CPU:
            V = _after_steps(factors(monmdp), gamma, pi, steps, progress)
        else:
            from monmdp.planning.gpu import search

            V = search.after_steps(monmdp, device, gamma, pi, steps, progress)
        return Evaluation(monmdp, gamma, V.reshape(-1), horizon, 0.0, True)
    rate = decay(monmdp, gamma, device)
    check_magnitude(monmdp, rate)
    given = None if start_from is None else checked_values(monmdp, start_from)
    problem, change = for_ever(monmdp, gamma), 0.5 * tol * rate
    if device == CPU:
        V, residual = _for_ever(factors(problem), gamma, pi, change, given, progress)
        largest = float(np.abs(V).max())
    else:
        from monmdp.planning.gpu import search

        V, residual, largest = search.following(problem, device, gamma, pi, change, given, progress)
    converged = residual <= allowed_residual(tol, rate, largest)
    return Evaluation(monmdp, gamma, V.reshape(-1), None, residual, converged)


def from_start(
    monmdp: MonMDP, policy: FloatArray, gamma: float, steps: int, tol: float, progress: Progress
) -> float:
    """Return the expected discounted return of so many steps of policy[s, a] from the start.

    Unlike backward induction, this takes time only for the states in which the policy is likely to
    be: those that together change the result by less than `tol` are left out.
    """
    m, pi = factors(monmdp), checked_policy(monmdp, policy)
    n_se, n_sm, n_ae, n_am = monmdp.shape
    largest = float(np.abs(m.env_reward).max() + np.abs(m.monitor_reward).max())
    longest = min(steps, 1 / (1 - gamma)) if gamma < 1 else steps
    to_lose = tol / max(largest * longest * steps, 1.0)
    start = np.ascontiguousarray(monmdp.start.reshape(n_se, n_sm))
    come, next_come = np.zeros((n_se, len(m.row))), np.zeros((n_se, len(m.row)))
    here, next_here = np.zeros(n_se, dtype=np.int64), np.zeros(n_se, dtype=np.int64)
    begin = np.flatnonzero(start.any(axis=1))
    here[: len(begin)], n_here, total, done = begin, len(begin), 0.0, 0
    of_state = n_ae * (n_sm * n_am + len(m.row) * (1 + len(m.successor) // max(n_se * n_ae, 1)))
    while done < steps and n_here > 0:
        progress(f"step {done:,} of {steps:,}")
        now = min(max(1, AT_ONCE // (n_here * of_state)), STEPS_AT_ONCE, steps - done)
        arrays = come, next_come, here, next_here, n_here
        more, n_here = kernels._follow(m, gamma, pi, done == 0, start, now, to_lose, *arrays)
        if now % 2:
            come, next_come, here, next_here = next_come, come, next_here, here
        total, done = total + float(more), done + now
    return total


def _for_ever(
    m: Factors,
    gamma: float,
    policy: FloatArray,
    change: float,
    start_from: FloatArray | None,
    progress: Progress,
) -> tuple[FloatArray, float]:
    """V [sᵉ, sᵐ] of the policy, from its linear system, and its residual."""
    Y = np.zeros((len(policy), len(m.row)))
    if start_from is not None:
        Y[:] = backup.project(m, start_from)
    system = _policy_system(m, gamma, policy, eliminate=True)
    system.solve(Y.reshape(-1), change, Elimination(m), most_sweeps=1_000_000, progress=progress)
    V = backup.policy_values(m, gamma, policy, Y)
    after = backup.policy_values(m, gamma, policy, backup.project(m, V))
    return V, float(np.abs(after - V).max())


def _after_steps(
    m: Factors, gamma: float, policy: FloatArray, steps: int, progress: Progress
) -> FloatArray:
    """[sᵉ, sᵐ] expected discounted return of that many steps, by backward induction."""
    Y = np.zeros((len(policy), len(m.row)))
    if steps == 0:
        return np.zeros(policy.shape[:2])
    system = _policy_system(m, gamma, policy, eliminate=False)
    y = Y.reshape(-1)
    for step in range(steps - 1):
        progress(f"step {step:,} of {steps:,}")
        # Every row has entries: whatever the policy does, it may stay or move.
        y[:] = system.constant + np.add.reduceat(
            system.weight * y[system.column], system.first[:-1]
        )
    return backup.policy_values(m, gamma, policy, Y)


def _policy_system(
    m: Factors, gamma: float, policy: FloatArray, *, eliminate: bool
) -> LinearSystem:
    """The values of a policy as y = constant + W y in Y flattened."""
    write = partial(kernels._policy_system, m, gamma, policy, eliminate)
    return LinearSystem.written_by(write, np.arange(len(policy) * len(m.row)))


def checked_policy(monmdp: MonMDP, policy: ArrayLike) -> FloatArray:
    """Return a policy [s, a] as [sᵉ, sᵐ, aᵉ, aᵐ], or name the first state it is wrong in."""
    shape = (monmdp.n_states, monmdp.n_actions)
    pi = as_array(policy, "policy [s, a]")
    if pi.dtype.kind not in "fiub":
        raise MonMDPError(f"policy: numbers expected, got {pi.dtype}")
    if pi.shape != shape:
        raise MonMDPError(f"policy: shape [s, a] = {shape} expected, got {pi.shape}")
    pi = pi.astype(np.float64)
    s = no_distribution(pi)
    if s is not None:
        se, sm = divmod(s, monmdp.monitor.n_states)
        raise MonMDPError(
            f"policy: the probabilities in joint state {s} (state "
            f"{monmdp.mdp.state_labels[se]!r}, monitor {monmdp.monitor.states[sm]!r}) are not "
            f"a distribution: {pi[s].tolist()}"
        )
    mdp, monitor = monmdp.mdp, monmdp.monitor
    joint = (mdp.n_states, monitor.n_states, mdp.n_actions, monitor.n_actions)
    return np.ascontiguousarray(pi).reshape(joint)
