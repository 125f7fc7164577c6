"""The unified Markov binary format, UMB: what is in a file, and how an MDP is written into one.

A file is a tar archive, plain or compressed by gzip or xz, of ``index.json`` and of flat arrays.
States have choices, choices have branches, branches have a target and a probability. Rewards and
labels ("aps", atomic propositions) are annotations: a value for each state, choice or branch.

Files may be anybody's. Nothing is unpacked onto the disk, no array is read before its size is known
to be the one that the index implies, and what would not fit into memory is refused.

An MDP is written so that other tools compute its values:

* the pair (s, a) is choice s·A + a, its outcomes are the branches, the reward of a choice is the
  mean rᵉ(s, a), because branches to the same state may not differ in reward everywhere;
* outcomes that end the episode lead to one more state, labelled "end", which is never left;
* what other tools do not know is an annotation of the group "monmdp" or stands in the index, among
  the parameters of the tool that wrote it. `monmdp.worlds.from_umb` gives the same MDP back.
"""

from __future__ import annotations

import gzip
import json
import logging
import lzma
import os
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.errors import MonMDPError, import_extra
from monmdp.escaping import printable
from monmdp.files import COPIES, plain_size, write_whole
from monmdp.memory import demand_room, room
from monmdp.model.arrays import IntArray, first_true
from monmdp.model.labels import NumberLabels

if TYPE_CHECKING:
    from monmdp.model.mdp import MDP
    from monmdp.schema import WorldParameters

SUFFIX = ".umb"
TOOL = "monmdp"
"""who wrote a file, and the group of annotations that only this package reads"""
INDEX = "index.json"
VERSION = 1
"""of the format, as it is written; the newest that is read"""
END = "end"
"""label of the state in which episodes have ended"""
REWARD = "reward"
"""name of the rewards"""
CELL = ("row", "column")
"""names of the numbers in the label of a cell"""
BITS = {"bool": 1, "int": 64, "uint": 64, "double": 64, "rational": 128, "string": 64}
"""of a type whose size the index leaves out; an interval has twice as many"""
MOST_FILES = 10_000
"""in an archive"""
HEADER = 2**20
"""bytes that the description of one file in an archive may have"""
PARSED = 50
"""times that the bytes of the index are in memory, once parsed"""


# ---- what is in a file --------------------------------------------------------------------------


ANY = -1
"""values, as many as a file has"""


class Vector(NamedTuple):
    """A file in an archive that holds `n` values of one type, one after the other."""

    name: str
    n: int
    """how many, or ANY"""
    kind: str = "uint"
    """a type of UMB, or "bytes" """
    bits: int = 64
    """of a value; those of a "bool" are packed"""

    @property
    def size(self) -> int:
        """Return the bytes it must have; 0 if any number will do."""
        if self.n == ANY:
            return 0
        return -(-self.n // 64) * 8 if self.kind == "bool" else self.n * self.bits // 8

    def decoded(self, content: bytes) -> NDArray[Any]:
        """Return the values [n]: whole numbers as int64, fractions as the nearest float64."""
        if self.kind == "bool":
            packed = np.frombuffer(content, np.uint8)
            return np.unpackbits(packed, count=self.n, bitorder="little").view(bool)
        if self.kind == "rational":
            return self._fractions(content)
        kind = {"uint": "u", "int": "i", "double": "f", "bytes": "u"}.get(self.kind)
        if kind is None or self.bits not in (8, 32, 64):
            raise MonMDPError(f"{self.name}: values of type {self.kind!r} ({self.bits} bits)")
        values = np.frombuffer(content, f"<{kind}{self.bits // 8}")
        if self.kind == "uint":
            if (at := first_true(values > np.iinfo(np.int64).max)) is not None:
                raise MonMDPError(f"damaged, {self.name}: {values[at]} at entry {at} is too large")
            return values.astype(np.int64)
        return values

    def _fractions(self, content: bytes) -> NDArray[np.float64]:
        """Numerator, signed, and denominator; few values of a model differ."""
        rows = np.frombuffer(content, f"V{self.bits // 8}")
        distinct, which = np.unique(rows, return_inverse=True)
        half = self.bits // 16
        values = np.empty(len(distinct))
        for i, row in enumerate(distinct):
            raw = row.tobytes()
            above = int.from_bytes(raw[:half], "little", signed=True)
            below = int.from_bytes(raw[half:], "little")
            if below == 0:
                raise MonMDPError(f"damaged, {self.name}: a fraction with denominator 0")
            values[i] = float(Fraction(above, below))
        return values[which.reshape(-1)]


class Archive:
    """A UMB file whose index was read; its arrays are read on demand."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read and check the index."""
        self.path = path
        self._kept: dict[str, NDArray[Any] | None] = {}
        umbi = import_extra("umbi", "exchange", f"reading {os.fspath(path)}")
        logging.getLogger("umbi").addHandler(logging.NullHandler())  # errors are told here
        with _telling(path):
            text = None
            for name, stream, member in _members(path):
                if name == INDEX:
                    demand_room(PARSED * member.size, f"an index of {member.size:,} bytes")
                    text = stream.whole(member)
                    break
            if text is None:
                raise MonMDPError(f"no UMB file, it has no {INDEX}")
            try:
                plain = json.loads(text)
                version = plain["format-version"]
                if isinstance(version, int) and version > VERSION:
                    raise MonMDPError(f"format version {version}, this reads up to {VERSION}")
                self.index = umbi.umb.index.UmbIndex.from_json(_sized(plain))
            except MonMDPError:
                raise
            except Exception as error:  # marshmallow, JSON and umbi each complain in their own way
                reason = printable(" ".join(str(error).split()))[:200]
                raise MonMDPError(f"damaged, {INDEX}: {reason or type(error).__name__}") from None

    @property
    def states(self) -> int:
        """Return the number of states."""
        return int(self.index.transition_system.num_states)

    @property
    def choices(self) -> int:
        """Return the number of choices over all states."""
        return int(self.index.transition_system.num_choices)

    @property
    def branches(self) -> int:
        """Return the number of branches over all choices."""
        return int(self.index.transition_system.num_branches)

    def count(self, entity: str) -> int:
        """Return how many "states", "choices" or "branches" there are."""
        return {"states": self.states, "choices": self.choices, "branches": self.branches}[entity]

    def annotations(self, group: str) -> Mapping[str, Any]:
        """Return the annotations of a group by their identifiers."""
        return (self.index.annotations or {}).get(group) or {}

    def annotation(self, group: str, key: str) -> dict[str, Vector]:
        """Return where the values of an annotation are, by what it applies to."""
        of = self.annotations(group)[key]
        if of.probability_type is not None:
            raise MonMDPError(f"{self.path}: {group} {key!r} is random, which is not supported")
        kind, bits = type_of(of.type)
        return {
            entity: Vector(
                f"annotations/{group}/{key}/{entity}/values.bin", self.count(entity), kind, bits
            )
            for entity in of.applies_to or ()
        }

    @cached_property
    def own(self) -> WorldParameters | None:
        """Return what this package wrote into the index; None if another tool wrote the file."""
        from monmdp.schema import WorldParameters, checked

        data = self.index.file_data
        if data is None or data.tool != TOOL or not isinstance(data.parameters, dict):
            return None
        found: WorldParameters = checked(WorldParameters, data.parameters, f"{self.path}: {INDEX}")
        return found

    def read(
        self, needed: Iterable[Vector] = (), optional: Iterable[Vector] = ()
    ) -> dict[str, NDArray[Any]]:
        """Return the values of files by name; an optional one that is not there is left out.

        What was read once is kept: an archive must be gone through to find a file, so whoever needs
        several asks for all of them first.
        """
        needed, optional = list(needed), list(optional)
        asked = {of.name: of for of in (*needed, *optional)}
        new = {name: of for name, of in asked.items() if name not in self._kept}
        with _telling(self.path):
            if new:
                self._kept |= dict.fromkeys(new) | self._found(new)
            for of in needed:
                if self._kept[of.name] is None:
                    raise MonMDPError(f"damaged, {of.name} is missing")
        kept = ((name, self._kept[name]) for name in asked)
        return {name: values for name, values in kept if values is not None}

    def _found(self, wanted: Mapping[str, Vector]) -> dict[str, NDArray[Any]]:
        """Go through the archive once."""
        total = sum(of.size for of in wanted.values())
        demand_room(COPIES * total, f"arrays of {total:,} bytes, once unpacked,")
        found: dict[str, NDArray[Any]] = {}
        for name, stream, member in _members(self.path):
            if (of := wanted.get(name)) is None:
                continue
            if name in found:
                raise MonMDPError(f"damaged, {name} is there twice")
            if of.n == ANY:
                demand_room(COPIES * member.size, f"{name} of {member.size:,} bytes")
            elif member.size != of.size:
                raise MonMDPError(
                    f"damaged, {name} has {member.size:,} bytes, not {of.size:,} as the index says"
                )
            found[name] = of.decoded(stream.whole(member))
        return found

    def names_of_actions(self) -> tuple[Vector, Vector] | None:
        """Return where the names of the actions are: their ends, and the text; None for none."""
        n = int(self.index.transition_system.num_choice_actions)
        folder = "actions/choices"
        text = Vector(f"{folder}/strings.bin", ANY, "bytes", 8)
        return (Vector(f"{folder}/string-mapping.bin", n + 1), text) if n else None

    def action_names(self) -> tuple[str, ...] | None:
        """Return the names of the actions; None if they have none."""
        where = self.names_of_actions()
        found = self.read(optional=where or ())
        if where is None or where[0].name not in found:
            return None
        content = found[where[1].name].tobytes() if where[1].name in found else b""
        ends = rows(found[where[0].name], len(content), f"{self.path}: {where[0].name}").tolist()
        try:
            return tuple(content[a:b].decode() for a, b in pairwise(ends))
        except UnicodeDecodeError:
            raise MonMDPError(f"{self.path}: damaged, {where[1].name} is not UTF-8") from None


def type_of(sized: Any) -> tuple[str, int]:
    """Return the name of a type of umbi's, and its bits."""
    kind = sized.type
    return str(getattr(kind, "value", kind)), int(sized.size_bits)


def rows(ends: IntArray, n: int, what: str) -> IntArray:
    """Return where each row begins, checked: from 0, never less, up to n."""
    if not len(ends) or ends[0] != 0 or ends[-1] != n or (np.diff(ends) < 0).any():
        raise MonMDPError(f"{what}: damaged, rows must begin at 0, never decrease and end at {n:,}")
    return ends


def _sized(index: Any) -> Any:
    """The index with the size of every type; what may be left out, umbi demands."""
    if isinstance(index, list):
        return [_sized(of) for of in index]
    if not isinstance(index, dict):
        return index
    whole = {
        key: of if key in ("file-data", "model-data") else _sized(of) for key, of in index.items()
    }
    if isinstance(kind := whole.get("type"), str) and "size" not in whole:
        plain = kind.removesuffix("-interval")
        whole["size"] = BITS.get(plain, 64) * (1 if plain == kind else 2)
    return whole


# ---- archives -----------------------------------------------------------------------------------


class _Stream:
    """What is left when an archive's compression is undone; goes forwards only."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def read(self, n: int = -1) -> bytes:
        """Read for the tar module, which has no need of more than a header at once."""
        if not 0 <= n <= HEADER:
            raise MonMDPError("damaged, an entry of the archive has no end")
        return self.file.read(n)

    def tell(self) -> int:
        return self.file.tell()

    def seek(self, to: int) -> int:
        """Skip; going back, an archive could be read for ever."""
        if not self.file.tell() <= to <= room():
            raise MonMDPError(f"damaged, or its {to:,} bytes would not fit into memory")
        return self.file.seek(to)

    def whole(self, member: tarfile.TarInfo) -> bytes:
        """Return the content of the file that the tar module has just come to."""
        self.seek(member.offset_data)
        content = self.file.read(member.size)
        if len(content) != member.size:
            raise MonMDPError(f"damaged, {printable(member.name)} is cut short")
        return content


def _members(path: str | os.PathLike[str]) -> Iterator[tuple[str, _Stream, tarfile.TarInfo]]:
    """The plain files of an archive, as they come: name, where to read it, its description."""
    plain_size(path)
    with open(path, "rb") as raw:
        magic = raw.read(6)
        raw.seek(0)
        openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}
        opener = openers.get(magic[:2])
        file = raw if opener is None else opener(raw)
        stream = _Stream(file)
        fileobj: Any = stream
        with tarfile.open(fileobj=fileobj, mode="r:") as tar:
            for number, member in enumerate(tar):
                if number == MOST_FILES:
                    raise MonMDPError(f"damaged, or more than {MOST_FILES:,} files in it")
                if member.size < 0:
                    raise MonMDPError(f"damaged, {printable(member.name)} has a negative size")
                if member.isreg() and member.sparse is None:
                    yield member.name.removeprefix("./"), stream, member
        while file.read(HEADER):  # to the end, where checksums are
            stream.seek(file.tell())


@contextmanager
def _telling(path: str | os.PathLike[str]) -> Iterator[None]:
    """Tell whatever is wrong with a file as an error that names it."""
    try:
        yield
    except MonMDPError as error:
        raise MonMDPError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise MonMDPError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise MonMDPError(f"{path}: damaged, or no UMB file ({error})") from None
    except OSError as error:
        raise MonMDPError(f"{path}: cannot be read, {error.strerror or error}") from None
    except Exception:  # zlib and tarfile complain of damage in several ways
        raise MonMDPError(f"{path}: damaged, or no UMB file") from None


# ---- writing ------------------------------------------------------------------------------------


def write_umb(mdp: MDP, path: str | os.PathLike[str]) -> None:
    """Write an MDP into a file; see the top of this module for how."""
    if not os.fspath(path).endswith(SUFFIX):
        raise MonMDPError(f"{path}: the file name must end in {SUFFIX}")
    index, arrays = _described(mdp)
    text = json.dumps(index, indent=1).encode()

    def write(file: BinaryIO) -> None:
        # No times: the same MDP gives the same bytes.
        with (
            gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w:", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for name, content in ((INDEX, text), *_encoded(arrays)):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, BytesIO(content))

    write_whole(path, write)


def _encoded(arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, bytes]]:
    """The files of arrays, one at a time."""
    for name, array in arrays.items():
        if array.dtype == bool:
            packed = np.packbits(array, bitorder="little").tobytes()
            yield name, packed + bytes(-len(packed) % 8)
        else:
            little = array.dtype if sys.byteorder == "little" else array.dtype.newbyteorder("<")
            yield name, array.astype(little, copy=False).tobytes()


def _described(mdp: MDP) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The index of an MDP's file, and its arrays by name."""
    from monmdp.schema import WorldParameters

    S, A, n = mdp.n_states, mdp.n_actions, mdp.n_outcomes
    ends = bool(mdp.terminates.any())
    more = int(ends)

    def with_end(values: NDArray[Any], at_end: Any) -> NDArray[Any]:
        return np.append(values, values.dtype.type(at_end)) if ends else values

    index: dict[str, Any] = {
        "format-version": VERSION,
        "format-revision": 0,
        "model-data": {"name": mdp.name},
        "file-data": {"tool": TOOL},
        "transition-system": {
            "time": "discrete",
            "#players": 1,
            "#states": S + more,
            "#initial-states": int((mdp.start > 0).sum()),
            "#choices": S * A + more,
            "#choice-actions": A,
            "#branches": n + more,
            "#branch-actions": 0,
            "#observations": 0,
            "branch-probability-type": _type("double"),
        },
        "annotations": {},
    }
    strings, mapping = _strings(mdp.action_labels)
    action = np.tile(np.arange(A, dtype=np.uint32), S)
    arrays: dict[str, NDArray[Any]] = {
        "state-to-choices.bin": with_end(np.arange(0, S * A + 1, A), S * A + 1),
        "state-is-initial.bin": with_end(mdp.start > 0, False),
        "choice-to-branches.bin": with_end(mdp.first, n + 1),
        "branch-to-target.bin": with_end(np.where(mdp.terminates, S, mdp.successor), S),
        "branch-to-probability.bin": with_end(mdp.probability, 1.0),
        "actions/choices/values.bin": with_end(action, 0),
        "actions/choices/string-mapping.bin": mapping,
        "actions/choices/strings.bin": strings,
    }

    def annotate(group: str, name: str, entity: str, values: NDArray[Any], at_end: Any = 0) -> None:
        kind = {"b": "bool", "i": "uint", "f": "double"}[values.dtype.kind]
        entry: dict[str, Any] = {"applies-to": [entity], "type": _type(kind)}
        if group != TOOL:
            entry["alias"] = name
        index["annotations"].setdefault(group, {})[name] = entry
        arrays[f"annotations/{group}/{name}/{entity}/values.bin"] = with_end(values, at_end)

    mean = np.add.reduceat(mdp.probability * mdp.reward, mdp.first[:-1])
    annotate("rewards", REWARD, "choices", mean)
    if ends:
        annotate("aps", END, "states", np.zeros(S, dtype=bool), True)
        annotate(TOOL, "successor", "branches", mdp.successor, S)
    if mdp.bottom.any():
        annotate("aps", "bottom", "states", mdp.bottom)
    annotate(TOOL, "start", "states", mdp.start)
    annotate(TOOL, "reward", "branches", mdp.reward)
    if mdp.hidden.any():
        annotate(TOOL, "hidden", "branches", mdp.hidden)
    if mdp.goal.any():
        annotate(TOOL, "goal", "choices", mdp.goal.reshape(-1))
    labels = _written_labels(mdp)
    if labels == "valuations":
        numbers = mdp.state_labels.numbers  # type: ignore[attr-defined]
        cells = mdp.picture is not None and numbers.shape[1] == len(CELL)
        names = CELL if cells else tuple(f"x{i}" for i in range(numbers.shape[1]))
        variables = [{"name": name, "type": _type("uint")} for name in names]
        index["valuations"] = {"states": {"unique": True, "classes": [{"variables": variables}]}}
        outside = [numbers.max(axis=0) + 1] if ends else []
        arrays["valuations/states/valuations.bin"] = np.vstack([numbers, *outside])
    index["file-data"]["parameters"] = WorldParameters(
        n_actions=A,
        r_min=mdp.r_min,
        r_max=mdp.r_max,
        time_limit=mdp.time_limit,
        state_labels=labels,
        picture=None if mdp.picture is None else list(mdp.picture),
        button=None if mdp.button is None else list(mdp.button),
    ).model_dump()
    return index, arrays


def _written_labels(mdp: MDP) -> Any:
    """The labels of the states, as the index holds them."""
    labels = mdp.state_labels
    if not isinstance(labels, NumberLabels):
        return list(labels)
    plain = np.array_equal(labels.numbers, np.arange(mdp.n_states)[:, None])
    return "numbers" if plain else "valuations"


def _type(kind: str) -> dict[str, Any]:
    return {"type": kind, "size": BITS[kind]}


def _strings(texts: Iterable[str]) -> tuple[NDArray[np.uint8], IntArray]:
    """Texts one after the other in UTF-8, and where each begins."""
    try:
        parts = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise MonMDPError(f"{error.object!r} cannot be written in UTF-8") from None
    ends = np.cumsum([0, *map(len, parts)])
    return np.frombuffer(b"".join(parts), np.uint8), ends
