"""What deep agents share: from observations to inputs of networks, cells, and the first steps.

Each distinct observation that is met gets a number, and inputs for networks (`Met`); random
signs of inputs sort them into cells (`SimHash`). Where observations are real numbers, how large
these are is found out in the first steps, which are at random (`Learner`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from monmdp.agents.contract import Transition, View, checked_reward
from monmdp.agents.deep_networks import Inputs
from monmdp.errors import MonMDPError, nearest
from monmdp.model.mdp import number, whole_number
from monmdp.model.monmdp import Shape
from monmdp.planning.policy_iteration import learning_gamma

FARTHEST = 1e6
"""of inputs from 0, in deviations: what is farther would overflow"""
WIDEST = 1 << 16
"""inputs that whole numbers may take, a hundred times what a grid needs"""

# ---- inputs ---------------------------------------------------------------------------------


class WholeNumbers:
    """Observations of whole numbers, such as the objects on a grid, as inputs of a network.

    An observation is where it differs from the first one that was met: one input for every value
    that a number was found to have instead. So there are more inputs as more is met, and none for
    what is always the same.
    """

    settled = True

    def __init__(self) -> None:
        self.width = 64
        self.first: NDArray[Any] | None = None
        self.slots: dict[tuple[int, int], int] = {}

    def settle(self, observations: NDArray[Any]) -> None:
        """Do nothing: it needs no warm-up."""

    def meet(self, observation: NDArray[Any]) -> Inputs:
        """Return the inputs for an observation to learn from."""
        flat = observation.reshape(-1)
        if self.first is None:
            self.first = flat.copy()
        for column in np.flatnonzero(flat != self.first).tolist():
            self.slots.setdefault((column, int(flat[column])), len(self.slots))
        while len(self.slots) > self.width:
            self.width *= 2
        if self.width > WIDEST:
            raise MonMDPError(
                f"observations have more than {WIDEST:,} numbers in different places: whole "
                "numbers are taken for the objects on a grid, one input for each; make images "
                "small first, or give observations as real numbers"
            )
        return self(observation)

    def __call__(self, observation: NDArray[Any]) -> Inputs:
        """Return the inputs for an observation; values that were never met are left out."""
        flat, inputs = observation.reshape(-1), np.zeros(self.width, dtype=np.float32)
        if self.first is not None:
            for column in np.flatnonzero(flat != self.first).tolist():
                slot = self.slots.get((column, int(flat[column])))
                if slot is not None:
                    inputs[slot] = 1.0
        return inputs


class RealNumbers:
    """Observations of real numbers, shifted and scaled like those met before `settle`."""

    def __init__(self, size: int) -> None:
        self.width = size
        self.settled = False
        self.mean, self.scale = np.zeros(size), np.ones(size)

    def settle(self, observations: NDArray[Any]) -> None:
        """Take mean and deviation of these, [observation, …], for all that follow."""
        flat = observations.reshape(len(observations), -1).astype(np.float64)
        self.mean, deviation = flat.mean(axis=0), flat.std(axis=0)
        rounding = 1e-6 * np.maximum(1, np.abs(self.mean))
        self.scale = np.where(deviation > rounding, deviation, 1.0)  # the same so far may differ
        self.settled = True

    def meet(self, observation: NDArray[Any]) -> Inputs:
        """Return the inputs for an observation."""
        return self(observation)

    def __call__(self, observation: NDArray[Any]) -> Inputs:
        """Return the inputs for an observation."""
        scaled = (observation.reshape(-1) - self.mean) / self.scale
        inputs: Inputs = np.clip(scaled, -FARTHEST, FARTHEST).astype(np.float32)
        return inputs


def encoder(view: View) -> WholeNumbers | RealNumbers:
    """Return the encoder for a kind of observation."""
    if view.dtype.kind in "bui":
        return WholeNumbers()
    return RealNumbers(int(np.prod(view.observation)))


# ---- what was met ---------------------------------------------------------------------------


class Met:
    """Distinct observations that were met: each has a number, and inputs for networks."""

    def __init__(self, view: View) -> None:
        self.encode = encoder(view)
        self.number_of: dict[bytes, int] = {}
        self.inputs = np.zeros((256, self.encode.width), dtype=np.float32)
        """[number, input]; there is room for more"""

    def __len__(self) -> int:
        return len(self.number_of)

    def number(self, observation: NDArray[Any]) -> int:
        """Return the number of an observation, the next one if it is new."""
        key = observation.tobytes()
        if key not in self.number_of:
            inputs = self.encode.meet(observation)
            if (more := len(inputs) - self.inputs.shape[1]) > 0:
                self.inputs = np.pad(self.inputs, ((0, 0), (0, more)))
            number = self.number_of[key] = len(self.number_of)
            self.inputs = with_room(self.inputs, number + 1)
            self.inputs[number] = inputs
        return self.number_of[key]

    def forget(self, gone: int) -> None:
        """Forget the first ones; the others are renumbered."""
        self.number_of = {key: of - gone for key, of in self.number_of.items() if of >= gone}
        self.inputs = self.inputs[gone:]


def with_room(array: NDArray[Any], n: int) -> NDArray[Any]:
    """Return an array with room for n rows, twice as long if it has to be longer."""
    return np.concatenate([array, np.zeros_like(array)]) if n > len(array) else array


class SimHash:
    """The signs of random projections: the nearer two inputs, the more of these they share.

    Projections are compared with random thresholds, or with 0, which does not tell inputs apart
    that lie in the same direction. Thresholds have a Cauchy distribution, in deviations of inputs:
    most are where inputs were at first, the others anywhere farther out, the fewer the farther. So
    cells grow with the distance.
    """

    def __init__(self, bits: int, rng: np.random.Generator, thresholds: float = 0.0) -> None:
        """Draw what does not depend on inputs; `thresholds` says how far out these are."""
        self.rng = np.random.default_rng(rng.integers(2**63))
        drawn = self.rng.standard_cauchy(bits) if thresholds else np.zeros(bits)
        self.thresholds = thresholds * drawn
        self._face(np.zeros((0, bits)))

    def _face(self, directions: NDArray[np.float64]) -> None:
        """Take these directions, whatever their lengths."""
        self.directions = directions
        self.limits = self.thresholds * np.linalg.norm(directions, axis=0)

    def __call__(self, inputs: Inputs) -> NDArray[np.bool_]:
        """[i, bit] the signs for inputs [i, input]; more inputs leave the signs of others alone."""
        known, bits = self.directions.shape
        if (more := inputs.shape[1] - known) > 0:
            drawn = self.rng.normal(size=(more, bits))
            self._face(np.concatenate([self.directions, drawn]))
        signs: NDArray[np.bool_] = inputs @ self.directions > self.limits
        return signs


def own_copy(transition: Transition) -> Transition:
    """Return the same transition with arrays that nobody else changes."""
    here, after = (
        {"env": of["env"].copy(), "mon": of["mon"]}
        for of in (transition.observation, transition.next_observation)
    )
    return transition._replace(observation=here, next_observation=after)


# ---- agents ---------------------------------------------------------------------------------


@dataclass(eq=False)
class Learner:
    """An agent that sees observations; it is given a `View` of the problem and a random stream."""

    sees: ClassVar[str] = "observations"
    within: ClassVar[dict[str, str]] = {}
    """parameter -> interval such as "(0, 1]", for real numbers that may not be any from 0 up"""
    at_least: ClassVar[dict[str, int]] = {}
    """parameter -> least value, for those of whole numbers that must be more than 1"""

    view: View
    rng: np.random.Generator
    gamma: float = 0.95
    """γ, the discount"""
    warmup: int = 100
    """steps before the first update; at random where observations are real numbers, and for DQN"""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self._check()
        _, _, self.n_sm, self.n_ae, self.n_am, self.r_min, self.r_max = self.view
        self.shape = Shape(1, self.n_sm, self.n_ae, self.n_am)  # all that is the same for any o
        self.met = Met(self.view)
        self.steps = 0
        self.beginning = True
        self.waiting: list[tuple[Transition, bool]] = []

    def _check(self) -> None:
        """Refuse what makes no sense, and make whole numbers whole."""
        if not isinstance(self.view, View):
            raise MonMDPError(f"{type(self).__name__} is made from a View, got {self.view!r}")
        shape, dtype, *sizes, r_min, r_max = self.view
        for name, size in zip(View._fields[2:5], sizes, strict=True):
            whole_number(size, name, at_least=1)
        if number(r_min, "r_min") > number(r_max, "r_max"):
            raise MonMDPError(f"r_min = {r_min} is above r_max = {r_max}")
        try:
            none = np.zeros(shape, dtype)
        except (TypeError, ValueError):
            raise MonMDPError(f"there are no arrays {shape!r} of {dtype!r}") from None
        if none.dtype.kind not in "buif":
            raise MonMDPError(f"observations must be numbers, got {none.dtype}")
        self.view = self.view._replace(observation=none.shape, dtype=none.dtype)
        if not isinstance(self.rng, np.random.Generator):
            raise MonMDPError(f"rng must be a NumPy generator, got {self.rng!r}")
        learning_gamma(self.gamma)
        kinds = get_type_hints(type(self))
        for name in (of.name for of in fields(self)[2:] if of.init):
            setattr(self, name, self._checked(name, kinds[name], getattr(self, name)))

    def _checked(self, name: str, kind: Any, value: Any) -> Any:
        if get_origin(kind) is Literal:
            if value not in get_args(kind):
                raise MonMDPError(f"{name}={value!r}{nearest(str(value), get_args(kind))}")
            return value
        if type(None) in get_args(kind):
            if value is None:
                return value
            kind = next(of for of in get_args(kind) if of is not type(None))
        if kind in (bool, str):
            if not isinstance(value, kind):
                raise MonMDPError(f"{name} must be a {kind.__name__}, got {value!r}")
            return value
        if kind is float:
            return number(value, name, self._bound("within", name, "[0, inf)"))
        if kind is int:
            return whole_number(value, name, at_least=self._bound("at_least", name, 1))
        return value  # of a kind that a variant has brought along, and checks itself

    def _bound(self, table: str, name: str, usual: Any) -> Any:
        """What a class, or the first one above it, says of a parameter in one of its tables."""
        for of in type(self).__mro__:
            if name in (bounds := vars(of).get(table, {})):
                if not isinstance(bounds[name], type(usual)):
                    like = "an interval such as '[0, 1]'" if table == "within" else "a whole number"
                    raise MonMDPError(
                        f"{of.__name__}.{table}: {name} is {bounds[name]!r}, {like} expected"
                    )
                return bounds[name]
        return usual

    def demand_given(self, needed: str, given: bool, *names: str) -> None:
        """Refuse parameters that would change nothing, because what they need was not given."""
        for name in () if given else names:
            if getattr(self, name) != getattr(type(self), name):
                raise MonMDPError(f"{name}={getattr(self, name)} does nothing without {needed}")

    @property
    def ready(self) -> bool:
        """Whether it is known how large observations are."""
        return self.met.encode.settled

    def begin_episode(self) -> bool:
        """Note that an episode begins; return whether it is meant to observe."""
        self.beginning = True
        return False

    def random_action(self) -> dict[str, int]:
        """Any action."""
        ae, am = self.rng.integers((self.n_ae, self.n_am)).tolist()
        return {"env": ae, "mon": am}

    def update(self, transition: Transition) -> None:
        """Learn from one step."""
        for of in (transition.observation, transition.next_observation):
            self._demand(of)
        self.shape.joint_action(transition.action)
        number(transition.monitor_reward, "monitor_reward")
        if transition.reward is not None:
            checked_reward(transition.reward, self.r_min, self.r_max)
        first, self.beginning = self.beginning, False
        self.steps += 1
        if self.ready:
            self.take_in(transition, first)
        else:
            self.waiting.append((own_copy(transition), first))  # environments use arrays again
            if len(self.waiting) == self.warmup:
                self._settle()
        if self.steps >= self.warmup:
            self.learn()

    def _demand(self, both: Any) -> None:
        """Refuse observations of another kind than promised."""
        try:
            observation, mon = both["env"], both["mon"]
        except (TypeError, KeyError, IndexError):
            raise MonMDPError(
                f'an observation is {{"env": array, "mon": sᵐ}}, got {both!r}'
            ) from None
        whole_number(mon, "sᵐ", at_least=0, at_most=self.n_sm - 1)
        shape, dtype = getattr(observation, "shape", None), getattr(observation, "dtype", None)
        if (shape, dtype) != self.view[:2]:
            got = repr(observation) if shape is None else f"{shape} of {dtype}"
            raise MonMDPError(
                f"observations are arrays {self.view.observation} of {self.view.dtype}, got {got}"
            )
        if self.view.dtype.kind == "f" and not np.isfinite(observation).all():
            raise MonMDPError(f"an observation has numbers that are not finite: {observation}")

    def encoded(self, observations: Any) -> Inputs:
        """[i, input] for observations [i, …], all of the kind that was promised."""
        shape, dtype = self.view[:2]
        given = getattr(observations, "shape", None), getattr(observations, "dtype", None)
        if given == (shape, dtype):
            raise MonMDPError("this is one observation, and a batch [i, …] is expected: add [None]")
        if given[0] is None or (given[0][1:], given[1]) != (shape, dtype):
            got = repr(observations) if given[0] is None else f"{given[0]} of {given[1]}"
            raise MonMDPError(f"this agent sees batches of arrays {shape} of {dtype}, got {got}")
        if not given[0][0]:
            raise MonMDPError("there are no observations in this batch")
        if dtype.kind == "f" and not np.isfinite(observations).all():
            raise MonMDPError("observations have numbers that are not finite")
        return np.stack([self.met.encode(of) for of in observations])

    def _settle(self) -> None:
        """Find out how large observations are; then take in what has happened."""
        self.met.encode.settle(np.stack([of.observation["env"] for of, _ in self.waiting]))
        for transition, first in self.waiting:
            self.take_in(transition, first)
        self.waiting = []

    def take_in(self, transition: Transition, first: bool) -> None:
        """Remember a step, the first of its episode or not."""
        raise NotImplementedError

    def learn(self) -> None:
        """Learn from what is remembered, after every step."""
        raise NotImplementedError
