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
    IntArray,
    check_distribution,
    frozen,
    labels,
)
from monmdp.model.mdp import MDP, Outcomes

PairClass = Callable[[MDP], ArrayLike]
"""MDP -> int or bool [state, action]"""
OutcomeClass = Callable[[Outcomes], ArrayLike]
"""outcomes in columns -> int or bool [outcome]; looks at each outcome alone"""


@dataclass(frozen=True, eq=False)
class Monitor(FrozenArrays):
    """A monitor, not yet bound to a world. Validated once; its arrays are read-only."""

    states: Sequence[str]
    """labels of the monitor states sᵐ"""
    actions: Sequence[str]
    """labels of the monitor actions aᵐ"""
    start: FloatArray
    """[sᵐ] distribution of the first monitor state"""
    transition: FloatArray
    """[sᵐ, aᵐ, s′ᵐ], or [class, sᵐ, aᵐ, s′ᵐ] together with `pair_class`"""
    reward: FloatArray
    """[sᵐ, aᵐ] rᵐ, what watching costs (negative) or pays"""
    show: FloatArray
    """[sᵐ, aᵐ] (⊥ outcomes hidden), or [class, sᵐ, aᵐ] together with `outcome_class`"""
    pair_class: IntArray | PairClass | None = None
    """class of each pair (sᵉ, aᵉ): a function of the MDP, or an array for one given world"""
    outcome_class: IntArray | OutcomeClass | None = None
    """class of each outcome: a function of the outcomes, or an array for one given world"""
    name: str = "monitor"

    def __post_init__(self) -> None:
        """Freeze every array and refuse what is no monitor, naming the first offending state."""
        fix = lambda field, value: object.__setattr__(self, field, value)  # noqa: E731
        for field in ("states", "actions"):
            given = getattr(self, field)
            if isinstance(given, str) or not len(given):
                raise MonMDPError(f"monitor {field}: a non-empty list of labels expected")
            default = tuple(str(i) for i in range(len(given)))
            fix(field, labels(given, default, f"monitor {field}"))
        S, A = len(self.states), len(self.actions)

        transition = np.asarray(self.transition)
        if transition.ndim == 3:
            transition = transition[None]
        n_classes = len(transition)
        if n_classes > 1 and self.pair_class is None:
            raise MonMDPError("several transition tables need `pair_class` to choose between them")
        fix("transition", frozen(transition, np.float64, (n_classes, S, A, S), "transition"))
        check_distribution(self.transition, "transition", self._place)

        show = np.asarray(self.show)
        if show.ndim == 2:
            if self.outcome_class is not None:
                raise MonMDPError("`outcome_class` needs `show` with an axis of classes in front")
            fix("outcome_class", shown_or_bottom)
            show = np.stack([np.zeros(show.shape), show])
        elif self.outcome_class is None:
            raise MonMDPError("several show tables need `outcome_class` to choose between them")
        fix("show", frozen(show, np.float64, (len(show), S, A), "show"))
        if ((self.show < 0) | (self.show > 1)).any():
            index = tuple(np.argwhere((self.show < 0) | (self.show > 1))[0])
            raise MonMDPError(
                f"show: probability {self.show[index]} {self._place(index)}; must lie in [0, 1]"
            )
        fix("reward", frozen(self.reward, np.float64, (S, A), "monitor reward"))
        fix("start", frozen(self.start, np.float64, (S,), "monitor start distribution"))
        check_distribution(self.start, "monitor start distribution", lambda _: "")

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


def shown_or_bottom(outcomes: Outcomes) -> BoolArray:
    """Class 0: a ⊥ outcome, never shown. Class 1: any other."""
    return ~outcomes.hidden
