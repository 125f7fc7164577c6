"""What the ablations lack: MBIE-EB and pessimistic MBIE-EB beside Monitored MBIE-EB on Bottleneck.

With the ⊥ cells' rewards seen (solvable) and hidden, six monitors, the paper's settings, exact
evaluation. Prints the table of docs/algorithms/mbie-eb.md; 7 minutes on two idle cores.

    python benchmarks/ablations.py [--seeds 30] [--jobs 2]
"""

from __future__ import annotations

import argparse

import numpy as np

from monmdp import compare, make

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
            found = compare(problem, AGENTS, 50_000, seeds=args.seeds, jobs=args.jobs)
            (table,) = found.comparisons
            cells = [f"{row.end.estimate:.3f} ({row.of.optimal.sum()})" for row in table.rows]
            of = table["mbie-eb"].of
            runs = [found.runs[of.configuration, seed] for seed in of.seeds]
            curve = np.mean([run.curve["bottom_visits"] for run in runs], axis=0)
            visits = f"{curve[0]:.1f} → {curve[-1]:.1f}"
            kind, value = "seen" if solvable else "hidden", of.minimax
            print(
                f"| {kind} | {rho:g} | {monitor} | {value:.3f} | {' | '.join(cells)} | {visits} |"
            )


if __name__ == "__main__":
    main()
