"""Incremental planning: plans are kept, and repaired where something has changed.

A *plan* holds Q(s,a) and values in force v(s), and satisfies

    Q(s,a) = R(s,a) + Σ_j weight_j v(s′_j),    |v(s) - max_a Q(s,a)| ≤ PRECISION · |v(s)|

in all states but those on its agenda, for the pairs that are planned; all others keep the value
that they are pinned at. `repair` takes the states from the agenda, those first whose successors
have changed most. It computes Q(s,·) and the value that solves the equations of s alone, its loops
to itself included. A value that is off by more than PRECISION is put in force: all states that lead
there go onto the agenda. Every step earns a plan some backups, so that a step costs the same
however large the world is; what there is no time for waits.

R(s,a) has a part of the pair's own, which changes only when s is visited, and two that many pairs
share: one of (sᵉ,aᵉ) and one of (sᵐ,aᵐ). Shared *terms* stay in force until a count that they rest
on has grown by GROWN. Then all states that share them go onto the agenda, which happens a
logarithmic number of times.
docs/algorithms/monitored-mbie-eb.md derives what these two constants do to Q.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from monmdp.agents.learnt_model import LOW
from monmdp.agents.priorities import BUCKETS, NONE, Agenda, new_agenda, put, take
from monmdp.compiling import compilable
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.monmdp import Shape

PlannerKind = Literal["sweeps", "incremental"]

GROWN = 0.1
"""a term is put in force anew when a count in it has grown by more than this fraction"""
PRECISION = 1e-6
"""a value is put in force anew when it is off by more than this fraction"""
LEAST = 1e-12
"""a smaller change is none"""
FIRST = LEAST * 2.0 ** (BUCKETS - 1)
"""priority of states that were visited or whose pairs are planned from now on"""
LINKS = 16
"""links to predecessors that may be followed for the price of a backup"""


# ---- plans ----------------------------------------------------------------------------------


class Plan(NamedTuple):
    """A plan, beside its Q."""

    v: FloatArray
    """[s] values in force"""
    waiting: Agenda
    """[s] what is to be looked at"""
    credit: IntArray
    """[1] backups that were earned; below 0: they were spent in advance"""


def new_plan(n_states: int, value: float, n_waiting: int | None = None) -> Plan:
    """Return a plan of which nothing is known but the value that all pairs are pinned at.

    What waits is states, or something else of which there are `n_waiting`.
    """
    agenda = new_agenda(n_states if n_waiting is None else n_waiting)
    return Plan(np.full(n_states, value), agenda, np.zeros(1, dtype=np.int64))


class Predecessors(NamedTuple):
    """From which other states a state was reached: chains of links, the newest first."""

    newest: IntArray
    """[s] its last link; -1: none"""
    older: IntArray
    """[link] the one before it; -1: it was the first"""
    state: IntArray
    """[link] the predecessor"""
    used: IntArray
    """[1] how many links there are"""


def no_predecessors(n_states: int, room: int) -> Predecessors:
    """Return chains without a link, with room for that many."""
    return Predecessors(
        newest=np.full(n_states, NONE, dtype=np.int64),
        older=np.zeros(room, dtype=np.int64),
        state=np.zeros(room, dtype=np.int32),
        used=np.zeros(1, dtype=np.int64),
    )


def room_for_predecessors(shape: Shape, model: MonMDP | None) -> int:
    """Return how many links there can be; without a model, how many to begin with."""
    n_se, n_sm, n_ae, _ = shape
    if model is None:
        return 2 * n_se * n_sm
    source = model.mdp.pair_of_outcome // n_ae
    arrows = len(np.unique(source * np.int64(n_se) + model.mdp.successor))
    moves = (model.monitor.transition > 0).any(axis=(0, 2)).sum() if n_sm > 1 else 1
    return arrows * int(moves)


def predecessors_with_room(predecessors: Predecessors) -> Predecessors:
    """Return chains with room for one more link: these, or larger ones."""
    room = len(predecessors.state)
    if predecessors.used[0] < room:
        return predecessors
    return predecessors._replace(
        older=np.append(predecessors.older, np.zeros(room + 1, dtype=np.int64)),
        state=np.append(predecessors.state, np.zeros(room + 1, dtype=np.int32)),
    )


@compilable
def link(predecessors: Any, slots: Any, pair: int, n_actions: int) -> None:
    """Note where the slot of a pair leads that was used last, unless the state has a link there."""
    s, last = pair // n_actions, slots.first[pair] + slots.used[pair] - 1
    to = slots.state[last]
    if to == s:
        return
    for other in range(s * n_actions, (s + 1) * n_actions):
        for j in range(slots.first[other], slots.first[other] + slots.used[other]):
            if slots.state[j] == to and j != last:
                return
    new = predecessors.used[0]
    predecessors.state[new], predecessors.older[new] = s, predecessors.newest[to]
    predecessors.newest[to] = new
    predecessors.used[0] += 1


@compilable
def repair(
    slots: Any,
    planned: BoolArray,
    optimizes: bool,
    own: FloatArray,
    terms: Any,
    predecessors: Any,
    scratch: Any,
    plan: Any,
    q: FloatArray,
) -> None:
    """Improve q[s, a] in the states that wait, until none does or the credit is spent.

    If it optimizes, the reward of a pair in planned[s, a] is own[s, a] and the terms in force, and
    visits that ended the episode have no future. Else own[s, a] is all there is to gain, and the
    episode goes on where they landed.
    """
    weight = slots.go_on if optimizes else slots.land
    first, used, successor = slots.first, slots.used, slots.state
    n_actions, (n_sm, n_am) = q.shape[1], terms.of_mon.shape
    v, credit, apart, back = plan.v, plan.credit, scratch.apart, scratch.back
    while credit[0] > 0:
        s = take(plan.waiting)
        if s == NONE:
            break
        credit[0] -= 1
        se, sm = s // n_sm, s % n_sm
        value = LOW
        for a in range(n_actions):
            x, to_itself = q[s, a], 0.0
            if planned[s, a]:
                x = own[s, a]
                if optimizes:
                    x += terms.of_env[se, a // n_am] + terms.of_mon[sm, a % n_am]
                pair = s * n_actions + a
                for j in range(first[pair], first[pair] + used[pair]):
                    if successor[j] == s:
                        to_itself += weight[j]
                    else:
                        x += weight[j] * v[successor[j]]
            apart[a], back[a] = x, to_itself
            value = max(value, x / (1.0 - to_itself))
        change = put_value_in_force(v, s, value)
        if change > 0.0:
            credit[0] -= pass_on(predecessors, s, change, plan.waiting)
        for a in range(n_actions):
            if planned[s, a]:
                q[s, a] = apart[a] + back[a] * v[s]
    credit[0] = min(credit[0], 0)  # where nothing waits, nothing is saved up


@compilable
def put_value_in_force(v: FloatArray, s: int, value: float) -> float:
    """Put a value in force if the old one is off; return by how much it changes."""
    change = abs(value - v[s])
    if change <= max(LEAST, PRECISION * max(abs(value), abs(v[s]))):
        return 0.0
    v[s] = value
    return change


@compilable
def pass_on(predecessors: Any, state: int, change: float, waiting: Any) -> int:
    """Let all states wait that lead to one whose value has changed; return what that costs."""
    n, at = 0, predecessors.newest[state]
    while at != NONE:
        put(waiting, predecessors.state[at], change, LEAST)
        n, at = n + 1, predecessors.older[at]
    return n // LINKS


class Scratch(NamedTuple):
    """Room for the backup of a state; compiled code makes no arrays here."""

    apart: FloatArray
    """[a] Q(s,a) without what leads back to s"""
    back: FloatArray
    """[a] γ × how likely the pair leads back to s"""


def no_scratch(n_actions: int) -> Scratch:
    """Return room for that many actions."""
    return Scratch(np.empty(n_actions), np.empty(n_actions))


def upkeep(shape: Shape, model: MonMDP | None) -> dict[str, Any]:
    """Return what plans of joint pairs share, of an agent that has seen nothing yet."""
    n_se, n_sm, n_ae, n_am = shape
    return {
        "terms": no_terms(shape),
        "predecessors": no_predecessors(n_se * n_sm, room_for_predecessors(shape, model)),
        "scratch": no_scratch(n_ae * n_am),
    }


# ---- terms that pairs share -----------------------------------------------------------------


class Terms(NamedTuple):
    """Terms of the reward as they were last put in force, and the counts they rest on."""

    of_env: FloatArray
    """[sᵉ, aᵉ]"""
    of_mon: FloatArray
    """[sᵐ, aᵐ]"""
    n_env: IntArray
    """[sᵉ, aᵉ] N(sᵉ,aᵉ) then; -1: the term was never in force"""
    n_env_state: IntArray
    """[sᵉ] N(sᵉ) then"""
    n_mon: IntArray
    """[sᵐ, aᵐ] N(sᵐ,aᵐ) then"""
    n_mon_state: IntArray
    """[sᵐ] N(sᵐ) then"""
    met: IntArray
    """joint states in the order in which they were first visited"""
    n_met: IntArray
    """[1] how many these are"""


def no_terms(shape: Shape) -> Terms:
    """Return terms none of which is in force."""
    n_se, n_sm, n_ae, n_am = shape
    return Terms(
        of_env=np.zeros((n_se, n_ae)),
        of_mon=np.zeros((n_sm, n_am)),
        n_env=np.full((n_se, n_ae), NONE, dtype=np.int64),
        n_env_state=np.zeros(n_se, dtype=np.int64),
        n_mon=np.full((n_sm, n_am), NONE, dtype=np.int64),
        n_mon_state=np.zeros(n_sm, dtype=np.int64),
        met=np.zeros(n_se * n_sm, dtype=np.int32),
        n_met=np.zeros(1, dtype=np.int64),
    )


@compilable
def has_grown(now: int, then: int) -> bool:
    """Return whether a count has grown so much that what rests on it is put in force anew."""
    return now > (1.0 + GROWN) * then


@compilable
def meet(terms: Any, s: int) -> None:
    """Note that a state is visited for the first time."""
    terms.met[terms.n_met[0]] = s
    terms.n_met[0] += 1


@compilable
def let_sharers_wait(terms: Any, sm: int, change: float, waiting: Any) -> None:
    """Let all states wait that share the terms of a monitor state, which have changed so much."""
    if change > LEAST:
        n_sm = len(terms.of_mon)
        for i in range(terms.n_met[0]):
            if terms.met[i] % n_sm == sm:
                put(waiting, terms.met[i], change, LEAST)


@compilable
def put_in_force(term: FloatArray, i: int, j: int, value: float) -> float:
    """Put a term in force; return by how much it changes."""
    change = abs(value - term[i, j])
    term[i, j] = value
    return change
