"""The native vector environment: what a row of single environments gives, to the bit."""

from __future__ import annotations

import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

from conftest import MONITORS, WORLDS
from monmdp import MonMDPError, envs, worlds
from monmdp.compiling import compiled
from monmdp.envs import (
    AddMonitor,
    JointDiscrete,
    MultiDiscreteAction,
    ObserveRewardMask,
    RewardDict,
    VectorJointDiscrete,
    VectorMultiDiscreteAction,
    VectorObserveRewardMask,
    VectorRewardDict,
)
from monmdp.envs.pcg64 import pack, uniform, unpack
from monmdp.envs.vector import MonMDPVectorEnv


def fill(streams, draws):
    """Draw from every stream in turn."""
    for t in range(draws.shape[1]):
        for i in range(draws.shape[0]):
            draws[i, t] = uniform(streams, i)


@given(st.lists(st.integers(0, 2**64), min_size=1, max_size=4))
def test_the_streams_are_numpys(seeds):
    generators = [np_random(seed)[0] for seed in seeds]
    draws = np.empty((len(seeds), 50))
    streams = pack(generators)
    compiled(fill)(streams, draws)
    expected = np.array([generator.random(50) for generator in generators])
    assert (draws == expected).all()
    assert (streams == pack(generators)).all()  # both have advanced alike
    on = np.array([unpack(stream).random(5) for stream in streams])
    assert (on == [generator.random(5) for generator in generators]).all()


def made(env_id, mode, n=6, **params):
    return gymnasium.make_vec(env_id, num_envs=n, vectorization_mode=mode, **params)


def same(ours, theirs, where):
    """Equal keys, shapes, dtypes and values, all the way down."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key in theirs:
            same(ours[key], theirs[key], f"{where} {key}")
    elif isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            same(a, b, f"{where} {i}")
    else:
        assert ours.dtype == theirs.dtype, where
        assert np.array_equal(ours, theirs), where


def walk_alike(ours, theirs, steps, seed=3):
    same(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
    ours.action_space.seed(seed)
    ended = 0
    for t in range(steps):
        action = ours.action_space.sample()
        result = ours.step(action)
        same(result, theirs.step(action), f"step {t}")
        ended += int(result[2].sum() + result[3].sum())
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("world", ["bottleneck", "river-swim", "treasure-hunter"])
def test_the_same_as_single_environments(world, monitor):
    params = {"monitor": monitor, "rho": 0.4, "fill": -2.5, "expose_env_reward": True}
    ours = made(envs.IDS[world], "vector_entry_point", **params)
    theirs = made(envs.IDS[world], "sync", **params)
    assert isinstance(ours, MonMDPVectorEnv)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.single_action_space == theirs.single_action_space
    assert walk_alike(ours, theirs, 230) > 0


@pytest.mark.parametrize("world", WORLDS)
def test_every_world(world):
    params = {"monitor": "n-experts", "rho": 0.4}
    ours, theirs = (
        made(envs.IDS[world], mode, **params) for mode in ("vector_entry_point", "sync")
    )
    walk_alike(ours, theirs, 120)
    assert "env_reward" not in ours.step(ours.action_space.sample())[4]


def test_a_world_without_a_time_limit():
    mdp = worlds.from_tables([[[1.0]]], [[1.0]], layout="sas")
    env = MonMDPVectorEnv(mdp, "full", num_envs=2)
    env.reset(seed=0)
    action = {"env": np.zeros(2, dtype=np.int64), "mon": np.zeros(2, dtype=np.int64)}
    for _ in range(2000):
        _, reward, terminated, truncated, _ = env.step(action)
        assert (reward == 1).all()
        assert not terminated.any()
        assert not truncated.any()


def test_max_episode_steps_is_gymnasiums():
    ours, theirs = (
        made("monmdp/Corridor-v0", mode, 3, monitor="ask", max_episode_steps=7)
        for mode in ("vector_entry_point", "sync")
    )
    assert walk_alike(ours, theirs, 40) == 15
    with pytest.raises(MonMDPError, match="max_episode_steps"):
        made("monmdp/Corridor-v0", "vector_entry_point", max_episode_steps=0)


def test_it_is_what_make_vec_takes_by_itself():
    env = gymnasium.make_vec("monmdp/World-v0", num_envs=2, world="loop", monitor="ask")
    assert isinstance(env, MonMDPVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert env.num_envs == 2
    env.reset(seed=0)
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
    wrapped.reset(seed=0)
    for _ in range(60):
        *_, info = wrapped.step(env.action_space.sample())
        if "episode" in info:
            break
    assert "episode" in info


def test_seeds():
    env, again = (made("monmdp/Hazard-v0", "vector_entry_point", 3, monitor="button") for _ in "ab")
    same(env.reset(seed=[5, 6, 7]), again.reset(seed=5), "seeds")
    theirs = made("monmdp/Hazard-v0", "sync", 3, monitor="button")
    theirs.reset(seed=5)
    env.reset(seed=5)
    env.action_space.seed(0)
    for _ in range(2):  # a reset without a seed goes on with the streams
        same(env.reset(), theirs.reset(), "reset")
        for _ in range(30):
            action = env.action_space.sample()
            same(env.step(action), theirs.step(action), "step")
    assert env.np_random_seed == theirs.np_random_seed == (5, 6, 7)
    for ours, other in zip(env.np_random, theirs.np_random, strict=True):
        assert ours.random() == other.random()
    fresh = made("monmdp/Hazard-v0", "vector_entry_point", 64, monitor="button")
    starts = {tuple(fresh.reset(seed=s)[0]["mon"]) for s in range(3)}
    assert len(starts) == 3
    assert 0 < made("monmdp/Hazard-v0", "vector_entry_point", 64, monitor="button").reset()[0][
        "mon"
    ].sum() < 64  # fmt: skip


def test_options_and_masks_are_gymnasiums():
    ours, theirs = (
        made("monmdp/Bottleneck-v0", mode, 3, monitor="button") for mode in
        ("vector_entry_point", "sync")
    )  # fmt: skip
    same(
        ours.reset(seed=1, options={"env": 7, "mon": 1}),
        theirs.reset(seed=1, options={"env": 7, "mon": 1}),
        "options",
    )
    ours.action_space.seed(0)
    for t in range(60):
        action = ours.action_space.sample()
        same(ours.step(action), theirs.step(action), "step")
        if t % 20 == 19:
            mask = np.array([True, False, t > 30])
            options = {"reset_mask": mask}
            same(
                ours.reset(seed=[t, None, None], options=dict(options)),
                theirs.reset(seed=[t, None, None], options=dict(options)),
                f"mask {t}",
            )
            assert "reset_mask" in options


def test_results_are_the_callers():
    env = made("monmdp/Loop-v0", "vector_entry_point", 2, monitor="ask")
    env.reset(seed=0)
    first = env.step({"env": np.array([1, 1]), "mon": np.array([1, 1])})
    kept = [np.copy(x) for x in (first[0]["env"], first[1], first[4]["reward_observed"])]
    env.step({"env": np.array([2, 2]), "mon": np.array([0, 0])})
    for before, now in zip(
        kept, (first[0]["env"], first[1], first[4]["reward_observed"]), strict=True
    ):
        assert (before == now).all()


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_rendering(mode):
    params = {"monitor": "button", "render_mode": mode}
    ours, theirs = (
        made("monmdp/Loop-v0", vector, 2, **params) for vector in ("vector_entry_point", "sync")
    )
    ours.reset(seed=0)
    theirs.reset(seed=0)
    for _ in range(3):
        for a, b in zip(ours.render(), theirs.render(), strict=True):
            assert np.array_equal(a, b)
        action = {"env": np.array([1, 4]), "mon": np.array([0, 0])}
        ours.step(action)
        theirs.step(action)
    with pytest.warns(UserWarning, match="render_mode"):
        assert made("monmdp/Loop-v0", "vector_entry_point", 2).render() is None


def test_mistakes_are_named():
    env = made("monmdp/Loop-v0", "vector_entry_point", 2, monitor="ask")
    zeros = np.zeros(2, dtype=np.int64)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step({"env": zeros, "mon": zeros})
    env.reset(seed=0)
    for action, message in (
        ({"env": zeros}, "actions are"),
        (zeros, "actions are"),
        ({"env": np.zeros(3, dtype=int), "mon": zeros}, "'env': 2 whole numbers expected"),
        ({"env": np.zeros(2), "mon": zeros}, "float64"),
        ({"env": np.array([0, 9]), "mon": zeros}, "'env': 9 in copy 1; there are 5"),
        ({"env": zeros, "mon": np.array([-1, 0])}, "'mon': -1 in copy 0; there are 2"),
    ):
        with pytest.raises(MonMDPError, match=message):
            env.step(action)
    env.step({"env": [1, 2], "mon": [0, 1]})  # lists are fine
    with pytest.raises(MonMDPError, match="3 seeds for 2 copies"):
        env.reset(seed=[1, 2, 3])
    same(env.reset(seed=np.array([4, 5])), env.reset(seed=4), "seeds")
    for wrong in ("a", 1.5):
        with pytest.raises(MonMDPError, match="a seed is a whole number, or one for every copy"):
            env.reset(seed=wrong)
    with pytest.raises(MonMDPError, match="seed"):
        env.reset(seed=[1, -2])
    with pytest.raises(MonMDPError, match="2 booleans expected"):
        env.reset(options={"reset_mask": np.array([False, False])})
    with pytest.raises(MonMDPError, match="unknown reset option 'environment'"):
        env.reset(options={"environment": 3})
    with pytest.raises(MonMDPError, match="num_envs"):
        made("monmdp/Loop-v0", "vector_entry_point", 0)
    with pytest.raises(MonMDPError, match="unknown monitor 'aks'"):
        made("monmdp/Loop-v0", "vector_entry_point", monitor="aks")


# ---- wrappers -----------------------------------------------------------------------------------

STACKS = {
    "joint": [(JointDiscrete, VectorJointDiscrete)],
    "mask": [(ObserveRewardMask, VectorObserveRewardMask)],
    "multi": [(MultiDiscreteAction, VectorMultiDiscreteAction)],
    "mask, joint": [
        (ObserveRewardMask, VectorObserveRewardMask),
        (JointDiscrete, VectorJointDiscrete),
    ],
    "multi, mask": [
        (MultiDiscreteAction, VectorMultiDiscreteAction),
        (ObserveRewardMask, VectorObserveRewardMask),
    ],
}


def both(env_id, stack, n=5, **params):
    """The wrapped native environment, and a row of single wrapped ones."""
    native = made(env_id, "vector_entry_point", n, **params)
    for _, wrapper in STACKS[stack]:
        native = wrapper(native)
    wrappers = [wrapper for wrapper, _ in STACKS[stack]]
    row = gymnasium.make_vec(
        env_id, num_envs=n, vectorization_mode="sync", wrappers=wrappers, **params
    )
    return native, row


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(
    ("world", "monitor"),
    [
        ("bottleneck", "button"),
        ("river-swim", "n-experts"),
        ("treasure-hunter", "ask"),
        ("hazard", "level-up"),
        ("loop", "semi-random"),
    ],
)
def test_wrapped_the_same_as_single_wrapped_environments(world, monitor, stack):
    params = {"monitor": monitor, "rho": 0.4, "fill": -2.5, "expose_env_reward": True}
    ours, theirs = both(envs.IDS[world], stack, **params)
    assert isinstance(ours.unwrapped, MonMDPVectorEnv)
    for space in ("observation_space", "action_space"):
        assert getattr(ours, space) == getattr(theirs, space)
        assert getattr(ours, f"single_{space}") == getattr(theirs, f"single_{space}")
    assert walk_alike(ours, theirs, 210) > 0
    same(ours.reset(), theirs.reset(), "reset")
    mask = np.array([True, False, False, True, False])
    for t in range(5):
        action = ours.action_space.sample()
        same(ours.step(action), theirs.step(action), "step")
        same(
            ours.reset(seed=[t, None, None, t, None], options={"reset_mask": mask}),
            theirs.reset(seed=[t, None, None, t, None], options={"reset_mask": mask}),
            "some",
        )


@pytest.mark.parametrize("exposed", [True, False])
def test_rewards_as_dictionaries(exposed):
    params = {"monitor": "ask", "rho": 0.5, "expose_env_reward": exposed}
    ours = VectorRewardDict(made("monmdp/TreasureHunter-v0", "vector_entry_point", 3, **params))
    row = [RewardDict(gymnasium.make("monmdp/TreasureHunter-v0", **params)) for _ in range(3)]
    ours.reset(seed=4)
    for i, env in enumerate(row):
        env.reset(seed=4 + i)
    ours.action_space.seed(0)
    over = [False] * 3
    for _ in range(13):  # every other one resets
        action = ours.action_space.sample()
        _, rewards, terminated, truncated, _ = ours.step(action)
        for i, env in enumerate(row):
            expected = {"env": np.nan, "mon": 0.0, "proxy": np.nan}  # of a step that resets
            if over[i]:
                env.reset()
            else:
                _, expected, *_ = env.step({key: int(action[key][i]) for key in action})
            for key, value in expected.items():
                assert np.array_equal(rewards[key][i], value, equal_nan=True)
        over = (terminated | truncated).tolist()
    assert np.isnan(rewards["env"]).all() != exposed


def test_wrappers_around_a_row_of_monitored_environments():
    def one():
        return AddMonitor(gymnasium.make("FrozenLake-v1"), "ask", fill=-1.0)

    ours = VectorJointDiscrete(SyncVectorEnv([one] * 3))
    theirs = SyncVectorEnv([lambda: JointDiscrete(one())] * 3)
    assert walk_alike(ours, theirs, 60) > 0
    ours = VectorObserveRewardMask(SyncVectorEnv([one] * 3))
    theirs = SyncVectorEnv([lambda: ObserveRewardMask(one())] * 3)
    assert walk_alike(ours, theirs, 60) > 0


def test_mistakes_with_wrappers_are_named():
    native = made("monmdp/Loop-v0", "vector_entry_point", 2, monitor="ask")
    joint, multi = VectorJointDiscrete(native), VectorMultiDiscreteAction(native)
    joint.reset(seed=0)
    for env, action, message in (
        (joint, [0, 10], "joint actions: 10 in copy 1; there are 10, from 0"),
        (joint, [0.0, 1.0], "2 whole numbers expected"),
        (multi, [0, 1], r"of shape \(2, 2\), got"),
        (multi, [[0, 1], [7, 0]], "'env': 7 in copy 1"),
    ):
        with pytest.raises(MonMDPError, match=message):
            env.step(action)
    same_step = SyncVectorEnv(
        [lambda: gymnasium.make("monmdp/Loop-v0")], autoreset_mode=AutoresetMode.SAME_STEP
    )
    bare = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")])
    for wrapper, env, message in (
        (VectorJointDiscrete, gymnasium.make("monmdp/Loop-v0"), "a vector environment expected"),
        (VectorObserveRewardMask, same_step, "NEXT_STEP"),
        (VectorJointDiscrete, bare, "actions: Dict"),
        (VectorMultiDiscreteAction, bare, "actions: Dict"),
        (VectorObserveRewardMask, joint, "a Dict expected"),
    ):
        with pytest.raises(MonMDPError, match=message):
            wrapper(env)
    rewards = VectorRewardDict(bare)
    rewards.reset(seed=0)
    with pytest.raises(MonMDPError, match="has no monitor"):
        rewards.step(np.array([0]))


DTYPES = [np.uint8, np.int64, np.float32, np.float64, np.bool_]


def looking(dtype, shape=(2, 3)):
    """Bottleneck, whose states are shown as random arrays."""
    rng = np.random.default_rng(0)
    mdp = worlds.make("bottleneck")
    return replace(mdp, observations=rng.integers(0, 9, (mdp.n_states, *shape)).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tables_of_observations(dtype):
    world = looking(dtype)
    how = {"monitor": "ask", "fill": -1.0, "observations": "table"}
    ours = MonMDPVectorEnv(world, num_envs=4, **how)
    theirs = SyncVectorEnv([lambda: envs.MonMDPEnv(world, **how)] * 4)
    assert ours.observation_space == theirs.observation_space
    space = ours.single_observation_space["env"]
    assert space.shape == (2, 3)
    assert (space.low.min(), space.high.max()) == (
        world.observations.min(),
        world.observations.max(),
    )
    assert walk_alike(ours, theirs, 200) > 0
    # beside them, the numbers: the same walk, and the row of each state
    numbers = MonMDPVectorEnv(world, "ask", num_envs=4, fill=-1.0)
    seen, _ = ours.reset(seed=5)
    state, _ = numbers.reset(seed=5)
    for _ in range(60):
        assert np.array_equal(seen["env"], world.observations[state["env"]])
        assert np.array_equal(seen["mon"], state["mon"])
        assert seen in ours.observation_space
        action = ours.action_space.sample()
        seen, state = ours.step(action)[0], numbers.step(action)[0]


@pytest.mark.parametrize(
    ("single", "vector"),
    [
        (JointDiscrete, VectorJointDiscrete),
        (MultiDiscreteAction, VectorMultiDiscreteAction),
        (ObserveRewardMask, VectorObserveRewardMask),
        (RewardDict, VectorRewardDict),
    ],
)
def test_wrappers_around_tables(single, vector):
    world = looking(np.uint8)
    how = {"monitor": "ask", "observations": "table", "expose_env_reward": True}
    ours = vector(MonMDPVectorEnv(world, num_envs=3, **how))
    if single is RewardDict:  # which no SyncVectorEnv can hold
        one = single(envs.MonMDPEnv(world, **how))
        same(one.reset(seed=3)[0]["env"], ours.reset(seed=3)[0]["env"][0], "reset")
        return
    theirs = SyncVectorEnv([lambda: single(envs.MonMDPEnv(world, **how))] * 3)
    assert walk_alike(ours, theirs, 80) > 0


def test_a_table_shows_copies_and_states_are_chosen_by_number():
    world = looking(np.uint8)
    single = envs.MonMDPEnv(world, "ask", observations="table")
    ours = MonMDPVectorEnv(world, "ask", num_envs=2, observations="table")
    for env in (single, ours):
        seen, _ = env.reset(seed=0, options={"env": 7})
        assert np.array_equal(seen["env"].reshape(-1, 2, 3)[0], world.observations[7])
        seen["env"][:] = 99
        again, _ = env.reset(seed=0, options={"env": 7})
        assert np.array_equal(again["env"].reshape(-1, 2, 3)[0], world.observations[7])
        with pytest.raises(MonMDPError, match="not a state; there are 36"):
            env.reset(options={"env": 36})


@pytest.mark.parametrize("kind", [envs.MonMDPEnv, MonMDPVectorEnv])
def test_a_table_that_is_not_there_is_named(kind):
    with pytest.raises(MonMDPError, match="the world 'loop' has no table of observations"):
        kind("loop", "ask", observations="table")
    with pytest.raises(MonMDPError, match="observations='tabel'; did you mean 'table'"):
        kind("loop", "ask", observations="tabel")


def test_check_env_takes_tables():
    for dtype in DTYPES:
        env = envs.MonMDPEnv(looking(dtype), "ask", observations="table")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env, skip_render_check=True)
