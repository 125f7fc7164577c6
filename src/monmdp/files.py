"""Files that are written completely or not at all, and archives of arrays."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.stopping import unfinished


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


def file_name(text: str) -> str:
    """Return a name for a file or folder that is safe everywhere."""
    return "".join(c if c.isalnum() or c in "-_.=" else "_" for c in text)


def write_archive(
    path: str | os.PathLike[str], meta: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write arrays, and `meta` as JSON, into one ``.npz`` file without pickle."""
    if Path(path).suffix != ".npz":
        raise MonMDPError(f"{path}: the file name must end in .npz")
    text = np.array(json.dumps(meta))
    write_whole(path, lambda file: np.savez_compressed(file, meta=text, **arrays))


def read_archive(path: str | os.PathLike[str], what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what `write_archive` wrote; `what` it should hold is for the message."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise MonMDPError(f"{path}: no such file") from None
    except OSError as error:
        raise MonMDPError(f"{path}: cannot be read, {error.strerror or error}") from None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        return dict(json.loads(str(arrays.pop("meta")))), arrays
    except Exception:  # zip, zlib, NumPy and JSON each complain in their own way
        raise MonMDPError(f"{path}: damaged, or not {what}") from None
