"""Live curves: what a run finds at its tests, written down for TensorBoard while it goes on.

Whatever watches a run cannot change it: the log reads what the tests have found, and no run reads
the log. It is written where the run is made, a file for each run, and each test at once: what a
killed run leaves can be read. A run that is done again begins a new file and removes the old one.

TensorBoard's format is small enough to be written here, which takes no package and no thread. A
file is a chain of records: the length of the data, 8 bytes, its checksum, 4 bytes, the data, and
their checksum; the checksum is a CRC-32C, turned and shifted. The data are an `Event` in protocol
buffers: its time (field 1), step (2), and a summary (5) of values (1) with a tag (1) and a number
(2); the first one has the version of the format instead (3).
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from math import isfinite
from pathlib import Path

from monmdp.errors import MonMDPError, nearest
from monmdp.experiment.training import Watch
from monmdp.model.arrays import FloatArray, IntArray

LOGS = ("tensorboard",)
"""kinds of logs"""
FILES = "events.out.tfevents.*"
"""what TensorBoard reads"""
POLYNOMIAL = 0x82F63B78
"""of CRC-32C, the lowest bit first"""


def checked_log(log: str | None) -> None:
    """Refuse a kind of log that there is not."""
    if log is not None and log not in LOGS:
        raise MonMDPError(f"unknown log {log!r}{nearest(log, LOGS)}")


def log_path(folder: Path, configuration_id: str, seed: int) -> Path:
    """Return the folder of a run's log, in a folder of results."""
    return folder / "tensorboard" / configuration_id / f"seed-{seed:04d}"


def is_logged(folder: Path) -> bool:
    """Return whether a run has a log, be it of a run that was killed."""
    return any(folder.glob(FILES))


@contextmanager
def live_curves(folder: Path | None) -> Iterator[Watch | None]:
    """Yield what writes the curves of one run into its folder; None: nothing is written.

    What an earlier try of the same run left there is removed: no test is there twice.
    """
    if folder is None:
        yield None
        return
    try:
        for path in folder.glob(FILES):
            path.unlink()
        # Later ones have later names: TensorBoard reads on in the order of names. No buffer: a
        # record is written in one go, and is there when the process is killed.
        file = open(  # noqa: SIM115
            folder / FILES.replace("*", f"{time.time_ns():020d}"), "xb", buffering=0
        )
    except OSError as error:
        raise MonMDPError(f"cannot write into {folder}: {error.strerror or error}") from None

    def watch(steps: IntArray, columns: Mapping[str, FloatArray]) -> None:
        for i, step in enumerate(steps):
            found = {name: float(values[i]) for name, values in columns.items()}
            file.write(_record(_test(int(step), found)))

    with file:
        file.write(_record(_event(_field(3, b"brain.Event:2"))))
        yield watch


def _test(step: int, found: Mapping[str, float]) -> bytes:
    """What a test found, as an event; shares of nothing are no numbers, and left out."""
    values = b"".join(
        _field(1, _field(1, name.encode()) + b"\x15" + struct.pack("<f", value))
        for name, value in found.items()
        if isfinite(value)
    )
    return _event(b"\x10" + _varint(step) + _field(5, values))


def _event(content: bytes) -> bytes:
    """An event of now."""
    return b"\x09" + struct.pack("<d", time.time()) + content


def _field(number: int, content: bytes) -> bytes:
    """A field of protocol buffers that has bytes, or other fields, in it."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(n: int) -> bytes:
    """A whole number, seven bits a byte, the lowest first."""
    parts = []
    while n > 0x7F:
        parts.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*parts, n])


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def _checksum(data: bytes) -> bytes:
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[crc & 0xFF ^ byte] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


@cache
def _table() -> tuple[int, ...]:
    """CRC-32C of every byte."""
    found = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ POLYNOMIAL * (crc & 1)
        found.append(crc)
    return tuple(found)
