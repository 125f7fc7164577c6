"""Write docs/beyond.md from the reports of the suites that go beyond the paper.

    monmdp run beyond-grid --out results
    monmdp run beyond --out results
    monmdp run beyond-ablations --out results
    python benchmarks/planning_cost.py --seeds 10 --json results/reports/planning_cost.json
    python benchmarks/pessimistic_test.py --json results/reports/pessimistic_test.json
    python benchmarks/certificates.py results --json results/reports/certificates.json
    python benchmarks/beyond.py results

Copies pictures and tables beside it, into docs/beyond/; what is measured is read from there. If
something is missing it says what, and writes nothing; with --incomplete it makes do with the runs
that are there. Only the grid may be missing: its published table is then kept.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import drawing
from monmdp.drawing import CurveData, PanelData, RowData
from monmdp.results import evidence
from monmdp.results.evidence import Evidence
from monmdp.results.figures import label, panel_title, styles
from monmdp.results.steps import IN_JSON, AgentSteps, agents_table
from monmdp.results.store import read_run, run_path
from monmdp.results.verdicts import claims_table
from monmdp.stats import Interval, geometric_mean, half_width
from monmdp.suites import bundled_suite, expand
from monmdp.tables import Cell, Column, Table, plural, render, written

DOCS = Path(__file__).parent.parent / "docs"
GRID = "beyond-grid"
SUITES = ("beyond", GRID, "beyond-ablations")
MEASURED = {
    "planning_cost": "benchmarks/planning_cost.py --seeds 10",
    "pessimistic_test": "benchmarks/pessimistic_test.py",
    "certificates": "benchmarks/certificates.py {results}",
}
"""what else is measured, and by what"""
OURS, PAPER = "Factored MBIE-EB", "Monitored MBIE-EB"
LONG = "A million steps"
EARLY = 0.1
"""share of the steps after which regret is first read where training is long"""
SHOWN_OF_GRID = 5


def main() -> None:
    """Copy what is shown and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="folder of results")
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--incomplete", action="store_true", help="make do with what is there")
    args = parser.parse_args()
    reports, place = args.results / "reports", args.docs / "beyond"
    suites = [of for of in SUITES if (reports / of / "steps.json").exists()]
    files, runs = missing_files(reports, place), missing_runs(reports, suites)
    for line in (*files, *runs):
        print(f"missing: {line}", file=sys.stderr)
    if files or (runs and not args.incomplete):
        sys.exit(f"{args.docs / 'beyond.md'}: not written")
    place.mkdir(parents=True, exist_ok=True)
    for path in place.glob("*.png"):  # some may not be shown any more
        path.unlink()
    for path in (reports / "beyond").glob("beyond-*-steps.png"):
        shutil.copyfile(path, place / path.name)
    for name in MEASURED:
        shutil.copyfile(reports / f"{name}.json", place / f"{name}.json")
    _write(place / "claims.json", _load(reports / "beyond" / "claims.json")["claims"])
    for suite in suites:
        known = evidence.load(reports / suite / "summary.parquet")
        _write(place / f"{suite}.json", _published(_load(reports / suite / "steps.json"), known))
        if suite == "beyond":
            _long_run(known, args.results, place)
    (args.docs / "beyond.md").write_text(page(place), encoding="utf-8")


def missing_files(reports: Path, place: Path) -> list[str]:
    """What the page cannot be made without, and the command that makes it."""
    kept = [GRID] if (place / f"{GRID}.json").exists() else []
    commands = {
        reports / suite / "steps.json": f"monmdp run {suite} --out {reports.parent}"
        for suite in SUITES
        if suite not in kept
    }
    for name, command in MEASURED.items():
        path = reports / f"{name}.json"
        commands[path] = f"python {command} --json {path}".format(results=reports.parent)
    return [f"{path}: {command}" for path, command in commands.items() if not path.exists()]


def missing_runs(reports: Path, suites: list[str]) -> list[str]:
    """Suites of which runs are missing, or were made by other code."""
    lost = []
    for suite in suites:
        about = _load(reports / suite / "steps.json")["about"]
        wanted, there = len(expand(bundled_suite(suite)).runs()), about["runs"]
        if there != wanted or about["stale_runs"]:
            lost.append(
                f"{suite}: {there:,} of {plural(wanted, 'run')} in its report, "
                f"{about['stale_runs']:,} of them made by other code: "
                f"monmdp run {suite} --out {reports.parent}"
            )
    return lost


def _published(content: dict[str, Any], known: Evidence) -> dict[str, Any]:
    """The tables of a suite as they are published."""
    figure, settings, spacing = known.figures[0], {}, {}
    for grid in figure.grids:
        for panel in (panel for row in grid.rows for panel in row):
            for curve in panel.curves:
                if (of := known.of(curve)) is not None:
                    settings[label(curve)] = of.settings
                    spacing[grid.title, panel_title(panel)] = of.settings["every"]
    if figure.name == "beyond":
        told = [
            name
            for name, of in settings.items()
            if of["agent"] == "known-monitor" or of["parameters"].get("knows_monitor")
        ]
        for table in content["tables"]:
            for of in table["settings"]:
                of["every"] = spacing[table["group"], of["setting"]]
        return {**content, "told": told}
    for table in content["tables"]:  # every run of every agent would be long
        table["seeds"] = sorted(
            {s for of in table["settings"] for run in of["agents"].values() for s in run["seeds"]}
        )
        table["settings"] = [of["setting"] for of in table["settings"]]
        first = settings[table["reference"]]["parameters"]
        for agent in table["agents"] if figure.name != GRID else ():
            own = settings[agent["agent"]]["parameters"]
            agent["changes"] = {key: [own[key], of] for key, of in first.items() if own[key] != of}
    return content


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


# ---- regret over time -------------------------------------------------------------------------


def _long_run(known: Evidence, results: Path, place: Path) -> None:
    """Read the regret of long runs, test by test; keep two of the tests, and draw all."""
    figure, settings, panels = known.figures[0], [], []
    for panel in (p for of in figure.grids if of.title == LONG for row in of.rows for p in row):
        kept, curves = {}, []
        for curve in panel.curves:
            of = known.of(curve)
            if of is None:
                continue
            runs = [read_run(run_path(results, curve.configuration, seed)) for seed in of.seeds]
            finished, earned = (
                np.array([run.curve[name] for run in runs])
                for name in ("finished_episodes", "training_return")
            )
            regret, step = finished * of.minimax - earned, runs[0].step
            at = [int(np.argmin(abs(step - EARLY * of.settings["steps"]))), -1]
            kept[label(curve)] = {
                "seeds": list(of.seeds),
                "steps": step[at].tolist(),
                "regret": regret[:, at].T.tolist(),
            }
            logs = np.log10(np.maximum(regret, 1))
            curves.append(CurveData(label(curve), step, logs.mean(axis=0), half_width(logs)))
        if kept:
            settings.append({"setting": panel_title(panel), "agents": kept})
            panels.append(PanelData(curves, title=panel_title(panel)))
    _write(place / "long_run.json", settings)
    if panels:
        picture = drawing.panel_grid(
            [RowData(panels)],
            styles=styles(figure),
            title=f"{LONG}: regret",
            y_label="log₁₀ of regret",
            note="Mean over seeds, 95 % interval; ▼: the curve of this colour begins below",
        )
        drawing.save(picture, place / "regret.png")


def _growth(settings: list[dict]) -> dict[str, Any] | None:
    """How regret grows from an early test to the last one, agent by agent."""
    if not settings:
        return None
    agents = list(dict.fromkeys(name for of in settings for name in of["agents"]))
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {name: [] for name in agents}
    for of in settings:
        rows.append([of["setting"]])
        for name in agents:
            cell = "–"
            if name in of["agents"]:
                early, late = np.mean(of["agents"][name]["regret"], axis=1)
                cell = f"{written(early, ',.0f')} → {written(late, ',.0f')}"
                ratios[name] += [late / early] if min(early, late) > 0 else []
            rows[-1].append(cell)
    times = [f"{geometric_mean(of):.2f} times" if of else "–" for of in ratios.values()]
    first, last = next(iter(settings[0]["agents"].values()))["steps"]
    return {
        "steps": (first, last),
        "log": np.log(last) / np.log(first),
        "linear": last / first,
        "table": Table.of(
            ("regret", *(Column(of, form="") for of in agents)),
            [*rows, ["grows by, geometric mean", *times]],
        ),
    }


# ---- the page ---------------------------------------------------------------------------------


def page(place: Path) -> str:
    """Return the page, from the tables in a folder."""
    names = (*SUITES, "claims", "long_run", *MEASURED)
    known = {name: _load(place / f"{name}.json") for name in names}
    groups = {}
    for table in known["beyond"]["tables"]:  # where runs are missing, some have no rival
        both = [of for of in table["settings"] if {OURS, PAPER} <= of["agents"].keys()]
        if both:
            groups[table["group"]] = {**table, "settings": both}
    short = {name: of for name, of in groups.items() if name != LONG}
    cost, ablations = known["planning_cost"], known["beyond-ablations"]["tables"]
    return render(
        "beyond.md.j2",
        Path(__file__).parent / "templates",
        about={suite: known[suite]["about"] for suite in SUITES},
        claims=_claims([*known["claims"], cost["claim"]]),
        groups={name: _group(of, place) for name, of in groups.items()},
        regret=_costs(short),
        more_regret=_more_regret(short),
        long=LONG,
        growth=_growth(known["long_run"]),
        certificates=known["certificates"],
        ablations=_ablations_table(ablations),
        groups_of_ablations=[of["group"] for of in ablations],
        seeds_of_ablations=_listed(len(of["seeds"]) for of in ablations),
        pessimistic=_pessimistic(known["pessimistic_test"]),
        grid=_grid(known[GRID]),
        cost=cost,
        told=known["beyond"]["told"],
        losses=_losses(groups, known["beyond"]["told"]),
    )


def _claims(claims: list[dict]) -> Table:
    """All claims by name; how they were judged is said once, above them."""
    short = [
        claim | {"sentences": [of | {"how": f"{of['seeds']}."} for of in claim["sentences"]]}
        for claim in sorted(claims, key=lambda of: of["claim"])
    ]
    made = claims_table(short)
    says = replace(made.columns[-1], heading="what it says, and what was found")
    return replace(made, columns=(*made.columns[:-1], says))


# ---- agents over a group of settings ----------------------------------------------------------


def _group(table: dict, place: Path) -> dict[str, Any]:
    """What the page says of a group of settings."""
    picture = f"beyond-{'-'.join(table['group'].lower().split())}-steps.png"
    runs = [run for of in table["settings"] for run in of["agents"].values()]
    unfinished = [
        f"{of['setting']} ({_never(run)} of {len(run['seeds'])} seeds"
        + (f"; {_never(of['agents'][PAPER])} of {PAPER})" if name == OURS else f" of {name})")
        for of in table["settings"]
        for name, run in of["agents"].items()
        if name.startswith(OURS) and _never(run)
    ]
    return {
        "seeds": _listed(len(run["seeds"]) for run in runs),
        "steps": _listed(run["budget"] for run in runs),
        "every": _listed(of["every"] for of in table["settings"]),
        "table": _agents_table(table),
        "picture": picture if (place / picture).exists() else None,
        "unfinished": unfinished,
    }


def _never(run: dict) -> int:
    return run["steps_to_1pct"].count(None)


def _listed(numbers: Iterable[int]) -> str:
    *first, last = [f"{of:,}" for of in sorted(set(numbers))]
    return f"{', '.join(first)} or {last}" if first else last


def _agents_table(table: dict) -> Table:
    """The agents of a group of settings; those that are not in all of them say so."""
    agents = [_read(of) for of in table["agents"]]
    n = max(of.settings for of in agents)
    agents = [
        of
        if of.settings == n
        else replace(of, agent=f"{of.agent} ({plural(of.settings, 'setting')})")
        for of in agents
    ]
    made = agents_table(agents, table["reference"]).without("settings", "CPU µs a step")
    heading = replace(made.columns[0], heading=plural(n, "setting"))
    return replace(made, columns=(heading, *made.columns[1:]), notes=())


def _read(agent: dict) -> AgentSteps:
    """Read what `AgentSteps.to_dict` gave."""
    given = {of.name: agent[IN_JSON.get(of.name, of.name)] for of in fields(AgentSteps)}
    return AgentSteps(**given | {"ratio": _ratio(agent)})


def _ratio(agent: dict) -> Interval | None:
    """The steps of an agent in units of the reference's; of a single seed without an interval."""
    ratio = agent["ratio"]
    return ratio and Interval(*(np.nan if of is None else of for of in ratio))


# ---- regret -----------------------------------------------------------------------------------


def _costs(groups: dict) -> Table:
    """Median over settings of the regret of Factored MBIE-EB, in units of that of others."""
    agents = dict.fromkeys(of["agent"] for table in groups.values() for of in table["agents"])
    rows = []
    for name in (name for name in agents if name != OURS):
        cells = []
        for table in groups.values():
            ratios = list(_regrets(table, name).values())
            of_all = "" if len(ratios) == len(table["settings"]) else f" ({len(ratios)})"
            cells.append(f"{np.median(ratios):.2f}{of_all}" if ratios else "–")
        rows.append([name, *cells])
    return Table.of(("regret", *(Column(group, form="") for group in groups)), rows)


def _regrets(table: dict, name: str) -> dict[str, float]:
    """Setting -> regret of Factored MBIE-EB in units of that of another agent."""
    return {
        of["setting"]: float(np.mean(of["agents"][OURS]["regret"]) / theirs)
        for of in table["settings"]
        if name in of["agents"] and (theirs := np.mean(of["agents"][name]["regret"])) > 0
    }


def _more_regret(groups: dict) -> list[str]:
    """Settings with more regret than Monitored MBIE-EB."""
    return [
        f"{setting} ({ratio:.2f} times)"
        for table in groups.values()
        for setting, ratio in _regrets(table, PAPER).items()
        if ratio > 1
    ]


# ---- parts taken away, the test policy and the grid -------------------------------------------


def _ablations_table(tables: list[dict]) -> Table:
    """One row for each variant, one column for each group of settings."""
    agents = [{of["agent"]: of for of in table["agents"]} for table in tables]
    first = [of[table["reference"]] for of, table in zip(agents, tables, strict=True)]
    rows = []
    for name in dict.fromkeys(name for of in agents for name in of):
        found = [of.get(name) for of in agents]
        changes = next(of for of in found if of is not None)["changes"].items()
        regrets = " / ".join(
            "–" if of is None else written(of["regret"] / reference["regret"], ".2f")
            for of, reference in zip(found, first, strict=True)
        )
        said = ", ".join(f"{key} {_value(was)} → {_value(to)}" for key, (to, was) in changes)
        rows.append([name, said, *(of and _variant(of) for of in found), regrets])
    heads = [f"{of['group']}, {plural(len(of['settings']), 'setting')}" for of in tables]
    return Table.of(
        ("changed", "parameter", *(Column(of, form="") for of in (*heads, "regret"))), rows
    )


def _variant(of: dict) -> Cell:
    """The ratio of a variant, marked where its interval leaves out 1; the reference's steps."""
    ratio, never = _ratio(of), f", {of['never']:,} never" if of["never"] else ""
    if ratio is None:
        steps = f"{written(of['geometric_mean_steps_to_1pct'], ',.0f')} steps"
        return Cell(f"{steps}{never}", (None,))
    cell = Column("", form=".2f").cell(ratio)
    mark = "*" if ratio.low > 1 else "°" if ratio.high < 1 else ""
    return replace(cell, detail=f"{cell.detail}{mark}{never}".lstrip(", "))


def _value(of: Any) -> str:
    if isinstance(of, str):
        return of
    return str(of).lower() if isinstance(of, bool) else f"{of:g}"


def _pessimistic(known: dict) -> dict[str, Any]:
    """Monitored MBIE-EB, tested as Factored MBIE-EB is."""
    settings = known["settings"]
    own, pessimistic, factored = (
        geometric_mean([np.mean(of[key]) for of in settings])
        for key in ("own", "pessimistic", "factored")
    )
    return {
        "n": len(settings),
        "seeds": known["seeds"],
        "own": own,
        "pessimistic": pessimistic,
        "factored": factored,
        "share": 100 * np.log(own / pessimistic) / np.log(own / factored),
    }


def _grid(known: dict) -> dict[str, Any]:
    """The best settings of Monitored MBIE-EB, the paper's and the worst."""
    (table,) = known["tables"]
    agents = sorted(table["agents"], key=lambda of: of["geometric_mean_steps_to_1pct"])
    place = [of["agent"] for of in agents].index(table["reference"])
    shown = sorted({*range(SHOWN_OF_GRID), place, len(agents) - 1})
    return {
        "n": len(agents),
        "problems": len(table["settings"]),
        "seeds": len(table["seeds"]),
        "shown": SHOWN_OF_GRID,
        "place": place + 1,
        "table": _agents_table({**table, "agents": [agents[i] for i in shown]}),
    }


# ---- where it loses ---------------------------------------------------------------------------


def _losses(groups: dict, told: list[str]) -> Table:
    """Settings where an agent that is not told the monitor needs fewer steps, * beyond chance."""
    rows = []
    for group, table in groups.items():
        rivals = [of for of in table["agents"] if of["agent"] not in told]
        for of in table["settings"]:
            name, ours = of["setting"], _steps(of, OURS)
            fewer = [
                f"{rival['agent']} {np.mean(_steps(of, rival['agent'])):,.0f}"
                + ("*" if name in rival["reference_worse_on"] else "")
                for rival in rivals
                if name in rival["reference_more_on"]
            ]
            if fewer:
                where = f"{name}, {LONG.lower()}" if group == LONG else name
                numbers = (np.mean(ours), np.median(ours), max(ours))
                rows.append((where, *numbers, ", ".join(fewer)))
    numbers = [Column(of, form=",.0f") for of in (f"{OURS}: mean", "median", "worst")]
    return Table.of(("setting", *numbers, "agents with fewer, and their mean"), rows)


def _steps(setting: dict, name: str) -> list[int]:
    """Steps to 1 % of all seeds, as the tables have them: at least one spacing of tests."""
    run, least = setting["agents"][name], setting["every"]
    return [run["budget"] if of is None else max(of, least) for of in run["steps_to_1pct"]]


if __name__ == "__main__":
    main()
