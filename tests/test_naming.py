"""Names, parameters and the command line's key=value."""

from __future__ import annotations

import sys

import joblib
import pytest

from monmdp import MonMDPError, make, monitors, naming, worlds
from monmdp.naming import Parameter, import_object, looking_in, parse_assignments


def test_flat_keys_find_their_owner():
    m = make("bottleneck", "n-experts", n="2", rho="0.25", slip="0.1", time_limit="7")
    assert (m.monitor.n_states, m.mdp.time_limit) == (2, 7)
    assert m.observability().max() == pytest.approx(0.25)


def test_a_key_that_two_things_have_must_say_whose():
    with pytest.raises(
        MonMDPError, match=r"'start' is ambiguous: .*world\.start=… or monitor\.start"
    ):
        make("bottleneck", "level-up", start="uniform")
    m = make("bottleneck", "level-up", **{"monitor.start": "uniform", "world.start": "1,1"})
    assert m.monitor.start[0] == pytest.approx(1 / 3)
    assert m.mdp.start.argmax() == 7
    assert make("bottleneck", "ask", start="1,1").mdp.start.argmax() == 7


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rhoo": 1}, "have no parameter 'rhoo'; did you mean 'rho'"),
        ({"monitor.rhoo": 1}, "monitor 'ask' has no parameter 'rhoo'; did you mean 'rho'"),
        ({"montor.rho": 1}, "unknown prefix in 'montor.rho'; did you mean 'monitor'"),
        ({"one_way": "pull"}, "one_way='pull'; did you mean 'push'"),
        ({"slip": 3}, "slip is a probability"),
        ({"slip": "x"}, "slip must be a number"),
        ({"solvable": "maybe"}, "solvable must be true or false"),
        ({"time_limit": "soon"}, "time_limit must be a whole number"),
        ({"time_limit": "5.5"}, "time_limit must be a whole number"),
        ({"time_limit": -1}, "time_limit must be a whole number of at least 1"),
        ({"start": "7,7"}, "lies outside the map"),
        ({"r_min": 5}, "above r_max|outside"),
        ({"rho": 0.5, "monitor.rho": 0.6}, "given twice"),
    ],
)
def test_bad_keys_and_values(params, message):
    with pytest.raises(MonMDPError, match=message):
        make("bottleneck", "ask", **params)


def test_names_of_the_wrong_kind():
    with pytest.raises(MonMDPError, match="a world is a name or a finished MDP"):
        make(3, "ask")
    with pytest.raises(MonMDPError, match="this world and monitor 'ask' have no parameter 'slip'"):
        make(worlds.make("loop"), "ask", slip=0.1)


@pytest.fixture
def my_module(tmp_path, request):
    name = f"my_things_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(
        "from monmdp import Monitor, worlds\n"
        "def world(size: int = 3):\n"
        "    return worlds.grid_world('start: 0,0\\n---\\n' + '\\n'.join(['.' * size] * size))\n"
        "def monitor(rho: float = 1.0):\n"
        "    return Monitor(states=['ON'], actions=['NO-OP'], start=[1.0], transition=[[[1.0]]],\n"
        "                   reward=[[0.0]], show=[[rho]])\n"
        "def wrong():\n    return 3\n"
        "constant = 5\n"
        "def boom():\n    raise RuntimeError('my boom')\n"
        "def needs(size):\n    return world(size)\n"
    )
    (tmp_path / f"{name}_broken.py").write_text("1/0\n")
    return name


def test_factories_of_ones_own(my_module):
    m = make(f"{my_module}:world", f"{my_module}:monitor", size=4, rho=0.5)
    assert m.n_states == 16
    assert m.observability().max() == 0.5
    assert m.monitor.name == f"{my_module}:monitor"
    for name, message in (
        (f"{my_module}:wurld", "did you mean 'world'"),
        (f"{my_module}:wrong", "returned an int; an MDP expected"),
        (f"{my_module}:constant", "is an int; a world is a function that returns an MDP"),
        (f"{my_module}_broken:x", "importing it failed, ZeroDivisionError"),
        ("no_such_module:x", "there is no module 'no_such_module'"),
        ("not a module:x", "is not a module name"),
        (f"{my_module}:boom", "raised RuntimeError: my boom"),
        (f"{my_module}:needs", "needs size=…"),
        ("math:sqrt", "not a function with named parameters|needs|raised"),
        (f"{my_module}_gone.py:world", "there is no file .*; looked in"),
        ("folder/my_module.txt:world", "no such map file"),
    ):
        with pytest.raises(MonMDPError, match=message):
            worlds.make(name)


WATCH = """
from chance import chance
from monmdp import Monitor

def watch(rho: float = chance):
    return Monitor(states=["ON"], actions=["NO-OP"], start=[1.0], transition=[[[1.0]]],
                   reward=[[0.0]], show=[[rho]])
"""


@pytest.fixture
def two_folders(tmp_path, monkeypatch):
    """Two folders with a module of the same name, in neither of which we are."""
    for folder, rho in (("a", 0.25), ("b", 0.75)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "watches.py").write_text(WATCH)
        (tmp_path / folder / "chance.py").write_text(f"chance = {rho}")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    yield tmp_path
    with looking_in(elsewhere), pytest.raises(MonMDPError):
        monitors.make("watches:watch")  # which forgets them
    assert not naming._folder_of


def test_names_are_found_in_given_folders(two_folders):
    with pytest.raises(MonMDPError, match=r"no module 'watches'; looked in .*elsewhere$"):
        monitors.make("watches:watch")
    with pytest.raises(MonMDPError, match=r"no module 'clocks'; looked in .*elsewhere, .*/a$"):
        import_object("clocks:watch", "monitor", [two_folders / "a"])
    before = None
    for folder, rho in (("a", 0.25), ("b", 0.75), ("a", 0.25)):
        found = import_object("watches:watch", "monitor", [two_folders / folder])
        assert found().show.max() == rho
        before = before or list(sys.path)
        assert sys.path == before  # but for the working directory
        with looking_in(two_folders / folder):
            assert make("loop", "watches:watch").observability().max() == rho
            with looking_in(two_folders / "elsewhere"):
                assert monitors.make("watches:watch").show.max() == rho
    with pytest.raises(MonMDPError, match="no module 'watches'"):
        monitors.make("watches:watch")


def test_names_may_be_paths(two_folders):
    for folder, rho in (("a", 0.25), ("b", 0.75)):
        path = two_folders / folder / "watches.py"
        assert monitors.make(f"{path}:watch").show.max() == rho
        assert monitors.make(f"../{folder}/watches.py:watch").show.max() == rho
        with looking_in(two_folders / folder):
            assert monitors.make("watches.py:watch").show.max() == rho
    with pytest.raises(MonMDPError, match="did you mean 'watch'"):
        monitors.make(f"{two_folders}/a/watches.py:wacht")
    (two_folders / "a" / "broken.py").write_text("import no_such_thing")
    for _ in "ab":  # a module that failed is not kept
        with pytest.raises(MonMDPError, match="importing it failed, ModuleNotFoundError"):
            monitors.make(f"{two_folders}/a/broken.py:watch")


def test_worker_processes_find_names_as_well(two_folders):
    with looking_in(two_folders / "b"):
        monitors.make("watches:watch")
        found = joblib.Parallel(n_jobs=2)(
            joblib.delayed(_shown_in)(two_folders / folder) for folder in "ab"
        )
    assert found == [0.25, 0.75]


def _shown_in(folder):
    with looking_in(folder):
        return float(monitors.make("watches:watch").show.max())


def test_a_world_may_be_given_by_its_path(tmp_path):
    path = tmp_path / "map.txt"
    path.write_text("@.$\n")
    assert make(path, "ask").n_states == worlds.make(path).n_states == 3
    with pytest.raises(MonMDPError, match="is a folder"):
        worlds.make(f"{tmp_path}/")
    with pytest.raises(MonMDPError, match="the name of a world expected"):
        worlds.make(3)


def test_assignments():
    assert parse_assignments(["a=1", "b.c=x=y"]) == {"a": "1", "b.c": "x=y"}
    with pytest.raises(MonMDPError, match="'rho': parameters are written key=value"):
        parse_assignments(["rho"])
    with pytest.raises(MonMDPError, match="'a' is given twice"):
        parse_assignments(["a=1", "a=2"])


@pytest.mark.parametrize(
    ("annotation", "given", "expected"),
    [
        (int, "5", 5), (int, 5.0, 5), (float, "1e-3", 1e-3), (float, 2, 2.0), (bool, "yes", True),
        (bool, "0", False), (bool, True, True), (int | None, "none", None),
        (int | None, None, None), (str | None, "x", "x"),
    ],
)  # fmt: skip
def test_coercion(annotation, given, expected):
    value = Parameter("p", annotation, None).coerce(given, "here")
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "given"), [(int, "1.5"), (int, 1.5), (int, True), (bool, 3), (float, None)]
)
def test_coercion_refuses(annotation, given):
    with pytest.raises(MonMDPError, match="here: p must be"):
        Parameter("p", annotation, None).coerce(given, "here")


def test_whole_numbers_may_be_written_as_1e3():
    assert worlds.make("empty", time_limit="1e3").time_limit == 1000
    assert worlds.make("empty", time_limit="+20").time_limit == 20
