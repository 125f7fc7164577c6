"""What a set of runs says, seeds being the replicates: pure functions on arrays, and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from monmdp.drawing import learning_curves
from monmdp.experiment.training import Run
from monmdp.model.arrays import FloatArray
from monmdp.planning import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

END = 10
"""checkpoints at the end over which the end return is taken"""
SMOOTHED = 100
"""curves of at least so many checkpoints are smoothed before they are drawn"""


def smooth(raw: ArrayLike, old: float = 0.9) -> FloatArray:
    """Exponential moving average along the last axis, starting at the first raw value."""
    values = np.array(raw, dtype=np.float64)
    for i in range(1, values.shape[-1]):
        values[..., i] = old * values[..., i - 1] + (1 - old) * values[..., i]
    return values


def half_width(values: ArrayLike, axis: int = 0) -> FloatArray:
    """Half of the 95 % interval of the mean, 1.96 sd/√n; NaN for a single value."""
    array = np.asarray(values, dtype=np.float64)
    n = array.shape[axis]
    if n < 2:
        return np.full(np.delete(array.shape, axis), np.nan)
    width: FloatArray = 1.96 * array.std(axis=axis, ddof=1) / np.sqrt(n)
    return width


def steps_to_minimax(run: Run, episode_return: float, tolerance: float = 0.01) -> int | None:
    """Return the first checkpoint from which on the test policy stays minimax-optimal.

    That is: its exact return in M_↓ stays ≥ V - tolerance·max(1, |V|), V being the minimax-optimal
    episode return. None if it does not hold at the last checkpoint.
    """
    good = run.curve["worst_case_return"] >= episode_return - tolerance * max(
        1.0, abs(episode_return)
    )
    if not good[-1]:
        return None
    bad = np.flatnonzero(~good)
    return int(run.step[bad[-1] + 1]) if len(bad) else int(run.step[0])


@dataclass(frozen=True)
class Summary:
    """The numbers of the final table."""

    episode_return_minimax: float
    """V, discounted return of an episode of the minimax-optimal policy in M_↓"""
    final_mean: float
    """end return, the mean of the last ten checkpoints: mean over seeds"""
    final_interval: tuple[float, float] | None
    """its 95 % interval; None for a single seed"""
    seeds: int
    seeds_converged: int
    """seeds whose test policy becomes minimax-optimal and stays so"""
    steps_to_1pct: tuple[int | None, ...]
    """for each seed, from when on it does (within 1 %); None where it does not"""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        interval = None if self.final_interval is None else list(self.final_interval)
        return self.__dict__ | {
            "final_interval": interval,
            "steps_to_1pct": list(self.steps_to_1pct),
        }


def summarize(runs: Sequence[Run], solution: Solution) -> Summary:
    """Sum up the runs of several seeds."""
    ends = np.array([run.curve["episode_return"][-END:].mean() for run in runs])
    mean, half = float(ends.mean()), float(half_width(ends))
    reached = tuple(steps_to_minimax(run, solution.episode_return) for run in runs)
    return Summary(
        episode_return_minimax=solution.episode_return,
        final_mean=mean,
        final_interval=None if np.isnan(half) else (mean - half, mean + half),
        seeds=len(runs),
        seeds_converged=sum(step is not None for step in reached),
        steps_to_1pct=reached,
    )


def draw_runs(runs: Mapping[str, Sequence[Run]], solution: Solution) -> Figure:
    """Draw the learning curves of one or more agents on one problem.

    Curves of so many tests as the paper has are smoothed as there; shorter ones would be distorted.
    """
    any_runs = next(iter(runs.values()))
    settings = any_runs[0].settings
    smoothed = len(any_runs[0].step) >= SMOOTHED
    curves = {}
    for name, of_seeds in runs.items():
        returns = np.array([run.curve["episode_return"] for run in of_seeds])
        returns = smooth(returns) if smoothed else returns
        mean, half = returns.mean(axis=0), half_width(returns)
        # No mean lies outside the range of what it is the mean of.
        lower = np.maximum(mean - half, returns.min(axis=0))
        curves[name] = mean, lower, np.minimum(mean + half, returns.max(axis=0))
    given = "".join(
        f", {key.partition('.')[2]}={value}"
        for key, value in settings.get("problem_parameters", {}).items()
    )
    drawn = f", {settings['episodes']} episodes a point" if settings["episodes"] else ""
    several = len(any_runs) > 1
    band = "; band: 95 % interval of the mean, ±1.96 sd/√n, within their range" if several else ""
    over = "; every seed smoothed by an exponential moving average (0.9 old, 0.1 new)"
    return learning_curves(
        any_runs[0].step,
        curves,
        minimax=solution.episode_return,
        title=f"{settings['world']} / {settings['monitor']}{given}",
        note=f"mean over n = {len(any_runs)} seed{'s' if several else ''}{band}; "
        f"{settings['evaluation']} evaluation{drawn}{over if smoothed else ''}",
    )
