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
from monmdp.results.charts import draw_profiles, draw_ratios, draw_steps
from monmdp.results.claims import JudgedClaim, check_claims
from monmdp.results.evidence import Evidence
from monmdp.results.figures import Extent, checked_extent, draw, label
from monmdp.results.scores import (
    SuiteTable,
    cpu_seconds,
    late_table,
    problems_table,
    suite_table,
)
from monmdp.results.steps import SIDE_BY_SIDE, StepsTable, steps_tables
from monmdp.results.store import make_folder
from monmdp.results.verdicts import claims_table
from monmdp.suites import Figure
from monmdp.tables import Table, render

SUMMARY = "summary.parquet"


@dataclass(frozen=True)
class Publication:
    """What was written, and what it says."""

    folder: Path
    pictures: tuple[Path, ...]
    claims: tuple[JudgedClaim, ...]
    tables: tuple[SuiteTable, ...]
    steps: tuple[StepsTable, ...]
    late: tuple[Table, ...]
    """for suites that ask for it: how good agents are in the second half of training"""
    cpu: Mapping[str, float]
    """figure -> CPU seconds"""
    cpu_total: float
    """the same of all runs, each counted once"""


def publish(
    folder: Path, evidence: Evidence, axes: Extent = "stated", *, within: Path | None = None
) -> Publication:
    """Draw the figures, check the claims, and write both with tables and summary into a folder.

    The folder is made if need be; it must lie `within` the folder of results. `axes` are those of
    learning curves, see `figures.draw`.
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
                pictures.append(_save(draw_profiles(table), folder, f"{figure.name}-profiles"))
        if figure.reference is not None:
            pictures += _charts(folder, figure, own)
    late = (late_table(figure, evidence) for figure in evidence.figures)
    origin = about(evidence)
    made = Publication(
        folder=folder,
        pictures=tuple(pictures),
        claims=tuple(check_claims(evidence)),
        tables=tuple(tables),
        steps=tuple(steps),
        late=tuple(of for of in late if of.rows),
        cpu=origin["cpu_seconds_by_figure"],
        cpu_total=origin["cpu_seconds"],
    )
    if made.claims:
        data = [claim.to_dict() for claim in made.claims]
        text = render("claims.md.j2", about=origin, claims=data, table=claims_table(data))
        _write(folder / "claims", text, {"about": origin, "claims": data})
    if evidence.aggregates:
        problems = [problems_table(figure, evidence) for figure in evidence.figures]
        text = render(
            "statistics.md.j2",
            tables=[of.table() for of in tables],
            problems=problems,
            late=made.late,
        )
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
        name = f"{figure.name}{group}"
        pictures.append(_save(draw_steps(table, figure), folder, f"{name}-steps"))
        pictures.append(_save(draw_ratios(table, figure), folder, f"{name}-ratios"))
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


def _write(path: Path, text: str, content: Any) -> None:
    """Write what people read as Markdown, and what programs read as JSON."""
    as_json = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    said, data = (words.encode(errors="backslashreplace") for words in (text, as_json))
    write_whole(path.with_suffix(".md"), lambda file: file.write(said))
    write_whole(path.with_suffix(".json"), lambda file: file.write(data))
