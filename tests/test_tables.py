"""One table: what a terminal, Markdown, HTML and a CSV file show of the same description."""

from __future__ import annotations

import re

import jinja2
import pytest

from monmdp.stats import Interval
from monmdp.tables import Cell, Column, Table, TableRow, bounds, plural, render, share, written

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (15_800, "15,800"), (-0.5, "−0.5"), (8.8e-30, "0"), (-8.8e-30, "0"), (1000.4, "1,000"),
        (-12_345.6, "−12,346"), (0.98765, "0.9877"), (999.4, "999.4"), (1e-5, "1e−05"), (0, "0"),
    ],
)  # fmt: skip
def test_numbers_are_written_for_readers(value, text):
    assert written(value) == text


def test_an_interval_is_written_from_low_to_high():
    column = Column("x", bounds("x"), form="")
    cell = column.cell(Interval(-1.5, -2.25, 1234.5))
    assert (cell.text, cell.detail) == ("−1.5", "[−2.25, 1,234]")
    assert cell.values == (-1.5, -2.25, 1234.5)
    assert cell.interval is None
    alone = Column("x", bounds("x"), form="", bar=True).cell(Interval(2.0, NAN, NAN))
    assert (alone.text, alone.detail, alone.values) == ("2", "", (2.0, None, None))
    assert alone.interval is not None
    for nothing in (None, Interval(NAN, NAN, NAN)):
        assert (column.cell(nothing).text, column.cell(nothing).values) == ("–", (None,) * 3)


def test_a_missing_number_has_its_word():
    column = Column("steps", form=",.0f", missing="never")
    assert column.cell(None) == column.cell(NAN) == Cell("never", (None,))
    assert column.cell(0) == Cell("0", (0,))
    assert share(1200, 3000) == Cell("1,200 of 3,000", (1200, 3000))
    assert (plural(1, "seed"), plural(2000, "seed")) == ("1 seed", "2,000 seeds")


@pytest.fixture
def table():
    columns = (
        "agent",
        Column("end", bounds("end"), "mean of the last tests", ".2f", bar=True),
        Column("optimal", ("optimal", "runs"), form=""),
    )
    rows = [
        TableRow(("a|<b>", Interval(0.5, 0.25, 0.75), share(3, 5)), {"agent": "a|<b>"}),
        ("plain", None, share(0, 5)),
    ]
    return Table.of(columns, rows, title="Ends", notes=["five seeds"], about="here")


def test_all_renderings_say_the_same(table):
    assert table.to_text().splitlines() == [
        "Ends",
        "",
        "agent                end  optimal",
        "a|<b>  0.50 [0.25, 0.75]   3 of 5",
        "plain                  –   0 of 5",
        "five seeds",
    ]
    assert str(table) == table.to_text()
    assert table.to_markdown().splitlines() == [
        "| agent | end | optimal |",
        "|---|---:|---:|",
        "| a\\|&lt;b> | 0.50 [0.25, 0.75] | 3 of 5 |",
        "| plain | – | 0 of 5 |",
        "",
        "five seeds",
    ]
    assert table._repr_markdown_() == f"**Ends**\n\n{table.to_markdown()}\n"
    html = table._repr_html_()
    cells = [re.sub(r"<[^>]*>", " ", of).split() for of in re.findall(r"<td.*?</td>", html, re.S)]
    assert cells[0] == ["a|&lt;b&gt;"]
    assert cells[1] == ["0.50", "[0.25,", "0.75]"]
    assert cells[3:] == [["plain"], ["–"], ["0", "of", "5"]]
    assert 'title="mean of the last tests"' in html
    assert "five seeds" in html
    assert "M25.0 7H75.0" in html  # the bar
    assert 'data-agent="a|&lt;b&gt;"' in html
    assert table.to_dict() == {
        "columns": ["agent", "end", "end_low", "end_high", "optimal", "runs"],
        "rows": [["a|<b>", 0.5, 0.25, 0.75, 3, 5], ["plain", None, None, None, 0, 5]],
    }


def test_columns_can_be_left_out(table):
    fewer = table.without("end")
    assert fewer.to_dict()["columns"] == ["agent", "optimal", "runs"]
    assert fewer.to_markdown().splitlines()[2] == "| a\\|&lt;b> | 3 of 5 |"
    assert fewer.title == "Ends"


def test_a_row_must_have_a_cell_for_every_column():
    with pytest.raises(ValueError, match="zip"):
        Table.of(("a", "b"), [("only one",)])


def test_headings_are_bold_and_long_details_are_folded_in_html():
    long = Cell("text", ("text",), "word " * 50)
    table = Table.of(("a", "b"), [TableRow(("C1", "it holds"), is_heading=True), ("", long)])
    lines = table.to_markdown().splitlines()
    assert lines[2] == "| **C1** | **it holds** |"
    assert lines[3].startswith("|  | text: word word")
    html = table.to_html()
    assert '<tr class="claim">' in html
    assert "<details><summary>text</summary><p>word word" in html


def test_words_are_wrapped_to_the_width_and_numbers_are_not():
    rows = [("short", "many words that have to be wrapped " * 4, 123456.0)]
    table = Table.of(("name", "text", Column("number", form=",.0f")), rows)
    lines = table.to_text(width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1].endswith("123,456")
    assert (
        " ".join(" ".join(lines[1:]).replace("123,456", "").split())
        == " ".join(rows[0][:2]).strip()
    )
    # where wrapping does not help, lines stay whole
    assert len(table.to_text(width=20).splitlines()) == 2


def test_an_empty_column_and_no_rows():
    assert Table.of(("", "a"), [("", "x")]).to_text().splitlines()[1].split() == ["x"]
    empty = Table.of(("a", Column("b", form="")), [])
    assert empty.to_text() == "a  b"
    assert empty.to_markdown() == "| a | b |\n|---|---:|"
    assert "<tbody>" in empty.to_html()


def test_templates_escape_in_html_alone_and_refuse_what_they_do_not_know(tmp_path):
    (tmp_path / "a.html.j2").write_text("{{ of }}")
    (tmp_path / "a.md.j2").write_text("{{ of }} {{ 3|plural('seed') }} {{ -0.5|written }}\n")
    assert render("a.html.j2", tmp_path, of="<b>") == "&lt;b&gt;"
    assert render("a.md.j2", tmp_path, of="<b>") == "<b> 3 seeds −0.5\n"
    with pytest.raises(jinja2.UndefinedError):
        render("a.md.j2", tmp_path)
