"""Mon-MDPs as Gymnasium environments.

>>> import gymnasium, monmdp
>>> env = gymnasium.make("monmdp/Bottleneck-v0", monitor="button", rho=0.05)
>>> observation, info = env.reset(seed=0)
>>> observation, reward, terminated, truncated, info = env.step({"env": 1, "mon": 0})
>>> info["reward_observed"]
False
"""

from monmdp.envs.monmdp_env import MonMDPEnv
from monmdp.envs.wrappers import JointDiscrete, MultiDiscreteAction, ObserveRewardMask
from monmdp.registration import IDS, register

__all__ = [
    "IDS",
    "JointDiscrete",
    "MonMDPEnv",
    "MultiDiscreteAction",
    "ObserveRewardMask",
    "register",
]
