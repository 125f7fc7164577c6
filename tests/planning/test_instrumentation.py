"""Which hidden rewards to make visible: against brute force, and what may be asked and answered.

The worlds and the brute force are those of benchmarks/instrumentation.py, which shares no code with
the planner.
"""

from __future__ import annotations

import importlib.util
import json
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT
from monmdp import MDP, MonMDPError, join, make, monitors, planning, worlds
from monmdp.planning import instrument, optimal
from monmdp.planning.factors import share_structure
from monmdp.planning.hidden_pay import scenarios
from monmdp.planning.selection import NOTHING, Selection
from monmdp.planning.worth import Worth

_spec = importlib.util.spec_from_file_location(
    "instrumentation", ROOT / "benchmarks" / "instrumentation.py"
)
benchmark = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(benchmark)

CLOSE = 1e-6


def subsets(n):
    return chain.from_iterable(combinations(range(n), k) for k in range(n + 1))


def with_pay(problem, pay):
    """The problem with every hidden pair paying pay[s, a], or r_min where that is NaN."""
    mdp = problem.mdp
    hidden = planning.observability(problem).never_observable
    pay = np.where(np.isnan(pay), mdp.r_min, pay)
    of = mdp.pair_of_outcome
    reward = np.where(hidden.reshape(-1)[of], pay.reshape(-1)[of], mdp.reward)
    return problem.with_mdp(mdp.with_outcome_rewards(reward))


def best_by_trying(problem, members, cost, budget, pays, gamma):
    """The largest gain of any set of candidates, of pairs members[i] each; plans from cold."""

    def value(chosen):
        shown = np.zeros((problem.mdp.n_states, problem.mdp.n_actions), dtype=bool)
        for i in chosen:
            for pair in members[i]:
                shown[pair] = True
        values = [optimal(with_pay(problem, np.where(shown, p, np.nan)), gamma).value for p in pays]
        return np.mean(values)

    sets = [of for of in subsets(len(members)) if sum(cost[i] for i in of) <= budget + 1e-9]
    return max(map(value, sets)) - value(())


HIDDEN = "r_min: -1\ntile H: land 0.5 hidden\n---\n"
"""head of maps in which H pays, and nobody sees it"""


def small():
    """A map with a hidden reward in a corner."""
    return join(worlds.grid_world(f"{HIDDEN}@..H\n.##.\n...$"), monitors.make("ask"))


# ---- the best set ---------------------------------------------------------------------------


def check(outcomes):
    assert all(of.is_exact for of in outcomes), [of.seed for of in outcomes if not of.is_exact]
    assert all(of.is_valid for of in outcomes), [of.seed for of in outcomes if not of.is_valid]
    assert np.median([of.greedy.ratio for of in outcomes]) >= 0.95
    assert np.median([of.share for of in outcomes]) >= 0.95


def test_exact_equals_brute_force_and_certificates_hold():
    check([benchmark.outcome(seed) for seed in range(20)])


@pytest.mark.slow
def test_exact_equals_brute_force_and_certificates_hold_on_200_worlds():
    check([benchmark.outcome(seed) for seed in range(200)])


def selection_of(made):
    """The search of one world, and the largest gain of any set."""
    seen = planning.observability(made.problem)
    masks = [np.zeros_like(seen.never_observable) for _ in made.pairs]
    for mask, (s, a) in zip(masks, made.pairs, strict=True):
        mask[s, a] = True
    pay = made.problem.mdp.mean_reward[None]
    worth = Worth(made.problem, seen, benchmark.GAMMA, pay, masks)
    selection = Selection(worth, made.cost, made.budget)
    return selection, selection.nothing + made.gains(made.payable()).max()


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_branch_and_bound_needs_no_help_from_greedy_and_its_bound_holds_wherever_it_stops(seed):
    made = benchmark.task(seed)
    made = made._replace(budget=max(made.budget, 3.0))
    for most_plans in (0, 10, 20, 40, 10_000):
        selection, best = selection_of(made)
        found = selection.search(NOTHING, most_plans)
        assert found.value <= best + CLOSE <= found.bound + 2 * CLOSE
        assert selection.spent(found.chosen) <= made.budget + 1e-9
    assert found.value == found.bound == pytest.approx(best, abs=CLOSE)


@pytest.mark.parametrize("seed", range(4))
def test_what_adds_nothing_is_left_out(seed):
    selection, _ = selection_of(benchmark.task(seed))
    everything = selection.everything
    kept = selection.trimmed(everything)
    assert selection.worth(kept) == pytest.approx(selection.worth(everything), abs=CLOSE)
    assert all(selection.worth(kept - {i}) < selection.worth(kept) - CLOSE for i in kept)
    assert len(kept) < len(everything)


@pytest.mark.parametrize("seed", range(6))
def test_overlapping_groups_of_mixed_cost(seed):
    made = benchmark.task(seed)
    rng = np.random.default_rng(seed)
    pairs = [(int(s), int(a)) for s, a in made.pairs]
    groups = {
        f"g{i}": [pairs[j] for j in rng.choice(len(pairs), rng.integers(1, 4), replace=False)]
        for i in range(8)
    }
    cost = {name: float(rng.choice([0.0, 0.5, 1.0, 2.5])) for name in groups}
    how = {"cost": cost, "groups": groups, "assume": "truth", "gamma": benchmark.GAMMA}
    found = instrument(made.problem, 2.5, method="exact", **how)
    sets = [
        of for of in subsets(8) if sum(cost[f"g{i}"] for i in of) <= 2.5 + 1e-9
    ]  # fmt: skip
    shown = [{pair for i in of for pair in groups[f"g{i}"]} for of in sets]
    masks = np.array([[pair in of for pair in pairs] for of in shown])
    assert found.gain == pytest.approx(made.gains(masks).max(), abs=CLOSE)
    greedy = instrument(made.problem, 2.5, method="greedy", **how)
    assert greedy.upper_bound >= found.gain - CLOSE


def test_a_prior_is_averaged_over_its_draws():
    problem = small()
    hidden = planning.observability(problem).never_observable
    pairs = [tuple(map(int, pair)) for pair in np.argwhere(hidden)]
    rng = np.random.default_rng(3)
    draws = rng.uniform(-1, 1, (5, *hidden.shape))
    for budget in (1, 2):
        found = instrument(problem, budget, assume="prior", prior=draws, method="exact")
        members = [[pair] for pair in pairs]
        ones = [1.0] * len(pairs)
        best = best_by_trying(problem, members, ones, budget, draws, 0.99)
        assert found.scenarios == 5
        assert found.gain == pytest.approx(best, abs=CLOSE)


@pytest.mark.parametrize("limit", [3, 12])
def test_without_a_discount_where_only_the_time_limit_ends_episodes(limit):
    world = worlds.grid_world(f"{HIDDEN}@.H\n..$", time_limit=limit)
    problem = join(world, monitors.make("ask"))
    hidden = planning.observability(problem).never_observable
    members = [[tuple(map(int, pair))] for pair in np.argwhere(hidden)]
    pay = np.full(hidden.shape, problem.mdp.r_max)
    assert planning.optimal(problem, 1.0).stages is not None
    found = instrument(problem, 2, gamma=1.0, method="exact")
    best = best_by_trying(problem, members, [1.0] * len(members), 2, [pay], 1.0)
    assert found.gain == pytest.approx(best, abs=CLOSE)
    assert best > 0.1


def test_a_reward_that_is_worth_choosing_with_few_steps_left_only():
    outcomes = [(0, 0, 0, 1.0, 0.1, False, False), (0, 1, 0, 1.0, 0.3, True, True)]
    mdp = MDP.from_outcomes(
        outcomes, name="leave", n_states=1, n_actions=2, start=[1.0], r_min=-1.0, time_limit=10
    )
    found = instrument(join(mdp, monitors.make("ask")), 1, gamma=1.0, assume="truth")
    assert found.value_before == pytest.approx(1.0)
    assert found.gain == pytest.approx(0.2)


def test_without_a_discount_where_every_episode_ends():
    problem = make("treasure-hunter", "ask")
    found = instrument(problem, 1, assume="truth", gamma=1.0)
    assert found.names == ("START:LEFT",)
    assert found.gain == pytest.approx(0.9)


@pytest.mark.parametrize("gamma", [0.99, 1.0])
def test_two_rewards_that_are_worth_something_only_together(gamma):
    # Right of the start both steps of a corridor are hidden; the treasure at its end is worth one.
    text = "r_min: -1\ntile H: land 0 hidden\n---\n@HH$"
    problem = join(worlds.grid_world(text, time_limit=20), monitors.make("ask"))
    how = {"assume": "truth", "gamma": gamma}
    alone = instrument(problem, 1, **how)
    both = instrument(problem, 2, **how)
    assert alone.gain == pytest.approx(0.0)
    assert set(both.names) == {"0,0:RIGHT", "0,1:RIGHT"}
    assert [of.gain > 0.5 for of in both.chosen] == [False, True]
    assert instrument(problem, 2, **how, method="greedy").gain == both.gain


def test_it_agrees_with_what_if():
    for asked in (make("bottleneck", "button"), small()):
        solution = planning.solve(asked)
        one_by_one = {
            f"{asked.mdp.state_labels[of.state]}:{asked.mdp.action_labels[of.action]}": of.gain
            for of in planning.what_if(solution)
        }
        found = instrument(asked, 1e6, assume="truth")
        assert {of.name: of.gain for of in found.candidates} == pytest.approx(one_by_one, abs=CLOSE)
        assert found.gain == pytest.approx(planning.gain_of_all(solution), abs=CLOSE)
        assert found.value_before == pytest.approx(solution.value)


@given(st.integers(0, 10_000), st.floats(0, 6), st.floats(0, 3))
def test_more_budget_never_gains_less(seed, budget, more):
    made = benchmark.task(seed % 10)
    problem, gamma = made.problem, benchmark.GAMMA
    rng = np.random.default_rng(seed)
    names = [f"{s}:{a}" for s, a in made.pairs]
    cost = dict(zip(names, rng.choice([0.0, 0.7, 1.0, 2.2], len(names)).tolist(), strict=True))
    little = instrument(problem, budget, cost=cost, assume="truth", gamma=gamma)
    much = instrument(problem, budget + more, cost=cost, assume="truth", gamma=gamma)
    assert little.cost <= budget + 1e-9
    assert little.optimal
    assert much.optimal
    assert much.gain >= little.gain - CLOSE
    gains = [of.gain for of in much.chosen]
    assert gains == sorted(gains)


# ---- what is assumed ------------------------------------------------------------------------


def test_the_interval_is_a_prior_that_is_sure_of_r_max():
    problem = small()
    most = instrument(problem, 2)
    sure = instrument(problem, 2, assume="prior", prior=(problem.mdp.r_max, 0.0))
    assert most.assume == "interval"
    assert (most.names, most.gain) == (sure.names, sure.gain)
    assert most.lower_gain == 0.0
    assert sure.lower_gain == sure.gain > 0
    assert (most.scenarios, sure.scenarios) == (1, 1)


def test_nothing_is_gained_where_all_hidden_rewards_are_as_low_as_can_be():
    problem = small()
    found = instrument(problem, 5, assume="prior", prior=(-7.0, 0.0))
    assert found.names == ()
    assert (found.gain, found.cost, found.optimal, found.ratio) == (0.0, 0.0, True, 1.0)


def test_draws_are_seeded_clipped_and_of_hidden_pairs_alone():
    problem = small()
    hidden = planning.observability(problem).never_observable

    def drawn(seed, prior=(0.9, 2.0)):
        return scenarios(problem, hidden, "prior", prior, {}, 500, seed).pay

    pay = drawn(1)
    assert np.array_equal(pay, drawn(1))
    assert not np.array_equal(pay, drawn(2))
    assert pay.shape == (500, *hidden.shape)
    assert (pay.min(), pay.max()) == (problem.mdp.r_min, problem.mdp.r_max)
    assert drawn(1, (0.2, 0.01))[:, hidden].mean() == pytest.approx(0.2, abs=0.01)


def test_what_a_prior_says_of_a_pair_counts_before_what_it_says_of_its_state():
    problem = small()
    mdp = problem.mdp
    hidden = planning.observability(problem).never_observable
    state = int(np.flatnonzero(hidden.sum(axis=1) > 1)[0])
    action = int(np.flatnonzero(hidden[state])[0])
    label = mdp.state_labels[state]
    pair = f"{label}:{mdp.action_labels[action]}"
    for order in (1, -1):
        prior = dict([(pair, 0.5), (label, (0.25, 0.0)), ("*", 0.0)][::order])
        pay = scenarios(problem, hidden, "prior", prior, {}, 3, 0).pay[0]
        assert pay[state, action] == 0.5
        others = hidden.copy()
        others[state] = False
        assert (pay[state][hidden[state]] == 0.25).sum() == hidden[state].sum() - 1
        assert (pay[others] == 0.0).all()


# ---- candidates, costs, what comes back -----------------------------------------------------


def test_candidates_by_state_and_by_any_name_of_a_member():
    problem = small()
    mdp = problem.mdp
    by_state = instrument(problem, 1, by="state")
    hidden = planning.observability(problem).never_observable
    assert {of.name for of in by_state.candidates} == {
        mdp.state_labels[s] for s in np.flatnonzero(hidden.any(axis=1))
    }
    (s, a), *_ = np.argwhere(hidden)
    label, act = mdp.state_labels[s], mdp.action_labels[a]
    row, column = map(int, mdp.cells[s])
    ways = [(int(s), int(a)), (label, act), f"{label}:{act}", ((row, column), act)]
    groups = {str(i): [member] for i, member in enumerate(ways)} | {"whole": [label]}
    found = instrument(problem, 0, groups=groups)
    pairs = {of.name: of.pairs for of in found.candidates}
    assert {pairs[str(i)] for i in range(len(ways))} == {((int(s), int(a)),)}
    assert set(pairs["whole"]) == {(int(s), int(b)) for b in np.flatnonzero(hidden[s])}


def test_what_is_free_is_chosen_and_what_adds_nothing_is_not():
    problem = small()
    found = instrument(problem, 0, cost={"*": 0.0})
    assert found.gain == pytest.approx(planning_gain(problem))
    assert found.names
    paid = instrument(problem, 100)
    assert paid.gain == pytest.approx(found.gain)
    for i in range(len(paid.chosen)):
        rest = [of for j, of in enumerate(paid.names) if j != i]
        groups = {name: [name] for name in rest}
        assert instrument(problem, 100, groups=groups or None).gain < paid.gain or not rest
    assert instrument(problem, 0).names == ()


def planning_gain(problem):
    """The gain of everything at once, all paying r_max."""
    pay = np.full((problem.mdp.n_states, problem.mdp.n_actions), problem.mdp.r_max)
    seen = optimal(with_pay(problem, pay)).value
    return seen - planning.minimax(problem).value


def test_nothing_hidden():
    found = instrument(make("loop", "full"), 3)
    assert (found.candidates, found.chosen, found.gain, found.optimal) == ((), (), 0.0, True)
    assert json.loads(json.dumps(found.to_dict()))["chosen"] == []


def test_a_proof_that_takes_too_long_is_refused_or_left_out():
    problem = make("bottleneck", "button")
    with pytest.raises(MonMDPError, match=r'not proven after \d+ plans.*method="auto"'):
        instrument(problem, 3, method="exact", most_plans=1)
    found = instrument(problem, 3, method="auto", most_plans=1)
    proven = instrument(problem, 3)
    assert (found.method, proven.method) == ("greedy", "exact")
    assert not found.optimal
    assert found.gain <= proven.gain + CLOSE
    assert proven.gain <= found.upper_bound + CLOSE
    assert 0 < found.ratio < 1 == proven.ratio
    assert "at least" in str(found.table())
    assert "No set within the budget gains more." in str(proven.table())


def test_what_comes_back_as_json_and_as_a_table():
    found = instrument(make("bottleneck", "button"), 3, by="state")
    data = json.loads(json.dumps(found.to_dict()))
    assert [of["name"] for of in data["chosen"]] == list(found.names)
    assert data["gain"] == data["chosen"][-1]["gain_so_far"] == found.gain
    assert data["value"] == found.value_before + found.gain
    assert {of["name"] for of in data["candidates"] if of["chosen"]} == set(found.names)
    first = data["candidates"][0]["pairs"][0]
    mdp = found.monmdp.mdp
    assert mdp.state_labels[first["state"]] == first["state_label"]
    text = str(found.table())
    assert all(name in text for name in found.names)
    assert "between 0 and these" in text
    assert f"… and {len(found.candidates) - len(found.names) - 12} candidate" in text


def test_structure_is_shared_without_changing_an_answer():
    problem = make("bottleneck", "button", slip=0.1)
    rng = np.random.default_rng(0)
    reward = rng.uniform(problem.mdp.r_min, problem.mdp.r_max, problem.mdp.n_outcomes)
    other = problem.with_mdp(problem.mdp.with_outcome_rewards(reward))
    alone = optimal(other).values
    again = problem.with_mdp(problem.mdp.with_outcome_rewards(reward))
    shared = optimal(share_structure(problem, again)).values
    assert shared == pytest.approx(alone, abs=1e-8)


WRONG = [
    ({"budget": -1}, "budget must not be negative"),
    ({"budget": float("nan")}, "budget must be finite"),
    ({"cost": -1}, "must not be negative"),
    ({"cost": float("inf")}, "must be finite"),
    ({"cost": {"0,2:DWN": 1}}, "did you mean '0,2:DOWN'"),
    ({"cost": {"0,2:DOWN": 1}}, "none is given for"),
    ({"by": "cell"}, "unknown by 'cell'"),
    ({"assume": "worst"}, "unknown assume 'worst'"),
    ({"assume": "prior"}, "needs a prior"),
    ({"prior": (0, 1)}, "takes no prior"),
    ({"assume": "prior", "prior": (0, -1)}, "not negative"),
    ({"assume": "prior", "prior": (0, 1, 2)}, "mean, standard deviation"),
    ({"assume": "prior", "prior": {"0,2:DOWN": 0}}, "nothing is said of"),
    ({"assume": "prior", "prior": {"x": 0, "*": 0}}, "unknown state 'x'"),
    ({"assume": "prior", "prior": np.zeros((2, 3, 4))}, "draw, state, action"),
    ({"assume": "prior", "prior": (0, 1), "draws": 0}, "draws must be"),
    ({"method": "quick"}, "unknown method 'quick'"),
    ({"groups": {"a": []}}, "group 'a': a list"),
    ({"groups": {"a": "0,2"}}, "group 'a': a list"),
    ({"groups": {"a": ["0,0"]}}, "nothing of '0,0' is hidden"),
    ({"groups": {"a": ["0,2:SIDEWAYS"]}}, "unknown action 'SIDEWAYS'"),
    ({"groups": ["0,2"]}, "groups: {name"),
    ({"gamma": 1.5}, "gamma"),
]


@pytest.mark.parametrize(("given", "said"), WRONG, ids=lambda of: str(of)[:40])
def test_wrong_input_is_named(given, said):
    budget = given.get("budget", 1)
    others = {key: of for key, of in given.items() if key != "budget"}
    with pytest.raises(MonMDPError) as error:
        instrument(make("bottleneck", "button"), budget, **others)
    assert said in str(error.value)
