"""Worlds from other people's tables: transition arrays and Gymnasium's transition dictionaries."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from monmdp.errors import MonMDPError
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import MDP

Layout = Literal["auto", "sas", "ass", "pairs"]


def from_tables(
    P: Any,
    R: Any,
    *,
    layout: Layout = "auto",
    s_indices: ArrayLike | None = None,
    a_indices: ArrayLike | None = None,
    start: ArrayLike | None = None,
    terminal: Iterable[int] = (),
    hidden: ArrayLike | None = None,
    missing: Literal["error", "stay"] = "error",
    r_min: float | None = None,
    r_max: float | None = None,
    time_limit: int | None = None,
    name: str = "tables",
    **fields: Any,
) -> MDP:
    """Build an MDP from transition probabilities P and rewards R.

    Args:
        P: transition probabilities, one of

            * ``[s, a, s']`` dense (layout ``sas``; QuantEcon's product formulation);
            * ``[a, s, s']`` dense, or a sequence of one dense or sparse ``[s, s']`` matrix per
              action (layout ``ass``; mdptoolbox);
            * ``[row, s']`` dense or sparse with one row per pair (layout ``pairs``): row
              ``s * n_actions + a``, or the pair ``(s_indices[row], a_indices[row])`` (QuantEcon's
              state-action formulation).
        R: rewards: ``[s, a]``, ``[row]`` for pairs, ``[s]``, or one per transition in the layout
            of P (``[s, a, s']``, ``[a, s, s']``, sequence of matrices, ``[row, s']``).
        layout: needed only where the shape leaves open what is meant (as many actions as states).
        s_indices: state of each row of P, with layout ``pairs``.
        a_indices: action of each row of P, with layout ``pairs``.
        start: ``[s]`` start distribution, or one state; default uniform.
        terminal: states whose entering ends the episode.
        hidden: ``[s, a]`` pairs whose reward no monitor but Full ever shows (⊥).
        missing: what to do about pairs that are absent or have reward -inf (infeasible actions):
            ``error``, or ``stay`` in place at reward r_min, which no optimal policy prefers.
        r_min: least mean reward the environment may have; default the least in R.
        r_max: largest; default the largest in R.
        time_limit: steps after which episodes are truncated.
        name: the world's name.
        **fields: further fields of `MDP`: state_labels, action_labels, button, goal, ...
    """
    state, action, successor, chance, reward = _transitions(P, R, layout, s_indices, a_indices)
    n_states = _n_states(P)
    n_actions = int(action.max(initial=-1)) + 1
    if not np.isfinite(chance).all():
        at = int(np.argmax(~np.isfinite(chance)))
        raise MonMDPError(f"P: {chance[at]} at state {state[at]}, action {action[at]}")
    bad = np.isnan(reward) | (reward == np.inf)
    if bad.any():
        at = int(np.argmax(bad))
        raise MonMDPError(f"R: {reward[at]} at state {state[at]}, action {action[at]}")

    # A pair is feasible when it has transitions and none of them pays -inf.
    pair = state * n_actions + action
    infeasible = np.bincount(pair, minlength=n_states * n_actions) == 0
    infeasible[pair[reward == -np.inf]] = True
    lowest = float(reward[~infeasible[pair]].min(initial=np.inf)) if r_min is None else r_min
    if infeasible.any():
        s, a = divmod(int(np.argmax(infeasible)), n_actions)
        if missing == "error":
            raise MonMDPError(
                f"state {s} has no action {a} (no transition, or reward -inf); give every pair "
                "one, or choose missing='stay' to let such actions stay in place at r_min"
            )
        keep = ~infeasible[pair]
        extra = np.flatnonzero(infeasible)
        state = np.concatenate([state[keep], extra // n_actions])
        action = np.concatenate([action[keep], extra % n_actions])
        successor = np.concatenate([successor[keep], extra // n_actions])
        chance = np.concatenate([chance[keep], np.ones(len(extra))])
        reward = np.concatenate([reward[keep], np.full(len(extra), lowest)])

    ends = np.zeros(n_states, dtype=bool)
    for s in terminal:
        if not 0 <= s < n_states:
            raise MonMDPError(f"terminal state {s} does not exist; there are {n_states} states")
        ends[s] = True
    if hidden is None:
        unseen = np.zeros((n_states, n_actions), dtype=bool)
    else:
        unseen = np.asarray(hidden, dtype=bool)
        if unseen.shape != (n_states, n_actions):
            raise MonMDPError(f"hidden: shape {(n_states, n_actions)} expected, got {unseen.shape}")
    return MDP.from_columns(
        state,
        action,
        successor,
        chance,
        reward,
        ends[successor],
        unseen[state, action],
        name=name,
        n_states=n_states,
        n_actions=n_actions,
        start=_start(start, n_states),
        r_min=lowest,
        r_max=r_max,
        time_limit=time_limit,
        **fields,
    )


def from_gymnasium(env: Any, **kwargs: Any) -> MDP:
    """Import a Gymnasium environment that carries a transition table ``P``.

    Args:
        env: an id such as ``"FrozenLake-v1"`` or a made environment.
        **kwargs: for the environment (``map_name="8x8"``), or, where they are named like them,
            fields of `MDP` that replace what the environment says: r_min, r_max, time_limit,
            button, goal, start.

    The rewards, random or not, and the endings, random or not, are those of the table; the start is
    the environment's initial distribution; the time limit is the one it is registered with.
    """
    import gymnasium

    replaceable = ("r_min", "r_max", "time_limit", "button", "goal", "start", "name")
    fields = {key: kwargs.pop(key) for key in replaceable if key in kwargs}
    if isinstance(env, str):
        try:
            made = gymnasium.make(env, **kwargs)
        except (gymnasium.error.Error, TypeError, ValueError, ImportError) as error:
            raise MonMDPError(f"gymnasium cannot make {env!r}: {error}") from None
    elif kwargs:
        raise MonMDPError(f"{', '.join(kwargs)}: parameters go with an id, not a made environment")
    else:
        made = env
    base = made.unwrapped
    table = getattr(base, "P", None)
    spec = getattr(made, "spec", None)
    label = getattr(spec, "id", None) or type(base).__name__
    if table is None:
        raise MonMDPError(
            f"{label} has no transition table P, so it cannot be imported as a finite model; "
            "FrozenLake, CliffWalking and Taxi have one"
        )
    if getattr(base, "fickle_passenger", False):
        raise MonMDPError(f"{label} with a fickle passenger is not described by its table P")
    n_states, n_actions = len(table), len(table[0])
    outcomes = [
        (s, a, int(next_s), float(p), float(r), bool(ended), False)
        for s in range(n_states)
        for a in range(n_actions)
        for p, next_s, r, ended in table[s][a]
    ]
    start = getattr(base, "initial_state_distrib", None)
    if start is None and "start" not in fields:
        raise MonMDPError(f"{label} does not say where it starts; give start=[…]")
    values: dict[str, Any] = {
        "name": label,
        "time_limit": getattr(spec, "max_episode_steps", None),
        "start": start,
        "action_labels": _action_labels(base, n_actions),
    } | fields
    values["start"] = _start(values["start"], n_states)
    if isinstance(env, str):
        made.close()
    return MDP.from_outcomes(outcomes, n_states=n_states, n_actions=n_actions, **values)


def _action_labels(base: Any, n_actions: int) -> tuple[str, ...]:
    """Names of the actions, from the module's constants (LEFT = 0, ...) where it has them."""
    module = inspect.getmodule(type(base))
    constants = {
        value: key
        for key, value in vars(module).items()
        if key.isupper() and type(value) is int and 0 <= value < n_actions
    }
    return tuple(constants.get(a, str(a)) for a in range(n_actions))


def _start(start: ArrayLike | None, n_states: int) -> FloatArray:
    if start is None:
        return np.full(n_states, 1 / n_states)
    given = np.asarray(start)
    if given.ndim == 0:
        if not (given == given // 1 and 0 <= given < n_states):
            raise MonMDPError(f"start state {start} does not exist; there are {n_states} states")
        only: FloatArray = (np.arange(n_states) == given).astype(np.float64)
        return only
    return given.astype(np.float64)


# ---- layouts --------------------------------------------------------------------------------


def _is_sparse(matrix: Any) -> bool:
    return hasattr(matrix, "tocoo")


def _n_states(P: Any) -> int:
    last = P[0] if isinstance(P, Sequence) and _is_sparse(P[0]) else P
    return int(last.shape[-1] if hasattr(last, "shape") else np.asarray(last).shape[-1])


def _transitions(
    P: Any, R: Any, layout: Layout, s_indices: ArrayLike | None, a_indices: ArrayLike | None
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Columns (state, action, successor, probability, reward) of all transitions with a chance."""
    if isinstance(P, Sequence) and len(P) and any(_is_sparse(matrix) for matrix in P):
        return _per_action(list(P), R)
    dense_or_sparse = P if _is_sparse(P) else _numeric(P, "P")
    if dense_or_sparse.ndim == 2:
        return _per_pair(dense_or_sparse, R, s_indices, a_indices)
    if dense_or_sparse.ndim != 3:
        raise MonMDPError(f"P: 2 or 3 axes expected, got shape {dense_or_sparse.shape}")
    n0, n1, n2 = dense_or_sparse.shape
    fits = [kind for kind, ok in (("sas", n0 == n2), ("ass", n1 == n2)) if ok]
    if not fits:
        raise MonMDPError(f"P has shape {dense_or_sparse.shape}; [s, a, s'] or [a, s, s'] expected")
    if layout == "auto" and len(fits) == 2:
        raise MonMDPError(
            f"P has shape {dense_or_sparse.shape}: as many actions as states, so the layout must "
            "be given: layout='sas' for [s, a, s'] or layout='ass' for [a, s, s']"
        )
    chosen = fits[0] if layout == "auto" else layout
    if chosen not in fits:
        raise MonMDPError(f"P of shape {dense_or_sparse.shape} does not fit layout {layout!r}")
    if chosen == "ass":
        return _per_action(list(dense_or_sparse), R)
    n, m = n0, n1
    rewards = R if _is_sparse(R) else _numeric(R, "R")
    if rewards.shape == (n, m, n):
        rewards = rewards.reshape(n * m, n)
    return _per_pair(dense_or_sparse.reshape(n * m, n), rewards, None, None)


def _per_action(
    matrices: list[Any], R: Any
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Layout [a, s, s'] or one matrix per action."""
    n = matrices[0].shape[-1]
    for a, matrix in enumerate(matrices):
        if matrix.shape != (n, n):
            raise MonMDPError(f"P: the matrix of action {a} has shape {matrix.shape}, not {(n, n)}")
    per_action: list[Any] = []
    by_pair: FloatArray | None = None
    if isinstance(R, Sequence) and len(R) and any(_is_sparse(r) for r in R):
        per_action = list(R)
    elif not _is_sparse(R) and np.ndim(R) == 3:
        per_action = list(_numeric(R, "R"))
    else:
        by_pair = _numeric(R, "R")
    if by_pair is None and len(per_action) != len(matrices):
        raise MonMDPError(f"R: {len(per_action)} matrices for {len(matrices)} actions")
    parts = []
    for a, matrix in enumerate(matrices):
        state, successor, chance = _entries(matrix)
        if by_pair is not None:
            reward = _mean_reward(by_pair, state, np.full(len(state), a), n, len(matrices))
        else:
            if per_action[a].shape != (n, n):
                raise MonMDPError(f"R: shape {per_action[a].shape} for action {a}, not {(n, n)}")
            reward = _look_up(per_action[a], state, successor)
        parts.append((state, np.full(len(state), a), successor, chance, reward))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return columns[0], columns[1], columns[2], columns[3], columns[4]


def _per_pair(
    P: Any, R: Any, s_indices: ArrayLike | None, a_indices: ArrayLike | None
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Layout [row, s'], rows in the order s * n_actions + a or as the indices say."""
    rows, n = P.shape
    if (s_indices is None) != (a_indices is None):
        raise MonMDPError("s_indices and a_indices go together")
    if s_indices is None:
        if rows % n:
            raise MonMDPError(
                f"P has {rows} rows for {n} states; one row per pair s * n_actions + a expected, "
                "or s_indices and a_indices"
            )
        s_of_row, a_of_row = np.divmod(np.arange(rows), rows // n)
    else:
        s_of_row = np.asarray(s_indices, dtype=np.int64)
        a_of_row = np.asarray(a_indices, dtype=np.int64)
        if s_of_row.shape != (rows,) or a_of_row.shape != (rows,):
            raise MonMDPError(f"s_indices and a_indices need one entry for each of the {rows} rows")
        if ((s_of_row < 0) | (s_of_row >= n) | (a_of_row < 0)).any():
            raise MonMDPError(
                f"s_indices must lie in 0 to {n - 1} and a_indices must be at least 0"
            )
        if len(set(zip(s_of_row.tolist(), a_of_row.tolist(), strict=True))) < rows:
            raise MonMDPError("s_indices and a_indices name a pair twice")
    m = int(a_of_row.max()) + 1
    row, successor, chance = _entries(P)
    if _is_sparse(R) or (np.shape(R) == (rows, n) and m != n):
        if R.shape != (rows, n):
            raise MonMDPError(f"R: shape {(rows, n)} expected, got {R.shape}")
        reward = _look_up(R, row, successor)
    else:
        rewards = _numeric(R, "R")
        if rewards.shape == (rows,):
            reward = rewards[row]
        elif rewards.shape == (rows, n) and rewards.shape != (n, m):
            reward = rewards[row, successor]
        else:
            reward = _mean_reward(rewards, s_of_row[row], a_of_row[row], n, m)
    return s_of_row[row], a_of_row[row], successor, chance, reward


def _entries(matrix: Any) -> tuple[IntArray, IntArray, FloatArray]:
    """Row, column and value of every non-zero entry."""
    if _is_sparse(matrix):
        entries = matrix.tocoo()
        values = np.asarray(entries.data, dtype=np.float64)
        keep = values != 0
        row, column = entries.row[keep].astype(np.int64), entries.col[keep].astype(np.int64)
        return row, column, values[keep]
    row, column = np.nonzero(matrix)
    return row, column, np.asarray(matrix[row, column], dtype=np.float64)


def _look_up(matrix: Any, row: IntArray, column: IntArray) -> FloatArray:
    values = matrix.tocsr()[row, column] if _is_sparse(matrix) else matrix[row, column]
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _mean_reward(
    rewards: FloatArray, state: IntArray, action: IntArray, n: int, m: int
) -> FloatArray:
    """R[s, a] or R[s] for each transition."""
    if rewards.shape == (n, m):
        return np.asarray(rewards[state, action], dtype=np.float64)
    if rewards.shape == (n,):
        return np.asarray(rewards[state], dtype=np.float64)
    raise MonMDPError(
        f"R has shape {rewards.shape}; [s, a] = {(n, m)}, [s] = {(n,)} or the shape of P expected"
    )


def _numeric(values: Any, what: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MonMDPError(f"{what}: not an array of numbers ({error})") from None
