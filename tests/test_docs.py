"""What README and docstrings show works as shown."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

import monmdp
from monmdp import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def beside_examples(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[0])
def test_python_in_the_readme_runs(code):
    exec(compile(code, "README.md", "exec"), {})


SESSIONS = [
    [line.split("#")[0].strip() for line in block.splitlines() if line.startswith("monmdp ")]
    for block in blocks("console")
]


def test_the_readme_shows_every_command():
    shown = {shlex.split(command)[1] for session in SESSIONS for command in session}
    assert shown == {
        "list", "show", "solve", "rollout", "check", "export", "train", "compare", "evaluate",
        "theory", "bandit", "warmup", "reproduce", "run", "status", "verify", "redraw",
        "report",
    }  # fmt: skip


@pytest.mark.parametrize("session", [s for s in SESSIONS if s], ids=lambda session: session[0])
@pytest.mark.usefixtures("beside_examples")
def test_commands_in_the_readme_run(session, monkeypatch, capsys):
    for command in session:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert not code, (command, err)
        assert out


def test_the_map_in_the_readme_is_the_example():
    (text,) = blocks("text")
    assert text == (ROOT / "examples" / "my_map.txt").read_text()


@pytest.mark.usefixtures("beside_examples")
def test_the_example_map_solves():
    solution = monmdp.solve(monmdp.make("examples/my_map.txt", "button"))
    assert not solution.solvable
    assert solution.minimax.converged


@pytest.mark.parametrize(
    "name", ["", ".worlds", ".monitors", ".catalogue", ".envs", ".testing", ".theory"]
)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(f"monmdp{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_no_document_waits_to_be_filled_in():
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        assert not re.search(r"\b(TODO|TBD|[A-Z]+_TABLE)\b", path.read_text(encoding="utf-8")), path


def test_no_package_registry_is_named():
    host = re.compile(r"https?://[^\s\"'>)]*(pypi|pythonhosted|registry\.npmjs|debian\.org)")
    for path in [*ROOT.glob("*"), *ROOT.glob("docs/**/*"), *ROOT.glob("src/**/*.py")]:
        if path.is_file() and path.suffix not in (".png", ".npz", ".parquet"):
            assert not host.search(path.read_text(encoding="utf-8")), path
