"""Enumerated environments: exact, or refused with the place."""

from __future__ import annotations

import random
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from monmdp import MonMDPError, make, solve, worlds
from monmdp.worlds import AliasedWarning, enumerating, from_environment, lookalikes

LEFT, RIGHT, TAKE = range(3)


class Corridor(gymnasium.Env):
    """Five cells; a coin in cell 1 that can be taken once; the last cell ends the episode."""

    def __init__(self, length=5):
        self.length = length
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(0, length, (2,), np.int16)
        self.at, self.coin = 0, True

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.coin = 0, True
        return self.seen(), {}

    def seen(self):
        return np.array([self.at, self.coin], dtype=np.int16)

    def step(self, action):
        reward = -0.1
        if action == TAKE:
            if self.coin and self.at == 1:
                self.coin, reward = False, 0.5
        else:
            self.at = max(0, self.at + (1 if action == RIGHT else -1))
        ends = self.at == self.length - 1
        return self.seen(), 1.0 if ends else reward, ends, False, {}


class Changed(Corridor):
    """A corridor one of whose steps is another."""

    def step(self, action):
        return self.change(*super().step(action))


class Slipping(Changed):
    """Now and then a step leads back to the start."""

    def change(self, seen, reward, ends, truncated, info):
        if self.at == 2 and self.np_random.random() < 0.3:
            self.at = 0
        return self.seen(), reward, self.at == self.length - 1, truncated, info


class Gambling(Changed):
    """Pays by a generator that is not the environment's own."""

    def change(self, seen, reward, ends, truncated, info):
        return seen, round(random.random()), ends, truncated, info


class Harmless(Changed):
    """Draws random numbers and does nothing with them."""

    def change(self, *result):
        self.np_random.random()
        return result


class Clock(Changed):
    """Counts its steps, and pays less and less."""

    steps = 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed, options=options)

    def change(self, seen, reward, ends, truncated, info):
        self.steps += 1
        return seen, reward - 0.01 * self.steps, ends, truncated, info


class Impatient(Clock):
    """Counts its steps, and truncates."""

    def change(self, seen, reward, ends, truncated, info):
        self.steps += 1
        return seen, reward, ends, self.steps >= 3, info


class Blind(Corridor):
    """Does not see whether the coin is there."""

    def seen(self):
        return np.array([self.at, 0], dtype=np.int16)


def place(env):
    return env.unwrapped.at, env.unwrapped.coin


def put(env, snapshot):
    env.unwrapped.at, env.unwrapped.coin = snapshot


WAYS = {
    "copies": {},
    "copies and a key": {"key": place},
    "snapshots": {"snapshot": place, "restore": put},
    "snapshots and a key": {"snapshot": place, "restore": put, "key": place},
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def replayed(mdp, env, actions, seed=0, clock=None):
    """Walk both and compare everything that can be seen of either."""
    observation, _ = env.reset(seed=seed)
    s = int(np.argmax(mdp.start))
    assert mdp.start[s] == 1
    for a in actions:
        assert np.array_equal(mdp.observations[s], observation)
        if clock is not None:
            clock(env)
        observation, reward, terminated, _, _ = env.step(a)
        outcome = mdp.first[s * mdp.n_actions + a]
        assert mdp.first[s * mdp.n_actions + a + 1] == outcome + 1
        assert mdp.probability[outcome] == 1
        assert mdp.reward[outcome] == reward
        assert mdp.terminates[outcome] == terminated
        s = int(mdp.successor[outcome])
        if terminated:
            assert np.array_equal(mdp.observations[s], observation)
            return


@ways
def test_all_states_of_a_corridor(way):
    mdp = from_environment(Corridor(), **way)
    # four cells in which it goes on, with and without the coin, and the end with and without
    assert (mdp.n_states, mdp.n_actions) == (10, 3)
    assert mdp.name == "Corridor"
    assert mdp.observations.dtype == np.int16
    assert sorted(map(tuple, mdp.observations.tolist())) == sorted(
        (at, coin) for at in range(5) for coin in range(2)
    )
    assert lookalikes(mdp) == []
    assert (mdp.r_min, mdp.r_max, mdp.time_limit, mdp.picture) == (-0.1, 1.0, None, None)
    assert mdp.action_labels == ("0", "1", "2")
    over = mdp.observations[:, 0] == 4
    for s in np.flatnonzero(over):
        pairs = slice(s * 3, s * 3 + 3)
        assert (mdp.successor[pairs] == s).all()
        assert mdp.terminates[pairs].all()
        assert (mdp.reward[pairs] == 0).all()
    # 0 -> 1, take the coin, 1 -> 4
    expected = -0.1 + 0.9 * 0.5 - 0.9**2 * 0.1 - 0.9**3 * 0.1 + 0.9**4
    assert solve(make(mdp, "full"), gamma=0.9).value == pytest.approx(expected)


@pytest.fixture(scope="module")
def corridor():
    return from_environment(Corridor())


@given(st.lists(st.integers(0, 2), max_size=40))
def test_the_world_replays_the_environment(corridor, actions):
    replayed(corridor, Corridor(), actions)


@st.composite
def automata(draw):
    """Any deterministic automaton: successor, reward, end, and what is seen."""
    n, k = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    table = st.lists(
        st.lists(st.integers(0, n - 1), min_size=k, max_size=k), min_size=n, max_size=n
    )
    rewards = draw(table)
    ends = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return draw(table), rewards, ends


class Automaton(gymnasium.Env):
    def __init__(self, successor, rewards, ends):
        self.tables = successor, rewards, ends
        self.action_space = spaces.Discrete(len(successor[0]), start=2)
        self.observation_space = spaces.Discrete(len(successor))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action):
        successor, rewards, ends = self.tables
        pays = rewards[self.at][action - 2]
        self.at = successor[self.at][action - 2]
        return self.at, float(pays), ends[self.at], False, {}


@settings(deadline=None)
@given(automata(), st.lists(st.integers(0, 2), max_size=30))
def test_any_automaton(automaton, actions):
    successor, rewards, ends = automaton
    reached, waiting = {0}, [0]
    for s in waiting:  # plain breadth-first search, as a witness
        for t in successor[s]:
            if t not in reached:
                reached.add(t)
                if not ends[t]:
                    waiting.append(t)
    mdp = from_environment(Automaton(*automaton), key=lambda env: env.at)
    assert mdp.n_states == len(reached)
    assert mdp.action_labels == tuple(str(2 + a) for a in range(mdp.n_actions))
    numbers = sorted(reached)
    assert mdp.observations.argmax(axis=1).tolist() == numbers
    at, s = 0, numbers.index(0)
    for a in actions:
        outcome = s * mdp.n_actions + a % mdp.n_actions
        assert mdp.reward[outcome] == rewards[at][a % mdp.n_actions]
        at, s = successor[at][a % mdp.n_actions], int(mdp.successor[outcome])
        assert (numbers[s], mdp.terminates[outcome]) == (at, ends[at])
        if ends[at]:
            break


# ---- what is refused ------------------------------------------------------------------------


def refused(env, *words, **how):
    with pytest.raises(MonMDPError) as error:
        from_environment(env, **how)
    for word in words:
        assert word in str(error.value)
    return str(error.value)


@ways
def test_a_random_step_is_refused_with_both_results(way):
    said = refused(Slipping(), "the environment is random: state ", **way)
    assert "(after 1), action '1' leads to state" in said
    assert said.count("state ") == 3


@ways
def test_randomness_from_elsewhere_is_found(way):
    said = refused(Gambling(), "the environment is random", "(the start), action '0' pays", **way)
    assert "0 and 1" in said or "1 and 0" in said


@ways
def test_random_numbers_that_do_not_matter_do_no_harm(way, corridor):
    mdp = from_environment(Harmless(), **way)
    assert np.array_equal(mdp.successor, corridor.successor)
    assert np.array_equal(mdp.reward, corridor.reward)


def test_time_in_the_reward_is_found():
    key = {"key": place}
    said = refused(Clock(), "pays", "a clock, say", "reward=…", **key)
    assert "after another way there" in said
    # a restore that leaves the clock running
    said = refused(Clock(), "pays", **WAYS["snapshots"])
    assert "action" in said
    # the clock is in the state: then there is no end to the states, and the limit says why
    said = refused(Clock(), "more than 300 states", "'steps' counts the steps", limit=300)
    assert "key=…" in said


def test_a_clock_can_be_set_or_its_reward_replaced():
    def put_and_stop(env, snapshot):
        put(env, snapshot)
        env.unwrapped.steps = -1

    stopped = from_environment(Clock(), snapshot=place, restore=put_and_stop)
    plain = from_environment(Corridor())
    assert np.array_equal(stopped.reward, plain.reward)

    def timeless(seen, action, then, reward):
        return 1.0 if then[0] == 4 else 0.0

    replaced = from_environment(Clock(), key=place, reward=timeless)
    assert np.array_equal(replaced.successor, plain.successor)
    assert sorted(set(replaced.reward.tolist())) == [0.0, 1.0]


def test_a_limit_of_its_own_is_refused_and_gymnasiums_is_taken():
    refused(Impatient(), "truncated", "action", key=place)
    limited = gymnasium.wrappers.TimeLimit(Corridor(), 2)
    within = gymnasium.wrappers.TransformReward(limited, lambda reward: 2 * reward)
    for env, twice in ((limited, 1.0), (within, 2.0)):
        mdp = from_environment(env)
        assert (mdp.n_states, mdp.r_max, mdp.time_limit) == (10, twice, 2)
    with pytest.raises(MonMDPError, match="time_limit must be a whole number of at least 1"):
        from_environment(limited, time_limit=0)


def test_a_broken_restore_is_found():
    def forgets_the_coin(env, snapshot):
        env.unwrapped.at = snapshot[0]

    said = refused(Corridor(), snapshot=place, restore=forgets_the_coin, key=place)
    assert "restore does not lead back to state" in said

    def cell(env):
        return env.unwrapped.at

    # neither restored nor in the key: only the second look can find it
    refused(Corridor(), "Either it is random", snapshot=place, restore=forgets_the_coin, key=cell)


def test_a_key_that_leaves_something_out_is_found():
    said = refused(Corridor(), key=lambda env: env.unwrapped.at)
    assert "action '2'" in said
    assert "after another way there" in said


def test_what_cannot_be_is_named():
    class Many(Corridor):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.MultiDiscrete([2, 2])

    refused(Many(), "a Discrete action space is needed, this one is MultiDiscrete")
    refused(Corridor(), "key returns a list, which cannot be hashed", key=lambda env: [1])
    refused(Corridor(), "key raised ZeroDivisionError", key=lambda env: 1 / 0)
    refused(Corridor(), "snapshot and restore go together", snapshot=place)
    refused(Corridor(), "key: a function expected, got 3", key=3)
    refused(Corridor(), "limit must be a whole number of at least 1", limit=0)
    refused(Corridor(), "more than 9 states, the limit; limit=… allows more", limit=9)
    refused(Corridor(), "hidden raised TypeError", hidden=lambda obs: True)
    for answer in (None, 1, "yes"):
        told = f"hidden must return True or False, got {answer!r}"
        refused(Corridor(), told, hidden=lambda *_, answer=answer: answer)
    told = "hidden does not say the same when it is asked again"
    answers = iter([True] + [False] * 999)
    refused(Corridor(), told, hidden=lambda *_: next(answers))
    refused(Corridor(), "r_min must be a number, got 'low'", r_min="low")
    refused(
        Corridor(), "state 0 (the start), action '0': nan is no finite number",
        reward=lambda *_: np.nan,
    )  # fmt: skip
    refused(Corridor(), "unknown action 'UP'", actions=["UP"])
    refused(Corridor(), "action 1 is given twice", actions=[0, 1, 1])
    refused(Corridor(), "size: parameters go with an id", size=3)
    refused(3, "an id or a Gymnasium environment expected", "got an object of int")
    refused(Corridor, "got the class Corridor")
    assert from_environment(Corridor(), limit=10).n_states == 10

    class Broken(Corridor):
        def step(self, action):
            if self.at == 2:
                raise RuntimeError("no way")
            return super().step(action)

    refused(Broken(), "state ", "(after 1, 1), action '0': RuntimeError: no way")

    class Locked(Corridor):
        def __init__(self):
            super().__init__()
            self.file = (line for line in ())
            self.lock = __import__("threading").Lock()

    refused(Locked(), "environment[0].file is a builtins.generator", "key=…")
    refused(Locked(), "cannot be copied (TypeError", "give snapshot=… and restore=…", key=place)
    assert from_environment(Locked(), **WAYS["snapshots"]).n_states == 10


def test_states_that_look_the_same_are_told():
    with pytest.warns(AliasedWarning) as caught:
        mdp = from_environment(Blind())
    assert mdp.n_states == 10
    assert "8 states to act in, but only 4 different observations" in str(caught[0].message)
    groups = lookalikes(mdp)
    assert len(groups) == 5
    assert all(len(group) == 2 for group in groups)
    one, other = groups[0]
    assert f"{mdp.state_labels[one]!r} and {mdp.state_labels[other]!r} look the same" in str(
        caught[0].message
    )
    assert np.array_equal(mdp.observations[one], mdp.observations[other])
    assert lookalikes(worlds.make("loop")) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_environment(Corridor())


def test_what_is_hidden_is_warned_of():
    with pytest.warns(worlds.HiddenWarning, match="hidden is True of no step, so nothing is ⊥"):
        from_environment(Corridor(), hidden=lambda *_: False)
    with pytest.warns(worlds.HiddenWarning, match=r"taken for r_min = .*give r_min=…"):
        mdp = from_environment(Corridor(), hidden=lambda seen, action, then: np.bool_(True))
    assert mdp.hidden.any()


@pytest.mark.parametrize("paid", [np.nan, np.inf])
def test_rewards_that_are_no_numbers_are_named(paid):
    class Broke(Corridor):
        def step(self, action):
            *seen, reward, ended, cut, info = super().step(action)
            return *seen, paid if reward > 0 else reward, ended, cut, info

    refused(Broke(), f"pays {paid:g}; finite numbers are needed", "state ", "action '2'")


# ---- what can be said -----------------------------------------------------------------------


@pytest.mark.parametrize("what", ["hidden", "reward"])
def test_functions_of_the_user_cannot_change_what_was_observed(what):
    def careless(seen, action, then, *paid):
        then[:] = 0
        return paid[0] if paid else False

    refused(Corridor(), f"{what} raised ValueError: assignment destination", **{what: careless})


def test_hidden_actions_button_and_name():
    mdp = from_environment(
        Corridor(),
        hidden=lambda seen, action, then: action == TAKE and seen[1] != then[1],
        actions=[1, 2],
        button=("0", "2"),
        r_min=-3,
        r_max=2,
        time_limit=20,
        name="a corridor",
    )
    assert mdp.action_labels == ("1", "2")
    assert (mdp.name, mdp.r_min, mdp.r_max, mdp.time_limit) == ("a corridor", -3, 2, 20)
    assert mdp.button == (0, 1)
    assert mdp.hidden.sum() == 1
    assert mdp.reward[mdp.hidden].tolist() == [0.5]
    assert make(mdp, "button").shape.n_monitor_states == 2


def test_the_environment_is_told_how_far_it_is(monkeypatch):
    monkeypatch.setattr("monmdp.worlds.enumerating.search.INTERVAL", 0.0)
    lines = []
    from_environment(Corridor(), tell=lines.append)
    assert lines[0].endswith("states found, 1 tried")
    assert lines[-1] == "10 states found, 8 tried again"


def test_several_starts():
    class Somewhere(Corridor):
        def reset(self, *, seed=None, options=None):
            _, info = super().reset(seed=seed)
            self.at = int(self.np_random.integers(3))
            return self.seen(), info

    mdp = from_environment(Somewhere(), starts=20)
    begins = [Somewhere().reset(seed=seed)[0][0] for seed in range(20)]
    for s in range(mdp.n_states):
        at, coin = mdp.observations[s]
        assert mdp.start[s] == pytest.approx(begins.count(at) / 20 if coin else 0)


def test_observations_of_any_kind():
    class Rich(Corridor):
        def __init__(self):
            super().__init__()
            self.observation_space = spaces.Dict(
                {"at": spaces.Discrete(5), "coin": spaces.MultiBinary(1)}
            )

        def seen(self):
            return {"at": self.at, "coin": np.array([self.coin], dtype=np.int8)}

    mdp = from_environment(Rich())
    assert mdp.observations.shape == (10, 6)
    assert lookalikes(mdp) == []

    class Odd(spaces.Space):
        """A space that nobody can flatten."""

    class Strange(Corridor):
        def __init__(self):
            super().__init__()
            self.observation_space = Odd()

    refused(Strange(), "cannot be written as numbers")

    with pytest.raises(MonMDPError, match=r"that of state 0 is \(1,\), that of state 1 is \(2,\)"):
        enumerating._table([np.zeros(1), np.zeros(2)])


class Showing(Corridor):
    """Shows what it is told to, in a space that it is told to declare."""

    def __init__(self, space, show):
        super().__init__()
        self.observation_space, self.show = space, show

    def seen(self):
        return self.show(self.at, self.coin)


@pytest.mark.filterwarnings("ignore::monmdp.worlds.AliasedWarning")
def test_observations_are_what_the_space_declares():
    box = spaces.Box(0, 5, (2,), np.int16)
    refused(
        Showing(box, lambda at, _: np.zeros(1 + at, np.int16)),
        "state 0 (the start): an observation has the shape (1,), and observation_space declares",
    )
    refused(
        Showing(box, lambda at, coin: np.array([at + 0.5 * (at > 1), coin])),
        "state 2 (after 1, 1): an observation holds 2.5, of type float64, which the int16 of",
    )
    refused(
        Showing(spaces.Box(0, 255, (1,), np.uint8), lambda at, _: np.array([255 + at])),
        "(after 1): an observation holds 256, of type int64, which the uint8",
    )
    refused(
        Showing(spaces.Box(-9, 9, (1,), np.float32), lambda at, _: np.array([1e300 * at])),
        "holds 1e+300",
    )
    refused(Showing(box, lambda *_: np.array(["a", "b"])), "numbers expected, got <U1")
    refused(Showing(spaces.Discrete(4), lambda at, _: at - 1), "observation -1 is not in Discrete")
    refused(Showing(spaces.Discrete(3), lambda at, _: at), "observation 3 is not in Discrete(3)")


def test_observations_get_the_declared_type_where_that_changes_nothing():
    whole = from_environment(
        Showing(spaces.Box(0, 5, (2,), np.int16), lambda at, coin: [float(at), coin])
    )
    assert whole.observations.dtype == np.int16
    assert np.array_equal(whole.observations, from_environment(Corridor()).observations)
    real = spaces.Box(0, 5, (2,), np.float32)
    rounded = from_environment(Showing(real, lambda at, coin: np.array([at / 10, coin])))
    assert rounded.observations.dtype == np.float32
    assert sorted({*rounded.observations[:, 0]}) == [np.float32(at / 10) for at in range(5)]


def test_environments_of_the_old_gym_are_told():
    class Four(Corridor):
        def step(self, action):
            seen, reward, ends, _, info = super().step(action)
            return seen, reward, ends, info

    class Bare(Corridor):
        def reset(self, **how):
            return super().reset(**how)[0]  # an array of two numbers, which looks like two parts

    refused(Four(), "action '0': step returned 4 values", "terminated, truncated", "old Gym")
    refused(Bare(), "reset returned ndarray", "(observation, info)", "old Gym")
    for space in ("action_space", "observation_space"):
        blank = Corridor()
        delattr(blank, space)
        refused(blank, f"Corridor has no {space}; set it to one of gymnasium.spaces")


# ---- toy text -------------------------------------------------------------------------------


def newest(name):
    return max(key for key in gymnasium.registry if key.startswith(f"{name}-v"))


FIELDS = (
    "first", "successor", "probability", "reward", "terminates", "hidden", "start", "r_min",
    "r_max", "time_limit", "action_labels", "name",
)  # fmt: skip


@pytest.mark.parametrize("map_name", ["4x4", "8x8"])
def test_frozen_lake_is_its_table(map_name):
    ours = worlds.make("env:FrozenLake-v1", is_slippery="false", map_name=map_name)
    theirs = worlds.from_gymnasium("FrozenLake-v1", is_slippery=False, map_name=map_name)
    for field in FIELDS:
        assert np.array_equal(getattr(ours, field), getattr(theirs, field)), field
    assert tuple(ours.state_labels) == tuple(theirs.state_labels)
    assert np.array_equal(ours.observations, np.eye(ours.n_states))


@pytest.mark.parametrize("name", ["Taxi", "CliffWalking"])
def test_toy_text_is_the_part_of_its_table_that_can_be_reached(name):
    ours = from_environment(newest(name))
    theirs = worlds.from_gymnasium(newest(name))
    table = [theirs.find_state(label) for label in ours.state_labels]
    ended = {int(t) for t, over in zip(ours.successor, ours.terminates, strict=True) if over}
    for s, of in enumerate(table):
        assert ours.start[s] == theirs.start[of]
        if s in ended:
            continue
        for a in range(ours.n_actions):
            one, other = ours.first[s * ours.n_actions + a], theirs.first[of * ours.n_actions + a]
            assert table[ours.successor[one]] == theirs.successor[other]
            assert ours.reward[one] == theirs.reward[other]
            assert ours.terminates[one] == theirs.terminates[other]
    assert ours.start.sum() == 1
    gamma = 0.9
    value = solve(make(ours, "full"), gamma=gamma).value
    assert value == pytest.approx(solve(make(theirs, "full"), gamma=gamma).value)


def test_a_table_with_chance_is_refused():
    refused(
        "FrozenLake-v1", "random", "state 0, action", "gymnasium:FrozenLake-v1", is_slippery=True
    )


def test_a_toy_in_a_wrapper_shows_what_the_wrapper_shows():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    space = spaces.Box(0, 1, (2,), np.float32)
    halves = gymnasium.wrappers.TransformObservation(
        lake, lambda s: np.array([s / 16, 1], dtype=np.float32), space
    )
    mdp = from_environment(halves)
    assert mdp.observations.dtype == np.float32
    assert np.allclose(mdp.observations[:, 0], np.arange(16) / 16)


# ---- names ----------------------------------------------------------------------------------


def test_the_name_of_a_world():
    mdp = worlds.make("env:FrozenLake-v1", is_slippery=False, actions="DOWN,right", limit="20")
    assert mdp.action_labels == ("DOWN", "RIGHT")
    assert worlds.make("env:FrozenLake-v1", is_slippery=False, actions="1,2").n_actions == 2
    assert worlds.make("env:FrozenLake-v1", is_slippery=False, actions="1").n_actions == 1
    with pytest.raises(MonMDPError, match="env:ID"):
        worlds.make("frozen")
    with pytest.raises(MonMDPError, match="limit must be a whole number"):
        worlds.make("env:FrozenLake-v1", limit="many")
    with pytest.raises(MonMDPError, match="tell: a function expected"):
        worlds.make("env:FrozenLake-v1", tell="x")


def test_typing_errors_name_what_was_meant():
    for name, params, words in (
        ("env:FrozenLak-v1", {}, "no environment 'FrozenLak-v1'; did you mean 'FrozenLake-v1'"),
        ("env:FrozenLake-v9", {}, "did you mean 'FrozenLake-v1'"),
        ("env:Zzz-v0", {}, "name that, too, as in module:ID"),
        ("env:CartPole-v1?limit=3", {}, "parameters are given apart from it, key=value"),
        ("env:FrozenLake-v1", {"is_slipery": 0}, "no parameter 'is_slipery'; did you mean 'is_sli"),
        ("env:FrozenLake-v1", {"start": 9}, "no parameter 'start'; did you mean 'starts'"),
        ("gymnasium:FrozenLake-v1", {"time_limt": 9}, "did you mean 'time_limit'"),
        ("env:CartPole-v1", {"foo": 1}, "no parameter 'foo'; known: actions, "),
        ("gymnasium:CartPole-v1", {}, "env:ID or worlds.from_environment finds the states"),
        ("gym:FrozenLake-v1", {}, "did you mean env:FrozenLake-v1"),
        ("Env:FrozenLake-v1", {}, "did you mean env:FrozenLake-v1"),
    ):
        with pytest.raises(MonMDPError, match=words.replace("?", r"\?")):
            worlds.make(name, **params)


def test_real_numbers_without_end_are_for_deep_agents():
    with pytest.raises(MonMDPError) as caught:
        worlds.make("env:CartPole-v1", limit=50)
    assert "more than 50 states" in str(caught.value)
    assert "real numbers" in str(caught.value)
    assert "envs.AddMonitor(env, 'ask')" in str(caught.value)
    refused(Corridor(), "limit=… allows more", limit=9)
    with pytest.raises(MonMDPError) as caught:
        from_environment(Corridor(), limit=9)
    assert "real numbers" not in str(caught.value)


def test_without_minigrid_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "minigrid", None)
    with pytest.raises(MonMDPError, match=r"pip install 'monmdp\[minigrid\]'"):
        worlds.make("env:MiniGrid-Empty-5x5-v0")


def test_saved_and_loaded(tmp_path):
    from monmdp import MonMDP
    from monmdp.experiment import fingerprint

    problem = make(from_environment(Corridor()), "ask")
    problem.save(tmp_path / "corridor.npz")
    loaded = MonMDP.load(tmp_path / "corridor.npz")
    assert fingerprint(loaded) == fingerprint(problem)
    assert np.array_equal(loaded.mdp.observations, problem.mdp.observations)


def test_the_function_that_names_call_has_no_functions_to_give():
    from monmdp.naming import scope_of

    parameters = set(scope_of(enumerating.named_environment, "it").parameters)
    assert parameters == {
        "env", "actions", "limit", "r_min", "r_max", "time_limit", "seed", "starts", "tell",
    }  # fmt: skip
