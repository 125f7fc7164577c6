"""The measure of deep-v1, against a plain loop; and what is counted in training."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monmdp import MonMDPError, make, train
from monmdp.experiment.training import Run
from monmdp.results import load_run
from monmdp.results.late import (
    Late,
    is_solved,
    late_of,
    late_tests,
    mean_difference,
    share_within,
    solved_difference,
)
from monmdp.results.store import DamagedError, run_path, write_run

numbers = st.floats(-10, 10, allow_nan=False)


class Asking:
    """Asks on every third step, does not care, and counts by itself."""

    def __init__(self, shape, rng):
        self.shape, self.rng, self.t = shape, rng, 0
        self.paid = self.shown = 0

    def begin_episode(self):
        pass

    def act(self, observation):
        self.t += 1
        return {
            "env": int(self.rng.integers(self.shape.n_env_actions)),
            "mon": int(self.t % 3 == 0),
        }

    def update(self, transition):
        self.paid += transition.monitor_reward < 0
        self.shown += transition.reward is not None

    def test_policy(self):
        n = self.shape.n_env_states * self.shape.n_monitor_states
        k = self.shape.n_env_actions * self.shape.n_monitor_actions
        return np.full((n, k), 1 / k)


# ---- the measure ----------------------------------------------------------------------------


@given(
    st.lists(st.tuples(numbers, st.floats(0, 3)), min_size=1, max_size=50),
    numbers,
    st.integers(1, 500),
    st.integers(0, 99),
)
def test_a_run_is_measured_as_a_plain_loop_does(tests, minimax, every, short):
    steps = len(tests) * every - min(short, every - 1)
    run = Run(
        {"steps": steps},
        3,
        np.arange(len(tests)) * every,
        {
            "worst_case_return": np.array([value for value, _ in tests]),
            "bottom_visits": np.array([visits for _, visits in tests]),
        },
        provenance={"paid_steps": steps // 2},
    )
    late = good = bad = 0
    for i, (value, visits) in enumerate(tests):
        if i * every < steps / 2:
            continue
        late += 1
        good += value >= minimax - 0.02 * abs(minimax)
        bad += min(visits, 1)
    if not late:
        assert len(tests) == 1, "at step 0"
        with pytest.raises(MonMDPError, match="more often"):
            late_of(run, minimax)
        return
    found = late_of(run, minimax)
    assert (found.seed, found.shown) == (3, None)
    assert found.paid == steps // 2 / steps
    assert found.within == pytest.approx(good / late)
    assert found.bottom == pytest.approx(bad / late)
    assert found.reaches == (good / late >= 0.8)


@pytest.mark.parametrize("v", [0.5, -2.0, 100.0])
def test_two_per_cent_are_of_the_absolute_value(v):
    returns = np.array([v, v - 0.0199 * abs(v), v - 0.0201 * abs(v), v + 1, v - 1 - abs(v)])
    assert share_within(returns, v) == pytest.approx(3 / 5)


def test_late_tests_of_the_benchmark():
    late = late_tests(np.arange(0, 40_000, 1_000), 40_000)
    assert np.flatnonzero(late).tolist() == list(range(20, 40))


def test_a_value_that_is_not_known_is_refused():
    with pytest.raises(MonMDPError, match="finite"):
        share_within(np.ones(3), float("nan"))


@pytest.mark.parametrize(("good", "of", "solved"), [(8, 10, 1), (7, 10, 0), (4, 5, 1), (0, 0, 0)])
def test_eight_of_ten_seeds_solve_a_setting(good, of, solved):
    runs = [Late(i, 0.8 if i < good else 0.79, 0.0, None, None) for i in range(of)]
    assert is_solved(runs) == bool(solved)


def test_differences_are_paired_by_seed_and_settings_count_the_same():
    def runs(shares):
        return [Late(seed, share, 0.0, None, None) for seed, share in shares.items()]

    ours = [runs({1: 1.0, 2: 0.5}), runs({1: 0.5, 2: 0.5, 3: 0.0})]
    theirs = [runs({2: 0.5, 1: 0.0}), runs({1: 0.25, 2: 0.25})]
    found = mean_difference(ours, theirs)
    assert found.estimate == pytest.approx((0.5 + 0.25) / 2)  # seeds 1 and 2
    assert found.low <= found.estimate <= found.high
    assert found == mean_difference(ours, theirs), "the same every time"
    assert mean_difference([runs({1: 1.0})], [runs({2: 1.0})]) is None
    assert mean_difference([], []) is None


def test_settings_solved_are_compared_with_an_interval():
    def runs(good, n=10):
        return [Late(seed, float(seed < good), 0.0, None, None) for seed in range(n)]

    all_solved, one_of_three = [runs(10)] * 3, [runs(10), runs(7), runs(0)]
    found = solved_difference(all_solved, one_of_three)
    assert found.estimate == 2
    assert 1 <= found.low < 2 == found.high  # with other seeds 7 might have been 8
    assert solved_difference(one_of_three, all_solved).estimate == -2
    assert solved_difference(all_solved, all_solved)[:3] == (0, 0, 0)
    assert solved_difference([runs(8)], [runs(7)]).estimate == 1
    assert solved_difference([], []) is None


# ---- what is counted in training ------------------------------------------------------------


@pytest.mark.parametrize("rho", [1.0, 0.3])
def test_steps_that_were_paid_and_shown_are_on_record(tmp_path, rho):
    made = []

    def factory(shape, rng):
        made.append(Asking(shape, rng))
        return made[-1]

    run = train(make("bottleneck", "ask", rho=rho), factory, steps=600, every=200, seed=2)
    (agent,) = made
    assert run.provenance["paid_steps"] == agent.paid == 200
    assert run.provenance["shown_steps"] == agent.shown
    assert 0 < agent.shown <= 200
    late = late_of(run, minimax=0.9)
    assert (late.paid, late.shown) == (200 / 600, agent.shown / 600)
    path = tmp_path / "run.parquet"
    write_run(path, run)
    assert late_of(load_run(path), minimax=0.9) == late


def test_of_compiled_agents_nothing_is_counted():
    run = train(make("loop", "ask"), "r-max", steps=200)
    assert not {"paid_steps", "shown_steps"} & run.provenance.keys()


def test_runs_in_threads_are_counted_apart():
    def trained(steps):
        return train(make("loop", "ask"), Asking, steps=steps, seed=2)

    with ThreadPoolExecutor(4) as pool:
        runs = pool.map(trained, (300, 600, 900, 1200))
    assert [run.provenance["paid_steps"] for run in runs] == [100, 200, 300, 400]


def test_a_file_with_more_paid_steps_than_steps_is_damaged(tmp_path):
    run = train(make("loop", "ask"), Asking, steps=300, seed=2)
    path = run_path(tmp_path, "loop", 2)
    run.provenance["shown_steps"] = 301
    write_run(path, run)
    with pytest.raises(DamagedError, match="shown_steps"):
        load_run(path)
