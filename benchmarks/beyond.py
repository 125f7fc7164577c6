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
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import make, planning
from monmdp.experiment.sessions import SESSIONS, read_sessions
from monmdp.stats import Interval, geometric_mean

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
KEYS_OF_TESTS = ("own", "pessimistic", "factored")
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
        content["sessions"] = read_sessions(reports / suite / SESSIONS)
        if suite != "beyond":  # every run of every agent would be long
            for table in content["tables"]:
                table["seeds"] = _seeds(table)
                table["settings"] = [of["setting"] for of in table["settings"]]
        _write(place / f"{suite}.json", content)
    targets = json.loads((reports / "beyond" / "targets.json").read_text(encoding="utf-8"))
    _write(place / "targets.json", targets["targets"])
    for name in ("planning_cost.json", "pessimistic_test.json"):
        shutil.copyfile(reports / name, place / name)
    for name in PICTURES:
        suite = next(of for of in reversed(SUITES) if name.startswith(f"{of}-"))
        shutil.copyfile(reports / suite / name, place / name)
    (args.docs / "beyond.md").write_text(page(place), encoding="utf-8")


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=None) + "\n", encoding="utf-8")


def page(place: Path) -> str:
    """Return the page, from the tables in a folder."""
    known = {
        name: json.loads((place / f"{name}.json").read_text(encoding="utf-8"))
        for name in (*SUITES, "targets", "planning_cost", "pessimistic_test")
    }
    tables = {of["group"]: of for of in known["beyond"]["tables"]}
    lines = [*_head(known), *_targets(known["targets"], known["planning_cost"])]
    lines += _group(
        tables["Bottleneck"], "bottleneck", "Six monitors, four chances ρ that a reward is shown."
    )
    lines += _group(tables["48 benchmarks"], "48-benchmarks", "Eight worlds, six monitors, ρ = 1.")
    longer = tables.pop("Zones, given time")
    lines += _adversarial(tables["Adversarial monitors"], longer)
    lines += _group(
        tables["Larger worlds"],
        "larger-worlds",
        "A maze of rooms with 20 × 20 cells, a River Swim of 100 states with γ = 0.995 (initial "
        "values of Monitored MBIE-EB and the known-monitor variant raised to what can be had "
        "there), and 32 experts, of whom one at a time can be asked. Directed-E² needs a table of "
        "all pairs of joint pairs and is left out where that is too large; posterior sampling "
        "takes minutes a run in the maze and with the experts, and is left out there. Budgets are "
        "what the slowest agents allow. With the experts it is 5,000 steps, which caps all ratios; "
        "rivals that are not told the monitor hardly begin within them.",
    )
    lines += _costs(tables)
    lines += _ablations(known["beyond-ablations"], known["pessimistic_test"])
    lines += _grid(known["beyond-grid"])
    lines += _planning(known["planning_cost"], tables)
    lines += _losses(tables, longer)
    lines += _least(tables["Bottleneck"])
    return "\n".join([*lines, *_times(known)]) + "\n"


# ---- sections ---------------------------------------------------------------------------------


def _head(known: dict) -> list[str]:
    about = known["beyond"]["about"]
    return [
        "# Beyond the paper",
        "",
        "`factored-mbie-eb` ([derivation](algorithms/factored-mbie-eb.md)) against Monitored "
        "MBIE-EB with the paper's settings and with its best single setting, the known-monitor "
        "variant, Directed-E², and two classical explorers whose tests are pessimistic about "
        "rewards never shown: posterior sampling and R-max ([agents.md](agents.md)).",
        "",
        "<!-- not run: three core-hours -->",
        "```console",
        "monmdp run beyond-grid        # the best single setting of Monitored MBIE-EB",
        "monmdp run beyond             # all agents on all problems",
        "monmdp run beyond-ablations   # every ingredient switched off in turn",
        "```",
        "",
        "*Steps to 1 %*: the first test from which on the test policy's exact return in M_↓, where "
        "every reward that can never be seen is the worst there is, stays within 0.01·max(1, |v|) "
        "of v, the return of the minimax-optimal policy, until the end of the budget. A run that "
        "never gets there counts with its budget, so that its agent's mean is a lower bound "
        "(hollow in pictures); ratios are then too small, or, where it is the mean of Factored "
        "MBIE-EB, too large. Tests are 100 steps apart, so nothing is measured finer than that. "
        "A setting has the mean over its seeds; over settings, the geometric mean of these means. "
        "*Worse beyond chance*: the whole 95 % interval of the paired difference of steps lies "
        "above 0. γ is 0.99 where nothing else is said. Seeds are paired: all agents meet the same "
        "ones. ⊥ is a reward that is not shown, ρ the monitor's chance to show one, a *pair* a "
        "state and an action of the environment.",
        "",
        "**One set of hyper-parameters for everything**, the defaults of `FactoredMBIEEB`. They "
        "were chosen on odd seeds; `beyond` and the ablations report even ones. The grid is "
        "judged on odd ones. The known-monitor variant is not offered where the monitor looks at "
        "the reward (Semi-Random, Shy).",
        "",
        f"The tables are made by `make beyond`, from {about['runs']:,} runs of `beyond`, "
        f"{known['beyond-grid']['about']['runs']:,} of the grid and "
        f"{known['beyond-ablations']['about']['runs']:,} of the ablations.",
        "",
    ]


def _targets(targets: list[dict], cost: dict) -> list[str]:
    lines = ["## What was to be reached", "", "| | | measured | |", "|---|---|---|---|"]
    for claim in targets:
        lines.append(f"| **{claim['claim']}** | {claim['text']} | | **{claim['verdict']}** |")
        lines += [
            f"| | {part['text']} | {'; '.join(filter(None, [part['measured'], part['also']]))} "
            f"| {part['verdict']} |"
            for part in claim["parts"]
        ]
    ratios, clock = ([row[key] for row in cost["settings"]] for key in ("ratio", "clock_ratio"))
    cheap = sum(of <= cost["limit"] for of in ratios)
    soon, mean = sum(of < 1 for of in clock), geometric_mean(clock)
    parts = [
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
    words = {True: "holds", False: "does not hold"}
    verdict = words[all(holds for *_, holds in parts)]
    lines.append(f"| **B5** | planning is worth its time | | **{verdict}** |")
    lines += [f"| | {text} | {measured} | {words[holds]} |" for text, measured, holds in parts]
    return [*lines, ""]


def _group(table: dict, slug: str, text: str) -> list[str]:
    """A group of settings: what was measured in one table, and in pictures."""
    n = len(table["settings"])
    return [
        f"## {table['group']}",
        "",
        f"{text} {_extent(table)}",
        "",
        *_agents_table(table, n),
        "",
        f"![{table['group']}: ratios](beyond/beyond-{slug}-ratios.png)",
        "",
        f"![{table['group']}: every setting](beyond/beyond-{slug}-steps.png)",
        "",
        *_unfinished(table),
    ]


def _unfinished(table: dict) -> list[str]:
    """Where seeds of Factored MBIE-EB are not within 1 % at the end, and how its rival fares."""
    never = [
        f"{of['setting']}: {_never(run)} of {len(run['seeds'])} seeds of {name}"
        + (f", {_never(of['agents'][PAPER])} of {PAPER}" if name == OURS else "")
        for of in table["settings"]
        for name, run in of["agents"].items()
        if name.startswith(OURS) and _never(run)
    ]
    return [f"Not within 1 % by the end: {'; '.join(never)}.", ""] if never else []


def _extent(table: dict) -> str:
    """How many seeds and steps the settings of a group have."""
    runs = [run for of in table["settings"] for run in of["agents"].values()]
    budgets = sorted({run["budget"] for run in runs})
    seeds = sorted({len(run["seeds"]) for run in runs})
    return f"{_listed(seeds)} seeds, {_listed(budgets)} steps."


def _listed(numbers: list[int]) -> str:
    *first, last = [f"{of:,}" for of in numbers]
    return f"{', '.join(first)} or {last}" if first else last


def _seeds(table: dict) -> list[int]:
    return sorted(
        {s for of in table["settings"] for run in of["agents"].values() for s in run["seeds"]}
    )


def _agents_table(table: dict, n: int) -> list[str]:
    lines = [
        f"| {n} settings | steps to 1 % | ratio to {table['reference']} | settings where "
        f"{table['reference']} is worse beyond chance (in the mean) | runs that never get there "
        "| regret | steps on the worst reward |",
        "|---|---|---|---|---|---|---|",
    ]
    for of in table["agents"]:
        some = of["settings"]
        only = "" if some == n else f" ({some} setting{'' if some == 1 else 's'})"
        counts = len(of["reference_worse_on"]), len(of["reference_more_on"])
        worse = "" if of["ratio"] is None else "{} ({})".format(*counts)
        lines.append(
            f"| {of['agent']}{only} | {of['geometric_mean_steps_to_1pct']:,.0f} "
            f"| {_interval(of['ratio'])} | {worse} | {of['never']} of {of['runs']:,} "
            f"| {of['regret']:,.1f} | {of['worst_steps']:,.0f} |"
        )
    return lines


def _interval(ratio: list | None) -> str:
    if ratio is None:
        return ""
    return Interval(*(float("nan") if of is None else of for of in ratio)).in_words(".3g")


def _adversarial(table: dict, given_time: dict) -> list[str]:
    lines = _group(
        table,
        "adversarial-monitors",
        "They are hard on an agent that learns about the monitor at some pairs for others: "
        "`patchy` shows the reward of every third pair ten times more seldom than others, each of "
        "the `cameras` covers its own states only, in `zones` the place turns the monitor on and "
        "off, `shy` shows zeros and hides nine of ten other rewards, and with `decoy` a button has "
        "to be pushed that does nothing but at one far pair.",
    )
    zones = [of for of in table["settings"] if "zones" in of["setting"]]
    said = "; ".join(
        f"{of['setting']}: {_mean(of['agents'][OURS]):,.0f} steps against "
        f"{_mean(of['agents'][PAPER]):,.0f}"
        for of in zones
    )
    (longer,) = given_time["settings"]
    ours, theirs = (longer["agents"][name] for name in (OURS, PAPER))
    regret = np.mean(ours["regret"]) / np.mean(theirs["regret"])
    return [
        *lines,
        f"`zones` is the hardest ({said}). There pᵐ is another one in each half of the world, so "
        "that one half are exceptions, and every exception is learnt cell by cell, as Monitored "
        "MBIE-EB learns everything. The agent has to find out first which they are.",
        "",
        f"Given {ours['budget']:,} steps on {longer['setting']} ({len(ours['seeds'])} seeds): "
        f"Factored MBIE-EB {_reached(ours)}; Monitored MBIE-EB {_reached(theirs)}; the ratio of "
        f"steps is {_interval(_agent(given_time, PAPER)['ratio'])}, with runs that are not there "
        "counted as above. So what counts as converged at 50,000 steps lapses later: where the "
        "monitor moves at random and each cell is learnt on its own, the noise of transitions that "
        "were tried seldom tips a choice now and then. The net makes lapses rarer; that they end "
        "is an argument, not a measurement. With so many exceptions every other episode is the "
        f"net's for good, which costs {regret:.2g} times the regret of Monitored MBIE-EB there.",
        "",
        "By the definition of a Mon-MDP environment and monitor move independently, given the "
        "pair and the monitor's state and action; so no monitor can make their moves go together. "
        "An environment of somebody else might: `tests/agents/test_factored_mbie_eb.py` has one, "
        "and the agent finds out.",
        "",
    ]


def _reached(run: dict) -> str:
    steps = [of for of in run["steps_to_1pct"] if of is not None]
    n = len(run["seeds"])
    if not steps:
        return f"is within 1 % at the end on none of {n}"
    return (
        f"is within 1 % to the end on {len(steps)} of {n} seeds, from {min(steps):,} to "
        f"{max(steps):,} steps on"
    )


def _costs(tables: dict) -> list[str]:
    rivals = list(dict.fromkeys(of["agent"] for table in tables.values() for of in table["agents"]))
    rivals = [name for name in rivals if name != OURS]
    lines = [
        "## Regret, and steps on the worst reward",
        "",
        "Regret: what the training episodes lost against the minimax value, with the true rewards. "
        "Steps on the worst reward: training steps that paid the least there is, −10 on Bottleneck "
        "and Hazard; where the least is no loss, none are counted. Means over settings stand in "
        "the tables above. Here is the median over settings of the ratio of Factored MBIE-EB to "
        "each other agent, where that has any; above 1 Factored MBIE-EB pays more:",
    ]
    for key, title in (("regret", "regret"), ("worst_steps", "steps on the worst reward")):
        lines += ["", f"| {title} | {' | '.join(tables)} |", "|---" * (len(tables) + 1) + "|"]
        for name in rivals:
            cells = []
            for table in tables.values():
                ratios = list(_ratios(table, name, key).values())
                of_all = "" if len(ratios) == len(table["settings"]) else f" ({len(ratios)})"
                cells.append(f"{np.median(ratios):.2f}{of_all}" if ratios else "-")
            lines.append(f"| {name} | {' | '.join(cells)} |")
    more = [
        f"{setting} ({ratio:.2f} times)"
        for table in tables.values()
        for setting, ratio in _ratios(table, PAPER, "regret").items()
        if ratio > 1
    ]
    if more:
        lines += ["", f"More regret than Monitored MBIE-EB: {', '.join(more)}."]
    return [
        *lines,
        "",
        "So in what is lost while training it beats Monitored MBIE-EB, and not those that look "
        "less. On Bottleneck this is the price of looking: what is never seen there are the ⊥ "
        "pairs, whose true reward is −10, and an episode that looks for what was never seen "
        "lingers with them. A quarter of it is the net's (*no net* below); the rest is its own "
        "looking, which returns to what was given up, for no verdict is final. Posterior sampling "
        "and R-max soon cease to look, and less often find the policy; the known-monitor variant "
        "knows what cannot be seen.",
        "",
    ]


def _ratios(table: dict, name: str, key: str) -> dict[str, float]:
    """Setting -> what Factored MBIE-EB pays, in units of what another agent pays."""
    return {
        of["setting"]: float(np.mean(of["agents"][OURS][key]) / theirs)
        for of in table["settings"]
        if name in of["agents"] and (theirs := np.mean(of["agents"][name][key])) > 0
    }


def _ablations(known: dict, tested: dict) -> list[str]:
    tables = {of["group"]: of for of in known["tables"]}
    first = tables["Bottleneck"]
    lines = [
        "## Ablations",
        "",
        f"Each ingredient is a switch; here one at a time is off, on {len(first['settings'])} "
        f"Bottleneck settings with {len(first['seeds'])} seeds. Without factoring all pairs count "
        "as exceptions, so that every other episode that would optimize is the net's, too.",
        "",
        *_agents_table(first, len(first["settings"])),
        "",
        "![What is lost without](beyond/beyond-ablations-bottleneck-ratios.png)",
        "",
        "The test policy is the largest part. Monitored MBIE-EB tests an optimistic policy, so a "
        "part of its distance is the test's, too; `benchmarks/pessimistic_test.py` tests what it "
        "has learnt as Factored MBIE-EB would:",
        "",
        *_pessimistic(tested),
        "",
        "Three parts save no steps on Bottleneck. *Stopping* cannot: the test policy is optimal "
        "before the agent stops observing. In regret it even loses here: episodes that optimize "
        "are short, so more episodes begin, and with them more of the net's. *Novelty* is meant "
        "for worlds whose outcomes are rare, the *net* for monitors that are not what they seem:",
    ]
    for group in ("Adversarial monitors", "River Swim"):
        table = tables[group]
        lines += ["", f"{group}:", "", *_agents_table(table, len(table["settings"]))]
    fine = tables["Bottleneck, finer parts"]
    net = _agent(tables["Adversarial monitors"], "no net")["ratio"]
    novelty = _agent(tables["River Swim"], "no novelty")["ratio"]
    return [
        *lines,
        "",
        f"There, without the net it takes {_interval(net)} times the steps, and without novelty "
        f"{_interval(novelty)} times.",
        "",
        "Numbers that stand for a thought, set so that it has no effect, on Bottleneck: ρ_low "
        "without `caution`, or without its cap; one bar for giving up instead of two; the likely "
        "plan without a price for what it has not seen.",
        "",
        *_agents_table(fine, len(fine["settings"])),
        "",
    ]


def _pessimistic(known: dict) -> list[str]:
    lines = [
        "| setting | Monitored MBIE-EB | the same, tested pessimistically | Factored MBIE-EB |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {of['setting']} | {' | '.join(f'{np.mean(of[key]):,.0f}' for key in KEYS_OF_TESTS)} |"
        for of in known["settings"]
    ]
    means = [
        geometric_mean([float(np.mean(of[key])) for of in known["settings"]])
        for key in KEYS_OF_TESTS
    ]
    return [
        *lines,
        f"| geometric mean, {known['seeds']} seeds | {means[0]:,.0f} | {means[1]:,.0f} "
        f"| {means[2]:,.0f} |",
    ]


def _grid(known: dict) -> list[str]:
    (table,) = known["tables"]
    agents = sorted(table["agents"], key=lambda of: of["geometric_mean_steps_to_1pct"])
    reference = _agent(table, table["reference"])
    lines = [
        "## The best single setting of Monitored MBIE-EB",
        "",
        f"All {len(agents)} settings of log base × β × β_KL × growth on the "
        f"{len(table['settings'])} Bottleneck problems, {len(table['seeds'])} odd seeds. β stands "
        "for β, β_m, β_e and β_obs alike. The best lies at the edge of the grid, with the "
        "smallest log base and β, and is the best on Bottleneck, not everywhere. The "
        f"{SHOWN_OF_GRID} best, the paper's (number {agents.index(reference) + 1}), and the worst:",
        "",
        "| setting | steps to 1 % | ratio to the paper's | runs that never get there |",
        "|---|---|---|---|",
    ]
    shown = agents[:SHOWN_OF_GRID]
    shown += [of for of in (reference, agents[-1]) if of not in shown]
    for of in shown:
        name = of["agent"].removeprefix("Monitored MBIE-EB (").removesuffix(")")
        lines.append(
            f"| {name} | {of['geometric_mean_steps_to_1pct']:,.0f} | {_interval(of['ratio'])} "
            f"| {of['never']} of {of['runs']} |"
        )
    return [*lines, ""]


def _planning(cost: dict, tables: dict) -> list[str]:
    rows = cost["settings"]
    per_step = [row["ratio"] for row in rows]
    clock = [row["clock_ratio"] for row in rows]
    above = [row["setting"] for row in rows if row["ratio"] > cost["limit"]]
    later = [row["setting"] for row in rows if row["clock_ratio"] >= 1]
    lines = [
        "## What planning costs",
        "",
        "CPU time of training alone, once compiled, agent against agent in one process "
        f"(`benchmarks/planning_cost.py`, {cost['seeds']} seeds until optimal). Over "
        f"{cost['steps']:,} steps a step of Factored MBIE-EB takes {geometric_mean(per_step):.2f} "
        f"times as long as one of Monitored MBIE-EB in the geometric mean of {len(rows)} settings, "
        f"at most {max(per_step):.2f} times. More than {cost['limit']:g} times as long: "
        f"{', '.join(above) or 'none'}. Until the policy is optimal it takes "
        f"{geometric_mean(clock):.2f} times the time; more time: {', '.join(later) or 'none'}.",
        "",
        "| setting | µs a step, Factored | Monitored | ratio | s until optimal, Factored "
        "| Monitored | ratio | ratio a step until then |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = row["microseconds"]
        cells = [
            f"{seconds:.4f}" + (f" ({never} never)" if never else "")
            for seconds, never in zip(row["seconds_to_optimal"], row["never"], strict=True)
        ]
        fewer = row["steps_to_optimal"][0] / row["steps_to_optimal"][1]
        lines.append(
            f"| {row['setting']} | {ours:.2f} | {theirs:.2f} | {row['ratio']:.2f} "
            f"| {' | '.join(cells)} | {row['clock_ratio']:.2f} | {row['clock_ratio'] / fewer:.1f} |"
        )
    lines += [
        "",
        "Monitored MBIE-EB plans once an episode, Factored MBIE-EB at most every 12 steps while "
        "there is news, and less often later: its early steps are the dear ones. The ratio is "
        "largest where there is news for long because the world is large, and where the world is "
        "so small that a step of Monitored MBIE-EB takes next to nothing. On River Swim it is "
        "counting and weighing that takes the time, not planning: without plans within episodes "
        "and without the net it is much the same (`python benchmarks/planning_cost.py "
        '"factored-mbie-eb replan=0 net=0" --only river-swim`).',
    ]
    cpu = {
        group: [_agent(table, name)["cpu_seconds_until_converged"] for name in (OURS, PAPER)]
        for group, table in tables.items()
    }
    lines += [
        "",
        "CPU seconds until converged in the suite, with tests and as if all steps of a run took "
        "alike, mean over the settings of a group: "
        + "; ".join(f"{group} {a:.3g} against {b:.3g}" for group, (a, b) in cpu.items())
        + ".",
        "",
    ]
    return lines


def _losses(tables: dict, longer: dict) -> list[str]:
    """Settings where some rival needs fewer steps, beyond chance or not."""
    lines = [
        "## Where it loses",
        "",
        "Settings in which another agent that is not told the monitor needs fewer steps in the "
        "mean. Runs of Factored MBIE-EB that go astray do so rarely and far, hence its median and "
        "worst seed:",
        "",
        "| setting | Factored MBIE-EB: mean | median | worst | agent | its mean | beyond chance |",
        "|---|---|---|---|---|---|---|",
    ]
    sure = {
        (setting, of["agent"])
        for table in tables.values()
        for of in table["agents"]
        for setting in of["reference_worse_on"]
    }
    settings = [of for table in tables.values() for of in table["settings"]]
    (last,) = longer["settings"]
    budget = last["agents"][OURS]["budget"]
    for of in [*settings, {**last, "setting": f"{last['setting']}, {budget:,} steps"}]:
        ours = of["agents"][OURS]
        steps = _steps(ours)
        for name, run in of["agents"].items():
            if "known" not in name.lower() and name != OURS and _mean(run) < _mean(ours):
                yes = "yes" if (of["setting"], name) in sure else "no"
                lines.append(
                    f"| {of['setting']} | {_mean(ours):,.0f} | {np.median(steps):,.0f} "
                    f"| {max(steps):,} | {name} | {_mean(run):,.0f} | {yes} |"
                )
    known = [
        (of["setting"], _mean(of["agents"][OURS]), _mean(of["agents"][KNOWN]))
        for of in settings
        if KNOWN in of["agents"] and _mean(of["agents"][KNOWN]) < _mean(of["agents"][OURS])
    ]
    said = "; ".join(f"{name} {ours:,.0f} against {theirs:,.0f}" for name, ours, theirs in known)
    return [
        *lines,
        "",
        "What costs it steps is a monitor that is not what it assumes. A reward that is shown more "
        "seldom than others looks like ⊥ (`shy`, `patchy`): it is given up, and looked at again "
        "only later. A button that nothing hints at (`decoy`) is found by trying everywhere, and "
        "exceptions are learnt one by one (`zones`).",
        "",
        "Against the known-monitor variant, which is given what has to be learnt here, it loses "
        + (f"on {len(known)} settings: {said}." if known else "nowhere."),
        "",
    ]


def _least(table: dict) -> list[str]:
    """How many steps a learner needs until it can be sure."""
    lines = [
        "## How much is left",
        "",
        "How soon could a learner be sure? Say that a policy *guarantees* v within 1 % once it "
        "would earn that much even if all rewards not seen yet were the worst there is. Then every "
        "pair on its way was seen: a single one at −10 costs more than 1 %. A pair x takes at "
        "least 1/max_y P(shown|x,y) visits in the mean until it is seen, whatever the learner "
        "does, and every step visits one pair. So the sum over the pairs of the best way bounds "
        "the mean steps to a guarantee from below (of the optimal policies it is taken for the one "
        "with the fewest pairs among those that prefer actions in some fixed order). It leaves out "
        "finding the goal, going back to a pair that leads elsewhere, and learning how to make the "
        "monitor show. A test policy may be right before it is sure: by luck, a pessimistic one "
        "too, while it has not seen any better place to stay. So this is a yardstick for the "
        "steps, and no bound on them.",
        "",
        "| setting | least steps until sure | Factored MBIE-EB: mean | worst seed | ratio "
        "| Monitored MBIE-EB |",
        "|---|---|---|---|---|---|",
    ]
    ratios = {}
    for of in table["settings"]:
        bound = least_steps(of["setting"])
        ours, theirs = (of["agents"][name] for name in (OURS, PAPER))
        ratios[of["setting"]] = _mean(ours) / bound
        lines.append(
            f"| {of['setting']} | {bound:,.0f} | {_mean(ours):,.0f} | {max(_steps(ours)):,} "
            f"| {_mean(ours) / bound:.1f} | {_mean(theirs):,.0f} |"
        )
    always = [ratio for name, ratio in ratios.items() if "100 %" in name]
    seldom = [ratio for name, ratio in ratios.items() if " 5 %" in name]
    return [
        *lines,
        "",
        f"Factored MBIE-EB takes {geometric_mean(always):.0f} times the yardstick where rewards "
        f"are always shown, where it is below the spacing of tests and finding the goal takes "
        f"longer than seeing it, and {geometric_mean(seldom):.0f} times at ρ = 5 %, where seeing "
        "is what takes the time.",
        "",
    ]


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


def _steps(run: dict) -> list[int]:
    """Steps to 1 % of all seeds, as the tables have them: at least one spacing of tests."""
    return [run["budget"] if of is None else max(of, EVERY) for of in run["steps_to_1pct"]]


def _mean(run: dict) -> float:
    return float(np.mean(_steps(run)))


def _never(run: dict) -> int:
    return sum(of is None for of in run["steps_to_1pct"])


def _times(known: dict) -> list[str]:
    hours = {suite: known[suite]["about"]["cpu_seconds"] / 3600 for suite in SUITES}
    said = ", ".join(f"`{suite}` {of:.1f}" for suite, of in hours.items())
    return [
        "## Times",
        "",
        f"Core-hours: {said}; {sum(hours.values()):.1f} in all. Runs that suites share are counted "
        "in each. `--shard i/n` divides a suite among machines.",
    ]


if __name__ == "__main__":
    main()
