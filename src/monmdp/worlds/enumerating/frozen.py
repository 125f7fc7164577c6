"""What an object holds, as one value that can be compared and hashed.

Two environments in the same state hold the same, whatever is stored where in memory. Random
generators are left out: they are the subject of `generators`.
"""

from __future__ import annotations

import enum
import random
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Space

from monmdp.errors import MonMDPError

PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
CONTAINERS = (list, tuple, deque, set, frozenset, dict, np.ndarray)
BUILT_IN = (*CONTAINERS, *PLAIN)
CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
"""says how a state changes, not what it is"""
NO_STATE = (*GENERATORS, *CODE, Space, EnvSpec)
Known = Callable[[Any], Hashable]
"""who a thing is, for those that are known; None for others"""


def frozen_value(thing: Any, what: str, known: Known | None = None) -> Hashable:
    """Return what a thing holds; of what is `known`, only who it is.

    >>> import numpy as np
    >>> from monmdp.worlds.enumerating.frozen import frozen_value
    >>> one, other = {"at": np.array([1, 2]), "has": []}, {"has": [], "at": np.array([1, 2])}
    >>> frozen_value(one, "a state") == frozen_value(other, "a state")
    True
    >>> frozen_value(1, "a state") == frozen_value(True, "a state")
    False

    An object of a class derived from a number or a list holds that and its attributes. One that
    says itself how it is to be copied, as a date does, holds what it says, too.
    """
    try:
        return _Freezing(known).value(thing, what)
    except RecursionError:
        raise MonMDPError(f"{what} is nested too deeply to be compared; give key=…") from None


class _Freezing:
    def __init__(self, known: Known | None) -> None:
        self.known = known
        self.met: dict[int, int] = {}
        self.kept: list[Any] = []
        """things that nobody else may keep: an id is a thing's as long as that lives"""

    def value(self, thing: Any, what: str) -> Hashable:
        if type(thing) in PLAIN:  # first, because most things are
            return type(thing), thing
        if isinstance(thing, NO_STATE):
            return None
        if self.known is not None and (who := self.known(thing)) is not None:
            return who
        if isinstance(thing, enum.Enum):
            return type(thing), thing.name
        if isinstance(thing, np.generic):  # 1 is 1, whoever counted
            return self.value(thing.item(), what) if thing.dtype.kind in "biufc" else str(thing)
        built_in = isinstance(thing, BUILT_IN)
        if type(thing) in CONTAINERS:
            return self.content(thing, what)
        held = _attributes(thing)
        if built_in and not held:
            return type(thing), self.content(thing, what)
        if id(thing) in self.met:  # an object that is met twice, in a circle maybe
            return "again", self.met[id(thing)]
        self.met[id(thing)] = len(self.met)
        attributes = self.items(type(thing), held or {}, what, ".{}")
        if built_in:
            return attributes, self.content(thing, what)
        plain = _plain(type(thing))  # type: ignore[arg-type]
        if held is not None and plain:
            return attributes
        return attributes, self.value(self.reduced(thing, what, plain), what)

    def content(self, thing: Any, what: str) -> Hashable:
        """Return what a container or a number holds, apart from attributes."""
        if isinstance(thing, np.ndarray):
            if thing.dtype.kind == "O":
                return thing.shape, self.value(thing.ravel().tolist(), what)
            return thing.dtype.str, thing.shape, thing.tobytes()
        if isinstance(thing, list | tuple | deque):
            parts = tuple(self.value(part, f"{what}[{i}]") for i, part in enumerate(thing))
            return type(thing), parts
        if isinstance(thing, set | frozenset):
            return type(thing), frozenset(self.value(part, what) for part in thing)
        if isinstance(thing, dict):
            return self.items(type(thing), thing, what, "[{!r}]")
        (value,) = (kind(thing) for kind in PLAIN if isinstance(thing, kind))
        return self.value(value, what)

    def reduced(self, thing: Any, what: str, plain: bool) -> Any:
        """Return what a thing says of itself to whoever copies it."""
        try:
            said = None if plain else thing.__reduce_ex__(4)
        except Exception:  # a lock, say
            said = None
        if said is None:
            raise MonMDPError(
                f"{what} is a {type(thing).__module__}.{type(thing).__qualname__}, which cannot be "
                "compared; say what tells states apart with key=…"
            )
        self.kept.append(said)
        return said

    def items(self, kind: type, held: dict[Any, Any], what: str, form: str) -> Hashable:
        return kind, frozenset(
            (self.value(name, what), self.value(value, what + form.format(name)))
            for name, value in held.items()
        )


def _attributes(thing: Any) -> dict[str, Any] | None:
    """What an object holds by name; None where that cannot be seen."""
    names = _slots(type(thing))  # type: ignore[arg-type]
    held: dict[str, Any] = {name: getattr(thing, name) for name in names if hasattr(thing, name)}
    if hasattr(thing, "__dict__"):
        held |= vars(thing)
        return held
    return held or None


@lru_cache(maxsize=1000)
def _plain(kind: type) -> bool:
    """Whether attributes are all that there is to an object, for all that one knows."""
    ways = ("__reduce_ex__", "__reduce__")
    return all(getattr(kind, way) is getattr(object, way) for way in ways)


@lru_cache(maxsize=1000)
def _slots(kind: type) -> list[str]:
    slots = [vars(one).get("__slots__", ()) for one in kind.__mro__]
    return [name for some in slots for name in ([some] if isinstance(some, str) else some)]


def generators(thing: Any, apart: Iterable[int] = ()) -> Iterator[Any]:
    """Find all random generators inside a thing, but not in those parts, given by id."""
    met = set(apart)
    waiting = [thing]
    while waiting:
        one = waiting.pop()
        if type(one) in PLAIN or isinstance(one, CODE) or id(one) in met:
            continue
        met.add(id(one))
        if isinstance(one, GENERATORS):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple | set | frozenset | deque):
            waiting.extend(one)
        else:
            waiting.extend((_attributes(one) or {}).values())


def global_generators() -> list[Any]:
    """Return those of the modules `random` and `numpy.random`."""
    return [random._inst, np.random.mtrand._rand]


def stream(generator: Any) -> Hashable:
    """Return where a generator's stream is."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        return _flat(generator.get_state(legacy=False))
    return _flat(generator.bit_generator.state)


def _flat(state: Any) -> Hashable:
    """Return a generator's state as a value, faster than any object's."""
    if isinstance(state, dict):
        return tuple(map(_flat, state.values()))
    return state.tobytes() if isinstance(state, np.ndarray) else state


def reseed(generator: Any, seed: int) -> None:
    """Let a generator go on elsewhere."""
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = type(generator.bit_generator)(seed).state
    else:
        generator.seed(seed)
