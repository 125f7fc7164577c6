"""Worlds as SVG text, for pages that draw themselves: the icons, and where each state is.

A drawing is made of paths in the unit square of a cell, x to the right and y downwards. Letters
become outlines as well, so nothing that a user wrote stands in the text as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.drawing.maps import noun, rows_of
from monmdp.model.mdp import MDP

if TYPE_CHECKING:
    from matplotlib.patches import Patch

POINTS_A_CELL = 46
"""widths of lines are in points; so many are a cell, as in the pictures"""


@cache
def icon_svg(tile: str) -> str:
    """Return what stands in the cells of a tile; nothing for an empty one."""
    from monmdp.drawing.icons import ICONS, letter

    return _paths(ICONS[tile]() if tile in ICONS else letter(tile))


@cache
def robot_svg() -> str:
    """Return the agent."""
    from monmdp.drawing.icons import robot

    return _paths(robot())


@cache
def button_svg(action: str) -> str:
    """Return the push button at the side of the cell that `action` bumps into."""
    from monmdp.drawing.icons import button

    return _paths(button(action))


def _paths(patches: Sequence[Patch]) -> str:
    """Write patches as path elements."""
    return "".join(_path(patch) for patch in patches)


def _path(patch: Patch) -> str:
    from matplotlib.colors import to_hex, to_rgba
    from matplotlib.path import Path

    outline = patch.get_path().transformed(patch.get_patch_transform())
    letters = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
    words = []
    for points, code in outline.iter_segments(simplify=False, curves=True):
        if code == Path.CLOSEPOLY:
            words.append("Z")
        elif code in letters:
            words.append(letters[code] + " ".join(_short(x) for x in np.asarray(points)))
    style = f'fill="{to_hex(patch.get_facecolor())}"'
    edge, width = to_rgba(patch.get_edgecolor()), patch.get_linewidth()
    if width > 0 and edge[3] > 0:
        style += f' stroke="{to_hex(edge)}" stroke-width="{_short(width / POINTS_A_CELL)}"'
    return f'<path d="{"".join(words)}" {style}/>'


def _short(x: float) -> str:
    """A coordinate to a thousandth of a cell."""
    return f"{x:.3f}".rstrip("0").rstrip(".").replace("-0.", "-.") if abs(x) >= 5e-4 else "0"


def geometry(mdp: MDP, *, button: bool = True) -> dict[str, Any]:
    """Return where the states of a world are drawn and what stands there, as plain data.

    A world with a map is a ``grid`` of its tiles; any other one a ``sheet`` of squares, laid out as
    for heat maps. `button` is whether its button does something, and is drawn.
    """
    from monmdp.drawing.sheet import sheet_of

    found: dict[str, Any] = {"robot": robot_svg(), "button": None}
    if button and mdp.button is not None:
        state, action = mdp.button
        found["button"] = {"state": state, "svg": button_svg(mdp.action_labels[action])}
    if mdp.cells is not None:
        from monmdp.drawing.icons import BACKGROUND, PAPER

        rows = rows_of(mdp)
        tiles = sorted({tile for row in rows for tile in row})
        return found | {
            "kind": "grid",
            "rows": len(rows),
            "columns": len(rows[0]),
            "cells": mdp.cells.tolist(),
            "tiles": [
                {
                    "name": noun(tile),
                    "svg": icon_svg(tile),
                    "background": BACKGROUND.get(tile, PAPER),
                    "cells": [
                        [r, c]
                        for r, row in enumerate(rows)
                        for c, here in enumerate(row)
                        if here == tile
                    ],
                }
                for tile in tiles
            ],
        }
    sheet = sheet_of(mdp)
    return found | {
        "kind": "sheet",
        "rows": sheet.height,
        "columns": sheet.width,
        "cells": sheet.cells.tolist(),
        "tiles": [],
    }
