"""What all pictures are drawn on: figures that notebooks show, their pixels and files, colour maps.

Figures are made with Matplotlib's Agg canvas and never with pyplot: no global state is touched and
no window opens.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

from monmdp.drawing.labels import brief, shortened
from monmdp.drawing.palette import BLUES, ORANGES
from monmdp.errors import MonMDPError
from monmdp.escaping import printable
from monmdp.files import write_whole
from monmdp.memory import demand_room

Image = NDArray[np.uint8]
"""[height, width, 3], or 4 with transparency"""

DPI, SAVED_DPI = 100, 150
LONGEST_LINE = 200
"""letters of a line; what is longer is cut, unless the picture has room for it"""
LETTERS = 18
"""letters of the smallest kind that fit into an inch"""
LINE = 0.17
"""inches between the lines of a title"""
SUFFIXES = (".png", ".svg", ".pdf")

SEQUENTIAL = LinearSegmentedColormap.from_list("blues", BLUES)
"""light is little, dark is much"""
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


@contextmanager
def boxes_for_missing_glyphs() -> Iterator[None]:
    """Draw a box, without a warning, for a character that the font lacks, such as an emoji."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        yield


class Picture(Figure):
    """A figure, its size in inches, that notebooks show although pyplot does not know of it."""

    def __init__(self, width: float, height: float, *, maths: bool = False) -> None:
        pixels = width * height * SAVED_DPI**2
        demand_room(int(8 * pixels), f"a picture of {width:,.0f} x {height:,.0f} inches")
        super().__init__(figsize=(width, height), dpi=DPI)
        FigureCanvasAgg(self)
        self._maths = maths

    def draw(self, renderer: RendererBase) -> None:
        """Draw it."""
        self._take_words_literally()
        with boxes_for_missing_glyphs():
            super().draw(renderer)

    def get_tightbbox(self, *arguments: Any, **options: Any) -> Any:
        """Measure it, as it would be drawn."""
        self._take_words_literally()
        return super().get_tightbbox(*arguments, **options)

    def _take_words_literally(self) -> None:
        """A name may have dollars in it, and stands for itself."""
        axes = [axis for ax in self.axes for axis in (ax.xaxis, ax.yaxis)]
        ticks = [tick for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks)]
        # Numbers at an axis may be powers of ten, which Matplotlib writes as maths.
        numbers = {
            *(of.offsetText for of in axes),
            *(t for of in ticks for t in (of.label1, of.label2)),
        }
        longest = max(LONGEST_LINE, int(LETTERS * self.get_figwidth()))
        for text in self.findobj(Text):
            if text not in numbers:
                text.set_parse_math(self._maths)
            lines = printable(text.get_text()).split("\n")
            safe = "\n".join(shortened(line, longest) for line in lines)
            if safe != text.get_text():
                text.set_text(safe)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write it; some formats look for glyphs again after everything is drawn."""
        with boxes_for_missing_glyphs():
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        """What Jupyter asks for."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def pixels(figure: Figure) -> Image:
    """Return the pixels of a figure, [height, width, 4]."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.array(canvas.buffer_rgba(), dtype=np.uint8)  # type: ignore[no-untyped-call]


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF, depending on the suffix; all of it or nothing."""
    if not isinstance(figure, Figure):
        raise MonMDPError(f"save takes a figure, such as draw_world returns; got {brief(figure)}")
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise MonMDPError(f"{path}: a picture's name must end in {', '.join(SUFFIXES)}")
    # Without dates and random ids the same figure gives the same bytes.
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    with rc_context({"svg.hashsalt": "monmdp"}), boxes_for_missing_glyphs():
        write_whole(
            path,
            lambda file: figure.savefig(file, format=suffix[1:], dpi=SAVED_DPI, metadata=undated),
        )
