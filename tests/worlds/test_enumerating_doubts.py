"""What an environment may do behind one's back: chance, wrappers with a memory, hidden clocks."""

from __future__ import annotations

import collections
import copy
import datetime
import functools
import random
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from monmdp import MonMDPError, make, solve, worlds
from monmdp.worlds import AliasedWarning, from_environment
from monmdp.worlds.enumerating.frozen import frozen_value
from worlds.test_enumerating import RIGHT, Changed, Clock, Corridor, place, put, refused, ways


def lake(**how):
    return gymnasium.make("FrozenLake-v1", is_slippery=False, **how)


# ---- chance ---------------------------------------------------------------------------------


class Rarely(Corridor):
    """Two steps in a hundred lead to the right, whatever the action."""

    chance = 0.02

    def __init__(self):
        super().__init__(length=30)

    def step(self, action):
        return super().step(RIGHT if self.np_random.random() < self.chance else action)


@ways
def test_rare_chance_is_found(way):
    refused(Rarely(), "the environment is random", **way)


def test_every_pair_is_tried_with_numbers_of_its_own():
    """Also where a user's functions put all attributes back, the generator among them."""

    def snapshot(env):
        return copy.deepcopy(vars(env))

    def restore(env, held):
        vars(env).update(copy.deepcopy(held))

    refused(Rarely(), "the environment is random", snapshot=snapshot, restore=restore, key=place)


class Noise(gymnasium.ActionWrapper):
    """Takes another action in one step of a hundred, by a generator of its own or a global one."""

    def __init__(self, env, generator):
        super().__init__(env)
        self.generator = generator

    def action(self, action):
        generator = random if self.generator is None else self.generator
        return 2 if generator.random() < 0.01 else action


@pytest.mark.parametrize("kind", ["its own", "the environment's", "global"])
@pytest.mark.parametrize("seed", range(5))
def test_a_wrapper_that_draws_around_toy_text_is_refused(kind, seed):
    random.seed(seed)
    env = lake()
    env.reset(seed=seed)
    generator = {"its own": np.random.default_rng(seed), "the environment's": env.np_random}
    refused(Noise(env, generator.get(kind)), "random", seed=seed)


class Slippery(FrozenLakeEnv):
    """Draws beside its table."""

    def step(self, action):
        return super().step(2 if self.np_random.random() < 0.05 else action)


def test_toy_text_whose_steps_are_somebody_elses_is_watched():
    refused(Slippery(is_slippery=False), "random")


# ---- wrappers -------------------------------------------------------------------------------


class Visited(gymnasium.Wrapper):
    """Pays one more at the goal, if cell 9 was visited in this episode."""

    def reset(self, **how):
        self.visited = False
        return self.env.reset(**how)

    def step(self, action):
        seen, reward, ends, truncated, info = self.env.step(action)
        self.visited = self.visited or seen == 9
        return seen, reward + (reward > 0 and self.visited), ends, truncated, info


class EverySecond(gymnasium.Wrapper):
    """Pays for every second step; four of them change nothing."""

    odd = False

    def reset(self, **how):
        self.odd = False
        return self.env.reset(**how)

    def step(self, action):
        self.odd = not self.odd
        seen, reward, *rest = self.env.step(action)
        return seen, reward + self.odd, *rest


class Inside(gymnasium.Wrapper):
    """Writes down what it saw into the environment that it knows."""

    def __init__(self, env):
        super().__init__(env)
        self.base = env.unwrapped

    def reset(self, **how):
        self.base.note = 0
        return self.env.reset(**how)

    def step(self, action):
        result = self.env.step(action)
        self.base.note = max(self.base.note, result[0] == 4)
        return result


def replay(mdp, env, seed=0, steps=200, episodes=10):
    """Walk in both at random; what is paid and seen must be the same."""
    rng = np.random.default_rng(seed)
    for _ in range(episodes):
        seen, _ = env.reset(seed=0)
        s = int(np.argmax(mdp.start))
        for _ in range(steps):
            a = int(rng.integers(mdp.n_actions))
            assert mdp.observations[s].argmax() == seen
            seen, reward, ends, _, _ = env.step(a)
            outcome = s * mdp.n_actions + a
            assert (mdp.reward[outcome], mdp.terminates[outcome]) == (reward, ends)
            s = int(mdp.successor[outcome])
            if ends:
                break


@pytest.mark.filterwarnings("ignore::monmdp.worlds.AliasedWarning")
@pytest.mark.parametrize("wrapper", [Visited, EverySecond, Inside])
def test_a_wrapper_with_a_memory_around_toy_text_is_part_of_the_state(wrapper):
    mdp = from_environment(wrapper(lake().unwrapped))
    assert mdp.n_states > 16
    assert mdp.start.max() == 1
    assert mdp.action_labels == ("LEFT", "DOWN", "RIGHT", "UP")
    replay(mdp, wrapper(lake().unwrapped))


def test_what_is_paid_for_a_visit():
    with pytest.warns(AliasedWarning):
        mdp = from_environment(Visited(lake()))
    assert mdp.r_max == 2
    straight = from_environment(lake())
    assert solve(make(straight, "full"), gamma=0.9).value == pytest.approx(0.9**5)
    assert solve(make(mdp, "full"), gamma=0.9).value == pytest.approx(2 * 0.9**5)


def test_a_wrapper_with_a_memory_and_many_starts():
    class Home(gymnasium.Wrapper):
        """Remembers where it began, and pays there."""

        def reset(self, **how):
            self.home, info = self.env.reset(**how)
            return self.home, info

        def step(self, action):
            seen, _, *rest = self.env.step(action)
            return seen, float(seen == self.home), *rest

    plain = gymnasium.make("CliffWalking-v1").unwrapped
    plain.initial_state_distrib = np.isin(np.arange(48), (0, 36)) / 2
    with pytest.warns(AliasedWarning):
        mdp = from_environment(Home(plain))
    starts = np.flatnonzero(mdp.start)
    assert mdp.start[starts].tolist() == [0.5, 0.5]
    assert sorted(mdp.observations[starts].argmax(axis=1)) == [0, 36]
    up = mdp.reward.reshape(-1, 4)[starts, 0]
    assert sorted(up) == [0, 1]  # from cell 0 it stays where it is


class Scaled(gymnasium.RewardWrapper):
    """Remembers nothing that changes."""

    factor = 2.0

    def reward(self, reward):
        return self.factor * reward


def test_a_wrapper_without_a_memory_costs_little():
    from monmdp.worlds.enumerating import ToyText, _searched
    from monmdp.worlds.enumerating.access import Own

    begun = time.process_time()
    how = (Own(), None, None, 10_000, 0, 1, None)
    taxi = max(key for key in gymnasium.registry if key.startswith("Taxi-v"))
    found, access, _ = _searched(Scaled(gymnasium.make(taxi)), *how)
    assert type(access) is ToyText
    assert len(found.rows) == 404
    assert time.process_time() - begun < 20
    seen = gymnasium.wrappers.RecordEpisodeStatistics(lake())
    assert from_environment(seen).n_states == 16


# ---- what objects hold ----------------------------------------------------------------------


class Cell(int):
    """A number of a class of its own."""


class Bag(list):
    """A list with something beside it."""

    def __init__(self, parts, label):
        super().__init__(parts)
        self.label = label


class Moment(datetime.datetime):
    """A date, which holds nothing that one sees."""


class Stepping(Corridor):
    """Keeps its place in an object, and shows nothing."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def __setattr__(self, name, value):
        super().__setattr__(
            name, self.kind(value) if name == "at" and "kind" in vars(self) else value
        )

    def seen(self):
        return np.zeros(2, dtype=np.int16)


@pytest.mark.filterwarnings("ignore::monmdp.worlds.AliasedWarning")
def test_a_place_of_a_class_of_its_own():
    assert from_environment(Stepping(Cell)).n_states == 10


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Cell(1), Cell(2)),
        (Bag([1], "a"), Bag([1], "b")),
        (Moment(2020, 1, 1), Moment(2020, 1, 2)),
        (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
        (functools.partial(max, 1), functools.partial(max, 2)),
        (collections.Counter("a"), collections.Counter("b")),
        (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
        (iter([1]), iter([2])),
    ],
)
def test_all_that_an_object_holds_is_compared(one, other):
    assert frozen_value(one, "it") != frozen_value(other, "it")
    for thing in (one, [one, one], {"a": one}):
        assert frozen_value(thing, "it") == frozen_value(copy.deepcopy(thing), "it")


def test_equal_numbers_are_equal_whether_they_are_one_object_or_two():
    twice = [Cell(1000), Cell(1000)]
    assert frozen_value(twice, "it") == frozen_value(twice[:1] * 2, "it")


def test_objects_whose_state_cannot_be_seen_are_refused():
    for thing in (__import__("threading").Lock(), (n for n in ()), object()):
        with pytest.raises(MonMDPError, match=r"cannot be compared; say what .* key=…"):
            frozen_value(thing, "it")


# ---- time -----------------------------------------------------------------------------------


class Patient(Clock):
    """Truncates late, and says so or not."""

    limit = 20
    terminates = False

    def change(self, seen, reward, ends, truncated, info):
        self.steps += 1
        over = self.steps >= self.limit
        return seen, reward, ends or (over and self.terminates), over, info


@pytest.mark.parametrize("limit", [20, 200, 999])
def test_a_late_limit_that_a_key_leaves_out_is_found(limit):
    class Late(Patient):
        pass

    Late.limit = limit
    said = refused(Late(), "truncated", "action", key=place)
    assert "or let restore=… set its clock" in said

    def put_and_stop(env, snapshot):
        put(env, snapshot)
        env.unwrapped.steps = 0

    assert from_environment(Late(), snapshot=place, restore=put_and_stop).n_states == 10


def test_a_late_end_that_a_key_leaves_out_is_found():
    class Dying(Clock):
        def change(self, seen, reward, ends, truncated, info):
            self.steps += 1
            return seen, reward, ends or self.steps >= 50, False, info

    said = refused(Dying(), "ends the episode and does not after 50 steps in one go", key=place)
    assert "a clock, say" in said


def test_a_place_is_not_taken_for_a_clock():
    said = refused(Corridor(length=400), "more than 100 states", limit=100)
    assert "counts" not in said
    refused(Clock(), "'steps' counts the steps; if that is all it does", limit=100)


def test_rewards_that_differ_little_are_written_out():
    class Now(Changed):
        def change(self, seen, reward, ends, truncated, info):
            self.now = getattr(self, "now", 1_795_120_000.0) + 0.25
            return seen, self.now, ends, truncated, info

    said = refused(Now(), "pays 17951200", key=place)
    one, other = said.partition("pays ")[2].split()[:3:2]
    assert one != other


# ---- words ----------------------------------------------------------------------------------


def test_too_many_states_are_for_deep_agents():
    said = refused(Corridor(), "limit=… allows more", limit=9)
    assert "envs.AddMonitor(env, 'ask')" in said
    assert "deep agent" in said


def test_terminal_states_that_look_the_same_do_no_harm():
    import warnings

    class Deaf(Corridor):
        """Does not show the coin at the end."""

        def seen(self):
            return np.array([self.at, self.coin and self.at < 4], dtype=np.int16)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mdp = from_environment(Deaf())
    assert len(worlds.lookalikes(mdp)) == 1


@pytest.mark.filterwarnings("ignore:.*Using the latest versioned")
@pytest.mark.parametrize("word", ["no", "No", "false", "0"])
def test_words_for_no(word):
    for name in ("env:FrozenLake-v1", "gymnasium:FrozenLake-v1"):
        mdp = worlds.make(name, is_slippery=word)
        assert (mdp.n_states, len(mdp.successor)) == (16, 64)
    for name in ("env:FrozenLake", "env:gymnasium.envs.toy_text:FrozenLake-v1"):
        assert worlds.make(name, is_slippery=word).n_states == 16


def test_words_that_are_neither_yes_nor_no():
    with pytest.raises(MonMDPError, match="is_slippery must be true or false, got 'maybe'"):
        worlds.make("env:FrozenLake-v1", is_slippery="maybe")
    with pytest.raises(MonMDPError, match="random"):
        worlds.make("env:FrozenLake-v1", is_slippery="yes")


def test_what_gymnasium_cannot_make():
    with pytest.raises(MonMDPError) as caught:
        worlds.make("env:ALE/Pong-v5")
    assert "did you mean" not in str(caught.value)
    assert "a package must be installed" in str(caught.value)
    assert "ale_py:ALE/Pong-v5" in str(caught.value)
    with pytest.raises(MonMDPError, match="with map_name='9x9': KeyError: '9x9'"):
        worlds.make("env:FrozenLake-v1", map_name="9x9")


def test_actions_are_named_once():
    with pytest.raises(MonMDPError, match=r"actions are 0, 1, 2$"):
        from_environment(Corridor(), button=("0", "7"))
    with pytest.raises(MonMDPError, match="actions are 0 LEFT, 1 DOWN"):
        from_environment(lake(), button=("0,0", "7"))


def test_what_a_deep_agent_needs_to_know():
    from monmdp.agents import view_of
    from monmdp.envs import AddMonitor

    with pytest.raises(MonMDPError, match="give r_min=… and r_max=…"):
        view_of(AddMonitor(gymnasium.make("CartPole-v1"), "ask"))
    with pytest.raises(MonMDPError, match=r"a Box.*FlattenObservation.*ImgObsWrapper\(FullyObs"):
        view_of(AddMonitor(lake(), "ask"), r_min=0, r_max=1)
    flat = gymnasium.wrappers.FlattenObservation(lake())
    assert view_of(AddMonitor(flat, "ask"), r_min=0, r_max=1).observation == (16,)
