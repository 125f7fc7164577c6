"""The report: what the page says is what is stored, whatever state the folder is in."""

from __future__ import annotations

import html
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import trim_mean

import monmdp
from monmdp import MonMDP, MonMDPError, catalogue, files, load_results, report
from monmdp.drawing import CurveData, PanelData, Style
from monmdp.experiment import Run
from monmdp.experiment.loop import LEDGER
from monmdp.report import sources
from monmdp.report.packing import finite, pack, packed_curves, script_json, unpack
from monmdp.report.thumbnails import thumbnail
from monmdp.results import execute, publish
from monmdp.results.checks import Check, Verdict
from monmdp.results.claims import JudgedClaim, JudgedSentence
from monmdp.results.evidence import Evidence, aggregate, gather_kept
from monmdp.results.request import Request, ask_paper, ask_suite, keep, kept
from monmdp.results.scores import PROBLEMS, AgentRow, SuiteTable, problem_row
from monmdp.results.store import inside_path, read_run, write_run
from monmdp.results.verdicts import TONES
from monmdp.stats import (
    Interval,
    iqm_curve,
    median_time,
    performance_profile,
    smooth,
)
from monmdp.suites import Curve, Figure, Panel, bundled_suite, paper_suite, parse

SUITE = {
    "name": "small",
    "seeds": 5,
    "steps": 1500,
    "every": 10,
    "experiment": [
        {
            "worlds": ["loop", "hazard"],
            "monitors": ["ask"],
            "rho": [1.0, 0.5],
            "agents": ["monitored-mbie-eb", {"name": "directed-e2", "r0": -10}],
        }
    ],
}
NUMBER = re.compile(r"−?\d[\d,]*(?:\.\d+)?(?:e[−+]?\d+)?")
EVIL = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder of results; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("finished") / "results"
    asked = ask_suite(parse(SUITE, "test"))
    keep(asked, folder)
    execute(folder, asked.runs(), jobs=2)
    return folder


@pytest.fixture
def results(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "results"))


@pytest.fixture(scope="module")
def published(finished, tmp_path_factory):
    """The same with a summary, as monmdp run leaves it."""
    folder = Path(shutil.copytree(finished, tmp_path_factory.mktemp("published") / "results"))
    assert monmdp.run_suite(SUITE, out=folder).outcome.progress.done == 0
    assert (folder / "reports" / "small" / "summary.parquet").exists()
    return folder


@pytest.fixture(params=["finished", "published"])
def either(request, tmp_path):
    return Path(shutil.copytree(request.getfixturevalue(request.param), tmp_path / "results"))


class Page(HTMLParser):
    """Everything in a page: tags, and the text within them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._table: str | None = None
        self._cell: list[str] | None = None
        self._script = False
        self.source = text
        self.feed(text)
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
        self.data = json.loads(found.group(1))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        self._script = tag in ("script", "style")
        if tag == "table" and "data-table" in given:
            self._table = given["data-table"]
            self.tables[self._table] = []
        elif tag == "tr" and self._table:
            self.tables[self._table].append([])
        elif tag == "td" and self._table:
            self._cell = []

    def handle_endtag(self, tag):
        self._script = False
        if tag == "table":
            self._table = None
        elif tag == "td" and self._table and self._cell is not None:
            self.tables[self._table][-1].append("".join(self._cell).strip())
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.append(data)
        if not self._script:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def read(folders, path="report.html") -> Page:
    report.write_page(folders if isinstance(folders, list) else [folders], path)
    return Page(Path(path).read_text(encoding="utf-8"))


# ---- packing --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u2", "u1"])
def test_arrays_come_back_as_they_were(dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    again = unpack(json.loads(script_json(pack(array, dtype))))
    assert again.dtype == array.dtype
    assert np.array_equal(again, array)


def test_json_cannot_end_a_script_element():
    text = script_json({"a": "</script><!-- & \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028"}


def test_what_is_not_finite_is_missing():
    assert finite(float("nan")) is None
    assert finite(float("inf")) is None
    assert finite(np.float64(1.5)) == 1.5


# ---- curves ---------------------------------------------------------------------------------


def runs_of(curves):
    step = np.arange(curves.shape[1]) * 100
    scores = ("episode_return", "goal_visits", "bottom_visits")
    return [
        Run({"every": 100}, seed, step, dict.fromkeys(scores, of)) for seed, of in enumerate(curves)
    ]


@pytest.mark.parametrize("smoothed", [False, True])
def test_means_are_exact_and_seeds_are_thinned_and_rounded(smoothed):
    curves = np.random.default_rng(0).normal(size=(9, 450)).cumsum(axis=1)
    packed = packed_curves(runs_of(curves), smoothed)
    assert (packed["every"], packed["count"], packed["seeds"]) == (100, 450, list(range(9)))
    of = packed["episode_return"]
    assert np.array_equal(unpack(of["mean"]), curves.mean(axis=0))
    assert ("smooth" in of) == smoothed
    for kind, values in {"raw": curves, "smooth": smooth(curves)}.items():
        if kind not in of:
            continue
        half = 1.96 * values.std(axis=0, ddof=1) / 3
        assert unpack(of[kind]["half"]) == pytest.approx(half, rel=1e-6)
        assert unpack(of[kind]["iqm"]) == pytest.approx(trim_mean(values, 0.25, axis=0), rel=1e-12)
        assert unpack(of[kind]["iqm_half"]) == pytest.approx(iqm_curve(values)[1], rel=1e-6)
        seeds = of[kind]["of_seeds"]
        assert seeds["every"] == 5  # 450 tests, at most 100 of them drawn
        shown = seeds["low"] + seeds["unit"] * unpack(seeds["at"])
        assert np.abs(shown - values[:, ::5]).max() <= seeds["unit"] / 2 * 1.0001
    assert "iqm" not in packed["goal_visits"]["raw"]


def test_short_curves_are_not_thinned_and_constant_ones_do_not_divide_by_zero():
    packed = packed_curves(runs_of(np.full((2, 100), 3.0)), False)
    seeds = packed["episode_return"]["raw"]["of_seeds"]
    assert seeds["every"] == 1
    assert (seeds["low"] + seeds["unit"] * unpack(seeds["at"]) == 3.0).all()


def test_a_single_seed_has_no_interval():
    packed = packed_curves(runs_of(np.zeros((1, 20))), False)
    assert np.isnan(unpack(packed["episode_return"]["raw"]["half"])).all()
    assert np.isnan(unpack(packed["episode_return"]["raw"]["iqm_half"])).all()


# ---- small pictures -------------------------------------------------------------------------


def corners(path):
    """The points of an SVG path of straight lines, [point, xy]."""
    assert re.fullmatch(r"M[-\d. ]+(L[-\d. ]+)*Z?", path)
    return np.array([point.split() for point in path.strip("MZ").split("L")], dtype=float)


def picture(mean, half, step, **given):
    line = CurveData("a", np.asarray(step), np.asarray(mean, float), np.asarray(half, float))
    return thumbnail(PanelData([line], **given), {"a": Style("#000000")}, link="", marks={})


ENDS = ("low", "high", "first", "last")
RISING = {"mean": [-1, 0, 1, 2.5], "half": [0.5, 0.25, 1, 0.5], "step": [0, 100, 200, 300]}


def test_small_pictures_lie_where_their_numbers_say():
    made = picture(**RISING, dashed=2.0, x_range=(100, 300), y_range=(-2, 3))
    (line,) = made["lines"]
    # 200 wide for steps 100 to 300, 110 high for returns -2 to 3, and y goes down.
    across = [-100, 0, 100, 200]
    mean = [(x, 22 * (3 - y)) for x, y in zip(across, RISING["mean"], strict=True)]
    assert corners(line["path"]) == pytest.approx(np.array(mean), abs=0.051)
    above = [(x, 22 * (3 - y)) for x, y in zip(across, [-0.5, 0.25, 2, 3], strict=True)]
    below = [(x, 22 * (3 - y)) for x, y in zip(across, [-1.5, -0.25, 0, 2], strict=True)]
    assert corners(line["band"]) == pytest.approx(np.array(above + below[::-1]), abs=0.051)
    assert line["band"].endswith("Z")
    assert made["dashed"] == 22.0
    assert [made[end] for end in ENDS] == ["−2", "3", "100", "300"]


def test_small_pictures_without_ranges_show_the_whole_budget():
    made = picture(**RISING, dashed=4.0)
    (line,) = made["lines"]
    # Tests before steps 0, 100, 200 and 300 of 400; values from -1.5 to 4, and 8 % on either side.
    low, high = -1.5 - 0.08 * 5.5, 4 + 0.08 * 5.5
    expected = [
        (200 * x / 400, 110 * (high - y) / (high - low))
        for x, y in zip(RISING["step"], RISING["mean"], strict=True)
    ]
    assert corners(line["path"]) == pytest.approx(np.array(expected), abs=0.051)
    assert made["dashed"] == pytest.approx(110 * (high - 4) / (high - low), abs=0.051)
    assert [made[end] for end in ENDS] == ["−1.94", "4.44", "0", "400"]


def test_small_pictures_without_interval_or_level_have_none():
    made = picture([0, 1], [np.nan, np.nan], [0, 50], dashed=float("nan"), y_range=(0, 1))
    assert made["lines"][0]["band"] == ""
    assert made["dashed"] is None
    assert picture([0, 1], [0, 0], [0, 50])["dashed"] is None


def test_small_pictures_of_long_curves_are_thinned_and_far_points_are_kept_near():
    y = np.where(np.arange(300) < 200, -1000, 0.25)
    made = picture(y, np.zeros(300), np.arange(300) * 10, y_range=(0, 1))
    points = corners(made["lines"][0]["path"])
    assert points[:, 0].tolist() == [round(200 * x / 3000) for x in range(0, 3000, 30)]
    assert points[:, 1].max() == 220  # twice its height is far enough below
    assert points[-1, 1] == 82.5


# ---- numbers in tables ----------------------------------------------------------------------


TESTS = np.arange(20)


def summed_up(minimax, reaches, goal, steps=200):
    """The aggregate of runs that reach 0.9 at a test, and visit the goal so often at the end."""
    runs = []
    for seed, (at, visits) in enumerate(zip(reaches, goal, strict=True)):
        curve = np.where(at <= TESTS, 0.9, -0.2)
        scores = {"episode_return": curve, "worst_case_return": curve}
        scores |= {"goal_visits": np.full(20, visits), "bottom_visits": np.full(20, 2.0)}
        scores |= {name: np.zeros(20) for name in LEDGER}
        runs.append(Run({}, seed, TESTS * 10, scores))
    settings = {"problem": "ab", "steps": steps, "every": 10, "evaluation": "exact"}
    return aggregate("a", settings, runs, minimax)


def row_of(of, asked):
    """Heading of a column -> what is seen, and the values behind it."""
    curve = Curve("a", "a", "a", tuple(range(asked)))
    problem = {"monitor.rho": 0.5}
    panel = Panel("w", "m", "w", "m", problem, "episode_return", None, None, (curve,))
    known = Evidence((), {} if of is None else {"a": of}, {})
    row = problem_row("w / m", "a", panel, curve, known, "here")
    assert row.marks == {"world": "w", "monitor": "m", "rho": 0.5, "agent": "a"}
    assert (row.cells[0].link, row.cells[0].values) == ("here", ("w / m", "w", "m", 0.5))
    cells = [column.cell(value) for column, value in zip(PROBLEMS, row.cells, strict=True)]
    return {
        column.heading: (cell.text, cell.detail, cell.values)
        for column, cell in zip(PROBLEMS, cells, strict=True)
    }


def test_a_row_of_a_problem_by_hand():
    row = row_of(summed_up(0.9, [3, 5, 8, 25, 4], [0.0, 0.0, 0.0, 0.0, 1.0]), 6)
    assert row["seeds"] == ("5 of 6", "", (5, 6))
    assert row["v"] == ("0.9", "", (0.9,))
    assert row["optimal"] == ("4 of 5", "", (4,))
    assert row["steps to 1 %"] == ("50", "", (50,))
    assert row["steps-to-v"] == ("never", "", (None,))  # one seed in five never gets there
    # 0, 0, 0, 0, 1: a mean of 0.2 ± 1.96 · 1/√5 / √5, but no mean of visits is negative
    text, detail, values = row["goal visits"]
    assert (text, detail) == ("0.2", "[0, 0.592]")
    assert values == pytest.approx((0.2, 0.0, 0.592))
    assert row["⊥ visits"] == ("2", "[2, 2]", (2, 2, 2))
    # returns may be negative, and so may their intervals: 0.9 four times, -0.2 once
    half = 1.96 * 0.22
    assert row["end"][2] == pytest.approx((0.68, 0.68 - half, 0.68 + half))
    all_there = row_of(summed_up(0.9, [3, 5, 8], [1.0, 1.0, 1.0]), 3)
    assert all_there["seeds"][0] == "3"
    assert all_there["steps-to-v"] == ("80", "", (80,))


def test_a_row_of_a_problem_whose_minimax_return_is_unknown_claims_nothing():
    row = row_of(summed_up(float("nan"), [3, 5, 8, 4, 4], [1.0] * 5), 5)
    for title in ("v", "optimal", "steps to 1 %", "steps-to-v"):
        assert row[title] == ("–", "", (None,)), title
    assert row["end"][0] == "0.9"
    not_run = row_of(None, 4)
    assert not_run["seeds"] == ("not run, 0 of 4", "", (0, 4))
    assert all(set(not_run[column.heading][2]) == {None} for column in PROBLEMS[3:])


def test_a_single_seed_has_a_mean_of_visits_and_no_interval():
    row = row_of(summed_up(0.9, [3], [0.5]), 1)
    assert row["goal visits"] == ("0.5", "", (0.5, None, None))


def test_mean_steps_that_fill_the_budget_are_bounds():
    nothing = Interval(1.0, 0.5, 1.5)
    rows = tuple(
        AgentRow(name, nothing, nothing, better, optimal, 9, median, mean, (TESTS, TESTS, TESTS))
        for name, better, optimal, median, mean in (
            ("quick", None, 9, 1200.0, 1999.9),
            ("slow", Interval(0.75, 0.5, 1.0), 0, None, 2000.0),
        )
    )
    made = SuiteTable(Figure("f", "", "", ()), 3, rows, (), (), 2000).table()
    quick, slow = ([cell.text for cell in row.cells] for row in made.rows)
    assert quick[3:] == ["–", "9 of 9", "1,200", "2,000"]
    assert slow[3:] == ["0.75", "0 of 9", "never", "≥ 2,000"]
    assert slow[0] == "slow"
    assert made.rows[1].cells[3].detail == "[0.50, 1.00]"
    assert made.rows[1].cells[3].interval == (0.75, 0.5, 1.0)
    assert made.rows[1].cells[-1].values == (2000.0,)
    assert made.title == "agents over 3 problems"


# ---- what the page says ---------------------------------------------------------------------


def test_the_page_asks_nobody_for_anything(finished):
    page = read(finished)
    for tag, given in page.tags:
        assert tag not in ("iframe", "object", "embed", "base"), tag
        for key in ("src", "href", "action", "data", "srcset", "poster"):
            assert re.match(r"#|data:", given.get(key) or "#"), (tag, given)
    text = Path("report.html").read_text(encoding="utf-8")
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text.replace("url(#${", ""))
    assert set(re.findall(r"https?://[^\"'\s]*", text)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text


def test_curves_on_the_page_are_those_of_the_runs(finished):
    page, runs = read(finished), load_results(finished)
    assert len(page.data["settings"]) == 4
    seen = 0
    for setting in page.data["settings"].values():
        for curve in setting["curves"]:
            packed = page.data["curves"][curve["curves"]]
            own = runs[runs["configuration"] == curve["curves"].partition("/")[2]]
            for score in ("episode_return", "goal_visits", "bottom_visits"):
                table = own.pivot_table(index="seed", columns="step", values=score).to_numpy()
                assert table.shape == (5, 150)
                # pandas sums in another order
                assert unpack(packed[score]["mean"]) == pytest.approx(table.mean(axis=0), abs=1e-13)
            seen += 1
    assert seen == 8


def test_tables_on_the_page_hold_the_numbers_of_the_runs(finished):
    page, runs = read(finished), load_results(finished)
    table = page.data["tables"]["c0-problems"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert len(rows) == 8
    names = {"Monitored MBIE-EB": "monitored-mbie-eb", "Directed-E² (r₀ = −10)": "directed-e2"}
    for row in rows:
        own = runs[
            (runs["world"] == row["world"])
            & (runs["monitor.rho"].astype(float) == row["rho"])
            & (runs["agent"] == names[row["agent"]])
        ]
        of_seeds = own.pivot_table(index="seed", columns="step", values="episode_return").to_numpy()
        ends, areas = of_seeds[:, -10:].mean(axis=1), of_seeds.mean(axis=1)
        assert row["end"] == pytest.approx(ends.mean(), abs=1e-12)
        assert row["area"] == pytest.approx(areas.mean(), abs=1e-12)
        half = 1.96 * areas.std(ddof=1) / np.sqrt(5)
        assert row["area_low"] == pytest.approx(areas.mean() - half, abs=1e-12)
        assert row["area_high"] == pytest.approx(areas.mean() + half, abs=1e-12)
        assert (row["seeds"], row["seeds_asked"]) == (5, 5)
        worst = own.pivot_table(index="seed", columns="step", values="worst_case_return").to_numpy()
        v = row["minimax_return"]
        good = worst >= v - 0.01 * max(1, abs(v))
        first = [10 * (150 - int(np.argmin(g[::-1]))) if not g.all() else 0 for g in good]
        reached = np.array([g[-1] for g in good])
        assert row["optimal_runs"] == reached.sum()
        median = median_time(np.where(reached, first, 1500).astype(float), reached)
        assert row["median_steps_to_1pct"] == median


def as_seen(value: float) -> float:
    return float(round(value)) if abs(value) >= 1000 else float(f"{value:.4g}")


@pytest.mark.parametrize(
    ("name", "columns"), [("c0-problems", PROBLEMS), ("c0-s2-table", PROBLEMS[1:])]
)
def test_what_is_seen_in_tables_is_what_the_csv_holds(finished, name, columns):
    page = read(finished)
    stored = page.data["tables"][name]
    assert stored["columns"] == [key for column in columns for key in column.names]
    rows = [row for row in page.tables[name] if row]
    assert len(rows) == len(stored["rows"]) >= 2
    numbers = 0
    for row, values in zip(rows, stored["rows"], strict=True):
        left = list(values)
        for column, text in zip(columns, row, strict=True):
            own, left = left[: len(column.names)], left[len(column.names) :]
            if not column.is_number:
                assert text == own[0]
                continue
            seen = [float(n.replace(",", "").replace("−", "-")) for n in NUMBER.findall(text)]
            if text == "never":
                assert own == [None]
            elif column.heading == "optimal":
                assert seen == [own[0], 5]
            elif column.heading == "seeds":
                assert seen == [5]
            else:
                assert seen == [as_seen(value) for value in own]
                numbers += len(seen)
    assert numbers >= 20


def test_settings_know_where_they_belong(finished):
    page = read(finished)
    sections = [given for tag, given in page.tags if tag == "details" and "data-agents" in given]
    assert sorted({(s["data-world"], s["data-rho"]) for s in sections}) == [
        ("hazard", "0.5"), ("hazard", "1.0"), ("loop", "0.5"), ("loop", "1.0"),
    ]  # fmt: skip
    assert all(
        json.loads(s["data-agents"]) == ["Monitored MBIE-EB", "Directed-E² (r₀ = −10)"]
        for s in sections
    )
    options = [given["value"] for tag, given in page.tags if tag == "option"]
    for value in ("loop", "hazard", "ask", "0.5", "1.0", "Monitored MBIE-EB"):
        assert value in options
    colours = {c["label"]: c["colour"] for s in page.data["settings"].values() for c in s["curves"]}
    assert colours == {"Monitored MBIE-EB": "#009e73", "Directed-E² (r₀ = −10)": "#e69f00"}


def test_provenance_is_on_the_page(finished):
    text = read(finished).text
    for word in ("python", "numba", "kernel hash, monitored-mbie-eb", "commit", "machine"):
        assert word in text
    assert "40 of 40 runs are there" in text


def test_the_filter_of_rho_is_sorted_and_in_percent(tmp_path):
    experiment = {**SUITE["experiment"][0], "rho": [0.05, 1.0, 0.125, 0.5]}
    keep(ask_suite(parse({**SUITE, "experiment": [experiment]}, "test")), tmp_path / "results")
    text = read(tmp_path / "results").source
    (select,) = re.findall(r'<select data-filter="rho".*?</select>', text, re.S)
    options = re.findall(r'<option value="([^"]*)">([^<]*)</option>', select)
    assert options == [
        ("", "all"), ("1.0", "100 %"), ("0.5", "50 %"), ("0.125", "12.5 %"), ("0.05", "5 %"),
    ]  # fmt: skip


def normalised_ends(runs, agent):
    """[seed, problem] mean of the last ten tests: 1 for v, 0 for less by max(1, |v|)."""
    columns = []
    for world in ("loop", "hazard"):
        for rho in (1.0, 0.5):
            v = monmdp.solve(monmdp.make(world, "ask", rho=rho), 0.99).episode_return
            own = runs[
                (runs["world"] == world)
                & (runs["monitor.rho"].astype(float) == rho)
                & (runs["agent"] == agent)
            ]
            table = own.pivot_table(index="seed", columns="step", values="episode_return")
            ends = table.to_numpy()[:, -10:].mean(axis=1)
            columns.append([1 - (v - end) / max(1.0, abs(v)) for end in ends])
    return np.array(columns).T


def test_profiles_and_their_bands_are_those_of_the_runs(finished):
    page, runs = read(finished), load_results(finished)
    profile = page.data["profiles"]["c0-profile-small"]
    tau = unpack(profile["thresholds"])
    assert tau == pytest.approx([0.005 * i for i in range(221)])
    assert profile["problems"] == 4
    narrow = 0
    for curve, agent in zip(profile["curves"], ("monitored-mbie-eb", "directed-e2"), strict=True):
        scores = normalised_ends(runs, agent)
        assert scores.shape == (5, 4)
        expected = performance_profile(scores, tau, np.random.default_rng(0))
        y, low, high = (unpack(curve[key]) for key in ("y", "low", "high"))
        # A score may lie on a threshold but for a rounding error.
        near = np.abs(scores.ravel()[:, None] - tau).min(axis=0) < 1e-9
        for found, truth in zip((y, low, high), expected, strict=True):
            assert found[~near] == pytest.approx(truth[~near], abs=1e-12)
        assert (low <= y).all()
        assert (y <= high).all()
        narrow += int((low < high).sum())
    assert narrow > 5


@pytest.mark.slow
def test_runs_that_are_missing_are_missed_in_their_curve_alone(either):
    path = run_files(either)[3]
    path.unlink()
    page = read(either)
    counts = {}
    for setting in page.data["settings"].values():
        for curve in setting["curves"]:
            there = page.data["curves"][curve["curves"]]["seeds"]
            counts[curve["curves"].partition("/")[2]] = (len(there), curve["asked"])
    assert counts.pop(path.parent.name) == (4, 5)
    assert set(counts.values()) == {(5, 5)}
    assert len(counts) == 7
    table = page.data["tables"]["c0-problems"]
    seeds = [row[table["columns"].index("seeds") :][:2] for row in table["rows"]]
    assert sorted(seeds) == [[4, 5], *[[5, 5]] * 7]
    assert sorted(row[2] for row in page.tables["c0-problems"] if row) == ["4 of 5", *["5"] * 7]


def test_sessions_are_listed_with_what_they_say_and_odd_ones_are_not(results):
    sessions = [
        {"ended": "2030-01-02", "runs": 40, "wall_seconds": 1234.56, "jobs": 2, "commit": "abc"},
        {"ended": "2030-01-03", "shard": "1/2", "scheduler": "slurm 7", "commit": None},
        {"wall_seconds": "long", "jobs": 0},
        {"runs": float("nan"), "wall_seconds": float("inf")},
        7,
        {"jobs": 0},
        {},
    ]
    (results / "reports" / "small" / "sessions.json").write_text(json.dumps(sessions))
    text = read(results).source
    table = text.partition("session ended")[2].partition("</table>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in table.split("<tr>")[1:]]
    assert read(results).data["tables"]["c0-sessions"]["rows"][0][:3] == ["2030-01-02", 40, 1234.56]
    assert rows == [
        ["2030-01-02", "40", "1,234.6", "2", "abc"],
        ["2030-01-03", "?", "?", "shard 1/2, scheduler slurm 7", ""],
        ["?", "?", "?", "0", ""],
        ["?", "?", "?", "", ""],
    ]


def test_every_figure_is_on_the_page(tmp_path):
    asked = ask_paper(["figure-1", "figure-3", "figure-4", "figure-5"])
    keep(asked, tmp_path / "results")
    text = read(tmp_path / "results").source
    figures = text.split('<div class="figure">')[1:]
    assert [re.search(r"figure-\d+", of).group() for of in figures] == [
        "figure-1", "figure-3", "figure-4", "figure-5",
    ]  # fmt: skip
    assert ["<img" in of for of in figures] == [True, True, False, False]
    for plan, shown in zip(asked.plans, figures, strict=True):
        assert shown.count('<figure class="panel"') == len(list(plan.figure.panels()))


def test_agents_are_compared_with_the_reference_of_their_suite(results):
    asked = ask_suite(
        parse({**SUITE, "name": "against", "reference": "directed-e2 r0=-10"}, "test")
    )
    keep(asked, results)
    page = read(results)
    stored = page.data["tables"]
    (name,) = [name for name in stored if "-steps-" in name]  # the other suite names no reference
    rows = [dict(zip(stored[name]["columns"], row, strict=True)) for row in stored[name]["rows"]]
    assert [row["agent"] for row in rows] == ["Monitored MBIE-EB", "Directed-E² (r₀ = −10)"]
    problems = next(of for key, of in stored.items() if key.endswith("problems"))
    runs = [dict(zip(problems["columns"], row, strict=True)) for row in problems["rows"]]
    for row in rows:
        own = [of for of in runs if of["agent"] == row["agent"]]
        assert row["settings"] == len(own) == 4
        assert row["never"] == 20 - sum(of["optimal_runs"] for of in own)
    ours, theirs = (row["geometric_mean_steps_to_1pct"] for row in rows)
    assert rows[0]["ratio"] == pytest.approx(ours / theirs)
    assert rows[0]["ratio_low"] < rows[0]["ratio"] < rows[0]["ratio_high"]
    assert rows[1]["ratio"] is None
    seen = [row for row in page.tables[name] if row]
    assert seen[0][2] == f"{ours:,.0f}"
    assert seen[0][3].startswith(f"{ours / theirs:.3g}")


@pytest.mark.slow
def test_what_a_suite_is_to_show_is_on_the_page(tmp_path):
    keep(ask_suite(bundled_suite("beyond")), tmp_path / "results")
    page = read(tmp_path / "results")
    (claims,) = [rows for name, rows in page.data["tables"].items() if "verdicts" in name]
    assert {row[0] for row in claims["rows"]} == {f"B{n}" for n in (1, 2, 3, 4, 6, 7, 8)}
    assert {row[1] for row in claims["rows"]} == {"", "open"}  # nothing has been run


# ---- folders that are not as they should be ---------------------------------------------------


def run_files(folder):
    return sorted((folder / "runs").rglob("*.parquet"))


def test_missing_damaged_half_written_and_foreign_runs_are_named(either):
    runs = run_files(either)
    runs[0].unlink()
    runs[1].write_bytes(runs[1].read_bytes()[:-40])
    (runs[2].parent / f".seed-0009.parquet.{'a' * 32}.part").write_bytes(b"half")
    (either / "runs" / "notes.txt").write_text("mine")
    shutil.rmtree(runs[-1].parent)
    page = read(either)
    assert "6 of 40 runs are missing" in page.text
    assert f"damaged, and left out: {runs[1]}" in page.text
    assert "half-written" in page.text
    assert "notes.txt" in page.text
    assert "33 of 40 runs are there" in page.text
    assert "not run" in page.text
    shown = {c["label"]: c["asked"] for s in page.data["settings"].values() for c in s["curves"]}
    assert set(shown.values()) == {5}


def remarks_of(page):
    """What the page lists as missing or wrong."""
    found = re.findall(r'data-test="remarks">.*?</div>', page.source, re.S)
    return [html.unescape(line) for of in found for line in re.findall(r"<li>(.*?)</li>", of)]


@pytest.mark.slow
def test_a_damaged_run_is_not_missing_as_well(either):
    path = run_files(either)[1]
    path.write_bytes(path.read_bytes()[:-40])
    page = read(either)
    (damaged, few) = remarks_of(page)
    assert damaged.startswith(f"damaged, and left out: {path}")
    assert few == "some settings have 4 seeds: intervals from so few decide nothing"
    assert "39 of 40 runs are there" in page.text
    run_files(either)[7].unlink()
    assert remarks_of(read(either))[:1] == ["1 of 40 runs are missing"]


@pytest.fixture
def made(monkeypatch):
    """The problems that are made, one after the other."""
    calls = []

    def counting(*words, **given):
        calls.append(words)
        return real(*words, **given)

    real = catalogue.make
    monkeypatch.setattr(catalogue, "make", counting)
    return calls


def said_by(page):
    """The numbers of a page."""
    return {key: page.data[key] for key in ("settings", "curves", "profiles", "tables")}


def test_a_report_on_finished_runs_makes_no_problem(finished, published, made):
    assert said_by(read(published)) == said_by(read(finished))
    assert made == []


@pytest.mark.slow
@pytest.mark.parametrize("state", ["missing", "damaged", "empty", "of another request"])
def test_without_a_good_summary_the_request_is_read(finished, published, tmp_path, made, state):
    folder = Path(shutil.copytree(published, tmp_path / "results"))
    summary = folder / "reports" / "small" / "summary.parquet"
    if state == "missing":
        summary.unlink()
    elif state == "damaged":
        content = bytearray(summary.read_bytes())
        content[len(content) // 2] ^= 1
        summary.write_bytes(content)
    elif state == "empty":
        summary.write_bytes(b"")
    else:
        other = parse({**SUITE, "reference": "directed-e2 r0=-10"}, "test")
        keep(ask_suite(other), folder)
    page = read(folder)
    assert "40 of 40 runs are there" in page.text
    assert remarks_of(page) == []
    if state == "of another request":
        assert [name for name in page.data["tables"] if "-steps-" in name] != []
    else:
        assert said_by(page) == said_by(read(finished))


@pytest.mark.slow
def test_runs_that_came_after_the_summary_are_shown(finished, published, tmp_path):
    folder = Path(shutil.copytree(published, tmp_path / "results"))
    away = run_files(folder)[0].parent
    away.rename(tmp_path / "away")
    publish_again(folder)
    assert "5 of 40 runs are missing" in read(folder).text
    (tmp_path / "away").rename(away)
    page = read(folder)
    assert "40 of 40 runs are there" in page.text
    assert said_by(page) == said_by(read(finished))


def publish_again(folder):
    """Sum up the runs that are there."""
    (request,) = kept(folder)
    asked = request.parsed()
    evidence = gather_kept(asked.figures, asked.settings, folder, {"request": request.hash})
    publish(request.folder, evidence)


def test_a_request_that_has_changed_leaves_runs_that_nobody_asks_for(published, tmp_path):
    folder = Path(shutil.copytree(published, tmp_path / "results"))
    keep(ask_suite(parse({**SUITE, "seeds": 3}, "test")), folder)
    page = read(folder)
    assert "24 of 24 runs are there" in page.text
    assert "runs that no report here asks for" in page.text
    assert "16 of 16 runs are there" in page.text


def test_folders_of_an_earlier_version_are_refused_or_named(published, tmp_path, command):
    old = tmp_path / "all" / "old"
    old.mkdir(parents=True)
    (old / "settings.json").write_text("{}")
    (old / "seed-0000.npz").write_bytes(b"")
    said = f"{old} holds runs of an earlier version (seed-….npz), which this one cannot read"
    code, out, err = command("report", old)
    assert (code, out) == (2, "")
    assert err == f"error: {said}; choose another folder\n"
    assert not (old / "report.html").exists()
    shutil.copytree(published, tmp_path / "all" / "new")
    code, out, err = command("report", tmp_path / "all")
    assert code == 0
    assert "40 runs, 4 settings" in out
    assert err == f"note: {said}; choose another folder\n"


def test_a_folder_where_nothing_has_been_run_yet(tmp_path):
    folder = tmp_path / "results"
    keep(ask_suite(parse(SUITE, "test")), folder)
    page = read(folder)
    assert "40 of 40 runs are missing" in page.text
    assert page.data["settings"] == {}


def test_a_request_that_cannot_be_read_is_named(results):
    (results / "reports" / "small" / "request.json").write_text("{")
    page = read(results)
    assert "a request cannot be read" in page.text
    # its runs are shown all the same
    assert len(page.data["settings"]) == 4


def test_runs_alone_are_enough(results):
    shutil.rmtree(results / "reports")
    page = read(results)
    assert "runs that no report here asks for" in page.text
    assert len(page.data["settings"]) == 4
    assert all(s["minimax"] is not None for s in page.data["settings"].values())


def test_the_same_runs_asked_for_twice_with_other_seeds_do_not_mix(results):
    fewer = ask_suite(parse(SUITE, "test"), seeds=2)
    keep(fewer, results)
    page = read(results)
    counts = {
        name.partition("/")[0]: len(curve["seeds"]) for name, curve in page.data["curves"].items()
    }
    assert sorted(counts.values()) == [2, 5]


@pytest.mark.slow
def test_several_folders_make_one_page(finished, command):
    command("train", "loop", "ask", "--steps", 300, "--seeds", 2, "--out", "trained")
    code, out, _ = command("report", finished, "trained", "-o", "both.html")
    assert code == 0
    assert "42 runs, 5 settings" in out
    text = Page(Path("both.html").read_text(encoding="utf-8")).text
    assert "train-loop-ask-factored-mbie-eb" in text


# ---- runs of train, and runs that nobody asked for ------------------------------------------


def train(command, *words, seeds=3, out="trained"):
    code, _, _ = command("train", *words, "--steps", 300, "--seeds", seeds, "--out", out)
    assert code == 0


def forget(folder):
    """Leave the runs alone, as if they were copied from elsewhere or made in Python."""
    shutil.rmtree(Path(folder, "reports"))


def the_run(folder, seed):
    (path,) = Path(folder, "runs").rglob(f"seed-{seed:04d}.parquet")
    return path


def test_runs_that_nobody_asked_for_are_put_together_by_problem(command):
    agents = "monitored-mbie-eb,directed-e2,directed-e2,r0=-10"
    words = ("--steps", 400, "--every", 20, "--seeds", 2, "--out", "all")
    command("compare", "hazard", "ask", "--agents", agents, *words)
    words += ("--agent", "monitored-mbie-eb")
    command("train", "loop", "ask", "rho=0.5", *words)
    forget("all")
    code, out, err = command("report", "all")
    assert code == 0
    assert err == "note: some settings have 2 seeds: intervals from so few decide nothing\n"
    assert "8 runs, 2 settings" in out
    page = Page(Path("all/report.html").read_text(encoding="utf-8"))
    labels = [[c["label"] for c in s["curves"]] for s in page.data["settings"].values()]
    assert sorted(labels, key=len) == [
        ["Monitored MBIE-EB"],
        ["Monitored MBIE-EB", "Directed-E²", "Directed-E² (r₀ = −10.0)"],
    ]
    assert [s["minimax"] is None for s in page.data["settings"].values()] == [False, False]


@pytest.mark.slow
def test_what_train_and_compare_were_asked_for_is_a_chapter_each(command):
    words = ("--steps", 400, "--seeds", 2, "--out", "all")
    command("compare", "hazard", "ask", "--agents", "monitored-mbie-eb,directed-e2", *words)
    command("train", "loop", "ask", *words)
    page = read(Path("all"))
    labels = [[c["label"] for c in s["curves"]] for s in page.data["settings"].values()]
    assert labels == [["Monitored MBIE-EB", "Directed-E²"], ["Factored MBIE-EB"]]
    assert "compare-hazard-ask-monitored-mbie-eb" in page.text
    assert "train-loop-ask-factored-mbie-eb" in page.text
    assert "no report here asks for" not in page.text


def test_a_damaged_run_of_train_is_left_out_and_named(command):
    command("train", "loop", "ask", "--steps", 300, "--seeds", 3, "--out", "trained")
    the_run("trained", 1).write_bytes(b"nonsense")
    for _ in range(2):
        code, out, err = command("report", "trained", "-o", "r.html")
        assert code == 0
        assert "2 runs" in out
        assert "damaged" in err
        assert err.count("seed-0001.parquet") == 1
        shutil.rmtree("trained/reports", ignore_errors=True)


@pytest.mark.slow
def test_a_run_of_another_problem_is_left_out_and_named(command):
    train(command, "loop", "ask")
    alone = read(Path("trained")).data["tables"]["c0-problems"]["rows"]
    train(command, "hazard", "ask", "rho=0.5", seeds=7, out="other")
    stray = the_run("trained", 0).with_name("seed-0006.parquet")
    shutil.copy(the_run("other", 6), stray)
    page = read(Path("trained"))
    assert remarks_of(page)[0] == f"damaged, or no run: {stray}"
    assert page.data["tables"]["c0-problems"]["rows"] == alone
    shutil.copy(the_run("other", 2), the_run("trained", 2))
    page = read(Path("trained"))
    assert "seed-0002.parquet: holds another run, of seed 2" in page.text
    assert "2 of 3 runs are there" in page.text


def test_seeds_that_are_gone_are_missed(command):
    train(command, "loop", "ask")
    the_run("trained", 1).unlink()
    the_run("trained", 2).write_bytes(b"half")
    page = read(Path("trained"))
    assert "1 of 3 runs are there" in page.text
    missing, damaged, few = remarks_of(page)
    assert missing == "1 of 3 runs are missing"
    assert damaged.startswith(f"damaged, and left out: {the_run('trained', 2)}")
    assert few == "some settings have 1 seed: intervals from so few decide nothing"


@pytest.mark.slow
def test_the_same_runs_in_two_folders_do_not_mix(command):
    train(command, "loop", "ask", out="all/a")
    train(command, "loop", "ask", seeds=5, out="all/b")
    for _ in range(2):
        page = read(Path("all"))
        curves = [s["curves"] for s in page.data["settings"].values()]
        assert [len(of) for of in curves] == [1, 1]
        seeds = [page.data["curves"][of[0]["curves"]]["seeds"] for of in curves]
        assert seeds == [[0, 1, 2], [0, 1, 2, 3, 4]]
        for folder in ("all/a", "all/b"):
            shutil.rmtree(f"{folder}/reports", ignore_errors=True)


@pytest.mark.slow
def test_the_problem_that_was_kept_must_be_that_of_the_runs(command):
    Path("w.txt").write_text("start: 0,0\ntime_limit: 20\n---\n..$\n")
    train(command, "w.txt", "ask", "--snapshots", 2)
    forget("trained")
    page = read(Path("trained"))
    (v,) = (s["minimax"] for s in page.data["settings"].values())
    assert v == pytest.approx(0.99**2)
    assert "explorer" in page.source
    train(command, "loop", "ask", out="other")
    (problem,), (other,) = (Path(of, "problems").iterdir() for of in ("trained", "other"))
    for change, said in (
        (lambda: shutil.copy(other, problem), "another problem"),
        (lambda: problem.write_bytes(b"what?"), "damaged"),
        (problem.unlink, "no such file"),
    ):
        change()
        page = read(Path("trained"))
        assert [s["minimax"] for s in page.data["settings"].values()] == [None]
        unknown, inside, *_ = remarks_of(page)
        assert "is unknown: " in unknown + inside
        assert "its snapshots cannot be shown: " in unknown + inside
        assert unknown.count(said) == inside.count(said) == 1
        (row,) = [row for row in page.tables["c0-problems"] if row]
        assert "never" not in row
        assert row.count("–") == 4  # v, optimal, steps to 1 %, steps-to-v


def test_a_problem_is_read_once_however_many_agents_learnt_it(command, monkeypatch):
    many = ["mbie-eb", "monitored-mbie-eb", "r-max"]
    for agent in many:
        words = ("train", "loop", "ask", "--agent", agent, "--steps", 300, "--seeds", 1)
        assert command(*words, "--out", "trained")[0] == 0
    forget("trained")
    reads = []
    load = MonMDP.load
    monkeypatch.setattr(MonMDP, "load", lambda path: reads.append(path) or load(path))
    page = read(Path("trained"))
    (setting,) = page.data["settings"].values()
    assert len(setting["curves"]) == len(many)
    assert len(reads) == 2  # for what it is worth, and for what fixed policies get


def test_a_finished_request_needs_no_problem(command):
    """What it was summed up to is enough, even if the world's file is another one by now."""
    Path("w.txt").write_text("start: 0,0\ntime_limit: 20\n---\n..$\n")
    train(command, "w.txt", "ask")
    before = read(Path("trained")).data["settings"]
    Path("w.txt").unlink()
    shutil.rmtree("trained/problems")
    page = read(Path("trained"))
    assert [s["minimax"] for s in page.data["settings"].values()] == [pytest.approx(0.99**2)]
    assert page.data["settings"] == before
    assert remarks_of(page) == ["some settings have 3 seeds: intervals from so few decide nothing"]


@pytest.mark.slow
def test_equal_curves_are_told_apart_by_their_names(command):
    for name in ("w", "v"):  # the same problem under two names
        Path(f"{name}.txt").write_text("start: 0,0\ntime_limit: 20\n---\n..$\n")
        train(command, f"{name}.txt", "ask", out="all")
    forget("all")
    page = read(Path("all"))
    (setting,) = page.data["settings"].values()
    names = [curve["label"] for curve in setting["curves"]]
    assert len(set(names)) == 2
    assert [name.partition(" (")[0] for name in names] == ["Factored MBIE-EB"] * 2
    assert "in v-ask-" in names[0]
    assert "in w-ask-" in names[1]
    assert [row[1] for row in page.tables["c0-problems"] if row] == names
    assert len({curve["dash"] for curve in setting["curves"]}) == 2


def test_equal_curves_of_a_suite_are_told_apart(tmp_path):
    for name in ("w", "v"):
        Path(f"{name}.txt").write_text("start: 0,0\ntime_limit: 20\n---\n..$\n")
    experiment = {
        "worlds": ["w.txt", "v.txt"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"],
    }  # fmt: skip
    suite = {"name": "twins", "seeds": 2, "steps": 300, "experiment": [experiment]}
    asked = ask_suite(parse(suite, "test"))
    keep(asked, tmp_path / "results")
    execute(tmp_path / "results", asked.runs())
    page = read(tmp_path / "results")
    (setting,) = page.data["settings"].values()
    labels = [curve["label"] for curve in setting["curves"]]
    assert len(set(labels)) == 2
    assert [label.partition(" (")[0] for label in labels] == ["Monitored MBIE-EB"] * 2
    assert len({curve["curves"] for curve in setting["curves"]}) == 2
    assert [row[1] for row in page.tables["c0-problems"] if row] == labels


@pytest.mark.slow
def test_agents_come_in_the_order_in_which_they_are_listed(command):
    words = ("--steps", 300, "--seeds", 2)
    for agent in ("ucb", "mbie-eb", "monitored-mbie-eb"):
        command("train", "loop", "ask", "--agent", agent, *words, "--out", "all")
    forget("all")
    page = read(Path("all"))
    (setting,) = page.data["settings"].values()
    order = ["Monitored MBIE-EB", "MBIE-EB", "ucb"]
    assert [curve["label"] for curve in setting["curves"]] == order
    assert [row[0] for row in page.tables["c0-agents-unasked"] if row] == order
    # the chance of an improvement is that of the first over the others
    assert [row[3] == "–" for row in page.tables["c0-agents-unasked"] if row] == [
        True,
        False,
        False,
    ]


def test_a_single_agent_is_not_compared(command):
    for world in ("loop", "hazard"):
        train(command, world, "ask", out="all")
    forget("all")
    page = read(Path("all"))
    assert len(page.data["settings"]) == 2
    assert page.data["profiles"] == {}
    assert [name for name in page.data["tables"] if "agents" in name] == []
    assert "Agents over all problems" not in page.text


def test_runs_to_look_into_know_where_they_belong(command):
    train(command, "loop", "ask", "--snapshots", 2, seeds=1, out="all/a")
    train(command, "hazard", "button", "rho=0.5", "--snapshots", 2, seeds=1, out="all/b")
    page = read(Path("all"))
    keys = ("data-world", "data-monitor", "data-rho")
    marks = [tuple(given[key] for key in keys) for tag, given in page.tags if tag == "article"]
    assert marks == [("loop", "ask", "1.0"), ("hazard", "button", "0.5")]


@pytest.mark.parametrize("asked", [True, False])
def test_runs_to_look_into_pass_the_filters_as_their_curves_do(command, asked):
    """Whatever its file calls it, a world has one name in the filters."""
    Path("w.txt").write_text("name: other\nstart: 0,0\ntime_limit: 20\n---\n..$\n")
    train(command, "w.txt", "ask", "rho=0.5", "--snapshots", 2, seeds=1)
    if not asked:
        forget("trained")
    page = read(Path("trained"))
    kinds = ("article", "details", "figure")
    (explorer, *curves) = sorted(
        ((tag, given["data-world"], given["data-monitor"], given["data-rho"])
         for tag, given in page.tags if tag in kinds and "data-world" in given),
        key=lambda marks: kinds.index(marks[0]),
    )  # fmt: skip
    assert explorer[0] == "article"
    assert {of[1:] for of in curves} == {explorer[1:]}
    assert len(curves) == 2
    assert explorer[1:] == ("w" if asked else "other", "ask", "0.5")


def test_snapshots_that_are_damaged_do_not_stop_the_report(command):
    train(command, "loop", "ask", "--snapshots", 2)
    inside = inside_path(the_run("trained", 0))
    content = inside.read_bytes()
    inside.write_bytes(content[:-1])
    page = read(Path("trained"))
    assert "its snapshots cannot be shown: " in page.text
    assert "3 of 3 runs are there" in page.text
    inside.unlink()
    page = read(Path("trained"))
    assert "snapshots" not in "".join(remarks_of(page))
    assert "3 of 3 runs are there" in page.text


@pytest.mark.slow
def test_ways_of_testing_are_told_apart(command):
    train(command, "loop", "ask", out="all")
    train(command, "loop", "ask", "--evaluation", "monte-carlo", out="all")
    forget("all")
    page = read(Path("all"))
    titles = [setting["title"] for setting in page.data["settings"].values()]
    assert sorted(titles) == ["loop / ask, exact", "loop / ask, monte-carlo"]
    shown = [row[0] for row in page.tables["c0-problems"] if row]
    assert sorted(shown) == sorted(titles)
    assert [tag for tag, given in page.tags if given.get("class") == "panel"] == ["figure"] * 2


def test_what_the_minimax_return_is_discounted_by_is_the_runs_own(command):
    train(command, "loop", "ask", "gamma=0.9")
    forget("trained")
    (setting,) = read(Path("trained")).data["settings"].values()
    problem = monmdp.make("loop", "ask")
    assert setting["minimax"] == pytest.approx(monmdp.solve(problem, 0.9).episode_return)


def test_a_suite_that_varies_the_agent_shows_every_variant(tmp_path):
    suite = {
        "name": "sweep", "seeds": 5, "steps": 300,
        "experiment": [{
            "worlds": ["loop"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"],
            "overrides": [{"beta": 0.0005}, {"beta": 0.001}, {"beta": 0.01}],
        }],
    }  # fmt: skip
    asked = ask_suite(parse(suite, "test"))
    folder = tmp_path / "results"
    keep(asked, folder)
    execute(folder, asked.runs())
    page = read(folder)
    (setting,) = page.data["settings"].values()
    names = [f"Monitored MBIE-EB (beta = {beta})" for beta in (0.0005, 0.001, 0.01)]
    assert setting["title"] == "loop / ask"
    assert [curve["label"] for curve in setting["curves"]] == names
    assert {curve["agent"] for curve in setting["curves"]} == {"Monitored MBIE-EB"}
    assert len({(curve["colour"], curve["dash"]) for curve in setting["curves"]}) == 3
    assert len({curve["colour"] for curve in setting["curves"]}) == 1
    assert [row[1] for row in page.tables["c0-problems"] if row] == names


def test_a_figure_without_runs_is_drawn(tmp_path):
    asked = ask_paper(["figure-3"])
    keep(asked, tmp_path / "results")
    page = read(tmp_path / "results")
    images = [given["src"] for tag, given in page.tags if tag == "img"]
    assert [src[:22] for src in images] == ["data:image/png;base64,"]


@pytest.mark.slow
def test_stale_runs_are_named_with_and_without_a_request(either):
    path = run_files(either)[0]
    run = read_run(path)
    write_run(path, replace(run, provenance={**run.provenance, "kernel": "another"}))
    assert "1 run was made by another version" in read(either).text
    shutil.rmtree(either / "reports")
    assert "1 run was made by another version" in read(either).text


def test_an_empty_folder_behind_a_folder_with_remarks_is_still_an_error(results, tmp_path):
    (results / "runs" / "notes.txt").write_text("mine")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(MonMDPError, match="nothing: there are no results"):
        report.write_page([results, tmp_path / "nothing"], "report.html")


def test_claims_have_their_verdicts_and_badges(tmp_path):
    suite = paper_suite("figure-4").adapted(seeds=2)
    asked = Request("figure-4-2-seeds", (suite,), "paper")
    keep(asked, tmp_path / "results")
    page = read(tmp_path / "results")
    badges = [given["class"] for tag, given in page.tags if "badge" in (given.get("class") or "")]
    assert set(badges) == {"badge open"}  # nothing was run
    assert {TONES[verdict.value] for verdict in Verdict} == {"good", "bad", "open"}
    assert TONES["holds"] == "good"
    assert TONES["not reproduced"] == "bad"
    table = page.data["tables"]["c0-claims"]
    assert all(row[table["columns"].index("verdict")] == "open" for row in table["rows"])


def test_verdicts_wear_their_colours(finished, monkeypatch):
    def part(verdict):
        check = Check("so much", Interval(0.5, 0.25, 0.75), verdict, setting="here")
        return JudgedSentence(f"it {verdict.value}", "eye", "so much", verdict, (check,))

    claims = [JudgedClaim(f"claim {v.name}", (), "a claim", (part(v),)) for v in Verdict]
    monkeypatch.setattr(sources, "check_claims", lambda _: claims)
    text = read(finished).source
    badges = re.findall(r'<span class="badge (\w+)">([^<]*)</span>', text)
    by_verdict = {
        "holds": "good", "holds, another number": "good", "not reproduced": "bad", "open": "open",
    }  # fmt: skip
    # of each sentence, of its check
    assert len(badges) == 8
    assert all(tone == by_verdict[verdict] for tone, verdict in badges)
    assert {verdict for _, verdict in badges} == set(by_verdict)


def test_every_table_can_be_downloaded(finished, monkeypatch):
    check = Check("so much", Interval(0.5, 0.25, 0.75), Verdict.HOLDS, "also so", setting="here")
    sentence = JudgedSentence("it holds", "eye", "so much", Verdict.HOLDS, (check,))
    claim = JudgedClaim("C1", (), "a claim", (sentence,))
    monkeypatch.setattr(sources, "check_claims", lambda _: [claim])
    page = read(finished)
    tables = [given.get("data-table") for tag, given in page.tags if tag == "table"]
    buttons = [given["data-csv"] for tag, given in page.tags if "data-csv" in given]
    assert len(tables) == len(set(tables))
    assert set(tables) == set(buttons)
    assert None not in tables
    assert {"c0-verdicts", "c0-claims", "c0-problems"} <= set(tables)
    for name in tables:
        assert len(page.data["tables"][name]["rows"]) == len([r for r in page.tables[name] if r])
    assert page.data["tables"]["c0-verdicts"]["rows"] == [
        ["C1", "", "a claim", "", "", ""],
        ["C1", "holds", "it holds", "so much", "eye", "not run"],
    ]


def test_one_test_is_no_curve(command):
    monmdp.train(monmdp.make("loop", "ask"), "ucb", 50, out="trained")
    code, _, err = command("report", "trained")
    assert code == 0
    assert "a single test is no learning curve" in err


def test_names_from_files_stay_text(command):
    Path("evil.txt").write_text(f"name: {EVIL}\nstart: 0,0\ntime_limit: 20\n---\n..?\n..$\n")
    command("train", "evil.txt", "ask", "--steps", 400, "--seeds", 2, "--out", "trained")
    for asked in (True, False):
        code, _, _ = command("report", "trained")
        assert code == 0
        text = Path("trained/report.html").read_text(encoding="utf-8")
        assert EVIL not in text
        assert (EVIL in Page(text).text) is not asked  # the request names the file
        assert text.count("</script>") == 2  # the page's own: the data, and the program
        shutil.rmtree("trained/reports", ignore_errors=True)


# ---- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere: no such folder"),
        (["a.txt"], "is a file; give the folder"),
        (["empty"], "empty: there are no results here"),
        (["empty", "-o", "x.pdf"], "must end in .html"),
        ([], "missing argument"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(command, words, said):
    Path("empty").mkdir()
    Path("a.txt").write_text("")
    code, _, err = command("report", *words)
    assert code == 2
    assert said in err
    assert not list(Path("empty").iterdir())
    assert {path.name for path in Path().iterdir()} == {"empty", "a.txt"}


def test_a_failed_write_leaves_nothing(finished, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(MonMDPError, match="No space left"):
        report.write_page([finished], "report.html")
    assert not list(Path().iterdir())
