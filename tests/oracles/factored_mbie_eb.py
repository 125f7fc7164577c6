"""A plain-Python oracle of Factored MBIE-EB, with the monitor unknown and with it known.

It is deliberately unoptimised: raw counts in dictionaries, means and frequencies recomputed from
them, plain loops. The tests compare the compiled agent with it at every step.

Three things can not be recomputed and are kept, because the agent acts on what it thought last:
conclusions about a pair, which are drawn only when it brought news or its visits have grown; values
of plans, which are repaired where something has changed; and the agendas, on which states wait
until there is time for them. Plans are cut off when their effort is spent. So the order in which
states are looked at matters, and what is counted as effort: both are said where they occur.

The caller gives the random numbers (`act`) and reports what happened (`update`). A time limit is
not a termination: report such a step with `terminated=False` and begin the next episode.
x = (sᵉ,aᵉ), y = (sᵐ,aᵐ), and a cell is c = (x, y).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from functools import wraps
from typing import NamedTuple

from oracles.monitored_mbie_eb import FIRST, TIE, Agenda

RULED_OUT = -1e300
ROUGH, FINE = 1e-2, 1e-9
PATIENT = 8
GROWN = 1.1
LIKELY, NEARER, POSSIBLE, OPTIMIZE = 1, 2, 3, 4
SMALL = 1e-9  # evidence that is so close is the same but for rounding
FEAR, TEST, HOPE, SURE, SEE, CHECK = PLANS = ("fear", "test", "hope", "sure", "see", "check")
LOW, HOPEFUL, OBSERVING = (FEAR, TEST), (HOPE, SURE), (SEE, CHECK)


class Word(NamedTuple):
    """What the caller made of a plan. It is taken where rounding decides, and nowhere else."""

    kind: dict  # x -> kind
    plausible: dict  # x -> kind -> whether it is plausible


def remembered(method):
    """Remember what a method returned until something is counted, or a pair changes its kind."""

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
        self.states = [(se, sm) for se in range(self.n_se) for sm in range(self.n_sm)]
        self.cells = [
            ((se, ae), (sm, am))
            for se, sm in self.states
            for ae in range(self.n_ae)
            for am in range(self.n_am)
        ]
        self.start_counting()
        self.start_concluding()
        self.start_planning()

    def start_counting(self):
        self.moves = defaultdict(Counter)  # c -> s′ᵐ -> visits
        self.same = [(1 + 1 / self.n_sm) / 2]  # and, of each visit of a cell but its first,
        # the share of those before that went to the same s′ᵐ
        self.outcomes = defaultdict(Counter)  # x -> s′ᵉ -> visits
        self.ended = defaultdict(Counter)  # those of them that ended
        self.rewards = defaultdict(list)  # (x, s′ᵉ) -> rewards shown
        self.rewards_at = defaultdict(list)  # s′ᵉ -> rewards shown on arrival, if it went on
        self.rewards_at_end = defaultdict(list)  # the same if it ended there
        self.monitor_rewards = defaultdict(list)  # y -> rᵐ
        self.n_shown = Counter()  # y -> rewards shown
        self.again = defaultdict(list)  # y -> shown?, on visits of outcomes seen before
        self.retries = defaultdict(list)  # bin -> what was new, of each try but a pair's first
        self.met = []  # sᵉ in the order in which they were met
        self.ends = []  # sᵉ in which an episode ended, likewise
        self.starts = Counter()  # s -> episodes that began there, likewise
        self.leads_to = defaultdict(list)  # s′ᵉ -> x, likewise

        self.k = 0  # episodes begun
        self.t = 0  # steps
        self.done = 0  # D
        self.observed = 0  # episodes that observed
        self.idle = 0  # idle episodes since the last news
        self.since = 0  # steps since the last plan
        self.quiet = 0  # steps since the last news
        self.due = True  # whether there is to be a plan when an episode begins
        self.looked = False  # or had news, in this episode
        self.of_net = self.at_start = False

    def start_concluding(self):
        self.kind = {}  # x -> kind
        self.members = [set() for _ in range(self.p.kinds)]  # kind -> tried pairs
        if self.p.kinds == 0:
            self.kind = {x: i for i, x in enumerate(self.xs)}
            self.members = [{x} for x in self.xs]
        self.sorted_at = Counter()  # x -> n(x) when it was last sorted
        self.all_sorted_at = 0  # the step at which all pairs were
        self.word = None  # what the caller made of the last plan, see Word
        self.evidence = defaultdict(dict)  # x -> kind -> L when x was last sorted
        self.could_be = {}  # x -> plausible kinds

        self.waiting = []  # x of which conclusions are to be drawn
        self.drawn_at = Counter()  # x -> n(x) when they were
        self.reward = dict.fromkeys(self.xs, self.r_min)  # R̄ᵉ(x), at the last visit
        self.chance_of = dict.fromkeys(self.ys, 0.0)  # ρ̂(y)
        self.weight_of = dict.fromkeys(self.ys, 0.0)  # -ln(1 - ρ̲(y))
        self.own = {}  # (x, s′ᵉ) -> effective tries in vain, and visits
        self.in_vain = {}  # (x, s′ᵉ) -> e
        self.given_up = set()  # (x, s′ᵉ)
        self.hope = dict.fromkeys(self.xs, 0.5)
        self.error = dict.fromkeys(self.xs, 0.0)  # times √ln(k+2)
        self.omega = dict.fromkeys(self.xs, 0.0)  # ω(x): to come to a place never met
        self.omega_fresh = dict.fromkeys(self.xs, 0.0)  # to have an outcome that x never had
        self.unresolved = set()  # x
        self.unsure = {(x, sm): 0.0 for x in self.xs for sm in range(self.n_sm)}  # u
        self.hoped = dict.fromkeys(self.xs, 0.0)  # what the hopeful plan pays, without the monitor
        self.hoped_for = set()  # (x, s′ᵉ) of which it hopes for all that follows

    def start_planning(self):
        first = {FEAR: self.v_min, TEST: self.v_min, HOPE: self.v_max}
        self.q = {plan: dict.fromkeys(self.cells, first.get(plan, 0.0)) for plan in PLANS}
        self.v = {plan: dict.fromkeys(self.states, 0.0) for plan in PLANS}
        self.v[FEAR] = dict.fromkeys(self.states, self.v_min)
        self.agenda = {plan: Agenda() for plan in PLANS}  # of sᵉ
        self.restart = dict.fromkeys(PLANS, 0.0)  # what the next episode is worth
        self.phase = 0
        self.certified = None
        self.whole = True  # whether a plan from scratch is wanted
        self.whole_at = self.whole_cost = 0  # the step of the last one, and what it took
        self.aimed_at = self.aim_cost = 0  # the same of looking for aims
        self.net_at = 0  # the step of the last plan of the net's from scratch
        self.stale = False  # whether the plan to observe was left alone
        self.aim_x, self.aim_y = [], set()

    # ---- counts -----------------------------------------------------------------------------

    @remembered
    def n_c(self, c):
        return self.moves[c].total()

    @remembered
    def n_x(self, x):
        return self.outcomes[x].total()

    def n_y(self, y):
        return len(self.monitor_rewards[y])

    def bin_of(self, x):
        return min(self.n_x(x).bit_length() - 1, 23)

    def pairs_met(self):
        return [(se, ae) for se in self.met for ae in range(self.n_ae)]

    def goes_on(self, x, se2):
        """The discounted share of visits that led there and went on."""
        return self.p.gamma * (self.outcomes[x][se2] - self.ended[x][se2]) / self.n_x(x)

    def lands(self, x, se2):
        """The same, whether it ended or not."""
        return self.p.gamma * self.outcomes[x][se2] / self.n_x(x)

    def meet(self, se):
        if se not in self.met:
            self.met.append(se)
            self.look_at(se)

    def look_at(self, se):
        """Let plans look at a state; those that are tested or certify always look at all."""
        for plan in PLANS:
            if plan not in (TEST, SURE):
                self.agenda[plan].put(se, FIRST)

    # ---- kinds ------------------------------------------------------------------------------

    @remembered
    def alpha(self):
        """The weight of the prior: how many moves it takes to know where the monitor goes."""
        f = sum(self.same) / len(self.same)
        return max(1.0, (1 - f) / max(f - 1 / self.n_sm, 1 / self.n_sm**2))

    @remembered
    def pool(self, kind, y):
        """How often y led to each s′ᵐ in a kind."""
        found = Counter()
        for x in self.members[kind]:
            found.update(self.moves[x, y])
        return found

    def log_evidence(self, x, kind):
        """L of x in a kind, apart from what x did itself; None is a kind of its own."""
        alpha, total = self.alpha(), 0.0
        beta = alpha / self.n_sm
        for y in self.ys:
            m, big = self.moves[x, y], Counter()
            n = m.total()
            if n == 0:
                continue
            if kind is not None:
                big.update(self.pool(kind, y))
                if x in self.members[kind]:
                    big.subtract(m)
            all_of = big.total()
            total += math.lgamma(all_of + alpha) - math.lgamma(all_of + n + alpha)
            for sm2 in range(self.n_sm):
                if m[sm2] > 0:
                    total += math.lgamma(big[sm2] + m[sm2] + beta) - math.lgamma(big[sm2] + beta)
        return total

    def sort_all(self, everything):
        """Sort pairs whose visits have grown; all, in a net episode, if all steps have grown."""
        every = self.of_net and self.at_start and self.t > self.all_sorted_at * GROWN
        if every:
            self.all_sorted_at = self.t
        pairs = self.pairs_met() if everything or every else list(self.waiting)
        tried = [x for x in pairs if self.n_x(x) > 0]
        for x in tried:
            if every or self.n_x(x) > self.sorted_at[x] * GROWN:
                self.sorted_at[x] = self.n_x(x)
                self.sort(x)
        for x in tried:
            self.could_be[x] = self.find_plausible(x)

    def sort(self, x):
        """Put a pair into the kind that explains best what it did, and that many are of."""
        own = self.kind[x]
        found = {
            kind: self.log_evidence(x, kind)
            for kind, members in enumerate(self.members)
            if members - {x}
        }
        alone = self.log_evidence(x, None)
        worth = {kind: found[kind] + math.log(len(self.members[kind] - {x})) for kind in found}
        empty = [kind for kind, members in enumerate(self.members) if not members]
        if_none = empty[0] if empty and self.members[own] != {x} else own

        def best(slack):
            """The kinds it may take, if evidence that is so close is the same; its own first."""
            good = [kind for kind in found if found[kind] > alone - self.p.evidence - slack]
            sure = [kind for kind in found if found[kind] > alone - self.p.evidence + slack]
            least = max((worth[kind] for kind in sure), default=-math.inf) - slack
            kinds = [kind for kind in good if worth[kind] >= least]
            kinds.sort(key=lambda kind: (-worth[kind], kind != own))
            return kinds if sure else [*kinds, if_none]

        to = best(0.0)[0]
        if self.word is not None and self.word.kind[x] in best(SMALL):
            to = self.word.kind[x]
        if to not in found:
            if to != own:
                for of_other in self.evidence.values():
                    of_other.pop(to, None)  # it is not the kind that once had this number
            found[to] = alone
        self.evidence[x] = found
        if to != own:
            self.members[own].discard(x)
            self.members[to].add(x)
            self.kind[x] = to
            self.memory.clear()
            self.whole = True

    def find_plausible(self, x):
        own = self.kind[x]

        def believed(kind):
            return self.evidence[x][kind] + math.log(len(self.members[kind]))

        bar, found = believed(own) - self.p.evidence, {own}
        for kind in self.evidence[x]:
            if self.members[kind] and kind != own:
                is_plausible = believed(kind) > bar
                if self.word is not None and abs(believed(kind) - bar) <= SMALL:
                    is_plausible = self.word.plausible[x][kind]
                if is_plausible:
                    found.add(kind)
        return found

    def plausible(self, x, y):
        """The kinds that a plan reckons with, from its own on; others if they know of y."""
        if self.given or x not in self.kind:
            return [None]
        own, n = self.kind[x], len(self.members)
        others = self.could_be.get(x, set()) - {own}
        known = [kind for kind in others if self.pool(kind, y)]
        return [own, *sorted(known, key=lambda kind: (kind - own) % n)]

    @remembered
    def monitor_step(self, x, y, kind):
        """P̄ᵐ(·|y, kind), or the pᵐ that was given; if nothing is known, the monitor stays."""
        if self.given:
            return [float(p) for p in self.given[0](x, y)]
        pool = self.pool(kind, y)
        if not pool:
            return [1.0 if sm2 == y[0] else 0.0 for sm2 in range(self.n_sm)]
        return [pool[sm2] / pool.total() for sm2 in range(self.n_sm)]

    @remembered
    def is_untried(self, c):
        x, y = c
        if self.n_x(x) == 0:
            return True
        if self.given or self.n_c(c) > 0:
            return False
        return not self.pool(self.kind[x], y)

    # ---- rewards ----------------------------------------------------------------------------

    def mean(self, x, se2):
        return sum(self.rewards[x, se2]) / len(self.rewards[x, se2])

    def is_seen(self, x):
        return any(self.rewards[x, se2] for se2 in self.outcomes[x])

    def is_like_its_place(self, x, se2):
        """Whether an unseen outcome is taken to pay what arriving at its place has paid."""
        visits, ended = self.outcomes[x][se2], self.ended[x][se2]
        if self.rewards[x, se2] or not self.is_seen(x):
            return False
        if ended > 0 and not self.rewards_at_end[se2]:
            return False
        return ended == visits or bool(self.rewards_at[se2])

    def paid_there(self, x, se2):
        """The mean reward of arriving at a place, as often by an ending as this outcome did."""
        visits, ended, paid = self.outcomes[x][se2], self.ended[x][se2], 0.0
        each = ((ended, self.rewards_at_end[se2]), (visits - ended, self.rewards_at[se2]))
        for n, rewards in each:
            if n > 0:
                paid += n * sum(rewards) / len(rewards)
        return paid / visits

    def reward_of_outcome(self, x, se2):
        """What is known of an outcome's reward; None: nothing."""
        if self.rewards[x, se2]:
            return self.mean(x, se2)
        return self.paid_there(x, se2) if self.is_like_its_place(x, se2) else None

    def mean_of_known(self, x):
        """R̄ᵉ(x), over the outcomes whose reward is known, weighed by their visits; else r_min."""
        if not self.is_seen(x):
            return self.r_min
        n, total = 0, 0.0
        for se2, visits in self.outcomes[x].items():
            reward = self.reward_of_outcome(x, se2)
            if reward is not None:
                n += visits
                total += visits * reward
        return total / n

    def of_monitor(self, y):
        """R̄ᵐ(y)."""
        if self.given:
            return self.given[1](y)
        return sum(self.monitor_rewards[y]) / max(self.n_y(y), 1)

    @remembered
    def squares(self, x):
        """The squared deviations of the rewards of x from their means, and the repeats."""
        total = repeats = 0
        for se2 in self.outcomes[x]:
            rewards = self.rewards[x, se2]
            if rewards:
                total += sum((r - self.mean(x, se2)) ** 2 for r in rewards)
                repeats += len(rewards) - 1
        return total, repeats

    @remembered
    def variance_of_all(self):
        each = [self.squares(x) for x in self.xs]
        return sum(total for total, _ in each) / max(1, sum(repeats for _, repeats in each))

    def z(self):
        return math.sqrt(math.log(self.k + 2))

    def find_error(self, x):
        total, repeats = self.squares(x)
        variance = (total + self.variance_of_all()) / (repeats + 1)
        if variance <= 1e-12:
            return 0.0
        n, of_all = self.n_x(x), 0.0
        for se2, visits in self.outcomes[x].items():
            if self.rewards[x, se2]:
                of_all += (visits / n) ** 2 * variance / len(self.rewards[x, se2])
        return self.z() * math.sqrt(of_all)

    def is_random(self, x):
        return len(self.outcomes[x]) > 1 or self.ended[x].total() > 0

    def find_unsure(self, x, sm):
        """u(x, sᵐ), with the values of the low plan as they are."""
        error = self.p.caution * self.error[x]
        if not self.is_random(x):
            return error
        n, each = self.n_x(x), []  # (share of the visits, what they are worth)
        for se2, visits in self.outcomes[x].items():
            reward, ended = self.reward_of_outcome(x, se2), self.ended[x][se2]
            if reward is None:
                reward = self.reward[x]
            follows = self.p.gamma * max(self.v[FEAR][se2, sm], self.v_min)
            each += [((visits - ended) / n, reward + follows), (ended / n, reward)]
        mean = sum(share * worth for share, worth in each)
        variance = sum(share * (worth - mean) ** 2 for share, worth in each)
        return error + self.p.caution * self.z() * math.sqrt(variance / n)

    def find_omega(self, x, what):
        """How likely the next try of x comes upon something new: a place, or an outcome of x."""
        if not self.p.novelty:
            return 0.0
        omega = 1.0
        for b in range(self.bin_of(x) + 1):
            n_new = sum(what in new for new in self.retries[b])
            omega = (n_new + omega / 2) / (len(self.retries[b]) + 1)
        return omega * 2 ** self.bin_of(x) / self.n_x(x)

    # ---- sights -----------------------------------------------------------------------------

    def find_chances(self):
        for y in self.ys:
            again = self.again[y]
            low = min(sum(again) / (len(again) + 2), self.p.rho_cap)
            n_y = 1 if self.given else self.n_y(y)
            self.chance_of[y] = (self.n_shown[y] + 1) / (n_y + 2)
            self.weight_of[y] = -math.log(1 - (low if self.p.pool_sights else 0.05))

    def chance(self, c):
        """How likely the reward is shown."""
        if self.given:
            return float(self.given[2](c))
        return self.chance_of[c[1]] if self.p.pool_sights else 1 / (self.n_c(c) + 2)

    def weight(self, c):
        """How much a try in vain says."""
        if self.given:
            return -math.log(1 - min(self.chance(c), 0.999))
        return self.weight_of[c[1]]

    def can_be_shown(self, x):
        return not self.given or any(self.chance((x, y)) > 0 for y in self.ys)

    def tries(self, x, se2):
        """The e of an outcome, and its visits."""
        seen_there = self.rewards_at[se2] or self.rewards_at_end[se2]
        if not self.p.places or seen_there:
            return self.own[x, se2]
        own = [self.own.get((other, se2), (0.0, 0)) for other in self.leads_to[se2]]
        return sum(effective for effective, _ in own), sum(visits for _, visits in own)

    # ---- conclusions ------------------------------------------------------------------------

    def believe(self, everything):
        """Draw conclusions about the pairs that wait, or all; return the effort that took.

        That is one for each outcome looked at: when tries in vain are counted, when conclusions are
        drawn, and for each monitor state when it is found how far values are apart.
        """
        self.find_chances()
        if not self.given and self.n_sm > 1 and self.p.kinds > 1:
            self.sort_all(everything)
        pairs = self.pairs_met() if everything else self.waiting
        tried, took = [x for x in pairs if self.n_x(x) > 0], 0
        for x in tried:
            effective = sum(self.n_c((x, y)) * self.weight((x, y)) for y in self.ys)
            for se2, visits in self.outcomes[x].items():
                unseen = not self.rewards[x, se2]
                self.own[x, se2] = (visits * effective / self.n_x(x), visits) if unseen else (0, 0)
        for x in tried:
            self.conclude(x)
            took += len(self.outcomes[x]) * (2 + (self.n_sm if self.is_random(x) else 0))
        return took

    def conclude(self, x):
        more, hopes, open_questions = math.log(1 + self.done), [0.0], False
        for se2 in self.outcomes[x]:
            self.given_up.discard((x, se2))
            if self.reward_of_outcome(x, se2) is not None:
                continue
            effective, visits = self.tries(x, se2)
            self.in_vain[x, se2] = effective
            enough = effective > self.p.give_up + more and visits > self.p.revive * more
            if self.can_be_shown(x):
                hopes.append(1 / (1 + math.exp(min(effective, 700))))
            if enough or not self.can_be_shown(x):
                self.given_up.add((x, se2))
            else:
                open_questions = True
        self.hope[x] = max(hopes)
        self.error[x] = self.find_error(x)
        self.unresolved.discard(x)
        if open_questions or self.error[x] > self.p.precision * (self.r_max - self.r_min):
            self.unresolved.add(x)
        self.omega[x] = self.find_omega(x, "place")
        self.omega_fresh[x] = self.find_omega(x, "outcome")
        for sm in range(self.n_sm):
            self.unsure[x, sm] = self.find_unsure(x, sm)
        self.drawn_at[x] = self.n_x(x)

    def find_hopes(self, pairs):
        """What the hopeful plan pays for these pairs in this phase."""
        likely = self.phase < POSSIBLE
        for x in pairs:
            self.hoped[x] = 0.0
            for se2, visits in self.outcomes[x].items():
                r = self.reward_of_outcome(x, se2)
                unknown = r is None and (x, se2) not in self.given_up
                self.hoped_for.discard((x, se2))
                if unknown and not likely:
                    self.hoped_for.add((x, se2))
                if unknown:
                    ended = self.ended[x][se2] / visits
                    onward = self.p.typical if likely else self.v_max
                    r = ended * self.r_max + (1 - ended) * onward
                    if self.phase == LIKELY:
                        odds = math.exp(min(self.in_vain[x, se2], 700))
                        r -= self.p.unseen_cost * (1 + odds)
                elif r is None:
                    r = self.reward[x]
                self.hoped[x] += r * visits / self.n_x(x)

    # ---- plans ------------------------------------------------------------------------------

    def unknown(self):
        """What a hopeful plan expects of what was never tried."""
        return self.r_max if self.phase < POSSIBLE else self.v_max

    def paid(self, plan, c):
        """What a plan is paid in a cell, and whether it takes it for untried: nothing follows."""
        x, y = c
        untried = self.is_untried(c)
        if plan in LOW:
            return (self.v_min - 1 if untried else self.reward[x] + self.of_monitor(y)), untried
        if plan in HOPEFUL:
            if not untried:
                return self.hoped[x] + self.of_monitor(y) + self.unsure[x, y[0]], False
            unlikely = self.phase < POSSIBLE and self.n_x(x) > 0 and self.n_y(y) == 0
            return (RULED_OUT if unlikely else self.unknown()), True
        if plan == CHECK:
            if untried:  # as much as if there were one at every step, so that it is gone for
                return 1 / (1 - self.p.gamma), True
            return 1 / (1 + self.n_c(c)), False
        if untried and self.p.aim and self.n_x(x) > 0 and self.n_y(y) == 0 and y not in self.aim_y:
            untried = False  # it is thought to leave the monitor as it is
        if untried:
            return 1 + (1 - self.p.gamma) * self.chance(c), True
        if x in self.unresolved and (x in self.aim_x or not self.p.aim):
            return self.chance(c) / (1 + self.n_c(c) * self.weight(c)), False
        return 0.0, False

    def backups(self, plan, x):
        """For each cell of a pair: its value, and the same if steps back to the state go on."""
        v, omega = self.v[plan], 0.0
        if plan in HOPEFUL and self.phase >= POSSIBLE:
            omega = (self.omega if plan == HOPE else self.omega_fresh)[x]
        added = omega * self.p.gamma * max(self.unknown(), 0.0)
        ended, back, ahead = 0.0, 0.0, [0.0] * self.n_sm
        for se2 in self.outcomes[x]:
            w = self.goes_on(x, se2)
            ended += (self.lands(x, se2) - w) * self.restart[plan]
            if plan in HOPEFUL and (x, se2) in self.hoped_for:
                continue  # all that follows is in what it pays
            if se2 == x[0]:
                back += w
            for sm2 in range(self.n_sm):
                ahead[sm2] += w * v[se2, sm2]
        found = {}
        for y in self.ys:
            paid, untried = self.paid(plan, (x, y))
            if untried:
                found[y] = paid, paid
                continue
            keep = 1 - omega
            if plan == SEE:  # it is over if it has found something, and in a hurry if not
                hurry = max(1 - self.p.haste * (1 - self.p.gamma), 0.0) / self.p.gamma
                keep = (1 - paid) * hurry
            kinds = self.plausible(x, y)
            for kind in kinds[:1] if plan in OBSERVING else kinds:
                step, future = self.monitor_step(x, y, kind), ended
                for sm2 in range(self.n_sm):
                    future += step[sm2] * ahead[sm2]
                value = paid + (added + keep * future)
                again = keep * back * step[y[0]]
                solved = (value - again * v[x[0], y[0]]) / (1 - again)
                if (
                    kind == kinds[0]
                    or (plan in HOPEFUL and solved > found[y][1])
                    or (plan in LOW and solved <= found[y][1])
                ):
                    found[y] = value, solved
        return found

    def settle(self, plan, effort, tolerance):
        """Look at the states that wait, and let those wait that lead to one that has changed.

        Return the effort spent, and whether it was seen that none waits any more. One is spent for
        each outcome and each cell of a state looked at, and for each pair that leads to it, if they
        are told. What a state is told is told the pairs met last first. A state is always finished:
        a plan may take a little more than its effort.
        """
        v, agenda, spent = self.v[plan], self.agenda[plan], 0
        while spent < effort:
            if not agenda:
                return spent, True
            se = agenda.take()
            best = [-math.inf] * self.n_sm
            for ae in range(self.n_ae):
                x = se, ae
                spent += len(self.outcomes[x]) + len(self.ys)
                for y, (value, solved) in self.backups(plan, x).items():
                    self.q[plan][x, y] = value
                    best[y[0]] = max(best[y[0]], solved)
            change = size = 0.0
            for sm in range(self.n_sm):
                change = max(change, abs(best[sm] - v[se, sm]))
                size = max(size, min(abs(best[sm]), abs(v[se, sm])))
                v[se, sm] = best[sm]
            if change > tolerance * size:
                for x in reversed(self.leads_to[se]):
                    agenda.put(x[0], self.goes_on(x, se) * change)
                    spent += 1
        return spent, False

    def once(self):
        """The effort of looking at all states once."""
        used = sum(len(found) for found in self.outcomes.values())
        return 2 * used + len(self.met) * self.n_sm * self.n_ae * self.n_am

    def look_at_all(self, plan):
        """Those met last come first; what waits before all else already keeps its place."""
        for se in reversed(self.met):
            self.agenda[plan].put(se, FIRST)

    def begin_again(self, plan):
        """Start from below: nothing, or what the low plan promises."""
        for se in self.met:
            for sm in range(self.n_sm):
                self.v[plan][se, sm] = 0.0 if plan in OBSERVING else self.v[FEAR][se, sm]

    def rough(self):
        """What plans to explore do not pass on: ROUGH if it is lost at each of 1/(1 - γ) steps."""
        return ROUGH * (1 - self.p.gamma)

    def from_scratch(self, plan, effort):
        self.begin_again(plan)
        self.look_at_all(plan)
        return self.settle(plan, effort, self.rough())[0]

    def repair(self, plan, effort):
        """Two sweeps' worth at most; the hopeful plan is made from scratch if that is not enough.

        It is not if the effort ran out, even if nothing waits by then: that is not looked at.
        """
        few = 2 * self.once()
        _, is_over = self.settle(plan, min(effort, few), self.rough())
        if plan == HOPE and not is_over and effort > few:
            self.from_scratch(plan, effort)

    def plan(self):
        """Decide what to look for, if anything, and plan it."""
        steps, sweeps = self.t - self.whole_at, self.p.sweeps * self.once()
        is_earned = self.p.effort * steps >= self.whole_cost
        effort = self.p.effort * max(self.since, 1)
        self.since, self.due = 0, False
        whole = self.p.planner == "sweeps"
        whole = whole or ((self.whole or 10 * steps >= self.t) and is_earned)
        if not whole:
            self.believe(everything=False)
            self.find_hopes(self.waiting)
            for se, _ in self.waiting:
                self.look_at(se)
            self.repair(FEAR, effort)
            self.repair(HOPE, effort)
            if self.p.effort * (self.t - self.aimed_at) >= self.aim_cost:
                found = self.take_aim()
                if found == (self.phase == OPTIMIZE):
                    self.whole = True  # there is something again, or no more
            whole = self.whole and is_earned
        if whole:
            effort = sweeps
            self.plan_whole(sweeps)
            if self.phase == OPTIMIZE and self.certified is None:
                self.certify(PATIENT * sweeps)
        if self.observes():
            self.plan_to_observe(whole, effort, sweeps)
        # In a net episode there are new aims, and the plan to see knows nothing of them.
        self.stale = not self.observes() or (whole and self.of_net)
        self.waiting = []

    def plan_whole(self, sweeps):
        """Draw all conclusions again, and look for the first phase with something to look for."""
        took = self.believe(everything=True)
        self.look_at_all(FEAR)
        took += self.settle(FEAR, sweeps, self.rough())[0]
        for phase in (LIKELY, NEARER, POSSIBLE) if self.p.likely_first else (POSSIBLE,):
            self.phase = phase
            self.find_hopes(self.pairs_met())
            took += self.from_scratch(HOPE, sweeps)
            if self.take_aim():
                break
        else:
            self.phase = OPTIMIZE
        self.whole, self.whole_at, self.whole_cost = False, self.t, took

    def certify(self, effort):
        """If the policy seems to be good enough, look closer, with plans made for that alone.

        What they take has to be earned again before the next plan from scratch.
        """
        if self.gap(FEAR, HOPE) > self.p.epsilon:
            return
        for plan in (TEST, SURE):
            self.begin_again(plan)
            self.look_at_all(plan)
            self.whole_cost += self.settle(plan, effort, FINE)[0]
        if self.gap(TEST, SURE) <= self.p.epsilon:
            self.certified = self.t

    def gap(self, low, high):
        """Twice how far two plans are apart where episodes begin, in units of max(1, |v|)."""
        v = {plan: sum(n * self.v[plan][s] for s, n in self.starts.items()) for plan in (low, high)}
        return 2 * (v[high] - v[low]) / max(self.starts.total(), abs(v[low]))

    def plan_to_observe(self, whole, effort, sweeps):
        """Plan to see, or, in a net episode, to check what was tried seldom."""
        if self.of_net:
            plan = CHECK
            is_earned = self.p.effort * (self.t - self.net_at) >= sweeps
            again = self.at_start and is_earned
        else:
            plan, again = SEE, whole or self.stale
        if again:
            self.restart[plan] = 0.0
            took = self.from_scratch(plan, sweeps)
            if self.of_net:
                self.net_at = self.t
            else:
                self.whole_cost += took
        else:
            self.repair(plan, effort)
        for _ in range(3 if again else 1):
            if not self.moves_restart(plan):
                return
            self.repair(plan, effort)
        self.moves_restart(plan)  # what is off still waits for the next plan

    def moves_restart(self, plan):
        """Whether the next episode is worth more or less by a tenth, to states where one ends."""
        worth = sum(n * self.v[plan][s] for s, n in self.starts.items())
        worth /= max(self.starts.total(), 1)
        if abs(worth - self.restart[plan]) <= worth / 10:
            return False
        self.restart[plan] = worth
        for se in self.ends:
            self.agenda[plan].put(se, FIRST)
        return bool(self.ends)

    def take_aim(self):
        """Follow the best hopeful policy; whether anything on its way is not known.

        The plan to see looks again at what was aimed at, and then at what is, in the order in which
        it is come upon: the state reached last is followed first. The effort is one for each action
        and each outcome on the way.
        """
        for se, _ in self.aim_x:
            self.agenda[SEE].put(se, FIRST)
        self.aim_x, self.aim_y = [], set()
        self.aimed_at, self.aim_cost = self.t, 0
        ahead = list(self.starts)
        reached = set(ahead)
        while ahead:
            se, sm = ahead.pop()
            best = None
            for ae in range(self.n_ae):
                for am in range(self.n_am):
                    c = (se, ae), (sm, am)
                    if best is None or self.q[HOPE][c] > self.q[HOPE][best] + TIE:
                        best = c
            x, y = best
            self.aim_cost += self.n_ae * self.n_am + len(self.outcomes[x])
            if (self.is_untried(best) or x in self.unresolved) and x not in self.aim_x:
                self.aim_x.append(x)
                self.agenda[SEE].put(se, FIRST)
            if self.is_untried(best):
                self.aim_y.add(y)
                continue
            step = self.monitor_step(x, y, self.plausible(x, y)[0])
            for se2 in self.outcomes[x]:
                for sm2 in range(self.n_sm):
                    s2 = se2, sm2
                    if self.goes_on(x, se2) > 0 and step[sm2] > 0 and s2 not in reached:
                        reached.add(s2)
                        ahead.append(s2)
        return bool(self.aim_x)

    # ---- verbs ------------------------------------------------------------------------------

    def passes(self, j, often):
        """Whether often·ln(1 + j/stalled) passes a whole number."""
        now, before = (math.log(1 + i / self.p.stalled) for i in (j, j - 1))
        return math.floor(often * now) > math.floor(often * before)

    def begin_episode(self):
        is_idle, was_net = self.k > 0 and not self.looked, self.of_net
        self.k += 1
        self.idle += is_idle
        self.done += self.phase == OPTIMIZE
        self.looked, self.at_start = False, True
        if self.phase == OPTIMIZE:
            due = is_idle and self.passes(self.idle, self.p.net)
        else:
            due = is_idle and self.idle % 2 == 0
        self.of_net = self.p.net > 0 and (due or self.passes(self.k, 1))
        self.observed += self.observes()
        self.due = self.due or self.observes() or was_net
        return self.observes()

    def observes(self):
        """Whether it looks for something."""
        return self.of_net or self.phase < OPTIMIZE or not self.p.stop

    def act(self, se, sm, draw, word=None):
        """The action (aᵉ, aᵐ); `draw` gives random numbers from 0 to 1."""
        self.word = word
        due = self.since >= max(self.p.replan, self.quiet // 10)
        if self.at_start:
            self.starts[se, sm] += 1
            self.meet(se)
            due = due or self.due
        elif self.p.replan == 0:
            due = False
        if due:
            self.plan()
        self.at_start, self.strayed = False, False
        if self.of_net and draw() < self.p.stray:
            self.strayed = True
            return divmod(int(draw() * self.n_ae * self.n_am), self.n_am)
        tied = self.greedy(CHECK if self.of_net else SEE if self.observes() else HOPE, se, sm)
        return tied[int(draw() * len(tied))]

    def greedy(self, plan, se, sm):
        q = {
            (ae, am): self.q[plan][(se, ae), (sm, am)]
            for ae in range(self.n_ae)
            for am in range(self.n_am)
        }
        return [a for a in q if q[a] >= max(q.values()) - TIE]

    def update(self, se, sm, ae, am, reward, monitor_reward, next_se, next_sm, terminated):
        c = x, y = (se, ae), (sm, am)
        if x in self.unresolved and self.weight(c) > 0:
            self.looked = True
        is_new, new = next_se not in self.outcomes[x], set()
        if is_new:
            new = {"outcome"} if next_se in self.met else {"outcome", "place"}
        news = is_new or (self.n_y(y) == 0 and not self.given)
        news = news or (reward is not None and not self.rewards[x, next_se])
        if is_new:
            self.leads_to[next_se].append(x)
            self.meet(next_se)
        if terminated and se not in self.ends:
            self.ends.append(se)
        if self.n_x(x) > 0:
            self.retries[self.bin_of(x)].append(new)
        elif self.p.kinds > 0 and not self.given:
            sizes = [len(members) for members in self.members]
            self.kind[x] = sizes.index(max(sizes))
            self.members[self.kind[x]].add(x)
            self.memory.clear()
        if not self.given and not self.pool(self.kind[x], y):
            self.whole = True
        if self.n_c(c) > 0:
            self.same.append(self.moves[c][next_sm] / self.n_c(c))
        self.moves[c][next_sm] += 1
        self.outcomes[x][next_se] += 1
        self.ended[x][next_se] += terminated
        self.monitor_rewards[y].append(monitor_reward)
        if self.rewards[x, next_se]:
            self.again[y].append(reward is not None)
        if reward is not None:
            self.rewards[x, next_se].append(reward)
            (self.rewards_at_end if terminated else self.rewards_at)[next_se].append(reward)
            self.n_shown[y] += 1
        self.memory.clear()
        self.reward[x] = self.mean_of_known(x)
        if news and self.phase > LIKELY:
            self.whole = True
        if (news or self.n_x(x) > self.drawn_at[x] * GROWN) and x not in self.waiting:
            self.waiting.append(x)

        self.t += 1
        self.since += 1
        self.quiet += 1
        if news:
            self.due = self.looked = True
            self.idle = self.quiet = 0
        if news or (self.of_net and self.n_c(c) == 1):
            for y2 in self.ys:
                self.q[SEE][x, y2] = self.q[CHECK][x, y2] = -1.0

    def test_policy(self):
        """Greedy actions by state: {(sᵉ, sᵐ): [(aᵉ, aᵐ)]}."""
        plan = HOPE
        if self.p.pessimistic_test:
            plan = TEST
            self.begin_again(TEST)
            self.look_at_all(TEST)
            self.settle(TEST, PATIENT * self.p.sweeps * self.once(), FINE)
        return {(se, sm): self.greedy(plan, se, sm) for se, sm in self.states}
