"""Optimal values of a Mon-MDP with known rewards, by factored policy iteration.

1. A first policy comes from a simpler model in which every pair has only its likeliest move; a few
   Gauss-Seidel sweeps, ordered by the distance from where rewards (and buttons) are, solve it.
2. Evaluate the policy, and
3. improve it, in turn, until the Bellman residual is small.

Where the states can be eliminated one by one without much ado (`elimination`: mazes, chains), the
policy is evaluated exactly, only what a change of the policy affects is computed again, and a state
is looked at again only when its neighbours' values have changed by enough to change its mind. A few
rounds are enough.

Elsewhere both are Gauss-Seidel sweeps in the order of decreasing value: over the policy's sparse
linear system, as exactly as the residual deserves, with help from elimination or BiCGSTAB where
they converge slowly; and over the Bellman equation, in that order and back in turn. Should they
fail to settle, plain Gauss-Seidel value iteration, a contraction, takes over.

The result carries its residual and the bound residual / (1 - γ) on the distance from the optimal
values that follows from it.

Without a discount, γ = 1, `ending` says when there is an answer. If every policy ends the episode,
the same search finds it, and the most steps that an episode can last on average take the place of
1 / (1 - γ). Else the time limit must end it: the answer comes by backward induction over its steps,
and the policy depends on how many are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, pairwise

import numpy as np
from numpy.typing import ArrayLike

from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray, IntArray, frozen
from monmdp.model.mdp import number
from monmdp.model.monmdp import MonMDP
from monmdp.planning import backup, kernels
from monmdp.planning.elimination import ExactValues
from monmdp.planning.ending import all_end, demand_end, for_ever, step_counter
from monmdp.planning.factors import Prepared, _once, checked_problem, factors, moves, prepared
from monmdp.planning.gpu.devices import CPU, usable
from monmdp.planning.kernels import ChosenActions, News
from monmdp.planning.linear import LinearSystem
from monmdp.planning.progress import SILENT, Progress, Tell

TIE = 1e-9
"""actions whose values differ by no more are tied; the policy is uniform over them"""
TOLERANCE = 1e-10
GUESS_CHANGE = 1e-3
"""how exactly the first guess is evaluated: changes below this share of the largest value"""
INEXACT = 0.3
"""evaluation stops when its error bound is below this share of the residual"""
MOST_EXPECTED_SWEEPS = 75
"""of an evaluation, before the first of them is done"""
AT_ONCE = 10**7
"""pairs and monitor states of one call: compiled code cannot be interrupted"""
MOST_STAGES = 10**8
"""values that backward induction may keep, those of every state and number of steps left"""
LITTLE = 0.1
"""given values whose residual is more than this share of the span of rewards are worth less than a
guess"""
SLOW_ROUND = 0.5
"""a round that leaves more than this share of the residual gets help"""
MOST_ROUNDS = 40
"""rounds of policy iteration before it is given up; of exact rounds, those that do not halve the
best residual"""
FEW_ROUNDS = 3
"""exact rounds that do not halve the best residual before it is taken for rounding, if it may be"""
POLISHING = 100
"""sweeps that take rounding away, at most"""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Optimal values and policy, and how good they are."""

    monmdp: MonMDP
    gamma: float
    values: FloatArray = field(repr=False)
    """[s] the optimal value of every joint state"""
    sweeps: int
    """passes over all states, evaluation passes included"""
    residual: float
    """no less than |TV - V| in any state, T the Bellman optimality operator, and no more than
    rounding above the largest"""
    converged: bool
    """whether `error_bound` is within the tolerance"""
    stages: FloatArray | None = field(default=None, repr=False)
    """[k, s] the optimal values with k steps left, where γ = 1 and only the time limit ends
    episodes; `values` are the last of them. None: the values do not depend on time"""
    device: str = CPU
    """where they were computed, and the policy will be"""

    @property
    def error_bound(self) -> float:
        """No value is further than this from the optimal one."""
        if self.stages is not None:
            return 0.0
        return self.residual / decay(self.monmdp, self.gamma)

    @property
    def value(self) -> float:
        """Value from the start distribution."""
        return float(self.monmdp.start @ self.values)

    @cached_property
    def greedy(self) -> BoolArray:
        """[s, a] whether the value is within 1e-9 of the best, or cannot be told from it."""
        return self._greedy(0)

    @property
    def policy(self) -> FloatArray:
        """[s, a] the optimal policy, uniform over ties; with `stages` that of the first step."""
        return np.asarray(self.greedy / self.greedy.sum(axis=1, keepdims=True))

    def policies(self, *, backwards: bool = False) -> Iterator[FloatArray]:
        """Yield the optimal policy [s, a] of each step, the first or the last one first.

        Without `stages` there is but one.
        """
        steps = range(1 if self.stages is None else len(self.stages) - 1)
        for step in reversed(steps) if backwards else steps:
            best = self._greedy(step)
            yield best / best.sum(axis=1, keepdims=True)

    def _greedy(self, step: int) -> BoolArray:
        tie = max(TIE, 2 * self.error_bound)
        if self.device != CPU:
            from monmdp.planning.gpu import search

            V = self._following(step)
            return search.greedy(self.monmdp, self.device, self.gamma, V, tie)
        mask = np.empty(self._joint_shape, dtype=np.bool_)
        for states, q in self._action_values(step):
            mask[states] = q >= q.max(axis=(2, 3), keepdims=True) - tie
        return mask.reshape(self.monmdp.n_states, self.monmdp.n_actions)

    def action_values(self) -> FloatArray:
        """[s, a] Q(s, a)."""
        V = self._following(0).reshape(self.monmdp.mdp.n_states, -1)
        q = backup.all_action_values(factors(self.monmdp), self.gamma, V)
        return q.reshape(self.monmdp.n_states, self.monmdp.n_actions)

    def _action_values(self, step: int = 0) -> Iterator[tuple[slice, FloatArray]]:
        m = factors(self.monmdp)
        V = self._following(step).reshape(self.monmdp.mdp.n_states, -1)
        return backup.action_values(m, self.gamma, backup.project(m, V))

    def _following(self, step: int) -> FloatArray:
        """[s] the values after a step."""
        return self.values if self.stages is None else self.stages[-2 - step]

    @property
    def _joint_shape(self) -> tuple[int, int, int, int]:
        mdp, monitor = self.monmdp.mdp, self.monmdp.monitor
        return mdp.n_states, monitor.n_states, mdp.n_actions, monitor.n_actions


def optimal(
    monmdp: MonMDP,
    gamma: float = 0.99,
    *,
    tol: float = TOLERANCE,
    start_from: ArrayLike | None = None,
    max_sweeps: int = 1_000_000,
    device: str = CPU,
    tell: Tell | None = None,
) -> Optimum:
    """Solve a Mon-MDP as if every reward were known.

    Args:
        monmdp: the problem.
        gamma: discount, in [0, 1]. Without one, γ = 1, every policy must end the episode, or the
            world have a time limit; see `Optimum.stages`.
        tol: allowed error of the values, or what floating point can resolve if that is more.
        start_from: [s] values to start from, for instance of a similar problem.
        max_sweeps: give up when a round ends after this many passes over the states.
        device: "cpu" or "gpu"; without a GPU, or without JAX, it is the CPU, with a warning.
        tell: called a few times a second with a line that says how far it is.

    >>> from monmdp import make, planning
    >>> plan = planning.optimal(make("loop", "ask"))
    >>> round(plan.value, 4), plan.converged
    (0.9606, True)
    >>> plan.policy.shape
    (9, 10)
    """
    gamma = checked_gamma(gamma)
    tol = checked_tolerance(tol)
    checked_problem(monmdp)
    device = usable(device)
    limit = monmdp.mdp.time_limit
    progress = Progress(tell)
    if gamma == 1 and limit is not None and not all_end(monmdp):
        return _within(monmdp, limit, device, progress)
    rate = decay(monmdp, gamma, device)
    check_magnitude(monmdp, rate)
    given = None if start_from is None else checked_values(monmdp, start_from)
    problem = for_ever(monmdp, gamma)
    if device == CPU:
        values, sweeps, residual = _searched(problem, gamma, rate, tol, given, max_sweeps, progress)
        largest = float(np.abs(values).max())
    else:
        from monmdp.planning.gpu import search

        found = search.best(problem, device, gamma, rate, tol, given, max_sweeps, progress)
        values, sweeps, residual, largest = found
    return Optimum(
        monmdp=monmdp,
        gamma=gamma,
        values=values.reshape(-1),
        sweeps=sweeps,
        residual=residual,
        converged=residual <= allowed_residual(tol, rate, largest),
        device=device,
    )


def _searched(
    monmdp: MonMDP,
    gamma: float,
    rate: float,
    tol: float,
    start_from: FloatArray | None,
    max_sweeps: int,
    progress: Progress,
) -> tuple[FloatArray, int, float]:
    """Find the optimal values by policy iteration: V [sᵉ, sᵐ], passes, residual."""
    ready = prepared(monmdp)
    old_number = ready.old_number
    shape = (monmdp.mdp.n_states, monmdp.monitor.n_states)
    search = _Search(ready, gamma, rate, shape, progress)
    if start_from is None:
        search.guess()
    else:
        search.V[:] = start_from[old_number]
        search.Y[:] = backup.project(ready.model, search.V)
    residual = search.run(tol, max_sweeps)
    values = np.empty_like(search.V)
    values[old_number] = search.V
    return values, search.sweeps, residual


def _within(monmdp: MonMDP, limit: int, device: str, progress: Progress) -> Optimum:
    """Undiscounted optimal values of an episode that is cut, by backward induction."""
    if (limit + 1) * monmdp.n_states > MOST_STAGES:
        raise MonMDPError(
            f"gamma = 1: {monmdp.n_states:,} joint states and a time limit of {limit:,} steps are "
            f"more than {MOST_STAGES:,} values; take a shorter time_limit, or gamma < 1"
        )
    check_magnitude(monmdp, 1 / limit)
    stages = np.zeros((limit + 1, monmdp.mdp.n_states, monmdp.monitor.n_states))
    if device == CPU:
        m = factors(monmdp)
        for step, (left, now) in enumerate(pairwise(stages)):
            progress(f"step {step:,} of {limit:,}")
            for states, q in backup.action_values(m, 1.0, backup.project(m, left)):
                now[states] = q.max(axis=(2, 3))
    else:
        from monmdp.planning.gpu import search

        search.backwards(monmdp, device, stages, progress)
    flat = stages.reshape(limit + 1, -1)
    return Optimum(monmdp, 1.0, flat[-1], limit, 0.0, True, stages=flat, device=device)


def decay(monmdp: MonMDP, gamma: float, device: str = CPU) -> float:
    """Return what an error of one step is divided by to bound that of all: 1 - γ.

    For γ = 1 it is one over the most steps that an episode can last on average.
    """
    if gamma < 1:
        return 1 - gamma

    def most_steps(monmdp: MonMDP) -> float:
        return longest(monmdp, device)

    return 1 / _once(most_steps, monmdp)


def longest(monmdp: MonMDP, device: str = CPU) -> float:
    """Return the most steps that an episode lasts on average, whatever is done.

    The steps are counted by a search for the policy that makes most of them. Its residual ε bounds
    its error: what is found is more than 1 - ε of the truth.
    """
    counter = step_counter(demand_end(monmdp))
    if device == CPU:
        search = _Search(prepared(counter), 1.0, 1.0, (counter.mdp.n_states, 1), SILENT)
        residual, most = search.run(1e-3, 1_000_000), float(search.V.max())
    else:
        from monmdp.planning.gpu.search import best

        _, _, residual, most = best(counter, device, 1.0, 1.0, 1e-3)
    return most / (1 - min(residual, 0.5))


def expected_sweeps(gamma: float) -> float:
    """Return how many sweeps an evaluation should take: each leaves at most γ of an error."""
    if gamma in (0, 1):
        return gamma * MOST_EXPECTED_SWEEPS
    return min(MOST_EXPECTED_SWEEPS, float(np.log(1e-3) / np.log(gamma)))


def checked_gamma(gamma: float) -> float:
    """Return γ as a float in [0, 1], or say what is wrong."""
    return number(gamma, "gamma", "[0, 1]")


def learning_gamma(gamma: float) -> float:
    """Return γ as a float in [0, 1), or say what is wrong: γ = 1 is for exact planning alone."""
    if number(gamma, "gamma") == 1:
        raise MonMDPError(
            "gamma must lie in [0, 1), got 1: learning and its theory need a discount below 1, "
            "such as 0.999; solve, evaluate and rollout take 1"
        )
    return number(gamma, "gamma", "[0, 1)")


def checked_tolerance(tol: float) -> float:
    """Return an allowed error as a positive float, or say what is wrong."""
    tol = number(tol, "tol")
    if tol <= 0:
        raise MonMDPError(f"tol must be positive, got {tol}")
    return tol


def checked_values(monmdp: MonMDP, values: ArrayLike) -> FloatArray:
    """Return given values [s] as [sᵉ, sᵐ], or say what is wrong."""
    checked: FloatArray = frozen(values, np.float64, (monmdp.n_states,), "start_from [s]")
    return checked.reshape(monmdp.mdp.n_states, monmdp.monitor.n_states)


def check_magnitude(monmdp: MonMDP, rate: float) -> None:
    """Refuse rewards whose sums, up to 1 / `rate` of them, floating point cannot hold."""
    rewards = monmdp.mdp.reward, monmdp.monitor.reward
    largest = float(max(max(of.max(), -of.min()) for of in rewards))
    if largest > 1e200 * rate:
        raise MonMDPError(f"rewards of {largest:g} are too large to be summed up")


def allowed_residual(tol: float, rate: float, largest: float) -> float:
    """Residual that keeps the error within `tol`, or the least that floating point resolves.

    `largest` is the largest |V|.
    """
    return max(tol * rate, 32 * np.finfo(float).eps * largest)


class _Search:
    """The planner's working memory and its three moves."""

    def __init__(
        self,
        ready: Prepared,
        gamma: float,
        rate: float,
        shape: tuple[int, int],
        progress: Progress,
    ) -> None:
        m, n_se = ready.model, shape[0]
        self.progress = progress
        self.ready, self.m, self.gamma, self.rate = ready, m, gamma, rate
        self.moves, self.rows = moves(m), kernels.few_rows(len(m.row))
        self.lowest = ready.least_reward / rate  # for ever: all values are higher
        self.V = np.full(shape, self.lowest)
        self.Y = np.full((n_se, len(m.row)), self.lowest)
        self.choice = ChosenActions(
            np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32), np.zeros(shape)
        )
        self.news = News(np.ones(n_se, dtype=np.bool_), np.zeros(n_se), np.zeros(n_se))
        self.all_states = np.arange(n_se)
        self.evaluation_order: IntArray = np.arange(self.Y.size)
        self.elimination = ready.elimination
        # Where no pair has two moves a policy's states form trees: one sweep solves them.
        branching = len(m.successor) > ready.likeliest.first[-1]
        sweeps = expected_sweeps(gamma) if branching else 0.0
        structure = self.elimination.within(sweeps) if sweeps > 0 else None
        self.exactly = (
            None if structure is None else ExactValues(structure, self.moves, m.row, gamma)
        )
        self.sweeps = 0
        self.guessed = False

    def run(self, tol: float, max_sweeps: int) -> float:
        """Alternate improvement and evaluation until the residual is small; return it."""
        if self.exactly is not None:
            residual = self._exact_rounds(self.exactly, tol, max_sweeps)
            if self.sweeps >= max_sweeps or residual <= self._allowed_residual(tol):
                return residual
            if residual <= self._rounding():
                residual = self._polish(tol, max_sweeps)
                if self.sweeps >= max_sweeps or residual <= self._allowed_residual(tol):
                    return residual
        return self._rounds(tol, max_sweeps)

    def _exact_rounds(self, exactly: ExactValues, tol: float, max_sweeps: int) -> float:
        """Evaluate exactly in between; return the residual once it is small or settles no more."""
        before, best = np.inf, np.inf
        residual, in_vain = np.inf, 0
        while in_vain < (FEW_ROUNDS if residual <= self._rounding() else MOST_ROUNDS):
            # Y is what V says up to rounding. This may hide as much in the value of a state that is
            # passed over, and twice as much in the margin for which it is.
            apart = float(np.abs(backup.project(self.m, self.V) - self.Y).max())
            hidden = 3 * self.gamma * apart
            residual = self._improve(self.all_states, in_place=False, everywhere=False) + hidden
            target = self._allowed_residual(tol)
            if residual <= target or self.sweeps >= max_sweeps or not self.news.changed.any():
                return residual
            slow = residual > SLOW_ROUND * before
            if not self.guessed and (slow or residual > LITTLE * self.ready.span_of_rewards):
                # The values that were given say little.
                self.guess()
                before = best = np.inf
                continue
            if slow:
                # Each changes its mind because its neighbour did: carry the news through in one go,
                # in whichever direction it travels.
                there = np.argsort(-self.V.max(axis=1))
                for order in (there, there[::-1].copy()):
                    self._improve(order, in_place=True)
                self.news.margin[:] = 0.0
            before = residual
            in_vain += 1
            if residual < SLOW_ROUND * best:
                best, in_vain = residual, 0
            self._evaluate_exactly(exactly)
        return residual

    def _evaluate_exactly(self, exactly: ExactValues) -> None:
        for done in exactly.find(self.choice, self.news, self.Y):
            self.progress(f"{self.sweeps} sweeps, eliminating states: {done:.0%}")
        self.sweeps += 1
        kernels._chosen_values(self.moves, self.gamma, self.choice, self.Y, self.V)

    def _polish(self, tol: float, max_sweeps: int) -> float:
        """Sweep there and back, so that neighbours agree; return the residual."""
        there = np.argsort(-self.V.max(axis=1))
        for order in POLISHING // 2 * (there, there[::-1].copy()):
            residual = self._improve(order, in_place=True)
            if residual <= self._allowed_residual(tol) or self.sweeps >= max_sweeps:
                break
        return self._improve(there, in_place=False)

    def _rounds(self, tol: float, max_sweeps: int) -> float:
        """Evaluate in sweeps in between, as exactly as the residual deserves; return it."""
        best, stagnant, rounds = np.inf, 0, 0
        exact = False
        there = back = np.empty(0, dtype=np.int64)
        while True:
            target = self._allowed_residual(tol)
            if rounds % 4 == 0:
                there = np.argsort(-self.V.max(axis=1))
                back = there[::-1].copy()
            # Values that are exact for the choice need no change on the way: the sweep then is
            # the test of convergence at the same time.
            residual = self._improve(back if rounds % 2 else there, in_place=not exact)
            if residual <= target:
                if not exact:
                    residual = self._improve(there, in_place=False)
                if residual <= target:
                    return residual
            if exact:
                # A few states still change their mind, each because its neighbour did: carry the
                # news through in one go, in whichever direction it travels.
                for order in (there, back):
                    last = self._improve(order, in_place=True)
                # They may end closer than evaluations get, which round more.
                if last <= target and (last := self._improve(there, in_place=False)) <= target:
                    return last
            stagnant = 0 if residual < 0.9 * best else stagnant + 1
            best = min(best, residual)
            if self.sweeps >= max_sweeps or (stagnant >= 5 and residual <= 10 * target):
                return self._improve(there, in_place=False)
            exact = False
            if rounds < MOST_ROUNDS:
                change = max(INEXACT * residual * self.rate, 0.5 * target)
                exact = self._evaluate(change, sort=rounds % 4 == 0) <= 0.5 * target
            rounds += 1

    def _allowed_residual(self, tol: float) -> float:
        return allowed_residual(tol, self.rate, float(np.abs(self.V).max()))

    def _rounding(self) -> float:
        """Error of a policy's values after they were found exactly."""
        return 4 * float(np.finfo(float).eps * np.abs(self.V).max()) / self.rate

    def guess(self) -> None:
        """Set values and choice from the model of likeliest moves.

        Values travel outwards from the rewards, to a button if there is one, and from there on.
        """
        self.guessed = True
        self.V[:] = self.Y[:] = self.lowest
        outwards, from_button = self.all_states, self.ready.second_order
        orders = [outwards] if from_button is None else [outwards, from_button, outwards]
        for part in chain.from_iterable(map(self._parts, orders)):
            self.news.margin[:] = 0.0
            args = self.V, self.Y, self.choice, self.news, self.rows
            kernels._improve_sweep(self.ready.likeliest, self.gamma, part, True, True, *args)
            self.progress("a first guess")
        self.news.margin[:] = 0.0
        self.sweeps += len(orders)
        if self.exactly is not None:
            self._evaluate_exactly(self.exactly)
        else:
            self._evaluate(GUESS_CHANGE * max(1.0, float(np.abs(self.V).max())), sort=True)

    def _improve(self, order: IntArray, *, in_place: bool, everywhere: bool = True) -> float:
        self.sweeps += 1
        if everywhere:
            self.news.margin[:] = 0.0
        residual = 0.0
        for part in self._parts(order):
            args = self.V, self.Y, self.choice, self.news, self.rows
            more = kernels._improve_sweep(self.m, self.gamma, part, in_place, False, *args)
            residual = max(residual, float(more))
            self.progress(f"{self.sweeps} sweeps, residual {residual:.1e}")
        return residual

    def _parts(self, order: IntArray) -> list[IntArray]:
        """Cut an order into parts: compiled code cannot be interrupted."""
        at_once = max(1, AT_ONCE // (self.m.n_env_actions * self.V.shape[1]))
        return [order[i : i + at_once] for i in range(0, len(order), at_once)]

    def _evaluate(self, accuracy: float, *, sort: bool) -> float:
        """Bring V and Y close to the values of the choice; return the last sweep's change.

        After a sweep that changed nothing by more than δ, the residual is at most γδ and the error
        at most γδ / (1 - γ).
        """
        y = self.Y.reshape(-1)
        if sort:
            self.evaluation_order = np.argsort(-y)
        order = self.evaluation_order
        write = partial(
            kernels._chosen_system, self.moves, self.m.row, self.gamma, self.choice, order
        )
        system = LinearSystem.written_by(write, order)
        change, sweeps = system.solve(y, accuracy, self.elimination, progress=self.progress)
        self.sweeps += sweeps
        kernels._chosen_values(self.moves, self.gamma, self.choice, self.Y, self.V)
        self.Y[:] = backup.project(self.m, self.V)
        return change
