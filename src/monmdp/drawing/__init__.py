"""Drawings of worlds, policies, values and learning curves: text for a terminal, pictures, films.

Everything is drawn from simple shapes, in colours that colour-blind people can tell apart.
Matplotlib is loaded only when a picture is asked for, no window is opened and no global state of
Matplotlib is touched.
"""

from monmdp.drawing.curves import learning_curves, power_law
from monmdp.drawing.dots import Dot, dot_chart
from monmdp.drawing.dynamics import draw_dynamics
from monmdp.drawing.film import save_film
from monmdp.drawing.palette import Style, styles
from monmdp.drawing.panels import CurveData, PanelData, RowData, panel_grid, profiles
from monmdp.drawing.picture import draw_world, frame, gallery, save
from monmdp.drawing.plots import draw_heatmap, draw_policy, draw_values
from monmdp.drawing.text import grid_text, policy_text, sparkline, world_text

__all__ = [
    "CurveData",
    "Dot",
    "PanelData",
    "RowData",
    "Style",
    "dot_chart",
    "draw_dynamics",
    "draw_heatmap",
    "draw_policy",
    "draw_values",
    "draw_world",
    "frame",
    "gallery",
    "grid_text",
    "learning_curves",
    "panel_grid",
    "policy_text",
    "power_law",
    "profiles",
    "save",
    "save_film",
    "sparkline",
    "styles",
    "world_text",
]
