"""What a log says of a problem: counts, beside the Mon-MDP that was estimated from them.

A `FittedMonMDP` is a Mon-MDP like any other, with maximum-likelihood chances; whoever solves or
simulates it need not know where it comes from. Its `evidence` says how far to trust it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.model.arrays import BoolArray, FloatArray, FrozenArrays, IntArray, frozen
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import MonMDP

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["random", "worst"]
Untried = Literal["worst", "forbidden"]
ARRAYS = ("taken", "shown", "moved", "value_pair", "value", "value_count")
"""fields of `Evidence` that a file holds as arrays"""


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(FrozenArrays):
    """The counts of a log."""

    taken: IntArray
    """[sᵉ, sᵐ, aᵉ, aᵐ] rows in which the joint pair was tried"""
    shown: IntArray
    """[sᵉ, aᵉ] rows that show the reward of the pair"""
    moved: IntArray
    """[class, sᵐ, aᵐ] rows behind the monitor's transition chances"""
    value_pair: IntArray
    """[k] the pair sᵉ·|Aᵉ| + aᵉ of each distinct reward of a pair, in order"""
    value: FloatArray
    """[k] that reward"""
    value_count: IntArray
    """[k] the rows that show it"""
    episodes: int
    """whose first states are the start distribution"""
    start_given: bool
    """whether the environment's start was given instead"""
    bounds_given: bool
    """whether r_min and r_max were given; otherwise they are the lowest and highest shown"""
    rows: int
    """rows of the log that were counted"""
    missing: Missing
    """what is assumed of rewards that are not shown: as those shown ("random"), or r_min"""
    untried: Untried
    """what is assumed of pairs that were never tried"""
    remarks: tuple[str, ...] = field(default=())
    """what was odd about the log"""

    def __post_init__(self) -> None:
        """Check the counts against each other."""
        for name in ARRAYS:
            given = np.asarray(getattr(self, name))
            kind = np.float64 if name == "value" else np.int64
            self._set(**{name: frozen(given, kind, given.shape, name)})
            if name != "value" and (getattr(self, name) < 0).any():
                raise MonMDPError(f"evidence: negative numbers in {name!r}")
        for name, kinds in (("missing", get_args(Missing)), ("untried", get_args(Untried))):
            choice = getattr(self, name)
            if choice not in kinds:
                raise MonMDPError(f"{name}={choice!r}{nearest(str(choice), kinds)}")
        for name in ("episodes", "rows"):
            self._set(**{name: whole_number(getattr(self, name), name, at_least=0)})
        for name in ("start_given", "bounds_given"):
            self._set(**{name: bool(getattr(self, name))})
        if not isinstance(self.remarks, list | tuple):
            raise MonMDPError("evidence: remarks are no list")
        self._set(remarks=tuple(str(line) for line in self.remarks))
        if self.episodes > self.rows:
            raise MonMDPError(f"evidence: {self.episodes:,} episodes in {self.rows:,} rows")
        if self.taken.sum() != self.rows:
            raise MonMDPError(f"evidence: counts of {self.taken.sum():,} rows, not {self.rows:,}")
        if self.taken.ndim != 4 or self.shown.shape != self.tried.shape:
            raise MonMDPError("evidence: 'taken' or 'shown' has the wrong shape")
        if (self.shown > self.tried).any():
            raise MonMDPError("evidence: a reward is shown in more rows than its pair was tried in")
        if not len(self.value_pair) == len(self.value) == len(self.value_count):
            raise MonMDPError("evidence: the table of rewards has columns of unequal length")
        if len(self.value_pair):
            in_order = (np.diff(self.value_pair) >= 0).all()
            if not in_order or self.value_pair[-1] >= self.shown.size:
                raise MonMDPError("evidence: the table of rewards is not in the order of the pairs")
        counted = np.bincount(self.value_pair, self.value_count, minlength=self.shown.size)
        if (counted != self.shown.reshape(-1)).any():
            raise MonMDPError("evidence: the table of rewards and 'shown' disagree")

    def __repr__(self) -> str:
        return f"<Evidence: {self.rows:,} rows, {self.episodes:,} episodes>"

    @property
    def tried(self) -> IntArray:
        """[sᵉ, aᵉ] rows in which the pair was tried."""
        counts: IntArray = self.taken.sum(axis=(1, 3))
        return counts

    @property
    def logged_policy(self) -> FloatArray:
        """[s, a] how often the log takes each joint action.

        In a joint state that it never was in, it acts on the environment as it does in that state
        otherwise, and on the monitor likewise; where it never was in either, uniformly.
        """
        n_se, n_sm, n_ae, n_am = self.taken.shape
        env = _shares(self.tried, 1)[:, None, :, None]
        monitor = _shares(self.taken.sum(axis=(0, 2)), 1)[None, :, None, :]
        total = self.taken.sum(axis=(2, 3), keepdims=True)
        policy = np.where(total > 0, self.taken / np.maximum(total, 1), env * monitor)
        return policy.reshape(n_se * n_sm, n_ae * n_am)

    def meta(self) -> dict[str, Any]:
        """Return all that is no array, for a file."""
        return {
            "episodes": self.episodes,
            "start_given": self.start_given,
            "bounds_given": self.bounds_given,
            "rows": self.rows,
            "missing": self.missing,
            "untried": self.untried,
            "remarks": list(self.remarks),
        }


def _shares(counts: IntArray, axis: int) -> FloatArray:
    """Counts as shares along an axis; equal ones where there are none."""
    total = counts.sum(axis=axis, keepdims=True)
    shares: FloatArray = np.where(total > 0, counts / np.maximum(total, 1), 1 / counts.shape[axis])
    return shares


class Coverage(NamedTuple):
    """What a log covers, in numbers of pairs (sᵉ, aᵉ) and of rows."""

    rows: int
    episodes: int
    states: int
    actions: int
    pairs: int
    """of states in which an episode goes on"""
    tried: int
    """pairs of which there is a row"""
    never_tried: int
    seen: int
    """pairs whose reward is shown in some row"""
    never_seen: int
    """pairs that were tried, and whose reward is shown in no row"""
    shown: float
    """share of the rows that show their reward"""
    once: float
    """share of the rows whose outcome no other row has; about the chance that the next one is new
    (Good and Turing)"""


@dataclass(frozen=True, eq=False, repr=False)
class FittedMonMDP(MonMDP):
    """A Mon-MDP estimated from a log; made by `worlds.from_log`."""

    evidence: Evidence

    def __post_init__(self) -> None:
        """Refuse counts that are not of this problem."""
        if self.evidence.taken.shape != (
            self.mdp.n_states,
            self.monitor.n_states,
            self.mdp.n_actions,
            self.monitor.n_actions,
        ):
            raise MonMDPError(f"evidence: counts {self.evidence.taken.shape}, not {self.shape}")
        if self.evidence.moved.shape != self.monitor.transition.shape[:-1]:
            raise MonMDPError("evidence: 'moved' has the wrong shape")
        low, high = self.mdp.r_min, self.mdp.r_max
        slack = 1e-12 * max(1.0, abs(low), abs(high))
        value = self.evidence.value
        if ((value < low - slack) | (value > high + slack)).any():
            raise MonMDPError(f"evidence: a reward lies outside [{low:g}, {high:g}]")
        counts = self.mdp.probability * self.evidence.tried.reshape(-1)[self.mdp.pair_of_outcome]
        if (np.abs(counts - np.rint(counts)) > 1e-6 * np.maximum(counts, 1)).any():
            raise MonMDPError("evidence: the chances of the outcomes are not shares of the rows")

    @property
    def outcome_rows(self) -> IntArray:
        """[outcome] rows in which it came about; 0 for what was never tried."""
        tried = self.evidence.tried.reshape(-1)[self.mdp.pair_of_outcome]
        return np.rint(self.mdp.probability * tried).astype(np.int64)

    @property
    def never_seen(self) -> BoolArray:
        """[sᵉ, aᵉ] pairs that were tried, and whose reward no row shows."""
        unseen: BoolArray = (self.evidence.tried > 0) & (self.evidence.shown == 0)
        return unseen

    @property
    def live(self) -> BoolArray:
        """[sᵉ] states in which an episode goes on: something was done there, or it did not end."""
        live: BoolArray = self.evidence.tried.any(axis=1) | (self.mdp.start > 0)
        goes_on = (self.outcome_rows > 0) & ~self.mdp.terminates
        live[self.mdp.successor[goes_on]] = True
        return live

    @property
    def coverage(self) -> Coverage:
        """What the log covers."""
        evidence, mdp = self.evidence, self.mdp
        pairs = int(self.live.sum()) * mdp.n_actions
        tried = int((evidence.tried > 0).sum())
        seen = int((evidence.shown > 0).sum())
        return Coverage(
            rows=evidence.rows,
            episodes=evidence.episodes,
            states=mdp.n_states,
            actions=mdp.n_actions,
            pairs=pairs,
            tried=tried,
            never_tried=pairs - tried,
            seen=seen,
            never_seen=tried - seen,
            shown=float(evidence.shown.sum() / max(evidence.rows, 1)),
            once=float((self.outcome_rows == 1).sum() / max(evidence.rows, 1)),
        )

    def pairs(self) -> pd.DataFrame:
        """Return a table of all pairs in states where an episode goes on: rows, shown, mean."""
        import pandas as pd

        s, a = np.nonzero(np.repeat(self.live[:, None], self.mdp.n_actions, axis=1))
        tried, shown = self.evidence.tried[s, a], self.evidence.shown[s, a]
        rate = np.divide(shown, tried, out=np.full(len(s), np.nan), where=tried > 0)
        states, actions = self.mdp.state_labels, self.mdp.action_labels
        return pd.DataFrame(
            {
                "state": [states[int(i)] for i in s],
                "action": [actions[int(i)] for i in a],
                "rows": tried,
                "shown": shown,
                "chance_shown": rate,
                "mean_reward": np.where(shown > 0, self.mdp.mean_reward[s, a], np.nan),
            }
        )

    def _stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._stored()
        own = {f"evidence_{name}": getattr(self.evidence, name) for name in ARRAYS}
        return meta | {"evidence": self.evidence.meta()}, arrays | own


def evidence_shapes(S: int, A: int, Sm: int, Am: int) -> dict[str, tuple[int | None, ...]]:
    """Return the arrays of a file's evidence and their shapes."""
    return {
        "evidence_taken": (S, Sm, A, Am),
        "evidence_shown": (S, A),
        "evidence_moved": (None, Sm, Am),
        **{f"evidence_{name}": (None,) for name in ("value_pair", "value", "value_count")},
    }


def stored_evidence(meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> Evidence:
    """Return the evidence that a file holds."""
    return Evidence(**{name: arrays[f"evidence_{name}"] for name in ARRAYS}, **meta)
