"""One description of a table, which shows itself in a terminal, in Markdown and in HTML.

A `Table` has columns and rows of plain values; its columns say how values are written. What a
reader sees of a number is short, what the CSV file of the HTML page holds has all digits. The prose
around tables stands in templates, which `render` fills in.

>>> from monmdp.stats import Interval
>>> from monmdp.tables import Column, Table
>>> columns = ("agent", Column("steps", form=",.0f", missing="never"), Column("end", form=""))
>>> rows = [("R-max", 1234.5, Interval(0.9, 0.85, 0.95)), ("UCB", None, Interval(-2.0, -3.0, -1.0))]
>>> print(Table.of(columns, rows, notes=["30 seeds."]).to_text())
agent  steps               end
R-max  1,234  0.9 [0.85, 0.95]
UCB    never       −2 [−3, −1]
30 seeds.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import zip_longest
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monmdp.escaping import markdown, printable
from monmdp.stats import Interval

if TYPE_CHECKING:
    from jinja2 import Environment

Value = str | int | float | bool | None
TEMPLATES = Path(__file__).parent / "templates"
NARROWEST = 12
"""characters that a column of words keeps; a table that is too wide all the same is not wrapped"""


def written(value: float, form: str = "") -> str:
    """Return a number as a reader wants it: four digits, or commas, and a true minus sign."""
    if abs(value) < 1e-12:  # chances multiplied over an episode: nothing
        value = 0.0
    if not form:
        form = ",.0f" if abs(value) >= 999.95 else ".4g"
    return f"{value:{form}}".replace("-", "−")


def plural(n: int, noun: str) -> str:
    """Return ``1 seed``, ``2,000 seeds``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


class Markdown(str):
    """Text that is Markdown already; what else a template of Markdown is given is escaped."""

    __slots__ = ()


@dataclass(frozen=True)
class Cell:
    """What is seen, and the values behind it, one for each column of the CSV file."""

    text: str
    values: tuple[Value, ...]
    detail: str = ""
    """an interval, or more words; in HTML in small letters below"""
    link: str = ""
    """id of an element of the HTML page"""
    interval: Interval | None = None
    """drawn in HTML as a bar between 0 and 1"""
    tone: str = ""
    """class of a badge in HTML"""


def share(n: int, of: int) -> Cell:
    """Return a cell that says ``3 of 30``."""
    return Cell(f"{n:,} of {of:,}", (n, of))


def bounds(name: str) -> tuple[str, str, str]:
    """Return the CSV columns of an estimate and its interval."""
    return name, f"{name}_low", f"{name}_high"


@dataclass(frozen=True)
class Column:
    """A column that is seen, and how its values are written."""

    heading: str
    names: tuple[str, ...] = ()
    """columns of the CSV file that it stands for; by default one, named like the heading"""
    explains: str = ""
    form: str | None = None
    """how numbers are written, "" for four digits; None: it is a column of words"""
    missing: str = "–"
    """stands for a number that there is none of"""
    bar: bool = False
    """whether intervals are also drawn"""

    def __post_init__(self) -> None:
        """Name the column of the CSV file."""
        object.__setattr__(self, "names", self.names or (self.heading,))

    @property
    def is_number(self) -> bool:
        """Return whether it is a column of numbers, which are aligned on the right."""
        return self.form is not None

    def cell(self, value: Any) -> Cell:
        """Return the cell of a word, a number, an interval, or of None for a missing one."""
        if isinstance(value, Cell):
            return value
        if isinstance(value, str):
            return Cell(value, (value,))
        if value is None or isnan(value[0] if isinstance(value, Interval) else value):
            return Cell(self.missing, (None,) * len(self.names))
        form = self.form or ""
        if not isinstance(value, Interval):
            return Cell(written(value, form), (value,))
        estimate, low, high = value
        detail = "" if isnan(low) else f"[{written(low, form)}, {written(high, form)}]"
        values = tuple(float(x) if isfinite(x) else None for x in value)
        return Cell(written(estimate, form), values, detail, interval=value if self.bar else None)

    def line(self, cell: Cell) -> str:
        """Return a cell in one line."""
        between = " " if self.is_number else ": "
        return f"{cell.text}{between}{cell.detail}" if cell.detail else cell.text


@dataclass(frozen=True)
class TableRow:
    """Cells, or values that columns make cells of."""

    cells: Sequence[Any]
    marks: Mapping[str, Value] = field(default_factory=dict)
    """world, monitor, rho, agent: what the filters of the HTML page ask; none: always shown"""
    is_heading: bool = False
    """of the rows below it"""


@dataclass(frozen=True)
class Table:
    """Columns and rows of cells; in a notebook it shows itself."""

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    about: str = ""
    """what it is of, where its title does not say it"""
    name: str = ""
    """id on the HTML page"""

    @classmethod
    def of(
        cls,
        columns: Iterable[Column | str],
        rows: Iterable[TableRow | Sequence[Any]],
        *,
        title: str = "",
        notes: Iterable[str] = (),
        about: str = "",
    ) -> Table:
        """Make a table of values; a column that is a string is one of words."""
        heads = tuple(Column(of) if isinstance(of, str) else of for of in columns)
        made = []
        for row in rows:
            whole = row if isinstance(row, TableRow) else TableRow(row)
            cells = tuple(c.cell(value) for c, value in zip(heads, whole.cells, strict=True))
            made.append(replace(whole, cells=cells))
        return cls(heads, tuple(made), title, tuple(notes), about)

    def without(self, *headings: str) -> Table:
        """Return the table without some of its columns."""
        kept = [i for i, column in enumerate(self.columns) if column.heading not in headings]
        rows = (replace(row, cells=tuple(row.cells[i] for i in kept)) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        """Return what a CSV file is made from, with all digits."""
        return {
            "columns": [name for column in self.columns for name in column.names],
            "rows": [[value for cell in row.cells for value in cell.values] for row in self.rows],
        }

    def records(self) -> list[dict[str, Value]]:
        """Return its rows as CSV column -> value, for JSON or a pandas.DataFrame."""
        data = self.to_dict()
        return [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]

    def to_text(self, width: int = 100) -> str:
        """Return it for a terminal; long words are wrapped, so that lines fit the width."""
        head = [column.heading for column in self.columns]
        lines = [[printable(cell) for cell in line] for line in (head, *self._lines())]
        widths = [max(map(len, of_column)) for of_column in zip(*lines, strict=True)]
        words = [i for i, column in enumerate(self.columns) if not column.is_number]
        room = width - 2 * (len(widths) - 1)
        least = sum(min(n, NARROWEST) if i in words else n for i, n in enumerate(widths))
        while least <= room < sum(widths):
            widths[max(words, key=widths.__getitem__)] -= 1
        text: list[str] = []
        for line in lines:
            wrapped = [
                textwrap.wrap(cell, n or 1, break_on_hyphens=False)
                for cell, n in zip(line, widths, strict=True)
            ]
            for parts in zip_longest(*wrapped, fillvalue=""):
                cells = [
                    part.rjust(n) if column.is_number else part.ljust(n)
                    for column, part, n in zip(self.columns, parts, widths, strict=True)
                ]
                text.append("  ".join(cells).rstrip())
        text += [textwrap.fill(note, width) for note in self.notes]
        return printable("\n".join([*([self.title, ""] if self.title else []), *text]))

    def to_markdown(self) -> Markdown:
        """Return it as Markdown, without its title."""
        rule = ["---:" if column.is_number else "---" for column in self.columns]
        lines = [[markdown(column.heading) for column in self.columns]]
        for row, cells in zip(self.rows, self._lines(), strict=True):
            texts = [markdown(cell) for cell in cells]
            lines.append([f"**{of}**" if of and row.is_heading else of for of in texts])
        text = [f"| {' | '.join(line)} |" for line in lines]
        text.insert(1, f"|{'|'.join(rule)}|")
        return Markdown("\n".join([*text, *(f"\n{markdown(note)}" for note in self.notes)]))

    def to_html(self) -> str:
        """Return it as HTML, with its title and its notes."""
        return render("table.html.j2", of=self)

    _repr_html_ = to_html

    def _repr_markdown_(self) -> str:
        title = f"**{markdown(self.title)}**\n\n" if self.title else ""
        return f"{title}{self.to_markdown()}\n"

    __str__ = to_text

    def _lines(self) -> Iterator[list[str]]:
        for row in self.rows:
            yield [c.line(cell) for c, cell in zip(self.columns, row.cells, strict=True)]


def render(name: str, folder: Path = TEMPLATES, **values: Any) -> str:
    """Fill in a template: of the package, or of another folder, where nothing is escaped for it."""
    return _environment(folder).get_template(name).render(**values)


def _finished(context: Any, value: Any) -> Any:
    """Escape what is put into a template of Markdown, other than whole tables."""
    if context.autoescape or isinstance(value, Markdown) or not isinstance(value, str):
        return value
    return markdown(value)


@cache
def _environment(folder: Path) -> Environment:
    import jinja2  # only who writes something waits for it

    # Names come from users' files: in HTML whatever is not marked as safe is escaped.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES]),
        autoescape=jinja2.select_autoescape(["html.j2"], default=False),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=jinja2.pass_eval_context(_finished) if folder == TEMPLATES else None,
    )
    environment.filters |= {
        "plural": plural,
        "percent": lambda rho: f"{100 * rho:g} %",
        "written": written,
    }
    return environment
