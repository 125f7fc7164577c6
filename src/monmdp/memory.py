"""What fits into this machine: whatever is large is weighed before it is made."""

from __future__ import annotations

import os

from monmdp.errors import MonMDPError

SHARE = 0.8
"""of the machine's memory that may be filled"""
UNKNOWN = 8 * 2**30
"""bytes of a machine that does not tell how many it has"""


def machine_memory() -> int | None:
    """Return the bytes of memory that this machine has, if it tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every platform
        return None


def room() -> int:
    """Return the bytes that may be filled."""
    return int(SHARE * (machine_memory() or UNKNOWN))


def demand_room(needed: int, what: str) -> None:
    """Refuse what would not fit; `what` says its size in the user's words.

    >>> from monmdp.memory import demand_room
    >>> demand_room(8 * 1000, "1,000 numbers")
    """
    if needed > room():
        raise MonMDPError(
            f"{what} would take about {in_bytes(needed)} of memory; there is room for "
            f"{in_bytes(room())}"
        )


def in_bytes(n: int) -> str:
    """Return a number of bytes as people say it.

    >>> from monmdp.memory import in_bytes
    >>> in_bytes(8_000_000_000), in_bytes(10**30)
    ('8 GB', '1e+30 bytes')
    """
    for power, unit in enumerate(("bytes", "kB", "MB", "GB", "TB", "PB", "EB")):
        if n < 999.5 * 1000**power:
            return f"{n / 1000**power:.3g} {unit}"
    return f"{float(min(n, 10**300)):.3g} bytes"
