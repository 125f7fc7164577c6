"""From observations to inputs of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monmdp.agents.contract import View
from monmdp.agents.deep_networks import Inputs


class WholeNumbers:
    """Observations of whole numbers, such as the objects on a grid, as inputs of a network.

    An observation is where it differs from the first one that was met: one input for every value
    that a number was found to have instead. So there are more inputs as more is met, and none for
    what is always the same.
    """

    settled = True

    def __init__(self, size: int) -> None:
        del size
        self.width = 64
        self.first: NDArray[Any] | None = None
        self.slots: dict[tuple[int, int], int] = {}

    def settle(self, observations: NDArray[Any]) -> None:
        """Do nothing: it needs no warm-up."""

    def meet(self, observation: NDArray[Any]) -> Inputs:
        """Return the inputs for an observation to learn from."""
        flat = observation.reshape(-1)
        if self.first is None:
            self.first = flat.copy()
        for column in np.flatnonzero(flat != self.first).tolist():
            self.slots.setdefault((column, int(flat[column])), len(self.slots))
        while len(self.slots) > self.width:
            self.width *= 2
        return self(observation)

    def __call__(self, observation: NDArray[Any]) -> Inputs:
        """Return the inputs for an observation; values that were never met are left out."""
        flat, inputs = observation.reshape(-1), np.zeros(self.width, dtype=np.float32)
        if self.first is not None:
            for column in np.flatnonzero(flat != self.first).tolist():
                slot = self.slots.get((column, int(flat[column])))
                if slot is not None:
                    inputs[slot] = 1.0
        return inputs


class RealNumbers:
    """Observations of real numbers, shifted and scaled like those met before `settle`."""

    def __init__(self, size: int) -> None:
        self.width = size
        self.settled = False
        self.mean, self.scale = np.zeros(size), np.ones(size)

    def settle(self, observations: NDArray[Any]) -> None:
        """Take mean and deviation of these, [observation, …], for all that follow."""
        flat = observations.reshape(len(observations), -1)
        self.mean, deviation = flat.mean(axis=0), flat.std(axis=0)
        self.scale = np.where(deviation > 1e-6, deviation, 1.0)  # what was the same may yet differ
        self.settled = True

    def meet(self, observation: NDArray[Any]) -> Inputs:
        """Return the inputs for an observation."""
        return self(observation)

    def __call__(self, observation: NDArray[Any]) -> Inputs:
        """Return the inputs for an observation."""
        scaled: Inputs = ((observation.reshape(-1) - self.mean) / self.scale).astype(np.float32)
        return scaled


def encoder(view: View) -> WholeNumbers | RealNumbers:
    """Return the encoder for a kind of observation."""
    size = int(np.prod(view.observation))
    return WholeNumbers(size) if view.dtype.kind in "bui" else RealNumbers(size)
