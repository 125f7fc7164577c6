"""From counts to a Mon-MDP: maximum likelihood, and a stated assumption where there are no rows.

* pᵉ(s′, end | sᵉ, aᵉ) is the share of rows. A pair that was never tried stays where it is at r_min
  for ever, or ends at once if r_min is positive (untried="worst"); or it does what the log did in
  that state, at r_min ("forbidden"): no optimal policy prefers it.
* rᵉ(sᵉ, aᵉ) is the mean of the rewards shown (missing="random"), or the mean over all rows with
  r_min wherever none is shown (missing="worst"). A pair whose reward no row shows is hidden (⊥) and
  pays r_min.
* The monitor: see `watching`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.memory import demand_room
from monmdp.model.arrays import BoolArray, FloatArray, IntArray, columns_of
from monmdp.model.evidence import Evidence, FittedMonMDP, Missing, Untried
from monmdp.model.mdp import MDP, number, whole_number
from monmdp.model.monmdp import join
from monmdp.worlds.logs.reading import opened
from monmdp.worlds.logs.remarks import remarks
from monmdp.worlds.logs.rows import Counted, counted
from monmdp.worlds.logs.watching import fitted_monitor

BYTES = 200
"""that a pair and its outcomes take"""


def from_log(
    log: Any,
    *,
    state: str = "state",
    action: str = "action",
    reward: str = "reward",
    next_state: str | None = "next_state",
    done: str | None = "done",
    episode: str | None = "episode",
    monitor_state: str | None = None,
    monitor_action: str | None = None,
    monitor_reward: str | None = None,
    missing: Missing = "random",
    untried: Untried = "worst",
    r_min: float | None = None,
    r_max: float | None = None,
    start: Any = None,
    time_limit: int | Literal["longest"] | None = "longest",
    name: str | None = None,
) -> FittedMonMDP:
    """Estimate a Mon-MDP from a log in which some rewards are missing.

    Rows of an episode stand in the order in which they happened. States and actions may be called
    anything hashable; their names are kept. `problem.evidence` has the counts, and in `remarks`
    what was odd about the log.

    Args:
        log: a pandas frame, or the path of a .parquet or .csv file.
        state: the column with sᵉ.
        action: the column with aᵉ.
        reward: the column with rᵉ; missing where it was not shown.
        next_state: the column with s′ᵉ; None: it is the state of the episode's next row, and a row
            without an action closes an episode.
        done: the column that says whether the episode ended there, not merely was cut; None: none
            ends.
        episode: the column that tells episodes apart; None: one begins after each end.
        monitor_state: the column with sᵐ.
        monitor_action: the column with aᵐ.
        monitor_reward: the column with rᵐ, which is always shown.
        missing: what is assumed of rewards that are not shown. "random": within a pair, whether a
            reward is shown has nothing to do with the reward. "worst": all are r_min.
        untried: what is assumed of pairs that were never tried: "worst" or "forbidden".
        r_min: the lowest reward there may be; default the lowest that is shown.
        r_max: the highest.
        start: the state in which every episode begins; default those of the log's episodes.
        time_limit: steps after which episodes are cut; default the longest episode's.
        name: of the world; default the file's.

    >>> import pandas as pd
    >>> from monmdp import worlds
    >>> rows = [("bed", "wait", None, "bed", False), ("bed", "walk", 1.0, "home", True)]
    >>> log = pd.DataFrame(rows, columns=["state", "action", "reward", "next_state", "done"])
    >>> problem = worlds.from_log(log, episode=None, r_min=-1.0, r_max=1.0)
    >>> problem
    <FittedMonMDP 'log' / 'log': 2 joint states, 2 joint actions>
    >>> problem.mdp.state_labels, problem.evidence.tried.tolist()
    (('bed', 'home'), [[1, 1], [0, 0]])
    >>> problem.mdp.mean_reward[0].tolist(), problem.mdp.hidden[:2].tolist()
    ([-1.0, 1.0], [True, False])
    """
    for what, choice, known in (
        ("missing", missing, ("random", "worst")),
        ("untried", untried, ("worst", "forbidden")),
    ):
        if choice not in known:
            raise MonMDPError(f"{what}={choice!r}{nearest(str(choice), known)}")
    if time_limit is not None and time_limit != "longest":
        time_limit = whole_number(time_limit, "time_limit", at_least=1)
    columns = {
        "state": state, "action": action, "reward": reward, "next_state": next_state, "done": done,
        "episode": episode, "monitor_state": monitor_state, "monitor_action": monitor_action,
        "monitor_reward": monitor_reward,
    }  # fmt: skip
    for role in ("state", "action", "reward"):
        if columns[role] is None:
            raise MonMDPError(f"{role}=None: every log needs a column for it")
    given = {role: str(column) for role, column in columns.items() if column is not None}
    if twice := {of for of in given.values() if list(given.values()).count(of) > 1}:
        raise MonMDPError(f"column {min(twice)!r} has two roles: " + ", ".join(
            role for role, of in given.items() if of == min(twice)))  # fmt: skip
    low = None if r_min is None else number(r_min, "r_min")
    high = None if r_max is None else number(r_max, "r_max")
    if low is not None and high is not None and low > high:
        raise MonMDPError(f"r_min {low:g} is above r_max {high:g}")
    rows = counted(opened(log), given, low, high, start)
    bounds = _bounds(rows, low, high)
    mdp, evidence = _fitted(rows, bounds, missing, untried, time_limit, name)
    monitor, moved, taken = fitted_monitor(rows, mdp, evidence["shown"])
    bound = join(mdp, monitor)
    said = remarks(rows, mdp, missing, given_bounds=(r_min is not None, r_max is not None))
    evidence |= {"moved": moved, "taken": taken, "bounds_given": None not in (low, high)}
    made = Evidence(**evidence, remarks=tuple(said))
    return FittedMonMDP(bound.mdp, bound.monitor, made)


def _fitted(
    log: Counted,
    bounds: tuple[float, float],
    missing: Missing,
    untried: Untried,
    time_limit: Any,
    name: str | None,
) -> tuple[MDP, dict[str, Any]]:
    """The environment, and the counts behind it as `Evidence` names them."""
    S, A = len(log.states), len(log.actions)
    demand_room(BYTES * S * A, f"{S:,} states x {A:,} actions")
    low, high = bounds
    s, a, to, ended, rows, shown_rows = log.outcomes
    pair = s * A + a
    tried, shown = (
        np.bincount(pair, of, minlength=S * A).astype(np.float64) for of in (rows, shown_rows)
    )
    value_pair, value, value_count = _values(log, A)
    paid = np.bincount(value_pair, value * value_count, minlength=S * A).astype(np.float64)
    behind = shown
    if missing == "worst":
        paid, behind = paid + (tried - shown) * low, tried
    mean = np.full(S * A, low)
    np.divide(paid, behind, out=mean, where=shown > 0)
    mean = np.clip(mean, low, high)
    live = np.zeros(S, dtype=bool)
    live[s], live[to[~ended]] = True, True
    known = (s, a, to, rows / tried[pair], mean[pair], ended, shown[pair] == 0)
    others = _untried(untried, tried.reshape(S, A), live, low, known)
    mdp = MDP.from_columns(
        *columns_of([known, *others]),
        name=name or log.name,
        n_states=S,
        n_actions=A,
        start=_start(log),
        r_min=low,
        r_max=high,
        time_limit=_limit(log) if time_limit == "longest" else time_limit,
        state_labels=log.states,
        action_labels=log.actions,
    )
    return mdp, {
        "shown": shown.reshape(S, A).astype(np.int64),
        "value_pair": value_pair,
        "value": value,
        "value_count": value_count.astype(np.int64),
        "episodes": log.episodes,
        "start_given": log.first_state is not None,
        "rows": log.rows,
        "missing": missing,
        "untried": untried,
    }


def _bounds(log: Counted, low: float | None, high: float | None) -> tuple[float, float]:
    values = log.rewards[2]
    if not len(values) and (low is None or high is None):
        raise MonMDPError(
            f"{log.name}: no row shows a reward; give r_min and r_max, between which they lie"
        )
    least = float(values.min()) if low is None else low
    most = float(values.max()) if high is None else high
    if least > most:
        raise MonMDPError(f"r_min {least:g} is above r_max {most:g}")
    return least, most


def _values(log: Counted, A: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """The distinct rewards of every pair, in the order of the pairs."""
    s, a, value, rows = log.rewards
    pair = s * A + a
    order = np.lexsort((value, pair))
    return pair[order], value[order], rows[order]


def _untried(
    untried: Untried, tried: FloatArray, live: BoolArray, low: float, known: Any
) -> list[tuple[Any, ...]]:
    """Outcomes of the pairs that have no rows."""
    blocks: list[tuple[Any, ...]] = []
    over, action = np.nonzero((tried == 0) & ~live[:, None])
    if len(over):  # nothing happens after the end
        blocks.append((over, action, over, 1.0, low, True, True))
    stuck = (tried == 0) & live[:, None]
    if untried == "forbidden":
        copies = stuck & (tried.sum(axis=1) > 0)[:, None]
        stuck &= ~copies
        blocks += _as_logged(copies, tried, low, known)
    at, action = np.nonzero(stuck)
    if len(at):
        blocks.append((at, action, at, 1.0, low, low > 0, True))
    return blocks


def _as_logged(
    copies: BoolArray, tried: FloatArray, low: float, known: Any
) -> list[tuple[Any, ...]]:
    """Outcomes of pairs that do what the log did in their state, at r_min."""
    s, a, to, chance, _, ended, _ = known
    share = chance * tried[s, a] / tried.sum(axis=1)[s]
    blocks = []
    for action in np.flatnonzero(copies.any(axis=0)):
        mine = copies[s, action]
        blocks.append((s[mine], action, to[mine], share[mine], low, ended[mine], True))
    return blocks


def _start(log: Counted) -> FloatArray:
    """[sᵉ] the first states of episodes, or the one that was named."""
    first = np.zeros(len(log.states))
    if log.first_state is not None:
        first[log.first_state] = 1.0
        return first
    s, _, episodes = log.starts
    np.add.at(first, s, episodes)
    return np.asarray(first / first.sum())


def _limit(log: Counted) -> int | None:
    """The longest episode, where episodes can be told apart."""
    return log.longest if log.columns & {"episode", "done"} else None
