"""The page: one file with everything in it, which asks nobody for anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from monmdp.files import write_whole
from monmdp.report.content import Content, content
from monmdp.report.packing import script_json
from monmdp.report.sources import collect

STYLES = ("page.css", "explorer.css")
SCRIPTS = ("data.js", "chart.js", "explorer.js", "page.js")


def write_page(folders: Sequence[str | os.PathLike[str]], path: str | os.PathLike[str]) -> Content:
    """Report on the results in some folders; the file is there whole or not at all."""
    places = [Path(folder) for folder in folders]
    made = content(collect(places), places)
    text = page(made)
    write_whole(path, lambda file: file.write(text.encode()))
    return made


def page(made: Content) -> str:
    """Return the page as HTML."""
    # Names come from users' files: whatever is not marked as safe here is escaped.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda rho: f"{100 * rho:g} %"
    template = environment.from_string(_asset("page.html.j2"))
    return template.render(
        page=made,
        styles=Markup("\n".join(map(_asset, STYLES))),
        scripts=Markup("\n".join(map(_asset, SCRIPTS))),
        data=Markup(script_json(made.data)),
    )


@cache
def _asset(name: str) -> str:
    return (files("monmdp.report") / "assets" / name).read_text(encoding="utf-8")
