# Each target makes .venv where it is missing and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo notebook test lint bench docs clean

demo: $(READY)
	$(BIN)/svc-tools demo

notebook: $(READY)
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks

# COVERAGE=yes measures branch coverage too, which takes half as long again
test: $(READY)
ifdef COVERAGE
	$(BIN)/python -m pytest -n auto --dist worksteal --durations=20 --cov --cov-report=
	$(BIN)/python -m coverage report --include='svc_sdk/*' --fail-under=95
	$(BIN)/python -m coverage report --fail-under=90 --format=total
else
	$(BIN)/python -m pytest -n auto --dist worksteal
endif

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tests/typing_contract.py
	$(BIN)/lint-imports
	$(BIN)/nbstripout --verify notebooks/*.ipynb

bench: $(READY)
	$(BIN)/python -m benchmarks

# the site in build/site; a warning is an error. Executed notebooks are stored in build/notebooks
docs: $(READY)
	rm -rf build/site
	$(BIN)/python -m sphinx -E -W --keep-going -q -c docs . build/site
	@echo "Open build/site/index.html"

$(READY): pyproject.toml constraints.txt
	@echo "Installing into $(VENV) (a minute or two) ..."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) demo-output notebooks/notebook-output build dist .coverage .coverage.*
