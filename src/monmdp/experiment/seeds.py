"""One task for many seeds: in parallel, resumable, the same bytes for any number of jobs."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from monmdp.agents import AgentConfig, is_python_agent
from monmdp.errors import MonMDPError
from monmdp.experiment.provenance import now, provenance
from monmdp.experiment.sessions import log_session
from monmdp.experiment.training import Run, Task, carry_out
from monmdp.files import write_whole
from monmdp.model.mdp import whole_number

MEMORY_SHARE = 0.8
"""share of the machine's memory that agents may fill"""
PROBLEM = "problem.npz"
"""file in a folder of runs that holds their problem"""

SeedProgress = Callable[[int, int], None]
"""told a seed and the number of its steps done"""


def cores() -> int:
    """Return how many cores this process may use: its affinity and its control group count."""
    from joblib import cpu_count

    return int(cpu_count())


def machine_memory() -> int | None:
    """Return the bytes of memory that this machine has, if it tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every platform
        return None


def jobs_that_fit(needed: int, jobs: int) -> int:
    """Return how many agents to train at a time, fewer than asked for if they need many bytes."""
    there = machine_memory()
    if not needed or there is None:
        return jobs
    return max(1, min(jobs, int(MEMORY_SHARE * there) // needed))


def train_seeds(
    task: Task,
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    progress: SeedProgress | None = None,
) -> list[Run]:
    """Carry out a task for every seed; return the runs in the order of the seeds.

    Args:
        task: what to do, from `prepare`.
        seeds: which seeds.
        jobs: how many to do at the same time, or fewer where not so many agents fit into memory.
            Compiled agents run in threads, agents in plain Python in processes.
        out: a folder. Each run is written there when it is done, and those that are there already
            are not done again. Their problem is kept beside them, and a list of the sessions that
            did something.
        progress: called with a seed and its steps done, now and then.

    >>> from monmdp import experiment, make
    >>> task = experiment.prepare(make("loop", "ask"), "monitored-mbie-eb", 1000)
    >>> runs = experiment.train_seeds(task, range(3), jobs=2, out="runs/loop")
    >>> [run.seed for run in runs]
    [0, 1, 2]
    """
    seeds = [whole_number(seed, "seed", at_least=0, at_most=None) for seed in seeds]
    if not seeds:
        raise MonMDPError("at least one seed is needed")
    needed = task.agent.memory(task.monmdp.shape) if isinstance(task.agent, AgentConfig) else 0
    jobs = jobs_that_fit(needed, whole_number(jobs, "jobs", at_least=1))
    if is_python_agent(task.agent):
        raise MonMDPError(
            f"one object cannot learn for several seeds: give what makes it, "
            f"{type(task.agent).__name__} itself"
        )
    folder = None if out is None else open_folder(out, task.settings)
    runs: dict[int, Run] = {}
    for seed in seeds:
        if folder is not None and run_file(folder, seed).exists():
            runs[seed] = _loaded(folder, seed, task.settings)
            if progress is not None:
                progress(seed, task.steps)
    left = [seed for seed in dict.fromkeys(seeds) if seed not in runs]
    if folder is not None and not (folder / PROBLEM).exists():
        task.monmdp.save(folder / PROBLEM)
    begin, before = time.perf_counter(), set(runs)
    try:
        with closing(_finished(task, left, jobs, progress)) as finished:
            for run in finished:
                if folder is not None:
                    run.save(run_file(folder, run.seed))
                runs[run.seed] = run
    finally:  # however the work ends, what was done is on record
        done = sorted(set(runs) - before)
        if folder is not None and done:
            with suppress(MonMDPError):  # a full disk has its own word
                _record(folder, done, time.perf_counter() - begin, jobs)
    return [runs[seed] for seed in seeds]


def _record(folder: Path, seeds: Sequence[int], seconds: float, jobs: int) -> None:
    """Put on record what this call has done, with what and where."""
    session = {"ended": now(), "runs": len(seeds), "seeds": list(seeds)}
    log_session(folder, session | {"wall_seconds": seconds, "jobs": jobs} | provenance())


def _for_seed(task: Task, seed: int) -> Task:
    """Return the task without its snapshots if another seed is the one that keeps them."""
    keeps = task.settings.get("snapshot_seed", seed)
    return task if keeps == seed else replace(task, snapshot_steps=())


def _loaded(folder: Path, seed: int, settings: Mapping[str, Any]) -> Run:
    """Read a run and demand that it is the one that would be done."""
    try:
        run = Run.load(run_file(folder, seed))
    except MonMDPError as error:
        raise MonMDPError(f"{error}; delete it, and it will be done again") from None
    if run.seed != seed or run.settings != _as_read(settings):
        raise MonMDPError(
            f"{run_file(folder, seed)}: a run with another seed or other settings; delete it, and "
            "it will be done again"
        )
    return run


def _as_read(settings: Mapping[str, Any]) -> Any:
    """Return the settings as they come back from a file."""
    return json.loads(json.dumps(settings))


def _finished(
    task: Task, seeds: Sequence[int], jobs: int, progress: SeedProgress | None
) -> Generator[Run, None, None]:
    """Yield runs as they are done."""
    jobs = min(jobs, len(seeds))
    if jobs <= 1:
        for seed in seeds:
            told = None if progress is None else partial(progress, seed)
            yield carry_out(_for_seed(task, seed), seed, told)
    elif isinstance(task.agent, AgentConfig):
        yield from _in_threads(task, seeds, jobs, progress)
    else:
        yield from _in_processes(task, seeds, jobs, progress)


def _in_threads(
    task: Task, seeds: Sequence[int], jobs: int, progress: SeedProgress | None
) -> Generator[Run, None, None]:
    """For compiled agents: compiled code does not hold the interpreter's lock."""
    stop = threading.Event()

    def work(seed: int) -> Run:
        def told(steps: int) -> None:
            if stop.is_set():
                raise CancelledError
            if progress is not None:
                progress(seed, steps)

        return carry_out(_for_seed(task, seed), seed, told)

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, seed) for seed in seeds]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:  # whatever ended it: nothing may run on behind our back
            stop.set()
            pool.shutdown(cancel_futures=True)


def _in_processes(
    task: Task, seeds: Sequence[int], jobs: int, progress: SeedProgress | None
) -> Generator[Run, None, None]:
    """For agents in plain Python; progress is told of whole seeds only."""
    from joblib import Parallel, delayed

    parallel = Parallel(
        n_jobs=jobs,
        return_as="generator_unordered",
        max_nbytes=None,  # memory-mapped arrays are read-only, another type to compile
    )
    for run in parallel(delayed(carry_out)(_for_seed(task, seed), seed) for seed in seeds):
        if progress is not None:
            progress(run.seed, task.steps)
        yield run


def open_folder(path: str | os.PathLike[str], settings: Mapping[str, Any]) -> Path:
    """Make the folder, or find it with the same settings; runs of different kinds do not mix."""
    folder = Path(path)
    note = folder / "settings.json"
    wanted = _as_read(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = json.loads(note.read_text()) if note.exists() else None
    except OSError as error:
        raise MonMDPError(f"cannot use {folder} for output: {error.strerror or error}") from None
    except json.JSONDecodeError:
        raise MonMDPError(f"{note} is damaged; choose another folder") from None
    if found is None:
        others = [path for path in folder.iterdir() if path.suffix != ".part" and path != note]
        if others and not note.exists():  # unless somebody has begun the same work meanwhile
            raise MonMDPError(
                f"{folder} is not empty and holds no runs of ours; choose another folder"
            )
        text = json.dumps(wanted, indent=2, sort_keys=True)
        write_whole(note, lambda file: file.write(text.encode()))
    elif found != wanted:
        differing = "; ".join(_differences(found, wanted))
        raise MonMDPError(
            f"{folder} holds runs with other settings ({differing}); choose another folder"
        )
    return folder


def _differences(found: Any, wanted: Any, path: str = "") -> Iterator[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}):
            yield from _differences(found.get(key), wanted.get(key), f"{path}.{key}".strip("."))
    elif found != wanted:
        yield f"{path} is {found!r} there, {wanted!r} here"


def default_folder(settings: Mapping[str, Any]) -> Path:
    """Return a folder in ``runs/`` that belongs to these settings alone."""
    name = "-".join(str(settings[key]) for key in ("world", "monitor", "agent"))
    return own_path(name, settings)


def own_path(name: str, settings: Any) -> Path:
    """Return a path in ``runs/`` with this name that belongs to these settings alone."""
    text = json.dumps(settings, sort_keys=True)
    return Path("runs") / f"{file_name(name)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def file_name(text: str) -> str:
    """Return a name for a file or folder that is safe everywhere."""
    return "".join(c if c.isalnum() or c in "-_.=" else "_" for c in text)


def run_file(folder: Path, seed: int) -> Path:
    """Return where the run of a seed is kept."""
    return folder / f"seed-{seed:04d}.npz"
