"""One browser for all tests, and small results to look at, made once."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver

from browser.page import Page
from monmdp import cli, make, train

SUITE = """
name = "small"
smooth = true
title = "Two worlds, two monitors"
steps = 2000
every = 10
seeds = 5

[[experiment]]
worlds = ["loop", "hazard"]
monitors = ["ask", "button"]
rho = [1.0, 0.5]
agents = ["monitored-mbie-eb", "mbie-eb"]
"""

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
QUOTES = """"',><b onmouseover=alert(3)>bold</b>"""
SPITEFUL_MAP = f"name: {SCRIPT}\n---\n@..\n...\n..$\n"
SPITEFUL = f"""
name = "spiteful"
smooth = true
title = "</script>{SCRIPT}"
steps = 200
every = 10
seeds = 2

[[experiment]]
title = "{IMAGE}"
worlds = ["spiteful.txt", {{ name = "loop", label = "{SCRIPT}" }}]
monitors = ["ask", {{ name = "semi-random", label = '''{QUOTES}''' }}]
agents = ["monitored-mbie-eb", {{ name = "mbie-eb", label = "{IMAGE}" }}]
"""
"""names and titles that would do something if they were taken for HTML"""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("headless=new", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{word}")
    if os.getuid() == 0:  # Chromium does not start as root with its sandbox
        options.add_argument("--no-sandbox")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options, service)
    driver.get("about:blank")  # the browser's own first page asks for things
    driver.get_log("performance")
    yield driver
    driver.quit()


@pytest.fixture(params=[1280, 390], ids=["wide", "narrow"])
def page(request, driver, tmp_path):
    """A window with nothing in it yet, on a desk and in a hand."""
    with watched(driver, request.param, tmp_path) as page:
        yield page


@pytest.fixture
def wide(driver, tmp_path):
    """The same, for what does not depend on the width."""
    with watched(driver, 1280, tmp_path) as page:
        yield page


@contextmanager
def watched(driver, width, folder):
    """A window; whatever is done there, nothing may go wrong behind it."""
    downloads = folder / "downloads"
    downloads.mkdir()
    page = Page(driver, width, downloads)
    yield page
    if page.opened:
        page.js("localStorage.clear()")
    complaints = page.complaints()
    driver.get("about:blank")
    assert complaints == []


def monmdp(*words):
    """Run the command line in this process."""
    argv, sys.argv = sys.argv, ["monmdp", *map(str, words)]
    try:
        cli.main()
    except SystemExit as stop:
        if stop.code:
            raise AssertionError(f"monmdp {' '.join(sys.argv[1:])} failed") from stop
    finally:
        sys.argv = argv


def report(*folders, out):
    monmdp("report", *folders, "--out", out)
    return out


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A suite that is done: 8 problems, 2 agents, 5 seeds."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "small.toml").write_text(SUITE)
    monmdp("run", folder / "small.toml", "--out", folder / "results")
    return folder / "results"


@pytest.fixture(scope="session")
def html(results):
    return report(results, out=results.parent / "report.html")


@pytest.fixture(scope="session")
def spoilt(results, tmp_path_factory):
    """A copy of the results with a run damaged, one missing and one half-written."""
    folder = tmp_path_factory.mktemp("spoilt") / "results"
    shutil.copytree(results, folder)
    first, second, *_ = sorted((folder / "runs").rglob("*.parquet"))
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 1
    first.write_bytes(content)
    second.unlink()
    second.with_name(f".{second.name}.{'0' * 32}.part").write_bytes(b"PAR1")
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Two runs of train, the first with six snapshots after that of the beginning."""
    folder = tmp_path_factory.mktemp("trained") / "bottleneck-button"
    monmdp(
        "train", "bottleneck", "button", "--agent", "monitored-mbie-eb", "--steps", 3000,
        "--every", 20, "--seeds", 2, "--snapshots", 6, "--out", folder,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def inside(trained):
    return report(trained, out=trained.parent / "report.html")


@pytest.fixture(scope="session")
def spiteful(tmp_path_factory):
    """The report on a suite and on runs of a problem, whose author thinks little of readers."""
    folder = tmp_path_factory.mktemp("spiteful")
    (folder / "spiteful.txt").write_text(SPITEFUL_MAP)
    (folder / "spiteful.toml").write_text(SPITEFUL)
    monmdp("run", folder / "spiteful.toml", "--out", folder / "results")
    problem = make(folder / "spiteful.txt", "ask")  # known by the name in its file
    for seed, snapshots in enumerate((2, 0)):
        train(
            problem, "factored-mbie-eb", 200, seed, every=20, snapshots=snapshots,
            out=folder / "trained",
        )  # fmt: skip
    return report(folder / "results", folder / "trained", out=folder / "report.html")
