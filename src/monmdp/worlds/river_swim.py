"""River Swim: a row of states against the current.

LEFT always succeeds; in state 0 it stays there and pays 0.01. RIGHT moves forward with chance 0.35,
stays with 0.6 and is swept back with 0.05; from state 0 it moves with 0.6 and stays with 0.4. In
the last state RIGHT stays with 0.6, which pays 1, and is swept back with 0.4. Episodes never
end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from monmdp.memory import demand_room
from monmdp.model.arrays import columns_of
from monmdp.model.mdp import MDP, whole_number

LEFT, RIGHT = 0, 1
STATE = 500
"""bytes that building a state takes"""


def river_swim(*, length: int = 6, time_limit: int = 200) -> MDP:
    """Build River Swim with `length` states, at least 3."""
    n = whole_number(length, "length", at_least=3)
    demand_room(STATE * n, f"length = {n:,}")
    s = np.arange(n)
    inner, last = s[1:-1], n - 1
    # (state, action, successor, probability, reward), and whether it ends, or is hidden
    rows: list[tuple[ArrayLike, ...]] = [
        (s, LEFT, np.maximum(s - 1, 0), 1.0, np.where(s == 0, 0.01, 0.0), False, False),
        (0, RIGHT, 1, 0.6, 0.0, False, False),
        (0, RIGHT, 0, 0.4, 0.0, False, False),
        (inner, RIGHT, inner + 1, 0.35, 0.0, False, False),
        (inner, RIGHT, inner, 0.6, 0.0, False, False),
        (inner, RIGHT, inner - 1, 0.05, 0.0, False, False),
        (last, RIGHT, last, 0.6, 1.0, False, False),
        (last, RIGHT, last - 1, 0.4, 0.0, False, False),
    ]
    goal = np.zeros((n, 2), dtype=bool)
    goal[last, RIGHT] = True
    return MDP.from_columns(
        *columns_of(rows),
        name="river-swim",
        n_states=n,
        n_actions=2,
        start=np.isin(s, (1, 2)) / 2,
        r_min=0.0,
        r_max=1.0,
        time_limit=time_limit,
        action_labels=("LEFT", "RIGHT"),
        picture=("g" + "~" * (n - 2) + "$",),
        button=(0, LEFT),
        goal=goal,
    )
