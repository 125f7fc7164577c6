"""ICU-Sepsis: a tabular model of the treatment of sepsis, as a large problem that others made.

716 states, 25 actions, 1.5 million transitions. The model is that of the package `icu-sepsis` 2.0
(Choudhary, Gupta, Thomas: ICU-Sepsis, a benchmark MDP built from real medical data, 2024). It is a
benchmark for algorithms. Its authors say that it is not for clinical use: NOTHING THAT IS LEARNT OR
COMPUTED HERE SAYS ANYTHING ABOUT THE TREATMENT OF PATIENTS.

An episode ends in death or survival, or goes to a state after the end; survival pays 1, everything
else 0, and the package discounts nothing. An action that clinicians hardly ever took in a state is
inadmissible there; the package then draws the successor from the mean of the admissible ones, and
its tables hold these means already. Episodes are cut at 500 steps, the package's limit, which they
hardly ever reach: they take about ten. The monitor is `ask`: a reward is seen if it is asked for,
at a cost of 0.2 a step (--cost), which counts in the returns.

Nothing of the package but its tables is read, so it can be installed without what it requires:

    pip install --no-deps icu-sepsis==2.0.1
    python benchmarks/icu_sepsis.py                # exact returns, and a model learnt from a log
    python benchmarks/icu_sepsis.py --agent factored-mbie-eb --steps 1000000 --gamma 0.99
    python benchmarks/icu_sepsis.py --agent factored-mbie-eb --set effort=400
    python benchmarks/icu_sepsis.py --json FILE    # the numbers as JSON
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

import monmdp
from monmdp import MDP, MonMDP, agents, planning, worlds
from monmdp.naming import parse_assignments

DEATH, SURVIVAL, AFTER = 713, 714, 715
TERMINAL = (DEATH, SURVIVAL, AFTER)
TIME_LIMIT = 500
"""steps, as the package has it"""
COST = -0.2
"""what asking for a reward pays, by default: the default of the monitor"""
PUBLISHED = {"uniform": 0.780, "clinicians": 0.782, "optimum": 0.875}
"""undiscounted returns, to three digits"""


@cache
def tables() -> dict[str, np.ndarray]:
    """The package's arrays: tx_mat [s, a, s'], r_mat [s, a, s'], d_0 [s], expert_policy [s, a]."""
    try:  # by its distribution: this script has the name of the package
        package = distribution("icu-sepsis")
    except PackageNotFoundError:
        sys.exit("the package is missing: pip install --no-deps icu-sepsis==2.0.1")
    path = Path(str(package.locate_file("icu_sepsis/envs/assets/dynamics.npz")))
    with np.load(path, allow_pickle=False) as opened:
        return {name: opened[name] for name in ("tx_mat", "r_mat", "d_0", "expert_policy")}


def world(P: np.ndarray, name: str = "icu-sepsis") -> MDP:
    """The MDP of transition probabilities [s, a, s'], with the package's rewards and endings."""
    given = tables()
    return worlds.from_tables(
        P,
        given["r_mat"],
        layout="sas",
        start=given["d_0"],
        terminal=TERMINAL,
        r_min=0.0,
        r_max=1.0,
        time_limit=TIME_LIMIT,
        name=name,
    )


def problem(cost: float = COST) -> MonMDP:
    """ICU-Sepsis under `ask`, where asking for a reward pays `cost`, which is negative."""
    return monmdp.make(world(tables()["tx_mat"]), "ask", cost=cost)


def unasked(m: MonMDP, policy: np.ndarray) -> np.ndarray:
    """[s, a] the joint policy that follows a policy [sᵉ, aᵉ] and never asks."""
    never = np.array([1.0, 0.0])  # NO-OP, ASK
    return (policy[:, :, None] * never).reshape(m.n_states, m.n_actions)


def undiscounted(m: MonMDP, policy: np.ndarray) -> float:
    """The exact return of a joint policy, nothing discounted."""
    return monmdp.evaluate(m, policy, gamma=1.0).value


def clinicians() -> np.ndarray:
    """[s, a] what clinicians did, as the package estimates it; anything after the end."""
    policy = tables()["expert_policy"].copy()
    policy[policy.sum(axis=1) == 0] = 1.0
    return policy / policy.sum(axis=1, keepdims=True)


def estimated(steps: int, seed: int = 0, patients: int = 1000) -> np.ndarray:
    """[s, a, s'] the share of each successor in so many steps of uniformly random actions.

    Every reward is seen. Pairs that were never tried are taken to lead to death.
    """
    rng = np.random.default_rng(seed)
    P, start = tables()["tx_mat"], tables()["d_0"]
    n_states, n_actions, _ = P.shape
    cumulated = np.cumsum(P, axis=2)
    counts = np.zeros(P.shape)
    state = rng.choice(n_states, patients, p=start)
    for _ in range(steps // patients):
        action = rng.integers(n_actions, size=patients)
        row = cumulated[state, action]
        to = (row <= rng.random((patients, 1)) * row[:, -1:]).sum(axis=1)
        np.add.at(counts, (state, action, to), 1)
        ended = np.isin(to, TERMINAL)
        state = np.where(ended, rng.choice(n_states, patients, p=start), to)
    untried = counts.sum(axis=2) == 0
    counts[untried, DEATH] = 1
    return counts / counts.sum(axis=2, keepdims=True)


def exact_returns(m: MonMDP, log_steps: int) -> dict[str, float]:
    """Undiscounted returns of policies that need no learning, and of one learnt from a log."""
    n_states, n_actions = m.mdp.n_states, m.mdp.n_actions
    uniform = np.full((n_states, n_actions), 1 / n_actions)
    estimate = monmdp.make(world(estimated(log_steps), "estimate"), "full")
    return {
        "uniform": undiscounted(m, unasked(m, uniform)),
        "clinicians": undiscounted(m, unasked(m, clinicians())),
        "optimum": undiscounted(m, planning.optimal(m, 1.0).policy),
        "greedy on the log": undiscounted(m, unasked(m, planning.optimal(estimate, 1.0).policy)),
    }


def learnt(
    m: MonMDP, name: str, params: dict[str, Any], steps: int, seed: int, checkpoints: int
) -> dict[str, Any]:
    """Train an agent; microseconds a step, and the exact return of its test policy on the way.

    The tests are among what is measured.
    """
    agent = agents.find(name, m, params)
    monmdp.train(m, agent, 1, seed)  # compiles
    begin = time.process_time()
    run = monmdp.train(
        m, agent, steps, seed, every=max(1, steps // checkpoints), snapshots=checkpoints
    )
    seconds = time.process_time() - begin
    returns = [undiscounted(m, policy) for policy in run.snapshots["policy"]]
    return {
        "agent": name,
        "parameters": params,
        "seed": seed,
        "us_a_step": 1e6 * seconds / steps,
        "steps": run.snapshot_steps.tolist(),
        "returns": returns,
        "certified": run.certified,
    }


def main() -> None:
    """Run, print, and fail if a published return is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agent", help="train this agent, instead of what needs no learning")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of training, or of the log")
    parser.add_argument("--gamma", type=float, default=0.99, help="the agent's discount")
    parser.add_argument("--set", nargs="*", default=[], help="key=value: its other settings")
    parser.add_argument("--cost", type=float, default=COST, help="of asking for a reward")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoints", type=int, default=10)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()

    tables()  # reading them is not building
    begin = time.perf_counter()
    m = problem(args.cost)
    seconds = time.perf_counter() - begin
    print(m)
    print(f"{m.mdp.n_outcomes:,} outcomes, built in {seconds:.2f} s; asking pays {args.cost:g}")
    print("A benchmark for algorithms: it says nothing about the treatment of patients.\n")
    if args.agent:
        params = parse_assignments(args.set) | {"gamma": args.gamma}
        found = learnt(m, args.agent, params, args.steps, args.seed, args.checkpoints)
        print(f"{args.agent}, {params}: {found['us_a_step']:,.1f} µs a step\n")
        print(f"{'steps':>12} {'undiscounted return':>20}")
        for step, value in zip(found["steps"], found["returns"], strict=True):
            print(f"{step:>12,} {value:>20.4f}")
        of_log = exact_returns(m, args.steps)["greedy on the log"]
        print(f"\na model of {args.steps:,} uniform steps, all rewards seen: {of_log:.4f}")
        found["greedy on the log"] = of_log
        results: dict[str, Any] = found
        missed = []
    else:
        results = exact_returns(m, args.steps)
        print(f"{'policy':<20} {'undiscounted return':>20} {'published':>10}")
        for policy, value in results.items():
            print(f"{policy:<20} {value:>20.4f} {PUBLISHED.get(policy, ''):>10}")
        missed = [of for of, value in PUBLISHED.items() if abs(results[of] - value) > 0.0005]
    if args.json:
        args.json.write_text(json.dumps(results, indent=2))
    if missed:
        sys.exit(f"not the published return: {', '.join(missed)}")


if __name__ == "__main__":
    main()
