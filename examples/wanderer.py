"""An agent of your own in plain Python: what `train` asks of it.

    monmdp train bottleneck button --agent examples.wanderer:Wanderer --seeds 2 --steps 2000

This one wanders at random and remembers the best reward it was shown for every pair; its test
policy goes for the best of these, one step ahead. It is meant to be read, not to be good.
"""

from __future__ import annotations

import numpy as np

from monmdp.agents import Transition


class Wanderer:
    """Wander, remember, be greedy for one step."""

    def __init__(self, shape, rng, restlessness: float = 1.0):
        """`shape` is (|Sᵉ|, |Sᵐ|, |Aᵉ|, |Aᵐ|), `rng` the agent's own random stream."""
        self.shape, self.rng, self.restlessness = shape, rng, restlessness
        self.best = np.zeros((shape.n_env_states, shape.n_env_actions))

    def begin_episode(self):
        """Nothing to prepare; True would mean that the episode is meant to observe."""

    def act(self, observation):
        """Choose an action for {"env": sᵉ, "mon": sᵐ}."""
        ae = int(self.best[observation["env"]].argmax())
        if self.rng.random() < self.restlessness:
            ae = int(self.rng.integers(self.shape.n_env_actions))
        return {"env": ae, "mon": int(self.rng.integers(self.shape.n_monitor_actions))}

    def update(self, transition: Transition):
        """Learn from one step; `reward` is None when it was not shown."""
        if transition.reward is not None:
            pair = transition.observation["env"], transition.action["env"]
            self.best[pair] = max(self.best[pair], transition.reward)

    def test_policy(self):
        """Return policy[s, a], s = sᵉ·|Sᵐ| + sᵐ and a = aᵉ·|Aᵐ| + aᵐ."""
        n_se, n_sm, n_ae, n_am = self.shape
        policy = np.zeros((n_se, n_sm, n_ae, n_am))
        policy[np.arange(n_se), :, self.best.argmax(axis=1), 0] = 1
        return policy.reshape(n_se * n_sm, n_ae * n_am)
