"""Commands on problems: list, show, solve, check, export."""

from __future__ import annotations

import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from monmdp.cli.app import (
    AsJson,
    Assignments,
    Words,
    World,
    app,
    is_problem,
    line_of_progress,
    make_problem,
    names_of,
    print_facts,
    print_json,
    saying_what_takes_long,
    short,
    telling,
    title_of,
    writable,
)
from monmdp.cli.own import check_agent, check_problem
from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.model import MDP
    from monmdp.naming import Scope
    from monmdp.planning import Solution, WhatIf


MOST_LINES = 20
"""of never observable states, and of --what-if"""


@app.command("list")
def list_names(as_json: AsJson = False) -> None:
    """List worlds, monitors and agents with their parameters and defaults, and suites."""
    from monmdp import agents, monitors, suites, worlds
    from monmdp.naming import Registry, scope_of

    sections: dict[str, dict[str, Any]] = {}
    registries: list[Registry[Any]] = [worlds.registry, monitors.registry, agents.registry]
    for registry in registries:
        entries = sections.setdefault(f"{registry.kind}s", {})
        for name in registry:
            factory = registry.factory(name)
            entries[name] = {
                "parameters": _written(scope_of(factory, name)),
                "about": _first_line(factory),
            }
    for name, entry in sections["worlds"].items():
        mdp = worlds.make(name)
        entry["about"] = f"{mdp.n_states} states, {mdp.n_actions} actions"
    sections["deep agents"] = {
        name: {"parameters": _written(agents.parameters_of(name)), "about": of.about}
        for name, of in agents.DEEP.items()
    }
    sections["suites"] = {
        name: {"about": suites.bundled_suite(name).title} for name in suites.bundled_suites()
    }
    if as_json:
        print_json(sections)
        return
    for kind, entries in sections.items():
        print(f"{kind}{FOR_WHAT.get(kind, '')}:")
        before, width = None, max(20, *map(len, entries))
        indent = " " * (width + 5)
        for name, entry in entries.items():
            print(f"  {name:<{width}} {entry['about']}")
            if parameters := entry.get("parameters"):
                text = "(parameters as above)" if parameters == before else "  ".join(parameters)
                print(
                    textwrap.fill(
                        text,
                        100,
                        initial_indent=indent,
                        subsequent_indent=indent,
                        break_on_hyphens=False,
                    )
                )
            before = parameters
        print()
    print(ENDING)


def _written(scope: Scope) -> list[str]:
    """The parameters as one would write them in a command."""
    return [str(parameter) for parameter in scope.parameters.values()]


FOR_WHAT = {"deep agents": ", which see observations", "suites": ", for monmdp run"}
"""what is said of a section of the list"""
ENDING = """\
A world can also be a map file (path/to/map.txt), a UMB file (path/to/model.umb), module:object,
gymnasium:ENV-ID (its transition table) or env:ENV-ID (all states of a deterministic environment); a
monitor or an agent can also be module:object. Parameters are written key=value; where a key is
ambiguous, world.key=value, monitor.key=value or agent.key=value. The name of an agent stands for
the paper's settings; some of them depend on the world and the monitor."""


@app.command()
def show(
    world: World,
    assignments: Assignments = None,
    png: Annotated[Path | None, Option(help="Write a picture to this .png file.")] = None,
    svg: Annotated[Path | None, Option(help="Write a picture to this .svg file.")] = None,
) -> None:
    """Draw a world in the terminal, or as a picture with --png or --svg."""
    from monmdp import drawing

    pictures = [
        writable(path, f"--{kind}", f".{kind}")
        for path, kind in ((png, "png"), (svg, "svg"))
        if path is not None
    ]
    mdp = _world(world, assignments or [])
    print(drawing.world_text(mdp))
    for path in pictures:
        drawing.save(drawing.draw_world(mdp), path)
        print(f"picture: {path}")


@app.command()
def solve(
    world: World,
    words: Words = None,
    gamma: Annotated[float, Option(help="Discount, in [0, 1].")] = 0.99,
    what_if: Annotated[
        bool, Option("--what-if", help="For each never-observable pair: the gain from seeing it.")
    ] = False,
    pair: Annotated[
        list[str] | None,
        Option(help="With --what-if: only this pair, STATE:ACTION; may be repeated."),
    ] = None,
    device: Annotated[
        str, Option(help="cpu, or gpu: a graphics card, for large problems (needs JAX).")
    ] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Solve exactly: what can be seen, the minimax-optimal policy, what not seeing costs."""
    from monmdp import planning
    from monmdp.planning.gpu.devices import CPU, lacking
    from monmdp.planning.policy_iteration import checked_gamma

    checked_gamma(gamma)
    if (reason := lacking(device)) is not None:
        print(f"note: {reason}", file=sys.stderr, flush=True)
        device = CPU
    with _without_warning_of_costs():
        problem, params = make_problem(world, words)
    pairs = [problem.mdp.parse_pair(text, "--pair") for text in pair or []]
    if pairs and not what_if:
        raise MonMDPError("--pair goes with --what-if")
    with saying_what_takes_long("solving") as show:
        solution = planning.solve(problem, gamma, device=device, tell=show)
    if as_json:
        result = solution.to_dict() | {"parameters": params}
        if what_if:
            answers = planning.what_if(solution, pairs or None)
            result["gain_of_all"] = planning.gain_of_all(solution)
            result["what_if"] = [answer.to_dict(problem.mdp) for answer in answers]
        print_json(result)
        return
    from monmdp import drawing

    _print_solution(solution, params)
    print()
    print(drawing.policy_text(problem, solution.minimax.policy))
    if what_if:
        _print_what_if(solution, pairs or None)


@contextmanager
def _without_warning_of_costs() -> Iterator[None]:
    """Make a problem whose monitor may pay: what is printed of it says so, whatever its kind."""
    from monmdp.monitors import CostWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostWarning)
        yield


@app.command()
def check(
    world: World,
    words: Words = None,
    agent: Annotated[
        str | None, Option(help="Also check this agent on the problem: a name, or module:object.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a problem: probabilities, bounds, reachability, truthful and fair observation.

    With --agent also an agent: sound actions and policies, and no randomness but its own.
    """
    from monmdp import experiment, make

    monitor, params = names_of(world, words)
    with _without_warning_of_costs():
        if agent is None:
            problem, given = make_problem(world, words)
        else:
            found = world if monitor is not None else make_problem(world, None)[0]
            asked = experiment.assemble(found, monitor, agent, params)
            problem, given = asked.monmdp, dict(asked.parameters)
        again = None if monitor is None else make(world, monitor, **given)
    notes = check_problem(problem, again)
    if agent is not None:
        notes += check_agent(asked.agent, agent, problem)
    if as_json:
        print_json({"passed": True, "notes": notes})
        return
    by = "" if agent is None else f", {agent}"
    print(f"{problem.mdp.name} / {problem.monitor.name}{by}: passed")
    for note in notes:
        print(f"  note: {note}")


@app.command()
def export(
    world: World,
    words: Words = None,
    out: Annotated[
        Path, Option("--out", "-o", help="The file to write: .npz, or .umb for a world alone.")
    ] = Path("problem.npz"),
) -> None:
    """Write a problem into one .npz file, which the other commands read; or a world as UMB.

    A .umb file holds the world, for Storm and other model checkers; leave the monitor out.
    """
    from monmdp.model.umb import SUFFIX

    writable(out, "--out", ".npz", SUFFIX)
    if out.suffix.lower() == SUFFIX:
        _export_world(world, words or [], out)
        return
    problem, _ = make_problem(world, words)
    with saying_what_takes_long(f"writing {out}: {problem.n_states:,} joint states"):
        problem.save(out)
    print(f"{out}: {problem.n_states} joint states, {problem.n_actions} joint actions")


def _export_world(world: str, words: list[str], out: Path) -> None:
    """Write a world by name, or that of a finished problem, for other tools."""
    if words and "=" not in words[0]:
        raise MonMDPError(f"{out}: a .umb file holds a world alone; leave {words[0]!r} out")
    mdp = _world(world, words)
    with saying_what_takes_long(f"writing {out}: {mdp.n_states:,} states"):
        mdp.to_umb(out)
    print(f"{out}: {mdp.n_states} states, {mdp.n_actions} actions")


def _world(world: str, assignments: list[str]) -> MDP:
    """Make the world that a command names, or take it out of a finished problem."""
    from monmdp import worlds
    from monmdp.naming import parse_assignments

    params = parse_assignments(assignments)
    if is_problem(world):
        if params:
            raise MonMDPError(f"{world} is a finished problem; it takes no parameters")
        return make_problem(world, None)[0].mdp
    # world.key=value is fine, too, where there is only a world
    given = {key.removeprefix("world."): of for key, of in params.items()}
    with saying_what_takes_long(f"building {world}") as show:
        return worlds.make(world, **given, **telling(world, show))


def _first_line(factory: Any) -> str:
    while hasattr(factory, "func"):
        factory = factory.func
    return (factory.__doc__ or "").strip().partition("\n")[0].replace("`", "")


def _print_solution(solution: Solution, params: dict[str, str]) -> None:
    from monmdp.planning import remarks

    problem = solution.monmdp
    mdp, monitor, seen = problem.mdp, problem.monitor, solution.seen
    print(title_of(problem, params))
    print(
        f"{mdp.n_states} x {monitor.n_states} states, "
        f"{mdp.n_actions} x {monitor.n_actions} actions, gamma {solution.gamma:g}\n"
    )
    never = seen.never_observable_pairs
    reachable = int(seen.reachable.any(axis=1).sum()) * mdp.n_actions
    unseen = f"no: {len(never)} of {reachable} pairs can never be seen"
    rho = "none: nothing is ever shown" if seen.rho is None else f"{seen.rho:g}"
    for_ever = "for ever" if solution.horizon is None else f"for {solution.horizon} steps"
    limit = "no time limit" if mdp.time_limit is None else f"cut at {mdp.time_limit} steps"
    facts = {
        "solvable": "yes: every reward can be seen" if seen.solvable else unseen,
        "rho": f"{rho}  (smallest non-zero chance to see a reward)",
        "minimax value": f"{short(solution.value)}  (from the start, {for_ever})",
        "episode return": f"{short(solution.episode_return)}  ({limit})",
        "optimal value": f"{short(solution.optimal_value)}  (if all were known)",
        "price of unobservability": short(solution.price),
    }
    print_facts(facts)
    if solution.horizon is not None:
        print(
            "note: gamma is 1 and some policies never end an episode before the time limit, so the "
            "policy depends on the steps left; the one of the first step is shown"
        )
    for remark in remarks(problem, solution.bias):
        print(f"note: {remark}")
    if not solution.minimax.converged:
        print(f"NOT CONVERGED: values may be off by {solution.minimax.error_bound:.2g}")
    if len(never):
        print("\nnever observable:")
        by_state: dict[int, list[str]] = {}
        for s, a in never:
            by_state.setdefault(int(s), []).append(mdp.action_labels[a])
        for s, actions in list(by_state.items())[:MOST_LINES]:
            print(f"  {mdp.state_labels[s]:<8} {' '.join(actions)}")
        if len(by_state) > MOST_LINES:
            left = len(by_state) - MOST_LINES
            print(f"  … and {left} more states (all of them with --json)")


def _print_what_if(solution: Solution, pairs: list[tuple[int, int]] | None) -> None:
    """Which pair is worth seeing; pairs that gain the same share a line."""
    from monmdp.planning import gain_of_all, what_if
    from monmdp.tables import Column, Table, plural

    mdp = solution.monmdp.mdp
    print(flush=True)
    if solution.solvable and pairs is None:
        print("what if a pair could be seen: every pair can be seen already")
        return
    with line_of_progress() as show:
        answers = what_if(solution, pairs, lambda n, of: show(f"{n:,} of {of:,} pairs"))
    groups: dict[tuple[str, str], list[WhatIf]] = {}
    for answer in answers:
        groups.setdefault((short(answer.gain), short(answer.true_gain)), []).append(answer)
    rows = []
    for (gain, true), alike in list(groups.items())[:MOST_LINES]:
        names = [f"{mdp.state_labels[of.state]} {mdp.action_labels[of.action]}" for of in alike]
        more = ", …" if len(alike) > 3 else ""
        pays = sorted({of.mean_reward for of in alike})
        paid = f"{pays[0]:g}" if len(pays) == 1 else f"{pays[0]:g} to {pays[-1]:g}"
        count = f"{plural(len(alike), 'pair')}: " if len(alike) > 1 else ""
        rows.append((gain, true, paid, f"{count}{', '.join(names[:3])}{more}"))
    rows.append((short(gain_of_all(solution)), short(solution.price), "", "all at once"))
    gains = (Column("guaranteed", form=""), Column("in truth", form=""), Column("it pays", form=""))
    print("what if a pair could be seen: what the minimax policy gains")
    print(Table.of((*gains, "pair"), rows))
    if len(groups) > MOST_LINES:
        left = sum(len(alike) for alike in list(groups.values())[MOST_LINES:])
        print(f"… and {plural(left, 'pair')} that gain less (all of them with --json)")
