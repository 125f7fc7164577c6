"""Points with intervals on logarithmic axes: in rows, or along a line y ∝ x^exponent."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monmdp.drawing.palette import BLUE, Style
from monmdp.model.arrays import FloatArray
from monmdp.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW, SIDE, HEAD, FOOT = 0.26, 2.5, 0.5, 0.95
"""inches: height of a row, width of the names, height above the rows and below"""
COLUMNS = 3
"""of the legend"""
MARKERS = {"-": "o", ":": "s", "-.": "^"}
"""by the lines that distinguish the variants of an agent"""


@dataclass(frozen=True)
class Dot:
    """One number with its interval."""

    of: Interval
    hollow: bool = False
    """whether it is only a lower bound"""


def dot_chart(
    rows: Sequence[tuple[str, Mapping[str, Dot]]],
    *,
    styles: Mapping[str, Style],
    title: str,
    x_label: str,
    note: str,
    line: float | None = None,
    legend: bool = True,
) -> Figure:
    """Draw a row of dots for each name, label by label, on one logarithmic axis.

    The line of a style says which marker a label has; `line` is a value to mark.
    """
    from monmdp.drawing.canvas import Picture

    drawn = [label for label in styles if any(label in dots for _, dots in rows)]
    labels = drawn if legend else []
    below = FOOT + 0.2 * -(-len(labels) // COLUMNS)
    width, height = 8.6, HEAD + below + ROW * len(rows)
    figure = Picture(width, height)
    ax = figure.add_axes(
        (SIDE / width, below / height, 1 - (SIDE + 0.25) / width, ROW * len(rows) / height)
    )
    # A logarithmic axis has no place for the end of an interval that is not positive.
    left = min(dot.of.estimate for _, dots in rows for dot in dots.values()) / 3
    if line is not None:
        ax.axvline(line, color="0.4", linewidth=0.9, linestyle="--", zorder=1)
    for i in range(1, len(rows), 2):
        ax.axhspan(i - 0.5, i + 0.5, color="0.96", zorder=0)
    for i, (_, dots) in enumerate(rows):
        there = [label for label in drawn if label in dots]
        for k, label in enumerate(there):
            _draw(ax, i + 0.7 * ((k + 0.5) / len(there) - 0.5), dots[label], styles[label], left)
    ax.set(xscale="log", ylim=(len(rows) - 0.5, -0.5), yticks=range(len(rows)))
    ax.set_yticklabels([name for name, _ in rows], fontsize=8, parse_math=False)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}")
    low, high = ax.get_xlim()
    shown = "1235" if high < 30 * low else ""  # decades alone would say little
    ax.xaxis.set_minor_formatter(lambda x, _: f"{x:,.6g}" if f"{x:e}"[0] in shown else "")
    ax.tick_params(axis="x", which="both", labelsize=8)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.85", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(x_label, fontsize=9)
    figure.text(0.02, 1 - 0.3 / height, title, fontsize=11, va="center")
    handles = [
        ax.plot([], [], MARKERS[styles[of].line], color=styles[of].colour, markersize=5)[0]
        for of in labels
    ]
    if labels:
        figure.legend(
            handles, labels, loc="lower left", bbox_to_anchor=(0.01, 0.42 / height),
            ncols=COLUMNS, fontsize=8, edgecolor="none", handletextpad=0.2, columnspacing=1.2,
        )  # fmt: skip
    figure.text(0.02, 0.1 / height, textwrap.fill(note, 140), fontsize=7, color="0.35", va="bottom")
    return figure


def _draw(ax: Axes, row: float, dot: Dot, style: Style, left: float) -> None:
    of = dot.of
    if not np.isnan(of.low):
        ax.plot([max(of.low, left), of.high], [row, row], color=style.colour, linewidth=1.1)
    ax.plot(
        [of.estimate], [row], MARKERS[style.line], color=style.colour, markersize=5,
        markerfacecolor="white" if dot.hollow else style.colour, zorder=3,
    )  # fmt: skip


def power_law(
    x: FloatArray,
    y: FloatArray,
    half: FloatArray,
    *,
    exponent: float,
    label: str,
    x_label: str,
    y_label: str,
    title: str,
    note: str,
) -> Figure:
    """Draw points with intervals on logarithmic axes, and the line y ∝ x^exponent through them.

    `half` [i] are half widths of intervals, `label` says what the line is, and `note` what is
    averaged and what the bars mean.
    """
    from monmdp.drawing.canvas import Picture

    figure = Picture(5.6, 4.2)
    axes = figure.add_axes((0.19, 0.22, 0.77, 0.68))
    height = np.exp(np.mean(np.log(y) - exponent * np.log(x)))
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, height * ends**exponent, color="black", linestyle="--", label=label)
    axes.errorbar(x, y, yerr=half, fmt="o", color=BLUE, capsize=3, label="measured")
    axes.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.minorticks_off()
    scale = 10.0 ** np.arange(np.floor(np.log10(y.min())), np.ceil(np.log10(y.max())) + 1)
    ticks = np.outer(scale, [1, 2, 5]).ravel()
    ticks = ticks[(ticks >= 0.9 * y.min()) & (ticks <= 1.1 * y.max())]
    axes.set_yticks(ticks, [f"{value:,g}" for value in ticks])
    axes.set_title(title, fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="best", frameon=False, fontsize=9)
    figure.text(0.1, 0.02, textwrap.fill(note, 88), fontsize=7.5, color="0.35")
    return figure
