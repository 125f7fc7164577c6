"""The explorer of a run: what it shows of a snapshot is what the agent knew then."""

from __future__ import annotations

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from monmdp import MonMDP, solve
from monmdp.agents.greedy import greedy_policy
from monmdp.experiment import Policy, Run, rollout


@pytest.fixture(scope="module")
def run(trained):
    return Run.load(trained / "seed-0000.npz")


@pytest.fixture(scope="module")
def problem(trained):
    return MonMDP.load(trained / "problem.npz")


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
    assert len(seen) == len(page.all("[data-test^=layer-]")) == 6


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
    for t in range(min(len(path), 6)):
        page.click(page.one("[data-test=player-next]"))
        text = line.text
        assert text.startswith(f"step {t + 1}: {problem.mdp.action_labels[path.action[t]]}")
        assert ("SHOWN" in text) == bool(path.shown[t])
        assert ("HIDDEN" in text) == (not path.shown[t])
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
