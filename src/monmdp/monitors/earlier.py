"""Three more monitors, in the spirit of the papers on Mon-MDPs before this one.

They too take ``rho`` and hide ⊥ outcomes. Every episode starts afresh: a battery is
full again, and what has run out is on again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from monmdp.model.mdp import number, probability
from monmdp.model.monitor import Monitor
from monmdp.monitors.paper import COST, counted


def limited_time(*, rho: float = 1.0, stop: float = 0.2) -> Monitor:
    """Show rewards for a while: ON at first, OFF for the rest of the episode with chance `stop`.

    There is nothing to do about it and nothing to pay.
    """
    stop = probability(stop, "stop")
    return Monitor(
        states=("ON", "OFF"),
        actions=("NO-OP",),
        start=[1.0, 0.0],
        transition=[[[1.0 - stop, stop]], [[0.0, 1.0]]],
        reward=[[0.0], [0.0]],
        show=[[probability(rho, "rho")], [0.0]],
    )


def battery(*, n: int = 10, rho: float = 1.0, cost: float = COST) -> Monitor:
    """Show the reward of the steps on which the agent asks, N times an episode; asking costs.

    Asking with an empty battery shows nothing and costs nothing.
    """
    n = counted(n, 2)
    no_op, ask = 0, 1
    charge = np.arange(n + 1)
    transition = np.zeros((n + 1, 2, n + 1))
    transition[charge, no_op, charge] = 1.0
    transition[charge, ask, np.maximum(charge - 1, 0)] = 1.0
    reward, show = np.zeros((n + 1, 2)), np.zeros((n + 1, 2))
    reward[1:, ask] = number(cost, "cost")
    show[1:, ask] = probability(rho, "rho")
    return Monitor(
        states=[f"CHARGE-{i}" for i in charge],
        actions=("NO-OP", "ASK"),
        start=np.eye(n + 1)[n],
        transition=transition,
        reward=reward,
        show=show,
    )


def switch(*, rho: float = 1.0, cost: float = COST, reset: float = 0.0) -> Monitor:
    """Show rewards while ON, which costs every step; the agent turns it ON and OFF.

    It starts OFF. While ON it turns itself off with chance `reset` a step.
    """
    reset = probability(reset, "reset")
    off, on, stays_on = [1.0, 0.0], [0.0, 1.0], [reset, 1.0 - reset]
    return Monitor(
        states=("OFF", "ON"),
        actions=("NO-OP", "TURN-ON", "TURN-OFF"),
        start=off,
        transition=[[off, on, off], [stays_on, stays_on, off]],
        reward=[[0.0] * 3, [number(cost, "cost")] * 3],
        show=[[0.0] * 3, [probability(rho, "rho")] * 3],
    )


MONITORS: dict[str, Callable[..., Monitor]] = {
    "limited-time": limited_time,
    "battery": battery,
    "switch": switch,
}
"""by name, in the order of `monmdp list`"""
