"""Plain-Python oracles of posterior sampling and R-max, written from their equations.

They count as the oracle of Monitored MBIE-EB does and are as slow as it is: models are made anew
from raw counts before every episode, and every sweep is done. Nothing random happens here but the
drawing of a model: the caller hands over a generator that stands where the agent's stands, and the
numbers come out of it in the order that the agent documents.
"""

from __future__ import annotations

import math

import numpy as np

from oracles.monitored_mbie_eb import TIE, MonitoredMBIEEBOracle


class _ExplorerOracle(MonitoredMBIEEBOracle):
    """What both share: the mean model, the plan for tests, the greedy actions."""

    def __init__(self, shape, r_min, *, gamma=0.99, r_max=1.0, q_init=None, **planning):
        super().__init__(shape, r_min, gamma=gamma, **planning)
        self.r_max = r_max
        # where nothing is known: r_max for ever, unless q_init is given
        self.optimum = r_max / (1 - gamma) if q_init is None else q_init
        # where nothing was tried, in tests: r_min for ever
        self.worst = r_min / (1 - gamma)
        self.q = np.full(self.q_opt.shape, float(self.optimum))
        self.q_opt = np.full(self.q_opt.shape, float(self.worst))

    def mean_reward(self, se, sm, ae, am):
        # R̄ᵉ, or r_min where N(sᵉ,aᵉ) = 0
        env = self.r_min
        if self.n_env[se, ae] > 0:
            env = self.sum_env[se, ae] / self.n_env[se, ae]
        # + R̄ᵐ
        return env + self.sum_mon[sm, am] / self.n_mon[sm, am]

    def begin_episode(self, rng=None):
        self.q = self.plan(rng)
        self.q_opt = self.swept(
            self.q_opt, self.worst, self.mean_reward, self.transitions(termination=True)
        )
        return False

    def scores(self, s):
        return self.q[s].tolist()

    def greedy_set(self, se, sm):
        # argmax_a Q(s,a), ties within 1e-10
        row = self.scores(self.state(se, sm))
        best = max(row)
        return {(a // self.n_am, a % self.n_am) for a, q in enumerate(row) if best - q <= TIE}


class RMaxOracle(_ExplorerOracle):
    """R-max: pairs that were tried fewer than m times are worth r_max for ever."""

    def __init__(self, shape, r_min, *, m=80, **shared):
        super().__init__(shape, r_min, **shared)
        self.m = m

    def plan(self, rng):
        del rng
        # known: N(s,a) ≥ m
        known = {
            pair: outcomes
            for pair, outcomes in self.transitions(termination=True).items()
            if self.n_joint[pair] >= self.m
        }
        return self.swept(self.q, self.optimum, self.mean_reward, known)


class PosteriorSamplingOracle(_ExplorerOracle):
    """Posterior sampling, given a generator that stands where the agent's stands."""

    def __init__(self, shape, r_min, *, alpha=0.003, sigma=0.1, **shared):
        super().__init__(shape, r_min, **shared)
        self.alpha = alpha
        self.sigma = sigma

    def plan(self, rng):
        # rᵉ ~ N(R̄ᵉ, σ²/N(sᵉ,aᵉ)), clipped to [r_min, r_max], where N(sᵉ,aᵉ) > 0
        env = {}
        for se in range(self.n_se):
            for ae in range(self.n_ae):
                n = self.n_env[se, ae]
                if n > 0:
                    drawn = (
                        self.sum_env[se, ae] / n
                        + math.sqrt(self.sigma**2 / n) * rng.standard_normal()
                    )
                    env[se, ae] = min(self.r_max, max(self.r_min, drawn))
        # rᵐ ~ N(R̄ᵐ, σ²/N(sᵐ,aᵐ)), where N(sᵐ,aᵐ) > 0
        mon = {}
        for sm in range(self.n_sm):
            for am in range(self.n_am):
                n = self.n_mon[sm, am]
                if n > 0:
                    spread = math.sqrt(self.sigma**2 / n)
                    mon[sm, am] = self.sum_mon[sm, am] / n + spread * rng.standard_normal()
        rewards, transitions = {}, {}
        for se, sm, ae, am in self.joint_pairs():
            s, a = self.state(se, sm), self.action(ae, am)
            n = self.n_joint[s, a]
            if n == 0:
                continue
            if (se, ae) in env:
                reward = env[se, ae]
            else:
                # θ ~ Beta(1, 1 + N(s,a)), whose distribution function is 1 - (1 - θ)^(1 + N)
                theta = 1 - rng.random() ** (1 / (1 + n))
                # r_min + θ (r_max - r_min)
                reward = self.r_min + theta * (self.r_max - self.r_min)
            # Dirichlet: shares of gamma variates, met successors first, then endings, then new
            met = [s2 for (s1, a1, s2) in self.n_successor if (s1, a1) == (s, a)]
            going = {}
            for s2 in met:
                n_on = self.n_successor[s, a, s2] - self.n_ended[s, a, s2]
                if n_on > 0:
                    going[s2] = rng.standard_gamma(n_on)
            n_end = sum(self.n_ended[s, a, s2] for s2 in met)
            ending = rng.standard_gamma(n_end) if n_end > 0 else 0.0
            new = rng.standard_gamma(self.alpha) if self.alpha > 0 else 0.0
            total = sum(going.values()) + ending + new
            transitions[s, a] = [(s2, share / total) for s2, share in going.items()]
            # something new is worth what an untried pair is worth
            rewards[se, sm, ae, am] = (
                reward + mon[sm, am] + self.gamma * (new / total) * self.optimum
            )
        return self.swept(self.q, self.optimum, lambda *pair: rewards[pair], transitions)
