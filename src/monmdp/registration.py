"""The Gymnasium ids of the worlds."""

from __future__ import annotations

import gymnasium

IDS = {
    "empty": "monmdp/Empty-v0",
    "hazard": "monmdp/Hazard-v0",
    "bottleneck": "monmdp/Bottleneck-v0",
    "loop": "monmdp/Loop-v0",
    "river-swim": "monmdp/RiverSwim-v0",
    "one-way": "monmdp/OneWay-v0",
    "corridor": "monmdp/Corridor-v0",
    "two-room-3x5": "monmdp/TwoRoom3x5-v0",
    "two-room-2x11": "monmdp/TwoRoom2x11-v0",
    "treasure-hunter": "monmdp/TreasureHunter-v0",
    "rooms-20x20": "monmdp/Rooms20x20-v0",
}
"""world name -> environment id"""

ANY_WORLD = "monmdp/World-v0"
"""takes ``world=``: the path of a map file, ``module:object`` or any other name of a world"""


def register() -> None:
    """Register every world with Gymnasium, once."""
    for world, env_id in [*IDS.items(), (None, ANY_WORLD)]:
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point="monmdp.envs:MonMDPEnv",  # callables do not survive spec.to_json()
                vector_entry_point="monmdp.envs:MonMDPVectorEnv",
                kwargs={} if world is None else {"world": world},
            )
