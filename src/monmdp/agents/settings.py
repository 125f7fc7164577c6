"""The settings of the paper's experiments, and presets."""

from __future__ import annotations

from typing import Any

from monmdp.agents.base import AgentConfig
from monmdp.agents.known_monitor import KnownMonitor
from monmdp.agents.monitored_mbie_eb import MonitoredMBIEEB
from monmdp.errors import MonMDPError, nearest

_BOTH, _ONE = ("monitored-mbie-eb", "known-monitor"), ("monitored-mbie-eb",)
_GRIDS = (
    "empty", "hazard", "loop", "river-swim", "one-way", "corridor", "two-room-3x5", "two-room-2x11",
)  # fmt: skip
_SIX = ("full", "semi-random", "ask", "button", "n-supporters", "level-up")
_OTHER_SIX = ("full-random", "ask", "n-supporters", "n-experts", "level-up", "button")

FIGURES: dict[int, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    4: (_BOTH, ("river-swim", "bottleneck"), ("full", "button")),
    5: (_ONE, ("bottleneck",), ("button",)),
    6: (_ONE, _GRIDS, _SIX),
    9: (_ONE, ("bottleneck",), _OTHER_SIX),
    10: (_ONE, ("bottleneck",), _OTHER_SIX),
    11: (_BOTH, ("bottleneck",), _OTHER_SIX),
    12: (_ONE, ("bottleneck",), _OTHER_SIX),
    13: (_ONE, ("bottleneck",), _OTHER_SIX),
}
"""figure -> the agents, worlds and monitors that are in it"""

KINDS: dict[str, type[AgentConfig]] = {kind.name: kind for kind in (MonitoredMBIEEB, KnownMonitor)}
"""the agents of this package by name"""


def paper_config(agent: str, world: str, monitor: str, figure: int | None = None) -> AgentConfig:
    """Return the hyper-parameters that the paper uses (its table of hyper-parameters).

    Args:
        agent: the agent's name.
        world: the world's name; worlds that are not the paper's get the values of its grid worlds.
        monitor: the monitor's name; the settings of these agents are the same for all of them.
        figure: number of a figure; then agent, world and monitor must be in it.
    """
    if agent not in KINDS:
        raise MonMDPError(f"unknown agent {agent!r}{nearest(agent, KINDS)}")
    if figure is not None:
        if figure not in FIGURES:
            known = ", ".join(str(number) for number in FIGURES)
            raise MonMDPError(f"figure {figure!r} has no learning curves; those that do: {known}")
        for kind, name, known_names in zip(
            ("agent", "world", "monitor"), (agent, world, monitor), FIGURES[figure], strict=True
        ):
            if name not in known_names:
                raise MonMDPError(
                    f"{kind} {name!r} is not in figure {figure}; there are {', '.join(known_names)}"
                )
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
