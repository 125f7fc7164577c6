"""Claims, judged from the evidence: one verdict a sentence.

A claim is part of its suite (`suites/claims.py`). Each of its sentences is judged by checks
(`results/checks.py`), one for each setting it speaks of, and comes with the measure, the margin and
the number of seeds that decided it (`results/measures.py`).

A sentence *holds*, holds with *another number* (the direction is as said, the figure is not), is
*not reproduced*, or is *open*: the interval does not decide, or settings were not run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from monmdp.results.checks import CHECKS, OVER_ALL, Case, Check, Verdict, in_words
from monmdp.results.evidence import Evidence, axis_of
from monmdp.results.measures import Standing
from monmdp.suites import Figure, Sentence, Setting
from monmdp.suites.claims import find_agents
from monmdp.tables import plural


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence, and what the runs say of it."""

    says: str
    by: str
    """measure and margin that decide"""
    measured: str
    verdict: Verdict
    checks: tuple[Check, ...]

    @property
    def how(self) -> str:
        """Return what decided, and for a single setting what other measures say."""
        beside = self.checks[0].beside if len(self.checks) == 1 else ""
        return f"By {self.by}; {self.seeds}." + (f" Beside it: {beside}." if beside else "")

    @property
    def seeds(self) -> str:
        """Return from how many seeds it was judged, in words."""
        counts = sorted({len(of.seeds) for check in self.checks for of in check.runs})
        if not counts:
            return "not run"
        least = f"{counts[0]} to " if len(counts) > 1 else ""
        return least + plural(counts[-1], "seed")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "says": self.says,
            "verdict": self.verdict.value,
            "measured": self.measured,
            "by": self.by,
            "seeds": self.seeds,
            "how": self.how,
            "checks": [check.to_dict() for check in self.checks],
        }


@dataclass(frozen=True)
class JudgedClaim:
    """A claim; its headline says how many of its sentences hold."""

    name: str
    figures: tuple[str, ...]
    about: str
    sentences: tuple[JudgedSentence, ...]

    @property
    def headline(self) -> str:
        """Return how many sentences hold, and what of the others."""
        counts = {v: sum(of.verdict is v for of in self.sentences) for v in Verdict}
        n, holding = len(self.sentences), counts[Verdict.HOLDS] + counts[Verdict.OTHER]
        words = [f"{holding} of {plural(n, 'sentence')} hold{'s' if n == 1 else ''}"]
        others = {v: v.value for v in (Verdict.NOT, Verdict.OPEN)}
        for verdict, said in {Verdict.OTHER: "with another number", **others}.items():
            words += [f"{counts[verdict]} {said}"] if counts[verdict] else []
        return ", ".join(words)

    @property
    def stale(self) -> bool:
        """Return whether it rests on runs that other code than today's has made."""
        checks = (check for sentence in self.sentences for check in sentence.checks)
        return any(of.stale for check in checks for of in check.runs)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        return {
            "claim": self.name,
            "figures": list(self.figures),
            "about": self.about,
            "headline": self.headline,
            "stale": self.stale,
            "sentences": [sentence.to_dict() for sentence in self.sentences],
        }


def check_claims(evidence: Evidence) -> list[JudgedClaim]:
    """Judge what the suites behind some evidence say of it; claims of one name are one claim."""
    found: dict[str, JudgedClaim] = {}
    for figure in evidence.figures:
        for claim in figure.claims:
            judged = (judge(sentence, figure, evidence) for sentence in claim.sentence)
            before = found.get(claim.name, JudgedClaim(claim.name, (), "", ()))
            found[claim.name] = replace(
                before,
                figures=(*before.figures, figure.name),
                about=before.about or claim.about,
                sentences=(*before.sentences, *judged),
            )
    return sorted(found.values(), key=lambda claim: _by_number(claim.name))


def _by_number(name: str) -> tuple[str, int]:
    """Claims come in the order of their numbers, whatever the order of figures."""
    word = name.rstrip("0123456789")
    return word, int(name[len(word) :] or 0)


def _cases(sentence: Sentence, figure: Figure, evidence: Evidence) -> list[Case]:
    """Return the settings of a sentence, in an order that is not that of the blocks.

    Panels that show the same runs are one: the one that shows most of them.
    """
    found: dict[tuple[str, ...], Case] = {}
    labels: dict[tuple[str, ...], str] = {}
    for setting, panel in figure.settings():
        if not setting.is_among(sentence.settings()):
            continue
        names = [(curve.agent, curve.label) for curve in panel.curves]
        places = [find_agents(names, agent) for agent in sentence.agents]
        if not all(places):
            continue
        curves = [panel.curves[place[0]] for place in places]
        runs = tuple(evidence.of(curve) for curve in curves)
        key = tuple(curve.configuration for curve in curves)
        case = Case(setting, _name(setting), axis_of(panel), runs)
        if key not in found or case.axis.extent > found[key].axis.extent:
            found[key], labels[key] = case, f"{panel.row}/{panel.column}"
    # World, monitor and ρ do not tell all settings apart; the labels of a suite do.
    count = Counter(case.name for case in found.values())
    cases = [
        replace(case, name=labels[key]) if count[case.name] > 1 else case
        for key, case in found.items()
    ]
    return sorted(cases, key=lambda case: _order(case.setting))


def _order(setting: Setting) -> tuple[Any, ...]:
    """What settings are sorted by: names, then parameters, the larger first."""
    given = [
        (name, -value if isinstance(value, int | float) else 0, str(value))
        for name, value in sorted(setting.problem.items())
    ]
    return setting.world, setting.monitor, given


def _name(setting: Setting) -> str:
    rho = f" {100 * float(setting['rho']):g} %" if "monitor.rho" in setting.problem else ""
    solvable = " (solvable)" if setting["solvable"] else ""
    return f"{setting.world}{solvable}/{setting.monitor}{rho}"


# ---- one sentence ---------------------------------------------------------------------------


def judge(sentence: Sentence, figure: Figure, evidence: Evidence) -> JudgedSentence:
    """Judge a sentence by the runs of a figure."""
    cases = _cases(sentence, figure, evidence)
    checks = CHECKS[sentence.check][1](sentence, cases)
    counted = sentence.check in ("better", "better-or-on-par", "not-worse")
    verdict = _by_count(sentence, checks) if counted else _of_all(sentence, cases, checks)
    words = _counts(sentence, checks) if counted else _summed_up(sentence, checks)
    return JudgedSentence(sentence.says, in_words(sentence), words, verdict, tuple(checks))


def _of_all(sentence: Sentence, cases: Sequence[Case], checks: Sequence[Check]) -> Verdict:
    """What is said of all settings holds if it does in all of them."""
    found = {check.verdict for check in checks}
    if Verdict.NOT in found:
        return Verdict.NOT
    if not checks or Verdict.OPEN in found or len(cases) < (sentence.of or 1):
        return Verdict.OPEN
    return Verdict.OTHER if Verdict.OTHER in found else Verdict.HOLDS


def _by_count(sentence: Sentence, checks: Sequence[Check]) -> Verdict:
    """What is said of so many settings holds if there are as many, or more."""
    n = sentence.of or len(checks)
    better, worse = (_standing(checks, of) for of in (Standing.BETTER, Standing.WORSE))
    if sentence.check != "better":
        undecided = len(checks) < n or any(check.verdict is Verdict.OPEN for check in checks)
        return Verdict.NOT if worse else Verdict.OPEN if undecided else Verdict.HOLDS
    needed = sentence.at_least or n
    left = n - len(better) - len(worse) - len(_standing(checks, Standing.PAR))
    if len(better) >= needed:
        return Verdict.HOLDS
    if len(better) + left >= needed:
        return Verdict.OPEN
    # Fewer than said, but most, and nowhere the other way round.
    return Verdict.OTHER if not worse and 2 * len(better) > n else Verdict.NOT


def _standing(checks: Sequence[Check], of: Standing) -> list[str]:
    """Settings in which an agent stands so; what is not run is open."""
    return [check.setting for check in checks if (check.standing or Standing.OPEN) is of]


def _counts(sentence: Sentence, checks: Sequence[Check]) -> str:
    """In how many settings one agent is better than another, in words."""
    n = sentence.of or len(checks)
    if n == len(checks) == 1:
        return checks[0].measured
    words = f"better in {len(_standing(checks, Standing.BETTER))} of {n}"
    for standing in (Standing.PAR, Standing.WORSE, Standing.OPEN):
        names = _standing(checks, standing)
        words += f", {standing.value} in {len(names)} ({_listed(names)})" if names else ""
    return words + (f", {n - len(checks)} not run" if len(checks) < n else "")


def _summed_up(sentence: Sentence, checks: Sequence[Check]) -> str:
    """Sum up the checks in words."""
    n = _asked(sentence)
    if not checks:
        return "not run"
    if len(checks) == n == 1:
        return checks[0].measured
    holding = sum(check.verdict in (Verdict.HOLDS, Verdict.OTHER) for check in checks)
    words = [f"{holding} of {max(n, len(checks))} hold"]
    for verdict in (Verdict.OTHER, Verdict.NOT, Verdict.OPEN):
        names = [check.setting for check in checks if check.verdict is verdict]
        words += [f"{len(names)} {verdict.value}: {_listed(names)}"] if names else []
    if len(checks) < n:
        words.append(f"{n - len(checks)} not run")
    if len(checks) <= 3:
        words += [f"{check.setting}: {check.measured}" for check in checks]
    return "; ".join(words)


def _asked(sentence: Sentence) -> int:
    """Return how many checks a sentence has if all of its settings were run."""
    settings = sentence.of or 1
    if sentence.along is None:
        return 1 if sentence.check in OVER_ALL else settings
    groups = len(sentence.axis[1])
    return settings * (groups - 1) // groups if sentence.check == "similar-along" else groups - 1


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (" and others" if len(names) > 8 else "")
