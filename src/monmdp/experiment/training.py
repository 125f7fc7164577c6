"""One run: an agent, a problem and a seed."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from monmdp import agents
from monmdp.agents import (
    AgentConfig,
    AgentFactory,
    ObservingAgent,
    PythonAgent,
    is_python_agent,
)
from monmdp.agents.contract import reveal, test_policy
from monmdp.agents.named import name_of
from monmdp.agents.stepwise import Shell, seeing_numbers
from monmdp.compiling import compiled, implements
from monmdp.drawing import CurveData, PanelData, RowData, panel_grid, styles
from monmdp.errors import MonMDPError
from monmdp.experiment.evaluation import (
    SCORES,
    Chances,
    chances,
    checked_limit,
    evaluate,
    writable_tables,
)
from monmdp.experiment.loop import CLOCK, COUNTERS, LEDGER, PULSE, open_ledger, run
from monmdp.experiment.own_code import code_hash
from monmdp.experiment.policy import EvaluationKind, Policy, checked_evaluation
from monmdp.experiment.streams import fingerprint, streams
from monmdp.memory import demand_room
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.dynamics import Tables
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import Shape
from monmdp.naming import module_of
from monmdp.planning.factors import checked_problem
from monmdp.planning.observability import observability
from monmdp.planning.policy_iteration import learning_gamma

EVERY = 100
"""training steps between two checkpoints, as in the paper"""
EPISODES = 100
"""episodes that Monte Carlo evaluation draws at a checkpoint, as in the paper"""

BUFFER = 1_000_000
"""probabilities of policies that wait for their test"""

SNAPSHOT = 1000
"""bytes that a snapshot takes of the smallest problem"""

COLUMNS = (*SCORES, *COUNTERS, *LEDGER)
"""of a learning curve"""
TEST = 4 * 8 * len(COLUMNS)
"""bytes that a test takes: its scores, copied into columns and written"""


Watch = Callable[[IntArray, Mapping[str, FloatArray]], None]
"""is shown what the latest tests found, while a run goes on: steps [test], column -> [test]"""


class StoppedError(Exception):
    """A run that was told to stop through its pulse."""


@dataclass(frozen=True, eq=False)
class Run:
    """What came out of one run.

    >>> import monmdp
    >>> run = monmdp.train(monmdp.make("loop", "ask"), "monitored-mbie-eb", 1000, snapshots=2)
    >>> run.step[:3].tolist(), len(run.curve["episode_return"])
    ([0, 100, 200], 10)
    >>> run.snapshot_steps.tolist(), run.snapshots["q_opt"].shape
    ([500, 1000], (2, 9, 10))
    """

    settings: Mapping[str, Any]
    """world, monitor, problem (its fingerprint), agent, parameters, steps, every, evaluation, …"""
    seed: int
    step: IntArray = field(repr=False)
    """[checkpoint] training steps done"""
    curve: Mapping[str, FloatArray] = field(repr=False)
    """column -> [checkpoint]"""
    policy: Policy | None = field(default=None, repr=False)
    """the test policy at the end; None if it was not kept"""
    snapshot_steps: IntArray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """[snapshot] training steps done"""
    snapshots: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """name -> [snapshot, …] counts and action values of the agent; for the names see its config"""
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """kernel hash, versions, commit, machine, wall and CPU seconds, when it was done"""
    certified: int | None = None
    """training steps after which the agent was sure of its test policy; None: it never said so"""

    def __post_init__(self) -> None:
        """Let the policy know what discount it was learnt with."""
        if self.policy is not None and self.learning_gamma is not None:
            origin = {**self.policy.origin, "learning_gamma": self.learning_gamma}
            object.__setattr__(self, "policy", replace(self.policy, origin=origin))

    @property
    def learning_gamma(self) -> float | None:
        """The agent's own discount, which may not be that of its tests; None: not known."""
        return own_gamma(self.settings)

    def data(self) -> bytes:
        """Return the bytes of the learning curve, which are the same however the run was done."""
        arrays = [self.step, *(self.curve[name] for name in COLUMNS)]
        return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)

    def figure(self) -> Any:
        """Draw the learning curve; also in M↓, if it counts on rewards that nobody can see."""
        settings, name = self.settings, str(self.settings["agent"])
        returns = {name: self.curve["episode_return"]}
        worst = self.curve["worst_case_return"]
        if settings["evaluation"] == "exact" and not np.allclose(returns[name], worst):
            returns = {f"{name}, in M": returns[name], f"{name}, in M↓ (worst case)": worst}
        curves = [CurveData(of, self.step, y, np.full(len(y), np.nan)) for of, y in returns.items()]
        return panel_grid(
            [RowData([PanelData(curves)])],
            styles=styles([(of, name) for of in returns], agents.COLOURS),
            title=f"{settings['world']} / {settings['monitor']}",
            y_label="discounted test return",
            note=f"seed {self.seed}; {settings['evaluation']} evaluation",
        )

    def _repr_png_(self) -> bytes:
        """Show the learning curve in a notebook."""
        png: bytes = self.figure()._repr_png_()
        return png


def own_gamma(settings: Mapping[str, Any]) -> float | None:
    """Return the discount that an agent with these settings learns with; None: not known."""
    gamma = settings.get("parameters", {}).get("gamma")
    return gamma if isinstance(gamma, int | float) else None


@dataclass(frozen=True, eq=False)
class Task:
    """A checked request to train: everything but the seed."""

    monmdp: MonMDP
    agent: AgentConfig | Callable[[Shape, np.random.Generator], PythonAgent] | PythonAgent
    """one that sees observations is dressed as one that sees numbers"""
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
    agent: str | AgentConfig | AgentFactory | PythonAgent | ObservingAgent,
    steps: int,
    *,
    evaluation: EvaluationKind = "exact",
    every: int = EVERY,
    episodes: int = EPISODES,
    snapshots: int | Iterable[int] = 0,
    gamma: float | None = None,
    made_with: Mapping[str, Any] | None = None,
) -> Task:
    """Check everything that a run is given, before any work starts.

    `made_with` are the parameters of world and monitor, for the record.

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
    demand_room(
        TEST * (steps // every),
        f"{steps:,} steps with a test every {every:,} (every=…) are {steps // every:,} tests, and "
        "their scores",
    )
    eval_episodes = checked_evaluation(evaluation, episodes)
    gamma = learning_gamma(who.gamma if gamma is None else gamma)
    limit = checked_limit(monmdp)
    at = snapshot_steps(weighed(snapshots), steps)
    if at and not isinstance(agent, AgentConfig):
        raise MonMDPError(
            f"{who.name}: snapshots are taken of the compiled agents of this package only, not of "
            "deep agents or agents in plain Python; judge those with record.watching(agent)"
        )
    if isinstance(agent, AgentConfig):
        arrays = len(at) * (len(agent.snapshot_fields) + 1)
        pairs = monmdp.n_states * monmdp.n_actions
        demand_room(2 * 8 * arrays * pairs, f"{len(at):,} snapshots of {pairs:,} joint pairs")
    known = _known(monmdp)
    settings: dict[str, Any] = {
        "world": mdp.name,
        "monitor": monitor.name,
        "problem": known.fingerprint,
        "problem_parameters": {k: _plain(v) for k, v in (made_with or {}).items()},
        "unusual": [],
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
    }
    return Task(
        monmdp=monmdp,
        agent=agent if isinstance(agent, AgentConfig) else seeing_numbers(agent, monmdp),
        steps=steps,
        every=every,
        eval_episodes=eval_episodes,
        gamma=gamma,
        snapshot_steps=at,
        settings=settings,
        tables=known.tables,
        chances=known.chances,
        n_observable=known.n_observable,
    )


class _OfProblem(NamedTuple):
    """What all runs of a problem read."""

    fingerprint: str
    tables: Tables
    chances: Chances
    n_observable: int


@lru_cache(maxsize=256)
def _known(monmdp: MonMDP) -> _OfProblem:
    seen = observability(monmdp)
    reached = int(np.any(seen.reachable, axis=1).sum()) * monmdp.mdp.n_actions
    n_observable = reached - int(seen.never_observable.sum())
    return _OfProblem(
        fingerprint(monmdp), writable_tables(monmdp), chances(monmdp, seen), n_observable
    )


class _Identity(NamedTuple):
    """Who an agent is, for the record."""

    name: str
    parameters: Mapping[str, Any]
    code: str | None
    """a hash of its code, for agents in plain Python and those that are not of this package"""
    gamma: Any = 0.99


def _identity(agent: Any) -> _Identity:
    """Return who an agent is, or say what would be one."""
    if isinstance(agent, AgentConfig):
        parameters = agent.hyper_parameters()
        if agents.KINDS.get(agent.name) is type(agent):
            return _Identity(agent.name, parameters, None, agent.gamma)
        return _Identity(_name_of(type(agent)), parameters, code_hash(type(agent)), agent.gamma)
    if is_python_agent(agent):
        kind = type(agent)
        return _Identity(_name_of(kind), {}, code_hash(kind), getattr(agent, "gamma", 0.99))
    if callable(agent):
        factory = agent.func if isinstance(agent, partial) else agent
        usual = agents.parameters_of(factory).parameters.values()
        parameters = {of.name: of.default for of in usual}
        parameters |= agent.keywords if isinstance(agent, partial) else {}
        gamma = parameters.get("gamma", 0.99)
        name = name_of(factory) or _name_of(factory)
        return _Identity(name, parameters, code_hash(factory), gamma)
    raise TypeError(f"{agent!r} is no agent")


def weighed(snapshots: Any) -> Any:
    """Return a number of snapshots, or their steps, if there is room for them."""
    if isinstance(snapshots, int):
        demand_room(SNAPSHOT * snapshots, f"{snapshots:,} snapshots")
    return snapshots


def snapshot_steps(snapshots: int | Iterable[int], steps: int) -> tuple[int, ...]:
    """Return the steps after which to keep a snapshot: that many, evenly spaced, or those given."""
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
    if not snapshot_steps(weighed(n), steps):
        return ()
    return (0, *(max(i, -(-steps * i * i // (n * n))) for i in range(1, n + 1)))


def carry_out(
    task: Task, seed: int, pulse: IntArray | None = None, watch: Watch | None = None
) -> Run:
    """Do a task for one seed.

    Others may watch `pulse` and write into it, see `loop.PULSE`; then `StoppedError` is raised.
    `watch` is shown every test as soon as it is done. Neither makes a difference to the run.
    """
    pulse = np.zeros(PULSE, dtype=np.int64) if pulse is None else pulse
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
    step = np.arange(checkpoints, dtype=np.int64) * task.every
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
    spacing = task.every * (room if watch is None else 1)
    pauses = {*task.snapshot_steps, *range(0, task.steps, spacing), task.steps} - {0}
    if 0 in task.snapshot_steps:
        kept.append(_snapshot(task, state))
    done = 0
    for stop in sorted(pauses):
        now = slice(done, -(-stop // task.every))
        done = now.stop
        with _agent_named(task, seed):
            go(
                task.tables, state, clock, stop, task.settings["time_limit"], task.every, policies,
                counters[now], ledger, entries[now], seen, env_rng, agent_rng, pulse,
            )  # fmt: skip
        evaluate(
            task.tables, task.chances, policies[: now.stop - now.start], task.gamma,
            task.settings["time_limit"], task.eval_episodes, eval_rng, scores[now], pulse,
        )  # fmt: skip
        if pulse[0]:
            raise StoppedError
        if watch is not None:
            watch(step[now], _columns(task, scores[now], counters[now], entries[now]))
        if stop in task.snapshot_steps:
            kept.append(_snapshot(task, state))

    policy = np.zeros((monmdp.n_states, monmdp.n_actions))
    test_policy(state, policy)
    origin = {key: task.settings[key] for key in ("world", "monitor", "agent", "steps", "gamma")}
    return Run(
        settings=task.settings,
        seed=seed,
        step=step,
        curve=_columns(task, scores, counters, entries),
        policy=Policy(monmdp.shape, policy, origin | {"seed": seed}),
        snapshot_steps=np.array(task.snapshot_steps, dtype=np.int64),
        snapshots={name: np.stack([s[name] for s in kept]) for name in (kept[0] if kept else ())},
        certified=_certified(task, state),
    )


def _columns(
    task: Task, scores: FloatArray, counters: IntArray, entries: FloatArray
) -> dict[str, FloatArray]:
    """Tests as they are kept: column -> [test]."""
    columns = dict(zip(SCORES, scores.T.copy(), strict=True))
    columns |= dict(zip(COUNTERS, counters.T.astype(np.float64), strict=True))
    columns |= dict(zip(LEDGER, entries.T.copy(), strict=True))
    columns["rewards_seen"] /= task.n_observable if task.n_observable else np.nan
    return columns


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


def _certified(task: Task, state: Any) -> int | None:
    """When the agent was sure of its test policy; one in plain Python cannot say."""
    step = task.agent.certified(state) if isinstance(task.agent, AgentConfig) else None
    return None if step is None else whole_number(step, "certified", 0, task.steps)


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def _name_of(thing: Any) -> str:
    return f"{module_of(thing)}:{getattr(thing, '__qualname__', repr(thing))}"
