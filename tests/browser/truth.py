"""What the runs on disk say, by the library's readers and statistics, without the page's code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import isfinite

import numpy as np

import monmdp
from monmdp.results import load_results
from monmdp.stats import area, end, half_width, iqm_curve, mean_interval, median_time, smooth

LABELS = {"monitored-mbie-eb": "Monitored MBIE-EB", "mbie-eb": "MBIE-EB"}


@dataclass(frozen=True)
class Runs:
    """The runs of an agent on a problem."""

    world: str
    monitor: str
    rho: float
    agent: str
    step: np.ndarray
    curve: dict[str, np.ndarray]
    """score -> [seed, checkpoint]"""

    @property
    def title(self):
        return f"{self.world} {100 * self.rho:g} % / {self.monitor}"

    @property
    def minimax(self):
        return _minimax(self.world, self.monitor, self.rho)

    def mean(self, smoothed=False):
        curves = self.curve["episode_return"]
        return (smooth(curves) if smoothed else curves).mean(axis=0)

    def columns(self):
        """Column of the table of problems -> the numbers behind it, None for what is not there."""
        v = self.minimax
        good = self.curve["worst_case_return"] >= v - 0.01 * max(1.0, abs(v))
        stays = np.minimum.accumulate(good[:, ::-1], axis=1)[:, ::-1]
        optimal = stays[:, -1]
        budget = int(self.step[-1] + self.step[1])
        first = np.where(optimal, self.step[stays.argmax(axis=1)], budget)
        return {
            "seeds": (len(good), len(good)),
            "v": (v,),
            "end": mean_interval(end(self.curve["episode_return"])),
            "area": mean_interval(area(self.curve["episode_return"])),
            "optimal": (int(optimal.sum()),),
            "steps to 1 %": (median_time(first.astype(float), optimal),),
            "steps-to-v": (self.steps_to_v(),),
            "goal visits": self.visits("goal_visits"),
            "⊥ visits": self.visits("bottom_visits"),
        }

    def steps_to_v(self):
        """When the mean curve, as drawn, is within 5 % of v for good; None: never."""
        v = self.minimax
        together = self.mean(len(self.step) >= 100) >= v - 0.05 * max(1.0, abs(v))
        late = np.minimum.accumulate(together[::-1])[::-1]
        return int(self.step[late.argmax()]) if late[-1] else None

    def visits(self, score):
        """Mean at the end; no mean of visits is negative."""
        mean, low, high = mean_interval(end(self.curve[score]))
        return mean, max(0.0, low), high

    def row(self):
        """The row of the table of problems, as the CSV file has it."""
        marks = [self.title, self.world, self.monitor, self.rho, LABELS[self.agent]]
        return [*marks, *(value for values in self.columns().values() for value in values)]

    def texts(self):
        """The same as it is seen: rounded to the digits that are shown."""

        def written(name, values):
            if name == "seeds":
                return str(values[0])
            if name == "optimal":
                return f"{values[0]} of 5"
            if "steps" in name:
                return "never" if values[0] is None else f"{values[0]:,.0f}"
            estimate, *interval = (f"{value:.4g}".replace("-", "−") for value in values)
            return f"{estimate}\n[{', '.join(interval)}]" if interval else estimate

        numbers = [written(name, values) for name, values in self.columns().items()]
        return [self.title, LABELS[self.agent], *numbers]

    def curve_columns(self):
        """The columns of the CSV file of curves; half widths are in single precision."""
        curves = self.curve["episode_return"]
        iqm, iqm_half = iqm_curve(curves)
        halves = (np.float32(half).astype(float) for half in (half_width(curves), iqm_half))
        half, iqm_half = halves
        return [curves.mean(axis=0), half, iqm, iqm_half]


@cache
def _minimax(world, monitor, rho):
    problem = monmdp.make(world, monitor, rho=rho)
    return monmdp.solve(problem, 0.99).episode_return


def read(folder):
    """All runs in a folder, in the order in which the suite has them."""
    table = load_results(folder)
    found = []
    for world in ("loop", "hazard"):
        for rho in (1.0, 0.5):
            for monitor in ("ask", "button"):
                for agent in ("monitored-mbie-eb", "mbie-eb"):
                    own = table[
                        (table.world == world)
                        & (table.monitor == monitor)
                        & (table["monitor.rho"] == rho)
                        & (table.agent == agent)
                    ]
                    by_seed = [own[own.seed == seed] for seed in range(5)]
                    curve = {
                        name: np.array([seed[name] for seed in by_seed])
                        for name in (
                            "episode_return", "worst_case_return", "goal_visits", "bottom_visits"
                        )
                    }  # fmt: skip
                    step = by_seed[0].step.to_numpy()
                    found.append(Runs(world, monitor, rho, agent, step, curve))
    return found


def same(text, value):
    """Whether a field of a CSV file is this value, to the last bit."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return text == ""
    return text == value if isinstance(value, str) else float(text) == value
