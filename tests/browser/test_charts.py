"""What charts show lies where the runs' numbers say, and says them; nothing else is shown."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace

import numpy as np
import pytest
from selenium.webdriver import ActionChains

from browser import truth
from browser.conftest import monmdp, report
from browser.truth import LABELS
from monmdp.results.store import read_run, write_run
from monmdp.stats import half_width, iqm_curve, performance_profile, smooth

VIEW = ("x0", "x1", "y0", "y1")
READ = re.compile(r"(?P<label>.+) (?P<y>[−\d.e]+)(?: \[(?P<low>[−\d.e]+), (?P<high>[−\d.e]+)\])?")


@pytest.fixture(scope="module")
def runs(results):
    return truth.read(results)


def of_setting(runs, i):
    """The runs of the two agents in the section of a setting."""
    return runs[2 * i : 2 * i + 2]


@dataclass(frozen=True)
class Plot:
    """Where a chart has its axes, and what they range over."""

    left: float
    right: float
    top: float
    bottom: float
    x0: float
    x1: float
    y0: float
    y1: float

    def px(self, x):
        return self.left + (x - self.x0) / (self.x1 - self.x0) * (self.right - self.left)

    def py(self, y):
        return self.bottom - (y - self.y0) / (self.y1 - self.y0) * (self.bottom - self.top)


def plot(page, root):
    [axis] = page.attributes(".chart .axis", "d", root)
    left, top, bottom, right = map(float, re.findall(r"[\d.]+", axis))
    view = [float(page.attributes(".chart", f"data-{key}", root)[0]) for key in VIEW]
    return Plot(left, right, top, bottom, *view)


def chart_of(page, section, score="episode_return"):
    return page.one(f"[data-score={score}]", section)


def point_at(page, root, x):
    """Point at the place of `x` on the axis; return what is said of each curve there."""
    chart, where = page.one(".chart", root), plot(page, root)
    page.js("it[0].scrollIntoView({ block: 'center' })", chart)
    width, height = page.js("[it[0].clientWidth, it[0].clientHeight]", chart)
    aim = round(where.px(x) - width / 2), round((where.top + where.bottom) / 2 - height / 2)
    ActionChains(page.driver, duration=0).move_to_element_with_offset(chart, *aim).perform()
    place, *said = page.texts("[data-test=readout] span", root)
    assert number(place.split()[-1]) == pytest.approx(x)
    found = {}
    for text in said:
        match = READ.fullmatch(text)
        values = [match[key] and number(match[key]) for key in ("y", "low", "high")]
        found[match["label"]] = values
    return found


def number(text):
    return float(text.replace(",", "").replace("−", "-"))


def corners(path):
    return np.array([point.split() for point in path.strip("MZ").split("L")], dtype=float)


def values(of, score, smoothed):
    return smooth(of.curve[score]) if smoothed else of.curve[score]


def bands(of, smoothed):
    """Mean and IQM of the returns -> [y, low, high][checkpoint]."""
    curves = values(of, "episode_return", smoothed)
    mean, half = curves.mean(axis=0), half_width(curves)
    iqm, iqm_half = iqm_curve(curves)
    return {
        "mean": np.array([mean, mean - half, mean + half]),
        "IQM": np.array([iqm, iqm - iqm_half, iqm + iqm_half]),
    }


def switch(page, section, name):
    page.click(page.one(f"[name={name}]", section))


# ---- what is said where one points -----------------------------------------------------------


def test_intervals_are_those_of_the_runs(wide, html, runs):
    def told_apart(i, j):
        """How far what could be taken for each other lies apart at a checkpoint of a setting."""
        gaps = []
        for of in of_setting(runs, i):
            drawn, raw = bands(of, True), bands(of, False)
            for kind in ("mean", "IQM"):
                gaps += [np.ptp(drawn[kind][:, j]), np.ptp(raw[kind][:, j])]
                gaps.append(abs(drawn[kind][0, j] - raw[kind][0, j]))
            gaps.append(abs(drawn["mean"][0, j] - drawn["IQM"][0, j]))
        return min(gaps)

    i, j = max(((i, j) for i in range(8) for j in range(20, 200)), key=lambda at: told_apart(*at))
    assert told_apart(i, j) > 0.05
    wide.open(html)
    section = wide.setting(i)
    root = chart_of(wide, section)
    switch(wide, section, "iqm")
    for smoothed in (True, False):
        found = point_at(wide, root, runs[0].step[j])
        assert len(found) == 4
        for of in of_setting(runs, i):
            expected = bands(of, smoothed)
            name = LABELS[of.agent]
            for label, kind in ((name, "mean"), (f"{name}, IQM", "IQM")):
                # Half widths are in single precision, and four digits are shown.
                assert found[label] == pytest.approx(expected[kind][:, j], rel=1e-3), label
        switch(wide, section, "smooth")
    switch(wide, section, "mean")  # the IQM alone, smoothed again
    found = point_at(wide, root, runs[0].step[j])
    for of in of_setting(runs, i):
        expected = bands(of, True)["IQM"][:, j]
        assert found[LABELS[of.agent]] == pytest.approx(expected, rel=1e-3)


def test_bands_are_drawn_where_the_intervals_are(wide, html, runs):
    wide.open(html)
    section = wide.setting(2)
    root = chart_of(wide, section)
    where = plot(wide, root)
    paths = wide.attributes("path.band", "d", root)
    for path, of in zip(paths, of_setting(runs, 2), strict=True):
        _, low, high = bands(of, True)["mean"]
        edge = [*zip(of.step, high, strict=True), *zip(of.step[::-1], low[::-1], strict=True)]
        expected = [(where.px(x), where.py(y)) for x, y in edge]
        assert corners(path) == pytest.approx(np.array(expected), abs=0.1)


def visits(of, score, smoothed, j):
    """Mean and interval at a checkpoint; no mean of visits is negative."""
    curves = values(of, score, smoothed)[:, j]
    mean, half = curves.mean(), float(half_width(curves))
    return [mean, max(0.0, mean - half), mean + half], mean - half


def test_charts_of_visits_show_each_its_own(wide, html, runs):
    i, scores = 4, ("goal_visits", "bottom_visits")
    own = of_setting(runs, i)

    def least(j):
        return visits(own[1], "goal_visits", True, j)[1]

    below_zero = min(range(20, 200), key=least)
    assert least(below_zero) < -0.05
    goal, bottom = (own[0].curve[score][:, 150].mean() for score in scores)
    assert abs(goal - bottom) > 0.5
    wide.open(html)
    section = wide.setting(i)
    for smoothed in (True, False):
        for score in scores:
            for j in (below_zero, 150):
                found = point_at(wide, chart_of(wide, section, score), own[0].step[j])
                for of in own:
                    expected, _ = visits(of, score, smoothed, j)
                    assert found[LABELS[of.agent]] == pytest.approx(expected, rel=1e-3, abs=1e-9)
        switch(wide, section, "smooth")


def test_profiles_have_the_bands_of_the_bootstrap(wide, html, runs):
    thresholds = np.linspace(0.0, 1.1, 221)
    wide.open(html)
    root = wide.one(".profile")
    wide.js("it[0].scrollIntoView()", root)
    wide.until("it[0].querySelectorAll('path.curve').length === 2", root)
    where = plot(wide, root)
    paths = wide.attributes("path.band", "d", root)
    for k, agent in enumerate(("monitored-mbie-eb", "mbie-eb")):
        ends = [
            1 - (of.minimax - of.curve["episode_return"][:, -10:].mean(axis=1))
            / max(1.0, abs(of.minimax))
            for of in runs
            if of.agent == agent
        ]  # fmt: skip
        scores = np.array(ends).T
        y, low, high = performance_profile(scores, thresholds, np.random.default_rng(0))
        i = int(np.argmax(np.minimum(y - low, high - y)))
        assert low[i] < y[i] < high[i]
        found = point_at(wide, root, thresholds[i])
        assert found[LABELS[agent]] == pytest.approx([y[i], low[i], high[i]], rel=1e-3)
        points = corners(paths[k])
        here = points[np.abs(points[:, 0] - where.px(thresholds[i])) < 0.06, 1]
        for edge in (where.py(low[i]), where.py(high[i])):
            assert np.abs(here - edge).min() < 0.1


def test_pointing_where_only_seeds_are_drawn_says_the_step_alone(wide, html):
    wide.open(html)
    section = wide.setting(0)
    root = chart_of(wide, section)
    for name in ("seeds", "mean"):
        switch(wide, section, name)
    assert len(wide.attributes("path.seed", "d", root)) == 10
    assert point_at(wide, root, 1000) == {}
    switch(wide, section, "intervals")
    switch(wide, section, "minimax")
    assert point_at(wide, root, 500) == {}
    assert wide.complaints() == []


# ---- where things lie ------------------------------------------------------------------------


def test_seeds_are_drawn_at_the_tests_that_are_kept(wide, html, runs):
    wide.open(html)
    section = wide.setting(1)
    root = chart_of(wide, section)
    switch(wide, section, "seeds")
    for smoothed in (True, False):
        where = plot(wide, root)
        paths = wide.attributes("path.seed", "d", root)
        own = of_setting(runs, 1)
        curves = [y for of in own for y in values(of, "episode_return", smoothed)]
        assert len(paths) == len(curves) == 10
        for path, curve in zip(paths, curves, strict=True):
            # 200 tests before every tenth of 2,000 steps: one in two is drawn
            expected = [(where.px(20 * i), where.py(curve[2 * i])) for i in range(100)]
            assert corners(path) == pytest.approx(np.array(expected), abs=0.15)
        assert corners(paths[0])[-1, 0] == pytest.approx(where.px(1980), abs=0.1)
        assert (where.x0, where.x1) == (0, 2000)
        switch(wide, section, "smooth")


@pytest.mark.parametrize("i", [0, 5])
def test_the_minimax_line_is_drawn_at_its_height(wide, html, runs, i):
    wide.open(html)
    root = chart_of(wide, wide.setting(i))
    where = plot(wide, root)
    [path] = wide.attributes("path.level", "d", root)
    left, y, right = map(float, re.fullmatch(r"M([\d.]+) ([\d.]+)H([\d.]+)", path).groups())
    assert y == pytest.approx(where.py(runs[2 * i].minimax), abs=0.01)
    assert (left, right) == (where.left, where.right)


STARTS = {
    ("ask", "monitored-mbie-eb"): (0.3, 0.1),
    ("ask", "mbie-eb"): (0.1, 0.1),
    ("button", "monitored-mbie-eb"): (-300.0, -50.0),
    ("button", "mbie-eb"): (-500.0, -50.0),
}
"""return of the first tests of seed 0, and what each further seed has more"""


@pytest.fixture(scope="module")
def steep(results, tmp_path_factory):
    """Results whose first setting comes from below, the second from far below; others as stored."""
    folder = tmp_path_factory.mktemp("steep") / "results"
    shutil.copytree(results, folder)
    for path in (folder / "runs").rglob("seed-*.parquet"):
        run = read_run(path)
        of, rho = run.settings, run.settings["problem_parameters"].get("monitor.rho", 1.0)
        if of["world"] != "loop" or float(rho) != 1.0:
            continue
        start, spread = STARTS[of["monitor"], of["agent"]]
        first = np.arange(200) < 5
        curve = np.where(first, start + spread * run.seed, 0.75 + 0.01 * run.seed)
        write_run(path, replace(run, curve={**run.curve, "episode_return": curve}))
    return folder


def test_what_lies_below_a_chart_is_counted_and_can_be_shown(wide, steep, tmp_path):
    runs = truth.read(steep)
    wide.open(report(steep, out=tmp_path / "report.html"))
    for i in (0, 1):
        section = wide.setting(i)
        root = chart_of(wide, section)
        for smoothed in (True, False):
            low = plot(wide, root).y0
            own = of_setting(runs, i)
            means = [values(of, "episode_return", smoothed).mean(axis=0) for of in own]
            below = [y for mean in means for y in mean if y < low]
            assert below
            assert min(below) == pytest.approx([0.3, -600][i])
            [text] = wide.texts("[data-test=zoom-all]", root)
            count, least = re.fullmatch(
                r"([\d,]+) points lie below, down to ([−\d.]+): show all", text
            ).groups()
            assert number(count) == len(below)
            assert number(least) == pytest.approx(min(below), rel=1e-3)

            wide.click(wide.one("[data-test=zoom-all]", root))
            whole = plot(wide, root)
            assert (whole.x0, whole.x1) == (0, 2000)
            for path in wide.attributes("path.curve, path.band", "d", root):
                y = corners(path)[:, 1]
                assert whole.top <= y.min()
                assert y.max() <= whole.bottom
            assert wide.shown("[data-test=zoom-all]", root) == []
            wide.click(wide.one("[data-test=zoom-out]", root))
            assert plot(wide, root).y0 == low
            switch(wide, section, "smooth")


def test_nothing_is_offered_where_nothing_lies_below(wide, html, runs):
    wide.open(html)
    offered = []
    for i in range(8):
        root = chart_of(wide, wide.setting(i))
        low = plot(wide, root).y0
        means = [values(of, "episode_return", True).mean(axis=0) for of in of_setting(runs, i)]
        below = sum(int((mean < low).sum()) for mean in means)
        texts = wide.texts("[data-test=zoom-all]", root)
        assert [text.partition(" ")[0] for text in texts] == ([str(below)] if below else [])
        offered.append(below > 0)
    assert not all(offered)


STATED = """
name = "stated"
steps = 1000
every = 10
seeds = 2
smooth = false

[[experiment]]
worlds = ["loop"]
monitors = ["ask"]
agents = ["monitored-mbie-eb"]
y_range = [0.2, 0.5]

[[experiment]]
worlds = ["loop"]
monitors = ["ask", "button"]
agents = ["monitored-mbie-eb"]
y_range_of = { button = [0.2, 0.5], ask = [0.2, 0.5] }

[[experiment]]
worlds = ["loop"]
monitors = ["button"]
agents = ["monitored-mbie-eb"]
y_range = [-1, 1]
"""


def test_a_chart_has_the_range_of_its_panels_where_they_agree(wide, tmp_path):
    (tmp_path / "stated.toml").write_text(STATED)
    monmdp("run", tmp_path / "stated.toml", "--out", tmp_path / "results")
    wide.open(report(tmp_path / "results", out=tmp_path / "report.html"))
    root = chart_of(wide, wide.setting(0))
    assert (plot(wide, root).y0, plot(wide, root).y1) == (0.2, 0.5)
    [text] = wide.texts("[data-test=zoom-all]", root)
    assert re.fullmatch(
        r"\d+ points lie below, .*; \d+ points lie above, up to 0.9606: show all", text
    )
    clips = wide.attributes(".chart clipPath rect", "height", root)
    where = plot(wide, root)
    assert [float(height) for height in clips] == [where.bottom - where.top]
    differing = plot(wide, chart_of(wide, wide.setting(1)))
    assert (differing.y0, differing.y1) not in [(0.2, 0.5), (-1, 1)]


# ---- only what was asked for -----------------------------------------------------------------


def test_curves_download_of_the_agents_that_are_shown(wide, html, runs):
    wide.open(html)
    section = wide.setting(2)
    first, second = wide.all(".legend button", section)
    button = wide.one("[data-curves]", section)
    kinds = ("mean", "mean_half_width", "iqm", "iqm_half_width")

    def check(own):
        header, rows = wide.download(button)
        assert header == ["step", *(f"{LABELS[of.agent]}: {kind}" for of in own for kind in kinds)]
        columns = [runs[0].step, *(column for of in own for column in of.curve_columns())]
        assert len(rows) == 200
        for row, *expected in zip(rows, *columns, strict=True):
            assert [float(text) for text in row] == [float(value) for value in expected]

    both = of_setting(runs, 2)
    wide.click(first)
    check(both[1:])
    wide.click(first)
    wide.click(second)
    check(both[:1])
    wide.click(second)
    wide.choose("[data-test=filter-agent]", "MBIE-EB")
    check(both[1:])
    wide.click(wide.one("#clear"))
    check(both)


@pytest.fixture(scope="module")
def two_chapters(results, trained, tmp_path_factory):
    """A report on the suite and on runs of train, in a world that the suite does not have."""
    return report(results, trained, out=tmp_path_factory.mktemp("two") / "report.html")


def test_a_chapter_says_when_nothing_of_it_passes_the_filters(wide, two_chapters):
    wide.open(two_chapters)

    def found():
        """Of both chapters: whether they say so, figures, rows of figures, panels, settings."""
        # Rows have no box of their own while something is filtered.
        parts = (".nothing", ".figure", ".figure .row", ".panel", "details.setting")
        look = {".figure .row": lambda where: wide.all(f"{where}:not([hidden])")}
        return [
            [len(look.get(part, wide.shown)(f"#{chapter} {part}")) for part in parts]
            for chapter in ("c0", "c1")
        ]

    assert found() == [[0, 1, 4, 8, 8], [0, 1, 1, 1, 1]]
    wide.choose("[data-test=filter-world]", "bottleneck")
    assert found() == [[1, 0, 0, 0, 0], [0, 1, 1, 1, 1]]
    assert wide.texts(".nothing") == ["None of its settings passes the filters."]
    assert wide.one("#shown").text == "1 of 9 settings"
    wide.choose("[data-test=filter-world]", "loop")
    assert found() == [[0, 1, 2, 4, 4], [1, 0, 0, 0, 0]]
    wide.choose("[data-test=filter-rho]", "0.5")
    assert found() == [[0, 1, 1, 2, 2], [1, 0, 0, 0, 0]]
    wide.choose("[data-test=filter-world]", "bottleneck")
    assert found() == [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    wide.click(wide.one("#clear"))
    assert found() == [[0, 1, 4, 8, 8], [0, 1, 1, 1, 1]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_good_is_green_and_bad_is_red(wide, html, theme):
    wide.open(html)
    wide.choose("#theme", theme)
    badges = "<i class='badge good' id='good'>x</i><i class='badge bad' id='bad'>x</i>"
    wide.js(f"document.body.insertAdjacentHTML('beforeend', `{badges}`)")
    for key in ("color", "backgroundColor"):
        good, bad = (
            list(map(int, re.findall(r"\d+", wide.js(f"getComputedStyle({tone}).{key}"))))
            for tone in ("good", "bad")
        )
        assert good[1] > good[0]
        assert bad[0] > bad[1]
