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

from collections.abc import Mapping
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
from monmdp.agents.factored_mbie_eb import MOST
from monmdp.agents.monitored_mbie_eb import Growth, Planner, growth_of
from monmdp.agents.q_learning import QLearning
from monmdp.model import MonMDP
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


def _everywhere(values: Any, shape: Shape) -> FloatArray:
    """[sᵉ, aᵉ] -> [sᵉ, sᵐ, aᵉ], the same for all monitor states."""
    n_se, n_sm, n_ae, _ = shape
    pairs = np.asarray(values, dtype=np.float64)[:, None, :]
    return np.broadcast_to(pairs, (n_se, n_sm, n_ae)).copy()


def _counted(n: FloatArray, seen: FloatArray) -> Layers:
    """Return what counts N(s,a), as [sᵉ, sᵐ, aᵉ, aᵐ], and N(sᵉ,aᵉ), as [sᵉ, sᵐ, aᵉ], say."""
    tried = (n > 0).all(axis=-1)
    status = np.where(seen > 0, SEEN, np.where(tried, NEVER_SHOWN, UNKNOWN)).astype(np.float64)
    return {"visits": n.sum(axis=-1), "seen": seen, "status": status}


def _pinned(learnt: BoolArray, tried: BoolArray) -> FloatArray:
    """Return where a value is still its initial one, from [sᵉ, sᵐ, aᵉ, aᵐ]."""
    why = np.where(tried.all(axis=-1), TRIED_SINCE, UNTRIED)
    return np.where(learnt.all(axis=-1), 0, why).astype(np.float64)


def _best(snapshot: Mapping[str, Any], names: tuple[str, ...], shape: Shape) -> Layers:
    """Return the largest action value over aᵐ, of those values that were kept."""
    return {
        name: by_parts(snapshot[name], shape).max(axis=-1) for name in names if name in snapshot
    }


def _followed(snapshot: Mapping[str, Any], shape: Shape) -> Layers:
    """Return the two sides of the test policy, if it was kept."""
    if "policy" not in snapshot:
        return {}
    policy = by_parts(snapshot["policy"], shape)
    return {"policy": policy.sum(axis=3), "monitor_policy": policy.sum(axis=2)}


def _growth(n: FloatArray, kind: Growth) -> FloatArray:
    """Return g(N) of counts; where N = 0 it does not matter."""
    of = np.vectorize(growth_of, otypes=[np.float64])
    grown: FloatArray = of(np.maximum(n, 1), get_args(Growth).index(kind))
    return grown


def _confidence(g: FloatArray, n: FloatArray) -> FloatArray:
    """Return √(g/N), infinite where N = 0."""
    return np.where(n > 0, np.sqrt(g / np.maximum(n, 1)), np.inf)


def _largest(bonus: FloatArray) -> FloatArray:
    """[sᵉ, sᵐ, aᵉ, aᵐ] -> [sᵉ, sᵐ, aᵉ], not a number where it is infinite."""
    most: FloatArray = bonus.max(axis=-1)
    return np.where(np.isfinite(most), most, np.nan)


# ---- the layers of each agent ---------------------------------------------------------------


@singledispatch
def layers(config: AgentConfig, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Return what one snapshot says of the cells of a map."""
    del config, snapshot, monmdp
    return {}


@layers.register(MonitoredMBIEEB)
def _(config: MonitoredMBIEEB, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Its hope is KL-UCB."""
    found = _of_models(config, snapshot, monmdp.shape)
    n = by_parts(snapshot["n"], monmdp.shape)
    g = _growth(n.sum(axis=(2, 3), keepdims=True), config.growth)
    bound = 1.0 - np.exp(-config.beta_kl * g / np.maximum(n, 1))
    chance = np.where(n > 0, bound, 1.0).max(axis=-1)
    return found | {"hope": np.where(found["seen"] > 0, 0.0, chance)}


@layers.register(MBIEEB)
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
    n_env, n_mon = snapshot["n_env"], snapshot["n_mon"]
    of_env, of_mon, of_move = (
        _confidence(_growth(total, config.growth), count)
        for count, total in (
            (n_env, n_env.sum(axis=1, keepdims=True)),
            (n_mon, n_mon.sum(axis=1, keepdims=True)),
            (n, n.sum(axis=(2, 3), keepdims=True)),
        )
    )
    with np.errstate(invalid="ignore"):  # 0 · ∞, where a β is 0
        of_env = np.where(n_env > 0, config.beta_e * of_env, 0.0)[:, None, :, None]
        bonus = of_env + config.beta_m * of_mon[None, :, None, :] + config.beta * of_move
    bonus[n == 0] = np.inf  # whatever β is, its value is pinned
    learnt = by_parts(snapshot.get("tried", snapshot["n"]), shape) > 0
    return (
        _counted(n, _everywhere(n_env, shape))
        | _best(snapshot, ("q_opt", "q_obs"), shape)
        | {"bonus": _largest(bonus), "pinned": _pinned(learnt, n > 0)}
        | _followed(snapshot, shape)
    )


@layers.register(KnownMonitor)
def _(config: KnownMonitor, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Visits are N_v(sᵉ,aᵉ), whatever the monitor did.

    It knows what can be seen: its hope is the true chance, and what no monitor state and action
    shows is known to be so from the start.
    """
    shape = monmdp.shape
    n, n_env = snapshot["n"], snapshot["n_env"]
    seen = _everywhere(n_env, shape)
    chance = by_parts(monmdp.observability(), shape)
    never = _everywhere(chance.max(axis=(1, 3)) == 0, shape)
    unseen = np.where(never > 0, NEVER_SHOWN, UNKNOWN)
    of_env, of_move = (
        _confidence(_growth(count.sum(axis=1, keepdims=True), config.growth), count)
        for count in (n_env, n)
    )
    with np.errstate(invalid="ignore"):  # 0 · ∞, where a β is 0
        bonus = np.where(n_env > 0, config.beta_e * of_env, 0.0) + config.beta * of_move
    bonus[n == 0] = np.inf  # whatever β is, its value is pinned
    # A pair tried in the running episode has its first value only at the next planning.
    tried = np.repeat(np.repeat(n > 0, shape[1], axis=0), shape[3], axis=1)
    learnt = by_parts(tried & (snapshot["q_opt"] != config.q_opt_init), shape) > 0
    return {
        "visits": _everywhere(n, shape),
        "seen": seen,
        "status": np.where(seen > 0, SEEN, unseen).astype(np.float64),
        "hope": np.where(seen > 0, 0.0, chance.max(axis=-1)),
        **_best(snapshot, ("q_opt", "q_obs"), shape),
        "bonus": _largest(_everywhere(bonus, shape)[..., None]),
        "pinned": _pinned(learnt, by_parts(tried, shape) > 0),
        **_followed(snapshot, shape),
    }


@layers.register(Explorer)
def _explorer(config: Explorer, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    del config
    shape = monmdp.shape
    return (
        _counted(by_parts(snapshot["n"], shape), _everywhere(snapshot["n_env"], shape))
        | _best(snapshot, ("q_opt", "q"), shape)
        | _followed(snapshot, shape)
    )


@layers.register(PosteriorSampling)
def _(config: PosteriorSampling, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Its hope is the mean of θ."""
    found = _explorer(config, snapshot, monmdp)
    hope = (1.0 / (2.0 + by_parts(snapshot["n"], monmdp.shape))).max(axis=-1)
    return found | {"hope": np.where(found["seen"] > 0, 0.0, hope)}


@layers.register(QLearning)
def _(config: QLearning, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    shape = monmdp.shape
    n = by_parts(snapshot["n"], shape)
    found = _counted(n, _everywhere(snapshot["n_env"], shape)) | _best(snapshot, ("q",), shape)
    if config.bottom == "reward-model":  # nothing else uses r̂
        found["reward_model"] = _everywhere(snapshot["reward_model"], shape)
    bonus = _learners_bonus(config, snapshot)
    if bonus is not None:
        found["bonus"] = _largest(by_parts(bonus, shape))
    return found | _followed(snapshot, shape)


def _learners_bonus(config: QLearning, snapshot: Mapping[str, Any]) -> FloatArray | None:
    """[s, a] what it adds for exploring, infinite where untried; None if it adds nothing."""
    if isinstance(config, Intrinsic):  # the intrinsic reward of the last visit
        with np.errstate(divide="ignore"):
            reward: FloatArray = (1.0 - config.gamma) / np.sqrt(snapshot["n"])
        return reward
    if isinstance(config, UCB):
        visits = snapshot["n"]
    elif isinstance(config, QCount):
        visits = (1.0 - config.gamma) * snapshot["q_count"]
    else:
        return None
    total = np.maximum(visits.sum(axis=1, keepdims=True), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bonus: FloatArray = np.sqrt(2.0 * np.log(total) / visits)
    return np.where(visits > 0, bonus, np.inf)


@layers.register(FactoredMBIEEB)
def _(config: FactoredMBIEEB, snapshot: Mapping[str, Any], monmdp: MonMDP) -> Layers:
    """Its hope is what is left of its trust. Q_opt is the low plan, Q the hopeful one.

    With an optimistic test policy there is no low plan.
    """
    shape = monmdp.shape
    n = by_parts(snapshot["n"], shape)
    seen = _everywhere(snapshot["n_seen"], shape)
    tries = _everywhere(snapshot["fruitless"] * snapshot["n_env"], shape)
    hope = np.where(seen > 0, 0.0, 1.0 / (1.0 + np.exp(np.minimum(tries - config.trust, MOST))))
    if config.knows_monitor:
        chance = by_parts(monmdp.observability(), shape)
        hope[_everywhere(chance.max(axis=(1, 3)) == 0, shape) > 0] = 0.0
    values = {"q_opt": snapshot["q_low"], "q": snapshot["q_hope"], "q_obs": snapshot["q_obs"]}
    if not config.pessimistic_test:
        del values["q_opt"]
    return (
        _counted(n, seen)
        | {"hope": hope}
        | _best(values, ("q_opt", "q", "q_obs"), shape)
        | _followed(snapshot, shape)
    )


# ---- in words -------------------------------------------------------------------------------


def pools_visits(config: AgentConfig) -> bool:
    """Return whether an agent counts visits of environment pairs, whatever the monitor did."""
    return isinstance(config, KnownMonitor)


def worth_of_unseen(config: AgentConfig) -> str:
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
        words = {
            "q_opt": "Value of each action with the best monitor action, on average over what was "
            "seen, with r_min for what was not, and r_min for ever for what was never tried; the "
            "test policy takes the largest. As planned when the running episode began.",
            "q": "Value of each action with the best monitor action in the model that the agent "
            "explores with; it acts on the largest. As planned when the running episode began.",
        }
        if isinstance(config, PosteriorSampling):
            words["hope"] = (
                "The hope that a reward never shown can still be seen: on average 1/(2 + N) after "
                "N fruitless visits, with the monitor action for which it is largest."
            )
        return words
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
