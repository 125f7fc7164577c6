"""Doing runs again to see whether they come out the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.results.runner import Failure, work
from monmdp.results.store import Key, read_run, run_path
from monmdp.suites import Resolved


@dataclass(frozen=True)
class Verified:
    """One run, done again."""

    path: Path
    same: bool
    remark: str
    """what may explain a difference"""


def verify_runs(
    folder: Path, runs: Mapping[Key, Resolved], sample: int, seed: int
) -> Iterator[Verified]:
    """Do some of the runs in a folder again, chosen at random, and compare their data."""
    there = [key for key in sorted(runs) if run_path(folder, *key).exists()]
    chosen = np.random.default_rng(seed).permutation(len(there))[:sample]
    for i in sorted(chosen):
        key = there[i]
        path = run_path(folder, *key)
        try:
            kept = read_run(path)
        except MonMDPError as error:
            yield Verified(path, False, str(error))
            continue
        again = work(runs[key], key[1])
        if isinstance(again, Failure):
            yield Verified(path, False, again.reason)
            continue
        same = kept.data() == again.data()
        remark = "" if same else _difference(kept.provenance, again.provenance)
        yield Verified(path, same, remark)


def _difference(then: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Which of kernel, versions and machine have changed since."""
    keys = [key for key in ("kernel", "versions", "machine") if then.get(key) != now.get(key)]
    if not keys:
        return "made by the same code on the same machine: the file was changed, or this is a bug"
    return "then " + ", ".join(f"{key} {then.get(key)}, now {now.get(key)}" for key in keys)
