"""A plain-Python oracle of Factored MBIE-EB, with the monitor unknown and with it known.

It follows docs/algorithms/factored-mbie-eb-reference.md and nothing else, and is deliberately
unoptimised: raw counts in dictionaries, every mean, frequency, bound and verdict recomputed from
them at every plan, plain loops, and no place ever passed over. The tests compare the compiled agent
with it. numpy only holds the values.

Nothing random happens here: the caller picks an action out of `act` and reports what happened to
`update`. A time limit is not a termination: report such a step with `terminated=False` and begin
the next episode. x = (sᵉ,aᵉ), y = (sᵐ,aᵐ), and a cell is c = (x, y).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from functools import wraps
from typing import NamedTuple

import numpy as np

TIE = 1e-10
RULED_OUT = -1e300
ROUGH, FINE = 1e-4, 1e-9
LIKELY, POSSIBLE, OPTIMIZE = 1, 2, 3
LOW, OBSERVE, NET = "low", "observe", "net"
SMALL = 1e-9  # evidence that is so close is the same but for rounding


class Word(NamedTuple):
    """What the caller made of a plan. It is taken where rounding decides, and nowhere else."""

    kind: dict  # x -> kind
    plausible: dict  # x -> kind -> whether it is plausible


def remembered(method):
    """Remember what a method returned until something is counted, or a plan begins."""

    @wraps(method)
    def found(self, *args):
        key = method.__name__, args
        if key not in self.memory:
            self.memory[key] = method(self, *args)
        return self.memory[key]

    return found


class FactoredOracle:
    """Factored MBIE-EB.

    `given` is (step, reward, shown) if the monitor is known: step(x, y) gives the chances of the
    next sᵐ, reward(y) is rᵐ, shown(c) is P(shown|c).
    """

    def __init__(self, shape, r_min, *, given=None, **parameters):
        self.n_se, self.n_sm, self.n_ae, self.n_am = (int(n) for n in shape)
        self.p = type("Parameters", (), parameters)
        self.r_min, self.r_max, self.given = r_min, self.p.r_max, given
        self.p.typical = min(max(self.p.typical, r_min), self.r_max)
        # an episode may go on for ever, or end at once
        self.v_max = max(self.r_max, self.r_max / (1 - self.p.gamma))
        self.v_min = min(r_min, r_min / (1 - self.p.gamma))
        self.memory = {}
        self.xs = [(se, ae) for se in range(self.n_se) for ae in range(self.n_ae)]
        self.ys = [(sm, am) for sm in range(self.n_sm) for am in range(self.n_am)]
        self.cells = [(x, y) for x in self.xs for y in self.ys]
        self.states = [(se, sm) for se in range(self.n_se) for sm in range(self.n_sm)]

        self.moves = defaultdict(Counter)  # c -> s′ᵐ -> visits
        self.same = [(1 + 1 / self.n_sm) / 2]  # and, of each visit of a cell but its first,
        # the share of those before that went to the same s′ᵐ
        self.met = defaultdict(Counter)  # x -> s′ᵉ -> visits
        self.met_ended = defaultdict(Counter)  # those of them that ended
        self.rewards = defaultdict(list)  # (x, s′ᵉ) -> rewards shown
        self.monitor_rewards = defaultdict(list)  # y -> rᵐ
        self.n_shown = Counter()  # y -> rewards shown
        self.again = defaultdict(list)  # y -> shown?, on visits of outcomes seen before
        self.retries = defaultdict(list)  # bin -> new outcome?, of each try but a pair's first
        self.starts = Counter()  # s -> episodes that began there

        n_kinds = self.p.kinds or len(self.xs)
        self.members = [set() for _ in range(n_kinds)]  # kind -> tried pairs
        self.kind = {}  # x -> kind
        self.sorted_at = Counter()  # x -> n(x) when it was last sorted
        self.evidence = {}  # x -> kind -> L when x was last sorted, of kinds not empty since
        self.could_be = {}  # x -> plausible kinds, at the last plan
        if self.p.kinds == 0:
            self.kind = {x: i for i, x in enumerate(self.xs)}
            self.members = [{x} for x in self.xs]
        elif self.p.kinds == 1:
            self.kind = dict.fromkeys(self.xs, 0)

        self.k = 0  # episodes begun
        self.t = 0  # steps
        self.done = 0  # D
        self.idle = 0  # idle episodes since the last news
        self.since = 0  # steps since the last plan
        self.quiet = 0  # steps since the last news
        self.news = True  # since the last plan; there is at the very first
        self.looked = False  # or had news, in this episode
        self.phase = 0
        self.of_net = self.was_net = self.at_start = False
        self.certified = None
        self.unresolved = set()  # pairs, at the last plan
        self.weighty = set()  # cells whose weight was positive then
        self.abandoned = {}  # outcomes without a sight -> given up then?
        self.aim_x, self.aim_y = set(), set()

        self.v_low = dict.fromkeys(self.states, self.v_min)
        self.v_before = dict(self.v_low)  # as it was before the last plan
        self.word = None  # what the caller made of it, see Word
        pairs = (self.n_se * self.n_sm, self.n_ae * self.n_am)
        self.q_low = np.full(pairs, self.v_min)
        self.q_hope = np.full(pairs, self.v_max)
        self.q_obs = np.zeros(pairs)

    def index(self, c):
        """Where the value of a cell stands in a table."""
        ((se, ae), (sm, am)) = c
        return se * self.n_sm + sm, ae * self.n_am + am

    # ---- counts -----------------------------------------------------------------------------

    @remembered
    def n_c(self, c):
        return sum(self.moves[c].values())

    @remembered
    def n_x(self, x):
        return sum(self.met[x].values())

    def n_y(self, y):
        return len(self.monitor_rewards[y])

    def bin_of(self, x):
        return min(self.n_x(x).bit_length() - 1, 23)

    # ---- kinds ------------------------------------------------------------------------------

    @remembered
    def alpha(self):
        """The weight of the prior: how many moves it takes to know where the monitor goes."""
        f = sum(self.same) / len(self.same)
        return max(1.0, (1 - f) / max(f - 1 / self.n_sm, 1 / self.n_sm**2))

    def log_evidence(self, x, others):
        """L of x in a kind that has these other members."""
        alpha, total = self.alpha(), 0.0
        beta = alpha / self.n_sm
        for y in self.ys:
            m = self.moves[x, y]
            n = sum(m.values())
            if n == 0:
                continue
            big = Counter()
            for other in others:
                big.update(self.moves[other, y])
            all_of = sum(big.values())
            total += math.lgamma(all_of + alpha) - math.lgamma(all_of + n + alpha)
            for sm2 in range(self.n_sm):
                total += math.lgamma(big[sm2] + m[sm2] + beta) - math.lgamma(big[sm2] + beta)
        return total

    def sort(self, everything):
        for x in self.xs:
            n = self.n_x(x)
            if not (n > 1.1 * self.sorted_at[x] or (everything and n > 0)):
                continue
            self.sorted_at[x] = n
            own = self.kind[x]
            found = {
                kind: self.log_evidence(x, members - {x})
                for kind, members in enumerate(self.members)
                if members
            }
            alone = self.log_evidence(x, ())
            best, bar = max(found.values()), alone - self.p.evidence
            empty = [kind for kind, members in enumerate(self.members) if not members]
            if_none = empty[0] if empty and self.members[own] != {x} else own
            if found[own] == best >= bar:
                to = own
            elif best > bar:
                to = next(kind for kind in found if found[kind] == best)
            else:
                to = if_none
            # Where the last bits decide, the caller's word is taken.
            tied = {kind for kind in found if found[kind] >= max(best, bar) - SMALL}
            if best <= bar + SMALL:
                tied.add(if_none)
            if self.word is not None and self.word.kind[x] in tied:
                to = self.word.kind[x]
            found.setdefault(to, alone)
            self.evidence[x] = found
            self.members[own].discard(x)
            self.members[to].add(x)
            self.kind[x] = to
            if not self.members[own]:
                for of_other in self.evidence.values():
                    of_other.pop(own, None)

    def plausible(self, x):
        """The plausible kinds of a tried pair, in cyclic order from its own."""
        if self.given:
            return [0]
        return self.could_be.get(x, [self.kind[x]])

    def find_plausible(self, x):
        own, n = self.kind[x], len(self.members)

        def believed(kind):
            if kind not in self.evidence[x] or not self.members[kind]:
                return -math.inf
            return self.evidence[x][kind] + math.log(len(self.members[kind]))

        found, bar = [own], believed(own) - self.p.evidence
        for kind in ((own + i) % n for i in range(1, n)):
            is_plausible = believed(kind) > bar
            if self.word is not None and abs(believed(kind) - bar) <= SMALL:
                is_plausible = self.word.plausible[x][kind]
            if is_plausible:
                found.append(kind)
        return found

    @remembered
    def pool(self, kind, y):
        """How often y led to each s′ᵐ in a kind."""
        found = Counter()
        for x in self.xs:
            if self.kind.get(x) == kind:
                found.update(self.moves[x, y])
        return found

    @remembered
    def monitor_step(self, x, y, kind):
        """P̄ᵐ(·|y, kind), or the pᵐ that was given; if nothing is known, the monitor stays."""
        if self.given:
            return {sm2: p for sm2, p in enumerate(self.given[0](x, y)) if p > 0}
        pool = self.pool(kind, y)
        if not pool.total():
            return {y[0]: 1.0}
        return {sm2: n / pool.total() for sm2, n in pool.items() if n > 0}

    @remembered
    def is_untried(self, c):
        x, y = c
        if self.n_x(x) == 0:
            return True
        if self.given or self.n_c(c) > 0:
            return False
        return not self.pool(self.kind[x], y).total()

    @remembered
    def only_y_is_untried(self, c):
        """Whether x was tried and y never was."""
        return self.is_untried(c) and self.n_x(c[0]) > 0 and self.n_y(c[1]) == 0

    # ---- rewards ----------------------------------------------------------------------------

    def mean(self, x, se2):
        return sum(self.rewards[x, se2]) / len(self.rewards[x, se2])

    @remembered
    def mean_of_seen(self, x):
        """R̄ᵉ(x), over the outcomes that were seen, weighed by their visits; else r_min."""
        seen = [se2 for se2 in self.met[x] if self.rewards[x, se2]]
        if not seen:
            return self.r_min
        n = sum(self.met[x][se2] for se2 in seen)
        return sum(self.met[x][se2] * self.mean(x, se2) for se2 in seen) / n

    @remembered
    def of_monitor(self, y):
        """R̄ᵐ(y)."""
        if self.given:
            return self.given[1](y)
        return sum(self.monitor_rewards[y]) / self.n_y(y)

    @remembered
    def squares(self, x):
        """The squared deviations of the rewards of x from their means, and the repeats."""
        total = repeats = 0
        for se2 in self.met[x]:
            rewards = self.rewards[x, se2]
            if rewards:
                total += sum((r - self.mean(x, se2)) ** 2 for r in rewards)
                repeats += len(rewards) - 1
        return total, repeats

    @remembered
    def variance_of_all(self):
        each = [self.squares(x) for x in self.xs]
        return sum(total for total, _ in each) / max(1, sum(repeats for _, repeats in each))

    @remembered
    def error(self, x):
        total, repeats = self.squares(x)
        variance = (total + self.variance_of_all()) / (repeats + 1)
        if variance <= 1e-12:
            return 0.0
        n, of_all = self.n_x(x), 0.0
        for se2, visits in self.met[x].items():
            if self.rewards[x, se2]:
                of_all += (visits / n) ** 2 * variance / len(self.rewards[x, se2])
        return math.sqrt(of_all)

    @remembered
    def unsure(self, x, sm):
        """u(x, sᵐ)."""
        worth = []  # of each visit
        for se2, visits in self.met[x].items():
            r = self.mean(x, se2) if self.rewards[x, se2] else self.mean_of_seen(x)
            ended = self.met_ended[x][se2]
            worth += [r] * ended
            worth += [r + self.p.gamma * self.v_before[se2, sm]] * (visits - ended)
        mean = sum(worth) / len(worth)
        variance = sum((each - mean) ** 2 for each in worth) / len(worth)
        z = self.p.caution * math.sqrt(math.log(self.k + 2))
        return z * (self.error(x) + math.sqrt(variance / len(worth)))

    @remembered
    def omega(self, x):
        """ω: how likely the next try of x has an outcome never met."""
        if not self.p.novelty or self.n_x(x) == 0:
            return 0.0
        omega = 1.0
        for b in range(self.bin_of(x) + 1):
            omega = (sum(self.retries[b]) + omega / 2) / (len(self.retries[b]) + 1)
        return omega * 2 ** self.bin_of(x) / self.n_x(x)

    # ---- sights -----------------------------------------------------------------------------

    @remembered
    def chance(self, c):
        """ρ̂: how likely the reward is shown."""
        if self.given:
            return self.given[2](c)
        if not self.p.pool_sights:
            return 1 / (self.n_c(c) + 2)
        return (self.n_shown[c[1]] + 1) / (self.n_y(c[1]) + 2)

    @remembered
    def weight(self, c):
        """−ln(1 − ρ̲): how much a try in vain says."""
        if self.given:
            low = min(self.given[2](c), 0.999)
        elif not self.p.pool_sights:
            low = 0.05
        else:
            again = self.again[c[1]]
            low = min(sum(again) / (len(again) + 2), self.p.rho_cap)
        return -math.log(1 - low)

    @remembered
    def own_tries(self, x):
        return sum(self.n_c((x, y)) * self.weight((x, y)) for y in self.ys)

    @remembered
    def tries(self, x, se2):
        """The e of an outcome, and its visits."""
        leading = [other for other in self.xs if se2 in self.met[other]]
        if not self.p.places or any(self.rewards[other, se2] for other in leading):
            leading = [x]
        effective = sum(
            self.met[other][se2] / self.n_x(other) * self.own_tries(other) for other in leading
        )
        return effective, sum(self.met[other][se2] for other in leading)

    @remembered
    def is_given_up(self, x, se2):
        if self.given and all(self.given[2]((x, y)) == 0 for y in self.ys):
            return True
        effective, visits = self.tries(x, se2)
        more = math.log(1 + self.done)
        return effective > self.p.give_up + more and visits > self.p.revive * more

    @remembered
    def is_hoped_for(self, x, se2):
        return not self.rewards[x, se2] and not self.is_given_up(x, se2)

    @remembered
    def is_unresolved(self, x):
        if any(self.is_hoped_for(x, se2) for se2 in self.met[x]):
            return True
        bar = self.p.precision * (self.r_max - self.r_min)
        return math.sqrt(math.log(self.k + 2)) * self.error(x) > bar

    @remembered
    def hope(self, x):
        """How likely what was not seen of x can be seen; of a plan."""
        if self.n_x(x) == 0:
            return 0.5
        if self.given and all(self.given[2]((x, y)) == 0 for y in self.ys):
            return 0.0
        unseen = [se2 for se2 in self.met[x] if not self.rewards[x, se2]]
        hopes = [1 / (1 + math.exp(min(self.tries(x, se2)[0], 700))) for se2 in unseen]
        return max(hopes, default=0.0)

    # ---- rewards of plans -------------------------------------------------------------------

    def reward_of(self, c, plan):
        x, y = c
        if plan == NET:
            return 1 / (1 - self.p.gamma) if self.is_shut(c, plan) else 1 / (1 + self.n_c(c))
        if plan == OBSERVE:
            if self.is_shut(c, plan):
                return 1 / (1 - self.p.gamma) + self.chance(c)
            if x in self.unresolved and (x in self.aim_x or not self.p.aim):
                return self.chance(c) / (1 + self.n_c(c) * self.weight(c))
            return 0.0
        if plan == LOW:
            if self.is_untried(c):
                return self.v_min - 1
            return self.mean_of_seen(x) + self.of_monitor(y)
        if self.is_untried(c):
            if plan == POSSIBLE:
                return self.v_max
            return RULED_OUT if self.only_y_is_untried(c) else self.r_max
        reward = self.of_monitor(y) + self.unsure(x, y[0])
        for se2, visits in self.met[x].items():
            if self.rewards[x, se2]:
                r = self.mean(x, se2)
            elif self.is_given_up(x, se2):
                r = self.mean_of_seen(x)
            else:
                ended = self.met_ended[x][se2] / visits
                goes_on = self.p.typical if plan == LIKELY else self.v_max
                r = ended * self.r_max + (1 - ended) * goes_on
                if plan == LIKELY:
                    against = min(self.tries(x, se2)[0], 700)
                    r -= self.p.unseen_cost * (1 + math.exp(against))
            reward += visits / self.n_x(x) * r
        return reward

    def is_shut(self, c, plan):
        """Whether a plan takes a cell for untried."""
        return self.is_untried(c) and not (plan == OBSERVE and self.is_open(c))

    def is_open(self, c):
        """Whether the plan to observe takes a cell for tried though it was not."""
        return self.only_y_is_untried(c) and self.p.aim and c[1] not in self.aim_y

    # ---- plans ------------------------------------------------------------------------------

    def futures(self, c, plan):
        """What may follow: for each kind {s′: weight}, the weight of an ending, and what is added.

        Weights are discounted probabilities.
        """
        if self.is_shut(c, plan):
            return [({}, 0.0, 0.0)]
        (x, y), observing = c, plan in (OBSERVE, NET)
        kinds, omega, added = self.plausible(x), 0.0, 0.0
        if observing:
            kinds = kinds[:1]
        if plan in (LIKELY, POSSIBLE):
            omega = self.omega(x)
            unmet = self.r_max if plan == LIKELY else self.v_max
            added = omega * self.p.gamma * unmet
        found = []
        for kind in kinds:
            if kind != kinds[0] and not self.pool(kind, y).total():
                continue  # it says nothing of y
            step = self.monitor_step(x, y, kind)
            go_on, ended = Counter(), 0.0
            for se2, visits in self.met[x].items():
                if plan == POSSIBLE and self.is_hoped_for(x, se2):
                    continue
                n = self.n_x(x)
                keep = self.p.gamma * (1 - omega)
                if observing:
                    ended += keep * self.met_ended[x][se2] / n
                for sm2, p in step.items():
                    go_on[se2, sm2] += keep * (visits - self.met_ended[x][se2]) / n * p
            found.append(({s2: w for s2, w in go_on.items() if w > 0}, ended, added))
        return found

    def sweep(self, plan, v, q, *, sweeps, tolerance=ROUGH):
        """Improve v and write q with it, place by place; none is ever passed over."""
        reward = {c: self.reward_of(c, plan) for c in self.cells}
        model = {c: self.futures(c, plan) for c in self.cells}
        n_starts = sum(self.starts.values())
        size = 1.0
        for i in range(sweeps):
            restart = 0.0  # after an ending the next episode begins
            if n_starts:
                restart = sum(n * v[s] for s, n in self.starts.items()) / n_starts
            change = 0.0
            for se in range(self.n_se) if i % 2 == 0 else reversed(range(self.n_se)):
                new = {}
                for sm in range(self.n_sm):
                    s, each = (se, sm), []
                    for ae in range(self.n_ae):
                        for am in range(self.n_am):
                            c = (se, ae), (sm, am)
                            chosen = None
                            for go_on, ended, added in model[c]:
                                value = reward[c] + added + ended * restart
                                for s2, w in go_on.items():
                                    value += w * v[s2]
                                # a step back to the same state is solved for
                                back = go_on.get(s, 0.0)
                                solved = (value - back * v[s]) / (1 - back)
                                if (
                                    chosen is None
                                    or (plan == LOW and solved <= chosen[0])
                                    or (plan != LOW and solved > chosen[0])
                                ):
                                    chosen = solved, value
                            each.append(chosen[0])
                            q[self.index(c)] = chosen[1]
                    new[s] = max(each)
                for s, value in new.items():
                    change = max(change, abs(value - v[s]))
                    if value > -1e150:  # what is ruled out, or leads to it, does not count
                        size = max(size, abs(value))
                    v[s] = value
            self.n_sweeps = i + 1
            if change <= tolerance * size:
                return

    def plan(self):
        self.memory.clear()
        if not self.given and self.n_sm > 1 and self.p.kinds > 1:
            self.sort(everything=self.of_net and self.at_start)
            self.could_be = {x: self.find_plausible(x) for x in self.xs if self.n_x(x) > 0}
        self.memory.clear()
        self.since, self.news = 0, False
        self.v_before = dict(self.v_low)
        self.unresolved = {x for x in self.xs if self.is_unresolved(x)}
        self.weighty = {c for c in self.cells if self.weight(c) > 0}
        self.abandoned = {
            (x, se2): self.is_given_up(x, se2)
            for x in self.xs
            for se2 in self.met[x]
            if not self.rewards[x, se2]
        }
        sweeps = self.p.sweeps
        self.sweep(LOW, self.v_low, self.q_low, sweeps=sweeps)
        self.phase = OPTIMIZE
        for hope in (LIKELY, POSSIBLE):
            if hope == LIKELY and not self.p.likely_first:
                continue
            v = dict(self.v_low)
            self.sweep(hope, v, self.q_hope, sweeps=sweeps)
            if self.take_aim():
                self.phase = hope
                break
        if self.phase == OPTIMIZE and self.certified is None and self.gap(v) <= self.p.epsilon:
            self.sweep(LOW, self.v_low, self.q_low, sweeps=8 * sweeps, tolerance=FINE)
            self.sweep(POSSIBLE, v, self.q_hope, sweeps=8 * sweeps, tolerance=FINE)
            if self.gap(v) <= self.p.epsilon:
                self.certified = self.t
        if self.of_net or self.phase < OPTIMIZE or not self.p.stop:
            v = dict.fromkeys(self.states, 0.0)
            self.sweep(NET if self.of_net else OBSERVE, v, self.q_obs, sweeps=sweeps)

    def gap(self, v):
        low = sum(n * self.v_low[s] for s, n in self.starts.items())
        high = sum(n * v[s] for s, n in self.starts.items())
        return 2 * (high - low) / max(sum(self.starts.values()), abs(low))

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
            if x in self.unresolved:
                self.aim_x.add(x)
            for se2, visits in self.met[x].items():
                if visits == self.met_ended[x][se2]:
                    continue
                for sm2 in self.monitor_step(x, y, self.plausible(x)[0]):
                    if (se2, sm2) not in reached:
                        reached.add((se2, sm2))
                        waiting.append((se2, sm2))
        return bool(self.aim_x)

    # ---- verbs ------------------------------------------------------------------------------

    def passes(self, j, often):
        """Whether often·ln(1 + j/stalled) passes a whole number."""
        now, before = (math.log(1 + i / self.p.stalled) for i in (j, j - 1))
        return math.floor(often * now) > math.floor(often * before)

    def begin_episode(self):
        is_idle = self.k > 0 and not self.looked
        self.was_net = self.of_net
        self.k += 1
        self.idle += is_idle
        self.done += self.phase == OPTIMIZE
        self.looked, self.at_start = False, True
        if self.phase == OPTIMIZE:
            due = is_idle and self.passes(self.idle, self.p.net)
        else:
            due = is_idle and self.idle % 2 == 0
        self.of_net = self.p.net > 0 and (due or self.passes(self.k, 1))
        return self.observes()

    def observes(self):
        return self.of_net or self.phase < OPTIMIZE or not self.p.stop

    def act(self, se, sm, word=None):
        """The actions that are tied for the best: {(aᵉ, aᵐ)}."""
        self.word = word
        due = self.since >= max(self.p.replan, self.quiet // 10)
        if self.at_start:
            self.starts[se, sm] += 1
            due = due or self.observes() or self.news or self.was_net
        elif self.p.replan == 0:
            due = False
        if due:
            self.plan()
        self.at_start = False
        q = self.q_obs if self.observes() else self.q_hope
        return self.greedy(q, se, sm)

    def greedy(self, q, se, sm):
        row = q[se * self.n_sm + sm].tolist()
        return {divmod(a, self.n_am) for a, value in enumerate(row) if value >= max(row) - TIE}

    def update(self, se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated):
        c = x, y = (se, ae), (sm, am)
        if x in self.unresolved and c in self.weighty:
            self.looked = True
        is_new = self.met[x][next_se] == 0
        news = is_new or (self.n_y(y) == 0 and not self.given)
        if self.n_x(x) > 0:
            self.retries[self.bin_of(x)].append(is_new)
        elif self.p.kinds > 1 and not self.given:
            largest = max(len(members) for members in self.members)
            kind = [len(members) for members in self.members].index(largest)
            self.kind[x] = kind
            self.members[kind].add(x)
        if self.n_c(c) > 0:
            self.same.append(self.moves[c][next_sm] / self.n_c(c))
        self.moves[c][next_sm] += 1
        self.met[x][next_se] += 1
        self.met_ended[x][next_se] += terminated
        self.monitor_rewards[y].append(monitor_reward)
        if self.rewards[x, next_se]:
            self.again[y].append(reward is not None)
        if reward is not None:
            news = news or not self.rewards[x, next_se]
            self.rewards[x, next_se].append(reward)
            self.n_shown[y] += 1
        self.memory.clear()

        self.t += 1
        self.since += 1
        self.quiet += 1
        if news:
            self.news = self.looked = True
            self.idle = self.quiet = 0
        if news or (self.of_net and self.n_c(c) == 1):
            for y2 in self.ys:
                self.q_obs[self.index((x, y2))] = -1.0

    def test_policy(self):
        """Greedy actions by state: {(sᵉ, sᵐ): {(aᵉ, aᵐ)}}."""
        q = self.q_hope
        if self.p.pessimistic_test:
            q = self.q_low
            self.sweep(LOW, dict(self.v_low), q, sweeps=8 * self.p.sweeps, tolerance=FINE)
        return {(se, sm): self.greedy(q, se, sm) for se, sm in self.states}
