# Two commands on a fresh machine: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The system's interpreter first: a sandbox must be able to read it, and one that lies below a home folder of
# root may be closed to the sandbox's user.
PYTHON ?= $(shell for p in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
VENV ?= .venv
# One more than the cores of a small machine: many tests wait, for containers, clocks and other processes.
WORKERS ?= 3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup
CODE := $(wildcard sweeper tests bench)
UV_COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --no-header

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help venv demo test test-long check lint format bench lock build clean distclean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

venv: $(READY) ## the environment: every package pinned and hashed, sweeper itself in place

demo: $(READY) ## drain examples/quickstart and watch it; needs neither root nor docker
	@$(BIN)/sweeper demo

test: $(READY) ## everything; as root on Debian it installs and starts what the tests need, and stops it again
	@$(BIN)/python tests/setup/machine.py $(PYTEST) $(ARGS)

test-long: $(READY) ## everything and the long matrices too: every agent, every failure, every toolchain, ten minutes of fuzz
	@SWEEPER_LONG=1 SWEEPER_FUZZ_SECONDS=600 $(BIN)/python tests/setup/machine.py $(PYTEST) $(ARGS)

check: $(READY) ## the quick subset, about a minute: no docker, nothing slow
	@$(PYTEST) -m "not slow and not docker" $(ARGS)

lint: $(READY) ## style, types, layers, file length
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict $(CODE)
	$(BIN)/lint-imports
	@find sweeper -name '*.py' -exec awk 'END { if (NR > 300) { print FILENAME ": " NR " lines, at most 300"; exit 1 } }' {} \; \
		| { ! grep .; }

format: $(READY) ## let ruff format and sort
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(READY) ## the measurements
	@$(BIN)/python -m bench $(ARGS)

lock: $(READY) ## pin every dependency again, within the ranges of pyproject.toml
	$(UV_COMPILE) --upgrade pyproject.toml -o requirements.lock
	$(UV_COMPILE) --upgrade pyproject.toml --group dev --extra postgres -c requirements.lock -o requirements-dev.lock
	for folder in sandboxes/*/; do if test -e $$folder/requirements.in; then \
		$(UV_COMPILE) --upgrade $$folder/requirements.in -c requirements.lock -o $$folder/requirements.lock; fi; done
	cd sandboxes/node && npm update --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved

build: $(READY) ## the wheel and the source distribution, in dist/
	$(BIN)/python -m hatchling build

clean: ## caches and builds
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## the environment too
	rm -rf $(VENV)

# Debian ships venv as a package of its own, so root adds it when it is missing; anybody else is told.
$(READY): pyproject.toml requirements-dev.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3" >&2; exit 2; }
	@if ! test -x $(BIN)/pip; then \
		if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null && test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null; \
		fi; \
		$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 2; }; \
	fi
	@echo "installing the locked packages into $(VENV)"
	@$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@
