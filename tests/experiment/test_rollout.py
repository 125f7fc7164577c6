"""Episodes step by step: experiment.rollout, films of them, and the command."""

import json

import numpy as np
import pytest
from PIL import Image

from monmdp import MDP, Policy, make, monitors, solve, train, worlds
from monmdp.drawing import film, save_film
from monmdp.errors import MonMDPError
from monmdp.experiment import observing_policy, rollout
from monmdp.model.monmdp import join

PROBLEMS = [
    ("river-swim", "ask", {"rho": 0.4}),
    ("bottleneck", "button", {"rho": 0.5, "slip": 0.1}),
    ("loop", "level-up", {}),
]


def loose(monmdp, epsilon=0.3, seed=0):
    """A policy that does everything now and then."""
    solution = solve(monmdp)
    random = np.random.default_rng(seed).dirichlet(np.ones(monmdp.n_actions), monmdp.n_states)
    return Policy(monmdp.shape, (1 - epsilon) * solution.minimax.policy + epsilon * random)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "monitor", "params"), PROBLEMS)
def test_the_mean_return_is_the_exact_one(world, monitor, params):
    monmdp = make(world, monitor, **params)
    policy, rng = loose(monmdp), np.random.default_rng(7)
    returns = [rollout(monmdp, policy, rng).discounted(0.99) for _ in range(1500)]
    exact = policy.evaluate(monmdp, 0.99)["episode_return"]
    error = np.std(returns, ddof=1) / np.sqrt(len(returns))
    assert abs(np.mean(returns) - exact) < 4.5 * error


@pytest.mark.parametrize(("world", "monitor", "params"), PROBLEMS)
def test_every_step_is_one_of_the_model(world, monitor, params):
    monmdp = make(world, monitor, **params)
    mdp = monmdp.mdp
    policy, rng = loose(monmdp, epsilon=1.0), np.random.default_rng(1)
    for _ in range(30):
        episode = rollout(monmdp, policy, rng)
        n = len(episode)
        assert 1 <= n <= mdp.time_limit
        assert len(episode.state) == len(episode.monitor_state) == n + 1
        assert mdp.start[episode.state[0]] > 0
        assert monmdp.monitor.start[episode.monitor_state[0]] > 0
        ended = False
        for t in range(n):
            assert not ended
            pair = episode.state[t] * mdp.n_actions + episode.action[t]
            among = slice(mdp.first[pair], mdp.first[pair + 1])
            fits = (mdp.successor[among] == episode.state[t + 1]) & (
                mdp.reward[among] == episode.reward[t]
            )
            assert fits.any()
            ends = mdp.terminates[among][fits]
            ended = bool(ends.all())
            if mdp.hidden[among][fits].all():
                assert not episode.shown[t]
            pays = monmdp.monitor.reward[episode.monitor_state[t], episode.monitor_action[t]]
            assert episode.monitor_reward[t] == pays
        assert episode.terminated == ended
        assert episode.terminated or n == mdp.time_limit
        joint = episode.state[:-1] * monmdp.monitor.n_states + episode.monitor_state[:-1]
        action = episode.action * monmdp.monitor.n_actions + episode.monitor_action
        assert (policy.probability[joint, action] > 0).all()


def test_the_same_stream_gives_the_same_episode():
    monmdp = make("river-swim", "ask")
    policy = loose(monmdp)
    one, two = (rollout(monmdp, policy, np.random.default_rng(3)) for _ in range(2))
    assert (one.state == two.state).all()
    assert (one.reward == two.reward).all()
    assert len(rollout(monmdp, policy, np.random.default_rng(3), limit=5)) == 5


# ---- visits ---------------------------------------------------------------------------------


def swing(time_limit):
    """Two states; action 0 leads on with chance 3/4, then ends or leads back; action 1 waits."""
    outcomes = [
        (0, 0, 1, 0.75, 0.0, False, False),
        (0, 0, 0, 0.25, 0.0, False, False),
        (1, 0, 1, 0.5, 1.0, True, False),
        (1, 0, 0, 0.5, 0.0, False, False),
        (0, 1, 0, 1.0, 0.0, False, False),
        (1, 1, 1, 1.0, 0.0, False, False),
    ]
    mdp = MDP.from_outcomes(
        outcomes, name="swing", n_states=2, n_actions=2, start=[1.0, 0.0], time_limit=time_limit
    )
    return join(mdp, monitors.make("full"))


# Chances to be in the states, as long as it lasts: (1, 0), (1/4, 3/4), (17/80, 51/80); for ever,
# the first row of (I - P)⁻¹ with P = ((1/4, 3/4), (1/5, 3/5)).
@pytest.mark.parametrize(
    ("limit", "in_states"),
    [(1, (1, 0)), (2, (5 / 4, 3 / 4)), (3, (117 / 80, 111 / 80)), (3000, (8 / 3, 5))],
)
def test_visits_by_hand(limit, in_states):
    monmdp = swing(limit)
    policy = Policy(monmdp.shape, np.array([[1.0, 0.0], [0.4, 0.6]]))
    first, second = in_states
    expected = [[first, 0], [0.4 * second, 0.6 * second]]
    np.testing.assert_allclose(policy.visits(monmdp), expected, rtol=1e-12)


@pytest.mark.parametrize("limit", [1, 2, None])
@pytest.mark.parametrize(("world", "monitor", "params"), PROBLEMS)
def test_all_visits_together_are_the_length_of_an_episode(world, monitor, params, limit):
    monmdp = make(world, monitor, **params, **({} if limit is None else {"time_limit": limit}))
    policy = loose(monmdp)
    visits = policy.visits(monmdp)
    assert visits.shape == policy.probability.shape
    assert visits.sum() == pytest.approx(policy.evaluate(monmdp)["episode_length"], rel=1e-9)
    if limit == 1:
        np.testing.assert_allclose(visits, monmdp.start[:, None] * policy.probability)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "monitor", "params"), PROBLEMS)
def test_episodes_visit_as_often_as_they_should(world, monitor, params):
    monmdp = make(world, monitor, **params)
    policy, rng, n = loose(monmdp), np.random.default_rng(11), 600
    counts = np.zeros((n, *policy.probability.shape))
    for i in range(n):
        episode = rollout(monmdp, policy, rng)
        for t in range(len(episode)):
            s = episode.state[t] * monmdp.monitor.n_states + episode.monitor_state[t]
            a = episode.action[t] * monmdp.monitor.n_actions + episode.monitor_action[t]
            counts[i, s, a] += 1
    exact = policy.visits(monmdp)
    seldom = exact < 0.05  # too few counts for an error to be known
    error = counts.std(axis=0, ddof=1) / np.sqrt(n)
    assert (~seldom).sum() >= 10
    assert (np.abs(counts.mean(axis=0) - exact)[~seldom] < 4.5 * error[~seldom]).all()
    rest = counts[:, seldom].sum(axis=1)
    assert abs(rest.mean() - exact[seldom].sum()) < 4.5 * rest.std(ddof=1) / np.sqrt(n)


def test_visits_need_a_problem_of_their_shape_and_a_time_limit():
    policy = loose(make("loop", "ask"))
    with pytest.raises(MonMDPError, match="the policy is for 9 x 1 states"):
        policy.visits(make("bottleneck", "ask"))
    with pytest.raises(MonMDPError, match="no time limit"):
        Policy((2, 1, 2, 1), np.full((2, 2), 0.5)).visits(swing(None))


def test_to_observe_is_greedy_on_the_last_snapshot():
    monmdp = make("loop", "ask")
    run = train(monmdp, "monitored-mbie-eb", 500, snapshots=2)
    policy = observing_policy(run)
    q = run.snapshots["q_obs"][-1]
    chosen = policy.probability > 0
    assert (q[chosen] >= np.repeat(q.max(axis=1) - 1e-9, chosen.sum(axis=1))).all()
    assert policy.origin == run.policy.origin
    with pytest.raises(MonMDPError, match="no snapshot of Q_obs"):
        observing_policy(train(monmdp, "monitored-mbie-eb", 200))
    with pytest.raises(MonMDPError, match="here has no snapshot"):
        observing_policy(train(monmdp, "mbie-eb", 200, snapshots=1), "here")


# ---- films ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def filmed():
    monmdp = make("loop", "ask", rho=0.5)
    episode = rollout(monmdp, loose(monmdp, 1.0), np.random.default_rng(0), limit=12)
    return monmdp, episode


@pytest.mark.slow
def test_a_film_has_a_picture_for_every_state(filmed, tmp_path):
    monmdp, episode = filmed
    for fps, hundredths in ((4, 25), (10.0, 10), (50, 2)):
        save_film(monmdp, episode, tmp_path / "film.gif", fps=fps)
        with Image.open(tmp_path / "film.gif") as gif:
            assert gif.n_frames == len(episode) + 1
            drawn = next(film.frames(monmdp, episode))
            assert gif.size == (drawn.shape[1], drawn.shape[0])
            assert gif.info["loop"] == 0
            durations = []
            for i in range(gif.n_frames):
                gif.seek(i)
                durations.append(gif.info["duration"])
            assert durations == [10 * hundredths] * len(episode) + [2000]


@pytest.mark.slow
def test_a_film_shows_what_was_drawn(filmed, tmp_path):
    monmdp, episode = filmed
    save_film(monmdp, episode, tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as gif:
        for i, drawn in enumerate(film.frames(monmdp, episode)):
            gif.seek(i)
            off = np.abs(np.asarray(gif.convert("RGB")).astype(int) - drawn)
            assert off.mean() < 4
            assert (off.max(axis=2) > 60).mean() < 0.01
    save_film(monmdp, episode, tmp_path / "again.gif")
    assert (tmp_path / "again.gif").read_bytes() == (tmp_path / "film.gif").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*worlds.registry, "lake"])
def test_every_world_is_filmed(name, tmp_path):
    mdp = worlds.from_gymnasium("FrozenLake-v1") if name == "lake" else worlds.make(name)
    monmdp = join(mdp, monitors.make("ask"))
    episode = rollout(monmdp, loose(monmdp), np.random.default_rng(0), limit=3)
    save_film(monmdp, episode, tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.n_frames == len(episode) + 1


@pytest.mark.slow
def test_a_film_is_there_whole_or_not_at_all(filmed, tmp_path, monkeypatch):
    monmdp, episode = filmed
    with pytest.raises(MonMDPError, match=r"end in \.gif"):
        save_film(monmdp, episode, tmp_path / "film.mp4")
    for fps in (0, -1, 51, float("nan"), "fast"):
        with pytest.raises(MonMDPError, match="fps"):
            save_film(monmdp, episode, tmp_path / "film.gif", fps=fps)
    with pytest.raises(MonMDPError, match="cannot write"):
        save_film(monmdp, episode, tmp_path / "nowhere" / "film.gif")

    def killed(_, file, **__):
        file.write(b"GIF89a")
        raise KeyboardInterrupt

    monkeypatch.setattr(Image.Image, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        save_film(monmdp, episode, tmp_path / "film.gif")
    assert not list(tmp_path.iterdir())


# ---- the command ----------------------------------------------------------------------------


def test_rollout_prints_the_steps(command):
    code, out, _ = command("rollout", "bottleneck", "button", "rho=0.05", "--seed", "3")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "bottleneck / button  rho=0.05"
    assert lines[3].split("  ")[0] == "step"
    assert lines[4].split() == ["0", "0,0", *lines[4].split()[2:]]
    assert "hidden (1)" in lines[-4]
    assert lines[-1].startswith("discounted return  0.904382  (gamma 0.99; ended after 11 steps)")
    assert command("rollout", "bottleneck", "button", "rho=0.05", "--seed", "3")[1] == out


@pytest.mark.slow
def test_rollout_films_an_episode_that_was_cut(command, tmp_path):
    code, out, _ = command("rollout", "river-swim", "ask", "--gif", str(tmp_path / "a.gif"))
    assert code == 0
    assert "cut after" in out
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 201


def test_rollout_as_json_and_of_problem_files(command, tmp_path):
    command("export", "loop", "ask", "rho=0.5", "-o", str(tmp_path / "problem.npz"))
    code, out, _ = command("rollout", str(tmp_path / "problem.npz"), "--json", "--gamma", "0.5")
    assert code == 0
    found = json.loads(out)
    total = sum(
        0.5**t * (step["reward"] + step["monitor_reward"]) for t, step in enumerate(found["steps"])
    )
    assert found["discounted_return"] == pytest.approx(total)
    assert found["terminated"]
    assert found["steps"][0]["state"] == "0,0"
    for one, two in zip(found["steps"][:-1], found["steps"][1:], strict=True):
        assert one["next_state"] == two["state"]


def kept(folder, steps, **settings):
    """A run, and the file it is kept in."""
    run = train(make("loop", "ask"), "monitored-mbie-eb", steps, out=folder / "out", **settings)
    (path,) = (folder / "out").rglob("seed-0000.parquet")
    return run, path


def test_rollout_of_runs(command, tmp_path):
    run, path = kept(tmp_path, 500, snapshots=1)
    run.policy.save(tmp_path / "policy.npz")
    outs = [
        command("rollout", "loop", "ask", "--policy", str(of))
        for of in (path, tmp_path / "policy.npz")
    ]
    assert [code for code, _, _ in outs] == [0, 0]
    assert outs[0][1].splitlines()[2:] == outs[1][1].splitlines()[2:]
    code, out, _ = command("rollout", "loop", "ask", "--policy", str(path), "--observe")
    assert code == 0
    assert ", to observe" in out


def test_rollout_says_what_is_wrong(command, tmp_path):
    run, path = kept(tmp_path, 200)
    run.policy.save(tmp_path / "policy.npz")
    mine = ("--policy", str(path))
    for arguments, message in (
        (("loop", "ask", "--gif", str(tmp_path / "x.txt")), "end in .gif"),
        (("loop", "ask", "--observe"), "--observe needs --policy"),
        (("loop", "ask", *mine, "--observe"), "no snapshot of Q_obs"),
        (("loop", "ask", "--policy", str(tmp_path / "policy.npz"), "--observe"), "no run"),
        (("bottleneck", "ask", *mine), "the policy is for 9 x 1 states"),
        (("loop", "ask", "--policy", "nowhere.npz"), "no such file"),
        (("loop", "ask", "--seed", "-1"), "--seed"),
        (("loop", "ask", "--gamma", "1.5"), "gamma"),
        (("loop",), "which monitor"),
    ):
        code, out, err = command("rollout", *arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err
    assert not list(tmp_path.glob("*.gif"))
