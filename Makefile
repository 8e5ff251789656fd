# Everything that is done to this repository, from a machine with only Python 3.11+ and make.
# Each target sets up what it needs: .venv holds the versions and hashes of requirements.lock, and the package itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

# Tests and the demo start many processes; without cached bytecode each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check bench prove clean test-quick soak format lock

help:
	@echo "make demo        show a network being rewired while events flow, in under a minute"
	@echo "make test        run every test (some need a Java virtual machine; one is fetched where none is found)"
	@echo "make check       lint, format, types, import contracts, determinism rules"
	@echo "make bench       measure every part, and others beside the live one; print the figures as JSON"
	@echo "make prove       walk every interleaving on small trees: what each protocol promises, proved"
	@echo "make clean       remove the virtual environment and everything that was generated"
	@echo
	@echo "While developing: make test-quick (no Java, fewer seeds, under a minute), make soak (random runs, 10 minutes;"
	@echo "SOAK='--minutes 60' for others), make format, make lock (resolve versions anew)"

demo: $(READY)
	$(BIN)/regraft demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# Three workers: tests of live brokers wait more than they compute.
test-quick: $(READY)
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m "not jvm and not long" --hypothesis-profile=quick

check: $(READY)
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/architecture

bench: $(READY)
	@$(BIN)/regraft bench all --json

prove: $(READY)
	@$(BIN)/python -c 'from regraft.proving import PROTOCOLS; print(*reversed(PROTOCOLS))' | tr ' ' '\n' \
	    | xargs -P 2 -I {} $(BIN)/regraft prove --protocol {}
	@printf 'strawman\ndeferred\n' | xargs -P 2 -I {} $(BIN)/regraft prove --brokers 5 --change break --protocol {}

SOAK ?= --minutes 10
soak: $(READY)
	$(BIN)/regraft soak $(SOAK)
	$(BIN)/python -m pytest tests/unit/net/test_fuzz.py --fuzz 1000000
	$(BIN)/python -m pytest tests/live/test_settled.py --kills 100

format: $(READY)
	$(BIN)/ruff check --fix src tests
	$(BIN)/ruff format src tests

clean:
	rm -rf $(VENV) build dist out spark-warehouse metastore_db derby.log
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -depth \( -name __pycache__ -o -name '*.egg-info' \) -exec rm -rf {} +

# A lock names no registry: each machine takes the files from its own, and the hashes say that they are the same files.
lock:
	@command -v uv >/dev/null || { echo "make lock needs uv (pip install uv)" >&2; exit 1; }
	uv pip compile pyproject.toml --extra dev --universal --upgrade \
	    --generate-hashes --no-annotate --no-header --output-file requirements.lock

# Packages that come as source (PySpark does) are built with the locked setuptools, hence its turn comes first.
$(READY): requirements.lock pyproject.toml
	@$(MAKE) --no-print-directory $(if $(shell command -v uv 2>/dev/null),venv-by-uv,venv-by-pip)
	@touch $@

BUILDER := $(VENV)/setuptools.lock
SPLIT_BUILDER = sed -n '/^setuptools==/,/[^\\]$$/p' requirements.lock > $(BUILDER)
LOCKED := --quiet --no-deps --no-build-isolation

.PHONY: venv-by-uv venv-by-pip
venv-by-uv:
	@$(BIN)/python -c '' 2>/dev/null || uv venv --quiet --clear --python '>=3.11' $(VENV)
	@$(SPLIT_BUILDER)
	uv pip install --python $(BIN)/python $(LOCKED) --require-hashes -r $(BUILDER)
	uv pip install --python $(BIN)/python $(LOCKED) --require-hashes -r requirements.lock
	uv pip install --python $(BIN)/python $(LOCKED) -e .

venv-by-pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Regraft needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(SPLIT_BUILDER)
	$(BIN)/python -m pip install $(LOCKED) --require-hashes -r $(BUILDER)
	$(BIN)/python -m pip install $(LOCKED) --use-pep517 --require-hashes -r requirements.lock
	$(BIN)/python -m pip install $(LOCKED) -e .
