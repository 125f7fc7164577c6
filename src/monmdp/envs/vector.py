"""Many copies of one Mon-MDP in one environment, stepped together by compiled code.

Copy i behaves exactly like a single `MonMDPEnv` that was reset with the same seed: it has a stream
of its own with the same draws, two a reset and three a step. The arrays returned are those of
Gymnasium's `SyncVectorEnv` over such environments. After an episode ends, the next step begins a
new one and ignores its action (Gymnasium's ``NEXT_STEP`` mode).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from monmdp.compiling import compilable, compiled
from monmdp.envs.monmdp_env import Event, MonMDPEnv, chosen_start, picture
from monmdp.envs.monmdp_env import Observations as Shown
from monmdp.envs.pcg64 import Streams, pack, uniform, unpack
from monmdp.errors import MonMDPError
from monmdp.memory import demand_room
from monmdp.model import MDP, Monitor, MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.dynamics import Tables, reset, step
from monmdp.model.mdp import whole_number

COPY = 500
"""bytes that a copy takes, with its spaces and what a step of it returns"""
SPACES = 4
"""times that an observation of every copy is held: by its space, and by what a step returns"""
NO_LIMIT = np.iinfo(np.int64).max
Observations = dict[str, NDArray[Any]]


class Copies(NamedTuple):
    """Where every copy is."""

    se: IntArray
    sm: IntArray
    steps: IntArray
    """steps of the episode so far"""
    over: BoolArray
    """the episode is over: the next step resets"""
    streams: Streams


class StepArrays(NamedTuple):
    """What a step of all copies brings."""

    env_reward: FloatArray
    """empty unless it is exposed: a hidden reward is written nowhere"""
    monitor_reward: FloatArray
    proxy: FloatArray
    reward: FloatArray
    shown: BoolArray
    terminated: BoolArray
    truncated: BoolArray
    stepped: BoolArray
    """false where this step was a reset"""


@compilable
def begin(tables: Tables, copies: Copies, i: int) -> None:
    """Begin an episode in copy i."""
    u0, u1 = uniform(copies.streams, i), uniform(copies.streams, i)
    copies.se[i], copies.sm[i] = reset(tables, u0, u1)
    copies.steps[i], copies.over[i] = 0, False


def reset_copies(tables: Tables, copies: Copies, chosen: BoolArray) -> None:
    """Begin an episode in the chosen copies."""
    for i in range(len(copies.se)):
        if chosen[i]:
            begin(tables, copies, i)


def step_copies(
    tables: Tables,
    copies: Copies,
    ae: IntArray,
    am: IntArray,
    limit: int,
    fill: float,
    outcome: StepArrays,
) -> None:
    """Take a step in every copy, or begin an episode where the last one is over."""
    exposed = len(outcome.env_reward) > 0
    for i in range(len(copies.se)):
        outcome.terminated[i] = outcome.truncated[i] = outcome.shown[i] = False
        outcome.stepped[i] = not copies.over[i]
        if copies.over[i]:
            begin(tables, copies, i)
            outcome.monitor_reward[i] = outcome.reward[i] = 0.0
            outcome.proxy[i] = fill
            if exposed:
                outcome.env_reward[i] = 0.0
            continue
        u0, u1 = uniform(copies.streams, i), uniform(copies.streams, i)
        u2 = uniform(copies.streams, i)
        copies.se[i], copies.sm[i], re, rm, shown, ended = step(
            tables, copies.se[i], copies.sm[i], ae[i], am[i], u0, u1, u2
        )
        copies.steps[i] += 1
        outcome.monitor_reward[i], outcome.shown[i] = rm, shown
        if exposed:
            outcome.env_reward[i] = re
        outcome.proxy[i] = re if shown else fill
        outcome.reward[i] = rm + outcome.proxy[i]
        outcome.terminated[i] = ended
        outcome.truncated[i] = not ended and copies.steps[i] >= limit
        copies.over[i] = outcome.terminated[i] or outcome.truncated[i]


class MonMDPVectorEnv(VectorEnv[Observations, Observations, NDArray[Any]]):
    """Many copies of a `MonMDPEnv`; ``gymnasium.make_vec("monmdp/Bottleneck-v0", …)`` makes it.

    >>> import gymnasium, monmdp
    >>> envs = gymnasium.make_vec("monmdp/Bottleneck-v0", num_envs=1000, monitor="ask")
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["env"].shape
    (1000,)
    >>> _, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
    >>> infos["reward_observed"].dtype
    dtype('bool')
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        **MonMDPEnv.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        world: str | MDP | MonMDP | None = None,
        monitor: str | Monitor = "full",
        *,
        num_envs: int = 1,
        fill: float = 0.0,
        expose_env_reward: bool = False,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        observations: Shown = "number",
        **params: Any,
    ) -> None:
        """Make `num_envs` copies; all else is as for `MonMDPEnv`.

        `max_episode_steps` truncates episodes, as it does in ``gymnasium.make``; the world's own
        time limit still holds.
        """
        self.num_envs = whole_number(num_envs, "num_envs", at_least=1)
        self._demand_room(COPY)
        self._single = MonMDPEnv(
            world,
            monitor,
            fill=fill,
            expose_env_reward=expose_env_reward,
            render_mode=render_mode,
            observations=observations,
            **params,
        )
        self.monmdp, self.fill = self._single.monmdp, self._single.fill
        if self._single.table is not None:
            self._demand_room(COPY + SPACES * self._single.table[0].nbytes)
        self.render_mode = render_mode
        self._expose_env_reward = bool(expose_env_reward)  # the single environment has checked it
        self.single_observation_space = self._single.observation_space
        self.single_action_space = self._single.action_space
        self.observation_space = batch_space(self._single.observation_space, self.num_envs)
        self.action_space = batch_space(self._single.action_space, self.num_envs)
        limit = self.monmdp.mdp.time_limit
        self._limit = NO_LIMIT if limit is None else limit
        if max_episode_steps is not None:
            own = whole_number(max_episode_steps, "max_episode_steps", at_least=1)
            self._limit = min(self._limit, own)
        self._tables = self.monmdp.tables
        se, sm, steps = np.zeros((3, self.num_envs), dtype=np.int64)
        over = np.zeros(self.num_envs, dtype=np.bool_)
        self._copies = Copies(se, sm, steps, over, np.zeros((self.num_envs, 4), dtype=np.uint64))
        self._seeds_used = [-1] * self.num_envs
        self._begun = np.zeros(self.num_envs, dtype=np.bool_)
        self._last: tuple[IntArray, IntArray, StepArrays] | None = None

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode in every copy, with seeds seed, seed + 1, … or a list of them.

        Options are those of `MonMDPEnv`, and ``reset_mask``: [copy] which copies begin anew.
        """
        chosen = np.ones(self.num_envs, dtype=np.bool_)
        if isinstance(options, dict) and "reset_mask" in options:
            chosen = self._checked_mask(options["reset_mask"])
            options = {key: value for key, value in options.items() if key != "reset_mask"}
        start = chosen_start(options, self._single.states)
        for i, its_seed in enumerate(self._seeds(seed)):
            if chosen[i] and (its_seed is not None or not self._begun[i]):
                generator, self._seeds_used[i] = np_random(its_seed)
                self._copies.streams[i] = pack([generator])
        compiled(reset_copies)(self._tables, self._copies, chosen)
        for key, values in (("env", self._copies.se), ("mon", self._copies.sm)):
            if key in start:
                values[chosen] = start[key]
        self._begun |= chosen
        self._last = None
        nothing = np.zeros(self.num_envs)
        fill = np.where(chosen, self.fill, 0.0)
        return self._observations(), _info(nothing > 0, nothing, fill, chosen)

    def step(
        self, actions: Observations
    ) -> tuple[Observations, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Take a joint action ``{"env": [copy] aᵉ, "mon": [copy] aᵐ}`` in every copy."""
        if not self._begun.all():
            raise gymnasium.error.ResetNeeded("not every copy has begun an episode: call reset()")
        if not isinstance(actions, dict) or set(actions) != {"env", "mon"}:
            raise MonMDPError(f'actions are {{"env": [copy], "mon": [copy]}}, got {actions!r}')
        ae, am = (
            checked_actions(actions[key], self.num_envs, space.n, f"actions {key!r}")
            for key, space in self.single_action_space.spaces.items()  # type: ignore[attr-defined]
        )
        n = self.num_envs
        # Arrays of their own: views of one array would lead from each to all others.
        outcome = StepArrays(
            np.empty(n if self._expose_env_reward else 0), np.empty(n), np.empty(n), np.empty(n),
            *(np.empty(n, np.bool_) for _ in range(4)),
        )  # fmt: skip
        compiled(step_copies)(self._tables, self._copies, ae, am, self._limit, self.fill, outcome)
        every = np.ones(self.num_envs, dtype=np.bool_)
        info = _info(outcome.shown, outcome.monitor_reward, outcome.proxy, every)
        if self._expose_env_reward and outcome.stepped.any():
            info["env_reward"], info["_env_reward"] = outcome.env_reward, outcome.stepped
        if self.render_mode is not None:
            self._last = ae.copy(), am.copy(), copy.deepcopy(outcome)
        return (self._observations(), outcome.reward, outcome.terminated, outcome.truncated, info)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of every copy's stream; -1 before the first reset."""
        return tuple(self._seeds_used)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """A generator for every copy that goes on where its stream is; drawing changes no copy."""
        return tuple(map(unpack, self._copies.streams))

    def render(self) -> tuple[Any, ...] | None:
        """Draw every copy."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called, but no render_mode was given")
            return None
        where = zip(*(of.tolist() for of in self._copies[:3]), strict=True)
        return tuple(
            picture(self.monmdp, self.render_mode, se, sm, steps, self._event(i))
            for i, (se, sm, steps) in enumerate(where)
        )

    def _event(self, i: int) -> Event | None:
        """What copy i did last."""
        if self._last is None or not self._last[2].stepped[i]:
            return None
        ae, am, outcome = self._last
        shown = float(outcome.proxy[i]) if outcome.shown[i] else None
        return Event(int(ae[i]), int(am[i]), float(outcome.monitor_reward[i]), shown)

    def _demand_room(self, each: int) -> None:
        demand_room(each * self.num_envs, f"num_envs = {self.num_envs:,} copies")

    def _observations(self) -> Observations:
        se, table = self._copies.se, self._single.table
        return {"env": se.copy() if table is None else table[se], "mon": self._copies.sm.copy()}

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        """A seed for every copy."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        if not isinstance(seed, list | tuple | np.ndarray):
            raise MonMDPError(f"a seed is a whole number, or one for every copy, got {seed!r}")
        if len(seed) != self.num_envs:
            raise MonMDPError(f"{len(seed)} seeds for {self.num_envs} copies")
        return [of if of is None else whole_number(of, "seed", at_least=0) for of in seed]

    def _checked_mask(self, given: Any) -> BoolArray:
        mask = np.asarray(given)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise MonMDPError(
                f"reset_mask: {self.num_envs} booleans expected, one of them true, got {given!r}"
            )
        return mask.copy()


def checked_actions(given: Any, copies: int, n: int, what: str) -> IntArray:
    """Return actions [copy], each below `n`, or say which copy's does not exist."""
    actions = np.asarray(given)
    if actions.shape != (copies,) or actions.dtype.kind not in "iu":
        raise MonMDPError(
            f"{what}: {copies} whole numbers expected, got {actions.dtype} of shape {actions.shape}"
        )
    actions = np.ascontiguousarray(actions, dtype=np.int64)
    if actions.view(np.uint64).max() >= n:  # one pass: a negative number is a huge one
        at = int(np.argmax((actions < 0) | (actions >= n)))
        raise MonMDPError(f"{what}: {actions[at]} in copy {at}; there are {n}, from 0")
    return actions


def _info(
    shown: BoolArray, monitor_reward: FloatArray, proxy: FloatArray, given: BoolArray
) -> dict[str, Any]:
    """What Gymnasium makes of the info of all copies; `given` says which have one."""
    told = {"reward_observed": shown, "monitor_reward": monitor_reward, "proxy_reward": proxy}
    return {**told, **{f"_{key}": given.copy() for key in told}}
