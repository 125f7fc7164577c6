"""The judge and Stable-Baselines3: what it says of a network is what is computed by hand."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from conftest import dense_policy_values, worst_by_hand
from deep.conftest import ROOT, run_blocks
from monmdp import MonMDPError, make
from monmdp.envs import JointDiscrete, MonMDPEnv, MultiDiscreteAction, ObserveRewardMask
from monmdp.experiment import GammaWarning, Judge, sb3_callback

PAGE = ROOT / "docs" / "howto" / "judging.md"
WORLD, MONITOR = "loop", "n-experts"
KEEN = {"seed": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def judge():
    return Judge(make(WORLD, MONITOR))


def plain():
    return MonMDPEnv(WORLD, MONITOR)


def joint():
    return JointDiscrete(plain())


def flat():
    return JointDiscrete(gymnasium.wrappers.FlattenObservation(plain()))


def shown(env, s):
    """What an environment shows in a joint state, as a batch of one."""
    observation, _ = env.reset(options=env.unwrapped.monmdp.shape.observation(s))
    if isinstance(observation, dict):
        return {key: np.array([value]) for key, value in observation.items()}
    return np.array([observation])


def dqn(env, **how):
    return DQN(
        "MultiInputPolicy" if isinstance(env.observation_space, gymnasium.spaces.Dict)
        else "MlpPolicy", env, learning_starts=50, train_freq=2, **KEEN, **how,
    )  # fmt: skip


@pytest.mark.parametrize("make_env", [joint, flat])
def test_dqn_by_hand(judge, make_env):
    env, problem = make_env(), judge.problem
    model, callback = dqn(env), sb3_callback(judge, every=150)
    model.learn(300, callback=callback)
    frame = callback.record.frame()
    assert frame["step"].tolist() == [0, 150, 300]
    greedy, q = np.zeros(problem.n_states, dtype=int), np.zeros(problem.n_states)
    for s in range(problem.n_states):
        tensor, _ = model.policy.obs_to_tensor(shown(env, s))
        values = model.q_net(tensor).detach().numpy()[0]
        greedy[s], q[s] = values.argmax(), values.max()
        assert model.predict(shown(env, s), deterministic=True)[0] == greedy[s]
    policy = np.eye(problem.n_actions)[greedy]
    exact = dense_policy_values(worst_by_hand(problem), policy, 0.99)
    last = callback.record.last
    assert (last.policy == policy).all()
    assert last.bias == pytest.approx(q - exact, abs=1e-5)
    there = last.visits > 0
    assert abs(frame["worst_bias"].iloc[-1]) == pytest.approx(
        np.abs(q - exact)[there].max(), abs=1e-5
    )
    assert last.action_bias.shape == policy.shape


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_a_value_network_is_compared_with_the_policy_that_it_is_of(judge, algorithm):
    env, problem = joint(), judge.problem
    sizes = {"n_steps": 32} | ({"batch_size": 32} if algorithm is PPO else {})
    model, callback = algorithm("MlpPolicy", env, **sizes, **KEEN), sb3_callback(judge, 100)
    model.learn(200, callback=callback)
    last = callback.record.last
    policy = np.zeros((problem.n_states, problem.n_actions))
    value = np.zeros(problem.n_states)
    for s in range(problem.n_states):
        tensor, _ = model.policy.obs_to_tensor(np.array([s]))
        policy[s] = model.policy.get_distribution(tensor).distribution.probs.detach().numpy()[0]
        value[s] = model.policy.predict_values(tensor).item()
    exact = dense_policy_values(worst_by_hand(problem), policy, 0.99)
    assert last.bias == pytest.approx(value - exact, abs=1e-4)
    assert (last.policy.max(axis=1) == 1).all()  # what is judged is greedy all the same
    assert last.policy.argmax(axis=1).tolist() == policy.argmax(axis=1).tolist()


def test_actions_in_two_parts(judge):
    env = MultiDiscreteAction(plain())
    model = PPO("MultiInputPolicy", env, n_steps=32, batch_size=32, **KEEN)
    judged = judge(model)
    for s in (0, 7, judge.problem.n_states - 1):
        (ae, am), _ = model.predict(env.reset(options=judge.problem.shape.observation(s))[0],
                                    deterministic=True)  # fmt: skip
        assert judged.policy[s, ae * judge.problem.monitor.n_actions + am] == 1
    assert judged.followed.sum(axis=1) == pytest.approx(1)
    assert judged.mean_bias is not None


def test_normalised_observations_and_rewards(judge):
    env = VecNormalize(DummyVecEnv([flat]), gamma=0.99)
    model, callback = (
        PPO("MlpPolicy", env, n_steps=32, batch_size=32, **KEEN),
        sb3_callback(judge, 100),
    )
    model.learn(100, callback=callback)
    scale = np.sqrt(env.ret_rms.var + env.epsilon)
    for s in (0, 5):
        seen = env.normalize_obs(shown(flat(), s))
        tensor, _ = model.policy.obs_to_tensor(seen)
        value = model.policy.predict_values(tensor).item()
        assert callback.record.last.given[s] == pytest.approx(scale * value, rel=1e-5)
        assert callback.record.last.policy[s, model.predict(seen, deterministic=True)[0]] == 1


@pytest.mark.parametrize("observations", ["number", "table"])
def test_a_world_with_a_table_shown_or_not(observations):
    judge = Judge(make("minigrid-empty", "ask"), gamma=0.95)
    env = JointDiscrete(MonMDPEnv(judge.problem, observations=observations))
    model, callback = dqn(env, gamma=0.95), sb3_callback(judge, every=60)
    model.learn(120, callback=callback)
    last = callback.record.last
    for s in range(0, judge.problem.n_states, 20):
        seen = shown(env, s)
        (a,), _ = model.predict(seen, deterministic=True)
        assert last.policy[s, a] == 1
        q = model.q_net(model.policy.obs_to_tensor(seen)[0]).detach().numpy()[0]
        assert last.given[s] == pytest.approx(q, abs=1e-5)


def test_a_model_of_another_discount_is_warned_of(judge):
    model = dqn(joint(), gamma=0.9)
    with pytest.warns(GammaWarning, match=r"learnt with gamma = 0.9, .* take Judge\(problem"):
        judge(model)
    with pytest.warns(GammaWarning):
        model.learn(60, callback=sb3_callback(judge, every=60))


def test_judging_makes_no_difference_to_training(judge):
    def weights(callback):
        model = dqn(joint())
        model.learn(300, callback=callback)
        return torch.cat([of.flatten() for of in model.policy.parameters()])

    assert torch.equal(weights(None), weights(sb3_callback(judge, every=10)))


def test_the_mask_is_no_part_of_the_state(judge):
    model = dqn(JointDiscrete(ObserveRewardMask(plain())))
    with pytest.raises(MonMDPError, match="depend on the last reward"):
        judge(model)

    def unseen(batch):
        n = len(batch["mon"])
        mask = {"reward_observed": np.zeros(n, int), "proxy_reward": np.zeros((n, 1), np.float32)}
        return batch | mask

    assert judge(model, view=unseen).mean_bias is not None


def test_it_goes_to_the_logger(judge, tmp_path):
    model = dqn(joint())
    model.learn(100, callback=sb3_callback(judge, every=50, tensorboard=tmp_path / "curves"))
    assert "judge/gap" in model.logger.name_to_value
    assert any((tmp_path / "curves").iterdir())


def test_the_blocks_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(PAGE)


def test_a_network_of_torch_as_a_function(judge):
    problem = judge.problem
    torch.manual_seed(0)
    net = torch.nn.Linear(problem.mdp.n_states, problem.n_actions)

    def logits(seen):
        return net(torch.eye(problem.mdp.n_states)[seen["env"]])

    chances = judge(lambda seen: logits(seen).softmax(dim=1), logits)
    greedy = judge(lambda seen: logits(seen).argmax(dim=1))
    assert (greedy.policy.argmax(axis=1) == chances.policy.argmax(axis=1)).all()
    assert chances.given.shape == chances.policy.shape
    assert greedy.bias is None
