"""What sentences of claims check: one check for each setting, by the measures of `measures.py`.

`CHECKS` has a function for each name that a sentence may give (`suites/claims.py` says what they
take). It is handed the sentence and its settings and returns the checks; `claims.py` puts them
together. Fewer than 5 seeds decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np

from monmdp.model.arrays import FloatArray
from monmdp.results.evidence import Aggregate, Axis
from monmdp.results.measures import (
    AXIS_MARGIN,
    FEWEST,
    STEPS_MARGIN,
    VISITS_MARGIN,
    Standing,
    compare,
    difference,
    within,
)
from monmdp.results.steps import counted
from monmdp.results.steps import paired as steps_of_both
from monmdp.stats import BOUNDS, Interval, contrast, mean_interval, ratio_of_means
from monmdp.suites import Sentence, Setting

BY_STEPS = "steps to within 1 % of v for good"
BY_END = "mean of the last ten tests, exact returns"


class Verdict(Enum):
    """What the data say of a sentence."""

    HOLDS = "holds"
    OTHER = "holds, another number"
    NOT = "not reproduced"
    OPEN = "open"


@dataclass(frozen=True)
class Check:
    """What was measured in one setting."""

    setting: str
    measured: str
    """in words, with its unit"""
    interval: Interval | None
    verdict: Verdict
    beside: str = ""
    """what other measures say; it decides nothing"""
    standing: Standing | None = None
    """where two agents are compared"""
    runs: tuple[Aggregate, ...] = field(default=(), repr=False)
    """what it rests on"""

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
            "beside": self.beside,
            "configurations": [of.configuration for of in self.runs],
            "seeds": sorted({len(of.seeds) for of in self.runs}),
            "stale": any(of.stale for of in self.runs),
        }


@dataclass(frozen=True)
class Case:
    """One setting that a sentence speaks of, and the runs of its agents; None: not run."""

    setting: Setting
    name: str
    axis: Axis
    runs: tuple[Aggregate | None, ...]
    """in the order of `Sentence.agents`"""


Checks = Sequence[Check]


# ---- one setting at a time ------------------------------------------------------------------

Judged = tuple[str, Interval, Verdict, str]
"""in words, the interval, the verdict, what stands beside it"""


def _checked(
    name: str, runs: Iterable[Aggregate | None], judge_runs: Callable[..., Judged]
) -> Check:
    """Judge runs; what is missing, or has too few seeds for an interval, decides nothing."""
    asked = list(runs)
    there = tuple(of for of in asked if of is not None)
    if len(there) < len(asked):
        return Check(name, "not run", None, Verdict.OPEN, runs=there)
    measured, interval, verdict, beside = judge_runs(*there)
    if any(len(of.seeds) < FEWEST for of in there) or np.isnan([*interval]).any():
        verdict = Verdict.OPEN
    return Check(name, measured, interval, verdict, beside, runs=there)


def _beyond(interval: Interval, bound: float) -> Verdict:
    """Whether a whole interval lies above a bound."""
    if interval.low > bound:
        return Verdict.HOLDS
    return Verdict.NOT if interval.high <= bound else Verdict.OPEN


def _level(sentence: Sentence, of: Aggregate) -> Judged:
    """At the first test or at the end, a score is at, above or below a value."""
    is_return = sentence.score == "episode_return"
    v = of.minimax if sentence.value == "v" else float(sentence.value)
    height = sentence.height or max(1.0, abs(of.minimax))
    margin = AXIS_MARGIN * height if is_return else VISITS_MARGIN
    when = "first test" if sentence.check == "starts-above" else "end"
    if when == "first test":
        values = of.first[sentence.score]
    else:
        values = of.exact_end if is_return else of.end[sentence.score]
    interval = mean_interval(values)
    if sentence.check == "ends-at":
        apart = Interval(*(x - v for x in interval))
        verdict = Verdict.HOLDS if within(apart, margin) else Verdict.OPEN
        if apart.low > margin or apart.high < -margin:
            verdict = Verdict.NOT
    elif sentence.check == "ends-below":
        verdict = _beyond(Interval(*(-x for x in (interval.estimate, interval.high, interval.low))),
                          margin - v)  # fmt: skip
    else:
        verdict = _beyond(interval, v + margin)
    unit = "" if is_return else " visits an episode"
    words = f"{when} {interval.in_words('.4g')}{unit} against {v:.4g} ± {margin:.2g}"
    return words, interval, verdict, ""


def _does_not_fall(sentence: Sentence, of: Aggregate) -> Judged:
    first, last = of.first[sentence.score], of.end[sentence.score]
    interval = contrast([(1.0, last - first)])
    margin = VISITS_MARGIN
    if sentence.score == "episode_return":
        margin = AXIS_MARGIN * max(1.0, abs(of.minimax))
    verdict = Verdict.HOLDS if interval.low >= -margin else Verdict.OPEN
    verdict = Verdict.NOT if interval.high < -margin else verdict
    words = f"{first.mean():.3g} → {last.mean():.3g}, a change of {interval.in_words('+.3g')}"
    return words, interval, verdict, ""


def _on_par(sentence: Sentence, ours: Aggregate, theirs: Aggregate) -> Judged:
    interval = difference(ours, theirs, ours.exact_end, theirs.exact_end)
    margin = AXIS_MARGIN * (sentence.height or max(1.0, abs(ours.minimax)))
    verdict = Verdict.HOLDS if within(interval, margin) else Verdict.OPEN
    verdict = Verdict.NOT if interval.low > margin or interval.high < -margin else verdict
    means = f"ends {ours.exact_end.mean():.4g} and {theirs.exact_end.mean():.4g}"
    words = f"{means}, apart by {interval.in_words('+.3g')}, margin {margin:.2g}"
    return words, interval, verdict, ""


def _fewer(sentence: Sentence, ours: Aggregate, theirs: Aggregate) -> Judged:
    """So large a share of the rival's steps is saved."""
    assert sentence.share is not None
    mine, others = steps_of_both(ours, theirs)
    ratio = _ratio([mine], [others])
    if not len(mine):
        return "no seed in common", ratio, Verdict.OPEN, ""
    saved = Interval(1 - ratio.estimate, 1 - ratio.high, 1 - ratio.low)
    verdict = Verdict.HOLDS if saved.low <= sentence.share <= saved.high else Verdict.OTHER
    if not saved.low > 0:  # 0: they may both have used up the budget
        verdict = Verdict.NOT if saved.high < 0 else Verdict.OPEN
    words = f"{mine.mean():,.0f} against {others.mean():,.0f} steps, fewer by "
    return words + _percent(saved) + f"; said: {100 * sentence.share:g} %", saved, verdict, ""


def _percent(interval: Interval) -> str:
    """A share with its interval, in per cent."""
    return Interval(*(100 * x for x in interval)).in_words(".0f") + " %"


def _ratio(above: Sequence[FloatArray], below: Sequence[FloatArray]) -> Interval:
    """Ratio of mean steps, geometric mean over settings; unknown if few seeds are shared."""
    shared = min(len(values) for values in above)
    if shared == 0:
        return Interval(np.nan, np.nan, np.nan)
    ratio = ratio_of_means(above, below, np.random.default_rng(0))
    return ratio if shared >= FEWEST else Interval(ratio.estimate, np.nan, np.nan)


def _compared(sentence: Sentence, cases: Sequence[Case]) -> Checks:
    """The agent is better than its rival, or on par; or nothing shows that it is worse."""
    verdicts = {
        Standing.BETTER: Verdict.HOLDS,
        Standing.PAR: Verdict.NOT if sentence.check == "better" else Verdict.HOLDS,
        Standing.WORSE: Verdict.NOT,
        Standing.OPEN: Verdict.HOLDS if sentence.check == "not-worse" else Verdict.OPEN,
    }
    checks = []
    for case in cases:
        found = Standing.OPEN

        def judged(ours: Aggregate, theirs: Aggregate, axis: Axis = case.axis) -> Judged:
            nonlocal found
            of = compare(ours, theirs, axis)
            found = of.standing
            return f"{found.value}: {of.measured}", of.gain, verdicts[found], of.beside

        check = _checked(case.name, case.runs, judged)
        known = found if check.interval and not np.isnan(check.interval.low) else Standing.OPEN
        checks.append(replace(check, standing=known))
    return checks


def _one_by_one(judge_runs: Callable[..., Judged]) -> Callable[[Sentence, Sequence[Case]], Checks]:
    """A check for each setting."""

    def judged(sentence: Sentence, cases: Sequence[Case]) -> Checks:
        return [
            _checked(case.name, case.runs, lambda *runs: judge_runs(sentence, *runs))
            for case in cases
        ]

    return judged


def _times(sentence: Sentence, cases: Sequence[Case]) -> Checks:
    """Over all settings the rival takes so many times the steps, or more than them if that is 1."""
    assert sentence.times is not None
    least = sentence.times
    if not cases or len(cases) < (sentence.of or 1):
        return []

    def judged(*runs: Aggregate) -> Judged:
        pairs = [steps_of_both(a, b) for a, b in zip(runs[::2], runs[1::2], strict=True)]
        ratio = _ratio([theirs for _, theirs in pairs], [mine for mine, _ in pairs])
        verdict = Verdict.OPEN
        if ratio.low > least or (least > 1 and ratio.low == least):
            # With runs that never get there, its own steps are a lower bound.
            sure = all(of.optimal.all() for of in runs[::2])
            verdict = Verdict.HOLDS if sure else Verdict.OPEN
        elif ratio.high <= 1:
            verdict = Verdict.NOT
        elif ratio.high < least:
            verdict = Verdict.OTHER if ratio.low > 1 else Verdict.NOT
        words = f"{ratio.in_words('.3g')} times, over {len(pairs)} settings"
        words += "" if least == 1 else f"; said: {least:g}"
        return words, ratio, verdict, ""

    return [_checked("all settings", [of for case in cases for of in case.runs], judged)]


def _converges(_: Sentence, of: Aggregate) -> Judged:
    there = int(of.optimal.sum())
    interval = mean_interval(of.steps_to_optimal)
    verdict = Verdict.HOLDS if there == len(of.seeds) else Verdict.NOT
    words = f"{there} of {len(of.seeds)} seeds, after {interval.in_words(',.0f')} steps"
    return words, interval, verdict, ""


def _groups(sentence: Sentence, cases: Sequence[Case]) -> list[tuple[str, list[Case]]]:
    """The settings of each value along which they are compared."""
    key, values = sentence.axis
    label = {"rho": "ρ ", "monitor": "", "world": "", "block": ""}.get(key, f"{key} ")
    return [
        (f"{label}{value}", [case for case in cases if case.setting[key] == value])
        for value in values
    ]


def _whole(sentence: Sentence, groups: Sequence[tuple[str, list[Case]]]) -> bool:
    """Whether all else is alike in all groups, and none is empty."""
    key, _ = sentence.axis
    rest = [[_apart_from(key, case.setting) for case in cases] for _, cases in groups]
    return bool(rest[0]) and all(of == rest[0] for of in rest)


def _apart_from(key: str, setting: Setting) -> tuple[Any, ...]:
    """What a setting is, apart from a key; with a world or a monitor go its own parameters."""
    names = [getattr(setting, name) for name in ("world", "monitor") if name != key]
    given = {
        name: value
        for name, value in setting.problem.items()
        if key not in (name, name.partition(".")[2])
        and (name == "monitor.rho" or name.partition(".")[0] != key)
    }
    return (*names, given)


def _measured(runs: Sequence[Aggregate], cases: Sequence[Case], by_steps: bool) -> FloatArray:
    """[seed] what an agent loses: steps, or the height that its curves lack; mean over settings."""
    if by_steps:
        return _mean(runs, [of.steps_to_optimal for of in runs])
    return _mean(runs, [-of.seen[case.axis.key] for of, case in zip(runs, cases, strict=True)])


def _mean(runs: Sequence[Aggregate], values: Sequence[Any]) -> FloatArray:
    """[seed] mean over settings of values[setting][seed], of the seeds that all of them have.

    If these are too few, it is the mean of all seeds, a single value: its interval is unknown.
    """
    shared = sorted(set.intersection(*({*of.seeds} for of in runs)))
    if len(shared) < min(FEWEST, *(len(of.seeds) for of in runs)):
        return np.array([np.mean([np.mean(of_seed) for of_seed in values])])
    rows = [
        [of_seed[of.seeds.index(seed)] for seed in shared]
        for of, of_seed in zip(runs, values, strict=True)
    ]
    return np.asarray(np.mean(rows, axis=0))


def _worse_along(sentence: Sentence, cases: Sequence[Case]) -> Checks:
    """From each group of settings to the next, more steps; or less seen if no seed converges."""
    groups = _groups(sentence, cases)
    if not _whole(sentence, groups):
        return []

    def between(before: Sequence[Case], after: Sequence[Case]) -> Callable[..., Judged]:
        def judged(*runs: Aggregate) -> Judged:
            sides = runs[: len(before)], runs[len(before) :]
            by_steps = any(of.optimal.any() for of in runs)
            values = [
                _measured(of, where, by_steps)
                for of, where in zip(sides, (before, after), strict=True)
            ]
            interval = contrast([(1.0, values[1]), (-1.0, values[0])])
            if by_steps:
                words = f"{values[0].mean():,.0f} → {values[1].mean():,.0f} steps, more by "
                words += interval.in_words("+,.0f")
            else:
                words = f"no seed converges; seen on {before[0].axis} {-values[0].mean():.4g} → "
                words += f"{-values[1].mean():.4g}, less by {interval.in_words('+.3g')}"
            areas = [_mean(side, [of.area for of in side]) for side in sides]
            lost = contrast([(1.0, areas[0]), (-1.0, areas[1])])
            beside = f"area less by {lost.in_words('+.3g')}"
            return words, interval, _beyond(interval, 0.0), beside

        return judged

    return [
        _checked(
            f"{one} to {two}",
            [case.runs[0] for case in (*before, *after)],
            between(before, after),
        )
        for (one, before), (two, after) in pairwise(groups)
    ]


def _hindered(sentence: Sentence, cases: Sequence[Case]) -> Checks:
    """From the first group of settings to another, the agent loses more than its rival.

    Three readings: as steps, which decides; as a factor of steps; as seen, which decides where no
    seed converges.
    """
    groups = _groups(sentence, cases)
    if not _whole(sentence, groups):
        return []
    (start, before), others = groups[0], groups[1:]

    def between(after: Sequence[Case]) -> Callable[..., Judged]:
        def judged(*runs: Aggregate) -> Judged:
            # In the order agent, rival for each setting: before, then after.
            sides = {
                (agent, when): list(runs[first + agent : last : 2])
                for agent in (0, 1)
                for when, first, last in ((0, 0, 2 * len(before)), (1, 2 * len(before), None))
            }
            both = before, after
            steps, seen = (
                {key: _measured(of, both[key[1]], by_steps) for key, of in sides.items()}
                for by_steps in (True, False)
            )
            more, less_seen = contrast(_more(steps)), contrast(_more(seen))
            if not any(of.optimal.any() for of in runs):
                words = f"no seed converges; seen on {before[0].axis} less by "
                words += less_seen.in_words("+.3g")
                return words, less_seen, _beyond(less_seen, 0.0), ""
            lost = [steps[agent, 1].mean() - steps[agent, 0].mean() for agent in (0, 1)]
            words = f"{lost[0]:+,.0f} steps against {lost[1]:+,.0f}, more by "
            words += more.in_words("+,.0f")
            beside = f"{_as_factors(sides, before)}; seen less by {less_seen.in_words('+.3g')}"
            return words, more, _beyond(more, 0.0), beside

        return judged

    return [
        _checked(
            f"{start} to {name}",
            [of for case in (*before, *after) for of in case.runs],
            between(after),
        )
        for name, after in others
    ]


def _as_factors(sides: Mapping[tuple[int, int], Sequence[Aggregate]], cases: Sequence[Case]) -> str:
    """By which factor the steps of both grow, where all seeds of all runs converge."""
    found = []
    for i, case in enumerate(cases):
        runs = {key: of[i] for key, of in sides.items()}
        if all(of.optimal.all() for of in runs.values()):
            ours, theirs = (
                runs[agent, 1].steps_to_optimal.mean()
                / max(runs[agent, 0].steps_to_optimal.mean(), 1.0)
                for agent in (0, 1)
            )
            found.append(f"{case.setting.monitor} {ours:.2f} against {theirs:.2f}")
    return f"as a factor, where all seeds converge: {', '.join(found) or 'nowhere'}"


def _more(losses: Mapping[tuple[int, int], FloatArray]) -> list[tuple[float, FloatArray]]:
    """How much more the agent loses than its rival: (after - before) of one less the other's."""
    weights = {(0, 1): 1.0, (0, 0): -1.0, (1, 1): -1.0, (1, 0): 1.0}
    return [(weight, losses[key]) for key, weight in weights.items()]


def _similar(sentence: Sentence, cases: Sequence[Case]) -> Checks:
    """Each setting takes about the steps of the first, as plotted; raw steps stand beside."""
    groups, factor = _groups(sentence, cases), sentence.factor
    if not _whole(sentence, groups):
        return []
    (start, first), others = groups[0], groups[1:]

    def judged(of: Aggregate, reference: Aggregate) -> Judged:
        ratio, drawn = (
            np.maximum(x, of.settings["every"]) / np.maximum(y, reference.settings["every"])
            for x, y in (
                (of.steps_to_v, reference.steps_to_v),
                (of.steps_to_v_resampled, reference.steps_to_v_resampled),
            )
        )
        few = min(len(of.seeds), len(reference.seeds)) < 2
        low, high = (np.nan, np.nan) if few else np.quantile(drawn, BOUNDS)
        interval = Interval(float(ratio), float(low), float(high))
        verdict = Verdict.OPEN
        if of.reaches_v and reference.reaches_v:
            if 1 / factor <= low and high <= factor:
                verdict = Verdict.HOLDS
            elif low > factor or high < 1 / factor:
                verdict = Verdict.NOT
        words = f"{of.steps_to_v:,} against {reference.steps_to_v:,} steps as plotted, ratio "
        raw = [counted(one).mean() for one in (of, reference)]
        beside = f"raw steps {raw[0]:,.0f} against {raw[1]:,.0f}, ratio {raw[0] / raw[1]:.2f}"
        return words + interval.in_words(".2f"), interval, verdict, beside

    return [
        _checked(_between(start, name, case), (case.runs[0], reference.runs[0]), judged)
        for name, group in others
        for case, reference in zip(group, first, strict=True)
    ]


def _between(start: str, name: str, case: Case) -> str:
    return f"{case.setting.monitor} {start} to {name}" if start.startswith("ρ") else case.name


# ---- all of them ----------------------------------------------------------------------------

By = Callable[[Sentence], str]


def _height(sentence: Sentence) -> str:
    return "max(1, |v|)" if sentence.height is None else f"{sentence.height:g}"


def _by_level(sentence: Sentence) -> str:
    when = "mean of the last ten tests"
    if sentence.check == "starts-above":
        when = "first test"
    elif sentence.score == "episode_return":
        when = BY_END
    return f"{when}, {_margin(sentence)}"


def _margin(sentence: Sentence) -> str:
    if sentence.score == "episode_return":
        return f"±{100 * AXIS_MARGIN:g} % of {_height(sentence)}"
    return f"±{VISITS_MARGIN:g} visits"


def _by_comparison(_: Sentence) -> str:
    return (
        f"{BY_STEPS}, paired by seed; better, worse: interval beyond 0; on par: within "
        f"±{100 * STEPS_MARGIN:g} % of the rival's steps; where no seed converges: seen, "
        f"±{100 * AXIS_MARGIN:g} % of the axis"
    )


CHECKS: dict[str, tuple[By, Callable[[Sentence, Sequence[Case]], Checks]]] = {
    "ends-at": (_by_level, _one_by_one(_level)),
    "ends-below": (_by_level, _one_by_one(_level)),
    "ends-above": (_by_level, _one_by_one(_level)),
    "starts-above": (_by_level, _one_by_one(_level)),
    "does-not-fall": (
        lambda of: f"mean of the last ten tests less the first test, {_margin(of)}",
        _one_by_one(_does_not_fall),
    ),
    "better": (_by_comparison, _compared),
    "better-or-on-par": (_by_comparison, _compared),
    "not-worse": (_by_comparison, _compared),
    "on-par": (
        lambda of: f"{BY_END}, paired by seed, within ±{100 * AXIS_MARGIN:g} % of {_height(of)}",
        _one_by_one(_on_par),
    ),
    "fewer-steps": (
        lambda _: f"{BY_STEPS}, seeds resampled; holds if what is said lies in the interval",
        _one_by_one(_fewer),
    ),
    "times-fewer-steps": (
        lambda _: f"{BY_STEPS}, ratio of means, geometric mean over settings, seeds resampled",
        _times,
    ),
    "every-seed-converges": (lambda _: "within 1 % of v for good", _one_by_one(_converges)),
    "worse-along": (
        lambda _: f"{BY_STEPS}, or seen where no seed converges; interval beyond 0",
        _worse_along,
    ),
    "hindered-more": (
        lambda _: f"{BY_STEPS}, mean over settings; interval beyond 0",
        _hindered,
    ),
    "similar-along": (
        lambda of: (
            f"steps of the mean curve, as drawn, to within 5 % of v for good; ratio "
            f"within {1 / of.factor:.2g} to {of.factor:g}; seeds resampled"
        ),
        _similar,
    ),
}
"""check -> what decides, in words, and what carries it out"""
