"""Learning curves and laws as pictures: functions from arrays to a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from monmdp.drawing.palette import BLUE, Style
from monmdp.drawing.picture import new_figure
from monmdp.model.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MANY = 4
"""more curves than this have their names beside the picture, not in it"""


def learning_curves(
    step: IntArray,
    curves: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]],
    *,
    styles: Mapping[str, Style],
    minimax: float,
    title: str,
    note: str,
) -> Figure:
    """Draw a mean and its interval for each agent, and the minimax return as a dashed line.

    Args:
        step: [checkpoint] training steps.
        curves: name -> [checkpoint] mean, and lower and upper end of the band (NaN: none).
        styles: name -> colour and line, see `palette.styles`.
        minimax: the return that the minimax-optimal policy gets.
        title: above the picture.
        note: below it; says what is averaged and what the band is.
    """
    from matplotlib.ticker import MaxNLocator

    many = len(curves) > MANY
    figure = new_figure(9.0 if many else 7.0, 4.2)
    axes = figure.add_axes((0.09, 0.2, 0.66, 0.7) if many else (0.11, 0.2, 0.86, 0.7))
    for name, (mean, lower, upper) in curves.items():
        colour, line = styles[name].colour, styles[name].line
        faint = 0.08 if many else 0.2
        axes.fill_between(step, lower, upper, color=colour, alpha=faint, linewidth=0)
        axes.plot(step, mean, color=colour, linestyle=line, linewidth=1.8, label=name)
    axes.axhline(minimax, color="black", linestyle="--", linewidth=1.2, label="minimax-optimal")
    # A few tests may be far below all others, the first most of all. Where a curve ends counts.
    means = [mean for mean, _, _ in curves.values()]
    low = float(min(min(np.quantile(mean, 0.02), mean[-1]) for mean in means))
    lowest, high = float(np.min(means)), max(float(np.max(means)), minimax)
    margin = 0.08 * max(high - low, 1e-3)
    axes.set_ylim(low - margin, high + margin)
    unit = max(1.0, abs(minimax))
    if high - low > 20 * unit:  # some fail by far: show them, and the differences among the others
        axes.set_yscale("symlog", linthresh=unit)
        axes.set_ylim(low - 0.1 * abs(low), high + 0.5 * unit)
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,g}")
        note += f"; linear within ±{unit:.3g}, logarithmic beyond"
    if lowest < low - margin:
        note += f"; a few points, down to {lowest:.3g}, are below the axis"
    axes.set_xlim(0, max(int(step[-1]), 1))
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_xlabel("training steps")
    axes.set_ylabel("discounted test return")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    place = {"loc": "center left", "bbox_to_anchor": (1.02, 0.5)} if many else {"loc": "best"}
    axes.legend(frameon=False, fontsize=9, **place)
    left, width = (0.09, 135) if many else (0.11, 110)
    figure.text(left, 0.02, textwrap.fill(note, width), fontsize=7.5, color="0.35")
    return figure


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

    Args:
        x: [i] where the points are.
        y: [i] means.
        half: [i] half widths of their intervals.
        exponent: slope of the line.
        label: what the line is.
        x_label: below the axis.
        y_label: beside it.
        title: above the picture.
        note: below it; says what is averaged and what the bars are.
    """
    figure = new_figure(5.6, 4.2)
    axes = figure.add_axes((0.19, 0.22, 0.77, 0.68))
    height = np.exp(np.mean(np.log(y) - exponent * np.log(x)))
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, height * ends**exponent, color="black", linestyle="--", label=label)
    axes.errorbar(x, y, yerr=half, fmt="o", color=BLUE, capsize=3, label="measured")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.minorticks_off()
    scale = 10.0 ** np.arange(np.floor(np.log10(y.min())), np.ceil(np.log10(y.max())) + 1)
    ticks = np.outer(scale, [1, 2, 5]).ravel()
    ticks = ticks[(ticks >= 0.9 * y.min()) & (ticks <= 1.1 * y.max())]
    axes.set_yticks(ticks, [f"{value:,g}" for value in ticks])
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="best", frameon=False, fontsize=9)
    figure.text(0.1, 0.02, textwrap.fill(note, 88), fontsize=7.5, color="0.35")
    return figure
