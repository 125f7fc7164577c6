"""What a policy does in every joint state, whether it is a table, an agent, or a function.

A network is a function of observations. It is asked in batches: ``{"env": …, "mon": [k]}``, where
"env" is `MDP.observations` of k states, [k, ...], or their numbers, [k], if the world has no such
table. A `view` translates a batch into what the network takes. A model with an `observation_space`,
as those of Stable-Baselines3 have, usually needs no view; see `view_for`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from monmdp.agents.stepwise import observations_of
from monmdp.errors import MonMDPError, told
from monmdp.experiment.policy import Policy
from monmdp.experiment.training import Run
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray, as_array, first_index, first_true
from monmdp.planning.policy_evaluation import checked_policy

BATCH = 4096
"""joint states that a network is asked about at a time"""
NEARLY = 1e-4
"""how far probabilities of less than 64 bits may be from adding up to 1; they are normalised"""


class Batch(dict[str, NDArray[Any]]):
    """{"env": [k, ...], "mon": [k]}, and which k joint states these are."""

    def __init__(self, states: IntArray, **parts: NDArray[Any]) -> None:
        """Keep the numbers of the joint states beside what is observed in them."""
        super().__init__(**parts)
        self.states = states


View = Callable[[Batch], Any]
"""translates a batch into what a network takes"""


def state_name(problem: MonMDP, s: int) -> str:
    """Name a joint state; the monitor's state is left out if the monitor has only one."""
    se, sm = divmod(int(s), problem.monitor.n_states)
    watched = f", monitor {problem.monitor.states[sm]}" if problem.monitor.n_states > 1 else ""
    return f"{problem.mdp.state_labels[se]}{watched}"


def action_name(problem: MonMDP, a: int) -> str:
    """Name a joint action; the monitor's action is left out if the monitor has only one."""
    ae, am = divmod(int(a), problem.monitor.n_actions)
    asked = f" + {problem.monitor.actions[am]}" if problem.monitor.n_actions > 1 else ""
    return f"{problem.mdp.action_labels[ae]}{asked}"


def observed(problem: MonMDP) -> Iterator[tuple[slice, Batch]]:
    """Yield what is observed in all joint states, a batch at a time."""
    table = problem.mdp.observations
    for begin in range(0, problem.n_states, BATCH):
        states = slice(begin, min(begin + BATCH, problem.n_states))
        numbers = np.arange(states.start, states.stop)
        se, sm = problem.split_state(numbers)
        yield states, Batch(numbers, env=se if table is None else table[se], mon=sm)


def read_policy(problem: MonMDP, policy: Any, view: View | None = None) -> FloatArray:
    """Return [s, a] the probabilities of a policy of any kind, checked."""
    if isinstance(policy, Run):
        if policy.policy is None:
            raise MonMDPError("this run has not kept its policy")
        policy = policy.policy
    if isinstance(policy, Policy):
        policy.check_fits(problem)
        return policy.probability
    if isinstance(policy, type):
        raise MonMDPError(f"policy: {policy.__name__} is a class; make an object of it first")
    if hasattr(policy, "test_policy"):
        return _distributions(problem, _test_policy(problem, policy))
    if hasattr(policy, "predict"):
        return _one_hot(problem, _predicted(problem, policy, view))
    if callable(policy):
        return _asked(problem, policy, view)
    return _of_array(problem, as_numbers(policy, "policy"))


def read_values(problem: MonMDP, values: Any, view: View | None = None) -> FloatArray:
    """Return the values [s], or action values [s, a], of a table or of a function, checked."""
    if callable(values):
        given = _collected(problem, lambda batch: _ask(values, batch, view), "values")
    else:
        given = as_numbers(values, "values")
    S, A = problem.n_states, problem.n_actions
    if given.shape == (S, 1) and A > 1:  # as value networks answer
        given = given[:, 0]
    if given.shape not in ((S,), (S, A)):
        raise MonMDPError(
            f"values: shape [s] = ({S},) or [s, a] = ({S}, {A}) expected, got {given.shape}"
        )
    array = given.astype(np.float64)
    if not np.isfinite(array).all():
        index = first_index(~np.isfinite(array))
        where = state_name(problem, index[0])
        raise MonMDPError(f"values: {array[index]} in state {where}; finite numbers expected")
    return array


def as_numbers(thing: Any, what: str) -> NDArray[Any]:
    """Return an array of numbers, also from a tensor; refuse anything else."""
    if hasattr(thing, "detach"):
        thing = thing.detach().cpu().numpy()
    array = as_array(thing, what)
    if array.dtype.kind not in "fiub":
        raise MonMDPError(f"{what}: numbers expected, got {type(thing).__name__} {thing!r:.60}")
    return array


def view_for(space: Any, problem: MonMDP) -> View:
    """Return the view for the observation space of one of the usual wrappers.

    A `Dict` of "env" and "mon" is what an environment shows as it is, a `Discrete` space is that of
    `JointDiscrete`, and a `Box` that of Gymnasium's `FlattenObservation`; if the monitor has only
    one state, a `Box` may also be the environment's own. In a world with a table of observations an
    environment may show the table or the numbers of the states: the space says which.
    """
    table = problem.mdp.observations
    n_se, n_sm = problem.mdp.n_states, problem.monitor.n_states
    if isinstance(space, spaces.Dict):
        more = sorted({*space.spaces} - {"env", "mon"})
        if {"reward_observed", "proxy_reward"} & {*more}:
            raise MonMDPError(
                "its actions depend on the last reward (ObserveRewardMask), so it is not a "
                "function of the joint state; view=… can fix the mask: lambda batch: {**batch, …}"
            )
        if not more and {*space.spaces} == {"env", "mon"}:
            of_env = space.spaces["env"]
            if table is not None and isinstance(of_env, spaces.Discrete) and of_env.n == n_se:
                return lambda batch: {"env": batch.states // n_sm, "mon": batch["mon"]}
            _check_within(of_env, problem)
            return lambda batch: batch
    if isinstance(space, spaces.Discrete) and int(space.n) == problem.n_states:
        first = int(space.start)
        return lambda batch: batch.states + first
    if isinstance(space, spaces.Box):
        if table is not None and n_sm == 1 and space.shape == table.shape[1:]:
            _check_within(space, problem)
            return lambda batch: batch["env"]
        if table is not None and space.shape == (int(np.prod(table.shape[1:])) + n_sm,):
            return lambda batch: _flattened(batch["env"], batch["mon"], n_sm, space.dtype)
        if space.shape == (n_se + n_sm,):
            each = np.eye(n_se, dtype=space.dtype)
            return lambda batch: _flattened(
                each[batch.states // n_sm], batch["mon"], n_sm, space.dtype
            )
    raise MonMDPError(
        f"observations {space} do not tell how they come from the joint state of "
        f"{problem.mdp.name} / {problem.monitor.name} ({problem.shape}); say it with view=…, a "
        'function of {"env": …, "mon": …}'
    )


def model_view(model: Any, problem: MonMDP, view: View | None) -> View:
    """Return the view of a model of Stable-Baselines3, or of something like one.

    What a `VecNormalize` around its environment does to observations comes last.
    """
    seen = view_for(getattr(model, "observation_space", None), problem) if view is None else view
    scaling = normalising(model)
    return seen if scaling is None else lambda batch: scaling.normalize_obs(seen(batch))


def normalising(model: Any) -> Any:
    """Return the `VecNormalize` around the environment of a model; None if there is none."""
    find = getattr(model, "get_vec_normalize_env", None)
    return None if find is None else find()


def _check_within(space: Any, problem: MonMDP) -> None:
    """Refuse a space that is not the table's: something changed the observations on the way."""
    table = problem.mdp.observations
    if table is None:
        fits = isinstance(space, spaces.Discrete) and int(space.n) == problem.mdp.n_states
        are = f"the numbers of {problem.mdp.n_states} states"
    else:
        fits = isinstance(space, spaces.Box) and space.shape == table.shape[1:]
        fits = fits and bool((table >= space.low).all() and (table <= space.high).all())
        are = f"arrays of shape {table.shape[1:]} with numbers from {table.min()} to {table.max()}"
    if not fits:
        raise MonMDPError(
            f"the model takes {space}, but the observations of {problem.mdp.name} are {are}; "
            "translate them with view=…"
        )


def _flattened(env: NDArray[Any], mon: NDArray[Any], n_sm: int, dtype: Any) -> NDArray[Any]:
    """As Gymnasium flattens a Dict: arrays are laid out, numbers become one-hot vectors."""
    flat = env.reshape(len(env), -1)
    return np.concatenate([flat, np.eye(n_sm)[mon]], axis=1).astype(dtype)


def _ask(function: Callable[..., Any], batch: Batch, view: View | None) -> Any:
    return function(batch if view is None else view(batch))


def _test_policy(problem: MonMDP, agent: Any) -> Any:
    """What an agent would do if it stopped learning."""
    with told("test_policy"):  # of an agent made for another problem, say
        if getattr(agent, "sees", None) != "observations":
            return agent.test_policy()
        return agent.test_policy(observations_of(problem))


def _predicted(problem: MonMDP, model: Any, view: View | None) -> IntArray:
    """[s] the joint actions that `predict(observation, deterministic=True)` says."""
    space = getattr(model, "action_space", None)
    if isinstance(space, spaces.Discrete):
        _demand_actions(problem, int(space.n))
    seen, parts = model_view(model, problem, view), []
    for states, batch in observed(problem):
        said = model.predict(seen(batch), deterministic=True)
        actions = as_numbers(said[0] if isinstance(said, tuple) else said, "predict")
        parts.append(_joint(problem, actions, states))
    return np.concatenate(parts)


def _asked(problem: MonMDP, policy: Callable[..., Any], view: View | None) -> FloatArray:
    """[s, a] what a function says: joint actions, a dictionary of them, or probabilities."""
    pi = np.zeros((problem.n_states, problem.n_actions))
    for states, batch in observed(problem):
        pi[states] = _answer(problem, _ask(policy, batch, view), states)
        if states.start == 0:
            again = _answer(problem, _ask(policy, batch, view), states)
            if not np.allclose(pi[states], again, atol=NEARLY, equal_nan=True):
                raise MonMDPError(
                    "policy: it answers differently when it is asked twice, so one answer says "
                    "little; let it return the probabilities [s, a] that it draws from"
                )
    return _distributions(problem, pi)


def _answer(problem: MonMDP, said: Any, states: slice) -> NDArray[Any]:
    """[state, a] what is said of a batch, as probabilities."""
    if not isinstance(said, Mapping):
        said = as_numbers(said, "policy")
        if said.shape == (states.stop - states.start, problem.n_actions):
            return _nearly_normalised(said)
    return _one_hot(problem, _joint(problem, said, states))


def _of_array(problem: MonMDP, given: NDArray[Any]) -> FloatArray:
    if given.ndim == 1:
        return _one_hot(problem, _joint(problem, given, slice(0, problem.n_states)))
    _demand_columns(problem, given, problem.n_states)
    return _distributions(problem, _nearly_normalised(given))


def _demand_actions(problem: MonMDP, n: int) -> None:
    """Refuse a policy for another number of joint actions."""
    if n != problem.n_actions:
        mdp, monitor = problem.mdp, problem.monitor
        raise MonMDPError(
            f"the policy has {n} actions, and {mdp.name} / {monitor.name} has {problem.n_actions}: "
            f"{mdp.n_actions} of the world for each of {monitor.n_actions} of the monitor"
        )


def _demand_columns(problem: MonMDP, said: NDArray[Any], n: int) -> None:
    """Refuse probabilities for another number; two numbers a state may be meant as aᵉ and aᵐ."""
    if said.ndim == 2 and len(said) == n and said.shape[1] > 2:
        _demand_actions(problem, said.shape[1])


def _one_hot(problem: MonMDP, joint: IntArray) -> FloatArray:
    return np.eye(problem.n_actions)[joint]


def _joint(problem: MonMDP, said: Any, states: slice) -> IntArray:
    """[state] joint actions, from numbers, pairs (aᵉ, aᵐ) or a dictionary of both."""
    n, n_am = states.stop - states.start, problem.monitor.n_actions
    if isinstance(said, Mapping):
        if {*said} != {"env", "mon"}:
            raise MonMDPError(f'actions: {{"env": …, "mon": …}} expected, got keys {[*said]}')
        parts = [as_numbers(said[of], "actions").reshape(-1) for of in ("env", "mon")]
        if {len(part) for part in parts} != {n}:
            got = " and ".join(f"{len(part)}" for part in parts)
            raise MonMDPError(f"policy: {n} actions of each kind expected, got {got}")
        said = np.stack(parts, axis=1)
    if said.dtype.kind not in "iu":
        _demand_columns(problem, said, n)
        raise MonMDPError(
            f"policy: whole numbers expected, one joint action for each state, got {said.dtype} of "
            f"shape {said.shape}; probabilities have the shape [s, a]"
        )
    if said.shape == (n, 2):
        sizes = np.array([problem.mdp.n_actions, n_am])
        wrong = ((said < 0) | (said >= sizes)).any(axis=1)
        joint = said[:, 0] * n_am + said[:, 1]
    elif said.shape in ((n,), (n, 1)):
        joint = said.reshape(-1)
        wrong = (joint < 0) | (joint >= problem.n_actions)
    else:
        raise MonMDPError(
            f"policy: {n} actions for {n} states, or probabilities [{n}, {problem.n_actions}] "
            f"expected, got shape {said.shape}"
        )
    if (s := first_true(wrong)) is not None:
        raise MonMDPError(
            f"policy: action {said[s].tolist()} in state "
            f"{state_name(problem, states.start + s)}; there are {problem.n_actions} joint actions "
            f"aᵉ·{n_am} + aᵐ, from 0"
        )
    whole: IntArray = joint.astype(np.int64)
    return whole


def _nearly_normalised(pi: NDArray[Any]) -> NDArray[Any]:
    """Probabilities of a network in 64 bits: those of 32 add up to 1 only nearly."""
    if pi.dtype.kind != "f" or pi.dtype.itemsize >= 8:
        return pi
    wide = pi.astype(np.float64)
    total = wide.sum(axis=-1, keepdims=True)
    return np.where(np.abs(total - 1) <= NEARLY, wide / np.where(total == 0, 1.0, total), wide)


def _distributions(problem: MonMDP, pi: Any) -> FloatArray:
    """Check that these are probabilities."""
    try:
        checked = checked_policy(problem, pi)
    except MonMDPError as error:
        if "distribution" not in str(error):
            raise
        raise MonMDPError(
            f"{error}; of action values take the argmax, of logits the softmax"
        ) from None
    return checked.reshape(problem.n_states, problem.n_actions)


def _collected(problem: MonMDP, function: Callable[[Batch], Any], what: str) -> NDArray[Any]:
    """What a function says of all states, batch after batch."""
    parts = []
    for states, batch in observed(problem):
        part, n = as_numbers(function(batch), what), states.stop - states.start
        if part.ndim == 0 or len(part) != n:
            raise MonMDPError(
                f"{what}: an answer for each of {n} states expected, got shape {part.shape}"
            )
        parts.append(part)
    return np.concatenate(parts)
