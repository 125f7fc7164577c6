"""A reward network learns from shown rewards, and from nothing else, one by one or in batches."""

from __future__ import annotations

from functools import partial

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

import dial
from dial import ACTIONS, Dial, is_two
from monmdp import MonMDPError, memory
from monmdp.envs import AddMonitor, RewardNet, VectorLearntReward


def network(env):
    torch.manual_seed(0)
    return RewardNet(env)


learnt = partial(dial.learnt, network, box=True)


def content(model):
    return np.concatenate([of.detach().numpy().ravel() for of in model.net.parameters()])


def test_hidden_rewards_change_nothing_and_are_never_read():
    dial.check_that_hidden_rewards_change_nothing(learnt, content)


def test_shown_rewards_pass_through():
    rewards, actions, model = learnt(secret=5.0)
    shown = (actions[:, 0] != 2) & (actions[:, 1] == 1)
    assert np.allclose(rewards[shown], actions[shown, 0] - 0.2)
    assert model.n_shown == shown.sum()


def test_the_network_starts_at_zero_and_learns():
    model = RewardNet(AddMonitor(Dial(5.0, box=True), "ask"))
    one = np.array([1.0], dtype=np.float32)
    assert model.predict(one, 0) == 0.0
    _, _, model = learnt(secret=5.0, steps=2000)
    assert model.predict(one, 0) == pytest.approx(0.0, abs=0.1)
    assert model.predict(one, 1) == pytest.approx(1.0, abs=0.1)


def test_guessing_teaches_nothing():
    _, _, model = learnt(secret=5.0)
    before = content(model).copy()
    observation = np.array([1.0], dtype=np.float32)
    assert model.predict(observation, 1) == model.predict(observation, 1)
    assert np.array_equal(before, content(model))


# ---- batches --------------------------------------------------------------------------------

SPACES = {
    "box": spaces.Box(-1, 1, (2, 3)),
    "discrete": spaces.Discrete(4, start=2),
    "binary": spaces.MultiBinary(3),
    "several": spaces.MultiDiscrete([2, 3]),
    "dict": spaces.Dict(
        a=spaces.Box(-1, 1, (2,)), b=spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 1, (1,))])
    ),
}


class Anything(gymnasium.Env):
    def __init__(self, observations, actions):
        self.observation_space, self.action_space = observations, actions


def batch_of(space, copies):
    """A batch as vector environments have it."""
    return concatenate(space, copies, create_empty_array(space, len(copies)))


@pytest.mark.parametrize("of_action", ["discrete", "several", "box"])
@pytest.mark.parametrize("of_state", SPACES)
def test_a_batch_is_its_pairs(of_state, of_action):
    states, actions = SPACES[of_state], SPACES[of_action]
    model = RewardNet(AddMonitor(Anything(states, actions), "ask"))
    torch.nn.init.normal_(model.net[2].weight)
    s, a = ([space.sample() for _ in range(5)] for space in (states, actions))
    one_by_one = [model.predict(*pair) for pair in zip(s, a, strict=True)]
    together = model.predict(batch_of(states, s), batch_of(actions, a))
    assert together.shape == (5,)
    assert together.dtype == np.float64
    assert np.allclose(one_by_one, together, atol=1e-6)
    assert len({round(x, 5) for x in one_by_one}) > 1
    assert all(type(x) is float for x in one_by_one)


def test_what_a_batch_shows_is_kept_as_its_pairs_are():
    env = AddMonitor(Dial(5.0, box=True), "ask")
    one, batch = RewardNet(env), RewardNet(env)
    rng = np.random.default_rng(0)
    for n in (3, 1, 200, 64):
        s = rng.random((n, 1), dtype=np.float32)
        a, r = rng.integers(ACTIONS, size=n), rng.normal(size=n)
        for triple in zip(s, a, r, strict=True):
            one.fit(*triple)
        batch.fit(s, a, r)
    n = one.n_shown
    assert n == batch.n_shown == 268
    assert np.array_equal(one._inputs[:n], batch._inputs[:n])
    assert np.array_equal(one._rewards[:n], batch._rewards[:n])
    assert content(batch).any()


def test_a_vector_of_environments_teaches_a_network():
    def make():
        return AddMonitor(Dial(5.0, box=True), "ask", hidden=is_two)

    torch.manual_seed(0)
    envs = gymnasium.vector.SyncVectorEnv([make] * 32)
    envs = VectorLearntReward(envs, RewardNet(envs))
    envs.reset(seed=0)
    envs.action_space.seed(0)
    for _ in range(600):
        action = envs.action_space.sample()
        _, reward, *_ = envs.step(action)
        shown = (action["env"] != 2) & (action["mon"] == 1)
        assert np.allclose(reward[shown], action["env"][shown] - 0.2)
    found = envs.model.predict(np.ones((2, 1), dtype=np.float32), np.array([0, 1]))
    assert found == pytest.approx([0.0, 1.0], abs=0.1)
    hidden = (action["env"] < 2) & (action["mon"] == 0)
    assert reward[hidden] == pytest.approx(action["env"][hidden], abs=0.15)


def test_what_it_keeps_is_weighed(monkeypatch):
    model = RewardNet(AddMonitor(Dial(5.0, box=True), "ask"))
    monkeypatch.setattr(memory, "room", lambda: 1000)
    with pytest.raises(MonMDPError, match="100 rewards that were shown would take about 4 kB"):
        model.fit(np.ones((100, 1), dtype=np.float32), np.zeros(100, dtype=int), np.zeros(100))
    graph = spaces.Graph(spaces.Discrete(2), None)
    with pytest.raises(MonMDPError, match="cannot be flattened"):
        RewardNet(AddMonitor(Anything(graph, spaces.Discrete(2)), "ask"))


# ---- in the example -------------------------------------------------------------------------


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
