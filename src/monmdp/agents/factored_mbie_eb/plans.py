"""Plans: value iteration on the factored model, by sweeps in both directions.

The model moves by P̄ᵉ(s′ᵉ | x) · P̄ᵐ(s′ᵐ | y, kind of x). With z(s′ᵉ, kind, y) = Σ P̄ᵐ(s′ᵐ | y, kind)
v(s′ᵉ, s′ᵐ), one sum over the outcomes of a pair serves all monitor states and actions. A step that
leads back to its own state is solved for, not iterated. Where a pair may be of several kinds, a
hopeful plan takes the best of them, the low plan the worst.

In a hopeful plan, what is `unknown` follows with probability ω(x), and nothing else follows an
outcome that is hoped for. An episode that ended has no future, except in a plan that observes: then
the next one begins.

`sweep` is all there is to planning: anything that solves the same equations to the same tolerance
could take its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monmdp.agents.factored_mbie_eb.beliefs import believe, best_return
from monmdp.agents.factored_mbie_eb.hopes import fear, hope, take_aim, wish_to_check, wish_to_see
from monmdp.agents.factored_mbie_eb.state import (
    CERTIFIED,
    DUE,
    LIKELY,
    NET,
    OPTIMIZE,
    PHASE,
    POSSIBLE,
    SINCE,
    T,
    is_observing,
)
from monmdp.agents.learnt_model import LOW
from monmdp.compiling import compilable
from monmdp.model.arrays import FloatArray, IntArray

ROUGH, FINE = 1e-4, 1e-9
"""change of a value, as a share of the largest, up to which a plan is good enough: to explore with
it, and to be tested or certified"""
RULED_OUT = -1e150
"""values below are LOW, or lead there with some chance: they say nothing of how large values are"""
PATIENT = 8
"""a plan that is tested or certified may take this many times `sweeps` sweeps"""


@compilable
def plan(agent: Any) -> None:
    """Decide what to look for, if anything, and plan it."""
    p, clock, v, v_low = agent.parameters, agent.clock, agent.states["v"], agent.states["v_low"]
    believe(agent)
    clock[SINCE], clock[DUE] = 0, 0
    fear(agent)
    sweep(agent, LOW, False, p.sweeps, ROUGH, v_low, agent.cells["q_low"])
    phase, unknown = LIKELY if p.likely_first else POSSIBLE, p.r_max
    while phase < OPTIMIZE:
        if phase == POSSIBLE:
            unknown = best_return(p.r_max, p.gamma)
        hope(agent, phase == LIKELY, unknown)
        # From below: starting from above, a hope that failed would fade by γ a sweep only.
        for s in range(len(v)):
            v[s] = v_low[s]
        sweep(agent, unknown, False, p.sweeps, ROUGH, v, agent.cells["q_hope"])
        if take_aim(agent):
            break
        phase += 1
    clock[PHASE] = phase
    if phase == OPTIMIZE and clock[CERTIFIED] == 0 and _gap(agent) <= p.epsilon:
        fear(agent)
        sweep(agent, LOW, False, PATIENT * p.sweeps, FINE, v_low, agent.cells["q_low"])
        hope(agent, False, unknown)
        sweep(agent, unknown, False, PATIENT * p.sweeps, FINE, v, agent.cells["q_hope"])
        if _gap(agent) <= p.epsilon:
            clock[CERTIFIED] = clock[T]
    if is_observing(clock, p.stop):
        if clock[NET]:
            wish_to_check(agent)
        else:
            wish_to_see(agent)
        for s in range(len(v)):
            v[s] = 0.0
        sweep(agent, LOW, True, p.sweeps, ROUGH, v, agent.cells["q_obs"])


@compilable
def _gap(agent: Any) -> float:
    """Return by how much the policy may fall short, in units of max(1, |v|).

    From the hopeful to the low value of where episodes begin, and as far again: u(x) is how far the
    means may be off either way.
    """
    gap, value, n = 0.0, 0.0, 0
    for s in range(len(agent.states)):
        starts, low = agent.states["starts"][s], agent.states["v_low"][s]
        gap += starts * (agent.states["v"][s] - low)
        value += starts * low
        n += starts
    return 2.0 * gap / max(n, abs(value))


@compilable
def sweep(
    agent: Any,
    unknown: float,
    observing: bool,
    sweeps: int,
    tolerance: float,
    v: FloatArray,
    q: FloatArray,
) -> None:
    """Improve v[s] over reward[s, a] and the model, and write q[s, a].

    It ends after `sweeps` sweeps, or when one changes nothing by more than `tolerance` times the
    largest value. If `unknown` is LOW, nothing is hoped for. After the first sweep a state is
    passed over unless a value has changed that it depends on.
    """
    p, env, share = agent.parameters, agent.env, agent.moves.share
    reward, untried = agent.cells["reward"], agent.cells["untried"]
    omegas, hoped, starts = agent.pairs["omega"], agent.outcomes["hoped"], agent.states["starts"]
    members, kinds, plausible = agent.moves.members, agent.moves.kind, agent.moves.plausible
    total = agent.moves.total
    (n_se, n_ae), (n_sm, n_am) = omegas.shape, agent.monitor.shape
    n_kinds, n_y = 1, n_sm * n_am
    for kind in range(1, len(members)):
        if members[kind] > 0:
            n_kinds = kind + 1
    hopes = unknown > LOW
    z, ahead = np.empty((n_se, n_kinds, n_y)), np.empty(n_y)
    worth, best = np.empty((n_sm, n_am)), np.empty(n_sm)
    for se in range(n_se):
        _look_ahead(share, v, se, z)
    n_starts = 0
    for s in range(len(v)):
        n_starts += starts[s]
    # Turns are numbered: when v(sᵉ, ·) was last looked at, and when it last changed.
    turn, looked, moved = 0, np.zeros(n_se, np.int64), np.zeros(n_se, np.int64)
    restart, restart_moved, size = 0.0, 0, 1.0
    for i in range(sweeps):
        if observing and n_starts > 0:
            before, restart = restart, 0.0
            for s in range(len(v)):
                restart += starts[s] * v[s]
            restart /= n_starts
            if restart != before:
                turn += 1
                restart_moved = turn
        change = 0.0
        for place in range(n_se):
            se = place if i % 2 == 0 else n_se - 1 - place
            if i > 0 and not _is_behind(env, se, n_ae, moved, restart_moved, looked[se]):
                continue
            turn += 1
            looked[se] = turn
            for sm in range(n_sm):
                best[sm] = LOW
            for ae in range(n_ae):
                x = se * n_ae + ae
                omega = omegas[se, ae] if hopes else 0.0
                keep, add = 1.0 - omega, omega * p.gamma * unknown
                for other in range(n_kinds):
                    kind = (kinds[x] + other) % n_kinds  # its own comes first
                    if other > 0 and (observing or not plausible[x, kind]):
                        continue
                    ended, back = 0.0, 0.0
                    for y in range(n_y):
                        ahead[y] = 0.0
                    for j in range(env.first[x], env.first[x] + env.used[x]):
                        w, to = env.go_on[j], env.state[j]
                        ended += (env.land[j] - w) * restart
                        if w > 0.0 and not (hopes and hoped[j]):
                            if to == se:
                                back += w
                            for y in range(n_y):
                                ahead[y] += w * z[to, kind, y]
                    for sm in range(n_sm):
                        s = se * n_sm + sm
                        for am in range(n_am):
                            a, y = ae * n_am + am, sm * n_am + am
                            value, to_self = reward[s, a], 0.0
                            if other > 0 and total[kind, y] == 0:
                                continue  # this kind says nothing of y
                            if not untried[s, a]:
                                value += add + keep * (ahead[y] + ended)
                                to_self = keep * back * share[kind, y, sm]
                            solved = (value - to_self * v[s]) / (1.0 - to_self)
                            if other == 0 or (solved > worth[sm, am]) == hopes:
                                q[s, a], worth[sm, am] = value, solved
                for sm in range(n_sm):
                    for am in range(n_am):
                        best[sm] = max(best[sm], worth[sm, am])
            for sm in range(n_sm):
                s = se * n_sm + sm
                if best[sm] != v[s]:
                    moved[se] = turn
                change = max(change, abs(best[sm] - v[s]))
                if best[sm] > RULED_OUT:
                    size = max(size, abs(best[sm]))
                v[s] = best[sm]
            if moved[se] == turn:
                _look_ahead(share, v, se, z)
        if change <= tolerance * size:
            break


@compilable
def _is_behind(
    env: Any, se: int, n_ae: int, moved: IntArray, restart_moved: int, looked: int
) -> bool:
    """Return whether a value has changed since sᵉ was looked at that it depends on."""
    for x in range(se * n_ae, se * n_ae + n_ae):
        if env.may_end[x] and restart_moved > looked:
            return True
        for j in range(env.first[x], env.first[x] + env.used[x]):
            if moved[env.state[j]] >= looked:  # equal: it leads to itself, and has just changed
                return True
    return False


@compilable
def _look_ahead(share: FloatArray, v: FloatArray, se: int, z: FloatArray) -> None:
    """Write z(sᵉ, kind, y) = Σ P̄ᵐ(s′ᵐ | y, kind) v(sᵉ, s′ᵐ)."""
    n_kinds, n_y = z.shape[1:]
    for kind in range(n_kinds):
        for y in range(n_y):
            total = 0.0
            for to in range(share.shape[2]):
                total += share[kind, y, to] * v[se * share.shape[2] + to]
            z[se, kind, y] = total
