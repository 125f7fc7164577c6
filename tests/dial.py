"""A small environment for reward models, and a guard for rewards that nobody may read."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium import spaces

from monmdp.envs import AddMonitor, LearntReward

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


def learnt(make_model, secret, steps=300, exposed=False, box=False):
    """Walk at random; returns the rewards a learner was given, what it did, and the model."""
    env = AddMonitor(Dial(secret, box), "ask", hidden=is_two, expose_env_reward=exposed)
    model = make_model(env)
    env = LearntReward(Guard(env) if exposed else env, model)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers((ACTIONS, 2), size=(steps, 2))
    rewards = [env.step({"env": int(ae), "mon": int(am)})[1] for ae, am in actions]
    return np.array(rewards), actions, model


def check_that_hidden_rewards_change_nothing(learnt, content):
    """`learnt` with another secret, or with a reward that must not be read, learns the same."""
    (ours, _, model), (theirs, _, other) = learnt(secret=5.0), learnt(secret=-80.0)
    assert np.array_equal(ours, theirs)
    assert np.array_equal(content(model), content(other))
    guarded, _, _ = learnt(secret=5.0, exposed=True)
    assert np.array_equal(guarded, ours)


def is_two(observation, action, following):
    return bool(np.all(following == 2))
