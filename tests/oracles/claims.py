"""The paper's claims once more, slowly: from the tidy table of all runs, written from the terms.

Nothing of the package is used. A check is (holds, estimate, low, high), where holds is True, False
or None for inconclusive; a part is a dict from setting to check; a claim is a list of parts in the
order in which its sentence makes them. Settings are (world, monitor, ρ, solvable).
"""

import functools
import math

import numpy as np
import pandas as pd

ENOUGH = 30
FEWEST = 5
LAST = 10
MARGIN = 0.05
ABOUT = (0.2, 0.4)
SIMILAR = (2 / 3, 3 / 2)
RESAMPLES = 2000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)

MONITORS_6 = ["full", "semi-random", "ask", "button", "n-supporters", "level-up"]
WORLDS_6 = ["river-swim", "empty", "hazard", "loop", "one-way", "corridor", "two-room-3x5",
            "two-room-2x11"]  # fmt: skip
MONITORS_9 = ["full-random", "ask", "n-supporters", "n-experts", "level-up", "button"]
RHOS = [0.8, 0.2, 0.05]


# ---- the table ------------------------------------------------------------------------------


def runs_of(frame):
    """{(world, monitor, ρ, solvable, agent, r₀): {column: [seed, checkpoint]}}; r₀ None: random."""
    out = {}
    for name, rows in frame.groupby("configuration", observed=True):
        first = rows.iloc[0]

        def value(column, default, first=first, name=str(name)):
            if column in first and not pd.isna(first[column]):
                return type(default)(first[column]) if default is not None else first[column]
            short = column.rpartition(".")[2] + "="
            if column not in first and short in name:  # it did not differ between runs
                text = name.partition(short)[2].partition("-")[0] or name.partition(short)[2][:5]
                return (text == "True") if default is False else float(text)
            return default

        rho, solvable = value("monitor.rho", 1.0), value("world.solvable", False)
        r0 = value("agent.r0", None)
        r0 = None if r0 is None else float(r0)
        key = (first["world"], first["monitor"], rho, solvable, first["agent"], r0)
        curves = {}
        for column in ("episode_return", "worst_case_return", "goal_visits", "bottom_visits"):
            table = rows.pivot_table(index="seed", columns="step", values=column)
            curves[column] = table.to_numpy()
        curves["step"] = np.array(table.columns)
        out[key] = curves
    return out


def setting(world, monitor, rho=1.0, solvable=False):
    return (world, monitor, rho, solvable)


def area(run):
    return np.array([row.mean() for row in run["episode_return"]])


def end(run, column="episode_return"):
    return np.array([row[-LAST:].mean() for row in run[column]])


# ---- intervals ------------------------------------------------------------------------------


def student(df):
    """The 97.5 % point of Student's t, by bisection of its integral; no statistics library."""
    if math.isinf(df):
        df = 1e9

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


def contrast(terms):
    """(estimate, low, high) of Σ w·mean(x), Welch and Satterthwaite; terms are pairs (w, x)."""
    estimate = sum(w * x.mean() for w, x in terms)
    if any(len(x) < 2 for _, x in terms):
        return estimate, math.nan, math.nan
    parts = [w * w * x.var(ddof=1) / len(x) for w, x in terms]
    variance = sum(parts)
    if variance == 0:
        return estimate, estimate, estimate
    df = variance**2 / sum(p * p / (len(x) - 1) for p, (_, x) in zip(parts, terms, strict=True))
    half = student(df) * math.sqrt(variance)
    return estimate, estimate - half, estimate + half


def normal(x):
    """(mean, low, high) with ±1.96 sd/√n, the interval of the protocol."""
    mean = float(x.mean())
    if len(x) < 2:
        return mean, math.nan, math.nan
    half = 1.96 * math.sqrt(sum((v - mean) ** 2 for v in x) / (len(x) - 1) / len(x))
    return mean, mean - half, mean + half


def seeds(*runs):
    return min(len(run["episode_return"]) for run in runs)


# ---- steps-to-v -----------------------------------------------------------------------------


def steps_of_mean(mean, step, v):
    """The first checkpoint from which on the curve stays ≥ v - 0.05·max(1, |v|); inf if none."""
    reached = math.inf
    for k in range(len(mean) - 1, -1, -1):
        if not mean[k] >= v - MARGIN * max(1, abs(v)):
            break
        reached = float(step[k])
    return reached


class Steps:
    """Steps-to-v of a run and of resampled seeds; those who never get there count the budget."""

    def __init__(self, run, v, where):
        curves, step = run["worst_case_return"], run["step"]
        n, budget = len(curves), float(step[-1] + step[1] - step[0])
        exact = steps_of_mean(curves.mean(axis=0), step, v)
        self.n, self.reaches, self.steps = n, math.isfinite(exact), min(exact, budget)
        # The same seeds are drawn for all agents on a problem: their runs are paired.
        rng = np.random.default_rng(list(repr(where).encode()))
        drawn = [rng.integers(n, size=n) for _ in range(RESAMPLES)]
        means = [curves[chosen].mean(axis=0) for chosen in drawn]
        self.drawn = np.array([min(steps_of_mean(mean, step, v), budget) for mean in means])


def bounds(values, *runs):
    """The 95 % percentile interval; unknown if some run is of one seed."""
    if min(run.n for run in runs) < 2:
        return math.nan, math.nan
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


# ---- checks ---------------------------------------------------------------------------------


MISSING = (None, math.nan, math.nan, math.nan)


def undecided_by_few(check):
    """Fewer than five seeds decide nothing."""

    def size(x):
        if isinstance(x, list | tuple):
            return min(map(size, x), default=math.inf)
        return x.n if isinstance(x, Steps) else len(x) if isinstance(x, np.ndarray) else math.inf

    @functools.wraps(check)
    def checked(*samples):
        holds, *interval = check(*samples)
        return (holds if size(samples) >= FEWEST else None), *interval

    return checked


def above_zero(interval, n):
    """Lies above 0."""
    _, low, high = interval
    if math.isnan(low) or n < FEWEST:
        return None
    if low > 0:
        return True
    if high < 0:
        return False
    return False if n >= ENOUGH else None


def contains_zero(interval, n):
    _, low, high = interval
    if math.isnan(low) or n < FEWEST:
        return None
    if low > 0 or high < 0:
        return False
    return True if n >= ENOUGH else None


def not_below_zero(interval, n):
    _, low, high = interval
    if math.isnan(low) or n < FEWEST:
        return None
    if high < 0:
        return False
    return True if low > 0 or n >= ENOUGH else None


@undecided_by_few
def compared(rule, a, b):
    """Of two samples, by Welch's interval of the difference of their means."""
    interval = contrast([(1, a), (-1, b)])
    return rule(interval, min(len(a), len(b))), *interval


@undecided_by_few
def within(x, v):
    estimate, low, high = normal(x)
    edge = MARGIN * max(1, abs(v))
    holds = None
    if v - edge <= low and high <= v + edge:
        holds = True
    elif high < v - edge or low > v + edge:
        holds = False
    return holds, estimate, low, high


@undecided_by_few
def below(x, v):
    estimate, low, high = normal(x)
    edge = v - MARGIN * max(1, abs(v))
    holds = None
    if high < edge:
        holds = True
    elif low >= edge:
        holds = False
    return holds, estimate, low, high


@undecided_by_few
def loses_more(quads):
    """Of areas (rival before, rival after, ours before, ours after), on average over several."""
    terms = [
        (sign / len(quads), x)
        for quad in quads
        for sign, x in zip((1, -1, -1, 1), quad, strict=True)
    ]
    interval = contrast(terms)
    return above_zero(interval, min(len(x) for _, x in terms)), *interval


@undecided_by_few
def later(slow, fast):
    """Steps-to-v are more, on average over several problems."""
    estimate = float(np.mean([x.steps for x in slow]) - np.mean([x.steps for x in fast]))
    drawn = sum(x.drawn for x in slow) / len(slow) - sum(x.drawn for x in fast) / len(fast)
    low, high = bounds(drawn, *slow, *fast)
    holds = above_zero((estimate, low, high), min(x.n for x in (*slow, *fast)))
    if holds is False:
        # The budget is less than the steps of those who never get there: then a mean that is not
        # larger decides only if it is those said to be faster who do not get there.
        sure = all(x.reaches for x in fast) or high < 0
        if not (all(x.reaches for x in slow) and sure):
            holds = None
    return holds, estimate, low, high


@undecided_by_few
def saving(known, unknown):
    """The share of steps saved is about 30 %."""
    estimate = 1 - known.steps / max(unknown.steps, 1)
    low, high = bounds(1 - known.drawn / np.maximum(unknown.drawn, 1), known, unknown)
    holds = None
    if (high < ABOUT[0] and unknown.reaches) or (low > ABOUT[1] and known.reaches):
        holds = False
    elif known.reaches and unknown.reaches and ABOUT[0] <= estimate <= ABOUT[1] and low > 0:
        holds = True
    return holds, estimate, low, high


@undecided_by_few
def similar(one, other):
    """The ratio of steps is between 2/3 and 3/2."""
    estimate = max(one.steps, 1) / max(other.steps, 1)
    low, high = bounds(np.maximum(one.drawn, 1) / np.maximum(other.drawn, 1), one, other)
    holds = None
    if (low > SIMILAR[1] and other.reaches) or (high < SIMILAR[0] and one.reaches):
        holds = False
    elif math.isnan(low):
        holds = None
    elif one.reaches and other.reaches and SIMILAR[0] <= estimate <= SIMILAR[1]:
        holds = True if high >= SIMILAR[0] and low <= SIMILAR[1] else None
    return holds, estimate, low, high


# ---- claims ---------------------------------------------------------------------------------

OURS, RIVAL, KNOWN = "monitored-mbie-eb", "directed-e2", "known-monitor"
RANDOM, PESSIMISTIC = None, -10.0


class Claims:
    """All claims, from what `runs_of` returns and minimax[(world, monitor, ρ, solvable)]."""

    def __init__(self, runs, minimax):
        self.runs = runs
        self.minimax = minimax
        self._steps = {}

    def get(self, where, agent, r0=None):
        return self.runs.get((*where, agent, r0))

    def area(self, where, agent, r0=None):
        run = self.get(where, agent, r0)
        return None if run is None else area(run)

    def end(self, where, agent, r0=None, column="episode_return"):
        run = self.get(where, agent, r0)
        return None if run is None else end(run, column)

    def steps(self, where, agent):
        if (where, agent) not in self._steps:
            run = self.get(where, agent)
            found = None if run is None else Steps(run, self.minimax[where], where)
            self._steps[where, agent] = found
        return self._steps[where, agent]

    def compare(self, rule, a, b):
        return MISSING if a is None or b is None else compared(rule, a, b)

    def better(self, where, r0):
        return self.compare(above_zero, self.area(where, OURS), self.area(where, RIVAL, r0))

    def at_v(self, where):
        x = self.end(where, OURS)
        return MISSING if x is None else within(x, self.minimax[where])

    def fails(self, where, agent):
        x = self.end(where, agent)
        return MISSING if x is None else below(x, self.minimax[where])

    def c1(self):
        a = setting("river-swim", "full")
        return [{a: self.at_v(a)}, {a: self.better(a, RANDOM)}]

    def c2(self):
        b, c = setting("bottleneck", "button"), setting("bottleneck", "button", 0.05)
        slow, fast = self.steps(c, OURS), self.steps(b, OURS)
        return [
            {b: self.at_v(b), c: self.at_v(c)},
            {c: MISSING if slow is None or fast is None else later([slow], [fast])},
            {b: self.fails(b, RIVAL), c: self.fails(c, RIVAL)},
            {c: self.compare(above_zero, self.area(b, RIVAL), self.area(c, RIVAL))},
        ]

    def c3(self):
        c = setting("bottleneck", "button", 0.05)
        known, unknown = self.steps(c, KNOWN), self.steps(c, OURS)
        return [{c: MISSING if known is None or unknown is None else saving(known, unknown)}]

    def c4(self):
        places = [setting(world, monitor) for world in WORLDS_6 for monitor in MONITORS_6]
        return [
            {where: self.better(where, RANDOM) for where in places},
            {
                where: self.compare(not_below_zero, self.area(where, OURS), self.area(where, RIVAL))
                for where in places
            },
        ]

    def c5(self):
        c = setting("bottleneck", "button", 0.05)
        start = {}
        for column in ("goal_visits", "bottom_visits"):
            for agent in (OURS, RIVAL):
                run, check = self.get(c, agent), MISSING
                if run is not None:
                    first = normal(run[column][:, 0])
                    check = above_zero(first, len(run[column])), *first
                start[agent, column] = check
        ours, kept = [], MISSING
        for column, value in (("goal_visits", 1.0), ("bottom_visits", 0.0)):
            x = self.end(c, OURS, column=column)
            ours.append({c: MISSING if x is None else within(x, value)})
        x = self.end(c, RIVAL, column="bottom_visits")
        if x is not None:
            _, low, high = interval = normal(x)
            holds = True if low > MARGIN else False if high <= MARGIN else None
            kept = (holds if len(x) >= FEWEST else None), *interval
        return [start, *ours, {c: kept}]

    def quad(self, before, after):
        return [self.area(w, a, r) for a, r in ((RIVAL, PESSIMISTIC), (OURS, None))
                for w in (before, after)]  # fmt: skip

    def loses_more(self, quads):
        return MISSING if any(x is None for quad in quads for x in quad) else loses_more(quads)

    def c6(self):
        places = [setting("bottleneck", monitor) for monitor in MONITORS_9]
        ask, experts = setting("bottleneck", "ask"), setting("bottleneck", "n-experts")
        return [
            {where: self.better(where, PESSIMISTIC) for where in places},
            {experts: self.loses_more([self.quad(ask, experts)])},
        ]

    def c7(self):
        places = [setting("bottleneck", m, rho) for rho in RHOS for m in MONITORS_9]
        slow = {}
        for high, low in ((0.8, 0.2), (0.2, 0.05)):
            a = [self.steps(setting("bottleneck", m, low), OURS) for m in MONITORS_9]
            b = [self.steps(setting("bottleneck", m, high), OURS) for m in MONITORS_9]
            slow[high, low] = MISSING if None in (*a, *b) else later(a, b)
        quads = [
            self.quad(setting("bottleneck", m, 0.8), setting("bottleneck", m, 0.05))
            for m in MONITORS_9
        ]
        return [
            {where: self.better(where, PESSIMISTIC) for where in places},
            {where: self.at_v(where) for where in places},
            slow,
            {"mean": self.loses_more(quads)},
        ]

    def similar(self, one, other):
        a, b = self.steps(one, KNOWN), self.steps(other, KNOWN)
        return MISSING if a is None or b is None else similar(a, b)

    def c8(self):
        def of(monitor, rho):
            return setting("bottleneck", monitor, rho)

        places = [of(m, rho) for rho in RHOS for m in MONITORS_9]
        return [
            {w: self.compare(not_below_zero, self.area(w, KNOWN), self.area(w, OURS))
             for w in places},
            {rho: self.similar(of("n-experts", rho), of("ask", rho)) for rho in RHOS},
            {(m, rho): self.similar(of(m, rho), of(m, 0.8))
             for rho in RHOS[1:] for m in MONITORS_9},
        ]  # fmt: skip

    def c9(self):
        def par(where, agent):
            return self.compare(contains_zero, self.area(where, OURS), self.area(where, agent))

        def no_fall(where):
            run = self.get(where, "mbie-eb")
            if run is None:
                return MISSING
            change = normal(end(run, "bottom_visits") - run["bottom_visits"][:, 0])
            return not_below_zero(change, len(run["bottom_visits"])), *change

        solvable = [setting("bottleneck", m, 1.0, True) for m in MONITORS_9]
        unsolvable = [setting("bottleneck", m) for m in MONITORS_9]
        rare = [setting("bottleneck", m, 0.05) for m in MONITORS_9]
        return [
            {w: par(w, "mbie-eb") for w in solvable},
            {w: self.fails(w, "mbie-eb") for w in unsolvable},
            {w: no_fall(w) for w in unsolvable},
            {w: par(w, "pessimistic-mbie-eb") for w in solvable + unsolvable},
            {w: self.fails(w, "pessimistic-mbie-eb") for w in rare},
        ]

    def all(self, names=range(1, 10)):
        return {f"C{i}": getattr(self, f"c{i}")() for i in names}


def part_verdict(part, needed=None):
    """True, False or None; `needed`: so many checks of all must hold, by default every one."""
    found = [check[0] for check in part.values()]
    room = 0 if needed is None else len(found) - needed
    if sum(holds is False for holds in found) > room:
        return False
    return True if sum(holds is True for holds in found) >= len(found) - room else None


def verdicts(claims):
    """{claim: [verdict of each part]}."""
    return {
        name: [
            part_verdict(part, 43 if (name, i) == ("C4", 0) else None)
            for i, part in enumerate(parts)
        ]
        for name, parts in claims.items()
    }
