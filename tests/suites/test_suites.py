"""Suites: experiments as data, checked before anything starts, and what they expand to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import monmdp
from monmdp import MonMDP, MonMDPError, agents, catalogue, load_run
from monmdp.experiment import fingerprint
from monmdp.results import execute
from monmdp.results.request import ask_paper, ask_suite, keep, understood
from monmdp.suites import (
    Configuration,
    bundled_suite,
    bundled_suites,
    expand,
    find,
    load,
    paper_suite,
    paper_suites,
    parse,
    resolve,
)

BLOCK = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["monitored-mbie-eb"]}
CURVES = [4, 5, 6, 9, 10, 11, 12, 13]
EVERY = {1_000_000: 5000, 200_000: 500, 40_000: 1000}
"""steps from one test to the next, by the steps of a run"""
RUNS = {4: 210, 5: 60, 6: 2880, 9: 360, 10: 1080, 11: 2160, 12: 720, 13: 1080}
"""figure -> runs of 30 seeds"""


@pytest.fixture(scope="module")
def plans():
    """(figure, preset) -> the paper's plan."""
    return {
        (n, preset): expand(paper_suite(f"figure-{n}"), preset)
        for n in CURVES
        for preset in ("paper", "released")
    }


def suite(*blocks, **settings):
    return parse({"name": "mine", "experiment": list(blocks) or [BLOCK], **settings}, "mine.toml")


def resolved(world="loop", monitor="ask", agent="monitored-mbie-eb", **given):
    """What a configuration with all defaults but what is given comes to."""
    return resolve(Configuration(world, monitor, agent, **({"steps": 400} | given)))


# ---- mistakes -------------------------------------------------------------------------------


def test_every_wrong_key_and_value_is_reported_at_once_with_its_path(command):
    Path("wrong.toml").write_text(
        """
        name = "with space"
        stepps = 5
        every = 0
        seeds = [1, 1]
        quick = { seed = 3 }

        [[experiment]]
        worlds = ["lop", { name = "loop", one_wax = 3 }]
        monitors = ["ask", { name = "button", rho = "often" }]
        agents = ["monitored-mbie-eb", { name = "directed-e2", r00 = 1 }]
        rho = [0.5, 1.5]
        evaluation = "exat"
        gama = 0.9

        [[experiment]]
        worlds = []
        agents = ["mbie-eb", "mbie-eb"]
        monitors = ["ask"]
        x_range = [3, 1]
        quick = { monitors = ["asc"], world = ["loop"] }
        """
    )
    code, _, err = command("run", "wrong.toml", "--out", "here")
    assert code == 2
    lines = err.splitlines()
    assert lines[0] == f"error: wrong.toml: {len(lines) - 1} mistakes"
    expected = {
        "name:": "",
        "stepps: no such key": "did you mean 'steps'?",
        "every:": "got 0",
        "seeds:": "a seed is there twice",
        "quick.seed: no such key": "did you mean 'seeds'?",
        "quick.seeds:": "is missing",
        "experiment[0].worlds[0]": "unknown world 'lop'; did you mean 'loop'?",
        "experiment[0].worlds[1]:": "one_wax",
        "experiment[0].monitors[1]:": "rho",
        "experiment[0].agents[1]:": "r00",
        "experiment[0].rho[1]:": "got 1.5",
        "experiment[0].evaluation:": "got 'exat'",
        "experiment[0].gama: no such key": "did you mean 'gamma'?",
        "experiment[1].worlds:": "must not be empty",
        "experiment[1].x_range:": "the first must be less than the second",
        "experiment[1].quick.world: no such key": "did you mean 'worlds'?",
    }
    for path, message in expected.items():
        found = [line for line in lines if line.startswith(f"  {path}")]
        assert found, f"{path}\n{err}"
        assert message in found[0]
    assert len(lines) - 1 == len(expected), err
    assert not Path("here").exists(), "nothing starts"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"agents": ["mbie-eb", "mbie-eb"]}, "experiment[0]: agents: one is there twice"),
        ({"quick": {"monitors": ["asc"]}}, "quick.monitors: 'asc' is not in it; did you mean"),
        ({"seeds": 0}, "experiment[0].seeds: how many seeds"),
        ({"seeds": True}, "experiment[0].seeds: how many seeds"),
        ({"seeds": [0, -1]}, "experiment[0].seeds: a list of seeds"),
        ({"gamma": 1.0}, "experiment[0].gamma"),
        ({"steps": 1.5}, "experiment[0].steps"),
        ({"steps": "many"}, "experiment[0].steps"),
        ({"overrides": []}, "experiment[0].overrides"),
        ({"score": "episode_returns"}, "experiment[0].score"),
        ({"rho": []}, "experiment[0].rho"),
        ({"agents": [{"label": "no name"}]}, "experiment[0].agents[0].name"),
        ({"agents": [3]}, "experiment[0].agents[0]"),
        ({"worlds": ["module:nothing"]}, "experiment[0].worlds[0]"),
    ],
)
def test_a_wrong_value_is_named(change, message):
    with pytest.raises(MonMDPError) as caught:
        suite(BLOCK | change)
    assert message in str(caught.value)
    assert str(caught.value).startswith("mine.toml: 1 mistake\n")


def test_a_suite_without_anything_to_do_is_refused():
    with pytest.raises(MonMDPError, match="nothing to do"):
        parse({"name": "mine"}, "mine.toml")


def test_wrong_overrides_are_reported_with_all_else():
    with pytest.raises(MonMDPError) as caught:
        suite(
            BLOCK | {"agents": ["monitored-mbie-eb", "mbie-eb"], "overrides": [{"beta_obs": 0.1}]},
            BLOCK | {"overrides": [{}, {"no_such": 1, "rho": "x"}]},
            BLOCK | {"gama": 1},
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == "mine.toml: 3 mistakes"
    assert lines[1].startswith("  experiment[0]: overrides[0]: ")
    assert "agent 'mbie-eb' have no parameter 'beta_obs'" in lines[1]
    assert "overrides[1]" in lines[2]
    assert "no_such" in lines[2]
    assert "rho must be a number" in lines[2]
    assert lines[3].startswith("  experiment[2].gama: no such key")


def test_an_override_may_be_written_as_a_table_in_a_table():
    block = BLOCK | {"monitors": ["level-up"], "overrides": [{"monitor": {"start": "uniform"}}]}
    (name,) = expand(suite(block)).resolved
    assert "start=uniform" in name


def test_what_does_not_go_together_is_reported_for_every_setting():
    wrong = suite(
        BLOCK | {"steps": 100, "every": 100},
        BLOCK | {"monitors": ["semi-random", "ask"], "agents": ["known-monitor"]},
    )
    with pytest.raises(MonMDPError) as caught:
        expand(wrong)
    lines = str(caught.value).splitlines()
    assert lines[0] == "suite 'mine': 2 mistakes"
    assert lines[1].startswith("  experiment[0]: loop / ask, monitored-mbie-eb: ")
    assert "one test" in lines[1]
    assert lines[2].startswith("  experiment[1]: loop / semi-random, known-monitor: ")


def test_shared_runs_have_the_same_seeds():
    with pytest.raises(MonMDPError, match="share runs have different seeds"):
        expand(suite(BLOCK | {"seeds": 2}, BLOCK | {"seeds": 3}))


def test_a_figure_is_of_one_kind():
    with pytest.raises(MonMDPError, match="figures of their own"):
        suite(BLOCK, draw=["loop"])
    with pytest.raises(MonMDPError, match="figures of their own"):
        suite(BLOCK, illustration="interaction")
    with pytest.raises(MonMDPError, match="illustration: input should be 'interaction' or 'pess"):
        parse({"name": "x", "illustration": "optimism"}, "x")
    with pytest.raises(MonMDPError, match="one world a figure"):
        parse({"name": "x", "draw_dynamics": ["river-swim", "loop"]}, "x")


def test_seeds_may_be_listed_and_are_kept_as_they_are(tmp_path, recwarn):
    mine = suite(seeds=[5, 9])
    assert {seed for _, seed in expand(mine).runs()} == {5, 9}
    asked = ask_suite(mine)
    keep(asked, tmp_path)
    assert understood(tmp_path)[0][0].runs().keys() == asked.runs().keys()
    assert not recwarn.list


def test_labels_name_worlds_monitors_and_agents():
    block = {
        "worlds": [{"name": "loop", "label": "a loop"}],
        "monitors": [{"name": "ask", "label": "a question"}],
        "agents": [{"name": "mbie-eb", "label": "optimist"}],
    }
    (panel,) = expand(suite(block)).figure.panels()
    assert (panel.row, panel.column, panel.curves[0].label) == ("a loop", "a question", "optimist")
    assert (panel.world, panel.monitor) == ("loop", "ask")


@pytest.mark.parametrize("name", ["all", "figure-4"])
def test_the_papers_names_are_its_own(name):
    with pytest.raises(MonMDPError, match="the paper's"):
        ask_suite(suite(name=name))


# ---- what a suite expands to ----------------------------------------------------------------


def test_a_block_is_a_product(plans):
    plan = expand(
        suite(
            {
                "worlds": ["loop", {"name": "hazard"}],
                "monitors": ["ask", "button"],
                "rho": [1.0, 0.5, 0.25],
                "overrides": [{}, {"beta_m": 0.01}],
                "agents": ["monitored-mbie-eb", "mbie-eb"],
                "seeds": [3, 5],
                "steps": 400,
            }
        )
    )
    (grid,) = plan.figure.grids
    assert len(grid.rows) == 2 * 3 * 2
    assert {len(row) for row in grid.rows} == {2}
    assert len(plan.resolved) == 2 * 2 * 3 * 2 * 2
    assert len(plan.runs()) == 2 * len(plan.resolved)
    assert {seed for _, seed in plan.runs()} == {3, 5}
    panel = grid.rows[1][0]
    assert panel.row == "loop 100 % beta_m=0.01"
    assert panel.column == "ask"
    assert panel["mbie-eb"].agent == "mbie-eb"
    assert plans[4, "paper"].figure.grids[2].rows[0][0].rho == 0.05


def test_a_block_inherits_what_it_does_not_say():
    plan = expand(suite(BLOCK, BLOCK | {"steps": 300, "every": 50}, steps=500, seeds=2, gamma=0.9))
    found = [of.settings for of in plan.resolved.values()]
    assert [(s["steps"], s["every"], s["gamma"]) for s in found] == [
        (500, 100, 0.9),
        (300, 50, 0.9),
    ]
    assert len(plan.runs()) == 4


def test_maps_lie_beside_the_suite():
    folder = Path("elsewhere")
    folder.mkdir()
    (folder / "yard.txt").write_text("@.$\n")
    (folder / "mine.toml").write_text(
        'name = "mine"\nsteps = 300\nseeds = 1\n[[experiment]]\nworlds = ["yard.txt"]\n'
        'monitors = ["ask"]\nagents = ["mbie-eb"]\n'
    )
    found = load(folder / "mine.toml")
    assert found.experiment[0].worlds[0].name == str((folder / "yard.txt").resolve())
    plan = expand(found)
    (name,) = plan.resolved
    assert name.startswith("yard-ask-mbie-eb-")
    assert next(plan.figure.panels()).world == "yard"


# ---- ids ------------------------------------------------------------------------------------


RELEASED_BACK = {
    "world": "hazard",
    "preset": "released",
    "of_agent": (("growth", "paper"), ("schedule", "paper")),
}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"problem": (("monitor.rho", 1.0),)}),
        ({"world": "hazard"}, {"world": "hazard", "problem": (("world.one_way", "block"),)}),
        ({}, {"gamma": 0.99}),
        ({"world": "hazard"}, RELEASED_BACK),
        ({}, {"of_agent": (("gamma", 0.99),)}),
        ({}, {"episodes": 7}),  # exact evaluation draws none
        ({"agent": "mbie-eb"}, {"agent": "mbie-eb", "problem": (("monitor.rho", 1),)}),
    ],
)
def test_the_same_runs_have_the_same_id_however_they_are_asked_for(one, other):
    assert resolved(**one).id == resolved(**other).id


@pytest.mark.parametrize(
    "other",
    [
        {"problem": (("monitor.rho", 0.5),)},
        {"world": "one-way"},
        {"monitor": "button"},
        {"agent": "mbie-eb"},
        {"steps": 500},
        {"every": 50},
        {"evaluation": "monte-carlo"},
        {"gamma": 0.9},
        {"of_agent": (("beta_obs", 0.01),)},
        {"preset": "released"},
    ],
)
def test_other_runs_have_another_id(other):
    assert resolved().id != resolved(**other).id


def test_an_option_counts_where_it_changes_something():
    plain, blocked = (
        resolved("one-way", problem=problem) for problem in ((), (("world.one_way", "block"),))
    )
    assert plain.id != blocked.id
    assert "one_way=block" in blocked.id
    assert blocked.settings["unusual"] == ["world.one_way"]
    assert blocked.settings["problem_parameters"]["world.one_way"] == "block"
    assert resolved(problem=(("monitor.rho", 1.0),)).settings["unusual"] == []
    # Two states have no three successors: without either of these the other would be refused.
    together = (("world.branching", 2), ("world.states", 2))
    assert "branching=2-states=2" in resolved("random-mdp", problem=together).id


# ---- made once ------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """How often problems were made, and worlds joined with monitors."""
    calls = {"make": 0, "join": 0}

    def counting(name, real):
        def call(*words, **given):
            calls[name] += 1
            return real(*words, **given)

        return call

    for name in calls:
        monkeypatch.setattr(catalogue, name, counting(name, getattr(catalogue, name)))
    return calls


def test_a_figure_makes_each_of_its_problems_once(counted):
    asked = ask_paper(["figure-4"], quick=True)
    assert len(asked.runs()) == 70
    assert len(asked.plans[0].resolved) == 7
    for _ in range(3):
        asked.runs()
    assert 1 <= counted["make"] <= 4
    assert counted["join"] == counted["make"]


def test_a_suite_of_many_agents_makes_its_problems_once(counted):
    many = [f"{name}" for name in ("mbie-eb", "monitored-mbie-eb", "directed-e2", "r-max", "ucb")]
    block = {"worlds": ["loop", "hazard"], "monitors": ["ask", "button"], "agents": many}
    assert len(expand(suite(block)).resolved) == 20
    assert counted["make"] == counted["join"] == 4


def test_a_report_of_finished_runs_makes_no_problem(counted, command):
    words = ("--seeds", 2, "--out", "here")
    assert command("run", small_suite(), *words)[0] == 0
    assert command("train", "loop", "ask", "--steps", 200, "--snapshots", 2, *words)[0] == 0
    assert 2 <= counted["make"] <= 4
    counted.update(make=0, join=0)
    code, out, _ = command("report", "here")
    assert code == 0
    assert "6 runs, 2 settings, 1 to look into" in out
    assert counted["make"] == 0
    page = Path("here/report.html").read_bytes()
    assert command("report", "here")[0] == 0
    assert Path("here/report.html").stat().st_size == len(page)


def small_suite(name="small", **more):
    lines = [f"{key} = {json.dumps(value)}" for key, value in more.items()]
    text = f"""
name = "{name}"
steps = 200
seeds = 2
{"".join(line + chr(10) for line in lines)}
[[experiment]]
worlds = ["loop"]
monitors = ["button"]
agents = ["monitored-mbie-eb", "mbie-eb"]
"""
    Path(f"{name}.toml").write_text(text)
    return f"{name}.toml"


# ---- policies and snapshots -----------------------------------------------------------------


def kept_of(folder):
    runs = [load_run(path) for path in sorted(Path(folder, "runs").rglob("seed-000?.parquet"))]
    return {(run.settings["agent"], run.seed): run for run in runs}


def test_a_suite_keeps_policies_and_snapshots_if_it_says_so(command):
    assert command("run", small_suite(), "--out", "plain")[0] == 0
    assert command("run", small_suite("with", policies=True), "--out", "policies")[0] == 0
    assert command("run", small_suite("both", snapshots=2), "--out", "snapshots")[0] == 0
    plain, policies, snapshots = map(kept_of, ("plain", "policies", "snapshots"))
    assert not list(Path("plain").rglob("*.inside.parquet"))
    assert len(plain) == len(policies) == len(snapshots) == 4
    for key, run in plain.items():
        assert run.policy is None
        assert policies[key].policy.shape == snapshots[key].policy.shape
        assert not len(policies[key].snapshot_steps)
        # The first seed keeps snapshots, the others the policy alone.
        steps = snapshots[key].snapshot_steps.tolist()
        assert steps == ([0, 50, 200] if key[1] == 0 else [])
        assert run.data() == policies[key].data() == snapshots[key].data()
        assert run.settings == policies[key].settings == snapshots[key].settings


def test_snapshots_are_of_the_first_seed_that_is_listed(command):
    listed = Path(small_suite("listed", snapshots=1))
    listed.write_text(listed.read_text().replace("seeds = 2", "seeds = [7, 3]"))
    assert command("run", listed, "--out", "here")[0] == 0
    for (_, seed), run in kept_of("here").items():
        assert len(run.snapshot_steps) == (2 if seed == 7 else 0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"policies": 3}, "policies"),
        ({"policy": True}, "policy: no such key; did you mean 'policies'"),
        ({"snapshots": -1}, "snapshots"),
        ({"snapshots": "many"}, "snapshots"),
        ({"snapshot": 2}, "snapshot: no such key; did you mean 'snapshots'"),
    ],
)
def test_wrong_policies_and_snapshots_are_named(more, message):
    with pytest.raises(MonMDPError, match=message):
        suite(**more)


# ---- stored problems ------------------------------------------------------------------------


@pytest.fixture
def stored(command):
    """A problem in a file, beside a suite about it."""
    assert command("export", "one-way", "button", "rho=0.5", "-o", "problem.npz")[0] == 0
    Path("stored.toml").write_text(
        """
name = "stored"
steps = 300
seeds = 2
[[experiment]]
worlds = ["problem.npz"]
agents = ["monitored-mbie-eb", "mbie-eb"]
"""
    )
    return "stored.toml"


def test_a_suite_over_stored_problems(stored, command):
    code, out, _ = command("run", stored, "--out", "here")
    assert code == 0
    assert "4 runs in" in out
    assert "picture: here/reports/stored/stored.png" in out
    code, out, _ = command("run", stored, "--out", "here")
    assert "all 4 runs are there" in out
    code, out, _ = command("status", "here", "--json")
    assert json.loads(out)["reports"][0]["there"] == 4
    assert command("verify", "here", "--sample", 4)[0] == 0
    for run in kept_of("here").values():
        assert (run.settings["world"], run.settings["monitor"]) == ("one-way", "button")
        assert run.settings["problem_parameters"] == {}
    # They are the runs of the same problem, made by its names.
    block = {"worlds": ["one-way"], "monitors": ["button"], "rho": [0.5]}
    named = suite(block | {"agents": ["monitored-mbie-eb", "mbie-eb"]}, steps=300, seeds=2)
    execute("there", ask_suite(named).runs(), jobs=1)
    assert {k: run.data() for k, run in kept_of("here").items()} == {
        k: run.data() for k, run in kept_of("there").items()
    }


def test_stored_problems_lie_beside_the_suite(stored, command):
    Path("elsewhere").mkdir()
    for name in (stored, "problem.npz"):
        Path(name).rename(Path("elsewhere", name))
    assert command("run", "elsewhere/stored.toml", "--out", "here")[0] == 0
    assert len(kept_of("here")) == 4


def test_a_stored_problem_takes_no_monitor_and_a_world_needs_one():
    agents_only = {"agents": ["mbie-eb"]}
    monmdp.make("loop", "ask").save("problem.npz")
    for block, message in (
        ({"worlds": ["loop"]}, "monitor"),
        ({"worlds": ["problem.npz"], "monitors": ["ask"]}, "monitor"),
        ({"worlds": ["problem.npz"], "rho": [0.5]}, "rho"),
        ({"worlds": ["problem.npz", "loop"]}, "monitor"),
        ({"worlds": [{"name": "problem.npz", "slip": 0.1}]}, "it takes no parameters"),
        ({"worlds": ["nowhere.npz"]}, "no such file"),
    ):
        with pytest.raises(MonMDPError, match=message):
            expand(suite(block | agents_only, steps=300, seeds=1))


@pytest.mark.slow
def test_the_released_preset_works_on_a_stored_problem(stored, command):
    words = ("problem.npz", "--steps", 300, "--seeds", 1, "--preset", "released")
    code, out, err = command("train", *words, "--agent", "monitored-mbie-eb", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["preset"], found["problem_parameters"]) == ("released", {})
    assert found["parameters"]["growth"] == "log"
    code, out, err = command("compare", *words, "--agents", "monitored-mbie-eb,mbie-eb", "--json")
    assert code == 0, err
    code, out, err = command("run", stored, "--preset", "released", "--out", "here")
    assert code == 0, err
    growths = {run.settings["parameters"]["growth"] for run in kept_of("here").values()}
    assert growths == {"log"}
    problem = MonMDP.load("problem.npz")
    for run in kept_of("here").values():
        assert run.settings["problem"] == fingerprint(problem), "it stays as it is"


# ---- the paper's ----------------------------------------------------------------------------


def test_the_papers_figures_are_all_there():
    numbers = range(1, 14)
    assert paper_suites() == [f"figure-{n}" for n in numbers]
    for n in numbers:
        found = paper_suite(f"figure-{n}")
        assert found.name == f"figure-{n}"
        assert bool(found.experiment) == (n in CURVES)
        assert bool(found.draw or found.draw_dynamics) == (n in (3, 7, 8))
        assert bool(found.illustration) == (n in (1, 2))


@pytest.mark.parametrize("n", CURVES)
def test_a_figure_has_the_papers_agents_budgets_and_tests(plans, n):
    problems = agents.FIGURES[n]
    names = {name for name, kind in agents.KINDS.items() if n in kind.figures}
    plan = plans[n, "paper"]
    seen = set()
    for panel in plan.figure.panels():
        for curve in panel.curves:
            settings = plan.resolved[curve.configuration].settings
            world, monitor = settings["world"], settings["monitor"]
            assert (world, monitor) in problems
            config = agents.paper_config(curve.agent, world, monitor, figure=n)
            assert (
                settings["parameters"] == config.for_training(settings["steps"]).hyper_parameters()
            )
            assert settings["agent"] == curve.agent
            assert settings["steps"] == (50_000 if world == "bottleneck" else 20_000)
            assert (settings["every"], settings["episodes"]) == (100, 100)
            assert settings["evaluation"] == "monte-carlo"
            assert settings["gamma"] == 0.99
            assert curve.seeds == tuple(range(30))
            seen.add((world, monitor, curve.agent))
    assert {agent for *_, agent in seen} == set(names)
    assert {problem[:2] for problem in seen} == set(problems)


@pytest.mark.parametrize("n", CURVES)
def test_plans_have_the_papers_size(plans, n):
    assert len(plans[n, "paper"].runs()) == RUNS[n]
    assert len(plans[n, "released"].runs()) == RUNS[n]


def test_figures_share_runs(plans):
    def ids(n, preset="paper"):
        return set(plans[n, preset].runs())

    assert ids(5) <= ids(4), "figure 5 shows other scores of the same runs"
    assert ids(10) <= ids(11)
    assert len(ids(9) & ids(13)) == 6 * 30, "Monitored MBIE-EB, with the same six monitors"
    assert len(ids(12) & ids(13)) == 2 * 6 * 30
    assert len(ids(4) & ids(10)) == 30, "of Directed-E² the start differs"
    together = set().union(*(ids(n) for n in CURVES))
    assert len(together) == len(ask_paper(["all"]).runs())
    assert len(together) < sum(RUNS.values())


def test_presets_share_what_no_option_changes(plans):
    """Directed-E² has no option of the released code; one-way and Level Up have."""
    paper, released = (plans[6, preset].resolved for preset in ("paper", "released"))
    shared = [paper[name].settings for name in paper.keys() & released.keys()]
    assert {s["agent"] for s in shared} == {"directed-e2"}
    # the others have one-way cells
    assert {s["world"] for s in shared} == {"corridor", "empty", "hazard", "river-swim"}
    assert len(shared) == 4 * 5
    assert "level-up" not in {s["monitor"] for s in shared}
    other = [released[name].settings for name in released.keys() - paper.keys()]
    assert {s["agent"] for s in other} == {"monitored-mbie-eb", "directed-e2"}
    for s in other:
        if s["agent"] == "directed-e2":
            assert s["monitor"] == "level-up" or "world.one_way" in s["unusual"]
        else:
            assert (s["parameters"]["growth"], s["parameters"]["schedule"]) == ("log", "released")


@pytest.mark.slow
@pytest.mark.parametrize("n", CURVES)
def test_quick_cuts_seeds_and_settings_of_figure_6_but_no_steps(plans, n):
    full = plans[n, "paper"]
    quick = expand(paper_suite(f"figure-{n}").adapted(quick=True))
    assert quick.runs().keys() < full.runs().keys(), "they are the first of the same runs"
    assert {seed for _, seed in quick.runs()} == set(range(10))
    if n == 6:
        assert len(quick.resolved) == 3 * 3 * 2
    else:
        assert quick.resolved.keys() == full.resolved.keys()
    few = expand(paper_suite(f"figure-{n}").adapted(quick=True, seeds=2))
    assert few.resolved.keys() == quick.resolved.keys()
    assert {seed for _, seed in few.runs()} == {0, 1}


# ---- suites that come with the package ------------------------------------------------------


@pytest.fixture(scope="module")
def bundled():
    return {name: expand(bundled_suite(name)) for name in bundled_suites()}


def test_bundled_suites_bear_the_names_of_their_files():
    assert {"beyond", "beyond-grid", "beyond-ablations"} <= set(bundled_suites())
    for name in bundled_suites():
        assert bundled_suite(name).name == name
        assert bundled_suite(name).title


@pytest.mark.slow
def test_tuning_and_reporting_share_no_seed(bundled):
    def seeds_of(name):
        return {seed for curve in bundled[name].figure.curves() for seed in curve.seeds}

    assert all(seed % 2 == 1 for seed in seeds_of("beyond-grid"))
    assert all(seed % 2 == 0 for seed in seeds_of("beyond") | seeds_of("beyond-ablations"))
    reported = sorted(seeds_of("beyond"))
    assert reported == list(range(reported[0], reported[0] + 60, 2))
    assert sorted(seeds_of("beyond-ablations")) == reported[:4]
    quick = expand(bundled_suite("beyond").adapted(quick=True))
    assert sorted({seed for _, seed in quick.runs()}) == reported[:5]
    three = expand(bundled_suite("beyond").adapted(seeds=3))
    assert sorted({seed for _, seed in three.runs()}) == reported[:3]


@pytest.mark.slow
def test_beyond_has_the_24_and_the_48_settings_with_all_the_papers_parameters(bundled):
    settings = bundled["beyond"].figure.settings()
    bottleneck = [panel for setting, panel in settings if setting.block == "Bottleneck"]
    assert len({(panel.monitor, panel.rho) for panel in bottleneck}) == 24
    paper = {
        (panel.world, panel.monitor) for panel in expand(paper_suite("figure-6")).figure.panels()
    }
    grids = bundled["beyond"].figure.grids
    ours = [
        (panel.world, panel.monitor)
        for grid in grids
        if grid.title == "48 benchmarks"
        for row in grid.rows
        for panel in row
    ]
    assert sorted(ours) == sorted(paper)
    for plan in bundled.values():
        for of in (resolved.settings for resolved in plan.resolved.values()):
            assert of["evaluation"] == "exact"
            assert of["every"] == EVERY.get(of["steps"], 100)
    for panel in bottleneck:
        plain = next(curve for curve in panel.curves if curve.label == "Monitored MBIE-EB")
        paper_config = agents.paper_config("monitored-mbie-eb", "bottleneck", panel.monitor)
        settings = bundled["beyond"].resolved[plain.configuration].settings
        assert settings["parameters"] == paper_config.hyper_parameters()
        assert settings["steps"] == 50_000
        found = [curve.agent for curve in panel.curves]
        assert found == ["factored-mbie-eb", "monitored-mbie-eb", "r-max"]


@pytest.mark.slow
def test_random_and_slippery_worlds(bundled):
    group = "Random and slippery"
    all_panels = bundled["beyond"].figure.settings()
    panels = [panel for setting, panel in all_panels if setting.block == group]
    names = [panel.row for panel in panels if panel.column == "ask"]
    lakes = ["frozen-lake 4x4", "frozen-lake 8x8"]
    drawn = [dict(panel.problem) for panel in panels if panel.world == "random-mdp"]
    first = min(of["world.seed"] for of in drawn)
    assert {of["world.seed"] for of in drawn} == set(range(first, first + 20))
    even, odd = ([f"random-mdp {i}" for i in range(first + k, first + 20, 2)] for k in (0, 1))
    assert names == [*lakes, "cliff-walking slippery", "taxi rainy", *even]
    half = [panel.row for panel in panels if panel.column == "full-random rho=0.5"]
    assert half == [*lakes, *odd]
    for panel in panels:  # Taxi takes too long for a third
        third = [] if panel.row == "taxi rainy" else ["r-max"]
        found = [curve.agent for curve in panel.curves]
        assert found == ["factored-mbie-eb", "monitored-mbie-eb", *third]
    assert len({(of["world.states"], of["world.actions"]) for of in drawn}) == 20
    assert {of["world.branching"] for of in drawn} == {1, 2, 3}


@pytest.mark.slow
def test_a_grid_is_the_product_of_its_axes(bundled):
    plan = bundled["beyond-grid"]
    labels = {curve.label for curve in plan.figure.curves()}
    assert len(labels) == 4 * 3 * 3 * 2
    assert len(plan.resolved) == 24 * 72
    together = set()
    for of in plan.resolved.values():
        given = of.settings["parameters"]
        betas = {given[key] for key in ("beta", "beta_m", "beta_e", "beta_obs")}
        assert len(betas) == 1
        together.add((given["log_base"], betas.pop(), given["beta_kl"], given["growth"]))
    assert len(together) == 72
    assert "monitored-mbie-eb log_base=1.005 beta=5e-05 beta_kl=0.005 growth=paper" in labels
    for curve in plan.figure.curves():
        if curve.label == plan.figure.reference:
            found = plan.resolved[curve.configuration].settings
            paper = agents.paper_config("monitored-mbie-eb", "bottleneck", found["monitor"])
            assert found["parameters"] == paper.hyper_parameters()


def test_a_grid_by_hand_and_its_way_through_a_request(tmp_path):
    agent = {"name": "mbie-eb", "sweeps": 5, "grid": {"beta beta_e": [0.1, 0.2], "gamma": [0.9]}}
    mine = suite(BLOCK | {"agents": ["monitored-mbie-eb", agent | {"label": "ours"}]}, seeds=1)
    found = [(of.label, of.parameters) for of in mine.experiment[0].agents]
    rest = {"sweeps": 5, "gamma": 0.9}
    assert found == [
        (None, {}),
        ("ours beta=0.1 gamma=0.9", rest | {"beta": 0.1, "beta_e": 0.1}),
        ("ours beta=0.2 gamma=0.9", rest | {"beta": 0.2, "beta_e": 0.2}),
    ]
    asked = ask_suite(mine)
    keep(asked, tmp_path)
    assert understood(tmp_path)[0][0].runs().keys() == asked.runs().keys()


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([1, 2], "grid must be a table of lists"),
        ({}, "grid must be a table of lists"),
        ({"beta": 0.1}, "'beta' must be a list of values"),
        ({"beta": []}, "'beta' must be a list of values"),
        ({"beta": [0.1, 0.1]}, "'beta' has a value twice"),
        ({"beta": [0.1], "beta beta_e": [0.2]}, "set nowhere else"),
        ({"sweeps": [1]}, "set nowhere else"),
        ({"label": ["x"]}, "label"),
        ({"bta": [0.1]}, "did you mean 'beta'"),
        ({"beta": ["much"]}, "beta"),
    ],
)
def test_a_wrong_grid_is_refused(grid, message):
    with pytest.raises(MonMDPError, match=message):
        suite(BLOCK | {"agents": [{"name": "mbie-eb", "sweeps": 5, "grid": grid}]})


def test_blocks_share_the_agents_of_the_suite():
    block = {"worlds": ["loop"], "monitors": ["ask"]}
    both = ["mbie-eb", {"name": "monitored-mbie-eb", "label": "ours"}]
    mine = suite(
        block,
        block | {"without": ["ours"]},
        block | {"without": ["monitored-mbie-eb"]},
        block | {"agents": ["directed-e2"]},
        agents=both,
    )
    labels = [[agent.shown_as for agent in of.agents] for of in mine.experiment]
    assert labels == [["mbie-eb", "ours"], ["mbie-eb"], ["mbie-eb"], ["directed-e2"]]
    for wrong, message in (
        ({"without": ["our"]}, r"experiment\[0\].without: 'our' is no agent.*did you mean 'ours'"),
        ({"without": "ours"}, "must be lists"),
        ({"without": ["ours"], "agents": ["mbie-eb"]}, "not its own"),
        ({"without": ["mbie-eb", "ours"]}, "agents: must not be empty"),
    ):
        with pytest.raises(MonMDPError, match=message):
            suite(block | wrong, agents=both)
    with pytest.raises(MonMDPError, match="agents: is missing"):
        suite(block)
    with pytest.raises(MonMDPError, match="agens: no such key; did you mean 'agents'"):
        suite(block, agens=both)
    with pytest.raises(MonMDPError, match="must be lists"):
        suite(block, agents="mbie-eb")


def test_quick_may_leave_a_block_out():
    long = BLOCK | {"steps": 300, "quick": {"worlds": []}}
    assert len(suite(BLOCK, long).adapted(quick=True).experiment) == 1
    assert len(suite(BLOCK, long).adapted(seeds=1).experiment) == 2


def test_an_agent_is_not_run_with_monitors_it_names():
    known = {"name": "known-monitor", "not_with": ["semi-random"]}
    mine = suite(BLOCK | {"monitors": ["ask", "semi-random"], "agents": ["mbie-eb", known]})
    panels = expand(mine).figure.panels()
    assert [[curve.agent for curve in panel.curves] for panel in panels] == [
        ["mbie-eb", "known-monitor"],
        ["mbie-eb"],
    ]
    assert [agent.shown_as for agent in mine.experiment[0].agents] == ["mbie-eb", "known-monitor"]
    with pytest.raises(MonMDPError, match=r"semi-randm.*did you mean 'semi-random'"):
        suite(BLOCK | {"agents": [known | {"not_with": ["semi-randm"]}]})
    with pytest.raises(MonMDPError, match="known-monitor"):
        expand(suite(BLOCK | {"monitors": ["semi-random"], "agents": ["known-monitor"]}))


def test_a_reference_is_one_of_the_agents():
    assert expand(suite(reference="monitored-mbie-eb")).figure.reference == "monitored-mbie-eb"
    with pytest.raises(MonMDPError, match=r"reference: .*did you mean 'monitored-mbie-eb'"):
        suite(reference="monitored-mbie")


def test_the_first_of_listed_seeds_are_taken():
    mine = suite(
        BLOCK, BLOCK | {"seeds": [1, 3], "steps": 300}, seeds=[5, 9, 7], quick={"seeds": 2}
    )

    def seeds_of(of):
        return [of.seeds, *(block.seeds for block in of.experiment)]

    assert seeds_of(mine.adapted(seeds=1)) == [(5,), None, (1,)]
    assert seeds_of(mine.adapted(seeds=3)) == [(5, 9, 7), None, (1, 3)]
    assert seeds_of(mine.adapted(quick=True)) == [(5, 9), None, (1, 3)]
    assert seeds_of(mine.adapted(quick=True, seeds=1)) == [(5,), None, (1,)]
    with pytest.raises(MonMDPError, match=r"--seeds 4: suite 'mine' lists its seeds, .* 3"):
        mine.adapted(seeds=4)
    assert suite(seeds=[1, 2]).adapted(quick=True).seeds == (1, 2)


def test_a_suite_is_found_by_name_or_path(command):
    assert find("beyond") == bundled_suite("beyond")
    Path("mine").write_text('name = "mine"\ndraw = ["loop"]\n')
    assert find("mine").name == "mine"
    for wrong, message in (
        ("beyon", "beyon: no such file, and no suite of this name; did you mean 'beyond'"),
        ("beyond.toml", "beyond.toml: no such file"),
        ("./beyond", "no such file"),
    ):
        code, _, err = command("run", wrong)
        assert code == 2
        assert message in err
    code, out, _ = command("list")
    assert "beyond-grid" in out
    with pytest.raises(MonMDPError, match="unknown suite 'byond'; did you mean 'beyond'"):
        bundled_suite("byond")


def test_the_name_of_a_bundled_suite_is_its_own():
    other = parse({"name": "beyond", "experiment": [BLOCK]}, "x")
    with pytest.raises(MonMDPError, match="'beyond' is that of a bundled suite"):
        ask_suite(other)
    assert ask_suite(bundled_suite("beyond"), seeds=2).name == "beyond-2-seeds"


def test_a_bundled_suite_can_be_run_in_shards(command):
    code, out, _ = command(
        "run", "beyond", "--quick", "--shard", "1/400", "--out", "here", "--dry-run"
    )
    assert code == 0
    assert "beyond" in out
