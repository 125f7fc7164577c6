"""The public verbs: train, compare, bench, run_suite, reproduce, write_report.

All of them are one thing: configurations x seeds are run, kept if there is a folder, and summed up
as evidence, from which tables, figures, claims and reports are made. `train` is one run, `compare`
several agents on one problem, `bench` one agent on the settings of the benchmark, a suite any
product of settings. The command line calls these.
"""

from __future__ import annotations

import base64
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from monmdp.agents import AgentConfig
from monmdp.errors import MonMDPError
from monmdp.experiment.assembly import default_steps
from monmdp.experiment.policy import EvaluationKind, Policy, Returns
from monmdp.experiment.provenance import commit, now, provenance
from monmdp.experiment.training import EPISODES, EVERY, Run, snapshot_steps, weighed
from monmdp.model import MonMDP
from monmdp.model.mdp import whole_number
from monmdp.naming import demand_modules
from monmdp.planning.factors import checked_problem
from monmdp.results.benchmarking import (
    BENCH,
    FILE,
    Asked,
    Bench,
    Row,
    ask_bench,
    published,
    published_runs,
    save,
    scored,
)
from monmdp.results.comparison import Comparison, compare_agents
from monmdp.results.evidence import Aggregate, Evidence, LeftOutWarning, Reader, gather, reader
from monmdp.results.figures import Extent, checked_extent, draw
from monmdp.results.publish import Publication, publish
from monmdp.results.references import keep as keep_references
from monmdp.results.references import references
from monmdp.results.request import Request, ask_paper, ask_suite, command_name, keep, log_session
from monmdp.results.runner import Outcome, Progress, Tell, cores, execute
from monmdp.results.store import Key, frame_of, read_run, run_path
from monmdp.suites import Configuration, Plan, Suite, find, parse, plan_of, resolve
from monmdp.suites.spec import demand_runs

if TYPE_CHECKING:
    import pandas as pd

    from monmdp.report.content import Content

Folder = str | os.PathLike[str]
COMMANDS = ("train", "compare", BENCH)
"""names of the suites that commands write down; with more seeds a command renews its report"""


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """What some runs came to. In a notebook it shows its figures and tables."""

    plans: Sequence[Plan]
    evidence: Evidence
    outcome: Outcome
    """what was done, and what was there already"""
    folder: Path | None
    """where the runs are kept; None: nowhere"""
    report: Publication | None
    """the figures, tables and claims that were written; None: nothing was"""
    notes: Sequence[str] = field(default=())
    """what one should know: damaged runs that were left out, a report that was replaced"""
    policies: Mapping[str, Policy] = field(default_factory=dict)
    """policies to compare the agents with, besides the uniform random one"""
    published: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    """agent -> runs on the same setting that come with the package, to compare with"""

    def __repr__(self) -> str:
        n = sum(len(of.seeds) for of in self.evidence.aggregates.values())
        where = "not kept on disk" if self.folder is None else f"in {self.folder}"
        return f"<Results: {n:,} of {self.outcome.progress.total:,} runs, {where}>"

    @cached_property
    def runs(self) -> dict[Key, Run]:
        """The runs, by configuration and seed, with what was kept of their inside."""
        keys = [key for plan in self.plans for key in plan.runs()]
        if self.folder is None:
            return {key: self.outcome.runs[key] for key in keys if key in self.outcome.runs}
        paths = {key: run_path(self.folder, *key) for key in keys}
        return {key: read_run(path, inside=True) for key, path in paths.items() if path.exists()}

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The agents of every problem, compared with the first one, and references."""
        found = []
        for plan in self.plans:
            for panel in plan.figure.panels():
                if panel.curves:
                    task = plan.resolved[panel.curves[0].configuration].task
                    others = references(task.monmdp, task.gamma, self.policies)
                    found.append(
                        compare_agents(panel, self.evidence, others, self._returns, self.published)
                    )
        return [comparison for comparison in found if comparison is not None]

    def _returns(self, of: Aggregate) -> list[Returns]:
        """What the last policies of some runs pay; nothing if they were not kept."""
        name = of.configuration
        resolved = next(plan.resolved[name] for plan in self.plans if name in plan.resolved)
        if not resolved.keeps_inside:
            return []
        last = [self.runs[name, seed].policy for seed in of.seeds]
        task = resolved.task
        return [policy.returns(task.monmdp, task.gamma) for policy in last if policy is not None]

    def frame(self) -> pd.DataFrame:
        """Return the runs as one tidy table: a row for each run and checkpoint."""
        return frame_of(self.runs.values())

    def figure(self, axes: Extent = "stated") -> Any:
        """Draw the learning curves, the first figure if there are several; see `Options.axes`."""
        return draw(self.plans[0].figure, self.evidence, axes)

    def _repr_html_(self) -> str:
        """Show the first figure and the tables in a notebook."""
        picture = base64.b64encode(self.figure()._repr_png_()).decode()
        tables = "".join(comparison.table().to_html() for comparison in self.comparisons)
        return f'<img src="data:image/png;base64,{picture}">{tables}'


def train(
    problem: MonMDP,
    agent: str | AgentConfig | Callable[..., Any] | object,
    steps: int | None = None,
    seed: int = 0,
    *,
    out: Folder | None = None,
    evaluation: EvaluationKind = "exact",
    every: int = EVERY,
    episodes: int = EPISODES,
    snapshots: int | Iterable[int] = 0,
    gamma: float | None = None,
    stale: bool = False,
    log: str | None = None,
) -> Run:
    """Train an agent and test it on the way.

    Args:
        problem: the problem.
        agent: a name, ``module:object``, a configuration, or an agent of your own in plain Python:
            a function or class called with (shape, rng), or a finished object. Agents of this
            package run compiled.
        steps: how many steps to train; by default the paper's budget.
        seed: of all randomness; the streams depend on it and on the problem, see `streams`.
        out: a folder of results; without one nothing is written. A run that is there already is
            read instead of done again.
        evaluation: ``exact``, or ``monte-carlo`` as in the paper. Neither changes training.
        every: training steps between checkpoints; the first is at step 0.
        episodes: how many episodes Monte Carlo draws at a checkpoint.
        snapshots: how many snapshots of counts and action values to keep, evenly spaced up to the
            end, or at which steps.
        gamma: discount of the returns; by default the agent's.
        stale: do the run again if another version of the code has made it.
        log: ``tensorboard``: write the curves into ``tensorboard/`` in the folder on the way.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "ask")
    >>> run = monmdp.train(problem, "monitored-mbie-eb", steps=1000, seed=0)
    >>> run.curve["episode_return"][[0, -1]].round(3).tolist()
    [-3.732, 0.961]
    >>> round(monmdp.solve(problem).episode_return, 3)
    0.961
    """
    seed = whole_number(seed, "seed", at_least=0, at_most=None)
    steps = default_steps(checked_problem(problem)) if steps is None else steps
    steps = whole_number(steps, "steps", at_least=1)
    asked = Configuration(
        checked_problem(problem), None, agent=agent, steps=steps, every=every, gamma=gamma,
        evaluation=evaluation, episodes=episodes, keep_policy=True,
        snapshots=snapshot_steps(weighed(snapshots), steps),
    )  # fmt: skip
    found = resolve(asked)
    key = found.id, seed
    outcome = execute(out, {key: found}, jobs=1, stale=stale, log=log)
    if key in outcome.failures:
        raise outcome.errors.get(key) or MonMDPError(outcome.failures[key])
    return outcome.runs[key] if out is None else read_run(run_path(Path(out), *key), inside=True)


def compare(
    problem: MonMDP,
    agents: Iterable[Any] | Mapping[str, Any],
    steps: int | None = None,
    *,
    seeds: int | Iterable[int] = 30,
    out: Folder | None = None,
    jobs: int | None = None,
    evaluation: EvaluationKind = "exact",
    every: int = EVERY,
    episodes: int = EPISODES,
    gamma: float | None = None,
    policy: Policy | Mapping[str, Policy] | None = None,
    against: str | None = None,
    stale: bool = False,
    log: str | None = None,
    tell: Tell | None = None,
) -> Results:
    """Train several agents on one problem, with the same seeds.

    With a folder, the runs, the figure and the tables are kept there, and a run that is there
    already is not done again. Unlike ``monmdp compare`` it writes no request: problems and agents
    may be objects, which have no names to write down. So ``monmdp report`` shows the runs, and
    ``monmdp redraw`` and ``verify`` do not know them.

    Args:
        problem: the problem.
        agents: whatever `train` takes for an agent, or label -> agent. The first one is the
            reference.
        steps: how many steps to train; by default the paper's budget.
        seeds: how many, 0, 1, 2, … or the first of the published ones; or which.
        out: a folder of results; without one nothing is written.
        jobs: runs at a time; by default one for each core.
        evaluation: ``exact`` or ``monte-carlo``.
        every: training steps between checkpoints.
        episodes: how many episodes Monte Carlo draws at a checkpoint.
        gamma: discount of all returns; by default that of the first agent.
        policy: a policy to compare the agents with, or several by name: the one that made a log,
            say. It is evaluated exactly, as the uniform random policy always is.
        against: ``published``: show the runs of all agents of this package beside them, which come
            with it for every setting of the benchmark, see `bench`.
        stale: do runs again that another version of the code has made.
        log: ``tensorboard``: write the curves into ``tensorboard/`` in the folder on the way.
        tell: called now and then with how far it is.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "ask")
    >>> found = monmdp.compare(problem, ["monitored-mbie-eb", "mbie-eb"], 1000, seeds=3)
    >>> (table,) = found.comparisons
    >>> table.reference, table["mbie-eb"].to_dict()["seeds_converged"]
    ('monitored-mbie-eb', 3)
    >>> [(of.name, round(of.episode_return, 3)) for of in table.references]
    [('uniform random', -3.732)]
    """
    chosen = _labelled(agents)
    asked = _seeds(seeds)
    given = {"given policy": policy} if isinstance(policy, Policy) else dict(policy or {})
    for of in given.values():
        of.check_fits(checked_problem(problem))
    first = Configuration(
        checked_problem(problem), None, agent=next(iter(chosen.values())), steps=steps,
        every=every, gamma=gamma, evaluation=evaluation, episodes=episodes, keep_policy=True,
    )  # fmt: skip
    reference = resolve(first)
    first = replace(first, gamma=reference.task.gamma)  # one for all: returns are compared
    how_many = seeds if isinstance(seeds, int) else asked
    beside = published_beside(against, reference.settings, how_many)
    which = [row.seed for row in next(iter(beside.values()))] if beside else asked
    plan = plan_of("compare", {of: replace(first, agent=chosen[of]) for of in chosen}, which)
    outcome = execute(out, plan.runs(), jobs=jobs, stale=stale, log=log, tell=tell)
    for key in outcome.failures:
        raise outcome.errors.get(key) or MonMDPError(outcome.failures[key])
    place = None if out is None else Path(out)
    read = reader(place) if place else lambda name, seed: outcome.runs.get((name, seed))
    evidence, notes = _gathered([plan], read, provenance())
    report = None
    if place is not None:
        words = ["compare", problem.mdp.name, problem.monitor.name, *chosen]
        curves = [(curve.label, curve.configuration) for curve in plan.figure.curves()]
        report = publish(place / "reports" / command_name(words, curves), evidence, within=place)
    return _with_policies(Results([plan], evidence, outcome, place, report, notes, given, beside))


def published_beside(
    what: str | None,
    settings: Mapping[str, Any],
    seeds: int | Sequence[int],
    more: Sequence[str] = (),
) -> dict[str, list[Row]]:
    """Return the published runs to compare with, if somebody asks for them."""
    if what is None:
        return {}
    if what != "published":
        raise MonMDPError(f"agents are compared against 'published' ones, got {what!r}")
    return published_runs(settings, seeds, more)


def bench(
    agent: str | AgentConfig | Callable[..., Any] | None = None,
    *,
    label: str | None = None,
    seeds: int | None = None,
    only: str | Iterable[str] = (),
    out: Folder = "results",
    jobs: int | None = None,
    stale: bool = False,
    log: str | None = None,
    tell: Tell | None = None,
) -> Bench:
    """Put an agent beside all of ours on the benchmark, ``bench-v1``.

    Our results come with the package; only those of the agent are run.

    Args:
        agent: what `train` takes for an agent; None: nothing is run, ours are shown.
        label: its name in the tables.
        seeds: how many; by default all ten.
        only: names of settings; by default all twenty.
        out: folder for runs and reports. A run that is there already is not done again.
        jobs: runs at a time; by default one for each core.
        stale: do runs again that another version of the code has made.
        log: ``tensorboard``: write the curves into ``tensorboard/`` in the folder on the way.
        tell: called now and then with how far it is.

    >>> import monmdp
    >>> found = monmdp.bench("r-max", only="loop-ask", seeds=2)
    >>> [of.agent for of in found.ranking if not of.is_published], found.settings
    (['r-max'], ['loop-ask'])
    """
    names = (only,) if isinstance(only, str) else tuple(only)
    if agent is None:
        return Bench(published(), only=names)
    asked = ask_bench(
        agent, label=_label(agent) if label is None else label, seeds=seeds, only=names
    )
    results = run_request(asked.request, out, jobs=jobs, stale=stale, log=log, tell=tell)
    for key in results.outcome.failures:
        raise results.outcome.errors.get(key) or MonMDPError(results.outcome.failures[key])
    return benched(asked, results)


def benched(asked: Asked, results: Results) -> Bench:
    """Score the runs of an agent and put them beside the published ones; its scores are kept."""
    assert results.folder is not None
    (plan,) = results.plans
    own = scored(plan, results.evidence, reader(results.folder))
    if results.report is not None:
        save(own, results.report.folder / FILE)
    return Bench(published(), own, asked.left_out, results=results)


def _with_policies(results: Results) -> Results:
    """Write down what a user's policies pay, beside the report, for the HTML page."""
    if results.policies and results.report is not None:
        for comparison in results.comparisons:
            settings = comparison.rows[0].of.settings
            keep_references(results.report.folder, settings, comparison.references)
    return results


def _labelled(agents: Iterable[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Return label -> agent."""
    agents = [agents] if isinstance(agents, str) else agents
    named = agents.items() if isinstance(agents, Mapping) else ((_label(of), of) for of in agents)
    chosen: dict[str, Any] = {}
    for label, agent in named:
        if label in chosen:
            raise MonMDPError(f"{label!r} is there twice; tell them apart: {{label: agent, …}}")
        chosen[label] = agent
    if not chosen:
        raise MonMDPError("nothing to compare: at least one agent is needed")
    return chosen


def _seeds(seeds: int | Iterable[int]) -> tuple[int, ...]:
    if not isinstance(seeds, Iterable):
        n = whole_number(seeds, "seeds", at_least=1)
        demand_runs(n)
        return tuple(range(n))
    which = tuple(whole_number(seed, "seed", at_least=0, at_most=None) for seed in seeds)
    if not which:
        raise MonMDPError("at least one seed is needed")
    if len(set(which)) < len(which):
        raise MonMDPError("a seed is there twice")
    return which


def _label(agent: Any) -> str:
    """What a table calls an agent."""
    if isinstance(agent, str):
        return agent
    kind = agent if isinstance(agent, type) else type(agent)
    if issubclass(kind, AgentConfig) and "name" not in vars(kind):
        return kind.__name__  # a variant, which inherits the name of what it varies
    name = getattr(agent, "name", None) or getattr(agent, "__name__", None)
    return str(name or type(agent).__name__)


class Options(TypedDict, total=False):
    """How a suite is run."""

    seeds: int | None
    """how many; by default what the suite says"""
    quick: bool
    """fewer seeds and settings, as the suite has it"""
    preset: str
    """``paper``, or ``released`` for the options of the authors' released code"""
    jobs: int | None
    """runs at a time; by default one for each core"""
    shard: tuple[int, int] | None
    """(i, n): only this part of the runs, so that n machines share the work"""
    scheduler: str | None
    """address of a dask.distributed scheduler that does the runs"""
    stale: bool
    """do runs again that another version of the code has made"""
    log: str | None
    """``tensorboard``: write the curves into ``tensorboard/`` in the folder on the way"""
    axes: Extent
    """of figures: ``stated`` by the suite, as those of the paper are, or ``full``: all of every
    mean curve"""
    tell: Tell | None
    """called now and then with how far it is"""


def run_suite(
    suite: Suite | str | Path | Mapping[str, Any],
    *,
    out: Folder = "results",
    **options: Unpack[Options],
) -> Results:
    """Run a suite: what is missing is done, then figures, tables and claims are written.

    Args:
        suite: a suite, the name of a bundled one, a TOML file, or what would stand in it.
        out: folder for runs and reports.
        **options: how it is run, see `Options`.

    >>> import monmdp
    >>> block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["r-max", "mbie-eb"]}
    >>> suite = {"name": "small", "seeds": 2, "steps": 1000, "experiment": [block]}
    >>> results = monmdp.run_suite(suite, out="results")
    >>> len(results.runs), sorted(results.frame()["seed"].unique().tolist())
    (4, [0, 1])
    """
    if isinstance(suite, Mapping):
        suite = parse(suite, "the suite")
    elif not isinstance(suite, Suite):
        suite = find(str(suite))
    return _asked(partial(ask_suite, suite), out, options)


def reproduce(*figures: str, out: Folder = "results", **options: Unpack[Options]) -> Results:
    """Reproduce figures of the paper, ``figure-4`` or ``4``, or ``all``; see `run_suite`."""
    return _asked(partial(ask_paper, figures), out, options)


def _asked(ask: Callable[..., Request], out: Folder, options: Any) -> Results:
    """Some options say what to run, the others how."""
    asking = {key: options.pop(key) for key in ("seeds", "quick", "preset") if key in options}
    return run_request(ask(**asking), out, **options)


def run_request(
    request: Request,
    out: Folder,
    *,
    jobs: int | None = None,
    shard: tuple[int, int] | None = None,
    scheduler: str | None = None,
    stale: bool = False,
    log: str | None = None,
    axes: Extent = "stated",
    policies: Mapping[str, Policy] | None = None,
    published: Mapping[str, Sequence[Row]] | None = None,
    tell: Tell | None = None,
) -> Results:
    """Do what is missing of a request, then sum it up and write its report.

    A shard is only run: the report comes when all of it is run. `policies` and `published` runs
    are compared with the agents.
    """
    checked_extent(axes)
    folder, plans, runs = Path(out), request.plans, request.runs()
    notes: list[str] = []
    made = dict(provenance())

    def begin() -> None:
        written, replaced = keep(request, folder)
        made["request"] = written.hash
        if replaced and plans[0].figure.name not in COMMANDS:
            notes.append(
                f"{written.folder} was the report of another suite of this name; it is replaced, "
                "its runs are kept"
            )

    part = None if shard is None else f"{shard[0]}/{shard[1]}"
    options = {"jobs": jobs or cores(), "shard": part, "scheduler": scheduler}
    with _on_record(request.folder(folder), options, tell) as told:
        outcome = execute(
            folder, runs, jobs=jobs, shard=shard, scheduler=scheduler, stale=stale, log=log,
            tell=told, begin=begin,
        )  # fmt: skip
    if shard is not None:
        return Results(plans, Evidence((), {}, made), outcome, folder, None, notes)
    evidence, left_out = _gathered(plans, reader(folder), made)
    report = publish(request.folder(folder), evidence, axes, within=folder)
    notes += left_out
    beside = policies or {}, published or {}
    return _with_policies(Results(plans, evidence, outcome, folder, report, notes, *beside))


@contextmanager
def _on_record(folder: Path, options: Mapping[str, Any], tell: Tell | None) -> Iterator[Tell]:
    """However the work ends, put on record how far it came and how long it took."""
    latest: Progress | None = None

    def told(progress: Progress) -> None:
        nonlocal latest
        latest = progress
        if tell is not None:
            tell(progress)

    try:
        yield told
    finally:
        if latest is not None and latest.done:
            session = {
                "ended": now(),
                "runs": latest.done,
                "steps": latest.steps,
                "wall_seconds": latest.seconds,
                "cpu_seconds_of_process": latest.cpu_seconds,
                **options,
                "commit": commit(),
            }
            with suppress(MonMDPError):  # a full disk has its own word
                log_session(folder, session)


def _gathered(
    plans: Sequence[Plan], read: Reader, made: Mapping[str, Any]
) -> tuple[Evidence, list[str]]:
    """Sum up runs; those that are damaged are named and left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LeftOutWarning)
        evidence = gather(plans, read, made)
    return evidence, [f"left out: {warning.message}" for warning in caught]


def write_report(
    folders: Folder | Iterable[Folder], path: Folder | None = None, *, trust: Collection[str] = ()
) -> Content:
    """Write one HTML file about all results in some folders, finished or not.

    The folders may be anybody's: nothing that stands in them is run.

    Args:
        folders: one folder of results or several.
        path: the file; by default ``report.html`` in the first folder.
        trust: modules with agents that may be imported, to see whether their code has changed.
    """
    from monmdp.report import write_page

    many = [folders] if isinstance(folders, str | os.PathLike) else list(folders)
    demand_modules(trust)
    return write_page(many, Path(many[0]) / "report.html" if path is None else path, trust)
