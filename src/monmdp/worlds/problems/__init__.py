"""Worlds that are kept as files, because what made them may change.

These are grids of MiniGrid, enumerated, with what an agent sees in each state. They need neither
MiniGrid nor anything else, and stay the same whatever MiniGrid does.
"""

from __future__ import annotations

from pathlib import Path

from monmdp.model.mdp import MDP
from monmdp.model.monmdp import MonMDP

FOLDER = Path(__file__).parent
NAMES = (
    "minigrid-empty",
    "minigrid-crossing",
    "minigrid-lava",
    "minigrid-doorkey",
    "minigrid-fourrooms",
)
"""the worlds in the order of the benchmark deep-v1"""


def stored(file: str) -> MDP:
    """Read a world.

    >>> from monmdp.worlds.problems import stored
    >>> stored("minigrid-lava")
    <MDP 'minigrid-lava': 183 states, 3 actions>
    """
    return MonMDP.load(FOLDER / f"{file}.npz").mdp
