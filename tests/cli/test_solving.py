"""`monmdp solve` shows how far it is."""

from __future__ import annotations

import io
import itertools
import sys
from types import SimpleNamespace

import pytest

from monmdp import planning


class Terminal(io.StringIO):
    """Something that looks like a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def telling_solve(monkeypatch):
    """Let every solve say one line."""
    solve = planning.solve

    def telling(*args, tell, **kwargs):
        tell("round 7")
        return solve(*args, **kwargs)

    monkeypatch.setattr(planning, "solve", telling)


@pytest.mark.parametrize("device", ["cpu", "jax-cpu"])
@pytest.mark.parametrize(("seconds", "shown"), [(2.0, True), (0.01, False)])
def test_on_a_terminal_a_line_shows_how_far_a_long_solve_is(
    command, telling_solve, monkeypatch, device, seconds, shown
):
    terminal = Terminal()
    clock = itertools.count(step=seconds)
    app = sys.modules["monmdp.cli.app"]
    monkeypatch.setattr(app, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(sys, "stderr", terminal)
    code, _, _ = command("solve", "loop", "ask", "--device", device)
    assert code == 0
    text = terminal.getvalue()
    assert ("round 7" in text) == shown
    assert text.endswith("\r") == shown  # and is wiped off


def test_elsewhere_nothing_is_said(command, telling_solve):
    code, _, err = command("solve", "loop", "ask")
    assert code == 0
    assert "round 7" not in err
