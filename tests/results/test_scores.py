"""Tables of scores, from made-up runs and by hand."""

import dataclasses
import json

import numpy as np
import pytest

from made_up import OURS, RIVAL, made, minimax, plan_of
from monmdp.results.evidence import Evidence
from monmdp.results.scores import suite_table


def runs(aggregate, values, **more):
    """Any runs, with these areas and ends; v is 1."""
    values = np.asarray(values, dtype=float)
    return dataclasses.replace(
        aggregate, seeds=tuple(range(len(values))), area=values, minimax=1.0,
        end={**aggregate.end, "episode_return": values}, **more,
    )  # fmt: skip


def table_of(areas, times, seeds=None):
    """A table of figure 9 with {agent: [task][seed]} areas (= ends) and steps, None for never."""
    plan = plan_of(9)
    panels = list(plan.figure.panels())
    base = made([9], seeds=2)[0].aggregates
    aggregates = {}
    for agent, tasks in areas.items():
        for task, values in enumerate(tasks):
            if values is None:
                continue
            name = panels[task][agent].configuration
            when = times[agent][task]
            aggregates[name] = dataclasses.replace(
                runs(base[name], values),
                seeds=tuple(range(len(values))) if seeds is None else seeds[agent][task],
                steps_to_optimal=np.array([50000 if t is None else t for t in when]),
                optimal=np.array([t is not None for t in when]),
            )
    return suite_table(plan.figure, Evidence((plan.figure,), aggregates, {}))


def test_table_by_hand():
    """v is 1, so that scores are the returns themselves."""
    areas = {
        OURS: [[0.9, 0.8, 0.7, 0.6], [0.5, 0.4, 0.3, 0.2]],
        RIVAL: [[0.1, 0.8, 0.9, 0.9], [0.0, 0.0, 0.0, 0.3]],
    }
    times = {
        OURS: [[100, 200, 300, 400], [500, 600, None, None]],
        RIVAL: [[100, None, None, None], [None] * 4],
    }
    table = table_of(areas, times)
    assert table.problems == 2
    assert len(table.left_out) == 4
    ours, rival = table.rows
    assert (ours.agent, rival.agent) == ("Monitored MBIE-EB", "Directed-E² (r₀ = −10)")
    # Eight scores, the middle four: .4 .5 .6 .7, and 0 .1 .3 .8
    assert ours.iqm_area.estimate == pytest.approx(0.55)
    assert rival.iqm_end.estimate == pytest.approx(0.3)
    assert ours.iqm_area.low <= 0.55 <= ours.iqm_area.high
    # First problem: of 16 pairs .9 wins 2 and ties 2 of them, .8 wins 1 and ties 1, .7 and .6 win
    # 1 each: 5 + 3/2. Second: .5 and .4 win 4 each, .3 wins 3 and ties 1, .2 wins 3: 14 + 1/2.
    assert rival.improvement.estimate == pytest.approx((6.5 / 16 + 14.5 / 16) / 2)
    assert ours.improvement is None
    assert (ours.optimal, ours.runs, rival.optimal, rival.runs) == (6, 8, 1, 8)
    # Half of eight have got there at 400; of the rival never.
    assert (ours.median_steps, rival.median_steps) == (400, None)
    assert ours.mean_steps == pytest.approx((100 + 200 + 300 + 400 + 500 + 600 + 2 * 50000) / 8)
    assert rival.mean_steps == pytest.approx((100 + 7 * 50000) / 8)
    text = table.table().to_markdown()
    assert "| 6 of 8 | 400 | 12,762 |" in text
    assert "| 1 of 8 | never | 43,762 |" in text
    data = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert data["agents"][1]["median_steps_to_1pct"] is None
    assert data["agents"][0]["iqm_area"] == pytest.approx(0.55)
    assert (data["agents"][0]["optimal_runs"], data["agents"][0]["runs"]) == (6, 8)


def test_table_of_scores_that_are_not_around_one():
    evidence, *_ = made([4], seeds=3, noise=0.0)
    ours, rival = suite_table(evidence.figures[0], evidence).rows
    assert ours.iqm_end.estimate == pytest.approx(1.0)
    v = [minimax("bottleneck", "button", rho, False) for rho in (1.0, 0.05)]
    # Nine scores, two cut off on either side: of -340 - v, -300 - v and 1 thrice each.
    low, middle = 1 - 340 - v[1], 1 - 300 - v[0]
    assert rival.iqm_end.estimate == pytest.approx((low + 3 * middle + 1) / 5)


def test_panels_of_the_same_runs_are_one_problem():
    evidence, *_ = made([4], seeds=3)
    table = suite_table(evidence.figures[0], evidence)
    assert table.problems == 3
    assert table.left_out == ()
    assert [row.runs for row in table.rows] == [9, 9]


def test_problems_with_other_seeds_are_left_out():
    three, two = [0.1, 0.2, 0.3], [0.1, 0.2]
    areas = {OURS: [three, three, two, three], RIVAL: [three, three, two, two]}
    times = {agent: [[None] * len(x) for x in tasks] for agent, tasks in areas.items()}
    table = table_of(areas, times)
    assert table.problems == 2
    assert table.left_out == tuple(
        f"bottleneck / {m}" for m in ("n-supporters", "n-experts", "level-up", "button")
    )
    # As many seeds are not the same seeds.
    seeds = {OURS: [(0, 1, 2)] * 2, RIVAL: [(0, 1, 2), (0, 1, 3)]}
    table = table_of({agent: [three] * 2 for agent in areas}, {a: [[None] * 3] * 2 for a in areas},
                     seeds)  # fmt: skip
    assert table.problems == 1
    single = table_of({agent: [[0.1]] for agent in areas}, {agent: [[None]] for agent in areas})
    assert single is None
