"""Files that are written completely or not at all, and archives of arrays."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from monmdp.errors import MonMDPError
from monmdp.memory import demand_room
from monmdp.stopping import unfinished

LONGEST_NAME = 200
"""bytes; file systems allow 255, of which an ending and the marks of a part take some"""
SAMPLE, SAMPLES = 4096, 16
"""bytes of a sample of an array, and how many are tried, to see whether compressing it pays"""
WORTHWHILE = 0.9
"""compressed, an array must be smaller than this share of its size"""
RESERVED = re.compile(r"(?i)CON|PRN|AUX|NUL|(COM|LPT)[0-9¹²³]")
"""what Windows takes for a device, whatever its ending"""


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file beside `path`, then move it there; on failure leave nothing."""
    path = Path(path)
    part = path.parent / f".{path.name}.{uuid4().hex}.part"
    unfinished.add(str(part))
    try:
        with open(part, "xb") as file:
            write(file)
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):  # on a disk that cannot be written to there is nothing to remove
            part.unlink()
        if isinstance(error, OSError):
            raise MonMDPError(f"cannot write {path}: {error.strerror or error}") from None
        raise
    finally:
        unfinished.discard(str(part))


def file_name(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a name for a file or folder that is safe everywhere: short, plain, not a device's.

    >>> from monmdp.files import file_name
    >>> file_name("loop-ask rho=0.5"), file_name("../x"), file_name("NUL"), file_name("a.")
    ('loop-ask_rho=0.5', '_._x', '_NUL', 'a_')
    """
    safe = "".join(c if c.isalnum() or c in "-_.=" else "_" for c in text)
    safe = re.sub(r"^\.|\.$|^$", "_", safe)  # hidden; Windows takes a last dot away
    if RESERVED.fullmatch(safe.partition(".")[0]):
        safe = f"_{safe}"
    return safe.encode()[:longest].decode(errors="ignore")


def write_archive(
    path: str | os.PathLike[str], meta: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write arrays, and `meta` as JSON, into one ``.npz`` file without pickle.

    Whole numbers are written in as few bytes as hold them all; whoever reads them makes them wide.
    """
    if Path(path).suffix != ".npz":
        raise MonMDPError(f"{path}: the file name must end in .npz")
    members = {"meta": np.array(json.dumps(meta)), **arrays}
    write_whole(path, lambda file: _write_members(file, members))


def _write_members(file: BinaryIO, arrays: Mapping[str, Any]) -> None:
    with zipfile.ZipFile(file, "w", compresslevel=zlib.Z_BEST_SPEED) as archive:
        for name, given in arrays.items():
            array = _narrow(np.asarray(given))
            archive.compression = zipfile.ZIP_DEFLATED if _shrinks(array) else zipfile.ZIP_STORED
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers from 0 on in the narrowest type that holds them, others as they are."""
    if array.dtype.kind != "i" or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(array.max()))


def _shrinks(array: NDArray[Any]) -> bool:
    """Whether compressing pays, by a sample: random numbers take long and stay as large."""
    content = array.reshape(-1).view(np.uint8)
    starts = range(0, len(content), max(SAMPLE, len(content) // SAMPLES))
    sample = np.concatenate([content[:0], *(content[i : i + SAMPLE] for i in starts)])
    return len(zlib.compress(sample.tobytes(), zlib.Z_BEST_SPEED)) < WORTHWHILE * len(sample)


Axes = tuple[int | None, ...]
"""a shape; None is an axis of any length"""
COPIES = 4
"""times that the bytes of an archive are in memory: unpacked, converted, copied, checked"""


def plain_size(path: str | os.PathLike[str]) -> int:
    """Return the bytes of a file; `OSError` if it is a folder, or a pipe that may never end."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        what = os.strerror(errno.EISDIR) if stat.S_ISDIR(found.st_mode) else "not a plain file"
        raise OSError(errno.EISDIR, what, os.fspath(path))
    return found.st_size


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Read a file that may be anybody's: no pipe that never ends, and not more than fits."""
    size = plain_size(path)
    demand_room(COPIES * size, f"{path}: a file of {size:,} bytes")
    return Path(path).read_bytes()


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return read_whole(path)
    except FileNotFoundError:
        raise MonMDPError(f"{path}: no such file") from None
    except OSError as error:
        raise MonMDPError(f"{path}: cannot be read, {error.strerror or error}") from None


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a text in UTF-8 that may be anybody's; `MonMDPError` if it is none."""
    try:
        return _read(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start}"
        raise MonMDPError(f"{path}: cannot be read as text, not UTF-8 ({where})") from None


def read_archive(
    path: str | os.PathLike[str],
    what: str,
    expected: Callable[[Mapping[str, Any]], Mapping[str, Axes]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what `write_archive` wrote; nothing is unpacked before its size is known to be right.

    Args:
        path: the file.
        what: what it should hold, for the message.
        expected: from its `meta`, the names of its arrays and their shapes. Others are not read.
    """
    content = _read(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            text = _Member.of(archive, "meta")
            demand_room(COPIES * text.size, "its meta")
            meta = dict(json.loads(str(text.unpacked(archive))))
            shapes = expected(meta)
            members = {name: _Member.of(archive, name) for name in shapes}
            for name, axes in shapes.items():
                members[name].demand(axes)
            total = sum(member.room for member in members.values())
            demand_room(COPIES * total, f"arrays of {total:,} bytes, once unpacked,")
            return meta, {name: member.unpacked(archive) for name, member in members.items()}
    except MonMDPError as error:
        raise MonMDPError(f"{path}: {error}") from None
    except Exception:  # zip, zlib, NumPy and JSON each complain in their own way
        raise MonMDPError(f"{path}: damaged, or not {what}") from None


class _Member(NamedTuple):
    """An array in an archive, as its header describes it."""

    name: str
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    begin: int
    """bytes before the array's own"""

    @classmethod
    def of(cls, archive: zipfile.ZipFile, name: str) -> _Member:
        """Read its header, which must agree with the size that the archive states."""
        try:
            info = archive.getinfo(f"{name}.npy")
        except KeyError:
            raise MonMDPError(f"damaged, {name!r} is missing") from None
        with archive.open(info) as file:
            if np.lib.format.read_magic(file) != (1, 0):  # others have headers of any length
                raise MonMDPError(f"damaged, {name!r} is no array of ours")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
            member = cls(name, shape, fortran, dtype, file.tell())
        plain = dtype.kind in "biufU" and all(n >= 0 for n in shape)
        if not plain or member.begin + member.size != info.file_size:
            raise MonMDPError(f"damaged, {name!r} is {dtype} of shape {shape} in its header only")
        return member

    @property
    def size(self) -> int:
        """Return the bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def room(self) -> int:
        """Return the bytes that it takes in memory, where whole numbers have eight each."""
        each = 8 if self.dtype.kind in "iu" else self.dtype.itemsize
        return math.prod(self.shape) * each

    def demand(self, axes: Axes) -> None:
        """Refuse another shape than this."""
        fits = len(axes) == len(self.shape) and all(
            n in (None, k) for n, k in zip(axes, self.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if n is None else f"{n:,}" for n in axes)
            raise MonMDPError(f"damaged, {self.name!r} has shape {self.shape}, not ({wanted})")

    def unpacked(self, archive: zipfile.ZipFile) -> NDArray[Any]:
        """Return the array; what is not as long as was said is an error of the archive's."""
        with archive.open(f"{self.name}.npy") as file:
            content = file.read(self.begin + self.size)  # and no more, whatever is in it
        order: Literal["F", "C"] = "F" if self.fortran else "C"
        flat = np.frombuffer(content, self.dtype, offset=self.begin)
        return flat.reshape(self.shape, order=order)
