"""Exact planning: what can be seen, optimal and minimax-optimal policies, exact evaluation."""

from monmdp.planning.decision import Contender, Decision, Need, decide
from monmdp.planning.instrumentation import Candidate, Instrumentation, Purchase, instrument
from monmdp.planning.observability import (
    Bias,
    Observability,
    biased_pairs,
    observability,
    remarks,
    worst_case,
)
from monmdp.planning.policy_evaluation import Evaluation, evaluate
from monmdp.planning.policy_iteration import Optimum, optimal
from monmdp.planning.solution import Solution, WhatIf, gain_of_all, minimax, solve, what_if

__all__ = [
    "Bias",
    "Candidate",
    "Contender",
    "Decision",
    "Evaluation",
    "Instrumentation",
    "Need",
    "Observability",
    "Optimum",
    "Purchase",
    "Solution",
    "WhatIf",
    "biased_pairs",
    "decide",
    "evaluate",
    "gain_of_all",
    "instrument",
    "minimax",
    "observability",
    "optimal",
    "remarks",
    "solve",
    "what_if",
    "worst_case",
]
