"""What the commands that do runs print."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monmdp.cli.app import print_table, short
from monmdp.tables import plural

if TYPE_CHECKING:
    from monmdp.api import Results
    from monmdp.results import Comparison, Outcome, Publication
    from monmdp.results.request import Request
    from monmdp.stats import Interval


def again() -> str:
    """The command line that goes on."""
    return shlex.join(["monmdp", *sys.argv[1:]])


def duration(seconds: float) -> str:
    """Return seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_plan(
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


def print_outcome(outcome: Outcome) -> None:
    """Print what a runner did."""
    progress, found = outcome.progress, outcome.inventory
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


def print_report(report: Publication) -> None:
    """Print what a report says, and where it is."""
    if report.cpu_total:
        print()
        lines = [(name, seconds) for name, seconds in report.cpu.items() if seconds]
        lines.append(("all, shared runs once", report.cpu_total))
        print_table(["figure"], ["CPU seconds"], lines)
    for claim in report.claims:
        about = f"{claim.about}: " if claim.about else ""
        print(f"\n{claim.name}  {about}{claim.headline}")
        for of in claim.sentences:
            said = f"{of.verdict.value.upper()}: “{of.says}”"
            found = f"{of.measured}. {of.how}"
            for text, indent in ((said, "    - "), (found, "      ")):
                print(textwrap.fill(text, 100, initial_indent=indent, subsequent_indent="      "))
    print()
    for path in report.pictures:
        print(f"picture: {path}")
    if report.claims:
        print(f"claims: {report.folder / 'claims.md'}")
    if report.cpu_total:
        print(f"statistics: {report.folder / 'statistics.md'}")
        print(f"steps: {report.folder / 'steps.md'}")


def print_json(told: Mapping[str, Any], results: Results, preset: str) -> None:
    """Print one JSON object, with where the files are."""
    assert results.report is not None
    where = {"out": str(results.folder), "report": str(results.report.folder)}
    seconds = results.outcome.progress.seconds
    print(json.dumps({**told, **where, "preset": preset, "seconds": seconds}, indent=2))


def print_files(results: Results) -> None:
    """Print where runs, report and picture are."""
    assert results.report is not None
    progress, runs = results.outcome.progress, results.outcome.progress.total
    there = f", {progress.there} already there" if progress.there else ""
    counted = f"{plural(runs, 'run')}{there}"
    print(f"runs                     {results.folder}/runs  ({counted})")
    print(f"report                   {results.report.folder}")
    for path in results.report.pictures[:1]:
        print(f"picture                  {path}")


def _problem_of(settings: Mapping[str, Any]) -> str:
    """World and monitor with the parameters that make a difference."""
    from monmdp.suites.configuration import unusual_parameters

    given = unusual_parameters(settings)
    parameters = "".join(f"  {key.partition('.')[2]}={value}" for key, value in given.items())
    return f"{settings['world']} / {settings['monitor']}{parameters}"


def _steps(of: float | None) -> str:
    return "never" if of is None else f"{of:,.0f}"


def print_training(results: Results) -> None:
    """Print what one agent came to."""
    from math import isnan

    from monmdp import drawing
    from monmdp.stats import END

    (table,) = results.comparisons
    (row,) = table.rows
    settings, runs, n = row.of.settings, list(results.runs.values()), len(row.of.seeds)
    own = dict(results.plans[0].resolved[row.of.configuration].configuration.of_agent)
    of_agent = "".join(f" {key}={value}" for key, value in own.items())
    print(f"{_problem_of(settings)}   {settings['agent']}{of_agent}")
    print(f"{plural(n, 'seed')}, {settings['steps']:,} steps, {settings['evaluation']} evaluation")
    if settings["told_hidden_rewards"]:
        print("an oracle: it is told hidden rewards, as an upper reference")
    print()
    print(f"minimax episode return   {short(row.of.minimax)}")
    over = " (95 % interval over seeds)" if n > 1 else ""
    n_tests = len(runs[0].step)
    tests = f"all {n_tests} tests, the untrained agent's included"
    tests = f"the last {END} tests" if n_tests > END else tests
    print(f"end return               {_plus_minus(row.end)}{over}, mean of {tests}")
    if row.parts is not None:
        env, monitor = (part.estimate for part in row.parts)
        print(f"of the last policy       rᵉ {short(env)}, rᵐ {short(monitor)}")
    reached = [step for step in row.steps_to_1pct if step is not None]
    print(f"seeds converged          {len(reached)} of {n}  (minimax-optimal, and stay so)")
    if reached:
        print(
            f"steps to 1 %             median {_steps(row.median_steps)}, "
            f"from {min(reached):,} to {max(reached):,}"
        )
    last = {name: sum(run.curve[name][-1] for run in runs) / n for name in runs[0].curve}
    seen = last["rewards_seen"]  # NaN where nothing can be seen
    print(f"observable rewards seen  {'there are none' if isnan(seen) else f'{100 * seen:.4g} %'}")
    print(
        f"episodes                 {last['episodes']:,.0f} a seed, "
        f"{last['observe_episodes']:,.0f} of them to observe"
    )
    mean = sum(run.curve["episode_return"] for run in runs) / n
    print(f"test return              {drawing.sparkline(mean)}")
    for of in table.references:
        print(
            f"{of.name:<24} {short(of.episode_return)}  "
            f"(rᵉ {short(of.env_return)}, rᵐ {short(of.monitor_return)})"
        )
    for remark in table.remarks:
        print(remark)


def print_comparison(table: Comparison) -> None:
    """Print what several agents came to."""
    of, n = table.rows[0].of, len(table.seeds)
    settings = of.settings
    print(_problem_of(settings))
    print(
        f"{n} {'seed' if n == 1 else 'seeds, the same for all'}, {settings['steps']:,} steps, "
        f"{settings['evaluation']} evaluation with discount {settings['gamma']:g}; minimax episode "
        f"return {short(of.minimax)}"
    )
    print()
    print(table.table().to_text())


def _plus_minus(interval: Interval) -> str:
    """A mean with half of its interval, if there is one."""
    half = (interval.high - interval.low) / 2
    if half != half:
        return f"{interval.estimate:.6g}"
    return f"{interval.estimate:.6g} ± {half if half > 1e-12 else 0.0:.3g}"
