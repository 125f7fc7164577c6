"""A Mon-MDP as a Gymnasium environment.

What travels where:

* ``reward``: the monitor's reward plus the environment's reward if it was shown, else plus `fill`.
  It is a signal to learn from, not the objective: the return counts rᵉ whether or not it was shown.
* ``info["reward_observed"]``: whether rᵉ was shown; also there, and false, after a reset. A missing
  key means not shown. ``info["proxy_reward"]`` is rᵉ if shown, else `fill`;
  ``info["monitor_reward"]`` is rᵐ.
* ``info["env_reward"]``: the true rᵉ, only with ``expose_env_reward=True``. Evaluators may read it,
  learners must not.

Stepping never gives a hidden reward away, neither in what it returns nor in what it draws. The
model itself, ``env.unwrapped.monmdp``, is the experimenter's: a learner that reads it is cheating.

Observations are ``{"env": sᵉ, "mon": sᵐ}``. With ``observations="table"`` the row of sᵉ in the
world's table of observations stands in place of sᵉ.

A reset draws exactly two uniforms from ``self.np_random`` and a step exactly three. The environment
truncates itself at the world's time limit.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from monmdp.catalogue import make
from monmdp.errors import MonMDPError, nearest
from monmdp.model import MDP, Monitor, MonMDP
from monmdp.model.dynamics import reset, step
from monmdp.model.mdp import number

Observation = dict[str, Any]
Observations = Literal["number", "table"]


class Event(NamedTuple):
    """What a picture says about the last step."""

    ae: int
    am: int
    monitor_reward: float
    reward: float | None
    """rᵉ, if it was shown"""


class MonMDPEnv(gymnasium.Env[Observation, Observation]):
    """The environment; observations and actions are ``{"env": int, "mon": int}``.

    >>> from monmdp import worlds
    >>> from monmdp.envs import MonMDPEnv
    >>> lake = worlds.from_environment("FrozenLake-v1", is_slippery=False)
    >>> env = MonMDPEnv(lake, "ask", observations="table")
    >>> env.observation_space["env"]
    Box(0, 1, (16,), uint8)
    """

    # gymnasium declares it for instances, yet reads it from the class
    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 4,
    }

    def __init__(
        self,
        world: str | MDP | MonMDP | None = None,
        monitor: str | Monitor = "full",
        *,
        fill: float = 0.0,
        expose_env_reward: bool = False,
        render_mode: str | None = None,
        observations: Observations = "number",
        **params: Any,
    ) -> None:
        """Make the environment.

        Args:
            world: what `monmdp.make` takes, or a finished `MonMDP`.
            monitor: what `monmdp.make` takes; the Full monitor shows every reward.
            fill: stands for a reward that was not shown.
            expose_env_reward: put the true reward into ``info["env_reward"]``, for evaluators.
            render_mode: ``rgb_array`` or ``ansi``.
            observations: show the state sᵉ as its ``number``, or as its row of the world's
                ``table`` of observations (`MDP.observations`), a `Box`.
            **params: parameters of world and monitor.
        """
        if world is None:
            raise MonMDPError("no world given: world=… is a name or the path of a map file")
        if isinstance(world, MonMDP):
            if params or monitor != "full":
                raise MonMDPError("a finished MonMDP takes no monitor and no parameters")
            self.monmdp = world
        else:
            self.monmdp = make(world, monitor, **params)
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise MonMDPError(f"render_mode {render_mode!r}{nearest(str(render_mode), modes)}")
        self.render_mode = render_mode
        self.fill = number(fill, "fill")
        self._expose_env_reward = switch(expose_env_reward, "expose_env_reward")
        mdp, mon = self.monmdp.mdp, self.monmdp.monitor
        self.states = spaces.Dict(
            {"env": spaces.Discrete(mdp.n_states), "mon": spaces.Discrete(mon.n_states)}
        )
        self.observation_space = self.states
        self.table = _table(mdp, observations)
        if self.table is not None:
            self.observation_space = spaces.Dict(
                {"env": _box(self.table), "mon": self.states["mon"]}
            )
        self.action_space = spaces.Dict(
            {"env": spaces.Discrete(mdp.n_actions), "mon": spaces.Discrete(mon.n_actions)}
        )
        self._tables = self.monmdp.tables
        self._shape = self.monmdp.shape
        self._limit = mdp.time_limit
        self._state = (0, 0)
        self._steps = 0
        self._over = True
        self._last: Event | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; ``options={"env": s, "mon": s}`` chooses where (either or both)."""
        super().reset(seed=seed)
        u = self.np_random.random(2)
        se, sm = reset(self._tables, u[0], u[1])
        chosen = {"env": se, "mon": sm} | chosen_start(options, self.states)
        self._state = (chosen["env"], chosen["mon"])
        self._steps = 0
        self._over = False
        self._last = None
        info = {"reward_observed": False, "monitor_reward": 0.0, "proxy_reward": self.fill}
        return self._observation(), info

    def step(self, action: Observation) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take a joint action ``{"env": aᵉ, "mon": aᵐ}``."""
        ae, am = divmod(self._shape.joint_action(action), self._shape.n_monitor_actions)
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over, or never began: call reset()")
        se, sm = self._state
        u = self.np_random.random(3)
        next_se, next_sm, re, rm, shown, ended = step(
            self._tables, se, sm, ae, am, u[0], u[1], u[2]
        )
        self._state = (int(next_se), int(next_sm))
        self._steps += 1
        terminated = bool(ended)
        truncated = not terminated and self._limit is not None and self._steps >= self._limit
        self._over = terminated or truncated
        proxy = float(re) if shown else self.fill
        info = {"reward_observed": bool(shown), "monitor_reward": float(rm), "proxy_reward": proxy}
        if self._expose_env_reward:
            info["env_reward"] = float(re)
        if self.render_mode is not None:
            self._last = Event(ae, am, float(rm), proxy if shown else None)
        return self._observation(), float(rm) + proxy, terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | str | None:
        """Draw the world with the agent, the monitor's state and whether the reward was shown."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called, but no render_mode was given to make()")
            return None
        se, sm = self._state
        return picture(self.monmdp, self.render_mode, se, sm, self._steps, self._last)

    def _observation(self) -> Observation:
        se, sm = self._state
        return {"env": se if self.table is None else self.table[se].copy(), "mon": sm}


def _table(mdp: MDP, observations: Observations) -> NDArray[Any] | None:
    """[state, ...] what is shown of each state; None: its number."""
    if observations not in get_args(Observations):
        known = nearest(str(observations), get_args(Observations))
        raise MonMDPError(f"observations={observations!r}{known}")
    if observations == "number":
        return None
    if mdp.observations is None:
        raise MonMDPError(
            f"observations='table': the world {mdp.name!r} has no table of observations; "
            "worlds.from_environment makes one, and MDP(observations=…) takes one"
        )
    table = mdp.observations
    return table.view(np.uint8) if table.dtype == np.bool_ else table  # no Box is of booleans


def _box(table: NDArray[Any]) -> spaces.Box:
    """The space of the rows of a table."""
    return spaces.Box(table.min(), table.max(), table.shape[1:], table.dtype.type)


def switch(value: Any, name: str) -> bool:
    """Return a bool, or refuse: the word "false" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise MonMDPError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def chosen_start(options: Any, states: Any) -> dict[str, int]:
    """Return the states that the options of a reset choose, checked."""
    if options is not None and not isinstance(options, dict):
        raise MonMDPError(f'reset options are {{"env": s, "mon": s}}, got {options!r}')
    for key, value in (options or {}).items():
        space = states.spaces.get(key)
        if space is None:
            raise MonMDPError(f"unknown reset option {key!r}{nearest(str(key), states.spaces)}")
        if not space.contains(value):
            raise MonMDPError(f"reset option {key}={value!r} is not a state; there are {space.n}")
    return {key: int(value) for key, value in (options or {}).items()}


def picture(
    monmdp: MonMDP, mode: str, se: int, sm: int, steps: int, last: Event | None
) -> NDArray[np.uint8] | str:
    """Draw one moment of an episode, as ``ansi`` text or as an ``rgb_array``."""
    from monmdp import drawing

    mdp, monitor = monmdp.mdp, monmdp.monitor
    said = "no step yet"
    if last is not None:
        reward = "reward hidden (⊥)" if last.reward is None else f"reward {last.reward:g} shown"
        said = (
            f"{mdp.action_labels[last.ae]} + {monitor.actions[last.am]}: {reward}, "
            f"monitor reward {last.monitor_reward:g}"
        )
    caption = f"step {steps}\n{said}"
    if mode == "ansi":
        return f"{drawing.grid_text(mdp, agent=se)}\nmonitor {monitor.states[sm]}, {caption}\n"
    frame: NDArray[np.uint8] = drawing.frame(
        monmdp,
        se,
        sm,
        caption=caption,
        shown=None if last is None else last.reward is not None,
        monitor_reward=0.0 if last is None else last.monitor_reward,
    )
    return frame
