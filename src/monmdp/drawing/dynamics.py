"""The dynamics of a world as a graph whose arcs say what leads there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monmdp.drawing.maps import demand_world, folded
from monmdp.drawing.picture import LINE, new_figure
from monmdp.model.mdp import MDP

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APART = 2.3
"""distance of two states, whose circles have radius 0.34"""


def draw_dynamics(mdp: MDP) -> Figure:
    """Draw a world's states and moves, each with (action, probability, reward).

    That is for worlds whose states form a row; any other is drawn as `draw_graph` does.
    """
    from monmdp.drawing.graph import MAX_NODES, draw_graph, is_chain, size

    demand_world(mdp, "draw_dynamics")
    if mdp.n_states > MAX_NODES or not is_chain(mdp):
        width, height = size(mdp)
        figure = new_figure(width + 2.0, height + 0.6)
        draw_graph(figure.add_axes((0.02, 0.02, 0.78, 0.9)), mdp)
        figure.text(0.02, 0.95, mdp.name, fontsize=10, parse_math=False)
        return figure
    return _chain(mdp)


def _chain(mdp: MDP) -> Figure:
    from matplotlib.patches import Circle, FancyArrowPatch

    from monmdp.drawing.icons import DARK, PAPER

    tuples: dict[tuple[int, int], list[str]] = {}
    for o, pair in enumerate(mdp.pair_of_outcome):
        state, action = divmod(int(pair), mdp.n_actions)
        sign = " ⊥" if mdp.hidden[o] else ""
        numbers = f"{mdp.probability[o]:.4g}, {mdp.reward[o]:.4g}{sign}"
        words = f"({mdp.action_labels[action]}, {numbers})"
        ends = " ends" if mdp.terminates[o] else ""
        tuples.setdefault((state, int(mdp.successor[o])), []).append(words + ends)
    width = 0.85 * APART * mdp.n_states + 0.4
    sign = ", ⊥ if never shown" if mdp.hidden.any() else ""
    what = f"(action, probability, reward{sign})"
    title = folded(f"{mdp.name}: {what}; an episode starts where the ring is thick", width, 5)
    height = 3.1 + LINE * title.count("\n")
    figure = new_figure(width, height)
    ax = figure.add_axes((0.01, 0.06 / height, 0.98, 2.67 / height))
    for (state, successor), lines in tuples.items():
        x = APART * state
        text = "\n".join(lines)
        if state == successor:
            ax.add_artist(Circle((x, 0.62), 0.3, fill=False, edgecolor=DARK, linewidth=1.1))
            ax.text(x, 1.0, text, ha="center", va="bottom", fontsize=7, parse_math=False)
            continue
        right = successor > state
        arrow = FancyArrowPatch(
            (x + (0.3 if right else -0.3), 0.16 if right else -0.16),
            (APART * successor + (-0.3 if right else 0.3), 0.16 if right else -0.16),
            connectionstyle="arc3,rad=-0.3", arrowstyle="-|>", mutation_scale=11, color=DARK,
            linewidth=1.1,
        )  # fmt: skip
        ax.add_artist(arrow)
        middle = APART * (state + successor) / 2
        y = 0.47 if right else -0.5
        ax.text(
            middle, y, text, ha="center", va="bottom" if right else "top", fontsize=7,
            parse_math=False, linespacing=1.4,
        )  # fmt: skip
    for state in range(mdp.n_states):
        node = Circle((APART * state, 0.0), 0.34, facecolor=PAPER, edgecolor=DARK, zorder=3)
        node.set_linewidth(2.4 if mdp.start[state] > 0 else 1.0)
        ax.add_artist(node)
        ax.text(
            APART * state, 0, mdp.state_labels[state], ha="center", va="center", zorder=4,
            fontsize=10, parse_math=False,
        )  # fmt: skip
    ax.set(xlim=(-1.1, APART * (mdp.n_states - 1) + 1.1), ylim=(-1.1, 1.5), aspect="equal")
    ax.axis("off")
    figure.text(0.01, 2.85 / height, title, fontsize=9, va="bottom", parse_math=False)
    return figure
