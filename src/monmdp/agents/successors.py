"""Relative frequencies P̄ of successors, learnt pair by pair.

The successors of a pair are *slots*, in the order in which they were first met: slot j of the pair
lies at first[pair] + j for j < used[pair]. Memory is one slot for each successor there is, never
one for each state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from monmdp.compiling import compilable
from monmdp.model.arrays import BoolArray, FloatArray, IntArray


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
    """Return empty slots, so many for each pair."""
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
    """Count one more successor of a pair that has now been visited so many times."""
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
