"""The settings of the paper's experiments, and presets."""

from __future__ import annotations

from typing import Any

from monmdp.agents.base import AgentConfig
from monmdp.agents.known_monitor import KnownMonitor
from monmdp.agents.monitored_mbie_eb import MonitoredMBIEEB
from monmdp.errors import MonMDPError, nearest

FIGURES: dict[int, tuple[str, ...]] = {
    4: ("monitored-mbie-eb", "known-monitor"),
    5: ("monitored-mbie-eb",),
    6: ("monitored-mbie-eb",),
    9: ("monitored-mbie-eb",),
    10: ("monitored-mbie-eb",),
    11: ("monitored-mbie-eb", "known-monitor"),
    12: ("monitored-mbie-eb",),
    13: ("monitored-mbie-eb",),
}
"""figure -> the agents that are in it"""

KINDS: dict[str, type[AgentConfig]] = {kind.name: kind for kind in (MonitoredMBIEEB, KnownMonitor)}
"""the agents of this package by name"""


def paper_config(agent: str, world: str, monitor: str, figure: int | None = None) -> AgentConfig:
    """Return the hyper-parameters that the paper uses (its table of hyper-parameters).

    Args:
        agent: the agent's name.
        world: the world's name; worlds that are not the paper's get the values of its grid worlds.
        monitor: the monitor's name.
        figure: number of the figure, where settings differ between figures.
    """
    if agent not in KINDS:
        raise MonMDPError(f"unknown agent {agent!r}{nearest(agent, KINDS)}")
    if figure is not None:
        if figure not in FIGURES:
            known = ", ".join(str(number) for number in FIGURES)
            raise MonMDPError(f"figure {figure} has no learning curves; those are {known}")
        if agent not in FIGURES[figure]:
            raise MonMDPError(
                f"agent {agent!r} is not in figure {figure}; there are {', '.join(FIGURES[figure])}"
            )
    del monitor  # the paper's hyper-parameters of these two agents are the same for all monitors
    return KINDS[agent](**({"q_opt_init": 30.0} if world == "river-swim" else {}))


PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "paper": {"world": {}, "monitor": {}, "agent": {}},
    "released": {
        "world": {"one_way": "block"},
        "monitor": {"level-up": {"start": "uniform"}},
        "agent": {"growth": "log", "schedule": "released"},
    },
}
"""what differs from the defaults: of the world, of some monitors by name, of the agent"""


def preset(name: str) -> dict[str, dict[str, Any]]:
    """Return a preset: ``paper``, or ``released`` for the options of the authors' released code."""
    if name not in PRESETS:
        raise MonMDPError(f"unknown preset {name!r}{nearest(name, PRESETS)}")
    return PRESETS[name]
