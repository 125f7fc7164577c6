"""Exact planning against analytic values, dense textbook solvers, Monte Carlo and each other."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import (
    MONITORS,
    WORLDS,
    by_hand,
    dense_optimal_values,
    dense_policy_values,
    observability_by_hand,
    one_in,
    random_monmdp,
    seeds,
    worst_by_hand,
)
from monmdp import MDP, Monitor, MonMDPError, join, make, planning, worlds
from monmdp.model.dynamics import reset, step
from monmdp.planning import elimination, kernels, solution
from monmdp.planning.policy_evaluation import from_start
from monmdp.planning.policy_iteration import optimal
from monmdp.planning.progress import SILENT

SPEC = {
    "empty": 0.9044, "hazard": 0.9135, "bottleneck": 0.9044, "loop": 0.9606, "one-way": 0.7636,
    "corridor": 0.8262, "two-room-3x5": 0.9227, "two-room-2x11": 0.9415,
}  # fmt: skip


@pytest.mark.parametrize("monitor", ["full", "ask", "full-random", "level-up", "n-experts"])
@pytest.mark.parametrize("world", SPEC)
def test_the_reference_values(world, monitor):
    solution = planning.solve(make(world, monitor))
    assert solution.value == pytest.approx(SPEC[world], abs=5e-5)
    assert solution.episode_return == pytest.approx(SPEC[world], abs=5e-5)
    assert solution.minimax.converged


def test_the_other_reference_values():
    button = planning.solve(make("bottleneck", "button", rho=0.05))
    assert button.value == pytest.approx(0.1943, abs=5e-5)
    assert button.rho == 0.05
    river = planning.solve(make("river-swim", "full"))
    assert river.episode_return == pytest.approx(20.0, abs=0.05)
    assert river.value > river.episode_return + 1
    for world, value in SPEC.items():
        supporters = planning.solve(make(world, "n-supporters"))
        steps = round(np.log(supporters.value) / np.log(0.99)) + 30
        assert 0 < supporters.value - value < 0.001 * steps


def test_values_by_hand():
    # Bottleneck: ten moves to the chest, and STAY there pays γ^10. With the button ON one walks six
    # steps to the button's cell and pushes it on the seventh, at 0.2 a step; from there it is ten
    # moves to the chest again.
    assert planning.solve(make("bottleneck", "ask")).value == pytest.approx(0.99**10)
    paid = -0.2 * sum(0.99**t for t in range(7))
    on = paid + 0.99**7 * 0.99**10
    assert planning.solve(make("bottleneck", "button")).value == pytest.approx(
        (0.99**10 + on) / 2, abs=1e-9
    )
    # River Swim, always LEFT: s steps to state 0, where 0.01 is paid for ever.
    left = np.zeros((6, 2))
    left[:, 0] = 1
    values = planning.evaluate(make("river-swim", "full"), left).values
    assert values == pytest.approx([0.99**s * 0.01 / 0.01 for s in range(6)])


@pytest.mark.parametrize(("world", "monitor"), one_in(5, product(WORLDS, MONITORS)))
def test_planners_agree_with_dense_textbook_solvers(world, monitor):
    m = make(world, monitor, rho=0.3)
    worst = planning.worst_case(m)
    assert (worst.mdp.reward == worst_by_hand(m).mdp.reward).all()
    for problem in (m, worst):
        plan = optimal(problem)
        expected = dense_optimal_values(problem, 0.99)
        assert np.abs(plan.values - expected).max() < 1e-8
        assert plan.converged
        P, R, _ = by_hand(problem)
        Q = R + 0.99 * P @ expected
        assert np.abs(plan.action_values() - Q).max() < 1e-8
        assert (plan.greedy == (Q.max(axis=1, keepdims=True) - 1e-9 <= Q)).all()
        limit = problem.mdp.time_limit
        for horizon in (None, limit):
            mine = planning.evaluate(problem, plan.policy, horizon=horizon).values
            theirs = dense_policy_values(problem, plan.policy, 0.99, horizon)
            assert np.abs(mine - theirs).max() < 1e-8


@given(seeds, st.sampled_from([0.0, 0.3, 0.9, 0.99, 0.999, 0.9999]))
@settings(max_examples=150)
def test_random_models_agree_with_dense_textbook_solvers(seed, gamma):
    m = random_monmdp(seed)
    plan = optimal(m, gamma)
    expected = dense_optimal_values(m, gamma)
    scale = max(1.0, np.abs(expected).max())
    assert np.abs(plan.values - expected).max() < 1e-8 * scale
    assert plan.converged
    assert np.abs(plan.values - expected).max() <= plan.error_bound + 1e-9 * scale
    policy = np.random.default_rng(seed).dirichlet(np.ones(m.n_actions), size=m.n_states)
    for horizon in (None, 0, 1, 13):
        mine = planning.evaluate(m, policy, gamma, horizon=horizon)
        theirs = dense_policy_values(m, policy, gamma, horizon)
        assert np.abs(mine.values - theirs).max() < 1e-8 * scale
        assert mine.converged
    assert planning.evaluate(m, plan.policy, gamma).value == pytest.approx(
        plan.value, abs=1e-6 * scale
    )


@given(seeds)
def test_no_policy_beats_the_optimal_one_and_seeing_more_never_hurts(seed):
    m = random_monmdp(seed)
    solution = planning.solve(m, 0.9)
    rng = np.random.default_rng(seed)
    policy = rng.dirichlet(np.ones(m.n_actions), size=m.n_states)
    worst = planning.worst_case(m, solution.seen)
    assert planning.evaluate(worst, policy, 0.9).value <= solution.value + 1e-9
    assert solution.price >= -1e-9
    assert solution.value <= solution.optimal_value + 1e-9
    if solution.solvable:
        assert solution.price == 0
        assert solution.value == solution.optimal_value
    answers = planning.what_if(solution)
    together = planning.gain_of_all(solution)
    assert all(0 <= answer.gain <= together + 1e-9 for answer in answers)
    assert together == pytest.approx(solution.optimal_value - solution.value, abs=1e-7)
    for answer in answers[:2]:  # against a solve from scratch
        never = solution.seen.never_observable.copy()
        never[answer.state, answer.action] = False
        changed = m.with_mdp(m.mdp.with_rewards(never, m.mdp.r_min))
        gain = dense_optimal_values(changed, 0.9) @ m.start - solution.value
        assert answer.gain == pytest.approx(gain, abs=1e-7)


@given(seeds)
def test_observability_is_what_the_definitions_say(seed):
    m = random_monmdp(seed)
    never, rho, reached = observability_by_hand(m)
    seen = planning.observability(m)
    assert (seen.never_observable == never).all()
    assert (seen.reachable.reshape(-1) == reached).all()
    assert seen.rho == (None if rho is None else pytest.approx(rho))
    assert seen.solvable == (not never.any())


@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("world", WORLDS)
def test_observability_of_every_registry_entry(world, monitor):
    m = make(world, monitor, rho=0.3)
    never, rho, _ = observability_by_hand(m)
    seen = planning.observability(m)
    assert (seen.never_observable == never).all()
    assert seen.rho == (None if rho is None else pytest.approx(rho))
    assert len(seen.never_observable_pairs) == never.sum()


def test_never_observable_is_by_joint_reachability():
    # The monitor shows rewards only while ON, and it is ON only at the start: the pairs of state 1
    # are visible on paper, but never from where one can be.
    mdp = MDP.from_outcomes(
        [(0, 0, 1, 1.0, 0.5, False, False), (1, 0, 1, 1.0, 0.0, False, False)],
        name="two", n_states=2, n_actions=1, start=[1.0, 0.0], r_min=-3,
    )  # fmt: skip
    fading = Monitor(
        states=["OFF", "ON"], actions=["-"], start=[0.0, 1.0],
        transition=[[[1.0, 0.0]], [[1.0, 0.0]]], reward=[[0.0], [0.0]], show=[[0.0], [1.0]],
    )  # fmt: skip
    m = join(mdp, fading)
    assert m.observability().tolist() == [[0.0], [1.0], [0.0], [1.0]]
    seen = planning.observability(m)
    assert seen.never_observable.tolist() == [[False], [True]]
    assert planning.solve(m, 0.5).value == pytest.approx(0.5 - 3)


def test_waiting_lets_the_monitor_move():
    # The agent never leaves its only state; the monitor turns ON by itself.
    mdp = MDP.from_outcomes(
        [(0, 0, 0, 1.0, 1.0, False, False)], name="one", n_states=1, n_actions=1, start=[1.0]
    )
    waking = Monitor(
        states=["OFF", "ON"], actions=["-"], start=[1.0, 0.0],
        transition=[[[0.9, 0.1]], [[0.0, 1.0]]], reward=[[0.0], [0.0]], show=[[0.0], [1.0]],
    )  # fmt: skip
    assert planning.observability(join(mdp, waking)).solvable


def test_nothing_is_ever_shown():
    solution = planning.solve(make("bottleneck", "ask", rho=0.0))
    assert solution.rho is None
    assert not solution.solvable
    assert solution.seen.never_observable.all()
    assert len(planning.what_if(solution)) == 180


def test_the_worst_case_keeps_what_is_shown():
    # Under Semi-Random what is shown depends on the reward's value. M↓ changes rewards, but it is
    # not a new world: labels must stay.
    m = make("treasure-hunter", "semi-random", hide=1.0)
    worst = planning.worst_case(m)
    assert (worst.outcome_class == m.outcome_class).all()
    assert (
        planning.observability(worst).never_observable == planning.observability(m).never_observable
    ).all()


def test_what_if_tells_what_is_worth_instrumenting():
    text = "start: 0,1\nr_min: -10\ntile x: stay 5 hidden\ntile y: stay 3 hidden\n---\nx.y"
    m = make(worlds.grid_world(text), "ask")
    solution = planning.solve(m)
    gains = {(a.state, a.action): a.gain for a in planning.what_if(solution)}
    # One step aside and STAY: 5γ and 3γ; being seen while walking onto the cell does not help.
    assert gains[(0, 4)] == pytest.approx(0.0)
    # From the cell itself, STAY is all there is to see.
    inside = planning.solve(make(worlds.grid_world(text.replace("0,1", "0,0")), "ask"))
    best = planning.what_if(inside)[0]
    assert (best.state, best.action) == (0, 4)
    assert best.gain == pytest.approx(5 - inside.value)
    both = planning.gain_of_all(solution)
    assert both == pytest.approx(solution.optimal_value - solution.value)
    assert solution.optimal_value == pytest.approx(5 * 0.99)
    with pytest.raises(MonMDPError, match="can be seen already"):
        planning.what_if(solution, [(1, 4)])


def test_semi_random_bias_is_reported():
    biased = planning.biased_pairs(make("river-swim", "semi-random"))
    assert [(b.state, b.action) for b in biased] == [(5, 1)]
    assert biased[0].shown_mean == pytest.approx(3 / 7)
    assert biased[0].mean == pytest.approx(0.6)
    hazard = planning.biased_pairs(make("hazard", "semi-random"))
    assert [round(b.shown_mean, 3) for b in hazard] == [-0.526]
    for world in WORLDS:
        assert planning.biased_pairs(make(world, "ask", rho=0.5)) == []
    slippery = make(worlds.grid_world("start: 0,0\n---\n.?\n..", slip=0.1), "ask")
    assert planning.biased_pairs(slippery)


@pytest.mark.slow
def test_monte_carlo_agrees_within_its_error():
    for world, monitor in (
        ("bottleneck", "button"),
        ("river-swim", "n-supporters"),
        ("hazard", "ask"),
    ):
        m = make(world, monitor)
        rng = np.random.default_rng(1)
        policy = rng.dirichlet(np.full(m.n_actions, 0.3), size=m.n_states)
        horizon = 20
        returns = []
        for _ in range(1500):
            se, sm = reset(m.tables, *rng.random(2))
            total = 0.0
            for t in range(horizon):
                s = int(m.joint_state(se, sm))
                ae, am = m.split_action(rng.choice(m.n_actions, p=policy[s]))
                se, sm, re, rm, _, end = step(m.tables, se, sm, int(ae), int(am), *rng.random(3))
                total += 0.95**t * (re + rm)
                if end:
                    break
            returns.append(total)
        exact = planning.evaluate(m, policy, 0.95, horizon=horizon).value
        error = np.std(returns) / np.sqrt(len(returns))
        assert abs(np.mean(returns) - exact) < 4.5 * error


def test_slow_and_direct_evaluation_agree(monkeypatch):
    m = make("river-swim", "button")
    policy = np.full((m.n_states, m.n_actions), 1 / m.n_actions)
    direct = planning.evaluate(m, policy, 0.999)
    direct_plan = optimal(m, 0.999)
    monkeypatch.setattr(elimination, "MOST_WORK", 0)
    m = make("river-swim", "button")
    assert np.allclose(planning.evaluate(m, policy, 0.999).values, direct.values, atol=1e-7)
    iterative = optimal(m, 0.999)
    assert iterative.converged
    assert np.allclose(iterative.values, direct_plan.values, atol=1e-7)


def test_value_iteration_takes_over_where_policy_iteration_does_not_settle(monkeypatch):
    from monmdp.planning import policy_iteration as module

    monkeypatch.setattr(module, "MOST_ROUNDS", 0)  # of exact rounds, too
    m = make("bottleneck", "level-up", slip=0.2)
    plan = optimal(m)
    assert plan.converged
    assert np.abs(plan.values - dense_optimal_values(m, 0.99)).max() < 1e-8


def test_giving_up_is_said():
    m = make(worlds.make("river-swim", length=200), "button")
    plan = optimal(m, 0.99999, max_sweeps=3)
    assert not plan.converged
    assert plan.error_bound > 1e-3


@pytest.mark.parametrize("gamma", [1.01, -0.1, 1.5, float("nan"), "x", None])
def test_bad_discounts(gamma):
    for call in (optimal, planning.solve):
        with pytest.raises(MonMDPError, match="gamma"):
            call(make("loop", "ask"), gamma)


def test_bad_policies_are_named():
    m = make("bottleneck", "button")
    with pytest.raises(MonMDPError, match=r"shape \[s, a\] = \(72, 5\) expected"):
        planning.evaluate(m, np.ones((3, 3)))
    policy = np.full((72, 5), 0.2)
    policy[9, 0] = 0.5
    with pytest.raises(MonMDPError, match=r"joint state 9 .*state '0,4', monitor 'ON'"):
        planning.evaluate(m, policy)
    policy[9, 0] = np.nan
    with pytest.raises(MonMDPError, match="joint state 9"):
        planning.evaluate(m, policy)
    with pytest.raises(MonMDPError, match="tol"):
        optimal(m, tol=0)
    with pytest.raises(MonMDPError, match="horizon"):
        planning.evaluate(m, np.full((72, 5), 0.2), horizon=-1)


def test_no_time_limit_means_no_cut():
    m = make("gymnasium:CliffWalking-v1", "full")
    solution = planning.solve(m)
    assert m.mdp.time_limit is None
    assert solution.episode_return == solution.value


def test_a_large_maze_is_planned_without_joint_arrays():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((120, 120)) < 0.25, "#", ".")
    rows[0, 0], rows[-1, -1] = "@", "$"
    text = "\n".join("".join(row) for row in rows)
    m = make(worlds.grid_world("button: 0,0 LEFT\n---\n" + text, slip=0.1), "n-experts", n=8)
    plan = optimal(m)
    assert m.n_states > 80_000
    assert plan.converged
    # The Bellman equation holds at random states, checked from the tables by hand.
    V = plan.values.reshape(m.mdp.n_states, -1)
    mdp, mon = m.mdp, m.monitor
    for se in rng.integers(mdp.n_states, size=20):
        sm = int(rng.integers(mon.n_states))
        best = -np.inf
        for ae in range(mdp.n_actions):
            pair = se * mdp.n_actions + ae
            for am in range(mon.n_actions):
                q = mon.reward[sm, am]
                for o in range(mdp.first[pair], mdp.first[pair + 1]):
                    after = (
                        0.0
                        if mdp.terminates[o]
                        else mon.transition[0, sm, am] @ V[mdp.successor[o]]
                    )
                    q += mdp.probability[o] * (mdp.reward[o] + 0.99 * after)
                best = max(best, q)
        assert V[se, sm] == pytest.approx(best, abs=1e-9)


def test_rounding_does_not_keep_the_planner_busy():
    # A corridor with a button at one end and the goal at the other: with γ = 0.999 no policy's
    # values are exact enough for the residual that is asked for.
    text = f"button: 0,0 STAY\n---\n@{'.' * 60_000}$"
    corridor = make(worlds.grid_world(text, name="corridor", slip=0.1), "button")
    plan = optimal(corridor, 0.999)
    assert plan.converged
    assert plan.sweeps < 150
    values = planning.evaluate(corridor, plan.policy, 0.999).values
    assert np.abs(values - plan.values).max() < 1e-5


@given(seeds, st.sampled_from([0.0, 0.9, 1.0]), st.integers(0, 40))
@settings(max_examples=30, deadline=None)
def test_following_a_policy_from_the_start_is_backward_induction(seed, gamma, steps):
    problem = random_monmdp(seed)
    rng = np.random.default_rng(seed)
    policy = rng.dirichlet(np.full(problem.n_actions, 0.3), problem.n_states)
    forwards = from_start(problem, policy, gamma, steps, 1e-10, SILENT)
    backwards = planning.evaluate(problem, policy, gamma, horizon=steps).value
    assert forwards == pytest.approx(backwards, abs=1e-9)


def test_where_many_steps_are_left_solve_follows_the_policy(monkeypatch):
    problem = make("two-room-3x5", "button")
    backwards = planning.solve(problem)
    monkeypatch.setattr(solution, "MANY", 0)
    monkeypatch.setattr(solution, "evaluate", None)  # it goes another way
    forwards = planning.solve(problem)
    assert forwards.episode_return == pytest.approx(backwards.episode_return, abs=1e-9)


def test_what_is_unlikely_is_lost_within_the_tolerance(monkeypatch):
    world = worlds.grid_world("@" + "." * 300 + "$", name="corridor", slip=0.3)
    problem = make(world, "ask")
    plan, touched = optimal(problem, 0.999), {}
    follow = kernels._follow

    def followed(*args):
        total, n_here = follow(*args)
        touched[tol] = max(touched.get(tol, 0), n_here)
        return total, n_here

    monkeypatch.setattr(kernels, "_follow", followed)
    exact = planning.evaluate(problem, plan.policy, 0.999, horizon=200).value
    for tol in (1e-14, 1e-2):
        found = from_start(problem, plan.policy, 0.999, 200, tol, SILENT)
        assert abs(found - exact) <= tol
    assert touched[1e-2] < touched[1e-14]


def test_values_that_floating_point_cannot_hold_are_refused():
    mdp = worlds.from_tables(np.ones((1, 1, 1)), [[1e250]], layout="sas")
    with pytest.raises(MonMDPError, match="too large"):
        optimal(make(mdp, "full"))


def test_bad_starting_values_are_refused():
    m = make("loop", "ask")
    for values in (np.full(9, np.nan), np.zeros(4), "x", [[1], [2, 3]]):
        with pytest.raises(MonMDPError, match="start_from"):
            optimal(m, start_from=values)
        with pytest.raises(MonMDPError, match="start_from"):
            planning.evaluate(m, np.full((9, 10), 0.1), start_from=values)


def test_planning_wants_a_finished_problem():
    for call in (planning.solve, planning.optimal, planning.observability):
        with pytest.raises(MonMDPError, match="a MonMDP expected, got 'bottleneck'"):
            call("bottleneck")
    with pytest.raises(MonMDPError, match="a MonMDP expected"):
        planning.evaluate(worlds.make("loop"), np.ones((9, 5)) / 5)


@given(seeds)
@settings(max_examples=60)
def test_large_values_keep_their_ties(seed):
    """Ties are judged within what the values are good for, also where these are large."""
    m = random_monmdp(seed)
    mdp = m.mdp
    large = m.with_mdp(dataclasses.replace(mdp, reward=1e4 * mdp.reward, r_min=-1e5, r_max=1e5))
    plan = optimal(large, 0.999)
    exact = dense_optimal_values(large, 0.999)
    P, R, _ = by_hand(large)
    Q = R + 0.999 * P @ exact
    clearly_best = Q.max(axis=1, keepdims=True) - 1e-10 <= Q
    assert (plan.greedy >= clearly_best).all()
    assert plan.converged


def test_graphs_without_structure_do_not_fill_up_memory():
    rng = np.random.default_rng(0)
    n, actions, k = 4000, 3, 4
    rows = n * actions * k
    mdp = MDP.from_columns(
        np.repeat(np.arange(n), actions * k), np.tile(np.repeat(np.arange(actions), k), n),
        rng.integers(n, size=rows), np.full(rows, 1 / k),
        np.repeat(rng.normal(size=n * actions), k),
        np.zeros(rows, bool), np.zeros(rows, bool), name="random", n_states=n, n_actions=actions,
        start=np.full(n, 1 / n),
    )  # fmt: skip
    plan = optimal(make(mdp, "ask"), 0.999)
    assert plan.converged
    assert plan.sweeps < 1000


@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("world", ["bottleneck", "river-swim", "hazard"])
def test_compiled_and_plain_kernels_agree_to_the_bit(world, monitor, monkeypatch):
    def run(spent):
        monkeypatch.setattr(kernels.Kernel, "spent", spent)
        m = make(world, monitor, rho=0.3, time_limit=30)
        solution = planning.solve(m, 0.97)
        again = planning.evaluate(m, solution.minimax.policy, 0.97)
        return (
            solution.minimax.values, solution.minimax.greedy, solution.minimax.sweeps, again.values,
            solution.episode_return, solution.seen.reachable, solution.price,
        )  # fmt: skip

    plain, compiled = run(-np.inf), run(np.inf)
    for a, b in zip(plain, compiled, strict=True):
        assert np.array_equal(a, b)


def test_large_arrays_and_lost_patience_compile(monkeypatch):
    used = []
    kernel = kernels.Kernel(lambda array: used.append("plain") or array.sum())
    compiled = lambda array: used.append("compiled") or array.sum()  # noqa: E731
    monkeypatch.setattr(kernels, "compiled", lambda _: compiled)
    monkeypatch.setattr(kernels.Kernel, "spent", 0.0)
    kernel(np.ones(3))
    kernel(np.ones(kernels.SMALL + 1))
    monkeypatch.setattr(kernels.Kernel, "spent", 2 * kernels.PATIENCE)
    kernel(np.ones(3))
    assert used == ["plain", "compiled", "compiled"]
