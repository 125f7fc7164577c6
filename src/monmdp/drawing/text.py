"""Worlds and policies as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from monmdp.drawing.labels import (
    apart,
    demand_problem,
    demand_world,
    marked_states,
    rows_of,
    shortened,
    tile_name,
)
from monmdp.model.arrays import BoolArray, FloatArray, IntArray, frozen
from monmdp.model.mdp import MDP
from monmdp.model.monmdp import MonMDP
from monmdp.worlds.gridmap import MOVES, START, TILES, WALL, Tile

MAX_LINES = 40
"""pairs or states that are listed; the rest are only counted"""
LABEL = 24
"""letters of a label in a list, or more if it takes more to tell labels apart"""
MAX_SPACED = 40
"""widest map with spaces between its columns"""
TIE = 1e-6
"""two actions count as tied when their probabilities differ by less"""

ARROWS = {
    frozenset(names.split()): glyph
    for glyph, names in {
        "←": "LEFT", "↓": "DOWN", "→": "RIGHT", "↑": "UP", "•": "STAY", "↔": "LEFT RIGHT",
        "↕": "DOWN UP", "↖": "LEFT UP", "↗": "RIGHT UP", "↘": "DOWN RIGHT", "↙": "DOWN LEFT",
    }.items()
}  # fmt: skip
SEVERAL = "+"


def world_text(mdp: MDP, *, agent: int | None = None) -> str:
    """Return the world as text: its map with a legend, or its table, and a line of numbers.

    `@` marks the cells where an episode may start, or the agent if it is given.

    >>> from monmdp import drawing, worlds
    >>> print(drawing.world_text(worlds.make("loop")).splitlines()[-1])
    9 states, 5 actions (LEFT, DOWN, RIGHT, UP, STAY), time limit 50 steps, r_min 0, r_max 1
    """
    demand_world(mdp, "world_text")
    marked = marked_states(mdp, agent)
    who = "start" if agent is None else "agent"
    lines = [mdp.name, ""]
    if mdp.picture is None:
        lines += [*_table(mdp), ""]
        names = [mdp.state_labels[s] for s in marked]
        lines.append(shortened(f"{who}: {'; '.join(names)}", 100))
    else:
        tiles = sorted(set("".join(rows_of(mdp))))
        legend = [f"{tile}  {_meaning(mdp, tile)}" for tile in tiles]
        lines += [*_map(mdp, marked), "", f"{START}  {who}", *legend]
    if mdp.button is not None:
        state, action = mdp.button
        name = f"state {mdp.state_labels[state]}"
        where = name if mdp.cells is None else "{},{}".format(*mdp.cells[state])
        lines.append(f"button: {where} {mdp.action_labels[action]}")
    actions = ", ".join(mdp.action_labels)
    limit = "none" if mdp.time_limit is None else f"{mdp.time_limit} steps"
    lines.append(
        f"{mdp.n_states} states, {mdp.n_actions} actions ({actions}), time limit {limit}, "
        f"r_min {mdp.r_min:g}, r_max {mdp.r_max:g}"
    )
    return "\n".join(lines)


def grid_text(mdp: MDP, *, agent: int | None = None) -> str:
    """Return only the map with the agent `@` in it; without a map, the agent's state by name.

    >>> from monmdp import drawing, worlds
    >>> print(drawing.grid_text(worlds.make("loop"), agent=4))
       0 1 2
    0  . < .
    1  . @ ^
    2  . . $
    """
    demand_world(mdp, "grid_text")
    marked = marked_states(mdp, agent)
    if mdp.picture is None:
        return "state " + "; ".join(mdp.state_labels[s] for s in marked)
    return "\n".join(_map(mdp, marked))


def policy_text(monmdp: MonMDP, policy: ArrayLike, *, max_states: int = 2000) -> str:
    """Return a policy [s, a] as text, one block for each monitor state.

    In worlds with a map every cell shows the likeliest environment action, or a glyph for several
    tied ones; in other worlds there is a line for each state. At most `max_states` joint states
    are shown; the rest are only counted.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "ask")
    >>> print(monmdp.drawing.policy_text(problem, monmdp.solve(problem).minimax.policy))
    monitor state ON:
       0 1 2
    0  ↓ + ←
    1  ↓ + +
    2  → → •
    •  STAY
    +  several actions are tied
    monitor action NO-OP everywhere
    """
    demand_problem(monmdp, "policy_text")
    mdp, monitor = monmdp.mdp, monmdp.monitor
    env, mon = likeliest(monmdp, policy)
    block = _list_block if mdp.picture is None else _map_block
    shown = min(monitor.n_states, max(1, max_states // mdp.n_states))
    alike: dict[str, list[str]] = {}  # monitor states with the same block share it
    for sm in range(shown):
        same = bool((mon[:, sm] == mon[0, sm]).all())
        actions = () if same else monitor.actions
        lines = block(mdp, actions, env[:, sm], mon[:, sm], max_states)
        if same:
            lines.append(f"monitor action {either(monitor.actions, mon[0, sm])} everywhere")
        alike.setdefault("\n".join(lines), []).append(monitor.states[sm])
    blocks = [
        f"monitor state{'s' if len(states) > 1 else ''} {', '.join(states)}:\n{lines}"
        for lines, states in alike.items()
    ]
    return "\n\n".join([*blocks, *_more(monitor.n_states - shown, "monitor state")])


def likeliest(monmdp: MonMDP, policy: ArrayLike) -> tuple[BoolArray, BoolArray]:
    """Return which actions of a policy [s, a] are likeliest, [sᵉ, sᵐ, aᵉ] and [sᵉ, sᵐ, aᵐ]."""
    shape = (monmdp.n_states, monmdp.n_actions)
    chance = frozen(policy, np.float64, shape, "policy [s, a]").reshape(monmdp.shape)
    chosen = chance >= chance.max(axis=(2, 3), keepdims=True) - TIE
    return np.any(chosen, axis=3), np.any(chosen, axis=2)


def either(labels: Sequence[str], chosen: BoolArray) -> str:
    """Name the chosen ones of several actions."""
    if chosen.all() and len(labels) > 2:
        return "any"
    return " or ".join(label for label, used in zip(labels, chosen, strict=True) if used)


# ---- the world ------------------------------------------------------------------------------


def _grid(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of short cells, with the numbers of rows and columns around them."""
    width = max(len(row) for row in rows)
    cell = max(len(tile) for row in rows for tile in row)
    gap = " " if width <= MAX_SPACED or cell > 1 else ""
    margin = len(str(len(rows) - 1))
    digits = len(str(width - 1))
    # Numbers of columns are written downwards, so that a column stays one character wide.
    numbers = zip(*(str(column).rjust(digits) for column in range(width)), strict=True)
    labelled = [*(("", digit) for digit in numbers), *((str(r), row) for r, row in enumerate(rows))]
    return [
        f"{label:>{margin}}  {gap.join(tile.rjust(cell) for tile in row)}".rstrip()
        for label, row in labelled
    ]


def _map(mdp: MDP, marked: Sequence[int]) -> list[str]:
    tiles = [list(row) for row in rows_of(mdp)]
    for row, column in _cells(mdp)[marked]:
        tiles[row][column] = START
    return _grid(tiles)


def _meaning(mdp: MDP, tile: str) -> str:
    """Say what a tile does in this world, which may give a built-in tile its own rules."""
    if tile == WALL:
        return "wall"
    known = TILES.get(tile)
    at_tile = np.array([t == tile for row in rows_of(mdp) for t in row if t != WALL])
    if known is not None and _keeps_rules(mdp, at_tile, known):
        return known.meaning
    state = mdp.outcomes.state
    ends = mdp.terminates & (mdp.successor == state)  # where it began, as STAY does on a chest
    # Some worlds list states in which nothing happens any more.
    over = np.bincount(state[~ends | (mdp.reward != 0)], minlength=mdp.n_states) == 0
    arrives = at_tile[mdp.successor] & ~over[state]
    if not arrives.any():
        return tile_name(tile)
    facts = []
    stays = arrives & ends & ("STAY" in mdp.action_labels)
    if stays.any() and not (arrives & ~stays & mdp.terminates).any():
        facts.append(f"STAY pays {_range(mdp.reward[stays])} and ends")
        arrives &= ~stays
    if mdp.reward[arrives].any():
        facts.append(f"arriving or remaining pays {_range(mdp.reward[arrives])}")
    if arrives.any() and mdp.terminates[arrives].all():
        facts.append("ends the episode")
    if mdp.hidden[arrives | stays].all():
        facts.append("is never seen")
    return f"{tile_name(tile)}: {', '.join(facts)}" if facts else tile_name(tile)


def _range(rewards: FloatArray) -> str:
    low, high = rewards.min(), rewards.max()
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _keeps_rules(mdp: MDP, at_tile: BoolArray, tile: Tile) -> bool:
    """Whether the world's outcomes follow the built-in rules of the tile."""
    state = mdp.outcomes.state
    arrives = at_tile[mdp.successor]
    paid, landed = arrives & mdp.terminates, arrives & ~mdp.terminates
    if (mdp.reward[landed] != tile.land).any() or (mdp.hidden[arrives] != tile.hidden).any():
        return False
    pays = paid.any() and (tile.stay is None or (mdp.reward[paid] == tile.stay).all())
    if pays != (tile.stay is not None):
        return False
    own = mdp.successor == state
    if tile.stuck:
        stays = np.bincount(mdp.pair_of_outcome, own * mdp.probability, mdp.n_pairs)
        least = stays.reshape(mdp.n_states, mdp.n_actions)[at_tile].min()
        return bool(abs(least - tile.stuck) < TIE)
    if tile.one_way is not None:
        cells = _cells(mdp)
        step = cells[mdp.successor] - cells[state]
        return bool((own | (step == MOVES[tile.one_way]).all(axis=1))[at_tile[state]].all())
    return True


def _cells(mdp: MDP) -> IntArray:
    assert mdp.cells is not None
    return mdp.cells


def _table(mdp: MDP) -> list[str]:
    """One line for each pair: its successors with probability and reward."""
    shown = min(mdp.n_pairs, MAX_LINES)
    rows = [("state", "action", "successor (probability, reward)")]
    there = {pair // mdp.n_actions for pair in range(shown)}
    there |= {int(s) for s in mdp.successor[: mdp.first[shown]]}
    width = apart((mdp.state_labels[s] for s in there), LABEL)
    of_actions = apart(mdp.action_labels, LABEL)
    for pair in range(shown):
        state, action = divmod(pair, mdp.n_actions)
        label = shortened(mdp.state_labels[state], width)
        taken = shortened(mdp.action_labels[action], of_actions)
        rows.append((label, taken, _outcomes(mdp, pair, width)))
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{s:<{wide[0]}}  {a:<{wide[1]}}  {rest}" for s, a, rest in rows]
    return [*lines, *_more(mdp.n_pairs - shown, "pair")]


def _outcomes(mdp: MDP, pair: int, width: int, most: int = 4) -> str:
    first, end = int(mdp.first[pair]), int(mdp.first[pair + 1])
    words = []
    for o in range(first, min(end, first + most)):
        label = shortened(mdp.state_labels[mdp.successor[o]], width)
        parts = [f"{mdp.probability[o]:.3g}", f"{mdp.reward[o]:g}"]
        parts += ["ends"] * bool(mdp.terminates[o]) + ["hidden"] * bool(mdp.hidden[o])
        words.append(f"{label} ({', '.join(parts)})")
    return "  ".join([*words, *_more(end - first - most, "outcome")])


# ---- policies -------------------------------------------------------------------------------


def _map_block(
    mdp: MDP, monitor_actions: Sequence[str], env: BoolArray, mon: BoolArray, max_states: int
) -> list[str]:
    """The maps of one monitor state; `env` [se, ae] and `mon` [se, am] are the chosen actions.

    Without names of monitor actions there is only the map of the environment's actions.
    """
    n_rows, width = len(rows_of(mdp)), len(rows_of(mdp)[0])
    shown = min(n_rows, max(1, max_states // width)) if mdp.n_states > max_states else n_rows
    cells = _cells(mdp)
    cells = cells[cells[:, 0] < shown]  # the first ones: states are in reading order
    env, mon = env[: len(cells)], mon[: len(cells)]

    def lay_out(signs: Sequence[str]) -> list[str]:
        rows = [[WALL] * width for _ in range(shown)]
        for (row, column), sign in zip(cells, signs, strict=True):
            rows[row][column] = sign
        return _grid(rows)

    glyphs = [_glyph(mdp, chosen) for chosen in env]
    lines = [*lay_out(glyphs), *_more(n_rows - shown, "row"), *_glyph_key(mdp, env, glyphs)]
    if monitor_actions:
        signs = _signs(mon)
        lines += ["monitor actions:", *lay_out([signs[chosen.tobytes()] for chosen in mon])]
        key = {signs[chosen.tobytes()]: either(monitor_actions, chosen) for chosen in mon}
        lines += [f"{sign}  {key[sign] if sign != SEVERAL else 'any'}" for sign in sorted(key)]
    return lines


def _signs(mon: BoolArray) -> dict[bytes, str]:
    """A character for each set of monitor actions: its number, a letter if several are tied."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    signs: dict[bytes, str] = {}
    for chosen in mon:
        if chosen.tobytes() not in signs:
            alone, free = chosen.sum() == 1, chosen.all()
            sign = str(np.argmax(chosen)) if alone else SEVERAL if free else next(letters, SEVERAL)
            signs[chosen.tobytes()] = sign
    return signs


def _glyph(mdp: MDP, chosen: BoolArray) -> str:
    """One character for the chosen environment actions of a cell."""
    names = frozenset(mdp.action_labels[a].upper() for a in np.flatnonzero(chosen))
    other = str(np.argmax(chosen)) if len(names) == 1 else SEVERAL
    return ARROWS.get(names, other)


def _glyph_key(mdp: MDP, env: BoolArray, glyphs: Sequence[str]) -> list[str]:
    """Explain the glyphs that do not speak for themselves, as far as they occur."""
    key = {
        glyph: "several actions are tied" if glyph == SEVERAL else either(mdp.action_labels, chosen)
        for chosen, glyph in zip(env, glyphs, strict=True)
        if glyph not in "←↓→↑"
    }
    known = ARROWS.values()
    order = sorted(key, key=lambda glyph: (glyph not in known, glyph == SEVERAL, glyph))
    return [f"{glyph}  {key[glyph]}" for glyph in order]


def _list_block(
    mdp: MDP, monitor_actions: Sequence[str], env: BoolArray, mon: BoolArray, max_states: int
) -> list[str]:
    """The same in a world without a map: a line for each state."""
    shown = min(mdp.n_states, MAX_LINES, max(1, max_states))
    width = apart(mdp.state_labels[:shown], LABEL)
    lines = []
    for s in range(shown):
        line = f"{shortened(mdp.state_labels[s], width)}: {either(mdp.action_labels, env[s])}"
        also = f"; monitor {either(monitor_actions, mon[s])}" if monitor_actions else ""
        lines.append(line + also)
    return [*lines, *_more(mdp.n_states - shown, "state")]


def _more(n: int, what: str) -> list[str]:
    """A line that counts what is left out, if anything is."""
    return [f"… and {n} more {what}{'s' if n > 1 else ''}"] if n > 0 else []


def sparkline(values: ArrayLike, width: int = 60) -> str:
    """Draw a curve in one line of block characters, from its least to its greatest value.

    >>> from monmdp import drawing
    >>> drawing.sparkline([0, 1, 2, 4, 8])
    '▁▁▂▄█'
    """
    curve = np.asarray(values, dtype=np.float64)
    parts = np.array_split(curve, min(width, len(curve)))
    means = np.array([part.mean() for part in parts])
    low, high = means.min(), means.max()
    height = (means - low) / (high - low) if high > low else np.full(len(means), 0.5)
    return "".join("▁▂▃▄▅▆▇█"[int(h * 7.999)] for h in height)
