"""Networks as agents use them: ask one, take a step of gradient descent, follow another.

They are small, so a library that differentiates anything spends most of its time on other things
than arithmetic. Here slopes are written down, and a step of descent is two calls of compiled code:
a third of the time that torch takes, nothing to install, and networks that are the same to the bit
on every machine. Tests compare the steps with torch's. The number of inputs may grow; networks then
widen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.compiling import compilable, compiled
from monmdp.model.arrays import FloatArray

Inputs = NDArray[np.float32]
Floats = NDArray[np.float32]

ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)
SMALLEST = np.float32(1e-5)
"""added to variances, which may be 0"""
KEPT_OF_SLOPE, KEPT_OF_SQUARE = 0.9, 0.999
"""Adam's β₁ and β₂"""
BLOCK = 64
"""rows of weights that stay in the fastest cache while all of a batch are multiplied by them"""


class Layers(NamedTuple):
    """Weights and biases. Those of inputs come last, so that more of them are appended."""

    b1: Floats
    w2: Floats
    b2: Floats
    w3: Floats
    b3: Floats
    w1: Floats


# ---- arithmetic -----------------------------------------------------------------------------


@compilable
def product(x: Any, weight: Any) -> Any:
    """Multiply x by weights, passing over zeros: half of all neurons, and most inputs of grids.

    Unlike a library's, it takes one thread and gives the same bits on every machine.
    """
    out = np.empty((x.shape[0], weight.shape[1]), np.float32)
    multiply(x, weight, out)
    return out


@compilable
def multiply(x: Any, weight: Any, into: Any) -> None:
    """Make `into` x @ weight; every sum runs from left to right, whatever is done at once."""
    into[:] = ZERO
    at = np.empty(BLOCK, np.int64)
    for low in range(0, x.shape[1], BLOCK):
        for i in range(x.shape[0]):
            n = 0
            for k in range(low, min(low + BLOCK, x.shape[1])):
                at[n] = k
                n += x[i, k] != ZERO
            to, whole = into[i], n - n % 8
            # Eight at a time: a sum is read and written once for all of them.
            for m in range(0, whole, 8):
                ka, kb, kc, kd = at[m], at[m + 1], at[m + 2], at[m + 3]
                ke, kf, kg, kh = at[m + 4], at[m + 5], at[m + 6], at[m + 7]
                a, b, c, d = x[i, ka], x[i, kb], x[i, kc], x[i, kd]
                e, f, g, h = x[i, ke], x[i, kf], x[i, kg], x[i, kh]
                wa, wb, wc, wd = weight[ka], weight[kb], weight[kc], weight[kd]
                we, wf, wg, wh = weight[ke], weight[kf], weight[kg], weight[kh]
                for j in range(len(to)):
                    left = to[j] + a * wa[j] + b * wb[j] + c * wc[j] + d * wd[j]
                    to[j] = left + e * we[j] + f * wf[j] + g * wg[j] + h * wh[j]
            for m in range(whole, n):
                factor, row = x[i, at[m]], weight[at[m]]
                for j in range(len(to)):
                    to[j] += factor * row[j]


@compilable
def hidden_layer(x: Any, weight: Any, bias: Any) -> Any:
    """[i, neuron] what a layer says, normalised for each i; and [i] 1 / deviation."""
    z = product(x, weight)
    inverse = np.empty(z.shape[0], np.float32)
    size = np.float32(z.shape[1])
    for i in range(z.shape[0]):
        mean = ZERO
        for j in range(z.shape[1]):
            z[i, j] += bias[j]
            mean += z[i, j]
        mean /= size
        square = ZERO
        for j in range(z.shape[1]):
            z[i, j] -= mean
            square += z[i, j] * z[i, j]
        inverse[i] = ONE / np.sqrt(square / size + SMALLEST)
        for j in range(z.shape[1]):
            z[i, j] *= inverse[i]
    return z, inverse


@compilable
def through(slope: Any, z: Any, inverse: Any, of_bias: Any) -> None:
    """Turn slopes at the outputs of a hidden layer into those before it was normalised."""
    size = np.float32(z.shape[1])
    of_bias[:] = ZERO
    for i in range(z.shape[0]):
        mean = along = ZERO
        for j in range(z.shape[1]):
            if z[i, j] <= ZERO:
                slope[i, j] = ZERO
            mean += slope[i, j]
            along += slope[i, j] * z[i, j]
        mean /= size
        along /= size
        for j in range(z.shape[1]):
            slope[i, j] = inverse[i] * (slope[i, j] - mean - along * z[i, j])
            of_bias[j] += slope[i, j]


def outputs(net: Any, x: Any) -> Any:
    """[i, output] what a network says."""
    z1, _ = hidden_layer(x, net.w1, net.b1)
    z2, _ = hidden_layer(np.maximum(z1, ZERO), net.w2, net.b2)
    return product(np.maximum(z2, ZERO), net.w3) + net.b3


def slopes(net: Any, into: Any, x: Any, target: Any, weight: Any) -> None:
    """Find the slopes of the mean of squares, with these weights, at all parameters."""
    z1, inverse1 = hidden_layer(x, net.w1, net.b1)
    h1 = np.maximum(z1, ZERO)
    z2, inverse2 = hidden_layer(h1, net.w2, net.b2)
    h2 = np.maximum(z2, ZERO)
    total = ZERO
    for i in range(weight.shape[0]):
        for j in range(weight.shape[1]):
            total += weight[i, j]
    slope = (product(h2, net.w3) + net.b3 - target) * weight * (TWO / total)
    multiply(h2.T, slope, into.w3)
    into.b3[:] = slope.sum(axis=0)
    slope = product(slope, net.w3.T.copy())
    through(slope, z2, inverse2, into.b2)
    multiply(h1.T, slope, into.w2)
    slope = product(slope, net.w2.T.copy())
    through(slope, z1, inverse1, into.b1)
    multiply(x.T, slope, into.w1)


def descend(
    flat: Any, slope: Any, mean: Any, square: Any, lr: Any, eps: Any, kept: Any, kept_square: Any
) -> None:
    """Take a step of Adam; `kept` and `kept_square` are 1 − β₁ᵗ and 1 − β₂ᵗ."""
    for i in range(len(flat)):
        mean[i] += np.float32(1 - KEPT_OF_SLOPE) * (slope[i] - mean[i])
        square[i] += np.float32(1 - KEPT_OF_SQUARE) * (slope[i] * slope[i] - square[i])
        flat[i] -= lr * (mean[i] / kept) / (np.sqrt(square[i] / kept_square) + eps)


# ---- networks -------------------------------------------------------------------------------


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
        self.lr, self.eps, self.steps = lr, eps, 0
        self.hidden, self.outputs = hidden, outputs
        one, two = inputs**-0.5, hidden**-0.5
        parts = [
            rng.uniform(-one, one, hidden),
            rng.uniform(-two, two, hidden * hidden),
            rng.uniform(-two, two, hidden),
            np.zeros(hidden * outputs + outputs),
            rng.uniform(-one, one, inputs * hidden),
        ]
        self.flat: Floats = np.concatenate(parts).astype(np.float32)
        self.slope, self.mean, self.square = (np.zeros_like(self.flat) for _ in range(3))
        self.layers, self.slopes = self._views(self.flat), self._views(self.slope)

    def _views(self, flat: Floats) -> Layers:
        """Return parameters, or their slopes, layer by layer."""
        h, o = self.hidden, self.outputs
        shapes = (h,), (h, h), (h,), (h, o), (o,)
        ends = np.cumsum([int(np.prod(of)) for of in shapes])
        *parts, of_inputs = np.split(flat, ends)
        b1, w2, b2, w3, b3 = (part.reshape(of) for part, of in zip(parts, shapes, strict=True))
        return Layers(b1, w2, b2, w3, b3, of_inputs.reshape(-1, h))

    @property
    def inputs(self) -> int:
        """How many there are so far."""
        return len(self.layers.w1)

    def say(self, inputs: Inputs) -> FloatArray:
        """[i, output] what the network says; inputs that it never learnt from are passed over."""
        known = np.ascontiguousarray(inputs[:, : self.inputs])
        out: Floats = compiled(outputs)(self.layers, known)
        return out.astype(np.float64)

    def fit(self, inputs: Inputs, targets: FloatArray, weights: FloatArray) -> None:
        """Take a step towards targets [i, output], in the mean of squares with these weights."""
        if inputs.shape[1] > self.inputs:
            self._widen(inputs.shape[1])
        target, weight = (np.ascontiguousarray(of, dtype=np.float32) for of in (targets, weights))
        compiled(slopes)(self.layers, self.slopes, np.ascontiguousarray(inputs), target, weight)
        self.steps += 1
        kept = (np.float32(1 - of**self.steps) for of in (KEPT_OF_SLOPE, KEPT_OF_SQUARE))
        sizes = np.float32(self.lr), np.float32(self.eps)
        compiled(descend)(self.flat, self.slope, self.mean, self.square, *sizes, *kept)

    def _widen(self, inputs: int) -> None:
        """Take more inputs, whose weights are 0 at first: what is said stays."""
        more = np.zeros((inputs - self.inputs) * self.hidden, dtype=np.float32)
        self.flat, self.slope, self.mean, self.square = (
            np.concatenate([of, more]) for of in (self.flat, self.slope, self.mean, self.square)
        )
        self.layers, self.slopes = self._views(self.flat), self._views(self.slope)

    def follow(self, other: Network, share: float = 1.0) -> None:
        """Take this share of the way to the weights of another network of the same make."""
        if other.inputs > self.inputs:
            self._widen(other.inputs)
        self.flat += np.float32(share) * (other.flat - self.flat)

    def rescale(self, outputs: slice, factor: float, shift: float = 0.0) -> None:
        """Say `factor` times as much as before, and `shift` more, at some outputs."""
        self.layers.w3[:, outputs] *= np.float32(factor)
        self.layers.b3[outputs] *= np.float32(factor)
        self.layers.b3[outputs] += np.float32(shift)


class Ensemble:
    """Networks of the same make that share inputs but no weights.

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
        average: float = 0.0,
    ) -> None:
        """Make networks whose outputs are their priors; `lr` is the step size of Adam.

        What they say comes from running averages of weights, over about 1/(1 − average) steps.
        """
        self.prior, self.average = prior, average
        self.priors = RandomNetwork(inputs, hidden, members * outputs, rng)
        self.members = [Network(inputs, hidden, outputs, rng, lr) for _ in range(members)]
        self.used = [Network(inputs, hidden, outputs, rng) for _ in range(members)]
        for used, member in zip(self.used, self.members, strict=True):
            used.follow(member)

    def _prior(self, inputs: Inputs) -> FloatArray:
        said = self.prior * self.priors.say(inputs)
        return said.reshape(len(inputs), len(self.members), -1).transpose(1, 0, 2)

    def say(self, inputs: Inputs) -> FloatArray:
        """[member, i, output] what the networks say."""
        return np.stack([of.say(inputs) for of in self.used]) + self._prior(inputs)

    def fit(self, inputs: Inputs, targets: FloatArray, weights: FloatArray) -> None:
        """Take a step towards targets [i, output], like `Network.fit`; or one for each member."""
        prior = self._prior(inputs)
        each = (np.broadcast_to(of, prior.shape) for of in (targets, weights))
        for member, used, said, target, weight in zip(
            self.members, self.used, prior, *each, strict=True
        ):
            member.fit(inputs, target - said, weight)
            used.follow(member, 1 - self.average)


class RandomNetwork:
    """A network of the same make that never learns; its outputs are about as large as 1."""

    def __init__(self, inputs: int, hidden: int, outputs: int, rng: np.random.Generator) -> None:
        self.rng = np.random.default_rng(rng.integers(2**63))
        # Half of the neurons are at 0, so that the mean of squares is 1/2.
        last = (2 / hidden) ** 0.5 * self._drawn(hidden, outputs)
        biases = self._drawn(hidden), self._drawn(hidden)
        self.layers = Layers(
            biases[0],
            self._drawn(hidden, hidden),
            biases[1],
            last.astype(np.float32),
            np.zeros(outputs, dtype=np.float32),
            self._drawn(inputs, hidden),
        )

    def _drawn(self, *shape: int) -> Floats:
        return self.rng.normal(size=shape).astype(np.float32)

    def say(self, inputs: Inputs) -> FloatArray:
        """[i, output] what the network says; the weights of new inputs are drawn."""
        known, hidden = self.layers.w1.shape
        if (more := inputs.shape[1] - known) > 0:
            wider = np.concatenate([self.layers.w1, self._drawn(more, hidden)])
            self.layers = self.layers._replace(w1=wider)
        out: Floats = compiled(outputs)(self.layers, np.ascontiguousarray(inputs))
        return out.astype(np.float64)
