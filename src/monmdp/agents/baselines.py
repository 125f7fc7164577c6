"""The baselines of the earlier Mon-MDP papers: five ways to explore with Q-learning.

    ε-greedy    a random action with chance ε, else greedy on Q
    optimistic  greedy on Q, which starts high
    UCB         greedy on Q + √(2 ln Σ_a N(s,a) / N(s,a)), untried actions first
    intrinsic   greedy on Q, which also learns a reward of (1 - γ)/√N(s,a)
    Q-count     as UCB with n̂ = (1 - γ) Q_N in place of N, where Q_N(s,a) learns, at the rate α, to
                be N(s,a) + γ min Q_N(s′,·), or N(s,a)/(1 - γ) where the episode ended: it is small
                where few visits lie ahead

The last three take random actions with chance ε as well. All share one state, in which `rule` says
which of them it is, so they are compiled once for all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents.greedy import greedy_action
from monmdp.agents.q_learning import (
    Learner,
    QLearning,
    acts_at_random,
    implement_learner,
    learn,
    learning_rate,
)
from monmdp.compiling import compilable
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray
from monmdp.model.monmdp import Shape

GREEDY, UCB_RULE, INTRINSIC_RULE, Q_COUNT_RULE = 0, 1, 2, 3
UNTRIED = 1e300
"""score of an action that was never tried: above all others, and equal for all such actions"""


@dataclass(frozen=True, kw_only=True)
class Baseline(QLearning):
    """What the five have in common."""

    rule: ClassVar[int] = GREEDY

    def state(self, shape: Shape, r_min: float, model: MonMDP | None = None) -> State:
        """Return the state of an agent that has seen nothing yet."""
        del r_min, model  # it is no pessimist, and plans nothing
        kind = OracleState if self.sees_hidden_rewards else State
        learner = self.learner(shape)
        return kind(rule=self.rule, learner=learner, q_count=np.zeros(learner.q.shape))


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(Baseline):
    """Q-learning with ε-greedy exploration, and its hyper-parameters."""

    name: ClassVar[str] = "epsilon-greedy"


@dataclass(frozen=True, kw_only=True)
class Optimistic(Baseline):
    """Q-learning that is greedy from optimistic initial values, and its hyper-parameters."""

    name: ClassVar[str] = "optimistic"

    q_init: float = 1.0
    """Q₀, no less than any value (1, River Swim 50)"""
    epsilon: float = 0.0
    """ε, the chance of a random action"""


@dataclass(frozen=True, kw_only=True)
class UCB(Baseline):
    """Q-learning with upper confidence bounds from the counts, and its hyper-parameters."""

    name: ClassVar[str] = "ucb"
    rule: ClassVar[int] = UCB_RULE

    q_init: float = 1.0
    """Q₀ (1, River Swim 50)"""

    def bonus(self, snapshot: Mapping[str, Any]) -> FloatArray:
        """[s, a] √(2 ln Σ_a N(s,a) / N(s,a))."""
        return upper_bonus(snapshot["n"])


@dataclass(frozen=True, kw_only=True)
class Intrinsic(Baseline):
    """Q-learning with an intrinsic reward for rarely taken actions, and its hyper-parameters."""

    name: ClassVar[str] = "intrinsic"
    rule: ClassVar[int] = INTRINSIC_RULE

    q_init: float = 1.0
    """Q₀ (1, River Swim 50)"""

    def bonus(self, snapshot: Mapping[str, Any]) -> FloatArray:
        """[s, a] (1 - γ)/√N(s,a), the intrinsic reward of the last visit."""
        with np.errstate(divide="ignore"):
            reward: FloatArray = (1.0 - self.gamma) / np.sqrt(snapshot["n"])
        return reward


@dataclass(frozen=True, kw_only=True)
class QCount(Baseline):
    """Q-learning with upper confidence bounds from counts that look ahead, its hyper-parameters."""

    name: ClassVar[str] = "q-count"
    snapshot_fields: ClassVar[tuple[str, ...]] = (*Baseline.snapshot_fields, "q_count")
    rule: ClassVar[int] = Q_COUNT_RULE

    q_init: float = 1.0
    """Q₀ (1, River Swim 50)"""

    def bonus(self, snapshot: Mapping[str, Any]) -> FloatArray:
        """[s, a] √(2 ln Σ_a n̂(s,a) / n̂(s,a))."""
        return upper_bonus((1.0 - self.gamma) * snapshot["q_count"])


class State(NamedTuple):
    """All that the agent knows."""

    rule: int
    """which of the five it is"""
    learner: Learner
    q_count: FloatArray
    """[s, a] Q_N, learnt by Q-count only"""


class OracleState(State):
    """The same for an agent that is told hidden rewards."""


def act(agent: State, s: int, rng: np.random.Generator) -> int:
    """Act at random with chance ε, else greedily on Q or on Q with a bonus."""
    n, q = agent.learner.n, agent.learner.q
    n_actions = q.shape[1]
    if acts_at_random(agent.learner, rng):
        return int(rng.random() * n_actions)
    if agent.rule == UCB_RULE or agent.rule == Q_COUNT_RULE:
        visits = np.empty(n_actions)
        for a in range(n_actions):
            visits[a] = n[s, a]
            if agent.rule == Q_COUNT_RULE:
                visits[a] = (1.0 - agent.learner.parameters.gamma) * agent.q_count[s, a]
        score = upper_bounds(q, s, visits)
        return greedy_action(score, 0, rng.random())
    return greedy_action(q, s, rng.random())


@compilable
def upper_bounds(q: FloatArray, s: int, visits: FloatArray) -> FloatArray:
    """Return [0, a] Q(s,a) + √(2 ln Σn / n), the largest number where n = 0.

    The sum of the n̂ of Q-count can be below 1; its logarithm then counts as 0.
    """
    total, score = 0.0, np.empty((1, len(visits)))
    for a in range(len(visits)):
        total += visits[a]
    for a in range(len(visits)):
        score[0, a] = UNTRIED
        if visits[a] > 0.0:
            score[0, a] = q[s, a] + math.sqrt(2.0 * max(0.0, math.log(total)) / visits[a])
    return score


def upper_bonus(visits: FloatArray) -> FloatArray:
    """[s, a] what `upper_bounds` adds to Q, infinite where n = 0."""
    total = np.maximum(visits.sum(axis=1, keepdims=True), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bonus: FloatArray = np.sqrt(2.0 * np.log(total) / visits)
    return np.where(visits > 0, bonus, np.inf)


def update(
    agent: State,
    s: int,
    a: int,
    shown: bool,
    reward: float,
    monitor_reward: float,
    next_s: int,
    terminated: bool,
) -> None:
    """Count, learn Q_N if that is the rule, then r̂ and Q."""
    learner = agent.learner
    learner.n[s, a] += 1
    n, gamma = learner.n[s, a], learner.parameters.gamma
    beside = monitor_reward
    if agent.rule == INTRINSIC_RULE:
        beside += (1.0 - gamma) / math.sqrt(n)
    elif agent.rule == Q_COUNT_RULE:
        q_count = agent.q_count
        target = n / (1.0 - gamma)
        if not terminated:
            least = q_count[next_s, 0]
            for b in range(1, q_count.shape[1]):
                least = min(least, q_count[next_s, b])
            target = n + gamma * least
        q_count[s, a] += learning_rate(learner) * (target - q_count[s, a])
    learn(learner, s, a, shown, reward, beside, next_s, terminated)


implement_learner(State, OracleState, act=act, update=update)
