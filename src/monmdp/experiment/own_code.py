"""The code of an agent in plain Python: the module that defines it, and what that imports.

Installed packages and this one do not count: the versions of the former are on record, and the
latter has hashes of its own. Deep agents of this package are agents in plain Python, too: of the
modules ``monmdp.agents.deep*`` everything counts but comments, docstrings and layout.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import site
import sys
import sysconfig
import threading
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parents[1]
"""where this package is"""
DEEP = "agents", "deep"
"""the folder of the deep agents, and how the names of their modules begin"""
_parsing = threading.Lock()
"""Python 3.11 counts how deep it is in a tree for all threads at once, and takes fright"""


class Source(NamedTuple):
    """A file of Python, under the name by which it is imported."""

    module: str
    path: Path


def code_hash(thing: Any) -> str | None:
    """Return a hash of the module that defines a thing and of all that it imports of its like.

    None if there is no file: the thing was typed in at a prompt, say.
    """
    name = str(getattr(thing, "__module__", None))
    file = getattr(sys.modules.get(name), "__file__", None)
    return None if file is None else _hash_from(Source(name, Path(file).resolve()))


def module_hash(name: str) -> str | None:
    """Return the same for what a module of this package defines, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return None
    return _hash_from(Source(name, Path(spec.origin).resolve()))


def _hash_from(first: Source) -> str | None:
    to_visit, texts = [first], dict[Path, bytes]()
    for source in to_visit:  # grows on the way
        if source.path in texts:
            continue
        try:
            text = source.path.read_bytes()
        except OSError:
            continue
        texts[source.path] = essence(text.decode()).encode() if _is_deep(source.path) else text
        to_visit += [of for of in _imported(source, text) if of.path not in texts]
    digest = hashlib.sha256()
    for text in sorted(texts.values()):  # wherever the files are, and whatever they are called
        digest.update(hashlib.sha256(text).digest())
    return digest.hexdigest()[:16] if texts else None


def essence(text: str) -> str:
    """Return a program without comments, docstrings and layout, alike for all Pythons."""
    words: list[str] = []
    begins = True  # nothing of the statement has been read yet
    # Newer Pythons split strings with braces into parts, and give the braces that are meant.
    part_of_string = getattr(tokenize, "FSTRING_MIDDLE", None)
    marks = {tokenize.INDENT: "{", tokenize.DEDENT: "}", tokenize.NEWLINE: ";"}
    for kind, word, *_ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
            continue
        if kind == tokenize.NEWLINE and begins:  # of a docstring
            continue
        if kind in marks:
            words.append(marks[kind])
            begins = True
        elif not (begins and kind == tokenize.STRING):  # a statement of its own: a docstring
            if kind == part_of_string:
                word = word.replace("{", "{{").replace("}", "}}")
            words.append(word)
            begins = False
    # The parts come without the spaces between them.
    return "".join("".join(words).split())


def _imported(source: Source, text: bytes) -> Iterator[Source]:
    """The files of its own kind that a file imports, at its beginning or later."""
    try:
        with _parsing:
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    is_package = source.path.name == "__init__.py"
    package = source.module if is_package else source.module.rpartition(".")[0]
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            base = parts[: len(parts) - node.level + 1] if node.level else []
            names = [".".join(filter(None, (*base, node.module, of.name))) for of in node.names]
        for name in names:
            # Every package on the way runs, too; what a name stands for inside a module does not.
            words = name.split(".")
            for n in range(1, len(words) + 1):
                path = _file_of(".".join(words[:n]), source)
                if path is not None:
                    yield Source(".".join(words[:n]), path)


def _file_of(module: str, importer: Source) -> Path | None:
    """The file of a module that is not installed, or of a deep agent, if there is one."""
    first, *inside = module.split(".")
    if first == PACKAGE.name:
        stem = PACKAGE.joinpath(*inside)
        files = (stem.with_suffix(".py"), stem / "__init__.py")
        return next((path for path in files if _is_deep(path) and path.is_file()), None)
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded is not None:
        found = Path(loaded).resolve()
        return found if _is_own(found) else None
    depth = len(importer.module.split(".")) - (importer.path.name != "__init__.py")
    beside = importer.path.parents[depth] if importer.module in sys.modules else None
    for folder in (importer.path.parent, beside, *map(Path, sys.path)):
        stem = (folder or Path()).resolve().joinpath(*module.split("."))
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                return path if _is_own(path) else None
    return None


def _is_own(path: Path) -> bool:
    return path.suffix == ".py" and not any(path.is_relative_to(place) for place in _installed())


def _is_deep(path: Path) -> bool:
    folder, beginning = DEEP
    place = PACKAGE / folder
    return path.is_relative_to(place) and path.relative_to(place).parts[0].startswith(beginning)


@cache
def _installed() -> tuple[Path, ...]:
    """Where packages are installed, and this one."""
    places = [sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [*site.getsitepackages(), site.getusersitepackages()]
    return (*(Path(place).resolve() for place in places), PACKAGE)
