"""Write docs/beyond.md from the reports of the suites that go beyond the paper.

    monmdp run beyond-grid --out results
    monmdp run beyond --out results
    monmdp run beyond-ablations --out results
    python benchmarks/planning_cost.py --seeds 10 --json results/reports/planning_cost.json
    python benchmarks/pessimistic_test.py --json results/reports/pessimistic_test.json
    python benchmarks/certificates.py results --json results/reports/certificates.json
    python benchmarks/beyond.py results

Copies pictures and tables beside it, into docs/beyond/. What is measured is read from them, what is
said of a problem is computed from it. If something is missing it says what, and writes nothing;
with --incomplete it makes do with the runs that are there. Two things may be missing: the grid,
whose published table is then kept, and the certificates, of which the page then says that they were
not measured.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import drawing, make, planning
from monmdp.drawing.canvas import Picture
from monmdp.drawing.palette import BLUE, ORANGE, SKY, Style
from monmdp.results import evidence
from monmdp.results.evidence import Evidence
from monmdp.results.figures import label, panel_title, styles
from monmdp.results.request import read_sessions
from monmdp.results.steps import IN_JSON, AgentSteps, agents_table
from monmdp.results.store import read_run, run_path
from monmdp.results.verdicts import claims_table
from monmdp.stats import Interval, geometric_mean
from monmdp.suites import bundled_suite, expand
from monmdp.tables import Column, Table, plural, render, share, written

DOCS = Path(__file__).parent.parent / "docs"
SUITES = ("beyond", "beyond-grid", "beyond-ablations")
MEASURED = {
    "planning_cost": "python benchmarks/planning_cost.py --seeds 10 --json",
    "pessimistic_test": "python benchmarks/pessimistic_test.py --json",
}
"""what else is measured, and by what"""
CERTIFICATES = "certificates"
OURS, PAPER, KNOWN = "Factored MBIE-EB", "Monitored MBIE-EB", "Known Monitor"
LONG = "A million steps"
DRAWN = {
    "Bottleneck": "bottleneck",
    "48 benchmarks": "48-benchmarks",
    "Adversarial monitors": "adversarial-monitors",
    "Held out": "held-out",
    "Larger worlds": "larger-worlds",
    "Random and slippery": "random-and-slippery",
}
"""groups whose chart of every setting is shown, and what it is called in the report"""
EARLY = 0.1
"""share of the steps after which regret is first read where training is long"""
SHOWN_OF_GRID = 5
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def main() -> None:
    """Copy what is shown and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="folder of results")
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--incomplete", action="store_true", help="make do with what is there")
    args = parser.parse_args()
    reports, place = args.results / "reports", args.docs / "beyond"
    files, runs = missing_files(reports, place), missing_runs(reports)
    for line in (*files, *runs):
        print(f"missing: {line}", file=sys.stderr)
    if files or (runs and not args.incomplete):
        sys.exit(f"{args.docs / 'beyond.md'}: not written")
    place.mkdir(parents=True, exist_ok=True)
    for path in place.glob("*.png"):  # some may not be shown any more
        path.unlink()
    for suite in SUITES:
        if (reports / suite / "steps.json").exists():
            _write(place / f"{suite}.json", _published(reports / suite))
    claims = json.loads((reports / "beyond" / "claims.json").read_text(encoding="utf-8"))
    _write(place / "claims.json", claims["claims"])
    for name in (*MEASURED, CERTIFICATES):
        (place / f"{name}.json").unlink(missing_ok=True)
        if (reports / f"{name}.json").exists():
            shutil.copyfile(reports / f"{name}.json", place / f"{name}.json")
    for slug in DRAWN.values():
        chart = reports / "beyond" / f"beyond-{slug}-steps.png"
        if chart.exists():
            shutil.copyfile(chart, place / chart.name)
    _long_run(args.results, place)
    _draw_ablations(_ablations(place), place / "ablations.png")
    (args.docs / "beyond.md").write_text(page(place), encoding="utf-8")


def missing_files(reports: Path, place: Path) -> list[str]:
    """What the page cannot be made without, and the command that makes it."""
    lost = []
    for suite in SUITES:
        kept = suite == "beyond-grid" and (place / f"{suite}.json").exists()
        if not kept and not (reports / suite / "steps.json").exists():
            lost.append(f"{reports / suite}: monmdp run {suite} --out {reports.parent}")
    for name, command in MEASURED.items():
        path = reports / f"{name}.json"
        if not path.exists():
            lost.append(f"{path}: {command} {path}")
    return lost


def missing_runs(reports: Path) -> list[str]:
    """Suites of which runs are missing, or were made by other code."""
    lost = []
    for suite in (of for of in SUITES if (reports / of / "steps.json").exists()):
        about = json.loads((reports / suite / "steps.json").read_text(encoding="utf-8"))["about"]
        wanted, there = len(expand(bundled_suite(suite)).runs()), about["runs"]
        if there != wanted or about["stale_runs"]:
            lost.append(
                f"{suite}: {there:,} of {plural(wanted, 'run')} in its report, "
                f"{about['stale_runs']:,} of them made by other code: "
                f"monmdp run {suite} --out {reports.parent}"
            )
    return lost


def _published(report: Path) -> dict[str, Any]:
    """The tables of a suite as they are published."""
    content = json.loads((report / "steps.json").read_text(encoding="utf-8"))
    content["sessions"] = read_sessions(report)
    known = evidence.load(report / "summary.parquet")
    if report.name == "beyond":
        spacing = {
            (grid.title, panel_title(panel)): of.settings["every"]
            for grid in known.figures[0].grids
            for row in grid.rows
            for panel in row
            for curve in panel.curves
            if (of := known.of(curve)) is not None
        }
        for table in content["tables"]:
            for of in table["settings"]:
                of["every"] = spacing[table["group"], of["setting"]]
        return content
    changes = _changes(known)
    for table in content["tables"]:  # every run of every agent would be long
        table["seeds"] = sorted(
            {s for of in table["settings"] for run in of["agents"].values() for s in run["seeds"]}
        )
        table["settings"] = [of["setting"] for of in table["settings"]]
        for agent in table["agents"] if report.name == "beyond-ablations" else ():
            agent["changes"] = changes[agent["agent"]]
    return content


def _changes(known: Evidence) -> dict[str, dict[str, list]]:
    """Agent -> its parameters that differ from those of the first agent: [theirs, the first's]."""
    found: dict[str, dict[str, list]] = {}
    for panel in known.figures[0].panels():
        runs = {label(curve): of for curve in panel.curves if (of := known.of(curve))}
        given = {name: of.settings["parameters"] for name, of in runs.items()}
        first = next(iter(given.values()), {})
        for name, of in given.items():
            found[name] = {key: [of[key], was] for key, was in first.items() if of[key] != was}
    return found


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=None) + "\n", encoding="utf-8")


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


# ---- regret over time -------------------------------------------------------------------------


def _long_run(results: Path, place: Path) -> None:
    """Read the regret of long runs, test by test; keep two of the tests, and draw all."""
    known = evidence.load(results / "reports" / "beyond" / "summary.parquet")
    figure, settings, drawn = known.figures[0], [], {}
    panels = [p for of in figure.grids if of.title == LONG for row in of.rows for p in row]
    for panel in panels:
        kept, curves = {}, {}
        for curve in panel.curves:
            of = known.of(curve)
            if of is None:
                continue
            runs = [read_run(run_path(results, curve.configuration, seed)) for seed in of.seeds]
            columns = (
                np.array([run.curve[name] for run in runs])
                for name in ("finished_episodes", "training_return")
            )
            finished, earned = columns
            regret, step = finished * of.minimax - earned, runs[0].step
            at = [int(np.argmin(abs(step - EARLY * of.settings["steps"]))), -1]
            kept[label(curve)] = {
                "seeds": list(of.seeds),
                "steps": step[at].tolist(),
                "regret": regret[:, at].T.tolist(),
            }
            curves[label(curve)] = step, regret
        if kept:
            settings.append({"setting": panel_title(panel), "agents": kept})
            drawn[panel_title(panel)] = curves
    _write(place / "long_run.json", settings)
    if drawn:
        drawing.save(_draw_regret(drawn, styles(figure)), place / "regret.png")


def _draw_regret(
    settings: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]], looks: dict[str, Style]
) -> Picture:
    """Regret by training steps, on logarithmic axes: mean, and from the least to the largest."""
    width, height, side, below = 12.0, 3.6, 0.75, 0.95
    figure, each = Picture(width, height), (width - side) / len(settings)
    for i, (name, curves) in enumerate(settings.items()):
        place = ((side + i * each) / width, below / height, (each - 0.45) / width, 2.05 / height)
        ax = figure.add_axes(place, sharey=figure.axes[0] if i else None)
        for agent, (step, regret) in curves.items():
            shown = (step > 0) & (regret.min(axis=0) > 0)
            x, y, colour = step[shown], regret[:, shown], looks[agent].colour
            ax.plot(x, y.mean(axis=0), looks[agent].line, color=colour, linewidth=1.5, label=agent)
            ax.fill_between(x, y.min(axis=0), y.max(axis=0), color=colour, alpha=0.15, linewidth=0)
        ax.set(xscale="log", yscale="log")
        ax.set_title(name, fontsize=9)
        ax.tick_params(which="both", labelsize=8)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda x, _: "10" + f"{np.log10(x):.0f}".translate(RAISED))
            axis.set_minor_formatter("")
        ax.grid(color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlabel("training steps", fontsize=8)
    figure.axes[0].set_ylabel("regret", fontsize=9)
    figure.text(0.02, 1 - 0.2 / height, f"{LONG}: regret", fontsize=11, va="center")
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="lower left",
        bbox_to_anchor=(0.02, 0.22 / height), ncols=4, fontsize=8.5, edgecolor="none",
    )  # fmt: skip
    note = (
        "Mean over seeds, and from the least to the largest. A line with slope 1 is linear growth."
    )
    figure.text(0.02, 0.1 / height, note, fontsize=7, color="0.35")
    return figure


def _growth(settings: list[dict]) -> dict[str, Any] | None:
    """How regret grows from an early test to the last one, agent by agent."""
    if not settings:
        return None
    agents = list(dict.fromkeys(name for of in settings for name in of["agents"]))
    ratios: dict[str, list[float]] = {name: [] for name in agents}
    rows = []
    for of in settings:
        cells = []
        for name in agents:
            run = of["agents"].get(name)
            early, late = np.mean(run["regret"], axis=1) if run else (np.nan, np.nan)
            if run and early > 0 and late > 0:
                ratios[name].append(late / early)
                cells.append(f"{early:,.0f} → {late:,.0f} ({late / early:.2f} times)")
            else:
                cells.append(f"{written(early, ',.0f')} → {written(late, ',.0f')}" if run else "–")
        rows.append([of["setting"], *cells])
    first, last = next(iter(settings[0]["agents"].values()))["steps"]
    means = {name: geometric_mean(of) for name, of in ratios.items() if of}
    return {
        "steps": (first, last),
        "log": np.log(last) / np.log(first),
        "linear": last / first,
        "means": [f"{name} {written(of, '.2f')} times" for name, of in means.items()],
        "table": Table.of(("regret", *(Column(of, form="") for of in agents)), rows),
    }


# ---- the page ---------------------------------------------------------------------------------


def page(place: Path) -> str:
    """Return the page, from the tables in a folder."""
    known = {
        name: _load(place / f"{name}.json")
        for name in (*SUITES, "claims", "long_run", *MEASURED, CERTIFICATES)
    }
    groups = {of["group"]: of for of in known["beyond"]["tables"]}
    for name, table in list(groups.items()):  # where runs are missing, some have no rival
        both = [of for of in table["settings"] if {OURS, PAPER} <= of["agents"].keys()]
        groups[name] = {**table, "settings": both}
    groups = {name: of for name, of in groups.items() if of["settings"]}
    short = {name: of for name, of in groups.items() if name != LONG}
    cost = known["planning_cost"]
    ablations = known["beyond-ablations"]["tables"]
    return render(
        "beyond.md.j2",
        Path(__file__).parent / "templates",
        runs={suite: known[suite]["about"]["runs"] for suite in SUITES},
        hours={suite: known[suite]["about"]["cpu_seconds"] / 3600 for suite in SUITES},
        claims=_claims([*known["claims"], _planning_claim(cost)]),
        tables={name: _agents_table(of) for name, of in groups.items()},
        pictures={name: f"beyond-{slug}-steps.png" for name, slug in DRAWN.items()},
        rivals=_rivals(groups),
        extent={name: _extent(of) for name, of in groups.items()},
        unfinished={name: _unfinished(of) for name, of in groups.items()},
        regret=_costs(short),
        less_regret=_less_regret(short),
        more_regret=_more_regret(short),
        long=LONG,
        growth=_growth(known["long_run"]),
        certificates=_certificates(known[CERTIFICATES]),
        ablations=_ablations_table(ablations),
        parts=_parts(ablations),
        pessimistic=_pessimistic(known["pessimistic_test"], ablations[0]),
        grid=_grid(known["beyond-grid"]),
        cost=_planning(cost, short),
        losses=_losses(groups),
        told=_told(groups),
        left=_least(groups["Bottleneck"]),
    )


def _settings(groups: dict) -> Iterator[tuple[str, str, dict]]:
    """Group, name and runs of all settings; those of long runs are in two groups."""
    for group, table in groups.items():
        for of in table["settings"]:
            budget = f", {of['agents'][OURS]['budget']:,} steps" if group == LONG else ""
            yield group, f"{of['setting']}{budget}", of


# ---- claims -----------------------------------------------------------------------------------


def _claims(claims: list[dict]) -> Table:
    """All claims by name; how they were judged is said once, below them."""
    short = [
        claim | {"sentences": [of | {"how": f"{of['seeds']}."} for of in claim["sentences"]]}
        for claim in sorted(claims, key=lambda of: of["claim"])
    ]
    made = claims_table(short)
    says = replace(made.columns[-1], heading="what it says, and what was found")
    return replace(made, columns=(*made.columns[:-1], says))


def _planning_claim(cost: dict) -> dict:
    """What planning may cost, in the form of a claim."""
    ratios, clock = ([row[key] for row in cost["settings"]] for key in ("ratio", "clock_ratio"))
    cheap = sum(of <= cost["limit"] for of in ratios)
    soon, mean = sum(of < 1 for of in clock), geometric_mean(clock)
    said = [
        (
            f"a step takes at most {cost['limit']:g} times the time of Monitored MBIE-EB's, over "
            f"{cost['steps']:,} steps",
            f"{cheap} of {len(ratios)} settings, at most {max(ratios):.1f} times",
            cheap == len(ratios),
        ),
        (
            "the optimal policy is found in less time",
            f"{mean:.2f} times in the geometric mean; less on {soon} of {len(clock)} settings",
            soon == len(clock),
        ),
    ]
    sentences = [
        {
            "says": says,
            "verdict": "holds" if holds else "not reproduced",
            "measured": measured,
            "by": "CPU time, both agents in turn on one core",
            "seeds": f"{cost['seeds']} seeds",
        }
        for says, measured, holds in said
    ]
    holding = sum(holds for *_, holds in said)
    return {
        "claim": "B5",
        "about": "planning is worth its time",
        "headline": f"{holding} of {len(said)} sentences hold",
        "sentences": sentences,
    }


# ---- agents over a group of settings ----------------------------------------------------------


def _read(agent: dict) -> AgentSteps:
    """Read what `AgentSteps.to_dict` gave; None stands for what is not a number."""

    def number(value: float | None) -> float:
        return np.nan if value is None else value

    given = {of.name: agent[IN_JSON.get(of.name, of.name)] for of in fields(AgentSteps)}
    given |= {key: number(given[key]) for key in ("microseconds", "seconds")}
    given |= {key: tuple(given[key]) for key in ("worse", "more")}
    ratio = given["ratio"] and Interval(*map(number, given["ratio"]))
    return AgentSteps(**given | {"ratio": ratio})


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
    made = agents_table(agents, table["reference"])
    made = made.without("settings", "CPU µs a step", "CPU s until converged")
    heading = replace(made.columns[0], heading=plural(n, "setting"))
    return replace(made, columns=(heading, *made.columns[1:]), notes=())


def _rivals(groups: dict) -> list[str]:
    """All other agents, and the groups that they are in."""
    places: dict[str, list[str]] = {}
    for group, table in groups.items():
        for of in table["agents"]:
            places.setdefault(of["agent"], []).append(group)
    return [
        f"{name} ({'all groups' if len(of) == len(groups) else ', '.join(of)})"
        for name, of in places.items()
        if name != OURS
    ]


def _unfinished(table: dict) -> list[str]:
    """Where seeds of Factored MBIE-EB are not within 1 % at the end, and how its rival fares."""
    return [
        f"{of['setting']} ({_never(run)} of {len(run['seeds'])} seeds"
        + (f"; {_never(of['agents'][PAPER])} of {PAPER})" if name == OURS else f" of {name})")
        for of in table["settings"]
        for name, run in of["agents"].items()
        if name.startswith(OURS) and _never(run)
    ]


def _extent(table: dict) -> str:
    """How many seeds and steps the settings of a group have, and how often they are tested."""
    runs = [run for of in table["settings"] for run in of["agents"].values()]
    seeds, budgets, spacings = (
        _listed(sorted(set(of)))
        for of in (
            (len(run["seeds"]) for run in runs),
            (run["budget"] for run in runs),
            (of["every"] for of in table["settings"]),
        )
    )
    return f"{seeds} seeds, {budgets} steps, tested every {spacings}."


def _listed(numbers: list[int]) -> str:
    *first, last = [f"{of:,}" for of in numbers]
    return f"{', '.join(first)} or {last}" if first else last


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


def _less_regret(groups: dict) -> dict[str, list[str]]:
    """Group -> agents with less regret in the median setting, and how often they never converge."""
    found = {}
    for group, table in groups.items():
        ratios = {
            of["agent"]: list(_regrets(table, of["agent"]).values()) for of in table["agents"]
        }
        less = [of for of in table["agents"] if np.median(ratios[of["agent"]] or [0]) > 1]
        if less:
            found[group] = [f"{of['agent']} ({of['never']:,} of {of['runs']:,})" for of in less]
    return found


def _more_regret(groups: dict) -> list[str]:
    """Settings with more regret than Monitored MBIE-EB."""
    return [
        f"{setting} ({ratio:.2f} times)"
        for table in groups.values()
        for setting, ratio in _regrets(table, PAPER).items()
        if ratio > 1
    ]


# ---- when to stop -----------------------------------------------------------------------------


def _certificates(known: dict | None) -> dict[str, Any] | None:
    """When the agent said that it was done, and whether it was: world by world."""
    if known is None or not any(of["runs"] for of in known["settings"]):
        return None
    worlds: dict[str, list[dict]] = {}
    for of in known["settings"]:
        worlds.setdefault(of["setting"].split()[0], []).append(of)
    rows = [(name, len(of), *_certified(of).values()) for name, of in worlds.items()]
    numbers = ("settings", "runs", "certified", "wrong", "untested", "steps to it ÷ to 1 %")
    forms = (*(5 * (",.0f",)), ".2g")
    columns = [Column(of, form=form) for of, form in zip(numbers, forms, strict=True)]
    return {
        **_certified(known["settings"]),
        "n": len(known["settings"]),
        "wrong_on": [f"{of['setting']} ({of['wrong']})" for of in known["settings"] if of["wrong"]],
        "table": Table.of(("world", *columns), rows),
    }


def _certified(settings: list[dict]) -> dict[str, Any]:
    """Sums over settings, and how much later than optimal a policy is certified."""
    medians = [(of["median_certificate"], of["median_steps_to_1pct"]) for of in settings]
    later = [step / optimal for step, optimal in medians if step and optimal]
    keys = ("runs", "certified", "wrong", "untested")
    sums = {key: sum(of[key] for of in settings) for key in keys}
    return {**sums, "later": geometric_mean(later) if later else None}


# ---- parts taken away -------------------------------------------------------------------------


def _ablations(place: Path) -> list[dict]:
    return _load(place / "beyond-ablations.json")["tables"]


def _variants(tables: list[dict]) -> dict[str, dict[str, dict]]:
    """Variant -> group -> what it came to there."""
    names = dict.fromkeys(of["agent"] for table in tables for of in table["agents"])
    return {
        name: {
            table["group"]: of
            for table in tables
            for of in table["agents"]
            if of["agent"] == name and name != table["reference"]
        }
        for name in names
    }


def _ablations_table(tables: list[dict]) -> dict[str, Any]:
    """One row for each variant, one column for each group of settings."""
    groups = [table["group"] for table in tables]
    reference = {of["group"]: _agent(of, of["reference"]) for of in tables}
    first = [
        f"{written(of['geometric_mean_steps_to_1pct'], ',.0f')} steps{_lost(of)}"
        for of in reference.values()
    ]
    rows: list[list] = [[OURS, "", *first, "1"]]
    for name, of_group in _variants(tables).items():
        if not of_group:  # the reference
            continue
        changes = next(iter(of_group.values()))["changes"].items()
        cells: list[Any] = []
        for of in (of_group.get(group) for group in groups):
            cell = Column("", form=".2f").cell(_read(of).ratio if of else None)
            cells.append(replace(cell, detail=f"{cell.detail}{_lost(of)}") if of else cell)
        regrets = " / ".join(
            written(of_group[g]["regret"] / reference[g]["regret"], ".2f") if g in of_group else "–"
            for g in groups
        )
        said = ", ".join(f"{key} {_value(was)} → {_value(to)}" for key, (to, was) in changes)
        rows.append([name, said, *cells, regrets])
    heads = [f"{of['group']}, {plural(len(of['settings']), 'setting')}" for of in tables]
    columns = (
        "changed",
        "parameter",
        *(Column(of, form="") for of in heads),
        Column("regret", form=""),
    )
    return {
        "table": Table.of(columns, rows),
        "groups": groups,
        "n": len(rows) - 1,
        "seeds": _listed(sorted({len(of["seeds"]) for of in tables})),
    }


def _lost(of: dict) -> str:
    return f", {of['never']:,} never" if of["never"] else ""


def _value(of: Any) -> str:
    return str(of).lower() if isinstance(of, bool) else f"{of:g}"


def _parts(tables: list[dict]) -> dict[str, list[str]]:
    """Which variants need more steps beyond chance on some group, which fewer, which neither."""
    found: dict[str, list[str]] = {"more": [], "fewer": [], "neither": []}
    for name, of_group in _variants(tables).items():
        ratios = [ratio for of in of_group.values() if (ratio := _read(of).ratio) is not None]
        if not of_group:
            continue
        signs = {
            "more": any(of.low > 1 for of in ratios),
            "fewer": any(of.high < 1 for of in ratios),
        }
        for key in [key for key, is_so in signs.items() if is_so] or ["neither"]:
            found[key].append(name)
    return found


def _draw_ablations(tables: list[dict], path: Path) -> None:
    """Draw the ratios of all variants, a dot for each group."""
    rows = []
    for name, of_group in _variants(tables).items():
        read = {group: _read(of) for group, of in of_group.items()}
        dots = {g: drawing.Dot(of.ratio, of.never > 0) for g, of in read.items() if of.ratio}
        if dots:
            rows.append((name, dots))
    if not rows:
        return
    groups = [table["group"] for table in tables]
    looks = {g: Style(colour) for g, colour in zip(groups, (BLUE, ORANGE, SKY), strict=False)}
    picture = drawing.dot_chart(
        rows,
        styles=looks,
        title=f"One part changed: steps in units of {OURS}'s",
        x_label=f"steps to 1 % ÷ those of {OURS}",
        note="Geometric mean over the settings of a group; 95 % interval from resampled seeds. "
        "Hollow: some of its runs never get there and count with the budget.",
        line=1.0,
    )
    drawing.save(picture, path)


def _pessimistic(known: dict, ablations: dict) -> dict[str, Any]:
    """Monitored MBIE-EB, tested as Factored MBIE-EB is, and the other way round."""
    keys = ("own", "pessimistic", "factored")
    own, pessimistic, factored = (
        geometric_mean([float(np.mean(of[key])) for of in known["settings"]]) for key in keys
    )
    agents = [of["agent"] for of in ablations["agents"]]
    optimistic = "optimistic test policy"
    return {
        "n": len(known["settings"]),
        "seeds": known["seeds"],
        "own": own,
        "pessimistic": pessimistic,
        "factored": factored,
        "share": 100 * np.log(own / pessimistic) / np.log(own / factored),
        "optimistic": _ratio(ablations, optimistic) if optimistic in agents else None,
    }


# ---- the grid, and time -----------------------------------------------------------------------


def _grid(known: dict) -> dict[str, Any]:
    """The best settings of Monitored MBIE-EB, the paper's and the worst."""
    (table,) = known["tables"]
    agents = [_read(of) for of in table["agents"]]
    agents.sort(key=lambda of: of.steps)
    reference = next(of for of in agents if of.agent == table["reference"])
    shown = agents[:SHOWN_OF_GRID]
    shown += [of for of in (reference, agents[-1]) if of not in shown]
    rows = [
        (of.agent.removeprefix(f"{PAPER} (").removesuffix(")"), of.steps, of.ratio, of)
        for of in shown
    ]
    columns = (
        "setting",
        Column("steps to 1 %", form=",.0f"),
        Column("ratio to the paper's", form=".3g"),
        Column("never", form=""),
    )
    return {
        "n": len(agents),
        "problems": len(table["settings"]),
        "seeds": len(table["seeds"]),
        "shown": SHOWN_OF_GRID,
        "place": agents.index(reference) + 1,
        "edges": _edges([of.agent for of in agents]),
        "table": Table.of(columns, [(*row, share(of.never, of.runs)) for *row, of in rows]),
    }


def _edges(agents: list[str]) -> list[str]:
    """Parameters of the first agent that are the least or the largest of all."""
    found = [dict(re.findall(r"(\w+)=([\d.e-]+)\b", of)) for of in agents]
    edges = []
    for key in found[0]:
        values = sorted({float(of[key]) for of in found})
        if len(values) > 2 and float(found[0][key]) in (values[0], values[-1]):
            which = "smallest" if float(found[0][key]) == values[0] else "largest"
            edges.append(f"the {which} {key}")
    return edges


def _planning(cost: dict, groups: dict) -> dict[str, Any]:
    """What a step costs, and the way to the optimal policy."""
    settings = cost["settings"]
    rows = []
    for row in settings:
        seconds = [
            f"{taken:.4f}" + (f" ({never} never)" if never else "")
            for taken, never in zip(row["seconds_to_optimal"], row["never"], strict=True)
        ]
        rows.append(
            [row["setting"], *row["microseconds"], row["ratio"], *seconds, row["clock_ratio"]]
        )
    heads = ("µs a step, Factored", "Monitored", "ratio", "s until optimal, Factored",
             "Monitored", "ratio")  # fmt: skip
    cpu = {
        group: [_agent(table, name)["cpu_seconds_until_converged"] for name in (OURS, PAPER)]
        for group, table in groups.items()
    }
    return {
        "seeds": cost["seeds"],
        "steps": cost["steps"],
        "limit": cost["limit"],
        "n": len(settings),
        "per_step": geometric_mean([row["ratio"] for row in settings]),
        "most": max(row["ratio"] for row in settings),
        "clock": geometric_mean([row["clock_ratio"] for row in settings]),
        "above": [row["setting"] for row in settings if row["ratio"] > cost["limit"]],
        "later": [row["setting"] for row in settings if row["clock_ratio"] >= 1],
        "table": Table.of(("setting", *(Column(of, form=".2f") for of in heads)), rows),
        "cpu": [f"{group} {a:.3g} against {b:.3g}" for group, (a, b) in cpu.items()],
    }


# ---- where it loses, and what is left ---------------------------------------------------------


def _losses(groups: dict) -> Table:
    """Settings where some rival needs fewer steps, beyond chance or not."""
    sure = {
        (group, setting, of["agent"])
        for group, table in groups.items()
        for of in table["agents"]
        for setting in of["reference_worse_on"]
    }
    rows = []
    for group, name, of in _settings(groups):
        ours = _steps(of, OURS)
        rivals = {
            agent: steps
            for agent in of["agents"]
            if "known" not in agent.lower() and (steps := _mean(of, agent)) < np.mean(ours)
        }
        said = [
            f"{agent} {steps:,.0f}" + ("*" if (group, of["setting"], agent) in sure else "")
            for agent, steps in rivals.items()
        ]
        if said:
            numbers = (np.mean(ours), np.median(ours), max(ours))
            rows.append((name, *numbers, ", ".join(said)))
    numbers = [Column(of, form=",.0f") for of in (f"{OURS}: mean", "median", "worst")]
    return Table.of(("setting", *numbers, "agents with fewer, and their mean"), rows)


def _told(groups: dict) -> list[str] | None:
    """Where the known-monitor variant needs fewer steps; None if it was not run."""
    runs = [(name, of) for _, name, of in _settings(groups) if KNOWN in of["agents"]]
    means = [(name, _mean(of, OURS), _mean(of, KNOWN)) for name, of in runs]
    fewer = [
        f"{of} {ours:,.0f} against {theirs:,.0f}" for of, ours, theirs in means if theirs < ours
    ]
    return fewer if runs else None


def _least(table: dict) -> dict[str, Any]:
    """How many steps a learner needs until it can be sure: geometric means for each ρ."""
    of_rho: dict[str, list[tuple[float, ...]]] = {}
    for of in table["settings"]:
        rho = of["setting"].split(" / ")[0].removeprefix("bottleneck ")
        numbers = least_steps(of["setting"]), _mean(of, OURS), _mean(of, PAPER)
        of_rho.setdefault(rho, []).append(numbers)
    rows, ratios = [], {}
    for rho, numbers in of_rho.items():
        bound, ours, theirs = (geometric_mean(column) for column in zip(*numbers, strict=True))
        ratios[rho] = ours / bound
        ratio = Column("", form=".1f").cell(ours / bound)
        rows.append((rho, len(numbers), bound, ours, ratio, theirs))
    heads = ("settings", "least steps until sure", OURS, "ratio", PAPER)
    return {
        "table": Table.of(("ρ", *(Column(of, form=",.0f") for of in heads)), rows),
        "ratios": [
            f"{written(of, '.0f')} times the yardstick at ρ = {rho}" for rho, of in ratios.items()
        ],
    }


def least_steps(setting: str) -> float:
    """Return the lower bound for a Bottleneck setting, such as "bottleneck 5 % / full-random"."""
    found = re.fullmatch(r"bottleneck (\S+) % / (\S+)", setting)
    assert found is not None, setting
    problem = make("bottleneck", found[2], rho=float(found[1]) / 100)
    n_se, n_sm, n_ae, n_am = problem.shape
    chance = problem.observability().reshape(n_se, n_sm, n_ae, n_am).max(axis=(1, 3))
    best = planning.solve(problem).minimax.policy > 0
    return min(
        sum(1 / chance[pair] for pair in _pairs_on_the_way(problem, best, order))
        for order in itertools.permutations(range(n_ae))
    )


def _pairs_on_the_way(problem, best, order: tuple[int, ...]) -> set[tuple[int, int]]:
    """Environment pairs of the optimal policy that prefers actions in this order."""
    _, n_sm, _, n_am = problem.shape
    reached = set(np.flatnonzero(problem.start).tolist())
    waiting, pairs = list(reached), set()
    while waiting:
        s = waiting.pop()
        a = min(np.flatnonzero(best[s]).tolist(), key=lambda a: order.index(a // n_am))
        pairs.add((s // n_sm, a // n_am))
        for next_s in _successors(problem, s, a):
            if next_s not in reached:
                reached.add(next_s)
                waiting.append(next_s)
    return pairs


def _successors(problem, s: int, a: int) -> list[int]:
    _, n_sm, n_ae, n_am = problem.shape
    mdp, pair = problem.mdp, (s // n_sm) * n_ae + a // n_am
    to_mon = problem.monitor.transition[problem.pair_class[pair], s % n_sm, a % n_am]
    tables = problem.tables
    return [
        int(tables.successor[o]) * n_sm + int(sm)
        for o in range(tables.first[pair], tables.first[pair + 1])
        if mdp.probability[o] > 0 and not tables.terminates[o]
        for sm in np.flatnonzero(to_mon)
    ]


def _agent(table: dict, name: str) -> dict:
    """What an agent came to over all settings of a group."""
    return next(of for of in table["agents"] if of["agent"] == name)


def _ratio(table: dict, name: str) -> str:
    """The steps of an agent in units of the reference's."""
    ratio = _read(_agent(table, name)).ratio
    assert ratio is not None
    return ratio.in_words(".3g")


def _steps(setting: dict, name: str) -> list[int]:
    """Steps to 1 % of all seeds, as the tables have them: at least one spacing of tests."""
    run, least = setting["agents"][name], setting["every"]
    return [run["budget"] if of is None else max(of, least) for of in run["steps_to_1pct"]]


def _mean(setting: dict, name: str) -> float:
    return float(np.mean(_steps(setting, name)))


def _never(run: dict) -> int:
    return sum(of is None for of in run["steps_to_1pct"])


if __name__ == "__main__":
    main()
