"""An agent one step at a time, on any Gymnasium environment that speaks our contract.

The same kernels run here and in compiled training, on the same kind of random stream: with the same
seeds the trajectories, counts and action values are identical.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from monmdp.agents import verbs
from monmdp.agents.base import AgentConfig, Transition
from monmdp.compiling import compiled
from monmdp.envs.wrappers import sizes
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray
from monmdp.model.mdp import number, whole_number
from monmdp.model.monmdp import Shape


class Agent:
    """A learning agent: `begin_episode`, then `act` and `update` until the episode is over.

    >>> import gymnasium, monmdp
    >>> from monmdp.agents import Transition
    >>> env = gymnasium.make("monmdp/Loop-v0", monitor="ask")
    >>> agent = monmdp.agents.make("monitored-mbie-eb", env, seed=1)
    >>> observation, info = env.reset(seed=1)
    >>> observing = agent.begin_episode()
    >>> action = agent.act(observation)
    >>> following, reward, terminated, truncated, info = env.step(action)
    >>> agent.update(Transition.from_step(observation, action, following, terminated, info))
    >>> agent.test_policy().shape
    (9, 10)
    """

    def __init__(
        self,
        config: AgentConfig,
        environment: MonMDP | gymnasium.Env[Any, Any],
        *,
        seed: int = 0,
        r_min: float | None = None,
    ) -> None:
        """Make an agent that has seen nothing yet.

        Args:
            config: what kind of agent, with its hyper-parameters.
            environment: tells the sizes of the spaces. The model inside a `MonMDP`, or inside an
                environment of ours, reaches only agents that are meant to know the monitor.
            seed: of the agent's own random stream, which breaks ties.
            r_min: the least environment reward there can be; needed where the environment does
                not know it.
        """
        model, self.shape = model_and_shape(environment)
        if r_min is None:
            if model is None:
                raise MonMDPError(
                    "r_min=… is needed: the least environment reward there can be, which this "
                    "environment does not tell"
                )
            r_min = model.mdp.r_min
        self.config, self.r_min = config, number(r_min, "r_min")
        self.rng = np.random.default_rng(whole_number(seed, "seed", at_least=0, at_most=None))
        known = model if config.needs_model else None
        self.state: Any = config.state(self.shape, self.r_min, known)
        self._revealed = False

    def begin_episode(self) -> bool:
        """Plan the next episode; return whether it explores in order to observe."""
        return bool(self._run("begin_episode", _begin_episode)(self.state, self.rng))

    def _run(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a verb, compiled if it is one that takes long."""
        slow = name in self.config.slow_verbs
        return compiled(function, type(self.state)) if slow else function

    def act(self, observation: Mapping[str, int]) -> dict[str, int]:
        """Choose an action ``{"env": aᵉ, "mon": aᵐ}``."""
        s = self.shape.joint_state(observation)
        return self.shape.action(verbs.act(self.state, s, self.rng))

    def reveal(self, reward: float) -> None:
        """Tell an oracle rᵉ, shown or not, before `update`; no other agent may be told.

        Our environments give it with ``expose_env_reward=True``, as ``info["env_reward"]``.
        """
        if not self.config.sees_hidden_rewards:
            raise MonMDPError(f"agent {self.config.name!r} must not be told hidden rewards")
        verbs.reveal(self.state, number(reward, "reward"))
        self._revealed = True

    def update(self, transition: Transition) -> None:
        """Learn from one step."""
        if not isinstance(transition, Transition):
            raise MonMDPError(f"a Transition expected, got {transition!r}")
        if self.config.sees_hidden_rewards and not self._revealed:
            raise MonMDPError("an oracle must be told the true reward first: reveal(reward)")
        self._revealed = False
        s = self.shape.joint_state(transition.observation)
        a = self.shape.joint_action(transition.action)
        next_s = self.shape.joint_state(transition.next_observation)
        shown = transition.reward is not None
        self.state = self.config.with_room(self.state, s, a, next_s)
        reward = number(transition.reward, "reward") if shown else 0.0
        if shown and reward < self.r_min:
            raise MonMDPError(f"reward {reward:g} is below r_min = {self.r_min:g}")
        rm = number(transition.monitor_reward, "monitor_reward")
        ended = bool(transition.terminated)
        learn = self._run("update", _update)
        learn(self.state, s, a, shown, reward, rm, next_s, ended)

    def test_policy(self) -> FloatArray:
        """[s, a] the policy that would be used now if learning were over."""
        n_se, n_sm, n_ae, n_am = self.shape
        policy = np.zeros((n_se * n_sm, n_ae * n_am))
        verbs.test_policy(self.state, policy)
        return policy


# Verbs as functions that can be compiled on their own.


def _begin_episode(agent: Any, rng: Any) -> bool:
    return verbs.begin_episode(agent, rng)


def _update(
    agent: Any,
    s: int,
    a: int,
    shown: bool,
    reward: float,
    monitor_reward: float,
    next_s: int,
    terminated: bool,
) -> None:
    verbs.update(agent, s, a, shown, reward, monitor_reward, next_s, terminated)


def model_and_shape(environment: Any) -> tuple[MonMDP | None, Shape]:
    """Return the model, if there is one, and the sizes of the spaces."""
    if isinstance(environment, MonMDP):
        return environment, environment.shape
    if not isinstance(environment, gymnasium.Env):
        raise MonMDPError(f"a MonMDP or a Gymnasium environment expected, got {environment!r}")
    n_se, n_sm = sizes(environment.observation_space, "observations")
    n_ae, n_am = sizes(environment.action_space, "actions")
    model = getattr(environment.unwrapped, "monmdp", None)
    return (model if isinstance(model, MonMDP) else None), Shape(n_se, n_sm, n_ae, n_am)
