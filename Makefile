# `make` alone lists the targets. Each one does its own set-up on a fresh clone: Python 3.11 or later, make and git
# are all that has to be there.

SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
STAMP := .venv/.stamp
JOBS ?= 2

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(STAMP) ## Make .venv with everything that development, tests and the demo need
	@:

$(STAMP): pyproject.toml tools/requirements-replay.txt tools/setup
	@tools/setup

.PHONY: servers
servers: $(STAMP) ## Fetch real Prometheus and Alertmanager binaries of two generations for the tests (into .servers/)
	@$(BIN)/python tools/servers.py

.PHONY: demo
demo: $(STAMP) ## Play a support desk's shift through the real wrappers, and show who would be paged
	@$(BIN)/python tools/servers.py --demo
	@$(BIN)/tooltel demo

.PHONY: e2e
e2e: $(STAMP) ## Let a tool fail 20 times, and time the page to its team through real servers (about ten minutes)
	@$(BIN)/python tools/servers.py
	@$(BIN)/python tools/e2e.py

.PHONY: test
test: check ## Everything: check, then the whole test suite, real servers included
	@$(BIN)/python tools/servers.py || [ "$$NO_SKIP" != 1 ]
	@$(BIN)/python -m pytest -n $(JOBS)

.PHONY: quick
quick: $(STAMP) ## The tests that need neither patience nor a real server
	@$(BIN)/python -m pytest -n $(JOBS) -m 'not slow and not server'

.PHONY: check
check: $(STAMP) ## Lint, format, types, import layers, and whether dashboards/, alerts/ and docs/reference/ are fresh
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check
	@$(BIN)/mypy --no-error-summary $(wildcard src/tooltel tests examples bench tools)
	@$(BIN)/python -m pytest --quiet --no-header -p no:randomly tests/test_layers.py
	$(if $(GENERATED),@$(RENDER) --check)
	@$(BIN)/python -m tools.reference --check
	@$(BIN)/python -m tools.compose --check

# The freshness check starts by itself once the first generated file is committed.
GENERATED := $(wildcard dashboards/*.json alerts/*.yml alerts/*.yaml)
RENDER := $(BIN)/tooltel render --catalog src/tooltel/demo/tools.toml

.PHONY: matrix
matrix: $(STAMP) ## Run each framework's tests with its oldest and its newest supported version (ENVS="adk ..." for some)
	@$(BIN)/python tools/matrix.py $(ENVS)

.PHONY: render
render: $(STAMP) ## Write dashboards/, alerts/ and the stack's routes for the example catalog, and docs/reference/
	@$(RENDER)
	@$(BIN)/python -m tools.reference
	@$(BIN)/python -m tools.compose

.PHONY: preview
preview: $(STAMP) ## Draw the dashboards over real data with a stand-in for Grafana, into .preview/ (PASTS="demo" for some)
	@$(BIN)/python tools/servers.py
	@$(BIN)/python -m tests.preview.draw $(PASTS)

.PHONY: bench
bench: $(STAMP) ## Measure a wrapped call against the hand-written floor; the last line is JSON
	@$(BIN)/python bench/calls.py

.PHONY: bench-tail
bench-tail: $(STAMP) ## Measure the sidecar on one GiB of log against grep and mtail; the last line is JSON
	@$(BIN)/python bench/tail.py

.PHONY: clean
clean: ## Remove what the other targets made: .venv, .servers, .matrix, caches
	@rm -rf .venv .servers .matrix .preview tests/preview/node_modules build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find src tests tools examples bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
