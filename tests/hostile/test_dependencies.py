"""Versions with known holes are left out, and what newcomers look for is there."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FIXED = {
    "pyarrow": "23.0.1", "pillow": "12.3", "jinja2": "3.1.6", "joblib": "1.5", "numpy": "1.22",
    "filelock": "4.2.1", "scipy": "1.10", "pydantic": "2.4", "distributed": "2026.1",
    "torch": "2.10", "pytest": "9.0.3", "setuptools": "78.1.1", "selenium": "4.15",
}  # fmt: skip
"""package -> the first version without a known hole"""


def requirements():
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    return {of.name: of for of in map(Requirement, lines)}


@pytest.mark.parametrize("name", FIXED)
def test_lower_bounds_leave_out_versions_with_known_holes(name):
    (bound,) = requirements()[name].specifier
    assert bound.operator == ">="
    assert Version(bound.version) >= Version(FIXED[name])


def test_the_table_of_bounds_says_what_is_demanded():
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    table = re.findall(r"^\| ([a-z0-9-]+) \| ([0-9.]+) \|", page, flags=re.MULTILINE)
    assert len(table) >= 8
    for name, version in table:
        assert str(requirements()[name].specifier) == f">={version}"


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_the_locks_hold_what_is_demanded(lock):
    lines = (ROOT / lock).read_text("utf-8").splitlines()
    locked = [Requirement(line.rstrip("\\ ")) for line in lines if re.match(r"[a-z0-9]", line)]
    assert len(locked) > 20
    demanded = requirements()
    for of in locked:
        (version,) = (pinned.version for pinned in of.specifier)
        if of.name in demanded:
            assert demanded[of.name].specifier.contains(version), of
    here = {of.name for of in locked if of.marker is None or of.marker.evaluate()}
    assert {Requirement(line).name for line in PROJECT["dependencies"]} <= here


def test_security_and_contributing_are_there_and_their_links_lead_somewhere():
    for name in ("SECURITY.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text("utf-8")
        for link in re.findall(r"\]\(([^)#]+)", text):
            assert (ROOT / link).exists(), link
    said = (ROOT / "SECURITY.md").read_text("utf-8")
    for word in ("--trust-modules", "numba", ".npz", "Privately", "What is not trusted"):
        assert word in said
