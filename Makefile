# `make replicate` (everything), `make cell` (one cell again), `make test`.
# Needs python3 >= 3.11 with venv, and make; npm where the official dataset hosts cannot be reached.

PYTHON  ?= python3
VENV    ?= .venv
PRESET  ?= quick
PROFILE ?= default
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
# .venv/bin comes first, so that `python` inside rules is the environment's.
RUN     := PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=
# More flags for Snakemake: ARGS=-n shows what would be done and does nothing.
ARGS    ?=
BENCH   ?= python
DRY     := $(filter -n --dry-run,$(ARGS))
SNAKE   := $(RUN) snakemake --workflow-profile profiles/$(PROFILE) $(ARGS) --config preset=$(PRESET)
EOWM    := $(RUN) python -m eowm

# Snakemake's own lock outlives a kill -9; training has its own, which does not.
LOCKED  := if ls .snakemake/locks/* >/dev/null 2>&1; then echo "This folder is locked: another \
Snakemake works here, or one was killed; in that case run: make unlock"; exit 1; fi

.DEFAULT_GOAL := help
.PHONY: help env replicate cell cells figures test bench graph lint lock unlock clean

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

# One failed cell stops nothing: the tables are drawn all the same and show it with its reason,
# and the last line fails if anything is not done.
replicate: env  ## everything: data, training, tables, figures, report  [PRESET=quick] [PROFILE=default]
	$(SNAKE) || { $(LOCKED); $(SNAKE) records=existing -- figures; }
ifeq ($(DRY),)
	@echo; $(EOWM) outputs --preset $(PRESET)
	@echo; $(EOWM) cells --check --preset $(PRESET)
endif

cell: env  ## one cell again from the start, and what depends on it: CELL=table2/cifar10-5/eowm [SEEDS="0 1"]
	@test -n "$(CELL)" || { echo "Which cell? e.g. make cell CELL=table2/cifar10-5/eowm; \`make cells\` lists all."; exit 2; }
	files=$$($(EOWM) forget "$(CELL)" --seeds "$(SEEDS)" --preset $(PRESET) $(if $(DRY),--dry-run)) && \
	    { $(SNAKE) records="$$files" --forcerun $$files -- figures || { $(LOCKED); exit 1; }; }

cells: env  ## every cell with its state, seconds and command
	@$(EOWM) cells --preset $(PRESET)

figures: env  ## tables, figures and report from the records at hand, without training
	$(SNAKE) records=existing -- figures || { $(LOCKED); exit 1; }
	@$(EOWM) outputs --preset $(PRESET)
ifeq ($(PRESET),paper)
	@$(EOWM) findings
endif

test: env  ## the test suite
	$(RUN) python -m pytest -n 2 --dist loadfile

# BENCH may be a Python with Avalanche besides (benchmarks/README.md).
bench: env  ## speed against other forms and against theory, with goals: benchmarks/results.md
	$(RUN) $(BENCH) benchmarks/run.py

graph: env  ## draw docs/rulegraph.md
	{ echo '<!-- Made by `make graph` from the grid in docs/graph.yaml. -->'; echo '```mermaid'; \
	  $(RUN) snakemake --rulegraph mermaid-js --configfile docs/graph.yaml --config preset=smoke 2>/dev/null; \
	  echo '```'; } > docs/rulegraph.md

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

clean:  ## delete checkpoints, logs, results of smoke and quick; keeps data, .venv, other records
	rm -rf results paper_figures/quick paper_figures/smoke
