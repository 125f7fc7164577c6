"""By how much does the theorem's agent stay within its bound, and does the 1/ρ law hold?

The agent of the theorem (κ* constant, g ≡ 1, models solved exactly) on the one-decision world
treasure-hunter with Ask, δ = 0.1, discount 0.1: small enough that the bound can be run to its end.
It trains through all of its observe episodes and as many to optimize. Then a problem on which the
theorem's promise fails, and the law.

    python benchmarks/theory.py [--runs 100]
"""

from __future__ import annotations

import argparse

from monmdp import make, theory, train

PROBLEMS = ((4.0, 1.0), (4.0, 0.5), (4.0, 0.1), (2.0, 0.5))
"""ε and ρ"""


def gap(gamma: float) -> str:
    """A problem on which observing ends too early: m₁ and κ* do not know of ρ."""
    problem = make("treasure-hunter", "full-random", rho=1e-5, solvable=True, time_limit=1)
    bounds = theory.bounds(problem, 0.85, 0.1, gamma=gamma)
    agent = theory.theorem_agent(bounds)
    runs = [
        train(problem, agent, 400_000, seed, every=100_000, snapshots=[400_000])
        for seed in range(10)
    ]
    start, left = int(problem.mdp.start.argmax()), 0
    missed = sum(int(run.snapshots["n_env"][0][start, left] == 0) for run in runs)
    return (
        f"ρ = 10⁻⁵, γ = {gamma:g}: κ* = {bounds.m3:,}, ρ m₁ = {bounds.rho * bounds.m1:.2g}, "
        f"β = {bounds.beta:.2g}, βᵐ = {bounds.beta_m:.2g}, observes enough: "
        f"{bounds.observes_enough}; {missed} of 10 seeds never saw the treasure in 400,000 steps"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    args = parser.parse_args()
    print(
        "| ε | ρ | κ* | observe: bad of steps | optimize: bad of steps | last bad step "
        "| bound | bound / bad |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for epsilon, rho in PROBLEMS:
        problem = make("treasure-hunter", "ask", rho=rho, time_limit=1)
        bounds = theory.bounds(problem, epsilon, 0.1, gamma=0.1)
        agent = theory.theorem_agent(bounds)
        found = theory.count_bad_steps(problem, agent, epsilon, 2 * bounds.m3)
        print(
            f"| {epsilon:g} | {rho:g} | {bounds.m3:,} "
            f"| {found.observe_bad:,} of {found.observe_steps:,} "
            f"| {found.optimize_bad:,} of {found.optimize_steps:,} | {found.last:,} "
            f"| {bounds.bad_steps:,.0f} | {bounds.bad_steps / found.bad:,.0f} |"
        )
    print()
    for gamma in (0.0, 0.1):
        print(gap(gamma))
    law = theory.bandit_law(runs=args.runs)
    low, high = law.interval
    print()
    print(f"pulls ∝ ρ^-b with b = {law.exponent:.3f}, 95 % interval {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    main()
