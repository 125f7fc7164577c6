"""How often does control pass from one module to another while a command runs?

Whoever follows a command through the code jumps as often. A switch is counted when a function is
called and the function called before it, in the same thread, belongs to another module of the
package. Returns do not count, nor do comprehensions, lambdas and the bodies of modules. Everything
is loaded and compiled before: a command of the same kind, for another problem, has been run in the
same process. By this definition `train` took 341 switches before its pipeline was joined with that
of the suites.

    python benchmarks/module_switches.py [--pairs 10]

follows `monmdp train` and `monmdp reproduce` and prints their switches: up to the first run, in
runs, and afterwards, for tables and figures; how many modules are visited; and the pairs of modules
with the most switches. With PYTHONPATH=/another/checkout/src it does so for another version.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import monmdp
from monmdp import cli

PACKAGE = Path(monmdp.__file__).parent
AGENT = ("--agent", "monitored-mbie-eb")
COMMANDS = (
    # what warms up, and what is followed
    (
        ("train", "loop", "button", "--seeds", "1", "--steps", "300", *AGENT),
        ("train", "loop", "ask", "--seeds", "1", "--steps", "200", *AGENT),
    ),
    (
        ("reproduce", "figure-11", "--quick", "--seeds", "1"),
        ("reproduce", "figure-4", "--quick", "--seeds", "1"),
    ),
)
BEFORE, DURING, AFTER = "before the runs", "in runs", "after them"


def run(words: tuple[str, ...]) -> None:
    """Run a command line in an empty folder, without its words."""
    sys.argv = ["monmdp", *words]
    said, here = io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
        os.chdir(folder)
        try:
            with contextlib.redirect_stderr(said):
                cli.main()
        except SystemExit as end:
            if end.code:
                sys.exit(said.getvalue())
        finally:
            os.chdir(here)


class Followed:
    """The calls of a command, in the order in which they were made."""

    def __init__(self, words: tuple[str, ...]) -> None:
        """Run a command, and take note of every call of a function of the package."""
        self.modules: set[str] = set()
        self.switches: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self._last: dict[int, str] = {}
        self._runs = 0
        self._under_way = 0
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            run(words)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _note(self, frame, event: str, _) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(PACKAGE)) or code.co_name.startswith("<"):
            return
        does_a_run = code.co_name == "carry_out"
        if event == "return" and does_a_run:
            self._under_way -= 1
        if event != "call":
            return
        self._under_way += does_a_run
        self._runs += does_a_run
        module, thread = str(Path(code.co_filename).relative_to(PACKAGE)), threading.get_ident()
        before = self._last.get(thread, module)
        self._last[thread] = module
        self.modules.add(module)
        if before != module:
            phase = DURING if self._under_way else AFTER if self._runs else BEFORE
            self.switches[phase] += 1
            self.pairs[before, module] += 1


def main() -> None:
    """Follow the commands and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10, help="how many pairs of modules to print")
    args = parser.parse_args()
    print(f"monmdp in {PACKAGE}")
    for warming_up, words in COMMANDS:
        run(warming_up)
        found = Followed(words)
        phases = ", ".join(
            f"{found.switches[phase]:,} {phase}" for phase in (BEFORE, DURING, AFTER)
        )
        print(f"\nmonmdp {' '.join(words)}")
        print(
            f"{found.switches.total():,} switches: {phases}; {len(found.modules)} modules, "
            f"{len(found.pairs)} pairs of them"
        )
        for (one, other), n in found.pairs.most_common(args.pairs):
            print(f"{n:6,}  {one} -> {other}")


if __name__ == "__main__":
    main()
