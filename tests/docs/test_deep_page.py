"""docs/deep-v1.md is made from docs/deep/deep-v1.json, and its tables from runs."""

from __future__ import annotations

import json
import tomllib

import pytest

from conftest import ROOT, benchmark
from monmdp.results.late import Late

SUITES = ROOT / "src" / "monmdp" / "suites" / "bench"
PAGE = ROOT / "docs" / "deep-v1.md"


@pytest.fixture(scope="module")
def deep():
    return benchmark("deep")


def runs(*shares, **others):
    given = {"bottom": 0.0, "paid": 0.1, "shown": 0.05} | others
    return [Late(1000 + i, share, **given) for i, share in enumerate(shares)]


def test_the_page_is_made_from_the_numbers_beside_it(deep):
    page = PAGE.read_text(encoding="utf-8")
    assert deep.filled_in(page, deep.written_parts(PAGE.parent)) == page


def test_the_suite_has_the_best_of_the_settings_that_were_tried():
    tuning = json.loads((PAGE.parent / "deep" / "tuning.json").read_text(encoding="utf-8"))
    best = tuning["tried"]
    tried = json.loads((ROOT / "benchmarks" / "deep_tuning.json").read_text(encoding="utf-8"))
    suite = tomllib.loads((SUITES / "deep-v1.toml").read_text(encoding="utf-8"))
    asked = (dict(of) if isinstance(of, dict) else {"name": of} for of in suite["agents"])
    params = {of.pop("name"): of for of in asked}
    assert params.keys() == best.keys() == tried.keys() == tuning["code"].keys()
    for name, settings in best.items():
        assert [of["params"] for of in settings[:1]] == [params[name]], name
        assert len(settings) == len(tried[name])
        assert all(of["params"] in tried[name] for of in settings)


def test_prose_is_left_alone_and_marks_must_be_there(deep):
    begin, end = (mark.format(name="agents") for mark in deep.MARKS)
    page = f"before\n{begin}\nold\n{end}\nafter"
    filled = deep.filled_in(page, {"agents": r"new \1"})
    assert filled == f"before\n{begin}\n\nnew \\1\n\n{end}\nafter"
    assert deep.filled_in(filled, {"agents": ""}) == f"before\n{begin}\n\n{end}\nafter"
    for wrong in ("nothing", page + page):
        with pytest.raises(ValueError, match="once"):
            deep.filled_in(wrong, {"agents": "new"})


def test_tables(deep):
    found = {
        "one": {deep.OURS: runs(1.0, 1.0), "DQN": runs(0.5, 0.0, bottom=1.0)},
        "two": {deep.OURS: runs(0.9, 0.7), "DQN": runs(0.8, 0.9), "RND": []},
    }
    ours, other = deep.agents_table(found).records()
    assert (ours["agent"], ours["solved"], ours["settings"]) == ("Deep Monitored", 1, 2)
    assert ours["late tests within 2 %"] == pytest.approx(0.9)
    text = deep.agents_table(found).to_text()
    assert "0.55           0.35 [" in text
    assert ours["solves_more"] is None
    assert other["solves_more"] == 0  # each of them solves one of the two
    assert (other["solved"], other["settings"]) == (1, 2)
    reach, within, bottom, paid = (table.to_dict() for table in deep.setting_tables(found))
    assert reach["columns"] == within["columns"] == [reach["columns"][0], deep.OURS, "DQN"]
    assert reach["rows"] == [["one", "2 of 2", "0 of 2"], ["two", "1 of 2", "2 of 2"]]
    assert within["rows"] == [["one", "1.00 (1.00)", "0.25 (0.00)"],
                              ["two", "0.80 (0.70)", "0.85 (0.80)"]]  # fmt: skip
    assert bottom["rows"][0] == ["one", "0.000", "1.000"]
    assert paid["rows"][1] == ["two", "0.100", "0.100"]


def test_taking_nothing_for_zero_is_costly(deep):
    """On the shortest way of Empty two cells pay -1 in M↓, at steps 4 and 5, then the goal 1."""
    import monmdp

    value = deep.value_of_zero(monmdp.make("minigrid-empty", "ask"), 0.95)
    assert value == pytest.approx(0.95**10 - 0.95**3 - 0.95**4, abs=1e-4)
