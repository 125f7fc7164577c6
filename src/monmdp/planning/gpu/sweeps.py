"""Sweeps over all states at once, in JAX: Bellman backups, and values of a policy.

A sweep takes W[k, sᵉ] (see `tables`) to what it is after one more step; it changes all states at
the same time, so γ is what an error shrinks by. A *round* is `SWEEPS` of them, and then a leap:
with x_i the values that the last rounds began with and f_i those they ended with, the leap is to
Σ c_i f_i, Σ c_i = 1, with the c that make Σ c_i (f_i - x_i) shortest (Anderson's mixing). Where
errors shrink slowly they do so in a few directions, and a leap removes these. It counts only if
it gains more than another round is sure to: if the next sweep changes less there than γ^`SWEEPS`
of what the last one did where the round ended.

Everything is 64 bits wide; `search` sees to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from monmdp.planning.gpu.tables import MEMORY, Far, Menus, Near, Rows, Tables

SWEEPS = 128
"""of a round; the device is asked for the largest change as often"""
ROUNDING = 8 * 2.0**-52
"""share of the largest value below which changes are rounding"""


class Policy(NamedTuple):
    """A problem in which the actions are given."""

    world: Near | Far
    menus: Menus
    share: Array
    """[sᵉ, sᵐ, aᵉ, u] chance to choose an action aᵉ and a monitor action of row u"""
    reward: Array
    """[sᵉ, sᵐ] rᵉ + rᵐ on average"""


Model = Tables | Policy
Parts = Any
"""W as the sweeps carry it: [k, sᵉ], or k arrays [sᵉ]"""


class Progress(NamedTuple):
    """Where a search stands."""

    W: Array
    """[k, sᵉ]"""
    ends: Array
    """[i, k, sᵉ] f_i: the last rounds' ends"""
    steps: Array
    """[i, k, sᵉ] f_i - x_i"""
    products: Array
    """[i, j] of the steps"""
    rounds: Array
    """how many there were"""
    change: Array
    """the largest change that the last sweep made"""
    largest: Array
    """the largest |W|"""


@partial(jax.jit, donate_argnames="W")
def beginning(W: Array) -> Progress:
    """Return where a search from W stands."""
    past = jnp.zeros((MEMORY, *W.shape))
    return Progress(
        W=W,
        ends=past,
        steps=past,
        products=jnp.eye(MEMORY),
        rounds=jnp.zeros((), jnp.int32),
        change=jnp.full((), jnp.inf, W.dtype),
        largest=jnp.abs(W).max(),
    )


@partial(jax.jit, static_argnames="rows", donate_argnames="progress")
def advance(
    model: Model, rows: Rows, gamma: Array, aim: Array, progress: Progress, until: Array
) -> Progress:
    """Make rounds until the last sweep changes nothing by more than `aim`, or there were enough."""

    def goes_on(now: Progress) -> Array:
        floor = jnp.maximum(aim, ROUNDING * now.largest)
        return (now.rounds < until) & (now.change > floor)

    return lax.while_loop(goes_on, partial(_round, model, rows, gamma), progress)


def _round(model: Model, rows: Rows, gamma: Array, now: Progress) -> Progress:
    sweep = partial(_sweep, model, rows, gamma)

    def two_sweeps(_: Array, parts: Parts) -> Parts:
        # Two, so that the second may write over what the first has read: nothing is copied.
        return sweep(sweep(parts))

    before = lax.fori_loop(0, SWEEPS // 2, two_sweeps, _parts(model, now.W))
    nearly, end = _whole(before), _whole(sweep(before))
    change = jnp.abs(end - nearly).max()
    slot = now.rounds % MEMORY
    step = end - now.W
    ends = lax.dynamic_update_index_in_dim(now.ends, end, slot, 0)
    steps = lax.dynamic_update_index_in_dim(now.steps, step, slot, 0)
    with_step = (steps * step).sum(axis=(1, 2))
    products = now.products.at[slot].set(with_step).at[:, slot].set(with_step)
    there = jnp.arange(MEMORY) <= now.rounds
    leap = jnp.tensordot(_weights(products, there), ends, 1)
    after = _whole(sweep(_parts(model, leap)))
    change_there = jnp.abs(after - leap).max()
    leaps = change_there < change * gamma**SWEEPS
    W = jnp.where(leaps, after, end)
    change = jnp.where(leaps, change_there, change)
    return Progress(W, ends, steps, products, now.rounds + 1, change, jnp.abs(W).max())


def _weights(products: Array, there: Array) -> Array:
    """[i] c with Σ c = 1 that minimise cᵀ products c, zero where nothing is there yet."""
    one = there.astype(products.dtype)
    scale = jnp.trace(products * one) / one.sum()
    # What is nearly parallel is told apart only as well as rounding allows.
    a = products / scale * one * one[:, None] + jnp.diag(1 - one + 1e-14)
    b = one
    for i in range(MEMORY):  # symmetric and positive: elimination needs no pivots
        factor = jnp.where(jnp.arange(MEMORY) > i, a[:, i] / a[i, i], 0.0)
        a, b = a - factor[:, None] * a[i], b - factor * b[i]
    c = b * 0
    for i in reversed(range(MEMORY)):
        c = c.at[i].set((b[i] - (a[i] * c).sum()) / a[i, i])
    return c / c.sum()


def _sweep(model: Model, rows: Rows, gamma: Array, parts: Parts) -> Parts:
    """W after a sweep."""
    # The barrier keeps sweeps apart: merged, two would compute every neighbour's sweep again; and
    # what the kinds say would be written out for all states before the first one.
    model, parts = lax.optimization_barrier((model, parts))  # type: ignore[no-untyped-call]
    if isinstance(model, Policy):
        return _passed_on(model, _policy_values(model, gamma, parts))
    world, menus = model
    if isinstance(world, Far):
        best = _best_far(world, menus, gamma, parts)
        return (menus.mix[:, :, None] * best).sum(axis=1) + menus.offset[:, None]
    groups = _best_near(world, menus, rows, gamma, parts)
    return tuple(
        offset + _dot(mix, groups) for mix, offset in zip(menus.mix, menus.offset, strict=True)
    )


def _parts(model: Model, W: Array) -> Parts:
    """One array for each k where a state is written out: the device computes them together."""
    return tuple(W) if isinstance(model, Tables) and isinstance(model.world, Near) else W


def _whole(parts: Parts) -> Array:
    return jnp.stack(parts) if isinstance(parts, tuple) else parts


@partial(jax.jit, static_argnames="rows")
def finished(model: Model, rows: Rows, gamma: Array, W: Array) -> tuple[Array, Array, Array]:
    """V[sᵉ, sᵐ] one step before W, its residual |TV - V| and its largest |V|."""
    V = one_step(model, rows, gamma, W)
    after = one_step(model, rows, gamma, _passed_on(model, V))
    return V, jnp.abs(after - V).max(), jnp.abs(V).max()


@partial(jax.jit, static_argnames="rows")
def one_step(model: Model, rows: Rows, gamma: Array, W: Array) -> Array:
    """V[sᵉ, sᵐ] of one step and then what W says."""
    if isinstance(model, Policy):
        return _policy_values(model, gamma, W)
    world, menus = model
    if isinstance(world, Far):
        best = _best_far(world, menus, gamma, W)
    else:
        best = jnp.stack(_best_near(world, menus, rows, gamma, tuple(W)))
    return best[menus.group].T + menus.shift


@partial(jax.jit, static_argnames="rows", donate_argnames="W")
def swept(model: Model, rows: Rows, gamma: Array, W: Array, n: Array) -> Array:
    """W[k, sᵉ] after n sweeps."""
    sweep = partial(_sweep, model, rows, gamma)
    return _whole(lax.fori_loop(0, n, lambda _, parts: sweep(parts), _parts(model, W)))


@jax.jit
def passed_on(model: Model, V: Array) -> Array:
    """W[k, sᵉ] = B V."""
    return _passed_on(model, V)


def _passed_on(model: Model, V: Array) -> Array:
    return (model.menus.basis[:, None] * V).sum(axis=2)


# ---- few neighbours: everything of a state is written out ------------------------------------


def _best_near(
    world: Near, menus: Menus, rows: Rows, gamma: Array, W: tuple[Array, ...]
) -> list[Array]:
    """[group] G[sᵉ], the value of the best action."""
    of_kind = _kinds(world)
    best: list[Array] = []
    for a, z in enumerate(_arrivals_near(world, W)):
        y = _rows_of(menus, z)
        reward = of_kind(world.reward, a)
        pair_class = None if world.pair_class is None else of_kind(world.pair_class, a)
        for g in range(len(rows[0])):
            q = reward + _menu_best(menus, rows, gamma, g, y, pair_class)
            if a == 0:
                best.append(q)
            else:
                best[g] = jnp.maximum(best[g], q)
    return best


def _arrivals_near(world: Near, W: Parts) -> list[list[Array]]:
    """[aᵉ][k] Σ pᵉ(s′ᵉ | sᵉ, aᵉ) W[k, s′ᵉ]."""
    of_kind = _kinds(world)
    around = [[w, *(_at(w, neighbour) for neighbour in world.neighbour)] for w in W]
    n_ae, n_places = world.chance.shape[:2]
    chances = [[of_kind(world.chance, a, i) for i in range(n_places)] for a in range(n_ae)]
    return [[_dot(chance, of) for of in around] for chance in chances]


def _kinds(world: Near) -> Callable[..., Array]:
    """Return what reads table[*at, kind] for the kind of every state.

    The table is read as it lies in memory: slices of it would be made anew in every sweep.
    """
    n_se = world.neighbour.shape[1]
    kind = jnp.arange(n_se) if world.kind is None else world.kind

    def of_kind(table: Array, *at: int) -> Array:
        wide = jnp.int64 if table.size >= 2**31 else jnp.int32
        begin = int(np.ravel_multi_index((*at, 0), table.shape))
        return _at(table.reshape(-1), kind.astype(wide) + begin)

    return of_kind


def _menu_best(
    menus: Menus, rows: Rows, gamma: Array, g: int, y: list[Array], pair_class: Array | None
) -> Array:
    """The best item of a group's menu, in the class of each pair."""
    by_class = [
        reduce(jnp.maximum, [menus.reward[c, g, i] + gamma * y[u] for i, u in enumerate(of[g])])
        for c, of in enumerate(rows)
    ]
    best = by_class[0]
    for c, here in enumerate(by_class[1:], start=1):
        best = jnp.where(pair_class == c, here, best)
    return best


def _rows_of(menus: Menus, z: list[Array]) -> list[Array]:
    """[u] from [k]."""
    if menus.row_in_basis is None:
        return z
    return [_dot(row, z) for row in menus.row_in_basis]


def _dot(chances: Iterable[Array], values: Iterable[Array]) -> Array:
    """Σ of products, written out."""
    return reduce(jnp.add, [c * of for c, of in zip(chances, values, strict=True)])


def _at(values: Array, index: Array) -> Array:
    return values.at[index].get(mode="promise_in_bounds")


# ---- many outcomes: whole arrays --------------------------------------------------------------


def _best_far(world: Far, menus: Menus, gamma: Array, W: Array) -> Array:
    """G[group, sᵉ], the value of the best action."""
    y = _arrivals(world, menus, W)  # [u, sᵉ, aᵉ]
    _, pair_class = _pairs(world)
    n_groups, n_items = menus.row.shape[1:]

    def with_item(i: Array, best: Array) -> Array:
        u = menus.row[:, :, i].T[:, pair_class]  # [group, sᵉ, aᵉ]
        q = menus.reward[:, :, i].T[:, pair_class] + gamma * jnp.take_along_axis(y, u, axis=0)
        return jnp.maximum(best, q)

    worst = jnp.full((n_groups, *world.reward.shape), -jnp.inf)
    return (world.reward + lax.fori_loop(0, n_items, with_item, worst)).max(axis=2)


def _arrivals(world: Near | Far, menus: Menus, W: Array) -> Array:
    """[u, sᵉ, aᵉ] Σ pᵉ(s′ᵉ | sᵉ, aᵉ) Y[s′ᵉ, u]."""
    if isinstance(world, Near):
        by_action = [jnp.stack(of) for of in _arrivals_near(world, W)]
        z = jnp.stack(by_action, axis=2)
    else:
        n_pairs = world.reward.size

        def summed(w: Array) -> Array:
            arrives = world.chance * _at(w, world.successor)
            return jax.ops.segment_sum(arrives, world.pair, n_pairs, indices_are_sorted=True)

        z = jax.vmap(summed)(W).reshape(len(W), *world.reward.shape)
    return z if menus.row_in_basis is None else jnp.tensordot(menus.row_in_basis, z, 1)


# ---- given actions ----------------------------------------------------------------------------


def _policy_values(model: Policy, gamma: Array, W: Array) -> Array:
    """V[sᵉ, sᵐ] of one step of the policy, and then what W says."""
    y = _arrivals(model.world, model.menus, W).transpose(1, 2, 0)  # [sᵉ, aᵉ, u]
    return model.reward + gamma * (model.share * y[:, None]).sum(axis=(2, 3))


@jax.jit
def following(model: Tables, row_of: Array, monitor_reward: Array, policy: Array) -> Policy:
    """The problem with policy[sᵉ, sᵐ, aᵉ, aᵐ]; row_of[class, sᵐ, aᵐ] is u."""
    reward, pair_class = _pairs(model.world)
    n_u = len(model.menus.basis if model.menus.row_in_basis is None else model.menus.row_in_basis)

    def with_action(am: Array, share: Array) -> Array:
        u = row_of[:, :, am][pair_class].transpose(0, 2, 1)  # [sᵉ, sᵐ, aᵉ]
        return share + jnp.where(u[..., None] == jnp.arange(n_u), policy[..., am, None], 0.0)

    share = lax.fori_loop(0, policy.shape[3], with_action, jnp.zeros((*policy.shape[:3], n_u)))
    mean = (policy * (reward[:, None, :, None] + monitor_reward[:, None, :])).sum(axis=(2, 3))
    return Policy(model.world, model.menus, share, mean)


def _pairs(world: Near | Far) -> tuple[Array, Array]:
    """rᵉ and class of every pair [sᵉ, aᵉ]."""
    if isinstance(world, Far):
        reward, pair_class = world.reward, world.pair_class
    else:
        of_kind = _kinds(world)
        actions = range(len(world.reward))
        reward, pair_class = jnp.stack([of_kind(world.reward, a) for a in actions], axis=1), None
        if world.pair_class is not None:
            pair_class = jnp.stack([of_kind(world.pair_class, a) for a in actions], axis=1)
    return reward, jnp.zeros(reward.shape, jnp.int32) if pair_class is None else pair_class


# ---- all actions ------------------------------------------------------------------------------


@jax.jit
def arrivals(model: Tables, V: Array) -> Array:
    """[sᵉ, aᵉ, u] what is expected to follow a pair."""
    return _arrivals(*model, _passed_on(model, V)).transpose(1, 2, 0)


@partial(jax.jit, static_argnames="n")
def greedy(
    model: Tables, row_of: Array, monitor_reward: Array, gamma: Array, tie: Array, y: Array,
    begin: Array, n: int,
) -> Array:  # fmt: skip
    """[sᵉ, sᵐ, aᵉ, aᵐ] whether an action is within `tie` of the best, for n states."""
    reward, pair_class = _pairs(model.world)
    here = partial(lax.dynamic_slice_in_dim, start_index=begin, slice_size=n)
    u = row_of[here(pair_class)]  # [sᵉ, aᵉ, sᵐ, aᵐ]
    after = jnp.take_along_axis(here(y)[:, :, None], u, axis=3)
    q = here(reward)[:, :, None, None] + monitor_reward + gamma * after
    q = q.transpose(0, 2, 1, 3)
    return q >= q.max(axis=(2, 3), keepdims=True) - tie
