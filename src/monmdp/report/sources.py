"""What there is to report on: the runs in folders, whoever put them there, and what is wrong.

A folder may hold results of `monmdp reproduce` and `monmdp run`, runs of `monmdp train`, both, or
folders of the latter. All become chapters of one kind: figures with panels, as a suite has them,
and the aggregates of their runs. Nothing here stops at a run that is missing, damaged, half-written
or of an unknown problem: it becomes a remark.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from monmdp import agents, catalogue
from monmdp.errors import MonMDPError
from monmdp.experiment import Run, fingerprint
from monmdp.experiment.provenance import kernel_hash, provenance
from monmdp.experiment.seeds import PROBLEM
from monmdp.experiment.sessions import SESSIONS, read_sessions
from monmdp.model import MonMDP
from monmdp.planning import Solution, solve
from monmdp.report.inside import config_of
from monmdp.report.packing import PackedCurves, packed_curves
from monmdp.results.claims import FEWEST, Claim, check_claims
from monmdp.results.evidence import (
    Aggregate,
    Evidence,
    LeftOutWarning,
    aggregate,
    gather,
)
from monmdp.results.request import Asked, kept
from monmdp.results.scores import SuiteTable, suite_table
from monmdp.results.sealed import DamagedError
from monmdp.results.steps import StepsTable, steps_tables
from monmdp.results.store import Shard, parts, read_shard, strangers
from monmdp.results.targets import check_targets
from monmdp.suites import Curve, Figure, Grid, Panel

TRAINED = "trained"
"""name of the figure that shows runs which no suite asked for"""
DECIDING = ("problem", "steps", "every", "evaluation", "episodes", "gamma")
"""settings that make two runs those of the same setting"""


@dataclass(frozen=True)
class Chapter:
    """What was asked for together: figures and the runs that are there of them."""

    title: str
    folder: Path
    evidence: Evidence
    claims: Sequence[Claim]
    """of the paper, or what a suite is to show"""
    tables: Sequence[SuiteTable]
    steps: Sequence[StepsTable]
    """agents against the reference of their suite"""
    asked: int
    """runs"""
    curves: Mapping[str, PackedCurves]
    """by configuration"""
    sessions: Sequence[Mapping[str, Any]]
    """when somebody worked on it, and how long"""
    remarks: Sequence[str]
    """what is missing or wrong"""

    @property
    def there(self) -> int:
        """Return how many runs are there."""
        return sum(len(of.seeds) for of in self.evidence.aggregates.values())


@dataclass(frozen=True)
class Inside:
    """A run that kept snapshots, and the problem that it learnt."""

    path: Path
    run: Run
    problem: MonMDP

    @property
    def solution(self) -> Solution:
        """Return the problem, solved."""
        return _solution(self.problem, self.run.settings["gamma"])


@dataclass
class Sources:
    """All that was found."""

    chapters: list[Chapter] = field(default_factory=list)
    insides: list[Inside] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """what is wrong and belongs to no chapter"""


def collect(folders: Iterable[Path]) -> Sources:
    """Look through folders."""
    found = Sources()
    for folder in folders:
        if not folder.is_dir():
            what = "is a file; give the folder" if folder.exists() else "no such folder"
            raise MonMDPError(f"{folder}: {what}")
        before = len(found.chapters), len(found.remarks)
        _collect_results(folder, found)
        _collect_trained(folder, found)
        if (len(found.chapters), len(found.remarks)) == before:
            raise MonMDPError(
                f"{folder}: there are no results here; monmdp reproduce, run and train write some"
            )
    return found


# ---- results of suites ----------------------------------------------------------------------


def _collect_results(folder: Path, found: Sources) -> None:
    everything, unreadable = kept(folder)
    found.remarks += [f"a request cannot be read: {line}" for line in unreadable]
    for asked in everything:
        found.chapters.append(_chapter(asked, folder))
    if not (folder / "runs").is_dir():
        return
    idle, foreign = strangers(folder, [key for asked in everything for key in asked.runs()])
    foreign = [path for path in foreign if not _is_trained(path.parent)]
    found.remarks += [f"damaged, or no run: {path}" for path in foreign]
    found.remarks += [
        f"half-written, by a runner at work or one that was killed: {path}"
        for path in parts(folder)
    ]
    if idle:
        found.chapters.append(_of_idle(folder, idle))


def _chapter(asked: Asked, folder: Path) -> Chapter:
    curves: dict[str, PackedCurves] = {}

    def watch(of: Aggregate, shards: Sequence[Shard]) -> None:
        curves[of.configuration] = packed_curves(shards, of.smoothed)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LeftOutWarning)
        evidence = gather(folder, asked.plans, provenance(), watch)
    remarks = [
        f"damaged, and left out: {warning.message}"
        for warning in caught
        if issubclass(warning.category, LeftOutWarning)
    ]
    tables = [suite_table(figure, evidence) for figure in evidence.figures]
    n, there = len(asked.runs()), sum(len(of.seeds) for of in evidence.aggregates.values())
    missing = n - there - len(remarks)
    if missing:
        remarks.insert(0, f"{missing:,} of {n:,} runs are missing")
    remarks += _warnings(evidence)
    return Chapter(
        title="the whole paper" if asked.name == "all" else asked.name,
        folder=folder,
        evidence=evidence,
        claims=[*check_claims(evidence), *check_targets(evidence)],
        tables=[table for table in tables if table is not None],
        steps=[
            table
            for figure in evidence.figures
            if figure.reference is not None
            for table in steps_tables(figure, evidence)
        ],
        asked=n,
        curves=curves,
        sessions=read_sessions(asked.folder(folder) / SESSIONS),
        remarks=remarks,
    )


def _warnings(evidence: Evidence) -> list[str]:
    """What a reader should know before trusting the numbers."""
    remarks = []
    stale = sum(of.stale for of in evidence.aggregates.values())
    if stale:
        remarks.append(f"{stale:,} runs were made by another version of the code")
    fewest = min((len(of.seeds) for of in evidence.aggregates.values()), default=FEWEST)
    if fewest < FEWEST:
        noun = "seed" if fewest == 1 else "seeds"
        remarks.append(f"some settings have {fewest} {noun}: intervals from so few decide nothing")
    return remarks


def _of_idle(folder: Path, paths: Sequence[Path]) -> Chapter:
    """Runs that no suite here asks for: copied from elsewhere, or made in Python."""
    by_configuration: dict[str, list[Shard]] = {}
    remarks = []
    for path in paths:
        try:
            by_configuration.setdefault(path.parent.name, []).append(read_shard(path))
        except (DamagedError, OSError) as error:
            remarks.append(f"damaged, and left out: {error}")
    groups = []
    for name, shards in by_configuration.items():
        settings = shards[0].settings
        config = config_of(settings)
        kernel = None if config is None else kernel_hash(config)
        groups.append(_Group(name, settings, shards, _remade(settings), name, kernel))
    return _of_groups("runs that no report here asks for", folder, groups, remarks, [])


# ---- runs of `monmdp train` -----------------------------------------------------------------


def _is_trained(folder: Path) -> bool:
    return (folder / "settings.json").is_file() and any(folder.glob("seed-*.npz"))


def _collect_trained(folder: Path, found: Sources) -> None:
    groups: dict[str, _Group] = {}
    remarks: list[str] = []
    sessions: list[Mapping[str, Any]] = []
    asked = 0
    for note in sorted(folder.rglob("settings.json")):
        place = note.parent
        if not _is_trained(place):
            continue
        paths = sorted(place.glob("seed-*.npz"))
        runs = _loaded(paths, remarks)
        recorded = read_sessions(place / SESSIONS)
        sessions += recorded
        gone = _seeds_done(recorded) - {_seed_of(path) for path in paths}
        if gone:
            which = ", ".join(str(seed) for seed in sorted(gone))
            remarks.append(f"{place}: runs that were done are missing, seeds {which}")
        asked += len(paths) + len(gone)
        if not runs:
            continue
        problem = _kept_problem(place, runs[0].settings, remarks)
        name = place.name if place == folder else str(place.relative_to(folder))
        shards = [Shard(run.settings, run.seed, {}, run.step, run.curve) for run in runs]
        if len(runs[0].step) < 2:
            remarks.append(f"{place}: a single test is no learning curve")
        else:
            group = _Group(name, runs[0].settings, shards, problem, str(place))
            same = groups.setdefault(_what_decides(group.settings), group)
            if same is not group:
                remarks.append(f"{place}: the same as {same.place}, seeds in both are shown once")
                asked -= same.take(group)
        found.insides += _with_snapshots(place, runs, problem, remarks)
    if groups:
        title = "runs of monmdp train and compare"
        chapter = _of_groups(title, folder, list(groups.values()), remarks, sessions)
        found.chapters.append(replace(chapter, asked=asked))
    else:
        found.remarks += remarks


def _loaded(paths: Sequence[Path], remarks: list[str]) -> list[Run]:
    """The runs of a folder that can be read and belong together."""
    runs: list[Run] = []
    for path in paths:
        try:
            run = Run.load(path)
            if runs and run.settings != runs[0].settings:
                raise MonMDPError(f"{path}: a run with other settings than those beside it")
            runs.append(run)
        except (MonMDPError, KeyError, TypeError) as error:
            text = str(error) if str(path) in str(error) else f"{path}: no run of this version"
            remarks.append(f"damaged, and left out: {text}")
    return runs


def _seed_of(path: Path) -> int:
    number = path.stem.removeprefix("seed-")
    return int(number) if number.isdigit() else -1


def _seeds_done(sessions: Iterable[Mapping[str, Any]]) -> set[int]:
    """The seeds that sessions say they have done."""
    return {seed for one in sessions for seed in one.get("seeds", ()) if isinstance(seed, int)}


def _what_decides(settings: Mapping[str, Any]) -> str:
    """What makes two runs with the same seed the same, snapshots or not."""
    apart = ("snapshots", "snapshot_seed", "problem_parameters")
    return json.dumps({k: v for k, v in settings.items() if k not in apart}, sort_keys=True)


def _with_snapshots(
    place: Path, runs: Iterable[Run], problem: MonMDP | None, remarks: list[str]
) -> Iterator[Inside]:
    """The runs that can be looked into."""
    for run in runs:
        path = place / f"seed-{run.seed:04d}.npz"
        if not len(run.snapshot_steps) or not run.snapshots:
            continue
        if problem is None:
            remarks.append(f"{path}: its snapshots cannot be shown, the problem is unknown")
        else:
            yield Inside(path, run, problem)


def _kept_problem(folder: Path, settings: Mapping[str, Any], remarks: list[str]) -> MonMDP | None:
    """The problem that is kept beside the runs, or one made anew from its names."""
    path = folder / PROBLEM
    if path.exists():
        try:
            problem = MonMDP.load(path)
            if fingerprint(problem) == settings["problem"]:
                return problem
            remarks.append(f"{path}: another problem than that of the runs beside it")
        except MonMDPError as error:
            remarks.append(str(error))
    return _remade(settings)


def _remade(settings: Mapping[str, Any]) -> MonMDP | None:
    """The problem of a run, made from its names; None if that gives another one, or none."""
    try:
        made = catalogue.make(
            settings["world"], settings["monitor"], **settings["problem_parameters"]
        )
    except MonMDPError:
        return None
    return made if fingerprint(made) == settings["problem"] else None


@lru_cache(maxsize=64)
def _solution(problem: MonMDP, gamma: float) -> Solution:
    """The table of a setting and its explorer ask for the same."""
    return solve(problem, gamma)


# ---- runs without a suite -------------------------------------------------------------------


@dataclass(frozen=True)
class _Group:
    """The runs of one configuration."""

    name: str
    settings: Mapping[str, Any]
    shards: list[Shard]
    problem: MonMDP | None
    place: str
    kernel: str | None = None
    """hash of the code that would make them today, where runs tell which made them"""

    def take(self, other: _Group) -> int:
        """Take the runs of another group whose seeds are new; return how many were there twice."""
        mine = {shard.seed for shard in self.shards}
        new = [shard for shard in other.shards if shard.seed not in mine]
        self.shards.extend(new)
        self.shards.sort(key=lambda shard: shard.seed)
        return len(other.shards) - len(new)


def _of_groups(
    title: str,
    folder: Path,
    groups: Sequence[_Group],
    remarks: list[str],
    sessions: Sequence[Mapping[str, Any]],
) -> Chapter:
    """Give runs a figure of their own: a panel for each problem, a curve for each configuration."""
    aggregates, curves = {}, {}
    for group in groups:
        minimax = float("nan")
        if group.problem is None:
            remarks.append(f"{group.place}: its problem is unknown, and so is the minimax return")
        else:
            minimax = _solution(group.problem, group.settings["gamma"]).episode_return
        of = aggregate(group.name, group.settings, group.shards, minimax, kernel=group.kernel)
        aggregates[group.name] = of
        curves[group.name] = packed_curves(group.shards, of.smoothed)
    figure = Figure(TRAINED, "", "", (Grid(None, (_panels(groups),)),))
    evidence = Evidence((figure,), aggregates, provenance())
    table = suite_table(figure, evidence)
    remarks += _warnings(evidence)
    return Chapter(
        title=title,
        folder=folder,
        evidence=evidence,
        claims=(),
        tables=[] if table is None or len(table.rows) < 2 else [table],
        steps=(),
        asked=sum(len(group.shards) for group in groups),
        curves=curves,
        sessions=sessions,
        remarks=remarks,
    )


def _panels(groups: Sequence[_Group]) -> tuple[Panel, ...]:
    """A panel for each problem and way of testing; agents in the order in which they are listed."""
    by_setting: dict[tuple[Any, ...], list[_Group]] = {}
    listed = [*agents.KINDS]
    for group in sorted(groups, key=lambda group: _place(group.settings["agent"], listed)):
        by_setting.setdefault(tuple(group.settings[key] for key in DECIDING), []).append(group)
    return tuple(_panel(same) for same in by_setting.values())


def _place(name: str, listed: Sequence[str]) -> int:
    return listed.index(name) if name in listed else len(listed)


def _panel(groups: Sequence[_Group]) -> Panel:
    settings = groups[0].settings
    given = settings["problem_parameters"]
    words = [f"{key.partition('.')[2] or key}={value}" for key, value in given.items()]
    return Panel(
        row=settings["world"],
        column=" ".join([settings["monitor"], *words]),
        world=settings["world"],
        monitor=settings["monitor"],
        problem=given,
        score="episode_return",
        x_range=None,
        y_range=None,
        curves=tuple(
            Curve(
                label,
                group.settings["agent"],
                group.name,
                tuple(shard.seed for shard in group.shards),
            )
            for label, group in zip(_labels(groups), groups, strict=True)
        ),
    )


def _labels(groups: Sequence[_Group]) -> list[str]:
    """The agents' names, with the parameters in which those of the same name differ."""
    labels = []
    for group in groups:
        agent, own = group.settings["agent"], group.settings["parameters"]
        others = [g.settings["parameters"] for g in groups if g.settings["agent"] == agent]
        differing = [
            key
            for key, value in own.items()
            if value is not None and any(of.get(key) != value for of in others)
        ]
        labels.append(" ".join([agent, *(f"{key}={own[key]}" for key in differing)]))
    return [
        label if labels.count(label) == 1 else f"{label} in {group.name}"
        for label, group in zip(labels, groups, strict=True)
    ]
