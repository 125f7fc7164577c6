"""What reaches a terminal: names come from files that may be anybody's, and must not act on it."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from monmdp.cli import plain
from monmdp.escaping import printable

OWN = ("\r", "\x1b[?25h")
"""beginnings of what moves the cursor for us: a line of progress, the end of Typer's bar"""


def make_safe() -> None:
    """Let standard output and error write out control characters, and replace unknown ones."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (for as long as we run)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=plain.ERRORS)  # a terminal that knows no ρ is shown rho
            _escape(stream, OWN if stream is sys.stderr else ())


def _escape(stream: Any, own: tuple[str, ...]) -> None:
    write = stream.write
    stream.write = lambda text: write(text if text.startswith(own) else printable(text))
