"""Worlds: by name, from a map file, tables, Gymnasium, any small environment, UMB or a log.

>>> from monmdp import worlds
>>> worlds.make("bottleneck").n_states
36
>>> worlds.make("river-swim", length=100).n_states
100
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from monmdp.errors import MonMDPError, nearest
from monmdp.escaping import printable
from monmdp.model.mdp import MDP
from monmdp.model.umb import SUFFIX
from monmdp.naming import Registry, call
from monmdp.worlds.enumerating import (
    AliasedWarning,
    HiddenWarning,
    from_environment,
    lookalikes,
    named_environment,
)
from monmdp.worlds.gridmap import grid_world
from monmdp.worlds.importing import from_gymnasium, from_tables
from monmdp.worlds.logs import from_log
from monmdp.worlds.problems import NAMES, stored
from monmdp.worlds.random_mdp import random_mdp
from monmdp.worlds.river_swim import river_swim
from monmdp.worlds.treasure_hunter import treasure_hunter
from monmdp.worlds.umb import from_umb

__all__ = [
    "AliasedWarning",
    "HiddenWarning",
    "factory",
    "from_environment",
    "from_gymnasium",
    "from_log",
    "from_tables",
    "from_umb",
    "grid_world",
    "lookalikes",
    "make",
    "registry",
]

_MAPS = Path(__file__).parent / "maps"
IMPORTED = "gymnasium:"
"""before the id of an environment whose transition table is to be imported"""
ENUMERATED = "env:"
"""before the id of an environment whose states are to be enumerated"""

registry: Registry[MDP] = Registry("world", MDP)
"""the worlds of this package by name, and how to add one"""


def _map(path: Path) -> Callable[..., MDP]:
    return partial(grid_world, path, name=printable(path.stem))


for _name in ("empty", "hazard", "bottleneck", "loop"):
    registry.register(_name, _map(_MAPS / f"{_name}.txt"))
registry.register("river-swim", river_swim)
for _name in ("one-way", "corridor", "two-room-3x5", "two-room-2x11"):
    registry.register(_name, _map(_MAPS / f"{_name}.txt"))
registry.register("treasure-hunter", treasure_hunter)
registry.register("random-mdp", random_mdp)
for _path in sorted(_MAPS.glob("*.txt")):  # the paper's have their order, all others follow
    if _path.stem not in registry:
        registry.register(_path.stem, _map(_path))
for _name in NAMES:
    registry.register(_name, partial(stored, _name))


def factory(name: str) -> Callable[..., MDP]:
    """Return the factory of a world.

    A world is named by a registered name, the path of a map file or of a UMB file (.umb),
    ``module:object``, ``path/to/file.py:object``, ``gymnasium:FrozenLake-v1`` for an environment
    with a transition table, or ``env:MiniGrid-DoorKey-5x5-v0`` for one whose states are enumerated.

    >>> from monmdp import worlds
    >>> worlds.factory("river-swim")(length=4)
    <MDP 'river-swim': 4 states, 2 actions>
    """
    if name in registry:
        return registry.factory(name)
    if name.startswith(IMPORTED):
        return partial(from_gymnasium, name.removeprefix(IMPORTED))
    if name.startswith(ENUMERATED):
        return partial(named_environment, name.removeprefix(ENUMERATED))
    if name.endswith(SUFFIX):
        return partial(from_umb, name)
    if Path(name).is_file():
        return _map(Path(name))
    prefix, _, rest = name.partition(":")
    if rest and prefix.lower() in ("env", "gym", "gymnasium"):
        raise MonMDPError(f"unknown world {name!r}; did you mean {ENUMERATED}{rest}?")
    if ".py:" in name or (":" in name and "/" not in name):
        return registry.factory(name)
    if "/" in name or name.endswith(".txt"):
        problem = "is a folder, not a map file" if Path(name).is_dir() else "no such map file"
        raise MonMDPError(f"{name}: {problem}")
    raise MonMDPError(
        f"unknown world {name!r}{nearest(name, registry)} (or give the path of a map file, "
        "gymnasium:ID, or env:ID)"
    )


def make(name: str | os.PathLike[str], **params: Any) -> MDP:
    """Make a world by name; see `factory` for what a name can be.

    >>> from monmdp import worlds
    >>> worlds.make("hazard", slip=0.1)
    <MDP 'hazard': 16 states, 5 actions>
    >>> worlds.make("gymnasium:FrozenLake-v1", map_name="8x8")
    <MDP 'FrozenLake-v1': 64 states, 4 actions>
    """
    name = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(name, str):
        raise MonMDPError(f"the name of a world expected, got {name!r}")
    what = f"world {name!r}"
    return registry.checked(call(factory(name), what, params), what)
