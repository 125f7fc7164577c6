"""From a `MonMDP` to the arrays the planning kernels read."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.monmdp import MonMDP
from monmdp.planning import kernels
from monmdp.planning.elimination import Elimination
from monmdp.planning.kernels import Factors, Moves

T = TypeVar("T")


def checked_problem(monmdp: MonMDP) -> MonMDP:
    """Demand a finished Mon-MDP."""
    if not isinstance(monmdp, MonMDP):
        raise MonMDPError(
            f"a MonMDP expected, got {monmdp!r}; monmdp.make(world, monitor) makes one"
        )
    return monmdp


def factors(monmdp: MonMDP) -> Factors:
    """Return the factored model; made once for each Mon-MDP."""
    return _once(_factors, monmdp)


def _once(made_from: Callable[[MonMDP], T], monmdp: MonMDP) -> T:
    """Return what is made from a Mon-MDP, and keep it there."""
    key = made_from.__name__
    if key not in monmdp.__dict__:
        monmdp.__dict__[key] = made_from(monmdp)
    kept: T = monmdp.__dict__[key]
    return kept


def moves(m: Factors) -> Moves:
    """Return the part of the model that says where a pair leads."""
    return Moves(m.first, m.successor, m.probability, m.stay)


class Prepared(NamedTuple):
    """What a search for the optimal policy starts from; the same for every discount."""

    model: Factors
    """the model, its environment states renumbered by their distance from the best rewards"""
    likeliest: Factors
    """a simpler model: of every pair only its likeliest move, and its staying"""
    old_number: IntArray
    """[new number] environment state"""
    elimination: Elimination
    """of the model's environment states"""
    second_order: IntArray | None
    """another order to sweep in, where the monitor treats some pairs apart (a button): by the
    distance from them"""
    least_reward: float
    """what the best action pays at least, in any state"""
    span_of_rewards: float
    """how much more than that an action pays at most"""


def prepared(monmdp: MonMDP) -> Prepared:
    """Renumber the environment states for the search; made once for each Mon-MDP.

    Neighbours then lie close to each other in memory, and a sweep in the new order carries values
    outwards from the rewards.
    """
    return _once(_prepared, monmdp)


def _prepared(monmdp: MonMDP) -> Prepared:
    given, n_se = factors(monmdp), monmdp.mdp.n_states
    by_state = given.env_reward.reshape(n_se, -1)
    old_number = _distance_order(given, np.any(by_state == by_state.max(), axis=1))
    m = _renumbered(given, old_number)
    successor, probability = np.empty_like(m.stay, dtype=np.int32), np.empty_like(m.stay)
    first, stay = np.empty_like(m.first), np.empty_like(m.stay)
    kernels._likeliest(moves(m), first, successor, probability, stay)
    likeliest = m._replace(first=first, successor=successor, probability=probability, stay=stay)
    second_order = None
    if len(m.row_first) > 1:
        usual = np.bincount(m.pair_class).argmax()
        special = np.any((m.pair_class != usual).reshape(n_se, -1), axis=1)
        second_order = _distance_order(m, special)
    rewards = _reward_span(m, by_state)
    return Prepared(m, likeliest, old_number, Elimination(m), second_order, *rewards)


def share_structure(known: MonMDP, other: MonMDP) -> MonMDP:
    """Hand on what is worked out of a Mon-MDP to one that differs from it in rewards alone.

    The states keep the order that suited the old rewards: right for any, and good where values to
    start from are known.
    """
    ready, reward = prepared(known), np.ascontiguousarray(other.mdp.mean_reward.reshape(-1))
    other.__dict__[_factors.__name__] = factors(known)._replace(env_reward=reward)
    by_state = reward.reshape(other.mdp.n_states, -1)
    moved = np.ascontiguousarray(by_state[ready.old_number]).reshape(-1)
    least, span = _reward_span(ready.model, by_state)
    other.__dict__[_prepared.__name__] = ready._replace(
        model=ready.model._replace(env_reward=moved),
        likeliest=ready.likeliest._replace(env_reward=moved),
        least_reward=least,
        span_of_rewards=span,
    )
    return other


def _reward_span(m: Factors, by_state: FloatArray) -> tuple[float, float]:
    """What the best action pays at least, and how much more an action pays at most."""
    least = by_state.max(axis=1).min() + m.monitor_reward.max(axis=1).min()
    span = by_state.max() + m.monitor_reward.max() - least
    return float(least), float(span)


def _distance_order(m: Factors, seed: BoolArray) -> IntArray:
    """Environment states by the number of steps in which they can reach a seed state."""
    n_se = len(seed)
    source = np.repeat(np.arange(len(m.stay)) // m.n_env_actions, np.diff(m.first))
    by_target = np.argsort(m.successor, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(m.successor, minlength=n_se))])
    order = np.empty(n_se, dtype=np.int64)
    kernels._breadth_first(first, source[by_target], seed, order)
    return order


def _renumbered(m: Factors, order: IntArray) -> Factors:
    """Give the environment state order[i] the number i."""
    n_ae = m.n_env_actions
    number_of = np.empty(len(order), dtype=np.int32)
    number_of[order] = np.arange(len(order), dtype=np.int32)
    pairs = (order[:, None] * n_ae + np.arange(n_ae)).reshape(-1)
    count = np.diff(m.first)[pairs]
    first = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    outcomes = np.repeat(m.first[pairs] - first[:-1], count) + np.arange(first[-1])
    return m._replace(
        first=first,
        successor=number_of[m.successor[outcomes]],
        probability=m.probability[outcomes],
        stay=m.stay[pairs],
        env_reward=m.env_reward[pairs],
        pair_class=m.pair_class[pairs],
    )


def _factors(monmdp: MonMDP) -> Factors:
    mdp, monitor = monmdp.mdp, monmdp.monitor
    stays = ~mdp.terminates & (mdp.successor == mdp.pair_of_outcome // mdp.n_actions)
    moves = ~mdp.terminates & ~stays
    stay = np.bincount(mdp.pair_of_outcome[stays], mdp.probability[stays], minlength=mdp.n_pairs)
    n_moves = np.bincount(mdp.pair_of_outcome[moves], minlength=mdp.n_pairs)
    row, row_first, row_count, row_of = _distinct_rows(monitor.transition)
    menu_first, menu_row, menu_reward = _menus(row_of, monitor.reward)
    return Factors(
        n_env_actions=mdp.n_actions,
        first=np.concatenate([[0], np.cumsum(n_moves)]).astype(np.int32),
        successor=mdp.successor[moves].astype(np.int32),
        probability=mdp.probability[moves],
        stay=stay.astype(np.float64),
        env_reward=np.ascontiguousarray(mdp.mean_reward.reshape(-1)),
        pair_class=monmdp.pair_class.astype(np.int32),
        row=row,
        row_first=row_first,
        row_count=row_count,
        row_of=row_of,
        monitor_reward=np.array(monitor.reward),
        menu_first=menu_first,
        menu_row=menu_row,
        menu_reward=menu_reward,
    )


def _distinct_rows(transition: FloatArray) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Distinct rows of [class, sᵐ, aᵐ, s′ᵐ]; classes with the same set of rows share it."""
    n_classes, n_states, n_actions, _ = transition.shape
    rows: list[FloatArray] = []
    sets: dict[bytes, int] = {}
    row_first = np.zeros(n_classes, dtype=np.int64)
    row_count = np.zeros(n_classes, dtype=np.int64)
    row_of = np.zeros((n_classes, n_states, n_actions), dtype=np.int64)
    for c in range(n_classes):
        distinct, which = np.unique(
            transition[c].reshape(-1, n_states), axis=0, return_inverse=True
        )
        key = distinct.tobytes()
        if key not in sets:
            sets[key] = len(rows)
            rows.extend(distinct)
        row_first[c], row_count[c] = sets[key], len(distinct)
        row_of[c] = sets[key] + which.reshape(n_states, n_actions)
    return np.array(rows), row_first, row_count, row_of


def _menus(row_of: IntArray, reward: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """For each class and sᵐ the rows that can be chosen, each with the best rᵐ that chooses it."""
    n_classes, n_states, _ = row_of.shape
    first = np.zeros((n_classes, n_states + 1), dtype=np.int64)
    rows: list[int] = []
    rewards: list[float] = []
    for c in range(n_classes):
        first[c, 0] = len(rows)
        for sm in range(n_states):
            for u in np.unique(row_of[c, sm]):
                rows.append(int(u))
                rewards.append(float(reward[sm, row_of[c, sm] == u].max()))
            first[c, sm + 1] = len(rows)
    return first, np.array(rows, dtype=np.int64), np.array(rewards)
