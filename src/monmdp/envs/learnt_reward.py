"""A learnt reward in the place of one that was not shown, for learners that need one every step.

    r = rᵐ + rᵉ  if rᵉ was shown,  else  rᵐ + r̂(observation, aᵉ)

r̂ learns from rewards that were shown, and from nothing else. `LearntReward` goes around one
environment, `VectorLearntReward` around a vector of them; both read of ``info`` what every learner
may read. Models take one pair or a batch of them: a batch is [copy, ...], as vector environments
have it.
"""

from __future__ import annotations

import copy
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space, iterate

from monmdp.envs.wrappers import SingleView, VectorView, parts_of, told_monitor_reward
from monmdp.errors import MonMDPError, import_extra
from monmdp.memory import demand_room
from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.mdp import number

WIDTH, RATE = 64, 3e-3
"""hidden units of a `RewardNet`, and its learning rate"""
EVERY, BATCH = 4, 64
"""rewards shown between two steps of its gradient descent, and how many it learns from in each"""


class RewardModel(Protocol):
    """A model of rᵉ: what `LearntReward` asks of yours.

    `VectorLearntReward` hands over batches: observations [copy, ...], actions and rewards [copy].
    """

    def fit(self, observation: Any, action: Any, reward: Any) -> None:
        """Learn from a reward that was shown, or from a batch of them."""

    def predict(self, observation: Any, action: Any) -> Any:
        """Return r̂ for a pair, or [copy] for a batch; learns nothing."""


class MeanTable:
    """r̂(s, a) for `Discrete` spaces: the mean of what was shown, `prior` if nothing ever was.

    With r_min as the prior it is as pessimistic as the minimax-optimal policy.

    >>> import gymnasium, monmdp
    >>> env = gymnasium.make("monmdp/Bottleneck-v0", monitor="full-random")
    >>> model = monmdp.envs.MeanTable(env, prior=-10.0)
    >>> model.fit(3, 1, 0.5)
    >>> model.predict(3, 1), model.predict(3, 2)
    (0.5, -10.0)
    >>> model.predict([3, 3], [1, 2])
    array([  0.5, -10. ])
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any], prior: float
    ) -> None:
        """Make an empty table.

        Args:
            env: a monitored environment, or a vector of them; tells the sizes of the spaces.
            prior: r̂ of a pair whose reward was never shown.
        """
        self.prior = number(prior, "prior")
        of_state, of_action = _env_spaces(env, "MeanTable")
        if not (isinstance(of_state, spaces.Discrete) and isinstance(of_action, spaces.Discrete)):
            raise MonMDPError(
                "MeanTable counts states and actions, which must be Discrete; got observations "
                f"{of_state} and actions {of_action}: take RewardNet"
            )
        self._first = int(of_state.start), int(of_action.start)
        shape = int(of_state.n), int(of_action.n)
        demand_room(2 * 8 * shape[0] * shape[1], f"a MeanTable of {shape[0]:,} x {shape[1]} pairs")
        self.total, self.shown = np.zeros(shape), np.zeros(shape)

    def fit(self, observation: Any, action: Any, reward: Any) -> None:
        """Count a reward that was shown, or a batch of them."""
        pair = self._pair(observation, action)
        np.add.at(self.total, pair, reward)
        np.add.at(self.shown, pair, 1)

    def predict(self, observation: Any, action: Any) -> Any:
        """Return the mean of what was shown for a pair, or [copy] for a batch."""
        pair = self._pair(observation, action)
        n = self.shown[pair]
        mean = np.where(n > 0, self.total[pair] / np.maximum(n, 1), self.prior)
        return mean if mean.ndim else float(mean)

    def _pair(self, observation: Any, action: Any) -> tuple[Any, Any]:
        s, a = np.asarray(observation) - self._first[0], np.asarray(action) - self._first[1]
        for what, index, n in zip(("observation", "action"), (s, a), self.total.shape, strict=True):
            if index.dtype.kind not in "iu" or ((index < 0) | (index >= n)).any():
                raise MonMDPError(f"MeanTable: {what}s are whole numbers, {n} of them; got {index}")
        return s, a


class RewardNet:
    """r̂(s, a) for spaces that can be flattened: a small network. It keeps all it was shown.

    It is 0 everywhere at first. Then it extrapolates from what was shown: it has no prior for what
    never is. It draws from torch's own stream: `torch.manual_seed` makes it repeatable. It needs
    the extra ``deep``.
    """

    def __init__(self, env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> None:
        """Make a network.

        Args:
            env: a monitored environment, or a vector of them; tells the spaces.
        """
        self._torch: Any = import_extra("torch", "deep", "RewardNet")
        self.spaces = _env_spaces(env, "RewardNet")
        for space in self.spaces:
            if not space.is_np_flattenable:
                raise MonMDPError(f"RewardNet: {space} cannot be flattened into a vector")
        nn = self._torch.nn
        width = sum(map(spaces.flatdim, self.spaces))
        last = nn.Linear(WIDTH, 1)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.net = nn.Sequential(nn.Linear(width, WIDTH), nn.ReLU(), last)
        self.optimizer = self._torch.optim.Adam(self.net.parameters(), lr=RATE)
        self.n_shown = 0
        """rewards it was shown"""
        self._inputs = np.empty((BATCH, width), dtype=np.float32)
        self._rewards = np.empty(BATCH, dtype=np.float32)

    def fit(self, observation: Any, action: Any, reward: Any) -> None:
        """Keep a reward that was shown, or a batch of them; now and then learn from some.

        That is a step of gradient descent after every fourth reward, at most one for a batch, in
        which it learns from as many as the batch has.
        """
        rows = np.atleast_2d(self._input(observation, action))
        before, n = self.n_shown, len(rows)
        self._make_room(before + n)
        self._inputs[before : before + n], self._rewards[before : before + n] = rows, reward
        self.n_shown += n
        if self.n_shown // EVERY > before // EVERY:
            self._descend(max(BATCH, n))

    def _make_room(self, n: int) -> None:
        if n > len(self._rewards):
            capacity = 2 * n
            demand_room(
                4 * capacity * (self._inputs.shape[1] + 1), f"{n:,} rewards that were shown"
            )
            self._inputs = np.resize(self._inputs, (capacity, self._inputs.shape[1]))
            self._rewards = np.resize(self._rewards, capacity)

    def _descend(self, size: int) -> None:
        """Learn from some of what was shown."""
        torch = self._torch
        chosen = torch.randint(self.n_shown, (size,)).numpy()
        inputs, rewards = (torch.from_numpy(of[chosen]) for of in (self._inputs, self._rewards))
        self.optimizer.zero_grad()
        torch.nn.functional.mse_loss(self.net(inputs)[:, 0], rewards).backward()
        self.optimizer.step()

    def predict(self, observation: Any, action: Any) -> Any:
        """Return r̂ for a pair, or [copy] for a batch."""
        with self._torch.no_grad():
            out = self.net(self._torch.from_numpy(self._input(observation, action)))[..., 0]
        return out.numpy().astype(np.float64) if out.ndim else float(out)

    def _input(self, observation: Any, action: Any) -> Any:
        """What the network is given: a vector, or [copy, …] for a batch."""
        of_state, of_action = self.spaces
        # Actions tell a batch from a pair: they have an axis more than their space.
        batched = of_action.shape is not None and np.ndim(action) > len(of_action.shape)
        flat: Any = _flattened if batched else spaces.flatten
        both = [flat(of_state, observation), flat(of_action, action)]
        return np.concatenate(both, axis=-1).astype(np.float32)


def _flattened(space: Any, batch: Any) -> Any:
    """A batch of what is in a space as [copy, number]."""
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return np.reshape(batch, (len(batch), -1))
    if isinstance(space, spaces.Discrete):
        rows = np.zeros((len(batch), int(space.n)), dtype=np.float32)
        rows[np.arange(len(batch)), np.asarray(batch) - space.start] = 1
        return rows
    copies = _length(batch)
    flat: list[Any] = [
        spaces.flatten(space, of) for of in iterate(batch_space(space, copies), batch)
    ]
    return np.stack(flat)


def _length(batch: Any) -> int:
    """How many copies there are in a batch, of whatever space."""
    while isinstance(batch, dict | tuple):
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return len(batch)


def _env_spaces(env: Any, what: str) -> tuple[Any, Any]:
    """The spaces of the environment inside a monitored one: observations and actions."""
    vector = isinstance(env, VectorEnv)
    if not vector and not isinstance(env, gymnasium.Env):
        raise MonMDPError(f"{what}: a Gymnasium environment expected, got {env!r}")
    observations = env.single_observation_space if vector else env.observation_space
    actions = env.single_action_space if vector else env.action_space
    found = parts_of(observations)[0], parts_of(actions)[0]
    if None in found:
        raise MonMDPError(
            f'{what}: spaces with "env" in them expected, got observations {observations} and '
            f"actions {actions}; it goes directly around the monitor, JointDiscrete around it"
        )
    return found


def _checked(model: Any) -> RewardModel:
    if not (callable(getattr(model, "fit", None)) and callable(getattr(model, "predict", None))):
        raise MonMDPError(f"a model has fit and predict, as MeanTable and RewardNet; got {model!r}")
    checked: RewardModel = model
    return checked


class LearntReward(SingleView):
    """The reward becomes rᵐ + rᵉ if rᵉ was shown, else rᵐ + r̂; r̂ learns from what was shown.

    It goes directly around the monitored environment, wrappers that change spaces or rewards around
    it. Several environments may share one model.

    >>> import gymnasium
    >>> from monmdp.envs import LearntReward, MeanTable
    >>> env = gymnasium.make("monmdp/Bottleneck-v0", monitor="ask")
    >>> env = LearntReward(env, MeanTable(env, prior=-10.0))
    >>> _ = env.reset(seed=0)
    >>> env.step({"env": 1, "mon": 0})[1]  # nobody asked, and nothing is known yet
    -10.0
    """

    def __init__(self, env: gymnasium.Env[Any, Any], model: RewardModel) -> None:
        """Wrap a monitored environment.

        Args:
            env: the environment.
            model: of the reward: `MeanTable`, `RewardNet`, or one of your own.
        """
        RecordConstructorArgs.__init__(self, model=model, _disable_deepcopy=True)
        _env_spaces(env, "LearntReward")
        super().__init__(env)
        self.model = _checked(model)
        self._before: Any = None

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._before = copy.deepcopy(observation["env"])  # an environment may reuse its arrays
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Take an action."""
        observation, _, terminated, truncated, info = self.env.step(action)
        monitor_reward = told_monitor_reward(self.env, info)
        if info["reward_observed"]:
            reward = info["proxy_reward"]
            self.model.fit(self._before, action["env"], reward)
        else:
            reward = self.model.predict(self._before, action["env"])
        self._before = copy.deepcopy(observation["env"])
        return observation, monitor_reward + reward, terminated, truncated, info


class VectorLearntReward(VectorView):
    """`LearntReward` for a vector environment: all copies share the model.

    In every step it learns from what was shown in all copies, and then guesses what was not. The
    step that resets a copy pays what the environment pays there, nothing.

    >>> import gymnasium
    >>> from monmdp.envs import MeanTable, VectorLearntReward
    >>> envs = gymnasium.make_vec("monmdp/Bottleneck-v0", num_envs=3, monitor="ask")
    >>> envs = VectorLearntReward(envs, MeanTable(envs, prior=-10.0))
    >>> _ = envs.reset(seed=0)
    >>> envs.step({"env": [1, 1, 1], "mon": [0, 0, 0]})[1]
    array([-10., -10., -10.])
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], model: RewardModel) -> None:
        """Wrap a vector of monitored environments.

        Args:
            env: the vector environment.
            model: of the reward; it must take batches, as `MeanTable` and `RewardNet` do.
        """
        super().__init__(env)
        _env_spaces(env, "VectorLearntReward")
        self.model = _checked(model)
        self._before: Any = None
        self._over: BoolArray = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode in every copy, or in those of ``reset_mask``."""
        observation, info = self.env.reset(seed=seed, options=options)
        begun = (options or {}).get("reset_mask", True)
        self._over &= ~np.broadcast_to(begun, self.num_envs)
        self._before = copy.deepcopy(observation["env"])
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Take an action in every copy."""
        observation, rewards, terminated, truncated, info = self.env.step(action)
        stepped, shown = ~self._over, info.get("reward_observed", np.zeros_like(self._over))
        learnt: FloatArray = np.zeros(self.num_envs)
        seen, hidden = stepped & shown, stepped & ~shown
        if seen.any():
            learnt[seen] = info["proxy_reward"][seen]
            self.model.fit(*self._pairs(action, seen), learnt[seen])
        if hidden.any():
            learnt[hidden] = self.model.predict(*self._pairs(action, hidden))
        total = np.where(stepped, told_monitor_reward(self.env, info) + learnt, rewards)
        self._before, self._over = copy.deepcopy(observation["env"]), terminated | truncated
        return observation, total, terminated, truncated, info

    def _pairs(self, action: Any, chosen: BoolArray) -> tuple[Any, Any]:
        return _rows(self._before, chosen), _rows(action["env"], chosen)


def _rows(batch: Any, chosen: BoolArray) -> Any:
    """The chosen copies of a batch, whatever the space."""
    if isinstance(batch, dict):
        return {key: _rows(of, chosen) for key, of in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_rows(of, chosen) for of in batch)
    return np.asarray(batch)[chosen]
