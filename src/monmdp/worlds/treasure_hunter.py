"""Treasure hunter: the paper's example of a reward that can never be seen (figure 2).

One decision. RIGHT meets a snake (-10), UP finds gold bars (+0.1), LEFT finds a treasure (+1), but
its reward is never shown and might be a snake for all the agent knows (r_min = -10). The
minimax-optimal policy goes UP; not seeing costs 1 - 0.1 = 0.9.
"""

from __future__ import annotations

import numpy as np

from monmdp.model.mdp import MDP

# States in reading order of the picture: gold bars, ⊥, the start, the snake.
GOLD, UNSEEN, START, SNAKE = range(4)
LEFT, UP, RIGHT = range(3)


def treasure_hunter(*, solvable: bool = False, time_limit: int = 50) -> MDP:
    """Build the world; `solvable` lets monitors show the treasure."""
    decisions = [
        (START, LEFT, UNSEEN, 1.0, 1.0, True, not solvable),
        (START, UP, GOLD, 1.0, 0.1, True, False),
        (START, RIGHT, SNAKE, 1.0, -10.0, True, False),
    ]
    # The episode has ended in the other cells: nobody ever acts there.
    over = [(s, a, s, 1.0, 0.0, True, False) for s in (GOLD, UNSEEN, SNAKE) for a in range(3)]
    goal = np.zeros((4, 3), dtype=bool)
    goal[START, LEFT] = True
    return MDP.from_outcomes(
        decisions + over,
        name="treasure-hunter",
        n_states=4,
        n_actions=3,
        start=np.arange(4) == START,
        r_min=-10.0,
        r_max=1.0,
        time_limit=time_limit,
        state_labels=("GOLD", "UNSEEN", "START", "SNAKE"),
        action_labels=("LEFT", "UP", "RIGHT"),
        picture=("#g#", "?.S"),
        button=(START, LEFT),
        goal=goal,
        bottom=np.arange(4) == UNSEEN,
    )
