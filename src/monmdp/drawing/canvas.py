"""The figure that all pictures are drawn on."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


@contextmanager
def boxes_for_missing_glyphs() -> Iterator[None]:
    """Let a character that the font lacks, such as an emoji in a name, be a box without a word."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        yield


class Picture(Figure):
    """A figure that notebooks show, although no part of pyplot knows about it."""

    def __init__(self, figsize: tuple[float, float], dpi: float) -> None:
        """Make it so many inches wide and high."""
        super().__init__(figsize=figsize, dpi=dpi)
        FigureCanvasAgg(self)

    def draw(self, renderer: RendererBase) -> None:
        """Draw it."""
        with boxes_for_missing_glyphs():
            super().draw(renderer)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write it; some formats look for glyphs once more after all is drawn."""
        with boxes_for_missing_glyphs():
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        """What Jupyter asks for."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
