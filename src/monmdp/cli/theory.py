"""Commands on theory: theory, bandit."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from monmdp.cli.app import (
    AsJson,
    Words,
    World,
    app,
    line_of_progress,
    make_problem,
    print_json,
    title_of,
    writable,
)
from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.model import MonMDP
    from monmdp.theory import Bounds


@app.command()
def theory(
    world: World,
    words: Words = None,
    eps: Annotated[float, Option(help="ε: how far from minimax-optimal is enough.")] = 0.1,
    delta: Annotated[float, Option(help="δ: chance that the promise fails.")] = 0.1,
    gamma: Annotated[float, Option(help="Discount, in [0, 1).")] = 0.99,
    constants: Annotated[str, Option(help="sound, or paper: as printed there.")] = "sound",
    horizon: Annotated[
        int | None, Option(help="H, the longest episode.", show_default="the world's time limit")
    ] = None,
    c1: Annotated[float, Option(help="c₁ of the lower bound; unknown.")] = 1.0,
    c2: Annotated[float, Option(help="c₂ of the lower bound; unknown.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Print what the paper's theorem promises for a problem, and with which constants."""
    from monmdp.theory import bounds, lower_bound
    from monmdp.theory.constants import check_unknown_constants

    problem, params = make_problem(world, words)
    found = bounds(
        problem,
        eps,
        delta,
        gamma,
        constants=constants,  # type: ignore[arg-type]
        horizon=horizon,
    )
    check_unknown_constants(c1, c2, found.delta)
    # of a bandit with the actions of the world as arms
    k, least = problem.mdp.n_actions, None
    why_not: str | None = "no reward is ever shown"
    if found.rho is not None:
        try:
            least, why_not = lower_bound(k, found.rho, found.epsilon, found.delta, c1, c2), None
        except MonMDPError as error:
            why_not = str(error)
    if as_json:
        names = {"world": problem.mdp.name, "monitor": problem.monitor.name, "parameters": params}
        lower = {"lower_bound": least, "not_applicable": why_not, "c1": c1, "c2": c2}
        command = {"train": _command(world, words, found)}
        print_json(names | found.to_dict() | lower | command)
        return
    _print_bounds(problem, found, params)
    print(f"\nlower bound (bandits with k = {k} arms, rewards shown with chance ρ)")
    if least is None:
        print(f"  not applicable: {why_not}; try --eps 0.1 --delta 0.004")
    else:
        print(f"  E[T-1] ≥ c₁ k/(ρε²) ln(c₂/δ) = {least:.3g} pulls, with c₁ = {c1:g}, c₂ = {c2:g}")
    print(f"\nrun the theorem's agent (its first {found.m3 + 1:.3g} episodes all observe):")
    print(f"  {_command(world, words, found)}")


def _print_bounds(problem: MonMDP, found: Bounds, params: Mapping[str, str]) -> None:
    """The constants, each with what it means."""
    from monmdp.tables import Column, Table

    mdp, paid = problem.mdp, problem.monitor.reward
    rho = "none, nothing is ever shown" if found.rho is None else f"{found.rho:g}"
    print(title_of(problem, params))
    print(
        f"|S| {found.n_states}, |A| {found.n_actions}, gamma {found.gamma:g}, rho {rho}, "
        f"H {found.horizon}, rᵉ in [{mdp.r_min:g}, {mdp.r_max:g}], "
        f"rᵐ in [{paid.min():g}, {paid.max():g}]"
    )
    print(
        f"with chance {1 - found.delta:g} the agent is {found.epsilon:g}-optimal in M↓ on all "
        f"steps but about {found.bad_steps:.3g}  ({found.constants} constants)\n"
    )
    rows = (
        ("m1", found.m1, f"visits that make a pair known for observing, to τ₁ = {found.tau1:.3g}"),
        ("m2", found.m2, f"visits that make a pair known for optimizing, to τ₂ = {found.tau2:.3g}"),
        ("m3 = κ*", float(found.m3), "episodes that observe, all of them first"),
        ("β", found.beta, "bonus for p, over √N(s,a)"),
        ("βᵐ", found.beta_m, "bonus for rᵐ, over √N(sᵐ,aᵐ)"),
        ("βᵉ", found.beta_e, "bonus for rᵉ, over √N(sᵉ,aᵉ)"),
        ("β_obs", found.beta_obs, "bonus for p while observing, over √N(s,a)"),
        ("β_KL", found.beta_kl, "confidence of KL-UCB that an unseen reward can be seen"),
        ("Q_opt-init", found.q_opt_init, "R/(1-γ), no less than any value"),
        ("Q_obs-init", found.q_obs_init, "1/(1-γ)"),
        ("bad steps", found.bad_steps, "H [m₃ + |S||A| m₂/(ε₂(1-γ))], up to logarithms"),
    )
    print(Table.of(("constant", Column("value", form=".4g"), "what it is"), rows))
    if found.rho is not None and not found.observes_enough:
        print(
            f"\nwarning: m₁ visits of a pair may show nothing (ρ m₁ = {found.rho * found.m1:.2g}): "
            "observing may end too early, and the promise then fails"
        )
    if not found.lasts_long_enough:
        print(
            f"\nwarning: episodes (H = {found.horizon}) end before the effective horizon "
            f"(T = {found.effective_horizon:,}): the promise is not proved"
        )


def _command(world: str, words: list[str] | None, found: Bounds) -> str:
    """How to train the theorem's agent on the same problem."""
    from monmdp.agents import MonitoredMBIEEB
    from monmdp.theory import theorem_agent

    usual = MonitoredMBIEEB().hyper_parameters()
    chosen = theorem_agent(found).hyper_parameters()
    changed = [f"agent.{key}={value}" for key, value in chosen.items() if value != usual[key]]
    agent = ["--agent", MonitoredMBIEEB.name]
    return shlex.join(["monmdp", "train", world, *(words or []), *agent, *changed])


@app.command()
def bandit(
    rhos: Annotated[
        str, Option(help="Chances to see a reward, separated by commas.")
    ] = "1,0.5,0.2,0.1,0.05",
    arms: Annotated[int, Option(help="k, how many arms.")] = 4,
    eps: Annotated[float, Option(help="ε: how far below the best an arm may be.")] = 0.1,
    delta: Annotated[float, Option(help="δ: chance to be wrong.")] = 0.004,
    runs: Annotated[int, Option(help="Runs for each chance.")] = 100,
    seed: Annotated[int, Option(help="The random seed.")] = 0,
    png: Annotated[Path | None, Option(help="Write a picture to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the 1/ρ law: how many pulls it takes to find a good arm when few rewards are shown."""
    from monmdp import drawing
    from monmdp.stats import half_width
    from monmdp.tables import Column, Table
    from monmdp.theory import bandit_law

    if png is not None:
        writable(png, "--png", ".png", ".svg", ".pdf")
    with line_of_progress() as show:
        told = None if as_json else lambda done, of: show(f"{done:,} of {of:,} runs")
        law = bandit_law(
            _numbers(rhos), k=arms, epsilon=eps, delta=delta, runs=runs, seed=seed, progress=told
        )
    if as_json:
        print_json(law.to_dict())
    else:
        better = f"{law.k} arms, one better by ε = {law.epsilon:g}"
        print(f"{better}; δ = {law.delta:g}; {runs} runs each\n")
        counts = [Column(of, form=",.0f") for of in ("pulls until sure", "±", "shown")]
        of_rho = law.rho, law.pulls, law.shown, law.correct
        rows = [
            (f"{rho:g}", pulls.mean(), half_width(pulls), shown.mean(), f"{100 * right:.4g} %")
            for rho, pulls, shown, right in zip(*of_rho, strict=True)
        ]
        print(Table.of(("rho", *counts, Column("right arm", form="")), rows))
        print(
            "\nmeans over runs; ±: 95 % interval of the mean; shown: pulls whose reward was shown"
        )
        low, high = law.interval
        print(f"pulls ∝ ρ^-b with b = {law.exponent:.3f}, 95 % interval {low:.3f} to {high:.3f}")
    if png is not None:
        drawing.save(law.draw(), png)
        if not as_json:
            print(f"picture: {png}")


def _numbers(text: str) -> list[float]:
    """Read numbers separated by commas."""
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise MonMDPError(f"--rhos: numbers separated by commas expected, got {text!r}") from None
