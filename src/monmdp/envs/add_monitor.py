"""A monitor around anybody's Gymnasium environment.

The environment keeps its spaces, whatever they are; the monitor's state and action are added beside
them. ``reward`` and ``info`` mean the same as for the environments of this package, see
`monmdp.envs.monmdp_env`.

The world is a black box: its states cannot be listed. So the monitor may depend on it only through
three things: the reward of the step, which some monitors read, and two functions of the user's.
``pressed(observation, action)`` chooses between two transition tables, as pushing the button does.
``hidden(observation, action, next_observation)`` marks steps whose reward can never be seen (⊥).

The monitor has a random stream of its own, made from the seed of the reset: one draw a reset and
two a step. The environment's stream is not touched, so with the same seed and actions it behaves
the same under any monitor, and under none.

Of the environment's info and of the attributes that ``get_wrapper_attr`` finds, only names known to
hold no reward pass the monitor, and those that the user names: any other may be a reward, a score,
or a return by another name, however deep inside. The observation passes as it is.
"""

from __future__ import annotations

import copy
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import Autoreset

from monmdp import model, monitors
from monmdp.envs.monmdp_env import MonMDPEnv, switch
from monmdp.errors import MonMDPError, told
from monmdp.model.arrays import cumulative
from monmdp.model.dynamics import draw
from monmdp.model.mdp import number
from monmdp.model.monitor import shown_or_bottom

Pressed = Callable[[Any, Any], Any]
"""(observation, action) -> whether the second transition table applies"""
Hidden = Callable[[Any, Any, Any], Any]
"""(observation, action, next observation) -> whether the reward is ⊥"""

MONITOR_STREAM = 1
"""spawn key of the monitor's random stream; the environment's has none"""
LET_THROUGH = ("action_mask", "action_masks", "TimeLimit.truncated", "get_keys_to_action")
"""names of infos and attributes that tell nothing of rewards"""
PAIR_PARAMETERS = ("button", "pair")
"""parameters of monitors that name a pair of a finite world"""


class AddMonitor(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Hide and show an environment's reward as a monitor does.

    >>> import gymnasium
    >>> from monmdp.envs import AddMonitor
    >>> env = AddMonitor(gymnasium.make("CartPole-v1"), "ask", rho=1.0, cost=-0.1)
    >>> _ = env.reset(seed=0)
    >>> _, reward, _, _, info = env.step({"env": 1, "mon": 0})  # not asked
    >>> reward, info["reward_observed"]
    (0.0, False)
    >>> _, reward, _, _, info = env.step({"env": 1, "mon": 1})  # asked, and paid for it
    >>> reward, info["proxy_reward"], info["monitor_reward"]
    (0.9, 1.0, -0.1)
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        monitor: str | model.Monitor = "ask",
        *,
        pressed: Pressed | None = None,
        hidden: Hidden | None = None,
        fill: float = 0.0,
        lets_through: Iterable[str] = (),
        expose_env_reward: bool = False,
        **params: Any,
    ) -> None:
        """Wrap an environment.

        Args:
            env: any Gymnasium environment; its rewards are finite numbers.
            monitor: a registered name, ``module:object``, or a `monmdp.Monitor`.
            pressed: of (observation, action); whether the monitor's second transition table
                applies. Button needs it.
            hidden: of (observation, action, next observation); whether the reward is ⊥, which no
                monitor but Full ever shows.
            fill: stands for a reward that was not shown.
            lets_through: keys of the environment's info, and attributes for ``get_wrapper_attr``,
                that an agent may read besides ``action_mask`` and ``TimeLimit.truncated``. Name
                none that tells of rewards.
            expose_env_reward: put the true reward into ``info["env_reward"]`` and let all of the
                environment's own info and attributes through, for evaluators.
            **params: parameters of the monitor.
        """
        lets_through = _names(lets_through, "lets_through")
        RecordConstructorArgs.__init__(
            self,
            monitor=monitor,
            pressed=pressed,
            hidden=hidden,
            fill=fill,
            lets_through=lets_through,
            expose_env_reward=expose_env_reward,
            **params,
        )
        if not isinstance(env, gymnasium.Env):
            raise MonMDPError(f"a Gymnasium environment expected, got {env!r}")
        gymnasium.Wrapper.__init__(self, env)
        _refuse_monitored(env)
        _check_predicate(pressed, "pressed", "observation", "action")
        _check_predicate(hidden, "hidden", "observation", "action", "next_observation")
        self.monitor = _made(monitor, params)
        _check_transitions(self.monitor, pressed, params)
        for reward, bottom in product((0.0, 1.0, -1.0), (False, True)):
            _class_of(self.monitor, reward, bottom)  # refuses one that shows or hides by the state
        self.fill = number(fill, "fill")
        self._pressed, self._hidden = pressed, hidden
        self._expose_env_reward = switch(expose_env_reward, "expose_env_reward")
        self._lets_through = {*LET_THROUGH, *lets_through}
        self._moves = cumulative(self.monitor.transition)
        self._start = cumulative(self.monitor.start)
        states, actions = map(spaces.Discrete, (self.monitor.n_states, self.monitor.n_actions))
        self.observation_space = spaces.Dict({"env": env.observation_space, "mon": states})
        self.action_space = spaces.Dict({"env": env.action_space, "mon": actions})
        self._random: np.random.Generator | None = None
        self._state: int | None = None
        self._observation: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode; the options are the environment's."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._observation = self._kept(observation)
        if seed is not None or self._random is None:
            entropy = np.random.SeedSequence(seed, spawn_key=(MONITOR_STREAM,))
            self._random = np.random.default_rng(entropy)
        self._state = draw(self._start, 0, len(self._start), self._random.random())
        ours = {"reward_observed": False, "monitor_reward": 0.0, "proxy_reward": self.fill}
        return {"env": observation, "mon": self._state}, self._told(info) | ours

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Take an action ``{"env": …, "mon": aᵐ}``."""
        if self._random is None or self._state is None:
            raise gymnasium.error.ResetNeeded("no episode has begun: call reset()")
        env_action, am = self._split(action)
        before = self._observation
        table = int(_asked(self._pressed, "pressed", before, env_action))
        following, env_reward, terminated, truncated, info = self.env.step(env_action)
        bottom = _asked(self._hidden, "hidden", before, env_action, following)
        re = self._finite(env_reward)
        kind = _class_of(self.monitor, re, bottom)
        u0, u1 = self._random.random(2)
        rm = float(self.monitor.reward[self._state, am])
        shown = bool(u1 < self.monitor.show[kind, self._state, am])
        row = self._moves[table, self._state, am]
        self._observation, self._state = self._kept(following), draw(row, 0, len(row), u0)
        proxy = re if shown else self.fill
        info = self._told(info)
        info |= {"reward_observed": shown, "monitor_reward": rm, "proxy_reward": proxy}
        if self._expose_env_reward:
            info["env_reward"] = re
        observation = {"env": following, "mon": self._state}
        return observation, rm + proxy, terminated, truncated, info

    def _kept(self, observation: Any) -> Any:
        """What the predicates will be asked about; environments and agents may reuse arrays."""
        asked = self._pressed is not None or self._hidden is not None
        return copy.deepcopy(observation) if asked else None

    def _split(self, action: Any) -> tuple[Any, int]:
        """The environment's part of an action and the monitor's, which is checked."""
        if not isinstance(action, Mapping) or set(action) != {"env", "mon"}:
            raise MonMDPError(f'an action is {{"env": …, "mon": aᵐ}}, got {action!r}')
        try:
            am = operator.index(action["mon"])
        except TypeError:
            am = -1
        if not 0 <= am < self.monitor.n_actions:
            raise MonMDPError(
                f"{action['mon']!r} is not an action of monitor {self.monitor.name!r}; it has "
                f"{self.monitor.n_actions}, from 0: {', '.join(self.monitor.actions)}"
            )
        return action["env"], am

    def _finite(self, reward: Any) -> float:
        """The environment's reward, which must be one finite number."""
        try:
            value = float(np.asarray(reward).item())
        except (TypeError, ValueError):
            value = np.nan
        if not np.isfinite(value):
            raise MonMDPError(f"{self.env} gave {reward!r} as a reward; a finite number expected")
        return value

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        """What an agent may read of the environment's info."""
        return {
            key: value
            for key, value in info.items()
            if self._passes(key) and (key not in LET_THROUGH or _tells_yes_or_no(value))
        }

    def _passes(self, name: str) -> bool:
        return self._expose_env_reward or name in self._lets_through

    def has_wrapper_attr(self, name: str) -> bool:
        """Return whether this wrapper has an attribute, or may hand on one from below."""
        return hasattr(self, name) or (self._passes(name) and self.env.has_wrapper_attr(name))

    def get_wrapper_attr(self, name: str) -> Any:
        """Return an attribute of this wrapper, or one from below that is let through.

        Wrappers below have seen every reward: ``return_queue`` of `RecordEpisodeStatistics`, say.
        """
        if not hasattr(self, name) and not self._passes(name):
            raise AttributeError(
                f"{name!r} does not pass the monitor; AddMonitor(…, lets_through=[{name!r}]) lets "
                "agents read it"
            )
        return super().get_wrapper_attr(name)


def _tells_yes_or_no(value: Any) -> bool:
    """Whether an info is what its name says: masks and flags, in which no reward can hide."""
    if isinstance(value, Mapping | list | tuple):
        parts = value.values() if isinstance(value, Mapping) else value
        return all(map(_tells_yes_or_no, parts))
    found = np.asarray(value)
    return found.dtype.kind in "biu" and bool(np.isin(found, (0, 1)).all())


def _names(given: Any, what: str) -> tuple[str, ...]:
    """Return names, or refuse a word, which would be taken for its letters."""
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise MonMDPError(f'{what} must be a list of names, ["lives"], got {given!r}')
    return names


class _OneOutcome:
    """What a monitor may look at to classify one step of a black box; see `Outcomes`."""

    _monitor = ""  # a copy asks before it has one

    def __init__(self, reward: float, hidden: bool, monitor: str) -> None:
        self.reward, self.hidden = np.array([reward]), np.array([hidden])
        self._monitor = monitor

    def refuse(self, *_: Any) -> Any:
        """Say that a monitor asked for the number of a state or an action."""
        raise MonMDPError(
            f"monitor {self._monitor!r} looks at the number of the environment's state or action, "
            "which only a finite world has; import the environment as one, 'gymnasium:ID' (it "
            "needs a table of transitions), or use another monitor"
        )

    __getattr__ = __iter__ = refuse


def _made(monitor: str | model.Monitor, params: Mapping[str, Any]) -> model.Monitor:
    if isinstance(monitor, str):
        return monitors.make(monitor, **params)
    if not isinstance(monitor, model.Monitor):
        raise MonMDPError(f"a monitor is a name or a finished Monitor, got {monitor!r}")
    if params:
        raise MonMDPError(f"a finished Monitor takes no parameters, got {', '.join(params)}")
    return monitor


def _refuse_monitored(env: gymnasium.Env[Any, Any]) -> None:
    """Refuse an environment whose reward is hidden already, or that resets by itself."""
    inner: Any = env
    while isinstance(inner, gymnasium.Wrapper) and not isinstance(inner, AddMonitor):
        if isinstance(inner, Autoreset):
            raise MonMDPError(
                "Autoreset must go around AddMonitor, which would not notice new episodes inside it"
            )
        inner = inner.env
    if isinstance(inner, AddMonitor | MonMDPEnv):
        raise MonMDPError(f"{env} has a monitor already; its reward is not the environment's")


def _check_transitions(
    monitor: model.Monitor, pressed: Pressed | None, params: Mapping[str, Any]
) -> None:
    """Demand `pressed` where the monitor has two transition tables, and only there."""
    tables = len(monitor.transition)
    if tables > 2:
        raise MonMDPError(
            f"monitor {monitor.name!r} has {tables} transition tables; `pressed` can choose "
            "between two"
        )
    if tables == 2 and pressed is None:
        raise MonMDPError(
            f"monitor {monitor.name!r} moves differently where something is pressed; say where: "
            "pressed=…, a function of (observation, action)"
        )
    if tables == 1 and pressed is not None:
        raise MonMDPError(f"monitor {monitor.name!r} has nothing to press: leave out `pressed`")
    for name in PAIR_PARAMETERS:
        if tables == 2 and params.get(name) is not None:
            raise MonMDPError(f"{name}={params[name]!r} names a state; use `pressed` instead")


def _class_of(monitor: model.Monitor, reward: float, bottom: bool) -> int:
    """The row of `show` for one step."""
    classify: Any = monitor.outcome_class
    if classify is shown_or_bottom:
        return int(not bottom)
    step = _OneOutcome(reward, bottom, monitor.name)
    if not callable(classify):  # an array for one world
        step.refuse()
    what = f"outcome_class of monitor {monitor.name!r}"
    with told(what):
        kind = int(np.asarray(classify(step)).reshape(-1)[0])
    if not 0 <= kind < len(monitor.show):
        raise MonMDPError(f"{what}: class {kind}; there are {len(monitor.show)} tables, from 0")
    return kind


def _check_predicate(predicate: Any, name: str, *arguments: str) -> None:
    """Demand that a user's function takes these arguments."""
    if predicate is None:
        return
    wanted = f"{name} must be a function of ({', '.join(arguments)})"
    if not callable(predicate):
        raise MonMDPError(f"{wanted}, got {predicate!r}")
    try:
        inspect.signature(predicate).bind(*arguments)
    except TypeError as error:
        raise MonMDPError(f"{wanted}: {error}") from None
    except ValueError:  # no signature to look at
        return


def _asked(predicate: Callable[..., Any] | None, name: str, *args: Any) -> bool:
    """The answer of a user's function, which must be yes or no; no if there is none."""
    answer = False if predicate is None else predicate(*args)
    if isinstance(answer, np.ndarray) and answer.size == 1:
        answer = answer.item()
    if not isinstance(answer, bool | np.bool_):
        raise MonMDPError(f"{name} must return True or False, got {answer!r}")
    return bool(answer)
