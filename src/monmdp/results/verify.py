"""Doing runs again to see whether they come out the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.experiment.provenance import stored_agent
from monmdp.experiment.training import EPISODES
from monmdp.results.runner import Failure, work
from monmdp.results.store import Key, read_problem, read_run, run_path
from monmdp.schema import UnreadableError
from monmdp.suites import Configuration, Resolved, resolve
from monmdp.suites.configuration import Wanted, digest


@dataclass(frozen=True)
class Verified:
    """One run, done again."""

    path: Path
    same: bool | None
    """as it was, to the byte; None: it could not be done again"""
    remark: str
    """what may explain a difference, or why it was not done"""


def verify_runs(
    folder: Path, runs: Mapping[Key, Wanted], sample: int, seed: int, trusted: Collection[str] = ()
) -> Iterator[Verified]:
    """Do some of the runs in a folder again, chosen at random, and compare their data.

    Problems are those kept with the runs. Agents that are somebody's own are used if their modules
    are `trusted`.
    """
    there = [key for key in sorted(runs) if run_path(folder, *key).exists()]
    chosen = np.random.default_rng(seed).permutation(len(there))[:sample]
    for key in (there[i] for i in sorted(chosen)):
        path = run_path(folder, *key)
        try:
            kept = read_run(path)
        except MonMDPError as error:
            same = None if isinstance(error, UnreadableError) else False
            yield Verified(path, same, str(error).removeprefix(f"{path}: "))
            continue
        try:
            again = work(rebuilt(folder, kept.settings, trusted), key[1])
        except MonMDPError as error:
            again = Failure(str(error))
        if isinstance(again, Failure):
            yield Verified(path, None, again.reason)
            continue
        same = kept.data() == again.data()
        remark = "" if same else _difference(kept.provenance, again.provenance)
        yield Verified(path, same, remark)


def rebuilt(folder: Path, settings: Mapping[str, Any], trusted: Collection[str] = ()) -> Resolved:
    """Make what a run was done with, from what is kept of it."""
    how = {key: settings[key] for key in ("steps", "every", "evaluation", "gamma")}
    how |= {"episodes": settings["episodes"] or EPISODES, "monitor": None}
    world, agent = read_problem(folder, settings), stored_agent(settings, trusted)
    found = resolve(Configuration(world=world, agent=agent, **how))
    if digest(found.settings) != digest(settings):
        raise MonMDPError("the version that is installed cannot do this run")
    return found


def _difference(then: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Which of kernel, versions and machine have changed since."""
    keys = [key for key in ("kernel", "versions", "machine") if then.get(key) != now.get(key)]
    if not keys:
        return "made by the same code on the same machine: the file was changed, or this is a bug"
    return "then " + ", ".join(f"{key} {then.get(key)}, now {now.get(key)}" for key in keys)
