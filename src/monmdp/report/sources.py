"""What there is to report on: the runs in folders, and what is wrong with them.

What was asked for together becomes a chapter: figures with panels, as a suite has them, and the
aggregates of their runs. Runs that nobody asked for here get a chapter of their own. Nothing stops
at a run that is missing, damaged, half-written or of an unknown problem: it becomes a remark.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monmdp import agents
from monmdp.errors import MonMDPError
from monmdp.experiment import Run
from monmdp.experiment.provenance import provenance
from monmdp.model import MonMDP
from monmdp.report.packing import PackedCurves, packed_curves
from monmdp.results.claims import JudgedClaim, check_claims
from monmdp.results.evidence import (
    Aggregate,
    Evidence,
    LeftOutWarning,
    UnknownReturnWarning,
    gather_kept,
    load,
)
from monmdp.results.measures import FEWEST
from monmdp.results.publish import SUMMARY
from monmdp.results.request import Kept, kept, read_sessions
from monmdp.results.scores import SuiteTable, suite_table
from monmdp.results.steps import StepsTable, steps_tables
from monmdp.results.store import (
    PARTS,
    Key,
    inside_path,
    parts,
    read_footer,
    read_problem,
    read_run,
    refuse_old,
    run_path,
    strangers,
)
from monmdp.schema import DamagedError
from monmdp.suites import Curve, Figure, Grid, Panel
from monmdp.suites.plan import panel_of
from monmdp.tables import plural

UNASKED = "unasked"
"""name of the figure that shows runs which no suite asked for"""
DECIDING = ("problem", "steps", "every", "evaluation", "episodes", "gamma")
"""settings that make two runs those of the same setting"""


@dataclass(frozen=True)
class Chapter:
    """What was asked for together: figures and the runs that are there of them."""

    title: str
    folder: Path
    evidence: Evidence
    asked: int
    """runs"""
    curves: Mapping[str, PackedCurves]
    """by configuration"""
    remarks: Sequence[str]
    """what is missing or wrong"""
    report: Path | None = None
    """the folder of its report, if it was asked for"""

    @property
    def there(self) -> int:
        """Return how many runs are there."""
        return sum(len(of.seeds) for of in self.evidence.aggregates.values())

    @property
    def claims(self) -> list[JudgedClaim]:
        """Return what the paper claims, or what a suite is to show."""
        return check_claims(self.evidence)

    @property
    def tables(self) -> list[SuiteTable]:
        """Return agents over all problems; of runs that nobody asked for, if there are several."""
        found = (suite_table(figure, self.evidence) for figure in self.evidence.figures)
        least = 2 if self.report is None else 1
        return [table for table in found if table is not None and len(table.rows) >= least]

    @property
    def steps(self) -> list[StepsTable]:
        """Return agents against the reference of their suite."""
        figures = (figure for figure in self.evidence.figures if figure.reference is not None)
        return [table for figure in figures for table in steps_tables(figure, self.evidence)]

    @property
    def sessions(self) -> Sequence[Mapping[str, Any]]:
        """Return when somebody worked on it, and how long."""
        return () if self.report is None else read_sessions(self.report)


@dataclass(frozen=True)
class Inside:
    """A run that kept snapshots, and the problem that it learnt."""

    path: Path
    run: Run
    problem: MonMDP


@dataclass
class Sources:
    """All that was found."""

    chapters: list[Chapter] = field(default_factory=list)
    insides: list[Inside] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """what is wrong and belongs to no chapter"""


def collect(folders: Iterable[Path], trusted: Collection[str] = ()) -> Sources:
    """Look through folders of results, and folders of such folders.

    `trusted` are modules whose agents may be looked at, to see whether runs are stale.
    """
    found = Sources()
    for folder in folders:
        if not folder.is_dir():
            what = "is a file; give the folder" if folder.exists() else "no such folder"
            raise MonMDPError(f"{folder}: {what}")
        refuse_old(folder)
        before = len(found.chapters), len(found.remarks)
        for place in _places(folder, found):
            _collect(place, found, trusted)
        if (len(found.chapters), len(found.remarks)) == before:
            raise MonMDPError(
                f"{folder}: there are no results here; monmdp reproduce, run and train write some"
            )
    return found


def _places(folder: Path, found: Sources) -> Iterator[Path]:
    """The folders of results in a folder; those of an earlier version are named."""
    for path, names, _ in os.walk(folder):
        try:
            refuse_old(Path(path))
        except MonMDPError as error:
            found.remarks.append(str(error))
        if {"runs", "reports"}.intersection(names):
            yield Path(path)
        names[:] = sorted(name for name in names if name not in PARTS)


def _collect(folder: Path, found: Sources, trusted: Collection[str]) -> None:
    asked: set[Key] = set()
    for request in kept(folder):
        try:
            chapter = _chapter(request, folder, trusted)
        except MonMDPError as error:
            found.remarks.append(f"a request cannot be read: {error}")
            continue
        found.chapters.append(chapter)
        asked |= _keys(chapter.evidence.figures)
    idle, foreign = strangers(folder, asked)
    found.remarks += [f"damaged, or no run: {path}" for path in foreign]
    half = "half-written, by a runner at work or one that was killed"
    found.remarks += [f"{half}: {path}" for path in parts(folder)]
    if idle:
        found.chapters.append(_unasked(folder, idle, trusted))
    for path in [*(run_path(folder, *key) for key in sorted(asked)), *idle]:
        if inside_path(path).exists():
            _look_inside(path, folder, found)


def _keys(figures: Iterable[Figure]) -> set[Key]:
    curves = (curve for figure in figures for curve in figure.curves())
    return {(curve.configuration, seed) for curve in curves for seed in curve.seeds}


def _look_inside(path: Path, folder: Path, found: Sources) -> None:
    """Add a run that kept snapshots, and say why if it cannot be shown."""
    try:
        read_footer(path)
    except (FileNotFoundError, DamagedError):  # the run itself is not there, and said so
        return
    try:
        run = read_run(path, inside=True)
        if not len(run.snapshot_steps):
            return
        found.insides.append(Inside(path, run, read_problem(folder, run.settings)))
    except MonMDPError as error:
        found.remarks.append(f"{path}: its snapshots cannot be shown: {error}")


# ---- what was asked for ---------------------------------------------------------------------


def _chapter(request: Kept, folder: Path, trusted: Collection[str]) -> Chapter:
    before = _summary(request, folder)
    known = request.parsed() if before is None else before
    v = None if before is None else {key: of.minimax for key, of in before.aggregates.items()}
    with _watching() as watched:
        evidence = gather_kept(
            known.figures, known.settings, folder, provenance(),
            minimax=v, watch=watched, trusted=trusted,
        )  # fmt: skip
    n, remarks = len(_keys(evidence.figures)), watched.remarks
    missing = n - sum(len(of.seeds) for of in evidence.aggregates.values()) - len(remarks)
    if missing:
        remarks.insert(0, f"{missing:,} of {n:,} runs are missing")
    title = "the whole paper" if request.folder.name == "all" else request.folder.name
    remarks += [*watched.notes, *_warnings(evidence, trusted)]
    return Chapter(title, folder, evidence, n, watched.curves, remarks, request.folder)


def _summary(request: Kept, folder: Path) -> Evidence | None:
    """What was known when the request was last summed up, if it knows all runs that are there."""
    try:
        before = load(request.folder / SUMMARY)
    except MonMDPError:
        return None
    unknown = [key for key in _keys(before.figures) if key[0] not in before.aggregates]
    if before.made.get("request") != request.hash:
        return None
    return None if any(run_path(folder, *key).exists() for key in unknown) else before


@dataclass
class _Watched:
    """What a page draws of runs, and which were left out."""

    curves: dict[str, PackedCurves] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __call__(self, of: Aggregate, runs: Sequence[Run]) -> None:
        self.curves[of.configuration] = packed_curves(runs, of.smoothed)


@contextmanager
def _watching() -> Iterator[_Watched]:
    """Keep what a page draws of runs while they are summed up."""
    watched = _Watched()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LeftOutWarning)
        warnings.simplefilter("always", UnknownReturnWarning)
        yield watched
    for warning in caught:
        if issubclass(warning.category, LeftOutWarning):
            watched.remarks.append(f"damaged, and left out: {warning.message}")
        elif issubclass(warning.category, UnknownReturnWarning):
            watched.notes.append(str(warning.message))


def _warnings(evidence: Evidence, trusted: Collection[str]) -> list[str]:
    """What a reader should know before trusting the numbers."""
    remarks = []
    stale = sum(of.stale for of in evidence.aggregates.values())
    if stale:
        were = "was" if stale == 1 else "were"
        remarks.append(f"{plural(stale, 'run')} {were} made by another version of the code")
    names = {of.settings["agent"] for of in evidence.aggregates.values()} - {*agents.COLOURS}
    for name in sorted(names):
        if name.rpartition(":")[0] not in trusted:
            remarks.append(
                f"{name} is no agent of this package: whether its code is still that of the runs "
                "was not checked (--trust-modules)"
            )
    fewest = min((len(of.seeds) for of in evidence.aggregates.values()), default=FEWEST)
    if fewest < FEWEST:
        seeds = plural(fewest, "seed")
        remarks.append(f"some settings have {seeds}: intervals from so few decide nothing")
    return remarks


# ---- runs that nobody asked for -------------------------------------------------------------


def _unasked(folder: Path, paths: Sequence[Path], trusted: Collection[str]) -> Chapter:
    """Runs copied from elsewhere, or made in Python: a panel for each problem."""
    remarks: list[str] = []
    settings: dict[str, Mapping[str, Any]] = {}
    seeds: dict[str, list[int]] = {}
    for path in paths:
        try:
            footer = read_footer(path)
        except (DamagedError, OSError) as error:
            remarks.append(f"damaged, and left out: {error}")
            continue
        if footer["settings"]["steps"] <= footer["settings"]["every"]:
            remarks.append(f"{path}: a single test is no learning curve")
            continue
        settings[path.parent.name] = footer["settings"]
        seeds.setdefault(path.parent.name, []).append(footer["seed"])

    figure = Figure(UNASKED, "", "", (Grid(None, (_panels(settings, seeds),)),))
    with _watching() as watched:
        evidence = gather_kept(
            [figure], settings, folder, provenance(), watch=watched, trusted=trusted
        )
    remarks += [*watched.remarks, *watched.notes, *_warnings(evidence, trusted)]
    title = "runs that no report here asks for"
    return Chapter(title, folder, evidence, len(paths), watched.curves, remarks)


def _panels(
    settings: Mapping[str, Mapping[str, Any]], seeds: Mapping[str, Sequence[int]]
) -> tuple[Panel, ...]:
    """A panel for each problem and way of testing; agents in the order in which they are listed."""
    rank = {name: i for i, name in enumerate(agents.COLOURS)}
    by_setting: dict[tuple[Any, ...], list[str]] = {}
    for name in sorted(settings, key=lambda name: rank.get(settings[name]["agent"], len(rank))):
        by_setting.setdefault(tuple(settings[name][key] for key in DECIDING), []).append(name)
    panels = []
    for names in by_setting.values():
        labels = _labels({name: settings[name] for name in names})
        curves = [
            Curve(label, settings[name]["agent"], name, tuple(seeds[name]))
            for name, label in labels.items()
        ]
        panels.append(panel_of(settings[names[0]], curves))
    return tuple(panels)


def _labels(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The agents' names, with the parameters in which those of the same name differ."""
    labels = {}
    for name, of in settings.items():
        alike = [o["parameters"] for o in settings.values() if o["agent"] == of["agent"]]
        telling = differing({k: v for k, v in of["parameters"].items() if v is not None}, alike)
        labels[name] = " ".join([of["agent"], *(f"{k}={v}" for k, v in telling.items())])
    often = Counter(labels.values())
    return {n: label if often[label] == 1 else f"{label} in {n}" for n, label in labels.items()}


def differing(own: Mapping[str, Any], alike: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the parameters that tell a curve from others of its name."""
    return {k: v for k, v in own.items() if any(other.get(k) != v for other in alike)}
