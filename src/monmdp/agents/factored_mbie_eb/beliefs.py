"""Beliefs: what the agent knows of rewards, of seeing them, and how sure it is.

    r̄ᵉ(x, s′ᵉ)   mean of the rewards shown for an outcome; R̄ᵉ(x) weighs the outcomes seen by P̄ᵉ
    u(x, sᵐ)     caution·√ln(k+2) standard errors of what x is worth in episode k: of the rewards
                 given the outcomes, and of which outcome comes
    ω(x)         the probability that the next try of x has an outcome never met, from how often
                 that happened to pairs tried as often (Good and Turing)
    ρ̂(y)         the probability that y shows a reward; ρ̲(y) the same for outcomes that can be shown
    e(x, s′ᵉ)    how often an outcome was tried in vain, effectively: visits of x weighed by
                 -ln(1 - ρ̲(y)). If nothing was ever shown at the place s′ᵉ, all tries there count

The odds that an outcome can be seen are even before it is tried, and exp(-e) then. It is *given up*
once

    e > give_up + ln(1+D)    and    visits > revive·ln(1+D)

where D counts the episodes that began with nothing left to look for. So no verdict is final, and
the looks at what was given up grow like the logarithm of the episodes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from monmdp.agents.factored_mbie_eb.kinds import (
    concentration,
    count_move,
    find_plausible,
    join,
    sort_pair,
)
from monmdp.agents.factored_mbie_eb.state import BINS, DONE, FIRST, NET, K
from monmdp.agents.learnt_model import count_successor, find_slot
from monmdp.compiling import compilable
from monmdp.model.arrays import FloatArray

CALM = 10
"""when news is rare, beliefs change slowly: a plan is followed for a tenth of the steps since the
last news, and a pair is sorted again once its visits have grown by a tenth"""
ASSUMED = 0.05
"""ρ̲, if it is not learnt"""
MOST_CHANCE = 0.999
"""the largest chance to see that is reckoned with: one try in vain proves nothing"""
MOST = 700.0
"""the largest exponent: larger ones would overflow"""
NOISE = 1e-12
"""variance of rewards below which differences are rounding"""


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
def count_step(agent: Any, step: Any) -> bool:
    """Count one more step; return whether it brought news.

    News is an outcome met for the first time, its first sight, and a first try of a monitor pair.
    """
    p, env, pairs = agent.parameters, agent.env, agent.pairs
    s, a, next_s, shown, reward = step.s, step.a, step.next_s, step.shown, step.reward
    n, n_env, n_mon = agent.cells["n"], pairs["n"], agent.monitor["n"]
    (n_sm, n_am), n_ae = n_mon.shape, n_env.shape[1]
    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
    x, y, next_se = se * n_ae + ae, sm * n_am + am, next_s // n_sm
    outcome = find_slot(env, x, next_se)
    is_new = outcome == env.first[x] + env.used[x]
    news = is_new

    if n_env[se, ae] > 0:
        b = bin_of(n_env[se, ae])
        agent.bins["tries"][b] += 1
        agent.bins["novel"][b] += is_new
    elif p.kinds > 0 and not p.knows_monitor:
        join(agent.moves, x)
    n[s, a] += 1
    n_env[se, ae] += 1
    count_successor(env, x, n_env[se, ae], next_se, step.terminated, p.gamma)
    if not p.knows_monitor:
        news = news or n_mon[sm, am] == 0
        n_mon[sm, am] += 1
        agent.monitor["total"][sm, am] += step.monitor_reward
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
            pairs["squares"][se, ae] += off * off * n_sights / (n_sights + 1)
            pairs["repeats"][se, ae] += 1
        sights[outcome] += 1
        total[outcome] += reward
        pairs["n_seen"][se, ae] += 1
        agent.monitor["shown"][sm, am] += 1
    if pairs["n_seen"][se, ae] > 0:
        visits, of_seen = 0, 0.0
        for j in range(env.first[x], env.first[x] + env.used[x]):
            if sights[j] > 0:
                visits += env.visits[j]
                of_seen += env.visits[j] * total[j] / sights[j]
        pairs["reward"][se, ae] = of_seen / visits
    return bool(news)


@compilable
def believe(agent: Any) -> None:
    """Draw conclusions from all that was counted."""
    several = agent.parameters.kinds > 1 and agent.monitor.shape[0] > 1
    if several and not agent.parameters.knows_monitor:
        _find_kinds(agent)
    find_untried(agent)
    _find_errors(agent)
    _find_novelty(agent)
    _find_chances(agent)
    _give_up(agent)


@compilable
def _find_kinds(agent: Any) -> None:
    """Sort the pairs that were visited since they were sorted; all of them when the net begins."""
    n, n_sorted, bar = agent.pairs["n"], agent.pairs["n_sorted"], agent.parameters.evidence
    every, alpha = agent.clock[NET] and agent.clock[FIRST], concentration(agent.moves)
    for x in range(n.size):
        se, ae = x // n.shape[1], x % n.shape[1]
        if n[se, ae] > 0 and (every or n[se, ae] > n_sorted[se, ae] * (1.0 + 1.0 / CALM)):
            sort_pair(agent.moves, x, alpha, bar)
            n_sorted[se, ae] = n[se, ae]
    for x in range(n.size):
        if n[x // n.shape[1], x % n.shape[1]] > 0:
            find_plausible(agent.moves, x, bar)


@compilable
def find_untried(agent: Any) -> None:
    """Find the cells of which nothing is known: neither of their pair, nor of y in its kind."""
    n, untried, n_env = agent.cells["n"], agent.cells["untried"], agent.pairs["n"]
    kind, total = agent.moves.kind, agent.moves.total
    n_ae, (n_sm, n_am) = n_env.shape[1], agent.monitor.shape
    for s in range(n.shape[0]):
        se, sm = s // n_sm, s % n_sm
        for a in range(n.shape[1]):
            ae, y = a // n_am, sm * n_am + a % n_am
            unknown = n_env[se, ae] == 0 or total[kind[se * n_ae + ae], y] == 0
            untried[s, a] = n[s, a] == 0 and unknown


@compilable
def _find_errors(agent: Any) -> None:
    """Find u(x, sᵐ), how far what a pair is worth may be off, with the low plan's values."""
    p, env, pairs, sights = agent.parameters, agent.env, agent.pairs, agent.outcomes["sights"]
    v, n_sm, n_ae = agent.states["v_low"], agent.monitor.shape[0], pairs.shape[1]
    variance, repeats, z = 0.0, 0, math.sqrt(math.log(agent.clock[K] + 2.0))
    for x in range(pairs.size):
        variance += pairs["squares"][x // n_ae, x % n_ae]
        repeats += pairs["repeats"][x // n_ae, x % n_ae]
    variance /= max(repeats, 1)
    for x in range(agent.unsure.shape[0]):
        se, ae = x // n_ae, x % n_ae
        n, squared = pairs["n"][se, ae], 0.0
        # The variance at the pair itself, with that of all pairs for one more reward.
        of_pair = (pairs["squares"][se, ae] + variance) / (pairs["repeats"][se, ae] + 1.0)
        if of_pair > NOISE:
            for j in range(env.first[x], env.first[x] + env.used[x]):
                if sights[j] > 0:
                    squared += (env.visits[j] / n) ** 2 * of_pair / sights[j]
        pairs["error"][se, ae] = z * math.sqrt(squared)
        for sm in range(n_sm):
            agent.unsure[x, sm] = p.caution * pairs["error"][se, ae]
            if env.used[x] > 1 or env.may_end[x]:
                spread = _spread(agent, x, sm, v)
                agent.unsure[x, sm] += p.caution * z * math.sqrt(spread / n)


@compilable
def _spread(agent: Any, x: int, sm: int, v: FloatArray) -> float:
    """Return the variance, over the outcomes of x, of the reward and what follows."""
    env, outcomes, n_sm = agent.env, agent.outcomes, agent.monitor.shape[0]
    gamma, n_ae = agent.parameters.gamma, agent.pairs.shape[1]
    n, unseen = agent.pairs["n"][x // n_ae, x % n_ae], agent.pairs["reward"][x // n_ae, x % n_ae]
    mean, variance = 0.0, 0.0
    for again in range(2):  # first the mean, then what is around it
        for j in range(env.first[x], env.first[x] + env.used[x]):
            reward, sights = unseen, outcomes["sights"][j]
            if sights > 0:
                reward = outcomes["total"][j] / sights
            follows = gamma * v[env.state[j] * n_sm + sm]
            ended, went_on = env.ended[j] / n, (env.visits[j] - env.ended[j]) / n
            if again:
                variance += went_on * (reward + follows - mean) ** 2 + ended * (reward - mean) ** 2
            else:
                mean += went_on * (reward + follows) + ended * reward
    return variance


@compilable
def _find_novelty(agent: Any) -> None:
    """Find ω(x); a bin that is empty is thought to have half of the one before."""
    of_bin, last = np.zeros(BINS), 1.0
    for b in range(BINS):
        of_bin[b] = (agent.bins["novel"][b] + 0.5 * last) / (agent.bins["tries"][b] + 1.0)
        last = of_bin[b]
    n, omega = agent.pairs["n"], agent.pairs["omega"]
    for se in range(n.shape[0]):
        for ae in range(n.shape[1]):
            if n[se, ae] > 0 and agent.parameters.novelty:
                b = bin_of(n[se, ae])
                omega[se, ae] = of_bin[b] * 2.0**b / n[se, ae]


@compilable
def _find_chances(agent: Any) -> None:
    """Find how likely each cell shows a reward, and how much a try in vain counts there."""
    p, monitor = agent.parameters, agent.monitor
    n, chance, weight = agent.cells["n"], agent.cells["chance"], agent.cells["weight"]
    n_sm, n_am = monitor.shape
    for sm in range(n_sm):
        for am in range(n_am):
            shown, tries = monitor["shown"][sm, am], monitor["tries"][sm, am]
            of_y = (shown + 1.0) / (monitor["n"][sm, am] + 2.0)
            known = min(monitor["hits"][sm, am] / (tries + 2.0), p.rho_cap)
            in_vain = -math.log(1.0 - (known if p.pool_sights else ASSUMED))
            for s in range(sm, n.shape[0], n_sm):
                for a in range(am, n.shape[1], n_am):
                    if p.knows_monitor:
                        weight[s, a] = -math.log(1.0 - min(chance[s, a], MOST_CHANCE))
                    else:
                        weight[s, a] = in_vain
                        chance[s, a] = of_y if p.pool_sights else 1.0 / (n[s, a] + 2.0)


@compilable
def _give_up(agent: Any) -> None:
    """Find e of every outcome, what is given up, and what is unresolved."""
    p, env, pairs = agent.parameters, agent.env, agent.pairs
    sights, in_vain = agent.outcomes["sights"], agent.outcomes["in_vain"]
    n, chance, weight = agent.cells["n"], agent.cells["chance"], agent.cells["weight"]
    (n_se, n_ae), (n_sm, n_am) = pairs.shape, agent.monitor.shape
    seen_at, tries_at = np.zeros(n_se, np.bool_), np.zeros(n_se)
    visits_at, can_show = np.zeros(n_se, np.int64), np.zeros(n_se * n_ae, np.bool_)
    for x in range(n_se * n_ae):
        se, ae, tries = x // n_ae, x % n_ae, 0.0
        for sm in range(n_sm):
            for am in range(n_am):
                s, a = se * n_sm + sm, ae * n_am + am
                tries += n[s, a] * weight[s, a]
                can_show[x] |= chance[s, a] > 0.0
        for j in range(env.first[x], env.first[x] + env.used[x]):
            in_vain[j] = env.visits[j] * tries / pairs["n"][se, ae]
            if sights[j] > 0:
                seen_at[env.state[j]] = True
            else:
                tries_at[env.state[j]] += in_vain[j]
                visits_at[env.state[j]] += env.visits[j]
    later, enough = math.log(1.0 + agent.clock[DONE]), p.precision * (p.r_max - p.r_min)
    for x in range(n_se * n_ae):
        se, ae = x // n_ae, x % n_ae
        if pairs["n"][se, ae] == 0:
            continue
        pairs["unresolved"][se, ae] = pairs["error"][se, ae] > enough
        pairs["hope"][se, ae] = 0.0
        for j in range(env.first[x], env.first[x] + env.used[x]):
            agent.outcomes["given_up"][j] = False
            if sights[j] == 0:
                to, visits = env.state[j], env.visits[j]
                if p.places and not seen_at[to]:
                    in_vain[j], visits = tries_at[to], visits_at[to]
                given_up = in_vain[j] > p.give_up + later and visits > p.revive * later
                given_up = given_up or not can_show[x]
                agent.outcomes["given_up"][j] = given_up
                hope = 1.0 / (1.0 + math.exp(min(in_vain[j], MOST)))
                pairs["hope"][se, ae] = max(pairs["hope"][se, ae], hope if can_show[x] else 0.0)
                pairs["unresolved"][se, ae] |= not given_up
