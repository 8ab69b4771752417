# Each target makes .venv where it is missing and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# what analysts use, and with it what the tests and checks need
ALL := $(VENV)/.ready-all
DEV := $(VENV)/.ready-dev
# says every ten seconds what it installs
INSTALL := $(BIN)/python scripts/install.py -c constraints.txt

.PHONY: demo notebook test lint bench docs clean

demo: $(ALL)
	$(BIN)/svc-tools demo

notebook: $(ALL)
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks

# the 20 slowest are always printed. COVERAGE=yes measures branch coverage too, which takes half as
# long again; with SVC_TEST_ALL=yes each property tries all its examples: .ci/run --all sets both
test: $(DEV)
	$(BIN)/python -m pytest -n auto --dist worksteal --durations=20 $(if $(COVERAGE),--cov --cov-report=)
ifdef COVERAGE
	$(BIN)/python -m coverage report --include='svc_sdk/*' --fail-under=95
	$(BIN)/python -m coverage report --fail-under=90 --format=total
endif

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tests/typing_contract.py
	$(BIN)/lint-imports
	$(BIN)/nbstripout --verify notebooks/*.ipynb

# SHARE=0.01 runs each once, at a hundredth of its size
bench: $(DEV)
	$(BIN)/python -m benchmarks $(if $(SHARE),--share $(SHARE))

# the site in build/site; a warning is an error. Executed notebooks are stored in build/notebooks
docs: $(DEV)
	rm -rf build/site
	$(BIN)/python -m sphinx -E -W --keep-going -q -c docs . build/site
	@echo "Open build/site/index.html"

$(BIN)/python:
	@echo "Making the environment $(VENV): a few seconds ..."
	@$(PYTHON) -m venv $(VENV)

$(ALL): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV): about a minute, two where the packages are downloaded first ..."
	@$(INSTALL) -e '.[all]'
	touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV) what the tests need: a minute or two ..."
	@$(INSTALL) -e '.[dev]'
	touch $(ALL) $@

clean:
	rm -rf $(VENV) demo-output notebooks/notebook-output build dist .coverage .coverage.*
