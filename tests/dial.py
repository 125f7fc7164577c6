"""A small environment for reward models, and a guard for rewards that nobody may read."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium import spaces

ACTIONS = 3


class Dial(gymnasium.Env):
    """An action sets a dial to a number, which it pays; but 2 pays `secret`, never to be seen."""

    def __init__(self, secret, box=False):
        self.action_space = spaces.Discrete(ACTIONS)
        self.observation_space = spaces.Box(0, 2, (1,)) if box else spaces.Discrete(ACTIONS)
        self.secret, self.box = secret, box

    def _observation(self):
        return np.array([self.at], dtype=np.float32) if self.box else self.at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self._observation(), {}

    def step(self, action):
        self.at = int(action)
        reward = self.secret if self.at == 2 else float(self.at)
        return self._observation(), reward, False, False, {}


class Guarded(dict):
    """An info in which the hidden reward must not be touched."""

    def __getitem__(self, key):
        assert key != "env_reward"
        return super().__getitem__(key)

    def get(self, key, default=None):
        assert key != "env_reward"
        return super().get(key, default)

    def _everything(self):
        raise AssertionError("somebody looks at all of info")

    items = values = _everything


class Guard(gymnasium.Wrapper):
    def step(self, action):
        *rest, info = self.env.step(action)
        assert "env_reward" in info
        return *rest, Guarded(info)


def is_two(observation, action, following):
    return bool(np.all(following == 2))
