"""The constants of the theorem, with the mistakes in its proof fixed (see docs/theory.md).

For |S| joint states, |A| joint actions, discount γ, accuracy ε, failure probability δ, ρ the
smallest chance to see a reward, and episodes of at most H steps. With ε₁ = ε₂ = ε/2,
L_S = ln(2^|S| - 2) and N = |S||A|:

    τ₁ = ε₁(1-γ)²/2             closeness that the model for observing needs
    τ₂ = ε₂(1-γ)²/(2(1+γR))     closeness that the model for optimizing needs; 6 in place of
                                2(1+γR) for rewards in [-1, 1]
    m₁ = 8 [L_S + ln(2N m₁/δ₁)] / τ₁²
    m₂ = max of 8 [L_S + ln(3N m₂/δ₂)] / τ₂²                      transitions
                8 (wᵐ/2)² ln(6N m₂/δ₂) / τ₂²                      monitor reward
                16 (wᵉ/2)² ln(6N m₂/δ₂) / (ρ τ₂²)                 environment reward
    m₃ = ⌈N m₁ / (ε₁(1-γ))⌉ = κ*
    bad steps ≤ H [m₃ + N m₂ / (ε₂(1-γ))]
    T  = ⌈ln(max{8R, 4} / (ε(1-γ))) / ln(1/γ)⌉    effective horizon: H must not be below it
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from monmdp.errors import MonMDPError, nearest
from monmdp.model import MonMDP
from monmdp.model.mdp import number, whole_number
from monmdp.planning.observability import observability
from monmdp.planning.policy_iteration import learning_gamma

Constants = Literal["sound", "paper"]

BANDIT_EPSILON = "(0, 0.125)"
"""where the lower bound on bandits holds"""
TOO_SMALL = 1e-30
"""of ε, δ and ρ: with γ up to 1 - 10⁻¹⁵ everything stays within floating point numbers"""
TOO_LARGE = 1e30
"""of rewards, likewise"""


@dataclass(frozen=True)
class Rewards:
    """What the theorem needs to know about the rewards."""

    env_width: float = 2.0
    """wᵉ, the width of the least interval with all rᵉ and 0, what an ended episode pays"""
    monitor_width: float = 2.0
    """wᵐ, the same for rᵐ"""
    largest: float = 2.0
    """R = max |rᵉ| + max |rᵐ|"""

    @classmethod
    def of(cls, monmdp: MonMDP) -> Rewards:
        """Read them off a Mon-MDP."""
        low, high, paid = monmdp.mdp.r_min, monmdp.mdp.r_max, monmdp.monitor.reward
        return cls(
            env_width=max(high, 0.0) - min(low, 0.0),
            monitor_width=float(max(paid.max(), 0.0) - min(paid.min(), 0.0)),
            largest=max(abs(low), abs(high)) + float(abs(paid).max()),
        )


@dataclass(frozen=True)
class Bounds:
    """The constants of the theorem for one problem, accuracy and failure probability."""

    n_states: int
    n_actions: int
    gamma: float
    epsilon: float
    delta: float
    rho: float | None
    """None: no reward can ever be seen"""
    horizon: int
    constants: Constants
    tau1: float
    """how close P̄ and the observability must come while observing"""
    tau2: float
    """how close P̄ and the rewards must come while optimizing"""
    m1: float
    """visits of a pair that make it known for observing"""
    m2: float
    """visits of a pair that make it known for optimizing"""
    m3: int
    """κ*, the episodes that observe"""
    beta: float
    beta_m: float
    beta_e: float
    beta_obs: float
    beta_kl: float
    q_opt_init: float
    """R/(1 - γ)"""
    q_obs_init: float
    """1/(1 - γ)"""
    bad_steps: float
    """H [m₃ + |S||A| m₂/(ε₂(1 - γ))], the order of the number of steps on which the agent is not
    ε-optimal"""
    effective_horizon: int
    """T: what can follow after so many steps is worth at most ε/4, in either model"""

    @property
    def kappa_star(self) -> int:
        """κ*, constant: how many episodes observe."""
        return self.m3

    @property
    def observes_enough(self) -> bool:
        """Whether m₁ visits of each pair show all rewards that can be seen, with chance 1 - δ.

        m₁ and κ* do not depend on ρ. Where (1 - ρ)^m₁ is not small beside δ/(|S||A|), observing may
        end before some reward was seen that can be, and its pair is taken for one of r_min.

        False is a warning; True is no proof. κ* episodes make observing ε₁-optimal, they do not
        visit each pair m₁ times, and observing nothing is ε₁-optimal where all there is to see is
        worth less than ε₁. docs/theory.md says what would be enough.
        """
        pairs = self.n_states * self.n_actions
        return self.rho is None or self.rho * self.m1 >= math.log(pairs / self.delta)

    @property
    def lasts_long_enough(self) -> bool:
        """Whether an episode can last for the effective horizon; otherwise the proof is silent.

        An agent is drawn by what would follow after an episode is cut, and never gets there. Even
        where this is True, the proof covers only steps with T more to come in their episode.
        """
        return self.horizon >= self.effective_horizon

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain Python objects, for JSON."""
        return asdict(self) | {
            "observes_enough": self.observes_enough,
            "lasts_long_enough": self.lasts_long_enough,
        }


def bounds(
    monmdp: MonMDP,
    epsilon: float,
    delta: float,
    gamma: float = 0.99,
    *,
    constants: Constants = "sound",
    horizon: int | None = None,
) -> Bounds:
    """Return the theorem's constants for a Mon-MDP, with its own rewards and ρ.

    Args:
        monmdp: the problem.
        epsilon: ε, how far from minimax-optimal is good enough.
        delta: δ, the chance that the promise fails.
        gamma: γ, the discount.
        constants: ``sound``, or ``paper`` for those printed in the paper.
        horizon: H, the longest episode; by default the world's time limit.

    >>> import monmdp
    >>> found = monmdp.theory.bounds(monmdp.make("loop", "ask"), epsilon=0.1, delta=0.05)
    >>> f"{found.m1:.1e} {found.m2:.1e} {found.bad_steps:.1e}", found.observes_enough
    ('6.1e+13 3.0e+14 3.3e+21', True)
    """
    horizon = monmdp.mdp.time_limit if horizon is None else horizon
    if horizon is None:
        raise MonMDPError(f"world {monmdp.mdp.name!r} has no time limit: give the horizon, H")
    sizes, rho = (monmdp.n_states, monmdp.n_actions), observability(monmdp).rho
    return sample_complexity(
        *sizes, gamma, epsilon, delta, rho, horizon, rewards=Rewards.of(monmdp), constants=constants
    )


def sample_complexity(
    n_states: int,
    n_actions: int,
    gamma: float,
    epsilon: float,
    delta: float,
    rho: float | None,
    horizon: int,
    *,
    rewards: Rewards | None = None,
    constants: Constants = "sound",
) -> Bounds:
    """Return the theorem's constants for given sizes.

    Without `rewards`, all rewards lie in [-1, 1] as in the paper. ``rho=None`` is a Mon-MDP in
    which no reward can ever be seen: then there is no environment reward to estimate.

    >>> from monmdp import theory
    >>> found = theory.sample_complexity(10, 4, 0.9, epsilon=0.1, delta=0.1, rho=0.5, horizon=50)
    >>> f"{found.m1:.2e} {found.m2:.2e} {found.m3:.2e}"
    '4.77e+09 1.61e+11 3.82e+13'
    """
    size = whole_number(n_states, "n_states", at_least=1)
    pairs = size * whole_number(n_actions, "n_actions", at_least=1)
    horizon = whole_number(horizon, "horizon", at_least=1)
    gamma, delta = learning_gamma(gamma), number(delta, "delta", "(0, 1)")
    rho = None if rho is None else number(rho, "rho", "(0, 1]")
    if constants not in get_args(Constants):
        raise MonMDPError(f"constants={constants!r}{nearest(constants, get_args(Constants))}")
    paid = Rewards() if rewards is None else rewards
    most = 2 * paid.largest / (1 - gamma)
    epsilon = _positive(epsilon, "epsilon")
    if epsilon >= most:
        raise MonMDPError(
            f"epsilon = {epsilon:g} asks for nothing: no two values differ by more than {most:g}"
        )
    _check_range(epsilon=epsilon, delta=delta, rho=1.0 if rho is None else rho)
    if paid.largest > TOO_LARGE:
        raise MonMDPError(f"rewards of {paid.largest:g} are too large to compute with")

    eps1 = eps2 = epsilon / 2
    tau1 = eps1 * (1 - gamma) ** 2 / 2
    tau2 = eps2 * (1 - gamma) ** 2 / (6 if rewards is None else 2 * (1 + gamma * paid.largest))
    delta1 = delta2 = delta / 4 if constants == "sound" else 6 * delta / 5
    log_sets = _log_of_sets(size)

    m1 = _larger_root(8 / tau1**2, log_sets + math.log(2 * pairs / delta1))
    log_rewards = math.log(6 * pairs / delta2)
    needed = [
        _larger_root(8 / tau2**2, log_sets + math.log(3 * pairs / delta2)),
        _larger_root(8 * (paid.monitor_width / 2) ** 2 / tau2**2, log_rewards),
    ]
    if rho is not None:
        needed.append(_larger_root(16 * (paid.env_width / 2) ** 2 / (rho * tau2**2), log_rewards))
    m2 = max(needed)
    m3 = math.ceil(pairs * m1 / (eps1 * (1 - gamma)))

    log_opt, log_obs = math.log(6 * pairs * m2 / delta2), math.log(4 * pairs * m1 / delta1)
    root = math.sqrt(log_opt / 2)
    return Bounds(
        size, pairs // size, gamma, epsilon, delta, rho, horizon, constants,
        tau1, tau2, m1, m2, m3,
        beta=gamma * (paid.env_width + paid.monitor_width) * root / (1 - gamma),
        beta_m=paid.monitor_width * root,
        beta_e=paid.env_width * root,
        beta_obs=math.sqrt(log_obs / 2) / (1 - gamma),
        beta_kl=log_obs,
        q_opt_init=paid.largest / (1 - gamma),
        q_obs_init=1 / (1 - gamma),
        bad_steps=horizon * (m3 + pairs * m2 / (eps2 * (1 - gamma))),
        effective_horizon=_effective_horizon(paid.largest, gamma, epsilon),
    )  # fmt: skip


def lower_bound(
    k: int, rho: float, epsilon: float, delta: float, c1: float = 1.0, c2: float = 1.0
) -> float:
    """Return c₁ k/(ρ ε²) ln(c₂/δ): no policy needs fewer pulls on every bandit with k arms.

    That is E[T - 1] of an (ε, δ)-correct policy for some bandit whose rewards are shown with chance
    ρ. The constants c₁ and c₂ exist and are not known; with 1 and 1 it is the shape of the bound.

    >>> from monmdp import theory
    >>> once = theory.lower_bound(4, rho=1.0, epsilon=0.1, delta=0.004)
    >>> round(theory.lower_bound(4, rho=0.05, epsilon=0.1, delta=0.004) / once, 6)
    20.0
    """
    k = whole_number(k, "k", at_least=2)
    rho, epsilon = number(rho, "rho", "(0, 1]"), number(epsilon, "epsilon", BANDIT_EPSILON)
    if not 0 < number(delta, "delta") < math.exp(-4) / 4:
        raise MonMDPError(f"delta must lie in (0, e⁻⁴/4 = {math.exp(-4) / 4:.4g}), got {delta:g}")
    check_unknown_constants(c1, c2, delta)
    _check_range(epsilon=epsilon, delta=delta, rho=rho)
    return c1 * k / (rho * epsilon**2) * math.log(c2 / delta)


def _check_range(**values: float) -> None:
    """Refuse numbers whose products would leave floating point."""
    for name, value in values.items():
        if value < TOO_SMALL:
            raise MonMDPError(f"{name} = {value} is too small to compute with")


def _positive(value: float, name: str) -> float:
    value = number(value, name)
    if value <= 0:
        raise MonMDPError(f"{name} must be positive, got {value:g}")
    return value


def check_unknown_constants(c1: float, c2: float, delta: float) -> None:
    """Demand constants for which the lower bound says something."""
    _positive(c1, "c1")
    if number(c2, "c2") <= delta:
        raise MonMDPError(f"c2 must be above delta = {delta:g}, got {c2:g}")


def _effective_horizon(largest: float, gamma: float, epsilon: float) -> int:
    """Return the least T ≥ 1 with γ^T D ≤ ε/4, D the largest error of a value.

    D is 2R/(1 - γ) while optimizing and 1/(1 - γ) while observing, where rewards lie in [0, 1].
    """
    if gamma == 0:
        return 1
    error = max(2 * largest, 1.0) / (1 - gamma)
    return max(1, math.ceil(math.log(4 * error / epsilon) / -math.log(gamma)))


def _log_of_sets(n_states: int) -> float:
    """Return L_S = ln(2^|S| - 2); for a single state, where there is nothing to learn, that of two.

    The 1-norm of P̄ - p is twice the largest deviation on a set of states; so many sets count.
    """
    n = max(2, n_states)
    return n * math.log(2) + math.log1p(-(2.0 ** (1 - n)))


def _larger_root(scale: float, offset: float) -> float:
    """Return the larger root of m = scale (offset + ln m), 1 where every m is large enough.

    In y = m/scale: y - ln y = offset + ln scale, convex, so that Newton's method comes down to the
    larger root from above without ever passing it.
    """
    if scale == 0:
        return 1.0
    level = offset + math.log(scale)
    if level < 1:  # the least value of y - ln y
        return 1.0
    y, before = 2 * level, math.inf
    while y < before:
        before = y
        y -= (y - math.log(y) - level) / (1 - 1 / y)
    return max(1.0, scale * y)
