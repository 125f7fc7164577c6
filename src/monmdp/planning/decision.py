"""From a log to a decision: which policy to follow, and what it is worth at least.

Three policies stand beside each other:

* *robust*: the one whose lower bound is highest, over all models that the counts allow (`robust`);
* *safe*: the best in the fitted model among those that do what the log did wherever the reward of a
  pair was shown in fewer than `thin` rows (SPIBB: Laroche, Trichelair, Tachet des Combes, 2019);
* *logged*: what the log did.

Rewards that were never seen count as r_min in all of them. So a log that lives on such rewards
looks worse than it is; with r_max in their place its policy is worth `logged_at_most`. The robust
policy is recommended where it is certified to be worth as much as that; else the safe one is:
nobody should leave what was done without proof.

A policy's bound V is lower than its estimate V̂ by the sum over all pairs of their discounted visits
in the fitted model times the width of their uncertainty, since V̂ − V = width + γ P̂ (V̂ − V). So
the pairs with the largest terms are where more data helps most. What is left is what the
uncertainty of the start takes (`lost_at_start`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.evidence import FittedMonMDP
from monmdp.model.mdp import number, whole_number
from monmdp.model.monmdp import MonMDP
from monmdp.planning import backup
from monmdp.planning.factors import factors
from monmdp.planning.policy_evaluation import evaluate
from monmdp.planning.policy_iteration import checked_gamma
from monmdp.planning.progress import Progress, Tell
from monmdp.planning.robust import RobustValue, lowest_possible, robust_value, uncertainty
from monmdp.tables import Column, Table

NOTHING = 0.05
"""a guarantee says nothing unless it covers this share of the way from the worst policy's estimate
to its own"""
MOST_ROUNDS = 200
"""of policy iteration"""


@dataclass(frozen=True, eq=False)
class Contender:
    """A policy, what it is estimated to be worth, and what it is worth at least."""

    name: str
    policy: FloatArray = field(repr=False)
    """[s, a]"""
    estimate: float
    """its value in the fitted model"""
    lower_bound: float
    """its true value is no less, with chance 1 − δ"""
    converged: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, for JSON."""
        return {
            "name": self.name,
            "estimate": self.estimate,
            "lower_bound": self.lower_bound,
            "converged": self.converged,
        }


@dataclass(frozen=True)
class Need:
    """A pair of which more rows would raise the guarantee."""

    state: int
    action: int
    lost: float
    """what its uncertainty takes from the guarantee"""
    rows: int
    """in which it was tried"""
    shown: int
    """of them, those that show its reward"""


@dataclass(frozen=True, eq=False)
class Decision:
    """What to do, by a log.

    >>> from monmdp import Policy, experiment, make, planning, solve, worlds
    >>> problem = make("loop", "ask")
    >>> logging = Policy(problem.shape, 0.7 * solve(problem).minimax.policy + 0.3 / 10)
    >>> log = experiment.draw_log(problem, logging, rows=20_000)
    >>> names = {f"monitor_{of}": f"monitor_{of}" for of in ("state", "action", "reward")}
    >>> fitted = worlds.from_log(log, r_min=0, r_max=1, **names)
    >>> decision = planning.decide(fitted, delta=0.05)
    >>> decision.recommended.name, round(decision.recommended.lower_bound, 2)
    ('robust', 0.84)
    >>> policy = Policy(fitted.shape, decision.recommended.policy, names=fitted.names)
    >>> round(planning.evaluate(problem, policy.carried_over(problem).probability).value, 4)
    0.9606
    """

    problem: FittedMonMDP
    gamma: float
    delta: float
    thin: int
    robust: Contender
    safe: Contender
    logged: Contender
    recommended: Contender
    """one of the first two"""
    logged_at_most: float
    """what the logged policy is estimated to be worth if rewards that were never seen pay r_max"""
    worst: float
    """estimate of the worst policy among those that do only what the log did in that state"""
    needs: list[Need] = field(repr=False)
    """where more data would raise the recommended policy's guarantee, the most first"""

    @property
    def certified(self) -> bool:
        """Whether the guarantee is no less than what the logged policy is estimated to be worth.

        Never, if nobody said between which bounds rewards lie.
        """
        proven = self.recommended.lower_bound >= self.logged_at_most
        return proven and self.problem.evidence.bounds_given

    @property
    def lost_at_start(self) -> float:
        """What not knowing the start distribution exactly takes from the guarantee."""
        best = self.recommended
        return best.estimate - best.lower_bound - sum(of.lost for of in self.needs)

    @property
    def says_nothing(self) -> bool:
        """Whether the guarantee is hardly higher than what the worst policy is estimated to be."""
        best = self.recommended
        return best.lower_bound - self.worst <= NOTHING * (best.estimate - self.worst)

    def table(self) -> Table:
        """Return the three policies with what is guaranteed and what is estimated."""
        about = {
            "robust": "the highest guarantee over all that the counts allow",
            "safe": f"what the log did, unless {self.thin} rows show better",
            "logged": "what the log did",
        }
        columns = ("policy", Column("guaranteed", form=""), Column("estimated", form=""), "about")
        of = (self.robust, self.safe, self.logged)
        rows = [(each.name, each.lower_bound, each.estimate, about[each.name]) for each in of]
        return Table.of(columns, rows)

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, for JSON."""
        mdp, monitor, evidence = self.problem.mdp, self.problem.monitor, self.problem.evidence
        n_se, n_sm, _, _ = self.problem.shape
        states = [(se, sm) for se in range(n_se) for sm in range(n_sm)]
        actions = [(ae, am) for ae in mdp.action_labels for am in monitor.actions]
        return {
            "world": mdp.name,
            "gamma": self.gamma,
            "delta": self.delta,
            "sets": "rectangular intervals of chances, betting bounds of mean rewards",
            "thin": self.thin,
            "missing": evidence.missing,
            "rows": evidence.rows,
            "recommended": self.recommended.name,
            "certified": self.certified,
            "logged_at_most": self.logged_at_most,
            "worst": self.worst,
            "says_nothing": self.says_nothing,
            "policies": [of.to_dict() for of in (self.robust, self.safe, self.logged)],
            "policy": [
                {
                    "state": mdp.state_labels[se],
                    "monitor_state": monitor.states[sm],
                    "actions": [
                        {
                            "action": actions[a][0],
                            "monitor_action": actions[a][1],
                            "chance": float(p),
                        }
                        for a, p in enumerate(self.recommended.policy[i])
                        if p > 0
                    ],
                }
                for i, (se, sm) in enumerate(states)
            ],
            "more_data": [
                {
                    "state": mdp.state_labels[of.state],
                    "action": mdp.action_labels[of.action],
                    "lost": of.lost,
                    "rows": of.rows,
                    "shown": of.shown,
                }
                for of in self.needs
            ],
            "remarks": list(evidence.remarks),
        }


def decide(
    problem: MonMDP,
    gamma: float = 0.99,
    *,
    delta: float = 0.05,
    thin: int = 20,
    tell: Tell | None = None,
) -> Decision:
    """Choose a policy by a log, with a guarantee of its value.

    Args:
        problem: what `worlds.from_log` returned, or the file that `monmdp fit` wrote, loaded.
        gamma: discount, below 1.
        delta: the chance that the guarantees are wrong, at most.
        thin: rows that must show a pair's reward before the safe policy chooses by it.
        tell: called a few times a second with a line that says how far it is.
    """
    if not isinstance(problem, FittedMonMDP):
        raise MonMDPError(
            f"decide needs a problem that was fitted from a log, got {problem!r}; "
            "worlds.from_log (monmdp fit) makes one"
        )
    gamma, delta = checked_gamma(gamma), number(delta, "delta", "(0, 1)")
    thin = whole_number(thin, "thin", at_least=1)
    lowest_possible(problem, gamma)
    progress = Progress(tell)
    sets = uncertainty(problem, delta)
    policies = {
        "robust": None,
        "safe": safe_policy(problem, gamma, thin),
        "logged": problem.evidence.logged_policy,
    }
    bounds = {
        name: robust_value(sets, gamma, policy, progress) for name, policy in policies.items()
    }
    robust, safe, logged = (
        Contender(
            name,
            of.policy,
            evaluate(problem, of.policy, gamma).value,
            of.lower_bound,
            of.converged,
        )
        for name, of in bounds.items()
    )
    at_most = _seen_at_best(problem, logged.policy, gamma)
    recommended = robust if robust.lower_bound >= at_most else safe
    needs = _needs(problem, gamma, bounds[recommended.name])
    chosen = (robust, safe, logged, recommended)
    worst = evaluate(problem, _worst_policy(problem, gamma), gamma).value
    return Decision(problem, gamma, delta, thin, *chosen, at_most, worst, needs)


def _seen_at_best(problem: FittedMonMDP, policy: FloatArray, gamma: float) -> float:
    """Value of a policy in the fitted model if rewards that were never seen pay r_max."""
    best = problem.mdp.with_rewards(problem.never_seen, problem.mdp.r_max)
    return evaluate(problem.with_mdp(best), policy, gamma).value


def safe_policy(problem: FittedMonMDP, gamma: float, thin: int) -> FloatArray:
    """Return [s, a] the best policy that leaves the logged one only where rows are many.

    In every state, actions whose pair has fewer than `thin` rows that show its reward keep the
    chances they have in the log; what is left goes to the best of the others.
    """
    evidence = problem.evidence
    logged = evidence.logged_policy
    known = (evidence.shown >= thin)[:, None, :, None]
    monitored = (evidence.taken.sum(axis=(0, 2)) >= thin)[None, :, None, :]
    free = np.broadcast_to(known & monitored, evidence.taken.shape).reshape(logged.shape)
    return _best(problem, gamma, free, np.where(free, 0.0, logged))


def _worst_policy(problem: FittedMonMDP, gamma: float) -> FloatArray:
    """[s, a] what is worth least in the fitted model, of what the log did in each state."""
    taken = problem.evidence.taken.reshape(problem.n_states, problem.n_actions) > 0
    return _best(problem, gamma, taken, np.zeros(taken.shape), sign=-1.0)


def _best(
    problem: FittedMonMDP, gamma: float, free: BoolArray, kept: FloatArray, sign: float = 1.0
) -> FloatArray:
    """[s, a] the best policy (or the worst) whose chances outside `free` are those of `kept`.

    What those leave goes to one free action; a state without any keeps to the log.
    """
    logged, rest = problem.evidence.logged_policy, 1 - kept.sum(axis=1)
    policy, values = logged, None
    rows = np.arange(len(policy))
    for _ in range(MOST_ROUNDS):
        values = evaluate(problem, policy, gamma, start_from=values).values
        V = values.reshape(problem.mdp.n_states, -1)
        Q = sign * backup.all_action_values(factors(problem), gamma, V).reshape(policy.shape)
        best = np.where(free, Q, -np.inf).argmax(axis=1)
        chosen = kept.copy()
        movable = free.any(axis=1) & (rest > 0)
        chosen[rows[movable], best[movable]] += rest[movable]
        chosen[~movable] = logged[~movable]
        gain = float(((chosen - policy) * Q).sum(axis=1).max())
        policy = chosen / chosen.sum(axis=1, keepdims=True)
        if gain <= 1e-9 * max(1.0, float(np.abs(values).max())):
            break
    return policy


def _needs(problem: FittedMonMDP, gamma: float, of: RobustValue) -> list[Need]:
    """Where uncertainty takes most from a guarantee."""
    n_se, n_sm, n_ae, n_am = problem.shape
    visits = _visits(problem, gamma, of.policy)
    lost = (visits * of.width).reshape(n_se, n_sm, n_ae, n_am).sum(axis=(1, 3))
    tried, shown = problem.evidence.tried, problem.evidence.shown
    order = np.argsort(-lost, axis=None, kind="stable")
    return [
        Need(int(s), int(a), float(lost[s, a]), int(tried[s, a]), int(shown[s, a]))
        for s, a in zip(*np.unravel_index(order[: int((lost > 0).sum())], lost.shape), strict=True)
    ]


def _visits(problem: FittedMonMDP, gamma: float, policy: FloatArray) -> FloatArray:
    """[s, a] discounted visits in the fitted model."""
    P = problem.transition_matrix(continuing=True)
    here, total, discount = problem.start, np.zeros(problem.n_states), 1.0
    while discount * here.sum() > 1e-9:
        total += discount * here
        here = P.T @ (here[:, None] * policy).reshape(-1)
        discount *= gamma
    return total[:, None] * policy
