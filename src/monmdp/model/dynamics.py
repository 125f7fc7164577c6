"""One step of a Mon-MDP as pure functions of the tables and of uniform draws.

A reset uses exactly two draws and a step exactly three, whatever happens in it. So streams of draws
can be prepared in advance, and every way of running a Mon-MDP that reads the same draws follows the
same trajectory. The functions use nothing but indexing and comparison: they run as plain Python and
can be compiled as they stand.
"""

from __future__ import annotations

from typing import NamedTuple

from monmdp.compiling import compilable
from monmdp.model.arrays import BoolArray, FloatArray, IntArray


class Tables(NamedTuple):
    """The arrays that the simulator reads; all C-contiguous, probabilities cumulated."""

    n_env_actions: int
    first: IntArray
    """[env pair + 1]"""
    cum: FloatArray
    """[outcome] cumulative within the pair, the last one exactly 1"""
    successor: IntArray
    """[outcome]"""
    reward: FloatArray
    """[outcome] rᵉ"""
    terminates: BoolArray
    """[outcome]"""
    outcome_class: IntArray
    """[outcome] row of `show`"""
    pair_class: IntArray
    """[env pair] table of `monitor_cum`"""
    monitor_cum: FloatArray
    """[class, sᵐ, aᵐ, s′ᵐ] cumulative"""
    monitor_reward: FloatArray
    """[sᵐ, aᵐ]"""
    show: FloatArray
    """[class, sᵐ, aᵐ]"""
    start_cum: FloatArray
    """[sᵉ] cumulative"""
    monitor_start_cum: FloatArray
    """[sᵐ] cumulative"""


@compilable
def draw(cum: FloatArray, low: int, high: int, u: float) -> int:
    """Return the first index i in [low, high) with u < cum[i]; u is below cum[high - 1] = 1."""
    high -= 1
    while low < high:
        middle = (low + high) // 2
        if u < cum[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@compilable
def reset(tables: Tables, u0: float, u1: float) -> tuple[int, int]:
    """Return the first (sᵉ, sᵐ)."""
    se = draw(tables.start_cum, 0, len(tables.start_cum), u0)
    sm = draw(tables.monitor_start_cum, 0, len(tables.monitor_start_cum), u1)
    return se, sm


@compilable
def environment_step(tables: Tables, se: int, ae: int, u: float) -> int:
    """Return the outcome that u selects for (sᵉ, aᵉ)."""
    pair = se * tables.n_env_actions + ae
    return draw(tables.cum, tables.first[pair], tables.first[pair + 1], u)


@compilable
def monitor_step(
    tables: Tables, pair_class: int, outcome_class: int, sm: int, am: int, u0: float, u1: float
) -> tuple[int, bool]:
    """Return (s′ᵐ, shown): u0 decides the next monitor state, u1 whether rᵉ is shown."""
    row = tables.monitor_cum[pair_class, sm, am]
    return draw(row, 0, len(row), u0), u1 < tables.show[outcome_class, sm, am]


@compilable
def step(
    tables: Tables, se: int, sm: int, ae: int, am: int, u0: float, u1: float, u2: float
) -> tuple[int, int, float, float, bool, bool]:
    """Return (s′ᵉ, s′ᵐ, rᵉ, rᵐ, shown, terminated).

    u0 decides the environment's outcome, u1 the monitor's next state, u2 whether rᵉ is shown.
    """
    o = environment_step(tables, se, ae, u0)
    pair_class = tables.pair_class[se * tables.n_env_actions + ae]
    next_sm, shown = monitor_step(tables, pair_class, tables.outcome_class[o], sm, am, u1, u2)
    rm = tables.monitor_reward[sm, am]
    return tables.successor[o], next_sm, tables.reward[o], rm, shown, tables.terminates[o]
