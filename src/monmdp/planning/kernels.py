"""Backups on the factored model, compiled where it pays. No validation, no randomness.

Write u for one of the distinct monitor rows pᵐ(· | sᵐ, aᵐ, class): N-Experts has one, Button two.
With ``Y[sᵉ, u] = Σ_s′ᵐ row[u, s′ᵐ] V[sᵉ, s′ᵐ]`` the backup of a joint pair is

    Q(s, a) = rᵉ(sᵉ, aᵉ) + rᵐ(sᵐ, aᵐ) + γ Σ_s′ᵉ pᵉ(s′ᵉ | sᵉ, aᵉ) Y[s′ᵉ, u(sᵐ, aᵐ, class)],

so one pass over the environment's outcomes serves all monitor states and actions. For the maximum,
monitor actions with the same row differ only in rᵐ, and only the best of them is kept (`menu`).

A sweep visits the environment states in a given order and replaces the values in place
(Gauss-Seidel).
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


@Kernel
def _improve_sweep(m, gamma, order, in_place, repeat, V, Y, choice):
    """Choose the best action of every state; return the largest Bellman residual.

    With `in_place` the new values replace V and Y on the way (Gauss-Seidel); with `repeat` besides,
    the chosen actions are repeated for as long as they do not leave the environment state.
    """
    n_sm, n_u = V.shape[1], m.row.shape[0]
    first, successor, probability, stay = m.first, m.successor, m.probability, m.stay
    pair_class, row_first, row_count, row = m.pair_class, m.row_first, m.row_count, m.row
    menu_first, menu_row, menu_reward = m.menu_first, m.menu_row, m.menu_reward
    env_reward, n_ae = m.env_reward, m.n_env_actions
    chosen_pair, chosen_row, chosen_reward = choice
    z, best = np.empty(n_u), np.empty(n_sm)
    best_pair, best_item = np.empty(n_sm, dtype=np.int64), np.empty(n_sm, dtype=np.int64)
    item_row = np.empty(n_sm, dtype=np.int64)
    stays, system = np.empty(n_sm), np.empty((n_u, n_u))
    residual = 0.0
    for i in range(len(order)):
        se = order[i]
        for sm in range(n_sm):
            best[sm] = -np.inf
            best_pair[sm] = se * n_ae
            best_item[sm] = menu_first[pair_class[se * n_ae], sm]
        o = first[se * n_ae]
        for pair in range(se * n_ae, (se + 1) * n_ae):
            c, r = pair_class[pair], env_reward[pair]
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
                    best[sm] = q if better else best[sm]
                    best_pair[sm] = pair if better else best_pair[sm]
                    best_item[sm] = k if better else best_item[sm]
                    k += 1
        any_stay = 0.0
        for sm in range(n_sm):
            pair, u = best_pair[sm], menu_row[best_item[sm]]
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
