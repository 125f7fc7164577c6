"""Commands on results: status, verify, redraw, report. They train nothing, but for verify."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from monmdp.cli import printing
from monmdp.cli.app import AsJson, Axes, app, print_json, print_table, writable
from monmdp.errors import MonMDPError
from monmdp.files import read_whole

MADE_BY_US = b'<meta name="generator" content="monmdp '
Results = Annotated[Path, Argument(help="A folder of results.", show_default=False)]


TrustModules = Annotated[
    str,
    Option(
        help="Modules, with commas between them, that names in the folder may be imported from.",
        show_default="none: no code is run",
    ),
]


def _modules(text: str) -> list[str]:
    from monmdp.naming import demand_modules

    names = [word.strip() for word in text.split(",") if word.strip()]
    demand_modules(names)
    return names


@app.command()
def status(folder: Results, trust_modules: TrustModules = "", as_json: AsJson = False) -> None:
    """Show which runs are done, missing, stale or damaged.

    Whether runs of agents of your own are stale is only checked if you trust their modules.
    """
    from monmdp.results.request import understood
    from monmdp.results.store import parts, strangers, take_inventory
    from monmdp.tables import plural

    _demand_results(folder)
    trusted = _modules(trust_modules)
    requests, unreadable = understood(folder)
    reports: list[dict[str, Any]] = []
    for request in requests:
        found = take_inventory(folder, request.runs(trusted))
        reports.append(
            {
                "report": request.name,
                "runs": len(request.runs()),
                "there": len(found.there),
                "missing": len(found.missing) - len(found.damaged),
                "stale": len(found.stale),
                "not_checked": len(found.unchecked),
                "damaged": list(found.damaged.values()),
                "unreadable": list(found.unreadable.values()),
                "cpu_seconds": sum(found.cpu_seconds.values()),
            }
        )
    idle, foreign = strangers(folder, [key for request in requests for key in request.runs()])
    result: dict[str, list[Any]] = {
        "reports": reports,
        "not_asked_for": [str(path) for path in idle],
        "foreign": [str(path) for path in foreign],
        "half_written": [str(path) for path in parts(folder)],
        "unreadable_requests": unreadable,
    }
    if as_json:
        print_json(result)
        return
    counted = ("runs", "there", "missing", "stale")
    lines = [
        (one["report"], *(one[key] for key in counted), len(one["damaged"]), one["cpu_seconds"])
        for one in reports
    ]
    print_table(["report"], [*counted, "damaged", "CPU seconds"], lines)
    # several reports may share a run
    damaged, locked = (
        dict.fromkeys(line for one in reports for line in one[key])
        for key in ("damaged", "unreadable")
    )
    told = {
        "damaged": damaged,
        "unreadable": locked,
        "foreign": foreign,
        "half-written, by a runner at work or one that was killed": result["half_written"],
        "not asked for by any report here": [plural(len(idle), "run")] if idle else [],
        "unreadable request": unreadable,
    }
    for what, lines_of in told.items():
        for line in lines_of:
            print(f"{what}: {line}")
    if damaged:
        print(f"the next run in {folder} sets damaged files aside and does these runs again")
    unchecked = sum(one["not_checked"] for one in reports)
    if unchecked:
        print(
            f"not checked for being stale: {plural(unchecked, 'run')} of agents that are not of "
            "this package (--trust-modules)"
        )


@app.command()
def verify(
    folder: Results,
    trust_modules: TrustModules = "",
    sample: Annotated[int, Option(help="How many runs to do again.")] = 10,
    seed: Annotated[int, Option(help="Of the choice of runs.")] = 0,
) -> None:
    """Do some runs again and compare them with what is there, byte by byte."""
    from monmdp.model.mdp import whole_number
    from monmdp.results.request import understood
    from monmdp.results.verify import verify_runs

    _demand_results(folder)
    whole_number(sample, "--sample", at_least=1)
    runs = {key: of for request in understood(folder)[0] for key, of in request.runs().items()}
    verdicts = {True: "same     ", False: "DIFFERENT", None: "not done "}
    seen: list[bool | None] = []
    for result in verify_runs(folder, runs, sample, seed, _modules(trust_modules)):
        seen.append(result.same)
        print(f"{verdicts[result.same]}  {result.path}  {result.remark}", flush=True)
    if not seen:
        raise MonMDPError(f"{folder}: there are no runs that a report here has asked for")
    not_done = f"; {seen.count(None)} could not be done again" if None in seen else ""
    print(f"{seen.count(True)} of {len(seen)} runs are the same to the byte{not_done}")
    if not all(seen):
        raise typer.Exit(1)


@app.command()
def redraw(
    path: Annotated[
        Path, Argument(help="A folder of results, or a summary.parquet.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        Option(
            help="Folder for figures and claims.",
            show_default="the reports of the folder; for a file, a folder beside it",
        ),
    ] = None,
    axes: Axes = "stated",
    trust_modules: TrustModules = "",
) -> None:
    """Draw figures and check claims again, from runs or from their summary; trains nothing."""
    from monmdp.experiment.provenance import provenance
    from monmdp.results import publish
    from monmdp.results.evidence import LeftOutWarning, gather_kept, load
    from monmdp.results.figures import checked_extent
    from monmdp.results.request import kept

    extent = checked_extent(axes)
    if not path.is_dir():
        printing.report(publish(path.with_suffix("") if out is None else out, load(path), extent))
        return
    _demand_results(path)
    drawn, trusted = 0, _modules(trust_modules)
    for request in kept(path):
        try:
            asked = request.parsed()
        except MonMDPError as error:
            print(f"unreadable request: {error}", file=sys.stderr)
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = provenance() | {"request": request.hash}
            evidence = gather_kept(asked.figures, asked.settings, path, made, trusted=trusted)
        for warning in caught:
            word = "left out" if issubclass(warning.category, LeftOutWarning) else "note"
            print(f"{word}: {warning.message}", file=sys.stderr)
        there = sum(len(of.seeds) for of in evidence.aggregates.values())
        print(f"{asked.name}: {there:,} of {len(asked.runs()):,} runs are there")
        if not there:
            print(f"{asked.name}: its report is left as it was", file=sys.stderr)
            continue
        drawn += 1
        place = request.folder if out is None else out / asked.name
        within = path if out is None else out
        printing.report(publish(place, evidence, extent, within=within))
    if not drawn:
        why = "has runs that can be read" if kept(path) else "was asked for"
        raise MonMDPError(f"{path}: nothing to draw, no report here {why}")


@app.command()
def report(
    folders: Annotated[
        list[Path], Argument(metavar="DIR", help="Folders of results.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="The HTML file.", show_default="report.html in the folder"),
    ] = None,
    trust_modules: TrustModules = "",
) -> None:
    """Write one HTML file to look at: claims, curves, tables, and the inside of runs.

    Whatever is there is reported on; what is missing or damaged is named. Runs made with
    --snapshots can be looked into.
    """
    from monmdp.api import write_report
    from monmdp.tables import plural

    path = folders[0] / "report.html" if out is None else writable(out, "--out", ".html", ".htm")
    if out is None and path.is_file() and MADE_BY_US not in read_whole(path):
        raise MonMDPError(f"{path} is none of our reports; name another file with --out")
    made = write_report(folders, path, trust=_modules(trust_modules))
    notes = [*made.remarks]
    for chapter in made.chapters:
        of = f"{chapter.title}: " if len(made.chapters) > 1 else ""
        notes += [f"{of}{remark}" for remark in chapter.remarks]
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    settings = sum(len(chapter.settings) for chapter in made.chapters)
    inside = f", {len(made.explorers)} to look into" if made.explorers else ""
    print(f"{plural(made.runs, 'run')}, {plural(settings, 'setting')}{inside}")
    print(f"report: {path}  ({path.stat().st_size / 1e6:.1f} MB)")


def _demand_results(folder: Path) -> None:
    from monmdp.results.store import refuse_old

    if not folder.is_dir():
        what = "is a file; give the folder" if folder.exists() else "no such folder"
        raise MonMDPError(f"{folder}: {what}")
    refuse_old(folder)
    if not (folder / "reports").is_dir() and not (folder / "runs").is_dir():
        inner = {"runs", "reports"}.intersection(of.name for of in (folder, *folder.parents)[:2])
        hint = "; give the folder that it lies in" if inner else ""
        raise MonMDPError(f"{folder}: there are no results here{hint}")
