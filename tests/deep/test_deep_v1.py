"""The worlds of the benchmark deep-v1, made anew."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from conftest import benchmark
from monmdp import MDP, worlds

pytest.importorskip("minigrid")


@pytest.fixture(scope="module")
def making():
    return benchmark("deep_worlds")


@pytest.mark.parametrize("name", [name for name in worlds.registry if name.startswith("minigrid-")])
def test_the_files_are_what_minigrid_gives(making, name):
    made, kept = making.made(name), worlds.make(name)
    for field in fields(MDP):
        one, other = getattr(made, field.name), getattr(kept, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype, field.name
            assert np.array_equal(one, other), field.name
        elif field.name == "state_labels":
            assert list(one) == list(other)
        else:
            assert one == other, field.name
