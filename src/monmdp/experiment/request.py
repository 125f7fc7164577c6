"""From names and flat parameters to a problem and an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from monmdp import agents, catalogue
from monmdp.agents import AgentConfig
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.naming import Scope, assign, call, import_object, parse_assignments, scope_of

DEFAULT_AGENT = "factored-mbie-eb"


@dataclass(frozen=True, eq=False)
class Request:
    """A problem, an agent, and how they were asked for."""

    monmdp: MonMDP
    agent: AgentConfig | Callable[..., Any]
    """a configuration, or what makes an agent in plain Python from (shape, rng)"""
    parameters: Mapping[str, Any]
    """parameters of the world and the monitor that were given, by hand or by the preset"""
    of_agent: Mapping[str, Any]
    """parameters of the agent that were given by hand"""


def request(
    world: str | MonMDP,
    monitor: str | None,
    agent: str = DEFAULT_AGENT,
    params: Mapping[str, Any] | None = None,
    *,
    preset: str = "paper",
) -> Request:
    """Make the problem and the agent; every name and key is checked, the nearest match is named.

    Args:
        world: what `monmdp.make` takes, or a finished `MonMDP`.
        monitor: what `monmdp.make` takes; None with a finished `MonMDP`.
        agent: a registered name, or ``module:object`` for one of your own.
        params: parameters of world, monitor and agent; ``agent.key`` where a key is ambiguous.
        preset: ``paper``, or ``released`` for the options of the authors' released code.

    >>> from monmdp import experiment
    >>> asked = experiment.request("hazard", "ask", "directed-e2", {"rho": "0.5", "r0": "-10"})
    >>> asked.monmdp.monitor.name, asked.agent.r0
    ('ask', -10.0)
    """
    changes = agents.preset(preset)
    what = f"agent {agent!r}"
    factory, scope, start = factory_of(agent)
    scopes: dict[str, Scope] = {}
    if isinstance(world, MonMDP):
        if changes["world"] or changes["monitor"]:
            options = " ".join(f"{key}={value}" for key, value in changes["agent"].items())
            raise MonMDPError(
                f"preset {preset!r} also changes world and monitor; this problem is finished. "
                f"For the agent alone write {options}"
            )
    elif monitor is None:
        raise MonMDPError("which monitor?")
    else:
        scopes = catalogue.scopes(world, monitor)
    ours = isinstance(factory, type) and issubclass(factory, AgentConfig)
    _check_owner(params or {}, scopes | {"agent": scope}, what)
    chosen = assign(params or {}, scopes | {"agent": scope})

    given: dict[str, Any] = {}
    if isinstance(world, MonMDP):
        monmdp = world
    else:
        by_world = {k: v for k, v in changes["world"].items() if k in scopes["world"].parameters}
        by_monitor = changes["monitor"].get(str(monitor), {})
        parts = {
            "world": by_world | chosen["world"],
            "monitor": by_monitor | chosen["monitor"],
        }
        given = {f"{part}.{key}": v for part, keys in parts.items() for key, v in keys.items()}
        monmdp = catalogue.make(world, monitor, **given)  # type: ignore[arg-type]
    if not ours:
        return Request(monmdp, partial(factory, **chosen["agent"]), given, chosen["agent"])
    by_agent = {k: v for k, v in changes["agent"].items() if k in scope.parameters}
    if agent in agents.KINDS:
        config = agents.paper_config(agent, monmdp.mdp.name, monmdp.monitor.name)
        start = config.hyper_parameters()
    made = call(factory, what, start | by_agent | chosen["agent"])
    return Request(monmdp, agents.registry.checked(made, what), given, chosen["agent"])


def _check_owner(params: Mapping[str, Any], scopes: Mapping[str, Scope], what: str) -> None:
    """Say whose a parameter is if it is none of this agent's but of another one's."""
    known = {name for scope in scopes.values() for name in scope.parameters}
    if any(scope.open_ended for scope in scopes.values()):
        return
    kinds = agents.KINDS.items()
    for name in (key.removeprefix("agent.") for key in params):
        if name in known:
            continue
        owners = [agent for agent, kind in kinds if name in scope_of(kind, agent).parameters]
        if owners:
            raise MonMDPError(f"{what} has no parameter {name!r}; {', '.join(owners)} have it")


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


def factory_of(agent: str) -> tuple[Callable[..., Any], Scope, dict[str, Any]]:
    """Return what makes an agent or its configuration, its parameters, and what it starts from."""
    factory, start = _factory(agent)
    scope = scope_of(factory, f"agent {agent!r}")
    if isinstance(factory, type) and issubclass(factory, AgentConfig):
        return factory, scope, start
    # The first two parameters of what makes an agent in plain Python are given by `train`.
    own = dict(list(scope.parameters.items())[2:])
    return factory, Scope(scope.what, own, scope.open_ended), start


def _factory(agent: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return what makes an agent or its configuration, and what it starts from."""
    if ":" not in agent:
        return agents.registry.factory(agent), {}
    found = import_object(agent, "agent")
    if isinstance(found, AgentConfig):
        return type(found), found.hyper_parameters()
    if not callable(found):
        raise MonMDPError(
            f"{agent} is no agent: a configuration, or a class or function of (shape, rng) expected"
        )
    return found, {}


def default_steps(monmdp: MonMDP) -> int:
    """Return the paper's budget: 50,000 steps for Bottleneck, 20,000 for all others."""
    return 50_000 if monmdp.mdp.name == "bottleneck" else 20_000
