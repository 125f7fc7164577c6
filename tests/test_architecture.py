"""Imports point one way, in the order of the data flow."""

from __future__ import annotations

import ast
import importlib.metadata
import re
from pathlib import Path

import pytest

import monmdp
from conftest import ROOT

# Each part may import only what stands before it.
ORDER = [
    "stopping", "errors", "memory", "escaping", "files", "schema", "caching", "compiling", "model",
    "naming", "worlds", "monitors", "catalogue", "stats", "tables", "planning", "drawing",
    "registration", "envs", "agents", "experiment", "suites", "results", "report", "api", "theory",
    "testing", "cli",
]  # fmt: skip
PACKAGE = Path(monmdp.__file__).parent
FILES = sorted(
    p for p in PACKAGE.rglob("*.py") if p.name != "__main__.py" and p != PACKAGE / "__init__.py"
)


def part_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "monmdp":
                names = [f"monmdp.{alias.name}" for alias in node.names]
            else:
                names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("monmdp."):
                parts.add(name.split(".")[1])
    return parts


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_backwards(path):
    mine = part_of(path)
    assert mine in ORDER, f"{mine} has no place in the order of the parts"
    allowed = {*ORDER[: ORDER.index(mine) + 1], *(("make", "train") if mine == "cli" else ())}
    assert imported_parts(path) <= allowed


def test_numba_is_imported_where_things_are_compiled_only():
    for path in FILES:
        if "import numba" in path.read_text() or "from numba" in path.read_text():
            assert path.name in ("compiling.py", "caching.py"), path


def test_jax_is_imported_for_devices_only():
    for path in FILES:
        if re.search(r"^(import|from) jax", path.read_text(), re.MULTILINE):
            assert path.parent.name == "gpu", path
            assert path.name in ("sweeps.py", "search.py"), path


def test_the_version_is_in_one_place():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == monmdp.__version__ == importlib.metadata.version("monmdp")
    for name in ("pyproject.toml", "CITATION.cff", "docs/conf.py", "Makefile"):
        assert monmdp.__version__ not in (ROOT / name).read_text(), name
    assert (ROOT / "src/monmdp/py.typed").exists()
