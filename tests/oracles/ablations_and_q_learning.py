"""Plain-Python oracles of the rivals of Monitored MBIE-EB and of the constants of its theorem.

They follow the equations of the specification and nothing else, and are deliberately unoptimised:
raw counts and sums in dictionaries, means recomputed from them, plain loops, roots by bisection.
The tests compare the compiled agents and the closed forms with them. numpy only holds tables.

Nothing random happens here: the caller picks an action out of `greedy_set` (or any action, on a
step that `epsilon_now` lets it act at random) and reports what happened to `update`. A time limit
is not a termination: report such a step with `terminated=False` and begin the next episode.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from oracles.monitored_mbie_eb import TIE, MonitoredMBIEEBOracle


class PessimisticMBIEEBOracle(MonitoredMBIEEBOracle):
    """Pessimistic MBIE-EB: R_opt only, no observe episodes, pinned where N(s,a) = 0."""

    def __init__(
        self,
        shape,
        r_min,
        *,
        gamma=0.99,
        q_opt_init=50.0,
        beta=5e-4,
        beta_m=5e-4,
        beta_e=5e-4,
        growth="paper",
        sweeps=50,
        planner="sweeps",
        backups=50,
    ):
        super().__init__(
            shape,
            r_min,
            gamma=gamma,
            q_opt_init=q_opt_init,
            beta=beta,
            beta_m=beta_m,
            beta_e=beta_e,
            growth=growth,
            sweeps=sweeps,
            planner=planner,
            backups=backups,
        )

    def begin_episode(self):
        self.k += 1
        # before every episode: Q_opt, continuing with the share that did not terminate
        self.q_opt = self.swept(
            self.q_opt, self.q_opt_init, self.r_opt, self.transitions(termination=True)
        )
        # no observe episodes
        return False

    def update(
        self,
        se,
        sm,
        ae,
        am,
        reward,
        monitor_reward,
        next_se,
        next_sm,
        terminated,
        hidden_reward=None,
    ):
        del hidden_reward  # only the shown reward may reach the agent
        super().update(se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated)


class MBIEEBOracle(PessimisticMBIEEBOracle):
    """MBIE-EB: R_basic only, no observe episodes, pinned where any of the three counts is 0."""

    def transitions(self, termination):
        """The successors of the pairs that are not pinned."""
        found = {}
        for (s, a), outcomes in super().transitions(termination).items():
            # s = sᵉ·|Sᵐ| + sᵐ
            se, sm = s // self.n_sm, s % self.n_sm
            # a = aᵉ·|Aᵐ| + aᵐ
            ae, am = a // self.n_am, a % self.n_am
            # pinned if any of N(sᵉ,aᵉ), N(sᵐ,aᵐ), N(s,a) is 0
            if self.n_env[se, ae] == 0 or self.n_mon[sm, am] == 0 or self.n_joint[s, a] == 0:
                continue
            found[s, a] = outcomes
        return found

    def r_opt(self, se, sm, ae, am):
        s, a = self.state(se, sm), self.action(ae, am)
        n = self.n_env[se, ae]
        # R̄ᵉ + βᵉ √(g(N(sᵉ)) / N(sᵉ,aᵉ))
        env = self.sum_env[se, ae] / n
        env += self.beta_e * math.sqrt(self.g(self.n_of_env_state(se)) / n)
        n = self.n_mon[sm, am]
        # R̄ᵐ + βᵐ √(g(N(sᵐ)) / N(sᵐ,aᵐ))
        mon = self.sum_mon[sm, am] / n
        mon += self.beta_m * math.sqrt(self.g(self.n_of_mon_state(sm)) / n)
        n = self.n_joint[s, a]
        # β √(g(N(s)) / N(s,a))
        transition = self.beta * math.sqrt(self.g(self.n_of_state(s)) / n)
        # R_basic(s,a): the three parts, never r_min
        return env + mon + transition


class _QLearningOracle:
    """Q-learning with a reward model, and the first Mon-MDP paper's ways to treat ⊥.

    With `r0=None` the reward model starts at random: overwrite `reward_model` before the first
    step. Only `bottom="oracle"` reads `hidden_reward`.
    """

    def __init__(
        self,
        shape,
        r_min,
        *,
        gamma=0.99,
        q_init=-10.0,
        alpha=1.0,
        alpha_end=None,
        epsilon=1.0,
        epsilon_end=0.0,
        anneal_steps=20_000,
        r0=None,
        bottom="reward-model",
        constant=None,
    ):
        if bottom not in ("reward-model", "ignore", "constant", "oracle"):
            raise ValueError(f"bottom={bottom!r}")
        if bottom == "constant" and constant is None:
            raise ValueError("bottom='constant' needs the constant")
        self.n_se, self.n_sm, self.n_ae, self.n_am = (int(n) for n in shape)
        self.n_s = self.n_se * self.n_sm  # |S|
        self.n_a = self.n_ae * self.n_am  # |A|
        self.r_min = r_min  # not used: these agents know no pessimism
        self.gamma = gamma
        self.alpha = alpha
        self.alpha_end = alpha if alpha_end is None else alpha_end
        self.epsilon = epsilon
        self.epsilon_end = epsilon_end
        self.anneal_steps = anneal_steps
        self.bottom = bottom
        self.constant = constant
        self.steps = 0  # i: steps done
        self.n = Counter()  # N(s,a)
        self.n_env = Counter()  # N(sᵉ,aᵉ), only visits whose reward was shown
        self.sum_env = Counter()  # Σ of the shown rᵉ of (sᵉ,aᵉ)
        self.reward_model = np.full((self.n_se, self.n_ae), 0.0 if r0 is None else float(r0))
        self.q = np.full((self.n_s, self.n_a), float(q_init))

    def state(self, se, sm):
        # s = sᵉ·|Sᵐ| + sᵐ
        return se * self.n_sm + sm

    def action(self, ae, am):
        # a = aᵉ·|Aᵐ| + aᵐ
        return ae * self.n_am + am

    def annealed(self, start, end):
        # x_i = x_end for i ≥ T
        if self.steps >= self.anneal_steps:
            return end
        # x_i = x + (x_end − x) i / T
        return start + (end - start) * self.steps / self.anneal_steps

    def alpha_now(self):
        """The learning rate of the coming update."""
        return self.annealed(self.alpha, self.alpha_end)

    def epsilon_now(self):
        """The chance of a uniform random action at the coming step."""
        return self.annealed(self.epsilon, self.epsilon_end)

    def begin_episode(self):
        return False

    def scores(self, s):
        """What the agent is greedy on, one number for each action."""
        # Q(s,·)
        return self.q[s].tolist()

    def greedy_set(self, se, sm):
        scores = self.scores(self.state(se, sm))
        best = max(scores)
        found = set()
        for a, score in enumerate(scores):
            # argmax, ties within 1e-10; ∞ ties with ∞ (∞ − ∞ is no number)
            if score == best or best - score <= TIE:
                found.add((a // self.n_am, a % self.n_am))
        return found

    def update(
        self,
        se,
        sm,
        ae,
        am,
        reward,
        monitor_reward,
        next_se,
        next_sm,
        terminated,
        hidden_reward=None,
    ):
        s, a, s2 = self.state(se, sm), self.action(ae, am), self.state(next_se, next_sm)
        alpha = self.alpha_now()
        # first the counts: N(s,a), and N(sᵉ,aᵉ) if the reward was shown
        self.n[s, a] += 1
        if reward is not None:
            self.n_env[se, ae] += 1
            self.sum_env[se, ae] += reward
        # then Ψ or Q_N
        self.update_exploration(s, a, s2, terminated, alpha)
        # then r̂(sᵉ,aᵉ), the mean of the shown rewards: the first one replaces r₀
        if reward is not None:
            self.reward_model[se, ae] = self.sum_env[se, ae] / self.n_env[se, ae]
        # then Q, with the new r̂
        env_reward = self.env_reward(se, ae, reward, hidden_reward)
        if env_reward is not None:
            # target = rᵉ + rᵐ + bonus
            target = env_reward + monitor_reward + self.bonus(s, a)
            if not terminated:
                # target += γ max_a′ Q(s′,a′)
                target += self.gamma * max(self.q[s2].tolist())
            # Q(s,a) += α (target − Q(s,a))
            self.q[s, a] += alpha * (target - self.q[s, a])
        self.steps += 1

    def env_reward(self, se, ae, reward, hidden_reward):
        """The reward of the environment that Q learns from; None for no update."""
        if self.bottom == "reward-model":
            # r̂(sᵉ,aᵉ), shown or not
            return float(self.reward_model[se, ae])
        if self.bottom == "ignore":
            # the shown reward, or no update
            return reward
        if self.bottom == "constant":
            # the shown reward, or the constant
            return self.constant if reward is None else reward
        if hidden_reward is None:
            raise ValueError("bottom='oracle' needs the hidden reward")
        # oracle: rᵉ, shown or not
        return hidden_reward

    def bonus(self, s, a):
        """What the target of Q gets besides the reward."""
        del s, a
        return 0.0

    def update_exploration(self, s, a, s2, terminated, alpha):
        """The second action values, where the agent has some."""


class EpsilonGreedyOracle(_QLearningOracle):
    """ε-greedy on Q: Q₀ = −10, ε 1 → 0."""


class OptimisticOracle(_QLearningOracle):
    """Greedy on an optimistic Q: Q₀ = 1 (River Swim 50), ε = 0."""

    def __init__(self, shape, r_min, *, q_init=1.0, epsilon=0.0, epsilon_end=0.0, **others):
        super().__init__(
            shape, r_min, q_init=q_init, epsilon=epsilon, epsilon_end=epsilon_end, **others
        )


class UCBOracle(_QLearningOracle):
    """Greedy on Q + √(2 ln ΣN / N): Q₀ = 1 (River Swim 50), ε 1 → 0."""

    def __init__(self, shape, r_min, *, q_init=1.0, **others):
        super().__init__(shape, r_min, q_init=q_init, **others)

    def scores(self, s):
        # Σ_a N(s,a)
        total = sum(self.n[s, a] for a in range(self.n_a))
        scores = []
        for a in range(self.n_a):
            if self.n[s, a] == 0:
                # untried first
                scores.append(math.inf)
                continue
            # Q(s,a) + √(2 ln Σ_a N(s,a) / N(s,a))
            scores.append(float(self.q[s, a]) + math.sqrt(2 * math.log(total) / self.n[s, a]))
        return scores


class IntrinsicOracle(_QLearningOracle):
    """Greedy on a Q with an intrinsic reward: Q₀ = 1 (River Swim 50), ε 1 → 0."""

    def __init__(self, shape, r_min, *, q_init=1.0, **others):
        super().__init__(shape, r_min, q_init=q_init, **others)

    def bonus(self, s, a):
        # (1 − γ) / √N(s,a), this visit counted
        return (1 - self.gamma) / math.sqrt(self.n[s, a])


class QCountOracle(_QLearningOracle):
    """Greedy on Q and long-term counts Q_N: Q₀ = 1 (River Swim 50), ε 1 → 0."""

    def __init__(self, shape, r_min, *, q_init=1.0, **others):
        super().__init__(shape, r_min, q_init=q_init, **others)
        self.q_count = np.zeros((self.n_s, self.n_a))  # Q_N₀ = 0

    def update_exploration(self, s, a, s2, terminated, alpha):
        if terminated:
            # terminal target = N(s,a) / (1 − γ)
            target = self.n[s, a] / (1 - self.gamma)
        else:
            # target = N(s,a) + γ min_a′ Q_N(s′,a′)
            target = self.n[s, a] + self.gamma * min(self.q_count[s2].tolist())
        # Q_N(s,a) += α (target − Q_N(s,a))
        self.q_count[s, a] += alpha * (target - self.q_count[s, a])

    def scores(self, s):
        # n̂(s,·) = (1 − γ) Q_N(s,·)
        n_hat = [(1 - self.gamma) * q_count for q_count in self.q_count[s].tolist()]
        # Σ_a n̂(s,a)
        total = sum(n_hat)
        scores = []
        for a in range(self.n_a):
            if n_hat[a] == 0:
                # untried first
                scores.append(math.inf)
                continue
            # Q(s,a) + √(2 max(0, ln Σ_a n̂(s,a)) / n̂(s,a))
            bonus = math.sqrt(2 * max(0.0, math.log(total)) / n_hat[a])
            scores.append(float(self.q[s, a]) + bonus)
        return scores


class DirectedE2Oracle(_QLearningOracle):
    """Directed-E²: visits the least visited pair by Ψ, exploits Q once that is well visited.

    Of the pair as a goal, the index is s_g·|A| + a_g.
    """

    def __init__(self, shape, r_min, *, psi_init=1.0, beta_bar=0.01, **others):
        super().__init__(shape, r_min, **others)
        self.beta_bar = beta_bar
        self.t = 1
        self.psi = np.full((self.n_s, self.n_a, self.n_s * self.n_a), float(psi_init))

    def goal(self):
        """The goal (s_g, a_g) of the coming step."""
        best = None
        # argmin_(s,a) N(s,a), first of equals in the order (sᵉ,sᵐ,aᵉ,aᵐ)
        for s in range(self.n_s):
            for a in range(self.n_a):
                if best is None or self.n[s, a] < self.n[best]:
                    best = (s, a)
        return best

    def explores(self):
        """Whether the coming step explores."""
        n = self.n[self.goal()]
        if n == 0:
            # N = 0 counts as +∞
            return True
        # t += 1 before the test, so the first one uses ln 2; `update` keeps the new t
        t = self.t + 1
        # ln t / N(goal) > β̄
        return math.log(t) / n > self.beta_bar

    def epsilon_now(self):
        # exploiting is greedy on Q, without ε
        return super().epsilon_now() if self.explores() else 0.0

    def scores(self, s):
        if not self.explores():
            # Q(s,·)
            return self.q[s].tolist()
        s_g, a_g = self.goal()
        # Ψ(s,· | goal)
        return self.psi[s, :, s_g * self.n_a + a_g].tolist()

    def update_exploration(self, s, a, s2, terminated, alpha):
        # t += 1
        self.t += 1
        for s_g in range(self.n_s):
            for a_g in range(self.n_a):
                goal = s_g * self.n_a + a_g
                if (s, a) == (s_g, a_g):
                    # target = 1 if (s,a) is the goal
                    target = 1.0
                elif terminated:
                    # cut at termination
                    target = 0.0
                else:
                    # target = γ max_a′ Ψ(s′,a′ | goal)
                    target = self.gamma * max(self.psi[s2, :, goal].tolist())
                # Ψ(s,a | goal) += α (target − Ψ(s,a | goal))
                self.psi[s, a, goal] += alpha * (target - self.psi[s, a, goal])


def larger_root(scale, offset, log_factor):
    """The larger root of m = scale·(offset + log_factor + ln m), by bisection.

    m − scale·(… + ln m) falls up to m = scale and rises after it. Where it is nowhere negative the
    condition asks for no visits at all: 0.
    """
    if scale == 0:
        return 0.0

    def excess(m):
        return m - scale * (offset + log_factor + math.log(m))

    low = scale
    if excess(low) > 0:
        return 0.0
    high = 2 * scale
    while excess(high) <= 0:
        high *= 2
    while True:
        middle = low + (high - low) / 2
        # no number lies between them any more
        if middle in (low, high):
            return high
        if excess(middle) <= 0:
            low = middle
        else:
            high = middle


def theory_constants(
    n_states,
    n_actions,
    gamma,
    epsilon,
    delta,
    rho,
    horizon,
    constants,
    env_width=None,
    monitor_width=None,
    largest=None,
):
    """The constants of the theorem.

    Give none of the widths wᵉ, wᵐ and R = max|rᵉ| + max|rᵐ| for rewards in [−1, 1], or all three.
    `rho=None`: no reward can ever be seen.
    """
    given = [x is not None for x in (env_width, monitor_width, largest)]
    if any(given) and not all(given):
        raise ValueError("give all of env_width, monitor_width and largest, or none")
    if constants == "sound":
        # δ₁ = δ₂ = δ/4
        delta1 = delta2 = delta / 4
    elif constants == "paper":
        # δ₁ = δ₂ = 6δ/5
        delta1 = delta2 = 6 * delta / 5
    else:
        raise ValueError(f"constants={constants!r}")
    # ε₁ = ε₂ = ε/2
    eps1 = eps2 = epsilon / 2
    # τ₁ = ε₁(1−γ)²/2
    tau1 = eps1 * (1 - gamma) ** 2 / 2
    if all(given):
        # τ₂ = ε₂(1−γ)² / (2(1+γR))
        tau2 = eps2 * (1 - gamma) ** 2 / (2 * (1 + gamma * largest))
    else:
        # rewards in [−1, 1]: widths 2, τ₂ = ε₂(1−γ)²/6
        env_width = monitor_width = 2.0
        tau2 = eps2 * (1 - gamma) ** 2 / 6
    # L_S = ln(2^|S| − 2) = |S| ln 2 + log1p(−2^(1−|S|)), |S| ≥ 2
    size = max(2, n_states)
    log_sets = size * math.log(2) + math.log1p(-(2.0 ** (1 - size)))
    # |S||A|
    pairs = n_states * n_actions
    # m₁ = 8[L_S + ln(2|S||A|m₁/δ₁)] / τ₁²
    m1 = larger_root(8 / tau1**2, log_sets, math.log(2 * pairs / delta1))
    # transitions: m = 8[L_S + ln(3|S||A|m/δ₂)] / τ₂²
    terms = [larger_root(8 / tau2**2, log_sets, math.log(3 * pairs / delta2))]
    # rᵐ: m = 8 (wᵐ/2)² ln(6|S||A|m/δ₂) / τ₂²
    scale = 8 * (monitor_width / 2) ** 2 / tau2**2
    terms.append(larger_root(scale, 0.0, math.log(6 * pairs / delta2)))
    if rho is not None:
        # rᵉ: m = 16 (wᵉ/2)² ln(6|S||A|m/δ₂) / (ρτ₂²)
        scale = 16 * (env_width / 2) ** 2 / (rho * tau2**2)
        terms.append(larger_root(scale, 0.0, math.log(6 * pairs / delta2)))
    # m₂: the largest of them
    m2 = max(terms)
    # m₃ = ⌈|S||A|m₁ / (ε₁(1−γ))⌉
    m3 = math.ceil(pairs * m1 / (eps1 * (1 - gamma)))
    # L = ln(6|S||A|m₂/δ₂): ln(24|S||A|m₂/δ) if sound, ln(5|S||A|m₂/δ) in the paper
    log_opt = math.log(6 * pairs * m2 / delta2)
    # ln(4|S||A|m₁/δ₁): ln(16|S||A|m₁/δ) if sound, ln(10|S||A|m₁/(3δ)) in the paper
    log_obs = math.log(4 * pairs * m1 / delta1)
    return {
        "eps1": eps1,
        "eps2": eps2,
        "tau1": tau1,
        "tau2": tau2,
        "delta1": delta1,
        "delta2": delta2,
        "m1": m1,
        "m2": m2,
        "m3": m3,
        # β = γ(wᵉ+wᵐ)√(L/2) / (1−γ)
        "beta": gamma * (env_width + monitor_width) * math.sqrt(log_opt / 2) / (1 - gamma),
        # βᵐ = wᵐ√(L/2)
        "beta_m": monitor_width * math.sqrt(log_opt / 2),
        # βᵉ = wᵉ√(L/2)
        "beta_e": env_width * math.sqrt(log_opt / 2),
        # β_obs = √(½ ln(4|S||A|m₁/δ₁)) / (1−γ)
        "beta_obs": math.sqrt(log_obs / 2) / (1 - gamma),
        # β_KL = ln(4|S||A|m₁/δ₁)
        "beta_kl": log_obs,
        # bad steps ≤ H[m₃ + |S||A|m₂ / (ε₂(1−γ))]
        "bad_steps": horizon * (m3 + pairs * m2 / (eps2 * (1 - gamma))),
    }
