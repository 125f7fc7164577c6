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
from pathlib import Path
from typing import Any

from monmdp.agents import COLOURS
from monmdp.drawing.palette import Style, styles
from monmdp.errors import MonMDPError
from monmdp.experiment.provenance import provenance
from monmdp.files import file_name
from monmdp.report.inside import explorer
from monmdp.report.packing import PackedCurves, finite, pack
from monmdp.report.sources import DECIDING, UNASKED, Chapter, Inside, Sources, differing
from monmdp.report.thumbnails import thumbnail
from monmdp.results.evidence import WORST, Evidence
from monmdp.results.figures import AXES, draw, label, panel_data, panel_title
from monmdp.results.publish import about
from monmdp.results.references import stored_table
from monmdp.results.scores import PROBLEMS, THRESHOLDS, SuiteTable, panel_marks, problem_row
from monmdp.results.verdicts import checks_table, claims_table
from monmdp.suites import Curve, Figure, Panel
from monmdp.suites.plan import panel_of
from monmdp.tables import Column, Table, TableRow, Value, plural

Met = tuple[Figure, Panel, Curve]
"""where a curve is shown"""
SESSIONS = (
    Column("session ended", ("ended",)),
    Column("runs done", ("runs",), form=",.0f", missing="?"),
    Column("wall seconds", ("wall_seconds",), form=",.1f", missing="?"),
    Column("jobs"),
    Column("commit"),
)


@dataclass(frozen=True, repr=False)
class Content:
    """The whole page."""

    title: str
    made: Mapping[str, Any]
    when: str
    remarks: Sequence[str]
    chapters: Sequence[ChapterView]
    explorers: Sequence[Mapping[str, Any]]
    """runs to look into: id, title, path, marks"""
    filters: Mapping[str, Sequence[Value]]
    """world, monitor, rho, agent: what there is to choose from"""
    data: Mapping[str, Any]
    """what the page's script reads: settings, curves, profiles, tables, explorers"""
    runs: int
    """runs that it shows, each counted once"""

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {plural(self.runs, 'run')}>"


def content(sources: Sources, folders: Sequence[Path]) -> Content:
    """Put the page together."""
    data: dict[str, Any] = {
        key: {} for key in ("settings", "curves", "profiles", "tables", "explorers")
    }
    chapters, explorers, remarks = [], [], list(sources.remarks)
    for i, chapter in enumerate(sources.chapters):
        try:
            chapters.append(ChapterView(chapter, f"c{i}", data))
        except MonMDPError as error:  # of a world that cannot be made, say
            remarks.append(f"{chapter.title} cannot be shown: {error}")
    for i, inside in enumerate(sources.insides):
        try:
            view = explorer(inside.run, inside.problem)
        except MonMDPError as error:
            remarks.append(f"{inside.path} cannot be looked into: {error}")
            continue
        name, marks = f"explorer-{i}", panel_marks(_panel_of(inside, sources.chapters))
        data["explorers"][name] = view
        said = {"id": name, "title": view["title"], "path": str(inside.path), "marks": marks}
        explorers.append(said)
    keys = {
        (chapter.folder, of.configuration, seed)
        for chapter in sources.chapters
        for of in chapter.evidence.aggregates.values()
        for seed in of.seeds
    }
    return Content(
        title=" + ".join(folder.resolve().name for folder in folders),
        made=provenance(),
        when=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        remarks=remarks,
        chapters=chapters,
        explorers=explorers,
        filters=_filters(chapters),
        data=data,
        runs=len(keys),
    )


def _filters(chapters: Iterable[ChapterView]) -> dict[str, list[Value]]:
    """What occurs, in the order of appearance; ρ by size."""
    marks = [row.marks for chapter in chapters for row in chapter.problems.rows]
    keys = ("world", "monitor", "rho", "agent")
    found = {key: list(dict.fromkeys(of[key] for of in marks)) for key in keys}
    found["rho"].sort(key=lambda rho: -float(rho or 0))
    return found


def _panel_of(inside: Inside, chapters: Iterable[Chapter]) -> Panel:
    """The panel that shows a run: filters know its world by the name that it has there."""
    of_run, _, folder = inside.path.parents[:3]
    for chapter in chapters:
        for figure in chapter.evidence.figures if chapter.folder == folder else ():
            for panel in figure.panels():
                if any(curve.configuration == of_run.name for curve in panel.curves):
                    return panel
    return panel_of(inside.run.settings, ())


class ChapterView:
    """One chapter of the page, as the template reads it; `data` collects what the script reads."""

    def __init__(self, chapter: Chapter, name: str, data: dict[str, Any]) -> None:
        self.id, self.title = name, chapter.title
        self.folder, self.report = chapter.folder, chapter.report
        self.there, self.asked, self.remarks = chapter.there, chapter.asked, chapter.remarks
        self.evidence, self.data = chapter.evidence, data
        self.about = about(chapter.evidence)
        self._curves = [
            (figure, panel, curve)
            for figure in self.evidence.figures
            for panel in figure.panels()
            for curve in panel.curves
        ]
        by_setting: dict[tuple[Any, ...], list[Met]] = {}
        for met in self._curves:
            of = self.evidence.of(met[-1])
            if of is not None:  # it was run
                key = tuple(of.settings[key] for key in DECIDING)
                by_setting.setdefault(key, []).append(met)
        self._met = {f"{self.id}-s{i}": met for i, met in enumerate(by_setting.values())}
        """section of a setting -> where its curves are shown"""
        self._section = {c.configuration: of for of, met in self._met.items() for *_, c in met}
        self._first = {section: _firsts(met) for section, met in self._met.items()}
        self._styles = styles([(label(of), of.agent) for *_, of in self._curves], COLOURS)
        self._names = {section: self._names_in(section) for section in self._met}
        self._titles = self._titles_of_sections()
        claims = [claim.to_dict() for claim in chapter.claims]
        self.claims = self._keep("verdicts", claims_table(claims), self.title)
        self.checks = self._keep("claims", checks_table(claims), self.title)
        self.figures = [self._figure(figure) for figure in self.evidence.figures]
        self.agents = [self._agents(table) for table in chapter.tables]
        self.steps = [
            self._keep(f"steps-{i}", of.table(), of.figure) for i, of in enumerate(chapter.steps)
        ]
        every = Table.of(PROBLEMS, self._rows(), title="Every setting")
        self.problems = self._keep("problems", every, self.title)
        self.settings = [self._setting(section, chapter.curves) for section in self._met]
        self.sessions = self._keep("sessions", _sessions(chapter.sessions), self.title)

    def _names_in(self, section: str) -> dict[str, str]:
        """Configuration -> its name in a section, with what tells it from others of its label."""
        names: dict[str, str] = {}
        labels = {key: label(curve) for key, (_, curve) in self._first[section].items()}
        parameters = {key: self.evidence.aggregates[key].settings["parameters"] for key in labels}
        for key, name in labels.items():
            alike = [of for other, of in parameters.items() if labels[other] == labels[key]]
            telling = differing(parameters[key], alike)
            if telling:
                name += f" ({', '.join(f'{k} = {v}' for k, v in telling.items())})"
            if name in names.values():
                met = [
                    figure.name for figure, _, of in self._met[section] if of.configuration == key
                ]
                name = f"{name} ({', '.join(dict.fromkeys(met))}, {len(names)})"
            names[key] = name
        return names

    def _titles_of_sections(self) -> dict[str, str]:
        """Section -> its title: the problem, and how it was tested where that tells two apart."""
        titles = {}
        for section, shown in self._first.items():
            panels = [panel for panel, _ in shown.values()]
            found = {panel_title(panel) for panel in panels}
            # Rows of a suite may also say what the agent was given; the curves say that here.
            titles[section] = found.pop() if len(found) == 1 else _problem(panels[0])
        words = {
            "evaluation": "{}", "steps": "{:,} steps", "every": "a test every {:,} steps",
            "gamma": "γ = {:g}",
        }  # fmt: skip
        told_apart = {}
        for section, title in titles.items():
            alike = {
                other: self.evidence.aggregates[next(iter(self._first[other]))].settings
                for other, of in titles.items()
                if of == title
            }
            telling = differing({key: alike[section][key] for key in words}, alike.values())
            said = (words[key].format(value) for key, value in telling.items())
            told_apart[section] = ", ".join([title, *said])
        return told_apart

    def _keep(self, name: str, table: Table, of: str) -> Table:
        """Give a table its name on the page, and let the script know of it."""
        kept = replace(table, name=f"{self.id}-{name}", about=of)
        file = file_name(f"{of} {table.title}".strip())
        self.data["tables"][kept.name] = {"file": f"{file}.csv", **table.to_dict()}
        return kept

    def _figure(self, figure: Figure) -> dict[str, Any]:
        """Return the grid of a figure: rows of small pictures, or one that shows no runs."""
        scores = {AXES[panel.score] for panel in figure.panels()}
        grids = [
            (grid.title or "", [[self._thumbnail(panel, figure) for panel in r] for r in grid.rows])
            for grid in figure.grids
        ]
        if grids and all(len(rows) == 1 and len(rows[0]) == 1 for _, rows in grids):
            # Blocks of one panel stand side by side, with their titles in place of the problem's.
            panels = [rows[0][0] | ({"title": of} if of else {}) for of, rows in grids]
            grids = [("", [panels])]
        return {
            "name": "" if figure.name == UNASKED else figure.name,
            "title": figure.title,
            "score": scores.pop() if len(scores) == 1 else "",
            "grids": grids,
            "legend": {label(curve): self._styles[label(curve)] for curve in figure.curves()},
            "image": "" if figure.has_curves else _image(figure, self.evidence),
        }

    def _thumbnail(self, panel: Panel, figure: Figure) -> dict[str, Any]:
        sections = [self._section.get(curve.configuration, "") for curve in panel.curves]
        link, title = next(filter(None, sections), ""), panel_title(panel)
        if len({one.score for one in figure.panels()}) > 1:
            title += f": {AXES[panel.score]}"
        elif link and [panel_title(of) for of in figure.panels()].count(title) > 1:
            title = self._titles[link]
        shown = panel_data(panel, self.evidence, title)
        return thumbnail(shown, self._styles, link=link, marks=panel_marks(panel))

    def _rows(self) -> Iterable[TableRow]:
        """Return the rows of every problem and agent; figures may share them."""
        rows: dict[tuple[str, str], TableRow] = {}
        for _, panel, curve in self._curves:
            key = (self._section.get(curve.configuration, panel_title(panel)), curve.configuration)
            if key not in rows:
                rows[key] = self._row(panel, curve)
        return rows.values()

    def _row(self, panel: Panel, curve: Curve) -> TableRow:
        key = curve.configuration
        section = self._section.get(key)
        if section is None:
            return problem_row(panel_title(panel), label(curve), panel, curve, self.evidence)
        title, name = self._titles[section], self._names[section][key]
        return problem_row(title, name, panel, curve, self.evidence, section)

    def _setting(self, section: str, packed: Mapping[str, PackedCurves]) -> dict[str, Any]:
        """Return what the section of a setting says."""
        names, title, met = self._names[section], self._titles[section], self._met[section]
        first, known = self._first[section], self.evidence.aggregates
        labels = {key: label(curve) for key, (_, curve) in first.items()}
        looks = self._styles
        if names != labels:
            looks = styles([(names[key], of.agent) for key, (_, of) in first.items()], COLOURS)
        curves = []
        for key, (_, curve) in first.items():
            place = f"{self.id}/{key}"
            self.data["curves"][place] = packed[key]
            more = {"agent": labels[key], "curves": place, "asked": len(curve.seeds)}
            curves.append(_looks(names[key], looks[names[key]]) | more)
        any_of = known[next(iter(first))]
        said = {"title": title, "minimax": finite(any_of.minimax)}
        # A chart opens with the range that its panels state, unless they differ.
        ranges = {panel.y_range for _, panel, _ in met if panel.shows_returns}
        self.data["settings"][section] = said | {
            "steps": any_of.settings["steps"],
            "curves": curves,
            "range": ranges.pop() if len(ranges) == 1 else None,
        }
        if any(panel.score == WORST for _, panel, _ in met):
            words = "discounted return of a test episode in M↓ (worst case)"
            self.data["settings"][section]["words"] = {"episode_return": words}
        rows = [self._row(panel, curve) for panel, curve in first.values()]
        table = Table.of(PROBLEMS, rows).without("setting")
        against = {name: known[key] for key, name in names.items()}
        references = stored_table(self.folder, self.report, against)
        figures = dict.fromkeys(figure.name for figure, _, _ in met)
        place = section.removeprefix(f"{self.id}-")
        return said | {
            "id": section,
            "figures": [name for name in figures if name != UNASKED],
            "marks": panel_marks(met[0][1]),
            "agents": list(dict.fromkeys(labels.values())),
            "common": any_of.settings,
            "configurations": {name: of.settings for name, of in against.items()},
            "table": self._keep(f"{place}-table", table, title),
            "references": self._keep(f"{place}-references", references, title),
        }

    def _agents(self, of: SuiteTable) -> dict[str, Any]:
        """Return the agents of a figure over all its problems, and the id of their profiles."""
        figure, table = of.figure.name, of.table()
        shown = "" if figure == UNASKED else f"{figure}: "
        kept = self._keep(f"agents-{figure}", replace(table, title=f"{shown}{table.title}"), "")
        view = {"figure": shown, "table": kept, "profile": None}
        if of.problems < 2:
            return view
        curves = []
        for row in of.rows:
            y, low, high = (pack(values, "f8") for values in row.profile)
            looks = _looks(row.agent, self._styles[row.agent])
            curves.append(looks | {"y": y, "low": low, "high": high})
        name, thresholds = f"{self.id}-profile-{figure}", pack(THRESHOLDS, "f8")
        said = {"thresholds": thresholds, "problems": of.problems, "curves": curves}
        self.data["profiles"][name] = said
        return view | {"profile": name}


def _firsts(met: Iterable[Met]) -> dict[str, tuple[Panel, Curve]]:
    """Configuration -> the first panel that shows it, and its curve there."""
    first: dict[str, tuple[Panel, Curve]] = {}
    for _, panel, curve in met:
        first.setdefault(curve.configuration, (panel, curve))
    return first


def _looks(name: str, style: Style) -> dict[str, Any]:
    """How the script draws a curve."""
    return {"label": name, "colour": style.colour, "dash": style.dasharray}


def _problem(panel: Panel) -> str:
    """Name a panel's problem by itself."""
    given = [f"{key.partition('.')[2]}={value}" for key, value in panel.problem.items()]
    return " ".join([f"{panel.world} / {panel.monitor}", *given])


def _image(figure: Figure, evidence: Evidence) -> str:
    """A figure as a picture that can stand in the page."""
    content = io.BytesIO()
    draw(figure, evidence).savefig(content, format="png", dpi=110)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"


def _sessions(sessions: Iterable[Mapping[str, Any]]) -> Table:
    """Who worked on it, and how long; whatever of that was written down."""
    rows = []
    for session in sessions:
        numbers = session["runs"], session["wall_seconds"]
        words = {"jobs": "", "shard": "shard ", "scheduler": "scheduler "}
        jobs = [f"{of}{session[key]}" for key, of in words.items() if session[key] is not None]
        rows.append((session["ended"], *numbers, ", ".join(jobs), session["commit"] or ""))
    return Table.of(SESSIONS, rows, title="Sessions")
