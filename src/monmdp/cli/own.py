"""Checks of things that a user brings along, named ``module:object``, before any work starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.model import MonMDP
    from monmdp.naming import Registry
    from monmdp.suites import Resolved

STEPS = 200
"""steps for which an agent is tried out, three times"""


def is_own(name: str, registry: Registry[Any]) -> bool:
    """Return whether a name stands for something of the user's: a file, or ``module:object``."""
    from monmdp.worlds import ENUMERATED, IMPORTED

    return name not in registry and not name.startswith((IMPORTED, ENUMERATED))


def check_problem(problem: MonMDP, again: MonMDP | None) -> list[str]:
    """Run `check_monmdp`; what is wrong becomes an error for people.

    `again` is the problem, made once more (None: it was read from a file); it must be the same.
    """
    from monmdp.experiment.streams import fingerprint
    from monmdp.testing import CheckError, check_monmdp

    try:
        notes = check_monmdp(problem)
    except CheckError as failure:
        raise MonMDPError(str(failure)) from None
    if again is not None and fingerprint(problem) != fingerprint(again):
        raise MonMDPError(
            f"{problem.mdp.name} / {problem.monitor.name} differs every time it is built; "
            "fix its seed"
        )
    return notes


def check_agent(agent: Any, name: str, problem: MonMDP, steps: int = STEPS) -> list[str]:
    """Run `check_agent`; what is wrong becomes an error for people."""
    from monmdp import testing

    try:
        return testing.check_agent(agent, problem, steps=steps)
    except testing.CheckError as failure:
        said = "; ".join(failure.problems)
        raise MonMDPError(f"agent {name!r} fails its checks: {said}") from None


def check_configurations(found: Iterable[Resolved]) -> None:
    """Check what is the user's own: problems, and agents on each shape of a problem."""
    from monmdp import agents, monitors, worlds
    from monmdp.naming import looking_in
    from monmdp.suites import resolve

    problems, tried = set(), set()
    for resolved in found:
        of, task = resolved.configuration, resolved.task
        problem = of.world, of.monitor, of.problem
        # without a monitor it was read from a file, and checked there
        own = of.monitor is not None and (
            is_own(str(of.world), worlds.registry) or is_own(of.monitor, monitors.registry)
        )
        if own and problem not in problems:
            problems.add(problem)
            with looking_in(of.folder):
                check_problem(task.monmdp, resolve(of).task.monmdp)
        agent = of.agent, of.of_agent, task.monmdp.shape
        if agent not in tried and of.agent not in agents.DEEP and is_own(of.agent, agents.registry):
            tried.add(agent)
            check_agent(task.agent, of.agent, task.monmdp, min(task.steps, STEPS))
