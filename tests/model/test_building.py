"""Building from arrays: labels, merging, sharing, and files, each against the plain way."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monmdp import MDP, MonMDP, MonMDPError, make, worlds
from monmdp.files import read_archive, write_archive
from monmdp.model import merging
from monmdp.model.labels import NumberLabels, cells_of, checked_labels, code_points

# ---- labels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "plain"),
    [
        ([[0], [1], [2]], ("0", "1", "2")),
        ([[0, 0], [0, 12], [3, 4]], ("0,0", "0,12", "3,4")),
    ],
)
def test_number_labels_behave_like_the_tuple_they_stand_for(numbers, plain):
    labels = NumberLabels(numbers)
    assert labels == plain
    assert plain == labels
    assert labels != plain[:-1]
    assert labels != list(plain)
    assert labels == NumberLabels(numbers)
    assert labels != NumberLabels(numbers[:-1])
    assert hash(labels) == hash(plain)
    assert repr(labels) == repr(plain)
    assert len(labels) == len(plain)
    assert list(labels) == list(plain)
    assert list(reversed(labels)) == list(reversed(plain))
    assert labels[-1] == plain[-1]
    assert labels[1:] == plain[1:]
    assert labels[:0] == ()
    assert pickle.loads(pickle.dumps(labels)) == plain
    for i, label in enumerate(plain):
        assert labels[i] == label
        assert label in labels
        assert labels.index(label) == i
        assert labels.count(label) == 1
    with pytest.raises(IndexError):
        labels[len(plain)]
    with pytest.raises(ValueError, match="is not a label"):
        labels.index(plain[0], 1)


@pytest.mark.parametrize(
    "label", ["", "9", "00", "+1", " 1", "1 ", "-1", "1.0", "٣", "0,1", "0,,0", "0,0,0", 1, None,
              10**30, "9" * 40]
)  # fmt: skip
def test_nothing_else_is_a_label(label):
    for labels in (NumberLabels([[0], [1]]), NumberLabels([[0, 0], [1, 2]])):
        assert label not in labels
        assert labels.count(label) == 0
        with pytest.raises(ValueError, match="is not a label"):
            labels.index(label)


def test_labels_cannot_be_changed_from_outside():
    numbers = np.array([[0], [1]])
    labels = NumberLabels(numbers)
    numbers[0] = 7
    assert labels == ("0", "1")
    for kept in (labels, pickle.loads(pickle.dumps(labels))):
        with pytest.raises(ValueError, match="read-only"):
            kept.numbers[0] = 7


def test_the_first_label_that_is_used_twice_is_named():
    with pytest.raises(MonMDPError, match="label 'b' is used twice"):
        checked_labels(["a", "b", "c", "c", "b"], 5, "labels")
    with pytest.raises(MonMDPError, match="3 labels expected, got 2"):
        checked_labels(NumberLabels([[0], [1]]), 3, "labels")


def test_states_are_found_by_their_labels():
    mdp = worlds.grid_world("@.#\n..$")
    assert [mdp.find_state(label) for label in mdp.state_labels] == list(range(mdp.n_states))
    river = worlds.make("river-swim")
    assert [river.find_state(label) for label in river.state_labels] == list(range(6))
    with pytest.raises(MonMDPError, match="unknown state"):
        river.find_state("six")


@given(st.lists(st.text(".#é😀", max_size=4), min_size=1, max_size=4))
def test_cells_are_the_tiles_that_are_no_wall_in_reading_order(picture):
    plain = [(r, c) for r, row in enumerate(picture) for c, tile in enumerate(row) if tile != "#"]
    assert [tuple(cell) for cell in cells_of(picture).tolist()] == plain


def test_code_points_of_any_text():
    text = "a#⊥😀\ud800"
    assert code_points(text).tolist() == [ord(c) for c in text]


# ---- merging --------------------------------------------------------------------------------


def plainly_merged(columns, n_actions):
    """Sort by everything at once, then add up the probabilities of equal outcomes."""
    s, a, successor, p, r, ends, hidden = columns
    rows = sorted(
        (i for i in range(len(s)) if p[i] > 0),
        key=lambda i: (s[i] * n_actions + a[i], successor[i], r[i], ends[i], hidden[i]),
    )  # stable
    merged: list[list] = []
    for i in rows:
        key = (s[i] * n_actions + a[i], successor[i], r[i], ends[i], hidden[i])
        if merged and tuple(merged[-1][:5]) == key:
            merged[-1][5].append(p[i])
        else:
            merged.append([*key, [p[i]]])
    for row in merged:
        row[5] = np.add.reduce(np.array(row[5]))
    return merged


def some_columns(rng, n_states, n_actions, n):
    s = np.append(np.repeat(np.arange(n_states), n_actions), rng.integers(0, n_states, n))
    a = np.append(np.tile(np.arange(n_actions), n_states), rng.integers(0, n_actions, n))
    size = len(s)
    p = rng.random(size) * (rng.random(size) < 0.9)
    p[: n_states * n_actions] += 0.01
    pair = s * n_actions + a
    p /= np.bincount(pair, p)[pair]
    return [
        s, a, rng.integers(0, n_states, size), p, rng.choice([0.0, -0.0, 1.0, -0.5], size),
        rng.random(size) < 0.5, rng.random(size) < 0.5,
    ]  # fmt: skip


@pytest.mark.parametrize("one_number", [True, False])
@pytest.mark.parametrize("ordered", ["by chance", "by pair", "by pair and successor"])
@pytest.mark.parametrize("seed", range(5))
def test_outcomes_are_merged_as_one_would_by_hand(seed, ordered, one_number, monkeypatch):
    if not one_number:
        monkeypatch.setattr(merging, "LARGEST_KEY", 0)
    rng = np.random.default_rng(seed)
    columns = some_columns(rng, 4, 3, 60)
    keys = {"by chance": (), "by pair": (columns[1], columns[0])}
    by = keys.get(ordered, (columns[2], columns[1], columns[0]))
    if by:
        order = np.lexsort(by)
        columns = [column[order] for column in columns]
    start = np.full(4, 0.25)
    mdp = MDP.from_columns(*columns, name="m", n_states=4, n_actions=3, start=start)
    expected = plainly_merged([column.tolist() for column in columns], 3)
    found = zip(
        mdp.pair_of_outcome, mdp.successor, mdp.reward, mdp.terminates, mdp.hidden,
        mdp.probability, strict=True,
    )  # fmt: skip
    for row, plain in zip(found, expected, strict=True):
        assert [x.item() for x in row] == plain
        assert np.signbit(row[2]) == np.signbit(plain[2])


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 7))
def test_blocks_of_states_make_what_one_block_makes(seed, size):
    rng = np.random.default_rng(seed)
    columns = some_columns(rng, 7, 2, 40)
    order = np.argsort(columns[0], kind="stable")
    columns = [column[order] for column in columns]
    fields = {"name": "m", "n_states": 7, "n_actions": 2, "start": np.full(7, 1 / 7)}
    cuts = np.searchsorted(columns[0], range(size, 7, size))
    blocks = zip(*(np.split(column, cuts) for column in columns), strict=True)
    whole, parts = MDP.from_columns(*columns, **fields), MDP.from_blocks(blocks, **fields)
    for name in ("first", "successor", "probability", "reward", "terminates", "hidden"):
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes(), name


def test_blocks_may_come_in_any_order_and_overlap():
    halves = [([s], [0], [s], [0.5], [0.0], [False], [False]) for s in (1, 0, 1, 0)]
    fields = {"name": "m", "n_states": 2, "n_actions": 1, "start": [1.0, 0.0]}
    mdp = MDP.from_blocks(halves, **fields)
    assert mdp.probability.tolist() == [1.0, 1.0]
    assert mdp.successor.tolist() == [0, 1]
    with pytest.raises(MonMDPError, match="outcome 2: state 5 does not exist"):
        MDP.from_blocks([*halves[:2], ([5], *halves[0][1:])], **fields)
    with pytest.raises(MonMDPError, match="no outcome is given for state 0, action 0"):
        MDP.from_blocks([], **fields)
    with pytest.raises(MonMDPError, match="seven columns"):
        MDP.from_blocks([([0], [0])], **fields)


def test_a_successor_that_is_no_state_is_named_after_sorting():
    columns = [[0, 0], [1, 0], [0, 3], [1.0, 1.0], [0.0, 0.0], [False] * 2, [False] * 2]
    with pytest.raises(MonMDPError, match="successor 3 of state '0', action '0' is not a state"):
        MDP.from_columns(*columns, name="m", n_states=1, n_actions=2, start=[1.0])


@pytest.mark.parametrize(
    ("rewards", "bound"), [([0.0, -0.0], "0.0"), ([-0.0, 0.0], "0.0"), ([-0.0, -0.0], "-0.0")]
)
def test_zero_as_a_bound_has_one_sign_whatever_the_order(rewards, bound):
    columns = [[0, 1], [0, 0], [0, 1], [1.0, 1.0], rewards, [False] * 2, [False] * 2]
    mdp = MDP.from_columns(*columns, name="m", n_states=2, n_actions=1, start=[1.0, 0.0])
    assert (repr(mdp.r_min), repr(mdp.r_max)) == (bound, bound)


def test_a_model_does_not_share_memory_with_what_it_was_made_from():
    columns = some_columns(np.random.default_rng(0), 3, 2, 0)
    mdp = MDP.from_columns(*columns, name="m", n_states=3, n_actions=2, start=np.full(3, 1 / 3))
    before = mdp.probability.copy(), mdp.reward.copy()
    for column in columns:
        column[:] = 0
    assert (mdp.probability == before[0]).all()
    assert (mdp.reward == before[1]).all()
    for name in ("first", "successor", "probability", "reward", "terminates", "hidden"):
        assert not getattr(mdp, name).flags.writeable, name


# ---- files ----------------------------------------------------------------------------------


def test_a_file_takes_few_bytes_and_gives_back_every_bit(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "small": rng.integers(0, 200, 5000),
        "signed": rng.integers(-200, 200, 5000),
        "random": rng.random(5000),
        "zeros": np.zeros(5000),
        "none": np.zeros(0),
        "square": np.asfortranarray(rng.random((3, 4))),
    }
    path = tmp_path / "a.npz"
    write_archive(path, {"format": "x"}, arrays)
    shapes = {name: array.shape for name, array in arrays.items()}
    meta, back = read_archive(path, "arrays", lambda _: shapes)
    assert meta == {"format": "x"}
    for name, array in arrays.items():
        assert np.array_equal(back[name], array), name
    with np.load(path, allow_pickle=False) as opened:  # NumPy reads it, too
        assert opened["small"].dtype == np.uint8
        assert np.array_equal(opened["random"], arrays["random"])
    with zipfile.ZipFile(path) as archive:
        kinds = {info.filename: info.compress_type for info in archive.infolist()}
    assert kinds["random.npy"] == zipfile.ZIP_STORED
    assert kinds["zeros.npy"] == zipfile.ZIP_DEFLATED


@pytest.mark.parametrize("labels", ["cells", "numbers", "own", "others"])
def test_labels_come_back_from_a_file(labels, tmp_path):
    mdp = worlds.make("bottleneck") if labels == "cells" else worlds.make("river-swim")
    if labels == "own":
        mdp = replace(mdp, state_labels=[f"pool {s}" for s in range(6)])
    if labels == "others":
        mdp = replace(mdp, state_labels=NumberLabels(np.arange(6)[:, None] + 7))
    make(mdp, "ask").save(tmp_path / "m.npz")
    back = MonMDP.load(tmp_path / "m.npz").mdp
    assert back.state_labels == mdp.state_labels
    assert isinstance(back.state_labels, NumberLabels) == (labels in ("cells", "numbers"))


@pytest.mark.parametrize("picture", [None, [], 5, ["."], [5], [["."]], {"a": 1}])
def test_cells_without_a_fitting_picture_are_damage(picture, tmp_path):
    path = tmp_path / "m.npz"
    make("loop", "ask").save(path)
    with np.load(path) as opened:
        content = dict(opened)
    text = str(content["meta"])
    meta = json.loads(text) | {"picture": picture}
    assert meta["state_labels"] == "row,column"
    content["meta"] = np.array(json.dumps(meta))
    buffer = io.BytesIO()
    np.savez(buffer, **content)
    path.write_bytes(buffer.getvalue())
    with pytest.raises(MonMDPError, match="damaged"):
        MonMDP.load(path)


def test_files_of_before_are_read(tmp_path):
    """They hold every label, and all whole numbers in eight bytes."""
    problem = make("loop", "button")
    path = tmp_path / "m.npz"
    problem.save(path)
    with np.load(path) as opened:
        content = dict(opened)
    meta = json.loads(str(content["meta"])) | {"state_labels": list(problem.mdp.state_labels)}
    content = {k: v.astype(np.int64) if v.dtype.kind == "u" else v for k, v in content.items()}
    content["meta"] = np.array(json.dumps(meta))
    np.savez_compressed(path, **content)
    back = MonMDP.load(path)
    assert back.mdp.state_labels == problem.mdp.state_labels
    assert (back.mdp.successor == problem.mdp.successor).all()
