"""The page: one file with everything in it, which asks nobody for anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from monmdp.errors import import_extra
from monmdp.files import write_whole
from monmdp.report.content import Content, content
from monmdp.report.packing import script_json
from monmdp.report.sources import collect

STYLES = ("page.css", "explorer.css")
SCRIPTS = ("data.js", "chart.js", "explorer.js", "page.js")


def write_page(folders: Sequence[str | os.PathLike[str]], path: str | os.PathLike[str]) -> Content:
    """Report on the results in some folders; the file is there whole or not at all."""
    import_extra("jinja2", "report", "a report")  # before the work, not after it
    places = [Path(folder) for folder in folders]
    made = content(collect(places), places)
    text = page(made)
    write_whole(path, lambda file: file.write(text.encode()))
    return made


def page(made: Content) -> str:
    """Return the page as HTML."""
    jinja2 = import_extra("jinja2", "report", "a report")
    marked = import_extra("markupsafe", "report", "a report").Markup
    # Names come from users' files: whatever is not marked as safe here is escaped.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda rho: f"{100 * rho:g} %"
    template = environment.from_string(_asset("page.html.j2"))
    html: str = template.render(
        page=made,
        styles=marked("\n".join(map(_asset, STYLES))),
        scripts=marked("\n".join(map(_asset, SCRIPTS))),
        data=marked(script_json(made.data)),
    )
    return html


@cache
def _asset(name: str) -> str:
    return (files("monmdp.report") / "assets" / name).read_text(encoding="utf-8")
