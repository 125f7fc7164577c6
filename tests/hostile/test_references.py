"""Agents are measured against policies that learnt nothing, and what is paid is told in parts."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import monmdp
from conftest import by_hand
from monmdp import MonMDPError, Policy, make
from monmdp.results.references import FILE, Reference, kept, references, remarks
from monmdp.stats import Interval


def in_parts_by_hand(problem, policy, gamma):
    """Return of an episode, rᵉ and rᵐ apart: the distribution over joint states, step by step."""
    P, R, _ = by_hand(problem)
    n_sm, n_am = problem.monitor.reward.shape
    paid = problem.monitor.reward[
        np.arange(len(R))[:, None] % n_sm, np.arange(R.shape[1])[None] % n_am
    ]
    here, env, monitor = problem.start.copy(), 0.0, 0.0
    for t in range(problem.mdp.time_limit):
        taken = here[:, None] * policy
        env += gamma**t * (taken * (R - paid)).sum()
        monitor += gamma**t * (taken * paid).sum()
        here = np.einsum("sa,sat->t", taken, P)
    return env, monitor


@pytest.mark.parametrize("gamma", [0.9, 0.99, 1.0])
@pytest.mark.parametrize(
    ("world", "monitor"), [("loop", "ask"), ("river-swim", "button"), ("corridor", "n-experts")]
)
def test_what_the_environment_and_the_monitor_pay(world, monitor, gamma):
    problem = make(world, monitor, **({"button": "0:LEFT"} if monitor == "button" else {}))
    rng = np.random.default_rng(0)
    some = rng.dirichlet(np.ones(problem.n_actions), problem.n_states)
    policies = {"some": Policy(problem.shape, some)}
    uniform, own = references(problem, gamma, policies)
    for found, policy in ((uniform, Policy.uniform(problem)), (own, policies["some"])):
        env, paid = in_parts_by_hand(problem, policy.probability, gamma)
        assert (found.env_return, found.monitor_return) == pytest.approx((env, paid), abs=1e-9)
        whole = policy.evaluate(problem, gamma)["episode_return"]
        assert found.episode_return == pytest.approx(whole, abs=1e-9)


@cache
def compared():
    problem = make("loop", "ask")
    given = Policy(problem.shape, monmdp.solve(problem).minimax.policy)
    return problem, monmdp.compare(
        problem, ["r-max", "ucb"], 1000, seeds=2, policy={"doctor": given}
    )


def test_compare_has_rows_of_references(tmp_path):
    _, found = compared()
    (table,) = found.comparisons
    assert [of.name for of in table.references] == ["uniform random", "doctor"]
    assert table.references[1].episode_return == pytest.approx(0.9606, abs=1e-4)
    lines = table.table().to_text().splitlines()
    assert lines[0].split()[:5] == ["agent", "end", "return", "rᵉ", "rᵐ"]
    assert lines[3].startswith("uniform random")
    assert lines[4].startswith("doctor")
    assert table.to_dict()["references"][1]["name"] == "doctor"


def test_the_parts_of_an_agent_are_those_of_its_last_policies():
    problem, found = compared()
    (table,) = found.comparisons
    for row in table.rows:
        runs = [found.runs[row.of.configuration, seed] for seed in table.seeds]
        by_seed = [in_parts_by_hand(problem, run.policy.probability, 0.99) for run in runs]
        env, paid = np.mean(by_seed, axis=0)
        assert [part.estimate for part in row.parts] == pytest.approx([env, paid], abs=1e-9)
        last = np.mean([run.curve["episode_return"][-1] for run in runs])
        # training goes on after the last test, so the two need not be one
        assert row.parts[0].estimate + row.parts[1].estimate >= last - 1


def test_it_is_said_who_does_not_beat_chance():
    chance = (Reference("uniform random", 0.5, -0.1),)
    clear, unsure, worse = Interval(1, 0.9, 1.1), Interval(0.5, 0.3, 0.7), Interval(0.1, 0, 0.2)
    said = remarks({"a": clear, "b": unsure, "c": worse}, 30, chance)
    assert said == ("Not better than the uniform random policy, whose return is 0.4: b, c.",)
    assert remarks({"a": clear}, 30, chance) == ()
    one = Interval(0.5, float("nan"), float("nan"))
    assert remarks({"a": one}, 1, chance) == ("1 seed: no intervals.",)
    assert remarks({"a": clear}, 4, chance) == ("Fewer than 5 seeds: intervals say little.",)


@pytest.mark.slow
def test_compare_says_so(command, tmp_path):
    # An agent that always asks pays for it, and is worse than chance.
    (tmp_path / "asker.py").write_text(
        """
import numpy as np
class Asker:
    def __init__(self, shape, rng):
        self.shape = shape
    def begin_episode(self):
        pass
    def act(self, observation):
        return {"env": 4, "mon": 1}
    def update(self, transition):
        pass
    def test_policy(self):
        n_se, n_sm, n_ae, n_am = self.shape
        policy = np.zeros((n_se * n_sm, n_ae * n_am))
        policy[:, 4 * n_am + 1] = 1
        return policy
""",
        encoding="utf-8",
    )
    Policy.uniform(make("loop", "ask")).save("logged.npz")
    words = ("loop", "ask", "--agents", "asker:Asker", "--steps", "500", "--seeds", "2")
    code, out, _ = command("compare", *words, "--jobs", "1", "--policy", "logged.npz")
    assert code == 0
    assert "Not better than the uniform random policy, whose return is −3.732: asker:Asker." in (
        " ".join(out.split())
    )
    assert "logged.npz" in out
    assert "Fewer than 5 seeds" in out
    assert command("report", "results")[0] == 0
    page = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    for text in ("uniform random", "logged.npz", "Not better than the uniform random policy"):
        assert text in page
    code, out, _ = command("train", "loop", "ask", "--agent", "asker:Asker", *words[4:])
    assert "uniform random           -3.73248  (rᵉ 0.0717487, rᵐ -3.80423)" in out
    assert "Not better than" in out


def test_a_policy_of_another_shape_is_refused_before_any_run(command, tmp_path):
    Policy.uniform(make("corridor", "ask")).save("other.npz")
    words = ("loop", "ask", "--agents", "r-max", "--policy", "other.npz")
    code, out, err = command("compare", *words)
    assert (code, out) == (2, "")
    assert "the policy is for" in err
    assert not (tmp_path / "results").exists()
    with pytest.raises(MonMDPError, match="the policy is for"):
        monmdp.compare(make("loop", "ask"), ["r-max"], policy=Policy.load("other.npz"))


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", "null", '{"problem": "p", "gamma": 0.9, "references": 3}',
        '{"problem": "p", "gamma": 0.9, "references": [1, null, {}]}',
        '{"problem": "p", "gamma": 0.9, "references": [{"name": "x", "env_return": 1e999, '
        '"monitor_return": 0}]}',
        '{"problem": "p", "gamma": 0.9, "references": [{"name": "x", "env_return": 1e308, '
        '"monitor_return": 1e308}]}',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_odd_files_of_references_are_passed_over(tmp_path, content):
    (tmp_path / FILE).write_text(content, encoding="utf-8")
    assert kept(tmp_path, {"problem": "p", "gamma": 0.9}) == []


def test_references_are_those_of_their_problem(tmp_path):
    good = {"name": "x", "env_return": 1, "monitor_return": -1}
    text = json.dumps({"problem": "p", "gamma": 0.9, "references": [good]})
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    assert kept(tmp_path, {"problem": "p", "gamma": 0.9}) == [Reference("x", 1.0, -1.0)]
    assert kept(tmp_path, {"problem": "q", "gamma": 0.9}) == []
