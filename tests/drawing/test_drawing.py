"""Drawings: every world in text and picture, the glyphs of a policy, frames and files."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from conftest import one_in
from monmdp import MDP, make, monitors, solve, worlds
from monmdp.drawing import draw_world, frame, gallery, policy_text, save, world_text
from monmdp.drawing.canvas import pixels
from monmdp.errors import MonMDPError
from monmdp.model.monmdp import join

WORLDS = list(worlds.registry)


def chain():
    return replace(worlds.make("river-swim"), picture=None)


def many():
    """A world of 60 states without a picture."""
    n = 60
    P = np.stack([np.roll(np.eye(n), k, axis=1) for k in (1, 7)])
    return worlds.from_tables(P, np.zeros((n, 2)), layout="ass", name="many")


def huge():
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("....#S$?"), 100)) for _ in range(99)]
    text = "start: 0,0\nbutton: 0,99 RIGHT\n---\n" + "\n".join(["." * 100, *rows])
    return worlds.grid_world(text, name="huge")


def one_cell(tile):
    """The pixels of a world of two cells, the second of them `tile`."""
    mdp = worlds.grid_world(f"start: 0,0\ntile L: land 1\n---\n.{tile}")
    return frame(join(mdp, monitors.make("full")), 0, 0, caption="")


# ---- text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_world_text_shows_the_map_and_the_numbers(name):
    mdp = worlds.make(name)
    text = world_text(mdp)
    assert name in text
    assert f"{mdp.n_states} states, {mdp.n_actions} actions" in text
    assert ", ".join(mdp.action_labels) in text
    assert f"r_min {mdp.r_min:g}, r_max {mdp.r_max:g}" in text
    starts = int((mdp.start > 0).sum())
    marks = 0 if mdp.picture is None else starts + 1  # with the legend; a table has none
    assert sum(line.count("@") for line in text.splitlines()) == marks


def test_world_text_of_bottleneck():
    lines = world_text(worlds.make("bottleneck")).splitlines()
    assert "   0 1 2 3 4 5" in lines
    assert "0  @ . ? . . ." in lines
    assert "5  g . ? . . $" in lines
    assert "button: 5,1 DOWN" in lines
    assert "S  snake: landing costs 10" in lines
    assert not any(line.startswith(("W  ", "#  ", "~  ")) for line in lines)


def test_world_text_marks_the_agent_instead_of_the_start():
    lines = world_text(worlds.make("bottleneck"), agent=35).splitlines()
    assert "0  . . ? . . ." in lines
    assert "5  g . ? . . @" in lines
    assert "@  agent" in lines
    with pytest.raises(MonMDPError, match="state 36 does not exist"):
        world_text(worlds.make("bottleneck"), agent=36)


def test_legend_does_not_promise_rules_that_the_world_does_not_have():
    text = world_text(worlds.make("river-swim"))
    assert "water" in text
    assert "STAY" not in text
    text = world_text(worlds.make("treasure-hunter"))
    assert "?  ⊥: arriving or remaining pays 1, ends the episode, is never seen" in text
    own = "start: 0,0\ntile S: land -3\ntile L: land -5 hidden\n---\n.SL"
    text = world_text(worlds.grid_world(own))
    assert "S  snake: arriving or remaining pays -3" in text
    assert "L  tile L: arriving or remaining pays -5, is never seen" in text
    assert "is never seen" not in world_text(worlds.make("bottleneck", solvable=True))
    assert "chance 0.1" not in world_text(
        worlds.grid_world("start: 0,0\ntile o: stuck 0.5\n---\n.o.")
    )
    assert "one-way to the left" in world_text(worlds.make("loop", one_way="block", slip=0.1))


def test_wide_maps_number_their_columns_downwards():
    lines = world_text(worlds.make("corridor")).splitlines()
    assert lines[2].split() == ["1"] * 10
    assert len(world_text(worlds.make("river-swim", length=100)).splitlines()[4]) == 103


def test_world_text_without_picture_is_a_table():
    mdp = replace(worlds.make("treasure-hunter"), picture=None)
    lines = world_text(mdp).splitlines()
    assert "START   LEFT    UNSEEN (1, 1, ends, hidden)" in lines
    text = world_text(many())
    assert "… and 80 more pairs" in text
    assert len(text.splitlines()) < 60


def test_world_text_shortens_pairs_with_many_outcomes():
    mdp = worlds.from_tables(np.full((9, 1, 9), 1 / 9), np.zeros((9, 1)))
    assert "… and 5 more outcomes" in world_text(mdp)


# ---- policies -------------------------------------------------------------------------------


def policy_of(monmdp, choice):
    """[s, a] from a function (se, sm) -> list of (ae, am), all equally likely."""
    policy = np.zeros((monmdp.n_states, monmdp.n_actions))
    for s in range(monmdp.n_states):
        se, sm = map(int, monmdp.split_state(s))
        for ae, am in choice(se, sm):
            policy[s, monmdp.joint_action(ae, am)] = 1
    return policy / policy.sum(axis=1, keepdims=True)


def test_policy_glyphs():
    grid = worlds.grid_world("start: 0,0\n---\n....\n....\n#..#", name="grid")
    chosen = [[0], [1], [2], [3], [4], [0, 2], [1, 3], [0, 3], [2, 3], [1, 2]]
    monmdp = join(grid, monitors.make("ask"))
    text = policy_text(monmdp, policy_of(monmdp, lambda se, _: [(ae, 0) for ae in chosen[se]]))
    lines = text.splitlines()
    assert lines[1:5] == ["   0 1 2 3", "0  ← ↓ → ↑", "1  • ↔ ↕ ↖", "2  # ↗ ↘ #"]
    assert "↖  LEFT or UP" in lines
    assert lines[-1] == "monitor action NO-OP everywhere"


def test_policy_with_other_ties():
    grid = worlds.grid_world("start: 0,0\n---\n...", name="grid")
    monmdp = join(grid, monitors.make("full"))
    chosen = [[0, 1], [0, 4], [0, 1, 2]]
    text = policy_text(monmdp, policy_of(monmdp, lambda se, _: [(ae, 0) for ae in chosen[se]]))
    assert "0  ↙ + +" in text.splitlines()


def test_policy_blocks_and_monitor_actions():
    monmdp = join(worlds.make("bottleneck"), monitors.make("ask"))
    states = monmdp.monitor.states
    everywhere = policy_text(monmdp, policy_of(monmdp, lambda *_: [(2, 1)]))
    assert [f"monitor state {s}:" in everywhere for s in states] == [True] * len(states)
    assert everywhere.count("monitor action ASK everywhere") == len(states)
    differing = policy_text(
        monmdp, policy_of(monmdp, lambda se, _: [(2, 0), (2, 1)] if se == 1 else [(2, se % 2)])
    )
    assert "0  0 + 0 1 0 1" in differing.splitlines()
    assert "1  ASK" in differing.splitlines()


def test_policy_of_worlds_with_other_actions():
    monmdp = join(worlds.make("treasure-hunter"), monitors.make("full"))
    lines = policy_text(monmdp, policy_of(monmdp, lambda *_: [(1, 0)])).splitlines()
    assert lines[2:4] == ["0  # ↑ #", "1  ↑ ↑ ↑"]
    renamed = replace(worlds.make("treasure-hunter"), action_labels=("west", "jump", "east"))
    monmdp = join(renamed, monitors.make("full"))
    lines = policy_text(monmdp, policy_of(monmdp, lambda *_: [(1, 0)])).splitlines()
    assert "1  1 1 1" in lines
    assert "1  jump" in lines


@pytest.mark.parametrize("name", [name for name in WORLDS if name != "minigrid-fourrooms"])
@pytest.mark.parametrize("monitor", ["full", "ask", "button", "level-up"])
def test_policy_text_of_every_world(name, monitor):
    monmdp = join(worlds.make(name), monitors.make(monitor))
    uniform = np.full((monmdp.n_states, monmdp.n_actions), 1 / monmdp.n_actions)
    text = policy_text(monmdp, uniform)
    assert all(state in text for state in monmdp.monitor.states)
    assert text.count("monitor state") == 1  # monitor states that choose alike share a block
    # The first action in the first monitor state, the last one in the others: two blocks.
    split = np.zeros((monmdp.mdp.n_states, monmdp.monitor.n_states, monmdp.n_actions))
    split[:, 0, 0] = 1
    split[:, 1:, -1] = 1
    blocks = policy_text(monmdp, split.reshape(monmdp.n_states, -1)).count("monitor state")
    assert blocks == min(2, monmdp.monitor.n_states)


def test_policy_without_picture():
    monmdp = join(worlds.from_gymnasium("FrozenLake-v1"), monitors.make("ask"))
    text = policy_text(
        monmdp, policy_of(monmdp, lambda se, _: [(0, 0), (2, 0)] if se else [(1, 0)])
    )
    assert "0,0: DOWN" in text.splitlines()
    assert "3,3: LEFT or RIGHT" in text.splitlines()
    text = policy_text(monmdp, policy_of(monmdp, lambda se, _: [(0, se % 2)]))
    assert "0,3: LEFT; monitor ASK" in text.splitlines()


def test_policy_text_is_shortened():
    monmdp = join(many(), monitors.make("level-up"))
    policy = policy_of(monmdp, lambda *_: [(0, 0)])
    assert "… and 20 more states" in policy_text(monmdp, policy)
    assert f"… and {monmdp.monitor.n_states - 1} more monitor states" in policy_text(
        monmdp, policy, max_states=60
    )
    monmdp = join(huge(), monitors.make("full"))
    policy = np.ones((monmdp.n_states, monmdp.n_actions))
    assert "… and 80 more rows" in policy_text(monmdp, policy)


def test_policy_of_wrong_shape_is_refused():
    monmdp = join(chain(), monitors.make("ask"))
    with pytest.raises(MonMDPError, match="policy"):
        policy_text(monmdp, np.ones((3, 3)))


def test_legend_tells_staying_from_landing():
    own = "start: 0,0\ntile X: stay 5\ntile Y: land -1 stay 2\ntile $: stay 3\n---\n.XY$g"
    for slip in (0.0, 0.1):
        lines = world_text(worlds.grid_world(own, slip=slip)).splitlines()
        assert "X  tile X: STAY pays 5 and ends" in lines
        assert "Y  tile Y: STAY pays 2 and ends, arriving or remaining pays -1" in lines
        assert "$  treasure chest: STAY pays 3 and ends" in lines
        assert "g  gold bars: STAY pays 0.1 and ends" in lines


# ---- pictures -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, WORLDS))
def test_every_world_is_drawn(name):
    mdp = worlds.make(name)
    drawn = pixels(draw_world(mdp))
    colours = np.unique(drawn.reshape(-1, 4), axis=0)
    assert len(colours) > 50
    moved = pixels(draw_world(mdp, agent=mdp.n_states - 1))
    assert moved.shape == drawn.shape
    assert (moved != drawn).any()


def test_every_tile_looks_different():
    tiles = ".$gSW?o<v>^L"
    cells = [one_cell(tile)[:70].tobytes() for tile in tiles]
    assert len(set(cells)) == len(tiles)


def test_wall_and_water_look_different_from_an_empty_cell():
    river = pixels(draw_world(worlds.make("river-swim"), title=""))
    empty = replace(worlds.make("river-swim"), picture=("g....$",))
    assert (river != pixels(draw_world(empty, title=""))).any()
    assert (one_cell("#") != one_cell(".")).any()


def test_button_stands_at_the_side_its_action_bumps_into():
    def picture(action):
        button = f"button: 1,1 {action}\n" if action else ""
        mdp = worlds.grid_world(f"start: 0,0\n{button}---\n...\n...\n...")
        return frame(join(mdp, monitors.make("full")), 0, 0, caption="").astype(int)

    plain = picture(None)
    centre = {}
    for action in ("LEFT", "DOWN", "RIGHT", "UP"):
        rows, columns = np.nonzero((picture(action) != plain).any(axis=2))
        centre[action] = rows.mean(), columns.mean()
    middle = np.mean(list(centre.values()), axis=0)
    assert centre["DOWN"][0] > middle[0] + 20 > middle[0] - 20 > centre["UP"][0]
    assert centre["RIGHT"][1] > middle[1] + 20 > middle[1] - 20 > centre["LEFT"][1]


def test_draw_world_into_given_axes_and_title():
    from matplotlib.figure import Figure

    figure = Figure()
    ax = figure.add_subplot()
    assert draw_world(worlds.make("hazard"), ax=ax, title="a $strange$ title") is figure
    assert ax.get_title() == "a $strange$ title"
    pixels(figure)
    part = figure.subfigures(1, 2)[0]
    assert draw_world(worlds.make("loop"), ax=part.add_subplot()) is figure


@pytest.mark.slow
def test_huge_and_long_worlds_are_drawn():
    for mdp in (huge(), worlds.make("river-swim", length=100)):
        colours = np.unique(pixels(draw_world(mdp)).reshape(-1, 4), axis=0)
        assert len(colours) > 5
    monmdp = join(huge(), monitors.make("full"))
    assert (frame(monmdp, 0, 0, caption="") != frame(monmdp, 99, 0, caption="")).any()


@pytest.mark.slow
@pytest.mark.parametrize("make", [chain, many, lambda: worlds.from_gymnasium("FrozenLake-v1")])
def test_worlds_without_picture_are_drawn(make):
    mdp = make()
    drawn = pixels(draw_world(mdp))
    assert len(np.unique(drawn.reshape(-1, 4), axis=0)) > 20
    assert (pixels(draw_world(mdp, agent=mdp.n_states - 1)) != drawn).any()


def test_graph_names_the_actions_and_matrix_its_axes():
    legend = draw_world(chain()).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()][:2] == ["LEFT", "RIGHT"]
    ax = draw_world(many()).axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("successor", "state")


def test_start_cells_beyond_a_few_and_ragged_pictures():
    everywhere = worlds.grid_world("@@@\n@@@")
    assert pixels(draw_world(everywhere)).any()
    ragged = replace(everywhere, picture=("..", "...."))
    assert "0  @ @ # #" in world_text(ragged).splitlines()
    assert pixels(draw_world(ragged)).any()


@pytest.mark.slow
def test_gallery_has_a_title_for_every_world():
    mdps = {name: worlds.make(name) for name in WORLDS} | {"graph": chain(), "matrix": many()}
    figure = gallery(mdps)
    titles = [ax.get_title() for ax in figure.axes]
    assert [title for title in titles if title] == list(mdps)
    for ax in figure.axes:
        box = ax.get_position()
        assert 0 <= box.x0 < box.x1 <= 1
        assert 0 <= box.y0 < box.y1 <= 1
    with pytest.raises(MonMDPError, match="no world"):
        gallery({})


# ---- frames ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: worlds.make("bottleneck"), chain, many])
def test_frames_have_one_size_and_show_the_agent(make):
    monmdp = join(make(), monitors.make("level-up"))
    first = frame(monmdp, 0, 0, caption="")
    assert first.dtype == np.uint8
    assert first.shape[2] == 3
    assert first.shape[0] % 2 == first.shape[1] % 2 == 0
    long = frame(monmdp, 0, 0, caption="\n".join(["word " * 60] * 9))
    moved = frame(monmdp, 5, 0, caption="")
    other = frame(monmdp, 0, monmdp.monitor.n_states - 1, caption="")
    assert first.shape == long.shape == moved.shape == other.shape
    world = first.shape[0] - 108  # without the caption
    assert (first[:world] != moved[:world]).any()
    assert (first[:world] == long[:world]).all()
    assert (first != long).any()
    assert (first != other).any()
    assert (first == frame(monmdp, 0, 0, caption="")).all()
    assert (long[:, -4:][world:] == long[-1, -1]).all()  # text ends before the edge
    for shown in (True, False):
        of_number = frame(monmdp, 0, 0, caption="", shown=int(shown))
        assert (of_number == frame(monmdp, 0, 0, caption="", shown=shown)).all()


def test_robot_stands_in_its_cell():
    monmdp = join(worlds.make("empty"), monitors.make("full"))
    a, b = (frame(monmdp, se, 0, caption="").astype(int)[:390] for se in (8, 21))
    rows, columns = np.nonzero((a != b).any(axis=2))
    cells = {((r - 6) // 64, (c - 6) // 64) for r, c in zip(rows, columns, strict=True)}
    assert cells == {(1, 2), (3, 3)}


def test_frames_of_unknown_states_are_refused():
    monmdp = join(worlds.make("empty"), monitors.make("ask"))
    with pytest.raises(MonMDPError, match="state 36"):
        frame(monmdp, 36, 0, caption="")
    with pytest.raises(MonMDPError, match="monitor state 7"):
        frame(monmdp, 0, 7, caption="")


def test_frames_show_whether_the_reward_was_shown_and_what_the_monitor_cost():
    monmdp = join(worlds.make("bottleneck"), monitors.make("ask"))
    none, seen, hidden = (frame(monmdp, 7, 0, caption="", shown=s) for s in (None, True, False))
    world = none.shape[0] - 108
    for one, other in ((none, seen), (none, hidden), (seen, hidden)):
        assert one.shape == other.shape
        assert (one[:world] != other[:world]).any()  # the badge
        assert (one[world:] != other[world:]).any()  # the strip
    grey = [f[world:, :12].mean(axis=2) for f in (seen, hidden)]
    assert np.ptp(grey[0]) == 0 < np.ptp(grey[1])  # not by colour alone
    costly = frame(monmdp, 7, 0, caption="", shown=True, monitor_reward=-0.2)
    assert (costly[:world] != seen[:world]).any()
    for se in range(monmdp.mdp.n_states):  # marks near the border stay in the picture
        assert frame(monmdp, se, 0, caption="", shown=False, monitor_reward=-12.5).any()


# ---- files ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "magic"), [(".png", b"\x89PNG"), (".SVG", b"<?xml"), (".pdf", b"%PDF")]
)
def test_save_writes_the_same_bytes_twice(tmp_path, suffix, magic):
    paths = [tmp_path / f"{i}{suffix}" for i in range(2)]
    for path in paths:
        save(draw_world(worlds.make("one-way")), path)
    one, two = (path.read_bytes() for path in paths)
    assert one.startswith(magic)
    assert one == two
    assert len(list(tmp_path.iterdir())) == 2


def test_save_says_what_is_wrong_and_leaves_nothing_behind(tmp_path):
    figure = draw_world(worlds.make("loop"))
    with pytest.raises(MonMDPError, match=r"\.png, \.svg, \.pdf"):
        save(figure, tmp_path / "world.bmp")
    with pytest.raises(MonMDPError, match="cannot write"):
        save(figure, tmp_path / "nowhere" / "world.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(MonMDPError, match="cannot write"):
        save(figure, tmp_path / "folder.png")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


def test_drawing_loads_matplotlib_late_and_pyplot_never():
    code = (
        "import sys\n"
        "from monmdp import drawing, worlds\n"
        "assert 'matplotlib' not in sys.modules\n"
        "drawing.draw_world(worlds.make('hazard'))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tied_monitor_actions_have_letters_and_a_key():
    solution = solve(make("loop", "switch"))
    text = policy_text(solution.monmdp, solution.minimax.policy)
    assert "a  NO-OP or TURN-OFF" in text  # while OFF both do nothing
    assert "2  TURN-OFF" in text
    assert "+  any" in text  # on the chest the episode ends


def test_labels_are_not_cut_so_that_two_rows_read_the_same():
    names = [f"1,1 right door open, the key is {where}" for where in ("here", "there", "gone")]
    mdp = MDP.from_outcomes(
        [(s, a, (s + a) % 3, 1.0, 0.0, False, False) for s in range(3) for a in range(2)],
        name="doors", n_states=3, n_actions=2, start=[1, 0, 0], r_min=0, r_max=1, time_limit=9,
        state_labels=names,
    )  # fmt: skip
    problem = join(mdp, monitors.make("full"))
    text = policy_text(problem, np.full((3, 2), 0.5))
    assert len({line.partition(":")[0] for line in text.splitlines()[1:4]}) == 3
    rows = [line.split("  ") for line in world_text(mdp).splitlines()[3:9]]
    assert len({row[0] for row in rows}) == 3
    assert len({row[-1] for row in rows}) == 3
