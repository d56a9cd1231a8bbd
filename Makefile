# The commands of the kit. Each needs nothing but Python 3.11+ and make: the first one sets up .venv.
# Where there is no make: python selftest.py [TARGET]

PYTHON ?= python3
LAB ?= labs/day-05-agent-mcp-client
ifeq ($(OS),Windows_NT)
VENV_PYTHON := .venv/Scripts/python.exe
else
VENV_PYTHON := .venv/bin/python
endif
export MOCK QUESTION TARGET CONFIG MAX_STEPS LAB_LANG YES

# MOCK=1 without a question is the self-test; all else is one run of the agent.
MOCKED := $(filter-out 0,$(MOCK))
COMMAND := $(if $(QUESTION),$(LAB)/host/main.py,$(if $(MOCKED),selftest.py,$(LAB)/host/main.py))

.DEFAULT_GOAL := help
.PHONY: help start test typecheck lint diff proof mutants bench clean setup setup-dev

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

start: setup ## MOCK=1: the nine checks; QUESTION="...": one agent run; TARGET=solution or a folder
	@$(VENV_PYTHON) $(COMMAND)

test: setup-dev lint ## the kit's own tests, with type check and lint
	@$(VENV_PYTHON) -m pytest

typecheck: setup-dev ## mypy --strict, silent when clean
	@$(VENV_PYTHON) -m labkit.typecheck

lint: setup-dev ## ruff, silent when clean
	@$(VENV_PYTHON) -m ruff check --quiet .

diff: ## starter against solution: the four hunks, in colour
	@cd $(LAB) && git --no-pager diff --no-index --no-prefix --color=$(if $(NO_COLOR),never,auto) -U1 starter solution || test $$? -eq 1

proof: setup-dev ## every wrong program against every check: docs/kill-matrix.md
	@$(VENV_PYTHON) -m labkit.proof

mutants: setup-dev ## every small slip in the solution against the checks: docs/mutants.md (a quarter of an hour)
	@$(VENV_PYTHON) -m labkit.mutants

bench: setup-dev ## the benchmarks, with printed ratios
	@$(VENV_PYTHON) -m bench

clean: ## remove .venv and all caches
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@$(PYTHON) labkit/bootstrap.py

setup-dev:
	@$(PYTHON) labkit/bootstrap.py dev
