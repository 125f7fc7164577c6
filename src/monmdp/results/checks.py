"""What sentences of claims check: one check for each setting, by the measures of `measures.py`.

`CHECKS` has a function for each name that a sentence may give (`suites/claims.py` says what they
take). It is handed the sentence and its settings and returns the checks; `claims.py` puts them
together. Fewer than 5 seeds decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
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
    paired_difference,
    shared_seeds,
    within,
)
from monmdp.results.steps import counted, steps_of_both
from monmdp.stats import BOUNDS, Interval, contrast, mean_interval, ratio_of_means
from monmdp.suites import Sentence, Setting


class Verdict(Enum):
    """What the data say of a sentence."""

    HOLDS = "holds"
    OTHER = "holds, another number"
    NOT = "not reproduced"
    OPEN = "open"


@dataclass(frozen=True)
class Check:
    """What was measured in one setting."""

    measured: str
    """in words, with its unit"""
    interval: Interval | None
    verdict: Verdict
    beside: str = ""
    """what other measures say; it decides nothing"""
    standing: Standing | None = None
    """where two agents are compared"""
    setting: str = ""
    runs: tuple[Aggregate, ...] = field(default=(), repr=False)
    """what it rests on"""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        found = [None if np.isnan(x) else float(x) for x in self.interval or ()]
        return {
            "setting": self.setting,
            "measured": self.measured,
            "estimate_low_high": found or None,
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
Group = tuple[str, list[Case]]


# ---- one setting at a time ------------------------------------------------------------------


def _checked(
    name: str, runs: Sequence[Aggregate | None], judge_runs: Callable[..., Check]
) -> Check:
    """Judge runs; what is missing, or has too few seeds for an interval, decides nothing."""
    there = tuple(of for of in runs if of is not None)
    if len(there) < len(runs):
        return Check("not run", None, Verdict.OPEN, setting=name, runs=there)
    found = replace(judge_runs(*there), setting=name, runs=there)
    enough = all(len(of.seeds) >= FEWEST for of in there)
    if enough and not np.isnan(found.interval or np.nan).any():
        return found
    unsure = None if found.standing is None else Standing.OPEN
    return replace(found, verdict=Verdict.OPEN, standing=unsure)


def _beyond(interval: Interval, bound: float) -> Verdict:
    """Whether a whole interval lies above a bound."""
    if interval.low > bound:
        return Verdict.HOLDS
    return Verdict.NOT if interval.high <= bound else Verdict.OPEN


def _about_zero(difference: Interval, margin: float) -> Verdict:
    """Whether a difference is none: wholly within a margin, or wholly outside it."""
    if within(difference, margin):
        return Verdict.HOLDS
    apart = difference.low > margin or difference.high < -margin
    return Verdict.NOT if apart else Verdict.OPEN


def _margin_of(sentence: Sentence, of: Aggregate) -> float:
    """What a score may differ by."""
    if sentence.score != "episode_return":
        return VISITS_MARGIN
    return AXIS_MARGIN * (sentence.height or max(1.0, abs(of.minimax)))


def _level(sentence: Sentence, of: Aggregate) -> Check:
    """At the first test or at the end, a score is at, above or below a value."""
    is_return = sentence.score == "episode_return"
    v = of.minimax if sentence.value == "v" else float(sentence.value)
    margin = _margin_of(sentence, of)
    when, values = "end", of.exact_end if is_return else of.end[sentence.score]
    if sentence.check == "starts-above":
        when, values = "first test", of.first[sentence.score]
    interval = mean_interval(values)
    if sentence.check == "ends-at":
        verdict = _about_zero(Interval(*(x - v for x in interval)), margin)
    elif sentence.check == "ends-below":
        below = Interval(v - interval.estimate, v - interval.high, v - interval.low)
        verdict = _beyond(below, margin)
    else:
        verdict = _beyond(interval, v + margin)
    unit = "" if is_return else " visits an episode"
    words = f"{when} {interval.in_words('.4g')}{unit} against {v:.4g} ± {margin:.2g}"
    return Check(words, interval, verdict)


def _does_not_fall(sentence: Sentence, of: Aggregate) -> Check:
    first, last = of.first[sentence.score], of.end[sentence.score]
    interval, margin = contrast([(1.0, last - first)]), _margin_of(sentence, of)
    verdict = Verdict.HOLDS if interval.low >= -margin else Verdict.OPEN
    verdict = Verdict.NOT if interval.high < -margin else verdict
    words = f"{first.mean():.3g} → {last.mean():.3g}, a change of {interval.in_words('+.3g')}"
    return Check(words, interval, verdict)


def _on_par(sentence: Sentence, ours: Aggregate, theirs: Aggregate) -> Check:
    interval = paired_difference(ours, theirs, ours.exact_end, theirs.exact_end)
    margin = _margin_of(sentence, ours)
    means = f"ends {ours.exact_end.mean():.4g} and {theirs.exact_end.mean():.4g}"
    words = f"{means}, apart by {interval.in_words('+.3g')}, margin {margin:.2g}"
    return Check(words, interval, _about_zero(interval, margin))


def _fewer(sentence: Sentence, ours: Aggregate, theirs: Aggregate) -> Check:
    """So large a share of the rival's steps is saved."""
    assert sentence.share is not None
    mine, others = steps_of_both(ours, theirs)
    ratio = _ratio([mine], [others])
    if not len(mine):
        return Check("no seed in common", ratio, Verdict.OPEN)
    saved = Interval(1 - ratio.estimate, 1 - ratio.high, 1 - ratio.low)
    verdict = Verdict.HOLDS if saved.low <= sentence.share <= saved.high else Verdict.OTHER
    if not saved.low > 0:  # 0: they may both have used up the budget
        verdict = Verdict.NOT if saved.high < 0 else Verdict.OPEN
    percent = Interval(*(100 * x for x in saved)).in_words(".0f")
    words = f"{mine.mean():,.0f} against {others.mean():,.0f} steps, fewer by {percent} %"
    return Check(f"{words}; said: {100 * sentence.share:g} %", saved, verdict)


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

    def judged(ours: Aggregate, theirs: Aggregate, axis: Axis) -> Check:
        of = compare(ours, theirs, axis)
        words = f"{of.standing.value}: {of.measured}"
        return Check(words, of.gain, verdicts[of.standing], of.beside, of.standing)

    return [_checked(case.name, case.runs, partial(judged, axis=case.axis)) for case in cases]


def _one_by_one(judge_runs: Callable[..., Check]) -> Callable[[Sentence, Sequence[Case]], Checks]:
    """A check for each setting."""

    def judged(sentence: Sentence, cases: Sequence[Case]) -> Checks:
        return [_checked(case.name, case.runs, partial(judge_runs, sentence)) for case in cases]

    return judged


def _over_all(judge_runs: Callable[..., Check]) -> Callable[[Sentence, Sequence[Case]], Checks]:
    """One check of all settings together; none if some of them are not run."""

    def judged(sentence: Sentence, cases: Sequence[Case]) -> Checks:
        if not cases or len(cases) < (sentence.of or 1):
            return []
        runs = [of for case in cases for of in case.runs]
        return [_checked("all settings", runs, partial(judge_runs, sentence))]

    return judged


def _times(sentence: Sentence, *runs: Aggregate) -> Check:
    """The rival takes so many times the steps, or more than them if that is 1."""
    assert sentence.times is not None
    least = sentence.times
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
    return Check(words, ratio, verdict)


def _there(sentence: Sentence, of: Aggregate) -> int:
    """How many seeds converge, in time if a time is given."""
    in_time = of.steps_to_optimal <= (sentence.within or np.inf)
    return int((of.optimal & in_time).sum())


def _in_time(sentence: Sentence) -> str:
    return "" if sentence.within is None else f" within {sentence.within:,} steps"


def _converges(sentence: Sentence, of: Aggregate) -> Check:
    there = _there(sentence, of)
    interval = mean_interval(of.steps_to_optimal)
    verdict = Verdict.HOLDS if there == len(of.seeds) else Verdict.NOT
    words = f"{there} of {len(of.seeds)} seeds{_in_time(sentence)}, "
    return Check(f"{words}after {interval.in_words(',.0f')} steps", interval, verdict)


def _share_converges(sentence: Sentence, *runs: Aggregate) -> Check:
    """So large a share of all runs converges."""
    assert sentence.share is not None
    there, n = sum(_there(sentence, of) for of in runs), sum(len(of.seeds) for of in runs)
    verdict = Verdict.HOLDS if there >= sentence.share * n else Verdict.NOT
    words = f"{there:,} of {n:,} runs{_in_time(sentence)}, over {len(runs)} settings: "
    words += f"{100 * there / n:.3g} %; said: {100 * sentence.share:g} %"
    return Check(words, Interval(*3 * (there / n,)), verdict)


def _less_regret(sentence: Sentence, *runs: Aggregate) -> Check:
    """The agent loses at most such a share of what its rival loses."""
    assert sentence.share is not None
    most = sentence.share
    lost = [of.regret[at] for of, at in zip(runs, shared_seeds(*runs), strict=True)]
    mine, theirs = np.mean(lost[::2], axis=0), np.mean(lost[1::2], axis=0)
    if not len(mine) or min(*mine, *theirs) <= 0:
        return Check("not all seeds lose something", Interval(*3 * (np.nan,)), Verdict.OPEN)
    ratio = _ratio([mine], [theirs])
    verdict = Verdict.HOLDS if ratio.high <= most else Verdict.OPEN
    verdict = Verdict.NOT if ratio.low > most else verdict
    words = f"{ratio.in_words('.2g')} times, {mine.mean():,.0f} against {theirs.mean():,.0f}"
    return Check(f"{words}, over {len(runs) // 2} settings; said: {most:g}", ratio, verdict)


def _groups(sentence: Sentence, cases: Sequence[Case]) -> list[Group]:
    """The settings of each value along which they are compared; none if one of them is not run."""
    key, values = sentence.axis
    label = {"rho": "ρ ", "monitor": "", "world": "", "block": ""}.get(key, f"{key} ")
    groups = [
        (f"{label}{value}", [case for case in cases if case.setting[key] == value])
        for value in values
    ]
    rest = [[case.setting.apart_from(key) for case in group] for _, group in groups]
    return groups if rest[0] and all(of == rest[0] for of in rest) else []


def _measured(runs: Sequence[Aggregate], cases: Sequence[Case], by_steps: bool) -> FloatArray:
    """[seed] what an agent loses: steps, or the height that its curves lack; mean over settings."""
    if by_steps:
        return _mean(runs, [of.steps_to_optimal for of in runs])
    return _mean(runs, [-of.seen[case.axis.key] for of, case in zip(runs, cases, strict=True)])


def _mean(runs: Sequence[Aggregate], values: Sequence[Any]) -> FloatArray:
    """[seed] mean over settings of values[setting][seed], of the seeds that all of them have.

    If these are too few, it is the mean of all seeds, a single value: its interval is unknown.
    """
    shared = shared_seeds(*runs)
    if len(shared[0]) < min(FEWEST, *(len(of.seeds) for of in runs)):
        return np.array([np.mean([np.mean(of_seed) for of_seed in values])])
    rows = [of_seed[places] for of_seed, places in zip(values, shared, strict=True)]
    return np.asarray(np.mean(rows, axis=0))


def _worse_along(sentence: Sentence, cases: Sequence[Case]) -> Checks:
    """From each group of settings to the next, more steps; or less seen if no seed converges."""

    def judged(*runs: Aggregate, before: Sequence[Case], after: Sequence[Case]) -> Check:
        sides = runs[: len(before)], runs[len(before) :]
        by_steps = any(of.optimal.any() for of in runs)
        values = [_measured(*of, by_steps) for of in zip(sides, (before, after), strict=True)]
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
        return Check(words, interval, _beyond(interval, 0.0), beside)

    return [_between(one, two, judged) for one, two in pairwise(_groups(sentence, cases))]


def _between(one: Group, two: Group, judge_runs: Callable[..., Check]) -> Check:
    """Judge the runs of two groups of settings, all of the first before all of the second."""
    (start, before), (end, after) = one, two
    runs = [of for case in (*before, *after) for of in case.runs]
    return _checked(f"{start} to {end}", runs, partial(judge_runs, before=before, after=after))


def _hindered(sentence: Sentence, cases: Sequence[Case]) -> Checks:
    """From the first group of settings to another, the agent loses more than its rival.

    Three readings: as steps, which decides; as a factor of steps; as seen, which decides where no
    seed converges.
    """

    def judged(*runs: Aggregate, before: Sequence[Case], after: Sequence[Case]) -> Check:
        n = 2 * len(before)  # of each setting the agent, then the rival
        # The agent after and before, the rival after and before.
        sides = [of[agent::2] for agent in (0, 1) for of in (runs[n:], runs[:n])]
        steps, unseen = (
            [_measured(*of, by_steps) for of in zip(sides, (after, before) * 2, strict=True)]
            for by_steps in (True, False)
        )
        # How much more the agent loses than its rival: (after - before) of one less the other's.
        signs = (1.0, -1.0, -1.0, 1.0)
        more, less_seen = (contrast(list(zip(signs, of, strict=True))) for of in (steps, unseen))
        if not any(of.optimal.any() for of in runs):
            words = f"no seed converges; seen on {before[0].axis} less by "
            return Check(words + less_seen.in_words("+.3g"), less_seen, _beyond(less_seen, 0.0))
        lost = [steps[0].mean() - steps[1].mean(), steps[2].mean() - steps[3].mean()]
        words = f"{lost[0]:+,.0f} steps against {lost[1]:+,.0f}, more by {more.in_words('+,.0f')}"
        factors = []
        for case, *four in zip(before, *sides, strict=True):
            if all(of.optimal.all() for of in four):
                mean = [of.steps_to_optimal.mean() for of in four]
                ours, theirs = mean[0] / max(mean[1], 1.0), mean[2] / max(mean[3], 1.0)
                factors.append(f"{case.setting.monitor} {ours:.2f} against {theirs:.2f}")
        beside = f"as a factor, where all seeds converge: {', '.join(factors) or 'nowhere'}; "
        beside += f"seen less by {less_seen.in_words('+.3g')}"
        return Check(words, more, _beyond(more, 0.0), beside)

    groups = _groups(sentence, cases)
    return [_between(groups[0], other, judged) for other in groups[1:]]


def _similar(sentence: Sentence, cases: Sequence[Case]) -> Checks:
    """Each setting takes about the steps of the first, as plotted; raw steps stand beside."""
    groups, factor, by = _groups(sentence, cases), sentence.factor, sentence.axis[0]

    def judged(of: Aggregate, reference: Aggregate) -> Check:
        ratio, drawn = (
            np.maximum(getattr(of, name), of.settings["every"])
            / np.maximum(getattr(reference, name), reference.settings["every"])
            for name in ("steps_to_v", "steps_to_v_resampled")
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
        return Check(words + interval.in_words(".2f"), interval, verdict, beside)

    return [
        _checked(
            f"{case.setting.monitor} {groups[0][0]} to {name}" if by == "rho" else case.name,
            (case.runs[0], reference.runs[0]),
            judged,
        )
        for name, group in groups[1:]
        for case, reference in zip(group, groups[0][1], strict=True)
    ]


# ---- all of them ----------------------------------------------------------------------------


def in_words(sentence: Sentence) -> str:
    """Return the measure and the margin that decide a sentence."""
    is_return, factor = sentence.score == "episode_return", sentence.factor
    height = "max(1, |v|)" if sentence.height is None else f"{sentence.height:g}"
    axis = f"±{100 * AXIS_MARGIN:g} % of {height}"
    return CHECKS[sentence.check][0].format(
        end="mean of the last ten tests" + (", exact returns" if is_return else ""),
        axis=axis,
        margin=axis if is_return else f"±{VISITS_MARGIN:g} visits",
        range=f"{1 / factor:.2g} to {factor:g}",
    )


_STEPS = "steps to within 1 % of v for good"
_ENDS = ("{end}, {margin}", _one_by_one(_level))
_COMPARED = (
    f"{_STEPS}, paired by seed; better, worse: interval beyond 0; on par: within "
    f"±{100 * STEPS_MARGIN:g} % of the rival's steps; where no seed converges: seen, "
    f"±{100 * AXIS_MARGIN:g} % of the axis",
    _compared,
)
CHECKS: dict[str, tuple[str, Callable[[Sentence, Sequence[Case]], Checks]]] = {
    **dict.fromkeys(("ends-at", "ends-below", "ends-above"), _ENDS),
    "starts-above": ("first test, {margin}", _one_by_one(_level)),
    "does-not-fall": (
        "mean of the last ten tests less the first test, {margin}",
        _one_by_one(_does_not_fall),
    ),
    **dict.fromkeys(("better", "better-or-on-par", "not-worse"), _COMPARED),
    "on-par": ("{end}, paired by seed, within {axis}", _one_by_one(_on_par)),
    "fewer-steps": (
        f"{_STEPS}, seeds resampled; another number if what is said lies outside the interval",
        _one_by_one(_fewer),
    ),
    "times-fewer-steps": (
        f"{_STEPS}, ratio of means, geometric mean over settings, seeds resampled",
        _over_all(_times),
    ),
    "every-seed-converges": ("within 1 % of v for good", _one_by_one(_converges)),
    "runs-converge": ("share of all runs within 1 % of v for good", _over_all(_share_converges)),
    "less-regret": (
        "ratio of what training episodes lost, means over settings, seeds resampled",
        _over_all(_less_regret),
    ),
    "worse-along": (
        f"{_STEPS}, or seen where no seed converges; interval beyond 0",
        _worse_along,
    ),
    "hindered-more": (f"{_STEPS}, mean over settings; interval beyond 0", _hindered),
    "similar-along": (
        "steps of the mean curve, as drawn, to within 5 % of v for good; ratio within {range}; "
        "seeds resampled",
        _similar,
    ),
}
"""check -> what decides, in words that `in_words` fills in, and what carries it out"""
OVER_ALL = ("times-fewer-steps", "runs-converge", "less-regret")
"""those that make one check of all settings"""
