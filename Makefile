# The verbs. `make try` and `make test` need only Python 3.11+, pip and make; second runs take no network.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run-installed
DEV := $(VENV)/.dev-installed
TOOLS := $(VENV)/.system-tools
ASK ?= What is this repository, and how do I start using it?

.PHONY: try install test fast slow check fix bench lock clean

try: $(RUN)
	$(BIN)/agi "$(ASK)"

install: $(DEV)

test: $(DEV) $(TOOLS) check fast slow

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fast: $(DEV) $(TOOLS)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" -rs

slow: $(DEV) $(TOOLS)
	$(BIN)/python -m pytest -m slow -rs

fix: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV)
	$(BIN)/python -m bench

# Hashes are pinned for every platform; the files name no host.
lock: $(VENV)/.uv
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--group dev pyproject.toml -o requirements-dev.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.uv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "agi needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-uv.lock
	touch $@

$(RUN): requirements.lock pyproject.toml | $(VENV)/.uv
	$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode --require-hashes -r requirements.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	touch $@

$(DEV): requirements-dev.lock pyproject.toml | $(RUN)
	$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode --require-hashes -r requirements-dev.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	touch $@

# What the tests use of the system; installed where that is possible, named where it is not.
$(TOOLS): scripts/system-tools | $(DEV)
	scripts/system-tools
	touch $@
