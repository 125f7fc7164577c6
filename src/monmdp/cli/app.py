"""The app, what its commands have in common, and ``--version``."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

from monmdp import stopping
from monmdp.errors import MonMDPError, nearest
from monmdp.escaping import printable

if TYPE_CHECKING:
    from monmdp.model import MonMDP

INTERVAL = 10.0
"""seconds between two lines of progress where the output is no terminal"""

CHANGES = 0.2
"""seconds between two texts of the line on a terminal"""
LINE = 78
"""letters of a line of progress"""
MOMENT = 1.0
"""seconds that a command may be silent on a terminal"""

_UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # Typer does not export it


class _Commands(TyperGroup):
    """Typer says nothing of an interrupt, and calls it an error if nobody reads any further.

    Of wrong words it says too much: here they are one line, like any other mistake.
    """

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line."""
        try:
            code = super().main(*args, **options | {"standalone_mode": False})
        except _UsageError as error:
            raise MonMDPError(_wrong_words(error)) from None
        sys.exit(code)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a whole sentence for each command."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, of.get_short_help_str(limit=1000)) for name, of in commands.items() if of]
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise MonMDPError(f"no such command {name!r}{nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            try:
                with _sign_of_life(ctx):
                    return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except KeyboardInterrupt:
            stopping.say()
            raise typer.Exit(stopping.CODE) from None
        except BrokenPipeError:
            print_nothing_more()
            raise typer.Exit(0) from None
        except MonMDPError as error:
            known = self.get_command(ctx, ctx.invoked_subcommand or "")
            options = {name for of in known.get_params(ctx) for name in of.opts} if known else ()
            if (option := _option_meant(str(error))) not in options:
                raise
            raise MonMDPError(f"{error}; it is an option here, {option}") from None


def _option_meant(said: str) -> str:
    """Return the option that somebody may have meant by a parameter that is none."""
    missing = re.search(r"no parameter '(\w+)'", said)
    return f"--{missing[1].replace('_', '-')}" if missing else ""


class _Command(TyperCommand):
    """Of an option that is given twice Typer takes the last value and says nothing."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the words of a command."""
        given = self.make_parser(ctx).parse_args(list(args))[2]
        for of in given:
            if given.count(of) > 1 and not (of.multiple or getattr(of, "is_flag", False)):
                name, hint = max(of.opts, key=len), HINTS.get((self.name, of.name), "")
                raise MonMDPError(f"{name} is given twice and takes one value{hint}")
        return super().parse_args(ctx, args)


HINTS: dict[tuple[str | None, str], str] = {
    ("train", "agent"): "; monmdp compare WORLD MONITOR --agents A,B trains several agents",
    ("compare", "agents"): "; names of agents have commas between them",
}
"""command and option -> what somebody wanted who gave it twice"""


class _App(typer.Typer):
    """An app whose commands are of our kind."""

    def command(
        self, name: str | None = None, **options: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Register a command."""
        return super().command(name, cls=_Command, **options)


def print_nothing_more() -> None:
    """Let Python forget what nobody takes; it would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_told = threading.Event()
"""whether a command has said how far it is, lately"""


def tell(text: str, end: str = "\n") -> None:
    """Say how far a command is."""
    print(text, end=end, file=sys.stderr, flush=True)
    _told.set()


@contextmanager
def _sign_of_life(context: Any) -> Iterator[None]:
    """Say now and then that a command is at work, if it has nothing to say itself.

    Who asks for JSON is a program, and gets nothing else.
    """
    over = threading.Event()

    def live() -> None:
        for n in itertools.count(1):
            if over.wait(INTERVAL):
                return
            if not (_told.is_set() or stopping.asked() or "--json" in sys.argv):
                tell(f"{context.invoked_subcommand}: at work for {n * INTERVAL:.0f} s")
            _told.clear()

    thread = threading.Thread(target=live, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _wrong_words(error: Any) -> str:
    """What is wrong with an option or argument, and what would be right."""
    context = error.ctx
    if hasattr(error, "possibilities"):
        known = [name for of in context.command.get_params(context) for name in of.opts]
        options = sorted(name for name in known if name.startswith("--"))
        close = get_close_matches(error.option_name, options, n=1, cutoff=0.7)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(options)}"
        if not close and "words" in (of.name for of in context.command.get_params(context)):
            name = error.option_name.lstrip("-")
            hint = f"as a parameter of world, monitor or agent write {name}=VALUE; options {hint}"
        return f"no such option {error.option_name}; {hint}"
    said = " ".join(error.format_message().split()).rstrip(".")
    for kind, word in (("integer", "whole number"), ("number", "number")):
        pydantic = f"Input should be a valid {kind}, unable to parse string as a"
        said = re.sub(rf"{pydantic}n? {kind}", f"a {word} expected", said)
    more = "" if context is None else f"; see {context.command_path} --help"
    return f"{said[0].lower()}{said[1:]}{more}"


app = _App(
    name="monmdp",
    cls=_Commands,
    help="Monitored MDPs: reinforcement learning when the reward is only sometimes visible.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

World = Annotated[
    str,
    Argument(
        help="A world's name, a map or .umb file, module:object, gymnasium:ID, env:ID, a .npz "
        "problem.",
        show_default=False,
    ),
]
Words = Annotated[
    list[str] | None,
    Argument(
        metavar="MONITOR [KEY=VALUE]...",
        help="A monitor's name or module:object, then parameters such as rho=0.05.",
        show_default=False,
    ),
]
Assignments = Annotated[
    list[str] | None,
    Argument(metavar="[KEY=VALUE]...", help="Parameters of the world.", show_default=False),
]
Axes = Annotated[
    str, Option(help="stated: the paper's, or those of the suite; full: all of every curve.")
]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import monmdp

        print(f"monmdp {monmdp.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def is_problem(world: str) -> bool:
    """Return whether a world is given as a file of a finished problem."""
    return world.endswith(".npz")


def names_of(world: str, words: list[str] | None) -> tuple[str | None, dict[str, str]]:
    """Return the monitor's name, None for the file of a finished problem; and parameters."""
    from monmdp import monitors, worlds
    from monmdp.naming import parse_assignments

    words = list(words or [])
    for word in (world, *words):
        if word.endswith(".parquet"):
            raise MonMDPError(f"{word}: a run, where world and monitor belong; one run at a time")
    if is_problem(world):
        if words and "=" not in words[0]:
            raise MonMDPError(f"{world} is a finished problem; it takes no {words[0]!r}")
        return None, parse_assignments(words)
    if world in monitors.registry and world not in worlds.registry:
        raise MonMDPError(f"{world!r} is a monitor; the world comes first")
    worlds.factory(world)  # an unknown world is reported before a missing monitor
    if not words or "=" in words[0]:
        where = " (it comes before the parameters)" if words else ""
        raise MonMDPError(f"which monitor?{where} one of {', '.join(monitors.registry)}")
    return words[0], parse_assignments(words[1:])


def make_problem(world: str, words: list[str] | None) -> tuple[MonMDP, dict[str, str]]:
    """Make the problem named by WORLD MONITOR [key=value ...] or read it from a .npz file."""
    from monmdp import make
    from monmdp.model import MonMDP

    monitor, params = names_of(world, words)
    if monitor is not None:
        with saying_what_takes_long(f"building {world} / {monitor}") as show:
            return make(world, monitor, **params, **telling(world, show, "world.")), params
    if params:
        raise MonMDPError(f"{world} is a finished problem; it takes no {next(iter(params))!r}")
    with saying_what_takes_long(f"reading {world}"):
        problem = MonMDP.load(world)
        if problem.mdp.observations is not None:
            from monmdp.worlds.enumerating import warn_of_aliases

            warn_of_aliases(problem.mdp)
        return problem, {}


def telling(world: str, show: Callable[[str], None], scope: str = "") -> dict[str, Any]:
    """Return the parameter that lets a world say how far it is, if it takes long to make."""
    from monmdp import worlds

    return {f"{scope}tell": show} if world.startswith(worlds.ENUMERATED) else {}


def title_of(problem: MonMDP, params: Mapping[str, str], gap: str = "  ") -> str:
    """Return the names of a problem and the parameters that were given."""
    given = "".join(f"{gap}{key}={value}" for key, value in params.items())
    return f"{problem.mdp.name} / {problem.monitor.name}{given}"


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(value, indent=2))


def print_facts(facts: Mapping[str, object]) -> None:
    """Print a fact a line, after its name."""
    for name, fact in facts.items():
        print(f"{name:<24} {fact}")


def writable(path: Path, option: str, *suffixes: str) -> Path:
    """Return the path of a file that an option names, or refuse it before any work is done."""
    if path.suffix.lower() not in suffixes:
        raise MonMDPError(f"{option} {path}: the file name must end in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise MonMDPError(f"cannot write {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise MonMDPError(f"cannot write {path}: it is a folder")
    return path


def print_table(
    words: Sequence[str], numbers: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Print rows below headings, first those of words, then those of whole numbers."""
    from monmdp.tables import Column, Table

    columns = [Column(name) for name in words] + [Column(name, form=",.0f") for name in numbers]
    print(Table.of(columns, rows))


def short(value: float) -> str:
    """Return a number with six digits."""
    return f"{value:.6g}"


@contextmanager
def line_of_progress(early: float = 0.0) -> Iterator[Callable[[str], None]]:
    """Show how far it is: one line that changes on a terminal, else a line now and then.

    The first line comes `early` seconds sooner than the others follow. Lines stay where there is no
    terminal, so the same one does not come twice.
    """
    terminal = sys.stderr.isatty()
    begun = last = time.monotonic() - early
    before = ""

    def show(text: str) -> None:
        nonlocal last, before
        if not terminal and text == before:
            return
        if time.monotonic() - last >= (CHANGES if terminal else INTERVAL):
            last, before = time.monotonic(), text
            tell(f"\r{text[:LINE]:<{LINE}}" if terminal else text, end="" if terminal else "\n")

    try:
        yield show
    finally:
        if terminal and last > begun:
            print(f"\r{'':<{LINE}}\r", end="", file=sys.stderr, flush=True)


@contextmanager
def saying_what_takes_long(text: str) -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is done, if it takes more than a moment, and clear it afterwards.

    What is done can say how far it is; that takes the place of the text.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with line_of_progress(early=CHANGES - MOMENT) as show:
        timer = threading.Timer(MOMENT, show, [f"{printable(text)[: LINE - 2]} …"])
        timer.daemon = True
        timer.start()
        try:
            yield show
        finally:
            timer.cancel()
            timer.join()


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Let the fields of a data class that a command takes be options of its own.

    So options that several commands share are described once and handed on together.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            hints |= get_type_hints(groups[name], include_extras=True)
            parameters += signature(groups[name]).parameters.values()
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{of.name: given.pop(of.name) for of in fields(kind)})
        command(**given)

    run.__annotations__ = hints
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [of.replace(annotation=hints[of.name], kind=of.KEYWORD_ONLY) for of in parameters]
    )
    return run
