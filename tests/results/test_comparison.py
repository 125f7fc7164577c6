"""Several agents on one problem: the table, its statistics and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from monmdp.experiment.comparison import area
from monmdp.experiment.request import parse_agents

import monmdp
from monmdp import MonMDPError, experiment
from monmdp.stats import probability_of_improvement

values = arrays(np.float64, st.integers(2, 8), elements=st.sampled_from([0.0, 1.0, 2.0]))


@given(values, values)
def test_probability_of_improvement_counts_pairs_and_halves_ties(ours, theirs):
    n = min(len(ours), len(theirs))
    ours, theirs = ours[:n], theirs[:n]
    chance, low, high = probability_of_improvement(ours, theirs, np.random.default_rng(0))
    by_hand = [1.0 * (x > y) + 0.5 * (x == y) for x in ours for y in theirs]
    assert chance == pytest.approx(np.mean(by_hand))
    assert 0 <= low <= high <= 1
    back, _, _ = probability_of_improvement(theirs, ours, np.random.default_rng(0))
    assert chance + back == pytest.approx(1)


def test_the_interval_resamples_seeds_jointly_and_takes_all_pairs_of_them():
    rng = np.random.default_rng(5)
    ours = rng.normal(size=12)
    theirs = ours + rng.normal(scale=0.5, size=12) - 0.2  # the same seeds are alike
    _, low, high = probability_of_improvement(ours, theirs, np.random.default_rng(7))
    again, chances = np.random.default_rng(7), []
    for rows in again.integers(12, size=(2000, 12)):
        pairs = [(ours[i], theirs[j]) for i in rows for j in rows]
        chances.append(np.mean([x > y for x, y in pairs]))
    assert (low, high) == pytest.approx(tuple(np.quantile(chances, [0.025, 0.975])))


def test_the_area_is_of_the_true_returns():
    """LEFT in treasure-hunter pays 1, and in M_↓, where it cannot be seen, -10."""
    run = monmdp.train(monmdp.make("treasure-hunter", "ask"), "mbie-eb", 300)
    assert run.curve["worst_case_return"].mean() < -5
    assert area(run) == pytest.approx(run.curve["episode_return"].mean())
    assert area(run) > -5


def test_the_interval_covers_what_it_should():
    """Of normal samples one sd apart: P(X > Y) = Φ(1/√2) = 0.76; 95 % intervals nearly always."""
    rng, hits = np.random.default_rng(1), 0
    for _ in range(100):
        ours, theirs = rng.normal(1, 1, 30), rng.normal(0, 1, 30)
        _, low, high = probability_of_improvement(ours, theirs, rng)
        hits += low <= 0.7602 <= high
    assert hits >= 88


def runs_of(problem, names, seeds=range(3), steps=1000):
    return {
        name: experiment.train_seeds(experiment.prepare(problem, name, steps), seeds)
        for name in names
    }


def test_a_comparison():
    problem = monmdp.make("loop", "ask")
    solution = monmdp.solve(problem)
    runs = runs_of(problem, ("monitored-mbie-eb", "optimistic", "mbie-eb"))
    table = experiment.compare(runs, solution)
    assert table.reference == "monitored-mbie-eb"
    assert table.seeds == (0, 1, 2)
    assert [row.agent for row in table.rows] == list(runs)
    row = table["mbie-eb"]
    ours, theirs = (
        np.array([run.curve["episode_return"].mean() for run in runs[name]])
        for name in ("monitored-mbie-eb", "mbie-eb")
    )
    assert ours.std() > 0.01  # else paired and unpaired intervals are the same
    assert theirs.std() > 0.01
    difference = ours - theirs
    assert row.area == pytest.approx(np.mean(theirs))
    assert row.behind == pytest.approx(difference.mean())
    assert row.behind_half == pytest.approx(1.96 * difference.std(ddof=1) / np.sqrt(3))
    assert table[table.reference].behind == 0
    assert table[table.reference].improvement == 0.5
    other = experiment.compare(runs, solution, "mbie-eb")
    assert other["monitored-mbie-eb"].behind == pytest.approx(-row.behind)
    assert other["monitored-mbie-eb"].improvement == pytest.approx(1 - row.improvement)
    assert json.loads(json.dumps(table.to_dict()))["agents"][1]["agent"] == "optimistic"
    assert len(experiment.draw_runs(runs, solution).axes[0].get_legend().get_texts()) == 4


def test_a_single_seed_has_no_intervals():
    problem = monmdp.make("loop", "ask")
    runs = runs_of(problem, ("monitored-mbie-eb", "optimistic"), seeds=[0], steps=200)
    row = experiment.compare(runs, monmdp.solve(problem))["optimistic"]
    assert row.improvement_interval is None
    assert np.isnan(row.area_half)
    assert row.to_dict()["area_half_width"] is None


def test_what_cannot_be_compared_is_refused():
    problem = monmdp.make("loop", "ask")
    solution = monmdp.solve(problem)
    runs = runs_of(problem, ("optimistic", "ucb"), steps=100)
    with pytest.raises(MonMDPError, match="did you mean 'ucb'"):
        experiment.compare(runs, solution, "ubc")
    with pytest.raises(MonMDPError, match="other seeds"):
        experiment.compare(runs | {"ucb": runs["ucb"][:2]}, solution)
    longer = runs_of(problem, ("ucb",), steps=200)
    with pytest.raises(MonMDPError, match="steps is 200, 100 for others"):
        experiment.compare(runs | longer, solution)
    with pytest.raises(MonMDPError, match="nothing to compare"):
        experiment.compare({}, solution)
    with pytest.raises(MonMDPError, match="was not compared"):
        experiment.compare(runs, solution)["q-count"]


def test_agents_with_their_parameters():
    assert parse_agents("a,b, r0=-10 ,alpha=1,my:agent,b") == {
        "a": ("a", {}),
        "b r0=-10 alpha=1": ("b", {"r0": "-10", "alpha": "1"}),
        "my:agent": ("my:agent", {}),
        "b": ("b", {}),
    }
    for text, message in (
        ("", "which agents"),
        ("r0=1,a", "stands before any agent"),
        ("a,b,a", "'a' is there twice"),
        ("a,x=1,x=2", "given twice"),
    ):
        with pytest.raises(MonMDPError, match=message):
            parse_agents(text)


def test_the_command(command, tmp_path):
    words = ["compare", "loop", "ask", "rho=0.5", "--seeds", 2, "--steps", 500, "--jobs", 1]
    chosen = ["--agents", "monitored-mbie-eb,directed-e2,directed-e2,r0=-10", "--out", "out"]
    code, out, _ = command(*words, *chosen)
    assert code == 0
    assert "directed-e2 r0=-10" in out
    assert "P(improvement)" in out
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "compare.png", "directed-e2", "directed-e2_r0=-10", "monitored-mbie-eb",
    ]  # fmt: skip
    before = (tmp_path / "out" / "directed-e2" / "seed-0001.npz").stat().st_mtime_ns
    code, out, _ = command(*words, *chosen, "--json")
    table = json.loads(out)
    assert [row["agent"] for row in table["agents"]] == [
        "monitored-mbie-eb", "directed-e2", "directed-e2 r0=-10",
    ]  # fmt: skip
    assert before == (tmp_path / "out" / "directed-e2" / "seed-0001.npz").stat().st_mtime_ns
    assert table["reference"] == "monitored-mbie-eb"


def test_by_default_all_agents_that_are_offered_are_compared(command):
    code, out, _ = command("compare", "loop", "semi-random", "--seeds", 1, "--steps", 100)
    assert code == 0
    assert "left out: known-monitor" in out
    assert "q-count" in out
    code, _, err = command(
        "compare", "loop", "semi-random", "--agents", "ucb,known-monitor", "--steps", 100
    )
    assert code == 2
    assert "not offered for monitor 'semi-random'" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agents", "monitored-mbie-ee"], "did you mean 'monitored-mbie-eb'"),
        (["--agents", "ucb,beta=1"], "has no parameter 'beta'; monitored-mbie-eb"),
        (["--agents", "mbie-eb,bottom=oracle"], "has no parameter 'bottom'; directed-e2"),
        (["--steps", 10**20], "too large"),
        (["--steps", 10**15], "test more rarely"),
        (["--agents", "ucb", "--seeds", 0], "--seeds"),
        (["--agents", "ucb", "roh=1"], "did you mean 'rho'"),
        (["--evaluation", "exat"], "exact"),
    ],
)
def test_mistakes_are_named_before_any_work(command, words, message, tmp_path):
    code, _, err = command("compare", "loop", "ask", *words)
    assert code == 2
    assert message in err
    assert not (tmp_path / "runs").exists()


def test_all_agents_are_tested_with_the_discount_of_the_first(command):
    words = ["compare", "loop", "ask", "--seeds", 1, "--steps", 200, "--json"]
    code, out, err = command(*words, "--agents", "monitored-mbie-eb,gamma=0.9,ucb")
    assert code == 0, err
    table = json.loads(out)
    assert table["gamma"] == 0.9
    best = monmdp.solve(monmdp.make("loop", "ask"), 0.9).episode_return
    assert [row["episode_return_minimax"] for row in table["agents"]] == [best, best]
