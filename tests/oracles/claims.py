"""The paper's claims once more, slowly, from the curves of all runs.

Written from the terms and from what the suites say; nothing of the package is used. Runs are
{(world, monitor, ρ, solvable, agent, r₀): {"seed": [seed], "step": [checkpoint], score: [seed,
checkpoint]}}, minimax values {(world, monitor, ρ, solvable): v}; r₀ None is random. A check is
(verdict, estimate, low, high), a sentence (verdict, {setting: check}), and a claim the list of its
sentences. Instead of a setting, checks between settings have (key, from, to), and maybe which.
"""

import functools
import math

import numpy as np

HOLDS, OTHER, NOT, OPEN = "holds", "holds, another number", "not reproduced", "open"
BETTER, WORSE, PAR = "better", "worse", "on par"
FEWEST = 5
RESAMPLES = 2000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)
MISSING = (OPEN, math.nan, math.nan, math.nan)

MONITORS_6 = ["full", "semi-random", "ask", "button", "n-supporters", "level-up"]
WORLDS_6 = ["empty", "hazard", "one-way", "river-swim", "loop", "corridor", "two-room-3x5",
            "two-room-2x11"]  # fmt: skip
MONITORS_9 = ["full-random", "ask", "n-supporters", "n-experts", "level-up", "button"]
OURS, RIVAL, KNOWN = "monitored-mbie-eb", "directed-e2", "known-monitor"
OPTIMIST, PESSIMIST = "mbie-eb", "pessimistic-mbie-eb"
RETURN, EXACT = "episode_return", "worst_case_return"


# ---- what is measured, a number a seed ------------------------------------------------------


def smoothed(curves):
    """Nine parts old and one part new, seed by seed; curves of few tests stay as they are."""
    curves = np.array(curves, dtype=float)
    if curves.shape[1] >= 100:
        for k in range(1, curves.shape[1]):
            curves[:, k] = 0.9 * curves[:, k - 1] + 0.1 * curves[:, k]
    return curves


def every(run):
    return float(run["step"][1] - run["step"][0])


def budget(run):
    return float(run["step"][-1]) + every(run)


def for_good(curve, step, least):
    """The first checkpoint from which on the curve is nowhere less; infinite without one."""
    reached = math.inf
    for k in range(len(curve) - 1, -1, -1):
        if curve[k] < least:
            break
        reached = float(step[k])
    return reached


def margin_of(v, share):
    return share * max(1.0, abs(v))


def steps(run, v):
    """To within 1 % of v for good, by exact returns; the budget where never."""
    least = v - margin_of(v, 0.01)
    return np.array([min(for_good(row, run["step"], least), budget(run)) for row in run[EXACT]])


def seen(run, x_range, y_range):
    """The mean of what the authors' axis shows of a curve, smoothed."""
    curves = smoothed(run[RETURN])
    if x_range is not None:
        shown = [k for k, step in enumerate(run["step"]) if x_range[0] <= step <= x_range[1]]
        curves = curves[:, shown]
    if y_range is not None:
        curves = np.minimum(np.maximum(curves, y_range[0]), y_range[1])
    return np.array([row.mean() for row in curves])


def end(run, score):
    return np.array([row[-10:].mean() for row in run[score]])


def axis(figure, world, monitor):
    """The y-axis of the authors' plot."""
    if world == "river-swim":
        return (0, 22)
    if figure == 4:
        return (-350, 10)
    return (-0.7, 0.3) if monitor == "button" and figure != 6 else (0, 1)


def end_height(world):
    return 22.0 if world == "river-swim" else 1.0


# ---- intervals ------------------------------------------------------------------------------


@functools.cache
def student(df):
    """The 97.5 % point of Student's t, by bisection of its integral; no statistics library."""

    def upper_tail(t):  # substitute x = √df·tan(u): ∫ cos^(df-1), by Gauss and Legendre
        first = math.atan(t / math.sqrt(df))
        u = first + (math.pi / 2 - first) * (1 + NODES) / 2
        log_c = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(math.pi)
        with np.errstate(divide="ignore"):
            y = np.exp(log_c + (df - 1) * np.log(np.maximum(np.cos(u), 0.0)))
        return float(y @ WEIGHTS) * (math.pi / 2 - first) / 2

    low, high = 1.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(middle) > 0.025 else (low, middle)
    return (low + high) / 2


def variance(x):
    mean = x.mean()
    return float(sum((v - mean) ** 2 for v in x)) / (len(x) - 1)


def t_interval(x):
    """Student's, of a mean."""
    mean = float(x.mean())
    if len(x) < 2:
        return mean, math.nan, math.nan
    half = student(len(x) - 1) * math.sqrt(variance(x) / len(x))
    return mean, mean - half, mean + half


def welch(*terms):
    """Of Σ w·mean(x), Welch and Satterthwaite; terms are pairs (w, x) of independent groups."""
    estimate = float(sum(w * x.mean() for w, x in terms))
    if any(len(x) < 2 for _, x in terms):
        return estimate, math.nan, math.nan
    parts = [(w * w * variance(x) / len(x), len(x) - 1) for w, x in terms]
    whole = sum(part for part, _ in parts)
    if whole == 0:
        return estimate, estimate, estimate
    half = student(whole**2 / sum(part**2 / df for part, df in parts)) * math.sqrt(whole)
    return estimate, estimate - half, estimate + half


def protocol(x):
    """±1.96 sd/√n."""
    mean = float(x.mean())
    if len(x) < 2:
        return mean, math.nan, math.nan
    half = 1.96 * math.sqrt(variance(x) / len(x))
    return mean, mean - half, mean + half


def percentiles(estimate, drawn, n):
    if n < 2:
        return estimate, math.nan, math.nan
    return estimate, float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975))


def draws(n, of):
    rng = np.random.default_rng(list(repr(of).encode()))
    return [rng.integers(n, size=n) for _ in range(RESAMPLES)]


# ---- one check ------------------------------------------------------------------------------


def judged(n, interval, holds, fails):
    """Whether an interval shows something, or shows that it is not so."""
    if n < FEWEST or math.isnan(interval[1]):
        return (OPEN, *interval)
    return (HOLDS if holds else NOT if fails else OPEN), *interval


def standing(n, interval, margin):
    """Of an advantage: better, worse, on par or open."""
    _, low, high = interval
    if n < FEWEST or math.isnan(low):
        return (OPEN, *interval)
    if low > 0:
        return (BETTER, *interval)
    if high < 0:
        return (WORSE, *interval)
    return (PAR if low >= -margin and high <= margin else OPEN), *interval


def of_common_seeds(a, b, x, y):
    """Values of two runs for the seeds that both have."""
    common = sorted({*a["seed"]} & {*b["seed"]})
    return tuple(
        np.array([v[list(run["seed"]).index(seed)] for seed in common])
        for run, v in ((a, x), (b, y))
    )


def compare(a, b, v, y_range):
    """How one agent does against its rival on the same problem."""
    mine, theirs = steps(a, v), steps(b, v)
    if (mine < budget(a)).any() or (theirs < budget(b)).any():
        margin = 0.1 * theirs.mean()
        mine, theirs = of_common_seeds(a, b, mine, theirs)
        return standing(len(mine), t_interval(theirs - mine), margin)
    mine, theirs = of_common_seeds(a, b, seen(a, None, y_range), seen(b, None, y_range))
    return standing(len(mine), t_interval(mine - theirs), 0.02 * (y_range[1] - y_range[0]))


def at(x, value, tolerance):
    found = protocol(x)
    _, low, high = found
    inside = value - tolerance <= low and high <= value + tolerance
    outside = high < value - tolerance or low > value + tolerance
    return judged(len(x), found, inside, outside)


def below(x, value, tolerance):
    found = protocol(x)
    return judged(len(x), found, found[2] < value - tolerance, found[1] >= value - tolerance)


def above(x, value):
    found = protocol(x)
    return judged(len(x), found, found[1] > value, found[2] <= value)


def on_par(a, b, height):
    """Ends of two agents on the same problem are as good as equal."""
    x, y = of_common_seeds(a, b, end(a, EXACT), end(b, EXACT))
    found = t_interval(x - y)
    edge = 0.02 * height
    inside = found[1] >= -edge and found[2] <= edge
    return judged(len(x), found, inside, found[1] > edge or found[2] < -edge)


def above_zero(interval, n):
    return judged(n, interval, interval[1] > 0, interval[2] <= 0)


def share_saved(a, b, v, said):
    """Which part of its rival's steps an agent saves."""
    x, y = of_common_seeds(a, b, steps(a, v), steps(b, v))
    x, y = np.maximum(x, every(a)), np.maximum(y, every(b))
    drawn = [1 - x[rows].mean() / y[rows].mean() for rows in draws(len(x), "share")]
    found = percentiles(1 - x.mean() / y.mean(), drawn, len(x))
    _, low, high = found
    if len(x) < FEWEST or low <= 0 <= high:
        return (OPEN, *found)
    if high < 0:
        return (NOT, *found)
    return (HOLDS if low <= said <= high else OTHER), *found


def times_the_steps(pairs):
    """How many times its steps a rival takes, over several problems: more than once.

    Pairs are (agent, rival, v). Where a seed of the agent's own never converges, it takes more
    steps than are counted.
    """
    taken = [
        of_common_seeds(a, b, np.maximum(steps(a, v), every(a)), np.maximum(steps(b, v), every(b)))
        for a, b, v in pairs
    ]
    rows = [draws(len(mine), ("times", i)) for i, (mine, _) in enumerate(taken)]

    def ratio(chosen):
        logs = [
            math.log(theirs[of].mean() / mine[of].mean())
            for of, (mine, theirs) in zip(chosen, taken, strict=True)
        ]
        return math.exp(sum(logs) / len(logs))

    n = min(len(mine) for mine, _ in taken)
    drawn = [ratio([of[k] for of in rows]) for k in range(RESAMPLES)]
    found = percentiles(ratio([slice(None)] * len(taken)), drawn, n)
    sure = all((steps(a, v) < budget(a)).all() for a, _, v in pairs)
    return judged(n, found, found[1] > 1 and sure, found[2] <= 1)


def as_plotted(run, v, where):
    """Steps that the curve as plotted takes to within 5 % of v, and of resampled seeds."""
    curves, least = smoothed(run[RETURN]), v - margin_of(v, 0.05)

    def taken(rows):
        return for_good(curves[rows].mean(axis=0), run["step"], least)

    whole = taken(np.arange(len(curves)))
    drawn = [taken(rows) for rows in draws(len(curves), where)]
    counted = np.clip([whole, *drawn], every(run), budget(run))
    return math.isfinite(whole), counted[0], counted[1:]


def similar(a, b, v_a, v_b, where_a, where_b):
    """The ratio of those steps; seeds of different problems are drawn each on their own."""
    n = min(len(a["seed"]), len(b["seed"]))
    reached_a, x, drawn_x = as_plotted(a, v_a, where_a)
    reached_b, y, drawn_y = as_plotted(b, v_b, where_b)
    found = percentiles(x / y, drawn_x / drawn_y, n)
    _, low, high = found
    if not (reached_a and reached_b):
        return (OPEN, *found)
    inside, outside = low >= 2 / 3 and high <= 3 / 2, low > 3 / 2 or high < 2 / 3
    return judged(n, found, inside, outside)


# ---- sentences ------------------------------------------------------------------------------


def everywhere(checks):
    """It must hold in all settings."""
    found = [check[0] for check in checks.values()]
    whole = NOT if NOT in found else OPEN if OPEN in found else HOLDS
    return whole, checks


def in_many(checks, needed):
    """Better in so many settings."""
    found = [check[0] for check in checks.values()]
    better = found.count(BETTER)
    if better >= needed:
        whole = HOLDS
    elif better + found.count(OPEN) >= needed:
        whole = OPEN
    else:
        whole = OTHER if WORSE not in found and 2 * better > len(found) else NOT
    return whole, checks


def nowhere_worse(checks, seeds):
    """Better or on par in all: that nothing is seen of a difference does not make it so."""
    found = [check[0] for check in checks.values()]
    if WORSE in found:
        return NOT, checks
    return (OPEN if OPEN in found or min(seeds) < FEWEST else HOLDS), checks


# ---- claims ---------------------------------------------------------------------------------


class Claims:
    """What the claims about figures come to."""

    def __init__(self, runs, minimax):
        self.runs = runs
        self.minimax = minimax

    def get(self, where, agent, r0=None):
        return self.runs.get((*where, agent, r0))

    def of(self, check, *wanted):
        """A check of runs, if they are all there."""
        found = [self.get(*one) for one in wanted]
        return MISSING if any(run is None for run in found) else check(*found)

    def compare(self, figure, where, mine, theirs):
        y_range = axis(figure, where[0], where[1])
        v = self.minimax.get(where)
        return self.of(lambda a, b: compare(a, b, v, y_range), (where, *mine), (where, *theirs))

    def at_v(self, where, agent):
        edge = 0.02 * end_height(where[0])
        return self.of(lambda a: at(end(a, EXACT), self.minimax[where], edge), (where, agent))

    def fails(self, where, agent):
        edge = 0.02 * end_height(where[0])
        return self.of(lambda a: below(end(a, EXACT), self.minimax[where], edge), (where, agent))

    def on_par(self, where, agent):
        height = end_height(where[0])
        return self.of(lambda a, b: on_par(a, b, height), (where, agent), (where, OURS))

    def losses(self, figure, places, agent, r0, by_steps):
        """[seed] steps, or what is not seen, on average over problems; of seeds that all have."""
        by_seed = []
        for where in places:
            run = self.get(where, agent, r0)
            if by_steps:
                lost = steps(run, self.minimax[where])
            else:
                lost = -seen(run, None, axis(figure, where[0], where[1]))
            by_seed.append(dict(zip(run["seed"], lost, strict=True)))
        common = sorted(set.intersection(*[{*of} for of in by_seed]))
        return np.array([np.mean([of[seed] for of in by_seed]) for seed in common])

    def loses(self, figure, before, after, *agents):
        """From some problems to others, an agent loses; or loses more than its rival does."""
        runs = {(w, *a): self.get(w, *a) for a in agents for w in (*before, *after)}
        if any(run is None for run in runs.values()):
            return MISSING
        by_steps = any(
            (steps(run, self.minimax[key[0]]) < budget(run)).any() for key, run in runs.items()
        )
        terms = [
            (sign * side, self.losses(figure, places, *agent, by_steps))
            for sign, agent in zip((1, -1), agents, strict=False)
            for side, places in ((1, after), (-1, before))
        ]
        return above_zero(welch(*terms), min(len(x) for _, x in terms))

    def hindered(self, figure, before, after):
        return self.loses(figure, before, after, (RIVAL, -10.0), (OURS, None))

    def c1(self):
        a = ("river-swim", "full", 1.0, False)
        return [
            everywhere({a: self.at_v(a, OURS)}),
            in_many({a: self.compare(4, a, [OURS], [RIVAL])}, 1),
        ]

    def c2(self):
        b, c = ("bottleneck", "button", 1.0, False), ("bottleneck", "button", 0.05, False)

        return [
            everywhere({w: self.at_v(w, OURS) for w in (b, c)}),
            everywhere({("rho", 1.0, 0.05): self.loses(4, [b], [c], (OURS, None))}),
            everywhere({w: self.fails(w, RIVAL) for w in (b, c)}),
            everywhere({("rho", 1.0, 0.05): self.loses(4, [b], [c], (RIVAL, None))}),
        ]

    def c3(self):
        c = ("bottleneck", "button", 0.05, False)
        found = self.of(lambda a, b: share_saved(a, b, self.minimax[c], 0.3), (c, KNOWN), (c, OURS))
        return [(found[0], {c: found})]

    def c4(self):
        places = [(w, m, 1.0, False) for w in WORLDS_6 for m in MONITORS_6]
        found = {where: self.compare(6, where, [OURS], [RIVAL]) for where in places}
        pairs = [(self.get(where, OURS), self.get(where, RIVAL)) for where in places]
        seeds = [0 if a is None or b is None else len({*a["seed"]} & {*b["seed"]})
                 for a, b in pairs]  # fmt: skip
        return [in_many(found, 43), nowhere_worse(found, seeds)]

    def c5(self):
        c = ("bottleneck", "button", 0.05, False)
        starts = [
            {c: self.of(lambda a, score=score: above(a[score][:, 0], 0.02), (c, agent))}
            for score in ("goal_visits", "bottom_visits")
            for agent in (OURS, RIVAL)
        ]
        goal = self.of(lambda a: at(end(a, "goal_visits"), 1.0, 0.02), (c, OURS))
        avoided = self.of(lambda a: at(end(a, "bottom_visits"), 0.0, 0.02), (c, OURS))
        kept = self.of(lambda a: above(end(a, "bottom_visits"), 0.02), (c, RIVAL))
        return [everywhere(x) for x in (*starts, {c: goal}, {c: avoided}, {c: kept})]

    def c6(self):
        at = {monitor: ("bottleneck", monitor, 1.0, False) for monitor in MONITORS_9}
        found = {w: self.compare(9, w, [OURS], [RIVAL, -10.0]) for w in at.values()}
        more = {
            ("monitor", "ask", m): self.hindered(9, [at["ask"]], [at[m]])
            for m in ("n-supporters", "n-experts", "level-up")
        }
        experts = ("monitor", "ask", "n-experts")
        return [in_many(found, 6), everywhere(more), everywhere({experts: more[experts]})]

    def c7(self):
        def row(rho):
            return [("bottleneck", monitor, rho, False) for monitor in MONITORS_9]

        places = [where for rho in (0.8, 0.2, 0.05) for where in row(rho)]
        falling = ((0.8, 0.2), (0.2, 0.05))
        return [
            in_many({w: self.compare(10, w, [OURS], [RIVAL, -10.0]) for w in places}, 18),
            everywhere({w: self.at_v(w, OURS) for w in places}),
            everywhere(
                {("rho", a, b): self.loses(10, row(a), row(b), (OURS, None)) for a, b in falling}
            ),
            everywhere({("rho", 0.8, 0.05): self.hindered(10, row(0.8), row(0.05))}),
        ]

    def c8(self):
        rhos = (1.0, 0.8, 0.2, 0.05)

        def of(monitor, rho):
            return ("bottleneck", monitor, rho, False)

        def like(one, other):
            v, w = self.minimax.get(one), self.minimax.get(other)
            return self.of(
                lambda a, b: similar(a, b, v, w, one, other), (one, KNOWN), (other, KNOWN)
            )

        places = [of(m, rho) for rho in rhos for m in MONITORS_9]
        pairs = [(self.get(w, KNOWN), self.get(w, OURS), self.minimax.get(w)) for w in places]
        there = all(a is not None and b is not None for a, b, _ in pairs)
        faster = times_the_steps(pairs) if there else MISSING
        return [
            everywhere({"all settings": faster}),
            in_many({w: self.compare(11, w, [KNOWN], [OURS]) for w in places}, 24),
            everywhere(
                {of("n-experts", rho): like(of("n-experts", rho), of("ask", rho)) for rho in rhos}
            ),
            everywhere(
                {
                    ("rho", 1.0, rho, m): like(of(m, rho), of(m, 1.0))
                    for m in MONITORS_9
                    for rho in rhos[1:]
                }
            ),
        ]

    def c9(self):
        def no_fall(run):
            found = t_interval(end(run, "bottom_visits") - run["bottom_visits"][:, 0])
            return judged(len(run["seed"]), found, found[1] >= -0.02, found[2] < -0.02)

        solvable = [("bottleneck", m, 1.0, True) for m in MONITORS_9]
        unsolvable = [("bottleneck", m, 1.0, False) for m in MONITORS_9]
        rare = [("bottleneck", m, 0.05, False) for m in MONITORS_9]
        return [
            everywhere({w: self.on_par(w, OPTIMIST) for w in solvable}),
            everywhere({w: self.fails(w, OPTIMIST) for w in unsolvable}),
            everywhere({w: self.of(no_fall, (w, OPTIMIST)) for w in unsolvable}),
            everywhere({w: self.on_par(w, PESSIMIST) for w in solvable + unsolvable}),
            everywhere({w: self.fails(w, PESSIMIST) for w in rare}),
        ]

    def all(self, names):
        return {name: getattr(self, name.lower())() for name in names}
