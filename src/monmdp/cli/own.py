"""Checks of things that a user brings along, named ``module:object``, before any work starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.model import MonMDP
    from monmdp.suites.plan import Configuration

STEPS = 200
"""steps for which an agent is tried out, four times"""

Unchecked = Annotated[
    bool,
    typer.Option("--unchecked", help="Do not check worlds, monitors and agents of your own first."),
]


def is_own(name: str | None) -> bool:
    """Return whether a name stands for something of the user's."""
    return name is not None and ":" in name and not name.startswith("gymnasium:")


def check_problem(problem: MonMDP) -> list[str]:
    """Run `check_monmdp`; what is wrong becomes an error for people."""
    from monmdp.testing import CheckError, check_monmdp

    try:
        return check_monmdp(problem)
    except CheckError as failure:
        raise MonMDPError(str(failure)) from None


def check_agent(agent: Any, name: str, problem: MonMDP, steps: int = STEPS) -> list[str]:
    """Run `check_agent`; what is wrong becomes an error for people."""
    from monmdp import testing

    try:
        return testing.check_agent(agent, problem, steps=steps)
    except testing.CheckError as failure:
        said = "; ".join(failure.problems)
        raise MonMDPError(f"agent {name!r} fails its checks: {said}") from None


def check_own(
    problem: MonMDP, agent: Any, world: str, monitor: str | None, name: str, steps: int
) -> None:
    """Check what is the user's own of a world, a monitor and an agent."""
    if is_own(world) or is_own(monitor):
        check_problem(problem)
    if is_own(name):
        check_agent(agent, name, problem, min(steps, STEPS))


def check_configurations(configurations: Iterable[Configuration]) -> None:
    """Check what is the user's own in a suite: each problem, and each agent on its first one."""
    problems, agents = set(), set()
    for of in configurations:
        problem = of.world, of.monitor, of.problem
        agent = of.agent, of.of_agent
        new_problem = problem not in problems and (is_own(of.world) or is_own(of.monitor))
        new_agent = agent not in agents and is_own(of.agent)
        if not (new_problem or new_agent):
            continue
        asked = of.request()
        if new_problem:
            check_problem(asked.monmdp)
        if new_agent:
            check_own(asked.monmdp, asked.agent, "", None, of.agent, of.steps or STEPS)
        problems.add(problem)
        agents.add(agent)
