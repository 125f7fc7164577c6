"""Everything exact planning can say about a Mon-MDP: `solve`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray
from monmdp.model.evidence import FittedMonMDP
from monmdp.model.mdp import MDP
from monmdp.model.monmdp import MonMDP
from monmdp.planning import backup
from monmdp.planning.factors import factors
from monmdp.planning.gpu.devices import CPU, usable
from monmdp.planning.observability import (
    Bias,
    Observability,
    biased_pairs,
    observability,
    worst_case,
)
from monmdp.planning.policy_evaluation import evaluate, from_start
from monmdp.planning.policy_iteration import TOLERANCE, Optimum, optimal
from monmdp.planning.progress import Progress, Tell

MANY = 10**8
"""above this many states times steps a policy is followed from the start, not by backward
induction"""


@dataclass(frozen=True)
class WhatIf:
    """What would be gained if a never-observable pair could be seen."""

    state: int
    action: int
    mean_reward: float
    """what would be seen"""
    gain: float
    """rise of the minimax value, which is guaranteed, from the start distribution; never
    negative"""
    true_gain: float
    """rise of the true value, hidden rewards included, of the minimax policy; may be negative:
    what is guaranteed is all that a minimax policy looks at"""

    def to_dict(self, mdp: MDP) -> dict[str, Any]:
        """Return it with the names of state and action, for JSON."""
        pair = _named_pair(mdp, self.state, self.action)
        gains = {"gain": self.gain, "true_gain": self.true_gain}
        return pair | {"mean_reward": self.mean_reward, **gains}


def _named_pair(mdp: MDP, state: int, action: int) -> dict[str, Any]:
    return {
        "state": int(state),
        "action": int(action),
        "state_label": mdp.state_labels[state],
        "action_label": mdp.action_labels[action],
    }


@dataclass(frozen=True, eq=False)
class Solution:
    """The minimax-optimal solution of a Mon-MDP.

    >>> import monmdp
    >>> solution = monmdp.solve(monmdp.make("treasure-hunter", "ask"))
    >>> round(solution.value, 4), round(solution.price, 4), solution.minimax.converged
    (0.1, 0.9, True)
    """

    monmdp: MonMDP
    gamma: float
    seen: Observability
    minimax: Optimum
    """optimal values and policy of M↓"""
    episode_return: float
    """discounted return of the minimax policy in M↓, cut at the world's time limit"""
    optimal_value: float
    """value from the start distribution if every reward were known"""
    price: float
    """what not seeing costs: optimal value minus true value of the minimax policy"""

    @property
    def value(self) -> float:
        """Minimax value: in M↓, from the start distribution, for ever or for `horizon` steps."""
        return self.minimax.value

    @property
    def horizon(self) -> int | None:
        """Steps that it is solved for: γ = 1, and only the time limit ends all episodes."""
        stages = self.minimax.stages
        return None if stages is None else len(stages) - 1

    @cached_property
    def bias(self) -> list[Bias]:
        """Pairs whose shown rewards are a biased sample of their rewards."""
        return biased_pairs(self.monmdp)

    @property
    def solvable(self) -> bool:
        """Whether every reachable reward can be seen."""
        return self.seen.solvable

    @property
    def rho(self) -> float | None:
        """Smallest non-zero probability of seeing a reward; None when nothing is ever shown."""
        return self.seen.rho

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain Python objects, for JSON."""
        mdp, monitor = self.monmdp.mdp, self.monmdp.monitor
        return {
            "world": mdp.name,
            "monitor": monitor.name,
            "gamma": self.gamma,
            "horizon": self.horizon,
            "states": self.monmdp.n_states,
            "actions": self.monmdp.n_actions,
            "solvable": self.solvable,
            "rho": self.rho,
            "value": self.value,
            "episode_return": self.episode_return,
            "optimal_value": self.optimal_value,
            "price": self.price,
            "never_observable": [
                _named_pair(mdp, s, a) for s, a in self.seen.never_observable_pairs
            ],
            "biased": [
                _named_pair(mdp, of.state, of.action)
                | {"mean_reward": of.mean, "shown_mean": of.shown_mean}
                for of in self.bias
            ],
            # the tied best joint actions (aᵉ·|Aᵐ| + aᵐ) of every joint state sᵉ·|Sᵐ| + sᵐ
            "policy": [np.flatnonzero(row).tolist() for row in self.minimax.greedy],
            "converged": self.minimax.converged,
            "residual": self.minimax.residual,
        }


def minimax(
    monmdp: MonMDP,
    gamma: float = 0.99,
    *,
    tol: float = TOLERANCE,
    device: str = CPU,
    tell: Tell | None = None,
) -> Optimum:
    """Return the minimax-optimal plan: optimal in M↓; the arguments are those of `optimal`.

    >>> from monmdp import make, planning
    >>> round(planning.minimax(make("bottleneck", "button")).value, 4)
    0.1943
    """
    return optimal(worst_case(monmdp), gamma, tol=tol, device=usable(device), tell=tell)


def solve(
    monmdp: MonMDP,
    gamma: float = 0.99,
    *,
    tol: float = TOLERANCE,
    device: str = CPU,
    tell: Tell | None = None,
) -> Solution:
    """Solve exactly: what can be seen, the minimax-optimal policy, what not seeing costs.

    Args:
        monmdp: the problem.
        gamma: discount, in [0, 1], as `planning.optimal` takes it.
        tol: allowed error of the values, or what floating point can resolve if that is more.
        device: "cpu" or "gpu"; without a GPU, or without JAX, it is the CPU, with a warning.
        tell: called a few times a second with a line that says how far it is.

    >>> import monmdp
    >>> solution = monmdp.solve(monmdp.make("bottleneck", "button", rho=0.05))
    >>> solution.solvable, solution.rho, round(solution.value, 4), round(solution.price, 4)
    (False, 0.05, 0.1943, 0.0)
    """
    device = usable(device)
    seen = observability(monmdp)
    worst = worst_case(monmdp, seen)
    how: dict[str, Any] = {"device": device, "tell": tell}
    plan = optimal(worst, gamma, tol=tol, **how)
    limit = monmdp.mdp.time_limit
    cut = plan.value
    if limit is not None and plan.stages is None:
        cut = _cut(worst, plan, limit, tol, tell)
    best, price = plan.value, 0.0
    if not seen.solvable:
        best = optimal(monmdp, gamma, tol=tol, start_from=plan.values, **how).value
        # A price within the solver's error of nothing is nothing.
        price = best - _true_value(monmdp, plan, tol, tell)
        if abs(price) <= 2 * (tol + plan.error_bound):
            price = 0.0
    return Solution(monmdp, plan.gamma, seen, plan, cut, best, price)


def _cut(worst: MonMDP, plan: Optimum, limit: int, tol: float, tell: Tell | None) -> float:
    """Value of a plan's policy from the start distribution in episodes that end at the limit."""
    if plan.device == CPU and worst.n_states * limit > MANY:
        return from_start(worst, plan.policy, plan.gamma, limit, tol, Progress(tell))
    how: dict[str, Any] = {"device": plan.device, "tell": tell}
    return evaluate(worst, plan.policy, plan.gamma, horizon=limit, **how).value


def _true_value(
    monmdp: MonMDP, plan: Optimum, tol: float = TOLERANCE, tell: Tell | None = None
) -> float:
    """Value of a plan's policy with the rewards of `monmdp`, from the start distribution."""
    if plan.stages is None:
        near: dict[str, Any] = {"start_from": plan.values, "device": plan.device, "tell": tell}
        return evaluate(monmdp, plan.policy, plan.gamma, tol=tol, **near).value
    m = factors(monmdp)
    n_se, n_sm, n_ae, n_am = monmdp.shape
    V = np.zeros((n_se, n_sm))
    for policy in plan.policies(backwards=True):
        joint = policy.reshape(n_se, n_sm, n_ae, n_am)
        V = backup.policy_values(m, 1.0, joint, backup.project(m, V))
    return float(monmdp.start @ V.reshape(-1))


def what_if(
    solution: Solution,
    pairs: list[tuple[int, int]] | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> list[WhatIf]:
    """Ask which reward is worth instrumenting.

    For each given never-observable pair (all of them by default): the gain if this pair alone
    became observable, in what is guaranteed (the minimax value) and in truth. Most valuable first.

    Args:
        solution: what `solve` returned.
        pairs: (state, action), by number; by default all that can never be observed.
        tell: called with how many pairs are done, and how many there are.

    >>> import monmdp
    >>> solution = monmdp.solve(monmdp.make("treasure-hunter", "ask"))
    >>> (best,) = monmdp.planning.what_if(solution)
    >>> best.state, best.action, best.mean_reward, round(best.gain, 4), round(best.true_gain, 4)
    (2, 0, 1.0, 0.9, 0.9)
    """
    monmdp, plan = solution.monmdp, solution.minimax
    mdp = monmdp.mdp
    if isinstance(monmdp, FittedMonMDP):
        raise MonMDPError(
            f"{mdp.name} was fitted from a log, and what its hidden rewards are nobody knows; "
            "planning.instrument (monmdp instrument) asks what they may be worth"
        )
    if pairs is None:
        pairs = [(int(s), int(a)) for s, a in solution.seen.never_observable_pairs]
    q = plan.action_values()
    n_sm, n_am = monmdp.monitor.n_states, monmdp.monitor.n_actions
    answers = []
    for done, (s, a) in enumerate(pairs):
        if tell is not None:
            tell(done, len(pairs))
        s, a = mdp.find_state(s), mdp.find_action(a)
        if not solution.seen.never_observable[s, a]:
            raise MonMDPError(f"{mdp.pair_name(s * mdp.n_actions + a)} can be seen already")
        true = float(mdp.mean_reward[s, a])
        # Known to pay more, would the pair be worth choosing anywhere? If not, nothing changes.
        # (With few steps left it may be, so there is no such test where they are counted.)
        block = slice(s * n_sm, (s + 1) * n_sm)
        mine = q[block, a * n_am : (a + 1) * n_am] + (true - mdp.r_min)
        gain = true_gain = 0.0
        if plan.stages is not None or (mine > plan.values[block, None]).any():
            alone = np.zeros((mdp.n_states, mdp.n_actions), dtype=np.bool_)
            alone[s, a] = True
            better = _with_shown(solution, alone)
            gain = max(0.0, better.value - plan.value)
            truth = solution.optimal_value - solution.price
            true_gain = _true_value(monmdp, better) - truth
            if abs(true_gain) <= 2 * (TOLERANCE + better.error_bound + plan.error_bound):
                true_gain = 0.0
        answers.append(WhatIf(s, a, true, gain, true_gain))
    return sorted(answers, key=lambda answer: (-answer.gain, -answer.true_gain))


def gain_of_all(solution: Solution) -> float:
    """Return the gain of the minimax value if every pair became observable.

    That in truth would be `Solution.price`.

    >>> import monmdp
    >>> solution = monmdp.solve(monmdp.make("treasure-hunter", "ask"))
    >>> round(monmdp.planning.gain_of_all(solution), 4)
    0.9
    """
    if solution.solvable:
        return 0.0
    better = _with_shown(solution, solution.seen.never_observable)
    return max(0.0, better.value - solution.value)


def _with_shown(solution: Solution, shown: BoolArray) -> Optimum:
    """Solve M↓ with the pairs `shown` [s, a] paying what they truly pay."""
    plan, mdp = solution.minimax, solution.monmdp.mdp
    worst = plan.monmdp
    reward = np.where(shown.reshape(-1)[mdp.pair_of_outcome], mdp.reward, worst.mdp.reward)
    better = worst.with_mdp(worst.mdp.with_outcome_rewards(reward))
    return optimal(better, plan.gamma, start_from=plan.values, device=plan.device)
