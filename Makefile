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
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(STAMP) ## Make .venv with everything that development, tests and the demo need
	@:

$(STAMP): pyproject.toml tools/requirements-replay.txt tools/setup
	@tools/setup
