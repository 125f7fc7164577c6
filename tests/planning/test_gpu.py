"""The sweeps for graphics cards, on JAX's CPU device, against the CPU's planner."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import warnings
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from conftest import MONITORS, WORLDS, random_monmdp, seeds
from monmdp import (
    MDP,
    Monitor,
    MonMDPError,
    evaluate,
    join,
    make,
    monitors,
    planning,
    solve,
    worlds,
)
from monmdp.planning.gpu import devices, search, sweeps, tables
from monmdp.planning.gpu.devices import CPU, JAX_CPU
from monmdp.planning.gpu.tables import Far, Near, bytes_needed

GAMMAS = (0.0, 0.9, 0.99, 0.999)


def same(ours, theirs):
    """Within 1e-9 of the CPU's values, or of |v| where that is more."""
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype == np.float64
    return bool((np.abs(ours - theirs) <= 1e-9 * np.maximum(1, np.abs(theirs))).all())


def agree(problem, gammas=GAMMAS):
    """Optimal values, ties and the evaluation of a random policy are the CPU's."""
    rng = np.random.default_rng(0)
    policy = rng.dirichlet(np.ones(problem.n_actions), size=problem.n_states)
    for gamma in gammas:
        theirs = planning.optimal(problem, gamma)
        ours = planning.optimal(problem, gamma, device=JAX_CPU)
        assert ours.converged
        assert same(ours.values, theirs.values)
        assert ours.error_bound == pytest.approx(ours.residual / (1 - gamma))
        assert (ours.greedy == theirs.greedy).all()
        here = evaluate(problem, policy, gamma, device=JAX_CPU)
        assert here.converged
        assert same(here.values, evaluate(problem, policy, gamma).values)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "monitor"), list(product(WORLDS, MONITORS))[::23])
def test_bundled_problems(world, monitor):
    agree(planning.worst_case(make(world, monitor, rho=0.3)))


N_STATES, N_ACTIONS = 6, 3
_rng = np.random.default_rng(7)
_transition = _rng.dirichlet(np.full(3, 0.4), size=(2, 3, 2))
MONITOR = {
    "states": ["a", "b", "c"], "actions": ["x", "y"], "start": [0.2, 0.3, 0.5],
    "transition": _transition, "reward": _rng.normal(size=(3, 2)), "show": np.full((3, 2), 0.5),
}  # fmt: skip


def random_problem(seed):
    """Random endings, staying, ⊥ and classes; always of one shape, so that it compiles once."""
    rng = np.random.default_rng(seed)
    pairs = [(s, a) for s in range(N_STATES) for a in range(N_ACTIONS)]
    ends, stays = (rng.permutation(len(pairs)) < n for n in (4, 7))
    rows = []
    for i, (s, a) in enumerate(pairs):
        others = rng.choice(np.delete(np.arange(N_STATES), s), 3)
        chances = rng.dirichlet(np.ones(5)) * [1, 1, 1, stays[i], ends[i]]
        for to, p in zip([*others, s, s], chances / chances.sum(), strict=True):
            final = bool(len(rows) and to == s and ends[i] and p == chances[-1] / chances.sum())
            rows.append((s, a, int(to), float(p), float(rng.normal()), final, rng.random() < 0.2))
    mdp = MDP.from_outcomes(
        rows, name="random", n_states=N_STATES, n_actions=N_ACTIONS, r_min=-10, r_max=10,
        start=rng.dirichlet(np.ones(N_STATES)),
    )  # fmt: skip
    return join(mdp, Monitor(**MONITOR, pair_class=rng.integers(2, size=(N_STATES, N_ACTIONS))))


@pytest.mark.slow
@settings(max_examples=15)
@given(seeds)
def test_random_problems(seed):
    problem = random_problem(seed)
    assert isinstance(tables.tables(problem).world, Near)
    agree(problem)


@settings(max_examples=10)
@given(seeds)
def test_random_problems_as_lists_of_outcomes(seed):
    problem = random_problem(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "MOST_TERMS", 0)
        assert isinstance(tables.tables(problem).world, Far)
    agree(problem)


@pytest.mark.slow
@settings(max_examples=8)
@given(seeds)
def test_problems_of_any_shape(seed):
    agree(random_monmdp(seed), (0.9, 0.999))


@pytest.mark.slow
def test_many_outcomes_are_a_list():
    """Where every state leads everywhere, neighbours would be the larger table."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(60), size=(60, 8))
    problem = join(worlds.from_tables(P, rng.normal(size=(60, 8))), monitors.make("level-up"))
    assert isinstance(tables.tables(problem).world, Far)
    agree(problem, (0.99,))


@pytest.mark.slow
def test_without_kinds(monkeypatch):
    """Where no two states are alike, every state is a kind of its own."""
    monkeypatch.setattr(tables, "MOST_KINDS", 2)
    monkeypatch.setattr(tables, "_bytes_of_far", lambda m: 10**9)
    problem = random_problem(1)
    assert tables.tables(problem).world.kind is None
    agree(problem, (0.9,))


def test_alike_states_are_kept_once():
    rooms = tables.tables(make("rooms-20x20", "n-experts"))
    assert rooms.world.kind.dtype == np.uint8
    assert rooms.world.chance.shape[2] <= 32
    assert rooms.menus.basis.shape == (1, 4)  # one row
    assert rooms.menus.row.shape == (1, 1, 1)  # one menu


PROBLEM = make("bottleneck", "button", rho=0.05)
"""the one of the core tests: what is compiled for it is shared"""


def test_a_problem():
    agree(planning.worst_case(PROBLEM))


def test_solve_says_the_same():
    problem = PROBLEM
    theirs, ours = solve(problem).to_dict(), solve(problem, device=JAX_CPU).to_dict()
    assert ours.pop("residual") <= 1e-12
    theirs.pop("residual")
    for key, of in theirs.items():
        assert ours[key] == (pytest.approx(of, abs=1e-9) if isinstance(of, float) else of)


@pytest.mark.slow
def test_what_if_runs_on_the_device():
    problem = make("treasure-hunter", "ask")
    solution = solve(problem, device=JAX_CPU)
    assert solution.minimax.device == JAX_CPU
    (best,) = planning.what_if(solution)
    assert best.gain == pytest.approx(0.9)
    assert planning.gain_of_all(solution) == pytest.approx(0.9)


@pytest.mark.slow
def test_minimax():
    problem = make("bottleneck", "button")
    ours = planning.minimax(problem, device=JAX_CPU)
    assert ours.value == pytest.approx(planning.minimax(problem).value, abs=1e-9)


@pytest.mark.slow
def test_no_discount_where_every_episode_ends():
    endless = dataclasses.replace(worlds.make("river-swim"), time_limit=None)
    with pytest.raises(MonMDPError, match="gamma = 1 needs episodes that end"):
        planning.optimal(join(endless, monitors.make("full")), 1, device=JAX_CPU)
    rows = [(s, a, s + 1, 0.5 + 0.2 * a, 1.0 - a, s == 3, False) for s in range(4) for a in (0, 1)]
    rows += [(s, a, s, 0.5 - 0.2 * a, 0.0, True, False) for s in range(4) for a in (0, 1)]
    rows += [(4, a, 4, 1.0, 0.0, True, False) for a in (0, 1)]
    chain = MDP.from_outcomes(rows, name="chain", n_states=5, n_actions=2, start=np.eye(5)[0])
    problem = join(chain, monitors.make("level-up"))
    theirs = planning.optimal(join(chain, monitors.make("level-up")), 1)
    ours = planning.optimal(problem, 1, device=JAX_CPU)
    assert ours.converged
    assert same(ours.values, theirs.values)
    assert ours.error_bound <= 1e-10
    policy = np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)
    here = evaluate(problem, policy, 1, device=JAX_CPU)
    assert same(here.values, evaluate(problem, policy, 1).values)


@pytest.mark.slow
def test_no_discount_and_a_time_limit():
    problem = make("river-swim", "ask")
    theirs, ours = planning.optimal(problem, 1), planning.optimal(problem, 1, device=JAX_CPU)
    assert same(ours.stages, theirs.stages)
    for mine, other in zip(ours.policies(), theirs.policies(), strict=True):
        assert (mine == other).all()
    assert solve(problem, 1, device=JAX_CPU).price == solve(problem, 1).price


@pytest.mark.parametrize("horizon", [0, 1, 2, 200])
def test_a_horizon(horizon):
    problem = PROBLEM
    policy = np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)
    ours = evaluate(problem, policy, horizon=horizon, device=JAX_CPU)
    assert same(ours.values, evaluate(problem, policy, horizon=horizon).values)


@pytest.mark.slow
def test_start_from_and_giving_up():
    problem = make("river-swim", "full", length=40)
    plan = planning.optimal(problem, 0.999, device=JAX_CPU)
    again = planning.optimal(problem, 0.999, device=JAX_CPU, start_from=plan.values)
    assert same(again.values, plan.values)
    assert again.sweeps < plan.sweeps
    early = planning.optimal(problem, 0.999, device=JAX_CPU, max_sweeps=1)
    assert not early.converged
    assert early.sweeps < plan.sweeps
    assert np.abs(early.values - plan.values).max() <= early.error_bound


@pytest.mark.slow
def test_ties():
    """Two ways that are worth the same are both taken; 1e-6 is a difference."""
    for worse, tied in ((0.0, True), (1e-10, True), (1e-6, False)):
        rows = [(0, 0, 0, 1.0, 1.0, True, False), (0, 1, 0, 1.0, 1.0 - worse, True, False)]
        mdp = MDP.from_outcomes(rows, name="two", n_states=1, n_actions=2, start=[1.0])
        problem = join(mdp, Monitor(["-"], ["-"], [1.0], [[[1.0]]], [[0.0]], [[1.0]]))
        plan = planning.optimal(problem, device=JAX_CPU)
        assert plan.policy.tolist() == ([[0.5, 0.5]] if tied else [[1.0, 0.0]])


@pytest.mark.slow
def test_it_comes_back_to_python(monkeypatch):
    """Between rounds, so that Ctrl-C is heard and progress can be told."""
    monkeypatch.setattr(search, "A_WHILE", 0.0)
    problem = make("river-swim", "full", length=40)
    looking = search.Search(problem, JAX_CPU)
    changes = list(looking.run(looking.constant(0.0), 0.99, 1e-12, 10**6))
    assert len(changes) > 2
    assert changes[-1] <= 1e-12 < changes[0]


# ---- what is refused, and what is fallen back on ------------------------------------------------


def test_a_misspelt_device():
    problem = make("loop", "ask")
    for call in (solve, planning.optimal, planning.minimax):
        with pytest.raises(MonMDPError, match=r"unknown device 'gpux'; did you mean 'gpu'\?"):
            call(problem, device="gpux")
    with pytest.raises(MonMDPError, match=r"unknown device 'cuda'; did you mean 'gpu'\?"):
        solve(problem, device="cuda")
    with pytest.raises(MonMDPError, match="unknown device 'tensor'; known: cpu, gpu, jax-cpu"):
        evaluate(problem, planning.optimal(problem).policy, device="tensor")


def test_too_little_memory(monkeypatch):
    problem = PROBLEM
    monkeypatch.setattr(devices, "room", lambda: 1000)
    with pytest.raises(MonMDPError, match=r"72 joint states .* kB of memory on device 'jax-cpu'"):
        planning.optimal(problem, device=JAX_CPU)


def test_too_little_memory_on_a_card(monkeypatch):
    class Card:
        def memory_stats(self):
            return {"bytes_limit": 5000, "bytes_in_use": 1000}

    monkeypatch.setattr(devices, "jax_device", lambda device: Card())
    devices.demand_device_room(4000, "gpu", "it")
    with pytest.raises(MonMDPError, match=r"it would take about 4 kB .* room for 4 kB"):
        devices.demand_device_room(4001, "gpu", "it")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "monitor"), [("rooms-20x20", "n-experts"), ("rooms-20x20", "button")]
)
def test_the_estimate_holds_what_the_compiler_says(world, monitor):
    problem = make(world, monitor)
    looking = search.Search(problem, JAX_CPU)
    with jax.enable_x64(True):
        begin = sweeps.beginning(looking.constant(0.0))
        lowered = sweeps.advance.lower(looking.model, looking.rows, 0.9, 1e-9, begin, 10)
    of = lowered.compile().memory_analysis()
    taken = of.argument_size_in_bytes + of.temp_size_in_bytes
    taken += of.output_size_in_bytes - of.alias_size_in_bytes
    assert taken <= bytes_needed(problem) <= 2 * taken


def test_no_card():
    problem = make("loop", "ask")
    for call in (solve, planning.optimal, planning.minimax):
        with pytest.warns(UserWarning, match=r"JAX finds no GPU here.*the CPU is used") as said:
            answer = call(problem, device="gpu")
        assert len(said) == 1
        assert said[0].filename == __file__
        assert answer.value == pytest.approx(call(problem).value, abs=0)


def test_no_jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.warns(UserWarning, match=r"needs the package jax: pip install 'jax\[cuda13\]'"):
        plan = planning.optimal(make("loop", "ask"), device="gpu")
    assert plan.device == CPU


def test_the_command(command):
    code, out, err = command("solve", "loop", "ask", "--device", "gpu", "--json")
    assert code == 0
    assert err.startswith("note: JAX finds no GPU here")
    assert err.count("\n") == 1
    assert json.loads(out) == json.loads(command("solve", "loop", "ask", "--json")[1])
    asked = ("solve", "bottleneck", "button", "rho=0.05")
    code, out, err = command(*asked, "--device", "jax-cpu")
    assert (code, err) == (0, "")
    assert out == command(*asked)[1]
    code, _, err = command("solve", "loop", "ask", "--device", "gup")
    assert (code, err) == (2, "error: unknown device 'gup'; did you mean 'gpu'?\n")


def test_nothing_of_the_users_changes():
    planning.optimal(PROBLEM, device=JAX_CPU)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert jnp.asarray(np.ones(1)).dtype == np.float32


def test_jax_is_loaded_when_asked_for_only():
    code = (
        "import sys, monmdp; monmdp.solve(monmdp.make('loop', 'ask')); print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
