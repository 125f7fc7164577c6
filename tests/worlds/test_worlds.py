"""Worlds: every tile rule, every map, bad maps, imports."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
import scipy.sparse

from conftest import WORLDS, dense_optimal_values
from monmdp import MonMDPError, make, planning, worlds
from monmdp.experiment.streams import fingerprint
from monmdp.worlds.gridmap import grid_world

LEFT, DOWN, RIGHT, UP, STAY = range(5)


def outcomes(mdp, state, action):
    """{(successor, reward, ends, hidden): probability} of a pair."""
    pair = mdp.find_state(state) * mdp.n_actions + action
    return {
        (mdp.state_labels[mdp.successor[o]], mdp.reward[o], bool(mdp.terminates[o]),
         bool(mdp.hidden[o])): pytest.approx(mdp.probability[o])
        for o in range(mdp.first[pair], mdp.first[pair + 1])
    }  # fmt: skip


def grid(text, **params):
    return grid_world("start: 0,0\n---\n" + text, **params)


def test_the_ten_worlds_are_as_specified():
    assert WORLDS[:10] == [
        "empty", "hazard", "bottleneck", "loop", "river-swim", "one-way", "corridor",
        "two-room-3x5", "two-room-2x11", "treasure-hunter",
    ]  # fmt: skip
    assert list(worlds.registry)[:10] == WORLDS[:10], "what is added comes after them"
    pictures = {
        "empty": "......\n......\n......\n......\n......\ng....$",
        "hazard": ".gS$\n.S..\n.og.\n....",
        "bottleneck": "..?...\n..?.S.\n......\n..?...\n..?...\ng.?..$",
        "loop": ".<.\n.>^\n..$",
        "one-way": ".<<<\ngWW$\n.<<<",
        "two-room-3x5": "..<.$\n..o..\n.....",
        "two-room-2x11": "g...>v<...$\n...........",
        "corridor": "...................$",
    }
    for name, picture in pictures.items():
        mdp = worlds.make(name)
        assert "\n".join(mdp.picture) == picture
        assert mdp.action_labels == ("LEFT", "DOWN", "RIGHT", "UP", "STAY")
        assert mdp.start.argmax() == (16 if name == "two-room-2x11" else 0)
        assert mdp.time_limit == (200 if name in ("corridor", "two-room-2x11") else 50)
        button = {"two-room-2x11": (16, LEFT), "bottleneck": (31, DOWN)}.get(name, (0, LEFT))
        assert mdp.button == button
        assert mdp.r_min == {"hazard": -10, "bottleneck": -10, "one-way": -0.1}.get(name, 0)
        assert mdp.r_max == 1
        rows, columns = len(mdp.picture), len(mdp.picture[0])
        assert [tuple(cell) for cell in mdp.cells] == [
            divmod(i, columns) for i in range(rows * columns)
        ]


def test_empty_cells_and_borders():
    mdp = grid("..\n..")
    assert outcomes(mdp, "0,0", LEFT) == {("0,0", 0.0, False, False): 1}
    assert outcomes(mdp, "0,0", UP) == {("0,0", 0.0, False, False): 1}
    assert outcomes(mdp, "0,0", RIGHT) == {("0,1", 0.0, False, False): 1}
    assert outcomes(mdp, "0,0", DOWN) == {("1,0", 0.0, False, False): 1}
    assert outcomes(mdp, "1,1", STAY) == {("1,1", 0.0, False, False): 1}


def test_chest_and_gold_pay_for_staying_only():
    mdp = grid(".$\n.g")
    assert outcomes(mdp, "0,1", STAY) == {("0,1", 1.0, True, False): 1}
    assert outcomes(mdp, "1,1", STAY) == {("1,1", 0.1, True, False): 1}
    assert outcomes(mdp, "0,0", RIGHT) == {("0,1", 0.0, False, False): 1}
    assert outcomes(mdp, "0,1", RIGHT) == {("0,1", 0.0, False, False): 1}  # a bump is no STAY
    assert np.argwhere(mdp.goal).tolist() == [[1, STAY]]


def test_snakes_wasps_and_bottom_cells_pay_on_landing():
    mdp = grid(".S.\n.W.\n.?.")
    for row, reward, hidden in ((0, -10.0, False), (1, -0.1, False), (2, -10.0, True)):
        landing = {(f"{row},1", reward, False, hidden): 1}
        assert outcomes(mdp, f"{row},0", RIGHT) == landing
        assert outcomes(mdp, f"{row},1", STAY) == landing
        assert outcomes(mdp, f"{row},1", RIGHT) == {(f"{row},2", 0.0, False, False): 1}
    assert mdp.bottom.tolist() == [label == "2,1" for label in mdp.state_labels]
    shown = grid(".S.\n.W.\n.?.", solvable=True)
    assert not shown.hidden.any()
    assert shown.bottom.any()


def test_holes_hold_nine_times_out_of_ten():
    mdp = grid(".S\n.o")
    stuck = ("1,1", 0.0, False, False)
    assert outcomes(mdp, "1,1", UP) == {("0,1", -10.0, False, False): 0.1, stuck: 0.9}
    assert outcomes(mdp, "1,1", STAY) == {stuck: 1}
    assert outcomes(mdp, "1,1", RIGHT) == {stuck: 1}


@pytest.mark.parametrize(("tile", "direction"), [("<", LEFT), ("v", DOWN), (">", RIGHT), ("^", UP)])
def test_one_way_cells_push_or_block(tile, direction):
    text = f"...\n.{tile}.\n..."
    away = {LEFT: "1,0", DOWN: "2,1", RIGHT: "1,2", UP: "0,1"}[direction]
    push, block = grid(text), grid(text, one_way="block")
    for action in range(5):
        assert outcomes(push, "1,1", action) == {(away, 0.0, False, False): 1}
        to = away if action == direction else "1,1"
        assert outcomes(block, "1,1", action) == {(to, 0.0, False, False): 1}


def test_walls_are_no_states():
    mdp = grid(".#.\n...")
    assert mdp.n_states == 5
    assert mdp.state_labels == ("0,0", "0,2", "1,0", "1,1", "1,2")
    assert outcomes(mdp, "0,0", RIGHT) == {("0,0", 0.0, False, False): 1}
    assert outcomes(mdp, "1,1", UP) == {("1,1", 0.0, False, False): 1}


def test_nine_rooms():
    mdp = worlds.make("rooms-20x20")
    rows = mdp.picture
    assert (len(rows), {len(row) for row in rows}) == (20, {20})
    assert mdp.n_states == 400 - sum(row.count("#") for row in rows) == 336
    assert {tile: "".join(rows).count(tile) for tile in "$gS?"} == {"$": 1, "g": 1, "S": 8, "?": 5}
    assert mdp.state_labels[mdp.start.argmax()] == "0,0"
    assert (mdp.time_limit, mdp.r_min, mdp.button) == (200, -10, (mdp.find_state("5,0"), LEFT))
    assert planning.observability(make(mdp, "ask")).reachable.all()
    # Through the doors at 3,6 1,13 6,17 9,13 13,9 and 18,13, and to the chest at 19,19.
    doors = [(0, 0), (3, 6), (1, 13), (6, 17), (9, 13), (13, 9), (18, 13), (19, 19)]
    steps = sum(abs(r - q) + abs(c - d) for (r, c), (q, d) in pairwise(doors))
    assert steps == 58
    solution = planning.solve(make(mdp, "ask"))
    assert solution.value == pytest.approx(0.99**58)
    assert solution.episode_return == pytest.approx(0.99**58)
    assert solution.value > 5 * 0.1 * 0.99**8  # the gold bars


def test_a_long_river_is_worth_swimming_with_time():
    # Right is optimal everywhere, but how soon it pays depends on the discount and the limit.
    returns = {}
    for gamma, limit in ((0.99, 200), (0.99, 1000), (0.995, 1000)):
        m = make("river-swim", "full", length=100, time_limit=limit)
        solution = planning.solve(m, gamma)
        assert solution.minimax.policy[:, 1].all()
        left = planning.evaluate(m, np.tile([1.0, 0.0], (100, 1)), gamma, horizon=limit)
        returns[gamma, limit] = round(solution.episode_return, 3), round(left.value, 3)
    assert returns == {
        (0.99, 200): (0.0, 0.851), (0.99, 1000): (1.059, 0.985), (0.995, 1000): (10.005, 1.972),
    }  # fmt: skip


def test_slips_follow_the_executed_move():
    mdp = grid("...\n.$.\n...", slip=0.2)
    around = {(cell, 0.0, False, False): 0.05 for cell in ("1,0", "2,1", "1,2", "0,1")}
    assert outcomes(mdp, "1,1", STAY) == {("1,1", 1.0, True, False): 0.8} | around
    assert outcomes(mdp, "1,1", UP) == around | {("0,1", 0.0, False, False): 0.85}


def test_river_swim_is_as_specified():
    mdp = worlds.make("river-swim")
    assert outcomes(mdp, 0, 0) == {("0", 0.01, False, False): 1}
    assert outcomes(mdp, 0, 1) == {("1", 0.0, False, False): 0.6, ("0", 0.0, False, False): 0.4}
    for s in range(1, 5):
        assert outcomes(mdp, s, 0) == {(str(s - 1), 0.0, False, False): 1}
        assert outcomes(mdp, s, 1) == {
            (str(s + 1), 0.0, False, False): 0.35,
            (str(s), 0.0, False, False): 0.6,
            (str(s - 1), 0.0, False, False): 0.05,
        }
    assert outcomes(mdp, 5, 1) == {("5", 1.0, False, False): 0.6, ("4", 0.0, False, False): 0.4}
    assert mdp.start.tolist() == [0, 0.5, 0.5, 0, 0, 0]
    assert not mdp.terminates.any()
    assert mdp.time_limit == 200
    assert mdp.mean_reward[5, 1] == pytest.approx(0.6)


def test_treasure_hunter_price_by_hand():
    for gamma in (0.0, 0.5, 0.99):
        solution = planning.solve(make("treasure-hunter", "ask"), gamma)
        # One decision: the treasure (1) is not chosen because it might be -10; the gold pays 0.1.
        assert solution.value == pytest.approx(0.1, abs=1e-12)
        assert solution.optimal_value == pytest.approx(1.0, abs=1e-12)
        assert solution.price == pytest.approx(0.9, abs=1e-12)
    assert planning.solve(make("treasure-hunter", "full")).price == 0


# ---- users' maps ----------------------------------------------------------------------------


def test_a_users_map_file_works_everywhere(tmp_path):
    path = tmp_path / "my_map.txt"
    path.write_text(
        "# my own world\nname: mine\nstart: 1,0\nbutton: 0,0 UP\ntime_limit: 30\nr_min: -20\n"
        "tile L: land -5 hidden   # lava\ntile k: stay 0.3\n---\n.L$\n..k\n"
    )
    mdp = worlds.make(str(path))
    assert (mdp.name, mdp.time_limit, mdp.r_min, mdp.button) == ("mine", 30, -20, (0, UP))
    assert mdp.state_labels[mdp.start.argmax()] == "1,0"
    assert outcomes(mdp, "0,0", RIGHT) == {("0,1", -5.0, False, True): 1}
    assert outcomes(mdp, "1,2", STAY) == {("1,2", 0.3, True, False): 1}
    problem = make(str(path), "button", rho=0.5)
    assert planning.solve(problem).rho == 0.5
    env = gymnasium.make("monmdp/World-v0", world=str(path), monitor="ask")
    env.reset(seed=1)


def test_the_start_can_be_marked_in_the_map():
    assert grid_world("..\n.@").start.argmax() == 3
    assert grid_world("@.\n.@").start.tolist() == [0.5, 0, 0, 0.5]
    assert grid("..\n..", start="1,1").start.argmax() == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the map is empty"),
        ("\n  \n", "the map is empty"),
        ("start: 0,0\n---\n", "no tiles after the header"),
        ("@..\n..", "row 1 has 2 columns, row 0 has 3"),
        ("@.x\n...", "row 0, column 2: unknown tile 'x'"),
        ("@..\n.?é", "row 1, column 2: unknown tile 'é'"),
        ("...\n...", "no start"),
        ("start: 5,0\n---\n...", "start: row 5, column 0 lies outside the map; rows are 0 to 0"),
        ("start: 0,1\n---\n.#.", "start: row 0, column 1 is a wall"),
        ("start: 0,0\nbutton: 9,9 LEFT\n---\n...", "button: row 9, column 9 lies outside the map"),
        ("start: 0,0\nbutton: 0,0 JUMP\n---\n...", "line 2: button '0,0 JUMP'"),
        ("start: 0,0\nbutton: 0,0\n---\n...", "line 2: button"),
        ("strat: 0,0\n---\n...", "line 1: unknown key 'strat'; did you mean 'start'"),
        ("start: zero\n---\n...", "line 1: start 'zero': a cell is written 'row,column'"),
        ("start:\n---\n...", "line 1: 'start' has no value"),
        ("start\n---\n...", "line 1: 'start': the header has lines"),
        ("start: 0,0\ntime_limit: -3\n---\n..", "line 2: time_limit must be a whole number"),
        ("start: 0,0\ntime_limit: ten\n---\n..", "line 2: time_limit must be a number"),
        ("start: 0,0\nr_min: nan\n---\n..", "line 2: r_min must be finite"),
        ("start: 0,0\nr_min: -1\n---\n.S", r"reward -10 .* outside \[r_min, r_max\]"),
        ("start: 0,0\ntile LL: land 1\n---\n..", "line 2: .*one character"),
        ("start: 0,0\ntile L: lnd 1\n---\n..", "line 2: unknown word 'lnd'; did you mean 'land'"),
        ("start: 0,0\ntile L: land\n---\n..", "line 2: 'land' needs a value"),
        ("start: 0,0\ntile L: stuck 2\n---\n..", "stuck is a probability"),
        ("start: 0,0\ntile #: land 2\n---\n..", "cannot be redefined"),
        ("start: 0,0\n..", "line 1: .* looks like a header"),
        ("start: 0,0\n---\n.@", "given twice"),
        ("start: 0,0\n---\n##", "only walls"),
        ("start: 0,0\nstart: 0,1\n---\n..", "line 2: 'start' is given twice"),
        ("start: 0,0\ntile L: land 1\ntile L: land 2\n---\n..", "line 3: 'tile L' is given twice"),
        ("start: 0,0\nbutton: 0,0;0,1 LEFT\n---\n..", "line 2: there can be only one button"),
        ("start: --1,0\n---\n..", "a cell is written 'row,column'"),
        ("start: ²,0\n---\n..", "a cell is written 'row,column'"),
    ],
)
def test_bad_maps_are_named_with_their_place(text, message, tmp_path):
    path = tmp_path / "map.txt"
    path.write_text(text)
    with pytest.raises(MonMDPError, match=message):
        worlds.make(str(path))


def test_maps_from_other_editors(tmp_path):
    text = "start:\t0,0\r\nbutton: 0,0\tLEFT\r\n---\r\n..$  \r\n...\r\n"
    path = tmp_path / "windows.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    mdp = worlds.make(str(path))
    assert (mdp.n_states, mdp.button) == (6, (0, LEFT))
    assert grid_world("\ufeff@.$").n_states == 3
    with pytest.raises(MonMDPError, match="a map is text"):
        grid_world(None)


def test_unreadable_maps(tmp_path):
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(MonMDPError, match="cannot be read as text"):
        worlds.make(str(tmp_path / "b.txt"))
    with pytest.raises(MonMDPError, match="no such map file"):
        worlds.make("nowhere/map.txt")
    with pytest.raises(MonMDPError, match="unknown world 'botleneck'; did you mean 'bottleneck'"):
        worlds.make("botleneck")


# ---- imports --------------------------------------------------------------------------------


def table_values(P, R, gamma, n=4000):
    """Value iteration on P[s, a, s'] and R[s, a]."""
    V = np.zeros(len(P))
    for _ in range(n):
        V = (R + gamma * P @ V).max(axis=1)
    return V


def test_every_layout_gives_the_same_world():
    rng = np.random.default_rng(3)
    n, m = 5, 3
    P = rng.dirichlet(np.full(n, 0.5), size=(n, m))
    R3 = rng.normal(size=(n, m, n))
    R = (P * R3).sum(axis=2)
    expected = table_values(P, R, 0.9)
    flat = P.reshape(n * m, n)
    s_indices, a_indices = np.divmod(np.arange(n * m), m)
    mix = rng.permutation(n * m)
    layouts = {
        "dense [s,a,s'] R[s,a]": (P, R, {}),
        "dense [s,a,s'] R[s,a,s']": (P, R3, {}),
        "mdptoolbox dense": (P.transpose(1, 0, 2), R, {}),
        "mdptoolbox dense R[a,s,s']": (P.transpose(1, 0, 2), R3.transpose(1, 0, 2), {}),
        "mdptoolbox sparse": ([scipy.sparse.csr_matrix(P[:, a]) for a in range(m)], R, {}),
        "mdptoolbox sparse R": (
            [scipy.sparse.csr_array(P[:, a]) for a in range(m)],
            [scipy.sparse.csr_array(R3[:, a]) for a in range(m)],
            {},
        ),
        "CSR rows": (scipy.sparse.csr_array(flat), R, {}),
        "CSR rows, R flat": (scipy.sparse.csr_matrix(flat), R.reshape(-1), {}),
        "QuantEcon pairs": (
            scipy.sparse.csr_matrix(flat[mix]),
            R.reshape(-1)[mix],
            {"s_indices": s_indices[mix], "a_indices": a_indices[mix]},
        ),
        "QuantEcon pairs dense": (
            flat[mix],
            R.reshape(-1)[mix],
            {"s_indices": s_indices[mix], "a_indices": a_indices[mix]},
        ),
    }
    for name, (p, r, more) in layouts.items():
        mdp = worlds.from_tables(p, r, name=name, **more)
        values = planning.optimal(make(mdp, "full"), 0.9).values
        assert np.allclose(values, expected, atol=1e-8), name


def test_square_tables_need_the_layout():
    P = np.full((2, 2, 2), 0.5)
    with pytest.raises(MonMDPError, match="layout must be given"):
        worlds.from_tables(P, np.zeros((2, 2)))
    one_hot = np.eye(2)[[[0, 0], [1, 1]]]  # read as [s, a, s']: stay; as [a, s, s']: a is where to
    assert worlds.from_tables(one_hot, R := np.zeros((2, 2)), layout="sas").successor.tolist() == [
        0,
        0,
        1,
        1,
    ]
    assert worlds.from_tables(one_hot, R, layout="ass").successor.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("P", "R", "more", "message"),
    [
        (np.full((3, 2, 3), 0.5), np.zeros((3, 2)), {}, "sum to 1.5"),
        (np.ones((3, 2, 4)), np.zeros((3, 2)), {}, "expected"),
        (np.ones((2, 1, 2)) / 2, np.zeros((5, 5)), {}, r"R has shape \(5, 5\)"),
        (np.ones((2, 1, 2)) / 2, [[np.nan], [0.0]], {}, "R: nan at state 0"),
        (np.full((2, 1, 2), np.nan), np.zeros((2, 1)), {}, "P: nan"),
        (np.ones((2, 1, 2)) / 2, [[-np.inf], [0.0]], {}, "state 0 has no action 0"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"terminal": [5]}, "terminal state 5"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"start": 7}, "start state 7"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"hidden": [True]}, "hidden: shape"),
        ("nonsense", np.zeros(2), {}, "not an array of numbers"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"layout": "bogus"}, "layout='bogus'"),
        (np.ones((2, 2)) / 2, np.zeros(2), {"layout": "ass"}, "layout 'pairs', not 'ass'"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"missing": "Stay"}, "did you mean 'stay'"),
        (
            np.ones((2, 1, 2)) / 2,
            np.zeros((2, 1)),
            {"s_indices": [0, 1], "a_indices": [0, 0]},
            "go with",
        ),
        (
            np.ones((2, 2)) / 2,
            np.zeros(2),
            {"s_indices": [0.5, 1], "a_indices": [0, 0]},
            "s_indices",
        ),
        (
            np.ones((2, 2)) / 2,
            np.zeros(2),
            {"s_indices": ["a", "b"], "a_indices": [0, 0]},
            "s_indices",
        ),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"terminal": ["a"]}, "a terminal state"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"terminal": [1.5]}, "a terminal state"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"terminal": [True]}, "terminal: shape"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"start": "x"}, "a start state"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"frob": 1}, "unknown field 'frob'"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"button": "x"}, "button 'x'"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 1)), {"hidden": [[np.nan], [0]]}, "hidden"),
        (np.ones((2, 1, 2)) * 1j, np.zeros((2, 1)), {}, "not an array of numbers"),
        (np.zeros((0, 3)), np.zeros(0), {}, "P is empty"),
        (np.ones((2, 1, 2)) / 2, np.full((2, 1), -np.inf), {"missing": "stay"}, "no pair has"),
        (
            np.array([[[0.5, 0.5], [0, 0]]] * 2),
            np.zeros((2, 2)),
            {"layout": "sas"},
            "has no action 1",
        ),
    ],
)
def test_bad_tables_are_refused(P, R, more, message):
    with pytest.raises(MonMDPError, match=message):
        worlds.from_tables(P, R, **more)


def test_terminal_states_as_list_or_mask():
    P = np.full((3, 1, 3), 1 / 3)
    for terminal in ([1], (1,), np.array([1]), np.array([False, True, False]), 1):
        mdp = worlds.from_tables(P, np.zeros((3, 1)), terminal=terminal)
        assert (mdp.terminates == (mdp.successor == 1)).all()


def test_object_arrays_of_matrices():
    P = np.empty(2, dtype=object)
    P[0], P[1] = scipy.sparse.csr_array(np.eye(3)), scipy.sparse.csr_array(np.eye(3)[::-1])
    mdp = worlds.from_tables(P, np.zeros((3, 2)))
    assert mdp.successor.tolist() == [0, 2, 1, 1, 2, 0]


def test_infeasible_actions_may_stay_without_changing_the_optimum():
    # QuantEcon's convention: reward -inf where an action does not exist.
    P = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    R = np.array([[1.0, 0.5], [-2.0, -np.inf]])
    mdp = worlds.from_tables(P, R, layout="sas", missing="stay")
    values = planning.optimal(make(mdp, "full"), 0.9).values
    assert values == pytest.approx([5.0, -20.0])  # 0.5 for ever in state 0; -2 for ever in state 1


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_gymnasium_tables_have_the_values_of_textbook_value_iteration(env_id):
    table = gymnasium.make(env_id).unwrapped.P
    gamma = 0.95
    V = np.zeros(len(table))
    for _ in range(1500):
        V = np.array(
            [
                max(
                    sum(p * (r + gamma * (0.0 if end else V[t])) for p, t, r, end in table[s][a])
                    for a in table[s]
                )
                for s in table
            ]
        )
        if len(table) > 100 and _ > 400:
            break
    mdp = worlds.from_gymnasium(env_id)
    assert np.allclose(planning.optimal(make(mdp, "full"), gamma).values, V, atol=1e-7)
    spec = gymnasium.spec(env_id)
    assert mdp.time_limit == spec.max_episode_steps


def test_random_endings_and_rewards_are_imported():
    mdp = worlds.from_gymnasium("FrozenLake-v1", is_slippery=True)
    # Beside the goal an action may or may not reach it: the ending is random.
    ends = np.add.reduceat(mdp.terminates, mdp.first[:-1])
    assert ((ends > 0) & (ends < np.diff(mdp.first))).any()
    assert worlds.make("gymnasium:FrozenLake-v1", map_name="8x8").n_states == 64
    assert worlds.make("gymnasium:FrozenLake-v1", is_slippery="false").n_outcomes == 64


def test_states_and_actions_of_gymnasium_have_names():
    taxi = worlds.from_gymnasium("Taxi-v4")
    assert taxi.action_labels == ("SOUTH", "NORTH", "EAST", "WEST", "PICKUP", "DROPOFF")
    assert len(set(taxi.state_labels)) == 500
    env = gymnasium.make("Taxi-v4").unwrapped
    assert taxi.state_labels[env.encode(3, 1, 2, 0)] == "3,1 at Y to R"
    assert taxi.state_labels[env.encode(0, 4, 4, 3)] == "0,4 in taxi to B"
    south = taxi.first[taxi.find_state("3,1 at Y to R") * 6 + taxi.find_action("SOUTH")]
    assert taxi.state_labels[taxi.successor[south]] == "4,1 at Y to R"
    lake = worlds.from_gymnasium("FrozenLake-v1", desc=["SFF", "FHG"])
    assert lake.state_labels == ("0,0", "0,1", "0,2", "1,0", "1,1", "1,2")
    assert lake.find_state("3") == lake.find_state("1,0") == 3
    cliff = worlds.from_gymnasium("CliffWalking-v1")
    assert cliff.state_labels[36] == "3,0"
    assert cliff.action_labels == ("UP", "RIGHT", "DOWN", "LEFT")


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_names_do_not_change_what_is_run(name):
    mdp = worlds.from_gymnasium(name)
    bare = replace(mdp, state_labels=(), action_labels=())
    assert bare.state_labels[:2] == ("0", "1")
    assert fingerprint(make(mdp, "ask")) == fingerprint(make(bare, "ask"))


def test_environments_without_a_table_are_named():
    with pytest.raises(MonMDPError, match="CartPole-v1 has no transition table"):
        worlds.from_gymnasium("CartPole-v1")
    with pytest.raises(MonMDPError, match="gymnasium has no environment"):
        worlds.from_gymnasium("NoSuchLake-v9")
    with pytest.raises(MonMDPError, match="gymnasium cannot make 'Taxi-v3'"):  # and no warning
        worlds.from_gymnasium("Taxi-v3")
    with pytest.raises(MonMDPError, match="has no parameter 'no_such_option'"):
        worlds.from_gymnasium("FrozenLake-v1", no_such_option=1)
    with pytest.raises(MonMDPError, match="gymnasium cannot make"):
        worlds.from_gymnasium("FrozenLake-v1", map_name="9x9")
    with pytest.raises(MonMDPError, match="an id or a Gymnasium environment expected"):
        worlds.from_gymnasium(3)
    with pytest.raises(MonMDPError, match="ambiguous"):
        make("gymnasium:FrozenLake-v1", "level-up", start="uniform")
    assert make("gymnasium:FrozenLake-v1", "ask", start="5", time_limit=7).mdp.start[5] == 1
    with pytest.raises(MonMDPError, match="has no button"):
        make("gymnasium:FrozenLake-v1", "button")
    assert make("gymnasium:FrozenLake-v1", "button", button="0:LEFT").n_states == 32


def test_dense_oracle_agrees_with_frozen_lake():
    m = make("gymnasium:FrozenLake-v1", "ask")
    assert np.allclose(planning.optimal(m).values, dense_optimal_values(m, 0.99), atol=1e-8)
