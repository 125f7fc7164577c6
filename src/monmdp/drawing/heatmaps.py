"""Numbers of states and of pairs as colours.

These functions take any world or problem and plain arrays: values, visits, probabilities, what an
agent believes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from monmdp.drawing.canvas import DIVERGING, LINE, NOTHING, SEQUENTIAL, Picture
from monmdp.drawing.icons import DARK, towards
from monmdp.drawing.labels import (
    DIRECTIONS,
    action_names,
    brief,
    demand_problem,
    demand_world,
    folded,
)
from monmdp.drawing.sheet import (
    MAX_PANELS,
    Sheet,
    draw_ground,
    sheet_of,
    world_of,
    world_panels,
    write_title,
)
from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray, as_array, first_index
from monmdp.model.mdp import MDP, number
from monmdp.model.monmdp import MonMDP

CENTRE = 0.2
"""half the side of the square that stands for STAY"""
MAX_STRIPES = 8
"""stripes that are explained by name"""


def draw_heatmap(
    mdp: MDP,
    values: ArrayLike,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    label: str = "",
    centre: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw a number for each state, or for each pair of state and action, as a colour.

    For pairs, a cell is split into four triangles for LEFT, DOWN, RIGHT and UP with a square for
    STAY, or into stripes for any other actions.

    Args:
        mdp: the world; without a map, its states are laid out in rows.
        values: [sᵉ] or [sᵉ, aᵉ]; NaN is hatched.
        ax: where to draw; without it a new figure is made.
        title: above it; the world's name by default.
        label: beside the colour bar: what the numbers are.
        centre: numbers below it are orange and those above it blue, if there are both.
        limits: the ends of the colour bar; by default the least and the greatest of `values`.

    >>> from monmdp import drawing, worlds
    >>> mdp = worlds.make("hazard")
    >>> figure = drawing.draw_heatmap(mdp, mdp.mean_reward, label="mean reward")
    >>> drawing.save(figure, "rewards.png")
    """
    demand_world(mdp, "draw_heatmap")
    array = _numbers(
        values, [(mdp.n_states,), (mdp.n_states, mdp.n_actions)], "[sᵉ] or [sᵉ, aᵉ]", mdp.name
    )
    sheet = sheet_of(mdp)
    title = mdp.name if title is None else title
    if ax is None:
        width, height = sheet.inches()
        width = max(width, 2.2)
        title = folded(title, width + 0.6)
        figure = Picture(width + 1.7, height + 1.1 + LINE * title.count("\n"))
        ax = figure.add_subplot()
        figure.set_layout_engine("constrained")
    scale = colour_scale(array, centre, limits)
    drawn = _paint(ax, mdp, sheet, array, scale)
    ax.set_title(title, fontsize=10, parse_math=False)
    colour_bar(ax.figure, drawn, ax, label)
    return ax.figure.figure


def draw_values(
    monmdp: MonMDP,
    values: ArrayLike,
    *,
    title: str | None = None,
    label: str = "value",
    centre: float | None = None,
) -> Figure:
    """Draw a number for each joint state: a heat map for each monitor state, on one scale.

    `values` are [s], the rest is as in `draw_heatmap`; the title is world and monitor by default.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "button")
    >>> figure = monmdp.drawing.draw_values(problem, monmdp.solve(problem).minimax.values)
    """
    demand_problem(monmdp, "draw_values")
    mdp, monitor = world_of(monmdp), monmdp.monitor
    name = f"{mdp.name} / {monitor.name}"
    array = _numbers(values, [(monmdp.n_states,)], "[s]", name)
    array = array.reshape(mdp.n_states, monitor.n_states)
    shown = monitor.states[:MAX_PANELS]
    scale = colour_scale(array, centre, None)
    figure, sheet, axes = world_panels(mdp, len(shown), 1.3)
    for sm, (state, ax) in enumerate(zip(shown, axes, strict=True)):
        drawn = _paint(ax, mdp, sheet, array[:, sm], scale)
        ax.set_title(f"monitor {state}", fontsize=9, parse_math=False)
    colour_bar(figure, drawn, axes, label)
    write_title(figure, name if title is None else title, monitor.n_states - len(shown))
    return figure


def action_parts(mdp: MDP) -> tuple[list[FloatArray], str]:
    """Return the part of a cell that stands for each action, [corner, 2] x and y, and a note."""
    names = [label.upper() for label in mdp.action_labels]
    if sorted(names) in (sorted(DIRECTIONS), sorted([*DIRECTIONS, "STAY"])):
        square = 0.5 + CENTRE * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
        # The quarter of the cell at the side that an action moves to.
        side = [(0.0, 0.0), (0.5, 0.5), (0.5, -0.5)]
        shapes = [square if name == "STAY" else towards(name, side) + 0.5 for name in names]
        stay = "; in the middle: STAY" if "STAY" in names else ""
        return shapes, f"at each side: the action in that direction{stay}"
    more = ", …" if mdp.n_actions > MAX_STRIPES else ""
    stripes = ", ".join(action_names(mdp)[:MAX_STRIPES])
    return _stripes(mdp.n_actions), f"each state's stripes, left to right: {stripes}{more}"


def _stripes(n: int) -> list[FloatArray]:
    """A cell in `n` upright stripes."""
    return [
        np.array([(left, 0.0), (right, 0.0), (right, 1.0), (left, 1.0)])
        for left, right in pairwise(np.linspace(0, 1, n + 1))
    ]


def _numbers(
    values: ArrayLike, shapes: Sequence[tuple[int, ...]], axes: str, where: str
) -> FloatArray:
    """Demand numbers of one of the shapes; NaN may be among them."""
    try:
        array = np.asarray(as_array(values, "values"), dtype=np.float64)
    except (TypeError, ValueError):
        raise MonMDPError(f"values {axes}: numbers expected, got {brief(values)}") from None
    if array.shape not in shapes:
        expected = " or ".join(str(shape) for shape in shapes)
        raise MonMDPError(f"values {axes} of {where}: shape {expected} expected, got {array.shape}")
    if np.isinf(array).any():
        index = first_index(np.isinf(array))
        raise MonMDPError(f"values {axes}: {array[index]} at index {list(index)}; use NaN for none")
    return array


def colour_scale(
    values: FloatArray, centre: float | None, limits: tuple[float, float] | None
) -> dict[str, Any]:
    """Return colour map and range."""
    there = values[~np.isnan(values)]
    if limits is not None:
        low, high = (number(end, "limits") for end in limits)
        if low >= high:
            raise MonMDPError(f"limits: the least must be below the greatest, got {low}, {high}")
    else:
        low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    if centre is not None and low < number(centre, "centre") < high:
        reach = max(high - centre, centre - low)
        return {"cmap": DIVERGING, "clim": (centre - reach, centre + reach)}
    if low == high:  # one colour, and a colour bar that says which number it is
        spare = max(1e-9, 1e-3 * abs(low))
        low, high = low - spare, high + spare
    return {"cmap": SEQUENTIAL, "clim": (low, high)}


def _paint(ax: Axes, mdp: MDP, sheet: Sheet, values: FloatArray, scale: dict[str, Any]) -> Any:
    """Draw the world with the numbers [se] or [se, ae] under its icons; return what is coloured."""
    draw_ground(ax, mdp, sheet)
    return fill_cells(ax, mdp, sheet, values, scale)


def fill_cells(ax: Axes, mdp: MDP, sheet: Sheet, values: FloatArray, scale: dict[str, Any]) -> Any:
    """Colour the cells of a sheet by the numbers [cell] or [cell, ae]; return what is coloured."""
    corners = sheet.cells[:, ::-1].astype(np.float64)  # [cell, 2] x and y
    shapes, note = (_stripes(1), "") if values.ndim == 1 else action_parts(mdp)
    polygons: list[FloatArray] = []
    colours: list[FloatArray] = []
    empty: list[FloatArray] = []
    # The square in the middle lies over the triangles, whatever the order of the actions.
    for a in sorted(range(len(shapes)), key=lambda a: len(shapes[a]) == 4):
        of = values.reshape(len(values), -1)[:, a]
        drawn = ~np.isnan(of)
        polygons.extend(corners[drawn][:, None] + shapes[a])
        empty.extend(corners[~drawn][:, None] + shapes[a])
        colours.append(of[drawn])
    edge, width = ("#00000055", 0.4) if sheet.detailed else ("face", 0.2)
    painted = PolyCollection(
        polygons, array=np.concatenate(colours), zorder=1, rasterized=not sheet.detailed,
        edgecolors=edge, linewidths=width, **scale,
    )  # fmt: skip
    ax.add_collection(painted, autolim=False)
    style: dict[str, Any]
    if empty:
        hatch = "////" if sheet.detailed else None
        style = {"facecolors": NOTHING, "edgecolors": "#b5b1a4", "linewidths": 0.0}
        ax.add_collection(PolyCollection(empty, hatch=hatch, zorder=0.9, **style), autolim=False)
    if sheet.detailed and note and all(len(shape) == 4 for shape in shapes):
        # Stripes need borders between states, to be seen on light and on dark ground.
        squares = [corner + _stripes(1)[0] for corner in corners]
        for colour, width in (("white", 2.6), (DARK, 1.0)):
            style = {"facecolors": "none", "edgecolors": colour, "linewidths": width}
            ax.add_collection(PolyCollection(squares, zorder=1.6, **style), autolim=False)
    if note:
        note = folded(note, max(sheet.inches()[0], 2.2) / 0.7)  # its letters are smaller
        ax.set_xlabel(note, fontsize=7, color="0.35", parse_math=False)
    return painted


def colour_bar(figure: Any, drawn: Any, ax: Any, label: str) -> None:
    """Draw the colour bar of what is coloured, beside its axes."""
    if not len(drawn.get_array()) and drawn.get_clim() == (0.0, 1.0):
        return  # there is no number at all
    plain = "%g" if isinstance(drawn.norm, SymLogNorm) else None  # no powers of ten
    bar = figure.colorbar(drawn, ax=ax, shrink=0.85, aspect=18, pad=0.03, format=plain)
    bar.ax.tick_params(labelsize=7)
    bar.set_label(label, fontsize=8)
