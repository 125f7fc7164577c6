"""What a snapshot on disk says of the cells of its world, in plain loops, without the page's code.

Sentences are written out as the explorer should write them, so that every name and number in them
is compared. The page has its numbers in single precision: `single` rounds ours alike.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cached_property

import numpy as np

from monmdp import MonMDP, load_run
from monmdp.agents.greedy import greedy_policy
from monmdp.experiment import Policy, rollout

RARE = 1e-9
"""visits an episode that are none"""
UNTRIED = "untried with some monitor action"
TRIED_SINCE = "first tried since the agent last planned"
NEVER_SHOWN = "its reward was never shown"
SHOWN_SINCE = "first tried or first shown since the agent last planned"
STATUS = {"unknown": "· unknown", "seen": "● seen", "unseen": "✕ unseen"}


def single(x):
    return float(np.float32(x))


def short(x, digits=3):
    """A number as the page writes it."""
    if x == int(x) or abs(x) >= 10_000:
        text = f"{Decimal(x).to_integral_value(ROUND_HALF_UP):,}"
    else:
        kept = digits if abs(x) >= 1e-3 else digits - 1
        rounded = Context(prec=kept, rounding=ROUND_HALF_UP).create_decimal(Decimal(x))
        text = f"{float(rounded):.{digits - 2}e}" if abs(x) < 1e-3 else f"{float(rounded):g}"
        text = text.replace("e-0", "e-")
    return text.replace("-", "−")


def times(n):
    return {1: "once", 2: "twice"}.get(n, f"{short(n)} times")


def only_run(folder):
    """The first seed of the only configuration in a folder of results, and its problem."""
    (run,) = (folder / "runs").glob("*/seed-0000.parquet")
    (problem,) = (folder / "problems").iterdir()
    return load_run(run), MonMDP.load(problem)


class Known:
    """A run with snapshots and its problem."""

    def __init__(self, folder):
        self.run, self.problem = only_run(folder)
        self.agent = self.run.settings["agent"]
        self.steps = self.run.snapshot_steps.tolist()

    def at(self, i):
        return Snapshot(self, i)

    def episode(self, kind, i):
        """The episode that the explorer shows of a snapshot."""
        policy = self.run.snapshots["policy"][i]
        if kind == "observe":
            q = self.run.snapshots["q_obs"][i]
            policy = np.zeros_like(q)
            greedy_policy(q, policy)
        seed = np.random.SeedSequence([0, self.steps[i], ("test", "observe").index(kind)])
        limit = min(500, self.problem.mdp.time_limit)
        rng = np.random.default_rng(seed)
        return rollout(self.problem, Policy(self.problem.shape, policy), rng, limit=limit)


class Snapshot:
    """What the agent knew at one time, by environment state, monitor state and action."""

    def __init__(self, known, i):
        self.known, self.problem, self.agent = known, known.problem, known.agent
        self.mdp, self.monitor = self.problem.mdp, self.problem.monitor
        self.n_se, self.n_sm, self.n_ae, self.n_am = self.problem.shape
        of = {name: values[i] for name, values in known.run.snapshots.items()}
        self.title = "Q_opt" if "q_opt" in of else "Q"
        self.counts, self.shown = self.parts(of["n"]), of["n_env"]
        self.joint = self.parts(of[self.title.lower()])
        self.joint_hope = self.parts(of["q_obs"]) if "q_obs" in of else None
        self.joint_policy = self.parts(of["policy"])
        self.joint_visits = self.parts(
            Policy(self.problem.shape, of["policy"]).visits(self.problem)
        )

    def parts(self, values):
        return np.asarray(values).reshape(self.problem.shape)

    def everywhere(self):
        """All pairs of a monitor state and an environment state."""
        return [(sm, se) for sm in range(self.n_sm) for se in range(self.n_se)]

    # ---- numbers

    def visits(self, se, sm, ae):
        return sum(int(self.counts[se, sm, ae, am]) for am in range(self.n_am))

    def tested(self, se, sm, ae):
        """How often a test episode takes an action there."""
        return single(self.joint_visits[se, sm, ae].sum())

    def value(self, se, sm, ae):
        return single(max(self.joint[se, sm, ae, am] for am in range(self.n_am)))

    def best_action(self, se, sm):
        values = [self.value(se, sm, ae) for ae in range(self.n_ae)]
        return values.index(max(values))

    def policy(self, se, sm):
        """action -> its chance"""
        return {
            name: sum(self.joint_policy[se, sm, ae, am] for am in range(self.n_am))
            for ae, name in enumerate(self.mdp.action_labels)
        }

    def monitor_policy(self, se, sm):
        return [
            sum(self.joint_policy[se, sm, ae, am] for ae in range(self.n_ae))
            for am in range(self.n_am)
        ]

    def here(self, se, sm=None):
        """How often a test episode is in a cell, with the monitor in one state or in any."""
        of = range(self.n_sm) if sm is None else [sm]
        return sum(self.tested(se, m, ae) for m in of for ae in range(self.n_ae))

    def usual(self, se):
        """The monitor's state in which it is there most often."""
        often = [self.here(se, sm) for sm in range(self.n_sm)]
        return often.index(max(often))

    def flow(self, se, ae):
        """How often it takes an action there, whatever the monitor's state."""
        return sum(self.tested(se, sm, ae) for sm in range(self.n_sm))

    @cached_property
    def into(self):
        """[cell] (from, action, chance) of all ways there"""
        found = [[] for _ in range(self.n_se)]
        for se in range(self.n_se):
            for ae in range(self.n_ae):
                first = self.mdp.first[se * self.n_ae + ae]
                last = self.mdp.first[se * self.n_ae + ae + 1]
                chance = {}
                for o in range(first, last):
                    to = int(self.mdp.successor[o])
                    chance[to] = chance.get(to, 0.0) + single(self.mdp.probability[o])
                for to, p in chance.items():
                    found[to].append((se, ae, p))
        return found

    # ---- words

    def status(self, se, sm, ae):
        if self.shown[se, ae] > 0:
            return "seen"
        tried = all(self.counts[se, sm, ae, am] > 0 for am in range(self.n_am))
        return "unseen" if tried else "unknown"

    def pinned(self, se, sm, ae):
        """Why a value stands at its start; an empty word if it does not."""
        if self.title == "Q":
            return ""
        start = self.known.run.settings["parameters"]["q_opt_init"]
        if all(self.joint[se, sm, ae, am] != start for am in range(self.n_am)):
            return ""
        if any(self.counts[se, sm, ae, am] == 0 for am in range(self.n_am)):
            return UNTRIED
        if self.agent == "mbie-eb":
            return SHOWN_SINCE if self.shown[se, ae] else NEVER_SHOWN
        return TRIED_SINCE

    def footnote(self, se, sm):
        reasons = dict.fromkeys(self.pinned(se, sm, ae) for ae in range(self.n_ae))
        reasons.pop("", None)
        if not reasons:
            return None
        start = "* not learnt yet for some monitor action, still at its optimistic initial value"
        return f"{start}: {', or '.join(reasons)}"

    def unseen(self):
        """What the agent takes a reward for that was never shown."""
        if self.agent == "monitored-mbie-eb":
            return f"r_min = {short(self.mdp.r_min)}"
        return {
            "mbie-eb": "the best there is, Q = 50",
            "q-count": "what its reward model began with",
        }[self.agent]

    def rows(self, se, sm):
        """What the table of a cell has to say: title -> a word for each action."""
        actions = range(self.n_ae)
        stars = ["*" if self.pinned(se, sm, ae) else "" for ae in actions]
        found = {
            "visits here": [short(self.visits(se, sm, ae)) for ae in actions],
            "shown, in any monitor state": [short(int(self.shown[se, ae])) for ae in actions],
            "reward": [STATUS[self.status(se, sm, ae)] for ae in actions],
            self.title: [short(self.value(se, sm, ae)) + stars[ae] for ae in actions],
            "policy": [short(single(p)) for p in self.policy(se, sm).values()],
        }
        if self.joint_hope is not None:
            hopes = [single(self.joint_hope[se, sm, ae].max()) for ae in actions]
            found["Q_obs"] = [short(hope) + stars[ae] for ae, hope in enumerate(hopes)]
        return found

    def monitor_line(self, se, sm):
        said = [
            f"{self.monitor.actions[am]} {short(single(p))}"
            for am, p in enumerate(self.monitor_policy(se, sm))
            if p > 0.001
        ]
        return f"monitor action of the test policy: {', '.join(said)}"

    def names(self, ways):
        of = [f"{self.mdp.action_labels[ae]} in {self.mdp.state_labels[se]}" for se, ae, _ in ways]
        return ", ".join(of[:3]) + (" and others" if len(of) > 3 else "")

    def why(self, se, sm):
        """Whether test episodes come to a cell, how, and why not."""
        words = []
        start = self.mdp.start[se]
        if start == 1:
            words.append("Episodes start here.")
        elif start > 0:
            words.append(f"Episodes start here with probability {short(start)}.")
        ways = [way for way in self.into[se] if way[0] != se]

        def rate(way):
            return self.flow(*way[:2]) * way[2]

        taken = [way for way in ways if self.flow(*way[:2]) > RARE]
        taken.sort(key=rate, reverse=True)
        if taken:
            often = times_an_episode(sum(map(rate, taken)))
            words.append(f"The test policy comes here by {self.names(taken)}, {often} on average.")
        elif not start:
            words.append(self.why_not(ways))
        if self.n_sm > 1 and self.here(se) > RARE and self.here(se, sm) <= RARE:
            words.append(f"But never with monitor {self.monitor.states[sm]}.")
        return " ".join(words)

    def why_not(self, ways):
        if not ways:
            return "No action in another cell leads here."
        near = [way for way in ways if self.here(way[0]) > RARE]
        if not near:
            return (
                "The test policy does not come here: it is in none of the cells from which an "
                "action leads here."
            )
        gaps, unseen = [], []
        for way in near:
            se, ae, _ = way
            sm = self.usual(se)
            gaps.append(
                max(self.value(se, sm, a) for a in range(self.n_ae)) - self.value(se, sm, ae)
            )
            if self.status(se, sm, ae) == "unseen":
                unseen.append(way)
        less = "they are worth about as much as what it does there"
        if min(gaps) >= 1e-6:
            less = f"they are worth less than what it does there, by at least {short(min(gaps), 2)}"
        if len(unseen) == len(near):
            return (
                "The test policy avoids this cell: from where it goes, no way in has ever shown "
                f"its reward, so it counts as {self.unseen()}; {less}."
            )
        some = ""
        if unseen:
            some = (
                f", and of {self.names(unseen)} no reward was ever shown, so it counts as "
                f"{self.unseen()}"
            )
        return (
            "The test policy does not come here: there are ways in from where it goes "
            f"({self.names(near)}), but {less}{some}."
        )

    def ways(self, se, sm):
        """The list of ways in: (what it says, whether a test episode takes it)."""
        ways = sorted(self.into[se], key=lambda way: (way[0] == se, -way[2]))
        found = [(self.way(*way, sm), self.flow(*way[:2]) > RARE) for way in ways]
        if len(found) > 12:
            return [*found[:12], (f"and {len(found) - 12} more", False)]
        return found

    def way(self, se, ae, p, sm):
        several = self.n_sm > 1
        words = f"from {self.mdp.state_labels[se]} {self.mdp.action_labels[ae]}"
        if p < 0.9995:
            words += f" (leads here with probability {short(p)})"
        visits, shown = self.visits(se, sm, ae), int(self.shown[se, ae])
        words += f": tried {times(visits)}" if visits else ": never tried"
        if several:
            words += f" with monitor {self.monitor.states[sm]}"
        if shown:
            words += f", reward shown {times(shown)}" + " in any monitor state" * several
        else:
            words += ", reward never shown"
            if visits and self.status(se, sm, ae) == "unseen":
                words += f", treated as {self.unseen()}"
        value, best = self.value(se, sm, ae), self.best_action(se, sm)
        words += f"; {self.title} {short(value)}"
        if self.pinned(se, sm, ae):
            start = "for some monitor action still at its optimistic initial value"
            words += f" ({start}: {self.pinned(se, sm, ae)})"
        gap = self.value(se, sm, best) - value
        if gap < 1e-9:
            return f"{words}, the best there"
        name = self.mdp.action_labels[best]
        return f"{words}, best there {name} {short(self.value(se, sm, best))}"


def times_an_episode(rate):
    text = short(rate, 2)
    return "once per episode" if text == "1" else f"{text} times per episode"
