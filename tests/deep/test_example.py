"""The example: it runs, it judges by the true return, and the treatments differ as it says."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import types

import pandas as pd
import pytest

import monmdp
from deep.conftest import EXAMPLE, PAGE, ROOT, run_blocks


@pytest.mark.parametrize("treatment", ["zero", "mask", "model"])
def test_it_runs_end_to_end(example, treatment, tmp_path, capsys):
    words = ["--treatment", treatment, "--steps", "1200", "--seeds", "1", "--jobs", "1"]
    example.main([*words, "--out", str(tmp_path / "new" / "folder")])
    out, _ = capsys.readouterr()
    tests = pd.read_csv(tmp_path / "new" / "folder" / "tests.csv")
    assert set(tests["treatment"]) == {treatment}
    assert len(tests) == 4 * example.TESTS
    assert tests.groupby(["env", "algorithm"]).ngroups == 4
    assert tests["step"].max() == 1200
    assert tests["shown"].between(0, 1).all()
    assert (tests[tests["env"] == "bottleneck"]["true_return"] <= 0.9045).all()
    assert (tests[tests["env"] == "cartpole"]["true_return"].between(-500, 500)).all()
    picture = (tmp_path / "new" / "folder" / "deep-agents.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert out.count(example.TREATMENTS[treatment]) == 4
    assert "minimax-optimal: 0.90" in out


def test_as_a_command_with_two_jobs(tmp_path):
    words = [sys.executable, str(EXAMPLE), "--env", "bottleneck", "--algorithm", "dqn"]
    words += ["--treatment", "model", "--steps", "700", "--seeds", "2", "--jobs", "2"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "reward model" in done.stdout
    assert (tmp_path / "out" / "deep-agents" / "deep-agents.png").exists()
    tests = pd.read_csv(tmp_path / "out" / "deep-agents" / "tests.csv")
    assert sorted(tests["seed"].unique()) == [0, 1]


@pytest.mark.parametrize("words", [["--steps", "0"], ["--seeds", "0"], ["--env", "pong"]])
def test_what_cannot_be_is_refused(example, words, capsys):
    with pytest.raises(SystemExit) as stop:
        example.main(words)
    assert stop.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_without_stable_baselines_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(SystemExit, match=re.escape("pip install 'monmdp[deep]'")):
        runpy.run_path(str(EXAMPLE), run_name="__main__")


@pytest.mark.parametrize("algorithm", ["dqn", "ppo"])
def test_same_seed_same_training(example, algorithm):
    def frame(seed):
        return example.train("bottleneck", algorithm, "model", 1500, seed)

    first = frame(3)
    pd.testing.assert_frame_equal(first, frame(3))


@pytest.mark.parametrize(("ask", "worth"), [(0, 1.0), (1, 0.2)])
def test_the_judge_counts_every_reward_and_what_asking_costs(example, ask, worth):
    judge = example.Judge(example.TASKS["cartpole"], "zero", steps=100)
    judge.model = types.SimpleNamespace(predict=lambda observation, deterministic: (ask, None))
    judge.env.reset(seed=10_000)  # the first test episode, by hand: pushing left until it falls
    length, over = 0, False
    while not over:
        *_, terminated, truncated, _ = judge.env.step(ask)
        length, over = length + 1, terminated or truncated
    assert judge._episode(0) == (pytest.approx(worth * length), float(ask))


def test_the_judge_discounts_as_the_solver_does(example):
    problem = monmdp.make("bottleneck", "full-random")
    solution = monmdp.solve(problem)
    judge = example.Judge(example.TASKS["bottleneck"], "zero", steps=100)
    greedy = solution.minimax.policy.argmax(axis=1)
    judge.model = types.SimpleNamespace(predict=lambda s, deterministic: (greedy[s], None))
    assert judge._episode(0)[0] == pytest.approx(solution.episode_return)


def end(tests):
    return tests.iloc[-3:][["true_return", "shown"]].mean()


@pytest.mark.parametrize("seed", [0, 1])
def test_with_zero_for_bottom_the_agent_pays_for_ever(example, seed):
    """CartPole: who always asks earns 0.2 a step, who knows r̂ need not ask and earns 1."""
    zero = end(example.train("cartpole", "ppo", "zero", 8000, seed))
    model = end(example.train("cartpole", "ppo", "model", 8000, seed))
    assert zero["shown"] > 0.9
    assert model["shown"] < 0.1
    assert model["true_return"] > 2 * zero["true_return"] > 0


def test_pessimism_finds_the_way_around_what_cannot_be_seen(example):
    """Bottleneck: with r̂ it is minimax-optimal; with zero it walks through the ⊥ cells."""
    best = monmdp.solve(monmdp.make("bottleneck", "full-random")).episode_return
    model = end(example.train("bottleneck", "dqn", "model", 12_000, 0))
    assert model["true_return"] == pytest.approx(best, abs=0.02)
    zero = end(example.train("bottleneck", "dqn", "zero", 12_000, 0))
    assert zero["true_return"] < best - 1


def test_the_blocks_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.syspath_prepend(str(tmp_path))
    run_blocks(PAGE)
