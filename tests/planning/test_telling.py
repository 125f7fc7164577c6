"""Solves say how far they are, and can be interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

from monmdp import evaluate, make, planning, solve, worlds
from monmdp.planning import progress

DEVICES = ["cpu", "jax-cpu"]

LONG = """
from monmdp import make, worlds
from monmdp.planning import optimal
problem = make(worlds.make("river-swim", length=30_000), "button")
optimal(problem, 0.9999, tell=lambda line: print(line, flush=True))
print("not interrupted")
"""


@pytest.fixture(autouse=True)
def every_line(monkeypatch):
    monkeypatch.setattr(progress, "INTERVAL", 0.0)


def slippery():
    return make(worlds.make("bottleneck", slip=0.2), "button")


@pytest.mark.parametrize("verb", [planning.optimal, planning.minimax, solve])
@pytest.mark.parametrize("device", DEVICES)
def test_solves_tell(verb, device):
    lines = []
    verb(slippery(), device=device, tell=lines.append)
    assert any("sweeps, residual" in line for line in lines)
    assert all(len(line) < 78 for line in lines)


@pytest.mark.parametrize("horizon", [None, 5])
@pytest.mark.parametrize("device", DEVICES)
def test_evaluation_tells(horizon, device):
    m = slippery()
    lines = []
    policy = np.full((m.n_states, m.n_actions), 1 / m.n_actions)
    evaluate(m, policy, horizon=horizon, device=device, tell=lines.append)
    assert lines
    assert any(("sweeps" if horizon is None else "of 5") in line for line in lines)


@pytest.mark.parametrize("device", DEVICES)
def test_backward_induction_tells(device):
    lines = []
    m = make("river-swim", "button", time_limit=7)
    planning.optimal(m, 1.0, device=device, tell=lines.append)
    assert lines == [f"step {k} of 7" for k in range(7)]


def test_lines_are_few(monkeypatch):
    monkeypatch.setattr(progress, "INTERVAL", 1000.0)
    lines = []
    solve(slippery(), tell=lines.append)
    assert not lines


@pytest.mark.parametrize("at", [1, 4])
def test_an_interrupt_comes_through(at):
    count = 0

    def interrupt(_):
        nonlocal count
        count += 1
        if count == at:
            raise KeyboardInterrupt

    m = slippery()
    with pytest.raises(KeyboardInterrupt):
        planning.optimal(m, tell=interrupt)
    assert planning.optimal(m).converged  # nothing half-done is kept


def test_ctrl_c_stops_a_large_solve():
    process = subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        first = process.stdout.readline()  # it is at work
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert first
    assert "not interrupted" not in out
    assert "KeyboardInterrupt" in err
