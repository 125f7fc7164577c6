"""Learning curves as pictures: functions from arrays to a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from monmdp.drawing.picture import new_figure
from monmdp.model.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""can be told apart by colour-blind people"""


def learning_curves(
    step: IntArray,
    curves: Mapping[str, tuple[FloatArray, FloatArray]],
    *,
    minimax: float,
    title: str,
    note: str,
) -> Figure:
    """Draw a mean and its interval for each agent, and the minimax return as a dashed line.

    Args:
        step: [checkpoint] training steps.
        curves: name -> ([checkpoint] mean, [checkpoint] half width of the interval; NaN: none).
        minimax: the return that the minimax-optimal policy gets.
        title: above the picture.
        note: below it; says what is averaged and what the band is.
    """
    figure = new_figure(7.0, 4.2)
    axes = figure.add_axes((0.11, 0.2, 0.86, 0.7))
    for colour, (name, (mean, half)) in zip(cycle(COLOURS), curves.items(), strict=False):
        axes.fill_between(step, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
        axes.plot(step, mean, color=colour, linewidth=1.8, label=name)
    axes.axhline(minimax, color="black", linestyle="--", linewidth=1.2, label="minimax-optimal")
    # The first steps may be far below all that follows: start the axis where the curve arrives.
    means = np.concatenate([mean for mean, _ in curves.values()])
    low, high = float(np.quantile(means, 0.02)), max(float(means.max()), minimax)
    margin = 0.08 * max(high - low, 1e-3)
    axes.set_ylim(low - margin, high + margin)
    if means.min() < low - margin:
        note += f"; the first points, down to {means.min():.3g}, are below the axis"
    axes.set_xlim(0, max(int(step[-1]), 1))
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_xlabel("training steps")
    axes.set_ylabel("discounted test return")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="best", frameon=False, fontsize=9)
    figure.text(0.11, 0.02, textwrap.fill(note, 110), fontsize=7.5, color="0.35")
    return figure
