"""numba's cache on disk, made safe against damage.

numba unpickles and runs whatever stands in its cache: one flipped bit in machine code and the
process crashes. Here every file carries a checksum, and a file that fails it is compiled anew and
written again. Where the cache cannot be read or written, everything works without it. Either way
one line says so.

The checksum finds accidents, not malice: who can write into the cache can run code.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

_told: set[str] = set()
"""folders whose trouble has been told"""


def keep_on_disk(dispatcher: Any) -> None:
    """Let a compiled function be kept on disk, if there is a place for it."""
    try:
        try:
            dispatcher._cache = SafeCache(dispatcher.py_func)
        except (AttributeError, TypeError):  # a numba that is made differently inside
            dispatcher.enable_caching()
    except (RuntimeError, OSError) as error:
        _tell(os.environ.get("NUMBA_CACHE_DIR") or "__pycache__", error)


def _tell(folder: str, why: object) -> None:
    """Say once that a cache is of no use."""
    if folder not in _told:
        _told.add(folder)
        said = f"numba's cache in {folder} cannot be used ({why}); compiling anew"
        print(said, file=sys.stderr, flush=True)


class SafeCache(FunctionCache):
    """The cache of one function; whatever goes wrong with it, the function is compiled."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        # Under another name than numba's own files, which have no checksum.
        base, stamp = f"{self._impl.filename_base}.sealed", self._cache_file._source_stamp
        self._cache_file = _SealedFiles(self._cache_path, base, stamp)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled code for a signature, None if there is none that can be used."""
        try:
            return super().load_overload(signature, context)
        except Exception as error:
            _tell(self._cache_path, error)
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep compiled code, if possible."""
        try:
            super().save_overload(signature, code)
        except Exception as error:  # a full disk, say
            _tell(self._cache_path, error)


class _SealedFiles(IndexDataCacheFile):
    """numba's index and data files, each behind its checksum."""

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_index(self) -> Any:
        try:
            version, stamp, overloads = self._read(self._index_path)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            _tell(self._cache_path, error)
            return {}  # it is written anew with the next function that is compiled
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _load_data(self, name: str) -> Any:
        try:
            return self._read(self._data_path(name))
        except ValueError as error:
            _tell(self._cache_path, error)
            raise FileNotFoundError(name) from None  # numba compiles, and writes it anew

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(data).digest() + data)

    def _read(self, path: str) -> Any:
        with open(path, "rb") as file:
            content = file.read()
        seal, data = content[:32], content[32:]
        if hashlib.sha256(data).digest() != seal:
            raise ValueError("a file in it is damaged")
        return pickle.loads(data)
