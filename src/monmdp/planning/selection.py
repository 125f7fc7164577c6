"""Which candidates to choose under a budget: greedy from both ends, then branch and bound.

V never falls when a set grows (`worth`). So whatever is chosen among the candidates that are not
ruled out is worth no more than all of them at once; and if the plan with all of them uses only some
that can be paid together, those are the best choice. Else at least one of the used ones has to go.
This is all that the search knows:

*Node.* (I, O): candidates that are chosen, and ruled out. What cannot be paid any more is ruled
out, too. Bound: V(all but O).
*Leaf.* The plan with all but O uses W. If I ∪ W is within the budget its value is the bound.
*Branch.* Order W ∖ I by V(all but O and i), the dearest loss first: i₁, i₂, …. Either i₁ is ruled
out; or i₁ is chosen and i₂ is ruled out; or both are chosen and i₃ is ruled out; and so on, as long
as the chosen ones can be paid. Branches that are bounded by what has been found are cut.

One such step at the root gives an upper bound already: V(all but i), for the first i in this order
that cannot be paid together with those before it. Greedy choices are judged by this one step, which
takes no more plans than they have made anyway. The more nodes, the lower the bound; when none is
left the choice is optimal.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.planning.worth import Subset, Worth

MARGIN = 1e-9
"""values closer than this are equal, in units of the largest value"""
FEW = 50
"""candidates that are tried when a set has members already: those that gained most before"""
MANY = 200
"""plans that paring down may always make"""
NOTHING: Subset = frozenset()


class Choice(NamedTuple):
    """A set of candidates, and how good the best one can be."""

    chosen: Subset
    value: float
    """V(chosen)"""
    bound: float
    """no set within the budget has a higher V; equal to `value` if it is proven optimal"""


class Selection:
    """The choice among candidates of given costs, within a budget."""

    def __init__(self, worth: Worth, cost: FloatArray, budget: float) -> None:
        """Take V, what candidates cost and what may be spent."""
        self.worth, self.cost = worth, cost
        # Costs like 0.1 do not add up exactly.
        self.budget = budget * (1 + 1e-12)
        self.everything = frozenset(range(len(cost))) - self._beyond(NOTHING)
        self.nothing = worth(NOTHING)

    def margin(self) -> float:
        """Return the difference below which two values are equal."""
        largest = max(1.0, abs(self.nothing), abs(self.worth(self.everything, NOTHING)))
        return MARGIN * largest + 2 * self.worth.error

    def spent(self, chosen: Iterable[int]) -> float:
        """Return what a set costs."""
        return float(sum(self.cost[i] for i in sorted(chosen)))

    def _beyond(self, chosen: Subset) -> Subset:
        """Candidates that cannot be paid besides those that are chosen."""
        left = self.budget - self.spent(chosen)
        return frozenset(i for i, c in enumerate(self.cost) if c > left) - chosen

    # ---- greedy -----------------------------------------------------------------------------

    def greedy(self) -> Subset:
        """Return the best of three: built up by gain, by gain per cost, and pared down.

        Then every member is given up in turn, to see what else could take its place.
        """
        found = [self._build_up(NOTHING, per_cost=False), self._pare_down()]
        if len(set(self.cost)) > 1:
            found.append(self._build_up(NOTHING, per_cost=True))
        best = self._best(found)
        while (other := self._best(self._exchanged(best))) != best:
            best = other
        return best

    def _best(self, sets: Iterable[Subset]) -> Subset:
        """The first of the sets that none is better than."""
        best, *others = sets
        for other in others:
            if self.worth(other) > self.worth(best) + self.margin():
                best = other
        return best

    def _exchanged(self, chosen: Subset) -> Iterable[Subset]:
        yield chosen
        for i in sorted(chosen):
            yield self._build_up(chosen - {i}, per_cost=False)

    def _build_up(self, chosen: Subset, *, per_cost: bool) -> Subset:
        """Add what gains most, again and again; only the most promising are tried."""
        gain = {i: self.worth(frozenset({i}), NOTHING) - self.nothing for i in self.everything}
        while rest := self.everything - chosen - self._beyond(chosen):
            price = {i: self._price(i) if per_cost else 1.0 for i in rest}
            tried = sorted(rest, key=lambda i: (-gain[i] / price[i], i))[:FEW]
            here = self.worth(chosen)
            gain |= {i: self.worth(chosen | {i}, chosen) - here for i in tried}
            best = max(tried, key=lambda i: gain[i] / price[i])
            if gain[best] <= self.margin():
                break
            chosen |= {best}
        return chosen

    def _pare_down(self) -> Subset:
        """Begin with everything, and follow the branch of the highest bound down to a leaf.

        Where this takes more plans than trying each candidate alone, building up is the better way.
        """
        inside, left = NOTHING, self.everything
        self.worth(left, NOTHING)
        most_plans = self.worth.plans + max(MANY, len(left) * len(self.worth.pay))
        while self.spent(inside | (used := self.needed(left, None, inside))) > self.budget:
            branches = self._branches(inside, left)
            bound = {branch: self.worth(left - branch[1], left) for branch in branches}
            inside, gone = max(bound, key=bound.__getitem__)
            left -= gone
            if self.worth.plans > most_plans:
                return self._build_up(inside, per_cost=True)
        return inside | used

    def _price(self, i: int) -> float:
        """Cost of a candidate; one that is free is almost free."""
        return max(float(self.cost[i]), 1e-12 * max(1.0, self.budget))

    def needed(self, chosen: Subset, near: Subset | None = None, given: Subset = NOTHING) -> Subset:
        """Return what the plan of a set uses, besides what is `given`.

        Where a pair belongs to several candidates, a few cheap ones that have all of them.
        """
        to_see: BoolArray = self.worth.used(chosen, near) & ~self.worth.shown(given)
        covers, taken = self.worth.covers, NOTHING
        while to_see.any():
            new = {i: int((covers[i] & to_see).sum()) for i in sorted(chosen - given - taken)}
            best = max(new, key=lambda i: (new[i] > 0, new[i] / self._price(i)))
            taken |= {best}
            to_see = to_see & ~covers[best]
        return taken

    def trimmed(self, chosen: Subset) -> Subset:
        """Return a choice without what adds nothing to it, the dearest first."""
        for i in sorted(chosen, key=lambda i: (-self.cost[i], i)):
            if self.worth(chosen - {i}, chosen) >= self.worth(chosen) - self.margin():
                chosen -= {i}
        return chosen

    # ---- branch and bound -------------------------------------------------------------------

    def search(self, chosen: Subset, most_plans: int) -> Choice:
        """Improve a choice until it is proven or enough plans are made; the root comes anyway."""
        margin = self.margin()
        best, reached = chosen, self.worth(chosen)
        everyone = frozenset(range(len(self.cost)))
        number = count(1)
        heap = [(-self.worth(self.everything, NOTHING), 0, NOTHING, everyone - self.everything)]
        while heap and -heap[0][0] > reached + margin:
            if heap[0][1] > 0 and self.worth.plans >= most_plans:
                break
            below, _, inside, out = heapq.heappop(heap)
            left = everyone - out
            used = self.needed(left, self.everything, inside)
            if self.spent(inside | used) <= self.budget:
                value = self.worth(inside | used, left)
                if value > reached:
                    best, reached = inside | used, value
                continue
            for child, gone in self._branches(inside, left):
                limit = min(-below, self.worth(left - gone, left))
                if limit > reached + margin:
                    heapq.heappush(heap, (-limit, next(number), child, out | gone))
        bound = -heap[0][0] if heap else reached
        if bound <= reached + margin:
            return Choice(best, reached, reached)
        return Choice(best, reached, bound + 2 * self.worth.error)

    def _branches(self, inside: Subset, left: Subset) -> Iterable[tuple[Subset, Subset]]:
        """Yield what is chosen and what is newly ruled out, for each branch of a node."""
        touching = sorted(
            i for i in left - inside
            if (self.worth.covers[i] & self.worth.used(left) & ~self.worth.shown(inside)).any()
        )  # fmt: skip
        without = {i: self.worth(left - {i}, left) for i in touching}
        for i in sorted(touching, key=lambda i: without[i]):
            if self.spent(inside) > self.budget:
                return
            yield inside, (self._beyond(inside) & left) | {i}
            inside |= {i}
