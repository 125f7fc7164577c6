"""What agents know, seen from the environment: arrays [sᵉ, sᵐ, aᵉ] that can be laid over a map.

A *layer* shows one thing that an agent knows, at the time of one snapshot. What it knows of joint
pairs (s, a) is seen as [sᵉ, sᵐ, aᵉ]: of the monitor actions aᵐ the one that counts is taken, the
largest value say. What it knows of environment pairs alone is the same for all monitor states.

    visits          Σ over aᵐ of N(s,a)
    seen            N(sᵉ,aᵉ), how often the reward was shown
    status          1 seen; 0 never shown, and some joint action (aᵉ,aᵐ) here is untried; 2 never
                    shown though tried with every aᵐ here
    hope            the probability the agent gives to seeing, on the next try, a reward never shown
    q_opt, q_obs, q max over aᵐ of action values
    pinned          1 some joint action (aᵉ,aᵐ) here has its initial value, since it was untried
                    when the agent last planned; 2 so, and all were tried by now; else 0
    bonus           max over aᵐ of what is added for exploring; not a number where it is infinite
    reward_model    r̂(sᵉ,aᵉ)
    policy          [sᵉ, sᵐ, aᵉ] chance of aᵉ under the test policy
    monitor_policy  [sᵉ, sᵐ, aᵐ] chance of aᵐ
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Any, get_args

import numpy as np

from monmdp.agents import (
    MBIEEB,
    UCB,
    AgentConfig,
    FactoredMBIEEB,
    Intrinsic,
    KnownMonitor,
    MonitoredMBIEEB,
    PessimisticMBIEEB,
    PosteriorSampling,
    QCount,
    RMax,
)
from monmdp.agents.classical import Explorer
from monmdp.agents.factored_mbie_eb.beliefs import worst_return
from monmdp.agents.monitored_mbie_eb import Growth, Planner, growth_of
from monmdp.agents.q_learning import QLearning
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.monmdp import Shape

UNKNOWN, SEEN, NEVER_SHOWN = 0, 1, 2
"""values of the layer `status`"""
UNTRIED, TRIED_SINCE = 1, 2
"""values of the layer `pinned` where a value is still its initial one"""

VALUES = ("q_opt", "q", "q_obs")
"""layers that are the largest of action values"""

Layers = dict[str, FloatArray]


def by_parts(values: Any, shape: Shape) -> FloatArray:
    """[s, a] -> [sᵉ, sᵐ, aᵉ, aᵐ]."""
    parts: FloatArray = np.asarray(values, dtype=np.float64).reshape(*shape)
    return parts


def _everywhere(values: Any, shape: Shape) -> FloatArray:
    """[sᵉ, aᵉ] -> [sᵉ, sᵐ, aᵉ], the same for all monitor states."""
    return np.repeat(np.asarray(values, dtype=np.float64)[:, None, :], shape[1], axis=1)


def _never(monmdp: MonMDP) -> BoolArray:
    """[sᵉ, sᵐ, aᵉ] whether no monitor state and action shows the reward."""
    chance = by_parts(monmdp.observability(), monmdp.shape)
    return _everywhere(chance.max(axis=(1, 3)) == 0, monmdp.shape) > 0


def _counted(n: FloatArray, seen: FloatArray) -> Layers:
    """Return what counts N(s,a), as [sᵉ, sᵐ, aᵉ, aᵐ], and N(sᵉ,aᵉ), as [sᵉ, sᵐ, aᵉ], say."""
    tried = (n > 0).all(axis=-1)
    status = np.where(seen > 0, SEEN, np.where(tried, NEVER_SHOWN, UNKNOWN)).astype(np.float64)
    return {"visits": n.sum(axis=-1), "seen": seen, "status": status}


def _pinned(learnt: BoolArray, tried: BoolArray) -> FloatArray:
    """Return where a value is still its initial one, from [sᵉ, sᵐ, aᵉ, aᵐ]."""
    why = np.where(tried.all(axis=-1), TRIED_SINCE, UNTRIED)
    return np.where(learnt.all(axis=-1), 0, why).astype(np.float64)


def _growth(n: FloatArray, kind: Growth) -> FloatArray:
    """Return g(N) of counts; where N = 0 it does not matter."""
    of = np.vectorize(growth_of, otypes=[np.float64])
    grown: FloatArray = of(np.maximum(n, 1), get_args(Growth).index(kind))
    return grown


def _bonus(
    parts: Iterable[tuple[float, FloatArray]], own: tuple[int, ...], kind: Growth
) -> FloatArray:
    """Return Σ β √(g/N) over (β, N), where N > 0; g is that of the sum over the axes `own`."""
    bonus = np.zeros(())
    for beta, n in parts:
        g = _growth(n.sum(axis=own, keepdims=True), kind)
        bonus = bonus + np.where(n > 0, beta * np.sqrt(g / np.maximum(n, 1)), 0.0)
    return bonus


def _largest(bonus: FloatArray, tried: BoolArray) -> FloatArray:
    """[sᵉ, sᵐ, aᵉ, aᵐ] -> [sᵉ, sᵐ, aᵉ], not a number where a joint action is untried."""
    return np.where(tried.all(axis=-1), bonus.max(axis=-1), np.nan)


# ---- the layers of each agent ---------------------------------------------------------------


def layers(config: AgentConfig, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Return what one snapshot says of the cells of a map."""
    found = _of(config, snapshot, monmdp)
    found |= {name: _best(snapshot[name], monmdp) for name in VALUES if name in snapshot}
    if "policy" in snapshot:
        policy = by_parts(snapshot["policy"], monmdp.shape)
        found |= {"policy": policy.sum(axis=3), "monitor_policy": policy.sum(axis=2)}
    return found


def _best(values: Any, monmdp: MonMDP) -> FloatArray:
    """Return the largest action value over aᵐ."""
    best: FloatArray = by_parts(values, monmdp.shape).max(axis=-1)
    return best


@singledispatch
def _of(config: AgentConfig, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Return the layers that not all agents have alike."""
    del config, snapshot, monmdp
    return {}


@_of.register(MonitoredMBIEEB)
def _(config: MonitoredMBIEEB, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Its hope is KL-UCB."""
    found = _of_models(config, snapshot, monmdp.shape)
    n = by_parts(snapshot["n"], monmdp.shape)
    g = _growth(n.sum(axis=(2, 3), keepdims=True), config.growth)
    bound = 1.0 - np.exp(-config.beta_kl * g / np.maximum(n, 1))
    chance = np.where(n > 0, bound, 1.0).max(axis=-1)
    return found | {"hope": np.where(found["seen"] > 0, 0.0, chance)}


@_of.register(MBIEEB)
def _(config: MBIEEB, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    found = _of_models(config, snapshot, monmdp.shape)
    if not isinstance(config, PessimisticMBIEEB):  # what is pinned is not added to
        found["bonus"][found["seen"] == 0] = np.nan
    return found


def _of_models(
    config: MonitoredMBIEEB | MBIEEB, snapshot: Mapping[str, Any], shape: Shape
) -> Layers:
    """Return the layers that all agents with the models of Monitored MBIE-EB have.

    The bonus is that of R_opt, without its part for rᵉ where the reward was never shown.
    """
    n = by_parts(snapshot["n"], shape)
    env, mon = snapshot["n_env"][:, None, :, None], snapshot["n_mon"][None, :, None, :]
    parts = (config.beta_e, env), (config.beta_m, mon), (config.beta, n)
    bonus = _bonus(parts, (2, 3), config.growth)
    learnt = by_parts(snapshot.get("tried", snapshot["n"]), shape) > 0
    return _counted(n, _everywhere(snapshot["n_env"], shape)) | {
        "bonus": _largest(bonus, n > 0),
        "pinned": _pinned(learnt, n > 0),
    }


@_of.register(KnownMonitor)
def _(config: KnownMonitor, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Visits are N_v(sᵉ,aᵉ), whatever the monitor did.

    It knows what can be seen: its hope is the true chance, and what no monitor state and action
    shows is known to be so from the start.
    """
    shape = monmdp.shape
    n, seen = snapshot["n"], _everywhere(snapshot["n_env"], shape)
    status = np.where(seen > 0, SEEN, np.where(_never(monmdp), NEVER_SHOWN, UNKNOWN))
    bonus = _bonus(((config.beta_e, snapshot["n_env"]), (config.beta, n)), (1,), config.growth)
    # A pair tried in the running episode has its first value only at the next planning.
    tried = np.broadcast_to((n > 0)[:, None, :, None], shape)
    learnt = tried & (by_parts(snapshot["q_opt"], shape) != config.q_opt_init)
    return {
        "visits": _everywhere(n, shape),
        "seen": seen,
        "status": status.astype(np.float64),
        "hope": np.where(seen > 0, 0.0, _best(monmdp.observability(), monmdp)),
        "bonus": _everywhere(np.where(n > 0, bonus, np.nan), shape),
        "pinned": _pinned(learnt, tried),
    }


@_of.register(Explorer)
def _(config: Explorer, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """The hope of posterior sampling is the mean of θ."""
    n = by_parts(snapshot["n"], monmdp.shape)
    found = _counted(n, _everywhere(snapshot["n_env"], monmdp.shape))
    if isinstance(config, PosteriorSampling):
        found["hope"] = np.where(found["seen"] > 0, 0.0, (1.0 / (2.0 + n)).max(axis=-1))
    return found


@_of.register(QLearning)
def _(config: QLearning, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    shape = monmdp.shape
    n = by_parts(snapshot["n"], shape)
    found = _counted(n, _everywhere(snapshot["n_env"], shape))
    if config.bottom == "reward-model":  # nothing else uses r̂
        found["reward_model"] = _everywhere(snapshot["reward_model"], shape)
    if isinstance(config, QCount):
        n = (1.0 - config.gamma) * by_parts(snapshot["q_count"], shape)
    with np.errstate(divide="ignore", invalid="ignore"):  # what is untried is not shown
        if isinstance(config, Intrinsic):  # the intrinsic reward of the last visit
            found["bonus"] = _largest((1.0 - config.gamma) / np.sqrt(n), n > 0)
        elif isinstance(config, UCB | QCount):
            total = np.maximum(n.sum(axis=(2, 3), keepdims=True), 1.0)
            found["bonus"] = _largest(np.sqrt(2.0 * np.log(total) / n), n > 0)
    return found


@_of.register(FactoredMBIEEB)
def _(config: FactoredMBIEEB, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Its hope is what is left of even odds. Q_opt is the low plan, Q the hopeful one.

    With an optimistic test policy there is no low plan.
    """
    shape = monmdp.shape
    seen = _everywhere(snapshot["n_seen"], shape)
    hope = np.where(seen > 0, 0.0, _everywhere(snapshot["hope"], shape))
    if config.knows_monitor:
        hope[_never(monmdp)] = 0.0
    found = _counted(by_parts(snapshot["n"], shape), seen)
    # What a hopeful plan rules out is shown as the worst there is.
    worst = worst_return(monmdp.mdp.r_min, config.gamma) - 1.0
    found |= {"hope": hope, "q": _best(np.maximum(snapshot["q_hope"], worst), monmdp)}
    return found | ({"q_opt": _best(snapshot["q_low"], monmdp)} if config.pessimistic_test else {})


# ---- in words -------------------------------------------------------------------------------


def pools_visits(config: AgentConfig | None) -> bool:
    """Return whether an agent counts visits of environment pairs, whatever the monitor did."""
    return isinstance(config, KnownMonitor)


def worth_of_unseen(config: AgentConfig | None) -> str:
    """Return what a reward that was tried and never shown counts as, in words."""
    if isinstance(config, FactoredMBIEEB):
        return "r_min in tests"
    if isinstance(config, PosteriorSampling):
        return "r_min in tests, for more the fewer the tries when it explores"
    if isinstance(config, MBIEEB) and not isinstance(config, PessimisticMBIEEB):
        return f"the best there is, Q = {config.q_opt_init:g}"
    if isinstance(config, QLearning):
        return {
            "reward-model": "what its reward model began with",
            "ignore": "nothing, it does not learn from it",
            "constant": f"the constant {config.constant}",
            "oracle": "the true reward, which it is told",
        }[config.bottom]
    return "r_min" if isinstance(config, Planner | RMax) else "unknown"


def explanations(config: AgentConfig, monmdp: MonMDP) -> dict[str, str]:
    """Return one sentence for each layer."""
    pooled = pools_visits(config)  # over the monitor, which is known
    unseen = worth_of_unseen(config)
    if unseen == "r_min":
        unseen = f"r_min = {monmdp.mdp.r_min:g}".replace("-", "−")
    tried = "known to be unobservable" if pooled else "tried with every monitor action, never shown"
    planned = (
        " As planned when the running episode began. Hatched: with some monitor action not learnt "
        "yet, at its optimistic start."
    )
    return {
        "tested": "How often an episode of the test policy takes each action on average, computed.",
        "visits": "How often each action was taken"
        + (", whatever the monitor's state." if pooled else ", in each state of the monitor."),
        "status": f"Whether the reward of an action was ever shown. ✕ is {tried}; the agent takes "
        f"it for {unseen}.",
        "hope": "The chance that the next try shows a reward that was never shown"
        + (", as the known monitor has it." if pooled else ": an upper confidence bound (KL-UCB)."),
        "q_opt": "Value of each action with the best monitor action, optimistic about what was "
        f"seen, with {unseen} for what was not." + planned,
        "q": "Value of each action with the best monitor action, as Q-learning has it; the test "
        "policy takes the largest.",
        "q_obs": "Value of each action for seeing rewards never shown; observe episodes take the "
        "largest." + planned,
        "reward_model": "The mean of the rewards shown; where none was, what it began with, which "
        "may be drawn when the first episode begins.",
        "bonus": "What is added for exploring, with the monitor action for which it is largest. "
        "Hatched: none, because some joint action is untried or the value is not learnt.",
    } | _own_words(config)


def _own_words(config: AgentConfig) -> dict[str, str]:
    """Layer -> a sentence that says what it shows, where the usual one would be wrong."""
    if isinstance(config, Explorer):
        return {
            "hope": "The hope that a reward never shown can still be seen: on average 1/(2 + N) "
            "after N fruitless visits, with the monitor action for which it is largest.",
            "q_opt": "Value of each action with the best monitor action, on average over what was "
            "seen, with r_min for what was not, and r_min for ever for what was never tried; the "
            "test policy takes the largest. As planned when the running episode began.",
            "q": "Value of each action with the best monitor action in the model that the agent "
            "explores with; it acts on the largest. As planned when the running episode began.",
        }
    if not isinstance(config, FactoredMBIEEB):
        return {}
    return {
        "hope": "The probability the agent gives to a reward never shown being visible at all. It "
        "falls with every try in vain, the faster the better the monitor action shows other "
        "rewards.",
        "q_opt": "Value of each action with the best monitor action, on average over what was "
        "seen, with r_min for what was not, and worse than r_min for ever for what was never "
        "tried; the test policy takes the largest. As planned at this moment.",
        "q": "Value of each action with the best monitor action if rewards not seen yet are the "
        "best that is likely or, once that is known, the best that is possible. What is not known "
        "on the way of the largest is aimed at; when there is nothing, the agent acts on it. As "
        "last planned.",
        "q_obs": "Value of each action for seeing what is aimed at; while there is anything, the "
        "agent acts on the largest. As last planned.",
    }
