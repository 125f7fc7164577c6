"""Guarantees by many logs, as benchmarks/decisions.py draws them, only fewer."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from conftest import ROOT

LOGS = 20


@pytest.fixture(scope="module")
def decisions():
    place = ROOT / "benchmarks" / "decisions.py"
    spec = importlib.util.spec_from_file_location("decisions", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["decisions"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["decisions"]


NAMES = [
    "loop / ask", "empty / ask", "river-swim / full", "two-room-3x5 / semi-random",
    "treasure-hunter / ask",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_and_nobody_falls_below_the_log(decisions, name):
    assert set(NAMES) == set(decisions.PROBLEMS)
    case = decisions.registry_case(name)
    trials = [case.trial(seed, 20, 0.05, rows=20_000) for seed in range(1000, 1000 + LOGS)]
    for what in ("holds", "not_worse", "not_worse_with_hidden"):
        assert sum(trial[what] for trial in trials) >= LOGS - 1, what


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_with_a_million_rows_the_bound_is_within_a_tenth(decisions, name):
    case = decisions.registry_case(name)
    trial = case.trial(1000, 20, 0.05, rows=1_000_000)
    assert 0 <= trial["true"] - trial["bound"] <= 0.1 * abs(trial["true"])


@pytest.mark.slow
def test_icu_sepsis(decisions):
    pytest.importorskip("importlib.metadata").distribution("icu-sepsis")
    case = decisions.icu_case()
    trials = [case.trial(seed, 20, 0.05, episodes=10_000) for seed in range(1000, 1008)]
    for what in ("holds", "not_worse", "not_worse_with_hidden"):
        assert sum(trial[what] for trial in trials) >= 7, what
    assert all(trial["says_nothing"] for trial in trials)
