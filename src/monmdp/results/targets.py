"""What the suite `beyond` is to show, checked by machine from its runs.

The factored agent is the reference; steps are those of `steps.py`. A ratio *is at least x* where
its whole 95 % interval is ≥ x, and is not where the interval lies below x. *In no setting
more steps beyond chance*: in none does the interval of the paired difference of steps lie above 0;
with fewer than 30 seeds an interval that contains 0 decides nothing, because it may only be wide.
*Every seed converges*: to within 1 % of v, until the end of its budget. With fewer than 5 seeds
nothing holds, nor does it with fewer settings than the suite has.

What planning costs is measured by benchmarks/planning_cost.py: the CPU seconds of runs have their
tests in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from monmdp.results.claims import ENOUGH, FEWEST, Check, Claim, Part, Verdict
from monmdp.results.evidence import Evidence
from monmdp.results.figures import label
from monmdp.results.steps import SettingRuns, StepsTable, difference, paired, steps_tables
from monmdp.stats import Interval, mean_interval, ratio_of_means
from monmdp.suites import bundled_suite

SUITE = "beyond"
OURS = "factored-mbie-eb"
PAPER, BEST = "Monitored MBIE-EB", "Monitored MBIE-EB, best"
"""labels of Monitored MBIE-EB with the paper's settings, and with the best single one"""


@dataclass(frozen=True)
class Names:
    """The agents that the targets speak of, as tables have them."""

    ours: str
    paper: str = PAPER
    best: str = BEST
    known: str = "Known Monitor"


def check_targets(evidence: Evidence, names: Names | None = None) -> list[Claim]:
    """Check the targets of the suite `beyond`, if it is there and has the factored agent."""
    figure = next((of for of in evidence.figures if of.name == SUITE), None)
    if figure is None:
        return []
    if names is None:
        ours = [label(curve) for curve in figure.curves() if curve.agent == OURS]
        if not ours:
            return []
        names = Names(ours[0])
    tables = {of.group: of for of in steps_tables(figure, evidence, names.ours)}
    return [
        Claim(name, (SUITE,), text, tuple(_parts(tables.get(group), asked_for(group), names, of)))
        for name, group, text, of in TARGETS
    ]


def asked_for(group: str) -> int:
    """Return how many settings the whole suite has in the blocks of a title."""
    return sum(
        len(block.worlds) * len(block.monitors) * len(block.rho or (None,)) * len(block.overrides)
        for block in bundled_suite(SUITE).experiment
        if block.title == group
    )


TARGETS: tuple[tuple[str, str, str, dict[str, float]], ...] = (
    ("B1", "Bottleneck", "Bottleneck: a fifth of the steps, a third of the best setting's",
     {"paper": 5, "best": 3, "known": 1}),
    ("B2", "48 benchmarks", "48 benchmarks: half of the steps", {"paper": 2}),
    ("B3", "Adversarial monitors", "monitors that break what it assumes do not break it", {}),
    ("B4", "Larger worlds", "it learns larger worlds, too", {}),
)  # fmt: skip
"""name, title of the suite's blocks, what is claimed, and how many times its steps others take"""


def _parts(
    table: StepsTable | None, n: int, names: Names, ratios: Mapping[str, float]
) -> Iterable[Part]:
    for agent, least in ratios.items():
        yield _ratio(table, n, names.ours, getattr(names, agent), least)
    yield _none_worse(table, n, names.ours, names.paper)
    yield _all_converge(table, n, names.ours)


def _ratio(table: StepsTable | None, n: int, ours: str, theirs: str, least: float) -> Part:
    """Their steps are at least so many times ours, over all settings; or more, if that is 1."""
    both = _with(table, ours, theirs)
    strict = least == 1
    text = f"{theirs} takes at least {least:g} times the steps of {ours}"
    if strict:
        text = f"{theirs} takes more steps than {ours}"
    if not both:
        return Part(text, (), 1)
    pairs = [paired(of.runs[theirs], of.runs[ours]) for of in both]
    if not all(len(first) for first, _ in pairs):
        return Part(text, (), 1)
    interval = ratio_of_means(
        [of for of, _ in pairs], [of for _, of in pairs], np.random.default_rng(0)
    )
    verdict = Verdict.OPEN
    if interval.high < least or (strict and interval.high == least):
        verdict = Verdict.NOT
    elif len(both) == n and (interval.low > least or (not strict and interval.low == least)):
        verdict = Verdict.HOLDS
    measured = f"{interval.in_words('.3g')} times, over {len(both)} of {n} settings"
    if verdict is Verdict.HOLDS and not all(of.runs[ours].optimal.all() for of in both):
        verdict = Verdict.OPEN  # with runs that never get there, its own steps are a lower bound
    return Part(text, (_decided(f"{n} settings", measured, interval, verdict, both, ours),), 1)


def _none_worse(table: StepsTable | None, n: int, ours: str, theirs: str) -> Part:
    checks = []
    for setting in _with(table, ours, theirs):
        mine, others = paired(setting.runs[ours], setting.runs[theirs])
        if not len(mine):
            continue
        interval = difference(mine, others)
        verdict = Verdict.HOLDS
        if interval.low > 0:
            verdict = Verdict.NOT
        elif interval.high > 0 and len(mine) < ENOUGH:
            verdict = Verdict.OPEN
        means = f"{mine.mean():,.0f} and {others.mean():,.0f} steps"
        measured = f"{means}, the first more by {interval.in_words('+,.0f')}"
        checks.append(_decided(setting.name, measured, interval, verdict, [setting], ours))
    more = [check.setting for check in checks if check.interval and check.interval.estimate > 0]
    also = f"more on average on {len(more)}" + (f": {', '.join(more)}" if more else "")
    text = f"in no setting does {ours} take more steps than {theirs} beyond chance"
    return Part(text, tuple(checks), n, also=also)


def _all_converge(table: StepsTable | None, n: int, ours: str) -> Part:
    checks = []
    for setting in () if table is None else table.settings:
        if ours not in setting.runs:
            continue
        of = setting.runs[ours]
        got_there = int(of.optimal.sum())
        interval = mean_interval(of.steps_to_optimal)
        verdict = Verdict.HOLDS if got_there == len(of.seeds) else Verdict.NOT
        measured = f"{got_there} of {len(of.seeds)} seeds, after {interval.in_words(',.0f')} steps"
        checks.append(_decided(setting.name, measured, interval, verdict, [setting], ours))
    return Part(f"every seed of {ours} converges", tuple(checks), n)


def _with(table: StepsTable | None, *agents: str) -> list[SettingRuns]:
    settings = () if table is None else table.settings
    return [of for of in settings if all(agent in of.runs for agent in agents)]


def _decided(
    setting: str,
    measured: str,
    interval: Interval,
    verdict: Verdict,
    settings: Iterable[SettingRuns],
    ours: str,
) -> Check:
    """Return the check; too few seeds decide nothing but that a seed has not converged."""
    runs = [of for one in settings for of in one.runs.values()]
    few = any(len(one.runs[ours].seeds) < FEWEST for one in settings)
    if (few or np.isnan(interval.low)) and verdict is Verdict.HOLDS:
        verdict = Verdict.OPEN
    return Check(setting, measured, interval, verdict, any(of.stale for of in runs))
