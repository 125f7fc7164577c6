"""Things of one's own: templates, checks before any work, and their place in reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples"
TEMPLATES = ["my_map.txt", "my_world.py", "my_tables.py", "night_watch.py", "wanderer.py",
             "my_suite.toml"]  # fmt: skip

CARELESS = """
import random

import numpy as np


class Careless:
    "Draws from where nobody has seeded it."

    def __init__(self, shape, rng):
        self.shape = shape

    def begin_episode(self):
        pass

    def act(self, observation):
        return {"env": random.randrange(self.shape.n_env_actions), "mon": 0}

    def update(self, transition):
        pass

    def test_policy(self):
        n_se, n_sm, n_ae, n_am = self.shape
        return np.full((n_se * n_sm, n_ae * n_am), 1 / (n_ae * n_am))
"""

LIAR = """
from monmdp import Monitor


def liar(*, chance: float = 1.5) -> Monitor:
    return Monitor(("ON",), ("NO-OP",), [1.0], [[[1.0]]], [[0.0]], [[chance]])
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("careless", "liar"):
        sys.modules.pop(name, None)


def write_suite(**lists):
    """A small suite.toml with one block."""
    block = "".join(f"{key} = {json.dumps(names)}\n" for key, names in lists.items())
    Path("suite.toml").write_text(f'name = "mine"\nseeds = 1\nsteps = 200\n[[experiment]]\n{block}')


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_are_short(name):
    assert len((EXAMPLES / name).read_text().splitlines()) < 30


@pytest.mark.parametrize(
    "world",
    ["examples/my_map.txt", "examples.my_world:toll_road", "examples.my_tables:repair",
     "bottleneck"],
)  # fmt: skip
@pytest.mark.parametrize("monitor", ["examples.night_watch:night_watch", "ask"])
def test_templates_pass_their_checks(command, world, monitor):
    code, out, err = command(
        "check", world, monitor, "rho=0.5", "--agent", "examples.wanderer:Wanderer"
    )
    assert (code, err) == (0, "")
    assert f"{monitor}, examples.wanderer:Wanderer: passed" in out


def test_check_takes_any_agent_and_its_parameters(command):
    words = ("check", "loop", "ask", "--agent")
    code, out, _ = command(*words, "monitored-mbie-eb", "beta=0.01", "--json")
    assert code == 0
    assert json.loads(out) == {"passed": True, "notes": []}
    code, _, err = command(*words, "examples.wanderer:Wanderer", "restless=1")
    assert code == 2
    assert "did you mean 'restlessness'" in err
    code, _, err = command(*words, "monitored-mbie")
    assert code == 2
    assert "did you mean 'monitored-mbie-eb'" in err


def test_an_unsound_agent_is_found_before_any_work(command, tmp_path):
    (tmp_path / "careless.py").write_text(CARELESS)
    agent = "careless:Careless"
    words = ("loop", "ask", "--steps", "300", "--seeds", "1")
    for attempt in (
        ("check", "loop", "ask", "--agent", agent),
        ("train", *words, "--agent", agent, "--out", "here"),
        ("compare", *words, "--agents", f"r-max,{agent}", "--out", "here"),
    ):
        code, _, err = command(*attempt)
        assert code == 2
        assert f"agent {agent!r} fails its checks: the same seed gives another run" in err
        assert not (tmp_path / "here").exists()
    code, _, _ = command("train", *words, "--agent", agent, "--out", "here", "--unchecked")
    assert code == 0


@pytest.mark.slow
def test_an_unsound_agent_in_a_suite(command, tmp_path):
    (tmp_path / "careless.py").write_text(CARELESS)
    write_suite(
        worlds=["loop"],
        monitors=["examples.night_watch:night_watch"],
        agents=["r-max", "careless:Careless"],
    )
    code, _, err = command("run", "suite.toml", "--out", "here")
    assert code == 2
    assert "careless:Careless' fails its checks" in err
    assert not (tmp_path / "here").exists()
    assert command("run", "suite.toml", "--out", "here", "--dry-run")[0] == 0
    assert command("run", "suite.toml", "--out", "here", "--unchecked")[0] == 0


def test_a_world_that_is_another_one_each_time(command, tmp_path):
    (tmp_path / "liar.py").write_text(
        """
import numpy as np

from monmdp import worlds


def dice():
    P = np.random.default_rng().dirichlet(np.ones(3), (3, 2))
    return worlds.from_tables(P, np.zeros((3, 2)), layout="sas", time_limit=20, name="dice")
"""
    )
    write_suite(worlds=["liar:dice"], monitors=["ask"], agents=["r-max"])
    words = ("liar:dice", "ask", "--steps", "200", "--seeds", "1", "--out", "here")
    for attempt in (
        ("check", "liar:dice", "ask"),
        ("check", "liar:dice", "ask", "--agent", "r-max"),
        ("train", *words, "--agent", "r-max"),
        ("compare", *words, "--agents", "r-max,ucb"),
        ("run", "suite.toml", "--out", "here"),
    ):
        code, _, err = command(*attempt)
        assert code == 2, attempt
        assert "dice / ask differs every time it is built" in err
        assert not (tmp_path / "here").exists()


def test_an_agent_is_tried_on_every_shape_of_problem(command, tmp_path):
    picky = CARELESS.replace("random.randrange(self.shape.n_env_actions)", "0").replace(
        "self.shape = shape", "self.shape = shape; assert shape.n_env_states != 9"
    )
    (tmp_path / "careless.py").write_text(picky)
    write_suite(worlds=["corridor", "loop"], monitors=["ask"], agents=["careless:Careless"])
    code, _, err = command("run", "suite.toml", "--out", "here")
    assert code == 2
    assert "careless:Careless' fails its checks" in err
    assert not (tmp_path / "here").exists()


def test_an_unsound_monitor_says_where(command, tmp_path):
    (tmp_path / "liar.py").write_text(LIAR)
    code, _, err = command("solve", "loop", "liar:liar")
    assert code == 2
    assert "probability 1.5" in err
    write_suite(worlds=["loop"], monitors=["liar:liar"], agents=["r-max"])
    code, _, err = command("run", "suite.toml", "--out", "here")
    assert code == 2
    assert "probability 1.5" in err
    assert "experiment[0]: loop / liar" in err


@pytest.mark.slow
def test_ones_own_things_show_up_in_reports(command, tmp_path):
    assert command("run", "examples/my_suite.toml", "--quick", "--out", "here")[0] == 0
    words = ("examples.my_tables:repair", "examples.night_watch:night_watch", "--steps", "300")
    agent = ("--agent", "examples.wanderer:Wanderer", "restlessness=0.5", "--seeds", "2")
    assert command("train", *words, *agent, "--out", "here/train")[0] == 0
    assert command("report", "here", "-o", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    for name in ("toll-road", "my_map", "repair", "night_watch", "wanderer", "Wanderer"):
        assert name in page, name


# ---- extras -----------------------------------------------------------------------------------

CORE_ONLY = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
import monmdp
import monmdp.report, monmdp.results, monmdp.envs, monmdp.testing, monmdp.theory
from monmdp import cli
sys.argv = ["monmdp", *sys.argv[1:]]
cli.main()
"""
EXTRAS = ("distributed", "torch", "stable_baselines3", "sphinx", "furo")


def with_the_core_only(*words):
    code = CORE_ONLY.format(names=set(EXTRAS))
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
def test_the_core_works_without_extras(command):
    done = with_the_core_only("solve", "loop", "ask")
    assert done.returncode == 0, done.stderr
    assert "minimax value" in done.stdout
    words = ("train", "loop", "ask", "--agent", "r-max", "--steps", "200", "--seeds", "1")
    assert command(*words, "--out", "here")[0] == 0
    assert with_the_core_only("report", "here").returncode == 0
    suite = ("run", "examples/my_suite.toml", "--quick", "--scheduler", "tcp://127.0.0.1:1")
    done = with_the_core_only(*suite)
    assert done.returncode == 2
    message = "--scheduler needs the package distributed: pip install 'monmdp[cluster]'"
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_settings_of_ones_own_are_named_with_what_they_change(tmp_path, command):
    (tmp_path / "timid_settings.py").write_text(
        "from monmdp import agents\n"
        "timid = agents.config('monitored-mbie-eb', beta=1e-5, q_opt_init=1.0)\n"
    )
    short = ("--steps", "200", "--seeds", "1", "--out", str(tmp_path / "runs"))
    code, out, _ = command("train", "loop", "ask", "--agent", "timid_settings:timid", *short)
    assert code == 0
    first = out.splitlines()[0]
    assert first.startswith("loop / ask   timid_settings:timid: monitored-mbie-eb ")
    assert "beta=1e-05" in first
    assert "gamma" not in first  # as usual
    code, out, _ = command("train", "loop", "ask", "--agent", "mbie-eb", "beta=0.5", *short)
    assert out.splitlines()[0] == "loop / ask   mbie-eb beta=0.5"
