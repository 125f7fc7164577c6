"""What files that come from anybody may hold. Everything read from disk passes here first.

Names in such files are data: they are compared and shown, never looked up as code, and those that
become names of files lead nowhere else.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from monmdp.errors import MonMDPError
from monmdp.files import file_name

LARGEST = 1e100
"""of the numbers in a file: even their products are finite"""
Whole = Annotated[int, Field(gt=-(2**63), lt=2**63)]
Plain = bool | Whole | FiniteFloat | str | None
Count = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(max_length=10_000)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class DamagedError(MonMDPError):
    """A file that is not what its name says, or is so no longer."""


class UnreadableError(DamagedError):
    """A file that the system does not let us read: what is in it may be whole."""


class Settings(BaseModel):
    """All about a run but its seed."""

    model_config = ConfigDict(strict=True, extra="forbid")

    world: Text
    monitor: Text
    problem: Hash
    problem_parameters: dict[str, Plain]
    unusual: list[str]
    time_limit: Count
    agent: Text
    parameters: dict[str, Plain]
    code: str | None
    told_hidden_rewards: bool
    steps: Count
    every: Count
    evaluation: Literal["exact", "monte-carlo"]
    episodes: Annotated[int, Field(ge=0)]
    gamma: Annotated[float, Field(ge=0, le=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        lacking = [key for key in self.unusual if key not in self.problem_parameters]
        if lacking:
            raise ValueError(f"unusual: {lacking[0]!r} is no parameter of the problem")
        return self


class Provenance(BaseModel):
    """Where a run comes from, as far as it is read again."""

    model_config = ConfigDict(strict=True, extra="allow")

    kernel: str | None = None
    commit: str | None = None
    wall_seconds: float = float("nan")
    cpu_seconds: float = float("nan")
    paid_steps: Annotated[int, Field(ge=0)] | None = None
    """training steps on which the monitor cost something; of agents in plain Python"""
    shown_steps: Annotated[int, Field(ge=0)] | None = None
    """those whose reward was shown, likewise"""


class Session(BaseModel):
    """When somebody worked on a request, and how long."""

    model_config = ConfigDict(strict=True, extra="ignore")

    ended: Text = "?"
    runs: Whole | None = None
    steps: Whole | None = None
    wall_seconds: FiniteFloat | None = None
    cpu_seconds_of_process: FiniteFloat | None = None
    jobs: Whole | None = None
    shard: Text | None = None
    scheduler: Text | None = None
    commit: Text | None = None


class WorldParameters(BaseModel):
    """What a world has and the UMB format has no place for, as the index of a file holds it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    format: Literal["monmdp-world-1"] = "monmdp-world-1"
    n_actions: Count
    r_min: FiniteFloat
    r_max: FiniteFloat
    time_limit: Count | None
    state_labels: list[str] | Literal["numbers", "valuations"]
    """as they are; else the numbers of the states, or those in the valuations"""
    picture: list[str] | None
    button: Annotated[list[int], Field(min_length=2, max_length=2)] | None


def _leads_nowhere_else(name: str) -> str:
    if file_name(name.replace("+", "_")) != name.replace("+", "_") or name.startswith("."):
        raise ValueError(f"{name[:60]!r} is no name for a file or a folder")
    return name


FileName = Annotated[str, Field(min_length=1, max_length=250), AfterValidator(_leads_nowhere_else)]
"""of a file or a folder that is made; ``+`` joins the figures of a report"""


def _checked_settings(data: dict[str, Any]) -> dict[str, Any]:
    try:
        Settings.model_validate(data)
    except ValidationError as error:
        raise ValueError(_first(error)) from None
    return data


SettingsDict = Annotated[dict[str, Any], AfterValidator(_checked_settings)]
"""settings as they are used: a dictionary"""


def _first(error: ValidationError) -> str:
    """What is wrong first, and where."""
    first = error.errors()[0]
    place = ".".join(str(part)[:60] for part in first["loc"])
    why = str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {why}" if place else why


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def checked(kind: Any, data: Any, where: str | os.PathLike[str]) -> Any:
    """Return data as what they should be; `DamagedError` says what is wrong with the first part."""
    try:
        return _adapter(kind).validate_python(data)
    except ValidationError as error:
        raise DamagedError(f"{where}: damaged, {_first(error)}") from None
    except RecursionError:
        raise DamagedError(f"{where}: damaged, nested too deeply") from None


def from_json(text: str | bytes, where: str | os.PathLike[str]) -> Any:
    """Read JSON; `DamagedError` if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DamagedError(f"{where}: damaged, or no JSON") from None
