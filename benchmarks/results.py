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
from pathlib import Path

import numpy as np

from monmdp.experiment.sessions import SESSIONS, read_sessions
from monmdp.results import check_claims, evidence
from monmdp.results.claims import Verdict
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.tables import suite_table
from monmdp.suites import Figure, Panel

DOCS = Path(__file__).parent.parent / "docs"
REPORTS = {
    "paper": "all",
    "released": "figure-4+figure-6+figure-9+figure-10-released",
    "findings": "findings",
}
PRESETS = ("paper", "released")
OURS, KNOWN, RIVAL = "monitored-mbie-eb", "known-monitor", "directed-e2"
DRAWN = (4, 5, 6, 9, 10, 11, 12, 13)

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
        about["sessions"] = read_sessions(folder / SESSIONS)
        (place / f"{preset}.json").write_text(json.dumps(about, indent=2) + "\n")
    for number in DRAWN:
        shutil.copyfile(folders["paper"] / f"figure-{number}.png", place / f"figure-{number}.png")
    for name in ("figure-6-profiles", "figure-10-profiles"):
        shutil.copyfile(folders["paper"] / f"{name}.png", place / f"{name}.png")
    (args.docs / "results.md").write_text(page(place), encoding="utf-8")


def page(place: Path) -> str:
    """Return the page, from the summaries and their `about` files."""
    known = {preset: evidence.load(place / f"{preset}.parquet") for preset in REPORTS}
    about = {preset: json.loads((place / f"{preset}.json").read_text()) for preset in PRESETS}
    lines = [*_head(about), *_claims(known), *_findings(known), *_over_problems(known)]
    lines += [*_figures(), *_times(about)]
    return "\n".join(lines) + "\n"


def _head(about: dict) -> list[str]:
    paper, released = about["paper"], about["released"]
    sessions = paper["sessions"]
    took = ""
    if sum(session["runs"] for session in sessions) >= paper["runs"]:
        wall = sum(session["wall_seconds"] for session in sessions)
        took = f" in {wall / 60:.0f} minutes, {sessions[0]['jobs']} at a time"
    return [
        "# Results",
        "",
        "Every experiment of the paper, run by",
        "",
        "<!-- not run: half an hour -->",
        "```console",
        "monmdp reproduce all",
        "monmdp reproduce figure-4 figure-6 figure-9 figure-10 --preset released",
        "```",
        "",
        f"with {paper['seeds'][-1]} seeds: {paper['runs']:,} runs{took} "
        f"({paper['cpu_seconds']:,.0f} CPU seconds), and {released['runs']:,} runs with the "
        "options of the authors' released code, many of them the same. `monmdp redraw "
        "docs/results/paper.parquet` draws all figures and checks all claims again from the "
        "summary. This page is written by `make results`.",
        "",
    ]


def _claims(known: dict[str, Evidence]) -> list[str]:
    claims = {preset: {c.name: c for c in check_claims(known[preset])} for preset in PRESETS}
    lines = [
        "## Claims",
        "",
        "A claim holds if all its parts do. *Better* compares areas, the mean of all tests of a "
        "run; *on par*: the interval of the difference contains 0; an *end* is the mean of the "
        "last ten tests. *Steps-to-v* are the steps after which the mean over seeds stays "
        "within 5 % of the minimax return v, by exact returns of the tested policies: drawn "
        "returns would add their noise. `src/monmdp/results/claims.py` says all "
        "that is checked, and what was settled where the paper leaves it open.",
        "",
        "| claim | preset paper | | preset released | |",
        "|---|---|---|---|---|",
    ]
    for name, claim in claims["paper"].items():
        other = claims["released"].get(name)
        verdicts = [f"**{claim.verdict.value}**", f"**{other.verdict.value}**" if other else ""]
        lines.append(f"| **{name}: {claim.text}** | {verdicts[0]} | | {verdicts[1]} | |")
        for i, part in enumerate(claim.parts):
            of = [part, *([other.parts[i]] if other else [])]
            cells = [f"{_measured(p)} | {p.verdict.value}" for p in of]
            cells += [] if other else ["not run | "]
            lines.append(f"| {part.text} | {' | '.join(cells)} |")
    return [*lines, ""]


def _measured(part) -> str:
    return part.measured + (f". Also: {part.also}" if part.also else "")


# ---- why claims fail ------------------------------------------------------------------------


def _findings(everything: dict[str, Evidence]) -> list[str]:
    """A section for each group of claims that do not hold; those that do need none."""
    known = everything["paper"]
    figures = {figure.name: figure for figure in known.figures}
    parts = {claim.name: claim.parts for claim in check_claims(known)}
    sections = (
        (
            "Better by steps, worse by area (C4, C6, C7)",
            [parts["C4"][0], parts["C6"][0], parts["C7"][0]],
            lambda: _areas(known, figures),
        ),
        (
            "Directed-E² is not worse at 5 % (C2)",
            [parts["C2"][3]],
            lambda: _c2(known, figures["figure-4"]),
        ),
        (
            "Knowing the monitor saves another share than 30 %, and ρ still matters (C3, C8)",
            [parts["C3"][0], parts["C8"][2]],
            lambda: _known(known, figures["figure-11"]),
        ),
        (
            "The ablations are not on par where they are said to be (C9)",
            [parts["C9"][0], parts["C9"][3]],
            lambda: _ablations(
                known, figures["figure-12"], figures["figure-13"], everything["findings"]
            ),
        ),
    )
    lines = ["## Where a claim does not hold, and why", ""]
    for title, needed, text in sections:
        if all(part.verdict is Verdict.NOT for part in needed):
            lines += [f"### {title}", "", *text(), ""]
    return lines


def _areas(known: Evidence, figures: dict[str, Figure]) -> list[str]:
    nine = figures["figure-9"]
    first = _first(known, nine)
    claims = {claim.name: claim for claim in check_claims(known)}
    four, seven = claims["C4"].parts[0], claims["C7"].parts[0]
    worse = [c.setting for c in claims["C4"].parts[1].checks if c.verdict is Verdict.NOT]
    lines = [
        "The test policy of Monitored MBIE-EB is greedy on optimistic action values: as long as "
        "something is untried, it goes there, in tests too. On Bottleneck the untried cells are "
        f"⊥ cells and the snake, -10 a step: its tests begin at {first:.0f} and stay low until "
        "everything has been tried. Directed-E² with r₀ = -10 and Q₀ = -10 tests a policy that "
        "stays where it knows its way: it avoids those cells early, and takes long to find the "
        f"treasure. In an area one test of {first:.0f} weighs as much as {-first:.0f} tests that "
        "miss the whole treasure, so areas side with Directed-E²; steps-to-v, and areas without "
        "the first tenth of the tests, do not:",
        "",
        *_comparison(known, nine),
        "",
        f"Figure 10 says the same: {seven.also}. In figure 6: {four.also}. By area Monitored "
        f"MBIE-EB is worse on {len(worse)} of the 48: {', '.join(worse)}.",
    ]
    never = [
        (panel, ours, rival)
        for panel in figures["figure-6"].panels()
        for ours, rival in [[_of(known, panel, agent) for agent in (OURS, RIVAL)]]
        if ours.optimal.sum() < rival.optimal.sum()
    ]
    if never:
        shown = "; ".join(
            f"{panel.world}/{panel.monitor} {int(ours.optimal.sum())} against "
            f"{int(rival.optimal.sum())}"
            for panel, ours, rival in never
        )
        lines += [
            "",
            "Some defeats are real, fewer seeds that become optimal within the budget than "
            f"Directed-E² has: {shown} of {len(never[0][1].seeds)} "
            "([agents.md](agents.md#where-a-seed-does-not-converge) tells why).",
        ]
    return lines


def _of(known: Evidence, panel: Panel, agent: str) -> Aggregate:
    found = known.of(panel[agent])
    assert found is not None
    return found


def _first(known: Evidence, figure: Figure) -> float:
    return float(
        np.mean([_of(known, p, OURS).first["episode_return"].mean() for p in figure.panels()])
    )


def _steps(of: Aggregate) -> str:
    return f"{of.steps_to_v:,}" if of.reaches_v else "never"


def _comparison(known: Evidence, figure: Figure) -> list[str]:
    lines = [
        "| figure 9 | area | | without the first tenth | | steps-to-v | |",
        "|---|---|---|---|---|---|---|",
        "| | Monitored MBIE-EB | Directed-E² | Monitored MBIE-EB | Directed-E² | Monitored "
        "MBIE-EB | Directed-E² |",
    ]
    for panel in figure.panels():
        pair = [_of(known, panel, agent) for agent in (OURS, RIVAL)]
        cells = [f"{of.area.mean():.3f}" for of in pair]
        cells += [f"{of.late_area.mean():.3f}" for of in pair]
        lines.append(f"| {panel.monitor} | {' | '.join([*cells, *map(_steps, pair)])} |")
    return lines


def _c2(known: Evidence, figure: Figure) -> list[str]:
    always, seldom = (_of(known, grid.rows[0][0], RIVAL) for grid in figure.grids[1:3])
    return [
        "With r₀ near 0 it fails in both, because it takes ⊥ cells for harmless; but it fails "
        "*sooner* where rewards are shown always. To go and dwell on ⊥ cells it must have learnt "
        "that the other cells pay nothing, and that takes longer when a reward is shown one time "
        f"in twenty. Its mean test returns {always.area.mean():.0f} at 100 % and "
        f"{seldom.area.mean():.0f} at 5 %; at the end {always.end['episode_return'].mean():.0f} "
        f"and {seldom.end['episode_return'].mean():.0f}, with "
        f"{always.end['bottom_visits'].mean():.0f} and {seldom.end['bottom_visits'].mean():.0f} of "
        "the 50 steps of an episode on ⊥ cells.",
    ]


def _known(known: Evidence, figure: Figure) -> list[str]:
    lines = [
        "| steps-to-v | | 80 % | 20 % | 5 % |",
        "|---|---|---|---|---|",
    ]
    rows = figure.grids[0].rows
    for j, panel in enumerate(rows[0]):
        for agent, name in ((OURS, "unknown"), (KNOWN, "known")):
            cells = [_steps(_of(known, row[j], agent)) for row in rows]
            lines.append(f"| {panel.monitor} | {name} | {' | '.join(cells)} |")
    growth = {
        agent: [
            _of(known, rows[2][j], agent).steps_to_v / _of(known, rows[0][j], agent).steps_to_v
            for j in range(len(rows[0]))
        ]
        for agent in (OURS, KNOWN)
    }
    return [
        "Knowing the monitor spares the agent the trying of every pair in every monitor state, and "
        "this is worth the more the larger the monitor is and the rarer rewards are shown. What it "
        "cannot spare is waiting: a reward that is shown one time in twenty is seen after twenty "
        "tries on average. From 80 % to 5 % the steps-to-v grow "
        f"{min(growth[OURS]):.1f} to {max(growth[OURS]):.1f} times with the monitor unknown, and "
        f"{min(growth[KNOWN]):.1f} to {max(growth[KNOWN]):.1f} times with it known: less, but not "
        "similar.",
        "",
        *lines,
    ]


def _ablations(known: Evidence, twelve: Figure, thirteen: Figure, findings: Evidence) -> list[str]:
    lines = [
        "| solvable Bottleneck | Monitored MBIE-EB | | MBIE-EB | | pessimistic MBIE-EB | "
        "| MBIE-EB, Q_opt-init = 1 | | pessimistic MBIE-EB, Q_opt-init = 1 | |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        "| |" + " area | steps-to-v |" * 5,
    ]
    never: list[str] = []
    rows = (twelve.grids[0], thirteen.grids[0], findings.figures[0].grids[0])
    for one, other, third in zip(*(grid.rows[0] for grid in rows), strict=True):
        runs = [
            _of(known, one, OURS), _of(known, one, "mbie-eb"),
            _of(known, other, "pessimistic-mbie-eb"), _of(findings, third, "mbie-eb"),
            _of(findings, third, "pessimistic-mbie-eb"),
        ]  # fmt: skip
        never += [] if runs[3].reaches_v else [one.monitor]
        cells = [f"{of.area.mean():.3f} | {_steps(of)}" for of in runs]
        lines.append(f"| {one.monitor} | {' | '.join(cells)} |")
    ends = [
        _of(known, p, agent).end["episode_return"].mean() - _of(known, p, agent).minimax
        for grid, agent in (
            (twelve.grids[0], "mbie-eb"),
            (thirteen.grids[0], "pessimistic-mbie-eb"),
        )
        for row in grid.rows
        for p in row
    ]
    return [
        "On solvable problems with ρ = 1 both ablations end where Monitored MBIE-EB ends (mean end "
        f"returns differ from the minimax return by at most {max(map(abs, ends)):.3f}), but they "
        "get there later, and 30 seeds are enough to tell. They start from Q_opt-init = 50, not 1, "
        "so that their tests go on trying what is untried for longer. With Q_opt-init = 1 "
        "(`benchmarks/findings.toml`) pessimistic MBIE-EB comes close to Monitored MBIE-EB. "
        "MBIE-EB, which has nothing but this optimism to make it look for rewards, then "
        + (f"does not get to v with {' and '.join(never)}." if never else "gets to v, too."),
        "",
        *lines,
    ]


# ---- the rest -------------------------------------------------------------------------------


def _over_problems(known: dict[str, Evidence]) -> list[str]:
    lines = [
        "## Over all problems of a figure",
        "",
        "Returns are normalised by the exact minimax return v, 1 - (v - return) / max(1, |v|). "
        "IQM: interquartile mean with a 95 % stratified bootstrap interval. P: chance that a "
        "run of Monitored MBIE-EB has the larger area. Optimal: runs within 1 % of v that stay "
        "there, and the Kaplan-Meier median of the steps to that.",
        "",
        "| preset | figure | agent | IQM of ends | IQM of areas | P | optimal | median steps |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for preset in PRESETS:
        of = known[preset]
        for figure in of.figures:
            table = suite_table(figure, of)
            for row in table.rows if table is not None else ():
                spans = ["{:.3g} [{:.3g}, {:.3g}]".format(*x) for x in (row.iqm_end, row.iqm_area)]
                chance = "" if row.improvement is None else f"{row.improvement.estimate:.2f}"
                median = "never" if row.median_steps is None else f"{row.median_steps:,.0f}"
                lines.append(
                    f"| {preset} | {figure.name[7:]} | {row.agent} | {' | '.join(spans)} "
                    f"| {chance} | {row.optimal}/{row.runs} | {median} |"
                )
    return [*lines, ""]


def _figures() -> list[str]:
    lines = ["## Figures", "", "Preset paper; figures 3, 7 and 8 are drawings (`reproduce`).", ""]
    for number in DRAWN:
        lines += [f"![figure {number}](results/figure-{number}.png)", ""]
        lines += [f"*Figure {number}.* {CAPTIONS[number]}", ""]
        if number in (6, 10):
            lines += [f"![profiles](results/figure-{number}-profiles.png)", ""]
    return lines


def _times(about: dict) -> list[str]:
    lines = ["## Time, machine, code", ""]
    lines += ["| | preset paper | preset released |", "|---|---|---|"]
    both = (about["paper"], about["released"])

    def row(name: str, cells: list[str]) -> None:
        lines.append(f"| {name} | {' | '.join(cells)} |")

    row("runs", [f"{of['runs']:,}" for of in both])
    row("CPU seconds of all runs", [f"{of['cpu_seconds']:,.0f}" for of in both])
    for figure in both[0]["cpu_seconds_by_figure"]:
        by = [of["cpu_seconds_by_figure"].get(figure) for of in both]
        if by[0]:
            row(f"of these, {figure}", [f"{x:,.0f}" if x else "-" for x in by])
    row(
        "sessions: runs, wall seconds, CPU seconds with compiling and writing, jobs",
        [
            "; ".join(
                f"{s['runs']:,}, {s['wall_seconds']:,.0f}, {s['cpu_seconds_of_process']:,.0f}, "
                f"{s['jobs']}"
                for s in of["sessions"]
            )
            for of in both
        ],
    )
    row("machine", [f"{of['machine']['processor']}, {of['machine']['cores']} cores" for of in both])
    row("versions", [", ".join(f"{k} {v}" for k, v in of["versions"].items()) for of in both])
    row("commit", [", ".join(of["commits"]) for of in both])
    names = {name for of in both for name in of["kernels"]}
    for name in sorted(names):
        row(f"kernel of {name}", [", ".join(of["kernels"].get(name, ["-"])) for of in both])
    return [
        *lines,
        "",
        "Runs that several figures share are counted in each of them. Of the released preset's "
        "runs those that the preset does not change were there already, from the other one. A "
        "kernel is a hash of the code that makes an agent's runs; a test compares it with "
        "today's code.",
    ]


if __name__ == "__main__":
    main()
