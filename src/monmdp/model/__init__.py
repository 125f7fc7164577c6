"""Finite Mon-MDPs as frozen arrays: `MDP`, `Monitor`, and `MonMDP` = `join(mdp, monitor)`."""

from monmdp.model.evidence import Evidence, FittedMonMDP
from monmdp.model.mdp import MDP
from monmdp.model.monitor import Monitor
from monmdp.model.monmdp import MonMDP, join

__all__ = ["MDP", "Evidence", "FittedMonMDP", "MonMDP", "Monitor", "join"]
