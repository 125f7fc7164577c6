"""R-max: whatever has not been tried m times is the best there can be (Brafman and Tennenholtz).

A joint pair is *known* once N(s,a) ≥ m. Before every episode Q is improved by sweeps of value
iteration on

    R(s,a) = R̄ᵉ(sᵉ,aᵉ) where N(sᵉ,aᵉ) > 0, else r_min, + R̄ᵐ(sᵐ,aᵐ),    P̄(· | s,a)

for the known pairs, while all others stay at r_max/(1 - γ); actions are greedy on Q. Of a hidden
reward the original has nothing to say. Here the m visits that make a pair known are also the tries
that it is given to show its reward, and a reward not shown by then counts as r_min. Means go on
being improved after that, and a reward that is shown late replaces r_min.

The test policy is greedy on a plan of its own (`classical`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from monmdp.agents.classical import Explorer, act, mean_rewards, plan_test, test_policy, visited
from monmdp.agents.monitored_mbie_eb import update
from monmdp.agents.successors import Successors
from monmdp.agents.value_iteration import value_iteration
from monmdp.compiling import implement
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import Shape


@dataclass(frozen=True, kw_only=True)
class RMax(Explorer):
    """R-max, pessimistic about known pairs whose reward was never shown; its hyper-parameters."""

    name: ClassVar[str] = "r-max"

    m: int = 80
    """visits after which a joint pair is known"""

    @property
    def takes_unseen_for(self) -> str:
        """What a reward that was tried and never shown counts as, in words."""
        return "r_min"

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        whole_number(self.m, "m", at_least=1)

    def state(self, shape: Shape, r_min: float, model: MonMDP | None = None) -> State:
        """Return the state of an agent that has seen nothing yet."""
        parameters = Parameters(gamma=self.gamma, m=self.m, sweeps=self.sweeps, r_min=r_min)
        return State(parameters=parameters, **self.blank(shape, r_min, model))


class Parameters(NamedTuple):
    """The hyper-parameters as compiled code reads them."""

    gamma: float
    m: int
    sweeps: int
    r_min: float


class State(NamedTuple):
    """All that the agent knows; the counts are those of Monitored MBIE-EB."""

    parameters: Parameters
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
    q: FloatArray
    """[s, a] optimistic values, acted on"""
    q_opt: FloatArray
    """[s, a] pessimistic values, tested"""


def begin_episode(agent: State, rng: np.random.Generator) -> bool:
    """Plan what to do and what to be tested with; no episode is there to observe."""
    p, known = agent.parameters, visited(agent, agent.parameters.m)
    reward = np.empty(agent.n.shape)
    mean_rewards(agent, reward)
    value_iteration(agent.successors, known, True, reward, p.gamma, p.sweeps, agent.q)
    plan_test(agent, reward)
    return False


implement(State, begin_episode=begin_episode, act=act, update=update, test_policy=test_policy)
