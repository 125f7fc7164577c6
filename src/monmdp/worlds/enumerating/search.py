"""The search: every action in every state, breadth first, and a second look at all of it.

A step that draws no random number and starts from the same snapshot has one outcome. So pairs that
draw are tried several times, with other random numbers. The second look then finds what a snapshot
or a key leaves out: it tries every pair again in the opposite order, each state as it was reached
last. A clock in the reward, or anything else that was not restored, shows there. A user's key may
leave out a clock that strikes late, and chance may strike seldom: then a long walk follows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.errors import MonMDPError, told
from monmdp.worlds.enumerating.access import Access

Tell = Callable[[str], None]
"""called with a short line"""
INTERVAL = 0.25
"""seconds between two lines"""
TRIES = 20
"""times that a step is tried which draws random numbers"""
WALK = 1000
"""steps of the long walk"""
LONGEST = 6
"""actions of a path that an error names"""


class Found(NamedTuple):
    """All states and steps of an environment."""

    observations: list[Any]
    """[state] as the environment returns them"""
    rows: list[NDArray[Any]]
    """[state] as the table holds them"""
    notes: list[Any]
    """[state] what its access wants to know of it"""
    start: list[float]
    """[state] the chance that an episode begins there"""
    ended: list[bool]
    """[state] whether an episode is over wherever it was seen"""
    steps: list[tuple[int, int, int, float, bool]]
    """(state, action, successor, reward, terminated), of all states that are not `ended`"""


class _Result(NamedTuple):
    """What a step led to; two of them are equal if nobody could tell them apart."""

    key: Hashable
    reward: float
    terminated: bool
    row: bytes


class Search:
    """The states found so far."""

    def __init__(
        self,
        access: Access,
        actions: Sequence[tuple[int, str]],
        *,
        limit: int,
        reward: Callable[[Any, int, Any, float], float] | None = None,
        tell: Tell | None = None,
    ) -> None:
        """Begin with nothing; `actions` are the environment's numbers and names of those kept."""
        self.access, self.actions, self.limit = access, actions, limit
        self._reward, self._tell, self._told = reward, tell, time.monotonic()
        self._number: dict[Hashable, int] = {}
        self._observations: list[Any] = []
        self._rows: list[NDArray[Any]] = []
        self._notes: list[Any] = []
        self._start: list[float] = []
        self._came_from: list[tuple[int, int] | None] = []
        self._snapshot: list[Any] = []
        """[state] as it was when first reached and the episode went on; None: it never did"""
        self._latest: list[Any] = []
        """[state] as it was when last reached"""
        self._waiting: list[int] = []
        """states in which the episode goes on, in the order in which they were found"""
        self._steps: dict[int, list[tuple[int, float, bool]]] = {}
        self._chance = False
        """whether some step drew random numbers"""

    def run(self, seed: int, starts: int) -> Found:
        """Find all states, and take a second look at them."""
        for chance, raw in self.access.starts(seed, starts):
            self._start[self._arrive(self._key(), raw, False, None)] += chance
        for done, s in enumerate(self._waiting):  # it grows
            self._expand(s)
            self.access.check()
            self._say(f"{len(self._number):,} states found, {done + 1:,} tried")
        if not self.access.sure():
            for done, s in enumerate(reversed(self._waiting)):
                self._look_again(s)
                self._say(f"{len(self._number):,} states found, {done + 1:,} tried again")
        late = self.access.own.key is not None or self._chance
        if late and self.access.own.restore is None:
            self._walk()
        return self._found()

    def _say(self, line: str) -> None:
        if self._tell is not None and time.monotonic() - self._told >= INTERVAL:
            self._told = time.monotonic()
            self._tell(line)

    # ---- the first look ---------------------------------------------------------------------

    def _expand(self, s: int) -> None:
        access, taken = self.access, []
        for a in range(len(self.actions)):
            self._go_to(s, self._snapshot[s])
            access.watch()
            raw, reward, terminated = self._take(s, a)
            drew = access.drew()
            if not access.proven:
                access.check()
            t = self._arrive(self._key(), raw, terminated, (s, a))
            if self._reward is not None:
                reward = self._own_reward(s, a, self._observations[t], reward)
            taken.append((t, reward, terminated))
            if drew:
                self._chance = True
                self._try_again(s, a, taken[-1])
        self._steps[s] = taken

    def _go_to(self, s: int, snapshot: Any) -> None:
        self.access.restore(snapshot)
        if self.access.own.restore is not None and self._number.get(self._key()) != s:
            raise MonMDPError(
                f"restore does not lead back to {self._name(s)}: its key is another one afterwards"
            )

    def _take(self, s: int, a: int) -> tuple[Any, float, bool]:
        number, name = self.actions[a]
        try:
            raw, reward, terminated = self.access.step(number)
            if not np.isfinite(reward):
                raise MonMDPError(f"pays {reward:g}; finite numbers are needed")
            return raw, reward, terminated
        except Exception as error:  # environments raise what they like
            kind = "" if isinstance(error, MonMDPError) else f"{type(error).__name__}: "
            raise MonMDPError(f"{self._name(s)}, action {name!r}: {kind}{error}") from None

    def _key(self) -> Hashable:
        key = self.access.key()
        try:
            hash(key)
        except TypeError:
            raise MonMDPError(
                f"key returns a {type(key).__name__}, which cannot be hashed: {key!r:.60}; a tuple "
                "of numbers will do"
            ) from None
        return key

    def _arrive(
        self, key: Hashable, raw: Any, terminated: bool, came_from: tuple[int, int] | None
    ) -> int:
        """Return the number of the state that the environment is in, a new one if it is new."""
        access = self.access
        s = self._number.get(key)
        if s is None:
            s = len(self._number)
            if s == self.limit:
                raise MonMDPError(
                    f"there are more than {self.limit:,} states, the limit; limit=… allows more"
                    + (self._clock() or self._advice())
                )
            self._number[key] = s
            self._came_from.append(came_from)
            self._observations.append(access.observe(raw))
            self._rows.append(self._row(s, self._observations[-1]))
            self._notes.append(access.note())
            self._start.append(0.0)
            self._snapshot.append(None)
            self._latest.append(None)
        if not terminated:
            if self._snapshot[s] is None:
                self._snapshot[s] = access.snapshot()
                self._waiting.append(s)
            elif not access.proven:
                self._latest[s] = access.snapshot()
        return s

    def _row(self, s: int, seen: Any) -> NDArray[Any]:
        """What the table holds of a state in which this is observed."""
        try:
            return self.access.row(seen)
        except MonMDPError as error:
            raise MonMDPError(f"{self._name(s)}: {error}") from None

    def _own_reward(self, s: int, a: int, seen: Any, reward: float) -> float:
        assert self._reward is not None
        with told("reward"):
            number, name = self.actions[a]
            own = float(self._reward(self._observations[s], number, seen, reward))
            if not np.isfinite(own):
                raise MonMDPError(f"{self._name(s)}, action {name!r}: {own:g} is no finite number")
            return own

    # ---- the second look --------------------------------------------------------------------

    def _try_again(self, s: int, a: int, first: tuple[int, float, bool]) -> None:
        """Try a step that draws random numbers with other ones."""
        first_seed = TRIES * (s * len(self.actions) + a)  # other numbers for each pair
        for seed in range(first_seed, first_seed + TRIES):
            self.access.restore(self._snapshot[s])
            self.access.reseed(seed)
            again = self._result(s, a)
            if again != (expected := self._expected(*first)):
                raise MonMDPError(
                    f"the environment is random: {self._name(s)}, action {self.actions[a][1]!r} "
                    f"{self._difference(expected, again)}"
                )

    def _look_again(self, s: int) -> None:
        for a in reversed(range(len(self.actions))):
            another = self._latest[s] is not None
            self._go_to(s, self._latest[s] if another else self._snapshot[s])
            self._compare(s, a, "after another way there" if another else "when it is tried again")

    def _walk(self) -> None:
        """Take many steps in one go, of those that do not end an episode the least tried."""
        tried = Counter[tuple[int, int]]()
        s, steps = None, 0
        for _ in range(WALK):
            if s is None:
                s, steps = 0, 0
                self.access.restore(self._snapshot[s])
            _, _, a = min((ends, tried[s, a], a) for a, (_, _, ends) in enumerate(self._steps[s]))
            tried[s, a] += 1
            steps += 1
            self._compare(s, a, f"after {steps} steps in one go")
            t, _, ends = self._steps[s][a]
            s = None if ends else t

    def _compare(self, s: int, a: int, way: str) -> None:
        """Take a step that was taken before, and demand the same result."""
        again = self._result(s, a)
        if again != (expected := self._expected(*self._steps[s][a])):
            raise MonMDPError(
                f"{self._name(s)}, action {self.actions[a][1]!r} "
                f"{self._difference(expected, again)} {way}. Either it is random, or "
                "something matters that the state does not hold: a clock, say. Let restore=… "
                "set it, put it into key=…, or give a reward=… without it"
            )

    def _expected(self, t: int, reward: float, terminated: bool) -> _Result:
        return _Result(t, reward, terminated, self._rows[t].tobytes())

    def _result(self, s: int, a: int) -> _Result:
        raw, reward, terminated = self._take(s, a)
        seen = self.access.observe(raw)
        if self._reward is not None:
            reward = self._own_reward(s, a, seen, reward)
        t = self._number.get(self._key())
        return _Result(t, reward, terminated, self.access.row(seen).tobytes())

    def _difference(self, one: _Result, other: _Result) -> str:
        """Say how two results differ."""
        if one.key != other.key:
            return f"leads to {self._state(one.key)} and to {self._state(other.key)}"
        if one.reward != other.reward:
            return "pays " + " and ".join(_told_apart(one.reward, other.reward))
        if one.terminated != other.terminated:
            return "ends the episode and does not"
        return f"leads to {self._state(one.key)}, where another observation is made,"

    # ---- words ------------------------------------------------------------------------------

    def _state(self, s: Any) -> str:
        return "a state not met before" if s is None else self._name(s)

    def _name(self, s: int) -> str:
        """A state, by the way that leads there."""
        path: list[str] = []
        at = self._came_from[s]
        while at is not None:
            path.append(self.actions[at[1]][1])
            at = self._came_from[at[0]]
        if not path:
            return f"state {s} (the start)"
        more = "… " if len(path) > LONGEST else ""
        return f"state {s} (after {more}{', '.join(path[LONGEST - 1 :: -1])})"

    def _clock(self) -> str:
        """Name an attribute that counts the steps, if there is one: each step adds 1 to it."""
        held = {s: self.access.numbers(self._snapshot[s]) for s in self._waiting}
        steps = {(at[0], t) for t, at in enumerate(self._came_from) if at is not None}
        steps |= {(s, t) for s, taken in self._steps.items() for t, _, _ in taken}
        known = [(held[s], held[t]) for s, t in steps if s in held and t in held]
        for name in held[self._waiting[0]]:
            if known and all(name in a and b.get(name) == a[name] + 1 for a, b in known):
                return (
                    f" (attribute {name!r} counts the steps; if that is all it does, leave it out "
                    "with key=…)"
                )
        return ""

    def _advice(self) -> str:
        """What to do with an environment that is too large, or one of real numbers, as CartPole."""
        why = "If there are too many to enumerate, put"
        if self._rows[0].dtype.kind == "f":
            why = (
                "Its observations are real numbers, of which there may be no end: then it cannot "
                "be enumerated. Put"
            )
        return (
            f". {why} a monitor around it instead, envs.AddMonitor(env, 'ask'), and train a deep "
            "agent"
        )

    # ---- the end ----------------------------------------------------------------------------

    def _found(self) -> Found:
        """All of it; states whose keys are whole numbers are put in their order."""
        keys: list[Any] = list(self._number)
        order = list(range(len(keys)))
        if all(type(key) is int for key in keys):
            order.sort(key=keys.__getitem__)
        new = {s: i for i, s in enumerate(order)}
        steps = [
            (new[s], a, new[t], reward, terminated)
            for s, taken in self._steps.items()
            for a, (t, reward, terminated) in enumerate(taken)
        ]
        return Found(
            observations=[self._observations[s] for s in order],
            rows=[self._rows[s] for s in order],
            notes=[self._notes[s] for s in order],
            start=[self._start[s] for s in order],
            ended=[self._snapshot[s] is None for s in order],
            steps=steps,
        )


def _told_apart(one: float, other: float) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    for digits in range(6, 17):
        written = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if written[0] != written[1]:
            return written
    return repr(one), repr(other)
