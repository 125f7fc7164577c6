"""Shared fixtures and the oracles: slow, dense, textbook versions of what the package does fast."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import typer.main
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from monmdp import Monitor, MonMDP, cli, join, monitors, worlds
from monmdp.experiment import provenance

settings.register_profile(
    "default", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")

# The command line has one parser; to make it again takes longer than most commands.
typer.main.get_command = functools.cache(typer.main.get_command)

ROOT = Path(__file__).parent.parent
"""of the repository"""
LARGE = ["rooms-20x20"]
"""worlds too large for dense oracles; what they need is tested by name"""
GRIDS = [name for name in worlds.registry if name.startswith("minigrid-")]
"""worlds that are kept as files, for agents that see observations; tested in tests/worlds"""
WORLDS = [name for name in worlds.registry if name not in (*LARGE, *GRIDS)]
MONITORS = list(monitors.registry)
PRESSED = ["button", "zones", "decoy"]
"""monitors with two transition tables: around a black box they need `pressed`"""
BY_STATE = ["patchy", "cameras"]
"""monitors that show by the number of the state: no black box has one"""
READING = ["semi-random", "shy"]
"""monitors that look at the reward; Known Monitor is not offered with them"""


def one_in(n, values):
    """Parameters of which the core tests take every n-th; the others are for `make test-slow`."""
    many = list(values)
    marks = [() if i % n == 0 else pytest.mark.slow for i in range(len(many))]
    return [
        pytest.param(*(of if isinstance(of, tuple) else (of,)), marks=mark)
        for of, mark in zip(many, marks, strict=True)
    ]


def benchmark(name):
    """A module of the folder benchmarks, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def newest(name):
    """The newest version of an environment of Gymnasium's: older ones warn."""
    versions = [spec.version for spec in gymnasium.registry.values() if spec.name == name]
    return f"{name}-v{max(versions)}"


THEIRS = [newest(name) for name in ("CartPole", "Acrobot", "FrozenLake", "CliffWalking", "Taxi")]


@pytest.fixture(autouse=True)
def _no_stray_files(monkeypatch, tmp_path):
    """Tests run in a folder of their own, so that relative paths cannot litter the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    os.environ.pop("MPLBACKEND", None)


@pytest.fixture(autouse=True)
def _code_as_it_is(request, monkeypatch):
    """A hash of the code that is computed while a test replaces parts of it must not stay."""
    yield
    if "monkeypatch" in inspect.signature(request.function).parameters:
        monkeypatch.undo()
        provenance._hash_of.cache_clear()


@pytest.fixture
def command(capsys, monkeypatch):
    """Run the command line in this process; returns (exit code, stdout, stderr)."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["monmdp", *map(str, words)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def by_hand(monmdp: MonMDP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joint P[s, a, s'] without ended episodes, R[s, a] and P(shown | s, a), outcome by outcome."""
    mdp, mon = monmdp.mdp, monmdp.monitor
    Sm, Am = mon.n_states, mon.n_actions
    S, A = mdp.n_states * Sm, mdp.n_actions * Am
    P, R, shown = np.zeros((S, A, S)), np.zeros((S, A)), np.zeros((S, A))
    for se in range(mdp.n_states):
        for ae in range(mdp.n_actions):
            pair = se * mdp.n_actions + ae
            for sm in range(Sm):
                for am in range(Am):
                    s, a = se * Sm + sm, ae * Am + am
                    R[s, a] = mon.reward[sm, am]
                    move = mon.transition[monmdp.pair_class[pair], sm, am]
                    for o in range(mdp.first[pair], mdp.first[pair + 1]):
                        p = mdp.probability[o]
                        R[s, a] += p * mdp.reward[o]
                        shown[s, a] += p * mon.show[monmdp.outcome_class[o], sm, am]
                        if not mdp.terminates[o]:
                            first = mdp.successor[o] * Sm
                            P[s, a, first : first + Sm] += p * move
    return P, R, shown


def worst_by_hand(monmdp: MonMDP) -> MonMDP:
    """M↓ from the definition: r_min where nothing reachable shows the reward."""
    never, _, _ = observability_by_hand(monmdp)
    mdp = monmdp.mdp
    reward = np.array(mdp.reward)
    for s, a in np.argwhere(never):
        pair = s * mdp.n_actions + a
        reward[mdp.first[pair] : mdp.first[pair + 1]] = mdp.r_min
    return monmdp.with_mdp(mdp.with_outcome_rewards(reward))


def observability_by_hand(monmdp: MonMDP) -> tuple[np.ndarray, float | None, np.ndarray]:
    """Never-observable pairs, ρ and reached joint states from the definitions."""
    P, _, chance = by_hand(monmdp)
    Sm, Am = monmdp.monitor.n_states, monmdp.monitor.n_actions
    reached = np.outer(monmdp.mdp.start, monmdp.monitor.start).reshape(-1) > 0
    while True:
        grown = reached | (P[reached].sum(axis=(0, 1)) > 0)
        if (grown == reached).all():
            break
        reached = grown
    seen = np.zeros((monmdp.mdp.n_states, monmdp.mdp.n_actions), dtype=bool)
    met = np.zeros_like(seen)
    positive = []
    for s in np.flatnonzero(reached):
        for a in range(chance.shape[1]):
            met[s // Sm, a // Am] = True
            if chance[s, a] > 0:
                seen[s // Sm, a // Am] = True
                positive.append(chance[s, a])
    return met & ~seen, min(positive, default=None), reached


def dense_optimal_values(monmdp: MonMDP, gamma: float) -> np.ndarray:
    """Textbook policy iteration on dense joint arrays made by hand."""
    P, R, _ = by_hand(monmdp)
    n = len(R)
    policy = np.zeros(n, dtype=int)
    for _ in range(1000):
        V = np.linalg.solve(np.eye(n) - gamma * P[np.arange(n), policy], R[np.arange(n), policy])
        Q = R + gamma * P @ V
        gain = Q.max(axis=1) - Q[np.arange(n), policy]
        small = 1e-12 * max(1.0, np.abs(V).max())
        if gain.max() <= small:
            return V
        policy = np.where(gain > small, Q.argmax(axis=1), policy)
    raise AssertionError("policy iteration did not end")


def dense_policy_values(
    monmdp: MonMDP, policy: np.ndarray, gamma: float, horizon: int | None = None
) -> np.ndarray:
    """Textbook evaluation of policy[s, a] on dense joint arrays made by hand."""
    P, R, _ = by_hand(monmdp)
    P = np.einsum("sa,sat->st", policy, P)
    R = (policy * R).sum(axis=1)
    if horizon is None:
        return np.linalg.solve(np.eye(len(R)) - gamma * P, R)
    V = np.zeros(len(R))
    for _ in range(horizon):
        V = R + gamma * P @ V
    return V


def random_monmdp(seed: int) -> MonMDP:
    """A small random Mon-MDP: random endings, random rewards, ⊥ outcomes, several classes."""
    rng = np.random.default_rng(seed)
    S, A, Sm, Am = (int(n) for n in rng.integers(1, (7, 4, 4, 4)))
    rows = []
    for s in range(S):
        for a in range(A):
            k = int(rng.integers(1, 5))
            for p in rng.dirichlet(np.ones(k)):
                rows.append(
                    (
                        s, a, int(rng.integers(S)), float(p), float(rng.normal()),
                        bool(rng.random() < 0.15), bool(rng.random() < 0.25),
                    )
                )  # fmt: skip
    total: dict[tuple[int, int], float] = {}
    for row in rows:
        total[row[:2]] = total.get(row[:2], 0.0) + row[3]
    rows = [(*row[:3], row[3] / total[row[:2]], *row[4:]) for row in rows]
    start = rng.dirichlet(np.ones(S))
    from monmdp import MDP

    mdp = MDP.from_outcomes(
        rows, name="random", n_states=S, n_actions=A, start=start, r_min=-10, r_max=10,
        time_limit=int(rng.integers(1, 30)),
    )  # fmt: skip
    classes = int(rng.integers(1, 4))
    transition = rng.dirichlet(np.full(Sm, 0.4), size=(classes, Sm, Am))
    transition[transition < 0.05] = 0
    transition /= transition.sum(axis=-1, keepdims=True)
    monitor = Monitor(
        states=[f"m{i}" for i in range(Sm)],
        actions=[f"a{i}" for i in range(Am)],
        start=rng.dirichlet(np.ones(Sm)),
        transition=transition,
        reward=rng.normal(size=(Sm, Am)),
        show=rng.random((Sm, Am)) * (rng.random((Sm, Am)) < 0.5),
        pair_class=rng.integers(classes, size=(S, A)),
    )
    return join(mdp, monitor)


seeds = st.integers(0, 2**32 - 1)
