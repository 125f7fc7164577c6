"""MBIE-EB without some of what makes it *Monitored* MBIE-EB: the paper's two ablations.

Both plan on R_opt of Monitored MBIE-EB (`monitored_mbie_eb`, whose parts they use) and never
observe for observing's sake:

    MBIE-EB              R_basic; Q(s,a) is pinned at Q-init while N(sᵉ,aᵉ) = 0, however often (s,a)
                         was tried: optimism about what is never seen never ends
    pessimistic MBIE-EB  R_opt: r_min while N(sᵉ,aᵉ) = 0, after a single try already
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents.contract import at_least_zero, update
from monmdp.agents.greedy import greedy_action
from monmdp.agents.incremental import Plan, Predecessors, Scratch, Terms
from monmdp.agents.learnt_model import Counts
from monmdp.agents.monitored_mbie_eb import (
    Planner,
    bonus,
    confidence,
    environment_reward,
    is_learnt,
    monitor_reward,
    note_for_optimizing,
    plan_to_optimize,
    repair_to_optimize,
)
from monmdp.model.arrays import BoolArray, FloatArray


@dataclass(frozen=True, kw_only=True)
class MBIEEB(Planner):
    """MBIE-EB, optimistic about rewards that were never seen, and its hyper-parameters."""

    name = "mbie-eb"
    label = "MBIE-EB"
    colour = "#0072b2"
    microseconds = (1.6, 0.0020)
    figures = (12,)
    snapshot_fields = ("n", "n_env", "n_mon", "tried", "q_opt")
    parts = (
        confidence, bonus, environment_reward, monitor_reward, is_learnt, plan_to_optimize,
    )  # fmt: skip

    q_opt_init: float = 50.0
    """Q where nothing was tried, no less than any value (the paper: 50)"""
    beta_m: float = 5e-4
    """βᵐ, scale of the bonus for rᵐ"""

    class State(NamedTuple):
        """All that the agent knows."""

        parameters: Any
        counts: Counts
        tried: BoolArray
        """[s, a] whether the values are learnt by now, not pinned"""
        r_opt: FloatArray
        """[s, a] rewards before the running episode, of pairs that were tried"""
        q_opt: FloatArray
        """[s, a]"""

    class Incremental(NamedTuple):
        """All that it knows if its plan is repaired."""

        parameters: Any
        counts: Counts
        tried: BoolArray
        """[s, a] whether the values are learnt by now, not pinned"""
        r_move: FloatArray
        """[s, a] β√(g(N(s))/N(s,a)) of pairs that were tried"""
        terms: Terms
        """the others of the rewards"""
        predecessors: Predecessors
        scratch: Scratch
        opt: Plan
        q_opt: FloatArray
        """[s, a]"""

    variants: ClassVar[Any] = {
        "Incremental": {update: note_for_optimizing, plan_to_optimize: repair_to_optimize}
    }

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        at_least_zero(self, "beta_m")

    def is_learnt(agent: Any, se: int, ae: int) -> bool:
        """Return whether a reward was shown: until then Q is pinned."""
        return agent.counts.n_env[se, ae] > 0

    def begin_episode(agent: Any, rng: np.random.Generator) -> bool:
        """Plan; no episode is there to observe."""
        plan_to_optimize(agent)
        return False

    def act(agent: Any, s: int, rng: np.random.Generator) -> int:
        """Act greedily on Q, ties broken uniformly."""
        return greedy_action(agent.q_opt, s, rng.random())


@dataclass(frozen=True, kw_only=True)
class PessimisticMBIEEB(MBIEEB):
    """MBIE-EB, pessimistic about rewards that were never seen, and its hyper-parameters."""

    name = "pessimistic-mbie-eb"
    label = "Pessimistic MBIE-EB"
    colour = "#d55e00"
    microseconds = (1.5, 0.0028)
    figures = (13,)

    def is_learnt(agent: Any, se: int, ae: int) -> bool:
        """Return True: after a single try r_min stands for what was not shown."""
        return True
