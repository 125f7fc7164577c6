"""The command line in a process of its own, started and stopped as a terminal does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time


def started(*words, **options):
    """Start the command line in a process and a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "monmdp", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=_as_in_a_terminal, **options,
    )  # fmt: skip


def _as_in_a_terminal():
    """A shell lets what it runs in the background ignore Ctrl-C, and whatever that starts, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def stopped(process, how):
    """Tell a process to stop; return what it printed as errors, and how long it took to end."""
    begin = time.monotonic()
    if process.poll() is None:
        if how is signal.SIGINT:  # as a terminal does, to all of its processes
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return err, time.monotonic() - begin
