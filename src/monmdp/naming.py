"""Names and parameters: how ``"bottleneck"`` and ``rho=0.05`` become a factory and its arguments.

A factory is a plain function with annotated keyword parameters. Its signature is the only
description of its parameters there is: what can be given, of which type, with which default.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from monmdp.errors import MonMDPError, nearest, told

T = TypeVar("T")
WANTED = {bool: "true or false", int: "a whole number", float: "a number"}
"""types that are written as a word -> what they are, for messages"""
MOST_NAMES = 20
"""names of a module that an error lists"""


@dataclass(frozen=True)
class Parameter:
    """One keyword parameter of a factory."""

    name: str
    annotation: Any
    default: Any
    needed: bool = False
    """it has no default"""

    def __str__(self) -> str:
        """Write it as one would on the command line, with its default and the choices."""
        default = "" if self.default is None else str(self.default)
        if isinstance(self.default, bool):
            default = default.lower()
        return f"{self.name}={'|'.join(map(str, _choices(self.annotation))) or default}"

    def coerce(self, value: Any, where: str) -> Any:
        """Return `value` (a string from the command line, or an object) as the annotated type."""
        if self.annotation is Any:
            return _literal(value)
        is_union = typing.get_origin(self.annotation) in (typing.Union, types.UnionType)
        kinds = typing.get_args(self.annotation) if is_union else (self.annotation,)
        if value is None and type(None) in kinds:
            return None
        choices = _choices(self.annotation)
        if choices and value not in choices:
            close = nearest(str(value), map(str, choices))
            raise MonMDPError(f"{where}: {self.name}={value!r}{close}")
        simple = [kind for kind in WANTED if kind in kinds]
        for kind in simple:
            converted = _convert(value, kind)
            if converted is not None:
                return converted
        if isinstance(value, str) and value.lower() in ("none", "null") and type(None) in kinds:
            return None
        if simple and all(kind in (*simple, type(None)) for kind in kinds):
            raise MonMDPError(f"{where}: {self.name} must be {WANTED[simple[-1]]}, got {value!r}")
        return value


@dataclass(frozen=True)
class Scope:
    """The parameters of one thing that is being made."""

    what: str
    """its name, for messages: ``monitor 'button'``"""
    parameters: Mapping[str, Parameter]
    open_ended: bool = False
    """the factory also takes keys that its signature does not name (``**kwargs``)"""


def scope_of(factory: Callable[..., Any], what: str) -> Scope:
    """Read the keyword parameters of a factory from its signature."""
    _demand_decorated(getattr(factory, "func", factory))
    plain = inspect.isroutine(factory) or isinstance(factory, type | partial)
    try:
        found = _read_once(factory) if plain else _read(factory)
    except (TypeError, ValueError):
        raise MonMDPError(f"{what} is not a function with named parameters") from None
    return Scope(what, *found)


def _read(factory: Callable[..., Any]) -> tuple[Mapping[str, Parameter], bool]:
    """Parameters by name, and whether it also takes others."""
    signature = inspect.signature(factory)
    target, bound = factory, set[str]()
    while isinstance(target, partial):
        bound |= target.keywords.keys()
        target = target.func
    # A dataclass inherits fields whose types are named where they were written, not here.
    plain_class = inspect.isclass(target) and not is_dataclass(target)
    try:
        hints = typing.get_type_hints(target.__init__ if plain_class else target)
    except (NameError, TypeError):
        hints = {}
    parameters = {}
    open_ended = False
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            open_ended = True
        elif p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in bound:
            needed = p.default is p.empty
            default = None if needed else p.default
            parameters[p.name] = Parameter(p.name, hints.get(p.name, Any), default, needed)
    return parameters, open_ended


def _demand_decorated(target: Any) -> None:
    """Refuse a class derived from a dataclass whose own parameters would not be any."""
    if not inspect.isclass(target) or not is_dataclass(target):
        return
    if "__dataclass_fields__" not in vars(target):
        own = inspect.get_annotations(target)
        if names := [name for name, kind in own.items() if "ClassVar" not in str(kind)]:
            raise MonMDPError(
                f"{target.__name__} is derived from a dataclass and is none itself, so "
                f"{', '.join(names)} cannot be set: put @dataclass(eq=False) above the class"
            )


_read_once = lru_cache(maxsize=1000)(_read)
"""suites ask a few factories thousands of times, and type hints are slow to read"""


def assign(given: Mapping[str, Any], scopes: Mapping[str, Scope]) -> dict[str, dict[str, Any]]:
    """Sort keys into scopes: ``key`` where it fits exactly one, ``scope.key`` where it says so.

    Unknown and ambiguous keys are errors that name the nearest match.
    """
    result: dict[str, dict[str, Any]] = {name: {} for name in scopes}
    for key, value in given.items():
        prefix, dot, name = key.partition(".")
        if not dot:
            meant, name = dict(scopes), key
        elif prefix in scopes:
            meant = {prefix: scopes[prefix]}
        elif len(scopes) == 1:
            only = next(iter(scopes.values())).what
            raise MonMDPError(f"{key!r}: there is only {only} here; write {name}=…")
        else:
            raise MonMDPError(f"unknown prefix in {key!r}{nearest(prefix, scopes)}")
        owners = [s for s, scope in meant.items() if name in scope.parameters]
        owners = owners or [s for s, scope in meant.items() if scope.open_ended]
        all_named = " and ".join(meant[s].what for s in owners or meant)
        if not owners:
            names = {k for scope in meant.values() for k in scope.parameters}
            verb = "have" if len(meant) > 1 else "has"
            raise MonMDPError(f"{all_named} {verb} no parameter {name!r}{nearest(name, names)}")
        if len(owners) > 1:
            ways = " or ".join(f"{owner}.{key}=…" for owner in owners)
            raise MonMDPError(f"{key!r} is ambiguous: {all_named} both have it; write {ways}")
        (owner,) = owners
        if name in result[owner]:
            raise MonMDPError(f"{name!r} is given twice for {all_named}")
        parameter = scopes[owner].parameters.get(name)
        result[owner][name] = parameter.coerce(value, all_named) if parameter else _literal(value)
    return result


def call(factory: Callable[..., T], what: str, params: Mapping[str, Any]) -> T:
    """Check and coerce `params` against the factory's signature, then call it."""
    scope = scope_of(factory, what)
    arguments = assign(params, {"": scope})[""]
    lacking = [p.name for p in scope.parameters.values() if p.needed and p.name not in arguments]
    if lacking:
        raise MonMDPError(f"{what} needs {', '.join(f'{name}=…' for name in lacking)}")
    with told(what):
        try:
            return factory(**arguments)
        except MonMDPError as error:
            raise MonMDPError(f"{what}: {error}") from None


class Registry(Generic[T]):
    """Factories by name. Iterates over the names.

    >>> from monmdp import monitors, worlds
    >>> "button" in monitors.registry, list(worlds.registry)[:2]
    (True, ['empty', 'hazard'])
    """

    def __init__(self, kind: str, produces: type[T]) -> None:
        """`kind` is the word used in messages; `produces` is what every factory must return."""
        self.kind = kind
        self.produces = produces
        self._factories: dict[str, Callable[..., T]] = {}

    def register(self, name: str, factory: Callable[..., T]) -> None:
        """Add a factory under a new name.

        >>> from monmdp.naming import Registry
        >>> tiny = Registry("number", int)
        >>> tiny.register("one", lambda: 1)
        >>> tiny.factory("one")()
        1
        """
        if name in self._factories:
            raise MonMDPError(f"{_a(self.kind)} named {name!r} is registered already")
        self._factories[name] = factory

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __contains__(self, name: object) -> bool:
        return name in self._factories

    def factory(self, name: str) -> Callable[..., T]:
        """Return the factory of a registered name, or an object by `import_object`."""
        if name in self._factories:
            return self._factories[name]
        if ":" in name:
            found = import_object(name, self.kind)
            if isinstance(found, self.produces):
                return lambda: found
            if callable(found):
                return found  # type: ignore[no-any-return]
            raise MonMDPError(
                f"{name} is {_a(type(found).__name__)}; {_a(self.kind)} is a function that "
                f"returns {_a(self.produces.__name__)}"
            )
        if name.endswith(".py"):
            raise MonMDPError(f"{name}: name the object in it, too, as {name}:object")
        raise MonMDPError(f"unknown {self.kind} {name!r}{nearest(name, self)}")

    def checked(self, made: Any, what: str) -> T:
        """Demand that a factory returned what it should."""
        if not isinstance(made, self.produces):
            got, wanted = _a(type(made).__name__), _a(self.produces.__name__)
            raise MonMDPError(f"{what} returned {got}; {wanted} expected")
        return made


@contextmanager
def looking_in(*folders: str | os.PathLike[str] | None) -> Iterator[None]:
    """Also look for names in these folders while the context lasts.

    A suite looks beside its own file. A worker process must enter the same context.
    """
    global _folders
    before = _folders
    _folders = (*(Path(folder) for folder in folders if folder is not None), *before)
    try:
        yield
    finally:
        _folders = before


def import_trusted(name: str, kind: str, trusted: Collection[str]) -> Any:
    """Import ``module:object`` that stands in somebody's data, if the user trusts the module.

    The object must be one that the module itself defines: what it imports, such as ``os.system``,
    was not meant.
    """
    module, _, attribute = name.rpartition(":")
    if module not in trusted:
        raise UntrustedError(f"{name} is not imported: the module {module!r} is not trusted")
    found = import_object(name, kind)
    if module_of(found) != module or getattr(found, "__qualname__", None) != attribute:
        raise UntrustedError(f"{name} is not used: {module} does not define {attribute!r}")
    return found


def demand_modules(names: Iterable[str]) -> None:
    """Import modules that the user trusts; an error if one is not there."""
    here = [Path.cwd()]
    for name in names:
        with told(f"the module {name!r}"):
            _import_from(here, partial(_import_module, name, "agent", here))


class UntrustedError(MonMDPError):
    """Data name code that the user has not said may be run."""


def module_of(thing: Any) -> str:
    """Return the name of the module that defines a thing; that of a file without its folder."""
    name = str(getattr(thing, "__module__", ""))
    return _file_modules.get(name, name)


_file_modules: dict[str, str] = {}
"""modules that were imported from a file: name in this process -> name of the file"""
_folders: tuple[Path, ...] = ()
"""where `looking_in` says to look"""
_folder_of: dict[str, Path] = {}
"""modules that came from such a folder; another folder may have one of the same name"""


def import_object(name: str, kind: str, folders: Iterable[str | os.PathLike[str]] = ()) -> Any:
    """Import ``module:object`` or ``path/to/file.py:object``.

    Modules are looked for among those that Python finds, in the working directory, and in
    `folders`, which are on Python's path only while this runs. A path may be relative to any of
    them.
    """
    here = Path.cwd()
    places = [here, *(folder.resolve() for folder in (*map(Path, folders), *_folders))]
    module_name, _, attribute = name.rpartition(":")
    try:
        if module_name.endswith(".py"):
            file = _find_file(module_name, places)
            module = _import_from([here, file.parent, *places[1:]], lambda: _import_file(file))
        else:
            module = _import_from(places, lambda: _import_module(module_name, kind, places))
    except MonMDPError as error:
        raise MonMDPError(f"{name}: {error}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit, too
        raise MonMDPError(
            f"{name}: importing it failed, {type(error).__name__}: {error}"
        ) from error
    if not hasattr(module, attribute):
        names = [n for n in vars(module) if not n.startswith("_")]
        close = nearest(attribute, names) if len(names) <= MOST_NAMES else ""
        origin = getattr(module, "__file__", None)
        where = f" (imported from {origin})" if origin else ""
        raise MonMDPError(f"{module_name}{where} has no {attribute!r}{close}")
    return getattr(module, attribute)


def _import_from(places: list[Path], import_it: Callable[[], types.ModuleType]) -> types.ModuleType:
    """Import with these places on the path; modules from other folders give way.

    The first place, the working directory, stays there.
    """
    if str(places[0]) not in sys.path:
        sys.path.append(str(places[0]))
    stale = [top for top, folder in _folder_of.items() if folder not in places]
    for key in [key for key in sys.modules if key.split(".")[0] in stale]:
        del sys.modules[key]
    for top in stale:
        del _folder_of[top]
    path, before = list(sys.path), set(sys.modules)
    sys.path.extend(map(str, places[1:]))
    try:
        return import_it()
    finally:
        sys.path[:] = path
        for top in set(sys.modules) - before:
            folder = _folder(sys.modules[top])
            if "." not in top and folder in places[1:] and str(folder) not in path:
                _folder_of[top] = folder


def _folder(module: types.ModuleType) -> Path:
    """The folder in which Python found a top-level module."""
    file = Path(getattr(module, "__file__", None) or "")
    return file.parent.parent if file.name == "__init__.py" else file.parent


def _import_module(name: str, kind: str, places: list[Path]) -> types.ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise MonMDPError(
            f"{name!r} is not a module name; {_a(kind)} of your own is module:object or "
            "path/to/file.py:object"
        )
    top = name.split(".")[0]
    if top not in sys.modules:
        importlib.invalidate_caches()  # the file may be new
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and top != error.name.split(".")[0]:
            raise
        raise MonMDPError(f"there is no module {name!r}; {_looked_in(places)}") from None


def _find_file(path: str, places: list[Path]) -> Path:
    for place in places:
        if (place / path).is_file():
            return (place / path).resolve()
    raise MonMDPError(f"there is no file {path}; {_looked_in(places)}")


def _import_file(file: Path) -> types.ModuleType:
    """Import a file under a name of its own, so that two files may share one."""
    name = f"{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    _file_modules[name] = file.stem
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _looked_in(places: list[Path]) -> str:
    return f"looked in {', '.join(dict.fromkeys(map(str, places)))}"


def parse_assignments(words: Iterable[str]) -> dict[str, str]:
    """Turn ``["rho=0.05", "monitor.start=uniform"]`` into a mapping."""
    result: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise MonMDPError(f"{word!r}: parameters are written key=value")
        if key in result:
            raise MonMDPError(f"{key!r} is given twice")
        result[key] = value
    return result


def _a(name: str) -> str:
    """Put the article before a name: an MDP, a Monitor."""
    return f"an {name}" if name == "MDP" or name[0] in "aeioAEIO" else f"a {name}"


def _choices(annotation: Any) -> tuple[Any, ...]:
    return typing.get_args(annotation) if typing.get_origin(annotation) is Literal else ()


def _convert(value: Any, kind: type) -> Any:
    """Return `value` as a bool, int or float, or None where it is none."""
    if kind is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(value, str):
            return words.get(value.lower())
        return value if value in (True, False) else None
    if isinstance(value, bool):
        return None
    try:
        if kind is int and isinstance(value, str) and not value.strip().lstrip("+-").isdigit():
            value = float(value)  # 2e6 is a whole number, too
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if kind is int and not isinstance(value, str) and number != value:
        return None
    return number


def _literal(value: Any) -> Any:
    """Guess the type of a value whose parameter has no annotation."""
    if not isinstance(value, str):
        return value
    word = value.capitalize()
    try:
        return ast.literal_eval(word if word in ("True", "False", "None") else value)
    except (ValueError, SyntaxError):
        return value
