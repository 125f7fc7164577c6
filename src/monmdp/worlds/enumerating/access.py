"""How the states of an environment are told apart, and how one goes back to them.

An access knows three things of its environment: a *snapshot* to go back to, how to *restore* it,
and a *key* that is equal for equal states. The user may give each of them. Otherwise Gymnasium's
toy text and MiniGrid have an access of their own, and any other environment is copied.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import (
    HumanRendering,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    RecordVideo,
    RenderCollection,
    TimeLimit,
)
from numpy.typing import NDArray

from monmdp.errors import MonMDPError, told
from monmdp.worlds.enumerating.frozen import (
    frozen_value,
    generators,
    global_generators,
    reseed,
    stream,
)
from monmdp.worlds.importing import action_names, state_names

PASSIVE = (
    OrderEnforcing, PassiveEnvChecker, TimeLimit, RecordEpisodeStatistics, RecordVideo,
    RenderCollection, HumanRendering,
)  # fmt: skip
"""wrappers that change nothing but the time limit"""
GYMNASIUMS = ("env", "_np_random", "_np_random_seed", "_cached_spec")
"""attributes of wrappers and environments that are no part of a state"""
TABLE = ("P", "initial_state_distrib", "s", "lastaction")
"""further ones of toy text: its table, and what the number of the state says"""
COUNTED = (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
"""spaces that are flattened by counting, which is silent about numbers that are too large"""
RESET = ("observation", "info")
STEP = ("observation", "reward", "terminated", "truncated", "info")


class Own(NamedTuple):
    """What the user says of the environment; None: nothing."""

    snapshot: Callable[[Any], Any] | None = None
    restore: Callable[[Any, Any], Any] | None = None
    key: Callable[[Any], Hashable] | None = None


class ChangesMoreError(Exception):
    """A step changes something that no snapshot covers: the environment has to be copied."""


class Step(NamedTuple):
    """What a step brings."""

    raw: Any
    """the observation as the environment returns it"""
    reward: float
    terminated: bool


def layers(env: Any) -> list[Any]:
    """Return the wrappers of an environment, the outermost first, and the environment itself."""
    found = [env]
    while isinstance(found[-1], gymnasium.Wrapper):
        found.append(found[-1].env)
    return found


def own_wrappers(env: Any) -> list[Any]:
    """Return the wrappers that change something."""
    return [layer for layer in layers(env)[:-1] if not isinstance(layer, PASSIVE)]


def held(env: Any, parts: Sequence[Any], left_out: tuple[str, ...] = ()) -> Hashable:
    """Return what wrappers and environments hold; of each other, only who it is."""
    who = {id(layer): i for i, layer in enumerate(layers(env))}
    left_out += GYMNASIUMS
    shown = [
        SimpleNamespace(**{k: v for k, v in vars(part).items() if k not in left_out})
        for part in parts
    ]
    return frozen_value(shown, "environment", lambda one: who.get(id(one)))


def _parts(returned: Any, method: str, parts: tuple[str, ...]) -> Any:
    """Demand what a method of Gymnasium's returns; old Gym returned less."""
    if not isinstance(returned, tuple) or len(returned) != len(parts):
        got = f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__
        raise MonMDPError(
            f"{method} returned {got}; Gymnasium's returns ({', '.join(parts)}). An environment of "
            "the old Gym has to be translated first"
        )
    return returned


def _kept(raw: Any) -> Any:
    """An observation that neither the environment nor a user's function can change later."""
    if isinstance(raw, np.ndarray):
        raw = raw.copy()
        raw.setflags(write=False)
    elif isinstance(raw, dict):
        raw = {name: _kept(part) for name, part in raw.items()}
    elif type(raw) is tuple:
        raw = tuple(map(_kept, raw))
    return raw


def _in_box(observation: Any, space: spaces.Box) -> NDArray[Any]:
    """An array of the type that the space declares, if that changes no number.

    Real numbers may be rounded to the precision of the space.
    """
    given = np.asarray(observation)
    if given.shape != space.shape:
        raise MonMDPError(
            f"an observation has the shape {given.shape}, and observation_space declares "
            f"{space.shape}"
        )
    if given.dtype == space.dtype:
        return given
    if given.dtype.kind not in "biuf":
        raise MonMDPError(f"an observation of numbers expected, got {given.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        row = given.astype(space.dtype)
    rounded = given.dtype.kind == row.dtype.kind == "f"
    same = np.isfinite(row) == np.isfinite(given) if rounded else row == given
    if not same.all():
        raise MonMDPError(
            f"an observation holds {given[~same].flat[0]}, of type {given.dtype}, which the "
            f"{space.dtype} of observation_space cannot hold; declare the type that is returned"
        )
    return row


class Access:
    """An environment that is copied: any will do, if it can be."""

    proven = False
    """whether it is known what a step may do, so that it need not be tried again"""
    copies = True
    """whether a snapshot is the environment itself, unless the user says otherwise"""

    def __init__(self, env: Any, own: Own) -> None:
        """Begin with an environment that need not have been reset."""
        while isinstance(env, PASSIVE):  # the outermost are not needed
            env = env.env
        self.env, self.own = env, own
        self.clocks = [layer for layer in layers(env) if isinstance(layer, TimeLimit)]
        self._was_reset = False
        self._generators: list[Any] | None = None
        """those of the environment; None: they are to be looked for"""
        self._watched: list[Any] = []
        self._streams: list[Hashable] = []

    # ---- states -----------------------------------------------------------------------------

    def starts(self, seed: int, n: int) -> Iterator[tuple[float, Any]]:
        """Yield the chance of a start and what is observed there, with the environment there."""
        for i in range(n):
            self.begin()
            yield 1 / n, self.reset(seed + i)

    def begin(self) -> None:
        """Take another environment if the last start is a snapshot by now."""
        if self._was_reset and self.copies and self.own.snapshot is None:
            self.restore(self.env)

    def reset(self, seed: int) -> Any:
        """Reset the environment, and return what is observed."""
        self._was_reset, self._generators = True, None
        raw, _ = _parts(self.env.reset(seed=seed), "reset", RESET)
        self.rewind()
        return raw

    def snapshot(self) -> Any:
        """Return what leads back to the state that the environment is in."""
        if self.own.snapshot is not None:
            with told("snapshot"):
                return self.own.snapshot(self.env)
        return self.env  # nobody steps it: restoring makes a copy

    def restore(self, snapshot: Any) -> None:
        """Go back."""
        self._generators = None  # there may be others afterwards
        if self.own.restore is not None:
            with told("restore"):
                self.own.restore(self.env, snapshot)
            return
        try:
            self.env = copy.deepcopy(snapshot, self.shared())
        except Exception as error:  # environments hold what they like
            raise MonMDPError(
                f"the environment cannot be copied ({type(error).__name__}: {error}); give "
                "snapshot=… and restore=…"
            ) from None
        self.clocks = [layer for layer in layers(self.env) if isinstance(layer, TimeLimit)]

    def shared(self) -> dict[int, Any]:
        """Return what copies have in common, by id: nothing that changes, or is random."""
        return {}

    def key(self) -> Hashable:
        """Return what tells this state from others."""
        if self.own.key is not None:
            with told("key"):
                return self.own.key(self.env)
        if self.own.snapshot is not None:
            return frozen_value(self.snapshot(), "the snapshot")
        return held(self.env, [*own_wrappers(self.env), self.env.unwrapped])

    # ---- steps ------------------------------------------------------------------------------

    def step(self, action: int) -> Step:
        """Take a step on clocks that stand still."""
        self.rewind()
        result = self.brought(self.env.step(action))
        self.rewind()
        return result

    def brought(self, returned: Any) -> Step:
        """Return what a step brought, given what it returned."""
        raw, reward, terminated, truncated, _ = _parts(returned, "step", STEP)
        if truncated:
            raise MonMDPError(
                "the environment ended the episode itself (truncated), so it counts its steps; "
                "make it without a limit, or let restore=… set its clock"
            )
        return Step(raw, float(reward), bool(terminated))

    def rewind(self) -> None:
        """Set the clocks that are known to the beginning."""
        for clock in self.clocks:
            clock._elapsed_steps = 0  # type: ignore[assignment]

    def numbers(self, snapshot: Any) -> dict[str, int]:
        """Return the whole numbers among the attributes that tell states apart."""
        if self.own != Own():
            return {}
        base = snapshot.unwrapped
        return {name: value for name, value in vars(base).items() if type(value) is int}

    def sure(self) -> bool:
        """Whether a second look at every pair would find nothing, after the first one."""
        return False

    def check(self) -> None:
        """Say if the steps so far changed something that no snapshot covers."""

    # ---- chance -----------------------------------------------------------------------------

    def generators(self) -> list[Any]:
        """Return all random generators of the environment."""
        if self._generators is None:
            self._generators = list(generators(self.env, self.shared()))
        return self._generators

    def watch(self) -> None:
        """Remember where all random streams are, before a step."""
        self._watched = [*self.generators(), *global_generators()]
        self._streams = list(map(stream, self._watched))

    def drew(self) -> bool:
        """Whether random numbers were drawn since `watch`."""
        return self._streams != list(map(stream, self._watched))

    def reseed(self, seed: int) -> None:
        """Let the environment's random streams go on elsewhere."""
        for generator in self.generators():
            reseed(generator, seed)

    # ---- what the MDP is told ---------------------------------------------------------------

    def observe(self, raw: Any) -> Any:
        """Return what an agent sees, given what the environment returned."""
        return _kept(raw)

    def row(self, observation: Any) -> NDArray[Any]:
        """Return an observation as a row of the table: an array as it is, all else flattened."""
        space = self.env.observation_space
        if isinstance(space, spaces.Box):
            return _in_box(observation, space)
        if isinstance(space, COUNTED) and not space.contains(observation):
            raise MonMDPError(f"the observation {observation!r:.60} is not in {space}")
        try:
            row = np.asarray(spaces.flatten(space, observation))
        except Exception as error:  # a space may be anybody's
            raise MonMDPError(
                f"observations of {space} cannot be written as numbers ({error}); wrap the "
                "environment so that they are arrays"
            ) from None
        return row.astype(np.uint8) if isinstance(space, spaces.Discrete) else row

    def note(self) -> Any:
        """Return what `fields` needs to know of the state that the environment is in."""

    def fields(self, notes: Sequence[Any]) -> dict[str, Any]:  # noqa: ARG002
        """Return further fields of the MDP, from the notes of all states."""
        return {}

    def actions(self, n: int) -> tuple[str, ...]:
        """Return the names of the actions."""
        first = int(self.env.action_space.start)
        return tuple(str(first + a) for a in range(n))

    def time_limit(self) -> int | None:
        """Return the number of steps after which the environment itself ends an episode."""
        return None

    def finish(self) -> None:
        """Leave the environment as it was found."""


class CopiedToyText(Access):
    """For FrozenLake, CliffWalking or Taxi with more to a state than its number: it is copied."""

    def __init__(self, env: Any, own: Own) -> None:
        """Refuse a table with chance in it: `from_gymnasium` imports it as it is."""
        super().__init__(env, own)
        if getattr(self.base, "fickle_passenger", False):
            raise MonMDPError("the environment is random: its passenger is fickle")
        for s, row in self.base.P.items():
            for a, outcomes in row.items():
                found = sorted({(int(o[1]), float(o[2]), bool(o[3])) for o in outcomes if o[0] > 0})
                if len(found) > 1:
                    raise MonMDPError(
                        f"the environment is random: in state {s}, action {a} leads to state "
                        f"{found[0][0]} with reward {found[0][1]:g} or to state {found[-1][0]} "
                        f"with reward {found[-1][1]:g}; worlds.from_gymnasium and the name "
                        f"gymnasium:{env.spec.id if env.spec else 'ID'} import its table of chances"
                    )

    @property
    def base(self) -> Any:
        """The environment without its wrappers."""
        return self.env.unwrapped

    @staticmethod
    def fits(base: Any) -> bool:
        """Whether an environment is of this kind."""
        return all(hasattr(base, name) for name in ("P", "initial_state_distrib"))

    def starts(self, seed: int, n: int) -> Iterator[tuple[float, Any]]:
        """Yield every state in which an episode may begin; resets would only draw from them."""
        if n != 1:
            yield from super().starts(seed, n)
            return
        distribution = self.base.initial_state_distrib
        for s in np.flatnonzero(distribution):
            self.begin()
            self.base.initial_state_distrib = (np.arange(len(distribution)) == s) * 1.0
            raw = self.reset(seed)
            self.base.initial_state_distrib = distribution
            yield float(distribution[s]), raw

    def shared(self) -> dict[int, Any]:
        """Return the table, by far the largest part."""
        return {id(self.base.P): self.base.P}

    def key(self) -> Hashable:
        """Return the number of the state, and what else may change."""
        return (int(self.base.s), self.rest()) if self.own == Own() else super().key()

    def rest(self) -> Hashable:
        """Return what the wrappers hold, and the environment beside its table."""
        wrappers = held(self.env, own_wrappers(self.env))
        return wrappers, held(self.env, [self.base], TABLE)

    def numbers(self, snapshot: Any) -> dict[str, int]:  # noqa: ARG002
        """Return none: the number of the state is no clock."""
        return {}

    def note(self) -> int:
        """Return the number of the state."""
        return int(self.base.s)

    def fields(self, notes: Sequence[Any]) -> dict[str, Any]:
        """Names of the states."""
        names = state_names(self.base, len(self.base.P))
        labels = [names[s] if names else str(s) for s in notes]
        return {"state_labels": labels} if len(set(labels)) == len(labels) else {}

    def actions(self, n: int) -> tuple[str, ...]:
        """Return the constants of the environment's module."""
        return action_names(self.base, n)


class ToyText(CopiedToyText):
    """FrozenLake, CliffWalking, Taxi: the state is the number ``s``, its chances are in ``P``."""

    copies = False

    def __init__(self, env: Any, own: Own) -> None:
        """See whether the table is all there is: nothing around it, and no code but Gymnasium's."""
        super().__init__(env, own)
        ours = type(self.base).__module__.startswith("gymnasium.")
        self._alone = ours and not own_wrappers(env)
        self._rest_at_reset: Hashable = None

    def reset(self, seed: int) -> Any:
        """Reset the environment; what else it holds must be the same at each start."""
        first, raw = not self._was_reset, super().reset(seed)
        if first and not self._alone:
            self._rest_at_reset = self._seen_rest()
        self.check()
        return raw

    def snapshot(self) -> Any:
        """Return the number of the state."""
        return int(self.base.s) if self.own.snapshot is None else super().snapshot()

    def restore(self, snapshot: Any) -> None:
        """Set the number of the state."""
        if self.own.restore is None:
            self.base.s = snapshot
        else:
            super().restore(snapshot)

    def key(self) -> Hashable:
        """Return the number of the state."""
        return int(self.base.s) if self.own == Own() else super().key()

    def check(self) -> None:
        """Raise an error if anything but the number of the state has changed."""
        if self._alone or self.own.restore is not None:
            return
        if self._seen_rest() != self._rest_at_reset:
            raise ChangesMoreError

    def _seen_rest(self) -> Hashable:
        try:
            return self.rest()
        except MonMDPError:  # there is something that cannot be compared
            raise ChangesMoreError from None

    def watch(self) -> None:
        """Look at nothing if chance does not matter: in a table with one outcome a pair."""
        if not self._alone:
            super().watch()

    def drew(self) -> bool:
        """Whether chance matters."""
        return not self._alone and super().drew()
