"""Deep agents on CartPole, MountainCar and Acrobot under `ask` and a `button`.

python benchmarks/control.py results/control.jsonl --problems cartpole/ask --seeds 10

Every finished run is a line of the file; the same command goes on where it was stopped. There is
no exact value here: tests are the mean true return, rᵉ + rᵐ, of five episodes with the test policy.
Lines of other code or settings do not count. `--write` copies all that do to
docs/deep/control.json, for docs/deep-v1.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium
import numpy as np

from monmdp import agents
from monmdp.agents import Transition, view_of
from monmdp.envs import AddMonitor
from monmdp.experiment.own_code import module_hash
from resuming import done, kept

WRITTEN = Path(__file__).resolve().parents[1] / "docs" / "deep" / "control.json"
FIRST_SEED = 200
"""tuning used seeds 0 to 9, on CartPole/ask and with Deep Monitored alone"""
STEPS, TESTS, LAST, EPISODES, COST = 40_000, 20, 5, 5, -0.2
COMMON = {"gamma": 0.99, "warmup": 500}
DQN = {**COMMON, "lr": 3e-4, "n_step": 3}
SETTINGS: dict[str, dict[str, Any]] = {
    "deep-monitored": {
        **COMMON, "lr": 3e-4, "average": 0.999, "refresh": 100, "memory": 50_000,
    },
    "deep-dqn": DQN,
    "deep-reward-model": DQN,
    "deep-pessimistic-ensemble": DQN,
    "deep-rnd": {**DQN, "bonus": 0.1},
    "deep-discretised": {**COMMON, "bits": 8, "cells": 256},
    "deep-discretised-mbie-eb": {**COMMON, "bits": 8, "cells": 256},
}  # fmt: skip
"""agent -> parameters"""
BOUNDS = {"CartPole-v1": (0.0, 1.0), "MountainCar-v0": (-1.0, 0.0), "Acrobot-v1": (-1.0, 0.0)}
PRESSED = {
    "CartPole-v1": lambda seen, action: bool(seen[0] < 0 and action == 0),  # pushed left of 0
    "MountainCar-v0": lambda seen, action: bool(seen[0] < -0.6 and action == 1),  # idle, left
    "Acrobot-v1": lambda seen, action: bool(seen[1] > 0.5 and action == 1),  # idle, swung out
}
NAMES = {name.split("-")[0].lower(): name for name in BOUNDS}


def make(problem: str, **options: Any) -> AddMonitor:
    """Make a monitored environment, such as ``cartpole/ask``."""
    name, monitor = problem.split("/")
    if monitor == "button":
        options["pressed"] = PRESSED[NAMES[name]]
    return AddMonitor(gymnasium.make(NAMES[name]), monitor, cost=COST, **options)


def test(agent: Any, env: AddMonitor, rng: np.random.Generator) -> float:
    """Return the mean true return of the test policy."""
    returns = []
    for seed in range(EPISODES):
        seen, _ = env.reset(seed=10_000 + seed)
        total, over = 0.0, False
        while not over:
            chances = agent.test_policy(seen["env"][None])[seen["mon"]]
            ae, am = divmod(int(rng.choice(len(chances), p=chances)), agent.n_am)
            seen, _, terminated, truncated, info = env.step({"env": ae, "mon": am})
            total += info["env_reward"] + info["monitor_reward"]
            over = terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def train(problem: str, name: str, seed: int) -> dict[str, Any]:
    """Train once; return its tests and how often it paid the monitor and saw a reward."""
    env, judge = make(problem), make(problem, expose_env_reward=True)
    began = time.process_time()
    view = view_of(env, *BOUNDS[NAMES[problem.split("/")[0]]])
    factory: Any = agents.find(name, params=SETTINGS[name])
    agent = factory(view, np.random.default_rng(seed))
    of_tests = np.random.default_rng(seed)
    tests, paid, shown = [], 0, 0
    seen, _ = env.reset(seed=seed)
    agent.begin_episode()
    for step in range(1, STEPS + 1):
        action = agent.act(seen)
        following, _, terminated, truncated, info = env.step(action)
        agent.update(Transition.from_step(seen, action, following, terminated, info))
        paid, shown = paid + (info["monitor_reward"] < 0), shown + info["reward_observed"]
        seen = following
        if terminated or truncated:
            seen, _ = env.reset()
            agent.begin_episode()
        if step % (STEPS // TESTS) == 0:
            tests.append(round(test(agent, judge, of_tests), 2))
    return {
        "problem": problem, "agent": name, "seed": seed, "made": made_by(name), "tests": tests,
        "paid": paid / STEPS, "shown": shown / STEPS,
        "cpu": time.process_time() - began,
    }  # fmt: skip


def made_by(name: str) -> dict[str, Any]:
    """What the runs of an agent depend on: if it changes, they are done anew."""
    code = module_hash(agents.DEEP[name].module)
    return {"settings": SETTINGS[name], "steps": STEPS, "code": code}


def main() -> None:
    """Train what is missing, and print a line for every run."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("results", type=Path)
    every = [f"{name}/{monitor}" for name in NAMES for monitor in ("ask", "button")]
    parser.add_argument("--problems", nargs="+", choices=every, default=every)
    parser.add_argument("--agents", nargs="+", choices=SETTINGS, default=[*SETTINGS])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write docs/deep/control.json")
    given = parser.parse_args()
    runs = [run for run in kept(given.results) if run.get("made") == made_by(run["agent"])]
    there = {(run["problem"], run["agent"], run["seed"]) for run in runs}
    wanted = [
        (problem, agent, seed)
        for problem in given.problems
        for agent in given.agents
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds)
    ]
    todo = [run for run in wanted if run not in there]
    runs += done(given.results, train, todo, given.jobs)
    runs.sort(
        key=lambda of: (every.index(of["problem"]), [*SETTINGS].index(of["agent"]), of["seed"])
    )
    for run in runs:
        print(f"{run['problem']} {run['agent']} seed {run['seed']}: last tests "
              f"{run['tests'][-LAST:]}, paid {run['paid']:.1%}, {run['cpu']:.0f} s")  # fmt: skip
    if given.write:
        WRITTEN.write_text(json.dumps(runs, indent=None) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
