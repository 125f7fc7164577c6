"""Several numbers of the states of a world, a panel each.

A world with a map has a cell for each state. One with places (`MDP.places`) may have several states
at a place: their numbers are added up, or are means by given weights. Any other world is laid out
as in a heat map. Small marks say where episodes start, where the goal is, and where rewards are ⊥.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from monmdp.drawing.canvas import LINE, SEQUENTIAL, Picture
from monmdp.drawing.heatmaps import colour_bar, colour_scale, fill_cells
from monmdp.drawing.icons import icon, letter, robot
from monmdp.drawing.labels import folded, marked_states
from monmdp.drawing.sheet import CORNER, Sheet, draw_cells, draw_ground, place_small, sheet_of
from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import MDP

WIDEST = 12.0
"""inches of a figure"""
BESIDE = 1.1
"""inches for a colour bar"""
LARGEST = 4.2
"""inches of a panel"""
NOTHING = 1e-9
"""sums below it are rounding, and are drawn as 0"""
ROOMY = 12
"""rows or columns, at most, of a grid whose cells have room for a mark in a corner"""
MAX_STARTS = 4
"""cells in which episodes may start; if there are more, none is marked"""


@dataclass(frozen=True, eq=False)
class Layer:
    """A number for each state, and how several at a place become one."""

    title: str
    values: FloatArray
    """[sᵉ]; NaN is hatched"""
    weights: FloatArray | None = None
    """[sᵉ] of a mean; where all are 0 it is the plain mean; None: they are added up"""
    how: str = ""
    """said below the panel: how they become one"""
    signed: bool = False
    """whether negative numbers are orange and positive ones blue, and 0 has the lightest colour"""
    logarithmic: bool = False
    """whether colours tell sums by their logarithm, down to 1 % of the largest"""


def draw_layers(
    mdp: MDP, layers: Sequence[Layer], *, title: str = "", agent: int | None = None
) -> Figure:
    """Draw a panel for each layer, with a robot where the agent is, or where episodes start."""
    sheet, cell_of, corner = _ground(mdp)
    n = len(layers)
    # An even number stands in rows of equal length. Three panels shrink to fit into one row.
    width, height = sheet.inches(0.5, LARGEST if n % 2 == 0 else min(LARGEST, WIDEST / n - BESIDE))
    width = max(width, 1.8)
    across = n if n * (width + BESIDE) <= WIDEST else n // 2
    down = -(-n // across)
    title = folded(title, across * (width + BESIDE))
    figure = Picture(
        across * (width + BESIDE), down * (height + 0.9) + 0.6 + LINE * title.count("\n")
    )
    figure.set_layout_engine("constrained")
    axes = figure.subplots(down, across, squeeze=False)
    marks = _marks(mdp, cell_of, agent) if sheet.detailed else ()
    for ax, layer in zip(axes.flat, layers, strict=True):
        values = _combined(layer, cell_of, len(sheet.cells))
        if mdp.picture is None and mdp.places is not None:
            _draw_places(ax, sheet, corner)
        else:
            draw_ground(ax, mdp, sheet)
        drawn = fill_cells(ax, mdp, sheet, values, _scale(layer, values))
        for mark in marks:
            mark.draw(ax, sheet)
        ax.set_title(layer.title, fontsize=9, parse_math=False)
        if layer.how:
            ax.set_xlabel(layer.how, fontsize=7, color="0.35")
        colour_bar(figure, drawn, ax, "")
    words = [mark.words for mark in marks]
    if any(np.isnan(_combined(layer, cell_of, len(sheet.cells))).any() for layer in layers):
        words.append("hatched: nothing is done there")
    if words:
        meant = "; ".join(words)
        figure.supxlabel(meant, fontsize=8, color="0.35", parse_math=False)
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


@dataclass(frozen=True)
class _Mark:
    """A small icon in the corner of some cells."""

    words: str
    """what it means"""
    patches: Callable[[], Sequence[Patch]]
    cells: IntArray
    corner: tuple[int, int]
    """-1 or 1: left or right, up or down"""

    def draw(self, ax: Axes, sheet: Sheet) -> None:
        """In the corner, or in the whole cell if cells are small."""
        roomy = max(sheet.height, sheet.width) <= ROOMY
        right, down = (CORNER * side if roomy else 0.0 for side in self.corner)
        for row, column in sheet.cells[self.cells]:
            x, y = float(column + right), float(row + down)
            place_small(ax, self.patches(), x, y, 1.0 if roomy else 2.4)


def _marks(mdp: MDP, cell_of: IntArray, agent: int | None = None) -> list[_Mark]:
    """The agent or the start, and what no map shows: goal, ⊥ and where episodes end otherwise."""
    into, pair = mdp.successor, mdp.pair_of_outcome
    words = "robot: start" if agent is None else "robot: the agent"
    here = _cells(cell_of[marked_states(mdp, agent)])
    marks = [_Mark(words, robot, here, (1, -1))] if len(here) <= MAX_STARTS else []
    if mdp.picture is not None:
        return marks
    is_goal = mdp.goal.reshape(-1)[pair]
    if not mdp.goal.any():  # then it is where an episode ends well
        is_goal = mdp.terminates & (mdp.reward > 0) & (mdp.reward == mdp.reward.max())
    elsewhere = mdp.terminates & ~is_goal
    ends = np.setdiff1d(_cells(cell_of[into[elsewhere]]), _cells(cell_of[into[is_goal]]))
    bottom = cell_of[mdp.bottom] if mdp.bottom.any() else cell_of[into[mdp.hidden]]
    marks += [
        _Mark("G: goal", lambda: letter("G"), _cells(cell_of[into[is_goal]]), (1, 1)),
        _Mark("×: the episode ends", lambda: letter("×"), ends, (1, 1)),
        _Mark("⊥: reward never shown", lambda: icon("?"), _cells(bottom), (-1, 1)),
    ]
    return [mark for mark in marks if len(mark.cells)]


def _cells(found: IntArray) -> IntArray:
    cells: IntArray = np.unique(found[found >= 0])
    return cells


def _ground(mdp: MDP) -> tuple[Sheet, IntArray, tuple[int, int]]:
    """Where the cells lie, [sᵉ] the cell of each state, -1 for none, and the first row and column.

    Of places, rows and columns before the first one and after the last one are left out.
    """
    if mdp.picture is not None or mdp.places is None:
        return sheet_of(mdp), np.arange(mdp.n_states), (0, 0)
    somewhere = mdp.places[:, 0] >= 0
    if not somewhere.any():
        raise MonMDPError(f"{mdp.name}: no state has a place")
    cells, which = np.unique(mdp.places[somewhere], axis=0, return_inverse=True)
    cell_of = np.full(mdp.n_states, -1, dtype=np.int64)
    cell_of[somewhere] = which.reshape(-1)
    top, left = (int(first) for first in cells.min(axis=0))
    cells -= (top, left)
    height, width = (int(end) + 1 for end in cells.max(axis=0))
    return Sheet(height, width, cells), cell_of, (top, left)


def _combined(layer: Layer, cell_of: IntArray, n: int) -> FloatArray:
    """[cell] the numbers of the states there, as one; NaN where none of them has a number."""
    there = (cell_of >= 0) & ~np.isnan(layer.values)
    cell, values = cell_of[there], layer.values[there]
    count = np.bincount(cell, minlength=n)
    if layer.weights is None:
        return np.where(count > 0, np.bincount(cell, values, minlength=n), np.nan)
    total = np.bincount(cell, layer.weights[there], minlength=n)
    plain = total[cell] <= 0
    weights = np.where(plain, 1.0, layer.weights[there])
    total = np.bincount(cell, weights, minlength=n)
    mean = np.bincount(cell, weights * values, minlength=n) / np.where(total > 0, total, 1.0)
    return np.where(count > 0, mean, np.nan)


def _scale(layer: Layer, values: FloatArray) -> dict[str, Any]:
    """The colours: about 0 if signed, from 0 on for sums of what is never negative."""
    reach = float(np.nanmax(np.abs(values), initial=0.0))
    if layer.signed and reach > 0:
        return colour_scale(values, 0.0, (-reach, reach))
    if layer.logarithmic and reach > NOTHING:
        norm = SymLogNorm(linthresh=reach / 100, linscale=0.5, vmin=0.0, vmax=reach)
        return {"cmap": SEQUENTIAL, "norm": norm}
    if layer.weights is None and not np.nanmin(values, initial=0.0) < 0:
        return colour_scale(values, None, (0.0, reach if reach > NOTHING else 1.0))
    return colour_scale(values, None, None)


def _draw_places(ax: Axes, sheet: Sheet, corner: tuple[int, int]) -> None:
    """Empty cells, numbered as the places are."""
    draw_cells(ax, sheet)
    sheet.number_axes(ax)
    for axis, first in zip((ax.yaxis, ax.xaxis), corner, strict=True):
        ticks = axis.get_ticklocs()
        axis.set_ticks(ticks, [str(first + int(tick)) for tick in ticks])
