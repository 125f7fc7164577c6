"""An agent of your own: it wanders, and remembers the best reward it was shown for every pair.

monmdp train bottleneck button --agent examples.wanderer:Wanderer --seeds 2 --steps 2000
"""

import numpy as np


class Wanderer:
    def __init__(self, shape, rng, restlessness: float = 1.0):  # (|Sᵉ|, |Sᵐ|, |Aᵉ|, |Aᵐ|), stream
        self.shape, self.rng, self.restlessness = shape, rng, restlessness
        self.best = np.zeros((shape.n_env_states, shape.n_env_actions))

    def begin_episode(self): ...  # True would say that the episode is meant to observe

    def act(self, observation):
        ae = self.best[observation["env"]].argmax()
        if self.rng.random() < self.restlessness:
            ae = self.rng.integers(self.shape.n_env_actions)
        return {"env": int(ae), "mon": int(self.rng.integers(self.shape.n_monitor_actions))}

    def update(self, transition):  # a reward of None was not shown
        pair = transition.observation["env"], transition.action["env"]
        self.best[pair] = max(self.best[pair], transition.reward or 0.0)

    def test_policy(self):  # [s, a], s = sᵉ·|Sᵐ| + sᵐ and a = aᵉ·|Aᵐ| + aᵐ
        policy = np.zeros(self.shape)
        policy[np.arange(self.shape.n_env_states), :, self.best.argmax(axis=1), 0] = 1
        return policy.reshape(-1, self.shape.n_env_actions * self.shape.n_monitor_actions)
