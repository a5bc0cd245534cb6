# Two commands matter on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DATA := $(or $(SURVGAUGE_DATA),$(wildcard $(CURDIR)/../shared/data))
ifneq ($(DATA),)
export SURVGAUGE_DATA := $(DATA)
endif
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-long lint test-fast test-slow test-peer fuzz mutate coverage bench bench-check docs clean
.PHONY: test-lowest test-lowest-extras test-matrix test-r release-check

help:
	@echo "make demo       install into $(VENV) and evaluate models on data that ship in packages"
	@echo "make test       lint, types, layers, unit and property tests, doctests"
	@echo "make test-long  pages in a browser, notebooks, runs that are killed, lowest versions (CI's second step)"
	@echo "make test-matrix  the fast group on Python 3.10 to 3.14 where they are installed"
	@echo "make test-lowest-extras  tests of the extras on their lowest versions"
	@echo "make test-slow  statistical tests (minutes)"
	@echo "make test-peer  comparisons with other packages, in an environment of their own"
	@echo "make test-r     the R package: R CMD check, and its numbers against those of Python"
	@echo "make release-check  what a release needs, rehearsed (RELEASE='--skip docs,notebooks')"
	@echo "make fuzz       random calls against loops and rules (SEED, MINUTES, CALLS, KIND, CASE)"
	@echo "make mutate     changes the numerical core at random (N, SEED): do tests notice?"
	@echo "make coverage   lines and branches that the tests run, with a floor"
	@echo "make docs       the pages into docs/_build/html: no warnings, links checked"
	@echo "make bench      speed against other packages, in an environment of their own"
	@echo "make bench-check  fails if something has become slower than in older code, measured side by side"
	@echo "make coverage-table  coverage of intervals, size of tests: 30 minutes (ONLY, REPS, FEATURE_REPS, JOBS, SEED)"

$(VENV)/.base: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) -e ".[demo]"
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) -e ".[test]"
	touch $@

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py --output demo-output
	rm -rf demo-output/bench
	$(BIN)/survgauge bench demo --store demo-output/bench --out demo-output/results
	$(BIN)/survgauge report demo-output/bench --html demo-output/experiment.html
	@echo "Open demo-output/report.html (the models) and demo-output/experiment.html (the metrics)."

lint: $(VENV)/.test
	$(BIN)/ruff check src tests examples benchmarks docs release
	$(BIN)/ruff format --check src tests examples benchmarks docs release
	$(BIN)/mypy
	$(BIN)/lint-imports

test-fast: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --doctest-modules -m "not slow and not peer" \
	  --ignore=tests/browser --ignore=tests/faults --ignore=tests/notebooks --ignore=tests/r

test: lint test-fast

test-long: $(VENV)/.test
	bash tests/browser/chromium.sh
	$(BIN)/python -m pytest -n 2 -m "not slow" tests/browser tests/faults tests/notebooks tests/r
	PYTHON=$(PYTHON) bash tests/versions.sh lowest

test-lowest test-lowest-extras test-matrix: test-%:
	PYTHON=$(PYTHON) bash tests/versions.sh $*

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m slow

test-r: $(VENV)/.test
	PYTHON=$(abspath $(BIN))/python bash r/check.sh

release-check: $(VENV)/.test $(VENV)/.docs
	VENV=$(VENV) PYTHON=$(abspath $(BIN))/python $(PYTHON) release/check.py $(RELEASE)

test-peer: benchmarks/requirements.txt
	bash benchmarks/environment.sh
	PYTHONPATH=src .venv-bench/bin/python -m pytest -m peer tests/peer

fuzz: $(VENV)/.test
	PYTHONPATH=src:tests OPENBLAS_NUM_THREADS=1 $(BIN)/python -m fuzz --seed $(or $(SEED),0) \
	  --minutes $(or $(MINUTES),5) --calls $(or $(CALLS),1e12) \
	  $(addprefix --kind ,$(KIND)) $(addprefix --case ,$(CASE))

mutate: $(VENV)/.test
	PYTHONPATH=src:tests $(BIN)/python -m mutation --sample $(or $(N),1000) --seed $(or $(SEED),0) \
	  --out $(or $(OUT),mutation.txt) $(addprefix --only ,$(ONLY)) $(addprefix --again ,$(AGAIN))

coverage: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m "not slow and not peer" \
	  --cov --cov-report=term:skip-covered tests

$(VENV)/.docs: $(VENV)/.base
	$(PIP) -e ".[docs]"
	touch $@

docs: $(VENV)/.docs
	rm -rf docs/_build docs/api/generated
	$(BIN)/sphinx-build -q -b html -n -W --keep-going -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

bench: benchmarks/requirements.txt
	bash benchmarks/bench.sh

bench-check: $(VENV)/.base
	PYTHONPATH=src $(BIN)/python benchmarks/check.py

.PHONY: coverage-table
coverage-table: $(VENV)/.base
	PYTHONPATH=src:benchmarks OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 SURVGAUGE_THREADS=1 \
	$(BIN)/python -m simulation --reps $(or $(REPS),250) --feature-reps $(or $(FEATURE_REPS),30) \
	--jobs $(or $(JOBS),2) --seed $(or $(SEED),2026) --only "$(ONLY)"

clean:
	rm -rf $(VENV) .venv-bench .venv-lowest .venv-lowest-extras .venv-matrix .venv-release dist demo-output .mypy_cache .ruff_cache .pytest_cache
