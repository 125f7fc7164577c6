"""What the agents of a suite come to over all its problems: tables, from evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp.model.arrays import FloatArray
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.figures import label
from monmdp.stats import (
    Interval,
    bootstrap,
    iqm,
    median_time,
    performance_profile,
    probability_of_improvement,
    restricted_mean,
)
from monmdp.suites import Figure

THRESHOLDS = np.linspace(0.0, 1.1, 221)


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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "figure": self.figure.name,
            "problems": self.problems,
            "left_out": list(self.left_out),
            "not_in_all": list(self.not_in_all),
            "budget": self.budget,
            "agents": [
                {
                    "agent": row.agent,
                    "iqm_end": list(row.iqm_end),
                    "iqm_area": list(row.iqm_area),
                    "probability_of_improvement": row.improvement and list(row.improvement),
                    "optimal": row.optimal,
                    "runs": row.runs,
                    "median_steps_to_1pct": row.median_steps,
                    "mean_steps_to_1pct_within_budget": row.mean_steps,
                }
                for row in self.rows
            ],
        }


def suite_table(figure: Figure, evidence: Evidence) -> SuiteTable | None:
    """Compare agents over the problems of a figure that all of them have learnt.

    Panels that show the same runs, whole and zoomed, are one problem. None if no agent is in all
    panels, or nothing is there.
    """
    panels = [panel for panel in figure.panels() if panel.score == "episode_return"]
    if not panels:
        return None
    names = [label(curve) for curve in panels[0].curves]
    names = [n for n in names if all(n in map(label, panel.curves) for panel in panels)]
    if not names:
        return None
    problems: dict[tuple[str, ...], str] = {}
    for panel in panels:
        ids = {label(curve): curve.configuration for curve in panel.curves}
        problems.setdefault(tuple(ids[name] for name in names), f"{panel.row} / {panel.column}")
    complete: dict[tuple[str, ...], dict[str, Aggregate]] = {}
    for ids_of in problems:
        found = [evidence.aggregates.get(of) for of in ids_of]
        runs = {name: of for name, of in zip(names, found, strict=True) if of is not None}
        seeds = {of.seeds for of in runs.values()}
        if any(np.isnan(of.minimax) for of in runs.values()):  # nothing to measure returns by
            continue
        if len(runs) == len(names) and len(seeds) == 1 and len(seeds.pop()) > 1:
            complete[ids_of] = runs
    sizes = [len(runs[names[0]].seeds) for runs in complete.values()]
    if not sizes:
        return None
    usual = max(sizes, key=lambda n: (sizes.count(n), n))
    kept = {of: runs for of, runs in complete.items() if len(runs[names[0]].seeds) == usual}
    tasks = list(kept.values())
    left_out = [shown for of, shown in problems.items() if of not in kept]
    budget = min(of.settings["steps"] for task in tasks for of in task.values())
    rows = []
    reference = np.array([task[names[0]].area for task in tasks]).T
    for name in names:
        runs_of = [task[name] for task in tasks]
        ends = np.array([_normalised(of, of.end["episode_return"]) for of in runs_of]).T
        areas = np.array([_normalised(of, of.area) for of in runs_of]).T
        own = np.array([of.area for of in runs_of]).T
        improvement = None
        if name != names[0]:
            improvement = probability_of_improvement(reference, own, _rng())
        times = np.concatenate([of.steps_to_optimal for of in runs_of]).astype(np.float64)
        reached = np.concatenate([of.optimal for of in runs_of])
        within = np.minimum(times, float(budget))
        rows.append(
            AgentRow(
                agent=name,
                iqm_end=bootstrap(ends, iqm, _rng()),
                iqm_area=bootstrap(areas, iqm, _rng()),
                improvement=improvement,
                optimal=int(reached.sum()),
                runs=len(reached),
                median_steps=median_time(times, reached),
                mean_steps=restricted_mean(within, reached & (times <= budget), float(budget)),
                profile=performance_profile(ends, THRESHOLDS, _rng()),
            )
        )
    others = dict.fromkeys(label(curve) for panel in panels for curve in panel.curves)
    not_in_all = tuple(name for name in others if name not in names)
    return SuiteTable(figure, len(tasks), tuple(rows), tuple(left_out), not_in_all, budget)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _normalised(of: Aggregate, returns: FloatArray) -> FloatArray:
    """1 for the minimax-optimal policy, 0 for less by max(1, |v|)."""
    result: FloatArray = 1 + (returns - of.minimax) / max(1.0, abs(of.minimax))
    return result


def cpu_seconds(figures: Sequence[Figure], evidence: Evidence) -> dict[str, float]:
    """Figure -> CPU seconds of the runs that it shows; runs of several figures count in each."""
    return {
        figure.name: sum(
            evidence.aggregates[name].cpu_seconds
            for name in dict.fromkeys(curve.configuration for curve in figure.curves())
            if name in evidence.aggregates
        )
        for figure in figures
    }
