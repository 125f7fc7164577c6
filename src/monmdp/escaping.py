"""What names may hold, made fit for where they are shown: a terminal, a picture, Markdown.

Names of worlds, agents and states, titles, paths and messages of others come from files that may be
anybody's. HTML is escaped by Jinja, JSON by Python.
"""

from __future__ import annotations

import re

# Control characters but tab, newline and DEL (which JSON has as it is); marks that turn the
# direction of what follows; separators of lines that only some programs know; halves of pairs,
# which stand for bytes of a path that are no UTF-8.
_RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_HTML = re.compile("<(?=[A-Za-z/!?])")


def printable(text: str) -> str:
    r"""Return text in which characters that would act on what shows them are written out.

    >>> from monmdp.escaping import printable
    >>> print(printable("red \x1b[31m"), printable("usual: ⊥, é, 日本"))
    red \x1b[31m usual: ⊥, é, 日本
    """
    return _RAW.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def markdown(text: str) -> str:
    r"""Return text that stays what it is in Markdown: in one line, no cell, code, link or HTML.

    >>> from monmdp.escaping import markdown
    >>> print(markdown("a | b <i> < 1 %"))
    a \| b &lt;i> < 1 %
    """
    text = " ".join(printable(text).splitlines())
    text = re.sub(r"([\\|`])", r"\\\1", text)
    return _HTML.sub("&lt;", text).replace("](", "]\\(")
