"""Steps to the minimax-optimal policy: agents against one of them, setting by setting.

*Steps to 1 %* of a run: the first test after which the test policy's exact return in M↓ stays
≥ v - 0.01·max(1, |v|). A run that never gets there counts with its budget, and is counted as such:
its mean is then a lower bound.

Per setting: the mean over seeds ± 1.96 sd/√n. Over settings: the geometric mean of these means, so
that every setting counts alike, however long it takes. A *ratio* divides an agent's mean by that of
the reference, setting by setting, and averages by logarithms; above 1, the reference needs fewer
steps. Its interval draws seeds anew, the same ones for both, within every setting. There a run that
is optimal from the start counts as one spacing of tests.

The reference is *worse* than an agent in a setting where the paired difference of their steps, the
same seeds on both sides, lies above 0 with its whole 95 % interval (Student's).

What it costs: *regret*, what training has lost by the last test against v in every episode that was
over; *worst steps*, training steps whose true reward was the least there is, where that is a loss;
and CPU seconds of a run, its tests included and compiling not. Those until a run has converged take
its steps to be alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.model.arrays import FloatArray
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.figures import label, panel_title
from monmdp.results.measures import shared_seeds
from monmdp.stats import Interval, contrast, geometric_mean, mean_interval, ratio_of_means
from monmdp.suites import Figure
from monmdp.tables import Cell, Column, Table, TableRow, bounds, plural, share

SIDE_BY_SIDE = 12
"""agents that a table has room for side by side; of more the best are shown"""
IN_JSON = {
    "steps": "geometric_mean_steps_to_1pct",
    "worse": "reference_worse_on",
    "more": "reference_more_on",
    "microseconds": "cpu_microseconds_a_step",
    "seconds": "cpu_seconds_until_converged",
}
"""fields of `AgentSteps` that have another name in JSON"""
STEPS = (
    Column("agent"),
    Column("settings", form=",.0f"),
    Column("steps to 1 %", (IN_JSON["steps"],), "geometric mean over settings", ",.0f"),
    Column("ratio", bounds("ratio"), "to the steps of the reference", ".3g"),
    Column(
        "reference worse",
        ("reference_worse", "reference_worse_on_average"),
        "in how many settings, beyond chance (on average)",
        "",
    ),
    Column("never", ("never", "runs"), "runs that never get there count with their budget", ""),
    Column("regret", explains="what training lost, mean over settings", form=",.1f"),
    Column("worst steps", ("worst_steps",), "training steps with the least reward", ",.0f"),
    Column("CPU µs a step", (IN_JSON["microseconds"],), form=".3g"),
    Column("CPU s until converged", (IN_JSON["seconds"],), form=".3g"),
)


@dataclass(frozen=True)
class SettingRuns:
    """One problem, and the runs of all agents on it."""

    name: str
    runs: Mapping[str, Aggregate]
    """agent -> its runs"""


@dataclass(frozen=True)
class AgentSteps:
    """One agent over the settings of a group."""

    agent: str
    settings: int
    steps: float
    """geometric mean over its settings of the mean steps to 1 %"""
    ratio: Interval | None
    """its steps in units of the reference's, on the settings that both have; None for itself"""
    worse: tuple[str, ...]
    """settings where the reference needs more steps than this agent, beyond chance"""
    more: tuple[str, ...]
    """settings where it needs more on average, by chance or not"""
    never: int
    """runs that never get there"""
    runs: int
    regret: float
    """mean over settings"""
    worst_steps: float
    """mean over settings"""
    microseconds: float
    """CPU, a training step"""
    seconds: float
    """CPU, until a run has converged, or its budget is spent: mean over settings"""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        names = [of.name for of in fields(self)]
        return {IN_JSON.get(name, name): _plain(getattr(self, name)) for name in names}


@dataclass(frozen=True)
class StepsTable:
    """Agents over a group of settings: the blocks of one title."""

    figure: str
    group: str
    reference: str
    agents: tuple[AgentSteps, ...]
    settings: tuple[SettingRuns, ...]

    @property
    def is_long(self) -> bool:
        """Return whether there are more agents than have room side by side."""
        return len(self.agents) > SIDE_BY_SIDE

    @property
    def title(self) -> str:
        """Return the figure and the group."""
        return f"{self.figure}: {self.group}" if self.group else self.figure

    def table(self) -> Table:
        """Return the table that people read."""
        title = f"{self.title}, {plural(len(self.settings), 'setting')}"
        return agents_table(self._shown(), self.reference, title, self.figure)

    def settings_tables(self) -> list[Table]:
        """Return the steps, the regret and the worst steps of every setting, agent beside agent."""
        shown = [of.agent for of in self._shown()[:SIDE_BY_SIDE]]
        made = []
        for what, form, cell in (
            ("steps to 1 %", ",.0f", _steps),
            ("regret", ",.1f", lambda of: mean_interval(of.regret)),
            ("worst steps", ",.0f", lambda of: mean_interval(of.worst_steps)),
        ):
            rows = [
                [one.name, *(cell(one.runs[of]) if of in one.runs else None for of in shown)]
                for one in self.settings
            ]
            columns = [Column(of, bounds(of), form=form) for of in shown]
            made.append(Table.of(["setting", *columns], rows, title=f"{self.title}: {what}"))
        return made

    def _shown(self) -> Sequence[AgentSteps]:
        """All agents as the suite lists them; of many, those with the fewest steps first."""
        return sorted(self.agents, key=lambda of: of.steps) if self.is_long else self.agents

    def best(self) -> AgentSteps:
        """Return the agent with the fewest steps, of those that are in all settings."""
        everywhere = [of for of in self.agents if of.settings == len(self.settings)]
        if not everywhere:
            raise MonMDPError(f"{self.figure}: no agent is in all settings, so none is the best")
        return min(everywhere, key=lambda of: of.steps)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "figure": self.figure,
            "group": self.group,
            "reference": self.reference,
            "agents": [of.to_dict() for of in self.agents],
            "settings": [
                {
                    "setting": setting.name,
                    "agents": {name: _runs(of) for name, of in setting.runs.items()},
                }
                for setting in self.settings
            ],
        }


def _runs(of: Aggregate) -> dict[str, Any]:
    """What runs came to, seed by seed, as JSON has it."""
    return {
        "minimax": of.minimax,
        "seeds": list(of.seeds),
        "steps_to_1pct": list(of.steps_to_1pct),
        "budget": of.settings["steps"],
        "regret": of.regret.tolist(),
        "worst_steps": of.worst_steps.tolist(),
    }


def _plain(value: Any) -> Any:
    """A field as JSON can hold it; None for what is not a number."""
    if isinstance(value, tuple):
        return [_plain(of) for of in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def steps_tables(
    figure: Figure, evidence: Evidence, reference: str | None = None
) -> list[StepsTable]:
    """Return a table for each group of settings of which something was run.

    `reference` is the label of the agent that others are compared with; by default the suite's, or
    else the first agent.
    """
    labels = list(dict.fromkeys(label(curve) for curve in figure.curves()))
    reference = figure.reference if reference is None else reference
    if reference is not None:
        # A suite's file has the agent's name or label, a table has it as a legend does.
        written = {curve.label: label(curve) for curve in figure.curves()}
        reference = written.get(reference, reference)
    if reference is not None and reference not in labels:
        raise MonMDPError(f"no agent is called {reference!r}{nearest(reference, labels)}")
    tables = []
    for title, settings in _groups(figure, evidence).items():
        there = [name for name in labels if any(name in setting.runs for setting in settings)]
        chosen = reference if reference in there else there[0]
        rows = tuple(_agent_steps(name, chosen, settings) for name in there)
        tables.append(StepsTable(figure.name, title, chosen, rows, tuple(settings)))
    return tables


def _groups(figure: Figure, evidence: Evidence) -> dict[str, list[SettingRuns]]:
    """Title of blocks -> their settings; panels of one problem are one, unless agents differ."""
    groups: dict[str, list[SettingRuns]] = {}
    for grid in figure.grids:
        for panel in (panel for row in grid.rows for panel in row):
            known = {label(curve): evidence.of(curve) for curve in panel.curves}
            runs = {name: of for name, of in known.items() if of and not np.isnan(of.minimax)}
            if not runs:
                continue
            settings = groups.setdefault(grid.title or "", [])
            for i, other in enumerate(settings):
                if _is_same(runs, other.runs):
                    settings[i] = replace(other, runs={**other.runs, **runs})
                    break
            else:
                settings.append(SettingRuns(panel_title(panel), runs))
    return groups


def _is_same(runs: Mapping[str, Aggregate], others: Mapping[str, Aggregate]) -> bool:
    """Return whether two panels show one problem, learnt by agents that do not differ."""
    keys = ("problem", "steps", "every", "gamma", "evaluation", "episodes")
    one, other = (next(iter(of.values())).settings for of in (runs, others))
    both = {*runs} & {*others}
    return all(one[key] == other[key] for key in keys) and all(
        runs[name].configuration == others[name].configuration for name in both
    )


def _agent_steps(name: str, reference: str, settings: Sequence[SettingRuns]) -> AgentSteps:
    own = [setting for setting in settings if name in setting.runs]
    runs = [setting.runs[name] for setting in own]
    both = [setting for setting in own if reference in setting.runs and name != reference]
    pairs = [(s.name, *steps_of_both(s.runs[name], s.runs[reference])) for s in both]
    pairs = [pair for pair in pairs if len(pair[1])]
    _, theirs, ours = zip(*pairs, strict=True) if pairs else ((), (), ())
    seconds = [(of.cpu_of_seed * of.steps_to_optimal / of.settings["steps"]).mean() for of in runs]
    return AgentSteps(
        agent=name,
        settings=len(own),
        steps=geometric_mean([counted(of).mean() for of in runs]),
        ratio=ratio_of_means(theirs, ours, np.random.default_rng(0)) if pairs else None,
        worse=tuple(of for of, less, more in pairs if contrast([(1.0, more - less)]).low > 0),
        more=tuple(of for of, less, more in pairs if more.mean() > less.mean()),
        never=sum(int((~of.optimal).sum()) for of in runs),
        runs=sum(len(of.seeds) for of in runs),
        regret=float(np.mean([of.regret.mean() for of in runs])),
        worst_steps=float(np.mean([of.worst_steps.mean() for of in runs])),
        microseconds=1e6
        * sum(of.cpu_seconds for of in runs)
        / sum(of.settings["steps"] * len(of.seeds) for of in runs),
        seconds=float(np.mean(seconds)),
    )


def counted(of: Aggregate) -> FloatArray:
    """Return [seed] steps to 1 %, at least one spacing of tests, at most the budget."""
    least: FloatArray = np.maximum(of.steps_to_optimal, of.settings["every"]).astype(np.float64)
    return least


def steps_of_both(one: Aggregate, other: Aggregate) -> tuple[FloatArray, FloatArray]:
    """Return the steps of both for the seeds that both have, in the same order."""
    mine, others = shared_seeds(one, other)
    return counted(one)[mine], counted(other)[others]


# ---- tables ---------------------------------------------------------------------------------


def agents_table(
    agents: Sequence[AgentSteps], reference: str, title: str = "", about: str = ""
) -> Table:
    """Return how many steps agents take over a group of settings, against the reference."""
    rows = []
    for of in agents:
        against: list[Any] = [None, None]
        if of.ratio is not None:
            counts = (len(of.worse), len(of.more))
            against = [of.ratio, Cell("{} ({})".format(*counts), counts)]
        numbers = (of.regret, of.worst_steps, of.microseconds, of.seconds)
        cells = (of.agent, of.settings, of.steps, *against, share(of.never, of.runs), *numbers)
        rows.append(TableRow(cells, {"agent": of.agent}))
    worse = [f"Worse than {of.agent}: {', '.join(of.worse)}." for of in agents if of.worse]
    notes = [f"Reference: {reference}.", *worse]
    return Table.of(STEPS, rows, title=title, notes=notes, about=about)


def _steps(of: Aggregate) -> Cell | Interval:
    """Mean steps, and how many runs never get there."""
    interval, never = mean_interval(of.steps_to_optimal), int((~of.optimal).sum())
    cell = Column("steps", bounds("steps"), form=",.0f").cell(interval)
    return replace(cell, detail=f"{cell.detail}, {never} never".lstrip(", ")) if never else cell
