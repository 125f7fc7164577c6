"""When Factored MBIE-EB says that its policy is within 1 % of the best, how soon, and is it right?

    python benchmarks/certificates.py FOLDER [--only bottleneck] [--json FILE]

Reads the runs of a folder of results that have the agent's default settings, whatever the
discount, and prints a table of problems and budgets: how many runs are certified and after how
many steps (median of those that are), the steps to 1 % (median, as in all reports), and how many
certificates are wrong. One is *wrong* if the test policy is not within 1 % of the minimax-optimal
return, in M↓ and in units of max(1, |v|), at the first checkpoint from the certificate's step
on. Certificates that come after the last checkpoint are *untested*. The file also has sums by
world.

Runs that other code of the agent has made are left out and counted; so are those that do not say
whether they are certified, those that cannot be read and those whose problem is not there. A run
with a shorter budget is the beginning of one with a longer: of these only the longest counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from monmdp import MonMDPError, agents, planning
from monmdp.experiment.provenance import kernel_hash
from monmdp.results.evidence import OPTIMAL
from monmdp.results.store import read_footer, read_problem, read_run, run_files
from monmdp.stats import geometric_mean, median_time, steps_to
from monmdp.suites.configuration import unusual_parameters
from monmdp.tables import Column, Table, plural

AGENT = "factored-mbie-eb"
COLUMNS = (
    Column("setting"),
    Column("budget", form=",.0f"),
    Column("runs", form=",.0f"),
    Column("certified", form=",.0f"),
    Column("after steps", ("median_certificate",), form=",.0f"),
    Column("steps to 1 %", ("median_steps_to_1pct",), form=",.0f", missing="never"),
    Column("wrong", form=",.0f"),
    Column("untested", form=",.0f"),
)
COUNTED = ("runs", "certified", "wrong", "untested")
OTHER, SILENT, LOST = "other settings of the agent", "do not say", "not readable, or no problem"
STALE = "made by other code"
SHORTER = "the beginnings of longer ones"
"""why runs are left out"""


def main() -> None:
    """Read, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of results")
    parser.add_argument("--only", default="", help="settings that contain this text")
    parser.add_argument("--json", type=Path, help="write what was found there, too")
    args = parser.parse_args()
    configurations, left_out = sorted_out(args.folder, args.only)
    rows = []
    for paths in configurations:
        try:
            rows.append(row_of(args.folder, paths))
        except (MonMDPError, OSError) as error:
            print(error, file=sys.stderr)
            left_out[LOST] += len(paths)
    table = Table.of(COLUMNS, sorted(rows, key=lambda row: row[:2]))
    print(table.to_markdown())
    found = table.records()
    totals = summed(found)
    print(
        f"\n{plural(len(found), 'setting')}, {plural(totals['runs'], 'run')}: "
        f"{totals['certified']:,} certified, {totals['wrong']:,} of them wrong and "
        f"{totals['untested']:,} untested"
    )
    for why, n in left_out.items():
        print(f"left out: {plural(n, 'run')} ({why})")
    if args.json:
        of_world = groupby(found, lambda of: str(of["setting"]).split()[0])
        said = {
            "agent": AGENT,
            "within": OPTIMAL,
            "settings": found,
            "worlds": {name: summed(list(of)) for name, of in of_world},
            "totals": totals,
            "left_out": dict(left_out),
        }
        text = json.dumps(said, indent=1)
        args.json.write_text(text + "\n", encoding="utf-8")


def summed(settings: list[dict[str, Any]]) -> dict[str, Any]:
    """Sums over settings, and how many times the steps to 1 % it takes to be certified."""
    medians = [(of["median_certificate"], of["median_steps_to_1pct"]) for of in settings]
    times = [step / optimal for step, optimal in medians if step and optimal]
    sums = {name: sum(int(of[name] or 0) for of in settings) for name in COUNTED}
    return {"settings": len(settings), **sums, "times": geometric_mean(times) if times else None}


def sorted_out(folder: Path, only: str) -> tuple[list[list[Path]], Counter[str]]:
    """The files of the runs that count, by configuration; and how many do not, and why."""
    usual, kernel = agents.KINDS[AGENT]().hyper_parameters(), kernel_hash(agents.KINDS[AGENT]())
    longest: dict[tuple[Any, ...], tuple[int, Path]] = {}
    left_out: Counter[str] = Counter()
    for path in run_files(folder):
        try:
            footer = read_footer(path)
        except (MonMDPError, OSError):
            left_out[LOST] += 1
            continue
        settings = footer["settings"]
        if settings["agent"] != AGENT or only not in named(settings):
            continue
        if settings["parameters"] | {"gamma": usual["gamma"]} != usual:
            left_out[OTHER] += 1
        elif footer["provenance"]["kernel"] != kernel:
            left_out[STALE] += 1
        elif "certified" not in footer:
            left_out[SILENT] += 1
        else:
            run = (settings["problem"], settings["parameters"]["gamma"], path.name)
            left_out[SHORTER] += run in longest
            found = (settings["steps"], path)
            longest[run] = max(found, longest.get(run, found))
    kept: dict[Path, list[Path]] = {}
    for _, path in longest.values():
        kept.setdefault(path.parent, []).append(path)
    return list(kept.values()), left_out


def named(settings: dict[str, Any]) -> str:
    """World and monitor, and all parameters that tell the problem from the usual one."""
    words = {part: [str(settings[part])] for part in ("world", "monitor")}
    for key, value in unusual_parameters(settings).items():
        part, _, name = key.partition(".")
        words[part].append(f"{name}={value}")
    return " / ".join(" ".join(of) for of in words.values())


def row_of(folder: Path, paths: list[Path]) -> tuple[Any, ...]:
    """What the runs of a configuration come to, see COLUMNS."""
    runs = [read_run(path) for path in paths]
    settings = dict(runs[0].settings)
    v = _minimax(folder, settings["problem"], settings["gamma"])
    bound = v - OPTIMAL * max(1.0, abs(v))
    returns = np.array([run.curve["worst_case_return"] for run in runs])
    taken = median_time(*steps_to(runs[0].step, returns, bound))
    steps = [run.certified for run in runs if run.certified is not None]
    wrong = untested = 0
    for run, tests in zip(runs, returns, strict=True):
        if run.certified is not None:
            first = int(np.searchsorted(run.step, run.certified))
            untested += first == len(tests)
            wrong += bool(np.any(tests[first : first + 1] < bound))
    after = median(steps) if steps else None
    counts = (settings["steps"], len(runs), len(steps))
    return (named(settings), *counts, after, taken, wrong, untested)


@cache
def _minimax(folder: Path, problem: str, gamma: float) -> float:
    """The return of an episode of the minimax-optimal policy, in M↓."""
    return planning.solve(read_problem(folder, {"problem": problem}), gamma).episode_return


if __name__ == "__main__":
    main()
