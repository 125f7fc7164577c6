"""What stands in the cells of a map, drawn from simple shapes.

An icon is a list of patches in the unit square of a cell: x to the right, y *downwards*, as in the
maps. All shapes are filled areas, so an icon looks the same at every size. The colours are those of
Okabe and Ito, which colour-blind people can tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, Ellipse, FancyBboxPatch, Patch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike

from monmdp.drawing.canvas import boxes_for_missing_glyphs
from monmdp.drawing.labels import DIRECTIONS, WATER
from monmdp.drawing.palette import BLACK, BLUE, GREEN, ORANGE, PINK, SKY, VERMILION, YELLOW
from monmdp.model.arrays import FloatArray
from monmdp.worlds.gridmap import WALL

ACTION_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PINK, SKY, BLACK, YELLOW)
DARK, BROWN = "#3b3b3b", "#8a5a2b"

PAPER = "#fbfaf5"
BACKGROUND = {WALL: "#55585c", WATER: "#d9eefa", "?": "#dcdcdc"}
"""colour of a cell behind its icon; PAPER for all others"""
SOLID = {
    ".": PAPER, "$": ORANGE, "g": YELLOW, "S": GREEN, "W": PINK, "?": "#b0b0b0", "o": "#5b4636",
    WATER: "#a9d8f2", WALL: "#55585c", "<": SKY, "v": SKY, ">": SKY, "^": SKY,
}  # fmt: skip
"""colour of a cell too small for an icon"""


def place(
    ax: Axes, patches: Sequence[Patch], x: float, y: float, scale: float = 1.0, zorder: float = 2
) -> None:
    """Put an icon into the cell whose upper left corner is (x, y), shrunk about its centre."""
    transform = Affine2D().translate(-0.5, -0.5).scale(scale).translate(x + 0.5, y + 0.5)
    for patch in patches:
        patch.set_transform(transform + ax.transData)
        patch.set_zorder(zorder)
        ax.add_artist(patch)


def towards(action: str, points: ArrayLike) -> FloatArray:
    """Turn points (ahead, aside) to where an action moves: x and y, about the agent."""
    row, column = DIRECTIONS[action]
    turned: FloatArray = np.asarray(points) @ np.array([(column, row), (row, column)])
    return turned


def robot() -> list[Patch]:
    """Return the agent: head, two eyes, mouth, ears and antenna."""
    line: dict[str, Any] = {"edgecolor": DARK, "linewidth": 0.8}
    rounded = "round,pad=0.06,rounding_size=0.1"
    patches: list[Patch] = [
        Rectangle((0.485, 0.18), 0.03, 0.14, facecolor=DARK),
        Circle((0.5, 0.17), 0.05, facecolor=VERMILION, **line),
        Rectangle((0.18, 0.47), 0.64, 0.15, facecolor="#7f8c96", **line),
        FancyBboxPatch((0.30, 0.36), 0.40, 0.40, boxstyle=rounded, facecolor=SKY, **line),
        Rectangle((0.37, 0.68), 0.26, 0.05, facecolor=DARK),
    ]
    for x in (0.39, 0.61):
        patches.append(Circle((x, 0.50), 0.085, facecolor="white", **line))
        patches.append(Circle((x, 0.51), 0.04, facecolor=BLACK))
    return patches


def button(action: str) -> list[Patch]:
    """Return a red push button at the side of the cell that `action` bumps into."""
    angle = np.linspace(0, np.pi, 30)
    plate = [(0.5, -0.28), (0.43, -0.28), (0.43, 0.28), (0.5, 0.28)]
    dome = np.column_stack([0.43 - 0.13 * np.sin(angle), 0.19 * np.cos(angle)])
    side = action.upper() if action.upper() in DIRECTIONS else "DOWN"
    line: dict[str, Any] = {"edgecolor": DARK, "linewidth": 0.7}
    return [
        Polygon(towards(side, plate) + 0.5, facecolor="#6b6f73", **line),
        Polygon(towards(side, dome) + 0.5, facecolor="#d7191c", **line),
    ]


def eye(is_open: bool) -> list[Patch]:
    """Return a badge: an open eye, or one that is struck out."""
    colour = GREEN if is_open else VERMILION
    t = np.linspace(-1, 1, 30)
    lid = np.column_stack([0.5 + 0.3 * t, 0.19 * (1 - t**2)])
    lens = np.concatenate([lid, lid[::-1] * np.array([1, -1])]) + np.array([0, 0.5])
    patches: list[Patch] = [
        Circle((0.5, 0.5), 0.46, facecolor="white", edgecolor=colour, linewidth=1.6),
        Polygon(lens, facecolor="#e9f6f1" if is_open else "#fdeee3", edgecolor=DARK, linewidth=1.0),
        Circle((0.5, 0.5), 0.11, facecolor=DARK),
    ]
    if not is_open:
        stroke = np.array([(0.22, 0.78), (0.78, 0.22)])
        patches += [_ribbon(stroke, 0.16, "white"), _ribbon(stroke, 0.09, VERMILION)]
    return patches


def icon(tile: str) -> list[Patch]:
    """Return the picture of a tile, or its letter where it has none."""
    return ICONS[tile]() if tile in ICONS else letter(tile)


def letter(tile: str) -> list[Patch]:
    """Return a character as an icon, as tiles without a picture are drawn."""
    bold = FontProperties(family="DejaVu Sans", weight="bold")
    with boxes_for_missing_glyphs():
        vertices, codes = text_to_path.get_text_path(bold, tile)
    if not len(vertices):  # a space of some kind
        return []
    path = Path(vertices, codes)
    box = path.get_extents()
    fit = 0.5 / max(box.width, box.height)
    middle = (box.x0 + box.width / 2, box.y0 + box.height / 2)
    shift = Affine2D().translate(-middle[0], -middle[1]).scale(fit, -fit).translate(0.5, 0.5)
    return [PathPatch(path.transformed(shift), facecolor=BLUE, linewidth=0)]


def _chest() -> list[Patch]:
    line: dict[str, Any] = {"edgecolor": "#3a2410", "linewidth": 0.8}
    lid = np.linspace(np.pi, 0, 30)
    curve = np.column_stack([0.5 + 0.34 * np.cos(lid), 0.46 - 0.22 * np.sin(lid)])
    return [
        Rectangle((0.16, 0.46), 0.68, 0.36, facecolor=BROWN, **line),
        Polygon(curve, facecolor="#a06a35", **line),
        Rectangle((0.16, 0.43), 0.68, 0.075, facecolor=YELLOW, **line),
        Rectangle((0.24, 0.505), 0.055, 0.315, facecolor=ORANGE, linewidth=0),
        Rectangle((0.705, 0.505), 0.055, 0.315, facecolor=ORANGE, linewidth=0),
        Rectangle((0.43, 0.41), 0.14, 0.17, facecolor=YELLOW, **line),
        Circle((0.5, 0.48), 0.028, facecolor=BLACK),
        Rectangle((0.488, 0.485), 0.024, 0.06, facecolor=BLACK),
    ]


def _gold() -> list[Patch]:
    patches: list[Patch] = []
    for x, y in ((0.30, 0.78), (0.70, 0.78), (0.5, 0.54)):
        front = [(x - 0.2, y), (x + 0.2, y), (x + 0.13, y - 0.22), (x - 0.13, y - 0.22)]
        edge, low = y - 0.19, y - 0.14
        shine = [(x - 0.11, edge), (x + 0.11, edge), (x + 0.13, low), (x - 0.13, low)]
        patches.append(Polygon(front, facecolor=ORANGE, edgecolor="#7a5500", linewidth=0.8))
        patches.append(Polygon(shine, facecolor=YELLOW, linewidth=0))
    return patches


def _snake() -> list[Patch]:
    t = np.linspace(0, 1, 90)
    body = np.column_stack([0.5 + 0.24 * np.sin(2.9 * np.pi * t), 0.86 - 0.60 * t])
    width = 0.02 + 0.10 * np.minimum(1, 3 * t)
    x, y = body[-1]
    fork = [(x, y - 0.08), (x - 0.035, y - 0.17), (x, y - 0.13), (x + 0.035, y - 0.17)]
    patches: list[Patch] = [
        Polygon(fork, facecolor=VERMILION, edgecolor=VERMILION, linewidth=0.8),
        # The outline is a wider ribbon underneath: a stroked one would cross itself in the bends.
        _ribbon(body, width + 0.025, "#00543d"),
        _ribbon(body, width, GREEN),
        Ellipse((x, y), 0.22, 0.20, facecolor=GREEN, edgecolor="#00543d", linewidth=0.8),
    ]
    for side in (-0.05, 0.05):
        patches.append(Circle((x + side, y - 0.02), 0.033, facecolor="white"))
        patches.append(Circle((x + side, y - 0.025), 0.016, facecolor=BLACK))
    return patches


def _wasp() -> list[Patch]:
    centre_x, centre_y, a, b = 0.52, 0.58, 0.27, 0.17
    wing: dict[str, Any] = {"facecolor": "#cfe8f7", "edgecolor": BLUE, "linewidth": 0.8}
    body: dict[str, Any] = {"facecolor": YELLOW, "edgecolor": BLACK, "linewidth": 0.8}
    patches: list[Patch] = [
        Ellipse((0.42, 0.34), 0.17, 0.38, angle=-20, **wing),
        Ellipse((0.60, 0.34), 0.17, 0.38, angle=20, **wing),
        Polygon([(0.76, 0.54), (0.76, 0.62), (0.88, 0.58)], facecolor=BLACK),
        Ellipse((centre_x, centre_y), 2 * a, 2 * b, **body),
    ]
    for left in (-0.13, 0.0, 0.13):
        x = np.linspace(left, left + 0.065, 8)
        y = b * np.sqrt(1 - (x / a) ** 2)
        edge = np.concatenate([np.column_stack([x, y]), np.column_stack([x, -y])[::-1]])
        patches.append(Polygon(edge + np.array([centre_x, centre_y]), facecolor=BLACK))
    patches.append(Circle((0.25, 0.56), 0.095, facecolor=BLACK))
    patches.append(Circle((0.22, 0.54), 0.025, facecolor="white"))
    return patches


def _bottom() -> list[Patch]:
    """⊥ as two bars, so that no font is needed, on hatching."""
    hatching: list[Patch] = []
    for offset in np.arange(-0.75, 1, 0.25):
        left, right = max(0.0, offset), min(1.0, 1 + offset)
        stroke = np.array([(left, left - offset), (right, right - offset)])
        hatching.append(_ribbon(stroke, 0.02, "#bdbdbd"))
    return [
        *hatching,
        Rectangle((0.24, 0.70), 0.52, 0.09, facecolor=DARK),
        Rectangle((0.455, 0.22), 0.09, 0.5, facecolor=DARK),
    ]


def _hole() -> list[Patch]:
    return [
        Ellipse((0.5, 0.56), 0.74, 0.52, facecolor="#b89b7a", edgecolor="#7a6248", linewidth=0.8),
        Ellipse((0.5, 0.58), 0.60, 0.38, facecolor="#2a211a"),
        Ellipse((0.5, 0.65), 0.42, 0.20, facecolor=BLACK),
    ]


def _arrow(action: str) -> list[Patch]:
    line: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.8}
    corners = towards(action, [(0.15, 0), (-0.13, 0.3), (-0.13, -0.3)]) + 0.5
    shift = towards(action, (0.15, 0))
    return [
        Polygon(corners - shift, facecolor=SKY, **line),
        Polygon(corners + shift, facecolor=BLUE, **line),
    ]


def _water() -> list[Patch]:
    x = np.linspace(0.08, 0.92, 40)
    waves = [np.column_stack([x, y + 0.045 * np.sin(x * 6 * np.pi)]) for y in (0.27, 0.52, 0.77)]
    return [_ribbon(wave, 0.035, SKY) for wave in waves]


def _ribbon(line: FloatArray, width: float | FloatArray, colour: str) -> Polygon:
    """A line [point, 2] of the given width or widths, as a filled area."""
    along = np.gradient(line, axis=0)
    across = np.column_stack([-along[:, 1], along[:, 0]])
    across *= (width / 2 / np.linalg.norm(across, axis=1))[:, None]
    edge = np.concatenate([line + across, (line - across)[::-1]])
    return Polygon(edge, facecolor=colour, linewidth=0)


ICONS: dict[str, Callable[[], list[Patch]]] = {
    "$": _chest,
    "g": _gold,
    "S": _snake,
    "W": _wasp,
    "?": _bottom,
    "o": _hole,
    **{tile: partial(_arrow, action) for tile, action in zip("<v>^", DIRECTIONS, strict=True)},
    WATER: _water,
    ".": list,
    WALL: list,
}
"""picture of each tile"""
