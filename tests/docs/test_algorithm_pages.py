"""Every agent has a page, and the page's table of settings says what the code says."""

from __future__ import annotations

import dataclasses
import itertools
import re
import typing

import pytest

from conftest import MONITORS, ROOT, WORLDS
from monmdp import MonMDPError, agents
from monmdp.agents import FIGURES
from monmdp.naming import scope_of

FOLDER = ROOT / "docs" / "algorithms"
AGENTS = list(agents.KINDS)
OTHERS = [name for name in AGENTS if name != "factored-mbie-eb"]
"""that page derives more than the others describe, and has an order of its own"""
NAME = re.compile(r"`(\w+)`")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def tables(page: str) -> list[list[dict[str, str]]]:
    """The tables of a page, each a list of rows: column -> cell."""
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        head, _, *rows = (
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in block.splitlines()
        )
        assert all(len(row) == len(head) for row in rows), (page, head)
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def settings(page: str) -> dict[str, dict[str, str]]:
    """The rows of the page's table of settings, by the name of the setting."""
    for rows in tables(page):
        first = next(iter(rows[0]))
        if first in ("setting", "parameter"):
            names = [NAME.match(row[first]) for row in rows]
            return {name[1]: row for name, row in zip(names, rows, strict=True)}
    raise AssertionError(f"{page}.md has no table of settings")


def written(value: object) -> str:
    """A default as the pages write it."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return str(value)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_setting_is_there_with_its_default(agent):
    listed = settings(agent)
    fields = dataclasses.fields(agents.KINDS[agent])
    assert list(listed) == [field.name for field in fields]
    for field in fields:
        default = listed[field.name]["default"]
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            assert float(default) == field.default, field.name
        else:
            assert default == written(field.default), field.name


@pytest.mark.parametrize("agent", OTHERS)
def test_types_and_choices_are_those_of_the_code(agent):
    listed = settings(agent)
    for name, parameter in scope_of(agents.KINDS[agent], agent).parameters.items():
        kind, annotation = listed[name]["type"], parameter.annotation
        if typing.get_origin(annotation) is typing.Literal:
            *rest, last = typing.get_args(annotation)
            assert kind.replace("`", "") == f"{', '.join(rest)} or {last}"
        else:
            parts = typing.get_args(annotation) or (annotation,)
            assert kind == " or ".join("none" if p is type(None) else p.__name__ for p in parts)
        assert listed[name]["meaning"]
        assert listed[name]["how to choose it"]


def papers_values(agent: str) -> dict[str, set[object]]:
    """What the paper's settings of an agent are where they are not the defaults."""
    found: dict[str, set[object]] = {}
    default = agents.config(agent).hyper_parameters()
    for world, monitor, figure in itertools.product(WORLDS, MONITORS, (None, *FIGURES)):
        try:
            config = agents.paper_config(agent, world, monitor, figure)
        except MonMDPError:  # not in this figure
            continue
        for name, value in config.hyper_parameters().items():
            if value != default[name]:
                found.setdefault(name, set()).add(value)
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_the_papers_values_are_there_where_they_differ(agent):
    differ = papers_values(agent)
    for name, row in settings(agent).items():
        cells = [cell for head, cell in row.items() if head.endswith("where it differs")]
        if not cells:
            assert name not in differ
            continue
        if name not in differ:
            assert cells == ["–"], name
            continue
        for value in differ[name]:
            assert float(value) in {float(x) for x in NUMBER.findall(cells[0])}, (name, value)


def test_the_theorems_agent_is_described_by_the_settings_of_its_kind():
    listed = settings("theorem-agent")
    fields = {field.name: field.default for field in dataclasses.fields(agents.MonitoredMBIEEB)}
    assert list(listed) == list(fields)
    for name, row in listed.items():
        assert row["default of monitored-mbie-eb"] == written(fields[name])


def test_the_index_lists_every_page():
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in FOLDER.glob("*.md")} - {"index"}
    assert pages >= set(AGENTS)
    (toctree,) = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    assert set(toctree.split()[1:]) == pages | {"../agents"}
    rows = tables("index")[0]
    assert [row["agent"].strip("`") for row in rows] == AGENTS
    for row in rows:
        assert row["page"].endswith(f"({row['agent'].strip('`')}.md)")
    for page in pages:
        assert f"({page}.md)" in text


@pytest.mark.parametrize("agent", OTHERS)
def test_every_page_has_all_parts(agent):
    text = (FOLDER / f"{agent}.md").read_text(encoding="utf-8")
    parts = re.findall(r"^## (.*)$", text, re.MULTILINE)
    wanted = [
        "Equations", "Pseudo-code", "Settings", "Choices and deviations", "Train it", "Cost",
        "Code and tests",
    ]  # fmt: skip
    assert [part for part in parts if part in wanted] == wanted
    assert f"--agent {agent}" in text
    for path in re.findall(r"`((?:src|tests|benchmarks)/[\w/.]+\.py)`", text):
        assert (FOLDER.parent.parent / path).is_file(), path
    for name in re.findall(r"`(test_\w+)`", text):
        assert any(
            f"def {name}(" in path.read_text(encoding="utf-8")
            for path in (ROOT / "tests").rglob("test_*.py")
        ), name


def test_the_page_of_the_deep_agent_has_its_defaults():
    from monmdp.agents.deep_monitored import DeepMonitored

    (table,) = (rows for rows in tables("deep-monitored") if "default" in rows[0])
    said = {row["setting"].strip("`"): row["default"].strip("`") for row in table}
    defaults = {
        field.name: field.default
        for field in dataclasses.fields(DeepMonitored)
        if field.default is not dataclasses.MISSING
    }
    assert said.keys() == defaults.keys()
    for name, of_kinds in {"bits": "64 or 16", "unmet": "7 or 2"}.items():
        assert said.pop(name) == of_kinds
        assert defaults.pop(name) is None
    assert said.pop("remember") == "true"
    assert defaults.pop("remember") is True
    for name, default in defaults.items():
        assert said[name] == default if isinstance(default, str) else float(said[name]) == default
