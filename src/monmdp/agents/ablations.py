"""MBIE-EB without some of what makes it *Monitored* MBIE-EB: the paper's two ablations.

Both learn the same models as Monitored MBIE-EB (`monitored_mbie_eb`, whose state and functions they
are) and never observe for observing's sake:

    MBIE-EB              R_basic; Q(s,a) is pinned at Q-init while N(sᵉ,aᵉ) = 0, however often (s,a)
                         was tried: optimism about what is never seen never ends
    pessimistic MBIE-EB  R_opt: r_min while N(sᵉ,aᵉ) = 0, after a single try already
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from monmdp.agents.base import at_least_zero
from monmdp.agents.layers import Layers
from monmdp.agents.monitored_mbie_eb import (
    Parameters,
    State,
    layers_of_models,
    new_state,
    with_room_for,
)
from monmdp.agents.observe_or_optimize import SCHEDULE
from monmdp.agents.planner import GROWTH, Planner
from monmdp.model import MonMDP
from monmdp.model.monmdp import Shape


@dataclass(frozen=True, kw_only=True)
class MBIEEB(Planner):
    """MBIE-EB, optimistic about rewards that were never seen, and its hyper-parameters."""

    name: ClassVar[str] = "mbie-eb"
    snapshot_fields: ClassVar[tuple[str, ...]] = ("n", "n_env", "n_mon", "tried", "q_opt")
    pin_unseen: ClassVar[bool] = True

    q_opt_init: float = 50.0
    """Q where nothing was tried, no less than any value (the paper: 50)"""
    beta_m: float = 5e-4
    """βᵐ, scale of the bonus for rᵐ"""

    @property
    def takes_unseen_for(self) -> str:
        """What a reward that was tried and never shown counts as, in words."""
        if self.pin_unseen:
            return f"the best there is, Q = {self.q_opt_init:g}"
        return "r_min"

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        at_least_zero(self, "beta_m")

    def state(self, shape: Shape, r_min: float, model: MonMDP | None = None) -> State:
        """Return the state of an agent that has seen nothing yet."""
        parameters = Parameters(
            gamma=self.gamma,
            beta=self.beta,
            beta_m=self.beta_m,
            beta_e=self.beta_e,
            beta_obs=0.0,
            beta_kl=0.0,
            growth=GROWTH[self.growth],
            schedule=SCHEDULE["constant"],
            log_base=math.e,
            kappa_star=-1.0,  # κ = 0 is above it: no episode observes
            sweeps=self.sweeps,
            r_min=r_min,
            pin_unseen=self.pin_unseen,
        )
        return new_state(parameters, self.q_opt_init, 0.0, shape, model)

    def with_room(self, state: State, s: int, a: int, next_s: int) -> State:
        """Return a state with room for one more successor."""
        return with_room_for(state, s, a, next_s)

    def layers(self, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
        """Return what one snapshot says of the cells of a map."""
        found = layers_of_models(
            snapshot, monmdp.shape, self.beta, self.beta_m, self.beta_e, self.growth
        )
        if self.pin_unseen:  # what is pinned is not added to
            found["bonus"][found["seen"] == 0] = np.nan
        return found


@dataclass(frozen=True, kw_only=True)
class PessimisticMBIEEB(MBIEEB):
    """MBIE-EB, pessimistic about rewards that were never seen, and its hyper-parameters."""

    name: ClassVar[str] = "pessimistic-mbie-eb"
    pin_unseen: ClassVar[bool] = False
