"""Finite Mon-MDPs as frozen arrays: `MDP`, `Monitor`, and `MonMDP` = `join(mdp, monitor)`."""

from monmdp.model.mdp import MDP
from monmdp.model.monitor import Monitor
from monmdp.model.monmdp import MonMDP, join

__all__ = ["MDP", "MonMDP", "Monitor", "join"]
