"""Learning curves on their way into a page.

Means and interquartile means are kept as they are, in double precision, at every test. Half widths
of intervals are in single precision. The curves of single seeds are there to be looked at: of long
ones every k-th test is kept, and values are rounded to 65,535 steps of their range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from monmdp.experiment import Run
from monmdp.model.arrays import FloatArray
from monmdp.report.packing import pack
from monmdp.results.evidence import SCORES
from monmdp.stats import half_width, iqm_curve, smooth

MOST_POINTS = 100
"""of the curve of one seed"""
LEVELS = 65_535

PackedCurves = Mapping[str, Any]
"""steps, and for each score what is drawn of it"""


def packed_curves(runs: Sequence[Run], smoothed: bool) -> PackedCurves:
    """Return all that the page draws of the runs of a configuration."""
    step = runs[0].step
    result: dict[str, Any] = {
        "every": int(step[1] - step[0]),
        "count": len(step),
        "smoothed": smoothed,
        "seeds": [run.seed for run in runs],
    }
    for score in SCORES:
        raw = np.array([run.curve[score] for run in runs])
        result[score] = {"mean": pack(raw.mean(axis=0), "f8"), "raw": _spread(raw, score)}
        if smoothed:
            result[score]["smooth"] = _spread(smooth(raw), score)
    return result


def _spread(curves: FloatArray, score: str) -> dict[str, Any]:
    """How the seeds lie: interval of the mean, and for returns the rest."""
    result = {"half": pack(half_width(curves), "f4")}
    if score == "episode_return":
        iqm, half = iqm_curve(curves)
        result |= {"iqm": pack(iqm, "f8"), "iqm_half": pack(half, "f4"), "of_seeds": _thin(curves)}
    return result


def _thin(curves: FloatArray) -> dict[str, Any]:
    every = -(-curves.shape[1] // MOST_POINTS)
    shown = curves[:, ::every]
    low, high = float(shown.min()), float(shown.max())
    unit = (high - low) / LEVELS or 1.0
    return {
        "every": every,
        "low": low,
        "unit": unit,
        "at": pack(np.rint((shown - low) / unit), "u2"),
    }
