"""The adversarial monitors against plain statements of them, and what each of them breaks.

Assumption 1: pᵐ(· | sᵐ, aᵐ) is the same at all environment pairs but a few. Assumption 2: P(shown |
s, a) = o(sᵉ, aᵉ) · ρ(sᵐ, aᵐ) with o in {0, 1}. Assumption 3: it does not depend on the reward.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import LARGE, WORLDS
from monmdp import MonMDPError, join, make, monitors, planning, worlds
from monmdp.testing import check_monmdp

NAMES = ["patchy", "cameras", "zones", "shy", "decoy"]
FAR = {"bottleneck": ("5,5", "UP"), "river-swim": ("5", "RIGHT"), "hazard": ("3,3", "STAY"),
       "rooms-20x20": ("17,19", "STAY")}  # fmt: skip
"""where PRESS works; on the chest's cell STAY would end the episode"""


# ---- each monitor in plain Python: what is paid, where it goes, what it shows ---------------


def patchy(*, s, a, am, **_):
    asks = am == 1
    return (-0.2 if asks else 0), [1], asks * (0.7 * 0.1 if (s + a) % 3 == 0 else 0.7)


def cameras(*, s, am, **_):
    covered = 0 if s % 6 in (0, 1, 2) else 1
    return (-0.2 if am < 2 else 0), [1], 0.7 if am == covered else 0


def zones(*, mdp, s, sm, **_):
    if s < mdp.n_states // 2:
        move = [1, 0] if sm == 0 else [0.2, 0.8]
    else:
        move = [0.8, 0.2] if sm == 0 else [0, 1]
    return (-0.2 if sm == 1 else 0), move, 0.7 if sm == 1 else 0


def shy(*, am, reward, **_):
    asks = am == 1
    return (-0.2 if asks else 0), [1], asks * (0.7 if reward == 0 else 0.7 * 0.1)


def decoy(*, mdp, s, a, sm, am, **_):
    there = (mdp.state_labels[s], mdp.action_labels[a]) == FAR[mdp.name]
    if sm == 1:
        move = [0, 1]
    elif there and am == 1:
        move = [0.5, 0.5]
    else:
        move = [1, 0]
    return (-0.2 if am == 1 else 0), move, 0.7 if sm == 1 else 0


STATEMENTS = {"patchy": patchy, "cameras": cameras, "zones": zones, "shy": shy, "decoy": decoy}


@pytest.mark.parametrize("world", FAR)
@pytest.mark.parametrize("name", NAMES)
def test_the_tables_are_what_the_monitor_says(name, world):
    m = make(world, name, rho=0.7)
    mdp, monitor = m.mdp, m.monitor
    for o, pair in enumerate(mdp.pair_of_outcome):
        s, a = divmod(int(pair), mdp.n_actions)
        for sm in range(monitor.n_states):
            for am in range(monitor.n_actions):
                cost, move, shown = STATEMENTS[name](
                    mdp=mdp, s=s, a=a, sm=sm, am=am, reward=mdp.reward[o]
                )
                assert monitor.reward[sm, am] == cost
                assert monitor.transition[m.pair_class[pair], sm, am] == pytest.approx(move)
                wanted = 0 if mdp.hidden[o] else shown
                assert monitor.show[m.outcome_class[o], sm, am] == pytest.approx(wanted)


def test_names_starts_and_parameters():
    made = {name: monitors.make(name) for name in NAMES}
    assert {name: (m.states, m.actions, m.start.tolist()) for name, m in made.items()} == {
        "patchy": (("ON",), ("NO-OP", "ASK"), [1]),
        "cameras": (("ON",), ("LOOK-0", "LOOK-1", "NO-OP"), [1]),
        "zones": (("OFF", "ON"), ("NO-OP",), [0.5, 0.5]),
        "shy": (("ON",), ("NO-OP", "ASK"), [1]),
        "decoy": (("OFF", "ON"), ("NO-OP", "PRESS"), [1, 0]),
    }
    for name in NAMES:
        assert monitors.make(name, cost=-3).reward.min() == -3
    three = make("corridor", "cameras", n=3, block=5).observability().reshape(20, 5, 4)
    assert three[:, 0].argmax(axis=1).tolist() == [0] * 5 + [1] * 5 + [2] * 5 + [0] * 5
    moved = make("bottleneck", "decoy", pair="2,3:UP", chance=1)
    assert np.flatnonzero(moved.pair_class).tolist() == [15 * 5 + 3]
    assert moved.monitor.transition[1, 0, 1].tolist() == [0, 1]
    assert (make("bottleneck", "decoy", pair=((2, 3), "UP")).pair_class == moved.pair_class).all()
    with pytest.raises(MonMDPError, match=r"pair of world 'bottleneck': row 9, .* is not a cell"):
        make("bottleneck", "decoy", pair="9,9:UP")


def test_zones_of_an_odd_number_of_states():
    three = worlds.from_tables(np.full((3, 1, 3), 1 / 3), np.zeros((3, 1)))
    assert make(three, "zones").pair_class.tolist() == [0, 1, 1]
    one = worlds.from_tables(np.ones((1, 1, 1)), np.zeros((1, 1)), layout="sas")
    assert planning.observability(make(one, "zones")).solvable


def test_the_far_pair_of_a_world_that_always_ends():
    assert np.flatnonzero(make("treasure-hunter", "decoy").pair_class).tolist() == [2 * 3 + 2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("world", WORLDS + LARGE)
def test_all_but_bottom_can_be_seen(world, name):
    m = make(world, name, rho=0.05)
    hidden = np.logical_and.reduceat(m.mdp.hidden, m.mdp.first[:-1]).reshape(m.mdp.goal.shape)
    seen = planning.observability(m)
    if (world, name) == ("treasure-hunter", "decoy"):  # nothing comes after its one action
        assert seen.rho is None
    else:
        assert (seen.never_observable == hidden & seen.reachable.any(axis=1, keepdims=True)).all()
    assert all("biased" in note or "not solvable" in note or seen.rho is None
               for note in check_monmdp(m, steps=100))  # fmt: skip


@pytest.mark.slow
def test_they_work_where_there_is_no_map():
    for name in NAMES:
        m = make("gymnasium:FrozenLake-v1", name)
        assert planning.observability(m).solvable
        assert planning.solve(m).minimax.converged


# ---- what they break ------------------------------------------------------------------------


def share_of_the_commonest_row(m):
    """Least share, over (sᵐ, aᵐ), of the environment pairs with the commonest pᵐ(· | sᵐ, aᵐ)."""
    shares = []
    for sm in range(m.monitor.n_states):
        for am in range(m.monitor.n_actions):
            rows = [tuple(m.monitor.transition[c, sm, am]) for c in m.pair_class]
            shares.append(max(rows.count(row) for row in set(rows)) / len(rows))
    return min(shares)


def profiles(m):
    """The P(shown | sᵐ, aᵐ) that pairs have, those that never show apart: only one if o · ρ."""
    chance = m.shown_chance().reshape(m.mdp.n_pairs, -1)
    return np.unique(chance[chance.any(axis=1)].round(12), axis=0)


def test_the_papers_monitors_break_at_most_one_pair():
    for name in ("full-random", "ask", "button", "n-supporters", "n-experts", "level-up"):
        m = make("bottleneck", name)
        assert share_of_the_commonest_row(m) >= 179 / 180
        assert len(profiles(m)) == 1
        assert not m.monitor.reads_reward


def test_patchy_and_cameras_have_no_common_chance():
    patchy = make("bottleneck", "patchy")
    assert profiles(patchy).tolist() == [[0, 0.1], [0, 1]]
    chance = patchy.shown_chance()[:, 0, 1]
    assert [(chance == value).sum() for value in (0.1, 1)] == [40, 115]
    chest = patchy.mdp.find_state("5,5") * 5 + 4
    assert chance[chest] == 0.1  # most pairs are bright, the one that counts is not
    rows = profiles(make("bottleneck", "cameras"))
    assert rows.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert rows[0] @ rows[1] == 0  # what one camera shows the other never does
    for name in ("patchy", "cameras"):
        assert not make("bottleneck", name).monitor.reads_reward
        assert share_of_the_commonest_row(make("bottleneck", name)) == 1


def test_zones_have_no_common_transition():
    m = make("bottleneck", "zones")
    assert share_of_the_commonest_row(m) == 0.5
    first, second = m.monitor.transition[:, :, 0]
    assert np.abs(first - second).sum(axis=1) / 2 == pytest.approx([0.2, 0.2])  # total variation
    assert len(profiles(m)) == 1
    assert not m.monitor.reads_reward


def test_shy_looks_at_the_reward():
    m = make("bottleneck", "shy")
    assert m.monitor.reads_reward
    assert profiles(m).tolist() == [[0, 0.1], [0, 1]]
    chance = m.shown_chance()[:, 0, 1]
    paid = m.mdp.mean_reward.reshape(-1)
    assert (chance[paid == 0] == 1).all()
    assert np.allclose(chance[(paid != 0) & (chance > 0)], 0.1)
    assert not make("bottleneck", "shy", hide=0).monitor.reads_reward
    (bias,) = planning.biased_pairs(make("river-swim", "shy"))
    assert bias.mean == pytest.approx(0.6)
    assert bias.shown_mean == pytest.approx(0.6 * 0.1 / (0.6 * 0.1 + 0.4))


def test_all_that_decoy_shows_hangs_on_one_pair():
    m = make("bottleneck", "decoy")
    assert share_of_the_commonest_row(m) == 179 / 180
    assert planning.observability(m).rho == 1
    without = join(m.mdp, replace(m.monitor, pair_class=np.zeros(m.mdp.n_pairs)))
    assert planning.observability(without).rho is None
    assert planning.solve(without).value < planning.solve(m).value - 50
