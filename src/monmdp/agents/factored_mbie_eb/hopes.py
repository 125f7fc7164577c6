"""Hopes and aims: what the hopeful plan is paid, and what is worth looking at.

Six plans share one model and differ in the rewards of its cells (x,y), of which R̄ᵐ(y) is a part of
the first four:

    low        R̄ᵉ(x): r_min where nothing was seen. The test policy
    likely     what was not seen is r_max where it ended the episode, else what is typical, less a
               price, which the phase NEARER does not take off; u(x) is added
    possible   what was not seen is V_max, the best return there can be, even if its reward is the
               only thing not known; u(x) is added
    sure       the same; what a pair may lead to besides what it has led to is V_max, too
    observe    1 for a cell never tried; the chance to see what is aimed at and unresolved
    net        1/(1 + visits of the cell); 1/(1 - γ) for one never tried

*Aimed at* is what is not known on the way of the best likely policy; if all of that is known, of
the best one at no price; then of the best possible one; if all of that is known, too, there is
nothing left to look for.
"""

from __future__ import annotations

import math
from typing import Any

from monmdp.agents.factored_mbie_eb.beliefs import FIRST_OF_ALL, MOST, is_known_place, paid_at
from monmdp.agents.factored_mbie_eb.state import (
    AIM_COST,
    AIMED_AT,
    AIMS,
    HOPE,
    LIKELY,
    MET,
    POSSIBLE,
    SEE,
    STARTS,
    TURN,
    WAITING,
    T,
    append,
)
from monmdp.agents.greedy import TIE
from monmdp.agents.priorities import one_of, put
from monmdp.compiling import compilable


@compilable
def hope(agent: Any, phase: int, unknown: float, everything: bool) -> None:
    """Find what the likely plan, or the possible one, pays for the pairs that wait, or for all."""
    p, env, pairs, outcomes, lists = (
        agent.parameters, agent.env, agent.pairs, agent.outcomes, agent.lists
    )  # fmt: skip
    n_ae, likely = pairs.shape[1], phase < POSSIBLE
    n_items = lists.length[MET] * n_ae if everything else lists.length[WAITING]
    for i in range(n_items):
        x = lists.met[i // n_ae] * n_ae + i % n_ae if everything else lists.waiting[i]
        se, ae, of_env = x // n_ae, x % n_ae, 0.0
        for j in range(env.first[x], env.first[x] + env.used[x]):
            sights, given_up = outcomes["sights"][j], outcomes["given_up"][j]
            known = pairs["n_seen"][se, ae] > 0 and is_known_place(agent.places, env, j)
            outcomes["hoped"][j] = not likely and sights == 0 and not given_up and not known
            if sights > 0:
                of_outcome = outcomes["total"][j] / sights
            elif known:
                of_outcome = paid_at(agent.places, env, j)
            elif given_up:
                of_outcome = pairs["reward"][se, ae]
            else:
                ended = env.ended[j] / env.visits[j]
                onward = p.typical if likely else unknown
                of_outcome = ended * p.r_max + (1.0 - ended) * onward
                if phase == LIKELY:
                    # One over the odds that it can be seen: so many more tries it would take.
                    odds = math.exp(min(outcomes["in_vain"][j], MOST))
                    of_outcome -= p.unseen_cost * (1.0 + odds)
            of_env += of_outcome * env.visits[j] / pairs["n"][se, ae]
        pairs["hoped"][se, ae] = of_env


@compilable
def take_aim(agent: Any) -> bool:
    """Mark what is not known on the way of the hopeful policy; return whether there is any."""
    env, moves, pairs, lists, clock = agent.env, agent.moves, agent.pairs, agent.lists, agent.clock
    q, n, reached = agent.q[HOPE], agent.n, agent.states["reached"]
    n_env, aim, aim_mon = pairs["n"], pairs["aim"], agent.monitor["aim"]
    n_ae, (n_sm, n_am) = aim.shape[1], aim_mon.shape
    for i in range(lists.length[AIMS]):
        x = lists.aims[i]
        aim[x // n_ae, x % n_ae] = False
        put(one_of(agent.waiting, SEE), x // n_ae, FIRST_OF_ALL, 1.0)
    lists.length[AIMS] = 0
    for y in range(aim_mon.size):
        aim_mon[y // n_am, y % n_am] = False
    clock[AIMED_AT], clock[AIM_COST] = clock[T], 0
    clock[TURN] += 1
    waiting = agent.scratch.waiting
    n_waiting = lists.length[STARTS]
    for i in range(n_waiting):
        waiting[i] = lists.starts[i]
        reached[waiting[i]] = clock[TURN]
    while n_waiting > 0:
        n_waiting -= 1
        s = waiting[n_waiting]
        a = 0
        for b in range(1, q.shape[1]):
            if q[s, b] > q[s, a] + TIE:
                a = b
        se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
        x, y = se * n_ae + ae, sm * n_am + am
        unknown = n_env[se, ae] == 0 or moves.total[moves.kind[x], y] == 0
        untried = n[s, a] == 0 and unknown
        clock[AIM_COST] += q.shape[1] + env.used[x]
        if untried or pairs["unresolved"][se, ae]:
            if not aim[se, ae]:
                aim[se, ae] = True
                append(lists, AIMS, lists.aims, x)
                put(one_of(agent.waiting, SEE), se, FIRST_OF_ALL, 1.0)
            aim_mon[sm, am] |= untried
        if untried:
            continue
        for j in range(env.first[x], env.first[x] + env.used[x]):
            if env.go_on[j] > 0.0:
                for to in range(n_sm):
                    next_s = env.state[j] * n_sm + to
                    goes = moves.share[moves.kind[x], y, to] > 0.0
                    if goes and reached[next_s] != clock[TURN]:
                        reached[next_s] = clock[TURN]
                        waiting[n_waiting] = next_s
                        n_waiting += 1
    return lists.length[AIMS] > 0
