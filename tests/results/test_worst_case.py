"""Suites whose curves and tables are about M↓, and about the second half of training."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import MonMDPError, suites
from monmdp.cli import printing
from monmdp.results import evidence, figures
from monmdp.results.benchmarking import protocol_hash
from monmdp.results.late import late_of
from monmdp.stats import area, end

AGENTS = ["mbie-eb", "factored-mbie-eb"]
BLOCK = {"worlds": ["treasure-hunter"], "monitors": ["ask"], "agents": AGENTS}
SUITE = {"name": "worst", "steps": 1500, "seeds": 2, "score": "worst_case_return", "late": True}


def suite(blocks=(BLOCK,), **changes):
    return suites.parse(SUITE | {"experiment": list(blocks)} | changes, "a test")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return monmdp.run_suite(suite(), out=tmp_path_factory.mktemp("worst"), jobs=1)


def test_curves_and_tables_are_those_of_the_worst_case(found):
    """MBIE-EB fetches a treasure that nobody can see: 1 in M, and -10 in M↓."""
    (panel,) = found.plans[0].figure.panels()
    shown = {of.label: of for of in figures.panel_data(panel, found.evidence, "").curves}
    for curve, name in zip(panel.curves, ("MBIE-EB", "Factored MBIE-EB"), strict=True):
        runs = [found.runs[curve.configuration, seed] for seed in curve.seeds]
        worst, true = (
            np.array([run.curve[score] for run in runs])
            for score in ("worst_case_return", "episode_return")
        )
        of = found.evidence.of(curve)
        assert shown[name].mean == pytest.approx(worst.mean(axis=0), rel=1e-6)
        assert of.area == pytest.approx(area(worst))
        assert of.end["episode_return"] == pytest.approx(end(worst))
        assert not of.counts_on_the_unseen
        assert (name == "MBIE-EB") == (end(true).mean() > end(worst).mean() + 5)
    text = (found.report.folder / "statistics.md").read_text("utf-8")
    assert text.count("Returns are those in M↓") == 2


def test_the_axis_says_which_return_it_is(found):
    assert "in M↓ (worst case)" in figures.AXES["worst_case_return"]
    assert words_of(found.figure()) >= {figures.AXES["worst_case_return"]}
    true = monmdp.compare(monmdp.make("treasure-hunter", "ask"), AGENTS, 1500, seeds=2)
    unseen = figures.AXES["episode_return"] + figures.UNSEEN
    assert words_of(true.figure()) >= {unseen}
    seen = monmdp.compare(monmdp.make("loop", "ask"), AGENTS[1:], 300, seeds=1)
    assert words_of(seen.figure()) >= {figures.AXES["episode_return"]}


def words_of(figure):
    return {text.get_text() for text in figure.findobj(lambda of: hasattr(of, "get_text"))}


def test_the_picture_of_a_run_shows_both_returns_where_they_differ():
    run = monmdp.train(monmdp.make("treasure-hunter", "ask"), "mbie-eb", 500)
    assert words_of(run.figure()) >= {"mbie-eb, in M", "mbie-eb, in M↓ (worst case)"}
    run = monmdp.train(monmdp.make("loop", "ask"), "mbie-eb", 500)
    assert words_of(run.figure()) >= {"mbie-eb"}


def test_the_second_half_of_training(found, capsys):
    (table,) = found.report.late
    v = monmdp.solve(monmdp.make("treasure-hunter", "ask")).episode_return
    (panel,) = found.plans[0].figure.panels()
    for row, curve in zip(table.records(), panel.curves, strict=True):
        runs = [found.runs[curve.configuration, seed] for seed in curve.seeds]
        late = [late_of(run, v) for run in runs]
        assert row["within"] == pytest.approx(np.mean([of.within for of in late]))
        assert row["bottom"] == pytest.approx(np.mean([of.bottom for of in late]))
        assert (row["reaching"], row["seeds"]) == (sum(of.reaches for of in late), 2)
        assert row["solved"] == ("yes" if row["reaching"] == 2 else "no")
    assert [row["solved"] for row in table.records()] == ["no", "yes"]
    printing.report(found.report)
    assert str(table) in capsys.readouterr().out
    text = (found.report.folder / "statistics.md").read_text("utf-8")
    assert table.to_markdown() in text


def test_a_summary_keeps_it(found):
    path = found.report.folder / "summary.parquet"
    for key, of in evidence.load(path).aggregates.items():
        before = found.evidence.aggregates[key]
        assert {name: list(seeds) for name, seeds in of.late.items()} == {
            name: list(seeds) for name, seeds in before.late.items()
        }
        assert set(of.late) == {"within", "bottom"}


def test_who_does_not_ask_gets_none_of_it():
    usual = monmdp.run_suite(suite(score="episode_return", late=False), jobs=1)
    assert all(not of.late for of in usual.evidence.aggregates.values())


def test_one_suite_measures_one_return():
    blocks = (BLOCK, BLOCK | {"score": "episode_return"})
    with pytest.raises(MonMDPError, match="tables measure one of them, so make two suites"):
        suites.expand(suite(blocks))
    visits = suites.expand(suite((BLOCK, BLOCK | {"score": "bottom_visits"})))
    assert [panel.score for panel in visits.figure.panels()] == [SUITE["score"], "bottom_visits"]


def test_what_a_benchmark_shows_is_not_what_it_fixes():
    name = protocol_hash(suite())
    assert name == protocol_hash(suite(late=False, score="episode_return"))
    assert name == protocol_hash(suite((BLOCK | {"score": "bottom_visits"},)))
    assert name != protocol_hash(suite(steps=1600))
    for of in ("deep-v1", "deep-coarse"):
        shown = suites.bundled_suite(of)
        assert (shown.score, shown.late) == ("worst_case_return", True)
