"""Stable-Baselines3: what its models believe, and a callback that judges them while they learn.

Neither it nor torch is imported before a model is there, or a callback is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.experiment.answers import Batch, View, as_numbers, view_for
from monmdp.model import MonMDP

if TYPE_CHECKING:
    from monmdp.experiment.judging import Judge

Function = Callable[[Batch], Any]


def own_values(
    problem: MonMDP, policy: Any, view: View | None = None
) -> tuple[Function | None, Function | None]:
    """Return the values that a policy itself has, and the policy that they are of, as functions.

    The values of a Q-network are those of its greedy policy, which is what `predict` says: None. A
    value network has learnt those of the policy with its chances, which is not the same.
    """
    if not hasattr(policy, "predict"):
        values = getattr(policy, "values", None)
        return (values if callable(values) else None), None
    network = getattr(policy, "policy", policy)
    q_net, state_values = (getattr(network, name, None) for name in ("q_net", "predict_values"))
    if q_net is None and state_values is None:
        return None, None
    seen = view_for(policy.observation_space, problem) if view is None else view

    def asked(function: Callable[[Any], Any]) -> Function:
        def answer(batch: Batch) -> Any:
            import torch

            with torch.no_grad():
                return function(network.obs_to_tensor(seen(batch))[0])

        return answer

    if q_net is not None:
        return asked(q_net), None
    return asked(state_values), asked(lambda of: _probabilities(network.get_distribution(of)))


def _probabilities(distribution: Any) -> Any:
    """[state, joint action] of a categorical distribution, or of one each for aᵉ and aᵐ."""
    chances = distribution.distribution
    if not isinstance(chances, list):
        return chances.probs
    env, mon = (as_numbers(of.probs, "probabilities").astype(np.float64) for of in chances)
    joint = env[:, :, None] * mon[:, None, :]
    return joint.reshape(len(joint), -1) / joint.sum(axis=(1, 2))[:, None]


def sb3_callback(judge: Judge, every: int = 1000, *, view: View | None = None, **options: Any) -> Any:
    """Return a callback for Stable-Baselines3 that judges its model every so many steps.

    It judges what `model.predict(…, deterministic=True)` does. The values are those of the Q-network
    of DQN, or of the value network of PPO and A2C; the latter are compared with the exact values of
    the policy with its chances, which they are of. `callback.record` is the `Record`; its numbers
    also go to the model's logger as ``judge/gap`` and so on.

    Args:
        judge: of the problem that the model learns.
        every: steps between two judgements, at least; the model is also judged at the end.
        view: translates ``{"env": …, "mon": …}`` into what the model takes; not needed for
            environments of this package, as they are, in `JointDiscrete` or in Gymnasium's
            `FlattenObservation`.
        **options: what else a `Judge` takes, and ``tensorboard``, a folder.
    """
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
            self.record = judge.record(every, tensorboard=options.pop("tensorboard", None))

        def _on_training_start(self) -> None:
            self._judge()

        def _on_step(self) -> bool:
            self._judge()
            return True

        def _on_training_end(self) -> None:
            self.record.every, usual = 1, self.record.every
            self._judge()
            self.record.every = usual

        def _judge(self) -> None:
            if not self.record.due(self.num_timesteps):
                return
            training = self.model.policy.training
            seen = _normalised(self.model, view, judge.problem)
            judged = self.record(self.num_timesteps, self.model, view=seen, **options)
            self.model.policy.set_training_mode(training)
            for name, value in judged.to_dict().items():
                if value is not None:
                    self.logger.record(f"judge/{name}", value)

    return JudgeCallback()


def _normalised(model: Any, view: View | None, problem: MonMDP) -> View | None:
    """The view, and what a VecNormalize around the environment does to observations."""
    wrapper = model.get_vec_normalize_env()
    if wrapper is None:
        return view
    seen = view_for(model.observation_space, problem) if view is None else view
    return lambda batch: wrapper.normalize_obs(seen(batch))
