"""The theory of the paper as code: the theorem's constants, its agent, and the 1/ρ law.

>>> import monmdp
>>> from monmdp import theory
>>> bounds = theory.bounds(monmdp.make("loop", "ask"), epsilon=0.1, delta=0.05)
>>> f"{bounds.m1:.2e} {bounds.kappa_star:.2e}"
'6.09e+13 1.10e+19'
"""

from monmdp.theory.bandit import BanditLaw, bandit_law, eliminate
from monmdp.theory.constants import (
    Bounds,
    Constants,
    Rewards,
    bounds,
    lower_bound,
    sample_complexity,
)
from monmdp.theory.theorem_agent import BadSteps, count_bad_steps, theorem_agent

__all__ = [
    "BadSteps",
    "BanditLaw",
    "Bounds",
    "Constants",
    "Rewards",
    "bandit_law",
    "bounds",
    "count_bad_steps",
    "eliminate",
    "lower_bound",
    "sample_complexity",
    "theorem_agent",
]
