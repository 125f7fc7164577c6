"""Small pictures of panels, as SVG paths: a page may have a hundred of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from monmdp.drawing.palette import Style
from monmdp.drawing.panels import PanelData, y_range
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.tables import Value, written

WIDTH, HEIGHT = 200, 110
MOST_POINTS = 100


def thumbnail(
    panel: PanelData, styles: Mapping[str, Style], *, link: str, marks: Mapping[str, Value]
) -> dict[str, Any]:
    """Draw a panel in a box of WIDTH by HEIGHT, which clips what lies outside its range.

    `link` is the id of the section that shows more, or empty. A curve without an interval has an
    empty `band`; `dashed` is the y of the minimax return, if that is known.
    """
    drawn = {"title": panel.title, "missing": panel.missing, "link": link, "marks": marks}
    if not panel.curves:
        return drawn | {"lines": []}
    low, high = panel.y_range or y_range(panel)
    first, last = panel.x_range or (0.0, max(_budget(curve.step) for curve in panel.curves))

    def points(x: FloatArray, y: FloatArray) -> list[str]:
        px = WIDTH * (x - first) / max(last - first, 1.0)
        # Far outside the box it does not matter how far.
        py = np.clip(HEIGHT * (high - y) / (high - low), -HEIGHT, 2 * HEIGHT)
        return [f"{a:.0f} {b:.1f}" for a, b in zip(px, py, strict=True)]

    lines = []
    for curve in panel.curves:
        every = -(-len(curve.step) // MOST_POINTS)
        x = curve.step[::every].astype(np.float64)
        mean, half = curve.mean[::every], curve.half[::every]
        band = ""
        if np.isfinite(half).all():
            edge = points(x, mean + half) + points(x, mean - half)[::-1]
            band = f"M{'L'.join(edge)}Z"
        path = f"M{'L'.join(points(x, mean))}"
        look = {"label": curve.label, "style": styles[curve.label]}
        lines.append(look | {"path": path, "band": band})
    dashed = None
    if panel.dashed is not None and np.isfinite(panel.dashed):
        dashed = round(HEIGHT * (high - panel.dashed) / (high - low), 1)
    return drawn | {
        "lines": lines,
        "dashed": dashed,
        "low": written(low, ".3g"),
        "high": written(high, ".3g"),
        "first": f"{first:,.0f}",
        "last": f"{last:,.0f}",
    }


def _budget(step: IntArray) -> float:
    """Training steps in all: tests are before the steps that follow them."""
    return float(step[-1] + (step[1] - step[0] if len(step) > 1 else 1))
