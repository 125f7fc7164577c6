"""Results on disk: one immutable Parquet file for each run, found by its configuration and seed.

::

    DIR/runs/<configuration's id>/seed-0007.parquet         a run: its learning curve, and in the
                                                            footer its settings and provenance
    DIR/runs/<configuration's id>/seed-0007.inside.parquet  its last policy and snapshots, if kept
    DIR/problems/<fingerprint>.npz                          the problems that the runs learn
    DIR/reports/<name>/                                     what was asked for, figures, tables
    DIR/set-aside/                                          runs that were damaged
    DIR/monmdp.json                                         says that all this is monmdp's

A run is there when its file is there: files are written whole or not at all and carry a checksum.
Resuming means doing what is missing. Only the runner writes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, StrictInt, model_validator

from monmdp.errors import MonMDPError
from monmdp.experiment.policy import Policy
from monmdp.experiment.streams import fingerprint
from monmdp.experiment.training import COLUMNS, Run
from monmdp.files import write_whole
from monmdp.model import MonMDP
from monmdp.model.monmdp import Shape
from monmdp.results.sealed import read_sealed, write_sealed
from monmdp.schema import (
    LARGEST,
    Count,
    DamagedError,
    Provenance,
    Settings,
    UnreadableError,
    checked,
)
from monmdp.suites import Resolved
from monmdp.suites.configuration import Wanted, digest, id_of

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "monmdp-run-5"
INSIDE_FORMAT = "monmdp-inside-1"
SUFFIX = ".parquet"
INSIDE = f".inside{SUFFIX}"
MARK = "monmdp.json"
"""the file that says that a folder is one of results"""
MAY_BE_UNKNOWN = {"rewards_seen"}
"""columns that have no number where nothing can be seen"""
PARTS = ("runs", "reports", "problems", "set-aside")
"""folders in a folder of results"""

Key = tuple[str, int]
"""a configuration's id, and a seed"""


def run_path(folder: Path, configuration_id: str, seed: int) -> Path:
    """Return where a run is kept."""
    return folder / "runs" / configuration_id / f"seed-{seed:04d}{SUFFIX}"


def inside_path(path: Path) -> Path:
    """Return where the policy and the snapshots of a run are kept."""
    return path.with_name(path.name.removesuffix(SUFFIX) + INSIDE)


class Footer(BaseModel):
    """What a run says of itself."""

    settings: Settings
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)]
    provenance: Provenance
    certified: Annotated[StrictInt, Field(ge=0)] | None = None
    """see `Run`; earlier files lack it"""

    @model_validator(mode="after")
    def _within_the_run(self) -> Footer:
        if self.certified is not None and self.certified > self.settings.steps:
            raise ValueError(f"certified: step {self.certified} is after the last one")
        for name in ("paid_steps", "shown_steps"):
            if (getattr(self.provenance, name) or 0) > self.settings.steps:
                raise ValueError(f"{name}: more than there are steps")
        return self


class _AboutPolicy(BaseModel):
    shape: tuple[Count, Count, Count, Count]
    origin: dict[str, Any]


class InsideFooter(BaseModel):
    """What the inside of a run says of itself."""

    policy: _AboutPolicy
    shapes: dict[str, list[Annotated[StrictInt, Field(ge=0)]]]


def write_run(path: Path, run: Run) -> None:
    """Write a run, its inside first: when the run is there, all of it is."""
    import pyarrow as pa

    make_folder(path.parent, within=path.parents[2])
    about = {"settings": run.settings, "seed": run.seed}
    if run.policy is not None:
        _write_inside(inside_path(path), run.policy, run, about)
    else:  # what an earlier run left there does not belong to this one
        inside_path(path).unlink(missing_ok=True)
    table = pa.table({"step": run.step, **{name: run.curve[name] for name in COLUMNS}})
    footer = {"format": FORMAT, **about, "provenance": run.provenance, "certified": run.certified}
    write_sealed(path, table, footer, use_dictionary=False)


def _write_inside(path: Path, policy: Policy, run: Run, about: Mapping[str, Any]) -> None:
    """Write arrays of any shape as the columns of a table with one row."""
    import pyarrow as pa

    arrays = {"policy": policy.probability, "snapshot_steps": run.snapshot_steps}
    arrays |= {f"snapshot_{name}": np.asarray(values) for name, values in run.snapshots.items()}
    footer = {
        "format": INSIDE_FORMAT,
        **about,
        "kernel": run.provenance.get("kernel"),
        "policy": {"shape": list(policy.shape), "origin": dict(policy.origin)},
        "shapes": {name: list(values.shape) for name, values in arrays.items()},
    }
    table = pa.table({name: pa.array([values.reshape(-1)]) for name, values in arrays.items()})
    write_sealed(path, table, footer)


def read_run(path: Path, *, inside: bool = False, placed: bool = True) -> Run:
    """Read a run; `DamagedError` if it is none.

    With `inside` also its policy and snapshots, if they were kept. With `placed` it must lie where
    it belongs in a folder of results; else it may have any name.
    """
    footer, table = _read(path, COLUMNS, placed=placed)
    try:
        kept = _read_inside(path, footer) if inside else {}
    except DamagedError:
        raise
    except (MonMDPError, ValueError, TypeError, LookupError, NotImplementedError) as error:
        raise DamagedError(f"{path}: damaged, {error}") from None
    curve = {name: table[name].to_numpy() for name in COLUMNS}
    about = {key: footer[key] for key in ("settings", "seed", "provenance")}
    about["certified"] = footer.get("certified")
    return Run(step=table["step"].to_numpy(), curve=curve, **about, **kept)


def _read_inside(path: Path, run: Mapping[str, Any]) -> dict[str, Any]:
    """Read what a run kept besides its curves; whoever calls it deals with odd content."""
    try:
        footer, table = read_sealed(inside_path(path), INSIDE_FORMAT)
    except FileNotFoundError:
        return {}
    checked(InsideFooter, footer, inside_path(path))
    if any(footer.get(key) != run[key] for key in ("settings", "seed")):
        raise DamagedError(f"{inside_path(path)}: of another run")
    arrays = {
        name: table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(shape)
        for name, shape in footer["shapes"].items()
    }
    about, policy, steps = footer["policy"], arrays.pop("policy"), arrays.pop("snapshot_steps")
    for name, values in arrays.items():
        if values.dtype.kind not in "iufb" or values.shape[:1] != steps.shape:
            raise ValueError(f"{name} is not one array a snapshot")
    return {
        "policy": Policy(Shape(*about["shape"]), policy, dict(about["origin"])),
        "snapshot_steps": steps,
        "snapshots": {name.removeprefix("snapshot_"): of for name, of in arrays.items()},
    }


def load_run(path: str | os.PathLike[str]) -> Run:
    """Read a run from its file, with its policy and snapshots if they were kept.

    >>> import monmdp
    >>> run = monmdp.train(monmdp.make("loop", "ask"), "r-max", 1000, out="one-run")
    >>> (file,) = Path("one-run/runs").glob("*/seed-0000.parquet")
    >>> again = monmdp.load_run(file)
    >>> again.data() == run.data(), again.policy.shape == run.policy.shape
    (True, True)
    """
    path = Path(path)
    refuse_old(path.parent)
    if path.exists() and path.suffix != SUFFIX:
        raise MonMDPError(f"{path}: no run; runs are files seed-….parquet in a folder of results")
    if path.name.endswith(INSIDE):
        path = path.with_name(path.name.removesuffix(INSIDE) + SUFFIX)
    try:
        return read_run(path, inside=True, placed=False)
    except FileNotFoundError:
        raise MonMDPError(f"{path}: no such file") from None


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy from a file of its own, .npz, or from that of a run, .parquet."""
    if Path(path).is_dir():
        refuse_old(Path(path))
        run = next(iter(sorted(Path(path).rglob("seed-????.parquet"))), "runs/…/seed-0000.parquet")
        raise MonMDPError(f"{path} is a folder; give the file of a run, such as {run}")
    refuse_old(Path(path).parent)
    if Path(path).suffix != SUFFIX:
        return Policy.load(path)
    policy = load_run(path).policy
    if policy is None:
        kept = inside_path(Path(path)).name
        raise MonMDPError(
            f"{path}: there is no policy of this run, {kept} beside it; monmdp train keeps one"
        )
    return policy


def read_footer(path: Path) -> dict[str, Any]:
    """Read what a run says of itself, without its data; they are checked, too."""
    return _read(path, ())[0]


def _read(
    path: Path, columns: tuple[str, ...], *, placed: bool = True
) -> tuple[dict[str, Any], Any]:
    import pyarrow as pa

    schema = pa.schema([("step", pa.int64()), *((name, pa.float64()) for name in COLUMNS)])
    footer, table = read_sealed(path, FORMAT, ("step", *columns), schema)
    checked(Footer, footer, path)
    steps, every = footer["settings"]["steps"], footer["settings"]["every"]
    tests = -(-steps // every)
    if len(table) != tests or not np.array_equal(table["step"], np.arange(tests) * every):
        raise DamagedError(f"{path}: damaged, its tests are not those of its settings")
    for name in set(columns) - MAY_BE_UNKNOWN:
        if not (np.abs(table[name].to_numpy()) <= LARGEST).all():  # neither are those that are none
            raise DamagedError(f"{path}: damaged, {name} has values that are no numbers")
    its_id, its_seed = digest(footer["settings"]), footer["seed"]
    at_home = path.stem == f"seed-{its_seed:04d}" and path.parent.name.endswith(f"-{its_id}")
    if placed and not at_home:
        raise DamagedError(f"{path}: holds another run, of seed {its_seed} and settings {its_id}")
    return footer, table


def make_folder(folder: Path, within: Path | None = None) -> None:
    """Make a folder, or say why it cannot be used; `within` is the folder that it must lie in."""
    try:
        if within is not None and not folder.resolve().is_relative_to(within.resolve()):
            raise MonMDPError(f"{folder} leads out of {within}; nothing is written there")
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise MonMDPError(f"cannot use {folder} for results: it is a file") from None
    except OSError as error:
        raise MonMDPError(f"cannot use {folder} for results: {error.strerror or error}") from None


def claim_folder(folder: Path) -> None:
    """Make a folder one of results; refuse one where somebody else's things have our names."""
    make_folder(folder)
    if (folder / MARK).is_file():
        return
    taken = [name for name in PARTS if (folder / name).is_symlink() or (folder / name).exists()]
    runs = _listed(folder / "runs")
    copied = bool(runs) and all(map(_is_of_runs, runs))  # from a folder that has the mark
    if taken and not copied:
        raise MonMDPError(
            f"{folder} is no folder of results (there is no {MARK} in it), but has {taken[0]!r} in "
            "it; choose another folder"
        )
    about = {"format": "monmdp-results-1", "about": "runs, problems and reports of monmdp"}
    write_whole(folder / MARK, lambda file: file.write(json.dumps(about, indent=2).encode()))


def refuse_old(folder: Path) -> None:
    """Refuse a folder in which an earlier version kept its runs."""
    if (folder / "settings.json").is_file() and any(folder.glob("seed-*.npz")):
        raise MonMDPError(
            f"{folder} holds runs of an earlier version (seed-….npz), which this one cannot read; "
            "choose another folder"
        )


# ---- problems -------------------------------------------------------------------------------


def problem_path(folder: Path, fingerprint: str) -> Path:
    """Return where a problem is kept."""
    return folder / "problems" / f"{fingerprint}.npz"


def write_problem(folder: Path, resolved: Resolved) -> None:
    """Keep the problem of some runs, unless it is there."""
    path = problem_path(folder, resolved.settings["problem"])
    if not path.exists():
        make_folder(path.parent, within=folder)
        resolved.task.monmdp.save(path)


def read_problem(folder: Path, settings: Mapping[str, Any]) -> MonMDP:
    """Read the problem of a run; an error if another one lies in its place."""
    path = problem_path(folder, settings["problem"])
    problem = MonMDP.load(path)
    if fingerprint(problem) != settings["problem"]:
        raise MonMDPError(f"{path}: another problem than its name says")
    return problem


# ---- what is there --------------------------------------------------------------------------


@dataclass
class Inventory:
    """What is there of the runs that were asked for; keys are (configuration's id, seed)."""

    there: list[Key] = field(default_factory=list)
    stale: list[Key] = field(default_factory=list)
    """there, but made by other code than today's; also in `there`"""
    unchecked: list[Key] = field(default_factory=list)
    """there, of agents whose code may not be looked at; also in `there`"""
    missing: list[Key] = field(default_factory=list)
    damaged: dict[Key, str] = field(default_factory=dict)
    """why; they count as missing"""
    unreadable: dict[Key, str] = field(default_factory=dict)
    """why; nobody knows what they are"""
    cpu_seconds: dict[Key, float] = field(default_factory=dict)


def take_inventory(folder: Path, runs: Mapping[Key, Wanted]) -> Inventory:
    """Look for runs; changes nothing."""
    found = Inventory()
    for key, wanted in runs.items():
        path = run_path(folder, *key)
        try:
            made = read_footer(path)["provenance"]
            inside = _snapshots_kept(path) if wanted.keeps_inside else ()
        except FileNotFoundError:
            found.missing.append(key)
        except UnreadableError as error:
            found.unreadable[key] = str(error)
        except DamagedError as error:
            found.damaged[key] = str(error)
            found.missing.append(key)
        else:
            if wanted.keeps_inside and not {*wanted.snapshots_of(key[1])} <= {*inside}:
                found.missing.append(key)
                continue
            found.there.append(key)
            found.cpu_seconds[key] = float(made.get("cpu_seconds", float("nan")))
            if wanted.kernel is None:
                found.unchecked.append(key)
            elif made.get("kernel") != wanted.kernel:
                found.stale.append(key)
    return found


def damaged_files(path: Path) -> Iterator[Path]:
    """Return which of the two files of a run are damaged."""
    for of, read in ((path, read_footer), (inside_path(path), _snapshots_kept)):
        try:
            read(path)
        except FileNotFoundError:
            continue
        except DamagedError:
            yield of


def _snapshots_kept(path: Path) -> list[int]:
    """The steps after which a run kept snapshots."""
    _, table = read_sealed(inside_path(path), INSIDE_FORMAT, ("snapshot_steps",))
    rows = table["snapshot_steps"].to_pylist()
    steps = rows[0] if len(rows) == 1 else None
    if not isinstance(steps, list) or not all(isinstance(step, int) for step in steps):
        raise DamagedError(f"{inside_path(path)}: damaged, its snapshots have no steps")
    return steps


def with_kept(folder: Path, key: Key, resolved: Resolved) -> Resolved:
    """Ask also for the snapshots that are there, so that doing a run again loses none of them."""
    try:
        kept = _snapshots_kept(run_path(folder, *key))
    except (FileNotFoundError, DamagedError):
        return resolved
    steps = tuple(sorted({*kept, *resolved.task_of(key[1]).snapshot_steps}))
    asked = replace(resolved.configuration, keep_policy=True, snapshots=steps, snapshot_seed=key[1])
    task = replace(resolved.task, snapshot_steps=steps)
    return replace(resolved, configuration=asked, task=task)


def strangers(folder: Path, runs: Iterable[Key]) -> tuple[list[Path], list[Path]]:
    """Return the runs that nobody asked for, and what is not ours, in ``runs/``."""
    asked = {run_path(folder, *key) for key in runs}
    asked |= {inside_path(path) for path in asked}
    idle: list[Path] = []
    foreign = [path for path in _listed(folder / "runs") if not _is_of_runs(path)]
    for path in _in_runs(folder):
        if path in asked or _is_part(path):
            continue
        try:
            if path.name.endswith(INSIDE):
                read_sealed(path, INSIDE_FORMAT, ())
                continue
            read_footer(path)
            idle.append(path)
        except FileNotFoundError:  # taken away meanwhile
            continue
        except MonMDPError:
            foreign.append(path)
    return idle, foreign


def parts(folder: Path) -> list[Path]:
    """Return what killed runners left half-written, and what is being written now."""
    return [path for path in (*_in_runs(folder), *_listed(folder / "problems")) if _is_part(path)]


def _listed(folder: Path) -> list[Path]:
    """What is in a folder; nothing if there is none, or if it leads elsewhere."""
    try:
        return [] if folder.is_symlink() else sorted(folder.iterdir())
    except OSError:
        return []


def _in_runs(folder: Path) -> list[Path]:
    """What is in the folders of configurations."""
    return [path for of in _listed(folder / "runs") if _is_of_runs(of) for path in _listed(of)]


def _is_of_runs(path: Path) -> bool:
    """Whether this is a folder for the runs of a configuration."""
    named = re.fullmatch(r"[^.].*-[0-9a-f]{12}", path.name) is not None
    return named and path.is_dir() and not path.is_symlink()


def _is_part(path: Path) -> bool:
    """Whether `write_whole` made this file."""
    named = re.fullmatch(r"\..+\.[0-9a-f]{32}\.part", path.name) is not None
    return named and path.is_file() and not path.is_symlink()


def set_aside(folder: Path, path: Path) -> Path:
    """Move a damaged run out of the way, never over another file; return where it is now."""
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise MonMDPError(f"{path.parent} leads out of {folder}; nothing there is touched")
    place = folder / "set-aside" / path.relative_to(folder / "runs")
    n = 0
    while place.exists():
        n += 1
        place = place.with_name(f"{path.name}.{n}")
    try:
        make_folder(place.parent, within=folder)
        os.replace(path, place)
    except OSError as error:
        raise MonMDPError(f"cannot set {path} aside: {error.strerror or error}") from None
    return place


def remove_parts(folder: Path) -> None:
    """Remove what killed runners left half-written; for the only runner in a folder."""
    for path in parts(folder):
        with suppress(OSError):
            path.unlink()


# ---- for people and their programs ----------------------------------------------------------


def load_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return all runs in a folder as one tidy table: a row for each run and checkpoint.

    Columns: world, monitor, agent, parameters of the problem (``world.key``, ``monitor.key``) that
    make a difference somewhere, those of agents (``agent.key``) that differ between runs of the
    same agent, configuration, seed, step, the scores and counters. What belongs together has the
    same configuration. Files that are no runs are skipped with a warning.

    >>> import monmdp
    >>> block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"]}
    >>> small = {"name": "small", "seeds": 2, "steps": 1000, "experiment": [block]}
    >>> done = monmdp.run_suite(small, out="results")
    >>> frame = monmdp.load_results("results")
    >>> len(frame), sorted(set(frame["seed"].tolist()))
    (20, [0, 1])
    >>> print(frame.groupby("step")["episode_return"].mean().round(3).to_list()[-2:])
    [0.961, 0.961]
    """
    import warnings

    runs = []
    for path in run_files(Path(folder)):
        try:
            runs.append(read_run(path))
        except DamagedError as error:
            warnings.warn(str(error), stacklevel=2)
    if not runs:
        raise MonMDPError(f"{folder}: there are no results here")
    return frame_of(runs)


def run_files(folder: Path) -> list[Path]:
    """Return the files of all runs in a folder."""
    refuse_old(folder)
    found = _in_runs(folder)
    return [path for path in found if path.suffix == SUFFIX and not path.name.endswith(INSIDE)]


def frame_of(runs: Iterable[Run]) -> pd.DataFrame:
    """Return runs as one tidy table, as `load_results` does."""
    import pandas as pd

    frames, described, unusual = [], [], set[str]()
    for run in runs:
        settings = run.settings
        unusual |= set(settings["unusual"])
        described.append(
            {key: settings[key] for key in ("world", "monitor", "agent", "evaluation")}
            | settings["problem_parameters"]
            | {f"agent.{key}": value for key, value in settings["parameters"].items()}
            | {"configuration": id_of(settings), "seed": run.seed}
        )
        frames.append(pd.DataFrame({"step": run.step, **run.curve}))
    table = pd.DataFrame(described)
    by_agent = table.groupby("agent").nunique(dropna=False)
    alike = [c for c in table if c.startswith(("world.", "monitor.")) and c not in unusual]
    alike += [c for c in table if c.startswith("agent.") and by_agent[c].max() <= 1]
    table = table.drop(columns=alike)
    words = table.select_dtypes(exclude=["number", "bool"]).columns
    table = table.astype(dict.fromkeys(words, "category"))
    rows = np.repeat(np.arange(len(table)), [len(frame) for frame in frames])
    curves = pd.concat(frames, ignore_index=True)
    return pd.concat([table.iloc[rows].reset_index(drop=True), curves], axis=1)
