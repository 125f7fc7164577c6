"""Write docs/beyond.md from the reports of the suites that go beyond the paper.

    monmdp run beyond-grid --out results
    monmdp run beyond --out results
    monmdp run beyond-ablations --out results
    python benchmarks/planning_cost.py --seeds 10 --json results/reports/planning_cost.json
    python benchmarks/pessimistic_test.py --json results/reports/pessimistic_test.json
    python benchmarks/beyond.py results

Copies pictures and tables beside it, into docs/beyond/. What is measured is read from them, what is
said of a problem is computed from it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import make, planning
from monmdp.results.request import read_sessions
from monmdp.results.steps import IN_JSON, AgentSteps, agents_table
from monmdp.results.verdicts import claims_table
from monmdp.stats import Interval, geometric_mean
from monmdp.tables import Column, Table, plural, render, share

DOCS = Path(__file__).parent.parent / "docs"
SUITES = ("beyond", "beyond-grid", "beyond-ablations")
OURS, PAPER, KNOWN = "Factored MBIE-EB", "Monitored MBIE-EB", "Known Monitor"
PICTURES = (
    *(
        f"beyond-{group}-{what}.png"
        for group in ("bottleneck", "48-benchmarks", "adversarial-monitors", "larger-worlds")
        for what in ("steps", "ratios")
    ),
    "beyond-ablations-bottleneck-ratios.png",
)
SHOWN_OF_GRID = 5
EVERY = 100
"""steps between tests"""


def main() -> None:
    """Copy what is shown and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="folder of results")
    parser.add_argument("--docs", type=Path, default=DOCS)
    args = parser.parse_args()
    reports, place = args.results / "reports", args.docs / "beyond"
    place.mkdir(parents=True, exist_ok=True)
    for suite in SUITES:
        content = json.loads((reports / suite / "steps.json").read_text(encoding="utf-8"))
        content["sessions"] = read_sessions(reports / suite)
        if suite != "beyond":  # every run of every agent would be long
            for table in content["tables"]:
                table["seeds"] = _seeds(table)
                table["settings"] = [of["setting"] for of in table["settings"]]
        _write(place / f"{suite}.json", content)
    claims = json.loads((reports / "beyond" / "claims.json").read_text(encoding="utf-8"))
    _write(place / "claims.json", claims["claims"])
    for name in ("planning_cost.json", "pessimistic_test.json"):
        shutil.copyfile(reports / name, place / name)
    for name in PICTURES:
        suite = next(of for of in reversed(SUITES) if name.startswith(f"{of}-"))
        shutil.copyfile(reports / suite / name, place / name)
    (args.docs / "beyond.md").write_text(page(place), encoding="utf-8")


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=None) + "\n", encoding="utf-8")


def _seeds(table: dict) -> list[int]:
    return sorted(
        {s for of in table["settings"] for run in of["agents"].values() for s in run["seeds"]}
    )


def page(place: Path) -> str:
    """Return the page, from the tables in a folder."""
    known = {
        name: json.loads((place / f"{name}.json").read_text(encoding="utf-8"))
        for name in (*SUITES, "claims", "planning_cost", "pessimistic_test")
    }
    groups = {of["group"]: of for of in known["beyond"]["tables"]}
    longer = groups.pop("Zones, given time")
    ablations = {of["group"]: of for of in known["beyond-ablations"]["tables"]}
    nets, novelties = (ablations[of] for of in ("Adversarial monitors", "River Swim"))
    zones = [of for of in groups["Adversarial monitors"]["settings"] if "zones" in of["setting"]]
    cost = known["planning_cost"]
    return render(
        "beyond.md.j2",
        Path(__file__).parent / "templates",
        runs={suite: known[suite]["about"]["runs"] for suite in SUITES},
        hours={suite: known[suite]["about"]["cpu_seconds"] / 3600 for suite in SUITES},
        claims=claims_table([*known["claims"], _planning_claim(cost)]),
        tables={name: _agents_table(of) for name, of in groups.items()},
        extent={name: _extent(of) for name, of in groups.items()},
        unfinished={name: _unfinished(of) for name, of in groups.items()},
        zones=[f"{of['setting']}: {_both(of, ' steps')}" for of in zones],
        longer=_longer(longer),
        regret=_costs(groups, "regret", "regret"),
        worst_steps=_costs(groups, "worst_steps", "steps on the worst reward"),
        more_regret=[
            f"{setting} ({ratio:.2f} times)"
            for table in groups.values()
            for setting, ratio in _ratios(table, PAPER, "regret").items()
            if ratio > 1
        ],
        ablations={
            name: {
                "table": _agents_table(of),
                "n": len(of["settings"]),
                "seeds": len(of["seeds"]),
            }
            for name, of in ablations.items()
        },
        pessimistic=_pessimistic(known["pessimistic_test"], ablations["Bottleneck"]),
        without_net=_ratio(nets, "no net"),
        without_novelty=_ratio(novelties, "no novelty"),
        grid=_grid(known["beyond-grid"]),
        cost=_planning(cost, groups),
        losses=_losses(groups, longer),
        behind_known=[
            f"{of['setting']} {_both(of, '', KNOWN)}"
            for table in groups.values()
            for of in table["settings"]
            if KNOWN in of["agents"] and _mean(of["agents"][KNOWN]) < _mean(of["agents"][OURS])
        ],
        **_least(groups["Bottleneck"]),
    )


# ---- tables -----------------------------------------------------------------------------------


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
            "how": f"By CPU time, both agents in turn on one core; {cost['seeds']} seeds.",
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
    n = len(table["settings"])
    agents = [_read(of) for of in table["agents"]]
    agents = [
        of
        if of.settings == n
        else replace(of, agent=f"{of.agent} ({plural(of.settings, 'setting')})")
        for of in agents
    ]
    made = agents_table(agents, table["reference"])
    made = made.without("settings", "CPU µs a step", "CPU s until converged")
    heading = replace(made.columns[0], heading=plural(n, "setting"))
    notes = (f"Reference: {table['reference']}.",)
    return replace(made, columns=(heading, *made.columns[1:]), notes=notes)


def _unfinished(table: dict) -> list[str]:
    """Where seeds of Factored MBIE-EB are not within 1 % at the end, and how its rival fares."""
    return [
        f"{of['setting']}: {_never(run)} of {len(run['seeds'])} seeds of {name}"
        + (f", {_never(of['agents'][PAPER])} of {PAPER}" if name == OURS else "")
        for of in table["settings"]
        for name, run in of["agents"].items()
        if name.startswith(OURS) and _never(run)
    ]


def _extent(table: dict) -> str:
    """How many seeds and steps the settings of a group have."""
    runs = [run for of in table["settings"] for run in of["agents"].values()]
    budgets = sorted({run["budget"] for run in runs})
    seeds = sorted({len(run["seeds"]) for run in runs})
    return f"{_listed(seeds)} seeds, {_listed(budgets)} steps."


def _listed(numbers: list[int]) -> str:
    *first, last = [f"{of:,}" for of in numbers]
    return f"{', '.join(first)} or {last}" if first else last


def _both(setting: dict, unit: str, other: str = PAPER) -> str:
    """Mean steps of Factored MBIE-EB, and of another agent."""
    ours, theirs = (_mean(setting["agents"][name]) for name in (OURS, other))
    return f"{ours:,.0f}{unit} against {theirs:,.0f}"


def _longer(table: dict) -> dict[str, Any]:
    """The hardest setting with a larger budget."""
    (setting,) = table["settings"]
    ours, theirs = (setting["agents"][name] for name in (OURS, PAPER))
    return {
        "setting": setting["setting"],
        "budget": ours["budget"],
        "seeds": len(ours["seeds"]),
        "ours": _reached(ours),
        "theirs": _reached(theirs),
        "ratio": _ratio(table, PAPER),
        "regret": np.mean(ours["regret"]) / np.mean(theirs["regret"]),
    }


def _reached(run: dict) -> str:
    steps = [of for of in run["steps_to_1pct"] if of is not None]
    n = len(run["seeds"])
    if not steps:
        return f"is within 1 % at the end on none of {n}"
    return (
        f"stays within 1 % to the end on {len(steps)} of {n} seeds, after {min(steps):,} to "
        f"{max(steps):,} steps"
    )


def _costs(groups: dict, key: str, title: str) -> Table:
    """Median over settings of what Factored MBIE-EB pays, in units of what others pay."""
    agents = dict.fromkeys(of["agent"] for table in groups.values() for of in table["agents"])
    rows = []
    for name in (name for name in agents if name != OURS):
        cells = []
        for table in groups.values():
            ratios = list(_ratios(table, name, key).values())
            of_all = "" if len(ratios) == len(table["settings"]) else f" ({len(ratios)})"
            cells.append(f"{np.median(ratios):.2f}{of_all}" if ratios else "–")
        rows.append([name, *cells])
    return Table.of((title, *(Column(group, form="") for group in groups)), rows)


def _ratios(table: dict, name: str, key: str) -> dict[str, float]:
    """Setting -> what Factored MBIE-EB pays, in units of what another agent pays."""
    return {
        of["setting"]: float(np.mean(of["agents"][OURS][key]) / theirs)
        for of in table["settings"]
        if name in of["agents"] and (theirs := np.mean(of["agents"][name][key])) > 0
    }


def _pessimistic(known: dict, ablations: dict) -> dict[str, Any]:
    """Monitored MBIE-EB, tested as Factored MBIE-EB is, and the other way round."""
    keys = ("own", "pessimistic", "factored")
    means = [[float(np.mean(of[key])) for key in keys] for of in known["settings"]]
    rows = [[of["setting"], *row] for of, row in zip(known["settings"], means, strict=True)]
    own, pessimistic, factored = (geometric_mean(column) for column in zip(*means, strict=True))
    rows.append([f"geometric mean, {known['seeds']} seeds", own, pessimistic, factored])
    heads = (PAPER, "the same, tested pessimistically", OURS)
    steps = [
        _agent(ablations, name)["geometric_mean_steps_to_1pct"]
        for name in ("optimistic test policy", PAPER)
    ]
    return {
        "table": Table.of(("setting", *(Column(of, form=",.0f") for of in heads)), rows),
        "share": 100 * np.log(own / pessimistic) / np.log(own / factored),
        "optimistic": steps[0] / steps[1],
    }


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
        Column("runs that never get there", form=""),
    )
    return {
        "n": len(agents),
        "problems": len(table["settings"]),
        "seeds": len(table["seeds"]),
        "shown": SHOWN_OF_GRID,
        "place": agents.index(reference) + 1,
        "table": Table.of(columns, [(*row, share(of.never, of.runs)) for *row, of in rows]),
    }


def _planning(cost: dict, groups: dict) -> dict[str, Any]:
    """What a step costs, and the way to the optimal policy."""
    settings = cost["settings"]
    rows = []
    for row in settings:
        seconds = [
            f"{taken:.4f}" + (f" ({never} never)" if never else "")
            for taken, never in zip(row["seconds_to_optimal"], row["never"], strict=True)
        ]
        fewer = row["steps_to_optimal"][0] / row["steps_to_optimal"][1]
        clock = row["clock_ratio"]
        each = Column("", form=".1f").cell(clock / fewer)
        rows.append([row["setting"], *row["microseconds"], row["ratio"], *seconds, clock, each])
    heads = ("µs a step, Factored", "Monitored", "ratio", "s until optimal, Factored",
             "Monitored", "ratio", "ratio a step until then")  # fmt: skip
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


def _losses(groups: dict, longer: dict) -> Table:
    """Settings where some rival needs fewer steps, beyond chance or not."""
    sure = {
        (setting, of["agent"])
        for table in groups.values()
        for of in table["agents"]
        for setting in of["reference_worse_on"]
    }
    (last,) = longer["settings"]
    budget = last["agents"][OURS]["budget"]
    settings = [of for table in groups.values() for of in table["settings"]]
    settings.append({**last, "setting": f"{last['setting']}, {budget:,} steps"})
    rows = []
    for of in settings:
        steps = _steps(of["agents"][OURS])
        for name, run in of["agents"].items():
            if "known" not in name.lower() and name != OURS and _mean(run) < np.mean(steps):
                yes = "yes" if (of["setting"], name) in sure else "no"
                ours = (np.mean(steps), np.median(steps), max(steps))
                rows.append((of["setting"], *ours, name, _mean(run), yes))
    numbers = [Column(of, form=",.0f") for of in (f"{OURS}: mean", "median", "worst", "its mean")]
    columns = ("setting", *numbers[:3], "agent", numbers[3], "beyond chance")
    return Table.of(columns, rows)


def _least(table: dict) -> dict[str, Any]:
    """How many steps a learner needs until it can be sure."""
    rows, ratios = [], {}
    for of in table["settings"]:
        bound, mean = least_steps(of["setting"]), _mean(of["agents"][OURS])
        ratios[of["setting"]] = mean / bound
        ratio = Column("", form=".1f").cell(mean / bound)
        numbers = (bound, mean, max(_steps(of["agents"][OURS])), ratio, _mean(of["agents"][PAPER]))
        rows.append((of["setting"], *numbers))
    heads = ("least steps until sure", f"{OURS}: mean", "worst seed", "ratio", PAPER)
    yardstick = {
        "always": geometric_mean([ratio for name, ratio in ratios.items() if "100 %" in name]),
        "seldom": geometric_mean([ratio for name, ratio in ratios.items() if " 5 %" in name]),
    }
    columns = ("setting", *(Column(of, form=",.0f") for of in heads))
    return {"least": Table.of(columns, rows), "yardstick": yardstick}


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


def _steps(run: dict) -> list[int]:
    """Steps to 1 % of all seeds, as the tables have them: at least one spacing of tests."""
    return [run["budget"] if of is None else max(of, EVERY) for of in run["steps_to_1pct"]]


def _mean(run: dict) -> float:
    return float(np.mean(_steps(run)))


def _never(run: dict) -> int:
    return sum(of is None for of in run["steps_to_1pct"])


if __name__ == "__main__":
    main()
