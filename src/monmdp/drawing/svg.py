"""Worlds as SVG text, for pages that draw themselves: the icons, and where each state is.

A drawing consists of paths in the unit square of a cell, x to the right and y downwards. Letters
become outlines as well, so the text holds nothing that a user wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_hex, to_rgba
from matplotlib.patches import Patch
from matplotlib.path import Path

from monmdp.drawing.icons import BACKGROUND, PAPER, button, icon, robot
from monmdp.drawing.labels import rows_of, tile_name
from monmdp.drawing.sheet import sheet_of
from monmdp.model.mdp import MDP

POINTS_A_CELL = 46
"""width of a cell in points, as in the pictures; widths of lines are in points"""
LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


def to_svg(patches: Sequence[Patch]) -> str:
    """Write patches as path elements."""
    return "".join(_path(patch) for patch in patches)


def _path(patch: Patch) -> str:
    outline = patch.get_path().transformed(patch.get_patch_transform())
    words = []
    for points, code in outline.iter_segments(simplify=False, curves=True):
        if code == Path.CLOSEPOLY:
            words.append("Z")
        elif code in LETTERS:
            words.append(LETTERS[code] + " ".join(_short(x) for x in np.asarray(points)))
    style = f'fill="{to_hex(patch.get_facecolor())}"'
    edge, width = to_rgba(patch.get_edgecolor()), patch.get_linewidth()
    if width > 0 and edge[3] > 0:
        style += f' stroke="{to_hex(edge)}" stroke-width="{_short(width / POINTS_A_CELL)}"'
    return f'<path d="{"".join(words)}" {style}/>'


def _short(x: float) -> str:
    """A coordinate to a thousandth of a cell."""
    return f"{x:.3f}".rstrip("0").rstrip(".").replace("-0.", "-.") if abs(x) >= 5e-4 else "0"


def geometry(mdp: MDP, *, with_button: bool = True) -> dict[str, Any]:
    """Return where the states of a world are drawn and what stands there, as plain data.

    A world with a map is a ``grid`` of its tiles. Any other is a ``sheet`` of squares without
    tiles, laid out as for heat maps. A button that does nothing need not be drawn.
    """
    sheet = sheet_of(mdp)
    pressed = None
    if with_button and mdp.button is not None:
        state, action = mdp.button
        pressed = {"state": state, "svg": to_svg(button(mdp.action_labels[action]))}
    cells_of: dict[str, list[list[int]]] = {}
    for r, row in enumerate(() if mdp.picture is None else rows_of(mdp)):
        for c, tile in enumerate(row):
            cells_of.setdefault(tile, []).append([r, c])
    return {
        "robot": to_svg(robot()),
        "button": pressed,
        "kind": "sheet" if mdp.picture is None else "grid",
        "rows": sheet.height,
        "columns": sheet.width,
        "cells": sheet.cells.tolist(),
        "tiles": [
            {
                "name": tile_name(tile),
                "svg": to_svg(icon(tile)),
                "background": BACKGROUND.get(tile, PAPER),
                "cells": cells,
            }
            for tile, cells in sorted(cells_of.items())
        ],
    }
