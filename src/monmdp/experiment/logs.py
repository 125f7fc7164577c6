"""Logs of a policy in a problem, as people have them: a frame with missing rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monmdp.compiling import compiled
from monmdp.errors import MonMDPError
from monmdp.experiment.evaluation import steps_at_most, writable_tables
from monmdp.experiment.policy import Policy
from monmdp.memory import demand_room
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray, cumulative
from monmdp.model.dynamics import Tables, draw, reset, step
from monmdp.model.mdp import whole_number

if TYPE_CHECKING:
    import pandas as pd

ROW = 100
"""bytes that a row of a log takes while it is made"""


def draw_log(
    monmdp: MonMDP,
    policy: Policy,
    *,
    rows: int | None = None,
    episodes: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Follow a policy and write down what is seen: the frame that `worlds.from_log` takes.

    Args:
        monmdp: the problem; episodes are cut at its time limit.
        policy: what acts.
        rows: how many steps; the last episode may be broken off. Either this or `episodes`.
        episodes: how many episodes.
        seed: of the random stream.

    >>> from monmdp import Policy, experiment, make, worlds
    >>> problem = make("loop", "ask")
    >>> log = experiment.draw_log(problem, Policy.uniform(problem), rows=1000)
    >>> log.columns.tolist()[:6], len(log)
    (['episode', 'state', 'action', 'reward', 'next_state', 'done'], 1000)
    >>> worlds.from_log(log, monitor_state="monitor_state", monitor_action="monitor_action")
    <FittedMonMDP 'log' / 'log': 9 joint states, 10 joint actions>
    """
    import pandas as pd

    policy.check_fits(monmdp)
    if (rows is None) == (episodes is None):
        raise MonMDPError("draw_log takes either rows or episodes")
    limit = steps_at_most(monmdp)
    n_rows = 0 if rows is None else whole_number(rows, "rows", at_least=1)
    n_episodes = 0 if episodes is None else whole_number(episodes, "episodes", at_least=1)
    rng = np.random.default_rng(whole_number(seed, "seed", at_least=0, at_most=None))
    room, follow = n_rows or 1024, compiled(_follow)
    tables, cum = writable_tables(monmdp), cumulative(policy.probability)
    parts: list[tuple[IntArray, FloatArray, BoolArray]] = []
    done = 0
    while True:
        demand_room(ROW * (room + sum(len(part[0]) for part in parts)), f"a log of {room:,} rows")
        whole = np.zeros((room, 6), dtype=np.int64)
        real, truth = np.zeros((room, 2)), np.zeros((room, 2), dtype=np.bool_)
        used, done = follow(tables, cum, limit, done, n_episodes, rng, whole, real, truth)
        parts.append((whole[:used], real[:used], truth[:used]))
        if rows is not None or done >= n_episodes:
            break
        room = max(room, limit) * 2
    whole, real, truth = (np.concatenate(of) for of in zip(*parts, strict=True))
    mdp, monitor = monmdp.mdp, monmdp.monitor
    named = {
        "state": (mdp.state_labels, 1), "action": (mdp.action_labels, 2),
        "next_state": (mdp.state_labels, 3), "monitor_state": (monitor.states, 4),
        "monitor_action": (monitor.actions, 5),
    }  # fmt: skip
    columns = {
        name: np.array(list(labels), dtype=object)[whole[:, at]]
        for name, (labels, at) in named.items()
    }
    return pd.DataFrame(
        {
            "episode": whole[:, 0],
            "state": columns["state"],
            "action": columns["action"],
            "reward": np.where(truth[:, 0], real[:, 0], np.nan),
            "next_state": columns["next_state"],
            "done": truth[:, 1],
            "monitor_state": columns["monitor_state"],
            "monitor_action": columns["monitor_action"],
            "monitor_reward": real[:, 1],
        }
    )


def _follow(
    tables: Tables,
    cum: FloatArray,
    limit: int,
    done: int,
    episodes: int,
    rng: np.random.Generator,
    whole: IntArray,
    real: FloatArray,
    truth: BoolArray,
) -> tuple[int, int]:
    """Fill rows, only with whole episodes if they are counted; how many rows and episodes then."""
    n_sm, n_am = tables.monitor_reward.shape
    at = 0
    while at < len(whole) and (episodes == 0 or (done < episodes and at + limit <= len(whole))):
        se, sm = reset(tables, rng.random(), rng.random())
        for _ in range(limit):
            a = draw(cum[se * n_sm + sm], 0, cum.shape[1], rng.random())
            ae, am = a // n_am, a % n_am
            whole[at, 0], whole[at, 1], whole[at, 2] = done, se, ae
            whole[at, 4], whole[at, 5] = sm, am
            se, sm, re, rm, shown, ended = step(
                tables, se, sm, ae, am, rng.random(), rng.random(), rng.random()
            )
            whole[at, 3] = se
            real[at, 0], real[at, 1] = re, rm
            truth[at, 0], truth[at, 1] = shown, ended
            at += 1
            if ended or at == len(whole):
                break
        done += 1
    return at, done
