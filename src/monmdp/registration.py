"""The Gymnasium ids of the worlds."""

from __future__ import annotations

import gymnasium

from monmdp import worlds

IDS = {
    name: f"monmdp/{''.join(word[0].upper() + word[1:] for word in name.split('-'))}-v0"
    for name in worlds.registry
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
