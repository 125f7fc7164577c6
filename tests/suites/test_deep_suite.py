"""The benchmark deep-v1: its settings never change."""

from __future__ import annotations

from conftest import GRIDS
from monmdp import agents, make, suites
from monmdp.experiment.streams import fingerprint
from monmdp.results.benchmarking import protocol_hash

SETTINGS = [
    ("minigrid-empty", "ask", 1.0, "3c6a8dc2f42d3507"),
    ("minigrid-crossing", "ask", 1.0, "67663ae7ddce5abd"),
    ("minigrid-lava", "ask", 1.0, "09a46c220b676c17"),
    ("minigrid-doorkey", "ask", 1.0, "6fb155780179983f"),
    ("minigrid-fourrooms", "ask", 1.0, "9c9e83000b2ab700"),
    ("minigrid-empty", "button", 1.0, "d3b9bba0826efa03"),
    ("minigrid-crossing", "button", 1.0, "9a5de1f6fdc8c9a1"),
    ("minigrid-lava", "button", 1.0, "6205f9639be45630"),
    ("minigrid-empty", "ask", 0.2, "2a53af0c669a0dac"),
    ("minigrid-lava", "ask", 0.2, "6bc0e6d47a4bfccd"),
]
"""world, monitor, ρ and the fingerprint of the problem"""


def test_the_ten_settings_never_change():
    suite = suites.bundled_suite("deep-v1")
    found = []
    for block in suite.experiment:
        for of, _ in block.settings():
            problem = make(of.world, of.monitor, **of.problem)
            found.append((of.world, of.monitor, of.problem["monitor.rho"], fingerprint(problem)))
    assert found == SETTINGS
    assert {world for world, *_ in found} == set(GRIDS)
    assert protocol_hash(suite) == "f4561c13ee696a0f"


def test_agents_and_seeds():
    suite = suites.bundled_suite("deep-v1")
    assert suite.seeds == tuple(range(1000, 1010))
    assert (suite.steps, suite.every, suite.gamma) == (40_000, 1_000, 0.95)
    named = {tuple(agent.name for agent in block.agents) for block in suite.experiment}
    assert named == {tuple(agents.DEEP)}


def test_the_quick_version_is_one_setting_with_one_seed():
    quick = suites.bundled_suite("deep-v1").adapted(quick=True)
    (block,) = quick.experiment
    ((setting, _),) = block.settings()
    assert (setting.world, setting.monitor, quick.seeds) == ("minigrid-empty", "ask", (1000,))
