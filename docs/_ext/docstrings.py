"""Docstrings are written for readers of the code; here they become reStructuredText."""

# ruff: noqa: ARG001 (Sphinx hands more to a listener than each of them needs)

from __future__ import annotations

import dataclasses
import re
from typing import Any

from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef

from monmdp.agents import KINDS

_OF_A_TUPLE = re.compile(r"Alias for field number \d+")
_ARRAY = re.compile(
    r"~?numpy\.ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?numpy\.dtype\[~?numpy\.(\w+)\]\]"
)
_ARRAYS = {"float64": "FloatArray", "int64": "IntArray", "bool": "BoolArray"}
_COLON = "\ue000"
_HYPER_PARAMETERS = {field.name for kind in KINDS.values() for field in dataclasses.fields(kind)}


def _before(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let |S| be a size, no substitution, and a colon after a field's first words a colon."""
    if lines and _OF_A_TUPLE.fullmatch(lines[0]):  # a field without a text of its own
        lines.clear()
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("`")
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "`".join(parts)
    if lines and what in ("attribute", "data", "property"):
        # napoleon takes what stands before it for a type
        lines[0] = lines[0].replace(":", _COLON)


def _after(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put the colons back, when napoleon is done."""
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Show an agent's hyper-parameters; the methods are those of `AgentConfig`."""
    if "AgentConfig" in (options.get("inherited_members") or ()):
        return name not in _HYPER_PARAMETERS
    return True if name == "model_config" else None


def _signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Name arrays as the code does, and leave out what pydantic writes."""
    if isinstance(obj, type) and issubclass(obj, BaseModel):
        return "", ""  # the fields below say it better
    if not signature:
        return None
    return _ARRAY.sub(_alias, signature), _ARRAY.sub(_alias, returns or "")


def _alias(array: re.Match[str]) -> str:
    return _ARRAYS.get(array[1], array[0])


# Else ``ArrayLike | None`` reads ``TypeAliasForwardRef('ArrayLike') | None``.
TypeAliasForwardRef.__repr__ = lambda self: str(self.name)  # type: ignore[method-assign]


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen to autodoc, before and after napoleon, which has the usual priority of 500."""
    app.connect("autodoc-process-docstring", _before, priority=400)
    app.connect("autodoc-process-docstring", _after, priority=600)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
