"""These tests need Stable-Baselines3; without it they are not collected."""

from __future__ import annotations

import importlib.util
import sys
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
