"""What reaches a terminal: names come from files that may be anybody's, and must not act on it."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from monmdp.cli import plain
from monmdp.escaping import printable

OWN = ("\r",)
"""beginning of what moves the cursor for us: a line of progress"""


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


def ignore_settings_here() -> None:
    """Let nobody's files in the working directory say what numba and Matplotlib do.

    Both read settings from there when they are imported, and those can name code: where compiled
    functions are loaded from, what TeX is given to read.
    """
    files = [name for name in (".numba_config.yaml", "matplotlibrc") if os.path.lexists(name)]
    for name in files:
        print(f"{name} in this folder is ignored", file=sys.stderr, flush=True)
    if files:
        here = os.getcwd()
        os.chdir(os.path.dirname(__file__))
        try:
            import matplotlib  # noqa: F401

            from monmdp.compiling import import_numba

            import_numba()
        finally:
            os.chdir(here)
