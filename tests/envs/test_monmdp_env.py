"""The Gymnasium contract, to the letter."""

from __future__ import annotations

import json
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import monmdp
from conftest import MONITORS, WORLDS
from monmdp import MonMDPError, envs, make, worlds
from monmdp.model.dynamics import reset, step


def run(env, seed, n=60):
    """A trajectory with fixed actions: everything that the environment returns."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    out = [(observation, info)]
    for _ in range(n):
        spaces = env.unwrapped.action_space.spaces
        action = {key: int(rng.integers(spaces[key].n)) for key in ("env", "mon")}
        result = env.step(action)
        out.append(result)
        if result[2] or result[3]:
            out.append(env.reset())
    return out


def test_every_world_is_registered():
    assert list(envs.IDS) == list(worlds.registry)
    assert envs.IDS["two-room-3x5"] == "monmdp/TwoRoom3x5-v0"
    for env_id in envs.IDS.values():
        assert gymnasium.spec(env_id).entry_point == "monmdp.envs:MonMDPEnv"


@pytest.mark.slow
@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("world", WORLDS)
def test_check_env_is_clean(world, monitor):
    env = gymnasium.make(envs.IDS[world], monitor=monitor, rho=0.4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)
    observation, _ = env.reset(seed=3)
    assert observation in env.observation_space
    assert run(env, 5) == run(env, 5)
    assert run(env, 5) != run(env, 6)
    text = env.spec.to_json()
    again = gymnasium.make(EnvSpec.from_json(text))
    assert json.loads(text)["kwargs"] == {"world": world, "monitor": monitor, "rho": 0.4}
    assert run(again, 5) == run(env, 5)


def test_check_env_renders():
    env = gymnasium.make("monmdp/Loop-v0", monitor="button", render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_make_vec(mode):
    vec = gymnasium.make_vec(
        "monmdp/Bottleneck-v0", num_envs=3, vectorization_mode=mode, monitor="ask"
    )
    observation, _ = vec.reset(seed=0)
    assert observation["env"].shape == (3,)
    for _ in range(60):  # past the time limit: autoreset steps have an empty info
        _, reward, _, _, info = vec.step(vec.action_space.sample())
        assert np.isfinite(reward).all()
        assert "env_reward" not in info
    vec.close()


def test_what_travels_where():
    env = envs.MonMDPEnv("bottleneck", "ask", rho=0.5, fill=-3.0, expose_env_reward=True)
    _, info = env.reset(seed=0, options={"env": 1})
    assert info == {"reward_observed": False, "monitor_reward": 0.0, "proxy_reward": -3.0}
    seen = set()
    for i in range(40):
        env.reset(seed=i, options={"env": 7})
        _, reward, _, _, info = env.step({"env": i % 2, "mon": 1})
        seen.add(info["reward_observed"])
        assert info["monitor_reward"] == -0.2
        assert info["proxy_reward"] == (info["env_reward"] if info["reward_observed"] else -3.0)
        assert reward == info["monitor_reward"] + info["proxy_reward"]
        assert type(reward) is float
    assert seen == {True, False}
    # Onto a ⊥ cell: -10 is paid, and never shown.
    env.reset(seed=1, options={"env": 7})
    _, reward, _, _, info = env.step({"env": 2, "mon": 1})
    assert info["env_reward"] == -10
    assert info["reward_observed"] is False
    assert reward == -0.2 - 3.0


def test_the_hidden_reward_is_nowhere_unless_asked_for():
    env = gymnasium.make("monmdp/Bottleneck-v0", monitor="full-random", rho=0.0)
    env.reset(seed=0, options={"env": 7})
    _, reward, _, _, info = env.step({"env": 2, "mon": 0})
    assert reward == 0.0
    assert set(info) == {"reward_observed", "monitor_reward", "proxy_reward"}
    state = {k: v for k, v in vars(env.unwrapped).items() if k not in ("monmdp", "_tables")}
    assert "-10" not in repr(state)
    for mode in ("ansi",):
        shown = gymnasium.make(
            "monmdp/Bottleneck-v0", monitor="full-random", rho=0.0, render_mode=mode
        )
        shown.reset(seed=0, options={"env": 7})
        shown.step({"env": 2, "mon": 0})
        if mode == "ansi":
            assert "hidden" in shown.render()
            assert "-10" not in shown.render()


def test_the_environment_truncates_itself():
    env = envs.MonMDPEnv("corridor", "full", time_limit=7)
    env.reset(seed=0)
    for t in range(1, 8):
        _, _, terminated, truncated, _ = env.step({"env": 4, "mon": 0})
        assert (terminated, truncated) == (False, t == 7)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step({"env": 4, "mon": 0})
    # An ending on the last step is an ending, not a truncation.
    env = envs.MonMDPEnv("corridor", "full", time_limit=1)
    env.reset(seed=0, options={"env": 19})
    assert env.step({"env": 4, "mon": 0})[2:4] == (True, False)


def test_a_fixed_number_of_draws():
    """Two draws a reset and three a step: the environment is the pure functions on the stream."""
    for world, monitor in (("hazard", "n-experts"), ("river-swim", "button")):
        m = make(world, monitor, rho=0.3)
        env = envs.MonMDPEnv(m, expose_env_reward=True)
        stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(11)))
        rng = np.random.default_rng(0)
        observation, _ = env.reset(seed=11)
        se, sm = reset(m.tables, *stream.random(2))
        for _ in range(300):
            assert (observation["env"], observation["mon"]) == (se, sm)
            ae, am = int(rng.integers(m.mdp.n_actions)), int(rng.integers(m.monitor.n_actions))
            observation, _, terminated, truncated, info = env.step({"env": ae, "mon": am})
            se, sm, re, _, shown, end = step(m.tables, se, sm, ae, am, *stream.random(3))
            assert (info["env_reward"], info["reward_observed"], terminated) == (re, shown, end)
            if terminated or truncated:
                observation, _ = env.reset()
                se, sm = reset(m.tables, *stream.random(2))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (3, "an action is"), ({"env": 1}, "an action is"), ({"env": 9, "mon": 0}, "outside"),
        ({"env": 1.7, "mon": 0}, "an action is"),
        ({"env": 0, "mon": -1}, "outside"), (None, "an action is"),
        ({"env": "x", "mon": 0}, "an action is"),
    ],
)  # fmt: skip
def test_wrong_actions_are_named(action, message):
    env = envs.MonMDPEnv("loop", "ask")
    env.reset(seed=0)
    with pytest.raises(MonMDPError, match=message):
        env.step(action)


def test_wrong_construction_is_named():
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.MonMDPEnv("loop", "ask").step({"env": 0, "mon": 0})
    with pytest.raises(MonMDPError, match="fill must be finite"):
        envs.MonMDPEnv("loop", "ask", fill=float("nan"))
    with pytest.raises(MonMDPError, match="render_mode 'rgb'; did you mean 'rgb_array'"):
        envs.MonMDPEnv("loop", "ask", render_mode="rgb")
    with pytest.raises(MonMDPError, match="unknown monitor 'aks'"):
        gymnasium.make("monmdp/Loop-v0", monitor="aks")
    with pytest.raises(MonMDPError, match="takes no monitor"):
        envs.MonMDPEnv(make("loop", "ask"), "button")
    env = envs.MonMDPEnv("loop", "ask")
    with pytest.raises(MonMDPError, match="unknown reset option 'environment'"):
        env.reset(options={"environment": 3})
    with pytest.raises(MonMDPError, match="reset options are"):
        env.reset(options=3)
    with pytest.raises(MonMDPError, match="no world given"):
        gymnasium.make("monmdp/World-v0", monitor="ask")
    joint = envs.JointDiscrete(envs.MonMDPEnv("loop", "ask"))
    multi = envs.MultiDiscreteAction(envs.MonMDPEnv("loop", "ask"))
    for wrapped, action in (
        (joint, None),
        (joint, 1.5),
        (multi, [1]),
        (multi, [1, 0, 5]),
        (multi, 3),
    ):
        wrapped.reset(seed=0)
        with pytest.raises(MonMDPError, match="action"):
            wrapped.step(action)
    with pytest.raises(MonMDPError, match="reset option env=99 is not a state"):
        env.reset(options={"env": 99})


def test_rendering_shows_what_a_person_wants_to_know():
    env = gymnasium.make("monmdp/Bottleneck-v0", monitor="button", render_mode="ansi")
    env.reset(seed=0, options={"env": 13, "mon": 1})
    first = env.render()
    assert "monitor ON" in first
    assert first.splitlines()[3].split() == ["2", ".", "@", ".", ".", ".", "."]
    env.step({"env": 2, "mon": 0})
    assert "RIGHT + NO-OP: reward 0 shown, monitor reward -0.2" in env.render()
    pictures = gymnasium.make("monmdp/Bottleneck-v0", monitor="button", render_mode="rgb_array")
    pictures.reset(seed=0, options={"env": 13, "mon": 0})
    before = pictures.render()
    pictures.step({"env": 2, "mon": 0})
    after = pictures.render()
    assert before.shape == after.shape
    assert before.dtype == np.uint8
    assert (before != after).any()
    for world in ("river-swim", "treasure-hunter"):
        env = gymnasium.make(envs.IDS[world], render_mode="ansi")
        env.reset(seed=0)
        assert "@" in env.render()
    lake = envs.MonMDPEnv("gymnasium:FrozenLake-v1", "ask", render_mode="ansi")
    lake.reset(seed=0)
    assert "state 0" in lake.render()


def test_rendering_without_a_mode_warns():
    env = envs.MonMDPEnv("loop", "ask")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


@pytest.mark.parametrize(
    "wrapper", [envs.JointDiscrete, envs.MultiDiscreteAction, envs.ObserveRewardMask]
)
def test_wrappers_pass_check_env(wrapper):
    env = wrapper(gymnasium.make("monmdp/Hazard-v0", monitor="level-up"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env, skip_render_check=True)
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.observation_space == env.observation_space
    assert again.action_space == env.action_space


def test_joint_discrete_uses_the_joint_indices():
    m = make("hazard", "level-up")
    plain, joint = envs.MonMDPEnv(m), envs.JointDiscrete(envs.MonMDPEnv(m))
    a, _ = plain.reset(seed=4)
    b, _ = joint.reset(seed=4)
    rng = np.random.default_rng(0)
    for _ in range(30):
        assert b == m.joint_state(a["env"], a["mon"])
        action = int(rng.integers(m.n_actions))
        ae, am = (int(x) for x in m.split_action(action))
        a, r1, t1, u1, i1 = plain.step({"env": ae, "mon": am})
        b, r2, t2, u2, i2 = joint.step(action)
        assert (r1, t1, u1, i1) == (r2, t2, u2, i2)
        if t1 or u1:
            break


def test_the_mask_tells_zero_from_unseen():
    env = envs.ObserveRewardMask(gymnasium.make("monmdp/Empty-v0", monitor="ask"))
    observation, _ = env.reset(seed=0)
    assert observation["reward_observed"] == 0
    hidden, *_ = env.step({"env": 2, "mon": 0})
    shown, *_ = env.step({"env": 2, "mon": 1})
    assert (hidden["reward_observed"], shown["reward_observed"]) == (0, 1)
    assert hidden["proxy_reward"] == shown["proxy_reward"] == 0
    with pytest.raises(MonMDPError, match="a Dict expected"):
        envs.ObserveRewardMask(gymnasium.make("FrozenLake-v1"))
    with pytest.raises(MonMDPError, match="Dict\\(env=Discrete, mon=Discrete\\) expected"):
        envs.JointDiscrete(gymnasium.make("FrozenLake-v1"))
    multi = envs.MultiDiscreteAction(envs.MonMDPEnv("empty", "ask"))
    multi.reset(seed=0)
    assert multi.step(np.array([2, 1]))[4]["reward_observed"]


def test_public_names():
    for name in monmdp.__all__:
        assert getattr(monmdp, name) is not None
    assert set(monmdp.__all__) <= set(dir(monmdp))
    with pytest.raises(AttributeError):
        _ = monmdp.nonsense
