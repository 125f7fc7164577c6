"""The explorer of a run: what it shows of a snapshot is what the agent knew then."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from browser.conftest import monmdp, report
from browser.knowledge import only_run
from monmdp import solve
from monmdp.agents.greedy import greedy_policy
from monmdp.experiment import Policy, rollout


@pytest.fixture(scope="module")
def run(trained):
    return only_run(trained)[0]


@pytest.fixture(scope="module")
def problem(trained):
    return only_run(trained)[1]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The report on a run in a world of 65 times 65 cells."""
    folder = tmp_path_factory.mktemp("large")
    rows = ["." * 65 for _ in range(65)]
    rows[0], rows[-1] = "@" + rows[0][1:], rows[-1][1:] + "$"
    (folder / "large.txt").write_text("\n".join(rows))
    monmdp(
        "train", folder / "large.txt", "ask", "--agent", "ucb", "--steps", 100, "--every", 50,
        "--seeds", 1, "--snapshots", 1, "--out", folder / "trained",
    )  # fmt: skip
    return report(folder / "trained", out=folder / "report.html")


def box(page, selector):
    """Where a thing is in the window: left, top, right, bottom."""
    found = page.js("it[0].getBoundingClientRect().toJSON()", page.one(selector))
    return [found[side] for side in ("left", "top", "right", "bottom")]


def middle(page, selector):
    left, _, right, _ = box(page, selector)
    return (left + right) / 2


def values(page):
    """What the cells of all panels say, [state, monitor state]."""
    said = [page.attributes(f"[data-test^=cell-{m}-]", "data-value") for m in range(2)]
    return np.array(said, dtype=float).T


def known(run, problem, name, i):
    """The best value of a snapshot's array over the actions, in single precision."""
    best = run.snapshots[name][i].max(axis=-1)
    return best.reshape(problem.mdp.n_states, 2).astype(np.float32)


def slide(page, *keys):
    page.js("it[0].focus()", page.one("[data-test=slider]"))
    page.press(*keys)


def test_it_begins_with_the_last_snapshot(page, inside, run):
    page.open(inside).explorer()
    assert page.one("[data-test=slider]").get_property("value") == str(len(run.snapshot_steps) - 1)
    assert page.one("[data-test=when]").text.startswith("step 3,000 of 3,000")
    assert len(page.all("[data-test^=panel-]")) == 2
    assert page.texts("nav a")[1] == "Inside a run"


def test_the_slider_goes_through_all_snapshots(page, inside, run, problem):
    page.open(inside).explorer()
    slide(page, Keys.HOME)
    for i, step in enumerate(run.snapshot_steps):
        assert page.one("[data-test=when]").text.startswith(f"step {step:,} of 3,000")
        np.testing.assert_array_equal(values(page), known(run, problem, "n", i))
        slide(page, Keys.ARROW_RIGHT)
    assert values(page).sum() > 0


@pytest.mark.parametrize(
    ("layer", "name"), [("visits", "n"), ("q_opt", "q_opt"), ("q_obs", "q_obs")]
)
def test_a_layer_shows_what_the_agent_knew(page, inside, run, problem, layer, name):
    page.open(inside).explorer()
    page.click(page.one(f"[data-test=layer-{layer}]"))
    np.testing.assert_array_equal(values(page), known(run, problem, name, -1))
    slide(page, Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    np.testing.assert_array_equal(values(page), known(run, problem, name, 2))
    page.photograph(f"layer-{layer}")


def test_every_layer_has_colours_a_legend_and_an_explanation(page, inside):
    page.open(inside).explorer()
    seen = set()
    for layer in page.all("[data-test^=layer-]"):
        page.click(layer)
        fills = tuple(page.attributes("[data-test=panel-0] .ex-heat", "fill"))
        assert len(set(fills)) > 1
        assert page.one("[data-test=legend]").text
        assert page.one(".ex-explains").text
        seen.add(fills)
    assert len(seen) == len(page.all("[data-test^=layer-]")) == 7


def test_the_marker_stands_above_the_thumb(page, inside, run):
    page.open(inside).explorer()
    slide(page, Keys.HOME)
    markers = []
    for _ in run.snapshot_steps:
        markers.append(middle(page, "[data-test=marker]"))
        slide(page, Keys.ARROW_RIGHT)
    slider = page.one("[data-test=slider]")
    for i, between in enumerate(np.convolve(markers, [0.5, 0.5], "valid")):
        for aside, expected in ((-4, i), (4, i + 1)):
            off = round(between + aside - middle(page, "[data-test=slider]"))
            ActionChains(page.driver).move_to_element_with_offset(slider, off, 0).click().perform()
            assert slider.get_property("value") == str(expected)


def test_steps_stand_where_the_slider_has_them(page, inside, run):
    page.open(inside).explorer()
    slide(page, Keys.HOME)
    ticks = page.attributes("[data-test=steps] span", "data-step")
    assert (ticks[0], ticks[-1]) == ("0", "3000")
    inner = {int(step) for step in ticks[1:-1]}
    assert inner <= set(run.snapshot_steps.tolist())
    for step in run.snapshot_steps.tolist():
        if step in inner:
            tick = middle(page, f"[data-test=steps] [data-step='{step}']")
            assert tick == pytest.approx(middle(page, "[data-test=marker]"), abs=1)
        slide(page, Keys.ARROW_RIGHT)
    assert inner
    assert "early steps are drawn wider" in page.one(".ex-time").text


def test_arrows_can_be_switched_off(page, inside, run):
    page.open(inside).explorer()
    taken = (run.snapshots["policy"][-1] > 0.001).sum()
    assert len(page.all(".ex-board .ex-arrow")) == taken
    page.click(page.one("[data-test=arrows]"))
    assert page.all(".ex-board .ex-arrow") == []


@pytest.mark.parametrize("kind", ["test", "observe"])
def test_an_episode_is_followed_step_by_step(page, inside, run, problem, kind):
    page.open(inside).explorer()
    page.click(page.one(f"[data-test=player-kind-{kind}]"))
    policy = run.snapshots["policy"][-1]
    if kind == "observe":
        q = run.snapshots["q_obs"][-1]
        policy = np.zeros_like(q)
        greedy_policy(q, policy)
    seed = np.random.SeedSequence([0, 3000, ("test", "observe").index(kind)])
    path = rollout(problem, Policy(problem.shape, policy), np.random.default_rng(seed))
    line = page.one("[data-test=player-line]")
    assert f"the episode takes {len(path)} step" in line.text
    strip = page.attributes("[data-test=player-strip] i", "class")
    assert ["is-shown" in mark for mark in strip] == list(path.shown)
    assert page.all("[data-test=badge]") == []
    for t in range(min(len(path), 6)):
        page.click(page.one("[data-test=player-next]"))
        text = line.text
        assert text.startswith(f"step {t + 1}: {problem.mdp.action_labels[path.action[t]]}")
        assert ("SHOWN" in text) == bool(path.shown[t])
        assert ("HIDDEN" in text) == (not path.shown[t])
        badge = "[data-test=badge]"
        assert page.attributes(badge, "data-shown") == ["yes" if path.shown[t] else "no"]
        eye, *coin = page.attributes(f"{badge} use", "href")
        assert eye.endswith("shown" if path.shown[t] else "hidden")
        assert bool(coin) == (path.monitor_reward[t] < 0)
        assert f"now at {problem.mdp.state_labels[path.state[t + 1]]}" in text
    before = line.text
    page.click(page.one("[data-test=player-prev]"))
    assert line.text != before
    page.click(page.one("[data-test=player-last]"))
    assert line.text.startswith(f"step {len(path)}:")
    if kind == "test":
        discounts = 0.99 ** np.arange(len(path))
        total = float(discounts @ (path.reward + path.monitor_reward))
        said = line.text.partition("return so far ")[2].split()[0]
        assert float(said.replace("−", "-")) == float(f"{total:.4g}")
    page.photograph(f"player-{kind}")


def test_an_episode_plays_by_itself(page, inside):
    page.open(inside).explorer()
    page.click(page.one("[data-test=player-play]"))
    line = page.one("[data-test=player-line]")
    page.until("/^step [2-9]/.test(it[0].textContent)", line)
    page.click(page.one("[data-test=player-play]"))
    assert page.one("[data-test=player-play]").accessible_name == "play"


def test_a_cell_opens_by_click_and_by_key(page, inside, run, problem):
    page.open(inside).explorer()
    detail = page.one("[data-test=detail]")
    hidden = np.flatnonzero(solve(problem, 0.99).seen.never_observable.any(axis=1))
    first = page.one("h4", detail).text.split(" · ")[0]
    assert first in [problem.mdp.state_labels[state] for state in hidden]
    page.click(page.one("[data-test=cell-0-8]"))
    assert page.one("h4", detail).text.startswith(problem.mdp.state_labels[8])
    page.photograph("cell")
    n = run.snapshots["n"][-1].reshape(36, 2, 5)[8, 0]
    visits = page.js("[...it[0].rows[1].cells].map((c) => c.innerText)", page.one("table", detail))
    assert visits[0] == "visits here"
    assert [int(text.replace(",", "")) for text in visits[1:]] == list(n)
    page.press(Keys.ARROW_RIGHT, Keys.ENTER)
    assert page.one("h4", detail).text.startswith(problem.mdp.state_labels[9])
    page.js("document.activeElement.blur()")
    page.js("it[0].focus()", page.one("[data-test=panel-1] [tabindex='0']"))
    page.press(Keys.ARROW_DOWN, Keys.SPACE)
    assert page.one("h4", detail).text.startswith(problem.mdp.state_labels[6])


def test_the_truth_in_the_detail_is_the_worlds(page, inside, problem):
    page.open(inside).explorer()
    never = solve(problem, 0.99).seen.never_observable
    se = int(np.flatnonzero(never.any(axis=1))[0])
    page.click(page.one(f"[data-test=cell-0-{se}]"))
    [reward, observable] = page.js("""[...document.querySelectorAll(".ex-truth tr")]
        .map((row) => [...row.cells].slice(1).map((cell) => cell.innerText))""")
    assert observable == ["never" if hidden else "yes" for hidden in never[se]]
    expected = problem.mdp.mean_reward.reshape(36, 5)[se]
    assert [float(text.replace("−", "-")) for text in reward] == pytest.approx(expected, rel=1e-2)


def test_a_badge_is_where_the_agent_is_and_a_coin_what_it_paid(page, inside, run):
    page.open(inside).explorer()
    page.click(page.one("[data-test=player-kind-observe]"))
    [strip] = page.all("[data-test=player-strip]")
    seen = set()
    slide(page, Keys.HOME)
    for _ in run.snapshot_steps:
        for mark in page.all("i", strip)[:8]:
            page.click(mark)
            [shown] = page.attributes("[data-test=badge]", "data-shown")
            coin = len(page.all("[data-test=badge] use")) == 2
            kind = mark.get_attribute("class")
            assert (shown == "yes", coin) == ("is-shown" in kind, "is-paid" in kind)
            assert page.shown(".is-current [data-test=badge]")
            seen.add((shown, coin))
        slide(page, Keys.ARROW_RIGHT)
    assert len(seen) > 1


def test_the_player_is_directly_below_the_maps(page, inside):
    page.open(inside).explorer()
    page.js("it[0].scrollIntoView()", page.one(".ex-panels"))
    first, second = box(page, "[data-test=panel-0]"), box(page, "[data-test=panel-1]")
    assert first[1] == second[1], "beside each other"
    assert second[2] <= page.width
    left, top, right, bottom = box(page, "[data-test=cell-1-7]")
    assert min(right - left, bottom - top) >= 22
    assert 0 < box(page, ".ex-player")[1] - max(first[3], second[3]) < 40
    detail = box(page, "[data-test=detail]")
    if page.width == 390:
        assert detail[1] > box(page, ".ex-player")[3]


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_cell_that_is_chosen_brings_its_detail_into_view(page, inside, motion):
    feature = {"name": "prefers-reduced-motion", "value": motion}
    page.cdp("Emulation.setEmulatedMedia", features=[feature])
    page.open(inside).explorer()
    cell = page.one("[data-test=cell-0-8]")
    page.js("it[0].scrollIntoView({ block: 'center' })", cell)
    before = page.js("scrollY")
    cell.click()
    if page.width == 1280:
        assert page.js("scrollY") == before
        assert page.shown("[data-test=back]") == []
        return
    if motion == "no-preference":
        page.until("it[0].getBoundingClientRect().top < 200", page.one("[data-test=detail]"))
    _, top, _, _ = box(page, "[data-test=detail]")
    assert 0 <= top < 200
    page.click(page.one("[data-test=back]"))
    page.until("it[0].getBoundingClientRect().top >= 0", page.one(".ex-panels"))


def test_the_table_of_a_cell_has_room_for_its_numbers(page, inside):
    page.open(inside).explorer()
    slide(page, Keys.HOME)
    for step in range(3):
        for se in (2, 8, 35):
            page.click(page.one(f"[data-test=cell-0-{se}]"))
            room, needed = page.js(
                "(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])(it[0])",
                page.one(".ex-wide"),
            )
            assert needed <= room
            rows = page.js("""[...document.querySelectorAll(".ex-detail tr")].map((row) =>
                [...row.cells].filter((cell) => cell.tagName === "TD").map((cell) => {
                  const words = document.createRange();
                  words.selectNodeContents(cell);
                  const { left, right } = words.getBoundingClientRect();
                  return [left, right];
                }))""")
            for cells in rows:
                assert all(a[1] < b[0] for a, b in pairwise(cells))
            starred = "*" in page.one("table", page.one("[data-test=detail]")).text
            assert len(page.shown("[data-test=footnote]")) == starred
            assert starred or step
        slide(page, Keys.END if step else Keys.ARROW_RIGHT)


def test_a_map_that_is_too_large_for_arrows_says_so(page, large, inside):
    page.open(large).explorer()
    [words] = page.texts("[data-test=too-large]")
    assert "too large for arrows" in words
    box = page.one("[data-test=arrows]")
    assert not box.is_enabled()
    assert not box.get_property("checked")
    assert page.all(".ex-board .ex-arrow") == []
    page.photograph("large")
    page.open(inside).explorer()
    assert page.all("[data-test=too-large]") == []
    assert page.one("[data-test=arrows]").is_enabled()
