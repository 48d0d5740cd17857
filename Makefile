# `make` alone lists all targets; `make play` and `make test` work on a fresh clone.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RIVALS := .venv-bench
UV_VERSION := 0.13.7

# The first interpreter that runs and is new enough; running each one also skips broken launchers.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)

SOURCES := service orchestrator cli bots bench deploy tools tests
# Test processes: one more than cores, because many tests wait for clocks and processes.
WORKERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
MIXED := --policy greedy --policy random
PIN = .rubble/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

##@ Start here

.PHONY: help
help: ## Show this list
	@if [ -t 1 ]; then bold=$$'\033[1m' blue=$$'\033[36m' plain=$$'\033[0m'; fi; \
	awk -v bold="$${bold-}" -v blue="$${blue-}" -v plain="$${plain-}" 'BEGIN { FS = ":.*## "; printf "\nRubble: an arena for board-game bots\n" } \
		/^##@ / { printf "\n%s%s%s\n", bold, substr($$0, 5), plain } \
		/^[a-z-]+:.*## / { printf "  %smake %-14s%s %s\n", blue, $$1, plain, $$2 }' $(MAKEFILE_LIST)
	@echo

.PHONY: play
play: $(READY) ## Play two real tournaments on this machine, with tables and reports
	@rm -rf .rubble/play
	@# During the first tournament, starters in other languages are built for the second, if their tools are installed. RETRY=1
	@# repeats builds that failed before.
	@mkdir -p .rubble/play; \
	RETRY=$(RETRY) $(BIN)/python -m tools.starters rosters/relief.toml .rubble/play/relief.toml > .rubble/play/starters.txt & \
	$(BIN)/rubble run rosters/san-francisco.toml --out .rubble/play/san-francisco; \
	wait; cat .rubble/play/starters.txt
	@$(BIN)/rubble run .rubble/play/relief.toml --out .rubble/play/relief || { test $$? = 1 && rm -rf .rubble/play/relief && \
		echo "Trying again without the starters:" && $(BIN)/rubble run rosters/relief.toml --out .rubble/play/relief; }
	@printf '%s\n' '' 'Next, try:' \
		'  $(BIN)/rubble play --game sf1906-2e --bots greedy      play against a bot yourself' \
		'  $(BIN)/rubble roster new roster.toml                   create your own tournament; then: $(BIN)/rubble run roster.toml' \
		'  $(BIN)/rubble replay list .rubble/play                 the games that were played, and how to step through one' ''

.PHONY: test
test: $(READY) ## Run the tests
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

.PHONY: slow
slow: $(READY) ## Run the tests that take minutes: processes killed in mid-tournament, Redis Cluster and Sentinel
	@$(BIN)/python -m pytest -q -m slow --ignore=tests/orchestrator/ladder/test_real_ladder.py

.PHONY: hostile
hostile: $(READY) ## Attack an arena with hostile bots and clients, each of which must be refused
	@$(BIN)/python -m pytest -q tests/hostile

.PHONY: kills
kills: $(READY) ## Play 500 matches while workers, copies of the service and Redis are killed repeatedly
	@RUBBLE_KILL_MATCHES=500 $(BIN)/python -m pytest -q -m slow tests/orchestrator/test_kills.py

.PHONY: real-ladder
real-ladder: $(READY) ## Play a season of a ladder with real bots in three languages, some of which fail, collude or improve
	@$(BIN)/python -m pytest -q -m slow tests/orchestrator/ladder/test_real_ladder.py

.PHONY: science
science: $(READY) ## Run all acceptance checks of the statistics, and print their table
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m bench.science

.PHONY: ladder-figures
ladder-figures: $(READY) ## Simulate ladders with known strengths, and print the figures (ARGS="--only speed", ARGS=--write)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m bench.ladder $(ARGS)

##@ Develop

.PHONY: setup
setup: $(READY) ## Create .venv from the pinned, hashed lock file (the other targets do this for you)

$(READY): requirements.lock pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
		echo "Rubble needs Python 3.11 or newer with venv and pip, and there is none on the PATH." >&2; \
		echo "Install one, or give its path: make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python3.11" >&2; exit 1; fi
	@echo "Creating $(VENV) with $$($(PYTHON) --version) and all packages of requirements.lock; this takes a minute or two …"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@touch $@

.PHONY: lint
lint: $(READY) ## Check format, lint, strict types and import rules
	@$(BIN)/ruff format --check --quiet . || { echo "run make format to format these files" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy $(wildcard $(SOURCES))
	@$(BIN)/python -m pytest -q tests/project/test_imports.py
	@# The contract with bots.
	@$(BIN)/buf lint
	@# Nothing that bots use may be removed since the last release. Before the first release there is nothing to compare with.
	@tag=$$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null) && $(BIN)/buf breaking --against ".git#tag=$$tag" || test -z "$$tag"

.PHONY: deploy-tools
deploy-tools: ## Download the tools that check deploy/ (promtool, haproxy, hadolint, schemas) into .rubble/tools
	@PYTHON=$(PYTHON) deploy/tools.sh

.PHONY: deploy-check
deploy-check: $(READY) deploy-tools ## Check deploy/: compose, images, manifests, rules, alerts, dashboards
	@$(BIN)/python -m pytest -q -rs -m "not slow" tests/deploy

.PHONY: format
format: $(READY) ## Format the code
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

.PHONY: protos
protos: $(READY) ## Generate rubble/v1 from protos/ (never edit it by hand)
	@rm -rf rubble && mkdir -p rubble/v1
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m grpc_tools.protoc -Iprotos --python_out=. --grpc_python_out=. \
		--mypy_out=. --mypy_grpc_out=. protos/rubble/v1/*.proto
	@echo '"""Generated from protos/ by make protos."""' | tee rubble/__init__.py > rubble/v1/__init__.py

.PHONY: sdk
sdk: $(READY) ## Build the wheel of the Python SDK for bot authors into dist/
	@$(BIN)/python -m tools.sdk dist

.PHONY: compile
compile: $(READY) ## Compile the rules with mypyc, in place (RUBBLE_PURE=1 still runs the Python source)
	@RUBBLE_PURE=1 $(BIN)/python -m tools.compile

.PHONY: playthroughs
playthroughs: $(READY) ## Rewrite the golden playthroughs; their diff shows what a change of rules does
	@$(BIN)/python -m tests.conformance.playthroughs

.PHONY: bench
bench: $(READY) ## Measure engine and service, as ratios to themselves and to others (ARGS="--only N1,N2 --seconds 1")
	@$(MAKE) --no-print-directory compile || echo "The rules cannot be compiled; N2, N3 and N4 are left out." >&2
	@$(MAKE) --no-print-directory $(RIVALS)/.ready || echo "The rivals cannot be installed here; N3 and N4 are left out." >&2
	@$(BIN)/python -m bench $(ARGS)

.PHONY: load
load: $(READY) ## Load the service at a fixed rate for ten minutes: 1,000 bots, 500 games at once (ARGS="--rate 100 --seconds 60")
	@$(BIN)/python -m bench.load $(ARGS)

$(RIVALS)/.ready: bench/requirements.lock
	@$(PYTHON) -m venv --clear $(RIVALS)
	@$(RIVALS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bench/requirements.lock
	@touch $@

##@ Maintain

.PHONY: lock
lock: ## Pin the newest packages that pyproject.toml and bench/requirements.in allow
	@test -x .rubble/lock/bin/uv || { $(PYTHON) -m venv .rubble/lock; .rubble/lock/bin/python -m pip install --quiet uv==$(UV_VERSION); }
	@{ echo "# Every package of the workshop, pinned and hashed. Written by \`make lock\`; do not edit."; \
		$(PIN) pyproject.toml --group dev; } > .rubble/lock.new && mv .rubble/lock.new requirements.lock
	@{ echo "# The benchmark's rivals, pinned and hashed. Written by \`make lock\`; do not edit."; \
		$(PIN) bench/requirements.in; } > .rubble/lock.new && mv .rubble/lock.new bench/requirements.lock
	@{ echo "# The tools that check deploy/, pinned and hashed. Written by \`make lock\`; do not edit."; \
		$(PIN) deploy/requirements.in; } > .rubble/lock.new && mv .rubble/lock.new deploy/requirements.lock
	@{ echo "# What the images need at run time, pinned and hashed: a part of requirements.lock. Written by \`make lock\`; do not edit."; \
		$(PIN) pyproject.toml --constraint requirements.lock; } > .rubble/lock.new && mv .rubble/lock.new deploy/images/requirements.lock

.PHONY: clean
clean: ## Remove everything that make created
	@rm -rf $(VENV) $(RIVALS) .rubble build dist *.egg-info bots/python/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find service cli bench tools tests orchestrator bots -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
	@find service -name '*.so' -delete -o -name .compiled.json -delete
	@rm -f rubble_rules__mypyc.*
