"""Arrays and other data on their way into a page: small, and safe between HTML tags.

An array travels as the deflated bytes of its entries, little-endian and in C order, in base64; the
page inflates what it draws. Nothing is rounded, other than by the type that is chosen.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

DTYPES = ("f8", "f4", "i4", "u2", "u1")


def pack(array: ArrayLike, dtype: str) -> dict[str, Any]:
    """Return an array as plain data, its entries as one of `DTYPES`."""
    assert dtype in DTYPES
    values = np.ascontiguousarray(array, dtype=f"<{dtype}")
    return {
        "dtype": dtype,
        "shape": list(values.shape),
        "data": base64.b64encode(zlib.compress(values.tobytes(), 9)).decode(),
    }


def unpack(packed: dict[str, Any]) -> Any:
    """Return the array that `pack` was given."""
    data = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(data, dtype=f"<{packed['dtype']}").reshape(packed["shape"])


def script_json(data: Any) -> str:
    """Return data as JSON that may stand in a script element: it cannot end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def finite(value: float) -> float | None:
    """Return a number as JSON can hold it; None for what is not finite."""
    return float(value) if np.isfinite(value) else None
