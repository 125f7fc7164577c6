"""Arrays and learning curves on their way into a page: small, and safe between HTML tags.

An array travels as the deflated bytes of its entries, little-endian and in C order, in base64; the
page inflates what it draws. Nothing is rounded, other than by the type that is chosen.

Of learning curves, means and interquartile means are kept in double precision, at every test. Half
widths of intervals are in single precision. The curves of single seeds are there to be
looked at: of long ones every k-th test is kept, and values are rounded to 65,535 steps of their
range.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from monmdp.experiment import Run
from monmdp.model.arrays import FloatArray
from monmdp.results.evidence import SCORES
from monmdp.stats import half_width, iqm_curve, smooth

DTYPES = ("f8", "f4", "i4", "u2", "u1")
MOST_POINTS = 100
"""of the curve of one seed"""
LEVELS = 65_535

PackedCurves = Mapping[str, Any]
"""steps, and for each score what is drawn of it"""


def pack(array: ArrayLike, dtype: str) -> dict[str, Any]:
    """Return an array as plain data, its entries as one of `DTYPES`."""
    assert dtype in DTYPES
    values = np.ascontiguousarray(array, dtype=f"<{dtype}")
    return {
        "dtype": dtype,
        "shape": list(values.shape),
        "data": base64.b64encode(zlib.compress(values.tobytes(), 9)).decode(),
    }


def unpack(packed: dict[str, Any]) -> Any:
    """Return the array that `pack` was given."""
    data = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(data, dtype=f"<{packed['dtype']}").reshape(packed["shape"])


def script_json(data: Any) -> str:
    """Return data as JSON that may stand in a script element: it cannot end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def finite(value: float) -> float | None:
    """Return a number as JSON can hold it; None for what is not finite."""
    return float(value) if np.isfinite(value) else None


def packed_curves(runs: Sequence[Run], smoothed: bool) -> PackedCurves:
    """Return all that the page draws of the runs of a configuration."""
    step = runs[0].step
    result: dict[str, Any] = {
        "every": runs[0].settings["every"],
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
