"""Policies: to save, load, follow and evaluate, also on problems other than their own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from monmdp import planning
from monmdp.errors import MonMDPError, nearest
from monmdp.experiment.evaluation import (
    chances,
    expected_visits,
    policy_moves,
    scores_of,
    steps_at_most,
    writable_tables,
)
from monmdp.files import read_archive, write_archive
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, FrozenArrays, frozen_policy
from monmdp.model.mdp import whole_number
from monmdp.model.monmdp import Shape
from monmdp.planning.factors import checked_problem
from monmdp.planning.policy_iteration import checked_gamma

EvaluationKind = Literal["exact", "monte-carlo"]


class Returns(NamedTuple):
    """The return of an episode in two parts."""

    env: float
    """of the environment's rewards rᵉ, hidden ones included"""
    monitor: float
    """of the monitor's rewards rᵐ"""


@dataclass(frozen=True, eq=False)
class Policy(FrozenArrays):
    """A stationary policy over the joint states of any Mon-MDP of its shape.

    >>> import monmdp
    >>> problem = monmdp.make("loop", "ask")
    >>> policy = monmdp.Policy(problem.shape, monmdp.solve(problem).minimax.policy)
    >>> round(policy.evaluate(problem)["episode_return"], 4)
    0.9606
    >>> policy.save("policy.npz")
    >>> slippery = monmdp.make("loop", "ask", slip=0.2)
    >>> round(monmdp.Policy.load("policy.npz").evaluate(slippery)["episode_return"], 4)
    0.9354
    """

    shape: Shape
    """|Sᵉ|, |Sᵐ|, |Aᵉ|, |Aᵐ|"""
    probability: FloatArray = field(repr=False)
    """[s, a]"""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """where it was learnt: world, monitor, agent, seed, …"""
    names: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False)
    """what sᵉ, sᵐ, aᵉ and aᵐ are called, where they may be in another order elsewhere"""

    def __post_init__(self) -> None:
        """Check the probabilities."""
        shape = Shape(*(whole_number(n, "shape", at_least=1) for n in self.shape))
        n_se, n_sm, n_ae, n_am = shape
        pi = frozen_policy(self.probability, (n_se * n_sm, n_ae * n_am))
        self._set(shape=shape, probability=pi, origin=dict(self.origin))
        if self.names is not None:
            names = tuple(tuple(str(label) for label in of) for of in self.names)
            if tuple(map(len, names)) != tuple(shape):
                raise MonMDPError("policy: the names are not those of its states and actions")
            self._set(names=names)

    def act(self, observation: Mapping[str, int], rng: np.random.Generator) -> dict[str, int]:
        """Draw an action ``{"env": aᵉ, "mon": aᵐ}``."""
        s = self.shape.joint_state(observation)
        return self.shape.action(rng.choice(self.probability.shape[1], p=self.probability[s]))

    def check_fits(self, monmdp: MonMDP) -> None:
        """Refuse a problem of another shape."""
        if monmdp.shape != self.shape:
            raise MonMDPError(
                f"the policy is for {self.shape}; {monmdp.mdp.name} / {monmdp.monitor.name} has "
                f"{monmdp.shape}"
            )

    def visits(self, monmdp: MonMDP) -> FloatArray:
        """Return [s, a] how often an episode takes each pair on average, computed exactly."""
        self.check_fits(checked_problem(monmdp))
        move = policy_moves(monmdp.transition_matrix(continuing=True), self.probability)
        total = expected_visits(monmdp.start, move, steps_at_most(monmdp))
        visits: FloatArray = total[:, None] * self.probability
        return visits

    def evaluate(
        self,
        monmdp: MonMDP,
        gamma: float = 0.99,
        *,
        evaluation: EvaluationKind = "exact",
        episodes: int = 100,
        seed: int = 0,
    ) -> dict[str, float]:
        """Return the scores of the policy in a Mon-MDP of its shape, by the names in SCORES.

        Args:
            monmdp: the problem; episodes are cut at its time limit.
            gamma: discount, in [0, 1].
            evaluation: ``exact`` or ``monte-carlo``.
            episodes: how many episodes Monte Carlo draws.
            seed: of its random stream.
        """
        self.check_fits(checked_problem(monmdp))
        gamma, limit = checked_gamma(gamma), steps_at_most(monmdp)
        drawn = checked_evaluation(evaluation, episodes)
        rng = np.random.default_rng(whole_number(seed, "seed", at_least=0, at_most=None))
        tables = writable_tables(monmdp)
        return scores_of(tables, chances(monmdp), self.probability, gamma, limit, drawn, rng)

    def returns(self, monmdp: MonMDP, gamma: float = 0.99) -> Returns:
        """Return what an episode pays, computed exactly: rᵉ and rᵐ apart.

        >>> import monmdp
        >>> problem = monmdp.make("loop", "ask")
        >>> env, monitor = monmdp.Policy.uniform(problem).returns(problem)
        >>> round(env, 4), round(monitor, 4)
        (0.0717, -3.8042)
        """
        self.check_fits(checked_problem(monmdp))
        steps, monitor = steps_at_most(monmdp), monmdp.monitor
        free = replace(monmdp, monitor=replace(monitor, reward=np.zeros(monitor.reward.shape)))
        whole, env = (
            planning.evaluate(of, self.probability, gamma, horizon=steps).value
            for of in (monmdp, free)
        )
        return Returns(env, whole - env)

    def carried_over(self, target: MonMDP) -> Policy:
        """Return the policy for a problem whose states and actions stand in another order.

        They are told by their names, which this policy must have; one without names is taken to be
        in the order of the target. In states that it does not know it is uniform.

        >>> import monmdp
        >>> problem = monmdp.make("loop", "ask")
        >>> log = monmdp.experiment.draw_log(problem, monmdp.Policy.uniform(problem), rows=500)
        >>> fitted = monmdp.worlds.from_log(log, monitor_action="monitor_action")
        >>> fitted.mdp.action_labels == problem.mdp.action_labels
        False
        >>> policy = monmdp.Policy(fitted.shape, fitted.evidence.logged_policy, names=fitted.names)
        >>> policy.carried_over(problem).shape == problem.shape
        True
        """
        if self.names is None or self.names == target.names:
            self.check_fits(target)
            return self
        places = []
        for mine, other in zip(self.names, target.names, strict=True):
            where = {label: i for i, label in enumerate(mine)}
            places.append(np.array([where.get(label, -1) for label in other]))
        n_se, n_sm, n_ae, n_am = self.shape
        chances = self.probability.reshape(n_se, n_sm, n_ae, n_am)[np.ix_(*places)]
        for axis, where_from in enumerate(places):
            chances[(slice(None),) * axis + (where_from < 0,)] = 0.0
        flat = chances.reshape(target.n_states, target.n_actions)
        total = flat.sum(axis=1, keepdims=True)
        if not total.any():
            raise MonMDPError(
                f"the policy knows no state and no action of {target.mdp.name} / "
                f"{target.monitor.name} by name"
            )
        known = total > 0
        spread = np.where(known, flat / np.where(known, total, 1.0), 1 / target.n_actions)
        return Policy(target.shape, spread, self.origin, target.names)

    @classmethod
    def uniform(cls, monmdp: MonMDP) -> Policy:
        """Return the policy that takes every joint action equally often."""
        n_states, n_actions = checked_problem(monmdp).n_states, monmdp.n_actions
        return cls(monmdp.shape, np.full((n_states, n_actions), 1 / n_actions))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to one ``.npz`` file, all of it or nothing."""
        meta = {"shape": list(self.shape), "origin": dict(self.origin), "names": self.names}
        write_archive(path, meta, {"policy": self.probability})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a file that `save` wrote, or the policy in a run's file."""
        meta, arrays = read_archive(path, "a policy", _shapes)
        try:
            return cls(Shape(*meta["shape"]), arrays["policy"], meta["origin"], meta.get("names"))
        except (KeyError, TypeError, MonMDPError) as error:
            raise MonMDPError(f"{path} holds no policy: {error}") from None


def _shapes(meta: Mapping[str, Any]) -> Mapping[str, tuple[int, ...]]:
    """The array of a policy, by what its file says of itself."""
    if not isinstance(meta.get("shape"), list) or len(meta["shape"]) != 4:
        raise MonMDPError("holds no policy: it has no shape of four numbers")
    n_se, n_sm, n_ae, n_am = (whole_number(n, "shape", at_least=1) for n in meta["shape"])
    return {"policy": (n_se * n_sm, n_ae * n_am)}


def checked_evaluation(evaluation: str, episodes: int) -> int:
    """Return how many episodes to draw: none if the evaluation is exact."""
    kinds = ("exact", "monte-carlo")
    if evaluation not in kinds:
        raise MonMDPError(f"unknown evaluation {evaluation!r}{nearest(str(evaluation), kinds)}")
    episodes = whole_number(episodes, "episodes", at_least=1)
    return episodes if evaluation == "monte-carlo" else 0
