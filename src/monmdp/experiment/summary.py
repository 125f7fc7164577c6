"""What a set of runs says, seeds being the replicates: the numbers of a table, and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.agents import COLOURS
from monmdp.drawing import learning_curves, styles
from monmdp.experiment.training import Run
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.planning import Solution
from monmdp.stats import end, half_width, mean_interval, smooth, stays_from

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMOOTHED = 100
"""curves of at least so many checkpoints are smoothed before they are drawn"""


def steps_to_minimax(run: Run, episode_return: float, tolerance: float = 0.01) -> int | None:
    """Return the first checkpoint from which on the test policy stays minimax-optimal.

    That is: its exact return in M_↓ stays ≥ V - tolerance·max(1, |V|), V being the minimax-optimal
    episode return. None if it does not hold at the last checkpoint.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "ask")
    >>> run = monmdp.train(problem, "monitored-mbie-eb", 1000)
    >>> monmdp.experiment.steps_to_minimax(run, monmdp.solve(problem).episode_return)
    500
    """
    good = run.curve["worst_case_return"] >= episode_return - tolerance * max(
        1.0, abs(episode_return)
    )
    first = int(stays_from(good))
    return int(run.step[first]) if first < len(good) else None


def regret(run: Run, episode_return: float) -> FloatArray:
    """Return [checkpoint] what training has lost so far against the minimax-optimal policy.

    That is: for every training episode that is over, its minimax-optimal return V less the
    discounted return that it had, with the true rewards. An episode may be lucky, and the true
    rewards better than M_↓ has it, so it need not grow, nor be positive.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "ask")
    >>> run = monmdp.train(problem, "monitored-mbie-eb", 1000)
    >>> lost = monmdp.experiment.regret(run, monmdp.solve(problem).episode_return)
    >>> lost.shape, bool(lost[-1] > 0)
    ((10,), True)
    """
    lost: FloatArray = (
        run.curve["finished_episodes"] * episode_return - run.curve["training_return"]
    )
    return lost


def is_smoothed(step: IntArray) -> bool:
    """Return whether curves with these checkpoints are drawn smoothed; short ones would suffer."""
    return len(step) >= SMOOTHED


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
    """Sum up the runs of several seeds.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "ask")
    >>> runs = [monmdp.train(problem, "monitored-mbie-eb", 2000, seed=seed) for seed in range(3)]
    >>> summary = monmdp.experiment.summarize(runs, monmdp.solve(problem))
    >>> summary.seeds, summary.seeds_converged, round(summary.final_mean, 3)
    (3, 3, 0.961)
    """
    final = mean_interval([float(end(run.curve["episode_return"])) for run in runs])
    reached = tuple(steps_to_minimax(run, solution.episode_return) for run in runs)
    return Summary(
        episode_return_minimax=solution.episode_return,
        final_mean=final.estimate,
        final_interval=None if np.isnan(final.low) else (final.low, final.high),
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
    smoothed = is_smoothed(any_runs[0].step)
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
        styles=styles(((name, str(runs[name][0].settings["agent"])) for name in runs), COLOURS),
        minimax=solution.episode_return,
        title=f"{settings['world']} / {settings['monitor']}{given}",
        note=f"mean over n = {len(any_runs)} seed{'s' if several else ''}{band}; "
        f"{settings['evaluation']} evaluation{drawn}{over if smoothed else ''}",
    )
