"""Logs become problems: counts and means exactly, whatever order and size they are read in."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import monmdp
from monmdp import MonMDP, MonMDPError, Policy, experiment, planning, worlds
from monmdp.worlds.logs import counting, reading

MONITOR = {f"monitor_{of}": f"monitor_{of}" for of in ("state", "action", "reward")}
COLUMNS = ["episode", "state", "action", "reward", "next_state", "done"]


def frame(*rows, columns=COLUMNS):
    return pd.DataFrame(list(rows), columns=columns)


def two_episodes():
    return frame(
        (1, "a", "go", 0.0, "b", False),
        (1, "b", "go", None, "c", True),
        (2, "a", "stay", 1.0, "a", False),
        (2, "a", "go", None, "b", False),
        (2, "b", "go", 3.0, "c", True),
    )


# ---- a plain-Python witness -----------------------------------------------------------------


def witness(log):
    """Counts of a log, row by row."""
    tried, outcomes, rewards = Counter(), Counter(), defaultdict(list)
    starts, seen = Counter(), set()
    for row in log.itertuples():
        pair = (str(row.state), str(row.action))
        tried[pair] += 1
        outcomes[(*pair, str(row.next_state), bool(row.done))] += 1
        if row.reward == row.reward and row.reward is not None:
            rewards[pair].append(float(row.reward))
        if row.episode not in seen:
            seen.add(row.episode)
            starts[str(row.state)] += 1
    return tried, outcomes, rewards, starts


def agrees(problem, log, r_min):
    tried, outcomes, rewards, starts = witness(log)
    mdp, evidence = problem.mdp, problem.evidence
    states, actions = mdp.state_labels, mdp.action_labels
    for s, state in enumerate(states):
        assert mdp.start[s] == pytest.approx(starts[state] / sum(starts.values()), abs=1e-15)
        for a, action in enumerate(actions):
            pair = (state, action)
            assert evidence.tried[s, a] == tried[pair]
            assert evidence.shown[s, a] == len(rewards[pair])
            if rewards[pair]:
                mean = sum(rewards[pair]) / len(rewards[pair])
                assert mdp.mean_reward[s, a] == pytest.approx(mean, rel=1e-12, abs=1e-12)
            elif tried[pair]:
                assert mdp.mean_reward[s, a] == pytest.approx(r_min, rel=1e-12)
    found = Counter()
    for o, n in enumerate(problem.outcome_rows):
        s, a = divmod(int(mdp.pair_of_outcome[o]), mdp.n_actions)
        if n:
            key = (states[s], actions[a], states[mdp.successor[o]], bool(mdp.terminates[o]))
            found[key] += int(n)
    assert found == outcomes


@st.composite
def logs(draw):
    """Episodes over few states, in which rows hang together."""
    rows = []
    for episode in range(draw(st.integers(1, 6))):
        state = draw(st.sampled_from("abc"))
        for _ in range(draw(st.integers(1, 8))):
            to, done = draw(st.sampled_from("abcd")), draw(st.booleans())
            done = done or to == "d"
            reward = draw(st.sampled_from([None, 0.0, 0.5, -2.0, 1.25]))
            rows.append((episode, state, draw(st.sampled_from("xy")), reward, to, done))
            if done:
                break
            state = to
    return frame(*rows)


@given(log=logs(), batch=st.integers(1, 7), shuffled=st.booleans())
@settings(deadline=None, max_examples=60)
def test_counts_and_means_are_exact_whatever_the_batch(log, batch, shuffled):
    if shuffled:  # episodes may be interleaved, as long as their own rows stay in order
        order = np.argsort(log.groupby("episode").cumcount(), kind="stable")
        log = log.iloc[order].reset_index(drop=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BATCH", batch)
        problem = worlds.from_log(log, r_min=-2.0, r_max=2.0)
    agrees(problem, log, -2.0)
    assert not any("follow" in line or "begin" in line for line in problem.evidence.remarks)
    whole = worlds.from_log(log, r_min=-2.0, r_max=2.0)
    assert (whole.evidence.taken == problem.evidence.taken).all()
    assert whole.evidence.remarks == problem.evidence.remarks


@given(log=logs(), batch=st.integers(1, 7))
@settings(deadline=None, max_examples=40)
def test_successors_can_be_those_of_the_next_rows(log, batch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BATCH", batch)
        # every episode is closed by a row that says where it led, and nothing else
        last = log.groupby("episode").tail(1)
        closing = last.assign(state=last["next_state"], action=None, reward=None, done=False)
        closed = pd.concat([log, closing[~last["done"]]]).sort_values("episode", kind="stable")
        problem = worlds.from_log(
            closed.drop(columns="next_state"), next_state=None, r_min=-2.0, r_max=2.0
        )
    direct = worlds.from_log(log, r_min=-2.0, r_max=2.0)
    for label in problem.mdp.state_labels:
        mine, other = problem.mdp.find_state(label), direct.mdp.find_state(label)
        assert (problem.evidence.tried[mine] == direct.evidence.tried[other]).all()
        assert problem.mdp.start[mine] == direct.mdp.start[other]
    assert problem.evidence.rows == len(log)


@given(log=logs())
@settings(deadline=None, max_examples=30)
def test_without_a_column_an_episode_begins_after_each_end(log):
    ended = log.assign(done=log["done"] | ~log.duplicated("episode", keep="last"))
    told = worlds.from_log(ended, r_min=-2.0, r_max=2.0)
    untold = worlds.from_log(ended.drop(columns="episode"), episode=None, r_min=-2.0, r_max=2.0)
    assert (told.evidence.taken == untold.evidence.taken).all()
    assert told.mdp.start.tolist() == untold.mdp.start.tolist()
    assert told.mdp.time_limit == untold.mdp.time_limit


@given(log=logs(), batch=st.integers(1, 7))
@settings(deadline=None, max_examples=40)
def test_where_nothing_tells_episodes_apart_they_begin_at_jumps(log, batch):
    bare = log.drop(columns=["episode", "done"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BATCH", batch)
        parts = worlds.from_log(bare, episode=None, done=None, r_min=-2.0, r_max=2.0)
    before, starts = None, Counter()
    for row in bare.itertuples():
        starts[row.state] += before != row.state
        before = row.next_state
    for label in parts.mdp.state_labels:
        share = starts[label] / sum(starts.values())
        assert parts.mdp.start[parts.mdp.find_state(label)] == pytest.approx(share)
    assert parts.evidence.episodes == sum(starts.values())
    assert parts.evidence.rows == len(log)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ".tsv"])
def test_files_hold_the_same_as_frames(tmp_path, ending, monkeypatch):
    problem = monmdp.make("loop", "ask")
    log = experiment.draw_log(problem, Policy.uniform(problem), rows=3000)
    path = tmp_path / f"log{ending}"
    if ending == ".parquet":
        log.to_parquet(path)
    else:
        log.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    monkeypatch.setattr(reading, "BATCH", 700)
    monkeypatch.setattr(reading, "BLOCK", 20_000)
    read = worlds.from_log(path, **MONITOR)
    direct = worlds.from_log(log, **MONITOR)
    for name in ("taken", "shown", "value", "value_count", "moved"):
        assert np.array_equal(getattr(read.evidence, name), getattr(direct.evidence, name)), name
    assert read.mdp.state_labels == direct.mdp.state_labels
    assert np.array_equal(read.mdp.probability, direct.mdp.probability)


@pytest.mark.parametrize(
    ("world", "monitor", "parameters"),
    [
        ("loop", "ask", {}),
        ("bottleneck", "button", {"rho": 0.5}),
        ("river-swim", "full", {}),
        ("empty", "n-experts", {}),
        ("hazard", "level-up", {"n": 2}),
        ("two-room-3x5", "semi-random", {}),
    ],
)
def test_values_converge_to_the_true_ones(world, monitor, parameters):
    problem = monmdp.make(world, monitor, **parameters)
    true = planning.solve(problem).value
    soft = 0.5 * planning.minimax(problem).policy + 0.5 / problem.n_actions
    policy = Policy(problem.shape, soft)
    errors = []
    for rows in (2_000, 400_000):
        log = experiment.draw_log(problem, policy, rows=rows, seed=1)
        fitted = worlds.from_log(log, r_min=problem.mdp.r_min, r_max=problem.mdp.r_max, **MONITOR)
        errors.append(abs(planning.solve(fitted).value - true))
    assert errors[1] <= max(errors[0], 0.02 * max(abs(true), 1))
    assert errors[1] < 0.02 * max(abs(true), 1)
    assert len(fitted.monitor.transition) == len(problem.monitor.transition)


# ---- assumptions ----------------------------------------------------------------------------


def test_a_missing_reward_is_as_those_shown_or_the_worst():
    log = two_episodes()
    random = worlds.from_log(log, r_min=-1.0, r_max=5.0)
    worst = worlds.from_log(log, r_min=-1.0, r_max=5.0, missing="worst")
    b, go = random.mdp.find_state("b"), random.mdp.find_action("go")
    assert random.mdp.mean_reward[b, go] == 3.0
    assert worst.mdp.mean_reward[b, go] == 1.0  # (3 − 1) / 2
    assert any("because of their value" in line for line in random.evidence.remarks)
    assert not any("because of their value" in line for line in worst.evidence.remarks)


def test_a_pair_that_is_never_seen_is_hidden_and_pays_the_least():
    log = two_episodes().assign(reward=[None, None, 1.0, None, None])
    problem = worlds.from_log(log, r_min=-1.0, r_max=5.0)
    b, go = problem.mdp.find_state("b"), problem.mdp.find_action("go")
    assert problem.never_seen[b, go]
    assert problem.mdp.mean_reward[b, go] == -1.0
    assert planning.observability(problem).never_observable[b, go]


def test_untried_pairs_are_the_worst_or_do_what_the_log_did():
    log = two_episodes()
    stuck = worlds.from_log(log, r_min=-1.0, r_max=5.0)
    b, stay = stuck.mdp.find_state("b"), stuck.mdp.find_action("stay")
    (o,) = np.flatnonzero(stuck.mdp.pair_of_outcome == b * 2 + stay)
    assert (stuck.mdp.successor[o], stuck.mdp.terminates[o], stuck.mdp.reward[o]) == (b, False, -1)
    copied = worlds.from_log(log, r_min=-1.0, r_max=5.0, untried="forbidden")
    (o,) = np.flatnonzero(copied.mdp.pair_of_outcome == b * 2 + stay)
    assert copied.mdp.state_labels[copied.mdp.successor[o]] == "c"
    assert copied.mdp.terminates[o]
    for problem in (stuck, copied):  # and nobody takes them
        policy = planning.solve(problem).minimax.policy
        assert policy[b, stay] == 0


def test_hiding_that_depends_on_the_outcome_is_told():
    rng = np.random.default_rng(0)
    to = rng.integers(0, 2, 2000)
    shown = rng.random(2000) < np.where(to == 1, 0.9, 0.2)
    log = pd.DataFrame(
        {
            "state": "s",
            "action": "x",
            "reward": np.where(shown, to.astype(float), np.nan),
            "next_state": np.where(to == 1, "well", "ill"),
            "done": True,
        }
    )
    told = worlds.from_log(log, episode=None).evidence.remarks
    assert any("hiding depends on the outcome in 1 of 1 pairs" in line for line in told)
    # the same shares everywhere: nothing to tell
    log["reward"] = np.where(rng.random(2000) < 0.5, to.astype(float), np.nan)
    told = worlds.from_log(log, episode=None).evidence.remarks
    assert not any("hiding depends" in line for line in told)


def test_a_button_has_a_table_of_its_own():
    problem = monmdp.make("bottleneck", "button")
    log = experiment.draw_log(problem, Policy.uniform(problem), rows=50_000)
    fitted = worlds.from_log(log, **MONITOR)
    assert fitted.monitor.transition.shape[0] == 2
    state, action = problem.mdp.button
    apart = np.argwhere(fitted.pair_class.reshape(36, 5) == 1)
    labels = problem.mdp.state_labels[state], problem.mdp.action_labels[action]
    assert apart.tolist() == [list(fitted.mdp.find_pair(labels, "button"))]
    on = fitted.monitor.states.index("ON")
    assert fitted.monitor.reward[on] == pytest.approx(problem.monitor.reward[1])


# ---- names ----------------------------------------------------------------------------------


def test_what_was_never_tried_is_not_better_than_ending():
    log = two_episodes().assign(reward=[1.0, None, 1.0, None, 1.0])
    problem = worlds.from_log(log, r_min=0.5, r_max=1.0)
    policy = planning.solve(problem, 0.99).minimax.policy
    tried = problem.evidence.tried
    for s in np.flatnonzero(tried.any(axis=1)):
        assert policy[s][tried[s] == 0].sum() == 0


def test_monitor_actions_that_were_never_taken_cost_as_much_as_any():
    asked = {"m": ["ON", "ON", "OFF", "OFF", "OFF"], "b": ["ASK", "NO", "NO", "NO", "NO"]}
    log = two_episodes().assign(**asked, c=[-0.5, -0.1, -0.1, -0.1, -0.1])
    names = {"monitor_state": "m", "monitor_action": "b", "monitor_reward": "c"}
    problem = worlds.from_log(log, **names)
    off, ask = problem.monitor.states.index("OFF"), problem.monitor.actions.index("ASK")
    assert problem.monitor.reward[off, ask] == -0.5
    assert any("taken to move alike" in line for line in problem.evidence.remarks)
    assert not any("varies" in line for line in problem.evidence.remarks)
    varied = worlds.from_log(log.assign(c=[-1, 0, -1, 0, -1]), **names)
    assert any("varies within" in line for line in varied.evidence.remarks)


def test_a_table_of_all_pairs():
    pairs = worlds.from_log(two_episodes()).pairs()
    row = pairs.set_index(["state", "action"]).loc[("b", "go")]
    assert row.tolist() == [2, 1, 0.5, 3.0]
    assert len(pairs) == 4  # nothing goes on in c


def test_names_are_kept_and_ordered_as_people_do():
    states = [f"bed {n}" for n in (10, 9, 1)]
    log = frame(*((1, s, "x", 0.0, s, False) for s in states))
    problem = worlds.from_log(log.assign(episode=range(3)))
    assert problem.mdp.state_labels == ("bed 1", "bed 9", "bed 10")


@pytest.mark.parametrize(
    "values", [(1, 2), (1.5, 2.5), ((0, 1), (1, 0)), (True, False), ("x", "y")]
)
def test_anything_hashable_is_a_state(values):
    one, other = values
    log = pd.DataFrame(
        {"state": pd.Series([one, other], dtype=object), "action": ["go", "go"],
         "next_state": pd.Series([other, one], dtype=object), "reward": [0.0, 1.0],
         "done": [False, True], "episode": [1, 1]}
    )  # fmt: skip
    problem = worlds.from_log(log)
    assert sorted(problem.mdp.state_labels) == sorted(map(str, values))


def test_whole_numbers_written_as_decimals_are_the_same_states(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("state,action,reward,next_state,done\n1,x,0,2.0,0\n2,x,1,,1\n")
    problem = worlds.from_log(path, episode=None)
    assert problem.mdp.state_labels == ("1", "2")
    assert any("'2.0' are read as '2'" in line for line in problem.evidence.remarks)
    log = pd.DataFrame({"state": [1, 2], "action": "x", "reward": [0.0, 1.0],
                        "next_state": [2.0, np.nan], "done": [False, True]})  # fmt: skip
    assert worlds.from_log(log, episode=None).mdp.state_labels == ("1", "2")


def test_a_state_called_na_is_a_state(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("state,action,reward,next_state,done\nNA,None,NA,NA,false\nNA,None,1,NA,true\n")
    problem = worlds.from_log(path, episode=None)
    assert problem.mdp.state_labels == ("NA",)
    assert any("is called 'NA'" in line for line in problem.evidence.remarks)
    assert problem.evidence.shown.sum() == 1


# ---- odd logs -------------------------------------------------------------------------------


def test_jumps_copies_and_rows_after_the_end_are_named():
    log = frame(
        (1, "a", "go", 0.0, "b", False),
        (1, "a", "go", 0.0, "b", False),  # a copy
        (1, "c", "go", 0.0, "d", True),  # a jump
        (1, "d", "go", 0.0, "d", False),  # after the end
        (2, "a", "go", 0.0, "a", False),
        (2, "a", "go", 0.0, "a", False),  # stays, twice: nothing odd
        (3, "a", "go", 0.0, None, False),  # leads nowhere
    )
    said = "\n".join(worlds.from_log(log).evidence.remarks)
    for line in (
        "rows that repeat the row before (kept; remove them if they are copies): 1 (row 1)",
        "rows that do not begin in the next state of the row before (kept): 1 (row 2)",
        "rows that follow the end of their own episode (counted as another one): 1 (row 3)",
        "rows that lead nowhere that is known and are left out (no next state, and not done): 1 "
        "(row 6)",
    ):
        assert line in said


def test_jumps_and_copies_are_named_without_a_column_for_episodes():
    log = frame(
        (0, "a", "go", 0.0, "b", False),
        (0, "a", "go", 0.0, "b", False),
        (0, "c", "go", 0.0, "a", False),
        (0, "a", "go", 0.0, "a", True),
        (0, "d", "go", 0.0, "a", True),  # after an end: another episode, nothing odd
    ).drop(columns="episode")
    said = worlds.from_log(log, episode=None).evidence.remarks
    assert sum("repeat the row before" in line and "(row 1)" in line for line in said) == 1
    assert sum("do not begin in the next" in line and "(row 2)" in line for line in said) == 1


def test_a_row_without_an_action_closes_an_episode_or_is_odd():
    rows = [("a", "go", 1.0), ("b", None, 9.0), ("c", "go", 2.0), ("d", None, None)]
    log = pd.DataFrame(rows, columns=["state", "action", "reward"]).assign(episode=1)
    problem = worlds.from_log(log, next_state=None, done=None)
    said = problem.evidence.remarks
    assert any("have no action, and their episode goes on (left out): 1 (row 1)" in s for s in said)
    assert problem.evidence.rows == 2
    assert problem.mdp.time_limit == 2
    assert problem.mdp.r_max == 2.0  # the reward of what is left out is left out


def test_rows_after_the_end_are_found_across_batches(monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 1)
    log = frame((1, "a", "go", 0.0, "b", True), (1, "b", "go", 0.0, "b", True))
    problem = worlds.from_log(log)
    assert any("follow the end" in line for line in problem.evidence.remarks)
    assert problem.evidence.episodes == 2


BAD = {
    "no rows": (lambda log: log.iloc[:0], {}, "has no rows"),
    "no column": (lambda log: log.rename(columns={"reward": "rewards"}), {},
                  "no column 'reward' for reward; did you mean 'rewards'?"),
    "no done": (lambda log: log.drop(columns="done"), {}, "if it has none, done=None"),
    "mixed states": (lambda log: log.assign(state=["a", "b", 3, "a", "b"]), {},
                     "states are of several kinds: text (row 0) and whole numbers (row 2)"),
    "truths among numbers": (lambda log: log.assign(state=pd.Series([1, True, 2, 1, 2], dtype="O")),
                             {}, "whole numbers (row 0) and truth values (row 1)"),
    "complex rewards": (lambda log: log.assign(reward=1j), {}, "holds complex numbers"),
    "mixed columns": (lambda log: log.assign(next_state=[1, 2, 3, 4, 5]), {},
                      "states are of several kinds"),
    "missing states": (lambda log: log.assign(state=["a", None, "a", None, "b"]), {},
                       "2 rows have no state ('state' is empty): rows 1, 3"),
    "missing action": (lambda log: log.assign(action=["x", None, "x", "x", "x"]), {},
                       "a row has no action ('action' is empty): row 1"),
    "reward too low": (lambda log: log, {"r_min": 0.5}, "below r_min = 0.5, such as 0: row 0"),
    "reward too high": (lambda log: log, {"r_max": 2.0}, "above r_max = 2, such as 3: row 4"),
    "reward a text": (lambda log: log.assign(reward=["0", "1", "ok", "1", "1"]), {},
                      "no number as reward, such as 'ok': row 2"),
    "infinite reward": (lambda log: log.assign(reward=[0, 1, np.inf, 1, 1]), {},
                        "an infinite reward: row 2"),
    "dates as rewards": (lambda log: log.assign(reward=pd.Timestamp("2026-01-01")), {},
                         "holds dates"),
    "done a word": (lambda log: log.assign(done=["no", "yes", "maybe", "no", "yes"]), {},
                    "neither true nor false as done, such as 'maybe': row 2"),
    "lists as states": (lambda log: log.assign(state=[[1]] * 5), {}, "is a list, which cannot be"),
    "no rewards": (lambda log: log.assign(reward=np.nan), {}, "no row shows a reward"),
    "bounds crossed": (lambda log: log.assign(reward=np.nan), {"r_min": 1, "r_max": 0},
                       "r_min 1 is above r_max 0"),
    "no state": (lambda log: log, {"state": None}, "state=None: every log needs a column for it"),
    "two roles": (lambda log: log, {"action": "state"}, "'state' has two roles: state, action"),
    "unknown start": (lambda log: log, {"start": "z"}, "no state 'z'"),
    "wrong word": (lambda log: log, {"missing": "randon"}, "did you mean 'random'?"),
    "two columns": (lambda log: pd.concat([log, log[["state"]]], axis=1), {},
                    "two columns are called 'state'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_logs_are_refused_with_their_rows(case):
    change, options, said = BAD[case]
    with pytest.raises(MonMDPError) as error:
        worlds.from_log(change(two_episodes()), **options)
    assert said in str(error.value)


def test_lines_of_a_csv_file_count_from_its_heading(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("state,action,reward,next_state,done\na,x,0,b,0\nb,x,oops,a,1\n")
    with pytest.raises(MonMDPError, match=r"no number as reward, such as 'oops': line 3$"):
        worlds.from_log(path, episode=None)
    rows = 'a,x,0,b,0,"two\nlines"\n\nb,x,!,a,1,\n'
    path.write_text(f"state,action,reward,next_state,done,why\n\n{rows}")
    with pytest.raises(MonMDPError, match=r"no number as reward, such as '!': line 6$"):
        worlds.from_log(path, episode=None)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log.csv", "", "the file is empty"),
        ("log.csv", "state,action,reward,next_state,done\n", "has no rows"),
        ("log.csv", "state,action,reward,next_state,done\na,b\nc,d,e,f,g,h,i\n", "read as CSV"),
        ("log.parquet", "PAR1 nonsense PAR1", "cannot be read as Parquet"),
        ("log.json", "{}", "ends in .parquet or .csv"),
    ],
)
def test_files_that_are_no_logs_are_refused(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(MonMDPError, match=said):
        worlds.from_log(tmp_path / name, episode=None)


@pytest.mark.parametrize("days", ["2026-01-0{}", "0{}/01/2026 08:00"])
def test_dates_in_a_csv_file_are_remarked_on(tmp_path, days):
    rows = "".join(f"1,{days.format(n)},x,0,{days.format(n + 1)},0\n" for n in range(1, 5))
    (tmp_path / "log.csv").write_text("episode,state,action,reward,next_state,done\n" + rows)
    said = worlds.from_log(tmp_path / "log.csv").evidence.remarks
    assert any("dates" in line for line in said)


def test_a_latin_1_file_is_refused(tmp_path):
    (tmp_path / "log.csv").write_bytes("\u00e9tat,action\n1,2\n".encode("latin-1"))
    with pytest.raises(MonMDPError, match="cannot be read as CSV in UTF-8"):
        worlds.from_log(tmp_path / "log.csv")


def test_semicolons_are_told(tmp_path):
    (tmp_path / "log.csv").write_text("state;action;reward\n1;2;3\n")
    with pytest.raises(MonMDPError, match="has commas between its fields"):
        worlds.from_log(tmp_path / "log.csv")


def test_columns_of_a_monitor_that_are_not_used_are_told():
    problem = monmdp.make("loop", "ask")
    log = experiment.draw_log(problem, Policy.uniform(problem), rows=100)
    said = worlds.from_log(log, monitor_action="monitor_action").evidence.remarks
    assert any("not used: monitor_state, monitor_reward" in line for line in said)


def test_a_small_file_with_long_names_does_not_fill_the_memory(tmp_path):
    log = pd.DataFrame({"state": ["x" * 100_000] * 50_000, "action": "a", "reward": 0.0,
                        "next_state": "y", "done": True})  # fmt: skip
    log.astype({"state": "category"}).to_parquet(tmp_path / "log.parquet")
    with pytest.raises(MonMDPError, match="a name of 100,000 letters"):
        worlds.from_log(tmp_path / "log.parquet", episode=None)


def test_the_longest_episode_is_the_time_limit():
    log = frame(
        (1, "a", "go", 0.0, "b", True),
        (1, "b", "go", 0.0, "b", False),
        (1, "b", "go", 0.0, "b", True),
        (1, "b", "go", 0.0, "b", True),
    )
    assert worlds.from_log(log).mdp.time_limit == 2


def test_dates_as_states_are_remarked_on():
    log = two_episodes()
    days = pd.date_range("2026-01-01", periods=6)
    log["state"], log["next_state"] = days[:5], days[1:]
    said = worlds.from_log(log.assign(episode=1, done=False)).evidence.remarks
    assert any("dates" in line for line in said)


def test_a_log_in_which_no_state_is_met_twice_is_remarked_on():
    log = frame(*((1, n, "x", 0.0, n + 1, False) for n in range(50)))
    said = worlds.from_log(log).evidence.remarks
    assert any("hardly any is met twice" in line for line in said)
    assert any("nothing was ever done: '50'" in line for line in said)


# ---- files ----------------------------------------------------------------------------------


def test_a_fitted_problem_is_saved_with_its_evidence(tmp_path):
    problem = worlds.from_log(two_episodes())
    problem.save(tmp_path / "problem.npz")
    read = MonMDP.load(tmp_path / "problem.npz")
    assert type(read) is type(problem)
    for name in ("taken", "shown", "moved", "value_pair", "value", "value_count"):
        assert np.array_equal(getattr(read.evidence, name), getattr(problem.evidence, name))
    assert read.evidence.remarks == problem.evidence.remarks
    assert read.coverage == problem.coverage
    assert experiment.fingerprint(read) == experiment.fingerprint(problem)


@pytest.mark.parametrize("part", ["taken", "shown", "moved", "value_pair", "value_count"])
def test_evidence_that_contradicts_itself_is_refused(part):
    problem = worlds.from_log(two_episodes())
    fields = dict(problem.evidence.__dict__)
    fields[part] = fields[part] + 1 if part != "moved" else fields[part][None]
    with pytest.raises(MonMDPError, match="evidence"):
        type(problem)(problem.mdp, problem.monitor, type(problem.evidence)(**fields))


def test_groups_are_added_up_in_order():
    counts = counting.Counts()
    for _ in range(3):
        counts.add([np.array([2, 1, 2]), np.array([0.5, 0.5, 0.5])], np.array([1.0, 2.0, 4.0]))
    counts.merge()
    assert [key.tolist() for key in counts.keys] == [[1, 2], [0.5, 0.5]]
    assert [of.tolist() for of in counts.sums] == [[3, 6], [6.0, 15.0]]
