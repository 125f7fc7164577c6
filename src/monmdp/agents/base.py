"""What the agents of this package have in common: configurations, and the step handed to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray
from monmdp.model.mdp import number
from monmdp.model.monmdp import Shape
from monmdp.naming import Parameter, scope_of
from monmdp.planning.policy_iteration import checked_gamma


class Transition(NamedTuple):
    """One step as an agent sees it. There is no field for a reward that was not shown.

    >>> from monmdp.agents import Transition
    >>> info = {"reward_observed": False, "proxy_reward": 0.0, "monitor_reward": -0.2}
    >>> here, there, action = {"env": 0, "mon": 0}, {"env": 1, "mon": 0}, {"env": 2, "mon": 1}
    >>> step = Transition.from_step(here, action, there, False, info)
    >>> print(step.reward, step.monitor_reward)
    None -0.2
    """

    observation: Mapping[str, int]
    """{"env": sᵉ, "mon": sᵐ}"""
    action: Mapping[str, int]
    """{"env": aᵉ, "mon": aᵐ}"""
    reward: float | None
    """rᵉ if it was shown, else None (⊥)"""
    monitor_reward: float
    """rᵐ"""
    next_observation: Mapping[str, int]
    terminated: bool
    """the episode ended here; running into a time limit is no end"""

    @classmethod
    def from_step(
        cls,
        observation: Mapping[str, int],
        action: Mapping[str, int],
        next_observation: Mapping[str, int],
        terminated: bool,
        info: Mapping[str, Any],
    ) -> Self:
        """Read it from what `env.step` returned; a key that is missing means not shown."""
        shown = bool(info.get("reward_observed", False))
        return cls(
            observation,
            action,
            float(info["proxy_reward"]) if shown else None,
            float(info.get("monitor_reward", 0.0)),
            next_observation,
            bool(terminated),
        )


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    """Hyper-parameters of an agent: frozen, checked, documented field by field.

    >>> from monmdp import agents
    >>> config = agents.MonitoredMBIEEB(beta=0.001, gamma=0.95)
    >>> config.name, config.hyper_parameters()["beta"]
    ('monitored-mbie-eb', 0.001)
    """

    name: ClassVar[str]
    """what the command line calls the agent"""
    snapshot_fields: ClassVar[tuple[str, ...]] = ()
    """what of its state a snapshot keeps: counts and action values"""
    slow_verbs: ClassVar[tuple[str, ...]] = ()
    """what of it takes so long that it is compiled for stepwise agents, too"""
    pools_visits: ClassVar[bool] = False
    """whether it counts visits of environment pairs alone, whatever the monitor did"""
    explains: ClassVar[Mapping[str, str]] = {}
    """layer -> a sentence that says what it shows, where the usual one would be wrong"""

    gamma: float = 0.99
    """γ, the discount"""

    def __post_init__(self) -> None:
        """Refuse what is no number, out of range or no choice."""
        what = f"agent {self.name!r}"
        parameters: Mapping[str, Parameter] = scope_of(type(self), what).parameters
        for field in fields(self):
            value = parameters[field.name].coerce(getattr(self, field.name), what)
            if isinstance(value, float):
                value = number(value, field.name)
            object.__setattr__(self, field.name, value)
        object.__setattr__(self, "gamma", checked_gamma(self.gamma))
        self.check()

    @property
    def needs_model(self) -> bool:
        """Whether the agent is given the monitor, and so needs a `MonMDP`."""
        return False

    @property
    def sees_hidden_rewards(self) -> bool:
        """Whether it is an oracle, handed rewards that were not shown, through `verbs.reveal`."""
        return False

    @property
    def takes_unseen_for(self) -> str:
        """What a reward that was tried and never shown counts as, in words."""
        return "unknown"

    def check(self) -> None:
        """Refuse values that make no sense for this agent."""

    def check_model(self, model: MonMDP | None) -> None:
        """Refuse a problem that this agent is not made for; None is one without a model."""

    def hyper_parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters by name."""
        return asdict(self)

    def state(self, shape: Shape, r_min: float, model: MonMDP | None = None) -> Any:
        """Return the state of an agent that has seen nothing yet.

        With a `model` all the room it will ever need is set aside at once; what is in the model
        reaches only the agents that are said to need it.
        """
        raise NotImplementedError

    def memory(self, shape: Shape) -> int:
        """Return the bytes of a table so large that it limits how many agents fit; usually 0."""
        del shape
        return 0

    def for_training(self, steps: int) -> Self:
        """Return the configuration for a training of so many steps, if that makes a difference."""
        del steps
        return self

    def snapshot(self, state: Any) -> dict[str, Any]:
        """Return copies of counts and action values."""
        return {name: getattr(state, name).copy() for name in self.snapshot_fields}

    def layers(self, snapshot: Mapping[str, Any], monmdp: MonMDP) -> dict[str, FloatArray]:
        """Return what one snapshot says of the cells of a map; `agents.layers` has the names."""
        del snapshot, monmdp
        return {}

    def with_room(self, state: Any, s: int, a: int, next_s: int) -> Any:
        """Return a state with room for one more step; without a model, tables grow on the way."""
        del s, a, next_s
        return state


def at_least_zero(config: AgentConfig, *names: str) -> None:
    """Refuse negative values of these fields."""
    for name in names:
        if getattr(config, name) < 0:
            raise MonMDPError(f"{name} must not be negative, got {getattr(config, name):g}")


def tried_with(shape: Shape, model: MonMDP | None) -> tuple[Any, Any]:
    """Return how many successors to set room aside for: [env pair], [joint pair]."""
    n_se, n_sm, n_ae, n_am = shape
    if model is None:
        return np.full(n_se * n_ae, 2), np.full(n_se * n_sm * n_ae * n_am, 2)
    mdp, monitor = model.mdp, model.monitor
    arrows = np.unique(mdp.pair_of_outcome * np.int64(n_se) + mdp.successor)
    env = np.bincount(arrows // n_se, minlength=n_se * n_ae)
    watched = (monitor.transition > 0).sum(axis=-1)[model.pair_class]  # [env pair, sm, am]
    joint = (env[:, None, None] * watched).reshape(n_se, n_ae, n_sm, n_am)
    return env, np.ascontiguousarray(joint.transpose(0, 2, 1, 3)).reshape(-1)
