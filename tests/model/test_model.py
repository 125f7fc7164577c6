"""MDP, Monitor, MonMDP: validation, indices, exports, files."""

from __future__ import annotations

import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given

from conftest import MONITORS, WORLDS, random_monmdp, seeds
from monmdp import MDP, Monitor, MonMDP, MonMDPError, join, make
from monmdp.experiment import fingerprint


def tiny(**changes):
    fields = {
        "name": "tiny", "n_states": 2, "n_actions": 1, "first": [0, 2, 3], "successor": [0, 1, 1],
        "probability": [0.25, 0.75, 1.0], "reward": [0.0, 1.0, -1.0],
        "terminates": [False, False, True], "hidden": [False, False, True], "start": [1.0, 0.0],
        "r_min": -1.0, "r_max": 1.0,
    }  # fmt: skip
    return MDP(**(fields | changes))


def on_off(**changes):
    fields = {
        "states": ["OFF", "ON"], "actions": ["NO-OP"], "start": [0.5, 0.5],
        "transition": [[[0.9, 0.1]], [[0.2, 0.8]]], "reward": [[0.0], [-0.2]],
        "show": [[0.0], [1.0]],
    }  # fmt: skip
    return Monitor(**(fields | changes))


def test_arrays_are_frozen_and_independent_of_the_callers():
    mine = np.array([0.25, 0.75, 1.0])
    mdp = tiny(probability=mine)
    mine[0] = 9
    assert mdp.probability[0] == 0.25
    with pytest.raises(ValueError, match="read-only"):
        mdp.probability[0] = 1
    with pytest.raises(AttributeError):
        mdp.r_min = 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probability": [0.25, 0.7, 1.0]}, r"state '0', action '0' sum to 0.95"),
        ({"probability": [0.0, 1.0, 1.0]}, "must be positive"),
        ({"probability": [np.nan, 1.0, 1.0]}, r"nan at index \[0\]"),
        ({"successor": [0, 5, 1]}, "successor 5 of state '0', action '0' is not a state"),
        ({"reward": [0.0, 7.0, 0.0]}, r"reward 7 .* outside \[r_min, r_max\] = \[-1, 1\]"),
        ({"reward": [0.0, np.inf, 0.0]}, "inf"),
        ({"start": [0.5, 0.4]}, "sum to 0.9"),
        ({"start": [-0.5, 1.5]}, r"must lie in \[0, 1\]"),
        ({"start": [1.0]}, r"shape \(2,\) expected"),
        ({"first": [0, 0, 3]}, "no outcome is given for state '0', action '0'"),
        ({"n_states": -1}, "n_states must be a whole number of at least 1"),
        ({"n_states": 0}, "at least 1"),
        ({"time_limit": 0}, "time_limit"),
        ({"time_limit": 2.5}, "whole number"),
        ({"r_min": 2.0}, "r_min 2.0 is above r_max"),
        ({"button": (7, 0)}, "state 7 does not exist"),
        ({"button": (0, "PUSH")}, "unknown action 'PUSH'"),
        ({"state_labels": ("a", "a")}, "used twice"),
        ({"picture": ("...",)}, "3 cells for 2 states"),
        ({"successor": [0.5, 1, 1]}, "whole numbers expected"),
        ({"successor": "abc"}, "not an array"),
        ({"button": 3}, r"\(state, action\) expected"),
        ({"button": (1.5, 0)}, "a state must be a whole number"),
        ({"reward": [[0.0], [1.0, 2.0]]}, "equally long"),
        ({"observations": [1.0, 2.0, 3.0]}, r"each of 2 states expected, got shape \(3,\)"),
        ({"observations": 7}, r"got shape \(\)"),
        ({"observations": np.zeros((2, 0))}, "shows nothing of a state"),
        ({"observations": ["a", "b"]}, "not an array of numbers"),
        ({"observations": [[1], [1, 2]]}, "equally long"),
        (
            {"observations": [[0.0, 1.0], [0.0, np.nan]]},
            "that of state '1' has a number that is not",
        ),
        ({"places": [[0, 1]]}, r"places: shape \(2, 2\) expected"),
        ({"places": [[0, 1], [-1, 1]]}, r"places: \(-1, 1\) of state '1'; row and column"),
        ({"places": [[0, 1], [0.5, 1]]}, "whole numbers expected"),
    ],
)
def test_a_wrong_mdp_is_refused_with_the_place(changes, message):
    with pytest.raises(MonMDPError, match=message):
        tiny(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transition": [[[0.9, 0.2]], [[0.2, 0.8]]]},
            "sum to 1.1 in class 0, monitor state 'OFF'",
        ),
        ({"show": [[0.0], [1.5]]}, "probability 1.5 in class 1, monitor state 'ON'"),
        ({"reward": [[0.0], [np.nan]]}, "nan"),
        ({"start": [1.0, 1.0]}, "sum to 2"),
        ({"states": []}, "non-empty"),
        ({"states": "ON"}, "list of labels"),
        ({"states": 2}, "list of labels"),
        ({"transition": [[0.9, 0.1], [0.2]]}, "equally long"),
        ({"transition": [0.9, 0.1]}, "expected, got"),
        ({"show": [1.0]}, "expected, got"),
        ({"transition": np.ones((2, 2, 1, 2)) / 2}, "need `pair_class`"),
        ({"show": np.ones((3, 2, 1))}, "need `outcome_class`"),
        ({"outcome_class": lambda o: o.hidden}, "axis of classes in front"),
    ],
)
def test_a_wrong_monitor_is_refused_with_the_place(changes, message):
    with pytest.raises(MonMDPError, match=message):
        on_off(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transition": np.ones((2, 2, 1, 2)) / 2, "pair_class": lambda _: [[0], [2]]},
            "class 2 at entry 1; the monitor has 2 tables",
        ),
        (
            {"transition": np.ones((2, 2, 1, 2)) / 2, "pair_class": lambda _: [0, 0, 0]},
            r"shape \(2,\) expected",
        ),
        ({"show": np.ones((1, 2, 1)), "outcome_class": lambda o: -1 - o.hidden}, "class -"),
    ],
)
def test_a_monitor_that_misclassifies_is_refused_on_joining(changes, message):
    with pytest.raises(MonMDPError, match=message):
        join(tiny(), on_off(**changes))


def test_outcomes_are_merged_and_impossible_ones_dropped():
    mdp = MDP.from_outcomes(
        [
            (0, 0, 0, 0.5, 1.0, False, False),
            (0, 0, 0, 0.25, 1.0, False, False),
            (0, 0, 0, 0.25, 1.0, True, False),
            (0, 0, 0, 0.0, 5.0, False, False),
        ],
        name="m", n_states=1, n_actions=1, start=[1.0],
    )  # fmt: skip
    assert mdp.n_outcomes == 2
    assert sorted(mdp.probability) == [0.25, 0.75]
    assert (mdp.r_min, mdp.r_max) == (1.0, 1.0)


def test_outcomes_with_wrong_indices_are_named():
    outcome = (0, 3, 0, 1.0, 0.0, False, False)
    with pytest.raises(MonMDPError, match="outcome 0: action 3 does not exist; there are 2"):
        MDP.from_outcomes([outcome], name="m", n_states=1, n_actions=2, start=[1.0])
    for bad in ([(0, 0, 0, 1.0)], [3], [outcome, (0,)]):
        with pytest.raises(MonMDPError, match="an outcome is"):
            MDP.from_outcomes(bad, name="m", n_states=1, n_actions=2, start=[1.0])
    with pytest.raises(MonMDPError, match="successor: shape"):
        MDP.from_columns(
            [0], [0], [0, 0], [1.0], [0.0], [0], [0], name="m", n_states=1, n_actions=1, start=[1]
        )  # fmt: skip
    with pytest.raises(MonMDPError, match="no outcome is given"):
        MDP.from_outcomes([], name="m", n_states=1, n_actions=2, start=[1.0])


@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("world", WORLDS)
def test_exports_agree_with_the_factors(world, monitor):
    m = make(world, monitor, rho=0.3)
    mdp, mon = m.mdp, m.monitor
    P = m.transition_matrix()
    assert P.shape == (m.n_states * m.n_actions, m.n_states)
    assert np.allclose(P.sum(axis=1), 1)
    dense = m.dense_transition()
    # Rebuild the joint dynamics from the factors by hand, pair by pair.
    rng = np.random.default_rng(0)
    for _ in range(20):
        se, sm = rng.integers(mdp.n_states), rng.integers(mon.n_states)
        ae, am = rng.integers(mdp.n_actions), rng.integers(mon.n_actions)
        pair = se * mdp.n_actions + ae
        row = np.zeros((mdp.n_states, mon.n_states))
        shown = 0.0
        mean = 0.0
        for o in range(mdp.first[pair], mdp.first[pair + 1]):
            to_monitor = mon.transition[m.pair_class[pair], sm, am]
            row[mdp.successor[o]] += mdp.probability[o] * to_monitor
            shown += mdp.probability[o] * mon.show[m.outcome_class[o], sm, am]
            mean += mdp.probability[o] * mdp.reward[o]
        s, a = m.joint_state(se, sm), m.joint_action(ae, am)
        assert np.allclose(dense[s, a], row.reshape(-1))
        assert m.observability()[s, a] == pytest.approx(shown)
        assert m.mean_reward()[s, a] == pytest.approx(mean + mon.reward[sm, am])


def test_names_are_short():
    m = make("bottleneck", "ask")
    assert repr(m) == "<MonMDP 'bottleneck' / 'ask': 36 joint states, 10 joint actions>"
    assert repr(m.mdp) == "<MDP 'bottleneck': 36 states, 5 actions>"
    assert len(repr(m.monitor)) < 80


def test_join_wants_its_two_parts():
    with pytest.raises(MonMDPError, match="join takes an MDP and a Monitor"):
        join(1, 2)

    def clumsy(_):
        raise KeyError("oops")

    with pytest.raises(MonMDPError, match=r"pair_class of monitor 'monitor' .*raised KeyError"):
        join(tiny(), on_off(pair_class=clumsy))


@given(seeds)
def test_joint_indices_go_both_ways(seed):
    m = random_monmdp(seed)
    s = np.arange(m.n_states)
    se, sm = m.split_state(s)
    assert (m.joint_state(se, sm) == s).all()
    assert (se * m.monitor.n_states + sm == s).all()
    a = np.arange(m.n_actions)
    assert (m.joint_action(*m.split_action(a)) == a).all()
    assert np.allclose(m.transition_matrix().sum(axis=1), 1)
    assert ((m.observability() >= 0) & (m.observability() <= 1)).all()


def same(a: MonMDP, b: MonMDP) -> bool:
    for name in ("first", "successor", "probability", "reward", "terminates", "hidden", "start",
                 "goal", "bottom", "r_min", "r_max", "time_limit", "state_labels", "picture",
                 "button", "action_labels", "name"):  # fmt: skip
        x, y = getattr(a.mdp, name), getattr(b.mdp, name)
        assert np.array_equal(x, y) if isinstance(x, np.ndarray) else x == y, name
    for name in ("start", "transition", "reward", "show", "pair_class", "outcome_class"):
        assert np.array_equal(getattr(a.monitor, name), getattr(b.monitor, name)), name
    return a.monitor.states == b.monitor.states and a.monitor.name == b.monitor.name


@pytest.mark.parametrize(
    ("world", "monitor"), [("bottleneck", "button"), ("river-swim", "semi-random")]
)
def test_files_and_pickles_hold_everything(world, monitor, tmp_path):
    m = make(world, monitor, rho=0.2)
    m.save(tmp_path / "m.npz")
    assert same(m, MonMDP.load(tmp_path / "m.npz"))
    copy = pickle.loads(pickle.dumps(m))
    assert same(m, copy)
    assert not copy.mdp.reward.flags.writeable
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]
    (tmp_path / "plain").touch()
    assert (tmp_path / "m.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_damaged_and_foreign_files_are_named(tmp_path):
    good = tmp_path / "good.npz"
    make("loop", "ask").save(good)
    data = good.read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: len(data) // 2])
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "foreign.npz", x=np.arange(3))
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(tmp_path / "less.npz", "w") as new:
        for entry in old.namelist():
            if entry != "mdp_reward.npy":
                new.writestr(entry, old.read(entry))
    for name in ("cut", "empty", "text", "foreign", "less"):
        with pytest.raises(MonMDPError, match=f"{name}.npz: .*damaged"):
            MonMDP.load(tmp_path / f"{name}.npz")
    with pytest.raises(MonMDPError, match="no such file"):
        MonMDP.load(tmp_path / "none.npz")
    complaints = []
    for spoiled in range(len(data) // 3, len(data), len(data) // 40):
        broken = bytearray(data)
        broken[spoiled] ^= 0xFF
        (tmp_path / "flip.npz").write_bytes(bytes(broken))
        try:  # a flip may do no harm
            MonMDP.load(tmp_path / "flip.npz")
        except MonMDPError as error:
            complaints.append(str(error))
    assert len(complaints) > 10
    assert all("flip.npz" in complaint for complaint in complaints)


def test_a_file_cannot_be_written_where_there_is_no_folder(tmp_path):
    with pytest.raises(MonMDPError, match="cannot write"):
        make("loop", "ask").save(tmp_path / "no" / "m.npz")
    with pytest.raises(MonMDPError, match=r"must end in \.npz"):
        make("loop", "ask").save(tmp_path / "m.npy")


def test_states_and_actions_can_be_named_in_several_ways():
    mdp = make("bottleneck", "ask").mdp
    assert mdp.find_state("5,1") == mdp.find_state((5, 1)) == mdp.find_state(31) == 31
    assert mdp.find_state("31") == 31
    assert mdp.find_action("down") == mdp.find_action("1") == mdp.find_action(1) == 1
    with pytest.raises(MonMDPError, match="row 9, column 9 is not a cell of the 6x6 map"):
        mdp.find_state("9,9")
    with pytest.raises(MonMDPError, match="did you mean 'DOWN'"):
        mdp.find_action("DWON")


TABLES = [
    np.arange(12, dtype=np.uint8).reshape(2, 2, 3),
    np.array([[-3, 300], [5, 6]], dtype=np.int64),
    np.array([[3], [5]], dtype=np.int16),
    np.array([[1, 0], [0, 1]], dtype=bool),
    np.array([0.5, -0.25], dtype=np.float32),
    np.array([[1.5, 2.5], [0.1, 1e300]], dtype=">f8"),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.dtype))
def test_observations_and_places_are_kept_in_files_and_pickles(table, tmp_path):
    problem = join(tiny(observations=table, places=[[2, 3], [-1, -1]]), on_off())
    mine = problem.mdp.observations
    assert mine.dtype == table.dtype.newbyteorder("=")
    assert np.array_equal(mine, table)
    assert not np.may_share_memory(mine, table)
    problem.save(tmp_path / "m.npz")
    for copy in (MonMDP.load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(problem))):
        assert copy.mdp.observations.dtype == mine.dtype
        assert np.array_equal(copy.mdp.observations, mine)
        assert copy.mdp.places.tolist() == [[2, 3], [-1, -1]]
        assert not copy.mdp.observations.flags.writeable
        assert not copy.mdp.places.flags.writeable
        assert fingerprint(copy) == fingerprint(problem)
    assert problem.mdp.with_outcome_rewards([0.0, 0.0, 0.0]).observations is not None


def test_what_an_agent_sees_is_part_of_the_problem_and_where_it_is_drawn_is_not():
    plain = join(tiny(), on_off())
    table = np.arange(4, dtype=np.uint8).reshape(2, 2)
    shown = fingerprint(join(tiny(observations=table), on_off()))
    others = [table + np.uint8(1), table.astype(np.int8), table[..., None]]
    prints = {fingerprint(join(tiny(observations=other), on_off())) for other in others}
    assert len({fingerprint(plain), shown, *prints}) == 5
    assert fingerprint(join(tiny(places=[[0, 0], [0, 0]]), on_off())) == fingerprint(plain)


def test_a_file_without_observations_says_nothing_of_them(tmp_path):
    problem = make("loop", "ask")
    problem.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as archive:
        assert not {"mdp_observations", "mdp_places"} & set(archive.files)
        assert not {"observations", "places"} & set(json.loads(str(archive["meta"])))
    loaded = MonMDP.load(tmp_path / "m.npz").mdp
    assert loaded.observations is None
    assert loaded.places is None


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"dtype": "uint8", "shape": [10**12]}, r"shape \(2, 3\), not \(2, 1,000,000,000,000\)"),
        ({"dtype": "uint8", "shape": [-3]}, "an axis must be a whole number"),
        ({"dtype": "uint8", "shape": [1, 3]}, r"shape \(2, 3\), not"),
        ({"dtype": "O", "shape": [3]}, "observations of type uint8, not O"),
        ({"dtype": "float64", "shape": [3]}, "not float64"),
        ({"dtype": None, "shape": [3]}, "not None"),
        ({"shape": [3]}, "'dtype' is missing"),
        ({}, "damaged"),
        (7, "damaged"),
    ],
)
def test_a_file_that_lies_about_its_observations_is_refused(said, complaint, tmp_path):
    path = tmp_path / "m.npz"
    table = np.ones((2, 3), dtype=np.uint8)
    join(tiny(observations=table), on_off()).save(path)
    with np.load(path) as archive:
        members = dict(archive)
    meta = json.loads(str(members["meta"])) | {"observations": said}
    np.savez(path, **(members | {"meta": np.array(json.dumps(meta))}))
    with pytest.raises(MonMDPError, match=rf"m\.npz: .*{complaint}"):
        MonMDP.load(path)
