# The only commands a newcomer needs. Plain pip is the contract; uv is used when it is on PATH.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TOOLS  := $(VENV)/.tools
SERVICES := $(VENV)/.services
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))
# The Solidity compiler and its libraries, beside each plugin's own contracts.
COMPILERS := $(patsubst %/package-lock.json,%/node_modules/.package-lock.json,$(wildcard plugins/*/contracts/package-lock.json))

# The JavaScript clients of JSON-RPC that tests/rpc runs.
CLIENTS := tests/rpc/clients/node_modules/.package-lock.json

# The linters of the OpenAPI document, and the generators of clients that tests/clients runs.
LINTERS := tests/clients/node_modules/.package-lock.json
GENERATORS := $(VENV)/generators/.installed

# More options of pytest for `make test` and `make test-all`.
OPTIONS :=

.PHONY: help prepare run demo test test-all test-random test-isolated test-wheels check bench docs clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

define install
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { echo "Python 3.11+ with venv is needed: install python3.11 and python3-venv, then run make again."; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
	  uv pip install --quiet --python $(BIN)/python -e '$(1)' $(addprefix -e ./,$(PLUGINS)); \
	else \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '$(1)' $(addprefix -e ./,$(PLUGINS)); \
	fi
	@touch $@
endef

$(INSTALLED): pyproject.toml $(wildcard plugins/*/pyproject.toml)
	@echo "Setting up $(VENV): the core and $(words $(PLUGINS)) plugins..."
	$(call install,.)

$(TOOLS): $(INSTALLED)
	@echo "Adding the development tools to $(VENV)..."
	$(call install,.[dev])

$(SERVICES): $(TOOLS)
	@echo "Adding ClickHouse's engine to $(VENV)..."
	$(call install,.[services])

$(GENERATORS): tests/clients/requirements.txt
	@echo "Installing the generators of clients in $(@D)..."
	@$(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

%/node_modules/.package-lock.json: %/package-lock.json
	@echo "Fetching the packages of $* with npm..."
	@cd $* && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

prepare: $(TOOLS) $(COMPILERS) $(CLIENTS)  ## install and fetch everything that the tests need; they work offline afterwards
	@$(BIN)/quoteway devnet --prepare
	@$(BIN)/python -m quoteway_devnet.packages
	@$(BIN)/python tests/smart_accounts.py

run: $(INSTALLED)  ## serve on 127.0.0.1:8080 over two local chains with the real contracts
	@$(BIN)/quoteway serve

demo: $(INSTALLED)  ## swaps, pools, vaults, transfers on the local chains: quote, sign, execute, compare
	@$(BIN)/quoteway demo

test: prepare  ## every test that needs pip and npm alone
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not services" $(OPTIONS) tests plugins

test-all: prepare $(SERVICES) $(LINTERS) $(GENERATORS)  ## every test; needs redis-server, nginx, chromium, openssl, postgresql and systemd too, adds ClickHouse's engine (600 MB) and generators of clients (700 MB), and a skip is a failure
	@$(BIN)/python -m quoteway_devnet.packages --all
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-skips $(OPTIONS) tests plugins

test-random: prepare  ## the property tests with new random examples; what fails is shown with how to repeat it
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m hypothesis --hypothesis-profile=random tests plugins

test-isolated: $(TOOLS)  ## the core's tests without plugins, then each plugin's but the slow ones beside the core alone (tox)
	@$(BIN)/tox run-parallel --parallel 2 --parallel-no-spinner

test-wheels: $(TOOLS)  ## build the wheels, install them in a new environment and make a swap with them
	@$(BIN)/python tests/wheels.py

check: $(TOOLS)  ## lint, types, import contracts, dependencies, generated documents, compatibility of the API
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/deptry .
	@for plugin in $(PLUGINS); do (cd $$plugin && $(CURDIR)/$(BIN)/deptry src) || exit 1; done
	@$(BIN)/python docs/generate.py --check
	@$(BIN)/python docs/compatibility.py

docs: $(TOOLS)  ## write the generated reference pages anew
	@$(BIN)/python docs/generate.py

bench: $(TOOLS)  ## exactness at scale, speed and memory beside a bare baseline in the same run
	@$(BIN)/python -m bench

clean:  ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .tox
