"""Write the tables of docs/deep-v1.md, from the runs of the suites deep-v1 and deep-coarse.

    monmdp run deep-v1 --out results --jobs 2
    monmdp run deep-coarse --out results --jobs 2
    python benchmarks/deep.py results

What is measured goes into docs/deep/, a file for each suite (--only: for one), and the page is made
from there; without a folder of results only the latter is done. If runs are missing it says so, and
writes nothing; with --incomplete it makes do with those that are there. The prose of the page is
left alone: what is between two marks is replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import monmdp
from monmdp import agents, planning
from monmdp.agents import LABELS
from monmdp.experiment import Policy
from monmdp.experiment.own_code import module_hash
from monmdp.experiment.provenance import kernel_hash
from monmdp.experiment.training import Run
from monmdp.results import evidence
from monmdp.results.evidence import Evidence
from monmdp.results.figures import label, panel_title
from monmdp.results.late import Late, is_solved, late_of, mean_difference, solved_difference
from monmdp.results.store import read_run, run_path
from monmdp.suites import Figure, Panel, bundled_suite, expand
from monmdp.tables import Column, Table, bounds, share

DOCS = Path(__file__).parent.parent / "docs"
SUITE, COARSE = "deep-v1", "deep-coarse"
OURS = "Deep Monitored"
HOUR = 3600
LAST = 5
"""tests of a problem of control that count"""
TIES = 1e-6
"""a small cost of ⊥, so that of several best policies the one is taken that meets it least"""
MARKS = "<!-- {name}: written by benchmarks/deep.py -->", "<!-- end of {name} -->"
"""around a part of the page that is written here"""

Runs = dict[str, dict[str, list[Late]]]
"""setting -> agent -> its runs"""


def main() -> None:
    """Measure, print the tables and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", help="folder of results")
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--only", choices=(SUITE, COARSE), help="measure this suite alone")
    parser.add_argument("--incomplete", action="store_true", help="make do with what is there")
    args = parser.parse_args()
    page = args.docs / f"{SUITE}.md"
    if args.results is not None:
        suites = [args.only] if args.only else [SUITE, COARSE]
        contents = {suite: measured(args.results, suite) for suite in suites}
        for suite, content in contents.items():
            if content["missing"]:
                print(f"{suite}: {content['missing']:,} runs are missing, or made by other code",
                      file=sys.stderr)  # fmt: skip
                if not args.incomplete:
                    sys.exit(f"{page}: not written; monmdp run {suite} --out {args.results}")
        for suite, content in contents.items():
            data = args.docs / "deep" / f"{suite}.json"
            data.parent.mkdir(parents=True, exist_ok=True)
            data.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")
    parts = written_parts(args.docs)
    for text in parts.values():
        print(f"{text}\n")
    page.write_text(filled_in(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


# ---- what was measured --------------------------------------------------------------------------


def panels_of(figure: Figure) -> Iterator[Panel]:
    """Yield the settings of the benchmark in their order."""
    for grid in figure.grids:
        for row in grid.rows:
            yield from row


def measured(results: Path, suite: str = SUITE) -> dict[str, Any]:
    """Return what was measured of the runs that the report of a suite in a folder sums up."""
    report = results / "reports" / suite / "summary.parquet"
    if not report.exists():
        sys.exit(f"{report}: missing; monmdp run {suite} --out {results}")
    known = evidence.load(report)

    def read(configuration: str, seed: int) -> Run:
        return read_run(run_path(results, configuration, seed))

    settings = late_runs(known, read, bundled_suite(suite).gamma)
    return {"missing": _missing(known, suite), "about": _about(known), "settings": settings}


def late_runs(known: Evidence, read: Callable[[str, int], Run], gamma: float) -> dict[str, Any]:
    """Return setting -> agent -> what is measured of each of its runs."""
    settings: dict[str, Any] = {}
    for panel in panels_of(known.figures[0]):
        problem = monmdp.make(panel.world, panel.monitor, **panel.problem)
        v = monmdp.solve(problem, gamma=gamma).episode_return
        of_agents = settings.setdefault(panel_title(panel), {})  # it may have several panels
        for curve in panel.curves:
            if (of := known.of(curve)) is not None:
                runs = [late_of(read(curve.configuration, seed), v) for seed in of.seeds]
                of_agents[label(curve)] = [asdict(run) for run in runs]
    return settings


def _missing(known: Evidence, suite: str) -> int:
    """Runs that a suite asks for and that are not there, or that other code has made."""
    wanted = len(expand(bundled_suite(suite)).runs())
    there = sum(len(of.seeds) - of.stale for of in known.aggregates.values())
    return wanted - there


def _about(known: Evidence) -> dict[str, Any]:
    runs = known.aggregates.values()
    code: dict[str, set[str]] = {}
    for of in runs:
        made_by = {f"{of.settings['code']} {kernel}" for kernel in of.kernels}
        code.setdefault(of.settings["agent"], set()).update(made_by)
    return {
        "runs": sum(len(of.seeds) for of in runs),
        "core_hours": sum(of.cpu_seconds for of in runs) / HOUR,
        "code": {agent: sorted(hashes) for agent, hashes in code.items()},
        "commits": sorted({commit for of in runs for commit in of.commits}),
        **known.made,
    }


def todays_code(agent: str) -> str:
    """Return what the runs of an agent depend on: its module, and the loop and a table inside."""
    deep = agents.DEEP[agent]
    return f"{module_hash(deep.module)} {kernel_hash(deep)}"


def read(content: dict[str, Any]) -> Runs:
    """Return the runs in a file of what was measured."""
    return {
        setting: {agent: [Late(**run) for run in runs] for agent, runs in of.items()}
        for setting, of in content["settings"].items()
    }


# ---- the page -----------------------------------------------------------------------------------


def written_parts(docs: Path) -> dict[str, str]:
    """Return the parts of the page that are written here, by name."""
    known, coarse = (
        json.loads((docs / "deep" / f"{suite}.json").read_text(encoding="utf-8"))
        for suite in (SUITE, COARSE)
    )
    return {
        "settings": settings_table().to_markdown(),
        "agents": f"{agents_table(read(known)).to_markdown()}\n\n{_words(known)}",
        "results": _by_setting(read(known)),
        "coarse": f"{_by_setting(read(coarse))}\n\n{_words(coarse)}",
        "control": control_table(
            json.loads((docs / "deep" / "control.json").read_text(encoding="utf-8"))
        ).to_markdown(),
    }


def _words(content: dict[str, Any]) -> str:
    about, missing = content["about"], content["missing"]
    words = f"{about['runs']:,} runs, {about['core_hours']:.1f} core-hours."
    return f"{words} {missing:,} runs are missing." if missing else words


def _by_setting(runs: Runs) -> str:
    return "\n\n".join(f"*{of.title}*\n\n{of.to_markdown()}" for of in setting_tables(runs))


def filled_in(page: str, parts: dict[str, str]) -> str:
    """Return a page with its marked parts replaced."""
    for name, text in parts.items():
        begin, end = (mark.format(name=name) for mark in MARKS)
        pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
        if len(pattern.findall(page)) != 1:
            raise ValueError(f"{begin!r} … {end!r} must be in the page, once")
        made = f"{begin}\n\n{text}\n\n{end}" if text else f"{begin}\n\n{end}"
        page = pattern.sub(lambda _, made=made: made, page)
    return page


def settings_table() -> Table:
    """The settings, and what pessimism costs in each; all of it exact."""
    suite = bundled_suite(SUITE)
    rows = []
    for panel in panels_of(expand(suite).figure):
        problem = monmdp.make(panel.world, panel.monitor, **panel.problem)
        solution = monmdp.solve(problem, gamma=suite.gamma)
        rows.append(
            (
                panel_title(panel),
                problem.mdp.n_states,
                int(problem.mdp.hidden.sum()),
                solution.optimal_value,
                solution.value,
                solution.price,
                value_of_zero(problem, suite.gamma),
            )
        )
    columns = (
        "world, ρ / monitor",
        Column("states", form=",d"),
        Column("⊥ pairs", form=",d"),
        Column("best value in M", form=".3f"),
        Column("minimax value", form=".3f"),
        Column("price", form=".3f"),
        Column("⊥ treated as zero, in M↓", form=".3f"),
    )
    return Table.of(columns, rows)


def value_of_zero(problem: monmdp.MonMDP, gamma: float) -> float:
    """Return the value in M↓ of the policy that is best if ⊥ pays nothing."""
    mdp = problem.mdp
    taken = mdp.with_outcome_rewards(np.where(mdp.hidden, -TIES, mdp.reward))
    policy = planning.optimal(problem.with_mdp(taken), gamma).policy
    found = Policy(problem.shape, policy, {}).evaluate(problem, gamma)
    return float(found["worst_case_return"])


def agents_table(runs: Runs) -> Table:
    """The agents over all settings."""
    rows = []
    for agent in dict.fromkeys(name for of in runs.values() for name in of if of[name]):
        there = {setting: of[agent] for setting, of in runs.items() if of.get(agent)}
        shares = [np.mean([run.within for run in of]) for of in there.values()]
        both = [s for s in there if runs[s].get(OURS)]
        sides = [runs[s][OURS] for s in both], [there[s] for s in both]
        solved = sum(is_solved(of) for of in there.values())
        paid = [run.paid for of in there.values() for run in of if run.paid is not None]
        rows.append(
            (
                agent,
                min(len(of) for of in there.values()),
                share(solved, len(there)),
                None if agent == OURS else solved_difference(*sides),
                np.mean(shares),
                None if agent == OURS else mean_difference(*sides),
                np.mean(paid) if paid else None,
            )
        )
    columns = (
        "agent",
        Column("seeds", form=",d"),
        Column("settings solved", ("solved", "settings"), form=""),
        Column(f"{OURS} solves more by", bounds("solves_more"), form=".0f"),
        Column("late tests within 2 %", form=".2f"),
        Column(f"{OURS} has more by", bounds("more"), form=".2f"),
        Column("steps paid", form=".3f"),
    )
    return Table.of(columns, rows)


def setting_tables(runs: Runs) -> Iterator[Table]:
    """Yield one table for each measure, settings by agents."""
    for title, cell in MEASURES.items():
        yield _settings_by_agents(runs, title, cell)


def _settings_by_agents(runs: Runs, title: str, cell: Callable[[list[Late]], str]) -> Table:
    names = list(dict.fromkeys(agent for of in runs.values() for agent in of if of[agent]))
    rows = [
        (setting, *(cell(of[agent]) if of.get(agent) else None for agent in names))
        for setting, of in runs.items()
    ]
    # Parameters stand in the first table; a heading that repeats them would be wider than numbers.
    columns = [Column(agent.partition(" (")[0], (agent,), form="") for agent in names]
    return Table.of(("world, ρ / monitor", *columns), rows, title=title)


def _reach(runs: list[Late]) -> str:
    return f"{sum(run.reaches for run in runs)} of {len(runs)}"


def _within(runs: list[Late]) -> str:
    shares = [run.within for run in runs]
    return f"{median(shares):.2f} ({min(shares):.2f})"


def _most(name: str) -> Callable[[list[Late]], str]:
    def most(runs: list[Late]) -> str:
        values = [getattr(run, name) for run in runs if getattr(run, name) is not None]
        return f"{max(values):.3f}" if values else "–"

    return most


MEASURES: dict[str, Callable[[list[Late]], str]] = {
    "Seeds that reach v": _reach,
    "Late tests within 2 %: the median, and the least of any seed": _within,
    "Episodes of late tests on ⊥, the most of any seed": _most("bottom"),
    "Steps paid, the most of any seed": _most("paid"),
}
"""what is told of each setting"""


def control_table(runs: list[dict[str, Any]]) -> Table:
    """Agents on problems of control, from what benchmarks/control.py keeps."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault((run["problem"], LABELS[run["agent"]]), []).append(run)
    rows = []
    for (problem, agent), of in groups.items():
        last = [run["tests"][-LAST:] for run in of]
        rows.append(
            (
                problem,
                agent,
                len(of),
                float(np.mean(last)),
                [min(tests) for tests in last],
                float(np.mean([run["paid"] for run in of])),
            )
        )
    columns = (
        "problem",
        "agent",
        Column("seeds", form=",d"),
        Column("last five tests", form=".1f"),
        "least of them, of each seed",
        Column("steps paid", form=".3f"),
    )
    return Table.of(
        columns,
        [(*row[:4], ", ".join(f"{x:.0f}" for x in sorted(row[4])), row[5]) for row in rows],
    )


if __name__ == "__main__":
    main()
