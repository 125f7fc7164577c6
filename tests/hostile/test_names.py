"""What a name may hold: it is shown, and acts on nothing that shows it."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import monmdp
from monmdp import drawing, files, worlds
from monmdp.cli.terminal import OWN, _escape
from monmdp.drawing.canvas import LONGEST_LINE, Picture, pixels
from monmdp.escaping import markdown, printable
from monmdp.files import LONGEST_NAME, file_name
from monmdp.report import page
from monmdp.report.packing import script_json
from monmdp.tables import Table, render

NAMES = {
    "dollar": r"$x_{1$ \frac $$ $\alpha$",
    "pipe": "a|b",
    "html": "<script>alert(1)</script>",
    "ansi": "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "formula": '=HYPERLINK("http://x")',
    "long": "y" * 5000,
    "path": b"\xff\xfe.txt".decode(errors="surrogateescape"),
    "lines": "a\u2028b\u2029c\nd\re\x85f\x0bg",
    "bidi": "\u202eabc\u2066\u200f",
    "nul": "a\0b",
    "code": "`x` [a](javascript:alert(1)) \\",
    "usual": "名前 ⊥ é ρ=0.5 👩",
}
RAW = re.compile("[\x00-\x08\x0b-\x1f\x80-\x9f\u2028\u2029\u202a-\u202e\u2066\ud800-\udfff]")


def odd_world(name, *, picture=True):
    """Loop, with this in every one of its names."""
    of = worlds.make("loop")
    return monmdp.MDP(
        name, of.n_states, of.n_actions, of.first, of.successor, of.probability, of.reward,
        of.terminates, of.hidden, of.start, of.r_min, of.r_max, of.time_limit,
        [f"{name}{s}" for s in range(of.n_states)], [f"{name}{a}" for a in range(of.n_actions)],
        of.picture if picture else None,
    )  # fmt: skip


def odd_problem(name, **options):
    monitor = monmdp.Monitor(
        [f"{name}0", f"{name}1"], [f"{name}a"], [0.5, 0.5], np.full((2, 1, 2), 0.5),
        np.zeros((2, 1)), np.full((2, 1), 0.5), name=name,
    )  # fmt: skip
    return monmdp.join(odd_world(name, **options), monitor)


# ---- pictures ---------------------------------------------------------------------------------


def learning_curves(names):
    """A picture with names wherever there can be one."""
    curves = [
        drawing.CurveData(name, np.arange(5), np.arange(5.0) + i, np.ones(5))
        for i, name in enumerate(names)
    ]
    first = names[0]
    return drawing.panel_grid(
        [drawing.RowData([drawing.PanelData(curves, title=first)], label=first, heading=first)],
        styles=drawing.styles([(name, name) for name in names], {}),
        title=" ".join(names), y_label=first, note=" ".join(names),
    )  # fmt: skip


def test_names_in_learning_curves_are_drawn_as_they_are():
    figure = learning_curves(list(NAMES.values()))
    image = pixels(figure)
    assert max(image.shape) < 2000
    drawn = "\n".join(
        text.get_text() for text in figure.findobj(lambda of: hasattr(of, "get_text"))
    )
    assert NAMES["dollar"] in drawn
    assert r"\x1b[31mred" in drawn
    assert not RAW.search(drawn)
    assert max(map(len, drawn.splitlines())) <= LONGEST_LINE


def test_dollars_are_no_maths_and_powers_of_ten_are():
    """Two dollars around what is no formula were an error of Matplotlib's."""
    name = NAMES["dollar"]
    styles = drawing.styles([(name, name)], {})
    dot = drawing.Dot(monmdp.stats.Interval(2.0, 1.0, 3.0))
    made = [
        drawing.dot_chart(
            [(name, {name: dot})], styles=styles, title=name, x_label=name, note=name
        ),
        drawing.power_law(
            np.array([1.0, 0.01]), np.array([1.0, 100.0]), np.zeros(2), exponent=-1.0, label=name,
            x_label=name, y_label=name, title=name, note=name,
        ),
    ]  # fmt: skip
    problem = odd_problem(name, picture=False)
    made.append(drawing.draw_policy(problem, monmdp.solve(problem).minimax.policy))
    for figure in made:
        assert figure.get_tightbbox().width > 0  # measured before it is drawn
        pixels(figure)
    own = Picture(3, 2)
    own.add_subplot().set(xscale="log", xlim=(1, 1e6))
    pixels(own)
    ticks = own.axes[0].get_xticklabels()
    assert any("mathdefault" in of.get_text() and of.get_parse_math() for of in ticks)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("picture", [True, False])
def test_names_in_all_pictures(name, picture, tmp_path):
    problem = odd_problem(name, picture=picture)
    mdp, found = problem.mdp, monmdp.solve(problem).minimax
    made = {
        "world": drawing.draw_world(mdp),
        "dynamics": drawing.draw_dynamics(mdp),
        "policy": drawing.draw_policy(problem, found.policy),
        "values": drawing.draw_values(problem, found.values),
        "heat": drawing.draw_heatmap(mdp, mdp.mean_reward, label=name, title=name),
        "gallery": drawing.gallery({name: mdp}),
        "curves": learning_curves([name]),
    }
    for of, figure in made.items():
        for suffix in ("png", "svg", "pdf"):
            drawing.save(figure, tmp_path / f"{of}.{suffix}")
    assert drawing.frame(problem, 0, 0, caption=name).ndim == 3


# ---- terminals --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_nothing_raw_is_printed(name):
    written = io.StringIO()
    _escape(written, ())
    print(name, file=written)
    print(Table.of((name,), [(name,)], title=name, notes=[name]), file=written)
    print(json.dumps({name: name}), file=written)
    assert not RAW.search(written.getvalue())
    assert json.loads(written.getvalue().splitlines()[-1]) == {name: name}
    assert not RAW.search(Table.of((name,), [(name,)], title=name, notes=[name]).to_text())
    assert printable(printable(name)) == printable(name)


def test_usual_names_and_our_own_progress_are_printed_as_they_are():
    assert printable(NAMES["usual"]) == NAMES["usual"]
    assert printable("two\nlines\tand a tab") == "two\nlines\tand a tab"
    written = io.StringIO()
    _escape(written, OWN)
    for text in ("\r3/4 runs", "\x1b[?25h\n"):
        written.write(text)
    assert written.getvalue() == "\r3/4 runs\\x1b[?25h\n", "nothing else moves the cursor"


def monmdp_says(folder, *words):
    done = subprocess.run(
        [sys.executable, "-m", "monmdp", *words], cwd=folder, capture_output=True, timeout=100,
        check=False,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout.decode() + done.stderr.decode()


@pytest.mark.slow
def test_commands_print_nothing_raw(tmp_path):
    path = tmp_path / "map.txt"
    path.write_text("name: \x1b[31mred\u202e\n---\n@.$\n")
    folder = os.fsencode(tmp_path) + b"/\xff.txt"
    shutil.copy(path, folder)
    tried = [
        (0, ("show", "map.txt")),
        (0, ("solve", "map.txt", "ask")),
        (0, ("solve", b"\xff.txt", "ask")),
        (2, ("solve", "\x1b[31mloop", "ask")),
        (2, ("solve", "loop", "ask", "\x1b[31m=3")),
        (2, ("show", b"\xff\x1b.txt")),
        (2, ("\x1b[31m",)),
        (2, ("solve", "loop", "ask", "--\x1b[31m")),
    ]
    for code, words in tried:
        got, said = monmdp_says(tmp_path, *words)
        assert got == code, said
        assert not RAW.search(said)


@pytest.mark.slow
def test_a_suite_with_such_names_runs_and_is_reported(tmp_path):
    shutil.copy(worlds._MAPS / "loop.txt", os.fsencode(tmp_path) + b"/\xff.txt")
    labels = [name for key, name in NAMES.items() if key not in ("nul", "path")]
    block = {
        "title": "$ | <b> \x1b[31m", "worlds": [{"name": "loop", "label": NAMES["dollar"]}],
        "monitors": [{"name": "ask", "label": NAMES["html"]}],
        "agents": [
            {"name": "monitored-mbie-eb", "label": label, "beta": 0.1 + i / 100}
            for i, label in enumerate(labels)
        ],
    }  # fmt: skip
    content = {"name": "odd", "title": "\x1b]0;$x_{ | `", "seeds": 2, "steps": 300}
    found = monmdp.run_suite(content | {"experiment": [block]}, out=tmp_path / "results", jobs=1)
    assert not found.outcome.failures
    code, said = monmdp_says(tmp_path, "report", "results")
    assert code == 0, said
    assert not RAW.search(said)
    for name in ("statistics", "steps"):
        text = (found.report.folder / f"{name}.md").read_text()
        assert not RAW.search(text)
        assert "<script" not in text
        assert "](javascript" not in text
    problem = b"\xff.txt"
    code, said = monmdp_says(
        tmp_path, "train", problem, "ask", "--steps", "300", "--seeds", "2", "--jobs", "1"
    )
    assert code == 0, said
    assert not RAW.search(said)
    code, said = monmdp_says(tmp_path, "report", "results")
    assert code == 0, said


# ---- Markdown, HTML, CSV ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_in_markdown(name):
    table = Table.of((name, "b"), [(name, name)], title=name, notes=[name])
    head, rule, row, empty, note = table.to_markdown().splitlines()
    for line in (head, row):
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
    assert rule == "|---|---|"
    assert empty == ""
    for text in (head, row, note):
        assert not RAW.search(text)
        assert "<script" not in text
        assert "](javascript" not in text
        assert not re.search(r"(?<!\\)(?:\\\\)*`", text)
    made = render("statistics.md.j2", tables=[replace(table, about=name)], problems=[])
    assert made.endswith(f"## {markdown(name)}: {markdown(name)}\n\n{table.to_markdown()}\n")


def test_markdown_of_what_is_usual_is_as_it_was():
    for text in ("R-max", "0.9 [0.85, 0.95]", "< 1 %", "*never*", NAMES["usual"], "a_b"):
        assert markdown(text) == text


@pytest.mark.parametrize("name", [*NAMES.values(), "</script>", "<!--"])
def test_names_in_a_script_of_the_page(name):
    text = script_json({name: name})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {name: name}


def test_the_page_may_be_sent_nowhere():
    policy = re.search('Security-Policy" content="([^"]*)"', page_source())[1]
    for rule in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert rule in policy


def page_source():
    return (page.files("monmdp") / "templates" / "page.html.j2").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("node") is None, reason="runs a function of the page in node")
def test_formulas_in_csv_files():
    script = (page.files("monmdp.report") / "assets" / "page.js").read_text(encoding="utf-8")
    function = script[script.index("function csv") : script.index("function download")]
    rows = [["=1+1", "+x", "-x", "@x", "\tx", "a-b", -1.5, None, 'say "x"']]
    call = f"process.stdout.write(csv(['=a'], {json.dumps(rows)}))"
    done = subprocess.run(
        ["node", "-e", function + call], capture_output=True, text=True, timeout=60, check=True
    )
    expected = "'=a\r\n'=1+1,'+x,'-x,'@x,'\tx,a-b,-1.5,,\"say \"\"x\"\"\"\r\n"
    assert done.stdout.replace("\n", "\r\n").replace("\r\r", "\r") == expected


# ---- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES.values(), "", ".", "..", "../x", "日" * 500])
def test_names_of_files(name, tmp_path):
    made = file_name(name)
    assert 0 < len(made.encode()) <= LONGEST_NAME
    assert not set(made) & set('/\\:*?"<>|\0')
    assert made[0] != "."
    assert made[-1] != "."
    files.write_whole(tmp_path / f"{made}.parquet", lambda file: file.write(b"x"))
    assert len(file_name(name, 80).encode()) <= 80


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("bottleneck-button-rho=0.05-monitored-mbie-eb", None), ("CON", "_CON"), ("nul", "_nul"),
        ("Com1.txt", "_Com1.txt"), ("console", None), ("com10", None), ("a.", "a_"), (".a", "_a"),
        ("own:Agent x", "own_Agent_x"), ("名前-é", None),
    ],
)  # fmt: skip
def test_reserved_and_usual_names_of_files(name, made):
    assert file_name(name) == (made or name)
