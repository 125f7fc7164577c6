"""The directive ``commands``: every command of the command line, as its ``--help`` tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from monmdp.cli import app as commands

_OPTION = re.compile(r"(--[a-z][\w-]*)")


class Commands(SphinxDirective):
    """A section for each command: usage, what it does, arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Build the sections, in the order of ``monmdp --help``."""
        group: Any = typer.main.get_command(commands)
        context = group.make_context("monmdp", [], resilient_parsing=True)
        return [self._section(group.commands[name], context) for name in group.commands]

    def _section(self, command: Any, parent: Any) -> nodes.section:
        context = type(parent)(command, info_name=command.name, parent=parent)
        name = f"monmdp {command.name}"
        section = nodes.section("", nodes.title("", name), ids=[nodes.make_id(name)])
        self.state.document.note_implicit_target(section, section)
        usage = command.get_usage(context).removeprefix("Usage: ")
        section += nodes.literal_block("", " ".join(usage.split()), language="text")
        for paragraph in (command.help or "").split("\n\n"):
            section += nodes.paragraph("", "", *_inline(paragraph))
        parameters = command.get_params(context)
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = [_row(of, context) for of in parameters if of.param_type_name == kind]
            if rows:
                section += nodes.rubric("", title)
                section += nodes.definition_list("", *rows)
        return section


def _row(parameter: Any, context: Any) -> nodes.definition_list_item:
    """One argument or option, and the text of ``--help`` about it."""
    term, text = parameter.get_help_record(context)
    return nodes.definition_list_item(
        "",
        nodes.term("", "", nodes.literal("", term)),
        nodes.definition("", nodes.paragraph("", "", *_inline(text))),
    )


def _inline(text: str) -> Iterator[nodes.Node]:
    """Text in which options and the value of ``[default: …]`` are set as code."""
    text = " ".join(text.split())
    before, bracket, default = text.rpartition("[default: ")
    words, default = (before.strip(), default.removesuffix("]")) if bracket else (text, "")
    for part in _OPTION.split(words):
        yield nodes.literal("", part) if part.startswith("--") else nodes.Text(part)
    if default.startswith("("):  # words, not a value
        yield nodes.Text(f" Default: {default.strip('()')}.")
    elif default:
        yield from (nodes.Text(" Default: "), nodes.literal("", default), nodes.Text("."))


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
