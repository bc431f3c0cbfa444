# `make replicate` (everything), `make cell` (some cells again), `make test`.
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
DRY     := $(filter -n% --dry-run --dryrun,$(ARGS))
# Another folder for all that runs write (records, checkpoints, logs, figures, data).
ifndef OUT
OUT     := $(EOWM_OUT)
endif
EOWM_OUT := $(OUT)
# What a user writes reaches recipes through the environment: the shell never runs it.
export PRESET CELL CELLS SEEDS EOWM_OUT
# In a terminal: a bar for all, the running cells, the time left. Plain lines go to its log file.
LIVE    := $(shell [ -t 2 ] && echo --logger cells)
SNAKE   := $(RUN)workflow/logger snakemake --workflow-profile profiles/$(PROFILE) $(LIVE) $(ARGS) \
           $(if $(OUT),--directory "$$EOWM_OUT") --config "preset=$$PRESET"
CHOICE  := $(if $(CELLS),"records=$$CELLS") $(if $(SEEDS),"run_seeds=$$SEEDS")
EOWM    := $(RUN) python -m eowm

# Snakemake's own lock outlives a kill -9; training has its own, which does not.
LOCKED  := if ls "$${EOWM_OUT:-.}"/.snakemake/locks/* >/dev/null 2>&1; then echo "This folder is locked: \
another Snakemake works here, or one was killed; in that case run: make unlock"; exit 1; fi

.DEFAULT_GOAL := help
.PHONY: help env replicate cell cells figures test test-all bench lint lock unlock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
	@echo; echo "Variables: PRESET=smoke|quick|tenth|paper (now $(PRESET)), PROFILE=name of a folder in profiles/ (now $(PROFILE))"

env: $(STAMP)  ## create .venv with the locked versions
# The lock is a constraint, not a list to install: pip picks torch's CPU or CUDA build by itself.
$(STAMP): requirements.lock pyproject.toml
	@echo "Setting up $(VENV) (a few minutes the first time) ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[workflow,dev]'
	@touch $@

# A failed cell stops no other: the tables show it with its reason, and the last line fails. So it
# does where a run differs from the published one.
replicate: env  ## train what is missing, draw everything  [PRESET=paper] [CELLS='table2/cifar10-5/*'] [SEEDS=0-4] [OUT=folder]
	@$(EOWM) cells "$$CELLS" --seeds "$$SEEDS" --names --preset "$$PRESET" >/dev/null
	$(SNAKE) $(CHOICE) || { $(LOCKED); $(SNAKE) records=existing -- figures; }
ifeq ($(DRY),)
	@echo; $(EOWM) cells "$$CELLS" --seeds "$$SEEDS" --check --preset "$$PRESET"; done=$$?; \
	    echo; $(EOWM) outcome --preset "$$PRESET" && exit $$done
endif

cell: env  ## train cells again from the start and redraw: CELL=table2/cifar10-5/eowm [SEEDS=0-4]
	@test -n "$$CELL" || { echo "Which cell? e.g. make cell CELL=table2/cifar10-5/eowm; \`make cells\` lists all."; exit 2; }
	@$(if $(DRY),,$(LOCKED))
	files=$$($(EOWM) forget "$$CELL" --seeds "$$SEEDS" --preset "$$PRESET" $(if $(DRY),--dry-run)) && \
	    $(SNAKE) "records=$$CELL" $(if $(SEEDS),"run_seeds=$$SEEDS") --forcerun $$files -- figures

cells: env  ## list all cells: state, seconds, command
	@$(EOWM) cells --preset "$$PRESET"

figures: env  ## draw tables, figures and report from existing records; train nothing
	$(SNAKE) records=existing -- figures || { $(LOCKED); exit 1; }
ifeq ($(DRY),)
	@$(EOWM) outcome --preset "$$PRESET"
endif
ifeq ($(PRESET)$(OUT)$(DRY),paper)
	@$(EOWM) findings
endif

test: env  ## test every number and interface (minutes)
	$(RUN) python -m pytest -m "not slow" -n 2 --dist loadfile

test-all: env  ## the rest: Slurm, browser, kills, the whole smoke grid, benchmarks
	$(RUN) python -m pytest -m slow -n 2 --dist loadfile

# BENCH may be a Python with Avalanche besides (benchmarks/README.md).
bench: env  ## measure speed: benchmarks/results.md
	$(RUN) $(BENCH) benchmarks/run.py

lint: env  ## ruff, mypy, snakefmt, snakemake --lint
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy eowm
	$(BIN)/snakefmt --check Snakefile workflow
	$(RUN) snakemake --lint

lock: env  ## resolve pyproject.toml into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --python-version 3.11 --universal \
	    --no-header --no-annotate --quiet -o requirements.lock

unlock: env  ## clear Snakemake's lock after a kill
	$(SNAKE) --unlock

clean:  ## delete checkpoints, logs and the outputs of smoke and quick
	cd "$${EOWM_OUT:-.}" && rm -rf results paper_figures/quick paper_figures/smoke
