"""Five monitors that are hard for agents that generalise about the monitor from pair to pair.

Such an agent assumes that

1. pᵐ(· | sᵐ, aᵐ, sᵉ, aᵉ) is one distribution pᵐ(· | sᵐ, aᵐ) at all pairs but a few,
2. P(shown | s, a) = o(sᵉ, aᵉ) · ρ(sᵐ, aᵐ) with o in {0, 1},
3. whether a reward is shown does not depend on its value.

Patchy and Cameras break 2, Zones breaks 1, Shy breaks 3 and with it 2. Decoy satisfies
all three literally: its one exception to 1 is the only way ever to see a reward. With each of them
every reward that is not ⊥ can be seen if episodes are long enough; where episodes last one step,
Decoy shows nothing. They take ``rho`` and hide ⊥ outcomes, as the paper's monitors do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monmdp.model.arrays import BoolArray
from monmdp.model.mdp import MDP, Outcomes, number, probability, whole_number
from monmdp.model.monitor import Monitor
from monmdp.monitors.paper import (
    COST,
    asked,
    bottom_zero_or_other,
    counted,
    off_or_on,
    one_state,
    only_at,
)

EVERY = 3
"""Patchy: one pair in this many is dim"""


def patchy(*, rho: float = 1.0, cost: float = COST, dim: float = 0.1) -> Monitor:
    """Show the reward of the steps on which the agent asks, at every third pair only rarely.

    Asking costs. It shows with chance `rho`, and with `rho` · `dim` where sᵉ + aᵉ (their numbers)
    is a multiple of three. What most pairs say of ρ makes a dim one look like ⊥.
    """
    rho, dim = probability(rho, "rho"), probability(dim, "dim")

    def bottom_bright_or_dim(outcomes: Outcomes) -> NDArray[np.int64]:
        is_dim = (outcomes.state + outcomes.action) % EVERY == 0
        return np.where(outcomes.hidden, 0, np.where(is_dim, 2, 1))

    return asked(cost, [[[0.0, 0.0]], [[0.0, rho]], [[0.0, rho * dim]]], bottom_bright_or_dim)


def cameras(*, n: int = 2, rho: float = 1.0, cost: float = COST, block: int = 3) -> Monitor:
    """Show the reward through the one of N cameras that covers the state; looking costs.

    Camera ⌊sᵉ / block⌋ mod N covers state sᵉ (its number). Looking through any other shows nothing,
    and says nothing of whether the reward can be seen.
    """
    n, block = counted(n, 2), whole_number(block, "block", at_least=1)
    reward = [number(cost, "cost")] * n + [0.0]
    show = np.zeros((n + 1, 1, n + 1))  # class 0: ⊥; class i + 1: camera i
    camera = np.arange(n)
    show[camera + 1, 0, camera] = probability(rho, "rho")

    def bottom_or_camera(outcomes: Outcomes) -> NDArray[np.int64]:
        return np.where(outcomes.hidden, 0, outcomes.state // block % n + 1)

    return one_state([*(f"LOOK-{i}" for i in camera), "NO-OP"], reward, show, bottom_or_camera)


def zones(*, rho: float = 1.0, cost: float = COST, chance: float = 0.2) -> Monitor:
    """Show rewards while ON, which costs every step; where the agent is turns it ON and OFF.

    Acting in a state of the first half turns it OFF with `chance`, in one of the second half ON. It
    starts as either. With a chance of 1 it is never ON deep in the first half.
    """
    chance = probability(chance, "chance")

    def second_half(mdp: MDP) -> BoolArray:
        upper = 2 * np.arange(mdp.n_states) + 1 >= mdp.n_states  # of an odd number the middle, too
        return np.broadcast_to(upper[:, None], (mdp.n_states, mdp.n_actions))

    off, on = [1.0, 0.0], [0.0, 1.0]
    turned = [(1.0 - chance) * np.eye(2) + chance * np.array([to, to]) for to in (off, on)]
    return off_or_on(rho, cost, turned, second_half)


def shy(*, rho: float = 1.0, cost: float = COST, hide: float = 0.9) -> Monitor:
    """Show zero rewards on asking; hide any other with chance `hide`. Asking costs.

    The rewards that matter look like ⊥ among so many zeros, and where a pair's reward is random
    this shows a biased sample of it.
    """
    rho, hide = probability(rho, "rho"), probability(hide, "hide")
    show = [[[0.0, 0.0]], [[0.0, rho]], [[0.0, rho * (1 - hide)]]]
    return asked(cost, show, bottom_zero_or_other)


def decoy(
    *,
    rho: float = 1.0,
    cost: float = COST,
    chance: float = 0.5,
    pair: str | tuple[Any, Any] | None = None,
) -> Monitor:
    """Show rewards once ON, for the rest of the episode; PRESS costs and works at one pair only.

    There it turns the monitor ON with `chance`. The pair is written ``"row,column:ACTION"`` or
    ``"state:ACTION"`` (in Python also ``(state, action)``). By default it is the last action that
    need not end the episode in the state farthest from the start.
    """
    chance = probability(chance, "chance")
    press, off = 1, 0
    nothing = np.stack([np.eye(2)] * 2, axis=1)  # [sᵐ, aᵐ, s′ᵐ]
    works = nothing.copy()
    works[off, press] = [1.0 - chance, chance]
    reward = np.zeros((2, 2))
    reward[:, press] = number(cost, "cost")

    return Monitor(
        states=("OFF", "ON"),
        actions=("NO-OP", "PRESS"),
        start=[1.0, 0.0],
        transition=np.stack([nothing, works]),
        reward=reward,
        show=[[0.0, 0.0], [probability(rho, "rho")] * 2],
        pair_class=lambda mdp: only_at(mdp, _far_pair(mdp) if pair is None else pair, "pair"),
    )


MONITORS: dict[str, Callable[..., Monitor]] = {
    "patchy": patchy,
    "cameras": cameras,
    "zones": zones,
    "shy": shy,
    "decoy": decoy,
}
"""by name, in the order of `monmdp list`"""


def _far_pair(mdp: MDP) -> tuple[int, int]:
    """The last action that may go on, in the last state of a breadth-first search."""
    queue = deque(np.flatnonzero(mdp.start > 0).tolist())
    met = mdp.start > 0
    state = queue[0]
    while queue:
        state = queue.popleft()
        here = slice(mdp.first[state * mdp.n_actions], mdp.first[(state + 1) * mdp.n_actions])
        for successor in mdp.successor[here][~mdp.terminates[here]].tolist():
            if not met[successor]:
                met[successor] = True
                queue.append(successor)
    ends = np.logical_and.reduceat(mdp.terminates, mdp.first[:-1])
    actions = ends[state * mdp.n_actions : (state + 1) * mdp.n_actions]
    return state, mdp.n_actions - 1 - int(np.argmin(actions[::-1]))
