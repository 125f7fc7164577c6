"""The command `instrument`: which hidden rewards to make visible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

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
    title_of,
    writable,
)
from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.planning import Instrumentation


@app.command()
def instrument(
    world: World,
    words: Words = None,
    *,
    budget: Annotated[float, Option(help="What may be spent.")],
    cost: Annotated[float, Option(help="What each candidate costs.")] = 1.0,
    costs: Annotated[
        Path | None, Option(help='A JSON file: candidate -> cost, "*" for all others.')
    ] = None,
    by: Annotated[
        str, Option(help="Candidates: every hidden pair, or all of a state: pair or state.")
    ] = "pair",
    groups: Annotated[
        Path | None,
        Option(help='A JSON file of candidates of your own: name -> ["STATE:ACTION", "STATE", …].'),
    ] = None,
    assume: Annotated[
        str, Option(help="What hidden rewards are taken to pay: interval, prior or truth.")
    ] = "interval",
    prior: Annotated[
        str | None,
        Option(help="With prior: MEAN,SD, or a JSON file: candidate, state or pair -> [MEAN, SD]."),
    ] = None,
    draws: Annotated[int, Option(help="With prior: how many scenarios to draw.")] = 32,
    seed: Annotated[int, Option(help="With prior: of the draws.")] = 0,
    method: Annotated[
        str, Option(help="greedy, exact, or auto: search for a proof, but not for ever.")
    ] = "auto",
    most_plans: Annotated[int, Option(help="Plans to make before the search ends.")] = 5000,
    gamma: Annotated[float, Option(help="Discount, in [0, 1].")] = 0.99,
    png: Annotated[Path | None, Option(help="Write a picture to this .png file.")] = None,
    svg: Annotated[Path | None, Option(help="Write a picture to this .svg file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the set of hidden rewards that is most worth making visible within a budget."""
    from monmdp import planning

    pictures = [
        writable(path, f"--{kind}", f".{kind}")
        for path, kind in ((png, "png"), (svg, "svg"))
        if path is not None
    ]
    if costs is not None and cost != 1:
        raise MonMDPError("--cost or --costs, not both: a file has a cost for each candidate")
    given: dict[str, Any] = {
        "cost": cost if costs is None else _read(costs, "--costs"),
        "groups": None if groups is None else _read(groups, "--groups"),
        "prior": None if prior is None else _prior(prior),
    }
    problem, params = make_problem(world, words)
    with saying_what_takes_long("looking for the best set") as show:
        found = planning.instrument(
            problem, budget, by=by, assume=assume, draws=draws, seed=seed, method=method,
            most_plans=most_plans, gamma=gamma, tell=show, **given,
        )  # fmt: skip
    if as_json:
        print_json(found.to_dict() | {"parameters": params})
    else:
        _print(found, title_of(problem, params))
    if pictures:
        from monmdp import drawing

        figure = drawing.draw_instrumentation(found)
        for path in pictures:
            drawing.save(figure, path)
            if not as_json:
                print(f"picture: {path}")


def _read(path: Path, option: str) -> dict[str, Any]:
    """Read a JSON object from a file that an option names."""
    from monmdp.files import read_text

    try:
        found = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise MonMDPError(f"{option} {path}: not JSON, {error}") from None
    if not isinstance(found, dict):
        raise MonMDPError(f"{option} {path}: a JSON object of name -> value expected")
    return found


def _prior(text: str) -> Any:
    """Read MEAN,SD or a file."""
    if text.endswith(".json"):
        return _read(Path(text), "--prior")
    parts = text.split(",")
    try:
        return tuple(float(part) for part in parts) if len(parts) == 2 else float(text)
    except ValueError:
        raise MonMDPError(
            f"--prior {text!r}: MEAN,SD expected, such as 0.5,0.2, or a .json file"
        ) from None


def _print(found: Instrumentation, title: str) -> None:
    print(f"{title}, gamma {found.gamma:g}\n")
    if not found.candidates:
        print("every reward that can be reached can be seen already")
        return
    gain = short(found.gain)
    print_facts(
        {
            "assumed of the hidden": found.assume,
            "candidates": f"{len(found.candidates):,}",
            "spent": f"{found.cost:g} of {found.budget:g}",
            "minimax value now": short(found.value_before),
            "gain": f"between 0 and {gain}" if found.lower_gain < found.gain else gain,
            "found by": f"{found.method}, {found.plans:,} plans",
        }
    )
    if not found.converged:
        print("NOT CONVERGED: some plans are less exact than they should be")
    print()
    print(found.table())
