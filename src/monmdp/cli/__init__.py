"""The command line: parsing and printing only.

Everything heavy is imported inside the commands, so that ``monmdp --help`` answers at once.
"""

from __future__ import annotations

import io
import sys

# Importing the modules adds their commands, in the order in which --help lists them.
from monmdp.cli import problems, running, results, policies, theory  # isort: skip
from monmdp.cli.app import app
from monmdp.errors import MonMDPError
from monmdp.stopping import stoppable

__all__ = ["app", "main", "policies", "problems", "results", "running", "theory"]


def main() -> None:
    """Run the command line; errors that concern the user become one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ⊥ still gets the rest
    try:
        with stoppable():
            app(prog_name="monmdp")
    except MonMDPError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
