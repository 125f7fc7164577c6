"""Worlds from other people's tables: transition arrays and Gymnasium's transition dictionaries."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from monmdp.errors import MonMDPError, import_extra, nearest
from monmdp.memory import demand_room
from monmdp.model.arrays import FloatArray, IntArray, as_array, columns_of, first_true, frozen
from monmdp.model.mdp import MDP, whole_number
from monmdp.naming import Parameter

Layout = Literal["auto", "sas", "ass", "pairs"]
FIELDS = (
    "state_labels", "action_labels", "picture", "button", "goal", "bottom", "observations",
    "places",
)  # fmt: skip
"""fields of `MDP` that `from_tables` hands on"""
TAXI_ACTIONS = ("SOUTH", "NORTH", "EAST", "WEST", "PICKUP", "DROPOFF")
"""as Taxi's documentation has them; it has no constants for them"""
TRANSITION = 150
"""bytes that building a transition takes"""
PAIR = 50
"""bytes that building a pair takes"""
Columns = tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]
"""(state, action, successor, probability, reward) of transitions"""


def from_tables(
    P: Any,
    R: Any,
    *,
    layout: Layout = "auto",
    s_indices: ArrayLike | None = None,
    a_indices: ArrayLike | None = None,
    start: ArrayLike | None = None,
    terminal: ArrayLike = (),
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
        terminal: states whose entering ends the episode, as a list or as a mask ``[s]``.
        hidden: ``[s, a]`` pairs whose reward no monitor but Full ever shows (⊥).
        missing: what to do about pairs that are absent or have reward -inf (infeasible actions):
            ``error``, or ``stay`` in place at reward r_min, which no optimal policy prefers.
        r_min: least mean reward the environment may have; default the least in R.
        r_max: largest; default the largest in R.
        time_limit: steps after which episodes are truncated.
        name: the world's name.
        **fields: further fields of `MDP`: state_labels, action_labels, button, goal, ...

    >>> from monmdp import worlds
    >>> P = [[[0.9, 0.1], [0.2, 0.8]], [[0.0, 1.0], [0.5, 0.5]]]
    >>> R = [[0.0, 1.0], [2.0, 0.0]]
    >>> world = worlds.from_tables(P, R, layout="sas", hidden=[[0, 0], [1, 0]], time_limit=50)
    >>> world, world.r_min, world.r_max
    (<MDP 'tables': 2 states, 2 actions>, 0.0, 2.0)
    """
    for what, choice, known in (
        ("layout", layout, get_args(Layout)),
        ("missing", missing, ("error", "stay")),
    ):
        if choice not in known:
            raise MonMDPError(f"{what}={choice!r}{nearest(str(choice), known)}")
    for field in fields:
        if field not in FIELDS:
            raise MonMDPError(f"unknown field {field!r}{nearest(field, FIELDS)}")
    columns, n_states, n_actions = _transitions(P, R, layout, s_indices, a_indices)
    state, action, successor, chance, reward = columns
    for what, values, bad in (
        ("P", chance, ~np.isfinite(chance)),
        ("R", reward, np.isnan(reward) | (reward == np.inf)),
    ):
        if (at := first_true(bad)) is not None:
            raise MonMDPError(f"{what}: {values[at]} at state {state[at]}, action {action[at]}")

    # A pair is feasible when it has transitions and none of them pays -inf.
    pair = state * n_actions + action
    infeasible = np.bincount(pair, minlength=n_states * n_actions) == 0
    infeasible[pair[reward == -np.inf]] = True
    if infeasible.all():
        raise MonMDPError("no pair has a transition with a finite reward")
    lowest = float(reward[~infeasible[pair]].min(initial=np.inf)) if r_min is None else r_min
    if infeasible.any():
        s, a = divmod(int(np.argmax(infeasible)), n_actions)
        if missing == "error":
            raise MonMDPError(
                f"state {s} has no action {a} (no transition, or reward -inf); give every pair "
                "one, or choose missing='stay' to let such actions stay in place at r_min"
            )
        kept = (column[~infeasible[pair]] for column in columns)
        at_state, of_action = np.divmod(np.flatnonzero(infeasible), n_actions)
        state, action, successor, chance, reward = columns_of(
            [tuple(kept), (at_state, of_action, at_state, 1.0, lowest)]
        )

    ends = np.zeros(n_states, dtype=bool)
    given_ends = as_array(terminal, "terminal")
    if given_ends.dtype == np.bool_:
        ends = frozen(given_ends, np.bool_, (n_states,), "terminal")
    else:
        listed = given_ends.reshape(-1)
        whole = listed.dtype.kind in "iu"
        if not whole or not ((listed >= 0) & (listed < n_states)).all():
            listed = np.array([_state(s, n_states, "terminal") for s in listed.tolist()], int)
        ends[listed] = True
    sizes = (n_states, n_actions)
    none = np.zeros(sizes, dtype=bool)
    unseen = frozen(none if hidden is None else hidden, np.bool_, sizes, "hidden")
    return MDP.from_columns(
        *(state, action, successor, chance, reward, ends[successor], unseen[state, action]),
        n_states=n_states,
        n_actions=n_actions,
        start=start_distribution(start, n_states),
        name=name,
        r_min=lowest,
        r_max=r_max,
        time_limit=time_limit,
        **fields,
    )


def from_gymnasium(
    env: Any,
    *,
    start: ArrayLike | None = None,
    r_min: float | None = None,
    r_max: float | None = None,
    time_limit: int | None = None,
    goal: ArrayLike | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> MDP:
    """Import a Gymnasium environment that carries a transition table ``P``.

    The rewards, random or not, and the endings, random or not, are those of the table; the start is
    the environment's initial distribution; the time limit is the one it is registered with. States
    and actions of FrozenLake, CliffWalking and Taxi have names.

    Args:
        env: an id such as ``"FrozenLake-v1"`` or a made environment.
        start: start distribution or state, instead of the environment's.
        r_min: least mean reward the environment may have; default the least in the table.
        r_max: largest; default the largest in the table.
        time_limit: instead of the environment's.
        goal: [state, action] pairs that count as reaching the goal.
        name: the world's name; default the id.
        **kwargs: for the environment (``map_name="8x8"``).

    >>> from monmdp import worlds
    >>> lake = worlds.from_gymnasium("FrozenLake-v1", is_slippery=False)
    >>> lake, lake.time_limit
    (<MDP 'FrozenLake-v1': 16 states, 4 actions>, 100)
    >>> lake.action_labels
    ('LEFT', 'DOWN', 'RIGHT', 'UP')
    """
    made = made_environment(env, kwargs, from_gymnasium)
    base = made.unwrapped
    table = getattr(base, "P", None)
    spec = getattr(made, "spec", None)
    label = getattr(spec, "id", None) or type(base).__name__
    if table is None:
        raise MonMDPError(
            f"{label} has no transition table P, so it cannot be imported as a finite model; "
            "FrozenLake, CliffWalking and Taxi have one. Where steps are not random, env:ID or "
            "worlds.from_environment finds the states by trying all actions"
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
    if start is None:
        start = getattr(base, "initial_state_distrib", None)
    if start is None:
        raise MonMDPError(f"{label} does not say where it starts; give start=[…]")
    if time_limit is None:
        time_limit = getattr(spec, "max_episode_steps", None)
    if isinstance(env, str):
        made.close()
    return MDP.from_outcomes(
        outcomes,
        n_states=n_states,
        n_actions=n_actions,
        start=start_distribution(start, n_states),
        name=name or label,
        r_min=r_min,
        r_max=r_max,
        time_limit=time_limit,
        state_labels=state_names(base, n_states),
        action_labels=action_names(base, n_actions),
        goal=goal,
    )


def made_environment(env: Any, kwargs: Mapping[str, Any], importer: Callable[..., Any]) -> Any:
    """Return an environment, made if it is given by its id.

    `importer` is the function whose parameters may be meant by those that nobody knows.
    """
    import gymnasium

    if isinstance(env, str):
        return _made(env, kwargs, importer)
    if kwargs:
        raise MonMDPError(f"{', '.join(kwargs)}: parameters go with an id, not a made environment")
    if not isinstance(env, gymnasium.Env):
        is_class = isinstance(env, type)
        what = f"the class {env.__name__}" if is_class else f"an object of {type(env).__name__}"
        raise MonMDPError(
            "an id or a Gymnasium environment expected, an object of a class derived from "
            f"gymnasium.Env; got {what}"
        )
    return env


def _made(env: str, kwargs: Mapping[str, Any], importer: Callable[..., Any]) -> Any:
    """Make an environment, or say what is wrong with its id or its parameters."""
    import gymnasium
    from gymnasium.error import NamespaceNotFound, UnregisteredEnv

    if env.startswith(("MiniGrid", "BabyAI")):
        import_extra("minigrid", "minigrid", env)  # registers its ids
    kwargs = _meant(env, kwargs)
    try:
        with warnings.catch_warnings():  # if it is too old to be made, the error says so
            warnings.simplefilter("ignore", DeprecationWarning)
            return gymnasium.make(env, **kwargs)
    except NamespaceNotFound:
        raise MonMDPError(
            f"gymnasium has no environment {env!r}: a package must be installed that registers it, "
            "and be named, as in ale_py:ALE/Pong-v5"
        ) from None
    except UnregisteredEnv:
        close = nearest(env, gymnasium.registry)
        if "did you mean" not in close:
            close = "; if a package registers it, name that, too, as in module:ID"
        raise MonMDPError(f"gymnasium has no environment {env!r}{close}") from None
    except Exception as error:  # environments raise what they like
        if "Malformed environment ID" in str(error):
            raise MonMDPError(
                f"{env!r} is no id, such as 'FrozenLake-v1'; parameters are given apart from it, "
                "key=value"
            ) from None
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unknown is not None and unknown[1] in kwargs:
            known = {*_defaults(env), *inspect.signature(importer).parameters}
            known -= {"env", "kwargs", "tell"}
            raise MonMDPError(
                f"{env} has no parameter {unknown[1]!r}{nearest(unknown[1], known)}"
            ) from None
        given = ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
        what = f"{env!r} with {given}" if given else repr(env)
        why = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else error
        raise MonMDPError(f"gymnasium cannot make {what}: {why}") from None


def _meant(env: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Read words such as "no" where an environment's default is true or false."""
    if not any(isinstance(value, str) for value in kwargs.values()):
        return dict(kwargs)
    try:
        defaults = _defaults(env)
    except Exception:  # whatever is wrong, making it will tell
        return dict(kwargs)
    return {
        name: Parameter(name, bool, default).coerce(value, env)
        if isinstance(default := defaults.get(name), bool) and isinstance(value, str)
        else value
        for name, value in kwargs.items()
    }


def _defaults(env: str) -> dict[str, Any]:
    """The parameters of an environment, also those of the classes it derives from."""
    from gymnasium.envs.registration import load_env_creator

    spec = _spec(env)
    creator: Any = spec.entry_point
    if isinstance(creator, str):
        creator = load_env_creator(creator)
    kinds = inspect.getmro(creator) if isinstance(creator, type) else [creator]
    makers = [vars(kind).get("__init__") if isinstance(kind, type) else kind for kind in kinds]
    found = [inspect.signature(of).parameters for of in makers if inspect.isfunction(of)]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    # The class itself has the last word, and what it was registered with.
    parameters = (p for of in reversed(found) for p in of.values() if p.kind in named)
    defaults = {p.name: p.default for p in parameters} | spec.kwargs
    return {name: default for name, default in defaults.items() if name != "self"}


def _spec(env: str) -> Any:
    """What an id stands for; it may name a module to import, and no version."""
    import gymnasium

    module, _, name = env.rpartition(":")
    if module:
        importlib.import_module(module)
    known = gymnasium.registry.items()
    found = [spec for full, spec in known if name in (full, full.rpartition("-v")[0])]
    return max(found, key=lambda spec: spec.version or 0)


def state_names(base: Any, n_states: int) -> tuple[str, ...]:
    """Names of the states: row,column where they are cells, Taxi's in words; else none."""
    from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
    from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
    from gymnasium.envs.toy_text.taxi import TaxiEnv

    names: tuple[str, ...] = ()
    if isinstance(base, TaxiEnv):
        # The map has a character between any two columns, and a border.
        places = [base.desc[1 + row, 1 + 2 * column].decode() for row, column in base.locs]
        riders = [*(f"at {place}" for place in places), "in taxi"]
        names = tuple(
            f"{row},{column} {riders[rider]} to {places[goal]}"
            for row, column, rider, goal in map(base.decode, range(n_states))
        )
    elif isinstance(base, CliffWalkingEnv | FrozenLakeEnv):
        shape = base.shape if isinstance(base, CliffWalkingEnv) else (base.nrow, base.ncol)
        names = tuple(f"{row},{column}" for row, column in np.ndindex(shape))
    return names if len(set(names)) == n_states else ()


def action_names(base: Any, n_actions: int) -> tuple[str, ...]:
    """Names of the actions, from the module's constants (LEFT = 0, ...) where it has them."""
    from gymnasium.envs.toy_text.taxi import TaxiEnv

    if isinstance(base, TaxiEnv) and n_actions == len(TAXI_ACTIONS):
        return TAXI_ACTIONS
    module = inspect.getmodule(type(base))
    constants = {
        value: key
        for key, value in vars(module).items()
        if key.isupper() and type(value) is int and 0 <= value < n_actions
    }
    return tuple(constants.get(a, str(a)) for a in range(n_actions))


def start_distribution(start: ArrayLike | None, n_states: int) -> FloatArray:
    """The distribution of the first state, given as one or as a state; None: uniform."""
    if start is None:
        return np.full(n_states, 1 / n_states)
    given = as_array(start, "start")
    if given.ndim == 0:
        state = given.item()
        if isinstance(state, str):  # from the command line
            state = int(state) if state.strip().isdecimal() else state
        only: FloatArray = (np.arange(n_states) == _state(state, n_states, "start")) * 1.0
        return only
    return np.array(frozen(given, np.float64, (n_states,), "start"))


def _state(given: Any, n_states: int, kind: str) -> int:
    state = whole_number(given, f"a {kind} state", at_least=0)
    if state >= n_states:
        raise MonMDPError(f"{kind} state {given} does not exist; there are {n_states} states")
    return state


# ---- layouts --------------------------------------------------------------------------------


def _is_sparse(matrix: Any) -> bool:
    return hasattr(matrix, "tocoo")


def _listed(values: Any) -> Any:
    """Turn an object array of matrices, as mdptoolbox makes them, into a list of them."""
    return list(values) if getattr(values, "dtype", None) == np.dtype(object) else values


def _transitions(
    P: Any, R: Any, layout: Layout, s_indices: ArrayLike | None, a_indices: ArrayLike | None
) -> tuple[Columns, int, int]:
    """Columns of all transitions that have a chance, and the numbers of states and actions."""
    P, R = _listed(P), _listed(R)
    indexed = s_indices is not None or a_indices is not None
    if isinstance(P, Sequence) and len(P) and any(_is_sparse(matrix) for matrix in P):
        if layout not in ("auto", "ass") or indexed:
            raise MonMDPError("a list of matrices is one matrix per action: layout 'ass'")
        return _per_action(list(P), R)
    table = P if _is_sparse(P) else _numeric(P, "P")
    if 0 in table.shape:
        raise MonMDPError(f"P is empty: shape {table.shape}")
    if table.ndim == 2:
        if layout not in ("auto", "pairs"):
            raise MonMDPError(
                f"P with two axes has one row per pair: layout 'pairs', not {layout!r}"
            )
        return _per_pair(table, R, s_indices, a_indices)
    if table.ndim != 3:
        raise MonMDPError(f"P: 2 or 3 axes expected, got shape {table.shape}")
    if indexed:
        raise MonMDPError("s_indices and a_indices go with a P that has one row per pair")
    n0, n1, n2 = table.shape
    fits = [kind for kind, ok in (("sas", n0 == n2), ("ass", n1 == n2)) if ok]
    if not fits:
        raise MonMDPError(f"P has shape {table.shape}; [s, a, s'] or [a, s, s'] expected")
    if layout == "auto" and len(fits) == 2:
        raise MonMDPError(
            f"P has shape {table.shape}: as many actions as states, so the layout must be given: "
            "layout='sas' for [s, a, s'] or layout='ass' for [a, s, s']"
        )
    chosen = fits[0] if layout == "auto" else layout
    if chosen not in fits:
        raise MonMDPError(f"P of shape {table.shape} does not fit layout {layout!r}")
    if chosen == "ass":
        return _per_action(list(table), R)
    rewards = R if _is_sparse(R) else _numeric(R, "R")
    if rewards.shape == table.shape:
        rewards = rewards.reshape(n0 * n1, n2)
    return _per_pair(table.reshape(n0 * n1, n2), rewards, None, None)


def _per_action(matrices: list[Any], R: Any) -> tuple[Columns, int, int]:
    """Layout [a, s, s'], or one matrix per action: their rows below each other."""
    n, m = matrices[0].shape[-1], len(matrices)
    action, state = np.divmod(np.arange(n * m), n)
    if isinstance(R, Sequence) and len(R) and any(_is_sparse(r) for r in R):
        rewards = _stacked(list(R), n, m, "R")
    elif not _is_sparse(R) and np.ndim(R) == 3:
        rewards = _stacked(list(_numeric(R, "R")), n, m, "R")
    else:
        rewards = _mean_reward(_numeric(R, "R"), state, action, n, m)
    return _per_pair(_stacked(matrices, n, m, "P"), rewards, state, action)


def _stacked(matrices: list[Any], n: int, m: int, what: str) -> Any:
    """[a·n + s, s'] the matrices of all actions, dense or sparse."""
    if len(matrices) != m:
        raise MonMDPError(f"{what}: {len(matrices)} matrices for {m} actions")
    for a, matrix in enumerate(matrices):
        if matrix.shape != (n, n):
            raise MonMDPError(
                f"{what}: the matrix of action {a} has shape {matrix.shape}, not {(n, n)}"
            )
    if any(_is_sparse(matrix) for matrix in matrices):
        from scipy.sparse import vstack

        return vstack(matrices)
    return np.concatenate(matrices)


def _per_pair(
    P: Any, R: Any, s_indices: ArrayLike | None, a_indices: ArrayLike | None
) -> tuple[Columns, int, int]:
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
        s_of_row = np.array(frozen(s_indices, np.int64, (rows,), "s_indices"))
        a_of_row = np.array(frozen(a_indices, np.int64, (rows,), "a_indices"))
        if ((s_of_row < 0) | (s_of_row >= n) | (a_of_row < 0)).any():
            raise MonMDPError(
                f"s_indices must lie in 0 to {n - 1} and a_indices must be at least 0"
            )
    m = int(a_of_row.max()) + 1
    demand_room(PAIR * n * m, f"{n:,} states with {m:,} actions")
    if s_indices is not None and np.bincount(s_of_row * m + a_of_row).max() > 1:
        raise MonMDPError("s_indices and a_indices name a pair twice")
    row, successor, chance = _entries(P)
    if _is_sparse(R):
        if R.shape != (rows, n):
            raise MonMDPError(f"R: shape {(rows, n)} expected, got {R.shape}")
        reward = np.asarray(R.tocsr()[row, successor], dtype=np.float64).reshape(-1)
    else:
        rewards = _numeric(R, "R")
        if rewards.shape == (rows,):
            reward = rewards[row]
        elif rewards.shape == (rows, n) and rewards.shape != (n, m):
            reward = rewards[row, successor]
        else:
            reward = _mean_reward(rewards, s_of_row[row], a_of_row[row], n, m)
    return (s_of_row[row], a_of_row[row], successor, chance, reward), n, m


def _entries(matrix: Any) -> tuple[IntArray, IntArray, FloatArray]:
    """Row, column and value of every non-zero entry."""
    if _is_sparse(matrix):
        entries = matrix.tocoo()
        demand_room(TRANSITION * entries.nnz, f"P with {entries.nnz:,} entries")
        values = np.asarray(entries.data, dtype=np.float64)
        keep = values != 0
        row, column = entries.row[keep].astype(np.int64), entries.col[keep].astype(np.int64)
        return row, column, values[keep]
    n = int(np.count_nonzero(matrix))
    demand_room(TRANSITION * n, f"P with {n:,} entries")
    row, column = np.nonzero(matrix)
    return row, column, np.asarray(matrix[row, column], dtype=np.float64)


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
        given = np.asarray(values)
        if given.dtype.kind not in "fiub":
            raise ValueError(f"its type is {given.dtype}")
        return given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise MonMDPError(f"{what}: not an array of numbers ({error})") from None
