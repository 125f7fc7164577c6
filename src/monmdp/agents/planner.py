"""What all agents that plan on a learnt model have in common: bonuses whose confidence grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from monmdp.agents.base import AgentConfig, at_least_zero
from monmdp.agents.verbs import test_policy
from monmdp.compiling import compilable
from monmdp.model.mdp import whole_number

Growth = Literal["paper", "log", "none"]

GROWTH = {"paper": 0, "log": 1, "none": 2}
"""what compiled code sees of a growth"""


@dataclass(frozen=True, kw_only=True)
class Planner(AgentConfig):
    """Hyper-parameters that they share; the defaults are the paper's."""

    slow_verbs: ClassVar[tuple[str, ...]] = ("begin_episode",)

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

    @property
    def takes_unseen_for(self) -> str:
        """What a reward that was tried and never shown counts as, in words."""
        return "r_min"

    def check(self) -> None:
        """Refuse what is out of range."""
        at_least_zero(self, "beta", "beta_e")
        whole_number(self.sweeps, "sweeps", at_least=1)

    def snapshot(self, state: Any) -> dict[str, Any]:
        """Return copies of counts and action values, and the test policy."""
        policy = np.zeros(state.q_opt.shape)
        test_policy(state, policy)
        return super().snapshot(state) | {"policy": policy}


@compilable
def growth_of(n: int, growth: int) -> float:
    """Return g(N) for a count N ≥ 1."""
    if growth == 2:
        return 1.0
    x = math.log(n)
    if growth == 1:
        return math.log(1.0 + n * x * x)
    if x == 0.0:
        return 1.0  # the limit: x ln²x → 0
    return 1.0 + x * math.log(x) * math.log(x)
