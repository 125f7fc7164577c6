"""The inside of a run, for the explorer in a page: what the agent knew, when, and what it then did.

`explorer` turns a run with snapshots into plain data: the world's geometry, the layers of all
snapshots (`report.layers`), the true moves and what can never be seen (the experimenter's view),
and for each snapshot an episode of its test policy and, where the agent observes, one greedy on its
Q_obs. Episodes come from seeds of their own: the same run always shows the same ones.

The data of a run stay below a limit: if they would not, fewer snapshots are shown, then no values
of single actions, then no layers at all; `notes` say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from monmdp.agents import KINDS, AgentConfig
from monmdp.drawing.palette import BLUES, ORANGES
from monmdp.errors import MonMDPError
from monmdp.experiment import Policy, Rollout, Run, fingerprint, observing_policy, rollout
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.planning import Solution, solve
from monmdp.report.layers import by_parts, explanations, layers, pools_visits, worth_of_unseen
from monmdp.report.packing import finite, pack
from monmdp.suites.configuration import unusual_parameters

LIMIT = 3_600_000
"""characters that the packed layers of a run may take"""
MOST_STATES = 10_000
"""joint states that can be looked at in a browser"""
LONGEST = 500
"""steps of an episode that are shown"""
POINTS = 600
"""points of the learning curve that are shown"""

Layer = Mapping[str, FloatArray]

_TYPES = {"visits": "i4", "seen": "i4", "status": "u1", "pinned": "u1"}
"""of packed layers; all others are f4"""
_SHOWN = {
    "visits": ("visits", "log"),
    "tested": ("test visits", "amount"),
    "status": ("rewards seen", "status"),
    "hope": ("hope to see", "chance"),
    "q_opt": ("Q_opt", "value"),
    "q": ("Q", "value"),
    "q_obs": ("Q_obs", "value"),
    "reward_model": ("reward model", "value"),
    "bonus": ("bonus", "amount"),
}
"""title of the layers that can be laid over the map, in their order, and scale of their colours"""


def explorer(run: Run, monmdp: MonMDP) -> dict[str, Any]:
    """Return what the explorer shows of a run that kept snapshots, as data for JSON."""
    if not len(run.snapshot_steps) or not run.snapshots:
        raise MonMDPError("the run kept no snapshots; train with --snapshots N")
    if fingerprint(monmdp) != run.settings["problem"]:
        name = f"{monmdp.mdp.name} / {monmdp.monitor.name}"
        raise MonMDPError(f"the run is not of the problem {name}")
    config = config_of(run.settings)
    data = _about(run, monmdp, config)
    if monmdp.n_states > MOST_STATES:
        many = f"{monmdp.n_states:,} joint states are too many to look at one by one"
        note = f"{many}; the explorer shows up to {MOST_STATES:,}"
        return data | {"notes": [note], "snapshots": None}
    from monmdp.drawing.svg import geometry

    kept, packed, notes = _fitting(run, monmdp, config)
    counted = run.snapshots["episodes"][kept].T.tolist() if "episodes" in run.snapshots else None
    mdp = monmdp.mdp
    return data | {
        "notes": notes,
        "colours": {"blues": list(BLUES), "oranges": list(ORANGES)},
        "world": geometry(mdp, with_button=len(monmdp.monitor.transition) > 1),
        # The outcomes of every pair sᵉ·|Aᵉ| + aᵉ, and its mean reward.
        "moves": {
            "first": pack(mdp.first, "i4"),
            "state": pack(mdp.successor, "i4"),
            "probability": pack(mdp.probability, "f4"),
            "reward": pack(mdp.mean_reward, "f8"),
        },
        "snapshots": {
            "index": kept.tolist(),
            "step": run.snapshot_steps[kept].tolist(),
            "episodes": counted and counted[0],
            "observe_episodes": counted and counted[1],
        },
        "layers": packed,
        "shown": _shown(packed, config, monmdp),
        "rollouts": _rollouts(run, monmdp, kept),
    }


def config_of(settings: Mapping[str, Any]) -> AgentConfig | None:
    """Return the agent of a run; None if it is not of this package, or of another version."""
    kind = KINDS.get(settings["agent"])
    try:
        return None if kind is None else kind(**settings["parameters"])
    except (TypeError, MonMDPError):
        return None


@lru_cache(maxsize=64)
def _solution(monmdp: MonMDP, gamma: float) -> Solution:
    """Solved once for all agents that learnt it."""
    return solve(monmdp, gamma)


def _about(run: Run, monmdp: MonMDP, config: AgentConfig | None) -> dict[str, Any]:
    """What can be said about any run."""
    settings, mdp, monitor = run.settings, monmdp.mdp, monmdp.monitor
    solution = _solution(monmdp, float(settings["gamma"]))
    given = "".join(
        f" {key.partition('.')[2] or key}={value}"
        for key, value in unusual_parameters(settings).items()
    )
    points = _evenly(len(run.step), POINTS)
    return {
        "title": f"{mdp.name} / {monitor.name}{given} · {settings['agent']} · seed {run.seed}",
        "agent": settings["agent"],
        "seed": run.seed,
        "steps": settings["steps"],
        "parameters": dict(settings["parameters"]),
        "gamma": float(settings["gamma"]),
        "time_limit": settings["time_limit"],
        "r_min": mdp.r_min,
        "states": list(mdp.state_labels),
        "actions": list(mdp.action_labels),
        "monitor_states": list(monitor.states),
        "monitor_actions": list(monitor.actions),
        "unseen": worth_of_unseen(config),
        "start": pack(mdp.start, "f8"),
        "pooled": pools_visits(config),
        "truth": {
            "never_observable": pack(solution.seen.never_observable, "u1"),
            "rho": solution.rho,
            "minimax": finite(solution.episode_return),
        },
        "curve": {
            "step": pack(run.step[points], "i4"),
            "value": pack(run.curve["episode_return"][points], "f4"),
        },
    }


def _evenly(n: int, most: int) -> IntArray:
    """Return at most that many of n indices, evenly spaced, the last one included."""
    return np.unique(np.linspace(n - 1, 0, min(n, most)).round().astype(np.int64))


# ---- layers ---------------------------------------------------------------------------------


def _fitting(
    run: Run, monmdp: MonMDP, config: AgentConfig | None
) -> tuple[IntArray, dict[str, Any], list[str]]:
    """Return which snapshots are shown, their layers packed, and what had to be left out."""
    n = len(run.snapshot_steps)
    every = np.arange(n)
    if config is None:
        return every, {}, ["what this agent knows cannot be shown: it is not part of this package"]
    for whole in (True, False):
        note = [] if whole else ["values of single actions are left out: they are too many"]
        shown = n
        while shown > 0:
            kept = _evenly(n, shown)
            packed = _packed([_layers(run, monmdp, config, int(i), whole) for i in kept])
            size = sum(len(layer["data"]) for layer in packed.values())
            if size <= LIMIT:
                if shown < n:
                    note.append(f"{len(kept)} of {n} snapshots are shown, to keep the page small")
                return kept, packed, note
            shown = min(shown - 1, shown * LIMIT // size)
    return every, {}, ["what the agent knows is left out: it is too much for a page"]


def _layers(run: Run, monmdp: MonMDP, config: AgentConfig, i: int, whole: bool) -> Layer:
    """The layers of one snapshot; if not `whole`, the largest value over the actions.

    One is added to those of the agent: how often a test episode takes each action.
    """
    snapshot = {name: values[i] for name, values in run.snapshots.items()}
    found = layers(config, snapshot, monmdp)
    if "policy" in snapshot:
        visits = Policy(monmdp.shape, snapshot["policy"]).visits(monmdp)
        found["tested"] = by_parts(visits, monmdp.shape).sum(axis=-1)
    if whole:
        return found
    return {
        name: np.fmax.reduce(values, axis=-1, keepdims=True)
        for name, values in found.items()
        if "policy" not in name
    }


def _packed(layers: Sequence[Layer]) -> dict[str, Any]:
    """[snapshot, …] of every layer."""
    return {
        name: pack(np.stack([of[name] for of in layers]), _TYPES.get(name, "f4"))
        for name in layers[0]
    }


def _shown(
    packed: Mapping[str, Any], config: AgentConfig | None, monmdp: MonMDP
) -> list[dict[str, Any]]:
    """Titles, explanations and scales of the layers that can be laid over the map."""
    words = {} if config is None else explanations(config, monmdp)
    return [
        {"key": key, "title": title, "explains": words[key], "scale": scale}
        for key, (title, scale) in _SHOWN.items()
        if key in packed
    ]


# ---- episodes -------------------------------------------------------------------------------


def _rollouts(run: Run, monmdp: MonMDP, kept: IntArray) -> dict[str, Any]:
    """An episode of each kind for each snapshot."""
    kinds: dict[str, Callable[[int], Policy]] = {}
    if "policy" in run.snapshots:
        kinds["test"] = lambda i: Policy(monmdp.shape, run.snapshots["policy"][i])
    if "q_obs" in run.snapshots:
        kinds["observe"] = lambda i: observing_policy(run, snapshot=i)
    limit = min(LONGEST, int(run.settings["time_limit"]))
    found = {}
    for number, (kind, policy_of) in enumerate(kinds.items()):
        episodes = []
        for i in kept:
            seed = np.random.SeedSequence([run.seed, int(run.snapshot_steps[i]), number])
            rng = np.random.default_rng(seed)
            episodes.append(rollout(monmdp, policy_of(int(i)), rng, limit=limit))
        found[kind] = _columns(episodes)
    return found


def _columns(episodes: Sequence[Rollout]) -> dict[str, Any]:
    """Episodes end to end; the step t of episode i is entry first[i] + t of every column.

    States have one entry more than there are steps, so the other columns get an idle last entry.
    """
    types = {
        "state": "i4", "monitor_state": "i4", "action": "i4", "monitor_action": "i4",
        "reward": "f8", "shown": "u1", "monitor_reward": "f8",
    }  # fmt: skip
    columns: dict[str, Any] = {}
    for name, kind in types.items():
        idle = [] if "state" in name else [0]
        parts = [part for episode in episodes for part in (getattr(episode, name), idle)]
        columns[name] = pack(np.concatenate(parts), kind)
    return columns | {
        "first": np.cumsum([0, *(len(episode) + 1 for episode in episodes)]).tolist(),
        "terminated": [episode.terminated for episode in episodes],
    }
