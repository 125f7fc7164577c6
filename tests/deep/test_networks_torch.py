"""The slopes and steps of our networks against those that torch finds."""

from __future__ import annotations

import numpy as np
import pytest

from monmdp.agents.deep_networks import Network

torch = pytest.importorskip("torch")


def test_steps_of_descent_are_those_of_torch():
    rng = np.random.default_rng(0)
    net = Network(6, 16, 3, rng, lr=1e-2, eps=1e-6)
    net.layers.w3[:] = rng.normal(size=(16, 3)) / 4
    made = [torch.tensor(of.copy(), requires_grad=True) for of in net.layers]
    b1, w2, b2, w3, b3, w1 = made
    adam = torch.optim.Adam(made, lr=1e-2, eps=1e-6)

    def said(x):
        for weight, bias in ((w1, b1), (w2, b2)):
            x = torch.relu(torch.nn.functional.layer_norm(x @ weight + bias, (16,)))
        return x @ w3 + b3

    for _ in range(20):
        inputs = rng.normal(size=(10, 6)).astype(np.float32)
        targets, weights = rng.normal(size=(10, 3)), rng.random(size=(10, 3))
        x, y, w = (torch.tensor(of, dtype=torch.float32) for of in (inputs, targets, weights))
        np.testing.assert_allclose(net.say(inputs), said(x).detach().numpy(), atol=1e-5)
        loss = (w * (said(x) - y) ** 2).sum() / w.sum()
        adam.zero_grad()
        loss.backward()
        net.fit(inputs, targets, weights)
        for mine, theirs in zip(net.slopes, made, strict=True):
            np.testing.assert_allclose(mine, theirs.grad.numpy(), atol=1e-6)
        adam.step()
    for mine, theirs in zip(net.layers, made, strict=True):
        np.testing.assert_allclose(mine, theirs.detach().numpy(), atol=2e-4)
