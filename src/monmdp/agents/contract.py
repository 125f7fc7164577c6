"""The contract of agents: what an agent is, what it can do, and what it is told.

An agent of this package is one class, a frozen dataclass derived from `AgentConfig`, which holds

    fields        the hyper-parameters, with a line of documentation each
    class facts   its name, its colour and cost, the figures of the paper that it is in
    State         a named tuple of arrays, all that the agent knows while it runs
    verbs         functions of that state: `begin_episode`, `act`, `update`, `test_policy`, and for
                  oracles `reveal`

The verbs stand in the class body, but their first argument is the state, not the configuration:
they run compiled, and the state is all that compiled code sees. The hyper-parameters are in it as
`parameters`, a named tuple with one entry for each field of the dataclass, and r_min and r_max.

*Parts* are functions of the state that verbs call, such as the bonus of Monitored MBIE-EB. They are
listed in `parts`. A subclass may override any verb or part. It then has a kind of state of its own,
for which compiled code runs the new function. An override that could never run is refused when
the class is made.

A setting may call for a state with other fields and other functions, such as one that plans
incrementally. Such a *variant* of the state is a second named tuple in the class body; `variants`
says what it does in its own way, and `variant` which one a configuration asks for. All else is as
for `State`. An oracle, which has the verb `reveal`, is a variant with the same fields.

Joint states and actions are indices s = sᵉ·|Sᵐ| + sᵐ and a = aᵉ·|Aᵐ| + aᵐ.
"""

from __future__ import annotations

import difflib
import inspect
import math
import types
import typing
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from monmdp.compiling import dispatched, implement, implementation, undefined
from monmdp.errors import MonMDPError, nearest
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray
from monmdp.model.mdp import number
from monmdp.model.monmdp import Shape
from monmdp.naming import Parameter, scope_of
from monmdp.planning.policy_iteration import learning_gamma

BOUNDS = {"r_min": "the least", "r_max": "the largest"}
"""what a problem says of its environment rewards"""


class Step(NamedTuple):
    """One step as compiled agents see it. What was not shown is not in it."""

    s: int
    a: int
    shown: bool
    """whether rᵉ was shown"""
    reward: float
    """rᵉ if it was shown, else 0, so that nothing can leak"""
    monitor_reward: float
    """rᵐ"""
    next_s: int
    terminated: bool
    """the episode ended here; running into a time limit is no end"""


class Transition(NamedTuple):
    """One step as an agent in plain Python sees it: there is no field for a hidden reward.

    >>> from monmdp.agents import Transition
    >>> info = {"reward_observed": False, "proxy_reward": 0.0, "monitor_reward": -0.2}
    >>> here, there, action = {"env": 0, "mon": 0}, {"env": 1, "mon": 0}, {"env": 2, "mon": 1}
    >>> step = Transition.from_step(here, action, there, False, info)
    >>> print(step.reward, step.monitor_reward)
    None -0.2
    """

    observation: Mapping[str, Any]
    """{"env": sᵉ, "mon": sᵐ}; an agent that sees observations has an array in the place of sᵉ"""
    action: Mapping[str, int]
    """{"env": aᵉ, "mon": aᵐ}"""
    reward: float | None
    """rᵉ if it was shown, else None (⊥)"""
    monitor_reward: float
    """rᵐ"""
    next_observation: Mapping[str, Any]
    terminated: bool
    """the episode ended here; running into a time limit is no end"""

    @classmethod
    def from_step(
        cls,
        observation: Mapping[str, Any],
        action: Mapping[str, int],
        next_observation: Mapping[str, Any],
        terminated: bool,
        info: Mapping[str, Any],
    ) -> Self:
        """Read it from what `env.step` returned; a missing key means not shown."""
        shown = bool(info.get("reward_observed", False))
        return cls(
            observation,
            action,
            float(info["proxy_reward"]) if shown else None,
            float(info.get("monitor_reward", 0.0)),
            next_observation,
            bool(terminated),
        )


ROUNDING = 1e-6
"""of rewards, which environments may give in single precision"""


def checked_reward(reward: Any, r_min: float | None, r_max: float | None) -> float:
    """Refuse a reward outside of the bounds, as far as they are known; rounding is no matter."""
    value = number(reward, "reward")
    if r_min is not None and value < r_min - ROUNDING * max(1, abs(r_min)):
        raise MonMDPError(f"reward {value:g} is below r_min = {r_min:g}")
    if r_max is not None and value > r_max + ROUNDING * max(1, abs(r_max)):
        raise MonMDPError(f"reward {value:g} is above r_max = {r_max:g}")
    return value


class View(NamedTuple):
    """What an agent that sees observations is told of a problem before it begins.

    >>> import monmdp
    >>> view = monmdp.agents.view_of(monmdp.make("loop", "ask"))  # no table: one-hot vectors
    >>> view.observation, str(view.dtype), view.n_env_actions, view.n_monitor_actions
    ((9,), 'uint8', 5, 2)
    """

    observation: tuple[int, ...]
    """the shape of one observation"""
    dtype: np.dtype[Any]
    """of its numbers"""
    n_monitor_states: int
    n_env_actions: int
    n_monitor_actions: int
    r_min: float
    """the least environment reward there can be"""
    r_max: float
    """the largest"""


# ---- verbs ----------------------------------------------------------------------------------


@undefined
def begin_episode(agent: Any, rng: np.random.Generator) -> bool:  # type: ignore[empty-body]
    """Plan the next episode; return whether it explores in order to observe."""


@undefined
def act(agent: Any, s: int, rng: np.random.Generator) -> int:  # type: ignore[empty-body]
    """Choose a joint action in the joint state s."""


@undefined
def update(agent: Any, step: Step) -> None:
    """Learn from one step."""


@undefined
def test_policy(agent: Any, policy: FloatArray) -> None:
    """Write the policy that would be used now if learning were over into policy[s, a]."""


@dispatched
def reveal(agent: Any, reward: float) -> None:
    """Hand over rᵉ, shown or not, before `update`: the one door for hidden rewards.

    Only oracles have it, agents that serve as an upper reference and whose configuration says so
    (`sees_hidden_rewards`); for all others nothing happens.
    """


VERBS: tuple[Callable[..., Any], ...] = (begin_episode, act, update, test_policy)


# ---- configurations -------------------------------------------------------------------------


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
    label: ClassVar[str] = ""
    """what legends call it; empty: its name"""
    colour: ClassVar[str] = ""
    """#rrggbb of its curves"""
    line: ClassVar[Literal["-", ":", "-."]] = "-"
    """of its curves: there are too many agents to differ by colour alone"""
    microseconds: ClassVar[tuple[float, float]] = (3.0, 0.0)
    """CPU time of a step, about: so much, and so much more for each joint pair"""
    figures: ClassVar[tuple[int, ...]] = ()
    """the figures of the paper that it is in"""
    needs: ClassVar[tuple[str, ...]] = ()
    """the bounds of the environment reward that it must know: r_min, r_max"""
    snapshot_fields: ClassVar[tuple[str, ...]] = ()
    """the arrays of its state that a snapshot keeps, beside the test policy"""
    slow_verbs: ClassVar[tuple[str, ...]] = ()
    """verbs that do much: they are compiled for stepwise agents, too, and not copied to where they
    are called"""
    borrows: ClassVar[bool] = False
    """whether its verbs make no arrays while they run: then numba need not count who holds one"""
    parts: ClassVar[tuple[Callable[..., Any], ...]] = ()
    """the functions beside the verbs that a subclass may override"""
    State: ClassVar[Any] = None
    """the named tuple of arrays that the verbs work on; its first field is `parameters`"""
    variants: ClassVar[Mapping[str, Mapping[Callable[..., Any], Callable[..., Any]]]] = {}
    """other named tuples of the class that a configuration may ask for: name -> verbs and parts
    that it has in place of those of `State`; none of them makes arrays, so that all borrow"""

    gamma: float = 0.99
    """γ, the discount"""

    def __init_subclass__(cls, **options: Any) -> None:
        """Take up verbs and parts; refuse those that would never run."""
        super().__init_subclass__(**options)
        take_up(cls)

    def __post_init__(self) -> None:
        """Refuse what is no number, out of range or no choice."""
        what = f"agent {self.name!r}"
        undeclared = _annotated(type(self)) - {field.name for field in fields(self)}
        if undeclared:
            raise MonMDPError(
                f"{type(self).__name__}: {', '.join(sorted(undeclared))} would be ignored; write "
                "@dataclass(frozen=True, kw_only=True) above the class"
            )
        parameters: Mapping[str, Parameter] = scope_of(type(self), what).parameters
        for field in fields(self):
            value = parameters[field.name].coerce(getattr(self, field.name), what)
            if isinstance(value, float):
                value = number(value, field.name)
            object.__setattr__(self, field.name, value)
        object.__setattr__(self, "gamma", learning_gamma(self.gamma))
        self.check()

    # What a kind of agent may say of itself.

    def check(self) -> None:
        """Refuse values that make no sense for this agent."""

    @property
    def needs_model(self) -> bool:
        """Whether the agent is given the monitor, and so needs a `MonMDP`."""
        return False

    @property
    def sees_hidden_rewards(self) -> bool:
        """Whether it is an oracle, which is handed rewards that were not shown (`reveal`)."""
        return False

    @property
    def variant(self) -> str | None:
        """The variant of `State` that it asks for; None: `State` itself."""
        return "Oracle" if self.sees_hidden_rewards else None

    @classmethod
    def paper_settings(cls, world: str, monitor: str, figure: int | None) -> dict[str, Any]:
        """Return where the paper's settings differ from the defaults."""
        del world, monitor, figure
        return {}

    def check_model(self, model: MonMDP | None) -> None:
        """Refuse a problem that this agent is not made for; None is one without a model."""
        if not self.needs_model:
            return
        asked = " with knows_monitor=true" if hasattr(self, "knows_monitor") else ""
        what = f"agent {self.name!r}{asked}"
        if model is None:
            raise MonMDPError(
                f"{what} must be given the monitor: it takes a MonMDP or one of its environments, "
                "not an environment without a model"
            )
        if model.monitor.reads_reward:
            raise MonMDPError(
                f"{what} is not offered for monitor {model.monitor.name!r}: whether it shows a "
                "reward depends on the reward, so to know the monitor is to know rᵉ"
            )

    def memory(self, shape: Shape) -> int:
        """Return the bytes of a table so large that it limits how many agents fit; usually 0."""
        del shape
        return 0

    def for_training(self, steps: int) -> Self:
        """Return the configuration for a training of that many steps, if it makes a difference."""
        del steps
        return self

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state, but `parameters`, of an agent that has seen nothing.

        With a `model` all the room it will ever need is set aside at once; what is in the model
        reaches only the agents that are said to need it.
        """
        raise NotImplementedError

    def with_room(self, state: Any, step: Step) -> Any:
        """Return a state with room for one more step; without a model, tables grow on the way."""
        del step
        return state

    def certified(self, state: Any) -> int | None:
        """Return the step at which the agent was sure that its test policy is good enough.

        None: it is not sure, or does not say so.
        """
        del state
        return None

    # What follows for all of them.

    def hyper_parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters by name."""
        return asdict(self)

    def new_state(
        self,
        shape: Shape,
        r_min: float | None = None,
        r_max: float | None = None,
        model: MonMDP | None = None,
    ) -> Any:
        """Return the state of an agent that has seen nothing yet.

        Args:
            shape: the sizes of the spaces.
            r_min: the least environment reward there can be, if it is known.
            r_max: the largest.
            model: the problem, if it is known.
        """
        self.check_model(model)
        self._check_bounds(r_min, r_max)
        if self.sees_hidden_rewards and self.variant != "Oracle":
            raise MonMDPError(f"{type(self).__name__}: an oracle cannot be {self.variant}, too")
        kind = _state_of(type(self), self.variant)
        values = {name: _compiled_value(self, name) for name in kind.Parameters._fields[:-2]}
        bounds = {"r_min": r_min, "r_max": r_max}
        known = {name: math.nan if x is None else float(x) for name, x in bounds.items()}
        parameters = kind.Parameters(**values, **known)
        return kind(**{"parameters": parameters} | self.blank(shape, parameters, model))

    def _check_bounds(self, r_min: float | None, r_max: float | None) -> None:
        """Demand the bounds that this agent needs."""
        given = {"r_min": r_min, "r_max": r_max}
        for name in self.needs:
            if given[name] is None:
                raise MonMDPError(
                    f"agent {self.name!r} needs {name}=…: {BOUNDS[name]} environment reward there "
                    "can be, which this environment does not tell"
                )
        if r_min is not None and r_max is not None and r_max < r_min:
            raise MonMDPError(f"r_max = {r_max:g} is below r_min = {r_min:g}")

    def snapshot(self, state: Any, shape: Shape) -> dict[str, Any]:
        """Return copies of counts and action values, and the test policy."""
        n_se, n_sm, n_ae, n_am = shape
        places = (state, *(value for value in state if hasattr(value, "_fields")))
        kept = {
            name: next(getattr(place, name) for place in places if hasattr(place, name)).copy()
            for name in self.snapshot_fields
        }
        policy = np.zeros((n_se * n_sm, n_ae * n_am))
        test_policy(state, policy)
        return kept | {"policy": policy}


def at_least_zero(config: AgentConfig, *names: str) -> None:
    """Refuse negative values of these fields."""
    for name in names:
        if getattr(config, name) < 0:
            raise MonMDPError(f"{name} must not be negative, got {getattr(config, name):g}")


# ---- how classes become kinds of states -----------------------------------------------------


def take_up(cls: type[AgentConfig]) -> None:
    """Find a class's verbs and parts, check them, and give it a kind of state if it needs one."""
    base = next(kind for kind in cls.__mro__[1:] if issubclass(kind, AgentConfig))
    verbs: tuple[Callable[..., Any], ...] = (*VERBS, reveal, *cls.parts)
    overridable = {verb.__name__: verb for verb in verbs}
    _refuse_unknown(cls, overridable)
    for part in cls.parts:  # what a subclass may override, and call
        if inspect.getattr_static(cls, part.__name__, None) is None:
            setattr(cls, part.__name__, staticmethod(implementation(part, object)))
    functions = {}
    for name, verb in overridable.items():
        found = inspect.getattr_static(cls, name, None)
        if found is not None:
            functions[verb] = _checked(cls, name, verb, found)
            if name in vars(cls):
                setattr(cls, name, staticmethod(functions[verb]))
    declared = "State" in vars(cls)
    same = functions == getattr(base, "_functions", None) and not _annotated(cls) - _fields(base)
    cls._functions = functions  # type: ignore[attr-defined]
    if cls.State is None or (same and not declared):
        return
    lacking = [verb.__name__ for verb in VERBS if verb not in functions]
    if lacking and not hasattr(cls, "name"):
        return  # what some agents have in common
    if lacking:
        raise MonMDPError(f"{cls.__name__} has a State, but no {' and no '.join(lacking)}")
    if not declared:
        cls.State = _heir(cls.State, cls, "State")
    cls._owner = cls  # type: ignore[attr-defined]
    cls.State.borrows = cls.borrows
    public = {verb: function for verb, function in functions.items() if verb is not reveal}
    implement(cls.State, public, cls.slow_verbs)
    if reveal in functions:
        cls.State.Oracle = _heir(cls.State, cls.State, "Oracle")
        implement(cls.State.Oracle, functions, cls.slow_verbs)
    for name, own in cls.variants.items():
        _take_up_variant(cls, name, own, public)


def _take_up_variant(
    cls: Any,
    name: str,
    own: Mapping[Callable[..., Any], Callable[..., Any]],
    functions: Mapping[Callable[..., Any], Callable[..., Any]],
) -> None:
    """Give a class a variant of its state, with functions of its own beside those of the class."""
    if name not in vars(cls):
        setattr(cls, name, _heir(getattr(cls, name), cls, name))
        # A class further up has said what the variant's own functions stand for.
    else:
        getattr(cls, name).stands_for = {verb: functions[verb] for verb in own if verb in functions}
    kind = getattr(cls, name)
    kind.borrows = True
    implement(kind, {**functions, **own}, cls.slow_verbs)
    setattr(cls.State, name, kind)


def _refuse_unknown(cls: type[AgentConfig], overridable: Mapping[str, Any]) -> None:
    """Refuse functions of the state that nothing would ever call."""
    for name, value in vars(cls).items():
        if name in overridable or not isinstance(value, types.FunctionType):
            continue
        is_method = list(inspect.signature(value).parameters)[:1] == ["self"]
        if not is_method or difflib.get_close_matches(name, overridable, cutoff=0.8):
            hint = nearest(name, overridable)
            raise MonMDPError(f"{cls.__name__}.{name} is no verb or part of an agent{hint}")


def _checked(cls: type, name: str, verb: Callable[..., Any], found: Any) -> Callable[..., Any]:
    """Demand that an override is a function of the state."""
    function = found.__func__ if isinstance(found, staticmethod) else found
    wanted = f"def {name}({', '.join(inspect.signature(verb).parameters)})"
    if isinstance(function, types.FunctionType):
        arguments = list(inspect.signature(function).parameters.values())
        positional = [p for p in arguments if p.kind is p.POSITIONAL_OR_KEYWORD]
        fits = len(positional) == len(arguments) == len(inspect.signature(verb).parameters)
        if fits and arguments[0].name != "self":
            return function
        got = f"def {name}({', '.join(map(str, arguments))})"
    else:
        got = f"a {type(function).__name__}"
    raise MonMDPError(
        f"{cls.__name__}: {name} must be a function of the agent's state that can be compiled, "
        f"{wanted}, got {got}. An agent in plain Python is a class of its own, not derived from an "
        "agent of this package"
    )


def _state_of(cls: Any, variant: str | None) -> Any:
    """Return the kind of state that a class's agents have."""
    if cls.State is None:
        raise MonMDPError(f"{cls.__name__} has no State: it is no agent that can run")
    for verb, function in cls._functions.items():
        now = inspect.getattr_static(cls, verb.__name__)
        if getattr(now, "__func__", now) is not function:
            raise MonMDPError(
                f"{cls.__name__}.{verb.__name__} was replaced after the class was made, which "
                "has no effect; write a subclass"
            )
    if "Parameters" not in vars(cls._owner):  # not earlier: @dataclass comes after the class
        names = [field.name for field in fields(cls._owner)]
        made: Any = namedtuple("Parameters", [*names, *BOUNDS])  # type: ignore[misc]
        made.__module__, made.__qualname__ = cls._owner.__module__, _within(cls._owner, made)
        cls._owner.Parameters = cls.State.Parameters = made
        for name in cls.variants:
            getattr(cls.State, name).Parameters = made
    if variant is None:
        return cls.State
    if not hasattr(cls.State, variant):
        raise MonMDPError(f"{cls.__name__} says that it sees hidden rewards, but has no reveal")
    kind = getattr(cls.State, variant)
    for verb, function in getattr(kind, "stands_for", {}).items():
        if cls._functions[verb] is not function:
            raise MonMDPError(
                f"{cls.__name__}.{verb.__name__} would never run: the state that this "
                f"configuration asks for, {variant}, has a {verb.__name__} of its own"
            )
    return kind


def _heir(kind: type, owner: type, name: str) -> Any:
    """Return a kind of state with the same fields that can be found within its owner."""
    place = {"__module__": owner.__module__, "__qualname__": f"{owner.__qualname__}.{name}"}
    return type(name, (kind,), {"__slots__": (), **place})


def _within(owner: type, kind: type) -> str:
    return f"{owner.__qualname__}.{kind.__name__}"


def _annotated(cls: type) -> set[str]:
    """The names that a class body annotates as fields."""
    found = inspect.get_annotations(cls).items()
    return {name for name, of in found if "ClassVar" not in str(of)}


def _fields(cls: type) -> set[str]:
    return set(getattr(cls, "__dataclass_fields__", ()))


def _compiled_value(config: AgentConfig, name: str) -> Any:
    """Return a hyper-parameter as compiled code reads it.

    A choice becomes its index among the choices; none becomes NaN, or 0 for a whole number.
    """
    value = getattr(config, name)
    annotation = scope_of(type(config), config.name).parameters[name].annotation
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation).index(value)
    if value is None:
        return 0 if int in typing.get_args(annotation) else math.nan
    if not isinstance(value, bool | int | float):
        raise MonMDPError(f"{name} of {config.name!r} must be a number, true or false, or a choice")
    return value
