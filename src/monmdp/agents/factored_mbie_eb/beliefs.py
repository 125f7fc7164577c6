"""Beliefs: what the agent knows of rewards, of seeing them, and how sure it is.

    r̄ᵉ(x, s′ᵉ)   mean of the rewards shown for an outcome; R̄ᵉ(x) weighs the outcomes seen by P̄ᵉ
    u(x, sᵐ)     caution·√ln(k+2) standard errors of what x is worth in episode k: of the rewards
                 given the outcomes, and of which outcome comes
    ω(x)         the probability that the next try of x leads to a place never met, from how often
                 that happened to pairs tried as often (Good and Turing); ω′(x) the same for an
                 outcome that x never had
    ρ̂(y)         the probability that y shows a reward; ρ̲(y) the same for outcomes that can be shown
    e(x, s′ᵉ)    how often an outcome was tried in vain, effectively: visits of x weighed by
                 -ln(1 - ρ̲(y)). If nothing was ever shown at the place s′ᵉ, all tries there count

The odds that an outcome can be seen are even before it is tried, and exp(-e) then. It is *given up*
once

    e > give_up + ln(1+D)    and    visits > revive·ln(1+D)

where D counts the episodes that began with nothing left to look for. So no verdict is final, and
the looks at what was given up grow like the logarithm of the episodes.

A step is counted at once. Conclusions about a pair are drawn again when it has brought news or its
visits have grown by a tenth (`CALM`); about all pairs, when the agent plans from scratch.
"""

from __future__ import annotations

import math
from typing import Any

from monmdp.agents.factored_mbie_eb.kinds import (
    concentration,
    count_move,
    find_plausible,
    join,
    sort_pair,
)
from monmdp.agents.factored_mbie_eb.state import (
    BINS,
    DONE,
    ENDS,
    FEAR,
    FIRST,
    LIKELY,
    MET,
    NET,
    PHASE,
    PLANS,
    SORTED_AT,
    SURE,
    TEST,
    USED,
    WAITING,
    WHOLE,
    K,
    T,
    append,
)
from monmdp.agents.learnt_model import count_successor, find_slot
from monmdp.agents.priorities import note_arrival, one_of, put
from monmdp.compiling import compilable

CALM = 10
"""when news is rare, beliefs change slowly: conclusions about a pair are drawn again once its
visits have grown by a tenth, and about all pairs once all steps have; a plan is followed for a
tenth of the steps since the last news"""
ASSUMED = 0.05
"""ρ̲, if it is not learnt"""
MOST_CHANCE = 0.999
"""the largest chance to see that is reckoned with: one try in vain proves nothing"""
MOST = 700.0
"""the largest exponent: larger ones would overflow"""
NOISE = 1e-12
"""variance of rewards below which differences are rounding"""
FIRST_OF_ALL = 1e300
"""priority of what is looked at before all else"""


@compilable
def best_return(reward: float, gamma: float) -> float:
    """Return the best there can be if no step pays more: for ever, or once and it is over."""
    return max(reward, reward / (1.0 - gamma))


@compilable
def worst_return(reward: float, gamma: float) -> float:
    """Return the worst there can be if no step pays less."""
    return min(reward, reward / (1.0 - gamma))


@compilable
def bin_of(n: int) -> int:
    """Return the bin of ω that n visits fall into: ⌊log₂ n⌋."""
    b = 0
    while n > 1 and b < BINS - 1:
        n //= 2
        b += 1
    return b


@compilable
def meet(agent: Any, se: int) -> None:
    """Note an environment state that was never met before."""
    if not agent.places["met"][se]:
        agent.places["met"][se] = True
        append(agent.lists, MET, agent.lists.met, se)
        look_at(agent, se)


@compilable
def look_at(agent: Any, se: int) -> None:
    """Let a state be looked at in all plans but two, which always look at all."""
    for mode in range(PLANS):
        if mode not in (TEST, SURE):
            put(one_of(agent.waiting, mode), se, FIRST_OF_ALL, 1.0)


@compilable
def is_known_place(places: Any, env: Any, j: int) -> bool:
    """Return whether rewards were shown where an outcome leads, however one came there."""
    to, ended = env.state[j], env.ended[j]
    known = ended == 0 or places["end_sights"][to] > 0
    return known and (ended == env.visits[j] or places["sights"][to] > 0)


@compilable
def paid_at(places: Any, env: Any, j: int) -> float:
    """Return the mean reward where an outcome leads, if that is known."""
    to, ended, went_on = env.state[j], env.ended[j], env.visits[j] - env.ended[j]
    paid = ended * places["end_paid"][to] / max(places["end_sights"][to], 1)
    paid += went_on * places["paid"][to] / max(places["sights"][to], 1)
    return paid / env.visits[j]


@compilable
def count_step(agent: Any, step: Any) -> bool:
    """Count one more step; return whether it brought news.

    News is an outcome met for the first time, its first sight, and a first try of a monitor pair.
    """
    p, env, pairs, clock = agent.parameters, agent.env, agent.pairs, agent.clock
    s, a, next_s, shown, reward = step.s, step.a, step.next_s, step.shown, step.reward
    n, n_env, n_mon = agent.n, pairs["n"], agent.monitor["n"]
    (n_sm, n_am), n_ae = n_mon.shape, n_env.shape[1]
    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
    x, y, next_se = se * n_ae + ae, sm * n_am + am, next_s // n_sm
    outcome = find_slot(env, x, next_se)
    is_new = outcome == env.first[x] + env.used[x]
    news, is_new_place = is_new, not agent.places["met"][next_se]
    if is_new:
        clock[USED] += 1
        note_arrival(agent.arrivals, outcome, x, next_se)
        meet(agent, next_se)

    if step.terminated and not agent.places["ends"][se]:
        agent.places["ends"][se] = True
        append(agent.lists, ENDS, agent.lists.ends, se)
    if n_env[se, ae] > 0:
        b = bin_of(n_env[se, ae])
        agent.bins["tries"][b] += 1
        agent.bins["novel"][b] += is_new_place
        agent.bins["fresh"][b] += is_new
    elif p.kinds > 0 and not p.knows_monitor:
        join(agent.moves, x)
    n[s, a] += 1
    n_env[se, ae] += 1
    count_successor(env, x, n_env[se, ae], next_se, step.terminated, p.gamma)
    if not p.knows_monitor:
        news = news or n_mon[sm, am] == 0
        n_mon[sm, am] += 1
        agent.monitor["total"][sm, am] += step.monitor_reward
        if agent.moves.total[agent.moves.kind[x], y] == 0:
            clock[WHOLE] = 1  # all cells of the kind learn of it
        count_move(agent.moves, x, y, next_s % n_sm, n[s, a] - 1)

    sights, total = agent.outcomes["sights"], agent.outcomes["total"]
    n_sights = sights[outcome]
    if n_sights > 0:
        agent.monitor["tries"][sm, am] += 1
        agent.monitor["hits"][sm, am] += shown
    if shown:
        news = news or n_sights == 0
        if n_sights > 0:
            off = reward - total[outcome] / n_sights
            square = off * off * n_sights / (n_sights + 1)
            pairs["squares"][se, ae] += square
            pairs["repeats"][se, ae] += 1
            agent.pooled[0] += square
            agent.pooled[1] += 1.0
        sights[outcome] += 1
        total[outcome] += reward
        if step.terminated:
            agent.places["end_sights"][next_se] += 1
            agent.places["end_paid"][next_se] += reward
        else:
            agent.places["sights"][next_se] += 1
            agent.places["paid"][next_se] += reward
        pairs["n_seen"][se, ae] += 1
        agent.monitor["shown"][sm, am] += 1
    if pairs["n_seen"][se, ae] > 0:
        visits, of_seen = 0, 0.0
        for j in range(env.first[x], env.first[x] + env.used[x]):
            if sights[j] > 0:
                visits += env.visits[j]
                of_seen += env.visits[j] * total[j] / sights[j]
            elif is_known_place(agent.places, env, j):
                visits += env.visits[j]
                of_seen += env.visits[j] * paid_at(agent.places, env, j)
        pairs["reward"][se, ae] = of_seen / visits
    if news and clock[PHASE] > LIKELY:
        clock[WHOLE] = 1  # there may be something likely again
    grown = n_env[se, ae] > pairs["n_drawn"][se, ae] * (1.0 + 1.0 / CALM)
    if (news or grown) and not pairs["waits"][se, ae]:
        pairs["waits"][se, ae] = True
        append(agent.lists, WAITING, agent.lists.waiting, x)
    return bool(news)


@compilable
def believe(agent: Any, everything: bool) -> int:
    """Draw conclusions about the pairs that wait for it, or about all; return what that took."""
    p, env, pairs, lists = agent.parameters, agent.env, agent.pairs, agent.lists
    outcomes, places, monitor = agent.outcomes, agent.places, agent.monitor
    sights, own, in_vain = outcomes["sights"], outcomes["own"], outcomes["in_vain"]
    n_cell, v = agent.n, agent.v[FEAR]
    n_ae, (n_sm, n_am) = pairs.shape[1], monitor.shape
    _find_chances(agent)
    _find_novelty(agent)
    if p.kinds > 1 and n_sm > 1 and not p.knows_monitor:
        _find_kinds(agent, everything)
    z, worst = math.sqrt(math.log(agent.clock[K] + 2.0)), worst_return(p.r_min, p.gamma)
    variance = agent.pooled[0] / max(agent.pooled[1], 1.0)
    later, enough = math.log(1.0 + agent.clock[DONE]), p.precision * (p.r_max - p.r_min)
    n_items = lists.length[MET] * n_ae if everything else lists.length[WAITING]
    took = 0
    for again in range(2):  # first what concerns the places, then what follows from it
        for i in range(n_items):
            x = lists.met[i // n_ae] * n_ae + i % n_ae if everything else lists.waiting[i]
            se, ae = x // n_ae, x % n_ae
            n = pairs["n"][se, ae]
            if n == 0:
                continue
            begin, end = env.first[x], env.first[x] + env.used[x]
            took += end - begin
            if not again:
                tries = 0.0
                for sm in range(n_sm):
                    for am in range(n_am):
                        s, a = se * n_sm + sm, ae * n_am + am
                        if p.knows_monitor:
                            chance = min(agent.chance[s, a], MOST_CHANCE)
                            tries -= n_cell[s, a] * math.log(1.0 - chance)
                        else:
                            tries += n_cell[s, a] * monitor["weight"][sm, am]
                for j in range(begin, end):
                    to, now, visits = env.state[j], 0.0, 0
                    if sights[j] == 0:
                        now, visits = env.visits[j] * tries / n, env.visits[j]
                    places["tries"][to] += now - own[j]
                    places["visits"][to] += visits - outcomes["own_visits"][j]
                    own[j], outcomes["own_visits"][j] = now, visits
                continue
            # The variance at the pair itself, with that of all pairs for one more reward.
            of_pair = (pairs["squares"][se, ae] + variance) / (pairs["repeats"][se, ae] + 1.0)
            squared, can_show = 0.0, True
            if p.knows_monitor:
                can_show = False
                for sm in range(n_sm):
                    for am in range(n_am):
                        s, a = se * n_sm + sm, ae * n_am + am
                        can_show |= agent.chance[s, a] > 0.0
            unresolved, hope = False, 0.0
            for j in range(begin, end):
                outcomes["given_up"][j] = False
                if sights[j] > 0:
                    if of_pair > NOISE:
                        squared += (env.visits[j] / n) ** 2 * of_pair / sights[j]
                    continue
                to, visits = env.state[j], env.visits[j]
                if pairs["n_seen"][se, ae] > 0 and is_known_place(places, env, j):
                    continue
                in_vain[j] = own[j]
                if p.places and places["sights"][to] + places["end_sights"][to] == 0:
                    in_vain[j], visits = places["tries"][to], places["visits"][to]
                given_up = in_vain[j] > p.give_up + later and visits > p.revive * later
                given_up = given_up or not can_show
                outcomes["given_up"][j] = given_up
                if can_show:
                    hope = max(hope, 1.0 / (1.0 + math.exp(min(in_vain[j], MOST))))
                unresolved |= not given_up
            error = z * math.sqrt(squared)
            pairs["error"][se, ae] = error
            pairs["unresolved"][se, ae] = unresolved or error > enough
            pairs["hope"][se, ae] = hope
            if p.novelty:
                b = bin_of(n)
                pairs["omega"][se, ae] = agent.bins["omega"][b] * 2.0**b / n
                pairs["omega_fresh"][se, ae] = agent.bins["omega_fresh"][b] * 2.0**b / n
            for sm in range(n_sm):
                agent.unsure[x, sm] = p.caution * error
                if end > begin + 1 or env.may_end[x]:
                    # The variance, over the outcomes, of the reward and what follows.
                    mean, spread = 0.0, 0.0
                    for second in range(2):  # first the mean, then what is around it
                        for j in range(begin, end):
                            reward = pairs["reward"][se, ae]
                            if sights[j] > 0:
                                reward = outcomes["total"][j] / sights[j]
                            elif pairs["n_seen"][se, ae] > 0 and is_known_place(places, env, j):
                                reward = paid_at(places, env, j)
                            on = reward + p.gamma * max(v[env.state[j] * n_sm + sm], worst)
                            ended = env.ended[j] / n
                            went_on = (env.visits[j] - env.ended[j]) / n
                            if second:
                                spread += went_on * (on - mean) ** 2 + ended * (reward - mean) ** 2
                            else:
                                mean += went_on * on + ended * reward
                    agent.unsure[x, sm] += p.caution * z * math.sqrt(spread / n)
                    took += end - begin
            pairs["n_drawn"][se, ae] = n
    return took


@compilable
def _find_kinds(agent: Any, everything: bool) -> None:
    """Sort the pairs whose visits have grown since they were sorted; all of them now and then."""
    n, n_sorted, bar = agent.pairs["n"], agent.pairs["n_sorted"], agent.parameters.evidence
    lists, clock, moves, n_ae = agent.lists, agent.clock, agent.moves, agent.pairs.shape[1]
    every = clock[NET] and clock[FIRST] and clock[T] > clock[SORTED_AT] * (1.0 + 1.0 / CALM)
    if every:
        clock[SORTED_AT] = clock[T]
    alpha, changed = concentration(moves), False
    n_items = lists.length[MET] * n_ae if everything or every else lists.length[WAITING]
    for again in range(2):
        for i in range(n_items):
            x = lists.waiting[i]
            if everything or every:
                x = lists.met[i // n_ae] * n_ae + i % n_ae
            se, ae = x // n_ae, x % n_ae
            if n[se, ae] == 0:
                continue
            if again:
                find_plausible(moves, x, bar)
            elif every or n[se, ae] > n_sorted[se, ae] * (1.0 + 1.0 / CALM):
                changed |= sort_pair(moves, x, alpha, bar)
                n_sorted[se, ae] = n[se, ae]
    if changed:
        clock[WHOLE] = 1


@compilable
def _find_novelty(agent: Any) -> None:
    """Find ω of each bin; one that is empty is thought to have half of the one before."""
    bins, place, outcome = agent.bins, 1.0, 1.0
    for b in range(BINS):
        place = (bins["novel"][b] + 0.5 * place) / (bins["tries"][b] + 1.0)
        outcome = (bins["fresh"][b] + 0.5 * outcome) / (bins["tries"][b] + 1.0)
        bins["omega"][b], bins["omega_fresh"][b] = place, outcome


@compilable
def _find_chances(agent: Any) -> None:
    """Find how likely each monitor pair shows a reward, and how much a try in vain counts."""
    p, monitor = agent.parameters, agent.monitor
    for sm in range(monitor.shape[0]):
        for am in range(monitor.shape[1]):
            shown, tries = monitor["shown"][sm, am], monitor["tries"][sm, am]
            known = min(monitor["hits"][sm, am] / (tries + 2.0), p.rho_cap)
            monitor["chance"][sm, am] = (shown + 1.0) / (monitor["n"][sm, am] + 2.0)
            monitor["weight"][sm, am] = -math.log(1.0 - (known if p.pool_sights else ASSUMED))
