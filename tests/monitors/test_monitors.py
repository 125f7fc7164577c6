"""The monitors, table by table, and the simulated frequencies of every registry entry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from conftest import MONITORS, WORLDS
from monmdp import MDP, Monitor, MonMDPError, join, make, monitors, worlds
from monmdp.model.dynamics import reset, step


def shown(monitor, label=1):
    return monitor.show[label].tolist()


def test_the_monitors():
    assert MONITORS[:8] == [
        "full", "semi-random", "full-random", "ask", "button",
        "n-supporters", "n-experts", "level-up",
    ]  # fmt: skip
    sizes = {
        "full": (1, 1), "semi-random": (1, 1), "full-random": (1, 1), "ask": (1, 2),
        "button": (2, 1), "n-supporters": (4, 4), "n-experts": (4, 5), "level-up": (3, 4),
        "limited-time": (2, 1), "battery": (11, 2), "switch": (2, 3),
        "patchy": (1, 2), "cameras": (1, 3), "zones": (2, 1), "shy": (1, 2), "decoy": (2, 2),
    }  # fmt: skip
    assert sizes == {
        name: (m.n_states, m.n_actions) for name in sizes for m in [monitors.make(name)]
    }


@pytest.mark.parametrize("name", MONITORS)
def test_rho_scales_what_is_shown_and_only_full_shows_bottom_cells(name):
    at_1, at_03 = make("bottleneck", name), make("bottleneck", name, rho=0.3)
    factor = 1.0 if name == "full" else 0.3
    assert np.allclose(at_03.observability(), factor * at_1.observability())
    landing_on_bottom = at_1.mdp.mean_reward == -10
    snake = at_1.mdp.find_state("1,4")
    to_bottom = np.zeros_like(landing_on_bottom)
    for pair in np.argwhere(landing_on_bottom):
        first = at_1.mdp.first[pair[0] * 5 + pair[1]]
        to_bottom[tuple(pair)] = at_1.mdp.successor[first] != snake
    chance = at_1.observability().reshape(36, at_1.monitor.n_states, 5, -1)
    best = chance.max(axis=(1, 3))
    assert (best[~to_bottom] > 0).all()
    assert (best[to_bottom] == (1.0 if name == "full" else 0.0)).all()
    solvable = make("bottleneck", name, solvable=True).observability()
    assert (solvable.reshape(36, -1, 5, at_1.monitor.n_actions).max(axis=(1, 3)) > 0).all()


def test_a_cost_that_pays_is_warned_of():
    monitors.make("ask", cost=-0.2)
    for name, cost in (("ask", 0.2), ("battery", 1), ("zones", "0.2")):
        says = rf"{name}: cost={float(cost):g} is a reward.* write cost=-{float(cost):g}"
        with pytest.warns(monitors.CostWarning, match=says):
            made = monitors.make(name, cost=cost)
        assert made.reward.max() == float(cost)


def test_costs_of_ones_own_may_be_positive():
    """What a monitor pays counts, not what its parameter is called."""

    def watch(cost=0.0):
        turned = -cost if isinstance(cost, float) else 0.0
        return Monitor(["ON"], ["LOOK"], [1.0], [[[1.0]]], [[turned]], show=[[1.0]])

    monitors.registry.register("watch", watch)
    try:
        for cost in (0.2, "high", None):
            monitors.make("watch", cost=cost)
    finally:
        del monitors.registry._factories["watch"]


def test_full():
    m = monitors.make("full", rho=0.01)
    assert shown(m, 0) == [[1.0]]
    assert m.reward.tolist() == [[0.0]]


def test_semi_random_shows_zeros_and_hides_half_of_the_rest():
    m = make("river-swim", "semi-random")
    chance = m.observability()
    assert chance[0, 0] == 0.5  # pays 0.01
    assert chance[1, 0] == 1.0  # pays 0
    assert chance[5, 1] == pytest.approx(0.6 * 0.5 + 0.4)
    quarter = make("river-swim", "semi-random", hide=0.75, rho=0.5).observability()
    assert quarter[0, 0] == 0.125
    assert quarter[1, 0] == 0.5


def test_ask():
    m = monitors.make("ask", rho=0.4, cost=-0.3)
    assert m.actions == ("NO-OP", "ASK")
    assert shown(m) == [[0.0, 0.4]]
    assert m.reward.tolist() == [[0.0, -0.3]]


def test_button_flips_where_it_is_pushed():
    m = make("bottleneck", "button")
    assert m.monitor.states == ("OFF", "ON")
    assert m.monitor.start.tolist() == [0.5, 0.5]
    assert shown(m.monitor) == [[0.0], [1.0]]
    assert m.monitor.reward.tolist() == [[0.0], [-0.2]]
    pushed = np.flatnonzero(m.pair_class)
    assert pushed.tolist() == [31 * 5 + 1]
    assert m.monitor.transition[0, :, 0].tolist() == [[1, 0], [0, 1]]
    assert m.monitor.transition[1, :, 0].tolist() == [[0, 1], [1, 0]]
    for where in ("2,3:UP", "2,3 UP", (15, 3), ((2, 3), "UP"), "15:UP"):
        moved = make("bottleneck", "button", button=where)
        assert np.flatnonzero(moved.pair_class).tolist() == [15 * 5 + 3]


def test_n_supporters_and_n_experts():
    s = monitors.make("n-supporters", n=3, rho=0.5)
    assert np.allclose(s.transition, 1 / 3)
    assert np.allclose(s.start, 1 / 3)
    assert np.allclose(s.reward, np.where(np.eye(3), -0.2, 0.001))
    assert np.allclose(s.show[1], 0.5 * np.eye(3))
    e = monitors.make("n-experts", n=3)
    assert np.allclose(e.transition, 1 / 3)
    assert np.allclose(e.reward[:, :3], np.where(np.eye(3), -0.2, -0.001))
    assert (e.reward[:, 3] == 0).all()
    assert np.allclose(e.show[1], np.eye(3, 4))


def test_level_up():
    m = monitors.make("level-up", rho=0.25)
    to = m.transition[0].argmax(axis=-1)
    assert to.tolist() == [[1, 0, 0, 0], [0, 2, 0, 1], [0, 0, 2, 2]]
    assert m.reward.tolist() == [[-0.2, -0.2, -0.2, 0.0]] * 3
    assert m.show[1].tolist() == [[0.0] * 4, [0.0] * 4, [0.25] * 4]
    assert m.start.tolist() == [1, 0, 0]
    uniform = make("bottleneck", "level-up", **{"monitor.start": "uniform"})
    assert np.allclose(uniform.monitor.start, 1 / 3)


def test_limited_time_shows_until_it_stops_for_good():
    m = monitors.make("limited-time", rho=0.7, stop=0.2)
    assert m.states == ("ON", "OFF")
    assert m.start.tolist() == [1, 0]
    assert m.transition[0].tolist() == [[[0.8, 0.2]], [[0, 1]]]
    assert shown(m) == [[0.7], [0]]
    assert m.reward.tolist() == [[0], [0]]
    assert monitors.make("limited-time").transition[0].tolist() == [[[0.8, 0.2]], [[0, 1]]]


def test_a_battery_answers_so_many_times():
    m = monitors.make("battery", n=2, rho=0.7, cost=-3)
    assert m.states == ("CHARGE-0", "CHARGE-1", "CHARGE-2")
    assert m.start.tolist() == [0, 0, 1]
    assert m.transition[0, :, 0].tolist() == np.eye(3).tolist()  # NO-OP
    assert m.transition[0, :, 1].tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]  # ASK
    assert shown(m) == [[0, 0], [0, 0.7], [0, 0.7]]
    assert m.reward.tolist() == [[0, 0], [0, -3], [0, -3]]
    assert monitors.make("battery").reward.min() == -0.2


def test_a_switch_shows_while_on_and_may_turn_itself_off():
    m = monitors.make("switch", reset=0.1, rho=0.7)
    assert m.states == ("OFF", "ON")
    assert m.actions == ("NO-OP", "TURN-ON", "TURN-OFF")
    assert m.start.tolist() == [1, 0]
    assert m.transition[0, 0].tolist() == [[1, 0], [0, 1], [1, 0]]
    assert np.allclose(m.transition[0, 1], [[0.1, 0.9], [0.1, 0.9], [1, 0]])
    assert shown(m) == [[0, 0, 0], [0.7, 0.7, 0.7]]
    assert m.reward.tolist() == [[0, 0, 0], [-0.2, -0.2, -0.2]]
    assert monitors.make("switch").transition[0, 1, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("ask", {"rho": 1.5}, r"rho is a probability and must lie in \[0, 1\], got 1.5"),
        ("ask", {"rho": -0.1}, "rho"),
        ("ask", {"rho": float("nan")}, "rho must be finite"),
        ("ask", {"rho": "much"}, "rho must be a number, got 'much'"),
        ("full", {"rho": 7}, "rho"),
        ("semi-random", {"hide": 2}, "hide is a probability"),
        ("n-experts", {"n": 0}, "n must be a whole number of at least 1"),
        ("n-experts", {"n": -4}, "at least 1"),
        ("n-experts", {"n": 2.5}, "whole number"),
        ("level-up", {"start": "top"}, "start='top'"),
        ("limited-time", {"stop": 1.2}, "stop is a probability"),
        ("battery", {"n": 0}, "at least 1"),
        ("switch", {"reset": -1}, "reset is a probability"),
        ("patchy", {"dim": 1.1}, "dim is a probability"),
        ("cameras", {"n": 0}, "n must be a whole number of at least 1"),
        ("cameras", {"block": 0}, "block must be a whole number of at least 1"),
        ("zones", {"chance": -0.2}, "chance is a probability"),
        ("shy", {"hide": 2}, "hide is a probability"),
        ("decoy", {"chance": "often"}, "chance must be a number"),
        ("ask", {"roh": 0.5}, "has no parameter 'roh'; did you mean 'rho'"),
        ("asc", {}, "unknown monitor 'asc'; did you mean 'ask'"),
    ],
)
def test_bad_parameters(name, params, message):
    with pytest.raises(MonMDPError, match=message):
        monitors.make(name, **params)


def test_a_button_in_a_state_whose_name_has_blanks():
    P = np.ones((2, 1, 2)) / 2
    world = worlds.from_tables(
        P, np.zeros((2, 1)), state_labels=("red door", "blue door"), action_labels=("PUSH",)
    )
    m = make(world, "button", button="blue door:PUSH")
    assert np.flatnonzero(m.pair_class).tolist() == [1]


@pytest.mark.parametrize(
    ("button", "message"),
    [
        ("9,9:DOWN", "row 9, column 9 is not a cell"),
        ("0,0:JUMP", "unknown action 'JUMP'"),
        ("0,0", "'row,column:ACTION'"),
        (5, r"\(state, action\) expected"),
        ((99, 0), "state 99 does not exist"),
    ],
)
def test_bad_buttons(button, message):
    with pytest.raises(MonMDPError, match=message):
        make("bottleneck", "button", button=button)


def test_a_monitor_of_ones_own_in_a_few_lines():
    def night_watch(rho: float = 1.0) -> Monitor:
        return Monitor(
            states=("ASLEEP", "AWAKE"),
            actions=("NO-OP",),
            start=[0.5, 0.5],
            transition=[[[0.7, 0.3]], [[0.1, 0.9]]],
            reward=[[0.0], [0.0]],
            show=[[0.0], [rho]],
        )

    m = make("bottleneck", night_watch(0.5))
    assert m.observability().max() == 0.5
    assert m.monitor.name == "monitor"


def test_a_monitor_may_look_at_pairs_and_outcomes():
    picky = Monitor(
        states=("ON",), actions=("NO-OP",), start=[1.0], transition=[[[1.0]]], reward=[[0.0]],
        show=[[[0.0]], [[1.0]]],
        outcome_class=lambda o: (o.state == 2) & (o.action == 1) & ~o.hidden,
    )  # fmt: skip
    assert np.argwhere(make("empty", picky).observability()).tolist() == [[2, 1]]


# ---- frequencies ----------------------------------------------------------------------------


def chi_square(counts, probabilities):
    """p-value of a chi-square test; categories too rare for it are pooled."""
    counts, expected = np.asarray(counts, float), np.asarray(probabilities) * np.sum(counts)
    assert counts[np.asarray(probabilities) == 0].sum() == 0, "something impossible happened"
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    keep = expected >= 5
    pooled_counts = np.append(counts[keep], counts[~keep].sum())
    pooled_expected = np.append(expected[keep], expected[~keep].sum())
    if pooled_expected[-1] < 1e-9:
        pooled_counts, pooled_expected = pooled_counts[:-1], pooled_expected[:-1]
    if len(pooled_counts) < 2:
        return 1.0
    return stats.chisquare(pooled_counts, pooled_expected).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("world", WORLDS)
def test_simulated_frequencies_match_the_tables(world, monitor):
    """Outcomes, endings, monitor moves and observations of the simulator, pair by pair."""
    m = make(world, monitor, rho=0.3)
    mdp, mon, tables = m.mdp, m.monitor, m.tables
    rng = np.random.default_rng([WORLDS.index(world), MONITORS.index(monitor)])
    p_values = []
    pairs = rng.permutation(mdp.n_pairs)[:4]
    # Random pairs rarely are the interesting ones: add those with random outcomes, and ⊥.
    several = np.flatnonzero(np.diff(mdp.first) > 1)[:2]
    bottom = mdp.pair_of_outcome[np.flatnonzero(mdp.hidden)[:1]]
    special = np.flatnonzero(m.pair_class)[:1]
    for pair in np.unique(np.concatenate([pairs, several, bottom, special])):
        se, ae = divmod(int(pair), mdp.n_actions)
        sm, am = int(rng.integers(mon.n_states)), int(rng.integers(mon.n_actions))
        found: dict[tuple, int] = {}
        n = 600
        for u in rng.random((n, 3)):
            next_se, next_sm, re, rm, show, end = step(tables, se, sm, ae, am, *u)
            assert rm == mon.reward[sm, am]
            key = (int(next_se), float(re), bool(end), int(next_sm), bool(show))
            found[key] = found.get(key, 0) + 1
        expected: dict[tuple, float] = {}
        for o in range(mdp.first[pair], mdp.first[pair + 1]):
            for next_sm in range(mon.n_states):
                p = mdp.probability[o] * mon.transition[m.pair_class[pair], sm, am, next_sm]
                visible = mon.show[m.outcome_class[o], sm, am]
                for show, q in ((True, visible), (False, 1 - visible)):
                    key = (int(mdp.successor[o]), float(mdp.reward[o]), bool(mdp.terminates[o]),
                           next_sm, show)  # fmt: skip
                    expected[key] = expected.get(key, 0.0) + p * q
        assert set(found) <= set(expected)
        p_values.append(chi_square([found.get(k, 0) for k in expected], list(expected.values())))
    starts = [reset(tables, *u) for u in rng.random((1000, 2))]
    counts = np.zeros((mdp.n_states, mon.n_states))
    for se, sm in starts:
        counts[se, sm] += 1
    p_values.append(chi_square(counts.reshape(-1), m.start))
    # Seeds are fixed; with some 700 tests in all the threshold is far below what chance gives.
    assert min(p_values) > 1e-5, p_values


def test_the_chi_square_helper_can_fail():
    assert chi_square([100, 300], [0.5, 0.5]) < 1e-5
    with pytest.raises(AssertionError, match="impossible"):
        chi_square([100, 1], [1.0, 0.0])


def test_draws_at_the_edge_never_select_the_impossible():
    mdp = MDP.from_outcomes(
        [(0, 0, s, 0.1, 0.0, False, False) for s in range(10)]
        + [(s, 0, s, 1.0, 0.0, False, False) for s in range(1, 10)],
        name="ten", n_states=10, n_actions=1, start=[0.1] * 10,
    )  # fmt: skip
    monitor = Monitor(
        states=list("abc"), actions=["x"], start=[1.0, 0.0, 0.0],
        transition=[[[0.5, 0.5, 0.0]]] * 3, reward=np.zeros((3, 1)), show=np.ones((3, 1)),
    )  # fmt: skip
    tables = join(mdp, monitor).tables
    edge = np.nextafter(1.0, 0.0)
    assert step(tables, 0, 0, 0, 0, edge, edge, edge)[:2] == (9, 1)
    assert step(tables, 0, 0, 0, 0, 0.0, 0.0, 0.0)[:2] == (0, 0)
    assert reset(tables, edge, edge) == (9, 0)


def test_worlds_and_monitors_can_be_combined_freely():
    for world in worlds.registry:
        for monitor in monitors.registry:
            assert make(world, monitor).n_states > 0
