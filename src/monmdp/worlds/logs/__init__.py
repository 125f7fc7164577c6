"""Logs in which some rewards are missing, as problems: `from_log`."""

from monmdp.worlds.logs.fitting import from_log

__all__ = ["from_log"]
