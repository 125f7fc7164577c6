"""What a suite says its runs show: claims, stated as data beside the panels they speak of.

A claim is a list of sentences. A sentence names a check, the agents it is about, and the settings
it speaks of, by what they are: world, monitor, ρ, another parameter, or the title of a block. The
order of blocks and agents in a suite does not matter. `results/claims.py` judges the sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictInt,
    model_serializer,
    model_validator,
)

from monmdp.errors import nearest

CHECKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ends-at": ((), ("value", "score", "height")),
    "ends-below": ((), ("value", "score", "height")),
    "ends-above": (("value",), ("score", "height")),
    "starts-above": (("value",), ("score",)),
    "does-not-fall": (("score",), ()),
    "better": (("rival",), ("at_least",)),
    "better-or-on-par": (("rival",), ()),
    "not-worse": (("rival",), ()),
    "on-par": (("rival",), ("height",)),
    "fewer-steps": (("rival", "share"), ()),
    "times-fewer-steps": (("rival", "times"), ()),
    "every-seed-converges": ((), ("within",)),
    "runs-converge": (("share",), ("within",)),
    "less-regret": (("rival", "share"), ()),
    "worse-along": (("along",), ()),
    "hindered-more": (("rival", "along"), ()),
    "similar-along": (("along",), ("factor",)),
}
"""name -> keys that it needs, and may have; docs/howto/stating-claims.md says what they check"""
COMMON = ("says", "check", "agent", "where", "of")
"""keys of all sentences; `says` and `agent` are needed"""


def _many(value: Any) -> Any:
    """``0.05`` is short for ``[0.05]``."""
    return value if isinstance(value, list | tuple) else (value,)


Value = bool | int | float | str
Values = Annotated[tuple[Value, ...], BeforeValidator(_many), Field(min_length=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Frozen(BaseModel):
    """Data that cannot be changed, and takes no key that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Sentence(Frozen):
    """One thing that is said of some runs; it gets one verdict."""

    says: str
    """in words, for people"""
    check: str
    """a key of `CHECKS`"""
    agent: str
    """name or label of the agent it is about"""
    rival: str | None = None
    where: Mapping[str, Values] = {}
    """the settings: block, world, monitor, rho or a parameter -> what it may be"""
    along: Mapping[str, Annotated[tuple[Value, ...], Field(min_length=2)]] | None = None
    """one key of this kind -> its values, in the order in which settings are compared"""
    score: Literal["episode_return", "goal_visits", "bottom_visits"] = "episode_return"
    value: float | Literal["v"] = "v"
    """a number, or v, the minimax return"""
    height: Positive | None = None
    """of the axis by which ends are judged; without it, max(1, |v|)"""
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    times: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None
    factor: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 1.5
    """what still counts as about as fast"""
    within: Annotated[StrictInt, Field(ge=1)] | None = None
    """the steps after which a run counts as one that never converged"""
    at_least: Annotated[StrictInt, Field(ge=1)] | None = None
    """in how many settings; without it, in all"""
    of: Annotated[StrictInt, Field(ge=1)] | None = None
    """of how many settings it speaks; without it, those of the suite"""

    @model_validator(mode="after")
    def _check(self) -> Sentence:
        if self.check not in CHECKS:
            raise ValueError(f"check: there is no {self.check!r}{nearest(self.check, CHECKS)}")
        needed, allowed = CHECKS[self.check]
        given = {name for name in self.model_fields_set if getattr(self, name) is not None}
        missing = [key for key in needed if key not in given]
        foreign = sorted(given - {*COMMON, *needed, *allowed})
        if missing:
            raise ValueError(f"check {self.check!r} needs {', '.join(missing)}")
        if foreign:
            raise ValueError(f"check {self.check!r} does not take {', '.join(foreign)}")
        if self.along is not None and len(self.along) != 1:
            raise ValueError("along: one key and its values, such as { rho = [0.8, 0.2] }")
        return self

    @model_serializer(mode="wrap")
    def _as_given(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what was not given: a check refuses keys that are not its own."""
        return {key: value for key, value in dump(self).items() if key in self.model_fields_set}

    @property
    def axis(self) -> tuple[str, tuple[Value, ...]]:
        """Return the key and the values along which settings are compared."""
        assert self.along is not None
        ((key, values),) = self.along.items()
        return key, values

    @property
    def agents(self) -> tuple[str, ...]:
        """Return whom it is about, and whom they are compared with."""
        return (self.agent,) if self.rival is None else (self.agent, self.rival)

    def settings(self) -> dict[str, tuple[Value, ...]]:
        """Return what its settings may be, all of them together."""
        return {**self.where, **(self.along or {})}


class Claim(Frozen):
    """What a suite says its runs show, ``[[claim]]`` in TOML."""

    name: str
    about: str = ""
    sentence: Annotated[tuple[Sentence, ...], Field(min_length=1)]


@dataclass(frozen=True)
class Setting:
    """What one panel of a suite is about, as claims address it."""

    block: str
    world: str
    monitor: str
    problem: Mapping[str, Any]
    """parameters by part: ``monitor.rho``"""

    def is_among(self, wanted: Mapping[str, Iterable[Value]]) -> bool:
        """Return whether it has one of the wanted values of every key."""
        return all(self[key] in values for key, values in wanted.items())

    def __getitem__(self, key: str) -> Value:
        """Return the block, the world, the monitor, or a parameter; without one, ρ is 1."""
        if key in ("block", "world", "monitor"):
            return str(getattr(self, key))
        for name, value in self.problem.items():
            if key in (name, name.partition(".")[2]):
                return value  # type: ignore[no-any-return]
        return 1.0 if key == "rho" else False

    def apart_from(self, key: str) -> tuple[Any, ...]:
        """Return what it is but for a key; with a world or a monitor go its own parameters."""
        names = [getattr(self, name) for name in ("world", "monitor") if name != key]
        given = {
            name: value
            for name, value in self.problem.items()
            if key not in (name, name.partition(".")[2])
            and (name == "monitor.rho" or name.partition(".")[0] != key)
        }
        return (*names, given)


Agents = Sequence[tuple[str, str]]
"""name and label of every agent of a setting"""


def checked(
    claims: Iterable[Claim], settings: Sequence[tuple[Setting, Agents]]
) -> tuple[Claim, ...]:
    """Return the claims with the number of settings that each sentence speaks of.

    `settings` are those of the suite. A sentence that speaks of none of them, or of an agent that
    one of them lacks, is an error that names the nearest there is.
    """
    found = []
    for i, claim in enumerate(claims):
        sentences = []
        for j, sentence in enumerate(claim.sentence):
            where = f"claim[{i}].sentence[{j}]"
            n = _count(sentence, settings, where)
            of, at_least = sentence.of or n, sentence.at_least or 0
            if of < n:
                raise ValueError(f"{where}.of: it speaks of {n} settings, not of {of}")
            if at_least > of:
                raise ValueError(f"{where}.at_least: it speaks of {of} settings, not of {at_least}")
            sentences.append(sentence.model_copy(update={"of": of}))
        found.append(claim.model_copy(update={"sentence": tuple(sentences)}))
    return tuple(found)


def _count(sentence: Sentence, settings: Sequence[tuple[Setting, Agents]], where: str) -> int:
    """Check a sentence, and return of how many settings it speaks."""
    wanted = sentence.settings()
    keys = {"block", "world", "monitor", "rho"}
    for setting, _ in settings:
        keys |= {part for name in setting.problem for part in (name, name.partition(".")[2])}
    for key, values in wanted.items():
        if key not in keys:
            raise ValueError(f"{where}: settings have no {key!r}{nearest(key, keys)}")
        known = {setting[key] for setting, _ in settings}
        for value in values:
            if value not in known:
                close = nearest(str(value), {str(one) for one in known})
                raise ValueError(f"{where}: no setting has {key} = {value!r}{close}")
    meant = [(of, agents) for of, agents in settings if of.is_among(wanted)]
    if not meant:
        raise ValueError(f"{where}: no setting is all of {wanted}")
    if sentence.along is not None:
        _check_along(sentence, [of for of, _ in meant], where)
    # Several panels may show the same runs, of which only some have an agent.
    having = [of for of, agents in meant if all(_has(agents, a, where) for a in sentence.agents)]
    problems = {(of.world, of.monitor, str(of.problem)) for of, _ in meant}
    lacking = problems - {(of.world, of.monitor, str(of.problem)) for of in having}
    if lacking:
        world, monitor, _ = min(lacking)
        known_agents = {name for _, agents in meant for pair in agents for name in pair}
        missing = [agent for agent in sentence.agents if agent not in known_agents]
        which = (*missing, sentence.agents[-1])[0]
        close = nearest(which, known_agents) if missing else ""
        raise ValueError(f"{where}: {world} / {monitor} has no agent {which!r}{close}")
    return len(problems)


def _check_along(sentence: Sentence, settings: Iterable[Setting], where: str) -> None:
    """Demand that settings along a key are alike but for it."""
    key, values = sentence.axis
    there: dict[str, tuple[Setting, list[Value]]] = {}
    for of in settings:
        there.setdefault(str(of.apart_from(key)), (of, []))[1].append(of[key])
    for of, found in there.values():
        if not set(values) <= set(found):
            named = " / ".join(name for name in (of.world, of.monitor) if name)
            only = ", ".join(str(value) for value in dict.fromkeys(found))
            raise ValueError(f"{where}.along: {named} is there with {key} = {only} only")


def find_agents(agents: Agents, wanted: str) -> list[int]:
    """Return the places of the agents of a label or, if none has it, of a name."""
    of_label = [i for i, (_, label) in enumerate(agents) if label == wanted]
    return of_label or [i for i, (name, _) in enumerate(agents) if name == wanted]


def _has(agents: Agents, wanted: str, where: str) -> bool:
    """Return whether an agent is there; one name of several agents is no address."""
    found = find_agents(agents, wanted)
    if len(found) > 1:
        which = ", ".join(agents[i][1] for i in found)
        raise ValueError(f"{where}: which {wanted!r}? {which}")
    return bool(found)
