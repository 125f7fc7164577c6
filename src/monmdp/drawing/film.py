"""An episode as a film, and its single frames."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from monmdp.drawing.canvas import DPI, Image, Picture, pixels
from monmdp.drawing.graph import draw_graph
from monmdp.drawing.icons import eye, place, robot
from monmdp.drawing.labels import brief, demand_problem, fold, shortened
from monmdp.drawing.palette import GREEN, VERMILION
from monmdp.drawing.picture import draw_grid, inches, margins
from monmdp.drawing.sheet import sheet_of
from monmdp.errors import MonMDPError
from monmdp.files import write_whole
from monmdp.memory import demand_room
from monmdp.model.arrays import IntArray
from monmdp.model.mdp import MDP, number, whole_number
from monmdp.model.monmdp import MonMDP

LAST_MILLISECONDS = 2000
"""that the last picture stays"""
MAX_FPS = 50.0
"""a GIF counts in hundredths of a second, and many programs slow down those of one hundredth"""
PARTS = ("state", "monitor_state", "action", "monitor_action", "reward", "shown", "monitor_reward")
"""of an episode"""

CELL_PIXELS = 64
MAX_WIDTH, MAX_HEIGHT = 960, 720
MIN_WIDTH = 380
"""a frame is at least so wide that its caption can be read"""
MARGIN = 6
BORDER = (59, 59, 59)
FONT = {"family": "DejaVu Sans Mono", "fontsize": 9}
LINES = 5
"""the states, and four of the caption"""
LINE_PIXELS, CHARACTER_PIXELS = 19, 8.1
MIN_BADGE = 18
BAR_PIXELS = 12
SHOWN_COLOUR, HIDDEN_COLOUR = (tuple(bytes.fromhex(of[1:])) for of in (GREEN, VERMILION))
"""red, green and blue"""


def save_film(
    monmdp: MonMDP, episode: Any, path: str | os.PathLike[str], *, fps: float = 4.0
) -> None:
    """Write an episode as an animated GIF, all of it or nothing.

    `episode` is what `experiment.rollout` returns, or anything with the same arrays; `fps` are
    pictures a second, of which the last one stays for two seconds.
    """
    demand_problem(monmdp, "save_film")
    if not all(hasattr(episode, name) for name in PARTS):
        raise MonMDPError(
            f"save_film takes an episode, such as experiment.rollout returns; got {brief(episode)}"
        )
    rate = number(fps, "fps")
    if Path(path).suffix.lower() != ".gif":
        raise MonMDPError(f"{path}: a film's name must end in .gif")
    if not 0.1 <= rate <= MAX_FPS:
        raise MonMDPError(f"fps must be from 0.1 to {MAX_FPS:g}, got {fps!r}")
    begin, n = next(frames(monmdp, episode)), len(episode.action) + 1
    demand_room(2 * begin.nbytes * n, f"a film of {n:,} pictures")
    pictures = [Pillow.fromarray(picture) for picture in frames(monmdp, episode)]
    # One palette for all, taken from pictures that have all colours: the start, a reward that was
    # shown, one that was not, the end.
    kinds = [np.flatnonzero(episode.shown), np.flatnonzero(~episode.shown)]
    typical = [0, *(int(steps[0]) + 1 for steps in kinds if len(steps)), len(pictures) - 1]
    together = np.concatenate([np.asarray(pictures[i]) for i in typical])
    palette = Pillow.fromarray(together).quantize(256)
    first, *rest = (
        picture.quantize(palette=palette, dither=Pillow.Dither.NONE) for picture in pictures
    )
    milliseconds = [10 * round(100 / rate)] * len(rest) + [LAST_MILLISECONDS]
    film: dict[str, Any] = {"append_images": rest, "loop": 0, "duration": milliseconds}
    write_whole(path, lambda file: first.save(file, format="GIF", save_all=True, **film))


def frames(monmdp: MonMDP, episode: Any) -> Iterator[Image]:
    """Draw the start of an episode, then every step; captions reveal hidden rewards."""
    mdp, monitor = monmdp.mdp, monmdp.monitor
    n = len(episode.action)
    states = list(zip(episode.state.tolist(), episode.monitor_state.tolist(), strict=True))
    yield frame(monmdp, *states[0], caption=f"step 0 of {n}")
    for t in range(n):
        ae, am = int(episode.action[t]), int(episode.monitor_action[t])
        shown, paid = bool(episode.shown[t]), float(episode.monitor_reward[t])
        caption = (
            f"step {t + 1} of {n}\n{mdp.action_labels[ae]} + {monitor.actions[am]}\n"
            f"reward {episode.reward[t]:g} {'shown' if shown else 'hidden'}, "
            f"monitor reward {paid:g}"
        )
        yield frame(monmdp, *states[t + 1], caption=caption, shown=shown, monitor_reward=paid)


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

    Below the world are the names of both states and up to four lines of `caption`. All frames of
    one Mon-MDP have the same size. Where the last reward was `shown` there are an open eye beside
    the agent and a plain strip beside the caption; where it was not, an eye struck out and a
    hatched strip; None: there was none yet. The last `monitor_reward` is on a plate beside the
    agent, unless it is zero.
    """
    demand_problem(monmdp, "frame")
    mdp, monitor = monmdp.mdp, monmdp.monitor
    se = mdp.find_state(se)
    if whole_number(sm, "a monitor state", at_least=0) >= monitor.n_states:
        last = monitor.n_states - 1
        raise MonMDPError(f"monitor state {sm} does not exist; states are 0 to {last}")
    stage = _stage(mdp)
    image = Pillow.fromarray(stage.background)
    (y, x), reach = stage.centres[se], stage.robot.shape[0] // 3
    _paste(image, stage.robot, y, x)
    if shown is not None:
        shown = bool(shown)
        badge = _sprite(f"eye {shown}", max(MIN_BADGE, stage.robot.shape[0] * 2 // 5))
        _paste(image, badge, y - reach, x + reach)
    if monitor_reward:
        plate = _plate(f"{monitor_reward:+.3g}".replace("-", "−"))
        _paste(image, plate, y + reach + 4, x)
    name = mdp.state_labels[se]
    first = f"state {shortened(name, 20)}   monitor {shortened(monitor.states[sm], 20)}"
    return np.concatenate([image, _caption(f"{first}\n{caption}", image.width, shown)])


@dataclass(frozen=True)
class _Stage:
    """What stays the same in all frames of a world."""

    background: Image
    robot: Image
    """[height, width, 4], with transparency"""
    centres: IntArray
    """[state, 2] pixel row and column where the agent is drawn"""


def _stage(mdp: MDP) -> _Stage:
    """Draw the world without the agent, once for each MDP, which keeps it like its other views."""
    key = "_drawing_stage"
    if key not in mdp.__dict__:
        mdp.__dict__[key] = _graph_stage(mdp) if mdp.picture is None else _grid_stage(mdp)
    stage: _Stage = mdp.__dict__[key]
    return stage


def _grid_stage(mdp: MDP) -> _Stage:
    sheet = sheet_of(mdp)
    cell = max(1, min(CELL_PIXELS, MAX_WIDTH // sheet.width, MAX_HEIGHT // sheet.height))
    figure = Picture(sheet.width * cell / DPI, sheet.height * cell / DPI)
    draw_grid(figure.add_axes((0, 0, 1, 1)), mdp, sheet)
    image = pixels(figure)[..., :3]
    # The axes' own border lies half outside the image.
    image[[0, -1]] = image[:, [0, -1]] = BORDER
    return _framed(image, sheet.cells * cell + cell // 2, max(cell, 16))


def _graph_stage(mdp: MDP) -> _Stage:
    width, height = inches(mdp, 1.0, MAX_WIDTH / DPI - 1.6, MAX_HEIGHT / DPI)
    figure = Picture(width + sum(margins(mdp)), height)
    ax = figure.add_subplot()
    figure.set_layout_engine("tight")
    centres = draw_graph(ax, mdp)
    image = pixels(figure)[..., :3]
    x, y = ax.transData.transform(centres).T
    at = np.column_stack([image.shape[0] - y, x]).astype(np.int64)
    return _framed(image, at, 40)


def _framed(image: Image, centres: IntArray, robot_size: int) -> _Stage:
    """Centre the drawing in a frame wide enough for captions, with even sides for films."""
    height, width = image.shape[:2]
    spare = max(2 * MARGIN, MIN_WIDTH - width)
    left, right = spare // 2, spare - spare // 2 + (width + spare) % 2
    above, below = MARGIN, MARGIN + height % 2
    full = np.pad(image, ((above, below), (left, right), (0, 0)), constant_values=255)
    return _Stage(full, _sprite("robot", robot_size), centres + np.array([MARGIN, left]))


@lru_cache(maxsize=64)
def _sprite(name: str, size: int) -> Image:
    """[size, size, 4] a drawing with transparency."""
    figure = Picture(size / DPI, size / DPI)
    figure.patch.set_alpha(0)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 1), ylim=(1, 0))
    ax.axis("off")
    place(ax, robot() if name == "robot" else eye(name == "eye True"), 0, 0, 0.9)
    return pixels(figure)


@lru_cache(maxsize=64)
def _plate(text: str) -> Image:
    """[height, width, 4] a few characters on a white plate."""
    height, width = 17, int(len(text) * CHARACTER_PIXELS) + 8
    figure = Picture(width / DPI, height / DPI)
    figure.patch.set(facecolor="white", edgecolor=VERMILION, linewidth=2)
    style: dict[str, Any] = FONT | {"ha": "center", "va": "center"}
    figure.text(0.5, 0.46, text, weight="bold", **style)
    return pixels(figure)


def _paste(image: Pillow.Image, sprite: Image, y: int, x: int) -> None:
    """Lay a sprite over the image about a point, or as near to it as all of it can be seen."""
    over = Pillow.fromarray(sprite)
    left = max(0, min(int(x) - over.width // 2, image.width - over.width))
    top = max(0, min(int(y) - over.height // 2, image.height - over.height))
    image.paste(over, (left, top), over)


def _caption(text: str, width: int, shown: bool | None) -> Image:
    """Write lines on a strip of fixed height; long ones are folded, and too many are cut."""
    height = LINES * LINE_PIXELS + 13
    figure = Picture(width / DPI, height / DPI)
    figure.patch.set_facecolor("#f1efe8")
    style: dict[str, Any] = FONT | {"va": "center", "color": "#222222"}
    for i, line in enumerate(fold(text, int((width - 30) / CHARACTER_PIXELS), LINES)):
        y = 1 - (6 + (i + 0.5) * LINE_PIXELS) / height
        figure.text(20 / width, y, line, weight="bold" if i == 0 else "normal", **style)
    strip: Image = pixels(figure)[..., :3]
    if shown is not None:
        # Not by colour alone: the strip of a hidden reward is hatched.
        rows, columns = np.indices((height, BAR_PIXELS))
        painted = shown | ((rows + columns) // 5 % 2 == 0)
        strip[:, :BAR_PIXELS][painted] = SHOWN_COLOUR if shown else HIDDEN_COLOUR
    return strip
