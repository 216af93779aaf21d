# Shortcuts. Every target sets up .venv by itself; ARGS goes on to the command.
.PHONY: help suite check lint format types tests coverage bench examples

help:
	@echo 'make suite    run the scenarios'
	@echo 'make check    everything that has to pass: lint, types, tests'
	@echo 'make lint     style and formatting, imports, dependencies'
	@echo 'make format   put style and formatting right'
	@echo 'make types    mypy'
	@echo 'make tests    pytest'
	@echo 'make coverage pytest, with what it left out'
	@echo 'make bench    benchmarks'
	@echo 'make examples the pages of reports/examples, from their trace files'

suite:
	@./suite $(ARGS)

check:
	@./check $(ARGS)

lint: .venv
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/lint-imports --no-logo
	@.venv/bin/deptry .

format: .venv
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

types: .venv
	@.venv/bin/python -m mypy

tests: .venv
	@.venv/bin/python -m pytest $(ARGS)

coverage: .venv
	@.venv/bin/coverage erase
	@.venv/bin/coverage run -m pytest $(ARGS)
	@.venv/bin/coverage combine --quiet
	@.venv/bin/coverage report

examples: .venv
	@.venv/bin/racecheck report reports/examples

bench: .venv
	@.venv/bin/python benchmarks/engine.py $(ARGS)

.PHONY: .venv
.venv:
	@sh .ci/setup dev
