"""MiniGrid: a state is the grid, the agent's place and direction, and what it carries.

The reward of MiniGrid falls with the number of steps, 1 - 0.9·t/max_steps. The clock is set before
each step so that success pays exactly 1 and no step is truncated.

Objects are moved about, opened and locked, but they stay who they are, and some environments ask
for that. So a snapshot keeps the objects themselves and what they hold.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from monmdp.errors import MonMDPError
from monmdp.worlds.enumerating.access import (
    GYMNASIUMS,
    Access,
    ChangesMoreError,
    Own,
    Step,
    layers,
    own_wrappers,
)
from monmdp.worlds.enumerating.frozen import (
    NO_STATE,
    PLAIN,
    frozen_value,
    global_generators,
    stream,
)

DIRECTIONS = ("right", "down", "left", "up")
STILL = ("wall", "goal", "lava", "floor")
"""types of objects that nothing ever happens to"""
STATE = (
    "grid", "agent_pos", "agent_dir", "carrying", "step_count", "gen_obs", "_np_random",
    "_np_random_seed",
)  # fmt: skip
"""attributes that a snapshot covers, or that are no part of a state"""
PACKAGES = ("minigrid", "gymnasium", "typing", "builtins")
"""where MiniGrid's classes come from"""
LAYOUT = ("_gen_grid", "_gen_mission")
"""methods that draw a grid, and do nothing in a step"""
BEFORE = -1
"""the clock before a step, so that it ends at time 0"""


def is_minigrid(base: Any) -> bool:
    """Whether an environment is one of MiniGrid's; the package is not imported for that."""
    module = sys.modules.get("minigrid.minigrid_env")
    return module is not None and isinstance(base, module.MiniGridEnv)


def _steps_are_minigrids(base: Any) -> bool:
    """Whether no code but MiniGrid's own runs in a step: a grid alone may be somebody else's."""
    theirs, others = set[str](), set[str]()
    for kind in type(base).__mro__:
        named = theirs if kind.__module__.partition(".")[0] in PACKAGES else others
        named |= {name for name in vars(kind) if not name.startswith("__")}
    return others.isdisjoint(theirs - {*LAYOUT})


class _Watched:
    """A random generator that knows whether somebody used it."""

    def __init__(self, generator: Any) -> None:
        self.generator, self.used = generator, False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks, to copy it
            raise AttributeError(name)
        self.used = True
        return getattr(self.generator, name)


class _Layout(NamedTuple):
    """What a reset made, and no step changes."""

    number: int
    """the same after each reset that makes the same grid"""
    attributes: list[dict[str, Any]]
    """of the environment and its wrappers"""
    found: list[Any]
    """all objects"""
    objects: list[Any]
    """those that something can happen to"""
    names: list[str]
    """of these, for people"""
    who: dict[int, Hashable]
    """id of an object -> who it is, the same after each reset that makes the same grid"""
    rest: Hashable
    """what a snapshot does not cover"""


class _Snapshot(NamedTuple):
    layout: _Layout
    cells: list[Any]
    pos: tuple[int, int]
    direction: int
    carrying: Any
    attributes: list[dict[str, Any]]
    """of the objects"""
    arrangement: Hashable
    """which object is in which cell"""


class _Note(NamedTuple):
    """A state for people."""

    layout: int
    place: tuple[int, int]
    """row, column"""
    direction: str
    things: tuple[str, ...]
    """where each object is, or how it is"""


class CopiedMiniGrid(Access):
    """For an environment of MiniGrid's whose steps change more than a grid: all of it is copied."""

    def __init__(self, env: Any, own: Own) -> None:
        """See whether a wrapper says what is observed."""
        super().__init__(env, own)
        wrappers = own_wrappers(env)
        self.full_view = not any(isinstance(w, gymnasium.ObservationWrapper) for w in wrappers)

    def rewind(self) -> None:
        """Set the clock so that the next step ends at time 0."""
        super().rewind()
        self.env.unwrapped.step_count = BEFORE

    def observe(self, raw: Any) -> Any:
        """Return the whole grid as MiniGrid's FullyObsWrapper shows it, or what a wrapper does."""
        if not self.full_view:
            return super().observe(raw)
        base = self.env.unwrapped
        return super().observe(whole_grid(base, self.codes(base.grid.grid)))

    def codes(self, cells: Sequence[Any]) -> list[tuple[int, int, int]]:
        """Return how cells are shown."""
        return list(map(_encoded, cells))

    def row(self, observation: Any) -> NDArray[Any]:
        """Leave out the mission and the direction that stand beside an image."""
        return observation if self.full_view else _image(observation, super().row)

    def actions(self, n: int) -> tuple[str, ...]:
        """Return MiniGrid's names."""
        return tuple(action.name for action in self.env.unwrapped.actions)[:n]

    def time_limit(self) -> int | None:
        """Return the number of steps that MiniGrid allows."""
        return int(self.env.unwrapped.max_steps)


class MiniGrid(CopiedMiniGrid):
    """An access that keeps the objects and copies nothing else."""

    copies = False

    def __init__(self, env: Any, own: Own) -> None:
        """Watch the environment's generator, and save it the work of making views nobody sees."""
        super().__init__(env, own)
        self.base = env.unwrapped
        self.wrappers = own_wrappers(env)
        # Grid, agent and objects are all there is, `check` says; and nothing is drawn unseen.
        self.proven = not self.wrappers and own == Own() and _steps_are_minigrids(self.base)
        self._stand_in = _Watched(None)
        self._global = list(map(stream, global_generators()))
        self._layer = {id(layer): i for i, layer in enumerate(layers(env))}
        self._layouts: dict[Hashable, int] = {}
        self._codes: dict[int, tuple[int, int, int]] = {}
        self._kept: list[Any] = []
        self._before: tuple[list[Any], Hashable] = [], None
        if self.proven:
            self.base.gen_obs = dict

    def finish(self) -> None:
        """Let it make its views again, and have its generator back."""
        vars(self.base).pop("gen_obs", None)
        if self._stand_in.generator is not None:
            self.base._np_random = self._stand_in.generator

    # ---- states -----------------------------------------------------------------------------

    def reset(self, seed: int) -> Any:
        """Reset the environment, and watch its generator."""
        raw = super().reset(seed)
        self._stand_in = _Watched(self.base.np_random)
        self.base._np_random = self._stand_in
        self._before = [], None
        self._layout = self._new_layout()
        return raw

    def _new_layout(self) -> _Layout:
        """Find all objects, and give them names."""
        cells = self.base.grid.grid
        found: dict[int, Any] = {}
        waiting = [cell for cell in cells if cell is not None]
        for one in waiting:
            if id(one) not in found:
                found[id(one)] = one
                waiting += [] if one.contains is None else [one.contains]
        alike: Counter[Hashable] = Counter()
        who: dict[int, Hashable] = {id(None): None}
        movable: dict[tuple[str, str, int], Any] = {}
        for key, one in found.items():
            name = one.type, one.color
            who[key] = type(one), *name
            if one.type not in STILL:
                alike[name] += 1
                movable[(*name, alike[name])] = one
                who[key] = type(one), *name, alike[name]
        # In an order that is the same wherever they stand: grids that differ only in that are one.
        objects = [movable[name] for name in sorted(movable)]
        rest = self._rest(who)
        still = tuple(
            None if cell is None or cell.type not in STILL else who[id(cell)] for cell in cells
        )
        same = rest, still, tuple(who[id(one)] for one in objects)
        number = self._layouts.setdefault(same, len(self._layouts))
        attributes = [dict(vars(part)) for part in (self.base, *self.wrappers)]
        return _Layout(number, attributes, [*found.values()], objects, _names(objects), who, rest)

    def _rest(self, who: dict[int, Hashable]) -> Hashable:
        """All attributes that a snapshot does not cover, as they are now."""
        plain, others = [], {}
        for name, value in vars(self.base).items():
            if name in STATE or isinstance(value, NO_STATE):
                continue
            if type(value) in PLAIN:
                plain.append((name, value))
            else:
                others[name] = value
        held = [others] + [
            {name: value for name, value in vars(one).items() if name not in GYMNASIUMS}
            for one in self.wrappers
        ]
        who = who | self._layer if self.wrappers else who
        try:
            return tuple(plain), frozen_value(held, "environment", lambda one: who.get(id(one)))
        except MonMDPError:  # there is something that cannot be compared
            raise ChangesMoreError from None

    def check(self) -> None:
        """Raise an error if steps change more than a snapshot covers."""
        if self.own.restore is None and self._rest(self._layout.who) != self._layout.rest:
            raise ChangesMoreError

    def snapshot(self) -> Any:
        """Keep the objects, where they are, and what they hold."""
        if self.own.snapshot is not None:
            return super().snapshot()
        base, layout = self.base, self._layout
        x, y = base.agent_pos
        return _Snapshot(
            layout,
            list(base.grid.grid),
            (int(x), int(y)),
            int(base.agent_dir),
            base.carrying,
            [dict(vars(one)) for one in layout.objects],
            self._arrangement(),
        )

    def restore(self, snapshot: Any) -> None:
        """Put everything back."""
        if self.own.restore is not None:
            super().restore(snapshot)
            return
        base, layout = self.base, snapshot.layout
        if layout is not self._layout:
            for part, attributes in zip((base, *self.wrappers), layout.attributes, strict=True):
                vars(part).update(attributes)
            base._np_random = self._stand_in
            self._layout = layout
        base.grid.grid[:] = snapshot.cells
        base.agent_pos, base.agent_dir = snapshot.pos, snapshot.direction
        base.carrying = snapshot.carrying
        for one, attributes in zip(layout.objects, snapshot.attributes, strict=True):
            vars(one).update(attributes)
        self._before = snapshot.cells, snapshot.arrangement

    def key(self) -> Hashable:
        """Return the layout, the agent, what it carries, the objects and where they are."""
        if self.own.key is not None or self.own.snapshot is not None:
            return super().key()
        base, layout = self.base, self._layout
        x, y = base.agent_pos
        carried = layout.who.get(id(base.carrying), base.carrying)
        how = tuple([_how(one, layout.who) for one in layout.objects])
        arrangement = self._arrangement()
        return layout.number, int(x), int(y), int(base.agent_dir), carried, how, arrangement

    def _arrangement(self) -> Hashable:
        cells = self.base.grid.grid
        if cells == self._before[0]:  # most steps move no object
            return self._before[1]
        who = self._layout.who
        return tuple([who.get(id(cell), cell) for cell in cells])

    # ---- steps ------------------------------------------------------------------------------

    def step(self, action: int) -> Step:
        """Take a step on a clock that stands still."""
        if not self.proven:
            return super().step(action)
        self.base.step_count = BEFORE
        return self.brought(self.base.step(action))

    def sure(self) -> bool:
        """Whether nothing but MiniGrid itself was at work, and it drew no random number unseen."""
        return self.proven and self._global == list(map(stream, global_generators()))

    def numbers(self, snapshot: Any) -> dict[str, int]:  # noqa: ARG002
        """Return none: the clock stands still."""
        return {}

    def watch(self) -> None:
        """Wait for somebody to use the generator; there may be others, unless it is proven."""
        self._stand_in.used = False
        if not self.proven:
            super().watch()

    def drew(self) -> bool:
        """Whether a generator was used."""
        return self._stand_in.used or (not self.proven and super().drew())

    # ---- what the MDP is told ---------------------------------------------------------------

    def codes(self, cells: Sequence[Any]) -> list[tuple[int, int, int]]:
        """Return how cells are shown."""
        known = self._codes.get
        return [known(id(cell)) or self._code(cell) for cell in cells]

    def _code(self, cell: Any) -> tuple[int, int, int]:
        """Encode a cell; those that never change only once."""
        code = _encoded(cell)
        if cell is None or cell.type in STILL:
            self._codes[id(cell)] = code
            self._kept.append(cell)  # an id is a cell's as long as that lives
        return code

    def note(self) -> _Note:
        """Return where the agent and all objects are."""
        base, layout = self.base, self._layout
        x, y = base.agent_pos
        things = tuple(map(self._thing, layout.objects, layout.names))
        return _Note(layout.number, (int(y), int(x)), DIRECTIONS[base.agent_dir], things)

    def _thing(self, one: Any, name: str) -> str:
        """Say where an object is, or how a door is."""
        base = self.base
        if one.type == "door":
            return f"{name} {'open' if one.is_open else 'locked' if one.is_locked else 'closed'}"
        if base.carrying is one:
            return f"carrying {name}"
        if one not in base.grid.grid:
            return f"{name} gone"
        row, column = divmod(base.grid.grid.index(one), base.width)
        return f"{name} at {row},{column}"

    def fields(self, notes: Sequence[_Note]) -> dict[str, Any]:
        """Labels such as "2,1 right carrying key", which tell what is not as at the start."""
        at_start: dict[int, _Note] = {}
        labels = []
        for note in notes:
            first = at_start.setdefault(note.layout, note)
            row, column = note.place
            other = [
                now for now, then in zip(note.things, first.things, strict=True) if now != then
            ]
            labels.append(" ".join([f"{row},{column}", note.direction, *other]))
        if len(at_start) > 1:
            of = (note.layout + 1 for note in notes)
            labels = [f"{label} grid {n}" for label, n in zip(labels, of, strict=True)]
        return {"state_labels": _told_apart(labels), "places": [note.place for note in notes]}


def whole_grid(base: Any, codes: list[tuple[int, int, int]]) -> NDArray[np.uint8]:
    """Return [column, row, 3] type, colour and state of each cell, and the agent in its own."""
    names = sys.modules["minigrid.core.constants"]
    agent = names.OBJECT_TO_IDX["agent"], names.COLOR_TO_IDX["red"], base.agent_dir
    x, y = base.agent_pos
    codes[y * base.width + x] = agent
    rows = np.array(codes, dtype=np.uint8).reshape(base.height, base.width, 3)
    return np.ascontiguousarray(rows.transpose(1, 0, 2))


def _encoded(cell: Any) -> tuple[int, int, int]:
    empty = sys.modules["minigrid.core.constants"].OBJECT_TO_IDX["empty"]
    code: tuple[int, int, int] = (empty, 0, 0) if cell is None else cell.encode()
    return code


def _image(observation: Any, row: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    image = observation.get("image") if isinstance(observation, dict) else None
    return row(observation) if image is None else np.asarray(image)


def _how(one: Any, who: dict[int, Hashable]) -> Hashable:
    """What can change about an object, except where it is."""
    if not type(one).__module__.startswith("minigrid."):
        changing = {k: v for k, v in vars(one).items() if k != "cur_pos"}
        return frozen_value(changing, type(one).__name__, lambda other: who.get(id(other)))
    if one.type == "door":
        return one.is_open, one.is_locked
    inside: Hashable = one.contains
    return who.get(id(inside), inside)


def _names(objects: Sequence[Any]) -> list[str]:
    """A name for each object: its type, with the colour and a number where that is needed."""
    types = Counter(one.type for one in objects)
    names = [one.type if types[one.type] == 1 else f"{one.color} {one.type}" for one in objects]
    return _told_apart(names)


def _told_apart(names: Sequence[str]) -> list[str]:
    """Number names that are used several times."""
    times, met = Counter(names), Counter[str]()
    result = []
    for name in names:
        met[name] += 1
        result.append(name if times[name] == 1 else f"{name} {met[name]}")
    return result
