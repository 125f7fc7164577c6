"""Optimal values are Storm's to 1e-6, in every state: of its models here, of our worlds there."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from storm_models import LARGE, QUESTIONS, SMALL, VALUES, built, file_of, ours, storms

from conftest import random_monmdp
from monmdp import make, planning, worlds

stormpy = pytest.importorskip(
    "stormpy",
    reason="stormpy is not installed; `make test-storm` has it in an environment of its own",
)
stormpy_io = pytest.importorskip("stormpy.io")
pytestmark = pytest.mark.storm
CLOSE = {"rtol": 0, "atol": 1e-6}
built = functools.cache(built)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_their_models_have_their_values(question, tmp_path):
    """PRISM → Storm → UMB → monmdp."""
    model = built(question.model)
    assert model.nr_states >= 10**5 or question.model != LARGE
    stormpy_io.export_to_umb(model, tmp_path / "model.umb")
    found, theirs = ours(question, tmp_path / "model.umb"), storms(model, question.formula)
    assert len(found) == model.nr_states
    np.testing.assert_allclose(found, theirs, **CLOSE)


@pytest.mark.parametrize("question", SMALL, ids=str)
def test_the_kept_data_are_storms(question):
    """What test_umb.py reads without Storm."""
    model = stormpy.build_model_from_umb(file_of(question.model))
    values = storms(model, question.formula)
    np.testing.assert_allclose(values, storms(built(question.model), question.formula), **CLOSE)
    kept = json.loads(VALUES.read_text())[str(question)]
    np.testing.assert_allclose(values[model.initial_states[0]], kept, **CLOSE)


def test_a_jani_model_comes_in_as_well(tmp_path):
    program = stormpy.parse_prism_program(str(file_of("dice", ".prism")))
    jani, _ = program.to_jani([])
    options = stormpy.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    model = stormpy.build_model(jani, options=options)
    stormpy_io.export_to_umb(model, tmp_path / "model.umb")
    for question in SMALL:
        if question.model == "dice":
            found = ours(question, tmp_path / "model.umb")
            np.testing.assert_allclose(found, storms(model, question.formula), **CLOSE)


def compared(world, gamma, folder):
    """[state] our values of a world, and Storm's of its file; where episodes end it has 0."""
    world.to_umb(folder / "world.umb")
    model = stormpy.build_model_from_umb(folder / "world.umb")
    formula = f'R{{"reward"}}max=? [Cdiscount={gamma}]' if gamma < 1 else 'Rmax=? [F "end"]'
    theirs = storms(model, formula)
    assert len(theirs) == world.n_states + int(world.terminates.any())
    assert not theirs[world.n_states :].any()
    found = planning.optimal(make(world, "full"), gamma, tol=1e-9).values
    return found, theirs[: world.n_states]


@pytest.mark.parametrize("name", [*worlds.registry])
def test_our_worlds_have_our_values_with_storm(name, tmp_path):
    np.testing.assert_allclose(*compared(worlds.make(name), 0.99, tmp_path), **CLOSE)


@pytest.mark.parametrize("seed", range(20))
def test_random_worlds_have_our_values_with_storm(seed, tmp_path):
    """Random rewards and endings, several of them to the same state."""
    np.testing.assert_allclose(*compared(random_monmdp(seed).mdp, 0.9, tmp_path), **CLOSE)


def test_undiscounted_returns_until_the_end(tmp_path):
    world = worlds.from_umb(file_of("backoff"), terminal="sent")
    np.testing.assert_allclose(*compared(world, 1.0, tmp_path), **CLOSE)


def test_a_maze_of_1e5_states_goes_to_storm(tmp_path):
    """A map of corridors between walls that have a gap each."""
    n = 450
    gap = [r * 37 % n for r in range(n)]
    rows = [
        "." * n if r % 2 == 0 else "#" * at + "." + "#" * (n - 1 - at) for r, at in enumerate(gap)
    ]
    rows[0] = "@" + rows[0][1:]
    rows[-2] = rows[-2][:-1] + "$"
    world = worlds.grid_world("\n".join(rows), slip=0.1, time_limit=9999)
    assert world.n_states >= 10**5
    found, theirs = compared(world, 0.99, tmp_path)
    assert found.max() > 0.5
    np.testing.assert_allclose(found, theirs, **CLOSE)
