"""Other shapes of the same environment, for agents that want one number, a mask, or a dictionary.

They go around the environments of this package and around `monmdp.envs.AddMonitor` alike. Each
comes twice: for one environment, and for a vector of them, where every number is an array
``[copy]``.
"""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from monmdp.envs.monmdp_env import MonMDPEnv
from monmdp.envs.vector import MonMDPVectorEnv, checked_actions
from monmdp.errors import MonMDPError


def sizes(space: Any, what: str) -> tuple[int, int]:
    """Return the sizes of ``Dict(env=Discrete, mon=Discrete)``."""
    env, mon = _discrete_parts(space, what)
    if env.start != 0 or mon.start != 0:
        raise MonMDPError(f"{what}: Discrete spaces that start at 0 expected, got {space}")
    return int(env.n), int(mon.n)


def _discrete_parts(space: Any, what: str) -> tuple[spaces.Discrete, spaces.Discrete]:
    env, mon = parts_of(space)
    if not (isinstance(env, spaces.Discrete) and isinstance(mon, spaces.Discrete)):
        raise MonMDPError(f"{what}: Dict(env=Discrete, mon=Discrete) expected, got {space}")
    return env, mon


def parts_of(space: Any) -> tuple[Any, Any]:
    """Return the environment's and the monitor's space, None where there is none."""
    parts = space.spaces if isinstance(space, spaces.Dict) else {}
    return parts.get("env"), parts.get("mon")


class _View:
    """What a wrapper does to spaces, actions, observations and rewards: by default nothing.

    Resetting and stepping are the same around one environment and around a vector of them.
    """

    env: Any

    def _spaces(self, observations: Any, actions: Any) -> tuple[Any, Any]:
        """The new observation space and action space of one environment."""
        return observations, actions

    def _action(self, action: Any) -> Any:
        return action

    def _observation(self, observation: Any, _info: dict[str, Any]) -> Any:
        return observation

    def _reward(self, reward: Any, _info: dict[str, Any]) -> Any:
        return reward

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode; in every copy of a vector, or in those of ``reset_mask``."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observation(observation, info), info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Take an action, in every copy of a vector."""
        observation, reward, terminated, truncated, info = self.env.step(self._action(action))
        seen = self._observation(observation, info)
        return seen, self._reward(reward, info), terminated, truncated, info


class SingleView(_View, gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A view of one environment."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment."""
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        self.observation_space, self.action_space = self._spaces(
            env.observation_space, env.action_space
        )


class VectorView(_View, VectorWrapper[Any, Any, Any, Any, Any]):
    """A view of a vector environment."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap a vector environment, best a `MonMDPVectorEnv`."""
        if not isinstance(env, VectorEnv):
            raise MonMDPError(f"a vector environment expected, got {env!r}")
        VectorWrapper.__init__(self, env)
        if env.metadata.get("autoreset_mode") is AutoresetMode.SAME_STEP:
            raise MonMDPError(f"{env} resets in the same step; the mode NEXT_STEP is needed")
        self.single_observation_space, self.single_action_space = self._spaces(
            env.single_observation_space, env.single_action_space
        )
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)


class _JointView(_View):
    """Joint indices; the arithmetic takes numbers and arrays alike."""

    def _spaces(self, observations: Any, actions: Any) -> tuple[Any, Any]:
        ae, am = _discrete_parts(actions, "actions")
        self._n_am, self._first_ae = int(am.n), int(ae.start)
        self._n_actions = int(ae.n) * self._n_am
        se, sm = parts_of(observations)
        self._joins = (
            isinstance(se, spaces.Discrete)
            and isinstance(sm, spaces.Discrete)
            and set(observations.spaces) == {"env", "mon"}
        )
        if self._joins:
            self._n_sm, self._first_se = int(sm.n), int(se.start)
            observations = spaces.Discrete(int(se.n) * self._n_sm)
        return observations, spaces.Discrete(self._n_actions)

    def _action(self, action: Any) -> dict[str, Any]:
        ae, am = divmod(self._checked(action), self._n_am)
        return {"env": ae + self._first_ae, "mon": am}

    def _checked(self, action: Any) -> Any:
        raise NotImplementedError

    def _observation(self, observation: Any, _info: dict[str, Any]) -> Any:
        if not self._joins:
            return observation
        return (observation["env"] - self._first_se) * self._n_sm + observation["mon"]


class JointDiscrete(_JointView, SingleView):
    """One `Discrete` space each: s = sᵉ·|Sᵐ| + sᵐ and a = aᵉ·|Aᵐ| + aᵐ.

    Observations of another kind than ``Dict(env=Discrete, mon=Discrete)`` stay as they are: those
    of CartPole, say, or with a mask. Where a `Discrete` space starts elsewhere, sᵉ and aᵉ count
    from its start.

    >>> import gymnasium
    >>> from monmdp.envs import JointDiscrete
    >>> env = JointDiscrete(gymnasium.make("monmdp/Bottleneck-v0", monitor="ask"))
    >>> env.observation_space, env.action_space
    (Discrete(36), Discrete(10))
    """

    def _checked(self, action: Any) -> int:
        try:
            index = operator.index(action)
        except TypeError:
            raise MonMDPError(f"a joint action is one index, got {action!r}") from None
        if not 0 <= index < self._n_actions:
            raise MonMDPError(f"joint action {index}; there are {self._n_actions}, from 0")
        return index

    def _observation(self, observation: Any, info: dict[str, Any]) -> Any:
        joint = super()._observation(observation, info)
        return int(joint) if self._joins else joint


class VectorJointDiscrete(_JointView, VectorView):
    """`JointDiscrete` for a vector environment.

    >>> import gymnasium
    >>> from monmdp.envs import VectorJointDiscrete
    >>> envs = gymnasium.make_vec("monmdp/Bottleneck-v0", num_envs=1000, monitor="ask")
    >>> envs = VectorJointDiscrete(envs)
    >>> states, infos = envs.reset(seed=0)
    >>> states.shape, envs.single_action_space
    ((1000,), Discrete(10))
    """

    def _checked(self, action: Any) -> Any:
        return checked_actions(action, self.num_envs, self._n_actions, "joint actions")


class _MultiDiscreteView(_View):
    """Actions ``[aᵉ, aᵐ]``, or ``[aᵉ₁, …, aᵉₖ, aᵐ]``."""

    def _spaces(self, observations: Any, actions: Any) -> tuple[Any, Any]:
        ae, am = parts_of(actions)
        self._several = isinstance(ae, spaces.MultiDiscrete) and ae.nvec.ndim == 1
        if not isinstance(am, spaces.Discrete) or not (
            self._several or isinstance(ae, spaces.Discrete)
        ):
            raise MonMDPError(
                "actions: Dict(env=Discrete or one-dimensional MultiDiscrete, mon=Discrete) "
                f"expected, got {actions}"
            )
        n_ae = ae.nvec.tolist() if self._several else [int(ae.n)]
        first = ae.start.tolist() if self._several else [int(ae.start)]
        self._n_parts = len(n_ae) + 1
        return observations, spaces.MultiDiscrete([*n_ae, int(am.n)], start=[*first, 0])


class MultiDiscreteAction(_MultiDiscreteView, SingleView):
    """Actions as ``MultiDiscrete([|Aᵉ|, |Aᵐ|])``; several environment actions stay several.

    >>> import gymnasium
    >>> from monmdp.envs import MultiDiscreteAction
    >>> MultiDiscreteAction(gymnasium.make("monmdp/Bottleneck-v0", monitor="ask")).action_space
    MultiDiscrete([5 2])
    """

    def _action(self, action: Any) -> dict[str, Any]:
        try:
            *ae, am = (operator.index(part) for part in action)
        except (TypeError, ValueError):
            ae, am = [], -1
        if len(ae) != self._n_parts - 1:
            raise MonMDPError(f"an action is [aᵉ, aᵐ], got {action!r}")
        return {"env": np.array(ae) if self._several else ae[0], "mon": am}


class VectorMultiDiscreteAction(_MultiDiscreteView, VectorView):
    """`MultiDiscreteAction` for a vector environment."""

    def _action(self, action: Any) -> dict[str, Any]:
        rows = np.asarray(action)
        if rows.shape != (self.num_envs, self._n_parts) or rows.dtype.kind not in "iu":
            raise MonMDPError(
                f"actions are whole numbers [copy, part] of shape {(self.num_envs, self._n_parts)},"
                f" got {rows.dtype} of shape {rows.shape}"
            )
        return {"env": rows[:, :-1] if self._several else rows[:, 0], "mon": rows[:, -1]}


class _MaskView(_View):
    """The observation with the flag and the proxy reward."""

    def _spaces(self, observations: Any, actions: Any) -> tuple[Any, Any]:
        if not isinstance(observations, spaces.Dict):
            raise MonMDPError(
                f"observations: a Dict expected, got {observations}; the mask goes directly around "
                "the monitor, JointDiscrete and FlattenObservation around the mask"
            )
        taken = {"reward_observed", "proxy_reward"} & set(observations.spaces)
        if taken:
            raise MonMDPError(f"observations have {', '.join(sorted(taken))} already")
        low, high, base = -np.inf, np.inf, self.env.unwrapped
        if isinstance(base, MonMDPEnv | MonMDPVectorEnv):
            mdp = base.monmdp.mdp
            low, high = min(mdp.r_min, base.fill), max(mdp.r_max, base.fill)
        extra = {
            "reward_observed": spaces.Discrete(2),
            "proxy_reward": spaces.Box(low, high, (1,), np.float32),
        }
        return spaces.Dict({**observations.spaces, **extra}), actions


class ObserveRewardMask(_MaskView, SingleView):
    """Adds to the observation whether the last reward was shown, and the proxy reward.

    A deep agent can then tell a reward of zero from one it did not see. The observation becomes
    ``Dict`` with ``reward_observed`` (`Discrete(2)`) and ``proxy_reward`` (`Box` of one number)
    beside what was there.

    >>> import gymnasium
    >>> from monmdp.envs import ObserveRewardMask
    >>> env = ObserveRewardMask(gymnasium.make("monmdp/Bottleneck-v0", monitor="ask"))
    >>> sorted(env.observation_space.spaces)
    ['env', 'mon', 'proxy_reward', 'reward_observed']
    """

    def _observation(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        proxy = info.get("proxy_reward")
        if proxy is None:
            has_one = self.env.has_wrapper_attr("fill")
            proxy = self.env.get_wrapper_attr("fill") if has_one else 0.0
        shown = int(info.get("reward_observed", False))
        proxy = np.array([proxy], dtype=np.float32)
        return {**observation, "reward_observed": shown, "proxy_reward": proxy}


class VectorObserveRewardMask(_MaskView, VectorView):
    """`ObserveRewardMask` for a vector environment; copies that are not reset keep their mask."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap a vector environment whose observations are a ``Dict``."""
        super().__init__(env)
        fill = getattr(env.unwrapped, "fill", 0.0)
        self._shown = np.zeros(self.num_envs, dtype=np.int64)
        self._proxy = np.full((self.num_envs, 1), fill, dtype=np.float32)

    def _observation(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        if "reward_observed" in info:
            told = info["_reward_observed"]
            self._shown = np.where(told, info["reward_observed"], self._shown)
            proxy = info["proxy_reward"].astype(np.float32)
            self._proxy = np.where(told, proxy, self._proxy[:, 0])[:, None]
        mask = {"reward_observed": self._shown.copy(), "proxy_reward": self._proxy.copy()}
        return {**observation, **mask}


class RewardDict(SingleView):
    """Returns the reward as the code of the earlier papers on Mon-MDPs does, for old programs.

    ``reward`` becomes ``{"env": rᵉ, "mon": rᵐ, "proxy": rᵉ or NaN}``. The true rᵉ is there only if
    the environment was made with ``expose_env_reward=True``; it is NaN otherwise. Gymnasium does
    not accept a dictionary as a reward: its checkers and statistics cannot go around this wrapper.

    >>> import gymnasium
    >>> from monmdp.envs import RewardDict
    >>> env = RewardDict(gymnasium.make("monmdp/Empty-v0", monitor="ask", expose_env_reward=True))
    >>> _ = env.reset(seed=0)
    >>> env.step({"env": 1, "mon": 0})[1]
    {'env': 0.0, 'mon': 0.0, 'proxy': nan}
    """

    def _reward(self, _reward: Any, info: dict[str, Any]) -> dict[str, float]:
        return {
            "env": info.get("env_reward", np.nan),
            "mon": told_monitor_reward(self.env, info),
            "proxy": info["proxy_reward"] if info["reward_observed"] else np.nan,
        }


class VectorRewardDict(VectorView):
    """`RewardDict` for a vector environment; in the step that resets a copy its rᵉ are NaN."""

    def _reward(self, _reward: Any, info: dict[str, Any]) -> dict[str, Any]:
        known = info.get("_env_reward", np.zeros(self.num_envs, dtype=np.bool_))
        return {
            "env": np.where(known, info.get("env_reward", np.nan), np.nan),
            "mon": told_monitor_reward(self.env, info),
            "proxy": np.where(info["reward_observed"], info["proxy_reward"], np.nan),
        }


def told_monitor_reward(env: Any, info: dict[str, Any]) -> Any:
    """Return rᵐ as `info` tells it, or say that there is no monitor."""
    if "monitor_reward" not in info:
        raise MonMDPError(f"{env} does not say what was shown: it has no monitor")
    return info["monitor_reward"]
