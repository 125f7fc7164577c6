"""How fast the native vector environment is, beside Gymnasium's own way, in one run.

python benchmarks/vector.py [--envs 1024]

Counts environment steps of all copies, random actions drawn before the clock starts. The time is
that of one thread's processor, so that others on the machine do not count; what the wall clock says
stands beside it.
"""

from __future__ import annotations

import argparse
import time

import gymnasium

import monmdp  # noqa: F401  registers the environments

SETTINGS = [
    ("monmdp/Bottleneck-v0", {"monitor": "button", "rho": 0.05}),
    ("monmdp/Bottleneck-v0", {"monitor": "n-experts", "rho": 0.05}),
    ("monmdp/RiverSwim-v0", {"monitor": "full"}),
    ("monmdp/Rooms20x20-v0", {"monitor": "ask"}),
]
REPEATS = 7


def rate(mode: str, env_id: str, params: dict, envs: int, steps: int) -> tuple[float, float]:
    """Millions of environment steps a second, by processor and by wall clock; best of repeats."""
    env = gymnasium.make_vec(env_id, num_envs=envs, vectorization_mode=mode, **params)
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(32)]
    env.step(actions[0])
    processor, wall = [], []
    for _ in range(REPEATS if mode == "vector_entry_point" else 1):
        cpu, clock = time.thread_time(), time.perf_counter()
        for t in range(steps):
            env.step(actions[t % len(actions)])
        processor.append(time.thread_time() - cpu)
        wall.append(time.perf_counter() - clock)
    env.close()
    done = envs * steps / 1e6
    return done / min(processor), done / min(wall)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=int, default=1024, help="copies stepped together")
    envs = parser.parse_args().envs
    print(f"millions of environment steps a second on one core, {envs} copies\n")
    print("| environment | monitor | native | by wall clock | SyncVectorEnv | ratio |")
    print("|---|---|---|---|---|---|")
    for env_id, params in SETTINGS:
        ours, clock = rate("vector_entry_point", env_id, params, envs, 1000)
        theirs, _ = rate("sync", env_id, params, envs, 5)
        print(
            f"| {env_id} | {params['monitor']} | {ours:.1f} | {clock:.1f} | {theirs:.3f} | "
            f"{ours / theirs:,.0f}x |",
            flush=True,
        )


if __name__ == "__main__":
    main()
