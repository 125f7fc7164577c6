"""What posterior sampling and R-max have in common: counts of joint pairs, and a plan for tests.

Both are classical explorers of MDPs, adapted to rewards that may be hidden. They count as Monitored
MBIE-EB does (`monitored_mbie_eb.update`) and plan twice before every episode. Q is planned on a
model of the explorer's own, and acted on. Q_opt is planned on the mean model

    R(s,a) = R̄ᵉ(sᵉ,aᵉ) where N(sᵉ,aᵉ) > 0, else r_min, + R̄ᵐ(sᵐ,aᵐ),    P̄(· | s,a)

in which pairs that were never tried are worth r_min/(1 - γ), r_min for ever. The test policy is
greedy on it: it hopes for nothing that was not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from monmdp.agents import layers
from monmdp.agents.base import AgentConfig, tried_with
from monmdp.agents.greedy import greedy_action, greedy_policy
from monmdp.agents.successors import no_successors, with_room
from monmdp.agents.value_iteration import value_iteration
from monmdp.agents.verbs import test_policy as write_test_policy
from monmdp.compiling import compilable
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import Shape


@dataclass(frozen=True, kw_only=True)
class Explorer(AgentConfig):
    """Hyper-parameters that both have; one default for all worlds."""

    snapshot_fields: ClassVar[tuple[str, ...]] = ("n", "n_env", "n_mon", "q", "q_opt")
    slow_verbs: ClassVar[tuple[str, ...]] = ("begin_episode",)
    explains: ClassVar[Mapping[str, str]] = {
        "q_opt": "Value of each action with the best monitor action in the mean of what was seen, "
        "with r_min for what was not, and r_min for ever for what was never tried; the test policy "
        "takes the largest. As planned when the running episode began.",
        "q": "Value of each action with the best monitor action in the model that the agent "
        "explores with; it acts on the largest. As planned when the running episode began.",
    }

    r_max: float = 1.0
    """the largest environment reward there can be"""
    q_init: float | None = None
    """Q where nothing is known; r_max/(1 - γ) if it is not given"""
    sweeps: int = 50
    """sweeps of value iteration of each plan before an episode"""

    def check(self) -> None:
        """Refuse what is out of range."""
        whole_number(self.sweeps, "sweeps", at_least=1)

    @property
    def optimum(self) -> float:
        """What is hoped for where nothing is known."""
        return self.r_max / (1.0 - self.gamma) if self.q_init is None else self.q_init

    def blank(self, shape: Shape, r_min: float, model: MonMDP | None) -> dict[str, Any]:
        """Return the part of the state that both have, of an agent that has seen nothing yet."""
        if self.r_max < r_min:
            raise MonMDPError(
                f"agent {self.name!r}: r_max = {self.r_max:g} is below r_min = {r_min:g}"
            )
        n_se, n_sm, n_ae, n_am = shape
        joint, env, mon = (n_se * n_sm, n_ae * n_am), (n_se, n_ae), (n_sm, n_am)
        _, capacity = tried_with(shape, model)
        return {
            "n": np.zeros(joint, dtype=np.int64),
            "n_state": np.zeros(joint[0], dtype=np.int64),
            "n_env": np.zeros(env, dtype=np.int64),
            "n_env_state": np.zeros(n_se, dtype=np.int64),
            "env_sum": np.zeros(env),
            "n_mon": np.zeros(mon, dtype=np.int64),
            "n_mon_state": np.zeros(n_sm, dtype=np.int64),
            "mon_sum": np.zeros(mon),
            "successors": no_successors(capacity),
            "q": np.full(joint, self.optimum),
            "q_opt": np.full(joint, r_min / (1.0 - self.gamma)),
        }

    def with_room(self, state: Any, s: int, a: int, next_s: int) -> Any:
        """Return a state with room for one more successor."""
        pair = s * state.n.shape[1] + a
        return state._replace(successors=with_room(state.successors, pair, next_s))

    def snapshot(self, state: Any) -> dict[str, Any]:
        """Return copies of counts and action values, and the test policy."""
        policy = np.zeros(state.n.shape)
        write_test_policy(state, policy)
        return super().snapshot(state) | {"policy": policy}

    def layers(self, snapshot: Mapping[str, Any], monmdp: MonMDP) -> layers.Layers:
        """Return what one snapshot says of the cells of a map."""
        shape = monmdp.shape
        return (
            layers.counted(
                layers.by_parts(snapshot["n"], shape), layers.everywhere(snapshot["n_env"], shape)
            )
            | layers.best(snapshot, ("q_opt", "q"), shape)
            | layers.followed(snapshot, shape)
        )


@compilable
def act(agent: Any, s: int, rng: np.random.Generator) -> int:
    """Act greedily on Q, ties broken uniformly."""
    return greedy_action(agent.q, s, rng.random())


@compilable
def test_policy(agent: Any, policy: FloatArray) -> None:
    """Greedy on Q_opt as planned before the running episode."""
    greedy_policy(agent.q_opt, policy)


@compilable
def mean_rewards(agent: Any, reward: FloatArray) -> None:
    """Write R(s,a) of the pairs that were tried; r_min stands for what was never shown."""
    n_sm, n_am = agent.n_mon.shape
    for s in range(reward.shape[0]):
        for a in range(reward.shape[1]):
            if agent.n[s, a] > 0:
                se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
                reward[s, a] = agent.parameters.r_min
                if agent.n_env[se, ae] > 0:
                    reward[s, a] = agent.env_sum[se, ae] / agent.n_env[se, ae]
                reward[s, a] += agent.mon_sum[sm, am] / agent.n_mon[sm, am]


@compilable
def visited(agent: Any, times: int) -> Any:
    """[s, a] whether a pair was visited at least so many times."""
    found = np.empty(agent.n.shape, dtype=np.bool_)
    for s in range(found.shape[0]):
        for a in range(found.shape[1]):
            found[s, a] = agent.n[s, a] >= times
    return found


@compilable
def plan_test(agent: Any, reward: FloatArray) -> None:
    """Improve Q_opt by some sweeps on the mean model, whose rewards are given."""
    p, tried = agent.parameters, visited(agent, 1)
    value_iteration(agent.successors, tried, True, reward, p.gamma, p.sweeps, agent.q_opt)
