"""Tables of the page: what a reader sees of a number, and the number itself for the CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from monmdp.files import file_name
from monmdp.report.packing import finite
from monmdp.results.claims import Claim
from monmdp.results.evidence import Aggregate
from monmdp.results.steps import AgentSteps, StepsTable, shown_order
from monmdp.results.tables import SuiteTable
from monmdp.stats import Interval, mean_interval, median_time

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """A column that is seen, and those of the CSV file that it stands for."""

    title: str
    names: tuple[str, ...]
    about: str = ""
    is_number: bool = True


@dataclass(frozen=True)
class Cell:
    """What is seen, and the values behind it, one for each CSV column."""

    text: str
    values: tuple[Value, ...]
    detail: str = ""
    """in small letters below"""
    link: str = ""
    """id of an element of the page"""
    interval: Interval | None = None
    """drawn as a bar between 0 and 1"""
    tone: str = ""
    """class of a badge"""


@dataclass(frozen=True)
class Row:
    """Cells, and what the filters ask."""

    cells: tuple[Cell, ...]
    marks: Mapping[str, Value] = field(default_factory=dict)
    """world, monitor, rho, agent: where it belongs; none: it is always shown"""


@dataclass(frozen=True)
class Table:
    """A table with a name of its own on the page."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    about: str = ""
    """what it is of, where its title does not say it"""

    def to_dict(self) -> dict[str, Any]:
        """Return what the CSV file is made from."""
        return {
            "file": f"{file_name(' '.join([self.about, self.title]).strip())}.csv",
            "columns": [name for column in self.columns for name in column.names],
            "rows": [[value for cell in row.cells for value in cell.values] for row in self.rows],
        }


def written(value: float, form: str = "") -> str:
    """Return a number as a reader wants it: four digits, or commas, and a true minus sign."""
    if abs(value) < 1e-12:  # chances multiplied over an episode: nothing
        value = 0.0
    if not form:
        form = ",.0f" if abs(value) >= 999.95 else ".4g"
    return f"{value:{form}}".replace("-", "−")


def text_cell(text: str, *, link: str = "", tone: str = "") -> Cell:
    """Return a cell of words."""
    return Cell(text, (text,), link=link, tone=tone)


def number_cell(value: float | None, form: str = "", missing: str = "–") -> Cell:
    """Return a cell of one number."""
    if value is None or isnan(value):
        return Cell(missing, (None,))
    return Cell(written(value, form), (value,))


def interval_cell(interval: Interval | None, form: str = "", *, bar: bool = False) -> Cell:
    """Return a cell of an estimate and its interval."""
    if interval is None:
        return Cell("–", (None, None, None))
    estimate, low, high = interval
    values = tuple(finite(value) for value in interval)
    detail = "" if isnan(low) else f"[{written(low, form)}, {written(high, form)}]"
    text = "–" if isnan(estimate) else written(estimate, form)
    return Cell(text, values, detail, interval=interval if bar else None)


# ---- claims ---------------------------------------------------------------------------------

TONES = {"holds": "good", "does not hold": "bad", "inconclusive": "open"}


def verdicts_table(name: str, claims: Sequence[Claim], about: str) -> Table:
    """Return a row for each claim, and one for each of its parts below it."""
    names = ("claim", "verdict", "what_it_says", "measured", "also")
    rows = []
    for claim in claims:
        lines = [(claim.verdict, claim.text, "", "")]
        lines += [(part.verdict, part.text, part.measured, part.also) for part in claim.parts]
        for verdict, *words in lines:
            texts = (claim.name, verdict.value, *words)
            rows.append(Row(tuple(text_cell(text) for text in texts)))
    columns = tuple(Column(key, (key,), is_number=False) for key in names)
    return Table(name, "Claims", columns, tuple(rows), about=about)


def claims_table(name: str, claims: Sequence[Claim]) -> Table:
    """Return one row for each check of each part of each claim: what the CSV file holds."""
    rows = []
    for claim in claims:
        for part in claim.parts:
            for check in part.checks:
                interval = check.interval or Interval(float("nan"), float("nan"), float("nan"))
                rows.append(
                    Row(
                        (
                            text_cell(claim.name),
                            text_cell(part.text),
                            text_cell(check.setting),
                            text_cell(check.measured),
                            interval_cell(interval),
                            text_cell(check.verdict.value, tone=TONES[check.verdict.value]),
                        )
                    )
                )
    columns = (
        Column("claim", ("claim",), is_number=False),
        Column("what it says", ("part",), is_number=False),
        Column("setting", ("setting",), is_number=False),
        Column("measured", ("measured",), is_number=False),
        Column("estimate", ("estimate", "low", "high")),
        Column("verdict", ("verdict",), is_number=False),
    )
    return Table(name, "Every check", columns, tuple(rows))


# ---- agents over all problems ---------------------------------------------------------------

AGENTS = (
    Column("agent", ("agent",), is_number=False),
    Column("IQM of ends", ("iqm_end", "iqm_end_low", "iqm_end_high")),
    Column("IQM of areas", ("iqm_area", "iqm_area_low", "iqm_area_high")),
    Column(
        "P(improvement)",
        ("p_improvement", "p_improvement_low", "p_improvement_high"),
        "chance that a run of the first agent has a larger area than a run of this one",
    ),
    Column("optimal", ("optimal_runs", "runs"), "runs that become minimax-optimal and stay so"),
    Column("median steps to 1 %", ("median_steps_to_1pct",)),
    Column("mean steps", ("mean_steps_to_1pct_within_budget",), "within the shortest budget"),
)


def agents_table(name: str, title: str, table: SuiteTable) -> Table:
    """Return the agents of a figure over all its problems; `title` says of which figure."""
    rows = []
    for row in table.rows:
        rows.append(
            Row(
                (
                    text_cell(row.agent),
                    interval_cell(row.iqm_end),
                    interval_cell(row.iqm_area),
                    interval_cell(row.improvement, ".2f", bar=True),
                    Cell(f"{row.optimal:,} of {row.runs:,}", (row.optimal, row.runs)),
                    number_cell(row.median_steps, ",.0f", "never"),
                    _mean_steps(row.mean_steps, table.budget),
                ),
                {"agent": row.agent},
            )
        )
    problems = f"{table.problems:,} setting{'' if table.problems == 1 else 's'}"
    notes = [f"Mean steps count within the shortest budget, {table.budget:,} steps."]
    if table.left_out:
        notes.append(f"Left out, for want of equal seeds or of v: {', '.join(table.left_out)}.")
    if table.not_in_all:
        notes.append(f"Not on all problems, hence not here: {', '.join(table.not_in_all)}.")
    return Table(name, f"{title}agents over {problems}", AGENTS, tuple(rows), tuple(notes))


def _mean_steps(steps: float, budget: int) -> Cell:
    """Return a cell that says where all runs fill the budget: they may take any number of steps."""
    cell = number_cell(steps, ",.0f")
    return Cell(f"≥ {cell.text}", cell.values) if steps >= budget else cell


# ---- steps, against the reference -----------------------------------------------------------

STEPS = (
    Column("agent", ("agent",), is_number=False),
    Column("settings", ("settings",)),
    Column("steps to 1 %", ("geometric_mean_steps_to_1pct",), "geometric mean of settings"),
    Column("ratio", ("ratio", "ratio_low", "ratio_high"), "to the reference's steps"),
    Column("reference worse", ("reference_worse",), "on so many settings, beyond chance"),
    Column("never", ("never", "runs"), "runs that never get there: they count with their budget"),
    Column("regret", ("regret",), "what training lost, mean of settings"),
    Column("worst steps", ("worst_steps",), "training steps with the least reward there is"),
)


def steps_table(name: str, table: StepsTable) -> Table:
    """Return how many steps agents take over a group of settings, against the reference."""
    n = len(table.settings)
    of_group = f"{table.group or table.figure}, {n:,} setting{'' if n == 1 else 's'}"
    title = f"{of_group}, against {table.reference}"
    rows = tuple(_steps_row(of) for of in shown_order(table))
    return Table(name, title, STEPS, rows, about=table.figure)


def _steps_row(of: AgentSteps) -> Row:
    return Row(
        (
            text_cell(of.agent),
            number_cell(of.settings, ",.0f"),
            number_cell(of.steps, ",.0f"),
            interval_cell(of.ratio, ".3g"),
            number_cell(None if of.ratio is None else len(of.worse), ",.0f"),
            Cell(f"{of.never:,} of {of.runs:,}", (of.never, of.runs)),
            number_cell(of.regret, ",.1f"),
            number_cell(of.worst_steps, ",.0f"),
        ),
        {"agent": of.agent},
    )


# ---- sessions -------------------------------------------------------------------------------

SESSIONS = (
    Column("session ended", ("ended",), is_number=False),
    Column("runs done", ("runs",)),
    Column("wall seconds", ("wall_seconds",)),
    Column("jobs", ("jobs",), is_number=False),
    Column("commit", ("commit",), is_number=False),
)


def sessions_table(name: str, sessions: Sequence[Mapping[str, Any]], about: str) -> Table:
    """Return who worked on it, and how long; whatever of that was written down."""
    return Table(name, "Sessions", SESSIONS, tuple(map(_session, sessions)), about=about)


def _session(session: Mapping[str, Any]) -> Row:
    runs, seconds = (
        value if isinstance(value, int | float) else None
        for value in (session.get("runs"), session.get("wall_seconds"))
    )
    where = [session.get("jobs"), session.get("shard"), session.get("scheduler")]
    words = ("", "shard ", "scheduler ")
    jobs = [f"{word}{of}" for word, of in zip(words, where, strict=True) if of is not None]
    return Row(
        (
            text_cell(str(session.get("ended", "?"))),
            number_cell(runs, ",.0f", "?"),
            number_cell(seconds, ",.1f", "?"),
            text_cell(", ".join(jobs)),
            text_cell(str(session.get("commit") or "")),
        )
    )


# ---- every problem --------------------------------------------------------------------------

PROBLEMS = (
    Column("setting", ("setting", "world", "monitor", "rho"), is_number=False),
    Column("agent", ("agent",), is_number=False),
    Column("seeds", ("seeds", "seeds_asked")),
    Column("v", ("minimax_return",), "return of an episode of the minimax-optimal policy"),
    Column("end", ("end", "end_low", "end_high")),
    Column("area", ("area", "area_low", "area_high")),
    Column("optimal", ("optimal_runs",), "runs that become minimax-optimal and stay so"),
    Column("steps to 1 %", ("median_steps_to_1pct",), "median; never: not half of the runs"),
    Column("steps-to-v", ("steps_to_v",), "of the mean over seeds, within 5 %"),
    Column("goal visits", ("goal_visits", "goal_visits_low", "goal_visits_high"), "at the end"),
    Column("⊥ visits", ("bottom_visits", "bottom_visits_low", "bottom_visits_high"), "at the end"),
)


def problem_row(
    title: str,
    agent: str,
    marks: Mapping[str, Value],
    link: str,
    of: Aggregate | None,
    asked: int,
) -> Row:
    """Return what an agent came to on one problem; `marks` has world, monitor, rho and agent."""
    where = (title, marks["world"], marks["monitor"], marks["rho"])
    head = (Cell(title, where, link=link), text_cell(agent))
    if of is None:
        rest = [Cell("", (None,) * len(column.names)) for column in PROBLEMS[3:]]
        return Row((*head, Cell(f"not run, 0 of {asked}", (0, asked)), *rest), marks)
    n, known = len(of.seeds), not isnan(of.minimax)
    budget = of.settings["steps"]
    median = median_time(of.steps_to_optimal.astype(float), of.optimal) if known else None
    never = "never" if known else "–"
    to_v = of.steps_to_v if known and of.steps_to_v < budget else None
    return Row(
        (
            *head,
            Cell(f"{n}" if n == asked else f"{n} of {asked}", (n, asked)),
            number_cell(of.minimax),
            interval_cell(mean_interval(of.end["episode_return"])),
            interval_cell(mean_interval(of.area)),
            Cell(f"{int(of.optimal.sum())} of {n}", (int(of.optimal.sum()),))
            if known
            else Cell("–", (None,)),
            number_cell(median, ",.0f", never),
            number_cell(to_v, ",.0f", never),
            interval_cell(_visits(of, "goal_visits")),
            interval_cell(_visits(of, "bottom_visits")),
        ),
        marks,
    )


def _visits(of: Aggregate, score: str) -> Interval:
    """Mean visits at the end; no mean of visits is negative."""
    mean, low, high = mean_interval(of.end[score])
    return Interval(mean, low if isnan(low) else max(low, 0.0), high)
