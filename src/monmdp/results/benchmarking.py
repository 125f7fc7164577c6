"""A benchmark: agents on settings that never change, one number each, beside published ones.

The settings are those of the suite ``bench-v1``. The published scores lie beside it in a file of
the same name, a row for each run.

*Score* of a run. At every test the policy π has an exact return J(π) in M↓. With v the same of the
minimax-optimal policy and u of the uniform random one::

    b = max(u, v - max(1, |v|))
    score = mean over all tests of (J(π) - b) / (v - b), cut to [0, 1]

It is 1 for an agent that is minimax-optimal from the first test on, and 0 for one that never does
better than b. Both parts of b are needed: in Bottleneck the uniform policy returns -64, so that
measured from u alone standing still would score 0.99; in a random MDP it does well, and measured
from v alone it would score 0.35. M↓ counts a reward that nobody can see as the least there is, as
the minimax-optimal policy does: an agent gains nothing by a guess that happens to be right.

The score of an agent in a setting is the mean over seeds; its overall score is the mean over
settings, each of which counts the same. The interval of the latter resamples seeds within settings.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, FiniteFloat

import monmdp
from monmdp.errors import MonMDPError, nearest
from monmdp.experiment import Policy
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray
from monmdp.results.evidence import Evidence, Reader
from monmdp.results.request import Planned, command_name
from monmdp.results.sealed import read_sealed, write_sealed
from monmdp.schema import Count, DamagedError, FileName, Hash, Text, checked
from monmdp.stats import Interval, bootstrap, mean_interval, probability_of_improvement
from monmdp.suites import Curve, Grid, Panel, Plan, Resolved, Suite, bundled_suite, expand, resolve
from monmdp.suites.configuration import Problems, problem_name
from monmdp.suites.plan import Seed
from monmdp.suites.spec import BUNDLED
from monmdp.tables import Column, Table, bounds, plural, share

BENCH = "bench-v1"
"""the suite, and the stem of the file of its published scores"""
FORMAT = "monmdp-bench-1"
FILE = "bench.parquet"
"""in the folder of a report: the scores of its runs"""
PROTOCOL = ("problem", "steps", "every", "evaluation", "gamma")
"""what must agree for runs to be compared"""
WIDE = 130
"""letters of the table of settings, whose names are long"""
HERE, PUBLISHED = "here", "published"

Share = Annotated[float, Field(ge=0, le=1)]


def score(returns: FloatArray, minimax: float, floor: float) -> FloatArray:
    """Return the score of returns[..., test] in M↓, see above.

    >>> import numpy as np
    >>> from monmdp.results.benchmarking import score
    >>> float(score(np.array([-60.0, 0.0, 1.0, 1.0]), minimax=1.0, floor=0.0))
    0.5
    """
    return np.asarray(np.clip((returns - floor) / (minimax - floor), 0.0, 1.0).mean(axis=-1))


@lru_cache(maxsize=256)
def floor_of(problem: MonMDP, gamma: float, minimax: float) -> float:
    """Return b, the return in M↓ that scores 0."""
    uniform = Policy.uniform(problem).evaluate(problem, gamma)["worst_case_return"]
    return max(uniform, minimax - max(1.0, abs(minimax)))


# ---- scores, and their file -----------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One run on the benchmark."""

    setting: Text
    agent: Text
    seed: Seed
    score: Share
    area: FiniteFloat
    """mean of all tests' returns"""
    end_return: FiniteFloat
    """mean of the last ten tests' returns"""
    steps_to_1pct: Annotated[int, Field(ge=0)] | None
    """after which the test policy stays minimax-optimal, within 1 %; None: never"""
    minimax: FiniteFloat
    """v: return of the minimax-optimal policy in M↓"""
    floor: FiniteFloat
    """b: the return in M↓ that scores 0"""
    steps: Count
    every: Count
    evaluation: Text
    gamma: Share
    problem: Hash
    """fingerprint of the problem"""
    kernel: Text
    """hash of the code that made the run"""
    code: Text | None
    """hash of an own agent's code"""
    version: Text
    """of this package"""

    @property
    def protocol(self) -> dict[str, Any]:
        """Return what runs must have in common to be compared."""
        return {key: getattr(self, key) for key in PROTOCOL}


def _schema() -> Any:
    """The columns of the file and their types."""
    import pyarrow as pa

    whole, real = pa.int64(), pa.float64()
    types = dict.fromkeys(("seed", "steps_to_1pct", "steps", "every"), whole)
    types |= dict.fromkeys(("score", "area", "end_return", "minimax", "floor", "gamma"), real)
    return pa.schema([(of.name, types.get(of.name, pa.string())) for of in fields(Row)])


@dataclass(frozen=True)
class Scores:
    """The runs of some agents on settings of the benchmark."""

    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        """Check that the rows belong together."""
        seen, protocols = set(), dict[str, Any]()
        for row in self.rows:
            key = row.setting, row.agent, row.seed
            same = (row.protocol, row.minimax, row.floor)
            if key in seen:
                raise ValueError(f"{row.setting}, {row.agent}: seed {row.seed} is there twice")
            if protocols.setdefault(row.setting, same) != same:
                raise ValueError(f"{row.setting}: runs that are not comparable")
            seen.add(key)

    @cached_property
    def by_setting(self) -> dict[str, dict[str, list[Row]]]:
        """Setting -> agent -> rows, in the order of seeds."""
        found: dict[str, dict[str, list[Row]]] = {}
        for row in sorted(self.rows, key=lambda of: of.seed):
            found.setdefault(row.setting, {}).setdefault(row.agent, []).append(row)
        order = dict.fromkeys(row.setting for row in self.rows)
        return {name: found[name] for name in order}

    @cached_property
    def agents(self) -> list[str]:
        """Return the agents, in the order of the file."""
        return list(dict.fromkeys(row.agent for row in self.rows))

    @property
    def versions(self) -> str:
        """Return the versions of this package that made the runs."""
        return ", ".join(sorted({row.version for row in self.rows}))

    def protocol(self, setting: str) -> dict[str, Any]:
        """Return what runs of a setting have in common."""
        return next(row.protocol for row in self.rows if row.setting == setting)

    def of(self, agent: str, settings: Sequence[str]) -> dict[str, list[Row]] | None:
        """Return setting -> rows of an agent; None unless it has the same seeds in all of them."""
        found = {name: self.by_setting.get(name, {}).get(agent, []) for name in settings}
        seeds = {tuple(row.seed for row in rows) for rows in found.values()}
        return found if len(seeds) == 1 and () not in seeds else None


def scored(plan: Plan, evidence: Evidence, read: Reader) -> Scores:
    """Score the runs of a plan of the benchmark that are there."""
    rows = []
    for panel in plan.figure.panels():
        for curve in panel.curves:
            of = evidence.of(curve)
            if of is None:
                continue
            settings, problem = of.settings, plan.resolved[curve.configuration].task.monmdp
            floor = floor_of(problem, settings["gamma"], of.minimax)
            for i, seed in enumerate(of.seeds):
                run = read(curve.configuration, seed)
                if run is None:  # taken away meanwhile
                    continue
                made = run.provenance
                rows.append(
                    Row(
                        setting=problem_name(settings),
                        agent=curve.label,
                        seed=seed,
                        score=float(score(run.curve["worst_case_return"], of.minimax, floor)),
                        area=float(of.area[i]),
                        end_return=float(of.end["episode_return"][i]),
                        steps_to_1pct=of.steps_to_1pct[i],
                        minimax=of.minimax,
                        floor=floor,
                        kernel=str(made.get("kernel")),
                        code=settings["code"],
                        version=str(made.get("versions", {}).get("monmdp")),
                        **{key: settings[key] for key in PROTOCOL},
                    )
                )
    return Scores(tuple(rows))


def save(scores: Scores, path: str | os.PathLike[str]) -> None:
    """Write scores into one Parquet file: a row for each run."""
    import pyarrow as pa

    table = pa.Table.from_pylist([asdict(row) for row in scores.rows], schema=_schema())
    write_sealed(path, table, {"format": FORMAT, "suite": BENCH}, compression_level=19)


def load(path: str | os.PathLike[str]) -> Scores:
    """Read what `save` wrote, whoever wrote it."""
    try:
        footer, table = read_sealed(path, FORMAT, schema=_schema())
    except FileNotFoundError:
        raise MonMDPError(f"{path}: no such file") from None
    if checked(FileName, footer.get("suite"), path) != BENCH:
        raise DamagedError(f"{path}: of another benchmark, {footer['suite']!r}")
    rows = checked(tuple[Row, ...], table.to_pylist(), path)
    try:
        return Scores(rows)
    except ValueError as error:
        raise DamagedError(f"{path}: damaged, {error}") from None


def published_path() -> Path:
    """Return where the published scores are: beside the suite."""
    (folder,) = (folder for folder in BUNDLED if (folder / f"{BENCH}.toml").is_file())
    return folder / f"{BENCH}.parquet"


@cache
def published() -> Scores:
    """Return the published scores.

    >>> from monmdp.results.benchmarking import published
    >>> len(published().by_setting), "factored-mbie-eb" in published().agents
    (20, True)
    """
    return load(published_path())


def protocol_hash(suite: Suite) -> str:
    """Return a hash of all that a benchmark fixes.

    That is everything but its agents, its words, and which of the measured scores are shown.
    """
    of_blocks = {"__all__": {"agents", "title", "quick", "score"}}
    suites = dict.fromkeys(("title", "folder", "quick", "score", "late"), True)
    left_out: Any = {**suites, "experiment": of_blocks}
    content = suite.model_dump(mode="json", exclude=left_out, exclude_defaults=True)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


# ---- what is asked for ----------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """An agent on settings of the benchmark."""

    request: Planned
    left_out: Mapping[str, str]
    """setting -> why it is not run"""


def ask_bench(
    agent: Any,
    parameters: Mapping[str, Any] | None = None,
    *,
    label: str,
    seeds: int | None = None,
    only: Iterable[str] = (),
) -> Asked:
    """Ask for the runs of an agent on the benchmark, or on `only` some of its settings.

    A setting is left out if its problem is not the published one, made here, or if the agent is
    not meant for it.
    """
    plan, there = settings_plan(seeds), published()
    names = {setting_of(plan, panel): panel for panel in plan.figure.panels()}
    chosen = _chosen(only, names)
    panels, found, left_out = dict[str, Panel](), dict[str, Resolved](), dict[str, str]()
    problems: Problems = {}
    refusals = []
    for name in chosen:
        (usual,) = (plan.resolved[curve.configuration] for curve in names[name].curves)
        differs = differences(usual.settings, there.protocol(name))
        if differs:
            left_out[name] = f"not comparable with the published runs, {'; '.join(differs)}"
            continue
        given = tuple(sorted((parameters or {}).items()))
        asked = replace(usual.configuration, agent=agent, of_agent=given)
        try:
            of = resolve(asked, problems)
        except MonMDPError as error:
            refusals.append(error)
            left_out[name] = str(error)
            continue
        (curve,) = names[name].curves
        mine = Curve(label, of.settings["agent"], of.id, curve.seeds)
        panels[name] = replace(names[name], curves=(mine,))
        found[of.id] = of
    if not panels:
        raise refusals[0] if refusals else MonMDPError(next(iter(left_out.values())))
    figure = replace(plan.figure, grids=_narrowed(plan, panels))
    request = Planned(command_name([BENCH, label], sorted(found)), made=(Plan(figure, found),))
    return Asked(request, left_out)


def settings_plan(seeds: int | None = None) -> Plan:
    """Return the benchmark with one agent, the first: its settings."""
    suite = bundled_suite(BENCH).adapted(seeds=seeds)
    blocks = (of.model_copy(update={"agents": of.agents[:1]}) for of in suite.experiment)
    return expand(suite.model_copy(update={"experiment": tuple(blocks)}))


def setting_of(plan: Plan, panel: Panel) -> str:
    """Return the name of a panel's setting."""
    return problem_name(plan.resolved[panel.curves[0].configuration].settings)


def _chosen(only: Iterable[str], known: Iterable[str]) -> list[str]:
    names = list(known)
    wanted = list(only)
    for name in wanted:
        if name not in names:
            raise MonMDPError(f"{BENCH} has no setting {name!r}{nearest(name, names)}")
    return [name for name in names if not wanted or name in wanted]


def _narrowed(plan: Plan, panels: Mapping[str, Panel]) -> tuple[Grid, ...]:
    """The grids of a plan with other panels in place of theirs, by setting; some may be gone."""
    kept = []
    for grid in plan.figure.grids:
        named = [[setting_of(plan, panel) for panel in row] for row in grid.rows]
        rows = [tuple(panels[name] for name in row if name in panels) for row in named]
        if any(rows):
            kept.append(Grid(grid.title, tuple(filter(None, rows))))
    return tuple(kept)


def differences(settings: Mapping[str, Any], protocol: Mapping[str, Any]) -> list[str]:
    """Return in words what keeps runs with these settings from being compared."""
    found = []
    for key in PROTOCOL:
        if settings[key] != protocol[key]:
            words = f"{key} {_words(settings[key])} instead of {_words(protocol[key])}"
            found.append("another problem" if key == "problem" else words)
    return found


def _words(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


# ---- beside the published ones --------------------------------------------------------------

RANKING = (
    Column("agent"),
    Column("runs", ("from",)),
    Column("score", bounds("score"), form=".3f"),
    Column(
        "P(improvement)",
        bounds("p_improvement"),
        "chance that a run of your agent scores higher than one of this agent",
        form=".2f",
        missing="",
    ),
    Column("optimal", ("optimal_runs", "n_runs"), "runs that become minimax-optimal", ""),
)
SETTINGS = (
    Column("setting"),
    Column("steps", form=",.0f"),
    Column("yours", bounds("score"), form=".3f"),
    Column("best", ("best_score",), form=".3f"),
    Column("by", ("best_agent",)),
    Column("median", ("median_score",), "of the published agents", form=".3f"),
    Column(
        "P(improvement)",
        bounds("p_improvement"),
        "chance that a run of your agent scores higher than one of the best",
        form=".2f",
        missing="",
    ),
)
LEGEND = (
    "Score: how good the test policy is, mean over all tests; 1: minimax-optimal from the first "
    "test on, 0: never better than the uniform random policy, or than max(1, |v|) less than v. "
    "Brackets: 95 % interval over seeds. Optimal: runs that become minimax-optimal, within 1 %, "
    "and stay so."
)
LEGEND_OF_OWN = (
    " P(improvement): chance that a run of your agent scores higher than one of this agent, of the "
    "seeds that both have, ties "
    "half, mean over settings."
)


@dataclass(frozen=True)
class Ranked:
    """An agent over all settings that are compared."""

    agent: str
    is_published: bool
    score: Interval
    improvement: Interval | None
    """chance that a run of the own agent scores higher; None for itself, or if there is none"""
    optimal: int
    runs: int


@dataclass(frozen=True)
class Bench:
    """An agent beside the published ones; without one, these alone."""

    published: Scores
    own: Scores | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    """setting -> why it was not run"""
    only: tuple[str, ...] = ()
    """settings to look at; none: all"""
    results: Any = field(default=None, repr=False)
    """the runs behind it, as `run_suite` returns them; None: nothing was run"""

    @cached_property
    def settings(self) -> list[str]:
        """Return the settings that are compared: all of the own agent's, if there is one."""
        if self.own is None:
            return _chosen(self.only, self.published.by_setting)
        (agent,) = self.own.agents
        seeds = [tuple(row.seed for row in of[agent]) for of in self.own.by_setting.values()]
        most = max(seeds, key=len)
        whole = zip(self.own.by_setting, seeds, strict=True)
        return [name for name, found in whole if found == most]

    @cached_property
    def ranking(self) -> tuple[Ranked, ...]:
        """Return all agents that have run in all of these settings, the best first."""
        found = [self._ranked(self.published, agent) for agent in self.published.agents]
        if self.own is not None:
            found += [self._ranked(self.own, agent) for agent in self.own.agents]
        there = [of for of in found if of is not None]
        return tuple(sorted(there, key=lambda of: (-of.score.estimate, of.is_published)))

    def _ranked(self, scores: Scores, agent: str) -> Ranked | None:
        rows = scores.of(agent, self.settings)
        if rows is None:
            return None
        flat = [row for of in rows.values() for row in of]
        return Ranked(
            agent=agent,
            is_published=scores is self.published,
            score=bootstrap(_array(rows), np.mean, _rng()),
            improvement=None if scores is self.own else self._improvement(rows),
            optimal=sum(row.steps_to_1pct is not None for row in flat),
            runs=len(flat),
        )

    def _improvement(self, theirs: Mapping[str, Sequence[Row]]) -> Interval | None:
        """Chance that a run of the own agent scores higher, by the seeds that both have."""
        if self.own is None:
            return None
        mine = self.own.of(self.own.agents[0], list(theirs))
        if mine is None:
            return None
        (seeds, *_) = ({row.seed for row in of} for of in mine.values())
        paired = {name: [row for row in of if row.seed in seeds] for name, of in theirs.items()}
        return probability_of_improvement(_array(mine), _array(paired), _rng())

    @property
    def notes(self) -> list[str]:
        """What to know before trusting it."""
        said = []
        not_in_all = [of for of in self.published.agents if of not in self._ranked_names]
        if not_in_all:
            said.append(f"Not run in all of these settings: {', '.join(not_in_all)}.")
        if self.own is not None:
            n, all_of_them = len(self.settings), len(self.published.by_setting)
            if n < all_of_them:
                said.append(f"{n} of {all_of_them} settings: no score of {BENCH} as a whole.")
            seeds = len(self.own.by_setting[self.settings[0]][self.own.agents[0]])
            usual = max(len(of) for of in self.published.by_setting[self.settings[0]].values())
            if seeds < usual:
                said.append(f"{seeds} of {usual} seeds: the published agents have all of them.")
            partly = [name for name in self.own.by_setting if name not in self.settings]
            if partly:
                said.append(f"Left out, runs are missing: {', '.join(partly)}.")
        said += [f"Left out, {name}: {why}." for name, why in self.left_out.items()]
        if self.published.versions != monmdp.__version__:
            now = f"this is monmdp {monmdp.__version__}"
            said.append(f"Published runs were made by monmdp {self.published.versions}; {now}.")
        return said

    @property
    def _ranked_names(self) -> set[str]:
        return {of.agent for of in self.ranking if of.is_published}

    def table(self) -> Table:
        """Return the agents, the best first."""
        rows = [
            (
                of.agent,
                PUBLISHED if of.is_published else HERE,
                of.score,
                of.improvement,
                share(of.optimal, of.runs),
            )
            for of in self.ranking
        ]
        legend = LEGEND + ("" if self.own is None else LEGEND_OF_OWN)
        title = f"{BENCH}, {plural(len(self.settings), 'setting')}"
        found = Table.of(RANKING, rows, title=title, notes=[legend, *self.notes])
        return found.without("P(improvement)") if self.own is None else found

    def settings_table(self) -> Table:
        """Return the settings one by one: the own agent beside the best and the median."""
        rows = []
        for name in self.settings:
            means = {
                agent: float(np.mean([row.score for row in of]))
                for agent, of in self.published.by_setting[name].items()
            }
            best = max(means, key=means.__getitem__)
            mine, chance = None, None
            if self.own is not None:
                mine = mean_interval([row.score for row in self._own_rows(name)])
                chance = self._improvement({name: self.published.by_setting[name][best]})
            steps = self.published.protocol(name)["steps"]
            median = float(np.median(list(means.values())))
            rows.append((name, steps, mine, means[best], best, median, chance))
        found = Table.of(SETTINGS, rows, title="Setting by setting")
        return found.without("yours", "P(improvement)") if self.own is None else found

    def _own_rows(self, setting: str) -> list[Row]:
        assert self.own is not None
        return self.own.by_setting[setting][self.own.agents[0]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "suite": BENCH,
            "protocol": protocol_hash(bundled_suite(BENCH)),
            "agents": self.table().records(),
            "settings": self.settings_table().records(),
            "notes": self.notes,
            "left_out": dict(self.left_out),
            "published_by": self.published.versions,
        }

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.settings_table().to_text(WIDE)}"

    def _repr_html_(self) -> str:
        """Show both tables in a notebook."""
        return self.table().to_html() + self.settings_table().to_html()


def _array(rows: Mapping[str, Sequence[Row]]) -> FloatArray:
    """Scores [seed, setting]."""
    return np.array([[row.score for row in of] for of in rows.values()]).T


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ---- one setting ----------------------------------------------------------------------------


def published_runs(
    settings: Mapping[str, Any], seeds: int | Sequence[int], more: Sequence[str] = ()
) -> dict[str, list[Row]]:
    """Return agent -> published runs that runs with these settings may be compared with.

    `seeds` says how many of the published ones, or which. If there are no such runs, the error says
    what differs from the nearest setting, and which command, with the words `more`, would do.
    """
    there = published()
    alike = [name for name in there.by_setting if _same_problem(there, name, settings)]
    name = alike[0] if alike else _nearest_setting(settings, there)
    differs = differences(settings, there.protocol(name))
    known = sorted({row.seed for row in there.rows})
    wanted = set(known[:seeds] if isinstance(seeds, int) else seeds)
    if not wanted <= set(known) or (isinstance(seeds, int) and seeds > len(known)):
        differs.append(f"seeds besides the published ones, {_range(known)}")
    if differs:
        words = ["monmdp compare", *_command_words(name), *more]
        words += [f"--steps {there.protocol(name)['steps']}", f"--seeds {len(known)}"]
        raise MonMDPError(
            f"nothing is published for this: the nearest setting of {BENCH} is {name}, and what "
            f"was asked for has {', '.join(differs)}\n"
            f"this would do: {' '.join(words)} --against published"
        )
    return {
        agent: [row for row in rows if row.seed in wanted]
        for agent, rows in there.by_setting[name].items()
    }


def _same_problem(scores: Scores, name: str, settings: Mapping[str, Any]) -> bool:
    return bool(scores.protocol(name)["problem"] == settings["problem"])


def _nearest_setting(settings: Mapping[str, Any], scores: Scores) -> str:
    names = list(scores.by_setting)
    return get_close_matches(problem_name(settings), names, n=1, cutoff=0.0)[0]


def _range(seeds: Iterable[int]) -> str:
    """Whole numbers as people write them: ``0 to 9``."""
    ordered = sorted(seeds)
    runs = groupby(enumerate(ordered), key=lambda of: of[1] - of[0])
    parts = [[seed for _, seed in run] for _, run in runs]
    return ", ".join(f"{of[0]} to {of[-1]}" if len(of) > 1 else f"{of[0]}" for of in parts)


def _command_words(setting: str) -> list[str]:
    """World, monitor and parameters of a setting, as a command has them."""
    plan = settings_plan()
    (panel,) = (of for of in plan.figure.panels() if setting_of(plan, of) == setting)
    of = plan.resolved[panel.curves[0].configuration].configuration
    given = [f"{key.partition('.')[2]}={value}" for key, value in of.problem]
    return [str(of.world), str(of.monitor), *given]
