"""A block below ``<!-- file: NAME -->`` bears this name."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_MARK = re.compile(r"<!-- file: (\S+) -->")


def _name_blocks(app: Sphinx, doctree: nodes.document) -> None:  # noqa: ARG001
    for comment in list(doctree.findall(nodes.raw)):
        named = _MARK.fullmatch(comment.astext().strip())
        block = comment.next_node(descend=False, siblings=True)
        if named and isinstance(block, nodes.literal_block):
            caption = nodes.caption("", "", nodes.literal("", named[1]))
            wrapper = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
            doctree.set_id(wrapper)
            block.replace_self(wrapper)
            wrapper += [caption, block]


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page."""
    app.connect("doctree-read", _name_blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
