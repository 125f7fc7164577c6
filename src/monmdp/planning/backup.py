"""Whole-array backups on the factored model: the symbols are those of `kernels`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from monmdp.model.arrays import FloatArray
from monmdp.planning.kernels import Factors

_ENTRIES = 5_000_000
"""joint pairs handled at a time, to bound memory"""


def project(m: Factors, V: FloatArray) -> FloatArray:
    """Y[sᵉ, u] = Σ_s′ᵐ row[u, s′ᵐ] V[sᵉ, s′ᵐ]."""
    return np.ascontiguousarray(V @ m.row.T)


def action_values(m: Factors, gamma: float, Y: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield q[sᵉ, sᵐ, aᵉ, aᵐ] of all joint pairs, for one slice of environment states at a time."""
    n_ae = m.n_env_actions
    per_state = n_ae * m.monitor_reward.size
    step = max(1, _ENTRIES // per_state)
    for begin in range(0, len(Y), step):
        states = slice(begin, min(begin + step, len(Y)))
        pairs = slice(states.start * n_ae, states.stop * n_ae)
        z = m.stay[pairs, None] * np.repeat(Y[states], n_ae, axis=0)  # [pair, u]
        first = m.first[pairs.start : pairs.stop + 1]
        moving = slice(first[0], first[-1])
        arrives = m.probability[moving, None] * Y[m.successor[moving]]
        some = first[1:] > first[:-1]  # a pair without moves has nothing to add up
        if some.any():
            z[some] += np.add.reduceat(arrives, first[:-1][some] - first[0], axis=0)
        row = m.row_of[m.pair_class[pairs]]  # [pair, sᵐ, aᵐ]
        q = m.env_reward[pairs, None, None] + m.monitor_reward
        q += gamma * z[np.arange(len(z))[:, None, None], row]
        by_state = q.reshape(-1, n_ae, *m.monitor_reward.shape)
        yield states, by_state.transpose(0, 2, 1, 3)


def all_action_values(m: Factors, gamma: float, V: FloatArray) -> FloatArray:
    """q[sᵉ, sᵐ, aᵉ, aᵐ] of all joint pairs at once, if V[sᵉ, sᵐ] follows."""
    q = np.empty((*V.shape, m.n_env_actions, m.monitor_reward.shape[1]))
    for states, of in action_values(m, gamma, project(m, V)):
        q[states] = of
    return q


def policy_values(m: Factors, gamma: float, policy: FloatArray, Y: FloatArray) -> FloatArray:
    """V[sᵉ, sᵐ] after one step of policy[sᵉ, sᵐ, aᵉ, aᵐ] and then what Y says."""
    V = np.empty(policy.shape[:2])
    for states, q in action_values(m, gamma, Y):
        V[states] = (policy[states] * q).sum(axis=(2, 3))
    return V
