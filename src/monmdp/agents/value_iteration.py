"""Synchronous value iteration on a learnt model, pinned where nothing has been tried.

With weight = γ·P̄ on the successor slots of a pair, one sweep is

    Q(s, a) ← R(s, a) + Σ_j weight_j V(s′_j),    V(s) ← max_a Q(s, a)

for the pairs that have been tried; all others keep the value that they are pinned at.

Between the first and the last sweep only V matters, and most actions cannot be the best of their
state. If no V rose by more than δ in one sweep, no Q rises by more than γδ in the next: that gives
a bound on every Q, and an action whose bound is below the best of its state needs no backup. The
values are the same to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monmdp.compiling import compilable
from monmdp.model.arrays import BoolArray, FloatArray

LOW = -1e300
"""below any value; sums with it stay finite"""


@compilable
def value_iteration(
    slots: Any,
    tried: BoolArray,
    endings: bool,
    reward: FloatArray,
    gamma: float,
    sweeps: int,
    q: FloatArray,
) -> None:
    """Sweep `sweeps` times, or until a sweep changes nothing; q[s, a] is where it starts.

    Pairs that are not in tried[s, a] keep the value that they are pinned at. With `endings`, visits
    that ended the episode have no future; else it goes on where they landed.
    """
    weight = slots.go_on if endings else slots.land
    first, used, successor, may_end = slots.first, slots.used, slots.state, slots.may_end
    n_states, n_actions = q.shape
    v, new_v = np.empty(n_states), np.empty(n_states)
    pin = np.empty(n_states)  # the largest value among the actions that were never tried
    best = np.empty(n_states, dtype=np.int64)  # the best of the others, -1 if there is none
    rival = np.empty(n_states)  # the largest bound of the others
    bound = np.empty(q.shape)  # on Q, to be shifted by the drift
    size = 1.0
    for s in range(n_states):
        v[s], pin[s], best[s] = LOW, LOW, -1
        for a in range(n_actions):
            v[s] = max(v[s], q[s, a])
            bound[s, a] = LOW
            if not tried[s, a]:
                pin[s] = max(pin[s], q[s, a])
        size = max(size, abs(v[s]))
    drift, sweep = 0.0, 0
    while sweep < sweeps:
        whole = sweep == 0 or sweep == sweeps - 1
        # The second term is far more than backups and the drift lose in rounding.
        slack = drift + (1e-11 + 1e-15 * sweep) * size
        rise, changed = LOW, False
        for s in range(n_states):
            value, chosen = pin[s], best[s]
            if chosen >= 0:
                x, sa = reward[s, chosen], s * n_actions + chosen
                for j in range(first[sa], first[sa] + used[sa]):
                    x += weight[j] * v[successor[j]]
                value = max(value, x)
            if whole or rival[s] + slack >= value:
                top = LOW
                for a in range(n_actions):
                    sa = s * n_actions + a
                    if tried[s, a] and (whole or bound[s, a] + slack >= value):
                        x = reward[s, a]
                        for j in range(first[sa], first[sa] + used[sa]):
                            x += weight[j] * v[successor[j]]
                        q[s, a] = x
                        # Where the episode may end, a fall of all V need not bring Q down.
                        bound[s, a] = -LOW if endings and may_end[sa] else x - drift
                        if x > top:
                            top, best[s] = x, a
                value = max(value, top)
                rival[s] = LOW
                for a in range(n_actions):
                    if a != best[s]:
                        rival[s] = max(rival[s], bound[s, a])
            new_v[s] = value
            rise = max(rise, value - v[s])
            changed |= value != v[s]
            size = max(size, abs(value))
        drift += gamma * rise
        v, new_v = new_v, v
        sweep += 1
        if not changed and sweep < sweeps:
            sweep = sweeps - 1  # one more, to fill in q
