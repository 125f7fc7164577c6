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

from monmdp.agents import COLOURS
from monmdp.drawing.palette import Style, styles
from monmdp.errors import MonMDPError
from monmdp.experiment.provenance import provenance
from monmdp.report.inside import explorer
from monmdp.report.packing import finite, pack
from monmdp.report.sources import DECIDING, TRAINED, Chapter, Inside, Sources
from monmdp.report.tables import (
    PROBLEMS,
    TONES,
    Row,
    Table,
    Value,
    agents_table,
    claims_table,
    problem_row,
    sessions_table,
    steps_table,
    verdicts_table,
)
from monmdp.report.thumbnails import Thumbnail, thumbnail
from monmdp.results.claims import Claim
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.figures import AXES, draw, label, panel_data
from monmdp.results.tables import THRESHOLDS, SuiteTable
from monmdp.suites import Curve, Figure, Panel


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
    verdicts: Table
    """the same as a table, row by row"""
    checks: Table
    figures: Sequence[FigureView]
    agents: Sequence[AgentsView]
    steps: Sequence[Table]
    problems: Table
    settings: Sequence[SettingView]
    facts: Sequence[tuple[str, str]]
    """where the runs come from"""
    sessions: Table


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
    explorers, remarks = [], list(sources.remarks)
    for i, inside in enumerate(sources.insides):
        try:
            explorers.append(_explorer(inside, i, data))
        except MonMDPError as error:
            remarks.append(f"{inside.path} cannot be looked into: {error}")
    return Content(
        title=" + ".join(folder.resolve().name for folder in folders),
        made=provenance(),
        when=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        remarks=remarks,
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
    data["explorers"][name] = explorer(inside.run, inside.problem, solution=inside.solution)
    settings = inside.run.settings
    given = settings["problem_parameters"]
    marks = {
        "world": settings["world"],
        "monitor": settings["monitor"],
        "rho": float(given.get("monitor.rho", 1.0)),
    }
    return ExplorerView(name, data["explorers"][name]["title"], str(inside.path), marks)


@dataclass(frozen=True)
class _Shown:
    """A curve in the section of its setting."""

    panel: Panel
    curve: Curve
    figures: list[str]


class _Chapter:
    """A chapter that is being put together; `data` collects what the script reads."""

    def __init__(self, chapter: Chapter, name: str, data: dict[str, Any]) -> None:
        self.chapter, self.name, self.data = chapter, name, data
        self.evidence = chapter.evidence
        self.sections: dict[tuple[Any, ...], str] = {}
        """what decides a setting -> id of its section"""
        self.shown: dict[str, dict[str, _Shown]] = {}
        """section -> configuration -> where it was met"""
        curves = []
        for figure in self.evidence.figures:
            for panel in figure.panels():
                for curve in panel.curves:
                    self._place(figure, panel, curve)
                    curves.append((label(curve), curve.agent))
        self.styles = styles(curves, COLOURS)
        self.names = {section: self._names(shown) for section, shown in self.shown.items()}
        self.titles = self._titles()

    def _place(self, figure: Figure, panel: Panel, curve: Curve) -> None:
        """Give a curve its place in a setting's section."""
        section = self.section_of(curve)
        if section is None:
            return
        met = self.shown.setdefault(section, {}).setdefault(
            curve.configuration, _Shown(panel, curve, [])
        )
        if figure.name not in met.figures:
            met.figures.append(figure.name)

    def section_of(self, curve: Curve) -> str | None:
        """Return the id of the section that shows a curve; None if it was not run."""
        of = self.evidence.of(curve)
        if of is None:
            return None
        key = tuple(of.settings[key] for key in DECIDING)
        return self.sections.setdefault(key, f"{self.name}-s{len(self.sections)}")

    def link_of(self, panel: Panel) -> str:
        """Return the id of the section that shows a panel; empty if nothing of it was run."""
        sections = [self.section_of(curve) for curve in panel.curves]
        return next((section for section in sections if section is not None), "")

    def _names(self, shown: Mapping[str, _Shown]) -> dict[str, str]:
        """Configuration -> its name in a section, with what tells it from others of its label."""
        names: dict[str, str] = {}
        for key, one in shown.items():
            base = label(one.curve)
            alike = [k for k, other in shown.items() if label(other.curve) == base]
            parameters = {k: self.evidence.aggregates[k].settings["parameters"] for k in alike}
            own = parameters[key]
            telling = [
                f"{name} = {value}"
                for name, value in own.items()
                if any(of.get(name) != value for of in parameters.values())
            ]
            name = f"{base} ({', '.join(telling)})" if telling else base
            if name in names.values():
                name = f"{name} ({', '.join(one.figures)}, {len(names)})"
            names[key] = name
        return names

    def _titles(self) -> dict[str, str]:
        """Section -> its title: the problem, and how it was tested where that tells two apart."""
        titles = {}
        for section, shown in self.shown.items():
            panels = [one.panel for one in shown.values()]
            found = dict.fromkeys(_title(panel) for panel in panels)
            # Rows of a suite may also say what the agent was given; the curves say that here.
            titles[section] = next(iter(found)) if len(found) == 1 else _problem(panels[0])
        told_apart = {}
        for section, title in titles.items():
            alike = [other for other, of in titles.items() if of == title]
            telling = self._telling(section, alike)
            told_apart[section] = f"{title}, {telling}" if telling else title
        return told_apart

    def _telling(self, section: str, alike: Sequence[str]) -> str:
        """What of the deciding settings tells a section from others of its title."""
        settings = {
            other: self.evidence.aggregates[next(iter(self.shown[other]))].settings
            for other in alike
        }
        words = {"steps": "{:,} steps", "every": "a test every {:,} steps", "gamma": "γ = {:g}"}
        return ", ".join(
            words.get(key, "{}").format(settings[section][key])
            for key in ("evaluation", "steps", "every", "gamma")
            if len({str(of[key]) for of in settings.values()}) > 1
        )

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
            verdicts=self._keep(verdicts_table(f"{name}-verdicts", chapter.claims, chapter.title)),
            checks=self._keep(claims_table(f"{name}-claims", chapter.claims)),
            figures=[self._figure(figure) for figure in self.evidence.figures],
            agents=tables,
            steps=[
                self._keep(steps_table(f"{name}-steps-{i}", table))
                for i, table in enumerate(chapter.steps)
            ],
            problems=self._keep(self._problems()),
            settings=[self._setting(section) for section in self.shown],
            facts=_provenance(self.evidence.aggregates.values()),
            sessions=self._keep(
                sessions_table(f"{name}-sessions", chapter.sessions, chapter.title)
            ),
        )

    def _keep(self, table: Table) -> Table:
        """Let the script know of a table."""
        self.data["tables"][table.name] = table.to_dict()
        return table

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
        link = self.link_of(panel)
        alike = [of for of in figure.panels() if _title(of) == _title(panel)]
        title = self.titles[link] if link and len(alike) > 1 and not several else _title(panel)
        return thumbnail(
            panel_data(panel, self.evidence, title + (f": {AXES[panel.score]}" if several else "")),
            self.styles,
            link=link,
            marks=_marks(panel),
        )

    def _problems(self) -> Table:
        """Return the table of every problem and agent; figures may share them."""
        rows: dict[tuple[str, str], Row] = {}
        for figure in self.evidence.figures:
            for panel in figure.panels():
                for curve in panel.curves:
                    section = self.section_of(curve)
                    key = (section or _title(panel), curve.configuration)
                    if key not in rows:
                        rows[key] = self._row(panel, curve)
        return Table(
            f"{self.name}-problems",
            "Every setting",
            PROBLEMS,
            tuple(rows.values()),
            about=self.chapter.title,
        )

    def _row(self, panel: Panel, curve: Curve) -> Row:
        section = self.section_of(curve) or ""
        title, name = _title(panel), label(curve)
        if section:
            title, name = self.titles[section], self.names[section][curve.configuration]
        marks = _marks(panel) | {"agent": label(curve)}
        of = self.evidence.of(curve)
        return problem_row(title, name, marks, section, of, len(curve.seeds))

    def _setting(self, section: str) -> SettingView:
        shown, names, title = self.shown[section], self.names[section], self.titles[section]
        first = next(iter(shown.values()))
        any_of = self.evidence.aggregates[first.curve.configuration]
        minimax = finite(any_of.minimax)
        distinct = all(name == label(shown[key].curve) for key, name in names.items())
        shown_curves = ((names[key], one.curve.agent) for key, one in shown.items())
        own = styles(shown_curves, COLOURS)
        curves = []
        for key, one in shown.items():
            place = f"{self.name}/{key}"
            self.data["curves"][place] = self.chapter.curves[key]
            style = (self.styles if distinct else own)[names[key]]
            curves.append(
                {
                    "label": names[key],
                    "agent": label(one.curve),
                    "colour": style.colour,
                    "dash": style.dasharray,
                    "curves": place,
                    "asked": len(one.curve.seeds),
                }
            )
        self.data["settings"][section] = {
            "title": title,
            "minimax": minimax,
            "steps": any_of.settings["steps"],
            "curves": curves,
        }
        figures = dict.fromkeys(name for one in shown.values() for name in one.figures)
        rows = [self._row(one.panel, one.curve) for one in shown.values()]
        of_setting = Table(
            f"{section}-table",
            "",
            PROBLEMS[1:],
            tuple(replace(row, cells=row.cells[1:]) for row in rows),
            about=title,
        )
        return SettingView(
            id=section,
            title=title,
            figures=[name for name in figures if name != TRAINED],
            marks=_marks(first.panel),
            agents=list(dict.fromkeys(label(one.curve) for one in shown.values())),
            minimax=minimax,
            facts=_facts(any_of),
            configurations=[(names[key], self.evidence.aggregates[key].settings) for key in shown],
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


def _title(panel: Panel) -> str:
    return f"{panel.row} / {panel.column}"


def _problem(panel: Panel) -> str:
    """Name a panel's problem by itself."""
    given = [f"{key.partition('.')[2]}={value}" for key, value in panel.problem.items()]
    return " ".join([f"{panel.world} / {panel.monitor}", *given])


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
