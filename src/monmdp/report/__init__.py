"""The report: one HTML file to look at, made from any folder of results."""

from monmdp.report.page import write_page

__all__ = ["write_page"]
