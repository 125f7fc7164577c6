"""Suites: experiments as data, and what they expand to."""

from monmdp.suites.claims import Claim, Sentence, Setting
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
    "Claim",
    "Configuration",
    "Curve",
    "Figure",
    "Grid",
    "Panel",
    "Plan",
    "Resolved",
    "Sentence",
    "Setting",
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
