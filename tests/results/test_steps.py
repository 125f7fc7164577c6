"""Steps to the minimax-optimal policy: tables, ratios, the best of a grid, claims about them."""

from __future__ import annotations

import importlib.util
import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from conftest import ROOT
from monmdp import MonMDPError, planning
from monmdp.experiment import Run
from monmdp.results import check_claims, publish
from monmdp.results import evidence as evidence_file
from monmdp.results.checks import Verdict
from monmdp.results.evidence import Evidence, aggregate
from monmdp.results.steps import SIDE_BY_SIDE, steps_of_both, steps_tables
from monmdp.results.store import COLUMNS
from monmdp.stats import contrast, geometric_mean, ratio_of_means
from monmdp.suites import bundled_suite, expand, parse
from monmdp.tables import render

EVERY, BUDGET = 100, 1000


def planned(*blocks, **settings):
    content = {"name": "mine", "steps": BUDGET, "every": EVERY, "seeds": 6, **settings}
    return expand(parse(content | {"experiment": list(blocks)}, "mine.toml"))


@cache
def minimax(problem, gamma):
    return planning.solve(problem, gamma).episode_return


def evidence_of(plan, story, skip=()):
    """Made-up runs: `story(label, panel)` are the steps of every seed, None for never."""
    aggregates = {}
    for panel in plan.figure.panels():
        for curve in panel.curves:
            if curve.label in skip:
                continue
            found = plan.resolved[curve.configuration]
            v = minimax(found.task.monmdp, found.settings["gamma"])
            step = np.arange(0, found.settings["steps"], found.settings["every"])
            runs = []
            for seed, at in zip(curve.seeds, story(curve.label, panel), strict=False):
                columns = {name: np.zeros(len(step)) for name in COLUMNS}
                good = np.full(len(step), False) if at is None else step >= at
                columns["worst_case_return"] = np.where(good, v, v - 1.0)
                columns["finished_episodes"] = step / 10
                columns["training_return"] = step / 10 * (v - 0.5) + seed
                columns["worst_steps"] = step / 100 + seed
                made = {"kernel": found.kernel, "wall_seconds": 2.0, "cpu_seconds": 1.0 + seed}
                runs.append(Run(found.settings, seed, step, columns, provenance=made))
            aggregates[found.id] = aggregate(found.id, found.settings, runs, v, kernel=found.kernel)
    return Evidence((plan.figure,), aggregates, {"versions": {}, "machine": {}})


BOTH = {"agents": ["monitored-mbie-eb", "mbie-eb"]}
TWO = {"worlds": ["loop", "hazard"], "monitors": ["ask"]} | BOTH
STEPS = {
    ("monitored-mbie-eb", "loop"): [100, 200, 300, 200, 100, 300],
    ("mbie-eb", "loop"): [300, 500, 600, 500, 300, 700],
    ("monitored-mbie-eb", "hazard"): [600, 700, 800, 900, 600, 700],
    ("mbie-eb", "hazard"): [300, 500, None, 400, 300, 200],
}


def by_world(label, panel):
    return STEPS[label, panel.world]


def steps_text(tables):
    return render("steps.md.j2", groups=tables)


# ---- statistics -----------------------------------------------------------------------------


def test_a_geometric_mean_by_hand():
    assert geometric_mean([1, 10, 100]) == pytest.approx(10)
    assert geometric_mean(7.0) == pytest.approx(7)
    for wrong in ([], [0.0, 1.0], [-1.0], [np.nan], [np.inf]):
        with pytest.raises(MonMDPError, match="above 0"):
            geometric_mean(wrong)


def test_a_ratio_by_hand_and_its_interval_by_a_slow_bootstrap():
    rng = np.random.default_rng(3)
    theirs = [rng.uniform(500, 900, 8), rng.uniform(50, 90, 5)]
    ours = [0.5 * theirs[0] * rng.uniform(0.9, 1.1, 8), 0.25 * theirs[1]]
    found = ratio_of_means(theirs, ours, np.random.default_rng(0), 4000)
    exact = math.sqrt(theirs[0].mean() / ours[0].mean() * 4)
    assert found.estimate == pytest.approx(exact)
    ratios = []
    for _ in range(4000):
        product = 1.0
        for above, below in zip(theirs, ours, strict=True):
            drawn = rng.integers(len(above), size=len(above))  # the same seeds on both sides
            product *= above[drawn].mean() / below[drawn].mean()
        ratios.append(math.sqrt(product))
    low, high = np.quantile(ratios, [0.025, 0.975])
    assert found.low == pytest.approx(low, rel=0.01)
    assert found.high == pytest.approx(high, rel=0.01)


def test_paired_seeds_leave_no_doubt_where_a_ratio_is_the_same_for_all():
    theirs = [[100.0, 900.0, 300.0]]
    found = ratio_of_means(theirs, [np.array(theirs[0]) / 5], np.random.default_rng(0))
    assert found == pytest.approx((5, 5, 5))
    one = ratio_of_means([[4.0]], [[2.0]], np.random.default_rng(0))
    assert one.estimate == 2
    assert np.isnan(one.low)
    with pytest.raises(MonMDPError, match="seeds are paired"):
        ratio_of_means([[1.0, 2.0]], [[1.0]], np.random.default_rng(0))
    with pytest.raises(MonMDPError, match="both sides need the same tasks"):
        ratio_of_means([[1.0]], [], np.random.default_rng(0))


# ---- tables ---------------------------------------------------------------------------------


def test_a_table_by_hand():
    known = evidence_of(planned(TWO), by_world)
    (table,) = steps_tables(known.figures[0], known)
    assert table.reference == "Monitored MBIE-EB"
    ours, theirs = table.agents
    assert (ours.agent, theirs.agent) == ("Monitored MBIE-EB", "MBIE-EB")
    hazard = [300, 500, BUDGET, 400, 300, 200]
    assert ours.steps == pytest.approx(math.sqrt(200 * 4300 / 6))
    assert theirs.steps == pytest.approx(math.sqrt(2900 / 6 * sum(hazard) / 6))
    assert ours.ratio is None
    assert ours.worse == ours.more == ()
    assert theirs.ratio.estimate == pytest.approx(theirs.steps / ours.steps)
    assert theirs.ratio.low < theirs.ratio.estimate < theirs.ratio.high
    apart = np.array(STEPS["monitored-mbie-eb", "hazard"]) - hazard
    assert stats.ttest_1samp(apart, 0).pvalue > 0.05
    assert theirs.worse == ()
    assert theirs.more == ("hazard / ask",)
    assert (ours.never, theirs.never, theirs.runs, theirs.settings) == (0, 1, 12, 2)
    # the last test is at step 900: 90 episodes, each of which lost a half, less the seed's luck
    assert ours.regret == pytest.approx(45 - 2.5)
    assert ours.worst_steps == pytest.approx(9 + 2.5)
    assert ours.microseconds == pytest.approx(1e6 * 3.5 / BUDGET)
    seconds = [
        np.mean([(1 + seed) * at / BUDGET for seed, at in enumerate(STEPS["monitored-mbie-eb", w])])
        for w in ("loop", "hazard")
    ]
    assert ours.seconds == pytest.approx(np.mean(seconds))


def test_worse_is_what_the_paired_t_test_says():
    rng = np.random.default_rng(1)
    story = {}
    for world in ("loop", "hazard", "empty", "corridor"):
        base = rng.integers(1, 6, 6) * 100
        more = rng.integers(0, 4, 6) * 100
        story["monitored-mbie-eb", world] = [int(x) for x in base + more]
        story["mbie-eb", world] = [int(x) for x in base]
    worlds = ["loop", "hazard", "empty", "corridor"]
    known = evidence_of(planned(TWO | {"worlds": worlds}), lambda a, p: story[a, p.world])
    (table,) = steps_tables(known.figures[0], known)
    expected = []
    for world in worlds:
        ours, theirs = (story[a, world] for a in ("monitored-mbie-eb", "mbie-eb"))
        test = stats.ttest_rel(ours, theirs)
        if test.confidence_interval(0.95).low > 0:
            expected.append(f"{world} / ask")
    assert list(table.agents[1].worse) == expected
    assert set(expected) < set(table.agents[1].more)
    assert 0 < len(expected) < 4
    (other,) = steps_tables(known.figures[0], known, reference="MBIE-EB")
    assert other.reference == "MBIE-EB"
    assert other.agents[0].ratio.estimate == pytest.approx(1 / table.agents[1].ratio.estimate)
    assert other.agents[0].worse == other.agents[0].more == ()


def test_seeds_are_paired_by_their_numbers():
    known = evidence_of(planned(TWO), by_world)
    one, other = (of for of in known.aggregates.values() if of.settings["world"] == "loop")
    fewer = evidence_of(planned(TWO | {"seeds": [4, 1, 9]}), lambda *_: [700, 900, 800])
    third = next(of for of in fewer.aggregates.values() if of.settings["world"] == "loop")
    assert [list(of) for of in steps_of_both(one, third)] == [[200, 100], [900, 700]]
    ours, theirs = steps_of_both(one, other)
    assert contrast([(1.0, ours - theirs)]).estimate == pytest.approx(200 - 2900 / 6)


def test_what_is_optimal_at_once_counts_one_spacing_of_tests():
    known = evidence_of(planned(TWO), lambda *_: [0] * 6)
    (table,) = steps_tables(known.figures[0], known)
    assert [of.steps for of in table.agents] == pytest.approx([EVERY, EVERY])
    assert table.agents[1].ratio == pytest.approx((1, 1, 1))


def test_blocks_of_one_title_are_one_group_and_agents_may_be_missing():
    named = TWO | {"title": "first"}
    alone = {"worlds": ["empty"], "monitors": ["semi-random"], "agents": ["mbie-eb"]}
    plan = planned(
        named, alone | {"title": "first"}, TWO | {"monitors": ["full"]}, reference="mbie-eb"
    )
    known = evidence_of(plan, lambda a, p: STEPS.get((a, p.world), [300] * 6))
    first, second = steps_tables(plan.figure, known)
    assert (first.group, second.group, first.reference) == ("first", "", "MBIE-EB")
    assert [(of.agent, of.settings) for of in first.agents] == [
        ("Monitored MBIE-EB", 2),
        ("MBIE-EB", 3),
    ]
    assert first.best().agent == "MBIE-EB"
    assert "| empty / semi-random | – | 300 [300, 300] |" in steps_text([first])
    missing = evidence_of(plan, lambda *_: [300] * 6, skip=["mbie-eb"])
    assert [of.reference for of in steps_tables(plan.figure, missing)] == ["Monitored MBIE-EB"] * 2
    with pytest.raises(MonMDPError, match="no agent is called 'MBIE'"):
        steps_tables(plan.figure, known, "MBIE")


def test_panels_of_one_problem_are_one_setting():
    again = TWO | {"x_range": [0, 500], "agents": ["monitored-mbie-eb", "directed-e2"]}
    plan = planned(TWO, again, TWO | {"overrides": [{"beta": 0.5}]})
    (table,) = steps_tables(plan.figure, evidence_of(plan, lambda *_: [300] * 6))
    names = [setting.name for setting in table.settings]
    assert names == ["loop / ask", "hazard / ask", "loop beta=0.5 / ask", "hazard beta=0.5 / ask"]
    assert list(table.settings[0].runs) == ["Monitored MBIE-EB", "MBIE-EB", "Directed-E²"]


@pytest.mark.slow
def test_the_best_of_a_grid_comes_first():
    grid = {"beta": [0.1, 0.2, 0.3, 0.4, 0.5], "growth": ["paper", "log"], "sweeps": [1, 2]}
    plan = planned(TWO | {"agents": [{"name": "mbie-eb", "grid": grid}]})
    assert len({curve.label for curve in plan.figure.curves()}) > SIDE_BY_SIDE
    best = "mbie-eb beta=0.3 growth=log sweeps=1"

    def story(label, panel):
        return [200 if label == best else 300 + 100 * (panel.world == "loop")] * 6

    known = evidence_of(plan, story)
    (table,) = steps_tables(plan.figure, known)
    shown = "MBIE-EB (beta=0.3 growth=log sweeps=1)"
    assert table.best().agent == shown
    assert [of.steps for of in table._shown()] == sorted(of.steps for of in table.agents)
    lines = steps_text([table]).splitlines()
    first = lines.index(next(line for line in lines if line.startswith("|---")))
    assert lines[first + 1].startswith(f"| {shown} | 2 | 200 |")
    head = next(line for line in lines if line.startswith("| setting |"))
    assert head.count("|") == SIDE_BY_SIDE + 2
    written = publish(Path("here"), known)
    assert written.pictures == ()
    assert written.steps[0].best().agent == shown


def test_the_files_of_a_report():
    known = evidence_of(planned(TWO), by_world)
    publish(Path("here"), known)
    text = Path("here/steps.md").read_text()
    cells = []
    for agent in ("monitored-mbie-eb", "mbie-eb"):
        steps = [BUDGET if at is None else at for at in STEPS[agent, "hazard"]]
        mean, half = np.mean(steps), 1.96 * stats.sem(steps)
        cells.append(f"{mean:,.0f} [{mean - half:,.0f}, {mean + half:,.0f}]")
    assert f"| hazard / ask | {cells[0]} | {cells[1]}, 1 never |" in text
    assert "| loop / ask | 42.5 [41.0, 44.0] | 42.5 [41.0, 44.0] |" in text
    assert "| loop / ask | 12 [10, 13] | 12 [10, 13] |" in text
    content = json.loads(Path("here/steps.json").read_text())
    (data,) = content["tables"]
    assert data["agents"][1]["never"] == 1
    hazard = data["settings"][1]["agents"]["MBIE-EB"]
    assert hazard["steps_to_1pct"] == STEPS["mbie-eb", "hazard"]
    again = evidence_file.load("here/summary.parquet")
    publish(Path("again"), again)
    assert Path("again/steps.md").read_text() == text
    assert Path("again/steps.json").read_bytes() == Path("here/steps.json").read_bytes()
    assert not Path("here/claims.md").exists()


def test_unknown_times_are_no_numbers():
    plan = planned(TWO)
    known = evidence_of(plan, by_world)
    for of in known.aggregates.values():
        of.cpu_of_seed[:] = np.nan
    (table,) = steps_tables(plan.figure, known)
    assert "| – | – |" in steps_text([table])
    assert table.to_dict()["agents"][0]["cpu_seconds_until_converged"] is None


# ---- claims about steps ---------------------------------------------------------------------

OURS, RIVAL, KNOWN = "r-max", "mbie-eb", "known-monitor"
SAID = [
    {"check": "times-fewer-steps", "rival": RIVAL, "times": 5},
    {"check": "times-fewer-steps", "rival": KNOWN, "times": 1},
    {"check": "not-worse", "rival": RIVAL},
    {"check": "every-seed-converges"},
]
BLOCK = {"worlds": ["loop", "hazard"], "monitors": ["ask"], "rho": [1.0, 0.2]}


@cache
def claiming(seeds=5):
    """A suite that says of its steps what `beyond` says of its own."""
    sentences = [{"says": of["check"], "agent": OURS, **of} for of in SAID]
    claim = {"name": "B", "about": "steps", "sentence": sentences}
    block = BLOCK | {"agents": [OURS, RIVAL, KNOWN]}
    return planned(block, claim=[claim], seeds=seeds, steps=50_000, every=1000)


def told(change=lambda label, panel, steps: steps):
    """Steps of every agent, all seeds alike but for what is changed."""

    def story(label, panel):
        usual = {OURS: 2000, RIVAL: 12_000, KNOWN: 4000}
        return change(label, panel, [usual[label]] * 5)

    return story


def judged(story, seeds=5):
    (claim,) = check_claims(evidence_of(claiming(seeds), story))
    return claim.sentences


def test_beyond_speaks_of_all_its_settings():
    counts = {of.name: [said.of for said in of.sentence] for of in bundled_suite("beyond").claim}
    assert counts == {
        "B1": [24] * 3, "B2": [48] * 3, "B3": [10] * 3, "B4": [4] * 2, "B6": [26, 2, 2, 20],
        "B7": [12] * 2, "B8": [24, 4],
    }  # fmt: skip


def test_settings_of_one_world_and_monitor_go_by_their_labels():
    rivers = [{"name": "river-swim", "length": n, "label": f"river {n}"} for n in (4, 5)]
    block = {"worlds": [*rivers, "loop"], "monitors": ["ask"], "agents": [OURS]}
    sentence = {"says": "x", "agent": OURS, "check": "every-seed-converges"}
    plan = planned(block, claim=[{"name": "B", "sentence": [sentence]}], seeds=5)
    (claim,) = check_claims(evidence_of(plan, lambda *_: [200] * 5))
    names = [check.setting for check in claim.sentences[0].checks]
    assert names == ["loop/ask", "river 5/ask", "river 4/ask"]


def test_claims_about_steps_hold():
    found = judged(told())
    assert [of.verdict for of in found] == [Verdict.HOLDS] * 4
    assert found[0].checks[0].interval == pytest.approx((6, 6, 6))
    assert found[0].measured == "6 [6, 6] times, over 4 settings; said: 5"
    assert found[2].measured == "better in 4 of 4"
    assert found[3].measured == "4 of 4 hold"


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        # fewer times than said, none at all, and too close to tell
        (lambda a, _, s: [6000] * 5 if a == RIVAL else s, {0: Verdict.OTHER}),
        (lambda a, _, s: [1000] * 5 if a == KNOWN else s, {1: Verdict.NOT}),
        (lambda a, _, s: [2000] * 5 if a == KNOWN else s, {1: Verdict.NOT}),
        (lambda a, _, s: [1000, 3000, 2000, 3000, 2000] if a == KNOWN else s, {1: Verdict.OPEN}),
        # worse in one setting
        (lambda a, p, s: [20_000 + x * 1000 for x in range(5)]
         if (a, p.world, p.rho) == (OURS, "loop", 0.2) else s,
         {0: Verdict.OTHER, 2: Verdict.NOT}),
        # one seed never gets there, so its own steps are a lower bound
        (lambda a, p, s: [2000] * 4 + [None] if (a, p.world, p.rho) == (OURS, "loop", 0.2) else s,
         {0: Verdict.OPEN, 1: Verdict.OPEN, 3: Verdict.NOT}),
    ],
)  # fmt: skip
def test_each_claim_about_steps_fails_when_it_should(change, verdicts):
    for i, of in enumerate(judged(told(change))):
        assert of.verdict is verdicts.get(i, Verdict.HOLDS), of


def test_that_nothing_is_worse_beyond_chance_needs_no_proof_of_equality():
    def change(label, _, steps):
        return [1000, 30_000, 2000, 1000, 40_000] if label == OURS else steps

    of = judged(told(change))[2]
    assert all(check.interval.contains(0) for check in of.checks)
    assert of.verdict is Verdict.HOLDS
    assert "open in 4" in of.measured


def test_fewer_than_five_seeds_decide_nothing_about_steps():
    assert {of.verdict for of in judged(lambda a, p: told()(a, p)[:4], 4)} == {Verdict.OPEN}


# ---- what planning costs --------------------------------------------------------------------


def test_the_benchmark_of_planning(monkeypatch, capsys):
    path = ROOT / "benchmarks" / "planning_cost.py"
    spec = importlib.util.spec_from_file_location("planning_cost", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    words = ["mbie-eb sweeps=1", "--only", "river", "--steps", "400", "--repeats", "2"]
    for limit, status, said in (("1e9", 0, "holds"), ("0", 1, "does not hold")):
        more = ["--seeds", "1", "--budget", "400", "--limit", limit]
        monkeypatch.setattr("sys.argv", ["planning_cost.py", *words, *more])
        with pytest.raises(SystemExit) as ended:
            module.main()
        assert ended.value.code == status
        out = capsys.readouterr().out
        assert "| river-swim full | " in out
        assert out.rstrip().endswith(f"times: {said}")
