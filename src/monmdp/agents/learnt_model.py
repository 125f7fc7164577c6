"""The model that planning agents learn: counts, relative frequencies P̄, and plans on them.

The successors of a pair are *slots*, in the order in which they were first met: slot j of the pair
lies at first[pair] + j for j < used[pair]. Memory is one slot for each successor there is, never
one for each state.

Plans are synchronous value iteration, pinned where nothing has been tried. With weight = γ·P̄ on
the successor slots of a pair, one sweep is

    Q(s, a) ← R(s, a) + Σ_j weight_j V(s′_j),    V(s) ← max_a Q(s, a)

for the pairs that have been tried; all others keep the value that they are pinned at.

Between the first and the last sweep only V matters, and most actions cannot be the best of their
state. If no V rose by more than δ in one sweep, no Q rises by more than γδ in the next: that gives
a bound on every Q, and an action whose bound is below the best of its state needs no backup. The
values are the same to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.contract import Step
from monmdp.compiling import compilable
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.monmdp import Shape

LOW = -1e300
"""below any value; sums with it stay finite"""


class Successors(NamedTuple):
    """What followed each pair, and how often."""

    first: IntArray
    """[pair] where its slots begin"""
    capacity: IntArray
    """[pair] how many slots it has"""
    used: IntArray
    """[pair] how many of them are in use; 0: never tried"""
    may_end: BoolArray
    """[pair] whether some visit ended the episode"""
    end: IntArray
    """[1] where free space begins"""
    state: IntArray
    """[slot] s′"""
    visits: IntArray
    """[slot] visits that led to s′"""
    ended: IntArray
    """[slot] those among them that ended the episode"""
    go_on: FloatArray
    """[slot] γ × the share of the pair's visits that led to s′ and did not end there"""
    land: FloatArray
    """[slot] γ × the share of the pair's visits that led to s′, ended or not"""


def no_successors(capacity: IntArray) -> Successors:
    """Return empty slots, that many for each pair."""
    capacity = np.ascontiguousarray(capacity, dtype=np.int64).reshape(-1)
    n = int(capacity.sum())
    return Successors(
        first=np.concatenate([[0], np.cumsum(capacity)[:-1]]).astype(np.int64),
        capacity=capacity.copy(),
        used=np.zeros(len(capacity), dtype=np.int64),
        may_end=np.zeros(len(capacity), dtype=np.bool_),
        end=np.array([n], dtype=np.int64),
        state=np.zeros(n, dtype=np.int64),
        visits=np.zeros(n, dtype=np.int64),
        ended=np.zeros(n, dtype=np.int64),
        go_on=np.zeros(n),
        land=np.zeros(n),
    )


@compilable
def find_slot(slots: Any, pair: int, next_state: int) -> Any:
    """Return the slot of a successor, or the free place behind the slots in use."""
    slot, end = slots.first[pair], slots.first[pair] + slots.used[pair]
    while slot < end and slots.state[slot] != next_state:
        slot += 1
    return slot


@compilable
def count_successor(
    slots: Any, pair: int, visits: int, next_state: int, terminated: bool, gamma: float
) -> None:
    """Count one more successor of a pair that has now been visited that many times."""
    slot = find_slot(slots, pair, next_state)
    if slot == slots.first[pair] + slots.used[pair]:
        slots.state[slot] = next_state
        slots.used[pair] += 1
    slots.visits[slot] += 1
    if terminated:
        slots.ended[slot] += 1
        slots.may_end[pair] = True
    for j in range(slots.first[pair], slots.first[pair] + slots.used[pair]):
        slots.go_on[j] = gamma * (slots.visits[j] - slots.ended[j]) / visits
        slots.land[j] = gamma * slots.visits[j] / visits


def with_room(slots: Successors, pair: int, next_state: int) -> Successors:
    """Return slots that have a place for this successor: these, or larger ones.

    A pair that is full moves to free space at the end, with twice the room and in the same order.
    """
    first, n = slots.first[pair], slots.used[pair]
    if n < slots.capacity[pair] or find_slot(slots, pair, next_state) < first + n:
        return slots
    room = max(2, 2 * n)
    end = int(slots.end[0])
    if end + room > len(slots.state):
        extra = max(len(slots.state), room)
        slots = slots._replace(
            state=np.append(slots.state, np.zeros(extra, dtype=np.int64)),
            visits=np.append(slots.visits, np.zeros(extra, dtype=np.int64)),
            ended=np.append(slots.ended, np.zeros(extra, dtype=np.int64)),
            go_on=np.append(slots.go_on, np.zeros(extra)),
            land=np.append(slots.land, np.zeros(extra)),
        )
    for column in (slots.state, slots.visits, slots.ended, slots.go_on, slots.land):
        column[end : end + n] = column[first : first + n]
        column[first : first + n] = 0
    slots.first[pair], slots.capacity[pair], slots.end[0] = end, room, end + room
    return slots


def most_successors(shape: Shape, model: MonMDP | None) -> tuple[Any, Any]:
    """Return for how many successors to set room aside: [env pair], [joint pair]."""
    n_se, n_sm, n_ae, n_am = shape
    if model is None:
        return np.full(n_se * n_ae, 2), np.full(n_se * n_sm * n_ae * n_am, 2)
    mdp, monitor = model.mdp, model.monitor
    arrows = np.unique(mdp.pair_of_outcome * np.int64(n_se) + mdp.successor)
    env = np.bincount(arrows // n_se, minlength=n_se * n_ae)
    watched = (monitor.transition > 0).sum(axis=-1)[model.pair_class]  # [env pair, sm, am]
    joint = (env[:, None, None] * watched).reshape(n_se, n_ae, n_sm, n_am)
    return env, np.ascontiguousarray(joint.transpose(0, 2, 1, 3)).reshape(-1)


class Counts(NamedTuple):
    """What all agents count that learn a model: visits, rewards and successors."""

    n: IntArray
    """[s, a] N(s,a)"""
    n_state: IntArray
    """[s] N(s)"""
    n_env: IntArray
    """[sᵉ, aᵉ] N(sᵉ,aᵉ), visits whose reward was shown"""
    n_env_state: IntArray
    """[sᵉ] N(sᵉ)"""
    env_sum: FloatArray
    """[sᵉ, aᵉ] sum of the rewards shown; R̄ᵉ = env_sum / n_env"""
    n_mon: IntArray
    """[sᵐ, aᵐ] N(sᵐ,aᵐ)"""
    n_mon_state: IntArray
    """[sᵐ] N(sᵐ)"""
    mon_sum: FloatArray
    """[sᵐ, aᵐ] sum of the monitor's rewards"""
    successors: Successors
    """of joint pairs: P̄"""


def new_counts(shape: Shape, capacity: IntArray) -> Counts:
    """Return counts of nothing, with room for that many successors of each joint pair."""
    n_se, n_sm, n_ae, n_am = shape
    return Counts(
        n=np.zeros((n_se * n_sm, n_ae * n_am), dtype=np.int64),
        n_state=np.zeros(n_se * n_sm, dtype=np.int64),
        n_env=np.zeros((n_se, n_ae), dtype=np.int64),
        n_env_state=np.zeros(n_se, dtype=np.int64),
        env_sum=np.zeros((n_se, n_ae)),
        n_mon=np.zeros((n_sm, n_am), dtype=np.int64),
        n_mon_state=np.zeros(n_sm, dtype=np.int64),
        mon_sum=np.zeros((n_sm, n_am)),
        successors=no_successors(capacity),
    )


@compilable
def count(counts: Any, step: Any, gamma: float) -> None:
    """Count one more step."""
    n_sm, n_am = counts.n_mon.shape
    s, a = step.s, step.a
    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
    counts.n[s, a] += 1
    counts.n_state[s] += 1
    counts.n_mon[sm, am] += 1
    counts.n_mon_state[sm] += 1
    counts.mon_sum[sm, am] += step.monitor_reward
    if step.shown:
        counts.n_env[se, ae] += 1
        counts.n_env_state[se] += 1
        counts.env_sum[se, ae] += step.reward
    pair = s * counts.n.shape[1] + a
    slots, n = counts.successors, counts.n[s, a]
    count_successor(slots, pair, n, step.next_s, step.terminated, gamma)


def counts_with_room(counts: Counts, step: Step) -> Counts:
    """Return counts that have room for the successor of one more step."""
    pair = step.s * counts.n.shape[1] + step.a
    return counts._replace(successors=with_room(counts.successors, pair, step.next_s))


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
