"""Filters, charts and keys: what a reader does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

ALL = {"settings": 8, "panels": 8, "problems": 16}
FILTERED = {
    "world": ("loop", {"settings": 4, "panels": 4, "problems": 8}),
    "monitor": ("ask", {"settings": 4, "panels": 4, "problems": 8}),
    "rho": ("0.5", {"settings": 4, "panels": 4, "problems": 8}),
    "agent": ("MBIE-EB", {"settings": 8, "panels": 8, "problems": 8}),
}
VIEW = ("data-x0", "data-x1", "data-y0", "data-y1")


def counts(page):
    return {
        "settings": len(page.shown("details.setting")),
        "panels": len(page.shown("figure.panel")),
        "problems": len(page.table("c0-problems")),
    }


def drawn(page, section, kind, score="episode_return"):
    """The paths of a kind in a chart."""
    return page.attributes(f"[data-score={score}] .chart path.{kind}", "d", section)


def switch(page, section, name):
    page.click(page.one(f"[name={name}]", section))


def view(chart):
    return [float(chart.get_attribute(key)) for key in VIEW]


# ---- filters --------------------------------------------------------------------------------


@pytest.mark.parametrize("key", FILTERED)
def test_a_filter_leaves_what_was_asked_for(page, html, key):
    page.open(html)
    assert counts(page) == ALL
    value, left = FILTERED[key]
    page.choose(f"[data-test=filter-{key}]", value)
    assert counts(page) == left
    assert page.one("#shown").text == f"{left['settings']} of 8 settings"
    title = page.one("table[data-table=c0-problems]").find_element("xpath", "ancestor::*[3]")
    assert f"{left['problems']} of 16 rows" in title.text
    for row in page.table("c0-problems"):
        setting, agent = row[:2]
        has = {"world": setting, "monitor": setting, "rho": setting.replace("50 %", "0.5")}
        assert value in has.get(key, agent)
    if key == "agent":
        lines = page.js("""[...document.querySelectorAll("figure g[data-agent]")]
            .filter((g) => getComputedStyle(g).display !== "none").map((g) => g.dataset.agent)""")
        assert lines == ["MBIE-EB"] * 8
        assert [row[0] for row in page.table("c0-agents-small")] == ["MBIE-EB"]
    page.photograph(f"filter-{key}")
    page.click(page.one("#clear"))
    assert counts(page) == ALL
    assert page.one("#shown").text == "8 of 8 settings"
    assert "16 rows" in title.text


def test_filters_go_together_and_may_leave_nothing(page, html):
    page.open(html)
    page.choose("[data-test=filter-world]", "loop")
    page.choose("[data-test=filter-rho]", "1.0")
    page.choose("[data-test=filter-agent]", "MBIE-EB")
    assert counts(page) == {"settings": 2, "panels": 2, "problems": 2}
    section = page.setting(0)
    assert len(drawn(page, section, "curve")) == 1
    page.choose("[data-test=filter-agent]", "")
    assert len(drawn(page, section, "curve")) == 2


def test_a_profile_shows_the_agents_that_are_chosen(page, html):
    page.open(html)
    root = page.one(".profile")
    page.js("it[0].scrollIntoView()", root)
    page.until("it[0].querySelectorAll('path.curve').length === 2", root)
    for path in page.attributes("path.curve, path.band", "d", root):
        corners = [point.split() for point in path.strip("MZ").split("L")]
        assert len(corners) > 400
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(corners)), "steps are steps"
    page.choose("[data-test=filter-agent]", "MBIE-EB")
    assert len(page.all("path.curve", root)) == 1


def test_the_title_of_a_picture_leads_to_its_setting(page, html):
    page.open(html)
    panel = page.all("figure.panel")[5]
    page.click(page.one("a", panel))
    section = page.all("details.setting")[5]
    page.until("it[0].dataset.ready === 'yes'", section)
    assert page.one("summary span", section).text == page.one("a", panel).text
    assert -1 <= page.js("it[0].getBoundingClientRect().top", section) < 300
    assert page.driver.current_url.endswith(f"#{section.get_attribute('id')}")


# ---- learning curves ------------------------------------------------------------------------


def test_what_is_switched_on_is_drawn(page, html):
    page.open(html)
    section = page.setting(1)
    means, bands = drawn(page, section, "curve"), drawn(page, section, "band")
    assert [len(means), len(bands), len(drawn(page, section, "level"))] == [2, 2, 1]
    assert drawn(page, section, "seed") == []

    switch(page, section, "seeds")
    assert len(drawn(page, section, "seed")) == 10
    assert "one test in 2 is drawn" in page.one(".thinned", section).text
    switch(page, section, "seeds")
    assert drawn(page, section, "seed") == []

    switch(page, section, "intervals")
    assert drawn(page, section, "band") == []
    switch(page, section, "intervals")
    assert drawn(page, section, "band") == bands

    switch(page, section, "minimax")
    assert drawn(page, section, "level") == []
    switch(page, section, "minimax")
    assert len(drawn(page, section, "level")) == 1

    switch(page, section, "smooth")
    raw = drawn(page, section, "curve")
    assert len(raw) == 2
    assert set(raw).isdisjoint(means)
    switch(page, section, "smooth")
    assert drawn(page, section, "curve") == means

    switch(page, section, "iqm")
    assert len(drawn(page, section, "curve")) == 4
    switch(page, section, "mean")
    iqm = drawn(page, section, "curve")
    assert len(iqm) == 2
    assert set(iqm).isdisjoint(means)
    switch(page, section, "iqm")
    assert drawn(page, section, "curve") == []
    # Visits have a mean only, whatever is drawn of the returns.
    assert len(drawn(page, section, "curve", "goal_visits")) == 2
    assert len(drawn(page, section, "curve", "bottom_visits")) == 2


def test_an_agent_can_be_hidden(page, html):
    page.open(html)
    section = page.setting(1)
    first, second = page.all(".legend button", section)
    assert first.text == "Monitored MBIE-EB (n = 5)"
    page.click(first)
    assert first.get_attribute("aria-pressed") == "false"
    curves = "[data-score=episode_return] path.curve"
    assert page.attributes(curves, "data-label", section) == ["MBIE-EB"]
    page.click(second)
    assert drawn(page, section, "curve") == []
    page.click(first)
    page.click(second)
    assert len(drawn(page, section, "curve")) == 2


@pytest.mark.parametrize("back", ["double click", "Escape", "button"])
def test_dragging_zooms_and_there_is_a_way_back(page, html, back):
    page.open(html)
    section = page.setting(0)
    chart = page.one("[data-score=episode_return] .chart", section)
    whole = view(chart)
    page.drag(chart, (-60, -60), (60, 60))
    x0, x1, y0, y1 = view(chart)
    assert whole[0] < x0 < x1 < whole[1]
    assert whole[2] < y0 < y1 < whole[3]
    if back == "double click":
        ActionChains(page.driver).double_click(chart).perform()
    elif back == "Escape":
        page.js("it[0].focus()", chart)
        page.press(Keys.ESCAPE)
    else:
        page.click(page.one("[data-test=zoom-out]", section))
    assert view(chart) == whole
    assert not page.one("[data-test=zoom-out]", section).is_displayed()


def test_pointing_at_a_chart_reads_it(page, html):
    page.open(html)
    section = page.setting(0)
    chart = page.one("[data-score=episode_return] .chart", section)
    readout = page.one("[data-score=episode_return] [data-test=readout]", section)
    page.js("it[0].scrollIntoView({ block: 'center' })", chart)
    ActionChains(page.driver).move_to_element(chart).perform()
    assert readout.text.startswith("step ")
    assert "MBIE-EB" in readout.text
    first = readout.text
    ActionChains(page.driver).move_by_offset(-50, 0).perform()
    assert readout.text != first


def test_a_chart_is_read_and_zoomed_with_keys(page, html):
    page.open(html)
    section = page.setting(0)
    page.js("it[0].focus()", page.all(".legend button", section)[-1])
    chart = page.tab()
    assert chart.get_attribute("data-test") == "chart"
    readout = page.one("[data-test=readout]", section)
    page.press(Keys.ARROW_RIGHT)
    assert readout.text.startswith("step 1,010")
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert readout.text.startswith("step 990")
    whole = view(chart)
    page.press("+")
    x0, x1, *_ = view(chart)
    assert x1 - x0 == pytest.approx((whole[1] - whole[0]) / 2)
    page.press(Keys.ESCAPE)
    assert view(chart) == whole


# ---- without a mouse ------------------------------------------------------------------------

REACHABLE = """[...document.querySelectorAll(
        "a[href], button, select, input, summary, [tabindex='0']"
    )].filter((n) => n.checkVisibility() && !n.disabled)
    .filter((n) => !n.matches("[type=radio]:not(:checked)"))"""
"""of radio buttons Tab reaches the chosen one, and arrow keys the others"""


@pytest.mark.parametrize("what", ["html", "inside"])
def test_everything_can_be_reached_with_tab_and_has_a_name(page, what, request):
    page.open(request.getfixturevalue(what))
    if what == "inside":
        page.explorer()
    page.setting(-1)
    page.js("void (window.walked = new Set())")
    page.js("(document.body.setAttribute('tabindex', '-1'), document.body.focus())")
    expected = page.js(f"{REACHABLE}.length")
    nameless = []
    for _ in range(expected + 5):
        node = page.tab()
        if node.tag_name in ("body", "html") or page.js("walked.has(it[0])", node):
            break
        assert page.js("(walked.add(it[0]), it[0].matches(':focus-visible'))", node)
        if not node.accessible_name:
            nameless.append(node.get_attribute("outerHTML")[:200])
    missed = f"{REACHABLE}.filter((n) => !walked.has(n)).map((n) => n.outerHTML.slice(0, 200))"
    assert page.js(missed) == []
    assert nameless == []
    assert expected > 25


def test_the_first_key_offers_to_skip_to_the_content(page, html):
    page.open(html)
    link = page.tab()
    assert link.text == "Skip to the content"
    assert link.is_displayed()


def test_a_setting_opens_with_a_key(page, html):
    page.open(html)
    section = page.all("details.setting")[2]
    page.js("it[0].focus()", page.one("summary", section))
    page.press(Keys.ENTER)
    page.until("it[0].dataset.ready === 'yes'", section)
    assert len(drawn(page, section, "curve")) == 2
