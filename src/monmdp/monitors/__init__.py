"""Monitors: every monitor by name.

>>> from monmdp import monitors
>>> monitors.make("n-experts", n=4, rho=0.2).n_actions
5
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from monmdp.errors import MonMDPError
from monmdp.model.monitor import Monitor
from monmdp.monitors import adversarial, earlier, paper
from monmdp.naming import Registry, call

__all__ = ["CostWarning", "factory", "make", "registry"]


class CostWarning(UserWarning):
    """A cost that is positive, so that observing pays."""


registry: Registry[Monitor] = Registry("monitor", Monitor)
"""the monitors of this package by name, and how to add one"""
for _name, _factory in (paper.MONITORS | earlier.MONITORS | adversarial.MONITORS).items():
    registry.register(_name, _factory)


def factory(name: str) -> Callable[..., Monitor]:
    """Return the factory of a monitor, named by a registered name or ``module:object``.

    >>> from monmdp import monitors
    >>> monitors.factory("battery")(rho=0.5).n_states
    11
    """
    return registry.factory(name)


def make(name: str, **params: Any) -> Monitor:
    """Make a monitor by name; it is bound to a world by `monmdp.join`.

    >>> from monmdp import monitors
    >>> button = monitors.make("button", rho=0.05)
    >>> button, button.states
    (<Monitor 'button': 2 states, 1 actions>, ('OFF', 'ON'))
    """
    if not isinstance(name, str):
        raise MonMDPError(f"the name of a monitor expected, got {name!r}")
    what = f"monitor {name!r}"
    monitor = replace(registry.checked(call(factory(name), what, params), what), name=name)
    _warn_if_cost_pays(monitor, params)
    return monitor


def _warn_if_cost_pays(monitor: Monitor, params: Mapping[str, Any]) -> None:
    """Warn of a cost that the monitor pays out: rewards of monitors are negative where they cost.

    A monitor of one's own may take costs as positive numbers, and turn them round.
    """
    try:
        cost = float(params.get("cost", 0))
    except (TypeError, ValueError):  # of a monitor of one's own, whatever it means there
        return
    if cost > 0 and (monitor.reward == cost).any():
        warnings.warn(
            f"{monitor.name}: cost={cost:g} is a reward, so observing pays; where it is to cost, "
            f"write cost={-cost:g}",
            CostWarning,
            stacklevel=3,
        )
