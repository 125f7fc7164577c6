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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from monmdp.agents import layers
from monmdp.agents.base import AgentConfig
from monmdp.agents.greedy import greedy_policy
from monmdp.agents.verbs import test_policy
from monmdp.compiling import compilable, implement
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import probability, whole_number
from monmdp.model.monmdp import Shape

Bottom = Literal["reward-model", "ignore", "constant", "oracle"]

REWARD_MODEL, IGNORE, CONSTANT, ORACLE = range(4)
BOTTOM = {"reward-model": REWARD_MODEL, "ignore": IGNORE, "constant": CONSTANT, "oracle": ORACLE}
"""what compiled code sees of a treatment of ⊥"""
R0 = 0.1
"""r₀ is drawn from [-R0, R0] unless it is given"""


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

    @property
    def takes_unseen_for(self) -> str:
        """What a reward that was tried and never shown counts as, in words."""
        return {
            "reward-model": "what its reward model began with",
            "ignore": "nothing, it does not learn from it",
            "constant": f"the constant {self.constant}",
            "oracle": "the true reward, which it is told",
        }[self.bottom]

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

    def snapshot(self, state: Any) -> dict[str, Any]:
        """Return copies of what it has learnt, of its own or as any learner, and its policy."""
        policy = np.zeros(state.learner.q.shape)
        test_policy(state, policy)
        kept = {
            name: getattr(state if hasattr(state, name) else state.learner, name).copy()
            for name in self.snapshot_fields
        }
        return kept | {"policy": policy}

    def layers(self, snapshot: Mapping[str, Any], monmdp: MonMDP) -> layers.Layers:
        """Return what one snapshot says of the cells of a map."""
        shape = monmdp.shape
        n = layers.by_parts(snapshot["n"], shape)
        found = layers.counted(n, layers.everywhere(snapshot["n_env"], shape)) | layers.best(
            snapshot, ("q",), shape
        )
        if self.bottom == "reward-model":  # nothing else uses r̂
            found["reward_model"] = layers.everywhere(snapshot["reward_model"], shape)
        bonus = self.bonus(snapshot)
        if bonus is not None:
            found["bonus"] = layers.largest(layers.by_parts(bonus, shape))
        return found | layers.followed(snapshot, shape)

    def bonus(self, snapshot: Mapping[str, Any]) -> FloatArray | None:
        """[s, a] what it adds for exploring, infinite where untried; None if it adds nothing."""
        del snapshot
        return None

    def learner(self, shape: Shape) -> Learner:
        """Return a learner that has seen nothing yet."""
        n_se, n_sm, n_ae, n_am = shape
        joint, env = (n_se * n_sm, n_ae * n_am), (n_se, n_ae)
        alpha_end = self.alpha if self.alpha_end is None else self.alpha_end
        steps = self.anneal_steps
        if steps is None:
            if (self.alpha, self.epsilon) != (alpha_end, self.epsilon_end):
                raise MonMDPError(
                    f"agent {self.name!r} needs anneal_steps=…: over how many steps its learning "
                    "rate and its random actions change (`train` sets it to the steps it trains)"
                )
            steps = 1
        return Learner(
            parameters=Parameters(
                gamma=self.gamma,
                alpha=self.alpha,
                alpha_end=alpha_end,
                epsilon=self.epsilon,
                epsilon_end=self.epsilon_end,
                anneal_steps=steps,
                random_r0=self.r0 is None,
                bottom=BOTTOM[self.bottom],
                constant=0.0 if self.constant is None else self.constant,
            ),
            steps=np.zeros(1, dtype=np.int64),
            n=np.zeros(joint, dtype=np.int64),
            n_env=np.zeros(env, dtype=np.int64),
            reward_model=np.full(env, 0.0 if self.r0 is None else self.r0),
            hidden_reward=np.full(1, math.nan),
            q=np.full(joint, self.q_init),
        )


class Parameters(NamedTuple):
    """The hyper-parameters as compiled code reads them."""

    gamma: float
    alpha: float
    alpha_end: float
    epsilon: float
    epsilon_end: float
    anneal_steps: int
    random_r0: bool
    bottom: int
    constant: float


class Learner(NamedTuple):
    """What all of them know."""

    parameters: Parameters
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


def implement_learner(state: type, oracle: type, **verbs: Callable[..., Any]) -> None:
    """Give an agent's state, and its oracle's, what all learners share and the verbs of its own."""
    for kind in (state, oracle):
        implement(kind, begin_episode=_begin_episode, test_policy=_test_policy, **verbs)
    implement(oracle, reveal=_reveal)


def _begin_episode(agent: Any, rng: np.random.Generator) -> bool:
    """Draw r₀ before the first episode, if it is random; no episode is there to observe."""
    learner = agent.learner
    if learner.parameters.random_r0 and learner.steps[0] == 0:
        for se in range(learner.reward_model.shape[0]):
            for ae in range(learner.reward_model.shape[1]):
                learner.reward_model[se, ae] = R0 * (2.0 * rng.random() - 1.0)
    return False


@compilable
def annealed(start: float, end: float, learner: Any) -> Any:
    """Return what a value has come to on its way from start to end."""
    done = min(1.0, learner.steps[0] / learner.parameters.anneal_steps)
    return start + (end - start) * done


@compilable
def acts_at_random(learner: Any, rng: np.random.Generator) -> Any:
    """Return whether this step takes a random action: true with chance ε."""
    p = learner.parameters
    return rng.random() < annealed(p.epsilon, p.epsilon_end, learner)


@compilable
def learning_rate(learner: Any) -> Any:
    """Return α of this step."""
    p = learner.parameters
    return annealed(p.alpha, p.alpha_end, learner)


@compilable
def learn(
    learner: Any,
    s: int,
    a: int,
    shown: bool,
    reward: float,
    reward_beside: float,
    next_s: int,
    terminated: bool,
) -> None:
    """Learn r̂, then Q; `reward_beside` is what there is beside rᵉ: the monitor's reward, a bonus.

    This ends the step.
    """
    p, q, model = learner.parameters, learner.q, learner.reward_model
    n_sm, n_am = q.shape[0] // model.shape[0], q.shape[1] // model.shape[1]
    se, ae = s // n_sm, a // n_am
    if shown:
        learner.n_env[se, ae] += 1
        if learner.n_env[se, ae] == 1:
            model[se, ae] = reward
        else:
            model[se, ae] += (reward - model[se, ae]) / learner.n_env[se, ae]
    if p.bottom == REWARD_MODEL:
        reward = model[se, ae]
    elif p.bottom == CONSTANT and not shown:
        reward = p.constant
    elif p.bottom == ORACLE:
        reward = learner.hidden_reward[0]
    if shown or p.bottom != IGNORE:
        target = reward + reward_beside
        if not terminated:
            best = q[next_s, 0]
            for b in range(1, q.shape[1]):
                best = max(best, q[next_s, b])
            target += p.gamma * best
        q[s, a] += learning_rate(learner) * (target - q[s, a])
    learner.steps[0] += 1


def _test_policy(agent: Any, policy: FloatArray) -> None:
    """Greedy on Q."""
    greedy_policy(agent.learner.q, policy)


def _reveal(agent: Any, reward: float) -> None:
    """Take in a reward whether or not it was shown: an oracle's privilege."""
    agent.learner.hidden_reward[0] = reward
