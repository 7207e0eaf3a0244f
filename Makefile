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

.PHONY: try install test fast slow check fix bench examples torture enemies leaks eval-local lock clean

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
	PYTHON=$(BIN)/python scripts/run-tests -n 3 --dist loadfile -m "not slow" -rs

slow: $(DEV) $(TOOLS)
	scripts/mcp-conformance
	PYTHON=$(BIN)/python scripts/run-tests -m slow -rs

fix: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Ours beside a bare floor, then beside peers, which are installed by name into .bench; both tables, and docs/benchmarks.md.
bench: $(DEV)
	$(BIN)/python -m bench

# What holds for any input, tried on new ones: a failure prints the line that repeats it.
examples: $(DEV)
	AGI_EXAMPLES=$${AGI_EXAMPLES:-1000} $(BIN)/python -m pytest $$(grep -rlE "^from hypothesis" tests --include='test_*.py') -m "not slow" -n 2

# Crashes, long: every write of a session, thousands of kills, power losses and random sequences. About two hours on two processors.
torture: $(DEV) $(TOOLS)
	AGI_KILLS=$${AGI_KILLS:-10000} AGI_SWEEP=$${AGI_SWEEP:-all} AGI_POWER=$${AGI_POWER:-100000} AGI_SEQUENCES=$${AGI_SEQUENCES:-2000} \
		AGI_SEED=$${AGI_SEED:-$$RANDOM} $(BIN)/python -m pytest tests/torture -m slow -rs -s --timeout 36000

# What enemies try, at full size: a folder of a million files, ten gigabytes of output, five thousand lines for the gate.
enemies: $(DEV) $(TOOLS)
	AGI_ENTRIES=$${AGI_ENTRIES:-1000000} AGI_MEGABYTES=$${AGI_MEGABYTES:-10000} AGI_LINES=$${AGI_LINES:-1700} \
		$(BIN)/python -m pytest tests/enemies tests/policy/bash/test_against_bash.py tests/tools/test_floods.py -rs -s

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
	# Nobody asked for it, and where Python brings it along each start of an interpreter loads a part of it.
	$(BIN)/uv pip uninstall -q --python $(BIN)/python setuptools
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
