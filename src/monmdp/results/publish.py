"""The files that a suite ends with: figures, claims, tables, and the summary behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monmdp import drawing
from monmdp.files import write_whole
from monmdp.results import evidence as evidence_file
from monmdp.results.charts import draw_ratios, draw_steps
from monmdp.results.claims import JudgedClaim, check_claims
from monmdp.results.evidence import Evidence
from monmdp.results.figures import Extent, checked_extent, draw, draw_profiles, label
from monmdp.results.scores import (
    THRESHOLDS,
    SuiteTable,
    cpu_seconds,
    problems_table,
    suite_table,
)
from monmdp.results.steps import SIDE_BY_SIDE, StepsTable, steps_tables
from monmdp.results.store import make_folder
from monmdp.results.verdicts import claims_table
from monmdp.suites import Figure
from monmdp.tables import render

SUMMARY = "summary.parquet"


@dataclass(frozen=True)
class Publication:
    """What was written, and what it says."""

    folder: Path
    pictures: tuple[Path, ...]
    claims: tuple[JudgedClaim, ...]
    tables: tuple[SuiteTable, ...]
    steps: tuple[StepsTable, ...]
    cpu: Mapping[str, float]
    """figure -> CPU seconds"""
    cpu_total: float
    """the same of all runs, each counted once"""


def publish(
    folder: Path, evidence: Evidence, axes: Extent = "stated", *, within: Path | None = None
) -> Publication:
    """Draw the figures, check the claims, and write both with tables and summary into a folder.

    Args:
        folder: the folder, which is made if need be.
        evidence: of the runs, with the figures that show them.
        axes: of learning curves, see `figures.draw`.
        within: the folder of results that it must lie in.
    """
    checked_extent(axes)
    make_folder(folder, within)
    pictures, tables, steps = [], [], []
    for figure in evidence.figures:
        own = steps_tables(figure, evidence)
        steps += own
        table = suite_table(figure, evidence)
        tables += [] if table is None else [table]
        if len({label(curve) for curve in figure.curves()}) <= SIDE_BY_SIDE:  # to tell them apart
            pictures.append(_save(draw(figure, evidence, axes), folder, figure.name))
            if table is not None and table.problems > 1:
                pictures.append(_save(_profiles(table), folder, f"{figure.name}-profiles"))
        if figure.reference is not None:
            pictures += _charts(folder, figure, own)
    origin = about(evidence)
    made = Publication(
        folder=folder,
        pictures=tuple(pictures),
        claims=tuple(check_claims(evidence)),
        tables=tuple(tables),
        steps=tuple(steps),
        cpu=origin["cpu_seconds_by_figure"],
        cpu_total=origin["cpu_seconds"],
    )
    if made.claims:
        data = [claim.to_dict() for claim in made.claims]
        text = render("claims.md.j2", about=origin, claims=data, table=claims_table(data))
        _write(folder / "claims", text, {"about": origin, "claims": data})
    if evidence.aggregates:
        problems = [problems_table(figure, evidence) for figure in evidence.figures]
        text = render("statistics.md.j2", tables=[of.table() for of in tables], problems=problems)
        _write(folder / "statistics", text, [table.to_dict() for table in tables])
        content = {"about": origin, "tables": [of.to_dict() for of in steps]}
        _write(folder / "steps", render("steps.md.j2", groups=steps), content)
        evidence_file.save(evidence, folder / SUMMARY)
    return made


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


def about(evidence: Evidence) -> dict[str, Any]:
    """Return which runs evidence rests on, and where they come from."""
    runs = evidence.aggregates.values()
    kernels: dict[str, set[str]] = {}
    for of in runs:
        kernels.setdefault(of.settings["agent"], set()).update({*of.kernels} - {"None"})
    return {
        "preset": ", ".join(sorted({figure.preset for figure in evidence.figures})),
        "figures": [figure.name for figure in evidence.figures],
        "configurations": len(evidence.aggregates),
        "runs": sum(len(of.seeds) for of in runs),
        "stale_runs": sum(of.stale for of in runs),
        "seeds": sorted({len(of.seeds) for of in runs}),
        "cpu_seconds": sum(of.cpu_seconds for of in runs),
        "cpu_seconds_by_figure": cpu_seconds(evidence.figures, evidence),
        "kernels": {agent: sorted(hashes) for agent, hashes in sorted(kernels.items())},
        "commits": sorted({commit for of in runs for commit in of.commits} - {"None"}),
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


def _write(path: Path, text: str, content: Any) -> None:
    """Write what people read as Markdown, and what programs read as JSON."""
    data = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_whole(
        path.with_suffix(".md"), lambda file: file.write(text.encode(errors="backslashreplace"))
    )
    write_whole(
        path.with_suffix(".json"), lambda file: file.write(data.encode(errors="backslashreplace"))
    )
