"""Charts of steps: dots where the numbers are, hollow where they are lower bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_steps import BOTH, TWO, by_world, evidence_of, planned

from monmdp import drawing
from monmdp.drawing import Dot, Style
from monmdp.results import publish
from monmdp.results.charts import draw_ratios, draw_steps
from monmdp.results.steps import counted, steps_tables
from monmdp.stats import Interval


def markers(figure):
    """(x, row, hollow) of all dots."""
    return [
        (line.get_xdata()[0], round(line.get_ydata()[0]), line.get_markerfacecolor() == "white")
        for line in figure.axes[0].lines
        if line.get_marker() not in ("None", None, "") and len(line.get_xdata())
    ]


def test_a_dot_for_every_agent_in_every_setting():
    plan = planned(TWO)
    known = evidence_of(plan, by_world)
    (table,) = steps_tables(plan.figure, known)
    drawn = draw_steps(table, plan.figure)
    wanted = [
        (counted(of).mean(), row, not of.optimal.all())
        for row, setting in enumerate(table.settings)
        for of in setting.runs.values()
    ]
    assert sorted(markers(drawn)) == sorted(wanted)
    assert any(hollow for *_, hollow in wanted)
    names = [text.get_text() for text in drawn.axes[0].get_yticklabels()]
    assert names == [setting.name for setting in table.settings]
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == [
        "Monitored MBIE-EB", "MBIE-EB",
    ]  # fmt: skip


def test_ratios_are_sorted_and_the_reference_is_the_line():
    three = {**TWO, "agents": [*BOTH["agents"], "r-max"]}
    plan = planned(three)

    def story(label, panel):
        return [900] * 6 if label == "r-max" else by_world(label, panel)

    (table,) = steps_tables(plan.figure, evidence_of(plan, story))
    drawn = draw_ratios(table, plan.figure)
    found = sorted(markers(drawn), key=lambda dot: dot[1])
    ratios = {of.agent: of.ratio.estimate for of in table.agents if of.ratio is not None}
    assert [x for x, *_ in found] == pytest.approx(sorted(ratios.values()))
    assert not drawn.legends
    names = [text.get_text() for text in drawn.axes[0].get_yticklabels()]
    assert names == sorted(ratios, key=ratios.get)
    assert [line for line in drawn.axes[0].lines if list(line.get_xdata()) == [1.0, 1.0]]


def test_one_seed_has_no_interval():
    nan = float("nan")
    rows = [("a", {"x": Dot(Interval(3.0, nan, nan))}), ("b", {"x": Dot(Interval(4.0, 2.0, 9.0))})]
    drawn = drawing.dot_chart(
        rows, styles={"x": Style("#000000")}, title="t", x_label="x", note="n"
    )
    bars = [line for line in drawn.axes[0].lines if len(line.get_xdata()) == 2]
    assert len(bars) == 1
    assert np.all(np.isfinite(drawn.axes[0].get_xlim()))


@pytest.mark.slow
def test_a_report_has_charts_where_there_is_a_reference():
    plan = planned({**TWO, "title": "Two worlds"}, reference="mbie-eb")
    report = publish(Path("here"), evidence_of(plan, by_world))
    charts = {f"mine-two-worlds-{what}.png" for what in ("steps", "ratios")}
    assert charts <= {path.name for path in report.pictures}
    for name in charts:
        assert Path("here", name).stat().st_size > 5000
        assert Path("here", name).with_suffix(".pdf").exists()
    without = publish(Path("there"), evidence_of(planned(TWO), by_world))
    assert not [path for path in without.pictures if "ratios" in path.name]
