"""A plain-Python oracle of Factored MBIE-EB, with the monitor unknown and with it known.

It follows docs/algorithms/factored-mbie-eb.md and nothing else, and is deliberately unoptimised:
raw counts in dictionaries, every mean, frequency, bound and verdict recomputed from them after
every step, plain loops. The tests compare the compiled agent with it. numpy only holds the values.

Nothing random happens here: the caller picks an action out of `act` and reports what happened to
`update`. A time limit is not a termination: report such a step with `terminated=False` and begin
the next episode. x = (sᵉ,aᵉ), y = (sᵐ,aᵐ), and a cell is c = (x, y).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from functools import wraps

import numpy as np

TIE = 1e-10
RULED_OUT = -1e300
ROUGH, FINE = 1e-4, 1e-9
LIKELY, POSSIBLE, OPTIMIZE = 1, 2, 3
ENOUGH = 5_000  # visits from which on a cell speaks for itself


def until_counted(method):
    """Remember what a method returned until something is counted."""

    @wraps(method)
    def remembered(self, *args):
        key = method.__name__, args
        if key not in self.memory:
            self.memory[key] = method(self, *args)
        return self.memory[key]

    return remembered


class FactoredOracle:
    """Factored MBIE-EB.

    `given` is (step, reward, shown) if the monitor is known: step(x, y) gives the chances of the
    next sᵐ, reward(y) is rᵐ, shown(c) is P(shown|c).
    """

    def __init__(self, shape, r_min, *, given=None, **parameters):
        self.n_se, self.n_sm, self.n_ae, self.n_am = (int(n) for n in shape)
        self.__dict__.update(parameters)
        self.r_min, self.given = r_min, given
        self.memory = {}
        self.typical = min(max(self.typical, r_min), self.r_max)
        self.xs = [(se, ae) for se in range(self.n_se) for ae in range(self.n_ae)]
        self.ys = [(sm, am) for sm in range(self.n_sm) for am in range(self.n_am)]
        self.cells = [(x, y) for x in self.xs for y in self.ys]
        self.states = [(se, sm) for se in range(self.n_se) for sm in range(self.n_sm)]

        self.moves = defaultdict(Counter)  # c -> s′ -> visits
        self.moves_ended = defaultdict(Counter)  # those of them that ended
        self.first_moves = defaultdict(list)  # c -> s′ᵐ of its first two visits
        self.met = defaultdict(Counter)  # x -> s′ᵉ -> visits
        self.met_ended = defaultdict(Counter)  # those of them that ended
        self.rewards = defaultdict(list)  # (x, s′ᵉ) -> rewards shown
        self.monitor_rewards = defaultdict(list)  # y -> rᵐ
        self.n_shown = Counter()  # y -> rewards shown
        self.again = defaultdict(list)  # y -> shown?, on visits of outcomes seen before
        self.retries = defaultdict(list)  # bin -> new outcome?, of each try but a pair's first
        self.evidence_c, self.evidence_x = Counter(), Counter()
        self.odds = 0.0  # Λ: log odds that the monitor is set in its ways
        self.starts = Counter()  # s -> episodes that began there

        self.k = 0  # episodes begun
        self.done = 0  # D: those of them that were to optimize
        self.idle = 0  # episodes since the last news, this one included
        self.since = 0  # steps since the last plan
        self.quiet = 0  # q: steps since the last news
        self.length = 0  # steps of this episode
        self.news = False  # since the last plan
        self.phase = 0
        self.of_net = self.at_start = False
        self.unresolved = dict.fromkeys(self.xs, ())  # for which plans
        self.abandoned = {}  # outcomes without a sight -> plans that gave them up
        self.aim_x, self.aim_y = set(), set()

        worst = r_min / (1 - self.gamma)
        self.v_low = dict.fromkeys(self.states, worst)
        pairs = (self.n_se * self.n_sm, self.n_ae * self.n_am)
        self.q_low = np.full(pairs, worst)
        self.q_hope = np.full(pairs, self.r_max / (1 - self.gamma))
        self.q_obs = np.zeros(pairs)
        self.q_net = np.full(pairs, 1 / (1 - self.gamma))

    def index(self, c):
        """Where the value of a cell stands in a table."""
        ((se, ae), (sm, am)) = c
        return se * self.n_sm + sm, ae * self.n_am + am

    # ---- what is learnt ---------------------------------------------------------------------

    @until_counted
    def n_c(self, c):
        return sum(self.moves[c].values())

    @until_counted
    def n_x(self, x):
        return sum(self.met[x].values())

    def n_y(self, y):
        return len(self.monitor_rewards[y])

    @until_counted
    def alone(self, x):
        """Whether all cells of x are exceptions."""
        return not self.factored or self.evidence_x[x] > self.evidence

    @until_counted
    def own(self, c):
        """Whether a cell is an exception."""
        return self.alone(c[0]) or self.evidence_c[c] > self.evidence

    @until_counted
    def pool(self, y):
        """How often y led to each s′ᵐ in cells that are no exceptions."""
        found = Counter()
        for x in self.xs:
            if (x, y) in self.moves and not self.own((x, y)):
                for (_, sm2), n in self.moves[x, y].items():
                    found[sm2] += n
        return found

    @until_counted
    def monitor_step(self, x, y):
        """P̄ᵐ(·|y), or the pᵐ that was given; empty if nothing is known."""
        if self.given:
            return {sm2: p for sm2, p in enumerate(self.given[0](x, y)) if p > 0}
        pool = self.pool(y)
        return {sm2: n / sum(pool.values()) for sm2, n in pool.items() if n > 0}

    def fractions(self, counts, sm2):
        """How a monitor that is set in its ways, and one that moves at random, would move so."""
        k, total = counts[sm2], sum(counts.values())
        return (k + 0.5 / self.n_sm) / (total + 0.5), (k + 1) / (total + self.n_sm)

    def foretold(self, counts, sm2):
        w = 1 / (1 + math.exp(-self.odds))
        set_in_its_ways, at_random = self.fractions(counts, sm2)
        return w * set_in_its_ways + (1 - w) * at_random

    def weigh(self, c, s2):
        """ln(g/f) of one step, before it is counted; Λ is learnt from it."""
        x, y = c
        se2, sm2 = s2
        # If the outcome was never met, P̄ᵉ is taken for 1
        of_env = self.met[x][se2] / self.n_x(x) if self.met[x][se2] else 1.0
        others = Counter(self.pool(y))
        if not self.own(c):
            for (_, moved), n in self.moves[c].items():
                others[moved] -= n
        m = self.foretold(others, sm2)
        if self.n_c(c) < 50:
            vote = Counter()
            for (_, y2), first in self.first_moves.items():
                if y2 == y:
                    vote.update(first)
            m = max(m, self.foretold(vote, sm2))
        set_in_its_ways, at_random = self.fractions(others, sm2)
        self.odds = min(max(self.odds + math.log(set_in_its_ways / at_random), -20), 20)
        f = of_env * m
        b = of_env * (m + 1 / self.n_sm) / 2
        g = (self.moves[c][s2] + b) / (self.n_c(c) + 1)
        return math.log(g / f)

    def seen(self, x):
        return [se2 for se2 in self.met[x] if self.rewards[x, se2]]

    def mean(self, x, se2):
        # r̄(x,s′ᵉ)
        return sum(self.rewards[x, se2]) / len(self.rewards[x, se2])

    @until_counted
    def mean_of_seen(self, x):
        """R̄ᵉ(x), over the outcomes that were seen, weighed by their visits; else r_min."""
        seen = self.seen(x)
        if not seen:
            return self.r_min
        n = sum(self.met[x][se2] for se2 in seen)
        return sum(self.met[x][se2] * self.mean(x, se2) for se2 in seen) / n

    @until_counted
    def of_monitor(self, y):
        if self.given:
            return self.given[1](y)
        return sum(self.monitor_rewards[y]) / self.n_y(y)

    @until_counted
    def needed(self):
        """How many sights an outcome needs."""
        squares = freedom = 0
        for (x, se2), rewards in self.rewards.items():
            if rewards:
                squares += sum((r - self.mean(x, se2)) ** 2 for r in rewards)
                freedom += len(rewards) - 1
        if squares <= 1e-12:
            return 1
        variance = squares / freedom
        return 1 + math.ceil(math.log(self.k + 2) * variance / self.precision**2)

    @until_counted
    def chance(self, c):
        """ρ̂: how likely the reward is shown."""
        if self.given:
            return self.given[2](c)
        if not self.pool_sights:
            return 1 / (self.n_c(c) + 2)
        return (self.n_shown[c[1]] + 1) / (self.n_y(c[1]) + 2)

    @until_counted
    def weight(self, c):
        """−ln(1 − ρ_low): how much a try in vain says."""
        if self.given:
            return -math.log(1 - min(self.given[2](c), 0.999))
        if not self.pool_sights:
            return -math.log(1 - 0.05)
        n, hits, z = len(self.again[c[1]]), sum(self.again[c[1]]), self.caution
        if hits == 0:
            return 0.0
        # Wilson's lower bound
        p = hits / n
        middle = p + z * z / (2 * n)
        spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low = max(0.0, (middle - spread) / (1 + z * z / n))
        return -math.log(1 - min(low, self.rho_cap))

    @until_counted
    def effective(self, x):
        """e(x): how often x was tried in vain, effectively."""
        return sum(self.n_c((x, y)) * self.weight((x, y)) for y in self.ys)

    @until_counted
    def given_up(self, x, se2, plan):
        """Whether a plan takes it that an outcome without a sight is never shown."""
        if self.given and all(self.given[2]((x, y)) == 0 for y in self.ys):
            return True
        share = self.effective(x) * self.met[x][se2] / self.n_x(x)
        most = self.give_up * (self.insist if plan == LIKELY else 1)
        return share > most and self.met[x][se2] > self.revive * math.sqrt(self.done)

    def is_hoped_for(self, x, se2):
        """Whether the possible plan hopes for the reward of an outcome, never seen so far."""
        return not self.rewards[x, se2] and not self.given_up(x, se2, POSSIBLE)

    @until_counted
    def is_unresolved(self, x, plan):
        needed = self.needed()
        return any(
            len(self.rewards[x, se2]) < needed
            and not (not self.rewards[x, se2] and self.given_up(x, se2, plan))
            for se2 in self.met[x]
        )

    @until_counted
    def omega(self, x):
        """ω: how likely the next try of x has an outcome never met."""
        if not self.novelty or self.n_x(x) == 0:
            return 0.0
        bin_of = min(self.n_x(x).bit_length() - 1, 23)
        omega = 1.0
        for b in range(bin_of + 1):
            omega = (sum(self.retries[b]) + omega / 2) / (len(self.retries[b]) + 1)
        return omega * 2**bin_of / self.n_x(x)

    @until_counted
    def is_untried(self, c):
        x, y = c
        if self.n_c(c) > 0:
            return False
        return self.n_x(x) == 0 or self.alone(x) or not self.monitor_step(x, y)

    @until_counted
    def only_y_is_untried(self, c):
        return self.is_untried(c) and self.n_x(c[0]) > 0 and not self.alone(c[0])

    def is_open(self, c):
        """Whether to the plan that observes only y is untried, and nobody aims at it."""
        return self.only_y_is_untried(c) and self.aim and c[1] not in self.aim_y

    def unmoved(self, c):
        """What follows where x leads if the monitor stays as it is, as `future` has it."""
        x, (sm, _) = c
        go_on, ended = {}, 0.0
        for se2, n in self.met[x].items():
            w = self.gamma * (n - self.met_ended[x][se2]) / self.n_x(x)
            ended += self.gamma * self.met_ended[x][se2] / self.n_x(x)
            if w > 0:
                go_on[se2, sm] = w
        return go_on, ended

    @until_counted
    def future(self, c):
        """γ·(chance to go on at s′) for each s′, and γ·(chance of an ending)."""
        x, y = c
        go_on, ended = Counter(), 0.0
        by_itself = self.n_c(c) >= ENOUGH and not self.given
        if by_itself or (self.own(c) and self.n_c(c) > 0):
            for s2, n in self.moves[c].items():
                go_on[s2] = self.gamma * (n - self.moves_ended[c][s2]) / self.n_c(c)
                ended += self.gamma * self.moves_ended[c][s2] / self.n_c(c)
        else:
            step = self.monitor_step(x, y)
            for se2, n in self.met[x].items():
                w = self.gamma * (n - self.met_ended[x][se2]) / self.n_x(x)
                ended += self.gamma * self.met_ended[x][se2] / self.n_x(x)
                for sm2, p in step.items():
                    go_on[se2, sm2] = w * p
        return {s2: w for s2, w in go_on.items() if w > 0}, ended

    # ---- what is planned --------------------------------------------------------------------

    def sweep(
        self, reward, v, q, *, sweeps, tolerance=ROUGH, hoped=None, final=False, observing=False
    ):
        """Improve v and write q with it, state by state; no state is ever passed over.

        `hoped` is what follows an outcome never met. `final`: outcomes that are hoped for have
        no future.
        """
        model, self.shut = {}, set()  # what has no future but a value
        scale = self.gamma_obs / self.gamma if observing else 1.0
        for c in self.cells:
            (se, _), (sm, _) = c
            if observing and self.is_open(c):
                go_on, ended = self.unmoved(c)
            elif self.is_untried(c):
                model[c] = ([], 0.0, 0.0, 0.0)
                self.shut.add(c)
                continue
            else:
                go_on, ended = self.future(c)
            omega = self.omega(c[0]) if hoped is not None else 0.0
            if final:
                go_on = {s2: w for s2, w in go_on.items() if not self.is_hoped_for(c[0], s2[0])}
            keep = (1 - omega) * scale
            model[c] = (
                [(s2, keep * w) for s2, w in go_on.items()],
                keep * ended,
                omega * self.gamma * (hoped or 0.0),
                keep * go_on.get((se, sm), 0.0),
            )
        n_starts = sum(self.starts.values())
        size = 1.0
        for i in range(sweeps):
            # after an ending the next episode begins
            restart = 0.0
            if observing and n_starts:
                restart = sum(n * v[s] for s, n in self.starts.items()) / n_starts
            change = 0.0
            for se in range(self.n_se) if i % 2 == 0 else reversed(range(self.n_se)):
                new = {}
                for sm in range(self.n_sm):
                    s = (se, sm)
                    new[s] = RULED_OUT
                    for ae in range(self.n_ae):
                        for am in range(self.n_am):
                            c = (se, ae), (sm, am)
                            go_on, ended, added, back = model[c]
                            value = reward[c] + added + ended * restart
                            for s2, w in go_on:
                                value += w * v[s2]
                            q[self.index(c)] = value
                            # a step back to the same state is solved for
                            new[s] = max(new[s], (value - back * v[s]) / (1 - back))
                for s, value in new.items():
                    change = max(change, abs(value - v[s]))
                    if value > -1e150:  # what is ruled out, or leads to it, does not count
                        size = max(size, abs(value))
                    v[s] = value
            self.n_sweeps = i + 1
            if change <= tolerance * size:
                return

    def plan(self):
        plans = LIKELY, POSSIBLE
        self.unresolved = {x: {p for p in plans if self.is_unresolved(x, p)} for x in self.xs}
        self.abandoned = {
            (x, se2): {p for p in plans if self.given_up(x, se2, p)}
            for x in self.xs
            for se2 in self.met[x]
            if not self.rewards[x, se2]
        }
        self.since, self.news = 0, False
        self.phase = LIKELY
        if self.likely_first:
            reward = {c: self.hoped(c, LIKELY) for c in self.cells}
            v = dict(self.v_low)
            self.sweep(reward, v, self.q_hope, sweeps=self.sweeps, hoped=self.r_max)
        if not self.likely_first or not self.take_aim():
            self.phase = POSSIBLE
            best = self.r_max / (1 - self.gamma)
            reward = {c: self.hoped(c, POSSIBLE) for c in self.cells}
            v, most = dict(self.v_low), 8 * self.sweeps
            self.sweep(reward, v, self.q_hope, sweeps=most, hoped=best, final=True)
            if not self.take_aim():
                self.phase = OPTIMIZE
        if self.phase < OPTIMIZE or not self.stop:
            reward = {c: self.lure(c) for c in self.cells}
            v = dict.fromkeys(self.states, 0.0)
            self.sweep(reward, v, self.q_obs, sweeps=self.sweeps, observing=True)

    def plan_low(self, sweeps, v):
        """Go on with the low plan, from v."""
        reward = {}
        for c in self.cells:
            reward[c] = self.r_min / (1 - self.gamma) - 1
            if not self.is_untried(c):
                reward[c] = self.mean_of_seen(c[0]) + self.of_monitor(c[1])
        self.sweep(reward, v, self.q_low, sweeps=sweeps, tolerance=FINE)

    def hoped(self, c, plan):
        """Rewards of the likely and of the possible plan."""
        x, y = c
        if self.is_untried(c):
            if plan == POSSIBLE:
                return self.r_max / (1 - self.gamma)
            return RULED_OUT if self.only_y_is_untried(c) else self.r_max
        of_env = 0.0
        for se2, n in self.met[x].items():
            if self.rewards[x, se2]:
                reward = self.mean(x, se2)
            elif self.given_up(x, se2, plan):
                reward = self.mean_of_seen(x)
            elif plan == LIKELY:
                ended = self.met_ended[x][se2] / n
                reward = ended * self.r_max + (1 - ended) * self.typical
                share = self.effective(x) * n / self.n_x(x)
                reward -= self.unseen_cost * (1 + math.exp(share - self.trust))
            else:
                ended = self.met_ended[x][se2] / n
                reward = ended * self.r_max + (1 - ended) * self.r_max / (1 - self.gamma)
            of_env += reward * n / self.n_x(x)
        return of_env + self.of_monitor(y)

    def take_aim(self):
        """Follow the best hopeful policy; whether anything on its way is not known."""
        self.aim_x, self.aim_y = set(), set()
        reached = {s for s, n in self.starts.items() if n}
        waiting = list(reached)
        while waiting:
            se, sm = waiting.pop()
            row = self.q_hope[se * self.n_sm + sm]
            best = 0
            for a in range(1, len(row)):
                if row[a] > row[best] + TIE:
                    best = a
            c = x, y = (se, best // self.n_am), (sm, best % self.n_am)
            if self.is_untried(c):
                self.aim_x.add(x)
                self.aim_y.add(y)
                continue
            if self.phase in self.unresolved[x]:
                self.aim_x.add(x)
            for s2 in self.future(c)[0]:
                if s2 not in reached:
                    reached.add(s2)
                    waiting.append(s2)
        return bool(self.aim_x)

    def lure(self, c):
        """Rewards of the plan that observes."""
        x = c[0]
        if self.is_untried(c) and not self.is_open(c):
            return 1 / (1 - self.gamma_obs) + self.chance(c)
        worth = 0.0
        if x in self.aim_x or not self.aim:
            if LIKELY in self.unresolved[x]:
                ending = sum(self.met_ended[x].values()) > 0
                worth = 1.0 if ending or self.phase == POSSIBLE else self.path
        elif POSSIBLE in self.unresolved[x]:
            odds = min(self.effective(x) - self.trust, 700)
            worth = self.aside / (1 + math.exp(odds))
        if self.is_open(c):
            return max(worth, self.aside) * self.chance(c)
        w = self.n_c(c) * self.weight(c)
        if w > 2:
            worth /= w - 1
        return worth * self.chance(c) + self.aside * self.omega(x)

    # ---- the net ----------------------------------------------------------------------------

    def growth(self, n):
        # g(N) = 1 + x·ln²x with x = ln N, g(1) = 1
        return 1.0 if n == 1 else 1 + math.log(n) * math.log(math.log(n)) ** 2

    def plan_net(self):
        n_s = Counter()
        for (x, y), moves in self.moves.items():
            n_s[x[0], y[0]] += sum(moves.values())
        reward = {}
        for c in self.cells:
            n = self.n_c(c)
            if n > 0:
                (se, _), (sm, _) = c
                g = self.growth(n_s[se, sm])
                reward[c] = self.beta_obs * math.sqrt(g / n)
                if not self.seen(c[0]):
                    reward[c] += 1 - math.exp(-self.beta_kl * g / n)
        for _ in range(50):
            v = self.q_net.max(axis=1).tolist()
            for c, value in reward.items():
                for (se2, sm2), n in self.moves[c].items():
                    n -= self.moves_ended[c][se2, sm2]  # endings have no future
                    value += self.gamma * n / self.n_c(c) * v[se2 * self.n_sm + sm2]
                self.q_net[self.index(c)] = value

    def passes(self, k, power):
        """Whether k to this power passes a whole number."""
        return power > 0 and math.floor(k**power) > math.floor((k - 1) ** power)

    # ---- verbs ------------------------------------------------------------------------------

    def begin_episode(self):
        self.memory.clear()
        self.k += 1
        self.at_start = True
        self.idle += 1
        self.plan_low(1 + min(self.length, 400) // 8, self.v_low)
        self.length = 0
        if self.news or self.phase == 0 or self.since >= self.patience():
            self.plan()
        due = self.passes(self.k, self.net)
        if self.phase == OPTIMIZE:
            self.done += 1
            self.memory.clear()
            n_tried = sum(self.n_x(x) > 0 for x in self.xs)
            if sum(self.alone(x) for x in self.xs) > 1 + 0.1 * n_tried:
                due = due or self.done % 2 == 0
            else:
                due = due or self.passes(self.done, self.net_after)
        elif self.idle > self.stalled:
            due = due or self.idle % 2 == 0
        self.of_net = due and self.net > 0
        if self.of_net:
            self.plan_net()
        return self.of_net or self.phase < OPTIMIZE or not self.stop

    def patience(self):
        """For how many steps a plan is followed without news."""
        if self.phase == OPTIMIZE:
            return 50 + self.done // 10
        return max(self.replan, self.quiet // 10)

    def act(self, se, sm):
        """The actions that are tied for the best: {(aᵉ, aᵐ)}."""
        if self.at_start:
            self.at_start = False
            self.starts[se, sm] += 1
        row = self.acted_on()[se * self.n_sm + sm].tolist()
        best = max(row)
        return {divmod(a, self.n_am) for a, q in enumerate(row) if q >= best - TIE}

    def acted_on(self):
        """The table that this episode is greedy on."""
        if self.of_net:
            return self.q_net
        return self.q_hope if self.phase == OPTIMIZE and self.stop else self.q_obs

    def update(self, se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated):
        c = x, y = (se, ae), (sm, am)
        s2 = (next_se, next_sm)
        is_new = self.met[x][next_se] == 0
        news = is_new
        if self.factored and not self.given:
            before = self.alone(x), self.own(c)
            if self.n_y(y) > 0:
                ratio = self.weigh(c, s2)
                for evidence, key, n in (
                    (self.evidence_c, c, self.n_c(c)),
                    (self.evidence_x, x, self.n_x(x)),
                ):
                    evidence[key] = max(-3 - 2 * math.log(n + 1), evidence[key] + ratio)
                self.memory.clear()
            news = news or before != (self.alone(x), self.own(c))
            if len(self.first_moves[c]) < 2:
                self.first_moves[c].append(next_sm)
        if self.n_x(x) > 0:
            self.retries[min(self.n_x(x).bit_length() - 1, 23)].append(is_new)
        self.moves[c][s2] += 1
        self.moves_ended[c][s2] += terminated
        self.met[x][next_se] += 1
        self.met_ended[x][next_se] += terminated
        if not self.given:
            news = news or self.n_y(y) == 0
        self.monitor_rewards[y].append(monitor_reward)
        if self.rewards[x, next_se]:
            self.again[y].append(reward is not None)
        if reward is not None:
            news = news or not self.rewards[x, next_se]
            self.rewards[x, next_se].append(reward)
            self.n_shown[y] += 1
        self.memory.clear()

        self.since += 1
        self.quiet += 1
        self.length += 1
        if news:
            for y2 in self.ys:
                self.q_obs[self.index((x, y2))] = -1.0
            self.news = True
            self.idle = self.quiet = 0
        if self.replan == 0 or terminated or self.of_net:
            return
        if self.news:
            due = self.since >= min(12, self.patience())
        else:
            due = self.phase != OPTIMIZE and self.since >= self.patience()
        if due:
            self.plan()

    def test_policy(self):
        """Greedy actions by state: {(sᵉ, sᵐ): {(aᵉ, aᵐ)}}."""
        q = self.q_hope
        if self.pessimistic_test:
            self.plan_low(self.sweeps, dict(self.v_low))
            q = self.q_low
        return {
            (se, sm): {
                divmod(a, self.n_am)
                for a, value in enumerate(q[se * self.n_sm + sm].tolist())
                if value >= max(q[se * self.n_sm + sm].tolist()) - TIE
            }
            for se, sm in self.states
        }
