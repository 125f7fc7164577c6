"""Several agents on one problem, with the same seeds: who learns better, and how sure is that?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.experiment.policy import Returns
from monmdp.experiment.training import own_gamma
from monmdp.results import references
from monmdp.results.benchmarking import Row
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.references import Reference
from monmdp.stats import Interval, mean_interval, median_time, probability_of_improvement
from monmdp.suites import Panel
from monmdp.tables import Cell, Column, Table, bounds, share, written

COLUMNS = (
    Column("agent"),
    Column("end return", bounds("end_return"), form=""),
    Column("rᵉ", ("env_return",), form="", missing=""),
    Column("rᵐ", ("monitor_return",), form="", missing=""),
    Column("area", bounds("area"), form=""),
    Column("optimal", ("seeds_converged", "seeds"), form=""),
    Column("steps to 1 %", ("median_steps_to_1pct",), form=",.0f", missing="never"),
    Column("behind", bounds("behind"), form="", missing="reference"),
    Column("P(improvement)", bounds("probability_of_improvement"), form=".2f", missing=""),
)
LEGEND = (
    "End return: mean of the last ten tests. rᵉ and rᵐ: what the environment and the monitor pay "
    "of the return of the last policy, computed exactly. Area: mean of all tests. Brackets: 95 % "
    "interval over seeds. Optimal: seeds whose test policy becomes minimax-optimal, within 1 %, "
    "and stays so. Steps to 1 %: their median, never if fewer than half do. Behind: area of the "
    "reference minus the agent's, seed by seed (negative: ahead). P(improvement): chance that a "
    "run of the reference has a larger area than one of the agent."
)

UNSEEN = (
    "These end returns count rewards that can never be seen; where those are as low as possible, "
    "the end return is"
)


@dataclass(frozen=True)
class Compared:
    """One agent in the table."""

    agent: str
    end: Interval
    """end return, the mean of the last ten tests: mean over seeds"""
    area: Interval
    """mean of all tests, which says how high the learning curve lies: mean over seeds"""
    behind: Interval | None
    """how much larger the area of the reference is, seed by seed; None for the reference itself"""
    improvement: Interval | None
    """chance that a run of the reference has a larger area than a run of this agent, ties half"""
    of: Aggregate = field(repr=False)
    parts: tuple[Interval, Interval] | None = None
    """what the environment and the monitor pay of the last policy's return: means over seeds; None
    where runs do not keep their policy"""

    @property
    def steps_to_1pct(self) -> tuple[int | None, ...]:
        """Return for each seed when it becomes minimax-optimal for good; None: never."""
        return self.of.steps_to_1pct

    @property
    def median_steps(self) -> float | None:
        """Return their median; None if fewer than half of the seeds become so."""
        return self.of.median_steps

    def cells(self) -> tuple[Any, ...]:
        """Return the row of a table, see COLUMNS."""
        return (
            self.agent,
            self.end,
            *(part and part.estimate for part in self.parts or (None, None)),
            self.area,
            share(int(self.of.optimal.sum()), len(self.of.seeds)),
            self.median_steps,
            self.behind,
            self.improvement,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        (numbers,) = Table.of(COLUMNS, [self.cells()]).records()
        return numbers | {
            "episode_return_minimax": None if isnan(self.of.minimax) else self.of.minimax,
            "steps_to_1pct": list(self.steps_to_1pct),
            "regret": self.of.regret.tolist(),
        }


@dataclass(frozen=True)
class Published:
    """An agent whose runs come with the package; see `Compared`."""

    agent: str
    end: Interval
    area: Interval
    behind: Interval
    improvement: Interval
    steps_to_1pct: tuple[int | None, ...]
    budget: int
    """training steps of a run"""
    version: str
    """of this package, which made the runs"""

    def cells(self) -> tuple[Any, ...]:
        """Return the row of a table, see COLUMNS; the two parts of the return are not known."""
        reached = [step is not None for step in self.steps_to_1pct]
        times = [float(self.budget if step is None else step) for step in self.steps_to_1pct]
        steps = median_time(times, reached)
        optimal = share(sum(reached), len(reached))
        ends = (f"{self.agent} (published)", self.end, None, None, self.area)
        return (*ends, optimal, steps, self.behind, self.improvement)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        (numbers,) = Table.of(COLUMNS, [self.cells()]).records()
        more = {"steps_to_1pct": list(self.steps_to_1pct), "version": self.version}
        return numbers | {"agent": self.agent} | more


def beside(first: Aggregate, published: Mapping[str, Sequence[Row]]) -> tuple[Published, ...]:
    """Compare published runs, agent -> rows of the same seeds, with the runs of the reference."""
    found = []
    for agent, rows in published.items():
        if tuple(row.seed for row in rows) != first.seeds:
            continue
        area = np.array([row.area for row in rows])
        found.append(
            Published(
                agent=agent,
                end=mean_interval([row.end_return for row in rows]),
                area=mean_interval(area),
                behind=mean_interval(first.area - area),
                improvement=probability_of_improvement(first.area, area, np.random.default_rng(0)),
                steps_to_1pct=tuple(row.steps_to_1pct for row in rows),
                budget=rows[0].steps,
                version=rows[0].version,
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class Comparison:
    """All agents on one problem; the rows are in the order in which the agents were given."""

    reference: str
    """the agent that all others are compared with"""
    seeds: tuple[int, ...]
    rows: tuple[Compared, ...]
    references: tuple[Reference, ...] = ()
    """policies that were not learnt: uniform random, and those that a user gave"""
    published: tuple[Published, ...] = ()
    """agents whose runs on this very setting come with the package"""

    def __getitem__(self, agent: str) -> Compared:
        """Return the row of an agent."""
        rows = {row.agent: row for row in self.rows}
        if agent not in rows:
            raise MonMDPError(f"{agent!r} was not compared{nearest(agent, rows)}")
        return rows[agent]

    def table(self) -> Table:
        """Return it as a table for people."""
        rows: list[tuple[Any, ...]] = [row.cells() for row in self.rows]
        rows += [of.cells() for of in self.published]
        nothing = [Cell("", (None,) * len(column.names)) for column in COLUMNS[4:]]
        for of in self.references:
            numbers = (of.episode_return, of.env_return, of.monitor_return)
            end = Cell(written(numbers[0]), (numbers[0], None, None))
            rows.append((of.name, end, *numbers[1:], *nothing))
        return Table.of(COLUMNS, rows, notes=[LEGEND, *self.remarks])

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know before trusting it: rewards unseen, no better than chance, few seeds."""
        ends = {row.agent: row.end for row in self.rows}
        said = references.remarks(ends, len(self.seeds), self.references)
        unseen = [
            f"{row.agent} {written(row.of.worst)}"
            for row in self.rows
            if row.of.counts_on_the_unseen
        ]
        if unseen:
            said = (f"{UNSEEN}: {', '.join(unseen)}.", *said)
        return (*self._of_discounts, *said)

    @property
    def _of_discounts(self) -> tuple[str, ...]:
        """Who learns with another discount than that of all returns."""
        tested = self.rows[0].of.settings["gamma"]
        own = {row.agent: own_gamma(row.of.settings) for row in self.rows}
        others = [f"{agent} {of:g}" for agent, of in own.items() if of not in (None, tested)]
        if not others:
            return ()
        return (f"Returns have the discount {tested:g}. Learnt with another: {', '.join(others)}.",)

    def __str__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return self.table().to_html()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "reference": self.reference,
            "seeds": list(self.seeds),
            "agents": [row.to_dict() for row in self.rows],
            "published": [of.to_dict() for of in self.published],
            "references": [of.to_dict() for of in self.references],
            "remarks": list(self.remarks),
        }


def compare_agents(
    panel: Panel,
    evidence: Evidence,
    found_references: Sequence[Reference] = (),
    returns: Callable[[Aggregate], Sequence[Returns]] = lambda _: (),
    published: Mapping[str, Sequence[Row]] | None = None,
) -> Comparison | None:
    """Compare the agents of a panel with the first one; None if it is not there.

    `returns` gives what the last policies of runs pay, in two parts, where they were kept.
    `published` are runs on the same setting that come with the package.

    Seeds are paired: a seed gives every agent the same environment stream. An agent that lacks a
    seed of the reference is left out.
    """
    found = {curve.label: evidence.of(curve) for curve in panel.curves}
    reference = next(iter(found))
    first = found[reference]
    if first is None:
        return None
    rows = []
    for agent, of in found.items():
        if of is None or of.seeds != first.seeds:
            continue
        behind = chance = None
        if agent != reference:
            behind = mean_interval(first.area - of.area)
            chance = probability_of_improvement(first.area, of.area, np.random.default_rng(0))
        end, area = mean_interval(of.end["episode_return"]), mean_interval(of.area)
        parts = references.parts(returns(of))
        rows.append(Compared(agent, end, area, behind, chance, of, parts))
    others = beside(first, published or {})
    return Comparison(reference, first.seeds, tuple(rows), tuple(found_references), others)
