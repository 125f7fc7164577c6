"""Agents by name, with the settings of the paper's experiments and presets."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from monmdp.agents.ablations import MBIEEB, PessimisticMBIEEB
from monmdp.agents.baselines import UCB, EpsilonGreedy, Intrinsic, Optimistic, QCount
from monmdp.agents.contract import AgentConfig, View
from monmdp.agents.directed_e2 import DirectedE2
from monmdp.agents.factored_mbie_eb import FactoredMBIEEB
from monmdp.agents.known_monitor import KnownMonitor
from monmdp.agents.monitored_mbie_eb import MonitoredMBIEEB
from monmdp.agents.posterior_sampling import PosteriorSampling
from monmdp.agents.r_max import RMax
from monmdp.agents.stepwise import (
    AgentFactory,
    ObservingAgent,
    PythonAgent,
    is_python_agent,
    sees,
    view_of,
)
from monmdp.drawing.palette import Line
from monmdp.errors import MonMDPError, nearest
from monmdp.model import MonMDP
from monmdp.naming import Registry, Scope, assign, call, import_object, scope_of

KINDS: dict[str, type[AgentConfig]] = {
    kind.name: kind
    for kind in (
        FactoredMBIEEB, MonitoredMBIEEB, KnownMonitor, MBIEEB, PessimisticMBIEEB, DirectedE2,
        EpsilonGreedy, Optimistic, UCB, Intrinsic, QCount, PosteriorSampling, RMax,
    )
}  # fmt: skip
"""the agents of this package by name"""


@dataclass(frozen=True)
class DeepAgent:
    """An agent in plain Python that comes with this package, and is loaded when it is asked for."""

    place: str
    """module:class"""
    label: str
    """what legends call it"""
    about: str
    """what it does, in a line"""
    colour: str
    """#rrggbb of its curves"""
    line: Line = "-"
    """of its curves"""
    microseconds: float = 500.0
    """CPU time of a step, about"""

    @property
    def module(self) -> str:
        """The name of the module that defines it."""
        return self.place.partition(":")[0]


_BASELINES = "monmdp.agents.deep_baselines"
DEEP: dict[str, DeepAgent] = {
    "deep-monitored": DeepAgent(
        "monmdp.agents.deep_monitored:DeepMonitored", "Deep Monitored",
        "Explore in order to see rewards, be pessimistic about those never seen, with networks.",
        "#1e6d7d",
    ),
    "deep-dqn": DeepAgent(
        f"{_BASELINES}:DQN", "DQN",
        "DQN that treats a hidden reward as zero.", "#1174fb", ":", 250.0,
    ),
    "deep-reward-model": DeepAgent(
        f"{_BASELINES}:RewardModelDQN", "DQN, reward model",
        "DQN with a learnt reward in place of a hidden one.", "#f0934f", ":", 350.0,
    ),
    "deep-pessimistic-ensemble": DeepAgent(
        f"{_BASELINES}:PessimisticDQN", "DQN, pessimistic ensemble",
        "DQN with a low guess, by several reward models, in place of a hidden reward.",
        "#db09ba", ":", 500.0,
    ),
    "deep-rnd": DeepAgent(
        f"{_BASELINES}:RNDDQN", "DQN, RND",
        "DQN with a reward model, and a bonus for what a network cannot predict yet.",
        "#676804", ":", 500.0,
    ),
    "deep-discretised": DeepAgent(
        f"{_BASELINES}:DiscretisedFactored", "Discretised Factored MBIE-EB",
        "Factored MBIE-EB on cells, into which observations are sorted by random signs.",
        "#f60171", ":", 350.0,
    ),
    "deep-discretised-mbie-eb": DeepAgent(
        f"{_BASELINES}:DiscretisedMonitored", "Discretised Monitored MBIE-EB",
        "Monitored MBIE-EB on such cells.", "#9592fb", ":", 350.0,
    ),
}  # fmt: skip
"""deep agents by name; they see observations"""

SMALLEST = View((1,), np.dtype(np.float32), 1, 1, 1, 0.0, 0.0)
"""the view of the smallest problem there is; parameters are checked by it if there is no other"""

_NAMED: dict[str, Any] = {**KINDS, **DEEP}
COLOURS: dict[str, tuple[str, Line]] = {name: (of.colour, of.line) for name, of in _NAMED.items()}
"""agent -> colour and line of its curves"""
LABELS: dict[str, str] = {name: of.label for name, of in _NAMED.items()}
"""agent -> what legends call it; empty: its name"""

registry: Registry[AgentConfig] = Registry("agent", AgentConfig)
"""the agents of this package by name, and how to add one"""
for _name, _kind in KINDS.items():
    registry.register(_name, _kind)


# ---- from names to agents -------------------------------------------------------------------


def find(
    agent: Any, monmdp: MonMDP | None = None, params: Mapping[str, Any] | None = None
) -> AgentConfig | AgentFactory | PythonAgent | ObservingAgent:
    """Return the agent that somebody means: a configuration, or an agent in plain Python.

    Args:
        agent: a registered name; ``module:object``; a configuration or its class; an agent in plain
            Python, as an object or as what makes it from (shape, rng), or, if it sees observations,
            from (view, rng).
        monmdp: the problem; a name of ours then stands for the paper's settings of that problem.
        params: parameters that differ; unknown ones are refused, and the nearest match is named.

    >>> from monmdp import agents
    >>> agents.find("monitored-mbie-eb", params={"beta": 0.001}).beta
    0.001
    """
    what = f"agent {agent!r}"
    params, found = params or {}, agent
    if isinstance(agent, str):
        found = _named(agent)
        if agent in KINDS and monmdp is not None:
            found = paper_config(agent, monmdp.mdp.name, monmdp.monitor.name)
    if isinstance(found, AgentConfig):
        if not params:
            return found
        what = f"agent {found.name!r}"
        return call(type(found), what, found.hyper_parameters() | dict(params))
    if is_python_agent(found):
        if params:
            raise MonMDPError(f"{what} is finished and takes no parameters")
        return found
    _demand_callable(found)
    if _makes_config(found) or agent in registry:
        what = what if isinstance(agent, str) else f"agent {found.__name__!r}"
        return registry.checked(call(found, what, params), what)
    _check_factory(found)
    chosen = assign(params, {"agent": parameters_of(agent)})["agent"]
    if chosen and name_of(found) is not None:  # it checks its parameters when it is made
        view = SMALLEST if monmdp is None else view_of(monmdp)
        found(view, np.random.default_rng(0), **chosen)
    return partial(found, **chosen) if chosen else found


def parameters_of(agent: Any) -> Scope:
    """Return the parameters that an agent takes; `agent` is what `find` takes."""
    found = _named(agent) if isinstance(agent, str) else agent
    name = agent if isinstance(agent, str) else getattr(agent, "__name__", type(agent).__name__)
    if isinstance(found, AgentConfig):
        found = type(found)
    if is_python_agent(found):
        return Scope(f"agent {name!r}", {})
    _demand_callable(found)
    scope = scope_of(found, f"agent {name!r}")
    if _makes_config(found) or (isinstance(agent, str) and agent in registry):
        return scope
    # The first two parameters of what makes an agent in plain Python are given by `train`.
    return Scope(scope.what, dict(list(scope.parameters.items())[2:]), scope.open_ended)


def _named(name: str) -> Any:
    """Return what a registered name or ``module:object`` stands for."""
    if ":" in name:
        return import_object(name, "agent")
    if name in DEEP:
        return import_object(DEEP[name].place, "agent")
    if name in registry or name.endswith(".py"):  # which says what else to name
        return registry.factory(name)
    raise MonMDPError(f"unknown agent {name!r}{nearest(name, (*registry, *DEEP))}")


def name_of(kind: Any) -> str | None:
    """Return the name of a deep agent's class; None: it is no agent of this package."""
    place = f"{getattr(kind, '__module__', '')}:{getattr(kind, '__qualname__', '')}"
    return next((name for name, of in DEEP.items() if of.place == place), None)


def _demand_callable(found: Any) -> None:
    if not callable(found):
        raise MonMDPError(
            "an agent is a name, module:object, a configuration, a class or function of (shape, "
            f"rng) or (view, rng), or an object with begin_episode, act, update and test_policy; "
            f"got {found!r}"
        )


def _makes_config(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, AgentConfig)


def _check_factory(factory: Any) -> None:
    """Demand that a factory can be called with (shape, rng), or with (view, rng)."""
    target = factory.func if isinstance(factory, partial) else factory
    name = f"{getattr(target, '__module__', '')}:{getattr(target, '__qualname__', repr(target))}"
    first, meaning = "shape", "(|Sᵉ|, |Sᵐ|, |Aᵉ|, |Aᵐ|)"
    if sees(factory) == "observations":
        first, meaning = "view", "a View of the problem"
    try:
        inspect.signature(factory).bind(None, None)
    except TypeError as error:
        raise MonMDPError(
            f"{name} cannot be called with ({first}, rng), {error}; {first} is {meaning}, rng the "
            "agent's random stream"
        ) from None
    except ValueError:  # no signature to look at
        return


def config(agent: str | AgentConfig, **params: Any) -> AgentConfig:
    """Return the hyper-parameters of an agent by its name, with changes.

    >>> from monmdp import agents
    >>> agents.config("monitored-mbie-eb", beta=0.001).beta
    0.001
    """
    found = find(agent, params=params)
    if not isinstance(found, AgentConfig):
        raise MonMDPError(f"a name or a configuration expected, got {agent!r}")
    return found


# ---- the paper ------------------------------------------------------------------------------


_EIGHT = (
    "empty", "hazard", "loop", "river-swim", "one-way", "corridor", "two-room-3x5", "two-room-2x11",
)  # fmt: skip
_SIX = ("full", "semi-random", "ask", "button", "n-supporters", "level-up")
_OTHER_SIX = ("full-random", "ask", "n-supporters", "n-experts", "level-up", "button")
_BOTTLENECK = tuple(("bottleneck", monitor) for monitor in _OTHER_SIX)

FIGURES: dict[int, tuple[tuple[str, str], ...]] = {
    4: (("river-swim", "full"), ("bottleneck", "button")),
    5: (("bottleneck", "button"),),
    6: tuple((world, monitor) for world in _EIGHT for monitor in _SIX),
    9: _BOTTLENECK,
    10: _BOTTLENECK,
    11: _BOTTLENECK,
    12: _BOTTLENECK,
    13: _BOTTLENECK,
}
"""figure -> the worlds and monitors in it; its agents say so themselves (`AgentConfig.figures`)"""


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
    return KINDS[agent](**KINDS[agent].paper_settings(world, monitor, figure))


def _check_figure(figure: int, agent: str, world: str, monitor: str) -> None:
    """Refuse what is not in a figure, and say what is."""
    if figure not in FIGURES:
        known = ", ".join(str(number) for number in FIGURES)
        raise MonMDPError(f"figure {figure!r} has no learning curves; those that do: {known}")
    there = {
        "agent": (agent, [name for name, kind in KINDS.items() if figure in kind.figures]),
        "world": (world, list(dict.fromkeys(name for name, _ in FIGURES[figure]))),
        "monitor": (monitor, [other for name, other in FIGURES[figure] if name == world]),
    }
    for kind, (name, known_names) in there.items():
        if name not in known_names:
            raise MonMDPError(
                f"{kind} {name!r} is not in figure {figure}; there are {', '.join(known_names)}"
            )


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
