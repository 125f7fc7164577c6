"""Stable-Baselines3 takes every monitored environment as it is, without a warning."""

from __future__ import annotations

import warnings

import gymnasium
import pytest
from stable_baselines3.common.env_checker import check_env

from monmdp import MonMDPError, monitors
from monmdp.envs import IDS, JointDiscrete, Monitor, MultiDiscreteAction, ObserveRewardMask

READS_STATE = {"patchy", "cameras"}
"""monitors that ask for the number of a state, which a black box does not have"""
PRESSED = {"button", "zones", "decoy"}
"""monitors that need to know where something is pressed"""
FREE = [name for name in monitors.registry if name not in READS_STATE]


def newest(name):
    """The newest version of an environment: older ones warn."""
    versions = [spec.version for spec in gymnasium.registry.values() if spec.name == name]
    return f"{name}-v{max(versions)}"


ENVIRONMENTS = ["CartPole", "Acrobot", "FrozenLake", "CliffWalking", "Taxi"]


def monitored(environment, monitor):
    pressed = {"pressed": lambda observation, action: action == 0} if monitor in PRESSED else {}
    return Monitor(gymnasium.make(newest(environment)), monitor, **pressed)


def check(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("monitor", FREE)
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_any_environment_with_any_monitor(environment, monitor):
    check(JointDiscrete(monitored(environment, monitor)))


@pytest.mark.parametrize("monitor", FREE)
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_with_a_mask(environment, monitor):
    env = monitored(environment, monitor)
    check(JointDiscrete(ObserveRewardMask(env)))
    check(MultiDiscreteAction(ObserveRewardMask(env)))


@pytest.mark.parametrize("monitor", sorted(READS_STATE))
def test_the_others_are_refused(monitor):
    with pytest.raises(MonMDPError, match="number of the environment's state"):
        monitored("CartPole", monitor)


@pytest.mark.parametrize("world", [*IDS.values()])
@pytest.mark.parametrize("monitor", ["ask", "n-experts", "full-random"])
def test_worlds(world, monitor):
    env = gymnasium.make(world, monitor=monitor)
    check(JointDiscrete(env))
    check(JointDiscrete(ObserveRewardMask(env)))


@pytest.mark.parametrize("monitor", list(monitors.registry))
def test_bottleneck_with_every_monitor(monitor):
    check(JointDiscrete(gymnasium.make("monmdp/Bottleneck-v0", monitor=monitor)))
