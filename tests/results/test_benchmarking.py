"""The benchmark: its settings, its number, the published file, and agents beside it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import monmdp
from conftest import ROOT, by_hand, worst_by_hand
from monmdp import MonMDPError, agents
from monmdp.experiment.streams import fingerprint
from monmdp.results import benchmarking
from monmdp.results.benchmarking import (
    BENCH,
    FILE,
    PROTOCOL,
    Bench,
    Scores,
    ask_bench,
    floor_of,
    load,
    protocol_hash,
    published,
    published_path,
    save,
    score,
    settings_plan,
)
from monmdp.results.sealed import write_sealed
from monmdp.schema import DamagedError
from monmdp.suites import bundled_suite
from monmdp.suites.configuration import problem_name

SEEDS = tuple(range(1000, 1010))
WANDERER = "examples.wanderer:Wanderer"


@pytest.fixture
def examples(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.syspath_prepend(tmp_path)


# ---- the settings -------------------------------------------------------------------------------


def test_the_settings_never_change():
    """Whoever wants other settings writes bench-v2: published numbers are of these."""
    assert protocol_hash(bundled_suite(BENCH)) == "6ced13f51c229ee8"


def test_every_part_of_a_setting_is_in_the_hash():
    suite = bundled_suite(BENCH)
    block = suite.experiment[-1]
    changed = [
        {"steps": 9_999}, {"rho": (0.5,)}, {"monitors": suite.experiment[0].monitors[:0]},
        {"worlds": suite.experiment[0].worlds}, {"every": 50}, {"seeds": (1, 2)},
    ]  # fmt: skip
    others = [
        suite.model_copy(
            update={"experiment": (*suite.experiment[:-1], block.model_copy(update=of))}
        )
        for of in changed
    ]
    others += [
        suite.model_copy(update=of) for of in ({"seeds": (0,)}, {"gamma": 0.9}, {"every": 50})
    ]
    hashes = {protocol_hash(of) for of in (suite, *others)}
    assert len(hashes) == 1 + len(others)
    words = suite.model_copy(update={"title": "Another title"})
    fewer = [of.model_copy(update={"agents": of.agents[:1]}) for of in suite.experiment]
    same = words.model_copy(update={"experiment": tuple(fewer)})
    assert protocol_hash(same) == protocol_hash(suite)


def test_the_problems_made_here_are_the_published_ones():
    plan, found = settings_plan(), published()
    names = []
    for panel in plan.figure.panels():
        (curve,) = panel.curves
        settings = plan.resolved[curve.configuration].settings
        names.append(problem_name(settings))
        protocol = {key: settings[key] for key in PROTOCOL}
        assert protocol == found.protocol(names[-1])
        assert curve.seeds == SEEDS
    assert names == list(found.by_setting)
    assert len(set(names)) == len(names) == 20


def test_the_published_file_is_whole_and_small():
    found = published()
    assert published_path().stat().st_size < 200_000
    assert found.agents == list(agents.registry)
    for setting, by_agent in found.by_setting.items():
        lacking = {"known-monitor"} if "semi-random" in setting else set()
        assert set(agents.registry) - set(by_agent) == lacking
        for rows in by_agent.values():
            assert tuple(row.seed for row in rows) == SEEDS
            assert len({row.kernel for row in rows}) == 1
            assert all(row.code is None for row in rows)


# ---- the number ---------------------------------------------------------------------------------


def by_the_formula(returns, v, u):
    """The score in plain Python, as the page has it."""
    b = max(u, v - max(1.0, abs(v)))
    tests = [min(1.0, max(0.0, (j - b) / (v - b))) for j in returns]
    return sum(tests) / len(tests)


numbers = st.floats(-100, 100)


@given(st.lists(numbers, min_size=1, max_size=6), numbers, st.floats(0.01, 100))
def test_the_score_is_the_formula(returns, v, gap):
    u = v - gap
    floor = max(u, v - max(1.0, abs(v)))
    found = float(score(np.array(returns), v, floor))
    assert found == pytest.approx(by_the_formula(returns, v, u), abs=1e-9)
    assert 0 <= found <= 1
    assert float(score(np.full(3, v), v, floor)) == pytest.approx(1)
    assert float(score(np.full(3, u), v, floor)) == 0


@pytest.mark.parametrize(
    ("world", "monitor", "given"),
    [("treasure-hunter", "ask", {}), ("random-mdp", "ask", {"seed": 1}), ("hazard", "button", {})],
)
def test_the_floor_is_the_uniform_policy_in_the_worst_case_or_short_of_v(world, monitor, given):
    problem = monmdp.make(world, monitor, **given)
    v = monmdp.solve(problem).episode_return
    worst = worst_by_hand(problem)  # counts what nobody can see as the least there is
    P, R, _ = by_hand(worst)
    value = np.zeros(len(R))
    for _ in range(problem.mdp.time_limit):
        value = (R + 0.99 * P @ value).mean(axis=1)
    uniform = float(problem.start @ value)
    assert floor_of(problem, 0.99, v) == pytest.approx(max(uniform, v - max(1, abs(v))))
    low = -1e3  # were v as low as this, the uniform policy would decide
    assert floor_of(problem, 0.99, low) == pytest.approx(uniform)


@pytest.mark.parametrize(
    ("agent", "setting"),
    [
        (
            "epsilon-greedy",
            "hazard-semi-random-hide=1.0",
        ),  # where M↓ differs from the true rewards
        pytest.param("r-max", "hazard-ask-rho=0.2", marks=pytest.mark.slow),
        pytest.param("factored-mbie-eb", "hazard-semi-random-hide=1.0", marks=pytest.mark.slow),
        pytest.param("known-monitor", "bottleneck-ask-rho=0.05", marks=pytest.mark.slow),
        pytest.param("directed-e2", "FrozenLake-v1-ask", marks=pytest.mark.slow),
        pytest.param("posterior-sampling", "random-mdp-ask-seed=1", marks=pytest.mark.slow),
    ],
)
def test_published_scores_come_out_again_to_the_bit(agent, setting):
    """And by the formula, from the curve of a run that was not made by way of the benchmark."""
    found = monmdp.bench(agent, only=setting, seeds=2)
    rows = published().by_setting[setting][agent]
    measured = ("score", "area", "end_return", "steps_to_1pct", "minimax", "floor")
    for now, then in zip(found.own.rows, rows, strict=False):
        assert [getattr(now, key) for key in measured] == [getattr(then, key) for key in measured]
    (resolved,) = found.results.plans[0].resolved.values()
    problem, steps = resolved.task.monmdp, resolved.task.steps
    run = monmdp.train(problem, agents.find(resolved.task.agent), steps, seed=SEEDS[1])
    v = monmdp.solve(problem).episode_return
    u = monmdp.Policy.uniform(problem).evaluate(problem)["worst_case_return"]
    assert rows[1].score == pytest.approx(by_the_formula(run.curve["worst_case_return"], v, u))
    assert rows[1].problem == fingerprint(problem)


# ---- the file -----------------------------------------------------------------------------------


def few(**changes):
    """Two agents, two settings, three seeds, made up."""
    row = replace(published().rows[0], **changes)
    rng = np.random.default_rng(0)
    rows = [
        replace(row, setting=setting, agent=agent, seed=seed, score=float(rng.random()))
        for setting in ("one", "two")
        for agent in ("a", "b")
        for seed in (0, 1, 2)
    ]
    return Scores(tuple(rows))


def test_scores_are_the_same_when_they_are_read_again():
    save(few(steps_to_1pct=None, code="ab"), "scores.parquet")
    assert load("scores.parquet") == few(steps_to_1pct=None, code="ab")
    save(published(), "all.parquet")
    assert load("all.parquet") == published()


def test_people_read_it_as_a_table():
    pd = pytest.importorskip("pandas")
    frame = pd.read_parquet(published_path())
    means = frame.groupby(["agent", "setting"])["score"].mean().groupby("agent").mean()
    overall = {of.agent: of.score.estimate for of in Bench(published()).ranking}
    assert len(frame) == len(published().rows)
    for agent, found in overall.items():
        assert means[agent] == pytest.approx(found)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"score": 1.5}, "score"),
        ({"score": float("nan")}, "score"),
        ({"area": float("inf")}, "area"),
        ({"seed": -1}, "seed"),
        ({"problem": "../../etc"}, "problem"),
        ({"steps": 0}, "steps"),
        ({"gamma": 2.0}, "gamma"),
        ({"steps_to_1pct": -5}, "steps_to_1pct"),
        ({"seed": 1}, "seed 1 is there twice"),
        ({"steps": 7}, "not comparable"),
    ],
)
def test_what_is_no_score_is_damaged(changes, why):
    import pyarrow as pa

    rows = [asdict(row) for row in few().rows]
    rows[0] |= changes
    table = pa.Table.from_pylist(rows, schema=benchmarking._schema())
    write_sealed("odd.parquet", table, {"format": benchmarking.FORMAT, "suite": BENCH})
    with pytest.raises(DamagedError, match=why):
        load("odd.parquet")


def test_other_files_are_refused():
    save(few(), "scores.parquet")
    content = bytearray(Path("scores.parquet").read_bytes())
    content[100] ^= 1
    Path("flipped.parquet").write_bytes(content)
    with pytest.raises(DamagedError, match="checksum"):
        load("flipped.parquet")
    with pytest.raises(DamagedError, match="format is 'monmdp-summary-7'"):
        load(ROOT / "docs/results/findings.parquet")
    with pytest.raises(MonMDPError, match="no such file"):
        load("nothing.parquet")
    import pyarrow as pa

    table = pa.Table.from_pylist([], schema=benchmarking._schema())
    write_sealed("other.parquet", table, {"format": benchmarking.FORMAT, "suite": "bench-v7"})
    with pytest.raises(DamagedError, match="of another benchmark, 'bench-v7'"):
        load("other.parquet")


# ---- beside the published ones ------------------------------------------------------------------


def test_the_ranking_is_by_the_mean_over_settings():
    theirs = few()
    rows = [replace(row, agent="mine", score=0.9) for row in theirs.rows if row.agent == "a"]
    own = Scores(tuple(row for row in rows if row.seed < 2))
    found = Bench(theirs, own)
    means = {"mine": 0.9}
    for agent in ("a", "b"):
        each = [
            np.mean([row.score for row in theirs.rows if (row.agent, row.setting) == (agent, name)])
            for name in ("one", "two")
        ]
        means[agent] = np.mean(each)
    assert [of.agent for of in found.ranking] == sorted(means, key=lambda of: -means[of])
    for of in found.ranking:
        assert of.score.estimate == pytest.approx(means[of.agent])
        assert of.runs == (4 if of.agent == "mine" else 6)
        if of.agent == "mine":
            assert of.improvement is None
            continue
        assert of.is_published
        higher = [  # by the two seeds that both have
            np.mean([y.score < 0.9 for y in theirs.by_setting[name][of.agent][:2] for _ in "xx"])
            for name in ("one", "two")
        ]
        assert of.improvement.estimate == pytest.approx(np.mean(higher))
    assert any("2 of 3 seeds" in note for note in found.notes)


def test_an_agent_without_some_setting_is_not_ranked():
    rows = [row for row in few().rows if (row.agent, row.setting) != ("b", "two")]
    found = Bench(Scores(tuple(rows)))
    assert [of.agent for of in found.ranking] == ["a"]
    assert "Not run in all of these settings: b." in found.notes
    # Nor does an own agent that lacks runs of a setting drag the published ones along.
    own = [replace(row, agent="mine") for row in few().rows if row.agent == "a"][:-1]
    partly = Bench(few(), Scores(tuple(own)))
    assert partly.settings == ["one"]
    assert "Left out, runs are missing: two." in partly.notes


@pytest.mark.usefixtures("examples")
def test_an_own_agent_is_put_beside_ours(command):
    words = ("bench", "--agent", WANDERER, "restlessness=0.5", "--only", "loop-ask", "--seeds", 2)
    code, out, err = command(*words, "--jobs", 1)
    assert code == 0, err
    assert f"{WANDERER}" in out
    assert "1 of 20 settings: no score of bench-v1 as a whole." in out
    assert "2 of 10 seeds" in out
    (file,) = Path("results/reports").glob(f"*/{FILE}")
    assert str(file) in out
    own = load(file)
    assert [(row.agent, row.seed) for row in own.rows] == [
        (f"{WANDERER} restlessness=0.5", seed) for seed in SEEDS[:2]
    ]
    assert all(row.code for row in own.rows)
    code, out, _ = command(*words, "--json")
    told = json.loads(out)
    assert code == 0
    assert [of["agent"] for of in told["agents"] if of["from"] == "here"] == [own.rows[0].agent]
    assert told["settings"][0]["score"] == pytest.approx(np.mean([row.score for row in own.rows]))
    assert told["protocol"] == protocol_hash(bundled_suite(BENCH))
    code, out, _ = command("status", "results")
    assert "2" in out
    assert code == 0


def test_objects_are_benched_in_python():
    config = agents.RMax(m=3)
    found = monmdp.bench(config, label="mine", only=["loop-ask"], seeds=2, jobs=1)
    assert [of.agent for of in found.ranking if not of.is_published] == ["mine"]
    assert "mine" in found._repr_html_()
    alone = monmdp.bench(only="loop-ask")
    assert alone.results is None
    assert {of.agent for of in alone.ranking} == set(agents.registry)


def test_what_is_wrong_is_said_before_anything_is_run(command):
    assert "did you mean 'loop-ask'" in command("bench", "--agent", "r-max", "--only", "lop-ask")[2]
    assert "lists its seeds, and there are 10" in command("bench", "--agent=r-max", "--seeds=11")[2]
    assert "unknown agent 'rmax'" in command("bench", "--agent", "rmax")[2]
    assert "'mm'" in command("bench", "--agent", "r-max", "mm=3")[2]
    assert "Name an --agent" in command("bench", "m=3")[2]
    assert not Path("results").exists()


def test_a_setting_whose_problem_is_another_one_here_is_left_out(monkeypatch):
    rows = published().rows
    other = [replace(row, problem="0" * 16) if row.setting == "loop-ask" else row for row in rows]
    monkeypatch.setattr(benchmarking, "published", lambda: Scores(tuple(other)))
    asked = ask_bench("r-max", label="r-max")
    assert asked.left_out == {"loop-ask": "not comparable with the published runs, another problem"}
    (plan,) = asked.request.plans
    assert len(plan.resolved) == 19
    with pytest.raises(MonMDPError, match="not comparable with the published runs"):
        ask_bench("r-max", label="r-max", only=["loop-ask"])


def test_an_agent_that_is_not_meant_for_a_setting_goes_without_it():
    asked = ask_bench("known-monitor", label="known-monitor")
    assert set(asked.left_out) == {"empty-semi-random", "hazard-semi-random-hide=1.0"}
    assert "not offered" in asked.left_out["empty-semi-random"]


def test_runs_of_another_version_are_told(monkeypatch):
    rows = [replace(row, version="0.0.1") for row in published().rows]
    assert any("made by monmdp 0.0.1; this is" in note for note in Bench(Scores(tuple(rows))).notes)
    assert not any("made by monmdp" in note for note in Bench(published()).notes)


# ---- compare … --against published --------------------------------------------------------------


def test_published_runs_stand_beside_those_of_compare():
    problem = monmdp.make("hazard", "ask", rho=0.2)
    found = monmdp.compare(problem, ["r-max"], 10_000, seeds=6, jobs=1, against="published")
    (table,) = found.comparisons
    assert [of.agent for of in table.published] == list(agents.registry)
    ours, theirs = table["r-max"], {of.agent: of for of in table.published}
    # Our own runs of the same agent are the published ones: all that is told of them is the same.
    same = theirs["r-max"]
    assert (same.end, same.area, same.steps_to_1pct) == (ours.end, ours.area, ours.steps_to_1pct)
    assert same.cells()[5:7] == ours.cells()[5:7]
    assert same.behind.estimate == 0
    assert same.improvement.estimate == 0.5
    text = str(table)
    assert "factored-mbie-eb (published)" in text
    assert len(table.to_dict()["published"]) == 13
    assert table.seeds == SEEDS[:6]
    with pytest.raises(MonMDPError, match="seeds besides the published ones"):
        monmdp.compare(problem, ["r-max"], 10_000, seeds=[1000, 5], against="published")
    some = monmdp.compare(problem, ["r-max"], 10_000, seeds=[1003], against="published")
    assert some.comparisons[0].seeds == (1003,)


def test_the_median_of_published_steps_counts_runs_that_never_get_there():
    problem = monmdp.make("loop", "ask")
    found = monmdp.compare(problem, ["intrinsic"], 5_000, seeds=4, jobs=1, against="published")
    (table,) = found.comparisons
    (same,) = (of for of in table.published if of.agent == "intrinsic")
    reached = sorted(step for step in same.steps_to_1pct if step is not None)
    assert len(reached) == 2, "else this says nothing"
    assert same.cells()[6] == table["intrinsic"].median_steps == reached[1]


def test_what_differs_is_said_with_a_command_that_would_do(command):
    words = ("compare", "hazard", "ask", "--agents", "r-max")
    code, _, err = command(*words, "rho=0.2", "--against", "published")
    assert code == 2
    assert "hazard-ask-rho=0.2, and what was asked for has steps 20,000 instead of 10,000" in err
    assert "seeds besides the published ones, 1000 to 1009" in err
    right = "monmdp compare hazard ask rho=0.2 --agents r-max --steps 10000 --seeds 10"
    assert f"{right} --against published" in err
    code, _, err = command(*words, "rho=0.3", "--against", "published", "--seeds", 2)
    assert "has another problem" in err
    assert "this would do: monmdp compare hazard ask rho=0.2" in err
    assert "against 'published' ones, got 'all'" in command(*words, "--against", "all")[2]
    code, _, err = command("compare", "gymnasium:FrozenLake-v1", "ask", "--against", "published")
    assert "monmdp compare gymnasium:FrozenLake-v1 ask --steps 10000" in err
    assert not Path("results").exists()


@pytest.mark.slow
@pytest.mark.parametrize("setting", list(published().by_setting))
def test_the_command_for_a_setting_is_accepted(setting):
    words = benchmarking._command_words(setting)
    world, monitor, *given = words
    problem = monmdp.make(world, monitor, **dict(word.split("=") for word in given))
    assert fingerprint(problem) == published().protocol(setting)["problem"]
