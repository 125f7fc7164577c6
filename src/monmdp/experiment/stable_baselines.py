"""Stable-Baselines3: what its models believe, and a callback that judges them while they learn.

Stable-Baselines3 is imported only when somebody asks for a callback. Torch is never imported here:
whoever has a model has it already.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.experiment.answers import Batch, View, as_numbers, model_view, normalising
from monmdp.model import MonMDP

if TYPE_CHECKING:
    from monmdp.experiment.judging import Against, Judge

Function = Callable[[Batch], Any]


def own_values(
    problem: MonMDP, policy: Any, view: View | None = None
) -> tuple[Function | None, Function | None]:
    """Return the values that a policy itself has, and the policy they belong to, as functions.

    The values of a Q-network belong to its greedy policy, the one that `predict` follows: None. A
    value network learns those of the stochastic policy, which is another one.
    """
    if not hasattr(policy, "predict"):
        values = getattr(policy, "values", None)
        return (values if callable(values) else None), None
    network = getattr(policy, "policy", policy)
    q_net = getattr(network, "q_net", None)
    if q_net is None and not hasattr(network, "predict_values"):
        return None, None
    seen, scaling = model_view(policy, problem, view), normalising(policy)

    def asked(function: Callable[[Any], Any]) -> Function:
        return lambda batch: function(network.obs_to_tensor(seen(batch))[0])

    def in_rewards(function: Function) -> Function:
        """Values of scaled rewards, by the scale of now."""
        if scaling is None or not scaling.norm_reward:
            return function
        return lambda batch: scaling.unnormalize_reward(as_numbers(function(batch), "values"))

    if q_net is not None:
        return in_rewards(asked(q_net)), None
    chances = asked(lambda of: _probabilities(network.get_distribution(of)))
    return in_rewards(asked(network.predict_values)), chances


def _probabilities(distribution: Any) -> Any:
    """[state, joint action] of a categorical distribution, or of one each for aᵉ and aᵐ."""
    chances = distribution.distribution
    if not isinstance(chances, list):
        return chances.probs
    env, mon = (as_numbers(of.probs, "probabilities").astype(np.float64) for of in chances)
    joint = env[:, :, None] * mon[:, None, :]
    return joint.reshape(len(joint), -1) / joint.sum(axis=(1, 2))[:, None]


def sb3_callback(
    judge: Judge,
    every: int = 1000,
    *,
    view: View | None = None,
    against: Against = "worst-case",
    tensorboard: str | os.PathLike[str] | None = None,
) -> Any:
    """Return a callback for Stable-Baselines3 that judges its model every so many steps.

    It judges what ``model.predict(…, deterministic=True)`` does. The values are those of the
    Q-network of DQN, or of the value network of PPO and A2C. The latter belong to the stochastic
    policy, so they are compared with the exact values of that policy. If the model has another
    discount than the judge, there is a `GammaWarning`. ``callback.record`` is the `Record`; its
    numbers also go to the model's logger as ``judge/gap`` and so on.

    Args:
        judge: of the problem that the model learns.
        every: steps between two judgements, at least; the model is also judged at the end.
        view: translates ``{"env": …, "mon": …}`` into what the model takes; not needed for
            environments of this package, whether they show numbers or a table, as they are, in
            `JointDiscrete` or in Gymnasium's `FlattenObservation`.
        against: in which problem values are compared, as a `Judge` takes it.
        tensorboard: folder for live curves, as `Judge.record` takes it.
    """
    if not hasattr(judge, "record"):
        raise MonMDPError(
            f"sb3_callback takes a Judge first, Judge(problem, gamma=…), got {judge!r:.60}"
        )
    try:
        from stable_baselines3.common.callbacks import BaseCallback
    except ImportError:
        raise MonMDPError(
            "sb3_callback needs Stable-Baselines3: pip install 'monmdp[deep]'"
        ) from None

    class JudgeCallback(BaseCallback):  # type: ignore[misc]
        """Judges the model now and then; whatever it does, training is the same."""

        def __init__(self) -> None:
            super().__init__()
            self.record = judge.record(every, tensorboard=tensorboard)

        def _on_training_start(self) -> None:
            self._judge()

        def _on_step(self) -> bool:
            self._judge()
            return True

        def _on_training_end(self) -> None:
            self._judge(now=True)  # the last step is learnt from after it is done

        def _judge(self, *, now: bool = False) -> None:
            training = self.model.policy.training
            step, how = self.num_timesteps, {"view": view, "against": against}
            judged = self.record(step, self.model, now=now, **how)
            if judged is None:
                return
            self.model.policy.set_training_mode(training)
            for name, value in judged.to_dict().items():
                if value is not None:
                    self.logger.record(f"judge/{name}", value)

    return JudgeCallback()
