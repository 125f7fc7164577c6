"""Backups on the factored model, compiled where it pays. No validation, no randomness.

Write u for one of the distinct monitor rows pᵐ(· | sᵐ, aᵐ, class): N-Experts has one, Button two.
With ``Y[sᵉ, u] = Σ_s′ᵐ row[u, s′ᵐ] V[sᵉ, s′ᵐ]`` the backup of a joint pair is

    Q(s, a) = rᵉ(sᵉ, aᵉ) + rᵐ(sᵐ, aᵐ) + γ Σ_s′ᵉ pᵉ(s′ᵉ | sᵉ, aᵉ) Y[s′ᵉ, u(sᵐ, aᵐ, class)],

so one pass over the environment's outcomes serves all monitor states and actions. For the maximum,
monitor actions with the same row differ only in rᵐ, and only the best of them is kept (`menu`).

A sweep visits the environment states in a given order and replaces the values in place
(Gauss-Seidel). Elimination solves a policy's linear system without sweeps; `elimination` says how.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.compiling import compiled
from monmdp.model.arrays import FloatArray, IntArray

Index = NDArray[np.int32]

SMALL = 5000
"""entries; where an array is larger, a kernel is compiled at once"""
FEW_ROWS = 4
"""monitor rows for whose number kernels are compiled on purpose; most monitors have no more"""
PATIENCE = 0.3
"""seconds that all kernels together may spend uncompiled before they are compiled after all"""


class Kernel:
    """A function on arrays that is compiled once that pays.

    On small problems the same function runs as plain Python, to the same bits: the first answer
    then needs no compiling, and numba need not even be loaded. When many small problems have used
    up the patience, or a large one comes, it is compiled. Kernels call no other kernels.
    """

    spent = 0.0
    """seconds spent uncompiled so far, by all kernels"""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Wrap a function that numba can compile."""
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any) -> Any:
        """Run it on these arguments."""
        if Kernel.spent > PATIENCE or _largest(args) > SMALL:
            return compiled(self.function)(*args)
        begin = time.perf_counter()
        result = self.function(*args)
        Kernel.spent += time.perf_counter() - begin
        return result


def _largest(args: tuple[Any, ...]) -> int:
    """Size of the largest array among the arguments."""
    sizes = (_largest(arg) if isinstance(arg, tuple) else np.size(arg) for arg in args)
    return max(sizes, default=0)


def few_rows(n_u: int) -> tuple[int, ...]:
    """Return a tuple with an entry for each monitor row, or none if they are many.

    Kernels are compiled for each length of it: loops over so few rows run up to twice as fast when
    their number is known.
    """
    return tuple(range(n_u)) if n_u <= FEW_ROWS else ()


class Factors(NamedTuple):
    """The factored model as the kernels read it; outcomes that end the episode are left out.

    Outcomes that remain in sᵉ are summed up in `stay`; the others are the *moving* ones. Indices of
    outcomes, states and pairs are 32 bits wide: sweeps are bound by memory.
    """

    n_env_actions: int
    first: Index
    """[env pair + 1] the moving outcomes of a pair are first[pair] : first[pair + 1]"""
    successor: Index
    """[moving outcome] s′ᵉ ≠ sᵉ"""
    probability: FloatArray
    """[moving outcome]"""
    stay: FloatArray
    """[env pair] chance to remain in sᵉ and go on"""
    env_reward: FloatArray
    """[env pair] rᵉ"""
    pair_class: Index
    """[env pair]"""
    row: FloatArray
    """[u, s′ᵐ] the monitor rows, those of a class side by side"""
    row_first: IntArray
    """[class] the class uses the rows row_first : row_first + row_count"""
    row_count: IntArray
    """[class]"""
    row_of: IntArray
    """[class, sᵐ, aᵐ] u"""
    monitor_reward: FloatArray
    """[sᵐ, aᵐ] rᵐ"""
    menu_first: IntArray
    """[class, sᵐ + 1] the menu of sᵐ is menu_first[class, sᵐ] : menu_first[class, sᵐ + 1]"""
    menu_row: IntArray
    """[menu item] a row to choose"""
    menu_reward: FloatArray
    """[menu item] the best rᵐ for that row"""


class Moves(NamedTuple):
    """The part of `Factors` that says where a pair leads; the small kernels need no more."""

    first: Index
    successor: Index
    probability: FloatArray
    stay: FloatArray


class ChosenActions(NamedTuple):
    """A deterministic policy as the planner keeps it."""

    pair: Index
    """[sᵉ, sᵐ] the chosen environment pair"""
    row: Index
    """[sᵉ, sᵐ] the chosen monitor row"""
    reward: FloatArray
    """[sᵉ, sᵐ] rᵉ + rᵐ of the choice"""


class News(NamedTuple):
    """What improving and evaluating a policy tell each other, so that neither does all anew."""

    changed: NDArray[np.bool_]
    """[sᵉ] whether a choice has changed since the values were last found"""
    shift: FloatArray
    """[sᵉ] by how much the values changed since the choices were last improved"""
    margin: FloatArray
    """[sᵉ] what the second-best choice still needs, at least, to become the best"""


class Structure(NamedTuple):
    """Which weights there are once environment states are eliminated, one after the other.

    Eliminating a state makes all its neighbours that are still there neighbours of each other.
    """

    position: Index
    """[sᵉ] when it is eliminated"""
    state: Index
    """[position] sᵉ"""
    first: Index
    """[position + 1] the edges of a position are first[position] : first[position + 1]"""
    later: Index
    """[edge] a neighbour that is eliminated later, by its position, in increasing order"""


class Blocks(NamedTuple):
    """The linear system y = constant + W y while it is solved; i, j are positions, i before j.

    What belongs to i is all that its elimination reads.
    """

    constant: FloatArray
    """[i, u]"""
    own: FloatArray
    """[i, u, u′] the weight of y[i, u′] in the equation of y[i, u]"""
    ahead: FloatArray
    """[edge i-j, u, u′] the weight of y[j, u′] in the equation of y[i, u]"""
    behind: FloatArray
    """[edge i-j, u, u′] the weight of y[i, u′] in the equation of y[j, u]"""


@Kernel
def _improve_sweep(m, gamma, order, in_place, repeat, V, Y, choice, news, rows):
    """Choose the best action of every state; return the largest Bellman residual.

    States with a margin that the shift of values cannot use up keep their choice, unseen.

    With `in_place` the new values replace V and Y on the way (Gauss-Seidel); with `repeat` besides,
    the chosen actions are repeated for as long as they do not leave the environment state. `rows`
    is what `few_rows` says.
    """
    n_sm, n_u = V.shape[1], len(rows) or m.row.shape[0]
    first, successor, probability, stay = m.first, m.successor, m.probability, m.stay
    pair_class, row_first, row_count, row = m.pair_class, m.row_first, m.row_count, m.row
    menu_first, menu_row, menu_reward = m.menu_first, m.menu_row, m.menu_reward
    env_reward, n_ae = m.env_reward, m.n_env_actions
    chosen_pair, chosen_row, chosen_reward = choice
    z, best = np.empty(n_u), np.empty(n_sm)
    changed, shift, margin = news
    second = np.empty(n_sm)
    best_pair, best_item = np.empty(n_sm, dtype=np.int64), np.empty(n_sm, dtype=np.int64)
    item_row = np.empty(n_sm, dtype=np.int64)
    stays, system = np.empty(n_sm), np.empty((n_u, n_u))
    residual = 0.0
    for i in range(len(order)):
        se = order[i]
        if margin[se] > 0:
            largest = shift[se]
            for o in range(first[se * n_ae], first[(se + 1) * n_ae]):
                largest = max(largest, shift[successor[o]])
            margin[se] -= 2 * gamma * largest
            if margin[se] > 0:
                continue
        for sm in range(n_sm):
            best[sm] = second[sm] = -np.inf
            best_pair[sm] = se * n_ae
            best_item[sm] = menu_first[pair_class[se * n_ae], sm]
        o = first[se * n_ae]
        for pair in range(se * n_ae, (se + 1) * n_ae):
            c, r = pair_class[pair], env_reward[pair]
            u0, u1 = 0, n_u
            if len(rows) == 0:
                u0, u1 = row_first[c], row_first[c] + row_count[c]
            for u in range(u0, u1):
                z[u] = stay[pair] * Y[se, u]
            while o < first[pair + 1]:
                p, s = probability[o], successor[o]
                for u in range(u0, u1):
                    z[u] += p * Y[s, u]
                o += 1
            k = menu_first[c, 0]
            for sm in range(n_sm):
                while k < menu_first[c, sm + 1]:
                    q = r + menu_reward[k] + gamma * z[menu_row[k]]
                    better = q > best[sm]  # selects, not branches: nobody can predict them
                    second[sm] = max(second[sm], best[sm] if better else q)
                    best[sm] = q if better else best[sm]
                    best_pair[sm] = pair if better else best_pair[sm]
                    best_item[sm] = k if better else best_item[sm]
                    k += 1
        any_stay = 0.0
        margin[se] = np.inf
        for sm in range(n_sm):
            pair, u = best_pair[sm], menu_row[best_item[sm]]
            changed[se] |= chosen_pair[se, sm] != pair or chosen_row[se, sm] != u
            margin[se] = min(margin[se], best[sm] - second[sm])
            chosen_pair[se, sm] = pair
            chosen_row[se, sm] = u
            chosen_reward[se, sm] = env_reward[pair] + menu_reward[best_item[sm]]
            residual = max(residual, abs(best[sm] - V[se, sm]))
            item_row[sm] = u
            stays[sm] = stay[pair]
            any_stay += stay[pair]
        if in_place and repeat and any_stay > 0:
            # Repeat the chosen actions until they leave sᵉ: v[sᵐ] = best[sᵐ] + γ stays[sᵐ] z[u]
            # with z[u] = row[u] · v, where best holds what comes from other states. One unknown a
            # row; the system is diagonally dominant, so elimination needs no pivots.
            for sm in range(n_sm):
                best[sm] -= gamma * stays[sm] * Y[se, item_row[sm]]
            for u in range(n_u):
                z[u] = 0.0
                for k in range(n_u):
                    system[u, k] = 0.0
                system[u, u] = 1.0
                for sm in range(n_sm):
                    z[u] += row[u, sm] * best[sm]
                    system[u, item_row[sm]] -= gamma * row[u, sm] * stays[sm]
            for k in range(n_u):
                for u in range(k + 1, n_u):
                    if system[u, k] != 0.0:
                        factor = system[u, k] / system[k, k]
                        for j in range(k + 1, n_u):
                            system[u, j] -= factor * system[k, j]
                        z[u] -= factor * z[k]
            for k in range(n_u - 1, -1, -1):
                for j in range(k + 1, n_u):
                    z[k] -= system[k, j] * z[j]
                z[k] /= system[k, k]
            for sm in range(n_sm):
                V[se, sm] = best[sm] + gamma * stays[sm] * z[item_row[sm]]
            for u in range(n_u):
                Y[se, u] = z[u]
        elif in_place:
            for sm in range(n_sm):
                V[se, sm] = best[sm]
            for u in range(n_u):
                y = 0.0
                for sm in range(n_sm):
                    y += row[u, sm] * best[sm]
                Y[se, u] = y
    return residual


@Kernel
def _likeliest(given, first, successor, probability, stay):
    """Keep of every pair its likeliest move and its staying, scaled up to what went on before.

    In this simpler model nothing leaks into states that have no value yet, so a few sweeps in a
    good order solve it; its policy is the planner's first guess.
    """
    old_first, old_successor, old_probability, old_stay = given
    n = 0
    for pair in range(len(stay)):
        first[pair] = n
        stay[pair] = old_stay[pair]
        best, total = -1, old_stay[pair]
        for o in range(old_first[pair], old_first[pair + 1]):
            total += old_probability[o]
            if best < 0 or old_probability[o] > old_probability[best]:
                best = o
        if best >= 0:
            scale = total / (old_stay[pair] + old_probability[best])
            successor[n] = old_successor[best]
            probability[n] = scale * old_probability[best]
            stay[pair] = scale * old_stay[pair]
            n += 1
    first[len(stay)] = n


@Kernel
def _chosen_system(moves, row, gamma, choice, order, fill, out_first, column, weight, constant):
    """Write the values of the chosen actions as y = constant + W y, y = Y flattened, W in CSR.

    The rows are stored in the order given, that of the sweeps to come: they then read memory in one
    stream. The diagonal of W is eliminated. Neighbouring monitor states that choose alike share
    entries. Without `fill` only count. Returns the number of entries.
    """
    first, successor, probability, stay = moves
    pair_of, row_of, reward_of = choice
    n_sm, n_u = pair_of.shape[1], row.shape[0]
    place = 0
    for i in range(len(order)):
        se, u = order[i] // n_u, order[i] % n_u
        out_first[i] = place
        diagonal, total = 0.0, 0.0
        sm = 0
        while sm < n_sm:
            if row[u, sm] == 0:
                sm += 1
                continue
            pair, target = pair_of[se, sm], row_of[se, sm]
            share = 0.0
            while sm < n_sm:
                if row[u, sm] > 0:
                    if pair_of[se, sm] != pair or row_of[se, sm] != target:
                        break
                    share += row[u, sm]
                    total += row[u, sm] * reward_of[se, sm]
                sm += 1
            if fill:
                k = place
                for o in range(first[pair], first[pair + 1]):
                    column[k] = successor[o] * n_u + target
                    weight[k] = gamma * share * probability[o]
                    k += 1
                stays = gamma * share * stay[pair]
                column[k] = se * n_u + target
                weight[k] = 0.0 if target == u else stays
                diagonal += stays if target == u else 0.0
            place += first[pair + 1] - first[pair] + 1
        if fill:
            for k in range(out_first[i], place):
                weight[k] /= 1.0 - diagonal
            constant[i] = total / (1.0 - diagonal)
    out_first[len(order)] = place
    return place


@Kernel
def _linear_sweep(order, first, column, weight, constant, y):
    """One Gauss-Seidel sweep of y[order] = constant + W y; returns the largest change."""
    change = 0.0
    for i in range(len(order)):
        total = constant[i]
        for k in range(first[i], first[i + 1]):
            total += weight[k] * y[column[k]]
        change = max(change, abs(total - y[order[i]]))
        y[order[i]] = total
    return change


@Kernel
def _chosen_values(moves, gamma, choice, Y, V):
    """V of the chosen actions from Y."""
    first, successor, probability, stay = moves
    pair_of, row_of, reward_of = choice
    for se in range(V.shape[0]):
        for sm in range(V.shape[1]):
            pair, u = pair_of[se, sm], row_of[se, sm]
            z = stay[pair] * Y[se, u]
            for o in range(first[pair], first[pair + 1]):
                z += probability[o] * Y[successor[o], u]
            V[se, sm] = reward_of[se, sm] + gamma * z


@Kernel
def _policy_system(m, gamma, policy, eliminate, fill, out_first, column, weight, constant):
    """The same for policy[sᵉ, sᵐ, aᵉ, aᵐ], with the rows in their natural order.

    Without `eliminate` the diagonal stays: one step of the policy is then y ← constant + W y.
    """
    n_se, n_sm, n_ae, n_am = policy.shape
    n_u = m.row.shape[0]
    share = np.empty(n_u)
    place = 0
    for se in range(n_se):
        for u in range(n_u):
            i = se * n_u + u
            out_first[i] = place
            diagonal, total = 0.0, 0.0
            for ae in range(n_ae):
                pair = se * n_ae + ae
                c = m.pair_class[pair]
                for target in range(n_u):
                    share[target] = 0.0
                for sm in range(n_sm):
                    for am in range(n_am):
                        p = m.row[u, sm] * policy[se, sm, ae, am]
                        if p > 0:
                            share[m.row_of[c, sm, am]] += p
                            total += p * (m.env_reward[pair] + m.monitor_reward[sm, am])
                for target in range(n_u):
                    if share[target] == 0:
                        continue
                    if fill:
                        for o in range(m.first[pair], m.first[pair + 1]):
                            k = place + o - m.first[pair]
                            column[k] = m.successor[o] * n_u + target
                            weight[k] = gamma * share[target] * m.probability[o]
                    place += m.first[pair + 1] - m.first[pair]
                    if fill:
                        stays = gamma * share[target] * m.stay[pair]
                        column[place] = se * n_u + target
                        own = eliminate and target == u
                        weight[place] = 0.0 if own else stays
                        diagonal += stays if own else 0.0
                    place += 1
            if fill:
                for k in range(out_first[i], place):
                    weight[k] /= 1.0 - diagonal
                constant[i] = total / (1.0 - diagonal)
    out_first[n_se * n_u] = place
    return place


@Kernel
def _follow(
    m, gamma, policy, begin, start, steps, to_lose, come, next_come, here, next_here, n_here
):
    """Follow policy[sᵉ, sᵐ, aᵉ, aᵐ] for some steps; return what they pay, and how many sᵉ it is in.

    come[sᵉ, u] is the discounted chance to be in sᵉ now, having come by the monitor row u, and
    here[:n_here] are the sᵉ where one is positive. If it is to `begin`, start[sᵉ, sᵐ] says where
    it is. States with the smallest chances, up to `to_lose` together, are dropped at every step.
    After an odd number of steps come and here are in the second arrays.
    """
    n_sm, n_ae, n_am = policy.shape[1:]
    n_u = m.row.shape[0]
    now, onward = np.empty(n_sm), np.empty(n_u)
    total = 0.0
    for step in range(steps):
        n_next, least, paid = 0, to_lose / max(n_here, 1), 0.0
        for k in range(n_here):
            se = here[k]
            of_state, of_pay = 0.0, 0.0
            for sm in range(n_sm):
                now[sm] = start[se, sm] if begin and step == 0 else 0.0
            for u in range(n_u):
                if come[se, u] > 0:
                    for sm in range(n_sm):
                        now[sm] += come[se, u] * m.row[u, sm]
                    come[se, u] = 0.0
            for sm in range(n_sm):
                of_state += now[sm]
            if of_state <= least:
                continue
            for ae in range(n_ae):
                pair, moves = se * n_ae + ae, False
                for u in range(n_u):
                    onward[u] = 0.0
                for sm in range(n_sm):
                    for am in range(n_am):
                        p = now[sm] * policy[se, sm, ae, am]
                        if p > 0:
                            of_pay += p * (m.env_reward[pair] + m.monitor_reward[sm, am])
                            onward[m.row_of[m.pair_class[pair], sm, am]] += gamma * p
                            moves = True
                if not moves:
                    continue
                for o in range(m.first[pair] - 1, m.first[pair + 1]):
                    to, chance = se, m.stay[pair]
                    if o >= m.first[pair]:
                        to, chance = m.successor[o], m.probability[o]
                    known = chance == 0
                    for u in range(n_u):
                        known |= next_come[to, u] > 0
                    arrives = 0.0
                    for u in range(n_u):
                        next_come[to, u] += chance * onward[u]
                        arrives += next_come[to, u]
                    if not known and arrives > 0:
                        next_here[n_next] = to
                        n_next += 1
            paid += of_pay
        total += paid
        come, next_come, here, next_here, n_here = next_come, come, next_here, here, n_next
    return total, n_here


@Kernel
def _reach(moves, pair_class, row, row_of, reached, stack, top):
    """Mark every joint state that some actions lead to from the `top` ones on the stack.

    Staying in sᵉ may still move the monitor. Episodes that have ended lead nowhere.
    """
    first, successor, _, stay = moves
    n_se, n_sm = reached.shape
    n_ae = len(pair_class) // n_se
    while top > 0:
        top -= 1
        se, sm = divmod(stack[top], n_sm)
        for pair in range(se * n_ae, (se + 1) * n_ae):
            for am in range(row_of.shape[2]):
                u = row_of[pair_class[pair], sm, am]
                for next_sm in range(n_sm):
                    if row[u, next_sm] == 0:
                        continue
                    if stay[pair] > 0 and not reached[se, next_sm]:
                        reached[se, next_sm] = True
                        stack[top] = se * n_sm + next_sm
                        top += 1
                    for o in range(first[pair], first[pair + 1]):
                        s = successor[o]
                        if not reached[s, next_sm]:
                            reached[s, next_sm] = True
                            stack[top] = s * n_sm + next_sm
                            top += 1


@Kernel
def _take_away(first, pair, leaves, ways):
    """Count down `ways`[sᵉ], the actions that end nothing and lead to no state that has none left.

    The outcomes that arrive in s are those of the pairs `pair`[first[s] : first[s + 1]].
    """
    n_actions = len(leaves) // len(ways)
    stack = np.empty(len(ways), dtype=np.int64)
    top = 0
    for s in range(len(ways)):
        if ways[s] == 0:
            stack[top] = s
            top += 1
    while top > 0:
        top -= 1
        s = stack[top]
        for i in range(first[s], first[s + 1]):
            if not leaves[pair[i]]:
                leaves[pair[i]] = True
                before = pair[i] // n_actions
                ways[before] -= 1
                if ways[before] == 0:
                    stack[top] = before
                    top += 1


@Kernel
def _breadth_first(first, predecessor, seed, order):
    """Fill `order` with states by their distance from the seeds; the unreached come last."""
    seen = seed.copy()
    head, tail = 0, 0
    for s in range(len(order)):
        if seen[s]:
            order[tail] = s
            tail += 1
    while head < tail:
        s = order[head]
        head += 1
        for i in range(first[s], first[s + 1]):
            if not seen[predecessor[i]]:
                seen[predecessor[i]] = True
                order[tail] = predecessor[i]
                tail += 1
    for s in range(len(order)):
        if not seen[s]:
            order[tail] = s
            tail += 1


@Kernel
def _neighbours(first, successor, n_actions, begin, count, neighbour):
    """Write for every state the states that it leads to or that lead to it, each once.

    Those of s are neighbour[begin[s] : begin[s] + count[s]]. `neighbour` must hold two entries an
    outcome, and what is not used stays free between the lists. Returns where the free space begins.
    """
    n = len(begin)
    seen = np.full(n, -1, dtype=np.int64)
    n_out, n_in = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for s in range(n):
        for o in range(first[s * n_actions], first[(s + 1) * n_actions]):
            if seen[successor[o]] != s:
                seen[successor[o]] = s
                n_out[s] += 1
                n_in[successor[o]] += 1
    used = 0
    for s in range(n):
        begin[s] = used
        count[s] = 0
        used += n_out[s] + n_in[s]
        seen[s] = -1
    for s in range(n):
        for o in range(first[s * n_actions], first[(s + 1) * n_actions]):
            t = successor[o]
            if seen[t] != s:
                seen[t] = s
                neighbour[begin[s] + count[s]] = t
                count[s] += 1
                neighbour[begin[t] + count[t]] = s
                count[t] += 1
    for s in range(n):
        seen[s] = -1
    for s in range(n):
        kept = begin[s]
        for k in range(begin[s], begin[s] + count[s]):
            if seen[neighbour[k]] != s:
                seen[neighbour[k]] = s
                neighbour[kept] = neighbour[k]
                kept += 1
        count[s] = kept - begin[s]
    return used


@Kernel
def _file_by_degree(count, head, after, before):
    """File all states by their degree, in linked lists, the lowest number first."""
    for s in range(len(count) - 1, -1, -1):
        d = count[s]
        before[s] = -1
        after[s] = head[d]
        if head[d] >= 0:
            before[head[d]] = s
        head[d] = s


@Kernel
def _eliminate_by_degree(begin, count, room, neighbour, head, after, before, seen, position, at):
    """Eliminate states, those with the fewest neighbours first, while there is room and time.

    `at` holds where it stands, and is brought up to date: the number of states eliminated, where
    the free space of `neighbour` begins, the least degree, a stamp that was never used, and the
    work done. Then come two limits: that of this call, and that of all work, which ends it when
    what is left looks like more. The list of a state is left as it was when it was eliminated.
    Returns whether there is hope.
    """
    done, used, least, stamp, work, enough, most = at
    n = len(begin)
    hope = True
    while done < n and work < enough:
        while head[least] < 0:
            least += 1
        v, d = head[least], least
        # Degrees will hardly fall before the last d + 1 states, which take a third as much each.
        hope = work + (n - done - 2 * d // 3) * (d + 1) * (d + 1) <= most
        if not hope:
            break
        b = begin[v]
        needed = 0
        for i in range(b, b + d):
            needed += 2 * (count[neighbour[i]] + d)
        if used + needed > len(neighbour):
            break
        head[least] = after[v]
        if after[v] >= 0:
            before[after[v]] = -1
        position[v] = done
        done += 1
        work += (d + 1) * (d + 1)
        for i in range(b, b + d):
            u = neighbour[i]
            c, start = count[u], begin[u]
            if before[u] >= 0:
                after[before[u]] = after[u]
            else:
                head[c] = after[u]
            if after[u] >= 0:
                before[after[u]] = before[u]
            # u loses v and gains those neighbours of v that it does not have
            stamp += 1
            seen[u] = stamp
            kept = start
            for k in range(start, start + c):
                if neighbour[k] != v:
                    neighbour[kept] = neighbour[k]
                    seen[neighbour[k]] = stamp
                    kept += 1
            c = kept - start
            gained = 0
            for k in range(b, b + d):
                if seen[neighbour[k]] != stamp:
                    gained += 1
            if c + gained > room[u]:
                for k in range(c):
                    neighbour[used + k] = neighbour[start + k]
                start = used
                begin[u] = used
                room[u] = 2 * (c + gained)
                used += room[u]
            if gained > 0:
                for k in range(b, b + d):
                    if seen[neighbour[k]] != stamp:
                        neighbour[start + c] = neighbour[k]
                        c += 1
            count[u] = c
            before[u] = -1
            after[u] = head[c]
            if head[c] >= 0:
                before[head[c]] = u
            head[c] = u
            least = min(least, c)
    at[0], at[1], at[2], at[3], at[4] = done, used, least, stamp, work
    return hope


@Kernel
def _children_first(first, later, order):
    """Renumber positions so that what leads to one comes right before it: order[old] = new.

    A position *leads to* the first of its later neighbours. The result of the elimination is the
    same, but what is needed together lies together.
    """
    n = len(first) - 1
    child, sibling = np.full(n + 1, -1, dtype=np.int64), np.full(n + 1, -1, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        to = later[first[i]] if first[i + 1] > first[i] else n  # n is where all roads end
        sibling[i] = child[to]
        child[to] = i
    stack = np.empty(n + 1, dtype=np.int64)
    stack[0] = n
    top, number = 1, 0
    while top > 0:
        i = stack[top - 1]
        if child[i] >= 0:
            stack[top] = child[i]
            child[i] = sibling[child[i]]
            top += 1
        else:
            if i < n:
                order[i] = number
            number += 1
            top -= 1


@Kernel
def _mark_affected(moves, changed, structure, affected):
    """Mark the positions whose elimination differs once the equations of `changed`[sᵉ] do.

    They are these, those whose weights in these equations they keep, and what these lead to.
    """
    position, state, first, later = structure
    n_ae = len(moves.stay) // len(state)
    for i in range(len(state)):
        affected[i] = False
    for se in range(len(state)):
        if changed[se]:
            i = position[se]
            affected[i] = True
            for o in range(moves.first[se * n_ae], moves.first[(se + 1) * n_ae]):
                j = position[moves.successor[o]]
                if j < i:
                    affected[j] = True
    for i in range(len(state)):
        if affected[i] and first[i] < first[i + 1]:
            affected[later[first[i]]] = True


@Kernel
def _chosen_blocks(moves, row, gamma, choice, begin, end, structure, affected, blocks, rows):
    """Write the equations of the chosen actions into the affected blocks of begin to end.

    `rows` is what `few_rows` says.
    """
    first, successor, probability, stay = moves
    pair_of, row_of, reward_of = choice
    position, state, first_edge, later = structure
    constant, own, ahead, behind = blocks
    n_sm, n_u = pair_of.shape[1], len(rows) or row.shape[0]
    share = np.empty(n_u)
    for i in range(begin, end):
        if not affected[i]:
            continue
        se = state[i]
        for u in range(n_u):
            constant[i, u] = 0.0
            for t in range(n_u):
                own[i, u, t] = 0.0
        for edge in range(first_edge[i], first_edge[i + 1]):
            for u in range(n_u):
                for t in range(n_u):
                    ahead[edge, u, t] = 0.0
                    behind[edge, u, t] = 0.0
        sm = 0
        while sm < n_sm:
            pair, target = pair_of[se, sm], row_of[se, sm]
            for u in range(n_u):
                share[u] = 0.0
            while sm < n_sm and pair_of[se, sm] == pair and row_of[se, sm] == target:
                for u in range(n_u):
                    share[u] += row[u, sm]
                    constant[i, u] += row[u, sm] * reward_of[se, sm]
                sm += 1
            for u in range(n_u):
                own[i, u, target] += share[u] * gamma * stay[pair]
            for o in range(first[pair], first[pair + 1]):
                weight = gamma * probability[o]
                j = position[successor[o]]
                if not affected[j]:  # and so before i: the weight is there, and the same
                    continue
                one, other, weights = (i, j, ahead) if i < j else (j, i, behind)
                edge = first_edge[one]
                while later[edge] != other:
                    edge += 1
                for u in range(n_u):
                    weights[edge, u, target] += share[u] * weight


@Kernel
def _system_blocks(system, structure, blocks):
    """Write any linear system into blocks of 0."""
    order, first, column, weight, given = system
    position, _, first_edge, later = structure
    constant, own, ahead, behind = blocks
    n_u = constant.shape[1]
    for r in range(len(order)):
        i, u = position[order[r] // n_u], order[r] % n_u
        constant[i, u] = given[r]
        for k in range(first[r], first[r + 1]):
            j, target = position[column[k] // n_u], column[k] % n_u
            if i == j:
                own[i, u, target] += weight[k]
                continue
            one, other, weights = (i, j, ahead) if i < j else (j, i, behind)
            edge = first_edge[one]
            while later[edge] != other:
                edge += 1
            weights[edge, u, target] += weight[k]


@Kernel
def _eliminate(begin, end, structure, affected, blocks, rows):
    """Eliminate the affected of the positions begin to end, and write others into affected ones.

    The equations then hold later unknowns only. `rows` is what `few_rows` says.

    No pivots: weights stay positive, rows sum to at most one, and 1 - own[i, u, u] does not vanish.
    """
    first, later = structure.first, structure.later
    constant, own, ahead, behind = blocks
    n_u = len(rows) or constant.shape[1]
    new = np.empty((n_u, n_u))
    joined = np.empty((n_u, 2 * n_u))  # 1 - own, and beside it what becomes its inverse
    for i in range(begin, end):
        if affected[i]:
            for u in range(n_u):
                for t in range(n_u):
                    joined[u, t] = -own[i, u, t]
                    joined[u, n_u + t] = 0.0
                joined[u, u] += 1.0
                joined[u, n_u + u] = 1.0
            for k in range(n_u):
                scale = 1.0 / joined[k, k]
                for t in range(2 * n_u):
                    joined[k, t] *= scale
                for u in range(n_u):
                    factor = joined[u, k]
                    if u != k and factor != 0.0:
                        for t in range(2 * n_u):
                            joined[u, t] -= factor * joined[k, t]
            for u in range(n_u):
                new[0, u] = 0.0
                for k in range(n_u):
                    new[0, u] += joined[u, n_u + k] * constant[i, k]
            for u in range(n_u):
                constant[i, u] = new[0, u]
            for edge in range(first[i], first[i + 1]):
                for u in range(n_u):
                    for t in range(n_u):
                        new[u, t] = 0.0
                        for k in range(n_u):
                            new[u, t] += joined[u, n_u + k] * ahead[edge, k, t]
                for u in range(n_u):
                    for t in range(n_u):
                        ahead[edge, u, t] = new[u, t]
        for e in range(first[i], first[i + 1]):
            j = later[e]
            if not affected[j]:
                continue
            for u in range(n_u):
                for k in range(n_u):
                    weight = behind[e, u, k]
                    if weight == 0.0:  # as are most where the monitor hardly moves
                        continue
                    constant[j, u] += weight * constant[i, k]
                    for t in range(n_u):
                        own[j, u, t] += weight * ahead[e, k, t]
            edge = first[j]
            for f in range(e + 1, first[i + 1]):
                while later[edge] != later[f]:
                    edge += 1
                for u in range(n_u):
                    for k in range(n_u):
                        to_first, to_second = behind[e, u, k], behind[f, u, k]
                        if to_first != 0.0:
                            for t in range(n_u):
                                ahead[edge, u, t] += to_first * ahead[f, k, t]
                        if to_second != 0.0:
                            for t in range(n_u):
                                behind[edge, u, t] += to_second * ahead[e, k, t]


@Kernel
def _substitute(begin, end, structure, blocks, Y, shift):
    """Set Y[sᵉ, u] of the positions begin to end, the last one first; those behind are known.

    Sets shift[sᵉ] to the largest change.
    """
    state, first, later = structure.state, structure.first, structure.later
    constant, _, ahead, _ = blocks
    n_u = Y.shape[1]
    for i in range(end - 1, begin - 1, -1):
        se = state[i]
        shift[se] = 0.0
        for u in range(n_u):
            y = constant[i, u]
            for edge in range(first[i], first[i + 1]):
                s = state[later[edge]]
                for t in range(n_u):
                    y += ahead[edge, u, t] * Y[s, t]
            shift[se] = max(shift[se], abs(y - Y[se, u]))
            Y[se, u] = y
