"""What is to be looked at next: states by priority, and which pairs lead to a state.

Prioritised sweeping needs two things. An *agenda* holds the states whose values may be wrong, each
once, in buckets of priorities that differ by a factor of at most two; the first to come into the
highest bucket is the first to leave. To put one in, to raise it and to take one out all take the
same short time, however many there are. *Arrivals* are the slots of `Successors` that lead to a
state, as a chain through the slots, the newest first.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.learnt_model import Successors
from monmdp.compiling import compilable
from monmdp.model.arrays import IntArray

BUCKETS = 64
"""the highest holds all that is 2⁶³ times the least priority that counts, or more"""
NONE = -1


class Agenda(NamedTuple):
    """States that wait, in doubly linked lists, one for each bucket."""

    bucket: IntArray
    """[state] where it waits; -1: nowhere"""
    before: IntArray
    """[state] its neighbours in the list"""
    after: IntArray
    first: IntArray
    """[bucket] the ends of the list"""
    last: IntArray
    top: IntArray
    """[1] no bucket above holds anything"""


def new_agenda(*shape: int) -> Agenda:
    """Return an agenda of so many states on which nothing waits, or several: [agenda, state]."""
    *several, _ = shape
    return Agenda(
        bucket=np.full(shape, NONE, dtype=np.int32),
        before=np.full(shape, NONE, dtype=np.int32),
        after=np.full(shape, NONE, dtype=np.int32),
        first=np.full((*several, BUCKETS), NONE, dtype=np.int32),
        last=np.full((*several, BUCKETS), NONE, dtype=np.int32),
        top=np.full((*several, 1), NONE, dtype=np.int64),
    )


@compilable
def one_of(agendas: Any, i: int) -> Agenda:
    """Return one of several agendas."""
    return Agenda(
        agendas.bucket[i], agendas.before[i], agendas.after[i],
        agendas.first[i], agendas.last[i], agendas.top[i],
    )  # fmt: skip


@compilable
def put(agenda: Any, state: int, priority: float, least: float) -> None:
    """Let a state wait with this priority, unless it waits with a higher one.

    Priorities of at most `least` do not count; those of bucket b are about 2ᵇ times that.
    """
    if priority <= least:
        return
    # The exponents apart: the quotient itself could overflow.
    bucket = min(math.frexp(priority)[1] - math.frexp(least)[1], BUCKETS - 1)
    if agenda.bucket[state] >= bucket:
        return
    if agenda.bucket[state] != NONE:
        _take_out(agenda, state)
    behind = agenda.last[bucket]
    agenda.bucket[state], agenda.before[state], agenda.after[state] = bucket, behind, NONE
    if behind == NONE:
        agenda.first[bucket] = state
    else:
        agenda.after[behind] = state
    agenda.last[bucket] = state
    agenda.top[0] = max(agenda.top[0], bucket)


@compilable
def take(agenda: Any) -> int:
    """Take the next state out; -1 if none waits."""
    while agenda.top[0] >= 0 and agenda.first[agenda.top[0]] == NONE:
        agenda.top[0] -= 1
    if agenda.top[0] < 0:
        return NONE
    state = agenda.first[agenda.top[0]]
    _take_out(agenda, state)
    return int(state)


@compilable
def _take_out(agenda: Any, state: int) -> None:
    bucket, before, after = agenda.bucket[state], agenda.before[state], agenda.after[state]
    if before == NONE:
        agenda.first[bucket] = after
    else:
        agenda.after[before] = after
    if after == NONE:
        agenda.last[bucket] = before
    else:
        agenda.before[after] = before
    agenda.bucket[state] = NONE


class Arrivals(NamedTuple):
    """Which slots lead to a state."""

    newest: IntArray
    """[state] the slot that was last found to lead there; -1: none"""
    next: IntArray
    """[slot] the one found before it; -1: it was the first"""
    pair: IntArray
    """[slot] whose it is"""


def no_arrivals(n_states: int, n_slots: int) -> Arrivals:
    """Return chains without a link."""
    return Arrivals(
        newest=np.full(n_states, NONE, dtype=np.int64),
        next=np.full(n_slots, NONE, dtype=np.int64),
        pair=np.zeros(n_slots, dtype=np.int64),
    )


@compilable
def note_arrival(arrivals: Any, slot: int, pair: int, state: int) -> None:
    """Note that a slot of a pair, used for the first time, leads to a state."""
    arrivals.pair[slot], arrivals.next[slot] = pair, arrivals.newest[state]
    arrivals.newest[state] = slot


def with_slots_moved(arrivals: Arrivals, slots: Successors, was: int, now: int, n: int) -> Arrivals:
    """Return the chains after n slots were moved; each link keeps its place in its chain."""
    room = len(slots.state) - len(arrivals.next)
    newest, pair = arrivals.newest, np.append(arrivals.pair, np.zeros(room, dtype=np.int64))
    following = np.append(arrivals.next, np.full(room, NONE, dtype=np.int64))
    for old, new in zip(range(was, was + n), range(now, now + n), strict=True):
        state = slots.state[new]
        if newest[state] == old:
            newest[state] = new
        else:
            at = newest[state]
            while following[at] != old:
                at = following[at]
            following[at] = new
        following[new], pair[new], following[old] = following[old], pair[old], NONE
    return Arrivals(newest, following, pair)
