"""Tables of claims and their checks, from what `Claim.to_dict` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from monmdp.stats import Interval
from monmdp.tables import Cell, Column, Table, TableRow

TONES = {"holds": "good", "does not hold": "bad", "inconclusive": "open"}
SAYS = "what it says, and what was measured"


def claims_table(claims: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row for each claim, and one for each of its parts below it."""
    rows = []
    for claim in claims:
        name = claim["claim"]
        says = Cell(claim["text"], (claim["text"], "", ""))
        rows.append(TableRow((name, verdict(claim), says), is_heading=True))
        for part in claim["parts"]:
            values = (part["text"], part["measured"], part["also"])
            says = Cell(part["text"], values, measured(part))
            rows.append(TableRow((Cell("", (name,)), verdict(part), says)))
    columns = ("claim", "verdict", Column(SAYS, ("what_it_says", "measured", "also")))
    return Table.of(columns, rows, title="Claims")


def checks_table(claims: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row for each check of each part of each claim."""
    rows = []
    for claim in claims:
        for part in claim["parts"]:
            for check in part["checks"]:
                numbers = check["estimate_low_high"] or [None] * 3
                interval = Interval(*(float("nan") if x is None else x for x in numbers))
                words = (claim["claim"], part["text"], check["setting"], check["measured"])
                rows.append((*words, interval, verdict(check)))
    estimate = Column("estimate", ("estimate", "low", "high"), form="")
    columns = ("claim", Column("what it says", ("part",)), "setting", "measured", estimate)
    return Table.of((*columns, "verdict"), rows, title="Every check")


def measured(part: Mapping[str, Any]) -> str:
    """Return what was measured for a part of a claim, and what other measures say."""
    return f"{part['measured']}. Also: {part['also']}" if part["also"] else str(part["measured"])


def verdict(of: Mapping[str, Any]) -> Cell:
    """Return the verdict on a claim, a part or a check, with its badge."""
    return Cell(of["verdict"], (of["verdict"],), tone=TONES[of["verdict"]])
