"""Doing runs again to see whether they come out the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.results.runner import Failure, Key, work
from monmdp.results.store import read_shard, shard_path
from monmdp.suites import Configuration


@dataclass(frozen=True)
class Verified:
    """One run, done again."""

    path: Path
    same: bool
    remark: str
    """what may explain a difference"""


def verify_runs(
    folder: Path, runs: Mapping[Key, Configuration], sample: int, seed: int
) -> Iterator[Verified]:
    """Do some of the runs in a folder again, chosen at random, and compare their data."""
    there = [key for key in sorted(runs) if shard_path(folder, *key).exists()]
    chosen = np.random.default_rng(seed).permutation(len(there))[:sample]
    for i in sorted(chosen):
        key = there[i]
        path = shard_path(folder, *key)
        try:
            kept = read_shard(path)
        except MonMDPError as error:
            yield Verified(path, False, str(error))
            continue
        again = work(key, runs[key])
        if isinstance(again, Failure):
            yield Verified(path, False, again.reason)
            continue
        same = kept.data() == again.shard.data()
        yield Verified(
            path, same, "" if same else _difference(kept.provenance, again.shard.provenance)
        )


def _difference(then: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Which of kernel, versions and machine are others than they were."""
    keys = [key for key in ("kernel", "versions", "machine") if then.get(key) != now.get(key)]
    if not keys:
        return "made by the same code on the same machine: the file was changed, or this is a bug"
    return "then " + ", ".join(f"{key} {then.get(key)}, now {now.get(key)}" for key in keys)
