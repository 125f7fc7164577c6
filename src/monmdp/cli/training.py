"""Commands on agents: train, compare, evaluate, warmup."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monmdp.cli.app import (
    AsJson,
    Words,
    World,
    app,
    make_problem,
    print_table,
    problem_or_names,
    short,
    stoppable,
)
from monmdp.cli.own import Unchecked, check_own
from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.experiment import Comparison, Run, Summary, Task
    from monmdp.model import MonMDP


Steps = Annotated[
    int | None,
    typer.Option(help="Training steps.", show_default="50000 for bottleneck, else 20000"),
]
Seeds = Annotated[int, typer.Option(help="How many seeds: 0, 1, 2, …")]
Evaluation = Annotated[str, typer.Option(help="exact, or monte-carlo as in the paper.")]
Preset = Annotated[
    str, typer.Option(help="paper, or released: the options of the authors' released code.")
]
Jobs = Annotated[int | None, typer.Option(help="Seeds at a time.", show_default="all cores")]
Every = Annotated[int, typer.Option(help="Steps between two tests.")]


@app.command()
def train(
    world: World,
    words: Words = None,
    agent: Annotated[
        str, typer.Option(help="An agent's name, or module:object for one of your own.")
    ] = "factored-mbie-eb",
    steps: Steps = None,
    seeds: Seeds = 30,
    evaluation: Evaluation = "exact",
    preset: Preset = "paper",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the runs.", show_default="a folder of its own in runs/"),
    ] = None,
    jobs: Jobs = None,
    every: Every = 100,
    snapshots: Annotated[
        int, typer.Option(help="Snapshots of the first seed to keep, for monmdp report.")
    ] = 0,
    unchecked: Unchecked = False,
    as_json: AsJson = False,
) -> None:
    """Train an agent: learning curve, end return, seeds and steps to minimax-optimality.

    What is done is kept: killed and started again, the same command does only what is missing.
    """
    from monmdp import drawing, experiment, planning
    from monmdp.experiment.request import default_steps
    from monmdp.experiment.seeds import default_folder, run_file
    from monmdp.experiment.training import snapshots_from_start

    monmdp, monitor, params = problem_or_names(world, words)
    asked = experiment.request(monmdp, monitor, agent, params, preset=preset)
    n_seeds, n_jobs = _checked(steps, seeds, jobs)
    n_steps = default_steps(asked.monmdp) if steps is None else steps
    task = experiment.prepare(
        asked.monmdp,
        asked.agent,
        n_steps,
        evaluation=evaluation,  # type: ignore[arg-type]
        every=every,
        snapshots=snapshots_from_start(snapshots, n_steps),
        snapshot_seed=0,
        made_with=asked.parameters,
    )
    if not unchecked:
        check_own(task, world, monitor, agent)
    folder = default_folder(task.settings) if out is None else out
    there = sum(run_file(folder, seed).exists() for seed in range(n_seeds))
    begin = time.perf_counter()
    runs = _train_seeds(task, n_seeds, n_jobs, folder, shown=not as_json)
    seconds = time.perf_counter() - begin
    solution = planning.solve(asked.monmdp, task.gamma)
    summary = experiment.summarize(runs, solution)
    picture = folder / "curve.png"
    drawing.save(experiment.draw_runs({task.settings["agent"]: runs}, solution), picture)
    if as_json:
        result = dict(task.settings) | summary.to_dict() | {"preset": preset}
        print(json.dumps(result | {"out": str(folder), "seconds": seconds}, indent=2))
    else:
        _print_training(task.settings, asked.of_agent, summary, runs)
        found = f", {there} of them were there already" if there else ""
        print(f"runs                     {folder}  ({seconds:.1f} s{found})")
        print(f"picture                  {picture}")


@app.command()
def compare(
    world: World,
    words: Words = None,
    agents: Annotated[
        str | None,
        typer.Option(
            help="Names with commas between them; parameters of an agent follow it: "
            "factored-mbie-eb,directed-e2,r0=-10. The first one is the reference.",
            show_default="all that are offered for the problem",
        ),
    ] = None,
    steps: Steps = None,
    seeds: Seeds = 30,
    evaluation: Evaluation = "exact",
    preset: Preset = "paper",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the runs and the picture.", show_default="runs/"),
    ] = None,
    jobs: Jobs = None,
    every: Every = 100,
    unchecked: Unchecked = False,
    as_json: AsJson = False,
) -> None:
    """Train several agents with the same seeds and compare them in one table and one picture.

    The first agent is the reference: the last columns say how far the others stay behind it, and
    how likely a run of it is to lie above theirs. What is done is kept, as with train.
    """
    from monmdp import drawing, experiment, planning
    from monmdp.experiment.seeds import default_folder, file_name, own_path

    n_seeds, n_jobs = _checked(steps, seeds, jobs)
    monmdp, monitor, params = problem_or_names(world, words)
    tasks, left_out = _tasks(
        monmdp, monitor, params, agents, steps=steps, evaluation=evaluation, preset=preset,
        every=every,
    )  # fmt: skip
    if not unchecked:
        for label, task in tasks.items():
            check_own(task, world, monitor, label.split()[0])
    begin, runs = time.perf_counter(), {}
    for label, task in tasks.items():
        folder = default_folder(task.settings) if out is None else out / file_name(label)
        runs[label] = _train_seeds(
            task, n_seeds, n_jobs, folder, shown=not as_json, label=f"{label}: "
        )
    seconds = time.perf_counter() - begin
    first = next(iter(tasks.values()))
    solution = planning.solve(first.monmdp, first.gamma)
    table = experiment.compare(runs, solution)
    name = f"compare-{first.settings['world']}-{first.settings['monitor']}"
    picture = own_path(name, [[task.settings for task in tasks.values()], n_seeds])
    picture = picture.with_name(f"{picture.name}.png") if out is None else out / "compare.png"
    drawing.save(experiment.draw_runs(runs, solution), picture)
    if as_json:
        problem = {key: first.settings[key] for key in ("world", "monitor", "problem_parameters")}
        settings = {key: first.settings[key] for key in ("steps", "every", "evaluation", "gamma")}
        result = problem | settings | {"preset": preset} | table.to_dict()
        result |= {"left_out": left_out, "picture": str(picture), "seconds": seconds}
        print(json.dumps(result, indent=2))
    else:
        _print_comparison(first.settings, table)
        for name, reason in left_out.items():
            print(f"left out: {name} ({reason})")
        print(f"picture: {picture}  ({seconds:.1f} s)")


@app.command()
def evaluate(
    policy: Annotated[Path, typer.Argument(help="A policy or a run, .npz.", show_default=False)],
    world: World,
    words: Words = None,
    gamma: Annotated[
        float | None,
        typer.Option(help="Discount, in [0, 1).", show_default="the one it was trained with"),
    ] = None,
    evaluation: Annotated[str, typer.Option(help="exact or monte-carlo.")] = "exact",
    episodes: Annotated[int, typer.Option(help="Episodes that monte-carlo draws.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the drawn episodes.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Evaluate a learnt policy, here or in another world or monitor of the same shape."""
    from monmdp import experiment, planning

    learnt = experiment.Policy.load(policy)
    problem, given = make_problem(world, words)
    gamma = learnt.origin.get("gamma", 0.99) if gamma is None else gamma
    scores = learnt.evaluate(
        problem,
        gamma,
        evaluation=evaluation,  # type: ignore[arg-type]
        episodes=episodes,
        seed=seed,
    )
    best = planning.solve(problem, gamma).episode_return
    if as_json:
        result = scores | {"episode_return_minimax": best, "origin": dict(learnt.origin)}
        print(json.dumps(result, indent=2))
        return
    origin = ", ".join(f"{key} {value}" for key, value in learnt.origin.items())
    print(f"policy                   {policy}" + (f"  ({origin})" if origin else ""))
    with_parameters = "".join(f" {key}={value}" for key, value in given.items())
    print(
        f"evaluated in             {problem.mdp.name} / {problem.monitor.name}{with_parameters}, "
        f"{evaluation}, gamma {gamma:g}"
    )
    for name, value in scores.items():
        print(f"{name.replace('_', ' '):<24} {short(value)}")
    print(f"{'minimax episode return':<24} {short(best)}")


@app.command()
def warmup() -> None:
    """Compile the agents ahead, so that the first training is fast."""
    from monmdp import agents, experiment, make

    problem = make("loop", "ask")
    for name in agents.registry:
        begin = time.perf_counter()
        experiment.train(problem, name, steps=100, evaluation="monte-carlo")
        config = agents.paper_config(name, problem.mdp.name, problem.monitor.name)
        stepwise = agents.make(config.for_training(100), problem)
        stepwise.begin_episode()
        here, action = {"env": 0, "mon": 0}, {"env": 0, "mon": 0}
        stepwise.update(agents.Transition(here, action, None, 0.0, here, terminated=False))
        print(f"{name:<24} {time.perf_counter() - begin:.1f} s")


def _checked(steps: int | None, seeds: int, jobs: int | None) -> tuple[int, int]:
    """Check the numbers that were given; return how many seeds, and how many at a time."""
    from monmdp.experiment.seeds import cores
    from monmdp.model.mdp import whole_number

    if steps is not None:
        whole_number(steps, "--steps", at_least=1)
    n_seeds = whole_number(seeds, "--seeds", at_least=1)
    return n_seeds, cores() if jobs is None else whole_number(jobs, "--jobs", at_least=1)


def _train_seeds(
    task: Task, n_seeds: int, jobs: int, folder: Path, *, shown: bool, label: str = ""
) -> list[Run]:
    """Train, with a progress bar; Ctrl-C leaves what is finished behind."""
    from monmdp.experiment import train_seeds
    from monmdp.experiment.seeds import run_file

    try:
        with stoppable(), _progress_bar(n_seeds, task.steps, shown=shown, label=label) as tell:
            return train_seeds(task, range(n_seeds), jobs=jobs, out=folder, progress=tell)
    except KeyboardInterrupt:
        done = sum(run_file(folder, seed).exists() for seed in range(n_seeds))
        print(
            f"\n{label}interrupted; {done} of {n_seeds} seeds are finished, in {folder}; the same "
            "command goes on from there",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None


def _tasks(
    world: MonMDP | str,
    monitor: str | None,
    params: Mapping[str, str],
    agents: str | None,
    *,
    steps: int | None,
    evaluation: str,
    preset: str,
    every: int,
) -> tuple[dict[str, Task], dict[str, str]]:
    """Check all agents before any of them is trained; return tasks and who was left out, and why.

    Agents that were asked for must fit; of all agents, those that do not are left out.
    """
    from monmdp import experiment
    from monmdp.agents import registry
    from monmdp.experiment.request import default_steps, parse_agents

    chosen = parse_agents(",".join(registry) if agents is None else agents)
    tasks: dict[str, Task] = {}
    left_out: dict[str, str] = {}
    for label, (agent, own) in chosen.items():
        mine = dict(params) | {f"agent.{key}": value for key, value in own.items()}
        asked = experiment.request(world, monitor, agent, mine, preset=preset)
        try:
            tasks[label] = experiment.prepare(
                asked.monmdp,
                asked.agent,
                default_steps(asked.monmdp) if steps is None else steps,
                evaluation=evaluation,  # type: ignore[arg-type]
                every=every,
                # returns are compared, so all agents are tested with one discount
                gamma=next(iter(tasks.values())).gamma if tasks else None,
                made_with=asked.parameters,
            )
        except MonMDPError as error:
            if agents is not None or not tasks:
                raise
            left_out[label] = str(error)
    return tasks, left_out


@contextmanager
def _progress_bar(
    n_seeds: int, n_steps: int, *, shown: bool, label: str = ""
) -> Iterator[Callable[[int, int], None] | None]:
    """A bar over all steps of all seeds on the terminal; yields what to tell it."""
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    done: dict[int, int] = {}
    lock = threading.Lock()
    total = n_seeds * n_steps
    with typer.progressbar(
        length=total, file=sys.stderr, label=f"{label}compiling, if need be"
    ) as bar:

        def tell(seed: int, steps: int) -> None:
            with lock:
                before, done[seed] = done.get(seed, 0), steps
                bar.label = f"{label}{sum(n == n_steps for n in done.values())}/{n_seeds} seeds"
                bar.update(steps - before)

        yield tell


def _problem_of(settings: Mapping[str, Any]) -> str:
    """World and monitor with the parameters that they were given."""
    given = settings["problem_parameters"]
    parameters = "".join(f"  {key.partition('.')[2]}={value}" for key, value in given.items())
    return f"{settings['world']} / {settings['monitor']}{parameters}"


def _print_training(
    settings: Mapping[str, Any], of_agent: Mapping[str, Any], summary: Summary, runs: Sequence[Run]
) -> None:
    from monmdp import drawing
    from monmdp.stats import END

    own = "".join(f" {key}={value}" for key, value in of_agent.items())
    print(f"{_problem_of(settings)}   {settings['agent']}{own}")
    seeds = "1 seed" if summary.seeds == 1 else f"{summary.seeds} seeds"
    print(f"{seeds}, {settings['steps']:,} steps, {settings['evaluation']} evaluation")
    if settings["told_hidden_rewards"]:
        print("an oracle: it is told hidden rewards, as an upper reference")
    print()
    print(f"minimax episode return   {short(summary.episode_return_minimax)}")
    half = ""
    if summary.final_interval is not None:
        low, high = summary.final_interval
        width = (high - low) / 2
        half = f" ± {short(width if width > 1e-12 else 0.0)} (95 % interval over seeds)"
    tests = min(END, len(runs[0].step))
    end = f"{short(summary.final_mean)}{half}"
    print(f"end return               {end}, mean of the last {tests} tests")
    print(
        f"seeds converged          {summary.seeds_converged} of {summary.seeds}  "
        "(minimax-optimal, and stay so)"
    )
    reached = [step for step in summary.steps_to_1pct if step is not None]
    if reached:
        print(
            f"steps to 1 %             median {median(reached):,.0f}, "
            f"from {min(reached):,} to {max(reached):,}"
        )
    last = {name: sum(run.curve[name][-1] for run in runs) / len(runs) for name in runs[0].curve}
    seen = last["rewards_seen"]  # NaN where nothing can be seen
    print(f"observable rewards seen  {'there are none' if isnan(seen) else f'{100 * seen:.4g} %'}")
    print(
        f"episodes                 {last['episodes']:,.0f} a seed, "
        f"{last['observe_episodes']:,.0f} of them to observe"
    )
    mean = sum(run.curve["episode_return"] for run in runs) / len(runs)
    print(f"test return              {drawing.sparkline(mean)}")


def _print_comparison(settings: Mapping[str, Any], table: Comparison) -> None:
    from monmdp.stats import END

    best = table.rows[0].summary.episode_return_minimax
    n = len(table.seeds)
    print(_problem_of(settings))
    print(
        f"{n} {'seed' if n == 1 else 'seeds, the same for all'}, {settings['steps']:,} steps, "
        f"{settings['evaluation']} evaluation with discount {settings['gamma']:g}; minimax episode "
        f"return {short(best)}"
    )
    print()
    heads = ("agent", "end return", "area", "optimal", "steps to 1 %", "behind", "P(improvement)")
    lines = [heads]
    for row in table.rows:
        reached = [step for step in row.summary.steps_to_1pct if step is not None]
        interval, is_reference = row.summary.final_interval, row.agent == table.reference
        half = float("nan") if interval is None else (interval[1] - interval[0]) / 2
        chance = f"{row.improvement:.2f}"
        if row.improvement_interval is not None:
            low, high = row.improvement_interval
            chance += f" [{low:.2f}, {high:.2f}]"
        lines.append(
            (
                row.agent,
                _with_half(row.summary.final_mean, half),
                _with_half(row.area, row.area_half),
                f"{row.summary.seeds_converged}/{n}",
                f"{median(reached):,.0f}" if reached else "-",
                "reference" if is_reference else _with_half(row.behind, row.behind_half),
                "" if is_reference else chance,
            )
        )
    print_table(lines, right=(3, 4))
    print()
    tests = min(END, -(-settings["steps"] // settings["every"]))
    print(textwrap.fill(f"end return: mean of the last {tests} tests. {LEGEND}", 100))


LEGEND = (
    "area: mean of all tests. ±: 95 % interval over seeds. "
    "optimal: seeds whose test policy becomes minimax-optimal, within 1 %, and stays so. steps to "
    "1 %: their median. behind: area of the reference minus the agent's, seed by seed (negative: "
    "ahead). "
    "P(improvement): chance that a run of the reference has a larger area than one of the agent."
)


def _with_half(value: float, half: float) -> str:
    """A mean with half of its interval, if there is one."""
    return f"{value:.4g}" + ("" if isnan(half) else f" ± {half if half > 1e-12 else 0.0:.3g}")
