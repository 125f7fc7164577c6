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
    possible   every unseen reward is r_max, and r_max/(1 - γ) is waiting where nothing was tried
    observe    1 for seeing, times the chance to see, of what is *aimed* at; little for all else

Aimed at is what is not known on the way of the best likely policy; if all of it is known, of the
best possible policy; if all of that is known, too, the agent stops observing and follows it. So it
observes only what could change the policy, and what likely does first. It replans within episodes.

None of this is trusted blindly. Now and then, more often when learning stalls or exceptions abound,
an episode is one of Monitored MBIE-EB that observes, on counts of joint pairs alone: the *net*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents import layers
from monmdp.agents.base import AgentConfig, at_least_zero, tried_with
from monmdp.agents.greedy import TIE, greedy_action, greedy_policy
from monmdp.agents.planner import growth_of
from monmdp.agents.successors import (
    Successors,
    count_successor,
    find_slot,
    no_successors,
    with_room,
)
from monmdp.agents.value_iteration import LOW, value_iteration
from monmdp.compiling import compilable, implement
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.mdp import probability, whole_number
from monmdp.model.monmdp import Shape
from monmdp.planning.factors import factors

LIKELY, POSSIBLE, OPTIMIZE = 1, 2, 3
"""phases: what is observed for, and that nothing is any more"""
K, NET, SINCE, NEWS, FIRST, PHASE, IDLE, DONE, OBSERVED, LENGTH = range(10)
"""entries of `clock`: episodes, whether this one is of the net, steps since the last plan, whether
there was news since, whether no action was taken yet, the phase, episodes since the last news,
episodes that were to optimize, episodes that observed, steps of this one"""
BINS = 24
"""ω(n) is learnt for n = 1, 2-3, 4-7, …"""
SMOOTH = 0.5
"""visits that stand for not knowing where the monitor moves"""
VOTES = 2
"""visits of a cell that count when all pairs vote on how the monitor moves"""
NEW = 50
"""visits up to which a cell is compared with the vote, too"""
WORST_EVIDENCE = -3.0
"""how far evidence against an exception may add up; so a change of mind is never far"""
ASSUMED = 0.05
"""ρ, if it is not learnt"""
HEADSTART = 3
"""steps after news at which plans are made anew"""
ROUGH, FINE = 1e-4, 1e-9
"""change of a value, as a share of the largest, up to which a plan is good enough: to explore with
it, and to be tested"""
PATIENT = 8
"""by how much more sweeps the possible plan may take: its values are large and far away"""
SETTLED = 50
"""steps for which a plan is followed once there is neither news nor anything to observe"""
STEPS_A_SWEEP = 8
"""steps of the last episode for which the low plan is swept once more before the next"""
MOST = 700.0
"""the largest logarithm of odds: where it counts, more would be the same"""


@dataclass(frozen=True, kw_only=True)
class FactoredMBIEEB(AgentConfig):
    """Factored MBIE-EB and its hyper-parameters, one set for all problems."""

    name: ClassVar[str] = "factored-mbie-eb"
    slow_verbs: ClassVar[tuple[str, ...]] = ("begin_episode", "update")
    snapshot_fields: ClassVar[tuple[str, ...]] = (
        "n", "n_env", "n_seen", "fruitless", "q_low", "q_hope", "q_obs",
    )  # fmt: skip
    explains: ClassVar[Mapping[str, str]] = {
        "hope": "How likely the agent holds it that a reward never shown can be seen at all. It "
        "falls with every try in vain, the faster the better the monitor action shows other "
        "rewards.",
        "q_opt": "Value of each action with the best monitor action in the mean of what was seen, "
        "with r_min for what was not, and worse than r_min for ever for what was never tried; the "
        "test policy takes the largest. As planned at this moment.",
        "q": "Value of each action with the best monitor action if rewards not seen yet are the "
        "best that is likely or, once that is known, the best that is possible. What is not known "
        "on the way of the largest is aimed at; when there is nothing, the agent acts on it. As "
        "last planned.",
        "q_obs": "Value of each action for seeing what is aimed at; while there is anything, the "
        "agent acts on the largest. As last planned.",
    }

    knows_monitor: bool = False
    """the monitor is given: pᵐ, rᵐ and the chance to see a reward"""
    r_max: float = 1.0
    """the largest environment reward there can be"""
    typical: float = 0.0
    """what a reward that was not seen yet is likely to be, where the episode went on"""
    factored: bool = True
    """pool pᵉ over the monitor and pᵐ over the environment; else each joint pair is on its own"""
    pool_sights: bool = True
    """learn how likely the monitor shows a reward from all pairs; else it is taken for 0.05"""
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
    """steps after which it plans again within an episode; 0: never"""
    sweeps: int = 15
    """sweeps of a plan, at most"""
    gamma_obs: float = 0.97
    """discount of observing"""
    path: float = 0.5
    """worth of observing what is aimed at and did not end an episode; of what did, 1"""
    aside: float = 0.01
    """worth of observing what is not aimed at"""
    unseen_cost: float = 0.003
    """what the likely plan pays for a pair not seen yet: it prefers ways that are known"""
    trust: float = 1.5
    """log odds that a pair can be seen at all, before it was ever tried"""
    give_up: float = 4.0
    """effective tries in vain after which a reward counts as never shown"""
    revive: float = 2.0
    """and visits, times the root of the episodes that optimized: no verdict is final"""
    caution: float = 0.5
    """standard errors that ρ_low lies below the frequency of seeing"""
    rho_cap: float = 0.5
    """the largest ρ_low: a single try in vain never counts for more than one at this ρ"""
    precision: float = 0.1
    """standard error up to which a reward that is random needs to be known"""
    evidence: float = 3.0
    """log Bayes factor from which on a pair or a cell is an exception"""
    net: float = 0.25
    """of k episodes, about k to this power are of the net; 0: none ever"""
    net_after: float = 0.75
    """the same for those that would optimize"""
    bored: int = 20
    """episodes without news after which every other one is of the net"""
    beta_kl: float = 0.05
    """β_KL of the net"""
    beta_obs: float = 5e-4
    """β_obs of the net"""

    @property
    def takes_unseen_for(self) -> str:
        """What a reward that was tried and never shown counts as, in words."""
        return "r_min in tests"

    @property
    def needs_model(self) -> bool:
        """Whether the agent is given the monitor."""
        return self.knows_monitor

    def check(self) -> None:
        """Refuse what is out of range."""
        at_least_zero(
            self, "path", "aside", "unseen_cost", "give_up", "revive", "caution", "beta_kl",
            "beta_obs", "net", "net_after",
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
        whole_number(self.replan, "replan", at_least=0)
        whole_number(self.sweeps, "sweeps", at_least=1)
        whole_number(self.bored, "bored", at_least=1)

    def check_model(self, model: MonMDP | None) -> None:
        """Demand the monitor if it is to be known, and one that does not give the reward away."""
        if not self.knows_monitor:
            return
        what = f"agent {self.name!r} with knows_monitor=true"
        if model is None:
            raise MonMDPError(
                f"{what} must be given the monitor: it takes a MonMDP or one of its environments, "
                "not an environment without a model"
            )
        if model.monitor.reads_reward:
            raise MonMDPError(
                f"{what} is not offered for monitor {model.monitor.name!r}: whether it shows a "
                "reward depends on the reward, so to know the monitor is to know rᵉ"
            )

    def state(self, shape: Shape, r_min: float, model: MonMDP | None = None) -> State:
        """Return the state of an agent that has seen nothing yet."""
        self.check_model(model)
        if r_min > self.r_max:
            raise MonMDPError(f"r_max is {self.r_max:g}, below the world's r_min, {r_min:g}")
        n_se, n_sm, n_ae, n_am = shape
        joint, env, mon = (n_se * n_sm, n_ae * n_am), (n_se, n_ae), (n_sm, n_am)
        of_env, of_joint = tried_with(shape, model)
        worst, best = r_min / (1 - self.gamma), self.r_max / (1 - self.gamma)
        state = State(
            parameters=Parameters(
                gamma=self.gamma,
                r_min=r_min,
                r_max=self.r_max,
                typical=min(max(self.typical, r_min), self.r_max),
                knows_monitor=self.knows_monitor,
                factored=self.factored,
                pool_sights=self.pool_sights,
                likely_first=self.likely_first,
                aim=self.aim,
                stop=self.stop,
                novelty=self.novelty,
                pessimistic_test=self.pessimistic_test,
                replan=self.replan,
                sweeps=self.sweeps,
                gamma_obs=self.gamma_obs,
                path=self.path,
                aside=self.aside,
                unseen_cost=self.unseen_cost,
                trust=self.trust,
                give_up=self.give_up,
                revive=self.revive,
                caution=self.caution,
                rho_cap=self.rho_cap,
                precision=self.precision,
                evidence=self.evidence,
                net=self.net,
                net_after=self.net_after,
                bored=self.bored,
                beta_kl=self.beta_kl,
                beta_obs=self.beta_obs,
            ),
            clock=np.zeros(10, dtype=np.int64),
            n=np.zeros(joint, dtype=np.int64),
            n_state=np.zeros(joint[0], dtype=np.int64),
            n_start=np.zeros(joint[0], dtype=np.int64),
            joint=no_successors(of_joint),
            n_env=np.zeros(env, dtype=np.int64),
            env=no_successors(of_env),
            sights=np.zeros(int(np.sum(of_env)), dtype=np.int64),
            sight_sum=np.zeros(int(np.sum(of_env))),
            given_up=np.zeros(int(np.sum(of_env)), dtype=np.bool_),
            noise=np.zeros(2),
            n_seen=np.zeros(env, dtype=np.int64),
            seen_reward=np.full(env, r_min),
            pair_class=np.zeros(env, dtype=np.int64),
            n_mon=np.zeros(mon, dtype=np.int64),
            mon_sum=np.zeros(mon),
            n_pool=np.zeros((1, *mon), dtype=np.int64),
            mon=no_successors(np.full(n_sm * n_am, n_sm)),
            stay=np.zeros((1, *mon)),
            votes=np.zeros((n_sm, n_am, n_sm), dtype=np.int64),
            evidence=np.zeros(joint),
            evidence_env=np.zeros(env),
            own=np.full(joint, not self.factored),
            alone=np.full(env, not self.factored),
            shown=np.zeros(mon, dtype=np.int64),
            tries=np.zeros(mon, dtype=np.int64),
            hits=np.zeros(mon, dtype=np.int64),
            chance=np.zeros(joint),
            weight=np.zeros(joint),
            novel=np.zeros(BINS, dtype=np.int64),
            looked=np.zeros(BINS, dtype=np.int64),
            omega=np.zeros(env),
            fruitless=np.zeros(env),
            unresolved=np.zeros(env, dtype=np.bool_),
            untried=np.ones(joint, dtype=np.bool_),
            aim_env=np.zeros(env, dtype=np.bool_),
            aim_mon=np.zeros(mon, dtype=np.bool_),
            reward=np.zeros(joint),
            v_low=np.full(joint[0], worst),
            v_likely=np.full(joint[0], worst),
            v_possible=np.full(joint[0], worst),
            v_obs=np.zeros(joint[0]),
            q_low=np.full(joint, worst),
            q_hope=np.full(joint, best),
            q_obs=np.zeros(joint),
            tried=np.zeros(joint, dtype=np.bool_),
            q_net=np.full(joint, 1 / (1 - self.gamma)),
        )
        return self._told(state, model) if self.knows_monitor and model is not None else state

    def _told(self, state: State, model: MonMDP) -> State:
        """Return the state of an agent that was told what the monitor does."""
        given = factors(model)
        n_classes, n_sm, n_am = given.row_of.shape
        rows = np.array(given.row)[np.array(given.row_of)]  # [class, sᵐ, aᵐ, s′ᵐ]
        mon = no_successors(np.full(rows[..., 0].size, n_sm))
        for u, row in enumerate(rows.reshape(-1, n_sm)):
            to = np.flatnonzero(row)
            here = slice(mon.first[u], mon.first[u] + len(to))
            mon.state[here], mon.land[here], mon.used[u] = to, row[to], len(to)
        of_state = np.arange(n_sm)
        return state._replace(
            pair_class=np.array(model.pair_class, dtype=np.int64).reshape(state.pair_class.shape),
            n_mon=np.ones((n_sm, n_am), dtype=np.int64),
            mon_sum=np.array(model.monitor.reward, dtype=np.float64),
            n_pool=np.ones((n_classes, n_sm, n_am), dtype=np.int64),
            mon=mon,
            stay=np.ascontiguousarray(rows[:, of_state, :, of_state].transpose(1, 0, 2)),
            chance=model.observability(),
        )

    def with_room(self, state: State, s: int, a: int, next_s: int) -> State:
        """Return a state with room for one more successor."""
        n_sm, n_am = state.n_mon.shape
        pair = (s // n_sm) * state.n_env.shape[1] + a // n_am
        was, used = int(state.env.first[pair]), int(state.env.used[pair])
        env = with_room(state.env, pair, next_s // n_sm)
        now, room = int(env.first[pair]), len(env.state) - len(state.sights)
        columns: list[Any] = []
        for column in (state.sights, state.sight_sum, state.given_up):
            larger = np.append(column, np.zeros(room, dtype=column.dtype))
            if now != was:  # the slots have moved, and what was seen there moves with them
                larger[now : now + used] = larger[was : was + used]
                larger[was : was + used] = 0
            columns.append(larger)
        sights, sight_sum, given_up = columns
        joint = with_room(state.joint, s * state.n.shape[1] + a, next_s)
        return state._replace(
            env=env, joint=joint, sights=sights, sight_sum=sight_sum, given_up=given_up
        )

    def snapshot(self, state: State) -> dict[str, Any]:
        """Return copies of counts and action values, the test policy, and the episodes."""
        policy = np.zeros(state.n.shape)
        test_policy(state, policy)
        clock = state.clock
        observing = clock[NET] or clock[PHASE] < OPTIMIZE or not self.stop
        episodes = np.array([clock[K], clock[OBSERVED], observing])
        return super().snapshot(state) | {"policy": policy, "episodes": episodes}

    def layers(self, snapshot: Mapping[str, Any], monmdp: MonMDP) -> layers.Layers:
        """Return what one snapshot says of the cells of a map.

        Its hope is what is left of its trust. Q_opt is the low plan, Q the hopeful one; with an
        optimistic test policy there is no low plan.
        """
        shape = monmdp.shape
        n = layers.by_parts(snapshot["n"], shape)
        seen = layers.everywhere(snapshot["n_seen"], shape)
        tries = layers.everywhere(snapshot["fruitless"] * snapshot["n_env"], shape)
        hope = np.where(seen > 0, 0.0, 1.0 / (1.0 + np.exp(np.minimum(tries - self.trust, MOST))))
        if self.knows_monitor:
            chance = layers.by_parts(monmdp.observability(), shape)
            hope[layers.everywhere(chance.max(axis=(1, 3)) == 0, shape) > 0] = 0.0
        values = {"q_opt": snapshot["q_low"], "q": snapshot["q_hope"], "q_obs": snapshot["q_obs"]}
        if not self.pessimistic_test:
            del values["q_opt"]
        return (
            layers.counted(n, seen)
            | {"hope": hope}
            | layers.best(values, ("q_opt", "q", "q_obs"), shape)
            | layers.followed(snapshot, shape)
        )


class Parameters(NamedTuple):
    """The hyper-parameters as compiled code reads them."""

    gamma: float
    r_min: float
    r_max: float
    typical: float
    knows_monitor: bool
    factored: bool
    pool_sights: bool
    likely_first: bool
    aim: bool
    stop: bool
    novelty: bool
    pessimistic_test: bool
    replan: int
    sweeps: int
    gamma_obs: float
    path: float
    aside: float
    unseen_cost: float
    trust: float
    give_up: float
    revive: float
    caution: float
    rho_cap: float
    precision: float
    evidence: float
    net: float
    net_after: float
    bored: int
    beta_kl: float
    beta_obs: float


class State(NamedTuple):
    """All that the agent knows."""

    parameters: Parameters
    clock: IntArray
    """see K, NET, … above"""
    n: IntArray
    """[s, a] n(c), visits of joint pairs"""
    n_state: IntArray
    """[s] N(s)"""
    n_start: IntArray
    """[s] episodes that began there"""
    joint: Successors
    """of joint pairs: P̄"""
    n_env: IntArray
    """[sᵉ, aᵉ] n(x), visits"""
    env: Successors
    """of environment pairs: P̄ᵉ; a slot is an outcome"""
    sights: IntArray
    """[slot of env] how often the outcome's reward was shown"""
    sight_sum: FloatArray
    """[slot of env] sum of the rewards shown"""
    given_up: BoolArray
    """[slot of env] whether it was tried so often in vain that it counts as never shown"""
    noise: FloatArray
    """[2] squared deviations of rewards from the mean of their outcome, and how many"""
    n_seen: IntArray
    """[sᵉ, aᵉ] N(sᵉ,aᵉ), visits whose reward was shown"""
    seen_reward: FloatArray
    """[sᵉ, aᵉ] R̄ᵉ over the outcomes that were seen, r_min if there is none"""
    pair_class: IntArray
    """[sᵉ, aᵉ] which pᵐ holds there; all 0 if it has to be learnt"""
    n_mon: IntArray
    """[sᵐ, aᵐ] n(y), visits"""
    mon_sum: FloatArray
    """[sᵐ, aᵐ] sum of the monitor's rewards"""
    n_pool: IntArray
    """[class, sᵐ, aᵐ] visits that P̄ᵐ is learnt from; exceptions are left out"""
    mon: Successors
    """of monitor pairs, class by class: P̄ᵐ is its `land`"""
    stay: FloatArray
    """[class, sᵐ, aᵐ] P̄ᵐ(sᵐ | y)"""
    votes: IntArray
    """[sᵐ, aᵐ, s′ᵐ] moves of the monitor, a few of each cell"""
    evidence: FloatArray
    """[s, a] log Bayes factor of a cell's own dynamics against the factors"""
    evidence_env: FloatArray
    """[sᵉ, aᵉ] the same for all cells of a pair together"""
    own: BoolArray
    """[s, a] whether the cell is an exception"""
    alone: BoolArray
    """[sᵉ, aᵉ] whether all of its cells are: the factors say nothing of those never tried"""
    shown: IntArray
    """[sᵐ, aᵐ] rewards shown"""
    tries: IntArray
    """[sᵐ, aᵐ] visits of outcomes whose reward had been seen before"""
    hits: IntArray
    """[sᵐ, aᵐ] those among them that showed it again"""
    chance: FloatArray
    """[s, a] how likely a reward is shown: ρ̂(y), or what was given"""
    weight: FloatArray
    """[s, a] how much a try in vain counts: -ln(1 - ρ_low(y))"""
    novel: IntArray
    """[bin] tries of pairs tried so often before that had an outcome never met"""
    looked: IntArray
    """[bin] all tries of such pairs"""
    omega: FloatArray
    """[sᵉ, aᵉ] ω(n(x))"""
    fruitless: FloatArray
    """[sᵉ, aᵉ] e(x)/n(x)"""
    unresolved: BoolArray
    """[sᵉ, aᵉ] whether an outcome's reward is not known and not given up"""
    untried: BoolArray
    """[s, a] whether nothing is known of where the cell leads"""
    aim_env: BoolArray
    """[sᵉ, aᵉ] what is aimed at"""
    aim_mon: BoolArray
    """[sᵐ, aᵐ] what is aimed at, of monitor pairs never tried"""
    reward: FloatArray
    """[s, a] the rewards of the plan in progress"""
    v_low: FloatArray
    """[s]"""
    v_likely: FloatArray
    """[s]"""
    v_possible: FloatArray
    """[s]"""
    v_obs: FloatArray
    """[s]"""
    q_low: FloatArray
    """[s, a]"""
    q_hope: FloatArray
    """[s, a] of the likely or the possible plan, whichever came last"""
    q_obs: FloatArray
    """[s, a]"""
    tried: BoolArray
    """[s, a] for the net, whether n(c) > 0 when it was last planned"""
    q_net: FloatArray
    """[s, a]"""


def begin_episode(agent: State, rng: np.random.Generator) -> bool:
    """Plan; return whether the episode observes."""
    p, clock = agent.parameters, agent.clock
    clock[K] += 1
    clock[FIRST] = 1
    clock[IDLE] += 1
    if p.pessimistic_test:
        _plan_low(agent, 1 + min(clock[LENGTH], 400) // STEPS_A_SWEEP, agent.v_low)
    clock[LENGTH] = 0
    if clock[NEWS] or clock[PHASE] != OPTIMIZE or clock[SINCE] >= SETTLED:
        _plan(agent)
    net = _falls_due(clock[K], p.net)
    if clock[PHASE] == OPTIMIZE:
        clock[DONE] += 1
        if _is_doubtful(agent):
            net = net or clock[DONE] % 2 == 0
        else:
            net = net or _falls_due(clock[DONE], p.net_after)
    elif clock[IDLE] > p.bored:
        net = net or clock[IDLE] % 2 == 0
    clock[NET] = net and p.net > 0
    if clock[NET]:
        _plan_net(agent)
    observing = bool(clock[NET] > 0 or clock[PHASE] < OPTIMIZE or not p.stop)
    clock[OBSERVED] += observing
    return observing


@compilable
def _falls_due(k: int, power: float) -> bool:
    """Return whether k to this power passes a whole number."""
    return power > 0 and math.floor(k**power) > math.floor((k - 1) ** power)


@compilable
def _is_doubtful(agent: Any) -> bool:
    """Return whether exceptions are so many that the factors explain little."""
    n_alone, n_tried = 0, 0
    for se in range(agent.n_env.shape[0]):
        for ae in range(agent.n_env.shape[1]):
            n_tried += agent.n_env[se, ae] > 0
            n_alone += agent.alone[se, ae]
    return n_alone > 1 + 0.1 * n_tried


def act(agent: State, s: int, rng: np.random.Generator) -> int:
    """Act greedily on what this episode is for, ties broken uniformly."""
    clock = agent.clock
    if clock[FIRST]:
        clock[FIRST] = 0
        agent.n_start[s] += 1
    if clock[NET]:
        return greedy_action(agent.q_net, s, rng.random())
    q = agent.q_hope if clock[PHASE] == OPTIMIZE and agent.parameters.stop else agent.q_obs
    return greedy_action(q, s, rng.random())


def update(
    agent: State,
    s: int,
    a: int,
    shown: bool,
    reward: float,
    monitor_reward: float,
    next_s: int,
    terminated: bool,
) -> None:
    """Count, weigh the evidence, and plan anew if there is news or it is time."""
    p, clock = agent.parameters, agent.clock
    n_sm, n_am = agent.n_mon.shape
    n_ae = agent.n_env.shape[1]
    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
    next_se, next_sm = next_s // n_sm, next_s % n_sm
    x, c = se * n_ae + ae, s * agent.n.shape[1] + a
    outcome = find_slot(agent.env, x, next_se)
    is_new = outcome == agent.env.first[x] + agent.env.used[x]
    news = agent.n_env[se, ae] == 0 or is_new

    if p.factored and not p.knows_monitor:
        news = _weigh(agent, s, a, next_s, is_new) or news
    if agent.n_env[se, ae] > 0:
        b = _bin_of(agent.n_env[se, ae])
        agent.looked[b] += 1
        agent.novel[b] += is_new

    agent.n[s, a] += 1
    agent.n_state[s] += 1
    agent.n_env[se, ae] += 1
    count_successor(agent.env, x, agent.n_env[se, ae], next_se, terminated, p.gamma)
    count_successor(agent.joint, c, agent.n[s, a], next_s, terminated, p.gamma)
    if not p.knows_monitor:
        news = news or agent.n_mon[sm, am] == 0
        agent.n_mon[sm, am] += 1
        agent.mon_sum[sm, am] += monitor_reward
        if not agent.own[s, a]:
            _pool(agent, sm, am, next_sm, 1)

    n_sights = agent.sights[outcome]
    if n_sights > 0:
        agent.tries[sm, am] += 1
        agent.hits[sm, am] += shown
    if shown:
        news = news or n_sights == 0
        if n_sights > 0:
            off = reward - agent.sight_sum[outcome] / n_sights
            agent.noise[0] += off * off * n_sights / (n_sights + 1)
            agent.noise[1] += 1
        agent.sights[outcome] += 1
        agent.sight_sum[outcome] += reward
        agent.n_seen[se, ae] += 1
        agent.shown[sm, am] += 1
    if agent.n_seen[se, ae] > 0:
        n, total = 0, 0.0
        for j in range(agent.env.first[x], agent.env.first[x] + agent.env.used[x]):
            if agent.sights[j] > 0:
                n += agent.env.visits[j]
                total += agent.env.visits[j] * agent.sight_sum[j] / agent.sights[j]
        agent.seen_reward[se, ae] = total / n

    clock[SINCE] += 1
    clock[LENGTH] += 1
    if news:
        # Until the next plan there is nothing more to be had of this pair.
        for m in range(n_sm):
            for b in range(n_am):
                agent.q_obs[se * n_sm + m, ae * n_am + b] = -1.0
        clock[NEWS], clock[IDLE] = 1, 0
    settled = clock[PHASE] == OPTIMIZE and not clock[NEWS]
    due = clock[SINCE] >= p.replan or (clock[NEWS] and clock[SINCE] >= HEADSTART)
    if due and p.replan > 0 and not (settled or terminated or clock[NET]):
        _plan(agent)


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
    p = agent.parameters
    n_sm, n_am = agent.n_mon.shape
    n_ae = agent.n_env.shape[1]
    se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
    next_se, next_sm = next_s // n_sm, next_s % n_sm
    x, y, c = se * n_ae + ae, sm * n_am + am, s * agent.n.shape[1] + a
    env, mon, joint = agent.env, agent.mon, agent.joint
    if agent.n_mon[sm, am] > 0:
        of_env = 1.0  # an outcome never met says nothing of how the factors go together
        if not is_new:
            of_env = env.visits[find_slot(env, x, next_se)] / agent.n_env[se, ae]
        n_others, others = agent.n_pool[0, sm, am], 0
        slot = find_slot(mon, y, next_sm)
        if slot < mon.first[y] + mon.used[y]:
            others = mon.visits[slot]
        same, before = 0, 0  # visits of this cell: the same step, the same move of the monitor
        for j in range(joint.first[c], joint.first[c] + joint.used[c]):
            if joint.state[j] % n_sm == next_sm:
                before += joint.visits[j]
            if joint.state[j] == next_s:
                same = joint.visits[j]
        if not agent.own[s, a]:
            others -= before
            n_others -= agent.n[s, a]
        of_mon = (others + SMOOTH / n_sm) / (n_others + SMOOTH)
        if agent.n[s, a] < NEW:
            n_votes = 0
            for m in range(n_sm):
                n_votes += agent.votes[sm, am, m]
            voted = (agent.votes[sm, am, next_sm] + SMOOTH / n_sm) / (n_votes + SMOOTH)
            of_mon = max(of_mon, voted)
        base = of_env * 0.5 * (of_mon + 1.0 / n_sm)
        ratio = math.log((same + base) / ((agent.n[s, a] + 1) * of_env * of_mon))
        agent.evidence[s, a] = max(WORST_EVIDENCE, agent.evidence[s, a] + ratio)
        agent.evidence_env[se, ae] = max(WORST_EVIDENCE, agent.evidence_env[se, ae] + ratio)
    if agent.n[s, a] < VOTES:
        agent.votes[sm, am, next_sm] += 1

    alone = agent.evidence_env[se, ae] > p.evidence
    own = alone or agent.evidence[s, a] > p.evidence
    if alone == agent.alone[se, ae] and own == agent.own[s, a]:
        return False
    agent.alone[se, ae] = alone
    for m in range(n_sm):
        for b in range(n_am):
            s, a = se * n_sm + m, ae * n_am + b
            own = alone or agent.evidence[s, a] > p.evidence
            if own != agent.own[s, a]:
                agent.own[s, a] = own
                c = s * agent.n.shape[1] + a
                for j in range(joint.first[c], joint.first[c] + joint.used[c]):
                    n = -joint.visits[j] if own else joint.visits[j]
                    _pool(agent, m, b, joint.state[j] % n_sm, n)
    return True


@compilable
def _pool(agent: Any, sm: int, am: int, next_sm: int, n: int) -> None:
    """Count n moves of the monitor for P̄ᵐ, or take them back if n is negative."""
    mon, y = agent.mon, sm * agent.n_mon.shape[1] + am
    slot = find_slot(mon, y, next_sm)
    if slot == mon.first[y] + mon.used[y]:
        mon.state[slot] = next_sm
        mon.used[y] += 1
    mon.visits[slot] += n
    agent.n_pool[0, sm, am] += n
    agent.stay[0, sm, am] = 0.0
    if agent.n_pool[0, sm, am] > 0:
        for j in range(mon.first[y], mon.first[y] + mon.used[y]):
            mon.land[j] = mon.visits[j] / agent.n_pool[0, sm, am]
            if mon.state[j] == sm:
                agent.stay[0, sm, am] = mon.land[j]


@compilable
def _plan(agent: Any) -> None:
    """Decide what to observe for, if anything, and plan it."""
    p, clock, r, u = agent.parameters, agent.clock, agent.reward, agent.untried
    _believe(agent)
    # Values that fell short of what was hoped for would come down slowly: they start from below.
    if clock[NEWS]:
        for s in range(len(agent.v_likely)):
            agent.v_likely[s] = p.r_min / (1.0 - p.gamma)
            agent.v_possible[s] = p.r_min / (1.0 - p.gamma)
    clock[SINCE], clock[NEWS] = 0, 0
    clock[PHASE] = LIKELY
    if p.likely_first:
        _hope(agent, p.r_max)
        _sweep(agent, r, u, p.r_max, False, p.sweeps, ROUGH, agent.v_likely, agent.q_hope)
    if not p.likely_first or not _take_aim(agent):
        clock[PHASE] = POSSIBLE
        best = p.r_max / (1.0 - p.gamma)
        _hope(agent, best)
        _sweep(agent, r, u, best, False, PATIENT * p.sweeps, ROUGH, agent.v_possible, agent.q_hope)
        if not _take_aim(agent):
            clock[PHASE] = OPTIMIZE
    if clock[PHASE] < OPTIMIZE or not p.stop:
        _lure(agent)
        for s in range(len(agent.v_obs)):
            agent.v_obs[s] = 0.0
        _sweep(agent, r, u, LOW, True, p.sweeps, ROUGH, agent.v_obs, agent.q_obs)


@compilable
def _believe(agent: Any) -> None:
    """Find chances, weights, ω, e(x), and what is untried or unresolved."""
    p, clock = agent.parameters, agent.clock
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    chance, weight = np.empty((n_sm, n_am)), np.empty((n_sm, n_am))
    for sm in range(n_sm):
        for am in range(n_am):
            chance[sm, am] = (agent.shown[sm, am] + 1.0) / (agent.n_mon[sm, am] + 2.0)
            low = _lower_bound(agent.hits[sm, am], agent.tries[sm, am], p.caution)
            weight[sm, am] = -math.log(1.0 - min(low, p.rho_cap))
    omega, last = np.zeros(BINS), 1.0
    for b in range(BINS):
        # A bin that is empty is thought to have half of the one before.
        omega[b] = (agent.novel[b] + 0.5 * last) / (agent.looked[b] + 1.0)
        last = omega[b]
    needed = 1
    if agent.noise[0] > 1e-12:
        variance = agent.noise[0] / agent.noise[1]
        needed += math.ceil(math.log(clock[K] + 2.0) * variance / p.precision**2)
    least = p.revive * math.sqrt(clock[DONE])
    for se in range(n_se):
        for ae in range(n_ae):
            n, x = agent.n_env[se, ae], se * n_ae + ae
            tries, most = 0.0, 0.0
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    if p.knows_monitor:
                        most = max(most, agent.chance[s, a])
                        low = min(agent.chance[s, a], 0.999)
                        agent.weight[s, a] = -math.log(1.0 - low)
                    elif p.pool_sights:
                        agent.chance[s, a] = chance[sm, am]
                        agent.weight[s, a] = weight[sm, am]
                    else:
                        agent.chance[s, a] = 1.0 / (agent.n[s, a] + 2.0)
                        agent.weight[s, a] = -math.log(1.0 - ASSUMED)
                    tries += agent.n[s, a] * agent.weight[s, a]
                    agent.untried[s, a] = _is_untried(
                        agent.n, agent.n_env, agent.alone, agent.n_pool, agent.pair_class,
                        se, sm, ae, am,
                    )  # fmt: skip
            unresolved = False
            if n > 0:
                b = _bin_of(n)
                agent.omega[se, ae] = omega[b] * 2.0**b / n if p.novelty else 0.0
                agent.fruitless[se, ae] = tries / n
                for j in range(agent.env.first[x], agent.env.first[x] + agent.env.used[x]):
                    visits = agent.env.visits[j]
                    agent.given_up[j] = agent.sights[j] == 0 and (
                        (visits * tries / n > p.give_up and visits > least)
                        or (p.knows_monitor and most == 0)
                    )
                    unresolved |= agent.sights[j] < needed and not agent.given_up[j]
            if unresolved != agent.unresolved[se, ae]:
                agent.unresolved[se, ae] = unresolved
                clock[NEWS] = 1


@compilable
def _is_untried(
    n: IntArray,
    n_env: IntArray,
    alone: BoolArray,
    n_pool: IntArray,
    pair_class: IntArray,
    se: int,
    sm: int,
    ae: int,
    am: int,
) -> bool:
    """Return whether nothing is known of where a cell leads, by itself or by its factors."""
    if n[se * n_pool.shape[1] + sm, ae * n_pool.shape[2] + am] > 0:
        return False
    return bool(n_env[se, ae] == 0 or alone[se, ae] or n_pool[pair_class[se, ae], sm, am] == 0)


@compilable
def _lower_bound(hits: int, tries: int, z: float) -> float:
    """Return Wilson's lower bound, z standard errors below a frequency."""
    if hits == 0:
        return 0.0
    share, c = hits / tries, z * z / tries
    spread = z * math.sqrt(share * (1.0 - share) / tries + c / (4.0 * tries))
    return max(0.0, (share + c / 2.0 - spread) / (1.0 + c))


@compilable
def _hope(agent: Any, unknown: float) -> None:
    """Rewards of the likely plan, or of the possible one; `unknown` is what is never tried."""
    p = agent.parameters
    likely = agent.clock[PHASE] == LIKELY
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    env = agent.env
    for se in range(n_se):
        for ae in range(n_ae):
            n, x, of_env = agent.n_env[se, ae], se * n_ae + ae, 0.0
            for j in range(env.first[x], env.first[x] + env.used[x]):
                visits, tries = env.visits[j], agent.fruitless[se, ae] * env.visits[j]
                if agent.sights[j] > 0:
                    reward = agent.sight_sum[j] / agent.sights[j]
                elif agent.given_up[j]:
                    reward = agent.seen_reward[se, ae]
                elif likely:
                    ended = env.ended[j] / visits
                    reward = ended * p.r_max + (1.0 - ended) * p.typical
                    # One over the odds that it can be seen: so many more tries it would take.
                    reward -= p.unseen_cost * (1.0 + math.exp(min(tries - p.trust, MOST)))
                else:
                    reward = p.r_max
                of_env += reward * visits / n
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    if not agent.untried[s, a]:
                        of_mon = agent.mon_sum[sm, am] / agent.n_mon[sm, am]
                        agent.reward[s, a] = of_env + of_mon
                    elif likely and n > 0 and not agent.alone[se, ae]:
                        agent.reward[s, a] = LOW  # a monitor pair never tried is unlikely to pay
                    else:
                        agent.reward[s, a] = unknown


@compilable
def _lure(agent: Any) -> None:
    """Rewards of the plan that observes."""
    p = agent.parameters
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    most = 1.0 / (1.0 - p.gamma_obs)
    for se in range(n_se):
        for ae in range(n_ae):
            n, x = agent.n_env[se, ae], se * n_ae + ae
            aimed = agent.aim_env[se, ae] or not p.aim
            worth = 0.0
            if n > 0 and agent.unresolved[se, ae]:
                if not aimed:
                    tries = agent.fruitless[se, ae] * n
                    worth = p.aside / (1.0 + math.exp(min(tries - p.trust, MOST)))
                elif agent.env.may_end[x] or agent.clock[PHASE] == POSSIBLE:
                    worth = 1.0
                else:
                    worth = p.path
            for sm in range(n_sm):
                for am in range(n_am):
                    s, a = se * n_sm + sm, ae * n_am + am
                    if agent.untried[s, a]:
                        pinned = n == 0 or agent.alone[se, ae] or agent.aim_mon[sm, am]
                        share = 1.0 if pinned or not p.aim else p.aside
                        agent.reward[s, a] = most * share + agent.chance[s, a]
                    else:
                        # A cell that was in vain for long gives way to others of the same pair.
                        stale = max(0.0, agent.n[s, a] * agent.weight[s, a] - 2.0)
                        agent.reward[s, a] = worth * agent.chance[s, a] / (1.0 + stale)
                        agent.reward[s, a] += p.aside * agent.omega[se, ae]


@compilable
def _take_aim(agent: Any) -> bool:
    """Mark what is not known on the way of the hopeful policy; return whether there is any."""
    env, mon, joint = agent.env, agent.mon, agent.joint
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    n_s, n_a = agent.n.shape
    for se in range(n_se):
        for ae in range(n_ae):
            agent.aim_env[se, ae] = False
    for sm in range(n_sm):
        for am in range(n_am):
            agent.aim_mon[sm, am] = False
    reached, waiting = np.zeros(n_s, np.bool_), np.empty(n_s, np.int64)
    n_waiting, found = 0, False
    for s in range(n_s):
        if agent.n_start[s] > 0:
            reached[s] = True
            waiting[n_waiting] = s
            n_waiting += 1
    while n_waiting > 0:
        n_waiting -= 1
        s = waiting[n_waiting]
        a = 0
        for b in range(1, n_a):
            if agent.q_hope[s, b] > agent.q_hope[s, a] + TIE:
                a = b
        se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
        if agent.untried[s, a]:
            agent.aim_env[se, ae] = True
            agent.aim_mon[sm, am] = True
            found = True
            continue
        if agent.unresolved[se, ae]:
            agent.aim_env[se, ae] = True
            found = True
        if agent.own[s, a] and agent.n[s, a] > 0:
            c = s * n_a + a
            for j in range(joint.first[c], joint.first[c] + joint.used[c]):
                next_s = joint.state[j]
                if joint.go_on[j] > 0.0 and not reached[next_s]:
                    reached[next_s] = True
                    waiting[n_waiting] = next_s
                    n_waiting += 1
        else:
            x = se * n_ae + ae
            u = (agent.pair_class[se, ae] * n_sm + sm) * n_am + am
            for j in range(env.first[x], env.first[x] + env.used[x]):
                for i in range(mon.first[u], mon.first[u] + mon.used[u]):
                    next_s = env.state[j] * n_sm + mon.state[i]
                    if env.go_on[j] > 0.0 and mon.land[i] > 0.0 and not reached[next_s]:
                        reached[next_s] = True
                        waiting[n_waiting] = next_s
                        n_waiting += 1
    return found


@compilable
def _sweep(
    agent: Any,
    reward: FloatArray,
    untried: BoolArray,
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
    the time `unknown` is what follows, unless it is LOW. An episode that ended has no future,
    unless the agent observes: then the next one begins.
    """
    p = agent.parameters
    env, mon, joint = agent.env, agent.mon, agent.joint
    (n_se, n_ae), (n_sm, n_am) = agent.n_env.shape, agent.n_mon.shape
    n_a, n_u = n_ae * n_am, agent.n_pool.size
    own, stay, n = agent.own, agent.stay, agent.n
    scale = p.gamma_obs / p.gamma if observing else 1.0
    z, ahead, best = np.empty((n_se, n_u)), np.empty(n_sm * n_am), np.empty(n_sm)
    for se in range(n_se):
        _look_ahead(mon, v, se, n_sm, z)
    n_starts = 0
    for s in range(len(v)):
        n_starts += agent.n_start[s]
    sweep, last = 0, False
    while True:
        restart = 0.0
        if observing and n_starts > 0:
            for s in range(len(v)):
                restart += agent.n_start[s] * v[s]
            restart /= n_starts
        change, size = 0.0, 1.0
        for i in range(n_se):
            se = i if sweep % 2 == 0 else n_se - 1 - i
            for sm in range(n_sm):
                best[sm] = LOW
            for ae in range(n_ae):
                x, cls = se * n_ae + ae, agent.pair_class[se, ae]
                omega = agent.omega[se, ae] if unknown > LOW else 0.0
                keep, add = (1.0 - omega) * scale, omega * p.gamma * unknown
                ended, back = 0.0, 0.0
                for y in range(n_sm * n_am):
                    ahead[y] = 0.0
                for j in range(env.first[x], env.first[x] + env.used[x]):
                    w, to = env.go_on[j], env.state[j]
                    ended += (env.land[j] - w) * restart
                    if to == se:
                        back += w
                    if w > 0.0:
                        for y in range(n_sm * n_am):
                            ahead[y] += w * z[to, cls * n_sm * n_am + y]
                for sm in range(n_sm):
                    s = se * n_sm + sm
                    for am in range(n_am):
                        a = ae * n_am + am
                        value, to_self = reward[s, a], 0.0
                        if not untried[s, a]:
                            if own[s, a] and n[s, a] > 0:
                                c, future = s * n_a + a, 0.0
                                for j in range(joint.first[c], joint.first[c] + joint.used[c]):
                                    w, to = joint.go_on[j], joint.state[j]
                                    future += w * v[to] + (joint.land[j] - w) * restart
                                    if to == s:
                                        to_self += w
                            else:
                                future = ahead[sm * n_am + am] + ended
                                to_self = back * stay[cls, sm, am]
                            value += add + keep * future
                            to_self *= keep
                        if last:
                            q[s, a] = value
                        best[sm] = max(best[sm], (value - to_self * v[s]) / (1.0 - to_self))
            for sm in range(n_sm):
                s = se * n_sm + sm
                change, size = max(change, abs(best[sm] - v[s])), max(size, abs(best[sm]))
                v[s] = best[sm]
            _look_ahead(mon, v, se, n_sm, z)
        if last:
            break
        sweep += 1
        last = change <= tolerance * size or sweep >= sweeps


@compilable
def _look_ahead(mon: Any, v: FloatArray, se: int, n_sm: int, z: FloatArray) -> None:
    """Write z(sᵉ, y) = Σ P̄ᵐ(s′ᵐ | y) v(sᵉ, s′ᵐ), class by class."""
    for u in range(z.shape[1]):
        total = 0.0
        for j in range(mon.first[u], mon.first[u] + mon.used[u]):
            total += mon.land[j] * v[se * n_sm + mon.state[j]]
        z[se, u] = total


@compilable
def _plan_net(agent: Any) -> None:
    """Plan an episode of Monitored MBIE-EB that observes: R_obs, on counts of joint pairs."""
    p = agent.parameters
    n_sm, n_am = agent.n_mon.shape
    for s in range(agent.n.shape[0]):
        if agent.n_state[s] > 0:
            g = growth_of(agent.n_state[s], 0)
            for a in range(agent.n.shape[1]):
                n = agent.n[s, a]
                if n > 0:
                    agent.tried[s, a] = True
                    agent.reward[s, a] = p.beta_obs * math.sqrt(g / n)
                    if agent.n_seen[s // n_sm, a // n_am] == 0:
                        agent.reward[s, a] += 1.0 - math.exp(-p.beta_kl * g / n)
    value_iteration(agent.joint, agent.tried, False, agent.reward, p.gamma, 50, agent.q_net)


@compilable
def _plan_low(agent: Any, sweeps: int, v: FloatArray) -> None:
    """Go on with the low plan: from v[s], and into q_low."""
    p = agent.parameters
    n_sm, n_am = agent.n_mon.shape
    reward, untried = np.empty(agent.n.shape), np.empty(agent.n.shape, np.bool_)
    for s in range(agent.n.shape[0]):
        for a in range(agent.n.shape[1]):
            se, sm, ae, am = s // n_sm, s % n_sm, a // n_am, a % n_am
            untried[s, a] = _is_untried(
                agent.n, agent.n_env, agent.alone, agent.n_pool, agent.pair_class, se, sm, ae, am
            )
            reward[s, a] = p.r_min / (1.0 - p.gamma) - 1.0
            if not untried[s, a]:
                of_mon = agent.mon_sum[sm, am] / agent.n_mon[sm, am]
                reward[s, a] = agent.seen_reward[se, ae] + of_mon
    _sweep(agent, reward, untried, LOW, False, sweeps, FINE, v, agent.q_low)


def test_policy(agent: State, policy: FloatArray) -> None:
    """Greedy on the low plan, with what was learnt in the running episode."""
    if not agent.parameters.pessimistic_test:
        greedy_policy(agent.q_hope, policy)
        return
    # A copy, so that a test makes no difference to training nor to other tests.
    _plan_low(agent, agent.parameters.sweeps, agent.v_low.copy())
    greedy_policy(agent.q_low, policy)


implement(State, begin_episode=begin_episode, act=act, update=update, test_policy=test_policy)
