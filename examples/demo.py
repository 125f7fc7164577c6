"""Solve and draw every world: what `make demo` runs.

Writes one picture of each world and one sheet with all of them, and prints for every world and
monitor the value of the minimax-optimal policy, with what can never be seen and what that costs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from monmdp import drawing, make, monitors, planning, worlds


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


if __name__ == "__main__":
    main()
