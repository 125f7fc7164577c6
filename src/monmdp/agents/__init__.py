"""The algorithms: their hyper-parameters by name, and agents that run step by step."""

from __future__ import annotations

from typing import Any

import gymnasium

from monmdp.agents.ablations import MBIEEB, PessimisticMBIEEB
from monmdp.agents.base import AgentConfig, Transition
from monmdp.agents.baselines import UCB, EpsilonGreedy, Intrinsic, Optimistic, QCount
from monmdp.agents.directed_e2 import DirectedE2
from monmdp.agents.factored_mbie_eb import FactoredMBIEEB
from monmdp.agents.known_monitor import KnownMonitor
from monmdp.agents.monitored_mbie_eb import MonitoredMBIEEB
from monmdp.agents.posterior_sampling import PosteriorSampling
from monmdp.agents.r_max import RMax
from monmdp.agents.settings import KINDS, PRESETS, paper_config, preset
from monmdp.agents.stepwise import Agent, model_and_shape
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.naming import Registry, call

__all__ = [
    "KINDS",
    "MBIEEB",
    "PRESETS",
    "UCB",
    "Agent",
    "AgentConfig",
    "DirectedE2",
    "EpsilonGreedy",
    "FactoredMBIEEB",
    "Intrinsic",
    "KnownMonitor",
    "MonitoredMBIEEB",
    "Optimistic",
    "PessimisticMBIEEB",
    "PosteriorSampling",
    "QCount",
    "RMax",
    "Transition",
    "config",
    "make",
    "paper_config",
    "preset",
    "registry",
]

registry: Registry[AgentConfig] = Registry("agent", AgentConfig)
"""the agents of this package by name, and how to add one"""
for _name, _kind in KINDS.items():
    registry.register(_name, _kind)


def config(agent: str | AgentConfig, **params: Any) -> AgentConfig:
    """Return the hyper-parameters of an agent by its name, with changes.

    >>> from monmdp import agents
    >>> agents.config("monitored-mbie-eb", beta=0.001).beta
    0.001
    """
    if isinstance(agent, AgentConfig):
        if not params:
            return agent
        return call(type(agent), f"agent {agent.name!r}", agent.hyper_parameters() | params)
    what = f"agent {agent!r}"
    return registry.checked(call(registry.factory(agent), what, params), what)


def make(
    agent: str | AgentConfig,
    environment: MonMDP | gymnasium.Env[Any, Any],
    *,
    seed: int = 0,
    r_min: float | None = None,
    **params: Any,
) -> Agent:
    """Make an agent that acts and learns step by step on a Gymnasium environment.

    Args:
        agent: a registered name, which stands for the paper's settings, or a configuration.
        environment: a `MonMDP`, or an environment with spaces ``Dict(env=Discrete, mon=Discrete)``.
        seed: of the agent's random stream.
        r_min: the least environment reward there can be; needed for environments not of ours.
        **params: hyper-parameters that differ.

    >>> import monmdp
    >>> problem = monmdp.make("hazard", "ask")
    >>> agent = monmdp.agents.make("monitored-mbie-eb", problem, seed=0)
    >>> agent.begin_episode()
    True
    >>> sorted(agent.act({"env": 0, "mon": 0}))
    ['env', 'mon']
    """
    if not isinstance(agent, str | AgentConfig):
        raise MonMDPError(f"an agent is a name or a configuration, got {agent!r}")
    model, _ = model_and_shape(environment)
    if model is not None and agent in KINDS:
        agent = paper_config(str(agent), model.mdp.name, model.monitor.name)
    return Agent(config(agent, **params), environment, seed=seed, r_min=r_min)
