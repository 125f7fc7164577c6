"""Other shapes of the same environment, for agents that want one number, a mask, or a dictionary.

They go around the environments of this package and around `monmdp.envs.AddMonitor` alike.
"""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from monmdp.envs.monmdp_env import MonMDPEnv
from monmdp.errors import MonMDPError


def sizes(space: Any, what: str) -> tuple[int, int]:
    """Sizes of ``Dict(env=Discrete, mon=Discrete)``."""
    env, mon = _parts(space)
    if not (isinstance(env, spaces.Discrete) and isinstance(mon, spaces.Discrete)):
        raise MonMDPError(f"{what}: Dict(env=Discrete, mon=Discrete) expected, got {space}")
    if env.start != 0 or mon.start != 0:
        raise MonMDPError(f"{what}: Discrete spaces that start at 0 expected, got {space}")
    return int(env.n), int(mon.n)


def _parts(space: Any) -> tuple[Any, Any]:
    """The environment's and the monitor's space, if there are any."""
    parts = space.spaces if isinstance(space, spaces.Dict) else {}
    return parts.get("env"), parts.get("mon")


def _fill(env: gymnasium.Env[Any, Any]) -> float:
    """What the environment puts in the place of a hidden reward."""
    return float(env.get_wrapper_attr("fill")) if env.has_wrapper_attr("fill") else 0.0


def _proxy_bounds(env: gymnasium.Env[Any, Any]) -> tuple[float, float]:
    """Bounds of the proxy reward, where the environment knows them."""
    base: Any = env.unwrapped
    if not isinstance(base, MonMDPEnv):
        return -np.inf, np.inf
    mdp = base.monmdp.mdp
    return min(mdp.r_min, base.fill), max(mdp.r_max, base.fill)


class JointDiscrete(gymnasium.Wrapper[Any, int, Any, Any], RecordConstructorArgs):
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

    env: gymnasium.Env[Any, Any]  # gymnasium gives it the wrapper's own observations and actions

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment with ``Dict(env=Discrete, mon=Discrete)`` actions."""
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        ae, am = _parts(env.action_space)
        if not (isinstance(ae, spaces.Discrete) and isinstance(am, spaces.Discrete)):
            raise MonMDPError(
                f"actions: Dict(env=Discrete, mon=Discrete) expected, got {env.action_space}"
            )
        self._n_am, self._first_ae = int(am.n), int(ae.start)
        self._n = int(ae.n) * self._n_am
        self.action_space = spaces.Discrete(self._n)  # type: ignore[assignment]
        se, sm = _parts(env.observation_space)
        self._joins = (
            isinstance(se, spaces.Discrete)
            and isinstance(sm, spaces.Discrete)
            and set(env.observation_space.spaces) == {"env", "mon"}  # type: ignore[attr-defined]
        )
        if self._joins:
            self._n_sm, self._first_se = int(sm.n), int(se.start)
            self.observation_space = spaces.Discrete(int(se.n) * self._n_sm)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._joint(observation), info

    def step(self, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take the joint action with this index."""
        try:
            index = operator.index(action)
        except TypeError:
            raise MonMDPError(f"a joint action is one index, got {action!r}") from None
        if not 0 <= index < self._n:
            raise MonMDPError(f"joint action {index}; there are {self._n}, from 0")
        ae, am = divmod(index, self._n_am)
        joint = {"env": ae + self._first_ae, "mon": am}
        observation, reward, terminated, truncated, info = self.env.step(joint)
        return self._joint(observation), reward, terminated, truncated, info

    def _joint(self, observation: Any) -> Any:
        if not self._joins:
            return observation
        se, sm = int(observation["env"]), int(observation["mon"])
        return (se - self._first_se) * self._n_sm + sm


class MultiDiscreteAction(gymnasium.ActionWrapper[Any, Any, Any], RecordConstructorArgs):
    """Actions as ``MultiDiscrete([|Aᵉ|, |Aᵐ|])``; several environment actions stay several.

    >>> import gymnasium
    >>> from monmdp.envs import MultiDiscreteAction
    >>> MultiDiscreteAction(gymnasium.make("monmdp/Bottleneck-v0", monitor="ask")).action_space
    MultiDiscrete([5 2])
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment with Dict actions, ``env`` `Discrete` or `MultiDiscrete`."""
        RecordConstructorArgs.__init__(self)
        gymnasium.ActionWrapper.__init__(self, env)
        ae, am = _parts(env.action_space)
        self._several = isinstance(ae, spaces.MultiDiscrete) and ae.nvec.ndim == 1
        if not isinstance(am, spaces.Discrete) or not (
            self._several or isinstance(ae, spaces.Discrete)
        ):
            raise MonMDPError(
                "actions: Dict(env=Discrete or MultiDiscrete in a row, mon=Discrete) expected, "
                f"got {env.action_space}"
            )
        n_ae = ae.nvec.tolist() if self._several else [int(ae.n)]
        first = ae.start.tolist() if self._several else [int(ae.start)]
        self.action_space = spaces.MultiDiscrete([*n_ae, int(am.n)], start=[*first, 0])

    def action(self, action: Any) -> dict[str, Any]:
        """Turn ``[aᵉ, aᵐ]`` into the dictionary the environment takes."""
        try:
            *ae, am = (operator.index(part) for part in action)
        except (TypeError, ValueError):
            ae, am = [], -1
        if len(ae) != len(self.action_space.nvec) - 1:  # type: ignore[attr-defined]
            raise MonMDPError(f"an action is [aᵉ, aᵐ], got {action!r}")
        return {"env": np.array(ae) if self._several else ae[0], "mon": am}


class ObserveRewardMask(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds to the observation whether the last reward was shown, and the proxy reward.

    A deep agent then can tell a reward of zero from one it did not see. The observation becomes
    ``Dict`` with ``reward_observed`` (`Discrete(2)`) and ``proxy_reward`` (`Box` of one number)
    beside what was there.

    >>> import gymnasium
    >>> from monmdp.envs import ObserveRewardMask
    >>> env = ObserveRewardMask(gymnasium.make("monmdp/Bottleneck-v0", monitor="ask"))
    >>> sorted(env.observation_space.spaces)
    ['env', 'mon', 'proxy_reward', 'reward_observed']
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment whose observations are a ``Dict``."""
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        if not isinstance(env.observation_space, spaces.Dict):
            raise MonMDPError(
                f"observations: a Dict expected, got {env.observation_space}; the mask goes "
                "directly around the monitor, JointDiscrete and FlattenObservation around the mask"
            )
        taken = {"reward_observed", "proxy_reward"} & set(env.observation_space.spaces)
        if taken:
            raise MonMDPError(f"observations have {', '.join(sorted(taken))} already")
        low, high = _proxy_bounds(env)
        self.observation_space = spaces.Dict(
            {
                **env.observation_space.spaces,
                "reward_observed": spaces.Discrete(2),
                "proxy_reward": spaces.Box(low, high, (1,), np.float32),
            }
        )
        self._fill = _fill(env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode; nothing has been shown yet."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._masked(observation, info), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Take an action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._masked(observation, info), reward, terminated, truncated, info

    def _masked(self, observation: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
        proxy = np.array([info.get("proxy_reward", self._fill)], dtype=np.float32)
        shown = int(info.get("reward_observed", False))
        return {**observation, "reward_observed": shown, "proxy_reward": proxy}


class RewardDict(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Returns the reward as the code of the earlier papers on Mon-MDPs does, for old programs.

    ``reward`` becomes ``{"env": rᵉ, "mon": rᵐ, "proxy": rᵉ or NaN}``. The true rᵉ is there only if
    the environment was made with ``expose_env_reward=True``; it is NaN otherwise. A dictionary is
    no reward for Gymnasium: its checkers, statistics and vector environments do not take one.

    >>> import gymnasium
    >>> from monmdp.envs import RewardDict
    >>> env = RewardDict(gymnasium.make("monmdp/Empty-v0", monitor="ask", expose_env_reward=True))
    >>> _ = env.reset(seed=0)
    >>> env.step({"env": 1, "mon": 0})[1]
    {'env': 0.0, 'mon': 0.0, 'proxy': nan}
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment that says in its info what was shown."""
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take an action."""
        observation, _, terminated, truncated, info = self.env.step(action)
        if "monitor_reward" not in info:
            raise MonMDPError(f"{self.env} does not say what was shown: it has no monitor")
        reward = {
            "env": info.get("env_reward", np.nan),
            "mon": info["monitor_reward"],
            "proxy": info["proxy_reward"] if info["reward_observed"] else np.nan,
        }
        return observation, reward, terminated, truncated, info
