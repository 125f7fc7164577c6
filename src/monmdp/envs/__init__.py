"""Mon-MDPs as Gymnasium environments, and a monitor around anybody's environment.

>>> import gymnasium, monmdp
>>> env = gymnasium.make("monmdp/Bottleneck-v0", monitor="button", rho=0.05)
>>> observation, info = env.reset(seed=0)
>>> observation, reward, terminated, truncated, info = env.step({"env": 1, "mon": 0})
>>> info["reward_observed"]
False
>>> env = monmdp.envs.AddMonitor(gymnasium.make("CartPole-v1"), "ask", rho=0.5)
>>> env.action_space
Dict('env': Discrete(2), 'mon': Discrete(2))
"""

from monmdp.envs.add_monitor import AddMonitor
from monmdp.envs.learnt_reward import (
    LearntReward,
    MeanTable,
    RewardModel,
    RewardNet,
    VectorLearntReward,
)
from monmdp.envs.monmdp_env import MonMDPEnv
from monmdp.envs.vector import MonMDPVectorEnv
from monmdp.envs.wrappers import (
    JointDiscrete,
    MultiDiscreteAction,
    ObserveRewardMask,
    RewardDict,
    VectorJointDiscrete,
    VectorMultiDiscreteAction,
    VectorObserveRewardMask,
    VectorRewardDict,
)
from monmdp.registration import IDS, register

__all__ = [
    "IDS",
    "AddMonitor",
    "JointDiscrete",
    "LearntReward",
    "MeanTable",
    "MonMDPEnv",
    "MonMDPVectorEnv",
    "MultiDiscreteAction",
    "ObserveRewardMask",
    "RewardDict",
    "RewardModel",
    "RewardNet",
    "VectorJointDiscrete",
    "VectorLearntReward",
    "VectorMultiDiscreteAction",
    "VectorObserveRewardMask",
    "VectorRewardDict",
    "register",
]
