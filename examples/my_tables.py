"""A finite problem of your own from tables: when should a machine be repaired?

monmdp solve examples.my_tables:repair ask cost=-0.05
"""

import numpy as np

from monmdp import MDP, worlds


def repair(*, wear: float = 0.2, price: float = -0.5) -> MDP:
    """A machine is new, worn or broken. Running it pays less the older it is; repair costs."""
    run = np.array([[1 - wear, wear, 0.0], [0.0, 1 - wear, wear], [0.0, 0.0, 1.0]])
    mend = np.array([[1.0, 0.0, 0.0]] * 3)
    transitions = np.stack([run, mend], axis=1)  # [state, action, next state]
    rewards = [[1.0, price], [0.6, price], [-1.0, price]]  # [state, action]
    never_seen = [[False, False], [False, False], [True, False]]  # the damage of a broken machine
    return worlds.from_tables(
        transitions, rewards, layout="sas", hidden=never_seen, start=[1.0, 0.0, 0.0],
        time_limit=100, name="repair",
    )  # fmt: skip
