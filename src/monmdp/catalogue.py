"""`make`: a Mon-MDP from the names of a world and a monitor and flat parameters."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from monmdp import monitors, worlds
from monmdp.errors import MonMDPError
from monmdp.model import MDP, Monitor, MonMDP, join
from monmdp.naming import Scope, assign, call, scope_of


def make(world: str | os.PathLike[str] | MDP, monitor: str | Monitor, **params: Any) -> MonMDP:
    """Make a Mon-MDP.

    Args:
        world: a registered name, the path of a map file, ``module:object``,
            ``gymnasium:FrozenLake-v1``, or an `MDP`.
        monitor: a registered name, ``module:object``, or a `Monitor`.
        **params: parameters of either. A key that both have is written ``world.key`` or
            ``monitor.key``, as in ``make(..., **{"monitor.start": "uniform"})``.

    >>> from monmdp import make
    >>> make("bottleneck", "button", rho=0.05).n_states
    72
    """
    if isinstance(world, os.PathLike):
        world = os.fspath(world)
    scopes, factories = {}, {}
    for kind, given, module in (("world", world, worlds), ("monitor", monitor, monitors)):
        if isinstance(given, str):
            what = f"{kind} {given!r}"
            factories[kind] = module.factory(given)
            scopes[kind] = scope_of(factories[kind], what)
        elif isinstance(given, module.registry.produces):
            scopes[kind] = Scope(f"this {kind}", {})
        else:
            finished = module.registry.produces.__name__
            raise MonMDPError(f"a {kind} is a name or a finished {finished}, got {given!r}")
    chosen = assign(params, scopes)
    mdp = world
    if isinstance(world, str):
        made = call(factories["world"], scopes["world"].what, chosen["world"])
        mdp = worlds.registry.checked(made, scopes["world"].what)
    bound = monitor
    if isinstance(monitor, str):
        made = call(factories["monitor"], scopes["monitor"].what, chosen["monitor"])
        checked = monitors.registry.checked(made, scopes["monitor"].what)
        bound = replace(checked, name=monitor)
    return join(mdp, bound)  # type: ignore[arg-type]
