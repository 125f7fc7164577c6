"""What text and pictures both need: names, short titles, the rows of a map, checks of arguments."""

from __future__ import annotations

import reprlib
import textwrap
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model.mdp import MDP
from monmdp.model.monmdp import MonMDP
from monmdp.worlds.gridmap import TILES, WALL

MAX_DETAILED = 30
"""grids with more rows or columns are drawn in plain colours, without icons"""
WATER = "~"
"""tile of River Swim, which is no grid map"""
DIRECTIONS = {"LEFT": (0, -1), "DOWN": (1, 0), "RIGHT": (0, 1), "UP": (-1, 0)}
"""row and column step of the actions that move, whatever their index in a world"""

LETTER = 0.083
"""inches that a letter of a title is wide"""
TITLE_LINES = 3
"""longer titles are cut"""


def demand_world(mdp: Any, what: str) -> None:
    """Refuse anything but a world; `what` is the function to name."""
    if isinstance(mdp, MonMDP):
        raise MonMDPError(f"{what} takes the world: pass problem.mdp")
    if not isinstance(mdp, MDP):
        raise MonMDPError(f"{what} takes the world, an MDP; got {brief(mdp)}")


def demand_problem(monmdp: Any, what: str) -> None:
    """Refuse anything but a problem; `what` is the function to name."""
    if isinstance(monmdp, MDP):
        raise MonMDPError(f"{what} takes the problem: pass make(world, monitor), not the world")
    if not isinstance(monmdp, MonMDP):
        raise MonMDPError(f"{what} takes the problem, a MonMDP; got {brief(monmdp)}")


def brief(thing: Any) -> str:
    """Describe a wrong argument in a few words, however long it is."""
    text = " ".join(reprlib.repr(thing).split())
    return f"{type(thing).__name__} {shortened(text, 60)}"


def action_names(mdp: MDP) -> tuple[str, ...]:
    """Name the actions for a legend; a bare number becomes ``action 0``."""
    return tuple(f"action {a}" if a.isdecimal() else a for a in mdp.action_labels)


def folded(text: str, inches: float, most: int = TITLE_LINES) -> str:
    """Fold a title into lines that fit into that many inches; cut what is too long."""
    return "\n".join(fold(text, max(12, int(inches / LETTER)), most))


def fold(text: str, letters: int, most: int) -> list[str]:
    """Fold a text into lines of that many letters; what needs more lines is cut."""
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, letters) or [""]]
    return (
        lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1][: letters - 1] + "…"]
    )


def rows_of(mdp: MDP) -> tuple[str, ...]:
    """Return the rows of the map, padded with walls to the same length."""
    picture = mdp.picture or ()
    width = max(len(row) for row in picture)
    return tuple(row.ljust(width, WALL) for row in picture)


def tile_name(tile: str) -> str:
    """Name a tile in a word or two."""
    if tile in TILES:
        return TILES[tile].meaning.partition(":")[0]
    return {WALL: "wall", WATER: "water"}.get(tile, f"tile {tile}")


def marked_states(mdp: MDP, agent: int | None) -> list[int]:
    """Return the states to mark: the agent's, or all in which an episode may start."""
    if agent is not None:
        return [mdp.find_state(agent)]
    return [int(s) for s in np.flatnonzero(mdp.start > 0)]


def shortened(text: str, width: int) -> str:
    """Return `text`, cut to `width` characters with an ellipsis where it is longer."""
    return text if len(text) <= width else text[: width - 1] + "…"


def apart(texts: Iterable[str], width: int) -> int:
    """Return to how many characters texts can be cut, at least `width`, and be told apart.

    >>> from monmdp.drawing.labels import apart, shortened
    >>> names = ["door open, key in hand", "door open, key on the floor", "start"]
    >>> apart(names, 10), [shortened(name, apart(names, 10)) for name in names]
    (17, ['door open, key i…', 'door open, key o…', 'start'])
    """
    ordered = sorted(set(texts))
    return max([width, *(2 + _alike(*pair) for pair in pairwise(ordered))])


def _alike(one: str, other: str) -> int:
    """With how many characters both texts begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
