"""The eight monitors of the paper.

Every monitor takes ``rho``, the chance that an otherwise visible reward is shown, and hides ⊥
outcomes; only Full shows everything. The cost is paid for asking, for the match or for being ON,
whether or not ``rho`` then hides the reward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monmdp.errors import MonMDPError
from monmdp.memory import demand_room
from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.mdp import MDP, Outcomes, number, probability, whole_number
from monmdp.model.monitor import Monitor, OutcomeClass, PairClass

COST = -0.2
ENTRY = 20
"""bytes that building a table takes for each number in it"""


def full(*, rho: float = 1.0) -> Monitor:
    """Show every reward, ⊥ included: the ordinary MDP. ``rho`` is accepted and has no effect."""
    probability(rho, "rho")

    def all_alike(outcomes: Outcomes) -> NDArray[np.int64]:
        return np.zeros(len(outcomes.reward), dtype=np.int64)

    return one_state(("NO-OP",), [0.0], [[[1.0]]], all_alike)


def semi_random(*, rho: float = 1.0, hide: float = 0.5) -> Monitor:
    """Show zero rewards; hide any other with chance `hide`.

    Where a pair's reward is random this shows a biased sample of it.
    """
    rho, hide = probability(rho, "rho"), probability(hide, "hide")
    show = [[[0.0]], [[rho]], [[rho * (1 - hide)]]]
    return one_state(("NO-OP",), [0.0], show, bottom_zero_or_other)


def full_random(*, rho: float = 1.0) -> Monitor:
    """Show any reward with chance `rho`."""
    return one_state(("NO-OP",), [0.0], [[probability(rho, "rho")]])


def ask(*, rho: float = 1.0, cost: float = COST) -> Monitor:
    """Show the reward of the steps on which the agent asks, which costs."""
    return asked(cost, [[0.0, probability(rho, "rho")]])


def button(
    *, rho: float = 1.0, cost: float = COST, button: str | tuple[Any, Any] | None = None
) -> Monitor:
    """Show rewards while ON, which costs every step; pushing the button flips ON and OFF.

    `button` names the pair that pushes it, ``"row,column:ACTION"`` or ``"state:ACTION"`` (in Python
    also ``(state, action)``); by default the world says where it is.
    """

    def pushed(mdp: MDP) -> BoolArray:
        if button is None and mdp.button is None:
            raise MonMDPError(
                f"world {mdp.name!r} has no button; say which pair pushes it, "
                "button='row,column:ACTION' or 'state:ACTION'"
            )
        return only_at(mdp, mdp.button if button is None else button, "button")

    stay, flip = np.eye(2), np.eye(2)[::-1]
    return off_or_on(rho, cost, [stay, flip], pushed)


def n_supporters(
    *, n: int = 4, rho: float = 1.0, cost: float = COST, bonus: float = 0.001
) -> Monitor:
    """One of N supporters is there at random; naming the right one shows the reward and costs.

    Naming a wrong one pays a small `bonus`, as a distraction.
    """
    return _one_of(n, "SUPPORTER", "CALL", rho, cost, number(bonus, "bonus"))


def n_experts(
    *, n: int = 4, rho: float = 1.0, cost: float = COST, wrong: float = -0.001
) -> Monitor:
    """One of N experts is there at random; asking the right one shows the reward and costs.

    Asking a wrong one costs a little (`wrong`); the last action asks nobody.
    """
    return _one_of(n, "EXPERT", "ASK", rho, cost, number(wrong, "wrong"), "NO-OP")


def level_up(
    *,
    n: int = 3,
    rho: float = 1.0,
    cost: float = COST,
    start: Literal["lowest", "uniform"] = "lowest",
) -> Monitor:
    """Climb N levels by naming the current one; rewards are shown on the top level.

    A wrong name falls back to level 0; every action but NO-OP costs. ``start="uniform"`` starts on
    any level, as the released code of the paper does.
    """
    n = counted(n, 3)
    if start not in ("lowest", "uniform"):
        raise MonMDPError(f"start must be 'lowest' or 'uniform', got {start!r}")
    no_op, level = n, np.arange(n)
    transition = np.zeros((n, n + 1, n))
    transition[:, :n, 0] = 1.0
    transition[level, level] = np.eye(n)[np.minimum(level + 1, n - 1)]
    transition[:, no_op] = np.eye(n)
    reward = np.full((n, n + 1), number(cost, "cost"))
    reward[:, no_op] = 0.0
    show = np.zeros((n, n + 1))
    show[n - 1] = probability(rho, "rho")
    return Monitor(
        states=[f"LEVEL-{i}" for i in range(n)],
        actions=[*(f"UP-FROM-{i}" for i in range(n)), "NO-OP"],
        start=np.eye(n)[0] if start == "lowest" else _uniform(n),
        transition=transition,
        reward=reward,
        show=show,
    )


MONITORS: dict[str, Callable[..., Monitor]] = {
    "full": full,
    "semi-random": semi_random,
    "full-random": full_random,
    "ask": ask,
    "button": button,
    "n-supporters": n_supporters,
    "n-experts": n_experts,
    "level-up": level_up,
}
"""by name, in the order of `monmdp list`"""


def bottom_zero_or_other(outcomes: Outcomes) -> NDArray[np.int64]:
    """Class 0: a ⊥ outcome. Class 1: a reward of zero. Class 2: any other."""
    return np.where(outcomes.hidden, 0, np.where(outcomes.reward == 0, 1, 2))


def asked(cost: float, show: ArrayLike, outcome_class: OutcomeClass | None = None) -> Monitor:
    """Return a monitor that the agent asks, at a cost, or does not ask."""
    return one_state(("NO-OP", "ASK"), [0.0, number(cost, "cost")], show, outcome_class)


def one_state(
    actions: Sequence[str],
    reward: Sequence[float],
    show: ArrayLike,
    outcome_class: OutcomeClass | None = None,
) -> Monitor:
    """Return a monitor with a single state; `reward` [aᵐ] is what its actions pay."""
    still = np.ones((1, len(actions), 1))
    return Monitor(("ON",), actions, [1.0], still, [reward], show, outcome_class=outcome_class)


def counted(n: Any, power: int) -> int:
    """Return a number `n` of which a monitor has a table of n to this power, if it fits."""
    count = whole_number(n, "n", at_least=1)
    demand_room(ENTRY * count**power, f"a monitor with n = {count:,}")
    return count


def _uniform(n: int) -> FloatArray:
    return np.full(n, 1 / n)


def _one_of(
    n: int, who: str, verb: str, rho: float, cost: float, wrong: float, *idle: str
) -> Monitor:
    """One of N is there at random; turning to the right one shows and costs, else pays `wrong`."""
    n = counted(n, 3)
    actions = [*(f"{verb}-{i}" for i in range(n)), *idle]
    match = np.eye(n, len(actions), dtype=bool)
    reward = np.where(match, number(cost, "cost"), wrong)
    reward[:, n:] = 0.0
    return Monitor(
        states=[f"{who}-{i}" for i in range(n)],
        actions=actions,
        start=_uniform(n),
        transition=np.broadcast_to(_uniform(n), (n, len(actions), n)),
        reward=reward,
        show=np.where(match, probability(rho, "rho"), 0.0),
    )


def off_or_on(rho: float, cost: float, moves: ArrayLike, pair_class: PairClass) -> Monitor:
    """Return a monitor that costs and shows rewards while ON; `moves` [class, sᵐ, s′ᵐ] flips it."""
    return Monitor(
        states=("OFF", "ON"),
        actions=("NO-OP",),
        start=[0.5, 0.5],
        transition=np.expand_dims(np.asarray(moves), 2),
        reward=[[0.0], [number(cost, "cost")]],
        show=[[0.0], [probability(rho, "rho")]],
        pair_class=pair_class,
    )


def only_at(mdp: MDP, pair: Any, what: str) -> BoolArray:
    """Return [sᵉ, aᵉ] which pair the user gave, as text or as (state, action)."""
    pairs = np.zeros((mdp.n_states, mdp.n_actions), dtype=bool)
    find = mdp.parse_pair if isinstance(pair, str) else mdp.find_pair
    try:
        pairs[find(pair, what)] = True
    except MonMDPError as error:
        raise MonMDPError(f"{what} of world {mdp.name!r}: {error}") from None
    return pairs
