"""Networks as agents use them: ask one, take a step of gradient descent, give it more inputs.

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
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        rng: np.random.Generator,
        lr: float = 1e-3,
        eps: float = 1e-8,
    ) -> None:
        """Make a network whose outputs are 0; `lr` is the step size of Adam.

        Gradients much smaller than `eps` make steps that are smaller, too.
        """
        self.torch: Any = import_extra("torch", "deep", "deep agents")
        nn = self.torch.nn
        self.torch.set_num_threads(1)  # runs are done side by side, a process each
        self.lr, self.eps = lr, eps
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
        self.adam = self._new_adam()

    def _new_adam(self) -> Any:
        return self.torch.optim.Adam(self.layers.parameters(), lr=self.lr, eps=self.eps, fused=True)

    def say(self, inputs: Inputs) -> FloatArray:
        """[i, output] what the network says."""
        with self.torch.no_grad():
            out: FloatArray = self.layers(self.torch.from_numpy(inputs)).numpy()
        return out.astype(np.float64)

    def fit(self, inputs: Inputs, targets: FloatArray, weights: FloatArray) -> None:
        """Take a step towards targets [i, output], in the mean of squares with these weights."""
        target, weight = (self.torch.from_numpy(of.astype(np.float32)) for of in (targets, weights))
        off = self.layers(self.torch.from_numpy(inputs)) - target
        loss = (weight * off**2).sum() / weight.sum()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

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

    def follow(self, other: Network, share: float = 1.0) -> None:
        """Take this share of the way to the weights of another network of the same size."""
        mine, theirs = (list(of.layers.parameters()) for of in (self, other))
        with self.torch.no_grad():
            self.torch._foreach_lerp_(mine, theirs, share)

    def rescale(self, outputs: slice, factor: float, shift: float = 0.0) -> None:
        """Say `factor` times as much as before, and `shift` more, at some outputs."""
        with self.torch.no_grad():
            self.last.weight[outputs] *= factor
            self.last.bias[outputs] *= factor
            self.last.bias[outputs] += shift


class Ensemble:
    """Networks of the same make that share inputs but no weights, computed at once.

    Outputs are [member, i, output]. They differ where they have learnt nothing, because to each a
    random function is added that never changes (a *prior*), `prior` in size.
    """

    def __init__(
        self,
        members: int,
        inputs: int,
        hidden: int,
        outputs: int,
        rng: np.random.Generator,
        lr: float = 1e-3,
        prior: float = 1.0,
    ) -> None:
        """Make networks whose outputs are their priors; `lr` is the step size of Adam."""
        self.torch: Any = import_extra("torch", "deep", "deep agents")
        self.torch.set_num_threads(1)
        self.lr, self.prior, self.members = lr, prior, members
        self.priors = RandomNetwork(inputs, hidden, members * outputs, rng)
        self.weights = [
            self._parameter(rng.uniform(-1, 1, size=(members, n, m)) * n**-0.5 * scale)
            for n, m, scale in ((inputs, hidden, 1), (hidden, hidden, 1), (hidden, outputs, 0))
        ]
        self.biases = [
            self._parameter(np.zeros((members, 1, m))) for m in (hidden, hidden, outputs)
        ]
        self.adam = self._new_adam()

    def _parameter(self, values: NDArray[Any]) -> Any:
        return self.torch.nn.Parameter(self.torch.tensor(values, dtype=self.torch.float32))

    def _new_adam(self) -> Any:
        return self.torch.optim.Adam([*self.weights, *self.biases], lr=self.lr, fused=True)

    def _learnt(self, inputs: Inputs) -> Any:
        """[member, i, output] what was learnt, without priors."""
        x = self.torch.from_numpy(inputs).expand(self.members, *inputs.shape)
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = self.torch.baddbmm(bias, x, weight)
            if layer < 2:
                x = self.torch.relu(self.torch.nn.functional.layer_norm(x, x.shape[-1:]))
        return x

    def _prior(self, inputs: Inputs) -> NDArray[np.float32]:
        said = self.prior * self.priors.say(inputs).astype(np.float32)
        return said.reshape(len(inputs), self.members, -1).transpose(1, 0, 2)

    def say(self, inputs: Inputs) -> FloatArray:
        """[member, i, output] what the networks say."""
        with self.torch.no_grad():
            learnt: NDArray[np.float32] = self._learnt(inputs).numpy()
        return (learnt + self._prior(inputs)).astype(np.float64)

    def fit(self, inputs: Inputs, targets: FloatArray, weights: FloatArray) -> None:
        """Take a step towards targets, like `Network.fit`; both are [member, i, output]."""
        target = self.torch.from_numpy(targets.astype(np.float32) - self._prior(inputs))
        weight = self.torch.from_numpy(weights.astype(np.float32))
        # A sum over members: none takes smaller steps because there are more.
        loss = (weight * (self._learnt(inputs) - target) ** 2).sum() * self.members / weight.sum()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

    def widen(self, inputs: int, rng: np.random.Generator) -> None:
        """Take more inputs; what was said of inputs that are 0 there stays."""
        old = self.weights[0].detach().numpy()
        size = self.members, inputs - old.shape[1], old.shape[2]
        more = rng.normal(scale=0.1 / inputs**0.5, size=size)
        self.weights[0] = self._parameter(np.concatenate([old, more], axis=1))
        self.priors.widen(inputs, rng)
        self.adam = self._new_adam()


class RandomNetwork:
    """A network of the same make that never learns; its outputs are about as large as 1."""

    def __init__(self, inputs: int, hidden: int, outputs: int, rng: np.random.Generator) -> None:
        self.torch: Any = import_extra("torch", "deep", "deep agents")
        sizes = (inputs, hidden), (hidden, hidden), (hidden, outputs)
        self.weights = [self._tensor(rng.normal(size=size)) for size in sizes]
        # Half of the neurons are at 0, so that the mean of squares is 1/2.
        self.weights[2] *= (2 / hidden) ** 0.5
        self.biases = [self._tensor(rng.normal(size=hidden)) for _ in range(2)]

    def _tensor(self, values: NDArray[Any]) -> Any:
        return self.torch.tensor(values, dtype=self.torch.float32)

    def say(self, inputs: Inputs) -> Inputs:
        """[i, output] what the network says."""
        x = self.torch.from_numpy(inputs)
        for weight, bias in zip(self.weights[:2], self.biases, strict=True):
            x = self.torch.addmm(bias, x, weight)
            x = self.torch.relu(self.torch.nn.functional.layer_norm(x, x.shape[1:]))
        out: Inputs = (x @ self.weights[2]).numpy()
        return out

    def widen(self, inputs: int, rng: np.random.Generator) -> None:
        """Take more inputs; what was said of inputs that are 0 there stays."""
        old = self.weights[0]
        more = self._tensor(rng.normal(size=(inputs - len(old), old.shape[1])))
        self.weights[0] = self.torch.cat([old, more])
