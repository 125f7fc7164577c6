"""Compiled agents on disk: what one agent leaves behind is never run for another."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from monmdp import agents, compiling
from monmdp.experiment import loop

TRAIN = """
import sys
import monmdp

problem = monmdp.make("hazard", "ask")
for name in sys.argv[1:]:
    run = monmdp.train(problem, name, 3000)
    print(name, run.curve["training_return"][-1])
"""


def test_how_verbs_are_compiled_is_part_of_the_name_in_the_cache(monkeypatch):
    kind = agents.MonitoredMBIEEB.State
    before = compiling._digest(loop.run, kind)
    monkeypatch.setattr(compiling, "_large", set())
    assert compiling._digest(loop.run, kind) != before


@pytest.mark.slow
def test_agents_compiled_in_different_processes_do_not_run_each_others_code(tmp_path):
    """Each is compiled alone; then a process loads both from the cache, in either order."""

    def trained(*names):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        words = [sys.executable, "-c", TRAIN, *names]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        return dict(line.split() for line in done.stdout.splitlines())

    names = ("mbie-eb", "pessimistic-mbie-eb")
    alone = trained(names[0]) | trained(names[1])
    assert alone[names[0]] != alone[names[1]]
    assert trained(*names) == alone
    assert trained(*reversed(names)) == alone
