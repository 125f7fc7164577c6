"""Numbers on the page and in the files it gives are those of the runs."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from browser import truth
from browser.truth import LABELS, same

FILTERS = {
    "none": {},
    "world": {"world": "hazard"},
    "several": {"monitor": "button", "rho": "0.5", "agent": "MBIE-EB"},
}


@pytest.fixture(scope="module")
def runs(results):
    return truth.read(results)


def wanted(runs, filters):
    keys = {
        "world": lambda of: of.world, "monitor": lambda of: of.monitor,
        "rho": lambda of: str(of.rho), "agent": lambda of: LABELS[of.agent],
    }  # fmt: skip
    return [of for of in runs if all(keys[k](of) == value for k, value in filters.items())]


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
def test_a_table_downloads_as_the_stored_numbers(wide, html, runs, filters):
    wide.open(html)
    for key, value in filters.items():
        wide.choose(f"[data-test=filter-{key}]", value)
    header, rows = wide.download(wide.one("[data-csv=c0-problems]"))
    assert header == [
        "setting", "world", "monitor", "rho", "agent", "seeds", "seeds_asked", "minimax_return",
        "end", "end_low", "end_high", "area", "area_low", "area_high", "optimal_runs",
        "median_steps_to_1pct", "steps_to_v", "goal_visits",
        "goal_visits_low", "goal_visits_high", "bottom_visits", "bottom_visits_low",
        "bottom_visits_high",
    ]  # fmt: skip
    expected = [of.row() for of in wanted(runs, filters)]
    assert len(rows) == len(expected) > 0
    for row, values in zip(rows, expected, strict=True):
        assert len(row) == len(values)
        assert [pair for pair in zip(header, row, values, strict=True) if not same(*pair[1:])] == []


def test_a_table_shows_the_stored_numbers_rounded(wide, html, runs):
    wide.open(html)
    assert wide.table("c0-problems") == [of.texts() for of in runs]
    section = wide.setting(3)
    name = wide.one("table[data-table]", section).get_attribute("data-table")
    assert wide.table(name) == [of.texts()[1:] for of in runs[6:8]]


def test_curves_download_as_the_stored_numbers(wide, html, runs):
    wide.open(html)
    header, rows = wide.download(wide.one("[data-curves]", wide.setting(2)))
    own = runs[4:6]
    kinds = ("mean", "mean_half_width", "iqm", "iqm_half_width")
    assert header == ["step", *(f"{LABELS[of.agent]}: {kind}" for of in own for kind in kinds)]
    columns = [own[0].step, *(column for of in own for column in of.curve_columns())]
    assert len(rows) == len(own[0].step) == 200
    for i, row in enumerate(rows):
        assert [float(text) for text in row] == [float(column[i]) for column in columns]


def test_the_table_of_agents_holds_what_statistics_say(wide, html, results):
    from monmdp.results.evidence import gather_kept
    from monmdp.results.request import kept
    from monmdp.results.scores import suite_table

    (asked,) = kept(results)
    parsed = asked.parsed()
    evidence = gather_kept(parsed.figures, parsed.settings, results, {})
    table = suite_table(evidence.figures[0], evidence)
    wide.open(html)
    header, rows = wide.download(wide.one("[data-csv=c0-agents-small]"))
    for row, of in zip(rows, table.rows, strict=True):
        improvement = of.improvement or (None, None, None)
        steps = (of.optimal, of.runs, of.median_steps, of.mean_steps)
        values = [of.agent, *of.iqm_end, *of.iqm_area, *improvement, *steps]
        assert all(same(*pair) for pair in zip(row, values, strict=True)), (header, row)
    assert [row[4] for row in wide.table("c0-agents-small")] == [
        f"{of.optimal} of {of.runs}" for of in table.rows
    ]


def test_the_readout_says_the_stored_numbers(wide, html, runs):
    wide.open(html)
    section = wide.setting(0)
    chart = wide.one(".chart", section)
    wide.js("it[0].focus()", chart)
    wide.press(Keys.ARROW_RIGHT)  # from the middle
    for smoothed in (True, False):
        said = wide.texts("[data-score=episode_return] [data-test=readout] span", section)
        assert said[0] == "step 1,010"
        for text, of in zip(said[1:], runs[:2], strict=True):
            name, _, value = text.partition(" [")[0].rpartition(" ")
            assert name == LABELS[of.agent]
            assert float(value.replace("−", "-")) == float(f"{of.mean(smoothed)[101]:.4g}")
        if smoothed:
            wide.js("it[0].querySelector('[name=smooth]').click()", section)


def test_the_minimax_line_lies_at_the_minimax_return(wide, html, runs):
    wide.open(html)
    section = wide.setting(4)
    [level] = wide.attributes(".chart .level", "data-value", section)
    assert float(level) == runs[8].minimax
    assert f"({runs[8].minimax:.4g})" in wide.one(".options", section).text
