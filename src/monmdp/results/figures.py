"""The figures of a suite, drawn from evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np

from monmdp import agents, drawing, worlds
from monmdp.drawing import CurveData, PanelData, RowData, Style
from monmdp.drawing.panels import y_range
from monmdp.errors import MonMDPError
from monmdp.results.evidence import Aggregate, Evidence, kept_as
from monmdp.stats import smooth
from monmdp.suites import Curve, Figure, Panel
from monmdp.suites.plan import RETURNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

AXES = {
    "episode_return": "discounted test return",
    "worst_case_return": "discounted test return in M↓ (worst case)",
    "goal_visits": "visits to the goal",
    "bottom_visits": "visits to ⊥",
}
UNSEEN = "\ncounting rewards nobody can see"
"""beside the axis, where such returns lie above those in M↓"""
Extent = Literal["stated", "full"]
"""of the axes: what the suite states, or all of every curve"""


def checked_extent(axes: str) -> Extent:
    """Return which axes figures have, or refuse what is none."""
    if axes not in get_args(Extent):
        raise MonMDPError(f"axes must be {' or '.join(get_args(Extent))}, got {axes!r}")
    return cast(Extent, axes)


def draw(figure: Figure, evidence: Evidence, axes: Extent = "stated") -> Picture:
    """Draw a figure of a suite.

    Args:
        figure: the figure.
        evidence: of its runs; curves without any are named in their panels.
        axes: ``stated``, the ranges that the suite states, as the paper has them, or else without
            the depths of the first tenth of the steps; or ``full``, all of every mean curve.
    """
    checked_extent(axes)
    if figure.illustration is not None:
        return getattr(drawing, f"draw_{figure.illustration}")()  # type: ignore[no-any-return]
    if figure.graphs:
        _, name, given = figure.graphs[0]
        return drawing.draw_dynamics(worlds.make(name, **given))
    if figure.maps:
        made = {title: worlds.make(name, **given) for title, name, given in figure.maps}
        return drawing.gallery(made)
    rows = _rows(figure, evidence, axes)
    runs = [of for of in map(evidence.of, figure.curves()) if of is not None]
    y_label = _y_label(figure)
    if y_label == AXES["episode_return"] and any(of.counts_on_the_unseen for of in runs):
        y_label += UNSEEN
    return drawing.panel_grid(
        rows,
        styles=styles(figure),
        title=_title(figure),
        y_label=y_label,
        note=_note(figure, runs, any(panel.leaves for row in rows for panel in row.panels)),
    )


def _title(figure: Figure) -> str:
    """What is above a figure; a single problem without a title is named, with its agents."""
    words = figure.title
    panels = list(figure.panels())
    if not words and len(panels) == 1:
        names = [label(curve) for curve in panels[0].curves]
        shown = ", ".join(names) if len(names) <= 3 else f"{len(names)} agents"
        problem = " / ".join(filter(None, (panels[0].row, panels[0].column)))
        words = f"{problem}, {shown}"
    return f"{figure.name}: {words}" if words else figure.name


def label(curve: Curve) -> str:
    """Return a curve's name as a legend has it."""
    name, known = curve.agent, agents.LABELS.get(curve.agent)
    own = curve.label == name or curve.label.startswith(f"{name} ")
    if known and own:
        rest = curve.label.removeprefix(name).strip().replace("r0=", "r₀ = ")
        rest = re.sub(r"(?<!\w)-(?=\d)", "−", rest)  # of numbers, not of names
        return f"{known} ({rest})" if rest else known
    return curve.label


def styles(figure: Figure) -> dict[str, Style]:
    """Label -> how its curve is drawn, the same in all panels."""
    curves = ((label(curve), curve.agent) for curve in figure.curves())
    return drawing.styles(curves, agents.COLOURS)


def _y_label(figure: Figure) -> str:
    """What all panels show; nothing where they differ, then the rows say it."""
    scores = {panel.score for panel in figure.panels()}
    if scores & {*RETURNS}:
        return AXES[scores.pop()] if len(scores) == 1 else ""
    return f"{AXES[scores.pop()]} a test episode" if len(scores) == 1 else "visits a test episode"


def _rows(figure: Figure, evidence: Evidence, axes: Extent) -> list[RowData]:
    singles = all(len(grid.rows) == 1 and len(grid.rows[0]) == 1 for grid in figure.grids)
    if singles:  # blocks of one panel stand side by side
        alone = len(figure.grids) == 1 and not figure.title  # the figure's title says it
        panels = [
            panel_data(panel, evidence, grid.title or ("" if alone else panel_title(panel)), axes)
            for grid in figure.grids
            for panel in grid.rows[0]
        ]
        return [RowData(panels)]
    mixed = not _y_label(figure)
    return [
        RowData(
            [panel_data(panel, evidence, panel.column if i == 0 else "", axes) for panel in panels],
            label=panels[0].row + (f"\n{AXES[panels[0].score]}" if mixed else ""),
            heading=(grid.title or "") if i == 0 else "",
        )
        for grid in figure.grids
        for i, panels in enumerate(grid.rows)
    ]


def panel_title(panel: Panel) -> str:
    """Return a panel's problem, as titles and tables name it."""
    return f"{panel.row} / {panel.column}"


def panel_data(panel: Panel, evidence: Evidence, title: str, axes: Extent = "stated") -> PanelData:
    """Return what a panel shows, and which of its curves are not run."""
    there, missing, minimax = [], [], None
    for curve in panel.curves:
        of = evidence.of(curve)
        if of is None:
            missing.append(label(curve))
            continue
        minimax = of.minimax
        mean = of.mean[kept_as(panel)].astype(np.float64)
        mean = smooth(mean) if of.smoothed else mean
        half = of.half[kept_as(panel)].astype(np.float64)
        there.append(CurveData(label(curve), of.step, mean, half))
    dashed = minimax if panel.shows_returns else None
    data = PanelData(there, dashed, title, panel.x_range, panel.y_range, missing)
    if axes == "full" and there:
        return replace(data, x_range=None, y_range=y_range(data, full=True))
    return data


def _note(figure: Figure, runs: Sequence[Aggregate], leaves: bool) -> str:
    """What is averaged, what the band is, and what marks of curves outside the axes mean."""
    if not runs:
        return "nothing has been run yet"
    settings = runs[0].settings
    drawn = f", {settings['episodes']} episodes a test" if settings["episodes"] else ""
    stale = sum(of.stale for of in {of.configuration: of for of in runs}.values())
    parts = [_averaged(figure, runs)]
    if any(of.smoothed for of in runs):
        parts.append("each seed smoothed by an exponential moving average (0.9 old, 0.1 new)")
    parts.append(f"{settings['evaluation']} evaluation{drawn}; preset {figure.preset}")
    if any(panel.shows_returns for panel in figure.panels()):
        parts.append("dashed: return of the minimax-optimal policy, computed")
        if any(of.counts_on_the_unseen for of in runs):
            parts.append("curves count rewards that nobody can see")
    if leaves:
        parts.append("▼ ▲: the curve of this colour goes on outside the axis")
    if stale:
        parts.append(f"{stale} runs were made by another version of the code")
    return "; ".join(parts)


def _averaged(figure: Figure, runs: Sequence[Aggregate]) -> str:
    """How many seeds, of how many that were asked for, and what the band is."""
    counts = sorted({len(of.seeds) for of in runs})
    n = f"n = {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "")
    asked = max(len(curve.seeds) for curve in figure.curves())
    of_asked = f" of {asked}" if counts[0] < asked else ""
    if counts[-1] == 1:
        return f"{n} seed{of_asked}"
    return f"mean over {n}{of_asked} seeds; band: 95 % interval of the mean, ±1.96 sd/√n"
