"""Commands on suites and results: reproduce, run, status, verify, redraw, report."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monmdp.cli.app import AsJson, app, print_table, stoppable, writable
from monmdp.cli.own import Unchecked, check_configurations
from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.results import Evidence, Outcome, Progress, Publication
    from monmdp.results.request import Asked

INTERVAL = 10.0
"""seconds between two lines of progress where the output is no terminal"""

SeedCount = Annotated[
    int | None, typer.Option("--seeds", help="How many seeds.", show_default="what the suite says")
]
Quick = Annotated[
    bool,
    typer.Option(help="Fewer seeds and settings, as the suite has it; no shorter training."),
]
Preset = Annotated[
    str, typer.Option(help="paper, or released: the options of the authors' released code.")
]
Out = Annotated[Path, typer.Option(help="Folder for runs and reports.")]
Jobs = Annotated[int | None, typer.Option(help="Runs at a time.", show_default="all cores")]
ShardOf = Annotated[
    str | None,
    typer.Option(help="i/n: only this part of the runs, so that n machines share the work."),
]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a dask.distributed scheduler that does the runs.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan and an estimate only.")]
Stale = Annotated[
    bool, typer.Option("--stale", help="Do runs again that another version of the code has made.")
]


@app.command()
def reproduce(
    figures: Annotated[
        list[str],
        typer.Argument(metavar="FIGURE...|all", help="figure-3 to figure-13 (or 3 to 13), or all."),
    ],
    seeds: SeedCount = None,
    quick: Quick = False,
    preset: Preset = "paper",
    out: Out = Path("results"),
    jobs: Jobs = None,
    shard: ShardOf = None,
    scheduler: Scheduler = None,
    dry_run: DryRun = False,
    stale: Stale = False,
) -> None:
    """Reproduce figures of the paper, or all of it, and check its claims.

    What is done is kept: killed and started again, the same command does only what is missing.
    """
    from monmdp.results.request import ask_paper

    asked = ask_paper(figures, seeds=_seeds(seeds), quick=quick, preset=preset)
    again = _again(["reproduce", *figures], seeds, quick, preset, out)
    _carry_out(asked, out, jobs, shard, scheduler, dry_run, stale, again)


@app.command()
def run(
    suite: Annotated[
        str,
        typer.Argument(
            help="A TOML file, or a suite that comes with the package: see monmdp list.",
            show_default=False,
        ),
    ],
    seeds: SeedCount = None,
    quick: Quick = False,
    preset: Preset = "paper",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for runs and reports.", show_default="results"),
    ] = None,
    jobs: Jobs = None,
    shard: ShardOf = None,
    scheduler: Scheduler = None,
    dry_run: DryRun = False,
    stale: Stale = False,
    unchecked: Unchecked = False,
) -> None:
    """Run a suite, bundled or your own: worlds x monitors x ρ x agents x seeds, from TOML."""
    from monmdp import suites
    from monmdp.results.request import ask_suite

    asked = ask_suite(suites.find(suite), seeds=_seeds(seeds), quick=quick, preset=preset)
    folder = Path("results") if out is None else out
    words = ["run", suite, *(["--unchecked"] if unchecked else [])]
    again = _again(words, seeds, quick, preset, folder)
    if not (unchecked or dry_run):
        check_configurations(asked.runs().values())
    _carry_out(asked, folder, jobs, shard, scheduler, dry_run, stale, again)


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(help="A folder of results.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Say what is there of what was asked for: done, missing, stale, damaged."""
    from monmdp.results.request import kept
    from monmdp.results.store import parts, strangers, take_inventory

    _demand_results(folder)
    everything, unreadable = kept(folder)
    reports = []
    for asked in everything:
        found = take_inventory(folder, asked.runs())
        reports.append(
            {
                "report": asked.name,
                "runs": len(asked.runs()),
                "there": len(found.there),
                "missing": len(found.missing) - len(found.damaged),
                "stale": len(found.stale),
                "damaged": list(found.damaged.values()),
                "cpu_seconds": sum(found.cpu_seconds.values()),
            }
        )
    idle, foreign = strangers(folder, [key for asked in everything for key in asked.runs()])
    half_written = parts(folder)
    if as_json:
        result = {
            "reports": reports,
            "not_asked_for": [str(path) for path in idle],
            "foreign": [str(path) for path in foreign],
            "half_written": [str(path) for path in half_written],
            "unreadable_requests": unreadable,
        }
        print(json.dumps(result, indent=2))
        return
    lines: list[tuple[str, ...]] = [
        ("report", "runs", "there", "missing", "stale", "damaged", "CPU seconds")
    ]
    for one in reports:
        counts = [f"{one[key]:,}" for key in ("runs", "there", "missing", "stale")]
        damaged = one["damaged"]
        assert isinstance(damaged, list)
        lines.append((str(one["report"]), *counts, str(len(damaged)), f"{one['cpu_seconds']:,.0f}"))
    print_table(lines, right=range(1, 7))
    for one in reports:
        for line in one["damaged"]:  # type: ignore[attr-defined]
            print(f"damaged: {line}")
    for path in foreign:
        print(f"foreign: {path}")
    for path in half_written:
        print(f"half-written, by a runner at work or one that was killed: {path}")
    if idle:
        print(f"not asked for by any report here: {len(idle)} runs")
    for line in unreadable:
        print(f"unreadable request: {line}")
    if foreign or any(one["damaged"] for one in reports):
        print(f"the next run in {folder} sets damaged and foreign files aside")


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="A folder of results.", show_default=False)],
    sample: Annotated[int, typer.Option(help="How many runs to do again.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the choice of runs.")] = 0,
) -> None:
    """Do some runs again and compare them with what is there, byte by byte."""
    from monmdp.model.mdp import whole_number
    from monmdp.results.request import kept
    from monmdp.results.verify import verify_runs

    _demand_results(folder)
    whole_number(sample, "--sample", at_least=1)
    runs = {key: of for asked in kept(folder)[0] for key, of in asked.runs().items()}
    differing = 0
    checked = 0
    for result in verify_runs(folder, runs, sample, seed):
        checked += 1
        differing += not result.same
        print(f"{'same     ' if result.same else 'DIFFERENT'}  {result.path}  {result.remark}")
    if not checked:
        raise MonMDPError(f"{folder}: there are no runs that a report here has asked for")
    print(f"{checked - differing} of {checked} runs are the same to the byte")
    if differing:
        raise typer.Exit(1)


@app.command()
def redraw(
    path: Annotated[
        Path, typer.Argument(help="A folder of results, or a summary.parquet.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for figures and claims.",
            show_default="the reports of the folder; for a file, a folder beside it",
        ),
    ] = None,
) -> None:
    """Draw figures and check claims again, from runs or from their summary; trains nothing."""
    from monmdp.results import publish
    from monmdp.results.evidence import load
    from monmdp.results.request import kept
    from monmdp.results.store import shard_path

    if path.is_dir():
        _demand_results(path)
        everything, unreadable = kept(path)
        for line in unreadable:
            print(f"unreadable request: {line}", file=sys.stderr)
        if unreadable:
            print("(a suite with a module of yours is read in the folder where that is)")
        if not everything:
            raise MonMDPError(f"{path}: nothing to draw, no report was asked for here")
        for asked in everything:
            runs = asked.runs()
            there = sum(shard_path(path, *key).exists() for key in runs)
            print(f"{asked.name}: {there:,} of {len(runs):,} runs are there")
            place = asked.folder(path) if out is None else out / asked.name
            _print_report(publish(place, _gathered(asked, path)))
        return
    evidence = load(path)
    _print_report(publish(path.with_suffix("") if out is None else out, evidence))


@app.command()
def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Folders of results, of reproduce, run, train or compare.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The HTML file.", show_default="report.html in the folder"
        ),
    ] = None,
) -> None:
    """Write one HTML file to look at: claims, curves, tables, and the inside of runs.

    Whatever is there is reported on; what is missing or damaged is named. Runs of train with
    --snapshots can be looked into.
    """
    from monmdp.report import write_page

    path = folders[0] / "report.html" if out is None else writable(out, "--out", ".html", ".htm")
    made = write_page(folders, path)
    for remark in (*made.remarks, *(r for chapter in made.chapters for r in chapter.remarks)):
        print(f"note: {remark}", file=sys.stderr)
    settings = sum(len(chapter.settings) for chapter in made.chapters)
    runs = sum(chapter.there for chapter in made.chapters)
    inside = f", {len(made.explorers)} to look into" if made.explorers else ""
    size = path.stat().st_size / 1e6
    print(f"{runs:,} runs, {settings:,} settings{inside}")
    print(f"report: {path}  ({size:.1f} MB)")


# ---- what the commands share ----------------------------------------------------------------


def _gathered(asked: Asked, folder: Path) -> Evidence:
    """Sum up runs; those that are damaged are named and left out."""
    from monmdp.experiment.provenance import provenance
    from monmdp.results import gather

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evidence = gather(folder, asked.plans, provenance())
    for warning in caught:
        print(f"left out: {warning.message}", file=sys.stderr)
    return evidence


def _seeds(seeds: int | None) -> int | None:
    from monmdp.model.mdp import whole_number

    return None if seeds is None else whole_number(seeds, "--seeds", at_least=1)


def _demand_results(folder: Path) -> None:
    if not (folder / "reports").is_dir() and not (folder / "runs").is_dir():
        raise MonMDPError(f"{folder}: there are no results here")


def _again(words: list[str], seeds: int | None, quick: bool, preset: str, out: Path) -> str:
    """The command line that goes on, or puts shards together."""
    words = ["monmdp", *words, *(["--seeds", str(seeds)] if seeds else [])]
    words += [*(["--quick"] if quick else []), *(["--preset", preset] if preset != "paper" else [])]
    return shlex.join([*words, "--out", str(out)])


def _shard(text: str | None) -> tuple[int, int] | None:
    """Read ``i/n``."""
    if text is None:
        return None
    first, slash, second = text.partition("/")
    if not (slash and first.isdigit() and second.isdigit() and 1 <= int(first) <= int(second)):
        raise MonMDPError(f"--shard {text!r}: write i/n with 1 ≤ i ≤ n, such as 1/4")
    return int(first), int(second)


def _carry_out(
    asked: Asked,
    out: Path,
    jobs: int | None,
    shard_text: str | None,
    scheduler: str | None,
    dry_run: bool,
    stale: bool,
    again: str,
) -> None:
    """Run what is missing, then report."""
    from monmdp.model.mdp import whole_number
    from monmdp.results import execute, publish
    from monmdp.results.request import keep
    from monmdp.results.runner import belongs

    shard = _shard(shard_text)
    if jobs is not None:
        whole_number(jobs, "--jobs", at_least=1)
    runs = asked.runs()
    if dry_run:
        _print_plan(asked, out, jobs, shard, stale)
        return
    if keep(asked, out):
        folder = asked.folder(out)
        print(f"{folder} was the report of another suite of this name; its runs stay, it goes")
    options = {"--jobs": jobs, "--shard": shard_text, "--scheduler": scheduler}
    words = [f"{key} {value}" for key, value in options.items() if value is not None]
    go_on = " ".join([again, *words, *(["--stale"] if stale else [])])
    with stoppable(), _resumable(go_on):
        with _on_record(
            asked, out, {"jobs": jobs, "shard": shard_text, "scheduler": scheduler}
        ) as tell:
            outcome = execute(
                out, runs, jobs=jobs, shard=shard, scheduler=scheduler, stale=stale, tell=tell
            )
        _print_outcome(outcome, again)
        if shard is not None:
            left = sum(not belongs(key, shard) for key in runs)
            print(f"shard {shard_text} is done; {left:,} runs belong to other shards.")
            print(f"When all are done (copied together, if need be): {again}")
        else:
            _print_report(publish(asked.folder(out), _gathered(asked, out)))
    if outcome.failures:
        raise typer.Exit(1)


@contextmanager
def _on_record(
    asked: Asked, out: Path, options: Mapping[str, object]
) -> Iterator[Callable[[Progress], None]]:
    """Show progress; however the work ends, put on record how far it came and how long it took."""
    from monmdp.experiment.provenance import commit, now
    from monmdp.experiment.seeds import cores
    from monmdp.experiment.sessions import log_session

    latest: Progress | None = None

    def tell(progress: Progress) -> None:
        nonlocal latest
        latest = progress
        show(progress)

    try:
        with _shown_progress() as show:
            yield tell
    finally:
        if latest is not None and latest.done:
            session = {
                "ended": now(),
                "runs": latest.done,
                "steps": latest.steps,
                "wall_seconds": latest.seconds,
                "cpu_seconds_of_process": latest.cpu_seconds,
                **options,
                "jobs": options["jobs"] or cores(),
                "commit": commit(),
            }
            with suppress(MonMDPError):  # a full disk has its own word
                log_session(asked.folder(out), session)


@contextmanager
def _resumable(go_on: str) -> Iterator[None]:
    """Whatever stops the work, say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"\ninterrupted; what is finished is kept. To go on: {go_on}", file=sys.stderr)
        raise typer.Exit(130) from None
    except MonMDPError as error:
        raise MonMDPError(f"{error}\nwhat is finished is kept. To go on: {go_on}") from None


@contextmanager
def _shown_progress() -> Iterator[Callable[[Progress], None]]:
    """One line that changes on a terminal, else a line now and then."""
    terminal = sys.stderr.isatty()
    last = time.monotonic() - INTERVAL + 2.0  # the first line comes after two seconds

    def tell(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if not progress.done:
            to_do = progress.total - progress.there
            if to_do:
                hint = "the first time, compiling takes half a minute"
                print(f"{to_do:,} of {progress.total:,} runs to do; {hint}", file=sys.stderr)
            return
        if now - last < (0.2 if terminal else INTERVAL):
            return
        last = now
        text = _in_words(progress)
        if terminal:
            print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    yield tell
    if terminal:
        print(f"\r{'':<78}\r", end="", file=sys.stderr, flush=True)


def _in_words(progress: Progress) -> str:
    left = progress.seconds_left if progress.seconds > 5 else None
    rate = progress.steps / max(progress.seconds, 1e-9)
    shown = "" if left is None else f"  {_duration(left)} left"
    done = progress.there + progress.done
    return f"{done:,}/{progress.total:,} runs  {rate:,.0f} steps/s{shown}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _print_plan(
    asked: Asked, out: Path, jobs: int | None, shard: tuple[int, int] | None, stale: bool
) -> None:
    from monmdp.experiment.seeds import cores
    from monmdp.results.runner import belongs, estimate
    from monmdp.results.store import take_inventory

    lines: list[tuple[str, ...]] = [
        ("figure", "configurations", "runs", "there", "to do", "CPU seconds, about")
    ]
    all_runs = {key: of for key, of in asked.runs().items() if belongs(key, shard)}
    found = take_inventory(out, all_runs)
    there, all_to_do = set(found.there), {*found.missing, *(found.stale if stale else ())}
    costs = {key: estimate(all_runs[key]) for key in all_to_do}
    for plan in asked.plans:
        runs = [key for key in plan.runs() if key in all_runs]
        to_do = [key for key in runs if key in all_to_do]
        cost = sum(costs[key] for key in to_do)
        counts = (len({name for name, _ in runs}), len(runs), len(there & set(runs)), len(to_do))
        lines.append((plan.suite.name, *(f"{n:,}" for n in counts), f"{cost:,.0f}"))
    print_table(lines, right=range(1, 6))
    n, total = cores() if jobs is None else jobs, sum(costs.values())
    print(
        f"runs that several figures share are done once: {len(all_to_do):,} to do, about "
        f"{total:,.0f} CPU seconds, {_duration(total / n)} with {n} job{'s' if n > 1 else ''}; "
        "compiling takes a minute more, once"
    )


def _print_outcome(outcome: Outcome, again: str) -> None:
    progress, found = outcome.progress, outcome.inventory
    for path in outcome.aside:
        print(f"set aside: {path}")
    if progress.done:
        print(
            f"{progress.done:,} runs in {_duration(progress.seconds)}, {progress.steps:,} steps, "
            f"{progress.cpu_seconds:,.0f} CPU seconds with compiling and writing; "
            f"{progress.there:,} were there already"
        )
    elif progress.total:
        print(f"all {progress.total:,} runs are there")
    redone = progress.total - progress.there - len(found.missing)
    if found.stale and not redone:
        names = sorted({name for name, _ in found.stale})
        shown = "\n  ".join(names[:10] + (["…"] if len(names) > 10 else []))
        print(
            f"stale: {len(found.stale)} runs were made by another version of the code:\n  {shown}"
        )
        print(f"They are used as they are. To do them again: {again} --stale")
    for key, reason in list(outcome.failures.items())[:10]:
        print(f"failed: {key[0]}, seed {key[1]}: {reason}", file=sys.stderr)
    if outcome.failures:
        print(f"{len(outcome.failures)} runs failed", file=sys.stderr)


def _print_report(report: Publication) -> None:
    if report.cpu_total:
        print()
        lines = [("figure", "CPU seconds")]
        lines += [(name, f"{seconds:,.1f}") for name, seconds in report.cpu.items() if seconds]
        lines.append(("all, shared runs once", f"{report.cpu_total:,.1f}"))
        print_table(lines, right=(1,))
    for claim in (*report.claims, *report.targets):
        print(f"\n{claim.name}  {claim.verdict.value.upper()}  {claim.text}")
        for part in claim.parts:
            text = f"{part.verdict.value}: {part.text}: {part.measured}"
            text += f". Also: {part.also}" if part.also else ""
            print(textwrap.fill(text, 100, initial_indent="    - ", subsequent_indent="      "))
    print()
    for path in report.pictures:
        print(f"picture: {path}")
    if report.claims:
        print(f"claims: {report.folder / 'claims.md'}")
    if report.targets:
        print(f"targets: {report.folder / 'targets.md'}")
    if report.cpu_total:
        print(f"statistics: {report.folder / 'statistics.md'}")
        print(f"steps: {report.folder / 'steps.md'}")
