"""Directed-E²: explore towards the pair visited least, with a value function for each goal.

Beside Q (`q_learning`) it learns Ψ(s,a | goal) for every joint pair as goal, the discounted chance
to get there: the target is 1 if (s,a) is the goal, else γ max Ψ(s′,· | goal), or 0 where the
episode ended. At step t = 2, 3, … with the least visited pair as goal, the first of equals,

    ln t / N(goal) > β̄:  explore: a random action with chance ε, else greedy on Ψ(· | goal)
    otherwise:            exploit: greedy on Q

Ψ is a table of |S||A| × |S||A| numbers, and every step changes |S||A| of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.contract import Step, at_least_zero
from monmdp.agents.greedy import greedy_action
from monmdp.agents.q_learning import Learner, QLearning, acts_at_random, learn, learning_rate
from monmdp.compiling import compilable
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.monmdp import Shape


@dataclass(frozen=True, kw_only=True)
class DirectedE2(QLearning):
    """Directed-E², the baseline of the paper, and its hyper-parameters."""

    name = "directed-e2"
    label = "Directed-E²"
    colour = "#e69f00"  # orange, as in the paper
    microseconds = (0.5, 0.0055)
    figures = (4, 5, 6, 9, 10, 11)
    slow_verbs = ("update",)

    psi_init: float = 1.0
    """Ψ₀"""
    beta_bar: float = 0.01
    """β̄: explore while ln t / N(goal) is above it"""
    memory_limit: int = 2_000_000_000
    """bytes that Ψ may take; a problem that needs more is refused"""

    class State(NamedTuple):
        """All that the agent knows."""

        parameters: Any
        learner: Learner
        psi: FloatArray
        """[s, a, goal] Ψ(s,a | goal), goal = s·|A| + a"""
        psi_best: FloatArray
        """[s, goal] max_a Ψ(s,a | goal)"""

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        at_least_zero(self, "beta_bar", "memory_limit")

    @classmethod
    def paper_settings(cls, world: str, monitor: str, figure: int | None) -> dict[str, Any]:
        """Return α, and r₀ of the figures that state it."""
        r0 = {"r0": -10.0} if figure in (9, 10, 11) else {}
        return super().paper_settings(world, monitor, figure) | r0

    def check_model(self, model: MonMDP | None) -> None:
        """Refuse a problem whose Ψ is too large."""
        if model is not None:
            self.check_memory(model.shape)

    def memory(self, shape: Shape) -> int:
        """Return the bytes that Ψ takes, with its maxima."""
        n_se, n_sm, n_ae, n_am = shape
        n_states, n_actions = n_se * n_sm, n_ae * n_am
        return 8 * n_states * (n_actions + 1) * n_states * n_actions

    def check_memory(self, shape: Shape) -> None:
        """Refuse spaces for which Ψ is too large."""
        n_se, n_sm, n_ae, n_am = shape
        needed, pairs = self.memory(shape), n_se * n_sm * n_ae * n_am
        if needed > self.memory_limit:
            raise MonMDPError(
                f"agent 'directed-e2' learns Ψ from each of {pairs:,} joint pairs to each of them, "
                f"which takes {needed:,} bytes; memory_limit is {self.memory_limit:,} bytes for "
                "each seed that is trained at a time. Set it higher if there is room"
            )

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that has seen nothing yet."""
        self.check_memory(shape)
        learner = self.learner(shape)
        n_states, n_actions = learner.q.shape
        n_goals = n_states * n_actions
        try:
            psi = np.full((n_states, n_actions, n_goals), self.psi_init)
        except MemoryError:
            raise MonMDPError(
                f"there is no room for the {self.memory(shape):,} bytes that Ψ takes"
            ) from None
        psi_best = np.full((n_states, n_goals), self.psi_init)
        return {"learner": learner, "psi": psi, "psi_best": psi_best}

    def act(agent: Any, s: int, rng: np.random.Generator) -> int:
        """Go for the least visited pair, or exploit when it was visited often enough."""
        learner, n_actions = agent.learner, agent.psi.shape[1]
        goal = least_visited(learner.n)
        t = learner.steps[0] + 2  # it starts at 1 and grows before it is used
        n = learner.n[goal // n_actions, goal % n_actions]
        if n > 0 and math.log(t) / n <= agent.parameters.beta_bar:
            return greedy_action(learner.q, s, rng.random())
        if acts_at_random(agent, rng):
            return int(rng.random() * n_actions)
        towards = np.empty((1, n_actions))
        for a in range(n_actions):
            towards[0, a] = agent.psi[s, a, goal]
        return greedy_action(towards, 0, rng.random())

    def update(agent: Any, step: Step) -> None:
        """Count, learn Ψ for all goals, then r̂ and Q."""
        agent.learner.n[step.s, step.a] += 1
        _learn_psi(agent, step)
        learn(agent, step, step.monitor_reward)


@compilable
def least_visited(n: IntArray) -> int:
    """Return the pair s·|A| + a with the fewest visits, the first of equals."""
    least, pair = n[0, 0], 0
    for s in range(n.shape[0]):
        for a in range(n.shape[1]):
            if n[s, a] < least:
                least, pair = n[s, a], s * n.shape[1] + a
    return pair


@compilable
def _learn_psi(agent: Any, step: Any) -> None:
    """Ψ(s,a | goal) ← Ψ + α (target - Ψ) for every goal, and the maxima that change with it."""
    s, (n_actions, n_goals) = step.s, agent.psi.shape[1:]
    alpha, own = learning_rate(agent), s * n_actions + step.a
    go_on = 0.0 if step.terminated else agent.parameters.gamma
    of_pair, best, next_best = agent.psi[s, step.a], agent.psi_best[s], agent.psi_best[step.next_s]
    for goal in range(n_goals):
        before = of_pair[goal]
        target = 1.0 if goal == own else go_on * next_best[goal]
        after = before + alpha * (target - before)
        of_pair[goal] = after
        if after >= best[goal]:
            best[goal] = after
        elif before == best[goal]:  # it was the best and fell: look at all actions
            best[goal] = after
            for b in range(n_actions):
                best[goal] = max(best[goal], agent.psi[s, b, goal])
