"""R-max: whatever has not been tried m times is the best there can be (Brafman and Tennenholtz).

A joint pair is *known* once N(s,a) ≥ m. Before every episode Q is improved by sweeps of value
iteration on

    R(s,a) = R̄ᵉ(sᵉ,aᵉ) where N(sᵉ,aᵉ) > 0, else r_min, + R̄ᵐ(sᵐ,aᵐ),    P̄(· | s,a)

for the known pairs, while all others stay at r_max/(1 - γ); actions are greedy on Q. Of a hidden
reward the original has nothing to say. Here the m visits that make a pair known are also the tries
that it is given to show its reward, and a reward not shown by then counts as r_min. Means go on
being improved after that, and a reward that is shown late replaces r_min.

The test policy is greedy on a plan of its own (`classical`). With planner=incremental both plans
are repaired where something has changed (`incremental`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents.classical import Explorer, mean_rewards, plan_test, visited
from monmdp.agents.contract import Step, begin_episode, update
from monmdp.agents.incremental import (
    FIRST,
    LEAST,
    Plan,
    PlannerKind,
    Predecessors,
    Scratch,
    Terms,
    let_sharers_wait,
    new_plan,
    predecessors_with_room,
    repair,
    upkeep,
)
from monmdp.agents.learnt_model import Counts, value_iteration
from monmdp.agents.monitored_mbie_eb import (
    count_and_link,
    environment_reward,
    monitor_reward,
    renew_environment_terms,
    renew_monitor_terms,
)
from monmdp.agents.priorities import put
from monmdp.compiling import compilable
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import Shape

# ---- incremental planning -------------------------------------------------------------------


@compilable
def _mean_environment_reward(agent: Any, se: int, ae: int) -> float:
    """Return R̄ᵉ, or r_min where the reward was never shown."""
    counts, n = agent.counts, agent.counts.n_env[se, ae]
    return counts.env_sum[se, ae] / n if n > 0 else agent.parameters.r_min


@compilable
def _mean_monitor_reward(agent: Any, sm: int, am: int) -> float:
    """Return R̄ᵐ of a monitor pair that was tried."""
    return agent.counts.mon_sum[sm, am] / agent.counts.n_mon[sm, am]


@compilable
def _note(agent: Any, step: Any) -> None:
    """Count a step, and let all states wait whose Q or Q_opt it changes."""
    counts, terms, p = agent.counts, agent.terms, agent.parameters
    n_sm, n_am = counts.n_mon.shape
    s, a, se, sm = step.s, step.a, step.s // n_sm, step.s % n_sm
    count_and_link(agent, step)
    agent.tried[s, a], agent.known[s, a] = True, counts.n[s, a] >= p.m
    of_env = renew_environment_terms(agent, se, a // n_am)
    of_mon = renew_monitor_terms(agent, sm, a % n_am)
    for plan in (agent.explore, agent.opt):
        put(plan.waiting, s, FIRST, LEAST)
        for other in range(se * n_sm, (se + 1) * n_sm):
            if counts.n_state[other] > 0:
                put(plan.waiting, other, of_env, LEAST)
        let_sharers_wait(terms, sm, of_mon, plan.waiting)
        plan.credit[0] += p.backups


@compilable
def _repair_both(agent: Any, rng: Any) -> bool:
    """Improve Q and Q_opt where something has changed; no episode is there to observe."""
    slots, terms, own = agent.counts.successors, agent.terms, agent.nothing
    links, scratch = agent.predecessors, agent.scratch
    repair(slots, agent.known, True, own, terms, links, scratch, agent.explore, agent.q)
    repair(slots, agent.tried, True, own, terms, links, scratch, agent.opt, agent.q_opt)
    return False


# ---- the algorithm --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RMax(Explorer):
    """R-max, pessimistic about known pairs whose reward was never shown; its hyper-parameters."""

    name = "r-max"
    label = "R-max"
    colour = "#aa11aa"
    microseconds = (1.0, 0.0060)

    m: int = 80
    """visits after which a joint pair is known"""
    planner: PlannerKind = "sweeps"
    """sweep over all states before an episode, or repair plans where something has changed
    (incremental)"""
    backups: int = 50
    """backups of states that each step earns each plan, if the planner is incremental"""

    class Incremental(NamedTuple):
        """All that it knows if its plans are repaired."""

        parameters: Any
        counts: Counts
        known: BoolArray
        """[s, a] whether Q is planned, not pinned"""
        tried: BoolArray
        """[s, a] whether Q_opt is"""
        nothing: FloatArray
        """[s, a] 0: no part of the reward is a pair's own"""
        terms: Terms
        """R̄ᵉ and R̄ᵐ"""
        predecessors: Predecessors
        scratch: Scratch
        explore: Plan
        opt: Plan
        q: FloatArray
        """[s, a] values in the model that it explores with, acted on"""
        q_opt: FloatArray
        """[s, a] pessimistic values, tested"""

    variants: ClassVar[Any] = {
        "Incremental": {
            begin_episode: _repair_both,
            update: _note,
            environment_reward: _mean_environment_reward,
            monitor_reward: _mean_monitor_reward,
        }
    }

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        whole_number(self.m, "m", at_least=1)
        whole_number(self.backups, "backups", at_least=1)

    @property
    def variant(self) -> str | None:
        """The kind of state that the planner needs."""
        return "Incremental" if self.planner == "incremental" else super().variant

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that has seen nothing yet."""
        fields = super().blank(shape, parameters, model)
        if self.planner == "sweeps":
            return fields
        q, q_opt = fields["q"], fields["q_opt"]
        return fields | {
            "known": np.zeros(q.shape, dtype=np.bool_),
            "tried": np.zeros(q.shape, dtype=np.bool_),
            "nothing": np.zeros(q.shape),
            **upkeep(shape, model),
            "explore": new_plan(len(q), q[0, 0]),
            "opt": new_plan(len(q), q_opt[0, 0]),
        }

    def with_room(self, state: Any, step: Step) -> Any:
        """Return a state with room for one more successor."""
        state = super().with_room(state, step)
        if self.planner == "sweeps":
            return state
        return state._replace(predecessors=predecessors_with_room(state.predecessors))

    def begin_episode(agent: Any, rng: np.random.Generator) -> bool:
        """Plan what to do and what to be tested with; no episode is there to observe."""
        p, known = agent.parameters, visited(agent, agent.parameters.m)
        reward = np.empty(agent.q.shape)
        mean_rewards(agent, reward)
        value_iteration(agent.counts.successors, known, True, reward, p.gamma, p.sweeps, agent.q)
        plan_test(agent, reward)
        return False
