"""Write docs/beyond.md from the reports of the suites that go beyond the paper.

    monmdp run beyond-grid --out results
    monmdp run beyond --out results
    monmdp run beyond-ablations --out results
    python benchmarks/planning_cost.py --seeds 10 --json results/reports/planning_cost.json
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
from monmdp.statistics import Interval, geometric_mean

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
        content["sessions"] = read_sessions(reports / suite / SESSIONS)
        if suite != "beyond":  # every run of every agent would be long
            for table in content["tables"]:
                table["seeds"] = _seeds(table)
                table["settings"] = [of["setting"] for of in table["settings"]]
        _write(place / f"{suite}.json", content)
    targets = json.loads((reports / "beyond" / "targets.json").read_text(encoding="utf-8"))
    _write(place / "targets.json", targets["targets"])
    shutil.copyfile(reports / "planning_cost.json", place / "planning_cost.json")
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
        for name in (*SUITES, "targets", "planning_cost")
    }
    tables = {of["group"]: of for of in known["beyond"]["tables"]}
    lines = [*_head(known), *_targets(known["targets"], known["planning_cost"])]
    lines += _group(
        tables["Bottleneck"], "bottleneck", "Six monitors, four chances ρ that a reward is shown."
    )
    lines += _group(tables["48 benchmarks"], "48-benchmarks", "Eight worlds, six monitors, ρ = 1.")
    lines += _adversarial(tables["Adversarial monitors"], tables.pop("Zones, given time"))
    lines += _group(
        tables["Larger worlds"],
        "larger-worlds",
        "A maze of rooms with 20 × 20 cells, a River Swim of 100 states with γ = 0.995 (initial "
        "values of Monitored MBIE-EB and the known-monitor variant raised to what can be had "
        "there), and 32 experts, of whom one at a time can be asked. Directed-E² needs a table of "
        "all pairs of joint pairs and is left out where that is too large; posterior sampling "
        "takes minutes a run in the maze and with the experts, and is left out there. Budgets are "
        "what the slowest agents allow: with the experts, rivals hardly begin within theirs.",
    )
    lines += _costs(tables)
    lines += _ablations(known["beyond-ablations"])
    lines += _grid(known["beyond-grid"])
    lines += _planning(known["planning_cost"], tables)
    lines += _losses(tables)
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
        "```console",
        "monmdp run beyond-grid        # the best single setting of Monitored MBIE-EB",
        "monmdp run beyond             # all agents on all problems",
        "monmdp run beyond-ablations   # every ingredient switched off in turn",
        "```",
        "",
        "*Steps to 1 %*: the first test from which on the test policy's exact return in M_↓ stays "
        "within 1 % of the minimax value v (of max(1, |v|)); a run that never gets there counts "
        "with its budget, so that its agent's mean is a lower bound (hollow in pictures). Tests "
        "are 100 steps apart, so nothing is measured finer than that. "
        "A setting has the mean over its seeds; over settings, the geometric mean of these means. "
        "γ is 0.99 where nothing else is said. Seeds are paired: all agents meet the same ones.",
        "",
        "**One set of hyper-parameters for everything**, the defaults of `FactoredMBIEEB`. They "
        "were chosen on odd seeds; `beyond` and the ablations report even ones. The grid is "
        "judged on odd ones.",
        "",
        f"This page is written by `make beyond`, from {about['runs']:,} runs of `beyond`, "
        f"{known['beyond-grid']['about']['runs']:,} of the grid and "
        f"{known['beyond-ablations']['about']['runs']:,} of the ablations.",
        "",
    ]


def _targets(targets: list[dict], cost: dict) -> list[str]:
    lines = ["## What was to be reached", "", "| | | measured | |", "|---|---|---|---|"]
    for claim in targets:
        lines.append(f"| **{claim['claim']}** | {claim['text']} | | **{claim['verdict']}** |")
        lines += [
            f"| | {part['text']} | {part['measured']} | {part['verdict']} |"
            for part in claim["parts"]
        ]
    ratios, clock = ([row[key] for row in cost["settings"]] for key in ("ratio", "clock_ratio"))
    cheap = sum(of <= cost["limit"] for of in ratios)
    soon, mean = sum(of < 1 for of in clock), geometric_mean(clock)
    parts = [
        (
            f"a step takes at most {cost['limit']:g} times the time of Monitored MBIE-EB's",
            f"{cheap} of {len(ratios)} settings, at most {max(ratios):.1f} times",
            cheap == len(ratios),
        ),
        (
            "the optimal policy is found in less time",
            f"{mean:.2f} times in the geometric mean; less on {soon} of {len(clock)} settings",
            mean < 1,
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


def _seeds(table: dict) -> list[int]:
    return sorted(
        {s for of in table["settings"] for run in of["agents"].values() for s in run["seeds"]}
    )


def _agents_table(table: dict, n: int) -> list[str]:
    lines = [
        f"| {n} settings | steps to 1 % | ratio to {table['reference']} | settings where "
        f"{table['reference']} is worse | runs that never get there | regret "
        "| steps on the worst reward |",
        "|---|---|---|---|---|---|---|",
    ]
    for of in table["agents"]:
        some = of["settings"]
        only = "" if some == n else f" ({some} setting{'' if some == 1 else 's'})"
        worse = "" if of["ratio"] is None else str(len(of["reference_worse_on"]))
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
    never = [
        f"{of['setting']}, {name}: {_never(run)} of {len(run['seeds'])}"
        for of in table["settings"]
        for name, run in of["agents"].items()
        if name in (OURS, PAPER) and _never(run)
    ]
    if never:
        lines += [f"Seeds that are not within 1 % by the end: {'; '.join(never)}.", ""]
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
        f"Given {ours['budget']:,} steps on {longer['setting']} ({len(ours['seeds'])} seeds), it "
        f"does converge, as the net promises: {_reached(ours)}. Monitored MBIE-EB: "
        f"{_reached(theirs)}. Both are near the optimum long before. But where the monitor moves "
        "at random and each cell is learnt on its own, the noise of transitions that were tried "
        "seldom tips a choice now and then, and each lapse counts as not yet converged. With so "
        "many exceptions every other episode is the net's for good; that costs "
        f"{regret:.2g} times the regret of Monitored MBIE-EB there.",
        "",
    ]


def _reached(run: dict) -> str:
    steps = [of for of in run["steps_to_1pct"] if of is not None]
    n = len(run["seeds"])
    if not steps:
        return f"none of {n} within 1 % for good"
    return (
        f"{len(steps)} of {n} seeds within 1 % for good, after {min(steps):,} to {max(steps):,} "
        f"steps, {np.mean(steps):,.0f} in the mean"
    )


def _costs(tables: dict) -> list[str]:
    lines = [
        "## Regret, and steps on the worst reward",
        "",
        "Regret: what the training episodes lost against the minimax value, with the true rewards. "
        "Steps on the worst reward: training steps that paid the least there is, −10 on Bottleneck "
        "and Hazard; where the least is no loss, none are counted. Means over settings stand in "
        "the tables above; here, the median of the ratio to Monitored MBIE-EB over the settings "
        "where that has any:",
        "",
        "| | regret | steps on the worst reward |",
        "|---|---|---|",
    ]
    for group, table in tables.items():
        cells = []
        for key in ("regret", "worst_steps"):
            ratios = [
                np.mean(of["agents"][OURS][key]) / np.mean(of["agents"][PAPER][key])
                for of in table["settings"]
                if np.mean(of["agents"][PAPER][key]) > 0
            ]
            more = sum(ratio > 1 for ratio in ratios)
            said = f"{np.median(ratios):.2f} times (more on {more} of {len(ratios)})"
            cells.append(said if ratios else "-")
        lines.append(f"| {group} | {' | '.join(cells)} |")
    return [
        *lines,
        "",
        "On Bottleneck nearly all of it is the price of looking. What is never seen there are the "
        "⊥ pairs, whose true reward is −10, and an episode that looks for what was never seen "
        "lingers with them, the net's above all: it is what the guarantee costs (*no net* below). "
        "Posterior sampling and R-max lose less, because they soon cease to look, and less often "
        "find the policy.",
        "",
    ]


def _ablations(known: dict) -> list[str]:
    (table,) = known["tables"]
    n = len(table["settings"])
    return [
        "## Ablations",
        "",
        f"Each ingredient is a switch; here one at a time is off, on {n} Bottleneck settings with "
        f"{len(table['seeds'])} seeds. Without factoring all pairs count as exceptions, so that "
        "every other episode that would optimize is the net's, too. Stopping hardly shows in the "
        "steps: the test policy is optimal before nothing is left to observe for. In regret it "
        "shows, and not in its favour here: episodes that optimize are short, so more episodes "
        "begin, and with them more of the net's.",
        "",
        *_agents_table(table, n),
        "",
        "![What is lost without](beyond/beyond-ablations-bottleneck-ratios.png)",
        "",
    ]


def _grid(known: dict) -> list[str]:
    (table,) = known["tables"]
    agents = sorted(table["agents"], key=lambda of: of["geometric_mean_steps_to_1pct"])
    reference = next(of for of in agents if of["agent"] == table["reference"])
    lines = [
        "## The best single setting of Monitored MBIE-EB",
        "",
        f"All {len(agents)} settings of log base × β × β_KL × growth on the "
        f"{len(table['settings'])} Bottleneck problems, {len(table['seeds'])} odd seeds. β stands "
        f"for β, β_m, β_e and β_obs alike. The {SHOWN_OF_GRID} best, the paper's (number "
        f"{agents.index(reference) + 1}), and the worst:",
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
        "CPU time of training alone, agent against agent in one process "
        "(`benchmarks/planning_cost.py`): a step of Factored MBIE-EB takes "
        f"{geometric_mean(per_step):.2f} times as long as one of Monitored MBIE-EB in the "
        f"geometric mean of {len(rows)} settings, at most {max(per_step):.2f} times. "
        f"More than {cost['limit']:g} times as long: {', '.join(above) or 'none'}. Until the "
        f"policy is optimal it takes {geometric_mean(clock):.2f} times the time; more time: "
        f"{', '.join(later) or 'none'}.",
        "",
        "| setting | Factored MBIE-EB, µs a step | Monitored MBIE-EB | ratio | s to optimal | | "
        "ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = row["microseconds"]
        cells = [
            f"{seconds:.4f}" + (f" ({never} never)" if never else "")
            for seconds, never in zip(row["seconds_to_optimal"], row["never"], strict=True)
        ]
        lines.append(
            f"| {row['setting']} | {ours:.2f} | {theirs:.2f} | {row['ratio']:.2f} "
            f"| {' | '.join(cells)} | {row['clock_ratio']:.2f} |"
        )
    lines += [
        "",
        "Monitored MBIE-EB plans once an episode, Factored MBIE-EB whenever there is news, every "
        "12 steps at most. The ratio is largest where there is news for long because the world is "
        "large, and where the world is so small that a step of Monitored MBIE-EB takes next to "
        "nothing. On River Swim it is counting and weighing that takes the time, not planning: "
        'without plans within episodes and without the net (`planning_cost.py "factored-mbie-eb '
        'replan=0 net=0" --only river-swim`) it is much the same.',
    ]
    cpu = {
        group: [
            next(of for of in table["agents"] if of["agent"] == name)["cpu_seconds_until_converged"]
            for name in (OURS, PAPER)
        ]
        for group, table in tables.items()
    }
    lines += [
        "",
        "CPU seconds until converged, with tests, mean over the settings of a group: "
        + "; ".join(f"{group} {a:.3g} against {b:.3g}" for group, (a, b) in cpu.items())
        + ".",
        "",
    ]
    return lines


def _losses(tables: dict) -> list[str]:
    """Settings where some rival needs fewer steps, beyond chance or not."""
    lines = [
        "## Where it loses",
        "",
        "Settings in which another agent that is not told the monitor needs fewer steps in the "
        "mean; *beyond chance*: with the whole 95 % interval of the paired difference.",
        "",
        "| setting | Factored MBIE-EB | agent | its steps | beyond chance |",
        "|---|---|---|---|---|",
    ]
    sure = {
        (setting, of["agent"])
        for table in tables.values()
        for of in table["agents"]
        for setting in of["reference_worse_on"]
    }
    for table in tables.values():
        for of in table["settings"]:
            ours = _mean(of["agents"][OURS])
            for name, run in of["agents"].items():
                if "known" not in name.lower() and name != OURS and _mean(run) < ours:
                    yes = "yes" if (of["setting"], name) in sure else "no"
                    lines.append(
                        f"| {of['setting']} | {ours:,.0f} | {name} | {_mean(run):,.0f} | {yes} |"
                    )
    known = [
        (of["setting"], _mean(of["agents"][OURS]), _mean(of["agents"][KNOWN]))
        for table in tables.values()
        for of in table["settings"]
        if KNOWN in of["agents"] and _mean(of["agents"][KNOWN]) < _mean(of["agents"][OURS])
    ]
    said = "; ".join(f"{name} {ours:,.0f} against {theirs:,.0f}" for name, ours, theirs in known)
    return [
        *lines,
        "",
        "What costs it steps is a monitor that is not what it assumes. A reward that is shown more "
        "seldom than others looks like ⊥ (`shy`, `patchy`): it is given up, and looked at again "
        "only later. A button that nothing hints at (`decoy`) is found by trying everywhere, and "
        "exceptions are learnt one by one (`zones`): there it can be no better than the net.",
        "",
        "Against the known-monitor variant, which is given what has to be learnt here, it loses "
        + (f"on {len(known)} settings: {said}." if known else "nowhere."),
        "",
    ]


def _least(table: dict) -> list[str]:
    """How many steps a learner needs that relies on nothing it has not seen."""
    lines = [
        "## How much is left",
        "",
        "How few steps could be enough? Take a learner whose test policy relies on no reward that "
        "it has not seen, as that of Factored MBIE-EB does. On Bottleneck every pair of the best "
        "way can be gone round, so such a policy is optimal only once the reward of each pair on "
        "its way was seen; a way within 1 % of the best is a detour and has no fewer pairs. A pair "
        "x takes at least 1/max_y P(shown|x,y) visits in the mean until it is seen, whatever the "
        "learner does, and every step visits one pair. So the sum over the pairs of the best way "
        "is a lower bound on the mean steps. It leaves out finding the goal, going back to a pair "
        "that leads elsewhere, and learning how to make the monitor show. (Of the optimal "
        "policies, that with the fewest pairs among those that prefer actions in some fixed order. "
        "A learner that takes unseen rewards for harmless may be sooner here, and is wrong in a "
        "world where they are not.)",
        "",
        "| setting | lower bound | Factored MBIE-EB | ratio | Monitored MBIE-EB | ratio |",
        "|---|---|---|---|---|---|",
    ]
    ratios = {}
    for of in table["settings"]:
        bound = least_steps(of["setting"])
        ours, theirs = (_mean(of["agents"][name]) for name in (OURS, PAPER))
        ratios[of["setting"]] = ours / bound
        lines.append(
            f"| {of['setting']} | {bound:,.0f} | {ours:,.0f} | {ours / bound:.1f} "
            f"| {theirs:,.0f} | {theirs / bound:.1f} |"
        )
    least = min(ratios, key=lambda name: ratios[name])
    return [
        *lines,
        "",
        f"So at most a factor of {geometric_mean(list(ratios.values())):.0f} is left in the "
        f"geometric mean, and {ratios[least]:.1f} on {least}. Where rewards are always shown the "
        "bound says little: it is below the spacing of tests, and finding the goal takes longer "
        "than seeing it.",
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


def _mean(run: dict) -> float:
    """Mean steps to 1 %, as the tables have them: at least one spacing of tests."""
    steps = [run["budget"] if of is None else max(of, EVERY) for of in run["steps_to_1pct"]]
    return float(np.mean(steps))


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
