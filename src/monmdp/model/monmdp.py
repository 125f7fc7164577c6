"""The Mon-MDP: an environment and a monitor, joined and kept factored.

Joint state s = (sᵉ, sᵐ) and joint action a = (aᵉ, aᵐ) have the indices s = sᵉ·|Sᵐ| + sᵐ and
a = aᵉ·|Aᵐ| + aᵐ. Given (s, a) the two factors move independently,

    p(s′ | s, a) = pᵉ(s′ᵉ | sᵉ, aᵉ) · pᵐ(s′ᵐ | sᵐ, aᵐ, sᵉ, aᵉ),

so the joint arrays are never needed to plan or to simulate. They can be exported for people who
want matrices: `transition_matrix`, `mean_reward`, `observability`.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monmdp.errors import MonMDPError, told
from monmdp.files import read_archive, write_archive
from monmdp.memory import demand_room
from monmdp.model.arrays import (
    FloatArray,
    Fresh,
    FrozenArrays,
    IntArray,
    as_array,
    cumulative,
    first_true,
    frozen,
)
from monmdp.model.dynamics import Tables
from monmdp.model.labels import NumberLabels, cells_of
from monmdp.model.mdp import MDP, Outcomes, whole_number
from monmdp.model.monitor import Monitor, shown_or_bottom

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FORMAT = "monmdp-1"
CELLS = "row,column"
"""in a file: the states are labelled by their place in the picture"""
_MDP_ARRAYS = (
    "first", "successor", "probability", "reward", "terminates", "hidden",
    "start", "goal", "bottom",
)  # fmt: skip
_MDP_SCALARS = (
    "name", "n_states", "n_actions", "r_min", "r_max", "time_limit", "state_labels",
    "action_labels", "picture", "button",
)  # fmt: skip
_MONITOR_ARRAYS = ("start", "transition", "reward", "show")


class Shape(NamedTuple):
    """The sizes of a Mon-MDP; a policy fits every Mon-MDP of its shape.

    >>> from monmdp import make
    >>> shape = make("bottleneck", "button").shape
    >>> print(shape)
    36 x 2 states, 5 x 1 actions
    >>> shape.joint_state({"env": 3, "mon": 1}), shape.observation(7)
    (7, {'env': 3, 'mon': 1})
    """

    n_env_states: int
    n_monitor_states: int
    n_env_actions: int
    n_monitor_actions: int

    def __str__(self) -> str:
        se, sm, ae, am = self
        return f"{se} x {sm} states, {ae} x {am} actions"

    def observation(self, s: int) -> dict[str, int]:
        """``{"env": sᵉ, "mon": sᵐ}`` of a joint state."""
        se, sm = divmod(int(s), self.n_monitor_states)
        return {"env": se, "mon": sm}

    def action(self, a: int) -> dict[str, int]:
        """``{"env": aᵉ, "mon": aᵐ}`` of a joint action."""
        ae, am = divmod(int(a), self.n_monitor_actions)
        return {"env": ae, "mon": am}

    def joint_state(self, observation: Any) -> int:
        """Index of ``{"env": sᵉ, "mon": sᵐ}``, or an error that says what is wrong with it."""
        return self._joint(
            observation, "observation", "s", self.n_env_states, self.n_monitor_states
        )

    def joint_action(self, action: Any) -> int:
        """Index of ``{"env": aᵉ, "mon": aᵐ}``, or an error that says what is wrong with it."""
        return self._joint(action, "action", "a", self.n_env_actions, self.n_monitor_actions)

    def _joint(self, value: Any, what: str, symbol: str, n_env: int, n_mon: int) -> int:
        try:
            env, mon = operator.index(value["env"]), operator.index(value["mon"])
        except (TypeError, KeyError, IndexError, ValueError):
            form = f'{{"env": {symbol}ᵉ, "mon": {symbol}ᵐ}}'
            raise MonMDPError(f"an {what} is {form}, got {value!r}") from None
        if not (0 <= env < n_env and 0 <= mon < n_mon):
            raise MonMDPError(
                f"{what} {value!r} is outside the spaces: env 0 to {n_env - 1}, "
                f"mon 0 to {n_mon - 1} ({self})"
            )
        return env * n_mon + mon


@dataclass(frozen=True, eq=False, repr=False)
class MonMDP(FrozenArrays):
    """A Mon-MDP; made by `join`.

    >>> from monmdp import make
    >>> problem = make("bottleneck", "button", rho=0.05)
    >>> problem
    <MonMDP 'bottleneck' / 'button': 72 joint states, 5 joint actions>
    >>> int(problem.joint_state(3, 1)), float(problem.observability().max())
    (7, 0.05)
    >>> problem.transition_matrix().shape
    (360, 72)
    """

    mdp: MDP
    monitor: Monitor
    """bound to `mdp`: its two classifications are arrays"""

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """What its sᵉ, sᵐ, aᵉ and aᵐ are called."""
        mdp, monitor = self.mdp, self.monitor
        return tuple(mdp.state_labels), monitor.states, mdp.action_labels, monitor.actions

    @property
    def pair_class(self) -> IntArray:
        """[env pair] table of `monitor.transition` that applies."""
        return self.monitor.pair_class  # type: ignore[return-value]

    @property
    def outcome_class(self) -> IntArray:
        """[env outcome] table of `monitor.show` that applies."""
        return self.monitor.outcome_class  # type: ignore[return-value]

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.mdp.name!r} / {self.monitor.name!r}: "
            f"{self.n_states} joint states, {self.n_actions} joint actions>"
        )

    # ---- sizes and indices ------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """(|Sᵉ|, |Sᵐ|, |Aᵉ|, |Aᵐ|)."""
        mdp, monitor = self.mdp, self.monitor
        return Shape(mdp.n_states, monitor.n_states, mdp.n_actions, monitor.n_actions)

    @property
    def n_states(self) -> int:
        """Number of joint states."""
        return self.mdp.n_states * self.monitor.n_states

    @property
    def n_actions(self) -> int:
        """Number of joint actions."""
        return self.mdp.n_actions * self.monitor.n_actions

    def joint_state(self, se: ArrayLike, sm: ArrayLike) -> IntArray:
        """Index of (sᵉ, sᵐ); works on arrays."""
        return np.asarray(se) * self.monitor.n_states + np.asarray(sm)  # type: ignore[no-any-return]

    def split_state(self, s: ArrayLike) -> tuple[IntArray, IntArray]:
        """(sᵉ, sᵐ) of a joint index; works on arrays."""
        return np.divmod(np.asarray(s), self.monitor.n_states)

    def joint_action(self, ae: ArrayLike, am: ArrayLike) -> IntArray:
        """Index of (aᵉ, aᵐ); works on arrays."""
        return np.asarray(ae) * self.monitor.n_actions + np.asarray(am)  # type: ignore[no-any-return]

    def split_action(self, a: ArrayLike) -> tuple[IntArray, IntArray]:
        """(aᵉ, aᵐ) of a joint index; works on arrays."""
        return np.divmod(np.asarray(a), self.monitor.n_actions)

    # ---- views ------------------------------------------------------------------------------

    @cached_property
    def tables(self) -> Tables:
        """What the simulator reads."""
        mdp, monitor = self.mdp, self.monitor
        cum = np.cumsum(mdp.probability)
        before = np.concatenate([[0.0], cum])[mdp.first[:-1]]
        cum -= np.repeat(before, np.diff(mdp.first))
        cum[mdp.first[1:] - 1] = 1.0
        return Tables(
            n_env_actions=mdp.n_actions,
            first=mdp.first,
            cum=cum,
            successor=mdp.successor,
            reward=mdp.reward,
            terminates=mdp.terminates,
            outcome_class=self.outcome_class,
            pair_class=self.pair_class,
            monitor_cum=cumulative(monitor.transition),
            monitor_reward=monitor.reward,
            show=monitor.show,
            start_cum=cumulative(mdp.start),
            monitor_start_cum=cumulative(monitor.start),
        )

    @cached_property
    def start(self) -> FloatArray:
        """[s] joint start distribution."""
        return np.outer(self.mdp.start, self.monitor.start).reshape(-1)

    def class_weights(self, values: FloatArray | None = None) -> FloatArray:
        """[env pair, show class] Σ of probability (times `values`) over the pair's outcomes."""
        mdp, n_classes = self.mdp, len(self.monitor.show)
        flat = mdp.pair_of_outcome * n_classes + self.outcome_class
        weights = mdp.probability if values is None else mdp.probability * values
        total = np.bincount(flat, weights, minlength=mdp.n_pairs * n_classes)
        return total.astype(np.float64).reshape(mdp.n_pairs, n_classes)

    def shown_chance(self) -> FloatArray:
        """[env pair, sᵐ, aᵐ] chance that the reward is shown, over the pair's outcomes."""
        chance = np.einsum("pl,lsa->psa", self.class_weights(), self.monitor.show)
        return np.minimum(chance, 1.0)  # type: ignore[no-any-return]

    def observability(self) -> FloatArray:
        """[s, a] P(rᵉ is shown | s, a)."""
        return self._joint_pairs(self.shown_chance())

    def mean_reward(self) -> FloatArray:
        """[s, a] rᵉ(sᵉ, aᵉ) + rᵐ(sᵐ, aᵐ)."""
        mean = self.mdp.mean_reward.reshape(-1, 1, 1) + self.monitor.reward
        return self._joint_pairs(mean)

    def _joint_pairs(self, values: FloatArray) -> FloatArray:
        """[env pair, sᵐ, aᵐ] -> [s, a]."""
        shape = (self.mdp.n_states, self.mdp.n_actions, *self.monitor.reward.shape)
        by_state = values.reshape(shape).transpose(0, 2, 1, 3)
        return np.ascontiguousarray(by_state).reshape(self.n_states, self.n_actions)

    def transition_matrix(self, *, continuing: bool = False) -> csr_array[Any, tuple[int, int]]:
        """[s·|A| + a, s′] joint transition probabilities as a CSR matrix.

        With ``continuing=True`` outcomes that end the episode are left out, so that the optimal
        value solves V = max R + γ P V; rows then may sum to less than one.
        """
        from scipy.sparse import csr_array

        mdp, monitor = self.mdp, self.monitor
        Sm, Am = monitor.n_states, monitor.n_actions
        keep = ~mdp.terminates if continuing else np.ones(mdp.n_outcomes, dtype=bool)
        pair = mdp.pair_of_outcome[keep]
        probability, successor = mdp.probability[keep], mdp.successor[keep]
        blocks = monitor.transition[self.pair_class[pair]]  # [outcome, sm, am, sm']
        o, sm, am, next_sm = np.nonzero(blocks)
        se, ae = np.divmod(pair[o], mdp.n_actions)
        row = (se * Sm + sm) * self.n_actions + ae * Am + am
        column = successor[o] * Sm + next_sm
        data = probability[o] * blocks[o, sm, am, next_sm]
        shape = (self.n_states * self.n_actions, self.n_states)
        matrix = csr_array((data, (row, column)), shape=shape)
        matrix.sum_duplicates()
        return matrix

    def dense_transition(self, *, continuing: bool = False) -> FloatArray:
        """[s, a, s′] joint transition probabilities as one dense array (small problems only)."""
        shape = (self.n_states, self.n_actions, self.n_states)
        return self.transition_matrix(continuing=continuing).toarray().reshape(shape)

    def with_mdp(self, mdp: MDP) -> MonMDP:
        """Return the same monitor, bound as it is, over an MDP of the same outcomes.

        The classes are kept: what is shown stays what was shown, whatever the new rewards are.
        """
        return replace(self, mdp=mdp)

    # ---- files ------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything into one ``.npz`` file, without pickle; all of it or nothing."""
        write_archive(path, *self._stored())

    def _stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a file holds: plain values, and arrays."""
        mdp, monitor = self.mdp, self.monitor
        meta = {
            "format": FORMAT,
            **{field: getattr(mdp, field) for field in _MDP_SCALARS},
            "state_labels": _stored_labels(mdp),
            "monitor": monitor.name,
            "monitor_states": monitor.states,
            "monitor_actions": monitor.actions,
            "reads_reward": monitor.reads_reward,
        }
        arrays = {f"mdp_{field}": getattr(mdp, field) for field in _MDP_ARRAYS}
        if mdp.observations is not None:
            table = mdp.observations
            meta["observations"] = {"dtype": table.dtype.name, "shape": table.shape[1:]}
            arrays["mdp_observations"] = table
        if mdp.places is not None:
            meta["places"] = True
            arrays["mdp_places"] = mdp.places
        arrays |= {f"monitor_{field}": getattr(monitor, field) for field in _MONITOR_ARRAYS}
        arrays |= {"pair_class": self.pair_class, "outcome_class": self.outcome_class}
        return meta, arrays

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MonMDP:
        """Read what `save` wrote, and validate it again; with its evidence, if it has any."""
        from monmdp.model.evidence import FittedMonMDP, stored_evidence

        meta, data = read_archive(path, "a file written by MonMDP.save", _shapes)
        try:
            if meta["state_labels"] == CELLS:
                meta["state_labels"] = NumberLabels(cells_of(meta["picture"]))
            own: dict[str, Any] = {f: Fresh(data[f"mdp_{f}"]) for f in _MDP_ARRAYS}
            if "observations" in meta:
                own["observations"] = _stored_observations(meta, data["mdp_observations"])
            own["places"] = data.get("mdp_places")
            mdp = MDP(**{field: meta[field] for field in _MDP_SCALARS}, **own)
            monitor = Monitor(
                states=meta["monitor_states"],
                actions=meta["monitor_actions"],
                **{field: data[f"monitor_{field}"] for field in _MONITOR_ARRAYS},
                pair_class=data["pair_class"],
                outcome_class=data["outcome_class"],
                name=meta["monitor"],
                reads_reward=meta["reads_reward"],
            )
            problem = join(mdp, monitor)
            if "evidence" in meta:
                evidence = stored_evidence(meta["evidence"], data)
                return FittedMonMDP(problem.mdp, problem.monitor, evidence)
            return problem
        except KeyError as error:
            raise MonMDPError(f"{path}: damaged, {error} is missing") from None
        except (MonMDPError, TypeError) as error:
            raise MonMDPError(f"{path}: damaged, {error}") from None


def _stored_labels(mdp: MDP) -> Sequence[str] | str | None:
    """The labels of the states as a file holds them: None for numbers, a word for cells."""
    labels = mdp.state_labels
    if not isinstance(labels, NumberLabels):
        return labels
    if np.array_equal(labels.numbers, np.arange(mdp.n_states)[:, None]):
        return None
    is_cells = mdp.cells is not None and np.array_equal(labels.numbers, mdp.cells)
    return CELLS if is_cells else tuple(labels)


def _stored_observations(meta: Mapping[str, Any], stored: NDArray[Any]) -> NDArray[Any]:
    """The observations in their own type; a file holds whole numbers in the narrowest."""
    name = meta["observations"]["dtype"]
    narrowed = stored.dtype.kind == "u" and name in ("int8", "int16", "int32", "int64")
    if name != stored.dtype.name and not narrowed:
        raise MonMDPError(f"observations of type {stored.dtype}, not {name}")
    return stored.astype(name)


def _shapes(meta: Mapping[str, Any]) -> dict[str, tuple[int | None, ...]]:
    """The arrays of a problem, by what its file says of itself."""
    from monmdp.model.evidence import evidence_shapes

    written_as = meta.get("format")
    if str(written_as).startswith("monmdp-run"):
        raise MonMDPError("this is a run, not a problem; `evaluate` reads it")
    if written_as != FORMAT:
        raise MonMDPError(f"format {written_as!r}, this version reads {FORMAT!r}")
    S, A = (whole_number(meta[name], name, at_least=1) for name in ("n_states", "n_actions"))
    Sm, Am = len(meta["monitor_states"]), len(meta["monitor_actions"])
    outcomes = ("mdp_successor", "mdp_probability", "mdp_reward", "mdp_terminates", "mdp_hidden")
    more = evidence_shapes(S, A, Sm, Am) if "evidence" in meta else {}
    if "observations" in meta:
        sizes = meta["observations"]["shape"]
        more["mdp_observations"] = (S, *(whole_number(n, "an axis", at_least=1) for n in sizes))
    if "places" in meta:
        more["mdp_places"] = (S, 2)
    return more | {
        "mdp_first": (S * A + 1,),
        **dict.fromkeys((*outcomes, "outcome_class"), (None,)),
        "mdp_start": (S,),
        "mdp_goal": (S, A),
        "mdp_bottom": (S,),
        "monitor_start": (Sm,),
        "monitor_transition": (None, Sm, Am, Sm),
        "monitor_reward": (Sm, Am),
        "monitor_show": (None, Sm, Am),
        "pair_class": (S * A,),
    }


def join(mdp: MDP, monitor: Monitor) -> MonMDP:
    """Bind a monitor to a world: ask it where the button is and which outcomes it may show.

    >>> from monmdp import join, monitors, worlds
    >>> join(worlds.make("loop"), monitors.make("ask", cost=-0.5))
    <MonMDP 'loop' / 'ask': 9 joint states, 10 joint actions>
    """
    for given, kind in ((mdp, MDP), (monitor, Monitor)):
        if not isinstance(given, kind):
            raise MonMDPError(f"join takes an MDP and a Monitor, got {given!r}")
    pairs = mdp.n_pairs * monitor.n_states * monitor.n_actions
    demand_room(
        8 * pairs, f"one number for each of {pairs:,} joint pairs ({mdp.name} / {monitor.name})"
    )
    where = f"of monitor {monitor.name!r} on world {mdp.name!r}"
    pair_class = _classes(
        monitor.pair_class, mdp, mdp.n_pairs, len(monitor.transition), f"pair_class {where}"
    )
    outcomes = mdp.outcomes
    outcome_class = _outcome_class(monitor, outcomes, f"outcome_class {where}")
    reads = monitor.reads_reward or _reads_reward(monitor, outcomes, outcome_class)
    bound = replace(monitor, pair_class=pair_class, outcome_class=outcome_class, reads_reward=reads)
    return MonMDP(mdp, bound)


def _reads_reward(monitor: Monitor, outcomes: Outcomes, outcome_class: IntArray) -> bool:
    """Whether other rewards would put an outcome into a class that shows it otherwise."""
    if not callable(monitor.outcome_class) or monitor.outcome_class is shown_or_bottom:
        return False
    for other in (0.0, 1.0, -1e6, 1e6):
        changed = outcomes._replace(reward=np.broadcast_to(other, outcomes.reward.shape))
        classes = _outcome_class(monitor, changed, "outcome_class")
        moved = classes != outcome_class
        if (monitor.show[classes[moved]] != monitor.show[outcome_class[moved]]).any():
            return True
    return False


def _outcome_class(monitor: Monitor, outcomes: Outcomes, what: str) -> IntArray:
    n = len(outcomes.reward)
    return _classes(monitor.outcome_class, outcomes, n, len(monitor.show), what)


def _classes(given: Any, of: Any, n: int, n_classes: int, what: str) -> IntArray:
    """Return a classification of `n` things into the monitor's tables, checked and flat."""
    if callable(given):
        with told(what):
            given = given(of)
    values = np.zeros(n, dtype=np.int64) if given is None else as_array(given, what).reshape(-1)
    classes: IntArray = frozen(values, np.int64, (n,), what)
    if (at := first_true((classes < 0) | (classes >= n_classes))) is not None:
        raise MonMDPError(
            f"{what}: class {classes[at]} at entry {at}; "
            f"the monitor has {n_classes} tables, 0 to {n_classes - 1}"
        )
    return classes
