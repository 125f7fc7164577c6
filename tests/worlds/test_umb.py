"""UMB files: what other tools wrote becomes a world, and ours come back as they were."""

from __future__ import annotations

import gzip
import io
import json
import logging
import lzma
import os
import struct
import sys
import tarfile
from dataclasses import fields, replace
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import storm_models
import umbi
from hypothesis import given, settings
from storm_models import SMALL, VALUES, file_of

from conftest import newest, random_monmdp, seeds
from monmdp import MDP, MonMDPError, make, memory, planning, worlds
from monmdp.model import umb
from monmdp.model.labels import NumberLabels


def assert_same(one, other):
    """Every field of two MDPs agrees, arrays to the bit."""
    for field in fields(MDP):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), field.name
        else:
            assert (type(a), a) == (type(b), b), field.name


# ---- there and back -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [*worlds.registry, *(f"gymnasium:{newest(of)}" for of in ("Taxi", "FrozenLake"))]
)
def test_every_world_comes_back(name):
    world = replace(worlds.make(name), observations=None, places=None)  # which a file cannot hold
    world.to_umb("world.umb")
    assert_same(world, worlds.from_umb("world.umb"))


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_any_mdp_comes_back(tmp_path_factory, seed):
    file = tmp_path_factory.getbasetemp() / "any.umb"
    rng = np.random.default_rng(seed)
    mdp = random_monmdp(seed).mdp
    S, A = mdp.n_states, mdp.n_actions
    if rng.random() < 0.3:
        mdp = replace(mdp, terminates=np.zeros(mdp.n_outcomes, dtype=bool), time_limit=None)
    if rng.random() < 0.5:
        names = [f"⊥ {i}, ü\n" for i in range(A)]
        mdp = replace(mdp, action_labels=names, button=(S - 1, A - 1), name="a \x1b ⊥")
    if rng.random() < 0.5:
        mdp = replace(mdp, goal=rng.random((S, A)) < 0.5, bottom=rng.random(S) < 0.5)
    labels = [(), [f"s{i}" for i in range(S)], NumberLabels(rng.permutation(S)[:, None] * [7, 9])]
    mdp = replace(mdp, state_labels=labels[rng.integers(3)], r_min=-0.1 - float(np.float32(1e9)))
    mdp.to_umb(file)
    assert_same(mdp, worlds.from_umb(file))


def test_a_picture_comes_back_and_cells_are_variables():
    world = worlds.make("bottleneck")
    world.to_umb("world.umb")
    back = worlds.from_umb("world.umb")
    assert back.picture == world.picture
    assert isinstance(back.state_labels, NumberLabels)
    index = json.loads(members("world.umb")["index.json"])
    (variables,) = index["valuations"]["states"]["classes"]
    assert [of["name"] for of in variables["variables"]] == ["row", "column"]


def test_the_same_mdp_gives_the_same_bytes():
    world = worlds.make("hazard")
    world.to_umb("one.umb")
    world.to_umb("two.umb")
    assert Path("one.umb").read_bytes() == Path("two.umb").read_bytes()
    assert Path("one.umb").read_bytes()[4:8] == bytes(4)  # the time, in the header of gzip


def test_fields_of_our_files_can_be_replaced_but_not_reinterpreted():
    worlds.make("loop").to_umb("loop.umb")
    changed = worlds.from_umb("loop.umb", time_limit=7, r_min=-9, r_max=9, name="other", start=3)
    found = (changed.time_limit, changed.r_min, changed.r_max, changed.name, changed.start[3])
    assert found == (7, -9.0, 9.0, "other", 1.0)
    for key, value in [("reward", "reward"), ("reach", "end"), ("minimise", True), ("hidden", "x")]:
        with pytest.raises(MonMDPError, match=f"written by monmdp, it takes no {key}"):
            worlds.from_umb("loop.umb", **{key: value})


def test_what_cannot_be_written_leaves_nothing():
    with pytest.raises(MonMDPError, match=r"must end in \.umb"):
        worlds.make("loop").to_umb("loop.txt")
    with pytest.raises(MonMDPError, match="cannot be written in UTF-8"):
        replace(worlds.make("river-swim"), action_labels=["\ud800", "b"]).to_umb("swim.umb")
    with pytest.raises(MonMDPError, match="cannot write"):
        worlds.make("loop").to_umb("nowhere/loop.umb")
    assert not os.listdir()


# ---- what other tools see -----------------------------------------------------------------------


def plain(file):
    """A file of ours as umbi, another implementation, reads it: states -> choices -> branches."""
    read = umbi.umb.read(file)
    logging.getLogger("umbi").handlers.clear()
    result = []
    for s in range(read.index.transition_system.num_states):
        choices = []
        for c in range(*read.state_to_choices[s : s + 2]):
            begin, end = read.choice_to_branches[c : c + 2]
            branches = list(
                zip(
                    read.branch_to_target[begin:end],
                    read.branch_to_probability[begin:end],
                    strict=True,
                )
            )
            pays = read.annotations["rewards"]["reward"]["choices"][c]
            choices.append((read.choice_to_choice_action[c], pays, branches))
        result.append(choices)
    return read, result


def test_umbi_reads_what_we_write():
    game = MDP.from_outcomes(
        [
            (0, 0, 0, 0.5, 1.0, False, False),
            (0, 0, 0, 0.5, 0.0, False, True),
            (0, 1, 1, 0.75, 2.0, True, False),
            (0, 1, 1, 0.25, -2.0, False, False),
            (1, 0, 0, 1.0, 3.0, False, True),
            (1, 1, 1, 1.0, 0.25, True, False),
        ],
        name="game", n_states=2, n_actions=2, start=[0.25, 0.75], action_labels=("stay", "gö"),
        bottom=[True, False],
    )  # fmt: skip
    game.to_umb("game.umb")
    read, states = plain("game.umb")
    assert states == [
        [(0, 0.5, [(0, 0.5), (0, 0.5)]), (1, 1.0, [(1, 0.25), (2, 0.75)])],
        [(0, 3.0, [(0, 1.0)]), (1, 0.25, [(2, 1.0)])],
        [(0, 0.0, [(2, 1.0)])],
    ]
    assert read.choice_action_to_string == ["stay", "gö"]
    assert read.state_is_initial == [True, True, False]
    assert read.annotations["aps"]["end"]["states"] == [False, False, True]
    assert read.annotations["aps"]["bottom"]["states"] == [True, False, False]
    assert read.index.model_data.name == "game"


@pytest.mark.parametrize("name", ["river-swim", "random-mdp"])
def test_umbi_reads_worlds_that_do_not_end(name):
    world = worlds.make(name)
    world.to_umb("world.umb")
    _, states = plain("world.umb")
    assert len(states) == world.n_states + world.terminates.any()
    for s, choices in enumerate(states[: world.n_states]):
        assert [of[1] for of in choices] == world.mean_reward[s].tolist()


# ---- models of Storm ----------------------------------------------------------------------------


@pytest.mark.parametrize("question", SMALL, ids=str)
def test_values_are_storms(question):
    """At the initial state, as Storm found them; test_storm.py asks it anew, for every state."""
    file = file_of(question.model)
    values = storm_models.ours(question, file)
    start = worlds.from_umb(file, **question.params).start
    (initial,) = np.flatnonzero(start)
    expected = json.loads(VALUES.read_text())[str(question)]
    assert values[initial] == pytest.approx(expected, rel=0, abs=1e-6)


def members(path):
    """The files of an archive by name."""
    with tarfile.open(path) as tar:
        return {of.name: tar.extractfile(of).read() for of in tar.getmembers() if of.isreg()}


def by_hand(path, reward, terminal):
    """The outcomes of a file of Storm's, written for one reward, without NumPy; labels as well."""
    files = members(path)
    index = json.loads(files["index.json"])

    def numbers(name, kind):
        of = files[name]
        return struct.unpack(f"<{len(of) // struct.calcsize(kind)}{kind}", of)

    def bit(name, i):
        return files[name][i // 8] >> (i % 8) & 1 == 1

    choices, branches = numbers("state-to-choices.bin", "Q"), numbers("choice-to-branches.bin", "Q")
    target, chance = numbers("branch-to-target.bin", "Q"), numbers("branch-to-probability.bin", "d")
    action = numbers("actions/choices/values.bin", "I")
    mapping = numbers("actions/choices/string-mapping.bin", "Q")
    text = files["actions/choices/strings.bin"]
    names = [text[a:b].decode() for a, b in pairwise(mapping)]
    folder = f"annotations/rewards/{reward}"
    pays = {
        of: numbers(f"{folder}/{of}/values.bin", "d")
        for of in index["annotations"]["rewards"][reward]["applies-to"]
    }
    S = index["transition-system"]["#states"]
    over = [bit(f"annotations/aps/{terminal}/states/values.bin", s) for s in range(S)]
    has = []  # by state: action -> branches
    for s in range(S):
        mine, seen = {}, {}
        for c in range(choices[s], choices[s + 1]):
            name = names[action[c]] or "τ"
            seen[name] = seen.get(name, 0) + 1
            label = name if seen[name] == 1 else f"{name} {seen[name]}"
            mine[label] = [
                (
                    target[b], chance[b],
                    pays.get("states", (0,) * S)[s] + pays.get("choices", (0,) * len(action))[c],
                )
                for b in range(branches[c], branches[c + 1])
            ]  # fmt: skip
        has.append(mine)
    labels = sorted({of for s in range(S) if not over[s] for of in has[s]})
    outcomes = []
    for s in range(S):
        for a, label in enumerate(labels):
            if over[s]:
                outcomes.append((s, a, s, 1.0, 0.0, True, False))
                continue
            first = next(iter(has[s].values()))
            for t, p, r in has[s].get(label, first):
                outcomes.append((s, a, t, p, r, over[t], False))
    return outcomes, labels


@pytest.mark.parametrize(
    ("model", "reward", "terminal"),
    [("dice", "tosses", "done"), ("coin", "steps", "agreed"), ("coin", "tosses", "agreed"),
     ("ring", "moves", "stable"), ("backoff", "time", "sent")],
)  # fmt: skip
def test_outcomes_are_those_found_by_hand(model, reward, terminal):
    file = file_of(model)
    world = worlds.from_umb(file, reward=reward, terminal=terminal)
    outcomes, labels = by_hand(file, reward, terminal)
    expected = MDP.from_outcomes(
        outcomes, name=model, n_states=world.n_states, n_actions=len(labels), start=world.start,
        action_labels=labels, state_labels=world.state_labels,
    )  # fmt: skip
    assert_same(world, expected)


def test_states_are_named_by_their_variables():
    world = worlds.from_umb(file_of("dice"), terminal="done")
    assert world.state_labels[:2] == ("s=0,d=0", "s=1,d=0")
    assert world.action_labels == ("bent", "fair")
    assert world.find_state("s=7,d=6") < world.n_states
    coin = worlds.from_umb(file_of("coin"), reward="steps")
    assert coin.action_labels == ("toss1", "toss2", "τ", "τ 2", "τ 3", "τ 4")
    assert worlds.from_umb(file_of("coin"), reward="steps", actions="numbers").n_actions == 4


# ---- models by hand -----------------------------------------------------------------------------


def model(choices, *, initial=(0,), names=None, kind="double", annotations=None, **more):
    """The files of a model: for each state its choices, (action, [(target, probability)])."""
    flat = [of for state in choices for of in state]
    branches = [of for _, of in flat for of in of]
    S, C, B = len(choices), len(flat), len(branches)
    system = {
        "time": "discrete", "#players": 1, "#states": S, "#initial-states": len(initial),
        "#choices": C, "#choice-actions": len(names or ()), "#branches": B, "#branch-actions": 0,
        "#observations": 0, "branch-probability-type": {"type": kind},
    }  # fmt: skip
    files = {
        "index.json": None,
        "state-to-choices.bin": u64(np.cumsum([0, *map(len, choices)])),
        "choice-to-branches.bin": u64(np.cumsum([0, *(len(of) for _, of in flat)])),
        "branch-to-target.bin": u64([t for t, _ in branches]),
        "branch-to-probability.bin": np.array([p for _, p in branches], "<f8").tobytes(),
        "state-is-initial.bin": bits([s in initial for s in range(S)]),
    }
    if names:
        files["actions/choices/values.bin"] = np.array([a for a, _ in flat], "<u4").tobytes()
        files["actions/choices/strings.bin"] = "".join(names).encode()
        ends = np.cumsum([0, *(len(name.encode()) for name in names)])
        files["actions/choices/string-mapping.bin"] = u64(ends)
    described = {}
    for (group, key, entity), values in (annotations or {}).items():
        values = np.asarray(values)
        kind = "bool" if values.dtype == bool else "double"
        entry = described.setdefault(group, {}).setdefault(
            key, {"type": {"type": kind}, "applies-to": []}
        )
        entry["applies-to"].append(entity)
        content = bits(values) if kind == "bool" else values.astype("<f8").tobytes()
        files[f"annotations/{group}/{key}/{entity}/values.bin"] = content
    index = {
        "format-version": 1, "format-revision": 0, "transition-system": system | more,
        "annotations": described,
    }  # fmt: skip
    files["index.json"] = json.dumps(index).encode()
    return files


def u64(values):
    return np.asarray(values, "<u8").tobytes()


def bits(values):
    packed = np.packbits(np.asarray(values, dtype=bool), bitorder="little").tobytes()
    return packed + bytes(-len(packed) % 8)


def tarred(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def stored(files, name="model.umb"):
    with open(name, "wb") as file:
        file.write(tarred(files))
    return name


FORK = [
    [(0, [(1, 0.5), (2, 0.5)]), (1, [(0, 1.0)]), (1, [(2, 1.0)])],
    [(2, [(0, 1.0)])],
    [(2, [(2, 1.0)])],
]
PAYS = {
    ("rewards", "coins", "states"): [1.0, 10.0, 0.0],
    ("rewards", "coins", "choices"): [0.5, 0.0, 0.25, 0.0, 0.0],
    ("rewards", "coins", "branches"): [100.0, 0.0, 0.0, 0.0, 0.0, 0.0],
}


def listed(mdp):
    """The outcomes of an MDP: (state, action, successor, probability, reward, ends, hidden)."""
    of = mdp.outcomes
    columns = (of.state, of.action, of.successor, mdp.probability, of.reward, mdp.terminates,
               of.hidden)  # fmt: skip
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_choices_become_actions_and_rewards_are_added():
    world = worlds.from_umb(stored(model(FORK, names=["a", "b", ""], annotations=PAYS)))
    assert world.name == "model"
    assert world.action_labels == ("a", "b", "b 2", "τ")
    assert listed(world) == [
        (0, 0, 1, 0.5, 101.5, False, False),
        (0, 0, 2, 0.5, 1.5, True, False),  # entering the state that is never left and pays nothing
        (0, 1, 0, 1.0, 1.0, False, False),
        (0, 2, 2, 1.0, 1.25, True, False),
        (0, 3, 1, 0.5, 101.5, False, False),  # no such action: the first choice again
        (0, 3, 2, 0.5, 1.5, True, False),
        *((1, a, 0, 1.0, 10.0, False, False) for a in range(4)),
        *((2, a, 2, 1.0, 0.0, True, False) for a in range(4)),
    ]
    by_number = worlds.from_umb("model.umb", actions="numbers")
    assert by_number.action_labels == ("0", "1", "2")
    assert listed(by_number)[-3:] == [(2, a, 2, 1.0, 0.0, True, False) for a in range(3)]


def test_costs_reaching_and_ends():
    labels = {("aps", "mid", "states"): [False, True, False],
              ("aps", "far", "states"): [False, False, True]}  # fmt: skip
    file = stored(model(FORK, names=["a", "b", "c"], annotations=PAYS | labels))
    costs = worlds.from_umb(file, minimise=True)
    assert [of[4] for of in listed(costs)] == [-of[4] for of in listed(worlds.from_umb(file))]
    assert (costs.r_min, costs.r_max) == (-101.5, 0.0)
    reached = worlds.from_umb(file, reach="mid")
    assert [of[4] for of in listed(reached)[:4]] == [1.0, 0.0, 0.0, 0.0]
    assert listed(reached)[-6] == (1, 0, 1, 1.0, 1.0, True, False)  # whoever starts there is there
    found = planning.optimal(make(replace(reached, time_limit=90), "full"), 1.0).values
    assert found.tolist() == [0.5, 1.0, 0.0]
    both = worlds.from_umb(file, reach="far", terminal="mid")
    assert planning.optimal(make(both, "full"), 0.5).values.tolist() == [1.0, 0.0, 1.0]
    assert worlds.from_umb(file, terminal="mid,far").terminates.sum() == 9
    assert worlds.from_umb(file, terminal=["mid", "far"]).terminates.sum() == 9
    with pytest.raises(MonMDPError, match="not both"):
        worlds.from_umb(file, reach="mid", reward="coins")


@pytest.mark.parametrize(
    ("entity", "marks", "expected"),
    [
        ("states", [False, True, False], {(1, 0), (1, 1), (1, 2)}),
        ("choices", [False, True, False, False, False], {(0, 1)}),
        ("branches", [True, False, False, False, False, False], {(0, 0)}),
    ],
)
@pytest.mark.parametrize("group", ["aps", "secrets"])
def test_hidden_rewards_by_annotation(group, entity, marks, expected):
    file = stored(model(FORK, annotations=PAYS | {(group, "dark", entity): marks}))
    world = worlds.from_umb(file, hidden="dark")
    assert {of[:2] for of in listed(world) if of[6]} == expected
    mask = np.zeros((3, 3), dtype=bool)
    mask[0, 1] = True
    assert {of[:2] for of in listed(worlds.from_umb(file, hidden=mask)) if of[6]} == {(0, 1)}
    for wrong, said in (("drk", "did you mean 'dark'"), ("coins", "no Boolean annotation")):
        with pytest.raises(MonMDPError, match=said):
            worlds.from_umb(file, hidden=wrong)


def test_start_states_chains_and_deadlocks():
    chain = [[(0, [(1, 0.25), (2, 0.75)])], [(0, [(0, 1.0)])], []]
    pays = {("rewards", "r", "states"): [1.0, 2.0, 5.0]}
    files = model(chain, initial=(0, 1), annotations=pays, **{"#players": 0})
    world = worlds.from_umb(stored(files))
    assert world.n_actions == 1
    assert world.start.tolist() == [0.5, 0.5, 0.0]
    assert listed(world)[1:] == [
        (0, 0, 2, 0.75, 1.0, True, False),
        (1, 0, 0, 1.0, 2.0, False, False),
        (2, 0, 2, 1.0, 0.0, True, False),
    ]
    assert worlds.from_umb("model.umb", start=2).start.tolist() == [0.0, 0.0, 1.0]
    del files["state-is-initial.bin"]
    with pytest.raises(MonMDPError, match="no state is initial"):
        worlds.from_umb(stored(files))


def test_a_state_that_pays_for_ever_is_no_end():
    pays = {("rewards", "r", "states"): [0.0, 1.0]}
    world = worlds.from_umb(stored(model([[(0, [(1, 1.0)])], [(0, [(1, 1.0)])]], annotations=pays)))
    assert not world.terminates.any()
    assert planning.optimal(make(world, "full"), 0.5).values == pytest.approx([1.0, 2.0])


def test_defaults_of_the_format():
    """Files that may be left out: rows of one entry, values of zero, an LTS without chances."""
    pays = {("rewards", "r", "states"): [1.0, 2.0], ("rewards", "r", "choices"): [0.0, 0.0]}
    files = model([[(0, [(1, 1.0)])], [(0, [(0, 1.0)])]], annotations=pays)
    full = worlds.from_umb(stored(files))
    index = json.loads(files["index.json"])
    del index["transition-system"]["branch-probability-type"]
    files["index.json"] = json.dumps(index).encode()
    for name in ("state-to-choices.bin", "choice-to-branches.bin", "branch-to-probability.bin",
                 "annotations/rewards/r/choices/values.bin"):  # fmt: skip
        del files[name]
    assert_same(full, worlds.from_umb(stored(files)))


def test_exact_fractions_become_the_nearest_floats():
    files = model([[(0, [(0, 0.0), (1, 0.0)])], [(0, [(0, 1.0)])]], kind="rational",
                  annotations={("rewards", "r", "states"): [1.0, 2.0]})  # fmt: skip
    parts = [Fraction(1, 3), Fraction(2, 3), Fraction(1)]
    for size in (16, 32):
        half = size // 2
        files["branch-to-probability.bin"] = b"".join(
            part.to_bytes(half, "little") for of in parts for part in (of.numerator, of.denominator)
        )
        index = json.loads(files["index.json"])
        index["transition-system"]["branch-probability-type"]["size"] = 8 * size
        files["index.json"] = json.dumps(index).encode()
        world = worlds.from_umb(stored(files))
        assert world.probability.tolist() == [1 / 3, 2 / 3, 1.0]
    wide = umb.Vector("x", 2, "rational", 256)
    values = [Fraction(-(10**30), 3), Fraction(1, 2**100 + 1)]
    content = b"".join(
        of.numerator.to_bytes(16, "little", signed=True) + of.denominator.to_bytes(16, "little")
        for of in values
    )
    assert wide.decoded(content).tolist() == [float(of) for of in values]


def test_any_packing_and_any_order():
    files = model(FORK, annotations=PAYS)
    whole = tarred(files)
    last = tarred(
        {**{f"./{key}": files[key] for key in [*files][1:]}, "./index.json": files["index.json"]}
    )
    expected = worlds.from_umb(stored(files))
    for content in (gzip.compress(whole), lzma.compress(whole), last, gzip.compress(last)):
        with open("model.umb", "wb") as file:
            file.write(content)
        assert_same(expected, worlds.from_umb("model.umb"))


def test_variables_of_any_width():
    variables = [
        {"name": "flag", "type": {"type": "bool", "size": 1}},
        {"name": "low", "type": {"type": "uint", "size": 3}, "offset": -2},
        {"padding": 2},
        {"name": "wide", "type": {"type": "int", "size": 61}},
        {"padding": 5},
    ]
    rows = [(1, 5, -7), (0, 0, 2**59), (1, 7, 0)]
    files = model(FORK, annotations=PAYS)
    index = json.loads(files["index.json"])
    classes = [{"variables": variables}]
    index["valuations"] = {"states": {"unique": True, "classes": classes}}
    files["index.json"] = json.dumps(index).encode()
    files["valuations/states/valuations.bin"] = b"".join(
        (a | b << 1 | (c % 2**61) << 6).to_bytes(9, "little") for a, b, c in rows
    )
    labels = worlds.from_umb(stored(files)).state_labels
    assert labels == tuple(f"flag={a},low={b - 2},wide={c}" for a, b, c in rows)
    files["valuations/states/valuations.bin"] = bytes(27)  # all alike: of no use
    assert tuple(worlds.from_umb(stored(files)).state_labels) == ("0", "1", "2")


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"time": "stochastic"}, "its time is stochastic"),
        ({"#players": 2, "player-names": ["a", "b"]}, "a game of 2 players"),
        ({"#observations": 3, "observations-apply-to": "states"}, "a POMDP with 3 observations"),
        ({"branch-probability-type": {"type": "double-interval"}}, "type 'double-interval'"),
    ],
)
def test_other_kinds_of_models_are_refused(change, said):
    with pytest.raises(MonMDPError, match=said):
        worlds.from_umb(stored(model(FORK, annotations=PAYS, **change)))


def test_what_was_meant_is_asked():
    two = PAYS | {
        ("rewards", "time", "states"): [1.0, 1.0, 1.0],
        ("aps", "far", "states"): [True] * 3,
    }
    file = stored(model(FORK, annotations=two))
    for params, said in [
        ({}, r"several rewards; choose one: reward=coins\|time"),
        ({"reward": "coin"}, "no rewards 'coin'; did you mean 'coins'"),
        ({"reach": "fat"}, "did you mean 'far'"),
        ({"reward": "time", "terminal": "fair"}, "terminal='fair'; did you mean 'far'"),
        ({"reward": "time", "actions": "name"}, "did you mean 'names'"),
        ({"reward": "time", "start": 3}, "start state 3 does not exist"),
        ({"reward": "time", "hidden": [[True]]}, "hidden: shape"),
    ]:
        with pytest.raises(MonMDPError, match=said):
            worlds.from_umb(file, **params)
    none = stored(model(FORK, annotations={("aps", "far", "states"): [True] * 3}))
    with pytest.raises(MonMDPError, match=r"has no rewards; .*labels: far"):
        worlds.from_umb(none)


def test_without_umbi_the_extra_is_named(monkeypatch):
    worlds.make("loop").to_umb("loop.umb")  # writing needs nothing
    for name in [of for of in sys.modules if of.split(".")[0] == "umbi"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "umbi", None)
    with pytest.raises(
        MonMDPError, match=r"needs the package umbi: pip install 'monmdp\[exchange\]'"
    ):
        worlds.from_umb("loop.umb")


# ---- files of strangers -------------------------------------------------------------------------


def changed(files, **changes):
    """A model with other entries in its transition system."""
    index = json.loads(files["index.json"])
    index["transition-system"] |= changes
    return files | {"index.json": json.dumps(index).encode()}


BASE = model(FORK, names=["a", "b", "c"], annotations=PAYS)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no index.json|damaged"),
        ({"index.json": b"{"}, "damaged, index.json"),
        ({"index.json": b"[" * 100_000}, "damaged, index.json"),
        ({"index.json": b"[]"}, "damaged, index.json"),
        ({"index.json": b'{"format-version": 9}'}, "format version 9, this reads up to 1"),
        ({"index.json": b'{"format-version": 1}'}, "damaged, index.json"),
        (
            changed(BASE, **{"#states": 10**15}),
            "memory|not 8,000,000,000,000,008 as the index says",
        ),
        (changed(BASE, **{"#states": 4}), r"state-to-choices.bin has 32 bytes, not 40"),
        (changed(BASE, **{"#choice-actions": 2}), "string-mapping.bin has 32 bytes"),
        (BASE | {"branch-to-target.bin": u64([1, 2, 0, 2, 0, 3])}, "state 3 of 3 is a target"),
        (BASE | {"branch-to-target.bin": u64([1, 2, 0, 2, 0, 2**63])}, "is too large"),
        (BASE | {"state-to-choices.bin": u64([0, 3, 2, 5])}, "rows must begin at 0"),
        (BASE | {"state-to-choices.bin": u64([1, 3, 4, 5])}, "rows must begin at 0"),
        (BASE | {"choice-to-branches.bin": u64([0, 2, 2, 4, 5, 6])}, "a choice without branches"),
        (BASE | {"choice-to-branches.bin": u64([0, 2, 3, 4, 5, 7])}, "end at 6"),
        (BASE | {"branch-to-probability.bin": bytes(48)}, "no outcome|sum to"),
        (BASE | {"branch-to-probability.bin": np.full(6, np.nan).tobytes()}, "finite numbers"),
        (BASE | {"branch-to-probability.bin": np.full(6, -1.0).tobytes()}, "negative"),
        (BASE | {"actions/choices/values.bin": np.full(5, 9, "<u4").tobytes()}, "action 9 of 3"),
        (BASE | {"actions/choices/strings.bin": b"\xff\xfe\xfd"}, "not UTF-8"),
        (BASE | {"actions/choices/strings.bin": b"ab"}, "end at 2"),
        (BASE | {"annotations/rewards/coins/states/values.bin": bytes(16)}, "has 16 bytes, not 24"),
    ],
)
def test_damaged_files_are_refused(files, said):
    with pytest.raises(MonMDPError, match=said) as error:
        worlds.from_umb(stored(files))
    assert "model.umb" in str(error.value) or "outcome" in str(error.value) or "prob" in str(error)


@pytest.mark.parametrize("missing", ["branch-to-target.bin", "branch-to-probability.bin"])
def test_missing_files_are_named(missing):
    with pytest.raises(MonMDPError, match=f"damaged, {missing} is missing"):
        worlds.from_umb(stored({key: of for key, of in BASE.items() if key != missing}))


def test_numbers_of_the_other_byte_order_are_refused():
    files = model(FORK, annotations=PAYS)
    swapped = {
        key: np.frombuffer(of, "<u8").byteswap().tobytes() if key.endswith("s.bin") else of
        for key, of in files.items()
    }
    assert swapped != files
    with pytest.raises(MonMDPError, match="damaged"):
        worlds.from_umb(stored(swapped))


def test_a_file_that_is_there_twice_is_refused():
    twice = tarred(BASE)[:-10240] + tarred({"branch-to-target.bin": u64([0] * 6)})
    with open("model.umb", "wb") as file:
        file.write(twice)
    with tarfile.open("model.umb") as tar:
        assert tar.getnames().count("branch-to-target.bin") == 2
    with pytest.raises(MonMDPError, match="is there twice"):
        worlds.from_umb("model.umb")


def header(name, size, kind=tarfile.REGTYPE):
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.size = size
    return entry.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("packed", [gzip.compress, lzma.compress, bytes])
@pytest.mark.parametrize(
    ("first", "said"),
    [
        (header("index.json", 10**15), "would take about .* of memory"),
        (header("padding", 10**15), "would not fit into memory"),
        (header("x", 10**12, tarfile.XHDTYPE), "has no end"),
        (header("x", 10**12, tarfile.GNUTYPE_LONGNAME), "has no end"),
        (header("index.json", -512), "negative size"),
        (header("x", -1024, tarfile.XHDTYPE), "has no end"),
        (header("x", -512), "negative size"),
    ],
    ids=["index", "other", "pax", "long-name", "negative", "negative-pax", "backwards"],
)
def test_sizes_that_are_not_true(packed, first, said, monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**9)
    Path("model.umb").write_bytes(packed(first + bytes(2**22)))
    with pytest.raises(MonMDPError, match=rf"model\.umb: .*{said}"):
        worlds.from_umb("model.umb")


def test_what_is_cut_short_or_does_not_add_up_is_refused():
    whole = tarred(BASE)
    Path("model.umb").write_bytes(whole[:700])
    with pytest.raises(MonMDPError, match=r"index\.json is cut short"):
        worlds.from_umb("model.umb")
    packed = bytearray(gzip.compress(whole))
    packed[-8] ^= 1  # of the checksum
    Path("model.umb").write_bytes(packed)
    with pytest.raises(MonMDPError, match="CRC"):
        worlds.from_umb("model.umb")


def test_bombs_are_not_unpacked(monkeypatch):
    """A megabyte that would become a gigabyte is refused by its size, which is known before."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 2 * 10**8)
    big = changed(BASE, **{"#branches": 10**8})
    zeros = header("branch-to-target.bin", 8 * 10**8)
    with gzip.open("model.umb", "wb", compresslevel=1) as file:
        file.write(tarred({"index.json": big["index.json"]})[:-10240] + zeros)
    with pytest.raises(MonMDPError, match=r"800,000,511 bytes would not fit into memory"):
        worlds.from_umb("model.umb")
    with gzip.open("model.umb", "wb", compresslevel=1) as file:
        for n in range(umb.MOST_FILES + 1):
            file.write(header(f"f{n}", 0))
    with pytest.raises(MonMDPError, match=r"more than 10,000 files"):
        worlds.from_umb("model.umb")


def test_nothing_outside_is_written_or_read():
    outside = {"../evil.bin": b"x", "/tmp/evil.bin": b"x"}
    worlds.from_umb(stored(BASE | outside))
    assert os.listdir() == ["model.umb"]
    assert not os.path.exists("../evil.bin")
    with open("secret.json", "wb") as file:
        file.write(BASE["index.json"])
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        entry = tarfile.TarInfo("index.json")
        entry.type, entry.linkname = kind, "secret.json"
        rest = {key: of for key, of in BASE.items() if key != "index.json"}
        with open("model.umb", "wb") as file:
            file.write(entry.tobuf() + tarred(rest))
        with pytest.raises(MonMDPError, match=r"has no index\.json"):
            worlds.from_umb("model.umb")


def test_what_is_no_file_is_refused():
    os.mkdir("folder.umb")
    os.mkfifo("pipe.umb")
    for name, said in (("folder.umb", "directory"), ("pipe.umb", "not a plain file"),
                       ("none.umb", "no such file")):  # fmt: skip
        with pytest.raises(MonMDPError, match=said):
            worlds.from_umb(name)


@pytest.mark.parametrize("packed", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("source", ["storm", "ours"])
def test_fuzzed_files_are_worlds_or_refused(source, packed):
    """Cut anywhere, or with bytes changed: an MDP or an error of ours, nothing else."""
    worlds.make("loop").to_umb("ours.umb")
    path = file_of("dice") if source == "storm" else "ours.umb"
    params = {"terminal": "done"} if source == "storm" else {}
    with gzip.open(path) as file:
        whole = packed(file.read())
    rng = np.random.default_rng(0)
    cases = [whole[: int(n)] for n in np.linspace(0, len(whole) - 1, 40)]
    for _ in range(150):
        content = bytearray(whole)
        for at in rng.integers(len(whole), size=rng.integers(1, 6)):
            content[at] = rng.integers(256)
        cases.append(bytes(content))
    refused = 0
    for case in cases:
        with open("fuzzed.umb", "wb") as file:
            file.write(case)
        try:
            assert isinstance(worlds.from_umb("fuzzed.umb", **params), MDP)
        except MonMDPError:
            refused += 1
    assert refused > 20
    assert sorted(os.listdir()) == ["fuzzed.umb", "ours.umb"]


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_fuzzed_indices_are_worlds_or_refused(every):
    """Any part of the index replaced by something else."""
    for file, params in ((file_of("dice"), {"terminal": "done"}), ("ours.umb", {})):
        worlds.make("loop").to_umb("ours.umb")
        files = members(file)
        for index in islice(mutants(json.loads(files["index.json"])), 0, None, every):
            stored(files | {"index.json": json.dumps(index).encode()}, "fuzzed.umb")
            try:
                worlds.from_umb("fuzzed.umb", **params)
            except MonMDPError as error:
                assert "fuzzed.umb" in str(error) or "outcome" in str(error) or params  # noqa: PT017


def mutants(value):
    """The JSON value with one part of it replaced, in turn."""
    for other in (None, -1, 2**70, "x", [], {}, [[]], True, 1.5):
        yield other
    parts = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list) and len(value) < 40:
        parts = enumerate(value)
    for key, part in parts:
        for other in mutants(part):
            copy = value.copy()
            copy[key] = other
            yield copy
        copy = value.copy()
        del copy[key]
        yield copy


# ---- the command line ---------------------------------------------------------------------------


def test_commands_read_and_write_files(command):
    assert command("export", "hazard", "slip=0.1", "-o", "hazard.umb")[:2] == (
        0, "hazard.umb: 16 states, 5 actions\n",
    )  # fmt: skip
    _, ours, _ = command("solve", "hazard", "ask", "slip=0.1")
    _, same, _ = command("solve", "hazard.umb", "ask")
    assert same.splitlines()[1:] == ours.splitlines()[1:]
    words = (file_of("dice"), "full", "reach=six", "terminal=done", "--gamma", "1")
    code, out, _ = command("solve", *words)
    assert (code, "optimal value            0.166667" in out) == (0, True)
    command("export", "loop", "ask", "-o", "loop.npz")
    assert command("export", "loop.npz", "-o", "again.umb")[0] == 0
    assert_same(worlds.make("loop"), worlds.from_umb("again.umb"))


def test_commands_say_what_is_wrong(command):
    for words, said in [
        (("export", "loop", "ask", "-o", "loop.umb"), "holds a world alone; leave 'ask' out"),
        (("export", "loop", "-o", "loop.json"), "must end in .npz or .umb"),
        (("solve", "none.umb", "ask"), "none.umb: no such file"),
        (("solve", file_of("coin"), "ask"), "choose one: reward=steps|tosses"),
    ]:
        code, _, err = command(*words)
        assert code != 0
        assert said in err
