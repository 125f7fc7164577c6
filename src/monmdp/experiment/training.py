"""`train`: one run of one agent on one problem, for one seed."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from monmdp import agents
from monmdp.agents import AgentConfig, AgentFactory, PythonAgent, is_python_agent
from monmdp.agents.contract import reveal, test_policy
from monmdp.agents.stepwise import Shell
from monmdp.compiling import compiled, implements
from monmdp.errors import MonMDPError
from monmdp.experiment.evaluation import (
    SCORES,
    Chances,
    chances,
    checked_limit,
    evaluate,
    own_tables,
)
from monmdp.experiment.loop import CLOCK, COUNTERS, LEDGER, open_ledger, run
from monmdp.experiment.policy import EvaluationKind, Policy, checked_evaluation
from monmdp.experiment.streams import fingerprint, streams
from monmdp.files import read_archive, write_archive
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.dynamics import Tables
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import Shape
from monmdp.planning.factors import checked_problem
from monmdp.planning.observability import observability
from monmdp.planning.policy_iteration import checked_gamma

FORMAT = "monmdp-run-2"
EVERY = 100
"""training steps between two checkpoints, as in the paper"""
EPISODES = 100
"""episodes that Monte Carlo evaluation draws at a checkpoint, as in the paper"""

MOST_TESTS = 10_000_000
"""tests that a run may have; their scores are kept in memory"""
BUFFER = 1_000_000
"""probabilities of policies that wait for their test"""

Progress = Callable[[int], None]
"""told the number of steps done so far"""


@dataclass(frozen=True, eq=False)
class Run:
    """What came out of one run.

    >>> import monmdp
    >>> run = monmdp.train(monmdp.make("loop", "ask"), "monitored-mbie-eb", 1000, snapshots=2)
    >>> run.step[:3].tolist(), len(run.curve["episode_return"])
    ([0, 100, 200], 10)
    >>> run.snapshot_steps.tolist(), run.snapshots["q_opt"].shape
    ([500, 1000], (2, 9, 10))
    >>> run.save("run.npz")
    >>> monmdp.experiment.Run.load("run.npz").seed
    0
    """

    settings: Mapping[str, Any]
    """world, monitor, problem (its fingerprint), agent, parameters, steps, every, evaluation, …"""
    seed: int
    step: IntArray = field(repr=False)
    """[checkpoint] training steps done"""
    curve: Mapping[str, FloatArray] = field(repr=False)
    """column -> [checkpoint]"""
    policy: Policy = field(repr=False)
    """the test policy at the end"""
    snapshot_steps: IntArray = field(repr=False)
    """[snapshot] training steps done"""
    snapshots: Mapping[str, Any] = field(repr=False)
    """name -> [snapshot, …] counts and action values of the agent; for the names see its config"""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it into one ``.npz`` file, whole or not at all."""
        meta = {
            "format": FORMAT,
            "settings": self.settings,
            "seed": self.seed,
            "shape": list(self.policy.shape),
            "origin": dict(self.policy.origin),
        }
        arrays: dict[str, Any] = {f"curve_{name}": values for name, values in self.curve.items()}
        arrays |= {f"snapshot_{name}": values for name, values in self.snapshots.items()}
        arrays |= {"step": self.step, "snapshot_steps": self.snapshot_steps}
        write_archive(path, meta, arrays | {"policy": self.policy.probability})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """Read what `save` wrote."""
        meta, arrays = read_archive(path, "a file written by Run.save")
        if meta.get("format") != FORMAT:
            raise MonMDPError(f"{path}: no run, or one of another version")
        step, snapshot_steps = arrays.pop("step"), arrays.pop("snapshot_steps")
        return cls(
            settings=meta["settings"],
            seed=meta["seed"],
            step=step,
            curve=_beginning(arrays, "curve_"),
            policy=Policy(Shape(*meta["shape"]), arrays["policy"], meta["origin"]),
            snapshot_steps=snapshot_steps,
            snapshots=_beginning(arrays, "snapshot_"),
        )


def _beginning(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The arrays whose names begin with a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


@dataclass(frozen=True, eq=False)
class Task:
    """A checked request to train: everything but the seed."""

    monmdp: MonMDP
    agent: AgentConfig | AgentFactory | PythonAgent
    steps: int
    every: int
    eval_episodes: int
    """drawn at a checkpoint; 0 when the evaluation is exact"""
    gamma: float
    snapshot_steps: tuple[int, ...]
    settings: Mapping[str, Any]
    tables: Tables = field(repr=False)
    chances: Chances = field(repr=False)
    n_observable: int
    """environment pairs whose reward can be seen"""


def prepare(
    monmdp: MonMDP,
    agent: str | AgentConfig | AgentFactory | PythonAgent,
    steps: int,
    *,
    evaluation: EvaluationKind = "exact",
    every: int = EVERY,
    episodes: int = EPISODES,
    snapshots: int | Iterable[int] = 0,
    snapshot_seed: int | None = None,
    gamma: float | None = None,
    made_with: Mapping[str, Any] | None = None,
) -> Task:
    """Check everything that `train` is given, before any work starts.

    `made_with` are the parameters of world and monitor, for the record. With a `snapshot_seed`
    `train_seeds` keeps snapshots of this seed alone.

    >>> import monmdp
    >>> task = monmdp.experiment.prepare(monmdp.make("loop", "ask"), "monitored-mbie-eb", 1000)
    >>> task.settings["evaluation"], task.settings["gamma"], task.settings["time_limit"]
    ('exact', 0.99, 50)
    """
    mdp, monitor = checked_problem(monmdp).mdp, monmdp.monitor
    agent = agents.find(agent, monmdp)
    if isinstance(agent, AgentConfig):
        agent.check_model(monmdp)
    steps = whole_number(steps, "steps", at_least=1)
    if isinstance(agent, AgentConfig):
        agent = agent.for_training(steps)
    who = _identity(agent)
    every = whole_number(every, "every", at_least=1)
    if steps // every > MOST_TESTS:
        raise MonMDPError(
            f"{steps:,} steps with a test every {every:,} are {steps // every:,} tests; the limit "
            f"is {MOST_TESTS:,}, so test more rarely (every=…)"
        )
    eval_episodes = checked_evaluation(evaluation, episodes)
    gamma = checked_gamma(who.gamma if gamma is None else gamma)
    limit = checked_limit(monmdp)
    at = _snapshot_steps(snapshots, steps)
    if at and not isinstance(agent, AgentConfig):
        raise MonMDPError("snapshots are taken of the agents of this package only")
    seen = observability(monmdp)
    reached = int(np.any(seen.reachable, axis=1).sum()) * mdp.n_actions
    settings: dict[str, Any] = {
        "world": mdp.name,
        "monitor": monitor.name,
        "problem": fingerprint(monmdp),
        "problem_parameters": {k: _plain(v) for k, v in (made_with or {}).items()},
        "time_limit": limit,
        "agent": who.name,
        "parameters": {key: _plain(value) for key, value in who.parameters.items()},
        "code": who.code,
        "told_hidden_rewards": isinstance(agent, AgentConfig) and agent.sees_hidden_rewards,
        "steps": steps,
        "every": every,
        "evaluation": evaluation,
        "episodes": eval_episodes,
        "gamma": gamma,
        "snapshots": list(at),
    }
    if at and snapshot_seed is not None:
        # The key is there only if it says something: settings name folders of runs.
        settings["snapshot_seed"] = whole_number(snapshot_seed, "snapshot_seed", at_least=0)
    return Task(
        monmdp=monmdp,
        agent=agent,
        steps=steps,
        every=every,
        eval_episodes=eval_episodes,
        gamma=gamma,
        snapshot_steps=at,
        settings=settings,
        tables=own_tables(monmdp),
        chances=chances(monmdp, seen),
        n_observable=reached - int(seen.never_observable.sum()),
    )


class _Identity(NamedTuple):
    """Who an agent is, for the record."""

    name: str
    parameters: Mapping[str, Any]
    code: str | None
    """a hash of its module, for agents that are not of this package"""
    gamma: Any = 0.99


def _identity(agent: Any) -> _Identity:
    """Return who an agent is, or say what would be one."""
    if isinstance(agent, AgentConfig):
        parameters = agent.hyper_parameters()
        if agents.KINDS.get(agent.name) is type(agent):
            return _Identity(agent.name, parameters, None, agent.gamma)
        return _Identity(_name_of(type(agent)), parameters, _code_of(type(agent)), agent.gamma)
    if is_python_agent(agent):
        kind = type(agent)
        return _Identity(_name_of(kind), {}, _code_of(kind), getattr(agent, "gamma", 0.99))
    if callable(agent):
        factory = agent.func if isinstance(agent, partial) else agent
        parameters = dict(agent.keywords) if isinstance(agent, partial) else {}
        gamma = parameters.get("gamma", 0.99)
        return _Identity(_name_of(factory), parameters, _code_of(factory), gamma)
    raise TypeError(f"{agent!r} is no agent")


def _snapshot_steps(snapshots: int | Iterable[int], steps: int) -> tuple[int, ...]:
    """Return the steps after which to keep a snapshot: so many, evenly spaced, or those given."""
    if not isinstance(snapshots, Iterable):
        n = whole_number(snapshots, "snapshots", at_least=0)
        if n > steps:
            raise MonMDPError(f"snapshots: {n} of {steps} steps; at most one a step")
        return tuple(round(steps * (i + 1) / n) for i in range(n))
    at = tuple(sorted({whole_number(t, "snapshots", at_least=0) for t in snapshots}))
    if at and at[-1] > steps:
        raise MonMDPError(f"snapshots: step {at[-1]} is after the last one, {steps}")
    return at


def snapshots_from_start(n: int, steps: int) -> tuple[int, ...]:
    """Return the steps of `n` snapshots up to the end, and of one at the start.

    They lie the closer together the earlier they are, at steps·(i/n)²: most is learnt early.
    """
    if not _snapshot_steps(n, steps):
        return ()
    return (0, *(max(i, -(-steps * i * i // (n * n))) for i in range(1, n + 1)))


def train(
    monmdp: MonMDP,
    agent: str | AgentConfig | AgentFactory | PythonAgent,
    steps: int,
    seed: int = 0,
    *,
    evaluation: EvaluationKind = "exact",
    every: int = EVERY,
    episodes: int = EPISODES,
    snapshots: int | Iterable[int] = 0,
    gamma: float | None = None,
    progress: Progress | None = None,
) -> Run:
    """Train an agent and test it on the way.

    Args:
        monmdp: the problem.
        agent: a name, a configuration, or an agent of your own in plain Python: a function or class
            called with (shape, rng), or a finished object. Agents of this package run compiled.
        steps: how many steps to train.
        seed: of all randomness; the streams depend on it and on the problem, see `streams`.
        evaluation: ``exact``, or ``monte-carlo`` as in the paper. Neither changes training.
        every: training steps between checkpoints; the first is at step 0.
        episodes: how many episodes Monte Carlo draws at a checkpoint.
        snapshots: how many snapshots of counts and action values to keep, evenly spaced up to the
            end, or at which steps.
        gamma: discount of the returns; by default the agent's.
        progress: called with the number of steps done, now and then.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "ask")
    >>> run = monmdp.train(problem, "monitored-mbie-eb", steps=1000, seed=0)
    >>> run.curve["episode_return"][[0, -1]].round(3).tolist()
    [-3.732, 0.961]
    >>> round(monmdp.solve(problem).episode_return, 3)
    0.961
    """
    task = prepare(
        monmdp,
        agent,
        steps,
        evaluation=evaluation,
        every=every,
        episodes=episodes,
        snapshots=snapshots,
        gamma=gamma,
    )
    return carry_out(task, seed, progress)


def carry_out(task: Task, seed: int, progress: Progress | None = None) -> Run:
    """Do a task for one seed."""
    seed = whole_number(seed, "seed", at_least=0, at_most=None)
    monmdp, seeds = task.monmdp, streams(task.monmdp, seed)
    env_rng, agent_rng, eval_rng = (np.random.default_rng(s) for s in seeds)
    state: Any
    if isinstance(task.agent, AgentConfig):
        mdp = monmdp.mdp
        state = task.agent.new_state(monmdp.shape, mdp.r_min, mdp.r_max, monmdp)
        if implements(reveal, type(state)) and not task.agent.sees_hidden_rewards:
            raise MonMDPError(
                f"{task.settings['agent']} takes hidden rewards and does not say so: its "
                "configuration must have sees_hidden_rewards"
            )
        go = compiled(run, type(state))
    else:
        made = task.agent
        if not is_python_agent(made):
            made = made(monmdp.shape, agent_rng)  # type: ignore[operator]
            if not is_python_agent(made):
                raise MonMDPError(
                    f"{task.settings['agent']} made {made!r}; an agent has begin_episode, act, "
                    "update and test_policy"
                )
        state, go = Shell(made, monmdp.shape), run

    checkpoints = -(-task.steps // task.every)
    scores = np.zeros((checkpoints, len(SCORES)))
    counters = np.zeros((checkpoints, len(COUNTERS)), dtype=np.int64)
    clock = np.zeros(CLOCK, dtype=np.int64)
    clock[1] = -1
    ledger = open_ledger(task.gamma, monmdp.mdp.r_min, monmdp.mdp.r_max)
    entries = np.zeros((checkpoints, len(LEDGER)))
    seen = np.zeros(monmdp.mdp.n_pairs, dtype=np.bool_)
    # Policies wait for their test in a buffer that does not grow with the number of checkpoints.
    room = min(checkpoints, max(1, BUFFER // (monmdp.n_states * monmdp.n_actions)))
    policies = np.empty((room, monmdp.n_states, monmdp.n_actions))
    kept: list[dict[str, Any]] = []
    pauses = {*task.snapshot_steps, *range(0, task.steps, room * task.every), task.steps} - {0}
    if progress is not None:
        pauses |= {round(task.steps * i / 20) for i in range(1, 20)} - {0}
    if 0 in task.snapshot_steps:
        kept.append(_snapshot(task, state))
    done = 0
    for stop in sorted(pauses):
        now = slice(done, -(-stop // task.every))
        done = now.stop
        with _agent_named(task, seed):
            go(
                task.tables, state, clock, stop, task.settings["time_limit"], task.every, policies,
                counters[now], ledger, entries[now], seen, env_rng, agent_rng,
            )  # fmt: skip
        evaluate(
            task.tables, task.chances, policies[: now.stop - now.start], task.gamma,
            task.settings["time_limit"], task.eval_episodes, eval_rng, scores[now],
        )  # fmt: skip
        if stop in task.snapshot_steps:
            kept.append(_snapshot(task, state))
        if progress is not None:
            progress(stop)

    policy = np.zeros((monmdp.n_states, monmdp.n_actions))
    test_policy(state, policy)
    columns = dict(zip(SCORES, scores.T.copy(), strict=True))
    columns |= dict(zip(COUNTERS, counters.T.astype(np.float64), strict=True))
    columns |= dict(zip(LEDGER, entries.T.copy(), strict=True))
    columns["rewards_seen"] /= task.n_observable if task.n_observable else np.nan
    origin = {key: task.settings[key] for key in ("world", "monitor", "agent", "steps", "gamma")}
    return Run(
        settings=task.settings,
        seed=seed,
        step=np.arange(checkpoints, dtype=np.int64) * task.every,
        curve=columns,
        policy=Policy(monmdp.shape, policy, origin | {"seed": seed}),
        snapshot_steps=np.array(task.snapshot_steps, dtype=np.int64),
        snapshots={name: np.stack([s[name] for s in kept]) for name in (kept[0] if kept else ())},
    )


@contextmanager
def _agent_named(task: Task, seed: int) -> Iterator[None]:
    """Say which agent and seed it was that raised, and where in its file."""
    try:
        yield
    except Exception as error:
        if isinstance(error, MonMDPError) or isinstance(task.agent, AgentConfig):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise MonMDPError(
            f"{task.settings['agent']} raised {type(error).__name__}: {error} "
            f"({last.filename}, line {last.lineno}; seed {seed})"
        ) from error


def _snapshot(task: Task, state: Any) -> dict[str, Any]:
    """Copies of what the agent's configuration wants kept."""
    assert isinstance(task.agent, AgentConfig)
    return task.agent.snapshot(state, task.monmdp.shape)


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def _code_of(thing: Any) -> str | None:
    """A hash of the module that defines an agent: runs of an edited agent are other runs."""
    try:
        source = inspect.getsource(sys.modules[thing.__module__])
    except (OSError, TypeError, AttributeError, KeyError):  # typed in at a prompt, say
        return None
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def _name_of(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '')}:{getattr(thing, '__qualname__', repr(thing))}"
