"""The reward model learns from shown rewards, and from nothing else."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from monmdp.envs import AddMonitor

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


def learnt(example, kind, secret, steps=300, exposed=False):
    """Walk at random; returns the rewards a learner was given, and the model."""
    box = kind == "net"
    env = AddMonitor(Dial(secret, box), "ask", hidden=is_two, expose_env_reward=exposed)
    torch.manual_seed(0)
    model = example.RewardNet(env) if box else example.MeanTable(env, prior=-7.0)
    env = example.LearntReward(Guard(env) if exposed else env, model)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers((ACTIONS, 2), size=(steps, 2))
    rewards = [env.step({"env": int(ae), "mon": int(am)})[1] for ae, am in actions]
    return np.array(rewards), actions, model


def content(model):
    if hasattr(model, "net"):
        parameters = [of.detach().numpy().ravel() for of in model.net.parameters()]
        return np.concatenate(parameters)
    return np.concatenate([model.total.ravel(), model.shown.ravel()])


both = pytest.mark.parametrize("kind", ["table", "net"])


@both
def test_hidden_rewards_change_nothing(example, kind):
    ours, _, model = learnt(example, kind, secret=5.0)
    theirs, _, other = learnt(example, kind, secret=-80.0)
    assert np.array_equal(ours, theirs)
    assert np.array_equal(content(model), content(other))


@both
def test_the_true_reward_is_never_read(example, kind):
    guarded, _, _ = learnt(example, kind, secret=5.0, exposed=True)
    plain, _, _ = learnt(example, kind, secret=5.0)
    assert np.array_equal(guarded, plain)


@both
def test_shown_rewards_pass_through(example, kind):
    rewards, actions, _ = learnt(example, kind, secret=5.0)
    shown = (actions[:, 0] != 2) & (actions[:, 1] == 1)
    assert np.allclose(rewards[shown], actions[shown, 0] - 0.2)


def test_the_table_says_the_mean_or_the_prior(example):
    rewards, actions, model = learnt(example, "table", secret=5.0)
    assert model.predict(0, 1) == 1.0
    assert model.predict(0, 0) == 0.0
    assert [model.predict(s, 2) for s in range(ACTIONS)] == [-7.0] * ACTIONS
    assert np.all(rewards[(actions == (2, 0)).all(axis=1)] == -7.0)
    assert np.all(rewards[(actions == (2, 1)).all(axis=1)] == -7.2)  # asked in vain, and paid
    model.fit(0, 1, 4.0)
    assert 1.0 < model.predict(0, 1) < 4.0
    assert model.total[0, 1] / model.shown[0, 1] == model.predict(0, 1)


def test_the_network_starts_at_zero_and_learns(example):
    env = AddMonitor(Dial(5.0, box=True), "ask")
    model = example.RewardNet(env)
    one = np.array([1.0], dtype=np.float32)
    assert model.predict(one, 0) == 0.0
    _, _, model = learnt(example, "net", secret=5.0, steps=2000)
    assert model.predict(one, 0) == pytest.approx(0.0, abs=0.1)
    assert model.predict(one, 1) == pytest.approx(1.0, abs=0.1)


@both
def test_guessing_teaches_nothing(example, kind):
    _, _, model = learnt(example, kind, secret=5.0)
    before = content(model).copy()
    observation = np.array([1.0], dtype=np.float32) if kind == "net" else 1
    assert model.predict(observation, 1) == model.predict(observation, 1)
    assert np.array_equal(before, content(model))


@pytest.mark.parametrize("treatment", ["zero", "mask", "model"])
@pytest.mark.parametrize("name", ["cartpole", "bottleneck"])
def test_learners_act_where_no_hidden_reward_is_told(example, name, treatment):
    task = example.TASKS[name]
    env = example.learning_env(task, treatment, task.model(task.make()))
    env.reset(seed=0)
    env.action_space.seed(0)
    hidden = 0
    for _ in range(200):
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert set(info) >= {"reward_observed", "proxy_reward", "monitor_reward"}
        assert "env_reward" not in info
        if treatment != "model" and not info["reward_observed"]:
            assert reward == info["monitor_reward"]
            hidden += 1
        if terminated or truncated:
            env.reset()
    assert hidden or treatment == "model"
