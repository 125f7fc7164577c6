"""Plain functions that also run compiled.

A *compilable* function is plain Python on numbers, arrays, tuples and generators. Called from
Python it runs as it stands; called from compiled code, numba compiles it, to the same bits. So one
text serves the reader, the debugger and the machine.

A *dispatched* function has one implementation for each kind of its first argument, a named tuple:
the state of an agent, say. Compiled code chooses by the type, while compiling; numba can then keep
the result on disk, which it cannot do for functions that are handed in as arguments.

numba's cache on disk looks only at the file of the outermost function. It would go on running an
old version of everything that function calls, and fails when a class that it remembers is gone. So
`compiled` keeps each function under a name that carries a hash of all the code it can reach: edited
code is a new name, and what one kind of agent leaves behind is never read for another.

numba counts who holds an array, at every call and for each array of a state: a microsecond or more
a step. A kind that *borrows* makes no arrays while it runs, and nothing is counted for it.

numba is loaded by the first `compiled` call, not by importing this module.
"""

from __future__ import annotations

import hashlib
import operator
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from functools import cache, wraps
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, get_type_hints

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

_compilable: list[Callable[..., Any]] = []
_dispatched: list[Callable[..., Any]] = []
_implementations: dict[tuple[Callable[..., Any], type], Callable[..., Any]] = {}
_large: set[tuple[Callable[..., Any], type]] = set()
_known_to_numba: set[Callable[..., Any]] = set()
_lock = threading.RLock()

# For functions that only compiled code calls: no way in from Python, which takes long to compile.
_INNER: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compilable(function: F) -> F:
    """Mark a plain function as one that compiled code may call."""
    _compilable.append(function)
    return function


def dispatched(function: F) -> F:
    """Return a function that runs the implementation for the kind of its first argument.

    The body of the function given here is the implementation for every kind without its own.
    """
    made = undefined(function)
    _implementations[made, object] = function
    return made


def undefined(function: F) -> F:
    """Return the same for a function that every kind must implement itself."""

    @wraps(function)
    def dispatch(first: Any, *others: Any) -> Any:
        return implementation(dispatch, type(first))(first, *others)

    _dispatched.append(dispatch)
    return dispatch  # type: ignore[return-value]


def implement(
    kind: type,
    functions: Mapping[Callable[..., Any], Callable[..., Any]],
    large: Collection[str] = (),
) -> None:
    """Give a kind its implementations: dispatched function -> implementation.

    Compiled code gets a copy of each where it is called: a call would count references to every
    array of the first argument. The `large` ones, by name, would take too long to compile so.
    """
    for name, function in functions.items():
        _implementations[name, kind] = function
        if name.__name__ in large:
            _large.add((name, kind))


def implementation(name: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """Return the implementation of a dispatched function for a kind."""
    found = _implementations.get((name, kind), _implementations.get((name, object)))
    if found is None:
        raise TypeError(f"{kind.__name__} has no implementation of {name.__name__}")
    return found


def implements(name: Callable[..., Any], kind: type) -> bool:
    """Return whether a kind has an implementation of its own."""
    return (name, kind) in _implementations


def compiled(function: Callable[..., Any], kind: type | None = None) -> Callable[..., Any]:
    """Return the compiled function, from numba's cache on disk if it is there.

    `kind` is the class of the state whose dispatched functions it calls, if it calls any.
    """
    with _lock:
        return _compiled(function, kind)


@cache
def _compiled(function: Callable[..., Any], kind: type | None) -> Callable[..., Any]:
    from numba import njit

    _tell_numba()
    assert isinstance(function, FunctionType)
    named = FunctionType(function.__code__, function.__globals__, function.__name__)
    named.__module__ = function.__module__
    named.__qualname__ = f"{function.__qualname__}_{_digest(function, kind)}"
    # Divisions follow IEEE: the code never divides by zero where the quotient matters.
    options: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
    if getattr(kind, "borrows", False):
        options["_nrt"] = False  # and in all that it calls
    dispatcher: Any = njit(nogil=True, **options)(named)
    if _can_be_found(kind):
        from monmdp.caching import keep_on_disk

        keep_on_disk(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def _can_be_found(kind: type | None) -> bool:
    """Return whether other processes can import a class, as a cache on disk demands."""
    if kind is None:
        return True
    try:
        return operator.attrgetter(kind.__qualname__)(sys.modules[kind.__module__]) is kind
    except (AttributeError, KeyError):  # made within a function, say
        return False


def _tell_numba() -> None:
    """Register everything that was marked since the last call."""
    from numba.extending import overload, register_jitable

    for function in _compilable:
        if function not in _known_to_numba:
            register_jitable(**_INNER)(function)
            _known_to_numba.add(function)
    for function in _dispatched:
        if function not in _known_to_numba:
            for large in (False, True):
                options = _INNER | {"forceinline": not large}
                overload(function, strict=False, jit_options=options)(_chooser(function, large))
            _known_to_numba.add(function)


def _chooser(name: Callable[..., Any], large: bool) -> Callable[..., Any]:
    """Return what numba asks while compiling a dispatched function: what serves this type?"""

    def choose(first: Any, *_: Any) -> Callable[..., Any] | None:
        kind = getattr(first, "instance_class", None)  # of a named tuple's numba type
        if kind is None or ((name, kind) in _large) != large:
            return None
        return _named_apart(implementation(name, kind), kind)

    return choose


@cache
def _named_apart(function: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """Return a function under a name that no other code has.

    numba's symbols hold the names of functions and types, not their modules, and numbers that begin
    anew in every process. Two agents that were compiled in different processes could have the same
    symbol, and a third process that loads both would run the code of the first for the second.
    """
    assert isinstance(function, FunctionType)
    code, closure = function.__code__, function.__closure__
    named = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    named.__module__ = function.__module__
    named.__qualname__ = f"{function.__qualname__}_{_digest(function, kind)}"
    return named


def _digest(function: Callable[..., Any], kind: type | None) -> str:
    """Hash the code that a function can reach, its constants, and the tuples it may be given.

    These are the state, and the named tuples that its module knows. How it is compiled counts, too.
    """
    digest = hashlib.sha256()
    large = sorted(name.__name__ for name, of in _large if of is kind)
    digest.update(f"{_INNER} {large}".encode())
    known = [value for value in function.__globals__.values() if hasattr(value, "_fields")]
    for structure in sorted(repr(_structure(of)) for of in (kind, *known) if isinstance(of, type)):
        digest.update(structure.encode())
    for visited in reached(function, kind):
        digest.update(repr(_content(visited.__code__)).encode())
        for name, value in constants_of(visited):
            digest.update(f"{name}={value}".encode())
    return digest.hexdigest()[:16]


def reached(
    function: Callable[..., Any], kind: type | None, also: tuple[str, ...] = ()
) -> list[Callable[..., Any]]:
    """Return a function and all that it calls and that compiles, as `kind` implements it.

    `also` are beginnings of module names: plain functions of these modules count, too.
    """
    found, to_visit = [function], [function]
    while to_visit:
        for _, value in _globals_of(to_visit.pop()):
            if not isinstance(value, FunctionType):
                continue
            called: Callable[..., Any] = value
            if kind is not None and value in _dispatched:
                called = implementation(value, kind)
            counts = called is not value or value in _compilable
            if (counts or value.__module__.startswith(also)) and called not in found:
                found.append(called)
                to_visit.append(called)
    return found


def constants_of(function: Callable[..., Any]) -> list[tuple[str, str]]:
    """Return the global constants that a function reads, in words."""
    result = []
    for name, value in _globals_of(function):
        if isinstance(value, np.ndarray):
            result.append((name, f"{value.dtype}{value.shape}{value.tobytes().hex()}"))
        elif isinstance(value, bool | int | float | str | tuple | dict):
            result.append((name, repr(value)))
        elif isinstance(value, type) and hasattr(value, "_fields"):
            result.append((name, repr(_structure(value))))
    return result


def _structure(kind: type) -> tuple[Any, ...]:
    """The fields of a named tuple in their order, and of the named tuples in it."""
    try:
        hints = get_type_hints(kind)
    except NameError:  # a type that is imported for type checkers only
        hints = dict(getattr(kind, "__annotations__", {}))
    fields: list[Any] = []
    for name in getattr(kind, "_fields", ()):
        of: Any = hints.get(name)
        fields.append((name, _structure(of) if hasattr(of, "_fields") else repr(of)))
    of_kind = getattr(kind, "Parameters", None)  # of a state: derived from the configuration
    parameters = () if of_kind is None else _structure(of_kind)
    return kind.__module__, kind.__qualname__, fields, *parameters


def _globals_of(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """What the names in a function's code stand for, in its module or in modules it imports."""
    names, found = function.__code__.co_names, []
    for name in names:
        value = function.__globals__.get(name)
        found.append((name, value))
        if isinstance(value, ModuleType):
            found += [(f"{name}.{other}", getattr(value, other, None)) for other in names]
    return found


def _content(code: CodeType) -> tuple[Any, ...]:
    """What a function does, apart from where it stands in its file."""
    constants = [_content(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants


def import_numba() -> None:
    """Import numba for good with the settings that it has now; it would look for others later."""
    from numba.core import config

    config._config_fname = ""
