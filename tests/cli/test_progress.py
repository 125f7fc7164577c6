"""What a command says while something takes long."""

from __future__ import annotations

import importlib
import io
import sys
import threading
import time

import pytest

app = importlib.import_module("monmdp.cli.app")  # the package has the Typer app by this name


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("long", [True, False])
def test_what_takes_long_is_said_on_a_terminal_and_cleared(long, monkeypatch):
    monkeypatch.setattr(app, "MOMENT", 0.0 if long else 1000.0)
    said = threading.Event()
    tell = app.tell
    monkeypatch.setattr(app, "tell", lambda *of, **options: (tell(*of, **options), said.set()))
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with app.saying_what_takes_long("building a\x1b[31mmaze / ask"):
        assert not long or said.wait(60)
    if not long:
        assert screen.getvalue() == ""
        return
    before, shown, cleared, after = screen.getvalue().split("\r")
    assert (before, shown.rstrip(), after) == ("", "building a\\x1b[31mmaze / ask …", "")
    assert cleared.strip() == ""
    assert len(cleared) >= len(shown)


def test_how_far_it_is_takes_the_place_of_what_is_done(monkeypatch):
    monkeypatch.setattr(app, "MOMENT", 0.0)
    monkeypatch.setattr(app, "CHANGES", 0.0)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with app.saying_what_takes_long("solving") as show:
        while "solving …" not in screen.getvalue():
            time.sleep(0.01)
        show("9 sweeps")
    shown = [part.strip() for part in screen.getvalue().split("\r")]
    assert shown == ["", "solving …", "9 sweeps", "", ""]


def test_what_takes_long_is_cleared_when_it_fails(monkeypatch):
    monkeypatch.setattr(app, "MOMENT", 0.0)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)

    def interrupted():
        with app.saying_what_takes_long("x" * 500):
            while not screen.getvalue():
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    shown = screen.getvalue().split("\r")
    assert [len(part) for part in shown] == [0, 78, 78, 0]


def test_nothing_is_said_of_building_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr(app, "MOMENT", 0.0)
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    with app.saying_what_takes_long("building"):
        time.sleep(0.05)
    assert screen.getvalue() == ""


def test_the_same_line_comes_once_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr(app, "INTERVAL", 0.0)
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    with app.line_of_progress() as show:
        for text in ("starting", "starting", "1 step", "starting"):
            show(text)
    assert screen.getvalue() == "starting\n1 step\nstarting\n"
