"""What was asked for: kept beside the results, so that others know what is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from monmdp.errors import MonMDPError
from monmdp.files import write_whole
from monmdp.suites import (
    Configuration,
    Plan,
    Suite,
    bundled_suite,
    bundled_suites,
    expand,
    paper_suite,
    paper_suites,
    parse,
)

FORMAT = "monmdp-request-1"
FILE = "request.json"


@dataclass(frozen=True)
class Asked:
    """Suites to be run and reported on together."""

    name: str
    """of the report's folder"""
    suites: tuple[Suite, ...]
    preset: str

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """The suites, expanded; what is wrong in them is reported here."""
        return tuple(expand(suite, self.preset) for suite in self.suites)

    def runs(self) -> dict[tuple[str, int], Configuration]:
        """Return (configuration's id, seed) -> configuration; shared runs are there once."""
        return {key: of for plan in self.plans for key, of in plan.runs().items()}

    def folder(self, results: Path) -> Path:
        """Return where its report is."""
        return results / "reports" / self.name


def ask_paper(
    names: Sequence[str], *, seeds: int | None = None, quick: bool = False, preset: str = "paper"
) -> Asked:
    """Ask for figures of the paper, ``figure-4`` or ``4``, or for ``all``."""
    names = [f"figure-{name}" if name.isdigit() else name for name in names]
    chosen = {name: paper_suite(name) for name in names if name != "all"}
    if "all" in names:
        chosen = {name: paper_suite(name) for name in paper_suites()}
    suites = tuple(suite.adapted(seeds=seeds, quick=quick) for suite in chosen.values())
    title = "all" if "all" in names else "+".join(chosen)
    return Asked(_name(title, seeds, quick, preset), suites, preset)


def ask_suite(
    suite: Suite, *, seeds: int | None = None, quick: bool = False, preset: str = "paper"
) -> Asked:
    """Ask for one suite; the names of the paper's own and of the bundled ones are theirs."""
    if suite.name == "all" or suite.name in paper_suites():
        raise MonMDPError(f"the name {suite.name!r} is the paper's; give the suite another one")
    if suite.name in bundled_suites() and suite != bundled_suite(suite.name):
        raise MonMDPError(
            f"the name {suite.name!r} is that of a bundled suite; give yours another one"
        )
    return Asked(
        _name(suite.name, seeds, quick, preset),
        (suite.adapted(seeds=seeds, quick=quick),),
        preset,
    )


def _name(title: str, seeds: int | None, quick: bool, preset: str) -> str:
    words = [title, *(["quick"] if quick else []), *([f"{seeds}-seeds"] if seeds else [])]
    return "-".join([*words, *([preset] if preset != "paper" else [])])


def keep(asked: Asked, results: Path) -> bool:
    """Write down what was asked for; return whether something else of this name was before."""
    folder = asked.folder(results)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MonMDPError(f"cannot use {results} for results: {error.strerror or error}") from None
    content = {
        "format": FORMAT,
        "name": asked.name,
        "preset": asked.preset,
        "suites": [suite.model_dump(mode="json", exclude_none=True) for suite in asked.suites],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False)
    try:
        before = (folder / FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        before = text
    write_whole(folder / FILE, lambda file: file.write(text.encode()))
    return before != text


def kept(results: Path) -> tuple[list[Asked], list[str]]:
    """Read all that was ever asked for in a folder; and what could not be read, and why."""
    asked, unreadable = [], []
    for path in sorted((results / "reports").glob(f"*/{FILE}")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(content, dict) or "format" not in content:
                raise MonMDPError("damaged, or no request")
            if content["format"] != FORMAT:
                raise MonMDPError(f"written by another version ({content['format']!r})")
            suites = tuple(parse(suite, str(path)) for suite in content["suites"])
            one = Asked(content["name"], suites, content["preset"])
            one.runs()
            asked.append(one)
        except (OSError, ValueError, KeyError, TypeError) as error:
            unreadable.append(str(error) if str(path) in str(error) else f"{path}: {error}")
    return asked, unreadable
