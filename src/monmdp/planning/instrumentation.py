"""Which hidden rewards to make visible under a budget: `instrument`.

A reward that nobody can see is worth r_min to whoever plans for the worst. A sensor that shows it
costs something. Of all sets of sensors within the budget, which one raises the minimax value most?
`hidden_pay` says what the hidden rewards are taken to be, `worth` what seeing a set is worth, and
`selection` finds the set and proves how good it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.model.arrays import BoolArray
from monmdp.model.evidence import FittedMonMDP
from monmdp.model.mdp import number, whole_number
from monmdp.model.monmdp import MonMDP
from monmdp.planning.candidates import costs_of, members_of
from monmdp.planning.factors import checked_problem
from monmdp.planning.hidden_pay import DRAWS, INTERVAL, PRIOR, TRUTH, scenarios
from monmdp.planning.observability import observability
from monmdp.planning.policy_iteration import checked_gamma
from monmdp.planning.progress import Tell
from monmdp.planning.selection import NOTHING, Choice, Selection
from monmdp.planning.worth import Subset, Worth
from monmdp.tables import Column, Table, plural, written

METHODS = ("auto", "greedy", "exact")
MOST_PLANS = 5_000
"""plans after which the search for a better set, or for the proof that there is none, ends"""
MOST_ROWS = 12
"""candidates that were not chosen and are listed in a table"""


@dataclass(frozen=True)
class Candidate:
    """What can be bought: the sight of one or more hidden rewards."""

    name: str
    """``STATE:ACTION``, ``STATE``, or the name of a group"""
    pairs: tuple[tuple[int, int], ...]
    """(sᵉ, aᵉ) that it makes visible"""
    cost: float
    gain: float
    """rise of the minimax value if it is the only one"""


@dataclass(frozen=True)
class Purchase:
    """A candidate that is chosen, and where the choice stands with it and those before it."""

    candidate: Candidate
    cost: float
    """of all so far"""
    gain: float
    """of all so far"""


@dataclass(frozen=True, eq=False)
class Instrumentation:
    """Which hidden rewards to make visible, what it gains, and how good the choice is.

    >>> from monmdp import make, planning
    >>> found = planning.instrument(make("treasure-hunter", "ask"), 1, assume="truth")
    >>> found.names, round(found.gain, 4), found.ratio, found.optimal
    (('START:LEFT',), 0.9, 1.0, True)
    """

    monmdp: MonMDP = field(repr=False)
    gamma: float
    assume: str
    """"interval", "prior" or "truth": what hidden rewards are taken to pay"""
    scenarios: int
    """how many there are of what hidden rewards pay; gains are means over them"""
    budget: float
    candidates: tuple[Candidate, ...] = field(repr=False)
    """all that could be chosen, the most valuable alone first"""
    chosen: tuple[Purchase, ...]
    """in the order in which they gain most"""
    value_before: float
    """minimax value from the start distribution, as it is"""
    gain: float
    """rise of the minimax value; with "interval" it is the most that can be gained, if all that is
    made visible turns out to pay r_max"""
    upper_bound: float
    """no set within the budget gains more"""
    gain_of_all: float
    """of all candidates at once, whatever they cost"""
    method: str
    """"greedy", or "exact" if the search went on until the choice was proven"""
    plans: int
    """how many plans were made"""
    converged: bool
    """whether all plans are as exact as they should be"""

    @property
    def value(self) -> float:
        """Minimax value with the chosen rewards visible."""
        return self.value_before + self.gain

    @property
    def lower_gain(self) -> float:
        """The lower end of the gain: 0 with "interval", else the same as `gain`."""
        return 0.0 if self.assume == INTERVAL else self.gain

    @property
    def cost(self) -> float:
        """What the chosen ones cost together."""
        return self.chosen[-1].cost if self.chosen else 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the chosen ones."""
        return tuple(of.candidate.name for of in self.chosen)

    @property
    def ratio(self) -> float:
        """The gain is at least this share of the best possible one."""
        return 1.0 if self.optimal else self.gain / self.upper_bound

    @property
    def optimal(self) -> bool:
        """Whether no set within the budget gains more, up to rounding."""
        return self.upper_bound <= self.gain

    def to_dict(self) -> dict[str, Any]:
        """Return everything with names, for JSON."""
        mdp = self.monmdp.mdp
        bought = {of.candidate.name for of in self.chosen}
        return {
            "world": mdp.name,
            "monitor": self.monmdp.monitor.name,
            "gamma": self.gamma,
            "assume": self.assume,
            "scenarios": self.scenarios,
            "budget": self.budget,
            "cost": self.cost,
            "value_before": self.value_before,
            "value": self.value,
            "gain": self.gain,
            "lower_gain": self.lower_gain,
            "upper_bound": self.upper_bound,
            "gain_of_all": self.gain_of_all,
            "ratio": self.ratio,
            "optimal": self.optimal,
            "method": self.method,
            "plans": self.plans,
            "converged": self.converged,
            "chosen": [
                {"name": of.candidate.name, "cost_so_far": of.cost, "gain_so_far": of.gain}
                for of in self.chosen
            ],
            "candidates": [
                {
                    "name": of.name,
                    "cost": of.cost,
                    "gain_alone": of.gain,
                    "chosen": of.name in bought,
                    "pairs": [
                        {
                            "state": s,
                            "action": a,
                            "state_label": mdp.state_labels[s],
                            "action_label": mdp.action_labels[a],
                        }
                        for s, a in of.pairs
                    ],
                }
                for of in self.candidates
            ],
        }

    def table(self) -> Table:
        """Return the chosen ones in their order, then the best of the others, as a table."""
        columns = (
            Column("", form=",.0f", missing=""),
            "make visible",
            Column("cost", form=""),
            Column("gain alone", form=""),
            Column("cost so far", form="", missing=""),
            Column("gain so far", form="", missing=""),
        )
        rows: list[tuple[Any, ...]] = [
            (i, of.candidate.name, of.candidate.cost, of.candidate.gain, of.cost, of.gain)
            for i, of in enumerate(self.chosen, 1)
        ]
        bought = {of.candidate.name for of in self.chosen}
        others = [of for of in self.candidates if of.name not in bought]
        rows += [(None, of.name, of.cost, of.gain, None, None) for of in others[:MOST_ROWS]]
        return Table.of(columns, rows, notes=self._notes(len(others)))

    def _notes(self, others: int) -> list[str]:
        notes = []
        if others > MOST_ROWS:
            notes.append(
                f"… and {plural(others - MOST_ROWS, 'candidate')} that gain no more alone."
            )
        meaning = {
            INTERVAL: "Gains are if all that is made visible pays r_max: the true ones lie between "
            "0 and these.",
            PRIOR: f"Gains are means over {plural(self.scenarios, 'draw')} from the prior.",
            TRUTH: "Gains are by what the hidden rewards truly pay.",
        }
        notes.append(meaning[self.assume])
        if self.optimal:
            proof = "No set within the budget gains more."
        else:
            most = written(self.upper_bound)
            proof = (
                f"No set within the budget gains more than {most}: this is at least "
                f"{100 * self.ratio:.1f} % of the best."
            )
        return [*notes, f"{proof} All at once would gain {written(self.gain_of_all)}."]


def instrument(
    monmdp: MonMDP,
    budget: float,
    cost: float | Mapping[str, float] = 1.0,
    *,
    by: str = "pair",
    groups: Mapping[str, Sequence[Any]] | None = None,
    assume: str = INTERVAL,
    prior: Any = None,
    draws: int = DRAWS,
    seed: int = 0,
    method: str = "auto",
    gamma: float = 0.99,
    most_plans: int = MOST_PLANS,
    tell: Tell | None = None,
) -> Instrumentation:
    """Find the set of hidden rewards that is most worth making visible within a budget.

    Args:
        monmdp: the problem; if it was fitted from a log, of pairs that were tried and never seen.
        budget: what may be spent.
        cost: of each candidate, or name -> cost; ``"*"`` stands for those that have no entry.
        by: the candidates: each never-observable "pair", or all those of a "state" together.
        groups: candidates of your own instead, name -> members. A member is (state, action) or
            ``"STATE:ACTION"``; a state alone, by number, label or ``"row,column"``, stands for all
            its hidden pairs. Groups may overlap.
        assume: what hidden rewards are taken to pay. "interval": anything in [r_min, r_max], gains
            are the most that can be gained; "prior": what `prior` says; "truth": what they pay.
        prior: (mean, standard deviation) of what a hidden pair pays; or a mapping of those by the
            name of a candidate, state or pair, ``"*"`` for all others; or draws of your own
            [draw, state, action]. Whatever it says is clipped to [r_min, r_max].
        draws: scenarios that are drawn from a prior.
        seed: of these draws.
        method: "greedy" is quick, "exact" searches until the choice is proven to be the best and
            is refused if that takes more than `most_plans`, "auto" searches as long as it may.
        gamma: discount, in [0, 1], as `planning.optimal` takes it.
        most_plans: plans to make before the search ends.
        tell: called a few times a second with a line that says how far it is.

    >>> from monmdp import make, planning
    >>> found = planning.instrument(make("bottleneck", "button"), 3)
    >>> found.names, found.cost, found.lower_gain, round(found.gain, 2), found.optimal
    (('0,2:UP', '0,1:RIGHT'), 2.0, 0.0, 92.95, True)
    """
    mdp = checked_problem(monmdp).mdp
    gamma = checked_gamma(gamma)
    if method not in METHODS:
        raise MonMDPError(f"unknown method {method!r}{nearest(str(method), METHODS)}")
    budget = number(budget, "budget")
    if budget < 0:
        raise MonMDPError(f"budget must not be negative, got {budget:g}")
    most_plans = whole_number(most_plans, "most_plans", at_least=1)
    seen = observability(monmdp)
    hidden = seen.never_observable
    if isinstance(monmdp, FittedMonMDP):  # what nobody tried is not for want of looking
        hidden = hidden & monmdp.never_seen
    members = members_of(mdp, hidden, by, groups)
    costs = costs_of(members, cost)
    masks = list(members.values())
    said = scenarios(monmdp, hidden, assume, prior, members, draws, seed)
    worth = Worth(monmdp, seen, gamma, said.pay, masks, tell)
    selection = Selection(worth, costs, budget)
    alone = [worth(frozenset({i}), NOTHING) - selection.nothing for i in range(len(masks))]
    found = _found(selection, method, most_plans)
    candidates = [
        Candidate(name, _pairs(mask), float(costs[i]), max(0.0, alone[i]))
        for i, (name, mask) in enumerate(members.items())
    ]
    chosen = _purchases(selection, found.chosen, candidates)
    gain = chosen[-1].gain if chosen else 0.0
    proven = found.bound <= found.value
    return Instrumentation(
        monmdp=monmdp,
        gamma=gamma,
        assume=said.assume,
        scenarios=len(said.pay),
        budget=budget,
        candidates=tuple(sorted(candidates, key=lambda of: (-of.gain, of.cost))),
        chosen=chosen,
        value_before=selection.nothing,
        gain=gain,
        upper_bound=gain if proven else found.bound - selection.nothing,
        gain_of_all=max(gain, worth(frozenset(range(len(masks))), NOTHING) - selection.nothing),
        method="greedy" if method == "greedy" or not proven else "exact",
        plans=worth.plans,
        converged=worth.converged,
    )


def _found(selection: Selection, method: str, most_plans: int) -> Choice:
    """The choice of a method, without members that add nothing."""
    found = selection.search(selection.greedy(), 0 if method == "greedy" else most_plans)
    if method == "exact" and found.bound > found.value:
        gain, most = found.value - selection.nothing, found.bound - selection.nothing
        raise MonMDPError(
            f'method="exact": not proven after {plural(selection.worth.plans, "plan")}; the best '
            f"set so far gains {written(gain)}, none gains more than {written(most)}. Allow more "
            'plans with most_plans, or take method="auto", which returns that set with its bound'
        )
    return found._replace(chosen=selection.trimmed(found.chosen))


def _purchases(
    selection: Selection, chosen: Subset, candidates: list[Candidate]
) -> tuple[Purchase, ...]:
    """The chosen ones in the order in which they gain most."""
    done, bought = NOTHING, []
    while rest := sorted(chosen - done):
        next_one = max(rest, key=lambda i: (selection.worth(done | {i}, done), -i))
        done |= {next_one}
        gain = max(0.0, selection.worth(done) - selection.nothing)
        bought.append(Purchase(candidates[next_one], selection.spent(done), gain))
    return tuple(bought)


def _pairs(mask: BoolArray) -> tuple[tuple[int, int], ...]:
    return tuple((int(s), int(a)) for s, a in np.argwhere(mask))
