"""A list beside the results of who worked on them: when, how long, how many runs, on what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from monmdp.files import write_whole

SESSIONS = "sessions.json"


def log_session(folder: Path, session: Mapping[str, Any]) -> None:
    """Add to the list of sessions that have worked in a folder."""
    path = folder / SESSIONS
    text = json.dumps([*read_sessions(path), dict(session)], indent=2)
    write_whole(path, lambda file: file.write(text.encode()))


def read_sessions(path: Path) -> list[dict[str, Any]]:
    """Return the sessions in a list; none if nothing tells of them."""
    try:
        return [dict(one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []
