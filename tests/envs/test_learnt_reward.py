"""A learnt reward in the place of ⊥: it learns from shown rewards, and from nothing else."""

from __future__ import annotations

import sys
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

import dial
from dial import ACTIONS, Dial
from monmdp import MonMDPError, memory
from monmdp.envs import (
    AddMonitor,
    JointDiscrete,
    LearntReward,
    MeanTable,
    RewardNet,
    VectorLearntReward,
)

PRIOR = -7.0


learnt = partial(dial.learnt, lambda env: MeanTable(env, prior=PRIOR))


def test_hidden_rewards_change_nothing_and_are_never_read():
    dial.check_that_hidden_rewards_change_nothing(
        learnt, lambda model: np.stack([model.total, model.shown])
    )


def test_shown_rewards_pass_through():
    rewards, actions, _ = learnt(secret=5.0)
    shown = (actions[:, 0] != 2) & (actions[:, 1] == 1)
    assert np.allclose(rewards[shown], actions[shown, 0] - 0.2)


def test_the_table_says_the_mean_or_the_prior():
    rewards, actions, model = learnt(secret=5.0)
    assert model.predict(0, 1) == 1.0
    assert model.predict(0, 0) == 0.0
    assert [model.predict(s, 2) for s in range(ACTIONS)] == [PRIOR] * ACTIONS
    assert np.all(rewards[(actions == (2, 0)).all(axis=1)] == PRIOR)
    assert np.all(rewards[(actions == (2, 1)).all(axis=1)] == PRIOR - 0.2)  # asked in vain, paid
    model.fit(0, 1, 4.0)
    assert 1.0 < model.predict(0, 1) < 4.0
    assert model.total[0, 1] / model.shown[0, 1] == model.predict(0, 1)


pairs = st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(-9, 9))


@given(st.lists(pairs, min_size=1, max_size=30))
@settings(deadline=None)
def test_a_batch_teaches_what_its_pairs_teach(steps):
    env = AddMonitor(Dial(0.0), "ask")
    one, batch = MeanTable(env, prior=PRIOR), MeanTable(env, prior=PRIOR)
    for step in steps:
        one.fit(*step)
    batch.fit(*(np.array(column) for column in zip(*steps, strict=True)))
    assert np.array_equal(one.shown, batch.shown)
    assert np.array_equal(one.total, batch.total)
    s, a = np.divmod(np.arange(9), 3)
    means = {}
    for state, action, reward in steps:
        means.setdefault((state, action), []).append(reward)
    expected = [np.mean(means.get((i, j), [PRIOR])) for i, j in zip(s, a, strict=True)]
    assert np.allclose(batch.predict(s, a), expected)
    assert [one.predict(i, j) for i, j in zip(s, a, strict=True)] == batch.predict(s, a).tolist()
    assert type(one.predict(0, 0)) is float


def test_spaces_may_start_elsewhere():
    class Shifted(Dial):
        def __init__(self):
            super().__init__(0.0)
            self.action_space = spaces.Discrete(ACTIONS, start=-1)
            self.observation_space = spaces.Discrete(ACTIONS, start=10)

    model = MeanTable(AddMonitor(Shifted(), "ask"), prior=PRIOR)
    model.fit(12, -1, 3.0)
    assert model.total[2, 0] == 3.0
    assert model.predict(np.array([12, 10]), np.array([-1, 1])).tolist() == [3.0, PRIOR]
    with pytest.raises(MonMDPError, match="observations are whole numbers, 3 of them"):
        model.predict(0, 0)


# ---- vectors --------------------------------------------------------------------------------


def vector(mode, n=5):
    return gymnasium.make_vec(
        "monmdp/Hazard-v0", num_envs=n, vectorization_mode=mode, monitor="ask", rho=0.5
    )


def by_hand(envs, actions, prior):
    """What `VectorLearntReward` should pay, with a dictionary of lists."""
    shown, rewards = {}, []
    observations, _ = envs.reset(seed=1)
    over = np.zeros(envs.num_envs, dtype=bool)
    for action in actions:
        after, paid, terminated, truncated, info = envs.step(action)
        now = [(int(s), int(a)) for s, a in zip(observations["env"], action["env"], strict=True)]
        for i, pair in enumerate(now):
            if info["reward_observed"][i] and not over[i]:
                shown.setdefault(pair, []).append(info["proxy_reward"][i])
        for i, pair in enumerate(now):
            if not info["reward_observed"][i] and not over[i]:
                guess = np.mean(shown[pair]) if pair in shown else prior
                paid[i] = info["monitor_reward"][i] + guess
        rewards.append(paid)
        observations, over = after, terminated | truncated
    return np.array(rewards), shown


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync"])
def test_a_vector_learns_as_by_hand(mode):
    envs = vector(mode)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(400)]
    expected, shown = by_hand(vector(mode), actions, PRIOR)
    model = MeanTable(envs, prior=PRIOR)
    envs = VectorLearntReward(envs, model)
    envs.reset(seed=1)
    ended, rewards = np.zeros(5, dtype=bool), []
    for action in actions:
        _, reward, terminated, truncated, _ = envs.step(action)
        assert not reward[ended].any()  # these copies have just begun anew
        ended = terminated | truncated
        rewards.append(reward)
    assert np.allclose(rewards, expected)
    assert ended.dtype == np.bool_
    assert model.shown.sum() == sum(map(len, shown.values()))
    assert len({len(of) for of in shown.values()}) > 3


def test_one_copy_is_one_environment():
    single = gymnasium.make("monmdp/Hazard-v0", monitor="ask", rho=0.5)
    one = LearntReward(single, MeanTable(single, prior=PRIOR))
    envs = vector("vector_entry_point", 1)
    many = VectorLearntReward(envs, MeanTable(envs, prior=PRIOR))
    one.reset(seed=4)
    many.reset(seed=4)
    one.action_space.seed(0)
    begins, steps = False, 0
    while steps < 300:
        action = one.action_space.sample()
        result = many.step({key: np.array([of]) for key, of in action.items()})
        if begins:
            one.reset()
            terminated = truncated = False
        else:
            _, reward, terminated, truncated, _ = one.step(action)
            assert result[1].tolist() == [reward]
            steps += 1
        begins = bool(result[2][0] or result[3][0])
        assert begins == (terminated or truncated)
    assert np.array_equal(one.model.total, many.model.total)


def test_copies_that_are_reset_by_hand_go_on():
    envs = vector("vector_entry_point", 2)
    envs = VectorLearntReward(envs, MeanTable(envs, prior=PRIOR))
    envs.reset(seed=0)
    still = {"env": np.full(2, 4), "mon": np.zeros(2, dtype=int)}
    for _ in range(2000):
        *_, terminated, truncated, _ = envs.step(still)
        if (terminated | truncated).all():
            break
    else:
        raise AssertionError("no end")
    envs.reset(options={"reset_mask": np.array([True, False])})
    assert envs.step(still)[1].tolist() == [PRIOR, 0.0]  # the other one resets in this step


def test_environments_that_reset_in_the_same_step_are_refused():
    def make():
        return AddMonitor(Dial(0.0), "ask")

    envs = SyncVectorEnv([make, make], autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(MonMDPError, match="NEXT_STEP"):
        VectorLearntReward(envs, MeanTable(envs, prior=0.0))


# ---- what it may go around ------------------------------------------------------------------


def test_gymnasium_accepts_it():
    env = gymnasium.make("monmdp/Bottleneck-v0", monitor="ask")
    env = LearntReward(env, MeanTable(env, prior=-10.0))
    check_env(env.unwrapped, skip_render_check=True)
    joint = JointDiscrete(env)
    joint.reset(seed=0)
    assert joint.step(0)[1] == -10.0
    assert env.spec.additional_wrappers[-1].kwargs == {"model": env.model}


def test_several_environments_may_share_a_model():
    env, other = (AddMonitor(Dial(0.0), "ask") for _ in "ab")
    model = MeanTable(env, prior=PRIOR)
    env, other = LearntReward(env, model), LearntReward(other, model)
    env.reset(seed=0)
    other.reset(seed=0)
    assert other.step({"env": 1, "mon": 0})[1] == PRIOR
    env.step({"env": 1, "mon": 1})
    other.reset()
    assert other.step({"env": 1, "mon": 0})[1] == 1.0


def test_what_does_not_fit_is_named():
    cartpole = AddMonitor(gymnasium.make("CartPole-v1"), "ask")
    with pytest.raises(MonMDPError, match=r"must be Discrete; got observations Box.*RewardNet"):
        MeanTable(cartpole, prior=0.0)
    dial = AddMonitor(Dial(0.0), "ask")
    with pytest.raises(MonMDPError, match="prior"):
        MeanTable(dial, prior=np.nan)
    with pytest.raises(MonMDPError, match="MeanTable: a Gymnasium environment expected, got 3"):
        MeanTable(3, prior=0.0)
    table = MeanTable(dial, prior=0.0)
    with pytest.raises(MonMDPError, match=r"it goes directly around the monitor, JointDiscrete"):
        LearntReward(JointDiscrete(dial), table)
    with pytest.raises(MonMDPError, match=r"a model has fit and predict, .* got 'mean'"):
        LearntReward(dial, "mean")
    with pytest.raises(MonMDPError, match="a vector environment expected"):
        VectorLearntReward(dial, table)

    class Unmonitored(gymnasium.Wrapper):
        def step(self, action):
            return *self.env.step(action)[:4], {}

    env = LearntReward(Unmonitored(dial), table)
    env.reset(seed=0)
    with pytest.raises(MonMDPError, match="it has no monitor"):
        env.step({"env": 0, "mon": 0})


def test_a_table_is_weighed(monkeypatch):
    monkeypatch.setattr(memory, "room", lambda: 100)
    with pytest.raises(MonMDPError, match="a MeanTable of 3 x 3 pairs would take about 144 bytes"):
        MeanTable(AddMonitor(Dial(0.0), "ask"), prior=0.0)


def test_without_torch_a_network_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        MonMDPError, match=r"RewardNet needs .* torch: pip install 'monmdp\[deep\]'"
    ):
        RewardNet(AddMonitor(gymnasium.make("CartPole-v1"), "ask"))
