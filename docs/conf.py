"""The site: ``make docs`` builds it to ``docs/_build/html``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pygments.lexers.shell import BashLexer
from sphinx.application import Sphinx

import monmdp

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "monmdp"
version = release = monmdp.__version__
html_title = f"monmdp {version}"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "commands",
    "docstrings",
    "files",
    "maths",
]
exclude_patterns = ["_build", "_ext"]
nitpicky = True
_INNER = (  # types that are shown and whose fields are no part of the interface
    r"experiment\.(answers\.Batch|evaluation\.Chances|policy\.Returns|recording\.Watched)",
    r"model\.dynamics\.Tables",
    r"naming\.(T|Scope)",
    r"report\.content\.Content",
    r"results\.(checks|claims|evidence|references|scores|steps|store)\.\w+",
    r"(schema|suites\.(plan|spec))\._\w+",  # what a field must pass
    r"suites\.configuration\.Wanted",
    r"suites\.spec\.Quick(Block)?",
)
# No other project is asked for its names: the build needs no network.
nitpick_ignore_regex = [
    (r"py:.*", r"(np|numpy|pd|pandas|gymnasium|gym|matplotlib|scipy|pydantic|os|pathlib)\..*"),
    (r"py:.*", r"(collections|typing|types|abc|enum)\..*"),
    (r"py:obj", r".*"),  # a name in single backticks is code first, and a link where it can be
    (r"py:class", r"[\d.e+-]+"),  # the largest and the least that a field may be
    (r"py:class", r"\w+(\[\w+)?"),  # FloatArray and other names of types, also in pieces
    (r"py:class", r"monmdp\.(" + "|".join(_INNER) + ")"),
]

# Pages
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# Notebooks run at every build, and an error in one ends it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 300

# The reference
default_role = "py:obj"
autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autoclass_content = "both"  # what a class is, and what it is made from
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    name: name
    for name in ("AgentFactory", "ArrayLike", "BoolArray", "FloatArray", "IntArray", "Layout")
}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 110
add_module_names = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False


def setup(app: Sphinx) -> dict[str, Any]:
    """Colour commands: a ``console`` block here has no prompts and no output."""
    app.add_lexer("console", BashLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
