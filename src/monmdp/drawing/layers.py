"""Several numbers of the states of a world, a panel each.

A world with a map has a cell for each state. One with places (`MDP.places`) may have several states
at a place: their numbers are added up, or are means by given weights. Any other world is laid out
as in a heat map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from monmdp.drawing.canvas import LINE, Picture
from monmdp.drawing.heatmaps import colour_bar, colour_scale, fill_cells
from monmdp.drawing.icons import DARK, PAPER
from monmdp.drawing.labels import folded
from monmdp.drawing.sheet import GROUND, Sheet, draw_ground, sheet_of
from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import MDP

WIDEST = 12.0
"""inches of a figure"""
BESIDE = 1.1
"""inches for a colour bar"""


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


def draw_layers(mdp: MDP, layers: Sequence[Layer], *, title: str = "") -> Figure:
    """Draw a panel for each layer."""
    sheet, cell_of, corner = _ground(mdp)
    width, height = sheet.inches(0.5, 4.2)
    width = max(width, 1.8)
    across = max(1, min(len(layers), int(WIDEST / (width + BESIDE))))
    if len(layers) == 4 and across == 3:
        across = 2  # two and two
    down = -(-len(layers) // across)
    title = folded(title, across * (width + BESIDE))
    figure = Picture(
        across * (width + BESIDE), down * (height + 0.9) + 0.4 + LINE * title.count("\n")
    )
    figure.set_layout_engine("constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for ax in axes.flat[len(layers) :]:
        ax.axis("off")
    for ax, layer in zip(axes.flat, layers, strict=False):
        values = _combined(layer, cell_of, len(sheet.cells))
        if mdp.picture is None and mdp.places is not None:
            _draw_places(ax, sheet, corner)
        else:
            draw_ground(ax, mdp, sheet)
        drawn = fill_cells(ax, mdp, sheet, values, _scale(layer, values))
        ax.set_title(layer.title, fontsize=9, parse_math=False)
        if layer.how:
            ax.set_xlabel(layer.how, fontsize=7, color="0.35")
        colour_bar(figure, drawn, ax, "")
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


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
    reach = float(np.nanmax(np.abs(values), initial=0.0))
    signed = layer.signed and reach > 0
    return colour_scale(values, 0.0 if signed else None, (-reach, reach) if signed else None)


def _draw_places(ax: Axes, sheet: Sheet, corner: tuple[int, int]) -> None:
    """Empty cells; where no state is, it is dark."""
    sheet.set_axes(ax)
    ax.set_facecolor(GROUND)
    sheet.show(ax, sheet.in_cells(np.array(to_rgba(PAPER))))
    sheet.number_axes(ax)
    for axis, first in zip((ax.yaxis, ax.xaxis), corner, strict=True):
        ticks = axis.get_ticklocs()
        axis.set_ticks(ticks, [str(first + int(tick)) for tick in ticks])
    if sheet.detailed:
        sheet.rule(ax, color=DARK, linewidth=0.5, alpha=0.6, zorder=1.5)
