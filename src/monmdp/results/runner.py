"""Doing the runs of a suite: on all cores, on a cluster, in shards; resumable at any moment.

Workers compute and hand back; only the process that was started writes. So a worker that outlives
it has nothing to write with, and whoever resumes meets nobody.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from monmdp.agents import KINDS, AgentConfig
from monmdp.errors import MonMDPError, import_extra
from monmdp.experiment.provenance import now, provenance
from monmdp.experiment.seeds import cores, jobs_that_fit
from monmdp.experiment.training import Task, carry_out, train
from monmdp.results.store import (
    Inventory,
    Shard,
    locked,
    remove_parts,
    set_aside,
    shard_path,
    strangers,
    take_inventory,
    write_shard,
)
from monmdp.suites import Configuration, resolve

Key = tuple[str, int]
"""a configuration's id, and a seed"""
Tell = Callable[["Progress"], None]

THREADS = 16
"""up to so many jobs run in threads: compiled code does not hold the interpreter's lock"""
CONNECTING = 10.0
"""seconds to wait for a scheduler"""


@dataclass
class Progress:
    """How far a runner is."""

    total: int
    """runs of the suite that are this runner's"""
    there: int
    """of them, those that were there already"""
    done: int = 0
    """done by this runner"""
    steps: int = 0
    """training steps done"""
    cost: float = 0.0
    """estimated CPU seconds of the runs done"""
    cost_left: float = 0.0
    begin: float = field(default_factory=lambda: time.monotonic())
    begin_cpu: float = field(default_factory=lambda: time.process_time())

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of this process so far, compiling and writing included."""
        return time.process_time() - self.begin_cpu

    @property
    def seconds(self) -> float:
        """Return the wall time so far."""
        return time.monotonic() - self.begin

    @property
    def seconds_left(self) -> float | None:
        """Return an estimate of the wall time to come, once there is something to go by."""
        if not self.cost:
            return None
        return self.seconds * self.cost_left / self.cost


@dataclass(frozen=True)
class Outcome:
    """What a runner did."""

    progress: Progress
    inventory: Inventory
    """what was there before"""
    failures: Mapping[Key, str]
    aside: Sequence[Path]
    """where damaged and foreign files are now"""


@dataclass(frozen=True)
class Failure:
    """A run that went wrong; the others go on."""

    key: Key
    reason: str


def estimate(configuration: Configuration) -> float:
    """Return about how many CPU seconds a run takes on a machine of 2025."""
    resolved = resolve(configuration)
    settings, (n_se, n_sm, n_ae, n_am) = resolved.settings, resolved.shape
    each, by_pair = KINDS.get(settings["agent"], AgentConfig).microseconds
    pairs = n_se * n_sm * n_ae * n_am
    tests = settings["steps"] / settings["every"]
    drawn = tests * settings["episodes"] * settings["time_limit"] * 0.01
    return float(1e-6 * (settings["steps"] * (each + by_pair * pairs) + drawn))


def belongs(key: Key, shard: tuple[int, int] | None) -> bool:
    """Return whether a run is in shard (i, n); it does not depend on what else is run."""
    if shard is None:
        return True
    word = hashlib.sha256(f"{key[0]} {key[1]}".encode()).digest()[:8]
    return int.from_bytes(word, "big") % shard[1] == shard[0] - 1


def execute(
    folder: str | os.PathLike[str],
    runs: Mapping[Key, Configuration],
    *,
    jobs: int | None = None,
    shard: tuple[int, int] | None = None,
    scheduler: str | None = None,
    stale: bool = False,
    tell: Tell | None = None,
) -> Outcome:
    """Do all runs that are missing in a folder, the longest first.

    Args:
        folder: where results are kept.
        runs: (configuration's id, seed) -> configuration.
        jobs: how many at a time; by default one for each core this process may use.
        shard: (i, n): do only every n-th run, the i-th of them, so that n machines share the work.
        scheduler: address of a `distributed` scheduler; its workers do the runs, as many at a time
            as they are.
        stale: do those again that other code than today's has made.
        tell: called now and then with how far it is.

    >>> from monmdp import results, suites
    >>> block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"]}
    >>> small = {"name": "small", "seeds": 2, "steps": 1000, "experiment": [block]}
    >>> runs = suites.expand(suites.parse(small, "my script")).runs()
    >>> first, again = (results.execute("results", runs, jobs=1) for _ in range(2))
    >>> len(first.inventory.missing), len(again.inventory.missing)
    (2, 0)
    """
    if scheduler is not None and jobs is not None:
        raise MonMDPError(
            "either --jobs or --scheduler: a cluster's workers decide how many runs go at a time"
        )
    folder = Path(folder)
    mine = {key: of for key, of in runs.items() if belongs(key, shard)}
    with locked(folder, shard) as alone:
        aside = []
        if alone:  # else a part may be another runner's, who is about to finish it
            remove_parts(folder)
            _, foreign = strangers(folder, runs)
            aside += [set_aside(folder, path) for path in foreign]
        inventory = take_inventory(folder, mine)
        aside += [set_aside(folder, shard_path(folder, *key)) for key in inventory.damaged]
        to_do = [*inventory.missing, *(inventory.stale if stale else ())]
        costs = {key: estimate(mine[key]) for key in to_do}
        to_do.sort(key=lambda key: -costs[key])
        progress = Progress(len(mine), len(mine) - len(to_do), cost_left=sum(costs.values()))
        failures: dict[Key, str] = {}
        if tell is not None:
            tell(progress)
        with closing(_finished({key: mine[key] for key in to_do}, jobs, scheduler)) as finished:
            for result in finished:
                key = result.key
                if isinstance(result, Failure):
                    failures[key] = result.reason
                elif result.shard.provenance["kernel"] != resolve(mine[key]).kernel:
                    host = result.shard.provenance["machine"]["host"]
                    failures[key] = f"the worker on {host} runs another version of the code"
                else:
                    write_shard(shard_path(folder, *key), result.shard)
                    progress.steps += result.shard.settings["steps"]
                progress.done += 1
                progress.cost += costs[key]
                progress.cost_left = max(0.0, progress.cost_left - costs[key])
                if tell is not None:
                    tell(progress)
        return Outcome(progress, inventory, failures, aside)


# ---- workers --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Finished:
    """A run that a worker hands back."""

    key: Key
    shard: Shard


def work(key: Key, configuration: Configuration, parent: int | None = None) -> Finished | Failure:
    """Do one run, in whatever process or on whatever machine this is called."""
    if parent is not None:
        _die_with(parent)
    seed = key[1]
    try:
        resolved = resolve(configuration)
        task = _task(configuration)
        _warm_up(task, resolved.kernel)
        wall, cpu = time.perf_counter(), time.thread_time()
        run = carry_out(task, seed)
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    except MonMDPError as error:
        return Failure(key, str(error))
    except Exception as error:  # a bug, ours or of a user's agent; the other runs go on
        return Failure(key, f"{type(error).__name__}: {error}")
    made = {
        "kernel": resolved.kernel,
        **provenance(),
        "process": os.getpid(),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "written": now(),
    }
    return Finished(key, Shard(resolved.settings, seed, made, run.step, run.curve))


@lru_cache(maxsize=16)
def _task(configuration: Configuration) -> Task:
    return configuration.task()


_warm: set[str] = set()
"""kernels that this process has compiled"""
_warming = threading.Lock()


def _warm_up(task: Task, kernel: str) -> None:
    """Compile first, so that no run's time has that in it."""
    if kernel in _warm or not isinstance(task.agent, AgentConfig):
        return
    with _warming:
        if kernel not in _warm:
            train(task.monmdp, task.agent, steps=1, evaluation="monte-carlo", episodes=1)
            _warm.add(kernel)


_watched: set[int] = set()


def _die_with(parent: int) -> None:
    """End this process soon after its parent, even if that is killed."""
    if parent in _watched or os.getpid() == parent:
        return
    _watched.add(parent)

    def watch() -> None:
        while os.getppid() == parent:  # orphans have another one
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _finished(
    runs: Mapping[Key, Configuration], jobs: int | None, scheduler: str | None
) -> Generator[Finished | Failure, None, None]:
    """Yield runs as they are done: in threads, in processes, or on a cluster."""
    if not runs:
        return
    from joblib import Parallel, delayed, parallel_config

    with ExitStack() as stack:
        if scheduler is not None:
            stack.enter_context(_cluster(scheduler))
            backend, n_jobs, parent = "dask", -1, None
        else:
            resolved = [resolve(configuration) for configuration in runs.values()]
            n_jobs = jobs_that_fit(max(r.memory for r in resolved), jobs or cores())
            compiled = all(r.is_compiled for r in resolved)
            backend = "threading" if compiled and n_jobs <= THREADS else "loky"
            parent = os.getpid() if backend == "loky" else None
        stack.enter_context(parallel_config(backend=backend, n_jobs=n_jobs))
        parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        calls = (delayed(work)(key, configuration, parent) for key, configuration in runs.items())
        results = parallel(calls)
        try:
            for result in results:  # noqa: UP028  # `yield from` would close it, with a warning
                yield result
        except MonMDPError:
            raise
        except BrokenExecutor as error:
            raise MonMDPError(
                "a worker process ended before its run did: killed from outside, out of memory, "
                "or crashed"
            ) from error
        except Exception as error:
            if scheduler is None:
                raise
            raise MonMDPError(
                f"the scheduler at {scheduler} failed, {type(error).__name__}: {error}"
            ) from error
        finally:
            with warnings.catch_warnings():
                # Whoever stops early knows that some runs are done for nothing.
                warnings.filterwarnings("ignore", message=".*tasks (have been|which were)")
                results.close()


def _cluster(address: str) -> Any:
    """Connect to a scheduler."""
    distributed = import_extra("distributed", "cluster", "--scheduler")
    try:
        return distributed.Client(address, timeout=CONNECTING, set_as_default=True)
    except (OSError, ValueError, TypeError) as error:
        raise MonMDPError(f"no scheduler at {address}: {error}") from None
