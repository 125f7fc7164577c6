"""Random MDP: dynamics and mean rewards are drawn at random, and rewards are noisy.

Every pair (s, a) has `branching` different successors, every set of them equally likely, with
chances from the flat Dirichlet distribution. Its mean reward is μ(s, a) = U³, U uniform on [0, 1]:
few pairs are good. The reward is (1 - η)μ + ηb, where b is 1 with chance μ and else 0, whatever the
successor. η is the noise: the mean is μ, the variance η²μ(1 - μ). Episodes start in state 0 and
never end. The pair with the largest mean is the goal.
"""

from __future__ import annotations

import numpy as np

from monmdp.memory import demand_room
from monmdp.model.arrays import IntArray
from monmdp.model.mdp import MDP, number, whole_number

KEY = 16
"""bytes that it takes to choose among the states, for each state and pair"""
MANY = 2_000
"""successors among more states than this are chosen one by one"""
OUTCOME = 200
"""bytes that building an outcome takes"""


def random_mdp(
    *,
    states: int = 10,
    actions: int = 3,
    branching: int = 3,
    noise: float = 1.0,
    seed: int = 0,
    time_limit: int = 50,
) -> MDP:
    """Build the random MDP of a seed; `noise` changes neither its dynamics nor its mean rewards."""
    n = whole_number(states, "states", at_least=1)
    m = whole_number(actions, "actions", at_least=1)
    k = whole_number(branching, "branching", at_least=1, at_most=n)
    eta = number(noise, "noise", "[0, 1]")
    pairs = n * m
    demand_room(
        pairs * (KEY * (n if _by_sorting(n, k) else k) + 2 * OUTCOME * k),
        f"states = {n:,} with actions = {m:,} and branching = {k:,}",
    )
    sizes = [whole_number(seed, "seed", at_least=0), n, m, k]
    rng = np.random.default_rng(np.random.SeedSequence(sizes))
    # Uniform numbers and plain arithmetic only: NumPy's other distributions may change some day.
    successor = _choose(rng, pairs, n, k)
    cuts = np.sort(rng.random((pairs, k - 1)), axis=1)  # the lengths between them are Dirichlet's
    chance = np.diff(cuts, axis=1, prepend=0.0, append=1.0)
    u = rng.random(pairs)
    mean = u * u * u

    # [pair, successor, b]
    b = np.arange(2)
    pair = np.arange(pairs)[:, None, None]
    of_b = np.stack([1 - mean, mean], axis=1)[:, None, :]
    reward = (1 - eta) * mean[:, None, None] + eta * b
    columns = np.broadcast_arrays(
        pair // m, pair % m, successor[:, :, None], chance[:, :, None] * of_b, reward, False, False
    )
    goal = np.arange(pairs) == mean.argmax()
    return MDP.from_columns(
        *(column.reshape(-1) for column in columns),
        name="random-mdp",
        n_states=n,
        n_actions=m,
        start=np.arange(n) == 0,
        r_min=0.0,
        r_max=1.0,
        time_limit=time_limit,
        button=(0, 0),
        goal=goal.reshape(n, m),
    )


def _by_sorting(n: int, k: int) -> bool:
    """Return whether k of n states are chosen by sorting all of them."""
    return n <= MANY or k * k > n


def _choose(rng: np.random.Generator, pairs: int, n: int, k: int) -> IntArray:
    """Choose k different ones of n states for every pair."""
    if _by_sorting(n, k):
        return rng.random((pairs, n)).argsort(axis=1, kind="stable")[:, :k]
    chosen = np.empty((pairs, k), dtype=np.int64)
    for j in range(k):
        # The r-th of those that are left: it comes after all chosen ones up to it.
        r = (rng.random(pairs) * (n - j)).astype(np.int64)
        for before in np.sort(chosen[:, :j], axis=1).T:
            r += r >= before
        chosen[:, j] = r
    return chosen
