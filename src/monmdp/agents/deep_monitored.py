"""Deep Monitored MBIE-EB: networks for what is far away, tables for the monitor, r_min for ⊥.

The environment is seen through observations o, as many as there may be. The monitor is finite, so
all about it is counted: its rewards R̄ᵐ(sᵐ,aᵐ), its moves p̄ᵐ and how often it shows, ρ̄(sᵐ,aᵐ). One
network learns, for two values, nothing but *continuations*: what is still to come after aᵉ in o, if
the monitor is in s′ᵐ then,

    W(o,aᵉ,s′ᵐ) ≈ E[V(o′,s′ᵐ)], and 0 where the episode ends.

Everything else is composed when it is used, so that what is believed of a reward counts at once:

    Q_opt(o,sᵐ,a) = R̃ᵉ(o,aᵉ) + R̄ᵐ(sᵐ,aᵐ) + γ Σ p̄ᵐ(s′ᵐ) W_opt(o,aᵉ,s′ᵐ)
    Q_obs(o,sᵐ,a) = u + (1 − u) γ Σ p̄ᵐ(s′ᵐ) W_obs(o,aᵉ,s′ᵐ)

R̃ᵉ is r_min until a reward was shown nearby. u is the chance to see a reward that is not known yet,
so Q_obs is the discounted chance to see one soon. What counts as *nearby* and *tried* is a matter
of pseudo-counts: in cells, which are sets of observations with the same random signs (SimHash), or
by a network that predicts coin flips. Or an ensemble of networks has to agree on a reward.

The network learns from a memory of distinct observations and of what followed them. From time to
time values are backed up through that memory a few steps (`lookahead`), beginning with what the
network says, and become its targets. With `lookahead=1` this is fitted Q-iteration.
docs/algorithms/deep-monitored.md derives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monmdp.agents.contract import Transition
from monmdp.agents.deep_inputs import Learner, SimHash, with_room
from monmdp.agents.deep_networks import Ensemble, Inputs, Network
from monmdp.errors import MonMDPError
from monmdp.model.arrays import BoolArray, FloatArray, IntArray

OPT, OBS = 0, 1
"""the two values that are learnt"""
NOWHERE = 0
"""the cell of observations that are like none that was met"""
EDGE = ("node", "action", "successor", "ends")
"""what makes a transition in memory"""
PRICE = 1e-4
"""what the dearest step of the monitor takes off Q_obs: of two ways to see the same, the cheaper"""
VISIBLE, ROUNDS = 0.9, 20
"""where fitting which rewards can be seen begins, and in how many rounds it is done"""
SOON = 0.98
"""networks of pairs in use are running averages, too, but shorter ones"""
FLIPS = 16
"""coins that are flipped at every try"""
ENOUGH_TRIES = 0.5
"""a pair was tried, or shown, if it is as if this often"""


# ---- memory and counts ----------------------------------------------------------------------


class Growing:
    """Arrays with one row for each thing of a kind, which double when there is no more room."""

    def __init__(self, **rows: NDArray[Any]) -> None:
        self.n = 0
        self.arrays = {name: np.zeros((256, *row.shape), row.dtype) for name, row in rows.items()}

    def add(self) -> int:
        """Return the number of a new row, all zeros."""
        self.n += 1
        self.arrays = {name: with_room(array, self.n) for name, array in self.arrays.items()}
        return self.n - 1

    def keep(self, rows: IntArray, **less: int) -> None:
        """Keep these rows, and take a number off some columns."""
        room = max(256, len(rows))
        for name, array in self.arrays.items():
            kept = np.zeros((room, *array.shape[1:]), array.dtype)
            kept[: len(rows)] = array[rows] - less[name] if name in less else array[rows]
            self.arrays[name] = kept
        self.n = len(rows)

    def rows(self, *names: str) -> list[NDArray[Any]]:
        """These columns, as far as there are rows."""
        return [self.arrays[name][: self.n] for name in names]

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name in self.__dict__.get("arrays", {}):
            found: NDArray[Any] = self.__dict__["arrays"][name]
            return found
        raise AttributeError(name)


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


class Visibility(NamedTuple):
    """Which rewards can be seen."""

    shows: FloatArray
    """[sᵐ, aᵐ] ρ̄, how often the monitor shows what can be seen"""
    can: FloatArray
    """[k] the chance that a pair can be seen at all"""


def visibility_of(tried: FloatArray, shown: FloatArray) -> Visibility:
    """Fit which rewards can be seen to all tries so far; both are [k, sᵐ, aᵐ].

    A pair can be seen with chance π, and then each try shows its reward with ρ(sᵐ,aᵐ). Both are
    fitted by expectation-maximisation; one show of one try comes on top, for every ρ and for π.
    """
    seen, met = (of.sum(axis=(1, 2)) > 0 for of in (shown, tried))
    # Of two explanations that fit alike, the one in which more can be seen: it begins there.
    share = VISIBLE
    shows = (1 + shown.sum(axis=0)) / (1 + tried.sum(axis=0))
    for _ in range(ROUNDS):
        miss = np.log1p(-np.minimum(shows, 1 - 1e-9))
        missed = np.exp(np.einsum("ksm,sm->k", tried, miss))
        can = np.where(seen, 1.0, share * missed / (1 - share + share * missed + 1e-12))
        share = (1 + (can * met).sum()) / (1 + met.sum())
        n_shown, n = (np.einsum("k,ksm->sm", can, of) for of in (shown, tried))
        shows = (1 + n_shown) / (1 + n)
    return Visibility(shows, can)


# ---- the agent ------------------------------------------------------------------------------


@dataclass(eq=False)
class DeepMonitored(Learner):
    """The agent; it is given a `View` of the problem and a random stream, all else has defaults."""

    within: ClassVar[dict[str, str]] = {
        "lr": "(0, inf)", "beta_kl": "(0, inf)", "unsure": "(0, inf)", "unmet": "[1, inf)",
        "observe": "[0, 1]", "enough": "[0, 1]", "average": "[0, 1)",
    }  # fmt: skip
    at_least: ClassVar[dict[str, int]] = {"members": 2, "memory": 2}

    generalise: Literal["none", "ensemble"] = "none"
    """what is believed of a reward: what was shown nearby, r_min if nothing was; or what an
    ensemble agrees on that learns from all rewards shown"""
    counts: Literal["simhash", "coin-flips"] = "simhash"
    """what is nearby: the same random signs; or what a network takes for the same that learns to
    predict coin flips, a few at every try"""
    remember: bool = True
    """what an observation in memory has shown itself is known there, whatever cells and networks
    say; tests go by cells and networks alone"""
    bits: int | None = None
    """random signs that make a cell, fewer make larger cells; by default 64, which tell all grids
    of a few thousand states apart, and 16 where observations are real numbers"""
    thresholds: float = 1.0
    """where observations are real numbers: how far out the random thresholds are that projections
    are compared with, in deviations from the mean of the warm-up; 0: all of them are at the mean"""
    unmet: float | None = None
    """how large coin flips, which are 1 in size, are predicted where nothing was met: the larger,
    the less neighbours count as tried; by default 7, and 2 where observations are real numbers"""
    members: int = 5
    """of the ensemble (this and the next with generalise=ensemble)"""
    doubt: float = 2.0
    """deviations of the ensemble that are taken off its mean"""
    unsure: float = 0.1
    """a reward is still to be seen while so much is taken off, as a share of r_max − r_min, and
    while the chance that it can be seen is as large (with an ensemble or coin flips)"""
    visibility: Literal["counted", "kl-ucb"] = "counted"
    """when to give up on a reward that does not show: by how often the monitor shows others, or
    like Monitored MBIE-EB by its own tries (kl-ucb; these are counted in cells only)"""
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
    """the network of values in use is a running average of the one that learns, over about
    1/(1 − average) updates"""
    memory: int = 20_000
    """observations that are remembered; then the older half is forgotten"""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        super().__post_init__()
        ensemble, flips = self.generalise == "ensemble", self.counts == "coin-flips"
        self.learns_pairs = ensemble or flips
        if self.learns_pairs and self.visibility == "kl-ucb":
            raise MonMDPError("visibility=kl-ucb needs generalise=none and counts=simhash")
        self.demand_given("generalise=ensemble", ensemble, "members", "doubt")
        self.demand_given("generalise=ensemble or counts=coin-flips", self.learns_pairs, "unsure")
        self.demand_given("counts=coin-flips", flips, "unmet")
        self.demand_given("visibility=kl-ucb", self.visibility == "kl-ucb", "beta_kl")
        self.demand_given("observations of real numbers", not self.ready, "thresholds")
        bits, far, unmet = (64, 0.0, 7.0) if self.ready else (16, self.thresholds, 2.0)
        self.signs = SimHash(self.bits or bits, self.rng, far)
        width = self.met.encode.width
        self.heads = self.n_ae * self.n_sm
        sizes = width, self.hidden, 2 * self.heads
        self.net = Network(*sizes, self.rng, self.lr)
        # There is much to see until the contrary is known.
        self.net.rescale(slice(self.heads, None), 1.0, shift=1.0)
        self.used = Network(*sizes, self.rng)
        self.used.follow(self.net)
        self.scale = 1.0  # of W_opt
        self._make_tables()
        # Networks that say of pairs what they pay and whether they can be seen; and coin flips.
        if self.learns_pairs:
            members, prior = (self.members, 1.0) if self.generalise == "ensemble" else (1, 0.0)
            sizes = width, self.hidden, 2 * self.n_ae
            self.of_pairs = Ensemble(members, *sizes, self.rng, self.lr, prior, SOON)
        if self.counts == "coin-flips":
            sizes = width, self.hidden, 2 * self.n_ae * FLIPS
            self.flips = Ensemble(1, *sizes, self.rng, self.lr, self.unmet or unmet, SOON)
        self.updates = 0
        self.observes = True
        self.continuations = np.zeros((0, 2, self.n_ae, self.n_sm))

    def _make_tables(self) -> None:
        pair, whole = (self.n_sm, self.n_ae, self.n_am), np.zeros((), np.int64)
        # The monitor.
        self.moved = np.zeros((self.n_sm, self.n_am, self.n_sm))
        self.monitor_paid = np.zeros((self.n_sm, self.n_am))
        self.shows = np.ones((self.n_sm, self.n_am))
        # Cells: what was tried, shown and paid there; and which rewards can be seen.
        self.cell_of_code: dict[bytes, int] = {}
        self.cells = Growing(
            tried=np.zeros(pair),
            shown=np.zeros(pair),
            paid=np.zeros(self.n_ae),
            moved=np.zeros((*pair, self.n_sm)),
            can=np.zeros(self.n_ae),
        )
        self.cells.can[self.cells.add()] = 1.0  # NOWHERE
        # The memory: distinct observations, and what followed them.
        self.nodes = Growing(
            cell=whole,
            starts=np.zeros(self.n_sm),
            tried=np.zeros(self.n_ae, np.bool_),
            shown=np.zeros(self.n_ae),
            paid=np.zeros(self.n_ae),
            can=np.zeros(self.n_ae),
        )
        self.edge_of: dict[tuple[int, int, int, bool], int] = {}
        ends, times = np.zeros((), np.bool_), np.zeros(())
        self.edges = Growing(node=whole, action=whole, successor=whole, ends=ends, times=times)
        # Pairs of it, for networks that learn about these.
        self.pair_of: dict[tuple[int, int], int] = {}
        self.pairs = Growing(
            node=whole,
            action=whole,
            tried=np.zeros((self.n_sm, self.n_am)),
            shown=np.zeros((self.n_sm, self.n_am)),
            flips=np.zeros((2, FLIPS)),
        )

    # -- the model ----------------------------------------------------------------------------

    def believe(self, cell: IntArray, inputs: Inputs) -> tuple[FloatArray, FloatArray, BoolArray]:
        """[i, aᵉ] R̃ᵉ, the chance that it is still to be seen and can be, and what was tried."""
        tried = self.cells.tried[cell].sum(axis=(1, 3)) > 0
        if not self.learns_pairs:
            n = self.cells.shown[cell].sum(axis=(1, 3))
            mean = self.cells.paid[cell] / np.maximum(n, 1)
            to_see = np.where(n > 0, 0.0, self.cells.can[cell])
            return np.where(n > 0, mean, self.r_min), to_see, tried
        said = self.of_pairs.say(inputs).reshape(-1, len(inputs), 2, self.n_ae)
        (reward, can), (off, perhaps) = (
            np.moveaxis(of, 1, 0) for of in (said.mean(axis=0), self.doubt * said.std(axis=0))
        )
        if self.counts == "coin-flips":
            n_tried, n_shown = np.moveaxis(self.pseudo_counts(inputs), 1, 0)
            tried = n_tried >= ENOUGH_TRIES
            can = np.where(tried, can, 1.0)
        if self.generalise == "ensemble":
            sure = off < self.unsure
            share = np.where(sure, reward, reward - off)
        else:
            sure = n_shown >= ENOUGH_TRIES
            share = np.where(sure, reward, 0.0)
        can = np.clip(can + perhaps, 0, 1)
        to_see = np.where(sure | (can < self.unsure), 0.0, can)
        return self.r_min + (self.r_max - self.r_min) * np.clip(share, 0, 1), to_see, tried

    def pseudo_counts(self, inputs: Inputs) -> FloatArray:
        """[i, 2, aᵉ] how often pairs were tried, and shown, as coin flips tell.

        The best prediction of n flips of a coin is their mean, whose square is 1/n on average.
        """
        said = self.flips.say(inputs)[0].reshape(len(inputs), 2, self.n_ae, FLIPS)
        counts: FloatArray = 1 / np.maximum(np.square(said).mean(axis=3), 1e-6)
        return counts

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

    def chance_to_see(self, cell: IntArray, to_see: FloatArray) -> FloatArray:
        """[i, sᵐ, aᵉ, aᵐ] u: that a pair shows a reward that is not known and can be seen."""
        if self.visibility == "counted":
            return self.shows[None, :, None] * to_see[:, None, :, None]
        n = self.cells.tried[cell]
        shows = np.where(n > 0, 1 - np.exp(-self.beta_kl / np.maximum(n, 1)), 1.0)
        return shows * (to_see > 0)[:, None, :, None]

    def estimate_visibility(self) -> None:
        """Find out how often the monitor shows, and which pairs can be seen at all."""
        if self.learns_pairs:
            self.shows, can = visibility_of(*self.pairs.rows("tried", "shown"))
            self.nodes.can[tuple(self.pairs.rows("node", "action"))] = can
            return
        flat = -1, self.n_sm, self.n_am
        tried, shown = (
            of.transpose(0, 2, 1, 3).reshape(flat) for of in self.cells.rows("tried", "shown")
        )
        self.shows, can = visibility_of(tried, shown)
        self.cells.can[: self.cells.n] = can.reshape(-1, self.n_ae)

    def recall(self, nodes: IntArray) -> Model:
        """Return the model of observations in memory: what they showed themselves is known."""
        cell = self.nodes.cell[nodes]
        reward, to_see, tried = self.believe(cell, self.met.inputs[nodes])
        if self.remember:
            n = self.nodes.shown[nodes]
            mean = self.nodes.paid[nodes] / np.maximum(n, 1)
            reward = np.where(n > 0, mean, reward)
            to_see = np.where(n > 0, 0.0, np.minimum(to_see, self.nodes.can[nodes]))
            tried = tried | self.nodes.tried[nodes]
        return self.model(cell, reward, to_see, tried)

    def model(
        self, cell: IntArray, reward: FloatArray, to_see: FloatArray, tried: BoolArray
    ) -> Model:
        """Return all but continuations of the two values, from what `believe` says."""
        tried = tried | ~tried.any(axis=1, keepdims=True)  # where nothing was, the network decides
        monitor = self.monitor_rewards()[None, :, None]
        cost = np.minimum(monitor, 0)  # a monitor that pays gives no reason to observe
        return Model(
            reward[:, None, :, None] + monitor,
            self.chance_to_see(cell, to_see),
            PRICE * cost / max(-cost.min(), 1e-12),
            self.moves(cell),
            tried[:, None, :, None],
        )

    def q_values(self, model: Model, continuation: FloatArray) -> tuple[FloatArray, FloatArray]:
        """[i, sᵐ, aᵉ, aᵐ] Q_opt, -∞ for actions never tried nearby, and Q_obs."""
        opt, obs = (
            np.einsum("isamt,iat->isam", model.moves, continuation[:, of]) for of in (OPT, OBS)
        )
        q_opt = np.where(model.tried, model.reward + self.gamma * opt, -np.inf)
        later = np.where(model.tried, np.clip(obs, 0, 1), 1.0)
        return q_opt, model.u + (1 - model.u) * self.gamma * later + model.price

    # -- acting -------------------------------------------------------------------------------

    def begin_episode(self) -> bool:
        """Decide whether to observe; return it."""
        super().begin_episode()
        self.observes = bool(
            self.worth_observing() > self.enough and self.rng.random() < self.observe
        )
        return self.observes

    def worth_observing(self) -> float:
        """V_obs where episodes begin, on average."""
        starts = self.nodes.starts[: len(self.continuations)]
        nodes = np.flatnonzero(starts.any(axis=1))
        if not len(nodes):
            return 1.0
        _, q_obs = self.q_values(self.recall(nodes), self.continuations[nodes])
        return float(np.average(q_obs.max(axis=(2, 3)), weights=starts[nodes]))

    def act(self, observation: dict[str, Any]) -> dict[str, int]:
        """Act greedily on Q_obs or Q_opt; what was never tried comes first."""
        self._demand(observation)
        if not self.ready:
            return self.random_action()
        node = np.array([self.node(observation["env"])])
        known = node[0] < len(self.continuations)
        continuation = self.continuations[node] if known else self.say(self.met.inputs[node])
        q_opt, q_obs = self.q_values(self.recall(node), continuation)
        q = q_obs if self.observes else np.where(np.isinf(q_opt), np.inf, q_opt)
        q = q[0, observation["mon"]]
        best = np.flatnonzero(q.reshape(-1) >= q.max() - 1e-10)
        ae, am = divmod(int(best[self.rng.integers(len(best))]), self.n_am)
        return {"env": ae, "mon": am}

    def test_policy(self, observations: NDArray[Any]) -> FloatArray:
        """[s, a] greedy on Q_opt among actions that were tried; uniform before anything was met."""
        q = self.network_values(observations).reshape(len(observations) * self.n_sm, -1)
        if not self.ready or self.cells.n == 1:
            return np.full(q.shape, 1 / q.shape[1])
        return np.eye(q.shape[1])[q.argmax(axis=1)]

    def network_values(self, observations: NDArray[Any]) -> FloatArray:
        """[i, sᵐ, aᵉ, aᵐ] Q_opt as the network has it; -∞ for actions never tried nearby."""
        inputs = self.encoded(observations)
        cell = np.array([self.cell_of_code.get(code, NOWHERE) for code in self.codes(inputs)])
        model = self.model(cell, *self.believe(cell, inputs))
        return self.q_values(model, self.say(inputs))[OPT]

    def values(self, batch: dict[str, NDArray[Any]]) -> FloatArray:
        """[i] V_opt of observations {"env": [i, …], "mon": [i]}, for a judge."""
        v = self.network_values(batch["env"]).max(axis=(2, 3))
        return np.asarray(v[np.arange(len(v)), batch["mon"]])

    def say(self, inputs: Inputs) -> FloatArray:
        """[i, 2, aᵉ, s′ᵐ] W_opt and W_obs, as the network has them."""
        continuation = self.used.say(inputs).reshape(len(inputs), 2, self.n_ae, self.n_sm)
        continuation[:, OPT] *= self.scale
        return continuation

    # -- remembering --------------------------------------------------------------------------

    def take_in(self, transition: Transition, first: bool) -> None:
        """Count a step, and remember it."""
        here, after = transition.observation, transition.next_observation
        ae, am, sm = transition.action["env"], transition.action["mon"], here["mon"]
        node, following = self.node(here["env"]), self.node(after["env"])
        cell = self.nodes.cell[node]
        self.nodes.starts[node, sm] += first
        self.nodes.tried[node, ae] = True
        self.cells.tried[cell, sm, ae, am] += 1
        self.cells.moved[cell, sm, ae, am, after["mon"]] += 1
        self.moved[sm, am, after["mon"]] += 1
        self.monitor_paid[sm, am] += transition.monitor_reward
        if transition.reward is not None:
            self.cells.shown[cell, sm, ae, am] += 1
            self.cells.paid[cell, ae] += transition.reward
            self.nodes.shown[node, ae] += 1
            self.nodes.paid[node, ae] += transition.reward
        if self.learns_pairs:
            self._take_in_pair(node, transition)
        key = node, ae, following, transition.terminated
        if key not in self.edge_of:
            edge = self.edge_of[key] = self.edges.add()
            for of, value in zip(EDGE, key, strict=True):
                self.edges.arrays[of][edge] = value
        self.edges.times[self.edge_of[key]] += 1
        if self.nodes.n > self.memory:
            self._forget()

    def _take_in_pair(self, node: int, transition: Transition) -> None:
        """Count a try of a pair, and flip its coins."""
        sm, am = transition.observation["mon"], transition.action["mon"]
        key = node, transition.action["env"]
        if key not in self.pair_of:
            pair = self.pair_of[key] = self.pairs.add()
            self.pairs.node[pair], self.pairs.action[pair] = key
        pair, shown = self.pair_of[key], transition.reward is not None
        self.pairs.tried[pair, sm, am] += 1
        self.pairs.shown[pair, sm, am] += shown
        if self.counts == "coin-flips":
            flips = self.rng.choice((-1.0, 1.0), size=(2, FLIPS))
            self.pairs.flips[pair] += flips * np.array([1, shown])[:, None]

    def _forget(self) -> None:
        """Forget the half of the memory that was met first; counts of cells and networks stay."""
        gone = self.nodes.n // 2
        self.met.forget(gone)
        self.nodes.keep(np.arange(gone, self.nodes.n))
        ends = self.edges.rows("node", "successor")
        self.edges.keep(np.flatnonzero(np.minimum(*ends) >= gone), node=gone, successor=gone)
        edges = zip(*(of.tolist() for of in self.edges.rows(*EDGE)), strict=True)
        self.edge_of = {key: edge for edge, key in enumerate(edges)}
        (nodes,) = self.pairs.rows("node")
        self.pairs.keep(np.flatnonzero(nodes >= gone), node=gone)
        pairs = zip(*(of.tolist() for of in self.pairs.rows("node", "action")), strict=True)
        self.pair_of = {key: pair for pair, key in enumerate(pairs)}
        self.look_ahead()

    def node(self, observation: NDArray[Any]) -> int:
        """Return the number of an observation in memory."""
        node = self.met.number(observation)
        if node == self.nodes.n:
            self.nodes.add()
            self.nodes.can[node] = 1.0
            (code,) = self.codes(self.met.inputs[[node]])
            if code not in self.cell_of_code:
                cell = self.cell_of_code[code] = self.cells.add()
                self.cells.can[cell] = 1.0
            self.nodes.cell[node] = self.cell_of_code[code]
        return node

    def codes(self, inputs: Inputs) -> list[bytes]:
        """The random signs of inputs: observations that share all of them share a cell."""
        return [code.tobytes() for code in np.packbits(self.signs(inputs), axis=1)]

    # -- learning -----------------------------------------------------------------------------

    def learn(self) -> None:
        """Take one step of gradient descent towards the targets, from time to time."""
        if self.steps % self.every:
            return
        if self.updates % self.refresh == 0:
            self.look_ahead()
        self.updates += 1
        if len(self.known):
            i = self.known[self.rng.integers(len(self.known), size=self.batch)]
            self.net.fit(self.met.inputs[i], self.targets[i], self.weights[i])
            self.used.follow(self.net, 1 - self.average)
        if self.pairs.n:
            self._learn_pairs()

    def _learn_pairs(self) -> None:
        """Let networks say of pairs what was shown; each pair counts once, however often tried."""
        i = self.rng.integers(self.pairs.n, size=self.batch)
        of = {name: array[i] for name, array in self.pairs.arrays.items()}
        inputs, action = self.met.inputs[of["node"]], np.eye(self.n_ae)[of["action"]]
        n = np.stack([of[name].sum(axis=(1, 2)) for name in ("tried", "shown")], axis=1)
        here = of["node"], of["action"]
        mean = self.nodes.paid[here] / np.maximum(n[:, 1], 1)
        share = (mean - self.r_min) / max(self.r_max - self.r_min, 1e-12)
        weights = np.stack([n[:, 1] > 0, n[:, 0] > 0], axis=1)[:, :, None] * action[:, None]
        targets = np.stack([share, self.nodes.can[here]], axis=1)[:, :, None] * action[:, None]
        self.of_pairs.fit(inputs, *(x.reshape(self.batch, -1) for x in (targets, weights)))
        if self.counts == "coin-flips":
            mean = of["flips"] / np.maximum(n, 1)[:, :, None]
            weights = (n > 0)[:, :, None, None] * action[:, None, :, None] * np.ones(FLIPS)
            targets = mean[:, :, None] * action[:, None, :, None]
            self.flips.fit(inputs, *(x.reshape(self.batch, -1) for x in (targets, weights)))

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
        said = ahead = self.say(self.met.inputs[:n])
        model = self.recall(np.arange(n))
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
