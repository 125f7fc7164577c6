"""Grids of learning curves, as in the paper's figures, and performance profiles."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.drawing.labels import TITLE_LINES, fold, shortened
from monmdp.drawing.palette import Style
from monmdp.model.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PANEL = 2.05, 1.55
"""width and height of a small panel, in inches"""
LARGE = 3.1, 2.4
"""of panels that stand in a single row of up to four"""
ALONE = 5.6, 3.0
"""of a single panel"""
MARK = 0.04
"""width of a mark of a curve outside, as a fraction of the axis"""
BETWEEN_MARKS = 0.16
"""of the marks of one curve"""


@dataclass(frozen=True)
class CurveData:
    """One line with its band."""

    label: str
    step: IntArray
    """[checkpoint]"""
    mean: FloatArray
    """[checkpoint]"""
    half: FloatArray
    """[checkpoint] half the width of the band; NaN: no band"""


@dataclass(frozen=True)
class PanelData:
    """What one panel shows."""

    curves: Sequence[CurveData]
    dashed: float | None = None
    """the minimax return"""
    title: str = ""
    """above it"""
    x_range: tuple[float, float] | None = None
    """training steps; None: all"""
    y_range: tuple[float, float] | None = None
    """None: curves and bands, but not the depths of the first tenth"""
    missing: Sequence[str] = ()
    """curves that have no runs yet"""

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """The ends of both axes: first and last step, least and largest value."""
        last = max(float(curve.step[-1]) for curve in self.curves)
        first, last = self.x_range or (0.0, last)
        return first, max(last, 1.0), *(self.y_range or y_range(self))

    @property
    def leaves(self) -> bool:
        """Whether the mean of a curve leaves the axes."""
        return any(of.any() for curve in self.curves for of in _outside(curve, self.limits))


@dataclass(frozen=True)
class RowData:
    """Panels beside each other."""

    panels: Sequence[PanelData]
    label: str = ""
    """left of them"""
    heading: str = ""
    """above them, where a new part of the figure begins"""


def panel_grid(
    rows: Sequence[RowData], *, styles: Mapping[str, Style], title: str, y_label: str, note: str
) -> Figure:
    """Draw rows of panels with one legend above and a note below.

    `styles` are in the order of the legend, `y_label` is what all panels show, and `note` says what
    is averaged, over how many seeds, and what the bands mean.
    """
    from monmdp.drawing.canvas import Picture

    columns = max(len(row.panels) for row in rows)
    large = len(rows) == 1 and columns <= 4
    width, height = ALONE if large and columns == 1 else LARGE if large else PANEL
    left, right, gap = 0.95, 0.15, 0.42 if large else 0.36
    between = 0.3
    unit, x_label = _unit(rows)
    headings = [0.34 if row.heading else 0.0 for row in rows]
    total_width = max(left + columns * width + (columns - 1) * gap + right, 5.0)
    handles = _handles(styles, rows)
    across = _across([str(handle.get_label()) for handle in handles], total_width)
    more = 0.2 * (-(-len(handles) // across) - 1)
    folded = "\n".join(fold(note, int(total_width * 15.5), 12))
    heading = "\n".join(fold(title, int((total_width - 0.3) * 12), TITLE_LINES))
    lines = 0.18 * heading.count("\n")
    top, below = 0.95 + more + lines, 0.7 + 0.125 * (folded.count("\n") + 1)
    heights = len(rows) * height + (len(rows) - 1) * between + sum(headings)
    total_height = top + heights + below
    figure = Picture(total_width, total_height)

    def write(x: float, y: float, text: str, size: float, **style: Any) -> None:
        figure.text(x / total_width, y / total_height, text, fontsize=size, **style)

    y = total_height - top
    for i, row in enumerate(rows):
        write(left, y - 0.05, row.heading, 9.5, weight="bold", va="center")
        y -= headings[i] + height
        for j, panel in enumerate(row.panels):
            x = left + j * (width + gap)
            place = (x / total_width, y / total_height, width / total_width, height / total_height)
            ax = figure.add_axes(place)
            last = i == len(rows) - 1 or len(rows[i + 1].panels) <= j
            _draw(ax, panel, styles, unit, last)
        x = 0.36 if "\n" in row.label else 0.45
        write(x, y + height / 2, row.label, 8, rotation=90, ha="center", va="center")
        y -= between
    write(0.2, below + heights / 2, y_label, 9, rotation=90, va="center")
    write(total_width / 2, below - 0.42, x_label, 9, ha="center")
    write(0.15, total_height - 0.11, heading, 11, va="top")
    write(0.15, 0.06, folded, 7, color="0.35")
    middle = 1 - (0.48 + lines + more / 2) / total_height
    figure.legend(
        handles=handles, loc="center", bbox_to_anchor=(0.5, middle), ncols=across,
        frameon=False, fontsize=8.5, handlelength=2.6,
    )  # fmt: skip
    return figure


def _unit(rows: Sequence[RowData]) -> tuple[float, str]:
    """How many steps the axes count by, and what is written below them."""
    drawn = (panel for row in rows for panel in row.panels if panel.curves)
    if max((panel.limits[1] for panel in drawn), default=0.0) < 1000:
        return 1.0, "training steps"
    return 1000.0, "training steps (×10³)"


def _handles(styles: Mapping[str, Style], rows: Sequence[RowData]) -> list[Line2D]:
    """What the legend shows."""
    from matplotlib.lines import Line2D

    shown = {
        label
        for row in rows
        for panel in row.panels
        for label in (*(curve.label for curve in panel.curves), *panel.missing)
    }
    handles = [
        Line2D([], [], linewidth=2, label=shortened(label, 60), color=of.colour, linestyle=of.line)
        for label, of in styles.items()
        if label in shown
    ]
    if any(panel.dashed is not None for row in rows for panel in row.panels):
        look: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2}
        handles.append(Line2D([], [], label="minimax-optimal", **look))
    return handles


def _across(labels: Sequence[str], width: float) -> int:
    """How many entries of a legend fit side by side into that many inches."""
    longest = max((len(label) for label in labels), default=0)
    return max(1, min(len(labels), int(width / (0.65 + 0.078 * longest))))


def _draw(ax: Axes, panel: PanelData, styles: Mapping[str, Style], unit: float, last: bool) -> None:
    """Draw curves, each thinner than the one before, so that all are seen where they meet."""
    from matplotlib.ticker import MaxNLocator

    for i, curve in enumerate(panel.curves):
        of, x = styles[curve.label], curve.step / unit
        lower, upper = curve.mean - curve.half, curve.mean + curve.half
        ax.fill_between(x, lower, upper, color=of.colour, alpha=0.25, linewidth=0)
        width = max(2.2 - 0.5 * i, 1.0)
        ax.plot(x, curve.mean, color=of.colour, linestyle=of.line, linewidth=width)
    if panel.dashed is not None:
        ax.axhline(panel.dashed, color="black", linestyle="--", linewidth=1.0, zorder=1.5)
    if panel.missing:
        ax.text(
            0.5, 0.5, "not run:\n" + "\n".join(panel.missing), transform=ax.transAxes, ha="center",
            va="center", fontsize=7, color="0.5",
        )  # fmt: skip
    if panel.curves:
        first, end, low, high = panel.limits
        ax.set(xlim=(first / unit, end / unit), ylim=(low, high))
        _mark_outside(ax, panel, styles)
    ax.set_title(panel.title, fontsize=9)
    ax.tick_params(labelsize=7, pad=2, labelbottom=True)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.ticklabel_format(axis="y", useOffset=False)
    if not last:
        ax.tick_params(labelbottom=panel.x_range is not None)
    ax.spines[["top", "right"]].set_visible(False)


def _mark_outside(ax: Axes, panel: PanelData, styles: Mapping[str, Style]) -> None:
    """Mark at the edges where curves go on outside, beside each other where they do so together.

    Of curves in one colour the first has full marks, its variants have empty ones.
    """
    first, end, *_ = panel.limits
    for edge, marker in enumerate("v^"):
        outside = [(curve, _outside(curve, panel.limits)[edge]) for curve in panel.curves]
        leaving = [(curve, is_out) for curve, is_out in outside if is_out.any()]
        for i, (curve, is_out) in enumerate(leaving):
            at = (curve.step[is_out].astype(np.float64) - first) / (end - first)
            x = _places(at, i, len(leaving))
            of = styles[curve.label]
            ax.scatter(
                x, [float(edge)] * len(x), s=26, marker=marker, linewidth=0.9,
                edgecolor=of.colour, facecolor=of.colour if of.line == "-" else "white",
                transform=ax.transAxes, clip_on=False, zorder=5,
            )  # fmt: skip


def _outside(
    curve: CurveData, limits: tuple[float, float, float, float]
) -> tuple[BoolArray, BoolArray]:
    """Where a curve's mean lies below and where above the axes, [checkpoint] each."""
    first, end, low, high = limits
    shown = (curve.step >= first) & (curve.step <= end)
    return shown & (curve.mean < low), shown & (curve.mean > high)


def _places(x: FloatArray, i: int, n: int) -> list[float]:
    """Where the marks of the i-th of n curves stand: a few in every stretch outside.

    `x` is where the curve is outside, as fractions of the axis; each curve has places of its own.
    """
    # A curve that comes and goes at the edge is outside in one stretch.
    ends = np.flatnonzero(np.diff(x) > 2 * MARK)
    stretches = zip(x[np.append(0, ends + 1)], x[np.append(ends, -1)], strict=True)
    period = max(BETWEEN_MARKS, n * MARK)
    own = np.arange(period * (i + 0.5) / n, 1.0, period)
    places: list[float] = []
    for begin, end in stretches:
        middle = float(begin + end) / 2
        short = middle + (MARK if middle < 0.5 else -MARK) * i
        places += own[(begin <= own) & (own <= end)].tolist() or [short]
    return places


def y_range(panel: PanelData, *, full: bool = False) -> tuple[float, float]:
    """Return a range that shows curves and bands.

    Means of the first tenth of the steps may come from far below; only a `full` range has them.
    """
    level = [] if panel.dashed is None or np.isnan(panel.dashed) else [panel.dashed]
    lows, highs = [*level], [*level]
    for curve in panel.curves:
        half, late = np.nan_to_num(curve.half), len(curve.mean) // 10
        lows += [(curve.mean - half)[late:].min(), *([curve.mean.min()] if full else [])]
        highs += [(curve.mean + half)[late:].max(), curve.mean.max()]
    low, high = float(min(lows, default=0.0)), float(max(highs, default=0.0))
    # A range fitted to a constant would show nothing but rounding errors.
    least = 0.1 * max(1.0, abs(low), abs(high))
    spare = max(0.0, least - (high - low)) / 2
    margin = 0.08 * max(high - low, least) + spare
    return low - margin, high + margin


def profiles(
    thresholds: FloatArray,
    curves: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]],
    *,
    styles: Mapping[str, Style],
    title: str,
    note: str,
) -> Figure:
    """Draw performance profiles: the fraction of runs that score more than τ, with bands.

    `curves` are the fraction [τ] and the lower and upper end of its band, by label.
    """
    from monmdp.drawing.canvas import Picture

    figure = Picture(6.4, 4.2)
    ax = figure.add_axes((0.11, 0.24, 0.85, 0.66))
    for label, (fraction, low, high) in curves.items():
        of = styles[label]
        ax.fill_between(
            thresholds, low, high, color=of.colour, alpha=0.25, linewidth=0, step="post"
        )
        look: dict[str, Any] = {"color": of.colour, "linestyle": of.line, "linewidth": 1.6}
        ax.step(thresholds, fraction, where="post", label=label, **look)
    ends = (float(thresholds[0]), float(thresholds[-1]))
    ax.set(xlim=ends, ylim=(0, 1.02), ylabel="fraction of runs above τ")
    ax.set_xlabel("normalised end return τ  (1: the minimax return v, 0: less by max(1, |v|))")
    ax.set_title(title, fontsize=11, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(edgecolor="none", framealpha=0.85, fontsize=9, loc="lower left")
    figure.text(0.03, 0.02, textwrap.fill(note, 105), fontsize=7, color="0.35")
    return figure
