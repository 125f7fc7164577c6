"""Solve and draw every world, and train: what `make demo` runs.

Writes one picture of each world and one sheet with all of them, and prints for every world and
monitor the value of the minimax-optimal policy, with what can never be seen and what that costs.
Then Monitored MBIE-EB learns Bottleneck with a button that shows one reward in twenty, with the
monitor unknown and known.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median

from monmdp import drawing, experiment, make, monitors, planning, worlds


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    print("minimax value from the start, γ = 0.99   (* some rewards can never be seen)\n")
    print(f"{'':<16}" + "".join(f"{name:>14}" for name in monitors.registry))
    prices = []
    for world in worlds.registry:
        cells = []
        for monitor in monitors.registry:
            solution = planning.solve(make(world, monitor))
            cells.append(f"{solution.value:.4f}{' ' if solution.solvable else '*'}")
            if solution.price > 0:
                prices.append(f"{world} / {monitor}: {solution.price:.4g}")
        print(f"{world:<16}" + "".join(f"{cell:>14}" for cell in cells))
    print("\nwhat not seeing costs (price of unobservability), where it costs anything:")
    for price in prices:
        print(f"  {price}")

    all_worlds = {name: worlds.make(name) for name in worlds.registry}
    for name, mdp in all_worlds.items():
        drawing.save(drawing.draw_world(mdp, title=name), out / f"{name}.png")
    drawing.save(drawing.gallery(all_worlds), out / "worlds.png")
    print(f"\npictures: {out}/worlds.png and one for each world beside it")

    print("\ntraining on bottleneck / button, rho=0.05 (the first time, compiling takes a while)")
    rho = {"monitor.rho": 0.05}
    problem = make("bottleneck", "button", **rho)
    solution, runs = planning.solve(problem), {}
    for name in ("monitored-mbie-eb", "known-monitor", "directed-e2"):
        task = experiment.prepare(problem, name, steps=50_000, made_with=rho)
        runs[name] = experiment.train_seeds(task, range(10), jobs=2)
        found = experiment.summarize(runs[name], solution)
        reached = [step for step in found.steps_to_1pct if step is not None]
        when = f", half of them by step {median(reached):,.0f}" if reached else ""
        print(f"  {name:<18} {found.seeds_converged} of {found.seeds} seeds minimax-optimal{when}")
    drawing.save(experiment.draw_runs(runs, solution), out / "learning.png")
    print(f"picture: {out}/learning.png")


if __name__ == "__main__":
    main()
