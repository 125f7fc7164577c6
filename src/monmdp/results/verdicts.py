"""Tables of claims and their checks, from what `JudgedClaim.to_dict` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from monmdp.stats import Interval
from monmdp.tables import Cell, Column, Table, TableRow

TONES = {
    "holds": "good",
    "holds, another number": "good",
    "not reproduced": "bad",
    "open": "open",
}
SAYS = "what it says, what was found, and how it was judged"


def claims_table(claims: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row for each claim, and one for each of its sentences below it."""
    rows = []
    for claim in claims:
        name = claim["claim"]
        about = f"{claim['about']}: " if claim["about"] else ""
        says = Cell(f"{about}{claim['headline']}", (claim["about"], "", "", ""))
        rows.append(TableRow((name, Cell("", ("",)), says), is_heading=True))
        for of in claim["sentences"]:
            values = (of["says"], of["measured"], of["by"], of["seeds"])
            says = Cell(of["says"], values, f"{of['measured']}. {of['how']}")
            rows.append(TableRow((Cell("", (name,)), verdict(of), says)))
    columns = (
        "claim",
        "verdict",
        Column(SAYS, ("what_it_says", "measured", "judged_by", "seeds")),
    )
    return Table.of(columns, rows, title="Claims")


def checks_table(claims: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row for each check of each sentence of each claim."""
    rows = []
    for claim in claims:
        for sentence in claim["sentences"]:
            for check in sentence["checks"]:
                numbers = check["estimate_low_high"] or [None] * 3
                interval = Interval(*(float("nan") if x is None else x for x in numbers))
                words = (claim["claim"], sentence["says"], check["setting"], check["measured"])
                rows.append((*words, check["beside"], interval, verdict(check)))
    estimate = Column("estimate", ("estimate", "low", "high"), form="")
    columns = ("claim", Column("what it says", ("sentence",)), "setting", "measured", "beside")
    return Table.of((*columns, estimate, "verdict"), rows, title="Every check")


def verdict(of: Mapping[str, Any]) -> Cell:
    """Return the verdict on a sentence or a check, with its badge."""
    return Cell(of["verdict"], (of["verdict"],), tone=TONES[of["verdict"]])
