"""Finding out which environment states are alike; compiled where it pays."""

from __future__ import annotations

import numpy as np

from monmdp.planning.kernels import Kernel

LARGEST_HASH = 2**31 - 1


@Kernel
def _most_neighbours(moves, n_ae, at_most):
    """The most s′ᵉ ≠ sᵉ that one state leads to; more than `at_most` are not counted."""
    first, successor, _, _ = moves
    found = np.empty(at_most + 1, dtype=np.int32)
    most = 0
    for se in range((len(first) - 1) // n_ae):
        n = 0
        for o in range(first[se * n_ae], first[(se + 1) * n_ae]):
            i = 0
            while i < n and found[i] != successor[o]:
                i += 1
            if i == n:
                if n == at_most:
                    return at_most + 1
                found[n] = successor[o]
                n += 1
        most = max(most, n)
    return most


@Kernel
def _neighbourhoods(moves, n_ae, env_reward, pair_class, slots, neighbour, kind, table):
    """Fill neighbour[i, sᵉ], in ascending order, and sort the states into kinds.

    Two states are of one kind if their actions lead to the same places among the neighbours, with
    the same chances, rewards and classes. table[kind] holds, action by action, the chance to stay,
    those of the neighbours, rᵉ and the class. `slots` is a hash table, empty where it is -1.
    Without slots every state is a kind of its own. Returns how many kinds there are, or -1 if the
    table cannot hold them.
    """
    first, successor, probability, stay = moves
    width = neighbour.shape[0]
    row = np.empty(table.shape[1])
    bits = row.view(np.int64)
    n_kinds = 0
    for se in range(neighbour.shape[1]):
        n = 0
        for o in range(first[se * n_ae], first[(se + 1) * n_ae]):
            s = successor[o]
            i = 0
            while i < n and neighbour[i, se] < s:
                i += 1
            if i == n or neighbour[i, se] != s:
                for k in range(n, i, -1):
                    neighbour[k, se] = neighbour[k - 1, se]
                neighbour[i, se] = s
                n += 1
        for i in range(n, width):
            neighbour[i, se] = se  # with chance 0
        row[:] = 0.0
        for a in range(n_ae):
            pair, begin = se * n_ae + a, a * (width + 3)
            row[begin] = stay[pair]
            for o in range(first[pair], first[pair + 1]):
                i = 0
                while neighbour[i, se] != successor[o]:
                    i += 1
                row[begin + 1 + i] += probability[o]
            row[begin + width + 1] = env_reward[pair]
            row[begin + width + 2] = pair_class[pair]
        if len(slots) == 0:
            table[se] = row
            continue
        place = 0
        for i in range(len(row)):
            place = (31 * place + bits[i] % LARGEST_HASH) % LARGEST_HASH
        place = place % len(slots)
        while True:
            known = slots[place]
            if known < 0:
                if n_kinds == len(table):
                    return -1
                table[n_kinds] = row
                slots[place] = n_kinds
                kind[se] = n_kinds
                n_kinds += 1
                break
            i = 0
            while i < len(row) and table[known, i] == row[i]:
                i += 1
            if i == len(row):
                kind[se] = known
                break
            place = (place + 1) % len(slots)
    return n_kinds if len(slots) else neighbour.shape[1]
