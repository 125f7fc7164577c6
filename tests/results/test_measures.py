"""How agents are compared: steps, what is seen, and what an axis shows of it."""

import dataclasses
import functools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from made_up import made, only, plan_of
from monmdp.experiment import Run
from monmdp.results.evidence import Axis, aggregate, axis_of
from monmdp.results.measures import (
    FEWEST,
    Standing,
    compare,
    paired_difference,
    standing,
    within,
)
from monmdp.results.store import COLUMNS
from monmdp.stats import Interval
from oracles import claims as oracle

OPPOSITE = {
    Standing.BETTER: Standing.WORSE,
    Standing.WORSE: Standing.BETTER,
    Standing.PAR: Standing.PAR,
    Standing.OPEN: Standing.OPEN,
}
AXIS = Axis(None, (0.0, 1.0))
BUDGET = 50_000
V = 0.9


# ---- standing -------------------------------------------------------------------------------

BOUNDS = st.tuples(st.floats(-100, 100), st.floats(-100, 100)).map(sorted)


@given(BOUNDS, st.floats(0, 50))
def test_standing(bounds, margin):
    low, high = bounds
    gain, loss = Interval((low + high) / 2, low, high), Interval(-(low + high) / 2, -high, -low)
    found = standing(gain, margin)
    assert found.value == oracle.standing(30, gain, margin)[0]
    assert standing(loss, margin) is OPPOSITE[found]
    # A wider margin makes what is open on par, and nothing else.
    wider = standing(gain, margin + 1)
    assert wider is found or (found, wider) == (Standing.OPEN, Standing.PAR)
    assert within(gain, margin) == (abs(low) <= margin and abs(high) <= margin)


@pytest.mark.parametrize(("low", "high", "expected"), [
    (-10, 10, Standing.PAR), (-10.001, 10, Standing.OPEN), (-10, 10.001, Standing.OPEN),
    (0, 10, Standing.PAR), (0, 0, Standing.PAR), (1e-9, 5, Standing.BETTER),
    (-5, -1e-9, Standing.WORSE), (-5, 0, Standing.PAR), (math.nan, math.nan, Standing.OPEN),
])  # fmt: skip
def test_standing_at_the_edges(low, high, expected):
    """Better and worse come before on par; the margin itself is on par."""
    assert standing(Interval(0.0, low, high), 10) is expected


# ---- two agents -----------------------------------------------------------------------------


@functools.cache
def base():
    """Any runs; tests put in the numbers that matter."""
    plan = plan_of(9)
    aggregates = made([9], seeds=2)[0].aggregates
    return aggregates[next(iter(plan.resolved))]


def runs(steps=None, seen=None, seeds=None):
    """Runs with these steps, None for those who never get there, and this that is seen."""
    n = len(steps if steps is not None else seen)
    steps = [None] * n if steps is None else steps
    seen = np.zeros(n) if seen is None else np.asarray(seen, dtype=float)
    return dataclasses.replace(
        base(),
        seeds=tuple(range(n) if seeds is None else seeds),
        minimax=V,
        steps_to_optimal=np.array([BUDGET if x is None else x for x in steps]),
        optimal=np.array([x is not None for x in steps]),
        seen={AXIS.key: seen},
        area=seen * 3,
    )


STEPS = st.none() | st.integers(0, 499).map(lambda x: 100 * x)
PAIRS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*[st.lists(STEPS, min_size=n, max_size=n)] * 2)
)
SEEN = st.integers(5, 12).flatmap(lambda n: st.tuples(*[arrays(float, n, elements=st.integers(
    0, 1000).map(lambda x: x / 1000))] * 2))  # fmt: skip


def curves(steps):
    """A run for the oracle whose exact returns reach v after so many steps."""
    step = np.arange(0, BUDGET, 100)
    exact = [np.where(step >= (BUDGET if x is None else x), V, -5.0) for x in steps]
    return {
        "seed": list(range(len(steps))),
        "step": step,
        "worst_case_return": np.array(exact),
        "episode_return": np.zeros((len(steps), len(step))),
    }


@given(pair=PAIRS)
def test_steps_decide_as_the_oracle_has_it(pair):
    ours, theirs = (runs(steps) for steps in pair)
    found = compare(ours, theirs, AXIS)
    verdict, *numbers = oracle.compare(*map(curves, pair), V, AXIS.y_range)
    assert found.standing.value == verdict
    assert found.by == ("seen" if {*pair[0], *pair[1]} == {None} else "steps")
    assert found.gain.estimate == pytest.approx(numbers[0])
    if len(pair[0]) >= FEWEST:
        assert found.gain[1:] == pytest.approx(numbers[1:], abs=1e-6)
    else:
        assert (found.standing, math.isnan(found.gain.low)) == (Standing.OPEN, True)


@given(pair=PAIRS)
def test_agents_swapped(pair):
    """Better is worse from the other side; what is on par is so by the rival's steps."""
    ours, theirs = (runs(steps) for steps in pair)
    one, other = compare(ours, theirs, AXIS), compare(theirs, ours, AXIS)
    assert one.gain.estimate == pytest.approx(-other.gain.estimate)
    assert one.gain[1:] == pytest.approx((-other.gain.high, -other.gain.low), nan_ok=True)
    if one.standing in (Standing.BETTER, Standing.WORSE):
        assert other.standing is OPPOSITE[one.standing]
    else:
        assert other.standing in (Standing.PAR, Standing.OPEN)


@given(pair=SEEN, up=st.integers(-50, 50), seed=st.integers(0, 99))
def test_what_is_seen_is_compared_whatever_its_level(pair, up, seed):
    ours, theirs = (runs(seen=seen) for seen in pair)
    found = compare(ours, theirs, AXIS)
    assert found.by == "seen"
    assert found.margin == pytest.approx(0.02)
    assume(min(abs(x - edge) for x in found.gain[1:] for edge in (0, 0.02, -0.02)) > 1e-9)
    assert compare(theirs, ours, AXIS).standing is OPPOSITE[found.standing]
    raised = compare(*(runs(seen=seen + up) for seen in pair), AXIS)
    assert (raised.standing, raised.gain) == (found.standing, pytest.approx(found.gain, abs=1e-9))
    # Nor does it matter which seed is which, as long as both have it.
    order = np.random.default_rng(seed).permutation(len(pair[0]))
    mixed = runs(seen=pair[0][order], seeds=order)
    assert compare(mixed, theirs, AXIS).gain == pytest.approx(found.gain, abs=1e-9)


@pytest.mark.parametrize(("late", "expected"), [
    (99, Standing.PAR), (100, Standing.PAR), (102, Standing.OPEN), (130, Standing.OPEN),
])  # fmt: skip
def test_on_par_is_a_tenth_of_the_rivals_steps(late, expected):
    """Differences of ± the same, whose interval is ±t·sd/√n: scaled to a part of the margin."""
    signs = np.array([1, -1] * 5)
    half = oracle.student(9) * signs.std(ddof=1) / math.sqrt(10)
    by = 2000 / half * late / 100
    theirs = runs([20_000] * 10)
    ours = dataclasses.replace(theirs, steps_to_optimal=20_000 + signs * by * (1 - 1e-12))
    assert compare(ours, theirs, AXIS).standing is expected


def test_it_is_the_rivals_steps_that_count():
    """On average 1,000 more than 20,000, ±1,050: a tenth of its own would be enough."""
    signs = np.array([1, -1] * 5)
    half = oracle.student(9) * signs.std(ddof=1) / math.sqrt(10)
    fewer = runs([20_000] * 10)
    more = dataclasses.replace(fewer, steps_to_optimal=21_000 + signs * 1050 / half)
    assert compare(more, fewer, AXIS).standing is Standing.OPEN
    assert compare(fewer, more, AXIS).standing is Standing.PAR


@pytest.mark.parametrize(("part", "expected"), [
    (0.99, Standing.PAR), (1.01, Standing.OPEN),
])  # fmt: skip
@pytest.mark.parametrize("axis", [AXIS, Axis(None, (-350.0, 10.0)), Axis(None, None)])
def test_on_par_is_a_fiftieth_of_the_axis(part, axis, expected):
    height = axis.height or 1.0
    signs = np.array([1.0, -1.0] * 5)
    half = oracle.student(9) * signs.std(ddof=1) / math.sqrt(10)
    ours, theirs = (
        dataclasses.replace(runs(seen=x), seen={axis.key: x})
        for x in (signs * 0.02 * height / half * part, np.zeros(10))
    )
    found = compare(ours, theirs, axis)
    assert found.margin == pytest.approx(0.02 * height)
    assert found.standing is expected


def test_one_seed_that_converges_makes_steps_decide():
    """Then what is seen stands beside."""
    ours = runs([10_000] + [None] * 7, np.linspace(0.8, 0.9, 8))
    theirs = runs([None] * 8, np.linspace(0.1, 0.2, 8))
    found = compare(ours, theirs, AXIS)
    assert (found.by, found.standing) == ("steps", Standing.OPEN)
    assert "(better)" in found.beside
    assert "at least 45,000 against at least 50,000 steps" in found.measured
    never = compare(dataclasses.replace(ours, optimal=theirs.optimal), theirs, AXIS)
    assert (never.by, never.standing) == ("seen", Standing.BETTER)
    assert never.beside == "no seed of either converges; area more by +2.1 [+2.1, +2.1]"


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_differences_are_of_seeds_that_both_have(first, second):
    assume(first and second)
    ours, theirs = (runs(seen=[s**2 for s in sorted(of)], seeds=sorted(of))
                    for of in (first, second))  # fmt: skip
    found = paired_difference(ours, theirs, 2 * ours.seen[AXIS.key], theirs.seen[AXIS.key])
    shared = sorted(first & second)
    if len(shared) < FEWEST:
        assert math.isnan(found.low)
    else:
        assert found == pytest.approx(oracle.t_interval(np.array([s**2 for s in shared])))


# ---- what an axis shows ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def seen_on():
    """What is seen on an axis of made-up runs with returns[seed, test], 1,000 steps apart."""

    def seen(axis, returns, smoothing=False):
        n = len(returns[0])
        settings, step = {**base().settings, "steps": 1000 * n, "every": 1000}, 1000 * np.arange(n)
        nothing = {name: np.zeros(n) for name in COLUMNS}
        runs = [
            Run(settings, seed, step, nothing | {"episode_return": np.asarray(row)}, provenance={})
            for seed, row in enumerate(returns)
        ]
        return aggregate("x", settings, runs, V, axes=[axis], smoothing=smoothing).seen[axis.key]

    return seen


RETURNS = arrays(float, st.tuples(st.integers(1, 3), st.integers(2, 30)),
                 elements=st.floats(-100, 100))  # fmt: skip


@given(values=RETURNS, low=st.floats(-50, 50), height=st.floats(0.1, 50), smoothing=st.booleans())
def test_what_an_axis_shows_is_clipped(seen_on, values, low, height, smoothing):
    found = seen_on(Axis(None, (low, low + height)), values, smoothing)
    curves = values.copy()
    for k in range(1, curves.shape[1]) if smoothing else ():
        curves[:, k] = 0.9 * curves[:, k - 1] + 0.1 * values[:, k]
    expected = [sum(min(max(x, low), low + height) for x in row) / len(row) for row in curves]
    assert found == pytest.approx(expected, abs=1e-9)
    assert (found >= low - 1e-9).all()
    assert (found <= low + height + 1e-9).all()


@pytest.mark.parametrize(("x_range", "shown"), [
    (None, 10), ((0, 9000), 10), ((0, 30_000), 10), ((0, 4000), 5), ((0, 4999), 5), ((1, 4000), 4),
    ((2500, 6500), 4),
])  # fmt: skip
def test_what_an_axis_shows_of_the_steps(seen_on, x_range, shown):
    """Curves rise by one each test: the mean of those shown, both ends included."""
    first = 0 if x_range is None else math.ceil(x_range[0] / 1000)
    (found,) = seen_on(Axis(x_range, None), [np.arange(10.0)])
    assert found == pytest.approx(np.mean(range(first, first + shown)))


def test_a_step_on_an_axis_in_closed_form():
    """-63 until the jump, then 0.9: on an axis from 0 to 1 an early test costs 0, not 63."""
    evidence, runs_by_place, _ = made([9], 6, only(lambda _: True, low=-63.0), noise=0.0)
    panels = [p for p in plan_of(9).figure.panels() if p.y_range == (0, 1)]
    for panel in panels:
        axis = axis_of(panel)
        assert (axis.key, axis.height) == ("all 0:1", 1)
        for curve in panel.curves:
            of = evidence.of(curve)
            jump = of.steps_to_optimal[0] // 1000
            assert of.seen[axis.key] == pytest.approx(np.full(6, V * (50 - jump) / 50))
            assert of.area == pytest.approx(np.full(6, (V * (50 - jump) - 63 * jump) / 50))
    assert len(panels) == 5
    assert len(runs_by_place) == 12


def test_axes_tell_how_much_they_show():
    whole, zoomed = Axis(None, (-350, 10)), Axis((0, 30_000), (-0.7, 0.3))
    assert whole.extent > zoomed.extent
    assert Axis(None, None).extent > whole.extent
    assert (whole.key, zoomed.key) == ("all -350:10", "0:30000 -0.7:0.3")
    assert {axis_of(panel).key for panel in plan_of(5).figure.panels()} == {"all all"}
    keys = [axis_of(panel).key for panel in plan_of(4).figure.panels()]
    assert keys == ["all 0:22", whole.key, whole.key, zoomed.key]


FULL = {4: {(0, 22), (-350, 10), (-0.7, 0.3)}, 6: {(0, 1), (0, 22)}, 9: {(0, 1), (-0.7, 0.3)},
        10: {(0, 1), (-0.7, 0.3)}, 11: {(0, 1), (-0.7, 0.3)},
        12: {(0, 1), (-0.7, 0.3), (-420, 5)}, 13: {(0, 1), (-0.7, 0.3), (-5, 1)}}  # fmt: skip


@pytest.mark.parametrize("number", FULL)
def test_axes_of_the_paper(number):
    """Those of the released plotting scripts."""
    for panel in plan_of(number).figure.panels():
        assert panel.y_range in FULL[number]
        solvable = panel.problem.get("world.solvable", False)
        if number in (6, 9, 10, 11) or solvable:
            assert panel.y_range == oracle.axis(number, panel.world, panel.monitor)
