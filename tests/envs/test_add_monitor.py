"""A monitor around anybody's environment: the contract, the chances, and what must not leak."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import Autoreset, FlattenObservation, RecordEpisodeStatistics, TimeLimit
from hypothesis import given
from hypothesis import strategies as st

import monmdp
from conftest import BY_STATE, MONITORS, PRESSED, THEIRS, newest
from monmdp import Monitor, MonMDPError, envs, monitors
from monmdp.agents import Transition
from monmdp.envs import (
    AddMonitor,
    JointDiscrete,
    MultiDiscreteAction,
    ObserveRewardMask,
    RewardDict,
)

CLIFF = newest("CliffWalking")
FREE = [name for name in MONITORS if name not in PRESSED + BY_STATE]
KEYS = {"reward_observed", "monitor_reward", "proxy_reward"}


def never(observation, action):
    return False


def wrapped(env_id, monitor, **params):
    pressed = {"pressed": never} if monitor in PRESSED else {}
    return AddMonitor(gymnasium.make(env_id), monitor, **pressed, **params)


def strictly_checked(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        warnings.filterwarnings("ignore", message=".*A Box observation space m.*infinity.*")
        check_env(env, skip_render_check=True)


class Anything(gymnasium.Env):
    """Any spaces at all; rewards count up, so that none is like another."""

    def __init__(self, observations, actions, telltale=False):
        self.observation_space, self.action_space = observations, actions
        self.telltale = telltale
        self.t = 0

    def _observation(self):
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._observation(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.t += 1
        info = {"reward_forward": self.t + 0.5, "x": 1} if self.telltale else {}
        return self._observation(), self.t + 0.5, self.t >= 9, False, info


# ---- the contract -----------------------------------------------------------------------------


@pytest.mark.parametrize("monitor", FREE + PRESSED)
@pytest.mark.parametrize("env_id", THEIRS)
def test_check_env_is_clean(env_id, monitor):
    env = wrapped(env_id, monitor, rho=0.6)
    strictly_checked(env)
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    assert info["reward_observed"] is False
    assert set(info) >= KEYS
    for _ in range(5):
        observation, reward, *_, info = env.step(env.action_space.sample())
        assert observation in env.observation_space
        assert type(reward) is float
        assert reward == info["monitor_reward"] + info["proxy_reward"]
        assert "env_reward" not in info


def test_every_monitor_is_accounted_for():
    assert {*FREE, *PRESSED, *BY_STATE} == set(monitors.registry)


_box = st.builds(
    lambda shape, dtype, bounded: (
        spaces.Box(0, 255, shape, np.uint8)
        if dtype == "u1"
        else spaces.Box(*((-2, 3) if bounded else (-np.inf, np.inf)), shape, np.dtype(dtype))
    ),
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["f4", "f8", "u1"]),
    st.booleans(),
)
_leaf = st.one_of(
    st.builds(spaces.Discrete, st.integers(1, 9), start=st.integers(-3, 3)),
    st.builds(spaces.MultiDiscrete, st.lists(st.integers(1, 5), min_size=1, max_size=3)),
    st.builds(spaces.MultiBinary, st.integers(1, 5)),
    st.builds(spaces.Text, st.integers(1, 8)),
    _box,
)
_spaces = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3).map(spaces.Dict),
        st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple),
    ),
    max_leaves=4,
)


@given(_spaces, _spaces, st.sampled_from(FREE + PRESSED), st.integers(0, 2**31), st.floats(0, 1))
def test_any_spaces(observations, actions, monitor, seed, rho):
    pressed = {"pressed": lambda o, a: True} if monitor in PRESSED else {}
    env = AddMonitor(
        Anything(observations, actions), monitor, rho=rho, fill=-7.0, expose_env_reward=True,
        **pressed,
    )  # fmt: skip
    assert env.observation_space["env"] == observations
    assert env.action_space["env"] == actions
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    over = False
    while not over:
        assert env.observation_space.contains(observation)
        sm, action = observation["mon"], env.action_space.sample()
        observation, reward, over, _, info = env.step(action)
        assert info["env_reward"] == env.unwrapped.t + 0.5
        expected = info["env_reward"] if info["reward_observed"] else -7.0
        assert info["proxy_reward"] == expected
        assert reward == expected + info["monitor_reward"]
        assert info["monitor_reward"] == env.monitor.reward[sm, action["mon"]]
        assert not (rho == 0 and monitor != "full" and info["reward_observed"])


@pytest.mark.parametrize("actions", [spaces.Box(-1, 1, (6,)), spaces.Discrete(7)])
def test_shapes_of_mujoco_and_minigrid(actions):
    grid = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (7, 7, 3), np.uint8),
            "direction": spaces.Discrete(4),
            "mission": spaces.Text(20),
        }
    )
    body = spaces.Box(-np.inf, np.inf, (17,), np.float64)
    for observations in (grid, body):
        strictly_checked(AddMonitor(Anything(observations, actions), "battery", n=3, rho=0.5))


# ---- what is shown ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", FREE + PRESSED)
def test_the_monitor_moves_and_shows_as_its_tables_say(name):
    """A slow monitor written from the definition, on the same draws."""
    table = 1 if name in PRESSED else 0
    pressed = {"pressed": lambda o, a: True} if table else {}
    anything = Anything(spaces.Discrete(3), spaces.Discrete(2))
    env = AddMonitor(anything, name, rho=0.4, expose_env_reward=True, **pressed)
    monitor = env.monitor
    stream = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(1,)))

    def drawn(chances):
        return int(np.searchsorted(np.cumsum(chances) - 1e-12, stream.random(), side="right"))

    observation, _ = env.reset(seed=5)
    sm = drawn(monitor.start)
    rng = np.random.default_rng(0)
    for t in range(400):
        assert observation["mon"] == sm
        am = int(rng.integers(monitor.n_actions))
        observation, _, over, _, info = env.step({"env": t % 2, "mon": am})
        u, v = stream.random(2)
        kind = {"full": 0, "semi-random": 2, "shy": 2}.get(name, 1)  # no reward here is zero
        assert info["reward_observed"] == (v < monitor.show[kind, sm, am])
        row = np.cumsum(monitor.transition[table, sm, am])
        sm = int(np.searchsorted(row - 1e-12, u, side="right"))
        if over:
            observation, _ = env.reset()
            sm = drawn(monitor.start)


def test_rewards_are_shown_as_often_as_they_should():
    for name, params, chance in (
        ("full-random", {"rho": 0.3}, 0.3),
        ("semi-random", {"rho": 0.8, "hide": 0.5}, 0.4),  # CartPole's reward is never zero
        ("n-supporters", {"n": 4, "rho": 0.6}, 0.15),
    ):
        env = AddMonitor(gymnasium.make("CartPole-v1"), name, **params)
        env.reset(seed=3)
        env.action_space.seed(3)
        shown, n = 0, 4000
        for _ in range(n):
            *_, over, _, info = env.step(env.action_space.sample())
            shown += info["reward_observed"]
            if over:
                env.reset()
        assert abs(shown / n - chance) < 4 * np.sqrt(chance * (1 - chance) / n), name


def test_the_button():
    asked = []

    def pressed(observation, action):
        asked.append((observation, action))
        return action == 0 and observation == 0

    env = AddMonitor(
        gymnasium.make("FrozenLake-v1", is_slippery=False), "button", pressed=pressed, cost=-0.3
    )
    observation, _ = env.reset(seed=0)
    state = observation["mon"]
    for _ in range(4):  # against the wall in the corner: the button
        observation, _, _, _, info = env.step({"env": 0, "mon": 0})
        assert observation["mon"] == 1 - state
        assert info["monitor_reward"] == (-0.3 if state == 1 else 0.0)
        assert info["reward_observed"] == (state == 1)
        state = observation["mon"]
    observation, *_ = env.step({"env": 1, "mon": 0})
    assert observation["mon"] == state
    assert asked == [(0, 0)] * 4 + [(0, 1)]


def test_what_is_hidden_is_never_shown():
    steps = []

    def hidden(observation, action, following):
        steps.append((observation, action, following))
        return following == 1

    env = AddMonitor(
        gymnasium.make("FrozenLake-v1", is_slippery=False), "full-random", hidden=hidden
    )
    env.reset(seed=0)
    assert env.step({"env": 2, "mon": 0})[4]["reward_observed"] is False
    assert env.step({"env": 0, "mon": 0})[4]["reward_observed"] is True
    assert steps == [(0, 2, 1), (1, 0, 0)]
    # Full shows everything, ⊥ included, as in finite problems.
    env = AddMonitor(gymnasium.make("FrozenLake-v1"), "full", hidden=lambda o, a, n: True)
    env.reset(seed=0)
    assert env.step({"env": 2, "mon": 0})[4]["reward_observed"] is True


def test_hidden_gets_the_observation_from_before_the_step():
    class Reuses(Anything):
        """Writes every observation into one array."""

        def __init__(self):
            super().__init__(spaces.Box(-9, 99, (1,)), spaces.Discrete(2))
            self.array = np.zeros(1, dtype=np.float32)

        def _observation(self):
            self.array[0] = self.t
            return self.array

    seen = []
    env = AddMonitor(Reuses(), "ask", hidden=lambda o, a, n: bool(seen.append((o[0], n[0]))))
    env.reset(seed=0)
    for _ in range(3):
        env.step({"env": 0, "mon": 1})
    assert seen == [(0, 1), (1, 2), (2, 3)]
    pushes = []
    env = AddMonitor(Reuses(), "button", pressed=lambda o, a: bool(pushes.append(o[0])))
    observation, _ = env.reset(seed=0)
    for _ in range(3):
        observation["env"][:] = 50  # the caller's array, to do with as they like
        observation, *_ = env.step({"env": 0, "mon": 0})
    assert pushes == [0, 1, 2]


class Tells(Anything):
    """Says in its info, or as its reward, what it is told to."""

    def __init__(self, info, reward=7.0):
        super().__init__(spaces.Discrete(2), spaces.Discrete(2))
        self.info, self.reward = info, reward

    def reset(self, **options):
        return super().reset(**options)[0], dict(self.info)

    def step(self, action):
        observation, _, over, _, _ = super().step(action)
        return observation, self.reward, over, False, dict(self.info)


@pytest.mark.parametrize("reward", [np.nan, np.inf, None, "x", np.ones(2)])
def test_a_reward_is_a_finite_number(reward):
    env = AddMonitor(Tells({}, reward), "ask")
    env.reset(seed=0)
    with pytest.raises(MonMDPError, match=r"Tells.* gave .* as a reward; a finite number expected"):
        env.step({"env": 0, "mon": 0})


@pytest.mark.parametrize("reward", [3, np.float32(3), np.int64(3), np.array([3.0]), np.array(3)])
def test_rewards_of_any_type_become_floats(reward):
    env = AddMonitor(Tells({}, reward), "ask", cost=0.0)
    env.reset(seed=0)
    _, got, *_, info = env.step({"env": 0, "mon": 1})
    assert got == info["proxy_reward"] == 3.0
    assert type(got) is type(info["proxy_reward"]) is float


# ---- what must not leak -----------------------------------------------------------------------


def test_the_hidden_reward_is_nowhere_unless_asked_for():
    telltale = Anything(spaces.Discrete(2), spaces.Discrete(2), telltale=True)
    env = AddMonitor(RecordEpisodeStatistics(telltale), "full-random", rho=0.0)
    env.reset(seed=0)
    over = False
    while not over:
        _, reward, over, _, info = env.step({"env": 0, "mon": 0})
        assert reward == 0.0
        assert set(info) == {*KEYS}
    for inside in (
        RecordEpisodeStatistics(telltale, stats_key="mine"),
        Tells({"env_reward": 7.0, "Raw_Reward": 7.0, "forward_reward": 7.0}),
    ):
        env = AddMonitor(inside, "full-random", rho=0.0)
        assert "7.0" not in repr(env.reset(seed=0))
        over = False
        while not over:
            *_, over, _, info = env.step({"env": 0, "mon": 0})
            assert set(info) <= {*KEYS}
    env = AddMonitor(telltale, "full-random", rho=0.0, expose_env_reward=True)
    env.reset(seed=0)
    info = env.step({"env": 0, "mon": 0})[4]
    assert info["env_reward"] == info["reward_forward"] == 1.5


@pytest.mark.parametrize("monitor", ["full", "n-experts", "battery"])
def test_the_environment_goes_the_same_way_under_any_monitor(monitor):
    bare, env = gymnasium.make("FrozenLake-v1"), wrapped("FrozenLake-v1", monitor)
    plain, _ = bare.reset(seed=8)
    observation, _ = env.reset(seed=8)
    rng = np.random.default_rng(1)
    for _ in range(300):
        assert observation["env"] == plain
        action = int(rng.integers(4))
        plain, _, *ended, _ = bare.step(action)
        am = int(rng.integers(env.monitor.n_actions))
        observation, _, *also, _ = env.step({"env": action, "mon": am})
        assert ended == also
        if any(ended):
            plain, _ = bare.reset()
            observation, _ = env.reset()


def test_seeds_repeat_episodes_and_differ():
    def shown(env, seed):
        env.reset(seed=seed)
        return [env.step({"env": 0, "mon": 0})[4]["reward_observed"] for _ in range(8)]

    env = wrapped(CLIFF, "full-random", rho=0.5)
    assert shown(env, 1) == shown(env, 1)
    assert len({tuple(shown(env, seed)) for seed in range(20)}) > 10
    first = wrapped(CLIFF, "full-random", rho=0.5)
    assert shown(first, None) is not None  # without a seed it runs, too


# ---- among other wrappers ---------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_make_vec(mode):
    vec = gymnasium.make_vec(
        "CartPole-v1", 3, vectorization_mode=mode, wrappers=[partial(AddMonitor, monitor="ask")]
    )
    vec.action_space.seed(0)
    observation, _ = vec.reset(seed=0)
    assert observation["env"].shape == (3, 4)
    assert observation["mon"].shape == (3,)
    for _ in range(40):
        action = vec.action_space.sample()
        _, reward, *_, info = vec.step(action)
        stepped = info["monitor_reward"] != 0
        assert (info["reward_observed"] == stepped).all()  # with ρ = 1 asking shows
        assert np.allclose(reward[stepped], 0.8)
    vec.close()


def test_statistics_limits_and_flat_observations():
    env = AddMonitor(gymnasium.make("Acrobot-v1"), "ask", rho=1.0, cost=-0.5)
    env = RecordEpisodeStatistics(TimeLimit(FlattenObservation(env), 5))
    observation, _ = env.reset(seed=0)
    assert observation.shape == (7,)  # six numbers and the one state of the monitor
    total = 0.0
    for t in range(5):
        observation, reward, terminated, truncated, info = env.step({"env": 0, "mon": t % 2})
        total += reward
    assert (terminated, truncated) == (False, True)
    assert info["episode"]["r"] == pytest.approx(total) == -3.0
    inside = AddMonitor(TimeLimit(gymnasium.make("Acrobot-v1").unwrapped, 2), "ask")
    inside.reset(seed=0)
    assert [inside.step({"env": 0, "mon": 0})[3] for _ in range(2)] == [False, True]


def test_the_specification_makes_it_again():
    env = JointDiscrete(AddMonitor(gymnasium.make("FrozenLake-v1"), "n-experts", n=3, rho=0.5))
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))

    def walk(e):
        first, _ = e.reset(seed=2)
        e.action_space.seed(2)
        return [first] + [e.step(e.action_space.sample())[:2] for _ in range(5)]

    assert walk(env) == walk(again)


def test_joint_discrete_around_other_spaces():
    env = JointDiscrete(AddMonitor(gymnasium.make("CartPole-v1"), "n-experts", n=3))
    assert env.action_space == spaces.Discrete(8)
    assert set(env.observation_space.spaces) == {"env", "mon"}
    strictly_checked(env)
    shifted = Anything(spaces.Discrete(4, start=-2), spaces.Discrete(3, start=5))
    env = JointDiscrete(AddMonitor(shifted, "ask"))
    observation, _ = env.reset(seed=0)
    seen = set()
    for t in range(60):
        seen.add(observation)
        assert observation in env.observation_space
        observation, _, over, _, info = env.step(t % 6)  # Anything asserts its own action
        assert info["reward_observed"] == (t % 2 == 1)
        if over:
            observation, _ = env.reset()
    assert seen == {0, 1, 2, 3}
    for wrong in (-1, 6):
        with pytest.raises(MonMDPError, match=f"joint action {wrong}; there are 6"):
            env.step(wrong)
    masked = JointDiscrete(ObserveRewardMask(AddMonitor(gymnasium.make("FrozenLake-v1"), "ask")))
    masked.reset(seed=0)
    assert masked.step(1)[0]["reward_observed"] == 1


def test_multi_discrete_around_other_spaces():
    actions = spaces.MultiDiscrete([3, 4])
    env = MultiDiscreteAction(AddMonitor(Anything(spaces.Discrete(2), actions), "ask"))
    assert env.action_space == spaces.MultiDiscrete([3, 4, 2])
    env.reset(seed=0)
    assert env.step(np.array([2, 3, 1]))[4]["reward_observed"]
    with pytest.raises(MonMDPError, match="an action is"):
        env.step([1, 1])
    continuous = AddMonitor(Anything(spaces.Discrete(2), spaces.Box(-1, 1, (2,))), "ask")
    with pytest.raises(MonMDPError, match="one-dimensional MultiDiscrete"):
        MultiDiscreteAction(continuous)


def test_the_mask_knows_the_fill():
    env = ObserveRewardMask(AddMonitor(gymnasium.make("CartPole-v1"), "ask", fill=-4.0))
    observation, _ = env.reset(seed=0)
    assert observation["proxy_reward"] == -4.0
    observation, *_ = env.step({"env": 0, "mon": 1})
    assert (observation["reward_observed"], observation["proxy_reward"]) == (1, 1.0)
    strictly_checked(env)


def test_the_reward_as_a_dictionary():
    lake = partial(gymnasium.make, CLIFF)
    env = RewardDict(AddMonitor(lake(), "ask", expose_env_reward=True))
    env.reset(seed=0)
    reward = env.step({"env": 0, "mon": 1})[1]
    assert reward == {"env": -1.0, "mon": -0.2, "proxy": -1.0}
    reward = env.step({"env": 0, "mon": 0})[1]
    assert (reward["env"], reward["mon"]) == (-1.0, 0.0)
    assert np.isnan(reward["proxy"])
    secret = RewardDict(AddMonitor(lake(), "ask"))
    secret.reset(seed=0)
    assert np.isnan(secret.step({"env": 0, "mon": 0})[1]["env"])
    bare = RewardDict(lake())
    bare.reset(seed=0)
    with pytest.raises(MonMDPError, match="has no monitor"):
        bare.step(0)


# ---- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_STATE)
def test_monitors_that_read_the_state_are_refused(name):
    with pytest.raises(MonMDPError, match=f"{name}.*number of the environment's state"):
        AddMonitor(gymnasium.make("CartPole-v1"), name)


def test_a_monitor_that_copies_what_it_looks_at_is_refused_in_the_same_words():
    numbers = Monitor(
        states=("ON",), actions=("NO-OP",), start=[1.0], transition=np.ones((1, 1, 1)),
        reward=np.zeros((1, 1)), show=np.ones((2, 1, 1)), name="numbers",
        outcome_class=lambda outcomes: copy.copy(outcomes).state % 2,
    )  # fmt: skip
    with pytest.raises(MonMDPError, match="number of the environment's state"):
        AddMonitor(gymnasium.make("CartPole-v1"), numbers).reset(seed=0)


def test_mistakes_are_named():
    cart = gymnasium.make("CartPole-v1")
    for wrong, message in (
        (lambda: AddMonitor(cart, "aks"), "unknown monitor 'aks'; did you mean 'ask'"),
        (lambda: AddMonitor(cart, "ask", roh=0.5), "no parameter 'roh'; did you mean 'rho'"),
        (lambda: AddMonitor(cart, "button"), "pressed=…, a function of"),
        (lambda: AddMonitor(cart, "ask", pressed=never), "nothing to press"),
        (lambda: AddMonitor(cart, "button", pressed=never, button="0:1"), "names a state"),
        (lambda: AddMonitor(cart, "ask", hidden=3), "hidden must be a function of .*, got 3"),
        (lambda: AddMonitor(cart, "ask", hidden=never), r"action, next_observation\): too many"),
        (
            lambda: AddMonitor(cart, "button", pressed=lambda o: True),
            r"pressed must be a function of",
        ),
        (lambda: AddMonitor(cart, "ask", expose_env_reward="false"), "must be True or False"),
        (lambda: AddMonitor(cart, 3), "a name or a finished Monitor"),
        (lambda: AddMonitor(cart, monitors.make("ask"), rho=0.5), "takes no parameters"),
        (lambda: AddMonitor("CartPole-v1", "ask"), "a Gymnasium environment expected"),
        (lambda: AddMonitor(AddMonitor(cart, "ask"), "ask"), "has a monitor already"),
        (lambda: AddMonitor(gymnasium.make("monmdp/Loop-v0"), "ask"), "has a monitor already"),
        (lambda: AddMonitor(cart, "ask", fill=np.nan), "fill must be finite"),
        (lambda: AddMonitor(Autoreset(cart), "ask"), "Autoreset must go around"),
        (lambda: ObserveRewardMask(ObserveRewardMask(AddMonitor(cart, "ask"))), "already"),
    ):
        with pytest.raises(MonMDPError, match=message):
            wrong()
    env = AddMonitor(cart, "ask")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step({"env": 0, "mon": 0})
    env.reset(seed=0)
    for action, message in (
        ({"env": 0}, "an action is"),
        (1, "an action is"),
        ({"env": 0, "mon": 2}, "2 is not an action of monitor 'ask'; it has 2, from 0: NO-OP, ASK"),
        ({"env": 0, "mon": "ASK"}, "'ASK' is not an action"),
    ):
        with pytest.raises(MonMDPError, match=message):
            env.step(action)
    vague = AddMonitor(cart, "ask", hidden=lambda o, a, n: o > 0)
    vague.reset(seed=0)
    with pytest.raises(MonMDPError, match="hidden must return True or False"):
        vague.step({"env": 0, "mon": 0})


def test_monitors_of_ones_own():
    def mine(outcomes):
        return (outcomes.reward > 0).astype(int)

    monitor = replace(monitors.make("semi-random"), outcome_class=mine, name="mine")
    env = AddMonitor(gymnasium.make("FrozenLake-v1"), monitor)
    env.reset(seed=0)
    assert env.step({"env": 0, "mon": 0})[4]["reward_observed"] is False

    def broken(outcomes):
        raise ValueError("no")

    with pytest.raises(MonMDPError, match="outcome_class of monitor 'mine' raised ValueError: no"):
        AddMonitor(gymnasium.make("FrozenLake-v1"), replace(monitor, outcome_class=broken))

    def late(outcomes):
        return np.where(outcomes.reward > 5, outcomes.state, 1)

    env = AddMonitor(
        Tells({}), replace(monitor, outcome_class=lambda o: late(o) if o.reward > 5 else [1])
    )
    env.reset(seed=0)
    with pytest.raises(MonMDPError, match="number of the environment's state"):
        env.step({"env": 0, "mon": 0})
    with pytest.raises(MonMDPError, match="class 7; there are 3"):
        AddMonitor(gymnasium.make("FrozenLake-v1"), replace(monitor, outcome_class=lambda o: [7]))


# ---- learning without a model -----------------------------------------------------------------


def learn(env, agent, steps, seed):
    """Learn for so many steps; yields every thousand."""
    observation, _ = env.reset(seed=seed)
    agent.begin_episode()
    over = False
    for step in range(1, steps + 1):
        if over:
            observation, _ = env.reset()
            agent.begin_episode()
        action = agent.act(observation)
        following, _, terminated, truncated, info = env.step(action)
        agent.update(Transition.from_step(observation, action, following, terminated, info))
        observation, over = following, terminated or truncated
        if step % 1000 == 0:
            yield step


def agree_where_it_goes(problem, policy, minimax):
    """In every state that the policy can come to it does what the exact solution does."""
    visited = policy.visits(problem).reshape(problem.n_states, -1).sum(axis=1) > 0
    return not ((policy.probability > 0) & ~(minimax.policy > 0))[visited].any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_stepwise_mbie_eb_finds_the_exact_policy_on_frozen_lake(seed):
    problem = monmdp.make("gymnasium:FrozenLake-v1", "ask", is_slippery=False)
    env = AddMonitor(gymnasium.make("FrozenLake-v1", is_slippery=False), "ask")
    agent = monmdp.agents.make("monitored-mbie-eb", env, seed=seed, r_min=0.0)
    assert [*learn(env, agent, 5000, seed)][-1] == 5000
    policy = monmdp.Policy(problem.shape, agent.test_policy())
    solution = monmdp.solve(problem)
    assert agree_where_it_goes(problem, policy, solution.minimax)
    assert policy.evaluate(problem)["episode_return"] == pytest.approx(solution.episode_return)


@pytest.mark.slow
def test_stepwise_mbie_eb_comes_to_the_exact_policy_on_slippery_ice():
    """Where the ice slips, rewards and transitions are random: larger bonuses than the paper's.

    Even so not every seed gets there: of the seeds 0 to 7 five do within 60,000 steps. Where it has
    to ask for every reward fewer do; it sees too few of the goal's, which pays one time in three.
    """
    problem = monmdp.make("gymnasium:FrozenLake-v1", "full-random", rho=0.5)
    solution = monmdp.solve(problem)
    config = monmdp.agents.MonitoredMBIEEB(beta=0.06, beta_e=0.005)
    there = 0
    for seed in range(4):
        env = AddMonitor(gymnasium.make("FrozenLake-v1"), "full-random", rho=0.5)
        agent = monmdp.agents.make(config, env, seed=seed, r_min=0.0)
        for _ in learn(env, agent, 40_000, seed):
            policy = monmdp.Policy(problem.shape, agent.test_policy())
            if policy.evaluate(problem)["episode_return"] > solution.episode_return - 1e-9:
                assert agree_where_it_goes(problem, policy, solution.minimax)
                there += 1
                break
    assert there >= 2


@pytest.mark.slow
def test_stepwise_mbie_eb_avoids_what_can_never_be_seen():
    """⊥ by a predicate: the same problem as tables with these outcomes hidden."""
    shortcut = 4  # below the start; the other way round is as long
    mdp = monmdp.worlds.make("gymnasium:FrozenLake-v1", is_slippery=False)
    mdp = replace(mdp, hidden=mdp.successor == shortcut, r_min=-1.0)
    problem = monmdp.join(mdp, monitors.make("ask"))
    env = AddMonitor(
        gymnasium.make("FrozenLake-v1", is_slippery=False), "ask",
        hidden=lambda o, a, n: n == shortcut,
    )  # fmt: skip
    agent = monmdp.agents.make("monitored-mbie-eb", env, seed=0, r_min=-1.0)
    assert [*learn(env, agent, 8000, 0)][-1] == 8000
    policy = monmdp.Policy(problem.shape, agent.test_policy())
    solution = monmdp.solve(problem)
    assert not solution.solvable
    assert agree_where_it_goes(problem, policy, solution.minimax)
    assert policy.visits(problem).reshape(16, -1)[shortcut].sum() == 0
    assert envs.AddMonitor is AddMonitor
