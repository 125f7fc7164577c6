"""Monitored MBIE-EB: explore with bonuses, be pessimistic about what was never seen, and observe.

With counts N (of joint pairs, of monitor pairs, and of environment pairs *whose reward was shown*),
means R̄ and relative frequencies P̄, three models share P̄:

    R_basic(s,a) = R̄ᵉ + βᵉ√(g(N(sᵉ))/N(sᵉ,aᵉ)) + R̄ᵐ + βᵐ√(g(N(sᵐ))/N(sᵐ,aᵐ)) + β√(g(N(s))/N(s,a))
    R_opt(s,a)   = R_basic where N(sᵉ,aᵉ) > 0, else r_min in place of the two environment terms
    R_obs(s,a)   = 1{N(sᵉ,aᵉ) = 0} KL-UCB(0, N(s,a)) + β_obs√(g(N(s))/N(s,a))

Before every episode Q_opt is improved by 50 sweeps of value iteration on R_opt; before an *observe*
episode so is Q_obs on R_obs. Episode k observes iff κ ≤ log_b k, κ being the number of episodes
that did so far. Actions are greedy on Q_obs or Q_opt, which stay fixed for the episode; pairs that
were never tried are pinned at their optimistic initial values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents import layers
from monmdp.agents.base import at_least_zero, tried_with
from monmdp.agents.observe_or_optimize import (
    SCHEDULE,
    ObserveOrOptimize,
    act,
    observes,
    test_policy,
)
from monmdp.agents.planner import GROWTH, growth_of
from monmdp.agents.successors import Successors, count_successor, no_successors, with_room
from monmdp.agents.value_iteration import value_iteration
from monmdp.compiling import compilable, implement
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.monmdp import Shape


@dataclass(frozen=True, kw_only=True)
class MonitoredMBIEEB(ObserveOrOptimize):
    """Monitored MBIE-EB, the paper's algorithm, and its hyper-parameters."""

    name: ClassVar[str] = "monitored-mbie-eb"
    snapshot_fields: ClassVar[tuple[str, ...]] = (
        "n", "n_env", "n_mon", "tried", "q_opt", "q_obs",
    )  # fmt: skip

    beta_m: float = 5e-4
    """βᵐ, scale of the bonus for rᵐ"""
    beta_obs: float = 5e-4
    """β_obs, scale of the bonus for p in the model that observes"""
    beta_kl: float = 0.05
    """β_KL, scale of the confidence that an unseen reward can be seen"""

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        at_least_zero(self, "beta_m", "beta_obs", "beta_kl")

    def state(self, shape: Shape, r_min: float, model: MonMDP | None = None) -> State:
        """Return the state of an agent that has seen nothing yet."""
        parameters = Parameters(
            gamma=self.gamma,
            beta=self.beta,
            beta_m=self.beta_m,
            beta_e=self.beta_e,
            beta_obs=self.beta_obs,
            beta_kl=self.beta_kl,
            growth=GROWTH[self.growth],
            schedule=SCHEDULE[self.schedule],
            log_base=self.log_base,
            kappa_star=0.0 if self.kappa_star is None else self.kappa_star,
            sweeps=self.sweeps,
            r_min=r_min,
            pin_unseen=False,
        )
        return new_state(parameters, self.q_opt_init, self.q_obs_init, shape, model)

    def with_room(self, state: State, s: int, a: int, next_s: int) -> State:
        """Return a state with room for one more successor."""
        return with_room_for(state, s, a, next_s)

    def layers(self, snapshot: Mapping[str, Any], monmdp: MonMDP) -> layers.Layers:
        """Return what one snapshot says of the cells of a map, with KL-UCB as its hope."""
        found = layers_of_models(
            snapshot, monmdp.shape, self.beta, self.beta_m, self.beta_e, self.growth
        )
        n = layers.by_parts(snapshot["n"], monmdp.shape)
        g = layers.growth(n.sum(axis=(2, 3), keepdims=True), self.growth)
        bound = 1.0 - np.exp(-self.beta_kl * g / np.maximum(n, 1))
        chance = np.where(n > 0, bound, 1.0).max(axis=-1)
        return found | {"hope": np.where(found["seen"] > 0, 0.0, chance)}


class Parameters(NamedTuple):
    """The hyper-parameters as compiled code reads them."""

    gamma: float
    beta: float
    beta_m: float
    beta_e: float
    beta_obs: float
    beta_kl: float
    growth: int
    schedule: int
    log_base: float
    kappa_star: float
    sweeps: int
    r_min: float
    pin_unseen: bool
    """keep Q_opt at its initial value while a reward was never shown, instead of R_min (MBIE-EB)"""


class State(NamedTuple):
    """All that the agent knows."""

    parameters: Parameters
    episodes: IntArray
    """[3] k, κ, and whether the running episode observes"""
    n: IntArray
    """[s, a] N(s,a)"""
    n_state: IntArray
    """[s] N(s)"""
    n_env: IntArray
    """[sᵉ, aᵉ] N(sᵉ,aᵉ), visits whose reward was shown"""
    n_env_state: IntArray
    """[sᵉ] N(sᵉ)"""
    env_sum: FloatArray
    """[sᵉ, aᵉ] sum of the rewards shown; R̄ᵉ = env_sum / n_env"""
    n_mon: IntArray
    """[sᵐ, aᵐ] N(sᵐ,aᵐ)"""
    n_mon_state: IntArray
    """[sᵐ] N(sᵐ)"""
    mon_sum: FloatArray
    """[sᵐ, aᵐ] sum of the monitor's rewards"""
    successors: Successors
    """of joint pairs: P̄"""
    tried: BoolArray
    """[s, a] whether the values are learnt by now, not pinned"""
    r_opt: FloatArray
    """[s, a] R_opt before the running episode, of pairs that were tried"""
    r_obs: FloatArray
    """[s, a] R_obs likewise"""
    q_opt: FloatArray
    """[s, a]"""
    q_obs: FloatArray
    """[s, a]"""


def new_state(
    parameters: Parameters,
    q_opt_init: float,
    q_obs_init: float,
    shape: Shape,
    model: MonMDP | None,
) -> State:
    """Return the state of an agent that has seen nothing yet."""
    n_se, n_sm, n_ae, n_am = shape
    joint, env, mon = (n_se * n_sm, n_ae * n_am), (n_se, n_ae), (n_sm, n_am)
    _, capacity = tried_with(shape, model)
    return State(
        parameters=parameters,
        episodes=np.zeros(3, dtype=np.int64),
        n=np.zeros(joint, dtype=np.int64),
        n_state=np.zeros(joint[0], dtype=np.int64),
        n_env=np.zeros(env, dtype=np.int64),
        n_env_state=np.zeros(n_se, dtype=np.int64),
        env_sum=np.zeros(env),
        n_mon=np.zeros(mon, dtype=np.int64),
        n_mon_state=np.zeros(n_sm, dtype=np.int64),
        mon_sum=np.zeros(mon),
        successors=no_successors(capacity),
        tried=np.zeros(joint, dtype=np.bool_),
        r_opt=np.zeros(joint),
        r_obs=np.zeros(joint),
        q_opt=np.full(joint, q_opt_init),
        q_obs=np.full(joint, q_obs_init),
    )


def with_room_for(state: State, s: int, a: int, next_s: int) -> State:
    """Return a state with room for one more successor."""
    pair = s * state.q_opt.shape[1] + a
    return state._replace(successors=with_room(state.successors, pair, next_s))


def layers_of_models(
    snapshot: Mapping[str, Any],
    shape: Shape,
    beta: float,
    beta_m: float,
    beta_e: float,
    growth: str,
) -> layers.Layers:
    """Return the layers that all agents with these models have.

    The bonus is that of R_opt, without its part for rᵉ where the reward was never shown.
    """
    n = layers.by_parts(snapshot["n"], shape)
    n_env, n_mon = snapshot["n_env"], snapshot["n_mon"]
    of_env, of_mon, of_move = (
        layers.confidence(layers.growth(total, growth), count)
        for count, total in (
            (n_env, n_env.sum(axis=1, keepdims=True)),
            (n_mon, n_mon.sum(axis=1, keepdims=True)),
            (n, n.sum(axis=(2, 3), keepdims=True)),
        )
    )
    with np.errstate(invalid="ignore"):  # 0 · ∞, where a β is 0
        of_env = np.where(n_env > 0, beta_e * of_env, 0.0)
        bonus = of_env[:, None, :, None] + beta_m * of_mon[None, :, None, :] + beta * of_move
    bonus[n == 0] = np.inf  # whatever β is, its value is pinned
    learnt = layers.by_parts(snapshot.get("tried", snapshot["n"]), shape) > 0
    return (
        layers.counted(n, layers.everywhere(n_env, shape))
        | layers.best(snapshot, ("q_opt", "q_obs"), shape)
        | {"bonus": layers.largest(bonus), "pinned": layers.pinned(learnt, n > 0)}
        | layers.followed(snapshot, shape)
    )


def begin_episode(agent: State, rng: np.random.Generator) -> bool:
    """Choose between observing and optimizing, and plan; return whether it observes."""
    p, episodes = agent.parameters, agent.episodes
    episodes[0] += 1
    observe = observes(episodes[0], episodes[1], p.schedule, p.log_base, p.kappa_star)
    _models(agent)
    slots, tried = agent.successors, agent.tried
    value_iteration(slots, tried, True, agent.r_opt, p.gamma, p.sweeps, agent.q_opt)
    if observe:
        value_iteration(slots, tried, False, agent.r_obs, p.gamma, p.sweeps, agent.q_obs)
        episodes[1] += 1
    episodes[2] = observe
    return observe


@compilable
def _models(agent: Any) -> None:
    """R_opt(s,a) and R_obs(s,a) of the pairs that were tried; the values of others are pinned."""
    p = agent.parameters
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape

    # R̄ᵉ + βᵉ√(g(N(sᵉ))/N(sᵉ,aᵉ)), or r_min where the reward was never shown
    of_env = np.empty((n_se, n_ae))
    for se in range(n_se):
        for ae in range(n_ae):
            n = agent.n_env[se, ae]
            of_env[se, ae] = p.r_min
            if n > 0:
                g = growth_of(agent.n_env_state[se], p.growth)
                of_env[se, ae] = agent.env_sum[se, ae] / n + p.beta_e * math.sqrt(g / n)

    # R̄ᵐ + βᵐ√(g(N(sᵐ))/N(sᵐ,aᵐ))
    of_mon = np.empty((n_sm, n_am))
    for sm in range(n_sm):
        for am in range(n_am):
            n = agent.n_mon[sm, am]
            if n > 0:
                g = growth_of(agent.n_mon_state[sm], p.growth)
                of_mon[sm, am] = agent.mon_sum[sm, am] / n + p.beta_m * math.sqrt(g / n)

    for s in range(len(agent.n_state)):
        if agent.n_state[s] > 0:
            g = growth_of(agent.n_state[s], p.growth)
            for a in range(n_ae * n_am):
                n = agent.n[s, a]
                if n > 0:
                    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
                    agent.tried[s, a] = agent.n_env[se, ae] > 0 or not p.pin_unseen
                    bonus = math.sqrt(g / n)  # √(g(N(s))/N(s,a))
                    agent.r_opt[s, a] = of_env[se, ae] + of_mon[sm, am] + p.beta * bonus
                    agent.r_obs[s, a] = p.beta_obs * bonus
                    if agent.n_env[se, ae] == 0:
                        # KL-UCB(0, N): the largest μ with d(0, μ) = -ln(1 - μ) ≤ β_KL g/N
                        agent.r_obs[s, a] += 1.0 - math.exp(-p.beta_kl * g / n)


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
    """Count."""
    n_sm, n_am = agent.n_mon.shape
    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
    agent.n[s, a] += 1
    agent.n_state[s] += 1
    agent.n_mon[sm, am] += 1
    agent.n_mon_state[sm] += 1
    agent.mon_sum[sm, am] += monitor_reward
    if shown:
        agent.n_env[se, ae] += 1
        agent.n_env_state[se] += 1
        agent.env_sum[se, ae] += reward
    pair = s * agent.n.shape[1] + a
    gamma = agent.parameters.gamma
    count_successor(agent.successors, pair, agent.n[s, a], next_s, terminated, gamma)


implement(State, begin_episode=begin_episode, act=act, update=update, test_policy=test_policy)
