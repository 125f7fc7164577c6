"""What agents know, seen from the environment: arrays [sᵉ, sᵐ, aᵉ] that can be laid over a map.

A *layer* shows one thing that an agent knows, at the time of one snapshot. What it knows of joint
pairs (s, a) is seen as [sᵉ, sᵐ, aᵉ]: of the monitor actions aᵐ the one that counts is taken, the
largest value say. What it knows of environment pairs alone is the same for all monitor states.

    visits          Σ over aᵐ of N(s,a)
    seen            N(sᵉ,aᵉ), how often the reward was shown
    status          1 seen; 0 never shown, and some joint action (aᵉ,aᵐ) here is untried; 2 never
                    shown though tried with every aᵐ here
    hope            how likely it holds that trying once more shows a reward never shown
    q_opt, q_obs, q max over aᵐ of action values
    pinned          1 some joint action (aᵉ,aᵐ) here has its initial value, since it was untried
                    when the agent last planned; 2 so, and all were tried by now; else 0
    bonus           max over aᵐ of what is added for exploring; not a number where it is infinite
    reward_model    r̂(sᵉ,aᵉ)
    policy          [sᵉ, sᵐ, aᵉ] chance of aᵉ under the test policy
    monitor_policy  [sᵉ, sᵐ, aᵐ] chance of aᵐ
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from monmdp.agents.planner import GROWTH, growth_of
from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.monmdp import Shape

UNKNOWN, SEEN, NEVER_SHOWN = 0, 1, 2
"""values of the layer `status`"""
UNTRIED, TRIED_SINCE = 1, 2
"""values of the layer `pinned` where a value is still its initial one"""

Layers = dict[str, FloatArray]


def by_parts(values: Any, shape: Shape) -> FloatArray:
    """[s, a] -> [sᵉ, sᵐ, aᵉ, aᵐ]."""
    n_se, n_sm, n_ae, n_am = shape
    parts: FloatArray = np.asarray(values, dtype=np.float64).reshape(n_se, n_sm, n_ae, n_am)
    return parts


def everywhere(values: Any, shape: Shape) -> FloatArray:
    """[sᵉ, aᵉ] -> [sᵉ, sᵐ, aᵉ], the same for all monitor states."""
    n_se, n_sm, n_ae, _ = shape
    pairs = np.asarray(values, dtype=np.float64)[:, None, :]
    return np.broadcast_to(pairs, (n_se, n_sm, n_ae)).copy()


def counted(n: FloatArray, seen: FloatArray) -> Layers:
    """Return what counts N(s,a), as [sᵉ, sᵐ, aᵉ, aᵐ], and N(sᵉ,aᵉ), as [sᵉ, sᵐ, aᵉ], say."""
    tried = (n > 0).all(axis=-1)
    status = np.where(seen > 0, SEEN, np.where(tried, NEVER_SHOWN, UNKNOWN)).astype(np.float64)
    return {"visits": n.sum(axis=-1), "seen": seen, "status": status}


def pinned(learnt: BoolArray, tried: BoolArray) -> FloatArray:
    """Return where a value is still its initial one, from [sᵉ, sᵐ, aᵉ, aᵐ]."""
    why = np.where(tried.all(axis=-1), TRIED_SINCE, UNTRIED)
    return np.where(learnt.all(axis=-1), 0, why).astype(np.float64)


def best(snapshot: Mapping[str, Any], names: tuple[str, ...], shape: Shape) -> Layers:
    """Return the largest action value over aᵐ, of those values that were kept."""
    return {
        name: by_parts(snapshot[name], shape).max(axis=-1) for name in names if name in snapshot
    }


def followed(snapshot: Mapping[str, Any], shape: Shape) -> Layers:
    """Return the two sides of the test policy, if it was kept."""
    if "policy" not in snapshot:
        return {}
    policy = by_parts(snapshot["policy"], shape)
    return {"policy": policy.sum(axis=3), "monitor_policy": policy.sum(axis=2)}


def growth(n: FloatArray, kind: str) -> FloatArray:
    """Return g(N) of counts; what it is where N = 0 does not matter to anybody."""
    of = np.vectorize(growth_of, otypes=[np.float64])
    grown: FloatArray = of(np.maximum(n, 1), GROWTH[kind])
    return grown


def confidence(g: FloatArray, n: FloatArray) -> FloatArray:
    """Return √(g/N), infinite where N = 0."""
    return np.where(n > 0, np.sqrt(g / np.maximum(n, 1)), np.inf)


def largest(bonus: FloatArray) -> FloatArray:
    """[sᵉ, sᵐ, aᵉ, aᵐ] -> [sᵉ, sᵐ, aᵉ], not a number where it is infinite."""
    most: FloatArray = bonus.max(axis=-1)
    return np.where(np.isfinite(most), most, np.nan)
