"""What it is worth to see a set of hidden rewards.

V(X) is the mean, over scenarios of what hidden pairs pay, of the minimax value when the pairs of X
pay what the scenario says and all other never-observable pairs pay r_min. It never falls when X
grows. It is neither sub- nor supermodular: two rewards may be worth something only together, and of
two that are as good as each other the second is worth nothing.

Three facts save most of the plans. With V and Q of X at hand,

* pairs that would not be worth choosing anywhere, Q(s, a) + rise ≤ V(s), add nothing to X, alone or
  together: V then solves the Bellman equation with their rewards, too;
* pairs that the plan of X never comes to choose can be taken from X, all of them at once;
* the values of X are a good guess at those of a set that differs in little.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.monmdp import MonMDP
from monmdp.planning.factors import share_structure
from monmdp.planning.observability import Observability, worst_case
from monmdp.planning.policy_iteration import Optimum, decay, optimal
from monmdp.planning.progress import Progress, Tell

Subset = frozenset[int]
"""a set of candidates, by number"""

TIE = 1e-11
"""actions closer than this are as good as each other, in units of the largest value"""
KEPT, MOST_KEPT = 32, 10**6
"""sets whose plans are kept in memory, and values of all of them, if four sets have no more"""


@dataclass(frozen=True, eq=False)
class _Plan:
    """An optimal plan in one scenario, for a set that is seen."""

    optimum: Optimum
    pairs: IntArray
    """[hidden] the never-observable pairs"""
    moves: Any
    """[s·|A| + a, s′] joint transitions that do not end the episode"""

    @property
    def tie(self) -> float:
        """Actions that are worse by no more are as good as the best."""
        return TIE * max(1.0, float(np.abs(self.optimum.values).max())) + 2 * self.optimum.residual

    @property
    def error(self) -> float:
        """How far its value is from the exact one at most, also if ties are decided at will."""
        plan = self.optimum
        if plan.stages is not None:
            return self.tie * (len(plan.stages) - 1)
        return plan.error_bound + self.tie / decay(plan.monmdp, plan.gamma)

    @cached_property
    def behind(self) -> FloatArray:
        """[hidden] by how much the pair is worse than the best choice, where it is least so."""
        plan = self.optimum
        n_sm, n_am = plan.monmdp.monitor.n_states, plan.monmdp.monitor.n_actions
        se, ae = np.divmod(self.pairs, plan.monmdp.mdp.n_actions)
        q = plan.action_values().reshape(-1, n_sm, plan.monmdp.mdp.n_actions, n_am)[se, :, ae]
        lost = plan.values.reshape(-1, n_sm)[se] - q.max(axis=2)
        return np.asarray(lost.min(axis=1))

    @cached_property
    def used(self) -> BoolArray:
        """[hidden] whether the plan ever chooses the pair; of equally good ones it takes others."""
        plan, problem = self.optimum, self.optimum.monmdp
        chosen = np.zeros(problem.mdp.n_pairs, dtype=np.bool_)
        reached = problem.start > 0
        for choice in self._choices():
            while True:
                s = np.flatnonzero(reached)
                ae = choice[s] // problem.monitor.n_actions
                chosen[s // problem.monitor.n_states * problem.mdp.n_actions + ae] = True
                rows = self.moves[s * problem.n_actions + choice[s]]
                after = np.zeros_like(reached)
                after[rows.indices] = True
                if plan.stages is not None:
                    reached = after
                    break
                if not (after & ~reached).any():
                    break
                reached |= after
        return chosen[self.pairs]

    def _choices(self) -> Iterator[IntArray]:
        """[s] the joint action chosen at each step; one for all where time does not matter."""
        plan, problem = self.optimum, self.optimum.monmdp
        hidden = np.zeros(problem.mdp.n_pairs)
        hidden[self.pairs] = 1.0
        by_state = hidden.reshape(problem.mdp.n_states, 1, problem.mdp.n_actions, 1)
        for step in range(1 if plan.stages is None else len(plan.stages) - 1):
            choice = np.empty((problem.mdp.n_states, problem.monitor.n_states), dtype=np.int64)
            for states, q in plan._action_values(step):
                best = q >= q.max(axis=(2, 3), keepdims=True) - self.tie
                liked = np.where(best, 2.0 - by_state[states], 0.0)
                choice[states] = liked.reshape(*liked.shape[:2], -1).argmax(axis=2)
            yield choice.reshape(-1)


class Worth:
    """The value V(X) of seeing sets of candidates; every set is planned for once.

    Attributes:
        plans: how many plans were made.
        error: no value is further than this from the exact one.
        converged: whether all values are as exact as they should be.
    """

    def __init__(
        self,
        monmdp: MonMDP,
        seen: Observability,
        gamma: float,
        pay: FloatArray,
        members: list[BoolArray],
        tell: Tell | None = None,
    ) -> None:
        """Prepare for the scenarios `pay` [k, sᵉ, aᵉ] and candidates `members`, [sᵉ, aᵉ] each."""
        self.gamma = gamma
        self.worst = worst_case(monmdp, seen)
        self.pairs = np.flatnonzero(seen.never_observable)
        self.pay = np.ascontiguousarray(pay.reshape(len(pay), -1)[:, self.pairs])
        self.rise = self.pay - monmdp.mdp.r_min
        of = [mask.reshape(-1)[self.pairs] for mask in members]
        self.covers = np.array(of, dtype=np.bool_).reshape(len(members), len(self.pairs))
        self.plans, self.error, self.converged = 0, 0.0, True
        self.kept = len(pay) * max(4, min(KEPT, MOST_KEPT // monmdp.n_states))
        self._progress = Progress(tell)
        self._values: dict[bytes, FloatArray] = {}
        self._used: dict[bytes, BoolArray] = {}
        self._kept: OrderedDict[tuple[bytes, int], _Plan] = OrderedDict()

    def __call__(self, chosen: Subset, near: Subset | None = None) -> float:
        """Return V(X); `near` is a similar set whose plans save time."""
        shown = self.shown(chosen)
        key = shown.tobytes()
        if key not in self._values:
            close = None if near is None else self.shown(near)
            self._values[key] = np.array(
                [self._value(k, shown, close) for k in range(len(self.pay))]
            )
        return float(self._values[key].mean())

    def shown(self, chosen: Subset) -> BoolArray:
        """[hidden] the pairs that candidates make visible."""
        return np.asarray(self.covers[sorted(chosen)].any(axis=0))

    def used(self, chosen: Subset, near: Subset | None = None) -> BoolArray:
        """[hidden] the pairs of X that the plan of some scenario needs to see."""
        shown = self.shown(chosen)
        key = shown.tobytes()
        if key not in self._used:
            close = None if near is None else self.shown(near)
            plans = (self._plan(k, shown, close) for k in range(len(self.pay)))
            self._used[key] = shown & np.any([plan.used for plan in plans], axis=0)
        return self._used[key]

    @cached_property
    def _moves(self) -> Any:
        return self.worst.transition_matrix(continuing=True)

    def _value(self, k: int, shown: BoolArray, near: BoolArray | None) -> float:
        if near is not None and (shown.tobytes(), k) not in self._kept:
            plan = self._plan(k, near)
            more, less = shown & ~near, near & ~shown
            # With few steps left a pair may be worth choosing that otherwise is not.
            no_gain = not more.any() or (
                plan.optimum.stages is None and (self.rise[k] <= plan.behind)[more].all()
            )
            if no_gain and not (less.any() and plan.used[less].any()):
                self._keep((shown.tobytes(), k), plan)
                return plan.optimum.value
        return self._plan(k, shown, near).optimum.value

    def _plan(self, k: int, shown: BoolArray, near: BoolArray | None = None) -> _Plan:
        """The plan of a scenario with these pairs shown, begun from that of others."""
        key = shown.tobytes(), k
        if key not in self._kept:
            start = None if near is None else self._plan(k, near).optimum.values
            plan = _Plan(self._solved(k, shown, start), self.pairs, self._moves)
            self.error = max(self.error, plan.error)
            self.converged &= plan.optimum.converged
            self._keep(key, plan)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _keep(self, key: tuple[bytes, int], plan: _Plan) -> None:
        self._kept[key] = plan
        while len(self._kept) > self.kept:
            self._kept.popitem(last=False)

    def _solved(self, k: int, shown: BoolArray, start_from: FloatArray | None) -> Optimum:
        mdp = self.worst.mdp
        pay = np.full(mdp.n_pairs, np.nan)
        pay[self.pairs[shown]] = self.pay[k, shown]
        by_outcome = pay[mdp.pair_of_outcome]
        reward = np.where(np.isnan(by_outcome), mdp.reward, by_outcome)
        problem = self.worst.with_mdp(mdp.with_outcome_rewards(reward))
        share_structure(self.worst, problem)
        self.plans += 1
        self._progress(f"{self.plans:,} plans")
        return optimal(problem, self.gamma, start_from=start_from)
