"""Monitored MBIE-EB when the monitor is known: pᵐ, rᵐ and the chance to see a reward are given.

Only rᵉ and pᵉ are left to learn. N_v(sᵉ,aᵉ) counts all visits, N(sᵉ,aᵉ) those whose reward was
shown, and P̄ᵉ is pooled over the monitor. With p = P̄ᵉ ⊗ pᵐ

    R_basic(s,a) = R̄ᵉ + βᵉ√(g(N(sᵉ))/N(sᵉ,aᵉ)) + rᵐ + β√(g(N_v(sᵉ))/N_v(sᵉ,aᵉ))
    R_opt(s,a)   = R_basic where N(sᵉ,aᵉ) > 0, else r_min in place of the two terms of rᵉ
    R_obs(s,a)   = 1{N(sᵉ,aᵉ) = 0} P(rᵉ is shown | s,a) + β√(g(N_v(sᵉ))/N_v(sᵉ,aᵉ))

and everything else is as when it is unknown (`monitored_mbie_eb`). P(rᵉ is shown | s,a) is the true
chance, over all outcomes of the pair: that some pairs lead to ⊥ is known too. A monitor that looks
at the reward to decide, Semi-Random, would give rᵉ away and is refused.

With planner=incremental plans are repaired where something has changed (`incremental`). What waits
is environment states: a backup of sᵉ serves all sᵐ. No term is shared by pairs of several sᵉ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents.contract import Step, update
from monmdp.agents.incremental import (
    FIRST,
    LEAST,
    Plan,
    Predecessors,
    link,
    new_plan,
    no_predecessors,
    pass_on,
    predecessors_with_room,
    put_value_in_force,
    room_for_predecessors,
)
from monmdp.agents.learnt_model import (
    LOW,
    Counts,
    count,
    counts_with_room,
    most_successors,
    new_counts,
)
from monmdp.agents.monitored_mbie_eb import (
    ObserveOrOptimize,
    bonus,
    confidence,
    environment_reward,
    plan_to_observe,
    plan_to_optimize,
)
from monmdp.agents.priorities import NONE, put, take
from monmdp.compiling import compilable
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.monmdp import Shape
from monmdp.planning.factors import factors


@compilable
def _of_environment(agent: Any, step: Any) -> Any:
    """Return a step without the monitor's part in it."""
    n_sm, n_am = agent.monitor_reward.shape
    s, a, next_s = step.s // n_sm, step.a // n_am, step.next_s // n_sm
    return Step(s, a, step.shown, step.reward, step.monitor_reward, next_s, step.terminated)


@compilable
def _write_rewards(agent: Any, optimize: bool, first: int, end: int, reward: FloatArray) -> None:
    """Write R_opt(s,a) or R_obs(s,a) of the pairs of sᵉ = first, …, end - 1 that were tried."""
    counts, p = agent.counts, agent.parameters
    n_ae, (n_sm, n_am) = counts.n_env.shape[1], agent.monitor_reward.shape
    for se in range(first, end):
        for ae in range(n_ae):
            n = counts.n[se, ae]
            if n == 0:
                continue
            of_move = p.beta * bonus(agent, confidence(agent, counts.n_state[se]), n)
            of_env = environment_reward(agent, se, ae)
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    if optimize:
                        reward[s, a] = of_env + agent.monitor_reward[sm, am] + of_move
                    else:
                        reward[s, a] = of_move
                        if counts.n_env[se, ae] == 0:
                            reward[s, a] += agent.shown[s, a]


# ---- incremental planning -------------------------------------------------------------------


@compilable
def _note(agent: Any, step: Any) -> None:
    """Count a step, compute the rewards of its sᵉ, and let it wait."""
    moved, p = _of_environment(agent, step), agent.parameters
    slots, n_ae = agent.counts.successors, agent.counts.n.shape[1]
    pair = moved.s * n_ae + moved.a
    used = slots.used[pair]
    count(agent.counts, moved, p.gamma)
    if slots.used[pair] > used:
        link(agent.predecessors, slots, pair, n_ae)
    _write_rewards(agent, True, moved.s, moved.s + 1, agent.r_opt)
    _write_rewards(agent, False, moved.s, moved.s + 1, agent.r_obs)
    for plan in (agent.opt, agent.obs):
        put(plan.waiting, moved.s, FIRST, LEAST)
        plan.credit[0] += p.backups


@compilable
def _repair_to_optimize(agent: Any) -> None:
    """Improve Q_opt where something has changed."""
    _repair(agent, True, agent.r_opt, agent.opt, agent.y_opt, agent.q_opt)


@compilable
def _repair_to_observe(agent: Any) -> None:
    """Improve Q_obs where something has changed."""
    _repair(agent, False, agent.r_obs, agent.obs, agent.y_obs, agent.q_obs)


@compilable
def _repair(
    agent: Any, endings: bool, reward: FloatArray, plan: Any, y: FloatArray, q: FloatArray
) -> None:
    """Improve q[s, a] in the sᵉ that wait, until none does or the credit is spent.

    y[sᵉ, u] = Σ row[u, s′ᵐ] v(sᵉ, s′ᵐ) for the values in force, as in `_value_iteration`. A backup
    of sᵉ counts as one of each of its joint states.
    """
    slots, row, row_of = agent.counts.successors, agent.row, agent.row_of
    weight = slots.go_on if endings else slots.land
    n_ae, (n_sm, n_am) = agent.counts.n_env.shape[1], agent.monitor_reward.shape
    n_u, v, best, z, credit = len(row), plan.v, agent.best, agent.z, plan.credit
    while credit[0] > 0:
        se = take(plan.waiting)
        if se == NONE:
            break
        credit[0] -= n_sm
        leads_back = False
        for sm in range(n_sm):
            best[sm] = LOW
        for ae in range(n_ae):
            pair = se * n_ae + ae
            tried = slots.used[pair] > 0
            if tried:
                for u in range(n_u):
                    z[u] = 0.0
                for j in range(slots.first[pair], slots.first[pair] + slots.used[pair]):
                    leads_back |= slots.state[j] == se
                    for u in range(n_u):
                        z[u] += weight[j] * y[slots.state[j], u]
            for sm in range(n_sm):
                s = se * n_sm + sm
                for a in range(ae * n_am, (ae + 1) * n_am):
                    if tried:
                        u = row_of[agent.pair_class[pair], sm, a - ae * n_am]
                        q[s, a] = reward[s, a] + z[u]
                    best[sm] = max(best[sm], q[s, a])
        change = 0.0
        for sm in range(n_sm):
            change = max(change, put_value_in_force(v, se * n_sm + sm, best[sm]))
        if change > 0.0:
            for u in range(n_u):
                y[se, u] = 0.0
                for sm in range(n_sm):
                    y[se, u] += row[u, sm] * v[se * n_sm + sm]
            if leads_back:
                put(plan.waiting, se, change, LEAST)
            credit[0] -= pass_on(agent.predecessors, se, change, plan.waiting)
    credit[0] = min(credit[0], 0)  # where nothing waits, nothing is saved up


# ---- the algorithm --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class KnownMonitor(ObserveOrOptimize):
    """Monitored MBIE-EB that is given the monitor, and its hyper-parameters."""

    name = "known-monitor"
    label = "Known Monitor"
    colour = "#b66dff"  # purple, as in the paper
    microseconds = (13.0, 0.0016)
    figures = (4, 11)
    snapshot_fields = ("n", "n_env", "q_opt", "q_obs", "episodes")

    class State(NamedTuple):
        """All that the agent knows: the monitor from the start, the rest as it learns."""

        parameters: Any
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
        counts: Counts
        """of environment pairs: those of a problem whose monitor does nothing; N is N_v"""
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
        counts: Counts
        """of environment pairs: those of a problem whose monitor does nothing; N is N_v"""
        predecessors: Predecessors
        """of environment states"""
        r_opt: FloatArray
        """[s, a] R_opt of pairs that were tried"""
        r_obs: FloatArray
        """[s, a] R_obs, likewise"""
        opt: Plan
        obs: Plan
        y_opt: FloatArray
        """[sᵉ, u] values in force, as monitor rows expect them"""
        y_obs: FloatArray
        best: FloatArray
        """[sᵐ] room for a backup, like the next"""
        z: FloatArray
        """[u]"""
        q_opt: FloatArray
        """[s, a]"""
        q_obs: FloatArray
        """[s, a]"""

    # The names are those of the verb and the parts, not yet of the functions below.
    variants: ClassVar[Any] = {
        "Incremental": {
            update: _note,
            plan_to_optimize: _repair_to_optimize,
            plan_to_observe: _repair_to_observe,
        }
    }

    @property
    def needs_model(self) -> bool:
        """Whether the agent is given the monitor: it always is."""
        return True

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that knows the monitor and nothing else."""
        assert model is not None
        n_se, n_sm, n_ae, n_am = shape
        joint, rows = (n_se * n_sm, n_ae * n_am), factors(model)
        fields = {
            "row": np.array(rows.row),
            "row_of": np.array(rows.row_of, dtype=np.int64),
            "pair_class": np.array(model.pair_class),
            "monitor_reward": np.array(model.monitor.reward),
            "shown": model.observability(),
            "episodes": np.zeros(3, dtype=np.int64),
            "counts": new_counts(Shape(n_se, 1, n_ae, 1), most_successors(shape, model)[0]),
            "r_opt": np.zeros(joint),
            "r_obs": np.zeros(joint),
            "q_opt": np.full(joint, self.q_opt_init),
            "q_obs": np.full(joint, self.q_obs_init),
        }
        if self.planner == "sweeps":
            return fields
        of_env, n_u = Shape(n_se, 1, n_ae, 1), len(rows.row)
        room = room_for_predecessors(of_env, model)
        return fields | {
            "predecessors": no_predecessors(n_se, room),
            "opt": new_plan(joint[0], self.q_opt_init, n_se),
            "obs": new_plan(joint[0], self.q_obs_init, n_se),
            "y_opt": np.full((n_se, n_u), self.q_opt_init) * rows.row.sum(axis=1),
            "y_obs": np.full((n_se, n_u), self.q_obs_init) * rows.row.sum(axis=1),
            "best": np.empty(n_sm),
            "z": np.empty(n_u),
        }

    def with_room(self, state: Any, step: Step) -> Any:
        """Return a state with room for a successor that the model does not know of."""
        moved = _of_environment(state, step)
        state = state._replace(counts=counts_with_room(state.counts, moved))
        if self.planner == "sweeps":
            return state
        return state._replace(predecessors=predecessors_with_room(state.predecessors))

    def update(agent: Any, step: Step) -> None:
        """Count; of the monitor there is nothing to learn."""
        count(agent.counts, _of_environment(agent, step), agent.parameters.gamma)

    def plan_to_optimize(agent: Any) -> None:
        """Improve Q_opt on R_opt."""
        _write_rewards(agent, True, 0, len(agent.counts.n_env), agent.r_opt)
        _value_iteration(agent, True, agent.r_opt, agent.q_opt)

    def plan_to_observe(agent: Any) -> None:
        """Improve Q_obs on R_obs."""
        _write_rewards(agent, False, 0, len(agent.counts.n_env), agent.r_obs)
        _value_iteration(agent, False, agent.r_obs, agent.q_obs)


@compilable
def _value_iteration(agent: Any, endings: bool, reward: FloatArray, q: FloatArray) -> None:
    """Sweep synchronously on P̄ᵉ ⊗ pᵐ until nothing changes, at most `sweeps` times.

    With y(sᵉ, u) = Σ row[u, s′ᵐ] V(sᵉ, s′ᵐ) for the distinct monitor rows u, one sum over the
    successors of an environment pair serves all monitor states and actions:
    Q(s,a) = R(s,a) + γ Σ P̄ᵉ(s′ᵉ) y(s′ᵉ, u(sᵐ,aᵐ)). With `endings`, visits that ended the episode
    have no future; else it goes on where they landed.
    """
    slots, row, row_of = agent.counts.successors, agent.row, agent.row_of
    weight = slots.go_on if endings else slots.land
    (n_se, n_ae), (n_sm, n_am) = agent.counts.n_env.shape, agent.monitor_reward.shape
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
