"""These tests need Stable-Baselines3; without it they are not collected."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "deep_agents.py"
PAGE = ROOT / "docs" / "howto" / "deep-agents.md"

collect_ignore_glob = []
if importlib.util.find_spec("stable_baselines3") is None:
    collect_ignore_glob.append("test_*.py")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("deep")


@pytest.fixture(scope="session")
def example():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("deep_agents", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["deep_agents"] = module
    spec.loader.exec_module(module)
    return module


def run_blocks(page, capsys=None):
    """Run the Python blocks of a page; with `capsys`, what one prints is the text block below it.

    Returns how many text blocks were compared.
    """
    text = page.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```(python|text)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert any(block[1] == "python" for block in blocks)
    session, printed, compared = types.ModuleType("page"), "", 0
    for block in blocks:
        if block[1] == "python":
            lines = text[: block.start(2)].count("\n")  # so that errors tell the page's lines
            exec(compile("\n" * lines + block[2], str(page), "exec"), session.__dict__)
            printed = capsys.readouterr().out if capsys else ""
        elif capsys:
            assert block[2] == printed
            compared += 1
    return compared
