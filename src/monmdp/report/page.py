"""The page: one file with everything in it, which asks nobody for anything."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from monmdp.files import write_whole
from monmdp.report.content import Content, content
from monmdp.report.packing import script_json
from monmdp.report.sources import collect
from monmdp.tables import render

STYLES = ("page.css", "explorer.css")
SCRIPTS = ("data.js", "chart.js", "explorer.js", "page.js")


def write_page(
    folders: Sequence[str | os.PathLike[str]],
    path: str | os.PathLike[str],
    trusted: Collection[str] = (),
) -> Content:
    """Report on the results in some folders; the file is there whole or not at all."""
    places = [Path(folder) for folder in folders]
    made = content(collect(places, trusted), places)
    text = page(made)
    write_whole(path, lambda file: file.write(text.encode(errors="backslashreplace")))
    return made


def page(made: Content) -> str:
    """Return the page as HTML."""
    from markupsafe import Markup

    return render(
        "page.html.j2",
        page=made,
        styles=Markup("\n".join(map(_asset, STYLES))),
        scripts=Markup("\n".join(map(_asset, SCRIPTS))),
        data=Markup(script_json(made.data)),
    )


@cache
def _asset(name: str) -> str:
    return (files("monmdp.report") / "assets" / name).read_text(encoding="utf-8")
