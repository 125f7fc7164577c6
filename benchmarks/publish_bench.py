"""Write the file of published scores, src/monmdp/suites/bench/bench-v1.parquet, from runs.

    monmdp run bench-v1 --out results
    python benchmarks/publish_bench.py results

All runs of the suite must be in the folder, made by today's code.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from monmdp.results.benchmarking import BENCH, published_path, save, scored
from monmdp.results.evidence import gather, reader
from monmdp.results.store import take_inventory
from monmdp.suites import bundled_suite, expand


def main() -> None:
    """Score the runs and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of results")
    folder = parser.parse_args().folder
    plan = expand(bundled_suite(BENCH))
    found = take_inventory(folder, {key: of.wanted for key, of in plan.runs().items()})
    if found.missing or found.unreadable or found.stale:
        wrong = f"{len(found.missing)} runs are missing, {len(found.stale)} are stale"
        sys.exit(f"{folder}: {wrong}; monmdp run {BENCH} --stale --out {folder}")
    evidence = gather([plan], reader(folder), {})
    path = published_path()
    save(scored(plan, evidence, reader(folder)), path)
    seconds = sum(of.cpu_seconds for of in evidence.aggregates.values())
    size = path.stat().st_size
    print(f"{len(plan.runs()):,} runs, {seconds:.0f} CPU seconds -> {path}, {size:,} bytes")


if __name__ == "__main__":
    main()
