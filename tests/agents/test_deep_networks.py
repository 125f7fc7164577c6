"""The networks of deep agents: slopes against differences, and what widening leaves alone.

tests/deep compares whole steps of descent with those of torch.
"""

from __future__ import annotations

import numpy as np
import pytest

from monmdp.agents.deep_networks import Ensemble, Network, RandomNetwork

HIDDEN, OUTPUTS = 8, 3


def learnt(rng, inputs=5, **given):
    """A network that has learnt a little, so that nothing in it is 0."""
    net = Network(inputs, HIDDEN, OUTPUTS, rng, **given)
    for _ in range(30):
        x = rng.normal(size=(10, inputs)).astype(np.float32)
        net.fit(x, np.tanh(x[:, :OUTPUTS]).astype(float), np.ones((10, OUTPUTS)))
    return net


def plain(net, x):
    """What a network says, in float64 and line by line from the definition."""
    b1, w2, b2, w3, b3, w1 = (np.asarray(of, dtype=np.float64) for of in net.layers)
    for weight, bias in ((w1, b1), (w2, b2)):
        x = x @ weight + bias
        x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        x = np.maximum(x, 0)
    return x @ w3 + b3


def test_it_says_what_its_definition_says():
    rng = np.random.default_rng(0)
    net = learnt(rng)
    x = rng.normal(size=(7, 5)).astype(np.float32)
    np.testing.assert_allclose(net.say(x), plain(net, x.astype(float)), atol=1e-5)


def test_slopes_are_differences():
    rng = np.random.default_rng(1)
    net = learnt(rng)
    x = rng.normal(size=(6, 5)).astype(np.float32)
    target, weight = rng.normal(size=(6, OUTPUTS)), rng.random(size=(6, OUTPUTS))

    def loss():
        return (weight * (plain(net, x.astype(float)) - target) ** 2).sum() / weight.sum()

    before = [of.copy() for of in net.layers]
    net.lr = 0.0  # slopes alone
    net.fit(x, target, weight)
    for part, slope, kept in zip(net.layers, net.slopes, before, strict=True):
        np.testing.assert_array_equal(part, kept)
        for at in [tuple(rng.integers(part.shape)) for _ in range(6)]:
            middle, step = part[at], np.float32(1e-2)
            around = []
            for value in (middle + step, middle - step):
                part[at] = value
                around.append((loss(), float(part[at])))
            part[at] = middle
            (up, high), (down, low) = around
            assert slope[at] == pytest.approx((up - down) / (high - low), abs=3e-3), at


def test_it_learns():
    rng = np.random.default_rng(2)
    net = Network(2, 32, 1, rng)
    x = rng.uniform(-1, 1, size=(200, 2)).astype(np.float32)
    y = (x[:, :1] * x[:, 1:]).astype(float)
    assert not net.say(x).any()  # it begins at 0
    for _ in range(1500):
        i = rng.integers(200, size=64)
        net.fit(x[i], y[i], np.ones((64, 1)))
    assert np.abs(net.say(x) - y).mean() < 0.02


def test_outputs_without_weight_are_left_alone():
    rng = np.random.default_rng(3)
    net = learnt(rng)
    x = rng.normal(size=(4, 5)).astype(np.float32)
    before = net.layers.w3[:, 1].copy(), float(net.layers.b3[1])
    net.fit(x, np.ones((4, OUTPUTS)), np.tile([1.0, 0.0, 1.0], (4, 1)))
    assert net.slopes.b3[1] == 0
    assert not net.slopes.w3[:, 1].any()
    assert before[0].any()


def test_more_inputs_change_nothing_where_they_are_zero():
    rng = np.random.default_rng(4)
    net, random = learnt(rng), RandomNetwork(5, HIDDEN, OUTPUTS, rng)
    ensemble = Ensemble(2, 5, HIDDEN, OUTPUTS, rng)
    x = rng.normal(size=(4, 5)).astype(np.float32)
    wide = np.pad(x, ((0, 0), (0, 3)))
    other = wide + 1
    for of in (net, random, ensemble):
        before = of.say(x)
        np.testing.assert_array_equal(of.say(wide), before)
    # Random functions take new inputs up at once, networks that learn when they learn of them.
    assert not np.allclose(random.say(other), random.say(other[:, :5]))
    np.testing.assert_array_equal(net.say(other), net.say(other[:, :5]))
    follower = Network(5, HIDDEN, OUTPUTS, rng)
    follower.follow(net)
    for _ in range(20):
        net.fit(other, np.ones((4, OUTPUTS)), np.ones((4, OUTPUTS)))
    assert net.inputs == 8
    assert not np.allclose(net.say(other), net.say(other[:, :5]))
    assert not np.allclose(follower.say(wide), net.say(wide))
    follower.follow(net)
    np.testing.assert_array_equal(follower.say(other), net.say(other))


def test_following_and_rescaling():
    rng = np.random.default_rng(5)
    net, follower = learnt(rng), Network(5, HIDDEN, OUTPUTS, rng)
    half = (follower.flat + net.flat) / 2
    follower.follow(net, 0.5)
    np.testing.assert_allclose(follower.flat, half, atol=1e-6)
    x = rng.normal(size=(4, 5)).astype(np.float32)
    before = net.say(x)
    net.rescale(slice(2), 0.5, shift=1.0)
    np.testing.assert_allclose(net.say(x)[:, :2], before[:, :2] / 2 + 1, atol=1e-6)
    np.testing.assert_array_equal(net.say(x)[:, 2:], before[:, 2:])


def test_members_learn_on_their_own_and_disagree_elsewhere():
    rng = np.random.default_rng(6)
    nets = Ensemble(3, 4, 16, 1, rng, lr=1e-2)
    inputs = np.eye(4, dtype=np.float32)
    targets = np.broadcast_to(np.arange(3.0)[:, None, None], (3, 4, 1))
    weights = np.zeros((3, 4, 1))
    weights[:, :3] = 1
    for _ in range(300):
        nets.fit(inputs, targets, weights)
    assert np.allclose(nets.say(inputs)[:, :3], targets[:, :3], atol=0.05)
    same = Ensemble(5, 4, 16, 1, rng, lr=1e-2)
    for _ in range(300):
        same.fit(inputs, np.ones((4, 1)), weights[0])
    spread = same.say(inputs).std(axis=0)[:, 0]
    assert spread[:3].max() < 0.1 < spread[3]


def test_random_functions_are_about_as_large_as_one():
    said = RandomNetwork(6, 64, 500, np.random.default_rng(7)).say(np.eye(6, dtype=np.float32))
    assert np.square(said).mean() == pytest.approx(1, rel=0.2)
