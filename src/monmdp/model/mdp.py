"""The environment: a finite MDP as sparse outcomes.

For a pair (sᵉ, aᵉ), written as one index ``sa = s * n_actions + a``, the outcomes are the entries
``first[sa] : first[sa + 1]`` of the flat arrays ``successor, probability, reward, terminates,
hidden``. A random reward or a random ending is simply another outcome. The mean reward of the paper
is rᵉ(sᵉ, aᵉ) = Σ probability · reward over the pair's outcomes.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monmdp.errors import MonMDPError, nearest
from monmdp.memory import demand_room
from monmdp.model.arrays import (
    ROW_SUM_TOLERANCE,
    BoolArray,
    FloatArray,
    Fresh,
    FrozenArrays,
    IntArray,
    as_array,
    check_distribution,
    first_true,
    frozen,
)
from monmdp.model.labels import cells_of, checked_labels
from monmdp.model.merging import merged_blocks

STEP = 500
"""bytes that the record of one step of an episode takes"""

_DIGITS = re.compile("-?[0-9]+")

Outcome = tuple[int, int, int, float, float, bool, bool]
"""(state, action, successor, probability, reward, terminates, hidden)"""


class Outcomes(NamedTuple):
    """The outcomes of an MDP in columns; what a monitor may look at to classify them."""

    state: IntArray
    """[outcome] sᵉ"""
    action: IntArray
    """[outcome] aᵉ"""
    successor: IntArray
    """[outcome] s′ᵉ"""
    reward: FloatArray
    """[outcome] rᵉ"""
    hidden: BoolArray
    """[outcome] ⊥"""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MDP(FrozenArrays):
    """A finite environment MDP. Validated once; its arrays are read-only.

    >>> from monmdp import worlds
    >>> mdp = worlds.make("bottleneck")
    >>> mdp
    <MDP 'bottleneck': 36 states, 5 actions>
    >>> mdp.find_state((5, 1)), mdp.find_action("DOWN")
    (31, 1)
    >>> mdp.r_min, mdp.time_limit, int(mdp.bottom.sum())
    (-10.0, 50, 5)
    """

    name: str
    n_states: int
    n_actions: int
    first: IntArray
    """[pair + 1] where the outcomes of each pair begin"""
    successor: IntArray
    """[outcome] the state the outcome lands in"""
    probability: FloatArray
    """[outcome] its chance, positive; a pair's chances sum to one"""
    reward: FloatArray
    """[outcome] rᵉ, within [r_min, r_max]"""
    terminates: BoolArray
    """[outcome] whether the episode ends there"""
    hidden: BoolArray
    """[outcome] ⊥: no monitor but Full ever shows this outcome's reward"""
    start: FloatArray
    """[state] the distribution of the first state"""
    r_min: float
    """the lowest mean reward the environment may have; what pessimism assumes"""
    r_max: float
    """the highest"""
    time_limit: int | None
    """steps after which episodes are truncated; None: never"""
    state_labels: Sequence[str]
    action_labels: tuple[str, ...]
    picture: tuple[str, ...] | None
    """text map: one tile per state in reading order; '#' is a wall and no state"""
    button: tuple[int, int] | None
    """(state, action) that pushes the button of the Button monitor"""
    goal: BoolArray
    """[state, action] the pairs that count as reaching the goal; default none"""
    bottom: BoolArray
    """[state] the ⊥ cells, whose visits are counted; default none"""
    observations: NDArray[Any] | None
    """[state, ...] what an agent is shown in place of the number of the state, of any numeric type;
    None: the number is all there is"""
    places: IntArray | None
    """[state, 2] row and column where a drawing puts the state, -1 and -1 for nowhere; unlike the
    cells of `picture`, several states may share a place; None: no places"""

    def __init__(
        self,
        name: str,
        n_states: int,
        n_actions: int,
        first: ArrayLike,
        successor: ArrayLike,
        probability: ArrayLike,
        reward: ArrayLike,
        terminates: ArrayLike,
        hidden: ArrayLike,
        start: ArrayLike,
        r_min: float,
        r_max: float,
        time_limit: int | None = None,
        state_labels: Sequence[str] = (),
        action_labels: Sequence[str] = (),
        picture: Sequence[str] | None = None,
        button: tuple[int | str | Sequence[int], int | str] | None = None,
        goal: ArrayLike | None = None,
        bottom: ArrayLike | None = None,
        observations: ArrayLike | None = None,
        places: ArrayLike | None = None,
    ) -> None:
        """Freeze every array and refuse what is not an MDP, naming the first offending state."""
        S = whole_number(n_states, "n_states", at_least=1)
        A = whole_number(n_actions, "n_actions", at_least=1)
        # The array first: a number of states that is not true has no labels made for it.
        self._set(
            name=name,
            n_states=S,
            n_actions=A,
            first=frozen(first, np.int64, (S * A + 1,), "first"),
            start=frozen(start, np.float64, (S,), "start distribution"),
            state_labels=checked_labels(state_labels or None, S, "state labels"),
            action_labels=tuple(checked_labels(action_labels or None, A, "action labels")),
        )
        counts = np.diff(self.first)
        if self.first[0] != 0 or (counts < 0).any():
            raise MonMDPError("first: must start at 0 and never decrease")
        if (empty := first_true(counts == 0)) is not None:
            where = self.pair_name(empty)
            raise MonMDPError(f"no outcome is given for {where}; every pair needs at least one")
        n = int(self.first[-1])
        no_goal, no_bottom = np.zeros((S, A), dtype=bool), np.zeros(S, dtype=bool)
        self._set(
            successor=frozen(successor, np.int64, (n,), "successor"),
            probability=frozen(probability, np.float64, (n,), "probability"),
            reward=frozen(reward, np.float64, (n,), "reward"),
            terminates=frozen(terminates, np.bool_, (n,), "terminates"),
            hidden=frozen(hidden, np.bool_, (n,), "hidden"),
            goal=frozen(no_goal if goal is None else goal, np.bool_, (S, A), "goal"),
            bottom=frozen(no_bottom if bottom is None else bottom, np.bool_, (S,), "bottom"),
        )
        self._check_outcomes()
        check_distribution(self.start, "start distribution", lambda _: "")
        self._set(r_min=number(r_min, "r_min"), r_max=number(r_max, "r_max"))
        self._check_rewards()
        if time_limit is not None:
            time_limit = whole_number(time_limit, "time_limit", at_least=1)
            demand_room(STEP * time_limit, f"an episode of time_limit = {time_limit:,} steps")
        # The picture comes before the button, whose state may be given by row and column.
        rows = None if picture is None else tuple(str(row) for row in picture)
        self._set(time_limit=time_limit, picture=rows, button=None)
        if button is not None:
            self._set(button=self.find_pair(button, "button"))
        if rows is not None:
            cells = sum(len(row) - row.count("#") for row in rows)
            if cells != S:
                raise MonMDPError(f"picture: {cells} cells for {S} states")
        self._set(
            observations=None if observations is None else self._checked_observations(observations),
            places=None if places is None else self._checked_places(places),
        )

    def __repr__(self) -> str:
        return f"<MDP {self.name!r}: {self.n_states} states, {self.n_actions} actions>"

    def _check_outcomes(self) -> None:
        if self.successor.min() < 0 or self.successor.max() >= self.n_states:
            wrong = int(np.argmax((self.successor < 0) | (self.successor >= self.n_states)))
            raise MonMDPError(
                f"successor {self.successor[wrong]} of {self.outcome_name(wrong)} is not a state; "
                f"states are 0 to {self.n_states - 1}"
            )
        if (o := first_true(self.probability <= 0)) is not None:
            raise MonMDPError(
                f"probability {self.probability[o]} of {self.outcome_name(o)}; must be positive "
                "(leave out outcomes that cannot happen)"
            )
        sums = np.add.reduceat(self.probability, self.first[:-1])
        if (pair := first_true(np.abs(sums - 1) > ROW_SUM_TOLERANCE)) is not None:
            raise MonMDPError(
                f"the outcome probabilities of {self.pair_name(pair)} sum to {sums[pair]:.12g}; "
                "they must sum to 1"
            )

    def rewards_outside(self) -> BoolArray:
        """[outcome] whether the reward lies outside [r_min, r_max] by more than rounding."""
        slack = 1e-12 * max(1.0, abs(self.r_min), abs(self.r_max))
        return (self.reward < self.r_min - slack) | (self.reward > self.r_max + slack)

    def _check_rewards(self) -> None:
        if self.r_min > self.r_max:
            raise MonMDPError(f"r_min {self.r_min} is above r_max {self.r_max}")
        if (o := first_true(self.rewards_outside())) is not None:
            raise MonMDPError(
                f"reward {self.reward[o]:g} of {self.outcome_name(o)} lies outside "
                f"[r_min, r_max] = [{self.r_min:g}, {self.r_max:g}]"
            )

    def _checked_observations(self, given: ArrayLike) -> NDArray[Any]:
        """Return the observations in their own type; finite, and one for each state."""
        array = as_array(given, "observations")
        if array.dtype.kind not in "biuf":
            raise MonMDPError(f"observations: not an array of numbers, its type is {array.dtype}")
        if array.ndim == 0 or len(array) != self.n_states:
            raise MonMDPError(
                f"observations: one for each of {self.n_states} states expected, "
                f"got shape {array.shape}"
            )
        if not array.size:
            raise MonMDPError(f"observations: shape {array.shape} shows nothing of a state")
        if array.dtype.kind == "f":
            finite = np.isfinite(array).reshape(self.n_states, -1).all(axis=1)
            if (s := first_true(~finite)) is not None:
                raise MonMDPError(
                    f"observations: that of state {self.state_labels[s]!r} has a number that is "
                    "not finite"
                )
        own = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
        own.setflags(write=False)
        return own

    def _checked_places(self, given: ArrayLike) -> IntArray:
        """Return the places; each a row and a column from 0, or -1 and -1."""
        places = frozen(given, np.int64, (self.n_states, 2), "places")
        nowhere = (places == -1).all(axis=1)
        if (s := first_true(~nowhere & (places < 0).any(axis=1))) is not None:
            raise MonMDPError(
                f"places: {tuple(places[s].tolist())} of state {self.state_labels[s]!r}; row and "
                "column count from 0, and (-1, -1) is nowhere"
            )
        return places

    # ---- what one can ask of it -------------------------------------------------------------

    @property
    def n_pairs(self) -> int:
        """Number of pairs (sᵉ, aᵉ)."""
        return self.n_states * self.n_actions

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes over all pairs."""
        return len(self.successor)

    @cached_property
    def pair_of_outcome(self) -> IntArray:
        """[outcome] the pair it belongs to."""
        return np.repeat(np.arange(self.n_pairs), np.diff(self.first))

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes in columns."""
        of_state = np.diff(self.first[:: self.n_actions])
        state = np.repeat(np.arange(self.n_states), of_state)
        action = self.pair_of_outcome - state * self.n_actions
        return Outcomes(state, action, self.successor, self.reward, self.hidden)

    @cached_property
    def mean_reward(self) -> FloatArray:
        """[state, action] rᵉ(sᵉ, aᵉ)."""
        mean = np.add.reduceat(self.probability * self.reward, self.first[:-1])
        return mean.reshape(self.n_states, self.n_actions)

    @cached_property
    def cells(self) -> IntArray | None:
        """[state, 2] row and column in the picture; None without a picture."""
        return None if self.picture is None else cells_of(self.picture)

    def pair_name(self, pair: int) -> str:
        """Name a pair in the user's words."""
        state, action = divmod(pair, self.n_actions)
        return f"state {self.state_labels[state]!r}, action {self.action_labels[action]!r}"

    def outcome_name(self, outcome: int) -> str:
        """Name an outcome by its pair."""
        return self.pair_name(int(self.pair_of_outcome[outcome]))

    def find_pair(self, pair: Any, what: str) -> tuple[int, int]:
        """Return the indices of a pair given as (state, action), each in any of its forms."""
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise MonMDPError(f"{what} {pair!r}: (state, action) expected")
        return self.find_state(pair[0]), self.find_action(pair[1])

    def parse_pair(self, text: str, what: str) -> tuple[int, int]:
        """Return the indices of a pair written ``STATE:ACTION`` (or ``STATE ACTION``)."""
        text = text.strip()
        state, _, action = text.rpartition(":" if ":" in text else " ")
        if not state:
            raise MonMDPError(f"{what} {text!r}: written 'row,column:ACTION' or 'STATE:ACTION'")
        return self.find_pair((state.strip(), action.strip()), what)

    def find_state(self, state: int | str | Sequence[int]) -> int:
        """Return the index of a state given as index, label or (row, column)."""
        if isinstance(state, Sequence) and not isinstance(state, str):
            return self._state_at(tuple(state))
        if isinstance(state, str):
            if state in self.state_labels:
                return self.state_labels.index(state)
            if self.cells is not None and "," in state:
                return self._state_at(parse_cell(state, "state"))
            if not _DIGITS.fullmatch(state.strip()):
                few = self.n_states <= 100
                known = f"; states are 0 to {self.n_states - 1}"
                hint = nearest(state, self.state_labels) if few else known
                raise MonMDPError(f"unknown state {state!r}{hint}")
            state = int(state)
        index = whole_number(state, "a state", at_least=0)
        if index >= self.n_states:
            raise MonMDPError(f"state {state} does not exist; states are 0 to {self.n_states - 1}")
        return index

    def _state_at(self, cell: tuple[int, ...]) -> int:
        if self.cells is None or self.picture is None or len(cell) != 2:
            raise MonMDPError(f"{cell}: a state of {self.name!r} is an index or a label")
        match = np.flatnonzero((self.cells == cell).all(axis=1))
        if not len(match):
            rows, columns = len(self.picture), len(self.picture[0])
            raise MonMDPError(
                f"row {cell[0]}, column {cell[1]} is not a cell of the {rows}x{columns} map "
                "(rows and columns count from 0)"
            )
        return int(match[0])

    def find_action(self, action: int | str) -> int:
        """Return the index of an action given as index or label."""
        if isinstance(action, str):
            upper = [label.upper() for label in self.action_labels]
            if action.upper() in upper:
                return upper.index(action.upper())
            if not _DIGITS.fullmatch(action.strip()):
                raise MonMDPError(f"unknown action {action!r}{nearest(action, self.action_labels)}")
            action = int(action)
        index = whole_number(action, "an action", at_least=0)
        if index >= self.n_actions:
            raise MonMDPError(
                f"action {action} does not exist; actions are "
                + ", ".join(
                    label if label == str(a) else f"{a} {label}"
                    for a, label in enumerate(self.action_labels)
                )
            )
        return index

    def with_outcome_rewards(self, reward: ArrayLike) -> MDP:
        """Return the same MDP with other rewards [outcome]."""
        return replace(self, reward=reward)  # type: ignore[arg-type]

    def with_rewards(self, pairs: BoolArray, value: float) -> MDP:
        """Return the same MDP with every outcome of the chosen pairs [state, action] at `value`."""
        chosen = np.asarray(pairs).reshape(-1)[self.pair_of_outcome]
        return self.with_outcome_rewards(np.where(chosen, value, self.reward))

    def to_umb(self, path: str | os.PathLike[str]) -> None:
        """Write a UMB file (.umb), which Storm and other tools read; all of it or nothing.

        `worlds.from_umb` gives the same MDP back, without observations and places. The page on
        exchange says what other tools see.
        """
        from monmdp.model.umb import write_umb

        write_umb(self, path)

    @classmethod
    def from_outcomes(cls, outcomes: Iterable[Outcome], **fields: Any) -> MDP:
        """Build an MDP from (state, action, successor, probability, reward, terminates, hidden).

        Outcomes come in any order. Equal ones are merged, impossible ones left out. The fields are
        name, n_states, n_actions, start, and optionally any other of `MDP`; `r_min` and `r_max`
        default to the least and largest reward given.

        >>> from monmdp import MDP
        >>> coin = MDP.from_outcomes(
        ...     [(0, 0, 0, 0.5, 1.0, True, False), (0, 0, 0, 0.5, -1.0, True, True)],
        ...     name="coin", n_states=1, n_actions=1, start=[1.0],
        ... )
        >>> coin.n_outcomes, coin.mean_reward.tolist(), coin.hidden.tolist()
        (2, [[0.0]], [True, False])
        """
        rows = list(outcomes)
        if any(not isinstance(row, Sequence) or len(row) != 7 for row in rows):
            raise MonMDPError(
                "an outcome is (state, action, successor, probability, reward, terminates, hidden)"
            )
        columns = list(zip(*rows, strict=True)) or [()] * 7
        return cls.from_columns(*columns, **fields)

    @classmethod
    def from_columns(
        cls,
        state: ArrayLike,
        action: ArrayLike,
        successor: ArrayLike,
        probability: ArrayLike,
        reward: ArrayLike,
        terminates: ArrayLike,
        hidden: ArrayLike,
        *,
        name: str,
        n_states: int,
        n_actions: int,
        start: ArrayLike,
        r_min: float | None = None,
        r_max: float | None = None,
        **fields: Any,
    ) -> MDP:
        """Build an MDP from one array per column of the outcome list; see `from_outcomes`."""
        columns = (state, action, successor, probability, reward, terminates, hidden)
        return cls.from_blocks(
            [columns],
            name=name,
            n_states=n_states,
            n_actions=n_actions,
            start=start,
            r_min=r_min,
            r_max=r_max,
            **fields,
        )

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[tuple[ArrayLike, ...]],
        *,
        name: str,
        n_states: int,
        n_actions: int,
        start: ArrayLike,
        r_min: float | None = None,
        r_max: float | None = None,
        **fields: Any,
    ) -> MDP:
        """Build an MDP from columns that come in blocks; see `from_columns`.

        A block is sorted and merged when it comes, so a large world that makes its outcomes a part
        at a time, states in order, needs little more memory than the finished MDP.

        >>> from monmdp import MDP
        >>> blocks = (([s], [0], [s], [1.0], [0.0], [False], [False]) for s in range(3))
        >>> MDP.from_blocks(blocks, name="idle", n_states=3, n_actions=1, start=[1.0, 0.0, 0.0])
        <MDP 'idle': 3 states, 1 actions>
        """
        S, A = whole_number(n_states, "n_states", 1), whole_number(n_actions, "n_actions", 1)
        whole_number(S * A, "n_states * n_actions", at_least=1)
        found, n = merged_blocks(blocks, S, A)
        if n < S * A:  # then one of the first n + 1 pairs has none: no need to count all S·A
            given = np.bincount(found.pair[found.pair <= n], minlength=n + 1)
            state, action = divmod(int(np.argmin(given)), A)
            raise MonMDPError(
                f"no outcome is given for state {state}, action {action}; there are {S:,} x "
                f"{A:,} pairs, and every pair needs at least one"
            )
        low, high = _bounds(found.reward)
        return cls(
            name=name,
            n_states=S,
            n_actions=A,
            first=Fresh(np.append(0, np.cumsum(np.bincount(found.pair, minlength=S * A)))),
            successor=Fresh(found.successor),
            probability=Fresh(found.probability),
            reward=Fresh(found.reward),
            terminates=Fresh(found.terminates),
            hidden=Fresh(found.hidden),
            start=start,
            r_min=low if r_min is None else r_min or 0.0,
            r_max=high if r_max is None else r_max or 0.0,
            **fields,
        )


def _bounds(reward: FloatArray) -> tuple[float, float]:
    """The least and the largest of the rewards; 0 if there are none.

    Where both 0.0 and -0.0 are given, NumPy finds one or the other, depending on the machine. The
    bound is then 0.0, because problems are known by their bits.
    """
    low, high = float(reward.min(initial=np.inf)), float(reward.max(initial=-np.inf))
    if not len(reward):
        return 0.0, 0.0
    zero = 0.0
    if 0.0 in (low, high) and np.signbit(reward[reward == 0]).all():
        zero = -0.0
    return low or zero, high or zero


LARGEST = 2**62
"""the largest number allowed: what compiled code can count to"""


def whole_number(value: Any, what: str, at_least: int, at_most: int | None = LARGEST) -> int:
    """Return `value` as an int within these bounds, or say what is wrong."""
    try:
        exact = int(value) == value and not isinstance(value, bool)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact or int(value) < at_least:
        raise MonMDPError(f"{what} must be a whole number of at least {at_least}, got {value!r}")
    if at_most is not None and int(value) > at_most:
        raise MonMDPError(f"{what} = {value} is too large, the limit is {at_most}")
    return int(value)


def number(value: Any, what: str, within: str = "") -> float:
    """Return `value` as a finite float within an interval like ``[0, 1)``, or say what is wrong."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise MonMDPError(f"{what} must be a number, got {value!r}") from None
    if not math.isfinite(result):
        raise MonMDPError(f"{what} must be finite, got {value!r}")
    if within:
        low, high = map(float, within[1:-1].split(","))
        above = result > low or (within[0] == "[" and result == low)
        below = result < high or (within[-1] == "]" and result == high)
        if not (above and below):
            raise MonMDPError(f"{what} must lie in {within}, got {value!r}")
    return result


def probability(value: Any, what: str) -> float:
    """Return `value` as a float in [0, 1], or say what is wrong."""
    number(value, what)
    return number(value, f"{what} is a probability and", "[0, 1]")


def parse_cell(text: str, what: str) -> tuple[int, int]:
    """Read ``row,column``."""
    parts = [part.strip() for part in text.strip(" ()[]").split(",")]
    if len(parts) != 2 or not all(_DIGITS.fullmatch(part) for part in parts):
        raise MonMDPError(f"{what} {text.strip()!r}: a cell is written 'row,column', from 0")
    return int(parts[0]), int(parts[1])
