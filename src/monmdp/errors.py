"""The exception for wrong input, and the helper that finds the name that was meant."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType


class MonMDPError(ValueError):
    """An input is wrong; the message says what, where, and what would be right.

    >>> import monmdp
    >>> try:
    ...     monmdp.make("bottleneck", "buton")
    ... except monmdp.MonMDPError as error:
    ...     print(error)
    unknown monitor 'buton'; did you mean 'button'?
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest known name, else the list of known names.

    >>> from monmdp.errors import nearest
    >>> nearest("buton", ["ask", "button"])
    "; did you mean 'button'?"
    """
    names = sorted(known)
    by_lower_case = {n.lower(): n for n in names}
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {by_lower_case[close[0]]!r}?"
    return f"; known: {', '.join(names)}" if names else "; none is known"


@contextmanager
def told(what: str) -> Iterator[None]:
    """Tell whatever somebody's own code raises, `sys.exit` included, as an error of ours.

    >>> import sys
    >>> from monmdp.errors import MonMDPError, told
    >>> try:
    ...     with told("my monitor"):
    ...         sys.exit(3)
    ... except MonMDPError as error:
    ...     print(error)
    my monitor raised SystemExit: 3
    """
    try:
        yield
    except (MonMDPError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise MonMDPError(f"{what} raised {type(error).__name__}: {error}") from error


def import_extra(module: str, extra: str, feature: str) -> ModuleType:
    """Import a module that comes with an extra of this package, or say which one is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MonMDPError(
            f"{feature} needs the package {module}: pip install 'monmdp[{extra}]'"
        ) from None
