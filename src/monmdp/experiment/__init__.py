"""One run: the loop, evaluation, random streams, policies, episodes step by step."""

from monmdp.experiment.assembly import DEFAULT_AGENT, Assembled, assemble
from monmdp.experiment.judging import BiasAt, GammaWarning, Judge, Judgement, Loss
from monmdp.experiment.logs import draw_log
from monmdp.experiment.policy import Policy
from monmdp.experiment.recording import Record
from monmdp.experiment.rollout import Rollout, observing_policy, rollout
from monmdp.experiment.stable_baselines import sb3_callback
from monmdp.experiment.streams import Streams, fingerprint, streams
from monmdp.experiment.training import Run, Task, carry_out, prepare

__all__ = [
    "DEFAULT_AGENT",
    "Assembled",
    "BiasAt",
    "GammaWarning",
    "Judge",
    "Judgement",
    "Loss",
    "Policy",
    "Record",
    "Rollout",
    "Run",
    "Streams",
    "Task",
    "assemble",
    "carry_out",
    "draw_log",
    "fingerprint",
    "observing_policy",
    "prepare",
    "rollout",
    "sb3_callback",
    "streams",
]
