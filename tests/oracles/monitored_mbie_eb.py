"""A plain-Python oracle of Monitored MBIE-EB, with the monitor unknown and with it known.

It follows the equations of the paper and nothing else, and is deliberately unoptimised: raw counts
in dictionaries, every mean and frequency recomputed from them before every episode, plain loops,
always the full number of sweeps, no early stopping. The tests compare the compiled agents with it.
numpy only holds the action values.

The oracles of the incremental planner follow docs/algorithms/monitored-mbie-eb.md: one deque for
each bucket of an agenda, dictionaries for values and predecessors.

Nothing random happens here: the caller picks an action out of `greedy_set` and reports what
happened to `update`. A time limit is not a termination: report such a step with
`terminated=False` and begin the next episode.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque

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
        planner="sweeps",
        backups=50,
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
        self.planner = planner
        self.backups = backups
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

    def environment_term(self, se, ae):
        if self.n_env[se, ae] > 0:
            n = self.n_env[se, ae]
            # R̄ᵉ(sᵉ,aᵉ), the mean of the shown rewards
            env = self.sum_env[se, ae] / n
            # βᵉ √(g(N(sᵉ)) / N(sᵉ,aᵉ))
            return env + self.beta_e * self.bonus(self.g(self.n_of_env_state(se)), n)
        # R_min: r_min in the place of R̄ᵉ and its bonus, N(sᵉ,aᵉ) = 0
        return self.r_min

    def monitor_term(self, sm, am):
        n = self.n_mon[sm, am]
        # R̄ᵐ(sᵐ,aᵐ)
        mon = self.sum_mon[sm, am] / n
        # βᵐ √(g(N(sᵐ)) / N(sᵐ,aᵐ))
        return mon + self.beta_m * self.bonus(self.g(self.n_of_mon_state(sm)), n)

    def own_term(self, s, a):
        # β √(g(N(s)) / N(s,a))
        return self.beta * self.bonus(self.g(self.n_of_state(s)), self.n_joint[s, a])

    def r_opt(self, se, sm, ae, am):
        own = self.own_term(self.state(se, sm), self.action(ae, am))
        # R_opt(s,a)
        return self.environment_term(se, ae) + self.monitor_term(sm, am) + own

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


# ---- the incremental planner ---------------------------------------------------------------------

GROWN = 0.1  # φ
PRECISION = 1e-6
LEAST = 1e-12
FIRST = LEAST * 2**63
LINKS = 16


class Agenda:
    """States that wait: bucket b holds priorities whose exponent is that of LEAST and b more."""

    def __init__(self):
        self.buckets = defaultdict(deque)
        self.bucket_of = {}

    def put(self, state, priority):
        if priority <= LEAST:
            return
        bucket = min(math.frexp(priority)[1] - math.frexp(LEAST)[1], 63)
        if state in self.bucket_of:
            if self.bucket_of[state] >= bucket:
                return
            self.buckets[self.bucket_of[state]].remove(state)
        self.buckets[bucket].append(state)
        self.bucket_of[state] = bucket

    def take(self):
        bucket = max(b for b, states in self.buckets.items() if states)
        state = self.buckets[bucket].popleft()
        del self.bucket_of[state]
        return state

    def __bool__(self):
        return bool(self.bucket_of)


class Plan:
    """Values in force, what waits, and the backups that were earned."""

    def __init__(self, initial):
        self.v = defaultdict(lambda: float(initial))
        self.waiting = Agenda()
        self.credit = 0

    def put_in_force(self, state, value):
        """Put a value in force if the old one is off; return by how much."""
        change = abs(value - self.v[state])
        if change <= max(LEAST, PRECISION * max(abs(value), abs(self.v[state]))):
            return 0.0
        self.v[state] = value
        return change

    def pass_on(self, predecessors, change):
        for state in reversed(predecessors):  # the newest first
            self.waiting.put(state, change)
        self.credit -= len(predecessors) // LINKS


class IncrementalMonitoredMBIEEBOracle(MonitoredMBIEEBOracle):
    """Monitored MBIE-EB whose plans are repaired where something has changed."""

    def __init__(self, shape, r_min, **settings):
        super().__init__(shape, r_min, **settings)
        self.outcomes = defaultdict(list)  # (s,a) -> s′ in the order in which they were met
        self.predecessors = defaultdict(list)  # s′ -> s ≠ s′, in the order in which they were met
        self.met = []  # s in the order in which they were first visited
        self.env_in_force, self.mon_in_force = {}, {}  # terms of R_opt
        self.env_counts, self.mon_counts = {}, {}  # the counts they rest on
        self.opt, self.obs = self.plans()

    def plans(self):
        return Plan(self.q_opt_init), Plan(self.q_obs_init)

    def update(self, se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated):
        super().update(se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated)
        s, a, s2 = self.state(se, sm), self.action(ae, am), self.state(next_se, next_sm)
        if s2 not in self.outcomes[s, a]:
            self.outcomes[s, a].append(s2)
        if s2 != s and s not in self.predecessors[s2]:
            self.predecessors[s2].append(s)
        if s not in self.met:
            self.met.append(s)
        self.let_wait(s, se, sm, ae, am, reward is not None)
        for plan in (self.opt, self.obs):
            plan.credit += self.backups

    def let_wait(self, s, se, sm, ae, am, shown):
        of_env, of_mon = self.renew_environment(se, ae), self.renew_monitor(sm, am)
        shown_first = shown and self.n_env[se, ae] == 1
        self.opt.waiting.put(s, FIRST)
        for other in self.met_with(se):
            first = shown_first and self.plans_after_sight(other, ae)
            self.opt.waiting.put(other, FIRST if first else of_env)
        for other in self.met:
            if other % self.n_sm == sm:
                self.opt.waiting.put(other, of_mon)
        self.obs.waiting.put(s, FIRST)
        if shown_first:
            for other in self.met_with(se):
                self.obs.waiting.put(other, FIRST)

    def met_with(self, se):
        """The states of sᵉ that were visited, in order."""
        return [s for s in range(se * self.n_sm, (se + 1) * self.n_sm) if s in self.met]

    def plans_after_sight(self, s, ae):
        """Whether pairs of s are planned only since the reward of (sᵉ,aᵉ) was shown."""
        del s, ae
        return False

    def renew_environment(self, se, ae):
        now = {(se, b): self.n_env[se, b] for b in range(self.n_ae)}
        now[se] = self.n_of_env_state(se)
        then = self.env_counts
        if (se, ae) in then and all(now[x] <= (1 + GROWN) * then[x] for x in ((se, ae), se)):
            return 0.0
        then |= now
        return self.renewed(
            self.env_in_force, {(se, b): self.environment_term(se, b) for b in range(self.n_ae)}
        )

    def renew_monitor(self, sm, am):
        tried = [b for b in range(self.n_am) if self.n_mon[sm, b] > 0]
        now = {(sm, b): self.n_mon[sm, b] for b in tried} | {sm: self.n_of_mon_state(sm)}
        then = self.mon_counts
        if (sm, am) in then and all(now[x] <= (1 + GROWN) * then[x] for x in ((sm, am), sm)):
            return 0.0
        then |= now
        return self.renewed(self.mon_in_force, {(sm, b): self.monitor_term(sm, b) for b in tried})

    def renewed(self, in_force, terms):
        """Put terms in force; return the largest change."""
        change = max(abs(value - in_force.get(key, 0.0)) for key, value in terms.items())
        in_force |= terms
        return change

    def planned(self, s, a):
        return self.n_joint[s, a] > 0

    def r_in_force(self, s, a):
        shared = self.env_in_force[s // self.n_sm, a // self.n_am]
        shared += self.mon_in_force[s % self.n_sm, a % self.n_am]
        return self.own_term(s, a) + shared

    def r_to_observe(self, s, a):
        return self.r_obs(s // self.n_sm, s % self.n_sm, a // self.n_am, a % self.n_am)

    def begin_episode(self):
        self.k += 1
        self.observing = self.observes()
        self.repair(self.opt, self.q_opt, self.planned, self.r_in_force, True)
        if self.observing:
            self.repair(self.obs, self.q_obs, self.planned, self.r_to_observe, False)
            self.kappa += 1
        return self.observing

    def repair(self, plan, q, planned, reward, termination):
        while plan.credit > 0 and plan.waiting:
            s = plan.waiting.take()
            plan.credit -= 1
            # Q(s,a) = apart + back · v(s)
            apart, back = {}, {}
            for a in range(self.n_ae * self.n_am):
                apart[a], back[a] = q[s, a], 0.0
                if planned(s, a):
                    apart[a] = reward(s, a)
                    for s2 in self.outcomes[s, a]:
                        n = self.n_successor[s, a, s2]
                        if termination:
                            n -= self.n_ended[s, a, s2]
                        weight = self.gamma * n / self.n_joint[s, a]
                        if s2 == s:
                            back[a] += weight
                        else:
                            apart[a] += weight * plan.v[s2]
            # the v(s) that solves v(s) = max_a apart + back · v(s)
            change = plan.put_in_force(s, max(apart[a] / (1 - back[a]) for a in apart))
            if change > 0:
                plan.pass_on(self.predecessors[s], change)
            for a in apart:
                if planned(s, a):
                    q[s, a] = apart[a] + back[a] * plan.v[s]
        plan.credit = min(plan.credit, 0)


class IncrementalPessimisticMBIEEBOracle(IncrementalMonitoredMBIEEBOracle):
    """Pessimistic MBIE-EB whose plan is repaired: there is nothing to observe for."""

    def __init__(self, shape, r_min, *, q_opt_init=50.0, **settings):
        super().__init__(shape, r_min, q_opt_init=q_opt_init, **settings)

    def observes(self):
        return False


class IncrementalMBIEEBOracle(IncrementalPessimisticMBIEEBOracle):
    """MBIE-EB whose plan is repaired: pinned until a reward was shown."""

    def planned(self, s, a):
        return super().planned(s, a) and self.n_env[s // self.n_sm, a // self.n_am] > 0

    def plans_after_sight(self, s, ae):
        return any(self.n_joint[s, self.action(ae, am)] > 0 for am in range(self.n_am))


class IncrementalRMaxOracle(IncrementalMonitoredMBIEEBOracle):
    """R-max whose plans are repaired; the second plan is the one that it explores with."""

    def __init__(self, shape, r_min, *, r_max, m=80, q_init=None, gamma=0.99, **settings):
        worst, best = r_min / (1 - gamma), r_max / (1 - gamma) if q_init is None else q_init
        super().__init__(
            shape, r_min, gamma=gamma, q_opt_init=worst, q_obs_init=best, beta_e=0.0, beta_m=0.0,
            **settings,
        )  # fmt: skip
        self.m = m

    @property
    def q(self):
        return self.q_obs

    def let_wait(self, s, se, sm, ae, am, shown):
        of_env, of_mon = self.renew_environment(se, ae), self.renew_monitor(sm, am)
        for plan in (self.opt, self.obs):
            plan.waiting.put(s, FIRST)
            for other in self.met_with(se):
                plan.waiting.put(other, of_env)
            for other in self.met:
                if other % self.n_sm == sm:
                    plan.waiting.put(other, of_mon)

    def own_term(self, s, a):
        return 0.0

    def known(self, s, a):
        return self.n_joint[s, a] >= self.m

    def begin_episode(self):
        self.repair(self.obs, self.q_obs, self.known, self.r_in_force, True)
        self.repair(self.opt, self.q_opt, self.planned, self.r_in_force, True)
        return False

    def greedy_set(self, se, sm):
        self.observing = True
        return super().greedy_set(se, sm)


class IncrementalKnownMonitorOracle(KnownMonitorOracle):
    """Monitored MBIE-EB with a known monitor whose plans are repaired: sᵉ wait, not s."""

    def __init__(self, shape, r_min, *monitor, **settings):
        super().__init__(shape, r_min, *monitor, **settings)
        self.outcomes = defaultdict(list)  # (sᵉ,aᵉ) -> s′ᵉ in the order in which they were met
        self.predecessors = defaultdict(list)  # s′ᵉ -> sᵉ ≠ s′ᵉ, likewise
        self.opt, self.obs = Plan(self.q_opt_init), Plan(self.q_obs_init)

    def update(self, se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated):
        super().update(se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated)
        if next_se not in self.outcomes[se, ae]:
            self.outcomes[se, ae].append(next_se)
        if next_se != se and se not in self.predecessors[next_se]:
            self.predecessors[next_se].append(se)
        for plan in (self.opt, self.obs):
            plan.waiting.put(se, FIRST)
            plan.credit += self.backups

    def begin_episode(self):
        self.k += 1
        self.observing = self.observes()
        self.repair(self.opt, self.q_opt, self.r_opt, True)
        if self.observing:
            self.repair(self.obs, self.q_obs, self.r_obs, False)
            self.kappa += 1
        return self.observing

    def expected(self, plan, se, ae, sm, am, next_se):
        """Σ pᵐ(s′ᵐ) v(s′ᵉ, s′ᵐ)"""
        total = 0.0
        for sm2, chance in enumerate(self.monitor_step(se, ae, sm, am)):
            total += float(chance) * plan.v[self.state(next_se, sm2)]
        return total

    def repair(self, plan, q, reward, termination):
        while plan.credit > 0 and plan.waiting:
            se = plan.waiting.take()
            plan.credit -= self.n_sm
            for sm in range(self.n_sm):
                for ae in range(self.n_ae):
                    for am in range(self.n_am):
                        if self.n_visits[se, ae] == 0:
                            continue
                        future = 0.0
                        for se2 in self.outcomes[se, ae]:
                            n = self.n_successor[se, ae, se2]
                            if termination:
                                n -= self.n_ended[se, ae, se2]
                            weight = self.gamma * n / self.n_visits[se, ae]
                            future += weight * self.expected(plan, se, ae, sm, am, se2)
                        pair = self.state(se, sm), self.action(ae, am)
                        q[pair] = reward(se, sm, ae, am) + future
            change = 0.0
            for sm in range(self.n_sm):
                s = self.state(se, sm)
                change = max(change, plan.put_in_force(s, max(q[s].tolist())))
            if change > 0:
                if any(se in self.outcomes[se, ae] for ae in range(self.n_ae)):
                    plan.waiting.put(se, change)
                plan.pass_on(self.predecessors[se], change)
        plan.credit = min(plan.credit, 0)
