"""Policies as pictures: arrows for the environment's actions, marks for the monitor's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from monmdp.drawing.icons import ACTION_COLOURS, DARK, PAPER
from monmdp.drawing.labels import DIRECTIONS, action_names, demand_problem, shortened
from monmdp.drawing.sheet import (
    MAX_NAMED,
    MAX_PANELS,
    Sheet,
    draw_ground,
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
    meaning: str

    @property
    def label(self) -> str:
        """What the legend says."""
        sign = "" if self.text == self.meaning else f"{self.text}: "
        return f"monitor {sign}{self.meaning}"


Marks = Mapping[bytes, Mark]
"""by the choice [am] as bytes"""


def draw_policy(monmdp: MonMDP, policy: ArrayLike, *, title: str | None = None) -> Figure:
    """Draw a policy: in each cell the likeliest actions of the environment and of the monitor.

    Arrows are the environment's actions, including all ties; STAY is a dot, and actions without a
    direction are written out. The monitor's action is shown by a background colour and a short
    text, except for NO-OP or, without NO-OP, the most common one. Monitor states with the same
    choices share a panel.

    Args:
        monmdp: the problem.
        policy: [s, a] probabilities.
        title: above all panels; world and monitor by default.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "button")
    >>> figure = monmdp.drawing.draw_policy(problem, monmdp.solve(problem).minimax.policy)
    >>> monmdp.drawing.save(figure, "policy.png")
    """
    demand_problem(monmdp, "draw_policy")
    mdp, monitor = monmdp.mdp, monmdp.monitor
    env, mon = likeliest(monmdp, policy)
    alike: dict[bytes, list[int]] = {}
    for sm in range(monitor.n_states):
        alike.setdefault(env[:, sm].tobytes() + mon[:, sm].tobytes(), []).append(sm)
    groups = list(alike.values())
    shown = groups[:MAX_PANELS]
    figure, sheet, axes = world_panels(mdp, len(shown), 1.7)
    usual = int(np.argmax(mon.sum(axis=(0, 1))))
    if IDLE in monitor.actions:
        usual = monitor.actions.index(IDLE)
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
        name = f"monitor {shortened(names, LONGEST_NAME)}"
        ax.set_title(name, fontsize=9, parse_math=False)
    order = [*(mark.label for mark in marks.values()), *action_names(mdp)]
    key = {text: key[text] for text in (*order, *key) if text in key}
    if monitor.n_actions > 1:
        key[f"not marked: {monitor.actions[usual]}"] = Patch(alpha=0)
    _draw_legend(figure, key)
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
        text = meaning = either(actions, chosen)
        if len(meaning) > SHORT:
            text = str(np.argmax(chosen)) if chosen.sum() == 1 else next(letters, "+")
        colour = PAPER if chosen.all() else COLOURS[len(marks) % len(COLOURS)]
        marks[chosen.tobytes()] = Mark(text, colour, meaning)
    return marks


def _draw_letters(
    ax: Axes, mdp: MDP, sheet: Sheet, env: BoolArray, mon: BoolArray, marks: Marks
) -> dict[str, Patch]:
    """Draw the choices env [se, ae] and mon [se, am] in one panel; return its legend."""
    size = 11.0 if sheet.width <= 12 else 130 / sheet.width
    key: dict[str, Patch] = {}
    shapes: list[FloatArray] = []
    faint: list[bool] = []
    for (row, column), acts, looks in zip(sheet.cells, env, mon, strict=True):
        names = [mdp.action_labels[a] for a in np.flatnonzero(acts)]
        alone, free = len(names) == 1, bool(acts.all()) and len(acts) > 1
        at = np.array([column + 0.5, row + 0.5])
        turned = [_arrow(name.upper(), alone) for name in names]
        for shape in turned:
            if shape is not None:
                shapes.append(shape + at)
                faint.append(free)
        other = [name for name, shape in zip(names, turned, strict=True) if shape is None]
        if other:
            text = "any" if free else "/".join(shortened(name, 5 if alone else 3) for name in other)
            ax.text(
                at[0], at[1], text, ha="center", va="center", fontsize=0.6 * size, zorder=3,
                parse_math=False,
            )  # fmt: skip
        mark = marks.get(looks.tobytes())
        if mark is not None:
            ground = Rectangle((column, row), 1, 1, facecolor=mark.colour, zorder=1)
            ax.add_artist(ground)
            ax.text(
                column + 0.95, row + 0.94, mark.text, ha="right", va="bottom", color=DARK,
                fontsize=0.5 * size, zorder=3, parse_math=False,
            )  # fmt: skip
            key[mark.label] = Patch(facecolor=mark.colour, edgecolor=DARK)
    ax.add_collection(
        PolyCollection(shapes, facecolors=[FAINT if pale else DARK for pale in faint], zorder=3),
        autolim=False,
    )
    if any(faint):
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
    row, column = DIRECTIONS[name]
    ahead, aside = np.array([column, row]), np.array([row, column])
    # Alone it lies across the middle; where several are tied all begin there.
    tail, neck, tip, wide = (-0.26, 0.06, 0.28, 0.13) if alone else (0.11, 0.22, 0.38, 0.09)
    outline = [
        (tail, 0.035), (neck, 0.035), (neck, wide), (tip, 0), (neck, -wide), (neck, -0.035),
        (tail, -0.035),
    ]  # fmt: skip
    return np.array([along * ahead + across * aside for along, across in outline])


def _draw_legend(figure: Figure, key: Mapping[str, Patch]) -> None:
    """Explain marks and colours beside the panels."""
    if not key:
        return
    legend = figure.legend(
        key.values(), [shortened(text, 40) for text in key], loc="outside right center",
        fontsize=7, frameon=False, handlelength=1.2,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
