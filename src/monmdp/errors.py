"""The one exception users meet, and the helper that finds the name they meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MonMDPError(ValueError):
    """Something a person gave us is wrong; the message says what, where and what would be right."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest known name, else the list of known names."""
    names = sorted(known)
    by_lower_case = {n.lower(): n for n in names}
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {by_lower_case[close[0]]!r}?"
    return f"; known: {', '.join(names)}" if names else "; none is known"
