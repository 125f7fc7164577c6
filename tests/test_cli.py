"""The command line, as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from monmdp import cli


@pytest.fixture
def monmdp(capsys, monkeypatch):
    """Run the command line in this process; returns (exit code, stdout, stderr)."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["monmdp", *words])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def test_list(monmdp):
    code, out, _ = monmdp("list")
    assert code == 0
    for name in ("bottleneck", "two-room-2x11", "treasure-hunter", "n-experts", "level-up"):
        assert name in out
    assert "rho=1.0" in out
    assert "one_way=push|block" in out
    data = json.loads(monmdp("list", "--json")[1])
    assert len(data["worlds"]) == 10
    assert len(data["monitors"]) == 8


def test_show(monmdp, tmp_path):
    code, out, _ = monmdp("show", "bottleneck")
    assert code == 0
    assert "5  g . ? . . $" in out
    assert "never seen" in out
    code, out, _ = monmdp("show", "hazard", "slip=0.1", "--png", str(tmp_path / "hazard.png"))
    assert code == 0
    assert (tmp_path / "hazard.png").read_bytes().startswith(b"\x89PNG")
    assert monmdp("show", "gymnasium:FrozenLake-v1")[0] == 0


def test_solve_prints_what_there_is_to_know(monmdp):
    code, out, _ = monmdp("solve", "bottleneck", "button", "rho=0.05")
    assert code == 0
    for text in (
        "no: 25 of 180 pairs",
        "0.05",
        "0.194316",
        "monitor state ON",
        "price",
        "5,1      RIGHT",
    ):
        assert text in out
    code, out, _ = monmdp("solve", "treasure-hunter", "ask", "--what-if")
    assert "START LEFT              0.9   (it pays 1)" in out


def test_solve_json(monmdp):
    code, out, _ = monmdp("solve", "bottleneck", "button", "rho=0.05", "--json", "--gamma", "0.99")
    data = json.loads(out)
    assert code == 0
    assert {"world", "monitor", "gamma", "solvable", "rho", "value", "episode_return", "price",
            "never_observable"} <= set(data)  # fmt: skip
    assert (data["world"], data["monitor"], data["gamma"]) == ("bottleneck", "button", 0.99)
    assert data["solvable"] is False
    assert data["rho"] == 0.05
    assert data["value"] == pytest.approx(0.1943, abs=5e-5)
    assert len(data["never_observable"]) == 25
    assert data["parameters"] == {"rho": "0.05"}
    assert len(data["policy"]) == 72
    assert data["policy"][2 * 35] == [4]  # on the chest, monitor OFF: STAY
    hidden = json.loads(monmdp("solve", "loop", "ask", "rho=0", "--json")[1])
    assert hidden["rho"] is None
    what = json.loads(monmdp("solve", "treasure-hunter", "ask", "--what-if", "--json")[1])
    assert what["what_if"][0]["gain"] == pytest.approx(0.9)
    one = json.loads(
        monmdp("solve", "bottleneck", "ask", "--what-if", "--pair", "0,1:RIGHT", "--json")[1]
    )
    assert [(w["state"], w["action"]) for w in one["what_if"]] == [(1, 2)]


def test_a_map_of_ones_own_and_a_problem_file(monmdp, tmp_path):
    path = tmp_path / "my_map.txt"
    path.write_text("button: 0,0 LEFT\n---\n@?$\n...\n")
    code, out, _ = monmdp("solve", str(path), "button")
    assert code == 0
    assert "can never be seen" in out
    file = str(tmp_path / "problem.npz")
    assert monmdp("export", str(path), "button", "rho=0.5", "-o", file)[0] == 0
    from_file = json.loads(monmdp("solve", file, "--json")[1])
    direct = json.loads(monmdp("solve", str(path), "button", "rho=0.5", "--json")[1])
    assert from_file["value"] == direct["value"]
    assert from_file["rho"] == 0.5
    assert monmdp("show", file)[0] == 0
    assert monmdp("check", file)[0] == 0
    assert "takes no parameters" in monmdp("show", file, "slip=0.1")[2]


def test_factories_of_ones_own(monmdp, tmp_path):
    (tmp_path / "cli_things.py").write_text(
        "from monmdp import Monitor\n"
        "def watch(rho: float = 1.0):\n"
        "    return Monitor(states=['ON'], actions=['NO-OP'], start=[1.0], transition=[[[1.0]]],\n"
        "                   reward=[[0.0]], show=[[rho]])\n"
    )
    data = json.loads(monmdp("solve", "loop", "cli_things:watch", "rho=0.25", "--json")[1])
    assert data["rho"] == 0.25


def test_check(monmdp):
    code, out, _ = monmdp("check", "river-swim", "semi-random")
    assert code == 0
    assert "passed" in out
    assert "biased observation" in out
    assert json.loads(monmdp("check", "loop", "ask", "--json")[1]) == {"passed": True, "notes": []}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("solve", "botleneck", "ask"), "did you mean 'bottleneck'"),
        (("solve", "bottleneck", "aks"), "did you mean 'ask'"),
        (("solve", "bottleneck"), "which monitor?"),
        (("solve", "bottleneck", "rho=1"), "which monitor?"),
        (("solve", "bottleneck", "ask", "rho=2"), "rho is a probability"),
        (("solve", "bottleneck", "ask", "rho"), "parameters are written key=value"),
        (("solve", "bottleneck", "ask", "roh=1"), "did you mean 'rho'"),
        (("solve", "bottleneck", "level-up", "start=uniform"), "ambiguous"),
        (("solve", "bottleneck", "ask", "--gamma", "1"), r"gamma must lie in \[0, 1\)"),
        (("solve", "bottleneck", "ask", "--gamma", "x"), "gamma"),
        (("solve", "bottleneck", "ask", "--pair", "0,1:RIGHT"), "goes with --what-if"),
        (
            ("solve", "bottleneck", "ask", "--what-if", "--pair", "0,0:UP"),
            "is not never-observable",
        ),
        (("solve", "bottleneck", "ask", "--what-if", "--pair", "x"), "STATE:ACTION"),
        (("solve", "none.npz"), "no such file"),
        (("solve", "none.txt", "ask"), "no such map file"),
        (("solve", "bottleneck", "button", "button=9,9:DOWN"), "is no cell"),
        (("solve", "bottleneck", "n-experts", "n=-4"), "at least 1"),
        (("solve", "bottleneck", "ask", "--jsn"), "No such option"),
        (("solv", "bottleneck", "ask"), "No such command"),
        (("show", "loop", "--png", "no/where.png"), "cannot write"),
        (("show", "loop", "--png", "x.bmp"), "must end in"),
        (("show", "loop", "monitor.rho=3"), "there is only world 'loop' here"),
        (("solve", "bottleneck", "rho=1", "button"), "it comes before the parameters"),
        (("solve", "gymnasium:FrozenLake-v1", "ask", "map_name=9x9"), "gymnasium cannot make"),
        (("export", "loop", "ask", "-o", "x.txt"), "must end in .npz"),
    ],
)
def test_errors_are_one_line_and_a_code(monmdp, words, message):
    import re

    code, _, err = monmdp(*words)
    assert code == 2
    assert re.search(message, err), err


def test_damaged_files_are_named(monmdp, tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04garbage")
    code, _, err = monmdp("solve", str(tmp_path / "bad.npz"))
    assert code == 2
    assert "bad.npz: damaged" in err
    (tmp_path / "empty.txt").write_text("")
    code, _, err = monmdp("solve", str(tmp_path / "empty.txt"), "ask")
    assert code == 2
    assert "the map is empty" in err


def test_the_installed_command_answers():
    out = subprocess.run(
        [sys.executable, "-m", "monmdp", "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert out.startswith("monmdp ")


def test_light_imports_stay_light():
    """What makes starting slow must not be imported by `import monmdp` or `monmdp --help`."""
    code = (
        "import sys, monmdp, monmdp.cli; "
        "print([m for m in ('numba', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_small_problem_is_solved_without_compiling():
    code = (
        "import sys; sys.argv = ['monmdp', 'solve', 'bottleneck', 'button', '--json'];"
        "from monmdp import cli\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "print('numba' in sys.modules, file=sys.stderr)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stderr.strip() == "False"
    assert json.loads(out.stdout)["rho"] == 1.0


def test_output_can_be_cut_off_by_a_pipe():
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "monmdp", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    )
    process.stdout.close()
    time.sleep(0.1)
    assert b"Traceback" not in process.stderr.read()
    process.wait()
    process.stderr.close()
