"""A monitor of your own.

monmdp solve bottleneck examples.night_watch:night_watch rho=0.5
"""

from monmdp import Monitor


def night_watch(*, rho: float = 1.0, wakes: float = 0.3, dozes: float = 0.1) -> Monitor:
    """A watchman who sees rewards while awake, and wakes and dozes off by himself."""
    return Monitor(
        states=("ASLEEP", "AWAKE"),
        actions=("NO-OP",),
        start=[0.5, 0.5],
        transition=[[[1 - wakes, wakes]], [[dozes, 1 - dozes]]],
        reward=[[0.0], [0.0]],
        show=[[0.0], [rho]],
    )
