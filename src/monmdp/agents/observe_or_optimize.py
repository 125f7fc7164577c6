"""What Monitored MBIE-EB does whether or not the monitor is known ("Practical Implementation").

Confidence grows with the counts, episodes observe or optimize by a schedule, actions are greedy on
Q_obs or Q_opt, and the test policy is greedy on Q_opt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from monmdp.agents.base import AgentConfig, at_least_zero
from monmdp.agents.greedy import greedy_action, greedy_policy
from monmdp.compiling import compilable
from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray
from monmdp.model.mdp import whole_number

Growth = Literal["paper", "log", "none"]
Schedule = Literal["paper", "released"]

# What compiled code sees of the two choices above.
GROWTH = {"paper": 0, "log": 1, "none": 2}
SCHEDULE = {"paper": 0, "released": 1}


@dataclass(frozen=True, kw_only=True)
class ObserveOrOptimize(AgentConfig):
    """Hyper-parameters that both agents have; the defaults are the paper's."""

    q_opt_init: float = 1.0
    """Q_opt where nothing was tried, no less than any value (the paper: 1, River Swim 30)"""
    q_obs_init: float = 100.0
    """Q_obs where nothing was tried"""
    beta: float = 5e-4
    """β, scale of the bonus for p"""
    beta_e: float = 5e-4
    """βᵉ, scale of the bonus for rᵉ"""
    log_base: float = 1.005
    """b in κ*(k) = log_b k; nearer to 1 means more observe episodes"""
    growth: Growth = "paper"
    """g, how confidence grows: 1 + x ln²x with x = ln N (paper), ln(1 + N ln²N) (log), 1 (none)"""
    schedule: Schedule = "paper"
    """observe iff κ ≤ log_b k (paper), or iff log_b(k - 1 + 10⁻⁴) > κ (the released code)"""
    sweeps: int = 50
    """sweeps of value iteration before an episode"""

    def check(self) -> None:
        """Refuse what is out of range."""
        at_least_zero(self, "beta", "beta_e")
        whole_number(self.sweeps, "sweeps", at_least=1)
        if self.log_base <= 1:
            raise MonMDPError(f"log_base must be above 1, got {self.log_base:g}")


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


@compilable
def observes(k: int, kappa: int, log_base: float, schedule: int) -> bool:
    """Return whether episode k = 1, 2, … observes, after κ episodes that did."""
    if schedule == 0:
        return kappa <= math.log(k) / math.log(log_base)
    return math.log(k - 1 + 1e-4) / math.log(log_base) > kappa


@compilable
def act(agent: Any, s: int, rng: np.random.Generator) -> int:
    """Act greedily on Q_obs or Q_opt, ties broken uniformly."""
    q = agent.q_obs if agent.episodes[2] else agent.q_opt
    return greedy_action(q, s, rng.random())


@compilable
def test_policy(agent: Any, policy: FloatArray) -> None:
    """Greedy on Q_opt as planned before the running episode."""
    greedy_policy(agent.q_opt, policy)
