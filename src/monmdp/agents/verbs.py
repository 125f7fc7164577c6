"""What every agent can do, as verbs on its state.

The state of a compiled agent is a named tuple of arrays. A kind of agent is the class of that tuple
and functions with these names and arguments; the training loop and the stepwise agent call
nothing else. Joint states and actions are indices s = sᵉ·|Sᵐ| + sᵐ and a = aᵉ·|Aᵐ| + aᵐ.
"""

from __future__ import annotations

from typing import Any

from monmdp.compiling import implement, implementation, verb


@verb
def begin_episode(agent: Any, rng: Any) -> bool:
    """Plan the next episode; return whether it is one that explores in order to observe."""
    return bool(implementation("begin_episode", type(agent))(agent, rng))


@verb
def act(agent: Any, s: int, rng: Any) -> int:
    """Choose a joint action in the joint state s."""
    return int(implementation("act", type(agent))(agent, s, rng))


@verb
def update(
    agent: Any,
    s: int,
    a: int,
    shown: bool,
    reward: float,
    monitor_reward: float,
    next_s: int,
    terminated: bool,
) -> None:
    """Learn from one step. `reward` is rᵉ if it was shown and 0 otherwise, so nothing can leak."""
    implementation("update", type(agent))(
        agent, s, a, shown, reward, monitor_reward, next_s, terminated
    )


@verb
def test_policy(agent: Any, policy: Any) -> None:
    """Write the policy that would be used now if learning were over into policy[s, a]."""
    implementation("test_policy", type(agent))(agent, policy)


@verb
def reveal(agent: Any, reward: float) -> None:
    """Hand over rᵉ, shown or not, before `update`: the one door for hidden rewards.

    Only oracles have it, agents that serve as an upper reference and whose configuration says so
    (`sees_hidden_rewards`); for all others nothing happens.
    """
    implementation("reveal", type(agent))(agent, reward)


def _keep_secret(agent: Any, reward: float) -> None:
    """Hand over nothing."""


implement(object, reveal=_keep_secret)
