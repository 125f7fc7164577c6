"""The deep agent against what is known exactly: the tabular agent's model, and exact values."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import numpy as np
import pytest

import monmdp
from monmdp import agents, experiment, testing
from monmdp.agents import Transition, View, view_of
from monmdp.agents.deep_inputs import RealNumbers, SimHash, WholeNumbers
from monmdp.agents.deep_monitored import PRICE, DeepMonitored
from monmdp.agents.monitored_mbie_eb import plan_to_observe, plan_to_optimize
from monmdp.envs import MonMDPEnv
from monmdp.errors import MonMDPError
from monmdp.results.late import late_of

NEVER = 10**9


def shown_to(agent, problem, step):
    """Hand a step of the simulator over as an agent sees it."""
    eye = np.eye(problem.mdp.n_states, dtype=np.uint8)
    observation, action, reward, rm, following, ended = step
    agent.update(
        Transition(
            {"env": eye[observation["env"]], "mon": observation["mon"]},
            action,
            reward,
            rm,
            {"env": eye[following["env"]], "mon": following["mon"]},
            ended,
        )
    )


def walk(problem, steps, seed=0, monitor_action=None):
    """Random steps of a problem, as (observation, action, reward or None, rᵐ, following, ended)."""
    env, rng = MonMDPEnv(problem), np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    for _ in range(steps):
        am = rng.integers(problem.shape.n_monitor_actions)
        action = {
            "env": int(rng.integers(problem.shape.n_env_actions)),
            "mon": int(am if monitor_action is None else monitor_action),
        }
        following, _, terminated, truncated, info = env.step(action)
        reward = float(info["proxy_reward"]) if info["reward_observed"] else None
        here = {key: int(value) for key, value in observation.items()}
        there = {key: int(value) for key, value in following.items()}
        yield here, action, reward, float(info["monitor_reward"]), there, bool(terminated)
        observation = following
        if terminated or truncated:
            observation, _ = env.reset()


@pytest.mark.parametrize(
    ("world", "monitor"), [("loop", "ask"), ("bottleneck", "button"), ("hazard", "n-experts")]
)
def test_its_model_is_that_of_the_tabular_agent(world, monitor):
    problem = monmdp.make(world, monitor, rho=0.5)
    config = agents.MonitoredMBIEEB(beta=0, beta_e=0, beta_m=0, beta_obs=0, growth="none")
    table = agents.Agent(config, problem)
    deep = DeepMonitored(
        view_of(problem), np.random.default_rng(0), visibility="kl-ucb", every=NEVER
    )
    for step in walk(problem, 3000):
        table.update(Transition(*step))
        shown_to(deep, problem, step)
    plan_to_optimize(table.state)
    plan_to_observe(table.state)
    n_se, n_sm, n_ae, n_am = problem.shape
    compared = 0
    for se, seen in enumerate(np.eye(n_se, dtype=np.uint8)):
        node = deep.met.number_of.get(seen.tobytes())
        if node is None:
            continue
        # What it acts on, and what tests go by; every state has a cell of its own.
        cell = deep.nodes.cell[[node]]
        by_cell = deep.model(cell, *deep.believe(cell, deep.met.inputs[[node]]))
        for sm in range(n_sm):
            tried = table.state.counts.n[se * n_sm + sm] > 0
            for model in (deep.recall(np.array([node])), by_cell):
                for name, mine in (("r_opt", model.reward[0, sm]), ("r_obs", model.u[0, sm])):
                    theirs = getattr(table.state, name)[se * n_sm + sm]
                    np.testing.assert_allclose(
                        mine.reshape(-1)[tried], theirs[tried], rtol=0, atol=1e-9
                    )
            compared += int(tried.sum())
    assert compared > 0.5 * n_se * n_ae * n_am
    assert len(deep.cell_of_code) == deep.nodes.n  # every state has a cell of its own


def test_looking_ahead_far_finds_the_exact_values():
    problem = monmdp.make("empty", "ask")
    agent = DeepMonitored(
        view_of(problem), np.random.default_rng(0), lookahead=600, every=NEVER, gamma=0.95
    )
    for step in walk(problem, 20_000, monitor_action=1):
        shown_to(agent, problem, step)
    agent.look_ahead()
    exact = monmdp.solve(problem, gamma=0.95)
    values = exact.minimax.values
    eye = np.eye(problem.mdp.n_states, dtype=np.uint8)
    states = [s for s, of in enumerate(eye) if of.tobytes() in agent.met.number_of]
    nodes = np.array([agent.met.number_of[eye[s].tobytes()] for s in states])
    model = agent.recall(nodes)
    q_opt, _ = agent.q_values(model, agent.continuations[nodes])
    tried_all = agent.cells.tried[agent.nodes.cell[nodes]].sum(axis=(1, 3)).all(axis=1)
    found = q_opt.max(axis=(1, 2, 3))
    np.testing.assert_allclose(
        found[tried_all], np.asarray(values).reshape(-1)[states][tried_all], atol=1e-6
    )
    assert tried_all.sum() > 10


def test_a_reward_counts_from_the_moment_it_is_shown():
    problem = monmdp.make("loop", "ask")
    agent = DeepMonitored(view_of(problem), np.random.default_rng(0), every=NEVER)
    hidden = {"env": 3, "mon": 0}, {"env": 1, "mon": 0}, None, 0.0, {"env": 4, "mon": 0}, False
    for _ in range(100):
        shown_to(agent, problem, hidden)
    node = agent.met.number_of[np.eye(9, dtype=np.uint8)[3].tobytes()]

    def believed():
        here, cell = np.array([node]), agent.nodes.cell[[node]]
        by_cell = agent.model(cell, *agent.believe(cell, agent.met.inputs[here]))
        return [of.reward[0, 0, 1, 0] for of in (agent.recall(here), by_cell)]

    assert believed() == [problem.mdp.r_min] * 2
    shown_to(agent, problem, (hidden[0], {"env": 1, "mon": 1}, 0.25, -0.2, *hidden[4:]))
    assert believed() == [0.25] * 2


@pytest.mark.parametrize(
    "learnt", [{"generalise": "ensemble", "members": 2}, {"counts": "coin-flips"}]
)
def test_a_reward_shown_in_an_observation_is_known_there_before_networks_learn_it(learnt):
    problem, ask = monmdp.make("loop", "ask"), {"env": 1, "mon": 1}
    agent = DeepMonitored(view_of(problem), np.random.default_rng(0), bits=1, every=NEVER, **learnt)
    for se, paid in ((3, 0.25), (3, 0.75), (4, None)):
        here, after = ({"env": of, "mon": 0} for of in (se, 5))
        shown_to(agent, problem, (here, ask, paid, -0.2, after, False))
    nodes = np.array([agent.met.number(np.eye(9, dtype=np.uint8)[se]) for se in (3, 4)])
    reward, u = (of[:, 0, 1, 1] for of in agent.recall(nodes)[:2])
    assert reward[0] == pytest.approx(0.5 - 0.2)
    assert u[0] == 0
    assert reward[1] != reward[0]
    if "generalise" in learnt:
        assert u[1] > 0  # it was not shown there, though the cell may be the same


@pytest.mark.parametrize("remember", [True, False])
def test_what_an_observation_never_showed_is_remembered_before_networks_learn_it(remember):
    problem, ask = monmdp.make("loop", "ask"), {"env": 1, "mon": 1}
    agent = DeepMonitored(
        view_of(problem), np.random.default_rng(0), generalise="ensemble", members=2, bits=1,
        every=NEVER, remember=remember,
    )  # fmt: skip
    for se in range(8):
        here, after = ({"env": of, "mon": 0} for of in (se, 8))
        for _ in range(5):
            shown_to(agent, problem, (here, ask, None if se == 4 else 0.5, -0.2, after, False))
    agent.estimate_visibility()
    nodes = np.array([agent.met.number(np.eye(9, dtype=np.uint8)[se]) for se in (0, 4)])
    reward, u = (of[:, 0, 1, 1] for of in agent.recall(nodes)[:2])
    if remember:
        assert reward[0] == pytest.approx(0.3)
        assert u[0] == 0
        assert u[1] < 1e-3
    else:
        assert reward[0] != pytest.approx(0.3)
        assert (u > 0.1).all()


def test_it_finds_out_what_can_never_be_seen():
    rng = np.random.default_rng(0)
    problem = monmdp.make("loop", "ask")
    agent = DeepMonitored(view_of(problem), rng, every=NEVER)
    for se in range(9):
        for ae in range(5):
            for _ in range(40):
                visible = (se, ae) != (4, 2)
                shown = visible and rng.random() < 0.2
                step = {"env": se, "mon": 0}, {"env": ae, "mon": 1}, 0.0 if shown else None
                shown_to(agent, problem, (*step, -0.2, {"env": (se + 1) % 9, "mon": 0}, False))
    agent.estimate_visibility()
    assert agent.shows[0, 1] == pytest.approx(0.2, abs=0.03)
    cell = agent.nodes.cell[agent.met.number_of[np.eye(9, dtype=np.uint8)[4].tobytes()]]
    assert agent.cells.can[cell, 2] < 0.05
    assert agent.cells.can[1 : agent.cells.n].sum() > 9 * 5 - 2


def test_two_failures_are_enough_where_asking_always_shows():
    problem = monmdp.make("loop", "ask")
    agent = DeepMonitored(view_of(problem), np.random.default_rng(0), every=NEVER)
    for se in range(9):
        for ae in range(5):
            reward = None if (se, ae) == (4, 2) else 0.0
            step = {"env": se, "mon": 0}, {"env": ae, "mon": 1}, reward
            for _ in range(2):
                shown_to(agent, problem, (*step, -0.2, {"env": (se + 1) % 9, "mon": 0}, False))
    agent.estimate_visibility()
    cell = agent.nodes.cell[agent.met.number_of[np.eye(9, dtype=np.uint8)[4].tobytes()]]
    assert agent.shows[0, 1] > 0.95
    assert agent.shows[0, 1] * agent.cells.can[cell, 2] < agent.enough


def test_the_ensemble_is_pessimistic_far_from_what_was_shown():
    view = View((2,), np.dtype(np.float64), 1, 2, 2, -1.0, 1.0)
    agent = DeepMonitored(
        view, np.random.default_rng(0), generalise="ensemble", members=5, warmup=50, every=1
    )
    rng = np.random.default_rng(1)
    for _ in range(1500):  # rewards of 0.5 are shown in the left half, and none in the right one
        here = rng.uniform(-1, 1, 2)
        reward = 0.5 if here[0] < 0 else None
        agent.update(
            Transition({"env": here, "mon": 0}, {"env": int(rng.integers(2)), "mon": 1}, reward,
                       -0.2, {"env": rng.uniform(-1, 1, 2), "mon": 0}, False)
        )  # fmt: skip
    inputs = np.stack([agent.met.encode(np.array(of)) for of in ((-0.5, 0.0), (0.9, 0.9))])
    reward, to_see, _ = agent.believe(np.zeros(2, dtype=np.int64), inputs)
    assert reward[0] == pytest.approx(0.5, abs=0.15)
    assert (reward[1] < reward[0] - 0.3).all()
    assert (to_see[0] == 0).all()


def test_it_forgets_the_older_half_and_goes_on():
    problem = monmdp.make("river-swim", "full-random", length=60)
    agent = DeepMonitored(view_of(problem), np.random.default_rng(0), memory=20, every=1, warmup=5)
    rng = np.random.default_rng(0)
    for se in rng.integers(60, size=400).tolist():
        step = {"env": se, "mon": 0}, {"env": int(rng.integers(2)), "mon": 0}, 0.0
        shown_to(agent, problem, (*step, 0.0, {"env": (se + 1) % 60, "mon": 0}, False))
        assert agent.nodes.n <= 22
        assert len(agent.met.number_of) == agent.nodes.n
        assert len(agent.edge_of) == agent.edges.n
        for of in ("node", "successor"):
            ends = agent.edges.arrays[of][: agent.edges.n]
            assert ((ends >= 0) & (ends < agent.nodes.n)).all()
    for key, node in agent.met.number_of.items():
        one_hot = np.frombuffer(key, dtype=np.uint8)
        np.testing.assert_array_equal(
            agent.met.encode(one_hot), agent.met.inputs[node, : agent.met.encode.width]
        )


@pytest.mark.parametrize("generalise", ["none", "ensemble"])
def test_conformance(generalise):
    problem = monmdp.make("loop", "ask")
    config = agents.find("deep-monitored", problem, {"generalise": generalise, "warmup": 20})
    assert testing.check_agent(config, problem) == []


def test_it_learns_a_grid():
    problem = monmdp.make("minigrid-empty", "ask")
    run = monmdp.train(problem, "deep-monitored", 8000, seed=5, gamma=0.95, every=1000)
    best = monmdp.solve(problem, gamma=0.95).episode_return
    assert run.curve["worst_case_return"][-1] == pytest.approx(best, rel=0.02)
    assert run.curve["bottom_visits"][-1] == 0


def test_a_judge_reads_its_values():
    problem = monmdp.make("minigrid-empty", "ask")
    agent = DeepMonitored(agents.view_of(problem), np.random.default_rng(3))
    made = agents.observations_of(problem)
    env = MonMDPEnv(problem)
    observation, _ = env.reset(seed=3)
    agent.begin_episode()
    for _ in range(6000):
        seen = {"env": made[observation["env"]], "mon": int(observation["mon"])}
        action = agent.act(seen)
        following, _, terminated, truncated, info = env.step(action)
        after = {"env": made[following["env"]], "mon": int(following["mon"])}
        agent.update(Transition.from_step(seen, action, after, terminated, info))
        observation = following
        if terminated or truncated:
            observation, _ = env.reset()
            agent.begin_episode()
    judged = experiment.Judge(problem, gamma=0.95)(agent, agent.values)
    assert judged.worst_case_return == pytest.approx(judged.minimax_return, rel=0.05)
    # Values of states that its policy visits are near the exact ones.
    assert np.abs(judged.bias[judged.visits > 1e-6]).max() < 0.1


# ---- its parts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"generalise": "enseble"}, "did you mean 'ensemble'"),
        ({"visibility": "seen"}, "counted"),
        ({"lookahead": 0}, "lookahead"),
        ({"observe": 1.5}, "observe"),
        ({"memory": 1}, "memory"),
    ],
)
def test_wrong_parameters_are_refused(wrong, said):
    view = view_of(monmdp.make("loop", "ask"))
    with pytest.raises(MonMDPError, match=said):
        DeepMonitored(view, np.random.default_rng(0), **wrong)


def test_a_variant_has_parameters_and_state_of_its_own_and_keeps_the_bounds_of_others():
    @dataclass(eq=False)
    class Variant(DeepMonitored):
        within: ClassVar[dict[str, str]] = {"hope": "[0, 1]"}
        hope: float | None = None
        places: tuple[int, ...] = (0, 0)
        seen: int = field(default=0, init=False)

    view, rng = view_of(monmdp.make("loop", "ask")), np.random.default_rng(0)
    made = Variant(view, rng, hope=0.5, places=(1, 2))
    assert (made.hope, made.places, made.seen) == (0.5, (1, 2), 0)
    for wrong in ({"hope": 2}, {"observe": 7}, {"lr": 0}, {"members": 1, "generalise": "ensemble"}):
        with pytest.raises(MonMDPError, match=next(iter(wrong))):
            Variant(view, rng, **wrong)
    Variant.within = {"hope": (0, 1)}
    with pytest.raises(MonMDPError, match=r"Variant.within: hope is \(0, 1\), an interval such as"):
        Variant(view, rng, hope=0.5)


OTHER = {
    "gamma": 0.5, "warmup": 60, "generalise": "ensemble", "counts": "coin-flips", "bits": 2,
    "members": 2, "doubt": 0.1, "unsure": 0.4, "visibility": "kl-ucb", "beta_kl": 1.0,
    "observe": 0.1, "enough": 0.9, "hidden": 4, "lr": 0.01, "batch": 8, "every": 3, "refresh": 5,
    "lookahead": 2, "average": 0.5, "memory": 3, "remember": False, "unmet": 3.0,
}  # fmt: skip
OF_ENSEMBLES = {"members", "doubt", "unsure", "remember"}


def lived(problem, **given):
    """All that an agent did in random dynamics of a problem, and what it has learnt."""
    agent = DeepMonitored(
        view_of(problem), np.random.default_rng(0), **{"hidden": 8, "every": 1, **given}
    )
    rng, eye = np.random.default_rng(1), np.eye(9, dtype=np.uint8)
    seen, done = {"env": eye[0], "mon": 0}, []
    agent.begin_episode()
    for _ in range(400):
        action = agent.act(seen)
        done.append(tuple(action.values()))
        s, ends = int(rng.integers(9)), bool(rng.random() < 0.1)
        after = {"env": eye[s], "mon": 0}
        shown = action["mon"] == 1 and rng.random() < 0.5
        paid = float(s == 3) if shown else None
        agent.update(Transition(seen, action, paid, -0.2 * action["mon"], after, ends))
        seen = after
        if ends:
            agent.begin_episode()
    return done, agent.values({"env": eye, "mon": np.zeros(9, dtype=np.int64)}).tolist()


def test_each_option_does_something():
    problem = monmdp.make("loop", "ask")
    here = {of.name for of in fields(DeepMonitored)} - {"view", "rng", "thresholds"}
    assert set(OTHER) == here  # thresholds are for real numbers; see below
    plain = lived(problem)
    assert plain == lived(problem)
    flips = {"counts": "coin-flips"}
    assert lived(problem, **flips, unmet=OTHER["unmet"]) != lived(problem, **flips)
    ensemble = lived(problem, generalise="ensemble", members=3)
    kl_ucb = lived(problem, visibility="kl-ucb")
    for option, value in OTHER.items():
        if option in OF_ENSEMBLES:
            given = {"generalise": "ensemble", "members": 3, option: value}
            assert lived(problem, **given) != ensemble, option
        elif option == "beta_kl":
            assert lived(problem, visibility="kl-ucb", beta_kl=value) != kl_ucb
        elif option != "unmet":
            assert lived(problem, **{option: value}) != plain, option


@pytest.mark.parametrize("learnt", [{"generalise": "ensemble"}, {"counts": "coin-flips"}])
def test_kl_ucb_goes_by_counts_in_cells(learnt):
    with pytest.raises(MonMDPError, match="kl-ucb needs generalise=none and counts=simhash"):
        agents.find("deep-monitored", params={"visibility": "kl-ucb", **learnt})


@pytest.mark.parametrize(
    "given", [{"members": 3}, {"doubt": 1}, {"unsure": 1}, {"beta_kl": 1}, {"unmet": 3}]
)
def test_a_parameter_that_would_change_nothing_is_refused(given):
    with pytest.raises(MonMDPError, match="does nothing without"):
        agents.find("deep-monitored", params=given)


@pytest.mark.parametrize("name", ["deep-monitored", "deep-discretised"])
def test_thresholds_are_for_real_numbers(name):
    given = {"thresholds": 2}
    assert agents.find(name, params=given).keywords == given  # it may be for real numbers
    with pytest.raises(MonMDPError, match=r"thresholds=2.* does nothing without .* real numbers"):
        agents.find(name, monmdp.make("loop", "ask"), given)


def test_it_says_what_it_sees_to_those_who_ask_of_something_else():
    real = View((4,), np.dtype(np.float32), 1, 2, 2, 0.0, 1.0)
    agent, one = DeepMonitored(real, np.random.default_rng(0)), np.zeros(4, np.float32)
    assert agent.test_policy(one[None]).shape == (1, 4)
    for ask in (agent.test_policy, lambda of: agent.values({"env": of, "mon": np.zeros(1, int)})):
        with pytest.raises(MonMDPError, match=r"one observation, .* add \[None\]"):
            ask(one)
        with pytest.raises(MonMDPError, match=r"of arrays \(4,\) of float32, got \(1, 5\)"):
            ask(np.zeros((1, 5), np.float32))
        with pytest.raises(MonMDPError, match=r"of float32, got .* of float64"):
            ask(np.zeros((1, 4)))
        with pytest.raises(MonMDPError, match="no observations"):
            ask(np.zeros((0, 4), np.float32))
        with pytest.raises(MonMDPError, match="not finite"):
            ask(one[None] + np.nan)


def test_parameters_of_a_variant_may_be_of_any_simple_kind():
    @dataclass(eq=False)
    class Variant(DeepMonitored):
        flag: bool = True
        mode: str = "x"

    class Forgotten(DeepMonitored):
        extra: int = 3

    agents.find(Variant, params={"flag": False, "mode": "y"})
    with pytest.raises(MonMDPError, match="flag must be"):
        agents.find(Variant, params={"flag": 1.5})
    with pytest.raises(MonMDPError, match=r"Forgotten .* so extra cannot be set: put @dataclass"):
        agents.find(Forgotten, params={"extra": 2})


@pytest.mark.parametrize(("paid", "price"), [(-0.2, -PRICE), (0.2, 0.0)])
def test_a_monitor_that_pays_is_no_reason_to_observe(paid, price):
    """Of two ways to see the same, the cheaper one; what it pays counts for Q_opt alone."""
    problem = monmdp.make("loop", "ask")
    agent = DeepMonitored(view_of(problem), np.random.default_rng(0), every=NEVER)
    here = {"env": 0, "mon": 0}
    for am in (0, 1):
        step = here, {"env": 0, "mon": am}, None
        shown_to(agent, problem, (*step, paid * am, here, False))
    model = agent.recall(np.array([0]))
    assert (model.price <= 0).all()
    assert model.reward[0, 0, 0, 1] - model.reward[0, 0, 0, 0] == pytest.approx(paid)
    gap = model.price[0, 0, 0, 1] - model.price[0, 0, 0, 0]
    assert gap == pytest.approx(price)


def test_what_it_is_worth_to_observe_is_weighed_by_where_episodes_begin():
    problem = monmdp.make("loop", "button")
    agent = DeepMonitored(view_of(problem), np.random.default_rng(0), every=NEVER)
    for se in range(9):
        for sm in range(2):
            step = {"env": se, "mon": sm}, {"env": 0, "mon": 0}, None
            shown_to(agent, problem, (*step, 0.0, {"env": se, "mon": sm}, True))
    agent.look_ahead()
    agent.shows[:] = [[0.1], [0.6]]
    agent.cells.tried[:] = 1  # nothing is new
    found = []
    for sm in range(2):
        agent.nodes.starts[:] = 0
        agent.nodes.starts[2, sm] = 5
        found.append(agent.worth_observing())
    assert found[0] < found[1]
    agent.nodes.starts[2] = 1, 3
    assert agent.worth_observing() == pytest.approx((found[0] + 3 * found[1]) / 4)


def test_where_episodes_begin_is_noted_in_the_warm_up_too():
    view = View((2,), np.dtype(np.float64), 1, 2, 2, -1.0, 1.0)
    agent = DeepMonitored(view, np.random.default_rng(0), warmup=4, every=NEVER)
    for k in range(4):
        if k % 2 == 0:
            agent.begin_episode()
        here, after = ({"env": np.array([k + i, 0.0]), "mon": 0} for i in range(2))
        agent.update(Transition(here, {"env": 0, "mon": 0}, None, 0.0, after, bool(k % 2)))
    starts = [agent.nodes.starts[agent.node(np.array([k, 0.0])), 0] for k in range(5)]
    assert starts == [1, 0, 1, 0, 0]


def test_of_two_ways_to_see_the_same_it_takes_the_cheaper():
    view = view_of(monmdp.make("loop", "ask"))._replace(n_monitor_actions=3)
    agent = DeepMonitored(view, np.random.default_rng(0), every=NEVER)
    eye = np.eye(9, dtype=np.uint8)
    for ae in range(5):
        for am, cost in ((0, 0.0), (1, -30.0), (2, -20.0)):
            seen = {"env": eye[0], "mon": 0}
            paid = None if am == 0 or ae == 4 else 0.0
            agent.update(Transition(seen, {"env": ae, "mon": am}, paid, cost, seen, False))
    agent.look_ahead()
    agent.cells.can[:] = 1.0  # action 4 can be seen, but was not yet; both ways show it as often
    agent.shows[:] = 0.0, 0.5, 0.5
    agent.observes = True
    assert agent.act({"env": eye[0], "mon": 0}) == {"env": 4, "mon": 2}


@pytest.mark.parametrize("generalise", ["none", "ensemble"])
def test_a_reward_that_shows_rarely_counts_once(generalise):
    """The chance to see is ρ times the chance that it can be seen, in either way of believing."""
    rng, problem = np.random.default_rng(0), monmdp.make("loop", "ask")
    agent = DeepMonitored(
        view_of(problem), rng, generalise=generalise, warmup=1, every=1, refresh=200
    )
    for _ in range(4):
        for se in range(9):
            for ae in range(5):
                for _ in range(5):
                    shown = (se, ae) != (4, 2) and rng.random() < 0.3
                    step = {"env": se, "mon": 0}, {"env": ae, "mon": 1}, 0.0 if shown else None
                    shown_to(agent, problem, (*step, -0.2, {"env": se, "mon": 0}, False))
    agent.look_ahead()
    assert agent.shows[0, 1] == pytest.approx(0.3, abs=0.05)
    nowhere, inputs = np.array([0]), np.full_like(agent.met.inputs[:1], 3)
    unmet = agent.model(nowhere, *agent.believe(nowhere, inputs))
    assert unmet.u[0, 0, :, 1].max() == pytest.approx(agent.shows[0, 1], abs=0.01)
    node = agent.met.number(np.eye(9, dtype=np.uint8)[4])
    assert agent.recall(np.array([node])).u[0, 0, 2, 1] < 0.05


def test_cells_of_real_numbers_tell_far_from_near():
    """Without thresholds all inputs in one direction have the same signs, however far they are."""
    far = np.outer([0.1, 1, 10, 100], [1, 2]).astype(np.float32)
    plain, with_thresholds = (
        {of.tobytes() for of in SimHash(32, np.random.default_rng(0), thresholds)(far)}
        for thresholds in (0.0, 1.0)
    )
    assert (len(plain), len(with_thresholds)) == (1, 4)
    whole, real = (
        DeepMonitored(View((2,), np.dtype(kind), 1, 2, 2, 0.0, 1.0), np.random.default_rng(0))
        for kind in (np.uint8, np.float32)
    )
    assert not whole.signs.thresholds.any()  # the first grid has inputs 0
    assert len(whole.signs.thresholds) == 64
    assert (real.signs.thresholds != 0).sum() == 16
    wider = replace(real, rng=np.random.default_rng(0), thresholds=3.0)
    assert wider.signs.thresholds == pytest.approx(3 * real.signs.thresholds)


def test_thresholds_are_in_deviations_however_many_numbers_there_are():
    told_apart = []
    for size in (2, 1000):
        inputs = np.outer([1, 4], np.ones(size)).astype(np.float32)
        near, far = SimHash(20_000, np.random.default_rng(0), 1.0)(inputs)
        told_apart.append((near != far).mean())
    assert told_apart[0] == pytest.approx(told_apart[1], rel=0.1)


def test_what_was_tried_in_an_observation_is_known_there_before_coin_flips_are_learnt():
    problem = monmdp.make("loop", "ask")
    agent = DeepMonitored(
        view_of(problem), np.random.default_rng(0), counts="coin-flips", every=NEVER
    )
    here, after = ({"env": of, "mon": 0} for of in (3, 4))
    shown_to(agent, problem, (here, {"env": 1, "mon": 0}, None, 0.0, after, False))
    node = np.array([agent.met.number(np.eye(9, dtype=np.uint8)[3])])
    assert agent.recall(node).tried[0, 0, :, 0].tolist() == [False, True, False, False, False]


def test_coin_flips_count():
    problem = monmdp.make("loop", "ask")
    agent = DeepMonitored(
        view_of(problem), np.random.default_rng(0), counts="coin-flips", warmup=1, every=1
    )
    times = {0: 1, 1: 4, 2: 16}
    eye = np.eye(9, dtype=np.uint8)
    agent.node(eye[8])  # so that no other has all inputs at 0
    for se, n in times.items():
        for k in range(n):
            seen = {"env": eye[se], "mon": 0}
            paid = 0.5 if k % 4 == 0 else None
            agent.update(Transition(seen, {"env": 0, "mon": 1}, paid, 0.0, seen, False))
    for _ in range(1500):
        agent._learn_pairs()
    counts = agent.pseudo_counts(agent.met.inputs[[agent.met.number(eye[se]) for se in times]])
    tried, shown = counts[:, 0, 0], counts[:, 1, 0]
    assert tried == pytest.approx([1, 4, 16], rel=0.6)
    assert shown == pytest.approx([1, 1, 4], rel=0.6)
    assert (counts[:, :, 1:] < counts[:, :, :1]).all()  # other actions were never taken


@pytest.mark.slow
def test_coin_flips_tell_neighbours_on_a_grid_apart():
    problem = monmdp.make("minigrid-empty", "ask")
    agent = monmdp.agents.find("deep-monitored", params={"counts": "coin-flips"})
    late = late_of(
        monmdp.train(problem, agent, 12_000, every=1000, seed=0),
        monmdp.solve(problem, gamma=0.95).episode_return,
    )
    assert late.within >= 0.8
    assert late.bottom < 0.01
    assert late.paid < 0.1


def test_a_memory_of_hardly_anything_will_do():
    problem = monmdp.make("loop", "ask")
    for memory in (2, 3, 5):
        for given in ({}, {"generalise": "ensemble", "members": 2}):
            lived(problem, memory=memory, **given)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["minigrid-empty", "minigrid-lava"])
def test_coarse_cells_are_enough_for_an_ensemble(world):
    problem = monmdp.make(world, "ask")
    best = monmdp.solve(problem, gamma=0.95).episode_return
    made = []

    def agent(view, rng):
        made.append(DeepMonitored(view, rng, generalise="ensemble", members=5, bits=6))
        return made[0]

    agent.sees = "observations"
    run = monmdp.train(problem, agent, 14_000, seed=1, gamma=0.95, every=1000)
    assert run.curve["worst_case_return"][-1] == pytest.approx(best, rel=0.02)
    assert len(made[0].cell_of_code) < problem.mdp.n_states / 3 + 1


def test_inputs_of_whole_numbers():
    encode = WholeNumbers()
    assert not encode.meet(np.array([5, 5, 5])).any()
    one = encode.meet(np.array([5, 7, 5]))
    two = encode.meet(np.array([5, 8, 9]))
    assert one.sum() == 1
    assert two.sum() == 2
    assert one @ two == 0
    np.testing.assert_array_equal(encode(np.array([5, 7, 5])), one)
    assert not encode(np.array([5, 5, 1])).any()  # never met: left out
    for value in range(100):
        encode.meet(np.array([value, 5, 5]))
    assert encode.width == 128
    encode = WholeNumbers()
    images = np.arange(256)[:, None] + np.zeros(300, dtype=np.int64)
    with pytest.raises(MonMDPError, match="more than 65,536 numbers in different places"):
        list(map(encode.meet, images))


def test_inputs_of_real_numbers():
    rng = np.random.default_rng(0)
    met = rng.normal(3.0, 2.0, size=(2000, 2))
    met[:, 1] = 7.0
    encode = RealNumbers(2)
    encode.settle(met)
    inputs = np.stack([encode(of) for of in met])
    assert inputs[:, 0].mean() == pytest.approx(0, abs=0.01)
    assert inputs[:, 0].std() == pytest.approx(1, abs=0.01)
    assert encode(np.array([3.0, 8.0]))[1] == 1.0  # what was always the same has no scale


def test_inputs_of_real_numbers_survive_rounding_and_overflow():
    encode = RealNumbers(2)
    encode.settle(np.full((50, 2), [1000.3, 1e20], dtype=np.float32))
    assert encode(np.array([1001.3, 1e20], dtype=np.float32)) == pytest.approx([1, 0], abs=1e-3)
    met = np.full((50, 2), 1e20, dtype=np.float32)
    met[::2] = -1e20
    encode.settle(met)
    assert encode(np.array([1e20, -1e20], dtype=np.float32)) == pytest.approx([1, -1])
    encode = RealNumbers(2)
    encode.settle(np.random.default_rng(0).normal(size=(50, 2)))
    assert encode(np.array([1e60, -1e60])).tolist() == [1e6, -1e6]
