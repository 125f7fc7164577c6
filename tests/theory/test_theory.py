"""The theorem's constants against a bisection oracle, its agent, and the 1/ρ law."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import monmdp
from monmdp import MonMDPError, theory
from monmdp.theory import Rewards, lower_bound, sample_complexity
from oracles.ablations_and_q_learning import theory_constants

sizes = st.integers(1, 3000)
gammas = st.sampled_from([0.0, 0.1, 0.5, 0.9, 0.99, 0.999])
epsilons = st.floats(1e-3, 1.0)
deltas = st.floats(1e-6, 0.9)
rhos = st.one_of(st.none(), st.floats(1e-4, 1.0))
kinds = st.sampled_from(["sound", "paper"])
rewards = st.one_of(
    st.none(),
    st.builds(Rewards, st.floats(0.7, 20), st.floats(0.7, 5), st.floats(1.0, 30)),
)


@given(sizes, st.integers(1, 50), gammas, epsilons, deltas, rhos, st.integers(1, 500), kinds, rewards)  # fmt: skip  # noqa: E501
def test_the_oracle_agrees(n_states, n_actions, gamma, epsilon, delta, rho, horizon, kind, paid):
    given_ = (n_states, n_actions, gamma, epsilon, delta, rho, horizon)
    found = sample_complexity(*given_, rewards=paid, constants=kind).to_dict()
    widths = () if paid is None else (paid.env_width, paid.monitor_width, paid.largest)
    expected = theory_constants(*given_, kind, *widths)
    for name in set(expected) & set(found):
        assert found[name] == pytest.approx(expected[name], rel=1e-9), name
    assert len(set(expected) & set(found)) >= 11


@given(st.integers(2, 3000), st.integers(1, 50), gammas, epsilons, deltas, st.floats(1e-4, 1.0))
def test_the_fixed_points_solve_their_equations(n_states, n_actions, gamma, epsilon, delta, rho):
    b = sample_complexity(n_states, n_actions, gamma, epsilon, delta, rho, 50)
    pairs, d = n_states * n_actions, delta / 4
    log_sets = n_states * math.log(2) + math.log1p(-(2.0 ** (1 - n_states)))
    m1 = 8 * (log_sets + math.log(2 * pairs * b.m1 / d)) / b.tau1**2
    assert b.m1 == pytest.approx(m1, rel=1e-9)
    transitions = 8 * (log_sets + math.log(3 * pairs * b.m2 / d)) / b.tau2**2
    seen = 16 * math.log(6 * pairs * b.m2 / d) / (rho * b.tau2**2)
    assert b.m2 == pytest.approx(max(transitions, seen), rel=1e-9)
    # the larger root: beyond it the left side grows faster than the right one
    assert b.m1 > 8 / b.tau1**2


MONOTONE = ("m1", "m2", "m3", "bad_steps", "beta", "beta_m", "beta_e", "beta_obs", "beta_kl")


@given(
    st.integers(2, 500), st.integers(2, 20), st.sampled_from([0.5, 0.9, 0.99]),
    st.floats(1e-2, 0.5), st.floats(1e-4, 0.4), st.floats(1e-3, 0.5), kinds,
    st.floats(1.01, 2.0), rewards,
)  # fmt: skip
def test_all_constants_are_monotone(
    n_states, n_actions, gamma, epsilon, delta, rho, kind, factor, paid
):
    def constants(n_states=n_states, epsilon=epsilon, delta=delta, rho=rho):
        found = sample_complexity(
            n_states, n_actions, gamma, epsilon, delta, rho, 50, rewards=paid, constants=kind
        )
        return np.array([float(getattr(found, name)) for name in MONOTONE])

    base, slack = constants(), 1 + 1e-12
    assert (constants(epsilon=epsilon * factor) <= base * slack).all()
    assert (constants(delta=delta * factor) <= base * slack).all()
    assert (constants(rho=rho * factor) <= base * slack).all()
    assert (constants(n_states=math.ceil(n_states * factor)) >= base / slack).all()


def test_the_printed_factors_of_the_paper():
    b = sample_complexity(10, 4, 0.9, 0.1, 0.05, 0.5, 50, constants="paper")
    log_opt, log_obs = math.log(5 * 40 * b.m2 / 0.05), math.log(10 * 40 * b.m1 / (3 * 0.05))
    assert b.beta_e == b.beta_m == pytest.approx(math.sqrt(2 * log_opt))
    assert b.beta == pytest.approx(2 * 0.9 / (1 - 0.9) * math.sqrt(2 * log_opt))
    assert b.beta_obs == pytest.approx(math.sqrt(0.5 * log_obs) / (1 - 0.9))
    assert b.beta_kl == pytest.approx(log_obs)
    sound = sample_complexity(10, 4, 0.9, 0.1, 0.05, 0.5, 50)
    assert sound.beta_e == pytest.approx(math.sqrt(2 * math.log(24 * 40 * sound.m2 / 0.05)))
    assert sound.beta_kl == pytest.approx(math.log(16 * 40 * sound.m1 / 0.05))
    assert sound.m1 > b.m1
    assert sound.m2 > b.m2


def test_a_problem_gives_its_own_sizes_rewards_and_rho():
    problem = monmdp.make("bottleneck", "button", rho=0.05)
    b = theory.bounds(problem, 0.1, 0.05)
    assert (b.n_states, b.n_actions, b.rho, b.horizon) == (72, 5, 0.05, 50)
    assert Rewards.of(problem) == Rewards(env_width=11.0, monitor_width=0.2, largest=10.2)
    assert b.q_opt_init == pytest.approx(1020)
    assert b.q_obs_init == pytest.approx(100)
    assert theory.bounds(problem, 0.1, 0.05, horizon=7).horizon == 7
    blind = theory.bounds(monmdp.make("loop", "full-random", rho=0), 0.1, 0.05)
    assert blind.rho is None
    assert blind.m2 < theory.bounds(monmdp.make("loop", "full-random", rho=0.01), 0.1, 0.05).m2


def test_an_ended_episode_pays_nothing_which_counts_as_a_reward():
    """Both actions cost 1 and one of them ends it: values are -1 and -100, not all the same."""
    outcomes = [(0, 0, 0, 1.0, -1.0, True, False), (0, 1, 0, 1.0, -1.0, False, False)]
    world = monmdp.MDP.from_outcomes(
        outcomes, name="toll", n_states=1, n_actions=2, start=[1.0], time_limit=50
    )
    problem = monmdp.make(world, "full")
    assert Rewards.of(problem) == Rewards(env_width=1.0, monitor_width=0.0, largest=1.0)
    assert theory.bounds(problem, 0.1, 0.1).beta > 0


def test_observing_may_be_too_short_where_rewards_are_hardly_ever_shown():
    problem = monmdp.make("treasure-hunter", "full-random", rho=1e-5, solvable=True, time_limit=1)
    rare = theory.bounds(problem, 0.85, 0.1, gamma=0.0)
    assert rare.rho * rare.m1 < 1
    assert not rare.observes_enough
    assert not rare.to_dict()["observes_enough"]
    assert theory.bounds(monmdp.make("loop", "ask"), 0.1, 0.1).observes_enough
    assert theory.bounds(monmdp.make("loop", "ask", rho=0), 0.1, 0.1).observes_enough


@given(gammas, epsilons, st.one_of(st.none(), st.floats(0.1, 30)))
def test_little_can_follow_after_the_effective_horizon(gamma, epsilon, largest):
    paid = None if largest is None else Rewards(1.0, 0.0, largest)
    if paid is not None and epsilon >= 2 * largest / (1 - gamma):
        return  # asks for nothing
    b = sample_complexity(5, 2, gamma, epsilon, 0.1, 0.5, 50, rewards=paid)
    error = max(2 * (2.0 if largest is None else largest), 1) / (1 - gamma)  # of any value
    assert gamma**b.effective_horizon * error <= epsilon / 4 * (1 + 1e-9)
    assert b.effective_horizon == 1 or gamma ** (b.effective_horizon - 1) * error > epsilon / 4
    assert b.lasts_long_enough == (b.effective_horizon <= 50)
    assert b.to_dict()["lasts_long_enough"] == b.lasts_long_enough


def test_no_problem_of_the_paper_has_episodes_as_long_as_the_proof_needs():
    for world, horizon in (("bottleneck", 50), ("loop", 50), ("river-swim", 200)):
        b = theory.bounds(monmdp.make(world, "ask"), 0.1, 0.1)
        assert b.horizon == horizon < b.effective_horizon
        assert not b.lasts_long_enough


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": "-0.1"}, "epsilon must be positive, got -0.1"),
        ({"epsilon": 1e-300}, "too small to compute with"),
        ({"delta": 1e-320}, "too small to compute with"),
        ({"epsilon": 500}, "asks for nothing: no two values differ by more than 400"),
        ({"delta": 0}, r"delta must lie in \(0, 1\)"),
        ({"delta": 1}, r"delta must lie in \(0, 1\)"),
        ({"gamma": 1}, "a discount below 1"),
        ({"rho": 0}, r"rho must lie in \(0, 1\]"),
        ({"horizon": 0}, "horizon"),
        ({"n_states": 0}, "n_states"),
        ({"constants": "papr"}, "did you mean 'paper'"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    values = {
        "n_states": 5, "n_actions": 2, "gamma": 0.99, "epsilon": 0.1, "delta": 0.1, "rho": 0.5,
        "horizon": 50,
    }  # fmt: skip
    with pytest.raises(MonMDPError, match=message):
        sample_complexity(**values | change)


def test_a_world_without_time_limit_needs_a_horizon():
    world = monmdp.worlds.from_tables(np.ones((2, 1, 2)) / 2, np.array([[0.0], [1.0]]))
    endless = monmdp.make(world, "ask")
    with pytest.raises(MonMDPError, match="horizon"):
        theory.bounds(endless, 0.1, 0.1)


def test_the_lower_bound():
    assert lower_bound(5, 0.1, 0.1, 0.001) == pytest.approx(5 / (0.1 * 0.01) * math.log(1000))
    assert lower_bound(5, 0.1, 0.1, 0.001, c1=2, c2=3) == pytest.approx(10_000 * math.log(3000))
    for k, rho, epsilon, delta in (
        (1, 0.5, 0.1, 0.001), (2, 0, 0.1, 0.001), (2, 0.5, 0.125, 0.001), (2, 0.5, 0.1, 0.005),
    ):  # fmt: skip
        with pytest.raises(MonMDPError):
            lower_bound(k, rho, epsilon, delta)
    with pytest.raises(MonMDPError, match="c1 must be positive"):
        lower_bound(2, 0.5, 0.1, 0.001, c1=0)
    with pytest.raises(MonMDPError, match="c2 must be above delta"):
        lower_bound(2, 0.5, 0.1, 0.001, c2=0.001)


# ---- the theorem's agent ------------------------------------------------------------------------


def test_the_theorems_agent():
    b = theory.bounds(monmdp.make("loop", "ask"), 0.1, 0.1)
    agent = theory.theorem_agent(b)
    assert (agent.growth, agent.schedule, agent.kappa_star) == ("none", "constant", float(b.m3))
    assert (agent.beta, agent.beta_obs, agent.beta_kl) == (b.beta, b.beta_obs, b.beta_kl)
    assert (agent.q_opt_init, agent.q_obs_init) == (b.q_opt_init, b.q_obs_init)
    assert 0.99**agent.sweeps <= 2**-52 < 0.99 ** (agent.sweeps - 1)
    run = monmdp.train(monmdp.make("loop", "ask"), agent, 200)
    assert run.curve["observe_episodes"][-1] == run.curve["episodes"][-1]  # κ* is huge


def test_the_theorems_agent_needs_bounds():
    with pytest.raises(MonMDPError, match="Bounds expected"):
        theory.theorem_agent(monmdp.make("loop", "ask"))


def test_models_are_solved_exactly():
    problem = monmdp.make("river-swim", "full", time_limit=20)
    config = theory.theorem_agent(theory.bounds(problem, 1.0, 0.1, gamma=0.9))
    agent = monmdp.agents.make(config, problem, seed=0)
    env = monmdp.envs.MonMDPEnv(problem)
    observation, over = env.reset(seed=0)[0], True
    for _ in range(100):
        if over:
            agent.begin_episode()
            observation, _ = env.reset()
        action = agent.act(observation)
        following, _, terminated, truncated, info = env.step(action)
        agent.update(
            monmdp.agents.Transition.from_step(observation, action, following, terminated, info)
        )
        observation, over = following, terminated or truncated
    agent.begin_episode()
    state, slots = agent.state, agent.state.counts.successors
    for q, reward, weight in (
        (state.q_opt, state.r_opt, slots.go_on),
        (state.q_obs, state.r_obs, slots.land),
    ):
        v = q.max(axis=1)
        for pair in np.flatnonzero(slots.used):
            here = slice(slots.first[pair], slots.first[pair] + slots.used[pair])
            backup = reward.flat[pair] + weight[here] @ v[slots.state[here]]
            assert q.flat[pair] == pytest.approx(backup, rel=1e-12)


@pytest.mark.slow
def test_on_a_tiny_problem_the_theorems_agent_stays_within_the_bound_by_far():
    problem = monmdp.make("treasure-hunter", "ask", rho=0.5, time_limit=1)
    epsilon = 4.0  # to meet the snake costs 10
    b = theory.bounds(problem, epsilon, 0.1, gamma=0.1)
    found = theory.count_bad_steps(problem, theory.theorem_agent(b), epsilon, 2 * b.m3, seed=1)
    assert found.observe_steps == b.m3 + 1  # an episode is one step; κ = 0, …, κ*
    assert found.observe_bad > 0  # else the test would show nothing
    assert found.optimize_steps == b.m3 - 1
    assert found.optimize_bad == 0
    assert found.last is not None
    assert found.bad == found.observe_bad < b.bad_steps / 100


STAY, GO = 0, 1


def trap(time_limit, way=0):
    """So many steps of a way, a state where to stay pays ¼ a step, and a trap at -1 a step."""
    choice, inside = way, way + 1
    to, reward = np.zeros((way + 2, 2, way + 2)), np.zeros((way + 2, 2))
    to[np.arange(way), :, np.arange(way) + 1] = 1
    to[choice, STAY, choice] = to[choice, GO, inside] = to[inside, :, inside] = 1
    reward[choice, STAY], reward[inside] = 0.25, -1
    world = monmdp.worlds.from_tables(
        to, reward, layout="sas", start=0, time_limit=time_limit, name="trap"
    )
    return monmdp.make(world, "full")


def chosen_at(problem, state, agent, *episodes):
    """How often each action was taken in a state by the first so many episodes that optimize."""
    observing = int(agent.kappa_star) + 1
    at = [problem.mdp.time_limit * (observing + n) for n in (0, *episodes)]
    run = monmdp.train(problem, agent, at[-1], every=at[-1], snapshots=at)
    assert run.snapshots["episodes"][0][:2].tolist() == [observing] * 2  # all of them observe
    first, *later = run.snapshots["n"][:, state]
    return [n - first for n in later]


def test_episodes_that_are_cut_too_early_end_in_the_trap_for_ever():
    """In the trap nobody acts: it keeps its optimistic value, 2, and ½·2 is more than staying."""
    problem = trap(time_limit=1)
    b = theory.bounds(problem, 1.4, 0.1, gamma=0.5)
    agent = theory.theorem_agent(b)
    assert (b.effective_horizon, b.lasts_long_enough, agent.q_opt_init) == (4, False, 2.0)
    best = monmdp.solve(problem, 0.5).minimax
    assert best.policy[0, STAY] == 1
    loss = best.values[0] - 0.5 * best.values[1]
    assert (best.values.tolist(), loss) == (pytest.approx([0.5, -2]), pytest.approx(1.5))
    assert loss > b.epsilon
    few, many = chosen_at(problem, 0, agent, 20_000, 40_000)
    assert few[STAY] < 1_000  # until its bonus is used up
    assert many[STAY] - few[STAY] < 50
    assert many.sum() == 40_000


def test_episodes_of_the_effective_horizon_find_out_about_the_trap():
    problem = trap(time_limit=4)
    b = theory.bounds(problem, 1.4, 0.1, gamma=0.5)
    assert b.lasts_long_enough
    agent = replace(theory.theorem_agent(b), kappa_star=20_000.0)  # a tenth, to save time
    (chosen,) = chosen_at(problem, 0, agent, 10_000)
    assert chosen.tolist() == [40_000, 0]


def test_the_last_steps_of_long_episodes_may_be_bad_for_ever():
    """The trap lies behind a way that takes all but one step of an episode longer than T."""
    problem = trap(time_limit=7, way=6)
    b = theory.bounds(problem, 1.4, 0.1, gamma=0.5)
    assert b.lasts_long_enough
    agent = replace(theory.theorem_agent(b), kappa_star=2_000.0)  # there is nothing to find out
    few, many = chosen_at(problem, 6, agent, 10_000, 20_000)
    assert many[STAY] - few[STAY] < 100
    assert many.sum() == 20_000


def never_observing(**changes):
    """An agent without bonuses that takes for ever what it tried first, if that pays enough."""
    return monmdp.agents.MonitoredMBIEEB(
        **{
            "gamma": 0.1, "schedule": "constant", "kappa_star": -1, "beta": 0, "beta_m": 0,
            "beta_e": 0, "q_opt_init": -50, "growth": "none",
        } | changes
    )  # fmt: skip


@pytest.mark.slow
def test_bad_is_what_is_bad_in_the_worst_case():
    """LEFT pays most, but not in M↓. Unsolvable and solvable runs see the same rewards, none."""
    for solvable, bad in ((False, 200), (True, 0)):
        problem = monmdp.make("treasure-hunter", "full-random", time_limit=1, solvable=solvable)
        # the first choice is random, all are tied: seed by seed until LEFT was tried first
        found = [
            theory.count_bad_steps(problem, never_observing(), 0.05, 200, seed)
            for seed in range(12)
        ]
        went_left = [
            monmdp.train(problem, never_observing(), 200, seed).policy.probability[2, 0] == 1
            for seed in range(12)
        ]
        assert any(went_left)
        assert all(f.observe_steps == 0 for f in found)
        for f, left in zip(found, went_left, strict=True):
            if left:
                # the first step's policy is uniform over ties, bad in any case
                assert f.bad in (bad, bad + 1 - bad // 200)


def test_bad_steps_are_judged_by_the_policy_of_the_running_episode():
    """While it observes, what Q_opt would do does not matter: Q_obs goes for what is not seen."""
    problem = monmdp.make("treasure-hunter", "ask", rho=0.5, time_limit=1)
    watcher = never_observing(kappa_star=1e9, q_opt_init=1.0, beta_obs=0.0, beta_kl=1.0)
    found = theory.count_bad_steps(problem, watcher, 1.0, 400)
    run = monmdp.train(problem, watcher, 400)
    late = run.curve["worst_case_return"][-1]
    assert late > 0  # Q_opt goes for the gold
    assert found.optimize_steps == 0
    assert found.observe_bad > 350  # Q_obs goes to the treasure that is never seen
    with pytest.raises(MonMDPError, match="Monitored MBIE-EB expected"):
        theory.count_bad_steps(problem, "ucb", 0.1, 10)


# ---- bandits ------------------------------------------------------------------------------------


def test_the_law_has_exponent_one():
    law = theory.bandit_law((1.0, 0.3, 0.1), k=3, epsilon=0.12, runs=60, seed=4)
    low, high = law.interval
    assert low < law.exponent < high
    # the delta method: the variance of ln of a mean is var/(n mean²), and ln ρ has its leverage
    x = -np.log(law.rho) + np.log(law.rho).mean()
    relative = law.pulls.std(axis=1, ddof=1) / law.pulls.mean(axis=1) / np.sqrt(60)
    sd = np.sqrt(((x / (x @ x)) ** 2 * relative**2).sum())
    assert (high - low) / 2 == pytest.approx(1.96 * sd, rel=0.12)
    assert abs(law.exponent - 1) < 0.05
    assert (law.correct >= 1 - 3 * law.delta).all()
    # E[shown pulls] = ρ E[pulls]
    ratio = law.shown.mean(axis=1) / law.pulls.mean(axis=1)
    np.testing.assert_allclose(ratio, law.rho, rtol=0.02)
    again = theory.bandit_law((1.0, 0.3, 0.1), k=3, epsilon=0.12, runs=60, seed=4)
    np.testing.assert_array_equal(law.pulls, again.pulls)
    assert law.interval == again.interval
    (axes,) = law.draw().axes
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_elimination_as_plain_python_and_compiled_agree():
    from monmdp.compiling import compiled

    mean = np.array([0.9, 0.2, 0.1])
    for seed in range(5):
        plain = theory.eliminate(mean, 0.4, 0.1, 0.1, np.random.default_rng(seed))
        fast = compiled(theory.eliminate)(mean, 0.4, 0.1, 0.1, np.random.default_rng(seed))
        assert tuple(fast) == plain
        assert plain[0] == 0
        assert plain[2] < plain[1]


def test_equal_arms_end_when_all_are_known_well():
    arm, pulls, shown = theory.eliminate(np.full(2, 0.5), 1.0, 0.5, 0.5, np.random.default_rng(0))
    n = shown / 2
    assert arm in (0, 1)
    assert pulls == shown
    assert math.sqrt(math.log(8 * n * n / 0.5) / (2 * n)) <= 0.25


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rhos": (0.5,)}, "two or more"),
        ({"rhos": (0.5, 0.0)}, r"rho must lie in \(0, 1\]"),
        ({"epsilon": 0.2}, "0.125"),
        ({"delta": 0.0}, "delta"),
        ({"k": 1}, "k must be"),
        ({"runs": 1}, "runs"),
    ],
)
def test_bandits_that_make_no_sense(change, message):
    with pytest.raises(MonMDPError, match=message):
        theory.bandit_law(**change)


# ---- the commands -------------------------------------------------------------------------------


def test_the_theory_command(command):
    code, out, _ = command("theory", "bottleneck", "button", "rho=0.05", "--eps", 0.1)
    assert code == 0
    b = theory.bounds(monmdp.make("bottleneck", "button", rho=0.05), 0.1, 0.1)
    for value in (b.m1, b.m2, float(b.m3), b.beta, b.beta_kl, b.bad_steps):
        assert f"{value:.4g}" in out
    assert "not applicable: delta must lie in" in out
    code, out, _ = command("theory", "loop", "ask", "--delta", 0.004, "--c1", 2, "--json")
    data = json.loads(out)
    assert data["lower_bound"] == pytest.approx(lower_bound(5, 1.0, 0.1, 0.004, c1=2))
    assert data["m3"] == theory.bounds(monmdp.make("loop", "ask"), 0.1, 0.004).m3
    paper = json.loads(command("theory", "loop", "ask", "--constants", "paper", "--json")[1])
    assert paper["constants"] == "paper"
    assert paper["m1"] < data["m1"]
    code, _, err = command("theory", "loop", "ask", "--constants", "papr")
    assert (code, "did you mean 'paper'" in err) == (2, True)
    assert "nothing is ever shown" in command("theory", "loop", "ask", "rho=0")[1]
    code, _, err = command("theory", "loop", "ask", "--c1", 0)
    assert (code, "c1 must be positive" in err) == (2, True)
    rare = command("theory", "loop", "ask", "rho=1e-15")[1]
    assert "warning: m₁ visits of a pair may show nothing" in rare
    cut = "warning: episodes (H = 50) end before the effective horizon (T = 913)"
    assert rare.count("warning: ") == 2
    assert cut in rare
    assert "warning: " not in command("theory", "loop", "ask", "--horizon", 913)[1]
    assert not data["lasts_long_enough"]


def test_the_printed_command_trains_the_theorems_agent(command, tmp_path):
    (tmp_path / "my map.txt").write_text("@.$\n")
    _, out, _ = command("theory", "my map.txt", "ask", "rho=0.5", "--gamma", 0.9)
    line = next(line for line in out.splitlines() if line.strip().startswith("monmdp train"))
    words = shlex.split(line)[1:]
    code, out, _ = command(*words, "--steps", 200, "--seeds", 1, "--json")
    assert code == 0
    problem = monmdp.make("my map.txt", "ask", rho=0.5)
    agent = theory.theorem_agent(theory.bounds(problem, 0.1, 0.1, gamma=0.9))
    assert json.loads(out)["parameters"] == agent.hyper_parameters()


def test_the_bandit_command(command, tmp_path):
    words = ["bandit", "--rhos", "1,0.3", "--arms", 2, "--runs", 5, "--eps", 0.12]
    code, out, _ = command(*words, "--png", "law.png")
    assert code == 0
    law = theory.bandit_law((1.0, 0.3), k=2, runs=5, epsilon=0.12)
    assert f"b = {law.exponent:.3f}" in out
    assert (tmp_path / "law.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(command(*words, "--json")[1]) == law.to_dict()
    code, _, err = command("bandit", "--rhos", "1;2")
    assert (code, "separated by commas" in err) == (2, True)
    code, _, err = command("bandit", "--png", "law.xyz", "--runs", 10**9)
    assert (code, "must end in" in err) == (2, True)


def test_extreme_values_of_the_theory_stay_finite():
    extreme = sample_complexity(10**6, 1000, 1 - 1e-12, 1e-29, 1e-29, 1e-15, 10**6)
    assert math.isfinite(extreme.bad_steps)
    wide = Rewards(1e9, 1e9, 2e9)
    found = sample_complexity(10**6, 9, 0.9999, 1e-9, 1e-9, 1e-9, 99, rewards=wide)
    assert math.isfinite(found.beta)


def test_elimination_with_a_tiny_delta_ends():
    arm, _, _ = theory.eliminate(np.array([0.9, 0.1]), 1.0, 0.1, 1e-320, np.random.default_rng(0))
    assert arm == 0


def test_the_bandit_tells_its_progress():
    told = []
    theory.bandit_law((1.0, 0.5), k=2, epsilon=0.12, runs=2, progress=lambda *n: told.append(n))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
