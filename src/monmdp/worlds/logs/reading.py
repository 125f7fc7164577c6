"""A log in batches: a pandas frame, an Arrow table, a Parquet or a CSV file.

A file is never read at once: ten million rows take the memory of one batch and of what is counted.
In CSV everything is text; columns of states, actions and episodes are kept as it, so that ``007``
stays what it is, and only an empty field is missing. Which rows are meant is told as people find
them: by the line of a CSV file, else by the row, counted from 0.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monmdp.errors import MonMDPError, nearest
from monmdp.escaping import printable
from monmdp.memory import demand_room

if TYPE_CHECKING:
    import pandas as pd

BATCH = 1 << 18
"""rows at a time"""
BLOCK = 1 << 23
"""bytes of a CSV file at a time"""
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
FAR = 1_000_000
"""rows; beyond them lines are not counted one by one"""
EXAMPLES = 5
"""rows that are named; the others are counted"""


@dataclass(frozen=True)
class Log:
    """Where rows come from."""

    name: str
    columns: tuple[str, ...]
    text: bool
    """whether every field is text, as in CSV"""
    source: Any
    """a frame, or the path of a file"""

    def batches(self, used: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Return these columns, some rows at a time."""
        if not isinstance(self.source, Path):
            for begin in range(0, len(self.source), BATCH):
                yield self.source[list(used)].iloc[begin : begin + BATCH].reset_index(drop=True)
        elif self.text:
            yield from self._csv(used)
        else:
            yield from self._parquet(used)

    def _csv(self, used: Sequence[str]) -> Iterator[pd.DataFrame]:
        import pyarrow as pa

        try:
            with _opened_csv(self.source, used) as reader:
                for batch in reader:
                    frame = batch.to_pandas()
                    for name in used:
                        frame[name] = frame[name].mask(frame[name] == "")
                    yield frame
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise MonMDPError(f"{self.name}: cannot be read as CSV in UTF-8: {error}") from None

    def _parquet(self, used: Sequence[str]) -> Iterator[pd.DataFrame]:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            texts = [
                of.name for of in parquet.read_schema(self.source) if pa.types.is_string(of.type)
            ]
            with parquet.ParquetFile(self.source, read_dictionary=texts) as file:
                groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
                largest = max((group.total_byte_size for group in groups), default=0)
                demand_room(2 * largest, f"{self.name}: a row group of {largest:,} bytes")
                for batch in file.iter_batches(BATCH, columns=list(used)):
                    yield batch.to_pandas(ignore_metadata=True)
        except (pa.ArrowException, OSError) as error:
            raise MonMDPError(f"{self.name}: cannot be read as Parquet: {error}") from None

    def rows(self, numbers: Sequence[int]) -> str:
        """Name rows as people find them."""
        noun = "line" if self.text else "row"
        found = self._lines(numbers[:EXAMPLES]) if self.text else numbers[:EXAMPLES]
        shown = ", ".join(f"{n:,}" for n in found)
        more = ", …" if len(numbers) > EXAMPLES else ""
        return f"{noun}{'s' if len(numbers) > 1 else ''} {shown}{more}"

    def _lines(self, numbers: Sequence[int]) -> list[int]:
        """Lines of a CSV file on which rows end: some are empty, and some rows have several."""
        import csv
        import gzip

        if max(numbers) >= FAR:
            return [n + 2 for n in numbers]
        open_text = gzip.open if self.source.suffix == ".gz" else open
        with open_text(self.source, "rt", encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=_delimiter(self.source))
            lines = (reader.line_num for fields in reader if fields)
            ends = list(itertools.islice(lines, max(numbers) + 2))[1:]
        return [ends[n] for n in numbers]

    def demand(self, column: str, role: str) -> None:
        """Refuse a column that is not there."""
        if column in self.columns:
            return
        optional = role in ("next_state", "done", "episode")
        without = f"; if it has none, {role}=None (fit --without {role})" if optional else ""
        if self.text and len(self.columns) == 1 and re.search("[;\t]", self.columns[0]):
            raise MonMDPError(
                f"{self.name}: one column, {self.columns[0]!r}; a .csv file has commas between its "
                "fields, a .tsv file tabs"
            )
        raise MonMDPError(
            f"{self.name}: no column {column!r} for {role}{nearest(column, self.columns)}{without}"
        )


NO_NUMBER = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>")
"""what people write where they have no number"""


def opened(log: Any) -> Log:
    """Return a log, and the names of its columns."""
    import pandas as pd

    if isinstance(log, (str, os.PathLike)):
        return _file(Path(log))
    if hasattr(log, "to_pandas") and not isinstance(log, pd.DataFrame):
        log = log.to_pandas()
    if not isinstance(log, pd.DataFrame):
        raise MonMDPError(
            f"a log is a pandas frame, or the path of a .parquet or .csv file, got {type(log)!r}"
        )
    names = [str(name) for name in log.columns]
    _distinct(names, "the frame")
    return Log("the frame", tuple(names), False, log.set_axis(names, axis=1))


def _file(path: Path) -> Log:
    name = printable(str(path))
    ending = "".join(path.suffixes[-2:]).lower() if path.suffix == ".gz" else path.suffix.lower()
    if ending not in (".parquet", *CSV):
        raise MonMDPError(f"{name}: a log is a file that ends in .parquet or {', '.join(CSV)}")
    if not path.exists():
        raise MonMDPError(f"{name}: no such file")
    if not path.is_file():
        raise MonMDPError(f"{name}: not a plain file")
    if ending == ".parquet":
        return Log(name, _parquet_columns(path, name), False, path)
    return Log(name, _csv_columns(path, name), True, path)


def _parquet_columns(path: Path, name: str) -> tuple[str, ...]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        names = parquet.read_schema(path).names
    except (pa.ArrowException, OSError) as error:
        raise MonMDPError(f"{name}: cannot be read as Parquet: {error}") from None
    return _distinct(names, name)


def _csv_columns(path: Path, name: str) -> tuple[str, ...]:
    import pyarrow as pa

    if path.stat().st_size == 0:
        raise MonMDPError(f"{name}: the file is empty")
    try:
        with _opened_csv(path) as reader:
            names = reader.schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise MonMDPError(f"{name}: cannot be read as CSV in UTF-8: {error}") from None
    return _distinct(names, name)


def _opened_csv(path: Path, used: Sequence[str] = ()) -> Any:
    """Open a CSV file; all columns are text, and every row must have all of them."""
    import pyarrow as pa
    from pyarrow import csv

    return csv.open_csv(
        pa.input_stream(str(path), compression="detect"),
        read_options=csv.ReadOptions(block_size=BLOCK),
        parse_options=csv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            include_columns=list(used), column_types=dict.fromkeys(used, pa.string())
        ),
    )


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.suffixes else ","


def _distinct(names: Sequence[str], where: str) -> tuple[str, ...]:
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise MonMDPError(f"{where}: two columns are called {twice!r}")
    return tuple(names)
