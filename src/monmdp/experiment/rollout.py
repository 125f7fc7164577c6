"""One episode, step by step, as the experimenter sees it, hidden rewards included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monmdp.agents.greedy import greedy_policy
from monmdp.errors import MonMDPError
from monmdp.experiment.evaluation import steps_at_most, writable_tables
from monmdp.experiment.policy import Policy
from monmdp.experiment.training import Run
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.dynamics import reset, step
from monmdp.model.mdp import whole_number


@dataclass(frozen=True, eq=False)
class Rollout:
    """What happened in an episode."""

    state: IntArray
    """[step + 1] sᵉ; the episode ended in the last one"""
    monitor_state: IntArray
    """[step + 1] sᵐ"""
    action: IntArray
    """[step] aᵉ"""
    monitor_action: IntArray
    """[step] aᵐ"""
    reward: FloatArray
    """[step] rᵉ, shown or not"""
    shown: BoolArray
    """[step] whether rᵉ was shown"""
    monitor_reward: FloatArray
    """[step] rᵐ"""
    terminated: bool
    """whether it ended by itself; otherwise it was cut at the limit"""

    def __len__(self) -> int:
        return len(self.action)

    def discounted(self, gamma: float) -> float:
        """Return the discounted return Σ γᵗ (rᵉ + rᵐ)."""
        return float((gamma ** np.arange(len(self)) * (self.reward + self.monitor_reward)).sum())


def rollout(
    monmdp: MonMDP,
    policy: Policy | Sequence[Policy],
    rng: np.random.Generator,
    *,
    limit: int | None = None,
) -> Rollout:
    """Follow a policy for one episode.

    Args:
        monmdp: the problem.
        policy: the policy, or one for each step; the last of them goes on.
        rng: draws the actions and, as in training, two numbers for the start and three per step.
        limit: most steps; by default the problem's time limit.

    >>> import numpy as np
    >>> from monmdp import Policy, experiment, make, solve
    >>> problem = make("loop", "ask")
    >>> policy = Policy(problem.shape, solve(problem).minimax.policy)
    >>> episode = experiment.rollout(problem, policy, np.random.default_rng(0))
    >>> len(episode), episode.terminated, round(episode.discounted(0.99), 4)
    (5, True, 0.9606)
    >>> episode.state.tolist(), episode.shown.tolist()
    ([0, 3, 6, 7, 8, 8], [False, False, False, False, False])
    """
    policies = [policy] if isinstance(policy, Policy) else policy
    for of in policies:
        of.check_fits(monmdp)
    limit = steps_at_most(monmdp) if limit is None else whole_number(limit, "limit", at_least=1)
    tables, n_am = writable_tables(monmdp), monmdp.monitor.n_actions
    se, sm = reset(tables, rng.random(), rng.random())
    states, ended = [(se, sm)], False
    steps: list[tuple[int, int, float, bool, float]] = []
    while not ended and len(steps) < limit:
        now = policies[min(len(steps), len(policies) - 1)]
        row = np.cumsum(now.probability[se * monmdp.monitor.n_states + sm])
        # Rounding may leave the last sum below 1 and the draw above it.
        a = min(int(np.searchsorted(row, rng.random() * row[-1], side="right")), len(row) - 1)
        ae, am = divmod(a, n_am)
        u = rng.random(3)
        se, sm, re, rm, shown, ended = step(tables, se, sm, ae, am, u[0], u[1], u[2])
        steps.append((ae, am, re, shown, rm))
        states.append((se, sm))
    env, mon = np.array(states, dtype=np.int64).T
    ae_t, am_t, re_t, shown_t, rm_t = (np.array(column) for column in zip(*steps, strict=True))
    return Rollout(env, mon, ae_t, am_t, re_t, shown_t, rm_t, terminated=bool(ended))


def observing_policy(run: Run, name: str = "the run", *, snapshot: int = -1) -> Policy:
    """Return the policy with which a run's agent observes: greedy on the Q_obs of a snapshot.

    Args:
        run: the run.
        name: what errors call it.
        snapshot: which of its snapshots; by default the last.
    """
    values = run.snapshots.get("q_obs", ())
    if not len(values):
        raise MonMDPError(
            f"{name} has no snapshot of Q_obs; train an agent that keeps one (factored-mbie-eb, "
            "monitored-mbie-eb, known-monitor) with snapshots=1 or more (--snapshots); only "
            "the first seed keeps them"
        )
    assert run.policy is not None  # it is kept with snapshots
    probability = np.zeros(run.policy.probability.shape)
    greedy_policy(values[snapshot], probability)
    return Policy(run.policy.shape, probability, run.policy.origin)
