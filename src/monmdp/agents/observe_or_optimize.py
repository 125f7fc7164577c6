"""What Monitored MBIE-EB does whether or not the monitor is known ("Practical Implementation").

Episodes observe or optimize by a schedule, actions are greedy on Q_obs or Q_opt, and the test
policy is greedy on Q_opt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from monmdp.agents.greedy import greedy_action, greedy_policy
from monmdp.agents.planner import Planner
from monmdp.compiling import compilable
from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray

Schedule = Literal["paper", "released", "constant"]

SCHEDULE = {"paper": 0, "released": 1, "constant": 2}
"""what compiled code sees of a schedule"""


@dataclass(frozen=True, kw_only=True)
class ObserveOrOptimize(Planner):
    """Hyper-parameters that both agents have; the defaults are the paper's."""

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

    def snapshot(self, state: Any) -> dict[str, Any]:
        """Return copies of counts and action values, the test policy, and k, κ, and which kind."""
        return super().snapshot(state) | {"episodes": state.episodes.copy()}


@compilable
def observes(k: int, kappa: int, schedule: int, log_base: float, kappa_star: float) -> bool:
    """Return whether episode k = 1, 2, … observes, after κ episodes that did."""
    if schedule == 2:
        return kappa <= kappa_star
    if schedule == 1:
        return math.log(k - 1 + 1e-4) / math.log(log_base) > kappa
    return kappa <= math.log(k) / math.log(log_base)


@compilable
def act(agent: Any, s: int, rng: np.random.Generator) -> int:
    """Act greedily on Q_obs or Q_opt, ties broken uniformly."""
    q = agent.q_obs if agent.episodes[2] else agent.q_opt
    return greedy_action(q, s, rng.random())


@compilable
def test_policy(agent: Any, policy: FloatArray) -> None:
    """Greedy on Q_opt as planned before the running episode."""
    greedy_policy(agent.q_opt, policy)
