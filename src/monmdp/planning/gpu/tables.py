"""The factored model laid out for sweeps over all states at once: few bytes a state.

*Environment.* What a sweep reads decides how long it takes, so it reads each thing once for every
state. In most worlds a state leads to few others, and many states are alike: a cell of a grid
leads to four neighbours, and cells with the same walls around them differ in nothing else. `Near`
keeps the neighbours of a state, 4 bytes each, and which kind of state it is; chances and rewards
are those of its kind, and the kinds stay in the fast memory. Worlds whose states lead to many
others, or to very unequally many, are kept as a list of outcomes, `Far`.

*Monitor.* With the rows u of `kernels`, a state needs only k numbers to be passed on, W = B V: the
Y[sᵉ, u], B = rows, or V[sᵉ, ·] itself, B = 1, whichever are fewer. Monitor states whose menus
differ by a constant choose alike; a sweep computes one of each such *group*, V[sᵉ, sᵐ] =
G[sᵉ, group] + shift[sᵐ]. N-Experts has one row and one group: its sweeps are those of an MDP
without a monitor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.model.arrays import FloatArray
from monmdp.model.monmdp import MonMDP
from monmdp.planning.factors import _once, factors, moves
from monmdp.planning.gpu import packing
from monmdp.planning.kernels import Factors

MOST_KINDS = 2**16
"""so that two bytes a state tell them apart"""
MOST_TERMS = 400
"""products of a chance and a value for one state: those of `Near` are written out one by one, and
compiling takes longer the more there are"""

Rows = tuple[tuple[tuple[int, ...], ...], ...]
"""[class][group] the rows u on the menu"""


Numbers = Any
"""an array: NumPy's on the host, JAX's on a device"""

MEMORY = 4
"""rounds that a leap is made of"""


class Near(NamedTuple):
    """An environment whose states lead to few others."""

    neighbour: Numbers
    """[i, sᵉ] the i-th state that sᵉ leads to; sᵉ itself where there are fewer"""
    kind: Numbers | None
    """[sᵉ] its kind; None: every state is a kind of its own"""
    chance: Numbers
    """[aᵉ, i, kind] to stay (i = 0) and to come to neighbour i - 1"""
    reward: Numbers
    """[aᵉ, kind] rᵉ"""
    pair_class: Numbers | None
    """[aᵉ, kind] None: there is but one"""


class Far(NamedTuple):
    """An environment as a list of outcomes, in the order of their pairs."""

    pair: Numbers
    """[outcome] sᵉ·|Aᵉ| + aᵉ"""
    successor: Numbers
    """[outcome] s′ᵉ"""
    chance: Numbers
    """[outcome]"""
    reward: Numbers
    """[sᵉ, aᵉ] rᵉ"""
    pair_class: Numbers | None
    """[sᵉ, aᵉ] None: there is but one"""


class Menus(NamedTuple):
    """What the monitor offers, and how values are passed on."""

    row: Numbers
    """[class, group, item] u"""
    reward: Numbers
    """[class, group, item] the best rᵐ for that row; -∞ where the menu is shorter"""
    group: Numbers
    """[sᵐ]"""
    shift: Numbers
    """[sᵐ] V[sᵉ, sᵐ] = G[sᵉ, group] + shift"""
    basis: Numbers
    """[k, sᵐ] B: W = B V"""
    mix: Numbers
    """[k, group] W = mix G + offset"""
    offset: Numbers
    """[k]"""
    row_in_basis: Numbers | None
    """[u, k] Y from W; None: they are the same"""

    @property
    def rows(self) -> Rows:
        """The rows of each menu, without what fills it up."""
        return tuple(
            tuple(
                tuple(int(u) for u, r in zip(us, rs, strict=True) if r > -np.inf)
                for us, rs in zip(row, reward, strict=True)
            )
            for row, reward in zip(self.row, self.reward, strict=True)
        )


class Tables(NamedTuple):
    """A whole problem; everything that a device is given."""

    world: Near | Far
    menus: Menus

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (*self.world, *self.menus)
        return sum(array.nbytes for array in arrays if array is not None)

    @property
    def least_reward(self) -> float:
        """In the worst joint state the best action pays this much at once."""
        by_action = self.world.reward if isinstance(self.world, Near) else self.world.reward.T
        paid = self.menus.reward.max(axis=2)[:, self.menus.group] + self.menus.shift
        return float(by_action.max(axis=0).min()) + float(paid.min())


def tables(monmdp: MonMDP) -> Tables:
    """Return the model as sweeps read it; made once for each Mon-MDP."""
    return _once(_tables, monmdp)


def _tables(monmdp: MonMDP) -> Tables:
    m = factors(monmdp)
    menus = _menus(m)
    return Tables(_near(m, menus) or _far(m), menus)


def _near(m: Factors, menus: Menus) -> Near | None:
    """Return the world by neighbours, if that is the smaller table."""
    n_ae, n_se = m.n_env_actions, len(m.stay) // m.n_env_actions
    most = (MOST_TERMS // n_ae - menus.row.size) // len(menus.basis) - 1
    if most < 0:
        return None
    width = int(packing._most_neighbours(moves(m), n_ae, most))
    if width > most:
        return None
    neighbour = np.empty((width, n_se), dtype=np.int32)
    entries = n_ae * (width + 3)
    pack = packing._neighbourhoods
    given = (moves(m), n_ae, m.env_reward, m.pair_class)
    kind: NDArray[Any] | None = np.empty(n_se, dtype=np.uint16)
    table = np.empty((min(MOST_KINDS, n_se), entries))
    slots = np.full(4 * len(table), -1, dtype=np.int32)
    n_kinds = int(pack(*given, slots, neighbour, kind, table))
    if n_kinds < 0:
        if neighbour.nbytes + 8 * entries * n_se > _bytes_of_far(m):
            return None
        kind, table = None, np.empty((n_se, entries))
        n_kinds = int(pack(*given, slots[:0], neighbour, np.empty(0, np.uint16), table))
    elif n_kinds <= 2**8 and kind is not None:
        kind = kind.astype(np.uint8)
    if kind is not None:
        # Filled up to a power of two: problems of about one size then share what is compiled.
        filled = np.minimum(np.arange(2 ** (n_kinds - 1).bit_length()), n_kinds - 1)
        table = table[filled]
    by_action = np.ascontiguousarray(table.T).reshape(n_ae, width + 3, -1)
    return Near(
        neighbour=neighbour,
        kind=kind,
        chance=by_action[:, : width + 1].copy(),
        reward=by_action[:, width + 1].copy(),
        pair_class=_if_several(m, by_action[:, width + 2]),
    )


def _far(m: Factors) -> Far:
    n_ae, n_pairs = m.n_env_actions, len(m.stay)
    stays = np.flatnonzero(m.stay)
    pair = np.concatenate([np.repeat(np.arange(n_pairs), np.diff(m.first)), stays])
    order = np.argsort(pair, kind="stable")
    by_state = (n_pairs // n_ae, n_ae)
    return Far(
        pair=pair[order].astype(np.int32),
        successor=np.concatenate([m.successor, stays // n_ae])[order].astype(np.int32),
        chance=np.concatenate([m.probability, m.stay[stays]])[order],
        reward=m.env_reward.reshape(by_state),
        pair_class=_if_several(m, m.pair_class.reshape(by_state)),
    )


def _bytes_of_far(m: Factors) -> int:
    return 16 * (len(m.successor) + int(np.count_nonzero(m.stay))) + 8 * len(m.stay)


def _if_several(m: Factors, pair_class: NDArray[Any]) -> NDArray[np.int32] | None:
    return pair_class.astype(np.int32) if len(m.row_first) > 1 else None


def _menus(m: Factors) -> Menus:
    """Group the monitor states whose menus differ by a constant."""
    n_u, n_sm = m.row.shape
    menus = [_menu(m, sm) for sm in range(n_sm)]
    leaders: list[int] = []
    group, shift = np.zeros(n_sm, dtype=np.int64), np.zeros(n_sm)
    for sm, (rows, rewards) in enumerate(menus):
        for g, leader in enumerate(leaders):
            if rows != menus[leader][0]:
                continue
            differences = rewards - menus[leader][1]
            if (differences == differences[0]).all():
                group[sm], shift[sm] = g, differences[0]
                break
        else:
            group[sm] = len(leaders)
            leaders.append(sm)
    shape = (len(m.row_first), len(leaders), int(np.diff(m.menu_first).max()))
    row, reward = np.zeros(shape, dtype=np.int32), np.full(shape, -np.inf)
    for g, leader in enumerate(leaders):
        for c in range(shape[0]):
            items = slice(*m.menu_first[c, leader : leader + 2])
            n = items.stop - items.start
            row[c, g, :n], reward[c, g, :n] = m.menu_row[items], m.menu_reward[items]
    few = n_u <= n_sm
    basis = m.row if few else np.eye(n_sm)
    return Menus(
        row=row,
        reward=reward,
        group=group,
        shift=shift,
        basis=basis,
        mix=basis @ (group[:, None] == np.arange(len(leaders))),
        offset=basis @ shift,
        row_in_basis=None if few else m.row,
    )


def _menu(m: Factors, sm: int) -> tuple[list[list[int]], FloatArray]:
    """What sᵐ offers in each class: the rows, and all rewards in their order."""
    items = [slice(*m.menu_first[c, sm : sm + 2]) for c in range(len(m.row_first))]
    rows = [m.menu_row[of].tolist() for of in items]
    return rows, np.concatenate([m.menu_reward[of] for of in items])


def bytes_needed(monmdp: MonMDP, *, evaluates: bool = False) -> int:
    """Return the bytes that a search takes on a device: tables, values and scratch."""
    model, (n_se, n_sm, n_ae, n_am) = tables(monmdp), monmdp.shape
    k, n_u = len(model.menus.basis), len(factors(monmdp).row)
    numbers = n_se * k * (2 * MEMORY + 8) + 3 * n_se * n_sm
    if evaluates:
        numbers += n_se * n_sm * n_ae * (n_u + n_am) + 2 * n_se * n_ae * (k + n_u)
    if isinstance(model.world, Near):
        # A compiler may write out, for all states, whatever it does not merge into one pass.
        places = len(model.world.neighbour) + 1
        numbers += 2 * n_se * (n_ae * (places + 2) + k * places)
    else:
        n_groups = model.menus.row.shape[1]
        numbers += n_se * n_ae * (k + n_u + 4 * n_groups) + k * len(model.world.pair)
    return model.n_bytes + 8 * numbers
