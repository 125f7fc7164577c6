"""How long it takes to enumerate six grids of MiniGrid, with snapshots and with copies.

python benchmarks/enumerating.py [--copies 300]

Needs the extra [minigrid]. The time is that of the processor. Copies take long, so grids with more
states than --copies are not copied.
"""

from __future__ import annotations

import argparse
import time

import gymnasium
import minigrid  # noqa: F401  registers its environments

from monmdp import worlds
from monmdp.worlds.enumerating.access import Own
from monmdp.worlds.enumerating.minigrid import CopiedMiniGrid
from monmdp.worlds.enumerating.search import Search

GRIDS = (
    "Empty-8x8", "LavaCrossingS9N1", "DoorKey-5x5", "FourRooms", "DoorKey-6x6", "DoorKey-8x8",
)  # fmt: skip
REPEATS = 3


def with_snapshots(env_id: str) -> tuple[int, float]:
    """States, and the seconds of the best of some repeats."""
    taken = []
    for _ in range(REPEATS):
        begun = time.process_time()
        mdp = worlds.from_environment(env_id)
        taken.append(time.process_time() - begun)
    return mdp.n_states, min(taken)


def with_copies(env_id: str) -> float:
    """Seconds of the search alone, every step from a copy, and again for the second look."""
    access = CopiedMiniGrid(gymnasium.make(env_id), Own())
    names = list(enumerate(access.actions(int(access.env.action_space.n))))
    begun = time.process_time()
    Search(access, names, limit=100_000).run(seed=0, starts=1)
    return time.process_time() - begun


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--copies", type=int, default=300, help="most states to do with copies")
    most = parser.parse_args().copies
    worlds.from_environment("MiniGrid-Empty-5x5-v0")  # whatever is done once
    print("| grid | states | snapshots | copies | ratio |")
    print("|---|---|---|---|---|")
    for name in GRIDS:
        env_id = f"MiniGrid-{name}-v0"
        n, ours = with_snapshots(env_id)
        theirs = with_copies(env_id) if n <= most else None
        said = "| — | — |" if theirs is None else f"| {theirs:.2f} s | {theirs / ours:,.0f}x |"
        print(f"| {name} | {n:,} | {ours:.2f} s {said}")


if __name__ == "__main__":
    main()
