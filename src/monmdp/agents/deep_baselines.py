"""Baselines of deep agents: DQN with four views of ⊥, and tabular agents behind a discretiser.

All see observations o and have the inputs and the kind of network that Deep Monitored MBIE-EB has.
DQN learns Q(o,sᵐ,a) of joint actions a = (aᵉ,aᵐ), one output of a network for each sᵐ and a, from a
replay of all steps so far (double DQN; the weights of the target network Q⁻ are averages):

    Q(o,sᵐ,a) ← r + γ Q⁻(o′,s′ᵐ, argmax Q(o′,s′ᵐ,·)),    r = rᵐ + rᵉ if it was shown.

They differ in what stands in the place of a reward that was not shown:

    DQN             0
    RewardModelDQN  r̂(o,aᵉ), a network that learns from the rewards shown
    PessimisticDQN  max(r_min, mean − κ·spread) of several such networks
    RNDDQN          r̂(o,aᵉ), and there is a bonus for what a network cannot predict yet

Rewards are put in when a step is sampled, not when it was made: a reward that was learnt counts for
all that happened before. `Discretised` sorts observations into cells, and a tabular agent learns
about these: Factored MBIE-EB or Monitored MBIE-EB.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from monmdp.agents.contract import AgentConfig, Transition, View
from monmdp.agents.deep_inputs import Learner, SimHash, with_room
from monmdp.agents.deep_networks import Ensemble, Inputs, Network, RandomNetwork
from monmdp.agents.factored_mbie_eb import FactoredMBIEEB
from monmdp.agents.monitored_mbie_eb import MonitoredMBIEEB
from monmdp.agents.stepwise import Agent
from monmdp.model.arrays import FloatArray, IntArray

STEP = np.dtype(
    [
        ("node", np.int64),
        ("mon", np.int64),
        ("action", np.int64),
        ("reward", np.float64),  # not a number: ⊥
        ("monitor_reward", np.float64),
        ("next_node", np.int64),
        ("next_mon", np.int64),
        ("ends", np.bool_),
        ("first", np.bool_),  # of its episode
    ]
)
"""a step in memory; a node is a distinct observation"""
Steps = NDArray[Any]
RATES = "lr", "eps", "reward_lr", "rnd_lr"
"""parameters that must be above 0"""


# ---- DQN ------------------------------------------------------------------------------------


@dataclass(eq=False)
class DQN(Learner):
    """Double DQN that takes a reward it was not shown for zero."""

    within: ClassVar[dict[str, str]] = {"epsilon": "[0, 1]"} | dict.fromkeys(RATES, "(0, inf)")
    streams: ClassVar[int] = 1
    """kinds of reward with action values of their own; the first is what the agent is paid"""

    epsilon: float = 0.05
    """share of random actions in the end"""
    epsilon_steps: int = 10_000
    """steps in which that share falls from 1"""
    hidden: int = 128
    """neurons of each hidden layer"""
    lr: float = 5e-4
    """step size of Adam"""
    eps: float = 1.5e-4
    """ε of Adam: gradients much smaller than this make steps that are smaller, too"""
    batch: int = 64
    """steps in an update"""
    every: int = 4
    """steps from one update to the next"""
    refresh: int = 100
    """updates over which the weights of the target network are averages; 1: it is the network"""
    n_step: int = 1
    """rewards that a target adds up before it looks at the target network"""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        super().__post_init__()
        self.actions = self.n_ae * self.n_am
        self.unit = max(abs(self.r_min), abs(self.r_max)) or 1.0  # of all rewards in networks
        sizes = self.met.encode.width, self.hidden, self.streams * self.n_sm * self.actions
        self.net, self.target = (Network(*sizes, self.rng, self.lr, self.eps) for _ in range(2))
        self.target.follow(self.net)
        self.memory = np.zeros(1024, dtype=STEP)
        self.kept = self.updates = 0

    # -- acting -------------------------------------------------------------------------------

    def act(self, observation: dict[str, Any]) -> dict[str, int]:
        """Act at random with chance ε, else greedily."""
        self._demand(observation)
        if self.steps < self.warmup or self.rng.random() < self.exploration():
            return self.random_action()
        node = self.met.number(observation["env"])  # there is room for it now
        inputs = self.met.inputs[[node]]
        q = self.drive(self.say(self.net, inputs)[0, :, observation["mon"]])
        best = np.flatnonzero(q >= q.max() - 1e-10)
        ae, am = divmod(int(best[self.rng.integers(len(best))]), self.n_am)
        return {"env": ae, "mon": am}

    def exploration(self) -> float:
        """ε now."""
        left = max(0.0, 1 - self.steps / self.epsilon_steps)
        return self.epsilon + (1 - self.epsilon) * left

    def drive(self, q: FloatArray) -> FloatArray:
        """[a] what is acted on greedily; q is [stream, a]."""
        return q[0]

    def test_policy(self, observations: NDArray[Any]) -> FloatArray:
        """[s, a] greedy on what the agent is paid, with averages of weights, which are calmer."""
        inputs = self.encoded(observations)
        best = self.say(self.target, inputs)[:, 0].argmax(axis=2)
        policy: FloatArray = np.eye(self.actions)[best.reshape(-1)]
        return policy

    def values(self, batch: dict[str, NDArray[Any]]) -> FloatArray:
        """[i] values of observations {"env": [i, …], "mon": [i]}, for a judge."""
        inputs = self.encoded(batch["env"])
        best: FloatArray = self.unit * self.say(self.target, inputs)[:, 0].max(axis=2)
        return best[np.arange(len(best)), batch["mon"]]

    def say(self, net: Network, inputs: Inputs) -> FloatArray:
        """[i, stream, sᵐ, a] action values, in units."""
        return net.say(inputs).reshape(len(inputs), self.streams, self.n_sm, self.actions)

    # -- memory -------------------------------------------------------------------------------

    def take_in(self, transition: Transition, first: bool) -> None:
        """Keep a step."""
        here, after, action = transition.observation, transition.next_observation, transition.action
        self.memory = with_room(self.memory, self.kept + 1)
        self.memory[self.kept] = (
            self.met.number(here["env"]),
            here["mon"],
            action["env"] * self.n_am + action["mon"],
            np.nan if transition.reward is None else transition.reward,
            transition.monitor_reward,
            self.met.number(after["env"]),
            after["mon"],
            transition.terminated,
            first,
        )
        self.kept += 1

    # -- learning -----------------------------------------------------------------------------

    def learn(self) -> None:
        """Take a step of gradient descent, from time to time."""
        if self.steps % self.every == 0:
            self.descend()

    def descend(self) -> None:
        """Take one step of gradient descent."""
        self.updates += 1
        drawn = self.rng.integers(self.kept, size=self.batch)
        steps = self.memory[drawn]
        each = np.arange(self.batch)
        targets = np.zeros((self.batch, self.streams, self.n_sm, self.actions))
        weights = np.zeros_like(targets)
        targets[each, :, steps["mon"], steps["action"]] = self.returns(drawn)
        weights[each, :, steps["mon"], steps["action"]] = 1.0
        flat = self.batch, -1
        self.net.fit(self.met.inputs[steps["node"]], targets.reshape(flat), weights.reshape(flat))
        self.target.follow(self.net, 1 / self.refresh)

    def returns(self, drawn: IntArray) -> FloatArray:
        """[i, stream] what steps are worth: rewards, and then what the target network says."""
        last, going = drawn, np.ones(len(drawn), dtype=np.bool_)
        total, discount = self.rewards(self.memory[drawn]), np.full(len(drawn), self.gamma)
        for _ in range(self.n_step - 1):
            following = np.minimum(last + 1, self.kept - 1)
            going = going & (following > last) & ~self.memory["ends"][last]
            going &= ~self.memory["first"][following]
            last = np.where(going, following, last)
            total += (going * discount)[:, None] * self.rewards(self.memory[last])
            discount = np.where(going, self.gamma * discount, discount)
        steps = self.memory[last]
        inputs, each = self.met.inputs[steps["next_node"]], np.arange(len(last))
        now, then = (
            self.say(net, inputs)[each, :, steps["next_mon"]] for net in (self.net, self.target)
        )
        value = np.take_along_axis(then, now.argmax(axis=2)[:, :, None], axis=2)[:, :, 0]
        return total + np.where(steps["ends"], 0.0, discount)[:, None] * value

    def rewards(self, steps: Steps) -> FloatArray:
        """[i, stream] rewards of steps, in units, with something in the place of ⊥."""
        shown = ~np.isnan(steps["reward"])
        of_env = np.where(shown, steps["reward"], 0.0 if shown.all() else self.guess(steps))
        paid: FloatArray = (of_env + steps["monitor_reward"]) / self.unit
        return paid[:, None]

    def guess(self, steps: Steps) -> FloatArray:
        """[i] what stands in the place of rewards that were not shown."""
        return np.zeros(len(steps))


# ---- in the place of ⊥ ----------------------------------------------------------------------


@dataclass(eq=False)
class RewardModelDQN(DQN):
    """DQN with a learnt reward r̂(o,aᵉ) in the place of one that was not shown."""

    reward_lr: float = 1e-3
    """step size of Adam for rewards"""
    model_every: int = 2
    """updates of action values from one update of what is learnt beside them to the next"""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        super().__post_init__()
        # Pairs (o,aᵉ) whose reward was shown, each once: rare rewards are not drowned by others.
        self.pair_of: dict[tuple[int, int], int] = {}
        self.pairs = np.zeros((256, 2), dtype=np.int64)
        self.shown = np.zeros((256, 2))  # how often, and the sum
        self.model = self.make_model()

    def make_model(self) -> Any:
        """Return the network that learns rewards."""
        return Network(self.met.encode.width, self.hidden, self.n_ae, self.rng, self.reward_lr)

    def take_in(self, transition: Transition, first: bool) -> None:
        """Keep a step, and a reward that was shown."""
        super().take_in(transition, first)
        if transition.reward is not None:
            key = self.met.number(transition.observation["env"]), transition.action["env"]
            pair = self.pair_of.setdefault(key, len(self.pair_of))
            self.pairs, self.shown = (with_room(of, pair + 1) for of in (self.pairs, self.shown))
            self.pairs[pair] = key
            self.shown[pair] += 1, transition.reward

    def descend(self) -> None:
        """Learn rewards from time to time, and action values."""
        if self.pair_of and self.updates % self.model_every == 0:
            drawn = self.rng.integers(len(self.pair_of), size=self.batch)
            node, ae = self.pairs[drawn].T
            times, total = self.shown[drawn].T
            weights = np.eye(self.n_ae)[ae]
            targets = weights * (total / times / self.unit)[:, None]
            self.model.fit(self.met.inputs[node], targets, weights)
        super().descend()

    def guess(self, steps: Steps) -> FloatArray:
        """[i] r̂(o,aᵉ), within the bounds."""
        said = self.said(self.met.inputs[steps["node"]])
        of_action = said[np.arange(len(steps)), steps["action"] // self.n_am]
        return np.clip(self.unit * of_action, self.r_min, self.r_max)

    def said(self, inputs: Inputs) -> FloatArray:
        """[i, aᵉ] r̂, in units."""
        out: FloatArray = self.model.say(inputs)
        return out


@dataclass(eq=False)
class PessimisticDQN(RewardModelDQN):
    """DQN with a low guess, by several reward networks, in the place of a reward not shown."""

    at_least: ClassVar[dict[str, int]] = {"members": 2}

    members: int = 5
    """networks"""
    kappa: float = 1.0
    """κ, standard deviations of what they say that the guess is below their mean"""
    prior: float = 1.0
    """size of the random functions added to them, in r_max − r_min"""

    def make_model(self) -> Any:
        """Return the networks that learn rewards."""
        prior = self.prior * (self.r_max - self.r_min) / self.unit
        sizes = self.members, self.met.encode.width, self.hidden, self.n_ae
        return Ensemble(*sizes, self.rng, self.reward_lr, prior)

    def said(self, inputs: Inputs) -> FloatArray:
        """[i, aᵉ] mean − κ·spread, in units."""
        each = self.model.say(inputs)
        out: FloatArray = each.mean(axis=0) - self.kappa * each.std(axis=0)
        return out


# ---- a bonus --------------------------------------------------------------------------------


@dataclass(eq=False)
class RNDDQN(RewardModelDQN):
    """DQN with a reward model and a bonus for what is new, by random network distillation.

    A network learns what a random one says of (o′,s′ᵐ). The bonus is how wrong it is, over the
    standard deviation of discounted sums of such bonuses. Bonuses have action values of their own,
    so that the policy tested is not led by them; they end with the episode, like rewards.
    """

    streams: ClassVar[int] = 2
    features: ClassVar[int] = 32
    """outputs of the random network"""

    bonus: float = 0.5
    """weight of the bonus beside rewards, which are in units of the largest"""
    rnd_lr: float = 1e-4
    """step size of Adam for the network that predicts"""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        super().__post_init__()
        width = self.n_sm + self.met.encode.width
        self.random = RandomNetwork(width, self.hidden, self.features, self.rng)
        self.predictor = Network(width, self.hidden, self.features, self.rng, self.rnd_lr)
        self.measured = 0  # steps
        self.running = 0.0  # discounted sum of their bonuses
        self.moments = np.zeros(3)  # of such sums: how many, sum, sum of squares

    def drive(self, q: FloatArray) -> FloatArray:
        """[a] values of rewards and of bonuses."""
        both: FloatArray = q[0] + self.bonus * q[1]
        return both

    def descend(self) -> None:
        """Learn to predict from time to time, and rewards and action values."""
        if self.updates % self.model_every == 0:
            self.measure(self.memory[self.measured : self.kept])
            self.measured = self.kept
            inputs = self.arrivals(self.memory[self.rng.integers(self.kept, size=self.batch)])
            said = self.random.say(inputs)
            self.predictor.fit(inputs, said, np.ones_like(said))
        super().descend()

    def measure(self, steps: Steps) -> None:
        """Find out how large sums of bonuses are."""
        for surprise in self.surprise(steps):
            self.running = self.gamma * self.running + surprise
            self.moments += 1, self.running, self.running**2

    def rewards(self, steps: Steps) -> FloatArray:
        """[i, stream] rewards, and bonuses."""
        n, total, squares = self.moments
        deviation = max(squares / n - (total / n) ** 2, 1e-12) ** 0.5
        return np.column_stack([super().rewards(steps), self.surprise(steps) / deviation])

    def surprise(self, steps: Steps) -> FloatArray:
        """[i] how wrong the prediction is of where steps lead."""
        inputs = self.arrivals(steps)
        off: FloatArray = self.predictor.say(inputs) - self.random.say(inputs)
        return np.square(off).mean(axis=1)

    def arrivals(self, steps: Steps) -> Inputs:
        """[i, input] (o′,s′ᵐ)."""
        mon = np.eye(self.n_sm, dtype=np.float32)[steps["next_mon"]]
        return np.concatenate([mon, self.met.inputs[steps["next_node"]]], axis=1)


# ---- a table after all ----------------------------------------------------------------------


class Cells(gymnasium.Env[Any, Any]):
    """The spaces of a problem whose environment states are cells; it cannot be stepped."""

    def __init__(self, view: View, cells: int) -> None:
        _, _, n_sm, n_ae, n_am, _, _ = view
        self.observation_space = spaces.Dict(env=spaces.Discrete(cells), mon=spaces.Discrete(n_sm))
        self.action_space = spaces.Dict(env=spaces.Discrete(n_ae), mon=spaces.Discrete(n_am))


@dataclass(eq=False)
class Discretised(Learner):
    """A tabular agent on cells: sets of observations with the same random signs (SimHash)."""

    table: ClassVar[type[AgentConfig]]
    """the tabular agent, whose code counts as part of this one's"""

    bits: int = 64
    """random signs that make a cell; fewer make larger cells"""
    thresholds: float = 1.0
    """as in Deep Monitored MBIE-EB: how far out the thresholds of real numbers are"""
    cells: int = 2048
    """cells at most; what would be one more goes to the nearest, by the signs that differ"""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        super().__post_init__()
        self.demand_given("observations of real numbers", not self.ready, "thresholds")
        self.signs = SimHash(self.bits, self.rng, 0.0 if self.ready else self.thresholds)
        self.codes = np.zeros((self.cells, self.bits), dtype=np.bool_)
        self.cell_of_code: dict[bytes, int] = {}
        self.cell_of: list[int] = []
        """of each observation that was met"""
        world, seed = Cells(self.view, self.cells), int(self.rng.integers(2**63))
        bounds = {"r_min": self.r_min, "r_max": self.r_max}
        self.agent = Agent(self.tabular(), world, seed=seed, **bounds)
        self.policy: FloatArray | None = None
        """[cell, sᵐ, a] of the tabular agent, once it was asked for and until it learns more"""

    def tabular(self, **others: float) -> AgentConfig:
        """Return the tabular agent with its parameters, which have the same names here."""
        names = {of.name for of in fields(self.table)} & {of.name for of in fields(self)}
        return self.table(**{name: getattr(self, name) for name in names}, **others)

    def begin_episode(self) -> bool:
        """Plan an episode; return whether it explores in order to observe."""
        super().begin_episode()
        self.policy = None
        return self.ready and self.agent.begin_episode()

    def act(self, observation: dict[str, Any]) -> dict[str, int]:
        """Act as in the cell."""
        self._demand(observation)
        return self.agent.act(self.found(observation)) if self.ready else self.random_action()

    def take_in(self, transition: Transition, first: bool) -> None:
        """Learn from one step between cells."""
        self.policy = None
        if first and self.waiting:  # it was not ready when this episode began
            self.agent.begin_episode()
        here, after = (
            self.found(of) for of in (transition.observation, transition.next_observation)
        )
        self.agent.update(transition._replace(observation=here, next_observation=after))

    def learn(self) -> None:
        """Do nothing: all was learnt when it was taken in."""

    def found(self, observation: Any) -> dict[str, int]:
        """The cell of an observation, and sᵐ."""
        met = self.met.number(observation["env"])
        if met == len(self.cell_of):
            (code,) = self.signs(self.met.inputs[[met]])
            self.cell_of.append(self.cell(code))
        return {"env": self.cell_of[met], "mon": observation["mon"]}

    def cell(self, code: NDArray[np.bool_]) -> int:
        """Return the cell of a code, a new one while there is room."""
        key, n = code.tobytes(), len(self.cell_of_code)
        if key in self.cell_of_code:
            return self.cell_of_code[key]
        if n == self.cells:
            return int((self.codes != code).sum(axis=1).argmin())
        self.codes[n] = code
        self.cell_of_code[key] = n
        return n

    def test_policy(self, observations: NDArray[Any]) -> FloatArray:
        """[s, a] the policy of the cells; that of the nearest one where a cell was never met."""
        if self.policy is None:
            self.policy = self.agent.test_policy().reshape(self.cells, self.n_sm, -1)
        known = self.codes[: max(len(self.cell_of_code), 1)]
        codes = self.signs(self.encoded(observations))
        nearest = [int((known != code).sum(axis=1).argmin()) for code in codes]
        policy: FloatArray = self.policy[nearest].reshape(-1, self.policy.shape[2])
        return policy


@dataclass(eq=False)
class DiscretisedFactored(Discretised):
    """Factored MBIE-EB on cells."""

    table: ClassVar[type[AgentConfig]] = FactoredMBIEEB

    caution: float = 1.0
    """standard errors that a hopeful plan adds, as in Factored MBIE-EB"""
    give_up: float = 6.0
    """effective tries in vain after which an outcome is given up, as there"""
    net: float = 20.0
    """how many episodes follow counts alone, as there"""
    effort: int = 800
    """outcomes and cells that plans may look at, on average over all steps, as there"""


@dataclass(eq=False)
class DiscretisedMonitored(Discretised):
    """Monitored MBIE-EB, the paper's algorithm, on cells."""

    table: ClassVar[type[AgentConfig]] = MonitoredMBIEEB
    within: ClassVar[dict[str, str]] = {"log_base": "(1, inf)"}

    q_opt_init: float = 1.0
    """value of what was never tried: no less than any value, 1 on grids with a goal of 1"""
    log_base: float = 1.005
    """b: episode k observes if no more than log_b k did before; nearer to 1 means more of them"""
    beta: float = 5e-4
    """β, βᵉ and βᵐ, scales of the bonuses in the model that optimises"""
    beta_obs: float = 5e-4
    """β_obs, scale of the bonus in the model that observes"""
    beta_kl: float = 0.05
    """β_KL, scale of the confidence that an unseen reward can be seen"""
    sweeps: int = 50
    """of a plan before every episode"""

    def tabular(self, **others: float) -> AgentConfig:
        """Return Monitored MBIE-EB, all of whose bonuses for optimising are as large."""
        return super().tabular(beta_e=self.beta, beta_m=self.beta, **others)
