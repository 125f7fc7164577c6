"""The command line: parsing and printing only.

Everything heavy is imported inside the commands, so that ``monmdp --help`` answers at once.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from typing import Any

# Importing the modules adds their commands, in the order in which --help lists them.
from monmdp.cli import problems, data, instrumenting, running, benchmarking  # isort: skip
from monmdp.cli import results, policies, theory  # isort: skip
from monmdp.cli.app import app, print_nothing_more
from monmdp.cli.terminal import ignore_settings_here, make_safe
from monmdp.errors import MonMDPError
from monmdp.monitors import CostWarning
from monmdp.stopping import stoppable
from monmdp.worlds import AliasedWarning

__all__ = [
    "app",
    "benchmarking",
    "data",
    "instrumenting",
    "main",
    "policies",
    "problems",
    "results",
    "running",
    "theory",
]


def main() -> None:
    """Run the command line; errors that concern the user become one line and exit code 2."""
    make_safe()
    ignore_settings_here()
    _say_warnings_in_words()
    try:
        try:
            with stoppable():
                app(prog_name="monmdp")
        finally:
            sys.stdout.flush()  # what cannot be printed is known now, not when Python has ended
    except BrokenPipeError:
        print_nothing_more()
    except (MonMDPError, OSError) as error:
        said = str(error) if isinstance(error, MonMDPError) else _in_words(error)
        with suppress(OSError):
            print(f"error: {said}", file=sys.stderr, flush=True)
        sys.exit(2)


def _say_warnings_in_words() -> None:
    """Let what a user should know of a problem be a note, without the place in our code."""
    as_python_does = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, AliasedWarning | CostWarning):
            print(f"note: {message}", file=sys.stderr, flush=True)
        else:
            as_python_does(message, category, *where, **more)

    warnings.showwarning = show


def _in_words(error: OSError) -> str:
    """What the system refused; where no file is named it was the output, to a full device say."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    with suppress(OSError):
        print_nothing_more()
    return f"cannot write the output: {error.strerror or error}"
