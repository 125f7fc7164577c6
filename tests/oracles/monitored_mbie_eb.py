"""A plain-Python oracle of Monitored MBIE-EB, with the monitor unknown and with it known.

It follows the equations of the paper and nothing else, and is deliberately unoptimised: raw counts
in dictionaries, every mean and frequency recomputed from them before every episode, plain loops,
always the full number of sweeps, no early stopping. The tests compare the compiled agents with it.
numpy only holds the action values.

Nothing random happens here: the caller picks an action out of `greedy_set` and reports what
happened to `update`. A time limit is not a termination: report such a step with
`terminated=False` and begin the next episode.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

TIE = 1e-10


class _Oracle:
    """What both algorithms share: the schedule, the growth, the sweeps and the greedy actions."""

    def __init__(
        self,
        shape,
        r_min,
        *,
        gamma=0.99,
        q_opt_init=1.0,
        q_obs_init=100.0,
        log_base=1.005,
        growth="paper",
        schedule="paper",
        kappa_star=None,
        sweeps=50,
    ):
        if growth not in ("paper", "log", "none"):
            raise ValueError(f"growth={growth!r}")
        if schedule not in ("paper", "released", "constant"):
            raise ValueError(f"schedule={schedule!r}")
        self.n_se, self.n_sm, self.n_ae, self.n_am = (int(n) for n in shape)
        self.r_min = r_min
        self.gamma = gamma
        self.q_opt_init = q_opt_init
        self.q_obs_init = q_obs_init
        self.log_base = log_base
        self.growth = growth
        self.schedule = schedule
        self.kappa_star = kappa_star
        self.sweeps = sweeps
        pairs = (self.n_se * self.n_sm, self.n_ae * self.n_am)
        self.q_opt = np.full(pairs, float(q_opt_init))
        self.q_obs = np.full(pairs, float(q_obs_init))
        self.k = 0  # k: episodes begun
        self.kappa = 0  # κ: observe episodes begun
        self.observing = False

    def state(self, se, sm):
        # s = sᵉ·|Sᵐ| + sᵐ
        return se * self.n_sm + sm

    def action(self, ae, am):
        # a = aᵉ·|Aᵐ| + aᵐ
        return ae * self.n_am + am

    def joint_pairs(self):
        """Every (sᵉ, sᵐ, aᵉ, aᵐ)."""
        for se in range(self.n_se):
            for sm in range(self.n_sm):
                for ae in range(self.n_ae):
                    for am in range(self.n_am):
                        yield se, sm, ae, am

    def g(self, n):
        # g(N) = 1 (growth "none")
        if self.growth == "none":
            return 1.0
        # g(N) = ln(1 + N·ln²N) (growth "log", the released code)
        if self.growth == "log":
            return math.log(1 + n * math.log(n) ** 2)
        # g(N) = 1 + x·ln²x with x = ln N, g(1) = 1 (growth "paper")
        if n == 1:
            return 1.0
        x = math.log(n)
        return 1 + x * math.log(x) ** 2

    def bonus(self, g, n):
        """√(g/n); variants have another."""
        return math.sqrt(g / n)

    def observes(self):
        """Whether episode k, with κ observe episodes before it, is an observe episode."""
        # constant: observe iff κ ≤ κ*
        if self.schedule == "constant":
            return self.kappa <= self.kappa_star
        # released: observe iff log_b(k − 1 + 10⁻⁴) > κ
        if self.schedule == "released":
            return math.log(self.k - 1 + 1e-4) / math.log(self.log_base) > self.kappa
        # paper: observe iff κ ≤ κ*(k) = log_b k
        return self.kappa <= math.log(self.k) / math.log(self.log_base)

    def begin_episode(self):
        self.k += 1
        self.observing = self.observes()
        # before every episode: Q_opt, continuing with the share that did not terminate
        self.q_opt = self.swept(
            self.q_opt, self.q_opt_init, self.r_opt, self.transitions(termination=True)
        )
        if self.observing:
            # before every observe episode: Q_obs, ignoring termination
            self.q_obs = self.swept(
                self.q_obs, self.q_obs_init, self.r_obs, self.transitions(termination=False)
            )
            self.kappa += 1
        return self.observing

    def swept(self, q, q_init, reward, transitions):
        """Synchronous value iteration from q; a pair without transitions is pinned."""
        rewards = {
            (self.state(se, sm), self.action(ae, am)): reward(se, sm, ae, am)
            for se, sm, ae, am in self.joint_pairs()
            if (self.state(se, sm), self.action(ae, am)) in transitions
        }
        for _ in range(self.sweeps):
            # V(s) = max_a Q(s,a), of the sweep before
            v = [max(row) for row in q.tolist()]
            new = np.empty_like(q)
            for s in range(self.n_se * self.n_sm):
                for a in range(self.n_ae * self.n_am):
                    if (s, a) not in transitions:
                        # pinned: Q(s,a) = Q_init
                        new[s, a] = q_init
                        continue
                    # Q(s,a) = R(s,a) + γ Σ_s′ P̄(s′|s,a) V(s′)
                    future = 0.0
                    for s2, chance in transitions[s, a]:
                        future += chance * v[s2]
                    new[s, a] = rewards[s, a] + self.gamma * future
            q = new
        return q

    def greedy_set(self, se, sm):
        # argmax_a Q(s,a), Q = Q_obs (observe) or Q_opt (optimize), ties within 1e-10
        row = (self.q_obs if self.observing else self.q_opt)[self.state(se, sm)].tolist()
        best = max(row)
        return {(a // self.n_am, a % self.n_am) for a, q in enumerate(row) if best - q <= TIE}


class MonitoredMBIEEBOracle(_Oracle):
    """Monitored MBIE-EB: environment and monitor both unknown."""

    def __init__(
        self,
        shape,
        r_min,
        *,
        beta=5e-4,
        beta_m=5e-4,
        beta_e=5e-4,
        beta_obs=5e-4,
        beta_kl=0.05,
        **shared,
    ):
        super().__init__(shape, r_min, **shared)
        self.beta = beta
        self.beta_m = beta_m
        self.beta_e = beta_e
        self.beta_obs = beta_obs
        self.beta_kl = beta_kl
        self.n_joint = Counter()  # N(s,a)
        self.n_env = Counter()  # N(sᵉ,aᵉ), only visits whose reward was shown
        self.n_mon = Counter()  # N(sᵐ,aᵐ)
        self.n_successor = Counter()  # N(s,a,s′)
        self.n_ended = Counter()  # visits of (s,a,s′) that terminated
        self.sum_env = Counter()  # Σ of the shown rᵉ of (sᵉ,aᵉ)
        self.sum_mon = Counter()  # Σ of rᵐ of (sᵐ,aᵐ)

    def update(self, se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated):
        s, a, s2 = self.state(se, sm), self.action(ae, am), self.state(next_se, next_sm)
        self.n_joint[s, a] += 1
        self.n_mon[sm, am] += 1
        self.sum_mon[sm, am] += monitor_reward
        self.n_successor[s, a, s2] += 1
        if terminated:
            self.n_ended[s, a, s2] += 1
        if reward is not None:
            self.n_env[se, ae] += 1
            self.sum_env[se, ae] += reward

    def n_of_state(self, s):
        # N(s) = Σ_a N(s,a)
        return sum(self.n_joint[s, a] for a in range(self.n_ae * self.n_am))

    def n_of_env_state(self, se):
        # N(sᵉ) = Σ_aᵉ N(sᵉ,aᵉ), only shown
        return sum(self.n_env[se, ae] for ae in range(self.n_ae))

    def n_of_mon_state(self, sm):
        # N(sᵐ) = Σ_aᵐ N(sᵐ,aᵐ)
        return sum(self.n_mon[sm, am] for am in range(self.n_am))

    def transitions(self, termination):
        """The visited pairs' successors: {(s, a): [(s′, chance of going on from s′)]}."""
        found = {}
        for (s, a, s2), n in self.n_successor.items():
            # P̄(s′|s,a) = N(s,a,s′) / N(s,a)
            chance = n / self.n_joint[s, a]
            if termination:
                # the share of the visits of (s,a,s′) that did not terminate
                chance *= (n - self.n_ended[s, a, s2]) / n
            found.setdefault((s, a), []).append((s2, chance))
        return found

    def r_opt(self, se, sm, ae, am):
        s, a = self.state(se, sm), self.action(ae, am)
        if self.n_env[se, ae] > 0:
            n = self.n_env[se, ae]
            # R̄ᵉ(sᵉ,aᵉ), the mean of the shown rewards
            env = self.sum_env[se, ae] / n
            # βᵉ √(g(N(sᵉ)) / N(sᵉ,aᵉ))
            env += self.beta_e * self.bonus(self.g(self.n_of_env_state(se)), n)
        else:
            # R_min: r_min in the place of R̄ᵉ and its bonus, N(sᵉ,aᵉ) = 0
            env = self.r_min
        n = self.n_mon[sm, am]
        # R̄ᵐ(sᵐ,aᵐ)
        mon = self.sum_mon[sm, am] / n
        # βᵐ √(g(N(sᵐ)) / N(sᵐ,aᵐ))
        mon += self.beta_m * self.bonus(self.g(self.n_of_mon_state(sm)), n)
        # β √(g(N(s)) / N(s,a))
        transition = self.beta * self.bonus(self.g(self.n_of_state(s)), self.n_joint[s, a])
        # R_opt(s,a)
        return env + mon + transition

    def r_obs(self, se, sm, ae, am):
        s, a = self.state(se, sm), self.action(ae, am)
        n = self.n_joint[s, a]
        growth = self.g(self.n_of_state(s))
        # KL-UCB(0, n) = 1 − exp(−β_KL g(N(s)) / N(s,a))
        kl_ucb = 1 - math.exp(-self.beta_kl * growth / n)
        # 1{N(sᵉ,aᵉ) = 0}
        unseen = 1 if self.n_env[se, ae] == 0 else 0
        # R_obs(s,a) = 1{N(sᵉ,aᵉ) = 0} KL-UCB + β_obs √(g(N(s)) / N(s,a))
        return unseen * kl_ucb + self.beta_obs * self.bonus(growth, n)


class KnownMonitorOracle(_Oracle):
    """Monitored MBIE-EB with pᵐ, rᵐ and fᵐ given: only the environment is learned.

    `monitor_step(se, ae, sm, am)` gives the chances of the next sᵐ, `monitor_reward(sm, am)` is rᵐ,
    `shown_chance(se, sm, ae, am)` is P(shown | s,a), the true marginal over s′ᵉ.
    """

    def __init__(
        self,
        shape,
        r_min,
        monitor_step,
        monitor_reward,
        shown_chance,
        *,
        beta=5e-4,
        beta_e=5e-4,
        **shared,
    ):
        super().__init__(shape, r_min, **shared)
        self.monitor_step = monitor_step
        self.monitor_reward = monitor_reward
        self.shown_chance = shown_chance
        self.beta = beta
        self.beta_e = beta_e
        self.n_visits = Counter()  # N_v(sᵉ,aᵉ), all visits
        self.n_env = Counter()  # N(sᵉ,aᵉ), only visits whose reward was shown
        self.n_successor = Counter()  # N_v(sᵉ,aᵉ,s′ᵉ)
        self.n_ended = Counter()  # visits of (sᵉ,aᵉ,s′ᵉ) that terminated
        self.sum_env = Counter()  # Σ of the shown rᵉ of (sᵉ,aᵉ)

    def update(self, se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated):
        del sm, am, monitor_reward, next_sm  # known, so nothing is learned from them
        self.n_visits[se, ae] += 1
        self.n_successor[se, ae, next_se] += 1
        if terminated:
            self.n_ended[se, ae, next_se] += 1
        if reward is not None:
            self.n_env[se, ae] += 1
            self.sum_env[se, ae] += reward

    def n_visits_of_env_state(self, se):
        # N_v(sᵉ) = Σ_aᵉ N_v(sᵉ,aᵉ)
        return sum(self.n_visits[se, ae] for ae in range(self.n_ae))

    def n_of_env_state(self, se):
        # N(sᵉ) = Σ_aᵉ N(sᵉ,aᵉ), only shown
        return sum(self.n_env[se, ae] for ae in range(self.n_ae))

    def transitions(self, termination):
        """The visited pairs' successors: {(s, a): [(s′, chance of going on from s′)]}."""
        found = {}
        for (se, ae, se2), n in self.n_successor.items():
            # P̄ᵉ(s′ᵉ|sᵉ,aᵉ) = N_v(sᵉ,aᵉ,s′ᵉ) / N_v(sᵉ,aᵉ), pooled over the monitor
            env = n / self.n_visits[se, ae]
            if termination:
                # the share of the visits of (sᵉ,aᵉ,s′ᵉ) that did not terminate
                env *= (n - self.n_ended[se, ae, se2]) / n
            for sm in range(self.n_sm):
                for am in range(self.n_am):
                    pair = (self.state(se, sm), self.action(ae, am))
                    # pᵐ(s′ᵐ | sᵐ,aᵐ,sᵉ,aᵉ)
                    for sm2, mon in enumerate(self.monitor_step(se, ae, sm, am)):
                        if mon > 0:
                            # p = P̄ᵉ ⊗ pᵐ
                            outcome = (self.state(se2, sm2), env * float(mon))
                            found.setdefault(pair, []).append(outcome)
        return found

    def transition_bonus(self, se, ae):
        # β √(g(N_v(sᵉ)) / N_v(sᵉ,aᵉ))
        growth = self.g(self.n_visits_of_env_state(se))
        return self.beta * self.bonus(growth, self.n_visits[se, ae])

    def r_opt(self, se, sm, ae, am):
        if self.n_env[se, ae] > 0:
            n = self.n_env[se, ae]
            # R̄ᵉ(sᵉ,aᵉ), the mean of the shown rewards
            env = self.sum_env[se, ae] / n
            # βᵉ √(g(N(sᵉ)) / N(sᵉ,aᵉ))
            env += self.beta_e * self.bonus(self.g(self.n_of_env_state(se)), n)
        else:
            # R_min: r_min in the place of R̄ᵉ and its bonus, N(sᵉ,aᵉ) = 0
            env = self.r_min
        # R_opt(s,a), with the true rᵐ(sᵐ,aᵐ)
        return env + self.monitor_reward(sm, am) + self.transition_bonus(se, ae)

    def r_obs(self, se, sm, ae, am):
        # 1{N(sᵉ,aᵉ) = 0}
        unseen = 1 if self.n_env[se, ae] == 0 else 0
        # R_obs(s,a) = 1{N(sᵉ,aᵉ) = 0} P(shown | s,a) + β √(g(N_v(sᵉ)) / N_v(sᵉ,aᵉ))
        return unseen * self.shown_chance(se, sm, ae, am) + self.transition_bonus(se, ae)
