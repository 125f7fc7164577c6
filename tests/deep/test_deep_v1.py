"""The benchmark deep-v1: its worlds made anew, and one setting of it, short, from run to page."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import fields

import numpy as np
import pytest

from deep.conftest import ROOT
from monmdp import MDP, make, run_suite, solve, suites, worlds
from monmdp.results import load_run
from monmdp.results.late import late_of

pytest.importorskip("minigrid")
STEPS = 3_000


def benchmark(name):
    """A module of the folder benchmarks, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


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


def test_one_setting_from_run_to_table(tmp_path, monkeypatch):
    """The quick version, shorter: it is run, kept, resumed, read and measured."""
    quick = suites.bundled_suite("deep-v1").adapted(quick=True)
    (block,) = quick.experiment
    block = block.model_copy(update={"agents": block.agents[:1]})
    short = {"name": "short", "steps": STEPS, "every": 500, "experiment": (block,)}
    suite = quick.model_copy(update=short)
    run_suite(suite, out=tmp_path, jobs=1)
    (path,) = (tmp_path / "runs").glob("*/seed-1000.parquet")
    written = path.stat().st_mtime_ns
    run_suite(suite, out=tmp_path, jobs=1)
    assert path.stat().st_mtime_ns == written, "done already"

    run = load_run(path)
    late = late_of(run, solve(make("minigrid-empty", "ask"), gamma=0.95).episode_return)
    assert run.settings["gamma"] == run.settings["parameters"]["gamma"] == 0.95
    assert 0 < late.shown <= late.paid < 1
    assert len(run.step) == STEPS // 500

    page = benchmark("deep")
    monkeypatch.setattr(page, "SUITE", "short")
    monkeypatch.setattr(page, "bundled_suite", lambda _: suite)
    content = page.measured(tmp_path)
    assert content["missing"] == 0
    ((setting, of_agents),) = page.read(content).items()
    assert setting == "minigrid-empty 100 % / ask"
    assert of_agents == {"Deep Monitored": [late]}
    assert "Deep Monitored" in page.written_parts(content)["results"]
