"""Is the choice of rewards to make visible the best one, and how good is the greedy choice?

200 random worlds of 8 to 25 states and 2 to 4 actions with 5 to 15 hidden pairs, under one of three
monitors, budgets from 1 to 5, costs all one or mixed. In every second world there are two rewards
that are worth something only together. All sets within the budget are valued by a plain policy
iteration on dense matrices, which shares no code with the planner.

    python benchmarks/instrumentation.py [--worlds 200] [--maps]

`--maps` times maps instead.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from typing import NamedTuple

import numpy as np

from monmdp import MDP, MonMDP, join, make, monitors, planning, worlds
from monmdp.tables import Column, Table, plural

GAMMA = 0.95
MONITORS = ("ask", "semi-random", "level-up")
SAME = 1e-7
"""gains that differ by less are equal"""
LARGE_MAP = "rooms-20x20"
"""whose plain cells are made ⊥ for a larger problem"""


class Task(NamedTuple):
    """A random world, what its hidden pairs cost, and what may be spent."""

    problem: MonMDP
    pairs: np.ndarray
    """[hidden, 2]"""
    cost: np.ndarray
    """[hidden]"""
    budget: float

    def found(self, method: str) -> planning.Instrumentation:
        """Return what the package chooses."""
        names = [f"{s}:{a}" for s, a in self.pairs]
        cost = dict(zip(names, self.cost.tolist(), strict=True))
        how = {"cost": cost, "assume": "truth", "method": method, "gamma": GAMMA}
        return planning.instrument(self.problem, self.budget, **how)

    def payable(self) -> np.ndarray:
        """[set, hidden] all sets within the budget."""
        n = len(self.cost)
        most = min(n, int(self.budget / self.cost.min() + 1e-9))
        sets = [of for k in range(most + 1) for of in combinations(range(n), k)]
        masks = np.array([np.isin(np.arange(n), of) for of in sets])
        return masks[masks @ self.cost <= self.budget + 1e-9]

    def gains(self, masks: np.ndarray) -> np.ndarray:
        """[set] the gain of each set [set, hidden], by policy iteration on dense matrices."""
        nothing = np.zeros((1, len(self.pairs)), dtype=bool)
        values = np.concatenate(
            [self._values(part) for part in np.array_split(masks, len(masks) // 500 + 1)]
        )
        return values - self._values(nothing)[0]

    def _values(self, masks: np.ndarray) -> np.ndarray:
        problem, mdp = self.problem, self.problem.mdp
        n_sm, n_am = problem.monitor.n_states, problem.monitor.n_actions
        move = problem.dense_transition(continuing=True)
        pay = np.repeat(problem.mean_reward()[None], len(masks), axis=0)
        for (s, a), shown in zip(self.pairs, masks.T, strict=True):
            block = slice(s * n_sm, (s + 1) * n_sm), slice(a * n_am, (a + 1) * n_am)
            pay[(~shown, *block)] += mdp.r_min - mdp.mean_reward[s, a]
        every = np.arange(problem.n_states)
        choice = pay.argmax(axis=2)
        while True:
            paid = np.take_along_axis(pay, choice[..., None], axis=2)
            values = np.linalg.solve(np.eye(len(every)) - GAMMA * move[every, choice], paid)
            q = pay + GAMMA * np.einsum("sat,kt->ksa", move, values[..., 0])
            now = np.take_along_axis(q, choice[..., None], axis=2)[..., 0]
            better = q.max(axis=2) > now + 1e-11
            if not better.any():
                return np.asarray(values[..., 0] @ problem.start)
            choice = np.where(better, q.argmax(axis=2), choice)


def task(seed: int) -> Task:
    """Make a world; those with an odd seed have two rewards that are worth something together."""
    rng = np.random.default_rng(seed)
    while True:
        made = _drawn(rng, seed)
        if made is not None and (seed % 2 == 0 or _has_couple(made)):
            return made


def _drawn(rng: np.random.Generator, seed: int) -> Task | None:
    n, n_actions = int(rng.integers(8, 26)), int(rng.integers(2, 5))
    move = np.zeros((n, n_actions, n))
    for s, a in np.ndindex(n, n_actions):
        lands = rng.choice(n, int(rng.integers(1, 4)), replace=False)
        move[s, a, lands] = rng.dirichlet(np.ones(len(lands)))
    reward = rng.uniform(-1, 0.3, (n, n_actions))
    hidden = np.zeros((n, n_actions), dtype=bool)
    if seed % 2:
        _add_detours(rng, move, reward, hidden)
    others = np.argwhere(~hidden)
    for i in rng.choice(len(others), max(0, rng.integers(5, 16) - hidden.sum()), replace=False):
        hidden[tuple(others[i])] = True
        reward[tuple(others[i])] = rng.uniform(-1, 1)
    s, a, lands = np.nonzero(move)
    never = np.zeros(len(s), dtype=bool)
    mdp = MDP.from_columns(
        s, a, lands, move[s, a, lands], reward[s, a], never, hidden[s, a], name=f"world {seed}",
        n_states=n, n_actions=n_actions, start=np.eye(n)[0], r_min=-1.0, r_max=1.0,
    )  # fmt: skip
    problem = join(mdp, monitors.make(MONITORS[seed % len(MONITORS)]))
    pairs = planning.observability(problem).never_observable_pairs
    if not 5 <= len(pairs) <= 15:
        return None
    mixed = rng.random() < 0.5
    cost = rng.choice([0.5, 1.0, 1.5, 2.0], len(pairs)) if mixed else np.ones(len(pairs))
    return Task(problem, pairs, cost, float(rng.integers(1, 6)))


def _add_detours(
    rng: np.random.Generator, move: np.ndarray, reward: np.ndarray, hidden: np.ndarray
) -> None:
    """Lay out one or two ways from the start through two states that pay well, and nobody sees."""
    n, n_actions = reward.shape
    for way in range(int(rng.integers(1, 3))):
        first, second = rng.choice(np.arange(1, n), 2, replace=False)
        end = 0 if rng.random() < 0.5 else int(rng.integers(n))
        move[0, way], reward[0, way] = np.eye(n)[first], -0.1
        for state, lands in ((first, second), (second, end)):
            reward[state] = -1 + rng.uniform(0, 0.1, n_actions)
            a = int(rng.integers(n_actions))
            move[state, a], reward[state, a] = np.eye(n)[lands], rng.uniform(0.5, 1)
            hidden[state, a] = True
    move[0, -1], reward[0, -1] = np.eye(n)[0], rng.uniform(-0.4, 0.2)


def _has_couple(made: Task) -> bool:
    """Whether two rewards gain nothing alone and something together."""
    n = len(made.pairs)
    alone = made.gains(np.eye(n, dtype=bool))
    none = np.flatnonzero(alone < SAME)
    couples = np.array([np.isin(np.arange(n), of) for of in combinations(none, 2)])
    return len(couples) > 0 and bool((made.gains(couples) > 0.01).any())


class Outcome(NamedTuple):
    """What came out on one world."""

    seed: int
    sets: int
    best: float
    """the largest gain of any set within the budget"""
    exact: planning.Instrumentation
    greedy: planning.Instrumentation
    seconds: tuple[float, float]
    """of exact and of greedy"""

    @property
    def is_exact(self) -> bool:
        """Whether the choice is as good as the best of all sets, within the budget, and proven."""
        of = self.exact
        return abs(of.gain - self.best) < SAME and of.cost <= of.budget + 1e-9 and of.optimal

    @property
    def is_valid(self) -> bool:
        """Whether no set gains more than greedy's upper bound."""
        of = self.greedy
        return of.upper_bound > self.best - SAME and of.cost <= of.budget + 1e-9

    @property
    def share(self) -> float:
        """Greedy's gain as a share of the best."""
        return self.greedy.gain / self.best if self.best > SAME else 1.0


def outcome(seed: int) -> Outcome:
    """Compare the package with brute force on one world."""
    made = task(seed)
    masks = made.payable()
    best = float(made.gains(masks).max())
    begun = time.perf_counter()
    exact = made.found("exact")
    half = time.perf_counter()
    greedy = made.found("greedy")
    seconds = half - begun, time.perf_counter() - half
    return Outcome(seed, len(masks), best, exact, greedy, seconds)


def summary(outcomes: list[Outcome]) -> Table:
    """What came out on all worlds."""
    columns = ("", *(Column(name, form=".3g") for name in ("median", "5 %", "worst")), "worst is")
    exact = sum(of.is_exact for of in outcomes)
    valid = sum(of.is_valid for of in outcomes)
    measures = {
        "greedy gain / best gain": [of.share for of in outcomes],
        "greedy gain / its upper bound": [of.greedy.ratio for of in outcomes],
        "plans, greedy": [-of.greedy.plans for of in outcomes],
        "plans, exact": [-of.exact.plans for of in outcomes],
        "sets within the budget": [-of.sets for of in outcomes],
        "milliseconds, greedy": [-1e3 * of.seconds[1] for of in outcomes],
        "milliseconds, exact": [-1e3 * of.seconds[0] for of in outcomes],
    }
    rows = []
    for name, values in measures.items():
        low = [abs(x) for x in np.quantile(values, [0.5, 0.05, 0.0])]
        rows.append((name, *low, f"world {outcomes[int(np.argmin(values))].seed}"))
    notes = [
        f"{exact} of {plural(len(outcomes), 'world')}: exact equals brute force.",
        f"{valid} of {plural(len(outcomes), 'world')}: greedy's certificate is valid.",
        f"{sum(of.share > 1 - 1e-6 for of in outcomes)}: greedy is the best, too.",
    ]
    return Table.of(columns, rows, notes=notes)


def maps() -> Table:
    """How long it takes on maps."""
    rows = []
    rng = np.random.default_rng(0)
    large = make(LARGE_MAP, "ask").mdp.picture
    tiles = np.array([list(row) for row in large or ()])
    plain = np.flatnonzero(tiles == ".")
    tiles.flat[rng.choice(plain, len(plain) // 3, replace=False)] = "?"
    text = "start: 0,0\n---\n" + "\n".join("".join(row) for row in tiles)
    problems = [make("bottleneck", "button"), make("bottleneck", "n-experts")]
    problems += [
        join(worlds.grid_world(text, name=f"{LARGE_MAP}, a third ⊥"), monitors.make("ask"))
    ]
    planning.instrument(problems[0], 3)  # what is compiled now is not timed
    for problem in problems:
        for assume, method in (("interval", "auto"), ("prior", "greedy")):
            prior = (0.0, 0.3) if assume == "prior" else None
            begun = time.perf_counter()
            found = planning.instrument(
                problem, 3, assume=assume, prior=prior, draws=8, method=method
            )
            seconds = time.perf_counter() - begun
            name = f"{problem.mdp.name} / {problem.monitor.name}"
            facts = (len(found.candidates), found.plans, seconds, found.ratio)
            rows.append((name, f"{assume}, {method}", *facts))
    heads = (("candidates", ",.0f"), ("plans", ",.0f"), ("seconds", ".2f"), ("gain / bound", ".3f"))
    columns = ("problem", "how", *(Column(name, form=form) for name, form in heads))
    return Table.of(columns, rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--maps", action="store_true")
    given = parser.parse_args()
    if given.maps:
        print(maps())
        return
    for seed in range(len(MONITORS)):
        outcome(seed)  # what is compiled now is not timed
    print(summary([outcome(seed) for seed in range(given.worlds)]))


if __name__ == "__main__":
    main()
