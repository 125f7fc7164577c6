"""Several agents on one problem, with the same seeds: who learns better, and how sure is that?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp import stats
from monmdp.errors import MonMDPError, nearest
from monmdp.experiment.summary import Summary, summarize
from monmdp.experiment.training import Run
from monmdp.planning import Solution
from monmdp.stats import half_width, probability_of_improvement

SAME = ("problem", "steps", "every", "evaluation", "episodes", "gamma")
"""settings that the runs of all agents must share"""


@dataclass(frozen=True)
class Row:
    """One agent in the table."""

    agent: str
    summary: Summary
    area: float
    """mean of all tests of a run, mean over seeds: how high the learning curve lies"""
    area_half: float
    """half of its 95 % interval; NaN for a single seed"""
    behind: float
    """how much larger the area of the reference is, seed by seed, mean over seeds"""
    behind_half: float
    """half of its 95 % interval; NaN for a single seed"""
    improvement: float
    """chance that a run of the reference has a larger area than a run of this agent, ties half"""
    improvement_interval: tuple[float, float] | None
    """its 95 % interval, from resampling seeds; None for a single seed"""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        interval = self.improvement_interval
        return self.summary.to_dict() | {
            "agent": self.agent,
            "area": self.area,
            "area_half_width": _plain(self.area_half),
            "behind": self.behind,
            "behind_half_width": _plain(self.behind_half),
            "probability_of_improvement": self.improvement,
            "probability_interval": None if interval is None else list(interval),
        }


@dataclass(frozen=True)
class Comparison:
    """All agents in one table; the rows are in the order in which the agents were given."""

    reference: str
    """the agent that all others are compared with"""
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]

    def __getitem__(self, agent: str) -> Row:
        """Return the row of an agent."""
        for row in self.rows:
            if row.agent == agent:
                return row
        known = [row.agent for row in self.rows]
        raise MonMDPError(f"{agent!r} was not compared{nearest(agent, known)}")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "reference": self.reference,
            "seeds": list(self.seeds),
            "agents": [row.to_dict() for row in self.rows],
        }


def compare(
    runs: Mapping[str, Sequence[Run]], solution: Solution, reference: str | None = None
) -> Comparison:
    """Compare agents by the areas under their learning curves.

    Seeds are paired: a seed gives every agent the same environment stream.

    Args:
        runs: agent -> its runs, of the same problem and seeds for all.
        solution: the problem's, from `planning.solve`.
        reference: the agent that the others are compared with; by default the first.

    >>> from monmdp import experiment, make, solve, train
    >>> problem = make("loop", "ask")
    >>> runs = {
    ...     name: [train(problem, name, 1000, seed=seed) for seed in range(3)]
    ...     for name in ("monitored-mbie-eb", "mbie-eb")
    ... }
    >>> table = experiment.compare(runs, solve(problem))
    >>> table.reference, table["mbie-eb"].summary.seeds_converged
    ('monitored-mbie-eb', 3)
    """
    if not runs or not all(len(of_seeds) for of_seeds in runs.values()):
        raise MonMDPError("nothing to compare: runs of at least one agent are needed")
    reference = next(iter(runs)) if reference is None else reference
    if reference not in runs:
        hint = nearest(reference, runs)
        raise MonMDPError(f"the reference {reference!r} is not among the agents{hint}")
    seeds = tuple(run.seed for run in runs[reference])
    _check_alike(runs, runs[reference])
    areas = {name: np.array([area(run) for run in of_seeds]) for name, of_seeds in runs.items()}
    rows = []
    for name, of_seeds in runs.items():
        behind = areas[reference] - areas[name]
        chance = probability_of_improvement(areas[reference], areas[name], np.random.default_rng(0))
        rows.append(
            Row(
                agent=name,
                summary=summarize(of_seeds, solution),
                area=float(areas[name].mean()),
                area_half=float(half_width(areas[name])),
                behind=float(behind.mean()),
                behind_half=float(half_width(behind)),
                improvement=chance.estimate,
                improvement_interval=None if np.isnan(chance.low) else (chance.low, chance.high),
            )
        )
    return Comparison(reference, seeds, tuple(rows))


def area(run: Run) -> float:
    """Return the mean of all tests of a run."""
    return float(stats.area(run.curve["episode_return"]))


def _check_alike(runs: Mapping[str, Sequence[Run]], reference: Sequence[Run]) -> None:
    """Refuse runs that cannot be compared."""
    seeds, settings = [run.seed for run in reference], reference[0].settings
    for name, of_seeds in runs.items():
        if [run.seed for run in of_seeds] != seeds:
            raise MonMDPError(f"{name!r} was trained with other seeds; seeds must be the same")
        for run in of_seeds:
            for key in SAME:
                if run.settings[key] != settings[key]:
                    raise MonMDPError(
                        f"{name!r} cannot be compared: {key} is {run.settings[key]!r}, "
                        f"{settings[key]!r} for others"
                    )


def _plain(value: float) -> float | None:
    """A number as JSON can hold it."""
    return None if np.isnan(value) else value
