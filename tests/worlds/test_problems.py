"""Worlds that are kept as files: what they are, by a search in plain Python."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from conftest import GRIDS
from monmdp import envs, make, solve, testing, worlds
from monmdp.worlds.problems import FOLDER, NAMES

GAMMA = 0.95
COST = 0.2
WAYS = {
    "minigrid-empty": (142, 11, 12),
    "minigrid-crossing": (169, 15, 19),
    "minigrid-lava": (183, 13, 15),
    "minigrid-doorkey": (154, 14, 16),
    "minigrid-fourrooms": (1040, 15, 17),
}
"""world -> states, steps of the shortest way, and of the shortest without ⊥"""


@pytest.fixture(params=NAMES)
def mdp(request):
    return worlds.make(request.param)


def steps_to_goal(mdp, hidden_too):
    """Breadth first from the start, one step after another."""
    here, seen = {int(mdp.start.argmax())}, set()
    for steps in range(1, mdp.n_states + 1):
        seen |= here
        there = set()
        for s in here:
            for a in range(mdp.n_actions):
                (o,) = range(mdp.first[s * mdp.n_actions + a], mdp.first[s * mdp.n_actions + a + 1])
                if mdp.hidden[o] and not hidden_too:
                    continue
                if mdp.reward[o] > 0:
                    return steps
                if not mdp.terminates[o]:
                    there.add(int(mdp.successor[o]))
        here = there - seen
    raise AssertionError("no way to the goal")


def test_all_files_are_worlds():
    assert sorted(path.stem for path in FOLDER.glob("*.npz")) == sorted(NAMES)
    assert list(NAMES) == GRIDS == list(worlds.registry)[-len(NAMES) :]
    assert sum(path.stat().st_size for path in FOLDER.glob("*.npz")) < 200_000


def test_fields(mdp):
    assert (mdp.r_min, mdp.r_max, mdp.time_limit) == (-1.0, 1.0, 100)
    assert mdp.button == (int(mdp.start.argmax()), mdp.action_labels.index("left"))
    assert mdp.action_labels[:3] == ("left", "right", "forward")
    assert set(np.unique(mdp.reward)) == {0.0, 1.0}
    assert np.array_equal(mdp.goal, mdp.mean_reward > 0)
    assert mdp.observations.dtype == np.uint8
    assert not worlds.lookalikes(mdp)
    assert testing.check_world(mdp) == []


def test_bottom_is_to_enter_a_cell_from_elsewhere(mdp):
    outcomes = mdp.outcomes
    before, after = mdp.places[outcomes.state], mdp.places[outcomes.successor]
    moved = (before != after).any(axis=1)
    assert np.array_equal(mdp.hidden, moved & mdp.bottom[outcomes.successor])
    assert len(np.unique(mdp.places[mdp.bottom], axis=0)) == 2
    assert {mdp.action_labels[a] for a in outcomes.action[mdp.hidden]} == {"forward"}


def test_the_agent_is_seen_where_it_is(mdp):
    shown = np.argwhere(mdp.observations[..., 0] == 10)  # state, column, row
    assert np.array_equal(shown[:, 0], np.arange(mdp.n_states))
    assert np.array_equal(shown[:, :0:-1], mdp.places)


def test_bottom_lies_on_every_shortest_way(mdp):
    found = mdp.n_states, steps_to_goal(mdp, hidden_too=True), steps_to_goal(mdp, hidden_too=False)
    assert found == WAYS[mdp.name]


@pytest.mark.parametrize("rho", [1.0, 0.2])
def test_the_price_under_ask_is_that_of_the_longer_way(mdp, rho):
    """Who never asks pays nothing: the value is γ to the power of the steps before the last."""
    solution = solve(make(mdp, "ask", rho=rho), gamma=GAMMA)
    _, short, long = WAYS[mdp.name]
    assert solution.value == pytest.approx(GAMMA ** (long - 1))
    assert solution.price == pytest.approx(GAMMA ** (short - 1) - GAMMA ** (long - 1))
    assert solution.price > 0.02 * solution.value, "more than what a test may be off"
    assert not solution.solvable


@pytest.mark.parametrize("name", ["minigrid-empty", "minigrid-crossing", "minigrid-lava"])
def test_value_under_button(name):
    """Half of the episodes start ON: pay all the way, or turn left to push, and right again.

    The push is the step (start, left), which still is ON.
    """
    _, _, long = WAYS[name]
    pay = GAMMA ** (long - 1) - COST * (1 - GAMMA**long) / (1 - GAMMA)
    push = GAMMA ** (long + 1) - COST
    solution = solve(make(name, "button"), gamma=GAMMA)
    assert solution.value == pytest.approx((GAMMA ** (long - 1) + max(pay, push)) / 2)
    assert solution.price > 0.02 * solution.value


def test_they_are_environments():
    env = gymnasium.make(envs.IDS["minigrid-lava"], monitor="ask", observations="table")
    seen, _ = env.reset(seed=0)
    assert seen["env"].shape == (9, 9, 3)
