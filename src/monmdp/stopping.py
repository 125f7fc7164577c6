"""Commands stop within two seconds of Ctrl-C or SIGTERM, whatever they are doing.

Python handles a signal between two of its own instructions: not while compiled code runs, and then
anywhere, in the middle of an import, say, whose failure would be the answer. So the handler does
nothing. The system also writes every signal into a pipe, and a thread that reads it ends the
process: at once, or after a moment where somebody is at work who ends in good order. Files are
whole at any time, so nothing is lost.

This module is the first that a command imports, and needs next to nothing itself.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

GRACE = 1.2
"""seconds that orderly work has to end by itself"""
CODE = 130
"""what a stopped command returns"""

unfinished: set[str] = set()
"""files that are being written, and go if the process does"""

_asked = threading.Event()
_once = threading.Lock()
_words = ["interrupted"]
_orderly: list[object] = []
_taken: list[object] = []


def asked() -> bool:
    """Return whether this process was told to stop; who works in good order looks at it."""
    return _asked.is_set()


@contextmanager
def orderly() -> Iterator[None]:
    """Mark work that looks at `asked` now and then, and ends by itself."""
    _orderly.append(None)
    try:
        yield
    finally:
        _orderly.pop()


@contextmanager
def kept_from_children() -> Iterator[None]:
    """Let processes that are started meanwhile not see the signals: their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # not on every platform
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # else it starts with the first worker, and lets the signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def saying(words: str) -> Iterator[None]:
    """Set what is said if the process is stopped meanwhile."""
    _words.append(words)
    try:
        yield
    except KeyboardInterrupt:
        say()
        raise
    finally:
        _words.pop()


def say() -> None:
    """Say that the process was stopped, once."""
    if _once.acquire(blocking=False):
        newline = "\n" if os.isatty(2) else ""  # there the line of progress is still open
        with suppress(OSError):
            os.write(2, f"{newline}{_words[-1]}\n".encode(errors="replace"))


@contextmanager
def stoppable() -> Iterator[None]:
    """Take SIGINT and SIGTERM, unless they are taken or ignored already."""
    if _taken or threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = [s for s in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(s) != signal.SIG_IGN]
    reading, writing = os.pipe()
    if hasattr(os, "set_blocking"):  # not on every platform
        os.set_blocking(writing, False)
    watcher = threading.Thread(target=_watch, args=(reading, signals), daemon=True)
    watcher.start()
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda *_: None) for number in signals}
    _taken.append(None)
    ending = sys.is_finalizing  # while Python ends, names of modules are gone, and nothing matters
    try:
        yield
    finally:
        if not ending():
            _taken.pop()
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(writing)
            if not _asked.is_set():  # else the watcher sees to it that the process ends in time
                watcher.join()
                os.close(reading)
            _once.acquire(blocking=False)
            _once.release()


def _watch(reading: int, signals: list[signal.Signals]) -> None:
    """Read the numbers of signals from a pipe until it is closed."""
    while number := os.read(reading, 1):
        if number[0] in signals:
            first = not _asked.is_set()
            _asked.set()
            if first and _orderly:
                threading.Thread(target=_end, args=(GRACE,), daemon=True).start()
            else:
                _end(0.0)


def _end(seconds: float) -> None:
    """End the process after a while, if it has not ended by then."""
    time.sleep(seconds)
    say()
    for path in tuple(unfinished):
        with suppress(OSError):
            os.unlink(path)
    os._exit(CODE)


def begin_if_command() -> None:
    """Take signals for good if this process is the command ``monmdp``, before it is imported."""
    name = (getattr(sys, "argv", None) or [""])[0]
    # While Python looks for what -m names, the first argument is "-m" itself.
    as_module = name == "-m" and re.search(r" -\w*m ?monmdp ", f" {' '.join(sys.orig_argv)} ")
    as_script = os.path.splitext(os.path.basename(name))[0] == "monmdp" and name in sys.orig_argv
    if as_module or as_script:
        _for_good.enter_context(stoppable())


_for_good = ExitStack()
"""never closed: a process that is ending is left to end"""
