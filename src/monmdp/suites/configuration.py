"""Configurations: everything about a run but its seed, from names to a checked task, once.

A `Configuration` is what was asked for: a few names and numbers, small enough to be sent to a
worker. `resolve` makes the problem and the agent, checks them, and finds the id under which the
runs are kept: a readable name and a hash of what decides the data. How it was asked for does not
enter, so figures, presets and commands share runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from monmdp import agents, catalogue
from monmdp.agents import AgentConfig
from monmdp.errors import MonMDPError
from monmdp.experiment.assembly import assemble, default_steps
from monmdp.experiment.provenance import kernel_hash
from monmdp.experiment.streams import fingerprint
from monmdp.experiment.training import Task, prepare, snapshots_from_start
from monmdp.files import file_name
from monmdp.model import MonMDP
from monmdp.schema import SettingsDict

Pairs = tuple[tuple[str, Any], ...]
"""parameters as sorted (key, value) pairs, so that they can be hashed"""


@dataclass(frozen=True)
class Configuration:
    """What was asked for."""

    world: str | MonMDP
    """a name, a file, ``module:object``, or a finished problem"""
    monitor: str | None
    """None: the world is a finished problem, or the file of one"""
    agent: Any
    """a name, or whatever else `agents.find` takes"""
    problem: Pairs = ()
    """parameters of the world and the monitor, ``world.key`` or ``monitor.key``"""
    of_agent: Pairs = ()
    steps: int | None = None
    """None: the paper's budget"""
    every: int = 100
    evaluation: str = "exact"
    episodes: int = 100
    gamma: float | None = None
    preset: str = "paper"
    keep_policy: bool = False
    """keep the policy at the end"""
    snapshots: int | tuple[int, ...] = 0
    """how many snapshots to keep, closer together early on, or after which steps"""
    snapshot_seed: int | None = None
    """the one seed that keeps them; None: all do"""
    folder: str | None = None
    """where ``module:object`` is looked for, too"""


@dataclass(frozen=True)
class Wanted:
    """What is to be there of the runs of a configuration."""

    settings: SettingsDict
    keeps_inside: bool
    """whether more than the learning curve is kept"""
    snapshots: tuple[int, ...]
    snapshot_seed: int | None
    """the one seed that keeps them; None: all do"""
    kernel: str | None = None
    """hash of the code that a run of it would be done with today; None: not known"""

    def snapshots_of(self, seed: int) -> tuple[int, ...]:
        """Return the steps after which a seed keeps snapshots."""
        return self.snapshots if self.snapshot_seed in (None, seed) else ()


@dataclass(frozen=True, eq=False)
class Resolved:
    """What a configuration comes to."""

    configuration: Configuration
    id: str
    """a readable name that belongs to these settings alone"""
    settings: Mapping[str, Any]
    task: Task
    kernel: str
    """hash of the code that a run of it would be done with"""

    def demand_curve(self) -> Resolved:
        """Refuse what would be a single test; a learning curve has two or more."""
        if self.task.steps <= self.task.every:
            raise MonMDPError(
                f"{self.task.steps:,} steps with a test every {self.task.every:,} are one test; a "
                "learning curve has two or more (every=…)"
            )
        return self

    @property
    def is_compiled(self) -> bool:
        """Return whether the agent runs compiled."""
        return isinstance(self.task.agent, AgentConfig)

    @property
    def memory(self) -> int:
        """Return the bytes of a table that limits how many agents fit; usually 0."""
        agent = self.task.agent
        return agent.memory(self.task.monmdp.shape) if isinstance(agent, AgentConfig) else 0

    @property
    def keeps_inside(self) -> bool:
        """Return whether more than the learning curve is kept of its runs."""
        return self.configuration.keep_policy or bool(self.task.snapshot_steps)

    @property
    def wanted(self) -> Wanted:
        """Return what is to be there of its runs."""
        return Wanted(
            dict(self.settings),
            self.keeps_inside,
            self.task.snapshot_steps,
            self.configuration.snapshot_seed,
            self.kernel,
        )

    def task_of(self, seed: int) -> Task:
        """Return the task of one seed: without snapshots if another seed keeps them."""
        return replace(self.task, snapshot_steps=self.wanted.snapshots_of(seed))


Problems = dict[tuple[Any, ...], MonMDP]
"""problems that were made already, by names and parameters"""


def resolve(configuration: Configuration, problems: Problems | None = None) -> Resolved:
    """Check a configuration and find out what it comes to.

    `problems` are shared by the configurations of a suite, so that each is made once.
    """
    of, problems, world = configuration, {} if problems is None else problems, configuration.world
    if isinstance(world, str) and of.monitor is None:
        world = _made(problems, (world, None), {})
    asked = assemble(
        world,
        of.monitor,
        of.agent,
        dict(of.problem) | {f"agent.{key}": value for key, value in of.of_agent},
        preset=of.preset,
        make=lambda *names, **given: _made(problems, names, given),
    )
    steps = default_steps(asked.monmdp) if of.steps is None else of.steps
    at = of.snapshots
    task = prepare(
        asked.monmdp,
        asked.agent,
        steps,
        evaluation=of.evaluation,  # type: ignore[arg-type]
        every=of.every,
        episodes=of.episodes,
        gamma=of.gamma,
        snapshots=snapshots_from_start(at, steps) if isinstance(at, int) else at,
        made_with=asked.parameters,
    )
    unusual = _unusual(problems, (of.world, of.monitor), asked.given, task.monmdp)
    settings = {**task.settings, "unusual": unusual}
    return Resolved(
        configuration=of,
        id=id_of(settings),
        settings=settings,
        task=replace(task, settings=settings),
        kernel=kernel_hash(asked.agent),
    )


def _made(problems: Problems, names: tuple[Any, ...], given: Mapping[str, Any]) -> MonMDP:
    """Make a problem, or read a finished one, unless it is there."""
    (world, monitor), key = names, (*names, *sorted(given.items()))
    if key not in problems:
        finished = monitor is None
        problems[key] = MonMDP.load(world) if finished else catalogue.make(*names, **given)
    return problems[key]


def _unusual(
    problems: Problems, names: tuple[Any, ...], given: Mapping[str, Any], problem: MonMDP
) -> list[str]:
    """The given parameters without which it would be another problem."""

    def is_unusual(key: str) -> bool:
        try:
            other = _made(problems, names, {k: v for k, v in given.items() if k != key})
        except MonMDPError:  # the others do not go together without it
            return True
        return fingerprint(other) != fingerprint(problem)

    return [key for key in given if is_unusual(key)]


def unusual_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a problem that tell it from the one without any."""
    return {key: settings["problem_parameters"][key] for key in settings["unusual"]}


def problem_name(settings: Mapping[str, Any]) -> str:
    """Return world and monitor, and what is unusual about them: ``hazard-ask-rho=0.2``."""
    unusual = unusual_parameters(settings).items()
    words = [settings["world"], settings["monitor"]]
    return "-".join([*words, *(f"{key.partition('.')[2]}={value}" for key, value in unusual)])


def id_of(settings: Mapping[str, Any]) -> str:
    """Return the id: the problem, the agent, what is unusual about them, and a hash."""
    world, monitor, agent = settings["world"], settings["monitor"], settings["agent"]
    usual: Mapping[str, Any] = {}
    if agent in agents.KINDS:
        paper = agents.paper_config(agent, world, monitor).for_training(settings["steps"])
        usual = paper.hyper_parameters()
    words = [problem_name(settings), agent]
    words += [f"{k}={v}" for k, v in settings["parameters"].items() if usual.get(k) != v]
    return f"{file_name('-'.join(words), 120)}-{digest(settings)}"


def digest(settings: Mapping[str, Any]) -> str:
    """Hash what decides the data; not how the problem was asked for, nor what memory allows."""
    parameters = {k: v for k, v in settings["parameters"].items() if k != "memory_limit"}
    asking = ("problem_parameters", "unusual")
    deciding = {k: v for k, v in settings.items() if k not in asking}
    text = json.dumps(deciding | {"parameters": parameters}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
