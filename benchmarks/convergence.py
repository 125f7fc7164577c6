"""Does every seed reach minimax-optimality within the paper's budget, and stay there?

Monitored MBIE-EB with the paper's settings on every world x monitor of figures 4, 6, 9 and 10, and
the known monitor on those of figure 11; exact evaluation. Writes a table to docs/convergence.md.

    python benchmarks/convergence.py [--seeds 30] [--jobs 2] [--only bottleneck]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from monmdp import agents, compare, make

GRIDS = (
    "empty", "hazard", "loop", "river-swim", "one-way", "corridor", "two-room-3x5", "two-room-2x11",
)  # fmt: skip
GRID_MONITORS = ("full", "semi-random", "ask", "button", "n-supporters", "level-up")
BOTTLENECK_MONITORS = (
    "full-random", "ask", "n-supporters", "n-experts", "level-up", "button",
)  # fmt: skip
HEADER = """# Convergence

Does the test policy become minimax-optimal within the paper's budget, and stay so? The table has
the paper's settings, {seeds} seeds each, with exact evaluation. A seed has converged at the first
checkpoint after which the exact return of the test policy in M↓ stays ≥ V - 0.01·max(1, |V|),
where V is the episode return of the minimax-optimal policy. `python benchmarks/convergence.py`
makes this page.

| figure | agent | world | monitor | ρ | V | converged | steps to 1 %: median (least - most) |
|---|---|---|---|---|---|---|---|
"""

FOOTER = """
[The agents, beside the paper](agents.md#where-a-seed-does-not-converge) explains the seeds that do
not converge.
"""


def settings():
    """(figure, agent, world, monitor, ρ) of every setting."""
    for world in GRIDS:
        for monitor in GRID_MONITORS:
            yield "6", "monitored-mbie-eb", world, monitor, 1.0
    for agent, figures in (("monitored-mbie-eb", ("9", "10")), ("known-monitor", ("11", "11"))):
        for rho in (1.0, 0.8, 0.2, 0.05):
            for monitor in BOTTLENECK_MONITORS:
                yield figures[rho < 1], agent, "bottleneck", monitor, rho


def main() -> None:
    """Run and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="settings that contain this text")
    parser.add_argument("--out", type=Path, help="default: docs/convergence.md, if all were run")
    args = parser.parse_args()
    lines, failing, begin = [], [], time.perf_counter()
    for figure, agent, world, monitor, rho in settings():
        if args.only not in f"{agent} {world} {monitor} {rho}":
            continue
        problem = make(world, monitor, rho=rho)
        config = agents.paper_config(agent, world, monitor)
        done = compare(problem, [config], seeds=args.seeds, jobs=args.jobs)
        found = done.comparisons[0].rows[0].of
        reached = found.steps_to_optimal[found.optimal]
        spread = "-"
        if len(reached):
            spread = f"{np.median(reached):,.0f} ({min(reached):,} - {max(reached):,})"
        figure = figure if world != "river-swim" or monitor != "full" else "4, 6"
        in_4 = (1.0, 0.05) if agent == "monitored-mbie-eb" else (0.05,)
        if world == "bottleneck" and monitor == "button" and rho in in_4:
            figure = f"4, {figure}"
        lines.append(
            f"| {figure} | {agent} | {world} | {monitor} | {rho:g} "
            f"| {found.minimax:.4f} | {len(reached)}/{len(found.seeds)} | {spread} |"
        )
        print(lines[-1], flush=True)
        if len(reached) < len(found.seeds) - 1:
            failing.append(lines[-1])
    print(f"{len(lines)} settings, {time.perf_counter() - begin:.0f} s; failing: {len(failing)}")
    text = HEADER.format(seeds=args.seeds) + "\n".join(lines) + "\n" + FOOTER
    out = args.out or (None if args.only else Path("docs/convergence.md"))
    if out is not None:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
