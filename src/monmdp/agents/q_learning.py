"""Q-learning on rewards that are sometimes hidden: what Directed-E² and its predecessors share.

They learn r̂(sᵉ,aᵉ), the running mean of the shown rewards from an initial value r₀, and

    Q(s,a) ← Q(s,a) + α (r̂(sᵉ,aᵉ) + rᵐ + γ max Q(s′,·) - Q(s,a)),

without the future where the episode ended. Instead of r̂ a learner may use the shown reward alone
and treat ⊥ in another way: not learn from such a step, put a constant, or, as an upper reference,
be told the hidden reward.

α and the chance ε of a random action change linearly over training: before the step i = 0, 1, … of
T they are x + (x_end - x) i/T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from monmdp.agents.contract import AgentConfig
from monmdp.agents.greedy import greedy_policy
from monmdp.compiling import compilable
from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import probability, whole_number
from monmdp.model.monmdp import Shape

Bottom = Literal["reward-model", "ignore", "constant", "oracle"]
REWARD_MODEL, IGNORE, CONSTANT, ORACLE = range(4)
"""the same in compiled code"""
R0 = 0.1
"""r₀ is drawn from [-R0, R0] unless it is given"""


class Learner(NamedTuple):
    """What all of them know."""

    steps: IntArray
    """[1] i, the steps done so far"""
    n: IntArray
    """[s, a] N(s,a)"""
    n_env: IntArray
    """[sᵉ, aᵉ] visits whose reward was shown"""
    reward_model: FloatArray
    """[sᵉ, aᵉ] r̂"""
    hidden_reward: FloatArray
    """[1] rᵉ of the running step, for an oracle; nobody else is told"""
    q: FloatArray
    """[s, a] Q"""


@dataclass(frozen=True, kw_only=True)
class QLearning(AgentConfig):
    """Hyper-parameters that all of them have."""

    snapshot_fields: ClassVar[tuple[str, ...]] = ("n", "n_env", "reward_model", "q")

    q_init: float = -10.0
    """Q₀"""
    alpha: float = 1.0
    """α, the learning rate"""
    alpha_end: float | None = None
    """what α falls to over training; none: it stays"""
    epsilon: float = 1.0
    """ε, the chance of a random action where the agent explores"""
    epsilon_end: float = 0.0
    """what ε falls to over training"""
    r0: float | None = None
    """r₀, what r̂ starts from; none: drawn from U[-0.1, 0.1] for each pair"""
    bottom: Bottom = "reward-model"
    """what Q learns from where the reward is ⊥: r̂ (and only r̂), nothing (ignore), a constant, or
    the hidden reward itself (oracle: an upper reference, no fair agent)"""
    constant: float | None = None
    """the reward that stands for ⊥ when bottom=constant"""
    anneal_steps: int | None = None
    """T, the steps over which α and ε change; none: as long as the training is"""

    @property
    def sees_hidden_rewards(self) -> bool:
        """Whether it is handed rewards that were not shown."""
        return self.bottom == "oracle"

    def check(self) -> None:
        """Refuse what is out of range, and what would not be used."""
        for name in ("alpha", "alpha_end", "epsilon", "epsilon_end"):
            if getattr(self, name) is not None:
                probability(getattr(self, name), name)
        if self.bottom == "constant" and self.constant is None:
            raise MonMDPError("bottom=constant needs constant=…, the reward that stands for ⊥")
        if self.bottom != "constant" and self.constant is not None:
            raise MonMDPError("constant=… goes with bottom=constant")
        if self.bottom != "reward-model" and self.r0 is not None:
            raise MonMDPError("r0=… goes with bottom=reward-model: nothing else uses r̂")
        if self.anneal_steps is not None:
            whole_number(self.anneal_steps, "anneal_steps", at_least=1)

    def for_training(self, steps: int) -> Self:
        """Let α and ε change over the whole training."""
        return self if self.anneal_steps is not None else replace(self, anneal_steps=steps)

    @classmethod
    def paper_settings(cls, world: str, monitor: str, figure: int | None) -> dict[str, Any]:
        """Return α, and what it falls to."""
        if world == "river-swim":
            return {"alpha": 0.5, "alpha_end": 0.05}
        alpha = {"alpha": 0.5 if world in ("hazard", "two-room-3x5") else 1.0}
        return alpha | ({"alpha_end": 0.1} if monitor in ("n-supporters", "n-experts") else {})

    def learner(self, shape: Shape) -> Learner:
        """Return a learner that has seen nothing yet."""
        n_se, n_sm, n_ae, n_am = shape
        joint, env = (n_se * n_sm, n_ae * n_am), (n_se, n_ae)
        alpha_end = self.alpha if self.alpha_end is None else self.alpha_end
        changes = (self.alpha, self.epsilon) != (alpha_end, self.epsilon_end)
        if changes and self.anneal_steps is None:
            raise MonMDPError(
                f"agent {self.name!r} needs anneal_steps=…: over how many steps its learning "
                "rate and its random actions change (`train` sets it to the steps it trains)"
            )
        return Learner(
            steps=np.zeros(1, dtype=np.int64),
            n=np.zeros(joint, dtype=np.int64),
            n_env=np.zeros(env, dtype=np.int64),
            reward_model=np.full(env, 0.0 if self.r0 is None else self.r0),
            hidden_reward=np.full(1, math.nan),
            q=np.full(joint, self.q_init),
        )

    def begin_episode(agent: Any, rng: np.random.Generator) -> bool:
        """Draw r₀ before the first episode, if it is random; no episode is there to observe."""
        model = agent.learner.reward_model
        if math.isnan(agent.parameters.r0) and agent.learner.steps[0] == 0:
            for se in range(model.shape[0]):
                for ae in range(model.shape[1]):
                    model[se, ae] = R0 * (2.0 * rng.random() - 1.0)
        return False

    def test_policy(agent: Any, policy: FloatArray) -> None:
        """Greedy on Q."""
        greedy_policy(agent.learner.q, policy)

    def reveal(agent: Any, reward: float) -> None:
        """Take in a reward whether or not it was shown: an oracle's privilege."""
        agent.learner.hidden_reward[0] = reward


@compilable
def acts_at_random(agent: Any, rng: np.random.Generator) -> Any:
    """Return whether this step takes a random action: true with chance ε."""
    p = agent.parameters
    return rng.random() < _annealed(agent, p.epsilon, p.epsilon_end)


@compilable
def learning_rate(agent: Any) -> Any:
    """Return α of this step."""
    p = agent.parameters
    return _annealed(agent, p.alpha, p.alpha if math.isnan(p.alpha_end) else p.alpha_end)


@compilable
def _annealed(agent: Any, start: float, end: float) -> Any:
    """Return what a value has come to on its way from start to end."""
    steps = agent.parameters.anneal_steps
    if steps == 0:
        return start  # nothing changes
    done = min(1.0, agent.learner.steps[0] / steps)
    return start + (end - start) * done


@compilable
def learn(agent: Any, step: Any, reward_beside: float) -> None:
    """Learn r̂, then Q; `reward_beside` is what there is beside rᵉ: the monitor's reward, a bonus.

    This ends the step.
    """
    p, learner, s, a = agent.parameters, agent.learner, step.s, step.a
    q, model = learner.q, learner.reward_model
    n_sm, n_am = q.shape[0] // model.shape[0], q.shape[1] // model.shape[1]
    se, ae, reward = s // n_sm, a // n_am, step.reward
    if step.shown:
        learner.n_env[se, ae] += 1
        if learner.n_env[se, ae] == 1:
            model[se, ae] = reward
        else:
            model[se, ae] += (reward - model[se, ae]) / learner.n_env[se, ae]
    if p.bottom == REWARD_MODEL:
        reward = model[se, ae]
    elif p.bottom == CONSTANT and not step.shown:
        reward = p.constant
    elif p.bottom == ORACLE:
        reward = learner.hidden_reward[0]
    if step.shown or p.bottom != IGNORE:
        target = reward + reward_beside
        if not step.terminated:
            best = q[step.next_s, 0]
            for b in range(1, q.shape[1]):
                best = max(best, q[step.next_s, b])
            target += p.gamma * best
        q[s, a] += learning_rate(agent) * (target - q[s, a])
    learner.steps[0] += 1
