"""Worlds as SVG: the icons, and where states are drawn."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from monmdp import MDP, worlds
from monmdp.drawing.icons import ICONS, button, icon, robot
from monmdp.drawing.svg import geometry, to_svg


def parsed(text):
    return ET.fromstring(f"<g>{text}</g>")


@pytest.mark.parametrize("tile", [*ICONS, "K", "<", "&", '"'])
def test_icons_are_paths_within_the_cell(tile):
    for path in parsed(to_svg(icon(tile))):
        assert path.tag == "path"
        assert set(path.attrib) <= {"d", "fill", "stroke", "stroke-width"}
        numbers = path.attrib["d"]
        for letter in "MLQCZ":
            numbers = numbers.replace(letter, " ")
        values = [float(x) for x in numbers.split()]
        assert len(values) % 2 == 0
        assert min(values) >= -0.1
        assert max(values) <= 1.1


def test_robot_and_button_are_drawn():
    assert len(parsed(to_svg(robot()))) > 5
    left, down, push = (to_svg(button(action)) for action in ("LEFT", "DOWN", "PUSH"))
    assert left != down
    assert len(parsed(left)) == 2
    assert push == down, "an action without a direction"


def test_where_states_are_drawn():
    found = geometry(worlds.make("bottleneck"))
    assert (found["kind"], found["rows"], found["columns"]) == ("grid", 6, 6)
    assert found["cells"][8] == [1, 2]
    assert found["button"]["state"] == 31
    (bottom,) = [tile for tile in found["tiles"] if tile["name"] == "⊥"]
    assert [0, 2] in bottom["cells"]
    assert geometry(worlds.make("bottleneck"), with_button=False)["button"] is None
    assert sum(len(tile["cells"]) for tile in found["tiles"]) == 36
    json.dumps(found)


def sheet(n, successor):
    outcomes = [(s, 0, successor(s), 1.0, 0.0, False, False) for s in range(n)]
    labels = [f"<b>{s}</b>" for s in range(n)]
    return MDP.from_outcomes(
        outcomes, name="sheet", n_states=n, n_actions=1, start=np.eye(n)[0], state_labels=labels,
        time_limit=5,
    )  # fmt: skip


def test_worlds_without_a_map_become_sheets():
    chain = geometry(sheet(7, lambda s: min(s + 1, 6)))
    assert (chain["kind"], chain["rows"], chain["columns"]) == ("sheet", 1, 7)
    ring = geometry(sheet(7, lambda s: (s + 1) % 7))
    assert (ring["rows"], ring["columns"]) == (3, 3)
    assert ring["cells"][4] == [1, 1]
    assert "<b>" not in json.dumps(ring)


def test_states_are_drawn_where_heat_maps_have_them():
    cliff = geometry(worlds.make("gymnasium:CliffWalking-v1"))
    assert (cliff["rows"], cliff["columns"]) == (4, 12)
    assert cliff["cells"][13] == [1, 1]
