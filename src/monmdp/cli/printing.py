"""What the commands that do runs print."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monmdp.cli.app import print_facts, print_table, short
from monmdp.tables import plural

if TYPE_CHECKING:
    from monmdp.api import Results
    from monmdp.results import Comparison, Outcome, Publication
    from monmdp.results.request import Request
    from monmdp.suites import Configuration


def again() -> str:
    """The command line that goes on."""
    return shlex.join(["monmdp", *sys.argv[1:]])


def duration(seconds: float) -> str:
    """Return seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def plan(
    request: Request, out: Path, jobs: int | None, shard: tuple[int, int] | None, stale: bool
) -> None:
    """Print what would be run, and about how long it takes."""
    from monmdp.results.runner import belongs, cores, estimate
    from monmdp.results.store import take_inventory

    lines = []
    all_runs = {key: of for key, of in request.runs().items() if belongs(key, shard)}
    found = take_inventory(out, {key: of.wanted for key, of in all_runs.items()})
    there, all_to_do = set(found.there), {*found.missing, *(found.stale if stale else ())}
    costs = {key: estimate(all_runs[key]) for key in all_to_do}
    for plan in request.plans:
        runs = [key for key in plan.runs() if key in all_runs]
        to_do = [key for key in runs if key in all_to_do]
        cost = sum(costs[key] for key in to_do)
        n_configurations = len({name for name, _ in runs})
        counts = (n_configurations, len(runs), len(there & set(runs)), len(to_do), cost)
        lines.append((plan.figure.name, *counts))
    numbers = ("configurations", "runs", "there", "to do", "CPU seconds, about")
    print_table(["figure"], numbers, lines)
    n, total = cores() if jobs is None else jobs, sum(costs.values())
    print(
        f"runs that several figures share are done once: {len(all_to_do):,} to do, about "
        f"{total:,.0f} CPU seconds, {duration(total / n)} with {plural(n, 'job')}; "
        "compiling takes a minute more, once"
    )


def outcome(of: Outcome) -> None:
    """Print what a runner did."""
    progress, found = of.progress, of.inventory
    if progress.done:
        print(
            f"{plural(progress.done, 'run')} in {duration(progress.seconds)}, "
            f"{progress.steps:,} steps, {progress.cpu_seconds:,.0f} CPU seconds with compiling and "
            f"writing; {progress.there:,} {'was' if progress.there == 1 else 'were'} there already"
        )
    elif progress.total:
        runs = "the run is" if progress.total == 1 else f"all {progress.total:,} runs are"
        print(f"{runs} there")
    redone = progress.total - progress.there - len(found.missing)
    if found.stale and not redone:
        names = sorted({name for name, _ in found.stale})
        shown = "\n  ".join(names[:10] + (["…"] if len(names) > 10 else []))
        stale = plural(len(found.stale), "run")
        print(f"stale: {stale} made by another version of the code:\n  {shown}")
        print(f"They are used as they are. To do them again: {again()} --stale")


def report(of: Publication) -> None:
    """Print what a report says, and where it is."""
    if of.cpu_total:
        print()
        lines = [(name, seconds) for name, seconds in of.cpu.items() if seconds]
        lines.append(("all, shared runs once", of.cpu_total))
        print_table(["figure"], ["CPU seconds"], lines)
    for table in of.late:
        print(f"\n{table}")
    for claim in of.claims:
        about = f"{claim.about}: " if claim.about else ""
        print(f"\n{claim.name}  {about}{claim.headline}")
        for one in claim.sentences:
            said = f"{one.verdict.value.upper()}: “{one.says}”"
            found = f"{one.measured}. {one.how}"
            for text, indent in ((said, "    - "), (found, "      ")):
                print(textwrap.fill(text, 100, initial_indent=indent, subsequent_indent="      "))
    print()
    for path in of.pictures:
        print(f"picture: {path}")
    made = {"claims": of.claims, "statistics": of.cpu_total, "steps": of.cpu_total}
    for name in (name for name, there in made.items() if there):
        print(f"{name}: {of.folder / name}.md")


def in_json(results: Results, preset: str) -> dict[str, Any]:
    """Return what the JSON of all commands that train says: where the files are, how they came."""
    assert results.report is not None
    where = {"out": str(results.folder), "report": str(results.report.folder)}
    return where | {"preset": preset, "seconds": results.outcome.progress.seconds}


def files(results: Results) -> None:
    """Print where runs, report and picture are."""
    assert results.report is not None
    progress = results.outcome.progress
    there = f", {progress.there} already there" if progress.there else ""
    counted = f"{plural(progress.total, 'run')}{there}"
    print_facts({"runs": f"{results.folder}/runs  ({counted})", "report": results.report.folder})
    for path in results.report.pictures[:1]:
        print_facts({"picture": path})


def _problem_of(settings: Mapping[str, Any]) -> str:
    """World and monitor with the parameters that make a difference."""
    from monmdp.suites.configuration import unusual_parameters

    given = unusual_parameters(settings)
    parameters = "".join(f"  {key.partition('.')[2]}={value}" for key, value in given.items())
    return f"{settings['world']} / {settings['monitor']}{parameters}"


def _agent_of(settings: Mapping[str, Any], asked: Configuration) -> str:
    """An agent by the name that was given, and the parameters that were given or stand behind it.

    The name may stand for settings of an agent of this package, which are said, too.
    """
    from monmdp.agents import KINDS, paper_config

    own, name = dict(asked.of_agent), settings["agent"]
    if asked.agent == name or name not in KINDS:
        return " ".join([name, *(f"{key}={value}" for key, value in own.items())])
    usual = paper_config(name, settings["world"], settings["monitor"]).hyper_parameters()
    other = {key: of for key, of in settings["parameters"].items() if usual[key] != of}
    return " ".join([f"{asked.agent}:", name, *(f"{key}={of}" for key, of in other.items())])


def _certificates(settings: Mapping[str, Any], found: Sequence[int | None]) -> dict[str, str]:
    """When an agent that says so was sure of its policies, if it ever was."""
    from statistics import median

    from monmdp.agents import KINDS, AgentConfig

    steps = [step for step in found if step is not None]
    epsilon = settings["parameters"].get("epsilon")
    within = "" if epsilon is None else f" within {epsilon:g}"
    if not steps:
        kind = KINDS.get(settings["agent"], AgentConfig)
        says_so = kind.certified is not AgentConfig.certified
        return {f"certified{within}": "no seed"} if says_so else {}
    seeds = f" (median; {len(steps)} of {len(found)} seeds)" if len(found) > 1 else ""
    return {f"certified{within}": f"after {median(steps):,.0f} steps{seeds}"}


def training(results: Results) -> None:
    """Print what one agent came to."""
    from math import isnan

    from monmdp import drawing
    from monmdp.results.comparison import UNSEEN
    from monmdp.stats import END

    (table,) = results.comparisons
    (row,) = table.rows
    settings, runs, n = row.of.settings, list(results.runs.values()), len(row.of.seeds)
    asked = results.plans[0].resolved[row.of.configuration].configuration
    print(f"{_problem_of(settings)}   {_agent_of(settings, asked)}")
    print(
        f"{plural(n, 'seed')}, {settings['steps']:,} steps, {settings['evaluation']} evaluation "
        f"with discount {settings['gamma']:g}"
    )
    if settings["told_hidden_rewards"]:
        print("an oracle: it is told hidden rewards, as an upper reference")
    print()
    half = (row.end.high - row.end.low) / 2
    end = short(row.end.estimate)
    if not isnan(half):
        end += f" ± {half if half > 1e-12 else 0.0:.3g} (95 % interval over seeds)"
    n_tests = len(runs[0].step)
    tests = f"all {n_tests} tests, the untrained agent's included"
    tests = f"the last {END} tests" if n_tests > END else tests
    facts = {
        "minimax episode return": short(row.of.minimax),
        "end return": f"{end}, mean of {tests}",
    }
    if row.of.counts_on_the_unseen:
        facts["end return in M↓"] = f"{short(row.of.worst)}, rewards nobody can see taken for r_min"
    if row.parts is not None:
        env, monitor = (part.estimate for part in row.parts)
        facts["of the last policy"] = f"rᵉ {short(env)}, rᵐ {short(monitor)}"
    reached = [step for step in row.steps_to_1pct if step is not None]
    until = f"minimax-optimal, and stay so until the last test, at step {runs[0].step[-1]:,}"
    facts["seeds converged"] = f"{len(reached)} of {n}  ({until})"
    if reached:
        median = "never" if row.median_steps is None else f"{row.median_steps:,.0f}"
        facts["steps to 1 %"] = f"median {median}, from {min(reached):,} to {max(reached):,}"
    facts |= _certificates(settings, [run.certified for run in runs])
    last = {name: sum(run.curve[name][-1] for run in runs) / n for name in runs[0].curve}
    seen = last["rewards_seen"]  # NaN where nothing can be seen
    observing = f"{last['observe_episodes']:,.0f} of them to observe"
    facts["observable rewards seen"] = "there are none" if isnan(seen) else f"{100 * seen:.4g} %"
    facts["episodes"] = f"{last['episodes']:,.0f} a seed, {observing}"
    facts["test return"] = drawing.sparkline(sum(run.curve["episode_return"] for run in runs) / n)
    for of in table.references:
        parts = f"(rᵉ {short(of.env_return)}, rᵐ {short(of.monitor_return)})"
        facts[of.name] = f"{short(of.episode_return)}  {parts}"
    print_facts(facts)
    for remark in table.remarks:
        if not remark.startswith(UNSEEN):  # a fact above
            print(remark)


def comparison(table: Comparison) -> None:
    """Print what several agents came to."""
    of, n = table.rows[0].of, len(table.seeds)
    settings = of.settings
    print(_problem_of(settings))
    print(
        f"{n} {'seed' if n == 1 else 'seeds, the same for all'}, {settings['steps']:,} steps, "
        f"{settings['evaluation']} evaluation with discount {settings['gamma']:g}; minimax episode "
        f"return {short(of.minimax)}"
    )
    print(f"\n{table.table()}")
