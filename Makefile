# Every target does all the set-up it needs: Python >= 3.11, a JDK (17 or 21) and make are enough.
SHELL := /bin/bash
PYTHON ?= python3
UV := .tools/bin/uv
RUN := .venv/bin
# Each process would compile all that it imports anew: a second or two.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test soak faults fuzz lint format bench kernel wheel lock clean

setup: .venv/.done

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "headrace needs Python 3.11 or newer; this one is " + sys.version.split()[0])'
	@command -v javac >/dev/null || { echo "headrace needs a JDK 17 or 21: install one (Debian: apt-get install openjdk-17-jdk-headless)"; exit 1; }
	@echo "setting up uv ..."
	@$(PYTHON) -m venv .tools && .tools/bin/pip install -q --disable-pip-version-check uv==0.13.7

.venv/.done: $(UV) pyproject.toml requirements.lock kernel/build.py src/headrace/version.py $(shell find kernel/src -type f)
	@echo "installing headrace and building its kernel ..."
	@test -x $(RUN)/python || $(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	@$(UV) pip sync --quiet requirements.lock
	@$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# After a change of the dependencies in pyproject.toml.
lock: $(UV)
	@$(UV) pip compile --quiet --universal --all-extras --group dev --generate-hashes --no-header --no-annotate pyproject.toml -o requirements.lock

kernel: setup
	@$(RUN)/python kernel/build.py

# dist/headrace-….whl: installs without a JDK, and runs with a Java runtime alone.
wheel: setup
	@$(RUN)/python -m hatchling build -t wheel

demo: setup
	@SECONDS_TO_RUN="$(SECONDS)" $(RUN)/python -m examples.demo

lint: setup
	@$(RUN)/ruff check .
	@$(RUN)/ruff format --check .
	@$(RUN)/pyright
	@$(RUN)/lint-imports
	@$(RUN)/python kernel/lint.py

format: setup
	@$(RUN)/ruff format .
	@$(RUN)/python kernel/lint.py --write

test: setup lint
	@$(RUN)/pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=25

# What takes too long for every change.
soak: setup
	@$(RUN)/pytest -m soak --durations=12

# Breaks it on purpose, for about an hour and a half.
faults: setup
	@$(RUN)/python -m faults

# Random programs against an interpreter, until something differs or they are through; see fuzz/.
fuzz: setup
	@$(RUN)/python -m fuzz

bench: setup
	@$(RUN)/python -m bench

clean:
	rm -rf .venv .tools dist src/headrace/_kernel
