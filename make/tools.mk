# The tools and how the verbs call them. Each verb installs only the tools that it uses.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE_TOOLS := tools/package/node_modules/.installed
SITE_TOOLS := tools/site/node_modules/.installed
DYNAMODB_LOCAL := tools/dynamodb-local/node_modules/.installed
# The project's tools take precedence over other installed tools.
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/node_modules/.bin:$(PATH)
export CDK_DISABLE_CLI_TELEMETRY := true

# cargo-lambda always names the target, so the functions built for this machine are in target/<triple>/debug.
# The tests name the target too, so both share every compiled dependency.
HOST = $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
FUNCTIONS := create-tasks ingest-tasks trigger process-tasks sweep-tasks count-shed agent-desk match-calls sweep-agents
# The functions built for this machine, one folder per function. (Those for AWS: target/arm64/lambda.)
LOCAL_FUNCTIONS := target/local
LOCAL_ASSEMBLY := .local/cdk.out
SYNTH := cdk synth --quiet --no-notices --no-version-reporting
NEXTEST = cargo nextest run --locked --workspace --target $(HOST)
# The end-to-end tests mostly wait, so several local AWSs run concurrently, each with its own test files.
PYTEST_E2E := --numprocesses 3 --dist loadfile --no-loadscope-reorder
# The operators' command. The end-to-end tests use the binary that the Rust tests build.
FRESHQ = target/$(HOST)/debug/freshq
FRESHQ_BUILD ?= cargo build --locked --quiet --workspace --bin freshq --target $(HOST)
e2e flaky test test-python test-smoke: export FRESHQ_BUILD = $(NEXTEST) --no-run --cargo-quiet

# Compares the APIs of the constructs and of freshq/testing with tools/*.api.md. With --local, writes these files.
API_REPORT = tools/package/node_modules/.bin/api-extractor run --config tools/api-extractor
API_REPORTS = tsc --project tools/package/tsconfig.json; $(API_REPORT).json $1; $(API_REPORT)-testing.json $1

MISSING := missing() { echo "missing: $$1. $$2" >&2; exit 1; };
# With LOCAL=1, a verb uses the AWS that local-up started. Otherwise, ACCOUNT prints the account that the verb uses.
ifeq ($(LOCAL),1)
CHECK_LOCAL := $(MISSING) test -f .local/env || missing "the local AWS" "Start it with: make local-up";
AWS := $(CHECK_LOCAL) . .local/env;
endif
ACCOUNT = account=$$($(BIN)/python -m delivery account); echo

.PHONY: setup-aws setup-deploy setup-arm64
setup-aws: $(VENV)/.installed-aws
setup-deploy: setup-aws node_modules/.installed-cdk
setup-arm64: setup $(VENV)/.installed-arm64

.PHONY: check-rust check-node check-python
check-rust:
	@$(MISSING) \
	command -v cargo >/dev/null || missing "Rust" "Install it with rustup; rust-toolchain.toml names the version."; \
	command -v cc >/dev/null || missing "a C compiler (cc)" "Debian, Ubuntu: apt-get install gcc libc6-dev. macOS: xcode-select --install."

check-node:
	@$(MISSING) \
	command -v node >/dev/null || missing "Node.js 20 or later" "Install it from your system's packages or with a version manager."; \
	command -v npm >/dev/null || missing "npm" "It comes with Node.js; on Debian it is the package npm."; \
	node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' \
	  || missing "Node.js 20 or later" "Found $$(node --version)."

check-python:
	@$(MISSING) \
	command -v $(PYTHON) >/dev/null || missing "Python 3.10 or later" "Install it from your system's packages, or name one: make PYTHON=python3.12 ..."; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || missing "Python 3.10 or later" "Found $$($(PYTHON) --version); name another: make PYTHON=python3.12 ..."; \
	$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || missing "Python's venv" "Debian, Ubuntu: apt-get install python3-venv."

$(BIN)/python: | check-python
	$(PYTHON) -m venv $(VENV)

# Each file names every package with its hashes, so pip resolves nothing and builds nothing.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all:
# requirements.txt is for the local AWS and the tests, -aws for access to AWS, -arm64 for the build for AWS, -lint for lint, -rie for test-rie.
$(VENV)/.installed: requirements.txt | $(BIN)/python
	$(PIP_INSTALL) -r $<
	@touch $@
$(VENV)/.installed-%: requirements-%.txt | $(BIN)/python
	$(PIP_INSTALL) -r $<
	@touch $@

# Without --fetch-timeout, npm waits five minutes for a response before it asks again.
NPM_CI := npm ci --no-audit --no-fund --loglevel=error --fetch-timeout=60000
NPM_FILES := package.json package-lock.json tools/cdk/package.json .npmrc
node_modules/.installed: $(NPM_FILES) | check-node
	$(NPM_CI)
	@touch node_modules/.installed-cdk $@
# The tools that check the API and the package, the site generator, and DynamoDB Local. Each folder has its own lock
# file, because only one or two verbs need it.
$(PACKAGE_TOOLS) $(SITE_TOOLS) $(DYNAMODB_LOCAL): tools/%/node_modules/.installed: tools/%/package.json tools/%/package-lock.json tools/%/.npmrc | check-node
	$(NPM_CI) --prefix tools/$*
	@touch $@
# Only the CDK CLI, for verbs that need nothing else.
node_modules/.installed-cdk: $(NPM_FILES) | check-node
	$(NPM_CI) --workspace tools/cdk
	@touch $@
