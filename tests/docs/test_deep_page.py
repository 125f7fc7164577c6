"""docs/deep-v1.md is made from docs/deep/deep-v1.json, and its tables from runs."""

from __future__ import annotations

import pytest

from conftest import ROOT, benchmark
from monmdp.results.late import Late

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
    first, second = deep.results_table(found["one"]).records()
    assert first["seeds"] == first["of"] == 2
    assert (first["solved"], second["solved"]) == ("yes", "no")
    assert (second["late tests within 2 %"], second["on ⊥, most"]) == (0.25, 1.0)
    assert deep.results_table(found["two"]).to_dict()["rows"][-1][0] == "DQN"


def test_taking_nothing_for_zero_is_costly(deep):
    """On the shortest way of Empty two cells pay -1 in M↓, at steps 4 and 5, then the goal 1."""
    import monmdp

    value = deep.value_of_zero(monmdp.make("minigrid-empty", "ask"), 0.95)
    assert value == pytest.approx(0.95**10 - 0.95**3 - 0.95**4, abs=1e-4)
