"""`monmdp instrument`: which hidden rewards to make visible."""

from __future__ import annotations

import json
from inspect import signature

import pytest

from monmdp import make, planning
from monmdp.cli import instrumenting


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_the_text_says_what_to_do_and_how_good_it_is(command):
    code, out, _ = command("instrument", "bottleneck", "button", "rho=0.5", "--budget", 3)
    found = planning.instrument(make("bottleneck", "button", rho=0.5), 3)
    assert code == 0
    assert out.startswith("bottleneck / button  rho=0.5, gamma 0.99")
    assert f"between 0 and {found.gain:.6g}" in out
    assert f"exact, {found.plans:,} plans" in out
    assert "spent                    2 of 3" in out
    first = next(line for line in out.splitlines() if line.startswith("1  "))
    assert found.names[0] in first
    assert "No set within the budget gains more." in out


def test_json_is_what_python_returns(command):
    words = ("--budget", 2, "--by", "state", "--assume", "truth", "--gamma", 0.9, "--json")
    code, out, err = command("instrument", "treasure-hunter", "ask", *words)
    found = planning.instrument(
        make("treasure-hunter", "ask"), 2, by="state", assume="truth", gamma=0.9
    )
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(json.dumps(found.to_dict() | {"parameters": {}}))


def test_costs_groups_and_priors_come_from_files(command, tmp_path):
    groups = write(tmp_path / "g.json", {"top": ["0,2:UP", "0,2:STAY"], "row 1": ["1,2"]})
    costs = write(tmp_path / "c.json", {"top": 3, "*": 0.5})
    prior = write(tmp_path / "p.json", {"top": [0.5, 0.1], "*": -0.1})
    words = ("--budget", 3, "--groups", groups, "--costs", costs, "--assume", "prior")
    more = ("--prior", prior, "--draws", 3, "--seed", 5, "--method", "greedy", "--json")
    code, out, _ = command("instrument", "bottleneck", "button", *words, *more)
    data = json.loads(out)
    assert code == 0
    assert {of["name"]: of["cost"] for of in data["candidates"]} == {"top": 3.0, "row 1": 0.5}
    assert (data["assume"], data["scenarios"], data["method"]) == ("prior", 3, "greedy")
    found = planning.instrument(
        make("bottleneck", "button"), 3, groups={"top": ["0,2:UP", "0,2:STAY"], "row 1": ["1,2"]},
        cost={"top": 3, "*": 0.5}, assume="prior", prior={"top": (0.5, 0.1), "*": -0.1}, draws=3,
        seed=5, method="greedy",
    )  # fmt: skip
    assert data["gain"] == found.gain


def test_a_prior_in_words_and_a_problem_in_a_file(command, tmp_path):
    path = tmp_path / "problem.npz"
    make("treasure-hunter", "ask").save(path)
    words = ("--budget", 1, "--assume", "prior", "--prior", "0.5,0")
    code, out, _ = command("instrument", path, *words)
    assert code == 0
    assert "1 draw from the prior" in out
    assert "0.4" in out  # 0.5 in the place of 0.1


def test_defaults_are_those_of_python():
    of_command = signature(instrumenting.instrument).parameters
    of_python = signature(planning.instrument).parameters
    for name in ("cost", "by", "assume", "prior", "draws", "seed", "method", "most_plans", "gamma"):
        assert of_command[name].default == of_python[name].default, name


def test_where_all_can_be_seen(command):
    code, out, _ = command("instrument", "river-swim", "ask", "--budget", 1)
    assert code == 0
    assert "every reward that can be reached can be seen already" in out


@pytest.mark.parametrize("world", ["bottleneck", "treasure-hunter"])
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_it_is_drawn(command, tmp_path, world, kind):
    path = tmp_path / f"picture.{kind}"
    code, out, _ = command("instrument", world, "ask", "--budget", 1, f"--{kind}", path)
    assert code == 0
    assert f"picture: {path}" in out
    start = {"png": b"\x89PNG", "svg": b"<?xml"}[kind]
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "missing option '--budget'"),
        (["--budget", "x"], "a number expected"),
        (["--budget", 1, "--cost", 2, "--costs", "torn.json"], "--cost or --costs"),
        (["--budget", 1, "--assume", "prior"], "needs a prior"),
        (["--budget", 1, "--assume", "prior", "--prior", "a,b"], "--prior 'a,b': MEAN,SD"),
        (["--budget", 1, "--assume", "truths"], "did you mean 'truth'"),
        (["--budget", 1, "--groups", "none.json"], "none.json"),
        (["--budget", 1, "--costs", "list.json"], "a JSON object"),
        (["--budget", 1, "--costs", "torn.json"], "not JSON"),
        (["--budget", 1, "--png", "x.svg"], "must end in .png"),
    ],
)
def test_mistakes_become_one_line(command, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "list.json", [1])
    write(tmp_path / "torn.json", '{"a": ')
    code, out, err = command("instrument", "bottleneck", "button", *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
