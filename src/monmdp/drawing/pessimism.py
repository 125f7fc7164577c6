"""The treasure hunter, who can never see what LEFT leads to, in three pictures (figure 2)."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from monmdp.drawing.canvas import Picture
from monmdp.drawing.icons import BACKGROUND, DARK, PAPER, icon, letter, place, robot
from monmdp.drawing.labels import DIRECTIONS
from monmdp.drawing.palette import BLUE, VERMILION

CAPTIONS = (
    "(a) RIGHT meets a snake, UP finds gold bars.\nLEFT may be a snake or a treasure:\n"
    "it can never be seen.",
    "(b) A pessimistic agent assumes the worst\nof what it can never see, the snake,\nand goes UP.",
    "(c) It goes UP even if the treasure\nis what LEFT would lead to.",
)
UNSEEN = (
    (("S", -0.22, 0.14, 0.5), ("$", 0.22, 0.14, 0.5), ("?", 0.0, -0.3, 0.6)),
    (("S", 0.08, 0.04, 0.8), ("?", -0.33, -0.32, 0.5)),
    (("$", 0.0, 0.0, 0.9),),
)
"""in the cell to the left of each picture: tile, x and y from its middle, scale"""
UNIT = 0.68
"""inches of a cell"""
APART = 1.65
"""from the middle of a cell to that of the next"""
WIDE, HIGH = 2 * APART + 1.1, APART + 1.1
"""of one picture, in cells"""


def draw_pessimism() -> Figure:
    """Draw the choice of the treasure hunter, and what a pessimistic agent makes of it.

    >>> from monmdp import drawing
    >>> drawing.save(drawing.draw_pessimism(), "pessimism.svg")
    """
    width, height, gap, words = UNIT * WIDE, UNIT * HIGH, 0.3, 0.65
    sheet, total = gap + len(CAPTIONS) * (width + gap), height + words + 0.2
    figure = Picture(sheet, total)
    for i, caption in enumerate(CAPTIONS):
        left = (gap + i * (width + gap)) / sheet
        ax = figure.add_axes((left, (words + 0.1) / total, width / sheet, height / total))
        ax.set(xlim=(-WIDE / 2, WIDE / 2), ylim=(0.55, 0.55 - HIGH))
        ax.axis("off")
        for x, y, tile in ((0, 0, "."), (0, -APART, "g"), (APART, 0, "S"), (-APART, 0, "?")):
            ground = BACKGROUND.get(tile, PAPER)
            square = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=ground, edgecolor=DARK)
            ax.add_artist(square)
            if tile != "?":
                place(ax, icon(tile), x - 0.5, y - 0.5, 0.9)
        place(ax, robot(), -0.5, -0.5, 0.9)
        _draw_unseen(ax, i)
        for action in ("LEFT", "UP", "RIGHT"):
            _draw_way(ax, action, open_to=i == 0, chosen=i > 0 and action == "UP")
        if i == 2:
            ax.plot(-APART / 2, 0, "x", color=VERMILION, markersize=15, markeredgewidth=2.5)
        figure.text(left, words / total, caption, va="top", fontsize=8.5)
    return figure


def _draw_unseen(ax: Axes, i: int) -> None:
    """Draw what LEFT may lead to, what the agent assumes of it, or what it is."""
    for tile, x, y, scale in UNSEEN[i]:
        place(ax, letter(tile) if tile == "?" else icon(tile), x - APART - 0.5, y - 0.5, scale)
    if i == 1:  # a thought
        for at, size in (((-0.52, -0.58), 0.05), ((-0.66, -0.74), 0.08), ((-0.95, -1.05), 0.3)):
            ax.add_artist(Circle(at, size, facecolor="white", edgecolor=DARK))
        place(ax, icon("S"), -1.45, -1.56, 0.45)


def _draw_way(ax: Axes, action: str, open_to: bool, chosen: bool) -> None:
    """Draw the arrow of an action and its name; one that is not taken is pale."""
    down, right = DIRECTIONS[action]
    colour = BLUE if open_to or chosen else "#b5b5b5"
    style: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    ends = [(0.52 * right, 0.52 * down), ((APART - 0.52) * right, (APART - 0.52) * down)]
    ax.add_artist(
        FancyArrowPatch(
            *ends, color=colour, linewidth=3.2 if chosen else 1.8,
            mutation_scale=20 if chosen else 14, **style,
        )
    )  # fmt: skip
    middle = APART / 2
    x, y = (0.16, -middle) if down else (middle * right, 0.3)
    ax.text(x, y, action, fontsize=7.5, ha="left" if down else "center", va="center", color=DARK)
