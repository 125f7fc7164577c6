"""The inside of a run: snapshots, layers against plain loops, the explorer's data."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import monmdp
from monmdp import MonMDP, agents, experiment, monitors, train, worlds
from monmdp.agents.monitored_mbie_eb import Growth, growth_of
from monmdp.drawing import palette
from monmdp.errors import MonMDPError
from monmdp.experiment import prepare
from monmdp.experiment.training import snapshots_from_start
from monmdp.report import inside
from monmdp.report.inside import config_of, explorer
from monmdp.report.layers import layers as layers_of
from monmdp.report.packing import unpack
from monmdp.results import execute
from monmdp.results.request import read_sessions
from monmdp.suites import Configuration, resolve

OBSERVING = ("factored-mbie-eb", "monitored-mbie-eb", "known-monitor")


# ---- snapshots ------------------------------------------------------------------------------


def test_one_seed_keeps_snapshots_and_all_have_the_same_settings(command):
    words = ("train", "loop", "ask", "--steps", 600, "--seeds", 3, "--snapshots", 4, "--out", "x")
    assert command(*words)[0] == 0
    paths = sorted(Path("x/runs").glob("*/seed-????.parquet"))
    runs = [monmdp.load_run(path) for path in paths]
    assert [run.seed for run in runs] == [0, 1, 2]
    assert runs[0].snapshot_steps.tolist() == [0, 38, 150, 338, 600]
    assert all(run.settings == runs[0].settings for run in runs)
    assert all(run.policy is not None for run in runs)
    assert all(len(run.snapshot_steps) == 0 and not run.snapshots for run in runs[1:])
    code, out, _ = command(*words)
    assert code == 0
    assert "3 already there" in out


def test_settings_without_snapshots_are_as_ever():
    """Nor does it matter who keeps them: a run is found with or without."""
    problem = monmdp.make("loop", "ask")
    without = prepare(problem, "ucb", 10).settings
    assert prepare(problem, "ucb", 10, snapshots=2).settings == without
    asked = [Configuration(problem, None, "ucb", steps=10, snapshots=n, snapshot_seed=s)
             for n, s in ((0, None), (2, None), (2, 0), ((1, 5), 3))]  # fmt: skip
    assert len({resolve(of).id for of in asked}) == 1
    assert [len(resolve(of).task.snapshot_steps) for of in asked] == [0, 3, 3, 2]
    assert snapshots_from_start(0, 10) == ()
    assert snapshots_from_start(2, 10) == (0, 3, 10)
    assert snapshots_from_start(4, 5) == (0, 1, 2, 3, 5)
    assert snapshots_from_start(40, 50_000)[:4] == (0, 32, 125, 282)
    for steps in (1, 7, 100, 1001):
        for n in range(1, min(steps, 60) + 1):
            at = snapshots_from_start(n, steps)
            assert at == tuple(sorted(set(at)))
            assert (len(at), at[-1]) == (n + 1, steps)


def test_every_seed_keeps_snapshots_if_none_is_chosen():
    asked = Configuration(monmdp.make("loop", "ask"), None, "ucb", steps=100, snapshots=2)
    for of, jobs, expected in (
        (asked, 1, [3, 3]),
        (replace(asked, snapshot_seed=5), 2, [0, 3]),
    ):
        found = resolve(of)
        runs = execute(None, {(found.id, seed): found for seed in (4, 5)}, jobs=jobs).runs
        assert [len(runs[found.id, seed].snapshot_steps) for seed in (4, 5)] == expected


@pytest.mark.parametrize("agent", list(agents.registry))
def test_snapshots_hold_the_test_policy(agent):
    run = train(monmdp.make("loop", "button"), agent, 500, 3, snapshots=[0, 250, 500])
    policy = run.snapshots["policy"]
    np.testing.assert_array_equal(policy[-1], run.policy.probability)
    np.testing.assert_allclose(policy.sum(axis=-1), 1)
    assert ("episodes" in run.snapshots) == (agent in OBSERVING)
    if agent in OBSERVING:
        k, kappa, _ = run.snapshots["episodes"].T
        assert k[0] == kappa[0] == 0
        assert (kappa <= k).all()
        assert k[-1] >= run.curve["episodes"][-1]


def test_a_folder_of_runs_holds_its_problem_and_its_sessions(command):
    Path("mine.txt").write_text("@.$\n.S.\n")
    problem = monmdp.make("mine.txt", "ask")

    def trained(seeds):
        words = ("--agent", "ucb", "--steps", 50, "--every", 10, "--seeds", seeds, "--unchecked")
        assert command("train", "mine.txt", "ask", *words)[0] == 0
        (path,) = Path("results/problems").iterdir()
        assert experiment.fingerprint(MonMDP.load(path)) == experiment.fingerprint(problem)
        folders = sorted(Path("results/reports").iterdir())
        return sorted(tuple(one["runs"] for one in read_sessions(of)) for of in folders)

    assert trained(2) == [(2,)]
    (report,) = Path("results/reports").iterdir()
    (session,) = read_sessions(report)
    assert session["wall_seconds"] > 0
    assert session["ended"].endswith("Z")
    assert {"steps", "jobs", "commit", "cpu_seconds_of_process"} <= set(session)
    assert trained(2) == [(2,)], "nothing was done"
    assert trained(3) == [(2, 1)], "the same request with more seeds, of which two runs were there"


def test_what_was_done_before_it_was_stopped_is_on_record():
    def stop(progress):
        if progress.done:
            raise KeyboardInterrupt

    block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["ucb"]}
    suite = {"name": "small", "seeds": 3, "steps": 50, "every": 10, "experiment": [block]}
    with pytest.raises(KeyboardInterrupt):
        monmdp.run_suite(suite, jobs=1, tell=stop)
    assert [session["runs"] for session in read_sessions(Path("results/reports/small"))] == [1]
    assert len(list(Path("results/runs").glob("*/seed-????.parquet"))) == 1


# ---- layers, against loops written from the paper -------------------------------------------


def snapshot_of(problem, agent, steps=400, seed=1, **params):
    config = agents.paper_config(agent, problem.mdp.name, problem.monitor.name)
    config = agents.config(config, **params).for_training(steps)
    run = train(problem, config, steps, seed, snapshots=[0, steps])
    return config, [{k: v[i] for k, v in run.snapshots.items()} for i in range(2)]


def g(config, n):
    return growth_of(int(n), get_args(Growth).index(config.growth))


def bonus_of_models(config, n, snapshot, s, a):
    """What R_opt has beside the means; None where it is infinite."""
    se, sm, ae, am = s[0], s[1], a[0], a[1]
    n_env, n_mon = snapshot["n_env"], snapshot["n_mon"]
    if n[se, sm, ae, am] == 0 or (config.name == "mbie-eb" and n_env[se, ae] == 0):
        return None
    bonus = config.beta * math.sqrt(g(config, n[se, sm].sum()) / n[se, sm, ae, am])
    bonus += config.beta_m * math.sqrt(g(config, n_mon[sm].sum()) / n_mon[sm, am])
    if n_env[se, ae]:
        bonus += config.beta_e * math.sqrt(g(config, n_env[se].sum()) / n_env[se, ae])
    return bonus


@pytest.mark.parametrize("agent", ["monitored-mbie-eb", "mbie-eb", "pessimistic-mbie-eb"])
@pytest.mark.parametrize(
    ("world", "monitor", "params"),
    [("hazard", "n-supporters", {"beta_m": 0.0}), ("bottleneck", "ask", {"growth": "log"})],
)
def test_layers_of_the_planners(agent, world, monitor, params):
    problem = monmdp.make(world, monitor, rho=0.5, time_limit=20)
    config, snapshots = snapshot_of(problem, agent, 800, beta=0.3, beta_e=0.1, **params)
    n_se, n_sm, n_ae, n_am = shape = problem.shape
    found_statuses = set()
    for snapshot in snapshots:
        layers = layers_of(config, snapshot, problem)
        n = snapshot["n"].reshape(shape)
        assert set(layers) == {
            "visits", "seen", "status", "q_opt", "bonus", "pinned", "policy", "monitor_policy",
            *(("hope", "q_obs") if agent == "monitored-mbie-eb" else ()),
        }  # fmt: skip
        assert all(
            values.shape == (n_se, n_sm, n_am if name == "monitor_policy" else n_ae)
            for name, values in layers.items()
        )
        q = snapshot["q_opt"].reshape(shape)
        for se, sm, ae in np.ndindex(n_se, n_sm, n_ae):
            at = se, sm, ae
            seen = snapshot["n_env"][se, ae]
            every = all(n[se, sm, ae, am] > 0 for am in range(n_am))
            assert layers["visits"][at] == sum(n[se, sm, ae, am] for am in range(n_am))
            assert layers["seen"][at] == seen
            assert layers["status"][at] == (1 if seen else 2 if every else 0)
            found_statuses.add(layers["status"][at])
            assert layers["q_opt"][at] == max(q[se, sm, ae])
            at_start = config.q_opt_init in q[se, sm, ae]
            assert layers["pinned"][at] == ((2 if every else 1) if at_start else 0)
            bonuses = [
                bonus_of_models(config, n, snapshot, (se, sm), (ae, am)) for am in range(n_am)
            ]
            if None in bonuses:
                assert np.isnan(layers["bonus"][at])
            else:
                assert layers["bonus"][at] == pytest.approx(max(bonuses), rel=1e-12)
            if "hope" in layers:
                hope = 0.0 if seen else 1.0
                if every and not seen:
                    total = n[se, sm].sum()
                    hope = max(
                        1 - math.exp(-config.beta_kl * g(config, total) / n[se, sm, ae, am])
                        for am in range(n_am)
                    )
                assert layers["hope"][at] == pytest.approx(hope, rel=1e-12)
        pi = snapshot["policy"].reshape(shape)
        for se, sm in np.ndindex(n_se, n_sm):
            assert layers["policy"][se, sm] == pytest.approx(pi[se, sm].sum(axis=1))
            assert layers["monitor_policy"][se, sm] == pytest.approx(pi[se, sm].sum(axis=0))
    if world == "bottleneck":
        assert found_statuses == {0, 1, 2}


def test_layers_of_the_known_monitor():
    problem = monmdp.make("bottleneck", "button", rho=0.3)
    config, (_, snapshot) = snapshot_of(problem, "known-monitor", 600, beta=0.2, beta_e=0.1)
    layers, shape = layers_of(config, snapshot, problem), problem.shape
    shown = problem.observability().reshape(shape)
    n, n_env = snapshot["n"], snapshot["n_env"]
    for se, sm, ae in np.ndindex(*shape[:3]):
        at, seen = (se, sm, ae), n_env[se, ae]
        assert layers["visits"][at] == n[se, ae]
        can_be = shown[se, :, ae].max() > 0
        assert layers["status"][at] == (1 if seen else 0 if can_be else 2)
        assert layers["hope"][at] == (0 if seen else shown[se, sm, ae].max())
        if n[se, ae] == 0:
            assert np.isnan(layers["bonus"][at])
            continue
        bonus = config.beta * math.sqrt(g(config, n[se].sum()) / n[se, ae])
        if seen:
            bonus += config.beta_e * math.sqrt(g(config, n_env[se].sum()) / n_env[se, ae])
        assert layers["bonus"][at] == pytest.approx(bonus, rel=1e-12)
    assert set(np.unique(layers["status"])) == {0, 1, 2}
    assert layers["q_obs"].max() == snapshot["q_obs"].max()


@pytest.mark.parametrize("known", [False, True])
def test_layers_of_factored_mbie_eb(known):
    problem = monmdp.make("bottleneck", "ask", rho=0.3)
    config, (_, snapshot) = snapshot_of(problem, "factored-mbie-eb", 600, knows_monitor=known)
    layers, shape = layers_of(config, snapshot, problem), problem.shape
    n, n_seen = snapshot["n"].reshape(shape), snapshot["n_seen"]
    never = problem.observability().reshape(shape).max(axis=(1, 3)) == 0
    names = {"q_opt": "q_low", "q": "q_hope", "q_obs": "q_obs"}
    for se, sm, ae in np.ndindex(*shape[:3]):
        at = (se, sm, ae)
        assert layers["visits"][at] == n[at].sum()
        assert layers["seen"][at] == n_seen[se, ae]
        for layer, values in names.items():
            assert layers[layer][at] == snapshot[values].reshape(shape)[at].max()
        hopeless = n_seen[se, ae] or (known and never[se, ae])
        assert layers["hope"][at] == (0.0 if hopeless else snapshot["hope"][se, ae])
        assert layers["hope"][at] <= 0.5  # which it is before anything was tried
        assert snapshot["n_env"][se, ae] or layers["hope"][at] == (0.0 if hopeless else 0.5)
        # the test policy follows Q_opt
        if layers["policy"][at] > 0:
            assert layers["q_opt"][at] == pytest.approx(layers["q_opt"][se, sm].max())
    assert set(np.unique(layers["status"])) == {0, 1, 2}
    assert 0 < layers["hope"].min(initial=1, where=layers["hope"] > 0) < 0.5
    run = train(problem, config, 300, snapshots=1)
    data = explorer(run, problem)
    assert (data["pooled"], data["unseen"]) == (False, "r_min in tests")
    assert "in each state of the monitor" in data["shown"][0]["explains"]
    assert [layer["key"] for layer in data["shown"]] == [
        "visits", "tested", "status", "hope", "q_opt", "q", "q_obs",
    ]  # fmt: skip


def test_an_optimistic_test_policy_has_no_pessimistic_values():
    problem = monmdp.make("loop", "ask")
    config, (_, snapshot) = snapshot_of(problem, "factored-mbie-eb", 300, pessimistic_test=False)
    layers = layers_of(config, snapshot, problem)
    assert "q_opt" not in layers
    best = layers["q"] >= layers["q"].max(axis=-1, keepdims=True) - 1e-10  # those are ties
    assert (best[layers["policy"] > 0]).all()


@pytest.mark.parametrize("agent", ["ucb", "intrinsic", "q-count", "epsilon-greedy", "directed-e2"])
def test_layers_of_the_learners(agent):
    problem = monmdp.make("loop", "level-up")
    config, (_, snapshot) = snapshot_of(problem, agent, 500)
    layers, shape = layers_of(config, snapshot, problem), problem.shape
    n = snapshot["n"].reshape(shape)
    assert ("bonus" in layers) == (agent in ("ucb", "intrinsic", "q-count"))
    counts = n if agent != "q-count" else 0.01 * snapshot["q_count"].reshape(shape)
    for se, sm, ae in np.ndindex(*shape[:3]):
        assert layers["q"][se, sm, ae] == snapshot["q"].reshape(shape)[se, sm, ae].max()
        assert layers["reward_model"][se, sm, ae] == snapshot["reward_model"][se, ae]
        if "bonus" not in layers:
            continue
        here = counts[se, sm, ae]
        if (here == 0).any():
            assert np.isnan(layers["bonus"][se, sm, ae])
        elif agent == "intrinsic":
            most = max((1 - config.gamma) / math.sqrt(x) for x in here)
            assert layers["bonus"][se, sm, ae] == pytest.approx(most)
        else:
            log = max(0.0, math.log(counts[se, sm].sum()))
            most = max(math.sqrt(2 * log / x) for x in here)
            assert layers["bonus"][se, sm, ae] == pytest.approx(most)


def test_an_agent_of_somebody_else_has_no_layers():
    assert layers_of(None, {}, monmdp.make("loop", "ask")) == {}


# ---- the explorer's data --------------------------------------------------------------------


def arrays(packed):
    """The same with every packed array as it was."""
    if isinstance(packed, dict) and set(packed) == {"dtype", "shape", "data"}:
        return unpack(packed)
    if isinstance(packed, dict):
        return {key: arrays(value) for key, value in packed.items()}
    return packed


@pytest.mark.parametrize("agent", list(agents.registry))
def test_the_explorers_data_are_those_of_the_run(agent):
    problem = monmdp.make("loop", "button")
    run = train(problem, agent, 400, 2, snapshots=[0, 200, 400])
    data = explorer(run, problem)
    assert data == json.loads(json.dumps(data, allow_nan=False))
    assert data["notes"] == []
    assert data["snapshots"]["step"] == [0, 200, 400]
    found = arrays(data)
    config = config_of(run.settings)
    for i in range(3):
        snapshot = {name: values[i] for name, values in run.snapshots.items()}
        layers = layers_of(config, snapshot, problem)
        assert set(found["layers"]) == {*layers, "tested"}
        for name, values in layers.items():
            np.testing.assert_allclose(found["layers"][name][i], values, rtol=1e-6, err_msg=name)
        # A test episode lasts as long as exact evaluation says, and follows the policy.
        policy = experiment.Policy(problem.shape, snapshot["policy"])
        tested = found["layers"]["tested"][i]
        length = policy.evaluate(problem)["episode_length"]
        assert tested.sum() == pytest.approx(length, rel=1e-6)
        share = tested / np.maximum(tested.sum(axis=-1, keepdims=True), 1e-12)
        for se, sm in zip(*np.nonzero(tested.sum(axis=-1) > 1e-9), strict=True):
            assert share[se, sm] == pytest.approx(layers["policy"][se, sm], abs=1e-5)
    assert [layer["key"] for layer in data["shown"]] == [
        key for key in inside._SHOWN if key in found["layers"]
    ]
    assert set(data["rollouts"]) == {"test", *(("observe",) if agent in OBSERVING else ())}
    np.testing.assert_array_equal(found["curve"]["step"], run.step)
    assert found["moves"]["reward"].tolist() == problem.mdp.mean_reward.tolist()
    assert data == explorer(run, problem), "the same episodes each time"


def test_every_field_is_that_of_the_run_and_its_problem():
    problem = monmdp.make("bottleneck", "n-experts", rho=0.5)
    run = train(problem, "monitored-mbie-eb", 3_000, 2, snapshots=[0, 1_000, 3_000])
    data = explorer(run, problem)
    found = arrays(data)
    solution = monmdp.solve(problem)
    assert (data["r_min"], data["gamma"], data["time_limit"]) == (-10, 0.99, 50)
    assert data["truth"]["minimax"] == solution.episode_return
    assert found["truth"]["never_observable"].tolist() == (
        solution.seen.never_observable.astype(int).tolist()
    )
    assert data["pooled"] is False
    assert explorer(train(problem, "known-monitor", 200, snapshots=1), problem)["pooled"] is True
    assert data["unseen"] == "r_min"
    assert "r_min = −10" in next(one["explains"] for one in data["shown"] if one["key"] == "status")
    assert found["start"].tolist() == problem.mdp.start.tolist()
    np.testing.assert_allclose(
        found["curve"]["value"], run.curve["episode_return"][: len(run.step)], rtol=1e-6
    )
    k, kappa = run.snapshots["episodes"][:, :2].T.tolist()
    assert data["snapshots"]["episodes"] == k
    assert data["snapshots"]["observe_episodes"] == kappa
    assert k[0] == 0 < kappa[1] <= k[1] < k[2]
    mdp = problem.mdp
    assert found["moves"]["state"].tolist() == mdp.successor.tolist()
    assert found["moves"]["probability"] == pytest.approx(mdp.probability)
    for kind in ("test", "observe"):
        of = found["rollouts"][kind]
        for i, (begin, end) in enumerate(zip(of["first"], of["first"][1:], strict=False)):
            last = (
                of["state"][end - 2],
                of["action"][end - 2],
            )
            pair = last[0] * mdp.n_actions + last[1]
            can_end = mdp.terminates[mdp.first[pair] : mdp.first[pair + 1]].any()
            assert of["terminated"][i] == (end - begin - 1 < 50) or can_end
            if of["terminated"][i]:
                assert can_end


def test_episodes_are_those_of_their_seeds():
    problem = monmdp.make("bottleneck", "full-random", rho=0.5)
    runs = [train(problem, "monitored-mbie-eb", 300, seed, snapshots=[300]) for seed in (0, 2)]
    data = [arrays(explorer(run, problem))["rollouts"] for run in runs]
    for run, found in zip(runs, data, strict=True):
        policies = [run.snapshots["policy"][0], experiment.observing_policy(run).probability]
        for number, kind in enumerate(("test", "observe")):
            seed = np.random.SeedSequence([run.seed, 300, number])
            policy = experiment.Policy(problem.shape, policies[number])
            again = experiment.rollout(problem, policy, np.random.default_rng(seed))
            n = len(again)
            assert found[kind]["state"].tolist() == again.state.tolist()
            assert found[kind]["shown"][:n].tolist() == again.shown.tolist()
            assert found[kind]["reward"][:n].tolist() == again.reward.tolist()


def test_long_episodes_are_cut():
    problem = monmdp.make("river-swim", "full", time_limit=600)
    run = train(problem, "monitored-mbie-eb", 700, snapshots=[700])
    of = arrays(explorer(run, problem))["rollouts"]["test"]
    assert of["first"] == [0, inside.LONGEST + 1]
    assert of["terminated"] == [False]


def test_snapshots_of_an_earlier_version_can_be_looked_into():
    problem = monmdp.make("loop", "ask")
    run = train(problem, "monitored-mbie-eb", 100, snapshots=[100])
    older = {k: v for k, v in run.snapshots.items() if k not in ("tried", "policy", "episodes")}
    data = explorer(dataclasses.replace(run, snapshots=older), problem)
    assert "tested" not in data["layers"]
    assert set(data["rollouts"]) == {"observe"}
    assert data["snapshots"]["episodes"] is None


def test_episodes_follow_their_policies():
    problem = monmdp.make("bottleneck", "ask", rho=0.5)
    run = train(problem, "monitored-mbie-eb", 3_000, 2, snapshots=[1_000, 3_000])
    found = arrays(explorer(run, problem))["rollouts"]
    n_sm, n_am = problem.shape.n_monitor_states, problem.shape.n_monitor_actions
    for kind, of in found.items():
        for i, (begin, end) in enumerate(zip(of["first"], of["first"][1:], strict=False)):
            assert 1 < end - begin <= 51
            assert problem.mdp.start[of["state"][begin]] > 0
            for t in range(begin, end - 1):
                s = of["state"][t] * n_sm + of["monitor_state"][t]
                a = of["action"][t] * n_am + of["monitor_action"][t]
                if kind == "test":
                    assert run.snapshots["policy"][i, s, a] > 0
                else:
                    q = run.snapshots["q_obs"][i, s]
                    assert q[a] >= q.max() - 1e-9
                assert of["monitor_reward"][t] == pytest.approx(-0.2 if a % n_am else 0.0)


def test_how_to_observe_is_that_of_the_snapshot():
    problem = monmdp.make("bottleneck", "ask", rho=0.5)
    run = train(problem, "monitored-mbie-eb", 3_000, 2, snapshots=[1_000, 3_000])
    policies = [experiment.observing_policy(run, snapshot=i).probability for i in range(2)]
    for policy, q in zip(policies, run.snapshots["q_obs"], strict=True):
        best = q >= q.max(axis=1, keepdims=True) - 1e-10
        np.testing.assert_array_equal(policy, best / best.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(experiment.observing_policy(run).probability, policies[1])
    assert (policies[0] != policies[1]).any()


def test_colours_are_those_of_the_pictures():
    problem = monmdp.make("loop", "ask")
    colours = explorer(train(problem, "ucb", 50, snapshots=1), problem)["colours"]
    assert colours == {"blues": list(palette.BLUES), "oranges": list(palette.ORANGES)}


def test_truth_is_the_experimenters():
    problem = monmdp.make("bottleneck", "ask")
    run = train(problem, "ucb", 100, snapshots=1)
    data = explorer(run, problem)
    solution = monmdp.planning.solve(problem, run.settings["gamma"])
    never = unpack(data["truth"]["never_observable"])
    np.testing.assert_array_equal(never, solution.seen.never_observable)
    assert data["truth"]["minimax"] == solution.episode_return
    assert data == explorer(run, problem)


def test_a_button_is_drawn_only_where_it_does_something():
    for monitor, there in (("button", True), ("ask", False)):
        problem = monmdp.make("loop", monitor)
        run = train(problem, "ucb", 20, snapshots=1)
        assert (explorer(run, problem)["world"]["button"] is not None) == there


@pytest.mark.slow
def test_too_much_data_is_thinned_and_said(monkeypatch):
    problem = monmdp.make("bottleneck", "n-experts")
    run = train(problem, "monitored-mbie-eb", 2_000, snapshots=20)
    whole = sum(len(layer["data"]) for layer in explorer(run, problem)["layers"].values())

    def within(limit):
        monkeypatch.setattr(inside, "LIMIT", limit)
        data = explorer(run, problem)
        size = sum(len(layer["data"]) for layer in data["layers"].values())
        assert size <= limit
        steps = len(data["snapshots"]["step"])
        assert all(layer["shape"][0] == steps for layer in data["layers"].values())
        assert all(len(of["first"]) == steps + 1 for of in data["rollouts"].values())
        return data

    data = within(whole // 3)
    n = len(data["snapshots"]["step"])
    assert 1 < n < 20
    assert data["snapshots"]["step"][-1] == 2_000
    assert data["notes"] == [f"{n} of 20 snapshots are shown, to keep the page small"]
    config = config_of(run.settings)
    last = inside._packed([inside._layers(run, problem, config, 19, True)])
    data = within(sum(len(layer["data"]) for layer in last.values()) - 1)
    assert "values of single actions are left out" in data["notes"][0]
    assert data["layers"]["q_opt"]["shape"][1:] == [36, 4, 1]
    assert "policy" not in data["layers"]
    data = within(10)
    assert data["layers"] == {}
    assert data["shown"] == []
    assert "too much" in data["notes"][0]


def test_a_problem_with_too_many_states_is_not_drawn(monkeypatch):
    monkeypatch.setattr(inside, "MOST_STATES", 10)
    problem = monmdp.make("bottleneck", "ask")
    data = explorer(train(problem, "ucb", 50, snapshots=1), problem)
    assert data["snapshots"] is None
    assert "36 joint states are too many" in data["notes"][0]
    json.dumps(data, allow_nan=False)


def test_runs_that_cannot_be_explored():
    problem = monmdp.make("loop", "ask")
    with pytest.raises(MonMDPError, match="--snapshots"):
        explorer(train(problem, "ucb", 50), problem)
    with pytest.raises(MonMDPError, match="not of the problem loop / full"):
        explorer(train(problem, "ucb", 50, snapshots=1), monmdp.make("loop", "full"))


def test_a_run_of_an_unknown_agent_shows_its_episodes():
    problem = monmdp.make("loop", "ask")
    run = train(problem, "ucb", 50, snapshots=2)
    foreign = replace(run, settings=run.settings | {"agent": "mine:Mine"})
    assert config_of(foreign.settings) is None
    assert config_of(run.settings | {"parameters": {"other": 1}}) is None
    data = explorer(foreign, problem)
    assert data["layers"] == {}
    assert list(data["rollouts"]) == ["test"]
    assert "not part of this package" in data["notes"][0]


def test_names_of_users_stay_data():
    labels = tuple(f"<b>{s}</b>" for s in range(6))
    world = replace(worlds.make("river-swim"), picture=None, state_labels=labels)
    problem = monmdp.join(world, monitors.make("ask"))
    data = explorer(train(problem, "monitored-mbie-eb", 60, snapshots=2), problem)
    assert data["states"][3] == "<b>3</b>"
    assert "<b>" not in json.dumps(data["world"])


def test_long_curves_are_thinned():
    problem = monmdp.make("loop", "full")
    run = train(problem, "ucb", 2_000, every=1, snapshots=1)
    step = unpack(explorer(run, problem)["curve"]["step"])
    assert len(step) == inside.POINTS
    assert (step[0], step[-1]) == (0, 1_999)
