"""Who hands what to whom: the agent's interaction in an MDP and in a Mon-MDP (figure 1)."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from monmdp.drawing.canvas import Picture
from monmdp.drawing.icons import DARK
from monmdp.drawing.palette import BLUE, GREEN, ORANGE, SKY, VERMILION

Point = tuple[float, float]
ACTION, STATE, REWARD = BLUE, GREEN, VERMILION
"""colours of arrows"""
CENTRE = {"agent": (0.0, 3.0), "environment": (0.0, 0.0), "monitor": (3.6, 1.5)}
COLOUR = {"agent": SKY, "environment": "#cfe6c8", "monitor": ORANGE}
HALF = 0.95, 0.36
"""half the width and height of a box"""
UNIT, TITLE = 0.78, 0.35
"""inches"""
WIDE, HIGH = (3.8, 8.8), 4.2
"""of the two parts, in units"""


def draw_interaction() -> Figure:
    """Draw what agent, environment and monitor hand to each other.

    >>> from monmdp import drawing
    >>> drawing.save(drawing.draw_interaction(), "interaction.svg")
    """
    figure = Picture(UNIT * (WIDE[0] + WIDE[1]), UNIT * HIGH + TITLE, maths=True)
    _, total = figure.get_size_inches()
    share, height = WIDE[0] / sum(WIDE), UNIT * HIGH / total
    mdp = figure.add_axes((0.0, 0.0, share, height))
    _boxes(mdp, "(a) MDP", ["agent", "environment"], (-1.9, WIDE[0] - 1.9))
    _arrow(mdp, [(-0.75, 2.64), (-0.75, 0.36)], ACTION, "action A", (-0.85, 1.5), "right")
    _arrow(mdp, [(0.2, 0.36), (0.2, 2.64)], STATE, "state S", (0.1, 1.5), "right")
    _arrow(mdp, [(0.75, 0.36), (0.75, 2.64)], REWARD, "reward R", (0.85, 1.5), "left")

    both = figure.add_axes((share, 0.0, 1 - share, height))
    _boxes(both, "(b) Mon-MDP", ["agent", "environment", "monitor"], (-1.6, WIDE[1] - 1.6))
    _arrow(both, [(-0.7, 2.64), (-0.7, 0.36)], ACTION, "$A^e$", (-0.8, 1.5), "right")
    _arrow(both, [(0.2, 0.36), (0.2, 2.64)], STATE, "$S^e$", (0.1, 1.5), "right")
    # Between agent and monitor: an action there, a state and two rewards back.
    _arrow(both, [(0.95, 2.76), (3.0, 2.76), (3.0, 1.86)], ACTION, "$A^m$", (2.9, 2.4), "right")
    _arrow(both, [(3.5, 1.86), (3.5, 3.0), (0.95, 3.0)], STATE, "$S^m$", (3.6, 2.4), "left")
    proxy = r"$\hat{R}^e$ or ⊥, the proxy reward," "\n" "$R^m$, the monitor's reward"
    _arrow(both, [(4.3, 1.86), (4.3, 3.24), (0.95, 3.24)], REWARD, proxy, (4.4, 2.6), "left")
    both.text(0.4, 2.4, "joint action ($A^e$, $A^m$)", fontsize=9, va="center", color=ACTION)
    # Between environment and monitor: the reward, and what the monitor's moves depend on.
    _arrow(both, [(0.95, 0.12), (3.2, 0.12), (3.2, 1.14)], REWARD, "$R^e$", (3.1, 0.55), "right")
    moves = "$S^e$ and $A^e$: the monitor's\nmoves depend on them"
    _arrow(both, [(0.95, -0.12), (4.0, -0.12), (4.0, 1.14)], DARK, moves, (4.1, 0.5), "left")
    return figure


def _boxes(ax: Axes, title: str, names: list[str], width: Point) -> None:
    ax.set(xlim=width, ylim=(-0.6, HIGH - 0.6))
    ax.axis("off")
    ax.text(width[0] + 0.25, HIGH - 0.5, title, fontsize=11, weight="bold")
    for name in names:
        (x, y), (across, up) = CENTRE[name], HALF
        box = FancyBboxPatch(
            (x - across, y - up), 2 * across, 2 * up, facecolor=COLOUR[name], edgecolor=DARK,
            boxstyle="round,pad=0,rounding_size=0.14", linewidth=1.2, zorder=3,
        )  # fmt: skip
        ax.add_artist(box)
        ax.text(x, y, name, ha="center", va="center", fontsize=11, zorder=4)


def _arrow(ax: Axes, way: list[Point], colour: str, text: str, at: Point, side: str) -> None:
    """Draw an arrow along straight pieces, and what it carries, which ends or begins at a point."""
    *bends, before, end = way
    if bends:
        x, y = zip(*bends, before, strict=True)
        ax.plot(x, y, color=colour, linewidth=1.8, solid_joinstyle="round")
    style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 14, "shrinkA": 0, "shrinkB": 0}
    ax.add_artist(FancyArrowPatch(before, end, color=colour, linewidth=1.8, **style))
    ax.text(*at, text, ha=side, va="center", fontsize=10, color=colour)
