"""Guarantees: intervals, the worst that counts allow, and what is decided by them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import monmdp
from monmdp import MonMDPError, Policy, experiment, planning, worlds
from monmdp.planning.confidence import chance_bounds, mean_lower_bounds
from monmdp.planning.decision import safe_policy
from monmdp.planning.robust import _backup, _nature, lowest_possible, robust_value, uncertainty

MONITOR = {f"monitor_{of}": f"monitor_{of}" for of in ("state", "action", "reward")}


def fitted(world="loop", monitor="ask", rows=5000, seed=0, soft=0.5, **options):
    problem = monmdp.make(world, monitor)
    best = planning.minimax(problem).policy
    policy = Policy(problem.shape, (1 - soft) * best + soft / problem.n_actions)
    log = experiment.draw_log(problem, policy, rows=rows, seed=seed)
    given = {"r_min": problem.mdp.r_min, "r_max": problem.mdp.r_max} | MONITOR | options
    return problem, worlds.from_log(log, **given)


# ---- intervals ------------------------------------------------------------------------------


@given(n=st.integers(0, 500), share=st.floats(0, 1), delta=st.floats(1e-9, 0.5))
@settings(deadline=None)
def test_chances_lie_where_the_bet_against_them_is_not_won(n, share, delta):
    from math import lgamma, log

    k = round(share * n)
    (low,), (high,) = chance_bounds(np.array([k]), np.array([n]), delta)
    assert 0 <= low <= (k / n if n else 0.5) <= high <= 1

    def evidence(p):
        beta = lgamma(k + 0.5) + lgamma(n - k + 0.5) - lgamma(n + 1) - 2 * lgamma(0.5)
        terms = [(k, p), (n - k, 1 - p)]
        if any(m and q <= 0 for m, q in terms):
            return np.inf
        return beta - sum(m * log(q) for m, q in terms if m)

    for p, towards in ((low, -1), (high, 1)):
        if 1e-6 < p < 1 - 1e-6:
            assert evidence(p) == pytest.approx(-log(delta), rel=1e-3)
            assert evidence(p + 1e-3 * towards * min(p, 1 - p)) > -log(delta)


def test_chance_bounds_hold_at_every_moment():
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        p = rng.random()
        k = np.cumsum(rng.random(400) < p)
        low, high = chance_bounds(k, np.arange(1, 401), 0.1)
        wrong += bool(((p < low) | (p > high)).any())
    assert wrong <= 0.1 * 300


def test_mean_bounds_hold_at_every_moment_and_are_not_idle():
    rng = np.random.default_rng(1)
    draws = {
        "constant": lambda: np.full(200, 0.7),
        "coin": lambda: (rng.random(200) < 0.3).astype(float),
        "rare": lambda: 1.0 - (rng.random(200) < 0.05),
        "beta": lambda: rng.beta(2, 5, 200),
    }
    means = {"constant": 0.7, "coin": 0.3, "rare": 0.95, "beta": 2 / 7}
    for name, draw in draws.items():
        wrong, at_end = 0, []
        for _ in range(60):
            x = draw()
            moments = (10, 30, 60, 100, 150, 200)
            first = np.cumsum([0, *moments])
            value = np.concatenate([x[:n] for n in moments])
            low = mean_lower_bounds(first, value, np.ones(len(value), dtype=int), 0.1)
            wrong += bool((low > means[name]).any())
            at_end.append(low[-1])
        assert wrong <= 0.1 * 60, name
        assert means[name] - np.mean(at_end) < 0.12, name


@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=6),
    counts=st.lists(st.integers(1, 50), min_size=6, max_size=6),
)
@settings(deadline=None, max_examples=40)
def test_the_bound_of_a_mean_is_where_the_bets_are_just_won(values, counts):
    from monmdp.planning.confidence import BETS

    x, c = np.array(values), np.array(counts[: len(values)])
    (low,) = mean_lower_bounds(np.array([0, len(x)]), x, c, 0.05)
    assert 0 <= low <= (x * c).sum() / c.sum() + 1e-9

    def capital(m):
        return np.mean([np.prod((1 + bet * (x / m - 1)) ** c) for bet in BETS])

    if low > 1e-6:
        assert capital(low * (1 - 1e-6)) >= 1 / 0.05 * (1 - 1e-3)
    if low < 1 - 1e-6:
        assert capital(low + 1e-6) <= 1 / 0.05 * (1 + 1e-3)


# ---- nature ---------------------------------------------------------------------------------


@given(data=st.data(), n=st.integers(2, 6))
@settings(deadline=None, max_examples=50)
def test_nature_finds_the_worst_distribution(data, n):
    numbers = st.lists(st.floats(0, 1), min_size=n, max_size=n)
    p = np.array(data.draw(numbers)) + 1e-3
    p /= p.sum()
    low = p * np.array(data.draw(numbers))
    high = p + (1 - p) * np.array(data.draw(numbers))
    V = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n)))
    found = _nature(low, high, V[None])[0]
    best = linprog(V, A_eq=np.ones((1, n)), b_eq=[1], bounds=list(zip(low, high, strict=True)))
    assert found == pytest.approx(best.fun, abs=1e-7)


def test_a_robust_backup_is_the_linear_programme_of_every_pair():
    _, problem = fitted("river-swim", "full", rows=400)
    sets = uncertainty(problem, 0.1)
    rng = np.random.default_rng(0)
    S, A = problem.mdp.n_states, problem.mdp.n_actions
    V = rng.normal(size=(S, 1))
    Q = _backup(sets, 0.9, V).reshape(S, A)
    W = np.append(V[:, 0], 0.0)
    for pair in range(S * A):
        bounds = [(0.0, sets.other_high[pair] if sets.live[k] else 0.0) for k in range(S + 1)]
        for k in range(sets.first[pair], sets.first[pair + 1]):
            bounds[sets.symbol[k]] = (sets.low[k], sets.high[k])
        worst = linprog(W, A_eq=np.ones((1, S + 1)), b_eq=[1], bounds=bounds)
        expected = sets.reward[pair] + problem.monitor.reward[0, 0] + 0.9 * worst.fun
        assert Q.reshape(-1)[pair] == pytest.approx(expected, abs=1e-7)


def test_true_chances_and_means_lie_in_the_sets():
    inside = 0
    for seed in range(20):
        truth, problem = fitted("river-swim", "full", rows=2000, seed=seed)
        sets = uncertainty(problem, 0.05)
        where = [problem.mdp.state_labels.index(label) for label in truth.mdp.state_labels]
        good = True
        for s, a in np.ndindex(truth.mdp.n_states, truth.mdp.n_actions):
            pair, mine = s * truth.mdp.n_actions + a, where[s] * truth.mdp.n_actions + a
            chance = np.zeros(problem.mdp.n_states + 1)
            for o in range(truth.mdp.first[pair], truth.mdp.first[pair + 1]):
                chance[where[truth.mdp.successor[o]]] += truth.mdp.probability[o]
            high = np.full(len(chance), sets.other_high[mine])
            low = np.zeros(len(chance))
            k = slice(sets.first[mine], sets.first[mine + 1])
            low[sets.symbol[k]], high[sets.symbol[k]] = sets.low[k], sets.high[k]
            good &= bool(((low - 1e-12 <= chance) & (chance <= high + 1e-12)).all())
            good &= bool(sets.reward[mine] <= truth.mdp.mean_reward[s, a] + 1e-12)
        inside += good
    assert inside >= 19


def test_lower_bounds_rise_to_their_fixed_point_and_hold_on_the_way(monkeypatch):
    _, problem = fitted(rows=3000)
    sets = uncertainty(problem, 0.05)
    whole = robust_value(sets, 0.9)
    assert whole.converged
    monkeypatch.setattr("monmdp.planning.robust.MOST_SWEEPS", 5)
    early = robust_value(sets, 0.9)
    assert not early.converged
    assert early.lower_bound <= whole.lower_bound
    after = _backup(sets, 0.9, whole.values).max(axis=(2, 3))
    assert np.abs(after - whole.values).max() < 1e-4


def test_a_policy_is_worth_no_more_than_the_robust_one():
    _, problem = fitted(rows=3000)
    sets = uncertainty(problem, 0.05)
    best = robust_value(sets, 0.9)
    again = robust_value(sets, 0.9, best.policy)
    logged = robust_value(sets, 0.9, problem.evidence.logged_policy)
    assert again.lower_bound == pytest.approx(best.lower_bound, abs=1e-4)
    assert logged.lower_bound <= best.lower_bound + 1e-9


# ---- decisions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "monitor"),
    [("loop", "ask"), ("river-swim", "full"), ("treasure-hunter", "ask"), ("hazard", "button")],
)
def test_guarantees_hold_and_nobody_falls_below_the_log(world, monitor):
    truth = monmdp.make(world, monitor)
    worst = planning.worst_case(truth)
    for seed in range(8):
        _, problem = fitted(world, monitor, rows=4000, seed=seed)
        decision = planning.decide(problem, delta=0.05)
        for of in (decision.robust, decision.safe, decision.logged):
            true = planning.evaluate(worst, carried(of.policy, problem, truth)).value
            assert of.lower_bound <= true + 1e-6
            assert of.lower_bound <= of.estimate + 1e-6
        assert decision.robust.lower_bound >= decision.safe.lower_bound - 1e-6


def carried(policy, problem, truth):
    """[s, a] a policy of the fitted problem in the order of the true one."""
    return Policy(problem.shape, policy, names=problem.names).carried_over(truth).probability


def test_what_a_guarantee_lacks_is_the_sum_over_the_pairs():
    _, problem = fitted(rows=20_000)
    start = problem.mdp.state_labels[int(problem.mdp.start.argmax())]
    log = experiment.draw_log(problem, Policy.uniform(problem), rows=5000)
    decision = planning.decide(worlds.from_log(log, start=start, **MONITOR))
    best = decision.recommended
    lost = sum(of.lost for of in decision.needs)
    assert lost == pytest.approx(best.estimate - best.lower_bound, rel=1e-3)
    assert planning.decide(worlds.from_log(log, **MONITOR)).lost_at_start > 0.001
    assert [of.lost for of in decision.needs] == sorted(of.lost for of in decision.needs)[::-1]


def test_the_safe_policy_keeps_to_the_log_where_rows_are_few():
    _, problem = fitted(rows=3000)
    logged = problem.evidence.logged_policy
    for thin, free in ((10**6, 0), (1, 1)):
        policy = safe_policy(problem, 0.9, thin)
        if free:
            better = planning.evaluate(problem, policy, 0.9).value
            assert better > planning.evaluate(problem, logged, 0.9).value
        else:
            assert policy == pytest.approx(logged)
    # the best of its kind: every kept chance is the log's, and the rest is on one action
    policy = safe_policy(problem, 0.9, 30)
    shown = problem.evidence.shown
    thin = np.repeat(shown < 30, problem.monitor.n_actions, axis=1)
    kept = thin[np.arange(problem.mdp.n_states)]
    assert policy[kept] == pytest.approx(logged[kept])
    assert ((policy > 0) & ~kept).sum(axis=1).max() <= 1


def test_a_log_that_lives_on_rewards_nobody_saw_is_not_left_without_proof():
    """90 % of the rows do what pays 1 and is never shown, the others what pays 0.3 and is."""
    log = pd.DataFrame(
        {"episode": range(1000), "state": "s", "next_state": "end", "done": True,
         "action": ["good"] * 900 + ["meh"] * 100, "reward": [None] * 900 + [0.3] * 100}
    )  # fmt: skip
    decision = planning.decide(worlds.from_log(log, r_min=0, r_max=1))
    assert decision.robust.lower_bound > decision.logged.estimate
    assert decision.logged_at_most == pytest.approx(0.93)
    assert decision.recommended.name == "safe"
    assert not decision.certified
    good = decision.problem.mdp.find_action("good")
    assert decision.safe.policy[int(decision.problem.mdp.start.argmax()), good] == 0.9
    # where the most that it may be worth is less, there is proof
    actions = ["good"] * 100 + ["meh"] * 800 + ["best"] * 100
    rewards = [None] * 100 + [0.1] * 800 + [0.9] * 100
    known = log.assign(action=actions, reward=rewards)
    sure = planning.decide(worlds.from_log(known, r_min=0, r_max=1))
    assert sure.recommended.name == "robust"
    assert sure.certified


def test_an_end_is_worth_nothing_where_all_rewards_are_positive():
    log = pd.DataFrame({"episode": range(1000), "state": "s", "action": "x", "reward": 1.0,
                        "next_state": "end", "done": True})  # fmt: skip
    decision = planning.decide(worlds.from_log(log, r_min=0.5, r_max=2))
    for of in (decision.robust, decision.safe, decision.logged):
        assert 0.5 < of.lower_bound <= 1


@given(seed=st.integers(0, 10**6), r_min=st.sampled_from([-1.0, 0.0, 0.4]))
@settings(deadline=None, max_examples=15)
def test_sweeps_only_rise(seed, r_min):
    rng = np.random.default_rng(seed)
    n = 60
    log = pd.DataFrame(
        {"episode": rng.integers(0, 8, n), "state": rng.integers(0, 3, n).astype(str),
         "action": rng.integers(0, 2, n).astype(str), "reward": rng.uniform(r_min, 1, n),
         "next_state": rng.integers(0, 3, n).astype(str), "done": rng.random(n) < 0.2}
    )  # fmt: skip
    problem = worlds.from_log(log, r_min=r_min, r_max=1.0)
    sets = uncertainty(problem, 0.05)
    V = np.full((problem.mdp.n_states, 1), lowest_possible(problem, 0.9))
    for _ in range(5):
        after = _backup(sets, 0.9, V).max(axis=(2, 3))
        assert (after >= V - 1e-12).all()
        V = after


def test_a_start_that_is_given_says_nothing_of_the_monitor_s():
    truth = monmdp.make("hazard", "n-experts")
    log = experiment.draw_log(truth, Policy.uniform(truth), rows=300)
    start = truth.mdp.state_labels[int(truth.mdp.start.argmax())]
    known = uncertainty(worlds.from_log(log, start=start, **MONITOR), 0.05)
    assert (known.start_low == known.start_high).all()
    assert (known.monitor_start_low < known.monitor_start_high).all()


def test_nothing_is_certified_if_nobody_said_what_rewards_may_be():
    problem = monmdp.make("loop", "ask")
    best = planning.minimax(problem).policy
    policy = Policy(problem.shape, 0.7 * best + 0.3 / problem.n_actions)
    log = experiment.draw_log(problem, policy, rows=20_000)
    guessed = planning.decide(worlds.from_log(log, **MONITOR))
    told = planning.decide(worlds.from_log(log, r_min=0, r_max=1, **MONITOR))
    assert guessed.recommended.lower_bound == told.recommended.lower_bound
    assert (guessed.certified, told.certified) == (False, True)


def test_missing_at_worst_guarantees_less():
    _, random = fitted(rows=3000)
    _, worst = fitted(rows=3000, missing="worst")
    bounds = [planning.decide(of).robust.lower_bound for of in (worst, random)]
    assert bounds[0] < bounds[1]


def test_biased_hiding_breaks_random_and_not_worst():
    """Only good rewards are shown: the mean of those shown is 1, the truth is a half."""
    rng = np.random.default_rng(0)
    reward = rng.integers(0, 2, 4000).astype(float)
    log = pd.DataFrame(
        {"state": "s", "action": "x", "next_state": "end", "done": True,
         "reward": np.where(reward == 1, 1.0, np.nan)}
    )  # fmt: skip
    bounds = {
        missing: planning.decide(
            worlds.from_log(log, episode=None, r_min=0, r_max=1, missing=missing)
        ).robust.lower_bound
        for missing in ("random", "worst")
    }
    assert bounds["worst"] <= 0.5 < bounds["random"]


def test_it_says_when_it_says_nothing():
    _, problem = fitted("river-swim", "full", rows=40)
    decision = planning.decide(problem)
    assert decision.says_nothing
    assert not decision.certified
    told = decision.to_dict()
    assert told["says_nothing"] is True
    assert told["recommended"] == "safe"


def test_of_a_log_only_what_was_tried_and_never_seen_can_be_made_visible():
    log = pd.DataFrame(
        {"episode": range(4), "state": ["a", "a", "b", "b"], "action": ["x", "y", "x", "x"],
         "reward": [1.0, None, 0.5, None], "next_state": "end", "done": True}
    )  # fmt: skip
    problem = worlds.from_log(log, r_min=0, r_max=2)
    found = planning.instrument(problem, budget=5)
    assert [of.name for of in found.candidates] == ["a:y"]  # b:y was never tried
    assert found.gain == pytest.approx(0.5)  # a:y may pay 2 instead of 1, half of the time
    with pytest.raises(MonMDPError, match="nobody knows"):
        planning.instrument(problem, budget=5, assume="truth")
    with pytest.raises(MonMDPError, match="instrument"):
        planning.what_if(planning.solve(problem))


def test_wrong_questions_are_refused():
    problem = monmdp.make("loop", "ask")
    with pytest.raises(MonMDPError, match="fitted from a log"):
        planning.decide(problem)
    _, good = fitted(rows=200)
    for options, said in (
        ({"delta": 0}, "delta must lie in"),
        ({"gamma": 1.0}, "below 1"),
        ({"thin": 0}, "thin must be a whole number of at least 1"),
    ):
        with pytest.raises(MonMDPError, match=said):
            planning.decide(good, **options)
    assert lowest_possible(good, 0.5) <= 0
