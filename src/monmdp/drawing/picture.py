"""Worlds as pictures: one world, or several on a sheet."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from monmdp.drawing.canvas import LINE, Picture
from monmdp.drawing.graph import MAX_NODES, draw_graph, graph_inches
from monmdp.drawing.icons import ACTION_COLOURS, BACKGROUND, PAPER, SOLID, icon, place, robot
from monmdp.drawing.labels import demand_world, folded, marked_states, rows_of, tile_name
from monmdp.drawing.layers import Layer, draw_layers
from monmdp.drawing.palette import BLUE, VERMILION
from monmdp.drawing.sheet import Sheet, draw_button, sheet_of
from monmdp.errors import MonMDPError
from monmdp.model.mdp import MDP

MAX_ROBOTS = 4
"""with more possible start cells the robots are small"""


def draw_world(
    mdp: MDP, *, ax: Axes | None = None, agent: int | None = None, title: str | None = None
) -> Figure:
    """Draw a world, with a robot where episodes start or where the agent is.

    A world without a map is drawn as a graph of its states. If there are many, it is drawn as the
    places where these are, if it has places, or as its transition matrix. Without `ax` a new figure
    is made; the title defaults to the world's name.

    >>> from monmdp import drawing, worlds
    >>> figure = drawing.draw_world(worlds.make("loop"), title="a small one")
    >>> drawing.save(figure, "loop.svg")
    """
    demand_world(mdp, "draw_world")
    large = mdp.n_states > MAX_NODES
    if ax is None and large and mdp.picture is None and mdp.places is not None:
        states = Layer("states at each place", np.ones(mdp.n_states))
        return draw_layers(mdp, [states], title=mdp.name if title is None else title, agent=agent)
    if title is None:
        is_matrix = mdp.picture is None and mdp.n_states > MAX_NODES
        title = mdp.name + (f": transition matrix of {mdp.n_states} states" if is_matrix else "")
    if ax is None:
        width, height = inches(mdp, cell=0.8, widest=12.0, highest=9.0)
        width = max(width, 2.4) + sum(margins(mdp)) + 0.5
        title = folded(title, width - 0.2)
        figure = Picture(width, height + 0.7 + LINE * title.count("\n"))
        # A long title is centred on the picture, a short one on the drawing.
        if "\n" in title:
            figure.suptitle(title, fontsize=10, parse_math=False)
            title = ""
        ax = figure.add_subplot()
        figure.set_layout_engine("tight")
    draw = _draw_graph_with_robots if mdp.picture is None else _draw_grid_with_robots
    draw(ax, mdp, marked_states(mdp, agent))
    ax.set_title(title, fontsize=10, parse_math=False)
    return ax.figure.figure


def gallery(mdps: Mapping[str, MDP]) -> Figure:
    """Draw several worlds, by title, on one sheet with cells of one size."""
    if not mdps:
        raise MonMDPError("gallery: no world is given")
    for mdp in mdps.values():
        demand_world(mdp, "gallery")
    widest_sheet, gap, head = 12.0, 0.45, 0.5
    rows: list[list[tuple[float, float, float]]] = [[]]  # left, width and height of each drawing
    x = sheet = 0.0
    for mdp in mdps.values():
        left, right = margins(mdp)
        widest = widest_sheet - 2 * gap - left - right
        width, height = inches(mdp, cell=0.55, widest=widest, highest=6.0)
        room = max(width + left + right, 1.9)
        if x and x + room + 2 * gap > widest_sheet:
            x, rows = 0.0, [*rows, []]
        spare = (room - width - left - right) / 2
        rows[-1].append((x + gap + spare + left, width, height))
        x += room + gap
        sheet = max(sheet, x + gap)
    below = 0.25 if all(mdp.picture is not None for mdp in mdps.values()) else 0.5
    boxes, y = [], 0.0
    for row in rows:
        highest = max(height for _, _, height in row)
        # Low drawings stand in the middle of their row.
        boxes += [(left, y + head + (highest - high) / 2, width, high) for left, width, high in row]
        y += head + highest + below
    total = y + 0.1
    figure = Picture(sheet, total)
    for (title, mdp), (left, top, width, height) in zip(mdps.items(), boxes, strict=True):
        at = (left / sheet, 1 - (top + height) / total, width / sheet, height / total)
        ax = figure.add_axes(at)
        draw_world(mdp, ax=ax, title=folded(title, max(width, 1.9), 2))
    return figure


def inches(mdp: MDP, cell: float, widest: float, highest: float) -> tuple[float, float]:
    """Return width and height of a drawing; its cells are of the given size, or smaller to fit."""
    if mdp.picture is None:
        width, height = graph_inches(mdp)
        shrink = min(1.0, widest / width, highest / height)
        return width * shrink, height * shrink
    sheet = sheet_of(mdp)
    cell = min(cell, widest / sheet.width, highest / sheet.height)
    return max(sheet.width * cell, 0.3), max(sheet.height * cell, 0.3)


def margins(mdp: MDP) -> tuple[float, float]:
    """Return the inches that a legend and the axes' labels need left and right of a drawing."""
    if mdp.picture is not None:
        return (0.0, 0.0) if sheet_of(mdp).detailed else (0.0, 1.2)
    return (0.0, 1.45) if mdp.n_states <= MAX_NODES else (0.3, 0.3)


def _draw_graph_with_robots(ax: Axes, mdp: MDP, marked: list[int]) -> None:
    centres = draw_graph(ax, mdp)
    if len(marked) > MAX_ROBOTS:
        return
    for x, y in centres[marked]:
        if mdp.n_states > MAX_NODES:
            ax.plot(x, y, "o", color=VERMILION, markeredgecolor="white", markersize=7)
        else:
            place(ax, robot(), x - 0.75, y - 0.8, 0.6, zorder=7)


def _draw_grid_with_robots(ax: Axes, mdp: MDP, marked: list[int]) -> None:
    sheet = sheet_of(mdp)
    draw_grid(ax, mdp, sheet)
    sheet.number_axes(ax)
    few = len(marked) <= MAX_ROBOTS
    if sheet.detailed:
        for row, column in sheet.cells[marked]:
            place(ax, robot(), column, row, 0.9 if few else 0.5)
        return
    y, x = sheet.cells[marked].T + 0.5
    ax.plot(x, y, "o", color=BLUE, markeredgecolor="white", markersize=8 if few else 2)
    # Explain the plain colours of a large grid.
    tiles = sorted(set("".join(rows_of(mdp))))
    handles = [Patch(facecolor=_solid(t), edgecolor="#777777", label=tile_name(t)) for t in tiles]
    beside = (1.01, 0.5)
    ax.legend(handles=handles, loc="center left", bbox_to_anchor=beside, fontsize=7, frameon=False)


def draw_grid(ax: Axes, mdp: MDP, sheet: Sheet) -> None:
    """Draw everything but the agent; x counts columns and y counts rows, downwards."""
    rows = rows_of(mdp)
    sheet.set_axes(ax)
    colour = {
        tile: to_rgba(BACKGROUND.get(tile, PAPER) if sheet.detailed else _solid(tile))
        for tile in set("".join(rows))
    }
    sheet.show(ax, np.array([[colour[tile] for tile in row] for row in rows]))
    ax.set(xticks=[], yticks=[])
    if not sheet.detailed:
        if mdp.button is not None:
            row, column = sheet.cells[mdp.button[0]]
            ax.plot(column + 0.5, row + 0.5, "s", color="#d7191c", markersize=5)
        return
    sheet.rule(ax, color="#c9c5b8", linewidth=0.6)
    for row, tiles in enumerate(rows):
        for column, tile in enumerate(tiles):
            place(ax, icon(tile), column, row)
    draw_button(ax, mdp, sheet)


def _solid(tile: str) -> str:
    return SOLID.get(tile) or ACTION_COLOURS[ord(tile) % len(ACTION_COLOURS)]
