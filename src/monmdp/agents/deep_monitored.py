"""Deep Monitored MBIE-EB: networks for what is far away, tables for the monitor, r_min for ⊥.

The environment is seen through observations o, as many as there may be. The monitor is finite, so
all about it is counted: its rewards R̄ᵐ(sᵐ,aᵐ), its moves p̄ᵐ and how often it shows, ρ̄(sᵐ,aᵐ). One
network learns, for two values, nothing but *continuations*: what is still to come after aᵉ in o, if
the monitor is in s′ᵐ then,

    W(o,aᵉ,s′ᵐ) ≈ E[V(o′,s′ᵐ)], and 0 where the episode ends.

Everything else is composed when it is used, so that a reward counts from the moment it is shown:

    Q_opt(o,sᵐ,a) = R̃ᵉ(o,aᵉ) + R̄ᵐ(sᵐ,aᵐ) + γ Σ p̄ᵐ(s′ᵐ) W_opt(o,aᵉ,s′ᵐ)
    Q_obs(o,sᵐ,a) = u + (1 − u) γ Σ p̄ᵐ(s′ᵐ) W_obs(o,aᵉ,s′ᵐ)

R̃ᵉ is r_min until a reward was shown nearby. u is the chance to see a reward that is not known yet,
so Q_obs is the discounted chance to see one soon. What counts as *nearby* and *tried* is a matter
of pseudo-counts in cells, which are sets of observations with the same random signs (SimHash).

The network learns from a memory of distinct observations and of what followed them. From time to
time values are backed up through that memory a few steps (`lookahead`), beginning with what the
network says, and become its targets. With `lookahead=1` this is fitted Q-iteration.
docs/algorithms/deep-monitored.md derives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from monmdp.agents.contract import Transition, View
from monmdp.agents.deep_inputs import encoder
from monmdp.agents.deep_networks import Ensemble, Inputs, Network
from monmdp.errors import MonMDPError, nearest
from monmdp.model.arrays import BoolArray, FloatArray, IntArray
from monmdp.model.mdp import number, probability, whole_number
from monmdp.planning.policy_iteration import learning_gamma

OPT, OBS = 0, 1
"""the two values that are learnt"""
NOWHERE = 0
"""the cell of observations that are like none that was met"""
EDGE = ("node", "action", "successor", "ends")
"""what makes a transition in memory"""


# ---- memory and counts ----------------------------------------------------------------------


class Growing:
    """Arrays with one row for each thing of a kind, which double when there is no more room."""

    def __init__(self, **rows: NDArray[Any]) -> None:
        self.n = 0
        self.arrays = {name: np.zeros((256, *row.shape), row.dtype) for name, row in rows.items()}

    def add(self) -> int:
        """Return the number of a new row, all zeros."""
        if self.n == len(next(iter(self.arrays.values()))):
            for name, array in self.arrays.items():
                self.arrays[name] = np.concatenate([array, np.zeros_like(array)])
        self.n += 1
        return self.n - 1

    def keep(self, rows: IntArray, **less: int) -> None:
        """Keep these rows, and take a number off some columns."""
        room = max(256, len(rows))
        for name, array in self.arrays.items():
            kept = np.zeros((room, *array.shape[1:]), array.dtype)
            kept[: len(rows)] = array[rows] - less[name] if name in less else array[rows]
            self.arrays[name] = kept
        self.n = len(rows)

    def __getattr__(self, name: str) -> NDArray[Any]:
        return self.__dict__["arrays"][name]


class Model(NamedTuple):
    """What is known of pairs, all [i, sᵐ, aᵉ, aᵐ] or such that it can be spread to that."""

    reward: FloatArray
    """R̃ᵉ + R̄ᵐ"""
    u: FloatArray
    """the chance to see a reward that is not known"""
    price: FloatArray
    """R̄ᵐ, made small: of two ways to see the same, the cheaper one"""
    moves: FloatArray
    """[…, s′ᵐ] p̄ᵐ"""
    tried: BoolArray


@dataclass(eq=False)
class DeepMonitored:
    """The agent; it is given a `View` of the problem and a random stream, all else has defaults."""

    sees: ClassVar[str] = "observations"

    view: View
    rng: np.random.Generator
    gamma: float = 0.95
    """γ, the discount"""
    generalise: Literal["none", "ensemble"] = "none"
    """what is believed of a reward: the mean of those shown in its cell, r_min if there are none;
    or what an ensemble agrees on that learns from all rewards shown"""
    members: int = 10
    """of the ensemble"""
    doubt: float = 2.0
    """deviations of the ensemble that are taken off its mean"""
    unsure: float = 0.1
    """a reward is still to be seen while so much is taken off, as a share of r_max − r_min"""
    bits: int | None = None
    """random signs that make a cell, fewer make larger cells; by default 64, which tell all grids
    of a few thousand states apart, and 8 where observations are real numbers"""
    visibility: Literal["counted", "kl-ucb"] = "counted"
    """when to give up on a reward that does not show: by how often the monitor shows others, or
    like Monitored MBIE-EB"""
    beta_kl: float = 0.05
    """β_KL, scale of the confidence that an unseen reward can be seen, with visibility=kl-ucb"""
    observe: float = 0.5
    """share of episodes that observe while there is something to see"""
    enough: float = 0.02
    """there is something to see while V_obs is above this where episodes begin"""
    hidden: int = 128
    """neurons of each hidden layer"""
    lr: float = 1e-3
    """step size of Adam"""
    batch: int = 64
    """observations in an update"""
    every: int = 2
    """steps from one update to the next"""
    refresh: int = 25
    """updates from one set of targets to the next"""
    lookahead: int = 30
    """steps through the memory that targets look ahead"""
    average: float = 0.995
    """the network in use is a running average of the one that learns, over about 1/(1 − average)
    updates"""
    memory: int = 20_000
    """observations that are remembered; then the older half is forgotten"""
    warmup: int = 100
    """steps before the first update; where observations are real numbers, at random"""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self._check()
        _, _, self.n_sm, self.n_ae, self.n_am, self.r_min, self.r_max = self.view
        pair = self.n_sm, self.n_ae, self.n_am
        self.encode = encoder(self.view)
        self.heads = self.n_ae * self.n_sm
        self.net, self.used = (
            Network(self.encode.width, self.hidden, 2 * self.heads, self.rng, self.lr)
            for _ in range(2)
        )
        for net in (self.net, self.used):  # there is much to see until the contrary is known
            net.rescale(slice(self.heads, None), 1.0, shift=1.0)
        self.used.follow(self.net)
        self.scale = 1.0  # of W_opt
        if self.generalise == "ensemble":
            outputs = 2 * self.n_ae  # rewards, and whether they can be seen
            width = self.encode.width
            self.ensemble = Ensemble(self.members, width, self.hidden, outputs, self.rng, self.lr)
        bits = self.bits or (64 if self.encode.settled else 8)
        self.signs = self.rng.normal(size=(self.encode.width, bits))
        # Cells: what was tried, shown and paid there.
        self.cell_of_code: dict[bytes, int] = {}
        self.cells = Growing(
            tried=np.zeros(pair),
            shown=np.zeros(pair),
            paid=np.zeros(self.n_ae),
            moved=np.zeros((*pair, self.n_sm)),
        )
        self.cells.add()  # NOWHERE
        # The monitor.
        self.moved = np.zeros((self.n_sm, self.n_am, self.n_sm))
        self.monitor_paid = np.zeros((self.n_sm, self.n_am))
        self.shows = np.ones((self.n_sm, self.n_am))
        self.visible = np.ones((1, self.n_ae))
        # The memory: distinct observations, and what followed them.
        self.node_of: dict[bytes, int] = {}
        self.nodes = Growing(cell=np.zeros((), np.int64), starts=np.zeros(()))
        self.inputs = np.zeros((256, self.encode.width), dtype=np.float32)
        self.edge_of: dict[tuple[int, int, int, bool], int] = {}
        self.edges = Growing(
            node=np.zeros((), np.int64),
            action=np.zeros((), np.int64),
            successor=np.zeros((), np.int64),
            ends=np.zeros((), np.bool_),
            times=np.zeros(()),
        )
        # Tries to see a reward, for the ensemble.
        self.tries = Growing(
            node=np.zeros((), np.int64),
            action=np.zeros((), np.int64),
            shown=np.zeros(()),
            reward=np.zeros(()),
        )
        self.steps = self.updates = 0
        self.observes = True
        self.beginning = True
        self.continuations = np.zeros((0, 2, self.n_ae, self.n_sm))

    def _check(self) -> None:
        """Refuse what makes no sense."""
        for name in ("generalise", "visibility"):
            known = get_args(get_type_hints(type(self))[name])
            if getattr(self, name) not in known:
                raise MonMDPError(
                    f"{name}={getattr(self, name)!r}{nearest(self.__dict__[name], known)}"
                )
        whole = ("members", "hidden", "batch", "every", "refresh", "lookahead", "memory", "warmup")
        for name in whole:
            whole_number(getattr(self, name), name, at_least=1)
        if self.bits is not None:
            whole_number(self.bits, "bits", at_least=1)
        learning_gamma(self.gamma)
        for name in ("observe", "average", "enough"):
            probability(getattr(self, name), name)
        for name in ("lr", "doubt", "unsure", "beta_kl"):
            if not number(getattr(self, name), name) > 0:
                raise MonMDPError(f"{name} must be above 0, got {getattr(self, name):g}")

    # -- the model ----------------------------------------------------------------------------

    def believe(self, cell: IntArray, inputs: Inputs) -> tuple[FloatArray, FloatArray]:
        """[i, aᵉ] R̃ᵉ, and the chance that this reward is still to be seen, and can be."""
        if self.generalise == "none":
            n = self.cells.shown[cell].sum(axis=(1, 3))
            mean = self.cells.paid[cell] / np.maximum(n, 1)
            return np.where(n > 0, mean, self.r_min), np.where(n > 0, 0.0, self.visible[cell])
        said = self.ensemble.say(inputs).reshape(self.members, len(inputs), 2, self.n_ae)
        (reward, seen), (off, doubt) = (
            np.moveaxis(of, 1, 0) for of in (said.mean(axis=0), self.doubt * said.std(axis=0))
        )
        sure = off < self.unsure
        share = np.clip(np.where(sure, reward, reward - off), 0, 1)
        to_see = np.where(sure, 0.0, np.clip(seen + doubt, 0, 1))
        return self.r_min + (self.r_max - self.r_min) * share, to_see

    def monitor_rewards(self) -> FloatArray:
        """[sᵐ, aᵐ] R̄ᵐ, 0 where nothing was tried."""
        mean: FloatArray = self.monitor_paid / np.maximum(self.moved.sum(axis=2), 1)
        return mean

    def moves(self, cell: IntArray) -> FloatArray:
        """[i, sᵐ, aᵉ, aᵐ, s′ᵐ] p̄ᵐ: as in this cell, or as anywhere where it was not tried."""
        n = self.moved.sum(axis=2, keepdims=True)
        anywhere = np.where(n > 0, self.moved / np.maximum(n, 1), np.eye(self.n_sm)[:, None])
        here = self.cells.moved[cell]
        n = here.sum(axis=4, keepdims=True)
        return np.where(n > 0, here / np.maximum(n, 1), anywhere[None, :, None])

    def chance_to_see(self, cell: IntArray, can: FloatArray) -> FloatArray:
        """[i, sᵐ, aᵉ, aᵐ] u: that a pair shows a reward that is not known, if it `can` be seen."""
        if self.visibility == "counted":
            return self.shows[None, :, None] * can[:, None, :, None]
        n = self.cells.tried[cell]
        shows = np.where(n > 0, 1 - np.exp(-self.beta_kl / np.maximum(n, 1)), 1.0)
        return shows * (can > 0)[:, None, :, None]

    def estimate_visibility(self) -> None:
        """Find out how often the monitor shows, and which pairs can be seen at all.

        A pair can be seen with chance π, and then each try shows its reward with ρ(sᵐ,aᵐ). Both are
        fitted to all tries so far (expectation-maximisation); one show of one try comes on top, for
        every ρ and for π.
        """
        tried, shown = (self.cells.arrays[of][: self.cells.n] for of in ("tried", "shown"))
        seen = shown.sum(axis=(1, 3)) > 0
        met = tried.sum(axis=(1, 3)) > 0
        # Of two explanations that fit alike, the one in which more can be seen: it begins there.
        share = 0.9
        self.shows = (1 + shown.sum(axis=(0, 2))) / (1 + tried.sum(axis=(0, 2)))
        for _ in range(20):
            miss = np.log1p(-np.minimum(self.shows, 1 - 1e-9))
            missed = np.exp(np.einsum("csam,sm->ca", tried, miss))
            can = np.where(seen, 1.0, share * missed / (1 - share + share * missed + 1e-12))
            share = (1 + (can * met).sum()) / (1 + met.sum())
            n_shown, n = ((can[:, None, :, None] * of).sum(axis=(0, 2)) for of in (shown, tried))
            self.shows = (1 + n_shown) / (1 + n)
        self.visible = can

    def model(self, cell: IntArray, inputs: Inputs) -> Model:
        """Return all but continuations of the two values."""
        reward, can = self.believe(cell, inputs)
        tried = self.cells.tried[cell].sum(axis=(1, 3)) > 0
        tried |= ~tried.any(axis=1, keepdims=True)  # where nothing was, the network decides
        monitor = self.monitor_rewards()[None, :, None]
        return Model(
            reward[:, None, :, None] + monitor,
            self.chance_to_see(cell, can),
            1e-4 * monitor,
            self.moves(cell),
            tried[:, None, :, None],
        )

    def q_values(self, model: Model, continuation: FloatArray) -> tuple[FloatArray, FloatArray]:
        """[i, sᵐ, aᵉ, aᵐ] Q_opt, -∞ for actions never tried in the cell, and Q_obs."""
        opt, obs = (
            np.einsum("isamt,iat->isam", model.moves, continuation[:, of]) for of in (OPT, OBS)
        )
        q_opt = np.where(model.tried, model.reward + self.gamma * opt, -np.inf)
        later = np.where(model.tried, np.clip(obs, 0, 1), 1.0)
        return q_opt, model.u + (1 - model.u) * self.gamma * later + model.price

    # -- acting -------------------------------------------------------------------------------

    def begin_episode(self) -> bool:
        """Decide whether to observe; return it."""
        self.beginning = True
        self.observes = bool(
            self.worth_observing() > self.enough and self.rng.random() < self.observe
        )
        return self.observes

    def worth_observing(self) -> float:
        """V_obs where episodes begin, on average."""
        starts = np.flatnonzero(self.nodes.arrays["starts"][: len(self.continuations)])
        if not len(starts):
            return 1.0
        model = self.model(self.nodes.cell[starts], self.inputs[starts])
        _, q_obs = self.q_values(model, self.continuations[starts])
        return float(q_obs.max(axis=(2, 3)).mean())

    def act(self, observation: dict[str, Any]) -> dict[str, int]:
        """Act greedily on Q_obs or Q_opt; what was never tried comes first."""
        if not self.encode.settled:
            at_random = self.rng.integers((self.n_ae, self.n_am))
            return {"env": int(at_random[0]), "mon": int(at_random[1])}
        node = self.node(observation["env"])
        if self.beginning:
            self.nodes.starts[node] += 1
            self.beginning = False
        if node < len(self.continuations):
            continuation = self.continuations[[node]]
        else:
            continuation = self.say(self.inputs[[node]])
        model = self.model(self.nodes.cell[[node]], self.inputs[[node]])
        q_opt, q_obs = self.q_values(model, continuation)
        q = q_obs if self.observes else np.where(np.isinf(q_opt), np.inf, q_opt)
        q = q[0, observation["mon"]]
        best = np.flatnonzero(q.reshape(-1) >= q.max() - 1e-10)
        ae, am = divmod(int(best[self.rng.integers(len(best))]), self.n_am)
        return {"env": ae, "mon": am}

    def test_policy(self, observations: NDArray[Any]) -> FloatArray:
        """[s, a] greedy on Q_opt among actions that were tried; uniform before anything was."""
        n = len(observations)
        if not self.encode.settled or self.cells.n == 1:
            return np.full((n * self.n_sm, self.n_ae * self.n_am), 1 / (self.n_ae * self.n_am))
        best = self.network_values(observations).reshape(n * self.n_sm, -1).argmax(axis=1)
        return np.eye(self.n_ae * self.n_am)[best]

    def network_values(self, observations: NDArray[Any]) -> FloatArray:
        """[i, sᵐ, aᵉ, aᵐ] Q_opt as the network has it; -∞ for actions never tried in the cell."""
        inputs = np.stack([self.encode(of) for of in observations])
        cell = np.array([self.cell_of_code.get(code, NOWHERE) for code in self.codes(inputs)])
        return self.q_values(self.model(cell, inputs), self.say(inputs))[OPT]

    def values(self, batch: dict[str, NDArray[Any]]) -> FloatArray:
        """[i] V_opt of observations {"env": [i, …], "mon": [i]}, for a judge."""
        v = self.network_values(batch["env"]).max(axis=(2, 3))
        return np.asarray(v[np.arange(len(v)), batch["mon"]])

    def say(self, inputs: Inputs) -> FloatArray:
        """[i, 2, aᵉ, s′ᵐ] W_opt and W_obs, as the network has them."""
        continuation = self.used.say(inputs).reshape(len(inputs), 2, self.n_ae, self.n_sm)
        continuation[:, OPT] *= self.scale
        return continuation

    # -- learning -----------------------------------------------------------------------------

    def update(self, transition: Transition) -> None:
        """Learn from one step."""
        self.steps += 1
        if not self.encode.settled:
            self._warm_up(transition)
            return
        self._remember(transition)
        if self.nodes.n > self.memory:
            self._forget()
        if self.steps >= self.warmup and self.steps % self.every == 0:
            self.learn()

    def _warm_up(self, transition: Transition) -> None:
        """Find out how large the numbers of observations are; then take in what has happened."""
        self.waiting = [*getattr(self, "waiting", ()), transition]
        if len(self.waiting) == self.warmup:
            self.encode.settle(np.stack([of.observation["env"] for of in self.waiting]))
            for of in self.waiting:
                self._remember(of)
            del self.waiting

    def _remember(self, transition: Transition) -> None:
        here, after = transition.observation, transition.next_observation
        ae, am, sm = transition.action["env"], transition.action["mon"], here["mon"]
        node, following = self.node(here["env"]), self.node(after["env"])
        cell = self.nodes.cell[node]
        self.cells.tried[cell, sm, ae, am] += 1
        self.cells.moved[cell, sm, ae, am, after["mon"]] += 1
        self.moved[sm, am, after["mon"]] += 1
        self.monitor_paid[sm, am] += transition.monitor_reward
        if transition.reward is not None:
            self.cells.shown[cell, sm, ae, am] += 1
            self.cells.paid[cell, ae] += transition.reward
        if self.generalise == "ensemble" and 2 * self.shows[sm, am] > self.shows.max():
            row = self.tries.add()
            self.tries.node[row], self.tries.action[row] = node, ae
            self.tries.shown[row] = transition.reward is not None
            self.tries.reward[row] = transition.reward or 0.0
        key = node, ae, following, transition.terminated
        if key not in self.edge_of:
            edge = self.edge_of[key] = self.edges.add()
            for of, value in zip(EDGE, key, strict=True):
                self.edges.arrays[of][edge] = value
        self.edges.times[self.edge_of[key]] += 1

    def _forget(self) -> None:
        """Forget the older half of the memory; counts and networks stay."""
        gone = self.nodes.n // 2
        self.node_of = {key: node - gone for key, node in self.node_of.items() if node >= gone}
        self.nodes.keep(np.arange(gone, self.nodes.n))
        self.inputs = self.inputs[gone:]
        ends = self.edges.node[: self.edges.n], self.edges.successor[: self.edges.n]
        self.edges.keep(np.flatnonzero(np.minimum(*ends) >= gone), node=gone, successor=gone)
        columns = (self.edges.arrays[of][: self.edges.n].tolist() for of in EDGE)
        self.edge_of = {key: edge for edge, key in enumerate(zip(*columns, strict=True))}
        self.tries.keep(np.flatnonzero(self.tries.node[: self.tries.n] >= gone), node=gone)
        self.look_ahead()

    def node(self, observation: NDArray[Any]) -> int:
        """Return the number of an observation in memory."""
        key = observation.tobytes()
        if key not in self.node_of:
            inputs = self.encode.meet(observation)
            if len(inputs) > self.inputs.shape[1]:
                self._widen(len(inputs))
            node = self.node_of[key] = self.nodes.add()
            if node == len(self.inputs):
                self.inputs = np.concatenate([self.inputs, np.zeros_like(self.inputs)])
            self.inputs[node] = inputs
            (code,) = self.codes(inputs[None])
            if code not in self.cell_of_code:
                self.cell_of_code[code] = self.cells.add()
                if len(self.visible) < self.cells.n:
                    self.visible = np.concatenate([self.visible, np.ones((1, self.n_ae))])
            self.nodes.cell[node] = self.cell_of_code[code]
        return self.node_of[key]

    def codes(self, inputs: Inputs) -> list[bytes]:
        """The signs of random projections: observations that share them share a cell."""
        return [code.tobytes() for code in np.packbits(inputs @ self.signs > 0, axis=1)]

    def _widen(self, width: int) -> None:
        """Make room for more inputs."""
        more = width - self.inputs.shape[1]
        self.inputs = np.pad(self.inputs, ((0, 0), (0, more)))
        self.signs = np.concatenate([self.signs, self.rng.normal(size=(more, self.signs.shape[1]))])
        for net in (self.net, self.used):
            net.widen(width, self.rng)
        self.used.follow(self.net)
        if self.generalise == "ensemble":
            self.ensemble.widen(width, self.rng)

    def learn(self) -> None:
        """Take one step of gradient descent towards the targets."""
        if self.updates % self.refresh == 0:
            self.look_ahead()
        self.updates += 1
        i = self.known[self.rng.integers(len(self.known), size=self.batch)]
        self.net.fit(self.inputs[i], self.targets[i], self.weights[i])
        self.used.follow(self.net, 1 - self.average)
        if self.generalise == "ensemble" and self.tries.n:
            self._learn_rewards()

    def _learn_rewards(self) -> None:
        """Let the ensemble, with its random prior, say what was shown."""
        i = self.rng.integers(self.tries.n, size=self.batch)
        inputs, shown = self.inputs[self.tries.node[i]], self.tries.shown[i]
        reward = (self.tries.reward[i] - self.r_min) / max(self.r_max - self.r_min, 1e-12)
        tried = np.eye(self.n_ae)[self.tries.action[i]]
        weights = np.stack([shown[:, None] * tried, tried], axis=1)
        targets = np.stack([reward, shown], axis=1)[:, :, None] * np.ones(self.n_ae)
        weights, targets = (
            np.broadcast_to(of.reshape(self.batch, -1), (self.members, self.batch, 2 * self.n_ae))
            for of in (weights, targets)
        )
        self.ensemble.fit(inputs, targets, weights)

    def look_ahead(self) -> None:
        """Back values up through the memory; make them the network's targets."""
        n = self.nodes.n
        if self.visibility == "counted":
            self.estimate_visibility()
        edges = {name: array[: self.edges.n] for name, array in self.edges.arrays.items()}
        pair = edges["node"] * self.n_ae + edges["action"]
        times = np.bincount(pair, edges["times"], n * self.n_ae)
        weight = np.where(edges["ends"], 0.0, edges["times"]) / times[pair]
        tried = (times > 0).reshape(n, 1, self.n_ae, 1)
        cell = self.nodes.cell[:n]
        said = ahead = self.say(self.inputs[:n])
        model = self.model(cell, self.inputs[:n])
        for _ in range(self.lookahead):
            values = self.q_values(model, ahead)
            value = np.stack([q.max(axis=(2, 3)) for q in values])  # [2, node, sᵐ]
            backed = np.stack(
                [
                    np.bincount(pair, weight * value[of, edges["successor"], sm], n * self.n_ae)
                    for of in (OPT, OBS)
                    for sm in range(self.n_sm)
                ]
            )
            backed = backed.reshape(2, self.n_sm, n, self.n_ae).transpose(2, 0, 3, 1)
            ahead = np.where(tried, backed, said)
        self.continuations = ahead
        self._rescale(float(np.abs(backed[:, OPT]).max()))
        units = np.array([self.scale, 1.0])[:, None, None]
        self.targets = (backed / units).reshape(n, -1)
        self.weights = np.broadcast_to(tried * 1.0, backed.shape).reshape(n, -1)
        self.known = np.flatnonzero(tried.any(axis=(1, 2, 3)))

    def _rescale(self, largest: float) -> None:
        """Keep targets about as large as 1, and let the network say the same as before."""
        largest = max(largest, abs(self.r_min), abs(self.r_max), 1e-6)
        if not self.scale / 2 <= largest <= 2 * self.scale:
            for net in (self.net, self.used):
                net.rescale(slice(self.heads), self.scale / largest)
            self.scale = largest
