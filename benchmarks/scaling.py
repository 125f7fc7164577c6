"""What does a training step cost in larger and larger worlds?

Random mazes under `button` (`planning.problem`) of 10³ to 10⁶ joint states, with a time limit of
1,000 steps. CPU time of the training loop alone, without tests and compiling
(`planning_cost.seconds`), and the peak of memory, problem and all, each in a process of its own.
Sweeps are measured up to 10⁴ only: their cost grows with the world.

    python benchmarks/scaling.py                    # about fifteen minutes, most of them for sweeps
    python benchmarks/scaling.py --most 100000      # no larger than that
    python benchmarks/scaling.py --only monitored   # agents whose name contains this
    python benchmarks/scaling.py --json FILE        # the numbers as JSON
    python benchmarks/scaling.py --learn 5000000    # steps; say how well a maze is learnt

Ends with status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from monmdp import agents, solve, train
from monmdp.experiment import training
from planning import problem
from planning_cost import configured, seconds

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LIMIT = 1_000
INCREMENTAL = "monitored-mbie-eb planner=incremental"
AGENTS = {
    "factored-mbie-eb planner=incremental": SIZES,
    "factored-mbie-eb planner=sweeps": SIZES[:2],
    INCREMENTAL: SIZES,
    "monitored-mbie-eb planner=sweeps": SIZES[:2],
}
"""agent -> joint states"""
MICROSECONDS = {"factored-mbie-eb planner=incremental": 60.0, INCREMENTAL: 40.0}
"""wanted at 10⁵ joint states, at most"""
GROWTH = {"factored-mbie-eb planner=incremental": 2.0}
"""wanted from 10⁴ to 10⁶ joint states, at most"""
GIGABYTES = {"factored-mbie-eb planner=incremental": 4.0}
"""wanted at 10⁶ joint states, at most"""


def measure(agent: str, size: int, steps: int) -> dict[str, Any]:
    """Microseconds a step, and the peak of memory of this process."""
    maze = problem("maze", "button", size)
    maze = maze.with_mdp(dataclasses.replace(maze.mdp, time_limit=LIMIT))
    task = training.prepare(maze, configured(agent, maze), steps, every=steps)
    seconds(task, 0, 10)  # compile
    spent = seconds(task, 0, steps)
    return {
        "agent": agent,
        "states": maze.n_states,
        "size": size,
        "microseconds": 1e6 * spent / steps,
        "peak_memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def learn(agent: str, size: int, steps: int, gamma: float = 0.999, limit: int = 5_000) -> bool:
    """Print how good the test policy of an agent is in a large maze, as a share of the best."""
    maze = problem("maze", "button", size)
    maze = maze.with_mdp(dataclasses.replace(maze.mdp, time_limit=limit))
    best = solve(maze, gamma).value
    config = agents.config(configured(agent, maze), gamma=gamma)
    train(maze, config, 1)  # compiles
    begin, every = time.process_time(), max(1, steps // 10)
    run = train(maze, config, steps, every=every, evaluation="exact")
    minutes = (time.process_time() - begin) / 60
    print(
        f"\n{agent} in a maze of {maze.n_states:,} joint states, γ = {gamma:g}, at most {limit:,}"
    )
    print(f"steps an episode: {minutes:.1f} CPU minutes, tests among them; v = {best:.4f}\n")
    print("| steps | value of the test policy, over v |")
    print("|---|---|")
    shares = run.curve["episode_return"] / best
    for i, share in enumerate(shares, start=1):
        print(f"| {i * every:,} | {share:.4f} |")
    return bool(shares[-1] >= 0.99 and minutes <= 10)


def in_own_process(agent: str, size: int, steps: int) -> dict[str, Any]:
    """`measure` in a process of its own, so that its peak of memory is its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(measure, agent, size, steps).result()


def targets(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is wanted, and what was found, as far as it was measured."""
    found = {(row["agent"], row["size"]): row for row in rows}
    compared = []
    for agent, most in MICROSECONDS.items():
        if (agent, 100_000) in found:
            value = found[agent, 100_000]["microseconds"]
            compared.append((f"{agent}: µs a step at 10⁵", value, most))
    for agent, most in GROWTH.items():
        if {(agent, 10_000), (agent, 1_000_000)} <= set(found):
            times = [found[agent, size]["microseconds"] for size in (10_000, 1_000_000)]
            compared.append((f"{agent}: times as much at 10⁶ as at 10⁴", times[1] / times[0], most))
    for agent, most in GIGABYTES.items():
        if (agent, 1_000_000) in found:
            value = found[agent, 1_000_000]["peak_memory_gb"]
            compared.append((f"{agent}: GB at 10⁶", value, most))
    return [
        {"what": what, "found": value, "at_most": most, "holds": value <= most}
        for what, value, most in compared
    ]


def main() -> None:
    """Measure and print."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="joint states")
    parser.add_argument("--only", default="", help="agents whose name contains this text")
    parser.add_argument("--json", type=Path, help="write what was measured there, too")
    parser.add_argument("--set", nargs="*", default=[], help="key=value: settings for --learn")
    parser.add_argument("--learn", type=int, help="steps in a maze of 10⁵ joint states")
    args = parser.parse_args()
    if args.learn:
        agent = " ".join([next(iter(AGENTS)), *args.set])
        sys.exit(0 if learn(agent, min(100_000, args.most), args.learn) else 1)
    chosen = [
        (agent, size)
        for agent, sizes in AGENTS.items()
        for size in sizes
        if args.only in agent and size <= args.most
    ]
    if not chosen:
        parser.error(f"nothing is chosen: agents {', '.join(AGENTS)}; sizes from {SIZES[0]:,} on")
    rows = []
    print("| agent | joint states | µs a step | peak memory, GB |")
    print("|---|---|---|---|")
    for agent, size in chosen:
        row = in_own_process(agent, size, args.steps)
        rows.append(row)
        print(
            f"| {agent} | {row['states']:,} | {row['microseconds']:.2f} "
            f"| {row['peak_memory_gb']:.2f} |",
            flush=True,
        )
    wanted = targets(rows)
    print()
    for of in wanted:
        said = "holds" if of["holds"] else "does not hold"
        print(f"{of['what']}: {of['found']:.2f}, at most {of['at_most']:g} wanted: {said}")
    if args.json:
        said = {"steps": args.steps, "time_limit": LIMIT, "rows": rows, "targets": wanted}
        args.json.write_text(json.dumps(said, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.exit(0 if all(of["holds"] for of in wanted) else 1)


if __name__ == "__main__":
    main()
