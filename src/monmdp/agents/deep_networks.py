"""A network as agents use it: ask it, take a step of gradient descent, give it more inputs.

This is the only module of the agents that needs torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monmdp.errors import import_extra
from monmdp.model.arrays import FloatArray

Inputs = NDArray[np.float32]


class Network:
    """Two hidden layers, from inputs [i, input] to outputs [i, output].

    Layers are normalised: without that, a network that has learnt one thing is slow to learn
    another, and the values of agents change all the time.
    """

    def __init__(
        self, inputs: int, hidden: int, outputs: int, rng: np.random.Generator, lr: float = 1e-3, average: float = 0.0
    ) -> None:
        """Make a network whose outputs are 0; `lr` is the step size of Adam."""
        self.torch: Any = import_extra("torch", "deep", "deep agents")
        nn = self.torch.nn
        self.torch.set_num_threads(1)  # runs are done side by side, a process each
        self.lr = lr
        with self.torch.random.fork_rng(devices=[]):
            self.torch.manual_seed(int(rng.integers(2**63)))
            first, second = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, outputs)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)
        norms = (nn.LayerNorm(hidden) for _ in range(2))
        self.layers = nn.Sequential(
            first, next(norms), nn.ReLU(), second, next(norms), nn.ReLU(), self.last
        )
        self.average = average
        self.adam = self._new_adam()
        import copy
        self.mean = copy.deepcopy(self.layers) if average else self.layers

    def _new_adam(self) -> Any:
        return self.torch.optim.Adam(self.layers.parameters(), lr=self.lr, fused=True)

    def say(self, inputs: Inputs) -> FloatArray:
        """[i, output] what the network says."""
        with self.torch.no_grad():
            out: FloatArray = self.mean(self.torch.from_numpy(inputs)).numpy()
        return out.astype(np.float64)

    def fit(self, inputs: Inputs, targets: FloatArray, weights: FloatArray) -> None:
        """Take a step towards targets [i, output], in the mean of squares with these weights."""
        target, weight = (self.torch.from_numpy(of.astype(np.float32)) for of in (targets, weights))
        off = self.layers(self.torch.from_numpy(inputs)) - target
        loss = (weight * off**2).sum() / weight.sum()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        if self.average:
            with self.torch.no_grad():
                self.torch._foreach_lerp_(list(self.mean.parameters()), list(self.layers.parameters()), 1 - self.average)

    def widen(self, inputs: int, rng: np.random.Generator) -> None:
        """Take more inputs; the weights of new ones are small."""
        old = self.layers[0]
        more = rng.normal(
            scale=0.1 / inputs**0.5, size=(old.out_features, inputs - old.in_features)
        )
        new = self.torch.nn.Linear(inputs, old.out_features)
        with self.torch.no_grad():
            new.weight[:, : old.in_features] = old.weight
            new.weight[:, old.in_features :] = self.torch.from_numpy(more)
            new.bias[:] = old.bias
        self.layers[0] = new
        self.adam = self._new_adam()
        import copy
        self.mean = copy.deepcopy(self.layers) if self.average else self.layers

    def randomise(self, rng: np.random.Generator) -> None:
        """Say something random about everything, of deviation about 1."""
        weight = rng.normal(scale=self.last.in_features**-0.5, size=tuple(self.last.weight.shape))
        with self.torch.no_grad():
            self.last.weight[:] = self.torch.from_numpy(weight)

    def rescale(self, outputs: slice, factor: float, shift: float = 0.0) -> None:
        """Say `factor` times as much as before, and `shift` more, at some outputs."""
        with self.torch.no_grad():
            for last in {self.last, self.mean[-1]}:
                last.weight[outputs] *= factor
                last.bias[outputs] *= factor
                last.bias[outputs] += shift
