"""The planner's sweeps on a graphics card: how long they take, and what bounds them.

Two worlds under N-Experts, an open grid (every move succeeds) and a grid with one cell in five
walled up and slip 0.1, of 10⁶ and 10⁸ joint states, γ = 0.99 and 0.999, to the planner's usual
error of 1e-10. Every number is measured in this run; `solve` is the fastest of several whole calls
of `planning.optimal`, with the tables' way to the card and the values' way back. The bytes that
sweeps move are estimated, each table and each value read once, each value written once, and set
against what a copy within the card's memory reaches in the same run.

    python benchmarks/gpu.py                       # 10⁶ joint states
    python benchmarks/gpu.py --joint 1e6 1e8       # also 10⁸: 10 GB of memory in the open, 40 else
    python benchmarks/gpu.py --cpu                 # compare values and time with the CPU's planner
    python benchmarks/gpu.py --device jax-cpu      # the same sweeps where there is no card
    python benchmarks/gpu.py --json FILE           # the numbers as JSON
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from monmdp import MDP, MonMDP, join, monitors
from monmdp.planning import optimal
from monmdp.planning.gpu import search as searching
from monmdp.planning.gpu.devices import jax_device
from monmdp.planning.gpu.tables import Near, tables
from monmdp.planning.policy_iteration import TOLERANCE

GAMMAS = (0.99, 0.999)
REPEATS = 5
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
WORLDS = {"open grid": (0.0, 0.0), "walls and slip": (0.2, 0.1)}
"""share of the cells that are walls, and the chance to slip to a side"""


def grid(name: str, n_states: int, seed: int = 0) -> MDP:
    """A grid of about so many states, straight from arrays: four moves, and STAY, the goal's."""
    walls, slip = WORLDS[name]
    side = int(np.sqrt(n_states / (1 - walls)))
    free = np.random.default_rng(seed).random((side, side)) >= walls
    free[0, 0] = free[-1, -1] = True
    state = np.cumsum(free, dtype=np.int64).reshape(side, side) - 1
    n = int(state[-1, -1]) + 1
    around = [_beside(state, free, move) for move in MOVES]
    slots: list[np.ndarray] = []
    chances: list[float] = []
    for a in range(4):
        turns = [(0, 1 - slip), (1, slip / 2), (3, slip / 2)] if slip else [(0, 1.0)]
        slots += [around[(a + turn) % 4] for turn, _ in turns]
        chances += [chance for _, chance in turns]
    slots.append(np.arange(n))
    chances.append(1.0)
    width = len(slots)
    per_pair = (width - 1) // 4
    begin = np.append(per_pair * np.arange(5), 0)[:5]
    first = (width * np.arange(n)[:, None] + begin).reshape(-1)
    reward, ends = np.zeros(n * width), np.zeros(n * width, dtype=bool)
    reward[-1], ends[-1] = 1.0, True
    start = np.zeros(n)
    start[0] = 1.0
    return MDP(
        name=name,
        n_states=n,
        n_actions=5,
        first=np.append(first, n * width),
        successor=np.stack(slots, axis=1).reshape(-1),
        probability=np.tile(chances, n),
        reward=reward,
        terminates=ends,
        hidden=np.zeros(n * width, dtype=bool),
        start=start,
        r_min=-1.0,
        r_max=1.0,
    )


def _beside(state: np.ndarray, free: np.ndarray, move: tuple[int, int]) -> np.ndarray:
    """[s] the state that a move leads to; walls and the edge stop it."""
    down, right = move
    there = np.roll(state, (-down, -right), axis=(0, 1))
    blocked = ~np.roll(free, (-down, -right), axis=(0, 1))
    if down:
        blocked[-1 if down > 0 else 0] = True
    if right:
        blocked[:, -1 if right > 0 else 0] = True
    return np.where(blocked, state, there)[free]


def copy_bandwidth(device: str) -> float:
    """Bytes a second, read and written, of a copy within the device's memory."""
    size = 2**27 if device == "gpu" else 2**23
    with jax.enable_x64(True):
        x = jax.device_put(np.random.default_rng(0).random(size), jax_device(device))
        copies = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, x: x + 1.0, x))
        copies(x).block_until_ready()
        return 20 * 2 * x.nbytes / fastest(lambda: copies(x).block_until_ready())[0]


def fastest(call: Any) -> tuple[float, Any]:
    """The shortest of several calls, and what the last one returned."""
    seconds = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds), result


def bytes_of_a_sweep(problem: MonMDP) -> int:
    """Every table and every value once, and the new values."""
    model, n_se = tables(problem), problem.mdp.n_states
    values = 2 * 8 * len(model.menus.basis) * n_se
    if isinstance(model.world, Near) and model.world.kind is not None:
        return values + model.world.neighbour.nbytes + model.world.kind.nbytes
    return values + model.n_bytes


def measure(problem: MonMDP, gamma: float, device: str, bandwidth: float) -> dict[str, Any]:
    """All numbers of one problem and discount."""
    first, plan = timed(lambda: optimal(problem, gamma, device=device))
    seconds, plan = fastest(lambda: optimal(problem, gamma, device=device))
    into, search = timed(lambda: jax.block_until_ready(searching.Search(problem, device)))
    W = search.constant(tables(problem).least_reward / (1 - gamma))
    sweeping, _ = timed(lambda: list(search.run(W, gamma, TOLERANCE * (1 - gamma), 1_000_000)))
    out, _ = timed(lambda: search.values(gamma))
    moved = plan.sweeps * bytes_of_a_sweep(problem)
    return {
        "world": problem.mdp.name,
        "joint states": problem.n_states,
        "gamma": gamma,
        "first call": first,
        "compile": first - seconds,
        "solve": seconds,
        "transfer in": into,
        "sweeping": sweeping,
        "transfer out": out,
        "sweeps": plan.sweeps,
        "converged": plan.converged,
        "error bound": plan.error_bound,
        "bytes on the device": searching.bytes_needed(problem),
        "bytes a sweep": bytes_of_a_sweep(problem),
        "share of the bandwidth": moved / sweeping / bandwidth,
    }


def timed(call: Any) -> tuple[float, Any]:
    """Seconds, and what the call returned."""
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--joint", nargs="+", type=float, default=[1e6], help="joint states")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--device", choices=("gpu", "jax-cpu"), default="gpu")
    parser.add_argument("--cpu", action="store_true", help="compare with the CPU's planner")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    card, bandwidth = jax_device(args.device), copy_bandwidth(args.device)
    print(f"{card.device_kind}, JAX {jax.__version__}; a copy moves {bandwidth / 1e12:.2f} TB/s")
    found = []
    for joint in args.joint:
        for name in args.worlds:
            build, problem = timed(lambda n=joint, name=name: build_problem(name, n))
            packing, _ = timed(lambda problem=problem: tables(problem))
            print(f"\n{name}, {problem.n_states:,} joint states: built in {build:.1f} s, tables in "
                  f"{packing:.1f} s", flush=True)  # fmt: skip
            for gamma in GAMMAS:
                row = measure(problem, gamma, args.device, bandwidth)
                row |= {"build": build, "tables": packing}
                if args.cpu:
                    row |= against_cpu(problem, gamma, args.device)
                found.append(row)
                print(
                    "  " + ", ".join(f"{key} {_short(of)}" for key, of in row.items()), flush=True
                )
            del problem
    if args.json:
        about = {"card": card.device_kind, "jax": jax.__version__, "copy": bandwidth}
        args.json.write_text(json.dumps(about | {"rows": found}, indent=1) + "\n")


def build_problem(name: str, joint: float) -> MonMDP:
    """A grid under N-Experts."""
    monitor = monitors.make("n-experts")
    return join(grid(name, int(joint / monitor.n_states)), monitor)


def against_cpu(problem: MonMDP, gamma: float, device: str) -> dict[str, float]:
    """The largest difference of the values, and the CPU planner's time, compiled."""
    theirs = optimal(problem, gamma)
    seconds, theirs = timed(lambda: optimal(problem, gamma))
    ours = optimal(problem, gamma, device=device)
    return {"cpu": seconds, "difference": float(np.abs(ours.values - theirs.values).max())}


def _short(value: Any) -> str:
    return (
        f"{value:.3g}"
        if isinstance(value, float)
        else f"{value:,}"
        if type(value) is int
        else str(value)
    )


if __name__ == "__main__":
    main()
