"""Conformance checks for worlds, monitors, Mon-MDPs and agents, ours and yours.

Each check raises `CheckError`, which lists everything that is wrong, or returns notes: things that
are allowed but that their author should know, such as states nobody can reach or rewards of which a
monitor shows a biased sample.

>>> from monmdp import testing, worlds, monitors
>>> testing.check_world(worlds.make("bottleneck"))
[]
>>> testing.check_monitor(monitors.make("ask"))
[]
"""

from __future__ import annotations

import copy
import functools
import pickle
import random
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from monmdp import agents
from monmdp.agents import AgentConfig, AgentFactory, Transition, is_python_agent
from monmdp.agents.stepwise import sees
from monmdp.api import train
from monmdp.envs import MonMDPEnv
from monmdp.errors import MonMDPError, told
from monmdp.experiment import streams
from monmdp.model import MDP, Monitor, MonMDP, join
from monmdp.model.arrays import ROW_SUM_TOLERANCE, BoolArray, FloatArray
from monmdp.planning import observability, remarks

__all__ = ["CheckError", "check_agent", "check_monitor", "check_monmdp", "check_world"]

TESTED_EVERY = 50
"""steps between two tests while an agent is tried out"""


class CheckError(AssertionError):
    """A check found something wrong; the message lists all of it."""

    def __init__(self, what: str, problems: list[str]) -> None:
        """`problems` are complete sentences."""
        super().__init__(f"{what}: " + "; ".join(problems))
        self.problems = problems


def check_world(mdp: MDP) -> list[str]:
    """Check a world: probabilities, indices, reward bounds, declarations; note what is odd.

    >>> from monmdp import testing, worlds
    >>> testing.check_world(worlds.grid_world("@.#$"))
    ["1 states can never be reached, for example '0,3'"]
    """
    if not isinstance(mdp, MDP):
        raise CheckError("world", [f"an MDP expected, got {type(mdp).__name__}"])
    sums = np.add.reduceat(mdp.probability, mdp.first[:-1])
    arrays = ("first", "successor", "probability", "reward", "terminates", "hidden", "start")
    frozen = {f"{of} can be written to": not getattr(mdp, of).flags.writeable for of in arrays}
    demands = {
        "a pair's outcomes do not sum to 1": (np.abs(sums - 1) <= ROW_SUM_TOLERANCE).all(),
        "an outcome has no chance": (mdp.probability > 0).all(),
        "a successor is no state": ((mdp.successor >= 0) & (mdp.successor < mdp.n_states)).all(),
        "the start distribution does not sum to 1": (abs(mdp.start.sum() - 1) <= ROW_SUM_TOLERANCE),
        "a reward lies outside [r_min, r_max]": not mdp.rewards_outside().any(),
        "there is not one label per state": len(mdp.state_labels) == mdp.n_states,
        "there is not one label per action": len(mdp.action_labels) == mdp.n_actions,
    }
    _demand(f"world {mdp.name!r}", demands | frozen)
    if pickle.loads(pickle.dumps(mdp)).reward.flags.writeable:
        raise CheckError(f"world {mdp.name!r}", ["an unpickled copy can be written to"])

    notes = []
    acted_from = _reachable_states(mdp)
    # A state that is only ever entered by an ending needs no way to act from it.
    entered = np.unique(mdp.successor[acted_from[mdp.pair_of_outcome // mdp.n_actions]])
    lost = ~acted_from
    lost[entered] = False
    if lost.any():
        example = mdp.state_labels[int(np.argmax(lost))]
        notes.append(f"{lost.sum()} states can never be reached, for example {example!r}")
    if not (mdp.terminates.any() or mdp.time_limit):
        notes.append("episodes never end: no outcome terminates and there is no time limit")
    return notes


def check_monitor(monitor: Monitor) -> list[str]:
    """Check a monitor on its own: distributions, probabilities, and that it can be bound.

    >>> from monmdp import Monitor, testing
    >>> blind = Monitor(["OFF"], ["NO-OP"], [1.0], [[[1.0]]], [[0.0]], [[0.0]])
    >>> testing.check_monitor(blind)
    ['it never shows any reward']
    """
    if not isinstance(monitor, Monitor):
        raise CheckError("monitor", [f"a Monitor expected, got {type(monitor).__name__}"])
    demands = {
        "a transition row is no distribution": _are_distributions(monitor.transition),
        "a probability of showing lies outside [0, 1]": _are_chances(monitor.show),
        "the start distribution is none": _are_distributions(monitor.start),
        "a monitor reward is not finite": np.isfinite(monitor.reward).all(),
    }
    notes = []
    if callable(monitor.pair_class) or callable(monitor.outcome_class):
        try:
            join(_small_world(), monitor)
        except MonMDPError as error:
            if error.__cause__ is not None:  # a callback of its own broke down
                demands[str(error)] = False
            else:
                notes.append(f"it does not fit every world: {error}")
    _demand(f"monitor {monitor.name!r}", demands)
    if not (monitor.show > 0).any():
        notes.append("it never shows any reward")
    return notes


def check_monmdp(monmdp: MonMDP, *, steps: int = 300, seed: int = 0) -> list[str]:
    """Check a Mon-MDP: both factors, joint probabilities, and that stepping it keeps its word.

    Steps the Gymnasium environment with random actions and compares every step with the tables:
    successors, rewards and endings that can happen, and truthful observation: what is shown is the
    true reward, and only what may be shown is.

    >>> from monmdp import make, testing
    >>> testing.check_monmdp(make("treasure-hunter", "ask"))
    ['not solvable: 1 pairs can never be observed']
    """
    if not isinstance(monmdp, MonMDP):
        raise CheckError("problem", [f"a MonMDP expected, got {type(monmdp).__name__}"])
    notes = check_world(monmdp.mdp) + check_monitor(monmdp.monitor)
    chance, joint = monmdp.observability(), np.arange(monmdp.n_states)
    back = monmdp.joint_state(*monmdp.split_state(joint))
    demands = {
        "a probability of seeing the reward lies outside [0, 1]": _are_chances(chance),
        "joint state indices do not round-trip": (back == joint).all(),
    }
    demands |= dict.fromkeys(_wrong_steps(monmdp, steps, seed), False)
    _demand(f"{monmdp.mdp.name}/{monmdp.monitor.name}", dict(sorted(demands.items())))

    seen = observability(monmdp)
    if seen.rho is None:
        notes.append("nothing is ever shown")
    elif not seen.solvable:
        notes.append(f"not solvable: {seen.never_observable.sum()} pairs can never be observed")
    return notes + remarks(monmdp)


def _demand(what: str, demands: Mapping[str, Any]) -> None:
    """Raise what is wrong."""
    if problems := _wrong(demands):
        raise CheckError(what, problems)


def _wrong(demands: Mapping[str, Any]) -> list[str]:
    """Return the sentences whose conditions do not hold."""
    return [sentence for sentence, holds in demands.items() if not holds]


def _are_distributions(rows: FloatArray) -> bool:
    sums = rows.sum(axis=-1)
    return bool((np.abs(sums - 1) <= ROW_SUM_TOLERANCE).all() and not (rows < 0).any())


def _are_chances(values: FloatArray) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())


def _wrong_steps(monmdp: MonMDP, steps: int, seed: int) -> set[str]:
    """Return what is wrong with a random walk in the Gymnasium environment."""
    mdp, monitor = monmdp.mdp, monmdp.monitor
    env = MonMDPEnv(monmdp, fill=-12345.0, expose_env_reward=True)
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    starts = mdp.start[observation["env"]] > 0 and monitor.start[observation["mon"]] > 0
    demands = {
        "a reset shows a reward": not info["reward_observed"],
        "an episode starts where the start distribution has no mass": starts,
    }
    wrong = set(_wrong(demands))
    for _ in range(steps):
        se, sm = observation["env"], observation["mon"]
        ae, am = int(rng.integers(mdp.n_actions)), int(rng.integers(monitor.n_actions))
        observation, reward, terminated, truncated, info = env.step({"env": ae, "mon": am})
        pair = se * mdp.n_actions + ae
        outcomes = slice(mdp.first[pair], mdp.first[pair + 1])
        possible = (
            (mdp.successor[outcomes] == observation["env"])
            & (mdp.reward[outcomes] == info["env_reward"])
            & (mdp.terminates[outcomes] == terminated)
        )
        moves = monitor.transition[monmdp.pair_class[pair], sm, am]
        can_be_shown = monitor.show[monmdp.outcome_class[outcomes][possible], sm, am] > 0
        shown, seen, paid = info["reward_observed"], info["proxy_reward"], info["monitor_reward"]
        demands = {
            "a step has an outcome that is not in the tables": possible.any(),
            "the monitor moved where it cannot": moves[observation["mon"]] > 0,
            "the reward shown is not the true one": not shown or seen == info["env_reward"],
            "something is shown for a hidden reward": shown or seen == env.fill,
            "a reward is shown that never can be": not shown or can_be_shown.any(),
            "the monitor reward is not the one of the table": paid == monitor.reward[sm, am],
            "the reward is not monitor reward plus proxy reward": reward == paid + seen,
        }
        wrong.update(_wrong(demands))
        if terminated or truncated:
            observation, info = env.reset()
    return wrong


def check_agent(
    agent: str | AgentConfig | type[AgentConfig] | AgentFactory,
    monmdp: MonMDP,
    *,
    steps: int = 300,
    seed: int = 0,
) -> list[str]:
    """Check an agent on a problem: sound actions and policies, no randomness but its own stream.

    For compiled agents, ours and variants of them, also: they compile, and do the same step by step
    in plain Python. An agent in plain Python is given as what makes it, a class or a function of
    (shape, rng), or of (view, rng) if it sees observations.

    >>> from monmdp import make, testing
    >>> testing.check_agent("monitored-mbie-eb", make("loop", "ask"))
    []
    """
    runs, actions = [], []
    before = _global_streams()
    try:
        found: Any = agents.find(agent, monmdp)
        keep = [steps] if isinstance(found, AgentConfig) else []
        for every in (TESTED_EVERY, TESTED_EVERY, steps):
            taken: list[Any] = []
            tried = found if isinstance(found, AgentConfig) else _recorded(found, taken)
            runs.append(train(monmdp, tried, steps, seed, every=every, snapshots=keep))
            actions.append(taken)
    except MonMDPError as error:
        raise CheckError("agent", [str(error)]) from None
    first, again, _ = runs
    policies = [run.policy.probability for run in runs if run.policy is not None]
    same = np.array_equal(policies[0], policies[1])
    for name in ("worst_case_return", "episodes", "observe_episodes", "rewards_seen"):
        same &= np.array_equal(first.curve[name], again.curve[name], equal_nan=True)
    same &= actions[0] == actions[1]
    as_rarely_tested = actions[0] == actions[2] and np.array_equal(policies[0], policies[2])
    changed = same and not as_rarely_tested
    only = "use only the random stream it is given"
    demands = {
        f"the same seed gives another run: {only}": same,
        "how often it is tested changes the run: test_policy must change nothing": not changed,
        f"it uses random or np.random: {only}": _global_streams() == before,
    }
    if isinstance(found, AgentConfig):
        stepwise = _stepwise_snapshot(found.for_training(steps), monmdp, steps, seed)
        for name, values in first.snapshots.items():
            alike = np.array_equal(values[0], stepwise[name])
            demands[f"{name} differs between compiled and stepwise training"] = alike
    _demand("agent", demands)
    return []


def _global_streams() -> list[str]:
    """The state of the random streams that belong to everybody."""
    return [repr(random.getstate()), repr(np.random.get_state(legacy=False))]  # noqa: NPY002


def _recorded(agent: Any, actions: list[Any]) -> Any:
    """The same factory; what its agents do is written down."""
    if is_python_agent(agent) or not callable(agent):
        return agent

    def factory(shape: Any, rng: Any) -> Any:
        with told("making it"):
            made = agent(shape, rng)
        if not is_python_agent(made):
            return made  # training says what it lacks

        def act(observation: dict[str, int]) -> Any:
            action = made.act(observation)
            actions.append(copy.copy(action))  # an agent may reuse its dictionary
            return action

        return SimpleNamespace(  # which looks methods up when they are called, as training does
            act=act,
            begin_episode=lambda: made.begin_episode(),
            update=lambda step: made.update(step),
            test_policy=lambda *seen: made.test_policy(*seen),
        )

    functools.update_wrapper(factory, getattr(agent, "func", agent), updated=())
    factory.__wrapped__ = agent  # type: ignore[attr-defined]  # whose signature is checked
    factory.sees = sees(agent)  # type: ignore[attr-defined]
    return factory


def _stepwise_snapshot(
    config: AgentConfig, monmdp: MonMDP, steps: int, seed: int
) -> dict[str, Any]:
    """What an agent has learnt after that many steps in the Gymnasium environment."""
    roles, told = streams(monmdp, seed), config.sees_hidden_rewards
    agent = agents.make(config, monmdp, seed=roles.agent)
    env = MonMDPEnv(monmdp, expose_env_reward=told)
    observation, over = env.reset(seed=roles.environment)[0], False
    agent.begin_episode()
    for _ in range(steps):
        if over:
            agent.begin_episode()
            observation, _ = env.reset()
        action = agent.act(observation)
        following, _, terminated, truncated, info = env.step(action)
        if told:
            agent.reveal(info["env_reward"])
        agent.update(Transition.from_step(observation, action, following, terminated, info))
        observation, over = following, terminated or truncated
    return config.snapshot(agent.state, monmdp.shape)


def _reachable_states(mdp: MDP) -> BoolArray:
    """[state] environment states in which one may come to act."""
    going = ~mdp.terminates
    source = mdp.pair_of_outcome[going] // mdp.n_actions
    target = mdp.successor[going]
    reached: BoolArray = mdp.start > 0
    while True:
        grown = reached.copy()
        grown[target[reached[source]]] = True
        if (grown == reached).all():
            return reached
        reached = grown


def _small_world() -> MDP:
    """A world with a button, a ⊥ outcome, a random reward and an ending."""
    outcomes = [
        (0, 0, 0, 1.0, 0.0, False, False),
        (0, 1, 1, 0.5, 1.0, False, False),
        (0, 1, 0, 0.5, 0.0, False, False),
        (1, 0, 0, 1.0, -1.0, False, True),
        (1, 1, 1, 1.0, 0.5, True, False),
    ]
    return MDP.from_outcomes(
        outcomes, name="small", n_states=2, n_actions=2, start=[1.0, 0.0], button=(0, 0)
    )
