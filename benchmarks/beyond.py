"""Write docs/beyond.md from the reports of the suites that go beyond the paper.

    monmdp run beyond-grid --out results
    monmdp run beyond --out results
    monmdp run beyond-ablations --out results
    python benchmarks/planning_cost.py --json results/reports/planning_cost.json
    python benchmarks/beyond.py results

Copies pictures and tables beside it, into docs/beyond/. Every number in the text is read from them
or computed from the problems.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import make, planning
from monmdp.experiment.sessions import SESSIONS, read_sessions
from monmdp.statistics import geometric_mean

DOCS = Path(__file__).parent.parent / "docs"
SUITES = ("beyond", "beyond-grid", "beyond-ablations")
OURS, PAPER, BEST, KNOWN = (
    "Factored MBIE-EB",
    "Monitored MBIE-EB",
    "Monitored MBIE-EB, best",
    "Known Monitor",
)
PICTURES = (
    *(
        f"beyond-{group}-{what}.png"
        for group in ("bottleneck", "48-benchmarks", "adversarial-monitors", "larger-worlds")
        for what in ("steps", "ratios")
    ),
    "beyond-ablations-bottleneck-ratios.png",
)
SHOWN_OF_GRID = 5


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
    lines = [*_head(known), *_targets(known["targets"])]
    lines += _group(
        tables["Bottleneck"],
        "bottleneck",
        "Six monitors, four chances ρ that a reward is shown; 50,000 steps, 30 seeds.",
    )
    lines += _group(
        tables["48 benchmarks"],
        "48-benchmarks",
        "Eight worlds, six monitors, ρ = 1; 20,000 steps, 30 seeds.",
    )
    lines += _adversarial(tables["Adversarial monitors"])
    lines += _group(
        tables["Larger worlds"],
        "larger-worlds",
        "A maze of rooms with 20 × 20 cells, a River Swim of 100 states (γ = 0.995), and 32 "
        "experts, of whom one at a time can be asked; 10 seeds. Tables of all pairs of joint pairs "
        "(Directed-E²), and a draw of all transitions for every episode (posterior sampling), are "
        "out of reach in the largest.",
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
        "variant, Directed-E², and two classical explorers that are pessimistic about rewards they "
        "have not seen: posterior sampling and R-max ([agents.md](agents.md)).",
        "",
        "```console",
        "monmdp run beyond-grid        # the best single setting of Monitored MBIE-EB",
        "monmdp run beyond             # all agents on all problems",
        "monmdp run beyond-ablations   # every ingredient switched off in turn",
        "```",
        "",
        "*Steps to 1 %*: the first test from which on the test policy's exact return in M_↓ stays "
        "within 1 % of the minimax value, tests being 100 steps apart; a run that never gets there "
        "counts with its budget, so that its agent's mean is a lower bound (hollow in pictures). "
        "A setting has the mean over its seeds; over settings, the geometric mean of these means. "
        "The reward of a step is discounted with 0.99 where nothing else is said. Seeds are "
        "paired: all agents meet the same ones.",
        "",
        "**One set of hyper-parameters for everything**, the defaults of `FactoredMBIEEB`. They "
        "were chosen on odd seeds; the suite reports even ones, 0 to 58 (0 to 18 for larger worlds "
        "and ablations). The grid, too, is judged on odd seeds.",
        "",
        f"The numbers of this page are of {about['runs']:,} runs of `beyond`, and are written by "
        "`make beyond`.",
        "",
    ]


def _targets(targets: list[dict]) -> list[str]:
    lines = ["## What was to be reached", "", "| | | measured | |", "|---|---|---|---|"]
    for claim in targets:
        lines.append(f"| **{claim['name']}** | {claim['text']} | | **{claim['verdict']}** |")
        lines += [
            f"| | {part['text']} | {part['measured']} | {part['verdict']} |"
            for part in claim["parts"]
        ]
    return [*lines, ""]


def _group(table: dict, slug: str, text: str) -> list[str]:
    """A group of settings: what was measured in one table, and in pictures."""
    n = len(table["settings"])
    return [
        f"## {table['group']}",
        "",
        text,
        "",
        *_agents_table(table, n),
        "",
        f"![{table['group']}: ratios](beyond/beyond-{slug}-ratios.png)",
        "",
        f"![{table['group']}: every setting](beyond/beyond-{slug}-steps.png)",
        "",
    ]


def _agents_table(table: dict, n: int) -> list[str]:
    lines = [
        f"| {n} settings | steps to 1 % | ratio to {table['reference']} | settings where "
        f"{table['reference']} is worse | runs that never get there | regret "
        "| steps on the worst reward |",
        "|---|---|---|---|---|---|---|",
    ]
    for of in table["agents"]:
        only = "" if of["settings"] == n else f" ({of['settings']} settings)"
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
    estimate, low, high = ratio
    return f"{estimate:.3g}" if low is None else f"{estimate:.3g} [{low:.3g}, {high:.3g}]"


def _adversarial(table: dict) -> list[str]:
    lines = _group(
        table,
        "adversarial-monitors",
        "Each breaks an assumption: `patchy` shows every pair with a chance of its own, `cameras` "
        "are mounted in a few places only, in `zones` the place moves the monitor, `shy` shows "
        "zeros and hides what counts, `decoy` has a monitor action that shows rewards of the wrong "
        "pairs. 50,000 steps, 30 seeds.",
    )
    never = [
        (of["setting"], name, _never(of["agents"][name]))
        for of in table["settings"]
        for name in (OURS, PAPER)
        if _never(of["agents"][name])
    ]
    if never:
        said = "; ".join(
            f"{setting}, {name}: {n} of {len(_run(table, setting, name)['seeds'])}"
            for setting, name, n in never
        )
        lines += [
            "Seeds that do not get to 1 % within the budget: " + said + ". In `zones` the minimax "
            "value is next to 0, so that 1 % of it is next to nothing: all rewards are known after "
            "some thousand steps, and what is left is to tell the chances with which every place "
            "moves the monitor. The factors are no help there, and cells have to be counted one by "
            "one, as Monitored MBIE-EB does; the net does so in every other episode.",
            "",
        ]
    return lines


def _costs(tables: dict) -> list[str]:
    lines = [
        "## Regret, and steps on the worst reward",
        "",
        "Regret: what the training episodes lost against the minimax value, with the true rewards. "
        "Steps on the worst reward: training steps that paid the least there is, -10 on Bottleneck "
        "and Hazard; where the least is no loss, none are counted. Means over settings stand in "
        "the tables above; here, the median over settings of the ratio to Monitored MBIE-EB:",
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
    return [*lines, ""]


def _ablations(known: dict) -> list[str]:
    (table,) = known["tables"]
    n = len(table["settings"])
    return [
        "## Ablations",
        "",
        f"Each ingredient is a switch; here one at a time is off, on the {n} Bottleneck settings, "
        "10 seeds.",
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
        f"{len(table['settings'])} Bottleneck problems, 8 odd seeds. β stands for β, β_m, β_e and "
        f"β_obs alike. The {SHOWN_OF_GRID} best, the paper's (number "
        f"{agents.index(reference) + 1}), and the worst:",
        "",
        "| setting | steps to 1 % | ratio to the paper's | runs that never get there |",
        "|---|---|---|---|",
    ]
    for of in [*agents[:SHOWN_OF_GRID], reference, agents[-1]]:
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
    lines = [
        "## What planning costs",
        "",
        "CPU time of training alone, agent against agent in one process "
        "(`benchmarks/planning_cost.py`): a step of Factored MBIE-EB takes "
        f"{geometric_mean(per_step):.2f} times as long as one of Monitored MBIE-EB in the "
        f"geometric mean of {len(rows)} settings. "
        + (
            f"It takes at most {max(per_step):.2f} times as long."
            if not above
            else f"More than {cost['limit']:g} times as long: {', '.join(above)}."
        )
        + f" Until the policy is optimal it takes {geometric_mean(clock):.2f} times the time.",
        "",
        "| setting | Factored MBIE-EB, µs a step | Monitored MBIE-EB | ratio | s to optimal | | "
        "ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = row["microseconds"]
        mine, others = row["seconds_to_optimal"]
        lines.append(
            f"| {row['setting']} | {ours:.2f} | {theirs:.2f} | {row['ratio']:.2f} "
            f"| {mine:.4f} | {others:.4f} | {row['clock_ratio']:.2f} |"
        )
    if above:
        lines += [
            "",
            "Where Monitored MBIE-EB takes next to nothing, because it plans once in an episode "
            "of hundreds of steps, replanning shows: in a large maze every third step brings "
            "news while it is explored. It is explored in far fewer steps, too.",
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
        "mean:",
        "",
        "| setting | Factored MBIE-EB | agent | its steps |",
        "|---|---|---|---|",
    ]
    for table in tables.values():
        for of in table["settings"]:
            ours = _mean(of["agents"][OURS])
            for name, run in of["agents"].items():
                if "nown" not in name and name != OURS and _mean(run) < ours:
                    lines.append(f"| {of['setting']} | {ours:,.0f} | {name} | {_mean(run):,.0f} |")
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
        "Why: a monitor that breaks the factoring costs the steps in which the agent finds out, "
        "and the share of episodes that the net takes. Where rewards are shown always and "
        "everything can be tried in a few steps there is little to gain. R-max and posterior "
        "sampling are quick where there is nothing to observe.",
        "",
        "Against the known-monitor variant, which is given what has to be learnt here, it loses "
        + (f"on {len(known)} settings: {said}." if known else "nowhere."),
        "",
    ]


def _least(table: dict) -> list[str]:
    """How many steps any learner needs that is right in every world."""
    lines = [
        "## How much is left",
        "",
        "A learner that is right in every world must have seen each reward on the way of its "
        "policy: had it not, a world in which that reward is r_min would look the same to it, and "
        "there the policy is wrong. A pair x takes 1/max_y P(shown|x,y) visits on average until "
        "it is seen, and every step visits one pair. The sum over the pairs that the "
        "minimax-optimal policy takes is a lower bound on the mean number of steps, which leaves "
        "out everything else: finding the goal, the way back to a pair that moves the agent, and "
        "learning how to make the monitor show.",
        "",
        "| setting | lower bound | Factored MBIE-EB | ratio | Monitored MBIE-EB | ratio |",
        "|---|---|---|---|---|---|",
    ]
    ratios = []
    for of in table["settings"]:
        bound = least_steps(of["setting"])
        ours, theirs = (_mean(of["agents"][name]) for name in (OURS, PAPER))
        ratios.append(ours / bound)
        lines.append(
            f"| {of['setting']} | {bound:,.0f} | {ours:,.0f} | {ours / bound:.1f} "
            f"| {theirs:,.0f} | {theirs / bound:.1f} |"
        )
    return [
        *lines,
        "",
        f"So at most a factor of {geometric_mean(ratios):.0f} is left in the geometric mean, "
        f"{min(ratios):.0f} to {max(ratios):.0f}, and least where rewards are shown seldom.",
        "",
    ]


def least_steps(setting: str) -> float:
    """Return the lower bound for a Bottleneck setting, "full-random / ρ = 0.05" for example."""
    words = setting.replace("=", " ").split()
    rho = next(float(word) for word in reversed(words) if word[0].isdigit())
    names = ("full-random", "ask", "n-supporters", "n-experts", "level-up", "button")
    (monitor,) = (name for name in names if name in setting)
    problem = make("bottleneck", monitor, rho=rho)
    n_se, n_sm, n_ae, n_am = problem.shape
    chance = problem.observability().reshape(n_se, n_sm, n_ae, n_am).max(axis=(1, 3))
    pairs = _pairs_on_the_way(problem)
    return float(sum(1 / chance[pair] for pair in pairs if chance[pair] > 0))


def _pairs_on_the_way(problem) -> set[tuple[int, int]]:
    """Environment pairs that the minimax-optimal policy may take."""
    policy = planning.solve(problem).minimax.policy
    _, n_sm, _, n_am = problem.shape
    reached = set(np.flatnonzero(problem.start).tolist())
    waiting, pairs = list(reached), set()
    while waiting:
        s = waiting.pop()
        for a in np.flatnonzero(policy[s])[:1]:  # of several optimal ways, one
            pairs.add((s // n_sm, int(a) // n_am))
            for next_s in _successors(problem, s, int(a)):
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


def _run(table: dict, setting: str, agent: str) -> dict:
    return next(of for of in table["settings"] if of["setting"] == setting)["agents"][agent]


def _mean(run: dict) -> float:
    return float(
        np.mean([run["budget"] if of is None else max(of, 1) for of in run["steps_to_1pct"]])
    )


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
