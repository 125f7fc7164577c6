"""Grid worlds from text maps: tile rules -> MDP.

A map file is a small header of ``key: value`` lines, a line ``---``, and the rows of tiles::

    start: 0,0              # row,column from 0; several: 0,0; 2,3   (or @ tiles in the map)
    button: 5,1 DOWN        # the cell and the action that push the button
    time_limit: 50
    r_min: -10              # default: the least reward in the map, at most 0
    tile L: land -5 hidden  # a tile of your own, or a built-in one with other rules
    ---
    ..?...
    g.?..$

The five actions are LEFT 0, DOWN 1, RIGHT 2, UP 3, STAY 4. States are the cells that are not
walls, in reading order. Rewards are given by the *landing* cell. Moving into the border or a wall
keeps the agent in place, and it lands on its own cell again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from monmdp.errors import MonMDPError, nearest
from monmdp.files import read_text
from monmdp.memory import demand_room
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.labels import NumberLabels, code_points
from monmdp.model.mdp import MDP, number, parse_cell, probability, whole_number

ACTIONS = ("LEFT", "DOWN", "RIGHT", "UP", "STAY")
STAY = 4
MOVES = np.array([(0, -1), (1, 0), (0, 1), (-1, 0), (0, 0)])
DEFAULT_TIME_LIMIT = 50
CELL = 800
"""bytes that building a cell takes"""
SLIPPERY_CELL = 2000
"""the same if moves slip: a cell has four times as many outcomes"""
BLOCK = 20_000
"""cells whose outcomes are made at a time, to bound memory"""
WALL = "#"
START = "@"


@dataclass(frozen=True)
class Tile:
    """What a cell does to an agent that lands on it or acts from it."""

    meaning: str
    land: float = 0.0
    """reward for landing (or remaining) here"""
    stay: float | None = None
    """reward for STAY here, which ends the episode; None: STAY is a landing like any other"""
    hidden: bool = False
    """⊥: the reward of landing here is never shown (but by the Full monitor)"""
    stuck: float = 0.0
    """chance that an action taken here does nothing"""
    one_way: int | None = None
    """the only direction that leads out of this cell"""


TILES: dict[str, Tile] = {
    ".": Tile("empty"),
    START: Tile("start (empty)"),
    "$": Tile("treasure chest: STAY pays 1 and ends", stay=1.0),
    "g": Tile("gold bars: STAY pays 0.1 and ends", stay=0.1),
    "S": Tile("snake: landing costs 10", land=-10.0),
    "W": Tile("wasp: landing costs 0.1", land=-0.1),
    "?": Tile("⊥: landing costs 10 and is never seen", land=-10.0, hidden=True),
    "o": Tile("hole: an action works with chance 0.1", stuck=0.9),
    "<": Tile("one-way to the left", one_way=0),
    "v": Tile("one-way down", one_way=1),
    ">": Tile("one-way to the right", one_way=2),
    "^": Tile("one-way up", one_way=3),
}


@dataclass
class GridMap:
    """A parsed map: tiles and what the header says."""

    name: str
    rows: tuple[str, ...]
    tiles: dict[str, Tile]
    start: list[tuple[int, int]] = field(default_factory=list)
    """as the header says; if it does not, the tiles do"""
    button: tuple[tuple[int, int], int] | None = None
    time_limit: int = DEFAULT_TIME_LIMIT
    r_min: float | None = None
    r_max: float | None = None


def grid_world(
    text: str | os.PathLike[str],
    *,
    name: str = "grid",
    one_way: Literal["push", "block"] = "push",
    slip: float = 0.0,
    solvable: bool = False,
    start: str | None = None,
    time_limit: int | None = None,
    r_min: float | None = None,
) -> MDP:
    """Build the MDP of a text map.

    Args:
        text: header and tiles, as in a map file; or the path of one, as a `Path`.
        name: the world's name, unless the header gives one.
        one_way: ``push`` moves the agent in a one-way cell's direction whatever the action (the
            paper's text); ``block`` leaves it in place for any other action (the released code).
        slip: chance that a uniformly random move is executed instead of the chosen action.
        solvable: show the ⊥ cells' rewards like any other (they stay what they are).
        start: ``row,column``; replaces the map's start.
        time_limit: replaces the map's time limit.
        r_min: replaces the map's r_min.

    >>> from monmdp import worlds
    >>> mdp = worlds.grid_world("@.?$", time_limit=20)
    >>> mdp.n_states, mdp.r_min, mdp.r_max
    (4, -10.0, 1.0)
    """
    grid = parse_map(read_text(text) if isinstance(text, os.PathLike) else text, name)
    size = len(grid.rows) * len(grid.rows[0])
    demand_room((SLIPPERY_CELL if slip else CELL) * size, f"a map of {size:,} cells")
    slip = probability(slip, "slip")
    if one_way not in ("push", "block"):
        raise MonMDPError(f"one_way={one_way!r}{nearest(str(one_way), ('push', 'block'))}")
    if start is not None:
        grid.start = _cells(start, "start")
    characters = _characters(grid.rows)
    is_cell = characters != ord(WALL)
    # [row, column] the state of each cell in reading order; -1 for walls
    state_at = np.where(is_cell, np.cumsum(is_cell).reshape(is_cell.shape) - 1, -1)
    cells = np.argwhere(is_cell)
    n = len(cells)

    # Every kind of tile is looked up once; `kind` [cell] says which one lies where.
    found, kind = np.unique(characters[is_cell], return_inverse=True)
    tiles = [grid.tiles[chr(character)] for character in found.tolist()]
    land = np.array([tile.land for tile in tiles])[kind]
    pays = np.array([tile.stay is not None for tile in tiles])[kind]
    stay = np.array([tile.stay or 0.0 for tile in tiles])[kind]
    bottom = np.array([tile.hidden for tile in tiles])[kind]
    stuck = np.array([tile.stuck for tile in tiles])[kind]
    forced = np.array([-1 if tile.one_way is None else tile.one_way for tile in tiles])[kind]
    target = _targets(state_at, cells, forced, one_way)

    outcomes = _outcomes(target, land, stay, pays, stuck, bottom & (not solvable), slip)
    rewards = np.concatenate([[0.0], land, stay[pays]])
    best_stay = stay[pays].max(initial=-np.inf)
    goal = np.zeros((n, len(ACTIONS)), dtype=bool)
    goal[:, STAY] = pays & (stay == best_stay)
    starts: Any = [_state_of(cell, state_at, "start") for cell in grid.start]
    if not starts:
        starts = state_at[characters == ord(START)]
    if not len(starts):
        raise MonMDPError("no start: mark a cell with @ or write 'start: row,column' in the header")
    start_distribution = np.bincount(starts, minlength=n) / len(starts)
    button = None
    if grid.button is not None:
        button = (_state_of(grid.button[0], state_at, "button"), grid.button[1])
    low = r_min if r_min is not None else grid.r_min
    return MDP.from_blocks(
        outcomes,
        name=grid.name,
        n_states=n,
        n_actions=len(ACTIONS),
        start=start_distribution,
        r_min=rewards.min() if low is None else low,
        r_max=rewards.max() if grid.r_max is None else grid.r_max,
        time_limit=grid.time_limit if time_limit is None else time_limit,
        state_labels=NumberLabels(cells),
        action_labels=ACTIONS,
        picture=tuple(row.replace(START, ".") for row in grid.rows),
        button=button,
        goal=goal,
        bottom=bottom,
    )


def _characters(rows: Sequence[str]) -> NDArray[np.uint32]:
    """[row, column] the code points of a map."""
    return code_points("".join(rows)).reshape(len(rows), -1)


def _state_of(cell: tuple[int, int], state_at: IntArray, what: str) -> int:
    rows, columns = state_at.shape
    row, column = cell
    if not (0 <= row < rows and 0 <= column < columns):
        raise MonMDPError(
            f"{what}: row {row}, column {column} lies outside the map; "
            f"rows are 0 to {rows - 1}, columns 0 to {columns - 1}"
        )
    if state_at[row, column] < 0:
        raise MonMDPError(f"{what}: row {row}, column {column} is a wall")
    return int(state_at[row, column])


def _targets(state_at: IntArray, cells: IntArray, forced: IntArray, one_way: str) -> IntArray:
    """[cell, executed action] where it leads, ignoring holes."""
    walled = np.pad(state_at, 1, constant_values=-1)  # the border is a wall like any other
    row, column = cells.T + 1
    own = np.arange(len(cells))[:, None]
    landing = np.stack([walled[row + down, column + right] for down, right in MOVES], axis=1)
    target: IntArray = np.where(landing >= 0, landing, own)
    is_one_way = forced >= 0
    if not is_one_way.any():
        return target
    if one_way == "push":
        pushed = target[np.arange(len(cells)), np.maximum(forced, 0)]
        return np.where(is_one_way[:, None], pushed[:, None], target)
    blocked = is_one_way[:, None] & (np.arange(len(ACTIONS)) != forced[:, None])
    return np.where(blocked, own, target)


def _outcomes(
    target: IntArray,
    land: FloatArray,
    stay: FloatArray,
    pays: BoolArray,
    stuck: FloatArray,
    hidden: BoolArray,
    slip: float,
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Columns (state, action, successor, probability, reward, terminates, hidden) in blocks.

    They are made as arrays [cell, way]: a way is an action and what is executed in its place, and
    whether that works or the agent is stuck. So they come almost in the order that `MDP` wants.
    """
    n, n_actions = target.shape
    slips = np.where(np.arange(n_actions) != STAY, slip / 4, 0.0)
    weights = (1 - slip) * np.eye(n_actions) + slips  # [action, executed]
    action, executed = np.nonzero(weights)
    weight = weights[action, executed]
    any_stuck = stuck.any()
    for begin in range(0, n, BLOCK):
        here = slice(begin, min(begin + BLOCK, n))
        own = np.arange(here.start, here.stop)[:, None]
        # STAY pays only where a chest or gold lies; anything else is a landing.
        paid = pays[here, None] & (executed == STAY)
        to = np.take(target[here], executed, axis=1)
        reward = np.where(paid, stay[here, None], land[to])
        chance = weight * (1 - stuck[here, None])
        ways = np.broadcast_arrays(own, action, to, chance, reward, paid, hidden[to])
        if any_stuck:
            chance = weight * stuck[here, None]
            landed = (land[here, None], False, hidden[here, None])
            stays = np.broadcast_arrays(own, action, own, chance, *landed)
            # [cell, way, whether it is stuck]
            ways = tuple(np.stack(of, axis=2) for of in zip(ways, stays, strict=True))
        yield tuple(column.reshape(-1) for column in ways)


# ---- parsing --------------------------------------------------------------------------------


def parse_map(text: str, name: str = "grid") -> GridMap:
    """Read header and tiles; errors name the line, or the row and column of the map."""
    if not isinstance(text, str):
        raise MonMDPError(f"a map is text, got {text!r}")
    lines = text.removeprefix("\ufeff").splitlines()
    if not any(line.strip() for line in lines):
        raise MonMDPError("the map is empty; it needs at least one row of tiles")
    rules = [i for i, line in enumerate(lines) if line.strip() == "---"]
    header, body = (lines[: rules[0]], lines[rules[0] + 1 :]) if rules else ([], lines)
    if not rules:
        for i, line in enumerate(lines):
            if ":" in line:
                raise MonMDPError(
                    f"line {i + 1}: {line.strip()!r} looks like a header; "
                    "the header ends with a line '---'"
                )
    grid = GridMap(name, (), dict(TILES))
    given: set[str] = set()
    for i, line in enumerate(header):
        if line.strip() and not line.lstrip().startswith("#"):
            key = line.partition(":")[0].strip()
            if key in given:
                raise MonMDPError(f"line {i + 1}: {key!r} is given twice")
            given.add(key)
            try:
                _read_header_line(line, grid)
            except MonMDPError as error:
                raise MonMDPError(f"line {i + 1}: {error}") from None
    filled = [i for i, line in enumerate(body) if line.strip()]
    if not filled:
        raise MonMDPError("there are no tiles after the header")
    grid.rows = tuple(line.rstrip() for line in body[filled[0] : filled[-1] + 1])
    _check_rows(grid)
    if grid.start and any(START in row for row in grid.rows):
        raise MonMDPError("the start is given twice: in the header and by @ in the map")
    return grid


def _check_rows(grid: GridMap) -> None:
    width = len(grid.rows[0])
    known = {*grid.tiles, WALL}
    for r, row in enumerate(grid.rows):
        if not known.issuperset(row):
            c, tile = next((c, tile) for c, tile in enumerate(row) if tile not in known)
            raise MonMDPError(
                f"row {r}, column {c}: unknown tile {tile!r}; "
                f"known are {' '.join(sorted(known))}"
                " (rows and columns count from 0; define your own with 'tile X: …')"
            )
        if len(row) != width:
            raise MonMDPError(
                f"row {r} has {len(row)} columns, row 0 has {width}; all rows must be equally long"
                f" (row {r} differs at column {min(len(row), width)})"
            )
    if not any(row.strip(WALL) for row in grid.rows):
        raise MonMDPError("the map has only walls")


def _read_header_line(line: str, grid: GridMap) -> None:
    key, colon, value = line.partition(":")
    key, value = key.strip(), value.split(" #")[0].strip()
    if key.split(" ")[0] == "tile":
        symbol = key[4:].strip()
        if not colon or len(symbol) != 1:
            raise MonMDPError(
                f"{line.strip()!r}: a tile is written 'tile X: …' with one character X"
            )
        if symbol in (WALL, START):
            raise MonMDPError(f"tile {symbol!r} cannot be redefined")
        grid.tiles[symbol] = _read_tile(value)
        return
    if not colon:
        raise MonMDPError(f"{line.strip()!r}: the header has lines 'key: value'")
    if not value:
        raise MonMDPError(f"{key!r} has no value")
    readers: dict[str, Callable[[str, str], Any]] = {
        "name": lambda text, _: text,
        "start": _cells,
        "button": _button,
        "time_limit": lambda text, what: whole_number(number(text, what), what, at_least=1),
        "r_min": number,
        "r_max": number,
    }
    if key not in readers:
        raise MonMDPError(f"unknown key {key!r}{nearest(key, (*readers, 'tile X'))}")
    setattr(grid, key, readers[key](value, key))


def _button(text: str, what: str) -> tuple[tuple[int, int], int]:
    *cell_words, action = text.split()
    cell = "".join(cell_words)
    if not cell or action.upper() not in ACTIONS:
        raise MonMDPError(
            f"{what} {text!r}: written 'row,column ACTION' with an action of {', '.join(ACTIONS)}"
        )
    cells = _cells(cell, what)
    if len(cells) > 1:
        raise MonMDPError(f"there can be only one {what}")
    return cells[0], ACTIONS.index(action.upper())


def _read_tile(text: str) -> Tile:
    """Read ``land -5 hidden``: words, each of which may take a value."""
    words = text.split()
    values: dict[str, Any] = {}
    readers: dict[str, Callable[[str, str], Any]] = {
        "land": number,
        "stay": number,
        "stuck": probability,
        "one_way": _direction,
    }
    while words:
        word = words.pop(0)
        if word == "hidden":
            values["hidden"] = True
        elif word in readers:
            if not words:
                raise MonMDPError(f"{word!r} needs a value")
            values[word] = readers[word](words.pop(0), word)
        else:
            raise MonMDPError(f"unknown word {word!r}{nearest(word, (*readers, 'hidden'))}")
    return Tile(text or "empty", **values)


def _direction(word: str, what: str) -> int:
    if word.upper() not in ACTIONS[:STAY]:
        raise MonMDPError(f"{what} {word!r}{nearest(word, ACTIONS[:STAY])}")
    return ACTIONS.index(word.upper())


def _cells(text: str, what: str) -> list[tuple[int, int]]:
    return [parse_cell(part, what) for part in str(text).split(";")]
