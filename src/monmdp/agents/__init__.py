"""The algorithms: their hyper-parameters by name, and agents that run step by step."""

from __future__ import annotations

from typing import Any

import gymnasium

from monmdp.agents.ablations import MBIEEB, PessimisticMBIEEB
from monmdp.agents.baselines import UCB, EpsilonGreedy, Intrinsic, Optimistic, QCount
from monmdp.agents.contract import AgentConfig, Step, Transition, View
from monmdp.agents.directed_e2 import DirectedE2
from monmdp.agents.factored_mbie_eb import FactoredMBIEEB
from monmdp.agents.known_monitor import KnownMonitor
from monmdp.agents.monitored_mbie_eb import MonitoredMBIEEB
from monmdp.agents.named import (
    COLOURS,
    DEEP,
    FIGURES,
    KINDS,
    LABELS,
    PRESETS,
    DeepAgent,
    config,
    find,
    paper_config,
    parameters_of,
    preset,
    registry,
)
from monmdp.agents.posterior_sampling import PosteriorSampling
from monmdp.agents.r_max import RMax
from monmdp.agents.stepwise import (
    Agent,
    AgentFactory,
    ObservingAgent,
    PythonAgent,
    is_python_agent,
    model_and_shape,
    observations_of,
    view_of,
)
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP

__all__ = [
    "COLOURS",
    "DEEP",
    "FIGURES",
    "KINDS",
    "LABELS",
    "MBIEEB",
    "PRESETS",
    "UCB",
    "Agent",
    "AgentConfig",
    "AgentFactory",
    "DeepAgent",
    "DirectedE2",
    "EpsilonGreedy",
    "FactoredMBIEEB",
    "Intrinsic",
    "KnownMonitor",
    "MonitoredMBIEEB",
    "ObservingAgent",
    "Optimistic",
    "PessimisticMBIEEB",
    "PosteriorSampling",
    "PythonAgent",
    "QCount",
    "RMax",
    "Step",
    "Transition",
    "View",
    "config",
    "find",
    "is_python_agent",
    "make",
    "observations_of",
    "paper_config",
    "parameters_of",
    "preset",
    "registry",
    "view_of",
]


def make(
    agent: str | AgentConfig | type[AgentConfig],
    environment: MonMDP | gymnasium.Env[Any, Any],
    *,
    seed: int = 0,
    r_min: float | None = None,
    r_max: float | None = None,
    **params: Any,
) -> Agent:
    """Make an agent that acts and learns step by step on a Gymnasium environment.

    Args:
        agent: a registered name, which stands for the paper's settings, ``module:object``, or a
            configuration.
        environment: a `MonMDP`, or an environment with spaces ``Dict(env=Discrete, mon=Discrete)``.
        seed: of the agent's random stream.
        r_min: the least environment reward there can be. Environments with a model tell it; for all
            others an agent that needs it must be given it.
        r_max: the largest, likewise.
        **params: hyper-parameters that differ.

    >>> import monmdp
    >>> problem = monmdp.make("hazard", "ask")
    >>> agent = monmdp.agents.make("monitored-mbie-eb", problem, seed=0)
    >>> agent.begin_episode()
    True
    >>> sorted(agent.act({"env": 0, "mon": 0}))
    ['env', 'mon']
    """
    model, _ = model_and_shape(environment)
    found = find(agent, model, params)
    if not isinstance(found, AgentConfig):
        raise MonMDPError(
            f"an agent is a configuration here, or the name of one of {', '.join(KINDS)}; "
            f"got {agent!r}"
        )
    return Agent(found, environment, seed=seed, r_min=r_min, r_max=r_max)
