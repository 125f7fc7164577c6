"""What `solve` and `check` say unasked; and returns without a discount."""

from __future__ import annotations

import json
import sys
from functools import cache

import numpy as np
import pytest

from conftest import by_hand, worst_by_hand
from monmdp import MDP, Monitor, MonMDPError, evaluate, experiment, join, make, monitors, planning
from monmdp import testing as checks

# ---- biased observation, and a monitor that pays ---------------------------------------------


@cache
def clinic(n_states=300, n_actions=6, n_successors=5):
    """Patients: what is paid depends on where they go, and so does whether it is seen."""
    rng = np.random.default_rng(0)
    shape = (n_states * n_actions, n_successors)
    pair = np.repeat(np.arange(n_states * n_actions), n_successors)
    mdp = MDP.from_columns(
        state=pair // n_actions,
        action=pair % n_actions,
        successor=np.argsort(rng.random((shape[0], n_states)), axis=1)[:, :n_successors].ravel(),
        probability=rng.dirichlet(np.ones(n_successors), shape[0]).ravel(),
        reward=rng.normal(size=shape).ravel(),
        terminates=rng.random(shape).ravel() < 0.05,
        hidden=rng.random(shape).ravel() < 0.3,
        name="clinic",
        n_states=n_states,
        n_actions=n_actions,
        start=np.full(n_states, 1 / n_states),
        time_limit=20,
    )
    return join(mdp, monitors.make("ask"))


def test_check_says_in_one_line_that_thousands_of_pairs_are_biased():
    notes = checks.check_monmdp(clinic())
    (said,) = (note for note in notes if "biased" in note)
    assert len(notes) < 5
    assert said.startswith("biased observation of 1,")
    assert said.count("pays") == 3


def test_solve_says_in_one_line_where_observation_is_biased(command, tmp_path):
    clinic().save(tmp_path / "clinic.npz")
    code, out, _ = command("solve", tmp_path / "clinic.npz")
    (said,) = (line for line in out.splitlines() if "biased" in line)
    assert code == 0
    assert said.startswith("note: biased observation of 1,")
    assert "state" in said
    _, out, _ = command("solve", "river-swim", "semi-random")
    assert "note: biased observation of 1 of 12 pairs: state '5', action 'RIGHT'" in out
    _, out, _ = command("solve", "river-swim", "semi-random", "--json")
    assert [of["state_label"] for of in json.loads(out)["biased"]] == ["5"]
    _, out, _ = command("solve", "loop", "ask")
    assert "note" not in out


def test_the_furthest_off_pairs_are_the_examples():
    biased = planning.biased_pairs(clinic())
    worst = max(biased, key=lambda of: abs(of.shown_mean - of.mean))
    said = planning.remarks(clinic())[0]
    assert f"for example: state '{worst.state}', action '{worst.action}'" in said


@pytest.mark.parametrize("monitor", ["ask", "button", "level-up", "battery"])
def test_a_monitor_that_pays_for_asking_is_remarked_upon(command, monitor):
    for verb in ("solve", "check"):
        _, out, _ = command(verb, "bottleneck", monitor, "cost=0.2")
        (said,) = (line for line in out.splitlines() if "the monitor pays" in line)
        assert "0.2" in said
        assert "a cost is a negative number" in said
        _, out, _ = command(verb, "bottleneck", monitor)
        assert "the monitor pays" not in out


def test_a_bonus_for_not_asking_is_no_payment_for_asking(command):
    _, out, _ = command("check", "bottleneck", "n-supporters")
    assert "the monitor pays" not in out


# ---- what if ---------------------------------------------------------------------------------


def test_what_if_prints_the_solution_first_and_groups_ties(command, monkeypatch):
    def stop(*_):
        raise MonMDPError("no time for that")

    with monkeypatch.context() as patch:
        patch.setattr(planning, "what_if", stop)
        code, out, err = command("solve", "bottleneck", "button", "--what-if")
        assert code == 2
        assert "minimax value" in out
        assert "no time" in err
    _, out, _ = command("solve", "bottleneck", "button", "--what-if")
    table = out.partition("what if")[2].splitlines()[1:]
    assert table[0].split() == ["guaranteed", "in", "truth", "it", "pays", "pair"]
    assert "25 pairs: 0,1 RIGHT, 0,2 DOWN, 0,2 UP, …" in table[1]
    assert "all at once" in table[2]


def test_what_if_shows_progress(monkeypatch, command):
    monkeypatch.setattr(sys.modules["monmdp.cli.app"], "INTERVAL", 0.0)
    _, _, err = command("solve", "bottleneck", "button", "--what-if")
    assert "24 of 25 pairs" in err


def test_what_is_gained_by_seeing_one_of_two_doors():
    outcomes = [(0, 0, 0, 1.0, 0.5, True, True), (0, 1, 0, 1.0, 1.0, True, True)]
    outcomes += [(0, 2, 0, 1.0, 0.1, True, False)]
    mdp = MDP.from_outcomes(
        outcomes, name="doors", n_states=1, n_actions=3, start=[1.0], r_min=-1.0, time_limit=5
    )
    solution = planning.solve(join(mdp, monitors.make("ask", cost=0)))
    first, other = planning.what_if(solution)
    assert (first.action, other.action) == (1, 0)
    assert (first.gain, first.true_gain) == pytest.approx((0.9, 0.9))
    assert (other.gain, other.true_gain) == pytest.approx((0.4, 0.4))
    assert solution.price == pytest.approx(0.9)


def test_a_guarantee_may_cost_true_return():
    # Action 0 leads to what pays 1 in truth and -1 at worst; action 1 pays 0.2, unseen. Seen, it is
    # the safe choice, and in truth the worse one.
    outcomes = [
        (0, 0, 1, 1.0, 0.3, False, False),
        (0, 1, 0, 1.0, 0.2, True, True),
        (1, 0, 1, 1.0, 1.0, True, True),
        (1, 1, 1, 1.0, 1.0, True, True),
    ]
    mdp = MDP.from_outcomes(
        outcomes, name="wild", n_states=2, n_actions=2, start=[1.0, 0.0], r_min=-1.0, time_limit=5
    )
    solution = planning.solve(join(mdp, monitors.make("ask", cost=0)))
    tame = planning.what_if(solution, [(0, 1)])[0]
    assert tame.gain == pytest.approx(0.2 - (0.3 - 0.99))
    assert tame.true_gain == pytest.approx(0.2 - (0.3 + 0.99))


# ---- no discount -----------------------------------------------------------------------------


def proper(seed, n_states=6, n_actions=3, time_limit=None):
    """A random world in which every action may end the episode; unreachable ones that do not."""
    rng = np.random.default_rng(seed)
    outcomes = []
    for s in range(n_states):
        for a in range(n_actions):
            chance = rng.dirichlet(np.ones(4))
            for k, p in enumerate(chance):
                ends = k == 0 and s < n_states - 1
                to = rng.integers(n_states - 1) if s < n_states - 1 else s
                hidden = bool(rng.random() < 0.3)
                outcomes.append((s, a, int(to), p, float(rng.normal()), ends, hidden))
    start = np.append(rng.dirichlet(np.ones(n_states - 1)), 0.0)
    return MDP.from_outcomes(
        outcomes, name="proper", n_states=n_states, n_actions=n_actions, start=start, r_min=-9,
        time_limit=time_limit,
    )  # fmt: skip


def undiscounted_by_hand(monmdp):
    """Optimal undiscounted values from the start: policies in turn, by plain linear equations."""
    P, R, _ = by_hand(monmdp)
    going = P.sum(axis=2).min(axis=1) < 1 - 1e-12  # all but those that nobody reaches
    P, R = P[going][:, :, going], R[going]
    n = len(R)
    policy = np.zeros(n, dtype=int)
    while True:
        V = np.linalg.solve(np.eye(n) - P[np.arange(n), policy], R[np.arange(n), policy])
        better = (R + P @ V).argmax(axis=1)
        improves = (R + P @ V).max(axis=1) > V + 1e-10
        if not improves.any():
            return float(monmdp.start[going] @ V)
        policy = np.where(improves, better, policy)


@pytest.mark.parametrize("monitor", ["ask", "n-supporters", "battery"])
@pytest.mark.parametrize("seed", range(3))
def test_without_a_discount_where_every_policy_ends(seed, monitor):
    problem = join(proper(seed), monitors.make(monitor, rho=0.5))
    solution = planning.solve(problem, 1.0)
    assert solution.value == pytest.approx(undiscounted_by_hand(worst_by_hand(problem)), abs=1e-9)
    assert solution.optimal_value == pytest.approx(undiscounted_by_hand(problem), abs=1e-9)
    assert solution.minimax.converged
    assert solution.minimax.error_bound < 1e-9
    assert solution.horizon is None
    # The policy, evaluated for ever, and by the experimenter over whole episodes.
    policy = solution.minimax.policy
    truth = solution.optimal_value - solution.price
    assert evaluate(problem, policy, 1.0).value == pytest.approx(truth, abs=1e-8)
    scores = experiment.Policy(problem.shape, policy).evaluate(problem, 1.0)
    assert scores["episode_return"] == pytest.approx(truth, abs=1e-8)


def within_by_hand(monmdp, steps):
    """Optimal undiscounted return of so many steps, by plain backward induction."""
    P, R, _ = by_hand(monmdp)
    V = np.zeros(len(R))
    for _ in range(steps):
        V = (R + P @ V).max(axis=1)
    return float(monmdp.start @ V)


@pytest.mark.parametrize(
    ("world", "monitor", "params"),
    [
        ("loop", "ask", {}),
        ("bottleneck", "button", {"rho": 0.05}),
        ("river-swim", "full", {}),
        ("treasure-hunter", "ask", {}),
        ("corridor", "level-up", {}),
    ],
)
def test_without_a_discount_the_time_limit_is_what_ends(world, monitor, params):
    problem = make(world, monitor, **params)
    solution = planning.solve(problem, 1.0)
    worst, limit = worst_by_hand(problem), problem.mdp.time_limit
    assert solution.value == pytest.approx(within_by_hand(worst, limit), abs=1e-9)
    assert solution.optimal_value == pytest.approx(within_by_hand(problem, limit), abs=1e-9)
    assert solution.episode_return == solution.value or solution.horizon is None


def test_the_policy_of_counted_steps_earns_what_is_promised():
    problem = make("loop", "ask")
    plan = planning.optimal(problem, 1.0)
    steps = [experiment.Policy(problem.shape, of) for of in plan.policies()]
    assert len(steps) == problem.mdp.time_limit
    for seed in range(20):
        episode = experiment.rollout(problem, steps, np.random.default_rng(seed))
        assert episode.discounted(1.0) == pytest.approx(plan.value)


def test_what_if_without_a_discount_counts_steps_too():
    problem = make("treasure-hunter", "ask")
    (answer,) = planning.what_if(planning.solve(problem, 1.0))
    assert answer.gain == pytest.approx(0.9)
    assert answer.true_gain == pytest.approx(0.9)


def cage(time_limit=None):
    """One may leave by the door, or stay in the cage, or walk between it and the yard."""
    outcomes = [
        (0, 0, 1, 1.0, 0.0, False, False),
        (0, 1, 2, 1.0, 0.0, False, False),
        (1, 0, 0, 1.0, 0.0, False, False),
        (1, 1, 1, 1.0, 0.0, True, False),
        (2, 0, 2, 0.5, -1.0, False, False),
        (2, 0, 2, 0.5, -1.0, True, False),
        (2, 1, 2, 1.0, 1.0, True, False),
    ]
    return MDP.from_outcomes(
        outcomes, name="zoo", n_states=3, n_actions=2, start=[1.0, 0.0, 0.0],
        state_labels=["cage", "yard", "door"], time_limit=time_limit,
    )  # fmt: skip


def test_states_in_which_one_can_stay_for_ever_are_named(command, tmp_path):
    problem = join(cage(), monitors.make("ask"))
    problem.save(tmp_path / "zoo.npz")
    expected = (
        "one can stay for ever in 2 of 3 states ('cage', 'yard'); give the world a time_limit"
    )
    for words in (["solve"], ["rollout"]):
        code, out, err = command(*words, tmp_path / "zoo.npz", "--gamma", "1")
        assert (code, out) == (2, "")
        assert expected in err
    for call in (
        lambda: planning.solve(problem, gamma=1.0),
        lambda: evaluate(problem, np.full((3, 4), 0.25), 1.0),
    ):
        with pytest.raises(MonMDPError, match="'cage', 'yard'"):
            call()
    limited = join(cage(7), monitors.make("ask"))
    assert planning.solve(limited, 1.0).value == 1.0
    with pytest.raises(MonMDPError, match=r"cut it \(horizon=7\)"):
        evaluate(limited, np.full((3, 4), 0.25), 1.0)


def test_commands_take_no_discount(command, tmp_path):
    problem = join(proper(1, time_limit=30), monitors.make("ask"))
    problem.save(tmp_path / "p.npz")
    policy = experiment.Policy(problem.shape, np.full((6, 6), 1 / 6))
    policy.save(tmp_path / "policy.npz")
    code, out, _ = command("solve", tmp_path / "p.npz", "--gamma", "1")
    assert code == 0
    assert "for ever" in out
    code, out, _ = command(
        "evaluate", tmp_path / "policy.npz", tmp_path / "p.npz", "--gamma", "1", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert found["episode_return"] == pytest.approx(
        evaluate(problem, policy.probability, 1.0, horizon=30).value
    )
    code, out, _ = command("rollout", "loop", "ask", "--gamma", "1")
    assert code == 0
    assert "discounted return  1  (gamma 1; ended after" in out


def test_an_episode_that_ends_by_itself_needs_no_time_limit(command, tmp_path):
    problem = join(proper(2), monitors.make("ask"))
    problem.save(tmp_path / "p.npz")
    code, out, _ = command("rollout", tmp_path / "p.npz", "--gamma", "1")
    assert code == 0
    assert "ended after" in out
    uniform = experiment.Policy(problem.shape, np.full((6, 6), 1 / 6))
    for gamma in (0.9, 1.0):
        scores = uniform.evaluate(problem, gamma)["episode_return"]
        assert scores == pytest.approx(evaluate(problem, uniform.probability, gamma).value)


def test_learning_without_a_discount_is_refused_in_one_line(command):
    for words in (
        ["train", "loop", "ask", "agent.gamma=1"],
        ["theory", "loop", "ask", "--gamma", "1"],
    ):
        code, out, err = command(*words)
        assert (code, out) == (2, "")
        assert "learning and its theory need a discount below 1" in err
        assert len(err.splitlines()) == 1


def test_a_discount_above_one_is_none(command):
    code, _, err = command("solve", "loop", "ask", "--gamma", "1.01")
    assert code == 2
    assert "gamma must lie in [0, 1]" in err


def test_backward_induction_over_too_many_steps_is_refused_at_once(command):
    code, out, err = command("solve", "loop", "ask", "--gamma", "1", "time_limit=20000000")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "a time limit of 20,000,000 steps" in err


def test_very_long_episodes_without_a_discount_are_solved():
    # A walk back and forth over 60 cells, with the end behind the last one.
    outcomes = []
    for s in range(60):
        for a, p in enumerate((0.5, 0.45)):
            outcomes.append((s, a, min(s + 1, 59), p, -1.0, s == 59, False))
            outcomes.append((s, a, max(s - 1, 0), 1 - p, -1.0, False, False))
    mdp = MDP.from_outcomes(
        outcomes, name="walk", n_states=60, n_actions=2, start=np.eye(60)[0], r_min=-1
    )
    blind = Monitor(["-"], ["-"], [1.0], [[[1.0]]], [[0.0]], [[1.0]])
    solution = planning.solve(join(mdp, blind), 1.0)
    assert solution.value == pytest.approx(-60 * 61, rel=1e-9)  # the unbiased walk is the shorter
    assert solution.minimax.converged


def test_the_remark_upon_a_monitor_that_pays_names_where():
    with pytest.warns(monitors.CostWarning, match=r"write cost=-0.2"):
        problem = make("loop", "ask", cost=0.2)
    assert planning.remarks(problem) == [
        "the monitor pays up to 0.2 a step for showing rewards (monitor state 'ON', action 'ASK'); "
        "a cost is a negative number"
    ]
