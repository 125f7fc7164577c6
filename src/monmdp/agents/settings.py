"""The settings of the paper's experiments, and presets."""

from __future__ import annotations

from typing import Any

from monmdp.agents.ablations import MBIEEB, PessimisticMBIEEB
from monmdp.agents.base import AgentConfig
from monmdp.agents.baselines import UCB, Baseline, EpsilonGreedy, Intrinsic, Optimistic, QCount
from monmdp.agents.directed_e2 import DirectedE2
from monmdp.agents.factored_mbie_eb import FactoredMBIEEB
from monmdp.agents.known_monitor import KnownMonitor
from monmdp.agents.monitored_mbie_eb import MonitoredMBIEEB
from monmdp.agents.observe_or_optimize import ObserveOrOptimize
from monmdp.agents.posterior_sampling import PosteriorSampling
from monmdp.agents.q_learning import QLearning
from monmdp.agents.r_max import RMax
from monmdp.errors import MonMDPError, nearest

_EIGHT = (
    "empty", "hazard", "loop", "river-swim", "one-way", "corridor", "two-room-3x5", "two-room-2x11",
)  # fmt: skip
_SIX = ("full", "semi-random", "ask", "button", "n-supporters", "level-up")
_OTHER_SIX = ("full-random", "ask", "n-supporters", "n-experts", "level-up", "button")
_BOTTLENECK = tuple(("bottleneck", monitor) for monitor in _OTHER_SIX)
_OURS, _KNOWN, _RIVAL = "monitored-mbie-eb", "known-monitor", "directed-e2"

FIGURES: dict[int, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    4: ((_OURS, _KNOWN, _RIVAL), (("river-swim", "full"), ("bottleneck", "button"))),
    5: ((_OURS, _RIVAL), (("bottleneck", "button"),)),
    6: ((_OURS, _RIVAL), tuple((world, monitor) for world in _EIGHT for monitor in _SIX)),
    9: ((_OURS, _RIVAL), _BOTTLENECK),
    10: ((_OURS, _RIVAL), _BOTTLENECK),
    11: ((_OURS, _KNOWN, _RIVAL), _BOTTLENECK),
    12: ((_OURS, "mbie-eb"), _BOTTLENECK),
    13: ((_OURS, "pessimistic-mbie-eb"), _BOTTLENECK),
}
"""figure -> the agents, and the worlds with their monitors, that are in it"""

KINDS: dict[str, type[AgentConfig]] = {
    kind.name: kind
    for kind in (
        FactoredMBIEEB, MonitoredMBIEEB, KnownMonitor, MBIEEB, PessimisticMBIEEB, DirectedE2,
        EpsilonGreedy, Optimistic, UCB, Intrinsic, QCount, PosteriorSampling, RMax,
    )
}  # fmt: skip
"""the agents of this package by name"""


def paper_config(agent: str, world: str, monitor: str, figure: int | None = None) -> AgentConfig:
    """Return the hyper-parameters that the paper uses (its table of hyper-parameters).

    Args:
        agent: the agent's name.
        world: the world's name; worlds that are not the paper's get the values of its grid worlds.
        monitor: the monitor's name; only the learning rate of Q-learning depends on it.
        figure: number of a figure; then agent, world and monitor must be in it. Directed-E² starts
            from r₀ = -10 in figures 9 to 11, and from U[-0.1, 0.1] in all others and without one.

    >>> from monmdp import agents
    >>> agents.paper_config("monitored-mbie-eb", "river-swim", "full").q_opt_init
    30.0
    >>> agents.paper_config("directed-e2", "bottleneck", "ask", figure=9).r0
    -10.0
    """
    if agent not in KINDS:
        raise MonMDPError(f"unknown agent {agent!r}{nearest(agent, KINDS)}")
    if figure is not None:
        _check_figure(figure, agent, world, monitor)
    kind, swims = KINDS[agent], world == "river-swim"
    values: dict[str, Any] = {}
    if issubclass(kind, ObserveOrOptimize) and swims:
        values["q_opt_init"] = 30.0
    if issubclass(kind, QLearning):
        values |= _learning_rate(world, monitor)
    if issubclass(kind, Baseline) and kind is not EpsilonGreedy and swims:
        values["q_init"] = 50.0
    if kind is DirectedE2 and figure in (9, 10, 11):
        values["r0"] = -10.0
    return kind(**values)


def _check_figure(figure: int, agent: str, world: str, monitor: str) -> None:
    """Refuse what is not in a figure, and say what is."""
    if figure not in FIGURES:
        known = ", ".join(str(number) for number in FIGURES)
        raise MonMDPError(f"figure {figure!r} has no learning curves; those that do: {known}")
    names, problems = FIGURES[figure]
    worlds = tuple(dict.fromkeys(name for name, _ in problems))
    watching = tuple(other for name, other in problems if name == world)
    for kind, name, known_names in (
        ("agent", agent, names),
        ("world", world, worlds),
        ("monitor", monitor, watching),
    ):
        if name not in known_names:
            raise MonMDPError(
                f"{kind} {name!r} is not in figure {figure}; there are {', '.join(known_names)}"
            )


def _learning_rate(world: str, monitor: str) -> dict[str, float]:
    """α, and what it falls to."""
    if world == "river-swim":
        return {"alpha": 0.5, "alpha_end": 0.05}
    alpha = {"alpha": 0.5 if world in ("hazard", "two-room-3x5") else 1.0}
    return alpha | ({"alpha_end": 0.1} if monitor in ("n-supporters", "n-experts") else {})


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
    """Return a preset: ``paper``, or ``released`` for the options of the authors' released code.

    >>> from monmdp import agents
    >>> agents.preset("released")["agent"]
    {'growth': 'log', 'schedule': 'released'}
    """
    if name not in PRESETS:
        raise MonMDPError(f"unknown preset {name!r}{nearest(name, PRESETS)}")
    return PRESETS[name]
