"""What docs/results.md shows is what the committed summaries say, made by today's code."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from monmdp import agents, report
from monmdp.experiment.provenance import kernel_hash
from monmdp.report.page import SCRIPTS, STYLES
from monmdp.results import check_claims, evidence
from monmdp.suites import bundled_suite, expand

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "docs" / "results"
PRESETS = ("paper", "released")
SUMMARIES = (*PRESETS, "findings")


@pytest.fixture(scope="module")
def known():
    return {name: evidence.load(PLACE / f"{name}.parquet") for name in SUMMARIES}


def benchmark(name):
    """A module of the folder benchmarks, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_made_from_the_summaries():
    page = benchmark("results").page(PLACE)
    assert (ROOT / "docs/results.md").read_text(encoding="utf-8") == page


def test_the_summaries_are_small():
    sizes = {path.name: path.stat().st_size for path in PLACE.iterdir()}
    assert sum(size for name, size in sizes.items() if name.endswith(".parquet")) <= 2_000_000
    assert sum(sizes.values()) <= 5_000_000


@pytest.mark.parametrize("preset", SUMMARIES)
def test_the_published_runs_are_made_by_todays_code(known, preset):
    of_agent = {}
    for runs in known[preset].aggregates.values():
        of_agent.setdefault(runs.settings["agent"], set()).update(runs.kernels)
        assert len(runs.seeds) == 30
        assert runs.stale == 0
    wanted = {"known-monitor", "directed-e2"} if preset in PRESETS else {"mbie-eb"}
    assert {"monitored-mbie-eb", *wanted} <= set(of_agent)
    for name, hashes in of_agent.items():
        config = agents.paper_config(name, "bottleneck", "ask")
        assert hashes == {kernel_hash(config)}, f"{name}: make results renews docs/results.md"


def test_the_whole_paper_takes_at_most_5400_cpu_seconds(known):
    runs = known["paper"].aggregates.values()
    assert sum(len(of.seeds) for of in runs) == 6000
    assert sum(of.cpu_seconds for of in runs) <= 5400
    about = json.loads((PLACE / "paper.json").read_text())
    assert about["cpu_seconds"] == pytest.approx(sum(of.cpu_seconds for of in runs))


def test_all_nine_claims_are_decided_from_all_figures(known):
    claims = check_claims(known["paper"])
    assert [claim.name for claim in claims] == [f"C{i}" for i in range(1, 10)]
    for claim in claims:
        for part in claim.parts:
            assert part.checks
            assert all(check.interval is not None for check in part.checks)


def test_the_sample_report_is_made_by_todays_page():
    folder = ROOT / "docs" / "report"
    text = (folder / "sample.html").read_text(encoding="utf-8")
    for name in (*STYLES, *SCRIPTS):
        asset = (Path(report.__file__).parent / "assets" / name).read_text(encoding="utf-8")
        assert asset in text, f"{name} has changed: make sample"
    assert len(text) < 2_000_000
    assert 'data-test="explorer"' in text
    assert (folder / "overview.png").stat().st_size < 1_000_000
    assert (folder / "explorer.png").stat().st_size < 1_000_000


# ---- beyond the paper ---------------------------------------------------------------------------

BEYOND = ROOT / "docs" / "beyond"
SUITES = ("beyond", "beyond-grid", "beyond-ablations")


@pytest.fixture(scope="module")
def suites():
    return {name: json.loads((BEYOND / f"{name}.json").read_text("utf-8")) for name in SUITES}


def test_the_page_beyond_is_made_from_its_tables():
    page = benchmark("beyond").page(BEYOND)
    assert (ROOT / "docs/beyond.md").read_text(encoding="utf-8") == page
    for name in re.findall(r"\(beyond/([^)]+)\)", page):
        assert (BEYOND / name).exists()
    assert sum(path.stat().st_size for path in BEYOND.iterdir()) <= 3_000_000


@pytest.mark.parametrize("suite", SUITES)
def test_the_runs_beyond_are_all_there_and_made_by_todays_code(suites, suite):
    about, plan = suites[suite]["about"], expand(bundled_suite(suite))
    runs = {(of.configuration, seed) for of in plan.figure.curves() for seed in of.seeds}
    assert about["runs"] == len(runs)
    assert about["stale_runs"] == 0
    for name, hashes in about["kernels"].items():
        config = agents.paper_config(name, "bottleneck", "ask")
        assert hashes == [kernel_hash(config)], f"{name}: make beyond renews docs/beyond.md"


def test_beyond_takes_at_most_six_core_hours(suites):
    assert sum(of["about"]["cpu_seconds"] for of in suites.values()) <= 6 * 3600


def test_the_best_setting_is_that_of_the_grid(suites):
    (table,) = suites["beyond-grid"]["tables"]
    best = min(table["agents"], key=lambda of: of["geometric_mean_steps_to_1pct"])["agent"]
    found = dict(re.findall(r"(\w+)=([\w.-]+)", best))
    (said,) = (
        of
        for of in bundled_suite("beyond").experiment[0].agents
        if of.label == "Monitored MBIE-EB, best"
    )
    config = agents.config(
        "monitored-mbie-eb", growth=said.growth, beta=said.beta, beta_m=said.beta_m,
        beta_e=said.beta_e, beta_obs=said.beta_obs,
    )  # fmt: skip
    assert config.growth == found["growth"]
    assert config.log_base == float(found["log_base"])
    assert config.beta_kl == float(found["beta_kl"])
    betas = {config.beta, config.beta_m, config.beta_e, config.beta_obs}
    assert betas == {float(found["beta"])}


def test_the_targets_that_must_hold_do():
    targets = json.loads((BEYOND / "targets.json").read_text("utf-8"))
    verdicts = {claim["claim"]: claim["verdict"] for claim in targets}
    assert verdicts["B1"] == verdicts["B2"] == "holds"


def test_the_readme_says_how_many_steps_it_takes(suites):
    ratio = {
        table["group"]: next(of for of in table["agents"] if of["agent"] == "Monitored MBIE-EB")
        for table in suites["beyond"]["tables"]
    }
    shares = {8: "an eighth", 5: "a fifth"}
    words = [shares[round(ratio[of]["ratio"][0])] for of in ("Bottleneck", "48 benchmarks")]
    said = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert (
        f"about {words[0]} of the steps of Monitored MBIE-EB on Bottleneck and {words[1]} on the "
        "paper's 48 benchmarks"
    ) in said
