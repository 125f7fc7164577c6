"""Eliminating states one by one, against dense linear algebra and plain sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import dense_optimal_values, dense_policy_values, random_monmdp, seeds
from monmdp import make, planning, worlds
from monmdp.planning import kernels, policy_iteration
from monmdp.planning.elimination import Elimination, ExactValues, solution
from monmdp.planning.factors import factors, moves
from monmdp.planning.kernels import ChosenActions, News
from monmdp.planning.policy_evaluation import _policy_system, checked_policy
from monmdp.planning.policy_iteration import optimal

SLIPPERY = worlds.grid_world("button: 0,0 LEFT\n---\n@.#.\n..#.\n.#..\n...$", name="s", slip=0.2)


def structure_of(m):
    structure = Elimination(m).within(np.inf)
    assert structure is not None
    return structure


def leads_to(m):
    """[sᵉ] the states that some action leads to or that lead here, without itself."""
    n = len(m.stay) // m.n_env_actions
    around = [set() for _ in range(n)]
    for pair in range(len(m.stay)):
        for s in m.successor[m.first[pair] : m.first[pair + 1]]:
            around[pair // m.n_env_actions].add(int(s))
            around[s].add(pair // m.n_env_actions)
    return around


@given(seeds)
def test_neighbours_are_those_of_the_graph(seed):
    m = factors(random_monmdp(seed))
    around = leads_to(m)
    begin, count = np.empty(len(around), dtype=np.int64), np.empty(len(around), dtype=np.int64)
    listed = np.empty(2 * len(m.successor), dtype=np.int32)
    kernels._neighbours(m.first, m.successor, m.n_env_actions, begin, count, listed)
    for s, expected in enumerate(around):
        found = listed[begin[s] : begin[s] + count[s]].tolist()
        assert len(found) == len(expected)
        assert set(found) == expected


@given(seeds)
def test_the_structure_is_what_eliminating_in_that_order_makes(seed):
    m = factors(random_monmdp(seed))
    structure = structure_of(m)
    around = leads_to(m)
    assert sorted(structure.position) == list(range(len(around)))
    assert np.array_equal(structure.position[structure.state], np.arange(len(around)))
    for i, s in enumerate(structure.state):
        later = structure.later[structure.first[i] : structure.first[i + 1]]
        assert later.tolist() == sorted(int(structure.position[t]) for t in around[s])
        for t in around[s]:
            around[t] |= around[s]
            around[t] -= {s, t}


def test_states_with_few_neighbours_come_first_and_corridors_cost_nothing():
    chain = factors(make(worlds.make("river-swim", length=50), "full"))
    structure = structure_of(chain)
    assert np.diff(structure.first).max() == 1


@given(seeds, st.sampled_from([0.5, 0.99, 0.9999]))
def test_any_policy_is_evaluated_exactly(seed, gamma):
    monmdp = random_monmdp(seed)
    m = factors(monmdp)
    rng = np.random.default_rng(seed)
    policy = rng.dirichlet(np.ones(monmdp.n_actions), size=monmdp.n_states)
    joint = checked_policy(monmdp, policy)
    system = _policy_system(m, gamma, joint, eliminate=True)
    y = solution(structure_of(m), system, len(m.row))
    n_se, n_sm = joint.shape[:2]
    values = dense_policy_values(monmdp, policy, gamma).reshape(n_se, n_sm)
    assert np.allclose(y, (values @ m.row.T).reshape(-1), rtol=1e-9, atol=1e-9)


@given(seeds)
@settings(max_examples=50)
def test_after_a_change_of_mind_only_what_is_affected_is_done_again(seed):
    monmdp = random_monmdp(seed)
    m = factors(monmdp)
    n_se, n_sm, n_ae, n_am = monmdp.shape
    rng = np.random.default_rng(seed)
    structure = structure_of(m)
    again = ExactValues(structure, moves(m), m.row, 0.97)
    Y = np.zeros((n_se, len(m.row)))
    news = News(np.ones(n_se, dtype=np.bool_), np.zeros(n_se), np.zeros(n_se))
    pair, row = np.zeros((n_se, n_sm), dtype=np.int32), np.zeros((n_se, n_sm), dtype=np.int32)
    choice = ChosenActions(pair, row, np.zeros((n_se, n_sm)))
    for _ in range(4):
        before = Y.copy()
        for se in np.flatnonzero(news.changed):
            for sm in range(n_sm):
                ae, am = rng.integers(n_ae), rng.integers(n_am)
                pair[se, sm] = se * n_ae + ae
                row[se, sm] = m.row_of[m.pair_class[pair[se, sm]], sm, am]
                choice.reward[se, sm] = m.env_reward[pair[se, sm]] + m.monitor_reward[sm, am]
        for _ in again.find(choice, news, Y):
            pass
        assert not news.changed.any()
        assert np.allclose(news.shift, np.abs(Y - before).max(axis=1))
        everything = News(np.ones(n_se, dtype=np.bool_), np.zeros(n_se), np.zeros(n_se))
        anew = np.zeros_like(Y)
        for _ in ExactValues(structure, moves(m), m.row, 0.97).find(choice, everything, anew):
            pass
        assert np.allclose(Y, anew, rtol=1e-11, atol=1e-11)
        V = np.empty((n_se, n_sm))
        kernels._chosen_values(moves(m), 0.97, choice, Y, V)
        assert np.allclose(V @ m.row.T, Y, rtol=1e-10, atol=1e-10)
        news.changed[rng.random(n_se) < 0.3] = True


@given(seeds, st.sampled_from([0.3, 0.9, 0.99, 0.9999]), st.booleans())
@settings(max_examples=100)
def test_exact_rounds_agree_with_dense_textbook_solvers(seed, gamma, guessed):
    monmdp = random_monmdp(seed)
    start = None if guessed else np.random.default_rng(seed).normal(size=monmdp.n_states)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy_iteration, "expected_sweeps", lambda _: np.inf)
        plan = optimal(monmdp, gamma, start_from=start)
    assert plan.converged
    truth = dense_optimal_values(monmdp, gamma)
    assert np.abs(plan.values - truth).max() <= 1e-8 * max(1.0, np.abs(truth).max())


@pytest.mark.parametrize("monitor", ["full", "button", "level-up", "n-experts"])
def test_sweeps_and_elimination_agree(monitor, monkeypatch):
    exact = optimal(make(SLIPPERY, monitor), 0.99)
    monkeypatch.setattr(policy_iteration, "expected_sweeps", lambda _: 0.0)
    swept = optimal(make(SLIPPERY, monitor), 0.99)
    assert exact.converged
    assert swept.converged
    assert exact.sweeps < swept.sweeps
    assert np.allclose(exact.values, swept.values, atol=1e-9)
    assert np.array_equal(exact.greedy, swept.greedy)


def test_a_search_for_the_order_that_was_stopped_goes_on():
    m = factors(make(SLIPPERY, "button"))
    elimination = Elimination(m)
    assert elimination.within(0.5) is None
    assert elimination.within(2) is None
    in_steps, at_once = elimination.within(np.inf), structure_of(m)
    assert all(np.array_equal(a, b) for a, b in zip(in_steps, at_once, strict=True))
    assert elimination.within(0.5) is None  # known by now, but no cheaper


def test_large_parts_are_cut(monkeypatch):
    whole = optimal(make(SLIPPERY, "level-up"), 0.99)
    from monmdp.planning import elimination

    monkeypatch.setattr(elimination, "AT_ONCE", 5)
    monkeypatch.setattr(policy_iteration, "AT_ONCE", 40)
    cut = optimal(make(SLIPPERY, "level-up"), 0.99)
    assert np.array_equal(whole.values, cut.values)
    assert whole.sweeps == cut.sweeps


def test_starting_from_nonsense_ends_well():
    m = make(worlds.make("river-swim", length=60), "button")
    truth = optimal(m, 0.99)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e6):
        plan = optimal(m, 0.99, start_from=scale * rng.normal(size=m.n_states))
        assert plan.converged
        assert np.allclose(plan.values, truth.values, atol=1e-8)


def test_evaluation_by_elimination_and_by_sweeps(monkeypatch):
    m = make(worlds.make("river-swim", length=60), "button")
    policy = np.full((m.n_states, m.n_actions), 1 / m.n_actions)
    exact = planning.evaluate(m, policy, 0.9999)
    assert exact.converged
    assert np.allclose(exact.values, dense_policy_values(m, policy, 0.9999), rtol=1e-9)


@pytest.mark.parametrize("monitor", ["n-experts", "button", "level-up"])
@pytest.mark.parametrize("patience", [np.inf, 0.0], ids=["plain", "compiled"])
def test_whether_the_number_of_rows_is_known_makes_no_difference(monitor, patience, monkeypatch):
    monkeypatch.setattr(kernels, "PATIENCE", patience)
    monkeypatch.setattr(kernels.Kernel, "spent", 1.0)
    known = optimal(make(SLIPPERY, monitor), 0.99)
    monkeypatch.setattr(kernels, "FEW_ROWS", 0)
    unknown = optimal(make(SLIPPERY, monitor), 0.99)
    assert known.sweeps == unknown.sweeps
    assert np.allclose(known.values, unknown.values, rtol=1e-13, atol=1e-13)


def test_few_rows_are_counted_by_a_tuple():
    assert [len(kernels.few_rows(n)) for n in (1, 2, 4, 5, 60)] == [1, 2, 4, 0, 0]


@pytest.mark.parametrize("monitor", ["n-experts", "button", "level-up"])
def test_values_that_say_little_cost_little(monitor):
    m = make(worlds.make("river-swim", length=200), monitor)
    guessed = optimal(m, 0.99)
    noise = np.random.default_rng(0).normal(size=m.n_states)
    for start in (0 * noise, guessed.values + 0.1 * noise, guessed.values + 1e-4 * noise):
        plan = optimal(m, 0.99, start_from=start)
        assert plan.converged
        assert np.allclose(plan.values, guessed.values, atol=1e-9)
        assert plan.sweeps <= guessed.sweeps + 4
    assert optimal(m, 0.99, start_from=guessed.values).sweeps < guessed.sweeps
