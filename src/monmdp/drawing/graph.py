"""Worlds as graphs: states and arcs, a matrix of many states, a chain with its moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch

from monmdp.drawing.canvas import LINE, SEQUENTIAL, Picture
from monmdp.drawing.icons import ACTION_COLOURS, DARK, PAPER
from monmdp.drawing.labels import action_names, demand_world, folded, shortened
from monmdp.model.arrays import FloatArray
from monmdp.model.mdp import MDP

MAX_NODES = 40
"""with more states the transition matrix is drawn instead"""
RADIUS = 0.3
APART = 1.7
"""distance between neighbours, as far as the plane allows"""
CLOSEST = 0.4
"""if two states come closer than this fraction of it, all are laid out in a circle"""
ROUNDS = 200
MAX_REWARDS = 16
"""with more arcs the rewards are not written beside them"""
MAX_LEGEND = 12
"""actions that the legend names"""
DASHED = (0, (3, 1.5))
"""line of a move that ends the episode"""
CHAIN_APART, CHAIN_RADIUS = 2.3, 0.34
"""distance and radius of the states of a chain with its moves"""


def draw_graph(ax: Axes, mdp: MDP) -> FloatArray:
    """Draw the world and return where each state lies, [state, 2] in data coordinates."""
    return _nodes(ax, mdp) if mdp.n_states <= MAX_NODES else _matrix(ax, mdp)


def graph_inches(mdp: MDP) -> tuple[float, float]:
    """Return the width and height in inches that suit the drawing, without its legend."""
    if mdp.n_states > MAX_NODES:
        return 5.0, 4.0
    if is_chain(mdp):
        return max(3.5, 0.9 * mdp.n_states), 1.6
    width, height = np.ptp(_positions(mdp), axis=0) * 0.5 + 1.2
    return max(3.0, float(width)), max(3.0, float(height))


def is_chain(mdp: MDP) -> bool:
    """Return whether every move leads to a neighbour, so the states form a row."""
    return bool((np.abs(mdp.successor - mdp.outcomes.state) <= 1).all())


def _positions(mdp: MDP) -> FloatArray:
    n = mdp.n_states
    if is_chain(mdp):
        return np.column_stack([1.5 * np.arange(n), np.zeros(n)])
    spread = _spread(_hops(mdp))
    if spread is not None:
        return spread
    angle = 2 * np.pi * np.arange(n) / n
    radius = max(1.0, n * 1.25 / (2 * np.pi))  # the arcs between neighbours can be seen
    return radius * np.column_stack([np.sin(angle), -np.cos(angle)])


def _hops(mdp: MDP) -> FloatArray:
    """[state, state] number of moves between two states, in the shorter direction."""
    from scipy.sparse.csgraph import shortest_path

    moves = np.zeros((mdp.n_states, mdp.n_states))
    moves[mdp.outcomes.state, mdp.successor] = 1.0
    hops = shortest_path(moves, directed=False, unweighted=True)
    far = hops[np.isfinite(hops)].max() + 1
    return np.where(np.isfinite(hops), hops, far)  # unconnected parts lie far apart


def _spread(hops: FloatArray) -> FloatArray | None:
    """Place states as far apart as they are in moves; None where that would be no clearer.

    Classical multidimensional scaling gives the first guess, and majorization of the stress
    Σ (distance / hops - 1)² improves it. The result is turned so that the states come in reading
    order, as far as they can.
    """
    from scipy.spatial.distance import cdist, pdist

    n = len(hops)
    if hops.max() <= 1:
        return None  # everything leads everywhere
    centring = np.eye(n) - 1 / n
    strength, axes = np.linalg.eigh(-0.5 * centring @ hops**2 @ centring)
    at = axes[:, -2:] * np.sqrt(np.maximum(strength[-2:], 0.0))
    # States with the same neighbours would start, and stay, at one point.
    angle = 2 * np.pi * np.arange(n) / n
    at = at + 0.05 * np.column_stack([np.sin(angle), np.cos(angle)])
    weight = 1 / (hops + np.eye(n)) ** 2 * (1 - np.eye(n))
    pull = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(ROUNDS):
        ratio = weight * hops / np.maximum(cdist(at, at), 1e-9)
        at = pull @ (np.diag(ratio.sum(axis=1)) - ratio) @ at
    closest = pdist(at).min()
    if closest < CLOSEST:
        return None
    width = int(np.ceil(np.sqrt(n)))
    page = np.column_stack(np.divmod(np.arange(n), width)[::-1]).astype(np.float64)
    u, _, v = np.linalg.svd((at - at.mean(axis=0)).T @ (page - page.mean(axis=0)))
    turned: FloatArray = at @ u @ v * max(APART, 3.2 * RADIUS / closest)
    return turned


def _nodes(ax: Axes, mdp: MDP) -> FloatArray:
    at = _positions(mdp)
    pull = at - at.mean(axis=0)
    flat = not at[:, 1].any()
    arcs: dict[tuple[int, int, int], list[int]] = {}  # the outcomes of each
    for o, pair in enumerate(mdp.pair_of_outcome):
        state, action = divmod(int(pair), mdp.n_actions)
        arcs.setdefault((state, action, int(mdp.successor[o])), []).append(o)
    written = len(arcs) <= MAX_REWARDS
    for (state, action, successor), outcomes in arcs.items():
        style: dict[str, Any] = {
            "color": ACTION_COLOURS[action % len(ACTION_COLOURS)],
            "linewidth": 0.5 + 1.5 * mdp.probability[outcomes].sum(),
            "linestyle": DASHED if mdp.terminates[outcomes].any() else "-",
        }
        if state == successor:
            # Loops of several actions are nested, on the side away from the other states.
            to_the_side = not flat and np.hypot(*pull[state]) > 0.01
            outward = pull[state] if to_the_side else np.array([0.0, -1.0])
            turn = outward / np.hypot(*outward)
            reach = 0.16 + 0.07 * action
            centre = at[state] + turn * (RADIUS + reach * 0.6)
            ax.add_artist(Circle(tuple(centre), reach, fill=False, zorder=1, **style))
            # The texts of nested loops are turned away from each other, and from the robot.
            angle = 0.7 * (action % 2)
            aside = np.array([-turn[1], turn[0]])
            middle = centre + reach * (np.cos(angle) * turn + np.sin(angle) * aside)
        else:
            bend = 0.15 + 0.12 * action
            arrow = FancyArrowPatch(
                tuple(at[state]), tuple(at[successor]), arrowstyle="-|>", mutation_scale=9,
                connectionstyle=f"arc3,rad={bend}", shrinkA=0, shrinkB=0, zorder=2,
                patchA=_node(at[state]), patchB=_node(at[successor]), **style,
            )  # fmt: skip
            for patch in (arrow.patchA, arrow.patchB):
                patch.set_transform(ax.transData)
            ax.add_artist(arrow)
            x, y = at[successor] - at[state]
            middle = (at[state] + at[successor]) / 2 + bend / 2 * np.array([-y, x])
        rewards = mdp.reward[outcomes]
        words = [_several(rewards)] if written and rewards.any() else []
        words += ["⊥"] if mdp.hidden[outcomes].any() else []
        if words:
            ax.text(
                middle[0], middle[1], " ".join(words), ha="center", va="center", fontsize=7,
                weight="bold", color=style["color"], zorder=6, parse_math=False,
                bbox={"boxstyle": "square,pad=0.05", "facecolor": "white", "linewidth": 0},
            )  # fmt: skip
    for state in range(mdp.n_states):
        label = shortened(mdp.state_labels[state], 7)
        ring = 2.2 if mdp.start[state] > 0 else 0.9
        _draw_node(ax, _node(at[state]), label, 8 if len(label) <= 3 else 5.5, ring)
    reach = RADIUS + 0.2 + 0.2 * mdp.n_actions
    (left, top), (right, bottom) = at.min(axis=0) - reach, at.max(axis=0) + reach
    if flat:
        # Left of a state there may be a robot.
        left, right, bottom = left + reach - 0.65, right - reach + 0.5, 0.5 + 0.1 * mdp.n_actions
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    ax.axis("off")
    _legend(ax, mdp, written)
    return at


def _several(rewards: FloatArray) -> str:
    """Write the rewards of an arc, or their range where they are many."""
    found = np.unique(rewards)
    ends = found if len(found) < 3 else found[[0, -1]]
    between = "…" if len(found) > 2 else "/"
    return between.join(f"{reward:.3g}".replace("-", "−") for reward in ends)


def _node(centre: FloatArray) -> Circle:
    return Circle((float(centre[0]), float(centre[1])), RADIUS)


def _draw_node(ax: Axes, node: Circle, label: str, fontsize: float, linewidth: float) -> None:
    node.set(facecolor=PAPER, edgecolor=DARK, zorder=3, linewidth=linewidth)
    ax.add_artist(node)
    x, y = node.center
    centred: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 4, "parse_math": False}
    ax.text(x, y, label, fontsize=fontsize, **centred)


def _legend(ax: Axes, mdp: MDP, written: bool) -> None:
    """Explain colours, lines and, where rewards are written, numbers."""
    handles = [
        Line2D([], [], color=ACTION_COLOURS[a % len(ACTION_COLOURS)], label=shortened(label, 16))
        for a, label in enumerate(action_names(mdp)[:MAX_LEGEND])
    ]
    if mdp.n_actions > MAX_LEGEND:
        handles.append(Line2D([], [], alpha=0, label=f"… {mdp.n_actions - MAX_LEGEND} more"))
    ring: dict[str, Any] = {"marker": "o", "markeredgecolor": DARK, "markeredgewidth": 2}
    handles.append(Line2D([], [], color=PAPER, label="start", **ring))
    if mdp.terminates.any():
        handles.append(Line2D([], [], color=DARK, linestyle=DASHED, label="ends"))
    notes = {"⊥: never shown": mdp.hidden.any(), "number: reward": written and mdp.reward.any()}
    handles += [Line2D([], [], alpha=0, label=note) for note, said in notes.items() if said]
    legend = ax.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, frameon=False
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _matrix(ax: Axes, mdp: MDP) -> FloatArray:
    """Largest transition probability over the actions, [state, successor]."""
    n = mdp.n_states
    # In large worlds several states share a pixel, which shows the largest entry among them.
    bins = min(n, 800)
    image = np.zeros((bins, bins))
    arc = mdp.pair_of_outcome * n + mdp.successor
    _, which = np.unique(arc, return_inverse=True)
    by_arc = np.bincount(which, weights=mdp.probability)[which]
    rows, columns = mdp.outcomes.state * bins // n, mdp.successor * bins // n
    np.maximum.at(image, (rows, columns), by_arc)
    shown = ax.imshow(
        image, cmap=SEQUENTIAL, vmin=0, vmax=1, extent=(-0.5, n - 0.5, n - 0.5, -0.5),
        interpolation="nearest",
    )  # fmt: skip
    ax.set(xlabel="successor", ylabel="state")
    bar = ax.figure.colorbar(shown, ax=ax, shrink=0.8)
    bar.set_label("largest probability over the actions", fontsize=8)
    return np.repeat(np.arange(n, dtype=np.float64)[:, None], 2, axis=1)


def draw_dynamics(mdp: MDP) -> Figure:
    """Draw a world's states and moves, each with (action, probability, reward).

    This is for worlds whose states form a row; any other is drawn as a plain graph.
    """
    demand_world(mdp, "draw_dynamics")
    if mdp.n_states <= MAX_NODES and is_chain(mdp):
        return _draw_chain(mdp)
    width, height = graph_inches(mdp)
    figure = Picture(width + 2.0, height + 0.6)
    draw_graph(figure.add_axes((0.02, 0.02, 0.78, 0.9)), mdp)
    figure.text(0.02, 0.95, mdp.name, fontsize=10)
    return figure


def _draw_chain(mdp: MDP) -> Figure:
    moves: dict[tuple[int, int], list[str]] = {}
    for o, pair in enumerate(mdp.pair_of_outcome):
        state, action = divmod(int(pair), mdp.n_actions)
        sign = " ⊥" if mdp.hidden[o] else ""
        numbers = f"{mdp.probability[o]:.4g}, {mdp.reward[o]:.4g}{sign}"
        ends = " ends" if mdp.terminates[o] else ""
        words = f"({mdp.action_labels[action]}, {numbers}){ends}"
        moves.setdefault((state, int(mdp.successor[o])), []).append(words)
    width = 0.85 * CHAIN_APART * mdp.n_states + 0.4
    sign = ", ⊥ if never shown" if mdp.hidden.any() else ""
    what = f"(action, probability, reward{sign})"
    title = folded(f"{mdp.name}: {what}; a thick ring marks the start", width, 5)
    height = 3.1 + LINE * title.count("\n")
    figure = Picture(width, height)
    ax = figure.add_axes((0.01, 0.06 / height, 0.98, 2.67 / height))
    for (state, successor), lines in moves.items():
        x, text = CHAIN_APART * state, "\n".join(lines)
        style: dict[str, Any] = {"ha": "center", "fontsize": 7}
        if state == successor:
            ax.add_artist(Circle((x, 0.62), 0.3, fill=False, edgecolor=DARK, linewidth=1.1))
            ax.text(x, 1.0, text, va="bottom", **style)
            continue
        right = successor > state
        side = 1 if right else -1
        arrow = FancyArrowPatch(
            (x + 0.3 * side, 0.16 * side), (CHAIN_APART * successor - 0.3 * side, 0.16 * side),
            connectionstyle="arc3,rad=-0.3", arrowstyle="-|>", mutation_scale=11, color=DARK,
            linewidth=1.1,
        )  # fmt: skip
        ax.add_artist(arrow)
        middle, y = CHAIN_APART * (state + successor) / 2, 0.47 if right else -0.5
        ax.text(middle, y, text, va="bottom" if right else "top", linespacing=1.4, **style)
    for state, label in enumerate(mdp.state_labels):
        ring = 2.4 if mdp.start[state] > 0 else 1.0
        _draw_node(ax, Circle((CHAIN_APART * state, 0.0), CHAIN_RADIUS), label, 10, ring)
    ax.set(xlim=(-1.1, CHAIN_APART * (mdp.n_states - 1) + 1.1), ylim=(-1.1, 1.5), aspect="equal")
    ax.axis("off")
    figure.text(0.01, 2.85 / height, title, fontsize=9, va="bottom")
    return figure
