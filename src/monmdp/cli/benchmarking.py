"""The command that puts an agent beside all published ones: bench."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from monmdp.cli import printing
from monmdp.cli.app import AsJson, app, print_facts, print_json, spread
from monmdp.cli.running import Doing, carried_out, count, end


@app.command()
@spread
def bench(
    words: Annotated[
        list[str] | None,
        Argument(metavar="[KEY=VALUE]...", help="Parameters of the agent.", show_default=False),
    ] = None,
    *,
    agent: Annotated[
        str | None,
        Option(
            help="An agent's name, or module:object for one of your own.",
            show_default="none: show the published results",
        ),
    ] = None,
    seeds: Annotated[int | None, Option(help="How many seeds.", show_default="all ten")] = None,
    only: Annotated[
        list[str] | None, Option(help="A setting, by its name; repeatable.", show_default="all")
    ] = None,
    doing: Doing,
    as_json: AsJson = False,
) -> None:
    """Run an agent on the benchmark, bench-v1, and rank it among ours, whose results are published.

    What is done is kept: killed and started again, the same command does only what is missing.
    """
    from monmdp.api import benched
    from monmdp.errors import MonMDPError
    from monmdp.naming import parse_assignments
    from monmdp.results.benchmarking import FILE, Bench, ask_bench, published

    parameters = parse_assignments(list(words or []))
    if agent is None:
        if parameters:
            raise MonMDPError(f"whose parameter is {next(iter(parameters))!r}? Name an --agent")
        found = Bench(published(), only=tuple(only or ()))
        print_json(found.to_dict()) if as_json else print(found)
        return
    own = {key.removeprefix("agent."): value for key, value in parameters.items()}
    label = " ".join([agent, *(f"{key}={value}" for key, value in own.items())])
    asked = ask_bench(agent, own, label=label, seeds=count(seeds, "--seeds"), only=only or ())
    results = carried_out(asked.request, doing, quiet=as_json)
    if not results.evidence.aggregates:
        end(results)
    found = benched(asked, results)
    assert results.report is not None
    scores = results.report.folder / FILE
    if as_json:
        print_json(found.to_dict() | {"scores": str(scores)} | printing.in_json(results, "paper"))
    else:
        print(f"{found}\n")
        printing.files(results)
        print_facts({"scores": scores})
    end(results)
