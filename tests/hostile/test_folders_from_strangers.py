"""A folder of results from anybody: reading runs no code, writing stays inside, nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import monmdp
from conftest import one_in
from monmdp import MonMDPError, load_results
from monmdp.results import evidence, sealed, store
from monmdp.results.store import run_files
from monmdp.schema import DamagedError

SUITE = {
    "name": "small",
    "seeds": 2,
    "steps": 400,
    "every": 100,
    "policies": True,
    "experiment": [{"worlds": ["loop"], "monitors": ["ask"], "agents": ["r-max", "mbie-eb"]}],
}
SNAPSHOTS = {"snapshot_steps": np.array([200]), "snapshots": {"n": np.zeros((1, 3))}}
READING = ("status", "redraw", "verify", "report")

WANDERER = """
import numpy as np
from helper import pick

class Wanderer:
    def __init__(self, shape, rng, *, patience=3):
        self.shape, self.rng = shape, rng

    def begin_episode(self): ...

    def act(self, observation):
        return {"env": pick(self.rng, self.shape[2]), "mon": 0}

    def update(self, transition): ...

    def test_policy(self):
        n = self.shape[2] * self.shape[3]
        return np.full((self.shape[0] * self.shape[1], n), 1 / n)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "results"
    monmdp.run_suite(SUITE, out=folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "theirs"))


def request_of(folder, name="small"):
    path = folder / "reports" / name / "request.json"
    return path, json.loads(path.read_text())


def sealed_again(path, change):
    """Write a file of ours with another footer or other columns, sealed as only we should."""
    with pq.ParquetFile(path) as file:
        footer, table = json.loads(file.schema_arrow.metadata[sealed.KEY]), file.read()
    del footer["seal"]
    footer, table = change(footer, table.replace_schema_metadata(None))
    sealed.write_sealed(path, table, footer)


def everything(folder):
    return {p: None if p.is_dir() else p.read_bytes() for p in folder.rglob("*")}


# ---- reading runs no code -------------------------------------------------------------------

BAIT = ["os:system", "subprocess:call", "builtins:exec", "gymnasium:evil:Env", "evil:Agent"]


@pytest.mark.parametrize("name", one_in(2, BAIT))
@pytest.mark.parametrize("word", READING)
def test_names_in_a_folder_are_data(folder, command, word, name):
    Path("evil.py").write_text("open('run', 'w')\nclass Agent: pass\nclass Env: pass\n")
    path, content = request_of(folder)

    def bait(footer, table):
        footer["settings"] |= {"agent": name, "code": None, "parameters": {"command": "touch run"}}
        return footer, table

    for run in run_files(folder):
        sealed_again(run, bait)
        place = run.parents[1] / store.id_of(
            store.read_sealed(run, store.FORMAT, ())[0]["settings"]
        )
        place.mkdir(exist_ok=True)
        run.rename(place / run.name)
    for figure in content["figures"]:
        figure["grids"][0]["rows"][0][0]["world"] = name
        for curve in figure["grids"][0]["rows"][0][0]["curves"]:
            curve["agent"] = name
    path.write_text(json.dumps(content))
    command(word, folder)
    load_results(folder)
    assert not Path("run").exists()
    assert "evil" not in sys.modules


@pytest.mark.parametrize("entry", ["maps", "graphs"])
def test_worlds_to_draw_are_bundled_ones(folder, command, entry):
    path, content = request_of(folder)
    content["figures"][0][entry] = [["a map", "os:system", {"command": "touch run"}]]
    path.write_text(json.dumps(content))
    code, _, err = command("redraw", folder)
    assert code != 0
    assert "no bundled world" in err
    assert not Path("run").exists()


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Runs of an agent of one's own that imports a helper."""
    monkeypatch.syspath_prepend(tmp_path)
    Path("helper.py").write_text("def pick(rng, n):\n    return int(rng.integers(n))\n")
    Path("wander.py").write_text(WANDERER)
    suite = {
        **SUITE,
        "name": "own",
        "experiment": [
            {"worlds": ["loop"], "monitors": ["ask"], "agents": ["wander:Wanderer", "r-max"]}
        ],
    }
    Path("own.toml").write_text(
        'name = "own"\nseeds = 1\nsteps = 300\n[[experiment]]\nworlds = ["loop"]\n'
        'monitors = ["ask"]\nagents = ["wander:Wanderer", "r-max"]\n'
    )
    monmdp.run_suite(suite, out="mine")
    yield Path("mine")
    for name in ("wander", "helper"):
        sys.modules.pop(name, None)


def forget(*names):
    for name in names:
        sys.modules.pop(name, None)


def test_agents_of_ones_own_are_not_checked_unless_their_module_is_trusted(own, command):
    forget("wander", "helper")
    found = json.loads(command("status", own, "--json")[1])["reports"][0]
    assert (found["there"], found["stale"], found["not_checked"]) == (4, 0, 2)
    assert "wander" not in sys.modules
    trusted = ("--trust-modules", "wander")
    found = json.loads(command("status", own, "--json", *trusted)[1])["reports"][0]
    assert (found["there"], found["stale"], found["not_checked"]) == (4, 0, 0)
    assert command("verify", own, *trusted)[0] == 0
    forget("wander", "helper")
    code, out, _ = command("verify", own)
    assert code == 1
    assert out.count("not done ") == 2
    assert "not trusted" in out
    assert "2 of 4 runs are the same to the byte; 2 could not be done again" in out
    assert "DIFFERENT" not in out
    assert "wander" not in sys.modules


@pytest.mark.slow
def test_an_edit_in_a_helper_makes_runs_stale(own, command):
    forget("wander", "helper")
    Path("helper.py").write_text("def pick(rng, n):\n    return int(rng.integers(n - 1))\n")
    found = json.loads(command("status", own, "--json", "--trust-modules", "wander")[1])
    assert found["reports"][0]["stale"] == 2
    forget("wander", "helper")
    assert command("run", "own.toml", "--out", "fresh", "--unchecked")[0] == 0
    forget("wander", "helper")
    Path("helper.py").write_text("def pick(rng, n):\n    return int(rng.integers(n))\n")
    before = len(run_files(Path("fresh")))
    assert command("run", "own.toml", "--out", "fresh", "--unchecked")[0] == 0
    assert len(run_files(Path("fresh"))) == before + 1  # that of the edited agent, not r-max's


@pytest.mark.slow
def test_trust_ends_at_what_a_module_defines_itself(own, command):
    path, content = request_of(own, "own")
    Path("lender.py").write_text("from os import system\n")
    bait = {"agent": "lender:system", "code": None, "parameters": {"command": "touch run"}}
    ((key, of),) = [i for i in content["configurations"].items() if "wander" in i[0]]
    of["settings"] |= bait
    new = store.id_of(of["settings"])
    text = path.read_text().replace(key, new)
    content = json.loads(text)
    content["configurations"][new]["settings"] |= bait
    path.write_text(json.dumps(content))
    for word in READING:
        command(word, own, "--trust-modules", "lender,os,wander")
    assert not Path("run").exists()


@pytest.mark.slow
def test_parameters_of_own_agents_are_all_on_record(own):
    frame = load_results(own)
    (run, *_) = [p for p in run_files(own) if "wander" in str(p)]
    assert store.read_footer(run)["settings"]["parameters"] == {"patience": 3}
    assert set(frame["agent"]) == {"wander:Wanderer", "r-max"}


def test_parameters_that_are_the_default_of_an_own_monitor_are_on_record(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    Path("watch.py").write_text(
        "from monmdp import monitors\n"
        "def seldom(*, rho: float = 0.7):\n    return monitors.factory('ask')(rho=rho)\n"
    )
    block = {
        "worlds": ["loop"], "monitors": ["watch:seldom"], "rho": [0.3, 0.7, 1.0],
        "agents": ["r-max"],
    }  # fmt: skip
    suite = {**SUITE, "name": "rho", "experiment": [block]}
    monmdp.run_suite(suite, out="three")
    frame = load_results("three")
    sizes = frame.groupby("monitor.rho", observed=True).size()
    assert sizes.to_dict() == {0.3: 8, 0.7: 8, 1.0: 8}
    assert not frame["monitor.rho"].isna().any()
    forget("watch")


# ---- writing stays inside -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../outside", "/tmp/outside-of-monmdp", "..", "a/b", ".x", ""])
def test_names_of_reports_lead_nowhere_else(folder, command, name):
    path, content = request_of(folder)
    before = everything(folder)
    for change in ({"name": name}, {"figures": [{**content["figures"][0], "name": name}]}):
        path.write_text(json.dumps({**content, **change}))
        code, _, err = command("redraw", folder)
        assert code != 0
        assert "damaged" in err
    path.write_bytes(before[path])
    assert everything(folder) == before
    assert not Path("outside").exists()


@pytest.mark.parametrize("name", ["../../../outside", "/tmp/outside-of-monmdp"])
def test_names_in_a_summary_lead_nowhere_else(folder, command, name):
    summary = folder / "reports" / "small" / "summary.parquet"

    def change(footer, table):
        footer["figures"][0]["name"] = name
        return footer, table

    sealed_again(summary, change)
    code, _, err = command("redraw", summary)
    assert code != 0
    assert err.count("\n") == 1
    assert "no name for a file" in err


def test_folders_that_are_links_are_not_written_to(folder, command, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    shutil.move(folder / "reports" / "small", elsewhere)
    (folder / "reports" / "small").symlink_to(elsewhere)
    before = everything(elsewhere)
    code, _, err = command("redraw", folder)
    assert code != 0
    assert "leads out of" in err
    (folder / "runs2").mkdir()
    shutil.rmtree(folder / "runs")
    (folder / "runs").symlink_to(folder.parent)
    with pytest.raises(MonMDPError, match="leads out of"):
        monmdp.run_suite(SUITE, out=folder)
    assert everything(elsewhere) == before
    shutil.rmtree(elsewhere)
    (tmp_path / "compared").mkdir()
    elsewhere.mkdir()
    (tmp_path / "compared" / "monmdp.json").write_text("{}")
    (tmp_path / "compared" / "reports").symlink_to(elsewhere)
    with pytest.raises(MonMDPError, match="leads out of"):
        monmdp.compare(
            monmdp.make("loop", "ask"), ["mbie-eb"], 200, seeds=1, out=tmp_path / "compared"
        )
    assert not list(elsewhere.iterdir())


def test_runs_behind_a_link_are_not_moved(folder, command, tmp_path):
    """A folder of ours may have links in it to somebody else's: a name is no permission."""
    mine = Path(shutil.copytree(folder, tmp_path / "mine"))
    first, other = sorted(path for path in (folder / "runs").iterdir())
    shutil.rmtree(first)
    first.symlink_to(mine / "runs" / other.name)
    before = everything(mine)
    with pytest.raises(MonMDPError, match="leads out of"):
        monmdp.run_suite(SUITE, out=folder)
    assert everything(mine) == before
    assert not list((folder / "set-aside").rglob("*.parquet"))


def test_what_cannot_be_read_is_not_set_aside(folder, command):
    """What the system does not let us read may be whole."""
    run = run_files(folder)[0]
    run.unlink()
    run.mkdir()
    found = json.loads(command("status", folder, "--json")[1])["reports"][0]
    assert (len(found["damaged"]), len(found["unreadable"]), found["there"]) == (0, 1, 3)
    assert "unreadable: " in command("status", folder)[1]
    with pytest.raises(MonMDPError, match=r"cannot be read, .*nothing was changed"):
        monmdp.run_suite(SUITE, out=folder)
    assert run.is_dir()
    _, out, _ = command("verify", folder)
    assert "3 of 4 runs are the same to the byte; 1 could not be done again" in out


def test_only_what_is_damaged_of_a_run_is_set_aside(folder):
    """Its inside says which snapshots it had, and they are made again."""
    run = run_files(folder)[0]
    store.write_run(run, replace(monmdp.load_run(run), **SNAPSHOTS))
    run.write_bytes(b"damaged")
    monmdp.run_suite(SUITE, out=folder)
    assert [path.name for path in (folder / "set-aside").rglob("*.parquet")] == [run.name]
    assert list(monmdp.load_run(run).snapshot_steps) == [200]


def test_pictures_of_runs_that_are_gone_are_left_as_they_were(folder, command):
    picture = folder / "reports" / "small" / "small.png"
    before = picture.read_bytes()
    for run in run_files(folder):
        run.write_bytes(b"damaged")
    code, out, err = command("redraw", folder)
    assert code == 2
    assert "small: 0 of 4 runs are there" in out
    assert "small: its report is left as it was" in err
    assert picture.read_bytes() == before


def test_a_run_may_be_copied_out_of_its_folder(folder, command, tmp_path):
    run = run_files(folder)[0]
    shutil.copy(run, tmp_path / "alone.parquet")
    assert monmdp.load_run(tmp_path / "alone.parquet").policy is None
    code, _, err = command("evaluate", tmp_path / "alone.parquet", "loop", "ask")
    assert code == 2
    assert "alone.inside.parquet beside it" in err
    shutil.copy(store.inside_path(run), tmp_path / "alone.inside.parquet")
    assert command("evaluate", tmp_path / "alone.parquet", "loop", "ask")[0] == 0


def test_a_module_that_is_trusted_must_be_there(folder, command):
    for word in READING:
        code, _, err = command(word, folder, "--trust-modules", "nosuch")
        assert code == 2
        assert "there is no module 'nosuch'; looked in" in err
    with pytest.raises(MonMDPError, match="there is no module 'nosuch'"):
        monmdp.write_report(folder, trust=["nosuch"])


def test_somebody_elses_page_is_not_written_over(folder, command):
    page = folder / "report.html"
    page.write_text("mine")
    code, _, err = command("report", folder)
    assert (code, page.read_text()) == (2, "mine")
    assert "none of our reports" in err
    assert command("report", folder, "--out", page)[0] == 0  # if it is named, it is meant
    assert command("report", folder)[0] == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_curves_that_are_no_numbers_are_damaged(folder, command, value):
    (folder / "reports" / "small" / "summary.parquet").unlink()

    def change(footer, table):
        at = table.column_names.index("episode_return")
        values = table[at].to_numpy().copy()
        values[1] = value
        return footer, table.set_column(at, "episode_return", pa.array(values))

    sealed_again(run_files(folder)[0], change)
    for word in ("report", "redraw"):
        code, _, err = command(word, folder)
        assert code == 0
        assert "episode_return has values that are no numbers" in err


@pytest.mark.parametrize(
    "entry", [{"seeds": [10**300]}, {"parameters": {"gamma": float("nan")}}, {"maps": True}],
    ids=["seeds", "parameters", "maps"],
)  # fmt: skip
def test_a_page_is_made_whatever_a_request_holds(folder, command, entry):
    path, content = request_of(folder)
    figure = content["figures"][0]
    if "seeds" in entry:
        figure["grids"][0]["rows"][0][0]["curves"][0] |= entry
    elif "maps" in entry:
        figure["maps"] = [["t", "loop", {"start": "../../x"}]]
    else:
        next(iter(content["configurations"].values()))["settings"] |= entry
    path.write_text(json.dumps(content))
    code, _, err = command("report", folder)
    assert code == 0
    assert "note: " in err


@pytest.mark.parametrize("name", ["request.json", "sessions.json", "references.json"])
def test_pipes_and_devices_are_no_files_of_ours(folder, command, name):
    path = folder / "reports" / "small" / name
    path.unlink(missing_ok=True)
    for make in (lambda: os.mkfifo(path), lambda: path.symlink_to("/dev/zero")):
        make()
        for word in ("status", "report", "redraw"):
            command(word, folder)
        path.unlink()


def test_settings_in_the_working_directory_are_ignored(tmp_path):
    """numba would load compiled code from where they say, and Matplotlib run TeX."""
    Path(".numba_config.yaml").write_text("cache_dir: theirs\n")
    Path("matplotlibrc").write_text("text.usetex: True\nlines.linewidth: 77\n")
    code = (
        "import sys; sys.argv = ['monmdp', 'list']\n"
        "from monmdp import cli\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "import matplotlib; from numba.core import config; config.reload_config()\n"
        "print(repr(config.CACHE_DIR), matplotlib.rcParams['text.usetex'])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={key: of for key, of in os.environ.items() if key != "NUMBA_CACHE_DIR"},
    )  # fmt: skip
    assert found.stdout.splitlines()[-1] == "'' False"
    assert found.stderr.count("in this folder is ignored") == 2


def test_what_is_not_ours_stays_where_it_is(folder, command):
    run = run_files(folder)[0]
    precious = [
        run.parent / ".precious.part",
        run.parent / "notes.txt",
        folder / "runs" / "tensorboard" / "events.out.tfevents.1",
        folder / "runs" / ".precious.part",
        folder / "precious.part",
    ]
    for path in precious:
        path.parent.mkdir(exist_ok=True)
        path.write_text("precious")
    ours = run.parent / f".{run.name}.{'0' * 32}.part"
    ours.write_text("half")
    linked = run.parent / f".{run.name}.{'1' * 32}.part"
    linked.symlink_to(precious[1])
    run.unlink()
    monmdp.run_suite(SUITE, out=folder)
    assert all(path.read_text() == "precious" for path in precious)
    assert run.exists()
    assert not ours.exists()
    assert linked.is_symlink()
    assert not (folder / "set-aside").exists()
    out = command("status", folder)[1]
    assert f"foreign: {precious[1]}" in out
    assert f"foreign: {precious[2].parent}" in out


def test_a_folder_whose_runs_are_somebody_elses_is_refused(command):
    board = Path("project/runs/Nov17")
    board.mkdir(parents=True)
    (board / "events").write_text("mine")
    words = ("train", "loop", "ask", "--agent", "r-max", "--steps", "200", "--out", "project")
    code, _, err = command(*words)
    assert code == 2
    assert "no folder of results" in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in Path("project").rglob("*")) == ["Nov17", "events", "runs"]


# ---- whatever a file holds ------------------------------------------------------------------


def without(key):
    def change(footer, table):
        del footer[key]
        return footer, table

    return change


def with_settings(**values):
    def change(footer, table):
        footer["settings"] |= values
        return footer, table

    return change


def with_footer(**values):
    return lambda footer, table: (footer | values, table)


def with_column(name, values):
    def change(footer, table):
        at = table.schema.get_field_index(name)
        return footer, table.set_column(at, name, pa.array(values(len(table))))

    return change


ODD = {
    "no settings": without("settings"),
    "no seed": without("seed"),
    "no provenance": without("provenance"),
    "settings are a list": with_footer(settings=[1, 2]),
    "settings are empty": with_footer(settings={}),
    "a seed in words": with_footer(seed="zero"),
    "a negative seed": with_footer(seed=-1),
    "provenance in words": with_footer(provenance="mine"),
    "odd seconds": with_footer(provenance={"cpu_seconds": [1], "kernel": "x"}),
    "a kernel that is a number": with_footer(provenance={"kernel": 3}),
    "no steps": with_settings(steps=0),
    "steps in words": with_settings(steps="many"),
    "more steps than there are tests": with_settings(steps=10**15),
    "an odd evaluation": with_settings(evaluation="by eye"),
    "an odd discount": with_settings(gamma=7.0),
    "an odd problem": with_settings(problem="../../x"),
    "an agent that is a list": with_settings(agent=["r-max"]),
    "nested parameters": with_settings(parameters={"a": {"b": {"c": 1}}}),
    "an unusual parameter that is not there": with_settings(unusual=["monitor.nothing"]),
    "a key too many": with_settings(surprise=1),
    "returns in words": with_column("episode_return", lambda n: ["a"] * n),
    "returns that are lists": with_column("episode_return", lambda n: [[1.0]] * n),
    "returns that are missing": with_column("episode_return", lambda n: [None] * n),
    "steps out of order": with_column("step", lambda n: list(range(n))[::-1]),
    "no column of returns": lambda f, t: (f, t.drop_columns(["episode_return"])),
    "no rows": lambda f, t: (f, t.slice(0, 0)),
}


@pytest.mark.parametrize("odd", one_in(9, ODD))
def test_a_page_comes_whatever_the_file_of_a_run_holds(folder, command, odd):
    path = run_files(folder)[0]
    sealed_again(path, ODD[odd])
    (folder / "reports" / "small" / "summary.parquet").unlink()
    code, _, err = command("report", folder)
    assert code == 0, err
    assert (folder / "report.html").stat().st_size > 10_000
    assert str(path) in err
    for word in ("status", "redraw"):
        assert command(word, folder)[0] == 0
    with pytest.warns(UserWarning, match="damaged|another run"):
        assert len(load_results(folder)) == 3 * 4
    with pytest.raises(DamagedError):
        monmdp.load_run(path)
    monmdp.run_suite(SUITE, out=folder)
    assert len(load_results(folder)) == 4 * 4


INSIDE = {
    "no shapes": without("shapes"),
    "no policy": without("policy"),
    "an odd shape": with_footer(policy={"shape": [10**9, 10**9, 1, 1], "origin": {}}),
    "a shape in words": with_footer(policy={"shape": "large", "origin": {}}),
    "shapes that do not fit": with_footer(shapes={"policy": [3, 3], "snapshot_steps": [0]}),
    "an array that is not there": with_footer(shapes={"what": [3]}),
    "chances in words": with_column("policy", lambda n: [["a", "b"]] * n),
    "chances above one": with_column("policy", lambda n: [[7.0] * 90] * n),
}


@pytest.mark.parametrize("odd", one_in(4, INSIDE))
def test_a_page_comes_whatever_the_inside_of_a_run_holds(folder, command, odd):
    path = run_files(folder)[0]
    sealed_again(store.inside_path(path), INSIDE[odd])
    assert command("report", folder)[0] == 0
    assert command("status", folder)[0] == 0
    for words in (("rollout", "loop", "ask", "--policy", path), ("evaluate", path, "loop", "ask")):
        code, _, err = command(*words)
        assert code == 2
        assert err.count("\n") == 1


@pytest.mark.slow
def test_a_page_comes_whatever_a_request_holds(folder, command):
    path, content = request_of(folder)
    text = path.read_text()
    key = next(iter(content["configurations"]))
    figure = content["figures"][0]
    odd = [
        "", "{", "[]", "null", "3", '"text"', "{}", "[" * 100_000, '{"a":' * 100_000,
        text[: len(text) // 2], text.replace('"figures"', '"pictures"'),
        json.dumps({**content, "format": "monmdp-request-99"}),
        json.dumps({**content, "figures": None}),
        json.dumps({**content, "figures": [{**figure, "grids": 3}]}),
        json.dumps({**content, "figures": [{**figure, "claims": [{"name": 3}]}]}),
        json.dumps({**content, "figures": [{**figure, "illustration": "__import__"}]}),
        json.dumps({**content, "configurations": {}}),
        json.dumps({**content, "configurations": {key: {"settings": {}}}}),
        json.dumps({**content, "configurations": {key: 7}}),
    ]  # fmt: skip
    for one in odd:
        path.write_text(one)
        for word in ("status", "report"):
            code, _, err = command(word, folder)
            assert code == 0, (word, one[:80], err)
        assert command("redraw", folder)[0] == 2
    path.write_bytes(b"\xff\xfe\x00")
    assert command("report", folder)[0] == 0
    monmdp.run_suite(SUITE, out=folder)
    assert path.read_text() == text


@pytest.mark.slow
def test_sessions_may_hold_anything(folder, command):
    path = folder / "reports" / "small" / "sessions.json"
    for odd in ("", "{", "[1, 2]", '["a"]', "[" * 100_000, '[{"runs": [], "wall_seconds": {}}]'):
        path.write_text(odd)
        assert command("report", folder)[0] == 0


@pytest.mark.parametrize("column", ["area", "seeds", "settings", "mean_episode_return"])
def test_a_page_comes_whatever_a_summary_holds(folder, command, column):
    summary = folder / "reports" / "small" / "summary.parquet"
    good = summary.read_bytes()
    table = pq.read_table(summary)
    kind = table.schema.field(column).type
    empty = [[] if pa.types.is_list(kind) else "{}"] * len(table)
    at = table.schema.get_field_index(column)
    for values in (pa.array(empty, kind), pa.array(["x"] * len(table)), None):

        def change(footer, table, values=values):
            if values is None:
                return footer, table.drop_columns([column])
            return footer, table.set_column(at, column, values)

        summary.write_bytes(good)
        sealed_again(summary, change)
        with pytest.raises(DamagedError):
            evidence.load(summary)
        assert command("report", folder)[0] == 0
        code, _, err = command("redraw", summary)
        assert (code, err.count("\n")) == (2, 1)


# ---- moving on ------------------------------------------------------------------------------


def test_a_folder_can_be_moved_with_the_map_it_was_made_from(command, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "my.txt").write_text("@..\n.#.\n..g\n")
    (project / "my.toml").write_text(
        'name = "mine"\nseeds = 1\nsteps = 300\nsnapshots = 2\n[[experiment]]\n'
        'worlds = ["my.txt"]\nmonitors = ["ask"]\nagents = ["r-max", "mbie-eb"]\n'
    )
    code, _, err = command("run", project / "my.toml", "--out", project / "results")
    assert code == 0, err
    moved = tmp_path / "archive" / "of another machine"
    moved.parent.mkdir()
    shutil.move(project / "results", moved)
    shutil.rmtree(project)
    found = json.loads(command("status", moved, "--json")[1])
    assert found["reports"][0]["there"] == 2
    assert not found["unreadable_requests"]
    assert command("verify", moved)[0] == 0
    assert command("redraw", moved)[0] == 0
    code, out, err = command("report", moved)
    assert code == 0
    assert "to look into" in out
    assert np.isfinite(load_results(moved)["episode_return"]).all()


def test_a_problem_in_the_place_of_another_is_noticed(folder, command):
    (path,) = (folder / "problems").glob("*.npz")
    monmdp.make("empty", "ask").save(path)
    (folder / "reports" / "small" / "summary.parquet").unlink()
    code, _, err = command("report", folder)
    assert code == 0
    assert "another problem than its name says" in err
    path.unlink()
    code, _, err = command("report", folder)
    assert code == 0
    assert "is unknown" in err


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_a_run_that_is_a_link_is_read_and_never_written_through(folder):
    path = run_files(folder)[0]
    target = folder.parent / "target.parquet"
    shutil.move(path, target)
    target.write_bytes(target.read_bytes()[:-1])
    path.symlink_to(target)
    before = target.read_bytes()
    monmdp.run_suite(SUITE, out=folder)
    assert target.read_bytes() == before
    assert not path.is_symlink()


def test_the_inside_of_another_run_is_not_taken_for_its_own(folder):
    first, other = run_files(folder)[:2]
    shutil.copy(store.inside_path(other), store.inside_path(first))
    with pytest.raises(DamagedError, match="of another run"):
        monmdp.load_run(first)
    assert monmdp.load_run(other).policy is not None
