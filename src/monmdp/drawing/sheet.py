"""The ground that worlds, heat maps and policies are drawn on: one cell for each state of a world.

A world with a map has its own cells, and so does one whose states are named row,column. The states
of any other are laid out like the words on a page, a chain in one line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Patch, Rectangle

from monmdp.drawing.canvas import LINE, Picture
from monmdp.drawing.graph import is_chain
from monmdp.drawing.icons import DARK, PAPER, button, icon, place
from monmdp.drawing.labels import MAX_DETAILED, folded, rows_of, shortened
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import MDP
from monmdp.model.monmdp import MonMDP
from monmdp.worlds.gridmap import WALL

CELL = re.compile(r"(\d{1,4}),(\d{1,4})")
"""the name of a state that is a cell"""
LONGEST_LINE = 20
"""a chain of at most this many states stands in one line"""
MAX_NAMED = 100
"""with more states than this, the cells of a world without a map have no names"""
GROUND = "#161616"
"""of walls: no colour map has it"""
MAX_PANELS = 12
"""monitor states that have a panel"""
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
        """Width and height of the drawing; its cells are `largest` unless that is too wide."""
        cell = min(largest, widest / max(self.height, self.width))
        return max(self.width * cell, 1.2), max(self.height * cell, 0.4)

    def set_axes(self, ax: Axes) -> None:
        """Make each cell a unit square, rows counted downwards, with a border around them all."""
        # A long row of tiny squares would be a mere line.
        is_line = not self.detailed and (
            min(self.width, self.height) * MAX_DETAILED < max(self.width, self.height)
        )
        aspect = "auto" if is_line else "equal"
        ax.set(xlim=(0, self.width), ylim=(self.height, 0), aspect=aspect)
        for spine in ax.spines.values():
            spine.set(edgecolor=DARK, linewidth=1.0)

    def number_axes(self, ax: Axes) -> None:
        """Number the rows and columns, or some of them where there are many."""
        for axis, n in ((ax.xaxis, self.width), (ax.yaxis, self.height)):
            shown = range(0, n, 1 if n <= MAX_DETAILED else int(np.ceil(n / 10)))
            axis.set_ticks([i + 0.5 for i in shown], [str(i) for i in shown])
        ax.tick_params(length=0, labelsize=7, labelcolor="#777777", pad=2)

    def show(self, ax: Axes, image: FloatArray, zorder: float = 0) -> None:
        """Colour the cells, [row, column, 4]."""
        extent = (0, self.width, self.height, 0)
        style: dict[str, Any] = {"interpolation": "nearest", "aspect": ax.get_aspect()}
        ax.imshow(image, extent=extent, zorder=zorder, **style)

    def in_cells(self, colours: FloatArray) -> FloatArray:
        """Return [row, column, 4] the colours [state, 4], or one for all; walls are transparent."""
        image = np.zeros((self.height, self.width, 4))
        image[self.cells[:, 0], self.cells[:, 1]] = colours
        return image

    def rule(self, ax: Axes, **style: Any) -> None:
        """Draw lines between the cells."""
        ax.hlines(range(1, self.height), 0, self.width, **style)
        ax.vlines(range(1, self.width), 0, self.height, **style)


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


def world_of(monmdp: MonMDP) -> MDP:
    """Return the world as it is drawn for a problem: without a button that does nothing there."""
    works = len(monmdp.monitor.transition) > 1
    return monmdp.mdp if works else replace(monmdp.mdp, button=None)


def draw_ground(ax: Axes, mdp: MDP, sheet: Sheet) -> None:
    """Draw empty cells, walls and small icons, or the states' names where there is no map."""
    draw_cells(ax, sheet)
    if mdp.picture is not None:
        sheet.number_axes(ax)
        if sheet.detailed:
            _draw_small_icons(ax, mdp)
            draw_button(ax, mdp, sheet)
    else:
        _draw_names(ax, mdp, sheet)


def draw_cells(ax: Axes, sheet: Sheet) -> None:
    """Draw empty cells; where there is none, it is dark."""
    sheet.set_axes(ax)
    ax.set_facecolor(GROUND)
    sheet.show(ax, sheet.in_cells(np.array(to_rgba(PAPER))))
    if sheet.detailed:
        sheet.rule(ax, color=DARK, linewidth=0.5, alpha=0.6, zorder=1.5)


def draw_button(ax: Axes, mdp: MDP, sheet: Sheet) -> None:
    """Draw the monitor's button, if the world has one."""
    if mdp.button is not None:
        row, column = sheet.cells[mdp.button[0]]
        place(ax, button(mdp.action_labels[mdp.button[1]]), float(column), float(row))


def world_panels(mdp: MDP, n: int, beside: float) -> tuple[Figure, Sheet, list[Axes]]:
    """Make a figure with panels for `n` drawings of a world, and `beside` inches next to them."""
    sheet = sheet_of(mdp)
    width, height = sheet.inches() if n == 1 else sheet.inches(0.5, 4.5)
    across = max(1, min(n, int(11.0 / (width + 0.4))))
    down = -(-n // across)
    figure = Picture(max(across * (width + 0.45), 2.2) + beside, down * (height + 0.6) + 0.5)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for ax in grid.flat[n:]:
        ax.axis("off")
    return figure, sheet, list(grid.flat[:n])


def write_title(figure: Figure, title: str, left_out: int) -> None:
    """Write the title above all panels, and how many monitor states have none."""
    more = f"\n(… and {left_out} more monitor state{'s' if left_out > 1 else ''})"
    width, height = figure.get_size_inches()
    text = folded(title, width - 0.2) + (more if left_out else "")
    figure.set_size_inches(width, height + LINE * text.count("\n"))
    figure.suptitle(text, fontsize=10, parse_math=False)


def _draw_small_icons(ax: Axes, mdp: MDP) -> None:
    for row, tiles in enumerate(rows_of(mdp)):
        for column, tile in enumerate(tiles):
            patches = icon(tile)
            if patches and tile != WALL:
                place_small(ax, patches, column - CORNER, row - CORNER)


def place_small(ax: Axes, patches: Sequence[Patch], x: float, y: float, scale: float = 1.0) -> None:
    """Put a small icon on a white disc into the middle of the cell that begins at (x, y)."""
    middle, radius = (x + 0.5, y + 0.5), 0.2 * scale
    ax.add_artist(Circle(middle, radius, facecolor="white", alpha=0.8, zorder=1.9))
    place(ax, patches, x, y, 0.34 * scale)


def _draw_names(ax: Axes, mdp: MDP, sheet: Sheet) -> None:
    """Name the states in their cells, or number the rows where there are many."""
    ax.set(xticks=[], yticks=[])
    if mdp.n_states > MAX_NAMED:
        shown = range(0, sheet.height, -(-sheet.height // 25))
        ax.set_yticks([row + 0.5 for row in shown], [str(row * sheet.width) for row in shown])
        ax.tick_params(length=0, labelsize=7, labelcolor="#777777", pad=2)
        ax.set_ylabel("first state of the row", fontsize=8)
        return
    for name, (row, column) in zip(mdp.state_labels, sheet.cells, strict=True):
        text = shortened(name, 7)
        plate = Rectangle((column, row), 0.07 + 0.115 * len(text), 0.23, facecolor="white")
        plate.set(alpha=0.8, zorder=1.9)
        ax.add_artist(plate)
        ax.text(column + 0.05, row + 0.03, text, fontsize=5.5, va="top", zorder=2, parse_math=False)
