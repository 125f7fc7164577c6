"""What posterior sampling and R-max have in common: counts of joint pairs, and a plan for tests.

Both are classical explorers of MDPs, adapted to rewards that may be hidden. They count as Monitored
MBIE-EB does (`learnt_model.count`) and plan twice before every episode. Q is planned on a
model of the explorer's own, and acted on. Q_opt is planned on the mean model

    R(s,a) = R̄ᵉ(sᵉ,aᵉ) where N(sᵉ,aᵉ) > 0, else r_min, + R̄ᵐ(sᵐ,aᵐ),    P̄(· | s,a)

in which pairs that were never tried are worth r_min/(1 - γ), r_min for ever. The test policy is
greedy on it: it hopes for nothing that was not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.contract import AgentConfig, Step
from monmdp.agents.greedy import greedy_action, greedy_policy
from monmdp.agents.learnt_model import (
    Counts,
    count,
    counts_with_room,
    most_successors,
    new_counts,
    value_iteration,
)
from monmdp.compiling import compilable
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import Shape


@dataclass(frozen=True, kw_only=True)
class Explorer(AgentConfig):
    """Hyper-parameters that both have; one default for all worlds."""

    line = "-."
    needs = ("r_min", "r_max")
    snapshot_fields = ("n", "n_env", "n_mon", "q", "q_opt")
    slow_verbs = ("begin_episode",)

    q_init: float | None = None
    """Q where nothing is known; r_max/(1 - γ) if it is not given"""
    sweeps: int = 50
    """sweeps of value iteration of each plan before an episode"""

    class State(NamedTuple):
        """All that the agent knows."""

        parameters: Any
        counts: Counts
        q: FloatArray
        """[s, a] values in the model that it explores with, acted on"""
        q_opt: FloatArray
        """[s, a] pessimistic values, tested"""

    def check(self) -> None:
        """Refuse what is out of range."""
        whole_number(self.sweeps, "sweeps", at_least=1)

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that has seen nothing yet."""
        n_se, n_sm, n_ae, n_am = shape
        joint = n_se * n_sm, n_ae * n_am
        return {
            "counts": new_counts(shape, most_successors(shape, model)[1]),
            "q": np.full(joint, optimum(parameters)),
            "q_opt": np.full(joint, parameters.r_min / (1.0 - self.gamma)),
        }

    def with_room(self, state: Any, step: Step) -> Any:
        """Return a state with room for one more successor."""
        return state._replace(counts=counts_with_room(state.counts, step))

    def act(agent: Any, s: int, rng: np.random.Generator) -> int:
        """Act greedily on Q, ties broken uniformly."""
        return greedy_action(agent.q, s, rng.random())

    def update(agent: Any, step: Step) -> None:
        """Count."""
        count(agent.counts, step, agent.parameters.gamma)

    def test_policy(agent: Any, policy: FloatArray) -> None:
        """Greedy on Q_opt as planned before the running episode."""
        greedy_policy(agent.q_opt, policy)


@compilable
def optimum(p: Any) -> float:
    """Return what is hoped for where nothing is known."""
    return p.r_max / (1.0 - p.gamma) if np.isnan(p.q_init) else p.q_init


@compilable
def mean_rewards(agent: Any, reward: FloatArray) -> None:
    """Write R(s,a) of the pairs that were tried; r_min stands for what was never shown."""
    counts = agent.counts
    n_sm, n_am = counts.n_mon.shape
    for s in range(reward.shape[0]):
        for a in range(reward.shape[1]):
            if counts.n[s, a] > 0:
                se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
                reward[s, a] = agent.parameters.r_min
                if counts.n_env[se, ae] > 0:
                    reward[s, a] = counts.env_sum[se, ae] / counts.n_env[se, ae]
                reward[s, a] += counts.mon_sum[sm, am] / counts.n_mon[sm, am]


@compilable
def visited(agent: Any, times: int) -> Any:
    """[s, a] whether a pair was visited at least that many times."""
    n = agent.counts.n
    found = np.empty(n.shape, dtype=np.bool_)
    for s in range(found.shape[0]):
        for a in range(found.shape[1]):
            found[s, a] = n[s, a] >= times
    return found


@compilable
def plan_test(agent: Any, reward: FloatArray) -> None:
    """Improve Q_opt by some sweeps on the mean model, whose rewards are given."""
    p, tried = agent.parameters, visited(agent, 1)
    value_iteration(agent.counts.successors, tried, True, reward, p.gamma, p.sweeps, agent.q_opt)
