"""Monitored Markov decision processes: reinforcement learning when the reward is sometimes hidden.

>>> import monmdp
>>> problem = monmdp.make("bottleneck", "button", rho=0.05)
>>> solution = monmdp.solve(problem)
>>> round(solution.value, 4), solution.solvable
(0.1943, False)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from monmdp import stopping

stopping.begin_if_command()

from monmdp.registration import register  # noqa: E402

if TYPE_CHECKING:
    from monmdp import (
        agents,
        drawing,
        envs,
        experiment,
        monitors,
        planning,
        report,
        results,
        stats,
        suites,
        testing,
        theory,
        worlds,
    )
    from monmdp.api import Results, bench, compare, reproduce, run_suite, train, write_report
    from monmdp.catalogue import make
    from monmdp.errors import MonMDPError
    from monmdp.experiment import Policy, Run
    from monmdp.model import MDP, Monitor, MonMDP, join
    from monmdp.planning import evaluate, solve
    from monmdp.results import load_results, load_run

__version__ = "0.1.0"

__all__ = [
    "MDP",
    "MonMDP",
    "MonMDPError",
    "Monitor",
    "Policy",
    "Results",
    "Run",
    "agents",
    "bench",
    "compare",
    "drawing",
    "envs",
    "evaluate",
    "experiment",
    "join",
    "load_results",
    "load_run",
    "make",
    "monitors",
    "planning",
    "report",
    "reproduce",
    "results",
    "run_suite",
    "solve",
    "stats",
    "suites",
    "testing",
    "theory",
    "train",
    "worlds",
    "write_report",
]

register()  # so that gymnasium.make("monmdp/Bottleneck-v0") works after `import monmdp`

# Everything else loads when it is first asked for: compiled code and drawing take their time.
_MODULES = (
    "agents", "drawing", "envs", "experiment", "monitors", "planning", "report", "results",
    "stats", "suites", "testing", "theory", "worlds",
)  # fmt: skip
_MODULE_OF = {
    "MDP": "model",
    "MonMDP": "model",
    "MonMDPError": "errors",
    "Monitor": "model",
    "Policy": "experiment",
    "Results": "api",
    "Run": "experiment",
    "bench": "api",
    "compare": "api",
    "evaluate": "planning",
    "join": "model",
    "load_results": "results",
    "load_run": "results",
    "make": "catalogue",
    "reproduce": "api",
    "run_suite": "api",
    "solve": "planning",
    "train": "api",
    "write_report": "api",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"monmdp.{name}")
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"monmdp.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'monmdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
