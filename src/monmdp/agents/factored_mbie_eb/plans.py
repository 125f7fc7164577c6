"""Plans: prioritised sweeping on the factored model, from scratch or where something has changed.

The model moves by P̄ᵉ(s′ᵉ | x) · P̄ᵐ(s′ᵐ | y, kind of x). With e(s′ᵐ) = γ Σ P̄ᵉ(s′ᵉ | x) v(s′ᵉ, s′ᵐ),
one sum over the outcomes of a pair serves all monitor states and actions. A step that leads back to
its own state is solved for, not iterated. Where a pair may be of several kinds, a hopeful plan
takes the best of them, the low plan the worst.

In a hopeful plan, what is `unknown` follows with probability ω(x), or ω′(x) if the plan is to be
sure, and nothing else follows an outcome that is hoped for. An episode that ended has no future,
except in a plan that observes: then the next one begins.

`settle` solves these equations: it backs up the states that wait on an agenda, those first that may
change most, and lets all wait that lead to a state whose value has changed. A plan *from scratch*
begins with low values, so that hopes that failed are gone, and looks at every state that was met. A
plan that is *repaired* looks at the states whose pairs have brought something new, and at what
follows from them. A plan from scratch is made when all counts have grown by a tenth or something
has changed that concerns all pairs, and when it can be afforded: `effort` is earned at every step.
"""

from __future__ import annotations

import math
from typing import Any

from monmdp.agents.factored_mbie_eb.beliefs import (
    CALM,
    FIRST_OF_ALL,
    MOST_CHANCE,
    believe,
    best_return,
    look_at,
    worst_return,
)
from monmdp.agents.factored_mbie_eb.hopes import hope, take_aim
from monmdp.agents.factored_mbie_eb.state import (
    AIM_COST,
    AIMED_AT,
    CERTIFIED,
    CHECK,
    DUE,
    ENDS,
    FEAR,
    FIRST,
    HOPE,
    LIKELY,
    MET,
    NET,
    NET_AT,
    OPTIMIZE,
    PHASE,
    POSSIBLE,
    SEE,
    SINCE,
    STALE,
    STARTS,
    SURE,
    TEST,
    USED,
    WAITING,
    WHOLE,
    WHOLE_AT,
    WHOLE_COST,
    T,
    is_observing,
)
from monmdp.agents.learnt_model import LOW
from monmdp.agents.priorities import one_of, put, take
from monmdp.compiling import compilable

ROUGH, FINE = 1e-2, 1e-9
"""change of a value, as a share of it, that is not passed on: to explore, over the horizon of
1/(1 - γ) steps, and to be tested or certified"""
LEAST = 1e-12
"""the least change that is passed on"""
CHEAP = 2
"""a repair that takes longer than looking at all states this many times gives way to a plan from
scratch"""
AGAIN = 3
"""how often a plan that observes is looked at again because the next episode is worth more by it"""
PATIENT = 8
"""a plan that is tested or certified may take this many times `sweeps` sweeps"""


@compilable
def plan(agent: Any) -> None:
    """Decide what to look for, if anything, and plan it."""
    p, clock, lists = agent.parameters, agent.clock, agent.lists
    steps, one = clock[T] - clock[WHOLE_AT], once(agent)
    budget, earned = p.effort * max(clock[SINCE], 1), p.effort * steps >= clock[WHOLE_COST]
    clock[SINCE], clock[DUE] = 0, 0
    unknown = p.r_max if clock[PHASE] < POSSIBLE else best_return(p.r_max, p.gamma)
    whole = p.planner == 1 or ((clock[WHOLE] or steps * CALM >= clock[T]) and earned)
    if not whole:
        believe(agent, False)
        hope(agent, clock[PHASE], unknown, False)
        _look_at_what_waits(agent)
        _repair(agent, FEAR, 0.0, budget, one)
        _repair(agent, HOPE, unknown, budget, one)
        if p.effort * (clock[T] - clock[AIMED_AT]) >= clock[AIM_COST]:
            found = take_aim(agent)
            clock[WHOLE] |= found == (clock[PHASE] == OPTIMIZE)
        whole = clock[WHOLE] > 0 and earned
    if whole:
        took = believe(agent, True)
        budget = p.sweeps * one
        look_at_all(agent, FEAR)
        took += settle(agent, FEAR, 0.0, budget, rough(agent))
        phase, unknown = LIKELY if p.likely_first else POSSIBLE, p.r_max
        while phase < OPTIMIZE:
            if phase == POSSIBLE:
                unknown = best_return(p.r_max, p.gamma)
            clock[PHASE] = phase
            hope(agent, phase, unknown, True)
            took += _start(agent, HOPE, unknown, budget)
            if take_aim(agent):
                break
            phase += 1
        clock[PHASE] = phase
        clock[WHOLE], clock[WHOLE_AT], clock[WHOLE_COST] = 0, clock[T], took
    done = whole and clock[PHASE] == OPTIMIZE
    if done and clock[CERTIFIED] == 0 and _gap(agent, FEAR, HOPE) <= p.epsilon:
        for mode in (TEST, SURE):
            begin_again(agent, mode)
            look_at_all(agent, mode)
            clock[WHOLE_COST] += settle(agent, mode, unknown, PATIENT * p.sweeps * one, FINE)
        if _gap(agent, TEST, SURE) <= p.epsilon:
            clock[CERTIFIED] = clock[T]
    if is_observing(clock, p.stop):
        mode = CHECK if clock[NET] else SEE
        again = whole or clock[STALE]
        if clock[NET]:
            again = clock[FIRST] and p.effort * (clock[T] - clock[NET_AT]) >= p.sweeps * one
        if again:
            agent.restart[mode] = 0.0
            took = _start(agent, mode, 0.0, p.sweeps * one)
            if clock[NET]:
                clock[NET_AT] = clock[T]
            else:
                clock[WHOLE_COST] += took
        else:
            _repair(agent, mode, 0.0, budget, one)
        rounds = 0
        while _moves_restart(agent, mode) and rounds < (AGAIN if again else 1):
            _repair(agent, mode, 0.0, budget, one)
            rounds += 1
    clock[STALE] = not is_observing(clock, p.stop) or (whole and clock[NET])
    for i in range(lists.length[WAITING]):
        x = lists.waiting[i]
        agent.pairs["waits"][x // agent.pairs.shape[1], x % agent.pairs.shape[1]] = False
    lists.length[WAITING] = 0


@compilable
def rough(agent: Any) -> float:
    """Return the change that plans to explore do not pass on: so many of them add up to ROUGH."""
    return ROUGH * (1.0 - agent.parameters.gamma)


@compilable
def _start(agent: Any, mode: int, unknown: float, effort: int) -> int:
    """Plan from scratch; return what that took."""
    # From below: starting from above, a hope that failed would fade by γ a sweep only.
    begin_again(agent, mode)
    look_at_all(agent, mode)
    return settle(agent, mode, unknown, effort, rough(agent))


@compilable
def _repair(agent: Any, mode: int, unknown: float, effort: int, one: int) -> None:
    """Plan where something has changed, or from scratch if that seems to take less."""
    settle(agent, mode, unknown, min(effort, CHEAP * one), rough(agent))
    if mode == HOPE and agent.waiting.top[mode, 0] >= 0 and effort > CHEAP * one:
        _start(agent, mode, unknown, effort)


@compilable
def _moves_restart(agent: Any, mode: int) -> bool:
    """Find what the next episode is worth to one that observes; return whether that is news.

    If so, let all states be looked at in which an episode may end.
    """
    lists, v, restart, n_starts = agent.lists, agent.v[mode], 0.0, 0
    for i in range(lists.length[STARTS]):
        starts = agent.states["starts"][lists.starts[i]]
        restart += starts * v[lists.starts[i]]
        n_starts += starts
    restart /= max(n_starts, 1)
    if abs(restart - agent.restart[mode]) <= restart / CALM:
        return False
    agent.restart[mode] = restart
    for i in range(lists.length[ENDS]):
        put(one_of(agent.waiting, mode), lists.ends[i], FIRST_OF_ALL, 1.0)
    return lists.length[ENDS] > 0


@compilable
def _look_at_what_waits(agent: Any) -> None:
    """Let the states of all pairs that wait be looked at before all else."""
    n_ae = agent.pairs.shape[1]
    for i in range(agent.lists.length[WAITING]):
        se = agent.lists.waiting[i] // n_ae
        look_at(agent, se)


@compilable
def look_at_all(agent: Any, mode: int) -> None:
    """Let all states that were met be looked at, those met last first."""
    agenda = one_of(agent.waiting, mode)
    for i in range(agent.lists.length[MET] - 1, -1, -1):
        put(agenda, agent.lists.met[i], FIRST_OF_ALL, 1.0)


@compilable
def once(agent: Any) -> int:
    """Return what it takes to look at all states once: outcomes from both ends, and cells."""
    per_state = agent.monitor.shape[0] * agent.n.shape[1]
    return int(2 * agent.clock[USED] + agent.lists.length[MET] * per_state)


@compilable
def begin_again(agent: Any, mode: int) -> None:
    """Let v be the least there can be in all states that were met: the low plan's, or nothing."""
    n_sm, v, v_low = agent.monitor.shape[0], agent.v[mode], agent.v[FEAR]
    for i in range(agent.lists.length[MET]):
        for s in range(agent.lists.met[i] * n_sm, (agent.lists.met[i] + 1) * n_sm):
            v[s] = 0.0 if mode >= SEE else v_low[s]


@compilable
def _gap(agent: Any, low: int, high: int) -> float:
    """Return by how much the policy may fall short, in units of max(1, |v|).

    From the hopeful to the low value of where episodes begin, and as far again: u(x) is how far the
    means may be off either way.
    """
    gap, value, n = 0.0, 0.0, 0
    for i in range(agent.lists.length[STARTS]):
        s = agent.lists.starts[i]
        starts, known = agent.states["starts"][s], agent.v[low, s]
        gap += starts * (agent.v[high, s] - known)
        value += starts * known
        n += starts
    return 2.0 * gap / max(n, abs(value))


@compilable
def settle(agent: Any, mode: int, unknown: float, effort: int, tolerance: float) -> int:
    """Improve v[s] and q[s, a] in the states that wait and in all that depends on them.

    It ends when none waits, or when the effort is spent: one for each outcome, each cell and each
    way to a state looked at. A change of at most `tolerance` times the value is not passed on.
    Returns what was spent.
    """
    p, env, arrivals, scratch = agent.parameters, agent.env, agent.arrivals, agent.scratch
    v, q, agenda = agent.v[mode], agent.q[mode], one_of(agent.waiting, mode)
    first, used, successor = env.first, env.used, env.state
    go_on, land, hoped = env.go_on, env.land, agent.outcomes["hoped"]
    newest, following, pair_of = arrivals.newest, arrivals.next, arrivals.pair
    share, total, kinds = agent.moves.share, agent.moves.total, agent.moves.kind
    members, plausible, unsure = agent.moves.members, agent.moves.plausible, agent.unsure
    n, given_chance = agent.n, agent.chance
    pairs, n_env, omegas = agent.pairs, agent.pairs["n"], agent.pairs["omega"]
    if mode == SURE:
        omegas = pairs["omega_fresh"]
    of_env = pairs["hoped"] if mode in (HOPE, SURE) else pairs["reward"]
    unresolved, aim = pairs["unresolved"], pairs["aim"]
    n_mon, chance, weight = agent.monitor["n"], agent.monitor["chance"], agent.monitor["weight"]
    aim_mon = agent.monitor["aim"]
    n_ae, (n_sm, n_am) = omegas.shape[1], n_mon.shape
    n_kinds = 1
    for kind in range(1, len(members)):
        if members[kind] > 0:
            n_kinds = kind + 1
    hopes, observing = mode in (HOPE, SURE), mode >= SEE
    likely = agent.clock[PHASE] < POSSIBLE
    worst = worst_return(p.r_min, p.gamma) - 1.0
    ahead, best, of_mon, worth = scratch.ahead, scratch.best, scratch.of_mon, scratch.worth
    for sm in range(n_sm):
        for am in range(n_am):
            of_mon[sm, am] = agent.monitor["total"][sm, am] / max(n_mon[sm, am], 1)
    restart = agent.restart[mode] if observing else 0.0
    sooner = max(1.0 - p.haste * (1.0 - p.gamma), 0.0) / p.gamma
    spent = 0
    while spent < effort:
        se = take(agenda)
        if se < 0:
            break
        for sm in range(n_sm):
            best[sm] = LOW
        for ae in range(n_ae):
            x = se * n_ae + ae
            omega = omegas[se, ae] if hopes and not likely else 0.0
            keep, add = 1.0 - omega, omega * p.gamma * max(unknown, 0.0)
            ended, back = 0.0, 0.0
            for sm in range(n_sm):
                ahead[sm] = 0.0
            for j in range(first[x], first[x] + used[x]):
                w, to = go_on[j], successor[j]
                ended += (land[j] - w) * restart
                if w > 0.0 and not (hopes and hoped[j]):
                    if to == se:
                        back += w
                    for sm in range(n_sm):
                        ahead[sm] += w * v[to * n_sm + sm]
            spent += used[x] + n_sm * n_am
            for other in range(n_kinds):
                kind = kinds[x] + other  # its own comes first
                if kind >= n_kinds:
                    kind -= n_kinds
                if other > 0 and (observing or not plausible[x, kind]):
                    continue
                for sm in range(n_sm):
                    s = se * n_sm + sm
                    for am in range(n_am):
                        a, y = ae * n_am + am, sm * n_am + am
                        if other > 0 and total[kind, y] == 0:
                            continue  # this kind says nothing of y
                        untried = n[s, a] == 0 and (n_env[se, ae] == 0 or total[kinds[x], y] == 0)
                        value = 0.0
                        if mode <= TEST:
                            value = worst if untried else of_env[se, ae] + of_mon[sm, am]
                        elif hopes:
                            value = of_env[se, ae] + of_mon[sm, am] + unsure[x, sm]
                            if untried:
                                # A monitor pair never tried anywhere is unlikely to pay.
                                ruled_out = n_env[se, ae] > 0 and n_mon[sm, am] == 0
                                value = LOW if ruled_out and likely else unknown
                        elif mode == CHECK:
                            value = 1.0 / (1.0 + n[s, a])
                            if untried:
                                value /= 1.0 - p.gamma
                        else:
                            # If y was never tried at all, it is thought to leave the monitor as it
                            # is, unless that is what is to be found out.
                            aimed = n_env[se, ae] == 0 or aim_mon[sm, am]
                            untried = untried and (aimed or n_mon[sm, am] > 0 or not p.aim)
                            see = chance[sm, am] if p.pool_sights else 1.0 / (n[s, a] + 2.0)
                            if p.knows_monitor:
                                see = given_chance[s, a]
                            if untried:
                                # With the monitor action that is best at seeing what comes of it.
                                value = 1.0 + (1.0 - p.gamma) * see
                            elif unresolved[se, ae] and (aim[se, ae] or not p.aim):
                                # A cell that was visited often gives way to others of its pair.
                                in_vain = weight[sm, am]
                                if p.knows_monitor:
                                    in_vain = -math.log(1.0 - min(see, MOST_CHANCE))
                                value = see / (1.0 + n[s, a] * in_vain)
                        to_self = 0.0
                        if not untried:
                            future, stays = ended, keep
                            if mode == SEE:  # it is over when it has found something
                                stays = (1.0 - value) * sooner
                            for to in range(n_sm):
                                future += share[kind, y, to] * ahead[to]
                            value += add + stays * future
                            to_self = stays * back * share[kind, y, sm]
                        solved = value
                        if to_self > 0.0:
                            solved = (value - to_self * v[s]) / (1.0 - to_self)
                        if other == 0 or (solved > worth[sm, am]) == hopes:
                            q[s, a], worth[sm, am] = value, solved
            for sm in range(n_sm):
                for am in range(n_am):
                    best[sm] = max(best[sm], worth[sm, am])
        change, size = 0.0, 0.0
        for sm in range(n_sm):
            s = se * n_sm + sm
            change = max(change, abs(best[sm] - v[s]))
            size = max(size, min(abs(best[sm]), abs(v[s])))
            v[s] = best[sm]
        if change > tolerance * size:
            j = newest[se]
            while j >= 0:
                put(agenda, pair_of[j] // n_ae, go_on[j] * change, LEAST)
                j = following[j]
                spent += 1
    return spent
