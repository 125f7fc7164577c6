"""Maths as MathML, which browsers draw by themselves: no script, no network.

docutils translates the LaTeX. Its spaces are mended here to be those of LaTeX: none around a slash
and inside bars, a thin one beside a function. What it does not know is a warning that names the
page.
"""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

_SPACE = "http://www.w3.org/1998/Math/MathML"
_BIG = re.compile(r"\\([Bb]igg?)(?![A-Za-z])")
_APPLY = "\u2061"  # stands between a function and its argument, and is not seen
_THIN = "0.17em"
_OPEN, _CLOSE = set("([{⌈⌊⟨"), set(")]}⌉⌋⟩")
_FENCES = {"|", "‖", "∥"}
_GROWING = _OPEN | _CLOSE | _FENCES


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_translated(node, as_block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(_translated(node, as_block=True) + "</div>\n")
    raise nodes.SkipNode


def _translated(node: nodes.Element, *, as_block: bool) -> str:
    text = node.astext()
    try:
        found = tex2mathml(_BIG.sub(r"\\\1l", text), as_block=as_block)
    except MathError as error:
        logger.warning("maths: %s in %r", error, text, location=node)
        return f"<code>{html.escape(text)}</code>"
    tree = ElementTree.fromstring(str(found).replace("&ApplyFunction;", _APPLY))
    for parent in list(tree.iter()):
        _mend(list(parent), grows=parent.tag == f"{{{_SPACE}}}mrow")
        _space_functions(parent)
    ElementTree.register_namespace("", _SPACE)
    for parent in tree.iter():  # the layout of the text would become spaces
        parent.tail = None
        parent.text = (parent.text or "").strip() or None if len(parent) else parent.text
    return ElementTree.tostring(tree, encoding="unicode")


def _mend(row: list[ElementTree.Element], *, grows: bool) -> None:
    r"""Set the spaces of the operators in a row; only \left and \right make its ends grow."""
    opened: list[str] = []
    for i, element in enumerate(row):
        core = _core(element)
        text = (core.text or "").strip()
        after = (_core(row[i + 1]).text or "").strip() if i + 1 < len(row) else ")"
        if core.tag != f"{{{_SPACE}}}mo":
            continue
        if text in _GROWING and not (grows and (i == 0 or i == len(row) - 1)):
            core.set("stretchy", "false")
        if text == "/":
            core.attrib |= {"lspace": "0", "rspace": "0"}
        elif text == "ˉ":  # a modifier letter, which fonts draw in many places
            core.text = "¯"
        elif text in _FENCES and core.get("form") is None:
            closes = bool(opened) and opened[-1] == text and core.get("class") != "mathopen"
            if closes:
                opened.pop()
            else:
                opened.append(text)
            core.attrib |= {"form": "postfix" if closes else "prefix", "lspace": "0", "rspace": "0"}
        elif text == _APPLY:
            core.attrib |= {"lspace": "0", "rspace": "0" if after in _OPEN else _THIN}
        elif text.isalpha() and len(text) > 1:  # max, argmax
            before = row[i - 1] if i else None
            first = before is None or before.tag == core.tag
            core.attrib |= {
                "lspace": "0" if first else _THIN,
                "rspace": "0" if after in _OPEN else _THIN,
            }


def _space_functions(parent: ElementTree.Element) -> None:
    """Put a thin space before each function that follows something, such as the ln of 2 ln 3."""
    row = list(parent)
    for i in reversed(range(1, len(row) - 1)):
        before, after = _core(row[i - 1]), row[i + 1]
        follows = before.tag != f"{{{_SPACE}}}mo" or before.get("form") == "postfix"
        follows |= before.text in _CLOSE
        if (after.text or "").strip() == _APPLY and follows and not before.tag.endswith("mspace"):
            parent.insert(i, ElementTree.Element(f"{{{_SPACE}}}mspace", width=_THIN))


def _core(element: ElementTree.Element) -> ElementTree.Element:
    """Return the operator inside its limits: the max of max over a."""
    while element.tag.endswith(("munder", "mover", "munderover", "msub", "msup", "msubsup")):
        element = element[0]
    return element


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
