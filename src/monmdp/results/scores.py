"""What agents come to over all problems of a figure, and on every single one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from monmdp.model.arrays import FloatArray
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.figures import label, panel_title
from monmdp.results.late import REACHES, SOLVED
from monmdp.stats import (
    Interval,
    bootstrap,
    iqm,
    mean_interval,
    median_time,
    performance_profile,
    probability_of_improvement,
    restricted_mean,
)
from monmdp.suites import Curve, Figure, Panel
from monmdp.tables import Cell, Column, Table, TableRow, Value, bounds, plural, share

LATE_TESTS = "the second half of training"
THRESHOLDS = np.linspace(0.0, 1.1, 221)

AGENTS = (
    Column("agent"),
    Column("IQM of ends", bounds("iqm_end"), form=""),
    Column("IQM of areas", bounds("iqm_area"), form=""),
    Column(
        "P(improvement)",
        bounds("p_improvement"),
        "chance that a run of the first agent has a larger area than a run of this one",
        form=".2f",
        bar=True,
    ),
    Column("optimal", ("optimal_runs", "runs"), "runs that become minimax-optimal and stay so", ""),
    Column("median steps to 1 %", ("median_steps_to_1pct",), form=",.0f", missing="never"),
    Column(
        "mean steps", ("mean_steps_to_1pct_within_budget",), "within the shortest budget", ",.0f"
    ),
)
PROBLEMS = (
    Column("setting", ("setting", "world", "monitor", "rho")),
    Column("agent"),
    Column("seeds", ("seeds", "seeds_asked"), form=""),
    Column("v", ("minimax_return",), "return of an episode of the minimax-optimal policy", ""),
    Column("end", bounds("end"), form=""),
    Column("area", bounds("area"), form=""),
    Column("optimal", ("optimal_runs",), "runs that become minimax-optimal and stay so", ""),
    Column("steps to 1 %", ("median_steps_to_1pct",), "median; never: fewer than half", ",.0f"),
    Column("steps-to-v", ("steps_to_v",), "of the mean curve, as drawn, to within 5 %", ",.0f"),
    Column("goal visits", bounds("goal_visits"), "at the end", ""),
    Column("⊥ visits", bounds("bottom_visits"), "at the end", ""),
)
IN_WORST_CASE = "Returns are those in M↓: rewards that nobody can see are as low as they can be."
LATE = (
    Column("setting"),
    Column("agent"),
    Column("reach v", ("reaching", "seeds"), "seeds with 80 % of the late tests within 2 %", ""),
    Column("solved", ("solved",), "by 80 % of the seeds"),
    Column("late tests within 2 %", bounds("within"), "of |v|", form=""),
    Column("late episodes on ⊥", bounds("bottom"), "at most", form=""),
)


@dataclass(frozen=True)
class AgentRow:
    """One agent over all problems of a figure.

    Scores are normalised by the exact minimax return v: 1 - (v - return) / max(1, |v|).
    """

    agent: str
    iqm_end: Interval
    """interquartile mean of normalised end returns"""
    iqm_area: Interval
    """the same of normalised areas"""
    improvement: Interval | None
    """chance that a run of the first agent has a larger area; None for the first agent itself"""
    optimal: int
    """runs whose test policy becomes minimax-optimal, within 1 %, and stays so"""
    runs: int
    median_steps: float | None
    """Kaplan-Meier median of the steps to that; None if more than half never get there"""
    mean_steps: float
    """mean of the steps to that within the shortest budget, which runs that take longer fill"""
    profile: tuple[FloatArray, FloatArray, FloatArray]
    """[τ] fraction of runs whose normalised end is above τ, and its band"""


@dataclass(frozen=True)
class SuiteTable:
    """The agents of a figure."""

    figure: Figure
    problems: int
    rows: tuple[AgentRow, ...]
    left_out: tuple[str, ...]
    """problems on which not all agents have the same seeds, as many as on most, two or more; and
    those whose v is not known"""
    not_in_all: tuple[str, ...]
    """agents that are not on all problems"""
    budget: int
    """least number of training steps of a problem"""

    def table(self) -> Table:
        """Return the table that people read."""
        rows = []
        for row in self.rows:
            steps = AGENTS[-1].cell(row.mean_steps)
            if row.mean_steps >= self.budget:  # all runs fill it: they may take any number
                steps = Cell(f"≥ {steps.text}", steps.values)
            optimal = share(row.optimal, row.runs)
            cells = (row.agent, row.iqm_end, row.iqm_area, row.improvement, optimal)
            rows.append(TableRow((*cells, row.median_steps, steps), {"agent": row.agent}))
        notes = [f"Mean steps count within the shortest budget, {self.budget:,} steps."]
        notes += [IN_WORST_CASE] if self.figure.in_worst_case else []
        if self.left_out:
            why = "their seeds differ, or v is not known"
            notes.append(f"Left out, because {why}: {', '.join(self.left_out)}.")
        if self.not_in_all:
            notes.append(f"Left out, not run on every problem: {', '.join(self.not_in_all)}.")
        title = f"agents over {plural(self.problems, 'problem')}"
        return Table.of(AGENTS, rows, title=title, notes=notes, about=self.figure.name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "figure": self.figure.name,
            "problems": self.problems,
            "left_out": list(self.left_out),
            "not_in_all": list(self.not_in_all),
            "budget": self.budget,
            "agents": self.table().records(),
        }


def suite_table(figure: Figure, evidence: Evidence) -> SuiteTable | None:
    """Compare agents over the problems of a figure that all of them have learnt.

    Panels that show the same runs, whole and zoomed, are one problem. None if no agent is in all
    panels, or nothing is there.
    """
    panels = [panel for panel in figure.panels() if panel.shows_returns]
    ids = [{label(curve): curve.configuration for curve in panel.curves} for panel in panels]
    labels = dict.fromkeys(name for of in ids for name in of)
    names = [name for name in labels if all(name in of for of in ids)]
    if not names:
        return None
    problems: dict[tuple[str, ...], str] = {}
    for panel, of in zip(panels, ids, strict=True):
        problems.setdefault(tuple(of[name] for name in names), panel_title(panel))
    complete: dict[tuple[str, ...], list[Aggregate]] = {}
    for key in problems:
        runs = [evidence.aggregates[of] for of in key if of in evidence.aggregates]
        if any(np.isnan(of.minimax) for of in runs):  # nothing to measure returns by
            continue
        if len(runs) == len(names) and len({of.seeds for of in runs}) == 1 < len(runs[0].seeds):
            complete[key] = runs
    sizes = [len(runs[0].seeds) for runs in complete.values()]
    if not sizes:
        return None
    usual = max(sizes, key=lambda n: (sizes.count(n), n))
    kept = {key: runs for key, runs in complete.items() if len(runs[0].seeds) == usual}
    left_out = tuple(title for key, title in problems.items() if key not in kept)
    budget = min(of.settings["steps"] for runs in kept.values() for of in runs)
    rows = []
    reference = np.array([runs[0].area for runs in kept.values()]).T
    for i, name in enumerate(names):
        own = [runs[i] for runs in kept.values()]
        ends = np.array([_normalised(of, of.end["episode_return"]) for of in own]).T
        areas = np.array([_normalised(of, of.area) for of in own]).T
        raw = np.array([of.area for of in own]).T
        times = np.concatenate([of.steps_to_optimal for of in own]).astype(np.float64)
        reached = np.concatenate([of.optimal for of in own])
        within = np.minimum(times, float(budget))
        rows.append(
            AgentRow(
                agent=name,
                iqm_end=bootstrap(ends, iqm, _rng()),
                iqm_area=bootstrap(areas, iqm, _rng()),
                improvement=probability_of_improvement(reference, raw, _rng()) if i else None,
                optimal=int(reached.sum()),
                runs=len(reached),
                median_steps=median_time(times, reached),
                mean_steps=restricted_mean(within, reached & (times <= budget), float(budget)),
                profile=performance_profile(ends, THRESHOLDS, _rng()),
            )
        )
    not_in_all = tuple(name for name in labels if name not in names)
    return SuiteTable(figure, len(kept), tuple(rows), left_out, not_in_all, budget)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _normalised(of: Aggregate, returns: FloatArray) -> FloatArray:
    """1 for the minimax-optimal policy, 0 for less by max(1, |v|)."""
    result: FloatArray = 1 + (returns - of.minimax) / max(1.0, abs(of.minimax))
    return result


def cpu_seconds(figures: Sequence[Figure], evidence: Evidence) -> dict[str, float]:
    """Figure -> CPU seconds of the runs that it shows; runs of several figures count in each."""
    seconds = {}
    for figure in figures:
        found = {curve.configuration: evidence.of(curve) for curve in figure.curves()}
        seconds[figure.name] = sum(of.cpu_seconds for of in found.values() if of is not None)
    return seconds


# ---- every problem --------------------------------------------------------------------------


def problems_table(figure: Figure, evidence: Evidence) -> Table:
    """Return what every agent of a figure came to on every problem.

    Panels that show the same runs, whole and zoomed, or returns and visits, are one problem.
    """
    rows: dict[tuple[str, str], TableRow] = {}
    for panel in figure.panels():
        for curve in panel.curves:
            row = problem_row(panel_title(panel), label(curve), panel, curve, evidence)
            rows.setdefault((curve.configuration, label(curve)), row)
    notes = [IN_WORST_CASE] if figure.in_worst_case else []
    return Table.of(PROBLEMS, rows.values(), title="every problem", notes=notes, about=figure.name)


def late_table(figure: Figure, evidence: Evidence) -> Table:
    """Return how good agents are in the second half of training, if the suite asks for it."""
    rows: dict[tuple[str, str], TableRow] = {}
    for panel in figure.panels() if figure.late else ():
        for curve in panel.curves:
            of = evidence.of(curve)
            if of is None or not of.late:  # not run, or v is not known
                continue
            within, bottom = of.late["within"], of.late["bottom"]
            n, reaching = len(within), int((within >= REACHES).sum())
            solved = "yes" if reaching >= SOLVED * n else "no"
            measured = (share(reaching, n), solved, _share(within), _share(bottom))
            marks = panel_marks(panel) | {"agent": label(curve)}
            row = TableRow((panel_title(panel), label(curve), *measured), marks)
            rows.setdefault((curve.configuration, label(curve)), row)
    return Table.of(LATE, rows.values(), title=LATE_TESTS, about=figure.name)


def _share(of: FloatArray) -> Interval:
    """Mean of shares; none is below 0 or above 1."""
    mean, low, high = mean_interval(of)
    return Interval(mean, *(end if isnan(end) else min(max(end, 0.0), 1.0) for end in (low, high)))


def problem_row(
    title: str, agent: str, panel: Panel, curve: Curve, evidence: Evidence, link: str = ""
) -> TableRow:
    """Return what an agent came to on the problem of a panel; both are named by the caller."""
    of, asked, places = evidence.of(curve), len(curve.seeds), panel_marks(panel)
    marks = places | {"agent": label(curve)}
    where = Cell(title, (title, *places.values()), link=link)
    if of is None:
        rest = [Cell("", (None,) * len(column.names)) for column in PROBLEMS[3:]]
        not_run = Cell(f"not run, 0 of {asked}", (0, asked))
        return TableRow((where, agent, not_run, *rest), marks)
    n, optimal, budget = len(of.seeds), int(of.optimal.sum()), of.settings["steps"]
    seeds = Cell(f"{n}" if n == asked else f"{n} of {asked}", (n, asked))
    ends = (mean_interval(of.end["episode_return"]), mean_interval(of.area))
    reached: list[Any] = [None] * 3
    if not isnan(of.minimax):
        never = Cell("never", (None,))
        reached = [
            Cell(f"{optimal} of {n}", (optimal,)),
            never if of.median_steps is None else of.median_steps,
            of.steps_to_v if of.steps_to_v < budget else never,
        ]
    visits = (_visits(of, "goal_visits"), _visits(of, "bottom_visits"))
    return TableRow((where, agent, seeds, of.minimax, *ends, *reached, *visits), marks)


def panel_marks(panel: Panel) -> dict[str, Value]:
    """Return what the filters of the HTML page ask of a panel."""
    return {"world": panel.world, "monitor": panel.monitor, "rho": panel.rho}


def _visits(of: Aggregate, score: str) -> Interval:
    """Mean visits at the end; no mean of visits is negative."""
    mean, low, high = mean_interval(of.end[score])
    return Interval(mean, low if isnan(low) else max(low, 0.0), high)
