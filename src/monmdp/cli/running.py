"""Commands that do runs: train, compare, run, reproduce; and warmup."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from monmdp import stopping
from monmdp.cli import printing
from monmdp.cli.app import (
    INTERVAL,
    AsJson,
    Axes,
    Words,
    World,
    app,
    line_of_progress,
    names_of,
    print_json,
    spread,
    tell,
)
from monmdp.cli.own import check_configurations
from monmdp.errors import MonMDPError
from monmdp.tables import plural

if TYPE_CHECKING:
    from monmdp.api import Results
    from monmdp.results import Comparison, Progress
    from monmdp.results.request import Request


@dataclass(frozen=True)
class Training:
    """Options of train and compare."""

    steps: Annotated[
        int | None, Option(help="Training steps.", show_default="50000 for bottleneck, else 20000")
    ] = None
    seeds: Annotated[int, Option(help="How many seeds: 0, 1, 2, …")] = 30
    evaluation: Annotated[str, Option(help="exact, or monte-carlo as in the paper.")] = "exact"
    every: Annotated[int, Option(help="Steps between two tests.")] = 100


@dataclass(frozen=True)
class Doing:
    """Options of all commands that do runs."""

    out: Annotated[Path, Option(help="Folder for runs and reports.")] = Path("results")
    jobs: Annotated[int | None, Option(help="Runs at a time.", show_default="all cores")] = None
    stale: Annotated[
        bool, Option("--stale", help="Do runs again that another version of the code has made.")
    ] = False
    unchecked: Annotated[
        bool,
        Option("--unchecked", help="Do not check worlds, monitors and agents of your own first."),
    ] = False
    log: Annotated[
        str | None,
        Option(help="tensorboard: write curves into OUT/tensorboard while runs go on."),
    ] = None


@dataclass(frozen=True)
class WithPreset(Doing):
    """Options of all of them but bench, whose settings are fixed."""

    preset: Annotated[
        str, Option(help="paper, or released: the options of the authors' released code.")
    ] = "paper"


@dataclass(frozen=True)
class OfSuite:
    """Options of run and reproduce."""

    seeds: Annotated[
        int | None, Option(help="How many seeds.", show_default="what the suite says")
    ] = None
    quick: Annotated[
        bool,
        Option(
            "--quick", help="Fewer seeds and settings, as the suite has it; no shorter training."
        ),
    ] = False
    shard: Annotated[
        str | None,
        Option(help="i/n: only this part of the runs, so that n machines share the work."),
    ] = None
    scheduler: Annotated[
        str | None, Option(help="Address of a dask.distributed scheduler that does the runs.")
    ] = None
    dry_run: Annotated[bool, Option("--dry-run", help="Print the plan and an estimate only.")] = (
        False
    )
    axes: Axes = "stated"


@app.command()
@spread
def train(
    world: World,
    words: Words = None,
    *,
    agent: Annotated[
        str, Option(help="An agent's name, or module:object for one of your own.")
    ] = "factored-mbie-eb",
    training: Training,
    snapshots: Annotated[
        int, Option(help="Snapshots of the first seed to keep, for monmdp report.")
    ] = 0,
    doing: WithPreset,
    as_json: AsJson = False,
) -> None:
    """Train an agent: learning curve, end return, seeds and steps to minimax-optimality.

    What is done is kept: killed and started again, the same command does only what is missing.
    """
    settings = _checked(training) | {"snapshots": snapshots}
    request = _request("train", world, words, {agent: (agent, {})}, settings, doing.preset)
    results = carried_out(request, doing, quiet=as_json)
    (row,) = _table(results).rows
    if as_json:
        told = row.to_dict()
        told.pop("agent")
        told["certified"] = [run.certified for run in results.runs.values()]
        print_json(dict(row.of.settings) | told | printing.in_json(results, doing.preset))
    else:
        printing.training(results)
        printing.files(results)
    end(results)


@app.command()
@spread
def compare(
    world: World,
    words: Words = None,
    *,
    agents: Annotated[
        str | None,
        Option(
            help="Names with commas between them; parameters of an agent follow it: "
            "factored-mbie-eb,directed-e2,r0=-10. The first one is the reference.",
            show_default="all that are offered for the problem",
        ),
    ] = None,
    training: Training,
    policy: Annotated[
        list[Path] | None,
        Option(help="Also compare with this policy, .npz, or a run, .parquet; repeatable."),
    ] = None,
    against: Annotated[
        str | None,
        Option(
            help="published: also compare with our published runs, if this is a setting of bench-v1"
            " (see monmdp bench); seeds are theirs, the first ones."
        ),
    ] = None,
    doing: WithPreset,
    as_json: AsJson = False,
) -> None:
    """Train several agents with the same seeds and compare them in one table and one picture.

    The first agent is the reference: the last columns say how far the others stay behind it, and
    how likely a run of it is to lie above theirs. Below stand policies that were not learnt, the
    uniform random one and those of --policy. What is done is kept, as with train.
    """
    from monmdp.agents import registry
    from monmdp.api import published_beside
    from monmdp.experiment.assembly import parse_agents
    from monmdp.results import load_policy

    settings = _checked(training)

    def asked(agents: Named) -> Request:
        return _request("compare", world, words, agents, settings, doing.preset)

    policies = {str(path): load_policy(path) for path in policy or []}
    chosen = parse_agents(",".join(registry) if agents is None else agents)
    (resolved,) = asked(dict([next(iter(chosen.items()))])).plans[0].resolved.values()
    settings["gamma"] = resolved.settings["gamma"]  # returns are compared: one discount for all
    policies = {name: of.carried_over(resolved.task.monmdp) for name, of in policies.items()}
    more = [] if agents is None else [f"--agents {agents}"]
    beside = published_beside(against, resolved.settings, training.seeds, more)
    if beside:
        settings["seeds"] = [row.seed for row in next(iter(beside.values()))]
    left_out: dict[str, str] = {}
    try:
        request = asked(chosen)
    except MonMDPError:
        if agents is not None:
            raise
        for label, agent in chosen.items():
            try:
                asked({label: agent})
            except MonMDPError as error:
                left_out[label] = str(error).partition(f", {label}: ")[2] or str(error)
        request = asked({label: of for label, of in chosen.items() if label not in left_out})
    results = carried_out(request, doing, quiet=as_json, policies=policies, published=beside)
    table = _table(results)
    if as_json:
        shared = table.rows[0].of.settings
        keys = ("world", "monitor", "problem_parameters", "steps", "every", "evaluation", "gamma")
        told = {key: shared[key] for key in keys} | table.to_dict() | {"left_out": left_out}
        print_json(told | printing.in_json(results, doing.preset))
    else:
        printing.comparison(table)
        for name, reason in left_out.items():
            print(f"left out: {name} ({reason})")
        printing.files(results)
    end(results)


@app.command()
@spread
def reproduce(
    names: Annotated[
        list[str],
        Argument(metavar="FIGURE...|all", help="figure-1 to figure-13 (or 1 to 13), or all."),
    ],
    suite: OfSuite,
    doing: WithPreset,
) -> None:
    """Reproduce figures of the paper, or all of it, and check its claims.

    What is done is kept: killed and started again, the same command does only what is missing.
    """
    from monmdp.results.request import ask_paper

    _do_suite(lambda **asked: ask_paper(names, **asked), suite, doing)


@app.command()
@spread
def run(
    names: Annotated[
        str,
        Argument(
            metavar="SUITE",
            help="A TOML file, or a suite that comes with the package: see monmdp list.",
            show_default=False,
        ),
    ],
    suite: OfSuite,
    doing: WithPreset,
) -> None:
    """Run a suite, bundled or your own: worlds x monitors x ρ x agents x seeds, from TOML."""
    from monmdp.results.request import ask_suite
    from monmdp.suites import find

    _do_suite(lambda **asked: ask_suite(find(names), **asked), suite, doing)


@app.command()
def warmup() -> None:
    """Compile the agents ahead, so that the first training is fast."""
    from monmdp import agents, make, train

    problem = make("loop", "ask")
    for name in agents.registry:
        begin = time.perf_counter()
        train(problem, name, steps=100, evaluation="monte-carlo")
        config = agents.paper_config(name, problem.mdp.name, problem.monitor.name)
        stepwise = agents.make(config.for_training(100), problem)
        stepwise.begin_episode()
        here, action = {"env": 0, "mon": 0}, {"env": 0, "mon": 0}
        stepwise.update(agents.Transition(here, action, None, 0.0, here, terminated=False))
        print(f"{name:<24} {time.perf_counter() - begin:.1f} s")


# ---- what was asked for ---------------------------------------------------------------------

Named = dict[str, tuple[str, dict[str, str]]]
"""label -> an agent's name, and its parameters"""


def _request(
    command: str,
    world: str,
    words: list[str] | None,
    agents: Named,
    settings: Mapping[str, Any],
    preset: str,
) -> Request:
    """Turn a problem and some agents, label -> (name, parameters), into a suite of one block.

    It is resolved: whatever is wrong is reported here, in the words of the command line.
    """
    from monmdp.experiment.assembly import assigned
    from monmdp.results.request import Request, command_name
    from monmdp.suites import parse

    monitor, params = names_of(world, words)
    chosen = []
    parts: dict[str, dict[str, Any]] = {}
    for label, (agent, own) in agents.items():
        of = assigned(world, monitor, agent, params | {f"agent.{k}": v for k, v in own.items()})
        chosen.append({"name": agent, "label": label, **of.pop("agent")})
        parts = of
    block = {"worlds": [{"name": world, **parts.get("world", {})}], "agents": chosen}
    if monitor is not None:
        block["monitors"] = [{"name": monitor, **parts["monitor"]}]
    content = {key: value for key, value in settings.items() if value is not None}
    content |= {"experiment": [block], "policies": True}
    lasting = {k: v for k, v in content.items() if k not in ("seeds", "snapshots")}
    names = [command, Path(world).stem, *([monitor] if monitor else []), *agents]
    try:
        suite = parse({"name": command, **content}, f"monmdp {command}")
        request = Request(command_name(names, [lasting, preset]), (suite,), preset)
        request.runs()
    except MonMDPError as error:
        # The user has written no suite: neither its name nor the place in it says anything.
        first, *wrong = str(error).splitlines()
        told = [line.strip().removeprefix("experiment[0]: ") for line in wrong] or [first]
        raise MonMDPError("\n  ".join(told).replace("every=…", "--every")) from None
    return request


def _checked(training: Training) -> dict[str, Any]:
    """The options of train and compare, of which some are counts."""
    for key in ("steps", "seeds", "every"):
        count(getattr(training, key), f"--{key}")
    return asdict(training)


def count(value: int | None, option: str) -> int | None:
    """Return what an option counts, if it is given, or refuse it."""
    from monmdp.model.mdp import whole_number

    return None if value is None else whole_number(value, option, at_least=1)


def _shard(text: str | None) -> tuple[int, int] | None:
    """Read ``i/n``."""
    if text is None:
        return None
    if re.fullmatch("[0-9]{1,9}/[0-9]{1,9}", text):
        i, n = map(int, text.split("/"))
        if 1 <= i <= n:
            return i, n
    raise MonMDPError(f"--shard {text!r}: write i/n with 1 ≤ i ≤ n, such as 1/4")


# ---- doing it -------------------------------------------------------------------------------


def carried_out(request: Request, doing: Doing, *, quiet: bool = False, **how: Any) -> Results:
    """Run what is missing and report; say what went wrong, and how to go on if it was stopped."""
    from monmdp.api import run_request

    count(doing.jobs, "--jobs")
    if not doing.unchecked:
        check_configurations(request.runs().values())
    begun = False

    def told(progress: Progress) -> None:
        nonlocal begun
        to_do, first, begun = progress.total - progress.there, not begun, True
        if quiet or not to_do:
            return
        if first:
            hint = "the first time, compiling takes half a minute"
            tell(f"{to_do:,} of {plural(progress.total, 'run')} to do; {hint}")
        else:
            show(_in_words(progress))

    kept = "what is finished is kept. To go on: " + printing.again()
    try:
        # the first line comes after two seconds
        with stopping.saying(f"interrupted; {kept}"), line_of_progress(INTERVAL - 2) as show:
            results = run_request(
                request, doing.out, jobs=doing.jobs, stale=doing.stale, log=doing.log, tell=told,
                **how,
            )  # fmt: skip
    except MonMDPError as error:
        if not begun:  # refused: the same command would be refused again
            raise
        raise MonMDPError(f"{error}\n{kept}") from None
    for note in results.notes:
        print(note, file=sys.stderr)
    for path in results.outcome.aside:
        print(f"damaged, and set aside: {path}", file=sys.stderr)
    failures = results.outcome.failures
    for key, reason in list(failures.items())[:10]:
        print(f"failed: {key[0]}, seed {key[1]}: {reason}", file=sys.stderr)
    if failures:
        print(f"{plural(len(failures), 'run')} failed", file=sys.stderr)
    return results


def _table(results: Results) -> Comparison:
    """The table of train or compare; if the reference has failed, there is none."""
    if not results.comparisons:
        raise typer.Exit(1)
    return results.comparisons[0]


def end(results: Results) -> None:
    """A command whose runs have failed says so at last."""
    if results.outcome.failures:
        raise typer.Exit(1)


def _do_suite(ask: Callable[..., Request], suite: OfSuite, doing: WithPreset) -> None:
    """Run suites and print what came out; `ask` turns some options into a request."""
    from monmdp.results.figures import checked_extent
    from monmdp.results.runner import belongs

    axes = checked_extent(suite.axes)
    seeds = count(suite.seeds, "--seeds")
    request = ask(seeds=seeds, quick=suite.quick, preset=doing.preset)
    shard = _shard(suite.shard)
    if suite.dry_run:
        printing.plan(request, doing.out, count(doing.jobs, "--jobs"), shard, doing.stale)
        return
    results = carried_out(request, doing, shard=shard, scheduler=suite.scheduler, axes=axes)
    printing.outcome(results.outcome)
    if shard is not None:
        left = sum(not belongs(key, shard) for key in request.runs())
        part = suite.shard
        whole = printing.again().replace(f" --shard {part}", "").replace(f" --shard={part}", "")
        belong = "belongs" if left == 1 else "belong"
        print(f"shard {part} is done; {plural(left, 'run')} {belong} to other shards.")
        print(f"When all are done (copied together, if need be): {whole}")
    elif results.report is not None:
        printing.report(results.report)
    end(results)


def _in_words(progress: Progress) -> str:
    left = progress.seconds_left
    steps = progress.steps + progress.running
    shown = "" if left is None else f"  {printing.duration(left)} left"
    done = f"{progress.there + progress.done:,}/{plural(progress.total, 'run')}"
    if not steps:
        return f"{done}  starting, and compiling if need be"
    return f"{done}  {steps:,} steps, {steps / progress.seconds:,.0f} a second{shown}"
