"""The public API changes on purpose only: it is written down, and compared."""

from __future__ import annotations

import difflib
import importlib
import pkgutil

import pytest

import monmdp
import public_api


def test_the_public_api_is_the_one_that_is_written_down():
    was = public_api.FILE.read_text(encoding="utf-8").splitlines()
    lines = difflib.unified_diff(was, public_api.described().splitlines(), "before", "now", n=0)
    changed = "\n".join(lines)
    assert not changed, (
        f"the public API has changed:\n{changed}\n\nIf it was meant to, `python "
        "tests/public_api.py` writes it down again, and CHANGELOG.md should tell users."
    )


def test_all_public_names_are_there():
    assert sorted(monmdp.__all__) == list(dict.fromkeys(sorted(monmdp.__all__)))
    for name in monmdp.__all__:
        assert getattr(monmdp, name) is not None
    for name in public_api._modules():
        module = importlib.import_module(f"monmdp.{name}")
        for public in public_api._members(name):
            assert hasattr(module, public), f"monmdp.{name}.{public}"


@pytest.mark.parametrize(
    "package", [of.name for of in pkgutil.iter_modules(monmdp.__path__) if of.ispkg]
)
def test_every_package_says_what_is_public(package):
    assert importlib.import_module(f"monmdp.{package}").__all__
