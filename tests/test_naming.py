"""Names, parameters and the command line's key=value."""

from __future__ import annotations

import pytest

from monmdp import MonMDPError, make, worlds
from monmdp.naming import Parameter, parse_assignments


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
        ("not a module:x", "is no module name"),
        (f"{my_module}:boom", "raised RuntimeError: my boom"),
        (f"{my_module}:needs", "needs size=…"),
        ("math:sqrt", "no function with named parameters|needs|raised"),
        (f"{my_module}.py:world", f"write {my_module}:world"),
    ):
        with pytest.raises(MonMDPError, match=message):
            worlds.make(name)


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
