"""Worlds from UMB files, the format in which probabilistic model checkers exchange models.

Storm reads PRISM and JANI and writes UMB, so their models come in through it. `monmdp.model.umb`
says what is in a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.escaping import printable
from monmdp.memory import demand_room
from monmdp.model.arrays import BoolArray, FloatArray, IntArray, columns_of, frozen
from monmdp.model.labels import NumberLabels
from monmdp.model.mdp import MDP
from monmdp.model.umb import END, TOOL, Archive, Vector, rows, type_of
from monmdp.worlds.importing import PAIR, TRANSITION, start_distribution

if TYPE_CHECKING:
    from monmdp.schema import WorldParameters

UNNAMED = "τ"
"""label of an action without a name"""
BLOCK = 20_000
"""states whose outcomes are made at once"""
OWN = {
    "reward": (TOOL, "branches"), "successor": (TOOL, "branches"), "hidden": (TOOL, "branches"),
    "goal": (TOOL, "choices"), "start": (TOOL, "states"), "bottom": ("aps", "states"),
}  # fmt: skip
"""annotations of a file of `to_umb`: group, and what they apply to"""
CHOICES, BRANCHES = "state-to-choices.bin", "choice-to-branches.bin"
TARGET, CHANCE = "branch-to-target.bin", "branch-to-probability.bin"
INITIAL, ACTION = "state-is-initial.bin", "actions/choices/values.bin"
VALUATIONS = "valuations/states/valuations.bin"


def from_umb(
    path: str | os.PathLike[str],
    *,
    reward: str | None = None,
    reach: str | None = None,
    terminal: str | Sequence[str] | None = None,
    minimise: bool = False,
    hidden: Any = None,
    actions: Literal["names", "numbers"] = "names",
    start: Any = None,
    r_min: float | None = None,
    r_max: float | None = None,
    time_limit: int | None = None,
    name: str | None = None,
) -> MDP:
    """Read a world from a UMB file (.umb): an MDP or a DTMC of any tool, or what `to_umb` wrote.

    A choice of the file is an action. A state that has fewer choices than others repeats its first
    one, so that no optimal value changes. A state without choices, and one that is never left and
    pays nothing, ends the episode. Exact fractions become the nearest floats.

    A file of `MDP.to_umb` gives back that MDP; `start`, `r_min`, `r_max`, `time_limit` and `name`
    replace what is in it, and the other parameters do not apply.

    Args:
        path: the file.
        reward: which rewards of the file; needed where there are several. Those of a state, a
            choice and a branch are added: what leaving the state pays.
        reach: instead of rewards, 1 for entering a state with this label, which ends the episode.
            The optimal value without discount is the largest probability to reach the label.
        terminal: label, or labels, of states whose entering ends the episode.
        minimise: the rewards are costs, and are negated; with `reach`, a probability to keep small.
        hidden: what no monitor but Full ever shows (⊥): the name of a Boolean annotation (a label,
            or one of choices or branches), or a mask [state, action].
        actions: "names" tells actions apart by the names that the file has for them; "numbers" by
            their order in each state, which gives the fewest.
        start: start distribution or state, instead of the file's initial states, which are equally
            likely.
        r_min: least mean reward the environment may have; default the least there is.
        r_max: largest; default the largest there is.
        time_limit: steps after which episodes are truncated.
        name: the world's name; default the model's, or that of the file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from monmdp import worlds
    >>> file = Path(tempfile.mkdtemp()) / "hazard.umb"
    >>> worlds.make("hazard").to_umb(file)
    >>> worlds.from_umb(file, time_limit=20)
    <MDP 'hazard': 16 states, 5 actions>
    """
    if actions not in ("names", "numbers"):
        raise MonMDPError(f"actions={actions!r}{nearest(str(actions), ('names', 'numbers'))}")
    if reward is not None and reach is not None:
        raise MonMDPError("reward=… or reach=…, not both")
    archive = Archive(path)
    _demand_mdp(archive)
    given: dict[str, Any] = {"r_min": r_min, "r_max": r_max, "time_limit": time_limit, "name": name}
    if start is not None:
        given["start"] = start_distribution(start, _n_states(archive))
    given = {key: value for key, value in given.items() if value is not None}
    if (own := archive.own) is not None:
        asked = {"reward": reward, "reach": reach, "terminal": terminal, "hidden": hidden}
        for what, value in (asked | {"minimise": minimise or None}).items():
            if value is not None:
                raise MonMDPError(f"{path}: written by monmdp, it takes no {what}=…")
        mdp = _own_mdp(archive, own)
        return replace(mdp, **given) if given else mdp
    where = _Where.of(archive, reward, reach, terminal, hidden)
    model = _Model.of(archive)
    goal, ends = _any(archive, where.goal), _any(archive, [*where.goal, *where.ends])
    sign = -1.0 if minimise else 1.0
    at_goal: FloatArray = np.where(goal, sign, 0.0)
    pays = sign * model.spread(archive, where.pays) + at_goal[model.target]
    ends = ends | model.absorbing(pays)
    unseen = model.spread(archive, where.hidden) > 0
    used = np.flatnonzero(~ends[model.state])
    action, labels = model.actions(archive, actions, used)
    blocks = model.outcomes(used, action, len(labels), ends, pays, at_goal, unseen)
    if hidden is not None and not isinstance(hidden, str):
        mask = frozen(hidden, np.bool_, (archive.states, len(labels)), "hidden")
        blocks = ((*block[:6], mask[block[0], block[1]]) for block in blocks)
    about = archive.index.model_data
    title = (about and about.name) or Path(path).stem
    if "start" not in given:
        given["start"] = model.start(archive)
    return MDP.from_blocks(
        blocks,
        n_states=archive.states,
        n_actions=len(labels),
        state_labels=_state_labels(archive),
        action_labels=labels,
        **{"name": printable(title)} | given,
    )


def _n_states(archive: Archive) -> int:
    """How many states the world will have."""
    return archive.states - int(archive.own is not None and END in archive.annotations("aps"))


def _demand_mdp(archive: Archive) -> None:
    """Refuse what is no MDP of discrete time with known probabilities."""
    of = archive.index.transition_system
    kind, _ = ("double", 64) if (p := of.branch_probability_type) is None else type_of(p)
    wrong = None
    if of.time != "discrete":
        wrong = f"its time is {of.time} (a CTMC or a Markov automaton)"
    elif of.num_players > 1:
        wrong = f"it is a game of {of.num_players} players"
    elif of.num_observations > 0:
        wrong = f"it is a POMDP with {of.num_observations:,} observations"
    elif kind not in ("double", "rational"):
        wrong = f"its probabilities are of type {kind!r}"
    if wrong is not None:
        raise MonMDPError(f"{archive.path}: {wrong}; MDPs and DTMCs of discrete time can be read")


# ---- files of our own ---------------------------------------------------------------------------


def _own_mdp(archive: Archive, own: WorldParameters) -> MDP:
    """The MDP that `to_umb` wrote."""
    S, A = _n_states(archive), own.n_actions
    more = archive.states - S
    n = archive.branches - more
    vectors = {
        "first": Vector(BRANCHES, archive.choices + 1),
        "probability": Vector(CHANCE, archive.branches, "double"),
        "target": Vector(TARGET, archive.branches),
    }
    for key, (group, entity) in OWN.items():
        if key in archive.annotations(group):
            where = archive.annotation(group, key)
            if entity not in where:
                raise MonMDPError(f"{archive.path}: damaged, {key} does not apply to {entity}")
            vectors[key] = where[entity]
    if own.state_labels == "valuations":
        written = (archive.index.valuations or {}).get("states")
        parts = 0 if written is None else len(written.classes[0].fields)
        if parts == 0:
            raise MonMDPError(f"{archive.path}: damaged, the states have no valuations")
        vectors["labels"] = Vector(VALUATIONS, archive.states * parts)
    if archive.choices != S * A + more:
        raise MonMDPError(f"{archive.path}: damaged, {archive.choices} choices for {S} x {A} pairs")
    found = archive.read(vectors.values(), archive.names_of_actions() or ())
    of: dict[str, Any] = {key: found[vector.name] for key, vector in vectors.items()}
    none = np.zeros(archive.branches, dtype=bool)
    labels: Any = own.state_labels
    if labels == "valuations":
        labels = NumberLabels(of["labels"].reshape(archive.states, -1)[:S])
    elif labels == "numbers":
        labels = ()
    names = archive.action_names()
    try:
        return MDP(
            name=archive.index.model_data.name,
            n_states=S,
            n_actions=A,
            first=of["first"][: S * A + 1],
            successor=of.get("successor", of["target"])[:n],
            probability=of["probability"][:n],
            reward=of["reward"][:n],
            terminates=(of["target"] >= S)[:n],
            hidden=of.get("hidden", none)[:n],
            start=of["start"][:S],
            r_min=own.r_min,
            r_max=own.r_max,
            time_limit=own.time_limit,
            state_labels=labels,
            action_labels=names or (),
            picture=own.picture,
            button=None if own.button is None else (own.button[0], own.button[1]),
            goal=of["goal"][: S * A].reshape(S, A) if "goal" in of else None,
            bottom=of["bottom"][:S] if "bottom" in of else None,
        )
    except (KeyError, IndexError, AttributeError, TypeError) as error:
        raise MonMDPError(f"{archive.path}: damaged, {error!r}") from None
    except MonMDPError as error:
        raise MonMDPError(f"{archive.path}: damaged, {error}") from None


# ---- files of other tools -----------------------------------------------------------------------


class _Where(NamedTuple):
    """Where the file has what was asked for."""

    pays: Mapping[str, Vector]
    """rewards, by what they apply to"""
    goal: Sequence[Vector]
    """states to reach"""
    ends: Sequence[Vector]
    """states that end the episode"""
    hidden: Mapping[str, Vector]
    """⊥, by what it applies to"""

    @classmethod
    def of(cls, archive: Archive, reward: Any, reach: Any, terminal: Any, hidden: Any) -> _Where:
        """Find it in the index, then read all at once: every reading goes through the file."""
        where = cls(
            archive.annotation("rewards", _reward(archive, reward)) if reach is None else {},
            [] if reach is None else [_label(archive, "reach", reach)],
            [_label(archive, "terminal", label) for label in _labels(archive, terminal)],
            _annotation(archive, "hidden", hidden) if isinstance(hidden, str) else {},
        )
        chosen = [*where.pays.values(), *where.goal, *where.ends, *where.hidden.values()]
        names = archive.names_of_actions() or ()
        archive.read(optional=[*_structure(archive), *_valuations(archive), *names, *chosen])
        return where


class _Model(NamedTuple):
    """States, choices and branches, each in the order of the file."""

    first_choice: IntArray
    """[state + 1]"""
    first_branch: IntArray
    """[choice + 1]"""
    state: IntArray
    """[choice] whose it is"""
    choice: IntArray
    """[branch] whose it is"""
    target: IntArray
    """[branch]"""
    chance: FloatArray
    """[branch]"""

    @classmethod
    def of(cls, archive: Archive) -> _Model:
        """Read and check who has what."""
        S, C, B = archive.states, archive.choices, archive.branches
        found = archive.read(optional=_structure(archive))
        for name in (TARGET, CHANCE):
            if B and name in {of.name for of in _structure(archive)} - found.keys():
                raise MonMDPError(f"{archive.path}: damaged, {name} is missing")
        first_choice = _rows(archive, found, CHOICES, S, C)
        first_branch = _rows(archive, found, BRANCHES, C, B)
        if (np.diff(first_branch) == 0).any():
            raise MonMDPError(f"{archive.path}: damaged, a choice without branches")
        target = found.get(TARGET, np.zeros(0, dtype=np.int64))
        if B and target.max() >= S:
            raise MonMDPError(f"{archive.path}: damaged, state {target.max()} of {S} is a target")
        return cls(
            first_choice,
            first_branch,
            np.repeat(np.arange(S), np.diff(first_choice)),
            np.repeat(np.arange(C), np.diff(first_branch)),
            target,
            found.get(CHANCE, np.ones(B)),
        )

    def spread(self, archive: Archive, vectors: Mapping[str, Vector]) -> FloatArray:
        """[branch] an annotation's values for its state, for its choice and for itself, added."""
        found = archive.read(optional=vectors.values())
        total = np.zeros(len(self.target))
        for entity, vector in vectors.items():
            values = found.get(vector.name)
            if values is None:  # absent values are 0
                continue
            if entity == "states":
                values = values[self.state[self.choice]]
            elif entity == "choices":
                values = values[self.choice]
            total += values
        return total

    def absorbing(self, pays: FloatArray) -> BoolArray:
        """[state] whether it is never left and pays nothing."""
        state = self.state[self.choice]
        goes_on = (self.target != state) | (pays != 0)
        stays: BoolArray = np.bincount(state[goes_on], minlength=len(self.first_choice) - 1) == 0
        return stays

    def start(self, archive: Archive) -> FloatArray:
        """[state] the distribution over the initial states, all equally likely."""
        found = archive.read(optional=_structure(archive))
        initial = found.get(INITIAL, np.zeros(archive.states, dtype=bool))
        if not initial.any():
            raise MonMDPError(f"{archive.path}: no state is initial; give start=…")
        start: FloatArray = initial / initial.sum()
        return start

    def actions(
        self, archive: Archive, by: Literal["names", "numbers"], used: IntArray
    ) -> tuple[IntArray, tuple[str, ...]]:
        """[used choice] its action, and the labels of the actions.

        Choices of a state with the same name are different actions: ``a`` and ``a 2``.
        """
        state = self.state[used]
        names = archive.action_names() if by == "names" else None
        if names is None:
            number = used - self.first_choice[state]
            return number, tuple(map(str, range(max(1, int(number.max(initial=0)) + 1))))
        found = archive.read(optional=_structure(archive))
        named = found.get(ACTION, np.zeros(archive.choices, dtype=np.int64))[used]
        if len(named) and named.max() >= len(names):
            raise MonMDPError(f"{archive.path}: damaged, action {named.max()} of {len(names)}")
        words, which = np.unique([name or UNNAMED for name in names], return_inverse=True)
        word = which[named]
        # How many choices of the same state and name come before.
        key = state * len(words) + word
        order = np.argsort(key, kind="stable")
        new = np.append(True, np.diff(key[order]) != 0)[: len(order)]
        before = np.empty(len(order), dtype=np.int64)
        before[order] = np.arange(len(order)) - np.flatnonzero(new)[np.cumsum(new) - 1]
        most = int(before.max(initial=0)) + 1
        codes, action = np.unique(word * most + before, return_inverse=True)
        labels: list[str] = []
        for code in codes.tolist() or [0]:
            text = str(words[code // most]) + (f" {code % most + 1}" if code % most else "")
            while text in labels:
                text += "'"
            labels.append(text)
        return action.reshape(-1), tuple(labels)

    def outcomes(
        self,
        used: IntArray,
        action: IntArray,
        n_actions: int,
        ends: BoolArray,
        pays: FloatArray,
        at_end: FloatArray,
        hidden: BoolArray,
    ) -> Iterator[tuple[Any, ...]]:
        """Columns of the outcomes, some states at a time.

        An action that a state does not have is its first choice once more. A state that ends the
        episode is never acted in, unless it is the first: then it ends at once.
        """
        S, A = len(ends), n_actions
        demand_room(PAIR * S * A, f"{S:,} states with {A:,} actions each")
        choice: IntArray = np.repeat(self.first_choice[:-1, None], A, axis=1)
        choice[self.state[used], action] = used
        branches = np.append(np.diff(self.first_branch), 0)  # the last state may have no choice
        total = int(branches[choice[~ends]].sum())
        demand_room(TRANSITION * total, f"{total:,} outcomes of {S:,} x {A:,} pairs")
        for low in range(0, S, BLOCK):
            states = np.arange(low, min(low + BLOCK, S))
            ended, going = states[ends[states]], states[~ends[states]]
            chosen = choice[going].reshape(-1)
            count = branches[chosen]
            pair = np.repeat(np.arange(len(chosen)), count)
            within = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
            branch = self.first_branch[chosen[pair]] + within
            target = self.target[branch]
            moves = (
                going[pair // A], pair % A, target, self.chance[branch], pays[branch],
                ends[target], hidden[branch],
            )  # fmt: skip
            last = np.repeat(ended, A)
            stay = (last, np.arange(len(last)) % A, last, 1.0, at_end[last], True, False)
            yield columns_of([moves, stay])


def _structure(archive: Archive) -> list[Vector]:
    """Where it says which states, choices, branches and actions belong together."""
    S, C, B = archive.states, archive.choices, archive.branches
    chance = archive.index.transition_system.branch_probability_type
    kind, bits = ("double", 64) if chance is None else type_of(chance)
    return [
        Vector(CHOICES, S + 1),
        Vector(BRANCHES, C + 1),
        Vector(TARGET, B),
        *([] if chance is None else [Vector(CHANCE, B, kind, bits)]),
        Vector(INITIAL, S, "bool", 1),
        Vector(ACTION, C, "uint", 32),
    ]


def _rows(archive: Archive, found: Mapping[str, Any], name: str, n: int, total: int) -> IntArray:
    """Where the rows of a mapping begin; without one, every row has one entry."""
    if name not in found:
        if n != total:
            raise MonMDPError(f"{archive.path}: damaged, {name} is missing")
        return np.arange(n + 1)
    return rows(found[name], total, f"{archive.path}: {name}")


def _names(archive: Archive, group: str) -> dict[str, str]:
    """The annotations of a group, identifiers by the names that people use for them."""
    known = archive.annotations(group)
    return {key: key for key in known} | {of.alias: key for key, of in known.items() if of.alias}


def _reward(archive: Archive, name: str | None) -> str:
    """The identifier of the rewards that are meant."""
    known, labels = _names(archive, "rewards"), _names(archive, "aps")
    keys = sorted(set(known.values()))
    if name is None:
        if len(keys) == 1:
            return keys[0]
        what = f"has several rewards; choose one: reward={'|'.join(sorted(known))}"
        if not keys:
            some = ", ".join(sorted(labels)) or "none"
            what = f"has no rewards; name a label to reach with reach=… (labels: {some})"
        raise MonMDPError(f"{archive.path} {what}")
    if name not in known:
        raise MonMDPError(f"{archive.path}: no rewards {name!r}{nearest(name, known)}")
    return known[name]


def _labels(archive: Archive, given: str | Sequence[str] | None) -> list[str]:
    """Labels given as one, as several, or as several in one text, with commas."""
    if given is None:
        return []
    if not isinstance(given, str):
        return list(given)
    return [given] if given in _names(archive, "aps") else [of.strip() for of in given.split(",")]


def _label(archive: Archive, what: str, label: str) -> Vector:
    """Where the states with a label are."""
    known = _names(archive, "aps")
    if label not in known:
        raise MonMDPError(f"{archive.path}: {what}={label!r}{nearest(str(label), known)}")
    vectors = archive.annotation("aps", known[label])
    if set(vectors) != {"states"} or vectors["states"].kind != "bool":
        raise MonMDPError(f"{archive.path}: {what}={label!r} is no label of states")
    return vectors["states"]


def _any(archive: Archive, labels: Sequence[Vector]) -> BoolArray:
    """[state] whether it has one of the labels."""
    found = archive.read(optional=labels).values()
    labelled: BoolArray = np.any([np.zeros(archive.states, dtype=bool), *found], axis=0)
    return labelled


def _annotation(archive: Archive, what: str, name: str) -> dict[str, Vector]:
    """Where the values of a Boolean annotation are, which may be of any group."""
    groups = ["aps", *(group for group in archive.index.annotations or {} if group != "aps")]
    known = {
        of: (group, key) for group in groups[::-1] for of, key in _names(archive, group).items()
    }
    if name not in known:
        raise MonMDPError(f"{archive.path}: {what}={name!r}{nearest(name, known)}")
    vectors = archive.annotation(*known[name])
    if any(vector.kind != "bool" for vector in vectors.values()):
        raise MonMDPError(f"{archive.path}: {what}={name!r} is no Boolean annotation")
    return vectors


# ---- names of states ----------------------------------------------------------------------------


def _valuations(archive: Archive) -> list[Vector]:
    """Where the variables of the states are; nowhere, if they are not whole numbers."""
    of = (archive.index.valuations or {}).get("states")
    if of is None or len(of.classes) != 1:
        return []
    fields = of.classes[0].fields
    bits = sum(map(_width, fields))
    simple = all(
        hasattr(field, "padding")
        or (
            type_of(field.sized_type)[0] in ("bool", "int", "uint")
            and not field.is_optional
            and field.sized_type.size_bits <= 64
        )
        for field in fields
    )
    whole = simple and bits % 8 == 0
    return [Vector(VALUATIONS, archive.states * bits // 8, "bytes", 8)] if whole else []


def _state_labels(archive: Archive) -> tuple[str, ...]:
    """``x=1,y=0`` from the variables of a state; none where they do not tell states apart."""
    found = archive.read(optional=_valuations(archive))
    if VALUATIONS not in found:
        return ()
    fields = archive.index.valuations["states"].classes[0].fields
    table = found[VALUATIONS].reshape(archive.states, -1)
    texts, at = [], 0
    for field in fields:
        if not hasattr(field, "padding"):
            values = _unpacked(table, at, field)
            variable = printable(field.name)
            texts.append([f"{variable}={value}" for value in values])
        at += _width(field)
    labels = tuple(map(",".join, zip(*texts, strict=True)))
    return labels if len(set(labels)) == archive.states else ()


def _width(field: Any) -> int:
    """Bits of a variable, or between two of them."""
    return int(getattr(field, "padding", None) or field.sized_type.size_bits)


def _unpacked(table: Any, at: int, field: Any) -> list[int]:
    """[state] a variable whose bits begin at bit `at` of a row of bytes."""
    kind, bits = type_of(field.sized_type)
    byte, shift = divmod(at, 8)
    value = np.zeros(len(table), dtype=np.uint64)
    for k, column in enumerate(table.T[byte : byte + -(-(shift + bits) // 8)]):
        by = np.uint64(abs(8 * k - shift))
        wide = column.astype(np.uint64)
        value |= wide >> by if 8 * k < shift else wide << by
    value &= np.uint64(2**bits - 1)
    if kind == "int":  # two's complement
        unused = np.uint64(64 - bits)
        signed = (value << unused).view(np.int64) >> np.int64(unused)
        return [of + (field.offset or 0) for of in signed.tolist()]
    return [of + (field.offset or 0) for of in value.tolist()]
