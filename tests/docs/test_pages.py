"""What README, the pages of the documentation and docstrings show works as shown.

A page is one session in an empty folder with a link to the examples. Its blocks are done in their
order: ``python`` in one namespace, ``console`` line by line as commands. A line directly above a
block says what else becomes of it: ``<!-- file: NAME -->`` writes it to a file, and
``<!-- not run: WHY -->`` leaves it alone. Every other block must have such a line. What
``<!-- not run: output -->`` shows is what the block before it has printed, but for times.
"""

from __future__ import annotations

import doctest
import importlib
import json
import re
import shlex
import sys
import types
from functools import cache
from glob import glob
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from markdown_it import MarkdownIt

import monmdp
from conftest import ROOT
from monmdp import cli, stats

SOURCE = ROOT / "src" / "monmdp"
DOCS = ROOT / "docs"
README = ROOT / "README.md"
API = sorted((DOCS / "api").glob("*.md"))


def in_docs(pattern):
    return sorted(path for path in DOCS.rglob(pattern) if "_build" not in path.parts)


PAGES = [README, *in_docs("*.md")]


def name(path):
    return str(path.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=name)


# ---- pages, block by block ----------------------------------------------------------------------

FENCE = re.compile(r" *(?P<fence>`{3,}|~{3,}) *(?P<info>[^`]*)")
PLAIN_NAME = re.compile(r"[\w-][\w.-]*")
MARK = re.compile(r" *<!-- (?P<kind>file|not run): (?P<text>.*\S) -->")


class Block(NamedTuple):
    page: Path
    line: int
    """of the page, counted from 1, on which its text begins"""
    language: str
    mark: tuple[str, str] | None
    """("file", NAME) or ("not run", WHY)"""
    text: str

    @property
    def is_directive(self):
        return self.language.startswith("{")

    @property
    def place(self):
        return f"{name(self.page)}:{self.line}"


@cache
def blocks(page):
    found, lines = [], page.read_text(encoding="utf-8").splitlines()
    fence = mark = None
    for number, line in enumerate(lines, start=1):
        edge = FENCE.fullmatch(line)
        if fence is None and edge:
            fence, language, start = edge["fence"], edge["info"].strip(), number + 1
            above = MARK.fullmatch(lines[number - 2]) if number > 1 else None
            mark = (above["kind"], above["text"]) if above else None
            indent = len(line) - len(line.lstrip())
        elif edge and not edge["info"] and edge["fence"].startswith(fence):
            inside = [of[indent:] if not of[:indent].strip() else of for of in lines[start - 1 :]]
            text = "".join(f"{of}\n" for of in inside[: number - start])
            found.append(Block(page, start, language, mark, text))
            fence = None
    assert fence is None, f"{name(page)}:{start}: a block without an end"
    return found


def prose(page):
    """The page without its blocks."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for block in blocks(page):
        first, n = block.line - 1, block.text.count("\n")
        lines[first : first + n] = [""] * n
    return "\n".join(lines)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the examples in it; what is imported from there is forgotten."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before, places = set(sys.modules), (str(tmp_path), str(ROOT / "examples"))
    yield tmp_path
    for module in set(sys.modules) - before:
        path = getattr(sys.modules[module], "__file__", None) or ""
        if module == "examples" or path.startswith(places):
            del sys.modules[module]
    if "joblib.externals.loky" in sys.modules:  # its workers live in this folder
        sys.modules["joblib.externals.loky"].get_reusable_executor().shutdown(kill_workers=True)


def commands(block):
    """The commands of a console block, each a list of words, by line of the page."""
    split = {block.line + i: shlex.split(of, True) for i, of in enumerate(block.text.splitlines())}
    return {line: words for line, words in split.items() if words}


def expanded(words):
    """Words with their asterisks replaced by what is there, as a shell does it."""
    for word in words:
        yield from sorted(glob(word)) if "*" in word else [word]


def run_command(words, place, monkeypatch, capsys):
    assert words[0] == "monmdp", f"{place}: a console block holds monmdp commands alone"
    monkeypatch.setattr(sys, "argv", list(expanded(words)))
    code = 0
    try:
        cli.main()
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert not code, f"{place}: {shlex.join(words)} ended with {code}: {err}"
    return out


def untimed(output):
    """Lines without their ends and without times, which are never the same."""
    output = re.sub(r"\b[\d.]+ (s|seconds)\b", "… s", output)
    return [line.rstrip() for line in output.strip("\n").splitlines()]


@pytest.mark.slow
@every_page
def test_blocks_run(page, folder, monkeypatch, capsys):
    session, printed = types.ModuleType("page"), ""
    monkeypatch.setitem(sys.modules, "page", session)
    for block in blocks(page):
        kind, text = block.mark or (block.language, "")
        if kind == "file":
            assert PLAIN_NAME.fullmatch(text), f"{block.place}: one name expected"
            (folder / text).write_text(block.text, encoding="utf-8")
            importlib.invalidate_caches()
        elif kind == "python":
            code = "\n" * (block.line - 1) + block.text  # so that errors tell the page's lines
            try:
                exec(compile(code, str(page), "exec"), session.__dict__)
            except Exception as error:
                error.add_note(f"in the block at {block.place}")
                raise
            printed = capsys.readouterr().out
        elif kind == "console":
            printed = "".join(
                run_command(words, f"{name(page)}:{line}", monkeypatch, capsys)
                for line, words in commands(block).items()
            )
        elif (kind, text) == ("not run", "output"):
            shown, real = untimed(block.text), untimed(printed)
            assert shown == real, f"{block.place} shows another output:\n{printed}"


DIRECTIVES = {"{toctree}", "{eval-rst}", "{commands}", "{include}", "{glossary}"}
"""directives that show no code of their own"""
MUST_NOT_RUN = {
    "half an hour",
    "three core-hours",
    "needs the extra [deep]; tests/deep runs it",
    "needs the extra [minigrid]; tests/deep runs it",
}
"""why some commands and some Python are not run"""


@every_page
def test_every_block_is_run_or_marked(page):
    for block in blocks(page):
        if block.is_directive:
            assert block.language.split()[0] in DIRECTIVES, f"{block.place}: {block.language}"
        elif block.language not in ("python", "console"):
            assert block.mark, f"{block.place}: a {block.language or 'nameless'} block without mark"
        elif block.mark and block.mark[0] == "not run":
            reasons = (
                *MUST_NOT_RUN,
                "needs polars",
                "needs a cluster",
                "needs a GPU",
                "needs Storm",
            )
            assert block.mark[1] in reasons, f"{block.place}: why is it not run?"


@every_page
def test_no_code_hides_from_these_tests(page):
    """A Markdown parser finds no other code than these tests do."""
    fences = []
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        assert token.type != "code_block", f"{name(page)}:{token.map[0] + 1}: code without a fence"
        if token.type == "fence":
            fences.append(token.map[0] + 2)
    assert fences == [block.line for block in blocks(page)]
    assert "<pre" not in prose(page)


@pytest.mark.parametrize("path", in_docs("*.ipynb"), ids=name)
@pytest.mark.usefixtures("folder")
def test_notebooks_run(path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    session = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", session)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5
    for number, cell in enumerate(code, start=1):
        assert not cell["outputs"], f"{name(path)}: outputs are made by the build"
        text = "".join(cell["source"])
        exec(compile(text, f"{name(path)}, code cell {number}", "exec"), session.__dict__)


def test_the_pages_show_every_command():
    shown = {
        words[1]
        for page in PAGES
        for block in blocks(page)
        if block.language == "console"
        for words in commands(block).values()
    }
    assert shown == set(typer.main.get_command(cli.app).commands)


def test_the_map_on_the_page_is_the_example():
    page = DOCS / "howto" / "index.md"
    (block,) = [block for block in blocks(page) if block.mark == ("file", "my_map.txt")]
    assert block.text == (ROOT / "examples" / "my_map.txt").read_text()


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 160


def test_a_package_index_shows_no_link_into_the_repository(monkeypatch):
    """Neither links nor pictures; with an address of the source the links are absolute."""
    for url in ("", "https://example.org/monmdp/"):
        monkeypatch.setenv("MONMDP_SOURCE_URL", url)
        text = ProjectMetadata(str(ROOT), PluginManager()).core.readme
        links = [
            token.attrs.get("href") or token.attrs.get("src")
            for block in MarkdownIt().parse(text)
            for token in block.children or ()
            if token.type in ("link_open", "image")
        ]
        assert bool(links) == bool(url)
        assert all(link.startswith("https://example.org/monmdp/") for link in links)
        assert "![" not in text
        assert "docs/index.md" in text


@pytest.mark.usefixtures("folder")
def test_the_example_map_solves():
    solution = monmdp.solve(monmdp.make("examples/my_map.txt", "button"))
    assert not solution.solvable
    assert solution.minimax.converged


# ---- links and the table of contents ------------------------------------------------------------


@cache
def anchors(page):
    """What a link into a page may name: its headings, and the labels above them."""
    text = prose(page)
    labels = set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return labels | {heading.strip().replace(" ", "-") for heading in words}


@every_page
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(<?([^)\s>]+)>?\)", re.sub(r"`[^`\n]*`", "", prose(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)}: {link} leads nowhere"
        if page != README:
            assert target.is_relative_to(DOCS), f"{name(page)}: {link} leaves the site"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{name(page)}: {link} names no heading there"


def below(page):
    """The pages that the toctrees of a page list."""
    for block in blocks(page):
        if block.language != "{toctree}":
            continue
        for line in block.text.splitlines():
            entry = re.sub(r".*<(.+)>", r"\1", line.strip())
            if entry and not entry.startswith(":"):
                found = [
                    path.resolve()
                    for suffix in (".md", ".ipynb")
                    for path in page.parent.glob(entry.removesuffix(".md") + suffix)
                ]
                assert found, f"{name(page)}: the toctree names {entry}, which is no page"
                yield from (path for path in found if path != page)


def test_every_page_is_in_the_table_of_contents():
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += below(page) if page.suffix == ".md" else []
    assert reached == {*in_docs("*.md"), *in_docs("*.ipynb")}


# ---- the reference ------------------------------------------------------------------------------

PACKAGES = [
    "", ".agents", ".drawing", ".envs", ".experiment", ".model", ".monitors", ".planning",
    ".report", ".results", ".stats", ".suites", ".tables", ".testing", ".theory", ".worlds",
]  # fmt: skip
DIRECTIVE = re.compile(r"^\.\. (auto\w+|py:data|py:currentmodule):: (\S+)\n((?: +:.*\n)*)", re.M)


def public(module):
    """The names that a module exports; without ``__all__`` what it defines and does not hide."""
    own = [
        key
        for key, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and not key.startswith("_")
    ]
    return getattr(module, "__all__", own)


def documented():
    """The full names of everything that the pages of the reference document."""
    found = set()
    for page in API:
        current = "monmdp"
        for kind, target, options in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if kind == "py:currentmodule":
                current = target
            elif kind == "automodule":
                found.add(target)
                if ":no-members:" not in options:
                    module = importlib.import_module(target)
                    callables = filter(lambda key: callable(getattr(module, key)), public(module))
                    found |= {f"{target}.{key}" for key in callables}
            else:
                found.add(target if target.startswith("monmdp.") else f"{current}.{target}")
    return found


def test_the_reference_has_every_public_name():
    found = documented()
    objects = [(key, locate(key)) for key in found]
    for package in PACKAGES:
        module = importlib.import_module(f"monmdp{package}")
        for key in public(module):
            value, full = getattr(module, key), f"monmdp{package}.{key}"
            if isinstance(value, types.ModuleType):
                assert f"monmdp.{key}" in found
            else:  # one thing may be exported by two packages, and is described once
                described = [other for other, it in objects if it is value]
                assert full in found or described, f"{full} is not in docs/api"


def locate(full):
    """The object of a full name, as Python finds it."""
    value, path = monmdp, "monmdp"
    for part in full.split(".")[1:]:
        path = f"{path}.{part}"
        value = getattr(value, part) if hasattr(value, part) else importlib.import_module(path)
    return value


# ---- docstrings ---------------------------------------------------------------------------------


def module_of(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


WITH_EXAMPLES = [
    module_of(path) for path in sorted(SOURCE.rglob("*.py")) if ">>>" in path.read_text("utf-8")
]


@pytest.mark.slow
@pytest.mark.parametrize("module", WITH_EXAMPLES)
@pytest.mark.usefixtures("folder")
def test_docstring_examples(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


SHOWN_BY_EXAMPLE = [
    "MDP",
    "MDP.from_outcomes",
    "MonMDP",
    "MonMDPError",
    "Monitor",
    "Policy",
    "Run",
    "compare",
    "evaluate",
    "join",
    "load_results",
    "load_run",
    "make",
    "solve",
    "train",
    "agents.Agent",
    "agents.Transition",
    "agents.config",
    "agents.make",
    "agents.paper_config",
    "drawing.draw_heatmap",
    "drawing.draw_policy",
    "drawing.draw_values",
    "drawing.draw_world",
    "drawing.grid_text",
    "drawing.policy_text",
    "drawing.world_text",
    "experiment.assemble",
    "experiment.prepare",
    "experiment.rollout",
    "experiment.streams",
    "monitors.make",
    "planning.biased_pairs",
    "planning.observability",
    "planning.optimal",
    "planning.what_if",
    "planning.worst_case",
    "results.execute",
    "suites.expand",
    "suites.parse",
    "testing.check_agent",
    "testing.check_monitor",
    "testing.check_monmdp",
    "testing.check_world",
    "theory.bandit_law",
    "theory.bounds",
    "theory.lower_bound",
    "theory.sample_complexity",
    "theory.theorem_agent",
    "worlds.from_gymnasium",
    "worlds.from_tables",
    "worlds.grid_world",
    "worlds.make",
]
"""what people meet first, by its name in monmdp; all statistics have an example, too"""


@pytest.mark.parametrize("name_in_package", SHOWN_BY_EXAMPLE)
def test_has_an_example(name_in_package):
    assert ">>>" in locate(f"monmdp.{name_in_package}").__doc__


def test_every_statistic_has_an_example():
    lacking = [of for of in public(stats) if ">>>" not in (getattr(stats, of).__doc__)]
    assert not lacking


# ---- all documents ------------------------------------------------------------------------------


def test_no_document_waits_to_be_filled_in():
    for path in [*ROOT.glob("*.md"), *in_docs("*.md"), *in_docs("*.ipynb")]:
        assert not re.search(r"\b(TODO|TBD|[A-Z]+_TABLE)\b", path.read_text(encoding="utf-8")), path


def test_no_package_registry_is_named():
    host = re.compile(r"https?://[^\s\"'>)]*(pypi|pythonhosted|registry\.npmjs|debian\.org)")
    for path in [*ROOT.glob("*"), *in_docs("*"), *ROOT.glob("src/**/*.py")]:
        if path.is_file() and path.suffix not in (".png", ".npz", ".parquet", ".pyc"):
            assert not host.search(path.read_text(encoding="utf-8")), path
