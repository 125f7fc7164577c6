"""Runs that are kept line by line, so that a benchmark goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import joblib

Run = dict[str, Any]


def kept(path: Path) -> list[Run]:
    """Return the runs in a file, none if there is no file; its folder is made.

    Half a line at the end, of a run that was stopped while it was written, is taken off the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text("utf-8") if path.is_file() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def done(
    path: Path, function: Callable[..., Run], todo: Iterable[tuple[Any, ...]], jobs: int
) -> Iterator[Run]:
    """Yield what a function returns for each of its arguments, once it is a line of the file."""
    at_work = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    for run in at_work(joblib.delayed(function)(*of) for of in todo):
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
        yield run
