"""Pictures of arrays: heat maps, values, policies, layouts of graphs, the palette."""

import warnings
from dataclasses import replace
from itertools import combinations

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from test_drawing import chain, huge, many

from conftest import one_in
from monmdp import agents, compare, drawing, make, monitors, solve, train, worlds
from monmdp.drawing import (
    draw_dynamics,
    draw_heatmap,
    draw_policy,
    draw_values,
    draw_world,
    save,
)
from monmdp.drawing.canvas import pixels
from monmdp.drawing.graph import RADIUS, _positions
from monmdp.drawing.icons import letter
from monmdp.drawing.palette import BLUES, ORANGES, OTHERS, Style
from monmdp.drawing.sheet import sheet_of
from monmdp.errors import MonMDPError
from monmdp.model.monmdp import join

AGENTS = {name: colour for name, (colour, _) in agents.COLOURS.items()}
BROKEN = {name: line for name, (_, line) in agents.COLOURS.items() if line != "-"}


def styles(curves):
    return drawing.styles(curves, agents.COLOURS)


TAXI = max(name for name in gymnasium.registry if name.startswith("Taxi-v"))
WORLDS = {name: lambda name=name: worlds.make(name) for name in worlds.registry} | {
    "chain": chain,
    "many": many,
    "huge": huge,
    "lake": lambda: worlds.from_gymnasium("FrozenLake-v1"),
    "taxi": lambda: worlds.from_gymnasium(TAXI),
}


def polygons(figure):
    """The coloured shapes of the first panel."""
    shapes = [c for c in figure.axes[0].collections if isinstance(c, PolyCollection)]
    (found,) = [c for c in shapes if c.get_array() is not None]
    return found


# ---- heat maps ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, WORLDS))
def test_every_world_has_heat_maps(name):
    mdp = WORLDS[name]()
    rng = np.random.default_rng(0)
    for shape in ((mdp.n_states,), (mdp.n_states, mdp.n_actions)):
        values = rng.normal(size=shape)
        figure = draw_heatmap(mdp, values, label="what it is")
        shapes = polygons(figure)
        assert sorted(shapes.get_array()) == sorted(values.ravel())
        assert len(shapes.get_paths()) == values.size
        assert figure.axes[1].get_ylabel() == "what it is"
        assert figure.axes[0].get_title() == mdp.name
        if name in ("bottleneck", "lake", "chain"):
            assert len(np.unique(pixels(figure).reshape(-1, 4), axis=0)) > 50


@pytest.mark.slow
@pytest.mark.parametrize("monitor", ["full", "ask", "n-experts"])
@pytest.mark.parametrize("name", [name for name in WORLDS if name != "huge"])
def test_every_problem_has_values_and_policies(name, monitor):
    monmdp = join(WORLDS[name](), monitors.make(monitor))
    rng = np.random.default_rng(1)
    figure = draw_values(monmdp, rng.normal(size=monmdp.n_states))
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == [f"monitor {state}" for state in monmdp.monitor.states]
    assert len({p.get_clim() for ax in figure.axes[:-1] for p in ax.collections[:1]}) <= 2
    policy = rng.dirichlet(np.ones(monmdp.n_actions), monmdp.n_states)
    for figure in (draw_policy(monmdp, policy), draw_policy(monmdp, np.ones_like(policy))):
        assert any(ax.get_title() for ax in figure.axes)


def test_a_part_of_the_cell_for_each_action():
    mdp = worlds.make("bottleneck")
    values = np.full((36, 5), np.nan)
    values[7] = np.arange(5)  # row 1, column 1
    found = polygons(draw_heatmap(mdp, values))
    middle = {
        int(value): path.vertices[:-1].mean(axis=0) - (1.5, 1.5)
        for value, path in zip(found.get_array(), found.get_paths(), strict=True)
    }
    assert len(middle) == 5
    assert middle[0] == pytest.approx((-1 / 3, 0))  # LEFT
    assert middle[1] == pytest.approx((0, 1 / 3))  # DOWN: y counts downwards
    assert middle[2] == pytest.approx((1 / 3, 0))
    assert middle[3] == pytest.approx((0, -1 / 3))
    assert middle[4] == pytest.approx((0, 0))
    assert found.get_array()[-1] == 4  # STAY lies over the others
    swim = polygons(draw_heatmap(worlds.make("river-swim"), np.arange(12.0).reshape(6, 2)))
    assert [p.get_extents().width for p in swim.get_paths()] == pytest.approx([0.5] * 12)


@pytest.mark.parametrize("centre", [None, 0.0])
@pytest.mark.parametrize("values", [[-1, 0, 3], [1, 2, 3], [0, 0, 0], [np.nan] * 3])
def test_scales(values, centre):
    mdp = worlds.grid_world("@..")
    found = polygons(draw_heatmap(mdp, values, centre=centre))
    low, high = found.get_clim()
    assert low < high
    drawn = [v for v in values if not np.isnan(v)]
    assert all(low <= v <= high for v in drawn)
    both = centre is not None and min(values) < 0 < max(values)
    cmap = found.get_cmap()
    assert to_hex(cmap(1.0)) == BLUES[-1]
    assert to_hex(cmap(0.0)) == (ORANGES[-1] if both else BLUES[0])
    if both:
        assert low + high == 0
    assert polygons(draw_heatmap(mdp, values, limits=(-2, 8))).get_clim() == (-2, 8)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=20, deadline=None)
def test_whatever_is_drawn_has_its_colour(data):
    mdp = worlds.make(data.draw(st.sampled_from(["loop", "river-swim", "treasure-hunter"])))
    shape = data.draw(st.sampled_from([(mdp.n_states,), (mdp.n_states, mdp.n_actions)]))
    numbers = st.floats(-1e12, 1e12) | st.just(float("nan"))
    flat = data.draw(st.lists(numbers, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    values = np.reshape(flat, shape)
    figure = draw_heatmap(mdp, values, centre=data.draw(st.none() | st.floats(-10, 10)))
    assert polygons(figure).get_array().size == int((~np.isnan(values)).sum())
    pixels(figure)


def test_wrong_arrays_are_refused():
    mdp = worlds.make("loop")
    with pytest.raises(
        MonMDPError, match=r"\[sᵉ\] or \[sᵉ, aᵉ\] of loop: shape \(9,\) or \(9, 5\)"
    ):
        draw_heatmap(mdp, np.zeros(8))
    with pytest.raises(MonMDPError, match="inf at index"):
        draw_heatmap(mdp, [np.inf] * 9)
    with pytest.raises(MonMDPError, match="numbers expected, got list") as caught:
        draw_heatmap(mdp, ["a" * 100] * 9000)
    assert len(str(caught.value)) < 200
    with pytest.raises(MonMDPError, match="numbers expected, got Optimum"):
        draw_values(make("loop", "ask"), solve(make("loop", "ask")).minimax)
    with pytest.raises(MonMDPError, match="limits"):
        draw_heatmap(mdp, np.zeros(9), limits=(1, 1))
    monmdp = make("loop", "ask")
    with pytest.raises(MonMDPError, match=r"values \[s\] of loop / ask: shape \(9,\)"):
        draw_values(monmdp, np.zeros((9, 1)))
    with pytest.raises(MonMDPError, match=r"policy \[s, a\]"):
        draw_policy(monmdp, np.zeros((9, 3)))


@pytest.mark.parametrize(
    "draw",
    [
        lambda thing: drawing.draw_world(thing),
        lambda thing: drawing.draw_heatmap(thing, np.zeros(9)),
        lambda thing: drawing.draw_dynamics(thing),
        lambda thing: drawing.gallery({"it": thing}),
        lambda thing: drawing.world_text(thing),
        lambda thing: drawing.grid_text(thing),
    ],
)
def test_whoever_needs_a_world_says_so(draw):
    with pytest.raises(MonMDPError, match=r"^\w+ takes the world: pass problem\.mdp$"):
        draw(make("loop", "ask"))
    for thing in ("loop", None, ["a" * 100] * 9000):
        with pytest.raises(MonMDPError, match=r"^\w+ takes the world, an MDP; got .{4,90}$"):
            draw(thing)


@pytest.mark.parametrize(
    "draw",
    [
        lambda thing: drawing.draw_values(thing, np.zeros(9)),
        lambda thing: drawing.draw_policy(thing, np.zeros((9, 10))),
        lambda thing: drawing.policy_text(thing, np.zeros((9, 10))),
        lambda thing: drawing.frame(thing, 0, 0, caption=""),
        lambda thing: drawing.save_film(thing, None, "film.gif"),
    ],
)
def test_whoever_needs_a_problem_says_so(draw):
    with pytest.raises(MonMDPError, match=r"^\w+ takes the problem: pass make\(world, monitor\)"):
        draw(worlds.make("loop"))
    for thing in ("loop", None, ["a" * 100] * 9000):
        with pytest.raises(MonMDPError, match=r"^\w+ takes the problem, a MonMDP; got .{4,90}$"):
            draw(thing)


def test_other_wrong_things_are_refused():
    with pytest.raises(MonMDPError, match="save_film takes an episode"):
        drawing.save_film(make("loop", "ask"), [0, 1, 2], "film.gif")
    with pytest.raises(MonMDPError, match="save takes a figure"):
        save(worlds.make("loop"), "loop.png")
    for curves in (["monitored-mbie-eb"], "mbie-eb", ["ab"], [("a", "b", "c")], [("a", None)]):
        with pytest.raises(MonMDPError, match="styles takes pairs of label and agent"):
            styles(curves)


def test_the_centre_parts_orange_and_blue():
    cmap = polygons(draw_heatmap(worlds.grid_world("@.."), [-1, 0, 1], centre=0)).get_cmap()
    for below, above in zip(np.linspace(0.1, 0.48, 9), np.linspace(0.9, 0.52, 9), strict=True):
        red, _, blue, _ = cmap(below)
        assert red > blue
        red, _, blue, _ = cmap(above)
        assert red < blue


def test_no_number_has_a_look_of_its_own():
    mdp = worlds.grid_world("@..")
    none, zero = (
        pixels(draw_heatmap(mdp, [0, last, 1], limits=(0, 1), title="")) for last in (np.nan, 0)
    )
    assert (none != zero).any(axis=2).sum() > 1000


def test_stripes_are_explained_and_states_divided():
    figure = draw_heatmap(table(), np.arange(4.0).reshape(2, 2))
    note = figure.axes[0].get_xlabel().replace("\n", " ")
    assert note == "each state's stripes, left to right: action 0, action 1"
    borders = [c for c in figure.axes[0].collections if isinstance(c, PolyCollection)]
    assert [len(c.get_paths()) for c in borders if c.get_array() is None] == [2, 2]
    assert "RIGHT" in draw_heatmap(worlds.make("river-swim"), np.zeros((6, 2))).axes[0].get_xlabel()


def test_states_called_row_and_column_are_laid_out_so():
    cliff = worlds.from_gymnasium("CliffWalking-v1")
    sheet = sheet_of(cliff)
    assert (sheet.height, sheet.width) == (4, 12)
    assert sheet.cells[13].tolist() == [1, 1]
    far = replace(table(), state_labels=("0,0", "900,900"))
    assert (sheet_of(far).height, sheet_of(far).width) == (1, 2)


def test_heat_maps_in_given_axes_and_files(tmp_path):
    figure = Figure()
    ax = figure.add_subplot()
    mdp = worlds.make("hazard")
    assert draw_heatmap(mdp, np.arange(mdp.n_states), ax=ax, title="a $odd_ title") is figure
    assert ax.get_title() == "a $odd_ title"
    for name in ("a.svg", "b.svg"):
        save(draw_heatmap(mdp, np.arange(mdp.n_states)), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_figures_show_themselves_in_notebooks():
    assert draw_world(worlds.make("loop"))._repr_png_().startswith(b"\x89PNG")
    assert draw_heatmap(worlds.make("loop"), np.zeros(9))._repr_png_().startswith(b"\x89PNG")


# ---- policies -------------------------------------------------------------------------------


def legend(figure):
    (found,) = figure.legends
    return [text.get_text() for text in found.get_texts()]


def test_monitor_states_that_act_alike_share_a_panel():
    solution = solve(make("bottleneck", "button"))
    figure = draw_policy(solution.monmdp, solution.minimax.policy)
    assert [ax.get_title() for ax in figure.axes] == ["monitor OFF", "monitor ON"]
    solution = solve(make("bottleneck", "n-experts"))
    figure = draw_policy(solution.monmdp, solution.minimax.policy)
    assert [ax.get_title() for ax in figure.axes] == ["monitor in any of its 4 states"]


def test_arrows_and_marks():
    monmdp = join(worlds.grid_world("@..\n..."), monitors.make("ask"))
    policy = np.zeros((6, 5, 2))
    policy[0, 2, 0] = policy[1, 0, 1] = 1
    policy[2, :2, 0] = 0.5
    policy[3, 4, :] = 0.5
    policy[4:] = 0.1
    figure = draw_policy(monmdp, policy.reshape(6, 10))
    (ax,) = figure.axes
    (arrows,) = [c for c in ax.collections if isinstance(c, PolyCollection)]
    assert len(arrows.get_paths()) == 1 + 1 + 2 + 1 + 5 + 5
    assert {text.get_text() for text in ax.texts} == {"ASK", "a"}
    assert legend(figure) == [
        "monitor ASK",
        "monitor a: NO-OP or ASK",
        "pale: all actions are tied",
        "not marked: NO-OP",
    ]
    right = arrows.get_paths()[0].vertices
    assert right[:, 0].max() > 0.7
    assert np.ptp(right[:, 1]) < 0.3


def test_policies_of_many_states_are_colours():
    monmdp = join(many(), monitors.make("ask"))
    policy = np.zeros((60, 2, 2))
    policy[:, 1, 0] = 1
    assert legend(draw_policy(monmdp, policy.reshape(60, 4)))[-1] == "not marked: NO-OP"
    monmdp = join(huge(), monitors.make("ask"))
    policy = np.zeros((monmdp.n_states, 5, 2))
    policy[::2, 1, 1] = 1
    policy[1::2] = 0.1
    figure = draw_policy(monmdp, policy.reshape(monmdp.n_states, 10))
    assert legend(figure) == [
        "DOWN",
        "several are tied",
        "dot: another monitor action",
        "not marked: NO-OP",
    ]


# ---- graphs ---------------------------------------------------------------------------------


def table(**more):
    """Two states, two actions without names; a pair is hidden."""
    P = [[[0.9, 0.1], [0.2, 0.8]], [[0.0, 1.0], [0.5, 0.5]]]
    hidden = [[False, False], [True, False]]
    rewards = [[0.0, 1.0], [2.0, 0.0]]
    return worlds.from_tables(np.array(P), rewards, layout="sas", hidden=hidden, **more)


def test_graphs_say_what_is_hidden_and_what_is_paid():
    ax = draw_world(table()).axes[0]
    written = [text.get_text() for text in ax.texts]
    assert sorted(written) == ["0", "1", "1", "1", "2 ⊥"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["action 0", "action 1", "start", "⊥: never shown", "number: reward"]
    lake = draw_world(worlds.from_gymnasium("FrozenLake-v1")).axes[0]
    assert [text.get_text() for text in lake.texts] == [f"{r},{c}" for r in "0123" for c in "0123"]
    assert "⊥" not in "".join(text.get_text() for text in lake.get_legend().get_texts())
    assert any("⊥" in text.get_text() for text in draw_dynamics(table()).axes[0].texts)


def test_robots_in_a_row_of_states_are_whole():
    figure = draw_world(table())
    pixels(figure)
    ax = figure.axes[0]
    drawn = [artist for artist in ax.patches if artist.get_zorder() == 7]
    assert drawn
    inside = ax.get_window_extent()
    for artist in drawn:
        box = artist.get_window_extent()
        assert inside.x0 <= box.x0 < box.x1 <= inside.x1
        assert inside.y0 <= box.y0 < box.y1 <= inside.y1


def test_a_lake_is_laid_out_like_the_lake():
    at = _positions(worlds.from_gymnasium("FrozenLake-v1"))
    grid = at.reshape(4, 4, 2)
    assert (np.diff(grid[:, :, 0], axis=1) > 0).all()  # columns from left to right
    assert (np.diff(grid[:, :, 1], axis=0) > 0).all()  # rows downwards


@given(st.integers(2, 12), st.integers(1, 3), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_nodes_do_not_overlap(n, n_actions, seed):
    rng = np.random.default_rng(seed)
    P = np.zeros((n, n_actions, n))
    for s in range(n):
        for a in range(n_actions):
            P[s, a, rng.integers(n, size=2)] += 0.5
    P /= P.sum(axis=2, keepdims=True)
    at = _positions(worlds.from_tables(P, np.zeros((n, n_actions)), layout="sas"))
    assert np.isfinite(at).all()
    closest = min(np.linalg.norm(a - b) for a, b in combinations(at, 2))
    assert closest > 2 * RADIUS


# ---- palette --------------------------------------------------------------------------------

# Machado, Oliveira, Fernandes (2009), severity 1: linear RGB as people with a kind of colour
# blindness see it.
VISIONS = {
    "usual": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}  # fmt: skip


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def seen(colour, vision):
    """In OKLab, in which distances are about those that people see."""
    rgb = np.clip(np.array(VISIONS[vision]) @ linear(colour), 0, 1)
    to_lms = [
        [0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]  # fmt: skip
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]  # fmt: skip
    return np.array(to_lab) @ np.cbrt(np.array(to_lms) @ rgb)


def test_every_agent_has_a_colour_of_its_own():
    assert set(AGENTS) == {*agents.registry, *agents.DEEP}
    assert len({*AGENTS.values(), *OTHERS}) == len(AGENTS) + len(OTHERS)
    every = styles((name, name) for name in AGENTS)
    assert {name: style.colour for name, style in every.items()} == AGENTS
    assert {name: of.line for name, of in every.items() if of.line != "-"} == BROKEN


@pytest.mark.parametrize("vision", VISIONS)
def test_colour_blind_people_can_tell_agents_apart(vision):
    every = styles((name, name) for name in [*AGENTS, "mine", "yours", "theirs"])
    for (one, a), (other, b) in combinations(every.items(), 2):
        if a.line == b.line:
            distance = np.linalg.norm(seen(a.colour, vision) - seen(b.colour, vision))
            assert distance > 0.06, (one, other)


def test_colours_can_be_read_on_white_and_on_dark_paper():
    for colour in (*AGENTS.values(), *OTHERS):
        light = linear(colour) @ np.array([0.2126, 0.7152, 0.0722])
        assert 1.05 / (light + 0.05) > 2.2
        assert (light + 0.05) / (0.008 + 0.05) > 2.9


def test_variants_share_a_colour_and_strangers_get_others():
    found = styles(
        [
            ("E²", "directed-e2"),
            ("E² (r₀ = −10)", "directed-e2"),
            ("ours", "monitored-mbie-eb"),
            ("E²", "directed-e2"),
            ("q", "q-count"),
            ("q oracle", "q-count"),
            *((name, name) for name in ("a", "b", "c", "d")),
            ("a again", "a"),
        ]
    )
    orange = AGENTS["directed-e2"]
    assert found["E²"] == Style(orange, "-")
    assert found["E² (r₀ = −10)"] == Style(orange, ":")
    assert found["ours"] == Style(AGENTS["monitored-mbie-eb"], "-")
    assert (found["q"].line, found["q oracle"].line) == ("-.", ":")
    assert [found[name].colour for name in "abcd"] == [*OTHERS, OTHERS[0]]
    assert found["a again"].colour == OTHERS[0]
    assert [found[name].line for name in ("a", "b", "d", "a again")] == ["-", "-", ":", "-."]
    assert len(set(found.values())) == len(found)
    assert found["E²"].dasharray == "none"
    assert len({Style("#000000", line).dasharray for line in ("-", ":", "-.")}) == 3


def test_many_variants_can_be_told_apart():
    found = styles((f"without {part}", "factored-mbie-eb") for part in range(12))
    assert len(set(found.values())) == 12
    colours = [style.colour for style in found.values()]
    assert colours == [c for c in (AGENTS["factored-mbie-eb"], *OTHERS) for _ in range(3)]


def lines_of(figure):
    """Colour of each line in the legend."""
    found = figure.legends[0] if figure.legends else figure.axes[0].get_legend()
    return {
        text.get_text(): to_hex(line.get_color())
        for line, text in zip(found.get_lines(), found.get_texts(), strict=True)
    }


def test_an_agent_has_one_colour_in_all_figures():
    from monmdp import suites
    from monmdp.results import Evidence
    from monmdp.results.charts import draw_profiles
    from monmdp.results.figures import draw
    from monmdp.results.scores import THRESHOLDS, AgentRow, SuiteTable
    from monmdp.stats import Interval

    names = ["directed-e2", "monitored-mbie-eb", "epsilon-greedy"]
    monmdp = make("loop", "ask")
    alone = lines_of(train(monmdp, names[0], 300).figure())
    together = lines_of(compare(monmdp, names, 300, seeds=1).figure())
    suite = suites.parse(
        {
            "name": "few",
            "seeds": 1,
            "steps": 300,
            "experiment": [{"worlds": ["loop"], "monitors": ["ask"], "agents": names}],
        },
        where="here",
    )
    figure = suites.expand(suite).figure
    drawn = lines_of(draw(figure, Evidence((figure,), {}, {})))
    tau = np.linspace(0, 1, THRESHOLDS.size)
    labels = ["Directed-E²", "Monitored MBIE-EB", "epsilon-greedy"]
    one = Interval(1.0, 0.5, 1.5)
    rows = [AgentRow(of, one, one, None, 1, 1, 1.0, 1.0, (tau, tau, tau)) for of in labels]
    profile = lines_of(draw_profiles(SuiteTable(figure, 1, tuple(rows), (), (), 1000)))
    for name, label in zip(names, labels, strict=True):
        assert {together[label], drawn[label], profile[label]} == {AGENTS[name]}
    assert alone[names[0]] == AGENTS[names[0]]


# ---- titles ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a name that goes on and on " * 12, "alonenamewithoutspaces" * 12]
)
def test_long_names_stay_within_the_picture(name):
    mdp = replace(worlds.make("loop"), name=name)
    monmdp = join(mdp, monitors.make("ask"))
    for figure in (
        draw_world(mdp),
        draw_world(table(name=name)),
        draw_world(replace(many(), name=name)),
        draw_heatmap(mdp, np.arange(9)),
        draw_values(monmdp, np.arange(9)),
        draw_policy(monmdp, np.ones((9, 10))),
        draw_dynamics(table(name=name)),
    ):
        pixels(figure)
        titles = [figure._suptitle, *figure.texts, *(ax.title for ax in figure.axes)]
        (title,) = {text for text in titles if text is not None and text.get_text()[:6] == name[:6]}
        box = title.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert len(title.get_text()) < 300


def test_characters_without_a_glyph_are_boxes(tmp_path):
    mdp = replace(worlds.make("loop"), name="\N{SNAKE} loop")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for suffix in ("png", "svg", "pdf"):
            save(draw_world(mdp), tmp_path / f"loop.{suffix}")
        draw_world(mdp)._repr_png_()
        figure = Figure()
        draw_world(mdp, ax=figure.add_subplot())
        save(figure, tmp_path / "mine.png")
        drawing.frame(join(mdp, monitors.make("ask")), 0, 0, caption="\N{SNAKE}")
        assert letter("\N{SNAKE}")
    with pytest.warns(UserWarning, match="mine"):
        warnings.warn("mine", stacklevel=1)


@pytest.mark.slow
@pytest.mark.parametrize("tile", [" ", "\u3000", "\u200b", "\u2800"])
def test_a_tile_that_is_a_space_is_an_empty_cell(tile):
    assert letter(tile) == []
    mdp = replace(worlds.grid_world("@.."), picture=(f".{tile}.",))
    assert pixels(draw_world(mdp)).any()
    assert pixels(draw_heatmap(mdp, np.arange(3))).any()


def test_a_matrix_says_that_it_is_one():
    assert (
        draw_world(many()).axes[0].get_title() == f"{many().name}: transition matrix of 60 states"
    )


def test_many_states_at_few_places_are_drawn_there():
    world = worlds.make("minigrid-doorkey")
    (panel, _) = draw_world(world).axes  # the other one is the scale
    assert panel.get_title() == "states at each place"
    assert np.ptp(panel.get_xlim()) == 4
    agent = draw_world(world, agent=0)
    assert agent.axes[0].get_title() == "states at each place"
    assert agent.get_supxlabel().startswith("robot: the agent")
