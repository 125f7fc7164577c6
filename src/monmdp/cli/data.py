"""Commands on logs: fit, decide, log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from monmdp.cli.app import (
    AsJson,
    Words,
    World,
    app,
    make_problem,
    print_facts,
    print_json,
    saying_what_takes_long,
    short,
    writable,
)
from monmdp.errors import MonMDPError, nearest

if TYPE_CHECKING:
    from monmdp.model import FittedMonMDP
    from monmdp.planning import Decision

OPTIONAL = ("next_state", "done", "episode")
"""columns that a log may be without"""
MOST_LINES = 10
"""of pairs never seen, and of where more data would help"""
MOST_STATES = 40
"""of a policy"""


@app.command()
def fit(
    log: Annotated[
        Path, Argument(help="The log: a .parquet, .csv or .tsv file.", show_default=False)
    ],
    state: Annotated[str, Option(help="Column of the states.")] = "state",
    action: Annotated[str, Option(help="Column of the actions.")] = "action",
    reward: Annotated[str, Option(help="Column of the rewards, empty if not shown.")] = "reward",
    next_state: Annotated[str, Option(help="Column of the next states.")] = "next_state",
    done: Annotated[str, Option(help="Column: whether the episode ended there.")] = "done",
    episode: Annotated[str, Option(help="Column that tells episodes apart.")] = "episode",
    without: Annotated[
        list[str] | None,
        Option(help="A column that the log lacks: next_state, done or episode; may be repeated."),
    ] = None,
    monitor_state: Annotated[str | None, Option(help="Column of the monitor's states.")] = None,
    monitor_action: Annotated[str | None, Option(help="Column of its actions.")] = None,
    monitor_reward: Annotated[str | None, Option(help="Column of its rewards.")] = None,
    monitor: Annotated[
        bool,
        Option("--monitor", help="Short for the columns monitor_state, _action and _reward."),
    ] = False,
    missing: Annotated[
        str, Option(help="What is assumed of rewards not shown: random, or worst (r_min).")
    ] = "random",
    untried: Annotated[
        str, Option(help="What is assumed of pairs never tried: worst, or forbidden.")
    ] = "worst",
    r_min: Annotated[
        float | None, Option(help="Lowest reward.", show_default="the lowest shown")
    ] = None,
    r_max: Annotated[
        float | None, Option(help="Highest reward.", show_default="the highest shown")
    ] = None,
    start: Annotated[
        str | None, Option(help="State in which all episodes begin.", show_default="the log's")
    ] = None,
    time_limit: Annotated[
        int | None, Option(help="Steps of an episode.", show_default="those of the longest")
    ] = None,
    out: Annotated[Path, Option("--out", "-o", help="The .npz file to write.")] = Path(
        "problem.npz"
    ),
    as_json: AsJson = False,
) -> None:
    """Make a problem of a log with missing rewards, and say what is in it and what is not."""
    from monmdp import worlds

    writable(out, "--out", ".npz")
    columns: dict[str, str | None] = {"next_state": next_state, "done": done, "episode": episode}
    for name in without or []:
        if name not in OPTIONAL:
            raise MonMDPError(f"--without {name}{nearest(name, OPTIONAL)}")
        columns[name] = None
    if monitor:
        monitor_state = monitor_state or "monitor_state"
        monitor_action = monitor_action or "monitor_action"
        monitor_reward = monitor_reward or "monitor_reward"
    with saying_what_takes_long(f"reading {log}"):
        problem = worlds.from_log(
            log,
            state=state,
            action=action,
            reward=reward,
            **columns,
            monitor_state=monitor_state,
            monitor_action=monitor_action,
            monitor_reward=monitor_reward,
            missing=missing,  # type: ignore[arg-type]
            untried=untried,  # type: ignore[arg-type]
            r_min=r_min,
            r_max=r_max,
            start=start,
            time_limit="longest" if time_limit is None else time_limit,
        )
        problem.save(out)
    if as_json:
        print_json(
            problem.coverage._asdict()
            | {
                "missing": missing,
                "untried": untried,
                "r_min": problem.mdp.r_min,
                "r_max": problem.mdp.r_max,
                "time_limit": problem.mdp.time_limit,
                "never_seen_pairs": _named(problem),
                "table": _pairs(problem),
                "remarks": list(problem.evidence.remarks),
                "out": str(out),
            }
        )
        return
    _print_fit(problem)
    print(f"\n{out}: monmdp decide {out}, or solve, train, instrument")


@app.command()
def decide(
    problem: Annotated[
        Path, Argument(help="The .npz file that `monmdp fit` wrote.", show_default=False)
    ],
    delta: Annotated[
        float, Option(help="The chance that the guarantees are wrong, at most.")
    ] = 0.05,
    gamma: Annotated[float, Option(help="Discount, below 1.")] = 0.99,
    thin: Annotated[
        int, Option(help="Rows that must show a reward before the safe policy chooses by it.")
    ] = 20,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Write the recommended policy to this .npz file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose a policy by a log, with a guarantee, beside what the log itself did."""
    from monmdp import planning
    from monmdp.experiment import Policy
    from monmdp.model import MonMDP

    if out is not None:
        writable(out, "--out", ".npz")
        if out.resolve() == problem.resolve():
            raise MonMDPError(f"--out {out}: the policy would take the place of the problem")
    with saying_what_takes_long(f"reading {problem}"):
        fitted = MonMDP.load(problem)
    with saying_what_takes_long("deciding") as show:
        decision = planning.decide(fitted, gamma, delta=delta, thin=thin, tell=show)
    if out is not None:
        origin = {"world": fitted.mdp.name, "policy": decision.recommended.name, "gamma": gamma}
        Policy(fitted.shape, decision.recommended.policy, origin, fitted.names).save(out)
    if as_json:
        print_json(decision.to_dict() | {"out": None if out is None else str(out)})
        return
    _print_decision(decision)
    if out is not None:
        print(f"\npolicy: {out}")


@app.command("log")
def draw(
    world: World,
    words: Words = None,
    rows: Annotated[int | None, Option(help="Rows to draw.", show_default="10000")] = None,
    episodes: Annotated[int | None, Option(help="Or episodes to draw.")] = None,
    policy: Annotated[
        Path | None,
        Option(help="A policy, .npz, or a run, .parquet.", show_default="the uniform policy"),
    ] = None,
    seed: Annotated[int, Option(help="Of the random stream.")] = 0,
    out: Annotated[Path, Option("--out", "-o", help="The .parquet or .csv file to write.")] = Path(
        "log.parquet"
    ),
) -> None:
    """Draw a log with missing rewards from a problem, to try `fit` and `decide` on."""
    from monmdp.experiment import Policy, draw_log
    from monmdp.files import write_whole
    from monmdp.results import load_policy

    writable(out, "--out", ".parquet", ".csv")
    if rows is None and episodes is None:
        rows = 10_000
    problem, _ = make_problem(world, words)
    followed = (
        Policy.uniform(problem) if policy is None else load_policy(policy).carried_over(problem)
    )
    with saying_what_takes_long("drawing"):
        frame = draw_log(problem, followed, rows=rows, episodes=episodes, seed=seed)
        if out.suffix.lower() == ".csv":
            write_whole(out, lambda file: frame.to_csv(file, index=False))
        else:
            write_whole(out, lambda file: frame.to_parquet(file, index=False))
    shown = float(frame["reward"].notna().mean())
    print(f"{out}: {len(frame):,} rows, {shown:.1%} of them show their reward")


def _pairs(problem: FittedMonMDP) -> list[dict[str, Any]]:
    """All pairs with their rows, how often they are shown, and the mean of what is."""
    records = problem.pairs().to_dict("records")
    return [{key: None if of != of else of for key, of in row.items()} for row in records]


def _named(problem: FittedMonMDP) -> list[dict[str, Any]]:
    """Pairs that were tried, and whose reward no row shows; those tried most come first."""
    import numpy as np

    mdp, tried = problem.mdp, problem.evidence.tried
    pairs = np.argwhere(problem.never_seen)
    order = np.argsort(-tried[tuple(pairs.T)], kind="stable")
    return [
        {"state": mdp.state_labels[s], "action": mdp.action_labels[a], "rows": int(tried[s, a])}
        for s, a in pairs[order]
    ]


def _print_fit(problem: FittedMonMDP) -> None:
    from monmdp.escaping import printable
    from monmdp.tables import plural

    found, mdp, evidence = problem.coverage, problem.mdp, problem.evidence
    limit = "none" if mdp.time_limit is None else plural(mdp.time_limit, "step")
    assumed = {
        "random": "as those shown, pair by pair (--missing random)",
        "worst": f"all r_min = {mdp.r_min:g} (--missing worst)",
    }
    facts = {
        "rows": f"{found.rows:,}  in {plural(found.episodes, 'episode')}",
        "states, actions": f"{found.states:,}, {found.actions:,}",
        "pairs tried": f"{found.tried:,} of {found.pairs:,}",
        "never tried": f"{found.never_tried:,}  ({evidence.untried})",
        "never seen": f"{found.never_seen:,} of those tried: no row shows their reward",
        "rewards shown": f"{found.shown:.1%} of the rows",
        "those not shown": assumed[evidence.missing],
        "rewards between": f"{mdp.r_min:g} and {mdp.r_max:g}",
        "time limit": limit,
        "new outcomes": f"about {found.once:.2%} of further rows would have one",
    }
    monitor = problem.monitor
    if monitor.n_states * monitor.n_actions > 1:
        facts["monitor"] = (
            f"{plural(monitor.n_states, 'state')}, {plural(monitor.n_actions, 'action')}, "
            f"{plural(len(monitor.transition), 'transition table')}"
        )
    print(printable(f"{mdp.name}\n"))
    print_facts(facts)
    unseen = _named(problem)
    if unseen:
        print("\nnever seen, those tried most first:")
        for of in unseen[:MOST_LINES]:
            print(printable(f"  {of['state']}  {of['action']}  ({plural(of['rows'], 'row')})"))
        if len(unseen) > MOST_LINES:
            print(f"  … and {len(unseen) - MOST_LINES:,} more (all of them with --json)")
    if evidence.remarks:
        print()
    for remark in evidence.remarks:
        print(printable(f"note: {remark}"))


def _print_decision(decision: Decision) -> None:
    from monmdp.escaping import printable
    from monmdp.tables import Column, Table, plural

    problem = decision.problem
    mdp, best = problem.mdp, decision.recommended
    rows = plural(problem.evidence.rows, "row")
    how = f"values from the start, for ever, gamma {decision.gamma:g}"
    print(printable(f"{mdp.name}: {rows}; {how}\n"))
    candidates = (decision.robust, decision.safe, decision.logged)
    print(decision.table())
    print(f"\nrecommended: {best.name}")
    sure = f"with {1 - decision.delta:.4g} confidence"
    if decision.says_nothing:
        print(
            "the guarantee says nothing: it is hardly higher than the estimate of the worst policy"
        )
    elif decision.certified:
        print(f"certified, {sure}, to be worth no less than the log's policy is estimated to be")
    else:
        less = short(decision.logged_at_most - best.lower_bound)
        if decision.logged_at_most > best.lower_bound:
            print(f"the guarantee, {sure}, is {less} below the estimate of what the log did")
        else:
            print("not certified: `fit` was not told the bounds of rewards (--r-min, --r-max)")
    if decision.logged_at_most > decision.logged.estimate + 1e-9:
        print(
            f"rewards never seen count as r_min = {mdp.r_min:g}; if they all pay r_max, the log's "
            f"policy is worth {short(decision.logged_at_most)}"
        )
    print(
        "guarantees: rectangular intervals of chances and betting bounds of mean rewards, which "
        f"together fail in at most {decision.delta:g} of all logs"
    )
    if not all(of.converged for of in candidates):
        print("note: more sweeps would raise the guarantees; they hold as they are")
    print()
    print("\n".join(_policy_lines(decision)))
    if decision.needs:
        lost = best.estimate - best.lower_bound
        print(f"\nwhere more data would raise the guarantee most, of {short(lost)} that it lacks:")
        heads = (Column("lost", form=""), Column("rows", form=",.0f"), Column("shown", form=",.0f"))
        lines = [
            (
                of.lost,
                of.rows,
                of.shown,
                f"{mdp.state_labels[of.state]}  {mdp.action_labels[of.action]}",
            )
            for of in decision.needs[:MOST_LINES]
        ]
        print(Table.of((*heads, "pair"), lines))
        if decision.lost_at_start > 1e-6 * abs(lost):
            print(f"not knowing exactly where episodes begin takes {short(decision.lost_at_start)}")
    hidden = int(problem.never_seen.sum())
    if hidden:
        print(
            f"\n{plural(hidden, 'pair')} tried and never seen: `monmdp instrument` tells which are "
            "worth seeing"
        )
    if problem.evidence.remarks:
        print()
    for remark in problem.evidence.remarks:
        print(printable(f"note: {remark}"))


def _policy_lines(decision: Decision) -> list[str]:
    """The recommended policy, states that the log was in most often first."""
    import numpy as np

    from monmdp.escaping import printable

    problem = decision.problem
    mdp, monitor, taken = problem.mdp, problem.monitor, problem.evidence.taken
    n_am = monitor.n_actions
    visits = taken.sum(axis=(2, 3)).reshape(-1)
    order = [int(s) for s in np.argsort(-visits, kind="stable") if visits[s] > 0]
    width = max(
        (len(mdp.state_labels[s // monitor.n_states]) for s in order[:MOST_STATES]), default=0
    )
    lines = [f"what to do, in the {min(len(order), MOST_STATES)} states met most often"
             if len(order) > MOST_STATES else "what to do:"]  # fmt: skip
    for s in order[:MOST_STATES]:
        se, sm = divmod(s, monitor.n_states)
        chances = decision.recommended.policy[s]
        top = [int(a) for a in np.argsort(-chances, kind="stable")[:3] if chances[a] >= 0.005]
        said = []
        for a in top:
            ae, am = divmod(a, n_am)
            of_monitor = f"/{monitor.actions[am]}" if n_am > 1 else ""
            share = "" if chances[a] > 0.995 else f" {chances[a]:.0%}"
            said.append(f"{mdp.action_labels[ae]}{of_monitor}{share}")
        usual = int(taken[se, sm].argmax())
        was = "" if not top or top[0] == usual else _usual(problem, usual)
        where = f" {monitor.states[sm]}" if monitor.n_states > 1 else ""
        lines.append(printable(f"  {mdp.state_labels[se]:<{width}}{where}  {', '.join(said)}{was}"))
    if len(order) > MOST_STATES:
        lines.append(f"  … and {len(order) - MOST_STATES:,} more states (all of them with --json)")
    return lines


def _usual(problem: FittedMonMDP, action: int) -> str:
    ae, am = divmod(action, problem.monitor.n_actions)
    of_monitor = f"/{problem.monitor.actions[am]}" if problem.monitor.n_actions > 1 else ""
    return f"   (the log mostly {problem.mdp.action_labels[ae]}{of_monitor})"
