"""Factored MBIE-EB: learn the factors, hope for what is likely first, observe what could matter.

The algorithm is derived in docs/algorithms/factored-mbie-eb.md; this page is its summary. Let
x = (sᵉ,aᵉ) be an environment pair, y = (sᵐ,aᵐ) a monitor pair, and a *cell* c = (x,y) a joint one.

What is learnt:

    P̄ᵉ(s′ᵉ | x)      pooled over all that the monitor did
    P̄ᵐ(s′ᵐ | y)      pooled over all x but *exceptions*, which have a P̄(s′ | c) of their own: those
                     whose data the pooled factors explain too badly (a Bayes factor)
    r̄ᵉ(x, s′ᵉ)       mean of the rewards shown; R̄ᵉ(x) weighs the outcomes seen by P̄ᵉ
    ρ̂(y), ρ_low(y)   how likely y shows a reward: on all visits, and a lower bound from outcomes
                     that were seen before
    e(x)             Σ n(c)·(-ln(1 - ρ_low(y))), how often x was tried in vain, effectively
    ω(n)             how likely the next try of a pair tried n times has an outcome never met, from
                     how often that happened with all pairs (Good and Turing)

What is planned, by sweeps over the factored model:

    low        unseen rewards are r_min, what was never tried is the worst: the test policy
    likely     an unseen reward is r_max where it ended the episode, else what is typical
    possible   r_max for ever follows every unseen reward, and waits where nothing was tried
    observe    1 for seeing, times the chance to see, of what is *aimed* at; little for all else

Aimed at is what is not known on the way of the best likely policy; if all of it is known, of the
best possible policy; if all of that is known, too, the agent stops observing and follows it. So it
observes only what could change the policy, and what likely does first. It replans within episodes.

None of this is trusted blindly. Now and then, more often when learning stalls or exceptions abound,
an episode is one of Monitored MBIE-EB that observes, on counts of joint pairs alone: the *net*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.contract import AgentConfig, Step, at_least_zero
from monmdp.agents.greedy import TIE, greedy_action, greedy_policy
from monmdp.agents.learnt_model import (
    LOW,
    Successors,
    count_successor,
    find_slot,
    most_successors,
    no_successors,
    value_iteration,
    with_room,
)
from monmdp.agents.monitored_mbie_eb import growth_of
from monmdp.compiling import compilable
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray, Table
from monmdp.model.mdp import probability, whole_number
from monmdp.model.monmdp import Shape
from monmdp.planning.factors import factors

LIKELY, POSSIBLE, OPTIMIZE = 1, 2, 3
"""phases: what is observed for, and when observing is over"""
K, NET, SINCE, NEWS, FIRST, PHASE, IDLE, QUIET, DONE, OBSERVED, LENGTH, CLOCK = range(12)
"""entries of `clock`: episodes, whether this one is of the net, steps since the last plan, whether
there was news since, whether no action was taken yet, the phase, episodes and steps since the last
news, episodes that were to optimize, episodes that observed, steps of this one; and how many"""
BINS = 24
"""ω(n) is learnt for n = 1, 2-3, 4-7, …"""
SMOOTH = 0.5
"""visits that stand for not knowing where the monitor moves"""
VOTES = 2
"""visits of a cell that count when all pairs vote on how the monitor moves"""
NEW = 50
"""visits up to which a cell is compared with the vote, too"""
ENOUGH = 5_000
"""visits after which a cell speaks for itself, exception or not"""
ASSUMED = 0.05
"""ρ, if it is not learnt"""
HEADSTART = 12
"""steps for which a plan is followed in spite of news: planning sooner saves few of them, and takes
more time than they do"""
ROUGH, FINE = 1e-4, 1e-9
"""change of a value, as a share of the largest, up to which a plan is good enough: to explore with
it, and to be tested"""
PATIENT = 8
"""by how much more sweeps the possible plan may take: its values are large and far away"""
SETTLED = 50
"""steps for which a plan is followed once there is neither news nor anything to observe"""
CALM = 10
"""plans are followed the longer the calmer it is: for a tenth of the steps since the last news, or
of the episodes that optimized"""
STEPS_A_SWEEP = 8
"""steps of the last episode for which the low plan is swept once more before the next"""
RULED_OUT = -1e150
"""values below are LOW, or lead there with some chance: they say nothing of how large values are"""
MOST_ODDS = 20.0
"""the largest logarithm of odds that the monitor is set in its ways, either way"""
MOST = 700.0
"""the largest logarithm of odds: where it counts, more would be the same"""


@dataclass(frozen=True, kw_only=True)
class FactoredMBIEEB(AgentConfig):
    """Factored MBIE-EB and its hyper-parameters, one set for all problems."""

    name = "factored-mbie-eb"
    label = "Factored MBIE-EB"
    colour = "#cc1111"
    microseconds = (3.0, 0.0080)
    needs = ("r_min", "r_max")
    slow_verbs = ("begin_episode", "update", "test_policy")

    knows_monitor: bool = False
    """the monitor is given: pᵐ, rᵐ and the chance to see a reward"""
    typical: float = 0.0
    """what a reward that was not seen yet is likely to be, where the episode went on"""
    factored: bool = True
    """pool pᵉ over the monitor and pᵐ over the environment; else each joint pair is on its own"""
    pool_sights: bool = True
    """learn how likely the monitor shows a reward from all pairs; else ρ_low is taken for 0.05"""
    likely_first: bool = True
    """hope for what is likely before all that is possible"""
    aim: bool = True
    """observe what could change the policy; else everything alike"""
    stop: bool = True
    """optimize once nothing is left that could; else go on observing"""
    novelty: bool = True
    """learn how likely a pair still has outcomes never met, and hope for them"""
    pessimistic_test: bool = True
    """test the pessimistic policy; else the hopeful one, of the plan made last"""
    replan: int = 15
    """steps after which it plans again within an episode, with news after 12 at most; 0: never"""
    sweeps: int = 15
    """sweeps of a plan, at most; eight times as many where it hopes for all that is possible"""
    gamma_obs: float = 0.97
    """discount of observing"""
    path: float = 0.5
    """worth of observing what is aimed at, likely and did not end an episode; of the rest, 1"""
    aside: float = 0.01
    """worth of observing what is not aimed at"""
    unseen_cost: float = 0.003
    """what the likely plan pays for a pair not seen yet, over the chance that it can be seen: it
    prefers ways that are known"""
    trust: float = 1.5
    """log odds that a pair can be seen at all, before it was ever tried"""
    give_up: float = 4.0
    """effective tries in vain after which a reward counts as never shown"""
    insist: float = 2.0
    """times so many before the likely plan gives up, too: it weighs the odds that are left"""
    revive: float = 2.0
    """and visits, times the root of the episodes that optimized: no verdict is final"""
    caution: float = 0.5
    """standard errors that ρ_low lies below the frequency of seeing"""
    rho_cap: float = 0.5
    """the largest ρ_low: a single try in vain never counts for more than one at this ρ"""
    precision: float = 0.1
    """standard error up to which a reward that is random needs to be known"""
    evidence: float = 3.0
    """log Bayes factor above which a pair or a cell is an exception"""
    net: float = 0.25
    """of k episodes, about k to this power are of the net; 0: none ever"""
    net_after: float = 0.75
    """the same for those that would optimize"""
    stalled: int = 20
    """episodes without news after which every other one is of the net"""
    beta_kl: float = 0.05
    """β_KL of the net"""
    beta_obs: float = 5e-4
    """β_obs of the net"""

    class State(NamedTuple):
        """All that the agent knows: one table for each kind of thing."""

        parameters: Any
        clock: IntArray
        """see K, NET, … above"""
        cells: Table
        """[s, a] of CELL"""
        pairs: Table
        """[sᵉ, aᵉ] of PAIR"""
        monitor: Table
        """[sᵐ, aᵐ] of MONITOR_PAIR"""
        states: Table
        """[s] of STATE"""
        env: Successors
        """of environment pairs: P̄ᵉ; its slots are the outcomes"""
        outcomes: Table
        """[slot of env] of OUTCOME"""
        mon: Moves
        """of monitor pairs, kind by kind: P̄ᵐ"""
        pool: Table
        """[kind, sᵐ, aᵐ] of POOL"""
        joint: Successors
        """of cells: P̄"""
        votes: IntArray
        """[sᵐ, aᵐ, s′ᵐ] moves of the monitor, a few of each cell"""
        bins: Table
        """[bin of n(x)] of BIN"""
        odds: FloatArray
        """[1] log odds that the monitor is set in its ways, and does not move at random"""
        noise: FloatArray
        """[2] squared deviations of rewards from the mean of their outcome, and how many"""

    @property
    def needs_model(self) -> bool:
        """Whether the agent is given the monitor."""
        return self.knows_monitor

    def check(self) -> None:
        """Refuse what is out of range."""
        at_least_zero(
            self, "path", "aside", "unseen_cost", "give_up", "revive", "caution", "beta_kl",
            "beta_obs", "net", "net_after", "evidence",
        )  # fmt: skip
        for name in ("rho_cap", "net", "net_after", "gamma_obs"):
            probability(getattr(self, name), name)
        for name in ("rho_cap", "gamma_obs"):
            if getattr(self, name) == 1:
                raise MonMDPError(f"{name} must be below 1")
        if self.gamma == 0:
            raise MonMDPError("gamma must be above 0: what is seen is worth a way to it")
        if self.precision <= 0:
            raise MonMDPError(f"precision must be positive, got {self.precision:g}")
        if self.insist < 1:
            raise MonMDPError(f"insist must be at least 1, got {self.insist:g}")
        whole_number(self.replan, "replan", at_least=0)
        whole_number(self.sweeps, "sweeps", at_least=1)
        whole_number(self.stalled, "stalled", at_least=1)

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that has seen nothing yet."""
        r_min, r_max = parameters.r_min, parameters.r_max
        n_se, n_sm, n_ae, n_am = shape
        joint, env, mon = (n_se * n_sm, n_ae * n_am), (n_se, n_ae), (n_sm, n_am)
        of_env, of_joint = most_successors(shape, model)
        state = self.State(
            parameters=parameters._replace(typical=min(max(self.typical, r_min), r_max)),
            clock=np.zeros(CLOCK, dtype=np.int64),
            cells=np.zeros(joint, dtype=CELL),
            pairs=np.zeros(env, dtype=PAIR),
            monitor=np.zeros(mon, dtype=MONITOR_PAIR),
            states=np.zeros(joint[0], dtype=STATE),
            env=no_successors(of_env),
            outcomes=np.zeros(int(np.sum(of_env)), dtype=OUTCOME),
            mon=_no_moves(n_sm * n_am, n_sm),
            pool=np.zeros((1, *mon), dtype=POOL),
            joint=no_successors(of_joint),
            votes=np.zeros((n_sm, n_am, n_sm), dtype=np.int64),
            bins=np.zeros(BINS, dtype=BIN),
            odds=np.zeros(1),
            noise=np.zeros(2),
        )
        state.clock[NEWS] = 1  # there is no plan yet
        state.cells["own"] = state.pairs["alone"] = not self.factored
        state.pairs["reward"] = r_min
        state.pool["stay"] = 1.0
        state.states["v_low"] = state.cells["q_low"] = r_min / (1 - self.gamma)
        state.cells["q_hope"] = r_max / (1 - self.gamma)
        state.cells["q_net"] = 1 / (1 - self.gamma)
        if self.knows_monitor and model is not None:
            state = self._told(state, model)
        fields: dict[str, Any] = state._asdict()
        return fields

    def _told(self, state: Any, model: MonMDP) -> Any:
        """Return the state of an agent that was told what the monitor does."""
        given = factors(model)
        n_classes, n_sm, n_am = given.row_of.shape
        rows = np.array(given.row)[np.array(given.row_of)]  # [class, sᵐ, aᵐ, s′ᵐ]
        mon = _no_moves(rows[..., 0].size, n_sm)
        for u, row in enumerate(rows.reshape(-1, n_sm)):
            to = np.flatnonzero(row)
            here = slice(mon.first[u], mon.first[u] + len(to))
            mon.state[here], mon.share[here], mon.used[u] = to, row[to], len(to)
        pool = np.ones((n_classes, n_sm, n_am), dtype=POOL)
        for sm in range(n_sm):
            pool["stay"][:, sm] = rows[:, sm, :, sm]
        state.pairs["kind"] = np.array(model.pair_class).reshape(state.pairs.shape)
        state.monitor["n"] = 1
        state.monitor["total"] = model.monitor.reward
        state.cells["chance"] = model.observability()
        return state._replace(mon=mon, pool=pool)

    def with_room(self, state: Any, step: Step) -> Any:
        """Return a state with room for one more successor."""
        s, a, next_s = step.s, step.a, step.next_s
        n_sm, n_am = state.monitor.shape
        pair = (s // n_sm) * state.pairs.shape[1] + a // n_am
        was, used = int(state.env.first[pair]), int(state.env.used[pair])
        env = with_room(state.env, pair, next_s // n_sm)
        now, room = int(env.first[pair]), len(env.state) - len(state.outcomes)
        outcomes = np.append(state.outcomes, np.zeros(room, dtype=OUTCOME))
        if now != was:  # the slots have moved, and what was seen there moves with them
            outcomes[now : now + used] = outcomes[was : was + used]
            outcomes[was : was + used] = 0
        joint = with_room(state.joint, s * state.cells.shape[1] + a, next_s)
        return state._replace(env=env, joint=joint, outcomes=outcomes)

    def snapshot(self, state: Any, shape: Shape) -> dict[str, Any]:
        """Return copies of counts and action values, the test policy, and the episodes."""
        kept = super().snapshot(state, shape)
        clock, cells, pairs = state.clock, state.cells, state.pairs
        observing = clock[NET] or clock[PHASE] < OPTIMIZE or not self.stop
        return kept | {
            "n": cells["n"].copy(),
            "n_env": pairs["n"].copy(),
            "n_seen": pairs["n_seen"].copy(),
            "fruitless": pairs["fruitless"].copy(),
            "q_low": cells["q_low"].copy(),
            "q_hope": cells["q_hope"].copy(),
            "q_obs": cells["q_obs"].copy(),
            "episodes": np.array([clock[K], clock[OBSERVED], observing]),
        }

    def begin_episode(agent: Any, rng: np.random.Generator) -> bool:
        """Plan; return whether the episode observes."""
        p, clock = agent.parameters, agent.clock
        clock[K] += 1
        clock[FIRST] = 1
        clock[IDLE] += 1
        _plan_low(agent, 1 + min(clock[LENGTH], 400) // STEPS_A_SWEEP, agent.states["v_low"])
        clock[LENGTH] = 0
        if clock[NEWS] or clock[SINCE] >= _patience(clock, p.replan):
            _plan(agent)
        net = _falls_due(clock[K], p.net)
        if clock[PHASE] == OPTIMIZE:
            clock[DONE] += 1
            if _is_doubtful(agent.pairs):
                net = net or clock[DONE] % 2 == 0
            else:
                net = net or _falls_due(clock[DONE], p.net_after)
        elif clock[IDLE] > p.stalled:
            net = net or clock[IDLE] % 2 == 0
        clock[NET] = net and p.net > 0
        if clock[NET]:
            _plan_net(agent)
        observing = bool(clock[NET] > 0 or clock[PHASE] < OPTIMIZE or not p.stop)
        clock[OBSERVED] += observing
        return observing

    def act(agent: Any, s: int, rng: np.random.Generator) -> int:
        """Act greedily on what this episode is for, ties broken uniformly."""
        clock = agent.clock
        if clock[FIRST]:
            clock[FIRST] = 0
            agent.states["starts"][s] += 1
        q = agent.cells["q_obs"]
        if clock[NET]:
            q = agent.cells["q_net"]
        elif clock[PHASE] == OPTIMIZE and agent.parameters.stop:
            q = agent.cells["q_hope"]
        return greedy_action(q, s, rng.random())

    def update(agent: Any, step: Step) -> None:
        """Count, weigh the evidence, and plan anew if there is news or it is time."""
        p, clock, env = agent.parameters, agent.clock, agent.env
        s, a, next_s, shown, reward = step.s, step.a, step.next_s, step.shown, step.reward
        n, n_env, n_mon = agent.cells["n"], agent.pairs["n"], agent.monitor["n"]
        (n_sm, n_am), n_ae = n_mon.shape, n_env.shape[1]
        se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
        next_se, next_sm = next_s // n_sm, next_s % n_sm
        x, c = se * n_ae + ae, s * n.shape[1] + a
        outcome = find_slot(env, x, next_se)
        is_new = outcome == env.first[x] + env.used[x]
        news = is_new

        if p.factored and not p.knows_monitor:
            news = _weigh(agent, s, a, next_s, is_new) or news
        if n_env[se, ae] > 0:
            b = _bin_of(n_env[se, ae])
            agent.bins["looked"][b] += 1
            agent.bins["novel"][b] += is_new

        n[s, a] += 1
        n_env[se, ae] += 1
        agent.states["n"][s] += 1
        count_successor(env, x, n_env[se, ae], next_se, step.terminated, p.gamma)
        count_successor(agent.joint, c, n[s, a], next_s, step.terminated, p.gamma)
        if not p.knows_monitor:
            news = news or n_mon[sm, am] == 0
            n_mon[sm, am] += 1
            agent.monitor["total"][sm, am] += step.monitor_reward
            if not agent.cells["own"][s, a]:
                _pool(agent.mon, agent.pool, sm, am, next_sm, 1)

        sights, total = agent.outcomes["sights"], agent.outcomes["total"]
        n_sights = sights[outcome]
        if n_sights > 0:
            agent.monitor["tries"][sm, am] += 1
            agent.monitor["hits"][sm, am] += shown
        if shown:
            news = news or n_sights == 0
            if n_sights > 0:
                off = reward - total[outcome] / n_sights
                agent.noise[0] += off * off * n_sights / (n_sights + 1)
                agent.noise[1] += 1
            sights[outcome] += 1
            total[outcome] += reward
            agent.pairs["n_seen"][se, ae] += 1
            agent.monitor["shown"][sm, am] += 1
        if agent.pairs["n_seen"][se, ae] > 0:
            visits, of_seen = 0, 0.0
            for j in range(env.first[x], env.first[x] + env.used[x]):
                if sights[j] > 0:
                    visits += env.visits[j]
                    of_seen += env.visits[j] * total[j] / sights[j]
            agent.pairs["reward"][se, ae] = of_seen / visits

        clock[SINCE] += 1
        clock[QUIET] += 1
        clock[LENGTH] += 1
        if news:
            # Until the next plan there is nothing more to be had of this pair.
            for m in range(n_sm):
                for b in range(n_am):
                    agent.cells["q_obs"][se * n_sm + m, ae * n_am + b] = -1.0
            clock[NEWS], clock[IDLE], clock[QUIET] = 1, 0, 0
        patience = _patience(clock, p.replan)
        if clock[NEWS]:
            due = clock[SINCE] >= min(HEADSTART, patience)
        else:
            due = clock[PHASE] != OPTIMIZE and clock[SINCE] >= patience
        if due and p.replan > 0 and not (step.terminated or clock[NET]):
            _plan(agent)

    def test_policy(agent: Any, policy: FloatArray) -> None:
        """Greedy on the low plan, with what was learnt in the running episode."""
        if not agent.parameters.pessimistic_test:
            greedy_policy(agent.cells["q_hope"], policy)
            return
        # On a copy: a test makes no difference to training nor to other tests.
        v = agent.states["v"]
        v[:] = agent.states["v_low"]
        _plan_low(agent, agent.parameters.sweeps, v)
        greedy_policy(agent.cells["q_low"], policy)


CELL = np.dtype(
    [
        ("n", np.int64),  # n(c), visits
        ("evidence", np.float64),  # log Bayes factor of its own dynamics against the factors
        ("own", np.bool_),  # whether it is an exception
        ("chance", np.float64),  # how likely a reward is shown: ρ̂(y), or what was given
        ("weight", np.float64),  # how much a try in vain counts: -ln(1 - ρ_low(y))
        ("untried", np.bool_),  # whether nothing is known of where it leads
        ("reward", np.float64),  # of the plan in progress
        ("q_low", np.float64),
        ("q_hope", np.float64),  # of the likely or the possible plan, whichever came last
        ("q_obs", np.float64),
        ("tried", np.bool_),  # whether n(c) > 0 when the net was last planned
        ("q_net", np.float64),
    ],
    align=True,
)
PAIR = np.dtype(
    [
        ("n", np.int64),  # n(x), visits
        ("n_seen", np.int64),  # those whose reward was shown
        ("reward", np.float64),  # R̄ᵉ over the outcomes that were seen, r_min if there is none
        ("kind", np.int64),  # which pᵐ holds here; 0 if it has to be learnt
        ("evidence", np.float64),  # as of a cell, for all of its cells together
        ("alone", np.bool_),  # whether all are exceptions: the factors say nothing of the untried
        ("omega", np.float64),  # ω(n(x))
        ("fruitless", np.float64),  # e(x)/n(x)
        ("unresolved", np.int64),  # 2: some reward is not known; 1: the possible plan gave up
        ("aim", np.bool_),  # whether it is aimed at
    ],
    align=True,
)
MONITOR_PAIR = np.dtype(
    [
        ("n", np.int64),  # n(y), visits
        ("total", np.float64),  # sum of the monitor's rewards
        ("shown", np.int64),  # visits that showed a reward
        ("tries", np.int64),  # visits of outcomes whose reward had been seen before
        ("hits", np.int64),  # those among them that showed it again
        ("aim", np.bool_),  # whether it was never tried and is aimed at
    ],
    align=True,
)
POOL = np.dtype([("n", np.int64), ("stay", np.float64)])
"""visits that P̄ᵐ is learnt from, exceptions left out, and P̄ᵐ(sᵐ | y), 1 if there are none"""
OUTCOME = np.dtype(
    [
        ("sights", np.int64),  # how often its reward was shown
        ("total", np.float64),  # sum of the rewards shown
        ("given_up", np.int64),  # in vain so often: 1, by the possible plan, 2, by both
        ("hoped", np.bool_),  # whether the plan in progress hopes for all that follows
    ],
    align=True,
)
STATE = np.dtype(
    [
        ("n", np.int64),  # N(s)
        ("starts", np.int64),  # episodes that began here
        ("v_low", np.float64),
        ("v", np.float64),  # of the other plans
    ]
)
BIN = np.dtype([("looked", np.int64), ("novel", np.int64)])
"""tries of pairs tried so often before, and those among them that had an outcome never met"""


class Moves(NamedTuple):
    """Where the monitor went from each of its pairs; slots as those of `Successors`."""

    first: IntArray
    """[pair] where its slots begin"""
    used: IntArray
    """[pair] how many of them are in use"""
    state: IntArray
    """[slot] s′ᵐ"""
    visits: IntArray
    """[slot] visits that led to s′ᵐ, exceptions left out"""
    share: FloatArray
    """[slot] P̄ᵐ(s′ᵐ | y), or what was told"""


def _no_moves(n_pairs: int, n_sm: int) -> Moves:
    """Return empty slots, one for each monitor state."""
    n = n_pairs * n_sm
    return Moves(
        first=np.arange(0, n, n_sm),
        used=np.zeros(n_pairs, dtype=np.int64),
        state=np.zeros(n, dtype=np.int64),
        visits=np.zeros(n, dtype=np.int64),
        share=np.zeros(n),
    )


@compilable
def _patience(clock: IntArray, replan: int) -> Any:
    """Return for how many steps a plan is followed if there is no news."""
    if clock[PHASE] == OPTIMIZE:
        return SETTLED + clock[DONE] // CALM
    return max(replan, clock[QUIET] // CALM)


@compilable
def _falls_due(k: int, power: float) -> bool:
    """Return whether k to this power passes a whole number."""
    return power > 0 and math.floor(k**power) > math.floor((k - 1) ** power)


@compilable
def _is_doubtful(pairs: Table) -> bool:
    """Return whether there are so many exceptions that the factors explain little."""
    n, alone, n_alone, n_tried = pairs["n"], pairs["alone"], 0, 0
    for se in range(n.shape[0]):
        for ae in range(n.shape[1]):
            n_tried += n[se, ae] > 0
            n_alone += alone[se, ae]
    return n_alone > 1 + 0.1 * n_tried


@compilable
def _bin_of(n: int) -> int:
    """Return the bin of ω that n visits fall into."""
    return min(int(math.log2(n)), BINS - 1)


@compilable
def _weigh(agent: Any, s: int, a: int, next_s: int, is_new: bool) -> bool:
    """Weigh the evidence that a pair or a cell is an exception; return whether a verdict changed.

    The factors foretell the step with P̄ᵉ(s′ᵉ)·P̄ᵐ(s′ᵐ). A cell that goes its own way does what it
    did before or, with a weight of one visit, follows a mixture of the factors and of any move of
    the monitor. P̄ᵐ is here that of all other cells. For a cell that is new it is no less than that
    of a vote, of a few visits of every cell: else a pair that is visited all the time could pass
    for the rule, and all others for exceptions.
    """
    env, mon, joint, votes = agent.env, agent.mon, agent.joint, agent.votes
    n_env, n_mon = agent.pairs["n"], agent.monitor["n"]
    of_cell, own = agent.cells["evidence"], agent.cells["own"]
    of_pair, alone = agent.pairs["evidence"], agent.pairs["alone"]
    (n_sm, n_am), n_ae = n_mon.shape, n_env.shape[1]
    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
    next_se, next_sm = next_s // n_sm, next_s % n_sm
    x, y, c = se * n_ae + ae, sm * n_am + am, s * n_ae * n_am + a
    n = agent.cells["n"][s, a]
    if n_mon[sm, am] > 0:
        of_env = 1.0  # an outcome never met says nothing of how the factors go together
        if not is_new:
            of_env = env.visits[find_slot(env, x, next_se)] / n_env[se, ae]
        n_others, others = agent.pool["n"][0, sm, am], 0
        slot = find_slot(mon, y, next_sm)
        if slot < mon.first[y] + mon.used[y]:
            others = mon.visits[slot]
        same, before = 0, 0  # visits of this cell: the same step, the same move of the monitor
        for j in range(joint.first[c], joint.first[c] + joint.used[c]):
            if joint.state[j] % n_sm == next_sm:
                before += joint.visits[j]
            if joint.state[j] == next_s:
                same = joint.visits[j]
        if not own[s, a]:
            others -= before
            n_others -= n
        of_mon = _foretold(others, n_others, n_sm, agent.odds[0])
        if n < NEW:
            n_votes = 0
            for m in range(n_sm):
                n_votes += votes[sm, am, m]
            voted = _foretold(votes[sm, am, next_sm], n_votes, n_sm, agent.odds[0])
            of_mon = max(of_mon, voted)
        base = of_env * 0.5 * (of_mon + 1.0 / n_sm)
        ratio = math.log((same + base) / ((n + 1) * of_env * of_mon))
        odds = agent.odds[0] + math.log(
            _if_set(others, n_others, n_sm) / _if_random(others, n_others, n_sm)
        )
        agent.odds[0] = min(max(odds, -MOST_ODDS), MOST_ODDS)
        of_cell[s, a] = max(_least_evidence(n), of_cell[s, a] + ratio)
        of_pair[se, ae] = max(_least_evidence(n_env[se, ae]), of_pair[se, ae] + ratio)
    if n < VOTES:
        votes[sm, am, next_sm] += 1

    bar = agent.parameters.evidence
    is_alone = of_pair[se, ae] > bar
    is_own = is_alone or of_cell[s, a] > bar
    if is_alone == alone[se, ae] and is_own == own[s, a]:
        return False
    alone[se, ae] = is_alone
    for m in range(n_sm):
        for b in range(n_am):
            s, a = se * n_sm + m, ae * n_am + b
            is_own = is_alone or of_cell[s, a] > bar
            if is_own != own[s, a]:
                own[s, a] = is_own
                c = s * n_ae * n_am + a
                for j in range(joint.first[c], joint.first[c] + joint.used[c]):
                    moves = -joint.visits[j] if is_own else joint.visits[j]
                    _pool(mon, agent.pool, m, b, joint.state[j] % n_sm, moves)
    return True


@compilable
def _foretold(k: int, n: int, n_sm: int, odds: float) -> float:
    """Return how likely a move of the monitor is that came k times in n, given log odds."""
    weight = 1.0 / (1.0 + math.exp(-odds))
    return weight * _if_set(k, n, n_sm) + (1.0 - weight) * _if_random(k, n, n_sm)


@compilable
def _if_set(k: int, n: int, n_sm: int) -> float:
    """Return the same if the monitor is set in its ways: then a few moves tell."""
    return (k + SMOOTH / n_sm) / (n + SMOOTH)


@compilable
def _if_random(k: int, n: int, n_sm: int) -> float:
    """Return the same if it moves at random: then it may do anything at first."""
    return (k + 1.0) / (n + n_sm)


@compilable
def _least_evidence(n: int) -> float:
    """Return how far the evidence may fall after n visits.

    So a change of mind is never far, and one by chance the rarer the more is known.
    """
    return -3.0 - 2.0 * math.log(n + 1.0)


@compilable
def _pool(mon: Any, pool: Table, sm: int, am: int, next_sm: int, moves: int) -> None:
    """Count moves of the monitor for P̄ᵐ, or take them back if their number is negative."""
    n, stay = pool["n"], pool["stay"]
    y = sm * n.shape[2] + am
    slot = find_slot(mon, y, next_sm)
    if slot == mon.first[y] + mon.used[y]:
        mon.state[slot] = next_sm
        mon.used[y] += 1
    mon.visits[slot] += moves
    n[0, sm, am] += moves
    stay[0, sm, am] = 1.0 if n[0, sm, am] == 0 else 0.0
    if n[0, sm, am] > 0:
        for j in range(mon.first[y], mon.first[y] + mon.used[y]):
            mon.share[j] = mon.visits[j] / n[0, sm, am]
            if mon.state[j] == sm:
                stay[0, sm, am] = mon.share[j]


@compilable
def _plan(agent: Any) -> None:
    """Decide what to observe for, if anything, and plan it."""
    p, clock, v, v_low = agent.parameters, agent.clock, agent.states["v"], agent.states["v_low"]
    _believe(agent)
    clock[SINCE], clock[NEWS] = 0, 0
    found = False
    if p.likely_first:
        clock[PHASE] = LIKELY
        _hope(agent, True, p.r_max)
        v[:] = v_low
        _sweep(agent, p.r_max, False, p.sweeps, ROUGH, v, agent.cells["q_hope"])
        found = _take_aim(agent)
    if not found:
        clock[PHASE] = POSSIBLE
        best = p.r_max / (1.0 - p.gamma)
        _hope(agent, False, best)
        v[:] = v_low
        _sweep(agent, best, False, PATIENT * p.sweeps, ROUGH, v, agent.cells["q_hope"])
        if not _take_aim(agent):
            clock[PHASE] = OPTIMIZE
    if clock[PHASE] < OPTIMIZE or not p.stop:
        _reward_observing(agent)
        v[:] = 0.0
        _sweep(agent, LOW, True, p.sweeps, ROUGH, v, agent.cells["q_obs"])


@compilable
def _believe(agent: Any) -> None:
    """Find chances, weights, ω, e(x), and what is untried or unresolved."""
    p, clock, env, noise = agent.parameters, agent.clock, agent.env, agent.noise
    n, chance, weight = agent.cells["n"], agent.cells["chance"], agent.cells["weight"]
    n_env, omega, fruitless = agent.pairs["n"], agent.pairs["omega"], agent.pairs["fruitless"]
    unresolved = agent.pairs["unresolved"]
    sights, given_up = agent.outcomes["sights"], agent.outcomes["given_up"]
    monitor = agent.monitor
    (n_se, n_ae), (n_sm, n_am) = n_env.shape, monitor.shape
    _find_untried(agent)
    likely, low = np.empty((n_sm, n_am)), np.empty((n_sm, n_am))
    for sm in range(n_sm):
        for am in range(n_am):
            likely[sm, am] = (monitor["shown"][sm, am] + 1.0) / (monitor["n"][sm, am] + 2.0)
            bound = _lower_bound(monitor["hits"][sm, am], monitor["tries"][sm, am], p.caution)
            low[sm, am] = -math.log(1.0 - min(bound, p.rho_cap))
    of_bin, last = np.zeros(BINS), 1.0
    for b in range(BINS):
        # A bin that is empty is thought to have half of the one before.
        of_bin[b] = (agent.bins["novel"][b] + 0.5 * last) / (agent.bins["looked"][b] + 1.0)
        last = of_bin[b]
    needed = 1
    if noise[0] > 1e-12:
        variance = noise[0] / noise[1]
        needed += math.ceil(math.log(clock[K] + 2.0) * variance / p.precision**2)
    least = p.revive * math.sqrt(clock[DONE])
    for se in range(n_se):
        for ae in range(n_ae):
            n_x, x = n_env[se, ae], se * n_ae + ae
            tries, most = 0.0, 0.0
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    if p.knows_monitor:
                        most = max(most, chance[s, a])
                        weight[s, a] = -math.log(1.0 - min(chance[s, a], 0.999))
                    elif p.pool_sights:
                        chance[s, a] = likely[sm, am]
                        weight[s, a] = low[sm, am]
                    else:
                        chance[s, a] = 1.0 / (n[s, a] + 2.0)
                        weight[s, a] = -math.log(1.0 - ASSUMED)
                    tries += n[s, a] * weight[s, a]
            unresolved[se, ae] = 0
            if n_x > 0:
                b = _bin_of(n_x)
                omega[se, ae] = of_bin[b] * 2.0**b / n_x if p.novelty else 0.0
                fruitless[se, ae] = tries / n_x
                for j in range(env.first[x], env.first[x] + env.used[x]):
                    in_vain, given_up[j] = env.visits[j] * tries / n_x, 0
                    if sights[j] == 0 and env.visits[j] > least:
                        given_up[j] += in_vain > p.give_up
                        given_up[j] += in_vain > p.give_up * p.insist
                    if sights[j] == 0 and p.knows_monitor and most == 0:
                        given_up[j] = 2
                    if sights[j] < needed:
                        unresolved[se, ae] = max(unresolved[se, ae], 2 - given_up[j])


@compilable
def _find_untried(agent: Any) -> None:
    """Find where nothing is known of where a cell leads, by itself or by its factors."""
    n, untried, pool = agent.cells["n"], agent.cells["untried"], agent.pool["n"]
    n_env, alone, kind = agent.pairs["n"], agent.pairs["alone"], agent.pairs["kind"]
    n_sm, n_am = agent.monitor.shape
    for s in range(n.shape[0]):
        se, sm = s // n_sm, s % n_sm
        for ae in range(n_env.shape[1]):
            nothing, of = n_env[se, ae] == 0 or alone[se, ae], kind[se, ae]
            for am in range(n_am):
                a = ae * n_am + am
                untried[s, a] = n[s, a] == 0 and (nothing or pool[of, sm, am] == 0)


@compilable
def _lower_bound(hits: int, tries: int, z: float) -> float:
    """Return Wilson's lower bound, z standard errors below a frequency."""
    if hits == 0:
        return 0.0
    share, c = hits / tries, z * z / tries
    spread = z * math.sqrt(share * (1.0 - share) / tries + c / (4.0 * tries))
    return max(0.0, (share + c / 2.0 - spread) / (1.0 + c))


@compilable
def _hope(agent: Any, likely: bool, unknown: float) -> None:
    """Rewards of the likely plan, or of the possible one; `unknown` is what is never tried."""
    p, env = agent.parameters, agent.env
    untried, reward = agent.cells["untried"], agent.cells["reward"]
    n_env, fruitless, seen = agent.pairs["n"], agent.pairs["fruitless"], agent.pairs["reward"]
    sights, total = agent.outcomes["sights"], agent.outcomes["total"]
    given_up, hoped = agent.outcomes["given_up"], agent.outcomes["hoped"]
    (n_se, n_ae), (n_sm, n_am) = n_env.shape, agent.monitor.shape
    of_mon = agent.monitor["total"] / np.maximum(agent.monitor["n"], 1)
    for se in range(n_se):
        for ae in range(n_ae):
            n, x, of_env = n_env[se, ae], se * n_ae + ae, 0.0
            for j in range(env.first[x], env.first[x] + env.used[x]):
                visits = env.visits[j]
                hoped[j] = not likely and sights[j] == 0 and given_up[j] == 0
                if sights[j] > 0:
                    of_outcome = total[j] / sights[j]
                elif given_up[j] > likely:
                    of_outcome = seen[se, ae]
                else:
                    ended = env.ended[j] / visits
                    onward = p.typical if likely else unknown
                    of_outcome = ended * p.r_max + (1.0 - ended) * onward
                    if likely:
                        # One over the odds that it can be seen: so many more tries it would take.
                        odds = math.exp(min(fruitless[se, ae] * visits - p.trust, MOST))
                        of_outcome -= p.unseen_cost * (1.0 + odds)
                of_env += of_outcome * visits / n
            # A monitor pair never tried is unlikely to pay.
            ruled_out = likely and n > 0 and not agent.pairs["alone"][se, ae]
            of_untried = LOW if ruled_out else unknown
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    reward[s, a] = of_untried if untried[s, a] else of_env + of_mon[sm, am]


@compilable
def _reward_observing(agent: Any) -> None:
    """Rewards of the plan that observes."""
    p, possible = agent.parameters, agent.clock[PHASE] == POSSIBLE
    n, chance, weight = agent.cells["n"], agent.cells["chance"], agent.cells["weight"]
    untried, reward = agent.cells["untried"], agent.cells["reward"]
    pairs, n_env, aim_mon = agent.pairs, agent.pairs["n"], agent.monitor["aim"]
    (n_se, n_ae), (n_sm, n_am) = n_env.shape, agent.monitor.shape
    most = 1.0 / (1.0 - p.gamma_obs)
    for se in range(n_se):
        for ae in range(n_ae):
            n_x, worth = n_env[se, ae], 0.0
            if n_x > 0 and (pairs["aim"][se, ae] or not p.aim):
                if pairs["unresolved"][se, ae] > 0:
                    worth = 1.0 if possible or agent.env.may_end[se * n_ae + ae] else p.path
            elif n_x > 0 and pairs["unresolved"][se, ae] == 2:
                tries = pairs["fruitless"][se, ae] * n_x
                worth = p.aside / (1.0 + math.exp(min(tries - p.trust, MOST)))
            pinned = n_x == 0 or pairs["alone"][se, ae] or not p.aim
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    if untried[s, a] and (pinned or aim_mon[sm, am]):
                        reward[s, a] = most + chance[s, a]
                    elif untried[s, a]:
                        untried[s, a] = False  # it is thought to leave the monitor as it is
                        reward[s, a] = max(worth, p.aside) * chance[s, a]
                    else:
                        # A cell that was in vain for long gives way to others of the same pair.
                        stale = max(0.0, n[s, a] * weight[s, a] - 2.0)
                        reward[s, a] = worth * chance[s, a] / (1.0 + stale)
                        reward[s, a] += p.aside * pairs["omega"][se, ae]


@compilable
def _take_aim(agent: Any) -> bool:
    """Mark what is not known on the way of the hopeful policy; return whether there is any."""
    env, mon, joint, q = agent.env, agent.mon, agent.joint, agent.cells["q_hope"]
    n, own, untried = agent.cells["n"], agent.cells["own"], agent.cells["untried"]
    aim, aim_mon, starts = agent.pairs["aim"], agent.monitor["aim"], agent.states["starts"]
    n_ae, (n_sm, n_am) = aim.shape[1], aim_mon.shape
    enough = _enough(agent.parameters.knows_monitor)
    n_s, n_a = q.shape
    aim[:] = False
    aim_mon[:] = False
    reached, waiting = np.zeros(n_s, np.bool_), np.empty(n_s, np.int64)
    n_waiting, found, least = 0, False, 1 if agent.clock[PHASE] == LIKELY else 2
    for s in range(n_s):
        if starts[s] > 0:
            reached[s] = True
            waiting[n_waiting] = s
            n_waiting += 1
    while n_waiting > 0:
        n_waiting -= 1
        s = waiting[n_waiting]
        a = 0
        for b in range(1, n_a):
            if q[s, b] > q[s, a] + TIE:
                a = b
        se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
        if untried[s, a]:
            aim[se, ae] = True
            aim_mon[sm, am] = True
            found = True
            continue
        if agent.pairs["unresolved"][se, ae] >= least:
            aim[se, ae] = True
            found = True
        if n[s, a] >= enough or (own[s, a] and n[s, a] > 0):
            c = s * n_a + a
            for j in range(joint.first[c], joint.first[c] + joint.used[c]):
                next_s = joint.state[j]
                if joint.go_on[j] > 0.0 and not reached[next_s]:
                    reached[next_s] = True
                    waiting[n_waiting] = next_s
                    n_waiting += 1
        else:
            x = se * n_ae + ae
            u = (agent.pairs["kind"][se, ae] * n_sm + sm) * n_am + am
            for j in range(env.first[x], env.first[x] + env.used[x]):
                for i in range(mon.first[u], mon.first[u] + mon.used[u]):
                    next_s = env.state[j] * n_sm + mon.state[i]
                    if env.go_on[j] > 0.0 and mon.share[i] > 0.0 and not reached[next_s]:
                        reached[next_s] = True
                        waiting[n_waiting] = next_s
                        n_waiting += 1
    return found


@compilable
def _sweep(
    agent: Any,
    unknown: float,
    observing: bool,
    sweeps: int,
    tolerance: float,
    v: FloatArray,
    q: FloatArray,
) -> None:
    """Improve v[s] by sweeps in both directions over reward[s, a] and the model; write q[s, a].

    With z(s′ᵉ, y) = Σ P̄ᵐ(s′ᵐ|y) v(s′ᵉ, s′ᵐ), one sum over the outcomes of a pair serves all monitor
    states and actions. A step that leads back to its own state is solved for, not iterated. ω of
    the time `unknown` is what follows, and what is hoped for has no other future than its reward;
    neither counts if `unknown` is LOW. An episode that ended has no future, unless the agent
    observes: then the next one begins. After the first sweep a state is passed over unless a value
    has changed that it depends on.
    """
    p, env, mon, joint = agent.parameters, agent.env, agent.mon, agent.joint
    n, own = agent.cells["n"], agent.cells["own"]
    reward, untried = agent.cells["reward"], agent.cells["untried"]
    omegas, kinds, hoped = agent.pairs["omega"], agent.pairs["kind"], agent.outcomes["hoped"]
    n_pool, stay, starts = agent.pool["n"], agent.pool["stay"], agent.states["starts"]
    (n_se, n_ae), (n_sm, n_am) = kinds.shape, agent.monitor.shape
    n_a, n_y = n_ae * n_am, n_sm * n_am
    hopes, enough = unknown > LOW, _enough(p.knows_monitor)
    scale = p.gamma_obs / p.gamma if observing else 1.0
    z, ahead, best = np.empty((n_se, stay.size)), np.empty(n_y), np.empty(n_sm)
    for se in range(n_se):
        _look_ahead(mon, n_pool, v, se, z)
    n_starts = 0
    for s in range(len(v)):
        n_starts += starts[s]
    # Turns are numbered: when v(sᵉ, ·) was last looked at, and when it last changed.
    turn, looked, moved = 0, np.zeros(n_se, np.int64), np.zeros(n_se, np.int64)
    restart, restart_moved, size = 0.0, 0, 1.0
    for sweep in range(sweeps):
        if observing and n_starts > 0:
            before, restart = restart, 0.0
            for s in range(len(v)):
                restart += starts[s] * v[s]
            restart /= n_starts
            if restart != before:
                turn += 1
                restart_moved = turn
        change = 0.0
        for i in range(n_se):
            se = i if sweep % 2 == 0 else n_se - 1 - i
            if sweep > 0 and not _is_behind(env, se, n_ae, moved, restart_moved, looked[se]):
                continue
            turn += 1
            looked[se] = turn
            for sm in range(n_sm):
                best[sm] = LOW
            for ae in range(n_ae):
                x, kind = se * n_ae + ae, kinds[se, ae]
                omega = omegas[se, ae] if hopes else 0.0
                keep, add = (1.0 - omega) * scale, omega * p.gamma * unknown if hopes else 0.0
                ended, back = 0.0, 0.0
                for y in range(n_y):
                    ahead[y] = 0.0
                for j in range(env.first[x], env.first[x] + env.used[x]):
                    w, to = env.go_on[j], env.state[j]
                    ended += (env.land[j] - w) * restart
                    if w > 0.0 and not (hopes and hoped[j]):
                        if to == se:
                            back += w
                        for y in range(n_y):
                            ahead[y] += w * z[to, kind * n_y + y]
                for sm in range(n_sm):
                    s = se * n_sm + sm
                    for am in range(n_am):
                        a = ae * n_am + am
                        value, to_self = reward[s, a], 0.0
                        if not untried[s, a]:
                            if n[s, a] >= enough or (own[s, a] and n[s, a] > 0):
                                c, future = s * n_a + a, 0.0
                                for j in range(joint.first[c], joint.first[c] + joint.used[c]):
                                    w, to = joint.go_on[j], joint.state[j]
                                    future += (joint.land[j] - w) * restart
                                    if not (hopes and hoped[find_slot(env, x, to // n_sm)]):
                                        future += w * v[to]
                                        if to == s:
                                            to_self += w
                            else:
                                future = ahead[sm * n_am + am] + ended
                                to_self = back * stay[kind, sm, am]
                            value += add + keep * future
                            to_self *= keep
                        q[s, a] = value
                        best[sm] = max(best[sm], (value - to_self * v[s]) / (1.0 - to_self))
            for sm in range(n_sm):
                s = se * n_sm + sm
                if best[sm] != v[s]:
                    moved[se] = turn
                change = max(change, abs(best[sm] - v[s]))
                if best[sm] > RULED_OUT:
                    size = max(size, abs(best[sm]))
                v[s] = best[sm]
            if moved[se] == turn:
                _look_ahead(mon, n_pool, v, se, z)
        if change <= tolerance * size:
            break


@compilable
def _enough(knows_monitor: bool) -> int:
    """Return how many visits make a cell speak for itself: if the monitor is known, none do."""
    return 2**62 if knows_monitor else ENOUGH


@compilable
def _is_behind(
    env: Any, se: int, n_ae: int, moved: IntArray, restart_moved: int, looked: int
) -> bool:
    """Return whether a value has changed since sᵉ was looked at that it depends on."""
    for x in range(se * n_ae, se * n_ae + n_ae):
        if env.may_end[x] and restart_moved > looked:
            return True
        for j in range(env.first[x], env.first[x] + env.used[x]):
            if moved[env.state[j]] >= looked:  # equal: it leads to itself, and has just changed
                return True
    return False


@compilable
def _look_ahead(mon: Any, n_pool: IntArray, v: FloatArray, se: int, z: FloatArray) -> None:
    """Write z(sᵉ, y) = Σ P̄ᵐ(s′ᵐ | y) v(sᵉ, s′ᵐ), kind by kind; if y was never tried, it stays."""
    n_kinds, n_sm, n_am = n_pool.shape
    for kind in range(n_kinds):
        for sm in range(n_sm):
            for am in range(n_am):
                u, total = (kind * n_sm + sm) * n_am + am, 0.0
                for j in range(mon.first[u], mon.first[u] + mon.used[u]):
                    total += mon.share[j] * v[se * n_sm + mon.state[j]]
                z[se, u] = total if n_pool[kind, sm, am] > 0 else v[se * n_sm + sm]


@compilable
def _plan_net(agent: Any) -> None:
    """Plan an episode of Monitored MBIE-EB that observes: R_obs, on counts of cells."""
    p, n_seen, n_state = agent.parameters, agent.pairs["n_seen"], agent.states["n"]
    n, tried, reward = agent.cells["n"], agent.cells["tried"], agent.cells["reward"]
    n_sm, n_am = agent.monitor.shape
    for s in range(n.shape[0]):
        if n_state[s] > 0:
            g = growth_of(n_state[s], 0)
            for a in range(n.shape[1]):
                if n[s, a] > 0:
                    tried[s, a] = True
                    reward[s, a] = p.beta_obs * math.sqrt(g / n[s, a])
                    if n_seen[s // n_sm, a // n_am] == 0:
                        reward[s, a] += 1.0 - math.exp(-p.beta_kl * g / n[s, a])
    # Endings have no future: nobody ever acts where some episodes end, and that is no loss.
    value_iteration(agent.joint, tried, True, reward, p.gamma, 50, agent.cells["q_net"])


@compilable
def _plan_low(agent: Any, sweeps: int, v: FloatArray) -> None:
    """Go on with the low plan: from v[s], and into q_low."""
    p, seen = agent.parameters, agent.pairs["reward"]
    untried, reward = agent.cells["untried"], agent.cells["reward"]
    n_sm, n_am = agent.monitor.shape
    _find_untried(agent)
    of_mon = agent.monitor["total"] / np.maximum(agent.monitor["n"], 1)
    worst = p.r_min / (1.0 - p.gamma) - 1.0
    for s in range(reward.shape[0]):
        for a in range(reward.shape[1]):
            known = seen[s // n_sm, a // n_am] + of_mon[s % n_sm, a % n_am]
            reward[s, a] = worst if untried[s, a] else known
    _sweep(agent, LOW, False, sweeps, FINE, v, agent.cells["q_low"])
