"""The files that a suite ends with: figures, claims, tables, and the summary they are made from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monmdp import drawing
from monmdp.errors import MonMDPError
from monmdp.files import write_whole
from monmdp.results import evidence as evidence_file
from monmdp.results.charts import draw_ratios, draw_steps
from monmdp.results.claims import Claim, check_claims
from monmdp.results.evidence import Aggregate, Evidence
from monmdp.results.figures import draw, draw_profiles, label
from monmdp.results.steps import SIDE_BY_SIDE, StepsTable, steps_tables, steps_text
from monmdp.results.tables import (
    THRESHOLDS,
    SuiteTable,
    cpu_seconds,
    suite_table,
)
from monmdp.results.targets import check_targets
from monmdp.stats import mean_interval, median_time
from monmdp.suites import Figure

SUMMARY = "summary.parquet"


@dataclass(frozen=True)
class Report:
    """What was written, and what it says."""

    folder: Path
    pictures: tuple[Path, ...]
    claims: tuple[Claim, ...]
    targets: tuple[Claim, ...]
    """what the suite `beyond` is to show"""
    tables: tuple[SuiteTable, ...]
    steps: tuple[StepsTable, ...]
    cpu: Mapping[str, float]
    """figure -> CPU seconds"""
    cpu_total: float
    """the same of all runs, each counted once"""


def write_report(folder: Path, evidence: Evidence) -> Report:
    """Draw the figures, check the claims, and write both with tables and summary into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MonMDPError(f"cannot write into {folder}: {error.strerror or error}") from None
    pictures, tables, steps = [], [], []
    for figure in evidence.figures:
        own = steps_tables(figure, evidence)
        steps += own
        table = suite_table(figure, evidence)
        tables += [] if table is None else [table]
        if len({label(curve) for curve in figure.curves()}) <= SIDE_BY_SIDE:  # to tell them apart
            pictures.append(_save(draw(figure, evidence), folder, figure.name))
            if table is not None and table.problems > 1:
                pictures.append(_save(_profiles(table), folder, f"{figure.name}-profiles"))
        if figure.reference is not None:
            pictures += _charts(folder, figure, own)
    report = Report(
        folder=folder,
        pictures=tuple(pictures),
        claims=tuple(check_claims(evidence)),
        targets=tuple(check_targets(evidence)),
        tables=tuple(tables),
        steps=tuple(steps),
        cpu=cpu_seconds(evidence.figures, evidence),
        cpu_total=sum(of.cpu_seconds for of in evidence.aggregates.values()),
    )
    about = _about(evidence, report)
    for name, title, claims in (
        ("claims", "Claims of the paper", report.claims),
        ("targets", "Targets", report.targets),
    ):
        if claims:
            _write(folder / f"{name}.md", claims_text(claims, about, title))
            content = {"about": about, name: [claim.to_dict() for claim in claims]}
            _write_json(folder / f"{name}.json", content)
    if evidence.aggregates:
        _write(folder / "statistics.md", statistics_text(evidence, tables))
        _write_json(folder / "statistics.json", [table.to_dict() for table in tables])
        _write(folder / "steps.md", steps_text(steps))
        tables_of_steps = [of.to_dict() for of in steps]
        _write_json(folder / "steps.json", {"about": about, "tables": tables_of_steps})
        evidence_file.save(evidence, folder / SUMMARY)
    return report


def _charts(folder: Path, figure: Figure, tables: Sequence[StepsTable]) -> list[Path]:
    """Draw the steps of agents that are compared with one of them."""
    pictures = []
    for table in tables:
        if not 2 <= len(table.agents) <= SIDE_BY_SIDE:
            continue
        group = re.sub(r"[^a-z0-9]+", "-", f" {table.group}".lower()).rstrip("-")
        for what, draw_chart in (("steps", draw_steps), ("ratios", draw_ratios)):
            drawn = draw_chart(table, figure)
            pictures.append(_save(drawn, folder, f"{figure.name}{group}-{what}"))
    return pictures


def _save(drawn: Any, folder: Path, name: str) -> Path:
    """Save a picture as PDF and PNG, and return where the latter is."""
    drawing.save(drawn, folder / f"{name}.pdf")
    drawing.save(drawn, folder / f"{name}.png")
    return folder / f"{name}.png"


def _about(evidence: Evidence, report: Report) -> dict[str, Any]:
    """Which runs this rests on, and where they come from."""
    runs = evidence.aggregates.values()
    kernels: dict[str, set[str]] = {}
    for of in runs:
        kernels.setdefault(of.settings["agent"], set()).update(of.kernels)
    presets = sorted({figure.preset for figure in evidence.figures})
    return {
        "preset": ", ".join(presets),
        "figures": [figure.name for figure in evidence.figures],
        "configurations": len(evidence.aggregates),
        "runs": sum(len(of.seeds) for of in runs),
        "stale_runs": sum(of.stale for of in runs),
        "seeds": sorted({len(of.seeds) for of in runs}),
        "cpu_seconds": report.cpu_total,
        "cpu_seconds_by_figure": dict(report.cpu),
        "kernels": {agent: sorted(hashes) for agent, hashes in sorted(kernels.items())},
        "commits": sorted({commit for of in runs for commit in of.commits}),
        **{key: evidence.made[key] for key in ("versions", "machine") if key in evidence.made},
    }


def _profiles(table: SuiteTable) -> Any:
    return draw_profiles(
        f"{table.figure.name}: performance profiles",
        THRESHOLDS,
        {row.agent: row.profile for row in table.rows},
        table.figure,
        n_runs=table.rows[0].runs // table.problems,
        n_tasks=table.problems,
    )


# ---- as text --------------------------------------------------------------------------------


INTERVALS = {
    "Claims of the paper": "Intervals are of 95 %: Welch's for differences of areas, ±1.96 sd/√n "
    "for ends and visits, resampled seeds for steps-to-v.",
    "Targets": "Intervals are of 95 %: seeds drawn anew, the same ones for both, for ratios, "
    "Student's for paired differences, ±1.96 sd/√n for steps. steps.md says what is measured.",
}


def claims_text(
    claims: Sequence[Claim], about: Mapping[str, Any], title: str = "Claims of the paper"
) -> str:
    """Return the claims as Markdown: a table, then every check."""
    seeds = " to ".join(str(n) for n in dict.fromkeys((*about["seeds"][:1], *about["seeds"][-1:])))
    each = f", {seeds} seeds each" if seeds else ""
    lines = [
        f"# {title}",
        "",
        f"Checked from {about['runs']:,} runs{each}, preset {about['preset']}. {INTERVALS[title]}",
        "",
        *claims_table(claims),
        "",
    ]
    if about["stale_runs"]:
        lines += [f"{about['stale_runs']} runs were made by another version of the code.", ""]
    for claim in claims:
        lines += [f"## {claim.name}: {claim.text}", ""]
        for part in claim.parts:
            also = f" (Also: {part.also}.)" if part.also else ""
            lines += [f"**{part.text}**: {part.verdict.value}.{also}", ""]
            lines += ["| setting | measured | verdict |", "|---|---|---|"]
            lines += [
                f"| {check.setting} | {check.measured} | {check.verdict.value} |"
                for check in part.checks
            ] or ["| - | not run | inconclusive |"]
            lines.append("")
    return "\n".join(lines)


def claims_table(claims: Sequence[Claim]) -> list[str]:
    """Return a Markdown table with a row for each part of each claim."""
    lines = ["| claim | | measured | verdict |", "|---|---|---|---|"]
    for claim in claims:
        lines.append(f"| **{claim.name}** | {claim.text} | | **{claim.verdict.value}** |")
        for part in claim.parts:
            also = f". Also: {part.also}" if part.also else ""
            lines.append(f"| | {part.text} | {part.measured}{also} | {part.verdict.value} |")
    return lines


TERMS = (
    "# Statistics",
    "",
    "Intervals are of 95 %. *End*: a run's mean of its last ten tests. *Area*: its mean of all "
    "tests, which says how high the learning curve lies. *v*: return of an episode of the "
    "minimax-optimal policy, computed. *Optimal*: runs whose test policy, evaluated exactly, comes "
    "within 1 % of v and stays there; *steps to 1 %*: when (Kaplan-Meier median; *never*: not half "
    "of the runs). *Steps-to-v*: when the mean over seeds comes within 5 % of v and stays there, "
    "by exact returns of the test policies, and in brackets by the returns that the learning curve "
    "shows, which may be drawn and noisy. Percents are of max(1, |v|).",
    "",
)


def statistics_text(evidence: Evidence, tables: Sequence[SuiteTable]) -> str:
    """Return the tables over all problems, and one with all problems, as Markdown."""
    lines = [*TERMS]
    for table in tables:
        lines += suite_lines(table)
    for figure in evidence.figures:
        lines += _problem_lines(figure, evidence)
    return "\n".join(lines)


def suite_lines(table: SuiteTable) -> list[str]:
    """Return the table of a suite's agents as Markdown."""
    lines = [
        f"## {table.figure.name}: agents over {_counted(table.problems, 'problem')}",
        "",
        "Returns are normalised by v, 1 - (v - return) / max(1, |v|). IQM: interquartile mean, "
        "with a stratified bootstrap interval. P(improvement): chance that a run of the first "
        "agent has a larger area. Mean steps: within the shortest budget of these problems, "
        f"{table.budget:,} steps, which runs that need longer take in full.",
        "",
        "| agent | IQM of ends | IQM of areas | P(improvement) | optimal | median steps to 1 % | "
        "mean steps |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table.rows:
        chance = "" if row.improvement is None else row.improvement.in_words(".2f")
        median = "never" if row.median_steps is None else f"{row.median_steps:,.0f}"
        lines.append(
            f"| {row.agent} | {row.iqm_end.in_words()} | {row.iqm_area.in_words()} | {chance} "
            f"| {row.optimal}/{row.runs} | {median} | {row.mean_steps:,.0f} |"
        )
    if table.left_out:
        lines += ["", f"Left out, for want of equal seeds: {', '.join(table.left_out)}."]
    if table.not_in_all:
        lines += ["", f"Not on all problems, hence not here: {', '.join(table.not_in_all)}."]
    return [*lines, ""]


def _problem_lines(figure: Figure, evidence: Evidence) -> list[str]:
    # Panels may show the same runs, whole and zoomed, or returns and visits.
    shown = {
        (curve.configuration, label(curve)): (panel, curve)
        for panel in reversed(list(figure.panels()))
        for curve in reversed(panel.curves)
    }
    if not shown:
        return []
    lines = [
        f"## {figure.name}: every problem",
        "",
        "| problem | agent | v | end | area | optimal | steps to 1 % | steps-to-v |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for panel, curve in reversed(list(shown.values())):
        of = evidence.of(curve)
        name = f"{panel.row} / {panel.column} | {label(curve)}"
        if of is None:
            lines.append(f"| {name} | | not run | | | | |")
            continue
        median = median_time(of.steps_to_optimal.astype(float), of.optimal)
        lines.append(
            f"| {name} | {of.minimax:.4g} | {mean_interval(of.end['episode_return']).in_words()} "
            f"| {mean_interval(of.area).in_words()} | {int(of.optimal.sum())}/{len(of.seeds)} "
            f"| {'never' if median is None else f'{median:,.0f}'} "
            f"| {_steps(of.steps_to_v, of)} ({_steps(of.steps_to_v_drawn, of)}) |"
        )
    return [*lines, ""]


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def _steps(steps: int, of: Aggregate) -> str:
    return f"{steps:,}" if steps < of.settings["steps"] else "never"


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))


def _write_json(path: Path, content: Any) -> None:
    _write(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
