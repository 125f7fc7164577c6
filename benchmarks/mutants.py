"""Do the tests notice? Changes one place of the code at a time and runs the tests that are near it.

    python benchmarks/mutants.py --count 60
    python benchmarks/mutants.py --count 60 --before ../monmdp-of-last-month

A mutant is one comparison, operator, constant or condition of a function, changed. It is drawn at
random, at most one for each function. Tests run in a copy of the tree: the core tests of the folder
of the same name; if these notice nothing, its slow ones; then all core tests. With `--before`, only
functions are taken whose text is the same in an earlier tree. Where the core tests notice nothing,
the earlier tests are run on the same change: what they notice and no test does today was lost.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FOLDERS = (
    "catalogue.py", "drawing", "envs", "experiment", "files.py", "model", "monitors", "naming.py",
    "planning", "results", "stats.py", "suites", "tables.py", "theory", "worlds", "agents",
)  # fmt: skip
SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.And: ast.Or,
    ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Div: ast.Mult,
}  # fmt: skip
SECONDS = 1800
CORE = "not slow and not browser and not deep"


class Mutant(NamedTuple):
    """One change: the lines of a function, before and after."""

    path: Path
    """relative to src/monmdp"""
    function: str
    before: str
    after: str
    what: str


def functions(path: Path) -> dict[str, str]:
    """Return the text of every function of a file, by its qualified name."""
    text = path.read_text(encoding="utf-8")
    found: dict[str, str] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if isinstance(child, ast.FunctionDef):
                    found[name] = ast.get_source_segment(text, child) or ""
                visit(child, f"{name}.")

    visit(ast.parse(text), "")
    return found


def changes(source: str) -> Iterator[tuple[str, str]]:
    """Yield texts of a function with one place changed, and what was changed."""
    for number, _ in enumerate(ast.walk(ast.parse(source))):
        yield from _changed(source, number)


def _changed(source: str, number: int) -> Iterator[tuple[str, str]]:
    fresh = ast.parse(source)
    copy = list(ast.walk(fresh))[number]
    what = ""
    if isinstance(copy, ast.Compare) and type(copy.ops[0]) in SWAPPED:
        was = ast.unparse(copy)
        copy.ops[0] = SWAPPED[type(copy.ops[0])]()
        what = f"{was} → {ast.unparse(copy)}"
    elif isinstance(copy, ast.BinOp | ast.BoolOp) and type(copy.op) in SWAPPED:
        if isinstance(copy, ast.BinOp) and _has_text(copy):
            return
        was = ast.unparse(copy)
        copy.op = SWAPPED[type(copy.op)]()
        what = f"{was} → {ast.unparse(copy)}"
    elif isinstance(copy, ast.Constant) and type(copy.value) in (int, float):
        was = copy.value
        copy.value = copy.value + 1
        what = f"{was} → {copy.value}"
    elif isinstance(copy, ast.If | ast.IfExp):
        was = ast.unparse(copy.test)
        copy.test = ast.UnaryOp(ast.Not(), copy.test)
        what = f"if {was} → if not"
    if what:
        yield ast.unparse(ast.fix_missing_locations(fresh)), what


def _has_text(node: ast.AST) -> bool:
    """Whether strings are put together: such a change only breaks a message."""
    return any(isinstance(of, ast.Constant) and isinstance(of.value, str) for of in ast.walk(node))


def drawn(count: int, seed: int, before: Path | None) -> list[Mutant]:
    """Draw mutants, spread over the folders."""
    rng = random.Random(seed)
    package = ROOT / "src" / "monmdp"
    groups = []
    for name in FOLDERS:
        paths = [package / name] if name.endswith(".py") else sorted((package / name).glob("*.py"))
        candidates = []
        for path in paths:
            others = _texts(before) if before is not None else None
            for function, text in functions(path).items():
                if others is None or text in others:
                    candidates.append((path.relative_to(package), function, text))
        rng.shuffle(candidates)
        groups.append(candidates)
    mutants: list[Mutant] = []
    while len(mutants) < count and any(groups):
        for candidates in groups:
            if not candidates or len(mutants) == count:
                continue
            path, function, text = candidates.pop()
            made = list(changes(_dedented(text)))
            if made:
                after, what = rng.choice(made)
                mutants.append(Mutant(path, function, text, after, what))
    return mutants


_known: dict[Path, dict[str, Path]] = {}


def _texts(tree: Path) -> dict[str, Path]:
    """Text of a function -> its file, in another tree."""
    if tree not in _known:
        _known[tree] = {
            text: path
            for path in (tree / "src" / "monmdp").rglob("*.py")
            for text in functions(path).values()
        }
    return _known[tree]


def _dedented(text: str) -> str:
    first, *rest = text.split("\n")
    depth = min((len(of) - len(of.lstrip()) for of in rest if of.strip()), default=4) - 4
    return "\n".join([first, *(of[max(depth, 0) :] for of in rest)])


@contextmanager
def applied(tree: Path, mutant: Mutant) -> Iterator[list[str]]:
    """Change a tree while the context lasts; yield the tests near the change."""
    path = tree / "src" / "monmdp" / mutant.path
    if not path.exists() or mutant.before not in path.read_text(encoding="utf-8"):
        path = _texts(tree)[mutant.before]
    text = path.read_text(encoding="utf-8")
    depth = len(text[: text.index(mutant.before)].rpartition("\n")[2])
    indented = mutant.after.replace("\n", "\n" + " " * depth)
    path.write_text(text.replace(mutant.before, indented, 1), encoding="utf-8")
    try:
        yield near(tree, mutant)
    finally:
        path.write_text(text, encoding="utf-8")


def _noticed_by(tree: Path, mutant: Mutant) -> str:
    """Return which tests notice a mutant: core, slow, nobody."""
    with applied(tree, mutant) as tests:
        if noticed(tree, tests, CORE):
            return "core"
        if noticed(tree, tests, "slow"):
            return "slow"
        return "core" if noticed(tree, ["tests", "-n", "2"], CORE) else "nobody"


def near(tree: Path, mutant: Mutant) -> list[str]:
    """Return the tests near a mutant: those of the folder of the same name."""
    name = mutant.path.parts[0].removesuffix(".py")
    found = list((tree / "tests").rglob(f"test_{name}*.py"))
    found += sorted((tree / "tests" / name).glob("test_*.py"))
    words = {"results": ("claims", "evidence", "steps", "comparison", "results"),
             "agents": ("agents", "monitored", "rivals", "explorers", "factored"),
             "suites": ("suites",), "experiment": ("experiment", "rollout"),
             "drawing": ("drawing", "drawing_arrays", "charts"), "stats": ("statistics",),
             "envs": ("envs", "vector"), "catalogue": ("model", "cli"), "files": ("results",),
             "tables": ("steps", "report"), "monitors": ("monitors", "adversarial")}  # fmt: skip
    if not (tree / "tests" / name).exists():
        found += [path for word in words.get(name, ()) for path in
                  (tree / "tests").rglob(f"test_{word}.py")]  # fmt: skip
    return sorted({str(path) for path in found})


def noticed(tree: Path, tests: list[str], which: str) -> bool:
    """Run tests; return whether one fails."""
    if not tests:
        return False
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", which]
    try:
        done = subprocess.run(
            [*words, *tests], cwd=tree, env=environment, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)


def _copied(tree: Path, place: Path) -> Path:
    """Copy what the tests need of a tree."""
    for name in ("src", "tests", "docs", "examples", "benchmarks"):
        ignored = shutil.ignore_patterns("_build", "__pycache__")
        shutil.copytree(tree / name, place / name, ignore=ignored)
    for path in tree.iterdir():
        if path.is_file():
            shutil.copy(path, place / path.name)
    me = ("-c", "user.name=mutants", "-c", "user.email=mutants@localhost")
    for words in (["init"], ["add", "src"], [*me, "commit", "--quiet", "--message", "a copy"]):
        subprocess.run(["git", *words], cwd=place, check=True)  # reports name the commit
    return place


def main() -> None:
    """Draw mutants, run the tests, print who noticed what."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--before", type=Path, help="an earlier tree, with its tests")
    args = parser.parse_args()
    before = None if args.before is None else args.before.resolve()
    counts = {"core": 0, "slow": 0, "nobody": 0, "lost": 0}
    with tempfile.TemporaryDirectory() as folder:
        trees = {"now": _copied(ROOT, Path(folder) / "now")}
        if before is not None:
            trees["before"] = _copied(before, Path(folder) / "before")
        for mutant in drawn(args.count, args.seed, trees.get("before")):
            by, told = _noticed_by(trees["now"], mutant), ""
            if before is not None and by != "core":
                with applied(trees["before"], mutant) as tests:
                    was = noticed(trees["before"], tests, "not browser and not deep")
                told = f"before: {'noticed' if was else 'not'}"
                counts["lost"] += was and by == "nobody"
            counts[by] += 1
            print(f"{by:<8}{told:<18}{mutant.path} {mutant.function}: {mutant.what}", flush=True)
    print(counts)


if __name__ == "__main__":
    main()
