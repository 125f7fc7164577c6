"""Policies as pictures: arrows for the environment's actions, marks for the monitor's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from monmdp.drawing.icons import ACTION_COLOURS, DARK, PAPER, towards
from monmdp.drawing.labels import DIRECTIONS, action_names, demand_problem, shortened
from monmdp.drawing.sheet import (
    MAX_NAMED,
    MAX_PANELS,
    Sheet,
    draw_ground,
    world_of,
    world_panels,
    write_title,
)
from monmdp.drawing.text import either, likeliest
from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.mdp import MDP
from monmdp.model.monmdp import MonMDP

IDLE = "NO-OP"
"""the monitor's action that is not marked"""
LONGEST_NAME = 36
"""letters of the names of monitor states above a panel"""
SHORT = 4
"""letters of a monitor's action that are written out in a cell"""
COLOURS = ("#bfe3d6", "#f7dca6", "#bcd8ee", "#f5c6a8", "#e8cbdc", "#d9d4f0", "#e3e3c0", "#d0d0d0")
"""pale grounds for the monitor's actions, so that arrows can be read on them"""
FAINT = "#b5b5b5"
"""of actions that are tied"""


class Mark(NamedTuple):
    """How a choice of the monitor's actions is shown."""

    text: str
    colour: str
    label: str
    """what the legend says"""


Marks = Mapping[bytes, Mark]
"""by the choice [am] as bytes"""


def draw_policy(monmdp: MonMDP, policy: ArrayLike, *, title: str | None = None) -> Figure:
    """Draw a policy: in each cell the likeliest actions of the environment and of the monitor.

    Arrows are the environment's actions, including all ties; STAY is a dot, and actions without a
    direction are written out. The monitor's action is shown by a background colour and a short
    text, except for NO-OP or, without NO-OP, the most common one. Monitor states with the same
    choices share a panel. The policy is [s, a]; the title names world and monitor by default.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "button")
    >>> figure = monmdp.drawing.draw_policy(problem, monmdp.solve(problem).minimax.policy)
    >>> monmdp.drawing.save(figure, "policy.png")
    """
    demand_problem(monmdp, "draw_policy")
    mdp, monitor = world_of(monmdp), monmdp.monitor
    env, mon = likeliest(monmdp, policy)
    alike: dict[bytes, list[int]] = {}
    for sm in range(monitor.n_states):
        alike.setdefault(env[:, sm].tobytes() + mon[:, sm].tobytes(), []).append(sm)
    groups = list(alike.values())
    shown = groups[:MAX_PANELS]
    figure, sheet, axes = world_panels(mdp, len(shown), 1.7)
    idle = np.array(monitor.actions) == IDLE
    usual = int(np.argmax(idle if idle.any() else mon.sum(axis=(0, 1))))
    marks = _marks_of(monitor.actions, mon, usual)
    # Cells may be too small, or too many without a map, for arrows and letters.
    crowded = not sheet.detailed or (mdp.picture is None and mdp.n_states > MAX_NAMED)
    draw = _draw_colours if crowded else _draw_letters
    key: dict[str, Patch] = {}
    for group, ax in zip(shown, axes, strict=True):
        draw_ground(ax, mdp, sheet)
        key |= draw(ax, mdp, sheet, env[:, group[0]], mon[:, group[0]], marks)
        names = ", ".join(monitor.states[sm] for sm in group)
        if len(names) > LONGEST_NAME and len(group) == monitor.n_states:
            names = f"in any of its {len(group)} states"
        ax.set_title(f"monitor {shortened(names, LONGEST_NAME)}", fontsize=9)
    order = [*(mark.label for mark in marks.values()), *action_names(mdp)]
    key = {text: key[text] for text in (*order, *key) if text in key}
    if monitor.n_actions > 1:
        key[f"not marked: {monitor.actions[usual]}"] = Patch(alpha=0)
    if key:
        words = [shortened(text, 40) for text in key]
        look: dict[str, Any] = {"fontsize": 7, "frameon": False, "handlelength": 1.2}
        figure.legend(key.values(), words, loc="outside right center", **look)
    left_out = sum(len(group) for group in groups[MAX_PANELS:])
    write_title(figure, f"{mdp.name} / {monitor.name}" if title is None else title, left_out)
    return figure


def _marks_of(actions: Sequence[str], mon: BoolArray, usual: int) -> dict[bytes, Mark]:
    """A mark for each choice in `mon` [se, sm, am] but the usual action alone."""
    plain = np.arange(len(actions)) == usual
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    marks: dict[bytes, Mark] = {}
    choices = np.unique(mon.reshape(-1, len(actions)), axis=0)[::-1]
    for chosen in sorted(choices, key=np.sum):  # those that are tied come last
        if (chosen == plain).all():
            continue
        text = label = either(actions, chosen)
        if len(label) > SHORT:
            text = str(np.argmax(chosen)) if chosen.sum() == 1 else next(letters, "+")
            label = f"{text}: {label}"
        colour = PAPER if chosen.all() else COLOURS[len(marks) % len(COLOURS)]
        marks[chosen.tobytes()] = Mark(text, colour, f"monitor {label}")
    return marks


def _draw_letters(
    ax: Axes, mdp: MDP, sheet: Sheet, env: BoolArray, mon: BoolArray, marks: Marks
) -> dict[str, Patch]:
    """Draw the choices env [se, ae] and mon [se, am] in one panel; return its legend."""
    size = 11.0 if sheet.width <= 12 else 130 / sheet.width
    key: dict[str, Patch] = {}
    shapes: list[FloatArray] = []
    colours: list[str] = []
    for (row, column), acts, looks in zip(sheet.cells, env, mon, strict=True):
        names = [mdp.action_labels[a] for a in np.flatnonzero(acts)]
        alone, free = len(names) == 1, bool(acts.all()) and len(acts) > 1
        x, y = column + 0.5, row + 0.5
        other = []
        for name in names:
            shape = _arrow(name.upper(), alone)
            if shape is None:
                other.append(shortened(name, 5 if alone else 3))
            else:
                shapes.append(shape + np.array([x, y]))
                colours.append(FAINT if free else DARK)
        if other:
            text = "any" if free else "/".join(other)
            ax.text(x, y, text, ha="center", va="center", fontsize=0.6 * size, zorder=3)
        mark = marks.get(looks.tobytes())
        if mark is not None:
            ax.add_artist(Rectangle((column, row), 1, 1, facecolor=mark.colour, zorder=1))
            style: dict[str, Any] = {"ha": "right", "va": "bottom", "color": DARK, "zorder": 3}
            ax.text(column + 0.95, row + 0.94, mark.text, fontsize=0.5 * size, **style)
            key[mark.label] = Patch(facecolor=mark.colour, edgecolor=DARK)
    ax.add_collection(PolyCollection(shapes, facecolors=colours, zorder=3), autolim=False)
    if FAINT in colours:
        key["pale: all actions are tied"] = Patch(facecolor=FAINT)
    return key


def _draw_colours(
    ax: Axes, mdp: MDP, sheet: Sheet, env: BoolArray, mon: BoolArray, marks: Marks
) -> dict[str, Patch]:
    """Do the same where cells are small: a colour for each action, a dot where the monitor acts."""
    palette = [ACTION_COLOURS[a % len(ACTION_COLOURS)] for a in range(mdp.n_actions)]
    alone = env.sum(axis=1) == 1
    choice = np.where(alone, env.argmax(axis=1), mdp.n_actions)
    names, colours = [*action_names(mdp), "several are tied"], [*palette, FAINT]
    key = {names[c]: Patch(facecolor=colours[c]) for c in np.unique(choice)}
    sheet.show(ax, sheet.in_cells(to_rgba_array(colours)[choice]), zorder=1)
    acting = np.array([looks.tobytes() in marks and not looks.all() for looks in mon])
    if acting.any():
        rows, columns = sheet.cells[acting].T
        size = max(1.0, 120 / max(sheet.width, sheet.height))
        ax.plot(
            columns + 0.5, rows + 0.5, "o", color="white", markeredgecolor="black",
            markeredgewidth=0.3 * size**0.5, markersize=size, zorder=3,
        )  # fmt: skip
        key["dot: another monitor action"] = Patch(alpha=0)
    return key


def _arrow(name: str, alone: bool) -> FloatArray | None:
    """A shape about (0, 0) for an action that moves or stays, None for any other."""
    if name == "STAY":
        angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        return (0.13 if alone else 0.07) * np.column_stack([np.cos(angle), np.sin(angle)])
    if name not in DIRECTIONS:
        return None
    # Alone it lies across the middle; where several are tied all begin there.
    tail, neck, tip, wide = (-0.26, 0.06, 0.28, 0.13) if alone else (0.11, 0.22, 0.38, 0.09)
    half = [(tail, 0.035), (neck, 0.035), (neck, wide), (tip, 0)]
    return towards(name, half + [(along, -across) for along, across in half[-2::-1]])
