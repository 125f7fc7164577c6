"""Where data come from: the code that made them, the versions, the machine."""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import subprocess
import textwrap
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import monmdp
from monmdp import agents, catalogue
from monmdp.agents import AgentConfig
from monmdp.compiling import constants_of, reached
from monmdp.errors import MonMDPError
from monmdp.experiment import training
from monmdp.experiment.loop import run
from monmdp.experiment.own_code import code_hash, essence, module_hash
from monmdp.model import MonMDP
from monmdp.naming import UntrustedError, call, import_object, import_trusted

PACKAGES = ("numpy", "numba", "llvmlite", "scipy")
"""whose versions are recorded, because numbers may depend on them"""
OF_EXTRAS = ("torch",)
"""likewise, where they are installed"""
FOLLOWED = (
    "monmdp.agents", "monmdp.experiment", "monmdp.planning.observability",
    "monmdp.planning.factors",
)  # fmt: skip
"""modules whose plain functions can change what a run finds"""


def kernel_hash(agent: Any) -> str:
    """Return a hash of the code that turns a problem and a seed into an agent's learning curve.

    It covers the training loop, the agent's verbs and the making of its state, the random streams
    and the evaluation; comments, docstrings and layout do not count, nor does the version of
    Python. The code of an agent that is not of this package is hashed with its settings instead.
    """
    if not isinstance(agent, AgentConfig):
        loop, table = _hash_of(None, None), _table_of(agent)
        if table is None:
            return loop
        return hashlib.sha256(f"{loop} {kernel_hash(table())}".encode()).hexdigest()[:16]
    small = _small_problem()  # the kind of state does not depend on the problem
    state = agent.for_training(1).new_state(small.shape, small.mdp.r_min, small.mdp.r_max, small)
    kinds: Any = type(state), type(agent)
    return _hash_of(*kinds)


def _table_of(agent: Any) -> type[AgentConfig] | None:
    """The tabular agent of this package that an agent in plain Python has inside, if any."""
    if isinstance(agent, agents.DeepAgent):
        agent = import_object(agent.place, "agent")
    found = getattr(getattr(agent, "func", agent), "table", None)
    return found if isinstance(found, type) and issubclass(found, AgentConfig) else None


def todays_kernel(settings: Mapping[str, Any], trusted: Collection[str] = ()) -> str | None:
    """Return the hash of the code that would do a run today.

    None: it is not known, because the agent is somebody's own and its module is not `trusted`.
    """
    if (deep := agents.DEEP.get(settings["agent"])) is not None:
        return kernel_hash(deep) if module_hash(deep.module) == settings["code"] else ""
    try:
        return kernel_hash(stored_agent(settings, trusted))
    except UntrustedError:
        return None
    except MonMDPError:  # parameters of another version
        return ""


def stored_agent(settings: Mapping[str, Any], trusted: Collection[str] = ()) -> Any:
    """Return the agent of a run that is kept; one that is not of this package must be trusted."""
    name, parameters = settings["agent"], settings["parameters"]
    if name in agents.KINDS:
        return call(agents.KINDS[name], f"agent {name!r}", parameters)
    if name in agents.DEEP:
        found, code = name, module_hash(agents.DEEP[name].module)
    else:
        found = import_trusted(name, "agent", trusted)
        code = code_hash(found)
    if code != settings["code"]:
        raise MonMDPError(f"{name}: its code is not that of the runs")
    return agents.find(found, params=parameters)


@cache
def _small_problem() -> MonMDP:
    return catalogue.make("loop", "ask")


@cache
def _hash_of(kind: Any, config: Any) -> str:
    roots: list[tuple[Callable[..., Any], type | None]] = [(run, kind), (training.carry_out, None)]
    roots += [(method, None) for method in _making_of_state(config)]
    functions: dict[str, Callable[..., Any]] = {}
    for root, of in roots:
        for function in reached(root, of, FOLLOWED):
            functions[f"{function.__module__}.{function.__qualname__}"] = function
    digest = hashlib.sha256()
    for name in sorted(functions):
        digest.update(f"{name} {_essence(functions[name])}".encode())
        for constant in constants_of(functions[name]):
            digest.update(repr(constant).encode())
    for constant in _constants_of_class(config):
        digest.update(repr(constant).encode())
    return digest.hexdigest()[:16]


def _making_of_state(config: type[AgentConfig] | None) -> list[Callable[..., Any]]:
    """The methods that make a state, of the configuration and of the classes it is derived from."""
    names, methods = ["new_state"], list[Callable[..., Any]]()
    for name in names:  # grows on the way
        for kind in () if config is None else config.__mro__:
            method = vars(kind).get(name)
            if inspect.isfunction(method):
                methods.append(method)
                called = method.__code__.co_names
                names += [
                    other for other in called if other not in names and hasattr(config, other)
                ]
    return methods


def _constants_of_class(config: type[AgentConfig] | None) -> list[tuple[str, str]]:
    """What the making of a state reads of the class; name and fields are among a run's settings."""
    if config is None:
        return []
    read = {name for method in _making_of_state(config) for name in method.__code__.co_names}
    constants = read - {"name", *(field.name for field in fields(config))}
    values = {name: getattr(config, name, None) for name in sorted(constants)}
    plain = bool | int | float | str
    return [(name, repr(value)) for name, value in values.items() if isinstance(value, plain)]


def _essence(function: Callable[..., Any]) -> str:
    """A function's text without comments, docstrings and layout, alike for all Pythons."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # typed in at a prompt, say
        return repr(function.__code__.co_code)
    return essence(text)


@cache
def provenance() -> dict[str, Any]:
    """Return versions, commit and machine of this process."""
    versions = {"monmdp": monmdp.__version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "?"
    for name in OF_EXTRAS:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {"versions": versions, "commit": commit(), "machine": machine()}


def now() -> str:
    """Return the time of day, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def commit() -> str | None:
    """Return the commit of the source tree that runs, ``+`` if it was changed; None outside git."""
    folder = Path(__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", Path(__file__).name)  # fails: not of this tree
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "..")
        return _git(folder, "rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    """Return what this machine is."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError):  # not on every platform
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        processor = next(named, processor)
    return {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": processor,
        "cores": os.cpu_count(),
    }
