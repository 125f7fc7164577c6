"""The page opens: on wide and narrow screens, in the light and in the dark."""

from __future__ import annotations

import pytest

from browser.conftest import report
from monmdp.results.verdicts import TONES

CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function rgba(colour) {  // whatever notation the browser uses
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
const over = (top, below, a) => [0, 1, 2].map((i) => a * top[i] + (1 - a) * below[i]);
function behind(node) {
  if (!node) return [255, 255, 255];
  const colour = rgba(getComputedStyle(node).backgroundColor);
  return over(colour, colour[3] === 1 ? colour : behind(node.parentElement), colour[3]);
}
function light(colour) {
  const [r, g, b] = colour.map((v) => v / 255).map(
    (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function opacity(node) {
  return node ? getComputedStyle(node).opacity * opacity(node.parentElement) : 1;
}
const found = [];
const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (words.nextNode()) {
  const text = words.currentNode.textContent.trim(), node = words.currentNode.parentElement;
  if (!text || !node.checkVisibility() || node.closest("script, style, .explorer svg")) continue;
  const style = getComputedStyle(node), paper = behind(node);
  const colour = rgba(node.closest("svg") ? style.fill : style.color);
  const [a, b] = [light(over(colour, paper, colour[3] * opacity(node))), light(paper)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  found.push([ratio, node.className.baseVal ?? node.className, node.tagName, text.slice(0, 60)]);
}
return found;
"""

BADGES = "".join(f"<span class='badge {tone}'>{text}</span>" for text, tone in TONES.items())
"""all there are: small results have no claims to wear them"""


def test_the_watch_sees_complaints_and_requests(page, tmp_path):
    path = tmp_path / "loud.html"
    path.write_text(
        "<html data-ready=yes><img src='http://127.0.0.1:9/picture.png'>"
        "<script>console.warn('careful')</script><script>undefined.anything</script>"
    )
    page.open(path)
    page.until("document.readyState === 'complete'")
    said = "\n".join(page.complaints())
    assert "request: http://127.0.0.1:9/picture.png" in said
    assert "careful" in said
    assert "TypeError" in said
    assert page.complaints() == []


def test_it_opens_with_a_title(page, html):
    page.open(html)
    assert page.driver.title == "results · monmdp report"
    assert page.one("h1").text == "results"
    assert "80 of 80 runs are there" in page.one("#c0").text
    assert page.texts("nav a") == ["small", "Terms", "Provenance"]
    assert page.one("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("what", ["html", "inside", "spiteful"])
def test_it_never_scrolls_sideways(page, what, request):
    page.open(request.getfixturevalue(what))
    assert page.js("document.documentElement.scrollWidth") <= page.width
    page.open_everything()
    assert page.js("document.documentElement.scrollWidth") <= page.width
    if what == "spiteful":
        page.photograph(what)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("what", "how"), [("html", "system"), ("inside", "choice")])
def test_all_words_stand_out_in_any_theme(page, theme, how, what, request):
    other = {"light": "dark", "dark": "light"}[theme]
    page.prefer(theme if how == "system" else other)
    page.open(request.getfixturevalue(what))
    if how == "choice":
        page.choose("#theme", theme)
    page.open_everything()
    assert page.js("getComputedStyle(document.documentElement).colorScheme") == theme
    page.js(f"document.body.insertAdjacentHTML('beforeend', `{BADGES}`)")
    found = page.driver.execute_script(CONTRAST)
    assert len(found) > 100
    assert [words for words in found if words[0] < 4.5] == []
    page.photograph(f"{what}-{theme}")


def test_a_chosen_theme_is_remembered(page, html):
    page.open(html)
    page.choose("#theme", "dark")
    page.open(html)
    assert page.one("#theme").get_property("value") == "dark"
    assert page.js("getComputedStyle(document.documentElement).colorScheme") == "dark"


@pytest.mark.parametrize("anchor", ["#c0-s5", "#terms", "#provenance", "#nothing-of-this-name"])
def test_an_address_may_lead_into_the_page(page, html, anchor):
    page.open(html, anchor)
    sections = page.all("details.setting")
    expected = [section.get_attribute("id") == anchor[1:] for section in sections]
    assert [section.get_property("open") for section in sections] == expected
    if anchor == "#c0-s5":
        page.until("it[0].dataset.ready === 'yes'", sections[5])
    if anchor != "#nothing-of-this-name":
        top = page.until("it[0].getBoundingClientRect().top", page.one(anchor))
        assert 0 <= top < 800
    page.photograph(f"at-{anchor[1:]}")


def test_what_is_missing_or_damaged_is_named(page, spoilt, tmp_path):
    page.open(report(spoilt, out=tmp_path / "report.html"))
    remarks = "\n".join(page.texts("[data-test=remarks] li"))
    assert "1 of 80 runs are missing" in remarks
    damaged = min((spoilt / "runs").rglob("seed-*.parquet"))
    assert "damaged" in remarks
    assert str(damaged) in remarks
    assert "half-written" in remarks
    assert ".part" in remarks
    assert "78 of 80 runs are there" in page.one("#c0").text
    assert [row[2] for row in page.table("c0-problems")].count("5") == 15
    assert [row[2] for row in page.table("c0-problems")].count("3 of 5") == 1
    assert page.js("document.documentElement.scrollWidth") <= page.width
    page.photograph("spoilt")
