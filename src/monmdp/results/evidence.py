"""Evidence: what figures, claims and tables read of the runs, in a file of a megabyte or two.

An `Aggregate` sums up the runs of one configuration. Curves are kept for drawing, in single
precision; what claims and tables read is one number a seed, as it was. `Evidence` is the figures
and their aggregates: made from a folder of results, or read back from its summary file, it is the
same to the bit.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.experiment.loop import LEDGER
from monmdp.experiment.provenance import todays_kernel
from monmdp.experiment.training import Run
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.planning import solve
from monmdp.results.late import late_of
from monmdp.results.sealed import read_sealed, write_sealed
from monmdp.results.store import read_problem, read_run, run_path
from monmdp.schema import LARGEST, DamagedError, FileName, Settings, checked
from monmdp.stats import (
    area,
    end,
    half_width,
    median_time,
    smooth,
    steps_to,
    steps_to_v_bootstrap,
)
from monmdp.suites import Curve, Figure, Panel, Plan
from monmdp.suites.plan import as_json

FORMAT = "monmdp-summary-7"
SCORES = ("episode_return", "goal_visits", "bottom_visits")
"""what a panel may show; its returns may also be those in M↓"""
WORST = "worst_case_return"
LATE = ("within", "bottom")
"""measures of `Late` that tables show"""
RESAMPLES = 1000
OPTIMAL = 0.01
"""a policy within 1 % of the minimax-optimal return, in units of max(1, |V|), is optimal"""
SMOOTHED = 100
"""curves of at least so many tests of drawn episodes are smoothed, as the paper's are"""
AT = 0.05
"""within 5 % counts as being at a value"""
NOTICED = 0.01
"""share of a return, 1 at least, from which on it is told that nobody can see it"""


class Axis(NamedTuple):
    """What a panel shows of its curves: a range of steps and one of scores; None: all of it."""

    x_range: tuple[float, float] | None
    y_range: tuple[float, float] | None

    @property
    def key(self) -> str:
        """Return the name under which `Aggregate.seen` keeps what it shows."""
        return " ".join("all" if of is None else f"{of[0]:g}:{of[1]:g}" for of in self)

    def __str__(self) -> str:
        """Return what it shows, in words."""
        if self.y_range is None:
            return "the whole range"
        return f"[{self.y_range[0]:g}, {self.y_range[1]:g}]"

    @property
    def height(self) -> float | None:
        """Return its height, if it has one."""
        return None if self.y_range is None else self.y_range[1] - self.y_range[0]

    @property
    def extent(self) -> tuple[float, ...]:
        """Return how many steps, and how much of the scores, it shows."""
        return tuple(np.inf if of is None else of[1] - of[0] for of in self)


def axis_of(panel: Panel) -> Axis:
    """Return the axis on which a panel shows returns; one that shows visits has no height."""
    return Axis(panel.x_range, panel.y_range if panel.shows_returns else None)


class LeftOutWarning(UserWarning):
    """A run that is there and cannot be read."""


class UnknownReturnWarning(UserWarning):
    """A configuration whose problem is not there, or is another one."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """The runs of one configuration, seeds being the replicates.

    Where panels show ``worst_case_return``, that is the ``episode_return`` of what is below.
    """

    configuration: str
    settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    minimax: float
    """V: return of an episode of the minimax-optimal policy in M↓"""
    mean: Mapping[str, FloatArray]
    """score -> [checkpoint] mean over seeds, as it was; for the scores that are drawn"""
    half: Mapping[str, FloatArray]
    """score -> [checkpoint] half of the 95 % interval of the mean, smoothed as it is drawn"""
    smoothed: bool
    """whether its curves are drawn smoothed, as the paper's are"""
    area: FloatArray
    """[seed] mean of all tests' returns"""
    seen: Mapping[str, FloatArray]
    """axis -> [seed] mean of the curve as it is drawn, clipped to the axis"""
    exact_end: FloatArray
    """[seed] mean of the last ten tests' exact returns in M↓"""
    end: Mapping[str, FloatArray]
    """score -> [seed] mean of the last ten tests"""
    first: Mapping[str, FloatArray]
    """score -> [seed] the first test, before any training"""
    steps_to_optimal: IntArray
    """[seed] first checkpoint after which the test policy stays optimal; the budget if never"""
    optimal: Any
    """[seed] whether it becomes so"""
    steps_to_v: int
    """first checkpoint after which the mean curve, as drawn, is within 5 % of V; else the budget"""
    reaches_v: bool
    steps_to_v_resampled: IntArray
    """[resample] for resampled seeds, the same ones in all configurations of a problem"""
    regret: FloatArray
    """[seed] what training has lost by the last test, against V in every episode that was over"""
    worst_steps: FloatArray
    """[seed] training steps by then whose true rᵉ was the least there is, where that is a loss"""
    wall_seconds: float
    cpu_of_seed: FloatArray
    """[seed] CPU seconds of the run: training and its tests, without compiling and writing"""
    kernels: tuple[str, ...]
    """hashes of the code that made the runs; more than one if they were made at different times"""
    commits: tuple[str, ...]
    """the versions of the source tree, where git knew them; ``+``: changed since"""
    stale: int
    """runs made by other code than that which reads them"""
    late: Mapping[str, FloatArray] = field(default_factory=dict)
    """if the suite asks for it, of the second half of training: measure of `Late` -> [seed]"""

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU seconds of all runs."""
        return float(sum(self.cpu_of_seed))

    @property
    def steps_to_1pct(self) -> tuple[int | None, ...]:
        """Return for each seed when it becomes minimax-optimal for good; None: never."""
        steps = zip(self.steps_to_optimal, self.optimal, strict=True)
        return tuple(int(step) if optimal else None for step, optimal in steps)

    @property
    def median_steps(self) -> float | None:
        """Return their median; None if fewer than half of the seeds become so."""
        return median_time(self.steps_to_optimal.astype(float), self.optimal)

    @property
    def step(self) -> IntArray:
        """Return [checkpoint] training steps."""
        steps: IntArray = np.arange(0, self.settings["steps"], self.settings["every"])
        return steps

    @property
    def worst(self) -> float:
        """Return the end return in M↓: never-observable rewards are as low as they can be."""
        return float(np.mean(self.exact_end))

    @property
    def counts_on_the_unseen(self) -> bool:
        """Whether more than 1 % of the end return may not be there."""
        exact = self.settings["evaluation"] == "exact"
        end = float(np.mean(self.end["episode_return"]))
        return exact and end - self.worst > NOTICED * max(1.0, abs(self.worst))

    @property
    def threshold(self) -> float:
        """Return what counts as being at V, from below."""
        return self.minimax - AT * max(1.0, abs(self.minimax))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Figures, and the aggregates of the runs that were there."""

    figures: tuple[Figure, ...]
    aggregates: Mapping[str, Aggregate]
    """by configuration"""
    made: Mapping[str, Any]
    """versions, commit and machine of the process that summed the runs up"""

    @property
    def settings(self) -> dict[str, Mapping[str, Any]]:
        """Return configuration's id -> its settings."""
        return {key: of.settings for key, of in self.aggregates.items()}

    def of(self, curve: Curve) -> Aggregate | None:
        """Return what is known of a curve, if anything is."""
        return self.aggregates.get(curve.configuration)


Reader = Callable[[str, int], Run | None]
"""hands over the run of a configuration's id and a seed, if it is there"""
Watch = Callable[["Aggregate", Sequence[Run]], None]
"""is shown runs with what they came to: whoever wants more of them need not read them again"""


def reader(folder: Path) -> Reader:
    """Return what reads runs from a folder; damaged ones are left out with a warning."""

    def read(configuration: str, seed: int) -> Run | None:
        try:
            return read_run(run_path(folder, configuration, seed))
        except FileNotFoundError:
            return None
        except DamagedError as error:  # as good as missing
            warnings.warn(str(error), LeftOutWarning, stacklevel=2)
            return None

    return read


def gather(plans: Sequence[Plan], read: Reader, made: Mapping[str, Any]) -> Evidence:
    """Sum up runs; of each configuration the seeds that are there and asked for."""
    resolved = {key: of for plan in plans for key, of in plan.resolved.items()}

    def known(configuration: str) -> Known:
        of = resolved[configuration]
        return Known(of.settings, _minimax(of.task.monmdp, of.settings["gamma"]), of.kernel)

    return sum_up([plan.figure for plan in plans], known, read, made)


def gather_kept(
    figures: Sequence[Figure],
    settings: Mapping[str, Mapping[str, Any]],
    folder: Path,
    made: Mapping[str, Any],
    *,
    minimax: Mapping[str, float] | None = None,
    watch: Watch | None = None,
    trusted: Collection[str] = (),
) -> Evidence:
    """Sum up the runs in a folder that figures show, from what is kept alone.

    `settings` has those of all configurations, and `minimax` their V where it was found before;
    else a problem is read and solved once, however many agents were trained on it.
    """

    @cache
    def solved(problem: str, gamma: float) -> float | MonMDPError:
        try:
            return solve(read_problem(folder, {"problem": problem}), gamma).episode_return
        except MonMDPError as error:
            return error

    def known(configuration: str) -> Known:
        of = settings[configuration]
        v = solved(of["problem"], of["gamma"]) if minimax is None else minimax[configuration]
        if isinstance(v, MonMDPError):
            words = f"the minimax return of {configuration} is unknown: {v}"
            warnings.warn(words, UnknownReturnWarning, stacklevel=2)
            v = float("nan")
        return Known(of, v, todays_kernel(of, trusted))

    return sum_up(figures, known, reader(folder), made, watch)


class Known(NamedTuple):
    """What is known of a configuration before its runs are read."""

    settings: Mapping[str, Any]
    minimax: float
    kernel: str | None
    """hash of today's code; None: nothing is called stale"""


def sum_up(
    figures: Sequence[Figure],
    known: Callable[[str], Known],
    read: Reader,
    made: Mapping[str, Any],
    watch: Watch | None = None,
) -> Evidence:
    """Sum up the runs that figures show."""
    shown: dict[str, list[tuple[Figure, Panel, Curve]]] = {}
    for figure in figures:
        for panel in figure.panels():
            for curve in panel.curves:
                shown.setdefault(curve.configuration, []).append((figure, panel, curve))
    aggregates = {}
    for name, places in shown.items():
        seeds = sorted({seed for *_, curve in places for seed in curve.seeds})
        runs = [run for run in (read(name, seed) for seed in seeds) if run is not None]
        if not runs:
            continue
        if any(panel.score == WORST for _, panel, _ in places):
            runs = [in_worst_case(run) for run in runs]
        settings, minimax, kernel = known(name)
        aggregates[name] = aggregate(
            name, settings, runs, minimax, smoothing=places[0][0].smooth, kernel=kernel,
            scores=dict.fromkeys(kept_as(panel) for _, panel, _ in places),
            axes=dict.fromkeys(axis_of(panel) for _, panel, _ in places),
            late=any(figure.late for figure, *_ in places),
        )  # fmt: skip
        if watch is not None:
            watch(aggregates[name], runs)
    return Evidence(tuple(figures), aggregates, made)


def in_worst_case(run: Run) -> Run:
    """Return a run whose test returns are those in M↓."""
    return replace(run, curve={**run.curve, "episode_return": run.curve[WORST]})


def kept_as(panel: Panel) -> str:
    """Return the score by which an aggregate keeps what a panel shows."""
    return "episode_return" if panel.shows_returns else panel.score


def aggregate(
    configuration: str,
    settings: Mapping[str, Any],
    runs: Sequence[Run],
    minimax: float,
    *,
    scores: Iterable[str] = SCORES,
    smoothing: bool | None = None,
    axes: Iterable[Axis] = (Axis(None, None),),
    kernel: str | None = None,
    late: bool = False,
) -> Aggregate:
    """Sum up the runs of a configuration, at least one; V is NaN where it is not known.

    Curves of `scores` are kept. They are drawn smoothed if `smoothing`; None: if they are long and
    noisy. An exact return has no noise, and smoothing it would only delay it.
    """
    noisy = settings["evaluation"] == "monte-carlo"
    smoothed = noisy and len(runs[0].step) >= SMOOTHED if smoothing is None else smoothing
    names = (*SCORES, WORST, *LEDGER)
    raw = {name: np.array([run.curve[name] for run in runs]) for name in names}
    step = runs[0].step
    unit = max(1.0, abs(minimax))
    optimal_from, optimal = steps_to(step, raw[WORST], minimax - OPTIMAL * unit)
    threshold = minimax - AT * unit
    shown = {name: smooth(raw[name]) if smoothed else raw[name] for name in SCORES}
    returns = shown["episode_return"]
    steps, reached = steps_to(step, returns.mean(axis=0), threshold)
    # Runs of one problem share seeds and streams; those of different problems nothing.
    resampling = np.random.default_rng(int(settings["problem"], 16))
    kernels = [str(run.provenance.get("kernel")) for run in runs]
    return Aggregate(
        configuration=configuration,
        settings=settings,
        seeds=tuple(run.seed for run in runs),
        minimax=minimax,
        mean={name: raw[name].mean(axis=0).astype(np.float32) for name in scores},
        half={name: half_width(shown[name]).astype(np.float32) for name in scores},
        smoothed=smoothed,
        area=area(raw["episode_return"]),
        seen={axis.key: _seen(step, returns, axis) for axis in axes},
        exact_end=end(raw[WORST]),
        end={name: end(raw[name]) for name in SCORES},
        first={name: raw[name][:, 0].copy() for name in SCORES},
        steps_to_optimal=optimal_from,
        optimal=optimal,
        steps_to_v=int(steps),
        reaches_v=bool(reached),
        steps_to_v_resampled=steps_to_v_bootstrap(step, returns, threshold, resampling, RESAMPLES),
        regret=raw["finished_episodes"][:, -1] * minimax - raw["training_return"][:, -1],
        worst_steps=raw["worst_steps"][:, -1].copy(),
        wall_seconds=sum(float(run.provenance.get("wall_seconds", np.nan)) for run in runs),
        cpu_of_seed=np.array([run.provenance.get("cpu_seconds", np.nan) for run in runs]),
        kernels=tuple(sorted(set(kernels))),
        commits=tuple(sorted({str(run.provenance.get("commit")) for run in runs})),
        stale=0 if kernel is None else sum(one != kernel for one in kernels),
        late=_late(runs, minimax) if late and np.isfinite(minimax) else {},
    )


def _late(runs: Sequence[Run], minimax: float) -> dict[str, FloatArray]:
    """What is measured of the second half of training: measure -> [seed]."""
    found = [late_of(run, minimax) for run in runs]
    return {name: np.array([getattr(of, name) for of in found]) for name in LATE}


def _seen(step: IntArray, curves: FloatArray, axis: Axis) -> FloatArray:
    """Mean [seed] of curves[seed, checkpoint] as an axis shows them."""
    if axis.x_range is not None:
        curves = curves[:, (axis.x_range[0] <= step) & (step <= axis.x_range[1])]
    return area(curves if axis.y_range is None else np.clip(curves, *axis.y_range))


@lru_cache(maxsize=256)
def _minimax(problem: MonMDP, gamma: float) -> float:
    return solve(problem, gamma).episode_return


# ---- the summary file -----------------------------------------------------------------------


def _arrays(text: str) -> dict[str, FloatArray]:
    """What JSON kept of arrays by name."""
    return {name: np.array(values, np.float64) for name, values in json.loads(text).items()}


_KINDS: dict[str, tuple[str, Any]] = {
    "configuration": ("string", str), "settings": ("string", json.loads), "seeds": ("int64", tuple),
    "minimax": ("float64", float), "mean": ("float32", dict), "half": ("float32", dict),
    "smoothed": ("bool", bool), "area": ("float64", np.ndarray),
    "seen": ("string", _arrays), "exact_end": ("float64", np.ndarray),
    "end": ("float64", dict), "first": ("float64", dict),
    "steps_to_optimal": ("int32", np.ndarray), "optimal": ("bool", np.ndarray),
    "steps_to_v": ("int64", int), "reaches_v": ("bool", bool),
    "steps_to_v_resampled": ("int32", np.ndarray), "regret": ("float64", np.ndarray),
    "worst_steps": ("float64", np.ndarray), "wall_seconds": ("float64", float),
    "cpu_of_seed": ("float64", np.ndarray), "kernels": ("string", tuple),
    "commits": ("string", tuple), "stale": ("int64", int), "late": ("string", _arrays),
}  # fmt: skip
"""field of an aggregate -> type of its entries on disk, and what it is in memory"""
_WIDE = {"int32": np.int64}
"""type on disk -> in memory, where they differ"""


def save(evidence: Evidence, path: str | os.PathLike[str]) -> None:
    """Write evidence into one Parquet file: a row for each configuration."""
    import pyarrow as pa

    schema, rows = _schema(), []
    for of in evidence.aggregates.values():
        row: dict[str, Any] = {name: getattr(of, name) for name in _KINDS}
        row["settings"] = json.dumps(of.settings)
        for name in ("seen", "late"):
            row[name] = json.dumps({key: values.tolist() for key, values in row[name].items()})
        for name in [name for name, (_, kind) in _KINDS.items() if kind is dict]:
            row |= {f"{name}_{score}": row[name].get(score) for score in SCORES}
        rows.append({name: row[name] for name in schema.names})
    figures = [as_json(figure) for figure in evidence.figures]
    footer = {"format": FORMAT, "figures": figures, "made": evidence.made}
    write_sealed(path, pa.Table.from_pylist(rows, schema=schema), footer, compression_level=19)


def _schema() -> Any:
    """The columns of a summary and their types."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name, (entries, kind) in _KINDS.items():
        one = pa.type_for_alias(entries)
        names = [f"{name}_{score}" for score in SCORES] if kind is dict else [name]
        columns |= dict.fromkeys(names, pa.list_(one) if kind in (dict, tuple, np.ndarray) else one)
    return pa.schema(list(columns.items()))


def load(path: str | os.PathLike[str]) -> Evidence:
    """Read what `save` wrote."""
    try:
        footer, table = read_sealed(path, FORMAT, schema=_schema())
    except FileNotFoundError:
        raise MonMDPError(f"{path}: no such file") from None
    figures = checked(tuple[Figure, ...], footer.get("figures"), path)
    made = checked(dict[str, Any], footer.get("made"), path)
    try:
        aggregates = [_read(row, path) for row in table.to_pylist()]
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise DamagedError(f"{path}: damaged, {error}") from None
    return Evidence(figures, {of.configuration: of for of in aggregates}, made)


def _read(row: Mapping[str, Any], path: str | os.PathLike[str]) -> Aggregate:
    values: dict[str, Any] = {}
    for name, (entries, kind) in _KINDS.items():
        dtype = _WIDE.get(entries, entries)
        if kind is dict:
            kept = {score: row[f"{name}_{score}"] for score in SCORES}
            values[name] = {s: np.array(v, dtype) for s, v in kept.items() if v is not None}
        elif kind is np.ndarray:
            values[name] = np.array(row[name], dtype)
        else:
            values[name] = kind(row[name])
    of = Aggregate(**values)
    checked(Settings, of.settings, path)
    checked(FileName, of.configuration, path)
    _check_lengths(of)
    return of


def _check_lengths(of: Aggregate) -> None:
    """Demand a number for every seed, and one for every checkpoint of a curve."""
    by_seed = [of.area, of.exact_end, of.steps_to_optimal, of.optimal, of.regret, of.worst_steps]
    by_seed += [of.cpu_of_seed, *of.seen.values(), *of.end.values(), *of.first.values()]
    by_seed += of.late.values()
    tests = -(-of.settings["steps"] // of.settings["every"])
    curves = [*of.mean.values(), *of.half.values()]
    if not of.seeds or any(array.shape != (len(of.seeds),) for array in by_seed):
        raise ValueError(f"{of.configuration}: not one number a seed")
    if any(curve.shape != (tests,) for curve in curves) or {*of.mean} != {*of.half}:
        raise ValueError(f"{of.configuration}: not one number a test")
    arrays = (np.asarray(array, np.float64) for array in (*by_seed, *curves, of.minimax))
    if any(np.any(np.abs(array) > LARGEST) for array in arrays):
        raise ValueError(f"{of.configuration}: numbers beyond {LARGEST:g}")
