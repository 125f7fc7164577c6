"""Hopes and aims: what each plan is paid, and what is worth looking at.

Five plans share one model and differ in the rewards of its cells (x,y), of which R̄ᵐ(y) is a part of
the first three:

    low        R̄ᵉ(x): r_min where nothing was seen. The test policy
    likely     what was not seen is r_max where it ended the episode, else what is typical, less a
               price; u(x) is added
    possible   what was not seen is V_max, the best return there can be, even if its reward is the
               only thing not known; u(x) is added
    observe    1/(1 - γ) for a cell never tried; the chance to see what is aimed at and unresolved
    net        1/(1 + visits of the cell)

*Aimed at* is what is not known on the way of the best likely policy; if all of that is known, on
the way of the best possible policy; if all of that is known, too, there is nothing left to look
for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from monmdp.agents.factored_mbie_eb.beliefs import MOST, worst_return
from monmdp.agents.greedy import TIE
from monmdp.agents.learnt_model import LOW
from monmdp.compiling import compilable


@compilable
def fear(agent: Any) -> None:
    """Rewards of the low plan: what was never tried is worse than the worst."""
    p, seen, paid = agent.parameters, agent.pairs["reward"], agent.monitor["total"]
    untried, reward, n_mon = agent.cells["untried"], agent.cells["reward"], agent.monitor["n"]
    n_sm, n_am = agent.monitor.shape
    worst = worst_return(p.r_min, p.gamma) - 1.0
    for s in range(reward.shape[0]):
        for a in range(reward.shape[1]):
            sm, am = s % n_sm, a % n_am
            of_mon = paid[sm, am] / max(n_mon[sm, am], 1)
            reward[s, a] = worst if untried[s, a] else seen[s // n_sm, a // n_am] + of_mon


@compilable
def hope(agent: Any, likely: bool, unknown: float) -> None:
    """Rewards of the likely plan, or of the possible one; `unknown` is what is never tried."""
    p, env, pairs, outcomes = agent.parameters, agent.env, agent.pairs, agent.outcomes
    untried, reward = agent.cells["untried"], agent.cells["reward"]
    paid, n_mon = agent.monitor["total"], agent.monitor["n"]
    n_ae, (n_sm, n_am) = pairs.shape[1], agent.monitor.shape
    for x in range(pairs.size):
        se, ae, of_env = x // n_ae, x % n_ae, 0.0
        n = pairs["n"][se, ae]
        for j in range(env.first[x], env.first[x] + env.used[x]):
            sights, given_up = outcomes["sights"][j], outcomes["given_up"][j]
            outcomes["hoped"][j] = not likely and sights == 0 and not given_up
            if sights > 0:
                of_outcome = outcomes["total"][j] / sights
            elif given_up:
                of_outcome = pairs["reward"][se, ae]
            else:
                ended = env.ended[j] / env.visits[j]
                onward = p.typical if likely else unknown
                of_outcome = ended * p.r_max + (1.0 - ended) * onward
                if likely:
                    # One over the odds that it can be seen: so many more tries it would take.
                    odds = math.exp(min(outcomes["in_vain"][j], MOST))
                    of_outcome -= p.unseen_cost * (1.0 + odds)
            of_env += of_outcome * env.visits[j] / n
        for sm in range(n_sm):
            for am in range(n_am):
                s, a = se * n_sm + sm, ae * n_am + am
                if untried[s, a]:
                    # A monitor pair never tried anywhere is unlikely to pay.
                    ruled_out = likely and n > 0 and n_mon[sm, am] == 0
                    reward[s, a] = LOW if ruled_out else unknown
                else:
                    of_mon = paid[sm, am] / max(n_mon[sm, am], 1)
                    reward[s, a] = of_env + of_mon + agent.unsure[x, sm]


@compilable
def wish_to_see(agent: Any) -> None:
    """Rewards of the plan that observes; it also opens cells that only lack a try of y."""
    p, pairs, n_mon = agent.parameters, agent.pairs, agent.monitor["n"]
    n, chance, weight = agent.cells["n"], agent.cells["chance"], agent.cells["weight"]
    untried, reward = agent.cells["untried"], agent.cells["reward"]
    n_sm, n_am = agent.monitor.shape
    for s in range(n.shape[0]):
        for a in range(n.shape[1]):
            se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
            if untried[s, a]:
                aimed = pairs["n"][se, ae] == 0 or agent.monitor["aim"][sm, am]
                # If y was never tried at all, it is thought to leave the monitor as it is.
                untried[s, a] = aimed or n_mon[sm, am] > 0 or not p.aim
            reward[s, a] = 0.0
            if untried[s, a]:
                # With the monitor action that is best at seeing what comes of it.
                reward[s, a] = 1.0 / (1.0 - p.gamma) + chance[s, a]
            elif pairs["unresolved"][se, ae] and (pairs["aim"][se, ae] or not p.aim):
                # A cell that was visited often gives way to others of the same pair.
                reward[s, a] = chance[s, a] / (1.0 + n[s, a] * weight[s, a])


@compilable
def wish_to_check(agent: Any) -> None:
    """Rewards of the net: no structure, only counts."""
    n, untried, reward = agent.cells["n"], agent.cells["untried"], agent.cells["reward"]
    for s in range(n.shape[0]):
        for a in range(n.shape[1]):
            of_untried = 1.0 / (1.0 - agent.parameters.gamma)
            reward[s, a] = of_untried if untried[s, a] else 1.0 / (1.0 + n[s, a])


@compilable
def take_aim(agent: Any) -> bool:
    """Mark what is not known on the way of the hopeful policy; return whether there is any."""
    env, q, untried = agent.env, agent.cells["q_hope"], agent.cells["untried"]
    aim, aim_mon, starts = agent.pairs["aim"], agent.monitor["aim"], agent.states["starts"]
    n_ae, (n_sm, n_am) = aim.shape[1], aim_mon.shape
    for x in range(aim.size):
        aim[x // n_ae, x % n_ae] = False
    for y in range(aim_mon.size):
        aim_mon[y // n_am, y % n_am] = False
    reached, waiting = np.zeros(len(starts), np.bool_), np.empty(len(starts), np.int64)
    n_waiting, found = 0, False
    for s in range(len(starts)):
        if starts[s] > 0:
            reached[s] = True
            waiting[n_waiting] = s
            n_waiting += 1
    while n_waiting > 0:
        n_waiting -= 1
        s = waiting[n_waiting]
        a = 0
        for b in range(1, q.shape[1]):
            if q[s, b] > q[s, a] + TIE:
                a = b
        se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
        if untried[s, a] or agent.pairs["unresolved"][se, ae]:
            aim[se, ae] = True
            aim_mon[sm, am] |= untried[s, a]
            found = True
        if untried[s, a]:
            continue
        x, y = se * n_ae + ae, sm * n_am + am
        for j in range(env.first[x], env.first[x] + env.used[x]):
            for to in range(n_sm):
                next_s = env.state[j] * n_sm + to
                moves = agent.moves.share[agent.moves.kind[x], y, to] > 0.0
                if env.go_on[j] > 0.0 and moves and not reached[next_s]:
                    reached[next_s] = True
                    waiting[n_waiting] = next_s
                    n_waiting += 1
    return found
