"""Other shapes of the same environment, for agents that want one number or a mask."""

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
    parts = getattr(space, "spaces", {})
    env, mon = (parts.get(key) if isinstance(parts, dict) else None for key in ("env", "mon"))
    if not (isinstance(env, spaces.Discrete) and isinstance(mon, spaces.Discrete)):
        raise MonMDPError(f"{what}: Dict(env=Discrete, mon=Discrete) expected, got {space}")
    if env.start != 0 or mon.start != 0:
        raise MonMDPError(f"{what}: Discrete spaces that start at 0 expected, got {space}")
    return int(env.n), int(mon.n)


def _proxy_bounds(env: gymnasium.Env[Any, Any]) -> tuple[float, float]:
    """Bounds of the proxy reward, where the environment knows them."""
    base: Any = env.unwrapped
    if not isinstance(base, MonMDPEnv):
        return -np.inf, np.inf
    mdp = base.monmdp.mdp
    return min(mdp.r_min, base.fill), max(mdp.r_max, base.fill)


class JointDiscrete(gymnasium.Wrapper[int, int, Any, Any], RecordConstructorArgs):
    """One `Discrete` space each: s = sᵉ·|Sᵐ| + sᵐ and a = aᵉ·|Aᵐ| + aᵐ."""

    env: gymnasium.Env[Any, Any]  # gymnasium gives it the wrapper's own observations and actions

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment with ``Dict(env=Discrete, mon=Discrete)`` spaces."""
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        n_se, self._n_sm = sizes(env.observation_space, "observations")
        n_ae, self._n_am = sizes(env.action_space, "actions")
        self.observation_space = spaces.Discrete(n_se * self._n_sm)  # type: ignore[assignment]
        self.action_space = spaces.Discrete(n_ae * self._n_am)  # type: ignore[assignment]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._joint(observation), info

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        """Take the joint action with this index."""
        try:
            ae, am = divmod(operator.index(action), self._n_am)
        except TypeError:
            raise MonMDPError(f"a joint action is one index, got {action!r}") from None
        observation, reward, terminated, truncated, info = self.env.step({"env": ae, "mon": am})
        return self._joint(observation), reward, terminated, truncated, info

    def _joint(self, observation: dict[str, int]) -> int:
        return observation["env"] * self._n_sm + observation["mon"]


class MultiDiscreteAction(gymnasium.ActionWrapper[Any, Any, Any], RecordConstructorArgs):
    """Actions as ``MultiDiscrete([|Aᵉ|, |Aᵐ|])``."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment with a ``Dict(env=Discrete, mon=Discrete)`` action space."""
        RecordConstructorArgs.__init__(self)
        gymnasium.ActionWrapper.__init__(self, env)
        self.action_space = spaces.MultiDiscrete(list(sizes(env.action_space, "actions")))

    def action(self, action: Any) -> dict[str, int]:
        """Turn ``[aᵉ, aᵐ]`` into the dictionary the environment takes."""
        try:
            ae, am = (operator.index(part) for part in action)
        except (TypeError, ValueError):
            raise MonMDPError(f"an action is [aᵉ, aᵐ], got {action!r}") from None
        return {"env": ae, "mon": am}


class ObserveRewardMask(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds to the observation whether the last reward was shown, and the proxy reward.

    A deep agent then can tell a reward of zero from one it did not see. The observation becomes
    ``Dict`` with ``reward_observed`` (`Discrete(2)`) and ``proxy_reward`` (`Box` of one number)
    beside what was there.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment whose observations are a ``Dict``."""
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        if not isinstance(env.observation_space, spaces.Dict):
            raise MonMDPError(f"observations: a Dict expected, got {env.observation_space}")
        low, high = _proxy_bounds(env)
        self.observation_space = spaces.Dict(
            {
                **env.observation_space.spaces,
                "reward_observed": spaces.Discrete(2),
                "proxy_reward": spaces.Box(low, high, (1,), np.float32),
            }
        )

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
        fill = getattr(self.env.unwrapped, "fill", 0.0)
        proxy = np.array([info.get("proxy_reward", fill)], dtype=np.float32)
        shown = int(info.get("reward_observed", False))
        return {**observation, "reward_observed": shown, "proxy_reward": proxy}
