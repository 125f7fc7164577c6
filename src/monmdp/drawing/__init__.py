"""Drawings of worlds, policies, values and learning curves: text for a terminal, pictures, films.

Everything is drawn from simple shapes, in colours that colour-blind people can tell apart.
Matplotlib is loaded only when a picture is asked for, no window is opened and no global state of
Matplotlib is touched.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from monmdp.drawing.dots import Dot, dot_chart, power_law
from monmdp.drawing.palette import Style, styles
from monmdp.drawing.panels import CurveData, PanelData, RowData, panel_grid, profiles
from monmdp.drawing.text import grid_text, policy_text, sparkline, world_text

if TYPE_CHECKING:
    from monmdp.drawing.arrows import draw_policy
    from monmdp.drawing.canvas import save
    from monmdp.drawing.film import frame, save_film
    from monmdp.drawing.graph import draw_dynamics
    from monmdp.drawing.heatmaps import draw_heatmap, draw_values
    from monmdp.drawing.instruments import draw_instrumentation
    from monmdp.drawing.interaction import draw_interaction
    from monmdp.drawing.pessimism import draw_pessimism
    from monmdp.drawing.picture import draw_world, gallery

__all__ = [
    "CurveData", "Dot", "PanelData", "RowData", "Style", "dot_chart", "draw_dynamics",
    "draw_heatmap", "draw_instrumentation", "draw_interaction", "draw_pessimism", "draw_policy",
    "draw_values", "draw_world", "frame", "gallery", "grid_text", "panel_grid", "policy_text",
    "power_law", "profiles", "save", "save_film", "sparkline", "styles", "world_text",
]  # fmt: skip

# These load when they are first asked for, and Matplotlib with them.
_MODULE_OF = {
    "draw_dynamics": "graph", "draw_heatmap": "heatmaps",
    "draw_instrumentation": "instruments", "draw_interaction": "interaction",
    "draw_pessimism": "pessimism", "draw_policy": "arrows", "draw_values": "heatmaps",
    "draw_world": "picture", "frame": "film", "gallery": "picture", "save": "canvas",
    "save_film": "film",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'monmdp.drawing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"monmdp.drawing.{_MODULE_OF[name]}"), name)
