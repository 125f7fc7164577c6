"""An episode as a film."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from monmdp.drawing.maps import brief, demand_problem
from monmdp.drawing.picture import Image, frame
from monmdp.errors import MonMDPError
from monmdp.files import write_whole
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.mdp import number
from monmdp.model.monmdp import MonMDP

LAST = 2.0
"""seconds that the last picture stays"""
FASTEST = 50.0
"""a GIF counts in hundredths of a second, and many programs slow down those of one hundredth"""


class Episode(Protocol):
    """What is filmed: the states an episode went through and what happened on the way."""

    @property
    def state(self) -> IntArray:
        """[step + 1] sᵉ."""

    @property
    def monitor_state(self) -> IntArray:
        """[step + 1] sᵐ."""

    @property
    def action(self) -> IntArray:
        """[step] aᵉ."""

    @property
    def monitor_action(self) -> IntArray:
        """[step] aᵐ."""

    @property
    def reward(self) -> FloatArray:
        """[step] rᵉ."""

    @property
    def shown(self) -> BoolArray:
        """[step] whether rᵉ was shown."""

    @property
    def monitor_reward(self) -> FloatArray:
        """[step] rᵐ."""


def frames(monmdp: MonMDP, episode: Episode) -> Iterator[Image]:
    """Draw where an episode starts, then every step; hidden rewards are told to the viewer."""
    mdp, monitor = monmdp.mdp, monmdp.monitor
    n = len(episode.action)
    start = int(episode.state[0]), int(episode.monitor_state[0])
    yield frame(monmdp, *start, caption=f"step 0 of {n}")
    for t in range(n):
        ae, am = int(episode.action[t]), int(episode.monitor_action[t])
        shown, paid = bool(episode.shown[t]), float(episode.monitor_reward[t])
        reward = f"reward {episode.reward[t]:g} {'shown' if shown else 'hidden'}"
        yield frame(
            monmdp,
            int(episode.state[t + 1]),
            int(episode.monitor_state[t + 1]),
            caption=f"step {t + 1} of {n}\n{mdp.action_labels[ae]} + {monitor.actions[am]}\n"
            f"{reward}, monitor reward {paid:g}",
            shown=shown,
            monitor_reward=paid,
        )


def save_film(
    monmdp: MonMDP, episode: Episode, path: str | os.PathLike[str], *, fps: float = 4.0
) -> None:
    """Write an episode as an animated GIF, all of it or nothing.

    Args:
        monmdp: the problem.
        episode: what happened, for example what `experiment.rollout` returns.
        path: ends in .gif.
        fps: pictures a second; the last one stays for two seconds.
    """
    from PIL import Image as Pillow

    demand_problem(monmdp, "save_film")
    parts = [name for name in vars(Episode) if isinstance(vars(Episode)[name], property)]
    if not all(hasattr(episode, name) for name in parts):
        raise MonMDPError(
            f"save_film takes an episode, such as experiment.rollout returns, got {brief(episode)}"
        )
    rate = number(fps, "fps")
    if Path(path).suffix.lower() != ".gif":
        raise MonMDPError(f"{path}: a film's name must end in .gif")
    if not 0.1 <= rate <= FASTEST:
        raise MonMDPError(f"fps must be from 0.1 to {FASTEST:g}, got {fps!r}")
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
    hundredths = [round(100 / rate)] * len(rest) + [round(100 * LAST)]
    write_whole(
        path,
        lambda file: first.save(
            file, format="GIF", save_all=True, append_images=rest, loop=0,
            duration=[10 * n for n in hundredths],
        ),
    )  # fmt: skip
