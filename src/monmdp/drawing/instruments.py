"""Which hidden rewards to make visible, on the map; as bars where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from monmdp.drawing.canvas import LINE, Picture
from monmdp.drawing.heatmaps import action_parts
from monmdp.drawing.icons import DARK, place, robot
from monmdp.drawing.labels import brief, folded, marked_states, shortened
from monmdp.drawing.palette import GREEN
from monmdp.drawing.picture import MAX_ROBOTS
from monmdp.drawing.sheet import CORNER, Sheet, draw_ground, sheet_of
from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray
from monmdp.planning import Instrumentation, observability
from monmdp.planning.hidden_pay import INTERVAL
from monmdp.tables import written

LEFT_OUT = "#f3cdb3"
"""of hidden rewards that stay hidden"""
LISTED = 12
"""of the chosen ones, in the legend"""
BESIDE = 2.6
"""inches for the legend"""
BARS_WIDE = 7.0
"""inches"""


def draw_instrumentation(found: Instrumentation, *, title: str | None = None) -> Figure:
    """Draw what `planning.instrument` found: the rewards to make visible, in their order.

    Each hidden pair is a part of its state's cell, as in `draw_heatmap`: green and numbered if it
    is to be made visible, pale if it stays hidden. Without a map there is a bar for each candidate:
    what it gains alone, and for the chosen ones what is gained so far.

    >>> from monmdp import drawing, make, planning
    >>> found = planning.instrument(make("bottleneck", "button"), 2)
    >>> drawing.save(drawing.draw_instrumentation(found), "instruments.png")
    """
    if not isinstance(found, Instrumentation):
        raise MonMDPError(
            f"draw_instrumentation takes what planning.instrument returns; got {brief(found)}"
        )
    mdp = found.monmdp.mdp
    if mdp.picture is None:
        return _bars(found, _title(found) if title is None else title)
    sheet = sheet_of(mdp)
    width, height = sheet.inches()
    title = folded(_title(found) if title is None else title, width + BESIDE)
    listed = 0.18 * (min(len(found.chosen), LISTED) + 4)
    figure = Picture(width + BESIDE + 0.6, max(height, listed) + 0.9 + LINE * title.count("\n"))
    figure.set_layout_engine("constrained")
    ax = figure.add_subplot()
    draw_ground(ax, mdp, sheet)
    shapes, note = action_parts(mdp)
    number = {pair: i for i, of in enumerate(found.chosen, 1) for pair in of.candidate.pairs}
    never = observability(found.monmdp).never_observable_pairs
    hidden = [(int(s), int(a)) for s, a in never]
    corners = sheet.cells[:, ::-1].astype(np.float64)
    # The square in the middle lies over the triangles at the sides.
    order = sorted(hidden, key=lambda of: (len(shapes[of[1]]), of))
    edge: dict[str, Any] = {"edgecolors": DARK, "linewidths": 0.6} if sheet.detailed else {}
    parts = PolyCollection(
        [corners[s] + shapes[a] for s, a in order],
        facecolors=[GREEN if pair in number else LEFT_OUT for pair in order],
        zorder=1.7,
        **edge,
    )
    ax.add_collection(parts, autolim=False)
    starts = marked_states(mdp, None)
    if sheet.detailed and len(starts) <= MAX_ROBOTS:
        for row, column in sheet.cells[starts]:
            place(ax, robot(), column + CORNER, row + CORNER, 0.4)
    _write_numbers(ax, sheet, number, corners, shapes)
    ax.set_xlabel(folded(note, max(width, 2.2) / 0.7), fontsize=7, color="0.35", parse_math=False)
    ax.set_title(title, fontsize=10, parse_math=False, loc="left")
    _explain(figure, found, some_left=len(hidden) > len(number))
    return figure


def _bars(found: Instrumentation, title: str) -> Figure:
    """A bar for each of the chosen candidates, then for the best of the others."""
    chosen = found.chosen[:LISTED]
    others = [of for of in found.candidates if of.name not in found.names]
    others = others[: max(LISTED - len(chosen), 3)]
    title = folded(title, BARS_WIDE)
    n = len(chosen) + len(others)
    figure = Picture(BARS_WIDE, 0.28 * max(n, 2) + 1.2 + LINE * title.count("\n"))
    figure.set_layout_engine("constrained")
    ax = figure.add_subplot()
    rows = np.arange(n)
    so_far = [of.gain for of in chosen]
    alone = [*(of.candidate.gain for of in chosen), *(of.gain for of in others)]
    names = [f"{i}  {of.candidate.name}" for i, of in enumerate(chosen, 1)]
    names += [of.name for of in others]
    ax.barh(rows[: len(chosen)], so_far, 0.78, color=GREEN, alpha=0.35)
    colours = [GREEN] * len(chosen) + [LEFT_OUT] * len(others)
    ax.barh(rows, alone, 0.42, color=colours)
    for y, value in enumerate([*so_far, *alone[len(chosen) :]]):
        ax.text(value, y, f" {written(value)}", va="center", fontsize=8, color="0.35")
    ax.set_yticks(rows, [shortened(name, 40) for name in names], fontsize=8, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.15 * max([*so_far, *alone, 1e-12]))
    ax.set_xlabel("gain of the guaranteed value", fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title, fontsize=10, parse_math=False, loc="left")
    shown = [Patch(facecolor=GREEN, alpha=0.35), Patch(facecolor=GREEN), Patch(facecolor=LEFT_OUT)]
    words = ["chosen, gain so far", "alone", "stays hidden, alone"]
    there = [i for i, of in enumerate((chosen, chosen, others)) if of]
    if there:
        look: dict[str, Any] = {"fontsize": 8, "frameon": False, "loc": "lower right"}
        ax.legend([shown[i] for i in there], [words[i] for i in there], **look)
    return figure


def _title(found: Instrumentation) -> str:
    most = "up to " if found.assume == INTERVAL else ""
    return (
        f"{found.monmdp.mdp.name} / {found.monmdp.monitor.name}: make visible for a budget of "
        f"{written(found.budget)}, gain {most}{written(found.gain)}"
    )


def _write_numbers(
    ax: Axes,
    sheet: Sheet,
    number: dict[tuple[int, int], int],
    corners: FloatArray,
    shapes: list[FloatArray],
) -> None:
    """Write the numbers of the chosen ones, once for each cell that they have a part of."""
    places: dict[tuple[int, int], list[FloatArray]] = {}
    for (s, a), i in number.items():
        places.setdefault((s, i), []).append(corners[s] + shapes[a].mean(axis=0))
    size = 9.0 if sheet.width <= 12 else max(3.0, 110 / sheet.width)
    for (_, i), of in places.items():
        # Between two parts there may be none: it stands in the one that is nearest to the middle.
        x, y = min(of, key=lambda at: float(np.linalg.norm(at - np.mean(of, axis=0)).round(6)))
        look: dict[str, Any] = {"ha": "center", "va": "center", "color": "white", "zorder": 4}
        ax.text(x, y, str(i), fontsize=size, weight="bold", clip_on=True, **look)


def _explain(figure: Figure, found: Instrumentation, *, some_left: bool) -> None:
    """List the chosen ones with the gain so far, and say what the colours mean."""
    entries: list[tuple[Any, str]] = []
    if found.chosen:
        entries.append((Patch(facecolor=GREEN, edgecolor=DARK), "to make visible, gain so far:"))
    for i, of in enumerate(found.chosen[:LISTED], 1):
        words = f"{i}  {shortened(of.candidate.name, 18)}  {written(of.gain)}"
        entries.append((Line2D([], [], linestyle=""), words))
    if (more := len(found.chosen) - LISTED) > 0:
        entries.append((Line2D([], [], linestyle=""), f"… and {more} more"))
    if some_left:
        entries.append((Patch(facecolor=LEFT_OUT, edgecolor=DARK), "stays hidden"))
    if not found.chosen:
        entries.append((Line2D([], [], linestyle=""), "nothing is worth its cost"))
    look: dict[str, Any] = {"fontsize": 8, "frameon": False, "handlelength": 1.2}
    handles, texts = [of for of, _ in entries], [text for _, text in entries]
    figure.legend(handles, texts, loc="outside right center", **look)
