"""Write docs/results.md from the reports of `monmdp reproduce`: claims, figures, findings, times.

    monmdp reproduce all --out results
    monmdp reproduce figure-4 figure-5 figure-6 figure-9 figure-10 --preset released --out results
    monmdp run benchmarks/findings.toml --out results
    python benchmarks/results.py results

Copies the figures and the summaries beside it, into docs/results/. Every number in the text is read
from the reports.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from monmdp.results import JudgedClaim, check_claims, evidence
from monmdp.results.checks import Verdict
from monmdp.results.claims import JudgedSentence
from monmdp.results.evidence import Aggregate, Evidence, axis_of
from monmdp.results.measures import Standing, compare
from monmdp.results.request import read_sessions
from monmdp.results.scores import AGENTS, suite_table
from monmdp.results.verdicts import checks_table
from monmdp.suites import Figure, Panel
from monmdp.tables import Column, Table, render, share

DOCS = Path(__file__).parent.parent / "docs"
REPORTS = {
    "paper": "all",
    "released": "figure-4+figure-5+figure-6+figure-9+figure-10-released",
    "findings": "findings",
}
PRESETS = ("paper", "released")
OURS, KNOWN, RIVAL = "monitored-mbie-eb", "known-monitor", "directed-e2"
CAPTIONS = {
    1: "Who hands what to whom, in an MDP and in a Mon-MDP.",
    2: "A pessimistic agent assumes the worst of what it can never see.",
    3: "River Swim and Bottleneck.",
    4: "Discounted return at test time: River Swim with the Full monitor, Bottleneck with a Button "
    "that shows rewards always (b) or one time in twenty (c, d).",
    5: "Visits a test episode, Bottleneck with the 5 % Button: to the goal, and to ⊥ cells.",
    6: "The 48 benchmarks.",
    7: "The worlds.",
    8: "How River Swim moves.",
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
    paper = known["paper"]
    figures = {figure.name: figure for figure in paper.figures}
    claims = {preset: {c.name: c for c in check_claims(known[preset])} for preset in PRESETS}
    button = {
        panel.rho: _of(paper, panel, RIVAL)
        for _, panel in figures["figure-4"].settings()
        if panel.monitor == "button"
    }
    return render(
        "results.md.j2",
        Path(__file__).parent / "templates",
        about=about,
        sentences=_sentences(claims),
        of={name: claim.sentences for name, claim in claims["paper"].items()},
        released={name: claim.sentences for name, claim in claims["released"].items()},
        headlines=_headlines(claims),
        checks=checks_table([claim.to_dict() for claim in claims["paper"].values()]),
        losses=_losses(paper, figures["figure-6"]),
        always=button[1.0],
        seldom=button[0.05],
        overall=_over_problems(known),
        figures=CAPTIONS,
        times=_times(about),
        first=float(np.mean([of.first["episode_return"].mean() for of in _ours(paper, figures)])),
        **_growth(paper, figures["figure-11"]),
        **_ablations(paper, figures["figure-12"], figures["figure-13"], known["findings"]),
    )


def _sentences(claims: dict[str, dict[str, JudgedClaim]]) -> Table:
    """Every sentence of the paper, what was found, and the verdicts with both presets."""
    columns = ("", "the paper says", "found", "verdict", "with the released options")
    rows = []
    for name, claim in claims["paper"].items():
        other = claims["released"].get(name)
        for i, of in enumerate(claim.sentences):
            second = "not run" if other is None else _other(of, other.sentences[i])
            rows.append((name, f"“{of.says}”", of.measured, of.verdict.value, second))
    return Table.of(columns, rows)


def _other(of: JudgedSentence, other: JudgedSentence) -> str:
    """The verdict with other options, and what was found if that differs."""
    if other.measured == of.measured:
        return "the same"
    return f"{other.verdict.value}: {other.measured}"


def _headlines(claims: dict[str, dict[str, JudgedClaim]]) -> dict[str, str]:
    """How many sentences have which verdict, in words."""
    told = {}
    for preset, of in claims.items():
        found = [sentence.verdict for claim in of.values() for sentence in claim.sentences]
        counts = [f"*{verdict.value}* {found.count(verdict)}" for verdict in Verdict]
        told[preset] = f"{len(found)} sentences: " + ", ".join(counts)
    return told


def _ours(known: Evidence, figures: dict[str, Figure]) -> list[Aggregate]:
    return [_of(known, panel, OURS) for panel in figures["figure-9"].panels()]


def _of(known: Evidence, panel: Panel, agent: str) -> Aggregate:
    found = known.of(panel[agent])
    assert found is not None
    return found


def _plotted(of: Aggregate) -> str:
    """Steps of the mean curve, as drawn."""
    return f"{of.steps_to_v:,}" if of.reaches_v else "never"


def _losses(known: Evidence, figure: Figure) -> list[str]:
    """Benchmarks where fewer seeds of Monitored MBIE-EB become optimal than of Directed-E²."""
    counts = [
        (panel, *(int(_of(known, panel, agent).optimal.sum()) for agent in (OURS, RIVAL)))
        for panel in figure.panels()
    ]
    return [f"{of.world}/{of.monitor} {a} against {b}" for of, a, b in counts if a < b]


def _growth(known: Evidence, figure: Figure) -> dict[str, Any]:
    """Figure 11: steps with the monitor known and unknown, as ρ falls; raw, and as plotted."""
    panels = figure.grids[0].rows
    growth: dict[str, list[float]] = {OURS: [], KNOWN: []}
    rows = []
    for of_monitor in zip(*panels, strict=True):
        for agent, name in ((OURS, "unknown"), (KNOWN, "known")):
            runs = [_of(known, panel, agent) for panel in of_monitor]
            steps = [of.steps_to_optimal.mean() for of in runs]
            shown = [f"{x:,.0f} ({_plotted(of)})" for x, of in zip(steps, runs, strict=True)]
            rows.append([of_monitor[0].monitor, name, *shown])
            growth[agent].append(steps[-1] / steps[1])
    columns = ["100 %", "80 %", "20 %", "5 %"]
    table = Table.of(("steps (as plotted)", "monitor", *columns), rows)
    pairs = [
        (panel, _of(known, panel, KNOWN), _of(known, panel, OURS)) for panel in figure.panels()
    ]
    found = [(panel, compare(told, untold, axis_of(panel))) for panel, told, untold in pairs]
    slower = [
        f"{panel.monitor} {100 * panel.rho:g} %: {of.measured}"
        for panel, of in found
        if of.standing is Standing.WORSE
    ]
    faster = sum(of.standing is Standing.BETTER for _, of in found)
    return {
        "growth": table, "unknown": growth[OURS], "told": growth[KNOWN], "slower": slower,
        "faster": faster, "compared": len(found),
    }  # fmt: skip


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
        never += [] if runs[3].optimal.any() else [one.monitor]
        rows.append([one.monitor, *(of.steps_to_optimal.mean() for of in runs)])
    for grid, agent in ((grids[0], "mbie-eb"), (grids[1], "pessimistic-mbie-eb")):
        for panel in (panel for row in grid.rows for panel in row):
            of = _of(known, panel, agent)
            distances.append(abs(of.exact_end.mean() - of.minimax))
    names = ["Monitored MBIE-EB", "MBIE-EB", "pessimistic MBIE-EB"]
    names += [f"{name}, Q_opt-init = 1" for name in names[1:]]
    columns: list[Column | str] = ["solvable Bottleneck"]
    columns += [Column(f"steps, {name}", form=",.0f") for name in names]
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
