"""Suites: experiments as data, and what they expand to."""

from monmdp.suites.plan import (
    Configuration,
    Curve,
    Figure,
    Grid,
    Panel,
    Plan,
    Resolved,
    expand,
    resolve,
)
from monmdp.suites.spec import (
    Block,
    Suite,
    bundled_suite,
    bundled_suites,
    find,
    load,
    paper_suite,
    paper_suites,
    parse,
)

__all__ = [
    "Block",
    "Configuration",
    "Curve",
    "Figure",
    "Grid",
    "Panel",
    "Plan",
    "Resolved",
    "Suite",
    "bundled_suite",
    "bundled_suites",
    "expand",
    "find",
    "load",
    "paper_suite",
    "paper_suites",
    "parse",
    "resolve",
]
