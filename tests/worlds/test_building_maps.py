"""Maps built from arrays, against the same rules applied cell by cell; and stopping a build."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monmdp import MDP, MonMDPError, memory, worlds
from monmdp.worlds import gridmap
from monmdp.worlds.gridmap import ACTIONS, MOVES, START, STAY, WALL, parse_map
from processes import stopped

HEADER = """\
tile L: land -5 hidden
tile é: stuck 0.25 land 0.5
tile 😀: one_way left stay 2
tile 1: stuck 1
"""


def cell_by_cell(text, *, slip=0.0, one_way="push", solvable=False):
    """The outcomes of a map by its rules, one at a time."""
    grid = parse_map(text)
    cells = [(r, c) for r, row in enumerate(grid.rows) for c, t in enumerate(row) if t != WALL]
    number = {cell: s for s, cell in enumerate(cells)}
    tile = [grid.tiles[grid.rows[r][c]] for r, c in cells]

    def moved(s, action):
        there = tuple(np.add(cells[s], MOVES[action]).tolist())
        return number.get(there, s)

    def target(s, action):
        forced = tile[s].one_way
        if forced is None or action == forced:
            return moved(s, action)
        return moved(s, forced) if one_way == "push" else s

    outcomes = []
    for s in range(len(cells)):
        for action in range(len(ACTIONS)):
            for executed in range(len(ACTIONS)):
                weight = (1 - slip) * (action == executed) + slip / 4 * (executed != STAY)
                if not weight:
                    continue
                to = target(s, executed)
                paid = executed == STAY and tile[s].stay is not None
                reward = tile[s].stay if paid else tile[to].land
                for chance, at, pays, ends in (
                    (weight * (1 - tile[s].stuck), to, reward, paid),
                    (weight * tile[s].stuck, s, tile[s].land, False),
                ):
                    hidden = tile[at].hidden and not solvable
                    outcomes.append((s, action, at, chance, pays, ends, hidden))
    starts = [number[cell] for cell in grid.start] or [
        s for s, (r, c) in enumerate(cells) if grid.rows[r][c] == START
    ]
    start = np.bincount(starts, minlength=len(cells)) / len(starts)
    return outcomes, start, tuple(f"{r},{c}" for r, c in cells)


@settings(max_examples=60, deadline=None)
@given(
    tiles=st.lists(
        st.lists(st.sampled_from(".@$gSW?o<v>^#Lé😀1"), min_size=3, max_size=3),
        min_size=1, max_size=4,
    ),
    slip=st.sampled_from([0.0, 0.1, 0.37, 1.0]),
    one_way=st.sampled_from(["push", "block"]),
    solvable=st.booleans(),
    block=st.sampled_from([1, 2, 5, 1000]),
)  # fmt: skip
def test_a_map_follows_its_rules_cell_by_cell(tiles, slip, one_way, solvable, block):
    tiles[0][0] = START  # several starts are as good as one
    text = HEADER + "---\n" + "\n".join("".join(row) for row in tiles)
    options = {"slip": slip, "one_way": one_way, "solvable": solvable}
    outcomes, start, labels = cell_by_cell(text, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gridmap, "BLOCK", block)
        mdp = worlds.grid_world(text, **options)
    plain = MDP.from_outcomes(
        outcomes, name="m", n_states=len(labels), n_actions=len(ACTIONS), start=start
    )
    for name in ("first", "successor", "probability", "reward", "terminates", "hidden", "start"):
        assert getattr(mdp, name).tobytes() == getattr(plain, name).tobytes(), name
    assert mdp.state_labels == labels
    assert [f"{r},{c}" for r, c in mdp.cells] == list(labels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@.\n.x.", r"row 1, column 1: unknown tile 'x'"),
        ("@.\n...\nx.", r"row 1 has 3 columns, row 0 has 2"),
        ("@.\n..\nx...", r"row 2, column 0: unknown tile 'x'"),
        ("start: 0,0; 9,0; 9,9\n---\n..", r"start: row 9, column 0 lies outside the map"),
        ("start: 99999999999999999999,0\n---\n..", "row 99999999999999999999, column 0 lies"),
        ("start: 0,1\n---\n.#", r"start: row 0, column 1 is a wall"),
        ("..", "no start"),
        ("start: 0,0\n---\n@.", "given twice"),
        ("##", "only walls"),
    ],
)
def test_the_first_mistake_in_a_map_is_named(text, message):
    with pytest.raises(MonMDPError, match=message):
        worlds.grid_world(text)


@pytest.mark.parametrize("slip", [0.0, 0.1])
def test_a_map_that_does_not_fit_is_refused_before_it_is_built(slip, monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**6)
    with pytest.raises(MonMDPError, match="a map of 10,000 cells would take about"):
        worlds.grid_world("@" + "." * 9_999, slip=slip)


def test_tables_that_do_not_fit_are_refused_before_they_are_built(monkeypatch):
    P = np.full((30, 30, 30), 1 / 30)
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**6)
    with pytest.raises(MonMDPError, match="P with 27,000 entries would take about"):
        worlds.from_tables(P, np.zeros((30, 30)), layout="sas")
    with pytest.raises(MonMDPError, match="2 states with 10,000,000 actions would take about"):
        worlds.from_tables(np.eye(2), [0.0, 0.0], s_indices=[0, 1], a_indices=[0, 9_999_999])


BUILDING = """
import signal

from monmdp import worlds

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
text = "@" + "\\n".join(["." * 300] * 300)[1:]
print("begun", flush=True)
while True:
    worlds.grid_world(text, slip=0.1)
"""


def test_an_interrupt_comes_through_while_a_map_is_built():
    words = [sys.executable, "-c", BUILDING]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    err, seconds = stopped(process, signal.SIGINT)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert seconds < 10  # it takes a fraction of one; the machine may be busy
