"""Monitored Markov decision processes: reinforcement learning when the reward is sometimes hidden."""

__version__ = "0.1.0"
from monmdp.catalogue import make
