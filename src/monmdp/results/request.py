"""What was asked for: kept beside the results, so that others know what is missing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from monmdp.errors import MonMDPError
from monmdp.experiment.provenance import todays_kernel
from monmdp.files import file_name, read_text, write_whole
from monmdp.results.store import Key, claim_folder, make_folder
from monmdp.schema import DamagedError, FileName, Session, checked, from_json
from monmdp.suites import (
    Figure,
    Plan,
    Resolved,
    Suite,
    bundled_suite,
    bundled_suites,
    expand,
    paper_suite,
    paper_suites,
)
from monmdp.suites.configuration import Wanted, digest
from monmdp.suites.plan import as_json

FORMAT = "monmdp-request-3"
FILE = "request.json"
SESSIONS = "sessions.json"
"""when somebody worked on a request, how long, with what and where"""


@dataclass(frozen=True)
class Request:
    """Suites to be run and reported on together."""

    name: str
    """of the report's folder"""
    suites: tuple[Suite, ...]
    preset: str

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """The suites, expanded; what is wrong in them is reported here."""
        return tuple(expand(suite, self.preset) for suite in self.suites)

    def runs(self) -> dict[Key, Resolved]:
        """Return (configuration's id, seed) -> what it comes to; shared runs are there once."""
        return {key: of for plan in self.plans for key, of in plan.runs().items()}

    def folder(self, results: Path) -> Path:
        """Return where its report is."""
        return results / "reports" / self.name


@dataclass(frozen=True)
class Planned(Request):
    """A request whose plans are made: its agents may be objects, which no suite can name."""

    suites: tuple[Suite, ...] = ()
    preset: str = "paper"
    made: tuple[Plan, ...] = ()

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """The plans that it was given."""
        return self.made


def ask_paper(
    names: Sequence[str], *, seeds: int | None = None, quick: bool = False, preset: str = "paper"
) -> Request:
    """Ask for figures of the paper, ``figure-4`` or ``4``, or for ``all``."""
    names = [f"figure-{name}" if name.isdigit() else name for name in names]
    chosen = {name: paper_suite(name) for name in names if name != "all"}
    title = "+".join(chosen)
    if "all" in names:
        title, chosen = "all", {name: paper_suite(name) for name in paper_suites()}
    return _request(title, chosen.values(), seeds, quick, preset)


def ask_suite(
    suite: Suite, *, seeds: int | None = None, quick: bool = False, preset: str = "paper"
) -> Request:
    """Ask for one suite; the names of the paper's own and of the bundled ones are theirs."""
    if suite.name == "all" or suite.name in paper_suites():
        raise MonMDPError(f"the name {suite.name!r} is the paper's; give the suite another one")
    if suite.name in bundled_suites() and suite != bundled_suite(suite.name):
        raise MonMDPError(
            f"the name {suite.name!r} is that of a bundled suite; give yours another one"
        )
    return _request(suite.name, [suite], seeds, quick, preset)


def _request(
    title: str, suites: Iterable[Suite], seeds: int | None, quick: bool, preset: str
) -> Request:
    words = [title, "quick" if quick else "", f"{seeds}-seeds" if seeds else ""]
    words += [preset] if preset != "paper" else []
    adapted = tuple(suite.adapted(seeds=seeds, quick=quick) for suite in suites)
    return Request("-".join(filter(None, words)), adapted, preset)


def command_name(words: Sequence[str], content: Any) -> str:
    """Name the report of a command: words that people can read, and a hash of what it is about."""
    text = json.dumps(content, sort_keys=True, default=str)
    return f"{file_name('-'.join(words[:4]), 80)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def keep(request: Request, results: Path) -> tuple[Kept, bool]:
    """Write down what was asked for; also return whether it replaces another request.

    What is written is what it came to, figures and configurations, not the names that were given:
    whoever reads it needs no code and no files of the one who asked.
    """
    folder = request.folder(results)
    claim_folder(results)
    make_folder(folder, within=results)
    content = {
        "format": FORMAT,
        "name": request.name,
        "figures": [as_json(plan.figure) for plan in request.plans],
        "configurations": {
            key: {name: value for name, value in asdict(of.wanted).items() if name != "kernel"}
            for plan in request.plans
            for key, of in plan.resolved.items()
        },
    }
    text = json.dumps(content, indent=1, ensure_ascii=False)
    text = text.encode(errors="backslashreplace").decode()  # paths may be no UTF-8; JSON has \udcff
    try:
        before = read_text(folder / FILE)
    except MonMDPError:
        before = text
    write_whole(folder / FILE, lambda file: file.write(text.encode()))
    return Kept(folder, text), before != text


@dataclass(frozen=True)
class Asked:
    """What a request on disk asks for: data, whoever wrote it."""

    name: FileName
    figures: tuple[Figure, ...]
    configurations: dict[FileName, Wanted]

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        for key, of in self.configurations.items():
            if not key.endswith(f"-{digest(of.settings)}"):
                raise ValueError(f"{key}: has other settings than its name says")
        for curve in (curve for figure in self.figures for curve in figure.curves()):
            if curve.configuration not in self.configurations:
                raise ValueError(f"{curve.configuration}: nothing is known of it")

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """Return configuration's id -> its settings."""
        return {key: of.settings for key, of in self.configurations.items()}

    def runs(self, trusted: Collection[str] = ()) -> dict[Key, Wanted]:
        """Return (configuration's id, seed) -> what is to be there of it.

        Code of agents that are somebody's own is looked at if their modules are `trusted`.
        """
        wanted = {
            key: replace(of, kernel=todays_kernel(of.settings, trusted))
            for key, of in self.configurations.items()
        }
        return {
            (curve.configuration, seed): wanted[curve.configuration]
            for figure in self.figures
            for curve in figure.curves()
            for seed in curve.seeds
        }


class Kept(NamedTuple):
    """A request on disk, not yet understood."""

    folder: Path
    """where its report is"""
    text: str
    """empty: it cannot be read"""

    @property
    def hash(self) -> str:
        """Return what changes with every word of the request."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def parsed(self) -> Asked:
        """Understand it; nothing that it names is looked up."""
        path = self.folder / FILE
        content = from_json(self.text, path)
        if not isinstance(content, dict) or "format" not in content:
            raise DamagedError(f"{path}: damaged, or no request")
        if content["format"] != FORMAT:
            raise DamagedError(f"{path}: written by another version ({content['format']!r})")
        del content["format"]
        asked: Asked = checked(Asked, content, path)
        if asked.name != self.folder.name:
            raise DamagedError(f"{path}: is the request of another report, {asked.name!r}")
        return asked


def kept(results: Path) -> list[Kept]:
    """Return all that was ever asked for in a folder."""
    found = []
    for path in sorted((results / "reports").glob(f"*/{FILE}")):
        try:
            text = read_text(path)
        except MonMDPError:
            text = ""
        found.append(Kept(path.parent, text))
    return found


def understood(results: Path) -> tuple[list[Asked], list[str]]:
    """Return all requests in a folder that can be understood, and what is wrong with the others."""
    requests, wrong = [], []
    for one in kept(results):
        try:
            requests.append(one.parsed())
        except MonMDPError as error:
            wrong.append(str(error))
    return requests, wrong


def log_session(folder: Path, session: Mapping[str, Any]) -> None:
    """Add to the list of sessions that have worked on a request."""
    text = json.dumps([*read_sessions(folder), dict(session)], indent=2)
    write_whole(folder / SESSIONS, lambda file: file.write(text.encode()))


def read_sessions(folder: Path) -> list[dict[str, Any]]:
    """Return the sessions on record; none if the list cannot be read."""
    try:
        found = from_json(read_text(folder / SESSIONS), folder / SESSIONS)
    except MonMDPError:
        return []
    sessions = []
    for one in found if isinstance(found, list) else ():
        with suppress(DamagedError):
            sessions.append(dict(checked(Session, one, folder / SESSIONS)))
    return sessions
