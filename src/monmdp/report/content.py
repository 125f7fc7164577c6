"""What the page says, chapter by chapter: plain data, from which the template makes HTML.

A *setting* is a problem with a budget and a way of testing; all curves of a chapter that were
learnt in it are shown together, whichever figures they are in.
"""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any

from monmdp.drawing.palette import Style, styles
from monmdp.experiment.provenance import provenance
from monmdp.report.inside import explorer
from monmdp.report.packing import finite, pack
from monmdp.report.sources import TRAINED, Chapter, Inside, Sources
from monmdp.report.tables import (
    PROBLEMS,
    TONES,
    Table,
    Value,
    agents_table,
    claims_table,
    problem_row,
)
from monmdp.report.thumbnails import Thumbnail, thumbnail
from monmdp.results.claims import Claim
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.figures import AXES, draw, label, panel_data
from monmdp.results.tables import THRESHOLDS, SuiteTable
from monmdp.suites import Curve, Figure, Panel

DECIDING = ("problem", "steps", "every", "evaluation", "episodes", "gamma")
"""settings that make two runs those of the same setting"""


@dataclass(frozen=True)
class FigureView:
    """The grid of a figure: rows of small pictures."""

    name: str
    title: str
    score: str
    """what its panels show, in words; empty if they differ"""
    grids: Sequence[tuple[str, Sequence[Sequence[Thumbnail]]]]
    """title, rows"""
    legend: Mapping[str, Style]
    image: str = ""
    """a figure that draws worlds and no runs, as a data URI"""


@dataclass(frozen=True)
class SettingView:
    """One setting: what its section says."""

    id: str
    title: str
    figures: Sequence[str]
    marks: Mapping[str, Value]
    """world, monitor, rho"""
    agents: Sequence[str]
    minimax: float | None
    facts: Sequence[tuple[str, str]]
    """budget, way of testing, parameters of the problem"""
    configurations: Sequence[tuple[str, Mapping[str, Any]]]
    """curve, settings of its runs"""
    table: Table


@dataclass(frozen=True)
class ClaimView:
    """A claim and its badge."""

    claim: Claim
    tone: str
    parts: Sequence[tuple[Any, str]]


@dataclass(frozen=True)
class AgentsView:
    """The agents of a figure over all its problems."""

    table: Table
    title: str
    """of the performance profiles"""
    profile: str | None
    """id of their chart"""


@dataclass(frozen=True)
class ChapterView:
    """One chapter of the page."""

    id: str
    title: str
    folder: str
    there: int
    asked: int
    remarks: Sequence[str]
    claims: Sequence[ClaimView]
    checks: Table
    figures: Sequence[FigureView]
    agents: Sequence[AgentsView]
    problems: Table
    settings: Sequence[SettingView]
    facts: Sequence[tuple[str, str]]
    """where the runs come from"""
    sessions: Sequence[Sequence[str]]
    """when each ended, runs done, wall seconds, jobs, commit"""


@dataclass(frozen=True)
class ExplorerView:
    """A run to look into."""

    id: str
    title: str
    path: str
    marks: Mapping[str, Value]
    """world, monitor, rho"""


@dataclass(frozen=True)
class Content:
    """The whole page."""

    title: str
    made: Mapping[str, Any]
    when: str
    remarks: Sequence[str]
    chapters: Sequence[ChapterView]
    explorers: Sequence[ExplorerView]
    filters: Mapping[str, Sequence[Value]]
    """world, monitor, rho, agent: what there is to choose from"""
    data: Mapping[str, Any]
    """what the page's script reads: settings, curves, profiles, tables, explorers"""


def content(sources: Sources, folders: Sequence[Path]) -> Content:
    """Put the page together."""
    data: dict[str, Any] = {
        key: {} for key in ("settings", "curves", "profiles", "tables", "explorers")
    }
    chapters = [
        _Chapter(chapter, f"c{i}", data).view() for i, chapter in enumerate(sources.chapters)
    ]
    explorers = [_explorer(inside, i, data) for i, inside in enumerate(sources.insides)]
    return Content(
        title=" + ".join(folder.resolve().name for folder in folders),
        made=provenance(),
        when=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        remarks=sources.remarks,
        chapters=chapters,
        explorers=explorers,
        filters=_filters(chapters),
        data=data,
    )


def _filters(chapters: Iterable[ChapterView]) -> dict[str, list[Value]]:
    """What occurs, in the order of appearance; ρ by size."""
    found: dict[str, dict[Value, None]] = {key: {} for key in ("world", "monitor", "rho", "agent")}
    for chapter in chapters:
        for row in chapter.problems.rows:
            for key, value in row.marks.items():
                found[key][value] = None
    result = {key: list(values) for key, values in found.items()}
    result["rho"].sort(key=lambda rho: -float(rho or 0))
    return result


def _explorer(inside: Inside, i: int, data: dict[str, Any]) -> ExplorerView:
    name = f"explorer-{i}"
    data["explorers"][name] = explorer(inside.run, inside.problem)
    settings = inside.run.settings
    given = settings["problem_parameters"]
    marks = {
        "world": settings["world"],
        "monitor": settings["monitor"],
        "rho": float(given.get("monitor.rho", 1.0)),
    }
    return ExplorerView(name, data["explorers"][name]["title"], str(inside.path), marks)


class _Chapter:
    """A chapter that is being put together; `data` collects what the script reads."""

    def __init__(self, chapter: Chapter, name: str, data: dict[str, Any]) -> None:
        self.chapter, self.name, self.data = chapter, name, data
        self.evidence = chapter.evidence
        self.settings: dict[tuple[Any, ...], str] = {}
        """what decides a setting -> id of its section"""
        self.shown: dict[str, dict[str, tuple[Panel, Curve, list[str]]]] = {}
        """setting -> label -> panel, curve, figures"""
        names = [
            (label(curve), curve.agent)
            for figure in self.evidence.figures
            for curve in figure.curves()
        ]
        for figure in self.evidence.figures:
            for panel in figure.panels():
                self._place(figure, panel)
        for curves in self.shown.values():
            names += [(name, curve.agent) for name, (_, curve, _) in curves.items()]
        self.styles = styles(names)

    def _place(self, figure: Figure, panel: Panel) -> None:
        """Give the curves of a panel their place in a setting's section."""
        section = self.setting_of(panel)
        if section is None:
            return
        curves = self.shown.setdefault(section, {})
        for curve in panel.curves:
            name = label(curve)
            if name in curves and curves[name][1].configuration != curve.configuration:
                name = f"{name} ({figure.name})"
            _, _, figures = curves.setdefault(name, (panel, curve, []))
            if figure.name not in figures:
                figures.append(figure.name)

    def setting_of(self, panel: Panel) -> str | None:
        """Return the id of the section that shows a panel; None if nothing of it was run."""
        there = [of for of in map(self.evidence.of, panel.curves) if of is not None]
        if not there:
            return None
        key = tuple(there[0].settings[key] for key in DECIDING)
        return self.settings.setdefault(key, f"{self.name}-s{len(self.settings)}")

    def view(self) -> ChapterView:
        """Return the chapter."""
        chapter, name = self.chapter, self.name
        claims = [
            ClaimView(
                claim,
                TONES[claim.verdict.value],
                [(part, TONES[part.verdict.value]) for part in claim.parts],
            )
            for claim in chapter.claims
        ]
        tables = [self._agents(table) for table in chapter.tables]
        return ChapterView(
            id=name,
            title=chapter.title,
            folder=str(chapter.folder),
            there=chapter.there,
            asked=chapter.asked,
            remarks=chapter.remarks,
            claims=claims,
            checks=self._keep(claims_table(f"{name}-claims", chapter.claims)),
            figures=[self._figure(figure) for figure in self.evidence.figures],
            agents=tables,
            problems=self._keep(self._problems()),
            settings=[self._setting(section) for section in self.shown],
            facts=_provenance(self.evidence.aggregates.values()),
            sessions=[_session(one) for one in chapter.sessions],
        )

    def _keep(self, table: Table) -> Table:
        """Let the script know of a table."""
        self.data["tables"][table.name] = table.to_dict()
        return table

    def _title(self, panel: Panel) -> str:
        return f"{panel.row} / {panel.column}"

    def _figure(self, figure: Figure) -> FigureView:
        scores = {AXES[panel.score] for panel in figure.panels()}
        grids = [
            (grid.title or "", [[self._thumbnail(panel, figure) for panel in r] for r in grid.rows])
            for grid in figure.grids
        ]
        if grids and all(len(rows) == 1 and len(rows[0]) == 1 for _, rows in grids):
            # Blocks of one panel stand side by side, with their titles in place of the problem's.
            panels = [replace(rows[0][0], title=title or rows[0][0].title) for title, rows in grids]
            grids = [("", [panels])]
        legend = {label(curve): self.styles[label(curve)] for curve in figure.curves()}
        name = "" if figure.name == TRAINED else figure.name
        score = scores.pop() if len(scores) == 1 else ""
        image = _image(figure, self.evidence) if figure.maps or figure.graphs else ""
        return FigureView(name, figure.title, score, grids, legend, image)

    def _thumbnail(self, panel: Panel, figure: Figure) -> Thumbnail:
        several = len({one.score for one in figure.panels()}) > 1
        title = self._title(panel) + (f": {AXES[panel.score]}" if several else "")
        return thumbnail(
            panel_data(panel, self.evidence, title),
            self.styles,
            link=self.setting_of(panel) or "",
            marks=_marks(panel),
        )

    def _problems(self) -> Table:
        """Return the table of every problem and agent; figures may share them."""
        rows: dict[tuple[str, str], Any] = {}
        for figure in self.evidence.figures:
            for panel in figure.panels():
                link = self.setting_of(panel)
                for curve in panel.curves:
                    key = (link or self._title(panel), label(curve))
                    if key not in rows:
                        rows[key] = self._row(panel, curve, link or "")
        return Table(
            f"{self.name}-problems",
            "Every setting",
            PROBLEMS,
            tuple(rows.values()),
            about=self.chapter.title,
        )

    def _row(self, panel: Panel, curve: Curve, link: str) -> Any:
        marks = _marks(panel) | {"agent": label(curve)}
        of = self.evidence.of(curve)
        return problem_row(self._title(panel), marks, link, of, len(curve.seeds))

    def _setting(self, section: str) -> SettingView:
        shown = self.shown[section]
        panel = next(iter(shown.values()))[0]
        there = {
            name: (curve, of)
            for name, (_, curve, _) in shown.items()
            if (of := self.evidence.of(curve)) is not None
        }
        any_of = next(iter(there.values()))[1]
        minimax = finite(any_of.minimax)
        curves = []
        for name, (curve, of) in there.items():
            self.data["curves"].setdefault(
                f"{self.name}/{of.configuration}", self.chapter.curves[of.configuration]
            )
            style = self.styles[name]
            curves.append(
                {
                    "label": name,
                    "colour": style.colour,
                    "dash": style.dasharray,
                    "curves": f"{self.name}/{of.configuration}",
                    "asked": len(curve.seeds),
                }
            )
        self.data["settings"][section] = {
            "title": self._title(panel),
            "minimax": minimax,
            "steps": any_of.settings["steps"],
            "curves": curves,
        }
        figures = dict.fromkeys(f for _, _, names in shown.values() for f in names if f != TRAINED)
        rows = [self._row(panel, curve, "") for _, curve, _ in shown.values()]
        of_setting = Table(
            f"{section}-table",
            "",
            PROBLEMS[1:],
            tuple(replace(row, cells=row.cells[1:]) for row in rows),
            about=self._title(panel),
        )
        return SettingView(
            id=section,
            title=self._title(panel),
            figures=list(figures),
            marks=_marks(panel),
            agents=list(shown),
            minimax=minimax,
            facts=_facts(any_of),
            configurations=[(name, of.settings) for name, (_, of) in there.items()],
            table=self._keep(of_setting),
        )

    def _agents(self, table: SuiteTable) -> AgentsView:
        figure = table.figure.name
        title = "" if figure == TRAINED else f"{figure}: "
        kept = self._keep(agents_table(f"{self.name}-agents-{figure}", title, table))
        return AgentsView(kept, f"{title}performance profiles", self._profile(table))

    def _profile(self, table: SuiteTable) -> str | None:
        """Let the script know of performance profiles; return the id of their chart."""
        if table.problems < 2:
            return None
        name = f"{self.name}-profile-{table.figure.name}"
        self.data["profiles"][name] = {
            "thresholds": pack(THRESHOLDS, "f8"),
            "problems": table.problems,
            "curves": [
                {
                    "label": row.agent,
                    "colour": self.styles[row.agent].colour,
                    "dash": self.styles[row.agent].dasharray,
                    **{
                        key: pack(values, "f8")
                        for key, values in zip(("y", "low", "high"), row.profile, strict=True)
                    },
                }
                for row in table.rows
            ],
        }
        return name


def _image(figure: Figure, evidence: Evidence) -> str:
    """A figure as a picture that can stand in the page."""
    content = io.BytesIO()
    draw(figure, evidence).savefig(content, format="png", dpi=110)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"


def _marks(panel: Panel) -> dict[str, Value]:
    return {"world": panel.world, "monitor": panel.monitor, "rho": panel.rho}


def _facts(of: Aggregate) -> list[tuple[str, str]]:
    """What all runs of a setting have in common."""
    settings = of.settings
    drawn = f", {settings['episodes']} episodes a test" if settings["episodes"] else ""
    facts = [
        ("budget", f"{settings['steps']:,} steps, a test every {settings['every']:,}"),
        ("evaluation", f"{settings['evaluation']}{drawn}"),
        ("discount γ", f"{settings['gamma']:g}"),
        ("time limit", f"{settings['time_limit']:,} steps an episode"),
        ("problem", settings["problem"]),
    ]
    given = settings["problem_parameters"]
    if given:
        facts.insert(0, ("parameters", ", ".join(f"{k} = {v}" for k, v in given.items())))
    return facts


def _provenance(runs: Iterable[Aggregate]) -> list[tuple[str, str]]:
    """Where the runs of a chapter come from."""
    runs = list(runs)
    kernels: dict[str, set[str]] = {}
    for of in runs:
        kernels.setdefault(of.settings["agent"], set()).update(of.kernels)
    facts = []
    cpu = sum(of.cpu_seconds for of in runs)
    if runs and not isnan(cpu):
        facts.append(("CPU time of the runs", f"{cpu:,.1f} s"))
    commits = sorted({commit for of in runs for commit in of.commits} - {"None"})
    if commits:
        facts.append(("commits that made the runs", ", ".join(commits)))
    for agent, hashes in sorted(kernels.items()):
        known = sorted(hashes - {"None"})
        if known:
            facts.append((f"kernel hash, {agent}", ", ".join(known)))
    return facts


def _session(session: Mapping[str, Any]) -> list[str]:
    """When it ended, runs done, wall seconds, jobs, commit; whatever of it was written down."""
    seconds = session.get("wall_seconds")
    where = [session.get("jobs"), session.get("shard"), session.get("scheduler")]
    words = ("", "shard ", "scheduler ")
    return [
        str(session.get("ended", "?")),
        str(session.get("runs", "?")),
        f"{seconds:,.1f}" if isinstance(seconds, int | float) else "?",
        ", ".join(f"{word}{of}" for word, of in zip(words, where, strict=True) if of is not None),
        str(session.get("commit") or ""),
    ]
