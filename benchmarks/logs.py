"""How long reading a log takes, and how much memory: a million rows, and ten million.

The log is drawn from a world with a million different outcomes at most, written a part at a time,
and read in a process of its own, whose peak memory is that of Python, of the libraries, and of the
fit. Numbers depend on the machine; what counts is that memory does not grow with the rows.

    python benchmarks/logs.py                      # Parquet and CSV, 10⁶ and 10⁷ rows
    python benchmarks/logs.py --rows 1000000 --world random-mdp
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

import monmdp
from monmdp import Policy, experiment

PART = 1_000_000
READ = """
import sys, time
from monmdp import worlds
def peak():  # of this process; getrusage would tell that of the one it was forked from
    with open("/proc/self/status") as status:
        return next(float(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e6
import pandas, pyarrow.parquet, pyarrow.csv, scipy.stats
libraries = peak()
begin = time.perf_counter()
monitor = {f"monitor_{of}": f"monitor_{of}" for of in ("state", "action", "reward")}
problem = worlds.from_log(sys.argv[1], **monitor)
seconds = time.perf_counter() - begin
print(seconds, libraries, peak(), problem.evidence.rows, problem.mdp.n_outcomes)
"""


def write(path: Path, problem: monmdp.MonMDP, rows: int) -> None:
    """Write a log, a million rows at a time."""
    writer, first = None, 0
    for seed in range(-(-rows // PART)):
        n = min(PART, rows - seed * PART)
        frame = experiment.draw_log(problem, Policy.uniform(problem), rows=n, seed=seed)
        frame["episode"] += first
        first = int(frame["episode"].iloc[-1]) + 1
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if writer is None:
            kind = parquet.ParquetWriter if path.suffix == ".parquet" else csv.CSVWriter
            writer = kind(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def main() -> None:
    """Write logs, read them, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--world", default="rooms-20x20")
    parser.add_argument("--monitor", default="ask")
    parser.add_argument("--endings", nargs="*", default=[".parquet", ".csv"])
    args = parser.parse_args()
    problem = monmdp.make(args.world, args.monitor)
    print(problem)
    print(
        f"{'rows':>12} {'file':<9} {'size':>8} {'seconds':>8} {'peak':>8} {'libraries':>9} outcomes"
    )
    with tempfile.TemporaryDirectory() as folder:
        for rows in args.rows:
            for ending in args.endings:
                path = Path(folder) / f"log{ending}"
                write(path, problem, rows)
                done = subprocess.run(
                    [sys.executable, "-c", READ, str(path)],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                seconds, libraries, peak, read, outcomes = done.stdout.split()
                assert int(read) == rows
                if rows <= PART and (float(seconds) > 10 or float(peak) > 2):
                    sys.exit(f"a million rows took {seconds} s and {peak} GB")
                print(
                    f"{rows:>12,} {ending:<9} {path.stat().st_size / 1e6:>5,.0f} MB "
                    f"{float(seconds):>7.1f}s {float(peak):>5.2f} GB {float(libraries):>6.2f} GB "
                    f"{int(outcomes):,}",
                    flush=True,
                )
                path.unlink()


if __name__ == "__main__":
    main()
