"""Doing runs: on all cores, on a cluster, in shards; resumable at any moment.

Workers compute and hand back; only the process that was started writes. So a worker that outlives
it has nothing to write with, and resuming never races an orphaned worker.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import stopping
from monmdp.agents import DEEP, KINDS, AgentConfig, is_python_agent
from monmdp.agents.stepwise import Seeing, tallying
from monmdp.errors import MonMDPError, import_extra
from monmdp.experiment.live import checked_log, is_logged, live_curves, log_path
from monmdp.experiment.loop import PULSE
from monmdp.experiment.provenance import now, provenance
from monmdp.experiment.training import Run, StoppedError, carry_out, prepare
from monmdp.memory import SHARE, machine_memory
from monmdp.model.arrays import IntArray
from monmdp.model.mdp import whole_number
from monmdp.naming import looking_in
from monmdp.results import store
from monmdp.results.locks import locked
from monmdp.results.store import Inventory, Key
from monmdp.suites import Configuration, Resolved, resolve

Tell = Callable[["Progress"], None]

THREADS = 16
"""up to this many jobs run in threads: compiled code does not hold the interpreter's lock"""
CONNECTING = 6.0
"""seconds to wait for a scheduler and its first worker"""
QUIETLY = "ignore:resource_tracker"
"""which warnings processes that are started do not show"""
LOOK = 0.2
"""seconds between two looks at how far the running ones are"""
ENOUGH = 5.0
"""seconds of training that an estimate of the time left needs"""


@dataclass
class Progress:
    """How far a runner is."""

    total: int
    """runs that were asked of it"""
    there: int
    """of them, those that were there already"""
    done: int = 0
    """done by this runner"""
    steps: int = 0
    """training steps of the runs done"""
    running: int = 0
    """training steps of runs under way in this process"""
    cost: float = 0.0
    """estimated CPU seconds of the runs done"""
    cost_left: float = 0.0
    cost_running: float = 0.0
    """of what is left, the share that runs under way in this process have done"""
    begin: float = field(default_factory=lambda: time.monotonic())
    begin_cpu: float = field(default_factory=lambda: time.process_time())
    first: tuple[float, float] | None = None
    """when the first training was seen, after compiling, and the cost that was done by then"""

    def look(self) -> None:
        """Note when training has begun."""
        if self.first is None and self.cost + self.cost_running > 0:
            self.first = time.monotonic(), self.cost + self.cost_running

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
        """Return an estimate of the wall time to come, once there is something to go by.

        It goes by the pace since training began: compiling comes before, and is not repeated.
        """
        if self.first is None:
            return None
        seconds = time.monotonic() - self.first[0]
        done = self.cost + self.cost_running - self.first[1]
        if seconds < ENOUGH or done <= 0:
            return None
        return seconds * max(0.0, self.cost_left - self.cost_running) / done


@dataclass(frozen=True)
class Outcome:
    """What a runner did."""

    progress: Progress
    inventory: Inventory
    """what was there before"""
    failures: Mapping[Key, str]
    aside: Sequence[Path]
    """where damaged runs are now"""
    runs: Mapping[Key, Run]
    """the runs themselves, where nothing is kept on disk"""
    errors: Mapping[Key, Exception]
    """of the failures, what was raised, where it was raised in this process"""


@dataclass(frozen=True)
class Failure:
    """A run that went wrong; the others go on."""

    reason: str
    error: Exception | None = None
    """what was raised, if it was raised in this process"""


def estimate(resolved: Resolved) -> float:
    """Return about how many CPU seconds a run takes on a machine of 2025."""
    settings, (n_se, n_sm, n_ae, n_am) = resolved.settings, resolved.task.monmdp.shape
    each, by_pair = KINDS.get(settings["agent"], AgentConfig).microseconds
    if (deep := DEEP.get(settings["agent"])) is not None:
        each = deep.microseconds
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
    folder: str | os.PathLike[str] | None,
    runs: Mapping[Key, Resolved],
    *,
    jobs: int | None = None,
    shard: tuple[int, int] | None = None,
    scheduler: str | None = None,
    stale: bool = False,
    log: str | None = None,
    tell: Tell | None = None,
    begin: Callable[[], None] | None = None,
) -> Outcome:
    """Do all runs that are missing in a folder, the longest first.

    Args:
        folder: where results are kept; None: nowhere, the runs are returned.
        runs: (configuration's id, seed) -> what it comes to.
        jobs: how many at a time; by default one for each core this process may use.
        shard: (i, n): do only every n-th run, the i-th of them, so that n machines share the work.
        scheduler: address of a `distributed` scheduler; its workers do the runs, as many at a time
            as they are.
        stale: do those again that other code than today's has made.
        log: ``tensorboard``: write curves into ``tensorboard/`` in the folder while runs go on.
        tell: called now and then with how far it is.
        begin: called once nothing stands in the way: the folder is free, and the workers are
            there.

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
    if jobs is not None:
        whole_number(jobs, "jobs", at_least=1)
    checked_log(log)
    if log is not None and (folder is None or scheduler is not None):
        raise MonMDPError("a log needs a folder of results, on the machine that does the runs")
    mine = {key: of for key, of in runs.items() if belongs(key, shard)}
    _demand_fresh_agents(mine, kept=folder is not None)
    begin, tell = begin or (lambda: None), tell or (lambda _: None)
    if folder is None:
        kept: dict[Key, Run] = {}
        batch = _Batch(mine, [*mine], jobs, scheduler, tell, begin, kept.__setitem__)
        return batch.done(Inventory(missing=[*mine]), (), kept)
    place = Path(folder)
    store.refuse_old(place)
    store.claim_folder(place)
    with locked(place, shard) as alone:
        if alone:  # else a part may be another runner's, who is about to finish it
            store.remove_parts(place)
        inventory = store.take_inventory(place, {key: of.wanted for key, of in mine.items()})
        for why in inventory.unreadable.values():
            raise MonMDPError(f"{why}; nothing was changed")
        damaged = [store.run_path(place, *key) for key in inventory.damaged]
        aside = [store.set_aside(place, of) for path in damaged for of in store.damaged_files(path)]
        to_do = [*inventory.missing, *(inventory.stale if stale else ())]
        mine |= {key: store.with_kept(place, key, mine[key]) for key in to_do}

        def keep(key: Key, run: Run) -> None:
            store.write_problem(place, mine[key])
            store.write_run(store.run_path(place, *key), run)

        if log is not None:
            _log_kept(place, [key for key in mine if key not in to_do])
        logs = None if log is None else place
        batch = _Batch(mine, to_do, jobs, scheduler, tell, begin, keep, logs)
        return batch.done(inventory, aside, {})


def _log_folder(folder: Path, key: Key) -> Path:
    """Make the folder of a run's log."""
    place = log_path(folder, *key)
    store.make_folder(place, within=folder)
    return place


def _log_kept(folder: Path, there: Sequence[Key]) -> None:
    """Write the logs of runs that are there and have none."""
    for key in there:
        place = _log_folder(folder, key)
        if not is_logged(place):
            run = store.read_run(store.run_path(folder, *key))
            with live_curves(place) as watch:
                if watch is not None:
                    watch(run.step, run.curve)


def _demand_fresh_agents(runs: Mapping[Key, Resolved], *, kept: bool) -> None:
    """Refuse finished agents where each run needs a new one, or has to be found again."""
    given = [of.task.agent for of in runs.values()]
    finished = [of.agent if isinstance(of, Seeing) else of for of in given if is_python_agent(of)]
    for agent in finished:
        several = sum(other is agent for other in finished) > 1
        if several or kept:
            why = "learn for several seeds" if several else "be told from others on disk"
            name = type(agent).__name__
            raise MonMDPError(f"one object cannot {why}: give what makes it, {name} itself")


@dataclass(frozen=True)
class _Batch:
    """Runs to do, and whom to tell of them."""

    runs: Mapping[Key, Resolved]
    to_do: Sequence[Key]
    jobs: int | None
    scheduler: str | None
    tell: Tell
    begin: Callable[[], None]
    keep: Callable[[Key, Run], None]
    logs: Path | None = None
    """the folder of results in which runs write their curves while they go on; None: they do not"""

    def done(self, inventory: Inventory, aside: Sequence[Path], kept: Mapping[Key, Run]) -> Outcome:
        """Do the runs, the longest first, and keep what comes out."""
        runs, costs = self.runs, {key: estimate(self.runs[key]) for key in self.to_do}
        progress = Progress(len(runs), len(runs) - len(costs), cost_left=sum(costs.values()))
        failures: dict[Key, Failure] = {}
        ordered = {key: runs[key] for key in sorted(costs, key=lambda key: -costs[key])}
        with closing(self._finished(ordered, costs, progress)) as finished:
            for key, result in finished:
                if isinstance(result, Failure):
                    failures[key] = result
                elif not _same_code(result, runs[key]):
                    host = result.provenance["machine"]["host"]
                    failures[key] = Failure(f"the worker on {host} runs other code than this one")
                else:
                    self.keep(key, replace(result, settings=runs[key].settings))
                    progress.steps += result.settings["steps"]
                progress.done += 1
                progress.cost += costs[key]
                progress.cost_left = max(0.0, progress.cost_left - costs[key])
                progress.look()
                self.tell(progress)
        reasons = {key: failure.reason for key, failure in failures.items()}
        errors = {key: of.error for key, of in failures.items() if of.error is not None}
        return Outcome(progress, inventory, reasons, aside, kept, errors)

    def _finished(
        self, runs: Mapping[Key, Resolved], costs: Mapping[Key, float], progress: Progress
    ) -> Generator[tuple[Key, Run | Failure], None, None]:
        """Yield runs as they are done."""
        waiting: dict[Future[Any], tuple[Key, IntArray]] = {}
        left = iter(runs.items())
        with stopping.orderly(), _workers(runs, self.jobs, self.scheduler) as (pool, width):
            self.begin()
            self.tell(progress)
            in_threads = isinstance(pool, ThreadPoolExecutor)
            try:
                while True:
                    if stopping.asked():
                        raise KeyboardInterrupt
                    for key, resolved in islice(left, 2 * width - len(waiting)):
                        pulse = np.zeros(PULSE, dtype=np.int64)
                        log = None if self.logs is None else _log_folder(self.logs, key)
                        if in_threads:
                            future = pool.submit(work, resolved, key[1], pulse, log)
                        else:
                            asked = resolved.configuration
                            with stopping.kept_from_children():
                                future = pool.submit(work_there, asked, key[1], log)
                        waiting[future] = key, pulse
                    if not waiting:
                        return
                    done, _ = wait(waiting, timeout=LOOK, return_when=FIRST_COMPLETED)
                    running = [waiting[of] for of in waiting if of not in done]
                    under_way = {key: int(pulse[1]) for key, pulse in running}
                    progress.running = sum(under_way.values())
                    progress.cost_running = sum(
                        costs[key] * n / runs[key].task.steps for key, n in under_way.items()
                    )
                    progress.look()
                    if not done:
                        self.tell(progress)
                    for future in done:
                        yield waiting.pop(future)[0], _result(future, self.scheduler)
            finally:  # whatever ended it: nothing may run on behind our back
                for future, (_, pulse) in waiting.items():
                    pulse[0] = 1
                    future.cancel()


# ---- workers --------------------------------------------------------------------------------


def work_there(configuration: Configuration, seed: int, log: Path | None = None) -> Run | Failure:
    """Do one run in another process, or on another machine, which may lack something."""
    try:
        return work(_resolved_there(configuration), seed, log=log)
    except MonMDPError as error:
        return Failure(str(error))


@lru_cache(maxsize=64)
def _resolved_there(configuration: Configuration) -> Resolved:
    """The runs of a configuration come one after the other."""
    with looking_in(configuration.folder):
        return resolve(configuration)


def work(
    resolved: Resolved, seed: int, pulse: IntArray | None = None, log: Path | None = None
) -> Run | Failure:
    """Do one run in this process; its curves go into the folder `log` on the way, if there is one.

    Logging counts among the seconds that a run takes.
    """
    try:
        _warm_up(resolved)
        with live_curves(log) as watch, tallying() as tally:
            wall, cpu = time.perf_counter(), time.thread_time()
            run = carry_out(resolved.task_of(seed), seed, pulse, watch)
            wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    except StoppedError:
        return Failure("stopped")
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # a bug, ours or of a user's agent; the other runs go on
        error = _for_people(raised, resolved.settings["agent"])
        said = str(error) if isinstance(error, MonMDPError) else f"{type(error).__name__}: {error}"
        return Failure(said, None if pulse is None else error)
    made = {
        "kernel": resolved.kernel,
        **provenance(),
        "process": os.getpid(),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "written": now(),
    }
    if tally.steps:  # an agent in plain Python
        made |= {"paid_steps": tally.paid, "shown_steps": tally.shown}
    policy = run.policy if resolved.keeps_inside else None
    return replace(run, settings=resolved.settings, policy=policy, provenance=made)


def _for_people(raised: BaseException, agent: str) -> Exception:
    """Where an agent called sys.exit; in a line what numba says in a hundred, its last reason."""
    if not isinstance(raised, Exception):
        last = traceback.extract_tb(raised.__traceback__)[-1]
        where = f"({last.filename}, line {last.lineno})"
        return MonMDPError(f"{agent} raised {type(raised).__name__}: {raised} {where}")
    if not type(raised).__module__.startswith("numba."):
        return raised
    short = MonMDPError(f"{agent}: it does not compile: {_innermost_reason(str(raised))}")
    short.__cause__ = raised
    return short


def _innermost_reason(told: str) -> str:
    """What a compiler's hundred lines come down to, and where, if they say it."""
    lines = [line.strip() for line in told.splitlines()]
    failures = [i for i, line in enumerate(lines) if "Failed in nopython mode" in line]
    below = [line for line in lines[failures[-1] + 1 if failures else 0 :] if line]
    errors = [line for line in below if "Error: " in line]
    reason = (errors or below or [told])[0]
    where = next((line.rstrip(":") for line in below if line.startswith('File "')), "")
    if reason.endswith("signature:"):
        reason += next((f" {line[4:]}" for line in below if line.startswith(">>> ")), "")
    if reason.startswith("Only accept returning of array"):
        reason = "it makes an array, but an agent must work with numbers and the arrays it has"
    reason = re.sub(r"\b(State|Incremental|Parameters)\(.*", r"\1", reason)  # and all its types
    return f"{reason} ({where})" if where else reason


_warm: set[str] = set()
"""kernels that this process has compiled"""
_warming = threading.Lock()


def _warm_up(resolved: Resolved) -> None:
    """Compile first, so that no run's time has that in it."""
    if resolved.kernel in _warm or not resolved.is_compiled:
        return
    with _warming:
        if resolved.kernel not in _warm:
            task = resolved.task
            small = prepare(task.monmdp, task.agent, 1, evaluation="monte-carlo", episodes=1)
            carry_out(small, seed=0)
            _warm.add(resolved.kernel)


def _die_with_parent(alive: Connection) -> None:
    """End this process when its parent does, even if that is killed: then a pipe of it closes."""

    def watch() -> None:
        with suppress(EOFError, OSError):
            alive.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _same_code(run: Run, resolved: Resolved) -> bool:
    """Whether a run was made by the code that was meant.

    An agent that was given as an object travels with its code. One that was given by its name is
    found anew by the worker, perhaps in another version of its file.
    """
    named = isinstance(resolved.configuration.agent, str)
    other = named and run.settings["code"] != resolved.settings["code"]
    return not other and bool(run.provenance["kernel"] == resolved.kernel)


def _result(future: Future[Any], scheduler: str | None) -> Run | Failure:
    """What a worker handed back, or an error for people if it broke."""
    try:
        result: Run | Failure = future.result()
        return result
    except MonMDPError:
        raise
    except BrokenExecutor as error:
        raise MonMDPError(
            "a worker process ended before its run did: killed from outside, out of memory, or "
            "crashed"
        ) from error
    except (Exception, CancelledError) as error:
        if scheduler is None:
            raise
        raise MonMDPError(
            f"the scheduler at {scheduler} failed, {type(error).__name__}: {error}"
        ) from error


@contextmanager
def _workers(
    runs: Mapping[Key, Resolved], jobs: int | None, scheduler: str | None
) -> Iterator[tuple[Executor, int]]:
    """Yield who does the runs, and how many at a time.

    Compiled agents run in threads, those in plain Python in processes.
    """
    if scheduler is not None and runs:
        with _cluster(scheduler) as client:
            yield client.get_executor(pure=False), max(1, sum(client.ncores().values()))
        return
    most = max((of.memory for of in runs.values()), default=0)
    width = max(1, min(len(runs), jobs_that_fit(most, jobs or cores())))
    compiled = all(of.is_compiled for of in runs.values())
    if width == 1 or (compiled and width <= THREADS):
        pool = ThreadPoolExecutor(width)
        try:
            yield pool, width
        finally:
            pool.shutdown(cancel_futures=True)
        return
    from joblib.externals.loky import ProcessPoolExecutor

    # A helper process of theirs cleans up after a command that was stopped, and need not say so.
    if QUIETLY not in sys.warnoptions:
        sys.warnoptions.append(QUIETLY)
    theirs, ours = Pipe(duplex=False)
    with theirs, ours:
        processes = ProcessPoolExecutor(width, initializer=_die_with_parent, initargs=(theirs,))
        try:
            yield processes, width
        finally:
            processes.shutdown(kill_workers=True)


def cores() -> int:
    """Return how many cores this process may use: its affinity and its control group count."""
    from joblib import cpu_count

    return int(cpu_count())


def jobs_that_fit(needed: int, jobs: int) -> int:
    """Return how many agents to train at a time, fewer than asked for if they need many bytes."""
    there = machine_memory()
    if not needed or there is None:
        return jobs
    return max(1, min(jobs, int(SHARE * there) // needed))


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    """Yield a client of a scheduler that has workers.

    Whatever listens at the address may say nothing, or anything: only a thread of its own can be
    left waiting for it.
    """
    distributed = import_extra("distributed", "cluster", "--scheduler")
    deadline, answer = time.monotonic() + CONNECTING, Future[Any]()

    def connect() -> None:
        try:
            answer.set_result(distributed.Client(address, timeout=CONNECTING, set_as_default=True))
        except Exception as error:  # each transport and each listener has errors of its own
            answer.set_exception(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        client = answer.result(CONNECTING)
    except Exception as error:
        said = (str(error).splitlines() or [f"no answer within {CONNECTING:g} s"])[0]
        right = "write the address that `dask scheduler` prints, such as tcp://host:8786"
        raise MonMDPError(f"no scheduler at {address}: {said}; {right}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=max(1.0, deadline - time.monotonic()))
        except TimeoutError:
            raise MonMDPError(
                f"the scheduler at {address} has no workers; start one with: dask worker {address}"
            ) from None
        yield client
