"""Writing files so that they are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from monmdp.errors import MonMDPError


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file beside `path`, then move it there; on failure leave nothing."""
    path = Path(path)
    part = path.parent / f".{path.name}.{uuid4().hex}.part"
    try:
        with open(part, "xb") as file:
            write(file)
        os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise MonMDPError(f"cannot write {path}: {error.strerror or error}") from None
        raise
