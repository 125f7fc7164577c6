"""`monmdp log`, `fit` and `decide`: from a file of rows to a policy with a guarantee."""

from __future__ import annotations

import json

import pytest

from monmdp import MonMDP, Policy

MONITOR = ["--monitor"]


@pytest.fixture
def log(command):
    code, out, _ = command("log", "loop", "ask", "--rows", "4000", "-o", "log.csv")
    assert code == 0
    assert "4,000 rows" in out
    return "log.csv"


def test_a_log_becomes_a_problem_that_other_commands_take(command, log):
    code, out, _ = command("fit", log, *MONITOR, "--r-min", "0", "-o", "p.npz")
    assert code == 0
    for said in ("4,000  in", "pairs tried", "never seen", "rewards shown", "note: r_max = 1"):
        assert said in out
    problem = MonMDP.load("p.npz")
    assert problem.evidence.rows == 4000
    for words in (["solve", "p.npz"], ["check", "p.npz"], ["show", "p.npz"]):
        assert command(*words)[0] == 0
    code, out, _ = command("train", "p.npz", "--agent", "epsilon-greedy", "--steps", "200",
                           "--seeds", "1", "--out", "runs")  # fmt: skip
    assert code == 0
    assert command("report", "runs")[0] == 0


def test_what_was_found_as_json(command, log):
    code, out, _ = command("fit", log, "--json", "--missing", "worst")
    found = json.loads(out)
    assert code == 0
    assert found["rows"] == 4000
    assert found["missing"] == "worst"
    assert found["tried"] + found["never_tried"] == found["pairs"]
    assert found["seen"] + found["never_seen"] == found["tried"]
    assert len(found["never_seen_pairs"]) == found["never_seen"]
    assert found["out"] == "problem.npz"


def test_a_decision_is_printed_told_and_kept(command, log):
    command("fit", log, *MONITOR, "--r-min", "0", "--r-max", "1")
    code, out, _ = command("decide", "problem.npz", "--delta", "0.1", "-o", "policy.npz")
    assert code == 0
    for said in ("robust", "safe", "logged", "recommended: ", "what to do:", "more data"):
        assert said in out
    code, out, _ = command("decide", "problem.npz", "--delta", "0.1", "--json")
    told = json.loads(out)
    assert [of["name"] for of in told["policies"]] == ["robust", "safe", "logged"]
    policy = Policy.load("policy.npz")
    assert policy.origin["policy"] == told["recommended"]
    assert len(told["policy"]) == 9
    for of in told["policy"]:
        assert sum(a["chance"] for a in of["actions"]) == pytest.approx(1)
    code, out, _ = command("evaluate", "policy.npz", "loop", "ask", "--json")
    assert code == 0  # by names: actions stand in another order there
    assert json.loads(out)["episode_return"] > told["policies"][0]["lower_bound"] - 1e-6
    assert command("log", "loop", "ask", "--policy", "policy.npz", "--rows", "50")[0] == 0
    code, _, err = command("decide", "problem.npz", "-o", "problem.npz")
    assert code == 2
    assert "would take the place of the problem" in err


def test_it_says_when_a_guarantee_says_nothing(command):
    command("log", "river-swim", "full", "--rows", "50")
    command("fit", "log.parquet")
    code, out, _ = command("decide", "problem.npz")
    assert code == 0
    assert "says nothing" in out


def test_columns_that_are_not_there_are_named(command, log):
    code, _, err = command("fit", log, "--state", "stat")
    assert (code, err) == (2, "error: log.csv: no column 'stat' for state; did you mean 'state'?\n")
    code, _, err = command("fit", log, "--without", "don")
    assert code == 2
    assert "did you mean 'done'?" in err
    assert command("fit", log, "--without", "episode", "--without", "done")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "no.csv"], "no.csv: no such file"),
        (["fit", "log.csv", "-o", "p.txt"], "must end in .npz"),
        (["fit", "log.csv", "--missing", "worsst"], "did you mean 'worst'?"),
        (["fit", "log.csv", "--r-max", "0.5"], "above r_max = 0.5, such as 1: line"),
        (["log", "loop", "ask", "-o", "x.json"], "must end in .parquet or .csv"),
        (["log", "loop", "ask", "--rows", "5", "--episodes", "5"], "either rows or episodes"),
        (["decide", "no.npz"], "no such file"),
    ],
)
def test_mistakes_are_one_line(command, log, words, said):
    code, _, err = command(*words)
    assert code == 2
    assert said in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_a_problem_that_is_no_log_s_cannot_be_decided(command):
    command("export", "loop", "ask")
    code, _, err = command("decide", "problem.npz")
    assert code == 2
    assert "fitted from a log" in err
