"""The paper's claims, each checked by machine from the results.

A claim has parts, and a part has checks, one for each setting it speaks of. A check holds, does
not hold, or is inconclusive; so do parts and claims: they hold if everything in them does, and do
not if anything in them does not.

Terms. A run's *area* is the mean of its tests. *Better*: the 95 % Welch interval of the difference
of mean areas lies above 0; *on par*: it contains 0. *End*: mean of the last ten tests; *at v*: its
interval lies within v ± 0.05·max(1, |v|); *fails*: wholly below that. *Steps-to-v*: the first test
from which on the mean over seeds stays ≥ v - 0.05·max(1, |v|), by the exact returns of the tested
policies; its intervals come from resampling seeds. With fewer than 30 seeds "the interval contains
0" decides nothing, because it may only be wide: such a check is inconclusive. So is one whose data
are missing or come from fewer than 5 seeds, or whose interval straddles the edge of what "at v"
allows.

What the paper leaves open is settled here: *about 30 %* is 20 to 40 %, with an interval that
excludes 0; *about as fast* and *similar* are a ratio between 2/3 and 3/2, at ρ = 0.2 and 0.05
against 0.8; both hold by the estimate, and do not where the interval lies wholly outside. A larger
*cost*, or slowing down *more*, is a larger loss of area; *worse* is a smaller area. Slowing down as
ρ falls is a matter of the mean over the six monitors. *Keeps visiting* is more than 0.05 visits an
episode. "43 of 48, on par on 5" is better on 43 or more and worse on none. Runs that never get to v
have taken at least their budget: they may show that something takes longer, never that it is
similar. A part also needs all settings that the paper speaks of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from monmdp.model.arrays import FloatArray
from monmdp.results.evidence import AT, Aggregate, Evidence
from monmdp.stats import BOUNDS, Interval, contrast, mean_interval, welch
from monmdp.suites import Block, Figure, Panel, paper_suite, paper_suites

ENOUGH = 30
"""seeds, as many as the paper has"""
FEWEST = 5
"""intervals from fewer seeds are too narrow to decide anything"""
RATIO = 1.5
OURS, KNOWN, RIVAL = "monitored-mbie-eb", "known-monitor", "directed-e2"
OPTIMIST, PESSIMIST = "mbie-eb", "pessimistic-mbie-eb"


class Verdict(Enum):
    """What the data say."""

    HOLDS = "holds"
    NOT = "does not hold"
    OPEN = "inconclusive"

    def __and__(self, other: Verdict) -> Verdict:
        """Both hold; one that does not is enough for neither."""
        for decisive in (Verdict.NOT, Verdict.OPEN):
            if decisive in (self, other):
                return decisive
        return Verdict.HOLDS


SINGULAR = {Verdict.NOT: "does not hold", Verdict.OPEN: "is inconclusive"}
PLURAL = {Verdict.NOT: "do not hold", Verdict.OPEN: "are inconclusive"}


@dataclass(frozen=True)
class Check:
    """One comparison in one setting."""

    setting: str
    measured: str
    """in words, with its unit"""
    interval: Interval | None
    verdict: Verdict
    stale: bool = False
    """some of its runs were made by other code than today's"""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        numbers = None
        if self.interval is not None:
            numbers = [None if np.isnan(x) else float(x) for x in self.interval]
        return {
            "setting": self.setting,
            "measured": self.measured,
            "estimate_low_high": numbers,
            "verdict": self.verdict.value,
            "stale": self.stale,
        }


@dataclass(frozen=True)
class Part:
    """What a claim says of several settings."""

    text: str
    checks: tuple[Check, ...]
    of: int
    """of how many settings the paper says it; with fewer of them it cannot hold"""
    needed: int | None = None
    """in how many of them it must hold, where it is not all"""
    also: str = ""
    """what other measures say; it does not enter the verdict"""

    @property
    def verdict(self) -> Verdict:
        """Return what all checks together say."""
        needed = self.of if self.needed is None else self.needed
        if self._count(Verdict.NOT) > self.of - needed:
            return Verdict.NOT
        return Verdict.HOLDS if self._count(Verdict.HOLDS) >= needed else Verdict.OPEN

    def _count(self, verdict: Verdict) -> int:
        return sum(check.verdict is verdict for check in self.checks)

    @property
    def measured(self) -> str:
        """Sum up the checks in words."""
        if not self.checks:
            return "not run"
        if len(self.checks) == self.of == 1:
            return self.checks[0].measured
        words = [f"{self._count(Verdict.HOLDS)} of {len(self.checks)} hold"]
        for verdict in (Verdict.NOT, Verdict.OPEN):
            names = [check.setting for check in self.checks if check.verdict is verdict]
            if names:
                shown = ", ".join(names[:8]) + (" and others" if len(names) > 8 else "")
                verb = (SINGULAR if len(names) == 1 else PLURAL)[verdict]
                words.append(f"{len(names)} {verb}: {shown}")
        if len(self.checks) < self.of:
            words.append(f"{self.of - len(self.checks)} not asked for")
        return "; ".join(words)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper."""

    name: str
    figures: tuple[str, ...]
    text: str
    parts: tuple[Part, ...]

    @property
    def verdict(self) -> Verdict:
        """Return what all parts together say."""
        return reduce(Verdict.__and__, (part.verdict for part in self.parts))

    @property
    def stale(self) -> bool:
        """Return whether it rests on runs that other code than today's has made."""
        return any(check.stale for part in self.parts for check in part.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "claim": self.name,
            "figures": list(self.figures),
            "text": self.text,
            "verdict": self.verdict.value,
            "stale": self.stale,
            "parts": [
                {
                    "text": part.text,
                    "measured": part.measured,
                    "also": part.also,
                    "verdict": part.verdict.value,
                    "checks": [check.to_dict() for check in part.checks],
                }
                for part in self.parts
            ],
        }


def check_claims(evidence: Evidence) -> list[Claim]:
    """Check the claims about the paper's figures, or what was asked for of them."""
    there = {figure.name for figure in evidence.figures if _is_of_paper(figure)}
    return [
        Claim(name, figures, text, tuple(parts(_Figures(evidence))))
        for name, figures, text, parts in CLAIMS
        if there.intersection(figures)
    ]


# ---- where claims look ----------------------------------------------------------------------


def _is_of_paper(figure: Figure) -> bool:
    """Return whether all its panels are of the paper's figure; others may bear the same name."""
    if figure.name not in paper_suites():
        return False
    blocks = paper_suite(figure.name).experiment
    return len(figure.grids) <= len(blocks) and all(
        (panel.world, panel.monitor, dict(panel.problem)) in _problems(block)
        for grid, block in zip(figure.grids, blocks, strict=False)
        for row in grid.rows
        for panel in row
    )


def _problems(block: Block) -> list[tuple[str, str, dict[str, Any]]]:
    """World, monitor and parameters of the panels of a block."""
    return [
        (
            world.name,
            monitor.name,
            {f"world.{key}": value for key, value in world.parameters.items()}
            | {f"monitor.{key}": value for key, value in monitor.parameters.items()}
            | ({} if rho is None else {"monitor.rho": rho}),
        )
        for world in block.worlds
        for monitor in block.monitors
        for rho in block.rho or (None,)
    ]


class _Figures:
    """The aggregates of figures; missing ones are None.

    Figures may have been asked for with fewer settings or agents than the paper's.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._figures: dict[str, Figure] = {
            figure.name: figure for figure in evidence.figures if _is_of_paper(figure)
        }

    def panels(self, number: int, grid: int | None = None) -> list[Panel]:
        """Return the panels of a figure, or of one of its grids."""
        figure = self._figures.get(f"figure-{number}")
        if figure is None:
            return []
        if grid is None:
            return list(figure.panels())
        return [panel for of in figure.grids[grid : grid + 1] for row in of.rows for panel in row]

    def of(self, panel: Panel | None, agent: str) -> Aggregate | None:
        """Return what is known of an agent in a panel."""
        curves = () if panel is None else panel.curves
        return next((self._evidence.of(of) for of in curves if of.agent == agent), None)


def _setting(panel: Panel) -> str:
    shown = f" {100 * panel.rho:g} %" if "monitor.rho" in panel.problem else ""
    solvable = " (solvable)" if panel.problem.get("world.solvable") else ""
    return f"{panel.world}{solvable}/{panel.monitor}{shown}"


# ---- checks ---------------------------------------------------------------------------------


def _enough(*runs: Aggregate) -> bool:
    return all(len(of.seeds) >= ENOUGH for of in runs)


def _made(
    setting: str,
    runs: Sequence[Aggregate | None],
    judge: Callable[..., tuple[str, Interval, Verdict]],
) -> Check:
    """Judge runs; what is missing, or has too few seeds for an interval, decides nothing."""
    there = [of for of in runs if of is not None]
    if len(there) < len(runs):
        return Check(setting, "not run", None, Verdict.OPEN)
    measured, interval, verdict = judge(*there)
    few = any(len(of.seeds) < FEWEST for of in there)
    if few or np.isnan(interval.low) or np.isnan(interval.high):
        verdict = Verdict.OPEN
    return Check(setting, measured, interval, verdict, any(of.stale for of in there))


SIGNED = "+.4g"
"""how differences are written"""


def _above_zero(interval: Interval, enough: bool) -> Verdict:
    if interval.low > 0:
        return Verdict.HOLDS
    return Verdict.NOT if interval.high < 0 or enough else Verdict.OPEN


def _includes_zero(interval: Interval, enough: bool) -> Verdict:
    if not interval.contains(0):
        return Verdict.NOT
    return Verdict.HOLDS if enough else Verdict.OPEN


def _not_below_zero(interval: Interval, enough: bool) -> Verdict:
    if interval.high < 0:
        return Verdict.NOT
    return Verdict.HOLDS if enough or interval.low > 0 else Verdict.OPEN


def _compared(
    setting: str,
    ours: Aggregate | None,
    theirs: Aggregate | None,
    rule: Callable[[Interval, bool], Verdict],
) -> Check:
    """Compare areas."""

    def judge(a: Aggregate, b: Aggregate) -> tuple[str, Interval, Verdict]:
        interval = welch(a.area, b.area)
        means = f"areas {a.area.mean():.4g} and {b.area.mean():.4g}"
        words = f"{means}, the first larger by {interval.in_words(SIGNED)}"
        return words, interval, rule(interval, _enough(a, b))

    return _made(setting, (ours, theirs), judge)


def _at(
    setting: str,
    runs: Aggregate | None,
    score: str = "episode_return",
    value: float | None = None,
) -> Check:
    """The end is at a value; by default at the minimax return."""

    def judge(of: Aggregate) -> tuple[str, Interval, Verdict]:
        v = of.minimax if value is None else value
        interval, room = mean_interval(of.end[score]), AT * max(1.0, abs(v))
        verdict = Verdict.OPEN
        if v - room <= interval.low and interval.high <= v + room:
            verdict = Verdict.HOLDS
        elif interval.high < v - room or interval.low > v + room:
            verdict = Verdict.NOT
        return f"end {interval.in_words('.4g')} against {v:.4g}", interval, verdict

    return _made(setting, (runs,), judge)


def _fails(setting: str, runs: Aggregate | None) -> Check:
    """The end is wholly below what counts as being at the minimax return."""

    def judge(of: Aggregate) -> tuple[str, Interval, Verdict]:
        interval = mean_interval(of.end["episode_return"])
        verdict = Verdict.OPEN
        if interval.high < of.threshold:
            verdict = Verdict.HOLDS
        elif interval.low >= of.threshold:
            verdict = Verdict.NOT
        return f"end {interval.in_words('.4g')} against {of.minimax:.4g}", interval, verdict

    return _made(setting, (runs,), judge)


def _resampled(estimate: float, replicates: FloatArray, *runs: Aggregate) -> Interval:
    """Return the percentile interval; resampling a single seed says nothing."""
    if any(len(of.seeds) < 2 for of in runs):
        return Interval(float(estimate), np.nan, np.nan)
    low, high = np.quantile(replicates, BOUNDS)
    return Interval(float(estimate), float(low), float(high))


def _later(
    setting: str, later: Sequence[Aggregate | None], sooner: Sequence[Aggregate | None]
) -> Check:
    """Steps-to-v are more, on average over several problems; never counts as the budget."""

    def judge(*runs: Aggregate) -> tuple[str, Interval, Verdict]:
        a, b = runs[: len(later)], runs[len(later) :]
        more = np.mean([of.steps_to_v for of in a]) - np.mean([of.steps_to_v for of in b])
        replicates = np.mean([of.steps_to_v_resampled for of in a], axis=0)
        replicates = replicates - np.mean([of.steps_to_v_resampled for of in b], axis=0)
        interval = _resampled(float(more), replicates, *runs)
        verdict = _above_zero(interval, _enough(*runs))
        # Who never gets there has taken at least the budget: that can make the difference smaller
        # than it is, or, among those said to be sooner, hide that they slow down.
        sure = all(of.reaches_v for of in b) or interval.high < 0
        if verdict is Verdict.NOT and not (sure and all(of.reaches_v for of in a)):
            verdict = Verdict.OPEN
        steps = f"{_mean_steps(b)} → {_mean_steps(a)} steps"
        return f"{steps}, {interval.in_words('+,.0f')}", interval, verdict

    return _made(setting, (*later, *sooner), judge)


def _mean_steps(runs: Sequence[Aggregate]) -> str:
    never = sum(not of.reaches_v for of in runs)
    mark = "" if not never else "at least "
    return f"{mark}{np.mean([of.steps_to_v for of in runs]):,.0f}"


def _about_as_fast(setting: str, one: Aggregate | None, other: Aggregate | None) -> Check:
    """The ratio of steps-to-v is between 2/3 and 3/2."""

    def judge(a: Aggregate, b: Aggregate) -> tuple[str, Interval, Verdict]:
        ratio = max(a.steps_to_v, 1) / max(b.steps_to_v, 1)
        replicates = np.maximum(a.steps_to_v_resampled, 1) / np.maximum(b.steps_to_v_resampled, 1)
        interval = _resampled(ratio, replicates, a, b)
        verdict = Verdict.OPEN
        # Who never gets there has taken at least the budget.
        too_slow, too_fast = interval.low > RATIO, interval.high < 1 / RATIO
        if (too_slow and b.reaches_v) or (too_fast and a.reaches_v):
            verdict = Verdict.NOT
        elif a.reaches_v and b.reaches_v and 1 / RATIO <= ratio <= RATIO:
            verdict = Verdict.HOLDS
        steps = f"{_mean_steps([a])} against {_mean_steps([b])} steps"
        return f"{steps}, ratio {interval.in_words('.2f')}", interval, verdict

    return _made(setting, (one, other), judge)


# ---- the claims -----------------------------------------------------------------------------

Parts = Iterator[Part]


def _c1(figures: _Figures) -> Parts:
    panels = figures.panels(4, 0)
    runs = [(_setting(p), figures.of(p, OURS), figures.of(p, RIVAL)) for p in panels]
    yield Part(
        "Monitored MBIE-EB ends at the optimum",
        tuple(_at(name, ours) for name, ours, _ in runs),
        of=1,
    )
    yield Part(
        "it is better than Directed-E²",
        tuple(_compared(name, ours, rival, _above_zero) for name, ours, rival in runs),
        of=1,
    )


def _c2(figures: _Figures) -> Parts:
    b, c = figures.panels(4, 1), figures.panels(4, 2)
    both = [*b, *c]
    yield Part(
        "Monitored MBIE-EB ends at the minimax value in 4b and 4c",
        tuple(_at(_setting(p), figures.of(p, OURS)) for p in both),
        of=2,
    )
    yield Part(
        "it is slower in 4c",
        tuple(
            _later("4c against 4b", [figures.of(q, OURS)], [figures.of(p, OURS)])
            for p, q in zip(b, c, strict=False)
        ),
        of=1,
    )
    yield Part(
        "Directed-E² with random r₀ fails in both",
        tuple(_fails(_setting(p), figures.of(p, RIVAL)) for p in both),
        of=2,
    )
    yield Part(
        "it is worse in 4c",
        tuple(
            _compared("4b against 4c", figures.of(p, RIVAL), figures.of(q, RIVAL), _above_zero)
            for p, q in zip(b, c, strict=False)
        ),
        of=1,
    )


def _c3(figures: _Figures) -> Parts:
    def judge(known: Aggregate, unknown: Aggregate) -> tuple[str, Interval, Verdict]:
        fewer = 1 - known.steps_to_v / max(unknown.steps_to_v, 1)
        replicates = 1 - known.steps_to_v_resampled / np.maximum(unknown.steps_to_v_resampled, 1)
        interval = _resampled(fewer, replicates, known, unknown)
        verdict = Verdict.OPEN
        too_few, too_many = interval.high < 0.2, interval.low > 0.4
        if (too_few and unknown.reaches_v) or (too_many and known.reaches_v):
            verdict = Verdict.NOT
        elif known.reaches_v and unknown.reaches_v and 0.2 <= fewer <= 0.4 and interval.low > 0:
            verdict = Verdict.HOLDS
        steps = f"{_mean_steps([known])} against {_mean_steps([unknown])} steps"
        return f"{steps}, fewer by {interval.in_words('.0%')}", interval, verdict

    yield Part(
        "with a known monitor about 30 % fewer steps-to-v",
        tuple(
            _made(_setting(p), (figures.of(p, KNOWN), figures.of(p, OURS)), judge)
            for p in figures.panels(4, 3)
        ),
        of=1,
    )


def _c4(figures: _Figures) -> Parts:
    pairs = _with_rival(figures, 6)
    yield Part(
        "better than Directed-E² on 43 of 48",
        tuple(_compared(name, ours, rival, _above_zero) for name, ours, rival in pairs),
        of=48,
        needed=43,
        also=_other_measures(pairs),
    )
    checks = tuple(_compared(name, ours, rival, _not_below_zero) for name, ours, rival in pairs)
    yield Part("worse on none", checks, of=48)


def _c5(figures: _Figures) -> Parts:
    def sees(score: str) -> Callable[[Aggregate], tuple[str, Interval, Verdict]]:
        def judge(of: Aggregate) -> tuple[str, Interval, Verdict]:
            interval = mean_interval(of.first[score])
            verdict = _above_zero(interval, _enough(of))
            return f"{interval.in_words('.3g')} visits an episode", interval, verdict

        return judge

    def keeps(of: Aggregate) -> tuple[str, Interval, Verdict]:
        interval = mean_interval(of.end["bottom_visits"])
        verdict = Verdict.OPEN
        if interval.low > AT:
            verdict = Verdict.HOLDS
        elif interval.high <= AT:
            verdict = Verdict.NOT
        return f"end {interval.in_words('.3g')} visits an episode", interval, verdict

    goal, bottom = figures.panels(5, 0), figures.panels(5, 1)
    yield Part(
        "at step 0 both visit the goal and ⊥",
        tuple(
            _made(f"{agent}, {score.replace('_', ' ')}", (figures.of(p, agent),), sees(score))
            for panels, score in ((goal, "goal_visits"), (bottom, "bottom_visits"))
            for p in panels
            for agent in (OURS, RIVAL)
        ),
        of=4,
    )
    yield Part(
        "Monitored MBIE-EB's visits to the goal become 1",
        tuple(_at(_setting(p), figures.of(p, OURS), "goal_visits", 1.0) for p in goal),
        of=1,
    )
    yield Part(
        "its visits to ⊥ become 0",
        tuple(_at(_setting(p), figures.of(p, OURS), "bottom_visits", 0.0) for p in bottom),
        of=1,
    )
    yield Part(
        "Directed-E² keeps visiting ⊥",
        tuple(_made(_setting(p), (figures.of(p, RIVAL),), keeps) for p in bottom),
        of=1,
    )


def _other_measures(pairs: Sequence[tuple[str, Aggregate | None, Aggregate | None]]) -> str:
    """How a comparison by areas looks by steps-to-v, and without the first tenth of the tests."""
    known = [(a, b) for _, a, b in pairs if a is not None and b is not None]
    if not known:
        return ""
    sooner = sum(a.reaches_v and a.steps_to_v < b.steps_to_v for a, b in known)
    later = sum(b.reaches_v and b.steps_to_v < a.steps_to_v for a, b in known)
    late = [welch(a.late_area, b.late_area) for a, b in known]
    better, worse = sum(of.low > 0 for of in late), sum(of.high < 0 for of in late)
    n = len(known)
    return (
        f"by steps-to-v sooner on {sooner} of {n}, later on {later}; by areas without the first "
        f"tenth of the tests better on {better}, worse on {worse}"
    )


def _better_on_all(figures: _Figures, number: int, of: int, count: str) -> Part:
    pairs = _with_rival(figures, number)
    return Part(
        f"better than Directed-E² on all {count}",
        tuple(_compared(name, ours, rival, _above_zero) for name, ours, rival in pairs),
        of=of,
        also=_other_measures(pairs),
    )


def _with_rival(
    figures: _Figures, number: int
) -> list[tuple[str, Aggregate | None, Aggregate | None]]:
    """(setting, Monitored MBIE-EB, Directed-E²) in all panels of a figure."""
    panels = figures.panels(number)
    return [(_setting(p), figures.of(p, OURS), figures.of(p, RIVAL)) for p in panels]


def _loses_more(setting: str, pairs: Sequence[tuple[Aggregate | None, ...]]) -> Check:
    """Directed-E² loses more area than Monitored MBIE-EB, on average.

    Each pair is (rival before, rival after, ours before, ours after).
    """

    def judge(*runs: Aggregate) -> tuple[str, Interval, Verdict]:
        weights = [1.0, -1.0, -1.0, 1.0]
        share = len(runs) / 4
        terms = [(weights[i % 4] / share, of.area) for i, of in enumerate(runs)]
        interval = contrast(terms)
        means = np.array([of.area.mean() for of in runs]).reshape(-1, 4).mean(axis=0)
        lost = means[[0, 2]] - means[[1, 3]]
        words = (
            f"loses {lost[0]:.3g} of area, ours {lost[1]:.3g}; more by {interval.in_words(SIGNED)}"
        )
        return words, interval, _above_zero(interval, _enough(*runs))

    return _made(setting, [of for pair in pairs for of in pair], judge)


def _c6(figures: _Figures) -> Parts:
    yield _better_on_all(figures, 9, 6, "six")
    by_monitor = {p.monitor: p for p in figures.panels(9)}
    checks: tuple[Check, ...] = ()
    if {"ask", "n-experts"} <= set(by_monitor):
        ask, experts = by_monitor["ask"], by_monitor["n-experts"]
        four = tuple(figures.of(p, agent) for agent in (RIVAL, OURS) for p in (ask, experts))
        checks = (_loses_more("ask to n-experts", [four]),)
    yield Part("going from ask to n-experts costs Directed-E² more", checks, of=1)


def _by_rho(figures: _Figures, number: int) -> dict[float, dict[str, Panel]]:
    """ρ -> monitor -> panel."""
    result: dict[float, dict[str, Panel]] = {}
    for panel in figures.panels(number):
        result.setdefault(panel.rho, {})[panel.monitor] = panel
    return result


def _c7(figures: _Figures) -> Parts:
    yield _better_on_all(figures, 10, 18, "eighteen")
    yield Part(
        "Monitored MBIE-EB ends at v in all of them",
        tuple(_at(_setting(p), figures.of(p, OURS)) for p in figures.panels(10)),
        of=18,
    )
    by_rho = _by_rho(figures, 10)
    levels = sorted((rho for rho in by_rho if len(by_rho[rho]) == 6), reverse=True)
    yield Part(
        "it is slower as ρ falls (steps-to-v, mean of the six monitors)",
        tuple(
            _later(
                f"ρ {high:g} to {low:g}",
                [figures.of(p, OURS) for p in by_rho[low].values()],
                [figures.of(p, OURS) for p in by_rho[high].values()],
            )
            for high, low in pairwise(levels)
        ),
        of=2,
    )
    checks = []
    if len(levels) > 1:
        high, low = levels[0], levels[-1]
        fours = [
            tuple(
                figures.of(by_rho[rho].get(monitor), agent)
                for agent in (RIVAL, OURS)
                for rho in (high, low)
            )
            for monitor in by_rho[high]
        ]
        checks.append(_loses_more(f"ρ {high:g} to {low:g}", fours))
    yield Part("Directed-E² slows down more (mean of the six monitors)", tuple(checks), of=1)


def _c8(figures: _Figures) -> Parts:
    yield Part(
        "known at least as good as unknown everywhere",
        tuple(
            _compared(_setting(p), figures.of(p, KNOWN), figures.of(p, OURS), _not_below_zero)
            for p in figures.panels(11)
        ),
        of=18,
    )
    by_rho = _by_rho(figures, 11)
    yield Part(
        "known: n-experts about as fast as ask (steps-to-v)",
        tuple(
            _about_as_fast(
                f"ρ {rho:g}",
                figures.of(panels.get("n-experts"), KNOWN),
                figures.of(panels.get("ask"), KNOWN),
            )
            for rho, panels in by_rho.items()
        ),
        of=3,
    )
    levels = sorted(by_rho, reverse=True)
    yield Part(
        "known: steps-to-v similar at ρ = 0.8, 0.2, 0.05",
        tuple(
            _about_as_fast(
                f"{monitor} ρ {low:g} against {levels[0]:g}",
                figures.of(by_rho[low][monitor], KNOWN),
                figures.of(by_rho[levels[0]].get(monitor), KNOWN),
            )
            for low in levels[1:]
            for monitor in by_rho[low]
        ),
        of=12,
    )


def _c9(figures: _Figures) -> Parts:
    def falls(of: Aggregate) -> tuple[str, Interval, Verdict]:
        interval = mean_interval(of.end["bottom_visits"] - of.first["bottom_visits"])
        before, after = (float(np.mean(x["bottom_visits"])) for x in (of.first, of.end))
        words = f"{before:.3g} → {after:.3g} visits an episode, {interval.in_words(SIGNED)}"
        return words, interval, _not_below_zero(interval, _enough(of))

    def on_par(text: str, panels: Sequence[Panel], agent: str, of: int) -> Part:
        pairs = [(_setting(p), figures.of(p, OURS), figures.of(p, agent)) for p in panels]
        checks = tuple(_compared(name, a, b, _includes_zero) for name, a, b in pairs)
        return Part(text, checks, of=of, also=_other_measures(pairs))

    solvable, unsolvable = figures.panels(12, 0), figures.panels(12, 1)
    yield on_par("MBIE-EB on par when solvable", solvable, OPTIMIST, 6)
    yield Part(
        "MBIE-EB fails when not",
        tuple(_fails(_setting(p), figures.of(p, OPTIMIST)) for p in unsolvable),
        of=6,
    )
    yield Part(
        "its visits to ⊥ do not fall",
        tuple(_made(_setting(p), (figures.of(p, OPTIMIST),), falls) for p in unsolvable),
        of=6,
    )
    sure = [p for p in figures.panels(13) if p.rho == 1]
    unsure = [p for p in figures.panels(13) if p.rho < 1]
    yield on_par("pessimistic MBIE-EB on par at ρ = 1, both variants", sure, PESSIMIST, 12)
    yield Part(
        "pessimistic MBIE-EB fails at ρ = 0.05",
        tuple(_fails(_setting(p), figures.of(p, PESSIMIST)) for p in unsure),
        of=6,
    )


CLAIMS: tuple[tuple[str, tuple[str, ...], str, Callable[[_Figures], Parts]], ...] = (
    ("C1", ("figure-4",), "River Swim: ends at the optimum, better than Directed-E²", _c1),
    (
        "C2",
        ("figure-4",),
        "Bottleneck: ends at the minimax value, slower at 5 %; Directed-E² fails in both, "
        "worse at 5 %",
        _c2,
    ),
    ("C3", ("figure-4",), "a known monitor saves about 30 % of the steps", _c3),
    ("C4", ("figure-6",), "better on 43 of 48 benchmarks, on par on 5", _c4),
    (
        "C5",
        ("figure-5",),
        "Monitored MBIE-EB learns to visit the goal and not ⊥; Directed-E² keeps visiting ⊥",
        _c5,
    ),
    (
        "C6",
        ("figure-9",),
        "better than a pessimistic Directed-E² with six monitors; larger monitors cost that more",
        _c6,
    ),
    (
        "C7",
        ("figure-10",),
        "better with rewards shown by chance; slower as ρ falls, Directed-E² more so",
        _c7,
    ),
    (
        "C8",
        ("figure-11",),
        "knowing the monitor never hurts and makes its size and ρ matter little",
        _c8,
    ),
    (
        "C9",
        ("figure-12", "figure-13"),
        "optimism alone fails when unsolvable, pessimism alone when rewards are shown by chance",
        _c9,
    ),
)
"""name, figures, text, parts"""
