"""What agents are to be measured against: policies that learnt nothing here, evaluated exactly.

The uniform random policy is always there; a user may add others, such as the one that made a log.
The return of an episode is told in two parts, what the environment pays and what the monitor pays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.experiment import Policy
from monmdp.experiment.policy import Returns
from monmdp.files import read_text, write_whole
from monmdp.model import MonMDP
from monmdp.results.evidence import Aggregate
from monmdp.results.measures import FEWEST
from monmdp.results.store import inside_path, read_problem, read_run, run_path
from monmdp.stats import Interval, mean_interval
from monmdp.tables import Column, Table, bounds, written

UNIFORM = "uniform random"
FILE = "references.json"
COLUMNS = (
    Column("policy"),
    Column("return", bounds("episode_return"), form=""),
    Column("rᵉ", bounds("env_return"), form=""),
    Column("rᵐ", bounds("monitor_return"), form=""),
)
LEGEND = (
    "Returns of an episode of fixed policies, computed exactly, and what the environment (rᵉ) and "
    "the monitor (rᵐ) pay of them: of references, and of what agents had learnt at the end, where "
    "runs keep their policy. Brackets: 95 % interval over seeds."
)


@dataclass(frozen=True)
class Reference:
    """A policy that was not learnt here, and what an episode of it pays."""

    name: str
    env_return: float
    """of the environment's rewards rᵉ"""
    monitor_return: float
    """of the monitor's rewards rᵐ"""

    @property
    def episode_return(self) -> float:
        """Both together."""
        return self.env_return + self.monitor_return

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return asdict(self) | {"episode_return": self.episode_return}


def references(
    problem: MonMDP, gamma: float, policies: Mapping[str, Policy] | None = None
) -> tuple[Reference, ...]:
    """Evaluate the uniform policy, and policies by name, exactly."""
    all_of_them = {UNIFORM: Policy.uniform(problem), **(policies or {})}
    return tuple(
        Reference(name, *policy.returns(problem, gamma)) for name, policy in all_of_them.items()
    )


def keep(folder: Path, settings: Mapping[str, Any], found: Sequence[Reference]) -> None:
    """Write down what a user's policies pay, for reports; the uniform one is always there."""
    own = [asdict(of) for of in found if of.name != UNIFORM]
    if own:
        content = {"problem": settings["problem"], "gamma": settings["gamma"], "references": own}
        text = json.dumps(content, indent=2) + "\n"
        write_whole(folder / FILE, lambda file: file.write(text.encode()))


def kept(report: Path, settings: Mapping[str, Any]) -> list[Reference]:
    """Read what was written down about a problem in the folder of a report."""
    found: dict[str, Reference] = {}
    try:
        content = json.loads(read_text(report / FILE))
        same = all(content[key] == settings[key] for key in ("problem", "gamma"))
        for of in content["references"] if same else ():
            parts = float(of["env_return"]), float(of["monitor_return"])
            if isfinite(sum(parts)):
                found[str(of["name"])] = Reference(str(of["name"]), *parts)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):  # none, or odd
        return []
    return list(found.values())


def stored_table(folder: Path, report: Path | None, aggregates: Mapping[str, Aggregate]) -> Table:
    """Return what agents are measured against in one setting of a folder of results, as a table.

    `report` is the folder of the report that shows it, if there is one. `aggregates` are those of
    the setting, by name. If the problem is not there, it has no rows.
    """
    first = next(iter(aggregates.values()))
    found: list[Reference] = []
    rows: list[tuple[Any, ...]] = []
    with suppress(MonMDPError, OSError):
        problem, gamma = read_problem(folder, first.settings), first.settings["gamma"]
        found = [*references(problem, gamma)]
        found += kept(report, first.settings) if report is not None else []
        rows += [(of.name, of.episode_return, of.env_return, of.monitor_return) for of in found]
        for name, of in aggregates.items():
            returns = _stored_returns(folder, of, problem)
            split = parts(returns)
            if split is not None:
                rows.append((name, mean_interval(np.array(returns).sum(axis=1)), *split))
    ends = {name: mean_interval(of.end["episode_return"]) for name, of in aggregates.items()}
    fewest = min(len(of.seeds) for of in aggregates.values())
    notes = [LEGEND, *remarks(ends, fewest, found)]
    return Table.of(COLUMNS, rows, title="References", notes=notes)


def _stored_returns(folder: Path, of: Aggregate, problem: MonMDP) -> list[Returns]:
    """Return what the last policies of runs pay; empty if not all of them were kept."""
    paths = [run_path(folder, of.configuration, seed) for seed in of.seeds]
    if not all(inside_path(path).exists() for path in paths):
        return []
    try:
        last = [read_run(path, inside=True).policy for path in paths]
        return [policy.returns(problem, of.settings["gamma"]) for policy in last if policy]
    except (MonMDPError, OSError):  # the report says elsewhere what is damaged
        return []


def parts(found: Sequence[Returns]) -> tuple[Interval, Interval] | None:
    """Return means over seeds of rᵉ and rᵐ; None if policies were not kept."""
    if not found:
        return None
    env, monitor = np.array(found).T
    return mean_interval(env), mean_interval(monitor)


def remarks(
    ends: Mapping[str, Interval], n_seeds: int, found: Sequence[Reference]
) -> tuple[str, ...]:
    """Return what a reader should know of agents' end returns before trusting them."""
    said = []
    for of in found[:1]:  # the uniform policy
        behind = [name for name, end in ends.items() if not _beats(end, of.episode_return)]
        if behind:
            said.append(
                f"Not better than the {of.name} policy, whose return is "
                f"{written(of.episode_return)}: {', '.join(behind)}."
            )
    if n_seeds == 1:
        said.append("1 seed: no intervals.")
    elif n_seeds < FEWEST:
        said.append(f"Fewer than {FEWEST} seeds: intervals say little.")
    return tuple(said)


def _beats(end: Interval, reference: float) -> bool:
    """Whether an end return is certainly above a reference, for all its seeds can say."""
    low = end.estimate if isnan(end.low) else end.low
    return low > reference + 1e-9 * max(1.0, abs(reference))
