"""The monitor: the second Markov process, which decides whether rᵉ is shown.

A `Monitor` is written without knowing the world it will watch. What it needs to know of a world it
asks through two classifications, bound by `join`:

* ``pair_class``: which of its transition tables applies to a pair (sᵉ, aᵉ). Button has two: the
  button is pushed, or not.
* ``outcome_class``: which of its observability tables applies to an outcome of the environment.
  By default there are two: ⊥ outcomes, never shown, and all others. Semi-Random has three.

With class c of the pair and class l of the outcome, pᵐ(s′ᵐ | sᵐ, aᵐ, sᵉ, aᵉ) =
``transition[c, sᵐ, aᵐ, s′ᵐ]`` and the reward is shown with chance ``show[l, sᵐ, aᵐ]``. A monitor is
truthful by construction: it shows the true reward or ⊥, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from monmdp.errors import MonMDPError
from monmdp.model.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    as_array,
    check_distribution,
    first_index,
    frozen,
)
from monmdp.model.labels import checked_labels
from monmdp.model.mdp import MDP, Outcomes

PairClass = Callable[[MDP], ArrayLike]
"""MDP -> int or bool [state, action]"""
OutcomeClass = Callable[[Outcomes], ArrayLike]
"""outcomes in columns -> int or bool [outcome]; looks at each outcome alone"""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Monitor(FrozenArrays):
    """A monitor, not yet bound to a world. Validated once; its arrays are read-only.

    >>> from monmdp import Monitor
    >>> watch = Monitor(
    ...     states=("ASLEEP", "AWAKE"),
    ...     actions=("NO-OP",),
    ...     start=[0.5, 0.5],
    ...     transition=[[[0.7, 0.3]], [[0.1, 0.9]]],
    ...     reward=[[0.0], [0.0]],
    ...     show=[[0.0], [1.0]],
    ...     name="watch",
    ... )
    >>> watch
    <Monitor 'watch': 2 states, 1 actions>
    """

    states: tuple[str, ...]
    """labels of the monitor states sᵐ"""
    actions: tuple[str, ...]
    """labels of the monitor actions aᵐ"""
    start: FloatArray
    """[sᵐ] distribution of the first monitor state"""
    transition: FloatArray
    """[sᵐ, aᵐ, s′ᵐ], or [class, sᵐ, aᵐ, s′ᵐ] together with `pair_class`"""
    reward: FloatArray
    """[sᵐ, aᵐ] rᵐ, what watching costs (negative) or pays"""
    show: FloatArray
    """[sᵐ, aᵐ] (⊥ outcomes hidden), or [class, sᵐ, aᵐ] together with `outcome_class`"""
    pair_class: ArrayLike | PairClass | None
    """class of each pair (sᵉ, aᵉ): a function of the MDP, or an array for one given world"""
    outcome_class: ArrayLike | OutcomeClass
    """class of each outcome: a function of the outcomes, or an array for one given world"""
    name: str
    reads_reward: bool
    """whether what is shown depends on the reward's value, as with Semi-Random; found by `join`"""

    def __init__(
        self,
        states: Sequence[str],
        actions: Sequence[str],
        start: ArrayLike,
        transition: ArrayLike,
        reward: ArrayLike,
        show: ArrayLike,
        pair_class: ArrayLike | PairClass | None = None,
        outcome_class: ArrayLike | OutcomeClass | None = None,
        name: str = "monitor",
        reads_reward: bool = False,
    ) -> None:
        """Freeze every array and refuse what is not a monitor, naming the first offending state."""
        self._set(
            states=_labels(states, "monitor states"),
            actions=_labels(actions, "monitor actions"),
            name=name,
            reads_reward=bool(reads_reward),
        )
        S, A = len(self.states), len(self.actions)

        moves = as_array(transition, "transition")
        if moves.ndim == 3:
            moves = moves[None]
        if moves.ndim != 4:
            raise MonMDPError(
                f"transition: [sᵐ, aᵐ, s′ᵐ] or [class, sᵐ, aᵐ, s′ᵐ] expected, got {moves.shape}"
            )
        n_classes = len(moves)
        if n_classes > 1 and pair_class is None:
            raise MonMDPError("several transition tables need `pair_class` to choose between them")
        self._set(
            transition=frozen(moves, np.float64, (n_classes, S, A, S), "transition"),
            pair_class=pair_class,
        )
        check_distribution(self.transition, "transition", self._place)

        tables = as_array(show, "show")
        if tables.ndim == 2:
            if outcome_class is not None:
                raise MonMDPError("`outcome_class` needs `show` with an axis of classes in front")
            outcome_class = shown_or_bottom
            tables = np.stack([np.zeros(tables.shape), tables])
        elif tables.ndim != 3:
            raise MonMDPError(f"show: [sᵐ, aᵐ] or [class, sᵐ, aᵐ] expected, got {tables.shape}")
        elif outcome_class is None:
            raise MonMDPError("several show tables need `outcome_class` to choose between them")
        self._set(
            show=frozen(tables, np.float64, (len(tables), S, A), "show"),
            outcome_class=outcome_class,
        )
        outside = (self.show < 0) | (self.show > 1)
        if outside.any():
            index = first_index(outside)
            raise MonMDPError(
                f"show: probability {self.show[index]} {self._place(index)}; must lie in [0, 1]"
            )
        self._set(
            reward=frozen(reward, np.float64, (S, A), "monitor reward"),
            start=frozen(start, np.float64, (S,), "monitor start distribution"),
        )
        check_distribution(self.start, "monitor start distribution", lambda _: "")

    def __repr__(self) -> str:
        return f"<Monitor {self.name!r}: {self.n_states} states, {self.n_actions} actions>"

    def _place(self, index: tuple[int, ...]) -> str:
        c, s, a = index
        return f"in class {c}, monitor state {self.states[s]!r}, action {self.actions[a]!r}"

    @property
    def n_states(self) -> int:
        """Number of monitor states."""
        return len(self.states)

    @property
    def n_actions(self) -> int:
        """Number of monitor actions."""
        return len(self.actions)


def _labels(given: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise MonMDPError(f"{what}: a non-empty list of labels expected")
    return tuple(checked_labels(given, len(given), what))


def shown_or_bottom(outcomes: Outcomes) -> BoolArray:
    """Class 0: a ⊥ outcome, never shown. Class 1: any other."""
    return ~outcomes.hidden
