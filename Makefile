# Two commands: `make replicate` (everything) and `make test`.
# Needs python3 >= 3.11 with venv, and make; npm where the official dataset hosts cannot be reached.

PYTHON  ?= python3
VENV    ?= .venv
PRESET  ?= quick
PROFILE ?= default
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
# .venv/bin comes first, so that `python` inside rules is the environment's.
RUN     := PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=
SNAKE   := $(RUN) snakemake --workflow-profile profiles/$(PROFILE) --config preset=$(PRESET)

.DEFAULT_GOAL := help
.PHONY: help env replicate figures test bench lint lock unlock clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
	@echo; echo "Variables: PRESET=smoke|quick|tenth|paper (now $(PRESET)), PROFILE=name of a folder in profiles/ (now $(PROFILE))"

env: $(STAMP)  ## create .venv with the locked versions
# The lock is a constraint, not a list to install: pip picks torch's CPU or CUDA build by itself.
$(STAMP): requirements.lock pyproject.toml
	@echo "Setting up $(VENV) (a few minutes the first time) ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[workflow,dev]'
	@touch $@

replicate: env  ## everything: data, training, tables, figures, report  [PRESET=quick] [PROFILE=default]
	$(SNAKE)
	@echo; echo "The replication on preset '$(PRESET)' is complete:"
	@$(BIN)/eowm outputs --preset $(PRESET)

figures: env  ## tables, figures and report from the records at hand, without training
	$(SNAKE) records=existing -- figures
	@$(BIN)/eowm outputs --preset $(PRESET)

test: env  ## the test suite
	$(RUN) python -m pytest -n 2 --dist loadfile

bench: env  ## what projection, the Fisher information and OGD cost, as ratios
	$(RUN) python benchmarks/projection.py
	$(RUN) python benchmarks/baselines.py

lint: env  ## ruff, mypy, snakefmt, snakemake --lint
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy eowm
	$(BIN)/snakefmt --check Snakefile workflow
	$(RUN) snakemake --lint

lock: env  ## resolve the versions in pyproject.toml anew into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --python-version 3.11 --universal \
	    --no-header --no-annotate --quiet -o requirements.lock

unlock: env  ## clear Snakemake's lock after a kill
	$(SNAKE) --unlock

clean:  ## delete checkpoints, logs and reduced results; keeps data, .venv and paper records
	rm -rf results paper_figures/quick paper_figures/smoke
