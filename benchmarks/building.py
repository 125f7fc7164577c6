"""How long large problems take to build, to save and to load, and how much memory that takes.

Each part runs in a process of its own, so that its peak of memory is its own. What it is given, the
text of a maze, say, or the matrices, is made before the clock starts; `before` is the peak of
memory until then. Machines differ: the time in which NumPy sorts ten million random numbers is
measured in the same run, and every figure is also given in that unit.

    python benchmarks/building.py                  # all parts, fastest of 3 (2 minutes)
    python benchmarks/building.py --repeats 1      # once each
    python benchmarks/building.py --only maze      # the parts whose names hold this word
    python benchmarks/building.py --json FILE      # the numbers as JSON
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import monmdp
from monmdp import MonMDP, worlds
from planning import random_maze

CELLS = 1.9
"""tiles of a maze for each of its states"""
STATES, ACTIONS, BRANCHING = 100_000, 10, 10
"""of the tables: ten million transitions"""


def maze_text(n_states: int) -> str:
    """The text of a maze of about so many states."""
    size = int(np.sqrt(CELLS * n_states)) // 2 * 2 + 1
    return f"button: 1,1 LEFT\n---\n{random_maze(size)}"


def maze(text: str) -> MonMDP:
    """The problem that text describes, under Button."""
    return monmdp.make(worlds.grid_world(text, slip=0.1, name="maze"), "button")


def tables(order: str = "sorted") -> tuple[Any, np.ndarray]:
    """(P, R): a sparse matrix with one row per pair, and a mean reward for each."""
    rng = np.random.default_rng(0)
    pairs = STATES * ACTIONS
    steps = rng.integers(1, STATES // BRANCHING, (pairs, BRANCHING))
    successor = np.cumsum(steps, axis=1) % STATES
    chance = rng.random((pairs, BRANCHING))
    chance /= chance.sum(axis=1, keepdims=True)
    row = np.repeat(np.arange(pairs), BRANCHING)
    column, value = successor.reshape(-1), chance.reshape(-1)
    if order == "shuffled":
        at = rng.permutation(len(row))
        row, column, value = row[at], column[at], value[at]
    P = scipy.sparse.coo_array((value, (row, column)), shape=(pairs, STATES))
    return P if order == "shuffled" else P.tocsr(), rng.random((STATES, ACTIONS))


def from_tables(given: tuple[Any, np.ndarray]) -> MonMDP:
    """The problem of these tables, under Ask."""
    return monmdp.make(worlds.from_tables(*given, time_limit=100), "ask")


def save(given: tuple[MonMDP, Path]) -> None:
    """Write a problem."""
    problem, path = given
    problem.save(path)


Part = tuple[Callable[[Path], Any], Callable[[Any], Any], float]
"""what makes a part's input, given a folder; what is measured; the seconds that it may take"""
PARTS: dict[str, Part] = {
    "maze, 1M joint states": (lambda _: maze_text(500_000), maze, 3.0),
    "maze, 1M environment states": (lambda _: maze_text(1_000_000), maze, 6.0),
    "tables, 10M, sorted": (lambda _: tables(), from_tables, 10.0),
    "tables, 10M, shuffled": (lambda _: tables("shuffled"), from_tables, 10.0),
    "save maze": (lambda at: (maze(maze_text(500_000)), at / "maze.npz"), save, 5.0),
    "load maze": (lambda at: at / "maze.npz", MonMDP.load, 5.0),
    "save tables": (lambda at: (from_tables(tables()), at / "tables.npz"), save, 5.0),
    "load tables": (lambda at: at / "tables.npz", MonMDP.load, 5.0),
}
NEEDS = {"load maze": "save maze", "load tables": "save tables"}
"""which part leaves the file that another one reads"""


def measure(name: str, repeats: int, folder: Path) -> dict[str, Any]:
    """Seconds and peak memory of one part, in this process."""
    prepare, work, target = PARTS[name]
    monmdp.make("bottleneck", "button")  # imports what building imports
    given = prepare(folder)
    before = _peak()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work(given)
        seconds.append(time.perf_counter() - begin)
    spent = {"seconds": min(seconds), "target_s": target}
    return {"part": name, **spent, "before_gb": before, "peak_gb": _peak()}


def _peak() -> float:
    """The most memory this process has held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def in_own_process(name: str, repeats: int, folder: Path) -> dict[str, Any]:
    """`measure` in a process of its own, so that its peak of memory is its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(measure, name, repeats, folder).result()


def unit() -> float:
    """Seconds in which NumPy sorts ten million random numbers, the fastest of three."""
    numbers = np.random.default_rng(0).integers(0, 2**60, 10_000_000)
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        np.argsort(numbers)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def main() -> None:
    """Run, print, and fail if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="parts whose names hold this word")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    names = [name for name in PARTS if args.only in name]
    if not names:
        parser.error(f"--only {args.only}: the parts are {', '.join(PARTS)}")

    sort = unit()
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__},")
    print(f"fastest of {args.repeats}; np.argsort of 10M random int64 takes {sort:.2f} s\n")
    print(f"{'part':<28} {'seconds':>8} {'target':>8} {'in sorts':>9} {'before':>8} {'peak':>8}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        done: set[str] = set()
        for name in names:
            if name in NEEDS and NEEDS[name] not in done:
                in_own_process(NEEDS[name], 1, Path(folder))
            row = in_own_process(name, args.repeats, Path(folder))
            done.add(name)
            rows.append(row | {"in_sorts": row["seconds"] / sort})
            print(
                f"{name:<28} {row['seconds']:>6.2f} s {row['target_s']:>6.0f} s "
                f"{row['seconds'] / sort:>9.2f} {row['before_gb']:>5.2f} GB "
                f"{row['peak_gb']:>5.2f} GB",
                flush=True,
            )
    if args.json:
        args.json.write_text(json.dumps({"argsort_s": sort, "parts": rows}, indent=2))
    missed = [row["part"] for row in rows if row["seconds"] > row["target_s"]]
    if missed:
        sys.exit(f"a target was missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
