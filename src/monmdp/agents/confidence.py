"""How confidence grows with the counts, and when to observe ("Practical Implementation")."""

from __future__ import annotations

import math
from typing import Literal

from monmdp.compiling import compilable

Growth = Literal["paper", "log", "none"]
"""g(N): 1 + x ln²x with x = ln N; ln(1 + N ln²N); 1"""
Schedule = Literal["paper", "released"]
"""observe iff κ ≤ log_b k; observe iff log_b(k - 1 + 10⁻⁴) > κ"""

# What compiled code sees of the two choices above.
GROWTH = {"paper": 0, "log": 1, "none": 2}
SCHEDULE = {"paper": 0, "released": 1}


@compilable
def growth_of(n: int, growth: int) -> float:
    """Return g(N) for a count N ≥ 1."""
    if growth == 2:
        return 1.0
    x = math.log(n)
    if growth == 1:
        return math.log(1.0 + n * x * x)
    if x == 0.0:
        return 1.0  # the limit: x ln²x → 0
    return 1.0 + x * math.log(x) * math.log(x)


@compilable
def observes(k: int, kappa: int, log_base: float, schedule: int) -> bool:
    """Return whether episode k = 1, 2, … observes, after κ episodes that did."""
    if schedule == 0:
        return kappa <= math.log(k) / math.log(log_base)
    return math.log(k - 1 + 1e-4) / math.log(log_base) > kappa
