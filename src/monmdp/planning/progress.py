"""How far a solve is, for those who wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable

Tell = Callable[[str], None]
"""called with a short line"""

INTERVAL = 0.25
"""seconds between two lines"""


class Progress:
    """Tells where a solve stands, now and then, if somebody wants to know."""

    def __init__(self, tell: Tell | None) -> None:
        """Begin to wait for the first line."""
        self.tell = tell
        self.last = time.monotonic()

    def __call__(self, line: str) -> None:
        """Tell this line, unless the last one is too recent."""
        if self.tell is not None and time.monotonic() - self.last >= INTERVAL:
            self.last = time.monotonic()
            self.tell(line)


SILENT = Progress(None)
