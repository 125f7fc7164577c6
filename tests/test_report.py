"""The report: what the page says is what is stored, whatever state the folder is in."""

from __future__ import annotations

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
from monmdp import MonMDPError, files, load_results, report
from monmdp.report.curves import packed_curves
from monmdp.report.packing import finite, pack, script_json, unpack
from monmdp.report.tables import PROBLEMS, TONES
from monmdp.results import execute
from monmdp.results.claims import Verdict
from monmdp.results.request import Asked, ask_paper, ask_suite, keep
from monmdp.results.store import Shard, read_shard, write_shard
from monmdp.statistics import iqm_curve, median_time, smooth
from monmdp.suites import paper_suite, parse

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


def shards_of(curves):
    step = np.arange(curves.shape[1]) * 100
    return [
        Shard(
            {},
            seed,
            {},
            step,
            dict.fromkeys(("episode_return", "goal_visits", "bottom_visits"), curve),
        )
        for seed, curve in enumerate(curves)
    ]


@pytest.mark.parametrize("smoothed", [False, True])
def test_means_are_exact_and_seeds_are_thinned_and_rounded(smoothed):
    curves = np.random.default_rng(0).normal(size=(9, 450)).cumsum(axis=1)
    packed = packed_curves(shards_of(curves), smoothed)
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
    packed = packed_curves(shards_of(np.full((2, 100), 3.0)), False)
    seeds = packed["episode_return"]["raw"]["of_seeds"]
    assert seeds["every"] == 1
    assert (seeds["low"] + seeds["unit"] * unpack(seeds["at"]) == 3.0).all()


def test_a_single_seed_has_no_interval():
    packed = packed_curves(shards_of(np.zeros((1, 20))), False)
    assert np.isnan(unpack(packed["episode_return"]["raw"]["half"])).all()
    assert np.isnan(unpack(packed["episode_return"]["raw"]["iqm_half"])).all()


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
            elif column.title == "optimal":
                assert seen == [own[0], 5]
            elif column.title == "seeds":
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


# ---- folders that are not as they should be ---------------------------------------------------


def run_files(folder):
    return sorted((folder / "runs").rglob("*.parquet"))


def test_missing_damaged_half_written_and_foreign_runs_are_named(results):
    runs = run_files(results)
    runs[0].unlink()
    runs[1].write_bytes(runs[1].read_bytes()[:-40])
    (runs[2].parent / ".seed-0009.parquet.abc.part").write_bytes(b"half")
    (results / "runs" / "notes.txt").write_text("mine")
    shutil.rmtree(runs[-1].parent)
    page = read(results)
    assert "6 of 40 runs are missing" in page.text
    assert f"damaged, and left out: {runs[1]}" in page.text
    assert "half-written" in page.text
    assert "notes.txt" in page.text
    assert "33 of 40 runs are there" in page.text
    assert "not run" in page.text
    shown = {c["label"]: c["asked"] for s in page.data["settings"].values() for c in s["curves"]}
    assert set(shown.values()) == {5}


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


def test_several_folders_make_one_page(finished, command):
    command("train", "loop", "ask", "--steps", 300, "--seeds", 2, "--out", "trained")
    code, out, _ = command("report", finished, "trained", "-o", "both.html")
    assert code == 0
    assert "42 runs, 5 settings" in out
    text = Page(Path("both.html").read_text(encoding="utf-8")).text
    assert "runs of monmdp train" in text


# ---- runs of train --------------------------------------------------------------------------


def test_training_folders_are_put_together_by_problem(command):
    agents = "monitored-mbie-eb,directed-e2,directed-e2,r0=-10"
    words = ("--steps", 400, "--every", 20, "--seeds", 2)
    command("compare", "hazard", "ask", "--agents", agents, *words, "--out", "all/compared")
    command("train", "loop", "ask", "rho=0.5", *words, "--out", "all/loop")
    code, out, err = command("report", "all")
    assert code == 0
    assert err == "note: some settings have 2 seeds: intervals from so few decide nothing\n"
    assert "8 runs, 2 settings" in out
    page = Page(Path("all/report.html").read_text(encoding="utf-8"))
    labels = [[c["label"] for c in s["curves"]] for s in page.data["settings"].values()]
    assert labels == [
        ["Monitored MBIE-EB", "Directed-E²", "Directed-E² (r₀ = −10.0)"],
        ["Monitored MBIE-EB"],
    ]
    assert [s["minimax"] is None for s in page.data["settings"].values()] == [False, False]


def test_a_damaged_run_of_train_is_left_out_and_named(command):
    command("train", "loop", "ask", "--steps", 300, "--seeds", 3, "--out", "trained")
    Path("trained/seed-0001.npz").write_bytes(b"nonsense")
    code, out, err = command("report", "trained", "-o", "r.html")
    assert code == 0
    assert "2 runs" in out
    assert "seed-0001.npz" in err


def train(command, *words, seeds=3, out="trained"):
    code, _, _ = command("train", *words, "--steps", 300, "--seeds", seeds, "--out", out)
    assert code == 0


def test_a_run_of_another_problem_is_left_out_and_named(command):
    train(command, "loop", "ask")
    alone = read(Path("trained")).data["tables"]["c0-problems"]["rows"]
    train(command, "hazard", "ask", "rho=0.5", seeds=7, out="other")
    shutil.copy("other/seed-0006.npz", "trained/seed-0006.npz")
    page = read(Path("trained"))
    assert "seed-0006.npz: a run with other settings than those beside it" in page.text
    assert page.data["tables"]["c0-problems"]["rows"] == alone


def test_seeds_that_were_done_and_are_gone_are_missed(command):
    train(command, "loop", "ask")
    Path("trained/seed-0001.npz").unlink()
    Path("trained/seed-0002.npz").write_bytes(b"half")
    page = read(Path("trained"))
    assert "1 of 3 runs are there" in page.text
    assert "runs that were done are missing, seeds 1" in page.text


def test_the_same_runs_in_two_folders_are_one_curve(command):
    train(command, "loop", "ask", out="all/a")
    train(command, "loop", "ask", seeds=5, out="all/b")
    page = read(Path("all"))
    (setting,) = page.data["settings"].values()
    (curve,) = setting["curves"]
    assert page.data["curves"][curve["curves"]]["seeds"] == [0, 1, 2, 3, 4]
    assert "seeds in both are shown once" in page.text
    assert "5 of 5 runs are there" in page.text


def test_the_problem_beside_the_runs_must_be_theirs(command):
    Path("w.txt").write_text("start: 0,0\ntime_limit: 20\n---\n..$\n")
    train(command, "w.txt", "ask")
    (v,) = (s["minimax"] for s in read(Path("trained")).data["settings"].values())
    assert v == pytest.approx(0.99**2)
    train(command, "loop", "ask", out="other")
    shutil.copy("other/problem.npz", "trained/problem.npz")
    page = read(Path("trained"))
    assert "another problem than that of the runs beside it" in page.text
    assert "its problem is unknown, and so is the minimax return" in page.text
    assert [s["minimax"] for s in page.data["settings"].values()] == [None]
    (row,) = [row for row in page.tables["c0-problems"] if row]
    assert "never" not in row
    assert row.count("–") == 4  # v, optimal, steps to 1 %, steps-to-v


def test_snapshots_of_another_problem_do_not_stop_the_report(command):
    train(command, "loop", "ask", "--snapshots", 2)
    shutil.copy("trained/seed-0000.npz", "kept.npz")
    train(command, "loop", "ask", "rho=0.5", out="other")
    shutil.copy("kept.npz", "other/seed-0000.npz")
    page = read(Path("other"))
    assert "with other settings" in page.text


def test_ways_of_testing_are_told_apart(command):
    train(command, "loop", "ask", out="all/exact")
    train(command, "loop", "ask", "--evaluation", "monte-carlo", out="all/drawn")
    page = read(Path("all"))
    titles = [setting["title"] for setting in page.data["settings"].values()]
    assert sorted(titles) == ["loop / ask, exact", "loop / ask, monte-carlo"]
    shown = [row[0] for row in page.tables["c0-problems"] if row]
    assert sorted(shown) == sorted(titles)


def test_what_the_minimax_return_is_discounted_by_is_the_runs_own(command):
    train(command, "loop", "ask", "gamma=0.9")
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


def test_stale_runs_are_named_with_and_without_a_request(results):
    path = run_files(results)[0]
    shard = read_shard(path)
    write_shard(path, replace(shard, provenance={**shard.provenance, "kernel": "another"}))
    assert "1 runs were made by another version" in read(results).text
    shutil.rmtree(results / "reports")
    assert "1 runs were made by another version" in read(results).text


def test_an_empty_folder_behind_a_folder_with_remarks_is_still_an_error(results, tmp_path):
    (results / "runs" / "notes.txt").write_text("mine")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(MonMDPError, match="nothing: there are no results"):
        report.write_page([results, tmp_path / "nothing"], "report.html")


def test_claims_have_their_verdicts_and_badges(tmp_path):
    suite = paper_suite("figure-4").adapted(seeds=2)
    asked = Asked("figure-4-2-seeds", (suite,), "paper")
    keep(asked, tmp_path / "results")
    page = read(tmp_path / "results")
    badges = [given["class"] for tag, given in page.tags if "badge" in (given.get("class") or "")]
    assert set(badges) == {"badge open"}  # nothing was run
    assert {TONES[verdict.value] for verdict in Verdict} == {"good", "bad", "open"}
    assert TONES["holds"] == "good"
    assert TONES["does not hold"] == "bad"
    table = page.data["tables"]["c0-claims"]
    assert all(row[table["columns"].index("verdict")] == "inconclusive" for row in table["rows"])


def test_one_test_is_no_curve(command):
    command("train", "loop", "ask", "--steps", 50, "--seeds", 1, "--out", "trained")
    code, _, err = command("report", "trained")
    assert code == 0
    assert "a single test is no learning curve" in err


def test_names_from_files_stay_text(command):
    Path("evil.txt").write_text(f"name: {EVIL}\nstart: 0,0\ntime_limit: 20\n---\n..?\n..$\n")
    command("train", "evil.txt", "ask", "--steps", 400, "--seeds", 2, "--out", "trained")
    code, _, _ = command("report", "trained")
    assert code == 0
    text = Path("trained/report.html").read_text(encoding="utf-8")
    assert EVIL not in text
    assert EVIL in Page(text).text
    assert text.count("</script>") == 2  # the page's own: the data, and the program


# ---- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere: no such folder"),
        (["a.txt"], "is a file; give the folder"),
        (["empty"], "empty: there are no results here"),
        (["empty", "-o", "x.pdf"], "must end in .html"),
        ([], "Missing argument"),
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
