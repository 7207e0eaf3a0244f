# The verbs. `make try` and `make test` need only Python 3.11+, pip and make; second runs take no network.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run-installed
DEV := $(VENV)/.dev-installed
TOOLS := $(VENV)/.system-tools
LOCAL := $(VENV)/.local-installed
ASK ?= What does README.md say about agi?

.PHONY: try install test fast slow check fix bench leaks eval-local lock clean

# Asks your provider if one is set up, else a model server on this machine, else the embedded model (1.12 GB, once).
try: $(LOCAL)
	$(BIN)/agi models fetch --if-needed
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

# Five thousand commands in each sandbox and by the tool: nothing may be left. Half an hour on two processors.
leaks: $(DEV) $(TOOLS)
	AGI_COMMANDS=5000 $(BIN)/python -m pytest tests/workspace/test_launching.py tests/tools/test_leaks.py \
		-m slow -k thousands -rs

# Forty questions to the embedded model; some minutes of both processors.
eval-local: $(DEV)
	$(BIN)/agi models fetch
	$(BIN)/python -m evals

# Hashes are pinned for every platform; the files name no host.
lock: $(VENV)/.uv
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--extra local --extra tui pyproject.toml -o requirements-local.lock
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

$(LOCAL): requirements-local.lock pyproject.toml | $(RUN)
	$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode --require-hashes -r requirements-local.lock
	touch $@

$(DEV): requirements-dev.lock pyproject.toml | $(RUN)
	$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode --require-hashes -r requirements-dev.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	touch $@

# What the tests use of the system; installed where that is possible, named where it is not.
$(TOOLS): scripts/system-tools | $(DEV)
	scripts/system-tools
	touch $@
