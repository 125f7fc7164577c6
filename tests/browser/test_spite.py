"""Names and titles come from users' files: they stay words, whatever they look like."""

from __future__ import annotations

from browser.conftest import IMAGE, QUOTES, SCRIPT


def test_names_stay_words(page, spiteful, html):
    page.open(html)
    own = page.js("[document.scripts.length, document.images.length]")
    page.open(spiteful)
    page.open_everything()
    assert page.js("[document.scripts.length, document.images.length]") == own
    assert page.all("b, [onerror], [onmouseover]") == []
    text = page.one("body").text
    assert "</script><script>alert(1)</script>" in text
    assert f"{SCRIPT} / {QUOTES}" in page.texts("figcaption")
    assert f"{SCRIPT} / {QUOTES}" in page.texts("summary span")
    assert IMAGE in page.texts(".legend button")[1]


def test_names_in_the_explorer_stay_words(page, spiteful):
    page.open(spiteful).explorer()
    assert SCRIPT in page.one("#inside h3").text
    page.click(page.one("[data-test=cell-0-4]"))
    page.click(page.one("[data-test=player-next]"))
    assert page.all("#inside script, #inside img") == []


def test_names_can_be_filtered_by(page, spiteful):
    page.open(spiteful)
    page.choose("[data-test=filter-world]", SCRIPT)
    assert [len(page.table(f"c{i}-problems")) for i in range(2)] == [0, 1]
    assert len(page.shown("article")) == 1
    page.choose("[data-test=filter-world]", "loop")
    assert page.shown("article") == []
    page.click(page.one("#clear"))
    page.choose("[data-test=filter-agent]", IMAGE)
    assert [row[1] for row in page.table("c0-problems")] == [IMAGE] * 4
    page.choose("[data-test=filter-monitor]", "semi-random")
    assert len(page.table("c0-problems")) == 2


def test_names_come_out_of_files_as_they_went_in(page, spiteful):
    page.open(spiteful)
    header, rows = page.download(page.one("[data-csv=c0-problems]"))
    assert {len(row) for row in rows} == {len(header)}
    agents = {row[header.index("agent")] for row in rows}
    assert agents == {"Monitored MBIE-EB", IMAGE}
    settings = {row[header.index("setting")] for row in rows}
    assert f"{SCRIPT} / {QUOTES}" in settings
    header, _ = page.download(page.one("[data-curves]", page.setting(0)))
    assert f"{IMAGE}: mean" in header
