"""The ground that heat maps and policies are drawn on: one cell for each state of a world.

A world with a map has its own cells, and so has one whose states are called row,column. The states
of any other are laid out like the words on a page, a chain in one line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Circle, Rectangle

from monmdp.drawing.graph import is_chain
from monmdp.drawing.icons import DARK, ICONS, PAPER, button, letter, place
from monmdp.drawing.maps import MAX_DETAILED, number_axes, rows_of, shortened
from monmdp.model.arrays import IntArray
from monmdp.model.mdp import MDP
from monmdp.worlds.gridmap import WALL

CELL = re.compile(r"(\d{1,4}),(\d{1,4})")
"""the name of a state that is a cell"""
LONGEST_LINE = 20
"""states of a chain that stand in one line"""
MAX_NAMED = 100
"""with more states than this the cells of a world without a map have no names"""
GROUND = "#161616"
"""of walls: no colour map has it"""
CORNER = 0.29
"""how far an icon is moved from the middle of its cell, up and to the left"""


@dataclass(frozen=True)
class Sheet:
    """Where the states of a world lie."""

    height: int
    width: int
    cells: IntArray
    """[state, 2] row and column"""

    @property
    def detailed(self) -> bool:
        """Whether cells are large enough for icons and letters."""
        return max(self.height, self.width) <= MAX_DETAILED

    def inches(self, largest: float = 0.66, widest: float = 7.0) -> tuple[float, float]:
        """Width and height of the drawing, with cells of one size as far as they fit."""
        cell = min(largest, widest / max(self.height, self.width))
        return max(self.width * cell, 1.2), max(self.height * cell, 0.4)


def sheet_of(mdp: MDP) -> Sheet:
    """Lay out the states of a world."""
    if mdp.picture is not None:
        assert mdp.cells is not None
        rows = rows_of(mdp)
        return Sheet(len(rows), len(rows[0]), mdp.cells)
    named = [CELL.fullmatch(label) for label in mdp.state_labels]
    if all(named):
        cells = np.array([[int(part) for part in found.groups()] for found in named if found])
        height, width = (int(end) + 1 for end in cells.max(axis=0))
        if height * width <= 2 * mdp.n_states:
            return Sheet(height, width, cells)
    n = mdp.n_states
    width = n if n <= LONGEST_LINE and is_chain(mdp) else int(np.ceil(np.sqrt(n)))
    if n > MAX_NAMED:
        width += -width % 5  # the rows begin with round numbers
    return Sheet(-(-n // width), width, np.column_stack(np.divmod(np.arange(n), width)))


def draw_ground(ax: Axes, mdp: MDP, sheet: Sheet) -> None:
    """Draw empty cells, walls, small icons and the names of what has no map."""
    ax.set(xlim=(0, sheet.width), ylim=(sheet.height, 0), aspect="equal", facecolor=GROUND)
    if not sheet.detailed and min(sheet.width, sheet.height) * MAX_DETAILED < max(
        sheet.width, sheet.height
    ):
        ax.set_aspect("auto")  # a long row of tiny squares would be a mere line
    for spine in ax.spines.values():
        spine.set(edgecolor=DARK, linewidth=1.0)
    image = np.zeros((sheet.height, sheet.width, 4))
    image[sheet.cells[:, 0], sheet.cells[:, 1]] = _rgba(PAPER)
    extent = (0, sheet.width, sheet.height, 0)
    ax.imshow(image, extent=extent, interpolation="nearest", aspect=ax.get_aspect(), zorder=0)
    if mdp.picture is not None:
        number_axes(ax, sheet.height, sheet.width)
        if sheet.detailed:
            _draw_icons(ax, mdp)
    else:
        _draw_names(ax, mdp, sheet)
    if sheet.detailed:
        lines: dict[str, Any] = {"color": DARK, "linewidth": 0.5, "alpha": 0.6, "zorder": 1.5}
        ax.hlines(range(1, sheet.height), 0, sheet.width, **lines)
        ax.vlines(range(1, sheet.width), 0, sheet.height, **lines)


def divide_states(ax: Axes, sheet: Sheet) -> None:
    """Draw borders between states whose cells are divided themselves."""
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    squares = sheet.cells[:, None, ::-1] + square
    for colour, width in (("white", 2.6), (DARK, 1.0)):  # to be seen on light and on dark ground
        style: dict[str, Any] = {"facecolors": "none", "edgecolors": colour, "linewidths": width}
        ax.add_collection(PolyCollection(squares, zorder=1.6, **style), autolim=False)


def _rgba(colour: str) -> tuple[float, float, float, float]:
    from matplotlib.colors import to_rgba

    return to_rgba(colour)


def _draw_icons(ax: Axes, mdp: MDP) -> None:
    for row, tiles in enumerate(rows_of(mdp)):
        for column, tile in enumerate(tiles):
            patches = ICONS[tile]() if tile in ICONS else letter(tile)
            if patches and tile != WALL:
                x, y = column - CORNER, row - CORNER
                disc = Circle((x + 0.5, y + 0.5), 0.2, facecolor="white", alpha=0.8, zorder=1.9)
                ax.add_artist(disc)
                place(ax, patches, x, y, 0.34)
    if mdp.button is not None and mdp.cells is not None:
        row, column = mdp.cells[mdp.button[0]]
        place(ax, button(mdp.action_labels[mdp.button[1]]), float(column), float(row))


def _draw_names(ax: Axes, mdp: MDP, sheet: Sheet) -> None:
    """Name the states in their cells, or number the rows where they are many."""
    ax.set_xticks([])
    if mdp.n_states > MAX_NAMED:
        shown = range(0, sheet.height, -(-sheet.height // 25))
        ax.set_yticks([row + 0.5 for row in shown], [str(row * sheet.width) for row in shown])
        ax.tick_params(length=0, labelsize=7, labelcolor="#777777", pad=2)
        ax.set_ylabel("first state of the row", fontsize=8)
        return
    ax.set_yticks([])
    for name, (row, column) in zip(mdp.state_labels, sheet.cells, strict=True):
        text = shortened(name, 7)
        plate = Rectangle((column, row), 0.07 + 0.115 * len(text), 0.23, facecolor="white")
        plate.set(alpha=0.8, zorder=1.9)
        ax.add_artist(plate)
        ax.text(column + 0.05, row + 0.03, text, fontsize=5.5, va="top", zorder=2, parse_math=False)
