"""The figure that all pictures are drawn on."""

from __future__ import annotations

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that notebooks show, although no part of pyplot knows about it."""

    def __init__(self, figsize: tuple[float, float], dpi: float) -> None:
        """Make it so many inches wide and high."""
        super().__init__(figsize=figsize, dpi=dpi)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        """What Jupyter asks for."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
