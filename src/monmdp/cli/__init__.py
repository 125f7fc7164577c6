"""The command line: parsing and printing only.

Everything heavy is imported inside the commands, so that ``monmdp --help`` answers at once.
"""

from __future__ import annotations

import io
import sys

# Importing the modules adds their commands, in the order in which --help lists them.
from monmdp.cli import problems, results, rollout, theory, training
from monmdp.cli.app import app
from monmdp.errors import MonMDPError

__all__ = ["app", "main", "problems", "results", "rollout", "theory", "training"]


def main() -> None:
    """Run the command line; errors that concern the user become one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ⊥ still gets the rest
    try:
        app()
    except MonMDPError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
