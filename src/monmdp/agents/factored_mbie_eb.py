"""Factored MBIE-EB (prototype)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents.base import AgentConfig, tried_with
from monmdp.agents.greedy import greedy_action, greedy_policy
from monmdp.agents.planner import growth_of
from monmdp.agents.successors import (
    Successors,
    count_successor,
    find_slot,
    no_successors,
    with_room,
)
from monmdp.agents.value_iteration import LOW, value_iteration
from monmdp.compiling import compilable, implement
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.monmdp import Shape

BINS = 24


@dataclass(frozen=True, kw_only=True)
class FactoredMBIEEB(AgentConfig):
    """Factored MBIE-EB."""

    name: ClassVar[str] = "factored-mbie-eb"
    slow_verbs: ClassVar[tuple[str, ...]] = ("begin_episode", "update")
    snapshot_fields: ClassVar[tuple[str, ...]] = ("n",)

    r_max: float = 1.0
    typical: float = 0.0
    factored: bool = True
    endings: bool = True
    aims: bool = True
    novelty: bool = True
    aside: float = 0.01
    path: float = 0.5
    gamma_obs: float = 0.97
    unseen_cost: float = 0.003
    patience: float = 1.5
    give_up: float = 4.0
    revive: float = 2.0
    caution: float = 1.64
    rho_cap: float = 0.5
    precision: float = 0.1
    prior: float = 1.0
    evidence: float = 3.0
    beta_kl: float = 0.05
    beta_obs: float = 5e-4
    net: float = 0.35
    net_after: float = 0.75
    bored: int = 8
    replan: int = 10
    sweeps: int = 20

    def state(self, shape: Shape, r_min: float, model: MonMDP | None = None) -> State:
        n_se, n_sm, n_ae, n_am = shape
        joint, env, mon = (n_se * n_sm, n_ae * n_am), (n_se, n_ae), (n_sm, n_am)
        of_env, of_joint = tried_with(shape, model)
        return State(
            parameters=Parameters(
                gamma=self.gamma, r_min=r_min, r_max=self.r_max,
                typical=min(max(self.typical, r_min), self.r_max),
                factored=self.factored, endings=self.endings, aims=self.aims,
                novelty=self.novelty, aside=self.aside, unseen_cost=self.unseen_cost,
                path=self.path, gamma_obs=self.gamma_obs, give_up=self.give_up, revive=self.revive, patience=self.patience, caution=self.caution,
                rho_cap=self.rho_cap, precision=self.precision, prior=self.prior, evidence=self.evidence,
                beta_kl=self.beta_kl, beta_obs=self.beta_obs, net=self.net, net_after=self.net_after, bored=self.bored, replan=self.replan,
                sweeps=self.sweeps,
            ),
            clock=np.zeros(8, dtype=np.int64),
            n=np.zeros(joint, dtype=np.int64),
            n_state=np.zeros(joint[0], dtype=np.int64),
            n_start=np.zeros(joint[0], dtype=np.int64),
            n_env=np.zeros(env, dtype=np.int64),
            n_seen=np.zeros(env, dtype=np.int64),
            env=no_successors(of_env),
            sights=np.zeros(int(np.sum(of_env)), dtype=np.int64),
            sight_sum=np.zeros(int(np.sum(of_env))),
            noise=np.zeros(2),
            votes=np.zeros((n_sm, n_am, n_sm)),
            n_pool=np.zeros(mon, dtype=np.int64),
            unresolved=np.zeros(env, dtype=np.bool_),
            seen_reward=np.full(env, r_min),
            n_mon=np.zeros(mon, dtype=np.int64),
            mon_sum=np.zeros(mon),
            mon=no_successors(np.full(n_sm * n_am, n_sm)),
            stay=np.zeros(mon),
            weight=np.zeros(mon),
            shown=np.zeros(mon, dtype=np.int64),
            tries=np.zeros(mon, dtype=np.int64),
            hits=np.zeros(mon, dtype=np.int64),
            joint=no_successors(of_joint),
            evidence_env=np.zeros(env),
            evidence=np.zeros(joint),
            own=np.zeros(joint, dtype=np.bool_),
            alone=np.full(env, not self.factored),
            novel=np.zeros(BINS, dtype=np.int64),
            looked=np.zeros(BINS, dtype=np.int64),
            fruitless=np.zeros(env),
            omega=np.zeros(env),
            aim_env=np.zeros(env, dtype=np.bool_),
            aim_mon=np.zeros(mon, dtype=np.bool_),
            reward=np.zeros(joint),
            v_likely=np.full(joint[0], self.r_max),
            v_possible=np.full(joint[0], self.r_max / (1 - self.gamma)),
            v_obs=np.zeros(joint[0]),
            v_low=np.full(joint[0], r_min / (1 - self.gamma)),
            q_hope=np.full(joint, self.r_max),
            q_obs=np.zeros(joint),
            q_net=np.full(joint, 1 / (1 - self.gamma)),
            tried=np.zeros(joint, dtype=np.bool_),
            untried=np.ones(joint, dtype=np.bool_),
        )

    def with_room(self, state: State, s: int, a: int, next_s: int) -> State:
        """Return a state with room for one more successor."""
        n_sm, n_am = state.n_mon.shape
        pair = (s // n_sm) * state.n_env.shape[1] + a // n_am
        before, used = int(state.env.first[pair]), int(state.env.used[pair])
        env = with_room(state.env, pair, next_s // n_sm)
        after, room = int(env.first[pair]), len(env.state) - len(state.sights)
        sights = np.append(state.sights, np.zeros(room, dtype=np.int64))
        sight_sum = np.append(state.sight_sum, np.zeros(room))
        if after != before:
            for column in (sights, sight_sum):
                column[after : after + used] = column[before : before + used]
                column[before : before + used] = 0
        joint = with_room(state.joint, s * state.n.shape[1] + a, next_s)
        return state._replace(env=env, joint=joint, sights=sights, sight_sum=sight_sum)


class Parameters(NamedTuple):
    gamma: float
    r_min: float
    r_max: float
    typical: float
    factored: bool
    endings: bool
    aims: bool
    novelty: bool
    aside: float
    unseen_cost: float
    path: float
    gamma_obs: float
    give_up: float
    revive: float
    patience: float
    caution: float
    rho_cap: float
    precision: float
    prior: float
    evidence: float
    beta_kl: float
    beta_obs: float
    net: float
    net_after: float
    bored: int
    replan: int
    sweeps: int


class State(NamedTuple):
    parameters: Parameters
    clock: IntArray
    """k, net?, steps since plan, news, first act, stage"""
    n: IntArray
    n_state: IntArray
    n_start: IntArray
    n_env: IntArray
    n_seen: IntArray
    env: Successors
    sights: IntArray
    sight_sum: FloatArray
    noise: FloatArray
    votes: FloatArray
    n_pool: IntArray
    unresolved: BoolArray
    seen_reward: FloatArray
    n_mon: IntArray
    mon_sum: FloatArray
    mon: Successors
    stay: FloatArray
    weight: FloatArray
    shown: IntArray
    tries: IntArray
    hits: IntArray
    joint: Successors
    evidence_env: FloatArray
    evidence: FloatArray
    own: BoolArray
    alone: BoolArray
    novel: IntArray
    looked: IntArray
    fruitless: FloatArray
    omega: FloatArray
    aim_env: BoolArray
    aim_mon: BoolArray
    reward: FloatArray
    v_likely: FloatArray
    v_possible: FloatArray
    v_obs: FloatArray
    v_low: FloatArray
    q_hope: FloatArray
    q_obs: FloatArray
    q_net: FloatArray
    tried: BoolArray
    untried: BoolArray


K, NET, SINCE, NEWS, FIRST, STAGE, IDLE, DONE = 0, 1, 2, 3, 4, 5, 6, 7


def begin_episode(agent: State, rng: np.random.Generator) -> bool:
    p, clock = agent.parameters, agent.clock
    clock[K] += 1
    clock[FIRST] = 1
    k = clock[K]
    _plan(agent)
    net = p.net > 0 and math.floor(k**p.net) > math.floor((k - 1) ** p.net)
    clock[IDLE] += 1
    if clock[STAGE] == 3:
        clock[DONE] += 1
        j = clock[DONE]
        net = net or math.floor(j**p.net_after) > math.floor((j - 1) ** p.net_after)
    elif clock[IDLE] > p.bored:
        net = net or clock[IDLE] % 2 == 0
    clock[NET] = net and p.net > 0
    if clock[NET]:
        _plan_net(agent)
    return clock[NET] > 0 or clock[STAGE] < 3


def act(agent: State, s: int, rng: np.random.Generator) -> int:
    clock = agent.clock
    if clock[FIRST]:
        agent.n_start[s] += 1
        clock[FIRST] = 0
    if clock[NET]:
        return greedy_action(agent.q_net, s, rng.random())
    q = agent.q_obs if clock[STAGE] < 3 else agent.q_hope
    return greedy_action(q, s, rng.random())


def update(
    agent: State,
    s: int,
    a: int,
    shown: bool,
    reward: float,
    monitor_reward: float,
    next_s: int,
    terminated: bool,
) -> None:
    p, clock = agent.parameters, agent.clock
    n_sm, n_am = agent.n_mon.shape
    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
    next_se, next_sm = next_s // n_sm, next_s % n_sm
    x, y, c = se * agent.n_env.shape[1] + ae, sm * n_am + am, s * agent.n.shape[1] + a
    news = agent.n_env[se, ae] == 0 or agent.n_mon[sm, am] == 0
    # Evidence that the cell has dynamics of its own.
    is_new = find_slot(agent.env, x, next_se) == agent.env.first[x] + agent.env.used[x]
    if agent.n_mon[sm, am] > 0:
        of_env = 1.0  # an outcome that is new says nothing of how the factors go together
        if not is_new:
            of_env = agent.env.visits[find_slot(agent.env, x, next_se)] / agent.n_env[se, ae]
        total, here, n_others = 0.0, 0, agent.n_pool[sm, am]
        for m in range(n_sm):
            total += agent.votes[sm, am, m]
        of_mon = (agent.votes[sm, am, next_sm] + 0.5 / n_sm) / (total + 0.5)
        for j in range(agent.joint.first[c], agent.joint.first[c] + agent.joint.used[c]):
            if agent.joint.state[j] % n_sm == next_sm:
                here += agent.joint.visits[j]
        slot, others = find_slot(agent.mon, y, next_sm), 0
        if slot < agent.mon.first[y] + agent.mon.used[y]:
            others = agent.mon.visits[slot]
        if not agent.own[s, a]:
            others -= here
            n_others -= agent.n[s, a]
        of_mon = max(of_mon, (others + 0.5 / n_sm) / (n_others + 0.5))
        product = of_env * of_mon
        base = 0.5 * product + 0.5 * of_env / n_sm
        slot = find_slot(agent.joint, c, next_s)
        n_slot = 0
        if slot < agent.joint.first[c] + agent.joint.used[c]:
            n_slot = agent.joint.visits[slot]
        ratio = math.log((n_slot + p.prior * base) / ((agent.n[s, a] + p.prior) * product))
        agent.evidence[s, a] = max(-3.0, agent.evidence[s, a] + ratio)
        agent.evidence_env[se, ae] = max(-3.0, agent.evidence_env[se, ae] + ratio)
    if agent.n[s, a] < 2:
        agent.votes[sm, am, next_sm] += 1.0
    # Chance of something new.
    if agent.n_env[se, ae] > 0:
        b = _bin(agent.n_env[se, ae])
        agent.looked[b] += 1
        if is_new:
            agent.novel[b] += 1
            news = True
    agent.n[s, a] += 1
    agent.n_state[s] += 1
    agent.n_env[se, ae] += 1
    agent.n_mon[sm, am] += 1
    agent.mon_sum[sm, am] += monitor_reward
    count_successor(agent.env, x, agent.n_env[se, ae], next_se, terminated, p.gamma)
    count_successor(agent.joint, c, agent.n[s, a], next_s, terminated, p.gamma)
    j = find_slot(agent.env, x, next_se)
    if agent.sights[j] > 0:
        agent.tries[sm, am] += 1
        agent.hits[sm, am] += shown
    if shown:
        k = agent.sights[j]
        if k > 0:
            d = reward - agent.sight_sum[j] / k
            agent.noise[0] += d * d * k / (k + 1)
            agent.noise[1] += 1
        news = news or k == 0
        agent.sights[j] += 1
        agent.sight_sum[j] += reward
        agent.n_seen[se, ae] += 1
        agent.shown[sm, am] += 1
    n_known, total = 0, 0.0
    for i in range(agent.env.first[x], agent.env.first[x] + agent.env.used[x]):
        if agent.sights[i] > 0:
            n_known += agent.env.visits[i]
            total += agent.env.visits[i] * agent.sight_sum[i] / agent.sights[i]
    if n_known > 0:
        agent.seen_reward[se, ae] = total / n_known
    if not agent.own[s, a]:
        _pool(agent, y, next_sm, 1)
    alone = not p.factored or agent.evidence_env[se, ae] > p.evidence
    own = alone or agent.evidence[s, a] > p.evidence
    if alone != agent.alone[se, ae] or own != agent.own[s, a]:
        agent.alone[se, ae] = alone
        for m in range(n_sm):
            for b in range(n_am):
                t, d = se * n_sm + m, ae * n_am + b
                own = alone or agent.evidence[t, d] > p.evidence
                if own != agent.own[t, d]:
                    agent.own[t, d] = own
                    c = t * agent.n.shape[1] + d
                    for j in range(agent.joint.first[c], agent.joint.first[c] + agent.joint.used[c]):
                        n = agent.joint.visits[j]
                        _pool(agent, m * n_am + b, agent.joint.state[j] % n_sm, -n if own else n)
        news = True
    clock[SINCE] += 1
    if news:
        clock[NEWS] = 1
        clock[IDLE] = 0
    if (
        not terminated
        and not clock[NET]
        and p.replan > 0
        and (clock[NEWS] or clock[SINCE] >= p.replan)
    ):
        _plan(agent)


@compilable
def _pool(agent: Any, y: int, next_sm: int, n: int) -> None:
    """Count n moves of the monitor, or take them back."""
    mon = agent.mon
    n_am = agent.n_mon.shape[1]
    sm, am = y // n_am, y % n_am
    slot = find_slot(mon, y, next_sm)
    if slot == mon.first[y] + mon.used[y]:
        mon.state[slot] = next_sm
        mon.used[y] += 1
    mon.visits[slot] += n
    agent.n_pool[sm, am] += n
    agent.stay[sm, am] = 0.0
    if agent.n_pool[sm, am] > 0:
        for j in range(mon.first[y], mon.first[y] + mon.used[y]):
            mon.land[j] = mon.visits[j] / agent.n_pool[sm, am]
            if mon.state[j] == sm:
                agent.stay[sm, am] = mon.land[j]


@compilable
def _bin(n: int) -> int:
    return min(int(math.log2(n)), BINS - 1)


@compilable
def _rho_low(k: int, m: int, z: float) -> float:
    """Wilson's lower bound."""
    if m == 0 or k == 0:
        return 0.0
    p, c = k / m, z * z / m
    return max(0.0, (p + c / 2 - z * math.sqrt(p * (1 - p) / m + c / (4 * m))) / (1 + c))


@compilable
def _beliefs(agent: Any) -> None:
    p = agent.parameters
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    for sm in range(n_sm):
        for am in range(n_am):
            low = _rho_low(agent.hits[sm, am], agent.tries[sm, am], p.caution)
            agent.weight[sm, am] = -math.log(1.0 - min(low, p.rho_cap))
    need = _needed(agent)
    give_up = p.give_up + p.revive * math.log(1.0 + agent.clock[DONE])
    omega = np.zeros(BINS)
    if p.novelty:
        for b in range(BINS):
            omega[b] = (agent.novel[b] + 0.5) / (agent.looked[b] + 1.0)
    for se in range(n_se):
        for ae in range(n_ae):
            n = agent.n_env[se, ae]
            alone = n == 0 or agent.alone[se, ae]
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    agent.untried[s, a] = agent.n[s, a] == 0 and (
                        alone or agent.n_pool[sm, am] == 0
                    )
            agent.fruitless[se, ae] = 0.0
            agent.omega[se, ae] = 0.0
            if n > 0:
                agent.omega[se, ae] = omega[_bin(n)] / (n / 2.0 ** _bin(n))
                x, open_ = se * n_ae + ae, False
                for j in range(agent.env.first[x], agent.env.first[x] + agent.env.used[x]):
                    open_ = open_ or agent.sights[j] < need
                if open_:
                    e = 0.0
                    for sm in range(n_sm):
                        for am in range(n_am):
                            e += agent.n[se * n_sm + sm, ae * n_am + am] * agent.weight[sm, am]
                    agent.fruitless[se, ae] = e / n
                    open_ = False
                    for j in range(agent.env.first[x], agent.env.first[x] + agent.env.used[x]):
                        if agent.sights[j] < need and (agent.sights[j] > 0 or e / n * agent.env.visits[j] <= give_up):
                            open_ = True
                agent.unresolved[se, ae] = open_


@compilable
def _needed(agent: Any) -> int:
    """Sights that an outcome's reward needs to be known."""
    if agent.noise[0] <= 1e-12:
        return 1
    variance = agent.noise[0] / agent.noise[1]
    return 1 + math.ceil(math.log(agent.clock[K] + 2.0) * variance / agent.parameters.precision**2)


@compilable
def _hopeful(agent: Any, stage: int) -> float:
    """Fill reward[s, a] with what is likely (stage 1) or possible (2); return the unknown."""
    p = agent.parameters
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    pin = p.r_max if stage == 1 else p.r_max / (1.0 - p.gamma)
    give_up = p.give_up + p.revive * math.log(1.0 + agent.clock[DONE])
    for se in range(n_se):
        for ae in range(n_ae):
            n, of_env, x = agent.n_env[se, ae], 0.0, se * n_ae + ae
            if n > 0:
                known = agent.seen_reward[se, ae]
                for j in range(agent.env.first[x], agent.env.first[x] + agent.env.used[x]):
                    m = agent.env.visits[j]
                    if agent.sights[j] > 0:
                        of_env += m * agent.sight_sum[j] / agent.sights[j]
                    elif agent.fruitless[se, ae] * m > give_up:
                        of_env += m * known
                    elif stage == 2:
                        of_env += m * p.r_max
                    else:
                        ended = agent.env.ended[j] if p.endings else 0
                        e = agent.fruitless[se, ae] * m
                        cost = p.unseen_cost * (1.0 + math.exp(e - p.patience))
                        of_env += ended * p.r_max + (m - ended) * p.typical - m * cost
                of_env /= n
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a, m = se * n_sm + sm, ae * n_am + am, agent.n_mon[sm, am]
                    if agent.untried[s, a]:
                        hopeless = stage == 1 and n > 0 and not agent.alone[se, ae]
                        agent.reward[s, a] = LOW if hopeless else pin
                    else:
                        agent.reward[s, a] = of_env + agent.mon_sum[sm, am] / m
    return pin


@compilable
def _pessimistic(agent: Any, reward: FloatArray) -> None:
    p = agent.parameters
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    pin = p.r_min / (1.0 - p.gamma)
    for se in range(n_se):
        for ae in range(n_ae):
            n = agent.n_env[se, ae]
            of_env = agent.seen_reward[se, ae]
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a, m = se * n_sm + sm, ae * n_am + am, agent.n_mon[sm, am]
                    if agent.untried[s, a]:
                        reward[s, a] = pin - 1.0
                    else:
                        reward[s, a] = of_env + agent.mon_sum[sm, am] / m


@compilable
def _lure(agent: Any) -> None:
    """Fill reward[s, a] with what observing promises."""
    p = agent.parameters
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    pin = 1.0 / (1.0 - p.gamma_obs)
    for se in range(n_se):
        for ae in range(n_ae):
            n = agent.n_env[se, ae]
            w = p.aside
            if agent.aim_env[se, ae] or not p.aims:
                x, w = se * n_ae + ae, p.path
                if n == 0 or agent.env.may_end[x] or agent.clock[STAGE] == 2:
                    w = 1.0
            hope = 0.0
            if n > 0 and agent.unresolved[se, ae]:
                hope = w
                if not agent.aim_env[se, ae]:
                    hope /= 1.0 + math.exp(agent.fruitless[se, ae] * n - p.patience)
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a, m = se * n_sm + sm, ae * n_am + am, agent.n_mon[sm, am]
                    rho = (agent.shown[sm, am] + 1.0) / (m + 2.0)
                    if agent.untried[s, a]:
                        v = 1.0
                        if n > 0 and not agent.alone[se, ae] and p.aims and not agent.aim_mon[sm, am]:
                            v = p.aside
                        agent.reward[s, a] = pin * v + rho
                    else:
                        stale = agent.n[s, a] * agent.weight[sm, am]
                        agent.reward[s, a] = hope * rho / (1.0 + stale) + p.aside * agent.omega[se, ae]


@compilable
def _solve(
    agent: Any,
    reward: FloatArray,
    doubt: float,
    restart: bool,
    cold: float,
    v: FloatArray,
    q: FloatArray,
    sweeps: int,
    tolerance: float,
) -> None:
    """Gauss-Seidel sweeps to and fro; with `doubt`, ω of the time what is unknown follows."""
    p = agent.parameters
    env, mon, joint = agent.env, agent.mon, agent.joint
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    n_y, n_a = n_sm * n_am, n_ae * n_am
    after = np.zeros((n_se, n_y))
    if cold <= 0.0:
        for s in range(len(v)):
            v[s] = cold
    acc, best = np.empty(n_y), np.empty(n_sm)
    for se in range(n_se):
        for y in range(n_y):
            t = 0.0
            for j in range(mon.first[y], mon.first[y] + mon.used[y]):
                t += mon.land[j] * v[se * n_sm + mon.state[j]]
            after[se, y] = t
    scale = p.gamma_obs / p.gamma if restart else 1.0
    starts = 0
    for s in range(len(v)):
        starts += agent.n_start[s]
    sweep, write = 0, False
    while True:
        change = 0.0
        again = 0.0
        if restart and starts > 0:
            for s in range(len(v)):
                if agent.n_start[s] > 0:
                    again += agent.n_start[s] * v[s]
            again /= starts
        for i in range(n_se):
            se = i if sweep % 2 == 0 else n_se - 1 - i
            for sm in range(n_sm):
                best[sm] = LOW
            for ae in range(n_ae):
                x = se * n_ae + ae
                if agent.n_env[se, ae] == 0:
                    for sm in range(n_sm):
                        s = se * n_sm + sm
                        for a in range(ae * n_am, (ae + 1) * n_am):
                            best[sm] = max(best[sm], reward[s, a])
                            if write:
                                q[s, a] = reward[s, a]
                    continue
                omega = agent.omega[se, ae] if doubt != 0.0 else 0.0
                add = omega * p.gamma * doubt
                self_w, back = 0.0, 0.0
                for y in range(n_y):
                    acc[y] = 0.0
                for j in range(env.first[x], env.first[x] + env.used[x]):
                    w = env.go_on[j]
                    back += env.land[j] - w
                    if env.state[j] == se:
                        self_w += w
                    if w > 0.0:
                        for y in range(n_y):
                            acc[y] += w * after[env.state[j], y]
                back *= again
                for sm in range(n_sm):
                    s = se * n_sm + sm
                    for am in range(n_am):
                        a, y = ae * n_am + am, sm * n_am + am
                        if agent.untried[s, a]:
                            best[sm] = max(best[sm], reward[s, a])
                            if write:
                                q[s, a] = reward[s, a]
                            continue
                        if agent.own[s, a] and agent.n[s, a] > 0:
                            c = s * n_a + a
                            to_self, future = 0.0, 0.0
                            for j in range(joint.first[c], joint.first[c] + joint.used[c]):
                                w = joint.go_on[j]
                                future += w * v[joint.state[j]] + (joint.land[j] - w) * again
                                if joint.state[j] == s:
                                    to_self += w
                        else:
                            to_self, future = self_w * agent.stay[sm, am], acc[y] + back
                        to_self *= (1.0 - omega) * scale
                        total = reward[s, a] + add + (1.0 - omega) * scale * future
                        if write:
                            q[s, a] = total
                        best[sm] = max(best[sm], (total - to_self * v[s]) / (1.0 - to_self))
            for sm in range(n_sm):
                s = se * n_sm + sm
                change = max(change, abs(best[sm] - v[s]))
                v[s] = best[sm]
            for y in range(n_y):
                t = 0.0
                for j in range(mon.first[y], mon.first[y] + mon.used[y]):
                    t += mon.land[j] * v[se * n_sm + mon.state[j]]
                after[se, y] = t
        if write:
            break
        sweep += 1
        write = change <= tolerance or sweep >= sweeps


@compilable
def _take_aim(agent: Any) -> bool:
    """Mark what is unresolved on the way of the hopeful policy; return whether there is any."""
    env, mon, joint = agent.env, agent.mon, agent.joint
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    n_s, n_a = agent.n.shape
    agent.aim_env[:] = False
    agent.aim_mon[:] = False
    reached, stack, size, found = np.zeros(n_s, np.bool_), np.empty(n_s, np.int64), 0, False
    for s in range(n_s):
        if agent.n_start[s] > 0:
            reached[s] = True
            stack[size] = s
            size += 1
    while size > 0:
        size -= 1
        s = stack[size]
        a = 0
        for b in range(1, n_a):
            if agent.q_hope[s, b] > agent.q_hope[s, a] + 1e-10:
                a = b
        se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
        if agent.untried[s, a]:
            agent.aim_env[se, ae] = True
            agent.aim_mon[sm, am] = True
            found = True
            continue
        if agent.unresolved[se, ae]:
            agent.aim_env[se, ae] = True
            found = True
        if agent.own[s, a] and agent.n[s, a] > 0:
            c = s * n_a + a
            for j in range(joint.first[c], joint.first[c] + joint.used[c]):
                t = joint.state[j]
                if joint.go_on[j] > 0.0 and not reached[t]:
                    reached[t] = True
                    stack[size] = t
                    size += 1
        else:
            x, y = se * n_ae + ae, sm * n_am + am
            for j in range(env.first[x], env.first[x] + env.used[x]):
                if env.go_on[j] > 0.0:
                    for i in range(mon.first[y], mon.first[y] + mon.used[y]):
                        t = env.state[j] * n_sm + mon.state[i]
                        if not reached[t]:
                            reached[t] = True
                            stack[size] = t
                            size += 1
    return found


@compilable
def _plan(agent: Any) -> None:
    p, clock = agent.parameters, agent.clock
    cold = p.r_min / (1.0 - p.gamma) if clock[NEWS] else 1.0
    clock[SINCE], clock[NEWS] = 0, 0
    _beliefs(agent)
    stage = 1
    if p.endings:
        pin = _hopeful(agent, 1)
        _solve(agent, agent.reward, pin, False, cold, agent.v_likely, agent.q_hope, p.sweeps, 1e-4)
        if not _take_aim(agent):
            stage = 2
    else:
        stage = 2
    if stage == 2:
        pin = _hopeful(agent, 2)
        _solve(agent, agent.reward, pin, False, cold, agent.v_possible, agent.q_hope, p.sweeps, 1e-4)
        if not _take_aim(agent):
            stage = 3
    clock[STAGE] = stage
    if stage < 3:
        _lure(agent)
        _solve(agent, agent.reward, 0.0, True, 0.0, agent.v_obs, agent.q_obs, p.sweeps, 1e-4)


@compilable
def _plan_net(agent: Any) -> None:
    """Monitored MBIE-EB's observe episode."""
    p = agent.parameters
    n_sm, n_am = agent.n_mon.shape
    for s in range(agent.n.shape[0]):
        if agent.n_state[s] > 0:
            g = growth_of(agent.n_state[s], 0)
            for a in range(agent.n.shape[1]):
                n = agent.n[s, a]
                if n > 0:
                    agent.tried[s, a] = True
                    agent.reward[s, a] = p.beta_obs * math.sqrt(g / n)
                    if agent.n_seen[s // n_sm, a // n_am] == 0:
                        agent.reward[s, a] += 1.0 - math.exp(-p.beta_kl * g / n)
    value_iteration(agent.joint, agent.tried, False, agent.reward, p.gamma, 50, agent.q_net)


def test_policy(agent: State, policy: FloatArray) -> None:
    _beliefs(agent)
    reward = np.empty(agent.n.shape)
    q = np.empty(agent.n.shape)
    _pessimistic(agent, reward)
    _solve(agent, reward, 0.0, False, 1.0, agent.v_low, q, 50, 1e-9)
    greedy_policy(q, policy)


implement(State, begin_episode=begin_episode, act=act, update=update, test_policy=test_policy)
