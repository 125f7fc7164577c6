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

With planner=incremental the plans are not swept but repaired where something has changed
(`incremental`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from monmdp.agents.contract import AgentConfig, Step, at_least_zero, update
from monmdp.agents.greedy import greedy_action, greedy_policy
from monmdp.agents.incremental import (
    FIRST,
    LEAST,
    Plan,
    PlannerKind,
    Predecessors,
    Scratch,
    Terms,
    has_grown,
    let_sharers_wait,
    link,
    meet,
    new_plan,
    predecessors_with_room,
    put_in_force,
    repair,
    upkeep,
)
from monmdp.agents.learnt_model import (
    Counts,
    count,
    counts_with_room,
    most_successors,
    new_counts,
    value_iteration,
)
from monmdp.agents.priorities import put
from monmdp.compiling import compilable, dispatched
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import Shape

Growth = Literal["paper", "log", "none"]
Schedule = Literal["paper", "released", "constant"]


# ---- parts: what a variant may override -----------------------------------------------------


@dispatched
def confidence(agent: Any, n: int) -> float:
    """Return g(N), which grows with the visits N of a state."""
    return growth_of(n, agent.parameters.growth)


@dispatched
def bonus(agent: Any, g: float, n: int) -> float:
    """Return √(g/n), the bonus of a pair visited n times; the β of each use comes on top."""
    return math.sqrt(g / n)


@dispatched
def environment_reward(agent: Any, se: int, ae: int) -> float:
    """Return R̄ᵉ + βᵉ√(g(N(sᵉ))/N(sᵉ,aᵉ)), or r_min where the reward was never shown."""
    counts, p = agent.counts, agent.parameters
    n = counts.n_env[se, ae]
    if n == 0:
        return p.r_min
    g = confidence(agent, counts.n_env_state[se])
    return counts.env_sum[se, ae] / n + p.beta_e * bonus(agent, g, n)


@dispatched
def monitor_reward(agent: Any, sm: int, am: int) -> float:
    """Return R̄ᵐ + βᵐ√(g(N(sᵐ))/N(sᵐ,aᵐ)) of a monitor pair that was tried."""
    counts, p = agent.counts, agent.parameters
    n, g = counts.n_mon[sm, am], confidence(agent, counts.n_mon_state[sm])
    return counts.mon_sum[sm, am] / n + p.beta_m * bonus(agent, g, n)


@dispatched
def chance_to_see(agent: Any, g: float, n: int) -> float:
    """Return KL-UCB(0, n): the largest μ with d(0, μ) = -ln(1 - μ) ≤ β_KL g/n."""
    return 1.0 - math.exp(-agent.parameters.beta_kl * g / n)


@dispatched
def observes(agent: Any, k: int, kappa: int) -> bool:
    """Return whether episode k = 1, 2, … observes, after κ episodes that did."""
    p = agent.parameters
    if p.schedule == 2:  # constant
        return kappa <= p.kappa_star
    if p.schedule == 1:  # released
        return math.log(k - 1 + 1e-4) / math.log(p.log_base) > kappa
    return kappa <= math.log(k) / math.log(p.log_base)


@dispatched
def is_learnt(agent: Any, se: int, ae: int) -> bool:
    """Return whether Q_opt of a pair that was tried is planned, and no longer pinned."""
    return True


@dispatched
def plan_to_optimize(agent: Any) -> None:
    """Improve Q_opt on R_opt."""
    counts, p = agent.counts, agent.parameters
    (n_se, n_ae), (n_sm, n_am) = counts.n_env.shape, counts.n_mon.shape
    of_env, of_mon = np.empty((n_se, n_ae)), np.empty((n_sm, n_am))
    for se in range(n_se):
        for ae in range(n_ae):
            of_env[se, ae] = environment_reward(agent, se, ae)
    for sm in range(n_sm):
        for am in range(n_am):
            if counts.n_mon[sm, am] > 0:
                of_mon[sm, am] = monitor_reward(agent, sm, am)
    for s in range(len(counts.n_state)):
        if counts.n_state[s] > 0:
            g = confidence(agent, counts.n_state[s])
            for a in range(n_ae * n_am):
                n = counts.n[s, a]
                if n > 0:
                    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
                    of_move = p.beta * bonus(agent, g, n)
                    agent.r_opt[s, a] = of_env[se, ae] + of_mon[sm, am] + of_move
                    agent.tried[s, a] = is_learnt(agent, se, ae)
    slots, tried, reward = counts.successors, agent.tried, agent.r_opt
    value_iteration(slots, tried, True, reward, p.gamma, p.sweeps, agent.q_opt)


@dispatched
def plan_to_observe(agent: Any) -> None:
    """Improve Q_obs on R_obs; an episode that ended goes on where it landed."""
    counts, p = agent.counts, agent.parameters
    n_sm, n_am = counts.n_mon.shape
    for s in range(len(counts.n_state)):
        if counts.n_state[s] > 0:
            g = confidence(agent, counts.n_state[s])
            for a in range(counts.n.shape[1]):
                n = counts.n[s, a]
                if n > 0:
                    agent.r_obs[s, a] = p.beta_obs * bonus(agent, g, n)
                    if counts.n_env[s // n_sm, a // n_am] == 0:
                        agent.r_obs[s, a] += chance_to_see(agent, g, n)
    slots, tried, reward = counts.successors, agent.tried, agent.r_obs
    value_iteration(slots, tried, False, reward, p.gamma, p.sweeps, agent.q_obs)


@compilable
def growth_of(n: int, kind: int) -> float:
    """Return g(N) for a count N ≥ 1; the kinds are numbered as in `Growth`."""
    if kind == 2:  # none
        return 1.0
    x = math.log(n)
    if kind == 1:  # log
        return math.log(1.0 + n * x * x)
    if x == 0.0:
        return 1.0  # the limit: x ln²x → 0
    return 1.0 + x * math.log(x) * math.log(x)


# ---- incremental planning -------------------------------------------------------------------


@compilable
def count_and_link(agent: Any, step: Any) -> None:
    """Count a step, and note where it led and whether the state is new."""
    counts, slots = agent.counts, agent.counts.successors
    n_actions = counts.n.shape[1]
    pair = step.s * n_actions + step.a
    used = slots.used[pair]
    count(counts, step, agent.parameters.gamma)
    if slots.used[pair] > used:
        link(agent.predecessors, slots, pair, n_actions)
    if counts.n_state[step.s] == 1:
        meet(agent.terms, step.s)


@compilable
def renew_environment_terms(agent: Any, se: int, ae: int) -> float:
    """Put the terms of sᵉ in force if a count has grown; return the largest change, or -1."""
    counts, terms = agent.counts, agent.terms
    grown = has_grown(counts.n_env[se, ae], terms.n_env[se, ae])
    if not (grown or has_grown(counts.n_env_state[se], terms.n_env_state[se])):
        return -1.0
    terms.n_env_state[se], change = counts.n_env_state[se], 0.0
    for other in range(counts.n_env.shape[1]):
        value = environment_reward(agent, se, other)
        change = max(change, put_in_force(terms.of_env, se, other, value))
        terms.n_env[se, other] = counts.n_env[se, other]
    return change


@compilable
def renew_monitor_terms(agent: Any, sm: int, am: int) -> float:
    """Put the terms of sᵐ in force if a count has grown; return the largest change, or -1."""
    counts, terms = agent.counts, agent.terms
    grown = has_grown(counts.n_mon[sm, am], terms.n_mon[sm, am])
    if not (grown or has_grown(counts.n_mon_state[sm], terms.n_mon_state[sm])):
        return -1.0
    terms.n_mon_state[sm], change = counts.n_mon_state[sm], 0.0
    for other in range(counts.n_mon.shape[1]):
        if counts.n_mon[sm, other] > 0:
            value = monitor_reward(agent, sm, other)
            change = max(change, put_in_force(terms.of_mon, sm, other, value))
            terms.n_mon[sm, other] = counts.n_mon[sm, other]
    return change


@compilable
def _learn_pairs(agent: Any, s: int) -> bool:
    """Find out which pairs of a state are planned; return whether that has changed."""
    counts, changed = agent.counts, False
    n_sm, n_am = counts.n_mon.shape
    for a in range(counts.n.shape[1]):
        if counts.n[s, a] > 0:
            learnt = is_learnt(agent, s // n_sm, a // n_am)
            changed |= learnt != agent.tried[s, a]
            agent.tried[s, a] = learnt
    return changed


@compilable
def note_for_optimizing(agent: Any, step: Any) -> None:
    """Count a step, and let all states wait whose Q_opt it changes, but not those before them."""
    counts, terms, p, waiting = agent.counts, agent.terms, agent.parameters, agent.opt.waiting
    n_sm, n_am = counts.n_mon.shape
    s, se, sm = step.s, step.s // n_sm, step.s % n_sm
    count_and_link(agent, step)
    g = confidence(agent, counts.n_state[s])
    for a in range(counts.n.shape[1]):
        if counts.n[s, a] > 0:
            agent.r_move[s, a] = p.beta * bonus(agent, g, counts.n[s, a])
    _learn_pairs(agent, s)
    put(waiting, s, FIRST, LEAST)
    change = renew_environment_terms(agent, se, step.a // n_am)
    if change >= 0.0:
        for other in range(se * n_sm, (se + 1) * n_sm):
            if counts.n_state[other] > 0:
                put(waiting, other, FIRST if _learn_pairs(agent, other) else change, LEAST)
    let_sharers_wait(terms, sm, renew_monitor_terms(agent, sm, step.a % n_am), waiting)
    agent.opt.credit[0] += p.backups


@compilable
def _renew_r_obs(agent: Any, s: int) -> None:
    """Compute R_obs of a state that was visited, and let it wait."""
    counts, p = agent.counts, agent.parameters
    n_sm, n_am = counts.n_mon.shape
    g = confidence(agent, counts.n_state[s])
    for a in range(counts.n.shape[1]):
        n = counts.n[s, a]
        if n > 0:
            agent.r_obs[s, a] = p.beta_obs * bonus(agent, g, n)
            if counts.n_env[s // n_sm, a // n_am] == 0:
                agent.r_obs[s, a] += chance_to_see(agent, g, n)
    put(agent.obs.waiting, s, FIRST, LEAST)


@compilable
def note(agent: Any, step: Any) -> None:
    """Count a step, and let all states wait whose Q_opt or Q_obs it changes."""
    counts = agent.counts
    n_sm, n_am = counts.n_mon.shape
    se, ae = step.s // n_sm, step.a // n_am
    note_for_optimizing(agent, step)
    _renew_r_obs(agent, step.s)
    if step.shown and counts.n_env[se, ae] == 1:  # there is nothing more to see
        for s in range(se * n_sm, (se + 1) * n_sm):
            if counts.n_state[s] > 0:
                _renew_r_obs(agent, s)
    agent.obs.credit[0] += agent.parameters.backups


@compilable
def repair_to_optimize(agent: Any) -> None:
    """Improve Q_opt where something has changed."""
    slots, terms, predecessors = agent.counts.successors, agent.terms, agent.predecessors
    own, scratch = agent.r_move, agent.scratch
    repair(slots, agent.tried, True, own, terms, predecessors, scratch, agent.opt, agent.q_opt)


@compilable
def repair_to_observe(agent: Any) -> None:
    """Improve Q_obs where something has changed."""
    slots, terms, predecessors = agent.counts.successors, agent.terms, agent.predecessors
    own, scratch = agent.r_obs, agent.scratch
    repair(slots, agent.tried, False, own, terms, predecessors, scratch, agent.obs, agent.q_obs)


# ---- what the algorithms with these models share --------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Planner(AgentConfig):
    """Hyper-parameters of all agents that plan with bonuses; the defaults are the paper's."""

    slow_verbs = ("begin_episode",)
    needs = ("r_min",)

    q_opt_init: float = 1.0
    """Q_opt where nothing was tried, no less than any value (the paper: 1, River Swim 30)"""
    beta: float = 5e-4
    """β, scale of the bonus for p"""
    beta_e: float = 5e-4
    """βᵉ, scale of the bonus for rᵉ"""
    growth: Growth = "paper"
    """g, how confidence grows: 1 + x ln²x with x = ln N (paper), ln(1 + N ln²N) (log), 1 (none)"""
    sweeps: int = 50
    """sweeps of value iteration before an episode"""
    planner: PlannerKind = "sweeps"
    """sweep over all states before an episode (the paper's), or repair plans where something has
    changed (incremental)"""
    backups: int = 50
    """backups of states that each step earns each plan, if the planner is incremental"""

    def check(self) -> None:
        """Refuse what is out of range."""
        at_least_zero(self, "beta", "beta_e")
        whole_number(self.sweeps, "sweeps", at_least=1)
        whole_number(self.backups, "backups", at_least=1)

    @property
    def variant(self) -> str | None:
        """The kind of state that the planner needs."""
        return "Incremental" if self.planner == "incremental" else super().variant

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that has seen nothing yet."""
        n_se, n_sm, n_ae, n_am = shape
        joint = n_se * n_sm, n_ae * n_am
        fields = {
            "counts": new_counts(shape, most_successors(shape, model)[1]),
            "tried": np.zeros(joint, dtype=np.bool_),
            "q_opt": np.full(joint, self.q_opt_init),
        }
        if self.planner == "sweeps":
            return fields | {"r_opt": np.zeros(joint)}
        return fields | {
            "r_move": np.zeros(joint),
            **upkeep(shape, model),
            "opt": new_plan(joint[0], self.q_opt_init),
        }

    def with_room(self, state: Any, step: Step) -> Any:
        """Return a state with room for one more successor."""
        state = state._replace(counts=counts_with_room(state.counts, step))
        if self.planner == "sweeps":
            return state
        return state._replace(predecessors=predecessors_with_room(state.predecessors))

    def update(agent: Any, step: Step) -> None:
        """Count."""
        count(agent.counts, step, agent.parameters.gamma)

    def test_policy(agent: Any, policy: FloatArray) -> None:
        """Greedy on Q_opt as planned before the running episode."""
        greedy_policy(agent.q_opt, policy)


@dataclass(frozen=True, kw_only=True)
class ObserveOrOptimize(Planner):
    """Monitored MBIE-EB, whether or not the monitor is known ("Practical Implementation")."""

    parts: ClassVar[tuple[Any, ...]] = (
        confidence, bonus, environment_reward, observes, plan_to_optimize, plan_to_observe,
    )  # fmt: skip

    q_obs_init: float = 100.0
    """Q_obs where nothing was tried"""
    schedule: Schedule = "paper"
    """observe iff κ ≤ log_b k (paper), iff log_b(k - 1 + 10⁻⁴) > κ (the released code), or iff κ ≤
    κ* (constant: the theorem's)"""
    log_base: float = 1.005
    """b in κ*(k) = log_b k; nearer to 1 means more observe episodes"""
    kappa_star: float | None = None
    """κ* of the constant schedule"""

    def check(self) -> None:
        """Refuse what is out of range, and a κ* that would not be used."""
        super().check()
        if self.log_base <= 1:
            raise MonMDPError(f"log_base must be above 1, got {self.log_base:g}")
        if self.schedule == "constant" and self.kappa_star is None:
            raise MonMDPError("schedule=constant needs kappa_star=…, the episodes to observe")
        if self.schedule != "constant" and self.kappa_star is not None:
            raise MonMDPError("kappa_star=… goes with schedule=constant")

    @classmethod
    def paper_settings(cls, world: str, monitor: str, figure: int | None) -> dict[str, Any]:
        """River Swim has larger values."""
        return {"q_opt_init": 30.0} if world == "river-swim" else {}

    def begin_episode(agent: Any, rng: np.random.Generator) -> bool:
        """Choose between observing and optimizing, and plan; return whether it observes."""
        episodes = agent.episodes
        episodes[0] += 1
        observe = observes(agent, episodes[0], episodes[1])
        plan_to_optimize(agent)
        if observe:
            plan_to_observe(agent)
            episodes[1] += 1
        episodes[2] = observe
        return observe

    def act(agent: Any, s: int, rng: np.random.Generator) -> int:
        """Act greedily on Q_obs or Q_opt, ties broken uniformly."""
        q = agent.q_obs if agent.episodes[2] else agent.q_opt
        return greedy_action(q, s, rng.random())


# ---- the algorithm --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MonitoredMBIEEB(ObserveOrOptimize):
    """Monitored MBIE-EB, the paper's algorithm, and its hyper-parameters."""

    name = "monitored-mbie-eb"
    label = "Monitored MBIE-EB"
    colour = "#009e73"  # green, as in the paper
    microseconds = (1.0, 0.0040)
    figures = (4, 5, 6, 9, 10, 11, 12, 13)
    snapshot_fields = (
        "n", "n_env", "n_mon", "tried", "q_opt", "q_obs", "episodes",
    )  # fmt: skip
    parts = (
        *ObserveOrOptimize.parts, monitor_reward, chance_to_see, is_learnt,
    )  # fmt: skip

    beta_m: float = 5e-4
    """βᵐ, scale of the bonus for rᵐ"""
    beta_obs: float = 5e-4
    """β_obs, scale of the bonus for p in the model that observes"""
    beta_kl: float = 0.05
    """β_KL, scale of the confidence that an unseen reward can be seen"""

    class State(NamedTuple):
        """All that the agent knows."""

        parameters: Any
        episodes: IntArray
        """[3] k, κ, and whether the running episode observes"""
        counts: Counts
        tried: BoolArray
        """[s, a] whether the values are learnt by now, not pinned"""
        r_opt: FloatArray
        """[s, a] R_opt before the running episode, of pairs that were tried"""
        r_obs: FloatArray
        """[s, a] R_obs before the last episode that observed, likewise"""
        q_opt: FloatArray
        """[s, a]"""
        q_obs: FloatArray
        """[s, a]"""

    class Incremental(NamedTuple):
        """All that it knows if its plans are repaired."""

        parameters: Any
        episodes: IntArray
        """[3] k, κ, and whether the running episode observes"""
        counts: Counts
        tried: BoolArray
        """[s, a] whether the values are learnt by now, not pinned"""
        r_move: FloatArray
        """[s, a] β√(g(N(s))/N(s,a)) of pairs that were tried"""
        r_obs: FloatArray
        """[s, a] R_obs, likewise"""
        terms: Terms
        """the others of R_opt"""
        predecessors: Predecessors
        scratch: Scratch
        opt: Plan
        obs: Plan
        q_opt: FloatArray
        """[s, a]"""
        q_obs: FloatArray
        """[s, a]"""

    variants: ClassVar[Any] = {
        "Incremental": {
            update: note,
            plan_to_optimize: repair_to_optimize,
            plan_to_observe: repair_to_observe,
        }
    }

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        at_least_zero(self, "beta_m", "beta_obs", "beta_kl")

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that has seen nothing yet."""
        fields = super().blank(shape, parameters, model)
        joint = fields["q_opt"].shape
        plan = {} if self.planner == "sweeps" else {"obs": new_plan(joint[0], self.q_obs_init)}
        return (
            fields
            | plan
            | {
                "episodes": np.zeros(3, dtype=np.int64),
                "r_obs": np.zeros(joint),
                "q_obs": np.full(joint, self.q_obs_init),
            }
        )
