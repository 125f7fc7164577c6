"""The code of somebody's own agent: the module that defines it, and what that imports.

Installed packages and this one do not count: the versions of the former are on record, and the
latter has hashes of its own.
"""

from __future__ import annotations

import ast
import hashlib
import site
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Source(NamedTuple):
    """A file of Python, under the name by which it is imported."""

    module: str
    path: Path


def code_hash(thing: Any) -> str | None:
    """Return a hash of the module that defines a thing and of all that it imports of its like.

    None if there is no file: the thing was typed in at a prompt, say.
    """
    name = getattr(thing, "__module__", None)
    file = getattr(sys.modules.get(str(name)), "__file__", None)
    if file is None:
        return None
    to_visit, texts = [Source(str(name), Path(file).resolve())], dict[Path, bytes]()
    for source in to_visit:  # grows on the way
        if source.path in texts:
            continue
        try:
            texts[source.path] = source.path.read_bytes()
        except OSError:
            continue
        to_visit += [of for of in _imported(source, texts[source.path]) if of.path not in texts]
    digest = hashlib.sha256()
    for text in sorted(texts.values()):  # wherever the files are, and whatever they are called
        digest.update(hashlib.sha256(text).digest())
    return digest.hexdigest()[:16] if texts else None


def _imported(source: Source, text: bytes) -> Iterator[Source]:
    """The files of its own kind that a file imports, at its beginning or later."""
    try:
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
    """The file of a module that is not installed, if there is one."""
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


@cache
def _installed() -> tuple[Path, ...]:
    """Where packages are installed, and this one."""
    places = [sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [*site.getsitepackages(), site.getusersitepackages()]
    return (*(Path(place).resolve() for place in places), Path(__file__).resolve().parents[1])
