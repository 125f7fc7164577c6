"""Make the five grids of the benchmark deep-v1 from MiniGrid, as files of the package.

The files are the benchmark; this says where they come from. Each grid is enumerated, rewards of two
cells on every shortest way are made ⊥, and it is checked that going around them costs something.
Needs the extra [minigrid]. tests/deep makes the grids anew and compares them with the files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import monmdp
from monmdp import worlds
from monmdp.worlds.problems import FOLDER

AGENT = 10
"""MiniGrid's number for the agent in the first layer of the full view"""
MOVES = "left,right,forward"
R_MIN = -1.0
"""the least reward there may be: what ⊥ is taken for"""
TIME_LIMIT = 100
GAMMA = 0.95
"""discount of the benchmark"""


@dataclass(frozen=True)
class Grid:
    """Where a world of the benchmark comes from."""

    env: str
    """MiniGrid's id"""
    bottom: tuple[tuple[int, int], ...]
    """(column, row) of the cells that pay ⊥ to who enters them"""
    seed: int = 0
    """of the reset, which draws the map"""
    actions: str = MOVES


GRIDS = {
    "minigrid-empty": Grid("MiniGrid-Empty-8x8-v0", ((5, 1), (6, 1))),
    "minigrid-crossing": Grid("MiniGrid-SimpleCrossingS9N1-v0", ((4, 6), (5, 5)), seed=3),
    "minigrid-lava": Grid("MiniGrid-LavaCrossingS9N1-v0", ((7, 1), (7, 2)), seed=1),
    "minigrid-doorkey": Grid(
        "MiniGrid-DoorKey-6x6-v0", ((1, 1), (2, 3)), actions=f"{MOVES},pickup,toggle"
    ),
    "minigrid-fourrooms": Grid("MiniGrid-FourRooms-v0", ((5, 12), (7, 12))),
}
"""name of the world -> how it is made"""


def enters(cells: tuple[tuple[int, int], ...]) -> Callable[[Any, int, Any], bool]:
    """Return the function that says whether a step enters one of the cells from elsewhere."""

    def hidden(seen: Any, _: int, then: Any) -> bool:
        return cell_of(seen) != cell_of(then) and cell_of(then) in cells

    return hidden


def cell_of(seen: Any) -> tuple[int, int]:
    """Return column and row of the agent in the full view [column, row, layer]."""
    ((column, row),) = np.argwhere(np.asarray(seen)[:, :, 0] == AGENT).tolist()
    return column, row


def made(name: str) -> monmdp.MDP:
    """Return a world of the benchmark, made from MiniGrid."""
    grid = GRIDS[name]
    mdp = worlds.from_environment(
        grid.env,
        seed=grid.seed,
        actions=grid.actions,
        hidden=enters(grid.bottom),
        button=(0, 0),  # the first state that is found is the start, the first action turns left
        r_min=R_MIN,
        time_limit=TIME_LIMIT,
        name=name,
    )
    assert mdp.places is not None
    assert mdp.start[0] == 1.0
    assert mdp.action_labels[0] == "left"
    cells = [(row, column) for column, row in grid.bottom]
    mdp = replace(
        mdp,
        bottom=[tuple(place) in cells for place in mdp.places.tolist()],
        goal=mdp.mean_reward > 0,
    )
    _check(mdp)
    return mdp


def _check(mdp: monmdp.MDP) -> None:
    """Demand that ⊥ lies on every shortest way, and that there is a way around it."""
    solution = monmdp.solve(monmdp.make(mdp, "ask"), gamma=GAMMA)
    assert not solution.solvable, "⊥ is never seen"
    assert solution.value > 0, "the goal can be reached without ⊥"
    assert solution.price > 0.02 * solution.value, "more than what a test may be off"


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=FOLDER)
    folder = parser.parse_args().out
    for name in GRIDS:
        problem = monmdp.make(made(name), "full")
        problem.save(folder / f"{name}.npz")
        size = (folder / f"{name}.npz").stat().st_size
        print(f"{name}: {problem.mdp.n_states} states, {size:,} bytes")


if __name__ == "__main__":
    main()
