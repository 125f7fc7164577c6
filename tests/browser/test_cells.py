"""The cells of the explorer, in problems whose monitors have several states.

What is drawn in a cell, said of it and played on the map is compared with the run's file.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise

import numpy as np
import pytest
from selenium.webdriver import ActionChains

from browser.conftest import monmdp, report, watched
from browser.knowledge import NEVER_SHOWN, SHOWN_SINCE, TRIED_SINCE, UNTRIED, Known
from monmdp import make, train
from monmdp.agents import MonitoredMBIEEB
from monmdp.experiment.training import snapshots_from_start

SUPPORTERS, BUTTON, EXPERTS, COUNTING, HALVED = range(5)
"""the runs, in the order of their explorers"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Five runs: chances, starts, monitors and agents differ.

    Of two of them the command line cannot ask: one seldom observes, one has its snapshots at
    steps of its own, none of them at the beginning or the end.
    """
    folder, ours = tmp_path_factory.mktemp("cells"), "monitored-mbie-eb"
    asked = {
        "supporters": ["bottleneck", "n-supporters", "rho=0.5", "--agent", ours, "--steps", 6000],
        "button": ["loop", "button", "--agent", "mbie-eb", "--steps", 2000],
        "experts": ["river-swim", "n-experts", "--agent", ours, "--steps", 2000],
    }
    for name, words in asked.items():
        some = ["--every", 100, "--seeds", 1, "--snapshots", 5, "--out", folder / name]
        monmdp("train", *words, *some)
    counting, halved = folder / "counting", folder / "halved"
    train(make("loop", "n-experts"), "q-count", 1000, snapshots=(100, 440, 700), out=counting)
    seldom, evenly = MonitoredMBIEEB(log_base=2.0), snapshots_from_start(5, 2000)
    train(make("loop", "button", rho=0.5), seldom, 2000, snapshots=evenly, out=halved)
    return [*(folder / name for name in asked), counting, halved]


@pytest.fixture(scope="module")
def known(folders):
    return [Known(folder) for folder in folders]


@pytest.fixture(scope="module")
def wide(driver, folders, tmp_path_factory):
    """The report on them, loaded once for all tests of this file."""
    html = report(*folders, out=folders[0].parent / "report.html")
    with watched(driver, 1280, tmp_path_factory.mktemp("wide")) as page:
        yield page.open(html)


def move_to(page, root, i):
    """Move the slider of an explorer to a snapshot."""
    page.js(
        """((slider) => { slider.value = it[1]; slider.dispatchEvent(new Event("input")); })(
        it[0].querySelector("[data-test=slider]"))""",
        root, i,
    )  # fmt: skip


def lay(page, root, layer):
    page.js(f"it[0].querySelector('[data-test=layer-{layer}]').click()", root)


OPENED = """[...it[0].querySelectorAll(".ex-cell")].map((cell) => {
  cell.dispatchEvent(new MouseEvent("click"));
  const detail = it[0].querySelector("[data-test=detail]");
  const words = (selector) => [...detail.querySelectorAll(selector)].map((n) => n.textContent);
  const rows = [...detail.querySelectorAll("tr")].map((row) =>
    [...row.cells].map((cell) => cell.textContent));
  return {
    cell: cell.dataset.test, why: words("[data-test=why]"), notes: words(".ex-note"),
    footnote: words("[data-test=footnote]"),
    rows: Object.fromEntries(rows.map(([title, ...entries]) => [title, entries])),
    ways: [...detail.querySelectorAll("li")].map((way) =>
      [way.textContent, way.classList.contains("is-taken")]),
  };
})"""
"""click all cells, one after the other, and read what is said of them"""

DRAWN = """[...it[0].querySelectorAll(".ex-cell")].map((cell) => {
  const box = (node) => node.getBoundingClientRect();
  const whole = box(cell.querySelector(".ex-edge"));
  const place = (node) => {
    const { left, right, top, bottom } = box(node);
    return [((left + right) / 2 - whole.left) / whole.width - 0.5,
      ((top + bottom) / 2 - whole.top) / whole.height - 0.5];
  };
  return {
    cell: cell.dataset.test, value: cell.dataset.value,
    arrows: [...cell.querySelectorAll(".ex-arrow")].map(place),
    heat: [...cell.querySelectorAll(".ex-heat")].map((n) => [place(n), n.getAttribute("fill")]),
  };
})"""
"""where in each cell arrows and colours are, from its middle, in widths of a cell"""


def drawn(page, root):
    """(monitor state, cell) -> what is drawn there"""
    found = page.js(DRAWN, root)
    return {tuple(map(int, of["cell"].split("-")[1:])): of for of in found}


def direction(place):
    x, y = place
    if max(abs(x), abs(y)) < 0.01:
        return "STAY"
    if abs(x) > abs(y):
        return "LEFT" if x < 0 else "RIGHT"
    return "UP" if y < 0 else "DOWN"


def shade(fill):
    """A number that grows with the value that a colour stands for; None if it is hatched."""
    if fill == "none":
        return -np.inf
    if not fill.startswith("rgb"):
        return None
    red, green, blue = map(int, fill[4:-1].split(","))
    dark = 765 - red - green - blue
    return -dark if red > blue else dark


def test_arrows_are_those_of_the_test_policy_in_each_monitor_state(wide, known):
    for which in (SUPPORTERS, EXPERTS, COUNTING):
        root = wide.explorer(which)
        differing = 0
        for i in range(len(known[which].steps)):
            move_to(wide, root, i)
            snapshot = known[which].at(i)
            for (sm, se), of in drawn(wide, root).items():
                policy = snapshot.policy(se, sm)
                tied = max(policy.values()) - min(policy.values()) < 1e-6
                taken = [] if tied else [name for name, p in policy.items() if p > 0.001]
                assert sorted(map(direction, of["arrows"])) == sorted(taken)
                differing += policy != snapshot.policy(se, 0)
        assert differing > 10


def test_colours_are_those_of_the_action_in_the_monitor_state(wide, known):
    for which, i in ((SUPPORTERS, 3), (SUPPORTERS, 4), (EXPERTS, 3)):
        root, snapshot = wide.explorer(which), known[which].at(i)
        move_to(wide, root, i)
        actions = {name: ae for ae, name in enumerate(snapshot.mdp.action_labels)}
        for layer, of in (
            ("visits", snapshot.visits), ("tested", snapshot.tested), ("q_opt", snapshot.value),
        ):  # fmt: skip
            lay(wide, root, layer)
            pairs = []
            for (sm, se), cell in drawn(wide, root).items():
                heat = {direction(place): shade(fill) for place, fill in cell["heat"]}
                assert heat.keys() == actions.keys()
                for name, ae in actions.items():
                    hatched = layer == "q_opt" and bool(snapshot.pinned(se, sm, ae))
                    assert (heat[name] is None) == hatched
                    if not hatched:
                        pairs.append((of(se, sm, ae), heat[name]))
            shades = [
                {shade for _, shade in group}
                for _, group in groupby(sorted(pairs), lambda pair: pair[0])
            ]
            assert all(len(alike) == 1 for alike in shades)
            assert all(a <= b for (a,), (b,) in pairwise(shades))
            assert len({shade for (shade,) in shades}) > 5
        lay(wide, root, "status")
        marks = ["unknown", "seen", "unseen"]
        for (sm, se), cell in drawn(wide, root).items():
            heat = {direction(place): int(fill[-2]) for place, fill in cell["heat"]}
            for name, ae in actions.items():
                assert marks[heat[name]] == snapshot.status(se, sm, ae)


def test_test_visits_are_computed_from_the_policy(wide, known):
    for which in (SUPPORTERS, EXPERTS):
        root = wide.explorer(which)
        lay(wide, root, "tested")
        for i in range(len(known[which].steps)):
            move_to(wide, root, i)
            snapshot = known[which].at(i)
            for (sm, se), cell in drawn(wide, root).items():
                most = max(snapshot.tested(se, sm, ae) for ae in range(snapshot.n_ae))
                assert float(cell["value"]) == most


def test_a_cell_says_what_the_snapshot_says_of_it(wide, known):
    wanted = (
        (SUPPORTERS, (3, 4, 5)),
        (BUTTON, (1, 2, 5)),
        (EXPERTS, (2, 4)),
        (COUNTING, (1, 2)),
        (HALVED, (1, 3)),
    )
    said, starred = Counter(), Counter()
    for which, snapshots in wanted:
        root = wide.explorer(which)
        for i in snapshots:
            move_to(wide, root, i)
            snapshot = known[which].at(i)
            opened = wide.js(OPENED, root)
            assert len(opened) == len(snapshot.everywhere())
            for (sm, se), of in zip(snapshot.everywhere(), opened, strict=True):
                assert of["cell"] == f"cell-{sm}-{se}"
                assert of["why"] == [snapshot.why(se, sm)]
                rows = snapshot.rows(se, sm)
                assert {title: of["rows"][title] for title in rows} == rows
                footnote = snapshot.footnote(se, sm)
                assert of["footnote"] == ([footnote] if footnote else [])
                line = [snapshot.monitor_line(se, sm)] if snapshot.n_am > 1 else []
                assert [note for note in of["notes"] if "monitor action of" in note] == line
                assert [tuple(way) for way in of["ways"]] == snapshot.ways(se, sm)
                said.update(kind for kind in KINDS if kind in of["why"][0])
                starred.update(
                    why for why in (UNTRIED, TRIED_SINCE, NEVER_SHOWN, SHOWN_SINCE)
                    if why in (footnote or "")
                )  # fmt: skip
    assert set(said) == set(KINDS)
    assert len(starred) == 4


KINDS = (
    "Episodes start here.", "Episodes start here with probability 0.5.", "comes here by",
    "and others", " once per episode", "avoids this cell", "it is in none of the cells",
    "there are ways in from where it goes", "by at least", "no reward was ever shown",
    "But never with monitor",
)  # fmt: skip
"""what is said of some cell of some run"""


PLAYED = """(() => {
  const seen = [];
  const next = it[0].querySelector("[data-test=player-next]");
  for (let t = 0; t <= it[1]; t++) {
    if (t) next.click();
    const panels = [...it[0].querySelectorAll(".ex-panel")];
    const which = (there) => panels.flatMap((panel, sm) => (there(panel) ? [sm] : []));
    const robot = (panel) => panel.querySelector(".ex-robot");
    const badge = it[0].querySelector("[data-test=badge]");
    seen.push({
      current: which((panel) => panel.classList.contains("is-current")),
      robots: which((panel) => robot(panel).style.display !== "none"),
      places: panels.map((panel) => robot(panel).style.transform),
      badges: which((panel) => panel.querySelector("[data-test=badge]")),
      eye: badge && badge.children[0].getAttribute("href"),
      shown: badge && badge.dataset.shown,
      coin: badge && badge.children.length === 2,
      now: [...it[0].querySelectorAll(".ex-strip .is-now")].map((n) => n.dataset.step),
    });
  }
  return seen;
})()"""
"""go through an episode with the button, and look at the maps after each step"""


@pytest.mark.parametrize("kind", ["test", "observe"])
def test_the_robot_is_in_the_panel_of_the_monitors_state(wide, known, kind):
    kinds = Counter()
    for which in (SUPPORTERS, EXPERTS):
        root, run = wide.explorer(which), known[which]
        wide.js(f"it[0].querySelector('[data-test=player-kind-{kind}]').click()", root)
        places = wide.attributes(".ex-cell", "transform", root)
        cells = dict(zip(run.at(0).everywhere(), places, strict=True))
        for i in (1, 3, 5):
            move_to(wide, root, i)
            path = run.episode(kind, i)
            strip = wide.attributes(".ex-strip i", "class", root)
            paid, shown = path.monitor_reward < 0, path.shown
            assert ["is-shown" in mark for mark in strip] == shown.tolist()
            assert ["is-hidden" in mark for mark in strip] == (~shown).tolist()
            assert ["is-paid" in mark for mark in strip] == paid.tolist()
            kinds.update(zip(shown.tolist(), paid.tolist(), strict=True))
            played = wide.js(PLAYED, root, min(len(path), 40))
            for t, of in enumerate(played):
                sm, se = int(path.monitor_state[t]), int(path.state[t])
                assert of["current"] == of["robots"] == [sm]
                at = of["places"][sm].replace("px", "").replace(",", "")
                assert at == cells[sm, se]
                assert of["badges"] == ([sm] if t else [])
                assert of["now"] == ([str(t)] if t else [])
                if t:
                    word = "shown" if shown[t - 1] else "hidden"
                    assert of["eye"].endswith(f"-eye-{word}")
                    assert of["shown"] == ("yes" if shown[t - 1] else "no")
                    assert of["coin"] == paid[t - 1]
    assert len(kinds) > 2


def test_the_marker_stands_at_the_step_and_above_the_thumb(wide, known):
    root, steps = wide.explorer(COUNTING), known[COUNTING].steps
    assert steps == [100, 440, 700]
    slider = wide.one("[data-test=slider]", root)
    left, right = wide.js(
        "((box) => [box.left, box.right])(it[0].getBoundingClientRect())",
        wide.one(".ex-spark", root),
    )
    for i in range(len(steps)):
        move_to(wide, root, i)
        # 0, the snapshots and the end stand evenly.
        expected = left + (i + 1) / (len(steps) + 1) * (right - left)
        marker, begin, end = wide.js(
            """[it[0].querySelector("[data-test=marker]"), it[1]].flatMap((node) => {
              const { left, right } = node.getBoundingClientRect();
              return node === it[1] ? [left, right] : [(left + right) / 2];
            })""",
            root, slider,
        )  # fmt: skip
        assert marker == pytest.approx(expected, abs=1)
        move_to(wide, root, (i + 1) % len(steps))
        off = round(marker - (begin + end) / 2)
        wide.js("it[0].scrollIntoView({ block: 'center' })", slider)
        ActionChains(wide.driver).move_to_element_with_offset(slider, off, 0).click().perform()
        assert slider.get_property("value") == str(i)
        said = wide.texts(f"[data-test=steps] [data-step='{steps[i]}']", root)
        assert said == [str(steps[i])]
        assert wide.one("[data-test=when]", root).text == f"step {steps[i]} of 1,000"


def test_episodes_are_counted_where_the_agent_counts_them(wide, known):
    for which, run in enumerate(known):
        root = wide.explorer(which)
        label = wide.one("[data-test=when]", root)
        counted = run.run.snapshots.get("episodes")
        assert (counted is None) == (which in (BUTTON, COUNTING))
        for i, step in enumerate(run.steps):
            move_to(wide, root, i)
            expected = f"step {step:,} of {run.run.settings['steps']:,}"
            if counted is not None:
                begun, observing = counted[i][:2]
                expected += f" · episodes {begun}, {observing} to observe"
            assert label.text == expected
