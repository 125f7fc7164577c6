"""Colour maps of numbers: light is little, dark is much, on both sides of a centre."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from monmdp.drawing.palette import BLUES, ORANGES

SEQUENTIAL = LinearSegmentedColormap.from_list("blues", BLUES)
DIVERGING = LinearSegmentedColormap.from_list(
    "oranges-blues",
    [
        *zip(np.linspace(0, 0.5, len(ORANGES)), ORANGES[::-1], strict=True),
        *zip(np.linspace(0.5, 1, len(BLUES)), BLUES, strict=True),
    ],
)
"""orange below the centre, blue above"""
NOTHING = "#dedbd1"
"""where there is no number: neither colour map has it"""
