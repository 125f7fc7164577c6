"""Plain functions that also run compiled.

A *compilable* function is plain Python on numbers, arrays, tuples and generators. Called from
Python it runs as it stands; called from compiled code, numba compiles it, to the same bits. So one
text serves the reader, the debugger and the machine.

A *verb* is a function with one implementation for each kind of its first argument, a named tuple:
the state of an agent, say. Compiled code chooses by the type, while compiling; numba can then keep
the result on disk, which it cannot do for functions that are handed in as arguments.

numba's cache looks only at the file of the outermost function and would go on running an old
version of everything that function calls. Hence `stamp`: an empty array whose *type* carries a hash
of all that code, handed to every compiled call. Edit a function, and the type is a new one.

numba is loaded by the first `compiled` call, not by importing this module.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

_compilable: list[Callable[..., Any]] = []
_verbs: list[Callable[..., Any]] = []
_implementations: dict[tuple[str, type], Callable[..., Any]] = {}
_known_to_numba: set[Callable[..., Any]] = set()


def compilable(function: F) -> F:
    """Mark a plain function as one that compiled code may call."""
    _compilable.append(function)
    return function


def verb(function: F) -> F:
    """Mark a function as a verb; its body is what Python runs, never compiled code."""
    _verbs.append(function)
    return function


def implement(kind: type, **functions: Callable[..., Any]) -> None:
    """Give a kind of state its implementations, by the names of the verbs."""
    for name, function in functions.items():
        _implementations[name, kind] = function


def implementation(name: str, kind: type) -> Callable[..., Any] | None:
    """Return the implementation of a verb for a kind of state."""
    return _implementations.get((name, kind))


# For functions that only compiled code calls: no way in from Python, which takes long to compile.
_INNER: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled function, from numba's cache on disk if it is there."""
    from numba import njit

    _tell_numba()
    # Divisions follow IEEE: the code never divides by zero where the quotient matters.
    options: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
    dispatcher: Callable[..., Any] = njit(cache=True, nogil=True, **options)(function)
    return dispatcher


def _tell_numba() -> None:
    """Register everything that was marked since the last call."""
    from numba.extending import overload, register_jitable

    for function in _compilable:
        if function not in _known_to_numba:
            register_jitable(**_INNER)(function)
            _known_to_numba.add(function)
    for function in _verbs:
        if function not in _known_to_numba:
            overload(function, strict=False, jit_options=_INNER)(_chooser(function.__name__))
            _known_to_numba.add(function)


def _chooser(name: str) -> Callable[..., Any]:
    """Return what numba asks while compiling a verb: which function serves this type?"""

    def choose(agent: Any, *_: Any) -> Callable[..., Any] | None:
        kind = getattr(agent, "instance_class", None)  # of a named tuple's numba type
        return None if kind is None else _implementations.get((name, kind))

    return choose


def stamp(kind: type) -> NDArray[np.void]:
    """Return the empty array whose type changes whenever the compiled code would.

    It stands for all functions of this package that compiled code may call, and for those of the
    module that defines `kind`, the state of an agent: for their bytecode, and for the numbers that
    these modules define. What is hashed is what is loaded, whatever the files say by now.
    """
    return _stamp(kind.__module__)


@cache
def _stamp(module: str) -> NDArray[np.void]:
    package = __name__.partition(".")[0]
    functions = {*_compilable, *_implementations.values()}
    digest = hashlib.sha256()
    names = {f.__module__ for f in functions if f.__module__.partition(".")[0] == package}
    for name in sorted(names | {module}):
        for thing, value in sorted(vars(sys.modules[name]).items()):
            if isinstance(value, int | float | str) and not thing.startswith("__"):
                digest.update(f"{name}.{thing}={value!r}".encode())
        for function in sorted(functions, key=lambda f: f.__qualname__):
            if function.__module__ == name:
                digest.update(repr(_content(function.__code__)).encode())
    return np.empty(0, dtype=[(f"code_{digest.hexdigest()[:16]}", np.uint8)])


def _content(code: CodeType) -> tuple[Any, ...]:
    """What a function does, apart from where it stands in its file."""
    constants = tuple(_content(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, constants
