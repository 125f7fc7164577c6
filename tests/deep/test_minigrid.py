"""MiniGrid as exact worlds: counts, values, replays, and what is refused."""

from __future__ import annotations

import copy
import random
import time
import warnings

import numpy as np
import pytest

from deep.conftest import ROOT, run_blocks
from monmdp import MonMDPError, make, solve, worlds
from monmdp.envs import MonMDPEnv, MonMDPVectorEnv
from monmdp.worlds import AliasedWarning, from_environment, lookalikes

minigrid = pytest.importorskip("minigrid")
gymnasium = pytest.importorskip("gymnasium")

from minigrid.core.grid import Grid  # noqa: E402
from minigrid.core.mission import MissionSpace  # noqa: E402
from minigrid.core.world_object import Ball, Door, Goal  # noqa: E402
from minigrid.envs.empty import EmptyEnv  # noqa: E402
from minigrid.minigrid_env import MiniGridEnv  # noqa: E402
from minigrid.wrappers import (  # noqa: E402
    FullyObsWrapper,
    ImgObsWrapper,
    PositionBonus,
    StochasticActionWrapper,
)

GRIDS = {
    "Empty-8x8": 142,
    "LavaCrossingS9N1": 183,
    "DoorKey-5x5": 270,
    "FourRooms": 1040,
    "DoorKey-6x6": 1294,
    "DoorKey-8x8": 9210,
}
PAGE = ROOT / "docs" / "howto" / "enumerate.md"
SECONDS = 2.0


@pytest.fixture(scope="module")
def grids():
    """Each grid, and the CPU seconds it took."""
    found = {}
    for name in GRIDS:
        begun = time.process_time()
        mdp = worlds.make(f"env:MiniGrid-{name}-v0")
        found[name] = mdp, time.process_time() - begun
    return found


def value_iteration(mdp, gamma):
    """Plain, over arrays; the value of the first state."""
    successor = mdp.successor.reshape(mdp.n_states, mdp.n_actions)
    reward = mdp.reward.reshape(successor.shape)
    goes_on = ~mdp.terminates.reshape(successor.shape)
    value = np.zeros(mdp.n_states)
    while True:
        new = (reward + gamma * goes_on * value[successor]).max(axis=1)
        if np.abs(new - value).max() < 1e-12:
            return float(mdp.start @ new)
        value = new


@pytest.mark.parametrize("name", GRIDS)
def test_six_grids(grids, name):
    mdp, seconds = grids[name]
    assert (mdp.n_states, mdp.n_actions) == (GRIDS[name], 7)
    assert seconds <= SECONDS
    assert lookalikes(mdp) == []
    assert (mdp.r_min, mdp.r_max) == (0.0, 1.0)
    assert set(np.unique(mdp.reward)) == {0.0, 1.0}
    value = value_iteration(mdp, 0.99)
    assert value > 0.1
    assert solve(make(mdp, "full"), gamma=0.99).value == pytest.approx(value, abs=1e-6)


def still(env):
    """Set the clock so that success pays 1."""
    env.unwrapped.step_count = -1


@pytest.mark.parametrize("name", GRIDS)
def test_the_world_replays_minigrid(grids, name):
    mdp, _ = grids[name]
    env = FullyObsWrapper(gymnasium.make(f"MiniGrid-{name}-v0").unwrapped)
    rng = np.random.default_rng(1)
    ended = 0
    for _ in range(12):
        observation, _ = env.reset(seed=0)
        s = int(np.argmax(mdp.start))
        for a in rng.choice(7, size=120, p=[0.15, 0.15, 0.4, 0.1, 0.05, 0.1, 0.05]):
            assert np.array_equal(mdp.observations[s], observation["image"])
            column, row = env.unwrapped.agent_pos
            assert mdp.places[s].tolist() == [row, column]
            still(env)
            observation, reward, terminated, truncated, _ = env.step(a)
            outcome = s * 7 + a
            assert (mdp.reward[outcome], mdp.terminates[outcome]) == (reward, terminated)
            assert not truncated
            s = int(mdp.successor[outcome])
            if terminated:
                ended += 1
                assert np.array_equal(mdp.observations[s], observation["image"])
                break
    assert ended or name not in ("Empty-8x8", "LavaCrossingS9N1")


def test_the_optimal_policy_reaches_the_goal_of_the_real_environment(grids):
    mdp, _ = grids["DoorKey-8x8"]
    greedy = solve(make(mdp, "full")).minimax.greedy.argmax(axis=1)
    env = gymnasium.make("MiniGrid-DoorKey-8x8-v0")
    env.reset(seed=0)
    s, over = int(np.argmax(mdp.start)), False
    while not over:
        _, reward, over, truncated, _ = env.step(greedy[s])
        assert not truncated
        s = int(mdp.successor[s * 7 + greedy[s]])
    assert reward > 0


def test_names_places_and_limits(grids):
    mdp, _ = grids["DoorKey-5x5"]
    assert mdp.action_labels == ("left", "right", "forward", "pickup", "drop", "toggle", "done")
    assert mdp.name == "MiniGrid-DoorKey-5x5-v0"
    assert mdp.time_limit == 250
    assert mdp.picture is None
    assert mdp.places.shape == (270, 2)
    assert mdp.state_labels[0] == "3,1 left"
    assert "3,1 left carrying key" in mdp.state_labels
    assert any(label.endswith("door open") for label in mdp.state_labels)
    assert len(set(mdp.state_labels)) == 270
    env = MonMDPEnv(mdp, "ask", observations="table")
    assert env.observation_space["env"].shape == (5, 5, 3)
    vector = MonMDPVectorEnv(mdp, "ask", num_envs=3, observations="table")
    seen, _ = vector.reset(seed=0)
    assert np.array_equal(seen["env"], np.stack([mdp.observations[0]] * 3))
    assert make(mdp, "button", button="3,1 left:toggle").shape.n_monitor_states == 2


def test_the_window_of_the_agent_shows_too_little():
    env = ImgObsWrapper(gymnasium.make("MiniGrid-Empty-8x8-v0"))
    with pytest.warns(
        AliasedWarning, match="140 states to act in, but only 86 different observations"
    ):
        mdp = from_environment(env)
    assert mdp.observations.shape == (142, 7, 7, 3)
    assert len({row.tobytes() for row in mdp.observations}) == 86
    one, other = lookalikes(mdp)[0]
    assert np.array_equal(mdp.observations[one], mdp.observations[other])


def test_wrappers_that_show_a_dictionary():
    env = FullyObsWrapper(gymnasium.make("MiniGrid-DoorKey-5x5-v0"))
    ours, theirs = from_environment("MiniGrid-DoorKey-5x5-v0"), from_environment(env)
    for field in ("successor", "reward", "terminates", "observations", "places", "state_labels"):
        assert np.array_equal(getattr(ours, field), getattr(theirs, field)), field


def test_copies_and_snapshots_find_the_same():
    from monmdp.worlds.enumerating import CopiedMiniGrid, Own, Search

    ours = from_environment("MiniGrid-DoorKey-5x5-v0")
    access = CopiedMiniGrid(gymnasium.make("MiniGrid-DoorKey-5x5-v0"), Own())
    names = list(enumerate(ours.action_labels))
    found = Search(access, names, limit=1000).run(seed=0, starts=1)
    # A copy also knows in which form the key's place is noted: some states come twice.
    number = {row.tobytes(): s for s, row in enumerate(ours.observations)}
    same = [number[row.tobytes()] for row in found.rows]
    assert set(same) == set(range(270))
    for s, a, t, reward, terminated in found.steps:
        outcome = same[s] * 7 + a
        assert (same[t], reward) == (ours.successor[outcome], ours.reward[outcome])
        assert terminated == ours.terminates[outcome]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_makes_the_grid(seed):
    mdp = worlds.make("env:MiniGrid-LavaCrossingS9N1-v0", seed=seed)
    env = FullyObsWrapper(gymnasium.make("MiniGrid-LavaCrossingS9N1-v0"))
    observation, _ = env.reset(seed=seed)
    assert np.array_equal(mdp.observations[np.argmax(mdp.start)], observation["image"])


def test_several_starts_in_one_grid_and_in_several():
    """Empty-Random has one grid; those of DoorKey differ in walls, or only in the key's place."""
    one = worlds.make("env:MiniGrid-Empty-Random-5x5-v0")
    many = worlds.make("env:MiniGrid-Empty-Random-5x5-v0", starts=15)
    assert (one.start > 0).sum() == 1
    assert (many.start > 0).sum() > 5
    assert many.start.sum() == pytest.approx(1)
    assert {r.tobytes() for r in one.observations} <= {r.tobytes() for r in many.observations}
    assert many.n_states <= one.n_states + 4
    doors = worlds.make("env:MiniGrid-DoorKey-5x5-v0", starts=4)
    alone = [worlds.make("env:MiniGrid-DoorKey-5x5-v0", seed=seed) for seed in range(4)]
    seen = {row.tobytes() for mdp in alone for row in mdp.observations}
    assert {row.tobytes() for row in doors.observations} == seen
    assert any(label.endswith("grid 2") for label in doors.state_labels)
    env = FullyObsWrapper(gymnasium.make("MiniGrid-DoorKey-5x5-v0").unwrapped)
    number = {row.tobytes(): s for s, row in enumerate(doors.observations)}
    rng = np.random.default_rng(0)
    for seed in range(4):
        observation, _ = env.reset(seed=seed)
        s = number[observation["image"].tobytes()]
        assert doors.start[s] > 0
        for a in rng.choice(7, size=150):
            still(env)
            observation, *_, over, _, _ = env.step(a)
            s = int(doors.successor[s * 7 + a])
            assert np.array_equal(doors.observations[s], observation["image"])
            if over:
                break


def test_actions_by_name():
    few = worlds.make("env:MiniGrid-DoorKey-5x5-v0", actions="left,right,forward,pickup,toggle")
    assert few.action_labels == ("left", "right", "forward", "pickup", "toggle")
    assert few.n_states < 270
    with pytest.raises(MonMDPError, match="unknown action 'forwrd'; did you mean 'forward'"):
        worlds.make("env:MiniGrid-DoorKey-5x5-v0", actions="forwrd")


def test_more_states_than_the_limit_and_chance_are_refused():
    with pytest.raises(MonMDPError, match="more than 10,000 states, the limit; limit=… allows"):
        worlds.make("env:MiniGrid-BlockedUnlockPickup-v0")
    with pytest.raises(MonMDPError, match=r"random: state 0 \(the start\), action 'left' leads to"):
        worlds.make("env:MiniGrid-Dynamic-Obstacles-5x5-v0")
    bare = gymnasium.make("MiniGrid-Empty-5x5-v0")
    with pytest.raises(MonMDPError, match="random"):
        from_environment(StochasticActionWrapper(bare, prob=0.9))
    with pytest.raises(MonMDPError, match="more than 300 states"):  # its counts are part of them
        from_environment(PositionBonus(bare), limit=300)


def test_the_environment_is_left_as_it_was():
    env = gymnasium.make("MiniGrid-DoorKey-5x5-v0")
    env.reset(seed=3)
    from_environment(env)
    fresh = gymnasium.make("MiniGrid-DoorKey-5x5-v0")
    one, other = env.reset(seed=3)[0], fresh.reset(seed=3)[0]
    assert np.array_equal(one["image"], other["image"])
    for a in np.random.default_rng(0).integers(7, size=50):
        one, other = env.step(a), fresh.step(a)
        assert np.array_equal(one[0]["image"], other[0]["image"])
        assert one[1:4] == other[1:4]
    assert isinstance(env.unwrapped.np_random, np.random.Generator)


# ---- grids of one's own ---------------------------------------------------------------------


class Own(MiniGridEnv):
    """A room with a ball, a door and a goal."""

    def __init__(self, **how):
        space = MissionSpace(mission_func=lambda: "go")
        super().__init__(mission_space=space, grid_size=5, max_steps=50, **how)

    def _gen_grid(self, width, height):
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        self.put_obj(Goal(), 3, 3)
        self.put_obj(Ball("red"), 2, 2)
        self.put_obj(Door("blue"), 2, 1)
        self.agent_pos, self.agent_dir = (1, 1), 0
        self.mission = "go"
        self.toggles = 0


class Counting(Own):
    """Pays for the third toggle: something that is not in the grid, which has no ball."""

    def _gen_grid(self, width, height):
        super()._gen_grid(width, height)
        self.grid.set(2, 2, None)

    def step(self, action):
        result = list(super().step(action))
        if action == self.actions.toggle:
            self.toggles = (self.toggles + 1) % 3
            result[1] += self.toggles == 0
        return tuple(result)


class Dice(Own):
    """Throws dice that MiniGrid does not know of."""

    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, reward + random.randint(0, 1), *rest


def test_a_grid_of_ones_own_with_more_in_it():
    with pytest.warns(AliasedWarning):
        counting = from_environment(Counting())
    assert counting.n_states % 3 == 0
    env = Counting()
    rng = np.random.default_rng(0)
    for _ in range(20):
        env.reset(seed=0)
        s = int(np.argmax(counting.start))
        for a in rng.choice(7, size=60, p=[0.15, 0.15, 0.3, 0.1, 0.1, 0.15, 0.05]):
            still(env)
            _, reward, over, *_ = env.step(a)
            assert counting.reward[s * 7 + a] == reward
            s = int(counting.successor[s * 7 + a])
            if over:
                break


def test_dice_of_ones_own_are_found():
    with pytest.raises(MonMDPError, match="random"):
        from_environment(Dice())


class Drunk(EmptyEnv):
    """Now and then goes forward, whatever the action."""

    def __init__(self, chance, drawing="the environment's"):
        super().__init__(size=5)
        self.chance, self.drawing = chance, drawing
        self.own = np.random.default_rng(0)

    def step(self, action):
        source = {"the environment's": self.np_random, "its own": self.own, "global": random}
        return super().step(2 if source[self.drawing].random() < self.chance else action)


@pytest.mark.parametrize("drawing", ["the environment's", "its own", "global"])
@pytest.mark.parametrize("chance", [0.01, 0.02, 0.08])
def test_rare_chance_is_found(chance, drawing):
    random.seed(0)
    with pytest.raises(MonMDPError, match="random"):
        from_environment(Drunk(chance, drawing))
    with pytest.raises(MonMDPError, match="random"):
        from_environment(Drunk(chance, drawing), key=lambda env: (*env.agent_pos, env.agent_dir))
    with pytest.raises(MonMDPError, match="random"):
        from_environment(ImgObsWrapper(FullyObsWrapper(Drunk(chance, drawing))))


def test_snapshots_of_ones_own():
    """All attributes, copied: also the generator that is watched."""

    def snapshot(env):
        return copy.deepcopy({name: vars(env.unwrapped)[name] for name in names})

    def restore(env, held):
        vars(env.unwrapped).update(copy.deepcopy(held))

    def where(env):
        return *map(int, env.unwrapped.agent_pos), env.unwrapped.agent_dir

    names = "grid", "agent_pos", "agent_dir", "carrying", "_np_random"
    how = {"snapshot": snapshot, "restore": restore, "key": where}
    mdp = from_environment("MiniGrid-Empty-5x5-v0", **how)
    assert mdp.n_states == worlds.make("env:MiniGrid-Empty-5x5-v0").n_states
    with pytest.raises(MonMDPError, match="random"):
        from_environment(Drunk(0.02), **how)


class Lucky(gymnasium.Wrapper):
    """Pays one more at the goal if the agent was at column 1, row 3 in this episode."""

    def reset(self, **how):
        self.lucky = False
        return self.env.reset(**how)

    def step(self, action):
        seen, reward, ends, *rest = self.env.step(action)
        self.lucky = self.lucky or tuple(self.unwrapped.agent_pos) == (1, 3)
        return seen, reward + (self.lucky and ends), ends, *rest


class Beat(gymnasium.Wrapper):
    """Pays for every second step."""

    def reset(self, **how):
        self.beat = False
        return self.env.reset(**how)

    def step(self, action):
        self.beat = not self.beat
        seen, reward, *rest = self.env.step(action)
        return seen, reward + self.beat, *rest


@pytest.mark.parametrize("wrapper", [Lucky, Beat])
def test_a_wrapper_with_a_memory_is_part_of_the_state(wrapper):
    with pytest.warns(AliasedWarning):
        mdp = from_environment(
            wrapper(gymnasium.make("MiniGrid-Empty-5x5-v0")), actions="left,right,forward,done"
        )
    assert mdp.r_max == 2
    env, rng = wrapper(gymnasium.make("MiniGrid-Empty-5x5-v0")), np.random.default_rng(0)
    for _ in range(20):
        env.reset(seed=0)
        s = int(np.argmax(mdp.start))
        for a in rng.integers(4, size=60):
            still(env)
            _, reward, over, *_ = env.step(6 if a == 3 else a)
            assert (mdp.reward[s * 4 + a], mdp.terminates[s * 4 + a]) == (reward, over)
            s = int(mdp.successor[s * 4 + a])
            if over:
                break


def test_wrappers_that_show_something_of_the_reset_at_several_starts():
    """DirectionObsWrapper remembers where the goal of the last reset was."""

    def env():
        return gymnasium.make("MiniGrid-LavaCrossingS9N1-v0").unwrapped

    class Column(gymnasium.ObservationWrapper):
        def __init__(self, env):
            super().__init__(env)
            self.observation_space = gymnasium.spaces.Box(0, 99, (2,), np.int16)

        def reset(self, **how):
            seen, info = self.env.reset(**how)
            cells = self.unwrapped.grid.grid
            self.mark = sum(i for i, cell in enumerate(cells) if cell and cell.type == "lava")
            return self.observation(seen), info

        def observation(self, seen):
            return np.array([self.mark % 97, self.unwrapped.agent_dir], dtype=np.int16)

    with pytest.warns(AliasedWarning):
        mdp = from_environment(Column(env()), starts=3)
    marks = {label.partition("grid ")[2]: set() for label in mdp.state_labels}
    assert len(marks) > 1
    for label, (mark, _) in zip(mdp.state_labels, mdp.observations.tolist(), strict=True):
        marks[label.partition("grid ")[2].split()[0]].add(mark)
    assert all(len(found) == 1 for found in marks.values())


class Leaving(Own):
    """Truncates when the agent says that it is done."""

    def step(self, action):
        seen, reward, ends, truncated, info = super().step(action)
        return seen, reward, ends, truncated or action == self.actions.done, info


class Looking(Own):
    """Pays for seeing the goal, and looks at the view for that."""

    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, reward + float((seen["image"][:, :, 0] == 8).any()), *rest


def test_steps_of_ones_own():
    with pytest.raises(MonMDPError, match=r"'done': the environment ended the episode itself"):
        from_environment(Leaving())
    looking = from_environment(Looking())
    assert set(looking.reward[~looking.terminates]) == {0.0, 1.0}


def test_a_grid_of_ones_own_alone_is_as_fast_as_minigrids():
    from monmdp.worlds.enumerating import MiniGrid
    from monmdp.worlds.enumerating import Own as Said

    assert MiniGrid(Own(), Said()).proven
    assert MiniGrid(gymnasium.make("MiniGrid-KeyCorridorS3R1-v0"), Said()).proven
    assert not MiniGrid(Leaving(), Said()).proven
    assert not MiniGrid(Lucky(Own()), Said()).proven


def test_the_blocks_of_the_page_run(tmp_path, monkeypatch, capsys):
    """And print what stands below them."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AliasedWarning)
        assert run_blocks(PAGE, capsys) == 7
