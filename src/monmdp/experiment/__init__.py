"""Training: the loop, evaluation, runs over seeds, and policies."""

from monmdp.experiment.comparison import Comparison, compare
from monmdp.experiment.policy import Policy
from monmdp.experiment.request import Request, request
from monmdp.experiment.rollout import Rollout, observing_policy, rollout
from monmdp.experiment.seeds import train_seeds
from monmdp.experiment.streams import Streams, fingerprint, streams
from monmdp.experiment.summary import Summary, draw_runs, regret, steps_to_minimax, summarize
from monmdp.experiment.training import Run, Task, prepare, train

__all__ = [
    "Comparison",
    "Policy",
    "Request",
    "Rollout",
    "Run",
    "Streams",
    "Summary",
    "Task",
    "compare",
    "draw_runs",
    "fingerprint",
    "observing_policy",
    "prepare",
    "regret",
    "request",
    "rollout",
    "steps_to_minimax",
    "streams",
    "summarize",
    "train",
    "train_seeds",
]
