"""One runner at a time in a folder of results, or the shards of one split.

A whole run holds the file ``lock`` for its life. A shard holds ``lock`` for a moment only, while it
takes its own ``lock-1-of-4``. So whoever holds ``lock`` finds out, by trying, which shards are at
work, and nobody comes in meanwhile. The system lets go of a lock when its process ends, however it
ends; `filelock` knows how on each platform.

Who holds a lock stands in a file beside it: on Windows nobody else can read a locked file. A folder
may come from a stranger, so links are not followed.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from monmdp.errors import MonMDPError
from monmdp.files import write_whole
from monmdp.results.store import make_folder

PATIENCE = 1.0
"""seconds to wait for a lock: shards that start together hold it for a moment each"""

_SHARD = re.compile(r"lock-([0-9]+)-of-([0-9]+)")
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)
"""what a file system says that knows no locks"""
_NOTE = 200
"""bytes of a note that are read"""


@contextmanager
def locked(folder: Path, shard: tuple[int, int] | None = None) -> Iterator[bool]:
    """Hold a folder while working in it; yields whether nobody else can be at work there.

    A whole run holds it alone. The shards of one split, 1/4 to 4/4, share it, each held once.
    """
    make_folder(folder)
    if shard is None:
        with _held(folder, "lock", PATIENCE) as held:
            _demand_no_shard(folder)
            yield held
        return
    i, n = shard
    with ExitStack() as stack:
        with _held(folder, "lock", PATIENCE):
            _demand_no_shard(folder, but_of=n)
            stack.enter_context(_held(folder, f"lock-{i}-of-{n}", 0.0))
        yield False


def _demand_no_shard(folder: Path, but_of: int | None = None) -> None:
    """Refuse to go on where a shard is at work, unless it is one of the same split."""
    for name in sorted(os.listdir(folder)):
        found = _SHARD.fullmatch(name)
        if found and found[2] != str(but_of):
            with _held(folder, name, 0.0):
                pass


@contextmanager
def _held(folder: Path, name: str, seconds: float) -> Iterator[bool]:
    """Hold one lock, waiting for it a while; False where the file system knows no locks."""
    from filelock import FileLock, Timeout

    path, note = folder / name, folder / f"{name}.by"
    lock = FileLock(path, thread_local=False)
    _demand_plain(path)
    try:
        lock.acquire(timeout=seconds, poll_interval=0.02)
    except Timeout:
        shard = _SHARD.fullmatch(name)
        which = f", shard {shard[1]}/{shard[2]}" if shard else ""
        raise MonMDPError(
            f"another run is at work in {folder} ({_read(note)}{which}); wait for it, or choose "
            "another folder"
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            _demand_plain(path)  # perhaps it has just become a link
            why = error.strerror or error
            raise MonMDPError(f"cannot use {folder} for results: {why}") from None
    if not lock.is_locked:
        yield False
        return
    try:
        who = f"process {os.getpid()} on {platform.node()}"
        write_whole(note, lambda file: file.write(who.encode()))
        yield True
    finally:
        with suppress(OSError):
            note.unlink()
        lock.release()


def _demand_plain(path: Path) -> None:
    """Refuse a lock that is a link, or anything else but a file."""
    try:
        kind = os.lstat(path).st_mode
    except OSError:
        return  # not there yet, or it will be told by who opens it
    if not stat.S_ISREG(kind):
        what = "a link" if stat.S_ISLNK(kind) else "no plain file"
        raise MonMDPError(f"{path} is {what}, and not a lock of monmdp's; remove it")


def _read(note: Path) -> str:
    """Who holds a lock, as far as a file of anybody's can be believed."""
    try:
        if not stat.S_ISREG(os.lstat(note).st_mode):
            return "an unknown process"
        with open(note, "rb") as file:
            words = file.read(_NOTE).decode("ascii", errors="replace")
    except OSError:  # not yet written
        return "an unknown process"
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in words)
