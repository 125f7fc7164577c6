"""Random streams: which seed the environment, the agent and the evaluation get.

They depend on the run's seed, the problem (world and monitor with their parameters) and the role,
not on the agent's settings: agents with the same seed meet the same environment stream.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from monmdp.model import MonMDP
from monmdp.model.mdp import whole_number


class Streams(NamedTuple):
    """A seed for each role; ``env.reset(seed=…)`` and ``agents.make(seed=…)`` take them."""

    environment: int
    agent: int
    evaluation: int


def fingerprint(monmdp: MonMDP) -> str:
    """Return a hash of all that matters to a run; a Mon-MDP keeps it.

    >>> from monmdp import experiment, make
    >>> one, other = make("loop", "ask"), make("loop", "ask", cost=-0.2)
    >>> experiment.fingerprint(one) == experiment.fingerprint(other)
    True
    """
    kept: str | None = monmdp.__dict__.get("_fingerprint")
    if kept is None:
        kept = monmdp.__dict__["_fingerprint"] = _fingerprint(monmdp)
    return kept


def _fingerprint(monmdp: MonMDP) -> str:
    mdp, monitor = monmdp.mdp, monmdp.monitor
    digest = hashlib.sha256()
    digest.update(repr((*monmdp.shape, mdp.r_min, mdp.r_max, mdp.time_limit)).encode())
    for array in (
        mdp.first, mdp.successor, mdp.probability, mdp.reward, mdp.terminates, mdp.hidden,
        mdp.start, mdp.goal, mdp.bottom, monitor.start, monitor.transition, monitor.reward,
        monitor.show, monmdp.pair_class, monmdp.outcome_class,
    ):  # fmt: skip
        digest.update(np.ascontiguousarray(array).tobytes())
    if (seen := mdp.observations) is not None:
        digest.update(repr((seen.dtype.name, seen.shape)).encode())
        digest.update(seen.tobytes())
    return digest.hexdigest()[:16]


def streams(monmdp: MonMDP, seed: int) -> Streams:
    """Return the seeds of a run's random streams.

    >>> from monmdp import experiment, make
    >>> seeds = experiment.streams(make("loop", "ask"), seed=0)
    >>> seeds.environment != seeds.agent
    True
    >>> seeds == experiment.streams(make("loop", "ask"), seed=0)
    True
    """
    seed = whole_number(seed, "seed", at_least=0, at_most=None)
    problem = int(fingerprint(monmdp), 16)
    words = [np.random.SeedSequence([seed, problem, role]).generate_state(4) for role in range(3)]
    return Streams(*(int.from_bytes(word.astype("<u4").tobytes(), "little") for word in words))
