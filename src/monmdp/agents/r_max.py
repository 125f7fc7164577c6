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
from typing import Any

import numpy as np

from monmdp.agents.classical import Explorer, mean_rewards, plan_test, visited
from monmdp.agents.learnt_model import value_iteration
from monmdp.model.mdp import whole_number


@dataclass(frozen=True, kw_only=True)
class RMax(Explorer):
    """R-max, pessimistic about known pairs whose reward was never shown; its hyper-parameters."""

    name = "r-max"
    label = "R-max"
    colour = "#aa11aa"
    microseconds = (1.0, 0.0060)

    m: int = 80
    """visits after which a joint pair is known"""

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        whole_number(self.m, "m", at_least=1)

    def begin_episode(agent: Any, rng: np.random.Generator) -> bool:
        """Plan what to do and what to be tested with; no episode is there to observe."""
        p, known = agent.parameters, visited(agent, agent.parameters.m)
        reward = np.empty(agent.q.shape)
        mean_rewards(agent, reward)
        value_iteration(agent.counts.successors, known, True, reward, p.gamma, p.sweeps, agent.q)
        plan_test(agent, reward)
        return False
