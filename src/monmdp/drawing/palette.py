"""One colour for each agent and one scale for numbers, the same in every picture.

The colours can be told apart by colour-blind people and read on white and on nearly black paper.
Agents state their own colour and line (`agents.COLOURS`): they are too many to differ by hue alone.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from monmdp.errors import MonMDPError

BLACK, ORANGE, SKY, GREEN = "#000000", "#e69f00", "#56b4e9", "#009e73"
YELLOW, BLUE, VERMILION, PINK = "#f0e442", "#0072b2", "#d55e00", "#cc79a7"
"""the colours of Okabe and Ito"""

OTHERS = ("#ef6f9f", "#8f9fdf", "#806050")
"""of agents that are not of this package, in the order in which they appear"""

BLUES = ("#edf4fb", "#b7d4ee", "#6cabd9", "#2f7cba", "#0d4c92", "#062c5e")
"""of numbers, from the least to the greatest"""
ORANGES = ("#fdf2e6", "#fbc890", "#ee8d3c", "#c75d0b", "#7d3604")
"""of numbers below the centre of a scale with two sides, from the centre on"""

Line = Literal["-", ":", "-."]
LINES: tuple[Line, ...] = ("-", ":", "-.")
"""of an agent and its variants; dashed is the minimax return"""
DASHES = {"-": "none", ":": "1.5 3", "-.": "7 3 1.5 3"}
"""the same for SVG, where lines are about 2 wide"""


@dataclass(frozen=True)
class Style:
    """How a curve is drawn."""

    colour: str
    """#rrggbb"""
    line: Line = "-"
    """as Matplotlib writes it"""

    @property
    def dasharray(self) -> str:
        """The line as SVG's stroke-dasharray."""
        return DASHES[self.line]


def styles(
    curves: Iterable[tuple[str, str]], colours: Mapping[str, tuple[str, Line]]
) -> dict[str, Style]:
    """Return how to draw each of some curves.

    The variants of an agent share its colour and differ by their lines, the first of them plain.
    Where there are more variants than lines, the next ones have the colour of another stranger.

    Args:
        curves: (label, agent) in the order of the legend; a label that comes again is no other
            curve.
        colours: agent -> its colour and line; `agents.COLOURS` has those of this package.

    >>> from monmdp import agents, drawing
    >>> curves = [("ours", "monitored-mbie-eb"), ("bolder", "monitored-mbie-eb")]
    >>> found = drawing.styles(curves, agents.COLOURS)
    >>> found["ours"].colour == found["bolder"].colour
    True
    """
    result: dict[str, Style] = {}
    strangers: dict[tuple[str, int], str] = {}
    variants: Counter[str] = Counter()
    for curve in curves:
        if not isinstance(curve, tuple | list) or [type(part) for part in curve] != [str, str]:
            raise MonMDPError(
                "styles takes pairs of label and agent, such as ('no bonus', 'mbie-eb'); "
                f"got {reprlib.repr(curve)}"
            )
        label, agent = curve
        if label in result:
            continue
        round_of_lines = variants[agent] // len(LINES)
        variants[agent] += 1
        own, line = colours.get(agent, ("", "-"))
        if own and round_of_lines == 0:
            colour = own
        else:
            other = OTHERS[len(strangers) % len(OTHERS)]
            colour = strangers.setdefault((agent, round_of_lines), other)
        lines = (line, *(of for of in LINES[:: 1 if line == "-" else -1] if of != line))
        drawn = [style.line for style in result.values() if style.colour == colour]
        result[label] = Style(colour, min(lines, key=drawn.count))
    return result
