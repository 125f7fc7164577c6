"""Monitored MBIE-EB when the monitor is known: pᵐ, rᵐ and the chance to see a reward are given.

Only rᵉ and pᵉ are left to learn. N_v(sᵉ,aᵉ) counts all visits, N(sᵉ,aᵉ) those whose reward was
shown, and P̄ᵉ is pooled over the monitor. With p = P̄ᵉ ⊗ pᵐ

    R_basic(s,a) = R̄ᵉ + βᵉ√(g(N(sᵉ))/N(sᵉ,aᵉ)) + rᵐ + β√(g(N_v(sᵉ))/N_v(sᵉ,aᵉ))
    R_opt(s,a)   = R_basic where N(sᵉ,aᵉ) > 0, else r_min in place of the two terms of rᵉ
    R_obs(s,a)   = 1{N(sᵉ,aᵉ) = 0} P(rᵉ is shown | s,a) + β√(g(N_v(sᵉ))/N_v(sᵉ,aᵉ))

and everything else is as when it is unknown (`monitored_mbie_eb`). P(rᵉ is shown | s,a) is the true
chance, over all outcomes of the pair: that some pairs lead to ⊥ is known too. A monitor that looks
at the reward to decide, Semi-Random, would give rᵉ away and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents import layers
from monmdp.agents.base import tried_with
from monmdp.agents.observe_or_optimize import (
    SCHEDULE,
    ObserveOrOptimize,
    act,
    observes,
    test_policy,
)
from monmdp.agents.planner import GROWTH, growth_of
from monmdp.agents.successors import Successors, count_successor, no_successors, with_room
from monmdp.agents.value_iteration import LOW
from monmdp.compiling import compilable, implement
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.monmdp import Shape
from monmdp.planning.factors import factors


@dataclass(frozen=True, kw_only=True)
class KnownMonitor(ObserveOrOptimize):
    """Monitored MBIE-EB that is given the monitor, and its hyper-parameters."""

    name: ClassVar[str] = "known-monitor"
    snapshot_fields: ClassVar[tuple[str, ...]] = ("n", "n_env", "q_opt", "q_obs")
    pools_visits: ClassVar[bool] = True

    @property
    def needs_model(self) -> bool:
        """Whether the agent is given the monitor: it always is."""
        return True

    def check_model(self, model: MonMDP | None) -> None:
        """Demand the monitor, and one that does not give the reward away."""
        if model is None:
            raise MonMDPError(
                "agent 'known-monitor' must be given the monitor: it takes a MonMDP or one of its "
                "environments, not an environment without a model"
            )
        if model.monitor.reads_reward:
            raise MonMDPError(
                f"agent 'known-monitor' is not offered for monitor {model.monitor.name!r}: whether "
                "it shows a reward depends on the reward, so to know the monitor is to know rᵉ"
            )

    def state(self, shape: Shape, r_min: float, model: MonMDP | None = None) -> State:
        """Return the state of an agent that knows the monitor and nothing else."""
        self.check_model(model)
        assert model is not None
        n_se, n_sm, n_ae, n_am = shape
        joint, env = (n_se * n_sm, n_ae * n_am), (n_se, n_ae)
        capacity, _ = tried_with(shape, model)
        rows = factors(model)
        return State(
            parameters=Parameters(
                gamma=self.gamma,
                beta=self.beta,
                beta_e=self.beta_e,
                growth=GROWTH[self.growth],
                schedule=SCHEDULE[self.schedule],
                log_base=self.log_base,
                kappa_star=0.0 if self.kappa_star is None else self.kappa_star,
                sweeps=self.sweeps,
                r_min=r_min,
            ),
            row=np.array(rows.row),
            row_of=np.array(rows.row_of, dtype=np.int64),
            pair_class=np.array(model.pair_class),
            monitor_reward=np.array(model.monitor.reward),
            shown=model.observability(),
            episodes=np.zeros(3, dtype=np.int64),
            n=np.zeros(env, dtype=np.int64),
            n_state=np.zeros(n_se, dtype=np.int64),
            n_env=np.zeros(env, dtype=np.int64),
            n_env_state=np.zeros(n_se, dtype=np.int64),
            env_sum=np.zeros(env),
            successors=no_successors(capacity),
            r_opt=np.zeros(joint),
            r_obs=np.zeros(joint),
            q_opt=np.full(joint, self.q_opt_init),
            q_obs=np.full(joint, self.q_obs_init),
        )

    def with_room(self, state: State, s: int, a: int, next_s: int) -> State:
        """Return a state with room for a successor that the model does not know of."""
        n_sm, n_am = state.monitor_reward.shape
        pair = (s // n_sm) * state.n.shape[1] + a // n_am
        return state._replace(successors=with_room(state.successors, pair, next_s // n_sm))

    def layers(self, snapshot: Mapping[str, Any], monmdp: MonMDP) -> layers.Layers:
        """Return what one snapshot says of the cells of a map.

        Visits are N_v(sᵉ,aᵉ), whatever the monitor did. It knows what can be seen: its hope is the
        true chance, and what no monitor state and action shows is known to be so from the start.
        """
        shape = monmdp.shape
        n, n_env = snapshot["n"], snapshot["n_env"]
        seen = layers.everywhere(n_env, shape)
        chance = layers.by_parts(monmdp.observability(), shape)
        never = layers.everywhere(chance.max(axis=(1, 3)) == 0, shape)
        unseen = np.where(never > 0, layers.NEVER_SHOWN, layers.UNKNOWN)
        of_env, of_move = (
            layers.confidence(layers.growth(count.sum(axis=1, keepdims=True), self.growth), count)
            for count in (n_env, n)
        )
        with np.errstate(invalid="ignore"):  # 0 · ∞, where a β is 0
            bonus = np.where(n_env > 0, self.beta_e * of_env, 0.0) + self.beta * of_move
        bonus[n == 0] = np.inf  # whatever β is, its value is pinned
        # A pair tried in the running episode has its first value only at the next planning.
        tried = np.repeat(np.repeat(n > 0, shape[1], axis=0), shape[3], axis=1)
        learnt = layers.by_parts(tried & (snapshot["q_opt"] != self.q_opt_init), shape) > 0
        return {
            "visits": layers.everywhere(n, shape),
            "seen": seen,
            "status": np.where(seen > 0, layers.SEEN, unseen).astype(np.float64),
            "hope": np.where(seen > 0, 0.0, chance.max(axis=-1)),
            **layers.best(snapshot, ("q_opt", "q_obs"), shape),
            "bonus": layers.largest(layers.everywhere(bonus, shape)[..., None]),
            "pinned": layers.pinned(learnt, layers.by_parts(tried, shape) > 0),
            **layers.followed(snapshot, shape),
        }


class Parameters(NamedTuple):
    """The hyper-parameters as compiled code reads them."""

    gamma: float
    beta: float
    beta_e: float
    growth: int
    schedule: int
    log_base: float
    kappa_star: float
    sweeps: int
    r_min: float


class State(NamedTuple):
    """All that the agent knows: the monitor from the start, the rest by and by."""

    parameters: Parameters
    row: FloatArray
    """[u, s′ᵐ] the distinct rows of pᵐ"""
    row_of: IntArray
    """[class, sᵐ, aᵐ] u"""
    pair_class: IntArray
    """[env pair] class"""
    monitor_reward: FloatArray
    """[sᵐ, aᵐ] rᵐ"""
    shown: FloatArray
    """[s, a] P(rᵉ is shown | s,a)"""
    episodes: IntArray
    """[3] k, κ, and whether the running episode observes"""
    n: IntArray
    """[sᵉ, aᵉ] N_v(sᵉ,aᵉ), all visits"""
    n_state: IntArray
    """[sᵉ] N_v(sᵉ)"""
    n_env: IntArray
    """[sᵉ, aᵉ] N(sᵉ,aᵉ), visits whose reward was shown"""
    n_env_state: IntArray
    """[sᵉ] N(sᵉ)"""
    env_sum: FloatArray
    """[sᵉ, aᵉ] sum of the rewards shown; R̄ᵉ = env_sum / n_env"""
    successors: Successors
    """of environment pairs: P̄ᵉ"""
    r_opt: FloatArray
    """[s, a] R_opt before the running episode, of pairs that were tried"""
    r_obs: FloatArray
    """[s, a] R_obs likewise"""
    q_opt: FloatArray
    """[s, a]"""
    q_obs: FloatArray
    """[s, a]"""


def begin_episode(agent: State, rng: np.random.Generator) -> bool:
    """Choose between observing and optimizing, and plan; return whether it observes."""
    p, episodes = agent.parameters, agent.episodes
    episodes[0] += 1
    observe = observes(episodes[0], episodes[1], p.schedule, p.log_base, p.kappa_star)
    _models(agent)
    _value_iteration(agent, True, agent.r_opt, agent.q_opt)
    if observe:
        _value_iteration(agent, False, agent.r_obs, agent.q_obs)
        episodes[1] += 1
    episodes[2] = observe
    return observe


@compilable
def _models(agent: Any) -> None:
    """R_opt(s,a) and R_obs(s,a) of the pairs that were tried; the values of others are pinned."""
    p = agent.parameters
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.monitor_reward.shape
    for se in range(n_se):
        for ae in range(n_ae):
            n, n_e = agent.n[se, ae], agent.n_env[se, ae]
            if n == 0:
                continue
            bonus = p.beta * math.sqrt(growth_of(agent.n_state[se], p.growth) / n)
            of_env = p.r_min
            if n_e > 0:
                g = growth_of(agent.n_env_state[se], p.growth)
                of_env = agent.env_sum[se, ae] / n_e + p.beta_e * math.sqrt(g / n_e)
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    agent.r_opt[s, a] = of_env + agent.monitor_reward[sm, am] + bonus
                    agent.r_obs[s, a] = bonus
                    if n_e == 0:
                        agent.r_obs[s, a] += agent.shown[s, a]


@compilable
def _value_iteration(agent: Any, endings: bool, reward: FloatArray, q: FloatArray) -> None:
    """Sweep synchronously on P̄ᵉ ⊗ pᵐ until nothing changes, at most `sweeps` times.

    With y(sᵉ, u) = Σ row[u, s′ᵐ] V(sᵉ, s′ᵐ) for the distinct monitor rows u, one sum over the
    successors of an environment pair serves all monitor states and actions:
    Q(s,a) = R(s,a) + γ Σ P̄ᵉ(s′ᵉ) y(s′ᵉ, u(sᵐ,aᵐ)). With `endings`, visits that ended the episode
    have no future; else it goes on where they landed.
    """
    slots, row, row_of = agent.successors, agent.row, agent.row_of
    weight = slots.go_on if endings else slots.land
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.monitor_reward.shape
    n_u = len(row)
    v, y, z = np.empty(n_sm), np.empty((n_se, n_u)), np.empty(n_u)
    for sweep in range(agent.parameters.sweeps + 1):
        # Sweep 0 is there to find V and y of the values that we start from.
        changed = False
        new_y = np.empty((n_se, n_u))
        for se in range(n_se):
            for sm in range(n_sm):
                v[sm] = LOW
            for ae in range(n_ae):
                pair = se * n_ae + ae
                tried = sweep > 0 and slots.used[pair] > 0
                c = agent.pair_class[pair]
                if tried:
                    for u in range(n_u):
                        z[u] = 0.0
                    for j in range(slots.first[pair], slots.first[pair] + slots.used[pair]):
                        for u in range(n_u):
                            z[u] += weight[j] * y[slots.state[j], u]
                for sm in range(n_sm):
                    s = se * n_sm + sm
                    for a in range(ae * n_am, (ae + 1) * n_am):
                        if tried:
                            x = reward[s, a] + z[row_of[c, sm, a - ae * n_am]]
                            changed |= x != q[s, a]
                            q[s, a] = x
                        v[sm] = max(v[sm], q[s, a])
            for u in range(n_u):
                new_y[se, u] = 0.0
                for sm in range(n_sm):
                    new_y[se, u] += row[u, sm] * v[sm]
        y = new_y
        if sweep > 0 and not changed:
            break


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
    """Count; of the monitor there is nothing to learn."""
    n_sm, n_am = agent.monitor_reward.shape
    se, ae, next_se = s // n_sm, a // n_am, next_s // n_sm
    agent.n[se, ae] += 1
    agent.n_state[se] += 1
    if shown:
        agent.n_env[se, ae] += 1
        agent.n_env_state[se] += 1
        agent.env_sum[se, ae] += reward
    pair, gamma = se * agent.n.shape[1] + ae, agent.parameters.gamma
    count_successor(agent.successors, pair, agent.n[se, ae], next_se, terminated, gamma)


implement(State, begin_episode=begin_episode, act=act, update=update, test_policy=test_policy)
