"""`make`: a Mon-MDP from the names of a world and a monitor and flat parameters."""

from __future__ import annotations

import os
from typing import Any

from monmdp import monitors, worlds
from monmdp.errors import MonMDPError
from monmdp.model import MDP, Monitor, MonMDP, join
from monmdp.naming import Scope, assign, scope_of


def make(world: str | os.PathLike[str] | MDP, monitor: str | Monitor, **params: Any) -> MonMDP:
    """Make a Mon-MDP.

    Args:
        world: a registered name, the path of a map file, ``module:object``,
            ``gymnasium:FrozenLake-v1``, ``env:MiniGrid-DoorKey-5x5-v0``, or an `MDP`.
        monitor: a registered name, ``module:object``, or a `Monitor`.
        **params: parameters of either. A key that both have is written ``world.key`` or
            ``monitor.key``, as in ``make(..., **{"monitor.start": "uniform"})``.

    >>> from monmdp import make
    >>> make("bottleneck", "button", rho=0.05).n_states
    72
    """
    if isinstance(world, os.PathLike):
        world = os.fspath(world)
    chosen = assign(params, scopes(world, monitor))
    mdp = worlds.make(world, **chosen["world"]) if isinstance(world, str) else world
    if isinstance(monitor, str):
        monitor = monitors.make(monitor, **chosen["monitor"])
    return join(mdp, monitor)


def scopes(world: str | MDP, monitor: str | Monitor) -> dict[str, Scope]:
    """Return the parameters that a world and a monitor take."""
    result = {}
    for kind, given, module in (("world", world, worlds), ("monitor", monitor, monitors)):
        if isinstance(given, str):
            result[kind] = scope_of(module.factory(given), f"{kind} {given!r}")
        elif isinstance(given, module.registry.produces):
            result[kind] = Scope(f"this {kind}", {})
        else:
            finished = module.registry.produces.__name__
            raise MonMDPError(f"a {kind} is a name or a finished {finished}, got {given!r}")
    return result
