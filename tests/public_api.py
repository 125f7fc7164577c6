"""The public API in words: names, signatures, commands and their options.

python tests/public_api.py rewrites tests/public_api.txt, which `test_public_api.py` compares.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FunctionType

import typer

import monmdp
from monmdp.api import Options
from monmdp.cli import app

FILE = Path(__file__).with_suffix(".txt")
VERBS = (
    "make", "join", "solve", "evaluate", "train", "compare", "bench", "run_suite", "reproduce",
    "write_report", "load_run", "load_results",
)  # fmt: skip
NOUNS = ("MDP", "Monitor", "MonMDP", "Policy", "Run", "Results")


def described() -> str:
    """Return the public API, a name a line."""
    parts = [("monmdp", sorted(monmdp.__all__))]
    parts += [(f"monmdp.{name}", _members(name)) for name in _modules()]
    parts += [("verbs", [_signature(name) for name in VERBS])]
    parts += [(name, _inside(getattr(monmdp, name))) for name in NOUNS]
    parts += [("options of run_suite and reproduce", sorted(Options.__annotations__))]
    parts += [(f"$ monmdp {name}", lines) for name, lines in _commands().items()]
    texts = ["\n    ".join([title, *lines]) + "\n" for title, lines in parts]
    return "\n".join(texts)


def _modules() -> list[str]:
    return [name for name in sorted(monmdp.__all__) if inspect.ismodule(getattr(monmdp, name))]


def _members(name: str) -> list[str]:
    module = importlib.import_module(f"monmdp.{name}")
    public = getattr(module, "__all__", None)
    if public is None:  # a single file: what it defines
        public = [
            of
            for of, thing in vars(module).items()
            if not of.startswith("_") and getattr(thing, "__module__", "") == module.__name__
        ]
    return sorted(public)


def _signature(name: str) -> str:
    """A verb with its parameters and defaults, without types."""
    words, starred = [], False
    for parameter in inspect.signature(getattr(monmdp, name)).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            words.append(f"*{parameter.name}")
            starred = True
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            words.append(f"**{parameter.name}")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        words.append(f"{parameter.name}{default}")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            words.append("/")
    return f"{name}({', '.join(words)})"


def _inside(kind: type) -> list[str]:
    """The public fields, properties and methods of a class."""
    names = {name for base in kind.__mro__[:-1] for name in vars(base) if not name.startswith("_")}
    if is_dataclass(kind):
        names |= {field.name for field in fields(kind)}
    called = (FunctionType, classmethod, staticmethod)
    static = {name: inspect.getattr_static(kind, name, None) for name in names}
    return sorted(f"{of}()" if isinstance(static[of], called) else of for of in names)


def _commands() -> dict[str, list[str]]:
    """Command -> its arguments and options, with defaults."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():
        lines = []
        for parameter in command.params:
            named = parameter.param_type_name == "option"
            words = ", ".join(parameter.opts) if named else parameter.name.upper()
            default = parameter.default
            plain = default is None or default is False or callable(default) or default == ()
            lines.append(words if plain else f"{words}  [{default}]")
        found[name] = lines
    return found


if __name__ == "__main__":
    FILE.write_text(described(), encoding="utf-8")
    print(f"written: {FILE}")
