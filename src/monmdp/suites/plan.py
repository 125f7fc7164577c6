"""From a suite to runs and panels; runs that several panels show are done once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from monmdp import agents, worlds
from monmdp.errors import MonMDPError
from monmdp.experiment.assembly import assigned
from monmdp.experiment.training import TEST
from monmdp.memory import demand_room
from monmdp.naming import looking_in
from monmdp.schema import FileName, Plain, Text
from monmdp.suites.claims import Claim, Setting
from monmdp.suites.configuration import (
    Configuration,
    Problems,
    Resolved,
    resolve,
    unusual_parameters,
)
from monmdp.suites.spec import (
    Block,
    Illustration,
    MonitorChoice,
    Range,
    Score,
    Suite,
    WorldChoice,
    in_words,
    mistakes,
    problem_of,
)

Seed = Annotated[int, Field(ge=0, lt=2**63)]
Drawn = tuple[Text, Text, dict[str, Any]]
"""title, name and parameters of a world"""


def _bundled(drawn: Drawn) -> Drawn:
    """A world of one's own is drawn when its suite is run; later only its picture is there."""
    if drawn[1] not in worlds.registry:
        raise ValueError(f"{drawn[1]!r} is no bundled world; run its suite to draw it")
    return drawn


Bundled = Annotated[Drawn, AfterValidator(_bundled)]
RETURNS = ("episode_return", "worst_case_return")
"""scores that are returns: in M, and in M↓"""
INHERITED = ("seeds", "steps", "every", "evaluation", "episodes", "gamma")
"""what a block that does not say it takes from its suite"""
MOST_WORLDS = 100
"""that a figure from a file may show"""

# What follows is also what a file may hold of it: types of fields are checked when one is read.


@dataclass(frozen=True)
class Curve:
    """One agent in a panel."""

    label: Text
    agent: Text
    configuration: FileName
    """its id"""
    seeds: tuple[Seed, ...]


@dataclass(frozen=True)
class Panel:
    """One problem, and the agents that learn it."""

    row: Text
    column: Text
    world: Text
    monitor: Text
    problem: dict[str, Plain]
    """parameters that the suite gives to the world and the monitor"""
    score: Score
    """what it shows"""
    x_range: Range | None
    y_range: Range | None
    curves: tuple[Curve, ...]

    @property
    def rho(self) -> float:
        """Return the monitor's ρ."""
        rho = self.problem.get("monitor.rho", 1.0)
        return float(rho) if isinstance(rho, int | float) else float("nan")

    @property
    def shows_returns(self) -> bool:
        """Whether it shows returns, in M or in M↓, rather than visits."""
        return self.score in RETURNS

    def __getitem__(self, agent: str) -> Curve:
        """Return the curve of the agent of this name."""
        return next(curve for curve in self.curves if curve.agent == agent)


@dataclass(frozen=True)
class Grid:
    """The panels of one block: [row][column]."""

    title: Text | None
    rows: tuple[Annotated[tuple[Panel, ...], Field(min_length=1)], ...]


@dataclass(frozen=True)
class Figure:
    """The panels of a suite: plain data, which can be kept and read again."""

    name: FileName
    title: Text
    preset: Text
    grids: tuple[Grid, ...]
    maps: Annotated[tuple[Bundled, ...], Field(max_length=MOST_WORLDS)] = ()
    """worlds to draw as maps: title, name, parameters"""
    graphs: Annotated[tuple[Bundled, ...], Field(max_length=MOST_WORLDS)] = ()
    """worlds to draw as graphs of their states"""
    illustration: Illustration | None = None
    """the idea that it pictures"""
    smooth: bool | None = None
    """whether curves are drawn smoothed; None: those of 100 tests or more of drawn episodes"""
    reference: Text | None = None
    """label of the agent that others are compared with; None: the first"""
    claims: tuple[Claim, ...] = ()
    """what the suite says its runs show"""
    late: bool = False
    """whether tables tell how good agents are in the second half of training"""

    @property
    def in_worst_case(self) -> bool:
        """Whether returns are those in M↓."""
        return any(panel.score == "worst_case_return" for panel in self.panels())

    @property
    def has_curves(self) -> bool:
        """Whether it shows runs, rather than worlds or an idea."""
        return not (self.maps or self.graphs or self.illustration)

    def settings(self) -> Iterator[tuple[Setting, Panel]]:
        """Yield all panels with what they are about, as claims address it."""
        for grid in self.grids:
            for panel in (panel for row in grid.rows for panel in row):
                yield Setting(grid.title or "", panel.world, panel.monitor, panel.problem), panel

    def panels(self) -> Iterator[Panel]:
        """Yield all panels."""
        return (panel for _, panel in self.settings())

    def curves(self) -> Iterator[Curve]:
        """Yield all curves of all panels."""
        return (curve for panel in self.panels() for curve in panel.curves)


def as_json(figure: Figure) -> dict[str, Any]:
    """Return a figure as JSON can keep it."""
    claims = [claim.model_dump(mode="json") for claim in figure.claims]
    return asdict(replace(figure, claims=())) | {"claims": claims}


@dataclass(frozen=True)
class Plan:
    """A suite, expanded."""

    figure: Figure
    resolved: Mapping[str, Resolved]
    """configurations by id"""

    def __post_init__(self) -> None:
        """Refuse runs that could not be summed up: all seeds of a curve are read at once."""
        for curve in self.figure.curves():
            task, n = self.resolved[curve.configuration].task, len(curve.seeds)
            tests = task.steps // task.every
            demand_room(TEST * n * tests, f"{curve.label}: {n:,} seeds with {tests:,} tests each")

    def runs(self) -> dict[tuple[str, int], Resolved]:
        """Return (configuration's id, seed) -> what it comes to."""
        return {
            (curve.configuration, seed): self.resolved[curve.configuration]
            for curve in self.figure.curves()
            for seed in curve.seeds
        }


def expand(suite: Suite, preset: str = "paper") -> Plan:
    """Expand a suite; settings that do not go together are reported all at once.

    >>> from monmdp import suites
    >>> plan = suites.expand(suites.paper_suite("figure-5"))
    >>> len(plan.resolved), len(plan.runs())
    (2, 60)
    """
    agents.preset(preset)
    expansion = _Expansion(suite, preset)
    with looking_in(suite.folder):
        grids = tuple(
            Grid(block.title, expansion.rows(block, f"experiment[{i}]"))
            for i, block in enumerate(suite.experiment)
        )
    if expansion.wrong:
        raise mistakes(f"suite {suite.name!r}", expansion.wrong)
    maps, graphs = (
        tuple((choice.shown_as, choice.name, choice.parameters) for choice in choices)
        for choices in (suite.draw, suite.draw_dynamics)
    )
    figure = Figure(
        suite.name, suite.title, preset, grids, maps, graphs, suite.illustration, suite.smooth,
        suite.reference, suite.claim, suite.late,
    )  # fmt: skip
    if len({panel.score for panel in figure.panels() if panel.shows_returns}) > 1:
        raise MonMDPError(
            f"suite {suite.name!r}: its panels show episode_return and worst_case_return; tables "
            "measure one of them, so make two suites (they share their runs)"
        )
    seeds: dict[str, tuple[int, ...]] = {}
    for curve in figure.curves():
        if seeds.setdefault(curve.configuration, curve.seeds) != curve.seeds:
            raise MonMDPError(
                f"suite {suite.name!r}: blocks that share runs have different seeds "
                f"({curve.configuration})"
            )
    return Plan(figure, expansion.resolved)


class _Expansion:
    """A suite that is being expanded: collects configurations, and what is wrong."""

    def __init__(self, suite: Suite, preset: str) -> None:
        self.suite = suite
        self.preset = preset
        self.resolved: dict[str, Resolved] = {}
        self.problems: Problems = {}
        self.wrong: list[str] = []

    def rows(self, block: Block, where: str) -> tuple[tuple[Panel, ...], ...]:
        """Return the panels of a block."""
        columns = block.monitors or (None,)
        return tuple(
            tuple(self._panel(block, where, world, of, rho, override) for of in columns)
            for world, rho, override in product(block.worlds, block.rho or (None,), block.overrides)
        )

    def _panel(
        self,
        block: Block,
        where: str,
        world: WorldChoice,
        monitor: MonitorChoice | None,
        rho: float | None,
        override: Mapping[str, Any],
    ) -> Panel:
        """Put together what suite, block, choices and override say; the more special wins."""
        own = {key: getattr(block, key) for key in INHERITED}
        said = {k: getattr(self.suite, k) if of is None else of for k, of in own.items()}
        seeds, of_suite = said.pop("seeds"), self.suite.seeds
        chosen = tuple(range(seeds)) if isinstance(seeds, int) else seeds
        problem = problem_of(world, monitor, rho)
        name = monitor.name if monitor else None
        curves = []
        for agent in (of for of in block.agents if name not in of.not_with):
            try:
                by_part = assigned(world.name, name, agent.name, override)
                of_agent = agent.parameters | by_part.pop("agent")
                of_problem = problem | {
                    f"{part}.{key}": v for part, keys in by_part.items() for key, v in keys.items()
                }
                configuration = Configuration(
                    world=world.name,
                    monitor=name,
                    agent=agent.name,
                    problem=tuple(sorted(of_problem.items())),
                    of_agent=tuple(sorted(of_agent.items())),
                    preset=self.preset,
                    keep_policy=self.suite.policies,
                    snapshots=self.suite.snapshots,
                    snapshot_seed=0 if isinstance(of_suite, int) else of_suite[0],
                    folder=self.suite.folder,
                    **said,
                )
                found = resolve(configuration, self.problems).demand_curve()
            except MonMDPError as error:
                names = " / ".join(choice.shown_as for choice in (world, monitor) if choice)
                self.wrong.append(f"{where}: {names}, {agent.shown_as}: {error}")
                continue
            self.resolved.setdefault(found.id, found)
            curves.append(Curve(agent.shown_as, agent.name, found.id, chosen))
        shown = [] if rho is None else [f"{100 * rho:g} %"]
        y_range = block.y_range_of.get(world.name, block.y_range)
        return Panel(
            row=" ".join([world.shown_as, *shown, *in_words(override)]),
            column=monitor.shown_as if monitor else "",
            world=world.short_name,
            monitor=name or "",
            problem=problem,
            score=block.score or self.suite.score,
            x_range=block.x_range,
            y_range=block.y_range_of.get(name or "", y_range),
            curves=tuple(curves),
        )


def plan_of(name: str, configurations: Mapping[str, Configuration], seeds: Sequence[int]) -> Plan:
    """Return the plan of some agents on one problem: label -> configuration, without a suite."""
    problems: Problems = {}
    found = {name: resolve(of, problems).demand_curve() for name, of in configurations.items()}
    curves = [
        Curve(label, of.settings["agent"], of.id, tuple(seeds)) for label, of in found.items()
    ]
    panel = panel_of(next(iter(found.values())).settings, curves)
    figure = Figure(name, "", "paper", (Grid(None, ((panel,),)),))
    return Plan(figure, {of.id: of for of in found.values()})


def panel_of(settings: Mapping[str, Any], curves: Iterable[Curve]) -> Panel:
    """Return the panel of runs with these settings."""
    world, monitor, given = settings["world"], settings["monitor"], unusual_parameters(settings)
    words = in_words({key.partition(".")[2] or key: value for key, value in given.items()})
    return Panel(
        row=world,
        column=" ".join([monitor, *words]),
        world=world,
        monitor=monitor,
        problem=given,
        score="episode_return",
        x_range=None,
        y_range=None,
        curves=tuple(curves),
    )
