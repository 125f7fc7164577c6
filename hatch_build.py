"""The long description of the package: README.md without links that only work in the repository.

A package index shows the README alone. There a link to `docs/index.md` leads nowhere, so it becomes
an absolute link if the variable `MONMDP_SOURCE_URL` says where the files can be read, and
otherwise plain text with the path. Pictures from the repository are left out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!#|[a-z]+:)([^)\s]+)\)")


def long_description(readme: str, source_url: str = "") -> str:
    """Return the text of a README with no relative link left in it."""

    def replaced(link: re.Match[str]) -> str:
        picture, text, path = link.groups()
        if picture:
            return ""
        if source_url:
            return f"[{text}]({source_url.rstrip('/')}/{path})"
        return f"`{path}`" if text == path else f"{text} (`{path}`)"

    return re.sub(r"\n{3,}", "\n\n", _LINK.sub(replaced, readme))


class LongDescription(MetadataHookInterface):
    """Sets the field `readme` when a wheel or an sdist is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the long description to the metadata of the project."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        url = os.environ.get("MONMDP_SOURCE_URL", "")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": long_description(readme, url),
        }
