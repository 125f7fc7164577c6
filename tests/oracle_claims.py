"""The paper's claims once more, slowly: from the tidy table of all runs, written from the terms.

Nothing of the package is used. A check is (holds, estimate, low, high), where holds is True, False
or None for inconclusive; a part is a dict from setting to check; a claim is a list of parts in the
order in which its sentence makes them. Settings are (world, monitor, ρ, solvable).
"""

import math

import numpy as np
import pandas as pd

ENOUGH = 30
LAST = 10
MARGIN = 0.05
ABOUT = (0.2, 0.4)
SIMILAR = (2 / 3, 3 / 2)
RESAMPLES = 2000

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


def student(level_df):
    """The 97.5 % point of Student's t, by bisection of its integral; no statistics library."""
    df = level_df
    if math.isinf(df):
        df = 1e9

    def upper_tail(t):  # substitute x = √df·tan(u): ∫ cos^(df-1)
        u = np.linspace(math.atan(t / math.sqrt(df)), math.pi / 2, 20001)
        log_c = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(math.pi)
        with np.errstate(divide="ignore"):
            y = np.exp(log_c + (df - 1) * np.log(np.maximum(np.cos(u), 0.0)))
        return float(((y[1:] + y[:-1]) * np.diff(u) / 2).sum())

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


def steps_to(run, v):
    return steps_of_mean(run["worst_case_return"].mean(axis=0), run["step"], v)


def resampled(run, v, rng):
    curves = run["worst_case_return"]
    n = len(curves)
    return np.array([
        steps_of_mean(curves[rng.integers(n, size=n)].mean(axis=0), run["step"], v)
        for _ in range(RESAMPLES)
    ])  # fmt: skip


def bounds(values):
    values = np.sort(values[~np.isnan(values)])
    if len(values) == 0:
        return math.nan, math.nan
    n = len(values)
    return values[int(0.025 * (n - 1))], values[math.ceil(0.975 * (n - 1))]


def over(a, b):
    """a / b of steps, where 0 / 0 is 1 and inf / inf is unknown."""
    a, b = np.atleast_1d(np.asarray(a, float)), np.atleast_1d(np.asarray(b, float))
    with np.errstate(all="ignore"):
        ratio = a / b
    ratio[(a == 0) & (b == 0)] = 1.0
    return ratio


# ---- checks ---------------------------------------------------------------------------------


MISSING = (None, math.nan, math.nan, math.nan)


def better(a, b, may_tie=False):
    """Of two samples: a's mean is larger (`may_tie`: or not smaller)."""
    estimate, low, high = contrast([(1, a), (-1, b)])
    if math.isnan(low):
        holds = None
    elif low > 0:
        holds = True
    elif high < 0:
        holds = False
    elif min(len(a), len(b)) < ENOUGH:
        holds = None
    else:
        holds = may_tie
    return holds, estimate, low, high


def on_par(a, b):
    estimate, low, high = contrast([(1, a), (-1, b)])
    if math.isnan(low):
        holds = None
    elif low > 0 or high < 0:
        holds = False
    else:
        holds = True if min(len(a), len(b)) >= ENOUGH else None
    return holds, estimate, low, high


def within(x, v):
    estimate, low, high = contrast([(1, x)])
    edge = MARGIN * max(1, abs(v))
    if math.isnan(low):
        holds = None
    elif v - edge <= low and high <= v + edge:
        holds = True
    elif high < v - edge or low > v + edge:
        holds = False
    else:
        holds = None
    return holds, estimate, low, high


def below(x, v):
    estimate, low, high = contrast([(1, x)])
    edge = v - MARGIN * max(1, abs(v))
    if math.isnan(low):
        holds = None
    elif high < edge:
        holds = True
    else:
        holds = False if low >= edge else None
    return holds, estimate, low, high


def costs_more(easy, hard, easy2, hard2):
    """The second agent loses more from easy to hard than the first; all samples of areas."""
    estimate, low, high = contrast([(1, easy2), (-1, hard2), (-1, easy), (1, hard)])
    if math.isnan(low):
        return None, estimate, low, high
    if low > 0 or high < 0:
        return low > 0, estimate, low, high
    n = min(len(x) for x in (easy, hard, easy2, hard2))
    return (None if n < ENOUGH else False), estimate, low, high


def slower(fast, slow, v_fast, v_slow, rng):
    """The second one takes more steps."""
    estimate = steps_to(slow, v_slow) - steps_to(fast, v_fast)
    if math.isinf(steps_to(fast, v_fast)) and math.isinf(steps_to(slow, v_slow)):
        return None, math.nan, math.nan, math.nan
    with np.errstate(invalid="ignore"):
        low, high = bounds(resampled(slow, v_slow, rng) - resampled(fast, v_fast, rng))
    if seeds(fast, slow) < 2:
        return None, estimate, math.nan, math.nan
    if low > 0 or high < 0:
        return low > 0, estimate, low, high
    return (None if seeds(fast, slow) < ENOUGH else False), estimate, low, high


# ---- claims ---------------------------------------------------------------------------------


class Claims:
    """All claims from a tidy table and minimax[(world, monitor, ρ, solvable)]."""

    def __init__(self, frame, minimax, seed=0):
        self.runs = runs_of(frame)
        self.minimax = minimax
        self.rng = np.random.default_rng(seed)

    def get(self, where, agent, r0=None):
        return self.runs.get((*where, agent, r0))

    def check(self, rule, *runs_and_values):
        """MISSING if a run is, else what the rule says."""
        if any(x is None for x in runs_and_values):
            return MISSING
        return rule(*runs_and_values)

    def better(self, where, r0):
        mine, theirs = self.get(where, "monitored-mbie-eb"), self.get(where, "directed-e2", r0)
        return self.check(lambda a, b: better(area(a), area(b)), mine, theirs)

    def at_v(self, where, agent="monitored-mbie-eb", r0=None):
        return self.check(lambda a: within(end(a), self.minimax[where]), self.get(where, agent, r0))

    def fails(self, where, agent, r0=None):
        return self.check(lambda a: below(end(a), self.minimax[where]), self.get(where, agent, r0))

    def slower(self, fast, slow, agent="monitored-mbie-eb"):
        return self.check(
            lambda a, b: slower(a, b, self.minimax[fast], self.minimax[slow], self.rng),
            self.get(fast, agent), self.get(slow, agent),
        )  # fmt: skip

    def costs_more(self, easy, hard, r0):
        def rule(a, b, c, d):
            return costs_more(area(a), area(b), area(c), area(d))

        return self.check(
            rule, self.get(easy, "monitored-mbie-eb"), self.get(hard, "monitored-mbie-eb"),
            self.get(easy, "directed-e2", r0), self.get(hard, "directed-e2", r0),
        )  # fmt: skip

    def similar(self, one, other, agent):
        def rule(a, b):
            x, y = steps_to(a, self.minimax[one]), steps_to(b, self.minimax[other])
            ratio = float(over(x, y)[0])
            drawn = over(
                resampled(a, self.minimax[one], self.rng),
                resampled(b, self.minimax[other], self.rng),
            )
            low, high = bounds(drawn)
            if math.isnan(ratio):
                return None, ratio, low, high
            return SIMILAR[0] <= ratio <= SIMILAR[1], ratio, low, high

        return self.check(rule, self.get(one, agent), self.get(other, agent))

    # -- one for each claim

    def c1(self):
        a = setting("river-swim", "full")
        return [{a: self.at_v(a)}, {a: self.better(a, None)}]

    def c2(self):
        b, c = setting("bottleneck", "button"), setting("bottleneck", "button", 0.05)

        def worse(x, y):
            return better(area(x), area(y))

        easy, hard = self.get(b, "directed-e2"), self.get(c, "directed-e2")
        return [
            {b: self.at_v(b), c: self.at_v(c)},
            {c: self.slower(b, c)},
            {b: self.fails(b, "directed-e2"), c: self.fails(c, "directed-e2")},
            {c: self.check(worse, easy, hard)},
        ]

    def c3(self):
        c = setting("bottleneck", "button", 0.05)

        def rule(known, unknown):
            v = self.minimax[c]
            x, y = steps_to(known, v), steps_to(unknown, v)
            saving = 1 - float(over(x, y)[0])
            drawn = 1 - over(resampled(known, v, self.rng), resampled(unknown, v, self.rng))
            low, high = bounds(drawn)
            if math.isnan(saving) or seeds(known, unknown) < 2:
                return None, saving, low, high
            if not ABOUT[0] <= saving <= ABOUT[1]:
                return False, saving, low, high
            if low > 0:
                return True, saving, low, high
            return None, saving, low, high

        pair = self.get(c, "known-monitor"), self.get(c, "monitored-mbie-eb")
        return [{c: self.check(rule, *pair)}]

    def c4(self):
        better_part, par_part = {}, {}
        for world in WORLDS_6:
            for monitor in MONITORS_6:
                where = setting(world, monitor)
                better_part[where] = self.better(where, None)
                mine, theirs = self.get(where, "monitored-mbie-eb"), self.get(where, "directed-e2")
                par_part[where] = self.check(lambda a, b: on_par(area(a), area(b)), mine, theirs)
        return [better_part, par_part]

    def c5(self):
        c = setting("bottleneck", "button", 0.05)
        start, last, keeps = {}, {}, {}
        for agent in ("monitored-mbie-eb", "directed-e2"):
            run = self.get(c, agent)
            for column in ("goal_visits", "bottom_visits"):
                start[agent, column] = (
                    MISSING if run is None else better(run[column][:, 0], np.zeros(len(run[column])))
                )
        mine, theirs = self.get(c, "monitored-mbie-eb"), self.get(c, "directed-e2")
        last["goal_visits"] = self.check(lambda a: within(end(a, "goal_visits"), 1.0), mine)
        last["bottom_visits"] = self.check(lambda a: within(end(a, "bottom_visits"), 0.0), mine)
        keeps[c] = self.check(
            lambda a: better(end(a, "bottom_visits"), np.zeros(seeds(a))), theirs
        )
        return [start, last, keeps]

    def c6(self):
        places = [setting("bottleneck", monitor) for monitor in MONITORS_9]
        ask, experts = setting("bottleneck", "ask"), setting("bottleneck", "n-experts")
        return [
            {where: self.better(where, -10.0) for where in places},
            {experts: self.costs_more(ask, experts, -10.0)},
        ]

    def c7(self):
        places = [setting("bottleneck", m, rho) for rho in RHOS for m in MONITORS_9]
        slow, more = {}, {}
        for monitor in MONITORS_9:
            chain = [setting("bottleneck", monitor, rho) for rho in RHOS]
            for easy, hard in zip(chain, chain[1:], strict=False):
                slow[hard] = self.slower(easy, hard)
            more[chain[-1]] = self.costs_more(chain[0], chain[-1], -10.0)
        return [
            {where: self.better(where, -10.0) for where in places},
            {where: self.at_v(where) for where in places},
            slow,
            more,
        ]

    def c8(self):
        places = [setting("bottleneck", m, rho) for rho in RHOS for m in MONITORS_9]

        def good(a, b):
            return better(area(a), area(b), may_tie=True)

        first = {
            where: self.check(
                good, self.get(where, "known-monitor"), self.get(where, "monitored-mbie-eb")
            )
            for where in places
        }
        second = {
            setting("bottleneck", "n-experts", rho): self.similar(
                setting("bottleneck", "n-experts", rho), setting("bottleneck", "ask", rho),
                "known-monitor",
            )
            for rho in RHOS
        }  # fmt: skip
        third = {}
        for monitor in MONITORS_9:
            for i, rho in enumerate(RHOS):
                for other in RHOS[:i]:
                    one = setting("bottleneck", monitor, rho)
                    third[one, other] = self.similar(
                        one, setting("bottleneck", monitor, other), "known-monitor"
                    )
        return [first, second, third]

    def c9(self):
        def par(where, agent):
            mine, theirs = self.get(where, agent), self.get(where, "monitored-mbie-eb")
            return self.check(lambda a, b: on_par(area(a), area(b)), mine, theirs)

        def no_fall(run):
            """Within each run: the ⊥ visits of the end less those of step 0."""
            change = end(run, "bottom_visits") - run["bottom_visits"][:, 0]
            estimate, low, high = contrast([(1, change)])
            if math.isnan(low):
                return None, estimate, low, high
            if low >= 0:
                return True, estimate, low, high
            if high < 0:
                return False, estimate, low, high
            return (True if len(change) >= ENOUGH else None), estimate, low, high

        solvable = [setting("bottleneck", m, 1.0, True) for m in MONITORS_9]
        unsolvable = [setting("bottleneck", m) for m in MONITORS_9]
        rare = [setting("bottleneck", m, 0.05) for m in MONITORS_9]
        return [
            {w: par(w, "mbie-eb") for w in solvable},
            {w: self.fails(w, "mbie-eb") for w in unsolvable},
            {w: self.check(no_fall, self.get(w, "mbie-eb")) for w in unsolvable},
            {w: par(w, "pessimistic-mbie-eb") for w in solvable + unsolvable},
            {w: self.fails(w, "pessimistic-mbie-eb") for w in rare},
        ]

    def all(self):
        return {f"C{i}": getattr(self, f"c{i}")() for i in range(1, 10)}


def verdict(checks):
    """What a part, or a claim of parts, comes to."""
    found = list(checks)
    if any(holds is False for holds in found):
        return False
    return None if not found or any(holds is None for holds in found) else True


def part_verdict(part):
    return verdict(check[0] for check in part.values())


def counted(better_part, par_part, n_better=43, n_par=5):
    """Figure 6: so many better and so many on par, as far as the checks tell."""
    surely_better = sum(c[0] is True for c in better_part.values())
    maybe_better = sum(c[0] is not False for c in better_part.values())
    surely_par = sum(c[0] is True for c in par_part.values())
    maybe_par = sum(c[0] is not False for c in par_part.values())

    def judge(sure, maybe, wanted):
        if sure == maybe:
            return sure == wanted
        return None if sure <= wanted <= maybe else False

    return judge(surely_better, maybe_better, n_better), judge(surely_par, maybe_par, n_par)
