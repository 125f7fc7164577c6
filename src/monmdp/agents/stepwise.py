"""Agents one step at a time: ours in anybody's loop, and anybody's in ours.

`Agent` runs an agent of this package on any Gymnasium environment that speaks our contract. The
same functions run here and in compiled training, on the same kind of random stream: with the same
seeds the trajectories, counts and action values are identical.

A `PythonAgent` is an agent in plain Python, which sees the numbers of states. `Shell` dresses it
for the training loop. An `ObservingAgent` sees observations instead; `seeing_numbers` turns it into
a `PythonAgent`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from monmdp.agents import contract
from monmdp.agents.contract import AgentConfig, Step, Transition, View
from monmdp.compiling import compiled, implement
from monmdp.envs.wrappers import parts_of, sizes
from monmdp.errors import MonMDPError, nearest
from monmdp.memory import demand_room
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, frozen_policy
from monmdp.model.mdp import number, whole_number
from monmdp.model.monmdp import Shape


class Agent:
    """A learning agent: `begin_episode`, then `act` and `update` until the episode is over.

    >>> import gymnasium, monmdp
    >>> from monmdp.agents import Transition
    >>> env = gymnasium.make("monmdp/Loop-v0", monitor="ask")
    >>> agent = monmdp.agents.make("monitored-mbie-eb", env, seed=1)
    >>> observation, info = env.reset(seed=1)
    >>> observing = agent.begin_episode()
    >>> action = agent.act(observation)
    >>> following, reward, terminated, truncated, info = env.step(action)
    >>> agent.update(Transition.from_step(observation, action, following, terminated, info))
    >>> agent.test_policy().shape
    (9, 10)
    """

    def __init__(
        self,
        config: AgentConfig,
        environment: MonMDP | gymnasium.Env[Any, Any],
        *,
        seed: int = 0,
        r_min: float | None = None,
        r_max: float | None = None,
    ) -> None:
        """Make an agent that has seen nothing yet.

        Args:
            config: what kind of agent, with its hyper-parameters.
            environment: tells the sizes of the spaces. The model inside a `MonMDP`, or inside an
                environment of ours, reaches only agents that are meant to know the monitor.
            seed: of the agent's own random stream, which breaks ties.
            r_min: the least environment reward there can be, if the environment does not tell it.
            r_max: the largest, likewise.
        """
        model, self.shape = model_and_shape(environment)
        told = {"r_min": r_min, "r_max": r_max}
        self.bounds = {
            name: getattr(model.mdp, name) if value is None and model is not None else value
            for name, value in told.items()
        }
        for name, value in told.items():
            if value is not None:
                self.bounds[name] = number(value, name)
        self.config = config
        self.rng = np.random.default_rng(whole_number(seed, "seed", at_least=0, at_most=None))
        known = model if config.needs_model else None
        self.state: Any = config.new_state(self.shape, **self.bounds, model=known)
        self._revealed = False

    def begin_episode(self) -> bool:
        """Plan the next episode; return whether it explores in order to observe."""
        return bool(self._run("begin_episode", _begin_episode)(self.state, self.rng))

    def _run(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a verb, compiled if it is one that takes long."""
        slow = name in self.config.slow_verbs
        return compiled(function, type(self.state)) if slow else function

    def act(self, observation: Mapping[str, int]) -> dict[str, int]:
        """Choose an action ``{"env": aᵉ, "mon": aᵐ}``."""
        s = self.shape.joint_state(observation)
        return self.shape.action(int(self._run("act", _act)(self.state, s, self.rng)))

    def reveal(self, reward: float) -> None:
        """Tell an oracle rᵉ, shown or not, before `update`; no other agent may be told.

        Our environments give it with ``expose_env_reward=True``, as ``info["env_reward"]``.
        """
        if not self.config.sees_hidden_rewards:
            raise MonMDPError(f"agent {self.config.name!r} must not be told hidden rewards")
        contract.reveal(self.state, number(reward, "reward"))
        self._revealed = True

    def update(self, transition: Transition) -> None:
        """Learn from one step."""
        if not isinstance(transition, Transition):
            raise MonMDPError(f"a Transition expected, got {transition!r}")
        if self.config.sees_hidden_rewards and not self._revealed:
            raise MonMDPError("an oracle must be told the true reward first: reveal(reward)")
        self._revealed = False
        shown = transition.reward is not None
        step = Step(
            self.shape.joint_state(transition.observation),
            self.shape.joint_action(transition.action),
            shown,
            contract.checked_reward(transition.reward, **self.bounds) if shown else 0.0,
            number(transition.monitor_reward, "monitor_reward"),
            self.shape.joint_state(transition.next_observation),
            bool(transition.terminated),
        )
        self.state = self.config.with_room(self.state, step)
        self._run("update", _update)(self.state, step)

    def test_policy(self) -> FloatArray:
        """[s, a] the policy that would be used now if learning were over."""
        n_se, n_sm, n_ae, n_am = self.shape
        policy = np.zeros((n_se * n_sm, n_ae * n_am))
        contract.test_policy(self.state, policy)
        return policy


# Verbs as functions that can be compiled on their own.


def _begin_episode(agent: Any, rng: Any) -> bool:
    return contract.begin_episode(agent, rng)


def _act(agent: Any, s: int, rng: Any) -> int:
    return contract.act(agent, s, rng)


def _update(agent: Any, step: Step) -> None:
    contract.update(agent, step)


def model_and_shape(environment: Any) -> tuple[MonMDP | None, Shape]:
    """Return the model, if there is one, and the sizes of the spaces."""
    if isinstance(environment, MonMDP):
        return environment, environment.shape
    if not isinstance(environment, gymnasium.Env):
        raise MonMDPError(f"a MonMDP or a Gymnasium environment expected, got {environment!r}")
    n_se, n_sm = sizes(environment.observation_space, "observations")
    n_ae, n_am = sizes(environment.action_space, "actions")
    model = getattr(environment.unwrapped, "monmdp", None)
    return (model if isinstance(model, MonMDP) else None), Shape(n_se, n_sm, n_ae, n_am)


# ---- agents in plain Python -----------------------------------------------------------------


@runtime_checkable
class PythonAgent(Protocol):
    """An agent in plain Python: what `train` asks of yours."""

    def begin_episode(self) -> object:
        """Prepare an episode; return True if it is meant to observe (anything else counts not)."""

    def act(self, observation: dict[str, int]) -> Mapping[str, int]:
        """Choose ``{"env": aᵉ, "mon": aᵐ}`` in ``{"env": sᵉ, "mon": sᵐ}``."""

    def update(self, transition: Transition) -> None:
        """Learn from one step."""

    def test_policy(self) -> FloatArray:
        """Return [s, a] the policy to test now."""


class ObservingAgent(Protocol):
    """An agent in plain Python that sees observations: its class says ``sees = "observations"``."""

    def begin_episode(self) -> object:
        """Prepare an episode; return True if it is meant to observe (anything else counts not)."""

    def act(self, observation: dict[str, Any]) -> Mapping[str, int]:
        """Choose ``{"env": aᵉ, "mon": aᵐ}``; `observation` is ``{"env": array, "mon": sᵐ}``."""

    def update(self, transition: Transition) -> None:
        """Learn from one step."""

    def test_policy(self, observations: NDArray[Any]) -> FloatArray:
        """Return [s, a] the policy to test now; `observations` is [sᵉ, ...], of all states."""


def is_python_agent(thing: object) -> TypeGuard[PythonAgent]:
    """Return whether something is an agent in plain Python, finished, and no configuration."""
    return isinstance(thing, PythonAgent) and not isinstance(thing, type | AgentConfig)


AgentFactory = (
    Callable[[Shape, np.random.Generator], PythonAgent]
    | Callable[[View, np.random.Generator], ObservingAgent]
)
"""makes an agent in plain Python, given the sizes of the spaces, or a `View` where it sees
observations, and its random stream"""

SIGHTS = ("numbers", "observations")
"""what an agent in plain Python may see of the environment's state"""


def sees(agent: Any) -> str:
    """Return what an agent in plain Python, or what makes it, says that it sees.

    >>> from monmdp.agents.stepwise import sees
    >>> class Camera:
    ...     sees = "observations"
    >>> sees(Camera), sees(object())
    ('observations', 'numbers')
    """
    target = _unbound(agent)
    said = getattr(target, "sees", SIGHTS[0])
    if said not in SIGHTS:
        name = getattr(target, "__qualname__", type(target).__qualname__)
        raise MonMDPError(f"{name}: sees = {said!r}{nearest(str(said), SIGHTS)}")
    return str(said)


def _unbound(agent: Any) -> Any:
    """What makes an agent, without the parameters that it was given."""
    while isinstance(agent, functools.partial):
        agent = agent.func
    return agent


@dataclass
class Tally:
    """What is counted while an agent in plain Python is trained."""

    steps: int = 0
    """all of them"""
    paid: int = 0
    """on which the monitor cost something, rᵐ < 0"""
    shown: int = 0
    """whose reward was shown"""


_tally: ContextVar[Tally | None] = ContextVar("tally", default=None)
"""of this thread; whoever trains reads it, and the loop, which is compiled too, knows nothing"""


@contextmanager
def tallying() -> Iterator[Tally]:
    """Count the steps of agents in plain Python whose training begins inside; others count none.

    >>> import monmdp
    >>> from monmdp.agents.stepwise import tallying
    >>> problem = monmdp.make("loop", "ask")
    >>> with tallying() as tally:
    ...     task = monmdp.experiment.prepare(problem, "r-max", 100)
    ...     run = monmdp.experiment.training.carry_out(task, seed=1)  # compiled
    >>> tally
    Tally(steps=0, paid=0, shown=0)
    """
    tally = Tally()
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


class Shell:
    """An agent in plain Python, dressed for the training loop."""

    def __init__(self, agent: PythonAgent, shape: Shape) -> None:
        if sees(agent) != SIGHTS[0]:
            raise MonMDPError(
                f"{type(agent).__qualname__} sees observations, but what makes it does not say so: "
                'write sees = "observations" there, too; it is then given (view, rng)'
            )
        self.agent = agent
        self.shape = shape
        self.tally = _tally.get() or Tally()

    def begin_episode(self, rng: np.random.Generator) -> bool:
        """Prepare an episode."""
        observes = self.agent.begin_episode()
        return isinstance(observes, bool | np.bool_) and bool(observes)

    def act(self, s: int, rng: np.random.Generator) -> int:
        """Choose a joint action."""
        return self.shape.joint_action(self.agent.act(self.shape.observation(s)))

    def update(self, step: Step) -> None:
        """Count one step, and hand it over, without a reward that was not shown."""
        self.tally.steps += 1
        self.tally.paid += int(step.monitor_reward < 0)
        self.tally.shown += int(step.shown)
        self.agent.update(
            Transition(
                self.shape.observation(step.s),
                self.shape.action(step.a),
                float(step.reward) if step.shown else None,
                float(step.monitor_reward),
                self.shape.observation(step.next_s),
                bool(step.terminated),
            )
        )

    def test_policy(self, policy: FloatArray) -> None:
        """Write the policy to test now, if it is one."""
        policy[:] = frozen_policy(self.agent.test_policy(), policy.shape)


implement(Shell, {verb: getattr(Shell, verb.__name__) for verb in contract.VERBS})


# ---- agents that see observations -----------------------------------------------------------


def view_of(
    monmdp: MonMDP | gymnasium.Env[Any, Any],
    r_min: float | None = None,
    r_max: float | None = None,
) -> View:
    """Return what an agent that sees observations is told of a problem.

    Args:
        monmdp: the problem. Without a table of observations the agent sees one-hot vectors; they
            must fit into memory. Or any environment that speaks our contract, whose observations
            are arrays.
        r_min: of such an environment, the least environment reward there can be.
        r_max: the largest.

    >>> import gymnasium
    >>> from monmdp.agents import view_of
    >>> from monmdp.envs import AddMonitor
    >>> env = AddMonitor(gymnasium.make("CartPole-v1"), "ask")
    >>> view_of(env, r_min=0, r_max=1).observation
    (4,)
    """
    if isinstance(monmdp, gymnasium.Env):
        return _view_of_environment(monmdp, r_min, r_max)
    mdp, n = monmdp.mdp, monmdp.mdp.n_states
    _, n_sm, n_ae, n_am = monmdp.shape
    if (table := mdp.observations) is not None:
        shape, dtype = table.shape[1:], table.dtype
    else:
        shape, dtype = (n,), np.dtype(np.uint8)
        demand_room(
            dtype.itemsize * n**2,
            f"world {mdp.name!r} has no table of observations; one-hot vectors of {n:,} states",
        )
    return View(shape, dtype, n_sm, n_ae, n_am, mdp.r_min, mdp.r_max)


def _view_of_environment(env: gymnasium.Env[Any, Any], r_min: Any, r_max: Any) -> View:
    shown, monitor = parts_of(env.observation_space)
    if monitor is None:
        raise MonMDPError(
            "an environment with a monitor has spaces {'env': …, 'mon': …}; "
            f"got {env.observation_space} and {env.action_space}; envs.AddMonitor adds one"
        )
    if not isinstance(shown, spaces.Box):
        raise MonMDPError(
            f"observations must be arrays (a Box), got {shown}. Wrap the environment before its "
            "monitor: in gymnasium.wrappers.FlattenObservation(env); one of MiniGrid's in "
            "ImgObsWrapper(FullyObsWrapper(env)), from minigrid.wrappers"
        )
    if r_min is None or r_max is None:
        raise MonMDPError(
            "give r_min=… and r_max=…, the least and the largest environment reward there can be; "
            "an environment does not tell"
        )
    low, high = number(r_min, "r_min"), number(r_max, "r_max")
    n_ae, n_am = sizes(env.action_space, "action space")
    return View(shown.shape, shown.dtype, int(monitor.n), n_ae, n_am, low, high)


def observations_of(monmdp: MonMDP) -> NDArray[Any]:
    """Return [sᵉ, ...] what an agent that sees observations is shown, read-only.

    >>> import monmdp
    >>> monmdp.agents.observations_of(monmdp.make("loop", "ask"))[2]
    array([0, 0, 1, 0, 0, 0, 0, 0, 0], dtype=uint8)
    """
    table = monmdp.mdp.observations
    return _one_hot(*view_of(monmdp).observation) if table is None else table


@functools.lru_cache(maxsize=1)
def _one_hot(n: int) -> NDArray[np.uint8]:
    """One table for all runs of a problem."""
    table = np.eye(n, dtype=np.uint8)
    table.setflags(write=False)
    return table


class Seeing:
    """An agent that sees observations, dressed as one that sees numbers."""

    def __init__(self, agent: ObservingAgent, observations: NDArray[Any]) -> None:
        self.agent = agent
        self.observations = observations

    def begin_episode(self) -> object:
        """Prepare an episode."""
        return self.agent.begin_episode()

    def act(self, observation: dict[str, int]) -> Mapping[str, int]:
        """Choose an action for what is seen."""
        return self.agent.act(self._seen(observation))

    def update(self, transition: Transition) -> None:
        """Learn from one step."""
        here, action, reward, monitor_reward, after, terminated = transition
        seen, then = self._seen(here), self._seen(after)
        step = Transition(seen, action, reward, monitor_reward, then, terminated)
        self.agent.update(step)

    def test_policy(self) -> FloatArray:
        """Return the policy to test now."""
        return self.agent.test_policy(self.observations)

    def _seen(self, observation: Mapping[str, int]) -> dict[str, Any]:
        row = self.observations[observation["env"], ...]  # a view, also where it is one number
        return {"env": row, "mon": observation["mon"]}


def _is_whole(agent: Any) -> bool:
    return is_python_agent(agent)  # which asks for the names of methods alone


def seeing_numbers(agent: Any, monmdp: MonMDP) -> Any:
    """Return an agent in plain Python, or what makes it, as one that sees numbers."""
    if sees(agent) == SIGHTS[0]:
        return agent
    view, observations = view_of(monmdp), functools.partial(observations_of, monmdp)
    if _is_whole(agent):
        return Seeing(agent, observations())

    def factory(shape: Shape, rng: np.random.Generator) -> Any:
        made = agent(view, rng)
        return Seeing(made, observations()) if _is_whole(made) else made

    for name in ("__module__", "__name__", "__qualname__"):  # for messages
        setattr(factory, name, getattr(_unbound(agent), name, getattr(factory, name)))
    return factory
