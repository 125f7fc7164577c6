"""Grids of learning curves: marks of curves outside, the steps' unit; and pictures of ideas."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from monmdp.drawing import PanelData, RowData, Style, draw_interaction, draw_pessimism, panel_grid
from monmdp.drawing.panels import MARK, CurveData, y_range

STYLES = {"a": Style("#d55e00"), "b": Style("#0072b2"), "c": Style("#0072b2", ":")}


def curve(label, mean, every=100):
    mean = np.asarray(mean, dtype=np.float64)
    return CurveData(label, every * np.arange(len(mean)), mean, np.full(len(mean), np.nan))


def grid(*panels, title=""):
    picture = panel_grid([RowData(panels)], styles=STYLES, title=title, y_label="y", note="n")
    FigureCanvasAgg(picture).draw()
    return picture


def marks(ax):
    """Colour of the marks' edges and faces -> where they stand, as fractions of the axes."""
    found = {}
    for of in ax.collections:
        if not of.get_clip_on():
            face = to_hex(of.get_facecolor()[0])
            found[to_hex(of.get_edgecolor()[0]), face] = np.asarray(of.get_offsets())
    return found


def test_curves_outside_are_marked_in_their_colour_where_they_are_outside():
    mean = np.zeros(101)
    mean[40:61] = -5
    panel = PanelData([curve("a", mean), curve("b", -mean)], y_range=(-1, 1))
    assert panel.leaves
    found = marks(grid(panel).axes[0])
    below, above = (found[STYLES[label].colour, STYLES[label].colour] for label in "ab")
    assert (below[:, 1] == 0).all()
    assert (above[:, 1] == 1).all()
    for places in (below[:, 0], above[:, 0]):
        assert 1 <= len(places) <= 4
        assert ((places >= 0.4) & (places <= 0.6)).all()


@pytest.mark.parametrize("outside", [slice(None), slice(0, 2), slice(99, None), slice(30, 70)])
def test_curves_that_are_outside_together_can_be_told_apart(outside):
    mean = np.zeros(101)
    mean[outside] = -5
    panel = PanelData([curve(label, mean) for label in STYLES], y_range=(-1, 1))
    found = marks(grid(panel).axes[0])
    assert set(found) == {
        (STYLES["a"].colour,) * 2, (STYLES["b"].colour,) * 2, (STYLES["c"].colour, "#ffffff"),
    }  # fmt: skip
    places = sorted(np.concatenate([of[:, 0] for of in found.values()]))
    assert places[0] >= 0
    assert places[-1] <= 1
    assert np.diff(places).min() > 0.9 * MARK


def test_a_curve_that_comes_and_goes_at_the_edge_has_few_marks():
    panel = PanelData([curve("a", np.tile([-0.99, -1.01], 100))], y_range=(-1, 1))
    ((places),) = marks(grid(panel).axes[0]).values()
    assert len(places) <= 7


def test_what_an_axis_does_not_show_at_all_is_not_marked():
    mean = np.where(np.arange(101) < 50, 0.0, -5.0)
    panel = PanelData([curve("a", mean)], x_range=(0, 4000), y_range=(-1, 1))
    assert not panel.leaves
    assert not marks(grid(panel).axes[0])


def test_only_a_full_range_has_the_depths_of_the_first_tenth():
    panel = PanelData([curve("a", [-50.0] * 5 + [0.0] * 95)])
    assert panel.leaves
    (places,) = marks(grid(panel).axes[0]).values()
    assert (places[:, 0] < 0.1).all()
    assert y_range(panel)[0] > -1
    low, high = y_range(panel, full=True)
    assert low < -50
    assert high > 0
    assert not PanelData(panel.curves, y_range=(low, high)).leaves


def test_steps_are_counted_in_thousands_where_there_are_thousands():
    short, long = curve("a", np.zeros(10), every=100), curve("a", np.zeros(11), every=100)
    for curves, end, label in (
        ([short], 900, "training steps"),
        ([long], 1.0, "training steps (×10³)"),
    ):
        picture = grid(PanelData(curves))
        assert picture.axes[0].get_xlim() == (0, end)
        assert label in [text.get_text() for text in picture.texts]
    both = grid(PanelData([short]), PanelData([long]), PanelData([], missing=["a"]))
    assert [ax.get_xlim()[1] for ax in both.axes[:2]] == [0.9, 1.0]


def test_a_range_does_without_an_unknown_level_and_without_curves():
    known = PanelData([curve("a", [0.0, 1.0])])
    assert y_range(PanelData(known.curves, float("nan"))) == y_range(known)
    low, high = y_range(PanelData([]))
    assert low < high


def test_nothing_of_a_note_is_lost_however_wide_the_figure_is():
    words = [f"word-{i}" for i in range(80)]
    panels = [PanelData([curve("a", np.zeros(3))])] * 8
    picture = panel_grid(
        [RowData(panels)], styles=STYLES, title="", y_label="y", note=" ".join(words)
    )
    FigureCanvasAgg(picture).draw()
    (note,) = [of.get_text() for of in picture.texts if "word-0" in of.get_text()]
    assert note.split() == words


def test_a_long_title_is_folded_and_stays_clear_of_the_legend():
    picture = grid(PanelData([curve("a", np.zeros(10))]), title="many long words " * 12)
    renderer = FigureCanvasAgg(picture).get_renderer()
    (title,) = (text for text in picture.texts if "many" in text.get_text())
    box, (legend,) = title.get_window_extent(renderer), picture.legends
    assert "\n" in title.get_text()
    assert box.x1 <= picture.bbox.width
    assert box.y1 <= picture.bbox.height
    assert not box.overlaps(legend.get_window_extent(renderer))


@pytest.mark.parametrize("draw", [draw_interaction, draw_pessimism])
def test_texts_of_illustrations_stay_inside_and_apart(draw):
    picture = draw()
    renderer = FigureCanvasAgg(picture).get_renderer()
    texts = [*picture.texts, *(text for ax in picture.axes for text in ax.texts)]
    boxes = {text.get_text(): text.get_window_extent(renderer) for text in texts}
    for box in boxes.values():
        assert 0 <= box.x0 < box.x1 <= picture.bbox.width
        assert 0 <= box.y0 < box.y1 <= picture.bbox.height
    in_order = list(boxes.values())
    for i, box in enumerate(in_order):
        assert not any(box.overlaps(other) for other in in_order[:i])


def test_the_interaction_has_all_that_the_paper_says():
    mdp, both = draw_interaction().axes
    assert {"agent", "environment"} < {text.get_text() for text in mdp.texts}
    words = " ".join(text.get_text() for text in both.texts)
    for symbol in ("A^e", "A^m", "S^e", "S^m", "R^e", "R^m", r"\hat{R}^e", "⊥", "monitor"):
        assert symbol in words
