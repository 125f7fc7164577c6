"""From a suite to runs and panels: configurations with readable ids, shared between figures."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from monmdp import agents, catalogue
from monmdp.agents import AgentConfig
from monmdp.errors import MonMDPError
from monmdp.experiment.provenance import kernel_hash
from monmdp.experiment.request import Request, default_steps, request
from monmdp.experiment.seeds import file_name
from monmdp.experiment.streams import fingerprint
from monmdp.experiment.training import Task, prepare
from monmdp.model.monmdp import Shape
from monmdp.suites.spec import (
    AgentChoice,
    Block,
    MonitorChoice,
    Score,
    Suite,
    WorldChoice,
    in_words,
    mistakes,
)


@dataclass(frozen=True)
class Configuration:
    """Everything about a run but its seed: a few names and numbers, small enough to be sent.

    Parameters are sorted (key, value) pairs, so that it can be hashed.
    """

    world: str
    monitor: str
    agent: str
    problem: tuple[tuple[str, Any], ...]
    """parameters of the world and the monitor, ``world.key`` or ``monitor.key``"""
    of_agent: tuple[tuple[str, Any], ...]
    steps: int | None
    every: int
    evaluation: str
    episodes: int
    gamma: float | None
    preset: str

    def request(self) -> Request:
        """Make the problem and the agent."""
        params = dict(self.problem) | {f"agent.{key}": value for key, value in self.of_agent}
        return request(self.world, self.monitor, self.agent, params, preset=self.preset)

    def task(self) -> Task:
        """Check it and prepare what training needs."""
        asked = self.request()
        return prepare(
            asked.monmdp,
            asked.agent,
            default_steps(asked.monmdp) if self.steps is None else self.steps,
            evaluation=self.evaluation,  # type: ignore[arg-type]
            every=self.every,
            episodes=self.episodes,
            gamma=self.gamma,
            made_with=asked.parameters,
        )

    @property
    def id(self) -> str:
        """Return a readable name that belongs to these settings alone, whoever asks for them."""
        return resolve(self).id


def digest(settings: Mapping[str, Any]) -> str:
    """Hash what decides the data; not how the problem was asked for, nor what memory allows."""
    parameters = {k: v for k, v in settings["parameters"].items() if k != "memory_limit"}
    deciding = {k: v for k, v in settings.items() if k != "problem_parameters"}
    text = json.dumps(deciding | {"parameters": parameters}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Resolved(NamedTuple):
    """What a configuration comes to."""

    id: str
    settings: Mapping[str, Any]
    """of the problem's parameters those that change it"""
    shape: Shape
    memory: int
    """bytes of a table so large that it limits how many agents fit; usually 0"""
    is_compiled: bool
    kernel: str
    """hash of the code that a run of it would be done with"""


@cache
def resolve(configuration: Configuration) -> Resolved:
    """Check a configuration and find out what it comes to."""
    task = configuration.task()
    settings = dict(task.settings)
    given = tuple(sorted(settings["problem_parameters"].items()))
    telling = _telling(configuration.world, configuration.monitor, given)
    settings["problem_parameters"] = telling
    usual: Mapping[str, Any] = {}
    if configuration.agent in agents.KINDS:
        names = configuration.agent, settings["world"], settings["monitor"]
        usual = agents.paper_config(*names).for_training(task.steps).hyper_parameters()
    unusual = {k: v for k, v in settings["parameters"].items() if usual.get(k) != v}
    words = [settings["world"], settings["monitor"]]
    words += [f"{key.partition('.')[2]}={value}" for key, value in telling.items()]
    words += [settings["agent"], *(f"{key}={value}" for key, value in unusual.items())]
    if task.steps <= task.every:
        raise MonMDPError(
            f"{task.steps:,} steps with a test every {task.every:,} are one test; a learning curve "
            "has two or more (every=…)"
        )
    shape, agent = task.monmdp.shape, task.agent
    return Resolved(
        id=f"{file_name('-'.join(words))[:120]}-{digest(settings)}",
        settings=settings,
        shape=shape,
        memory=agent.memory(shape) if isinstance(agent, AgentConfig) else 0,
        is_compiled=isinstance(agent, AgentConfig),
        kernel=kernel_hash(agent),
    )


@cache
def _telling(world: str, monitor: str, given: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """The parameters without which it would be another problem."""
    if not given:
        return {}
    problem = fingerprint(catalogue.make(world, monitor, **dict(given)))
    result = {}
    for key, value in given:
        rest = {k: v for k, v in given if k != key}
        if fingerprint(catalogue.make(world, monitor, **rest)) != problem:
            result[key] = value
    return result


@dataclass(frozen=True)
class Curve:
    """One agent in a panel."""

    label: str
    agent: str
    configuration: str
    """its id"""
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Panel:
    """One problem, and the agents that learn it."""

    row: str
    column: str
    world: str
    monitor: str
    problem: Mapping[str, Any]
    """parameters that the suite gives to the world and the monitor"""
    score: Score
    """what it shows"""
    x_range: tuple[float, float] | None
    y_range: tuple[float, float] | None
    curves: tuple[Curve, ...]

    @property
    def rho(self) -> float:
        """Return the monitor's ρ."""
        return float(self.problem.get("monitor.rho", 1.0))

    def __getitem__(self, agent: str) -> Curve:
        """Return the curve of the agent of this name."""
        return next(curve for curve in self.curves if curve.agent == agent)


@dataclass(frozen=True)
class Grid:
    """The panels of one block: [row][column]."""

    title: str | None
    rows: tuple[tuple[Panel, ...], ...]


@dataclass(frozen=True)
class Figure:
    """The panels of a suite: plain data, which can be kept and read again."""

    name: str
    title: str
    preset: str
    grids: tuple[Grid, ...]
    maps: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    """worlds to draw as maps: title, name, parameters"""
    graphs: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    """worlds to draw as graphs of their states"""
    smooth: bool | None = None
    """whether curves are drawn smoothed; None: those of 100 tests or more"""
    reference: str | None = None
    """label of the agent that others are compared with; None: the first"""

    def panels(self) -> Iterator[Panel]:
        """Yield all panels."""
        for grid in self.grids:
            for row in grid.rows:
                yield from row

    def curves(self) -> Iterator[Curve]:
        """Yield all curves of all panels."""
        for panel in self.panels():
            yield from panel.curves


@dataclass(frozen=True)
class Plan:
    """A suite, expanded."""

    suite: Suite
    figure: Figure
    configurations: Mapping[str, Configuration]
    """by id"""

    def runs(self) -> dict[tuple[str, int], Configuration]:
        """Return (configuration's id, seed) -> configuration."""
        return {
            (curve.configuration, seed): self.configurations[curve.configuration]
            for curve in self.figure.curves()
            for seed in curve.seeds
        }


def expand(suite: Suite, preset: str = "paper") -> Plan:
    """Expand a suite; settings that do not go together are reported all at once.

    >>> from monmdp import suites
    >>> plan = suites.expand(suites.paper_suite("figure-5"))
    >>> len(plan.configurations), len(plan.runs())
    (2, 60)
    """
    agents.preset(preset)
    expansion = _Expansion(suite, preset)
    grids = tuple(
        Grid(block.title, expansion.rows(block, f"experiment[{i}]"))
        for i, block in enumerate(suite.experiment)
    )
    if expansion.wrong:
        raise MonMDPError(mistakes(f"suite {suite.name!r}", list(dict.fromkeys(expansion.wrong))))
    maps, graphs = (
        tuple((choice.shown_as, choice.name, choice.parameters) for choice in choices)
        for choices in (suite.draw, suite.draw_dynamics)
    )
    seeds: dict[str, tuple[int, ...]] = {}
    for grid in grids:
        for curve in (c for row in grid.rows for panel in row for c in panel.curves):
            if seeds.setdefault(curve.configuration, curve.seeds) != curve.seeds:
                raise MonMDPError(
                    f"suite {suite.name!r}: blocks that share runs have different seeds "
                    f"({curve.configuration})"
                )
    figure = Figure(
        suite.name, suite.title, preset, grids, maps, graphs, suite.smooth, suite.reference
    )
    return Plan(suite, figure, expansion.configurations)


class _Expansion:
    """A suite that is being expanded: collects configurations, and what is wrong."""

    def __init__(self, suite: Suite, preset: str) -> None:
        self.suite = suite
        self.preset = preset
        self.configurations: dict[str, Configuration] = {}
        self.wrong: list[str] = []

    def rows(self, block: Block, where: str) -> tuple[tuple[Panel, ...], ...]:
        """Return the panels of a block."""
        settings = product(block.worlds, block.rho or (None,), block.overrides)
        return tuple(
            tuple(self._panel(block, where, world, m, rho, override) for m in block.monitors)
            for world, rho, override in settings
        )

    def _panel(
        self,
        block: Block,
        where: str,
        world: WorldChoice,
        monitor: MonitorChoice,
        rho: float | None,
        override: Mapping[str, Any],
    ) -> Panel:
        seeds = self.suite.seeds if block.seeds is None else block.seeds
        chosen = tuple(range(seeds)) if isinstance(seeds, int) else seeds
        problem = {f"world.{key}": value for key, value in world.parameters.items()}
        problem |= {f"monitor.{key}": value for key, value in monitor.parameters.items()}
        problem |= {} if rho is None else {"monitor.rho": float(rho)}
        curves = []
        for agent in block.agents:
            if monitor.name in agent.not_with:
                continue
            try:
                made = self._configuration(block, world, monitor, agent, problem, override)
                found = resolve(made)
            except MonMDPError as error:
                names = f"{world.shown_as} / {monitor.shown_as}, {agent.shown_as}"
                self.wrong.append(f"{where}: {names}: {error}")
                continue
            self.configurations.setdefault(found.id, made)
            curves.append(Curve(agent.shown_as, agent.name, found.id, chosen))
        shown = [] if rho is None else [f"{100 * rho:g} %"]
        return Panel(
            row=" ".join([world.shown_as, *shown, *in_words(override)]),
            column=monitor.shown_as,
            world=Path(world.name).stem if os.sep in world.name else world.name,
            monitor=monitor.name,
            problem=problem,
            score=block.score,
            x_range=block.x_range,
            y_range=block.y_range,
            curves=tuple(curves),
        )

    def _configuration(
        self,
        block: Block,
        world: WorldChoice,
        monitor: MonitorChoice,
        agent: AgentChoice,
        problem: Mapping[str, Any],
        override: Mapping[str, Any],
    ) -> Configuration:
        """Put together what suite, block, choices and override say; the more special wins."""
        all_of_problem, of_agent = dict(problem), dict(agent.parameters)
        if override:
            asked = request(world.name, monitor.name, agent.name, override)
            all_of_problem |= asked.parameters
            of_agent |= asked.of_agent

        def said(key: str) -> Any:
            own = getattr(block, key)
            return getattr(self.suite, key) if own is None else own

        return Configuration(
            world=world.name,
            monitor=monitor.name,
            agent=agent.name,
            problem=tuple(sorted(all_of_problem.items())),
            of_agent=tuple(sorted(of_agent.items())),
            steps=said("steps"),
            every=said("every"),
            evaluation=said("evaluation"),
            episodes=said("episodes"),
            gamma=said("gamma"),
            preset=self.preset,
        )
