"""One setting of the benchmark deep-v1, short, from run to table."""

from __future__ import annotations

import pytest

from conftest import benchmark
from monmdp import agents, make, run_suite, solve, suites
from monmdp.experiment.provenance import todays_kernel
from monmdp.results import load_run
from monmdp.results.late import late_of

STEPS = 3_000


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
    monkeypatch.setattr(page, "bundled_suite", lambda _: suite)
    content = page.measured(tmp_path, "short")
    assert content["missing"] == 0
    ((setting, of_agents),) = page.read(content).items()
    assert setting == "minigrid-empty 100 % / ask"
    assert of_agents == {"Deep Monitored": [late]}
    for table in page.setting_tables({setting: of_agents}):
        assert table.to_dict()["rows"][0][0] == setting


@pytest.mark.parametrize("name", agents.DEEP)
def test_runs_are_known_to_be_made_by_todays_code(name):
    """Also where there is a table inside, whose code counts, too."""
    configuration = suites.Configuration("minigrid-empty", "ask", agent=name, steps=200, every=100)
    resolved = suites.resolve(configuration)
    assert resolved.kernel == todays_kernel(resolved.settings)
