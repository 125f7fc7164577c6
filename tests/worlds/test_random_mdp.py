"""Random MDPs: what is drawn, that it is drawn alike everywhere, and what is refused."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from conftest import dense_optimal_values
from monmdp import MonMDPError, make, planning, worlds

SIZES = [
    {},
    {"states": 5, "actions": 2},
    {"states": 30, "actions": 5, "branching": 1},
    {"states": 4, "actions": 1, "branching": 4, "seed": 3},
    {"states": 1, "actions": 1, "branching": 1},
]


def random_mdp(**params):
    return worlds.make("random-mdp", **params)


def of_pairs(mdp, values):
    """[pair] the sum of values of its outcomes, times their probabilities."""
    return np.add.reduceat(mdp.probability * values, mdp.first[:-1])


def dynamics(mdp):
    """[pair, s'] the chance to move there."""
    P = np.zeros((mdp.n_pairs, mdp.n_states))
    np.add.at(P, (mdp.pair_of_outcome, mdp.successor), mdp.probability)
    return P


@pytest.mark.parametrize("sizes", SIZES)
def test_its_shape(sizes):
    mdp = random_mdp(**sizes)
    said = {"states": 10, "actions": 3, "branching": 3} | sizes
    assert (mdp.n_states, mdp.n_actions) == (said["states"], said["actions"])
    assert ((P := dynamics(mdp)) > 0).sum(axis=1).tolist() == [said["branching"]] * mdp.n_pairs
    assert P.sum(axis=1) == pytest.approx(1)
    assert mdp.start.tolist() == [1.0] + [0.0] * (mdp.n_states - 1)
    assert not mdp.terminates.any()
    assert not mdp.hidden.any()
    assert (mdp.r_min, mdp.r_max, mdp.time_limit, mdp.button) == (0, 1, 50, (0, 0))
    assert mdp.action_labels == tuple(map(str, range(mdp.n_actions)))
    (best,) = np.argwhere(mdp.goal)
    assert mdp.mean_reward[tuple(best)] == mdp.mean_reward.max()


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_noise_changes_the_variance_of_rewards_and_nothing_else(noise):
    mdp, plain = random_mdp(noise=noise), random_mdp(noise=0)
    mean = plain.mean_reward.reshape(-1)
    assert of_pairs(mdp, mdp.reward) == pytest.approx(mean, abs=1e-12)
    variance = of_pairs(mdp, mdp.reward**2) - mean**2
    assert variance == pytest.approx(noise**2 * mean * (1 - mean), abs=1e-12)
    assert dynamics(mdp) == pytest.approx(dynamics(plain), abs=1e-12)
    values = [np.unique(mdp.reward[i:j]) for i, j in zip(mdp.first, mdp.first[1:], strict=False)]
    for mu, of in zip(mean, values, strict=True):
        assert of == pytest.approx([mu] if noise == 0 else (1 - noise) * mu + noise * np.arange(2))


def test_rewards_do_not_depend_on_the_successor():
    mdp = random_mdp(states=6, actions=2, branching=4)
    P, mean = dynamics(mdp), mdp.mean_reward.reshape(-1)
    for o in range(mdp.n_outcomes):
        pair = mdp.pair_of_outcome[o]
        chance = mean[pair] if mdp.reward[o] else 1 - mean[pair]
        assert mdp.probability[o] == pytest.approx(P[pair, mdp.successor[o]] * chance)


def test_what_is_drawn_has_the_distributions_that_are_said():
    mdp = random_mdp(states=100, actions=20, branching=3, noise=0)
    P = dynamics(mdp)
    # Every state is a successor of three pairs in a hundred.
    counts = (P > 0).sum(axis=0)
    assert abs(counts - 60).max() < 5 * np.sqrt(60)
    # A chance of the flat Dirichlet distribution of three has mean 1/3 and variance 1/18.
    chances = P[P > 0]
    assert chances.var() == pytest.approx(1 / 18, rel=0.05)
    # U³ has mean 1/4, and is above 1/8 half of the time.
    assert mdp.mean_reward.mean() == pytest.approx(1 / 4, abs=0.03)
    assert (mdp.mean_reward > 1 / 8).mean() == pytest.approx(1 / 2, abs=0.05)


def test_successors_of_many_states():
    """They are chosen one by one, all different, and none more often than others."""
    mdp = random_mdp(states=3_000, actions=10, branching=3, noise=0)
    successors = mdp.successor.reshape(-1, 3)
    assert (np.diff(successors, axis=1) > 0).all()  # sorted within a pair: all are different
    counts = np.bincount(mdp.successor, minlength=3_000)
    assert abs(counts - 30).max() < 6 * np.sqrt(30)
    # The least, the middle and the largest of three lie at a quarter, a half and three quarters.
    assert successors.mean(axis=0) == pytest.approx([750, 1500, 2250], rel=0.02)
    large = random_mdp(states=20_000)
    assert (large.n_states, len(large.successor)) == (20_000, 20_000 * 3 * 3 * 2)


def test_the_same_seed_is_the_same_world():
    same = random_mdp(seed=3), random_mdp(seed=3)
    for name in ("first", "successor", "probability", "reward", "goal"):
        assert getattr(same[0], name).tolist() == getattr(same[1], name).tolist()
    for other in ({"seed": 4}, {"seed": 3, "states": 11}, {"seed": 3, "actions": 2}):
        assert random_mdp(**other).mean_reward[0, 0] != same[0].mean_reward[0, 0]


def test_it_is_drawn_alike_on_every_machine():
    """By numbers that were written down once."""
    mdp = random_mdp(states=4, actions=2, branching=2, noise=0)
    assert mdp.successor.tolist() == [0, 1, 1, 2, 2, 3, 2, 3, 1, 3, 1, 2, 1, 3, 2, 3]
    chances = [0.39537925553983577, 0.9681786510751842, 0.5691882465545631, 0.8970986260674387]
    assert mdp.probability[:8:2] == pytest.approx(chances, rel=1e-15)
    means = [0.0049839327277219556, 0.8746235649292177, 0.2944305182174449, 0.005907949091129942]
    assert mdp.mean_reward.reshape(-1)[:4] == pytest.approx(means, rel=1e-15)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"states": 0}, "states must be a whole number of at least 1, got 0"),
        ({"states": 2.5}, "states"),
        ({"actions": 0}, "actions must be a whole number of at least 1, got 0"),
        ({"branching": 0}, "branching must be a whole number of at least 1, got 0"),
        ({"branching": 11}, "branching = 11 is too large, the limit is 10"),
        ({"states": 2}, "branching = 3 is too large, the limit is 2"),
        ({"noise": -0.1}, r"noise must lie in \[0, 1\], got -0.1"),
        ({"noise": 1.1}, r"noise must lie in \[0, 1\], got 1.1"),
        ({"noise": float("nan")}, "noise must be finite"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"time_limit": 0}, "time_limit must be a whole number of at least 1"),
        ({"states": 10**7}, "states = 10,000,000 with actions = 3 and branching = 3 would take"),
        ({"actions": 10**12}, "would take about"),
        ({"state": 5}, "no parameter 'state'; did you mean 'states'"),
    ],
)
def test_what_is_refused(params, message):
    with pytest.raises(MonMDPError, match=f"world 'random-mdp'.*{message}"):
        random_mdp(**params)


def test_it_is_planned_exactly():
    problem = make("random-mdp", "ask", states=6, seed=1)
    values = planning.optimal(problem).values
    assert np.allclose(values, dense_optimal_values(problem, 0.99), atol=1e-8)


def test_on_the_command_line(command):
    code, out, err = command("solve", "random-mdp", "ask", "states=5", "noise=0.5", "seed=2")
    assert code == 0, err
    assert "random-mdp / ask  states=5  noise=0.5  seed=2" in out
    assert "solvable                 yes" in out
    code, out, err = command("show", "random-mdp", "actions=2")
    assert code == 0, err
    assert "10 states, 2 actions (0, 1), time limit 50 steps, r_min 0, r_max 1" in out
    code, _, err = command("solve", "random-mdp", "ask", "states=2")
    assert code == 2
    assert "world 'random-mdp': branching = 3 is too large, the limit is 2" in err


def test_in_gymnasium():
    env = gymnasium.make("monmdp/RandomMdp-v0", monitor="ask", states=5, actions=4, seed=2)
    observation, _ = env.reset(seed=0)
    assert observation["env"] == 0
    assert env.action_space["env"].n == 4
