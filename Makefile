# What people and CI both run. Every recipe does its own set-up.
.DEFAULT_GOAL := help
.PHONY: help demo serve test test-system test-processes lint lint-rust lint-python test-rust test-python conformance conformance-spice spice-wheel bench bench-kernels bench-search bench-server docs pictures wheel clean test-training release-check goldens goldens-record audit notebooks test-distributed test-baselines

VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock rustfmt.toml
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

help: ## List the recipes
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

# The dependencies, and the native module built from the Rust sources.
$(VENV)/.dependencies: pyproject.toml server/pyproject.toml decoding/pyproject.toml constraints.txt scripts/set_up.sh
	@sh scripts/set_up.sh $(VENV)
	@touch $@

$(VENV)/.native: $(VENV)/.dependencies $(RUST)
	@echo "Building the native module (one to two minutes the first time)"
	@PIP_CONSTRAINT=constraints.txt $(BIN)/maturin develop --profile development --quiet
	@rm -f $(VENV)/.native-release
	@touch $@

# The module of the wheels, for timings and long comparisons. It replaces the development build.
$(VENV)/.native-release: $(VENV)/.dependencies $(RUST)
	@echo "Building the native module for release (a few minutes the first time)"
	@PIP_CONSTRAINT=constraints.txt $(BIN)/maturin develop --release --quiet
	@touch $(VENV)/.native $@

# SPICE's model, from the reference's jars. Without it the tests of SPICE are skipped.
$(VENV)/.spice: $(VENV)/.native
	@echo "Building SPICE's model (Maven fetches 378 MB unless the jars are on this machine)"
	@if $(BIN)/capeval resources spice; then touch $@; else \
	    echo "capeval: note: the tests that need SPICE's model will be skipped" >&2; fi

# An object store (S3). Without it the tests of files in an object store are skipped.
$(VENV)/.object-store: scripts/object_store.xml scripts/object_store.sh
	@sh scripts/object_store.sh $(VENV)/object-store
	@touch $@

demo: $(VENV)/.native ## Score the held-out human captions of COCO val2014 and write an HTML report
	@$(BIN)/capeval demo --output demo

PORT := 8000
serve: $(VENV)/.native ## Start a server with the COCO challenge and campaigns loaded, to try in a browser (PORT=8001 for another port)
	@$(BIN)/python -m examples.demo_server --folder demo-server --port $(PORT)

# Linking the native module uses one processor, so the crates are checked at the same time.
test: ## The gate: lints, types and most tests, in ten minutes
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.native lint-rust test-rust lint-python
	@$(MAKE) --no-print-directory test-python

lint: lint-rust lint-python ## Format, lints and types

lint-rust:
	cargo fmt --all --check
	MAKEFLAGS= cargo clippy --workspace --all-targets --quiet -- -D warnings

lint-python: $(VENV)/.native
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

# Each run tries the same random examples; `make conformance` tries new ones.
test-rust: ## The tests of the Rust crates
	MAKEFLAGS= PROPTEST_RNG_SEED=1 cargo test --workspace --exclude capeval-python --quiet

# A test process that dies ends the run and names its test. If it were restarted, the run could hang.
PYTEST := $(BIN)/pytest -n auto --max-worker-restart 0
test-python: $(VENV)/.native ## The gate's tests of the Python packages, the command line, the server and the documents
	@sh scripts/install_packages.sh chromium
	$(PYTEST) --dist worksteal --no-migrations -m "not conformance and not system"

# Each process runs whole modules, so that the servers of a module are started once.
test-processes: $(VENV)/.native $(VENV)/.spice $(VENV)/.object-store ## The system tests with servers, databases, browsers, Java and SPICE's model
	@sh scripts/install_packages.sh chromium postgresql nginx caddy
	$(PYTEST) --dist loadfile --no-loadscope-reorder -m "system and not conformance"

test-system: ## The system tests, in 45 minutes: servers, databases, browsers, Java, PyTorch, engines, goldens
	@$(MAKE) --no-print-directory test-processes
	@$(MAKE) --no-print-directory test-training
	@$(MAKE) --no-print-directory test-baselines
	@$(MAKE) --no-print-directory test-distributed
	@$(MAKE) --no-print-directory goldens

# The tests with PyTorch have an environment of their own, with Debian's PyTorch; TORCH=pypi takes the newest one
# (2.9 GB to fetch).
TORCH := debian
SOURCES := src:server/src:decoding/src
TRAINING := .venv-training-$(TORCH)
$(TRAINING)/.dependencies: scripts/set_up_training.sh constraints-training.txt
	@sh scripts/set_up_training.sh $(TRAINING) $(TORCH)
	@touch $@

test-training: $(VENV)/.native $(TRAINING)/.dependencies ## The tests of torchmetrics, on several processes, and of Hugging Face's evaluate
	PYTHONPATH=$(SOURCES) $(TRAINING)/bin/python -m pytest -c tests/training/pytest.ini tests/training

test-baselines: $(VENV)/.native $(TRAINING)/.dependencies ## The tests of the captioners of capeval_decoding, which need PyTorch
	PYTHONPATH=$(SOURCES) $(TRAINING)/bin/python -m pytest -c tests/decoding/captioners/pytest.ini tests/decoding/captioners

# In an environment of its own, with shards of COCO 2014.
DISTRIBUTED := .venv-distributed
$(DISTRIBUTED)/.dependencies: scripts/set_up_distributed.sh constraints-distributed.txt
	@sh scripts/set_up_distributed.sh $(DISTRIBUTED)
	@touch $@

$(DISTRIBUTED)/.shards: $(VENV)/.native $(DISTRIBUTED)/.dependencies benchmarks/shards.py
	@$(BIN)/python -m benchmarks.shards $(DISTRIBUTED)/shards --images 2000 --shard 500
	@touch $@

test-distributed: $(VENV)/.native $(VENV)/.spice $(DISTRIBUTED)/.shards ## The recipes for Ray, Spark, Dask, DuckDB and Polars, on the engines themselves
	CAPEVAL_SHARDS=$(DISTRIBUTED)/shards PYTHONPATH=$(SOURCES) $(DISTRIBUTED)/bin/python -m pytest -c tests/distributed/pytest.ini tests/distributed

conformance: $(VENV)/.native-release $(VENV)/.spice ## Compare all of the real data with the reference, and try many examples
	$(BIN)/pytest -m conformance -raP
	$(BIN)/pytest tests/properties --hypothesis-profile=thorough
	PROPTEST_CASES=4096 cargo test --workspace --exclude capeval-python --release --quiet
	@$(BIN)/python -m tests.conformance.spice.parser

CAPTIONS := 2000
SEED := 1
conformance-spice: $(VENV)/.spice ## Compare SPICE's every stage with Java on CAPTIONS new captions made with SEED
	$(BIN)/python -m tests.conformance.spice.compare --captions $(CAPTIONS) --seed $(SEED)

bench: $(VENV)/.native-release $(VENV)/.spice ## Time capeval and the reference side by side, in one run
	$(BIN)/python -m benchmarks

bench-kernels: ## Time the Rust kernels with Criterion
	cargo bench --workspace --exclude capeval-python

bench-search: $(VENV)/.native-release ## Time constrained beam search alone
	$(BIN)/python -m benchmarks.constrained_search

bench-server: $(VENV)/.native-release ## Time a server's pages under load, how many submissions its workers score, and large campaigns
	$(BIN)/python -m benchmarks.server_load
	$(BIN)/python -m benchmarks.server_scoring
	$(BIN)/python -m benchmarks.annotation

docs: $(VENV)/.native ## Build the documents into site/, which works from the disk: open site/index.html
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --fresh-env -d build/docs docs site

notebooks: $(VENV)/.native ## Run the documents' notebooks, and store what they show
	@$(BIN)/python -m scripts.run_notebooks

pictures: $(VENV)/.native ## Take the pictures of the documents, of the demo's report and server
	@sh scripts/install_packages.sh chromium
	$(BIN)/python scripts/pictures.py --output docs/pictures

# What builds and checks what is released: Zig links against the C library of manylinux2014, whatever this machine has.
$(VENV)/.release: $(VENV)/.dependencies
	@$(BIN)/pip install --constraint constraints.txt --group release
	@touch $@

ARCHITECTURES := x86_64 aarch64
wheel: $(VENV)/.release ## Build wheels of Linux for ARCHITECTURES, for Python 3.11 and newer, and the source distribution into dist/
	@$(BIN)/python scripts/wheels.py --output dist $(ARCHITECTURES)

release-check: wheel $(VENV)/.native ## Build what is released, and check it: licenses, versions, contents, and that it installs and works
	@$(BIN)/python scripts/release_check.py dist

spice-wheel: $(VENV)/.spice ## Build capeval-spice-model, a wheel with SPICE's model under its own licenses, into dist/
	$(BIN)/python scripts/spice_wheel.py --output dist

# Strict: a package that PyPI says nothing about, as where a mirror has no advisories, is no success.
audit: $(VENV)/.native ## Ask PyPI for advisories about the dependencies: the versions that CI installs, and the lowest of the server
	@$(BIN)/python -m pip_audit --version >/dev/null 2>&1 || $(BIN)/pip install --constraint constraints.txt pip-audit
	@$(BIN)/python scripts/lowest.py > $(VENV)/lowest.txt
	$(BIN)/python -m pip_audit --strict --no-deps --disable-pip --progress-spinner off --requirement $(VENV)/lowest.txt
	$(BIN)/python -m pip_audit --strict --no-deps --disable-pip --progress-spinner off --requirement constraints.txt

GOLDENS := $(BIN)/python -m scripts.goldens
goldens: $(VENV)/.native $(VENV)/.spice ## Compare the public behavior with the recording in goldens/ (OPTIONS="--only urls": some of it)
	@sh scripts/install_packages.sh postgresql
	@$(GOLDENS) $(OPTIONS)

goldens-record: $(VENV)/.native $(VENV)/.spice ## Record the public behavior in goldens/ after an intended change
	@sh scripts/install_packages.sh postgresql
	@$(GOLDENS) --record $(OPTIONS)

clean: ## Remove what the recipes made
	rm -rf $(VENV) .venv-training-* .venv-distributed target build dist site jupyter_execute demo demo-server src/capeval/_native*.so
