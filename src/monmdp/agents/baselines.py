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
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.contract import Step
from monmdp.agents.greedy import greedy_action
from monmdp.agents.q_learning import Learner, QLearning, acts_at_random, learn, learning_rate
from monmdp.compiling import compilable
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray
from monmdp.model.monmdp import Shape

GREEDY, UCB_RULE, INTRINSIC_RULE, Q_COUNT_RULE = range(4)
UNTRIED = 1e300
"""score of an action that was never tried: above all others, and equal for all such actions"""


@dataclass(frozen=True, kw_only=True)
class Baseline(QLearning):
    """What the five have in common."""

    line = "-."
    rule = GREEDY

    class State(NamedTuple):
        """All that the agent knows."""

        parameters: Any
        rule: int
        """which of the five it is"""
        learner: Learner
        q_count: FloatArray
        """[s, a] Q_N, learnt by Q-count only"""

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that has seen nothing yet."""
        learner = self.learner(shape)
        return {"rule": self.rule, "learner": learner, "q_count": np.zeros(learner.q.shape)}

    def act(agent: Any, s: int, rng: np.random.Generator) -> int:
        """Act at random with chance ε, else greedily on Q or on Q with a bonus."""
        n, q = agent.learner.n, agent.learner.q
        n_actions = q.shape[1]
        if acts_at_random(agent, rng):
            return int(rng.random() * n_actions)
        if agent.rule == UCB_RULE or agent.rule == Q_COUNT_RULE:
            visits = np.empty(n_actions)
            for a in range(n_actions):
                visits[a] = n[s, a]
                if agent.rule == Q_COUNT_RULE:
                    visits[a] = (1.0 - agent.parameters.gamma) * agent.q_count[s, a]
            score = upper_bounds(q, s, visits)
            return greedy_action(score, 0, rng.random())
        return greedy_action(q, s, rng.random())

    def update(agent: Any, step: Step) -> None:
        """Count, learn Q_N if that is the rule, then r̂ and Q."""
        s, a = step.s, step.a
        agent.learner.n[s, a] += 1
        n, gamma = agent.learner.n[s, a], agent.parameters.gamma
        beside = step.monitor_reward
        if agent.rule == INTRINSIC_RULE:
            beside += (1.0 - gamma) / math.sqrt(n)
        elif agent.rule == Q_COUNT_RULE:
            q_count = agent.q_count
            target = n / (1.0 - gamma)
            if not step.terminated:
                least = q_count[step.next_s, 0]
                for b in range(1, q_count.shape[1]):
                    least = min(least, q_count[step.next_s, b])
                target = n + gamma * least
            q_count[s, a] += learning_rate(agent) * (target - q_count[s, a])
        learn(agent, step, beside)


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


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(Baseline):
    """Q-learning with ε-greedy exploration, and its hyper-parameters."""

    name = "epsilon-greedy"
    colour = "#56b4e9"


@dataclass(frozen=True, kw_only=True)
class StartsHigh(Baseline):
    """What the four have in common that are not plainly ε-greedy."""

    q_init: float = 1.0
    """Q₀, no less than any value (1, River Swim 50)"""

    @classmethod
    def paper_settings(cls, world: str, monitor: str, figure: int | None) -> dict[str, Any]:
        """Return α, and Q₀: River Swim has larger values."""
        q_init = {"q_init": 50.0} if world == "river-swim" else {}
        return super().paper_settings(world, monitor, figure) | q_init


@dataclass(frozen=True, kw_only=True)
class Optimistic(StartsHigh):
    """Q-learning that is greedy from optimistic initial values, and its hyper-parameters."""

    name = "optimistic"
    colour = "#cc79a7"

    epsilon: float = 0.0
    """ε, the chance of a random action"""


@dataclass(frozen=True, kw_only=True)
class UCB(StartsHigh):
    """Q-learning with upper confidence bounds from the counts, and its hyper-parameters."""

    name = "ucb"
    colour = "#a8a000"
    rule = UCB_RULE


@dataclass(frozen=True, kw_only=True)
class Intrinsic(StartsHigh):
    """Q-learning with an intrinsic reward for rarely taken actions, and its hyper-parameters."""

    name = "intrinsic"
    colour = "#7f7f7f"
    rule = INTRINSIC_RULE


@dataclass(frozen=True, kw_only=True)
class QCount(StartsHigh):
    """Q-learning with upper confidence bounds from counts that look ahead, its hyper-parameters."""

    name = "q-count"
    colour = "#8a5a44"
    snapshot_fields = (*Baseline.snapshot_fields, "q_count")
    rule = Q_COUNT_RULE
