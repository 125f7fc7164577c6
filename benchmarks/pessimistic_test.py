"""How much of Monitored MBIE-EB's distance is its test policy?

Monitored MBIE-EB tests the policy that it optimizes by, which is optimistic. Here its training is
followed step by step, unchanged, and every 100 steps another policy is tested, too: greedy on the
model of what was met so far, with r_min for rewards never shown and worse for what was never tried.
That is how Factored MBIE-EB is tested. Steps to 1 % of both, and of Factored MBIE-EB, on the twelve
Bottleneck settings of the ablations.

    python benchmarks/pessimistic_test.py [--seeds 10] [--json FILE]

Seeds are even ones from 400 on, and runs as long as on docs/beyond.md, whose runs two of the three
columns repeat. Runs that never get there count with the budget.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import spsolve

import monmdp
from monmdp import agents, experiment
from monmdp.agents import Transition
from monmdp.results.evidence import aggregate

MONITORS = ("full-random", "ask", "n-supporters", "n-experts", "level-up", "button")
SETTINGS = [(monitor, rho) for rho in (1.0, 0.05) for monitor in MONITORS]
EVERY, GAMMA, TIE = 100, 0.99, 1e-10
BUDGET = 50_000
FIRST_SEED = 400


class Notes:
    """What was met: counts of cells, where they led, and rewards."""

    def __init__(self, problem: monmdp.MonMDP) -> None:
        """Begin with nothing."""
        self.problem, S, A = problem, problem.n_states, problem.n_actions
        self.n, self.to = np.zeros((S, A)), np.zeros((S, A, S))
        self.monitor_reward = np.zeros((S, A))
        pairs = problem.mdp.n_states, problem.mdp.n_actions
        self.seen, self.total = np.zeros(pairs), np.zeros(pairs)
        self.choice = np.zeros(S, dtype=np.int64)

    def take(self, t: Transition) -> None:
        """Write down one step."""
        shape = self.problem.shape
        s, a = shape.joint_state(t.observation), shape.joint_action(t.action)
        self.n[s, a] += 1
        self.monitor_reward[s, a] += t.monitor_reward
        if not t.terminated:
            self.to[s, a, shape.joint_state(t.next_observation)] += 1
        if t.reward is not None:
            pair = t.observation["env"], t.action["env"]
            self.seen[pair] += 1
            self.total[pair] += t.reward

    def policy(self) -> np.ndarray:
        """Greedy, and pessimistic about all that was not seen."""
        r_min, n = self.problem.mdp.r_min, np.maximum(self.n, 1)
        mean = np.where(self.seen > 0, self.total / np.maximum(self.seen, 1), r_min)
        _, n_sm, _, n_am = self.problem.shape
        reward = np.repeat(np.repeat(mean, n_sm, axis=0), n_am, axis=1) + self.monitor_reward / n
        reward[self.n == 0] = r_min / (1 - GAMMA) - 1
        every, n_a = np.arange(len(n)), n.shape[1]
        follows = diags_array(GAMMA / n.ravel()) @ csr_array(self.to.reshape(-1, len(n)))
        while True:  # policy iteration, from the last test's choice
            chosen = csc_array(follows[every * n_a + self.choice])
            v = spsolve(eye_array(len(n), format="csc") - chosen, reward[every, self.choice])
            q = reward + (follows @ v).reshape(n.shape)
            better = q.max(axis=1) > q[every, self.choice] + TIE
            if not better.any():
                break
            self.choice[better] = q.argmax(axis=1)[better]
        best = q >= q.max(axis=1, keepdims=True) - TIE
        return best / best.sum(axis=1, keepdims=True)


class TestedPessimistically:
    """Monitored MBIE-EB, unchanged but for its tests."""

    def __init__(self, problem: monmdp.MonMDP, seed: int) -> None:
        """Make the agent that `train` would make."""
        streams = experiment.streams(problem, seed)
        self.agent = agents.make("monitored-mbie-eb", problem, seed=streams.agent)
        self.notes = Notes(problem)
        self.begin_episode, self.act = self.agent.begin_episode, self.agent.act
        self.test_policy = self.notes.policy

    def update(self, transition: Transition) -> None:
        """Learn, and write down."""
        self.agent.update(transition)
        self.notes.take(transition)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=Path, help="write what was measured there, too")
    args = parser.parse_args()
    print("| setting | Monitored MBIE-EB | tested pessimistically | Factored MBIE-EB |")
    print("|---|---|---|---|")
    rows = []
    for monitor, rho in SETTINGS:
        problem = monmdp.make("bottleneck", monitor, rho=rho)
        v = monmdp.solve(problem).episode_return
        found: dict[str, list[int]] = {"own": [], "pessimistic": [], "factored": []}
        for seed in range(FIRST_SEED, FIRST_SEED + 2 * args.seeds, 2):
            tested = {
                "own": "monitored-mbie-eb",
                "pessimistic": TestedPessimistically(problem, seed),
                "factored": "factored-mbie-eb",
            }
            for key, agent in tested.items():
                run = monmdp.train(problem, agent, BUDGET, seed=seed, every=EVERY)
                steps = int(aggregate("", run.settings, [run], v).steps_to_optimal[0])
                found[key].append(max(steps, EVERY))
        rows.append({"setting": f"bottleneck {100 * rho:g} % / {monitor}", **found})
        print(f"| {rows[-1]['setting']} | ", end="")
        print(" | ".join(f"{np.mean(of):,.0f}" for of in found.values()), "|", flush=True)
    if args.json:
        said = {"seeds": args.seeds, "settings": rows}
        args.json.write_text(json.dumps(said, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
