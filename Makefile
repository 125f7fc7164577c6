# Every target sets up what it needs. `make demo` and `make test` are the two to start with.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
READY  := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest -n 2

DEEP := .venv-deep

.PHONY: help deep demo test test-slow test-all browser test-browser test-deep test-storm lint types check bench results beyond same sample witness docs dist smoke test-pythons test-lowest format lock clean

help:
	@echo "make demo    figure 4 of the paper with its claims, and a report to open (demo/report.html)"
	@echo "make test    the core tests            make test-all  these and all others: slow, browser, deep, storm"
	@echo "make lint    ruff and codespell        make types   mypy, strict"
	@echo "make check   test + lint + types       make bench   how fast building, planning and training are"
	@echo "make smoke   wheel and sdist, installed and tried (2 min)"
	@echo "make test-pythons  the core tests with the newest Python there is; make test-lowest: with the oldest packages"
	@echo "make results the whole paper, 30 seeds, and docs/results.md (20 min)"
	@echo "make beyond  suites that go beyond the paper, and docs/beyond.md (2 h)"
	@echo "make deep    the benchmark deep-v1 of agents with networks, and docs/deep-v1.md (2 h)"
	@echo "make same    do a sample of all published runs again and compare them, bit for bit (20 min)"
	@echo "make sample  the report that the documentation shows (a minute)"
	@echo "make witness which settings converge, and witnesses of the paper (20 min)"
	@echo "make docs    the documentation as a site, in docs/_build/html (a minute)"
	@echo "make format  let ruff rewrite          make lock    renew the locks"

# Packages come from a lock: names, versions and hashes. uv installs them in seconds; where it cannot, pip does.
define install
@echo "installing $(1) into $(VENV)"
@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r $(1) \
	|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(1)
endef

# What running and reporting need, and monmdp itself in place: a file that says where it is.
$(CORE): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"monmdp needs Python 3.11 or newer, {sys.executable} is {v[0]}.{v[1]}; set PYTHON=python3.11")'
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	$(call install,requirements.lock)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# What tests, lint, types and documentation need besides.
$(READY): $(CORE) requirements-dev.lock
	$(call install,requirements-dev.lock)
	@touch $@

demo: $(CORE)
	$(BIN)/monmdp reproduce figure-4 --quick --out demo
	$(BIN)/monmdp report demo
	@echo "open demo/report.html in a browser"

test: $(READY)
	$(PYTEST)

test-slow: $(READY)
	$(PYTEST) -m slow

# All tests there are, none twice.
test-all: test test-slow test-browser test-deep test-storm

# The HTML report in a headless Chromium, which is the system's: no Python package brings it.
SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)
browser:
	@{ command -v chromium && command -v chromedriver; } >/dev/null \
		|| { $(SUDO) apt-get update -q && $(SUDO) apt-get install -q -y --no-install-recommends chromium chromium-driver; } \
		|| { echo "this needs chromium and chromedriver on the PATH; have the packages chromium and chromium-driver installed" >&2; exit 1; }

test-browser: $(READY) browser
	$(PYTEST) -m browser tests/browser

# Deep agents, in an environment of their own, because torch is large. Its build for CPUs is the smallest: it comes from a folder
# that pip is told of (PIP_FIND_LINKS), or from where uv knows it to be. Where neither has one, the plain build is fetched.
$(DEEP)/.ready: pyproject.toml
	test -x $(DEEP)/bin/python || $(PYTHON) -m venv $(DEEP)
	$(DEEP)/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps 'torch>=2.10' 2>/dev/null \
		|| { $(DEEP)/bin/python -m pip install --quiet --disable-pip-version-check uv \
			&& $(DEEP)/bin/uv pip install --quiet --python $(DEEP)/bin/python --torch-backend=cpu 'torch>=2.10'; } \
		|| echo "found no build of torch for CPUs: pip will fetch the plain one"
	$(DEEP)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[deep,minigrid]' pytest hypothesis
	touch $@

test-deep: $(DEEP)/.ready
	$(DEEP)/bin/python -m pytest -m deep tests/deep

# Against Storm, a model checker, in an environment of its own: it has packages for Linux on x86_64 alone.
STORM := .venv-storm
$(STORM)/.ready: pyproject.toml
	test -x $(STORM)/bin/python || $(PYTHON) -m venv $(STORM)
	$(STORM)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[exchange]' 'stormpy>=2' pytest hypothesis
	touch $@

test-storm: $(STORM)/.ready
	$(STORM)/bin/python -m pytest -m storm tests/worlds/test_storm.py

# A wheel and an sdist, and whether they work where nothing else is installed.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

smoke: dist
	bash tests/release/smoke.sh $(PYTHON)

# The tests with the newest Python that numba knows and that is installed, if that is not the one of `make test`.
PYTHONS := 3.14 3.13 3.12
test-pythons:
	@for version in $(PYTHONS); do \
		if python$$version -c "" 2>/dev/null; then \
			exec $(MAKE) test PYTHON=python$$version VENV=.venv-$$version; \
		fi; done; echo "skipped: none of the Pythons $(PYTHONS) is installed here"

# The oldest packages that pyproject.toml allows. They warn of what they did not know then; that is no error here.
LOWEST := .venv-lowest
test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv hatchling editables
	$(LOWEST)/bin/uv pip compile pyproject.toml --resolution lowest-direct --only-binary :all: \
		--python-version 3.11 --no-emit-index-url --no-annotate --quiet --output-file $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet -r $(LOWEST)/lowest.txt pytest pytest-xdist hypothesis
	$(LOWEST)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(LOWEST)/bin/python -m pytest -n 2 -o filterwarnings= tests/cli tests/envs tests/model

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: $(READY)
	$(BIN)/mypy

check: test lint types

bench: $(READY)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/building.py
	$(BIN)/python benchmarks/planning.py --million
	$(BIN)/python benchmarks/vector.py

# Every experiment of the paper; what a reader wants of it goes into docs/.
results: $(READY)
	$(BIN)/monmdp reproduce all --out results
	$(BIN)/monmdp reproduce figure-4 figure-5 figure-6 figure-9 figure-10 --preset released --out results
	$(BIN)/monmdp run benchmarks/findings.toml --out results
	$(BIN)/python benchmarks/results.py results

# Beyond the paper: the best single setting, then all agents on all problems (3 core-hours), and docs/beyond.md. If
# results/ has no runs of the grid, benchmarks/beyond.py keeps its published table; so the first line can be left out.
beyond: $(READY)
	$(BIN)/monmdp run beyond-grid --out results
	$(BIN)/monmdp run beyond --out results
	$(BIN)/monmdp run beyond-ablations --out results
	-$(BIN)/python benchmarks/planning_cost.py --seeds 10 --json results/reports/planning_cost.json
	$(BIN)/python benchmarks/pessimistic_test.py --json results/reports/pessimistic_test.json
	$(BIN)/python benchmarks/certificates.py results --json results/reports/certificates.json
	$(BIN)/python benchmarks/beyond.py results

# The benchmark of deep agents (2 core-hours, and 1 for coarse cells and control), and docs/deep-v1.md.
deep: $(READY)
	$(BIN)/monmdp run deep-v1 --out results --jobs 2
	$(BIN)/monmdp run deep-coarse --out results --jobs 2
	$(BIN)/python benchmarks/control.py results/control.jsonl --problems cartpole/ask --agents deep-monitored
	$(BIN)/python benchmarks/control.py results/control.jsonl --problems cartpole/ask mountaincar/ask acrobot/ask --seeds 3
	$(BIN)/python benchmarks/control.py results/control.jsonl --seeds 1 --write
	$(BIN)/python benchmarks/deep.py results

# Whether code that was moved or renamed still makes the published runs; docs/kernels.json says since when.
same: $(READY)
	$(BIN)/python benchmarks/same_runs.py

# The report that the README shows, and pictures of it.
sample: $(READY) browser
	rm -rf sample
	$(BIN)/monmdp reproduce figure-4 --out sample
	$(BIN)/monmdp train bottleneck button rho=0.05 --agent monitored-mbie-eb --seeds 1 --snapshots 40 --out sample
	$(BIN)/monmdp report sample -o docs/report/sample.html
	$(BIN)/python benchmarks/screenshots.py docs/report/sample.html docs/report

# The documentation, from scratch: a page that was not read again would not warn again.
docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -n -E -b html docs docs/_build/html

# Heavy: every setting of the paper, 30 seeds; and a comparison with the released code.
witness: $(READY)
	$(BIN)/python benchmarks/reference.py
	$(BIN)/python benchmarks/theory.py
	$(BIN)/python benchmarks/ablations.py
	$(BIN)/python benchmarks/convergence.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Locks hold names, versions and hashes, no addresses: what running and reporting need, and what developers need.
LOCK = $(VENV)-lock/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --custom-compile-command "make lock"
lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet uv
	$(LOCK) --extra dev --extra cluster --extra docs --extra exchange --extra gpu --group build --upgrade --output-file requirements-dev.lock
	$(LOCK) --group build --constraint requirements-dev.lock --output-file requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) .venv-* dist docs/_build demo results sample .mypy_cache .ruff_cache .pytest_cache .hypothesis
