"""Answers of the sweeps: the shell around them, with the same results as the CPU's planner."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.monmdp import MonMDP
from monmdp.planning.factors import factors
from monmdp.planning.gpu import sweeps
from monmdp.planning.gpu.devices import demand_device_room, jax_device
from monmdp.planning.gpu.tables import Near, bytes_needed, tables
from monmdp.planning.progress import SILENT, Progress

A_WHILE = 0.25
"""seconds that the device may work before it is asked again: Ctrl-C waits as long"""
CHUNK = 2**25
"""joint pairs whose actions are compared at a time, to bound memory"""


class Search:
    """A problem on a device, and values on their way to the answer."""

    def __init__(self, monmdp: MonMDP, device: str, policy: FloatArray | None = None) -> None:
        """Move the problem, with policy[sᵉ, sᵐ, aᵉ, aᵐ] or to find the best, to the device."""
        self.monmdp, self.device = monmdp, device
        self.m, host = factors(monmdp), tables(monmdp)
        self.rows = host.menus.rows if isinstance(host.world, Near) else ()
        self.sweeps = 0
        demand_device_room(
            bytes_needed(monmdp, evaluates=policy is not None),
            device,
            f"{monmdp.n_states:,} joint states ({monmdp.mdp.name} / {monmdp.monitor.name})",
        )
        with jax.enable_x64(True):
            self.model: sweeps.Model = self.put(host)
            if policy is not None:
                given = self.put((self.m.row_of, self.m.monitor_reward, policy))
                self.model = sweeps.following(self.model, *given)

    def put(self, arrays: Any) -> Any:
        """Return arrays, or tuples of them, on the device."""
        return jax.device_put(arrays, jax_device(self.device))

    def passed_on(self, V: FloatArray) -> Any:
        """Return what W is for values [sᵉ, sᵐ], on the device."""
        with jax.enable_x64(True):
            return sweeps.passed_on(self.model, self.put(V))

    def constant(self, value: float) -> Any:
        """Return W where every state has this value."""
        with jax.enable_x64(True):
            shape = (len(self.model.menus.basis), self.monmdp.mdp.n_states)
            return jax.numpy.full(shape, value, device=jax_device(self.device))

    def run(self, W: Any, gamma: float, aim: float, max_sweeps: int) -> Iterator[float]:
        """Sweep on from W; yield the largest change of a sweep about every `A_WHILE`.

        It ends when that is at most `aim`, or rounding, or after so many sweeps.
        """
        rounds, at_a_time, last = 0, 1, np.inf
        with jax.enable_x64(True):
            now = sweeps.beginning(W)
        while True:
            begin = time.perf_counter()
            until = rounds + at_a_time
            with jax.enable_x64(True):
                now = sweeps.advance(self.model, self.rows, gamma, aim, now, until)
                rounds, change = int(now.rounds), float(now.change)
            self.W = now.W
            self.sweeps = rounds * (sweeps.SWEEPS + 2)
            yield change
            # Ended by itself, or for too long, or all that is left is rounding.
            resolution = 4 * sweeps.ROUNDING * float(now.largest)
            if rounds < until or self.sweeps >= max_sweeps or last <= change <= resolution:
                return
            last = change
            if time.perf_counter() - begin < A_WHILE / 2:
                at_a_time *= 2

    def values(self, gamma: float) -> tuple[FloatArray, float, float]:
        """V [sᵉ, sᵐ] one step before W, its residual, and the largest |V|."""
        with jax.enable_x64(True):
            V, residual, largest = sweeps.finished(self.model, self.rows, gamma, self.W)
            return np.asarray(V), float(residual), float(largest)


def best(
    monmdp: MonMDP,
    device: str,
    gamma: float,
    rate: float,
    tol: float,
    start_from: FloatArray | None = None,
    max_sweeps: int = 1_000_000,
    progress: Progress = SILENT,
) -> tuple[FloatArray, int, float, float]:
    """Find the optimal values: V [sᵉ, sᵐ], passes, residual, largest |V|."""
    search = Search(monmdp, device)
    if start_from is None:
        # From below: in the worst state the best action pays this much, for ever.
        W = search.constant(tables(monmdp).least_reward / rate)
    else:
        W = search.passed_on(start_from)
    for change in search.run(W, gamma, tol * rate, max_sweeps):
        progress(f"{search.sweeps} sweeps, residual {change:.1e}")
    V, residual, largest = search.values(gamma)
    return V, search.sweeps + 1, residual, largest


def backwards(monmdp: MonMDP, device: str, stages: FloatArray, progress: Progress) -> None:
    """Fill stages[k, sᵉ, sᵐ], the undiscounted optimal values with k ≥ 1 steps left."""
    search = Search(monmdp, device)
    W = search.constant(0.0)
    with jax.enable_x64(True):
        for step, stage in enumerate(stages[1:]):
            progress(f"step {step:,} of {len(stages) - 1:,}")
            V = sweeps.one_step(search.model, search.rows, 1.0, W)
            W = sweeps.passed_on(search.model, V)
            stage[:] = np.asarray(V)


def following(
    monmdp: MonMDP,
    device: str,
    gamma: float,
    policy: FloatArray,
    aim: float,
    start_from: FloatArray | None,
    progress: Progress,
) -> tuple[FloatArray, float, float]:
    """Evaluate policy[sᵉ, sᵐ, aᵉ, aᵐ]: V [sᵉ, sᵐ], residual, largest |V|."""
    search = Search(monmdp, device, policy)
    W = search.constant(0.0) if start_from is None else search.passed_on(start_from)
    for change in search.run(W, gamma, aim, 1_000_000):
        progress(f"evaluating a policy: {search.sweeps} sweeps, change {change:.1e}")
    return search.values(gamma)


def after_steps(
    monmdp: MonMDP,
    device: str,
    gamma: float,
    policy: FloatArray,
    steps: int,
    progress: Progress,
) -> FloatArray:
    """[sᵉ, sᵐ] expected discounted return of that many steps of policy[sᵉ, sᵐ, aᵉ, aᵐ]."""
    search = Search(monmdp, device, policy)
    W = search.constant(0.0)
    with jax.enable_x64(True):
        for done in range(0, steps - 1, sweeps.SWEEPS):
            progress(f"step {done:,} of {steps:,}")
            n = min(sweeps.SWEEPS, steps - 1 - done)
            W = sweeps.swept(search.model, search.rows, gamma, W, n).block_until_ready()
        V = sweeps.one_step(search.model, search.rows, gamma, W)
        return np.asarray(V) if steps else np.zeros(V.shape)


def greedy(monmdp: MonMDP, device: str, gamma: float, V: FloatArray, tie: float) -> BoolArray:
    """[s, a] whether the value is within `tie` of the best, with V [s] for what follows."""
    n_se, n_sm, n_ae, n_am = monmdp.shape
    search = Search(monmdp, device)
    n = min(n_se, max(1, CHUNK // (n_sm * n_ae * n_am)))
    mask = np.empty((n_se, n_sm, n_ae, n_am), dtype=np.bool_)
    with jax.enable_x64(True):
        monitor = search.put((search.m.row_of, search.m.monitor_reward))
        y = sweeps.arrivals(search.model, search.put(V.reshape(n_se, n_sm)))
        for begin in range(0, n_se, n):
            at = min(begin, n_se - n)
            mask[at : at + n] = sweeps.greedy(search.model, *monitor, gamma, tie, y, at, n)
    return mask.reshape(monmdp.n_states, monmdp.n_actions)
