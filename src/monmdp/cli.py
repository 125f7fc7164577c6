"""The command line: parsing and printing only.

Everything heavy is imported inside the commands, so that ``monmdp --help`` answers at once.
"""

from __future__ import annotations

import io
import json
import signal
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

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.experiment import Run, Summary
    from monmdp.model import MonMDP
    from monmdp.planning import Solution, WhatIf

app = typer.Typer(
    name="monmdp",
    help="Monitored MDPs: reinforcement learning when the reward is only sometimes visible.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

World = Annotated[
    str,
    typer.Argument(
        help="A world's name, a map file, module:object, gymnasium:FrozenLake-v1, a .npz problem.",
        show_default=False,
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MONITOR [KEY=VALUE]...",
        help="A monitor's name or module:object, then parameters such as rho=0.05.",
        show_default=False,
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of the world.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def main() -> None:
    """Run the command line; errors that concern the user become one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ⊥ still gets the rest
    try:
        app()
    except MonMDPError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import monmdp

        print(f"monmdp {monmdp.__version__}")
        raise typer.Exit


@app.command("list")
def list_names(as_json: AsJson = False) -> None:
    """List worlds, monitors and agents with their parameters and defaults."""
    from monmdp import agents, monitors, worlds
    from monmdp.naming import Registry, scope_of

    registries: dict[str, Registry[Any]] = {
        "worlds": worlds.registry,
        "monitors": monitors.registry,
        "agents": agents.registry,
    }
    sections = {
        kind: {
            name: {
                "parameters": [
                    str(p) for p in scope_of(registry.factory(name), name).parameters.values()
                ],
                "about": _first_line(registry.factory(name)),
            }
            for name in registry
        }
        for kind, registry in registries.items()
    }
    for name, entry in sections["worlds"].items():
        mdp = worlds.make(name)
        entry["about"] = f"{mdp.n_states} states, {mdp.n_actions} actions"
    if as_json:
        print(json.dumps(sections, indent=2))
        return
    for kind, entries in sections.items():
        print(f"{kind}:")
        before: Sequence[str] = []
        for name, entry in entries.items():
            print(f"  {name:<18} {entry['about']}")
            if entry["parameters"] != before:
                indent = " " * 23
                text = "  ".join(entry["parameters"])
                print(textwrap.fill(text, 100, initial_indent=indent, subsequent_indent=indent))
            before = entry["parameters"]
        print()
    print("A world can also be a map file (path/to/map.txt), module:object, or gymnasium:ENV-ID;")
    print(
        "a monitor or an agent can also be module:object. Parameters are written key=value; where"
    )
    print("a key is ambiguous, world.key=value, monitor.key=value or agent.key=value.")


@app.command()
def show(
    world: World,
    assignments: Assignments = None,
    png: Annotated[Path | None, typer.Option(help="Write a picture to this file.")] = None,
) -> None:
    """Draw a world in the terminal, or as a picture with --png."""
    from monmdp import drawing, worlds
    from monmdp.naming import parse_assignments

    params = parse_assignments(assignments or [])
    if _is_problem(world):
        if params:
            raise MonMDPError(f"{world} is a finished problem; it takes no parameters")
        mdp = load(world).mdp
    else:
        mdp = worlds.make(world, **_unprefixed(params))
    print(drawing.world_text(mdp))
    if png is not None:
        drawing.save(drawing.draw_world(mdp, title=mdp.name), png)
        print(f"picture: {png}")


@app.command()
def solve(
    world: World,
    words: Words = None,
    gamma: Annotated[float, typer.Option(help="Discount, in [0, 1).")] = 0.99,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if", help="For each never-observable pair: what would seeing it gain?"
        ),
    ] = False,
    pair: Annotated[
        list[str] | None,
        typer.Option(help="With --what-if: only this pair, STATE:ACTION; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve exactly: what can be seen, the minimax-optimal policy, what not seeing costs."""
    from monmdp import planning
    from monmdp.planning.policy_iteration import checked_gamma

    checked_gamma(gamma)
    problem, params = _problem(world, words)
    pairs = [problem.mdp.parse_pair(text, "--pair") for text in pair or []]
    if pairs and not what_if:
        raise MonMDPError("--pair goes with --what-if")
    solution = planning.solve(problem, gamma)
    answers = planning.what_if(solution, pairs or None) if what_if else []
    if as_json:
        result = solution.to_dict() | {"parameters": params}
        if what_if:
            result["gain_of_all"] = planning.gain_of_all(solution)
            result["what_if"] = [answer.to_dict(problem.mdp) for answer in answers]
        print(json.dumps(result, indent=2))
        return
    from monmdp import drawing

    _print_solution(solution, params)
    print()
    print(drawing.policy_text(problem, solution.minimax.policy))
    if what_if:
        _print_what_if(solution, answers)


@app.command()
def check(world: World, words: Words = None, as_json: AsJson = False) -> None:
    """Check a problem: probabilities, bounds, reachability, truthful and fair observation."""
    from monmdp.testing import CheckError, check_monmdp

    problem, _ = _problem(world, words)
    try:
        notes = check_monmdp(problem)
    except CheckError as failure:
        raise MonMDPError(str(failure)) from None
    if as_json:
        print(json.dumps({"passed": True, "notes": notes}, indent=2))
        return
    print(f"{problem.mdp.name} / {problem.monitor.name}: passed")
    for note in notes:
        print(f"  note: {note}")


@app.command()
def export(
    world: World,
    words: Words = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The .npz file to write.")] = Path(
        "problem.npz"
    ),
) -> None:
    """Write a problem into one .npz file, which the other commands read."""
    problem, _ = _problem(world, words)
    problem.save(out)
    print(f"{out}: {problem.n_states} joint states, {problem.n_actions} joint actions")


@app.command()
def train(
    world: World,
    words: Words = None,
    agent: Annotated[
        str, typer.Option(help="An agent's name, or module:object for one of your own.")
    ] = "monitored-mbie-eb",
    steps: Annotated[
        int | None,
        typer.Option(help="Training steps.", show_default="50000 for bottleneck, else 20000"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds: 0, 1, 2, …")] = 30,
    evaluation: Annotated[
        str, typer.Option(help="exact, or monte-carlo as in the paper.")
    ] = "exact",
    preset: Annotated[
        str, typer.Option(help="paper, or released: the options of the authors' released code.")
    ] = "paper",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the runs.", show_default="a folder of its own in runs/"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Seeds at a time.", show_default="all cores")
    ] = None,
    every: Annotated[int, typer.Option(help="Steps between two tests.")] = 100,
    snapshots: Annotated[
        int, typer.Option(help="Snapshots of counts and action values to keep in each run.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Train an agent: learning curve, end return, seeds and steps to minimax-optimality.

    What is done is kept: killed and started again, the same command does only what is missing.
    """
    from monmdp import drawing, experiment, planning
    from monmdp.experiment.request import default_steps
    from monmdp.experiment.seeds import cores, default_folder, run_file
    from monmdp.model.mdp import whole_number

    monmdp, monitor, params = _problem_or_names(world, words)
    asked = experiment.request(monmdp, monitor, agent, params, preset=preset)
    n_seeds = whole_number(seeds, "--seeds", at_least=1)
    n_jobs = cores() if jobs is None else whole_number(jobs, "--jobs", at_least=1)
    n_steps = (
        default_steps(asked.monmdp) if steps is None else whole_number(steps, "--steps", at_least=1)
    )
    task = experiment.prepare(
        asked.monmdp,
        asked.agent,
        n_steps,
        evaluation=evaluation,  # type: ignore[arg-type]
        every=every,
        snapshots=snapshots,
        made_with=asked.parameters,
    )
    folder = default_folder(task.settings) if out is None else out
    there = sum(run_file(folder, seed).exists() for seed in range(n_seeds))
    begin = time.perf_counter()
    try:
        with _stoppable(), _progress_bar(n_seeds, n_steps, shown=not as_json) as tell:
            runs = experiment.train_seeds(
                task, range(n_seeds), jobs=n_jobs, out=folder, progress=tell
            )
    except KeyboardInterrupt:
        print(
            f"\ninterrupted; finished seeds are in {folder}, the same command goes on from there",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None
    seconds = time.perf_counter() - begin
    solution = planning.solve(asked.monmdp, task.gamma)
    summary = experiment.summarize(runs, solution)
    picture = folder / "curve.png"
    if as_json:
        result = dict(task.settings) | summary.to_dict() | {"preset": preset}
        print(json.dumps(result | {"out": str(folder), "seconds": seconds}, indent=2))
    else:
        _print_training(task.settings, summary, runs)
        found = f", {there} of them were there already" if there else ""
        print(f"runs                     {folder}  ({seconds:.1f} s{found})")
        print(f"picture                  {picture}")
    drawing.save(experiment.draw_runs({task.settings["agent"]: runs}, solution), picture)


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
    problem, given = _problem(world, words)
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
        print(f"{name.replace('_', ' '):<24} {_number(value)}")
    print(f"{'minimax episode return':<24} {_number(best)}")


@app.command()
def warmup() -> None:
    """Compile the agents ahead, so that the first training is fast."""
    from monmdp import agents, experiment, make

    problem = make("loop", "ask")
    for name in agents.registry:
        begin = time.perf_counter()
        experiment.train(problem, name, steps=100, evaluation="monte-carlo")
        config = agents.paper_config(name, problem.mdp.name, problem.monitor.name)
        agents.make(config.for_training(100), problem).begin_episode()
        print(f"{name:<24} {time.perf_counter() - begin:.1f} s")


# ---- helpers --------------------------------------------------------------------------------


def load(path: str) -> MonMDP:
    """Read a .npz problem."""
    from monmdp.model import MonMDP

    return MonMDP.load(path)


def _is_problem(world: str) -> bool:
    return world.endswith(".npz")


def _unprefixed(params: dict[str, str]) -> dict[str, str]:
    """Accept world.key=value where there is only a world."""
    return {key.removeprefix("world."): value for key, value in params.items()}


def _problem(world: str, words: list[str] | None) -> tuple[MonMDP, dict[str, str]]:
    """Make the problem named by WORLD MONITOR [key=value ...] or by a .npz file."""
    from monmdp import make

    found, monitor, params = _problem_or_names(world, words)
    if monitor is None:
        if params:
            raise MonMDPError(f"{world} is a finished problem; it takes no {next(iter(params))!r}")
        return found, {}  # type: ignore[return-value]
    return make(world, monitor, **params), params


def _problem_or_names(
    world: str, words: list[str] | None
) -> tuple[MonMDP | str, str | None, dict[str, str]]:
    """Return a .npz file's problem and None, or the names of world and monitor; and parameters."""
    from monmdp import monitors, worlds
    from monmdp.naming import parse_assignments

    words = list(words or [])
    if _is_problem(world):
        if words and "=" not in words[0]:
            raise MonMDPError(f"{world} is a finished problem; it takes no {words[0]!r}")
        return load(world), None, parse_assignments(words)
    worlds.factory(world)  # an unknown world is reported before a missing monitor
    if not words or "=" in words[0]:
        where = " (it comes before the parameters)" if words else ""
        raise MonMDPError(f"which monitor?{where} one of {', '.join(monitors.registry)}")
    return world, words[0], parse_assignments(words[1:])


def _first_line(factory: Any) -> str:
    while hasattr(factory, "func"):
        factory = factory.func
    return (factory.__doc__ or "").strip().splitlines()[0].replace("`", "")


def _number(value: float) -> str:
    return f"{value:.6g}"


def _print_solution(solution: Solution, params: dict[str, str]) -> None:
    problem = solution.monmdp
    mdp, monitor, seen = problem.mdp, problem.monitor, solution.seen
    given = "".join(f"  {key}={value}" for key, value in params.items())
    print(f"{mdp.name} / {monitor.name}{given}")
    print(
        f"{mdp.n_states} x {monitor.n_states} states, "
        f"{mdp.n_actions} x {monitor.n_actions} actions, gamma {solution.gamma:g}"
    )
    print()
    never = seen.never_observable_pairs
    reachable = int(seen.reachable.any(axis=1).sum()) * mdp.n_actions
    if seen.solvable:
        print("solvable                 yes: every reward can be seen")
    else:
        print(f"solvable                 no: {len(never)} of {reachable} pairs can never be seen")
    rho = "none: nothing is ever shown" if seen.rho is None else f"{seen.rho:g}"
    print(f"rho                      {rho}  (smallest non-zero chance to see a reward)")
    print(f"minimax value            {_number(solution.value)}  (from the start, for ever)")
    limit = "no time limit" if mdp.time_limit is None else f"cut at {mdp.time_limit} steps"
    print(f"episode return           {_number(solution.episode_return)}  ({limit})")
    print(f"optimal value            {_number(solution.optimal_value)}  (if all were known)")
    print(f"price of unobservability {_number(solution.price)}")
    if not solution.minimax.converged:
        print(f"NOT CONVERGED: values may be off by {solution.minimax.error_bound:.2g}")
    if len(never):
        print()
        print("never observable:")
        by_state: dict[int, list[str]] = {}
        for s, a in never:
            by_state.setdefault(int(s), []).append(mdp.action_labels[a])
        for i, (s, actions) in enumerate(by_state.items()):
            if i == 20:
                print(f"  … and {len(by_state) - 20} more states (all of them with --json)")
                break
            print(f"  {mdp.state_labels[s]:<8} {' '.join(actions)}")


def _print_what_if(solution: Solution, answers: list[WhatIf]) -> None:
    from monmdp.planning import gain_of_all

    mdp = solution.monmdp.mdp
    print()
    print("what if a pair could be seen: gain of the minimax value")
    if not answers:
        print("  every pair can be seen already")
        return
    for answer in answers[:20]:
        label = f"{mdp.state_labels[answer.state]} {mdp.action_labels[answer.action]}"
        print(f"  {label:<16} {_number(answer.gain):>10}   (it pays {answer.mean_reward:g})")
    if len(answers) > 20:
        print(f"  … and {len(answers) - 20} more (all of them with --json)")
    print(f"  {'all at once':<16} {_number(gain_of_all(solution)):>10}")


@contextmanager
def _stoppable() -> Iterator[None]:
    """Take a polite request to end, a cluster's for example, like Ctrl-C."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress_bar(
    n_seeds: int, n_steps: int, *, shown: bool
) -> Iterator[Callable[[int, int], None] | None]:
    """A bar over all steps of all seeds on the terminal; yields what to tell it."""
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    done: dict[int, int] = {}
    lock = threading.Lock()
    total = n_seeds * n_steps
    with typer.progressbar(length=total, file=sys.stderr, label="compiling, if need be") as bar:

        def tell(seed: int, steps: int) -> None:
            with lock:
                before, done[seed] = done.get(seed, 0), steps
                bar.label = f"{sum(n == n_steps for n in done.values())}/{n_seeds} seeds"
                bar.update(steps - before)

        yield tell


def _print_training(settings: Mapping[str, Any], summary: Summary, runs: Sequence[Run]) -> None:
    from monmdp import drawing
    from monmdp.experiment.summary import END

    given = settings["problem_parameters"]
    parameters = "".join(f"  {key.partition('.')[2]}={value}" for key, value in given.items())
    print(f"{settings['world']} / {settings['monitor']}{parameters}   {settings['agent']}")
    seeds = "1 seed" if summary.seeds == 1 else f"{summary.seeds} seeds"
    print(f"{seeds}, {settings['steps']:,} steps, {settings['evaluation']} evaluation")
    print()
    print(f"minimax episode return   {_number(summary.episode_return_minimax)}")
    half = ""
    if summary.final_interval is not None:
        low, high = summary.final_interval
        width = (high - low) / 2
        half = f" ± {_number(width if width > 1e-12 else 0.0)} (95 % interval over seeds)"
    tests = min(END, len(runs[0].step))
    end = f"{_number(summary.final_mean)}{half}"
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
