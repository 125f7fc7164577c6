"""Evaluation of a policy over episodes that are cut at the time limit.

*Exact*: the distribution over joint states is propagated step by step. This gives the expected
discounted return, the return in M↓ and the expected visits at once, and costs almost nothing once
the policy is deterministic. *Monte Carlo*: episodes are drawn, as in the paper. Returns count the
true rewards, hidden or not: evaluators see them, agents never do.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from monmdp.compiling import compiled
from monmdp.errors import MonMDPError
from monmdp.experiment.loop import PULSE
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.dynamics import Tables, reset, step
from monmdp.model.monmdp import MonMDP
from monmdp.planning.ending import all_end
from monmdp.planning.observability import Observability, worst_case
from monmdp.planning.policy_iteration import longest

SCORES = (
    "episode_return", "worst_case_return", "goal_visits", "bottom_visits", "episode_length",
)  # fmt: skip
"""what an evaluation measures, in the order of its columns"""


class Chances(NamedTuple):
    """What evaluation reads besides the simulator's tables."""

    probability: FloatArray
    """[outcome]"""
    transition: FloatArray
    """[class, sᵐ, aᵐ, s′ᵐ]"""
    mean_reward: FloatArray
    """[env pair] mean of rᵉ"""
    worst_reward: FloatArray
    """[env pair] the same in M↓"""
    goal: FloatArray
    """[env pair] 1 where taking the pair counts as reaching a goal"""
    bottom: FloatArray
    """[sᵉ] 1 in ⊥ states"""
    start: FloatArray
    """[s]"""


def writable_tables(monmdp: MonMDP) -> Tables:
    """Return writable copies of the simulator's tables: read-only arrays would compile again."""
    copies: list[Any] = [x if isinstance(x, int) else x.copy() for x in monmdp.tables]
    return Tables(*copies)


def chances(monmdp: MonMDP, seen: Observability | None = None) -> Chances:
    """Return what the evaluation of policies in this Mon-MDP reads."""
    mdp = monmdp.mdp
    worst = worst_case(monmdp, seen).mdp
    return Chances(
        probability=mdp.probability.copy(),
        transition=monmdp.monitor.transition.copy(),
        mean_reward=mdp.mean_reward.reshape(-1).copy(),
        worst_reward=worst.mean_reward.reshape(-1).copy(),
        goal=mdp.goal.reshape(-1).astype(np.float64),
        bottom=mdp.bottom.astype(np.float64),
        start=monmdp.start.copy(),
    )


def checked_limit(monmdp: MonMDP) -> int:
    """Return the time limit; without one an episode need not end."""
    if monmdp.mdp.time_limit is None:
        raise MonMDPError(
            f"world {monmdp.mdp.name!r} has no time limit, so its episodes may never end; "
            "make the world with time_limit=…"
        )
    return monmdp.mdp.time_limit


def steps_at_most(monmdp: MonMDP) -> int:
    """Return the time limit; without one, so many steps that every episode has ended by then.

    After twice the most steps that an episode can last on average, half of all have ended, whatever
    is done. So after a hundred times as many, 2⁻⁵⁰ is left.
    """
    if monmdp.mdp.time_limit is None and all_end(monmdp):
        return math.ceil(100 * longest(monmdp))
    return checked_limit(monmdp)


def policy_moves(moves: Any, policy: FloatArray) -> Any:
    """Return [s, s′] where policy[s, a] goes, given moves[s·|A| + a, s′], as sparse matrices."""
    from scipy.sparse import csr_array

    n_states, n_actions = policy.shape
    pairs = n_states * n_actions
    rows = np.arange(0, pairs + 1, n_actions)
    return csr_array((policy.reshape(-1), np.arange(pairs), rows), shape=(n_states, pairs)) @ moves


def expected_visits(start: FloatArray, moves: Any, steps: int) -> FloatArray:
    """Return [s] how often so many steps of moves[s, s′] are in each state, on average."""
    here, total = start, start.copy()
    for _ in range(steps - 1):
        here = here @ moves
        total += here
    return total


def evaluate(
    tables: Tables,
    chances: Chances,
    policies: FloatArray,
    gamma: float,
    limit: int,
    episodes: int,
    rng: np.random.Generator,
    scores: FloatArray,
    pulse: IntArray,
) -> None:
    """Write what policies[i, s, a] score, in the order of SCORES, into scores[i, :].

    With `episodes` > 0 all but the return in M↓ are means over so many drawn episodes. It
    stops where it is when somebody writes into pulse[0].
    """
    compiled(_exact)(tables, chances, policies, gamma, limit, scores, pulse)
    if episodes > 0:
        draw = compiled(_monte_carlo)
        draw(tables, chances, policies, gamma, limit, episodes, rng, scores, pulse)


def scores_of(
    tables: Tables,
    chances: Chances,
    policy: FloatArray,
    gamma: float,
    limit: int,
    episodes: int = 0,
    rng: np.random.Generator | None = None,
) -> dict[str, float]:
    """Return what policy[s, a] scores, by the names in SCORES."""
    scores, never = np.zeros((1, len(SCORES))), np.zeros(PULSE, dtype=np.int64)
    stream = np.random.default_rng(0) if rng is None else rng
    evaluate(tables, chances, policy[None].copy(), gamma, limit, episodes, stream, scores, never)
    return dict(zip(SCORES, map(float, scores[0]), strict=True))


def _exact(
    tables: Tables,
    chances: Chances,
    policies: FloatArray,
    gamma: float,
    limit: int,
    scores: FloatArray,
    pulse: IntArray,
) -> None:
    """Propagate the distribution over joint states."""
    n_sm, n_am = tables.monitor_reward.shape
    n_states, n_actions = policies.shape[1], policies.shape[2]
    # mass[s] is the chance to be in s now; `here` lists the n_here states where it is positive.
    mass, next_mass = np.empty(n_states), np.empty(n_states)
    here, next_here = np.empty(n_states, np.int64), np.empty(n_states, np.int64)
    for i in range(len(policies)):
        policy, same = policies[i], i > 0
        n_here = 0
        for s in range(n_states):
            mass[s] = chances.start[s]
            next_mass[s] = 0.0
            if mass[s] > 0:
                here[n_here] = s
                n_here += 1
            for a in range(n_actions):
                same = same and policy[s, a] == policies[i - 1, s, a]
        if same:  # policies change seldom once they are good
            for k in range(scores.shape[1]):
                scores[i, k] = scores[i - 1, k]
            continue
        total, worst, goals, bottoms, length, discount = 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
        for _ in range(limit):
            if pulse[0] != 0:
                return
            n_next = 0
            for k in range(n_here):
                s = here[k]
                se, sm = s // n_sm, s % n_sm
                length += mass[s]
                bottoms += mass[s] * chances.bottom[se]
                for a in range(n_actions):
                    w = mass[s] * policy[s, a]
                    if w == 0:
                        continue
                    am, pair = a % n_am, se * tables.n_env_actions + a // n_am
                    goals += w * chances.goal[pair]
                    rm = tables.monitor_reward[sm, am]
                    total += discount * w * (chances.mean_reward[pair] + rm)
                    worst += discount * w * (chances.worst_reward[pair] + rm)
                    c = tables.pair_class[pair]
                    for o in range(tables.first[pair], tables.first[pair + 1]):
                        if tables.terminates[o]:
                            continue
                        for next_sm in range(n_sm):
                            p = w * chances.probability[o] * chances.transition[c, sm, am, next_sm]
                            if p > 0:
                                next_s = tables.successor[o] * n_sm + next_sm
                                if next_mass[next_s] == 0:
                                    next_here[n_next] = next_s
                                    n_next += 1
                                next_mass[next_s] += p
                mass[s] = 0.0
            mass, next_mass, here, next_here = next_mass, mass, next_here, here
            n_here = n_next
            discount *= gamma
        scores[i, 0] = total
        scores[i, 1] = worst
        scores[i, 2] = goals
        scores[i, 3] = bottoms
        scores[i, 4] = length


def _monte_carlo(
    tables: Tables, chances: Chances, policies: FloatArray, gamma: float, limit: int,
    episodes: int, rng: np.random.Generator, scores: FloatArray, pulse: IntArray,
) -> None:  # fmt: skip
    """Draw episodes; where the policy leaves no choice, no number is drawn for it."""
    n_sm, n_am = tables.monitor_reward.shape
    n_states, n_actions = policies.shape[1], policies.shape[2]
    # In s the policy takes the actions action[s, :n_taken[s]].
    n_taken = np.empty(n_states, np.int64)
    action = np.empty((n_states, n_actions), np.int64)
    for i in range(len(policies)):
        policy = policies[i]
        for s in range(n_states):
            n_taken[s] = 0
            for a in range(n_actions):
                if policy[s, a] > 0:
                    action[s, n_taken[s]] = a
                    n_taken[s] += 1
        total, goals, bottoms, length = 0.0, 0.0, 0.0, 0
        for _ in range(episodes):
            if pulse[0] != 0:
                return
            se, sm = reset(tables, rng.random(), rng.random())
            discount = 1.0
            for _ in range(limit):
                s = se * n_sm + sm
                a = action[s, 0]
                if n_taken[s] > 1:
                    u, k = rng.random() - policy[s, a], 1
                    while u >= 0 and k < n_taken[s]:
                        a = action[s, k]
                        u -= policy[s, a]
                        k += 1
                ae, am = a // n_am, a % n_am
                goals += chances.goal[se * tables.n_env_actions + ae]
                bottoms += chances.bottom[se]
                length += 1
                # Whether the reward would be shown is of no interest here.
                se, sm, re, rm, _, ended = step(
                    tables, se, sm, ae, am, rng.random(), rng.random(), 0.0
                )
                total += discount * (re + rm)
                discount *= gamma
                if ended:
                    break
        scores[i, 0] = total / episodes
        scores[i, 2] = goals / episodes
        scores[i, 3] = bottoms / episodes
        scores[i, 4] = length / episodes
