"""From names and flat parameters to a problem and an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from monmdp import agents, catalogue
from monmdp.agents import AgentConfig, AgentFactory, ObservingAgent, PythonAgent
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.naming import Scope, assign, parse_assignments, scope_of

DEFAULT_AGENT = "factored-mbie-eb"


@dataclass(frozen=True, eq=False)
class Assembled:
    """A problem, an agent, and how they were asked for."""

    monmdp: MonMDP
    agent: AgentConfig | AgentFactory | PythonAgent | ObservingAgent
    given: Mapping[str, Any]
    """parameters of the world and the monitor that were given, by hand or by the preset"""
    parameters: Mapping[str, Any]
    """all parameters of the world and the monitor, those included that were not given"""


def assemble(
    world: str | MonMDP,
    monitor: str | None,
    agent: Any = DEFAULT_AGENT,
    params: Mapping[str, Any] | None = None,
    *,
    preset: str = "paper",
    make: Callable[..., MonMDP] = catalogue.make,
) -> Assembled:
    """Make the problem and the agent; every name and key is checked, the nearest match is named.

    Args:
        world: what `monmdp.make` takes, or a finished `MonMDP`.
        monitor: what `monmdp.make` takes; None with a finished `MonMDP`.
        agent: a registered name, or ``module:object`` for one of your own; for a finished problem
            also a configuration, or what makes an agent.
        params: parameters of world, monitor and agent; ``agent.key`` where a key is ambiguous.
        preset: ``paper``, or ``released`` for the options of the authors' released code. A finished
            problem stays as it is; the preset then concerns the agent alone.
        make: what makes the problem, if not `monmdp.make`.

    >>> from monmdp import experiment
    >>> asked = experiment.assemble("hazard", "ask", "directed-e2", {"rho": "0.5", "r0": "-10"})
    >>> asked.monmdp.monitor.name, asked.agent.r0
    ('ask', -10.0)
    """
    changes = agents.preset(preset)
    chosen = assigned(world, monitor, agent, params or {})
    given: dict[str, Any] = {}
    usual: dict[str, Any] = {}
    if isinstance(world, MonMDP):
        monmdp = world
    elif monitor is None:
        raise MonMDPError("which monitor?")
    else:
        scopes = catalogue.scopes(world, monitor)
        known = scopes["world"].parameters
        by_world = {key: value for key, value in changes["world"].items() if key in known}
        usual = {
            f"{k}.{n}": p.default for k, of in scopes.items() for n, p in of.parameters.items()
        }
        parts = {
            "world": by_world | chosen["world"],
            "monitor": changes["monitor"].get(monitor, {}) | chosen["monitor"],
        }
        given = {f"{part}.{key}": v for part, keys in parts.items() for key, v in keys.items()}
        monmdp = make(world, monitor, **given)
    by_agent: dict[str, Any] = {}
    if isinstance(agent, str):  # a configuration is as it is
        takes = agents.parameters_of(agent).parameters
        by_agent = {key: value for key, value in changes["agent"].items() if key in takes}
    found = agents.find(agent, monmdp, by_agent | chosen["agent"])
    return Assembled(monmdp, found, given, usual | given)


def assigned(
    world: str | MonMDP, monitor: str | None, agent: Any, params: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return whose parameters these are: of the world, the monitor, the agent.

    One that is none of this agent's, but of another one's, is an error that says whose.
    """
    scopes: dict[str, Scope] = {}
    if isinstance(world, str) and monitor is not None:
        scopes = catalogue.scopes(world, monitor)
    if isinstance(agent, str):
        scopes |= {"agent": agents.parameters_of(agent)}
    known = {name for scope in scopes.values() for name in scope.parameters}
    is_open = any(scope.open_ended for scope in scopes.values())
    foreign = {key.removeprefix("agent.") for key in params} - known
    for name in () if is_open else sorted(foreign):
        owners = [of for of, kind in agents.KINDS.items() if name in scope_of(kind, of).parameters]
        if owners:
            have = f"{', '.join(owners)} have it"
            raise MonMDPError(f"agent {agent!r} has no parameter {name!r}; {have}")
    return {"agent": {}} | assign(params, scopes)


def parse_agents(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Read ``a,key=value,key=value,b``: label -> (agent, its parameters).

    What has a ``=`` belongs to the agent before it. The label is the agent with its parameters, so
    that one agent can be there several times.
    """
    chosen: list[tuple[str, list[str]]] = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        if "=" not in word:
            chosen.append((word, []))
        elif chosen:
            chosen[-1][1].append(word)
        else:
            raise MonMDPError(f"{word!r} stands before any agent; write agent,{word}")
    if not chosen:
        raise MonMDPError("which agents? Write their names with commas between them")
    result: dict[str, tuple[str, dict[str, str]]] = {}
    for agent, words in chosen:
        label = " ".join([agent, *words])
        if label in result:
            raise MonMDPError(f"{label!r} is there twice")
        result[label] = agent, parse_assignments(words)
    return result


def default_steps(monmdp: MonMDP) -> int:
    """Return the paper's budget: 50,000 steps for Bottleneck, 20,000 for all others."""
    return 50_000 if monmdp.mdp.name == "bottleneck" else 20_000
