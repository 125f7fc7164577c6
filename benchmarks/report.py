"""How long the report of a folder of results takes, and how large it is.

    python benchmarks/report.py results

Wanted for the whole paper: under 60 s on two cores, under 2 GB of memory, under 15 MB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Measure one report, imports included."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results"))
    folder = parser.parse_args().folder
    begin = time.perf_counter()
    from monmdp.report import write_page

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "report.html"
        made = write_page([folder], path)
        size = path.stat().st_size / 1e6
    seconds = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    runs = sum(chapter.there for chapter in made.chapters)
    settings = sum(len(chapter.settings) for chapter in made.chapters)
    print(f"{runs:,} runs, {settings} settings: {seconds:.1f} s, {memory:.2f} GB, {size:.1f} MB")
    missed = [seconds > 60, memory > 2, size > 15]
    if any(missed):
        sys.exit("a target is missed")


if __name__ == "__main__":
    main()
