"""Write docs/results.md from the reports of `monmdp reproduce`: claims, figures, findings, times.

    monmdp reproduce all --out results
    monmdp reproduce figure-4 figure-6 figure-9 figure-10 --preset released --out results
    monmdp run benchmarks/findings.toml --out results
    python benchmarks/results.py results

Copies the figures and the summaries beside it, into docs/results/. Every number in the text is read
from the reports.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from monmdp.results import Claim, check_claims, evidence
from monmdp.results.claims import Verdict
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.request import read_sessions
from monmdp.results.scores import AGENTS, suite_table
from monmdp.results.verdicts import measured
from monmdp.suites import Figure, Panel
from monmdp.tables import Column, Table, TableRow, render, share

DOCS = Path(__file__).parent.parent / "docs"
REPORTS = {
    "paper": "all",
    "released": "figure-4+figure-6+figure-9+figure-10-released",
    "findings": "findings",
}
PRESETS = ("paper", "released")
OURS, KNOWN, RIVAL = "monitored-mbie-eb", "known-monitor", "directed-e2"
CAPTIONS = {
    4: "Discounted return at test time: River Swim with the Full monitor, Bottleneck with a Button "
    "that shows rewards always (b) or one time in twenty (c, d).",
    5: "Visits a test episode, Bottleneck with the 5 % Button: to the goal, and to ⊥ cells.",
    6: "The 48 benchmarks.",
    9: "Bottleneck with six monitors, against a Directed-E² that starts pessimistic.",
    10: "The same when rewards are shown with chance 80 %, 20 % and 5 %.",
    11: "The same with the monitor known.",
    12: "MBIE-EB, optimistic about rewards it has never seen: solvable and not.",
    13: "Pessimistic MBIE-EB, which does not explore to observe.",
}


def main() -> None:
    """Copy what is shown and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="folder of results")
    parser.add_argument("--docs", type=Path, default=DOCS)
    args = parser.parse_args()
    folders = {preset: args.results / "reports" / name for preset, name in REPORTS.items()}
    place = args.docs / "results"
    place.mkdir(parents=True, exist_ok=True)
    for preset, folder in folders.items():
        shutil.copyfile(folder / "summary.parquet", place / f"{preset}.parquet")
        if preset not in PRESETS:
            continue
        about = json.loads((folder / "claims.json").read_text())["about"]
        about["sessions"] = read_sessions(folder)
        (place / f"{preset}.json").write_text(json.dumps(about, indent=2) + "\n")
    for number in CAPTIONS:
        shutil.copyfile(folders["paper"] / f"figure-{number}.png", place / f"figure-{number}.png")
    for name in ("figure-6-profiles", "figure-10-profiles"):
        shutil.copyfile(folders["paper"] / f"{name}.png", place / f"{name}.png")
    (args.docs / "results.md").write_text(page(place), encoding="utf-8")


def page(place: Path) -> str:
    """Return the page, from the summaries and their `about` files."""
    known = {preset: evidence.load(place / f"{preset}.parquet") for preset in REPORTS}
    about = {preset: json.loads((place / f"{preset}.json").read_text()) for preset in PRESETS}
    paper, sessions = known["paper"], about["paper"]["sessions"]
    figures = {figure.name: figure for figure in paper.figures}
    claims = {preset: {c.name: c for c in check_claims(known[preset])} for preset in PRESETS}
    parts = {name: claim.parts for name, claim in claims["paper"].items()}
    whole = sum(session["runs"] for session in sessions) >= about["paper"]["runs"]
    four = figures["figure-4"].grids
    always, seldom = (_of(paper, grid.rows[0][0], RIVAL) for grid in four[1:3])
    return render(
        "results.md.j2",
        Path(__file__).parent / "templates",
        about=about,
        minutes=sum(session["wall_seconds"] for session in sessions) / 60 if whole else None,
        claims=_claims(claims),
        parts=parts,
        fails=lambda *needed: all(part.verdict is Verdict.NOT for part in needed),
        worse=[check.setting for check in parts["C4"][1].checks if check.verdict is Verdict.NOT],
        losses=_losses(paper, figures["figure-6"]),
        always=always,
        seldom=seldom,
        overall=_over_problems(known),
        figures=CAPTIONS,
        times=_times(about),
        **_areas(paper, figures["figure-9"]),
        **_growth(paper, figures["figure-11"]),
        **_ablations(paper, figures["figure-12"], figures["figure-13"], known["findings"]),
    )


def _claims(claims: dict[str, dict[str, Claim]]) -> Table:
    """The claims with both presets, side by side."""
    columns = ("claim", "preset paper", "verdict", "preset released", "verdict")
    rows: list[TableRow] = []
    for name, claim in claims["paper"].items():
        both = [of for of in (claim, claims["released"].get(name)) if of is not None]
        verdicts = [cell for of in both for cell in ("", of.verdict.value)]
        rows.append(TableRow(_padded([f"{name}: {claim.text}", *verdicts]), is_heading=True))
        for i, part in enumerate(claim.parts):
            data = [of.to_dict()["parts"][i] for of in both]
            cells = [cell for of in data for cell in (measured(of), of["verdict"])]
            rows.append(TableRow(_padded([part.text, *cells], "not run")))
    return Table.of(columns, rows)


def _padded(cells: list[str], word: str = "") -> list[str]:
    """Cells of a claim that was checked with the preset paper alone."""
    return cells if len(cells) == 5 else [*cells, word, ""]


def _of(known: Evidence, panel: Panel, agent: str) -> Aggregate:
    found = known.of(panel[agent])
    assert found is not None
    return found


def _steps(of: Aggregate) -> int | None:
    return of.steps_to_v if of.reaches_v else None


def _columns(names: Iterable[str], measure: str, form: str) -> list[Column]:
    missing = "never"
    return [Column(f"{measure}, {name}", form=form, missing=missing) for name in names]


def _areas(known: Evidence, figure: Figure) -> dict[str, Any]:
    """Figure 9 by areas, by areas without the first tenth of the tests, and by steps-to-v."""
    rows, first = [], []
    for panel in figure.panels():
        pair = [_of(known, panel, agent) for agent in (OURS, RIVAL)]
        first.append(pair[0].first["episode_return"].mean())
        areas = [of.area.mean() for of in pair] + [of.late_area.mean() for of in pair]
        rows.append([panel.monitor, *areas, *map(_steps, pair)])
    names = ("Monitored MBIE-EB", "Directed-E²")
    columns = ["figure 9", *_columns(names, "area", ".3f")]
    columns += _columns(names, "area without the first tenth", ".3f")
    columns += _columns(names, "steps-to-v", ",.0f")
    return {"comparison": Table.of(columns, rows), "first": float(np.mean(first))}


def _losses(known: Evidence, figure: Figure) -> list[str]:
    """Benchmarks where fewer seeds of Monitored MBIE-EB become optimal than of Directed-E²."""
    counts = [
        (panel, *(int(_of(known, panel, agent).optimal.sum()) for agent in (OURS, RIVAL)))
        for panel in figure.panels()
    ]
    return [f"{of.world}/{of.monitor} {a} against {b}" for of, a, b in counts if a < b]


def _growth(known: Evidence, figure: Figure) -> dict[str, Any]:
    """Figure 11: steps-to-v with the monitor known and unknown, as ρ falls."""
    panels = figure.grids[0].rows
    growth: dict[str, list[float]] = {OURS: [], KNOWN: []}
    rows = []
    for of_monitor in zip(*panels, strict=True):
        for agent, name in ((OURS, "unknown"), (KNOWN, "known")):
            runs = [_of(known, panel, agent) for panel in of_monitor]
            rows.append([of_monitor[0].monitor, name, *map(_steps, runs)])
            growth[agent].append(runs[2].steps_to_v / runs[0].steps_to_v)
    columns = [Column(of, form=",.0f", missing="never") for of in ("80 %", "20 %", "5 %")]
    table = Table.of(("steps-to-v", "monitor", *columns), rows)
    return {"growth": table, "unknown": growth[OURS], "told": growth[KNOWN]}


def _ablations(
    known: Evidence, twelve: Figure, thirteen: Figure, findings: Evidence
) -> dict[str, Any]:
    """Figures 12 and 13 where everything can be seen, and the same with Q_opt-init = 1."""
    grids = (twelve.grids[0], thirteen.grids[0], findings.figures[0].grids[0])
    rows, never, distances = [], [], []
    for one, other, third in zip(*(grid.rows[0] for grid in grids), strict=True):
        runs = [
            _of(known, one, OURS), _of(known, one, "mbie-eb"),
            _of(known, other, "pessimistic-mbie-eb"), _of(findings, third, "mbie-eb"),
            _of(findings, third, "pessimistic-mbie-eb"),
        ]  # fmt: skip
        never += [] if runs[3].reaches_v else [one.monitor]
        rows.append([one.monitor, *(cell for of in runs for cell in (of.area.mean(), _steps(of)))])
    for grid, agent in ((grids[0], "mbie-eb"), (grids[1], "pessimistic-mbie-eb")):
        for panel in (panel for row in grid.rows for panel in row):
            of = _of(known, panel, agent)
            distances.append(abs(of.end["episode_return"].mean() - of.minimax))
    names = ["Monitored MBIE-EB", "MBIE-EB", "pessimistic MBIE-EB"]
    names += [f"{name}, Q_opt-init = 1" for name in names[1:]]
    columns: list[Column | str] = ["solvable Bottleneck"]
    for name in names:
        columns += [*_columns([name], "area", ".3f"), *_columns([name], "steps-to-v", ",.0f")]
    return {"ablations": Table.of(columns, rows), "never": never, "furthest": max(distances)}


def _over_problems(known: dict[str, Evidence]) -> Table:
    """The agents of all figures over their problems."""
    columns = [replace(of, form=of.form or ".3g") if of.is_number else of for of in AGENTS]
    rows = []
    for preset in PRESETS:
        for figure in known[preset].figures:
            table = suite_table(figure, known[preset])
            for row in table.rows if table is not None else ():
                spans = (row.iqm_end, row.iqm_area, row.improvement)
                runs = (share(row.optimal, row.runs), row.median_steps, row.mean_steps)
                rows.append((preset, figure.name[7:], row.agent, *spans, *runs))
    return Table.of(("preset", "figure", *columns), rows).without("mean steps")


def _times(about: dict[str, Any]) -> Table:
    """How long the runs took, on what, and which code made them."""
    both = (about["paper"], about["released"])
    rows = [
        ["runs", *(f"{of['runs']:,}" for of in both)],
        ["CPU seconds of all runs", *(f"{of['cpu_seconds']:,.0f}" for of in both)],
    ]
    for figure, seconds in both[0]["cpu_seconds_by_figure"].items():
        other = both[1]["cpu_seconds_by_figure"].get(figure)
        if seconds:
            rows.append(
                [f"of these, {figure}", f"{seconds:,.0f}", f"{other:,.0f}" if other else "–"]
            )
    rows += [
        [
            "sessions: runs, wall seconds, CPU seconds with compiling and writing, jobs",
            *("; ".join(map(_session, of["sessions"])) for of in both),
        ],
        ["machine", *("{processor}, {cores} cores".format(**of["machine"]) for of in both)],
        ["versions", *(", ".join(f"{k} {v}" for k, v in of["versions"].items()) for of in both)],
        ["commit", *(", ".join(of["commits"]) for of in both)],
    ]
    for name in sorted({name for of in both for name in of["kernels"]}):
        hashes = [", ".join(of["kernels"].get(name, ["–"])) for of in both]
        rows.append([f"kernel of {name}", *hashes])
    return Table.of(("", "preset paper", "preset released"), rows)


def _session(of: dict[str, Any]) -> str:
    seconds = (of["wall_seconds"], of["cpu_seconds_of_process"])
    return "{:,}, {:,.0f}, {:,.0f}, {}".format(of["runs"], *seconds, of["jobs"])


if __name__ == "__main__":
    main()
