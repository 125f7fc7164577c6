"""Figures, from made-up runs."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from conftest import one_in
from made_up import (
    KNOWN,
    OPTIMIST,
    OURS,
    PESSIMIST,
    RIVAL,
    expanded,
    made,
    made_of,
    minimax,
    plan_of,
)
from monmdp import suites
from monmdp.results.evidence import Evidence
from monmdp.results.figures import draw

PANELS = {4: 4, 5: 2, 6: 48, 9: 6, 10: 18, 11: 24, 12: 12, 13: 18}
LEGENDS = {
    4: ["Monitored MBIE-EB", "Directed-E²", "Known Monitor", "minimax-optimal"],
    5: ["Monitored MBIE-EB", "Directed-E²"],
    6: ["Monitored MBIE-EB", "Directed-E²", "minimax-optimal"],
    9: ["Monitored MBIE-EB", "Directed-E² (r₀ = −10)", "minimax-optimal"],
    10: ["Monitored MBIE-EB", "Directed-E² (r₀ = −10)", "minimax-optimal"],
    11: ["Monitored MBIE-EB", "Known Monitor", "Directed-E² (r₀ = −10)", "minimax-optimal"],
    12: ["Monitored MBIE-EB", "MBIE-EB", "minimax-optimal"],
    13: ["Monitored MBIE-EB", "Pessimistic MBIE-EB", "minimax-optimal"],
}


def marks_of(ax):
    """Colour and places of the marks of every curve that leaves a panel."""
    marks = (of for of in ax.collections if len(of.get_offsets()) and not of.get_clip_on())
    return [(to_hex(of.get_edgecolor()[0]), of.get_offsets()) for of in marks]


def len_shown(ax, line):
    return int((line.get_xdata() <= ax.get_xlim()[1]).sum())


@pytest.mark.parametrize("number", one_in(3, PANELS))
def test_figures_from_partial_evidence(number):
    evidence, *_ = made([number], seeds=3, leave_out=lambda w, _: w.monitor == "ask")
    (figure,) = evidence.figures
    picture = draw(figure, evidence)
    assert len(picture.axes) == PANELS[number]
    (legend,) = picture.legends
    assert sorted(text.get_text() for text in legend.get_texts()) == sorted(LEGENDS[number])
    note = picture.texts[-1].get_text().replace("\n", " ")
    assert "n = 3 of 30 seeds" in note
    assert "±1.96 sd/√n" in note
    assert "monte-carlo evaluation, 100 episodes" in note
    assert ("goes on outside" in note) == any(marks_of(ax) for ax in picture.axes)
    for ax, panel in zip(picture.axes, figure.panels(), strict=True):
        dashed = [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"]
        if panel.monitor == "ask":
            assert "not run" in ax.texts[0].get_text()
            assert len(ax.lines) == 0
            continue
        assert len(ax.lines) == len(panel.curves) + len(dashed)
        given = panel.problem.get("world.solvable", False)
        expected = minimax(panel.world, panel.monitor, panel.rho, given)
        assert dashed == ([expected] if panel.score == "episode_return" else [])
        low, high = ax.get_ylim()
        leaving = {
            to_hex(line.get_color())
            for line in ax.lines[: len(panel.curves)]
            if ((line.get_ydata() < low) | (line.get_ydata() > high))[: len_shown(ax, line)].any()
        }
        assert {colour for colour, _ in marks_of(ax)} == leaving
        if panel.y_range is None:
            for curve, line in zip(panel.curves, ax.lines, strict=False):
                of = evidence.of(curve)
                mean = line.get_ydata()[len(of.step) // 10 :]
                half = of.half[panel.score][len(of.step) // 10 :]
                assert low < (mean - half).min()
                assert (mean + half).max() < high
        else:
            assert (low, high) == panel.y_range


def oracle_smooth(values):
    found = [float(values[0])]
    for value in values[1:]:
        found.append(0.9 * found[-1] + 0.1 * float(value))
    return np.array(found)


def test_curves_and_bands_are_of_smoothed_seeds():
    evidence, by_place, _ = made([5], seeds=3, noise=0.3, every=100)
    (figure,) = evidence.figures
    picture = draw(figure, evidence)
    (table,) = (of["goal_visits"] for where, of in by_place.items() if where.agent == OURS)
    smoothed = np.array([oracle_smooth(row) for row in table])
    line = picture.axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), smoothed.mean(axis=0), atol=1e-6)
    half = 1.96 * smoothed.std(axis=0, ddof=1) / np.sqrt(3)
    corners = picture.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert corners.max() == pytest.approx((smoothed.mean(axis=0) + half).max(), abs=1e-6)


def test_figures_that_draw_worlds():
    nothing = Evidence((), {}, {})
    for number, axes in ((1, 2), (2, 3), (3, 2), (7, 9), (8, 1)):
        picture = draw(plan_of(number).figure, nothing)
        assert len(picture.axes) >= axes, number


def test_texts_of_a_figure_do_not_meet():
    """Also in the smallest figure: legend and note stay within it and clear of the axis's name."""
    agents = [OURS, KNOWN, RIVAL, OPTIMIST, PESSIMIST]
    block = {"worlds": ["bottleneck"], "monitors": ["ask"], "rho": [0.05], "agents": agents}
    smallest = suites.parse({"name": "mine", "experiment": [block]}, "x")
    for evidence, *_ in (made_of([expanded(smallest)], 2), made([13], seeds=2)):
        picture = draw(evidence.figures[0], evidence)
        renderer = FigureCanvasAgg(picture).get_renderer()
        width, height = renderer.get_canvas_width_height()
        things = [*picture.texts, *picture.legends]
        boxes = [thing.get_window_extent(renderer) for thing in things]
        for box in boxes:
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= width
            assert box.y1 <= height
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                apart = (
                    one.x1 <= other.x0 or other.x1 <= one.x0
                    or one.y1 <= other.y0 or other.y1 <= one.y0
                )  # fmt: skip
                assert apart
