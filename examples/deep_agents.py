"""Deep agents on Mon-MDPs: what to do with a reward that is not shown.

python examples/deep_agents.py --env all --algorithm all --treatment all --out out/deep-agents

DQN and PPO of Stable-Baselines3 learn a monitored CartPole and Bottleneck, with three treatments of
⊥, the reward that is not shown:

* ``zero``: the reward as it comes, with 0 in the place of ⊥;
* ``mask``: the same, and the observation says whether the last reward was shown;
* ``model``: r̂, learnt from the rewards that were shown, in the place of ⊥.

No learner is told a hidden reward. Policies are judged by the true return, the sum of rᵉ + rᵐ.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import joblib
import numpy as np
import pandas as pd
from gymnasium import spaces
from gymnasium.wrappers import TransformReward

import monmdp
from monmdp import stats
from monmdp.envs import (
    AddMonitor,
    JointDiscrete,
    LearntReward,
    MeanTable,
    ObserveRewardMask,
    RewardModel,
    RewardNet,
)

try:
    import torch
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv
except ImportError as error:
    raise SystemExit(
        f"this needs Stable-Baselines3: pip install 'monmdp[deep]' ({error})"
    ) from None

Env = gymnasium.Env[Any, Any]
TREATMENTS = {"zero": "⊥ as zero", "mask": "⊥ as zero, mask", "model": "reward model"}
COLOURS = {"zero": "#d55e00", "mask": "#56b4e9", "model": "#009e73"}
TESTS, LAST, EPISODES = 10, 3, 5
"""tests in a training, how many of the last ones make the result, and episodes in each"""


def cartpole(**options: Any) -> Env:
    """Make a CartPole in which it costs 0.8 to see a reward; all of them are 1."""
    return AddMonitor(gymnasium.make("CartPole-v1"), "ask", cost=-0.8, **options)


def bottleneck(**options: Any) -> Env:
    """Make a Bottleneck in which every reward is shown but those of the ⊥ cells."""
    return gymnasium.make("monmdp/Bottleneck-v0", monitor="full-random", **options)


@dataclass(frozen=True)
class Task:
    """An environment to learn."""

    title: str
    make: Callable[..., Env]
    """the monitored environment; takes `expose_env_reward`"""
    model: Callable[[Env], RewardModel]
    """of the reward"""
    discount: float
    """of the return by which policies are judged"""
    settings: dict[str, dict[str, Any]]
    """of each algorithm"""


DQN_COMMON = {"learning_rate": 1e-3, "buffer_size": 50_000, "learning_starts": 500, "train_freq": 1,
              "batch_size": 64, "target_update_interval": 400}  # fmt: skip
PPO_COMMON = {"learning_rate": 1e-3, "n_steps": 128, "batch_size": 128, "gae_lambda": 0.9}
TASKS = {
    "cartpole": Task("CartPole / ask", cartpole, RewardNet, 1.0, {
        "dqn": DQN_COMMON | {"gamma": 0.98, "exploration_fraction": 0.3},
        "ppo": PPO_COMMON | {"gamma": 0.98},
    }),
    "bottleneck": Task("Bottleneck", bottleneck, lambda env: MeanTable(env, prior=-10.0), 0.99, {
        "dqn": DQN_COMMON | {"gamma": 0.95, "exploration_fraction": 0.8},
        "ppo": PPO_COMMON | {"gamma": 0.9, "ent_coef": 0.3},
    }),
}  # fmt: skip
ALGORITHMS: dict[str, tuple[Any, int]] = {"dqn": (DQN, 4), "ppo": (PPO, 8)}
"""class, and how many environments it acts in"""


class Judge(BaseCallback):
    """Test the greedy policy from time to time, where hidden rewards are told to the judge."""

    def __init__(self, task: Task, treatment: str, steps: int) -> None:
        super().__init__()
        env = task.make(expose_env_reward=True)
        self.env = JointDiscrete(ObserveRewardMask(env) if treatment == "mask" else env)
        self.task, self.every = task, max(1, steps // TESTS)
        self.tests: list[dict[str, float]] = []

    def _on_step(self) -> bool:
        step = self.every * (len(self.tests) + 1)
        if self.num_timesteps >= step and len(self.tests) < TESTS:
            returns, shown = np.mean([self._episode(seed) for seed in range(EPISODES)], axis=0)
            self.tests.append({"step": step, "true_return": returns, "shown": shown})
        return True

    def _episode(self, seed: int) -> tuple[float, float]:
        observation, _ = self.env.reset(seed=10_000 + seed)
        rewards, shown, over = [], [], False
        while not over:
            action, _ = self.model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = self.env.step(action)
            rewards.append(info["env_reward"] + info["monitor_reward"])
            shown.append(info["reward_observed"])
            over = terminated or truncated
        discounts = self.task.discount ** np.arange(len(rewards))
        return float(discounts @ rewards), float(np.mean(shown))


def learning_env(task: Task, treatment: str, model: RewardModel) -> Env:
    """Make what a learner acts in: spaces that Stable-Baselines3 takes, and no hidden reward."""
    env = task.make()
    if treatment == "mask":
        env = ObserveRewardMask(env)
    if treatment == "model":
        env = LearntReward(env, model)
    # clipped, as usual with DQN: beside -10 a network hardly sees a reward of 0.1
    return JointDiscrete(TransformReward(env, lambda reward: max(float(reward), -1.0)))


def train(name: str, algorithm: str, treatment: str, steps: int, seed: int) -> pd.DataFrame:
    """Train one agent; return a row for each test."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    task, (kind, n_envs) = TASKS[name], ALGORITHMS[algorithm]
    model = task.model(task.make())
    envs = DummyVecEnv([lambda: learning_env(task, treatment, model)] * n_envs)
    policy = "MultiInputPolicy" if isinstance(envs.observation_space, spaces.Dict) else "MlpPolicy"
    agent = kind(policy, envs, seed=seed, device="cpu", **task.settings[algorithm])
    judge = Judge(task, treatment, steps)
    agent.learn(steps, callback=judge)
    who = {"env": name, "algorithm": algorithm, "treatment": treatment, "seed": seed}
    return pd.DataFrame([who | test for test in judge.tests])


def interval(values: Iterable[float]) -> stats.Interval:
    """Return the mean over seeds and its 95 % interval (Student's t)."""
    return stats.contrast([(1.0, list(values))])


def print_results(tests: pd.DataFrame) -> None:
    """Print the mean of the last tests of each agent."""
    print(f"{'environment':16}{'agent':7}{'treatment':17}{'true return':28}rewards shown")
    for (name, algorithm, treatment), rows in tests.groupby(
        ["env", "algorithm", "treatment"], sort=False
    ):
        last = rows[rows["step"].isin(sorted(rows["step"].unique())[-LAST:])]
        score = interval(last.groupby("seed")["true_return"].mean()).in_words(".2f")
        print(f"{TASKS[name].title:16}{algorithm.upper():7}{TREATMENTS[treatment]:17}", end="")
        print(f"{score:28}{last['shown'].mean():.0%}")


def draw(tests: pd.DataFrame, best: dict[str, float], path: Path) -> None:
    """Draw the learning curves, a thin line for each seed and a thick one for their mean."""
    from matplotlib.figure import Figure

    names, algorithms = list(tests["env"].unique()), list(tests["algorithm"].unique())
    figure = Figure((4.6 * len(algorithms), 3.2 * len(names)), layout="constrained")
    axes = figure.subplots(len(names), len(algorithms), squeeze=False, sharex=True, sharey="row")
    for (name, algorithm), panel in tests.groupby(["env", "algorithm"], sort=False):
        ax = axes[names.index(name), algorithms.index(algorithm)]
        for treatment, rows in panel.groupby("treatment", sort=False):
            curves = rows.pivot(index="step", columns="seed", values="true_return")
            ax.plot(curves, color=COLOURS[treatment], lw=0.7, alpha=0.4)
            mean = curves.mean(axis=1)
            ax.plot(mean, color=COLOURS[treatment], lw=2.2, label=TREATMENTS[treatment])
        ax.axhline(best[name], color="black", ls="--", lw=1, label="best possible")
        if name == "bottleneck":  # a ⊥ cell costs 10, the best there is to gain is below 1
            ax.set_yscale("symlog", linthresh=1)
            ax.set_yticks([-100, -10, -1, 0, 1], ["-100", "-10", "-1", "0", "1"])
        ax.set_title(f"{TASKS[name].title}, {algorithm.upper()}")
        ax.locator_params(axis="x", nbins=5)
    figure.supxlabel("step", fontsize="medium")
    figure.supylabel("true return", fontsize="medium")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    figure.savefig(path, dpi=110)


def yardsticks(steps: int, seeds: int) -> tuple[float, stats.Interval]:
    """Bottleneck's minimax-optimal return, and what a tabular agent learns in as many steps."""
    problem = monmdp.make("bottleneck", "full-random")
    runs = [monmdp.train(problem, "factored-mbie-eb", steps, seed=seed) for seed in range(seeds)]
    ends = [run.curve["episode_return"][-LAST:].mean() for run in runs]
    return monmdp.solve(problem).episode_return, interval(ends)


def main(words: list[str] | None = None) -> None:
    """Train what is asked for; print a table, write ``tests.csv`` and ``deep-agents.png``."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    kinds: dict[str, dict[str, Any]]
    kinds = {"env": TASKS, "algorithm": ALGORITHMS, "treatment": TREATMENTS}
    for kind, known in kinds.items():
        parser.add_argument(f"--{kind}", choices=[*known, "all"], default="all")
    parser.add_argument("--steps", type=int, default=20_000, help="of each training")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each agent")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trainings at a time")
    parser.add_argument("--out", type=Path, default=Path("out/deep-agents"), metavar="FOLDER")
    given = vars(parser.parse_args(words))
    steps, seeds, out = given["steps"], given["seeds"], given["out"]
    if min(steps, seeds) < 1:
        parser.error("--steps and --seeds must be at least 1")
    chosen = (known if given[kind] == "all" else [given[kind]] for kind, known in kinds.items())
    runs = [
        joblib.delayed(train)(name, algorithm, treatment, steps, seed)
        for name, algorithm, treatment in itertools.product(*chosen)
        for seed in range(seeds)
    ]
    tests = pd.concat(joblib.Parallel(n_jobs=given["jobs"], verbose=5)(runs), ignore_index=True)
    out.mkdir(parents=True, exist_ok=True)
    tests.to_csv(out / "tests.csv", index=False)
    print_results(tests)
    best = {"cartpole": 500.0}  # never ask, never fall
    if given["env"] in ("bottleneck", "all"):
        best["bottleneck"], tabular = yardsticks(steps, seeds)
        print(f"Bottleneck, minimax-optimal: {best['bottleneck']:.2f}")
        print(f"Bottleneck, factored-mbie-eb in as many steps: {tabular.in_words('.2f')}")
    draw(tests, best, out / "deep-agents.png")
    print(f"written: {out}/tests.csv, {out}/deep-agents.png")


if __name__ == "__main__":
    main()
