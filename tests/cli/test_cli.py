"""The command line, as people type it."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from monmdp import MonMDPError, agents, load_results, load_run, monitors, worlds
from monmdp.results.sealed import read_sealed
from monmdp.results.store import INSIDE_FORMAT, inside_path


@pytest.fixture
def monmdp(command):
    return command


def test_what_a_user_should_know_of_a_world_is_a_note(monkeypatch, capsys):
    from monmdp import cli

    others = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: others.append(str(message)))
    monkeypatch.setattr(cli, "app", lambda **_: None)
    cli.main()
    warnings.showwarning(worlds.AliasedWarning("alike"), worlds.AliasedWarning, "file.py", 7)
    assert capsys.readouterr().err == "note: alike\n"
    warnings.showwarning(monitors.CostWarning("pays"), monitors.CostWarning, "file.py", 7)
    assert capsys.readouterr().err == "note: pays\n"
    warnings.showwarning(UserWarning("else"), UserWarning, "file.py", 7)
    assert others == ["else"]


def test_enumerated_worlds(monmdp):
    code, out, _ = monmdp("solve", "env:FrozenLake-v1", "ask", "is_slippery=false", "actions=1,0")
    assert code == 0
    assert "4 x 1 states, 2 x 2 actions" in out
    assert monmdp("show", "env:FrozenLake-v1", "world.is_slippery=false")[0] == 0
    code, _, err = monmdp("solve", "env:FrozenLake-v1", "ask", "is_slippery=false", "limit=10")
    assert code == 2
    assert "more than 10 states, the limit; limit=… allows more" in err


def test_list(monmdp):
    code, out, _ = monmdp("list")
    assert code == 0
    for name in ("bottleneck", "two-room-2x11", "treasure-hunter", "n-experts", "level-up"):
        assert name in out
    assert "rho=1.0" in out
    assert "one_way=push|block" in out
    data = json.loads(monmdp("list", "--json")[1])
    for kind in (worlds, monitors, agents):
        assert len(data[kind.__name__.rpartition(".")[2]]) == len(list(kind.registry))
    assert list(data["deep agents"]) == list(agents.DEEP)
    # This one needs no network, so its parameters are known everywhere.
    listed = data["deep agents"]["deep-discretised"]["parameters"]
    assert listed == [
        str(of) for of in agents.parameters_of("deep-discretised").parameters.values()
    ]
    assert listed[0] in out.partition("deep-discretised")[2].partition("suites")[0]


def test_show(monmdp, tmp_path):
    code, out, _ = monmdp("show", "bottleneck")
    assert code == 0
    assert "5  g . ? . . $" in out
    assert "never seen" in out
    code, out, _ = monmdp("show", "hazard", "slip=0.1", "--png", str(tmp_path / "hazard.png"))
    assert code == 0
    assert (tmp_path / "hazard.png").read_bytes().startswith(b"\x89PNG")
    assert monmdp("show", "gymnasium:FrozenLake-v1")[0] == 0
    code, _, _ = monmdp("show", "loop", "--svg", str(tmp_path / "loop.svg"))
    assert code == 0
    assert (tmp_path / "loop.svg").read_bytes().startswith(b"<?xml")
    for option, name in (("--png", "a.svg"), ("--svg", "a.png"), ("--png", "a")):
        code, out, err = monmdp("show", "loop", option, str(tmp_path / name))
        assert (code, out) == (2, "")
        assert f"the file name must end in .{option[2:]}" in err
        assert not (tmp_path / name).exists()
    (tmp_path / "folder.svg").mkdir()
    code, out, err = monmdp("show", "loop", "--svg", str(tmp_path / "folder.svg"))
    assert (code, out) == (2, "")
    assert "it is a folder" in err


@pytest.mark.parametrize(
    "words",
    [
        ("show", "loop", "--png", "nodir/x.png"),
        ("show", "loop", "--svg", "nodir/x.svg"),
        ("rollout", "loop", "ask", "--gif", "nodir/x.gif"),
        ("export", "loop", "ask", "-o", "nodir/x.npz"),
        ("report", ".", "-o", "nodir/x.html"),
    ],
)
def test_where_a_file_goes_is_checked_before_any_work(monmdp, words):
    code, out, err = monmdp(*words)
    assert (code, out) == (2, "")
    assert err == f"error: cannot write {words[-1]}: there is no folder nodir\n"


def test_a_name_without_glyphs_or_end(monmdp, tmp_path):
    path = tmp_path / f"\N{SNAKE}{'long ' * 30}.txt"
    path.write_text("@.\n.$\n")
    code, _, err = monmdp("show", str(path), "--png", str(tmp_path / "x.png"))
    assert (code, err) == (0, "")


def test_solve_prints_what_there_is_to_know(monmdp):
    code, out, _ = monmdp("solve", "bottleneck", "button", "rho=0.05")
    assert code == 0
    for text in (
        "no: 25 of 180 pairs",
        "0.05",
        "0.194316",
        "monitor state ON",
        "price",
        "5,1      RIGHT",
    ):
        assert text in out
    code, out, _ = monmdp("solve", "treasure-hunter", "ask", "--what-if")
    assert "0.9       0.9        1  START LEFT" in out


def test_solve_json(monmdp):
    code, out, _ = monmdp("solve", "bottleneck", "button", "rho=0.05", "--json", "--gamma", "0.99")
    data = json.loads(out)
    assert code == 0
    assert {"world", "monitor", "gamma", "solvable", "rho", "value", "episode_return", "price",
            "never_observable"} <= set(data)  # fmt: skip
    assert (data["world"], data["monitor"], data["gamma"]) == ("bottleneck", "button", 0.99)
    assert data["solvable"] is False
    assert data["rho"] == 0.05
    assert data["value"] == pytest.approx(0.1943, abs=5e-5)
    assert len(data["never_observable"]) == 25
    assert data["parameters"] == {"rho": "0.05"}
    assert len(data["policy"]) == 72
    assert data["policy"][2 * 35] == [4]  # on the chest, monitor OFF: STAY
    hidden = json.loads(monmdp("solve", "loop", "ask", "rho=0", "--json")[1])
    assert hidden["rho"] is None
    what = json.loads(monmdp("solve", "treasure-hunter", "ask", "--what-if", "--json")[1])
    assert what["what_if"][0]["gain"] == pytest.approx(0.9)
    one = json.loads(
        monmdp("solve", "bottleneck", "ask", "--what-if", "--pair", "0,1:RIGHT", "--json")[1]
    )
    assert [(w["state"], w["action"]) for w in one["what_if"]] == [(1, 2)]


def test_a_map_of_ones_own_and_a_problem_file(monmdp, tmp_path):
    path = tmp_path / "my_map.txt"
    path.write_text("button: 0,0 LEFT\n---\n@?$\n...\n")
    code, out, _ = monmdp("solve", str(path), "button")
    assert code == 0
    assert "can never be seen" in out
    file = str(tmp_path / "problem.npz")
    assert monmdp("export", str(path), "button", "rho=0.5", "-o", file)[0] == 0
    from_file = json.loads(monmdp("solve", file, "--json")[1])
    direct = json.loads(monmdp("solve", str(path), "button", "rho=0.5", "--json")[1])
    assert from_file["value"] == direct["value"]
    assert from_file["rho"] == 0.5
    assert monmdp("show", file)[0] == 0
    assert monmdp("check", file)[0] == 0
    assert "takes no parameters" in monmdp("show", file, "slip=0.1")[2]


def test_factories_of_ones_own(monmdp, tmp_path):
    (tmp_path / "cli_things.py").write_text(
        "from monmdp import Monitor\n"
        "def watch(rho: float = 1.0):\n"
        "    return Monitor(states=['ON'], actions=['NO-OP'], start=[1.0], transition=[[[1.0]]],\n"
        "                   reward=[[0.0]], show=[[rho]])\n"
    )
    data = json.loads(monmdp("solve", "loop", "cli_things:watch", "rho=0.25", "--json")[1])
    assert data["rho"] == 0.25


def test_check(monmdp):
    code, out, _ = monmdp("check", "river-swim", "semi-random")
    assert code == 0
    assert "passed" in out
    assert "biased observation" in out
    assert json.loads(monmdp("check", "loop", "ask", "--json")[1]) == {"passed": True, "notes": []}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("solve", "botleneck", "ask"), "did you mean 'bottleneck'"),
        (("solve", "bottleneck", "aks"), "did you mean 'ask'"),
        (("solve", "bottleneck"), "which monitor?"),
        (("solve", "bottleneck", "rho=1"), "which monitor?"),
        (("solve", "bottleneck", "ask", "rho=2"), "rho is a probability"),
        (("solve", "bottleneck", "ask", "rho"), "parameters are written key=value"),
        (("solve", "bottleneck", "ask", "roh=1"), "did you mean 'rho'"),
        (("solve", "bottleneck", "level-up", "start=uniform"), "ambiguous"),
        (("solve", "bottleneck", "ask", "--gamma", "2"), r"gamma must lie in \[0, 1\]"),
        (("solve", "bottleneck", "ask", "--gamma", "x"), "gamma"),
        (("solve", "bottleneck", "ask", "--pair", "0,1:RIGHT"), "goes with --what-if"),
        (
            ("solve", "bottleneck", "ask", "--what-if", "--pair", "0,0:UP"),
            "can be seen already",
        ),
        (("solve", "bottleneck", "ask", "--what-if", "--pair", "x"), "STATE:ACTION"),
        (("solve", "none.npz"), "no such file"),
        (("solve", "none.txt", "ask"), "no such map file"),
        (("solve", "bottleneck", "button", "button=9,9:DOWN"), "is not a cell"),
        (("solve", "bottleneck", "n-experts", "n=-4"), "at least 1"),
        (("solve", "bottleneck", "ask", "--jsn"), "no such option --jsn; did you mean '--json'"),
        (("solv", "bottleneck", "ask"), "no such command 'solv'; did you mean 'solve'"),
        (("--versoin",), "no such option --versoin; did you mean '--version'"),
        (("run", "beyond", "--no-quick"), "no such option --no-quick; did you mean '--quick'"),
        (("train",), "missing argument .*; see monmdp train --help"),
        (("train", "loop", "ask", "--seeds"), "option '--seeds' requires an argument"),
        (("train", "loop", "ask", "--seeds", "x"), "invalid value for '--seeds'"),
        (("train", "loop", "ask", "--evaluation", "exat"), "'exact' or 'monte-carlo', got 'exat'"),
        (("show", "loop", "--png", "no/where.png"), "cannot write"),
        (("show", "loop", "--png", "x.bmp"), "must end in"),
        (("show", "loop", "monitor.rho=3"), "there is only world 'loop' here"),
        (("solve", "bottleneck", "rho=1", "button"), "it comes before the parameters"),
        (("solve", "gymnasium:FrozenLake-v1", "ask", "map_name=9x9"), "gymnasium cannot make"),
        (("export", "loop", "ask", "-o", "x.txt"), "must end in .npz"),
        (
            ("train", "loop", "ask", "--agent", "mbie-eb", "--agent", "optimistic"),
            "--agent is given twice and takes one value; monmdp compare .* --agents A,B",
        ),
        (("export", "loop", "ask", "-o", "x.npz", "--out", "y.npz"), "--out is given twice"),
        (("compare", "loop", "ask", "--agents=a", "--agents=b"), "have commas between them"),
        (("solve", "loop", "ask", "gamma=0.95"), "no parameter 'gamma'; .*option here, --gamma"),
        (("solve", "loop", "ask", "what_if=1"), "it is an option here, --what-if"),
        (("train", "loop", "ask", "seeds=1"), "it is an option here, --seeds"),
        (("train", "loop", "ask", "--gamma", ".9"), "no such option --gamma; .*write gamma=VALUE"),
    ],
)
def test_errors_are_one_line_and_a_code(monmdp, words, message):
    import re

    code, _, err = monmdp(*words)
    assert code == 2
    assert re.search(message, err), err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_without_words_there_is_help(monmdp):
    code, out, err = monmdp()
    assert (code, err) == (0, "")
    assert out.startswith("Usage: monmdp ")


def test_damaged_files_are_named(monmdp, tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04garbage")
    code, _, err = monmdp("solve", str(tmp_path / "bad.npz"))
    assert code == 2
    assert "bad.npz: damaged" in err
    (tmp_path / "empty.txt").write_text("")
    code, _, err = monmdp("solve", str(tmp_path / "empty.txt"), "ask")
    assert code == 2
    assert "the map is empty" in err


def test_the_installed_command_answers():
    out = subprocess.run(
        [sys.executable, "-m", "monmdp", "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert out.startswith("monmdp ")


def test_light_imports_stay_light():
    """What makes starting slow must not be imported by `import monmdp` or `monmdp --help`."""
    code = (
        "import sys, monmdp, monmdp.cli; "
        "print([m for m in ('numba', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_small_problem_is_solved_without_compiling():
    code = (
        "import sys; sys.argv = ['monmdp', 'solve', 'bottleneck', 'button', '--json'];"
        "from monmdp import cli\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "print('numba' in sys.modules, file=sys.stderr)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stderr.strip() == "False"
    assert json.loads(out.stdout)["rho"] == 1.0


# ---- train, evaluate, warmup --------------------------------------------------------------------


def test_train_prints_a_table_and_leaves_runs_and_a_picture(monmdp, tmp_path):
    code, out, _ = monmdp("train", "bottleneck", "button", "--seeds", "2", "--steps", "5000")
    assert code == 0
    for text in (
        "bottleneck / button   factored-mbie-eb",
        "2 seeds, 5,000 steps, exact evaluation with discount 0.99",
        "minimax episode return   0.194316",
        "end return               0.194316 ± 0 (95 % interval over seeds), mean of the last 10",
        "seeds converged          2 of 2",
        "steps to 1 %             median",
        "observable rewards seen  ",
        "test return              ",
        "Fewer than 5 seeds: intervals say little.\n",
    ):
        assert text in out
    results = tmp_path / "results"
    (runs,), (report,) = (results / "runs").iterdir(), (results / "reports").iterdir()
    assert runs.name.startswith("bottleneck-button-factored-mbie-eb-")
    assert sorted(p.name for p in runs.iterdir()) == [
        "seed-0000.inside.parquet", "seed-0000.parquet", "seed-0001.inside.parquet",
        "seed-0001.parquet",
    ]  # fmt: skip
    assert report.name.startswith("train-bottleneck-button-factored-mbie-eb-")
    assert (report / "train.png").read_bytes().startswith(b"\x89PNG")
    assert f"picture                  results/reports/{report.name}/train.png" in out
    assert "results/runs  (2 runs)" in out
    assert len(list((results / "problems").glob("*.npz"))) == 1
    assert not list(results.rglob("*.part"))


def test_train_json(monmdp):
    words = ("train", "loop", "ask", "beta=0.001", "rho=0.5", "--steps=3000", "--seeds=3", "--json")
    words += ("--agent", "monitored-mbie-eb", "--evaluation", "monte-carlo", "--preset", "released")
    code, out, err = monmdp(*words)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["episode_return_minimax"] == pytest.approx(0.9606, abs=1e-4)
    assert found["end_return_low"] <= found["end_return"] <= found["end_return_high"]
    assert found["seeds"] == len(found["steps_to_1pct"]) == 3
    assert found["seeds_converged"] == sum(s is not None for s in found["steps_to_1pct"])
    assert found["parameters"]["beta"] == 0.001
    assert found["parameters"]["growth"] == "log"
    assert (
        found["problem_parameters"].items()
        >= {"world.one_way": "block", "monitor.rho": 0.5}.items()
    )
    assert (found["evaluation"], found["episodes"], found["preset"]) == (
        "monte-carlo", 100, "released",
    )  # fmt: skip
    words = ("train", "loop", "ask", "--steps=50", "--seeds=1", "--json")
    one = json.loads(monmdp(*words, "--every=25")[1])
    assert one["end_return_low"] is one["end_return_high"] is None
    assert one["steps_to_1pct"] == [None]
    code, out, err = monmdp(*words)
    assert (code, out) == (2, "")
    assert err == (
        "error: loop / ask, factored-mbie-eb: 50 steps with a test every 100 are one test; a "
        "learning curve has two or more (--every)\n"
    )


def test_train_says_when_the_agent_was_sure(monmdp):
    words = ("train", "loop", "ask", "--steps=400", "--jobs=1")
    found = json.loads(monmdp(*words, "--seeds=4", "--json")[1])["certified"]
    sure = sorted(step for step in found if step is not None)
    assert len(found) == 4
    assert sure
    median = f"{(sure[(len(sure) - 1) // 2] + sure[len(sure) // 2]) / 2:,.0f}"
    line = f"certified within 0.01    after {median} steps (median; {len(sure)} of 4 seeds)\n"
    assert line in monmdp(*words, "--seeds=4")[1]
    assert f"certified within 0.01    after {found[0]} steps\n" in monmdp(*words, "--seeds=1")[1]
    never = monmdp(*words, "--seeds=1", "epsilon=0", "net=0")[1]
    assert "certified within 0       no seed\n" in never
    words = (*words, "--agent=monitored-mbie-eb", "--seeds=1")
    assert json.loads(monmdp(*words, "--json")[1])["certified"] == [None]
    assert "certified" not in monmdp(*words)[1]


def test_train_goes_on_where_it_stopped(monmdp, tmp_path):
    words = ("train", "loop", "ask", "--steps", "300", "--out", "here", "--json")

    def stamps():
        return {p: p.stat().st_mtime_ns for p in (tmp_path / "here/runs").rglob("*.parquet")}

    assert monmdp(*words, "--seeds", "2")[0] == 0
    before = stamps()
    assert monmdp(*words, "--seeds", "4", "--jobs", "2")[0] == 0
    after = stamps()
    assert (len(before), len(after)) == (2 * 2, 2 * 4)  # and what is inside of them
    assert {path: after[path] for path in before} == before
    # Other settings are other runs, in the same folder.
    assert monmdp(*words, "--seeds", "2", "caution=2")[0] == 0
    assert len(stamps()) == 2 * 6
    assert {path: stamps()[path] for path in after} == after
    code, out, _ = monmdp("train", "loop", "ask", "--steps=300", "--out=here", "--seeds=4")
    assert code == 0
    assert "here/runs  (4 runs, 4 already there)" in out


def test_train_keeps_snapshots_of_the_first_seed(monmdp, tmp_path):
    words = ("train", "loop", "ask", "--agent", "monitored-mbie-eb", "--steps", "400", "--seeds=2")
    assert monmdp(*words, "--every=50")[0] == 0
    files = sorted((tmp_path / "results/runs").rglob("seed-000?.parquet"))
    plain = [load_run(path) for path in files]
    assert [len(run.snapshot_steps) for run in plain] == [0, 0]
    # The runs are there, but not all that is wanted of the first one.
    code, out, _ = monmdp(*words, "--every=50", "--snapshots=4")
    assert code == 0
    assert "(2 runs, 1 already there)" in out
    again = [load_run(path) for path in files]
    assert again[0].snapshot_steps.tolist() == [0, 25, 100, 225, 400]
    assert again[0].snapshots["n"].shape[0] == 5
    assert not len(again[1].snapshot_steps)
    for before, after in zip(plain, again, strict=True):
        assert before.data() == after.data()
        assert (before.policy.probability == after.policy.probability).all()
    # Other snapshots come on top of those that are there, and what has all of them is left alone.
    assert "(2 runs, 1 already there)" in monmdp(*words, "--every=50", "--snapshots=3")[1]
    more = load_run(files[0])
    assert more.snapshot_steps.tolist() == [0, 25, 45, 100, 178, 225, 400]
    same = np.isin(more.snapshot_steps, again[0].snapshot_steps)
    assert (more.snapshots["n"][same] == again[0].snapshots["n"]).all()
    for fewer in ("--snapshots=4", "--snapshots=0"):
        assert "(2 runs, 2 already there)" in monmdp(*words, "--every=50", fewer)[1]
        assert load_run(files[0]).snapshot_steps.tolist() == more.snapshot_steps.tolist()


def test_runs_done_again_keep_what_was_inside_of_them(monmdp, tmp_path, monkeypatch):
    words = ("train", "loop", "ask", "--agent=r-max", "--steps=400", "--every=50", "--seeds=2")
    assert monmdp(*words, "--snapshots=2")[0] == 0
    files = sorted((tmp_path / "results/runs").rglob("seed-000?.parquet"))
    monkeypatch.setattr("monmdp.suites.configuration.kernel_hash", lambda _: "another")
    assert "(2 runs)" in monmdp(*words, "--stale")[1]
    runs = [load_run(path) for path in files]
    assert [run.snapshot_steps.tolist() for run in runs] == [[0, 100, 400], []]
    assert {run.provenance["kernel"] for run in runs} == {"another"}
    footer, _ = read_sealed(inside_path(files[0]), INSIDE_FORMAT)
    assert footer["kernel"] == "another"


def test_a_folder_of_the_old_kind_is_refused_in_one_line(monmdp, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    (old / "settings.json").write_text("{}")
    (old / "seed-0000.npz").write_bytes(b"PK")
    before = sorted(old.rglob("*"))
    for words in (
        ("train", "loop", "ask", "--steps", "300", "--out", "old"),
        ("compare", "loop", "ask", "--steps", "300", "--out", "old", "--agents", "ucb"),
        ("reproduce", "figure-5", "--seeds", "1", "--out", "old"),
        ("report", "old"),
        ("status", "old"),
        ("redraw", "old"),
        ("verify", "old"),
        ("evaluate", "old", "loop", "ask"),
        ("evaluate", "old/seed-0000.npz", "loop", "ask"),
    ):
        code, out, err = monmdp(*words)
        assert (code, out) == (2, ""), words
        assert err == (
            "error: old holds runs of an earlier version (seed-….npz), which this one cannot read; "
            "choose another folder\n"
        )
    with pytest.raises(MonMDPError, match="an earlier version"):
        load_run(old / "seed-0000.npz")
    with pytest.raises(MonMDPError, match="an earlier version"):
        load_results(old)
    assert sorted(old.rglob("*")) == before


def test_train_on_a_problem_file_and_with_an_agent_of_ones_own(monmdp, tmp_path):
    assert monmdp("export", "loop", "button", "-o", "problem.npz")[0] == 0
    code, out, _ = monmdp("train", "problem.npz", "caution=2", "--steps", "300", "--seeds", "1")
    assert code == 0
    assert "loop / button   factored-mbie-eb caution=2" in out
    (tmp_path / "mine.py").write_text((ROOT / "examples" / "wanderer.py").read_text())
    code, out, _ = monmdp(
        "train", "loop", "ask", "restlessness=0.5", "--agent", "mine:Wanderer", "--steps", "300",
        "--seeds", "2", "--jobs", "1",
    )  # fmt: skip
    assert code == 0
    assert "mine:Wanderer" in out
    code, _, err = monmdp("train", "loop", "ask", "restless=1", "--agent", "mine:Wanderer")
    assert code == 2
    assert "did you mean 'restlessness'" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bottleneck", "button", "--agent", "monitored-mbie"), "did you mean 'monitored-mbie-eb'"),
        (("bottleneck", "buton"), "did you mean 'button'"),
        (("botleneck", "button"), "did you mean 'bottleneck'"),
        (("bottleneck", "button", "cauton=2"), "did you mean 'caution'"),
        (("bottleneck", "button", "--steps", "0"), "--steps must be a whole number of at least 1"),
        (("bottleneck", "button", "--seeds", "-3"), "--seeds must be a whole number of at least 1"),
        (("bottleneck", "button", "--jobs", "0"), "--jobs must be a whole number of at least 1"),
        (("bottleneck", "semi-random", "--agent", "known-monitor"), "not offered for monitor"),
        (("bottleneck", "button", "gamma=1"), "need a discount below 1"),
        (("bottleneck", "button", "--evaluation", "exat"), "'exact' or 'monte-carlo', got 'exat'"),
        (("bottleneck", "button", "--preset", "papr"), "did you mean 'paper'"),
        (("bottleneck",), "which monitor?"),
    ],
)
def test_train_refuses_before_any_work(monmdp, tmp_path, words, message):
    code, out, err = monmdp("train", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "results").exists()


def test_evaluate(monmdp):
    assert (
        monmdp("train", "bottleneck", "button", "--seeds=1", "--steps=5000", "--out=here")[0] == 0
    )
    (run,) = map(str, Path("here/runs").glob("*/seed-0000.parquet"))
    code, out, _ = monmdp("evaluate", run, "bottleneck", "button", "rho=0.05")
    assert code == 0
    assert "worst case return        0.194316" in out
    assert "agent factored-mbie-eb" in out
    assert "bottleneck / button rho=0.05, exact, gamma 0.99" in out
    found = json.loads(
        monmdp(
            "evaluate", run, "bottleneck", "button", "--json",
            "--evaluation=monte-carlo", "--episodes=7",
        )[1]
    )  # fmt: skip
    assert found["origin"]["seed"] == 0
    assert found["goal_visits"] == 1
    code, _, err = monmdp("evaluate", run, "bottleneck", "ask")
    assert code == 2
    assert "36 x 2 states, 5 x 1 actions" in err
    code, _, err = monmdp("evaluate", "nowhere.npz", "bottleneck", "ask")
    assert (code, err) == (2, "error: nowhere.npz: no such file\n")
    for folder in ("here", Path(run).parent):
        code, _, err = monmdp("evaluate", folder, "bottleneck", "button")
        wanted = f"error: {folder} is a folder; give the file of a run, such as {run}\n"
        assert (code, err) == (2, wanted)
    code, _, err = monmdp("evaluate", "nowhere.parquet", "bottleneck", "ask")
    assert (code, err) == (2, "error: nowhere.parquet: no such file\n")
    # A policy of its own, and a run that kept none.
    load_run(run).policy.save("policy.npz")
    alone = json.loads(monmdp("evaluate", "policy.npz", "bottleneck", "button", "--json")[1])
    assert alone == json.loads(monmdp("evaluate", run, "bottleneck", "button", "--json")[1])
    inside = run.replace("seed-0000.parquet", "seed-0000.inside.parquet")
    assert monmdp("evaluate", inside, "bottleneck", "button")[0] == 0
    Path(inside).unlink()
    code, _, err = monmdp("evaluate", run, "bottleneck", "button")
    assert code == 2
    assert "there is no policy of this run" in err


@pytest.mark.slow
def test_warmup(monmdp):
    code, out, _ = monmdp("warmup")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(agents.registry)
