"""Whether guarantees hold: decisions by many logs of problems whose truth is known.

For each problem and each of many resampled logs: fit, decide, and look at the truth. What counts:

* the certified lower bound is at most the true value of the policy;
* the decided policy is not worth less than the logging policy, by more than 1 % of the distance
  from the uniform policy to the optimum;
* how far below the true value the bound lies with a million rows.

The logging policy takes the minimax-optimal action with chance 0.7 and any action else. Values are
those of M↓ (never-observable rewards at r_min), which the true values are never below; whether the
decided policy is worse than the log is also asked with what hidden rewards truly pay. Logs of
ICU-Sepsis are what clinicians did, one reward in ten is shown, and the discount is 0.999; that
needs its package (pip install --no-deps icu-sepsis==2.0.1). NOTHING HERE SAYS ANYTHING ABOUT THE
TREATMENT OF PATIENTS.

    python benchmarks/decisions.py                     # 5 problems x 200 logs of 20,000 rows
    python benchmarks/decisions.py --icu --logs 100    # ICU-Sepsis, 10,000 episodes each
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import monmdp
from monmdp import Monitor, MonMDP, Policy, experiment, planning, worlds
from monmdp.model.evidence import FittedMonMDP

PROBLEMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "loop / ask": ("loop", "ask", {}),
    "empty / ask": ("empty", "ask", {}),
    "river-swim / full": ("river-swim", "full", {}),
    "two-room-3x5 / semi-random": ("two-room-3x5", "semi-random", {}),
    "treasure-hunter / ask": ("treasure-hunter", "ask", {}),
}
MONITOR = {f"monitor_{of}": f"monitor_{of}" for of in ("state", "action", "reward")}


class Case:
    """A problem, who writes its log, and what is true."""

    def __init__(self, problem: MonMDP, logging: np.ndarray, gamma: float, named: bool) -> None:
        self.problem, self.logging, self.gamma = problem, logging, gamma
        self.columns = MONITOR if named else {}
        self.worst = planning.worst_case(problem)
        uniform = Policy.uniform(problem).probability
        best = planning.optimal(self.worst, gamma).value
        self.logged, low = self.value(logging), self.value(uniform)
        self.allowed = 0.01 * (best - low)
        self.best = best

    def value(self, policy: np.ndarray, problem: MonMDP | None = None) -> float:
        """What a policy is truly worth: in M↓, or with the hidden rewards of the problem."""
        return planning.evaluate(problem or self.worst, policy, self.gamma).value

    def carried(self, policy: np.ndarray, fitted: FittedMonMDP) -> np.ndarray:
        """[s, a] a policy of the fitted problem in the order of the true one."""
        named = Policy(fitted.shape, policy, names=fitted.names)
        return named.carried_over(self.problem).probability

    def trial(self, seed: int, thin: int, delta: float, **size: int) -> dict[str, Any]:
        """Draw a log, fit, decide, and compare with the truth."""
        mdp = self.problem.mdp
        log = experiment.draw_log(
            self.problem, Policy(self.problem.shape, self.logging), seed=seed, **size
        )
        fitted = worlds.from_log(log, r_min=mdp.r_min, r_max=mdp.r_max, **self.columns)
        begin = time.process_time()
        decision = planning.decide(fitted, self.gamma, delta=delta, thin=thin)
        seconds = time.process_time() - begin
        chosen = decision.recommended
        shown = self.carried(chosen.policy, fitted)
        true = {
            of.name: self.value(self.carried(of.policy, fitted))
            for of in (decision.robust, decision.safe, decision.logged)
        }
        bounds = {of.name: of.lower_bound for of in (decision.robust, decision.safe)}
        return {
            "seed": seed,
            "rows": len(log),
            "recommended": chosen.name,
            "certified": decision.certified,
            "says_nothing": decision.says_nothing,
            "bound": chosen.lower_bound,
            "true": true[chosen.name],
            "robust": true["robust"],
            "safe": true["safe"],
            "holds": all(bounds[name] <= true[name] + 1e-9 for name in bounds),
            "not_worse": true[chosen.name] >= self.logged - self.allowed,
            "not_worse_with_hidden": self.value(shown, self.problem)
            >= self.value(self.logging, self.problem) - self.allowed,
            "seconds": seconds,
        }


def registry_case(name: str) -> Case:
    """A problem of the registry."""
    world, monitor, parameters = PROBLEMS[name]
    problem = monmdp.make(world, monitor, **parameters)
    best = planning.minimax(problem).policy
    return Case(problem, 0.7 * best + 0.3 / problem.n_actions, 0.99, named=True)


def icu_case() -> Case:
    """ICU-Sepsis, one reward in ten shown."""
    sys.path.insert(0, str(Path(__file__).parent))
    import icu_sepsis

    one_in_ten = Monitor(("ON",), ("NO-OP",), [1.0], [[[1.0]]], [[0.0]], [[0.1]], name="one-in-ten")
    problem = monmdp.join(icu_sepsis.world(icu_sepsis.tables()["tx_mat"]), one_in_ten)
    return Case(problem, icu_sepsis.clinicians(), 0.999, named=False)


def shown(name: str, case: Case, trials: list[dict[str, Any]]) -> str:
    """A line of the table."""

    def share(of: str) -> str:
        return f"{sum(trial[of] for trial in trials)}/{len(trials)}"

    mean = {
        of: float(np.mean([trial[of] for trial in trials])) for of in ("true", "bound", "seconds")
    }
    return (
        f"{name:<28} {case.best:8.4f} {case.logged:8.4f} {mean['true']:8.4f} {mean['bound']:9.4f} "
        f"{share('holds'):>8} {share('not_worse'):>9} {share('not_worse_with_hidden'):>9} "
        f"{share('certified'):>9} "
        f"{share('says_nothing'):>8} {mean['seconds']:7.2f}"
    )


def main() -> None:
    """Run and print; fail if a guarantee holds in fewer than 1 − δ of the logs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--icu", action="store_true", help="ICU-Sepsis instead of the registry")
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--episodes", type=int, default=10_000, help="of a log of ICU-Sepsis")
    parser.add_argument("--large", type=int, default=1_000_000, help="rows; 0: no large logs")
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--thin", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", choices=PROBLEMS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()

    seeds = range(args.first_seed, args.first_seed + args.logs)
    print(
        f"{'problem':<28} {'optimum':>8} {'logging':>8} {'decided':>8} {'bound':>9} {'holds':>8} "
        f"{'not worse':>9} {'in truth':>9} {'certified':>9} {'silent':>8} {'seconds':>7}"
    )
    cases = {"icu-sepsis": icu_case()} if args.icu else {
        name: registry_case(name) for name in PROBLEMS if args.only in (None, name)
    }  # fmt: skip
    size = {"episodes": args.episodes} if args.icu else {"rows": args.rows}
    results, failed = {}, []
    for name, case in cases.items():
        trials = [case.trial(seed, args.thin, args.delta, **size) for seed in seeds]
        print(shown(name, case, trials), flush=True)
        results[name] = trials
        for what in ("holds", "not_worse"):
            if np.mean([trial[what] for trial in trials]) < 1 - args.delta:
                failed.append(f"{name}: {what}")
    if not args.icu and args.large:
        print(f"\nwith {args.large:,} rows: how far below the true value the bound lies")
        for name, case in cases.items():
            trial = case.trial(args.first_seed, args.thin, args.delta, rows=args.large)
            below = (trial["true"] - trial["bound"]) / abs(trial["true"])
            print(
                f"{name:<28} true {trial['true']:8.4f}  bound {trial['bound']:9.4f}  {below:7.1%}"
            )
            results[f"{name}, large"] = [trial | {"below": below}]
    if args.json:
        args.json.write_text(json.dumps(results, indent=2))
    if failed:
        sys.exit("; ".join(failed))


if __name__ == "__main__":
    main()
