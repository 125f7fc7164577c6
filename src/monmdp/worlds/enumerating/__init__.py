"""Any small deterministic environment as a world: all its states, found by trying everything.

The search goes breadth first from the start: it takes every action in every state that it finds,
and goes back after each. The result is exact, and has a table of what an agent sees in each state.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from monmdp.errors import MonMDPError, nearest, told
from monmdp.memory import demand_room
from monmdp.model.mdp import MDP, number, whole_number
from monmdp.worlds.enumerating.access import (
    Access,
    ChangesMoreError,
    CopiedToyText,
    Own,
    ToyText,
    layers,
)
from monmdp.worlds.enumerating.minigrid import CopiedMiniGrid, MiniGrid, is_minigrid
from monmdp.worlds.enumerating.search import Found, Search, Tell
from monmdp.worlds.importing import made_environment

LIMIT = 10_000
"""states, unless the user allows more"""
COPIES = 3
"""copies of the observations in memory: one by one, as a table, and in the MDP"""


class AliasedWarning(UserWarning):
    """Some states of a world look the same to an agent."""


class HiddenWarning(UserWarning):
    """What `hidden` says may not be what was meant."""


def from_environment(
    env: Any,
    *,
    snapshot: Callable[[Any], Any] | None = None,
    restore: Callable[[Any, Any], Any] | None = None,
    key: Callable[[Any], Hashable] | None = None,
    hidden: Callable[[Any, int, Any], bool] | None = None,
    reward: Callable[[Any, int, Any, float], float] | None = None,
    actions: Sequence[int | str] | str | None = None,
    button: tuple[int | str, int | str] | None = None,
    limit: int = LIMIT,
    r_min: float | None = None,
    r_max: float | None = None,
    time_limit: int | None = None,
    seed: int = 0,
    starts: int = 1,
    name: str | None = None,
    tell: Tell | None = None,
    **kwargs: Any,
) -> MDP:
    """Enumerate a deterministic Gymnasium environment: try every action in every state.

    States are numbered as they are found, breadth first, unless their keys are whole numbers, as in
    toy text: then in the order of these.

    An environment whose steps are random is refused, and so is one whose reward depends on the
    time, except MiniGrid's: there success pays 1 at any time. Every pair is tried twice, the second
    time after the state was reached in another way, if there is one; MiniGrid is watched instead.
    With `key` or chance, 1,000 steps follow in one go. What wrappers remember belongs to the state.

    Observations must be what ``observation_space`` declares. Arrays have its shape, and get its
    type if that changes no number; only real numbers are rounded to its precision.

    Args:
        env: an id such as ``"MiniGrid-DoorKey-5x5-v0"``, or a made environment; it must have a
            `Discrete` action space.
        snapshot: ``snapshot(env)`` returns what is needed to go back to a state. MiniGrid and toy
            text need none; any other environment is copied by default, which is slow.
        restore: ``restore(env, snapshot)`` goes back. If the environment counts its steps, set the
            clock here.
        key: ``key(env)`` returns a value that is equal for equal states and can be hashed. Default:
            the snapshot, or all that the environment holds.
        hidden: ``hidden(obs, action, next_obs)`` says whether no monitor but Full ever shows the
            reward of this step (⊥). Give `r_min`, too: that is what it is taken for.
        reward: ``reward(obs, action, next_obs, reward)`` returns the reward to put in its place.
        actions: those to keep, by number or name; default all.
        button: (state, action) that pushes the button of the Button monitor.
        limit: the most states there may be.
        r_min: least reward the environment may have; default the least that was found.
        r_max: largest.
        time_limit: steps after which episodes are truncated; default the environment's own.
        seed: of the reset.
        starts: number of resets, with seeds from `seed` on, each an equally likely start. Toy text
            starts as its own distribution says, unless this is more than 1.
        name: the world's name; default the id.
        tell: called a few times a second with a line that says how far it is.
        **kwargs: for `gymnasium.make`, with an id.

    >>> from monmdp import worlds
    >>> lake = worlds.from_environment("FrozenLake-v1", is_slippery=False, actions="DOWN,RIGHT")
    >>> lake, lake.observations.shape
    (<MDP 'FrozenLake-v1': 16 states, 2 actions>, (16, 16))
    """
    own, others = Own(snapshot, restore, key), {"hidden": hidden, "reward": reward, "tell": tell}
    for what, given in (own._asdict() | others).items():
        if given is not None and not callable(given):
            raise MonMDPError(f"{what}: a function expected, got {given!r}")
    if (snapshot is None) != (restore is None):
        raise MonMDPError("snapshot and restore go together")
    limit = whole_number(limit, "limit", at_least=1)
    r_min = None if r_min is None else number(r_min, "r_min")
    r_max = None if r_max is None else number(r_max, "r_max")
    seed, starts = whole_number(seed, "seed", 0), whole_number(starts, "starts", 1)
    made = made_environment(env, kwargs, from_environment)
    for space in ("action_space", "observation_space"):
        if getattr(made, space, None) is None:
            kind = type(made.unwrapped).__name__
            raise MonMDPError(f"{kind} has no {space}; set it to one of gymnasium.spaces")
    spec = getattr(made, "spec", None)
    label = name or getattr(spec, "id", None) or type(made.unwrapped).__name__
    try:
        with told(label):
            found, access, chosen = _searched(made, own, actions, reward, limit, seed, starts, tell)
            mdp = _mdp(
                found,
                access,
                chosen,
                hidden,
                name=label,
                r_min=r_min,
                r_max=r_max,
                time_limit=_own_limit(made, access) if time_limit is None else time_limit,
                button=button,
            )
    finally:
        if isinstance(env, str):
            made.close()
    warn_of_aliases(mdp)
    return mdp


def named_environment(
    env: str,
    *,
    actions: str | None = None,
    limit: int = LIMIT,
    r_min: float | None = None,
    r_max: float | None = None,
    time_limit: int | None = None,
    seed: int = 0,
    starts: int = 1,
    tell: Any = None,
    **kwargs: Any,
) -> MDP:
    """`from_environment` with the parameters that can be written in a command."""
    return from_environment(
        env,
        actions=actions,
        limit=limit,
        r_min=r_min,
        r_max=r_max,
        time_limit=time_limit,
        seed=seed,
        starts=starts,
        tell=tell,
        **kwargs,
    )


def _own_limit(made: Any, access: Access) -> int | None:
    """Steps after which the environment, or Gymnasium's wrapper around it, ends an episode."""
    wrappers = [layer._max_episode_steps for layer in layers(made) if isinstance(layer, TimeLimit)]
    limits = [access.time_limit(), *wrappers]
    return min((limit for limit in limits if limit is not None), default=None)


def _searched(
    made: Any,
    own: Own,
    actions: Any,
    reward: Callable[[Any, int, Any, float], float] | None,
    limit: int,
    seed: int,
    starts: int,
    tell: Tell | None,
) -> tuple[Found, Access, list[tuple[int, str]]]:
    """Find all states; also return how, and the numbers and names of the actions."""
    kinds: list[type[Access]] = [Access]
    if is_minigrid(made.unwrapped):
        kinds = [MiniGrid, CopiedMiniGrid]
    elif ToyText.fits(made.unwrapped):
        kinds = [ToyText, CopiedToyText]
    untouched = _copied(made) if len(kinds) > 1 else made
    for kind in kinds:
        access = kind(made, own)
        chosen = _chosen(made.action_space, access, actions)
        try:
            search = Search(access, chosen, limit=limit, reward=reward, tell=tell)
            return search.run(seed, starts), access, chosen
        except ChangesMoreError:
            made = untouched  # a wrapper may remember the first attempt, even after a reset
        finally:
            access.finish()
    raise AssertionError("the last kind copies everything")


def _copied(made: Any) -> Any:
    """Return a copy of an environment, or itself if that cannot be."""
    try:
        return copy.deepcopy(made)
    except Exception:  # environments hold what they like
        return made


def _chosen(space: Any, access: Access, given: Any) -> list[tuple[int, str]]:
    """Numbers and names of the actions to keep."""
    if not isinstance(space, Discrete):
        raise MonMDPError(f"a Discrete action space is needed, this one is {space}")
    first, names = int(space.start), access.actions(int(space.n))
    every = [(first + a, label) for a, label in enumerate(names)]
    if given is None:
        return every
    wanted = given.split(",") if isinstance(given, str) else given
    if isinstance(wanted, np.ndarray):
        wanted = wanted.tolist()
    if not isinstance(wanted, Sequence) or not wanted:
        wanted = [wanted]
    by_name = {label.lower(): (number, label) for number, label in every}
    by_name = {str(number): (number, label) for number, label in every} | by_name
    chosen = []
    for one in wanted:
        found = by_name.get(str(one).strip().lower())
        if found is None:
            raise MonMDPError(f"unknown action {one!r}{nearest(str(one), [n for _, n in every])}")
        if found in chosen:
            raise MonMDPError(f"action {one!r} is given twice")
        chosen.append(found)
    return chosen


def _table(rows: list[NDArray[Any]]) -> NDArray[Any]:
    """[state, ...] what is observed."""
    first = rows[0]
    for s, row in enumerate(rows):
        if row.shape != first.shape:
            raise MonMDPError(
                f"observations of one shape are needed; that of state 0 is {first.shape}, that of "
                f"state {s} is {row.shape}"
            )
    what = f"observations of shape {first.shape} of {len(rows):,} states"
    demand_room(COPIES * len(rows) * first.nbytes, what)
    return np.stack(rows)


def _mdp(
    found: Found,
    access: Access,
    actions: list[tuple[int, str]],
    hidden: Callable[[Any, int, Any], bool] | None,
    **fields: Any,
) -> MDP:
    """Put it all together; in a state where an episode is over nothing happens any more."""
    seen = found.observations
    unseen = [False] * len(found.steps)
    if hidden is not None:
        asked = [(seen[s], actions[a][0], seen[t]) for s, a, t, _, _ in found.steps]
        with told("hidden"):
            unseen, again = ([_yes_or_no(hidden(*of)) for of in asked] for _ in range(2))
        if unseen != again:
            raise MonMDPError("hidden does not say the same when it is asked again: is it random?")
    rewards = [reward for _, _, _, reward, _ in found.steps]
    low = min(rewards) if fields["r_min"] is None else fields["r_min"]
    high = max(rewards) if fields["r_max"] is None else fields["r_max"]
    _warn_of_hidden(unseen, hidden, low, fields["r_min"])
    nothing = min(max(0.0, low), high)  # within the bounds, which it is not to widen
    outcomes = [
        (s, a, t, 1.0, reward, ends, bottom)
        for (s, a, t, reward, ends), bottom in zip(found.steps, unseen, strict=True)
    ]
    outcomes += [
        (s, a, s, 1.0, nothing, True, False)
        for s, ended in enumerate(found.ended)
        if ended
        for a in range(len(actions))
    ]
    return MDP.from_outcomes(
        outcomes,
        n_states=len(seen),
        n_actions=len(actions),
        start=found.start,
        action_labels=[label for _, label in actions],
        observations=_table(found.rows),
        **access.fields(found.notes),
        **fields | {"r_min": low, "r_max": high},
    )


def _yes_or_no(answer: Any) -> bool:
    if not isinstance(answer, bool | np.bool_):
        raise MonMDPError(f"hidden must return True or False, got {answer!r}")
    return bool(answer)


def _warn_of_hidden(unseen: list[bool], hidden: Any, low: float, given: float | None) -> None:
    told = None
    if hidden is not None and not any(unseen):
        told = "hidden is True of no step, so nothing is ⊥"
    elif any(unseen) and given is None:
        told = (
            f"rewards that are never shown are taken for r_min = {low:g}, the least reward that "
            "was found; give r_min=… if they may be less"
        )
    if told is not None:
        warnings.warn(told, HiddenWarning, stacklevel=4)


def lookalikes(mdp: MDP) -> list[tuple[int, ...]]:
    """Return the groups of states that look the same to an agent, each of two states at least.

    >>> from monmdp import worlds
    >>> worlds.lookalikes(worlds.from_environment("FrozenLake-v1", is_slippery=False))
    []
    """
    if mdp.observations is None:
        return []
    groups: dict[bytes, list[int]] = {}
    for s, row in enumerate(mdp.observations):
        groups.setdefault(row.tobytes(), []).append(s)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def warn_of_aliases(mdp: MDP) -> None:
    """Warn if agents that see observations cannot tell all states apart in which they act."""
    if mdp.observations is None:
        return
    acting = (mdp.start > 0).copy()
    acting[mdp.successor[~mdp.terminates & (mdp.probability > 0)]] = True
    groups = [[s for s in group if acting[s]] for group in lookalikes(mdp)]
    groups = [group for group in groups if len(group) > 1]
    if groups:
        one, other = (mdp.state_labels[s] for s in groups[0][:2])
        n_acting = int(acting.sum())
        distinct = n_acting - sum(len(group) - 1 for group in groups)
        warnings.warn(
            f"{mdp.name}: {n_acting:,} states to act in, but only {distinct:,} different "
            "observations; "
            f"{one!r} and {other!r} look the same, for example. An agent that sees observations "
            "cannot tell them apart",
            AliasedWarning,
            stacklevel=3,
        )
