# Every target makes the environment first, so each works as the first command after a clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BUILDIFIER := $(VENV)/npm/node_modules/.bin/buildifier
BUILDIFIER_VERSION := 8.2.1
BUILD_FILES := git ls-files --cached --others --exclude-standard -- \
	BUILD '*/BUILD' MODULE.bazel WORKSPACE '*/WORKSPACE' '*.bzl'
export TF_CPP_MIN_LOG_LEVEL ?= 2
# Much of a test's time is one thread tracing graphs, so two processes share the tests.
PROCESSES ?= 2
PYTEST := $(BIN)/python -m pytest --numprocesses=$(PROCESSES) --dist=loadgroup

.DEFAULT_GOAL := help
.PHONY: help setup demo bench test test-fast test-tfa bazel docs chaos fuzz soak sbom lint format build-files clean

help:  ## Lists the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP)  ## Makes .venv with everything installed; does nothing when up to date.

$(STAMP): setup.py constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 11) else f"Expected Python 3.11 or newer. Received: {v}; name another with make PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[beam,dev,docs,hub,hub-models,litert,notebook,onnx,proposals,search,serving,studio]'
	@touch $(STAMP)

demo: setup  ## Trains on the embedded data, matches two images, ends with pictures (about ten minutes).
	$(BIN)/python -m trainers.demo

bench: setup  ## Measures speed and memory against their goals (about half an hour on an idle machine).
	$(BIN)/python -m benchmarks

# In two parts: a process that has run everything would hold several gigabytes.
test: test-fast  ## Runs all tests, the slow ones too.
	$(PYTEST) -m 'not tfa and slow'

test-fast: setup  ## Runs the tests that take a couple of minutes together.
	$(PYTEST) -m 'not tfa and not slow'

test-tfa: setup  ## Compares with tensorflow-addons, in an environment of its own.
	bash tools/tfa_environment.sh
	$(BIN)/python -m pytest -m tfa

bazel: setup  ## Builds the BUILD files' targets and runs some of their tests (Debian: bazel-bootstrap).
	bash tools/bazel/build_and_test.sh

docs: setup  ## Makes the documents into a site that is read offline: build/site/index.html.
	$(BIN)/mkdocs build --quiet --strict

chaos: setup  ## Kills and starves all programs, and prints what came of it (about half an hour).
	$(BIN)/python -m tests.chaos

fuzz: setup  ## Feeds damaged files to everything that reads them: 100,000 inputs.
	$(BIN)/python -m tests.fuzz

soak: setup  ## Serves the preset to eight clients for an hour, a tenth of whose requests are broken.
	$(BIN)/python -m tests.soak

sbom: setup  ## Writes sbom.json: every package that is installed with this one.
	$(BIN)/python tools/sbom.py

lint: setup $(BUILDIFIER)  ## Checks style and BUILD files.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BUILD_FILES) | xargs $(BUILDIFIER) -mode=check -lint=warn

format: setup  ## Formats the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

build-files: setup $(BUILDIFIER)  ## Writes the BUILD files from the imports.
	$(BIN)/python tools/build_files.py
	$(BUILD_FILES) | xargs $(BUILDIFIER) -mode=fix

$(BUILDIFIER): | $(STAMP)
	npm install --silent --no-audit --no-fund --prefix $(VENV)/npm @bazel/buildifier@$(BUILDIFIER_VERSION)

clean:  ## Removes the environments and the runs.
	rm -rf $(VENV) .venv-tfa runs
