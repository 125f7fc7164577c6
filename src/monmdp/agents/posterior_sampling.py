"""Posterior sampling (PSRL): act for an episode as if one model drawn from the posterior were true.

Before every episode a model is drawn, given the counts of joint pairs that were tried:

    P(· | s,a)  Dirichlet: N(s,a,s′) for each successor s′ met so far, the visits that ended there
                counted apart, and α for something new, which is worth as much as an untried pair
    rᵉ(sᵉ,aᵉ)   normal, N(R̄ᵉ, σ²/N(sᵉ,aᵉ)), clipped to [r_min, r_max], if it was ever shown
    rᵉ(s,a)     else r_min + θ (r_max - r_min), with the hope θ ~ Beta(1, 1 + N(s,a)) that it can
                still be seen: all N(s,a) visits were fruitless
    rᵐ(sᵐ,aᵐ)   normal, N(R̄ᵐ, σ²/N(sᵐ,aᵐ))

Q is improved by sweeps of value iteration on it, warm-started, and acted on greedily; pairs that
were never tried stay at r_max/(1 - γ). That is Strens' Bayesian dynamic programming, known as
PSRL. The hope is what it needs where rewards may be hidden: a prior that knew nothing of hiding
would draw an unseen reward from the same wide range for ever. rᵐ has no bounds to be clipped to.

Numbers are drawn in this order: a normal for each environment pair whose reward was shown, one for
each monitor pair that was tried, and then for each joint pair that was tried: the hope, if the
reward was never shown; the successors in the order in which they were first met, as gamma variates
of which the Dirichlet's chances are the shares; the endings; something new.

The test policy is greedy on a plan of its own (`classical`), without draws and something new.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp.agents.classical import Explorer, mean_rewards, optimum, plan_test, visited
from monmdp.agents.contract import at_least_zero
from monmdp.agents.learnt_model import Successors, value_iteration
from monmdp.compiling import compilable


@dataclass(frozen=True, kw_only=True)
class PosteriorSampling(Explorer):
    """Posterior sampling with a hope to see that fades, and its hyper-parameters."""

    name = "posterior-sampling"
    label = "Posterior sampling"
    colour = "#5544ee"
    microseconds = (1.0, 0.0280)

    alpha: float = 0.003
    """α, how many visits the prior for a successor never met is worth"""
    sigma: float = 0.1
    """σ, standard deviation of a single reward in the posterior of its mean"""

    def check(self) -> None:
        """Refuse what is out of range."""
        super().check()
        at_least_zero(self, "alpha", "sigma")

    def begin_episode(agent: Any, rng: np.random.Generator) -> bool:
        """Draw a model, plan on it, and on the mean for tests; no episode is there to observe."""
        p, slots = agent.parameters, agent.counts.successors
        reward = np.empty(agent.q.shape)
        go_on = np.zeros(len(slots.go_on))
        # Something new is like an ending to value iteration: its worth is in the reward already,
        # and what goes on from a pair sums to less than γ.
        may_end = np.ones(len(slots.may_end), dtype=np.bool_)
        _draw(agent, rng, reward, go_on)
        drawn = Successors(
            slots.first, slots.capacity, slots.used, may_end, slots.end, slots.state, slots.visits,
            slots.ended, go_on, go_on,
        )  # fmt: skip
        value_iteration(drawn, visited(agent, 1), True, reward, p.gamma, p.sweeps, agent.q)
        mean_rewards(agent, reward)
        plan_test(agent, reward)
        return False


@compilable
def _draw(agent: Any, rng: Any, reward: Any, go_on: Any) -> None:
    """Draw R(s,a), with what something new is worth in it, and γ P(· | s,a) on the slots."""
    p, counts, slots = agent.parameters, agent.counts, agent.counts.successors
    (n_se, n_ae), (n_sm, n_am) = counts.n_env.shape, counts.n_mon.shape
    of_env, of_mon = np.empty((n_se, n_ae)), np.empty((n_sm, n_am))
    for se in range(n_se):
        for ae in range(n_ae):
            n = counts.n_env[se, ae]
            if n > 0:
                x = counts.env_sum[se, ae] / n + p.sigma / math.sqrt(n) * rng.standard_normal()
                of_env[se, ae] = min(max(x, p.r_min), p.r_max)
    for sm in range(n_sm):
        for am in range(n_am):
            n = counts.n_mon[sm, am]
            if n > 0:
                x = counts.mon_sum[sm, am] / n + p.sigma / math.sqrt(n) * rng.standard_normal()
                of_mon[sm, am] = x
    for s in range(reward.shape[0]):
        for a in range(reward.shape[1]):
            n = counts.n[s, a]
            if n == 0:
                continue
            se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
            if counts.n_env[se, ae] > 0:
                reward[s, a] = of_env[se, ae]
            else:
                # Beta(1, b) at the uniform draw u is 1 - u^(1/b)
                hope = 1.0 - rng.random() ** (1.0 / (1.0 + n))
                reward[s, a] = p.r_min + hope * (p.r_max - p.r_min)
            reward[s, a] += of_mon[sm, am]
            pair = s * reward.shape[1] + a
            total, ended = 0.0, 0
            for j in range(slots.first[pair], slots.first[pair] + slots.used[pair]):
                goes = slots.visits[j] - slots.ended[j]
                ended += slots.ended[j]
                if goes > 0:
                    go_on[j] = rng.standard_gamma(float(goes))
                    total += go_on[j]
            if ended > 0:
                total += rng.standard_gamma(float(ended))
            new = rng.standard_gamma(p.alpha) if p.alpha > 0.0 else 0.0
            total += new
            for j in range(slots.first[pair], slots.first[pair] + slots.used[pair]):
                go_on[j] *= p.gamma / total
            reward[s, a] += p.gamma * optimum(p) * new / total
