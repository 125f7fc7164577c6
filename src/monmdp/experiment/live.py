"""Live curves: what a run finds at its tests, written down for TensorBoard while it goes on.

Whatever watches a run cannot change it: the log reads what the tests have found, and no run reads
the log. It is written where the run is made, one file for each run, and flushed after every test:
what a killed run leaves can be read. A run that is done again begins its file anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path

from monmdp.errors import MonMDPError, import_extra, nearest
from monmdp.experiment.training import Watch
from monmdp.model.arrays import FloatArray, IntArray

LOGS = ("tensorboard",)
"""kinds of logs"""
FILES = "events.out.tfevents.*"
"""what TensorBoard reads"""


def checked_log(log: str | None) -> None:
    """Refuse a kind of log that there is not, or that needs a package which is not there."""
    if log is None:
        return
    if log not in LOGS:
        raise MonMDPError(f"unknown log {log!r}{nearest(log, LOGS)}")
    import_extra("tensorboardX", "log", "a log for TensorBoard")


def log_path(folder: Path, configuration_id: str, seed: int) -> Path:
    """Return the folder of a run's log, in a folder of results."""
    return folder / "tensorboard" / configuration_id / f"seed-{seed:04d}"


def is_logged(folder: Path) -> bool:
    """Return whether a run has a log, be it of a run that was killed."""
    return any(folder.glob(FILES))


@contextmanager
def live_curves(folder: Path | None) -> Iterator[Watch | None]:
    """Yield what writes the curves of one run into a folder of its own; None: nothing is written.

    What an earlier try of the same run left there is removed: no test is there twice.
    """
    if folder is None:
        yield None
        return
    board = import_extra("tensorboardX", "log", "a log for TensorBoard")
    try:
        for path in folder.glob(FILES):
            path.unlink()
        writer = board.SummaryWriter(str(folder))
    except OSError as error:
        raise MonMDPError(f"cannot write {folder}: {error.strerror or error}") from None

    def watch(steps: IntArray, columns: Mapping[str, FloatArray]) -> None:
        for i, step in enumerate(steps):
            for name, values in columns.items():
                if isfinite(values[i]):  # shares of nothing are no numbers
                    writer.add_scalar(name, float(values[i]), int(step))
        writer.flush()

    try:
        yield watch
    finally:
        writer.close()
