"""Whether episodes end, whatever is done: what undiscounted returns, γ = 1, need.

A set of states in which one can stay for ever has in each of them an action that neither ends the
episode nor leaves the set. The largest such set is what remains when states without one are taken
away, until none is left to take. If none of it can be reached, every policy ends with probability
one (it is *proper*), and undiscounted returns are finite. The monitor has no say in that: it moves
beside the environment.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray
from monmdp.model.mdp import MDP
from monmdp.model.monitor import Monitor
from monmdp.model.monmdp import MonMDP, join
from monmdp.planning import kernels
from monmdp.planning.factors import _once
from monmdp.planning.observability import _reachable


def endless(monmdp: MonMDP) -> BoolArray:
    """[sᵉ] the states in which one can stay for ever, reachable or not."""
    return _once(_endless, monmdp)


def _endless(monmdp: MonMDP) -> BoolArray:
    mdp = monmdp.mdp
    leaves = np.add.reduceat(mdp.terminates, mdp.first[:-1], dtype=np.int64) > 0
    ways = np.asarray((~leaves).reshape(mdp.n_states, mdp.n_actions).sum(axis=1), dtype=np.int64)
    by_successor = np.argsort(mdp.successor, kind="stable")
    arrivals = np.bincount(mdp.successor, minlength=mdp.n_states)
    first = np.concatenate([[0], np.cumsum(arrivals)])
    pair = np.asarray(mdp.pair_of_outcome[by_successor], dtype=np.int64)
    kernels._take_away(first, pair, leaves, ways)
    stay: BoolArray = ways > 0
    return stay


def all_end(monmdp: MonMDP) -> bool:
    """Return whether every policy ends the episode, wherever it can come to."""
    return not _for_ever_in(monmdp).any()


def _for_ever_in(monmdp: MonMDP) -> BoolArray:
    return endless(monmdp) & _reachable(monmdp).any(axis=1)


def demand_end(monmdp: MonMDP) -> MonMDP:
    """Refuse a problem in which one can stay for ever, and name states where."""
    there = np.flatnonzero(_for_ever_in(monmdp))
    if len(there):
        labels = [repr(monmdp.mdp.state_labels[s]) for s in there[:3]]
        some = f"{', '.join(labels)}{', …' if len(there) > 3 else ''}"
        limit = monmdp.mdp.time_limit
        remedy = "give the world a time_limit" if limit is None else f"cut it (horizon={limit})"
        raise MonMDPError(
            f"gamma = 1 needs episodes that end: in world {monmdp.mdp.name!r} one can stay for "
            f"ever in {len(there):,} of {monmdp.mdp.n_states:,} states ({some}); {remedy}, or take "
            "gamma < 1"
        )
    return monmdp


def for_ever(monmdp: MonMDP, gamma: float) -> MonMDP:
    """Return the problem as it is solved for ever.

    Without a discount, states that cannot be reached, and could not be left, end the episode: they
    have no finite value, and nobody needs one.
    """
    if gamma < 1 or not endless(demand_end(monmdp)).any():
        return monmdp
    mdp = monmdp.mdp
    ends = mdp.terminates | endless(monmdp)[mdp.pair_of_outcome // mdp.n_actions]
    return monmdp.with_mdp(replace(mdp, terminates=ends))


def step_counter(monmdp: MonMDP) -> MonMDP:
    """Return the environment with a reward of 1 for every step, and nobody watching."""
    mdp: MDP = for_ever(monmdp, 1.0).mdp
    nobody = Monitor(["-"], ["-"], [1.0], [[[1.0]]], [[0.0]], [[0.0]])
    return join(replace(mdp, reward=np.ones(mdp.n_outcomes), r_min=1.0, r_max=1.0), nobody)
