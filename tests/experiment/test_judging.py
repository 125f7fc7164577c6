"""The judge against plain linear algebra, simulation and the definitions."""

from __future__ import annotations

import dataclasses
import itertools
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import monmdp
from conftest import (
    by_hand,
    dense_optimal_values,
    dense_policy_values,
    random_monmdp,
    seeds,
    worst_by_hand,
)
from monmdp import MDP, MonMDPError, Policy, experiment, join, make, monitors, worlds
from monmdp.drawing import draw_policy, draw_values, layers, sheet
from monmdp.drawing.canvas import pixels
from monmdp.drawing.layers import Layer, draw_layers
from monmdp.envs import JointDiscrete, MonMDPEnv, ObserveRewardMask
from monmdp.experiment import Judge, answers, sb3_callback
from monmdp.tables import written

TURNS = ("right", "down", "left", "up")


def turning_world(n=3, monitor="ask"):
    """A grid in which one turns and goes forward; stepping on the corner above the goal is ⊥."""
    ways = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    cells = [cell for cell in itertools.product(range(n), repeat=2) if cell != (1, 1)]
    number = {(cell, d): 4 * i + d for i, cell in enumerate(cells) for d in range(4)}
    rows = []
    for ((r, c), d), s in number.items():
        for a, turn in ((0, -1), (1, 1)):
            rows.append((s, a, number[(r, c), (d + turn) % 4], 1.0, 0.0, False, False))
        to = (r + ways[d][0], c + ways[d][1])
        to = to if to in cells else (r, c)
        goal, bottom = to == (n - 1, n - 1), to == (0, n - 1)
        rows.append((s, 2, number[to, d], 1.0, 1.0 * goal - 1.0 * bottom, goal, bottom))
    start = np.zeros(len(number))
    start[0] = 1.0
    mdp = MDP.from_outcomes(
        rows, name="turning", n_states=len(number), n_actions=3, start=start, r_min=-1, r_max=1,
        time_limit=40, action_labels=("turn left", "turn right", "forward"),
        state_labels=[f"{r},{c} {TURNS[d]}" for (r, c), d in number],
    )  # fmt: skip
    places = np.array([cell for cell, _ in number])
    seen = np.array([(*cell, d) for cell, d in number], dtype=np.uint8)
    mdp = dataclasses.replace(mdp, places=places, observations=seen)
    return join(mdp, monitors.make(monitor))


def random_policy(problem, rng, concentration=0.3):
    return rng.dirichlet(np.full(problem.n_actions, concentration), size=problem.n_states)


def dense_visits(problem, policy, gamma):
    P, _, _ = by_hand(problem)
    P = np.einsum("sa,sat->st", policy, P)
    return np.linalg.solve(np.eye(len(P)) - gamma * P.T, problem.start)


# ---- against plain linear algebra ------------------------------------------------------------


@given(seeds, st.sampled_from([0.0, 0.5, 0.9, 0.99]))
@settings(max_examples=60)
def test_random_problems_and_policies_by_linear_algebra(seed, gamma):
    problem, rng = random_monmdp(seed), np.random.default_rng(seed)
    policy, values = random_policy(problem, rng), rng.normal(size=problem.n_states)
    judged = Judge(problem, gamma)(policy, values)
    worst = worst_by_hand(problem)
    v, true = (dense_policy_values(of, policy, gamma) for of in (worst, problem))
    best = dense_optimal_values(worst, gamma)
    scale = max(1.0, np.abs(best).max(), np.abs(v).max())
    assert judged.worst_case_values == pytest.approx(v, abs=1e-9 * scale)
    assert judged.true_values == pytest.approx(true, abs=1e-9 * scale)
    assert judged.bias == pytest.approx(values - v, abs=1e-9 * scale)
    assert judged.minimax_value == pytest.approx(problem.start @ best, abs=1e-9 * scale)
    visits = dense_visits(problem, policy, gamma)
    assert judged.visits == pytest.approx(visits, abs=1e-9)
    assert judged.mean_bias == pytest.approx(visits @ (values - v) / visits.sum(), abs=1e-8 * scale)
    there = visits > 0
    assert abs(judged.worst_bias) == pytest.approx(np.abs(values - v)[there].max(), abs=1e-8)
    # the performance difference lemma, with everything made by hand
    P, R, _ = by_hand(worst)
    Q = R + gamma * P @ best
    loss = visits[:, None] * policy * (Q.max(axis=1, keepdims=True) - Q)
    assert judged.loss == pytest.approx(loss, abs=1e-8 * scale)
    assert judged.loss.sum() == pytest.approx(judged.value_gap, abs=1e-9 * scale)
    assert judged.value_gap == pytest.approx(problem.start @ (best - v), abs=1e-9 * scale)
    assert (judged.loss >= 0).all()
    limit = problem.mdp.time_limit
    for of, said in ((problem, judged.episode_return), (worst, judged.worst_case_return)):
        cut = dense_policy_values(of, policy, gamma, limit)
        assert said == pytest.approx(problem.start @ cut, abs=1e-9 * scale)


@given(seeds)
@settings(max_examples=30)
def test_exact_values_have_no_bias_and_the_best_policy_no_loss(seed):
    problem = random_monmdp(seed)
    judge = Judge(problem, 0.9)
    rng = np.random.default_rng(seed)
    policy = random_policy(problem, rng)
    plain = judge(policy)
    assert plain.bias is None
    assert plain.mean_bias is plain.worst_bias is plain.action_bias is None
    assert judge(policy, plain.worst_case_values).mean_absolute_bias == pytest.approx(0, abs=1e-12)
    true = judge(policy, plain.true_values, against="true")
    assert true.worst_bias == pytest.approx(0, abs=1e-12)
    P, R, _ = by_hand(worst_by_hand(problem))
    q = R + 0.9 * P @ plain.worst_case_values
    of_pairs = judge(policy, q + 0.5)
    assert of_pairs.bias == pytest.approx(np.full(problem.n_states, 0.5), abs=1e-8)
    assert of_pairs.action_bias == pytest.approx(np.full(q.shape, 0.5), abs=1e-8)
    best = judge(judge.solution.minimax.policy)
    assert best.value_gap == pytest.approx(0, abs=1e-8)
    assert best.gap == 0.0
    assert best.losses() == ()
    assert best.within(0.0)


def test_gamma_one_where_every_episode_ends():
    rows = [(0, 0, 1, 1.0, -1.0, False, False), (0, 1, 1, 0.5, 2.0, False, False),
            (0, 1, 0, 0.5, 0.0, True, False), (1, 0, 0, 1.0, 1.0, True, False),
            (1, 1, 0, 1.0, 3.0, True, False), (2, 0, 2, 1.0, 1.0, False, False),
            (2, 1, 2, 1.0, 1.0, False, False)]  # fmt: skip
    mdp = MDP.from_outcomes(
        rows, name="ends", n_states=3, n_actions=2, start=[1.0, 0, 0], r_min=-1, r_max=3
    )
    judged = Judge(join(mdp, monitors.make("full")), 1.0)(np.full((3, 2), 0.5))
    assert judged.value == judged.worst_case_return == pytest.approx(0.5 * 1 + 0.5 * (1 + 1))
    assert judged.visits == pytest.approx([1.0, 0.75, 0.0])
    assert judged.loss.sum() == pytest.approx(judged.value_gap, abs=1e-12)


def test_gamma_one_is_refused_where_only_the_limit_ends_episodes():
    """In Hazard some policies end, in time, and some do not."""
    for world in ("loop", "hazard"):
        with pytest.raises(MonMDPError, match=r"some policies never .* is right; take gamma < 1"):
            Judge(make(world, "ask"), 1.0)


def test_episodes_that_may_never_end_are_refused():
    problem = make("loop", "ask")
    endless = problem.with_mdp(dataclasses.replace(problem.mdp, time_limit=None))
    with pytest.raises(MonMDPError, match="time_limit"):
        Judge(endless)


# ---- against simulation ----------------------------------------------------------------------


@pytest.mark.parametrize("world", ["bottleneck", "turning"])
def test_what_an_episode_does_by_drawing_episodes(world):
    problem = turning_world() if world == "turning" else make(world, "ask", rho=0.5)
    rng = np.random.default_rng(1)
    judge = Judge(problem)
    policy = 0.7 * judge.solution.minimax.policy + 0.3 / problem.n_actions
    judged, n = judge(policy), 4000
    follow = Policy(problem.shape, policy)
    mdp, drawn = problem.mdp, []
    of_pair = dict(enumerate(mdp.first[:-1]))
    for _ in range(n):
        of = experiment.rollout(problem, follow, rng)
        first = [of_pair[s * mdp.n_actions + a] for s, a in zip(of.state, of.action, strict=False)]
        bottom = [bool(mdp.bottom[s] if mdp.bottom.any() else mdp.hidden[o])
                  for o, s in zip(first, of.state, strict=False)]  # fmt: skip
        drawn.append((of.discounted(0.99), len(of), sum(bottom), any(bottom), of.shown.sum(),
                      (of.monitor_action == 1).sum()))  # fmt: skip
    mean, spread = np.mean(drawn, axis=0), 4 * np.std(drawn, axis=0) / np.sqrt(n)
    steps = judged.episode_length
    exact = [judged.episode_return, steps, judged.bottom_visits, judged.bottom_chance,
             judged.shown * steps, judged.asked["ASK"] * steps]  # fmt: skip
    assert 0 < judged.bottom_chance < 1
    for name, said, found, width in zip(
        ["return", "length", "visits", "chance", "shown", "asked"],
        exact, mean, spread, strict=True,
    ):  # fmt: skip
        assert said == pytest.approx(found, abs=width), name
    assert sum(judged.asked.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("world", ["bottleneck", "hazard", "two-room-3x5"])
@pytest.mark.parametrize("monitor", ["button", "ask"])
def test_it_says_what_evaluation_says(world, monitor):
    problem = make(world, monitor)
    policy = Policy(problem.shape, random_policy(problem, np.random.default_rng(0)))
    judged, scores = Judge(problem)(policy), policy.evaluate(problem)
    for name, score in scores.items():
        assert getattr(judged, name) == pytest.approx(score, rel=1e-9), name
    assert judged.minimax_return == pytest.approx(monmdp.solve(problem).episode_return, abs=1e-9)


def test_within_a_share_of_the_minimax_return():
    judged = Judge(make("loop", "ask"))(Policy.uniform(make("loop", "ask")))
    for minimax, got, share in [
        (0.5, 0.49, 0.01), (0.0, -0.02, 0.02), (-4.0, -5.0, 0.25), (50.0, 49.0, 0.02),
        (1.0, 1.5, -0.5),
    ]:  # fmt: skip
        of = dataclasses.replace(judged, minimax_return=minimax, worst_case_return=got)
        assert of.share == pytest.approx(share)
        assert of.within(share + 1e-9)
        assert not of.within(share - 1e-9)


# ---- in words --------------------------------------------------------------------------------


def test_where_it_loses_in_words():
    problem = turning_world()
    judge = Judge(problem)
    greedy = judge.solution.minimax.policy.argmax(axis=1)
    start = problem.mdp.find_state("0,0 right")
    greedy[start] = 4  # forward without asking, towards ⊥
    corner = problem.mdp.find_state("0,1 right")
    greedy[corner] = 4
    judged = judge(greedy)
    (loss,) = [of for of in judged.losses() if of.state == corner]
    assert loss.words.startswith(
        "in 0,1 right: forward + NO-OP instead of turn left + NO-OP costs "
    )
    assert sum(of.cost for of in judged.losses(1000)) == pytest.approx(judged.value_gap, abs=1e-9)
    costs = [of.cost for of in judged.losses(1000)]
    assert costs == sorted(costs, reverse=True)
    assert judged.bottom_chance == 1.0
    assert judged.losses(1) == judged.losses()[:1]


def test_the_better_action_is_as_much_like_the_taken_one_as_can_be():
    problem = turning_world()
    judge = Judge(problem)
    start, away = (problem.mdp.find_state(name) for name in ("0,0 right", "0,1 right"))
    for turn, name in ((0, "turn left"), (1, "turn right")):  # to the left or to the right: a tie
        greedy = judge.solution.minimax.policy.argmax(axis=1)
        greedy[start], greedy[away] = 4, 2 * turn + 1
        (loss,) = [of for of in judge(greedy).losses() if of.state == away]
        assert f"{name} + ASK instead of {name} + NO-OP costs" in loss.words


def test_a_loop_that_is_believed_to_be_worth_something():
    problem = turning_world(monitor="full")
    left = np.zeros(problem.n_states, dtype=int)  # turns for ever
    judged = Judge(problem)(left, np.full(problem.n_states, 0.69))
    assert judged.mean_bias == judged.worst_bias == pytest.approx(0.69)
    words = [of.words for of in judged.worst_biases()]
    assert len(words) == 4  # the states that it visits
    assert words[0] == "in 0,0 right: believes 0.69, the exact value is 0"
    text = str(judged)
    assert "turning / full, γ = 0.99" in text
    assert "in 0,0 right: turn left instead of turn right" in text
    assert "0.69" in text
    assert "<table" in judged._repr_html_()


# ---- policies of all kinds -------------------------------------------------------------------


class Predicts:
    """What has `predict` and says what it observes, as Stable-Baselines3's models do."""

    def __init__(self, space, function):
        self.observation_space, self.function = space, function

    def predict(self, observation, deterministic=False):
        assert deterministic
        return self.function(observation), None


def kinds_of(problem, joint):
    """The same greedy policy in all forms."""
    n_sm, n_am = problem.monitor.n_states, problem.monitor.n_actions
    table = problem.mdp.observations

    def look_up(batch):
        if table is None:
            return joint[batch["env"] * n_sm + batch["mon"]]
        env = (table[None] == batch["env"][:, None]).all(axis=2).argmax(axis=1)
        return joint[env * n_sm + batch["mon"]]

    one_hot = np.eye(problem.n_actions)[joint]
    env, mon = joint // n_am, joint % n_am
    yield "actions", joint
    yield "list", joint.tolist()
    yield "probabilities", one_hot
    yield "Policy", Policy(problem.shape, one_hot)
    yield "function", look_up
    yield "of probabilities", lambda batch: one_hot[_states(look_up, batch, joint, n_sm, table)]
    yield "of 32 bits", lambda batch: np.float32(0.999999) * one_hot.astype(np.float32)[
        _states(look_up, batch, joint, n_sm, table)]  # fmt: skip
    yield "dictionary", lambda batch: {"env": look_up(batch) // n_am, "mon": look_up(batch) % n_am}
    space = MonMDPEnv(problem).observation_space
    if table is None:
        yield "predict", Predicts(space, look_up)
        joint_space = spaces.Discrete(problem.n_states)
        yield "predict joint", Predicts(joint_space, lambda s: joint[s])
        yield "predict pairs", Predicts(joint_space, lambda s: np.stack([env[s], mon[s]], 1))


def _states(look_up, batch, joint, n_sm, table):
    if table is None:
        return batch["env"] * n_sm + batch["mon"]
    return (table[None] == batch["env"][:, None]).all(axis=2).argmax(axis=1) * n_sm + batch["mon"]


@pytest.mark.parametrize("which", ["turning", "bottleneck"])
@pytest.mark.parametrize("batch", [7, 4096])
def test_one_policy_in_all_its_forms(which, batch, monkeypatch):
    monkeypatch.setattr(answers, "BATCH", batch)
    problem = turning_world() if which == "turning" else make(which, "n-experts")
    joint = np.random.default_rng(3).integers(problem.n_actions, size=problem.n_states)
    judge = Judge(problem)
    for kind, policy in kinds_of(problem, joint):
        assert judge(policy).policy == pytest.approx(np.eye(problem.n_actions)[joint]), kind


def shown_in_all_states(env, problem):
    """What an environment shows in each state."""
    return [env.reset(options=problem.shape.observation(s))[0] for s in range(problem.n_states)]


def is_seen(seen, s, shown):
    """Whether a view of all states has in state s what an environment shows there."""
    if isinstance(shown, dict):
        return {k: v[s] for k, v in seen.items()} == shown
    return np.array_equal(seen[s], shown)


def test_views_undo_what_wrappers_do():
    """What an environment in wrappers shows is what the view shows."""
    problem = make("loop", "n-experts")
    for wrap in (
        lambda env: env,
        JointDiscrete,
        gymnasium.wrappers.FlattenObservation,
        lambda env: JointDiscrete(gymnasium.wrappers.FlattenObservation(env)),
    ):
        env = wrap(MonMDPEnv(problem))
        view = answers.view_for(env.observation_space, problem)
        ((_, batch),) = answers.observed(problem)
        seen = view(batch)
        for s, shown in enumerate(shown_in_all_states(env, problem)):
            assert is_seen(seen, s, shown)
            assert env.observation_space.contains(shown if isinstance(shown, dict) else seen[s])


def test_views_of_tables():
    problem = turning_world()
    ((_, batch),) = answers.observed(problem)
    assert batch["env"].shape == (problem.n_states, 3)
    assert batch["env"].dtype == np.uint8
    table = spaces.Box(0, 255, (3,), np.uint8)
    both = spaces.Dict({"env": table, "mon": spaces.Discrete(1)})
    assert answers.view_for(both, problem)(batch) is batch
    assert answers.view_for(table, problem)(batch) is batch["env"]
    flat = gymnasium.spaces.flatten_space(both)
    seen = answers.view_for(flat, problem)(batch)
    for s in range(problem.n_states):
        whole = {"env": batch["env"][s], "mon": batch["mon"][s]}
        assert np.array_equal(seen[s], gymnasium.spaces.flatten(both, whole))


@pytest.mark.parametrize("monitor", ["ask", "n-experts"])
def test_numbers_of_states_in_a_world_with_a_table(monitor):
    """The environment shows numbers unless it is told to show the table."""
    problem = turning_world(monitor=monitor)
    ((_, batch),) = answers.observed(problem)
    for wrap in (lambda env: env, JointDiscrete, gymnasium.wrappers.FlattenObservation):
        env = wrap(MonMDPEnv(problem))
        seen = answers.view_for(env.observation_space, problem)(batch)
        for s, shown in enumerate(shown_in_all_states(env, problem)):
            assert is_seen(seen, s, shown)


def test_spaces_that_tell_too_little_are_refused():
    problem = turning_world()
    for space in (None, spaces.Discrete(7), spaces.Box(0, 1, (99,))):
        with pytest.raises(MonMDPError, match="view="):
            answers.view_for(space, problem)
    with pytest.raises(MonMDPError, match="view="):  # it does not see the monitor's state
        answers.view_for(spaces.Box(0, 255, (3,), np.uint8), turning_world(monitor="n-experts"))
    scaled = spaces.Box(0, 1, (3,))
    with pytest.raises(MonMDPError, match="with numbers from 0 to 3; translate them with view="):
        answers.view_for(scaled, problem)
    masked = ObserveRewardMask(MonMDPEnv(make("loop", "ask"))).observation_space
    with pytest.raises(MonMDPError, match="depend on the last reward"):
        answers.view_for(masked, make("loop", "ask"))


def test_a_view_of_ones_own():
    problem = turning_world()
    model = Predicts(None, lambda seen: (seen[:, 0] > 0).astype(int))
    judged = Judge(problem)(
        model, lambda seen: seen[:, 1], view=lambda batch: batch["env"] / 2.0 - 0.5
    )
    rows, columns = problem.mdp.places.T
    assert (judged.policy.argmax(axis=1) == (rows == 2)).all()
    assert judged.given == pytest.approx(columns / 2 - 0.5)


def test_values_of_another_policy_than_is_judged():
    problem = make("loop", "ask")
    judge, uniform = Judge(problem), Policy.uniform(problem)
    exact = judge(uniform).worst_case_values
    best = judge.solution.minimax.policy
    judged = judge(best, exact, follows=uniform)
    assert judged.gap == 0.0
    assert judged.mean_absolute_bias == pytest.approx(0, abs=1e-12)
    assert judge(best, exact).mean_bias < -8
    assert judged.weights == pytest.approx(judge(uniform).visits)


# ---- clumsy users ----------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)
MISTAKES = {
    "too few states": (np.zeros(3, dtype=int), None, "9 actions for 9 states"),
    "too few rows": (np.full((3, 10), 0.1), None, r"shape \[s, a\] = \(9, 10\) expected"),
    "no sum of one": (np.full((9, 10), 0.2), None, "argmax, of logits the softmax"),
    "NaN": (np.full((9, 10), np.nan), None, "not a distribution"),
    "too few columns": (np.full((9, 5), 0.2), None, "policy has 5 actions, and loop / ask has 10"),
    "a function with too few": (
        lambda batch: np.full((len(batch["mon"]), 5), 0.2), None, "5 of the world for each of 2",
    ),
    "pairs as floats": (lambda batch: np.zeros((len(batch["mon"]), 2)), None, "whole numbers"),
    "actions as floats": (np.zeros(9), None, "whole numbers expected"),
    "no such action": (np.full(9, 10), None, "action 10 in state 0,0; there are 10 joint"),
    "below zero": (np.full(9, -1), None, "action -1 in state 0,0"),
    "words": ("best", None, "numbers expected"),
    "ragged": ([[1, 0], [1]], None, "equally long"),
    "nothing": (None, None, "numbers expected"),
    "a class": (Policy, None, "make an object of it first"),
    "another shape": (lambda: Policy.uniform(make("bottleneck", "ask")), None, "the policy is for"),
    "a function of one": (lambda batch: np.zeros(4, dtype=int), None, "9 actions for 9 states"),
    "odd keys": (lambda batch: {"env": batch["env"]}, None, '"mon": …}} expected|expected, got'),
    "a dictionary too short": (
        lambda batch: {"env": np.zeros(3, dtype=int), "mon": 0 * batch["mon"]}, None,
        "9 actions of each kind expected, got 3 and 9",
    ),
    "at random": (
        lambda batch: RANDOM.integers(0, 10, len(batch["mon"])), None, "differently when it is",
    ),
    "values too short": (np.zeros(9, dtype=int), np.zeros(3), r"shape \[s\] = \(9,\)"),
    "values with NaN": (np.zeros(9, dtype=int), np.full(9, np.nan), "nan in state 0,0"),
    "values as words": (np.zeros(9, dtype=int), "high", "numbers expected"),
    "a value of all": (np.zeros(9, dtype=int), lambda batch: 1.0, "each of 9 states"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_clumsy_users_are_told(mistake):
    policy, values, words = MISTAKES[mistake]
    if mistake == "another shape":
        policy = policy()
    with pytest.raises(MonMDPError, match=words):
        Judge(make("loop", "ask"))(policy, values)


def test_other_clumsy_users():
    problem = make("loop", "ask")
    judge = Judge(problem)
    with pytest.raises(MonMDPError, match="worst-case"):
        judge(Policy.uniform(problem), against="worst_case")
    with pytest.raises(MonMDPError, match="MonMDP expected"):
        Judge(problem.mdp)
    with pytest.raises(MonMDPError, match="every"):
        judge.record(every=0)
    with pytest.raises(MonMDPError, match="share"):
        judge(Policy.uniform(problem)).within("2 %")


def test_a_model_for_another_number_of_actions():
    """Its numbers may all be actions of the problem, and mean something else."""
    model = Predicts(spaces.Discrete(9), lambda seen: np.zeros(len(seen), dtype=int))
    model.action_space = spaces.Discrete(5)
    with pytest.raises(MonMDPError, match="the policy has 5 actions, and loop / ask has 10"):
        Judge(make("loop", "ask"))(model)
    model.action_space = spaces.Discrete(10)
    assert Judge(make("loop", "ask"))(model).policy[:, 0].all()


def test_the_callback_wants_a_judge():
    with pytest.raises(MonMDPError, match=r"a Judge first, .* got 'x'"):
        sb3_callback("x", every=3)


def test_without_stable_baselines_it_says_what_to_install(monkeypatch):
    for name in ("stable_baselines3", "stable_baselines3.common.callbacks"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MonMDPError, match=r"pip install 'monmdp\[deep\]'"):
        sb3_callback(Judge(make("loop", "ask")))


# ---- records ---------------------------------------------------------------------------------


def test_a_record_judges_when_it_is_due():
    problem = make("loop", "ask")
    judge, calls = Judge(problem), []

    def policy(batch):
        calls.append(len(batch["mon"]))
        return 0 * batch["mon"]

    record = judge.record(every=10)
    assert list(record.frame().columns) == ["step"]
    said = [record(step, policy) for step in (3, 5, 12, 13, 14, 40, 49, 50)]
    assert [of is not None for of in said] == [True, False, False, True, False, True, False, True]
    frame = record.frame()
    assert frame["step"].tolist() == [3, 13, 40, 50]
    assert calls == [9] * 8  # it is asked twice, to be sure of the answer
    assert frame["gap"].tolist() == [said[0].gap] * 4
    assert frame["mean_bias"].isna().all()
    assert record.last is said[-1]
    record(60, policy, lambda batch: 0.5 + 0 * batch["mon"])
    assert record.frame()["mean_bias"].iloc[-1] == pytest.approx(record.last.mean_bias)
    with pytest.raises(MonMDPError, match="steps never go back"):
        record(7, policy)
    assert record(60, policy, now=True) is record.last  # instead of the one of that step
    assert record.frame()["step"].tolist() == [3, 13, 40, 50, 60]
    assert np.isnan(record.frame()["mean_bias"].iloc[-1])
    record(61, policy, now=True)
    assert record.frame()["step"].iloc[-1] == 61


def test_a_record_writes_live_curves(tmp_path):
    problem = make("loop", "ask")
    folder = tmp_path / "new" / "curves"
    with Judge(problem).record(every=1, tensorboard=folder) as record:
        record(0, Policy.uniform(problem), np.zeros(9))
        record(5, Policy.uniform(problem))
        (file,) = folder.iterdir()
        data = file.read_bytes()
    assert data.count(b"worst_case_return") == 2
    assert data.count(b"mean_bias") == 1
    (tmp_path / "file").write_text("")
    with pytest.raises(MonMDPError, match="cannot write into"):
        Judge(problem).record(tensorboard=tmp_path / "file")


class Walker:
    """Learns nothing; believes everything to be worth what it was told."""

    def __init__(self, shape, value):
        self.shape, self.value, self.updates = shape, value, 0

    def begin_episode(self):
        return False

    def act(self, observation):
        return {"env": 2, "mon": 0}

    def update(self, transition):
        self.updates += 1

    def test_policy(self):
        policy = np.zeros((self.shape[0] * self.shape[1], self.shape[2] * self.shape[3]))
        policy[:, 4 if self.updates < 100 else 8] = 1.0
        return policy

    def values(self, observations):
        return self.value + 0.0 * observations["mon"]


def test_an_agent_in_plain_python_is_judged_while_it_trains():
    problem = make("loop", "ask")
    record = Judge(problem).record(every=60)
    agent = Walker(problem.shape, 0.69)
    run = monmdp.train(problem, record.watching(agent), 200)
    frame = record.frame()
    assert frame["step"].tolist() == [0, 60, 120, 180]
    assert frame["mean_bias"].tolist() == pytest.approx([0.69] * 4)
    assert agent.updates == 200
    alone = monmdp.train(problem, Walker(problem.shape, 0.69), 200)
    assert run.data() == alone.data()
    assert (record.last.policy[:, 8] == 1).all()
    for wrong in ("monitored-mbie-eb", Walker, 3):
        with pytest.raises(MonMDPError, match="plain Python"):
            record.watching(wrong)


def test_an_agent_that_sees_observations():
    problem = turning_world()

    class Seer(Walker):
        sees = "observations"

        def test_policy(self, observations):
            return np.eye(6)[observations[:, 2]].repeat(problem.shape.n_monitor_states, axis=0)

        def values(self, observations):
            return observations["env"][:, 0] / 10

    judged = Judge(problem)(Seer(problem.shape, 0.0))
    turn = np.arange(problem.n_states) % 4
    assert (judged.policy.argmax(axis=1) == turn).all()
    assert judged.given == pytest.approx(problem.mdp.places[:, 0] / 10)


def test_a_run_of_this_packages_agents_with_its_own_values():
    problem = make("loop", "ask")
    run = monmdp.train(problem, "monitored-mbie-eb", 3000, snapshots=1)
    judge = Judge(problem)
    judged = judge(run, run.snapshots["q_opt"][-1])
    assert (judged.policy == run.policy.probability).all()
    own = (run.policy.probability * run.snapshots["q_opt"][-1]).sum(axis=1)
    assert judged.bias == pytest.approx(own - judged.worst_case_values, abs=1e-12)
    with pytest.raises(MonMDPError, match=r"Walker: snapshots are .* record.watching\(agent\)"):
        monmdp.train(problem, Walker(problem.shape, 0.5), 100, snapshots=1)
    with pytest.raises(MonMDPError, match="has not kept its policy"):
        judge(dataclasses.replace(run, policy=None))


def test_another_discount_is_warned_of():
    problem = make("loop", "ask")
    run = monmdp.train(problem, "monitored-mbie-eb", 1000, snapshots=1)
    q = run.snapshots["q_opt"][-1]
    model = Predicts(spaces.Discrete(9), lambda seen: np.zeros(len(seen), dtype=int))
    model.gamma = 0.99
    for policy in (run, run.policy, model):
        Judge(problem, 0.99)(policy, q)  # warnings are errors here
        other = Judge(problem, 0.9)
        with pytest.warns(experiment.GammaWarning, match=r"gap is .*\(problem, gamma=0.99\)"):
            other(policy)
        with pytest.warns(experiment.GammaWarning, match="gap and bias are those of another"):
            other(policy, q)


def test_the_discount_is_that_of_the_agent_not_of_its_tests(tmp_path):
    problem = make("loop", "ask")
    run = monmdp.train(problem, "monitored-mbie-eb", 500, snapshots=1, gamma=0.95, out=tmp_path)
    (file,) = tmp_path.glob("runs/*/*-0000.parquet")
    run.policy.save(tmp_path / "policy.npz")
    kept = monmdp.load_run(file), Policy.load(tmp_path / "policy.npz")
    for policy in (run, run.policy, *kept):
        Judge(problem, 0.99)(policy, run.snapshots["q_opt"][-1])
        with pytest.warns(experiment.GammaWarning, match=r"take Judge\(problem, gamma=0.99\)"):
            Judge(problem, 0.95)(policy, run.snapshots["q_opt"][-1])


def test_an_agent_without_a_discount_is_not_warned_of():
    problem = make("loop", "ask")
    run = monmdp.train(problem, Walker(problem.shape, 0.69), 200, gamma=0.95)
    for policy in (run, run.policy):
        Judge(problem, 0.99)(policy)


# ---- the picture -----------------------------------------------------------------------------


def numbers(figure, panel):
    """The colours' numbers of a panel."""
    return np.asarray(coloured(figure, panel).get_array())


def coloured(figure, panel):
    """The cells of a panel that have a number."""
    return next(of for of in figure.axes[panel].collections if of.get_array() is not None)


def test_the_picture_of_places_adds_up():
    problem = turning_world()
    judge = Judge(problem)
    policy = 0.8 * judge.solution.minimax.policy + 0.2 / problem.n_actions
    values = np.random.default_rng(0).normal(size=problem.n_states)
    judged = judge(policy, values)
    figure = judged.figure()
    titles = [ax.get_title() for ax in figure.axes[:4]]
    assert titles == ["exact value in M↓", "bias of its values", "discounted visits",
                      f"loss: shares of the value gap of {written(judged.value_gap)}"]  # fmt: skip
    places = problem.mdp.places
    cells = sorted({tuple(of) for of in places.tolist()})
    at = [np.flatnonzero((places == cell).all(axis=1)) for cell in cells]
    visits = [judged.visits[of].sum() for of in at]
    assert numbers(figure, 2) == pytest.approx(visits)
    assert numbers(figure, 3).sum() == pytest.approx(judged.value_gap, abs=1e-9)
    bias = [judged.visits[of] @ judged.bias[of] / n for of, n in zip(at, visits, strict=True) if n]
    assert numbers(figure, 1) == pytest.approx(bias)  # the goal is never left: hatched
    assert len(bias) == len(cells) - 1
    low, high = coloured(figure, 1).get_clim()
    assert low == -high
    assert pixels(figure).std() > 0
    assert len(judge(policy).figure().axes) == 2 * 3


@pytest.mark.parametrize("world", ["bottleneck", "loop"])
def test_without_values_no_place_is_empty(world):
    problem = make(world, "ask")
    panels = Judge(problem)(Policy.uniform(problem)).figure().axes[:3]
    assert [ax.get_title().split()[0] for ax in panels] == ["exact", "discounted", "loss:"]
    assert len({ax.get_subplotspec().get_gridspec().get_geometry() for ax in panels}) == 1
    assert panels[0].get_subplotspec().get_gridspec().get_geometry() == (1, 3)


def test_no_loss_is_drawn_on_a_scale_from_0_to_1():
    """Not on one that shows rounding."""
    judge = Judge(make("bottleneck", "full-random"))
    figure = judge(judge.solution.minimax.policy).figure()
    assert coloured(figure, 2).get_clim() == (0.0, 1.0)
    assert numbers(figure, 2).max() < 1e-9
    assert figure.axes[2].get_title() == "loss: shares of the value gap of 0"


def test_start_goal_and_bottom_are_marked_on_the_grid():
    mdp = turning_world().mdp
    marked = {mark.words[0]: cells_of(mdp, mark) for mark in layers._marks(mdp, *whole(mdp))}
    assert marked == {"r": [(0, 0)], "G": [(2, 2)], "⊥": [(0, 2)]}
    named = dataclasses.replace(
        mdp, goal=mdp.mean_reward > 0, bottom=(mdp.places == (2, 1)).all(axis=1)
    )
    marked = {mark.words[0]: cells_of(mdp, mark) for mark in layers._marks(named, *whole(mdp))}
    assert marked == {"r": [(0, 0)], "G": [(2, 2)], "⊥": [(2, 1)]}
    figure = draw_layers(mdp, [Layer("ones", np.ones(mdp.n_states))])
    assert figure.get_supxlabel() == "robot: start; G: goal; ⊥: reward never shown"
    on_a_map = worlds.make("bottleneck")  # it has pictures of its own goal and ⊥
    figure = draw_layers(on_a_map, [Layer("ones", np.ones(36))])
    assert figure.get_supxlabel() == "robot: start"
    anywhere = dataclasses.replace(on_a_map, start=np.full(36, 1 / 36))
    assert draw_layers(anywhere, [Layer("ones", np.ones(36))]).get_supxlabel() == ""


def whole(mdp):
    _, cell_of, _ = layers._ground(mdp)
    return (cell_of,)


def cells_of(mdp, mark):
    sheet, _, _ = layers._ground(mdp)
    return [tuple(of) for of in sheet.cells[mark.cells].tolist()]


def test_where_episodes_end_is_marked_and_hatching_explained():
    """Lava is no wall: it has a cross, and neither it nor the goal has a number."""
    mdp = turning_world().mdp
    fire = (mdp.places[mdp.successor] == (2, 0)).all(axis=1)
    burning = dataclasses.replace(mdp, terminates=mdp.terminates | fire)
    marked = {mark.words[0]: cells_of(mdp, mark) for mark in layers._marks(burning, *whole(mdp))}
    assert marked == {"r": [(0, 0)], "G": [(2, 2)], "×": [(2, 0)], "⊥": [(0, 2)]}
    values = np.where((mdp.places == (2, 0)).all(axis=1), np.nan, 1.0)
    words = draw_layers(burning, [Layer("ones", values)]).get_supxlabel().split("; ")
    assert words[2:] == ["×: the episode ends", "⊥: reward never shown",
                         "hatched: nothing is done there"]  # fmt: skip


def test_a_path_is_seen_beside_a_cell_that_is_never_left():
    problem = turning_world()
    judge = Judge(problem, gamma=0.99)
    policy = judge.solution.minimax.policy.copy()
    stuck = (problem.mdp.places == (2, 1)).all(axis=1)
    policy[stuck] = np.eye(problem.n_actions)[0]  # it turns for ever
    figure = judge(policy).figure()
    drawn, visits = coloured(figure, 1), numbers(figure, 1)
    assert np.sort(visits)[-1] > 20 * np.sort(visits)[-2] > 0
    shade = drawn.norm(visits)
    assert (shade[visits > 0.5] > 0.15).all()
    assert (shade[visits == 0] == 0).all()
    assert "$" not in "".join(of.get_text() for of in figure.axes[4].get_yticklabels())


@pytest.mark.parametrize(("monitor", "there"), [("button", True), ("full-random", False)])
def test_a_button_is_drawn_if_the_monitor_has_it(monitor, there, monkeypatch):
    drawn = []
    monkeypatch.setattr(sheet, "button", lambda action: drawn.append(action) or [])
    problem = make("bottleneck", monitor)
    Judge(problem)(Policy.uniform(problem)).figure()
    draw_values(problem, np.zeros(problem.n_states))
    draw_policy(problem, Policy.uniform(problem).probability)
    assert bool(drawn) == there


@pytest.mark.parametrize(("world", "monitor"), [("bottleneck", "button"), ("river-swim", "full"),
                                                ("treasure-hunter", "ask")])  # fmt: skip
def test_pictures_of_other_worlds(world, monitor):
    problem = make(world, monitor)
    judged = Judge(problem)(Policy.uniform(problem), np.zeros(problem.n_states))
    figure = judged.figure()
    assert numbers(figure, 3).sum() == pytest.approx(judged.value_gap, abs=1e-9)
    assert pixels(figure).std() > 0


def test_places_are_numbered_as_they_are():
    problem = turning_world()
    mdp = dataclasses.replace(problem.mdp, places=np.add(problem.mdp.places, (7, 2)))
    ax = draw_layers(mdp, [Layer("ones", np.ones(mdp.n_states))]).axes[0]
    labels = [[of.get_text() for of in axis.get_ticklabels()] for axis in (ax.yaxis, ax.xaxis)]
    assert labels == [["7", "8", "9"], ["2", "3", "4"]]


def test_states_without_a_place_are_left_out():
    problem = turning_world()
    places = problem.mdp.places.copy()
    places[:4] = -1
    mdp = dataclasses.replace(problem.mdp, places=places)
    figure = draw_layers(mdp, [Layer("ones", np.ones(mdp.n_states))])
    assert numbers(figure, 0).sum() == mdp.n_states - 4
    nowhere = dataclasses.replace(mdp, places=np.full_like(places, -1))
    with pytest.raises(MonMDPError, match="no state has a place"):
        draw_layers(nowhere, [Layer("ones", np.ones(mdp.n_states))])
