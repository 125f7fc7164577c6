"""Made-up runs of the paper's figures: low until they jump, as a story says."""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from monmdp import suites
from monmdp.experiment import Run
from monmdp.results.evidence import Known, sum_up
from monmdp.results.store import COLUMNS

ON_PAR = {("empty", "full"), ("hazard", "full"), ("loop", "ask"), ("corridor", "button"),
          ("two-room-3x5", "level-up")}  # fmt: skip
READ = ["episode_return", "worst_case_return", "goal_visits", "bottom_visits"]
HARDER = ["n-supporters", "n-experts", "level-up"]
OURS, RIVAL, KNOWN = "monitored-mbie-eb", "directed-e2", "known-monitor"
OPTIMIST, PESSIMIST = "mbie-eb", "pessimistic-mbie-eb"


@functools.cache
def plan_of(number, every=1000):
    """A figure of the paper with fewer tests."""
    return expanded(suites.paper_suite(f"figure-{number}"), every)


def expanded(suite, every=1000):
    """The plan of a suite with fewer tests."""
    return suites.expand(suite.model_copy(update={"every": every}))


def minimax(world, monitor, rho=1.0, solvable=False):
    """What the minimax-optimal policy is said to get: made up like the rest, but near the truth."""
    if world == "river-swim":
        return 20.0
    return (0.2 if monitor == "button" else 0.9) - 0.01 * (rho < 1) + 0.02 * solvable


class Place(NamedTuple):
    """Which agent on which problem."""

    world: str
    monitor: str
    rho: float
    solvable: bool
    agent: str
    r0: float | None

    @property
    def v(self):
        return minimax(*self[:4])


def place(resolved):
    configuration = resolved.configuration
    problem = dict(configuration.problem)
    return Place(
        configuration.world,
        configuration.monitor,
        problem.get("monitor.rho", 1.0),
        problem.get("world.solvable", False),
        configuration.agent,
        dict(configuration.of_agent).get("r0"),
    )


@dataclasses.dataclass
class Story:
    """How a run goes: low until it jumps to its end; visits go from their first to their last."""

    jump: float
    end: float
    low: float = -5.0
    goal: tuple = (0.1, 1.0)
    bottom: tuple = (6.0, 0.0)
    turned: int = 0
    """which seed's noise the first seed gets"""
    spread: float = 0.05
    """of the jump, from the middle to the first and the last seed"""


def paper_story(where):
    """What the paper says of a run."""
    hard = where.monitor in HARDER
    if where.world != "bottleneck":
        if where.agent == RIVAL and where[:2] in ON_PAR:
            return Story(3000, where.v, turned=1)
        return Story(3000 if where.agent == OURS else 8000, where.v)
    if where.agent == OURS:
        jump = {1.0: 10500 + 1000 * hard, 0.8: 12500, 0.2: 15500, 0.05: 19500}[where.rho]
        return Story(jump, where.v)
    if where.agent == KNOWN:
        return Story({1.0: 9500, 0.8: 10500, 0.2: 11500, 0.05: 13500}[where.rho], where.v)
    if where.agent == RIVAL and where.r0 is None:
        return Story(2000, -300 if where.rho == 1 else -340, goal=(0.1, 0.0), bottom=(6.0, 37.0))
    if where.agent == RIVAL:
        jump = {1.0: 15500 + 8000 * hard, 0.8: 16500, 0.2: 25500, 0.05: 40500}[where.rho]
        return Story(jump, where.v)
    if (where.agent == OPTIMIST and not where.solvable) or where.rho < 1:
        return Story(2000, -3.0, bottom=(6.0, 40.0))
    return dataclasses.replace(paper_story(where._replace(agent=OURS)), turned=1)


def runs_of(found, seeds, change=None, noise=0.02):
    """Made-up runs of a configuration."""
    where = place(found)
    story = paper_story(where)
    for name, value in (change(where, story) if change else {}).items():
        setattr(story, name, value)
    step = np.arange(0, found.settings["steps"], found.settings["every"])
    late = step >= step[-1] * 0.6
    runs = []
    for seed in range(seeds):
        # What the seeds do is the same in all configurations, and adds up to nothing.
        odd = (seed + story.turned) % seeds - (seeds - 1) / 2
        odd /= max((seeds - 1) / 2, 1)
        spread = story.spread if noise else 0.0
        jumped = step >= story.jump * (1 + spread * odd)
        exact = np.where(jumped, story.end, story.low) + noise * odd / 5
        curve = {name: np.zeros(len(step)) for name in COLUMNS}
        curve["worst_case_return"] = exact
        curve["episode_return"] = exact + noise * (odd + 0.5 * np.cos(step / 700 + 2 * odd))
        for name in ("goal", "bottom"):
            first, last = getattr(story, name)
            curve[f"{name}_visits"] = np.where(late, last, first) * (1 + noise * odd / 10)
        provenance = {"kernel": found.kernel, "wall_seconds": 1.0, "cpu_seconds": 1.0}
        runs.append(Run(found.settings, seed, step, curve, provenance=provenance))
    return runs


def evidence_of(plans, runs):
    """What is summed up of runs[configuration]."""
    resolved = {key: of for plan in plans for key, of in plan.resolved.items()}
    by_seed = {(key, run.seed): run for key, own in runs.items() for run in own}

    def known(key):
        of = resolved[key]
        return Known(of.settings, place(of).v, of.kernel)

    return sum_up([of.figure for of in plans], known, lambda *key: by_seed.get(key), {})


def for_oracle(plans, runs):
    """What the oracle reads: runs by place, and minimax values."""
    resolved = {key: of for plan in plans for key, of in plan.resolved.items()}
    by_place = {
        place(resolved[key]): {
            "seed": [run.seed for run in own],
            "step": own[0].step,
            **{name: np.array([run.curve[name] for run in own]) for name in READ},
        }
        for key, own in runs.items()
        if own
    }
    return by_place, {where[:4]: where.v for where in by_place}


def made(numbers, seeds=30, change=None, noise=0.02, leave_out=None, every=1000):
    """Evidence of figures and what the oracle reads, from made-up runs.

    `leave_out` is asked of every place and seed.
    """
    return made_of([plan_of(number, every) for number in numbers], seeds, change, noise,
                   leave_out)  # fmt: skip


def made_of(plans, seeds=30, change=None, noise=0.02, leave_out=None):
    """The same of any plans."""
    runs = {
        key: [
            run
            for run in runs_of(of, seeds, change, noise)
            if leave_out is None or not leave_out(place(of), run.seed)
        ]
        for plan in plans
        for key, of in plan.resolved.items()
    }
    return evidence_of(plans, runs), *for_oracle(plans, runs)


def only(condition, **changes):
    """A change of the stories of some runs; functions are of the place and the paper's story."""

    def change(where, story):
        if not condition(where):
            return {}
        return {k: v(where, story) if callable(v) else v for k, v in changes.items()}

    return change
