"""What the ablations lack: MBIE-EB and pessimistic MBIE-EB beside Monitored MBIE-EB on Bottleneck.

With the ⊥ cells' rewards seen (solvable) and hidden, six monitors, the paper's settings, exact
evaluation. Prints the table of docs/algorithms/mbie-eb.md; 7 minutes on two idle cores.

    python benchmarks/ablations.py [--seeds 30] [--jobs 2]
"""

from __future__ import annotations

import argparse

import numpy as np

from monmdp import experiment, make, planning

VARIANTS = ((True, 1.0), (False, 1.0), (False, 0.05))
"""solvable, ρ"""
MONITORS = ("full-random", "ask", "n-supporters", "n-experts", "level-up", "button")
AGENTS = ("monitored-mbie-eb", "mbie-eb", "pessimistic-mbie-eb")


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    print("| ⊥ cells | ρ | monitor | V | " + " | ".join(AGENTS) + " | ⊥ visits of mbie-eb |")
    print("|---|---|---|---|---|---|---|---|")
    for solvable, rho in VARIANTS:
        for monitor in MONITORS:
            problem = make("bottleneck", monitor, rho=rho, solvable=solvable)
            solution = planning.solve(problem)
            cells, visits = [], ""
            for agent in AGENTS:
                task = experiment.prepare(problem, agent, 50_000)
                runs = experiment.train_seeds(task, range(args.seeds), jobs=args.jobs)
                summary = experiment.summarize(runs, solution)
                cells.append(f"{summary.final_mean:.3f} ({summary.seeds_converged})")
                if agent == "mbie-eb":
                    curve = np.mean([run.curve["bottom_visits"] for run in runs], axis=0)
                    visits = f"{curve[0]:.1f} → {curve[-1]:.1f}"
            kind = "seen" if solvable else "hidden"
            value = solution.episode_return
            print(
                f"| {kind} | {rho:g} | {monitor} | {value:.3f} | {' | '.join(cells)} | {visits} |"
            )


if __name__ == "__main__":
    main()
