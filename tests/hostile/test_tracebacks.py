"""Odd input, odd surroundings: always one line for people, never a traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import one_in
from monmdp import MonMDPError, Policy, make, theory
from monmdp.cli.plain import plainly
from monmdp.suites import expand, parse

SUITE = """
name = "s"
seeds = 1
steps = 200
[[experiment]]
worlds = [{world}]
monitors = ["ask"]
agents = ["r-max"]
"""


def monmdp(*words, env=None, **options):
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "monmdp", *map(str, words)],
        env={**os.environ, "COLUMNS": "100", **(env or {})},
        check=False, timeout=300, stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **options},
    )  # fmt: skip


# ---- values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["[1, 2]", "[[1], [2]]", "[]", "{a = 1}", "1979-05-27", "inf"])
def test_a_suite_with_a_list_for_a_cell(command, tmp_path, value):
    path = tmp_path / "s.toml"
    path.write_text(SUITE.format(world=f'{{name = "loop", start = {value}}}'), encoding="utf-8")
    code, out, err = command("run", path, "--dry-run")
    if value == "[1, 2]":  # a cell, as in Python
        assert code == 0
        assert "1 to do" in out
    else:
        assert (code, out) == (2, "")
        assert "start" in err


def test_a_cell_as_a_list_is_the_cell():
    def hashes(start):
        block = {"worlds": [{"name": "loop", "start": start}], "monitors": ["ask"]}
        suite = {"name": "s", "seeds": 1, "steps": 200, "experiment": [block | AGENT]}
        return [key[0].rpartition("-")[2] for key in expand(parse(suite, "here")).runs()]

    assert hashes([1, 0]) == hashes("1,0")


AGENT = {"agents": ["r-max"]}


@pytest.mark.parametrize("shard", ["²/³", "1/٣", "0/2", "3/2", "1/" + "9" * 5000, "1", "/", "-1/2"])
def test_a_shard_that_is_none(command, shard):
    code, out, err = command("reproduce", "4", "--dry-run", f"--shard={shard}")
    assert (code, out) == (2, "")
    assert "write i/n with 1 ≤ i ≤ n" in err


def test_a_chance_next_to_nothing(command):
    for words in (("theory", "loop", "ask", "rho=1e-320"), ("bandit", "--rhos", "1,1e-320")):
        code, out, err = command(*words)
        assert (code, out) == (2, "")
        assert "1e-320" in err
        assert len(err.splitlines()) == 1
    with pytest.raises(MonMDPError, match="rho = 1e-320 is too small"):
        theory.lower_bound(4, rho=1e-320, epsilon=0.1, delta=0.004)
    with pytest.raises(MonMDPError, match="too large to compute with"):
        theory.sample_complexity(
            4, 2, 0.9, 0.1, 0.1, 0.5, 10, rewards=theory.Rewards(1e200, 1e200, 1e200)
        )
    for verb in ("solve", "check"):
        assert command(verb, "loop", "ask", "rho=1e-320")[0] == 0


def test_a_deeply_nested_suite(command, tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(f'name = "x"\ny = {"[" * 50_000}{"]" * 50_000}', encoding="utf-8")
    code, out, err = command("run", path)
    assert (code, out) == (2, "")
    assert err == f"error: {path}: no valid suite, it is nested too deeply\n"


# ---- names -----------------------------------------------------------------------------------

LONG = "x" * 5000
NAMES = [LONG, f"{LONG}.npz", f"{LONG}.txt", f"{LONG}.py:f", f"{LONG}:f", f"a/{LONG}", "\0"]
PLACES = [
    ("solve", "NAME", "ask"), ("show", "NAME"), ("check", "NAME", "ask"), ("theory", "NAME", "ask"),
    ("export", "NAME", "ask"), ("rollout", "NAME", "ask"), ("train", "NAME", "ask"),
    ("compare", "NAME", "ask"), ("solve", "loop", "NAME"), ("evaluate", "NAME", "loop", "ask"),
    ("run", "NAME"), ("reproduce", "NAME"), ("status", "NAME"), ("verify", "NAME"),
    ("redraw", "NAME"), ("report", "NAME"), ("NAME",),
    ("train", "loop", "ask", "--agent", "NAME"), ("compare", "loop", "ask", "--agents", "NAME"),
    ("rollout", "loop", "ask", "--policy", "NAME"), ("export", "loop", "ask", "-o", "NAME.npz"),
    ("show", "loop", "--png", "NAME.png"), ("rollout", "loop", "ask", "--gif", "NAME.gif"),
]  # fmt: skip


@pytest.mark.parametrize("words", one_in(6, [(w,) for w in PLACES]))
def test_very_long_names(command, words):
    for name in NAMES:
        code, _, err = command(*(word.replace("NAME", name) for word in words))
        assert code == 2
        assert err.startswith("error: ")
        assert len(err.splitlines()) == 1


# ---- files and folders -----------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["status", "verify", "redraw", "report"])
def test_a_file_where_a_folder_should_be(command, tmp_path, verb):
    (tmp_path / "file").touch()
    code, _, err = command(verb, tmp_path / "file")
    assert code == 2
    assert err.startswith("error: ")


@pytest.mark.parametrize("verb", ["status", "verify", "redraw", "report"])
def test_an_unreadable_folder(command, tmp_path, monkeypatch, verb):
    (tmp_path / "results" / "runs").mkdir(parents=True)
    (tmp_path / "results" / "reports" / "x").mkdir(parents=True)

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, refuse)
    code, _, err = command(verb, tmp_path / "results")
    monkeypatch.undo()
    assert (code, err.count("\n")) in {(0, 0), (0, 1), (2, 1)}


FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")


@FULL
@pytest.mark.slow
@pytest.mark.parametrize("words", ["--version", "--help", "solve loop ask", "list --json"])
def test_output_to_a_full_device(words):
    with open("/dev/full", "wb") as full:
        done = monmdp(*words.split(), stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode() == "error: cannot write the output: No space left on device\n"


@pytest.mark.slow
def test_without_docstrings_and_assertions(tmp_path):
    env = {"PYTHONOPTIMIZE": "2"}
    for words in (
        ("--help",), ("solve", "--help"), ("reproduce", "--help"), ("list",),
        ("solve", "bottleneck", "button"), ("check", "loop", "ask"),
        ("rollout", "loop", "ask"), ("theory", "loop", "ask"), ("reproduce", "figure-1"),
    ):  # fmt: skip
        done = monmdp(*words, env=env, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stderr)
        assert done.stdout


# ---- somebody's own code ----------------------------------------------------------------------

EXITS = {
    "import": "import sys\nsys.exit(3)\n",
    "world": "import sys\n\ndef make():\n    sys.exit(3)\n",
    "agent": """
import sys
class Agent:
    def __init__(self, shape, rng):
        self.shape = shape
        {making}
    def begin_episode(self):
        pass
    def act(self, observation):
        {acting}
        return {{"env": 0, "mon": 0}}
    def update(self, transition):
        {updating}
    def test_policy(self):
        import numpy as np
        n_se, n_sm, n_ae, n_am = self.shape
        return np.full((n_se * n_sm, n_ae * n_am), 1 / (n_ae * n_am))
make = Agent
""",
}


@pytest.mark.parametrize("verb", ["solve", "check", "train"])
@pytest.mark.parametrize("where", ["import", "world"])
def test_sys_exit_in_a_world_of_ones_own(command, tmp_path, verb, where):
    (tmp_path / "own.py").write_text(EXITS[where], encoding="utf-8")
    code, out, err = command(verb, "own.py:make", "ask")
    assert (code, out) == (2, "")
    assert "SystemExit: 3" in err
    assert "own.py" in err
    code, _, err = command(verb, "loop", "own.py:make")
    assert code == 2
    assert "SystemExit: 3" in err


@pytest.mark.parametrize("unchecked", [(), ("--unchecked",)], ids=["checked", "unchecked"])
@pytest.mark.parametrize(
    "raised", one_in(3, ["sys.exit(3)", "raise SystemExit", "raise GeneratorExit"])
)
@pytest.mark.parametrize("verb", ["making", "acting", "updating"])
def test_sys_exit_in_an_agent_of_ones_own(command, tmp_path, verb, raised, unchecked):
    body = dict.fromkeys(("making", "acting", "updating"), "pass") | {verb: raised}
    (tmp_path / "own.py").write_text(EXITS["agent"].format(**body), encoding="utf-8")
    code, _, err = command(
        "train", "loop", "ask", "--agent", "own.py:Agent", "--steps", "300", "--seeds", "1",
        "--jobs", "1", "--out", tmp_path / "out", *unchecked,
    )  # fmt: skip
    assert code in (1, 2)
    assert "Exit" in err
    assert "own" in err


# ---- few letters ------------------------------------------------------------------------------

BARE = {
    "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
    "PYTHONIOENCODING": "ascii",
}  # fmt: skip


@pytest.mark.slow
def test_policies_can_be_read_without_arrows():
    out = monmdp("solve", "bottleneck", "button", env=BARE).stdout.decode("ascii")
    drawn = out.partition("monitor state ON:")[2].splitlines()
    assert drawn[2] == "0  c v < c > v"
    assert "c  DOWN or RIGHT" in drawn
    assert "?" not in out
    arrows = "↑↓←→↔↕↖↗↙↘•"
    assert len(set(map(plainly, arrows))) == len(arrows)
    assert all(len(plainly(arrow)) == 1 for arrow in arrows)


@pytest.mark.slow
def test_every_command_speaks_ascii(tmp_path):
    train = ("--steps", "500", "--seeds", "2", "--evaluation", "exact")
    for words in (
        ("list",), ("theory", "loop", "ask"), ("rollout", "loop", "ask"),
        ("show", "bottleneck"), ("check", "river-swim", "semi-random"), ("bandit", "--runs", "2"),
        ("solve", "loop", "ask", "--gamma", "1", "--what-if"), ("export", "loop", "ask"),
        ("train", "loop", "ask", "--agent", "r-max", *train),
        ("compare", "loop", "ask", "--agents", "r-max,ucb", *train),
        ("status", "results"), ("redraw", "results"), ("report", "results"), ("verify", "results"),
        ("reproduce", "figure-1"),
    ):  # fmt: skip
        done = monmdp(*words, env=BARE, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stderr)
        done.stdout.decode("ascii")
        done.stderr.decode("ascii")
    for words in (
        ("solve", "Ω", "ask"),
        ("run", "Ω.toml"),
        ("status", "Ω"),
        ("solve", "loop", "ρ"),
    ):
        done = monmdp(*words, env=BARE, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.decode("ascii").startswith("error: ")
        assert b"Traceback" not in done.stderr


def test_letters_are_written_plainly():
    assert plainly("e⁻⁴ ½ ρ≥0.5 “é” −1 ± 2 \udcff 漢") == 'e-4 1/2 rho>=0.5 "e" -1 +/- 2 \\xff ?'


@pytest.mark.parametrize("words", [["solve", "loop", "ask"], ["--version"], ["list"]])
def test_closed_outputs_are_nobodys_trouble(words):
    for closed in (">&-", ">&- 2>&-"):
        line = f"{shlex.quote(sys.executable)} -m monmdp {shlex.join(words)} {closed}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
        assert done.stderr == ""


def test_numbers_too_large_for_a_float_are_refused(command):
    policy = Policy.uniform(make("loop", "ask"))
    replace(policy, origin={"gamma": 10**400}).save("policy.npz")
    for words in (
        ["evaluate", "policy.npz", "loop", "ask"],
        ["rollout", "loop", "ask", "--policy", "policy.npz"],
    ):
        code, _, err = command(*words)
        assert code == 2
        assert "gamma must be a number" in err


def test_axes_that_no_picture_has_are_refused():
    block = {"worlds": ["loop"], "monitors": ["ask"], "agents": ["r-max"], "seeds": 1}
    suite = {"name": "x", "steps": 200, "y_range": [-1e308, 1e308], "experiment": [block]}
    with pytest.raises(MonMDPError, match="y_range"):
        parse(suite, "x")


def test_mistakes_that_newcomers_make_are_told_what_to_do(command):
    Path("mine.py").write_text("def lamp(): ...\n")
    Path("file").touch()
    for words, said in (
        (["solve", "loop", "ask", "--rho", "0.5"], "write rho=VALUE"),
        (["check", "loop", "mine.py"], "mine.py: name the object in it, too, as mine.py:object"),
        (["check", "loop", "ask", "beta_kl=7"], "have no parameter 'beta_kl'"),
        (["train", "loop", "ask", "--steps", "1e4"], "'--steps': a whole number expected"),
        (["train", "loop", "ask", "--out", "file"], "cannot use file for results: it is a file"),
        (["status", "file"], "file: is a file; give the folder"),
        (["solve", "ask", "loop"], "'ask' is a monitor; the world comes first"),
        (["evaluate", "a.parquet", "b.parquet", "loop", "ask"], "b.parquet: a run, where world"),
        (["evaluate", "a.parquet", "loop", "ask", "--episodes", "9"], "needs --evaluation monte-"),
        (["solve", "loop", "ask", "--what-if", "--pair", "1,0:UP"], "can be seen already"),
    ):
        code, _, err = command(*words)
        assert (code, err.count("\n")) == (2, 1), err
        assert said in err
