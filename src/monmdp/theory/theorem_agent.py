"""The agent that the theorem is about, and how often it is not ε-optimal."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from monmdp.agents import Agent, MonitoredMBIEEB, Transition
from monmdp.agents.greedy import greedy_policy
from monmdp.envs import MonMDPEnv
from monmdp.errors import MonMDPError
from monmdp.experiment import streams
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray
from monmdp.model.mdp import number, whole_number
from monmdp.planning import evaluate, solve, worst_case
from monmdp.theory.constants import Bounds


def theorem_agent(bounds: Bounds) -> MonitoredMBIEEB:
    """Return Monitored MBIE-EB as the theorem has it: κ* constant, g ≡ 1, models solved exactly.

    Exactly means: with n sweeps of value iteration, γⁿ below the precision of floating point.

    >>> from monmdp import make, theory
    >>> found = theory.bounds(make("treasure-hunter", "ask"), epsilon=4, delta=0.1, gamma=0.1)
    >>> theory.theorem_agent(found).kappa_star
    2510.0
    """
    if not isinstance(bounds, Bounds):
        raise MonMDPError(f"Bounds expected, from theory.bounds; got {bounds!r}")
    exact = math.log(sys.float_info.epsilon) / math.log(bounds.gamma) if bounds.gamma > 0 else 1
    names = "gamma q_opt_init q_obs_init beta beta_m beta_e beta_obs beta_kl"
    return MonitoredMBIEEB(
        **{name: getattr(bounds, name) for name in names.split()},
        growth="none",
        schedule="constant",
        kappa_star=float(bounds.kappa_star),
        sweeps=math.ceil(exact),
    )


@dataclass(frozen=True)
class BadSteps:
    """Steps on which the running policy was not ε-optimal in M↓, by the kind of episode."""

    observe_steps: int
    observe_bad: int
    optimize_steps: int
    optimize_bad: int
    last: int | None
    """the last bad step; None if there was none"""

    @property
    def bad(self) -> int:
        """All of them."""
        return self.observe_bad + self.optimize_bad


def count_bad_steps(
    monmdp: MonMDP, agent: MonitoredMBIEEB, epsilon: float, steps: int, seed: int = 0
) -> BadSteps:
    """Train, and count the steps t with V_↓^π(S_t) < V*_↓(S_t) - ε.

    π is the policy of the running episode: greedy on Q_obs while it observes, on Q_opt while it
    optimizes.
    """
    if not isinstance(agent, MonitoredMBIEEB):
        raise MonMDPError(f"Monitored MBIE-EB expected, got {agent!r}")
    steps = whole_number(steps, "steps", at_least=1)
    epsilon = number(epsilon, "epsilon")
    roles, env = streams(monmdp, seed), MonMDPEnv(monmdp)
    learner = Agent(agent, monmdp, seed=roles.agent)
    worst = worst_case(monmdp)
    least = solve(monmdp, agent.gamma).minimax.values - epsilon
    policy = np.zeros((monmdp.n_states, monmdp.n_actions))
    known: dict[bytes, BoolArray] = {}
    count = np.zeros((2, 2), dtype=np.int64)  # [observes, steps or those that are bad]
    last, over, observes, is_bad = None, True, False, np.zeros(monmdp.n_states, dtype=np.bool_)
    observation, _ = env.reset(seed=roles.environment)
    for t in range(steps):
        if over:
            if t > 0:
                observation, _ = env.reset()
            observes = learner.begin_episode()
            greedy_policy(learner.state.q_obs if observes else learner.state.q_opt, policy)
            key = policy.tobytes()
            if key not in known:
                known[key] = evaluate(worst, policy, agent.gamma).values < least
            is_bad = known[key]
        bad = bool(is_bad[learner.shape.joint_state(observation)])
        count[int(observes)] += 1, bad
        last = t if bad else last
        action = learner.act(observation)
        following, _, terminated, truncated, info = env.step(action)
        learner.update(Transition.from_step(observation, action, following, terminated, info))
        observation, over = following, terminated or truncated
    (optimizing, optimizing_bad), (observing, observing_bad) = count.tolist()
    return BadSteps(observing, observing_bad, optimizing, optimizing_bad, last)
