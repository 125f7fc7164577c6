"""What reports rest on: which runs, done by whom and in what time, summed up by which rule."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import monmdp
from conftest import ROOT
from monmdp import agents, catalogue, planning
from monmdp.agents import contract, greedy, monitored_mbie_eb, q_learning
from monmdp.drawing import PanelData, RowData, panel_grid, styles
from monmdp.drawing.panels import CurveData
from monmdp.experiment import Run, provenance
from monmdp.results import evidence, execute, gather, publish, runner
from monmdp.results.figures import draw
from monmdp.results.request import ask_paper, ask_suite, read_sessions
from monmdp.results.scores import cpu_seconds
from monmdp.results.store import COLUMNS, read_run, run_path, write_run
from monmdp.stats import steps_to_v_bootstrap
from monmdp.suites import Resolved, expand, load, parse

SUITE = """
name = "few"
steps = 400
every = 50
evaluation = "monte-carlo"
episodes = 3
seeds = 6

[[experiment]]
worlds = ["loop", "hazard"]
monitors = ["ask", "button"]
agents = ["monitored-mbie-eb", "mbie-eb"]
"""
RUNS = 2 * 2 * 2 * 6
CLOCKS = ("perf_counter", "thread_time", "process_time", "monotonic", "time")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """A suite, done with two jobs."""
    folder = tmp_path_factory.mktemp("few")
    (folder / "few.toml").write_text(SUITE)
    outcome = execute(folder, asked_of(folder).runs(), jobs=2)
    assert not outcome.failures
    assert outcome.progress.done == RUNS
    return folder


def asked_of(folder, **changes):
    return ask_suite(load(folder / "few.toml"), **changes)


def runs_of(folder, resolved, seeds=range(6)):
    return [read_run(run_path(folder, resolved.id, seed)) for seed in seeds]


def gathered(folder, plans):
    return gather(plans, evidence.reader(folder), {})


def small(**changes):
    """A plan with one configuration of a small problem."""
    block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"]}
    content = {"name": "one", "steps": 300, "every": 100, "seeds": 3} | changes
    content["experiment"] = [block | content.pop("block", {})]
    return ask_suite(parse(content, "test"))


# ---- the runner -----------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["step", *COLUMNS])
def test_the_data_of_a_run_are_all_its_columns(few, column):
    configuration = next(iter(asked_of(few).runs().values()))
    (run,) = runs_of(few, configuration, [0])
    assert set(run.curve) == set(COLUMNS)
    whole = run.data()
    values = run.step if column == "step" else run.curve[column]
    other = values.copy()
    other[-1] += 1
    if column == "step":
        changed = replace(run, step=other)
    else:
        changed = replace(run, curve={**run.curve, column: other})
    assert len(whole) == 8 * (1 + len(COLUMNS)) * len(run.step)
    assert changed.data() != whole
    assert replace(run, seed=1, provenance={}).data() == whole


def test_no_run_has_the_cpu_seconds_of_others(few):
    for configuration in set(asked_of(few).runs().values()):
        for run in runs_of(few, configuration):
            made = run.provenance
            assert 0 < made["cpu_seconds"] <= 1.1 * made["wall_seconds"] + 0.05


def test_cpu_seconds_are_those_of_the_runs_own_thread(monkeypatch):
    """While it waits, another thread works, however many cores there are."""
    ((_, resolved),) = small(seeds=1).runs().items()
    real = runner.carry_out

    def burn():
        while time.thread_time() < 0.3:
            pass

    def waiting(*words):
        other = threading.Thread(target=burn)
        other.start()
        other.join()
        return real(*words)

    runner.work(resolved, 0)  # compiles
    monkeypatch.setattr(runner, "carry_out", waiting)
    made = runner.work(resolved, 0).provenance
    assert made["wall_seconds"] > 0.3
    assert 0 < made["cpu_seconds"] < 0.15


def test_compiling_comes_before_the_clock_starts(monkeypatch):
    ((_, resolved),) = small(seeds=1).runs().items()
    happened = []

    def recorder(name, real):
        def recording(*words, **options):
            happened.append(name)
            return real(*words, **options)

        return recording

    monkeypatch.setattr(runner, "_warm", set())
    monkeypatch.setattr(runner, "_warm_up", recorder("warm up", runner._warm_up))
    monkeypatch.setattr(runner, "carry_out", recorder("run", runner.carry_out))
    clocks = {name: recorder("clock", getattr(time, name)) for name in CLOCKS}
    monkeypatch.setattr(runner, "time", SimpleNamespace(**clocks))
    timed = ["clock", "clock", "run", "clock", "clock"]
    for expected in (["warm up", "run", *timed], ["warm up", *timed]):
        happened.clear()
        assert isinstance(runner.work(resolved, 0), Run)
        assert happened == expected


def test_the_longest_runs_come_first(few, monkeypatch):
    suite = load(few / "few.toml")
    blocks = tuple(
        suite.experiment[0].model_copy(update={"steps": steps}) for steps in (500, 300, 2000, 1000)
    )
    runs = ask_suite(suite.model_copy(update={"experiment": blocks}), seeds=2).runs()
    order = []
    real = runner.work

    def recording(resolved, seed, *words):
        order.append((resolved.id, seed))
        return real(resolved, seed, *words)

    monkeypatch.setattr(runner, "work", recording)
    execute("here", runs, jobs=1)
    costs = [runner.estimate(runs[key]) for key in order]
    assert sorted(order) == sorted(runs)
    assert costs == sorted(costs, reverse=True)
    assert costs != [runner.estimate(of) for of in runs.values()]
    steps = [runs[key].settings["steps"] for key in order]
    assert (steps[0], steps[-1]) == (2000, 300)


def test_so_many_jobs_that_the_largest_runs_fit(monkeypatch):
    runs = small(block={"worlds": ["loop", "hazard", "empty"]}).runs()
    sizes = {"loop": 10, "hazard": 1000, "empty": 100}
    seen = []

    def fitting(needed, jobs):
        seen.append((needed, jobs))
        return 1

    monkeypatch.setattr(Resolved, "memory", property(lambda of: sizes[of.settings["world"]]))
    monkeypatch.setattr(runner, "jobs_that_fit", fitting)
    monkeypatch.setattr(runner, "cores", lambda: 7)
    for jobs, expected in ((5, 5), (None, 7)):
        with runner._workers(runs, jobs, None) as (_, width):
            assert width == 1
        assert seen.pop() == (1000, expected)


def test_jobs_that_fit_into_memory(monkeypatch):
    monkeypatch.setattr(runner, "machine_memory", lambda: 1000)
    fitting = [runner.jobs_that_fit(needed, 4) for needed in (0, 1, 200, 201, 400, 401, 5000)]
    assert fitting == [4, 4, 4, 3, 2, 1, 1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinities here")
def test_cores_are_those_that_the_process_may_use():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
        "from monmdp.results.runner import cores; print(cores())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_progress_adds_up():
    runs = small(block={"worlds": ["loop", "hazard"]}).runs()
    costs = {key: runner.estimate(of) for key, of in runs.items()}
    told = []

    def tell(progress):
        told.append((replace(progress), progress.seconds_left))

    first = dict(list(runs.items())[:1])
    execute("here", first, jobs=1)
    outcome = execute("here", runs, jobs=1, tell=tell)
    left = sum(costs.values()) - costs[next(iter(first))]
    # It also tells of steps under way, as often as it looks.
    begin, *later = {progress.done: progress for progress, _ in told}.values()
    assert (begin.total, begin.there, begin.done, begin.steps, begin.cost) == (6, 1, 0, 0, 0.0)
    assert begin.cost_left == pytest.approx(left)
    assert [progress.done for progress in later] == [1, 2, 3, 4, 5]
    assert [progress.steps for progress in later] == [300, 600, 900, 1200, 1500]
    for progress in later:
        assert progress.cost + progress.cost_left == pytest.approx(left)
        assert (progress.total, progress.there) == (6, 1)
    assert later[-1].cost_left == pytest.approx(0.0, abs=1e-12)
    assert later[-1].running == 0, "what is done is not under way"
    assert outcome.progress.steps == 1500
    assert {seconds for _, seconds in told} == {None}, "too short to go by"


def test_the_time_left_is_by_the_cost_left():
    """By the pace since training began: what came before was compiling."""
    progress = runner.Progress(total=4, there=0, begin=time.monotonic() - 500)
    progress.cost_left = 8.0
    progress.look()
    assert progress.seconds_left is None
    progress.first = time.monotonic() - 100, 0.0
    progress.cost, progress.cost_left = 2.0, 6.0
    assert progress.seconds_left == pytest.approx(300, rel=0.01)
    progress.cost_running = 2.0  # of what is left, under way
    assert progress.seconds_left == pytest.approx(100, rel=0.01)


# ---- sessions and presets -------------------------------------------------------------------


@pytest.mark.slow
def test_sessions_tell_of_all_work(few, command, monkeypatch):
    real = runner._Batch._finished

    def idling(batch, runs, *given):
        if runs:
            time.sleep(0.5)
        yield from real(batch, runs, *given)

    monkeypatch.setattr(runner._Batch, "_finished", idling)
    words = ("run", few / "few.toml", "--seeds", 2, "--out", "here", "--jobs", 1)
    wall, cpu = time.perf_counter(), time.process_time()
    for more in (("--shard", "1/2"), (), ()):
        assert command(*words, *more)[0] == 0
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    first, second = read_sessions(Path("here/reports/few-2-seeds"))
    runs = [read_run(p) for p in Path("here/runs").rglob("*.parquet")]
    assert len(runs) == 16
    assert first["runs"] + second["runs"] == 16
    assert first["runs"] == sum(
        runner.belongs(key, (1, 2)) for key in asked_of(few, seeds=2).runs()
    )
    assert (first["shard"], second["shard"]) == ("1/2", None)
    for session in (first, second):
        assert session["steps"] == 400 * session["runs"]
        assert (session["jobs"], session["scheduler"]) == (1, None)
        assert session["ended"].startswith("20")
        assert session["wall_seconds"] > 0.5
        assert session["cpu_seconds_of_process"] < session["wall_seconds"] - 0.4
    of_runs = sum(run.provenance["cpu_seconds"] for run in runs)
    assert of_runs <= sum(s["cpu_seconds_of_process"] for s in (first, second)) <= cpu
    of_runs = sum(run.provenance["wall_seconds"] for run in runs)
    assert of_runs + 1.0 <= sum(s["wall_seconds"] for s in (first, second)) <= wall


def test_a_session_that_is_interrupted_is_told_of(few, command, monkeypatch):
    real = runner._Batch._finished

    def interrupted(batch, *given):
        for n, result in enumerate(real(batch, *given)):
            if n == 3:
                raise KeyboardInterrupt
            yield result

    monkeypatch.setattr(runner._Batch, "_finished", interrupted)
    words = ("run", few / "few.toml", "--seeds", 1, "--out", "here", "--jobs", 1)
    assert command(*words)[0] == 130
    (session,) = read_sessions(Path("here/reports/few-1-seeds"))
    assert (session["runs"], session["steps"]) == (3, 1200)


@pytest.mark.slow
def test_a_suite_is_run_with_the_settings_of_a_preset(few, command):
    words = ("run", few / "few.toml", "--seeds", 1, "--preset", "released", "--out", "here")
    code, out, _ = command(*words)
    assert code == 0
    report = Path("here/reports/few-1-seeds-released")
    assert f"picture: {report}/few.png" in out
    assert [p.name for p in report.parent.iterdir()] == [report.name]
    (figure,) = json.loads((report / "request.json").read_text())["figures"]
    assert figure["preset"] == "released"
    assert evidence.load(report / "summary.parquet").figures[0].preset == "released"
    runs = [read_run(p) for p in Path("here/runs").rglob("*.parquet")]
    assert len(runs) == 8
    panel = asked_of(few).plans[0].figure.grids[0].rows[0][0]
    for run in runs:
        assert run.settings["parameters"]["growth"] == "log"
        usual = run_path(few, panel[run.settings["agent"]].configuration, 0)
        assert read_run(usual).settings["parameters"]["growth"] == "paper"
    schedules = {run.settings["parameters"].get("schedule") for run in runs}
    assert schedules == {"released", None}, "MBIE-EB has none"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["reproduce", "all", "--out", "results"]),
        (["my results"], ["reproduce", "all", "--out", "my results"]),
        (["there", "figure-4", "5"], ["reproduce", "figure-4", "5", "--out", "there"]),
    ],
)
def test_a_task_of_an_array_job_does_its_shard(words, expected):
    stub = Path("bin/monmdp")
    stub.parent.mkdir()
    stub.write_text('#!/usr/bin/env bash\nprintf "%s\\n" "$NUMBA_CACHE_DIR" "$@"\n')
    stub.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if k not in ("USER", "NUMBA_CACHE_DIR", "TMPDIR")}
    done = subprocess.run(
        ["bash", ROOT / "examples/slurm.sh", *words],
        env=kept | {
            "PATH": f"{stub.parent.resolve()}:{os.environ['PATH']}",
            "SLURM_ARRAY_TASK_ID": "2",
            "SLURM_ARRAY_TASK_COUNT": "8",
        },
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    cache, *given = done.stdout.splitlines()
    assert given == [*expected, "--shard", "2/8"]
    assert cache.startswith("/tmp/")
    assert str(os.getuid()) in cache


# ---- runs, summed up ------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", [[0, 1], [1, 3, 5], [0, 1, 2, 3, 4, 5]])
def test_only_the_seeds_asked_for_are_summed_up(few, chosen):
    suite = load(few / "few.toml")
    plans = ask_suite(suite.model_copy(update={"seeds": tuple(chosen)})).plans
    found = gathered(few, plans).aggregates
    assert len(found) == 8
    for resolved in plans[0].resolved.values():
        runs = runs_of(few, resolved, chosen)
        of = found[resolved.id]
        assert of.seeds == tuple(chosen)
        assert len(of.area) == len(of.optimal) == len(of.end["goal_visits"]) == len(chosen)
        expected = [run.curve["episode_return"].mean() for run in runs]
        assert of.area == pytest.approx(expected)
        assert of.cpu_seconds == sum(run.provenance["cpu_seconds"] for run in runs)


def minimax(resolved):
    of = resolved.configuration
    return minimax_of(of.world, of.monitor, of.problem, resolved.settings["gamma"])


@cache
def minimax_of(world, monitor, problem, gamma):
    return planning.solve(catalogue.make(world, monitor, **dict(problem)), gamma).episode_return


def made_up(folder, plan, rng):
    """Runs whose curves are noise around what the minimax-optimal policy gets."""
    for found in plan.resolved.values():
        v = minimax(found)
        unit = max(1.0, abs(v))
        step = np.arange(0, found.settings["steps"], found.settings["every"])
        for seed in next(plan.figure.curves()).seeds:
            curve = {name: rng.normal(size=len(step)) for name in COLUMNS}
            # Optimal from some test on, not quite so before, far from it in the beginning; drawn
            # returns are noisy, so they get there at another time.
            n = len(step)
            good, near = n // 2 + rng.integers(n // 4), n // 4 + rng.integers(n // 8)
            lost = np.where(np.arange(n) < near, 0.3, np.where(np.arange(n) < good, 0.045, 0.009))
            never = seed % 3 == 2 and found.settings["agent"] == "mbie-eb"
            curve["worst_case_return"] = v - unit * np.where(never, np.maximum(lost, 0.045), lost)
            noise = 0.04 * unit * rng.normal(size=n)
            curve["episode_return"] = curve["worst_case_return"] + noise
            made = {"kernel": found.kernel, "wall_seconds": 2.0 + seed, "cpu_seconds": 1.0 + seed}
            run = Run(found.settings, seed, step, curve, provenance=made)
            write_run(run_path(folder, found.id, seed), run)


def reached_for_good(step, values, threshold, budget):
    """The first test from which on all are good, the slow way."""
    for i in range(len(step)):
        if all(value >= threshold for value in values[i:]):
            return step[i], True
    return budget, False


def half_by_hand(curves):
    """1.96 sd/√n at every test."""
    n = len(curves)
    result = []
    for values in curves.T:
        mean = sum(values) / n
        result.append(1.96 * (sum((x - mean) ** 2 for x in values) / (n - 1) / n) ** 0.5)
    return result


def smoothed_by_hand(curve):
    result = [curve[0]]
    for value in curve[1:]:
        result.append(0.9 * result[-1] + 0.1 * value)
    return result


def check_by_hand(of, resolved, runs, smoothed):
    settings = of.settings
    assert settings["evaluation"] == "monte-carlo"
    v = minimax(resolved)
    unit = max(1.0, abs(v))
    step, budget = runs[0].step, settings["steps"]
    raw = {name: np.array([run.curve[name] for run in runs]) for name in COLUMNS}
    exact, drawn = raw["worst_case_return"], raw["episode_return"]

    assert of.minimax == pytest.approx(v)
    assert list(of.step) == list(step)
    expected = [reached_for_good(step, curve, v - 0.01 * unit, budget) for curve in exact]
    assert [(t, o) for t, o in zip(of.steps_to_optimal, of.optimal, strict=True)] == expected
    shown = np.array([smoothed_by_hand(curve) for curve in drawn]) if smoothed else drawn
    steps = reached_for_good(step, shown.mean(axis=0), v - 0.05 * unit, budget)
    assert (of.steps_to_v, of.reaches_v) == steps
    assert of.threshold == pytest.approx(v - 0.05 * unit)

    assert of.area == pytest.approx([curve.sum() / len(step) for curve in drawn])
    assert of.exact_end == pytest.approx([np.mean(curve[-10:]) for curve in exact])
    assert list(of.seen) == ["all all"]
    assert of.seen["all all"] == pytest.approx([np.mean(curve) for curve in shown])
    for score in ("episode_return", "goal_visits", "bottom_visits"):
        assert of.end[score] == pytest.approx([np.mean(curve[-10:]) for curve in raw[score]])
        assert list(of.first[score]) == [curve[0] for curve in raw[score]]

    finished, gained = raw["finished_episodes"][:, -1], raw["training_return"][:, -1]
    assert of.regret == pytest.approx([n * v - g for n, g in zip(finished, gained, strict=True)])
    assert list(of.worst_steps) == [curve[-1] for curve in raw["worst_steps"]]
    assert list(of.cpu_of_seed) == [run.provenance["cpu_seconds"] for run in runs]

    assert of.smoothed is smoothed
    assert list(of.mean) == list(of.half) == ["episode_return"]
    assert of.mean["episode_return"] == pytest.approx(drawn.mean(axis=0), rel=1e-6, abs=1e-6)
    assert of.half["episode_return"] == pytest.approx(half_by_hand(shown), rel=1e-5, abs=1e-7)
    wall = sum(run.provenance["wall_seconds"] for run in runs)
    assert of.wall_seconds == pytest.approx(wall)
    return expected


def test_real_runs_are_summed_up_as_by_hand(few):
    (plan,) = asked_of(few).plans
    found = gathered(few, [plan]).aggregates
    for resolved in plan.resolved.values():
        check_by_hand(found[resolved.id], resolved, runs_of(few, resolved), False)


@pytest.mark.parametrize(
    ("tests", "smooth", "smoothed"),
    [(120, None, True), (120, False, False), (40, None, False), (40, True, True)],
)
def test_made_up_runs_are_summed_up_as_by_hand(tests, smooth, smoothed):
    """By exact returns and by drawn ones, within 1 % and within 5 %, smoothed and not."""
    content = {} if smooth is None else {"smooth": smooth}
    both = ["monitored-mbie-eb", "mbie-eb"]
    (plan,) = small(
        steps=100 * tests, every=100, seeds=5, evaluation="monte-carlo", **content,
        block={"worlds": ["empty", "river-swim"], "monitors": ["button"], "agents": both},
    ).plans  # fmt: skip
    folder = Path("here")
    made_up(folder, plan, np.random.default_rng(tests))
    found = gathered(folder, [plan]).aggregates
    assert len(found) == 4
    values = {abs(of.minimax) for of in found.values()}
    assert min(values) < 0.85, "where 5 % of it are not 5 % of 1"
    assert max(values) > 5
    for resolved in plan.resolved.values():
        runs = runs_of(folder, resolved, range(5))
        of = found[resolved.id]
        check_by_hand(of, resolved, runs, smoothed)
        assert list(of.optimal) == [
            of.settings["agent"] != "mbie-eb" or seed % 3 < 2 for seed in range(5)
        ]
        assert of.cpu_seconds == 15
        assert of.wall_seconds == 20


def test_resamples_are_paired_within_a_problem():
    """Both agents of a problem get the same seeds drawn; another problem gets others."""
    both = ["monitored-mbie-eb", "mbie-eb"]
    (plan,) = small(
        steps=4000, every=100, seeds=5, evaluation="monte-carlo",
        block={"worlds": ["loop", "hazard"], "monitors": ["ask"], "agents": both},
    ).plans  # fmt: skip
    folder = Path("here")
    made_up(folder, plan, np.random.default_rng(6))
    found = gathered(folder, [plan]).aggregates
    for panel in plan.figure.panels():
        for curve in panel.curves:
            of = found[curve.configuration]
            runs = runs_of(folder, plan.resolved[curve.configuration], range(5))
            drawn = np.array([run.curve["episode_return"] for run in runs])
            rng = np.random.default_rng(int(of.settings["problem"], 16))
            expected = steps_to_v_bootstrap(runs[0].step, drawn, of.threshold, rng, 1000)
            assert list(of.steps_to_v_resampled) == list(expected)
            assert len(set(expected)) > 2
            rng = np.random.default_rng(0)
            others = steps_to_v_bootstrap(runs[0].step, drawn, of.threshold, rng, 1000)
            assert list(others) != list(expected)
        one, other = (found[curve.configuration].settings["problem"] for curve in panel.curves)
        assert one == other


def test_what_an_axis_shows_is_clipped_and_cut():
    (plan,) = small(
        steps=4000, every=100, seeds=5, evaluation="monte-carlo",
        block={"worlds": ["loop"], "monitors": ["ask"], "agents": ["mbie-eb"],
               "x_range": [1000, 2000], "y_range": [-0.5, 0.25]},
    ).plans  # fmt: skip
    folder = Path("here")
    made_up(folder, plan, np.random.default_rng(6))
    ((name, of),) = gathered(folder, [plan]).aggregates.items()
    runs = runs_of(folder, plan.resolved[name], range(5))
    by_hand = [
        np.mean([min(max(x, -0.5), 0.25) for x in run.curve["episode_return"][10:21]])
        for run in runs
    ]
    assert list(of.seen) == ["1000:2000 -0.5:0.25"]
    assert of.seen["1000:2000 -0.5:0.25"] == pytest.approx(by_hand)
    assert evidence.Axis(None, (-0.5, 0.25)).height == 0.75
    assert evidence.Axis(None, None).height is None


# ---- figure 4: a panel that shows runs again, zoomed ----------------------------------------


@pytest.fixture(scope="module")
def figure_4(tmp_path_factory):
    """Its evidence, from made-up runs."""
    folder = tmp_path_factory.mktemp("figure-4")
    (plan,) = ask_paper(["figure-4"], seeds=2).plans
    made_up(folder, plan, np.random.default_rng(4))
    return gathered(folder, [plan])


def test_a_panels_x_range_is_that_of_its_axis(figure_4):
    picture = draw(figure_4.figures[0], figure_4)
    FigureCanvasAgg(picture)
    whole, zoomed = picture.axes[2:4]
    assert whole.get_xlim() == pytest.approx((0, 49.9))
    assert zoomed.get_xlim() == (0, 30)
    assert zoomed.get_ylim() == (-0.7, 0.3)
    assert len(zoomed.lines) == 4


def test_full_axes_show_all_of_every_mean_curve(figure_4):
    (figure,) = figure_4.figures
    picture = draw(figure, figure_4, axes="full")
    for ax in picture.axes:
        assert ax.get_xlim() == pytest.approx((0, ax.lines[0].get_xdata()[-1]))
        low, high = ax.get_ylim()
        for line in ax.lines:
            assert low < min(line.get_ydata())
            assert max(line.get_ydata()) < high
    assert "outside" not in picture.texts[-1].get_text()
    with pytest.raises(monmdp.MonMDPError, match=r"^axes must be stated or full, got 'ful'$"):
        draw(figure, figure_4, axes="ful")
    with pytest.raises(monmdp.MonMDPError, match="axes must be"):
        publish(Path("nowhere"), figure_4, axes="ful")
    assert not Path("nowhere").exists()


@pytest.mark.parametrize(
    ("agents", "title"),
    [
        (["mbie-eb", "r-max"], "mine: loop / ask rho=0.5, MBIE-EB, R-max"),
        (["mbie-eb", "r-max", "ucb", "q-count"], "mine: loop / ask rho=0.5, 4 agents"),
    ],
)
def test_a_figure_of_one_problem_without_a_title_says_what_it_shows(agents, title):
    block = {"worlds": ["loop"], "monitors": [{"name": "ask", "rho": 0.5}], "agents": agents}
    figure = expand(parse({"name": "mine", "steps": 300, "experiment": [block]}, "x")).figure
    picture = draw(figure, evidence.Evidence((figure,), {}, {}))
    assert title in [text.get_text() for text in picture.texts]
    assert [ax.get_title() for ax in picture.axes] == [""]


def test_any_x_range_is_that_of_the_axis():
    step = np.arange(0, 50_000, 1000)
    curve = CurveData("a", step, np.zeros(50), np.zeros(50))
    rows = [RowData([PanelData([curve], x_range=(10_000.0, 20_000.0)), PanelData([curve])])]
    picture = panel_grid(rows, styles=styles([("a", "a")], {}), title="", y_label="", note="")
    assert [ax.get_xlim() for ax in picture.axes] == [(10, 20), (0, 49)]


@pytest.mark.slow
def test_runs_in_two_panels_of_a_figure_count_once(figure_4):
    (figure,) = figure_4.figures
    shown = [curve.configuration for curve in figure.curves()]
    assert (len(shown), len(set(shown))) == (9, 7)
    # Each has a seed of one second and a seed of two.
    assert cpu_seconds([figure], figure_4) == {"figure-4": 7 * 3.0}
    assert cpu_seconds([figure, replace(figure, name="again")], figure_4)["again"] == 21
    assert publish(Path("here"), figure_4).cpu_total == 21


# ---- where data come from -------------------------------------------------------------------


@pytest.fixture
def git(monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("no git")
    for name in list(os.environ):
        if name.startswith("GIT_"):  # a hook has them
            monkeypatch.delenv(name)
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]

    def run(*words, cwd="."):
        done = subprocess.run(
            ["git", *who, *words], cwd=cwd, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return run


def test_the_commit_is_that_of_this_repository(git):
    provenance.provenance.cache_clear()
    found = provenance.provenance()["commit"]
    source = Path(monmdp.__file__).parents[1]
    if source != ROOT / "src" or not (ROOT / ".git").exists():
        assert found is None
        return
    changed = git("status", "--porcelain", "--untracked-files=no", "src/monmdp", cwd=ROOT)
    assert found == git("rev-parse", "HEAD", cwd=ROOT) + ("+" if changed else "")
    assert provenance.commit() == found


def test_the_commit_of_a_source_tree(git, monkeypatch):
    """None outside git, and where the code is not tracked; a plus where it was changed."""
    package = Path("tree/package")
    (package / "experiment").mkdir(parents=True)
    here, beside, outside = (
        package / "experiment/provenance.py", package / "other.py", Path("tree/notes"),
    )  # fmt: skip
    for path in (here, beside, outside):
        path.write_text("1\n")
    monkeypatch.setattr(provenance, "__file__", str(here.resolve()))
    assert provenance.commit() is None
    git("init", "-q", "tree")
    outside.touch()
    git("add", "notes", cwd="tree")
    git("commit", "-q", "-m", "notes", cwd="tree")
    assert provenance.commit() is None, "installed within somebody else's repository"
    git("add", ".", cwd="tree")
    git("commit", "-q", "-m", "all", cwd="tree")
    head = git("rev-parse", "HEAD", cwd="tree")
    assert provenance.commit() == head
    outside.write_text("2\n")
    (package / "untracked").touch()
    assert provenance.commit() == head
    beside.write_text("2\n")
    assert provenance.commit() == head + "+"


def hash_now(name="monitored-mbie-eb"):
    provenance._hash_of.cache_clear()
    try:
        return provenance.kernel_hash(agents.KINDS[name]())
    finally:
        provenance._hash_of.cache_clear()


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (greedy, "TIE", 1e-9),  # of compiled code
        (contract, "BOUNDS", {"r_min": "", "r_max": ""}),  # of what makes a state
    ],
)
def test_the_kernel_hash_changes_with_constants(monkeypatch, module, name, value):
    was = hash_now()
    monkeypatch.setattr(module, name, value)
    assert hash_now() != was
    monkeypatch.undo()
    assert hash_now() == was


def edited(function, old, new):
    """A function with a changed text, as if its file had been edited."""
    text = textwrap.dedent(inspect.getsource(function))
    assert old in text
    path = Path(f"edited_{abs(hash((old, new)))}.py").resolve()
    path.write_text("from __future__ import annotations\n" + text.replace(old, new))
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), function.__globals__, space)
    made = space[function.__name__]
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "owner", "name", "old", "new"),
    [
        ("monitored-mbie-eb", monitored_mbie_eb.Planner, "blank", "zeros(joint)", "ones(joint)"),
        ("mbie-eb", monitored_mbie_eb.Planner, "blank", "return ", "return {} | "),
        # What the method calls: a plain function, and another method.
        ("monitored-mbie-eb", monitored_mbie_eb, "new_counts", "Counts(\n", "Counts(*(),\n"),
        ("ucb", q_learning.QLearning, "learner", "return ", "return 0 or "),
    ],
)  # fmt: skip
def test_the_kernel_hash_changes_with_the_making_of_the_state(
    monkeypatch, agent, owner, name, old, new
):
    was = hash_now(agent)
    real = getattr(owner, name)
    monkeypatch.setattr(owner, name, edited(real, old, old))
    assert hash_now(agent) == was
    monkeypatch.setattr(owner, name, edited(real, old, new))
    assert hash_now(agent) != was
    monkeypatch.undo()
    assert hash_now(agent) == was


def test_the_kernel_hash_changes_with_a_constant_of_the_class(monkeypatch):
    config = agents.paper_config("ucb", "loop", "ask").for_training(1)
    before = provenance.kernel_hash(config)
    provenance._hash_of.cache_clear()
    monkeypatch.setattr(type(config), "rule", 0)
    after = provenance.kernel_hash(config)
    monkeypatch.undo()
    provenance._hash_of.cache_clear()
    assert after != before
    assert provenance.kernel_hash(config) == before
