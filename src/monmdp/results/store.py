"""Results on disk: one immutable Parquet file for each run, found by its configuration and seed.

::

    DIR/runs/<configuration's id>/seed-0007.parquet     a run: its learning curve, and in the
                                                        footer its settings and where it comes from
    DIR/set-aside/                                      what was damaged or did not belong there
    DIR/reports/<name>/                                 what was asked for, figures, claims, tables

A run is there when its file is there: files are written whole or not at all, carry a checksum, and
whoever resumes does what is missing. Nobody but the runner writes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp import monitors, worlds
from monmdp.errors import MonMDPError
from monmdp.experiment.evaluation import SCORES
from monmdp.experiment.loop import COUNTERS, LEDGER
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.naming import scope_of
from monmdp.results.sealed import DamagedError, read_sealed, write_sealed
from monmdp.suites import Configuration, resolve
from monmdp.suites.plan import digest

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "monmdp-shard-3"
COLUMNS = ("step", *SCORES, *COUNTERS, *LEDGER)
SUFFIX = ".parquet"
PATIENCE = 1.0
"""seconds to wait for a lock: shards that start together hold it alone for a moment"""


@dataclass(frozen=True, eq=False)
class Shard:
    """One run as it is on disk."""

    settings: Mapping[str, Any]
    seed: int
    provenance: Mapping[str, Any]
    """kernel hash, versions, commit, machine, wall and CPU seconds, when it was written"""
    step: IntArray
    """[checkpoint]"""
    curve: Mapping[str, FloatArray]
    """column -> [checkpoint]"""

    def data(self) -> bytes:
        """Return the bytes of all columns: what must be the same however the run was done."""
        arrays = [self.step, *(self.curve[name] for name in COLUMNS[1:])]
        return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def shard_path(folder: Path, configuration_id: str, seed: int) -> Path:
    """Return where a run is kept."""
    return folder / "runs" / configuration_id / f"seed-{seed:04d}{SUFFIX}"


def write_shard(path: Path, shard: Shard) -> None:
    """Write a run; the file is there whole or not at all."""
    import pyarrow as pa

    footer = {
        "format": FORMAT,
        "settings": shard.settings,
        "seed": shard.seed,
        "provenance": shard.provenance,
    }
    table = pa.table({"step": shard.step, **{name: shard.curve[name] for name in COLUMNS[1:]}})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MonMDPError(f"cannot write {path}: {error.strerror or error}") from None
    write_sealed(path, table, footer, use_dictionary=False)


def read_shard(path: Path) -> Shard:
    """Read a run; `DamagedError` if it is none, or lies where another one belongs."""
    footer, table = _read(path, COLUMNS)
    columns = {name: table[name].to_numpy() for name in COLUMNS}
    return Shard(
        settings=footer["settings"],
        seed=footer["seed"],
        provenance=footer["provenance"],
        step=columns.pop("step"),
        curve=columns,
    )


def read_footer(path: Path) -> dict[str, Any]:
    """Read what a run says of itself, without its data; they are checked, too."""
    footer, _ = _read(path, ())
    return footer


def _read(path: Path, columns: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
    footer, table = read_sealed(path, FORMAT, columns)
    its_id, its_seed = digest(footer["settings"]), footer["seed"]
    if path.stem != f"seed-{its_seed:04d}" or not path.parent.name.endswith(f"-{its_id}"):
        raise DamagedError(f"{path}: holds another run, of seed {its_seed} and settings {its_id}")
    return footer, table


# ---- what is there --------------------------------------------------------------------------


@dataclass(frozen=True)
class Inventory:
    """What is there of the runs that were asked for; keys are (configuration's id, seed)."""

    there: tuple[tuple[str, int], ...]
    stale: tuple[tuple[str, int], ...]
    """there, but made by other code than today's; also in `there`"""
    missing: tuple[tuple[str, int], ...]
    damaged: Mapping[tuple[str, int], str]
    """why; they count as missing"""
    cpu_seconds: Mapping[tuple[str, int], float]


def take_inventory(folder: Path, runs: Mapping[tuple[str, int], Configuration]) -> Inventory:
    """Look for runs; changes nothing."""
    there, stale, missing, damaged, cpu = [], [], [], {}, {}
    for key, configuration in runs.items():
        try:
            footer = read_footer(shard_path(folder, *key))
        except FileNotFoundError:
            missing.append(key)
            continue
        except DamagedError as error:
            damaged[key] = str(error)
            missing.append(key)
            continue
        there.append(key)
        cpu[key] = float(footer["provenance"].get("cpu_seconds", float("nan")))
        if footer["provenance"].get("kernel") != resolve(configuration).kernel:
            stale.append(key)
    return Inventory(tuple(there), tuple(stale), tuple(missing), damaged, cpu)


def strangers(folder: Path, runs: Iterable[tuple[str, int]]) -> tuple[list[Path], list[Path]]:
    """Return the runs that nobody asked for, and the files that are no runs, in ``runs/``."""
    asked = {shard_path(folder, *key) for key in runs}
    idle, foreign = [], []
    for path in sorted((folder / "runs").rglob("*")):
        if path.is_dir() or path in asked or _is_part(path):
            continue
        try:
            read_footer(path)
            idle.append(path)
        except FileNotFoundError:  # taken away meanwhile
            continue
        except MonMDPError:
            foreign.append(path)
    return idle, foreign


def parts(folder: Path) -> list[Path]:
    """Return what killed runners left half-written, and what is being written now."""
    return sorted(path for path in (folder / "runs").rglob("*") if _is_part(path))


def _is_part(path: Path) -> bool:
    return path.name.startswith(".") and path.suffix == ".part"


def set_aside(folder: Path, path: Path) -> Path:
    """Move a file out of the way, never over another one; return where it is now."""
    place = folder / "set-aside" / path.relative_to(folder / "runs")
    n = 0
    while place.exists():
        n += 1
        place = place.with_name(f"{path.name}.{n}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, place)
    except OSError as error:
        raise MonMDPError(f"cannot set {path} aside: {error.strerror or error}") from None
    return place


def remove_parts(folder: Path) -> None:
    """Remove what killed runners left half-written; for the only runner in a folder."""
    for path in parts(folder):
        with suppress(OSError):
            path.unlink()


# ---- one runner at a time -------------------------------------------------------------------


@contextmanager
def locked(folder: Path, shard: tuple[int, int] | None = None) -> Iterator[bool]:
    """Hold a folder while working in it; yields whether nobody else can be at work there.

    A whole run holds it alone. The shards of one split, 1/4 to 4/4, share it, each held once. The
    system lets go when the process ends, however it ends.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = open(folder / "lock", "a+")  # noqa: SIM115
    except OSError as error:
        raise MonMDPError(f"cannot use {folder} for results: {error.strerror or error}") from None
    with handle:
        held = _hold(handle, folder, shard)
        if shard is None:
            yield held
            return
        name = f"lock-{shard[0]}-of-{shard[1]}"
        with open(folder / name, "a+") as own:
            _hold(own, folder, None, f"shard {shard[0]}/{shard[1]}")
            yield False


def _hold(handle: Any, folder: Path, shard: tuple[int, int] | None, what: str = "") -> bool:
    """Take a lock, alone or shared between the shards of one split; False if there are none."""
    try:
        import fcntl
    except ImportError:  # not on every platform
        return False
    mine = "" if shard is None else f", a split into {shard[1]}"
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            handle.seek(0)
            handle.truncate()
            handle.write(f"process {os.getpid()} on {os.uname().nodename}{mine}\n")
            handle.flush()
            if shard is not None:
                fcntl.flock(handle, fcntl.LOCK_SH)
            return True
        except BlockingIOError:
            pass
        except OSError:  # a file system that knows no locks
            return False
        handle.seek(0)
        holder = handle.read().strip()
        if shard is not None and holder.endswith(mine):
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return True
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    raise MonMDPError(
        f"{what + ': ' if what else ''}another run is at work in {folder} ({holder}); wait for it, "
        "or choose another folder"
    )


# ---- for people and their programs ----------------------------------------------------------


def _usual_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the parameters of the named world and monitor are unless they are given."""
    usual: dict[str, Any] = {}
    for kind, module in (("world", worlds), ("monitor", monitors)):
        if settings[kind] in module.registry:
            scope = scope_of(module.factory(settings[kind]), kind)
            usual |= {f"{kind}.{key}": of.default for key, of in scope.parameters.items()}
    return usual


def load_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return all runs in a folder as one tidy table: a row for each run and checkpoint.

    Columns: world, monitor, agent, parameters of the problem (``world.key``, ``monitor.key``) that
    make a difference somewhere, those of agents (``agent.key``) that differ between runs of the
    same agent, configuration, seed, step, the scores and counters. What belongs together has the
    same configuration. Files that are no runs are skipped with a warning.

    >>> from monmdp import load_results, results, suites
    >>> block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"]}
    >>> small = {"name": "small", "seeds": 2, "steps": 1000, "experiment": [block]}
    >>> runs = suites.expand(suites.parse(small, "my script")).runs()
    >>> outcome = results.execute("results", runs, jobs=1)
    >>> frame = load_results("results")
    >>> len(frame), sorted(set(frame["seed"].tolist()))
    (20, [0, 1])
    >>> print(frame.groupby("step")["episode_return"].mean().round(3).to_list()[-2:])
    [0.961, 0.961]
    """
    import warnings

    import pandas as pd

    folder = Path(folder)
    if not (folder / "runs").is_dir():
        raise MonMDPError(f"{folder}: there are no results here")
    frames, described, given_somewhere = [], [], []
    for path in sorted((folder / "runs").rglob(f"*{SUFFIX}")):
        try:
            shard = read_shard(path)
        except DamagedError as error:
            warnings.warn(str(error), stacklevel=2)
            continue
        settings = shard.settings
        given_somewhere.append(settings["problem_parameters"])
        described.append(
            {key: settings[key] for key in ("world", "monitor", "agent", "evaluation")}
            | _usual_parameters(settings)
            | settings["problem_parameters"]
            | {f"agent.{key}": value for key, value in settings["parameters"].items()}
            | {"configuration": path.parent.name, "seed": shard.seed}
        )
        frames.append(pd.DataFrame({"step": shard.step, **shard.curve}))
    if not frames:
        raise MonMDPError(f"{folder}: there are no results here")
    runs = pd.DataFrame(described)
    given = {key for run in given_somewhere for key in run}
    unused = [c for c in runs if c.startswith(("world.", "monitor.")) and c not in given]
    runs = runs.drop(columns=unused)
    by_agent = runs.groupby("agent").nunique(dropna=False)
    same = [c for c in runs if c.startswith("agent.") and by_agent[c].max() <= 1]
    runs = runs.drop(columns=same)
    for name in runs.columns:
        if runs[name].dtype == object or runs[name].dtype.kind not in "iufb":
            runs[name] = runs[name].astype("category")
    rows = np.repeat(np.arange(len(runs)), [len(frame) for frame in frames])
    curves = pd.concat(frames, ignore_index=True)
    return pd.concat([runs.iloc[rows].reset_index(drop=True), curves], axis=1)
