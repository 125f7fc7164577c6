"""Plots on arrays: numbers of states and pairs as colours, policies as arrows.

They take any world, any problem and plain arrays: values, visits, chances, what an agent believes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from monmdp.drawing.maps import (
    DIRECTIONS,
    action_names,
    brief,
    demand_problem,
    demand_world,
    folded,
    shortened,
)
from monmdp.drawing.picture import LINE, new_figure
from monmdp.drawing.text import likeliest
from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray, as_array, first_index
from monmdp.model.mdp import MDP, number
from monmdp.model.monmdp import MonMDP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from monmdp.drawing.sheet import Sheet

MAX_PANELS = 12
"""monitor states that have a panel"""
LONGEST_NAME = 36
"""letters of the names of monitor states above a panel"""
CENTRE = 0.2
"""half the side of the square that stands for STAY"""


def draw_heatmap(
    mdp: MDP,
    values: ArrayLike,
    *,
    title: str | None = None,
    label: str = "",
    ax: Axes | None = None,
    centre: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw a number for each state, or for each pair of state and action, as a colour.

    With actions, a cell is split: into four triangles for LEFT, DOWN, RIGHT and UP with a square
    for STAY, or into stripes for actions of any other kind.

    Args:
        mdp: the world; one without a map has its states in rows, like the words on a page.
        values: [sᵉ] or [sᵉ, aᵉ]; NaN is hatched, not coloured.
        title: above it; the world's name by default.
        label: says beside the colour bar what the numbers are.
        ax: where to draw; without it a new figure is made.
        centre: where numbers lie on both sides of this one, two colours part there.
        limits: the least and the greatest number of the colour bar; by default those of `values`.

    >>> from monmdp import drawing, worlds
    >>> mdp = worlds.make("hazard")
    >>> figure = drawing.draw_heatmap(mdp, mdp.mean_reward, label="mean reward")
    >>> drawing.save(figure, "rewards.png")
    """
    demand_world(mdp, "draw_heatmap")
    array = _numbers(
        values, [(mdp.n_states,), (mdp.n_states, mdp.n_actions)], "[sᵉ] or [sᵉ, aᵉ]", mdp.name
    )
    from monmdp.drawing.sheet import sheet_of

    sheet = sheet_of(mdp)
    title = mdp.name if title is None else title
    if ax is None:
        width, height = sheet.inches()
        width = max(width, 2.2)
        title = folded(title, width + 0.6)
        figure = new_figure(width + 1.7, height + 1.1 + LINE * title.count("\n"))
        ax = figure.add_subplot()
        figure.set_layout_engine("constrained")
    scale = _scale(array, centre, limits)
    drawn = _paint(ax, mdp, sheet, array, scale)
    ax.set_title(title, fontsize=10, parse_math=False)
    _colour_bar(ax.figure, drawn, ax, label)
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

    Args:
        monmdp: the problem.
        values: [s]; NaN is hatched, not coloured.
        title: above all; world and monitor by default.
        label: says beside the colour bar what the numbers are.
        centre: where numbers lie on both sides of this one, two colours part there.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "button")
    >>> figure = monmdp.drawing.draw_values(problem, monmdp.solve(problem).minimax.values)
    >>> monmdp.drawing.save(figure, "values.pdf")
    """
    demand_problem(monmdp, "draw_values")
    mdp, monitor = monmdp.mdp, monmdp.monitor
    name = f"{mdp.name} / {monitor.name}"
    array = _numbers(values, [(monmdp.n_states,)], "[s]", name)
    array = array.reshape(mdp.n_states, monitor.n_states)
    shown = monitor.states[:MAX_PANELS]
    scale = _scale(array, centre, None)
    figure, sheet, axes = _panels(mdp, len(shown), 1.3)
    for sm, (state, ax) in enumerate(zip(shown, axes, strict=True)):
        drawn = _paint(ax, mdp, sheet, array[:, sm], scale)
        ax.set_title(f"monitor {state}", fontsize=9, parse_math=False)
    _colour_bar(figure, drawn, axes, label)
    _head(figure, name if title is None else title, monitor.n_states - len(shown))
    return figure


def draw_policy(monmdp: MonMDP, policy: ArrayLike, *, title: str | None = None) -> Figure:
    """Draw a policy: in each cell the likeliest actions of the environment and of the monitor.

    Arrows are the environment's actions, all that are tied; STAY is a dot, and actions that go
    nowhere are written. The monitor's action is a coloured ground and a short text, except NO-OP,
    or without NO-OP the most usual one. Monitor states in which the same is done share a panel.

    Args:
        monmdp: the problem.
        policy: [s, a] probabilities.
        title: above all; world and monitor by default.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "button")
    >>> figure = monmdp.drawing.draw_policy(problem, monmdp.solve(problem).minimax.policy)
    >>> monmdp.drawing.save(figure, "policy.png")
    """
    from matplotlib.patches import Patch

    from monmdp.drawing import arrows
    from monmdp.drawing.sheet import draw_ground

    demand_problem(monmdp, "draw_policy")
    mdp, monitor = monmdp.mdp, monmdp.monitor
    env, mon = likeliest(monmdp, policy)
    alike: dict[bytes, list[int]] = {}
    for sm in range(monitor.n_states):
        alike.setdefault(env[:, sm].tobytes() + mon[:, sm].tobytes(), []).append(sm)
    groups = list(alike.values())
    shown = groups[:MAX_PANELS]
    figure, sheet, axes = _panels(mdp, len(shown), 1.7)
    usual = arrows.usual_action(monitor.actions, mon)
    marks = arrows.marks_of(monitor.actions, mon, usual)
    draw = arrows.draw_colours if arrows.crowded(mdp, sheet) else arrows.draw_letters
    key: dict[str, Patch] = {}
    for group, ax in zip(shown, axes, strict=True):
        draw_ground(ax, mdp, sheet)
        key |= draw(ax, mdp, sheet, env[:, group[0]], mon[:, group[0]], marks)
        names = ", ".join(monitor.states[sm] for sm in group)
        if len(names) > LONGEST_NAME and len(group) == monitor.n_states:
            names = f"in any of its {len(group)} states"
        name = f"monitor {shortened(names, LONGEST_NAME)}"
        ax.set_title(name, fontsize=9, parse_math=False)
    order = [*(mark.label for mark in marks.values()), *action_names(mdp)]
    key = {text: key[text] for text in (*order, *key) if text in key}
    if monitor.n_actions > 1:
        key[f"not marked: {monitor.actions[usual]}"] = Patch(alpha=0)
    arrows.draw_legend(figure, key)
    left_out = sum(len(group) for group in groups[MAX_PANELS:])
    _head(figure, f"{mdp.name} / {monitor.name}" if title is None else title, left_out)
    return figure


def _panels(mdp: MDP, n: int, beside: float) -> tuple[Figure, Sheet, list[Axes]]:
    """Make a figure with a panel for each of `n` drawings of a world, and room `beside` them."""
    from monmdp.drawing.sheet import sheet_of

    sheet = sheet_of(mdp)
    width, height = sheet.inches(0.66 if n == 1 else 0.5, 7.0 if n == 1 else 4.5)
    across = max(1, min(n, int(11.0 / (width + 0.4))))
    down = -(-n // across)
    figure = new_figure(max(across * (width + 0.45), 2.2) + beside, down * (height + 0.6) + 0.5)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for ax in grid.flat[n:]:
        ax.axis("off")
    return figure, sheet, list(grid.flat[:n])


def _head(figure: Figure, title: str, left_out: int) -> None:
    """Write the title above all panels, and how many monitor states have none."""
    more = f"\n(… and {left_out} more monitor state{'s' if left_out > 1 else ''})"
    width, height = figure.get_size_inches()
    text = folded(title, width - 0.2) + (more if left_out else "")
    figure.set_size_inches(width, height + LINE * text.count("\n"))
    figure.suptitle(text, fontsize=10, parse_math=False)


def _parts(mdp: MDP) -> tuple[list[FloatArray], str]:
    """The part of a cell that stands for each action, [corner, 2] x and y, and a note."""
    names = [label.upper() for label in mdp.action_labels]
    if _directed(mdp):
        shapes = [_triangle(name) if name in DIRECTIONS else _square() for name in names]
        stay = ", in the middle STAY" if "STAY" in names else ""
        return shapes, f"at each side the action that goes there{stay}"
    edges = np.linspace(0, 1, mdp.n_actions + 1)
    shapes = [
        np.array([(left, 0.0), (right, 0.0), (right, 1.0), (left, 1.0)])
        for left, right in pairwise(edges)
    ]
    most = 8
    more = ", …" if mdp.n_actions > most else ""
    stripes = ", ".join(action_names(mdp)[:most])
    return shapes, f"each state's stripes, left to right: {stripes}{more}"


def _directed(mdp: MDP) -> bool:
    """Whether the actions are the four directions, perhaps with STAY."""
    names = [label.upper() for label in mdp.action_labels]
    whole = set(DIRECTIONS) <= set(names) <= {*DIRECTIONS, "STAY"}
    return whole and len(set(names)) == len(names)


def _triangle(name: str) -> FloatArray:
    """The quarter of a cell at the side that an action moves to."""
    row, column = DIRECTIONS[name]
    ahead, aside = np.array([column, row]), np.array([row, column])
    return np.array([(0.0, 0.0), (ahead + aside) / 2, (ahead - aside) / 2]) + 0.5


def _square() -> FloatArray:
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    return 0.5 + CENTRE * corners


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
        raise MonMDPError(f"values {axes}: {array[index]} at index {list(index)}; NaN is hatched")
    return array


def _scale(
    values: FloatArray, centre: float | None, limits: tuple[float, float] | None
) -> dict[str, Any]:
    """Colour map and range."""
    from monmdp.drawing.colours import DIVERGING, SEQUENTIAL

    there = values[~np.isnan(values)]
    if limits is not None:
        low, high = (number(end, "limits") for end in limits)
        if low >= high:
            raise MonMDPError(f"limits: the least must be below the greatest, got {low}, {high}")
    elif there.size:
        low, high = float(there.min()), float(there.max())
    else:
        low, high = 0.0, 1.0
    if centre is not None and low < number(centre, "centre") < high:
        reach = max(high - centre, centre - low)
        return {"cmap": DIVERGING, "clim": (centre - reach, centre + reach)}
    if low == high:  # one colour, and a colour bar that says which number it is
        spare = max(1e-9, 1e-3 * abs(low))
        low, high = low - spare, high + spare
    return {"cmap": SEQUENTIAL, "clim": (low, high)}


def _paint(ax: Axes, mdp: MDP, sheet: Sheet, values: FloatArray, scale: dict[str, Any]) -> Any:
    """Draw the world with the numbers [se] or [se, ae] under its icons; return what is coloured."""
    from matplotlib.collections import PolyCollection

    from monmdp.drawing.colours import NOTHING
    from monmdp.drawing.sheet import divide_states, draw_ground

    draw_ground(ax, mdp, sheet)
    corners = sheet.cells[:, ::-1].astype(np.float64)  # [se, 2] x and y
    if values.ndim == 1:
        shapes, note = [np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])], ""
    else:
        shapes, note = _parts(mdp)
    polygons: list[FloatArray] = []
    colours: list[FloatArray] = []
    empty: list[FloatArray] = []
    # The square in the middle lies over the triangles, whatever the order of the actions.
    for a in sorted(range(len(shapes)), key=lambda a: len(shapes[a]) == 4):
        of = values if values.ndim == 1 else values[:, a]
        drawn = ~np.isnan(of)
        polygons.extend(corners[drawn][:, None] + shapes[a])
        empty.extend(corners[~drawn][:, None] + shapes[a])
        colours.append(of[drawn])
    lines: dict[str, Any] = (
        {"edgecolors": "#00000055", "linewidths": 0.4}
        if sheet.detailed
        else {"edgecolors": "face", "linewidths": 0.2}
    )
    painted = PolyCollection(
        polygons, array=np.concatenate(colours), zorder=1, rasterized=not sheet.detailed, **lines,
        **scale,
    )  # fmt: skip
    ax.add_collection(painted, autolim=False)
    if empty:
        hatch = "////" if sheet.detailed else None
        style: dict[str, Any] = {"facecolors": NOTHING, "edgecolors": "#b5b1a4", "linewidths": 0.0}
        ax.add_collection(PolyCollection(empty, hatch=hatch, zorder=0.9, **style), autolim=False)
    if sheet.detailed and values.ndim == 2 and not _directed(mdp):
        divide_states(ax, sheet)
    if note:
        note = folded(note, max(sheet.inches()[0], 2.2) / 0.7)  # its letters are smaller
        ax.set_xlabel(note, fontsize=7, color="0.35", parse_math=False)
    return painted


def _colour_bar(figure: Any, drawn: Any, ax: Any, label: str) -> None:
    if not len(drawn.get_array()) and drawn.get_clim() == (0.0, 1.0):
        return  # there is no number at all
    bar = figure.colorbar(drawn, ax=ax, shrink=0.85, aspect=18, pad=0.03)
    bar.ax.tick_params(labelsize=7)
    bar.set_label(label, fontsize=8)
