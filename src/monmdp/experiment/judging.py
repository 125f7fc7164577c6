"""How good a policy is, exactly: `Judge`.

If all states of a problem are known, nothing about a policy π has to be estimated, whether it is a
table or a network. Two problems matter: M, with all rewards as they are, and M↓, in which rewards
that can never be seen are r_min. Two horizons matter, too, and they are kept apart:

* *Returns* are those of an episode from the start distribution that the time limit cuts short, as
  everywhere in this package. Visits of ⊥ and the share of rewards shown belong to such episodes.
* *Values* have no time limit. That is what the values of a learning agent mean if it treats an
  episode that was cut short as one that goes on. Bias and loss are about values.

The *bias* of an agent is its own value of a state minus the exact value of the policy that it
follows. The *loss* says where a policy loses. By the performance difference lemma

    V*(start) − V_π(start) = Σ_s d(s) Σ_a π(a|s) (max Q*(s, ·) − Q*(s, a)),

where Q* belongs to the minimax-optimal policy in M↓ and d(s) = Σ_t γᵗ P(s_t = s) are discounted
visits of π. Every pair (s, a) has a share of the gap, and the shares add up to the gap.

Gaps are measured in units of max(1, |v|), where v belongs to the minimax-optimal policy, as in all
results of this package except deep-v1's, whose unit is |v|. *Within 2 %* means at least
v − 0.02·max(1, |v|). The sign of v does not matter, and near 0 the unit is 1, not something tiny.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.experiment import stable_baselines
from monmdp.experiment.answers import View, action_name, read_policy, read_values, state_name
from monmdp.experiment.evaluation import (
    chances,
    expected_visits,
    policy_moves,
    scores_of,
    steps_at_most,
    writable_tables,
)
from monmdp.experiment.policy import Policy
from monmdp.experiment.recording import Record
from monmdp.experiment.training import Run
from monmdp.model import MonMDP
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import number
from monmdp.planning import Evaluation, Solution, backup, observability, solve
from monmdp.planning import evaluate as exact_values
from monmdp.planning.factors import checked_problem, factors
from monmdp.planning.policy_iteration import TIE
from monmdp.tables import Column, Table, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Against = Literal["worst-case", "true"]
AGAINST: tuple[Against, ...] = ("worst-case", "true")
"""the problem whose exact values an agent's own are compared with: M↓ or M"""
LISTED = 5
"""states and pairs that are named in words"""


class GammaWarning(UserWarning):
    """An agent learnt with another discount than the one that it is judged with."""


@dataclass(frozen=True)
class Loss:
    """A pair that a policy takes although another action would be worth more."""

    state: int
    """joint state s"""
    action: int
    """joint action a"""
    better: int
    """a best joint action there; of several, the one most like `action`"""
    cost: float
    """its share of the gap: d(s) π(a|s) (max Q*(s, ·) − Q*(s, a))"""
    words: str
    """the same in words"""


@dataclass(frozen=True)
class BiasAt:
    """A state whose value an agent gets wrong."""

    state: int
    """joint state s"""
    given: float
    """the agent's value; if it has action values, their mean under its policy"""
    exact: float
    words: str
    """the same in words"""

    @property
    def bias(self) -> float:
        """By how much the agent's value is too high."""
        return self.given - self.exact


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a policy is worth, exactly; made by a `Judge`.

    >>> import monmdp
    >>> from monmdp.experiment import Judge
    >>> problem = monmdp.make("loop", "ask")
    >>> judged = Judge(problem)(monmdp.Policy.uniform(problem))
    >>> round(judged.episode_return, 4), round(judged.minimax_return, 4), judged.within(0.02)
    (-3.7325, 0.9606, False)
    >>> bool(abs(judged.loss.sum() - judged.value_gap) < 1e-9)
    True
    """

    problem: MonMDP = field(repr=False)
    gamma: float
    policy: FloatArray = field(repr=False)
    """[s, a] what was judged"""
    episode_return: float
    """of an episode in M, cut short at the time limit"""
    worst_case_return: float
    """the same in M↓"""
    minimax_return: float
    """the same of the minimax-optimal policy, in M↓"""
    value: float
    """in M↓ from the start distribution, without a time limit"""
    minimax_value: float
    """the same of the minimax-optimal policy: no policy has more"""
    goal_visits: float
    """of an episode, on average"""
    bottom_visits: float
    """steps of an episode in ⊥ states, on average, as everywhere in this package; if the world
    marks no states as ⊥, steps whose outcome is ⊥"""
    bottom_chance: float
    """chance that an episode has at least one such step"""
    shown: float
    """share of steps whose reward is shown"""
    asked: Mapping[str, float]
    """monitor action -> share of steps in which it is taken"""
    episode_length: float
    worst_case_values: FloatArray = field(repr=False)
    """[s] value in M↓, without a time limit"""
    true_values: FloatArray = field(repr=False)
    """[s] value in M, without a time limit"""
    visits: FloatArray = field(repr=False)
    """[s] d(s), without a time limit"""
    loss: FloatArray = field(repr=False)
    """[s, a] shares of the gap between the values; they add up to `value_gap`"""
    best: FloatArray = field(repr=False)
    """[s, a] Q* of M↓"""
    given: FloatArray | None = field(default=None, repr=False)
    """[s] or [s, a] the agent's own values, if there are any"""
    exact: Evaluation | None = field(default=None, repr=False)
    """the exact values that they are compared with"""
    followed: FloatArray | None = field(default=None, repr=False)
    """[s, a] the policy whose values they are"""
    weights: FloatArray | None = field(default=None, repr=False)
    """[s] its discounted visits: what the bias is weighted by"""
    against: Against = "worst-case"
    """whether they are compared in M↓ or in M"""

    @property
    def gap(self) -> float:
        """By how much an episode in M↓ returns less than one of the minimax-optimal policy.

        That policy is optimal without a time limit; where it matters, others may return more.
        """
        return self.minimax_return - self.worst_case_return

    @property
    def share(self) -> float:
        """The gap in units of max(1, |v|), v the return of the minimax-optimal policy."""
        return self.gap / max(1.0, abs(self.minimax_return))

    @property
    def value_gap(self) -> float:
        """By how much its value is below the minimax value in M↓: at least 0, but for rounding."""
        return self.minimax_value - self.value

    def within(self, share: float) -> bool:
        """Return whether the gap is at most this share of max(1, |v|)."""
        return self.share <= number(share, "share")

    # ---- bias ---------------------------------------------------------------------------------

    @property
    def own_values(self) -> FloatArray | None:
        """[s] the agent's own values; of action values the mean under the policy it follows."""
        if self.given is None or self.followed is None:
            return None
        return self.given if self.given.ndim == 1 else (self.followed * self.given).sum(axis=1)

    @property
    def bias(self) -> FloatArray | None:
        """[s] the agent's own value minus the exact one; None without values."""
        own = self.own_values
        return None if own is None or self.exact is None else own - self.exact.values

    @property
    def action_bias(self) -> FloatArray | None:
        """[s, a] the same of action values: minus the exact Q of the policy it follows."""
        if self.given is None or self.exact is None or self.given.ndim == 1:
            return None
        m, V = factors(self.exact.monmdp), self.exact.values.reshape(self.problem.mdp.n_states, -1)
        q = backup.all_action_values(m, self.gamma, V)
        return self.given - q.reshape(self.given.shape)

    @property
    def mean_bias(self) -> float | None:
        """Mean of the bias, weighted by the discounted visits of the policy it follows."""
        return self._mean(self.bias)

    @property
    def mean_absolute_bias(self) -> float | None:
        """The same of the absolute bias."""
        return None if self.bias is None else self._mean(np.abs(self.bias))

    def _mean(self, values: FloatArray | None) -> float | None:
        if values is None or self.weights is None:
            return None
        return float(self.weights @ values / self.weights.sum())

    @property
    def worst_bias(self) -> float | None:
        """The bias that is furthest from 0, among the states that this policy visits."""
        return None if self.bias is None else self.worst_biases(1)[0].bias

    def worst_biases(self, n: int = LISTED) -> tuple[BiasAt, ...]:
        """Return the visited states with the worst bias, the worst first; none without values."""
        own, bias = self.own_values, self.bias
        if own is None or bias is None or self.exact is None or self.weights is None:
            return ()
        visited = self.weights > 0
        size = np.where(visited, np.abs(bias), -1.0)
        order = np.argsort(-size, kind="stable")[: min(n, int(visited.sum()))]
        found = []
        for s in map(int, order):
            given, exact = float(own[s]), float(self.exact.values[s])
            words = (
                f"in {state_name(self.problem, s)}: believes {written(given)}, the exact value is "
                f"{written(exact)}"
            )
            found.append(BiasAt(s, given, exact, words))
        return tuple(found)

    # ---- loss ---------------------------------------------------------------------------------

    def losses(self, n: int = LISTED) -> tuple[Loss, ...]:
        """Return the pairs that cost most, in shares of `value_gap`, the most expensive first.

        Actions within 1e-9 of the best are as good as the best.
        """
        behind = self.best.max(axis=1, keepdims=True) - self.best
        cost = np.where(behind > TIE, self.loss, 0.0).reshape(-1)
        order = np.argsort(-cost, kind="stable")[: min(n, int((cost > 0).sum()))]
        return tuple(self._loss(*divmod(int(pair), self.problem.n_actions)) for pair in order)

    def _loss(self, s: int, a: int) -> Loss:
        tied = np.flatnonzero(self.best[s] >= self.best[s].max() - TIE)
        env, mon = self.problem.split_action(tied)
        ae, am = self.problem.split_action(a)
        better = int(tied[np.argmax(2 * (env == ae) + (mon == am))])
        cost = float(self.loss[s, a])
        taken, instead = (action_name(self.problem, of) for of in (a, better))
        words = (
            f"in {state_name(self.problem, s)}: {taken} instead of {instead} costs {written(cost)}"
        )
        return Loss(s, a, better, cost, words)

    # ---- what people read ---------------------------------------------------------------------

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers, by name: those of a `Record`'s frame."""
        names = (
            "episode_return", "worst_case_return", "minimax_return", "gap", "share", "value",
            "minimax_value", "value_gap", "goal_visits", "bottom_visits", "bottom_chance", "shown",
            "episode_length", "mean_bias", "mean_absolute_bias", "worst_bias",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def table(self) -> Table:
        """Return the numbers with what they mean; below, where it loses and what is biased."""
        rows: list[tuple[str, float | None, float | None]] = [
            ("return of an episode in M↓", self.worst_case_return, self.minimax_return),
            ("return of an episode in M", self.episode_return, None),
            ("value in M↓, no time limit", self.value, self.minimax_value),
            ("⊥ steps in an episode", self.bottom_visits, None),
            ("chance that an episode steps on ⊥", self.bottom_chance, None),
            ("share of steps whose reward is shown", self.shown, None),
            ("steps of an episode", self.episode_length, None),
        ]
        if len(self.asked) > 1:
            rows += [(f"share of steps: {name}", of, None) for name, of in self.asked.items()]
        if self.bias is not None:
            rows += [
                ("bias of its values, mean by visits", self.mean_bias, None),
                ("absolute bias, mean by visits", self.mean_absolute_bias, None),
                ("bias, the worst of a visited state", self.worst_bias, None),
            ]
        columns = ("", Column("policy", form=""), Column("minimax-optimal", form="", missing=""))
        mdp, monitor = self.problem.mdp, self.problem.monitor
        return Table.of(
            columns, rows, title=f"{mdp.name} / {monitor.name}, γ = {self.gamma:g}",
            notes=self._notes(),
        )  # fmt: skip

    def _notes(self) -> list[str]:
        unit = max(1.0, abs(self.minimax_return))
        notes = [
            f"Gap between the returns: {written(self.gap)}, {written(100 * self.share)} % of "
            f"max(1, |v|) = {written(unit)}."
        ]
        if lost := self.losses():
            total = written(self.value_gap)
            notes.append(f"Where it loses, of a gap of {total} between the values:")
            notes += [f"  {of.words}" for of in lost]
        if wrong := self.worst_biases():
            where = "M↓" if self.against == "worst-case" else "M"
            notes.append(f"Where its values are furthest from the exact ones in {where}:")
            notes += [f"  {of.words}" for of in wrong]
        return notes

    def __str__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return self.table().to_html()

    def figure(self) -> Figure:
        """Draw exact values in M↓, bias, visits and loss on the map, or state by state.

        States that share a place, and the monitor's states, are combined: visits and losses are
        added up; values and bias are means by the policy's discounted visits. Where the policy
        never is there is no bias, and the value is the plain mean. States that no policy can
        reach are left out.
        """
        from monmdp.drawing.layers import Layer, draw_layers
        from monmdp.drawing.sheet import world_of

        by_state = (self.problem.mdp.n_states, -1)
        visits = self.visits.reshape(by_state).sum(axis=1)
        mean, total = (f"of a cell's states: {how}" for how in ("mean by visits", "sum"))
        reachable = observability(self.problem).reachable.astype(np.float64)
        exact = _by_weight(self.worst_case_values.reshape(by_state), self.visits, reachable)
        layers = [Layer("exact value in M↓", exact, visits, mean)]
        if self.bias is not None and self.weights is not None:
            nowhere = np.zeros(reachable.shape)
            bias = _by_weight(self.bias.reshape(by_state), self.weights, nowhere)
            weight = self.weights.reshape(by_state).sum(axis=1)
            layers.append(Layer("bias of its values", bias, weight, mean, signed=True))
        layers.append(Layer("discounted visits", visits, None, f"{total}; log scale", False, True))
        lost = self.loss.sum(axis=1).reshape(by_state).sum(axis=1)
        title = f"loss: shares of the value gap of {written(self.value_gap)}"
        layers.append(Layer(title, lost, None, total))
        mdp, monitor = self.problem.mdp, self.problem.monitor
        title = (
            f"{mdp.name} / {monitor.name}: gap {written(self.gap)}, "
            f"{written(100 * self.share)} % of max(1, |v|)"
        )
        return draw_layers(world_of(self.problem), layers, title=title)


class Judge:
    """Judges policies of one problem exactly, networks too; solves the problem once.

    >>> import monmdp
    >>> from monmdp.experiment import Judge
    >>> judge = Judge(monmdp.make("bottleneck", "full-random"))
    >>> always_stay = lambda seen: {"env": 0 * seen["env"] + 4, "mon": 0 * seen["mon"]}
    >>> judged = judge(always_stay)
    >>> round(judged.worst_case_return, 4), round(judge.minimax_return, 4), round(judged.gap, 4)
    (0.0, 0.9044, 0.9044)
    >>> print(judged.losses()[0].words)
    in 0,0: STAY instead of DOWN costs 0.9044

    Attributes:
        problem: the problem M.
        gamma: discount.
        solution: what `monmdp.solve` says of the problem.
        minimax_return: of an episode of the minimax-optimal policy in M↓, with the time limit.
        minimax_value: of the same policy, without a time limit.
    """

    def __init__(self, problem: MonMDP, gamma: float = 0.99) -> None:
        """Solve the problem.

        Args:
            problem: M. Its world needs a time limit, unless all episodes end by themselves.
            gamma: discount, in [0, 1]. Without one, γ = 1, episodes must end by themselves.
        """
        self.problem = checked_problem(problem)
        self._steps = steps_at_most(problem)
        self.solution: Solution = solve(problem, gamma)
        self.gamma = self.solution.gamma
        if self.solution.horizon is not None:
            raise MonMDPError(
                f"gamma = 1: in {problem.mdp.name} some policies never end an episode before the "
                "time limit, so values depend on the steps that are left, and no table of values "
                "is right; take gamma < 1"
            )
        self._tables = writable_tables(problem)
        self._chances = chances(problem, self.solution.seen)
        best = self._scores(self.solution.minimax.policy)
        self.minimax_return: float = best["worst_case_return"]
        self.minimax_value: float = self.solution.value

    def __call__(
        self,
        policy: Any,
        values: Any = None,
        *,
        view: View | None = None,
        against: Against = "worst-case",
        follows: Any = None,
    ) -> Judgement:
        """Judge a policy, and values if there are any.

        If the agent is known to have learnt with another discount, there is a `GammaWarning`.

        Args:
            policy: [s, a] probabilities over joint states and joint actions, or [s] joint actions;
                a `Policy`, a `Run`, an agent with `test_policy`; a function of
                ``{"env": …, "mon": [k]}`` that returns k joint actions, a dictionary of aᵉ and aᵐ,
                or probabilities [k, a]; or something with Stable-Baselines3's `predict`. "env" is
                `MDP.observations`, [k, ...], or the numbers of states where there are none.
            values: what the agent believes: [s], or [s, a] action values, or a function as above
                that returns [k] or [k, a]. By default those that the policy itself has: the method
                `values` of an agent, or the Q-network or value network of Stable-Baselines3.
            view: translates what functions and `predict` are given.
            against: whether values are compared with the exact ones in M↓ ("worst-case") or in M
                ("true").
            follows: the policy that the values belong to, if it is not the one that is judged,
                such as the one that explores.
        """
        if against not in AGAINST:
            raise MonMDPError(f"unknown against={against!r}{nearest(str(against), AGAINST)}")
        pi = read_policy(self.problem, policy, view)
        of_policy = None
        if values is None:
            values, of_policy = stable_baselines.own_values(self.problem, policy, view)
            view_of_values = None  # they look through it already
        else:
            view_of_values = view
        given = None if values is None else read_values(self.problem, values, view_of_values)
        self._check_gamma(policy, given)
        if follows is not None:
            followed = read_policy(self.problem, follows, view)
        else:
            followed = pi if of_policy is None else read_policy(self.problem, of_policy)
        return self._judged(pi, given, followed, against)

    def record(self, every: int = 1000, *, tensorboard: Any = None) -> Record:
        """Return an object that judges a policy now and then while it learns; see `Record`."""
        return Record(self, every, tensorboard=tensorboard)

    def _check_gamma(self, policy: Any, given: FloatArray | None) -> None:
        """Warn if the agent is known to have learnt with another discount."""
        gamma = gamma_of(policy)
        if gamma is None or gamma == self.gamma:
            return
        what = "the gap is" if given is None else "gap and bias are"
        warnings.warn(
            f"the agent learnt with gamma = {gamma:g}, and the judge has gamma = {self.gamma:g}: "
            f"{what} those of another discount; take Judge(problem, gamma={gamma:g})",
            GammaWarning,
            stacklevel=3,
        )

    def _judged(
        self, pi: FloatArray, given: FloatArray | None, followed: FloatArray, against: Against
    ) -> Judgement:
        worst, true = self._valued(pi)
        plan = self.solution.minimax
        moves = policy_moves(self._moves, pi)
        d = discounted_visits(self.problem.start, moves, self.gamma)
        steps = expected_visits(self.problem.start, moves, self._steps)[:, None] * pi
        length = float(steps.sum())
        by_part = steps.reshape(self.problem.shape[0], -1, *self.problem.shape[2:])
        asked = by_part.sum(axis=(0, 1, 2)) / length
        exact, weights = None, None
        if given is not None:
            compared, weights = (worst, true), d
            if followed is not pi:
                elsewhere = policy_moves(self._moves, followed)
                compared = self._valued(followed)
                weights = discounted_visits(self.problem.start, elsewhere, self.gamma)
            exact = compared[AGAINST.index(against)]
        scores = self._scores(pi)
        return Judgement(
            problem=self.problem,
            gamma=self.gamma,
            policy=pi,
            episode_return=scores["episode_return"],
            worst_case_return=scores["worst_case_return"],
            minimax_return=self.minimax_return,
            value=worst.value,
            minimax_value=plan.value,
            goal_visits=scores["goal_visits"],
            bottom_visits=float((steps * self._bottom).sum()),
            bottom_chance=self._bottom_chance(pi),
            shown=float((steps * self._shown).sum()) / length,
            asked=dict(zip(self.problem.monitor.actions, asked.tolist(), strict=True)),
            episode_length=length,
            worst_case_values=worst.values,
            true_values=true.values,
            visits=d,
            loss=d[:, None] * pi * (self._best.max(axis=1, keepdims=True) - self._best),
            best=self._best,
            given=given,
            exact=exact,
            followed=followed,
            weights=weights,
            against=against,
        )

    def _valued(self, pi: FloatArray) -> tuple[Evaluation, Evaluation]:
        """The exact values in M↓ and in M."""
        worst = exact_values(self.solution.minimax.monmdp, pi, self.gamma)
        if self.solution.solvable:
            return worst, worst
        return worst, exact_values(self.problem, pi, self.gamma, start_from=worst.values)

    def _scores(self, pi: FloatArray) -> dict[str, float]:
        """What an episode scores, by the evaluation of all runs."""
        return scores_of(self._tables, self._chances, pi, self.gamma, self._steps)

    def _bottom_chance(self, pi: FloatArray) -> float:
        """The mean number of ⊥ steps in an episode that ends with the first of them."""
        if not self._bottom.any():
            return 0.0
        moves = policy_moves(self._moves_until_bottom, pi)
        visits = expected_visits(self.problem.start, moves, self._steps)
        return min(1.0, float((visits[:, None] * pi * self._bottom).sum()))

    @cached_property
    def _best(self) -> FloatArray:
        return self.solution.minimax.action_values()

    @cached_property
    def _moves(self) -> Any:
        return self.problem.transition_matrix(continuing=True)

    @cached_property
    def _is_bottom(self) -> Any:
        """[outcome] whether its step counts as one on ⊥."""
        mdp = self.problem.mdp
        if not mdp.bottom.any():
            return mdp.hidden
        return mdp.bottom[mdp.pair_of_outcome // mdp.n_actions]

    @cached_property
    def _moves_until_bottom(self) -> Any:
        mdp = self.problem.mdp
        ends = replace(mdp, terminates=mdp.terminates | self._is_bottom)
        return self.problem.with_mdp(ends).transition_matrix(continuing=True)

    @cached_property
    def _bottom(self) -> FloatArray:
        """[s, a] chance of ⊥."""
        mdp, (_, n_sm, _, n_am) = self.problem.mdp, self.problem.shape
        weight = mdp.probability * self._is_bottom
        chance = np.bincount(mdp.pair_of_outcome, weight, minlength=mdp.n_pairs)
        by_pair = chance.reshape(mdp.n_states, mdp.n_actions)
        return np.repeat(np.repeat(by_pair, n_sm, axis=0), n_am, axis=1)

    @cached_property
    def _shown(self) -> FloatArray:
        return self.problem.observability()


def gamma_of(policy: Any) -> float | None:
    """Return the discount that an agent is known to have learnt with; tests may have another."""
    if isinstance(policy, Run):
        gamma = policy.learning_gamma
    elif isinstance(policy, Policy):
        gamma = policy.origin.get("learning_gamma")
    else:
        gamma = getattr(policy, "gamma", None)
    return gamma if isinstance(gamma, int | float) else None


def discounted_visits(start: FloatArray, moves: Any, gamma: float) -> FloatArray:
    """Return [s] d(s) = Σ_t γᵗ P(s_t = s) of moves[s, s′], by a linear system.

    Only states that are reached are in it: without a discount others may have no finite answer.
    """
    from scipy.sparse import eye_array
    from scipy.sparse.csgraph import breadth_first_order
    from scipy.sparse.linalg import spsolve

    reached = np.zeros(len(start), dtype=np.bool_)
    for s in np.flatnonzero(start):
        if not reached[s]:
            reached[breadth_first_order(moves, int(s), return_predecessors=False)] = True
    states: IntArray = np.flatnonzero(reached)
    inside = moves[states][:, states]
    d = np.zeros(len(start))
    system = eye_array(len(states), format="csc") - gamma * inside.T.tocsc()
    d[states] = np.maximum(np.atleast_1d(spsolve(system, start[states])), 0.0)
    return d


def _by_weight(values: FloatArray, weights: FloatArray, instead: FloatArray) -> FloatArray:
    """[sᵉ] means over sᵐ by weights, by others where those are all 0; NaN where these are, too."""
    given = weights.reshape(values.shape)
    used = np.where(given.sum(axis=1, keepdims=True) > 0, given, instead)
    total = used.sum(axis=1)
    mean = (used * values).sum(axis=1) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mean, np.nan)
