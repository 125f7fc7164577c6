"""Suites: experiments as data, and what they expand to."""

from monmdp.suites.configuration import Configuration, Resolved, resolve
from monmdp.suites.plan import Curve, Figure, Grid, Panel, Plan, expand, plan_of
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
    "plan_of",
    "resolve",
]
