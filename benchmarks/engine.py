"""How fast is training?

The paper's protocol (Monte Carlo evaluation, 100 episodes every 100 steps), one core, compile time
apart. `RELEASED` holds what the authors' released code takes for the same runs on such a machine
(one core of a 2-core AMD EPYC). Beside it, measured in the same process: the same training loop
uncompiled, on a short budget, scaled up.

    python benchmarks/engine.py [--repeats 7]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from monmdp import agents, experiment, make
from monmdp.experiment import loop, training

RELEASED = {
    # world, monitor, steps: seconds of the released code, and by how much we mean to be faster
    ("bottleneck", "button", 50_000): (108.0, 500),
    ("bottleneck", "n-experts", 50_000): (166.0, 150),  # 166 to 242 s
    ("river-swim", "full", 20_000): (350.0, 700),  # 350 to 390 s
}
START = """
import time
begin = time.perf_counter()
from monmdp import make, train
problem = make("bottleneck", "button")
train(problem, {agent!r}, 100, evaluation="monte-carlo")
print(time.perf_counter() - begin)
"""


def seconds(task, repeats: int) -> float:
    """The fastest of so many runs, with different seeds."""
    times = []
    for seed in range(repeats):
        begin = time.perf_counter()
        training.carry_out(task, seed)
        times.append(time.perf_counter() - begin)
    return min(times)


def uncompiled_seconds_a_step(task, steps: int) -> float:
    """Seconds a training step of the very same loop as plain Python."""
    problem, config = task.monmdp, task.agent
    state = config.new_state(problem.shape, problem.mdp.r_min, problem.mdp.r_max, problem)
    clock = np.zeros(loop.CLOCK, dtype=np.int64)
    clock[1] = -1
    policies = np.zeros((1, problem.n_states, problem.n_actions))
    counters = np.zeros((1, len(loop.COUNTERS)), dtype=np.int64)
    seen = np.zeros(problem.mdp.n_pairs, dtype=bool)
    rngs = [np.random.default_rng(s) for s in experiment.streams(problem, 0)]
    begin = time.perf_counter()
    loop.run(
        task.tables, state, clock, steps, problem.mdp.time_limit, 10**9, policies, counters,
        loop.open_ledger(0.99, 0.0, 0.0), np.zeros((1, len(loop.LEDGER))), seen, *rngs[:2],
        np.zeros(loop.PULSE, dtype=np.int64),
    )  # fmt: skip
    return (time.perf_counter() - begin) / steps


def start_times(agent: str) -> tuple[float, float]:
    """Seconds from `import monmdp` to the end of a first run: nothing cached, and all cached."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", START.format(agent=agent)]
        times = [
            float(subprocess.check_output(command, env=environment, text=True)) for _ in range(3)
        ]
    return times[0], min(times[1:])


def megabytes(value) -> float:
    """Memory of the arrays in nested tuples."""
    if isinstance(value, tuple):
        return sum(megabytes(part) for part in value)
    return getattr(value, "nbytes", 0) / 1e6


def open_grid(side: int):
    """An open grid with N-Experts: 100 joint pairs a cell."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "grid.txt")
        rows = ["@" + "." * (side - 1), *["." * side] * (side - 2), "." * (side - 1) + "$"]
        with open(path, "w") as file:
            file.write("\n".join(rows) + "\n")
        return make(path, "n-experts")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    print("| world | monitor | steps | ours | released code | ratio | wanted | plain Python |")
    print("|---|---|---|---|---|---|---|---|")
    for (world, monitor, steps), (released, wanted) in RELEASED.items():
        config = agents.paper_config("monitored-mbie-eb", world, monitor)
        task = training.prepare(make(world, monitor), config, steps, evaluation="monte-carlo")
        training.carry_out(task, 0)  # compile
        ours = seconds(task, args.repeats)
        plain = uncompiled_seconds_a_step(task, 500) * steps
        print(
            f"| {world} | {monitor} | {steps:,} | {ours:.3f} s | {released:.0f} s "
            f"| {released / ours:,.0f}x | {wanted}x | {plain:,.0f} s, {plain / ours:,.0f}x |"
        )
    print()
    print("| agent, bottleneck / n-experts | 50,000 steps | agent's state | microseconds a step |")
    print("|---|---|---|---|")
    problem = make("bottleneck", "n-experts")
    for agent in agents.registry:
        task = training.prepare(problem, agent, 50_000, evaluation="monte-carlo")
        training.carry_out(task, 0)  # compile
        ours = seconds(task, min(args.repeats, 3))
        size = megabytes(task.agent.new_state(problem.shape, 0.0, 1.0, problem))
        print(f"| {agent} | {ours:.2f} s | {size:.1f} MB | {1e6 * ours / 50_000:.1f} |")
    print()
    print("| agent | first start, nothing compiled | start from the cache |")
    print("|---|---|---|")
    for agent in (
        "factored-mbie-eb", "monitored-mbie-eb", "known-monitor", "directed-e2", "epsilon-greedy",
        "posterior-sampling", "r-max",
    ):  # fmt: skip
        cold, warm = start_times(agent)  # all others share their code with one of these
        print(f"| {agent} | {cold:.1f} s | {warm:.2f} s |")
    print()
    print("| open grid, n-experts | joint pairs | agent's state | bytes a pair |")
    print("|---|---|---|---|")
    for side in (20, 40, 80):
        problem = open_grid(side)
        state = agents.config("monitored-mbie-eb").new_state(problem.shape, 0.0, 1.0, problem)
        pairs, size = problem.n_states * problem.n_actions, megabytes(state)
        print(f"| {side} x {side} | {pairs:,} | {size:,.1f} MB | {1e6 * size / pairs:.0f} |")


if __name__ == "__main__":
    main()
