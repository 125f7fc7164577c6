"""Parquet files of our own: what they say of themselves, and a checksum of every byte.

Parquet's own checksums cover pages, not their headers nor the footer. A seal covers all of the
file: it is a hash of it with zeros in the seal's place.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from monmdp.errors import MonMDPError
from monmdp.files import COPIES, read_whole, write_whole
from monmdp.memory import demand_room
from monmdp.schema import DamagedError, UnreadableError, from_json

KEY = b"monmdp"
SEAL = b'"seal": "'
BLANK = b"0" * 64
ROWS = 100
"""rows of texts that are unpacked at a time"""


def write_sealed(
    path: str | os.PathLike[str], table: Any, footer: Mapping[str, Any], **options: Any
) -> None:
    """Write a table and its footer into one file; it is there whole or not at all."""
    import pyarrow.parquet as pq

    text = json.dumps({"seal": BLANK.decode(), **footer})
    # Into memory first: what fails then is the one write below, with a plain error of the system.
    content = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata({KEY: text.encode()}), content,
        compression="zstd", write_statistics=False, **options,
    )  # fmt: skip
    sealed = _with_seal(content.getvalue(), hashlib.sha256(content.getvalue()).hexdigest().encode())
    write_whole(path, lambda file: file.write(sealed))


def read_sealed(
    path: str | os.PathLike[str],
    form: str,
    columns: Sequence[str] | None = None,
    schema: Any = None,
) -> tuple[dict[str, Any], Any]:
    """Read the footer, and the columns as a table; `DamagedError` if a single bit has changed.

    `schema` says which columns of which types the file must have.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = read_whole(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read, {error.strerror or error}") from None
    except MonMDPError as error:
        raise DamagedError(str(error)) from None
    at = content.rfind(SEAL) + len(SEAL)
    seal = content[at : at + len(BLANK)]
    if at < len(SEAL):
        raise DamagedError(f"{path}: damaged, or no file of this program")
    if hashlib.sha256(_with_seal(content, BLANK)).hexdigest().encode() != seal:
        raise DamagedError(f"{path}: damaged, its checksum does not fit")
    # A checksum keeps out accidents, not people: anybody can seal anything.
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            footer = from_json((file.schema_arrow.metadata or {}).get(KEY, b""), path)
            found = footer.get("format") if isinstance(footer, dict) else footer
            if found != form:
                raise DamagedError(f"{path}: its format is {str(found)[:60]!r}, not {form!r}")
            lacking = [name for name in columns or () if name not in file.schema_arrow.names]
            if lacking:
                raise DamagedError(f"{path}: damaged, there is no column {lacking[0]!r}")
            if schema is not None and not file.schema_arrow.equals(schema):
                raise DamagedError(f"{path}: damaged, its columns are not those of {form!r}")
            table = None if columns == () else _unpacked(file, columns, str(path))
    except DamagedError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedError(f"{path}: damaged, {error}") from None
    return footer, table


def _unpacked(file: Any, columns: Sequence[str] | None, path: str) -> Any:
    """Read columns; of how much they unpack to only the number of values is known beforehand."""
    import pyarrow as pa

    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    read = [of for of in chunks if not columns or of.path_in_schema.split(".")[0] in columns]
    values = sum(of.num_values for of in read)
    try:
        demand_room(COPIES * 8 * values, f"{path}: {values:,} values, once unpacked,")
        if all(of.physical_type != "BYTE_ARRAY" for of in read):
            return file.read(columns)
        # Each value of a text may be the same long one: how long is known once it is there.
        batches, size = [], 0
        for batch in file.iter_batches(ROWS, columns=columns):
            batches.append(batch)
            size += batch.nbytes
            demand_room(COPIES * size, f"{path}: {size:,} bytes, and there are more; all of it")
    except MonMDPError as error:
        raise DamagedError(str(error)) from None
    there = file.schema_arrow
    schema = pa.schema([there.field(name) for name in columns or there.names])
    return pa.Table.from_batches(batches, schema)


def _with_seal(content: bytes, seal: bytes) -> bytes:
    """Put a seal into its place, the last one of its kind in the file."""
    at = content.rindex(SEAL) + len(SEAL)
    return content[:at] + seal + content[at + len(seal) :]
