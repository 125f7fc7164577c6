"""Tune deep agents for deep-v1, all with the same budget: 12 settings each, twice 40,000 steps.

python benchmarks/deep_tuning.py results/tuning.jsonl

The settings are those of deep_tuning.json. Each is tried with asking, on minigrid-empty with seed 0
and on minigrid-lava with seed 1, by the protocol of deep-v1, which reports other seeds. The best
has the largest share of late tests within 2 % of the minimax value, and then the largest return.
Every finished run is a line of the file; the same command goes on where it was stopped. Lines of
other code do not count. `--write` writes docs/deep/tuning.json.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import monmdp
from deep import todays_code
from monmdp import agents
from monmdp.results.late import late_tests, share_within
from resuming import done, kept

ROOT = Path(__file__).resolve().parents[1]
TRIED = Path(__file__).with_suffix(".json")
WRITTEN = ROOT / "docs" / "deep" / "tuning.json"
TRIALS = (("minigrid-empty", 0), ("minigrid-lava", 1))
STEPS, EVERY, GAMMA = 40_000, 1_000, 0.95


def trial(agent: str, params: dict[str, Any], world: str, seed: int) -> dict[str, Any]:
    """Train once; return how the late tests went, as shares of the minimax value."""
    problem = monmdp.make(world, "ask")
    best = monmdp.solve(problem, gamma=GAMMA).episode_return
    found = agents.find(agent, problem, {"gamma": GAMMA, **params})
    run = monmdp.train(problem, found, STEPS, seed=seed, every=EVERY, gamma=GAMMA)
    late = run.curve["worst_case_return"][late_tests(run.step, STEPS)]
    return {
        "agent": agent, "params": params, "world": world, "seed": seed, "made": made_by(agent),
        "close": share_within(late, best), "return": float(late.mean() / best),
    }  # fmt: skip


def made_by(agent: str) -> list[Any]:
    """What a run depends on besides: if it changes, the run is done anew."""
    return [todays_code(agent), STEPS, EVERY, GAMMA]


def ranked(runs: list[dict[str, Any]], tried: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return agent -> its settings with their means, the best first."""

    def which(run: dict[str, Any]) -> tuple[str, str]:
        return run["agent"], json.dumps(run["params"])

    table: dict[str, list[dict[str, Any]]] = {}
    for (agent, params), group in groupby(sorted(runs, key=which), which):
        of = list(group)
        means = {name: round(float(np.mean([run[name] for run in of])), 4)
                 for name in ("close", "return")}  # fmt: skip
        table.setdefault(agent, []).append({"params": json.loads(params), **means})
    return {agent: sorted(of, key=_rank(agent, tried[agent])) for agent, of in table.items()}


def _rank(agent: str, listed: list[dict[str, Any]]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Of settings that are as good: fewest changes, then fewest updates, then first in the list."""
    usual = getattr(agents.find(agent), "every", 1)

    def rank(of: dict[str, Any]) -> tuple[Any, ...]:
        params = of["params"]
        cost = len(params), -params.get("every", usual), listed.index(params)
        return -of["close"], -of["return"], *cost

    return rank


def main() -> None:
    """Try what is missing, and print the best settings of every agent."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"write {WRITTEN.relative_to(ROOT)}")
    given = parser.parse_args()
    runs = [run for run in kept(given.results) if run["made"] == made_by(run["agent"])]
    there = [tuple(run[of] for of in ("agent", "params", "world", "seed")) for run in runs]
    tried = json.loads(TRIED.read_text("utf-8"))
    wanted = [
        (agent, params, *trial) for agent in tried for params in tried[agent] for trial in TRIALS
    ]
    runs = [run for run, key in zip(runs, there, strict=True) if key in wanted]
    todo = [run for run in wanted if run not in there]
    runs += done(given.results, trial, todo, given.jobs)
    table = ranked(runs, tried)
    for agent in tried:
        for of in table[agent][:3]:
            print(f"{agent}: {of['close']:.0%} close, return {of['return']:.3f}, {of['params']}")
    if given.write:
        code = {agent: todays_code(agent) for agent in tried}
        text = json.dumps({"code": code, "tried": table}, indent=1)
        WRITTEN.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
