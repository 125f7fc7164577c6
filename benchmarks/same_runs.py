"""Does today's code still make the published runs? A sample of them is done again and compared.

    python benchmarks/same_runs.py            # or: make same

Of every configuration that docs/results.md, docs/beyond.md and bench-v1 rest on, the first two
seeds are run again, and of docs/deep-v1.md the first (of control, with asking only) and the best of
the settings that were tried. What is published of each of these runs must come out the same to the
last bit: ends, first tests, areas, regret, steps with the worst reward, steps to 1 %, scores,
shares of late tests, steps paid. A suite made by this very code is passed over. (beyond-grid and
beyond-ablations publish sums over seeds only and cannot be compared; their agents are in the other
suites.)

If all is the same, docs/kernels.json gets the hash of today's code beside the earlier ones, agent
by agent, and tests/docs/test_published.py accepts published runs that this list leads up to today.
So a change that only moves or renames code does not make hours of runs stale. If anything differs
the list stays as it is and the exit code is 1: run `make results`, `make beyond` and `make deep`.
With `--only` what is on record is not touched, but for all of the deep agents at once:
`--only deep-v1 deep-coarse control tuning`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import control
import deep_tuning
from deep import late_runs, panels_of, todays_code
from monmdp import agents
from monmdp.experiment.provenance import todays_kernel
from monmdp.experiment.training import Run
from monmdp.files import write_whole
from monmdp.results.benchmarking import BENCH, published, scored
from monmdp.results.evidence import Aggregate, Evidence, gather, load
from monmdp.results.figures import label, panel_title
from monmdp.results.runner import execute
from monmdp.results.steps import steps_tables
from monmdp.suites import Plan, Suite, bundled_suite, expand, paper_suite
from monmdp.suites import load as load_suite

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "docs" / "kernels.json"
SEEDS = 2
BEYOND = ("beyond",)
CONTROL, TUNING = "control", "tuning"
DEEP = {"deep-v1", "deep-coarse", CONTROL, TUNING}


def main() -> None:
    """Run the sample, compare, and put today's hashes on record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="names of figures or suites")
    parser.add_argument("--dry-run", action="store_true", help="compare, but record nothing")
    args = parser.parse_args()
    begin, compared, differing = time.monotonic(), 0, []
    then: dict[str, set[str]] = {}
    for name in ("paper", "released", "findings"):
        before = load(ROOT / "docs" / "results" / f"{name}.parquet")
        for figure in before.figures:
            if not list(figure.curves()) or (args.only and figure.name not in args.only):
                continue
            plan, now = done(_suite(figure.name), figure.preset)
            pairs = zip(figure.panels(), plan.figure.panels(), strict=True)
            for old_panel, panel in pairs:
                for curve in panel.curves:
                    old = next(c for c in old_panel.curves if c.label == curve.label)
                    was, found = before.aggregates[old.configuration], now.of(curve)
                    assert found is not None
                    compared += SEEDS
                    wrong = differences(f"{name}: {curve.configuration}", was, found)
                    differing += wrong
                    print("\n".join(wrong), end="\n" * bool(wrong), file=sys.stderr, flush=True)
                    then.setdefault(found.settings["agent"], set()).update(was.kernels)
    for name in BEYOND:
        if args.only and name not in args.only:
            continue
        published = json.loads((ROOT / "docs" / "beyond" / f"{name}.json").read_text("utf-8"))
        if all(hashes == [_today(of)] for of, hashes in published["about"]["kernels"].items()):
            continue  # made by this very code
        plan, now = done(bundled_suite(name), "paper")
        tables = [table.to_dict() for table in steps_tables(plan.figure, now)]
        n, found = compare_tables(name, published["tables"], tables)
        compared, differing = compared + n, differing + found
        for agent, hashes in published["about"]["kernels"].items():
            then.setdefault(agent, set()).update(hashes)
    if not args.only or BENCH in args.only:
        n, found, hashes_of = same_scores()
        compared, differing = compared + n, differing + found
        for agent, hashes in hashes_of.items():
            then.setdefault(agent, set()).update(hashes)
    for name in sorted(DEEP):
        if not args.only or name in args.only:
            others = {CONTROL: same_control, TUNING: same_tuning}
            n, found, hashes_of = others[name]() if name in others else same_late_tests(name)
            compared, differing = compared + n, differing + found
            for agent, hashes in hashes_of.items():
                then.setdefault(agent, set()).update(hashes)
    for line in differing:
        print(f"DIFFERENT  {line}")
    seconds = time.monotonic() - begin
    print(f"{compared - len(differing)} of {compared} runs are the same, in {seconds:.0f} s")
    if differing:
        sys.exit(1)
    if not args.dry_run and (not args.only or set(args.only) == DEEP):
        record(then, compared)


def _suite(name: str) -> Suite:
    if name == "findings":
        return load_suite(ROOT / "benchmarks" / "findings.toml")
    return paper_suite(name)


def done(suite: Suite, preset: str) -> tuple[Plan, Evidence]:
    """Run a suite with its first seeds, keeping nothing on disk."""
    plan = expand(suite.adapted(seeds=SEEDS), preset)
    return plan, gather([plan], reader_of_new(plan), {})


def reader_of_new(plan: Plan) -> Callable[[str, int], Run | None]:
    """Do the runs of a plan; return what reads one of them."""
    outcome = execute(None, plan.runs())
    if outcome.failures:
        sys.exit(f"{plan.figure.name}: {next(iter(outcome.failures.items()))}")
    print(f"{plan.figure.name}: {len(outcome.runs)} runs", file=sys.stderr, flush=True)
    return lambda name, seed: outcome.runs.get((name, seed))


def same_scores() -> tuple[int, list[str], dict[str, set[str]]]:
    """Do the runs of the benchmark again; return their number, what differs, and old hashes."""
    was = {(row.setting, row.agent, row.seed): row for row in published().rows}
    if all(row.kernel == _today(row.agent) for row in was.values()):
        return 0, [], {}  # made by this very code
    plan = expand(bundled_suite(BENCH).adapted(seeds=SEEDS))
    read = reader_of_new(plan)
    wrong, then = [], dict[str, set[str]]()
    now = scored(plan, gather([plan], read, {}), read)
    for row in now.rows:
        old = was[row.setting, row.agent, row.seed]
        if replace(old, kernel=row.kernel, version=row.version) != row:
            wrong.append(f"{BENCH}: {row.setting}, {row.agent}, seed {row.seed}")
        then.setdefault(row.agent, set()).add(old.kernel)
    return len(now.rows), wrong, then


def same_late_tests(name: str) -> tuple[int, list[str], dict[str, set[str]]]:
    """Do runs of deep agents again; return their number, what differs, and old hashes."""
    published = json.loads((ROOT / "docs" / "deep" / f"{name}.json").read_text("utf-8"))
    then = {agent: set(code) for agent, code in published["about"]["code"].items()}
    if all(hashes == {_today(agent)} for agent, hashes in then.items()):
        return 0, [], {}  # made by this very code
    suite = bundled_suite(name).adapted(seeds=1)
    plan = expand(suite)
    was = by_run(published["settings"])
    wanted = {
        (panel_title(panel), label(curve), seed)
        for panel in panels_of(plan.figure)
        for curve in panel.curves
        for seed in suite.seeds
    }
    if unknown := sorted(wanted - was.keys()):
        return len(unknown), [f"{name}: {of} is not published" for of in unknown], then
    read: Any = reader_of_new(plan)
    now = by_run(late_runs(gather([plan], read, {}), read, suite.gamma))
    return len(now), [f"{name}: {key}" for key, run in now.items() if was[key] != run], then


def by_run(settings: dict[str, Any]) -> dict[tuple[str, str, int], Any]:
    """(setting, agent, seed) -> what is measured of a run."""
    return {
        (setting, agent, run["seed"]): run
        for setting, of_agents in settings.items()
        for agent, runs in of_agents.items()
        for run in runs
    }


def same_control() -> tuple[int, list[str], dict[str, set[str]]]:
    """Do the first run of each deep agent on each problem with asking again, likewise."""
    published = json.loads(control.WRITTEN.read_text("utf-8"))
    then: dict[str, set[str]] = {}
    for run in published:
        then.setdefault(run["agent"], set()).add(run["made"]["code"])
    if all(hashes == {_today(agent)} for agent, hashes in then.items()):
        return 0, [], {}  # made by this very code
    was = {(run["problem"], run["agent"], run["seed"]): run for run in published}
    tried = json.loads(control.TRIED.read_text("utf-8"))
    wanted = [
        (f"{name}/{control.TUNED_WITH}", agent, control.FIRST_SEED)
        for name in control.NAMES
        for agent in tried
    ]
    if unknown := [of for of in wanted if of not in was]:
        return len(unknown), [f"control: {of} is not published" for of in unknown], then
    sample = [was[of] for of in wanted]
    at_work = joblib.Parallel(n_jobs=2)
    again = at_work(
        joblib.delayed(control.train)(
            run["problem"], run["agent"], run["seed"], run["made"]["settings"]
        )
        for run in sample
    )
    wrong = [
        f"control: {old['problem']}, {old['agent']}"
        for old, new in zip(sample, again, strict=True)
        if any(old[of] != new[of] for of in ("tests", "paid", "shown"))
    ]
    return len(sample), wrong, then


def same_tuning() -> tuple[int, list[str], dict[str, set[str]]]:
    """Try the best settings of deep agents again, for deep-v1 and for control, likewise."""
    suite, of_control = (
        json.loads(path.read_text("utf-8")) for path in (deep_tuning.WRITTEN, control.CHOSEN)
    )
    then = {agent: {suite["code"][agent], of_control["code"][agent]} for agent in suite["code"]}
    tables = [(None, suite["code"], suite["tried"])]
    tables += [(env, of_control["code"], tried) for env, tried in of_control["tried"].items()]
    best = [
        (env, agent, of[0])
        for env, code, tried in tables
        for agent, of in tried.items()
        if code[agent] != _today(agent)
    ]
    again = joblib.Parallel(n_jobs=2)(joblib.delayed(tried_again)(*of) for of in best)
    pairs = zip(best, again, strict=True)
    wrong = [f"{TUNING}: {of[0] or 'deep-v1'}, {of[1]}" for of, now in pairs if of[2] != now]
    return len(best), wrong, then


def tried_again(env: str | None, agent: str, was: dict[str, Any]) -> dict[str, Any]:
    """Try a setting again, in an environment of control or as for deep-v1; return what came out."""
    params = was["params"]
    if env is None:
        runs = [deep_tuning.trial(agent, params, *trial) for trial in deep_tuning.TRIALS]
        return deep_tuning.ranked(runs, {agent: [params]})[agent][0]
    problem = f"{env}/{control.TUNED_WITH}"
    runs = [control.train(problem, agent, seed, params) for seed in control.TUNED_ON]
    return control.ranked(runs, {agent: [params]})[agent][0]


def differences(name: str, was: Aggregate, now: Aggregate) -> list[str]:
    """Compare what is kept of each seed, to the bit."""
    at = [was.seeds.index(seed) for seed in now.seeds]
    columns = {
        key: (getattr(was, key)[at], getattr(now, key))
        for key in ("area", "exact_end", "steps_to_optimal", "optimal", "regret", "worst_steps")
    }
    for kind in ("end", "first"):
        of_now = getattr(now, kind)
        columns |= {
            f"{kind} {score}": (getattr(was, kind)[score][at], of_now[score]) for score in of_now
        }
    wrong = [key for key, (a, b) in columns.items() if not np.array_equal(a, b, equal_nan=True)]
    if was.minimax != now.minimax:
        wrong.append(f"minimax {was.minimax} {now.minimax}")
    return [f"{name}: {', '.join(wrong)}"] if wrong else []


def compare_tables(name: str, was: list[Any], now: list[Any]) -> tuple[int, list[str]]:
    """Compare the tables of steps, seed by seed."""
    compared, wrong = 0, []
    old = {
        (table["group"], setting["setting"], agent): of
        for table in was
        for setting in table["settings"]
        for agent, of in setting["agents"].items()
    }
    for table in now:
        for setting in table["settings"]:
            for agent, of in setting["agents"].items():
                key = table["group"], setting["setting"], agent
                before = old[key]
                at = [before["seeds"].index(seed) for seed in of["seeds"]]
                compared += len(at)
                for column in ("steps_to_1pct", "regret", "worst_steps"):
                    if [before[column][i] for i in at] != of[column]:
                        wrong.append(f"{name}: {' / '.join(key)}: {column}")
    return compared, wrong


def _today(agent: str) -> str | None:
    """Return the hash of today's code of an agent."""
    if agent in agents.DEEP:
        return todays_code(agent)
    config = agents.paper_config(agent, "bottleneck", "ask")
    return todays_kernel({"agent": agent, "parameters": config.hyper_parameters()})


def record(then: dict[str, set[str]], compared: int) -> None:
    """Put the hash of today's code behind the earlier ones."""
    known = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    for agent, hashes in sorted(then.items()):
        today = _today(agent)
        chain = [*known.get(agent, []), *sorted(hashes)]
        known[agent] = [of for of in dict.fromkeys(chain) if of != today] + [today]
    text = json.dumps(known, indent=2) + "\n"
    write_whole(RECORD, lambda file: file.write(text.encode()))
    print(f"{RECORD}: {len(then)} agents, {compared} runs compared")


if __name__ == "__main__":
    main()
