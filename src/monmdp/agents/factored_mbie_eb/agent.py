"""Factored MBIE-EB: its hyper-parameters, its state, and what it does at each step.

The algorithm in four lines, each a file of this folder:

    beliefs  learn the environment and the monitor apart, and say how sure each estimate is (kinds)
    hopes    imagine the best plausible policy; aim at what it has not seen on its way
    plans    go and look there; when nothing is left, follow that policy
    agent    test pessimistically; now and then check what the structure says is not worth a look

The last are *net episodes*: they follow counts of joint pairs alone, with some random actions. The
guarantee rests on them. They come seldom: while the agent optimizes, about net·ln(1 + j/stalled) of
the j episodes since the last news.

docs/algorithms/factored-mbie-eb.md derives all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from monmdp.agents.contract import AgentConfig, Step, at_least_zero
from monmdp.agents.factored_mbie_eb.beliefs import (
    CALM,
    best_return,
    count_step,
    meet,
    worst_return,
)
from monmdp.agents.factored_mbie_eb.kinds import Moves, no_moves
from monmdp.agents.factored_mbie_eb.plans import (
    FINE,
    PATIENT,
    begin_again,
    look_at_all,
    once,
    plan,
    settle,
)
from monmdp.agents.factored_mbie_eb.state import (
    BIN,
    BINS,
    CERTIFIED,
    CHECK,
    CLOCK,
    DONE,
    DUE,
    FEAR,
    FIRST,
    HOPE,
    IDLE,
    LOOKED,
    MONITOR_PAIR,
    NET,
    OBSERVED,
    OPTIMIZE,
    OUTCOME,
    PAIR,
    PHASE,
    PLACE,
    PLANS,
    QUIET,
    SEE,
    SINCE,
    STARTS,
    STATE,
    TEST,
    WHOLE,
    K,
    Lists,
    Scratch,
    T,
    append,
    is_observing,
    no_lists,
    no_scratch,
)
from monmdp.agents.greedy import greedy_action, greedy_policy
from monmdp.agents.learnt_model import (
    Successors,
    most_successors,
    no_successors,
    with_room,
)
from monmdp.agents.priorities import (
    Agenda,
    Arrivals,
    new_agenda,
    no_arrivals,
    with_slots_moved,
)
from monmdp.compiling import compilable
from monmdp.errors import MonMDPError
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray, Table
from monmdp.model.mdp import probability, whole_number
from monmdp.model.monmdp import Shape
from monmdp.planning.factors import factors


@dataclass(frozen=True, kw_only=True)
class FactoredMBIEEB(AgentConfig):
    """Factored MBIE-EB and its hyper-parameters, one set for all problems."""

    name = "factored-mbie-eb"
    label = "Factored MBIE-EB"
    colour = "#cc1111"
    microseconds = (3.0, 0.0080)
    needs = ("r_min", "r_max")
    slow_verbs = ("act", "update", "test_policy")
    borrows = True

    knows_monitor: bool = False
    """the monitor is given: pᵐ, rᵐ and the chance to see a reward"""
    pool_sights: bool = True
    """learn the probability that the monitor shows a reward from all pairs; else ρ̲ is 0.05"""
    places: bool = True
    """where no reward was ever shown, tries in vain count for all that leads there"""
    novelty: bool = True
    """learn the probability that a pair has outcomes never met, and hope for them"""
    likely_first: bool = True
    """hope for what is likely before all that is possible"""
    aim: bool = True
    """observe what could change the policy; else everything alike"""
    stop: bool = True
    """optimize once nothing is left that could; else go on observing"""
    pessimistic_test: bool = True
    """test the pessimistic policy; else the hopeful one, of the plan made last"""

    kinds: int = 16
    """kinds of pairs that the monitor's moves fall into, at most; 0: every pair is its own"""
    evidence: float = 4.0
    """log Bayes factor for opening a kind, and up to which another kind remains plausible"""
    typical: float = 0.0
    """what a reward that was not seen yet is likely to be, where the episode went on"""
    unseen_cost: float = 0.003
    """what the likely plan pays for an outcome not seen yet, over the chance that it can be seen:
    it prefers ways that are known"""
    rho_cap: float = 0.5
    """the largest ρ̲ that is learnt: a try in vain never counts for more than one at this ρ"""
    give_up: float = 6.0
    """effective tries in vain, plus ln(1 + D), after which an outcome is given up; D counts the
    episodes that began with nothing left to look for"""
    revive: float = 16.0
    """an outcome is given up only after more than revive·ln(1 + D) visits"""
    caution: float = 1.0
    """standard errors that a hopeful plan adds, times √ln(k + 2) in episode k"""
    precision: float = 0.1
    """√ln(k + 2) standard errors of a random reward, over r_max - r_min, at which it is known"""
    replan: int = 3
    """steps for which a plan is followed at least, within an episode; 0: to its end"""
    haste: float = 5.0
    """what is looked for is discounted this many times as much as what is paid, 1 - γ"""
    sweeps: int = 12
    """a plan from scratch looks at no more states than this many sweeps do"""
    planner: Literal["incremental", "sweeps"] = "incremental"
    """repair plans where something has changed, or make every plan from scratch"""
    effort: int = 800
    """outcomes and cells that plans may look at, on average over all steps; what a plan from
    scratch takes must have been earned before"""
    net: float = 20.0
    """of j episodes without news, about net·ln(1 + j/stalled) are net episodes; 0: none ever"""
    stalled: float = 40.0
    """episodes without news until net episodes become rarer"""
    stray: float = 0.05
    """share of random actions in net episodes"""
    epsilon: float = 0.01
    """a policy is certified if it falls short by this much at most, in units of max(1, |v|)"""

    class State(NamedTuple):
        """All that the agent knows: one table for each kind of thing."""

        parameters: Any
        clock: IntArray
        """see K, T, … in state"""
        n: IntArray
        """[s, a] n(x,y), visits of the cell"""
        chance: FloatArray
        """[s, a] how likely a reward is shown, if that was given"""
        v: FloatArray
        """[plan, s]"""
        q: FloatArray
        """[plan, s, a]"""
        waiting: Agenda
        """[plan, sᵉ] what is to be looked at in a plan"""
        pairs: Table
        """[sᵉ, aᵉ] of PAIR"""
        monitor: Table
        """[sᵐ, aᵐ] of MONITOR_PAIR"""
        states: Table
        """[s] of STATE"""
        places: Table
        """[sᵉ] of PLACE"""
        lists: Lists
        scratch: Scratch
        restart: FloatArray
        """[plan] what the next episode is worth to one that observes"""
        pooled: FloatArray
        """[2] squared deviations of all rewards, and how many there are"""
        env: Successors
        """of environment pairs: P̄ᵉ; its slots are the outcomes"""
        arrivals: Arrivals
        """where they lead"""
        outcomes: Table
        """[slot of env] of OUTCOME"""
        moves: Moves
        """of the monitor: P̄ᵐ, kind by kind"""
        unsure: FloatArray
        """[x, sᵐ] u(x, sᵐ)"""
        bins: Table
        """[bin of n(x)] of BIN"""

    @property
    def needs_model(self) -> bool:
        """Whether the agent is given the monitor."""
        return self.knows_monitor

    def check(self) -> None:
        """Refuse what is out of range."""
        at_least_zero(
            self, "evidence", "unseen_cost", "give_up", "revive", "caution", "net", "epsilon",
        )  # fmt: skip
        probability(self.rho_cap, "rho_cap")
        probability(self.stray, "stray")
        if self.rho_cap == 1:
            raise MonMDPError("rho_cap must be below 1")
        if self.gamma == 0:
            raise MonMDPError("gamma must be above 0: what is seen is worth a way to it")
        for name in ("precision", "stalled", "haste"):
            if getattr(self, name) <= 0:
                raise MonMDPError(f"{name} must be positive, got {getattr(self, name):g}")
        whole_number(self.kinds, "kinds", at_least=0)
        whole_number(self.replan, "replan", at_least=0)
        whole_number(self.sweeps, "sweeps", at_least=1)
        whole_number(self.effort, "effort", at_least=1)

    def blank(self, shape: Shape, parameters: Any, model: MonMDP | None) -> dict[str, Any]:
        """Return the fields of the state of an agent that has seen nothing yet."""
        r_min, r_max = parameters.r_min, parameters.r_max
        n_se, n_sm, n_ae, n_am = shape
        joint, n_x = (n_se * n_sm, n_ae * n_am), n_se * n_ae
        of_env, _ = most_successors(shape, model)
        state = self.State(
            parameters=parameters._replace(typical=min(max(self.typical, r_min), r_max)),
            clock=np.zeros(CLOCK, dtype=np.int64),
            n=np.zeros(joint, dtype=np.int64),
            chance=np.zeros(joint),
            v=np.zeros((PLANS, joint[0])),
            q=np.zeros((PLANS, *joint)),
            waiting=new_agenda(PLANS, n_se),
            pairs=np.zeros((n_se, n_ae), dtype=PAIR),
            monitor=np.zeros((n_sm, n_am), dtype=MONITOR_PAIR),
            states=np.zeros(joint[0], dtype=STATE),
            places=np.zeros(n_se, dtype=PLACE),
            lists=no_lists(n_se, n_sm, n_x),
            scratch=no_scratch(n_se, n_sm, n_am),
            restart=np.zeros(PLANS),
            pooled=np.zeros(2),
            env=no_successors(of_env),
            arrivals=no_arrivals(n_se, int(np.sum(of_env))),
            outcomes=np.zeros(int(np.sum(of_env)), dtype=OUTCOME),
            moves=no_moves(n_x, n_sm, n_am, self.kinds or n_x),
            unsure=np.zeros((n_x, n_sm)),
            bins=np.zeros(BINS, dtype=BIN),
        )
        state.clock[DUE] = state.clock[WHOLE] = 1  # there is no plan yet
        state.pairs["reward"] = r_min
        state.pairs["hope"] = 0.5
        state.v[FEAR] = state.q[FEAR] = state.q[TEST] = worst_return(r_min, self.gamma)
        state.q[HOPE] = best_return(r_max, self.gamma)
        if not self.kinds:
            state.moves.kind[:], state.moves.members[:] = np.arange(n_x), 1
        if self.knows_monitor and model is not None:
            state = self._told(state, model)
        fields: dict[str, Any] = state._asdict()
        return fields

    def _told(self, state: Any, model: MonMDP) -> Any:
        """Return the state of an agent that was told what the monitor does."""
        given = factors(model)
        rows = np.array(given.row)[np.array(given.row_of)]  # [class, sᵐ, aᵐ, s′ᵐ]
        n_classes, n_sm, n_am, _ = rows.shape
        moves = no_moves(state.pairs.size, n_sm, n_am, n_classes)
        moves.share[:] = rows.reshape(n_classes, n_sm * n_am, n_sm)
        moves.total[:] = moves.members[:] = 1
        moves.kind[:] = model.pair_class
        state.monitor["n"] = 1
        state.monitor["total"] = model.monitor.reward
        state.chance[:] = model.observability()
        return state._replace(moves=moves)

    def with_room(self, state: Any, step: Step) -> Any:
        """Return a state with room for one more outcome."""
        n_sm, n_am = state.monitor.shape
        pair = (step.s // n_sm) * state.pairs.shape[1] + step.a // n_am
        was, used = int(state.env.first[pair]), int(state.env.used[pair])
        env = with_room(state.env, pair, step.next_s // n_sm)
        now, room = int(env.first[pair]), len(env.state) - len(state.outcomes)
        outcomes = np.append(state.outcomes, np.zeros(room, dtype=OUTCOME))
        arrivals = state.arrivals
        if now != was:  # the slots have moved, and what was seen there moves with them
            outcomes[now : now + used] = outcomes[was : was + used]
            outcomes[was : was + used] = 0
            arrivals = with_slots_moved(arrivals, env, was, now, used)
        return state._replace(env=env, outcomes=outcomes, arrivals=arrivals)

    def certified(self, state: Any) -> int | None:
        """Return the step at which the agent was sure of its policy, if it is."""
        return int(state.clock[CERTIFIED]) or None

    def snapshot(self, state: Any, shape: Shape) -> dict[str, Any]:
        """Return copies of counts and action values, the test policy, and the episodes."""
        kept = super().snapshot(state, shape)
        of = {"q_low": TEST, "q_hope": HOPE, "q_obs": SEE}
        kept |= {"n": state.n.copy()} | {name: state.q[plan].copy() for name, plan in of.items()}
        kept |= {name: state.pairs[name].copy() for name in ("n_seen", "hope")}
        clock, observing = state.clock, is_observing(state.clock, self.stop)
        return kept | {
            "n_env": state.pairs["n"].copy(),
            "kind": state.moves.kind.reshape(state.pairs.shape).copy(),
            "episodes": np.array([clock[K], clock[OBSERVED], observing]),
        }

    def begin_episode(agent: Any, rng: np.random.Generator) -> bool:
        """Decide whether this is a net episode; return whether it observes."""
        p, clock = agent.parameters, agent.clock
        was_net, is_idle = clock[NET] > 0, clock[K] > 0 and not clock[LOOKED]
        clock[K] += 1
        clock[IDLE] += is_idle
        clock[DONE] += clock[PHASE] == OPTIMIZE
        clock[FIRST], clock[LOOKED] = 1, 0
        if clock[PHASE] == OPTIMIZE:
            due = _falls_due(clock[IDLE], p.net, p.stalled)
        else:  # it does not get to what it looks for: there is little to lose
            due = clock[IDLE] % 2 == 0
        # The second clock never stops, so that there is always another one.
        due = (is_idle and due) or _falls_due(clock[K], 1.0, p.stalled)
        clock[NET] = due and p.net > 0.0
        observing = is_observing(clock, p.stop)
        clock[OBSERVED] += observing
        if observing or was_net:
            clock[DUE] = 1  # what was looked for may be known by now
        return observing

    def act(agent: Any, s: int, rng: np.random.Generator) -> int:
        """Plan if it is time, and act greedily on what the episode is for, ties at random."""
        p, clock = agent.parameters, agent.clock
        if clock[FIRST]:
            if agent.states["starts"][s] == 0:
                append(agent.lists, STARTS, agent.lists.starts, s)
                meet(agent, s // agent.monitor.shape[0])
            agent.states["starts"][s] += 1
        due = clock[SINCE] >= max(p.replan, clock[QUIET] // CALM)
        if clock[FIRST]:
            due = due or clock[DUE]
        elif p.replan == 0:
            due = False
        if due:
            plan(agent)
        clock[FIRST] = 0
        if clock[NET] and rng.random() < p.stray:
            return int(rng.random() * agent.n.shape[1])
        if clock[NET]:
            return greedy_action(agent.q[CHECK], s, rng.random())
        if is_observing(clock, p.stop):
            return greedy_action(agent.q[SEE], s, rng.random())
        return greedy_action(agent.q[HOPE], s, rng.random())

    def update(agent: Any, step: Step) -> None:
        """Count the step, and note whether it is news."""
        clock, pairs = agent.clock, agent.pairs
        n_sm, n_am = agent.monitor.shape
        se, ae = step.s // n_sm, step.a // n_am
        sm, am = step.s % n_sm, step.a % n_am
        if pairs["unresolved"][se, ae]:
            known = agent.chance[step.s, step.a] > 0.0
            if known if agent.parameters.knows_monitor else agent.monitor["weight"][sm, am] > 0.0:
                clock[LOOKED] = 1
        news = count_step(agent, step)
        clock[T] += 1
        clock[SINCE] += 1
        clock[QUIET] += 1
        if news:
            clock[DUE], clock[LOOKED], clock[IDLE], clock[QUIET] = 1, 1, 0, 0
        if news or (clock[NET] and agent.n[step.s, step.a] == 1):
            # Until the next plan there is nothing more to be had of this pair.
            for m in range(n_sm):
                for b in range(n_am):
                    agent.q[SEE, se * n_sm + m, ae * n_am + b] = -1.0
                    agent.q[CHECK, se * n_sm + m, ae * n_am + b] = -1.0

    def test_policy(agent: Any, policy: FloatArray) -> None:
        """Greedy on the low plan, with what was learnt in the running episode."""
        if not agent.parameters.pessimistic_test:
            greedy_policy(agent.q[HOPE], policy)
            return
        # On a copy: a test makes no difference to training nor to other tests.
        begin_again(agent, TEST)
        look_at_all(agent, TEST)
        settle(agent, TEST, 0.0, PATIENT * agent.parameters.sweeps * once(agent), FINE)
        greedy_policy(agent.q[TEST], policy)


@compilable
def _falls_due(j: int, often: float, stalled: float) -> bool:
    """Return whether often·ln(1 + j/stalled) has passed a whole number since j - 1."""
    now, before = math.log(1.0 + j / stalled), math.log(1.0 + (j - 1) / stalled)
    return math.floor(often * now) > math.floor(often * before)
