"""A hidden reward is out of reach: of arrays handed out, of info, and of attributes."""

import gc

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

import monmdp
from monmdp.envs import AddMonitor, MonMDPVectorEnv

REWARD = 7.25
COPIES = 512


def one_state(reward=REWARD):
    """A world whose every step has the same reward, which no other number resembles."""
    return monmdp.MDP.from_outcomes(
        [(0, 0, 0, 1.0, reward, False, False)],
        name="one", n_states=1, n_actions=1, start=[1.0], time_limit=10,
    )  # fmt: skip


def hiding(**options):
    """Many copies of it under a monitor that shows a reward to those who ask, and none asks."""
    env = MonMDPVectorEnv(one_state(), "ask", num_envs=COPIES, **options)
    env.reset(seed=0)
    return env


def idle():
    return {key: np.zeros(COPIES, dtype=np.int64) for key in ("env", "mon")}


def reached_from(thing, seen):
    """All arrays that a thing leads to: what it holds, and what its arrays are views of."""
    if id(thing) in seen or thing is None:
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        yield thing
        yield from reached_from(thing.base, seen)
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from reached_from(value, seen)
    elif isinstance(thing, tuple | list):
        for value in thing:
            yield from reached_from(value, seen)


@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_nothing_a_vector_step_returns_leads_to_a_hidden_reward(render_mode):
    env = hiding(render_mode=render_mode)
    for _ in range(12):  # episodes end on the way
        returned = env.step(idle())
        arrays = list(reached_from(returned, {}))
        assert len(arrays) >= 10
        assert all(array.base is None for array in arrays)
        assert not any((array == REWARD).any() for array in arrays)


def test_a_vector_environment_leaves_no_hidden_reward_in_memory():
    """Neither in what it keeps, nor in memory it gives back, which others are handed."""
    # What other tests of this process left behind is kept alive, so that no new array takes its id.
    before = [of for of in gc.get_objects() if isinstance(of, np.ndarray)]
    env = hiding()
    model = {id(a) for a in vars(env.monmdp.mdp).values()} | {id(a) for a in env.monmdp.tables}
    model |= {id(of) for of in before}
    for _ in range(12):
        env.step(idle())
        found = [np.empty(COPIES) for _ in range(20)]
        assert not any((array == REWARD).any() for array in found)
    gc.collect()
    of_its_size = (
        of for of in gc.get_objects() if isinstance(of, np.ndarray) and id(of) not in model
    )
    assert not any((of == REWARD).any() for of in of_its_size if of.size >= COPIES)
    kept = [of for of in vars(env).values() if isinstance(of, tuple)]
    assert not any((array == REWARD).any() for array in reached_from(kept, dict.fromkeys(model)))


def test_shown_and_exposed_rewards_still_arrive():
    asked = idle() | {"mon": np.ones(COPIES, dtype=np.int64)}
    *_, info = hiding().step(asked)
    assert (info["proxy_reward"] == REWARD).all()
    *_, info = hiding(expose_env_reward=True).step(idle())
    assert (info["env_reward"] == REWARD).all()
    assert info["env_reward"].base is None


class Telltale(gymnasium.Env):
    """Tells its reward wherever it can."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.last_reward = self.return_queue = REWARD

    def _info(self):
        return {
            "metrics": {"reward": REWARD},
            "return": REWARD,
            "score": [REWARD],
            "final_info": {"episode": {"r": REWARD}},
            "return_queue": np.full(3, REWARD),
            "r": REWARD,
            0: REWARD,
            "lives": 3,
            "action_mask": np.ones(2, np.int8),
            "TimeLimit.truncated": False,
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, self._info()

    def step(self, action):
        return 0, REWARD, False, False, self._info()

    def action_masks(self):
        return np.ones(2, np.int8)


PASSING = {"action_mask", "TimeLimit.truncated"}
OURS = {"reward_observed", "monitor_reward", "proxy_reward"}


@pytest.mark.parametrize("named", [(), ("lives",)])
def test_of_a_wrapped_environments_info_only_listed_names_pass(named):
    inner = RecordEpisodeStatistics(TimeLimit(Telltale(), 3))
    env = AddMonitor(inner, "ask", lets_through=named)
    _, info = env.reset(seed=0)
    for _ in range(3):
        assert set(info) == PASSING | OURS | set(named)
        assert "7.25" not in str(info)
        _, reward, _, truncated, info = env.step({"env": 0, "mon": 0})
        assert reward == 0.0
    assert truncated
    assert "episode" not in info


@pytest.mark.parametrize("name", ["return_queue", "episode_returns", "last_reward"])
def test_attributes_below_the_monitor_are_not_handed_on(name):
    env = TimeLimit(AddMonitor(RecordEpisodeStatistics(Telltale()), "ask"), 9)
    env.reset(seed=0)
    env.step({"env": 0, "mon": 0})
    assert not env.has_wrapper_attr(name)
    with pytest.raises(AttributeError, match="has no attribute") as error:
        env.get_wrapper_attr(name)
    assert "lets_through" in str(error.value.__cause__)
    many = gymnasium.vector.SyncVectorEnv([lambda: env])
    with pytest.raises(AttributeError):
        many.get_attr(name)
    assert env.has_wrapper_attr("action_masks")
    assert env.get_wrapper_attr("action_masks")().tolist() == [1, 1]
    assert env.get_wrapper_attr("fill") == 0.0
    named = AddMonitor(RecordEpisodeStatistics(Telltale()), "ask", lets_through=[name])
    assert named.has_wrapper_attr(name)


def test_an_evaluator_gets_everything():
    env = AddMonitor(Telltale(), "ask", expose_env_reward=True)
    env.reset(seed=0)
    *_, info = env.step({"env": 0, "mon": 0})
    assert set(info) == {*Telltale()._info(), *OURS, "env_reward"}
    assert env.get_wrapper_attr("last_reward") == REWARD


@pytest.mark.parametrize("wrong", ["lives", 3, None, ["lives", 3]])
def test_what_lets_through_takes(wrong):
    with pytest.raises(monmdp.MonMDPError, match="lets_through must be a list of names"):
        AddMonitor(Telltale(), "ask", lets_through=wrong)
