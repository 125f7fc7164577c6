"""Commands that follow a policy: rollout and evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from monmdp.cli.app import (
    AsJson,
    Words,
    World,
    app,
    make_problem,
    print_facts,
    print_json,
    short,
    title_of,
    writable,
)
from monmdp.errors import MonMDPError
from monmdp.tables import plural

if TYPE_CHECKING:
    from monmdp.experiment import Policy, Rollout
    from monmdp.model import MonMDP

MOST_STEPS = 200
"""steps that are printed; the rest are only counted"""


@app.command()
def rollout(
    world: World,
    words: Words = None,
    policy: Annotated[
        Path | None,
        Option(
            help="A policy, .npz, or a run, .parquet, to follow.",
            show_default="the minimax-optimal policy",
        ),
    ] = None,
    observe: Annotated[
        bool, Option("--observe", help="With --policy: act as the run's agent to observe.")
    ] = False,
    seed: Annotated[int, Option(help="Seed of the episode.")] = 0,
    gamma: Annotated[
        float | None,
        Option(help="Discount, in [0, 1].", show_default="that of its training, or 0.99"),
    ] = None,
    gif: Annotated[Path | None, Option(help="Write a film to this .gif file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Follow a policy for one episode and print every step, hidden rewards included."""
    import numpy as np

    from monmdp import drawing, experiment
    from monmdp.model.mdp import whole_number
    from monmdp.planning.policy_iteration import checked_gamma

    if gif is not None:
        writable(gif, "--gif", ".gif")
    if observe and policy is None:
        raise MonMDPError("--observe needs --policy, the file of a run")
    rng = np.random.default_rng(whole_number(seed, "--seed", at_least=0, at_most=None))
    problem, params = make_problem(world, words)
    followed, what = _policies(problem, policy, observe, gamma)
    gamma = checked_gamma(followed[0].origin.get("gamma", 0.99) if gamma is None else gamma)
    episode = experiment.rollout(problem, followed, rng)
    if gif is not None:
        drawing.save_film(problem, episode, gif)
    if as_json:
        result = {
            "world": problem.mdp.name,
            "monitor": problem.monitor.name,
            "parameters": params,
            "policy": what,
            "seed": seed,
            "gamma": gamma,
            "discounted_return": episode.discounted(gamma),
            "terminated": episode.terminated,
            "steps": _steps(problem, episode),
            "film": None if gif is None else str(gif),
        }
        print_json(result)
        return
    print(title_of(problem, params))
    print(f"{what}, seed {seed}\n")
    _print_steps(problem, episode)
    n = plural(len(episode), "step")
    end = f"ended after {n}" if episode.terminated else f"cut after {n}, the time limit"
    print(f"\ndiscounted return  {short(episode.discounted(gamma))}  (gamma {gamma:g}; {end})")
    if gif is not None:
        print(f"film: {gif}")


@app.command()
def evaluate(
    policy: Annotated[
        Path, Argument(help="A policy, .npz, or a run, .parquet.", show_default=False)
    ],
    world: World,
    words: Words = None,
    gamma: Annotated[
        float | None,
        Option(help="Discount, in [0, 1].", show_default="that of its tests"),
    ] = None,
    evaluation: Annotated[str, Option(help="exact or monte-carlo.")] = "exact",
    episodes: Annotated[
        int | None, Option(help="Episodes that monte-carlo draws.", show_default="100")
    ] = None,
    seed: Annotated[int, Option(help="Of the drawn episodes.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Evaluate a learnt policy, here or in another world or monitor of the same shape."""
    from monmdp import planning
    from monmdp.results import load_policy

    if episodes is not None and evaluation == "exact":
        raise MonMDPError("--episodes needs --evaluation monte-carlo")
    episodes = 100 if episodes is None else episodes
    problem, given = make_problem(world, words)
    learnt = load_policy(policy).carried_over(problem)
    gamma = learnt.origin.get("gamma", 0.99) if gamma is None else gamma
    scores = learnt.evaluate(
        problem,
        gamma,
        evaluation=evaluation,  # type: ignore[arg-type]
        episodes=episodes,
        seed=seed,
    )
    best = planning.solve(problem, gamma).episode_return
    if as_json:
        print_json(scores | {"episode_return_minimax": best, "origin": dict(learnt.origin)})
        return
    origin = ", ".join(f"{key} {value}" for key, value in learnt.origin.items())
    how = "exact" if evaluation == "exact" else plural(episodes, "episode")
    facts = {
        "policy": f"{policy}" + (f"  ({origin})" if origin else ""),
        "evaluated in": f"{title_of(problem, given, ' ')}, {how}, gamma {gamma:g}",
    }
    values = scores | {"minimax_episode_return": best}
    print_facts(facts | {name.replace("_", " "): short(of) for name, of in values.items()})


def _policies(
    problem: MonMDP, path: Path | None, observe: bool, gamma: float | None
) -> tuple[list[Policy], str]:
    """The policy to follow, one for each step if it depends on that, and its name."""
    from monmdp import experiment, planning
    from monmdp.results import load_policy, load_run

    if path is None:
        best = planning.solve(problem, 0.99 if gamma is None else gamma).minimax
        steps = [experiment.Policy(problem.shape, of) for of in best.policies()]
        return steps, "the minimax-optimal policy"
    if observe:
        followed = experiment.observing_policy(load_run(path), str(path))
        return [followed], f"{path}, to observe"
    return [load_policy(path).carried_over(problem)], f"{path}"


def _steps(problem: MonMDP, episode: Rollout) -> list[dict[str, Any]]:
    mdp, monitor = problem.mdp, problem.monitor
    return [
        {
            "step": t,
            "state": mdp.state_labels[episode.state[t]],
            "monitor_state": monitor.states[episode.monitor_state[t]],
            "action": mdp.action_labels[episode.action[t]],
            "monitor_action": monitor.actions[episode.monitor_action[t]],
            "reward": float(episode.reward[t]),
            "shown": bool(episode.shown[t]),
            "monitor_reward": float(episode.monitor_reward[t]),
            "next_state": mdp.state_labels[episode.state[t + 1]],
            "next_monitor_state": monitor.states[episode.monitor_state[t + 1]],
        }
        for t in range(len(episode))
    ]


def _print_steps(problem: MonMDP, episode: Rollout) -> None:
    from monmdp.tables import Column, Table

    where = "state" if problem.mdp.cells is None else "cell"
    steps, rows = _steps(problem, episode), []
    for step in steps[:MOST_STEPS]:
        reward, paid = f"{step['reward']:g}", f"{step['monitor_reward']:g}"
        shown = reward if step["shown"] else f"hidden ({reward})"
        rows.append((*list(step.values())[:5], shown, paid))
    words = (where, "monitor state", "action", "monitor action", "reward", "monitor reward")
    print(Table.of((Column("step", form=".0f"), *words), rows))
    if len(steps) > MOST_STEPS:
        print(f"… and {len(steps) - MOST_STEPS} more steps (all of them with --json)")
    last = steps[-1]
    print(f"at the end: {last['next_state']}, monitor {last['next_monitor_state']}")
