"""What a suite of experiments is: frozen data, read from TOML, checked before anything starts.

A suite is a list of blocks. A block is a product, worlds x monitors x ρ x overrides x agents x
seeds, and is drawn as one panel or as a grid of panels: a row for each world, ρ and override, a
column for each monitor. The figures of the paper are suites in `paper/`, those that go beyond it in
`beyond/`, and benchmarks in `bench/`, in the same shape.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from monmdp import agents, catalogue, monitors, worlds
from monmdp.errors import MonMDPError, nearest
from monmdp.escaping import printable
from monmdp.files import read_text
from monmdp.memory import demand_room
from monmdp.naming import Scope, assign, looking_in, scope_of
from monmdp.schema import LARGEST
from monmdp.suites.claims import Claim, Frozen, Sentence, Setting, checked

PAPER = Path(__file__).parent / "paper"
BUNDLED = tuple(Path(__file__).parent / name for name in ("bench", "beyond"))
"""folders of the suites that are run by name"""
RUN = 20_000
"""bytes that a run takes: a learning curve of the paper's length, as a rule"""
PROBLEM = ".npz"
"""ending of the file of a finished problem"""


def _seeds(value: Any) -> int | tuple[int, ...]:
    """How many seeds, or which."""
    if isinstance(value, list | tuple):
        if not value or not all(_is_whole(seed, 0) for seed in value):
            raise ValueError(f"a list of seeds has whole numbers from 0 on, got {list(value)}")
        if len(set(value)) < len(value):
            raise ValueError(f"a seed is there twice, got {list(value)}")
        return tuple(value)
    if not _is_whole(value, 1):
        raise ValueError(f"how many seeds, or a list of them, got {value!r}")
    demand_runs(value)
    return int(value)


def demand_runs(n: int, what: str = "seeds") -> None:
    """Refuse more runs than there is room for."""
    demand_room(RUN * n, f"{n:,} {what}")


def _is_whole(value: Any, at_least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def _ordered(limits: tuple[float, float]) -> tuple[float, float]:
    if limits[0] >= limits[1]:
        raise ValueError(f"the first must be less than the second, got {list(limits)}")
    return limits


Count = Annotated[StrictInt, Field(ge=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Chance = Annotated[float, Field(strict=True, ge=0, le=1)]
Discount = Annotated[float, Field(strict=True, ge=0, lt=1)]
Bound = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST)]
Range = Annotated[tuple[Bound, Bound], AfterValidator(_ordered)]
Seeds = Annotated[int | tuple[int, ...], BeforeValidator(_seeds)]
Score = Literal["episode_return", "worst_case_return", "goal_visits", "bottom_visits"]
Evaluation = Literal["exact", "monte-carlo"]
Illustration = Literal["interaction", "pessimism"]


class Choice(BaseModel):
    """A world, a monitor or an agent by name, with its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    label: str | None = None
    """its name in titles, legends and tables"""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """``"ask"`` is short for ``{ name = "ask" }``."""
        return {"name": value} if isinstance(value, str) else value

    @property
    def short_name(self) -> str:
        """Return the name; that of a file without its folder."""
        return printable(Path(self.name).stem if os.sep in self.name else self.name)

    @property
    def shown_as(self) -> str:
        """Return the label, or else the name with the parameters that were given."""
        name = self.short_name.rpartition(":")[2]
        return self.label or " ".join([name, *in_words(self.parameters)])

    @property
    def parameters(self) -> dict[str, Any]:
        """What was given besides the name."""
        return {key: _fixed(value) for key, value in (self.model_extra or {}).items()}

    def _scope(self) -> Scope:
        """What it may have for parameters."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _check(self) -> Self:
        wrong = _errors_of(self.parameters, {"": self._scope()})
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


def _fixed(value: Any) -> Any:
    """A parameter's value as one that cannot change: TOML writes a cell, (1, 2), as a list."""
    return tuple(map(_fixed, value)) if isinstance(value, list) else value


def in_words(parameters: Mapping[str, Any]) -> list[str]:
    """Parameters as titles show them: ``slip=0.1``, ``solvable``."""
    return [key if value is True else f"{key}={value}" for key, value in parameters.items()]


def _errors_of(parameters: Mapping[str, Any], scopes: Mapping[str, Scope]) -> list[str]:
    """Every parameter that none of the scopes has or that is of a wrong type, in words."""
    wrong = []
    for key, value in parameters.items():
        if isinstance(value, dict):
            wrong.append(f"{key}: a table is no value; a number, a word or a list expected")
            continue
        try:
            assign({key: value}, scopes)
        except MonMDPError as error:
            wrong.append(str(error))
    return wrong


def _spread(agents: Any) -> Any:
    """Replace an agent that has a grid by one agent for each combination of its axes."""
    listed = isinstance(agents, list | tuple)
    return [one for agent in agents for one in _grid(agent)] if listed else agents


def _grid(agent: Any) -> Iterator[Any]:
    """Yield the agents of a grid: axis -> values; keys with spaces between are set together."""
    if not isinstance(agent, dict) or "grid" not in agent:
        yield agent
        return
    axes, rest = agent["grid"], {key: value for key, value in agent.items() if key != "grid"}
    if not isinstance(axes, dict) or not axes:
        raise ValueError(f"grid must be a table of lists, {{ beta = [0.1, 1.0] }}, got {axes!r}")
    keys = {axis: axis.split() for axis in axes}
    all_keys = [key for together in keys.values() for key in together]
    for axis, values in axes.items():
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"grid: {axis!r} must be a list of values, got {values!r}")
        if len(set(map(repr, values))) < len(values):
            raise ValueError(f"grid: {axis!r} has a value twice, got {list(values)}")
        twice = [key for key in keys[axis] if all_keys.count(key) > 1 or key in (*rest, "label")]
        if not keys[axis] or twice:
            raise ValueError(f"grid: {axis!r} must name parameters that are set nowhere else")
    demand_runs(prod(len(values) for values in axes.values()), "combinations of a grid")
    for values in product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        told = in_words({keys[axis][0]: value for axis, value in chosen.items()})
        label = " ".join([str(rest.get("label") or rest.get("name")), *told])
        yield rest | {key: v for axis, v in chosen.items() for key in keys[axis]} | {"label": label}


class WorldChoice(Choice):
    """A world: a registered name, module:object, or a file, also one beside the suite's own."""

    @field_validator("name")
    @classmethod
    def _find(cls, name: str, info: ValidationInfo) -> str:
        beside = (info.context or {}).get("folder")
        if name not in worlds.registry:
            for path in (Path(name), *(() if beside is None else (beside / name,))):
                if path.is_file():
                    return str(path.resolve())
        return name

    @property
    def is_problem(self) -> bool:
        """Return whether it is the file of a finished problem, which needs no monitor."""
        return self.name.endswith(PROBLEM)

    def _scope(self) -> Scope:
        if not self.is_problem:
            return scope_of(worlds.factory(self.name), f"world {self.name!r}")
        if self.parameters:
            raise ValueError(f"{self.name} is a finished problem; it takes no parameters")
        return Scope(self.name, {})


class MonitorChoice(Choice):
    """A monitor: a registered name or module:object."""

    def _scope(self) -> Scope:
        return scope_of(monitors.factory(self.name), f"monitor {self.name!r}")


class AgentChoice(Choice):
    """An agent: a registered name or module:object."""

    not_with: tuple[str, ...] = ()
    """names of monitors that it is not run with"""

    def _scope(self) -> Scope:
        for name in self.not_with:
            monitors.factory(name)
        return agents.parameters_of(self.name)


Worlds = Annotated[tuple[WorldChoice, ...], Field(min_length=1)]
Agents = Annotated[tuple[AgentChoice, ...], Field(min_length=1), BeforeValidator(_spread)]


def _flat(value: Any) -> Any:
    """TOML reads ``monitor.start = "uniform"`` as a table in a table."""
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            result |= {f"{key}.{name}": of for name, of in inner.items()}
        else:
            result[key] = _fixed(inner)
    return result


Override = Annotated[dict[str, Any], BeforeValidator(_flat)]


class QuickBlock(Frozen):
    """What ``--quick`` keeps of a block; of an empty list, nothing at all."""

    worlds: tuple[str, ...] | None = None
    monitors: tuple[str, ...] | None = None


class Block(Frozen):
    """One product of settings, ``[[experiment]]`` in TOML."""

    title: str | None = None
    """above its panel or its grid of panels"""
    worlds: Worlds
    monitors: tuple[MonitorChoice, ...] = ()
    """none where the worlds are files of finished problems"""
    rho: Annotated[tuple[Chance, ...], Field(min_length=1)] | None = None
    """the monitors' ρ; without it, theirs"""
    agents: Agents
    overrides: Annotated[tuple[Override, ...], Field(min_length=1)] = ({},)
    """one more axis: parameters of worlds, monitors or agents, as key=value of the command line"""
    steps: Count | None = None
    """training steps; without it, the paper's budget"""
    every: Count | None = None
    evaluation: Evaluation | None = None
    episodes: Count | None = None
    gamma: Discount | None = None
    seeds: Seeds | None = None
    score: Score | None = None
    """what its panels show"""
    x_range: Range | None = None
    """training steps that its panels show"""
    y_range: Range | None = None
    y_range_of: Mapping[str, Range] = {}
    """name of a world or a monitor -> the range of its panels, where that is another"""
    quick: QuickBlock | None = None

    @property
    def n_runs(self) -> int:
        """Return how many runs it has with one seed."""
        axes = (self.worlds, self.monitors, self.rho, self.overrides, self.agents)
        return prod(len(axis or (None,)) for axis in axes)

    @model_validator(mode="after")
    def _check(self) -> Block:
        demand_runs(self.n_runs, "settings")
        for world in self.worlds:
            if world.is_problem == bool(self.monitors):
                raise ValueError(
                    f"monitors: {world.shown_as} is a finished problem and takes none"
                    if world.is_problem
                    else "monitors: is missing"
                )
        labels = [agent.shown_as for agent in self.agents]
        if len(set(labels)) < len(labels):
            raise ValueError("agents: one is there twice; give each a label of its own")
        wrong = {
            f"overrides[{i}]: {error}"
            for i, override in enumerate(self.overrides)
            if override
            for scopes in self._scopes()
            for error in _errors_of(override, scopes)
        }
        if wrong:
            raise ValueError("; ".join(sorted(wrong)))
        named = {choice.name for choice in (*self.worlds, *self.monitors)}
        for name in self.y_range_of:
            if name not in named:
                raise ValueError(f"y_range_of: {name!r} is not in it{nearest(name, named)}")
        for kind in ("worlds", "monitors"):
            names = [choice.name for choice in getattr(self, kind)]
            for name in (self.quick and getattr(self.quick, kind)) or ():
                if name not in names:
                    raise ValueError(f"quick.{kind}: {name!r} is not in it{nearest(name, names)}")
        return self

    def _scopes(self) -> Iterator[dict[str, Scope]]:
        """Whose parameters an override may mean, for each combination."""
        for world, monitor, agent in product(self.worlds, self.monitors or (None,), self.agents):
            problem = catalogue.scopes(world.name, monitor.name) if monitor else {}
            yield problem | {"agent": agents.parameters_of(agent.name)}

    def settings(self) -> Iterator[tuple[Setting, list[tuple[str, str]]]]:
        """Yield what its panels are about, with name and label of their agents."""
        axes = self.worlds, self.monitors or (None,), self.rho or (None,)
        for world, monitor, rho in product(*axes):
            name, problem = monitor.name if monitor else "", problem_of(world, monitor, rho)
            there = [(of.name, of.shown_as) for of in self.agents if name not in of.not_with]
            yield Setting(self.title or "", world.short_name, name, problem), there

    def shortened(self) -> Block:
        """Return what ``--quick`` keeps of it."""
        if self.quick is None:
            return self
        kept = {
            kind: tuple(c for c in getattr(self, kind) if c.name in getattr(self.quick, kind))
            for kind in ("worlds", "monitors")
            if getattr(self.quick, kind) is not None
        }
        return self.model_copy(update={**kept, "quick": None})


def problem_of(
    world: WorldChoice, monitor: MonitorChoice | None, rho: float | None
) -> dict[str, Any]:
    """Return the parameters that a suite gives to a world and a monitor."""
    given = {f"world.{key}": value for key, value in world.parameters.items()}
    given |= {f"monitor.{key}": v for key, v in (monitor.parameters if monitor else {}).items()}
    return given | ({} if rho is None else {"monitor.rho": float(rho)})


class Quick(Frozen):
    """What ``--quick`` changes in a suite."""

    seeds: Count


class Suite(Frozen):
    """A suite: what to run and to draw. Blocks inherit what they do not say themselves."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
    title: str = ""
    smooth: bool | None = None
    """draw curves smoothed, as the paper does; by default those of 100 tests or more, if the tests
    are drawn episodes"""
    steps: Count | None = None
    every: Count = 100
    evaluation: Evaluation = "exact"
    episodes: Count = 100
    gamma: Discount | None = None
    seeds: Seeds = 30
    quick: Quick | None = None
    policies: bool = False
    """keep the policy that every run ends with"""
    snapshots: Annotated[StrictInt, Field(ge=0)] = 0
    """of the first seed of every setting: how many to keep, to look into the run"""
    folder: str | None = None
    """where modules of your own are looked for, too; that of its file if it was read from one"""
    reference: str | None = None
    """label or name of the agent that steps.md compares the others with"""
    score: Score = "episode_return"
    """what panels show; tables measure the same return"""
    late: bool = False
    """also tell how good agents are in the second half of training, see `results.late`"""
    experiment: tuple[Block, ...] = ()
    claim: tuple[Claim, ...] = ()
    """what its runs are to show"""
    draw: tuple[WorldChoice, ...] = ()
    """worlds to draw as maps"""
    draw_dynamics: tuple[WorldChoice, ...] = ()
    """worlds to draw as graphs of their states"""
    illustration: Illustration | None = None
    """a picture of an idea, instead of experiments"""

    @model_validator(mode="before")
    @classmethod
    def _share_agents(cls, content: Any) -> Any:
        """Give the suite's agents to all blocks that name none, less those they go without."""
        if not isinstance(content, dict) or not isinstance(content.get("experiment"), list | tuple):
            return content
        rest = {key: value for key, value in content.items() if key != "agents"}
        shared = content.get("agents")
        blocks = [_with_agents(b, shared, i) for i, b in enumerate(content["experiment"])]
        return rest | {"experiment": blocks}

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Suite:
        kinds = (self.experiment, self.draw, self.draw_dynamics, self.illustration)
        if not any(kinds):
            raise ValueError("nothing to do: there is no [[experiment]] and nothing to draw")
        if sum(map(bool, kinds)) > 1:
            raise ValueError(
                "[[experiment]], draw, draw_dynamics and illustration are figures of their own"
            )
        if len(self.draw_dynamics) > 1:
            raise ValueError("draw_dynamics: one world a figure")
        self.demand_room()
        labels = {agent.shown_as for block in self.experiment for agent in block.agents}
        if self.reference is not None and self.reference not in labels:
            known = nearest(self.reference, labels)
            raise ValueError(f"reference: no agent is called {self.reference!r}{known}")
        if not (info.context or {}).get("kept"):
            settings = [setting for block in self.experiment for setting in block.settings()]
            # With the number of settings that each speaks of, which --quick must not change.
            self.__dict__["claim"] = checked(self.claim, settings)
        return self

    def demand_room(self) -> None:
        """Refuse more runs than there is room for."""
        seeds = [self.seeds if of.seeds is None else of.seeds for of in self.experiment]
        counts = [n if isinstance(n, int) else len(n) for n in seeds]
        runs = sum(n * of.n_runs for n, of in zip(counts, self.experiment, strict=True))
        demand_runs(runs, f"runs of suite {self.name!r}")

    def adapted(self, *, seeds: int | None = None, quick: bool = False) -> Suite:
        """Return it with another number of seeds, or as its quick version.

        Where seeds are listed, the first of them are taken: a list says which seeds may be used.
        """
        suite = self
        if quick:
            shorter = (block.shortened() for block in self.experiment)
            # The worlds of a block have monitors, or are all finished problems that need none.
            blocks = tuple(
                b for b in shorter if b.worlds and (b.monitors or b.worlds[0].is_problem)
            )
            suite = self.model_copy(update={"experiment": blocks, "quick": None})
            suite = suite._with_seeds(self.quick.seeds if self.quick else 10, "")
        return suite if seeds is None else suite._with_seeds(seeds, f"--seeds {seeds}")

    def _with_seeds(self, n: int, asked: str) -> Suite:
        if isinstance(self.seeds, tuple) and asked and n > len(self.seeds):
            raise MonMDPError(
                f"{asked}: suite {self.name!r} lists its seeds, and there are {len(self.seeds)}"
            )

        def first(seeds: int | tuple[int, ...] | None) -> tuple[int, ...] | None:
            return seeds[:n] if isinstance(seeds, tuple) else None

        blocks = tuple(b.model_copy(update={"seeds": first(b.seeds)}) for b in self.experiment)
        suite = self.model_copy(update={"seeds": first(self.seeds) or n, "experiment": blocks})
        suite.demand_room()
        return suite


def _with_agents(block: Any, shared: Any, i: int) -> Any:
    """Return a block with the suite's agents if it has none of its own."""
    if not isinstance(block, dict) or (shared is None and "without" not in block):
        return block
    if "agents" in block:
        if "without" in block:
            raise ValueError(f"experiment[{i}]: without goes with the suite's agents, not its own")
        return block
    without = block.get("without", [])
    if not isinstance(shared, list | tuple) or not isinstance(without, list | tuple):
        raise ValueError(f"experiment[{i}]: agents and without must be lists, in brackets")
    names = [
        {agent.get("name"), agent.get("label")} if isinstance(agent, dict) else {agent}
        for agent in shared
    ]
    for name in without:
        if not any(name in of for of in names):
            known = nearest(str(name), {str(n) for of in names for n in of if n})
            raise ValueError(f"experiment[{i}].without: {name!r} is no agent of the suite{known}")
    kept = [a for a, of in zip(shared, names, strict=True) if not of.intersection(without)]
    rest = {key: value for key, value in block.items() if key != "without"}
    return rest | {"agents": kept}


def parse(
    content: Mapping[str, Any], where: str, folder: Path | None = None, *, kept: bool = False
) -> Suite:
    """Check a suite; every wrong key and value is reported at once, with its path.

    `kept`: it was checked before, and may have been shortened since; its claims then speak of
    settings that it does not have.

    >>> from monmdp import suites
    >>> block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"]}
    >>> suite = suites.parse({"name": "small", "seeds": 2, "experiment": [block]}, "my script")
    >>> suite.name, suite.experiment[0].monitors[0].name
    ('small', 'ask')
    """
    if folder is not None:
        content = {"folder": str(folder.resolve()), **content}
    beside = content.get("folder")
    try:
        with looking_in(beside if isinstance(beside, str) else None):
            return Suite.model_validate(content, context={"folder": folder, "kept": kept})
    except ValidationError as error:
        # Of a list whose items are wrong pydantic also says that it is too short.
        found = error.errors()
        inside = {of["loc"][:k] for of in found for k in range(len(of["loc"]))}
        meant = (of for of in found if of["type"] != "too_short" or of["loc"] not in inside)
        raise mistakes(where, map(_described, meant)) from None


def mistakes(where: str, told: Iterable[str]) -> MonMDPError:
    """Put mistakes into one error, a line each, and each once."""
    lines = list(dict.fromkeys(told))
    many = "1 mistake" if len(lines) == 1 else f"{len(lines)} mistakes"
    return MonMDPError("\n  ".join([f"{where}: {many}", *lines]))


def load(path: str | os.PathLike[str]) -> Suite:
    """Read a suite from a TOML file."""
    path = Path(path)
    text = read_text(path)
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise MonMDPError(f"{path}: no valid suite, it is nested too deeply") from None
    except ValueError as error:
        raise MonMDPError(f"{path}: no valid TOML, {error}") from None
    return parse(content, str(path), path.parent)


def paper_suites() -> list[str]:
    """Return the names of the paper's figures, in its order.

    >>> from monmdp import suites
    >>> suites.paper_suites()[:3]
    ['figure-1', 'figure-2', 'figure-3']
    """
    return sorted((p.stem for p in PAPER.glob("*.toml")), key=lambda name: int(name[7:]))


def paper_suite(name: str) -> Suite:
    """Return the suite of one of the paper's figures: ``figure-4``.

    >>> from monmdp import suites
    >>> suites.paper_suite("figure-4").title
    'Discounted return at test time'
    """
    if name not in paper_suites():
        raise MonMDPError(f"unknown figure {name!r}{nearest(name, [*paper_suites(), 'all'])}")
    return load(PAPER / f"{name}.toml")


def bundled_suites() -> list[str]:
    """Return the names of the suites that come with the package, the paper's figures apart.

    >>> from monmdp import suites
    >>> "beyond" in suites.bundled_suites()
    True
    """
    return sorted(_bundled())


def _bundled() -> dict[str, Path]:
    return {path.stem: path for folder in BUNDLED for path in folder.glob("*.toml")}


def bundled_suite(name: str) -> Suite:
    """Return a suite that comes with the package: ``beyond``."""
    if name not in bundled_suites():
        raise MonMDPError(f"unknown suite {name!r}{nearest(name, bundled_suites())}")
    return load(_bundled()[name])


def find(name: str) -> Suite:
    """Return the suite of a bundled name, or else read a TOML file."""
    if name in bundled_suites():
        return bundled_suite(name)
    if Path(name).exists() or os.sep in name or name.endswith(".toml"):
        return load(name)
    known = nearest(name, bundled_suites())
    raise MonMDPError(f"{name}: no such file, and no suite of this name{known}")


def _described(problem: Any) -> str:
    """One mistake: where it is, what it is, and which key may have been meant."""
    path = ""
    for part in problem["loc"]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not _is_branch(part):
            path += f".{part}" if path else part
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        *inside, key = (part for part in problem["loc"] if isinstance(part, str))
        table = TABLES[tuple(inside)]
        known = {*table.model_fields} | ({"agents"} if table is Suite else set())
        message = f"no such key{nearest(key, known)}"
    elif problem["type"] == "too_short" and problem["ctx"]["min_length"] > 1:
        message = f"must have {problem['ctx']['min_length']} entries or more"
    elif problem["type"] in PLAIN:
        message = PLAIN[problem["type"]].format(got=repr(problem["input"]))
    elif problem["type"] != "value_error":
        message = f"{message[:1].lower()}{message[1:]}, got {problem['input']!r}"
    return f"{path or 'the suite'}: {message}"


TABLES: dict[tuple[str, ...], type[BaseModel]] = {
    (): Suite,
    ("quick",): Quick,
    ("experiment",): Block,
    ("experiment", "quick"): QuickBlock,
    ("claim",): Claim,
    ("claim", "sentence"): Sentence,
}
"""keys that lead to a table -> what it may hold"""
PLAIN = {
    "missing": "is missing",
    "tuple_type": "must be a list, in brackets, got {got}",
    "too_short": "must not be empty",
    "too_long": "has too many entries, got {got}",
    "model_type": 'must be a name or a table with name = "…", got {got}',
    "model_attributes_type": "must be a table, [[…]] where there may be several, got {got}",
    "dict_type": "must be a table, got {got}",
    "string_pattern_mismatch": "may have letters, digits, '.', '_' and '-', got {got}",
    "string_too_long": "must have at most 100 characters",
    "bool_type": "must be true or false, got {got}",
    "string_type": "must be a text, in quotes, got {got}",
}
"""kind of mistake, as pydantic names it -> in plain words"""


def _is_branch(part: str) -> bool:
    """Whether a part of pydantic's path names an alternative of a type, not a key."""
    return part in ("int", "float") or "[" in part or "(" in part
