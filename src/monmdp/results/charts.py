"""Charts of tables: steps to the minimax-optimal policy, and performance profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from monmdp import drawing
from monmdp.results.figures import styles
from monmdp.results.scores import THRESHOLDS, SuiteTable
from monmdp.results.steps import StepsTable, counted
from monmdp.stats import RESAMPLES, mean_interval
from monmdp.suites import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def draw_steps(table: StepsTable, figure: Figure) -> Picture:
    """Draw the steps to 1 % of all agents, setting by setting."""
    rows = []
    for setting in table.settings:
        runs = setting.runs.items()
        dots = {n: drawing.Dot(mean_interval(counted(of)), not of.optimal.all()) for n, of in runs}
        rows.append((setting.name, dots))
    return drawing.dot_chart(
        rows,
        styles=styles(figure),
        title=f"{table.group or table.figure}: steps to the minimax-optimal policy",
        x_label="steps to 1 %",
        note="Mean over seeds, 95 % interval. Hollow: a lower bound, because some seeds never get "
        "there and count with the budget.",
    )


def draw_ratios(table: StepsTable, figure: Figure) -> Picture:
    """Draw how many times the steps of the reference every other agent takes, over all settings."""
    others = [(of.ratio, of) for of in table.agents if of.ratio is not None]
    n = len(table.settings)
    lost = any(of.never for of in table.agents if of.agent == table.reference)
    rows = []
    for ratio, of in sorted(others, key=lambda other: other[0]):
        name = of.agent if of.settings == n else f"{of.agent} ({of.settings} of {n})"
        rows.append((name, {of.agent: drawing.Dot(ratio, of.never > 0)}))
    only_dots = {name: replace(style, line="-") for name, style in styles(figure).items()}
    return drawing.dot_chart(
        rows,
        styles=only_dots,
        title=f"{table.group or table.figure}: steps in units of {table.reference}'s",
        x_label=f"steps to 1 % ÷ those of {table.reference}",
        note=f"Geometric mean over the settings that both have, of {n}; 95 % interval from "
        "resampled seeds. Hollow: a lower bound, because some of its runs never get there"
        + (f" (if {table.reference} always did, which it does not)." if lost else "."),
        line=1.0,
        legend=False,
    )


def draw_profiles(table: SuiteTable) -> Picture:
    """Draw the performance profiles of a figure's agents."""
    return drawing.profiles(
        THRESHOLDS,
        {row.agent: row.profile for row in table.rows},
        styles=styles(table.figure),
        title=f"{table.figure.name}: performance profiles",
        note=f"{table.rows[0].runs // table.problems} runs on each of {table.problems} problems; a "
        "run's end return is the mean of its last ten tests; bands: 95 %, pointwise, from "
        f"{RESAMPLES:,} bootstrap resamples of runs within problems",
    )
