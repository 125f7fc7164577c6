"""The picture of which hidden rewards to make visible."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from monmdp import make, planning, worlds
from monmdp.drawing import draw_instrumentation
from monmdp.drawing.canvas import pixels
from monmdp.drawing.instruments import LEFT_OUT
from monmdp.drawing.palette import GREEN
from monmdp.errors import MonMDPError
from monmdp.model.monmdp import join
from monmdp.monitors import make as monitor


def parts(figure):
    """Colours of the parts of cells that are hidden pairs."""
    shades = [to_hex(c) for of in figure.axes[0].collections for c in of.get_facecolors()]
    return [shade for shade in shades if shade in (GREEN, LEFT_OUT)]


def texts(figure):
    return [of.get_text() for of in figure.axes[0].texts]


@pytest.mark.parametrize("by", ["pair", "state"])
def test_chosen_pairs_are_green_and_numbered_and_the_others_pale(by):
    found = planning.instrument(make("bottleneck", "button"), 3, by=by)
    figure = draw_instrumentation(found)
    chosen = sum(len(of.candidate.pairs) for of in found.chosen)
    hidden = sum(len(of.pairs) for of in found.candidates)
    shades = parts(figure)
    assert (shades.count(GREEN), len(shades)) == (chosen, hidden)
    assert texts(figure) == [str(i + 1) for i in range(len(found.chosen))]
    assert "up to" in figure.axes[0].get_title(loc="left")
    (legend,) = figure.legends
    words = [of.get_text() for of in legend.get_texts()]
    assert any(found.names[0] in line for line in words)
    assert "stays hidden" in words


def test_what_is_no_candidate_stays_hidden_too():
    found = planning.instrument(make("bottleneck", "button"), 1, groups={"one": ["0,2:UP"]})
    shades = parts(draw_instrumentation(found))
    assert (shades.count(GREEN), shades.count(LEFT_OUT)) == (1, 24)


def test_a_large_map_without_room_for_icons_and_a_world_without_a_map():
    rng = np.random.default_rng(0)
    rows = ["." * 40, *("".join(rng.choice(list("......?"), 40)) for _ in range(34))]
    large = worlds.grid_world("start: 0,0\n---\n" + "\n".join(rows))
    plain = replace(worlds.make("treasure-hunter"), picture=None)
    for mdp in (large, plain):
        found = planning.instrument(join(mdp, monitor("ask")), 1, method="greedy", by="state")
        assert pixels(draw_instrumentation(found)).ndim == 3


def test_without_a_map_there_is_a_bar_for_each_candidate():
    mdp = replace(worlds.make("bottleneck"), picture=None, state_labels=())
    found = planning.instrument(join(mdp, monitor("button")), 2)
    (ax,) = draw_instrumentation(found).axes
    names = [of.get_text() for of in ax.get_yticklabels()]
    assert [name.partition("  ")[2] for name in names[: len(found.chosen)]] == list(found.names)
    widths = [bar.get_width() for bar in ax.patches[: len(found.chosen)]]
    assert widths == pytest.approx([of.gain for of in found.chosen])


def test_where_nothing_is_worth_its_cost():
    found = planning.instrument(make("bottleneck", "button"), 3, assume="truth")
    (legend,) = draw_instrumentation(found).legends
    assert "nothing is worth its cost" in [of.get_text() for of in legend.get_texts()]


def test_it_takes_what_instrument_returns():
    with pytest.raises(MonMDPError, match=r"takes what planning.instrument returns"):
        draw_instrumentation(make("bottleneck", "button"))
