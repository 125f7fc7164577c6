"""Statistics against closed forms, worked examples, simulations and rliable."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from arch.bootstrap import IIDBootstrap
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from rliable import library, metrics
from scipy import stats

from monmdp import MonMDPError
from monmdp.stats import (
    Interval,
    area,
    bootstrap,
    contrast,
    end,
    half_width,
    iqm,
    iqm_curve,
    mean_interval,
    median_time,
    performance_profile,
    probability_of_improvement,
    restricted_mean,
    smooth,
    stays_from,
    steps_to,
    steps_to_v_bootstrap,
    survival,
    welch,
)

numbers = st.floats(-100, 100).map(lambda x: round(x, 3))
groups = arrays(np.float64, st.integers(2, 12), elements=numbers)
ties = st.sampled_from([0.0, 1.0, 2.0])
shapes = array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=5)
shifts, scales = st.floats(-50, 50), st.floats(0.1, 10)


def generator():
    return np.random.default_rng(0)


def approx(interval, rel=1e-9, abs_=1e-9):
    return pytest.approx(tuple(interval), rel=rel, abs=abs_)


# Curves


def test_smoothing_and_half_widths():
    np.testing.assert_allclose(smooth([1.0, 0.0, 0.0]), [1, 0.9, 0.81])
    values = np.array([[1.0, 2.0], [3.0, 2.0]])
    np.testing.assert_allclose(half_width(values), [1.96 * np.sqrt(2) / np.sqrt(2), 0])
    np.testing.assert_allclose(half_width(values, axis=1), [1.96 * 0.5, 1.96 * 0.5])
    assert np.isnan(half_width(values[:1])).all()
    assert half_width(values[:1]).shape == (2,)


@given(arrays(np.float64, st.integers(1, 20), elements=numbers), st.floats(0, 1))
def test_smoothing_is_the_recursion(raw, old):
    by_hand = [raw[0]]
    for value in raw[1:]:
        by_hand.append(old * by_hand[-1] + (1 - old) * value)
    np.testing.assert_allclose(smooth(raw, old), by_hand)


@given(arrays(np.float64, shapes, elements=numbers))
def test_smoothing_and_taking_the_mean_commute(curves):
    before = curves.copy()
    np.testing.assert_allclose(smooth(curves).mean(axis=0), smooth(curves.mean(axis=0)), atol=1e-9)
    np.testing.assert_array_equal(curves, before)  # what it was given is left alone


def test_areas_and_ends():
    curves = np.array([[100.0, *range(10)], [100.0, *range(2, 12)]])
    np.testing.assert_allclose(area(curves), [145 / 11, 165 / 11])
    np.testing.assert_allclose(end(curves), [4.5, 6.5])
    np.testing.assert_allclose(end(curves, last=1), [9, 11])
    np.testing.assert_allclose(end(curves[:, :3]), area(curves[:, :3]))
    assert area(curves[0]).shape == ()


@given(arrays(np.bool_, array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6)))
def test_from_where_on_all_is_good(good):
    found = stays_from(good)
    assert found.shape == good.shape[:-1]
    n = good.shape[-1]
    for index in np.ndindex(found.shape):
        suffixes = [i for i in range(n) if good[index][i:].all()]
        assert found[index] == min(suffixes, default=n)


def test_steps_to_a_threshold():
    step = [0, 50, 100, 150]
    curves = [
        [1.0, 1.0, 1.0, 1.0],  # from the start
        [0.0, 1.0, 0.9, 0.95],  # the threshold itself is enough
        [0.0, 1.0, 0.8, 1.0],  # an early visit does not count
        [1.0, 1.0, 1.0, 0.8],  # lost at the end: censored at the budget
    ]
    steps, reached = steps_to(step, curves, 0.9)
    assert steps.tolist() == [0, 50, 150, 200]
    assert reached.tolist() == [True, True, True, False]
    one, there = steps_to(step, curves[1], 0.9)
    assert (int(one), bool(there)) == (50, True)
    with pytest.raises(MonMDPError, match="at least two"):
        steps_to([0], [1.0], 0.9)
    with pytest.raises(MonMDPError, match="along their last axis"):
        steps_to(step, [1.0, 1.0], 0.9)


def test_the_bootstrap_of_steps_takes_mean_curves_of_resampled_seeds():
    rng = np.random.default_rng(3)
    step = np.arange(40) * 100
    rising = np.clip(np.arange(40) / rng.uniform(10, 38, size=(7, 1)), 0, 1)
    found = steps_to_v_bootstrap(step, rising, 0.95, generator(), resamples=300)
    chosen = generator().integers(7, size=(300, 7))
    by_hand = [int(steps_to(step, rising[rows].mean(axis=0), 0.95)[0]) for rows in chosen]
    assert found.tolist() == by_hand
    assert len(set(by_hand)) > 5
    # The mean curve waits for slow seeds: it is later than seeds are on average.
    assert np.median(found) > np.mean(steps_to(step, rising, 0.95)[0])
    # The same seeds for a curve twice as slow: a paired ratio has hardly any spread.
    slow = np.repeat(rising, 2, axis=1)
    twice = steps_to_v_bootstrap(np.arange(80) * 100, slow, 0.95, generator(), resamples=300)
    np.testing.assert_array_equal(twice, 2 * found)
    never = steps_to_v_bootstrap(step, rising, 1.5, generator(), resamples=3)
    assert never.tolist() == [4000, 4000, 4000]


# Means and their differences


def test_an_interval_contains_its_bounds_and_nothing_if_unknown():
    assert Interval(0.5, 0.0, 1.0).contains(0)
    assert Interval(0.5, 0.0, 1.0).contains(1)
    assert not Interval(0.5, 0.0, 1.0).contains(1.001)
    assert not Interval(0.5, 0.0, 1.0).contains(-0.001)
    assert not Interval(0.5, np.nan, np.nan).contains(0.5)


def test_the_interval_of_a_mean():
    found = mean_interval([1.0, 3.0, 5.0])
    half = 1.96 * 2 / np.sqrt(3)
    assert found == approx((3, 3 - half, 3 + half))
    assert mean_interval([2.0]).estimate == 2
    assert np.isnan(mean_interval([2.0])[1:]).all()


@given(groups, groups)
def test_welch_is_scipys(ours, theirs):
    ours[0], theirs[-1] = 101, -101.5  # scipy has no interval where nothing varies
    expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    assert welch(ours, theirs) == approx((ours.mean() - theirs.mean(), *expected))


def test_a_contrast_of_four_groups_by_hand():
    """The difference of two differences, as in: who loses more from ask to n-experts?"""
    rng = np.random.default_rng(2)
    sets = [rng.normal(size=n) * scale for n, scale in ((5, 1), (9, 3), (6, 0.5), (30, 2))]
    weights = [1.0, -1.0, -1.0, 0.5]
    found = contrast(list(zip(weights, sets, strict=True)))
    errors = [w**2 * x.var(ddof=1) / len(x) for w, x in zip(weights, sets, strict=True)]
    degrees = sum(errors) ** 2 / sum(e**2 / (len(x) - 1) for e, x in zip(errors, sets, strict=True))
    estimate = sum(w * x.mean() for w, x in zip(weights, sets, strict=True))
    low, high = stats.t(degrees, estimate, np.sqrt(sum(errors))).interval(0.95)
    assert found == approx((estimate, low, high))


def test_groups_that_do_not_vary():
    """Not by a rounding error either: 0.1 + 0.1 + 0.1 is not three times 0.1."""
    assert np.mean([0.1] * 3) != np.mean([0.1] * 8)
    assert welch([0.1] * 3, [0.1] * 8) == (0, 0, 0)
    assert welch([0.3] * 3, [0.1] * 8) == approx((0.2, 0.2, 0.2))
    one_varies = welch([0.0, 2.0], [1.0, 1.0, 1.0])
    assert one_varies == approx((0, -stats.t.ppf(0.975, 1), stats.t.ppf(0.975, 1)))
    alone = welch([1.0], [0.0, 2.0, 4.0])
    assert alone.estimate == -1
    assert np.isnan(alone[1:]).all()


def test_tiny_differences_have_intervals_too():
    """Their squared variances would be too small for a float."""
    tiny = [x * 1e-100 for x in (1.0, 2.0, 4.0)]
    assert welch(tiny, [0.0, 1e-100]) == approx(
        [x * 1e-100 for x in welch([1.0, 2.0, 4.0], [0.0, 1.0])], abs_=0
    )


@given(groups, groups, shifts, scales)
def test_intervals_move_and_stretch_with_the_values(ours, theirs, shift, scale):
    mean = mean_interval(ours)
    assert mean_interval(scale * ours + shift) == approx([scale * x + shift for x in mean])
    found = welch(ours, theirs)
    assert welch(scale * ours + shift, theirs * scale) == approx([scale * x + shift for x in found])
    assert welch(theirs, ours) == approx((-found.estimate, -found.high, -found.low))


def test_welch_covers_what_it_should():
    """Also where the small group is the one that varies most, which pooling would get wrong."""
    rng, hits = np.random.default_rng(1), 0
    for _ in range(2000):
        found = welch(rng.normal(1, 4, 6), rng.normal(0, 1, 25))
        hits += found.contains(1)
    assert 0.935 <= hits / 2000 <= 0.965


# Many tasks


def test_the_interquartile_mean():
    assert iqm([1.0, 2.0, 3.0, 100.0]) == 2.5
    assert iqm([[9.0, 1.0, 2.0, 3.0], [-50.0, 4.0, 5.0, 6.0]]) == pytest.approx((2 + 3 + 4 + 5) / 4)
    assert iqm([0.0, 10.0, 20.0, 30.0, 400.0]) == 20  # a quarter of five is one, whole runs only
    assert iqm([0.0, 10.0, 200.0]) == 70


STUDENT = {1: 12.706204736, 2: 4.302652730, 3: 3.182446305, 4: 2.776445105}
"""degrees of freedom -> 97.5 % quantile of Student's t, from a table"""
SEEDS_LEFT = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 4, 7: 5, 8: 4, 9: 5}
"""of so many without the lowest and highest quarter, rounded down"""


@pytest.mark.parametrize("n", SEEDS_LEFT)
def test_the_interquartile_mean_of_curves_is_yuens(n):
    curves = np.random.default_rng(n).normal(size=(n, 5)) * [1, 10, 100, 1, 1] + [0, 0, 0, 50, -7]
    before = curves.copy()
    mean, half = iqm_curve(curves)
    np.testing.assert_array_equal(curves, before)
    for j in range(5):
        values = sorted(float(x) for x in curves[:, j])
        h = SEEDS_LEFT[n]
        cut = (n - h) // 2
        left = values[cut : n - cut]
        assert mean[j] == pytest.approx(sum(left) / h)
        if h < 2:
            assert np.isnan(half[j])
            continue
        pulled_in = [left[0]] * cut + left + [left[-1]] * cut
        middle = sum(pulled_in) / n
        squares = sum((x - middle) ** 2 for x in pulled_in)  # (n - 1) s_w²
        assert half[j] == pytest.approx(STUDENT[h - 1] * (squares / (h * (h - 1))) ** 0.5)


def test_yuens_interval_of_a_worked_example():
    """Of eight seeds 2, 3, 5, 7 are left; pulled in 2, 2, 2, 3, 5, 7, 7, 7, s_w² = 39.875/7."""
    values = np.array([[2.0, 90.0, 7.0, 3.0, -40.0, 5.0, 8.0, 1.0]]).T
    mean, half = iqm_curve(values)
    assert mean.tolist() == [17 / 4]
    assert half == pytest.approx([STUDENT[3] * (39.875 / 12) ** 0.5])


@given(arrays(np.float64, shapes, elements=numbers))
def test_the_interquartile_mean_is_rliables(scores):
    assert iqm(scores) == pytest.approx(metrics.aggregate_iqm(scores), abs=1e-9)


@given(arrays(np.float64, shapes, elements=numbers), shifts, scales)
def test_bootstrap_intervals_move_and_stretch_with_the_scores(scores, shift, scale):
    found = bootstrap(scores, iqm, generator(), resamples=20)
    moved = bootstrap(scale * scores + shift, iqm, generator(), resamples=20)
    assert moved == approx([scale * x + shift for x in found])


def test_the_bootstrap_leaves_tasks_as_they_are():
    apart = np.array([[0.0, 10.0], [0.0, 10.0], [0.0, 10.0]])
    assert bootstrap(apart, np.mean, generator()) == (5, 5, 5)
    assert np.isnan(bootstrap(apart[:1], np.mean, generator())[1:]).all()
    assert bootstrap(apart[:1], np.mean, generator()).estimate == 5
    one_task = bootstrap([1.0, 2.0, 4.0], np.mean, generator())
    assert one_task == bootstrap([[1.0], [2.0], [4.0]], np.mean, generator())
    assert one_task == approx((7 / 3, 1, 4))


@pytest.mark.slow
def test_the_bootstrap_covers_what_it_should():
    rng, hits = np.random.default_rng(4), 0
    for _ in range(300):
        scores = rng.normal(0, [1.0, 2.0, 3.0], size=(30, 3)) + 1
        hits += bootstrap(scores, iqm, rng, resamples=200).contains(1)
    assert 0.90 <= hits / 300 <= 0.985


def with_common_luck(rng, shape=(20, 6)):
    """Scores of runs that are good or bad in all tasks: drawing whole runs would be wider."""
    return rng.normal(size=shape) + rng.normal(0, 2, size=(shape[0], 1)) + np.arange(shape[1])


@pytest.fixture
def seeded_rliable(monkeypatch):
    """Make rliable run, and to the same numbers every time.

    It calls a seed by the name that arch had for it up to version 7, and draws from NumPy's global
    state whatever seed it is given.
    """
    original = IIDBootstrap.__init__

    def renamed(self, *args, random_state=None, **of_data):
        original(self, *args, seed=random_state, **of_data)

    monkeypatch.setattr(IIDBootstrap, "__init__", renamed)
    monkeypatch.setattr(np.random, "choice", np.random.default_rng(9).choice)


@pytest.mark.slow
@pytest.mark.usefixtures("seeded_rliable")
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(iqm, metrics.aggregate_iqm), (np.mean, metrics.aggregate_mean)],
    ids=["iqm", "mean"],
)
def test_the_bootstrap_is_rliables(ours, theirs):
    scores = with_common_luck(np.random.default_rng(6))
    found = bootstrap(scores, ours, generator(), resamples=5000)
    estimates, bounds = library.get_interval_estimates(
        {"ours": scores}, lambda x: np.array([theirs(x)]), reps=5000
    )
    assert found.estimate == pytest.approx(estimates["ours"][0])
    # Each bound is known to one hundredth of the width; whole runs would make it twice as wide.
    tolerance = 0.04 * (found.high - found.low)
    assert (found.low, found.high) == pytest.approx(tuple(bounds["ours"][:, 0]), abs=tolerance)


@pytest.mark.slow
@given(st.data(), shapes)
def test_the_probability_of_improvement_is_rliables(data, shape):
    ours, theirs = (data.draw(arrays(np.float64, shape, elements=ties)) for _ in range(2))
    found = probability_of_improvement(ours, theirs, generator(), resamples=10)
    back = probability_of_improvement(theirs, ours, generator(), resamples=10)
    assert found.estimate == pytest.approx(metrics.probability_of_improvement(ours, theirs))
    # The same seeds are drawn: every resample of one is 1 minus that of the other.
    assert back == approx((1 - found.estimate, 1 - found.high, 1 - found.low))
    assert 0 <= found.low <= found.high <= 1


def test_the_probability_of_improvement_resamples_every_task_by_itself():
    rng = np.random.default_rng(8)
    ours, theirs = with_common_luck(rng, (8, 3)), with_common_luck(rng, (8, 3))
    found = probability_of_improvement(ours, theirs, generator(), resamples=200)
    chosen = generator().integers(8, size=(3, 200, 8))  # [task, resample, seed]
    chances = [
        np.mean([np.mean(ours[r[t], t][:, None] > theirs[r[t], t]) for t in range(3)])
        for r in chosen.swapaxes(0, 1)
    ]
    assert found[1:] == pytest.approx(tuple(np.quantile(chances, [0.025, 0.975])))
    assert np.isnan(probability_of_improvement([1.0], [0.0], rng)[1:]).all()
    assert probability_of_improvement([1.0], [0.0], rng).estimate == 1
    with pytest.raises(MonMDPError, match="paired"):
        probability_of_improvement([1.0, 2.0], [0.0], rng)


@given(arrays(np.float64, shapes, elements=ties | numbers))
def test_a_profile_falls_from_one_to_zero(scores):
    thresholds = np.concatenate([[-1000.0], np.unique(scores), [1000.0]])
    profile, low, high = performance_profile(scores, thresholds, generator(), resamples=30)
    by_hand = [np.mean([x > tau for x in scores.ravel()]) for tau in thresholds]
    np.testing.assert_allclose(profile, by_hand)
    for line in (profile, low, high):
        assert (np.diff(line) <= 1e-12).all()
        assert line[0] == pytest.approx(1)
        assert line[-1] == 0
    assert (low <= high).all()


@pytest.mark.slow
@pytest.mark.usefixtures("seeded_rliable")
def test_the_profile_is_rliables():
    scores = with_common_luck(np.random.default_rng(7))
    thresholds = np.linspace(-2, 7, 10)
    profile, low, high = performance_profile(scores, thresholds, generator(), resamples=4000)
    theirs, bands = library.create_performance_profile({"a": scores}, thresholds, reps=4000)
    np.testing.assert_allclose(profile, theirs["a"])
    assert (high - low).min() > 0.05
    # Fractions of 120 scores: the quantiles jump by at least 1/120.
    np.testing.assert_allclose(low, bands["a"][0], atol=1.01 / 120)
    np.testing.assert_allclose(high, bands["a"][1], atol=1.01 / 120)
    alone, *band = performance_profile(scores[:1], thresholds, generator())
    np.testing.assert_allclose(alone, [np.mean(scores[0] > tau) for tau in thresholds])
    assert np.isnan(band).all()


@pytest.mark.parametrize(
    "scores", [[], [[]], 1.0, [np.nan, 1.0], [np.inf, 1.0], np.zeros((2, 2, 2))]
)
def test_what_has_no_statistic_is_refused(scores):
    with pytest.raises(MonMDPError, match="values"):
        bootstrap(scores, iqm, generator())
    with pytest.raises(MonMDPError, match="values"):
        welch(scores, [1.0, 2.0])


# Censored times


def test_kaplan_and_meier_by_hand():
    """Seven runs; + marks those that were still under way: 1, 2, 2, 3+, 4, 4+, 6+."""
    times = [4, 2, 3, 1, 2, 6, 4]
    reached = [True, True, False, True, True, False, False]
    t, S = survival(times, reached)
    assert t.tolist() == [1, 2, 4]
    # 7 at risk, 1 gets there; 6, 2; at 4 the censored 3 is gone, the censored 4 still counts: 3, 1.
    np.testing.assert_allclose(S, [6 / 7, 6 / 7 * 4 / 6, 6 / 7 * 4 / 6 * 2 / 3])
    assert median_time(times, reached) == 4
    expected = 1 + 6 / 7 * (2 - 1) + 4 / 7 * (4 - 2) + 8 / 21 * (6 - 4)
    assert restricted_mean(times, reached, 6) == pytest.approx(expected)
    assert restricted_mean(times, reached, 2.5) == pytest.approx(1 + 6 / 7 + 4 / 7 * 0.5)
    assert restricted_mean(times, reached, 0.5) == pytest.approx(0.5)
    with pytest.raises(MonMDPError, match="followed only up to 6"):
        restricted_mean(times, reached, 7)
    with pytest.raises(MonMDPError, match="each time needs a flag"):
        survival(times, [True])


def test_where_nobody_gets_there():
    t, S = survival([5, 5], [False, False])
    assert len(t) == len(S) == 0
    assert median_time([5, 5], [False, False]) is None
    assert restricted_mean([5, 5], [False, False], 5) == 5
    with pytest.raises(MonMDPError, match="followed only up to 5"):
        restricted_mean([5, 5], [False, False], 6)


@pytest.mark.parametrize("n", range(2, 42, 2))
def test_the_median_when_exactly_half_get_there(n):
    """For n = 24 or 30 the product that S is comes out above 1/2 by a rounding error."""
    times = np.minimum(np.arange(1, n + 1), n // 2 + 1)
    assert median_time(times, times <= n // 2) == n // 2
    assert median_time(times, times < n // 2) is None


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(50, 60))
def test_without_censoring_the_restricted_mean_is_the_mean(times, limit):
    everyone = [True] * len(times)
    assert restricted_mean(times, everyone, limit) == pytest.approx(np.mean(times))
    t, S = survival(times, everyone)
    np.testing.assert_allclose(S, [np.mean(np.array(times) > at) for at in t], atol=1e-12)
    assert median_time(times, everyone) == np.sort(times)[(len(times) - 1) // 2]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 50))
def test_with_one_budget_for_all_it_is_the_mean_of_what_was_spent(times, budget):
    spent = np.minimum(times, budget)
    reached = np.array(times) < budget
    assert restricted_mean(spent, reached, budget) == pytest.approx(np.mean(spent))


def test_no_warnings_and_no_hidden_randomness():
    scores = with_common_luck(np.random.default_rng(0), (4, 2))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for draw in (
            lambda rng: bootstrap(scores, iqm, rng, 50),
            lambda rng: probability_of_improvement(scores, scores[::-1], rng, 50),
            lambda rng: performance_profile(scores, [0.0, 1.0, 2.0], rng, 50)[1].tolist(),
            lambda rng: steps_to_v_bootstrap([0, 1], scores, 0.0, rng, 50).tolist(),
        ):
            assert draw(generator()) == draw(generator())
            assert draw(generator()) != draw(np.random.default_rng(1))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
