"""What a user should know of a log before believing what comes of it."""

from __future__ import annotations

import numpy as np

from monmdp.model.evidence import Missing
from monmdp.model.mdp import MDP
from monmdp.worlds.logs.rows import Counted
from monmdp.worlds.logs.watching import LEVEL

FEWEST = 5
"""expected rows that a test of a share needs"""
STATES_A_ROW = 0.5
"""above this many states a row, a column that names states is more likely one of times"""


def remarks(
    log: Counted, mdp: MDP, missing: Missing, *, given_bounds: tuple[bool, bool]
) -> list[str]:
    """Return what is odd, guessed or assumed, a line each."""
    said = list(log.remarks)
    if log.rows > 10 and len(log.states) > STATES_A_ROW * log.rows:
        said.append(
            f"{len(log.states):,} states in {log.rows:,} rows: hardly any is met twice, so hardly "
            "anything is learnt"
        )
    for given, name, value, word in zip(
        given_bounds, ("r_min", "r_max"), (mdp.r_min, mdp.r_max), ("low", "high"), strict=True
    ):
        if not given:
            said.append(
                f"{name} = {value:g} is the {word}est reward shown; give {name} if there may be "
                f"{word}er ones"
            )
    if "done" not in log.columns:
        said.append("there is no column for done, so no episode ends")
    return said + _idle(log, mdp) + _monitor(log) + _hiding(log, mdp, missing)


def _monitor(log: Counted) -> list[str]:
    """What is taken for granted of a monitor that has columns."""
    said = []
    if len(log.monitor_states) > 1:
        said.append(
            "the monitor is taken to move alike whatever the environment does, but for pairs whose "
            "rows contradict that"
        )
    _, m, _, b, rows, _, cost, squares = log.taken
    pair = m * len(log.monitor_actions) + b
    n, total, square = (np.bincount(pair, of) for of in (rows, cost, squares))
    spread = square - total**2 / np.maximum(n, 1)
    if (spread > 1e-9 * np.maximum(square, 1e-300)).any():
        said.append(
            "what the monitor pays varies within a state and action of it; its mean is taken for "
            "known, also by guarantees"
        )
    return said


def _idle(log: Counted, mdp: MDP) -> list[str]:
    """States that were reached, and in which nothing was ever done."""
    s, _, to, ended, _, _ = log.outcomes
    idle = np.setdiff1d(to[~ended], s)
    if not len(idle):
        return []
    names = ", ".join(repr(mdp.state_labels[i]) for i in idle[:3])
    states = "a state that was" if len(idle) == 1 else f"{len(idle):,} states that were"
    more = ", …" if len(idle) > 3 else ""
    return [f"in {states} reached nothing was ever done: {names}{more}; that counts as the worst"]


def _hiding(log: Counted, mdp: MDP, missing: Missing) -> list[str]:
    """Whether rewards are hidden by what came about: a χ² test for every pair."""
    from scipy import stats

    s, a, _, _, rows, shown = log.outcomes
    pair = s * mdp.n_actions + a
    total, total_shown = (np.bincount(pair, of, minlength=mdp.n_pairs) for of in (rows, shown))
    partly = (total_shown > 0) & (total_shown < total)
    if not partly.any():
        return []
    share = np.divide(total_shown, total, out=np.zeros(mdp.n_pairs), where=total > 0)[pair]
    use = partly[pair] & (rows * np.minimum(share, 1 - share) >= FEWEST)
    off = np.zeros(len(pair))
    np.divide((shown - rows * share) ** 2, rows * share * (1 - share), out=off, where=use)
    statistic = np.bincount(pair, off, minlength=mdp.n_pairs)
    freedom = np.bincount(pair, use, minlength=mdp.n_pairs) - 1
    tested = freedom > 0
    chance = np.ones(mdp.n_pairs)
    chance[tested] = stats.chi2.sf(statistic[tested], freedom[tested])
    found = np.flatnonzero(chance < LEVEL / max(int(tested.sum()), 1))
    said = []
    if len(found):
        worst = int(found[np.argmax(statistic[found])])
        here = (pair == worst) & use
        of = shown[here] / rows[here]
        then = (
            "mean rewards are biased there; missing='worst' is on the safe side"
            if missing == "random"
            else "missing='worst' allows for it"
        )
        said.append(
            f"hiding depends on the outcome in {len(found):,} of {int(tested.sum()):,} pairs "
            f"tested: {mdp.pair_name(worst)} is shown in {of.min():.0%} to {of.max():.0%} of its "
            f"rows, by where it leads; {then}"
        )
    if missing == "random":
        said.append(
            "no log can tell whether rewards are hidden because of their value; missing='worst' "
            "assumes the worst of every reward that is not shown"
        )
    return said
