"""Charts of steps to the minimax-optimal policy: every setting, and all of them in one number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from monmdp import drawing
from monmdp.results.figures import styles
from monmdp.results.steps import StepsTable, counted
from monmdp.stats import mean_interval
from monmdp.suites import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def draw_steps(table: StepsTable, figure: Figure) -> Picture:
    """Draw the steps to 1 % of all agents, setting by setting."""
    rows = [
        (
            setting.name,
            {
                name: drawing.Dot(mean_interval(counted(of)), not of.optimal.all())
                for name, of in setting.runs.items()
            },
        )
        for setting in table.settings
    ]
    return drawing.dot_chart(
        rows,
        styles=styles(figure),
        title=f"{_titled(table)}: steps to the minimax-optimal policy",
        x_label="steps to 1 %",
        note="Mean over seeds, 95 % interval. Hollow: a lower bound, because some seeds never get "
        "there and count with the budget.",
    )


def draw_ratios(table: StepsTable, figure: Figure) -> Picture:
    """Draw how many times the steps of the reference every other agent takes, over all settings."""
    others = [(of.ratio, of) for of in table.agents if of.ratio is not None]
    n = len(table.settings)
    lost = any(of.never for of in table.agents if of.agent == table.reference)
    rows = [
        (
            of.agent if of.settings == n else f"{of.agent} ({of.settings} of {n})",
            {of.agent: drawing.Dot(ratio, of.never > 0)},
        )
        for ratio, of in sorted(others, key=lambda other: other[0])
    ]
    only_dots = {name: replace(style, line="-") for name, style in styles(figure).items()}
    return drawing.dot_chart(
        rows,
        styles=only_dots,
        title=f"{_titled(table)}: steps in units of {table.reference}'s",
        x_label=f"steps to 1 % ÷ those of {table.reference}",
        note=f"Geometric mean over the settings that both have, of {n}; 95 % interval from "
        "resampled seeds. Hollow: a lower bound, because some of its runs never get there"
        + (f" (if {table.reference} always did, which it does not)." if lost else "."),
        line=1.0,
        legend=False,
    )


def _titled(table: StepsTable) -> str:
    return table.group or table.figure
