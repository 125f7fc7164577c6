"""Several agents on one problem: the table, its statistics and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import monmdp
from conftest import ROOT
from monmdp import MonMDPError, agents
from monmdp.experiment.assembly import parse_agents
from monmdp.results.comparison import compare_agents
from monmdp.stats import probability_of_improvement
from monmdp.suites import resolve

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


def test_the_interval_covers_what_it_should():
    """Of normal samples one sd apart: P(X > Y) = Φ(1/√2) = 0.76; 95 % intervals nearly always."""
    rng, hits = np.random.default_rng(1), 0
    for _ in range(100):
        ours, theirs = rng.normal(1, 1, 30), rng.normal(0, 1, 30)
        _, low, high = probability_of_improvement(ours, theirs, rng)
        hits += low <= 0.7602 <= high
    assert hits >= 88


def test_the_area_is_of_the_true_returns():
    """LEFT in treasure-hunter pays 1, and in M↓, where it cannot be seen, -10."""
    found = monmdp.compare(monmdp.make("treasure-hunter", "ask"), ["mbie-eb"], 300, seeds=1)
    ((run,), (table,)) = found.runs.values(), found.comparisons
    assert run.curve["worst_case_return"].mean() < -5
    area = table["mbie-eb"].area.estimate
    assert area == pytest.approx(run.curve["episode_return"].mean())
    assert area > -5


def test_agents_with_another_discount_are_named():
    """All returns have one discount, that of the first agent."""
    problem = monmdp.make("loop", "ask")
    short = agents.MonitoredMBIEEB(gamma=0.9)
    chosen = {"long": "mbie-eb", "short": short}
    (table,) = monmdp.compare(problem, chosen, 200, seeds=1).comparisons
    said = "Returns have the discount 0.99. Learnt with another: short 0.9."
    assert table.remarks[0] == said
    assert said in str(table)
    (table,) = monmdp.compare(problem, ["mbie-eb", "optimistic"], 200, seeds=1).comparisons
    assert not any("discount" in remark for remark in table.remarks)


@pytest.fixture(scope="module")
def found():
    names = ["monitored-mbie-eb", "optimistic", "mbie-eb"]
    return monmdp.compare(monmdp.make("loop", "ask"), names, 1000, seeds=3)


def curves_of(found, agent):
    return [run.curve for run in found.runs.values() if run.settings["agent"] == agent]


def test_a_comparison(found):
    (table,) = found.comparisons
    assert table.reference == "monitored-mbie-eb"
    assert table.seeds == (0, 1, 2)
    assert [row.agent for row in table.rows] == ["monitored-mbie-eb", "optimistic", "mbie-eb"]
    row = table["mbie-eb"]
    ours, theirs = (
        np.array([curve["episode_return"].mean() for curve in curves_of(found, name)])
        for name in ("monitored-mbie-eb", "mbie-eb")
    )
    assert ours.std() > 0.01  # else paired and unpaired intervals are the same
    assert theirs.std() > 0.01
    difference = ours - theirs
    assert row.area.estimate == pytest.approx(np.mean(theirs))
    assert row.behind.estimate == pytest.approx(difference.mean())
    half = 1.96 * difference.std(ddof=1) / np.sqrt(3)
    assert row.behind.high - row.behind.estimate == pytest.approx(half)
    assert row.behind.estimate - row.behind.low == pytest.approx(half)
    assert row.improvement == probability_of_improvement(ours, theirs, np.random.default_rng(0))
    last = [curve["episode_return"][-10:].mean() for curve in curves_of(found, "mbie-eb")]
    assert row.end.estimate == pytest.approx(np.mean(last))
    assert table[table.reference].behind is None
    assert table[table.reference].improvement is None


def test_every_seed_says_when_it_became_optimal_and_what_it_lost(found):
    (table,) = found.comparisons
    v = monmdp.solve(monmdp.make("loop", "ask")).episode_return
    for row in table.rows:
        curves = curves_of(found, row.agent)
        for step, curve in zip(row.steps_to_1pct, curves, strict=True):
            good = curve["worst_case_return"] >= v - 0.01 * max(1.0, abs(v))
            bad = np.flatnonzero(~good)
            first = 100 * (bad[-1] + 1) if len(bad) else 0
            assert step == (None if first == 1000 else first)
        lost = [c["finished_episodes"][-1] * v - c["training_return"][-1] for c in curves]
        assert row.to_dict()["regret"] == pytest.approx(lost)
        assert row.to_dict()["seeds_converged"] == sum(s is not None for s in row.steps_to_1pct)
    assert None in table["optimistic"].steps_to_1pct
    assert None not in table["monitored-mbie-eb"].steps_to_1pct


def test_it_is_data_for_json_and_for_pandas_and_a_figure(found):
    (table,) = found.comparisons
    told = json.loads(json.dumps(table.to_dict()))
    assert [row["agent"] for row in told["agents"]] == [row.agent for row in table.rows]
    assert told["agents"][0]["behind"] is None
    assert told["agents"][1]["behind"] == table["optimistic"].behind.estimate
    frame = found.frame()
    assert frame.groupby(["agent", "seed"], observed=True).ngroups == 9
    assert len(frame) == 9 * 10
    assert len(found.figure().axes[0].lines) >= 3
    shown = found._repr_html_()
    assert "data:image/png;base64," in shown
    assert all(row.agent in shown for row in table.rows)


def test_another_reference_turns_the_differences_around(found):
    problem = monmdp.make("loop", "ask")
    turned = monmdp.compare(problem, ["mbie-eb", "monitored-mbie-eb"], 1000, seeds=[0, 1, 2])
    (ours,), (theirs,) = found.comparisons, turned.comparisons
    row, other = ours["mbie-eb"], theirs["monitored-mbie-eb"]
    assert other.behind.estimate == pytest.approx(-row.behind.estimate)
    assert other.improvement.estimate == pytest.approx(1 - row.improvement.estimate)


def test_a_single_seed_has_no_intervals():
    problem = monmdp.make("loop", "ask")
    (table,) = monmdp.compare(
        problem, ["monitored-mbie-eb", "optimistic"], 200, seeds=1
    ).comparisons
    row = table["optimistic"]
    assert np.isnan([row.improvement.low, row.area.low, row.behind.high]).all()
    told = row.to_dict()
    for name in ("area", "behind", "probability_of_improvement"):
        assert told[name] is not None
        assert told[f"{name}_low"] is told[f"{name}_high"] is None


def test_labels_are_those_that_were_given():
    from monmdp.agents import KINDS

    problem = monmdp.make("loop", "ask")
    bold = KINDS["directed-e2"](r0=10.0)
    (table,) = monmdp.compare(problem, {"a": "ucb", "b": bold}, 200, seeds=1).comparisons
    assert [row.agent for row in table.rows] == ["a", "b"]
    assert table["b"].of.settings["parameters"]["r0"] == 10.0
    (table,) = monmdp.compare(problem, ["ucb", bold], 200, seeds=1).comparisons
    assert [row.agent for row in table.rows] == ["ucb", "directed-e2"]


def test_what_is_kept_is_not_done_again():
    problem = monmdp.make("loop", "ask")
    first = monmdp.compare(problem, ["ucb"], 200, seeds=2, out="here")
    stamps = {p: p.stat().st_mtime_ns for p in Path("here/runs").rglob("*.parquet")}
    again = monmdp.compare(problem, ["ucb", "q-count"], 200, seeds=3, out="here")
    assert (first.outcome.progress.there, again.outcome.progress.there) == (0, 2)
    assert again.outcome.progress.done == 4
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps
    assert len(again.runs) == 6
    assert len(list(Path("here/reports").iterdir())) == 2
    assert again.report.folder.name.startswith("compare-loop-ask-ucb-")
    assert {"compare.png", "statistics.md", "summary.parquet"} <= {
        path.name for path in again.report.folder.iterdir()
    }
    assert all(run.policy is not None for run in again.runs.values())
    without = monmdp.compare(problem, ["ucb", "q-count"], 200, seeds=3)
    assert without.report is None
    assert {k: run.data() for k, run in without.runs.items()} == {
        k: run.data() for k, run in again.runs.items()
    }
    assert again.comparisons[0].to_dict() == without.comparisons[0].to_dict()


def test_an_agent_that_lacks_seeds_is_left_out(found):
    (plan,) = found.plans
    (panel,) = plan.figure.panels()
    _, optimistic, _ = (found.evidence.of(curve) for curve in panel.curves)
    fewer = replace(optimistic, seeds=(0, 1))
    aggregates = {**found.evidence.aggregates, fewer.configuration: fewer}
    table = compare_agents(panel, replace(found.evidence, aggregates=aggregates))
    assert [row.agent for row in table.rows] == ["monitored-mbie-eb", "mbie-eb"]
    del aggregates[panel.curves[0].configuration]
    assert compare_agents(panel, replace(found.evidence, aggregates=aggregates)) is None


def test_what_cannot_be_compared_is_refused(found):
    problem = monmdp.make("loop", "ask")
    with pytest.raises(MonMDPError, match="nothing to compare"):
        monmdp.compare(problem, [], 100)
    with pytest.raises(MonMDPError, match="seeds"):
        monmdp.compare(problem, ["ucb"], 100, seeds=0)
    with pytest.raises(MonMDPError, match="seed"):
        monmdp.compare(problem, ["ucb"], 100, seeds=[])
    with pytest.raises(MonMDPError, match="seed must be a whole number of at least 0"):
        monmdp.compare(problem, ["ucb"], 100, seeds=[0, -1])
    with pytest.raises(MonMDPError, match="there twice"):
        monmdp.compare(problem, ["ucb"], 100, seeds=[0, 0])
    with pytest.raises(MonMDPError, match="'ucb' is there twice"):
        monmdp.compare(problem, ["ucb", "ucb"], 100, seeds=1)
    with pytest.raises(MonMDPError, match="100 steps with a test every 100 are one test"):
        monmdp.compare(problem, ["ucb"], 100, seeds=1)
    with pytest.raises(MonMDPError, match="jobs"):
        monmdp.compare(problem, ["ucb"], 200, seeds=1, jobs=0)
    with pytest.raises(MonMDPError, match="was not compared"):
        found.comparisons[0]["q-count"]


class Still:
    """An agent in plain Python that may not be used twice."""

    def __init__(self, shape=None, rng=None, broken=False):
        self.shape, self.broken = shape, broken

    def begin_episode(self):
        return False

    def act(self, observation):
        if self.broken:
            raise ValueError("I cannot")
        return {"env": 0, "mon": 0}

    def update(self, transition):
        pass

    def test_policy(self):
        se, sm, ae, am = self.shape
        return np.full((se * sm, ae * am), 1 / (ae * am))


def test_one_object_cannot_learn_for_several_seeds():
    problem = monmdp.make("loop", "ask")
    with pytest.raises(MonMDPError, match=r"one object cannot learn .* give what makes it, Still"):
        monmdp.compare(problem, [Still(problem.shape)], 200, seeds=2)


def test_an_agent_that_raises_is_an_error_that_names_it():
    with pytest.raises(MonMDPError, match="test_comparison:Still raised ValueError: I cannot"):
        monmdp.compare(monmdp.make("loop", "ask"), {"x": partial(Still, broken=True)}, 200, seeds=1)


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
    assert "behind" in out
    files = sorted((tmp_path / "out/runs").rglob("seed-0001.parquet"))
    assert [path.parent.name.rpartition("-")[0] for path in files] == [
        "loop-ask-rho=0.5-directed-e2",
        "loop-ask-rho=0.5-directed-e2-r0=-10.0",
        "loop-ask-rho=0.5-monitored-mbie-eb",
    ]
    (report,) = (tmp_path / "out/reports").iterdir()
    assert report.name.startswith("compare-loop-ask-")
    assert f"picture                  out/reports/{report.name}/compare.png" in out
    assert (report / "compare.png").read_bytes().startswith(b"\x89PNG")
    before = [path.stat().st_mtime_ns for path in files]
    code, out, _ = command(*words, *chosen, "--json")
    table = json.loads(out)
    assert [row["agent"] for row in table["agents"]] == [
        "monitored-mbie-eb", "directed-e2", "directed-e2 r0=-10",
    ]  # fmt: skip
    assert before == [path.stat().st_mtime_ns for path in files]
    assert table["reference"] == "monitored-mbie-eb"
    assert (table["seeds"], table["steps"], table["left_out"]) == ([0, 1], 500, {})
    assert table["problem_parameters"]["monitor.rho"] == 0.5
    assert table["report"] == f"out/reports/{report.name}"


def broken_beside(agents):
    """Words that compare on a small problem, with an agent in plain Python that always raises."""
    text = (ROOT / "examples" / "wanderer.py").read_text()
    Path("broken_one.py").write_text(text.replace("def act(", "def act_not("))
    return ["compare", "loop", "ask", "--agents", agents, "--unchecked", "--steps", 200]


@pytest.mark.parametrize("agents", ["broken_one:Wanderer,ucb", "ucb,broken_one:Wanderer"])
def test_an_agent_whose_runs_fail_is_named_and_the_others_are_kept(command, agents):
    words = [*broken_beside(agents), "--seeds", 1, "--jobs", 1]
    code, out, err = command(*words)
    assert code == 1
    assert "failed: loop-ask-broken_one_Wanderer" in err
    assert "1 run failed" in err
    assert len(list(Path("results/runs").rglob("seed-0000.parquet"))) == 1
    assert ("P(improvement)" in out) == agents.startswith("ucb")


@pytest.mark.slow
def test_by_default_all_agents_that_are_offered_are_compared(command):
    code, out, _ = command("compare", "loop", "semi-random", "--seeds", 1, "--steps", 200)
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("left out: ")]
    assert line.startswith("left out: known-monitor (agent 'known-monitor' is not offered for")
    assert "q-count" in out
    code, _, err = command(
        "compare", "loop", "semi-random", "--agents", "ucb,known-monitor", "--steps", 200
    )
    assert code == 2
    assert "not offered for monitor 'semi-random'" in err


def test_an_agent_is_resolved_once_and_the_first_once_more_for_its_discount(command, monkeypatch):
    found = []

    def counting(configuration, *more):
        found.append(configuration.agent)
        return resolve(configuration, *more)

    monkeypatch.setattr("monmdp.suites.plan.resolve", counting)
    code, _, _ = command("compare", "loop", "ask", "--agents", "ucb,q-count", "--seeds", 1,
                         "--steps", 200)  # fmt: skip
    assert code == 0
    assert found == ["ucb", "ucb", "q-count"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agents", "monitored-mbie-ee"], "did you mean 'monitored-mbie-eb'"),
        (["--agents", "ucb,beta=1"], "has no parameter 'beta'; monitored-mbie-eb"),
        (["--agents", "mbie-eb,bottom=oracle"], "has no parameter 'bottom'; directed-e2"),
        (["--steps", 10**20], "too large"),
        (["--steps", 10**15], "there is room for"),
        (["--agents", "ucb", "--seeds", 0], "--seeds"),
        (["--agents", "ucb", "roh=1"], "did you mean 'rho'"),
        (["--evaluation", "exat"], "exact"),
    ],
)
def test_mistakes_are_named_before_any_work(command, words, message, tmp_path):
    code, _, err = command("compare", "loop", "ask", *words)
    assert code == 2
    assert message in err
    assert not (tmp_path / "results").exists()


def test_all_agents_are_tested_with_the_discount_of_the_first(command):
    words = ["compare", "loop", "ask", "--seeds", 1, "--steps", 200, "--json"]
    code, out, err = command(*words, "--agents", "monitored-mbie-eb,gamma=0.9,ucb")
    assert code == 0, err
    table = json.loads(out)
    assert table["gamma"] == 0.9
    best = monmdp.solve(monmdp.make("loop", "ask"), 0.9).episode_return
    assert [row["episode_return_minimax"] for row in table["agents"]] == [best, best]


def test_who_counts_on_rewards_that_nobody_sees_is_told():
    """In minigrid-empty ⊥ pays 0 and might cost 1: a random walk may be worth less than paid."""
    found = monmdp.compare(
        monmdp.make("minigrid-empty", "ask"), ["epsilon-greedy"], 300, every=100, seeds=2
    )
    (table,) = found.comparisons
    (row,) = table.rows
    worst = row.of.exact_end.mean()
    assert row.of.worst == worst < row.end.estimate - 0.1
    assert table.remarks[0].startswith("These end returns count rewards that can never be seen")
    assert f"epsilon-greedy −{abs(worst):.4g}" in table.remarks[0]
    (seen,) = monmdp.compare(
        monmdp.make("loop", "ask"), ["epsilon-greedy"], 300, every=100, seeds=2
    ).comparisons
    assert not any(said.startswith("These") for said in seen.remarks)
