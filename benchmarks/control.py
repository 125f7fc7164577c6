"""Deep agents on CartPole, MountainCar and Acrobot under `ask` and a `button`.

    python benchmarks/control.py results/control_tuning.jsonl --tune --write
    python benchmarks/control.py results/control.jsonl --problems cartpole/ask --seeds 10

Every finished run is a line of the file; the same command goes on where it was stopped. There is
no exact value here: tests are the mean true return, rᵉ + rᵐ, of five episodes with the test policy.
Lines of other code or settings do not count.

With `--tune` each agent is trained with the parameters of control_tuning.json, on each problem with
`ask` and seed 0; those with the best last five tests are its parameters there, also with a button.
`--write` writes docs/deep/control_tuning.json then, and docs/deep/control.json otherwise, for
docs/deep-v1.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium
import numpy as np

from deep import todays_code
from monmdp import agents
from monmdp.agents import Transition, view_of
from monmdp.envs import AddMonitor
from resuming import done, kept

ROOT = Path(__file__).resolve().parents[1]
TRIED = Path(__file__).with_name("control_tuning.json")
"""agent -> parameters to try, the same number for each"""
CHOSEN = ROOT / "docs" / "deep" / "control_tuning.json"
"""the code of agents; environment -> agent -> parameters with what came of them, best first"""
WRITTEN = ROOT / "docs" / "deep" / "control.json"
TUNED_WITH, TUNED_ON, FIRST_SEED = "ask", (0,), 400
"""the monitor and the seeds of tuning; and the first seed that is reported"""
STEPS, TESTS, LAST, EPISODES, COST = 40_000, 20, 5, 5, -0.2
Params = dict[str, Any]
Run = dict[str, Any]
BOUNDS = {"CartPole-v1": (0.0, 1.0), "MountainCar-v0": (-1.0, 0.0), "Acrobot-v1": (-1.0, 0.0)}
PRESSED: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"number": 0, "below": 0.0, "action": 0},  # pushed left of 0
    "MountainCar-v0": {"number": 0, "below": -0.6, "action": 1},  # idle, left
    "Acrobot-v1": {"number": 1, "above": 0.5, "action": 1},  # idle, swung out
}
"""where the button is: a number of the observation, and the action that presses it there"""
NAMES = {name.split("-")[0].lower(): name for name in BOUNDS}


def make(problem: str, **options: Any) -> AddMonitor:
    """Make a monitored environment, such as ``cartpole/ask``."""
    name, monitor = problem.split("/")
    if monitor == "button":
        options["pressed"] = pressed(**PRESSED[NAMES[name]])
    return AddMonitor(gymnasium.make(NAMES[name]), monitor, cost=COST, **options)


def pressed(
    number: int, action: int, below: float = math.inf, above: float = -math.inf
) -> Callable[[Any, int], bool]:
    """Return whether an action presses the button."""
    return lambda seen, taken: bool(above < seen[number] < below and taken == action)


def test(agent: Any, env: AddMonitor, rng: np.random.Generator) -> float:
    """Return the mean true return of the test policy."""
    returns = []
    for _ in range(EPISODES):
        seen, _ = env.reset()
        total, over = 0.0, False
        while not over:
            chances = agent.test_policy(seen["env"][None])[seen["mon"]]
            ae, am = divmod(int(rng.choice(len(chances), p=chances)), agent.n_am)
            seen, _, terminated, truncated, info = env.step({"env": ae, "mon": am})
            total += info["env_reward"] + info["monitor_reward"]
            over = terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def train(problem: str, name: str, seed: int, params: Params) -> Run:
    """Train once; return its tests and how often it paid the monitor and saw a reward."""
    env, judge = make(problem), make(problem, expose_env_reward=True)
    began = time.process_time()
    view = view_of(env, *BOUNDS[NAMES[problem.split("/")[0]]])
    factory: Any = agents.find(name, params=params)
    agent = factory(view, np.random.default_rng(seed))
    of_tests = np.random.default_rng(seed)
    judge.reset(seed=10_000 + seed)  # no run is tested, or tuned, where another one was
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
        "problem": problem, "agent": name, "seed": seed, "made": made_by(problem, name, params),
        "tests": tests, "paid": paid / STEPS, "shown": shown / STEPS,
        "cpu": time.process_time() - began,
    }  # fmt: skip


def made_by(problem: str, name: str, params: Params) -> dict[str, Any]:
    """What a run of an agent depends on: if it changes, the run is done anew."""
    env, monitor = NAMES[problem.split("/")[0]], problem.split("/")[1]
    return {
        "settings": params, "code": todays_code(name), "steps": STEPS, "tests": TESTS,
        "episodes": EPISODES, "cost": COST, "bounds": list(BOUNDS[env]),
        "pressed": PRESSED[env] if monitor == "button" else None,
    }  # fmt: skip


def ranked(runs: list[Run], tried: dict[str, list[Params]]) -> dict[str, list[Params]]:
    """Return agent -> its parameters with the mean of their last tests, the best first."""
    table = {}
    for name, settings in tried.items():
        means = []
        for params in settings:
            of = [run for run in runs if (run["agent"], run["made"]["settings"]) == (name, params)]
            if not of:
                continue
            last = float(np.mean([run["tests"][-LAST:] for run in of]))
            paid = float(np.mean([run["paid"] for run in of]))
            means.append({"params": params, "last": round(last, 2), "paid": round(paid, 4)})
        if means:
            table[name] = sorted(means, key=lambda of: -of["last"])  # of equal ones the first
    return table


def main() -> None:
    """Train what is missing, and print a line for every run."""
    tried: dict[str, list[Params]] = json.loads(TRIED.read_text("utf-8"))
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("results", type=Path)
    every = [f"{name}/{monitor}" for name in NAMES for monitor in ("ask", "button")]
    parser.add_argument("--problems", nargs="+", choices=every, default=every)
    parser.add_argument("--agents", nargs="+", choices=tried, default=[*tried])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tune", action="store_true", help="try parameters")
    parser.add_argument("--write", action="store_true", help="write a file in docs/deep")
    given = parser.parse_args()
    problems = given.problems
    if given.tune and given.write and (problems, given.agents) != (every, [*tried]):
        parser.error("--tune --write writes the table of all problems and agents: name none")
    if given.tune:
        problems = [of for of in problems if of.endswith(f"/{TUNED_WITH}")]
        seeds, params = list(TUNED_ON), dict.fromkeys(problems, tried)
    else:
        chosen = json.loads(CHOSEN.read_text("utf-8"))["tried"]
        seeds, params = [FIRST_SEED + i for i in range(given.seeds)], {}
        for problem in every:
            best = chosen[problem.split("/")[0]]
            params[problem] = {agent: [best[agent][0]["params"]] for agent in tried}
    runs = [
        run for run in kept(given.results)
        if run["made"]["settings"] in params.get(run["problem"], {}).get(run["agent"], [])
        and run["made"] == made_by(run["problem"], run["agent"], run["made"]["settings"])
        and (run["seed"] in TUNED_ON if given.tune else run["seed"] >= FIRST_SEED)
    ]  # fmt: skip
    there = [(of["problem"], of["agent"], of["seed"], of["made"]["settings"]) for of in runs]
    wanted = [
        (problem, agent, seed, settings)
        for problem in problems
        for agent in given.agents
        for settings in params[problem][agent]
        for seed in seeds
    ]
    runs += done(given.results, train, [run for run in wanted if run not in there], given.jobs)
    runs.sort(key=lambda of: (every.index(of["problem"]), [*tried].index(of["agent"]), of["seed"]))
    for run in runs:
        print(f"{run['problem']} {run['agent']} seed {run['seed']}: last tests "
              f"{run['tests'][-LAST:]}, paid {run['paid']:.1%}, {run['cpu']:.0f} s")  # fmt: skip
    table = {
        problem.split("/")[0]: ranked([run for run in runs if run["problem"] == problem], tried)
        for problem in (problems if given.tune else [])
    }
    for name, best in table.items():
        for agent, of in best.items():
            print(f"{name} {agent}: {of[0]['last']:g}, paid {of[0]['paid']:.1%}, {of[0]['params']}")
    if given.write:
        tuned = {"code": {agent: todays_code(agent) for agent in tried}, "tried": table}
        path, content = (CHOSEN, tuned) if given.tune else (WRITTEN, runs)
        path.write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
