"""Stable-Baselines3 takes every monitored environment as it is, without a warning."""

from __future__ import annotations

import warnings

import gymnasium
import pytest
from stable_baselines3.common.env_checker import check_env

from conftest import BY_STATE, MONITORS, PRESSED, THEIRS
from monmdp import MonMDPError
from monmdp.envs import IDS, AddMonitor, JointDiscrete, MultiDiscreteAction, ObserveRewardMask

FREE = [name for name in MONITORS if name not in BY_STATE]


def monitored(environment, monitor):
    pressed = {"pressed": lambda observation, action: action == 0} if monitor in PRESSED else {}
    return AddMonitor(gymnasium.make(environment), monitor, **pressed)


def check(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("monitor", FREE)
@pytest.mark.parametrize("environment", THEIRS)
def test_any_environment_with_any_monitor(environment, monitor):
    check(JointDiscrete(monitored(environment, monitor)))


@pytest.mark.parametrize("monitor", FREE)
@pytest.mark.parametrize("environment", THEIRS)
def test_with_a_mask(environment, monitor):
    env = monitored(environment, monitor)
    check(JointDiscrete(ObserveRewardMask(env)))
    check(MultiDiscreteAction(ObserveRewardMask(env)))


@pytest.mark.parametrize("monitor", BY_STATE)
def test_the_others_are_refused(monitor):
    with pytest.raises(MonMDPError, match="number of the environment's state"):
        monitored(THEIRS[0], monitor)


@pytest.mark.parametrize("world", [*IDS.values()])
@pytest.mark.parametrize("monitor", ["ask", "n-experts", "full-random"])
def test_worlds(world, monitor):
    env = gymnasium.make(world, monitor=monitor)
    check(JointDiscrete(env))
    check(JointDiscrete(ObserveRewardMask(env)))


@pytest.mark.parametrize("monitor", MONITORS)
def test_bottleneck_with_every_monitor(monitor):
    check(JointDiscrete(gymnasium.make("monmdp/Bottleneck-v0", monitor=monitor)))
