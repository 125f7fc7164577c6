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

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from monmdp.planning.gpu.tables import Far, Menus, Near, Rows, Tables

SWEEPS = 64
"""of a round; the device is asked for the largest change as often"""
MEMORY = 4
"""rounds that a leap is made of"""
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
    nearly = _swept(model, rows, gamma, now.W, SWEEPS - 1)
    end = _swept(model, rows, gamma, nearly, 1)
    change = jnp.abs(end - nearly).max()
    slot = now.rounds % MEMORY
    step = end - now.W
    ends = lax.dynamic_update_index_in_dim(now.ends, end, slot, 0)
    steps = lax.dynamic_update_index_in_dim(now.steps, step, slot, 0)
    with_step = (steps * step).sum(axis=(1, 2))
    products = now.products.at[slot].set(with_step).at[:, slot].set(with_step)
    there = jnp.arange(MEMORY) <= now.rounds
    leap = jnp.tensordot(_weights(products, there), ends, 1)
    after = _swept(model, rows, gamma, leap, 1)
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


def _swept(model: Model, rows: Rows, gamma: Array, W: Array, n: int) -> Array:
    """W[k, sᵉ] after n sweeps."""
    if isinstance(model, Policy):
        return lax.fori_loop(0, n, lambda _, W: _passed_on(model, _policy_values(model, gamma, W)), W)
    if isinstance(model.world, Far):
        return lax.fori_loop(0, n, lambda _, W: _mixed(model.menus, _best_far(model, gamma, W)), W)
    # One array for each k: the device then computes all of a state's numbers together.
    sweep = partial(_sweep_near, model, rows, gamma)
    return jnp.stack(lax.fori_loop(0, n, lambda _, parts: sweep(parts), tuple(W)))


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
    if isinstance(model.world, Far):
        groups = _best_far(model, gamma, W)
    else:
        groups = jnp.stack(_best_near(model.world, model.menus, rows, gamma, tuple(W)))
    return groups[model.menus.group].T + model.menus.shift


@partial(jax.jit, static_argnames="rows", donate_argnames="W")
def swept(model: Model, rows: Rows, gamma: Array, W: Array, n: Array) -> Array:
    """W[k, sᵉ] after n sweeps."""
    return lax.fori_loop(0, n, lambda _, W: _swept(model, rows, gamma, W, 1), W)


@jax.jit
def passed_on(model: Model, V: Array) -> Array:
    """W[k, sᵉ] = B V."""
    return _passed_on(model, V)


def _passed_on(model: Model, V: Array) -> Array:
    return (model.menus.basis[:, None] * V).sum(axis=2)


# ---- few neighbours: everything of a state is written out ------------------------------------


def _sweep_near(model: Any, rows: Rows, gamma: Array, W: tuple[Array, ...]) -> tuple[Array, ...]:
    best = _best_near(model.world, model.menus, rows, gamma, W)
    mix, offset = _mixture(model.menus, len(best))
    return tuple(
        offset[k] + sum(mix[k, g] * best[g] for g in range(len(best))) for k in range(len(W))
    )


def _best_near(
    world: Near, menus: Menus, rows: Rows, gamma: Array, W: tuple[Array, ...]
) -> list[Array]:
    """[group] G[sᵉ], the value of the best action."""
    around = [[w, *(_at(w, neighbour) for neighbour in world.neighbour)] for w in W]
    best: list[Array] = []
    for a in range(len(world.reward)):
        chances = [_of_kind(world, chance) for chance in world.chance[a]]
        z = [sum(c * w for c, w in zip(chances, of, strict=True)) for of in around]
        y = _rows_of(menus, z)
        reward = _of_kind(world, world.reward[a])
        pair_class = None if world.pair_class is None else _of_kind(world, world.pair_class[a])
        for g in range(len(rows[0])):
            q = reward + _menu_best(menus, rows, gamma, g, y, pair_class)
            if a == 0:
                best.append(q)
            else:
                best[g] = jnp.maximum(best[g], q)
    return best


def _menu_best(
    menus: Menus, rows: Rows, gamma: Array, g: int, y: list[Array], pair_class: Array | None
) -> Array:
    """The best item of a group's menu, in the class of each pair."""
    best: Array | None = None
    for c, groups in enumerate(rows):
        here: Array | None = None
        for item, u in enumerate(groups[g]):
            q = menus.reward[c, g, item] + gamma * y[u]
            here = q if here is None else jnp.maximum(here, q)
        assert here is not None  # every menu offers something
        best = here if best is None or pair_class is None else jnp.where(pair_class == c, here, best)
    assert best is not None
    return best


def _rows_of(menus: Menus, z: list[Array]) -> list[Array]:
    """[u] from [k]."""
    if menus.row_in_basis is None:
        return z
    return [sum(row[k] * z[k] for k in range(len(z))) for row in menus.row_in_basis]


def _of_kind(world: Near, by_kind: Array) -> Array:
    return by_kind if world.kind is None else _at(by_kind, world.kind)


def _at(values: Array, index: Array) -> Array:
    return values.at[index].get(mode="promise_in_bounds")


# ---- many outcomes: whole arrays --------------------------------------------------------------


def _best_far(model: Any, gamma: Array, W: Array) -> Array:
    """G[group, sᵉ], the value of the best action."""
    world, menus = model.world, model.menus
    y = _arrivals(model, W)  # [u, sᵉ, aᵉ]
    pair_class = jnp.zeros(world.reward.shape, int) if world.pair_class is None else world.pair_class
    n_groups, n_items = menus.row.shape[1:]

    def with_item(i: Array, best: Array) -> Array:
        u = menus.row[:, :, i].T[:, pair_class]  # [group, sᵉ, aᵉ]
        q = menus.reward[:, :, i].T[:, pair_class] + gamma * jnp.take_along_axis(y, u, axis=0)
        return jnp.maximum(best, q)

    worst = jnp.full((n_groups, *world.reward.shape), -jnp.inf)
    return (world.reward + lax.fori_loop(0, n_items, with_item, worst)).max(axis=2)


def _mixed(menus: Menus, best: Array) -> Array:
    mix, offset = _mixture(menus, len(best))
    return (mix[:, :, None] * best).sum(axis=1) + offset[:, None]


def _mixture(menus: Menus, n_groups: int) -> tuple[Array, Array]:
    """W = mix G + offset, as [k, group] and [k]."""
    in_group = menus.group[:, None] == jnp.arange(n_groups)
    return menus.basis @ in_group.astype(menus.basis.dtype), menus.basis @ menus.shift


def _arrivals(model: Model, W: Array) -> Array:
    """[u, sᵉ, aᵉ] Σ pᵉ(s′ᵉ | sᵉ, aᵉ) Y[s′ᵉ, u]."""
    world = model.world
    if isinstance(world, Far):
        n_pairs = world.reward.size

        def summed(w: Array) -> Array:
            arrives = world.chance * _at(w, world.successor)
            return jax.ops.segment_sum(arrives, world.pair, n_pairs, indices_are_sorted=True)

        z = jax.vmap(summed)(W).reshape(len(W), *world.reward.shape)
    else:
        around = [[w, *(_at(w, neighbour) for neighbour in world.neighbour)] for w in W]
        chances = [[_of_kind(world, chance) for chance in of] for of in world.chance]
        z = jnp.stack(
            [
                jnp.stack([sum(c * w for c, w in zip(p, of, strict=True)) for p in chances], axis=1)
                for of in around
            ]
        )
    if model.menus.row_in_basis is None:
        return z
    return jnp.tensordot(model.menus.row_in_basis, z, 1)


# ---- given actions ----------------------------------------------------------------------------


def _policy_values(model: Policy, gamma: Array, W: Array) -> Array:
    """V[sᵉ, sᵐ] of one step of the policy, and then what W says."""
    y = _arrivals(model, W).transpose(1, 2, 0)  # [sᵉ, aᵉ, u]
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
        reward, pair_class = jnp.asarray(world.reward), world.pair_class
    else:
        reward = jnp.stack([_of_kind(world, r) for r in world.reward], axis=1)
        pair_class = world.pair_class
        if pair_class is not None:
            pair_class = jnp.stack([_of_kind(world, c) for c in pair_class], axis=1)
    if pair_class is None:
        pair_class = jnp.zeros(reward.shape, jnp.int32)
    return reward, pair_class


# ---- all actions ------------------------------------------------------------------------------


@jax.jit
def arrivals(model: Tables, V: Array) -> Array:
    """[sᵉ, aᵉ, u] what is expected to follow a pair."""
    return _arrivals(model, _passed_on(model, V)).transpose(1, 2, 0)


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
