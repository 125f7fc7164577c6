"""Worlds as pictures: one world, all of them on a sheet, and the frames of a film.

Figures are made with Matplotlib's Agg canvas and never with pyplot: nothing global is touched and
no window opens.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from monmdp.drawing.maps import (
    MAX_DETAILED,
    brief,
    demand_problem,
    demand_world,
    folded,
    noun,
    number_axes,
    rows_of,
    shortened,
    standing,
)
from monmdp.drawing.palette import BLUE, GREEN, VERMILION
from monmdp.errors import MonMDPError
from monmdp.files import write_whole
from monmdp.model.arrays import FloatArray, IntArray
from monmdp.model.mdp import MDP, whole_number
from monmdp.model.monmdp import MonMDP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Image = NDArray[np.uint8]
"""[height, width, 3]"""

MAX_ROBOTS = 4
"""with more possible start cells the robots are small"""
SUFFIXES = (".png", ".svg", ".pdf")

DPI = 100
LINE = 0.17
"""inches between the lines of a title"""
CELL_PIXELS = 64
MAX_WIDTH, MAX_HEIGHT = 960, 720
MIN_WIDTH = 380
"""a frame is at least so wide that its caption can be read"""
MARGIN = 6
BORDER = (59, 59, 59)
CAPTION_LINES = 4
LINE_PIXELS, CHARACTER_PIXELS = 19, 8.1
MIN_BADGE = 18
BAR_PIXELS = 12
SHOWN_COLOUR, HIDDEN_COLOUR = (tuple(bytes.fromhex(of[1:])) for of in (GREEN, VERMILION))
"""red, green and blue"""


def draw_world(
    mdp: MDP, *, ax: Axes | None = None, agent: int | None = None, title: str | None = None
) -> Figure:
    """Draw a world, with a robot where episodes start or where the agent is.

    A world without a map is drawn as a graph of its states, or as its transition matrix where the
    states are many. Without `ax` a new figure is made; the title defaults to the world's name.

    >>> from monmdp import drawing, worlds
    >>> figure = drawing.draw_world(worlds.make("loop"), title="a small one")
    >>> drawing.save(figure, "loop.svg")
    """
    demand_world(mdp, "draw_world")
    title = _title(mdp) if title is None else title
    if ax is None:
        width, height = _inches(mdp, cell=0.8, widest=12.0, highest=9.0)
        width = max(width, 2.4) + sum(_beside(mdp)) + 0.5
        title = folded(title, width - 0.2)
        figure = new_figure(width, height + 0.7 + LINE * title.count("\n"))
        # A long title stands in the middle of the picture, a short one in that of the drawing.
        if "\n" in title:
            figure.suptitle(title, fontsize=10, parse_math=False)
            title = ""
        ax = figure.add_subplot()
        figure.set_layout_engine("tight")
    _draw(ax, mdp, standing(mdp, agent))
    ax.set_title(title, fontsize=10, parse_math=False)
    return ax.figure.figure


def _title(mdp: MDP) -> str:
    """The world's name, and what is drawn of it where that is not plain to see."""
    from monmdp.drawing.graph import MAX_NODES

    if mdp.picture is not None or mdp.n_states <= MAX_NODES:
        return mdp.name
    return f"{mdp.name}: transition matrix of {mdp.n_states} states"


def gallery(mdps: Mapping[str, MDP]) -> Figure:
    """Draw several worlds, by title, on one sheet with cells of one size."""
    if not mdps:
        raise MonMDPError("gallery: no world is given")
    for mdp in mdps.values():
        demand_world(mdp, "gallery")
    sheet, gap, head = 12.0, 0.45, 0.5
    boxes = []
    x = y = row_height = 0.0
    for mdp in mdps.values():
        left, right = _beside(mdp)
        widest = sheet - 2 * gap - left - right
        width, height = _inches(mdp, cell=0.55, widest=widest, highest=6.0)
        room = max(width + left + right, 1.9)
        if x and x + room + 2 * gap > sheet:
            x, y, row_height = 0.0, y + row_height, 0.0
        spare = (room - width - left - right) / 2
        boxes.append((x + gap + spare + left, y + head, width, height))
        x += room + gap
        row_height = max(row_height, height + head + (0.25 if mdp.picture is not None else 0.5))
    total = y + row_height + 0.1
    figure = new_figure(sheet, total)
    for (title, mdp), (left, top, width, height) in zip(mdps.items(), boxes, strict=True):
        place = (left / sheet, 1 - (top + height) / total, width / sheet, height / total)
        ax = figure.add_axes(place)
        draw_world(mdp, ax=ax, title=folded(title, max(width, 1.9), 2))
    return figure


def frame(
    monmdp: MonMDP,
    se: int,
    sm: int,
    *,
    caption: str,
    shown: bool | None = None,
    monitor_reward: float = 0.0,
) -> Image:
    """Return a picture of the agent in environment state `se` and monitor state `sm`.

    Below the world stand both states by name and the lines of `caption`, as far as four lines
    hold them. All frames of one Mon-MDP have the same size.

    Args:
        monmdp: the problem.
        se: sᵉ.
        sm: sᵐ.
        caption: lines of text.
        shown: whether the last reward was shown: an open eye beside the agent and a plain strip
            beside the caption, or an eye struck out and a hatched strip. None: there was none yet.
        monitor_reward: rᵐ of the last step; on a plate beside the agent unless it is zero.
    """
    demand_problem(monmdp, "frame")
    mdp, monitor = monmdp.mdp, monmdp.monitor
    se = mdp.find_state(se)
    if whole_number(sm, "a monitor state", at_least=0) >= monitor.n_states:
        last = monitor.n_states - 1
        raise MonMDPError(f"monitor state {sm} does not exist; states are 0 to {last}")
    stage = _stage(mdp)
    image = stage.background.copy()
    centre, reach = stage.centres[se], stage.robot.shape[0] // 3
    _paste(image, stage.robot, centre)
    if shown is not None:
        badge = _sprite(f"eye {shown}", max(MIN_BADGE, stage.robot.shape[0] * 2 // 5))
        _paste(image, badge, _inside(image, badge, centre + np.array([-reach, reach])))
    if monitor_reward:
        plate = _plate(f"{monitor_reward:+.3g}".replace("-", "−"))
        _paste(image, plate, _inside(image, plate, centre + np.array([reach + 4, 0])))
    name = mdp.state_labels[se]
    first = f"state {shortened(name, 20)}   monitor {shortened(monitor.states[sm], 20)}"
    strip = _caption([first, *caption.splitlines()], image.shape[1], shown)
    return np.concatenate([image, strip])


def _picture_format(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a picture's name, or say what it must be."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise MonMDPError(f"{path}: a picture's name must end in {', '.join(SUFFIXES)}")
    return suffix


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF, by the name's suffix; all of it or nothing."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from monmdp.drawing.canvas import boxes_for_missing_glyphs

    if not isinstance(figure, Figure):
        raise MonMDPError(f"save takes a figure, such as draw_world returns, got {brief(figure)}")
    path, suffix = Path(path), _picture_format(path)
    # Without dates and random ids the same figure gives the same bytes.
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    with rc_context({"svg.hashsalt": "monmdp"}), boxes_for_missing_glyphs():
        write_whole(
            path,
            lambda file: figure.savefig(file, format=suffix[1:], dpi=150, metadata=undated),
        )


# ---- one world ------------------------------------------------------------------------------


def new_figure(width: float, height: float) -> Figure:
    """Make a figure of so many inches that no part of pyplot knows about."""
    from monmdp.drawing.canvas import Picture

    return Picture(figsize=(width, height), dpi=DPI)


def _inches(mdp: MDP, cell: float, widest: float, highest: float) -> tuple[float, float]:
    """Width and height of a drawing whose cells are of the given size, or smaller to fit."""
    if mdp.picture is None:
        from monmdp.drawing.graph import size

        width, height = size(mdp)
        shrink = min(1.0, widest / width, highest / height)
        return width * shrink, height * shrink
    rows = rows_of(mdp)
    cell = min(cell, widest / len(rows[0]), highest / len(rows))
    return max(len(rows[0]) * cell, 0.3), max(len(rows) * cell, 0.3)


def _beside(mdp: MDP) -> tuple[float, float]:
    """Inches left and right of the drawing that its legend and axis titles need."""
    if mdp.picture is not None:
        return (0.0, 0.0) if _is_detailed(mdp) else (0.0, 1.2)
    from monmdp.drawing.graph import MAX_NODES

    return (0.0, 1.45) if mdp.n_states <= MAX_NODES else (0.3, 0.3)


def _draw(ax: Axes, mdp: MDP, marked: list[int]) -> None:
    if mdp.picture is not None:
        _draw_grid(ax, mdp)
        _draw_robots(ax, mdp, marked)
        return
    from monmdp.drawing.graph import MAX_NODES, draw_graph
    from monmdp.drawing.icons import place, robot

    centres = draw_graph(ax, mdp)
    if len(marked) > MAX_ROBOTS:
        return
    for x, y in centres[marked]:
        if mdp.n_states > MAX_NODES:
            ax.plot(x, y, "o", color=VERMILION, markeredgecolor="white", markersize=7)
        else:
            place(ax, robot(), x - 0.75, y - 0.8, 0.6, zorder=7)


def _is_detailed(mdp: MDP) -> bool:
    rows = rows_of(mdp)
    return max(len(rows), len(rows[0])) <= MAX_DETAILED


def _draw_grid(ax: Axes, mdp: MDP, numbers: bool = True) -> None:
    """Draw everything but the agent; x counts columns and y counts rows, downwards."""
    from monmdp.drawing.icons import DARK, ICONS, button, letter, place

    rows = rows_of(mdp)
    height, width = len(rows), len(rows[0])
    detailed = _is_detailed(mdp)
    ax.imshow(_colours(rows, detailed), extent=(0, width, height, 0), interpolation="nearest")
    # A long row of tiny squares would be a mere line.
    is_line = not detailed and min(height, width) < max(height, width) / MAX_DETAILED
    ax.set(xlim=(0, width), ylim=(height, 0), aspect="auto" if is_line else "equal")
    for spine in ax.spines.values():
        spine.set(edgecolor=DARK, linewidth=1.0)
    ax.set_xticks([])
    ax.set_yticks([])
    if not detailed:
        if numbers:
            number_axes(ax, height, width)
            _colour_key(ax, rows)
        if mdp.button is not None:
            row, column = _cell(mdp, mdp.button[0])
            ax.plot(column + 0.5, row + 0.5, "s", color="#d7191c", markersize=5)
        return
    ax.hlines(range(1, height), 0, width, color="#c9c5b8", linewidth=0.6)
    ax.vlines(range(1, width), 0, height, color="#c9c5b8", linewidth=0.6)
    for row, tiles in enumerate(rows):
        for column, tile in enumerate(tiles):
            place(ax, ICONS[tile]() if tile in ICONS else letter(tile), column, row)
    if mdp.button is not None:
        row, column = _cell(mdp, mdp.button[0])
        place(ax, button(mdp.action_labels[mdp.button[1]]), column, row)
    if numbers:
        number_axes(ax, height, width)


def _colours(rows: tuple[str, ...], detailed: bool) -> FloatArray:
    """[row, column, 3] the colour of each cell."""
    from matplotlib.colors import to_rgb

    from monmdp.drawing.icons import BACKGROUND, PAPER

    tiles = sorted({tile for row in rows for tile in row})
    table = {t: to_rgb(BACKGROUND.get(t, PAPER) if detailed else _solid(t)) for t in tiles}
    return np.array([[table[tile] for tile in row] for row in rows])


def _solid(tile: str) -> str:
    from monmdp.drawing.icons import ACTION_COLOURS, SOLID

    return SOLID.get(tile) or ACTION_COLOURS[ord(tile) % len(ACTION_COLOURS)]


def _colour_key(ax: Axes, rows: tuple[str, ...]) -> None:
    """Explain the plain colours of a large grid."""
    from matplotlib.patches import Patch

    tiles = sorted({tile for row in rows for tile in row})
    handles = [Patch(facecolor=_solid(t), edgecolor="#777777", label=noun(t)) for t in tiles]
    ax.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7, frameon=False
    )


def _draw_robots(ax: Axes, mdp: MDP, marked: list[int]) -> None:
    from monmdp.drawing.icons import place, robot

    cells = np.array([_cell(mdp, state) for state in marked])
    if not _is_detailed(mdp):
        x, y = cells[:, 1] + 0.5, cells[:, 0] + 0.5
        size = 8 if len(marked) <= MAX_ROBOTS else 2
        ax.plot(x, y, "o", color=BLUE, markeredgecolor="white", markersize=size)
        return
    for row, column in cells:
        place(ax, robot(), column, row, 0.9 if len(marked) <= MAX_ROBOTS else 0.5)


def _cell(mdp: MDP, state: int) -> tuple[int, int]:
    assert mdp.cells is not None
    row, column = mdp.cells[state]
    return int(row), int(column)


# ---- frames ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stage:
    """What stays the same in all frames of a world."""

    background: Image
    robot: Image
    """[height, width, 4], with transparency"""
    centres: IntArray
    """[state, 2] pixel row and column where the agent is drawn"""


def _stage(mdp: MDP) -> _Stage:
    """Draw the world without the agent, once for each MDP; kept with it like its cached views."""
    key = "_drawing_stage"
    if key not in mdp.__dict__:
        mdp.__dict__[key] = _grid_stage(mdp) if mdp.picture is not None else _graph_stage(mdp)
    stage: _Stage = mdp.__dict__[key]
    return stage


def _grid_stage(mdp: MDP) -> _Stage:
    rows = rows_of(mdp)
    height, width = len(rows), len(rows[0])
    cell = max(1, min(CELL_PIXELS, MAX_WIDTH // width, MAX_HEIGHT // height))
    figure = new_figure(width * cell / DPI, height * cell / DPI)
    _draw_grid(figure.add_axes((0, 0, 1, 1)), mdp, numbers=False)
    image = _pixels(figure)[..., :3]
    # The axes' own border lies half outside the image.
    image[[0, -1]] = image[:, [0, -1]] = BORDER
    centres = np.array([_cell(mdp, state) for state in range(mdp.n_states)])
    return _framed(image, centres * cell + cell // 2, max(cell, 16))


def _graph_stage(mdp: MDP) -> _Stage:
    from monmdp.drawing.graph import draw_graph

    width, height = _inches(mdp, 1.0, MAX_WIDTH / DPI - 1.6, MAX_HEIGHT / DPI)
    figure = new_figure(width + sum(_beside(mdp)), height)
    ax = figure.add_subplot()
    figure.set_layout_engine("tight")
    centres = draw_graph(ax, mdp)
    image = _pixels(figure)[..., :3]
    x, y = ax.transData.transform(centres).T
    at = np.column_stack([image.shape[0] - y, x]).astype(np.int64)
    return _framed(image, at, 40)


def _framed(image: Image, centres: IntArray, robot_size: int) -> _Stage:
    """Set the drawing in the middle of a frame wide enough for captions, of even size for films."""
    height, width = image.shape[:2]
    full_height = height + 2 * MARGIN
    full_width = max(width + 2 * MARGIN, MIN_WIDTH)
    full = np.full(
        (full_height + full_height % 2, full_width + full_width % 2, 3), 255, dtype=np.uint8
    )
    left = (full_width - width) // 2
    full[MARGIN : MARGIN + height, left : left + width] = image
    return _Stage(full, _sprite("robot", robot_size), centres + np.array([MARGIN, left]))


@lru_cache(maxsize=64)
def _sprite(name: str, size: int) -> Image:
    """[size, size, 4] a drawing with transparency."""
    from monmdp.drawing.icons import eye, place, robot

    figure = new_figure(size / DPI, size / DPI)
    figure.patch.set_alpha(0)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 1), ylim=(1, 0))
    ax.axis("off")
    place(ax, robot() if name == "robot" else eye(name == "eye True"), 0, 0, 0.9)
    return _pixels(figure)


@lru_cache(maxsize=64)
def _plate(text: str) -> Image:
    """[height, width, 4] a few characters on a white plate."""
    height, width = 17, int(len(text) * CHARACTER_PIXELS) + 8
    figure = new_figure(width / DPI, height / DPI)
    figure.patch.set(facecolor="white", edgecolor=VERMILION, linewidth=2)
    figure.text(
        0.5, 0.46, text, family="DejaVu Sans Mono", fontsize=9, weight="bold", ha="center",
        va="center", parse_math=False,
    )  # fmt: skip
    return _pixels(figure)


def _inside(image: Image, sprite: Image, centre: IntArray) -> IntArray:
    """Where to lay a sprite so that all of it is within the image."""
    half = np.array(sprite.shape[:2]) // 2
    ends = np.array(image.shape[:2]) - np.array(sprite.shape[:2]) + half
    inside: IntArray = np.clip(centre, half, np.maximum(ends, half))
    return inside


def _pixels(figure: Figure) -> Image:
    """[height, width, 4] a figure's pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.array(canvas.buffer_rgba(), dtype=np.uint8)  # type: ignore[no-untyped-call]


def _paste(image: Image, sprite: Image, centre: IntArray) -> None:
    """Lay a sprite over the image in place, cut off at its borders."""
    height, width = sprite.shape[:2]
    top, left = int(centre[0]) - height // 2, int(centre[1]) - width // 2
    low, high = max(top, 0), min(top + height, image.shape[0])
    begin, end = max(left, 0), min(left + width, image.shape[1])
    part = sprite[low - top : high - top, begin - left : end - left].astype(np.float64)
    alpha = part[..., 3:] / 255
    under = image[low:high, begin:end]
    under[:] = np.rint(alpha * part[..., :3] + (1 - alpha) * under).astype(np.uint8)


def _caption(lines: list[str], width: int, shown: bool | None) -> Image:
    """Write lines on a strip of fixed height; long ones are folded, what is too much is cut."""
    letters = int((width - 30) / CHARACTER_PIXELS)
    folded = [part for line in lines for part in textwrap.wrap(line, letters) or [""]]
    most = CAPTION_LINES + 1
    if len(folded) > most:
        folded = [*folded[: most - 1], shortened(folded[most - 1] + " …", letters)]
    height = most * LINE_PIXELS + 13
    figure = new_figure(width / DPI, height / DPI)
    figure.patch.set_facecolor("#f1efe8")
    for i, line in enumerate(folded):
        y = 1 - (6 + (i + 0.5) * LINE_PIXELS) / height
        figure.text(
            20 / width, y, line, family="DejaVu Sans Mono", fontsize=9, va="center",
            color="#222222", weight="bold" if i == 0 else "normal", parse_math=False,
        )  # fmt: skip
    strip: Image = _pixels(figure)[..., :3]
    if shown is not None:
        # Not by colour alone: the strip of a hidden reward is hatched.
        rows, columns = np.indices((height, BAR_PIXELS))
        painted = (rows + columns) // 5 % 2 == 0 if not shown else np.ones_like(rows, dtype=bool)
        strip[:, :BAR_PIXELS][painted] = SHOWN_COLOUR if shown else HIDDEN_COLOUR
    return strip
